"""Every public call that reads samples, for facts that hold for all of them, and the samples of these facts."""

import numpy as np
from common import problem
from scipy import sparse

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
    compare,
    label_issues,
    stability_selection,
    task_scores,
)

SAMPLES, SIGNS = problem(n=120, d=8)
Y = (SIGNS + 1) // 2
TARGETS = SAMPLES[:, :3] @ np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]) + 3.0
HIDDEN = np.random.default_rng(5).random(Y.shape) < 0.3
THIRDS = np.digitize(SAMPLES[:, 0], [-0.5, 0.5])
LARGE = 2**53  # above this number float64 cannot represent all integers
IDS = [LARGE, LARGE + 1, LARGE + 2]
CLASSES = np.array(IDS)[THIRDS]


def beyond(X, form="CSR"):
    """Return a sparse X with an entry in a column or row beyond its shape."""
    made = getattr(sparse, f"{form.lower()}_matrix")(X)
    (made.row if form == "COO" else made.indices)[3] = 2**31 - 1
    return made


def fitted():
    return JointSparseClassifier().fit(SAMPLES, CLASSES)


# Calls with features and a vector of labels from IDS, and what they compute from them.
LABELS = {
    "fit": lambda X, y: JointSparseClassifier().fit(X, y).coef_,
    "path": lambda X, y: JointSparseClassifier().path(X, y, strengths=[1.0]).coef,
    "search": lambda X, y: JointSparseClassifierCV(radii=[1.0], cv=2).fit(X, y).scores_,
    "scoring": lambda X, y: JointSparseClassifierCV(radii=[1.0], cv=2, scoring="accuracy").fit(X, y).scores_,
    "X_val": lambda X, y: JointSparseClassifierCV(radii=[1.0]).fit(SAMPLES, CLASSES, X_val=X, y_val=y).scores_,
    "score": lambda X, y: fitted().score(X, y),
    "calibrate": lambda X, y: fitted().calibrate(X, y).calibration_,
    "task_scores": lambda X, y: task_scores(fitted(), X, y).auc,
    "compare": lambda X, y: compare(fitted(), fitted(), X, y, n_resamples=2).auc_a,
    "label_issues": lambda X, y: label_issues(JointSparseClassifier(), X, y, cv=2).score,
    "stability": lambda X, y: stability_selection(JointSparseClassifier(), X, y, n_pairs=1).frequencies,
    "online": lambda X, y: OnlineJointSparseClassifier(random_state=0).fit(X, y).coef_,
    "partial_fit": lambda X, y: OnlineJointSparseClassifier().partial_fit(X, y, classes=IDS).coef_,
}
TASKS = {"fit_tasks": lambda X, y: JointSparseClassifier().fit_tasks([(SAMPLES, Y[:, 0]), (X, y)])}
CLASSES_ONLY = {
    "classes": lambda X, y: OnlineJointSparseClassifier().partial_fit(SAMPLES, CLASSES, classes=y),
}
# Calls with features and a vector of targets.
NUMBERS = {
    "regressor": lambda X, y: JointSparseRegressor().fit(X, y).coef_,
    "search of regressor": lambda X, y: JointSparseRegressorCV(radii=[1.0], cv=2).fit(X, y).scores_,
    "score of regressor": lambda X, y: JointSparseRegressor().fit(SAMPLES, TARGETS[:, 0]).score(X, y),
}
# Calls with features only.
FEATURES = {
    "predict": lambda X, y: fitted().predict(X),
    "decision_function": lambda X, y: fitted().decision_function(X),
    "predict of regressor": lambda X, y: JointSparseRegressor().fit(SAMPLES, TARGETS).predict(X),
    "predict online": lambda X, y: OnlineJointSparseClassifier().fit(SAMPLES, CLASSES).predict(X),
}
