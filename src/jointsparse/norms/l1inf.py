"""The l1,inf norm: the sum over features of a feature's largest absolute weight; its ball makes tasks share features.

Quattoni, Carreras, Collins, Darrell: An efficient projection for l1,inf regularization. ICML 2009.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, overload

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_matrix, as_output, as_radius, deliver, require_count, require_finite

WARM = True  # `project` takes a warm start, see `Warm`

# Sums may be reordered, so they run on vector units, and still turn NaN or infinite when an entry is.
REORDER = {"reassoc", "nsz", "contract"}
# For entries that are known to be finite.
FINITE = REORDER | {"nnan", "ninf"}

Vector = NDArray[np.float64]

# Non-negative floats are ordered as their bits are, and a largest integer is found by vector instructions, which the
# compiler does not use for floats. NaN and infinity have the largest bits of all, so this finds them too.
INTEGER = {np.dtype(np.float64): np.int64, np.dtype(np.float32): np.int32}
NOT_FINITE, OVERFLOW = -1.0, -2.0  # in the place of theta
LARGE = 2**20  # entries from which threads pay
BLOCK = 4096  # entries of a row that are added up in the matrix's precision
SMALLEST = 5e-324  # theta is 0 inside the ball only, whatever rounding says


@njit(cache=True, fastmath=REORDER)
def abs_sum_of_block(a):  # type: ignore[no-untyped-def]
    result = a.dtype.type(0)
    for j in range(a.size):
        result += abs(a[j])
    return result


@njit(cache=True)
def abs_sum(a):  # type: ignore[no-untyped-def]
    """In double precision but for blocks, so that long rows of float32 lose no digits."""
    result = 0.0
    for start in range(0, a.size, BLOCK):
        result += abs_sum_of_block(a[start : start + BLOCK])
    return result


@njit(cache=True)
def largest_bits(bits, no_sign):  # type: ignore[no-untyped-def]
    largest = bits[0] & no_sign
    for j in range(1, bits.size):
        x = bits[j] & no_sign
        largest = x if x > largest else largest
    return largest


@njit(cache=True, nogil=True)
def row_statistics(A, bits, sums, maxima):  # type: ignore[no-untyped-def]
    """Per row the sum and the maximum of |A_ij|; False if an entry is NaN or infinite. `bits` are those of A."""
    no_sign = ~np.array([-0.0], A.dtype).view(bits.dtype)[0]
    infinite = np.array([np.inf], A.dtype).view(bits.dtype)[0]
    tops = np.empty(A.shape[0], bits.dtype)
    largest = infinite & 0
    for i in range(A.shape[0]):
        sums[i] = abs_sum_of_block(A[i]) if A.shape[1] <= BLOCK else abs_sum(A[i])
        tops[i] = largest_bits(bits[i], no_sign)
        largest = max(largest, tops[i])
    maxima[:] = tops.view(A.dtype)
    return largest < infinite


@njit(cache=True)
def total(x):  # type: ignore[no-untyped-def]
    """Sum with the rounding errors added back at the end: as good as twice the digits, and zeros do not alter it."""
    result, lost = 0.0, 0.0
    for i in range(x.size):
        larger = result + x[i]
        added = larger - result
        lost += (result - (larger - added)) + (x[i] - added)
        result = larger
    return result + lost if result < np.inf else result


def statistics(W: Floats) -> tuple[Vector, Vector]:
    """Per row the sum and the maximum of the absolute values; NaN or infinity: ValueError. A sum may be infinite."""
    sums, maxima = np.zeros(len(W)), np.zeros(len(W))
    if W.size and not row_statistics(W, W.view(INTEGER[W.dtype]), sums, maxima):
        require_finite(W)
    if W.dtype == np.float32 and np.isinf(sums).any():
        return statistics(W.astype(np.float64))
    return sums, maxima


def features_first(W: ArrayLike, axis: int) -> Floats:
    """`W` as a matrix (n_features, n_tasks); axis: that of the tasks."""
    if axis == 1:
        return as_matrix(W)
    if axis != 0:
        raise ValueError(f"axis must be 0 or 1, got {axis!r}")
    W = np.asarray(W)
    return as_matrix(W.T if W.ndim == 2 else W)


def norm(W: ArrayLike, *, axis: Literal[0, 1] = 1) -> float:
    """||W||_{1,inf} = sum_i max_j |W_ij| ([Q09] sec. 3).

    W: (n_features, n_tasks). axis: the axis of the tasks; 0 for W of shape (n_tasks, n_features). Returns a float.
    Raises ValueError for NaN, infinity or a wrong shape.

    >>> norm([[3.0, -1.0], [0.0, 2.0]])
    5.0
    """
    return float(total(statistics(features_first(W, axis))[1]))


def dual_norm(W: ArrayLike, *, axis: Literal[0, 1] = 1) -> float:
    """max_i sum_j |W_ij|, the dual of the l1,inf norm.

    W: (n_features, n_tasks). axis: the axis of the tasks; 0 for W of shape (n_tasks, n_features). Returns a float.
    Raises ValueError for NaN, infinity or a wrong shape.

    >>> dual_norm([[3.0, -1.0], [0.0, 2.0]])
    4.0
    """
    return float(statistics(features_first(W, axis))[0].max(initial=0.0))


@njit(cache=True, fastmath=FINITE)
def excess(a, level):  # type: ignore[no-untyped-def]
    """How many |a_j| exceed the level, and by how much in all.

    Written with a difference and max, not with if: this form is seven times as fast, on vector units.
    """
    zero, one = a.dtype.type(0), a.dtype.type(1)
    count, mass = zero, zero
    for j in range(a.size):
        x = abs(a[j]) - level
        mass += max(x, zero)
        count += one if x > zero else zero
    return count, mass


@njit(cache=True, fastmath=FINITE)
def count_above(a, level):  # type: ignore[no-untyped-def]
    """How many |a_j| exceed the level: half the work of `excess`."""
    zero, one = a.dtype.type(0), a.dtype.type(1)
    count = zero
    for j in range(a.size):
        count += one if abs(a[j]) > level else zero
    return count


@njit(cache=True, fastmath=FINITE)
def bound_and_slope(sums, maxima, m, theta):  # type: ignore[no-untyped-def]
    """sum_i max(M_i - theta, (S_i - theta) / m, 0), a lower bound of N(theta), and minus its slope."""
    value, slope = 0.0, 0.0
    share = 1.0 / m
    for i in range(sums.size):
        one, all_ = maxima[i] - theta, (sums[i] - theta) * share
        higher = max(one, all_)
        weight = 1.0 if one >= all_ else share
        value += max(higher, 0.0)
        slope += weight if higher > 0.0 else 0.0
    return value, slope


@njit(cache=True)
def screen(sums, maxima, m, radius):  # type: ignore[no-untyped-def]
    """A lower bound of theta from the row statistics alone: Newton on the bound above, from theta = 0.

    A long step may lead too far by the rounding of a large sum. The last step leads back: the bound is convex.
    """
    theta = 0.0
    while True:
        value, slope = bound_and_slope(sums, maxima, m, theta)
        if slope == 0.0:
            return theta
        step = (value - radius) / slope
        if not step > 0.0 or theta + step == theta:
            return max(theta + step, 0.0)
        theta += step


@njit(cache=True)
def lowest(sums, maxima, share, i, theta):  # type: ignore[no-untyped-def]
    """A lower bound of mu_i(theta): one entry is above it, or all m are. share: 1 / m."""
    return max(maxima[i] - theta, (sums[i] - theta) * share)


@njit(cache=True)
def settle(mu, k, radius):  # type: ignore[no-untyped-def]
    """The last step of theta, for sets of size k; rows that it takes to zero leave the others more to give."""
    steps = 0.0
    while True:
        slope, dead = 0.0, False
        for r in range(mu.size):
            mu[r] = max(mu[r], 0.0)
            slope += 1.0 / k[r] if mu[r] > 0.0 else 0.0
        if slope == 0.0:
            return steps
        step = (total(mu) - radius) / slope
        steps += step
        for r in range(mu.size):
            if mu[r] > 0.0:
                mu[r] -= step / k[r]
                dead = dead or mu[r] < 0.0
        if not dead:
            return steps


@njit(cache=True)
def visit(A, theta, sums, maxima, rows, mu, k, slopes):  # type: ignore[no-untyped-def]
    """Better sets for some rows: of size k and slope -1/k, with mu(theta). Rows that are zero are left out.

    k: 0 at first, so that mu is any guess; negative where mu is another bound than that of the set.
    Returns the number of rows that are left, the sums of their mu and 1/k, whether all sets are as they were, and
    whether one is better by more than rounding.
    """
    rounding = 4 * np.finfo(A.dtype).eps
    kept, level, slope, same, better_sets = 0, 0.0, 0.0, True, False
    for r in range(rows.size):
        i = rows[r]
        if sums[i] <= theta * (1.0 - rounding):  # not within rounding: many such rows may have much in all
            same, better_sets = False, True
            continue
        at = A.dtype.type(mu[r])
        count, better, inverse = k[r], mu[r], slopes[r]
        if count <= 0 or max(count_above(A[i], at), 1) != count:
            count, mass = excess(A[i], at)
            if count == 0:  # a guess too high, or theta too small to show beside the row's maximum
                count, mass = A.dtype.type(1), A.dtype.type(maxima[i] - at)
            inverse = 1.0 / count
            better = at + (mass - theta) * inverse
            if count != abs(k[r]):
                same = False
                better_sets = better_sets or k[r] == 0 or better > at + rounding * at
            if k[r] != 0:
                better = max(better, at)
        rows[kept], mu[kept], k[kept], slopes[kept] = i, better, count, inverse
        level += better
        slope += inverse
        kept += 1
    return kept, level, slope, same, better_sets


@njit(cache=True)
def descend(step, theta, at_least, rounding, sums, maxima, rows, mu, k, slopes):  # type: ignore[no-untyped-def]
    """mu of the same sets after a step of theta, or a better bound."""
    for r in range(rows.size):
        mu[r] -= step * slopes[r]
        low = lowest(sums, maxima, at_least, rows[r], theta)
        if low > mu[r] + rounding * low:
            mu[r], k[r] = low, -k[r]


@njit(cache=True)
def climb(A, radius, sums, maxima, theta, rows, mu):  # type: ignore[no-untyped-def]
    """Newton on theta and the rows' sets together, from a theta that is no larger than the solution.

    mu_i(theta) is the largest of (s - theta) / k over all sets of k entries of row i with sum s. So any sets bound the
    mu_i from below, the solution for these sets bounds theta from below, and the entries above the bound of mu_i are a
    better set. theta grows until the sets repeat; a row whose sum it passes is zero for good.

    rows: the rows to look at, and mu: a guess for each, any number. Both are overwritten: their first entries, as many
    as are returned with theta, are the rows that are not zero and their mu.
    """
    at_least, rounding = 1.0 / A.shape[1], 4 * np.finfo(A.dtype).eps
    k, slopes = np.zeros(rows.size), np.empty(rows.size)
    while True:
        alive, level, slope, same, better_sets = visit(A, theta, sums, maxima, rows, mu, k, slopes)
        if alive == 0:  # the radius is too small to show beside the row sums
            return theta, 0
        rows, mu, k, slopes = rows[:alive], mu[:alive], k[:alive], slopes[:alive]
        # Below zero by rounding, or because the sets are still poor: theta is known to be no smaller.
        step = max((level - radius) / slope, 0.0)
        if same or (not better_sets and step <= rounding * theta):
            return theta + settle(mu, k, radius), alive
        theta += step
        descend(step, theta, at_least, rounding, sums, maxima, rows, mu, k, slopes)


@njit(cache=True)
def guess_from_some(A, radius, sums, maxima, theta, rows):  # type: ignore[no-untyped-def]
    """A guess of theta from every so many of the rows, and of the share of the way up from its lowest value to its
    largest at which mu_i lies. Costs a fiftieth of the matrix and saves half of the steps."""
    at_least = 1.0 / A.shape[1]
    if rows.size < 256:
        return theta, 0.0
    some = rows[:: min(rows.size // 64, 64)].copy()
    share = some.size / rows.size
    mu = np.empty(some.size)
    for r in range(some.size):
        mu[r] = lowest(sums, maxima, at_least, some[r], theta)
    guess, alive = climb(A, radius * share, sums, maxima, theta, some, mu)
    above, between = 0.0, 0.0
    for r in range(alive):
        low = lowest(sums, maxima, at_least, some[r], guess)
        above += mu[r] - low
        between += maxima[some[r]] - guess * at_least - low
    return guess, (above / between if between > 0.0 else 0.0)


@njit(cache=True)
def newton(A, radius, sums, maxima, warm_theta, mu):  # type: ignore[no-untyped-def]
    """Write the maxima mu of the projection and return theta. For 0 < radius < ||A||.

    warm_theta: a guess of theta; then mu holds guesses too. 0 without one; then mu is 0.
    """
    m, at_least = A.shape[1], 1.0 / A.shape[1]
    rounding = 4 * np.finfo(A.dtype).eps
    least = screen(sums, maxima, m, radius) * (1.0 - rounding)
    guess, share = guess_from_some(A, radius, sums, maxima, least, np.nonzero(sums > least)[0])
    # A memory of theta that is far off costs more than none; without a guess there is no telling.
    if warm_theta > least and (guess == least or abs(warm_theta - guess) < 0.2 * guess):
        guess, share = warm_theta, 0.0
    else:
        mu[:] = 0.0
    # Rows that the guess calls zero are left out at first: theta from some of the rows is a lower bound too.
    start, theta = max(least, 0.97 * guess), least
    while True:
        rows = np.nonzero(sums > start)[0]
        levels = np.empty(rows.size)
        for r in range(rows.size):
            low = lowest(sums, maxima, at_least, rows[r], guess)
            high = maxima[rows[r]]
            levels[r] = min(max(low + share * (high - guess * at_least - low), mu[rows[r]]), high)
        if 2 * rows.size < A.shape[0] and A.size > 2**20:  # out of cache, scattered rows are read slowly
            order = np.arange(rows.size)
            theta, alive = climb(A[rows], radius, sums[rows], maxima[rows], theta, order, levels)
            rows = rows[order]
        else:
            theta, alive = climb(A, radius, sums, maxima, theta, rows, levels)
        if theta >= start or start == least:
            break
        start = guess = theta = max(theta, least)
    mu[:] = 0.0
    if alive == 0:
        return sums.max()
    for r in range(alive):
        mu[rows[r]] = levels[r]
    return theta


@njit(cache=True)
def keep_within(mu, radius):  # type: ignore[no-untyped-def]
    """Take `mu` down by the last digit or two it may need so that its sum is at most the radius."""
    for _ in range(3):
        sum_ = total(mu)
        if sum_ <= radius:
            return
        mu *= min(radius / sum_, 1.0 - 2.0**-52)
    if total(mu) > radius:  # next to 5e-324 there are no further digits
        mu[:] = np.maximum(mu - SMALLEST, 0.0)


@njit(cache=True)
def solve(A, radius, sums, maxima, warm_theta, mu):  # type: ignore[no-untyped-def]
    """theta, and the levels mu at which the projection clips. mu holds guesses if warm_theta is not 0."""
    if not np.isfinite(sums.sum()):
        return OVERFLOW
    if total(maxima) <= radius:
        mu[:] = maxima
        return 0.0
    if radius == 0.0:
        mu[:] = 0.0
        return sums.max()
    theta = newton(A, radius, sums, maxima, warm_theta, mu)
    keep_within(mu, radius)
    return max(theta, SMALLEST)


@njit(cache=True)
def round_down(mu, rounded):  # type: ignore[no-untyped-def]
    """mu in the matrix's precision, never larger."""
    for i in range(mu.size):
        rounded[i] = mu[i]
        if rounded[i] > mu[i]:
            rounded[i] = np.nextafter(rounded[i], rounded.dtype.type(0))


