r"""
Certificates: how far from the optimum a fit can be
===================================================

Every fit has a relative duality gap, which proves how far its objective can be from the
optimum. The default solver stops when the gap reaches `tol`. The projected subgradient method
of Quattoni et al. (2009, sec. 3.3) takes steps of size :math:`\eta_0 / \sqrt t` and has no
such stopping rule. On tasks drawn as in the paper, this method is about as fast as the default
solver if it uses the best :math:`\eta_0`, which is not known in advance. On features that
differ in size, like the features of an SVD, it is slower.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from jointsparse import JointSparseClassifier
from jointsparse.norms import l1inf
from jointsparse.pipeline.datasets import synthetic

plt.style.use("jointsparse.pipeline.figures.jointsparse")
drawn = synthetic.draw(
    n_features=200, n_tasks=30, n_train=200, n_test=0, rng=np.random.default_rng(0)
)
shrinking = drawn.X_train / np.sqrt(np.arange(1, 201, dtype=np.float32))
shrinking /= np.linalg.norm(shrinking, axis=2, keepdims=True)
problems = {
    "features of one size": drawn.X_train,
    "features that shrink, as in an SVD": shrinking,
}

# %%
# The default solver calls `callback` with each certificate, so one fit gives a whole curve.
# The subgradient method computes a certificate only at its end, so each of its points is a
# separate fit.


def certified(X, **options):
    """Return CPU seconds and gap at each certificate of a fit."""
    seen, start = [], time.process_time()
    model = JointSparseClassifier(
        loss="hinge",
        radius=l1inf.norm(drawn.W),
        labels="signed",
        normalisation="mean",
        fit_intercept=False,
        **options,
    )
    model.callback = lambda n_iter, objective, gap: seen.append(
        (time.process_time() - start, gap)
    )
    model.fit_tasks(list(zip(X, drawn.y_train, strict=True)))
    seen.append((time.process_time() - start, model.duality_gap_))
    return [pair for pair in seen if np.isfinite(pair[1])]


for solver in ("working_set", "subgradient"):
    certified(drawn.X_train, solver=solver, n_iter=1, tol=10.0)  # loads the compiled functions

# %%
# The best step size depends on the features.

figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.4), sharex=True, sharey=True)
for axes, (title, X) in zip(panels, problems.items(), strict=True):
    points = certified(X, tol=1e-4)
    axes.plot(*np.transpose(points), "C0o-", label="default solver, working_set")
    for eta0, look in ((100, "C2D-."), (300, "C4v:"), (1000, "C1s--")):
        options = {"solver": "subgradient", "eta0": eta0}
        points = [certified(X, n_iter=n, **options)[-1] for n in (4, 16, 64, 256, 500)]
        axes.plot(*np.transpose(points), look, label=f"subgradient, η0 = {eta0:,}")
    axes.axhline(1e-3, color="0.5", linewidth=1, linestyle=":")
    axes.set(yscale="log", xscale="log", xlabel="CPU seconds", title=title)
panels[0].set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
panels[0].xaxis.set_minor_formatter("")
panels[0].set(ylabel="certified relative duality gap")
panels[0].text(0.011, 1.1e-3, "the default tol", fontsize=8)
panels[0].legend(loc="upper right")
plt.show()

# %%
# SPAMS minimises the loss plus a penalty, so here all three learners solve the penalised
# problem. Each point is a separate run, and its distance is the distance from the best
# objective of all runs. The subgradient method uses the best of five step sizes. A few
# iterations of SPAMS take less time than a certified fit, but end farther from the optimum.
# The table was written by `benchmarks/gaps.py` on the machine that the figure names.

table = pd.read_csv("gaps.csv")
looks = {"default solver": "C0o", "subgradient": "C1s--", "SPAMS, FISTA": "C3^:"}
figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.4), sharey=True)
for axes, (loss, rows) in zip(panels, table.groupby("loss", sort=False), strict=True):
    for learner, runs in rows.groupby("learner", sort=False):
        axes.plot(
            runs["seconds"], runs["distance"].clip(lower=1e-9), looks[learner], label=learner
        )
    n, d, m = rows.iloc[0][["n", "d", "m"]]
    axes.set_title(f"{loss} loss, {n:,} samples × {d:,} features × {m} tasks", fontsize=10)
    axes.set(xscale="log", yscale="log", xlabel="CPU seconds")
panels[0].set_ylabel("(objective − best) / best\n(values below 1e-9 are drawn at 1e-9)")
panels[0].legend()
figure.suptitle(table["machine"].iloc[0].split(";")[0], fontsize=8, color="0.35")
plt.show()
