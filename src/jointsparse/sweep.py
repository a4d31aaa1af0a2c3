"""The grid of (eta0, radius) pairs, and the choice of the best pair.

Source: Quattoni et al. 2009, sec. 6.2: eta0 by the training objective, the radius by validation AUC over 10 words.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from jointsparse.registry import pick


def run(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    loss: str,
    norm: str,
    eta0: Sequence[float],
    radius: Sequence[float],
    n_iter: int,
    normalisation: str,
    solver: str = "subgradient",
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, np.ndarray]:
    """Train every (eta0, radius) pair of a grid.

    X: (n_samples, n_features). Y: (n_samples, n_tasks) in {-1, 0, +1}; samples of no task are not touched.
    loss, norm, solver: names of plug-ins. Other arguments: see the solver.

    Returns the arrays of a sweep, one entry per pair: parameter (the radius), eta0, W (n_pairs, n_features, n_tasks),
    objective (n_pairs, n_iter + 1), best (the iteration of W).
    """
    used = Y.any(axis=1)
    pairs = np.array(list(product(radius, eta0)), dtype=float)
    fitted = pick("solvers", solver).fit(
        X[used],
        Y[used],
        loss=pick("losses", loss),
        norm=pick("norms", norm),
        eta0=pairs[:, 1],
        radius=pairs[:, 0],
        n_iter=n_iter,
        normalisation=normalisation,
        progress=progress,
    )
    return {
        "parameter": pairs[:, 0],
        "eta0": pairs[:, 1],
        "W": fitted.W,
        "objective": fitted.objective,
        "best": fitted.best,
    }


def choose_eta0(sweep: dict[str, np.ndarray]) -> np.ndarray:
    """For each value of the parameter, in increasing order, the index of the pair with the smallest objective."""
    smallest = sweep["objective"].min(axis=1)
    chosen = []
    for value in np.unique(sweep["parameter"]):
        pairs = np.flatnonzero(sweep["parameter"] == value)
        chosen.append(pairs[np.argmin(smallest[pairs])])
    return np.array(chosen)


def choose_parameter(validation_auc: np.ndarray) -> int:
    """The index of the largest validation AUC; among equal ones the first, that is the most regularised."""
    return int(np.argmax(validation_auc))
