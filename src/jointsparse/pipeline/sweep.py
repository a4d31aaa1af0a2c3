"""Fit a method to a training set on a grid of pairs (eta0, radius), or along a path of radii that the data determine.

Source: Quattoni et al. 2009, sec. 6.2, where the training objective chooses eta0, and the mean validation AUC of 10
words chooses the radius.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.arrays import fingerprint, select
from jointsparse.checks import require
from jointsparse.learning import radii, scales
from jointsparse.learning.certificate import solve_at_zero
from jointsparse.learning.fit import Fit, padded
from jointsparse.learning.problem import Problem
from jointsparse.pipeline.flag import Flag, Kind
from jointsparse.registry import pick

Progress = Callable[[int, int], None]


class Sweep(NamedTuple):
    """The fits of a loss and a norm, or of LinearSVC, for a grid of pairs (radius, eta0).

    Attributes
    ----------
    radius : array, (n_pairs,)
        The papers' C; for LinearSVC, its parameter C.
    eta0 : array, (n_pairs,)
        Initial step sizes; NaN if the solver has no step sizes.
    power : array, (n_pairs,)
        Power of the singular values by which the features were scaled, see `in_powers`; 1 for unscaled features.
    objective : array, (n_pairs, n_records)
        Objective at W = 0 and at the iterations that were recorded; NaN after the last iteration of a fit.
    gap : array, (n_pairs,)
        Certified relative duality gap; NaN without a certificate.
    unconverged : int array, (n_pairs,)
        Number of tasks for which LinearSVC did not converge.
    W : array, (n_radii, n_features, n_tasks)
        Weights for each radius, with the eta0 that `radii.choose_eta0` chooses, ordered by power and then by increasing
        radius.
    learnt_from : text array, (3,)
        Fingerprints of the features and of the labels, and the name of the method.
    """

    radius: NDArray[Any]
    eta0: NDArray[Any]
    power: NDArray[Any]
    objective: NDArray[Any]
    gap: NDArray[Any]
    unconverged: NDArray[Any]
    W: NDArray[Any]
    learnt_from: NDArray[Any]


def run(
    X: Any,
    Y: NDArray[Any],
    *,
    loss: str,
    norm: str,
    radius: Sequence[float],
    eta0: Sequence[float] = (),
    n_iter: int,
    normalisation: str = "sum",
    solver: str = "subgradient",
    tol: float | None = None,
    eta0_unit: str = "absolute",
    intercept: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Train every pair (eta0, radius) of a grid.

    Peak memory is X, a copy of each task's rows in a `Problem`, and two matrices (n_features, n_tasks) per pair.

    Parameters
    ----------
    X : matrix, (n_samples, n_features)
        Features. Rows of samples that belong to no task are not read.
    Y : array, (n_samples, n_tasks)
        Labels: -1 or +1, or 0 if the sample does not belong to the task.
    loss : str
        Name of a loss.
    norm : str
        Name of a norm.
    radius : list of floats, at least 0
        The papers' C.
    eta0 : list of floats above 0
        Initial step sizes, for a solver that takes them. Any other solver fits each radius once.
    n_iter : int, at least 1
        Number of iterations, or their maximum number if the solver stops at `tol`.
    normalisation : str
        Weights of the samples, see `Problem`.
    solver : str
        Name of a solver.
    tol : float, optional
        Relative duality gap at which to stop, for a solver that has this option.
    eta0_unit : "absolute" or "relative"
        Unit of eta0. A "relative" value carries over between datasets: the step size is eta0 * radius / (length of the
        gradient at W = 0).
    intercept : bool
        Whether each task learns an intercept. It is not returned, because it does not change how a task ranks the
        samples.
    progress : function (done, total), optional
        Called during the iterations. If the solver fits the radii one by one, `done` restarts from 0 for each radius.

    Returns
    -------
    Sweep
    """
    solver_module = pick("solvers", solver)
    plug_ins: dict[str, Any] = {"loss": pick("losses", loss), "norm": pick("norms", norm)}
    options: dict[str, Any] = {"n_iter": n_iter}
    if progress:
        options["watch"] = lambda t, objective, gap: progress(t, n_iter)
    steps: Sequence[float] = eta0 if "eta0" in solver_module.TAKES else [np.nan]
    require(
        len(radius) and len(steps) and np.isfinite(np.asarray(radius, dtype=float)).all(),
        f"radius and eta0 must be lists of at least one finite number, got {radius} and {eta0}",
    )
    pairs = np.array(list(product(radius, steps)), dtype=float)
    problem = _problem(X, Y, normalisation=normalisation, intercept=intercept)
    if steps is eta0:
        options["eta0"] = pairs[:, 1]
        if eta0_unit == "relative":
            length = scales.scales(problem, **plug_ins).gradient
            options["eta0"] = pairs[:, 1] * np.where(pairs[:, 0] > 0, pairs[:, 0], 1) / (length or 1)
    if tol is not None and solver_module.STOPS_AT_TOL:
        options["tol"] = tol
    fitted = solver_module.fit(problem, **plug_ins, radius=pairs[:, 0], **options)
    return Sweep(
        radius=pairs[:, 0],
        eta0=pairs[:, 1],
        power=np.ones(len(pairs)),
        objective=fitted.objective,
        gap=fitted.gap,
        unconverged=np.zeros(len(pairs), dtype=int),
        W=fitted.W[radii.choose_eta0(pairs[:, 0], fitted.objective)],
        learnt_from=learnt_from(X, Y, f"{loss}-{norm}"),
    )


