"""Synthetic tasks: random samples of unit length, and known weight vectors that share a few relevant features.

This loader has a function `draw` instead of `read`, because each study of such a dataset draws its own tasks. Source:
Quattoni et al. 2009, sec. 5.
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

LABELS = "tasks"


class Synthetic(NamedTuple):
    """Tasks with their samples and labels, and the weights that generated the labels.

    Attributes
    ----------
    W : array, shape (n_features, n_tasks)
        The true weights.
    relevant : array of bool, shape (n_features,)
        True for the features in the set V, from which each task draws the features that it uses.
    X_train, X_validation, X_test : array, shape (n_tasks, n, n_features), float32
        Samples of each task, scaled to length 1.
    y_train, y_validation, y_test : array, shape (n_tasks, n), int8
        Labels of these samples, -1 or +1.
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
    """Draw the weights and the samples of synthetic tasks.

    The set V consists of a fraction `relevant` of the features, chosen at random. Each task uses a random subset of V,
    whose size is uniformly distributed between half the size of V and the size of V. The weights of the task are
    normal(0, 1) on this subset and 0 elsewhere. Samples are drawn from normal(0, 1) and scaled to length 1. The label
    of sample x in task k is sign(w_k . x). These are the paper's choices, which `weights` and `support` can change.

    For a training set of n samples, take the first n samples of each task, so that sets of different sizes are nested.
    For the same state of `rng`, W and the validation and test samples do not depend on `n_train`.

    Parameters
    ----------
    n_features : int, at least 1
        Number of features, the rows of W.
    n_tasks : int, at least 1
        Number of tasks, the columns of W.
    relevant : float, above 0 and at most 1
        Fraction of the features that are in V. V must have at least one feature.
    n_train : int, at least 1
        Number of training samples per task.
    n_validation : int, at least 0
        Number of validation samples per task.
    n_test : int, at least 0
        Number of test samples per task.
    weights : str
        Distribution of the nonzero weights: "normal", "uniform" (on [-1, 1]), or "sign" (-1 or +1).
    support : str
        The features that a task uses: a "random" subset of V, or "all" of V.
    rng : Generator
        Random generator that makes all draws.

    Returns
    -------
    tasks : Synthetic

    Raises
    ------
    ValueError
        If a number is outside its range, or if `weights` or `support` has an unknown value.
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
        f"relevant must be a fraction of at most 1 that makes at least one of {n_features} features relevant, "
        f"got {relevant}",
    )
    for name, known, got in (("weights", tuple(WEIGHTS), weights), ("support", SUPPORTS, support)):
        require(got in known, f"{name} must be one of {', '.join(known)}, got {got!r}")
    V = rng.choice(n_features, n_relevant, replace=False)
    W = np.zeros((n_features, n_tasks))
    for w in W.T:
        # Choice: half of an odd number is rounded up, so that every task has features.
        least = (n_relevant + 1) // 2 if support == "random" else n_relevant
        used = rng.choice(V, rng.integers(least, n_relevant + 1), replace=False)
        w[used] = WEIGHTS[weights](rng, len(used))
    # Choice: 1,000 test and 200 validation samples for each task, because the paper does not state them.
    test, validation, train = (_samples(W, n, rng) for n in (n_test, n_validation, n_train))
    return Synthetic(W, np.isin(np.arange(n_features), V), *train, *validation, *test)


def _samples(W: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw n samples for each task, and return the samples and their labels."""
    X = np.empty((W.shape[1], n, W.shape[0]), dtype=np.float32)
    for X_task in X:
        normal = rng.normal(size=X_task.shape)
        X_task[...] = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    # Labels are computed from the samples after rounding to float32. einsum gives the same bits for any number of
    # threads.
    # Choice: sign(0) = +1. A small training set may hold only one label, because the paper does not balance labels.
    return X, np.where(np.einsum("knd,dk->kn", X, W) >= 0, 1, -1).astype(np.int8)
