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

from math import exp, factorial, log

import numpy as np

from jointsparse.compiled import njit
from jointsparse.learning.loss import functions_of

QUADRATIC = False
CURVATURE = 0.25
DESCENDS = True

TILE = 256  # number of entries that are computed side by side
LOG_2 = log(2.0)
PER_LOG_2 = 1 / LOG_2
LOG_2_HIGH = float.fromhex("0x1.62e42feep-1")  # the leading bits of log 2: products with small integers are exact
LOG_2_LOW = LOG_2 - LOG_2_HIGH + 2.319046813846299e-17  # the rest of log 2, including the digits beyond the 53rd bit
TAYLOR = tuple(1 / factorial(k) for k in range(13, 1, -1))  # Taylor coefficients of exp
ODD = tuple(2 / k for k in range(31, 1, -2))  # Taylor coefficients of log((1 + t) / (1 - t)), without the first
LEAST_SHARE = 2.0**-1000  # smaller numbers count as this one in a logarithm
SQRT_HALF_BITS = int(np.array(0.5**0.5).view(np.int64))  # the bits of sqrt(1/2), read as an integer
LEAST_EXPONENT = -700.0  # smaller exponents count as minus infinity
ROUNDER = 1.5 * 2.0**52  # adding and subtracting this number rounds to an integer


@njit(inline="always")
def dual_of(f, y, weight):  # type: ignore[no-untyped-def]
    """Return the dual variable of a margin, which is minus the derivative of the loss."""
    return weight * y / (1.0 + exp(y * f))  # if the exponential overflows to infinity, the result is 0, as it should be


@njit(inline="always")
def log_ratio(t):  # type: ignore[no-untyped-def]
    """Return log((1 + t) / (1 - t)) for |t| <= 1/3, with an error of a few units in the last place."""
    square, series = t * t, ODD[0]
    for coefficient in ODD[1:]:
        series = series * square + coefficient
    return (series * square) * t + 2.0 * t


@njit
def exponentials(x, powers, y):  # type: ignore[no-untyped-def]
    """Compute y_i = exp(x_i) for x_i <= 0, with an error of at most a few units in the last place.

    For x_i < -700 the result is 0. powers: an array for intermediate results.
    """
    # exp(x) = 2^k exp(r) with k = round(x / log 2), so that |r| <= log(2) / 2. Unlike `exp`, these loops vectorise.
    # Neighbouring floats of the size of ROUNDER differ by 1, so the sum is rounded to an integer, whose lowest bits are
    # those of k.
    for i in range(x.size):
        powers[i] = (x[i] if x[i] > LEAST_EXPONENT else LEAST_EXPONENT) * PER_LOG_2 + ROUNDER
    for i in range(x.size):
        k = powers[i] - ROUNDER
        r = (x[i] - k * LOG_2_HIGH) - k * LOG_2_LOW
        p = TAYLOR[0]
        for coefficient in TAYLOR[1:]:
            p = p * r + coefficient
        y[i] = 0.0 if x[i] < LEAST_EXPONENT else (p * r) * r + r + 1.0
    bits = powers.view(np.int64)  # the exponent field of 2^k is k + 1023, and begins at bit 52
    for i in range(x.size):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(x.size):
        y[i] *= powers[i]


@njit
def entries_of(array, n_columns):  # type: ignore[no-untyped-def]
    """Return the entries of an array row by row. A single column is repeated until there are `n_columns`."""
    if array.shape[1] == n_columns:
        return array.ravel()
    repeated = np.empty((array.shape[0], n_columns), array.dtype)
    for i in range(array.shape[0]):
        for l in range(n_columns):
            repeated[i, l] = array[i, 0]
    return repeated.ravel()


# The following loops compute TILE entries side by side, so that they vectorise.


@njit
def add_to_columns(terms, size, first, sums):  # type: ignore[no-untyped-def]
    """Add the first `size` terms to the sums of their columns. first: number of the first entry, counted row by row."""
    l = first % sums.size
    for k in range(size):
        sums[l] += terms[k]
        l = l + 1 if l + 1 < sums.size else 0


@njit(error_model="numpy")
def column_sums(F, Y, c, sums):  # type: ignore[no-untyped-def]
    """Add the losses to `sums`; see `learning.loss.functions_of`."""
    f_all, y_all, c_all = F.ravel(), entries_of(Y, F.shape[1]), entries_of(c, F.shape[1])
    margin, x, powers, e = np.zeros(TILE), np.zeros(TILE), np.empty(TILE), np.empty(TILE)
    for first in range(0, f_all.size, TILE):
        f, y, weight = f_all[first : first + TILE], y_all[first : first + TILE], c_all[first : first + TILE]
        for k in range(f.size):
            margin[k] = y[k] * f[k]
            x[k] = -abs(margin[k])
        exponentials(x, powers, e)
        for k in range(TILE):
            # log(1 + exp(-m)) = log(1 + e) + max(-m, 0) with e = exp(-|m|), and 1 + e = (1 + t) / (1 - t).
            e[k] = log_ratio(e[k] / (2.0 + e[k])) + (-margin[k] if margin[k] < 0.0 else 0.0)
        for k in range(f.size):
            e[k] = weight[k] * e[k] if y[k] != 0 and weight[k] != 0 else 0.0
        add_to_columns(e, f.size, first, sums)


