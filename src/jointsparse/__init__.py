"""Jointly sparse multi-task learning: projections, training, and the experiments of two papers.

The library is in front: `norms`, `learning`, `estimators`, `features`, `metrics`, `files` and `pictures`. Behind it,
`pipeline` runs the papers' experiments, and people's own data, with the library. It needs the extra "pipeline", and so
do models in files, and pictures.

- [Q09] A. Quattoni, X. Carreras, M. Collins, T. Darrell: An efficient projection for l1,inf regularization, ICML 2009.
- [Q08] The technical report of [Q09], 2008. [P09] Its poster.
- [D08] J. Duchi, S. Shalev-Shwartz, Y. Singer, T. Chandra: Efficient projections onto the l1-ball, ICML 2008.
- theta, mu: the projection of [Q09] clips row i at a level mu_i. Each row that stays non-zero loses the same sum theta.
- N(theta): the sum of all levels. It falls as theta grows. The solution has N(theta) = radius.
"""

import sys
from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to import than the rest
if TYPE_CHECKING:
    from jointsparse.estimators import (
        JointSparseClassifier,
        JointSparseClassifierCV,
        JointSparseRegressor,
        JointSparseRegressorCV,
        OnlineJointSparseClassifier,
        PathDisplay,
        SupportDisplay,
        compare,
        task_scores,
    )
    from jointsparse.features.explain import explain
    from jointsparse.files import load, save
    from jointsparse.learning.warmup import warmup

__version__ = "1.0.0rc2"
__all__ = [
    "JointSparseClassifier",
    "JointSparseClassifierCV",
    "JointSparseRegressor",
    "JointSparseRegressorCV",
    "OnlineJointSparseClassifier",
    "PathDisplay",
    "SupportDisplay",
    "compare",
    "explain",
    "load",
    "save",
    "task_scores",
    "warmup",
]
ELSEWHERE = {"explain": "features.explain", "load": "files", "save": "files", "warmup": "learning.warmup"}


class OldPaths:
    """Finds the modules of old paths, which are asked for where Python finds none of that name: see `_moved`."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        """Return how to make the module of an old path, and None for any other name."""
        is_ours = name.startswith("jointsparse.")
        return import_module("jointsparse._moved").spec_of(name) if is_ours else None  # which imports more than this


sys.meta_path.append(OldPaths)  # type: ignore[arg-type]


def __getattr__(name: str) -> object:
    """Return a public name, imported when it is first asked for: scikit-learn takes two seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"jointsparse.{ELSEWHERE.get(name, 'estimators')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
