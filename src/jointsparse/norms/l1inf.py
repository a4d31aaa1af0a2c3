"""The l1,inf norm: the sum over features of a feature's largest absolute weight. Its ball makes tasks share features.

Quattoni, Carreras, Collins, Darrell: An efficient projection for l1,inf regularization. ICML 2009.

Letters as in docs/algorithms.md: theta is the mass that every surviving row gives up, and mu_i the level at which row i
is clipped. N(theta) = sum_i mu_i is the norm of the clipped matrix, which falls to the radius at the theta that is
sought. m is the number of tasks. A row is dead once mu_i is 0.

`sort_and_merge` is the paper's algorithm. `project` by default takes a tenth of its time or less. `newton_with_sets` is
Newton's method on theta, from `theta_bound`, which needs row sums and maxima only. For many rows `guess_from_sample`
gives a better start. `find_theta` joins the three.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import (
    Floats,
    Groups,
    as_matrix,
    as_output,
    as_radius,
    as_rows,
    deliver,
    require,
    require_finite,
)
from jointsparse.compiled import njit
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
PER_TASK = False  # one number for all tasks together
SPARSE = True  # rows become 0, see `dual_rows`
WEIGHTED = True  # takes `weights`, one per feature or group
GROUPED = True  # takes `groups` of features
DESCENDS = True  # has `descend`

Vector = NDArray[np.float64]


def sort_and_merge(W: Floats, radius: float) -> tuple[float, Vector]:
    """theta and mu by the paper's algorithm ([Q09] sec. 4.2 and appendix, [Q08] Fig. 1), for 0 < radius < ||W||."""
    d, m = W.shape
    # Paper: s_i, row i sorted in decreasing order, with an added 0 at position m + 1.
    s = np.zeros((d, m + 1))
    s[:, :m] = -np.sort(-np.abs(W), axis=1)
    # Paper: r_ik = sum_{j <= k-1} s_ij - (k - 1) s_ik, for 1 <= k <= m + 1: where h_i, our mu_i, bends.
    k = np.arange(1, m + 2)
    sums = np.zeros((d, m + 1))
    np.cumsum(s[:, :m], axis=1, out=sums[:, 1:])
    r = np.maximum.accumulate(sums - (k - 1) * s, axis=1)  # rounding must not undo their order
    # Paper: merge all r_ik in increasing order. Choice: one stable sort does the merging.
    visits = np.argsort(r, axis=None, kind="stable")
    r_visited = r.ravel()[visits]
    # Paper: h_i has slope -1/k after r_ik; and 0 after the last one, k = m + 1, where row i dies.
    slope_of_piece = np.append(-1 / k[:m], 0.0)
    change_at_k = np.diff(slope_of_piece, prepend=0.0)
    # Paper: N at each visited point, from ||W|| downwards, until it would pass C. Choice: from N = 0 at the last point
    # upwards, where slopes and pieces only add up. Downwards they cancel, and little is left of a small C.
    steepness = np.cumsum(change_at_k[visits[:0:-1] % (m + 1)])
    N = np.append(0.0, np.cumsum(steepness * -np.diff(r_visited[::-1])))[::-1]
    t = max(int((radius < N).sum()) - 1, 0)
    # Paper: theta = r^t + (N^t - C) / sum_i 1/k_i, where k_i is the last visited value of row i.
    k_i = np.count_nonzero(r <= r_visited[t], axis=1)
    theta = r_visited[t] + (N[t] - radius) / np.sum(1 / k_i[k_i <= m])
    # Paper: mu_i = s_ik - (theta - r_ik) / k, or 0 for a dead row.
    last = np.arange(d), k_i - 1
    return float(theta), np.where(k_i <= m, np.maximum(s[last] - (theta - r[last]) / k_i, 0.0), 0.0)


# Quicker from here on.

INTEGER = {np.dtype(np.float64): np.int64, np.dtype(np.float32): np.int32}  # whose bits `top_bits` reads