@njit(cache=True, fastmath={"nnan", "nsz"})
def clip_row(a, top, b):  # type: ignore[no-untyped-def]
    for j in range(a.size):
        b[j] = min(max(a[j], -top), top)


@njit(cache=True, nogil=True)
def clip_rows(A, mu, B):  # type: ignore[no-untyped-def]
    """B_ij = sign(A_ij) min(|A_ij|, mu_i). The loop over a row stands apart to run on vector units."""
    for i in range(A.shape[0]):
        if mu[i] == 0.0:
            B[i] = 0.0
        else:
            clip_row(A[i], mu[i], B[i])


@njit(cache=True)
def project_newton(A, bits, radius, warm_theta, mu, rounded, B):  # type: ignore[no-untyped-def]
    """All of the default method in one call, for small matrices: theta; mu, also rounded, and B are written."""
    sums, maxima = np.empty(A.shape[0]), np.empty(A.shape[0])
    if not row_statistics(A, bits, sums, maxima):
        return NOT_FINITE
    theta = solve(A, radius, sums, maxima, warm_theta, mu)
    if theta > 0.0:
        round_down(mu, rounded)
        clip_rows(A, rounded, B)
    return theta


def project_in_threads(
    W: Floats, radius: float, warm_theta: float, mu: Vector, rounded: Floats, B: Floats, threads: int
) -> float:
    """The same, with the two passes over the whole matrix shared out among threads."""
    sums, maxima = np.empty(len(W)), np.empty(len(W))
    bits = W.view(INTEGER[W.dtype])
    ends = np.linspace(0, len(W), threads + 1).astype(int)
    parts = [slice(*pair) for pair in itertools.pairwise(ends) if pair[0] < pair[1]]
    with ThreadPoolExecutor(threads) as pool:
        if not all(pool.map(lambda part: row_statistics(W[part], bits[part], sums[part], maxima[part]), parts)):
            return NOT_FINITE
        theta = float(solve(W, radius, sums, maxima, warm_theta, mu))
        if theta > 0.0:
            round_down(mu, rounded)
            list(pool.map(lambda part: clip_rows(W[part], rounded[part], B[part]), parts))
    return theta


