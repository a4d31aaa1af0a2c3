"""The squared loss, 1/2 (y - f)^2, as in the least squares of Duchi et al. (2008), sec. 7."""

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
            if weight != 0:
                error = y - np.float64(F[i, l])
                sums[l] += 0.5 * weight * error * error


@njit(cache=True)
def derivatives(F, Y, c, G):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            G[i, l] = weight * (F[i, l] - y) if weight != 0 else 0.0


@njit(cache=True)
def dual_sums(A, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            if weight > 0:
                a = np.float64(A[i, l])
                sums[l] += y * a - 0.5 * a * a / weight


@njit(cache=True)
def dual_steps(A, F, Y, c, sigma, B):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            a = A[i, l] + sigma[l] * (y - np.float64(F[i, l]))
            B[i, l] = a / (1.0 + sigma[l] / weight) if weight > 0 else 0.0


def value(F: ArrayLike, Y: ArrayLike, c: ArrayLike | None = None) -> NDArray[np.float64]:
    """sum_i c_il 1/2 (Y_il - F_il)^2 for each task l.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: targets, any numbers, 0 among them, of F's
    shape or (n_samples, 1). c: weights of at least 0, of such a shape too; 1 by default.
    Returns (n_tasks,), added up in double precision. Raises ValueError where shapes or types do not fit.
    Source: Duchi et al. (2008), sec. 7.

    >>> value([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]])
    array([1.   , 5.625])
    """
    F, Y = as_margins(F, Y)
    c = np.ones((len(F), 1), F.dtype) if c is None else as_margins(F, c)[1]
    sums = np.zeros(F.shape[1])
    column_sums(F, Y, c, sums)
    return sums


def subgradient(F: ArrayLike, Y: ArrayLike, c: ArrayLike | None = None) -> Floats:
    """c_il (F_il - Y_il).

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: targets, any numbers, 0 among them, of F's
    shape or (n_samples, 1). c: weights of at least 0, of such a shape too; 1 by default.
    Returns an array of F's shape and dtype. Raises ValueError where shapes or types do not fit.
    Source: the derivative of the loss of Duchi et al. (2008), sec. 7.

    >>> subgradient([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]])
    array([[1. , 1.5],
           [1. , 3. ]])
    """
    F, Y = as_margins(F, Y)
    c = np.ones((len(F), 1), F.dtype) if c is None else as_margins(F, c)[1]
    G = np.empty_like(F)
    derivatives(F, Y, c, G)
    return G


def dual_value(A: ArrayLike, Y: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """sum_i A_il Y_il - A_il^2 / (2 c_il) for each task l, without the samples of weight 0.

    What the losses add to the dual objective, -sum_i (c_il loss)*(-A_il) with the conjugate *: for any F,
    sum_i c_il loss(F_il, Y_il) >= dual_value(A, Y, c)_l - sum_i A_il F_il, with equality for A = -subgradient(F, Y, c).

    A: (n_samples, n_tasks), dual variables; float64 or float32. Y, c: targets and weights of at least 0, of
    A's shape or (n_samples, 1). Returns (n_tasks,), added up in double precision. Raises ValueError where shapes or
    types do not fit.
    Source: the dual of the least squares of Duchi et al. (2008), sec. 7; see docs/training.md.

    >>> dual_value([[0.5, -1.0], [-2.0, 0.0]], [[1, -1], [-1, 0]], [[1.0], [2.0]])
    array([1.375, 0.5  ])
    """
    A, Y = as_margins(A, Y)
    c = as_margins(A, c)[1]
    sums = np.zeros(A.shape[1])
    dual_sums(A, Y, c, sums)
    return sums


def dual_step(A: ArrayLike, F: ArrayLike, Y: ArrayLike, c: ArrayLike, sigma: ArrayLike) -> Floats:
    """max_B dual_value(B, Y, c)_l - sum_i (B_il F_il + 1/(2 sigma_l) (B_il - A_il)^2) for each task l.

    The solution is B_il = (A_il + sigma_l (Y_il - F_il)) / (1 + sigma_l / c_il).

    A, F: (n_samples, n_tasks), dual variables and margins XW, float64 or float32. Y, c: targets and weights of at
    least 0, of A's shape or (n_samples, 1). sigma: step sizes of at least 0, one number or one per task. Returns an
    array of A's shape and dtype. Raises ValueError where shapes or types do not fit.
    Source: the dual step of Chambolle and Pock (2011), algorithm 1.

    >>> dual_step([[0.5, -0.5]], [[0.0, 3.0]], [[1, -1]], [[1.0]], sigma=1.0)
    array([[ 0.75, -2.25]])
    """
    A, Y = as_margins(A, Y)
    F, c = as_margins(A, F)[1], as_margins(A, c)[1]
    if F.shape != A.shape:
        raise ValueError(f"F must have the shape of A, got {F.shape}, {A.shape}")
    B = np.empty_like(A)
    dual_steps(A, F, Y, c, np.asarray(sigma, dtype=np.float64) * np.ones(A.shape[1]), B)
    return B