CACHED_ENTRIES = 2**20  # larger matrices are read slowly where only some of their rows are needed
ROW_BLOCK_ENTRIES = 4096  # entries of a row that are added up in the matrix's own precision
SAMPLED_FROM_ROWS = 256  # theta is guessed from a sample if at least so many rows may survive
SAMPLE_ROWS = 64  # the least number of rows in that sample
SAMPLE_STRIDE_ROWS = 64  # a sample takes no fewer than every 64th row
BELOW_GUESS = 0.97  # fraction of the guessed theta; rows with smaller sums are left out at first
NEAR_BOUND = 0.2  # fraction of the bound of theta; a warm start whose bound is further away is not used
SMALLER = 2.0**-64  # the scale at which matrices are projected whose sums overflow
SMALLEST = 5e-324  # theta outside the ball is at least this, whatever rounding says
# If theta's rounding error moves the norm by a larger share of the radius, `careful_levels` takes over. Without weights
# the last step of Newton's method corrects the norm. With weights the rows may differ too much for that.
VISIBLE_SHARE, VISIBLE_SHARE_WEIGHTED = 2.0**-4, 2.0**-43
LARGE_EXPONENT = 400  # weights and powers of two up to this one may be multiplied without overflow
MOST_ROUNDS = 100  # of `careful_levels`, which usually takes about ten


@njit
def abs_sum(a):  # type: ignore[no-untyped-def]
    """sum |a_j|, the blocks added in double precision, so that long rows of float32 lose no digits."""
    result = 0.0
    for start in range(0, a.size, ROW_BLOCK_ENTRIES):
        result += block_sum(a[start : start + ROW_BLOCK_ENTRIES], a.dtype.type(0))
    return result


@njit(nogil=True)
def row_statistics(W, bits, sums, maxima):  # type: ignore[no-untyped-def]
    """Write sum and maximum of |W_ij| for each row. A sum is not finite if an entry is not. `bits`: W as integers."""
    no_sign = ~np.array([-0.0], W.dtype).view(bits.dtype)[0]
    tops = np.empty(W.shape[0], bits.dtype)
    for i in range(W.shape[0]):
        sums[i] = abs_sum(W[i])
        tops[i] = top_bits(bits[i], no_sign)
    copy_numbers(tops.view(W.dtype), maxima)


@njit
def compensated_sum(x):  # type: ignore[no-untyped-def]
    """sum x_i with the rounding errors added back at the end: twice the digits, and zeros do not alter the result."""
    result, lost = 0.0, 0.0
    for i in range(x.size):
        result, lost = add_compensated(result, lost, x[i])
    return result + lost if result < np.inf else result


def statistics(W: Floats) -> tuple[Vector, Vector]:
    """Sum and maximum of each row's absolute values. A sum may be infinite; NaN or infinity in W: ValueError."""
    sums, maxima = np.zeros(len(W)), np.zeros(len(W))
    if W.size:
        row_statistics(W, W.view(INTEGER[W.dtype]), sums, maxima)
    if not np.isfinite(sums).all():
        require_finite(W)
        if W.dtype == np.float32:
            return statistics(W.astype(np.float64))
    return sums, maxima


@np.errstate(over="ignore")
def group_statistics(W: Floats, groups: Groups | None) -> tuple[Vector, Vector]:
    """`statistics` of each group's rows taken together, or of each row where there are no groups."""
    sums, maxima = statistics(W)
    return (sums, maxima) if groups is None else (groups.reduce(np.add, sums), groups.reduce(np.maximum, maxima))


@np.errstate(over="ignore")
def weighted_sum(levels: Vector, weights: Vector | None) -> float:
    """sum_i s_i levels_i, infinite above the largest float."""
    return float(compensated_sum(levels if weights is None else weights * levels))


def norm(W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None) -> float:
    """||W||_{1,inf} = sum_i max_j |W_ij| ([Q09] sec. 3); with weights s the sum of s_i max_j |W_ij|.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        As in `project`.
    weights : array (n_features,) or (n_groups,), positive, optional
        s; 1 by default.
    groups : array (n_features,) of integers, optional
        The group of each feature. A group counts as one row with all its entries.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, unfit weights or groups.

    >>> norm([[3.0, -1.0], [0.0, 2.0]])
    5.0
    """
    W, s, members = as_rows(as_matrix(W), weights, groups)
    return weighted_sum(group_statistics(W, members)[1], s)


def dual_norm(W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None) -> float:
    """max_i sum_j |W_ij|, the dual of the l1,inf norm; with weights s the maximum of sum_j |W_ij| / s_i.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        As in `project`.
    weights : array (n_features,) or (n_groups,), positive, optional
        s; 1 by default.
    groups : array (n_features,) of integers, optional
        The group of each feature. A group counts as one row with all its entries.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, unfit weights or groups.

    >>> dual_norm([[3.0, -1.0], [0.0, 2.0]])
    4.0
    """
    return float(dual_rows(W, weights=weights, groups=groups).max(initial=0.0))