def sort_and_merge(A: Floats, radius: float) -> tuple[float, Vector]:
    """theta and mu by the paper's algorithm ([Q09] sec. 4.2 and appendix, [Q08] Fig. 1). For 0 < radius < ||A||."""
    d, m = A.shape
    # Paper: s_i, row i sorted in decreasing order, with an added 0 at position m + 1.
    s = np.zeros((d, m + 1))
    s[:, :m] = -np.sort(-np.abs(A), axis=1)
    # Paper: r_ik = sum_{j <= k-1} s_ij - (k - 1) s_ik, for 1 <= k <= m + 1: where h_i(theta) bends, h_i(r_ik) = s_ik.
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
    # Paper: N at each visited point, from ||A|| downwards, until it would pass C. Choice: from N = 0 at the last point
    # upwards, where slopes and pieces only add up; downwards they cancel, and little is left of a small C.
    steepness = np.cumsum(change_at_k[visits[:0:-1] % (m + 1)])
    N = np.append(0.0, np.cumsum(steepness * -np.diff(r_visited[::-1])))[::-1]
    t = max(int((radius < N).sum()) - 1, 0)
    theta = float(r_visited[t])

    def at(theta: float) -> tuple[Vector, Vector, float]:
        # Paper: k_i is the last visited value of row i; mu_i = max(s_ik - (theta - r_ik) / k, 0), slope -sum_i 1/k_i.
        k_i = np.count_nonzero(r <= theta, axis=1)
        last = np.arange(d), k_i - 1
        mu = np.maximum(s[last] - (theta - r[last]) / k_i, 0.0)
        return mu, k_i.astype(np.float64), float((1 / k_i[k_i <= m]).sum())

    # Paper: theta = r^t + (N^t - C) / sum_i 1/k_i. Repeated, since the running sum N that chose the piece has gathered
    # rounding errors, and many rows may bend or die within them; low and high keep the steps from going astray.
    low, high = 0.0, np.inf
    while True:
        mu, _, slope = at(theta)
        N_theta = total(mu)
        low, high = (theta, high) if N_theta >= radius else (low, theta)
        better = theta + (N_theta - radius) / slope if slope > 0 else low
        if not low < better < high:
            better = low + (high - low) / 2
        if N_theta == radius or better in (low, high):
            break
        theta = better
    mu, k_i, _ = at(low)
    return low + settle(mu, k_i, radius), mu


