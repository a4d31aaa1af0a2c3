"""The logistic loss, log(1 + exp(-y f)), as in the experiments of Duchi et al. (2008), sec. 7."""

from math import exp, log1p

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
                margin = np.float64(y * F[i, l])
                sums[l] += log1p(exp(-abs(margin))) + (0.0 if margin > 0.0 else -margin)


@njit(cache=True)
def derivatives(F, Y, G):  # type: ignore[no-untyped-def]
    shared = Y.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y = Y[i, 0 if shared else l]
            margin = np.float64(y * F[i, l])
            tail = exp(-abs(margin))  # never above 1, so nothing overflows
            share = tail / (1.0 + tail) if margin > 0.0 else 1.0 / (1.0 + tail)
            G[i, l] = -y * share if y != 0 else 0.0


def value(F: ArrayLike, Y: ArrayLike) -> NDArray[np.float64]:
    """sum_{i: Y_il != 0} log(1 + exp(-Y_il F_il)) for each task l.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    Returns (n_tasks,), added up in double precision. Raises ValueError where shapes or types do not fit.
    Source: Duchi et al. (2008), sec. 7.

    >>> value([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]]).round(3)
    array([0.82 , 0.974])
    """
    F, Y = as_margins(F, Y)
    sums = np.zeros(F.shape[1])
    column_sums(F, Y, sums)
    return sums


def subgradient(F: ArrayLike, Y: ArrayLike) -> Floats:
    """-Y_il / (1 + exp(Y_il F_il)), and 0 where Y_il = 0.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    Returns an array of F's shape and dtype. Raises ValueError where shapes or types do not fit.
    Source: the derivative of the loss of Duchi et al. (2008), sec. 7.

    >>> subgradient([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]]).round(3)
    array([[-0.119,  0.622],
           [ 0.5  ,  0.   ]])
    """
    F, Y = as_margins(F, Y)
    G = np.empty_like(F)
    derivatives(F, Y, G)
    return G