@njit(error_model="numpy")
def derivatives(F, Y, c, G):  # type: ignore[no-untyped-def]
    """Write the derivatives to G; see `learning.loss.functions_of`."""
    f_all, y_all, c_all, g_all = F.ravel(), entries_of(Y, F.shape[1]), entries_of(c, F.shape[1]), G.ravel()
    margin, x, powers, e = np.zeros(TILE), np.zeros(TILE), np.empty(TILE), np.empty(TILE)
    for first in range(0, f_all.size, TILE):
        f, y, weight = f_all[first : first + TILE], y_all[first : first + TILE], c_all[first : first + TILE]
        g = g_all[first : first + TILE]
        for k in range(f.size):
            margin[k] = y[k] * f[k]
            x[k] = -abs(margin[k])
        exponentials(x, powers, e)
        for k in range(TILE):
            e[k] = (e[k] if margin[k] > 0.0 else 1.0) / (1.0 + e[k])  # 1 / (1 + exp(m))
        for k in range(g.size):
            g[k] = -weight[k] * y[k] * e[k] if y[k] != 0 else 0.0


@njit(error_model="numpy")
def dual_sums(A, Y, c, sums):  # type: ignore[no-untyped-def]
    """Add the dual values to `sums`; see `learning.loss.functions_of`."""
    a_all, y_all, c_all = A.ravel(), entries_of(Y, A.shape[1]), entries_of(c, A.shape[1])
    share, mantissas, terms = np.zeros(TILE), np.zeros(TILE), np.empty(TILE)
    bits = mantissas.view(np.int64)
    for first in range(0, a_all.size, TILE):
        a, y, weight = a_all[first : first + TILE], y_all[first : first + TILE], c_all[first : first + TILE]
        for k in range(a.size):
            p = np.float64(y[k] * a[k]) / weight[k]
            p = 1.0 - p if p > 0.5 else p  # the entropy of p is that of 1 - p
            share[k] = p if p > 0.0 else 0.0
        for k in range(TILE):
            mantissas[k] = share[k] if share[k] > LEAST_SHARE else LEAST_SHARE  # so that the logarithm is finite
        for k in range(TILE):
            exponent = (bits[k] - SQRT_HALF_BITS) >> 52
            bits[k] -= exponent << 52  # now the mantissa is between sqrt(1/2) and sqrt(2)
            terms[k] = float(exponent)
        for k in range(TILE):
            p, m = share[k], mantissas[k]
            log_p = terms[k] * LOG_2 + log_ratio((m - 1.0) / (m + 1.0))
            terms[k] = (1.0 - p) * log_ratio(p / (2.0 - p)) - p * log_p  # log(1 - p) = -log_ratio(p / (2 - p))
        for k in range(a.size):
            terms[k] *= weight[k]
        add_to_columns(terms, a.size, first, sums)


@njit(error_model="numpy")
def log_odds(alpha, whole, margin, sigma, target, low, powers, exp_minus_z, minus_z):  # type: ignore[no-untyped-def]
    """Solve sigma z + alpha = sigma margin + whole / (1 + exp(z)) for z >= 0 with Newton's method, and write exp(-z).

    All arrays have one entry per equation. The first four are the input, and `exp_minus_z` is the result; the other
    arrays hold intermediate results.
    """
    # The right side minus the left side is convex and decreasing in z, so Newton's method increases monotonically to
    # the solution from any point below it. From a point above, its first step leads to a point below.
    # The last term of the equation is positive, so z > margin - alpha / sigma, which is the lower bound `low`.
    for i in range(minus_z.size):
        target[i] = sigma[i] * margin[i] - alpha[i]
        bound = margin[i] - alpha[i] / sigma[i]
        low[i] = 0.0 if bound < 0.0 else bound
    # Start at the larger of `low` and the z of the present alpha: alpha = whole / (1 + exp(z)), so this z is
    # log((whole - alpha) / alpha).
    for i in range(minus_z.size):
        odds = (whole[i] - alpha[i]) / alpha[i]
        powers[i] = odds if odds > 1.0 and odds < 1e300 else 1.0
    bits = powers.view(np.int64)
    for i in range(minus_z.size):
        # The exponent and the mantissa bits, read as a fixed-point number, are approximately log2 of the odds.
        rough = (float(bits[i] >> 32) * 2.0**-20 - 1023.0) * LOG_2
        minus_z[i] = -low[i] if rough < low[i] else -rough
    for _ in range(100):  # usually fewer than ten
        exponentials(minus_z, powers, exp_minus_z)
        moving = 0
        for i in range(minus_z.size):
            per_whole = 1.0 / (1.0 + exp_minus_z[i])
            share = exp_minus_z[i] * per_whole
            rest = target[i] + sigma[i] * minus_z[i] + whole[i] * share
            next_z = rest / (sigma[i] + whole[i] * share * per_whole) - minus_z[i]
            next_z = low[i] if next_z < low[i] else next_z
            # The error of the next point is less than the square of this step.
            moving += np.int64(abs(next_z + minus_z[i]) > 1e-8 * next_z)
            minus_z[i] = -next_z
        if moving == 0:
            break
    exponentials(minus_z, powers, exp_minus_z)


