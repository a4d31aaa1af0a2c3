"""The l1 norm of each task's weights, its ball, and the simplex: the independent-tasks side of the comparison.

Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008.

Every projection here takes one number theta off: w_i = sign(v_i) (|v_i| - theta)_+, where theta solves
f(theta) = sum_i (|v_i| - theta)_+ = z. `theta_by_sorting` and `theta_by_pivot` are the paper's algorithms.

The rest of this file is only quicker, a tenth to a third of the time of a sort. f is convex, decreasing and piecewise
linear. So one step of Newton's method leads from anywhere to the solution or below, and further steps rise. They end
once the set {i: |v_i| > theta} repeats. A sample of v provides a start from which this takes a few sweeps over v.
"""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import (
    FLOATING,
    Floats,
    as_columns,
    as_output,
    as_radii,
    as_weights,
    deliver,
    positive_part,
    require,
    require_finite,
)
from jointsparse.compiled import njit
from jointsparse.norms.rows import (
    FINITE,
    SMALL_RADIUS,
    SMALLEST_SHARE,
    add_compensated,
    block_sum,
    copy_numbers,
    heights_above,
    lowered,
    top_bits,
    unscaled,
)

WARM = False  # `project` takes no warm start
PER_TASK = True  # one number for each task
SPARSE = True  # weights become 0 one by one, see `dual_rows`
WEIGHTED = True  # takes `weights`, one per feature
GROUPED = False  # takes no `groups` of features
DESCENDS = False  # has no `descend`

Method = Literal["newton", "pivot", "sort"]
Vector = NDArray[np.float64]
METHODS = ("newton", "pivot", "sort")


def theta_by_sorting(v: Floats, z: float) -> float:
    """theta with sum (v - theta)_+ = z. Paper: Fig. 1."""
    u = np.sort(v)[::-1]
    j = np.arange(1, len(u) + 1)
    theta = (np.cumsum(u) - z) / j
    rho = np.flatnonzero(u - theta > 0)[-1]
    return float(theta[rho])


@njit
def theta_by_pivot(u, z):  # type: ignore[no-untyped-def]
    """theta with sum (u - theta)_+ = z, expected linear time; reorders u. Paper: Fig. 2."""
    start, end = 0, u.size  # U is u[start:end]
    s, rho = 0.0, 0
    random = np.uint64(1)
    while start < end:
        # Choice: "at random" is a fixed pseudo-random sequence, so that equal inputs have equal results.
        random = random * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        pivot = u[start + np.int64((random >> np.uint64(33)) % np.uint64(end - start))]
        # Partition U into larger (up to `tied`), equal (up to `smaller`) and smaller entries.
        tied, smaller, i, delta_s = start, end, start, 0.0
        while i < smaller:
            x = u[i]
            if x < pivot:
                smaller -= 1
                u[i], u[smaller] = u[smaller], x
                continue
            delta_s += x
            if x > pivot:
                u[i], u[tied] = u[tied], x
                tied += 1
            i += 1
        delta_rho = smaller - start
        if (s + delta_s) - (rho + delta_rho) * pivot < z:
            s, rho, start = s + delta_s, rho + delta_rho, smaller
        else:
            # Choice: entries tied with the pivot leave U together with it; ties would take quadratic time otherwise.
            end = tied
    return (s - z) / rho


@np.errstate(over="ignore")
def theta_of_paper(method: Method, v: Floats, z: float) -> float:
    """theta by a method of the paper. Minus infinity if it has nothing to do, or its sums overflow."""
    u = np.abs(v).astype(np.float64)
    if method == "newton" or not 0.0 < z < u.sum() < np.inf:
        return -np.inf
    # Choice: theta is sought below the largest entry, among entries that can stay positive: small z keep their digits.
    top = float(u.max())
    below = u[u - top > -z] - top
    return top + (theta_by_sorting(below, z) if method == "sort" else theta_by_pivot(below, z))


# Quicker from here on.

# The states of a column in `newton_columns`.
OPEN = 0  # theta is sought in sweeps over all columns
DONE = 1  # theta is found
ALONE = 2  # a sweep cannot go on with this column: `newton` solves it by itself after the sweeps

INSIDE = -1.0  # in the place of theta: the column is inside the l1 ball
# In the place of a number of positive entries:
NO_GUESS = -1.0  # there is no theta to start from
CERTAIN = -1.0  # theta needs no check: the column is inside, or its projection is 0

FIRST_SAMPLE_ENTRIES = 64  # of a vector: the first sample, from which theta is guessed
FIRST_SAMPLE_ROWS = 128  # of a matrix, likewise
LARGEST_SAMPLE = 2**17  # entries or rows of the second sample, at most
STRETCH_ENTRIES = 8  # neighbours that go into a sample together: a cache line of float64
# If the last step is expected to pass fewer entries, it is checked only while the result is written. That saves a sweep
# if it passes none, as is most likely. If it has passed one, the result is corrected afterwards.
SURE_ENTRIES = 0.25
# If fewer entries of a vector, divided by this, are above a lower bound of theta, the others are not read again.
ENTRIES_PER_CANDIDATE = 4096
VISIBLE_SHARE = 1e-3  # of z: if theta's rounding is larger, steps are too coarse for that expectation
FAR_SHARE = 1 / 64  # of the sum: for smaller z, theta is nearer to the largest entry than to 0
CLOSE_SHARE = 1e-4  # of the radius: a sum in float32 that is closer to the radius is taken again in float64
BLOCK_ENTRIES = 1024  # whose sum is taken in any order; the sums of blocks are added without loss

TILE_ENTRIES = 512  # of a matrix, at most, that are worked on side by side
PANEL_TILES = 128  # that are added up in the matrix's own precision
FEW_SHARE = 1 / 16  # of the columns: if the next sweep corrects fewer, they are corrected one by one

