"""
Multi-label tags against one-vs-rest, with intervals
====================================================

Each of scikit-learn's handwritten digits has its own tag and further tags, such as "even" or
"has a loop". With a joint norm all tags use the same pixels, whereas scikit-learn's
one-vs-rest logistic regression uses all pixels. `task_scores` returns the AUC of each tag with
its interval, and `compare` returns the difference of two models on the same samples. On most
tags, the AUC of the joint model is slightly lower, because it uses fewer pixels.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier

from jointsparse import JointSparseClassifierCV, compare, task_scores

plt.style.use("jointsparse.pipeline.figures.jointsparse")
X, digit = load_digits(return_X_y=True)
tags = {str(d): [d] for d in range(10)}
tags |= {
    "even": [0, 2, 4, 6, 8],
    "below 5": [0, 1, 2, 3, 4],
    "prime": [2, 3, 5, 7],
    "has a loop": [0, 6, 8, 9],
}
Y = pd.DataFrame({tag: np.isin(digit, digits).astype(int) for tag, digits in tags.items()})
X, X_test, Y, Y_test = train_test_split(
    X / 16, Y, train_size=300, random_state=0, stratify=digit
)

# %%
# Both models choose their regularisation by the mean AUC over five folds.
# `selection="one_standard_error"` prefers fewer pixels.

joint = JointSparseClassifierCV(
    radii=[5, 10, 20, 40, 80], selection="one_standard_error", tol=1e-2
).fit(X, Y)
grid = {"estimator__C": np.geomspace(0.01, 100, 5)}
one_vs_rest = GridSearchCV(
    OneVsRestClassifier(LogisticRegression(max_iter=1000)), grid, scoring="roc_auc"
).fit(X, Y)

scores = pd.DataFrame(task_scores(joint, X_test, Y_test))
ahead = pd.DataFrame(compare(joint, one_vs_rest, X_test, Y_test))
print(f"pixels that the joint model uses: {len(joint.selected_features_)} of {X.shape[1]}")
print(
    ahead[["task", "auc_a", "auc_b", "difference", "low", "high"]]
    .round(3)
    .to_string(index=False)
)

# %%
# The lines are 95 % intervals over test digits. Red means that the joint model has a lower
# AUC and that the interval excludes 0.


def intervals(axes, middle, low, high, colours):
    places = np.arange(len(middle))
    axes.hlines(places, low, high, color=colours, linewidth=3)
    axes.scatter(middle, places, color=colours, edgecolor="white", s=60, zorder=3)


def colour_of(row):
    return "C1" if row.high < 0 else "C0" if row.low > 0 else "0.55"


figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 5), sharey=True)
intervals(left, scores.auc, scores.auc_low, scores.auc_high, ["C0"] * len(scores))
colours = [colour_of(row) for row in ahead.itertuples()]
intervals(right, ahead.difference, ahead.low, ahead.high, colours)
right.axvline(0, color="black", linewidth=1)
right.axhline(len(tags) - 0.5, color="0.8", linewidth=1)
left.set_yticks(range(len(ahead)), ahead["task"])
left.invert_yaxis()
left.set(
    xlabel="AUC on test digits",
    ylabel="tag",
    title=f"joint, {len(joint.selected_features_)} of {X.shape[1]} pixels",
)
right.set(
    xlabel="AUC of the joint model minus that of one-vs-rest",
    title="against one-vs-rest, all pixels",
)
right.set_xticks([-0.03, -0.02, -0.01, 0])
plt.show()
