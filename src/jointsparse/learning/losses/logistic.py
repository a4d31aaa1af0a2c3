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

from math import exp, factorial, log, log1p

import numpy as np

from jointsparse.compiled import njit
from jointsparse.learning.loss import derivatives_of, functions_of, sums_of

QUADRATIC = False
CURVATURE = 0.25
DESCENDS = True  # has `descend`

TILE = 256  # samples whose dual steps are computed side by side
LOG_2 = log(2.0)
PER_LOG_2 = 1 / LOG_2
LOG_2_HIGH = float.fromhex("0x1.62e42feep-1")  # its products with small whole numbers are exact
LOG_2_LOW = LOG_2 - LOG_2_HIGH + 2.319046813846299e-17  # with the digits of log 2 after the 53rd bit
TAYLOR = tuple(1 / factorial(k) for k in range(13, 1, -1))  # of exp
LEAST_EXPONENT = -700.0  # smaller ones count as minus infinity
ROUNDER = 1.5 * 2.0**52  # added and taken off again, leaves a whole number


@njit(inline="always")
def term(f, y, weight):  # type: ignore[no-untyped-def]
    margin = np.float64(y * f)
    present = y != 0 and weight != 0
    return weight * (log1p(exp(-abs(margin))) + max(-margin, 0.0)) if present else 0.0


@njit(inline="always")
def dual_of(f, y, weight):  # type: ignore[no-untyped-def]
    """The dual variable of a margin: minus the derivative of the loss."""
    return weight * y / (1.0 + exp(y * f))  # an exponential that overflows is infinite


@njit(inline="always")
def derivative(f, y, weight):  # type: ignore[no-untyped-def]
    return -dual_of(np.float64(f), y, weight) if y != 0 else 0.0


@njit(inline="always")
def dual_term(a, y, weight):  # type: ignore[no-untyped-def]
    share = np.float64(y * a) / weight if weight > 0 else 0.0
    return -weight * (share * log(share) + (1.0 - share) * log1p(-share)) if share > 0.0 and share < 1.0 else 0.0


@njit
def exponentials(x, powers, y):  # type: ignore[no-untyped-def]
    """y_i = exp(x_i) for x_i <= 0, to a few units in the last place, or 0 below exp(-700). `powers` is scratch."""
    # exp(x) = 2^k exp(r) with k = round(x / log 2), so that |r| <= log(2) / 2. These loops vectorise, unlike `exp`.
    # At the size of ROUNDER, neighbouring numbers are 1 apart: the sum is rounded to a whole number, and its lowest
    # bits are those of k.
    for i in range(x.size):
        powers[i] = (x[i] if x[i] > LEAST_EXPONENT else LEAST_EXPONENT) * PER_LOG_2 + ROUNDER
    for i in range(x.size):
        k = powers[i] - ROUNDER
        r = (x[i] - k * LOG_2_HIGH) - k * LOG_2_LOW
        p = TAYLOR[0]
        for coefficient in TAYLOR[1:]:
            p = p * r + coefficient
        y[i] = 0.0 if x[i] < LEAST_EXPONENT else (p * r) * r + r + 1.0
    bits = powers.view(np.int64)  # 2^k has the exponent k + 1023, from bit 52 on
    for i in range(x.size):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(x.size):
        y[i] *= powers[i]


@njit(error_model="numpy")
def log_odds(alpha, whole, margin, sigma, target, low, powers, exp_minus_z, minus_z):  # type: ignore[no-untyped-def]
    """Solve sigma z + alpha = sigma margin + whole / (1 + exp(z)) for z >= 0, by Newton's method; write exp(-z).

    All arrays hold a number per equation. The first four are given and `exp_minus_z` is the result; the others are
    scratch.
    """
    # The difference of the two sides is convex and decreasing, so Newton's method rises to z from any point below.
    # From a point above, its first step leads below.
    # As the last term of the equation is positive, z > margin - alpha / sigma: `low` is a lower bound.
    for i in range(minus_z.size):
        target[i] = sigma[i] * margin[i] - alpha[i]
        bound = margin[i] - alpha[i] / sigma[i]
        low[i] = 0.0 if bound < 0.0 else bound
    # Start at the z of the present alpha, alpha = whole / (1 + exp(z)): log((whole - alpha) / alpha), if above `low`.
    for i in range(minus_z.size):
        odds = (whole[i] - alpha[i]) / alpha[i]
        powers[i] = odds if odds > 1.0 and odds < 1e300 else 1.0
    bits = powers.view(np.int64)
    for i in range(minus_z.size):
        # The exponent and the mantissa after its 1, as a number: about log2 of the odds.
        rough = (float(bits[i] >> 32) * 2.0**-20 - 1023.0) * LOG_2
        minus_z[i] = -low[i] if rough < low[i] else -rough
    for _ in range(100):  # mostly fewer than ten
        exponentials(minus_z, powers, exp_minus_z)
        moving = 0
        for i in range(minus_z.size):
            per_whole = 1.0 / (1.0 + exp_minus_z[i])
            share = exp_minus_z[i] * per_whole
            rest = target[i] + sigma[i] * minus_z[i] + whole[i] * share
            next_z = rest / (sigma[i] + whole[i] * share * per_whole) - minus_z[i]
            next_z = low[i] if next_z < low[i] else next_z
            # The error of the next point is less than the square of this.
            moving += np.int64(abs(next_z + minus_z[i]) > 1e-8 * next_z)
            minus_z[i] = -next_z
        if moving == 0:
            break
    exponentials(minus_z, powers, exp_minus_z)


