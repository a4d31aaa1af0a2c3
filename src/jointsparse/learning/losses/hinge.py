"""The hinge loss, max(0, 1 - y f): the loss of every experiment of Quattoni et al. (2009)."""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_margins


@njit(cache=True)
def column_sums(F, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            if y != 0 and weight != 0:
                margin = y * F[i, l]
                if not margin >= 1.0:  # so that NaN comes through
                    sums[l] += weight * (1.0 - margin)


@njit(cache=True)
def derivatives(F, Y, c, G):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            G[i, l] = -weight * y if y != 0 and not y * F[i, l] >= 1.0 else 0


@njit(cache=True)
def dual_sums(A, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            sums[l] += min(max(np.float64(y * A[i, l]), 0.0), weight)


@njit(cache=True)
def dual_steps(A, F, Y, c, sigma, B):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            alpha = y * A[i, l] + sigma[l] * (1.0 - y * F[i, l])
            B[i, l] = y * min(max(alpha, 0.0), weight)


def value(F: ArrayLike, Y: ArrayLike, c: ArrayLike | None = None) -> NDArray[np.float64]:
    """sum_{i: Y_il != 0} c_il max(0, 1 - Y_il F_il) for each task l.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    c: weights of at least 0, of such a shape too; 1 by default.
    Returns (n_tasks,), added up in double precision. Raises ValueError where shapes or types do not fit.
    Source: Quattoni et al. (2009), eq. 4; the technical report prints min for max.

    >>> value([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]])
    array([1. , 1.5])
    """
    F, Y = as_margins(F, Y)
    c = np.ones((len(F), 1), F.dtype) if c is None else as_margins(F, c)[1]
    sums = np.zeros(F.shape[1])
    column_sums(F, Y, c, sums)
    return sums


def subgradient(F: ArrayLike, Y: ArrayLike, c: ArrayLike | None = None) -> Floats:
    """-c_il Y_il where Y_il F_il < 1, else 0, and 0 where Y_il = 0.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    c: weights of at least 0, of such a shape too; 1 by default.
    Returns an array of F's shape and dtype. Raises ValueError where shapes or types do not fit.
    Source: Quattoni et al. (2009), eq. 6, whose printed sign is wrong.

    >>> subgradient([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    F, Y = as_margins(F, Y)
    c = np.ones((len(F), 1), F.dtype) if c is None else as_margins(F, c)[1]
    G = np.empty_like(F)
    derivatives(F, Y, c, G)
    return G


def dual_value(A: ArrayLike, Y: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """sum_{i: Y_il != 0} A_il Y_il for each task l, where 0 <= A_il Y_il <= c_il.

    What the losses add to the dual objective, -sum_i (c_il loss)*(-A_il) with the conjugate *: for any F,
    sum_i c_il loss(F_il, Y_il) >= dual_value(A, Y, c)_l - sum_i A_il F_il, with equality for A = -subgradient(F, Y, c).

    A: (n_samples, n_tasks), dual variables, clipped where rounding left them outside; float64 or float32. Y, c: labels
    -1, 0, +1, and weights of at least 0, of A's shape or (n_samples, 1). Returns (n_tasks,), added up in double
    precision. Raises ValueError where shapes or types do not fit.
    Source: the dual of Quattoni et al. (2009), eq. 4; see docs/training.md.

    >>> dual_value([[0.5, -1.0], [-2.0, 0.0]], [[1, -1], [-1, 0]], [[1.0], [2.0]])
    array([2.5, 1. ])
    """
    A, Y = as_margins(A, Y)
    c = as_margins(A, c)[1]
    sums = np.zeros(A.shape[1])
    dual_sums(A, Y, c, sums)
    return sums


def dual_step(A: ArrayLike, F: ArrayLike, Y: ArrayLike, c: ArrayLike, sigma: ArrayLike) -> Floats:
    """max_B dual_value(B, Y, c)_l - sum_i (B_il F_il + 1/(2 sigma_l) (B_il - A_il)^2) for each task l.

    The solution is B_il = Y_il alpha_il, alpha = Y_il A_il + sigma_l (1 - Y_il F_il) clipped into [0, c_il].

    A, F: (n_samples, n_tasks), dual variables and margins XW, float64 or float32. Y, c: labels -1, 0, +1, and weights
    of at least 0, of A's shape or (n_samples, 1). sigma: step sizes of at least 0, one number or one per task. Returns
    an array of A's shape and dtype. Raises ValueError where shapes or types do not fit.
    Source: the dual step of Chambolle and Pock (2011), algorithm 1.

    >>> dual_step([[0.5, -0.5]], [[0.0, 3.0]], [[1, -1]], [[1.0]], sigma=0.1)
    array([[ 0.6, -0.9]])
    """
    A, Y = as_margins(A, Y)
    F, c = as_margins(A, F)[1], as_margins(A, c)[1]
    if F.shape != A.shape:
        raise ValueError(f"F must have the shape of A, got {F.shape}, {A.shape}")
    B = np.empty_like(A)
    dual_steps(A, F, Y, c, np.asarray(sigma, dtype=np.float64) * np.ones(A.shape[1]), B)
    return B
