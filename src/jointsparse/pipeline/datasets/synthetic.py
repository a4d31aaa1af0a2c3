"""Tasks whose weights are known: vectors that share a few relevant features, with normal samples of unit length.

This is no dataset of photographs, so it offers `draw` instead of `read`. Source: Quattoni et al. 2009, sec. 5.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jointsparse.checks import require

WEIGHTS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "sign": lambda rng, n: rng.choice([-1.0, 1.0], n),
}
SUPPORTS = ("random", "all")

OFFERS = "drawn"
LABELS = "tasks"
TAKES = ()
NEEDS = ()


class Synthetic(NamedTuple):
    """Tasks with samples of their own, and the weights that generated them.

    W: (n_features, n_tasks), the true weights. relevant: (n_features,) bool, the features that tasks choose theirs
    from. X_train, X_validation, X_test: (n_tasks, n, n_features), float32, rows of length 1. y_train, y_validation,
    y_test: (n_tasks, n) of -1 and +1, int8.
    """

    W: np.ndarray
    relevant: np.ndarray
    X_train: np.ndarray
    y_train: np.ndarray
    X_validation: np.ndarray
    y_validation: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def draw(
    *,
    n_features: int = 200,
    n_tasks: int = 60,
    relevant: float = 0.1,
    n_train: int = 640,
    n_validation: int = 200,
    n_test: int = 1000,
    weights: str = "normal",
    support: str = "random",
    rng: np.random.Generator,
) -> Synthetic:
    """Draw weights and samples.

    A part of the features forms V. Each task uses a random subset of V, of a size uniform between half of V and all.
    Its weights are normal(0, 1) there and 0 elsewhere. Samples are normal(0, 1), then scaled to length 1. Labels are
    sign(w_k . x). The paper draws normal weights on random subsets.

    For a training set of n samples take the first n of each task, so that sets of different sizes are nested. One state
    of rng gives the same W, validation and test samples whatever n_train is.

    Parameters
    ----------
    n_features : int, at least 1
        Rows of W.
    n_tasks : int, at least 1
        Columns of W.
    relevant : float, above 0 and at most 1
        Part of the features that forms V, at least one feature.
    n_train : int, at least 1
        Training samples per task.
    n_validation : int, at least 0
        Validation samples per task.
    n_test : int, at least 0
        Test samples per task.
    weights : str
        Distribution of the weights: "normal", "uniform" on [-1, 1], or "sign", which is -1 or +1.
    support : str
        "random" subsets of V, or "all" of V for every task.
    rng : Generator
        Source of all draws.

    Returns
    -------
    tasks : Synthetic

    Raises
    ------
    ValueError
        If a size is too small, or for an unknown name.
    """
    for name, value, least in [
        ("n_features", n_features, 1),
        ("n_tasks", n_tasks, 1),
        ("n_train", n_train, 1),
        ("n_validation", n_validation, 0),
        ("n_test", n_test, 0),
    ]:
        require(value >= least, f"{name} must be at least {least}, got {value}")
    n_relevant = round(relevant * n_features) if 0 <= relevant <= 1 else 0
    require(
        n_relevant >= 1,
        f"relevant must be a fraction, at most 1, that makes at least one of {n_features} features relevant, "
        f"got {relevant}",
    )
    for name, known, got in (("weights", tuple(WEIGHTS), weights), ("support", SUPPORTS, support)):
        require(got in known, f"{name} must be one of {', '.join(known)}, got {got!r}")
    V = rng.choice(n_features, n_relevant, replace=False)
    W = np.zeros((n_features, n_tasks))
    for w in W.T:
        # Choice: half of an odd number is rounded up, so no task is without features.
        least = (n_relevant + 1) // 2 if support == "random" else n_relevant
        used = rng.choice(V, rng.integers(least, n_relevant + 1), replace=False)
        w[used] = WEIGHTS[weights](rng, len(used))
    # Choice: 1,000 test and 200 validation samples for each task; the paper names no numbers.
    test, validation, train = (_samples(W, n, rng) for n in (n_test, n_validation, n_train))
    return Synthetic(W, np.isin(np.arange(n_features), V), *train, *validation, *test)


def _samples(W: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """n samples of each task, and their labels."""
    X = np.empty((W.shape[1], n, W.shape[0]), dtype=np.float32)
    for of_task in X:
        normal = rng.normal(size=of_task.shape)
        of_task[...] = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    # The rounded samples decide the labels. einsum gives the same bits for any number of threads.
    # Choice: sign(0) = +1. A small training set may hold one label only; the paper does not balance them.
    return X, np.where(np.einsum("knd,dk->kn", X, W) >= 0, 1, -1).astype(np.int8)
