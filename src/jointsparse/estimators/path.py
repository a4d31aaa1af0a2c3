"""Fits along a path of radii or penalties, each from the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jointsparse.checks import as_finite, require, require_count, warn_user
from jointsparse.estimators.base import Posed, Trained, given_one, parameters, positional
from jointsparse.learning.problem import Fit, solve_at_zero
from jointsparse.learning.sweep import NOTHING_LEFT
from jointsparse.registry import pick

RADII_SPAN = (0.1, 10.0)  # of a path, in natural units of the data; see `learning.scales`
PENALTIES_SPAN = (1e-3, 1.0)  # likewise: from 1 on, W is 0


class Path(NamedTuple):
    """Fits along a path.

    Attributes
    ----------
    strength : ndarray (n_points,)
        Radii or penalties in increasing order.
    penalised : bool
        True for penalties.
    coef : ndarray (n_points, n_tasks, n_features)
        W of each point, transposed.
    intercept : ndarray (n_points, n_tasks)
        b of each point.
    objective : ndarray (n_points,)
        Objective of each point.
    gap : ndarray (n_points,)
        Certified relative duality gap of each point.
    """

    strength: np.ndarray
    penalised: bool
    coef: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    gap: np.ndarray

    @property
    def n_features(self) -> np.ndarray:
        """Number of features that are not 0 in some task, (n_points,)."""
        return np.asarray(self.coef.any(axis=1).sum(axis=1))


def grid_of(scale: Any, n_points: int, penalised: bool) -> np.ndarray:
    """Radii or penalties in increasing order, equally far apart in their logarithms. scale: see `learning.scales`."""
    require_count(n_points, "n_points")
    unit, span = (scale.penalty, PENALTIES_SPAN) if penalised else (scale.radius, RADII_SPAN)
    return np.geomspace(*span, n_points) * unit if unit > 0 else np.zeros(1)


def fits_along(
    train: Callable[[float, Fit | None], Fit], strengths: np.ndarray, penalised: bool, least: float = -np.inf
) -> list[Fit]:
    """Fit each strength from the fit before, the most regularised first.

    Parameters
    ----------
    train : function
        From a strength and a fit to start from to a fit.
    strengths : array (n_points,)
        Radii or penalties in increasing order.
    penalised : bool
        True for penalties.
    least : float
        Objective at which a path of radii ends.

    Returns
    -------
    fits : list of Fit
        By increasing strength.
    """
    fits: list[Fit] = []
    for strength in strengths[:: -1 if penalised else 1]:
        fits.append(train(float(strength), fits[-1] if fits else None))
        if fits[-1].value[0] <= least and not penalised:
            break
    return fits[:: -1 if penalised else 1]


@parameters
class OneStrength(Trained):
    """An estimator with one radius or penalty, which can follow a path of them."""

    radius: float | str | None = positional("auto")
    penalty: float | None = None
    eta0: float = 1.0

    def _posed(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Posed:
        """The problem that `fit` solves."""
        raise NotImplementedError

    def path(
        self,
        X: Any,
        y: ArrayLike,
        *,
        n_points: int = 20,
        strengths: Sequence[float] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Path:
        """Fit a path of radii, or of penalties with `radius=None, penalty=1.0`, and leave the estimator as it is.

        Radii go from a tenth of the data's natural unit to ten times it. They end earlier where a radius leaves no
        loss, as larger ones change nothing. Penalties go from a thousandth of the one for which W = 0 up to it. Use it
        to look at what a strength does (`PathDisplay`), and the estimators for cross-validation to choose one. It takes
        no notice of warm_start, max_time, callback and verbose.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array or DataFrame (n_samples,) or (n_samples, n_tasks)
            Labels or targets, as in `fit`.
        n_points : int, at least 1
            Number of strengths.
        strengths : sequence of float, at least 0, or None
            The strengths themselves, instead of n_points.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), or None
            Weights of the samples.

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            If input or parameters make no sense, or the solver does not stop at tol.

        Warns
        -----
        ConvergenceWarning
            Once, if points of the path did not reach tol.

        Examples
        --------
        >>> from jointsparse import JointSparseClassifier
        >>> X, y = [[1.0, 0.1], [-1.0, 0.1], [1.5, -0.1]], [1, 0, 1]
        >>> found = JointSparseClassifier().path(X, y, strengths=[0.1, 1.0])
        >>> found.n_features.tolist(), found.coef.shape
        ([1, 1], (2, 1, 2))
        """
        model = clone(self)
        stops = pick("solvers", model.solver).STOPS_AT_TOL
        require(stops, f"a path needs a solver that stops at tol, got {model.solver!r}")
        _, penalised = given_one(model.radius, model.penalty)
        problem, centres = model._posed(X, y, sample_weight)
        if strengths is None:
            grid = grid_of(model._scales(problem, model.loss), n_points, penalised)
        else:
            grid = np.unique([as_finite(value, "each of strengths") for value in np.atleast_1d(strengths)])
            require(len(grid), "strengths must hold at least one number, got none")

        def train(strength: float, start: Fit | None) -> Fit:
            return model._train(problem, model.loss, [strength], penalised, [np.nan], start=start)[1]

        at_zero = solve_at_zero(problem, pick("losses", model.loss)).objective
        fits = fits_along(train, grid, penalised, NOTHING_LEFT * at_zero if strengths is None else -np.inf)
        unproven = sum(bool(model._unproven(fit)[0]) for fit in fits)
        if unproven:
            warn_user(
                f"{unproven} of {len(fits)} points of the path are not certified to be within tol={model.tol:g} of "
                "their optima: look at their gap; raise n_iter or tol, or centre and scale the features",
                ConvergenceWarning,
            )
        return Path(
            strength=grid[: len(fits)],
            penalised=penalised,
            coef=np.concatenate([fit.W for fit in fits]).transpose(0, 2, 1),
            intercept=np.concatenate([fit.b for fit in fits]) + centres,
            objective=np.concatenate([fit.value for fit in fits]),
            gap=np.concatenate([fit.gap for fit in fits]),
        )