class Warm:
    """What a projection remembers for the next one of a slowly changing matrix: theta and the levels mu.

    Any memory gives an exact projection (to rounding); a good one saves half of the time.

    >>> warm = Warm()
    >>> for radius in (3.0, 2.9):
    ...     B = project([[3.0, -1.0], [1.0, 2.0]], radius, warm=warm)
    >>> round(warm.theta, 12)
    1.066666666667
    """

    def __init__(self) -> None:
        self.theta = 0.0
        self.mu = np.empty(0)


def levels(W: Floats, radius: float, method: str) -> tuple[float, Vector]:
    """theta and mu by "sort", or by either method where row sums overflow in W's precision."""
    if W.dtype == np.float32:
        return levels(W.astype(np.float64), radius, method)
    sums, maxima = statistics(W)
    with np.errstate(over="ignore"):
        overflow = np.isinf(sums.sum())
    if overflow:
        theta, mu = levels(W * 2.0**-64, radius * 2.0**-64, method)
        return theta * 2.0**64, mu * 2.0**64 if theta else maxima
    if method == "newton" or total(maxima) <= radius or radius == 0.0:
        mu = np.zeros(len(W))
        return float(solve(W, radius, sums, maxima, 0.0, mu)), mu
    theta, mu = sort_and_merge(W, radius)
    keep_within(mu, radius)
    return max(theta, SMALLEST), mu


