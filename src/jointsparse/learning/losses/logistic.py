"""The logistic loss, log(1 + exp(-y f)), as in the experiments of Duchi et al. (2008), sec. 7."""

from math import exp, log, log1p

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
                margin = np.float64(y * F[i, l])
                sums[l] += weight * (log1p(exp(-abs(margin))) + (0.0 if margin > 0.0 else -margin))


@njit(cache=True)
def derivatives(F, Y, c, G):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            margin = np.float64(y * F[i, l])
            tail = exp(-abs(margin))  # never above 1, so nothing overflows
            share = tail / (1.0 + tail) if margin > 0.0 else 1.0 / (1.0 + tail)
            G[i, l] = -weight * y * share if y != 0 else 0.0


@njit(cache=True)
def dual_sums(A, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            share = np.float64(y * A[i, l]) / weight if weight > 0 else 0.0
            if share > 0.0 and share < 1.0:
                sums[l] -= weight * (share * log(share) + (1.0 - share) * log1p(-share))


@njit(cache=True)
def log_odds(alpha, beta, margin, sigma):  # type: ignore[no-untyped-def]
    """The z >= 0 of sigma z + alpha = sigma margin + (alpha + beta) / (1 + exp(z)), where there is one.

    Newton's method on a convex, decreasing difference: it rises to z from any point below. Where it starts above, the
    first step leads below.
    """
    low = max(margin - alpha / sigma, 0.0)
    z = max(log(beta) - log(alpha), low) if beta > alpha and alpha > 0.0 else low
    for _ in range(100):  # a handful, but for the extremes
        tail = exp(-z)
        share = tail / (1.0 + tail)
        whole = alpha + beta
        rest = sigma * margin - alpha - sigma * z + whole * share
        better = max(z + rest / (sigma + whole * share / (1.0 + tail)), low)
        if not abs(better - z) > 4e-16 * z:
            break
        z = better
    return z


@njit(cache=True)
def dual_steps(A, F, Y, c, sigma, B):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], np.float64(c[i, 0 if one_c else l])
            alpha = min(max(np.float64(y * A[i, l]), 0.0), weight)
            if y == 0 or weight == 0.0 or sigma[l] == 0.0:
                B[i, l] = y * alpha
                continue
            margin = np.float64(y * F[i, l])
            # alpha' = c / (1 + exp(z)); of alpha' and c - alpha' the smaller one is computed, for its digits.
            if alpha - sigma[l] * margin < 0.5 * weight:
                tail = exp(-log_odds(alpha, weight - alpha, margin, sigma[l]))
                B[i, l] = y * weight * (tail / (1.0 + tail))
            else:
                tail = exp(-log_odds(weight - alpha, alpha, -margin, sigma[l]))
                B[i, l] = y * weight * (1.0 / (1.0 + tail))


def value(F: ArrayLike, Y: ArrayLike, c: ArrayLike | None = None) -> NDArray[np.float64]:
    """sum_{i: Y_il != 0} c_il log(1 + exp(-Y_il F_il)) for each task l.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    c: weights of at least 0, of such a shape too; 1 by default.
    Returns (n_tasks,), added up in double precision. Raises ValueError where shapes or types do not fit.
    Source: Duchi et al. (2008), sec. 7.

    >>> value([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]]).round(3)
    array([0.82 , 0.974])
    """
    F, Y = as_margins(F, Y)
    c = np.ones((len(F), 1), F.dtype) if c is None else as_margins(F, c)[1]
    sums = np.zeros(F.shape[1])
    column_sums(F, Y, c, sums)
    return sums


def subgradient(F: ArrayLike, Y: ArrayLike, c: ArrayLike | None = None) -> Floats:
    """-c_il Y_il / (1 + exp(Y_il F_il)), and 0 where Y_il = 0.

    F: (n_samples, n_tasks), margins XW, float64 or float32. Y: labels -1, 0, +1, of F's shape or (n_samples, 1).
    c: weights of at least 0, of such a shape too; 1 by default.
    Returns an array of F's shape and dtype. Raises ValueError where shapes or types do not fit.
    Source: the derivative of the loss of Duchi et al. (2008), sec. 7.

    >>> subgradient([[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]]).round(3)
    array([[-0.119,  0.622],
           [ 0.5  ,  0.   ]])
    """
    F, Y = as_margins(F, Y)
    c = np.ones((len(F), 1), F.dtype) if c is None else as_margins(F, c)[1]
    G = np.empty_like(F)
    derivatives(F, Y, c, G)
    return G


def dual_value(A: ArrayLike, Y: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """sum_{i: Y_il != 0} c_il H(A_il Y_il / c_il) for each task l, H(p) = -p log p - (1 - p) log(1 - p).

    What the losses add to the dual objective, -sum_i (c_il loss)*(-A_il) with the conjugate *: for any F,
    sum_i c_il loss(F_il, Y_il) >= dual_value(A, Y, c)_l - sum_i A_il F_il, with equality for A = -subgradient(F, Y, c).

    A: (n_samples, n_tasks), dual variables, clipped where rounding left them outside; float64 or float32. Y, c: labels
    -1, 0, +1, and weights of at least 0, of A's shape or (n_samples, 1). Returns (n_tasks,), added up in double
    precision. Raises ValueError where shapes or types do not fit.
    Source: the dual of the logistic regression of Duchi et al. (2008), sec. 7; see docs/training.md.

    >>> dual_value([[0.5, -1.0], [-2.0, 0.0]], [[1, -1], [-1, 0]], [[1.0], [4.0]]).round(3)
    array([3.466, 0.   ])
    """
    A, Y = as_margins(A, Y)
    c = as_margins(A, c)[1]
    sums = np.zeros(A.shape[1])
    dual_sums(A, Y, c, sums)
    return sums


def dual_step(A: ArrayLike, F: ArrayLike, Y: ArrayLike, c: ArrayLike, sigma: ArrayLike) -> Floats:
    """max_B dual_value(B, Y, c)_l - sum_i (B_il F_il + 1/(2 sigma_l) (B_il - A_il)^2) for each task l.

    The solution is B_il = Y_il alpha_il with alpha_il + sigma_l log(alpha_il / (c_il - alpha_il)) equal to
    Y_il (A_il - sigma_l F_il), found by Newton's method.

    A, F: (n_samples, n_tasks), dual variables and margins XW, float64 or float32. Y, c: labels -1, 0, +1, and weights
    of at least 0, of A's shape or (n_samples, 1). sigma: step sizes of at least 0, one number or one per task. Returns
    an array of A's shape and dtype. Raises ValueError where shapes or types do not fit.
    Source: the dual step of Chambolle and Pock (2011), algorithm 1.

    >>> dual_step([[0.5, -0.5]], [[0.0, 3.0]], [[1, -1]], [[1.0]], sigma=1.0).round(3)
    array([[ 0.5  , -0.929]])
    """
    A, Y = as_margins(A, Y)
    F, c = as_margins(A, F)[1], as_margins(A, c)[1]
    if F.shape != A.shape:
        raise ValueError(f"F must have the shape of A, got {F.shape}, {A.shape}")
    B = np.empty_like(A)
    dual_steps(A, F, Y, c, np.asarray(sigma, dtype=np.float64) * np.ones(A.shape[1]), B)
    return B
