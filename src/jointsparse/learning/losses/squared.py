"""The squared loss, 1/2 (y - f)^2, as in the least-squares problems of Duchi et al. (2008), sec. 7.

Labels may be any numbers.

- value: sum_i c_il 1/2 (Y_il - F_il)^2;
- subgradient: c_il (F_il - Y_il);
- dual value: sum_i A_il Y_il - A_il^2 / (2 c_il), over the samples with positive weights;
- dual step: B_il = (A_il + sigma_l (Y_il - F_il)) / (1 + sigma_l / c_il).

A label of 0 has no special meaning.

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
from jointsparse.learning.loss import derivatives_of, functions_of, steps_of, sums_of

QUADRATIC = True
CURVATURE = 1.0
DESCENDS = False


@njit(inline="always")
def term(f, y, weight):  # type: ignore[no-untyped-def]
    error = y - np.float64(f)
    return 0.5 * weight * error * error if weight != 0 else 0.0


@njit(inline="always")
def derivative(f, y, weight):  # type: ignore[no-untyped-def]
    return weight * (f - y) if weight != 0 else 0.0


@njit(inline="always")
def dual_term(a, y, weight):  # type: ignore[no-untyped-def]
    exact = np.float64(a)
    return y * exact - 0.5 * exact * exact / weight if weight > 0 else 0.0


@njit(inline="always")
def step(a, f, y, weight, sigma):  # type: ignore[no-untyped-def]
    moved = a + sigma * (y - np.float64(f))
    return moved / (1.0 + sigma / weight) if weight > 0 else 0.0


column_sums, derivatives, dual_sums = sums_of(term), derivatives_of(derivative), sums_of(dual_term)
dual_steps = steps_of(step)
value, subgradient, dual_value, dual_step = functions_of(column_sums, derivatives, dual_sums, dual_steps)
