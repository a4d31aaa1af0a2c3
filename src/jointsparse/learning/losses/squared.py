"""The squared loss, 1/2 (y - f)^2, as in the least squares of Duchi et al. (2008), sec. 7. Labels are any numbers.

- value: sum_i c_il 1/2 (Y_il - F_il)^2;
- subgradient: c_il (F_il - Y_il);
- dual value: sum_i A_il Y_il - A_il^2 / (2 c_il), over the samples of weight above 0;
- dual step: B_il = (A_il + sigma_l (Y_il - F_il)) / (1 + sigma_l / c_il).

A label of 0 is a number like any other.

>>> F, Y = [[2.0, 0.5], [0.0, 3.0]], [[1, -1], [-1, 0]]
>>> value(F, Y)
array([1.   , 5.625])
>>> subgradient(F, Y)
array([[1. , 1.5],
       [1. , 3. ]])
>>> dual_value([[0.5, -1.0], [-2.0, 0.0]], Y, [[1.0], [2.0]])
array([1.375, 0.5  ])
>>> dual_step([[0.5, -0.5]], [[0.0, 3.0]], [[1, -1]], [[1.0]], 1.0)
array([[ 0.75, -2.25]])
"""

import numpy as np

from jointsparse.compiled import njit
from jointsparse.learning.loss import functions_of

QUADRATIC = True
DESCENDS = False  # has no `descend`


@njit
def column_sums(F, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            if weight != 0:
                error = y - np.float64(F[i, l])
                sums[l] += 0.5 * weight * error * error


@njit
def derivatives(F, Y, c, G):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
    for i in range(F.shape[0]):
        for l in range(F.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            G[i, l] = weight * (F[i, l] - y) if weight != 0 else 0.0


@njit
def dual_sums(A, Y, c, sums):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            if weight > 0:
                a = np.float64(A[i, l])
                sums[l] += y * a - 0.5 * a * a / weight


@njit
def dual_steps(A, F, Y, c, sigma, B):  # type: ignore[no-untyped-def]
    one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
    for i in range(A.shape[0]):
        for l in range(A.shape[1]):
            y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
            a = A[i, l] + sigma[l] * (y - np.float64(F[i, l]))
            B[i, l] = a / (1.0 + sigma[l] / weight) if weight > 0 else 0.0


value, subgradient, dual_value, dual_step = functions_of(column_sums, derivatives, dual_sums, dual_steps)
