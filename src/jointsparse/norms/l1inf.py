"""The l1,inf norm: the sum over features of the feature's largest absolute weight. Its ball makes tasks share features.

Quattoni, Carreras, Collins, Darrell: An efficient projection for l1,inf regularization. ICML 2009.

Notation, as in docs/algorithms.md: theta is the mass that every surviving row gives up, and mu_i is the level at which
row i is clipped. N(theta) = sum_i mu_i is the norm of the clipped matrix; it decreases in theta, and the solution has
N(theta) = radius. m is the number of tasks. A row is dead if mu_i = 0, and survives otherwise.

`sort_and_merge` is the paper's algorithm. By default `project` uses another one, which takes a tenth of the time or
less: `newton_with_sets` is Newton's method on theta. It starts from the lower bound of `theta_bound`, which needs only
the sums and maxima of the rows, or, if there are many rows, from the better estimate of `guess_from_sample`.
`find_theta` combines these three functions.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_matrix, as_output, as_radius, deliver, require, require_finite
from jointsparse.compiled import njit
from jointsparse.groups import Groups, as_rows
from jointsparse.norms import on_arrays
from jointsparse.norms.rows import (
    FINITE,
    SMALLEST_SHARE,
    add_compensated,
    aim_row,
    block_sum,
    copy_numbers,
    heights_above,
    take_row,
    top_bits,
    unscaled,
)

WARM = True  # `project` takes a warm start, see `Warm`
PER_TASK = False  # one norm for all tasks together
SPARSE = True  # whole rows become 0, see `dual_rows`
WEIGHTED = True  # functions take `weights`, one per feature or group
GROUPED = True  # functions take `groups` of features
DESCENDS = True  # there is `descend`

Vector = NDArray[np.float64]


def sort_and_merge(W: Floats, radius: float) -> tuple[float, Vector]:
    """Return theta and mu by the paper's algorithm ([Q09] sec. 4.2, appendix; [Q08] Fig. 1), for 0 < radius < ||W||."""
    d, m = W.shape
    # Paper: s_i is row i sorted in decreasing order, with an additional 0 at position m + 1.
    s = np.zeros((d, m + 1))
    s[:, :m] = -np.sort(-np.abs(W), axis=1)
    # Paper: the break points of h_i (here mu_i) are r_ik = sum_{j <= k-1} s_ij - (k - 1) s_ik, for 1 <= k <= m + 1.
    k = np.arange(1, m + 2)
    sums = np.zeros((d, m + 1))
    np.cumsum(s[:, :m], axis=1, out=sums[:, 1:])
    r = np.maximum.accumulate(sums - (k - 1) * s, axis=1)  # restores the order if rounding has disturbed it
    # Paper: merge all r_ik in increasing order. Choice: use one stable sort.
    visits = np.argsort(r, axis=None, kind="stable")
    r_visited = r.ravel()[visits]
    # Paper: h_i has slope -1/k after r_ik. After the last break point, k = m + 1, row i is dead and its slope is 0.
    slope_of_piece = np.append(-1 / k[:m], 0.0)
    change_at_k = np.diff(slope_of_piece, prepend=0.0)
    # Paper: compute N at the visited points, from ||W|| downwards, until N would fall below C. Choice: start at the
    # last point, where N = 0, and go upwards: then terms of equal sign are added. Downwards they cancel, which would be
    # inaccurate for a small C.
    steepness = np.cumsum(change_at_k[visits[:0:-1] % (m + 1)])
    N = np.append(0.0, np.cumsum(steepness * -np.diff(r_visited[::-1])))[::-1]
    t = max(int((radius < N).sum()) - 1, 0)
    # Paper: theta = r^t + (N^t - C) / sum_i 1/k_i, where k_i is the k of the last visited break point of row i.
    k_i = np.count_nonzero(r <= r_visited[t], axis=1)
    theta = r_visited[t] + (N[t] - radius) / np.sum(1 / k_i[k_i <= m])
    # Paper: mu_i = s_ik - (theta - r_ik) / k, or 0 for a dead row.
    last = np.arange(d), k_i - 1
    return float(theta), np.where(k_i <= m, np.maximum(s[last] - (theta - r[last]) / k_i, 0.0), 0.0)


# The faster algorithm

INTEGER = {np.dtype(np.float64): np.int64, np.dtype(np.float32): np.int32}  # integer types of the same size

CACHED_ENTRIES = 2**20  # selected rows of a larger matrix are copied, because they are slow to read in place
ROW_BLOCK_ENTRIES = 4096  # number of entries of a row that are added in the dtype of the matrix
SAMPLED_FROM_ROWS = 256  # theta is estimated from a sample of rows if at least this many rows may survive
SAMPLE_ROWS = 64  # smallest number of rows in the sample
SAMPLE_STRIDE_ROWS = 64  # the sample contains at least every 64th row
BELOW_GUESS = 0.97  # rows with sums below this fraction of the estimated theta are first left out
FIRST_LEVELS = 16  # number of levels from which `levels_for_masses` learns to guess the others
NEAR_BOUND = 0.2  # a warm start is ignored if its bound of theta differs from the current one by a larger fraction
SMALLER = 2.0**-64  # factor by which matrices are scaled if their sums overflow
SMALLEST = 5e-324  # smallest theta that is returned outside the ball, even if it is rounded to 0
# `careful_levels` is used if the rounding error of theta changes the norm by a larger fraction of the radius. Without
# weights the last step of Newton's method corrects the norm; with weights the rows may differ too much.
VISIBLE_SHARE, VISIBLE_SHARE_WEIGHTED = 2.0**-4, 2.0**-43
LARGE_EXPONENT = 400  # powers of two up to this exponent can be multiplied with weights without overflow
MOST_ROUNDS = 100  # limit for `careful_levels`, which usually needs about ten rounds