@overload
def project(
    W: ArrayLike,
    radius: float,
    *,
    axis: Literal[0, 1] = 1,
    out: Floats | None = None,
    method: Literal["newton", "sort"] = "newton",
    warm: Warm | None = None,
    threads: int = 1,
    return_theta: Literal[False] = False,
) -> Floats: ...
@overload
def project(
    W: ArrayLike,
    radius: float,
    *,
    axis: Literal[0, 1] = 1,
    out: Floats | None = None,
    method: Literal["newton", "sort"] = "newton",
    warm: Warm | None = None,
    threads: int = 1,
    return_theta: Literal[True],
) -> tuple[Floats, float, Floats]: ...


def project(
    W: ArrayLike,
    radius: float,
    *,
    axis: Literal[0, 1] = 1,
    out: Floats | None = None,
    method: Literal["newton", "sort"] = "newton",
    warm: Warm | None = None,
    threads: int = 1,
    return_theta: bool = False,
) -> Floats | tuple[Floats, float, Floats]:
    """min_B 1/2 ||B - W||_F^2  subject to  sum_i max_j |B_ij| <= radius.

    The solution takes the same mass theta off every row it does not set to zero: B_ij = sign(W_ij) min(|W_ij|, mu_i)
    with sum_j (|W_ij| - mu_i)_+ = theta where mu_i > 0, sum_j |W_ij| <= theta where mu_i = 0, and sum_i mu_i = radius.

    W: (n_features, n_tasks). radius: at least 0, the papers' C. axis: the axis of the tasks; 0 for W of shape
    (n_tasks, n_features), like scikit-learn's coef_. out: where to write, an array of W's shape and precision, perhaps
    W itself; a new array by default. method: "newton", Newton's method on theta, or "sort", the paper's sort and merge
    in O(dm log dm); they agree up to rounding. warm: see `Warm`, for "newton" only. threads: at least 1; more than one
    share the passes over a large matrix, and alter no bit of the result. return_theta: return (B, theta, mu), theta a
    float and mu of shape (n_features,); inside the ball theta is 0 and mu the row maxima, for radius 0 theta is the
    largest row sum.

    Inside the ball B is W bit for bit. Otherwise norm(B) <= radius holds to the last digit, so projecting again alters
    nothing. Raises ValueError for NaN, infinity, a wrong shape, an unknown method and a radius below 0 or NaN.

    Source: Quattoni et al. (2009), eq. 7-19 and appendix A.

    >>> project([[3.0, -1.0], [1.0, 2.0]], radius=3.0)
    array([[ 2., -1.],
           [ 1.,  1.]])
    """
    W = features_first(W, axis)
    radius = as_radius(radius)
    if method not in ("newton", "sort"):
        raise ValueError(f"method must be newton or sort, got {method!r}")
    require_count(threads, "threads")
    if warm is not None and not isinstance(warm, Warm):
        raise ValueError(f"warm must be a Warm object or None, got {warm!r}")
    target = out if axis == 1 or not isinstance(out, np.ndarray) else out.T
    B = as_output(target, W)
    mu = np.zeros(len(W))
    rounded = mu if W.dtype == np.float64 else np.empty(len(W), W.dtype)
    theta = OVERFLOW if W.size else 0.0
    if W.size and method == "newton":
        guess = 0.0
        if warm is not None and len(warm.mu) == len(W):
            guess, mu[:] = warm.theta, warm.mu
        if threads > 1 and W.size >= LARGE:
            theta = project_in_threads(W, radius, guess, mu, rounded, B, threads)
        else:
            theta = float(project_newton(W, W.view(INTEGER[W.dtype]), radius, guess, mu, rounded, B))
        if warm is not None and theta >= 0.0:
            warm.theta, warm.mu = theta, mu.copy()
    if theta < 0.0:
        theta, mu[:] = levels(W, radius, method)
        if theta > 0.0:
            round_down(mu, rounded)
            clip_rows(W, rounded, B)
    if theta == 0.0:
        rounded[:] = mu
        B[...] = W
    B = deliver(B if axis == 1 else B.T, out)
    return (B, theta, rounded) if return_theta else B


