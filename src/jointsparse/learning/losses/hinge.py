"""The hinge loss, max(0, 1 - y f), as in every experiment of Quattoni et al. (2009). Labels are -1 and +1.

- value: sum_i c_il max(0, 1 - Y_il F_il), eq. 4 (the technical report prints min for max);
- subgradient: -c_il Y_il where Y_il F_il < 1, else 0, eq. 6 (its printed sign is wrong);
- dual value: sum_i A_il Y_il, where 0 <= A_il Y_il <= c_il;
- dual step: B_il = Y_il alpha_il, alpha_il = Y_il A_il + sigma_l (1 - Y_il F_il) clipped into [0, c_il].

A sample of label 0 is not part of the task.

>>> F, Y = [[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]]
>>> value(F, Y)
array([1. , 1.5])
>>> subgradient(F, Y)
array([[0., 1.],
       [1., 0.]])
>>> dual_value([[0.5, -1.0], [-2.0, 0.0]], Y, [[1.0], [2.0]])
array([2.5, 1. ])
>>> dual_step([[0.5, -0.5]], [[0.0, 3.0]], [[1, -1]], [[1.0]], 0.1)
array([[ 0.6, -0.9]])
"""

import numpy as np

from jointsparse.compiled import njit
from jointsparse.learning.loss import functions_of

QUADRATIC = False
DESCENDS = False  # has no `descend`


@njit
def column_sums(F, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            if y != 0 and weight != 0:
                margin = y * F[i, l]
                if not margin >= 1.0:  # true for NaN, which propagates
                    sums[l] += weight * (1.0 - margin)


@njit
def derivatives(F, Y, c, G):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            G[i, l] = -weight * y if y != 0 and not y * F[i, l] >= 1.0 else 0


@njit
def dual_sums(A, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            sums[l] += min(max(np.float64(y * A[i, l]), 0.0), weight)


@njit
def dual_steps(A, F, Y, c, sigma, B):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            alpha = y * A[i, l] + sigma[l] * (1.0 - y * F[i, l])
            B[i, l] = y * min(max(alpha, 0.0), weight)


value, subgradient, dual_value, dual_step = functions_of(column_sums, derivatives, dual_sums, dual_steps)
