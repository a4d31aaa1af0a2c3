"""scikit-learn estimators that are built on the norms and solvers."""

from jointsparse.estimators.classifier import JointSparseClassifier
from jointsparse.estimators.displays import PathDisplay, StabilityDisplay, SupportDisplay
from jointsparse.estimators.issues import label_issues
from jointsparse.estimators.online import OnlineJointSparseClassifier
from jointsparse.estimators.path import Path
from jointsparse.estimators.ranking import compare, task_scores
from jointsparse.estimators.regressor import JointSparseRegressor
from jointsparse.estimators.search import JointSparseClassifierCV, JointSparseRegressorCV
from jointsparse.estimators.stability import StabilitySelection, stability_selection

__all__ = [
    "JointSparseClassifier",
    "JointSparseClassifierCV",
    "JointSparseRegressor",
    "JointSparseRegressorCV",
    "OnlineJointSparseClassifier",
    "Path",
    "PathDisplay",
    "StabilityDisplay",
    "StabilitySelection",
    "SupportDisplay",
    "compare",
    "label_issues",
    "stability_selection",
    "task_scores",
]