@njit(cache=True)
def maxima_for_theta(A, theta, sums, maxima, mu):  # type: ignore[no-untyped-def]
    """mu_i = h_i(theta), by Newton within each row from the bound of its statistics."""
    for i in range(A.shape[0]):
        mu[i] = 0.0
        if sums[i] > theta:
            better = lowest(sums, maxima, 1.0 / A.shape[1], i, theta)
            while better > mu[i]:
                mu[i] = better
                at = A.dtype.type(better)
                count, mass = excess(A[i], at)
                better = at + (mass - theta) / count if count > 0 else 0.0


def levels_for_theta(W: Floats, theta: float) -> Vector:
    sums, maxima = statistics(W)
    mu = np.empty(len(W))
    overflow = np.isinf(sums)  # of finite entries
    sums[overflow] = 0.0
    maxima_for_theta(W, theta, sums, maxima, mu)
    if overflow.any():
        mu[overflow] = levels_for_theta(W[overflow] * 2.0**-64, theta * 2.0**-64) * 2.0**64
    return mu


def prox(W: ArrayLike, step: float, *, axis: Literal[0, 1] = 1) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + step * sum_i max_j |B_ij|.

    Each row loses its projection onto the l1 ball of radius step (Moreau); project(W, radius) is prox(W, theta).

    W: (n_features, n_tasks). step: at least 0. axis: the axis of the tasks; 0 for W of shape (n_tasks, n_features).
    Returns a new array. Raises ValueError as `project` does.
    Source: the penalised form, Quattoni et al. (2009), eq. 2.

    >>> prox([[3.0, -1.0], [1.0, 2.0]], step=1.0)
    array([[ 2., -1.],
           [ 1.,  1.]])
    """
    W = features_first(W, axis)
    step = as_radius(step, "step")
    mu = levels_for_theta(W, step)
    B = W.copy()
    if step > 0.0:
        clip_rows(W, mu.astype(W.dtype), B)
    return B if axis == 1 else B.T
