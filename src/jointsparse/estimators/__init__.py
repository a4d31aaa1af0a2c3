"""Estimators in the manner of scikit-learn, on top of the norms and solvers."""

from jointsparse.estimators.classifier import JointSparseClassifier
from jointsparse.estimators.online import OnlineJointSparseClassifier
from jointsparse.estimators.regressor import JointSparseRegressor
from jointsparse.estimators.search import JointSparseClassifierCV

__all__ = [
    "JointSparseClassifier",
    "JointSparseClassifierCV",
    "JointSparseRegressor",
    "OnlineJointSparseClassifier",
]