@njit
def abs_sum(a):  # type: ignore[no-untyped-def]
    """Return sum |a_j|. Blocks are added in double precision, so that long float32 rows keep their accuracy."""
    result = 0.0
    for start in range(0, a.size, ROW_BLOCK_ENTRIES):
        result += block_sum(a[start : start + ROW_BLOCK_ENTRIES], a.dtype.type(0))
    return result


@njit(nogil=True)
def row_statistics(W, bits, least, sums, maxima):  # type: ignore[no-untyped-def]
    """Write the sum and maximum of |W_ij| for each row. If a row has NaN or infinity, its sum is not finite.

    bits: W viewed as integers. least: the maximum is written only for rows with a larger sum, and 0 for other rows.
    """
    no_sign = ~np.array([-0.0], W.dtype).view(bits.dtype)[0]
    tops = np.zeros(W.shape[0], bits.dtype)
    for i in range(W.shape[0]):
        sums[i] = abs_sum(W[i])
        if sums[i] > least:
            tops[i] = top_bits(bits[i], no_sign)
    copy_numbers(tops.view(W.dtype), maxima)


@njit
def compensated_sum(x):  # type: ignore[no-untyped-def]
    """Return sum x_i by compensated summation, which has about twice the digits. Zeros in x do not change the sum."""
    result, lost = 0.0, 0.0
    for i in range(x.size):
        result, lost = add_compensated(result, lost, x[i])
    return result + lost if result < np.inf else result


def statistics(W: Floats) -> tuple[Vector, Vector]:
    """Return the sum and maximum of |W_ij| for each row. Sums may overflow. Raises ValueError if W is not finite."""
    sums, maxima = np.zeros(len(W)), np.zeros(len(W))
    if W.size:
        row_statistics(W, W.view(INTEGER[W.dtype]), 0.0, sums, maxima)
    if not np.isfinite(sums).all():
        require_finite(W)
        if W.dtype == np.float32:
            return statistics(W.astype(np.float64))
    return sums, maxima


@np.errstate(over="ignore")
def group_statistics(W: Floats, groups: Groups | None) -> tuple[Vector, Vector]:
    """Return the sum and maximum of |W_ij| for each group or, if `groups` is None, for each row."""
    sums, maxima = statistics(W)
    return (sums, maxima) if groups is None else (groups.reduce(np.add, sums), groups.reduce(np.maximum, maxima))


@np.errstate(over="ignore")
def weighted_sum(levels: Vector, weights: Vector | None) -> float:
    """Return sum_i s_i levels_i with weights s, or infinity if it overflows."""
    return float(compensated_sum(levels if weights is None else weights * levels))


def norm(
    W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None, axis: int | None = None
) -> float:
    """Return ||W||_{1,inf} = sum_i max_j |W_ij| ([Q09] sec. 3) or, with weights s, sum_i s_i max_j |W_ij|.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite.
    weights : array (n_features,) or (n_groups,), optional
        The positive weights s, all 1 by default.
    groups : array (n_features,) of integers, optional
        The group of each feature. All entries of a group count as one row.
    axis : int, optional
        The axis along which the entries of a row lie: -1 by default, or -2. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, and invalid weights or groups.

    >>> norm([[3.0, -1.0], [0.0, 2.0]])
    5.0
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(weights):
        return on_arrays.call(norm, W, axis=axis, weights=weights, groups=groups)
    W, s, members = as_rows(as_matrix(W), weights, groups)
    return weighted_sum(group_statistics(W, members)[1], s)


def dual_norm(
    W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None, axis: int | None = None
) -> float:
    """Return the dual norm, max_i sum_j |W_ij| or, with weights s, max_i sum_j |W_ij| / s_i.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite.
    weights : array (n_features,) or (n_groups,), optional
        The positive weights s, all 1 by default.
    groups : array (n_features,) of integers, optional
        The group of each feature. All entries of a group count as one row.
    axis : int, optional
        The axis along which the entries of a row lie: -1 by default, or -2. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, and invalid weights or groups.

    >>> dual_norm([[3.0, -1.0], [0.0, 2.0]])
    4.0
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(weights):
        return on_arrays.call(dual_norm, W, axis=axis, weights=weights, groups=groups)
    return float(dual_rows(W, weights=weights, groups=groups).max(initial=0.0))


def dual_rows(W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None) -> Vector:
    """Return sum_j |W_ij| or, with weights s, sum_j |W_ij| / s_i for each row i.

    The largest of these numbers is `dual_norm`. W: (n_features, n_tasks). weights: (n_features,) or (n_groups,),
    positive. groups: (n_features,), the group of each feature; all entries of a group count as one row. Returns an
    array (n_features,) or (n_groups,). Raises ValueError for NaN, infinity, a wrong shape, and invalid weights or
    groups.

    >>> dual_rows([[3.0, -1.0], [0.0, 2.0]])
    array([4., 2.])
    """
    W, s, members = as_rows(as_matrix(W), weights, groups)
    with np.errstate(over="ignore"):
        return group_statistics(W, members)[0] / (1.0 if s is None else s)


@njit(fastmath=FINITE)
def count_and_excess(a, level, with_excess):  # type: ignore[no-untyped-def]
    """Return the number of |a_j| above the level and, unless `with_excess` is None, sum (|a_j| - level)_+."""
    # Written with a difference and max instead of an if, so that the compiler vectorises it: seven times as fast.
    zero, one = a.dtype.type(0), a.dtype.type(1)
    count, excess = zero, zero
    for j in range(a.size):
        x = abs(a[j]) - level
        count += one if x > zero else zero
        if with_excess is not None:
            excess += max(x, zero)
    return count, excess