@njit
def dual_steps(A, F, Y, c, sigma, B):  # type: ignore[no-untyped-def]
    """Write the proximal steps of A to B, see `functions_of`.

    Equations are solved by `log_odds`, TILE at a time: the first inner loop collects them, the second writes B.
    """
    one_y, one_c, n_tasks = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1], A.shape[1]
    # What `log_odds` takes; its scratch; and its result, with a note on what has been solved for.
    alpha, whole, margin, step = np.zeros(TILE), np.zeros(TILE), np.zeros(TILE), np.ones(TILE)
    target, low, powers, minus_z = np.empty(TILE), np.empty(TILE), np.empty(TILE), np.empty(TILE)
    exp_minus_z, swapped = np.empty(TILE), np.empty(TILE, np.bool_)
    i, l = 0, 0
    for first in range(0, A.size, TILE):
        size, from_i, from_l = min(TILE, A.size - first), i, l
        for k in range(size):
            y, c_il, s = Y[i, 0 if one_y else l], np.float64(c[i, 0 if one_c else l]), sigma[l]
            a = min(max(np.float64(y * A[i, l]), 0.0), c_il)
            if y == 0 or c_il == 0.0 or s == 0.0:
                B[i, l] = y * a
                whole[k] = alpha[k] = margin[k] = 0.0  # no step
            else:
                # The step is alpha' = c / (1 + exp(z)). The smaller of alpha' and c - alpha' has more correct digits.
                f = np.float64(y * F[i, l])
                # alpha' + sigma log(alpha' / (c - alpha')) = a - sigma f. The left side rises with alpha' and is c / 2
                # at c / 2. So alpha' is the smaller if a - sigma f is below c / 2. If not, c - alpha' is solved for:
                # its equation is the same with c - a for a and -f for f.
                swapped[k] = not a - s * f < 0.5 * c_il
                whole[k], step[k] = c_il, s
                alpha[k], margin[k] = (c_il - a, -f) if swapped[k] else (a, f)
            l += 1
            if l == n_tasks:
                i, l = i + 1, 0
        log_odds(alpha, whole, margin, step, target, low, powers, exp_minus_z, minus_z)
        i, l = from_i, from_l
        for k in range(size):
            if whole[k] > 0.0:
                y = Y[i, 0 if one_y else l]
                # c / (1 + exp(z)), or c minus that if the equation was swapped
                B[i, l] = y * whole[k] * ((1.0 if swapped[k] else exp_minus_z[k]) / (1.0 + exp_minus_z[k]))
            l += 1
            if l == n_tasks:
                i, l = i + 1, 0


@njit
def descend(indptr, indices, data, Y, c, F, A, W, b, penalties, positive, intercept, n_sweeps):  # type: ignore[no-untyped-def]
    """Sweep over the weights of each task, see the room's docstring. Steps go by the largest curvature, 1/4."""
    n_features = indptr.size - 1
    curvature = np.empty(n_features)
    for l in range(W.shape[0]):
        f, a, w, y, weight = F[l], A[l], W[l], Y[l], c[l]
        for i in range(f.size):
            a[i] = dual_of(f[i], y[i], weight[i])
        for j in range(n_features):
            curvature[j] = 0.0
            for p in range(indptr[j], indptr[j + 1]):
                curvature[j] += 0.25 * weight[indices[p]] * data[p] * data[p]
        for sweep in range(n_sweeps):
            for j in range(n_features):
                if curvature[j] <= 0.0 or (sweep > 0 and w[j] == 0.0):
                    continue  # the first sweep alone sees all
                aim = curvature[j] * w[j]
                for p in range(indptr[j], indptr[j + 1]):
                    aim += data[p] * a[indices[p]]
                size = max((aim if positive else abs(aim)) - penalties[l, j], 0.0) / curvature[j]
                step = (-size if aim < 0.0 else size) - w[j]
                if step != 0.0:
                    w[j] += step
                    for p in range(indptr[j], indptr[j + 1]):
                        i = indices[p]
                        f[i] += step * data[p]
                        a[i] = dual_of(f[i], y[i], weight[i])
            if intercept and weight.any():
                step = a.sum() / (0.25 * weight.sum())
                b[l] += step
                for i in range(f.size):
                    f[i] += step
                    a[i] = dual_of(f[i], y[i], weight[i])


column_sums, derivatives, dual_sums = sums_of(term), derivatives_of(derivative), sums_of(dual_term)
value, subgradient, dual_value, dual_step = functions_of(column_sums, derivatives, dual_sums, dual_steps)