SMALLER = 2.0**-64  # the scale at which columns are projected whose sums might overflow
LARGE_SUM = 2.0**900  # columns with larger sums take part in that


@njit
def largest_entry(v):  # type: ignore[no-untyped-def]
    """max |v_i|."""
    if v.itemsize == 4:
        top = top_bits(v.view(np.int32), np.int32(0x7FFFFFFF))
        return v.dtype.type(np.array([top], np.int32).view(np.float32)[0])
    top8 = top_bits(v.view(np.int64), np.int64(0x7FFFFFFFFFFFFFFF))
    return v.dtype.type(np.array([top8], np.int64).view(np.float64)[0])


@njit
def add_magnitudes(v, sums, lost):  # type: ignore[no-untyped-def]
    """Add |v_k| to sums_k without loss."""
    for k in range(v.size):
        sums[k], lost[k] = add_compensated(sums[k], lost[k], abs(np.float64(v[k])))


@njit
def total_of(v):  # type: ignore[no-untyped-def]
    """sum |v_i|, rounded once; not finite if an entry is not."""
    size = min(v.size, TILE_ENTRIES)
    sums, lost = np.zeros(size), np.zeros(size)
    for start in range(0, v.size, TILE_ENTRIES):
        add_magnitudes(v[start : start + TILE_ENTRIES], sums, lost)
    total, total_lost = 0.0, 0.0
    for k in range(size):
        total, total_lost = add_compensated(total, total_lost + lost[k], sums[k])
    return total + total_lost


@njit(fastmath=FINITE)
def block_above(v, theta):  # type: ignore[no-untyped-def]
    """sum (|v_i| - theta)_+ and the number of |v_i| > theta, in v's own precision."""
    zero, one = v.dtype.type(0), v.dtype.type(1)
    excess, count = zero, zero
    for i in range(v.size):
        x = abs(v[i]) - theta
        excess += x if x > zero else zero
        count += one if x > zero else zero
    return float(excess), float(count)


@njit
def gather(v, theta, first, candidates):  # type: ignore[no-untyped-def]
    """Write first + i for every |v_i| > theta."""
    n_candidates = 0
    for i in range(v.size):
        if abs(v[i]) > theta:
            candidates[n_candidates] = first + i
            n_candidates += 1


@njit
def survey(v, theta, candidates):  # type: ignore[no-untyped-def]
    """Compute about sum |v_i|, sum (|v_i| - theta)_+ and the number of |v_i| > theta, in one pass.

    The first sum is not finite if an entry is not. The indices of the entries above theta are written to `candidates`;
    if it is too short for all, only those of the first blocks. If it is None, no index is written and the first sum
    is 0.
    """
    total, total_lost, excess, excess_lost, count = 0.0, 0.0, 0.0, 0.0, 0.0
    for start in range(0, v.size, BLOCK_ENTRIES):
        block = v[start : start + BLOCK_ENTRIES]
        part, more = block_above(block, theta)
        excess, excess_lost = add_compensated(excess, excess_lost, part)
        if candidates is not None:
            total, total_lost = add_compensated(total, total_lost, float(block_sum(block, v.dtype.type(0))))
            if more > 0.0 and count + more <= candidates.size:
                gather(block, theta, start, candidates[int(count) :])
        count += more
    return total + total_lost, excess + excess_lost, count


@njit
def step_from_guess(excess, count, z):  # type: ignore[no-untyped-def]
    """Newton's step for log f = log z: most tails are nearer to exponential than to linear ones."""
    return excess / count * math.log(excess / z) if excess > 0.0 and z > 0.0 else (excess - z) / count


@njit
def newton(v, z, total, theta, excess, count):  # type: ignore[no-untyped-def]
    """Solve f(theta + rest) = z > 0 by Newton's method; return theta, rest and n.

    theta has v's precision, and rest is the small correction that it cannot hold. n is the number of entries that must
    be positive for theta to be right. `excess` and `count` belong to the theta to start from; count is NO_GUESS if
    there is none.
    """
    # plain: the last step was one of Newton's method for f itself. bounded: theta was reset to a lower bound.
    bounded, plain, previous, step, eps = False, False, -1.0, 0.0, np.finfo(v.dtype).eps
    while True:
        if count > 0.0:
            rest = (excess - z) / count
            better = v.dtype.type(theta + rest)
            # Exit 1: theta repeats, or the set does. Entries tied with theta may still join by way of rest.
            if better == theta or (plain and (count == previous or better < theta)):
                return theta, rest, count
            # Exit 2: the next step is expected to pass no entry. The last one passed |previous - count|.
            passed = abs(previous - count) * abs(rest / step) if step != 0.0 else np.inf
            if passed < SURE_ENTRIES and eps * abs(theta) * count < VISIBLE_SHARE * z:
                return better, (theta - better) + rest, count
            plain = previous > 0.0 or bounded or theta == 0.0  # 0 is no guess
            step = rest if plain else step_from_guess(excess, count, z)
            previous, theta = count, v.dtype.type(theta + step)
        elif bounded or plain:
            # Exit 3: z is too small to show beside the largest entries, which share it.
            top = largest_entry(v)
            tied = float(np.sum(np.abs(v) == top))
            return top, -z / tied, tied
        else:
            # No guess, or one above all entries. f is at least its largest term, and at least all terms without ()_+.
            theta, bounded = v.dtype.type(max(largest_entry(v) - z, (total - z) / v.size)), True
            previous, step = -1.0, 0.0
        _, excess, count = survey(v, theta, None)


