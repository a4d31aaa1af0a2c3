"""Jointly sparse multi-task learning: projections, training, and the experiments of Quattoni et al. and Duchi et al."""

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to import than the rest
if TYPE_CHECKING:
    from jointsparse.estimators import (
        JointSparseClassifier,
        JointSparseClassifierCV,
        JointSparseRegressor,
        OnlineJointSparseClassifier,
    )

__version__ = "0.1.0"
__all__ = [
    "JointSparseClassifier",
    "JointSparseClassifierCV",
    "JointSparseRegressor",
    "OnlineJointSparseClassifier",
]


def __getattr__(name: str) -> object:
    """An estimator, imported when it is first asked for: scikit-learn takes two seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("jointsparse.estimators"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
