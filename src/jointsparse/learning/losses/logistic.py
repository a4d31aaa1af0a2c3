"""The logistic loss, log(1 + exp(-y f)), as in Duchi et al. (2008), sec. 7. Labels are -1 and +1.

- value: sum_i c_il log(1 + exp(-Y_il F_il));
- subgradient: -c_il Y_il / (1 + exp(Y_il F_il));
- dual value: sum_i c_il H(A_il Y_il / c_il), where H(p) = -p log p - (1 - p) log(1 - p);
- dual step: B_il = Y_il alpha_il, where alpha_il + sigma_l log(alpha_il / (c_il - alpha_il)) is
  Y_il (A_il - sigma_l F_il). Newton's method finds alpha_il.

A sample of label 0 is not part of the task.

>>> F, Y = [[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]]
>>> value(F, Y).round(3)
array([0.82 , 0.974])
>>> subgradient(F, Y).round(3)
array([[-0.119,  0.622],
       [ 0.5  ,  0.   ]])
>>> dual_value([[0.5, -1.0], [-2.0, 0.0]], Y, [[1.0], [4.0]]).round(3)
array([3.466, 0.   ])
>>> dual_step([[0.5, -0.5]], [[0.0, 3.0]], [[1, -1]], [[1.0]], 1.0).round(3)
array([[ 0.5  , -0.929]])
"""

from math import exp, log, log1p

import numpy as np

from jointsparse.compiled import njit
from jointsparse.learning.loss import functions_of


@njit
def column_sums(F, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            if y != 0 and weight != 0:
                margin = np.float64(y * F[i, l])
                sums[l] += weight * (log1p(exp(-abs(margin))) + (0.0 if margin > 0.0 else -margin))


@njit
def derivatives(F, Y, c, G):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            margin = np.float64(y * F[i, l])
            tail = exp(-abs(margin))  # never above 1, so nothing overflows
            share = tail / (1.0 + tail) if margin > 0.0 else 1.0 / (1.0 + tail)
            G[i, l] = -weight * y * share if y != 0 else 0.0


@njit
def dual_sums(A, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            share = np.float64(y * A[i, l]) / weight if weight > 0 else 0.0
            if share > 0.0 and share < 1.0:
                sums[l] -= weight * (share * log(share) + (1.0 - share) * log1p(-share))


@njit
def log_odds(alpha, beta, margin, sigma):  # type: ignore[no-untyped-def]
    """The z >= 0 with sigma z + alpha = sigma margin + (alpha + beta) / (1 + exp(z)), by Newton's method."""
    # The difference of the two sides is convex and decreasing, so Newton's method rises to z from any point below.
    # From a point above, its first step leads below.
    low = max(margin - alpha / sigma, 0.0)
    z = max(log(beta) - log(alpha), low) if beta > alpha and alpha > 0.0 else low
    for _ in range(100):  # mostly fewer than ten
        tail = exp(-z)
        share = tail / (1.0 + tail)
        whole = alpha + beta
        rest = sigma * margin - alpha - sigma * z + whole * share
        better = max(z + rest / (sigma + whole * share / (1.0 + tail)), low)
        moved, z = abs(better - z), better
        if not moved > 1e-8 * z:  # the error of the next point is less than the square of this
            break
    return z


@njit
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
            # alpha' = c / (1 + exp(z)). Compute the smaller of alpha' and c - alpha', which has more correct digits.
            if alpha - sigma[l] * margin < 0.5 * weight:
                tail = exp(-log_odds(alpha, weight - alpha, margin, sigma[l]))
                B[i, l] = y * weight * (tail / (1.0 + tail))
            else:
                tail = exp(-log_odds(weight - alpha, alpha, -margin, sigma[l]))
                B[i, l] = y * weight * (1.0 / (1.0 + tail))


value, subgradient, dual_value, dual_step = functions_of(column_sums, derivatives, dual_sums, dual_steps)