def dual_rows(W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None) -> Vector:
    """sum_j |W_ij|: each row's part in `dual_norm`, which is the largest, (n_features,). Weights s divide it by s_i.

    W: (n_features, n_tasks). weights: (n_features,) or (n_groups,), positive. groups: (n_features,), the group of each
    feature; a group counts as one row, and the result is (n_groups,). Raises ValueError for NaN, infinity, a wrong
    shape, unfit weights or groups.

    >>> dual_rows([[3.0, -1.0], [0.0, 2.0]])
    array([4., 2.])
    """
    W, s, members = as_rows(as_matrix(W), weights, groups)
    with np.errstate(over="ignore"):
        return group_statistics(W, members)[0] / (1.0 if s is None else s)


@njit(fastmath=FINITE)
def count_and_excess(a, level, with_excess):  # type: ignore[no-untyped-def]
    """Number of |a_j| above the level, and sum (|a_j| - level)_+ unless None, which takes half of the work."""
    # A difference and max instead of an if: the compiler vectorises this form, which is seven times as fast.
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
    """sum_i max(M_i - theta, (S_i - theta) / m, 0), a lower bound of N(theta), and minus its slope.

    `squares` are factors of all terms (see `_levels_weighted`), or None; Numba leaves out what they alone need.
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
    """Lower bound of theta from the row statistics alone: Newton's method on `bound_and_slope`, from theta = 0."""
    # A long step may go too far by the rounding of a large sum. The last step leads back: the bound is convex.
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
    """Lower bound of mu_i(theta): the solution if one entry exceeds it, or all m do. `share` is 1 / m."""
    return max(maxima[i] - theta, (sums[i] - theta) * share)


@njit
def last_step(mu, slopes, radius, squares):  # type: ignore[no-untyped-def]
    """Solve N(theta) = radius with the rows' sets as they are, of slopes 1 / k. Update mu.

    Returns the change of theta, and the slope of -N, infinite if no row survives.
    """
    # A row that reaches zero leaves the others more to give up, hence the loop.
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
    """Update the sets of these rows, of sizes k, to the entries above mu; then mu to mu(theta) by these sets.

    A size k before the call also says what mu is. Afterwards all are positive, and `slopes` are 1 / k.

    =====  ============================================================================
    k > 0  mu is a lower bound of mu(theta), given by the set of the k largest entries
    k < 0  mu is a tighter one, which `lower_mu` has found; the last set had -k entries
    k = 0  mu is any guess, and there is no set yet
    =====  ============================================================================

    Rows that are dead at theta are left out: the first entries of rows, mu, k and slopes are those of the others.

    Returns
    -------
    n_alive
        Number of the other rows.
    total, slope
        N(theta) and the slope of -N by their sets: the sums of mu and of 1 / k, each times its square if there are any.
    unchanged
        True if no row is dead, and all sets have the same sizes as before.
    improved
        True if a row is dead or had no set, or if a new set raises mu by more than rounding.
    """
    rounding = 4 * np.finfo(W.dtype).eps
    n_alive, total, slope, unchanged, improved = 0, 0.0, 0.0, True, False
    for r in range(rows.size):
        i = rows[r]
        if sums[i] <= theta * (1.0 - rounding):  # not within rounding: many such rows may have much in all
            unchanged, improved = False, True
            continue
        level = W.dtype.type(mu[r])
        count, new_mu, inverse = k[r], mu[r], slopes[r]
        # To count the entries takes half the time. The excess is needed only for another set, or for a mu of no set.
        if count <= 0 or max(count_and_excess(W[i], level, None)[0], 1) != count:
            count, excess = count_and_excess(W[i], level, True)
            if count == 0:  # the guess is too high, or theta too small to show beside the row's maximum
                count, excess = W.dtype.type(1), W.dtype.type(maxima[i] - level)
            inverse = 1.0 / count
            new_mu = level + (excess - theta) * inverse
            if count != abs(k[r]):
                unchanged = False
                improved = improved or k[r] == 0 or new_mu > level + rounding * level
            if k[r] != 0:  # mu was a lower bound, which must not fall by rounding
                new_mu = max(new_mu, level)
        rows[n_alive], mu[n_alive], k[n_alive], slopes[n_alive] = i, new_mu, count, inverse
        factor = 1.0 if squares is None else squares[i]
        total += factor * new_mu
        slope += factor * inverse
        n_alive += 1
    return n_alive, total, slope, unchanged, improved


