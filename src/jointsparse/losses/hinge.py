"""The hinge loss, max(0, 1 - y f): the loss of every experiment of Quattoni et al. (2009)."""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_margins


@njit(cache=True)
def column_sums(F, Y, sums):  # type: ignore[no-untyped-def]
    shared = Y.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y = Y[i, 0 if shared else l]
            if y != 0:
                margin = y * F[i, l]
                if not margin >= 1.0:  # so that NaN comes through
                    sums[l] += 1.0 - margin


@njit(cache=True)
def derivatives(F, Y, G):  # type: ignore[no-untyped-def]
    shared = Y.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y = Y[i, 0 if shared else l]
            G[i, l] = -y if y != 0 and not y * F[i, l] >= 1.0 else 0


def value(F: ArrayLike, Y: ArrayLike) -> NDArray[np.float64]:
    """sum_{i: Y_il != 0} max(0, 1 - Y_il F_il) for each task l.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    Returns (n_tasks,), added up in double precision. Raises ValueError where shapes or types do not fit.
    Source: Quattoni et al. (2009), eq. 4; the technical report prints min for max.

    >>> value([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]])
    array([1. , 1.5])
    """
    F, Y = as_margins(F, Y)
    sums = np.zeros(F.shape[1])
    column_sums(F, Y, sums)
    return sums


def subgradient(F: ArrayLike, Y: ArrayLike) -> Floats:
    """-Y_il where Y_il F_il < 1, else 0, and 0 where Y_il = 0.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    Returns an array of F's shape and dtype. Raises ValueError where shapes or types do not fit.
    Source: Quattoni et al. (2009), eq. 6, whose printed sign is wrong.

    >>> subgradient([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    F, Y = as_margins(F, Y)
    G = np.empty_like(F)
    derivatives(F, Y, G)
    return G
