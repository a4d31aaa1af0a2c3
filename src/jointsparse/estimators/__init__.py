"""Estimators in the manner of scikit-learn, on top of the norms and solvers."""

from jointsparse.estimators.classifier import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor
from jointsparse.estimators.online import OnlineJointSparseClassifier

__all__ = [
    "JointSparseClassifier",
    "JointSparseClassifierCV",
    "JointSparseRegressor",
    "OnlineJointSparseClassifier",
]