@njit
def lower_mu(step, theta, share, rounding, sums, maxima, rows, mu, k, slopes):  # type: ignore[no-untyped-def]
    """Update mu after a step of theta: each row keeps its set, unless `mu_bound` is higher by more than rounding.

    Then mu is that bound, and k changes its sign.
    """
    for r in range(rows.size):
        mu[r] -= step * slopes[r]
        bound = mu_bound(sums, maxima, share, rows[r], theta)
        if bound > mu[r] + rounding * bound:
            mu[r], k[r] = bound, -k[r]


@njit
def newton_with_sets(W, radius, sums, maxima, theta, rows, mu, squares):  # type: ignore[no-untyped-def]
    """Newton's method on theta and the rows' sets together, from a theta that is at most the solution.

    mu_i(theta) is the largest of (s - theta) / k over all sets of k entries of row i with sum s. So any sets bound the
    mu_i from below, and their solution bounds theta from below. The entries above the bound of mu_i are a better set.
    theta grows until the sets repeat. A row whose sum theta has passed is dead for good.

    rows are the rows to look at, mu any guess for each. Returns theta, the number of surviving rows, and the slope of
    -N, infinite if the radius does not show. The first entries of rows and mu are those of surviving rows.
    """
    share, rounding = 1.0 / W.shape[1], 4 * np.finfo(W.dtype).eps
    k, slopes = np.zeros(rows.size), np.empty(rows.size)
    while True:
        n_alive, total, slope, unchanged, improved = improve_sets(W, theta, sums, maxima, rows, mu, k, slopes, squares)
        if n_alive == 0:  # the radius is too small to show beside the row sums
            return theta, 0, np.inf
        rows, mu, k, slopes = rows[:n_alive], mu[:n_alive], k[:n_alive], slopes[:n_alive]
        # Below zero by rounding, or because the sets are still poor: theta is known to be no smaller.
        step = max((total - radius) / slope, 0.0)
        if unchanged or (not improved and step <= rounding * theta):
            step, slope = last_step(mu, slopes, radius, None if squares is None else squares[rows])
            return theta + step, n_alive, slope
        theta += step
        lower_mu(step, theta, share, rounding, sums, maxima, rows, mu, k, slopes)