@njit
def dual_steps(A, F, Y, c, sigma, B):  # type: ignore[no-untyped-def]
    """Write the result of a proximal step from A to B; see `learning.loss.functions_of`.

    `log_odds` solves TILE equations at a time. The first inner loop collects the equations, the second writes B.
    """
    one_y, one_c, n_tasks = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1], A.shape[1]
    # The input of `log_odds`, its intermediate results, and its result with a mark for swapped equations.
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
                whole[k] = alpha[k] = margin[k] = 0.0  # there is no equation to solve
            else:
                # The result is alpha' = c / (1 + exp(z)). To lose no digits, the equation is solved for the smaller
                # of alpha' and c - alpha'.
                f = np.float64(y * F[i, l])
                # alpha' + sigma log(alpha' / (c - alpha')) = a - sigma f. The left side increases with alpha' and is
                # c / 2 at alpha' = c / 2, so alpha' is the smaller one if a - sigma f < c / 2. The equation of
                # c - alpha' is the same, with c - a in place of a and -f in place of f.
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
                # c / (1 + exp(z)), or c minus this number if the equation was swapped
                B[i, l] = y * whole[k] * ((1.0 if swapped[k] else exp_minus_z[k]) / (1.0 + exp_minus_z[k]))
            l += 1
            if l == n_tasks:
                i, l = i + 1, 0


@njit
def sweep(indptr, indices, data, features, a, h, curvature, d, w, penalty, l2, positive):  # type: ignore[no-untyped-def]
    """Do a sweep of coordinate descent on the weights w of some features, for the quadratic model of `descend`.

    a, h : minus the derivatives of the losses with respect to the margins, and the curvatures, (n_samples,).
    d : change of the margins since the model was made, (n_samples,).
    """
    for j in features:
        if curvature[j] <= 0.0:
            continue
        aim = curvature[j] * w[j]
        for p in range(indptr[j], indptr[j + 1]):
            aim += data[p] * a[indices[p]]
        size = max((aim if positive else abs(aim)) - penalty[j], 0.0) / (curvature[j] + l2)
        step = (-size if aim < 0.0 else size) - w[j]
        if step != 0.0:
            w[j] += step
            for p in range(indptr[j], indptr[j + 1]):
                change = step * data[p]
                d[indices[p]] += change
                a[indices[p]] -= h[indices[p]] * change


@njit
def descend(indptr, indices, data, Y, c, F, A, W, b, inside, penalties, l2, positive, intercept, n_sweeps):  # type: ignore[no-untyped-def]
    """Minimise the losses plus an l1 penalty and a ridge term by proximal Newton steps; see `learning.losses`.

    Sweeps of coordinate descent minimise a quadratic model of the losses. The step to the minimum is halved until the
    objective does not increase.
    """
    curvature, h, d, start = np.zeros(indptr.size - 1), np.empty(F.shape[1]), np.empty(F.shape[1]), np.empty(W.shape[1])
    for l in range(W.shape[0]):
        f, a, w, y, weight, features = F[l], A[l], W[l], Y[l], c[l], np.nonzero(inside[l])[0]
        for i in range(f.size):
            a[i] = dual_of(f[i], y[i], weight[i])
            h[i] = abs(a[i]) * (1.0 - abs(a[i]) / weight[i]) if weight[i] > 0.0 else 0.0
            d[i] = 0.0
        for j in features:
            start[j], curvature[j] = w[j], 0.0
            for p in range(indptr[j], indptr[j + 1]):
                curvature[j] += h[indices[p]] * data[p] * data[p]
        b_step, total = 0.0, h.sum() if intercept else 0.0
        for _ in range(n_sweeps):
            sweep(indptr, indices, data, features, a, h, curvature, d, w, penalties[l], l2, positive)
            if total > 0.0:
                change = a.sum() / total
                b_step += change
                for i in range(f.size):
                    d[i] += change
                    a[i] -= h[i] * change
        cost = 0.0  # increase of the penalty and the ridge term for the whole step
        for j in features:
            cost += penalties[l, j] * (abs(w[j]) - abs(start[j])) + 0.5 * l2 * (w[j] * w[j] - start[j] * start[j])
        share = 1.0
        for halving in range(50):
            gain = 0.0
            for i in range(f.size):
                a[i] = dual_of(f[i] + share * d[i], y[i], weight[i])
                gain += a[i] * d[i]
            # Both parts of the objective are convex, so it decreases by at least share * (gain - cost).
            if gain >= cost or halving == 49:
                break
            share *= 0.5
        for i in range(f.size):
            f[i] += share * d[i]
        b[l] += share * b_step
        if share < 1.0:
            for j in features:
                w[j] = start[j] + share * (w[j] - start[j])


value, subgradient, dual_value, dual_step = functions_of(column_sums, derivatives, dual_sums, dual_steps)