@njit
def sample_of(v, size):  # type: ignore[no-untyped-def]
    """Short stretches of v, evenly spread."""
    stretches = size // STRETCH_ENTRIES
    gap = v.size // stretches
    return v[: gap * stretches].reshape(stretches, gap)[:, :STRETCH_ENTRIES].copy().reshape(-1)


@njit
def starting_point(v, z, theta, candidates):  # type: ignore[no-untyped-def]
    """Return about sum |v_i|, and the theta, excess and count that `newton` starts from.

    `theta` is a guess, or minus infinity if there is none. `candidates`: see `survey`.
    """
    guessed = theta > -np.inf
    theta = theta if guessed else v.dtype.type(0)
    total, excess, count = survey(v, theta, candidates)
    # Without a guess 0 will do, unless theta is far from 0 and near the largest entry. Short vectors start from the
    # largest entry too, where small whole numbers are projected without rounding.
    if not guessed and (z < total * FAR_SHARE or v.size < 4 * FIRST_SAMPLE_ENTRIES):
        count = NO_GUESS
    return total, theta, excess, count


@njit
def guess_theta(v, z, no_candidates):  # type: ignore[no-untyped-def]
    """Guess theta from a sample of v, then again from a larger sample that starts from the first guess.

    Return minus infinity, which is no guess, if v is too short for a sample, if the sum of a sample is at most its
    share of z, as v may then be inside the l1 ball, or if that sum is not finite. `no_candidates` is an empty array,
    with which `survey` computes the sum and writes no index.
    """
    theta = v.dtype.type(-np.inf)
    for size in (FIRST_SAMPLE_ENTRIES, min(v.size // 32, LARGEST_SAMPLE)):
        if FIRST_SAMPLE_ENTRIES <= size <= v.size // 4:
            sample = sample_of(v, size)
            share = z * (sample.size / v.size)
            total, theta, excess, count = starting_point(sample, share, theta, no_candidates)
            if not share < total < np.inf:
                return v.dtype.type(-np.inf)
            theta, rest, _ = newton(sample, share, total, theta, excess, count)
            theta = v.dtype.type(theta + rest)
    return theta


@njit
def not_below_zero(theta, rest):  # type: ignore[no-untyped-def]
    """Raise theta and rest so that zeros stay zeros, if rounding has brought their sum below 0.

    rest then is what theta cannot hold, and no more: with a larger one the rounding of |v_i| - theta lets entries grow.
    """
    better = type(theta)(theta + rest)
    theta, rest = better, type(rest)((theta - better) + rest)
    if theta < 0.0:
        return type(theta)(0), type(rest)(0)
    return theta, max(rest, type(rest)(-theta))


@njit
def solve_vector(v, z, guess, candidates):  # type: ignore[no-untyped-def]
    """Return theta, rest and n as `newton` does, and the number of candidates.

    theta is INSIDE if v is inside the l1 ball, and NaN if v is empty, its sum is not finite, or z is negative or NaN.
    The projection is 0 outside of the candidates; their number is 0 if `candidates` was not used. `guess` is about
    theta, or minus infinity.
    """
    if not z >= 0.0 or v.size == 0:
        return v.dtype.type(np.nan), 0.0, CERTAIN, 0
    start = v.dtype.type(guess) if guess > -np.inf else guess_theta(v, z, candidates[:0])
    total, theta, excess, count = starting_point(v, z, start, candidates)
    if not total < np.inf:
        return v.dtype.type(np.nan), 0.0, CERTAIN, 0
    if total <= z * (1.0 + CLOSE_SHARE) and (total < z * (1.0 - CLOSE_SHARE) or total_of(v) <= z):
        return v.dtype.type(INSIDE), 0.0, CERTAIN, 0
    if z == 0.0:
        return largest_entry(v), 0.0, CERTAIN, 0
    few = int(count) if z <= excess and 0.0 < count <= candidates.size else 0  # theta is a lower bound
    some = v[candidates[:few]] if few else v
    theta, rest, n = newton(some, z, total_of(some) if few else total, theta, excess, count)
    theta, rest = not_below_zero(theta, rest)
    return theta, rest, n, few


@njit(inline="always")
def shrink_entries(v, theta, rest, b):  # type: ignore[no-untyped-def]
    """See `shrink`. theta < 0 is INSIDE, where v stays as it is; rest is the part of theta that theta cannot hold."""
    count, zero = np.int32(0), v.dtype.type(0)
    if theta < zero:
        for i in range(v.size):
            b[i] = v[i]
    else:
        for i in range(v.size):
            x = v[i]
            w = (abs(x) - theta) - rest
            b[i] = math.copysign(w if w > zero else zero, x) + zero  # -0 + 0 is 0
            count = np.int32(count + np.int32(w > zero))
    return count


@njit
def shrink_here(b, theta, rest):  # type: ignore[no-untyped-def]
    return shrink_entries(b, theta, rest, b)


@njit
def shrink(v, theta, rest, b):  # type: ignore[no-untyped-def]
    """b_i = sign(v_i) (|v_i| - theta - rest)_+, or v_i if theta is INSIDE; count b_i != 0."""
    # The compiler vectorises if it knows that b is v, or sees that they do not overlap.
    if b.ctypes.data == v.ctypes.data:
        return shrink_here(b, theta, rest)
    return shrink_entries(v, theta, rest, b)


@njit
def shrink_on(b, z):  # type: ignore[no-untyped-def]
    """Shrink b, which is too large because entries unexpectedly became zero, by Newton's method on b itself."""
    zero, nonzeros, count = b.dtype.type(0), 0, -1.0
    while nonzeros != count:
        _, excess, count = survey(b, zero, None)
        if excess <= z:
            return
        nonzeros = shrink(b, b.dtype.type((excess - z) / count), zero, b)


@njit
def project_vector(v, z, guess, b):  # type: ignore[no-untyped-def]
    """Write the projection to b, which may be v. `guess` is about theta, or minus infinity.

    Return False, and write nothing, if v is empty, its sum is not finite, or z is negative or NaN.
    """
    candidates = np.empty(v.size // ENTRIES_PER_CANDIDATE, np.int64)
    # n: the number of entries that theta leaves positive if it is right, or CERTAIN, below 0, if it needs no check.
    # few: the number of candidates, outside of which the projection is 0; 0 if all entries of v are needed.
    theta, rest, n, few = solve_vector(v, z, guess, candidates)
    if np.isnan(theta):
        return False
    result = b
    if few:
        v = v[candidates[:few]]
        result = v
    nonzeros = shrink(v, theta, v.dtype.type(rest), result)
    if n >= 0.0 and nonzeros != n:
        # The last step has passed entries, which are now zero: theta is too small, and the result still too large.
        shrink_on(result, z)
    if few:
        b[:] = 0
        for i in range(few):
            b[candidates[i]] = result[i]
    return True


@njit
def tiled(per_task, size):  # type: ignore[no-untyped-def]
    """Repeat one number per task for the rows of a tile."""
    result = np.empty(size, per_task.dtype)
    for first in range(0, size, per_task.size):
        for l in range(per_task.size):
            result[first + l] = per_task[l]
    return result


@njit
def tile_size(n_features, n_tasks):  # type: ignore[no-untyped-def]
    """Number of entries in a tile, which holds whole rows: single rows may be too short to vectorise."""
    return n_tasks * min(n_features, max(1, TILE_ENTRIES // n_tasks))


@njit
def add_tile(w, theta, excesses, counts, sizes):  # type: ignore[no-untyped-def]
    """Add (|w_k| - theta_k)_+ to excesses_k, 1 to counts_k if that is not 0, and |w_k| to sizes_k unless None."""
    zero, one = theta.dtype.type(0), theta.dtype.type(1)
    for k in range(w.size):
        x = abs(w[k]) - theta[k]
        excesses[k] += x if x > zero else zero
        counts[k] += one if x > zero else zero
        if sizes is not None:
            sizes[k] += abs(w[k])


@njit
def add_tiles(w, theta, excesses, counts, sizes):  # type: ignore[no-untyped-def]
    """`add_tile` for four tiles in a row: to read and write the sums for each would take most of the time."""
    zero, one, size = theta.dtype.type(0), theta.dtype.type(1), theta.size
    for k in range(size):
        t, w1, w2, w3, w4 = theta[k], abs(w[k]), abs(w[k + size]), abs(w[k + 2 * size]), abs(w[k + 3 * size])
        x1, x2, x3, x4 = w1 - t, w2 - t, w3 - t, w4 - t
        part = (x1 if x1 > zero else zero) + (x2 if x2 > zero else zero)
        excesses[k] += part + ((x3 if x3 > zero else zero) + (x4 if x4 > zero else zero))
        few = (one if x1 > zero else zero) + (one if x2 > zero else zero)
        counts[k] += few + ((one if x3 > zero else zero) + (one if x4 > zero else zero))
        if sizes is not None:
            sizes[k] += (w1 + w2) + (w3 + w4)


@njit
def fold(parts, sums, lost):  # type: ignore[no-untyped-def]
    """Add the rows of a tile to the sums of the tasks, without loss, and set the tile to zero."""
    n_tasks = sums.size
    for first in range(0, parts.size, n_tasks):
        for l in range(n_tasks):
            sums[l], lost[l] = add_compensated(sums[l], lost[l], float(parts[first + l]))
            parts[first + l] = 0


@njit
def survey_columns(W, theta, with_sums):  # type: ignore[no-untyped-def]
    """Compute sum_i (|W_il| - theta_l)_+, the number of |W_il| > theta_l and sum_i |W_il| for every column l.

    The last sum is not finite if an entry is not; it is 0 if `with_sums` is None. Sums of panels are taken in theta's
    precision and added up without loss.
    """
    # The entries of a column lie far apart, so whole rows are added to sums that lie side by side.
    n_tasks = W.shape[1]
    w, size = W.reshape(W.size), tile_size(W.shape[0], n_tasks)
    thetas, parts = tiled(theta, size), np.zeros((3, size), theta.dtype)
    sums, lost = np.zeros((3, n_tasks)), np.zeros((3, n_tasks))
    sizes = None if with_sums is None else parts[2]
    for panel in range(0, w.size, PANEL_TILES * size):
        start, end = panel, min(panel + PANEL_TILES * size, w.size)
        while start + 4 * size <= end:
            add_tiles(w[start : start + 4 * size], thetas, parts[0], parts[1], sizes)
            start += 4 * size
        for first in range(start, end, size):
            add_tile(w[first : min(first + size, end)], thetas, parts[0], parts[1], sizes)
        for r in range(2 if with_sums is None else 3):
            fold(parts[r], sums[r], lost[r])
    return sums[0] + lost[0], sums[1], sums[2] + lost[2]


@njit
def column_sums(W):  # type: ignore[no-untyped-def]
    """sum |W_il| for every column l, rounded once; not finite if an entry is not."""
    sums, lost = np.zeros(W.shape[1]), np.zeros(W.shape[1])
    for i in range(W.shape[0]):
        add_magnitudes(W[i], sums, lost)
    return sums + lost


@njit
def raise_tops(v, tops):  # type: ignore[no-untyped-def]
    for k in range(v.size):
        x = abs(v[k])
        tops[k] = x if x > tops[k] else tops[k]


@njit
def column_bounds(W, radii):  # type: ignore[no-untyped-def]
    """Lower bound of theta for each column: f is at least the term of the largest entry."""
    theta = np.zeros(W.shape[1], W.dtype)
    for i in range(W.shape[0]):
        raise_tops(W[i], theta)
    for l in range(theta.size):
        theta[l] = theta[l] - radii[l] if theta[l] > radii[l] else 0
    return theta


@njit
def step_columns(radii, theta, excess, count, rest, n, previous, step, state, sweep):  # type: ignore[no-untyped-def]
    """Take a step of Newton's method in every OPEN column; return how many columns are expected to need another step.

    That number is infinite after a step from a guess. A column that stays OPEN after any other step has its theta and
    rest, and n positive entries if these are right.
    """
    n_tasks, eps, unsure = theta.size, np.finfo(theta.dtype).eps, 0.0
    for l in range(n_tasks):
        if state[l] == OPEN and (count[l] == 0.0 or radii[l] == 0.0):
            state[l] = ALONE
        if state[l] != OPEN:
            continue
        more = (excess[l] - radii[l]) / count[l]
        better = theta.dtype.type(theta[l] + more)
        repeats = previous[l] > 0.0 and sweep > 1 and (count[l] == previous[l] or better < theta[l])
        if better == theta[l] or repeats:
            rest[l], n[l], state[l] = more, count[l], DONE
        elif eps * abs(theta[l]) * count[l] > VISIBLE_SHARE * radii[l]:
            state[l] = ALONE
        elif sweep == 0:
            unsure, previous[l], step[l] = np.inf, count[l], step_from_guess(excess[l], count[l], radii[l])
            theta[l] += step[l]
        else:
            # The last step passed |previous - count| entries, so this one may pass in proportion.
            unsure += min(abs(previous[l] - count[l]) * abs(more / step[l]) if step[l] != 0.0 else 1.0, 1.0)
            previous[l], step[l], n[l] = count[l], more, count[l]
            rest[l], theta[l] = (theta[l] - better) + more, better
    return unsure


@njit
def newton_columns(W, radii, theta, excess, count, state, guessed):  # type: ignore[no-untyped-def]
    """`newton` for the OPEN columns, from excess and count at theta. Update theta; return rest and n.

    Sweeps go over all columns. They end when few columns are expected to need another one; these are corrected one by
    one while the result is written.
    """
    n_tasks = W.shape[1]
    rest, n = np.zeros(n_tasks, W.dtype), np.full(n_tasks, CERTAIN)
    previous, step = np.full(n_tasks, -1.0), np.zeros(n_tasks)
    sweep = 0 if guessed else 1
    while step_columns(radii, theta, excess, count, rest, n, previous, step, state, sweep) > n_tasks * FEW_SHARE:
        sweep += 1
        excess, count, _ = survey_columns(W, theta, None)
    for l in range(n_tasks):
        if state[l] == ALONE:
            v = W[:, l].copy()
            total, t, excess_l, count_l = starting_point(v, radii[l], theta[l], np.empty(0, np.int64))
            theta[l], rest[l], n[l] = newton(v, radii[l], total, t, excess_l, count_l)
    return rest, n


@njit
def guess_columns(W, radii):  # type: ignore[no-untyped-def]
    """`guess_theta` for every column, from evenly spread rows. With few rows, a lower bound of theta."""
    n_features, n_tasks = W.shape
    theta = np.empty(0, W.dtype)
    for size in (FIRST_SAMPLE_ROWS, min(n_features // 32, LARGEST_SAMPLE)):
        if FIRST_SAMPLE_ROWS <= size <= n_features // 4:
            gap, share, sample = n_features // size, radii * (size / n_features), np.empty((size, n_tasks), W.dtype)
            for i in range(size):
                copy_numbers(W[i * gap], sample[i])
            if theta.size == 0:
                theta = column_bounds(sample, share)
            excess, count, totals = survey_columns(sample, theta, True)
            if not (totals < np.inf).all():
                return np.zeros(n_tasks, W.dtype)
            state = np.full(n_tasks, OPEN)
            for l in range(n_tasks):
                if not share[l] < totals[l]:  # perhaps inside
                    theta[l], state[l] = 0, DONE
            rest, _ = newton_columns(sample, share, theta, excess, count, state, size > FIRST_SAMPLE_ROWS)
            theta += rest
    return theta if theta.size else column_bounds(W, radii)


@njit
def solve_columns(W, radii):  # type: ignore[no-untyped-def]
    """Return True, and theta, rest and n of every column as `newton` returns them.

    theta is INSIDE for a column inside its l1 ball. Return False, and numbers without a meaning, if the sum of a column
    is not finite.
    """
    theta = guess_columns(W, radii)
    excess, count, totals = survey_columns(W, theta, True)
    if not (totals < np.inf).all():
        return False, theta, theta, totals
    if (np.abs(totals - radii) <= CLOSE_SHARE * radii).any():
        totals = column_sums(W)
    state = np.full(theta.size, OPEN)
    for l in range(theta.size):
        if totals[l] <= radii[l]:
            theta[l], state[l] = INSIDE, DONE
    rest, n = newton_columns(W, radii, theta, excess, count, state, W.shape[0] >= 4 * FIRST_SAMPLE_ROWS)
    for l in range(theta.size):
        if totals[l] > radii[l]:
            theta[l], rest[l] = not_below_zero(theta[l], rest[l])
    return True, theta, rest, n


@njit(inline="always")
def shrink_tile_entries(w, theta, rest, b, counts):  # type: ignore[no-untyped-def]
    zero, one = w.dtype.type(0), w.dtype.type(1)
    for k in range(w.size):
        x = w[k]
        y = (abs(x) - theta[k]) - rest[k]
        b[k] = x if theta[k] < zero else math.copysign(y if y > zero else zero, x) + zero
        counts[k] += one if y > zero else zero


@njit
def shrink_tile_here(b, theta, rest, counts):  # type: ignore[no-untyped-def]
    shrink_tile_entries(b, theta, rest, b, counts)


@njit
def shrink_tile(w, theta, rest, b, counts):  # type: ignore[no-untyped-def]
    """`shrink` with a theta for each entry. Add 1 to counts_k where b_k is not 0."""
    if b.ctypes.data == w.ctypes.data:
        shrink_tile_here(b, theta, rest, counts)
    else:
        shrink_tile_entries(w, theta, rest, b, counts)


@njit
def shrink_columns(W, theta, rest, B):  # type: ignore[no-untyped-def]
    """`shrink` for every column; count the entries of each that are not 0. rest: what theta cannot hold (`newton`)."""
    n_tasks = W.shape[1]
    w, b, size = W.reshape(W.size), B.reshape(W.size), tile_size(W.shape[0], n_tasks)
    thetas, rests, counts = tiled(theta, size), tiled(rest, size), np.zeros(size, W.dtype)
    nonzeros, lost = np.zeros(n_tasks), np.zeros(n_tasks)  # `fold` needs both, but sums of counts lose nothing
    for start in range(0, w.size, size):
        stop = min(start + size, w.size)
        shrink_tile(w[start:stop], thetas, rests, b[start:stop], counts)
    fold(counts, nonzeros, lost)
    return nonzeros


@njit
def project_columns(W, radii, B):  # type: ignore[no-untyped-def]
    """`project_vector` for every column of W, each with its own radius. B may be W.

    Return False, and write nothing, if the sum of a column is not finite.
    """
    # n: for each column the number of entries that theta leaves positive if it is right, or CERTAIN, below 0, if it
    # needs no check.
    finite, theta, rest, n = solve_columns(W, radii)
    if finite:
        nonzeros = shrink_columns(W, theta, rest, B)
        # The last step of Newton's method is checked only here (see SURE_ENTRIES, FEW_SHARE). In some columns it has
        # passed entries, which are now zero: theta is too small there, and the column of B still too large.
        for l in range(W.shape[1]):
            if n[l] >= 0.0 and nonzeros[l] != n[l]:
                column = B[:, l].copy()
                shrink_on(column, radii[l])
                copy_numbers(column, B[:, l])
    return finite


def tasks(W: Floats) -> Floats:
    """Columns of W as contiguous rows, (n_tasks, n_features); a vector is one task."""
    return np.ascontiguousarray(W.T if W.ndim == 2 else W[np.newaxis])


def like(W: Floats, per_task: Vector) -> Any:
    """Numbers per task as they are; for a vector W one float."""
    return per_task if W.ndim == 2 else float(per_task[0])


def sums_of(W: Floats) -> Vector:
    """sum_i |W_il| for each task l; a vector is one task."""
    if W.ndim == 1 or W.shape[1] == 1:
        return np.array([total_of(W.reshape(-1))])
    return column_sums(W) if W.size else np.zeros(W.shape[1])


def factors(weights: ArrayLike, W: Floats) -> Vector:
    """`weights`, one per feature, as an array that multiplies W."""
    a = as_weights(weights, len(W))
    return a if W.ndim == 1 else a[:, np.newaxis]


def weighted_columns(W: Floats, weights: ArrayLike) -> tuple[Vector, Vector, NDArray[np.intc], int]:
    """Scale |W| and the weights by powers of two, so that the largest weight and weighted entries are near 1.

    Returns |W| scaled for each task, (n_tasks, n_features); the scaled weights, (1, n_features); and the exponents of
    these powers of two, (n_tasks, 1) for |W| and one for the weights.
    """
    require_finite(W)
    V, A = np.abs(tasks(W)).astype(np.float64), as_weights(weights, len(W))[np.newaxis]
    weight_power = -int(np.frexp(A.max(initial=0.0))[1])
    A, task_powers = np.ldexp(A, weight_power), np.zeros((len(V), 1), np.intc)
    for factor in (1.0, A):  # entries near 1 first, so that products with small weights do not vanish
        more = -np.frexp((V * factor).max(axis=1, initial=0.0, keepdims=True))[1]
        V, task_powers = np.ldexp(V, more), task_powers + more
    return V, A, task_powers, weight_power


@njit
def heights_of_tasks(tops, slopes, totals):  # type: ignore[no-untyped-def]
    """`heights_above` for every row of tops, (n_tasks, n_features)."""
    heights = np.empty_like(tops)
    for l in range(totals.size):
        heights_above(tops[l], slopes, totals[l], heights[l])
    return heights


def weighted_totals(V: Vector, A: Vector) -> Vector:
    """sum_i A_i V_li for each task l, (n_tasks, 1): the products are rounded, and so is their sum."""
    return np.array([[total_of(weighted)] for weighted in V * A]).reshape(-1, 1)


@np.errstate(over="ignore")  # norms above the largest float
def weighted_sums(W: Floats, weights: ArrayLike) -> Vector:
    """sum_i a_i |W_il| for each task l; a vector is one task."""
    V, A, task_powers, weight_power = weighted_columns(W, weights)
    return np.ldexp(weighted_totals(V, A), -(task_powers + weight_power))[:, 0]


def norm(W: ArrayLike, *, weights: ArrayLike | None = None) -> Any:
    """||w_l||_1 = sum_i |W_il| for each task l; with weights a the sum of a_i |W_il|.

    W: (n_features, n_tasks), or one task's (n_features,). weights: (n_features,), positive. Returns an
    array (n_tasks,), for a vector a float; infinity for sums above the largest float. Raises ValueError for NaN,
    infinity, a wrong shape or unfit weights.

    >>> norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 3.])
    """
    W = as_columns(W)
    sums = sums_of(W) if weights is None else weighted_sums(W, weights)
    if not np.isfinite(sums).all():
        require_finite(W)
        sums[~np.isfinite(sums)] = np.inf  # above the largest float
    return like(W, sums)


def dual_norm(W: ArrayLike, *, weights: ArrayLike | None = None) -> Any:
    """max_i |W_il| for each task l, the dual of the l1 norm; with weights a the maximum of |W_il| / a_i.

    W: (n_features, n_tasks), or one task's (n_features,). weights: (n_features,), positive. Returns an
    array (n_tasks,), for a vector a float. Raises ValueError for NaN, infinity, a wrong shape or unfit weights.

    >>> dual_norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 2.])
    """
    W = as_columns(W)
    return like(W, np.atleast_1d(dual_rows(W, weights=weights).max(axis=0, initial=0.0)).astype(np.float64))


def dual_rows(W: ArrayLike, *, weights: ArrayLike | None = None) -> Floats:
    """|W_il|: each entry's part in `dual_norm`, which is the largest of a column. Weights a divide it by a_i.

    W: (n_features, n_tasks), or one task's (n_features,). weights: (n_features,), positive. Returns an
    array of W's shape. Raises ValueError for NaN, infinity, a wrong shape or unfit weights.

    >>> dual_rows([[3.0, -1.0]])
    array([[3., 1.]])
    """
    W = as_columns(W)
    require_finite(W)
    with np.errstate(over="ignore"):
        return np.abs(W) / (1.0 if weights is None else factors(weights, W))


def _project_each(W: Floats, radii: Vector, method: Method, B: Floats) -> bool:
    """Write the projections of the columns of W to B.

    Return False if the sum of a column is not finite. Some columns of B may have been written then.
    """
    if method == "newton" and W.shape[1] > 1:
        return bool(project_columns(W, radii, B))
    for v, z, b in zip(tasks(W), radii, B.T, strict=True):
        w = np.empty_like(v)
        if not project_vector(v, z, theta_of_paper(method, v, z), w):
            return False
        b[...] = w
    return True


def project(
    W: ArrayLike,
    radius: ArrayLike,
    *,
    method: Method = "newton",
    weights: ArrayLike | None = None,
    positive: bool = False,
    out: Floats | None = None,
) -> Floats:
    """min_B 1/2 ||B - W||_F^2  subject to  sum_i |B_il| <= radius_l for each task l.

    The solution is B_il = sign(W_il) max(|W_il| - theta_l, 0). With weights a > 0 the constraint is
    sum_i a_il |B_il| <= radius_l and the solution sign(W_il) max(|W_il| - theta_l a_il, 0).

    Parameters
    ----------
    W : array (n_features, n_tasks), or one task's (n_features,)
        Real and finite. float32 and float64 are kept, other types become float64.
    radius : float or array (n_tasks,), at least 0
        The papers' z or C. Infinity is allowed.
    method : "newton", "pivot" or "sort"
        Newton's method is the fastest. "pivot" takes expected linear time ([D08] Fig. 2), "sort" O(n log n) ([D08]
        Fig. 1). They agree up to rounding.
    weights : array (n_features,), positive, optional
        Solved by "newton". They differ by a factor of at most 2^500.
    positive : bool
        Ask for B >= 0 too. The solution is the projection of max(W, 0).
    out : array of W's shape and precision, optional
        Where to write, perhaps W itself. A new array by default.

    Returns
    -------
    B : array of W's shape and precision
        A column of W (or max(W, 0)) inside its ball comes back bit for bit, zeros stay zeros, and no entry grows. The
        norm of other columns is the radius up to rounding: to 1e-12 of it in float64, and to 1e-6 in float32.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, an unknown method, unfit weights, and a radius below 0 or NaN.

    References
    ----------
    Duchi et al. (2008), eq. 7, Fig. 1 and Fig. 2.

    >>> project([3.0, -1.0, 0.5], radius=2.0)
    array([2., 0., 0.])
    """
    # The usual case first: the checks below take longer than projecting a thousand entries.
    if (
        type(W) is np.ndarray
        and W.ndim == 1
        and W.dtype in FLOATING
        and W.flags.carray
        and isinstance(radius, float)
        and radius > SMALL_RADIUS
        and method == "newton"
        and weights is None
        and not positive
    ):
        B = as_output(out, W)
        if project_vector(W, radius, -np.inf, B):
            return deliver(B, out)
    V = positive_part(as_columns(W)) if positive else as_columns(W)
    require(method in METHODS, f"method must be newton, pivot or sort, got {method!r}")
    B, radii = as_output(out, V), as_radii(radius, V.shape[1] if V.ndim == 2 else 1)
    columns, result = (V, B) if V.ndim == 2 else (V[:, np.newaxis], B[:, np.newaxis])
    if weights is not None:
        require(method == "newton", f"method must be newton where weights are given, got {method!r}")
        B[...] = _weighted(V, radii, weights)
    elif V.size:
        if not _project_each(columns, radii, method, result):
            require_finite(V)
            result[...] = _scaled_down(columns, radii, method)
        if radius < SMALL_RADIUS if isinstance(radius, float) else (radii < SMALL_RADIUS).any():
            result[...] = np.where(sums_of(result) > radii, lowered(result), result)
    return deliver(B, out)


def _scaled_down(W: Floats, radii: Vector, method: Method) -> Floats:
    """Projection of columns whose sums overflow, by way of smaller numbers in float64."""
    scale = np.where(sums_of(W.astype(np.float64)) < LARGE_SUM, 1.0, SMALLER)  # an overflow makes NaN
    V, z = W * scale, radii * scale
    B = np.empty_like(V)
    _project_each(V, z, method, B)
    return np.where(sums_of(V) <= z, W, B / scale)


@np.errstate(over="ignore")  # a radius that overflows here is above the norm
def _weighted(W: Floats, radii: Vector, weights: ArrayLike) -> Floats:
    """Projection of W, a matrix or a vector, with weights a: the heights of |W_i| / a_i above theta, times a_i."""
    # V is (n_tasks, n_features) and A is (1, n_features), both scaled by powers of two.
    V, A, task_powers, weight_power = weighted_columns(W, weights)
    if not V.size:
        return W
    z = np.ldexp(radii[:, np.newaxis], task_powers + weight_power)
    outside = weighted_totals(V, A) > z
    is_visible = z >= SMALLEST_SHARE  # the projection onto a smaller ball is 0
    total = np.where(outside & is_visible, z, 1.0)  # 1 where the heights are not used
    magnitudes = np.minimum(A * heights_of_tasks(V / A, (A * A)[0], total[:, 0]), V)
    # Only rounding separates this norm from the radius. A factor of two units below 1 keeps the norm below it.
    norms = weighted_totals(magnitudes, A)
    magnitudes = np.minimum(magnitudes * (total / np.where(norms > 0, norms, 1.0) * (1.0 - 2.0**-51)), V) * is_visible
    projected = unscaled(magnitudes, task_powers, W.dtype)
    return np.where(outside.T, np.copysign(projected.T.reshape(W.shape), W) + W.dtype.type(0), W)


def project_simplex(v: ArrayLike, z: ArrayLike, *, method: Method = "newton", out: Floats | None = None) -> Floats:
    """min_w 1/2 ||w - v||^2  subject to  sum_i w_i = z, w_i >= 0; each column for itself.

    The solution is w_i = max(v_i - theta, 0).

    Parameters
    ----------
    v : array (n,) or (n, n_tasks)
        Of any signs.
    z : float or array (n_tasks,), at least 0
        One number, or one per column. At most the largest number of v's precision; 0 if v is empty.
    method : "newton", "pivot" or "sort"
        As in `project`.
    out : array like v, optional
        As in `project`.

    Returns
    -------
    w : array of v's shape
        The projection.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, an unknown method, and an unfit z.

    References
    ----------
    Duchi et al. (2008), eq. 3, Fig. 1 and Fig. 2.

    >>> project_simplex([-5.0, 1.0, 0.5], z=1.0)
    array([0.  , 0.75, 0.25])
    """
    V = as_columns(v, "v")
    require_finite(V, "v")
    radii = as_radii(z, V.shape[1] if V.ndim == 2 else 1, "z")
    if (radii > np.finfo(V.dtype).max).any() or (not len(V) and radii.any()):
        raise ValueError(f"z must be reachable by {len(V)} finite numbers ({V.dtype}), got {z!r}")
    # theta is at least max v - z, and (sum v - z) / n. What is above lies on the simplex, or outside the l1 ball.
    with np.errstate(over="ignore"):
        below = V - V.max(axis=0, initial=-np.inf)
        depth = np.minimum(radii, (radii - below.sum(axis=0, dtype=np.float64)) / max(len(V), 1))
        above = np.maximum(below + depth, 0.0).astype(V.dtype)
    return project(above, radii, method=method, out=out)


def project_nonnegative(v: ArrayLike, z: ArrayLike, *, method: Method = "newton", out: Floats | None = None) -> Floats:
    """min_w 1/2 ||w - v||^2  subject to  sum_i w_i <= z, w_i >= 0; each column for itself.

    The solution is max(v_i, 0) if that is feasible, else the projection onto the simplex.

    Parameters
    ----------
    v : array (n,) or (n, n_tasks)
        Of any signs.
    z : float or array (n_tasks,), at least 0
        One number, or one per column.
    method : "newton", "pivot" or "sort"
        As in `project`.
    out : array like v, optional
        As in `project`.

    Returns
    -------
    w : array of v's shape
        The projection.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, an unknown method, and z below 0 or NaN.

    References
    ----------
    Duchi et al. (2008), sec. 7.

    >>> project_nonnegative([-5.0, 1.0, 0.5], z=2.0)
    array([0. , 1. , 0.5])
    """
    V = positive_part(as_columns(v, "v"), "v")
    return project(V, as_radii(z, V.shape[1] if V.ndim == 2 else 1, "z"), method=method, out=out)


def prox(W: ArrayLike, step: ArrayLike, *, weights: ArrayLike | None = None, positive: bool = False) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + sum_l step_l sum_i a_i |B_il|: B_il = sign(W_il) max(|W_il| - step_l a_i, 0).

    Parameters
    ----------
    W : array (n_features, n_tasks), or one task's (n_features,)
        As in `project`.
    step : float or array (n_tasks,), at least 0
        Infinity is allowed.
    weights : array (n_features,), positive, optional
        a; 1 by default.
    positive : bool
        Ask for B >= 0 too. The solution is the prox of max(W, 0).

    Returns
    -------
    B : array of W's shape and precision
        A new array.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, unfit weights, and a step below 0 or NaN.

    References
    ----------
    Soft thresholding: Duchi et al. (2008), eq. 6, with theta given.

    >>> prox([3.0, -1.0, 0.5], step=0.5)
    array([ 2.5, -0.5,  0. ])
    """
    W = as_columns(W)
    require_finite(W)
    step = as_radii(step, W.shape[1] if W.ndim == 2 else 1, "step")
    if weights is not None:
        with np.errstate(over="ignore"):  # a weight whose step overflows becomes 0
            step = step * factors(weights, W)
    V = positive_part(W) if positive else W
    return (V - np.clip(V, -step, step)).astype(W.dtype)
