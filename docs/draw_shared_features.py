"""Draw shared_features.png for the README and the start page: weights of 30 tasks, learnt with l1 and with l1,∞.

All tasks have weights of -1 and +1 on the same 10 of 100 features, as in the study recovery-arms. For each norm the
radius with the smallest validation error is taken. shared_features.csv holds the numbers that texts quote.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import working_set
from jointsparse.norms import l1, l1inf
from jointsparse.pipeline.datasets import synthetic
from jointsparse.pipeline.papers.quattoni import recovery

N_TRAIN, RADII = 80, 2.0 ** np.arange(1, 14)
NORMS = {"l1": ("each task alone (l1)", l1), "l1inf": ("all tasks together (l1,∞)", l1inf)}

data = synthetic.draw(
    n_features=100, n_tasks=30, n_train=N_TRAIN, n_test=500, weights="sign", support="all", rng=np.random.default_rng(0)
)
problem = Problem(list(data.X_train), list(data.y_train), normalisation="mean")
order = np.argsort(~data.relevant, kind="stable")  # the relevant features on top
n_relevant = int(data.relevant.sum())
rows = []
figure = Figure(figsize=(6.4, 4.1), layout="constrained")
panels = figure.subplots(1, len(NORMS), sharey=True)
for axes, (name, (title, norm)) in zip(panels, NORMS.items(), strict=True):
    radius = np.multiply.outer(RADII, np.ones_like(norm.norm(data.W)))  # l1 has one radius per task
    fits = working_set.fit(problem, loss=hinge, norm=norm, radius=radius, tol=1e-3, n_iter=5000).W
    W = min(fits, key=lambda W: recovery.error(W, data.X_validation, data.y_validation))
    row = {
        "norm": name,
        "tasks": W.shape[1],
        "train samples per task": N_TRAIN,
        "relevant features": n_relevant,
        "features": W.shape[0],
        "features used": np.count_nonzero(W.any(axis=1)),
        "test error": recovery.error(W, data.X_test, data.y_test),
    }
    rows.append(row)
    shown = np.ma.masked_equal(np.abs(W[order]) / np.abs(W).max(), 0)
    image = axes.imshow(shown, aspect="auto", interpolation="none", cmap="viridis_r", vmin=0, vmax=1)
    axes.set_title(f"{title}\n{row['features used']} features, test error {100 * row['test error']:.0f} %", fontsize=11)
    axes.set_xlabel("task")
    axes.axhline(n_relevant - 0.5, color="0.4", linewidth=1)
panels[0].set_ylabel(f"feature (the first {n_relevant} decide the labels)")
figure.colorbar(image, ax=panels, label="|weight|, relative to the largest (white: 0)")
figure.savefig(Path(__file__).with_name("shared_features.png"), dpi=150)
pd.DataFrame(rows).to_csv(Path(__file__).with_name("shared_features.csv"), index=False)
