"""Draw shared_features.png for README.md: weights of 30 tasks, learnt with each norm from the same samples.

The tasks have weights of -1 and +1 over the same features, as in the study recovery-arms. Each norm chooses its radius
by the error of validation samples.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import working_set
from jointsparse.norms import l1, l1inf
from jointsparse.pipeline.datasets import synthetic
from jointsparse.pipeline.papers.quattoni import recovery

N, RADII = 80, 2.0 ** np.arange(1, 14)
SHOWN = {"the weights that drew the labels": None, "learnt task by task: l1": l1, "learnt together: l1,∞": l1inf}

rng = np.random.default_rng(0)
data = synthetic.draw(n_features=100, n_tasks=30, n_train=N, n_test=500, weights="sign", support="all", rng=rng)
problem = Problem(list(data.X_train), list(data.y_train), normalisation="mean")
order = np.argsort(~data.relevant, kind="stable")  # the relevant features on top
figure = Figure(figsize=(7.8, 3.4), layout="constrained")
panels = figure.subplots(1, len(SHOWN), sharey=True)
for axes, (title, norm) in zip(panels, SHOWN.items(), strict=True):
    W = data.W
    if norm is not None:
        radius = np.multiply.outer(RADII, np.ones_like(norm.norm(W)))  # one per task, where a norm is
        fits = working_set.fit(problem, loss=hinge, norm=norm, radius=radius, tol=1e-3, n_iter=5000).W
        W = min(fits, key=lambda W: recovery.error(W, data.X_validation, data.y_validation))
        error = recovery.error(W, data.X_test, data.y_test)
        title += f"\n{np.count_nonzero(W.any(axis=1))} features used, test error {error:.0%}"
    shown = np.ma.masked_equal(np.abs(W[order]) / np.abs(W).max(), 0)
    image = axes.imshow(shown, aspect="auto", interpolation="none", cmap="viridis_r", vmin=0, vmax=1)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("task")
    axes.axhline(data.relevant.sum() - 0.5, color="0.6", linewidth=0.8)
panels[0].set_ylabel("feature; above the line: relevant")
figure.colorbar(image, ax=panels, label="|weight| / the largest (white: 0)")
figure.suptitle(f"{N} training samples per task, radii chosen by validation", fontsize=10)
figure.savefig(Path(__file__).with_name("shared_features.png"), dpi=110)
