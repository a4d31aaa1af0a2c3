"""Draw shared_features.png for README.md: weights of 30 tasks, learnt with each norm from the same samples.

Each radius is the norm of the weights that drew the labels, as in Quattoni et al. (2009), sec. 5.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from jointsparse.datasets import synthetic
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import pdhg
from jointsparse.norms import l1, l1inf
from jointsparse.papers.quattoni import recovery

SHOWN = {"the weights that drew the labels": None, "learnt task by task: l1": l1, "learnt together: l1,∞": l1inf}

data = synthetic.draw(n_features=100, n_tasks=30, n_train=80, n_test=500, rng=np.random.default_rng(0))
problem = Problem(list(data.X_train), list(data.y_train), normalisation="mean")
order = np.argsort(~data.relevant, kind="stable")  # the relevant features on top
figure = Figure(figsize=(7.6, 3.4), layout="constrained")
panels = figure.subplots(1, len(SHOWN), sharey=True)
for axes, (title, norm) in zip(panels, SHOWN.items(), strict=True):
    W = data.W
    if norm is not None:
        radius = np.asarray(norm.norm(data.W))[np.newaxis]
        W = pdhg.fit(problem, loss=hinge, norm=norm, radius=radius, n_iter=5000).W[0]
        error = recovery.error(W, data.X_test, data.y_test)
        title += f"\n{np.count_nonzero(W.any(axis=1))} features used, test error {error:.0%}"
    axes.imshow(np.ma.masked_equal(np.abs(W[order]), 0), aspect="auto", interpolation="none", cmap="viridis_r")
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("task")
    axes.axhline(data.relevant.sum() - 0.5, color="0.6", linewidth=0.8)
panels[0].set_ylabel("feature; above the line: relevant")
figure.savefig(Path(__file__).with_name("shared_features.png"), dpi=110)
