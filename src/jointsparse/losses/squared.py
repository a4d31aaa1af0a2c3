"""The squared loss, 1/2 (y - f)^2, as in the least squares of Duchi et al. (2008), sec. 7."""

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
                error = y - np.float64(F[i, l])
                sums[l] += 0.5 * error * error


@njit(cache=True)
def derivatives(F, Y, G):  # type: ignore[no-untyped-def]
    shared = Y.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y = Y[i, 0 if shared else l]
            G[i, l] = F[i, l] - y if y != 0 else 0.0


def value(F: ArrayLike, Y: ArrayLike) -> NDArray[np.float64]:
    """sum_{i: Y_il != 0} 1/2 (Y_il - F_il)^2 for each task l.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    Returns (n_tasks,), added up in double precision. Raises ValueError where shapes or types do not fit.
    Source: Duchi et al. (2008), sec. 7.

    >>> value([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]])
    array([1.   , 1.125])
    """
    F, Y = as_margins(F, Y)
    sums = np.zeros(F.shape[1])
    column_sums(F, Y, sums)
    return sums


def subgradient(F: ArrayLike, Y: ArrayLike) -> Floats:
    """F_il - Y_il, and 0 where Y_il = 0.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    Returns an array of F's shape and dtype. Raises ValueError where shapes or types do not fit.
    Source: the derivative of the loss of Duchi et al. (2008), sec. 7.

    >>> subgradient([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]])
    array([[1. , 1.5],
           [1. , 0. ]])
    """
    F, Y = as_margins(F, Y)
    G = np.empty_like(F)
    derivatives(F, Y, G)
    return G
