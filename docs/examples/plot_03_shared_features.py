"""
Features that 30 tasks share
============================

All 30 tasks depend on the same 10 of 100 features, with weights of -1 and +1, and have 80
samples each. l1 fits each task alone and picks different features for each. With the joint
norms a feature is cheaper if another task already uses it, so the tasks agree on features.
l1,∞ suits these weights, because they all have the same size. (Quattoni et al. 2009, sec. 5,
draw normal weights.)
"""

import matplotlib.pyplot as plt
import numpy as np

from jointsparse import JointSparseClassifier
from jointsparse.pipeline.datasets import synthetic

plt.style.use("jointsparse.pipeline.figures.jointsparse")
rng = np.random.default_rng(0)
drawn = synthetic.draw(
    n_features=100, n_tasks=30, n_train=80, n_test=300, weights="sign", support="all", rng=rng
)
tasks = list(zip(drawn.X_train, drawn.y_train, strict=True))
order = np.argsort(~drawn.relevant, kind="stable")  # the relevant features on top

# %%
# A fit with `radius="auto"` computes a unit of radii from the data. Multiples of this unit
# can be compared between norms.

MULTIPLES = (0.25, 0.5, 1, 2)
NORMS = {"l1": "l1\neach task alone", "l1inf": "l1,∞\njoint", "l12": "l1,2\njoint"}
SETTING = {"loss": "hinge", "labels": "signed", "fit_intercept": False, "tol": 1e-2}

figure, panels = plt.subplots(3, len(MULTIPLES), figsize=(9.6, 8), sharex=True, sharey=True)
for row, (norm, name) in zip(panels, NORMS.items(), strict=True):
    unit = JointSparseClassifier(norm, **SETTING).fit_tasks(tasks).radius_
    for axes, multiple in zip(row, MULTIPLES, strict=True):
        W = (
            JointSparseClassifier(norm, radius=multiple * unit, **SETTING)
            .fit_tasks(tasks)
            .coef_.T
        )
        wrong = np.einsum("knd,dk->kn", drawn.X_test, W) * drawn.y_test <= 0
        shown = np.ma.masked_equal(np.abs(W[order]) / np.abs(W).max(), 0)
        image = axes.imshow(
            shown, aspect="auto", interpolation="none", cmap="viridis_r", vmin=0, vmax=1
        )
        axes.set_title(
            f"{np.count_nonzero(W.any(axis=1))} features, error {wrong.mean():.0%}", fontsize=10
        )
        axes.axhline(drawn.relevant.sum() - 0.5, color="C1", linewidth=1)
        axes.grid(visible=False)
        axes.set(
            xticks=[0, 14, 29],
            xticklabels=[1, 15, 30],
            yticks=[0, 49, 99],
            yticklabels=[1, 50, 100],
        )
    row[0].set_ylabel(f"{name}\n\nfeature")
for axes, multiple in zip(panels[-1], MULTIPLES, strict=True):
    axes.set_xlabel(f"task\n\nradius: {multiple:g} × its unit")
figure.colorbar(
    image, ax=panels, label="|weight|, relative to the largest (white: 0)", shrink=0.6
)
figure.suptitle("above the red line: the 10 features that matter")
plt.show()