@njit
def guess_from_sample(W, sums, maxima, theta, rows, squares):  # type: ignore[no-untyped-def]
    """Guess theta from a sample of the rows. If there are few rows, the guess is `theta`, a lower bound.

    Returns the guess, and the mean position of the sample's mu_i between their bounds: 0 is the lower one, `mu_bound`,
    and 1 the upper one, M_i - theta / m, since no entry of a row is clipped by more than M_i - mu_i.
    """
    # The sample costs a fiftieth of a pass over a large matrix and saves half of the steps.
    share = 1.0 / W.shape[1]
    if rows.size < SAMPLED_FROM_ROWS:
        return theta, 0.0
    sample = rows[:: min(rows.size // SAMPLE_ROWS, SAMPLE_STRIDE_ROWS)].copy()
    # The bounds of all rows add up to the radius, so those of the sample to its part. The share of rows would be a poor
    # guess of this part where rows differ in size.
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
    """Find theta and the slope of -N there, and write mu, for 0 < radius < ||W||.

    warm holds theta of a warm start, and the lower bound that `theta_bound` had given for it; mu holds its levels. All
    three are replaced by those of W. Zeros are no warm start. squares are those of the weights, see `_levels_weighted`,
    or None. The slope is infinite if the radius does not show beside the row sums.
    """
    m, share = W.shape[1], 1.0 / W.shape[1]
    rounding = 4 * np.finfo(W.dtype).eps
    least = theta_bound(sums, maxima, m, radius, squares) * (1.0 - rounding)
    # A warm start far from theta is slower than a cold one. How far it is shows in the lower bound: where theta has
    # jumped since the warm start, its bound has, too. A bound of NaN (see `sorted_start`) is not compared.
    if warm[0] > least and not abs(warm[1] - least) >= NEAR_BOUND * least:
        guess, position = warm[0], 0.0
    else:
        guess, position = guess_from_sample(W, sums, maxima, least, np.nonzero(sums > least)[0], squares)
        mu[:] = 0.0
    warm[1] = least
    # Rows whose sums are well below the guess, so probably dead, are left out at first. theta solved on some of the
    # rows is never above the true one.
    start, theta = max(least, BELOW_GUESS * guess), least
    while True:
        rows = np.nonzero(sums > start)[0]
        # Each level starts between its bounds, at the mean position of the sample's levels (0 at the lower bound, 1 at
        # the upper one), but not below the level of the warm start or of the last round.
        levels = np.empty(rows.size)
        for r in range(rows.size):
            low = mu_bound(sums, maxima, share, rows[r], guess)
            high = maxima[rows[r]]
            levels[r] = min(max(low + position * (high - guess * share - low), mu[rows[r]]), high)
        if 2 * rows.size < W.shape[0] and W.size > CACHED_ENTRIES:
            # A copy of the rows is read faster. `order` are their numbers in the copy.
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
        # The rows that were left out are dead if their sums, at most `start`, are at most theta.
        if theta >= start or start == least:
            warm[0] = theta
            return theta, slope
        start = guess = theta = max(theta, least)
        position = 0.0  # the levels found are better than any guess


@njit
def shrink_into_ball(mu, radius, weights):  # type: ignore[no-untyped-def]
    """Lower mu by the last digit or two it may need so that its sum, with any weights, is at most the radius."""
    for _ in range(3):
        sum_ = compensated_sum(mu if weights is None else mu * weights)
        if sum_ <= radius:
            return
        mu *= min(radius / sum_, 1.0 - 2.0**-52)
    if compensated_sum(mu if weights is None else mu * weights) > radius:  # next to 5e-324 there are no further digits
        for i in range(mu.size):
            mu[i] = max(mu[i] - SMALLEST, 0.0)


# Results of `find_levels`
UNFIT = 0  # a sum is not finite
INSIDE = 1
OUTSIDE = 2
UNSEEN = 3  # outside, but the radius does not show beside theta's rounding error


@njit
def find_levels(W, bits, radius, warm, mu):  # type: ignore[no-untyped-def]
    """Return one of the four results above, and theta; write mu. warm: see `find_theta`."""
    sums, maxima = np.empty(W.shape[0]), np.empty(W.shape[0])
    row_statistics(W, bits, sums, maxima)
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
    """mu in the precision of W, never larger."""
    rounded = mu.astype(W.dtype)
    for i in range(mu.size):
        if rounded[i] > mu[i]:
            rounded[i] = np.nextafter(rounded[i], W.dtype.type(0))
    return rounded


@njit(fastmath={"nnan", "nsz"})
def clip_row(a, top, b):  # type: ignore[no-untyped-def]
    for j in range(a.size):
        b[j] = min(max(a[j], -top), top)


@njit(nogil=True)
def clip_rows(W, mu, B):  # type: ignore[no-untyped-def]
    """B_ij = sign(W_ij) min(|W_ij|, mu_i)."""
    tops = rounded_down(mu, W)
    for i in range(W.shape[0]):
        if tops[i] == 0.0:
            B[i] = 0.0
        else:
            clip_row(W[i], tops[i], B[i])  # a function of its own, so that it vectorises


def careful_levels(
    V: Vector, groups: Groups | None, heights_of: Callable[[Vector, Vector], Vector]
) -> tuple[float, Vector]:
    """theta and mu of the rows of a non-negative V, or of groups of rows, whatever the radius and the weights.

    `heights_of` takes the sums of sets of k entries of each row, and k, and returns the heights of these sums above
    theta. They are k_i mu_i for the best sets, which hold the entries above mu_i. `newton_with_sets` takes theta off
    the sums instead, which cancels where mu_i is tiny beside them.
    """

    def per_row(ufunc: np.ufunc, by_feature: Vector) -> Vector:
        return by_feature if groups is None else groups.reduce(ufunc, by_feature)

    if groups is None:
        V = np.sort(V, axis=1)  # rows with the same entries have the same sum
    maxima = per_row(np.maximum, V.max(axis=1, initial=0.0))
    mu, previous = np.zeros(len(maxima)), [np.zeros(len(maxima))] * 2
    for _ in range(MOST_ROUNDS):
        above = (mu if groups is None else mu[groups.of_feature])[:, np.newaxis] < V
        k = per_row(np.add, np.count_nonzero(above, axis=1)).astype(np.float64)
        tops = per_row(np.add, np.where(above, V, 0.0).sum(axis=1))
        # A level may reach the maximum by rounding.
        k, tops = np.where(k > 0, k, 1.0), np.where(k > 0, tops, maxima)
        heights = heights_of(tops, k)
        mu = heights / k
        # By rounding, an entry next to its level may join and leave a set in turns.
        if any(np.array_equal(k, counts) for counts in previous):
            break
        previous = [previous[1], k]
    return float((tops - heights).max(initial=0.0, where=heights > 0)), np.minimum(mu, maxima)


# True if W is in the ball, and nothing is clipped; theta; mu. A NamedTuple would take a tenth of the smallest calls.
Levels = tuple[bool, float, Vector]


class Warm:
    """Warm start of projections of a slowly changing matrix: theta, its lower bound, and mu of the last one.

    Any warm start gives an exact projection (to rounding). A good one saves up to two fifths of the time.

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
    """Levels of the rows of W. A warm start is updated."""
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
    """Result of `sort_and_merge` as a warm start: Newton's method corrects its last digits."""
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
    """Return theta and nu with sum_i squares_i nu_i = radius > 0 and sum_j (|V_ij| - nu_i)_+ = theta where nu_i > 0.

    start and nu are a warm start, see `find_theta`, which overwrites both.
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


@np.errstate(over="ignore")  # theta of very small weights
def _levels_weighted(
    W: Floats, radius: float, weights: Vector, warm: Warm | None, groups: Groups | None = None
) -> Levels:
    """Levels of the row-weighted ball, sum_i s_i max_j |B_ij| <= radius. A warm start is updated.

    With groups a row is a group with all its entries, and there is no warm start.
    """
    # With V_ij = |W_ij| / s_i and nu_i = mu_i / s_i the condition of a row is the unweighted one:
    # sum_j (V_ij - nu_i)_+ = theta. Only in sums over rows, N(theta) = sum_i s_i^2 nu_i, the weights stay.
    sums, maxima = group_statistics(W, groups)
    # Powers of two bring the largest weight and the largest weighted entry near 1, so that no square overflows.
    weight_power = -int(np.frexp(weights.max(initial=0.0))[1])
    s, entry_power = np.ldexp(weights, weight_power), 0
    for factor in (1.0, s):  # entries near 1 first, so that products with small weights do not vanish
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
    """Raise ValueError for options of `project` that do not go together."""
    require(method in ("newton", "sort"), f"method must be newton or sort, got {method!r}")
    require(warm is None or isinstance(warm, Warm), f"warm must be a Warm object or None, got {warm!r}")
    for name, given in (("weights", weights), ("groups", groups)):
        require(given is None or method == "newton", f"method must be newton where {name} are given, got {method!r}")
    require(warm is None or groups is None, f"warm must be None where groups are given, got {warm!r}")


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
) -> Any:
    """min_B 1/2 ||B - W||_F^2  subject to  sum_i max_j |B_ij| <= radius.

    The solution clips row i at a level mu_i: B_ij = sign(W_ij) min(|W_ij|, mu_i). It takes the same mass theta off
    every row it does not set to zero: sum_j (|W_ij| - mu_i)_+ = theta where mu_i > 0. Where mu_i = 0,
    sum_j |W_ij| <= theta. Together sum_i mu_i = radius.

    With weights s the constraint is sum_i s_i max_j |B_ij| <= radius. The mass of row i is then s_i theta, and
    sum_i s_i mu_i = radius. With groups a row is a group of features with all their entries.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite. float32 and float64 are kept, other types become float64. Take W.T for maxima of columns.
    radius : float, at least 0
        The papers' C. Infinity is allowed. Below 1e-300 of the norm the result may be 0.
    out : array of W's shape and precision, optional
        Where to write, perhaps W itself. A new array by default.
    method : "newton" or "sort"
        Newton's method on theta, or the paper's sort and merge in O(dm log dm). They agree up to rounding.
    warm : Warm, optional
        The warm start of "newton". It is updated.
    weights : array (n_features,) or (n_groups,), positive, optional
        Solved by "newton". They differ by a factor of at most 2^500.
    groups : array (n_features,) of integers, optional
        The group of each feature, from 0 to n_groups - 1. Each feature is a group of its own by default. Solved by
        "newton", without a warm start.
    positive : bool
        Ask for B >= 0 too. The solution is the projection of max(W, 0).
    return_theta : bool
        Return theta and mu too.

    Returns
    -------
    B : array of W's shape and precision
        Inside the ball B is W (or max(W, 0)) bit for bit. Otherwise norm(B) <= radius holds to the last digit, so
        projecting again alters nothing.
    theta : float
        If asked for: 0 inside the ball, dual_norm(W) for radius 0.
    mu : array (n_features,) or (n_groups,)
        If asked for: the levels; inside the ball the row maxima.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, an unknown method, an unfit option, unfit weights or groups, and a radius
        below 0 or NaN.

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
def level_that_loses(a, mass, next_level):  # type: ignore[no-untyped-def]
    """Level at which clipping |a| takes off a given mass, by Newton's method; 0 if it is not positive.

    `next_level` is a lower bound to start from. Levels only rise, apart from rounding, which ends the search.
    """
    level = 0.0
    while next_level > level:
        level = next_level
        rounded = a.dtype.type(level)
        count, excess = count_and_excess(a, rounded, True)
        next_level = rounded + (excess - mass) / count if count > 0 else 0.0
    return level


@njit
def levels_that_lose(W, masses, sums, maxima):  # type: ignore[no-untyped-def]
    """`level_that_loses` for every row, each with its own mass."""
    levels = np.zeros(W.shape[0])
    for i in range(levels.size):
        if sums[i] > masses[i]:
            levels[i] = level_that_loses(W[i], masses[i], mu_bound(sums, maxima, 1.0 / W.shape[1], i, masses[i]))
    return levels


def mu_for_theta(W: Floats, theta: Vector, groups: Groups | None = None) -> Vector:
    """mu_i(theta_i) of every row, or of every group."""
    V = W if groups is None else groups.stacked(W)
    if V is None:  # groups of different sizes
        power = -int(np.frexp(np.abs(W).max(initial=0.0))[1])  # brings the largest entry near 1
        V, taken = np.ldexp(np.abs(W), power, dtype=np.float64), np.ldexp(theta, power)
        return np.ldexp(careful_levels(V, groups, lambda tops, k: np.maximum(tops - taken, 0.0))[1], -power)
    sums, maxima = statistics(V)
    if not (sums <= np.finfo(V.dtype).max).all():
        scale = np.where(np.isfinite(sums), 1.0, SMALLER)
        return mu_for_theta(V * scale[:, np.newaxis], theta * scale) / scale
    return levels_that_lose(V, theta, sums, maxima)


def prox(
    W: ArrayLike,
    step: float,
    *,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + step * sum_i s_i max_j |B_ij|.

    Row i loses its projection onto the l1 ball of radius step * s_i (Moreau); project(W, radius) is prox(W, theta).

    Parameters
    ----------
    W : array (n_features, n_tasks)
        As in `project`.
    step : float, at least 0
        Infinity is allowed.
    weights : array (n_features,) or (n_groups,), positive, optional
        s; 1 by default.
    groups : array (n_features,) of integers, optional
        As in `project`.
    positive : bool
        Ask for B >= 0 too. The solution is the prox of max(W, 0).

    Returns
    -------
    B : array of W's shape and precision
        A new array.

    Raises
    ------
    ValueError
        As `project` does.

    References
    ----------
    The penalised form, Quattoni et al. (2009), eq. 2.

    >>> prox([[3.0, -1.0], [1.0, 2.0]], step=1.0)
    array([[ 2., -1.],
           [ 1.,  1.]])
    """
    W, s, members = as_rows(as_matrix(W), weights, groups, positive)
    step = as_radius(step, "step")
    n = len(W) if members is None else len(members.starts)
    with np.errstate(over="ignore"):  # a row whose step overflows becomes 0
        steps = np.full(n, step) if s is None else step * s
    mu = mu_for_theta(W, steps, members)
    B = W.copy()
    if step > 0.0:
        clip_rows(W, mu if members is None else mu[members.of_feature], B)
    return B


@njit
def descend(A, squares, H, W, penalties, n_sweeps):  # type: ignore[no-untyped-def]
    """Sweeps of descent over the rows of W, see `jointsparse.norms`: each row is clipped by the penalty."""
    w = np.empty(W.shape[1])
    for _ in range(n_sweeps):
        for i in range(W.shape[0]):
            if squares[i] <= 0.0:
                continue
            aim_row(A, H, W, i, squares[i], w)
            level = level_that_loses(w, penalties[i], (abs_sum(w) - penalties[i]) / w.size)
            for k in range(w.size):
                w[k] = min(max(w[k], -level), level) / squares[i]
            take_row(A, H, W, i, w)