def path(
    X: Any,
    Y: NDArray[Any],
    *,
    loss: str,
    norm: str,
    n_iter: int,
    normalisation: str = "sum",
    tol: float = 1e-3,
    intercept: bool = False,
    solver: str = "working_set",
    score: Callable[[NDArray[Any]], float] | None = None,
    sparsest: float = 1.0,
    progress: Progress | None = None,
) -> Sweep:
    """Train along a path of radii that the data determine, with warm starts from the neighbouring radius.

    The path begins at the natural unit of the radius (see `learning.scales`) and has `radii.PER_DECADE` radii per
    factor of 10. `radii.next_step` decides in which direction it continues and when it ends. Towards larger radii, it
    also ends when hardly any loss is left or when the objective no longer decreases.

    Scores may fall before they rise, for example with the hinge loss and few tasks. Therefore, if the path would end
    below ten times the unit, a fit at ten times the unit is scored as well. If it has a better score, the path
    continues to that radius. For a sparse norm, the path is finally extended to smaller radii until at most the
    fraction `sparsest` of the features is used, so that figures can show how the scores depend on sparsity.

    Parameters
    ----------
    X, Y, loss, norm, n_iter, normalisation, intercept : as in `run`
        See there.
    tol : float
        Relative duality gap at which to stop.
    solver : str
        Name of a solver that stops at `tol`.
    score : function, optional
        Function of W (n_features, n_tasks) that returns a larger value for a better W.
    sparsest : float
        Largest fraction of the features that the fit with the smallest radius may use. The path also ends once no task
        uses more than one feature.
    progress : function (done, total), optional
        Called after each radius. The total is an estimate.

    Returns
    -------
    Sweep
        The fits in order of increasing radius, each with its objectives at W = 0 and at its final W.
    """
    solver_module = pick("solvers", solver)
    require(
        solver_module.STOPS_AT_TOL, f"solver must be a solver that stops at tol, such as working_set, got {solver!r}"
    )
    problem = _problem(X, Y, normalisation=normalisation, intercept=intercept)
    plug_ins: dict[str, Any] = {"loss": pick("losses", loss), "norm": pick("norms", norm)}
    _, at_zero = solve_at_zero(problem, plug_ins["loss"])
    unit = scales.scales(problem, **plug_ins).radius
    fits: dict[int, Fit] = {}
    scored: dict[int, float] = {}

    def fit_at(step: int, start: Fit | None) -> Fit:
        radius = np.array([radii.radius_at(unit, step)])
        return cast(Fit, solver_module.fit(problem, **plug_ins, radius=radius, tol=tol, n_iter=n_iter, start=start))

    def take(step: int) -> None:
        fits[step] = fit = fit_at(step, fits.get(step + 1 if step < 0 else step - 1))
        scored[step] = score(fit.W[0]) if score else -float(fit.value[0])
        if progress:
            progress(len(fits), len(fits) + radii.PATIENCE)

    def has_ended() -> bool:
        """Return True if the path need not go on, because a larger radius could not change the fit."""
        objectives = [float(fits[step].value[0]) for step in sorted(fits)]
        return unit == 0 or radii.is_loss_gone(objectives[-1], at_zero) or radii.is_level(objectives, tol=tol)

    def go_on(least: int) -> None:
        step: int | None = max(fits, default=-1) + 1
        while step is not None:
            take(step)
            downwards = score is not None and unit > 0
            step = radii.next_step(scored, least=least, downwards=downwards, ended=has_ended())

    go_on(least=0 if score else radii.MOST_RADII)  # without a score, only the objective ends the path
    if score and not has_ended() and max(fits) < radii.PER_DECADE:
        look = fit_at(radii.PER_DECADE, fits[max(fits)])
        if score(look.W[0]) > max(scored.values()) + radii.TIE:
            go_on(least=radii.PER_DECADE)
    while plug_ins["norm"].SPARSE and min(fits) > -radii.MOST_RADII and _is_dense(fits[min(fits)].W[0], sparsest):
        take(min(fits) - 1)
    ordered = [fits[step] for step in sorted(fits)]
    return Sweep(
        radius=np.array([radii.radius_at(unit, step) for step in sorted(fits)]),
        eta0=np.full(len(fits), np.nan),
        power=np.ones(len(fits)),
        objective=np.array([[at_zero, fit.value[0]] for fit in ordered]),
        gap=np.concatenate([fit.gap for fit in ordered]),
        unconverged=np.zeros(len(fits), dtype=int),
        W=np.concatenate([fit.W for fit in ordered]),
        learnt_from=learnt_from(X, Y, f"{loss}-{norm}"),
    )


