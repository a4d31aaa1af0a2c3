r"""
Feature weights: avoiding costly features
=========================================

Some features cost more to measure than others. With `feature_weights` the norm charges each
feature by its cost, :math:`\sum_i s_i \max_k |W_{ik}|`, so the model prefers cheap features.
Here the features are the pixels of scikit-learn's handwritten digits, and the tasks are the
ten digits. Pixels far from the centre are given a high cost.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from jointsparse import JointSparseClassifier

plt.style.use("jointsparse.pipeline.figures.jointsparse")
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, train_size=400, random_state=0, stratify=y
)
distance = np.hypot(*(np.indices((8, 8)) - 3.5)).ravel()
costs = 1 + distance**2  # made up for this example
SHOWN_AT = 0.85  # share of test digits that the fits on the left recognise

# %%
# For each norm, fit a path of radii, which are multiples of a unit that is computed from the
# data. Compute the accuracy on test digits and the total cost of the pixels in use.

paths = {
    "equal weights": JointSparseClassifier(tol=1e-2),
    "weights = costs": JointSparseClassifier(tol=1e-2, feature_weights=costs),
}
results = {}
for name, model in paths.items():
    unit = model.fit(X_train, y_train).radius_
    path = model.path(X_train, y_train, strengths=unit * np.geomspace(0.1, 12, 12))
    used = path.coef.any(axis=1)
    scores = np.einsum("nd,pkd->pnk", X_test, path.coef) + path.intercept[:, np.newaxis]
    results[name] = used, used @ costs, (scores.argmax(axis=2) == y_test).mean(axis=1)

# %%
# Rings mark the first fit of each path that recognises enough test digits.

figure, (plain, weighted, axes) = plt.subplots(
    1, 3, figsize=(10, 3.7), width_ratios=[1, 1, 1.6]
)
for panel, (name, (used, cost, right)), colour, marker in zip(
    (plain, weighted), results.items(), ("C1", "C0"), "so", strict=True
):
    first = int(np.argmax(right >= SHOWN_AT))
    panel.imshow(X_train.mean(axis=0).reshape(8, 8), cmap="gray_r", vmax=1.3)
    y_used, x_used = np.divmod(np.flatnonzero(used[first]), 8)
    panel.scatter(
        x_used, y_used, s=130, marker="s", facecolor="none", edgecolor=colour, linewidth=2
    )
    panel.set_title(f"{name}\n{used[first].sum()} pixels, cost {cost[first]:.0f}")
    panel.set(xticks=[], yticks=[], xlabel="pixels in use, on the mean digit")
    panel.grid(visible=False)
    axes.plot(cost, right, color=colour, marker=marker, label=name)
    axes.plot(
        cost[first],
        right[first],
        marker=marker,
        markersize=11,
        color="none",
        markeredgecolor="black",
    )
axes.set(
    xlabel="cost of the pixels in use",
    ylabel="test digits recognised",
    ylim=(None, 1),
)
axes.yaxis.set_major_formatter("{x:.0%}")
axes.legend(title="ringed: shown on the left", title_fontsize=8, loc="lower right")
plt.show()