@njit(fastmath=FINITE)
def bound_and_slope(sums, maxima, m, theta, squares):  # type: ignore[no-untyped-def]
    """Return sum_i max(M_i - theta, (S_i - theta) / m, 0), a lower bound of N(theta), and minus its slope.

    S_i and M_i are the row sums and maxima. squares: factors of the terms (see `_levels_weighted`), or None, for which
    Numba compiles a version without factors.
    """
    value, slope = 0.0, 0.0
    share = 1.0 / m
    for i in range(sums.size):
        by_maximum, by_sum = maxima[i] - theta, (sums[i] - theta) * share
        higher = max(by_maximum, by_sum)
        factor = 1.0 if squares is None else squares[i]
        weight = 1.0 if by_maximum >= by_sum else share
        value += factor * max(higher, 0.0)
        slope += factor * weight if higher > 0.0 else 0.0
    return value, slope


@njit
def theta_bound(sums, maxima, m, radius, squares):  # type: ignore[no-untyped-def]
    """Return a lower bound of theta from row sums and maxima. Newton's method on `bound_and_slope` starts from 0."""
    # By rounding of a large sum, a long step may overshoot. The last step corrects this, because the bound is convex.
    theta = 0.0
    while True:
        value, slope = bound_and_slope(sums, maxima, m, theta, squares)
        if slope == 0.0:
            return theta
        step = (value - radius) / slope
        if not step > 0.0 or theta + step == theta:
            return max(theta + step, 0.0)
        theta += step


@njit
def mu_bound(sums, maxima, share, i, theta):  # type: ignore[no-untyped-def]
    """Return a lower bound on mu_i(theta), which is exact if one entry of row i or all m exceed it. share: 1 / m."""
    return max(maxima[i] - theta, (sums[i] - theta) * share)


@njit
def last_step(mu, slopes, radius, squares):  # type: ignore[no-untyped-def]
    """Solve N(theta) = radius for fixed sets of clipped entries, and update mu. slopes: 1 / k for sets of k entries.

    Returns the change of theta, and the slope of -N, which is set to infinity if no row survives.
    """
    # When a row reaches zero, the other rows have more to lose, hence the loop.
    steps = 0.0
    while True:
        slope, dies = 0.0, False
        for r in range(mu.size):
            mu[r] = max(mu[r], 0.0)
            factor = 1.0 if squares is None else squares[r]
            slope += factor * slopes[r] if mu[r] > 0.0 else 0.0
        if slope == 0.0:
            return steps, np.inf
        step = (compensated_sum(mu if squares is None else mu * squares) - radius) / slope
        steps += step
        for r in range(mu.size):
            if mu[r] > 0.0:
                mu[r] -= step * slopes[r]
                dies = dies or mu[r] < 0.0
        if not dies:
            return steps, slope


@njit
def improve_sets(W, theta, sums, maxima, rows, mu, k, slopes, squares):  # type: ignore[no-untyped-def]
    """Replace the set of every row by its entries above mu, and then mu by the mu(theta) that follows from the set.

    k holds the set sizes. On entry the sign of k says what mu is; on exit all k are positive, and slopes = 1 / k.

    =====  =============================================================================================
    k > 0  mu is a lower bound of mu(theta), which follows from the set of the k largest entries
    k < 0  mu is a tighter lower bound, which `lower_mu` has computed; the previous set had -k entries
    k = 0  mu is an arbitrary guess, and there is no set yet
    =====  =============================================================================================

    Rows that are dead at theta are removed: the first n_alive entries of `rows`, `mu`, `k` and `slopes` belong to the
    other rows.

    Returns
    -------
    n_alive
        Number of rows that are not dead.
    total, slope
        N(theta) and the slope of -N for the new sets: the sums of mu and of 1 / k, weighted by `squares` if given.
    unchanged
        True if no row is dead and all sets have the same sizes as before.
    improved
        True if a row is dead or had no set, or if a new set raises mu by more than the rounding error.
    """
    rounding = 4 * np.finfo(W.dtype).eps
    n_alive, total, slope, unchanged, improved = 0, 0.0, 0.0, True, False
    for r in range(rows.size):
        i = rows[r]
        if sums[i] <= theta * (1.0 - rounding):  # rows within rounding stay, as many of them may add up to much
            unchanged, improved = False, True
            continue
        level = W.dtype.type(mu[r])
        count, new_mu, inverse = k[r], mu[r], slopes[r]
        # Counting alone takes half the time. The excess is needed only if the set changes or mu comes from no set.
        if count <= 0 or max(count_and_excess(W[i], level, None)[0], 1) != count:
            count, excess = count_and_excess(W[i], level, True)
            if count == 0:  # the guess was too high, or theta is lost to rounding in the row's maximum
                count, excess = W.dtype.type(1), W.dtype.type(maxima[i] - level)
            inverse = 1.0 / count
            new_mu = level + (excess - theta) * inverse
            if count != abs(k[r]):
                unchanged = False
                improved = improved or k[r] == 0 or new_mu > level + rounding * level
            if k[r] != 0:  # mu was a lower bound, which must not decrease by rounding
                new_mu = max(new_mu, level)
        rows[n_alive], mu[n_alive], k[n_alive], slopes[n_alive] = i, new_mu, count, inverse
        factor = 1.0 if squares is None else squares[i]
        total += factor * new_mu
        slope += factor * inverse
        n_alive += 1
    return n_alive, total, slope, unchanged, improved


@njit
def lower_mu(step, theta, share, rounding, sums, maxima, rows, mu, k, slopes):  # type: ignore[no-untyped-def]
    """Update mu after a step of theta. Rows keep their sets, unless `mu_bound` exceeds mu by more than rounding errors.

    In that case mu is set to this bound, and k changes its sign.
    """
    for r in range(rows.size):
        mu[r] -= step * slopes[r]
        bound = mu_bound(sums, maxima, share, rows[r], theta)
        if bound > mu[r] + rounding * bound:
            mu[r], k[r] = bound, -k[r]


