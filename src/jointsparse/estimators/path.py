"""Regularisation paths: fits for a sequence of radii or penalties, each of which starts from the previous fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jointsparse.estimators.watch import Watch
from jointsparse.learning.fit import Fit


class Path(NamedTuple):
    """Fits along a regularisation path.

    Attributes
    ----------
    strength : ndarray (n_points,)
        Radii or penalties in increasing order.
    penalised : bool
        True if the strengths are penalties, False if they are radii.
    coef : ndarray (n_points, n_tasks, n_features)
        W at each point, transposed.
    intercept : ndarray (n_points, n_tasks)
        b at each point.
    objective : ndarray (n_points,)
        Objective at each point.
    gap : ndarray (n_points,)
        Certified relative duality gap at each point.
    """

    strength: np.ndarray
    penalised: bool
    coef: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    gap: np.ndarray

    @property
    def n_features(self) -> np.ndarray:
        """The number of features that at least one task uses at each point of the path, (n_points,)."""
        return np.asarray(self.coef.any(axis=1).sum(axis=1))


def fits_along(
    train: Callable[[float, Fit | None], Fit],
    strengths: np.ndarray,
    penalised: bool,
    *,
    start: Fit | None = None,
    ends: Callable[[float, Fit], bool] = lambda radius, fit: False,
    watch: Watch | None = None,
) -> list[Fit]:
    """Fit one radius or penalty after another, the most regularised one first. Each fit starts from the previous fit.

    Parameters
    ----------
    train : function
        Function that is called as `train(strength, start)`, where `start` is the fit to start from, or None. It
        returns a fit.
    strengths : array (n_points,)
        Radii or penalties in increasing order.
    penalised : bool
        True if the strengths are penalties, False if they are radii.
    start : Fit or None
        Fit from which the first fit of the path starts.
    ends : function
        Function that is called as `ends(radius, fit)` after each fit, if the strengths are radii. The path ends if it
        returns True.
    watch : Watch or None
        The watch that `train` passes to its solver. If the watch ends a fit early, this fit is dropped and the path
        ends, but the first fit is always kept.

    Returns
    -------
    fits : list of Fit
        The fits, in order of increasing strength.
    """
    fits: list[Fit] = []
    for strength in strengths[:: -1 if penalised else 1]:
        start = train(float(strength), start)
        fits.append(start)
        if watch and watch.ended_by:
            fits = fits[:-1] or fits
            break
        if not penalised and ends(float(strength), start):
            break
    return fits[:: -1 if penalised else 1]
