"""The hinge loss, max(0, 1 - y f), which Quattoni et al. (2009) use in all experiments. Labels are -1 and +1.

- value: sum_i c_il max(0, 1 - Y_il F_il), eq. 4 (the technical report prints min instead of max);
- subgradient: -c_il Y_il where Y_il F_il < 1, else 0, eq. 6 (printed there with the wrong sign);
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
from jointsparse.learning.loss import derivatives_of, functions_of, steps_of, sums_of

QUADRATIC = False
CURVATURE = np.inf  # because of the kink
DESCENDS = False


@njit(inline="always")
def term(f, y, weight):  # type: ignore[no-untyped-def]
    margin = y * f
    present = y != 0 and weight != 0
    return weight * (1.0 - margin) if present and not margin >= 1.0 else 0.0  # NaN propagates


@njit(inline="always")
def derivative(f, y, weight):  # type: ignore[no-untyped-def]
    return -weight * y if y != 0 and not y * f >= 1.0 else 0.0


@njit(inline="always")
def dual_term(a, y, weight):  # type: ignore[no-untyped-def]
    return min(max(np.float64(y * a), 0.0), weight)


@njit(inline="always")
def step(a, f, y, weight, sigma):  # type: ignore[no-untyped-def]
    return y * min(max(y * a + sigma * (1.0 - y * f), 0.0), weight)


column_sums, derivatives, dual_sums = sums_of(term), derivatives_of(derivative), sums_of(dual_term)
dual_steps = steps_of(step)
value, subgradient, dual_value, dual_step = functions_of(column_sums, derivatives, dual_sums, dual_steps)