@njit
def newton_with_sets(W, radius, sums, maxima, theta, rows, mu, squares):  # type: ignore[no-untyped-def]
    """Solve N(theta) = radius by Newton's method, from a theta that is at most the solution.

    mu_i(theta) is the maximum of (s - theta) / k over all sets of k entries of row i with sum s. Any choice of sets
    therefore gives lower bounds of the mu_i, and a lower bound of the solution theta. The entries above the bound of
    mu_i are a better set. theta grows until the sets repeat. A row is dead for good as soon as theta exceeds its sum.

    rows: the rows to consider. mu: an arbitrary guess for each of them. Returns theta, the number of surviving rows,
    and the slope of -N, which is infinite if the radius is so small that it is lost to rounding. Afterwards the
    first entries of `rows` and `mu` belong to the surviving rows.
    """
    share, rounding = 1.0 / W.shape[1], 4 * np.finfo(W.dtype).eps
    k, slopes = np.zeros(rows.size), np.empty(rows.size)
    while True:
        n_alive, total, slope, unchanged, improved = improve_sets(W, theta, sums, maxima, rows, mu, k, slopes, squares)
        if n_alive == 0:  # compared with the row sums, the radius is so small that it is lost to rounding
            return theta, 0, np.inf
        rows, mu, k, slopes = rows[:n_alive], mu[:n_alive], k[:n_alive], slopes[:n_alive]
        # A negative step comes from rounding or from poor sets, because theta is known to be a lower bound.
        step = max((total - radius) / slope, 0.0)
        if unchanged or (not improved and step <= rounding * theta):
            step, slope = last_step(mu, slopes, radius, None if squares is None else squares[rows])
            return theta + step, n_alive, slope
        theta += step
        lower_mu(step, theta, share, rounding, sums, maxima, rows, mu, k, slopes)