def _is_dense(W: NDArray[Any], sparsest: float) -> bool:
    """Return True if W uses more than the fraction `sparsest` of the features, and some task uses more than one."""
    used = W != 0
    return bool(used.any(axis=1).mean() > sparsest and used.sum(axis=0).max() > 1)


def _problem(X: Any, Y: NDArray[Any], **options: Any) -> Problem:
    """Return the problem of a training set. Of features in float16, only the rows of its samples are converted."""
    if X.dtype == np.float16:
        is_sample = np.asarray(Y.any(axis=1))
        X, Y = select(X, is_sample), Y[is_sample]
    return Problem.from_matrix(X, Y, **options)


def in_powers(X: Any, factors: Mapping[float, NDArray[Any]], train: Callable[[Any], Sweep]) -> Sweep:
    """Train on features scaled in several ways. Return one sweep of all fits, with weights for the unscaled features.

    Parameters
    ----------
    X : array, (n_samples, n_features)
        Features.
    factors : mapping
        For each power, one factor per feature, see `features.basis.factors`. If the mapping is empty, train on X
        itself.
    train : function
        Function that takes a feature matrix and returns a Sweep.
    """
    if not factors:
        return train(X)
    parts = []
    for power, factor in factors.items():
        part = train((X * factor).astype(X.dtype, copy=False))
        parts.append(
            part._replace(
                power=np.full(len(part.radius), power, dtype=float),
                W=(part.W * factor[:, np.newaxis]).astype(part.W.dtype, copy=False),
            )
        )
    # A solver may stop after fewer iterations on features of one power.
    objectives = padded([part.objective for part in parts])
    parts = [part._replace(objective=objective) for part, objective in zip(parts, objectives, strict=True)]
    # learnt_from must hold the fingerprint of the unscaled features.
    return Sweep._make(map(np.concatenate, zip(*parts, strict=True)))._replace(
        learnt_from=np.array([fingerprint(X), *parts[0].learnt_from[1:]])
    )


def best_pairs(fits: Sweep) -> NDArray[Any]:
    """Return the indices of the pairs (eta0, radius) whose W a sweep keeps, one pair per power and radius."""
    groups = [np.flatnonzero(fits.power == power) for power in dict.fromkeys(fits.power.tolist())]
    return np.concatenate([pairs[radii.choose_eta0(fits.radius[pairs], fits.objective[pairs])] for pairs in groups])


def choose_fit(score: NDArray[Any], power: NDArray[Any], *, selection: str = "best") -> tuple[int, NDArray[Any]]:
    """Choose a radius for each power, and then, among the fits with these radii, the one with the best mean score.

    Parameters
    ----------
    score : array, (n_fits,) or (n_fits, n_words)
        See `radii.choose_radius`.
    power : array, (n_fits,)
        Power of each fit. If several powers are equally good, the first one is chosen.
    selection : str
        See `radii.choose_radius`.

    Returns
    -------
    best : int
        Index of the chosen fit.
    chosen : array, (n_powers,)
        Indices of the fits chosen for each power.
    """
    groups = [np.flatnonzero(power == value) for value in dict.fromkeys(power.tolist())]
    chosen = np.array([fits[radii.choose_radius(score[fits], selection=selection)] for fits in groups])
    means = np.asarray(score, dtype=float).reshape(len(score), -1).mean(axis=1)
    return int(chosen[radii.first_of_best(means[chosen])]), chosen


def at_edge(name: str, value: float, grid: ArrayLike) -> Flag | None:
    """Return a flag if a chosen value is at an edge of its grid, beyond which better values may lie; otherwise None.

    >>> at_edge("eta0", 10.0, [0.1, 1.0, 10.0]).write()
    'eta0 at the upper edge of its grid'
    """
    values = np.unique(np.asarray(grid))
    if len(values) < 2 or value not in (values[0], values[-1]):
        return None
    end = "lower" if value == values[0] else "upper"
    return Flag(Kind(f"{name} at the {end} edge of its grid"))


def learnt_from(X: Any, Y: Any, method: str) -> NDArray[Any]:
    """Return fingerprints of the features and labels, and the method, which reveal fits of other data or methods."""
    return np.array([fingerprint(X), fingerprint(Y), method])
