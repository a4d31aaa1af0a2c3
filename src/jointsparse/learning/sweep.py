"""The grid of (eta0, radius) pairs, and the choice of the best pair.

Source: Quattoni et al. 2009, sec. 6.2: eta0 by the training objective, the radius by validation AUC over 10 words.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import fingerprint
from jointsparse.learning.problem import Fit, Problem, objective_at_zero
from jointsparse.registry import pick


def run(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    loss: str,
    norm: str,
    radius: Sequence[float],
    eta0: Sequence[float] = (),
    n_iter: int,
    normalisation: str,
    solver: str = "subgradient",
    tol: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, np.ndarray]:
    """Train every (eta0, radius) pair of a grid.

    X: (n_samples, n_features). Y: (n_samples, n_tasks) in {-1, 0, +1}; samples of no task are not touched.
    loss, norm, solver: names of plug-ins. tol: the relative duality gap to stop at, for solvers that do. A solver
    without step sizes takes each radius once. Other arguments: see the solver.

    Besides X it keeps what a Problem keeps of each task's rows, and for every pair two matrices (n_features, n_tasks).

    Returns the arrays of a sweep. One entry per pair: radius, eta0 (NaN without step sizes), objective
    (n_pairs, n_iter + 1), gap: the certified relative duality gap. One entry per radius, in increasing order: W
    (n_radii, n_features, n_tasks), of the eta0 that `choose_eta0` chooses. And `learnt_from`.
    """
    solver_module = pick("solvers", solver)
    loss_module, norm_module = pick("losses", loss), pick("norms", norm)
    options: dict[str, Any] = {"n_iter": n_iter, "progress": progress}
    steps: Sequence[float] = eta0 if "eta0" in solver_module.TAKES else [np.nan]
    if not len(radius) or not len(steps) or not np.isfinite(np.asarray(radius, dtype=float)).all():
        raise ValueError(f"radius and eta0 must be lists of finite numbers, at least one each, got {radius}, {eta0}")
    if not np.isin(Y, (-1, 0, 1)).all():
        raise ValueError("Y must hold -1, 0 and +1 only")
    pairs = np.array(list(product(radius, steps)), dtype=float)
    if steps is eta0:
        options["eta0"] = pairs[:, 1]
    if tol is not None and solver_module.STOPS_AT_TOL:
        options["tol"] = tol
    problem = Problem.from_matrix(X, Y, normalisation=normalisation)
    fitted = solver_module.fit(problem, loss=loss_module, norm=norm_module, radius=pairs[:, 0], **options)
    swept = {"radius": pairs[:, 0], "eta0": pairs[:, 1], "objective": fitted.objective, "gap": fitted.gap}
    return swept | {"W": fitted.W[choose_eta0(swept)], "learnt_from": learnt_from(X, Y, f"{loss}-{norm}")}


def path(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    loss: str,
    norm: str,
    radius: Sequence[float],
    n_iter: int,
    normalisation: str,
    tol: float = 1e-3,
    solver: str = "pdhg",
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, np.ndarray]:
    """Train a path of radii, each from the solution for the next smaller one.

    Arguments as in `run`, for solvers without step sizes. Returns, one entry per radius in increasing order: radius
    (the radius), W (n_radii, n_features, n_tasks), objective (n_radii,), of W, gap: its certified relative duality gap,
    n_iter: the iterations it took, and at_zero: the objective at W = 0, one number. And
    `learnt_from`. progress: called with (radii done, of all).
    """
    solver_module = pick("solvers", solver)
    if not solver_module.STOPS_AT_TOL:
        raise ValueError(f"solver must be one that stops at tol, such as pdhg, got {solver!r}")
    problem = Problem.from_matrix(X, Y, normalisation=normalisation)
    plug_ins = {"loss": pick("losses", loss), "norm": pick("norms", norm)}
    radii = np.sort(np.asarray(radius, dtype=float))
    fits: list[Fit] = []
    for done, one in enumerate(radii):
        start = fits[-1] if fits else None
        fits.append(solver_module.fit(problem, **plug_ins, radius=np.array([one]), tol=tol, n_iter=n_iter, start=start))
        if progress:
            progress(done + 1, len(radii))
    return {
        "radius": radii,
        "W": np.concatenate([fit.W for fit in fits]),
        "objective": np.concatenate([fit.value for fit in fits]),
        "gap": np.concatenate([fit.gap for fit in fits]),
        "n_iter": np.array([fit.n_iter for fit in fits]),
        "at_zero": np.array(objective_at_zero(problem, plug_ins["loss"])),
        "learnt_from": learnt_from(X, Y, f"{loss}-{norm}"),
    }


def spaced(radius: Sequence[float], *, n_radii: int, lowest: float, highest: float) -> np.ndarray:
    """Radii evenly spaced in their logarithm, from lowest * the smallest of a grid above 0 to highest * the largest.

    >>> spaced([1, 10], n_radii=3, lowest=0.1, highest=10).tolist()
    [0.1, 3.16, 100.0]
    """
    positive = [value for value in radius if value > 0]
    if not positive:
        raise ValueError(f"radius must hold a number greater than 0, got {radius}")
    ends = lowest * min(positive), highest * max(positive)
    if not ends[0] < ends[1]:
        raise ValueError(f"lowest and highest must leave room between them, got radii from {ends[0]:g} to {ends[1]:g}")
    return np.array([float(f"{value:.3g}") for value in np.geomspace(*ends, n_radii)])


def choose_eta0(sweep: dict[str, np.ndarray]) -> np.ndarray:
    """For each radius, in increasing order, the index of the pair with the smallest objective."""
    smallest = np.nanmin(sweep["objective"], axis=1)
    chosen = []
    for value in np.unique(sweep["radius"]):
        pairs = np.flatnonzero(sweep["radius"] == value)
        chosen.append(pairs[np.argmin(smallest[pairs])])
    return np.array(chosen)


def choose_parameter(validation_auc: np.ndarray) -> int:
    """The index of the largest validation AUC; among equal ones the first, that is the most regularised."""
    return int(np.argmax(validation_auc))


def at_edge(name: str, value: float, grid: ArrayLike) -> str:
    """A warning where a chosen value lies at an edge of its grid, as better ones may lie beyond; else nothing.

    >>> at_edge("eta0", 10.0, [0.1, 1.0, 10.0])
    'eta0 at the upper edge of its grid'
    """
    values = np.unique(np.asarray(grid))
    if len(values) < 2 or value not in (values[0], values[-1]):
        return ""
    return f"{name} at the {'lower' if value == values[0] else 'upper'} edge of its grid"


def learnt_from(X: Any, Y: Any, method: str) -> NDArray[Any]:
    """What weights were learnt from, to be told from others: fingerprints of features and labels, and the method."""
    return np.array([fingerprint(X), fingerprint(Y), method])
