r"""
Certificates: how far from the optimum a fit can be
===================================================

Every fit comes with a relative duality gap: a proof of how far its objective can be from the optimum. The default
solver ends at a gap of `tol`. The projected subgradient descent of Quattoni et al. (2009, sec. 3.3) takes steps of size
:math:`\eta_0 / \sqrt t`, and has no such end. On tasks drawn as in the paper it is about as quick with the best
:math:`\eta_0`, which nobody knows beforehand. On features that differ in size, like those of an SVD, it is slower.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from jointsparse import JointSparseClassifier
from jointsparse.datasets import synthetic
from jointsparse.norms import l1inf

plt.style.use("jointsparse.figures.jointsparse")
drawn = synthetic.draw(n_features=200, n_tasks=30, n_train=200, n_test=0, rng=np.random.default_rng(0))
shrinking = drawn.X_train / np.sqrt(np.arange(1, 201, dtype=np.float32))
shrinking /= np.linalg.norm(shrinking, axis=2, keepdims=True)
problems = {"features of one size": drawn.X_train, "features that shrink, as of an SVD": shrinking}

# %%
# The default solver calls `callback` with each certificate, so that one fit draws its whole curve. The subgradient
# method has a certificate at its end only, and each of its points is a fit of its own.


def certified(X, **options):
    """CPU seconds and gap at each certificate of a fit."""
    seen, start = [], time.process_time()
    model = JointSparseClassifier(
        loss="hinge", radius=l1inf.norm(drawn.W), labels="signed", normalisation="mean", fit_intercept=False, **options
    )
    model.callback = lambda n_iter, objective, gap: seen.append((time.process_time() - start, gap))
    model.fit_tasks(list(zip(X, drawn.y_train, strict=True)))
    seen.append((time.process_time() - start, model.duality_gap_))
    return [pair for pair in seen if np.isfinite(pair[1])]


certified(drawn.X_train, tol=0.5)  # loads the compiled functions
certified(drawn.X_train, solver="subgradient", n_iter=1)

# %%
# Which step size is the best depends on the features.

figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.4), sharex=True, sharey=True)
for axes, (title, X) in zip(panels, problems.items(), strict=True):
    axes.plot(*np.transpose(certified(X, tol=1e-4)), color="C0", marker="o", label="default solver, working_set")
    for eta0, colour, marker, dashes in ((100, "C2", "D", "-."), (300, "C4", "v", ":"), (1000, "C1", "s", "--")):
        fits = (certified(X, solver="subgradient", eta0=eta0, n_iter=n_iter) for n_iter in (4, 16, 64, 256, 500))
        points = np.transpose([of_fit[-1] for of_fit in fits])
        axes.plot(*points, color=colour, marker=marker, linestyle=dashes, label=f"subgradient, η0 = {eta0:,}")
    axes.axhline(1e-3, color="0.5", linewidth=1, linestyle=":")
    axes.set(yscale="log", xscale="log", xlabel="CPU seconds", title=title)
panels[0].set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
panels[0].xaxis.set_minor_formatter("")
panels[0].set(ylabel="certified relative duality gap")
panels[1].text(1, 1.1e-3, "the default tol", fontsize=8, ha="right", transform=panels[1].get_yaxis_transform())
panels[0].legend()
plt.show()
