"""Jointly sparse multi-task learning: projections, training, and the experiments of two papers.

The library consists of `norms`, `learning`, `estimators`, `features`, `metrics` and `pictures`. The package `pipeline`
uses the library to run the papers' experiments and to analyse a user's own data. `pipeline` and `pictures` need the
extra "pipeline".

- [Q09] A. Quattoni, X. Carreras, M. Collins, T. Darrell: An efficient projection for l1,inf regularization, ICML 2009.
- [Q08] The technical report of [Q09], 2008. [P09] Its poster.
- [D08] J. Duchi, S. Shalev-Shwartz, Y. Singer, T. Chandra: Efficient projections onto the l1-ball, ICML 2008.
- theta, mu: the projection of [Q09] clips row i at a level mu_i. Every row that stays non-zero loses the same sum theta
  of absolute values.
- N(theta): the sum of all levels mu_i as a function of theta. It falls as theta grows; the solution has
  N(theta) = radius.
"""

from importlib import import_module

TYPE_CHECKING = False  # defined here because importing `typing` would take longer than the rest of this module
if TYPE_CHECKING:
    from jointsparse.estimators import (
        JointSparseClassifier,
        JointSparseClassifierCV,
        JointSparseRegressor,
        JointSparseRegressorCV,
        OnlineJointSparseClassifier,
        PathDisplay,
        StabilityDisplay,
        SupportDisplay,
        compare,
        stability_selection,
        task_scores,
    )
    from jointsparse.features.explain import explain
    from jointsparse.learning.warmup import warmup

__version__ = "1.0.0rc2"
__all__ = [
    "JointSparseClassifier",
    "JointSparseClassifierCV",
    "JointSparseRegressor",
    "JointSparseRegressorCV",
    "OnlineJointSparseClassifier",
    "PathDisplay",
    "StabilityDisplay",
    "SupportDisplay",
    "compare",
    "explain",
    "stability_selection",
    "task_scores",
    "warmup",
]
ELSEWHERE = {"explain": "features.explain", "warmup": "learning.warmup"}


def __getattr__(name: str) -> object:
    """Import a public name on first access, because importing scikit-learn takes two seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"jointsparse.{ELSEWHERE.get(name, 'estimators')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
