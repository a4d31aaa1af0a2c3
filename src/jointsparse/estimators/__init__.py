"""scikit-learn estimators that are built on the norms and solvers."""

from jointsparse.estimators.classifier import JointSparseClassifier
from jointsparse.estimators.displays import PathDisplay, SupportDisplay
from jointsparse.estimators.online import OnlineJointSparseClassifier
from jointsparse.estimators.path import Path
from jointsparse.estimators.ranking import compare, task_scores
from jointsparse.estimators.regressor import JointSparseRegressor
from jointsparse.estimators.search import JointSparseClassifierCV, JointSparseRegressorCV

__all__ = [
    "JointSparseClassifier",
    "JointSparseClassifierCV",
    "JointSparseRegressor",
    "JointSparseRegressorCV",
    "OnlineJointSparseClassifier",
    "Path",
    "PathDisplay",
    "SupportDisplay",
    "compare",
    "task_scores",
]