@njit
def guess_from_sample(W, sums, maxima, theta, rows, squares):  # type: ignore[no-untyped-def]
    """Estimate theta from a sample of the rows. If there are few rows, return the given lower bound `theta`.

    Returns the estimate, and the mean position of the sample's mu_i between their bounds: position 0 is the lower bound
    `mu_bound`, and position 1 is the upper bound M_i - theta / m. The upper bound holds because no entry of a row is
    clipped by more than M_i - mu_i.
    """
    # The sample costs a fiftieth of a pass over a large matrix and saves half of the Newton steps.
    share = 1.0 / W.shape[1]
    if rows.size < SAMPLED_FROM_ROWS:
        return theta, 0.0
    sample = rows[:: min(rows.size // SAMPLE_ROWS, SAMPLE_STRIDE_ROWS)].copy()
    # The lower bounds of mu of all rows add up to the radius, so their sum over the sample is the sample's part of the
    # radius. The fraction of rows in the sample would be a poor estimate of this part if rows differ in size.
    part, mu = 0.0, np.empty(sample.size)
    for r in range(sample.size):
        mu[r] = mu_bound(sums, maxima, share, sample[r], theta)
        part += mu[r] if squares is None else mu[r] * squares[sample[r]]
    guess, n_alive, _ = newton_with_sets(W, part, sums, maxima, theta, sample, mu, squares)
    above, between = 0.0, 0.0
    for r in range(n_alive):
        bound = mu_bound(sums, maxima, share, sample[r], guess)
        above += mu[r] - bound
        between += maxima[sample[r]] - guess * share - bound
    return guess, (above / between if between > 0.0 else 0.0)


@njit
def find_theta(W, radius, sums, maxima, warm, mu, squares):  # type: ignore[no-untyped-def]
    """Return theta and the slope of -N at theta, and write mu, for 0 < radius < ||W||.

    `warm` holds the theta of a warm start and its lower bound from `theta_bound`, and `mu` holds the levels of the warm
    start. All three are overwritten with the values for W. Zeros mean that there is no warm start. squares: the squared
    weights (see `_levels_weighted`), or None. The slope is infinite if the radius is so small compared with the
    row sums that it is lost to rounding.
    """
    m, share = W.shape[1], 1.0 / W.shape[1]
    rounding = 4 * np.finfo(W.dtype).eps
    least = theta_bound(sums, maxima, m, radius, squares) * (1.0 - rounding)
    # A warm start far from theta is slower than a cold start. If theta has jumped since the warm start, its lower bound
    # has jumped as well, so the bounds are compared. A NaN bound (see `sorted_start`) always passes the comparison.
    if warm[0] > least and not abs(warm[1] - least) >= NEAR_BOUND * least:
        guess, position = warm[0], 0.0
    else:
        guess, position = guess_from_sample(W, sums, maxima, least, np.nonzero(sums > least)[0], squares)
        mu[:] = 0.0
    warm[1] = least
    # Rows whose sums are well below the guess are probably dead and are left out at first. The theta of a subset of the
    # rows is never above the true theta.
    start, theta = max(least, BELOW_GUESS * guess), least
    while True:
        rows = np.nonzero(sums > start)[0]
        # Every level starts between its bounds at the mean position of the sample's levels, but not below its level in
        # the warm start or in the previous round.
        levels = np.empty(rows.size)
        for r in range(rows.size):
            low = mu_bound(sums, maxima, share, rows[r], guess)
            high = maxima[rows[r]]
            levels[r] = min(max(low + position * (high - guess * share - low), mu[rows[r]]), high)
        if 2 * rows.size < W.shape[0] and W.size > CACHED_ENTRIES:
            # A contiguous copy of the rows is faster to read. `order` holds the places of the rows in the copy.
            order = np.arange(rows.size)
            factors = None if squares is None else squares[rows]
            theta, n_alive, slope = newton_with_sets(
                W[rows], radius, sums[rows], maxima[rows], theta, order, levels, factors
            )
            rows = rows[order]
        else:
            theta, n_alive, slope = newton_with_sets(W, radius, sums, maxima, theta, rows, levels, squares)
        mu[:] = 0.0
        for r in range(n_alive):
            mu[rows[r]] = levels[r]
        # The rows that were left out have sums of at most `start`. They are dead if theta is at least `start`.
        if theta >= start or start == least:
            warm[0] = theta
            return theta, slope
        start = guess = theta = max(theta, least)
        position = 0.0  # the levels of this round are better than the guess from the sample


@njit
def shrink_into_ball(mu, radius, weights):  # type: ignore[no-untyped-def]
    """Lower the last digits of mu until the sum, or the weighted sum if there are weights, is at most the radius."""
    for _ in range(3):
        sum_ = compensated_sum(mu if weights is None else mu * weights)
        if sum_ <= radius:
            return
        mu *= min(radius / sum_, 1.0 - 2.0**-52)
    if compensated_sum(mu if weights is None else mu * weights) > radius:  # near 5e-324 factors change nothing
        for i in range(mu.size):
            mu[i] = max(mu[i] - SMALLEST, 0.0)


# Codes that `find_levels` returns
UNFIT = 0  # a row sum is not finite
INSIDE = 1
OUTSIDE = 2
UNSEEN = 3  # outside, but the rounding error of theta is too large for this radius


@njit
def find_levels(W, bits, radius, warm, mu):  # type: ignore[no-untyped-def]
    """Write mu, and return one of the four codes above, and theta. warm: see `find_theta`."""
    sums, maxima = np.empty(W.shape[0]), np.empty(W.shape[0])
    row_statistics(W, bits, 0.0, sums, maxima)
    if not np.isfinite(sums.sum()):
        return UNFIT, 0.0
    if compensated_sum(maxima) <= radius:
        copy_numbers(maxima, mu)
        return INSIDE, 0.0
    if radius == 0.0:
        mu[:] = 0.0
        return OUTSIDE, sums.max()
    theta, slope = find_theta(W, radius, sums, maxima, warm, mu, None)
    if np.finfo(W.dtype).eps * theta * slope > VISIBLE_SHARE * radius:
        return UNSEEN, theta
    shrink_into_ball(mu, radius, None)
    return OUTSIDE, max(theta, SMALLEST)


@njit
def rounded_down(mu, W):  # type: ignore[no-untyped-def]
    """Return mu, rounded down to the dtype of W."""
    rounded = mu.astype(W.dtype)
    for i in range(mu.size):
        if rounded[i] > mu[i]:
            rounded[i] = np.nextafter(rounded[i], W.dtype.type(0))
    return rounded


# A separate function, so that the loop vectorises. It is inlined, because a call takes as long as clipping 200 entries.
@njit(fastmath={"nnan", "nsz"}, forceinline=True)
def clip_row(a, top, b):  # type: ignore[no-untyped-def]
    for j in range(a.size):
        b[j] = min(max(a[j], -top), top)


@njit(nogil=True)
def clip_rows(W, mu, B):  # type: ignore[no-untyped-def]
    """Write B_ij = sign(W_ij) min(|W_ij|, mu_i)."""
    tops = rounded_down(mu, W)
    for i in range(W.shape[0]):
        top = tops[i]
        if top == 0.0:
            B[i] = top  # for the constant 0 the compiler would call memset, which is slow for short rows
        else:
            clip_row(W[i], top, B[i])


def careful_levels(
    V: Vector, groups: Groups | None, heights_of: Callable[[Vector, Vector], Vector]
) -> tuple[float, Vector]:
    """Return theta and mu for the rows or groups of a non-negative V, accurately for every radius and all weights.

    `heights_of` takes one set per row: the sum of its entries and their number k. It returns by how much these sums
    exceed theta. If the sets hold the entries above mu_i, this height is k_i mu_i. `newton_with_sets` subtracts theta
    from the sums instead, which loses digits if mu_i is tiny compared with the sums.
    """

    def per_row(ufunc: np.ufunc, by_feature: Vector) -> Vector:
        return by_feature if groups is None else groups.reduce(ufunc, by_feature)

    if groups is None:
        V = np.sort(V, axis=1)  # so that rows with the same entries have exactly the same sum
    maxima = per_row(np.maximum, V.max(axis=1, initial=0.0))
    mu, previous = np.zeros(len(maxima)), [np.zeros(len(maxima))] * 2
    for _ in range(MOST_ROUNDS):
        above = (mu if groups is None else mu[groups.of_feature])[:, np.newaxis] < V
        k = per_row(np.add, np.count_nonzero(above, axis=1)).astype(np.float64)
        tops = per_row(np.add, np.where(above, V, 0.0).sum(axis=1))
        # If a level has reached the maximum by rounding, its set would be empty.
        k, tops = np.where(k > 0, k, 1.0), np.where(k > 0, tops, maxima)
        heights = heights_of(tops, k)
        mu = heights / k
        # By rounding, an entry next to its level may alternately join and leave the set, hence two previous rounds.
        if any(np.array_equal(k, counts) for counts in previous):
            break
        previous = [previous[1], k]
    # Every surviving row has its own theta up to rounding. That of the smallest sum has lost the fewest digits.
    alive = heights > 0
    smallest = alive & (tops == tops.min(initial=np.inf, where=alive))
    return float((tops - heights).max(initial=0.0, where=smallest)), np.minimum(mu, maxima)


# Whether W is inside the ball, theta, and mu. This is a plain tuple, because making a NamedTuple takes a tenth of the
# time of the smallest projections.
Levels = tuple[bool, float, Vector]


class Warm:
    """Warm start for projecting a slowly changing matrix: theta with its lower bound, and mu, of the last projection.

    The projection is exact (up to rounding) with any warm start. A good one saves up to two fifths of the time.

    >>> warm = Warm()
    >>> for radius in (3.0, 2.9):
    ...     B = project([[3.0, -1.0], [1.0, 2.0]], radius, warm=warm)
    >>> round(warm.theta, 12)
    1.066666666667
    """

    def __init__(self) -> None:
        self.theta = self.bound = 0.0
        self.mu = np.empty(0)


def _levels(W: Floats, radius: float, warm: Warm | None, method: str = "newton") -> Levels:
    """Return the levels of the rows of W, and update the warm start."""
    start, mu = np.zeros(2), np.zeros(len(W))
    known = sorted_start(W, radius) if method == "sort" else warm
    if known is not None and len(known.mu) == len(W):
        start[:], mu[:] = (known.theta, known.bound), known.mu
    result, theta = find_levels(W, W.view(INTEGER[W.dtype]), radius, start, mu) if W.size else (INSIDE, 0.0)
    if result == UNFIT:
        require_finite(W)
        _, theta, mu = _levels(W.astype(np.float64) * SMALLER, radius * SMALLER, None, method)
        return False, theta / SMALLER, mu / SMALLER
    if result == UNSEEN:
        _, theta, mu = _levels_weighted(W, radius, np.ones(len(W)), None)
    if warm is not None:
        warm.theta, warm.bound, warm.mu = theta, start[1], mu
    return result == INSIDE, theta, mu


@np.errstate(over="ignore")
def sorted_start(W: Floats, radius: float) -> Warm:
    """Return the result of `sort_and_merge` as a warm start, from which Newton's method corrects the last digits."""
    sums, maxima = statistics(W)
    start, rows = Warm(), np.flatnonzero(maxima)
    if 0.0 < radius < compensated_sum(maxima) and np.isfinite(sums.sum()):
        # Paper: the algorithm only needs to consider non-zero rows.
        start.mu, start.bound = np.zeros(len(W)), np.nan
        start.theta, start.mu[rows] = sort_and_merge(W[rows].astype(np.float64), radius)
    return start


def _solve_weighted(
    V: Vector, radius: float, squares: Vector, groups: Groups | None, start: Vector, nu: Vector
) -> tuple[float, Vector]:
    """Solve sum_i squares_i nu_i = radius > 0, with sum_j (|V_ij| - nu_i)_+ = theta if nu_i > 0; return theta and nu.

    start and nu are the warm start of `find_theta`, which overwrites them.
    """
    if groups is None:
        sums, maxima = statistics(V)
        theta, slope = find_theta(V, radius, sums, maxima, start, nu, squares)
        eps = np.finfo(np.float64).eps
        by_rounding = (nu == 0.0) & (sums > theta * (1.0 - 64 * eps))  # rows that might be alive
        unsure = eps * (max(theta, 0.0) * slope + (squares * sums)[by_rounding].sum())
        if unsure <= VISIBLE_SHARE_WEIGHTED * radius:
            return theta, nu

    def heights_of(tops: Vector, k: Vector) -> Vector:
        heights = np.empty_like(tops)
        heights_above(tops, squares / k, radius, heights)
        return heights

    return careful_levels(np.abs(V), groups, heights_of)


@np.errstate(over="ignore")  # theta may overflow for very small weights
def _levels_weighted(
    W: Floats, radius: float, weights: Vector, warm: Warm | None, groups: Groups | None = None
) -> Levels:
    """Return the levels for the row-weighted ball, sum_i s_i max_j |B_ij| <= radius, and update the warm start.

    With groups all entries of a group count as one row, and there is no warm start.
    """
    # With V_ij = |W_ij| / s_i and nu_i = mu_i / s_i the condition of a row is the same as without weights:
    # sum_j (V_ij - nu_i)_+ = theta. Weights remain only in the sum over rows, N(theta) = sum_i s_i^2 nu_i.
    sums, maxima = group_statistics(W, groups)
    # Powers of two bring the largest weight and the largest weighted entry near 1, so that no square overflows.
    weight_power = -int(np.frexp(weights.max(initial=0.0))[1])
    s, entry_power = np.ldexp(weights, weight_power), 0
    for factor in (1.0, s):  # scales the entries before the products, so that products with small weights are not 0
        entry_power -= int(np.frexp((np.ldexp(maxima, entry_power) * factor).max(initial=0.0))[1])
    scaled_radius = float(np.ldexp(radius, entry_power + weight_power))
    if weighted_sum(np.ldexp(maxima, entry_power), s) <= scaled_radius:
        return True, 0.0, maxima
    if scaled_radius < SMALLEST_SHARE:
        return False, max(float((sums / weights).max()), SMALLEST), np.zeros(len(maxima))
    coarse = entry_power if abs(entry_power) > LARGE_EXPONENT else 0
    to_nu = np.ldexp(1.0 / (s if groups is None else s[groups.of_feature]), entry_power - coarse)
    V = (np.ldexp(W, coarse, dtype=np.float64) if coarse else W) * to_nu[:, np.newaxis]
    start, nu = np.zeros(2), np.zeros(len(maxima))
    if warm is not None and len(warm.mu) == len(W):
        start, nu = np.ldexp([warm.theta, warm.bound], entry_power - weight_power), np.ldexp(warm.mu, entry_power) / s
    theta, nu = _solve_weighted(V, scaled_radius, s * s, groups, start, nu)
    levels = np.minimum(nu * s, np.ldexp(maxima, entry_power))
    shrink_into_ball(levels, scaled_radius, s)
    mu = unscaled(levels, entry_power, np.float64)
    theta = max(float(np.ldexp(theta, weight_power - entry_power)), SMALLEST)
    if warm is not None:
        warm.theta, warm.bound, warm.mu = theta, float(np.ldexp(start[1], weight_power - entry_power)), mu
    return False, theta, mu


def _require_fit(method: str, warm: Warm | None, weights: Vector | None, groups: Groups | None) -> None:
    """Raise ValueError for options of `project` that are invalid or cannot be combined."""
    require(method in ("newton", "sort"), f"method must be newton or sort, got {method!r}")
    require(warm is None or isinstance(warm, Warm), f"warm must be a Warm object or None, got {warm!r}")
    for name, given in (("weights", weights), ("groups", groups)):
        require(given is None or method == "newton", f"method must be newton if {name} are given, got {method!r}")
    require(warm is None or groups is None, f"warm must be None if groups are given, got {warm!r}")


def project(
    W: ArrayLike,
    radius: float,
    *,
    out: Floats | None = None,
    method: Literal["newton", "sort"] = "newton",
    warm: Warm | None = None,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
    return_theta: bool = False,
    axis: int | None = None,
) -> Any:
    """Project W onto the l1,inf ball.

    Solve min_B 1/2 ||B - W||_F^2 subject to sum_i max_j |B_ij| <= radius. The solution clips row i at a level mu_i:
    B_ij = sign(W_ij) min(|W_ij|, mu_i). All rows that are not set to zero lose the same mass theta:
    sum_j (|W_ij| - mu_i)_+ = theta if mu_i > 0, and sum_j |W_ij| <= theta if mu_i = 0. The levels satisfy
    sum_i mu_i = radius.

    With weights s the constraint is sum_i s_i max_j |B_ij| <= radius. Row i then loses the mass s_i theta, and
    sum_i s_i mu_i = radius. With groups all entries of a group count as one row.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite. float32 and float64 are kept, other dtypes become float64. Pass W.T to sum the maxima of
        columns instead of rows.
    radius : float
        Non-negative radius of the ball, the papers' C. Infinity is allowed. If it is below 1e-300 times the norm,
        the result may be 0.
    out : array of W's shape and dtype, optional
        Array for the result, which may be W itself. By default a new array is made.
    method : "newton" or "sort"
        Newton's method on theta, or the paper's algorithm, which sorts and merges in O(dm log dm). The results agree up
        to rounding.
    warm : Warm, optional
        Warm start, which is updated. Only for the method "newton" without groups.
    weights : array (n_features,) or (n_groups,), optional
        Positive weights, which may differ by a factor of at most 2^500. Only for the method "newton".
    groups : array (n_features,) of integers, optional
        The group of each feature, from 0 to n_groups - 1. By default every feature is a group of its own. Only for the
        method "newton".
    positive : bool
        Whether to require B >= 0 as well. The solution is then the projection of max(W, 0).
    return_theta : bool
        Whether to return theta and mu as well.
    axis : int, optional
        The axis along which the entries of a row lie: -1 by default, or -2. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    B : array of W's shape and dtype
        If W (or max(W, 0)) is inside the ball, it is returned bit for bit. Otherwise norm(B) <= radius holds exactly,
        so that projecting B again changes nothing.
    theta : float
        Only if `return_theta` is True: 0 inside the ball, dual_norm(W) for radius 0.
    mu : array (n_features,) or (n_groups,)
        Only if `return_theta` is True: the levels, which are the row maxima inside the ball.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, an unknown method, options that cannot be combined, invalid weights or groups,
        and a radius that is negative or NaN.

    References
    ----------
    Quattoni et al. (2009), eq. 7-19 and appendix A.

    >>> project([[3.0, -1.0], [1.0, 2.0]], radius=3.0)
    array([[ 2., -1.],
           [ 1.,  1.]])
    >>> project([[3.0, -1.0], [1.0, 2.0]], radius=4.5, weights=[1.0, 2.0])
    array([[ 2.5, -1. ],
           [ 1. ,  1. ]])
    >>> project([[3.0], [-1.0], [2.0]], radius=4.0, groups=[0, 0, 1])
    array([[ 2.5],
           [-1. ],
           [ 1.5]])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(radius, weights):
        return on_arrays.call(
            project,
            W,
            radius,
            axis=axis,
            out=out,
            method=method,
            warm=warm,
            weights=weights,
            groups=groups,
            positive=positive,
            return_theta=return_theta,
        )
    W, s, members = as_rows(as_matrix(W), weights, groups, positive)
    radius = as_radius(radius)
    if method != "newton" or members is not None or not (warm is None or isinstance(warm, Warm)):
        _require_fit(method, warm, s, members)
    B = as_output(out, W)
    V, n = (W, len(W)) if members is None else (members.stacked(W), len(members.starts))
    if V is None:
        inside, theta, mu = _levels_weighted(W, radius, np.ones(n) if s is None else s, None, members)
    elif s is None:
        inside, theta, mu = _levels(V, radius, warm, method)
    else:
        inside, theta, mu = _levels_weighted(V, radius, s, warm)
    if inside:
        B[...] = W
    else:
        clip_rows(W, mu if members is None else mu[members.of_feature], B)
    B = deliver(B, out)
    return (B, theta, rounded_down(mu, W)) if return_theta else B


@njit
def next_level(a, mass, level):  # type: ignore[no-untyped-def]
    """Return a lower bound of the level at which clipping |a| removes the given mass: a step of Newton's method.

    The bound follows from the entries above `level`, which may be any number. It is 0 if there is no such entry.
    """
    rounded = a.dtype.type(level)
    count, excess = count_and_excess(a, rounded, True)
    return rounded + (excess - mass) / count if count > 0 else 0.0


@njit
def level_for_mass(a, mass, bound):  # type: ignore[no-untyped-def]
    """Return the level at which clipping |a| removes the given mass, or 0 if there is no positive level.

    Newton's method starts from the lower bound `bound`. The level rises until rounding stops it.
    """
    level = 0.0
    while bound > level:
        level = bound
        bound = next_level(a, mass, level)
    return level


@njit
def levels_for_masses(W, masses, sums, maxima):  # type: ignore[no-untyped-def]
    """Return the level of each row at which clipping removes the mass that is given for this row."""
    # A guess saves one or two of five Newton steps. It is the mean position of the first levels between their bounds,
    # as in `guess_from_sample`.
    levels, share = np.zeros(W.shape[0]), 1.0 / max(W.shape[1], 1)
    n_seen, above, between, position = 0, 0.0, 0.0, 0.0
    for i in range(levels.size):
        if sums[i] <= masses[i]:
            continue
        bound = mu_bound(sums, maxima, share, i, masses[i])
        span = maxima[i] - masses[i] * share - bound
        if n_seen >= FIRST_LEVELS:
            bound = max(bound, next_level(W[i], masses[i], bound + position * span))
        levels[i] = level = level_for_mass(W[i], masses[i], bound)
        if n_seen < FIRST_LEVELS:
            n_seen, above, between = n_seen + 1, above + (level - bound), between + span
            position = above / between if between > 0.0 else 0.0
    return levels


@njit(nogil=True)
def prox_rows(W, bits, step, B):  # type: ignore[no-untyped-def]
    """Write the result of `prox` without weights and groups to B, and return True.

    Return False, with nothing written, if a row sum is above the largest number of W's dtype. bits: see
    `row_statistics`.
    """
    sums, maxima = np.empty(W.shape[0]), np.empty(W.shape[0])
    row_statistics(W, bits, step, sums, maxima)
    if not (sums <= np.finfo(W.dtype).max).all():
        return False
    clip_rows(W, levels_for_masses(W, np.full(sums.size, step), sums, maxima), B)
    return True


def mu_for_theta(W: Floats, theta: Vector, groups: Groups | None = None) -> Vector:
    """Return the level mu_i(theta_i) of every row or, with groups, of every group."""
    V = W if groups is None else groups.stacked(W)
    if V is None:  # groups of different sizes
        power = -int(np.frexp(np.abs(W).max(initial=0.0))[1])  # brings the largest entry near 1
        V, taken = np.ldexp(np.abs(W), power, dtype=np.float64), np.ldexp(theta, power)
        return np.ldexp(careful_levels(V, groups, lambda tops, k: np.maximum(tops - taken, 0.0))[1], -power)
    sums, maxima = statistics(V)
    if not (sums <= np.finfo(V.dtype).max).all():
        scale = np.where(np.isfinite(sums), 1.0, SMALLER)
        return mu_for_theta(V * scale[:, np.newaxis], theta * scale) / scale
    return levels_for_masses(V, theta, sums, maxima)


def prox(
    W: ArrayLike,
    step: float,
    *,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
    axis: int | None = None,
) -> Floats:
    """Apply the proximal operator of step times the l1,inf norm to W.

    Solve min_B 1/2 ||B - W||_F^2 + step * sum_i s_i max_j |B_ij|. By Moreau's decomposition, row i of W - B is the
    projection of row i of W onto the l1 ball of radius step * s_i. With the theta of the projection,
    project(W, radius) equals prox(W, theta).

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite. float32 and float64 are kept, other dtypes become float64.
    step : float
        Non-negative factor of the norm. Infinity is allowed.
    weights : array (n_features,) or (n_groups,), optional
        The positive weights s, all 1 by default.
    groups : array (n_features,) of integers, optional
        The group of each feature, as in `project`.
    positive : bool
        Whether to require B >= 0 as well. The solution is then the prox of max(W, 0).
    axis : int, optional
        The axis along which the entries of a row lie: -1 by default, or -2. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    B : array of W's shape and dtype
        A new array.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, invalid weights or groups, and a step that is negative or NaN.

    References
    ----------
    Quattoni et al. (2009), eq. 2: the penalised form.

    >>> prox([[3.0, -1.0], [1.0, 2.0]], step=1.0)
    array([[ 2., -1.],
           [ 1.,  1.]])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(step, weights):
        return on_arrays.call(prox, W, step, axis=axis, weights=weights, groups=groups, positive=positive)
    W, s, members = as_rows(as_matrix(W), weights, groups, positive)
    step = as_radius(step, "step")
    plain = s is None and members is None and W.size > 0 and step > 0.0
    B = np.empty_like(W) if plain else W.copy()
    # In the usual case a single kernel does all the work, because several calls take longer than a small matrix.
    if plain and prox_rows(W, W.view(INTEGER[W.dtype]), step, B):
        return B
    n = len(W) if members is None else len(members.starts)
    with np.errstate(over="ignore"):  # a row whose step overflows becomes 0
        steps = np.full(n, step) if s is None else step * s
    mu = mu_for_theta(W, steps, members)
    if step > 0.0:
        clip_rows(W, mu if members is None else mu[members.of_feature], B)
    return B


@njit
def descend(A, squares, H, W, penalties, n_sweeps):  # type: ignore[no-untyped-def]
    """Perform sweeps of block coordinate descent, see `jointsparse.norms`. Every step clips a row of W."""
    w = np.empty(W.shape[1])
    for _ in range(n_sweeps):
        for i in range(W.shape[0]):
            if squares[i] <= 0.0:
                continue
            aim_row(A, H, W, i, squares[i], w)
            level = level_for_mass(w, penalties[i], (abs_sum(w) - penalties[i]) / w.size)
            for k in range(w.size):
                w[k] = min(max(w[k], -level), level) / squares[i]
            take_row(A, H, W, i, w)
