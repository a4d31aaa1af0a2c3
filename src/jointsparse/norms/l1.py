"""The l1 norm of each task's weights, its ball, and the simplex: the independent-tasks side of the comparison.

Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008.

Every projection here takes one number theta off: w_i = sign(v_i) (|v_i| - theta)_+, where theta solves
f(theta) = sum_i (|v_i| - theta)_+ = z. f is convex, decreasing and piecewise linear. So one step of Newton's method
leads from anywhere to the solution or below, and further steps rise. They end once the set {i: |v_i| > theta} repeats.
A sample of v provides a start from which this takes a few sweeps over v.
"""

import math
from collections.abc import Iterator
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
    require_finite,
)
from jointsparse.compiled import njit

WARM = False  # `project` takes no warm start
PER_TASK = True  # one number for each task
SPARSE = True  # weights become 0 one by one, see `dual_rows`
WEIGHTED = True  # takes `weights`, one per feature
GROUPED = False  # takes no `groups` of features
DESCENDS = False  # has no `descend`

Method = Literal["newton", "pivot", "sort"]
METHODS = ("newton", "pivot", "sort")

# Allow reordering so that sums vectorise. NaN and infinity still propagate.
REORDER = {"reassoc", "nsz", "contract"}
# For entries that are known to be finite.
FINITE = REORDER | {"nnan", "ninf"}

# The sets that a column is projected onto.
BALL = 0  # sum |w| <= z
SIMPLEX = 1  # w >= 0 and sum w = z
NONNEGATIVE = 2  # w >= 0 and sum w <= z

# The states of a column in `newton_columns`.
OPEN = 0  # theta is sought in sweeps over all columns
DONE = 1  # theta is found
ALONE = 2  # a sweep cannot go on with this column: `newton` solves it by itself after the sweeps

# In the place of theta:
INSIDE = -1.0  # the column is inside the l1 ball
# In the place of a number of positive entries:
NO_GUESS = -1.0  # there is no theta to start from
CERTAIN = -1.0  # theta needs no check

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

LARGEST_SUM = 2.0**900  # columns with larger sums are scaled down first, so that nothing overflows
LARGEST_SUM_FLOAT32 = 2.0**100  # likewise for float32, whose blocks are summed in float32


@njit
def add_compensated(total, lost, part):  # type: ignore[no-untyped-def]
    """total + part, and what rounding has lost so far. Their sum is as good as exact."""
    larger = total + part
    added = larger - total
    return larger, lost + ((total - (larger - added)) + (part - added))


@njit
def sum_limit(v):  # type: ignore[no-untyped-def]
    """Sum from which v must be scaled down."""
    return LARGEST_SUM if v.itemsize == 8 else LARGEST_SUM_FLOAT32


# A caller has a copy of what it calls, optimised once more, in which sums may have another order. Without forceinline
# it would run its own copy or the original, whichever the process has loaded first.
@njit(fastmath=REORDER, forceinline=True)
def block_sum(v, signed, zero):  # type: ignore[no-untyped-def]
    """sum v_i, or sum |v_i| unless `signed`, in the precision of `zero`."""
    result = zero
    for i in range(v.size):
        result += v[i] if signed else abs(v[i])
    return result


@njit
def largest_bits(bits, mask):  # type: ignore[no-untyped-def]
    """Bits of the largest float, or of the largest magnitude if `mask` takes the sign bit off."""
    # Floats have the order of their bits read as integers, negative ones the reverse order. The compiler vectorises a
    # maximum of integers, but not one of floats.
    most, least = bits[0] & mask, bits[0] & mask
    for i in range(bits.size):
        most, least = max(most, bits[i] & mask), min(least, bits[i] & mask)
    result = bits[:1].copy()
    result[0] = most if most >= 0 else least
    return result


@njit
def largest_entry(v, signed):  # type: ignore[no-untyped-def]
    """max v_i, or max |v_i| unless `signed`."""
    if v.itemsize == 4:
        mask = np.int32(-1) if signed else np.int32(0x7FFFFFFF)
        return v.dtype.type(largest_bits(v.view(np.int32), mask).view(np.float32)[0])
    mask8 = np.int64(-1) if signed else np.int64(0x7FFFFFFFFFFFFFFF)
    return v.dtype.type(largest_bits(v.view(np.int64), mask8).view(np.float64)[0])


@njit
def total_of(v, signed):  # type: ignore[no-untyped-def]
    """sum v_i, or sum |v_i| unless `signed`; not finite if an entry is not."""
    total, lost = 0.0, 0.0
    for start in range(0, v.size, BLOCK_ENTRIES):
        total, lost = add_compensated(total, lost, block_sum(v[start : start + BLOCK_ENTRIES], signed, 0.0))
    return total + lost


@njit(fastmath=FINITE)
def block_above(v, theta, signed):  # type: ignore[no-untyped-def]
    """sum (v_i - theta)_+ and the number of v_i > theta, in v's own precision; |v_i| unless `signed`."""
    zero, one = v.dtype.type(0), v.dtype.type(1)
    excess, count = zero, zero
    for i in range(v.size):
        x = (v[i] if signed else abs(v[i])) - theta
        excess += x if x > zero else zero
        count += one if x > zero else zero
    return float(excess), float(count)


@njit
def above(v, theta, signed):  # type: ignore[no-untyped-def]
    """`block_above` for vectors of any length."""
    total, lost, count = 0.0, 0.0, 0.0
    for start in range(0, v.size, BLOCK_ENTRIES):
        part, more = block_above(v[start : start + BLOCK_ENTRIES], theta, signed)
        total, lost = add_compensated(total, lost, part)
        count += more
    return total + lost, count


@njit
def gather(v, theta, signed, first, candidates):  # type: ignore[no-untyped-def]
    """Write first + i for every entry v_i > theta, |v_i| unless `signed`."""
    found = 0
    for i in range(v.size):
        if (v[i] if signed else abs(v[i])) > theta:
            candidates[found] = first + i
            found += 1


@njit
def survey(v, theta, signed, candidates):  # type: ignore[no-untyped-def]
    """About sum |v_i|, not finite if an entry is not, and what `above` returns, in one pass.

    `candidates` takes the indices of the entries above theta, of the first blocks if it is too short for all.
    """
    total, total_lost, excess, excess_lost, count = 0.0, 0.0, 0.0, 0.0, 0.0
    for start in range(0, v.size, BLOCK_ENTRIES):
        block = v[start : start + BLOCK_ENTRIES]
        total, total_lost = add_compensated(total, total_lost, float(block_sum(block, False, v.dtype.type(0))))
        part, more = block_above(block, theta, signed)
        excess, excess_lost = add_compensated(excess, excess_lost, part)
        if more > 0.0 and count + more <= candidates.size:
            gather(block, theta, signed, start, candidates[int(count) :])
        count += more
    return total + total_lost, excess + excess_lost, count


@njit
def step_from_guess(excess, count, z):  # type: ignore[no-untyped-def]
    """Newton's step for log f = log z: most tails are nearer to exponential than to linear ones."""
    return excess / count * math.log(excess / z) if excess > 0.0 and z > 0.0 else (excess - z) / count


@njit
def newton(v, z, total, theta, excess, count, signed):  # type: ignore[no-untyped-def]
    """Solve f(theta + rest) = z > 0 by Newton's method; return theta, rest and n.

    theta has v's precision, and rest is the small correction that it cannot hold. n is CERTAIN, or the number of
    entries that must be positive for theta to be right. `excess` and `count` belong to the theta to start from; count
    is NO_GUESS if there is none.
    """
    # plain: the last step was one of Newton's method for f itself. bounded: theta was reset to a lower bound.
    bounded, plain, previous, step, eps = False, False, -1.0, 0.0, np.finfo(v.dtype).eps
    while True:
        if count > 0.0:
            rest = (excess - z) / count
            better = v.dtype.type(theta + rest)
            # Exit 1: theta repeats, or the set does.
            if better == theta or (plain and (count == previous or better < theta)):
                return theta, rest, CERTAIN
            # Exit 2: the next step is expected to pass no entry. The last one passed |previous - count|.
            passed = abs(previous - count) * abs(rest / step) if step != 0.0 else np.inf
            if passed < SURE_ENTRIES and eps * abs(theta) * count < VISIBLE_SHARE * z:
                return better, (theta - better) + rest, count
            plain = previous > 0.0 or bounded or theta == 0.0  # 0 is no guess
            step = rest if plain else step_from_guess(excess, count, z)
            previous, theta = count, v.dtype.type(theta + step)
        elif bounded or plain:
            # Exit 3: z is too small to show beside the largest entries, which share it.
            top, ties = largest_entry(v, signed), 0
            for i in range(v.size):
                ties += (v[i] if signed else abs(v[i])) == top
            return top, -z / ties, CERTAIN
        else:
            # No guess, or one above all entries. f is at least its largest term, and at least all terms without ()_+.
            theta, bounded = v.dtype.type(max(largest_entry(v, signed) - z, (total - z) / v.size)), True
            previous, step = -1.0, 0.0
        excess, count = above(v, theta, signed)


@njit
def newton_among(v, candidates, z, theta, excess, count, signed):  # type: ignore[no-untyped-def]
    """`newton` for some entries."""
    some = v[candidates]
    return newton(some, z, total_of(some, signed), theta, excess, count, signed)


@njit
def sample_of(v, size):  # type: ignore[no-untyped-def]
    """Short stretches of v, evenly spread."""
    stretches = size // STRETCH_ENTRIES
    sample, gap = np.empty(stretches * STRETCH_ENTRIES, v.dtype), v.size // stretches
    for k in range(stretches):
        for i in range(STRETCH_ENTRIES):
            sample[k * STRETCH_ENTRIES + i] = v[k * gap + i]
    return sample


@njit
def starting_point(v, z, theta, signed, candidates):  # type: ignore[no-untyped-def]
    """About sum |v_i|, and theta, excess and count to start from. theta is -infinity if there is no guess."""
    guessed = theta > -np.inf
    theta = theta if guessed else v.dtype.type(0)
    total, excess, count = survey(v, theta, signed, candidates)
    # Without a guess 0 will do, unless theta is far from 0 and near the largest entry. Short vectors start from the
    # largest entry too, where small whole numbers are projected without rounding.
    if not guessed and (z < total * FAR_SHARE or v.size < 4 * FIRST_SAMPLE_ENTRIES):
        count = NO_GUESS
    return total, theta, excess, count


@njit
def guess_theta(v, z, signed, none):  # type: ignore[no-untyped-def]
    """About theta, from samples of v. Minus infinity if v is short, perhaps inside, or not fit. `none` is empty."""
    theta = v.dtype.type(-np.inf)
    for size in (FIRST_SAMPLE_ENTRIES, min(v.size // 32, LARGEST_SAMPLE)):
        if FIRST_SAMPLE_ENTRIES <= size <= v.size // 4:
            sample = sample_of(v, size)
            share = z * (sample.size / v.size)
            total, theta, excess, count = starting_point(sample, share, theta, signed, none)
            if not total < sum_limit(v) or not share < (LARGEST_SUM if signed else total):
                return v.dtype.type(-np.inf)
            theta, rest, _ = newton(sample, share, total, theta, excess, count, signed)
            theta = v.dtype.type(theta + rest)
    return theta


@njit
def not_below_zero(theta, rest):  # type: ignore[no-untyped-def]
    """Raise theta and rest so that zeros stay zeros, if rounding has brought their sum below 0."""
    if theta < 0.0:
        return type(theta)(0), max(theta + rest, type(rest)(0))
    return theta, max(rest, -theta)


@njit
def solve_vector(v, z, kind, candidates):  # type: ignore[no-untyped-def]
    """theta, rest and n as `newton` returns them. theta is INSIDE, or NaN if v is not finite or must be scaled.

    Last comes the number of candidates: the projection is 0 elsewhere. It is 0 if `candidates` was not used.
    """
    signed, unfit, limit = kind != BALL, v.dtype.type(np.nan), sum_limit(v)
    if not z >= 0.0 or v.size == 0 or not (kind != SIMPLEX or z < limit):
        return unfit, 0.0, CERTAIN, 0
    total, theta, excess, count = starting_point(v, z, guess_theta(v, z, signed, candidates[:0]), signed, candidates)
    if not total < limit:
        return unfit, 0.0, CERTAIN, 0
    if (
        kind == BALL
        and total <= z * (1.0 + CLOSE_SHARE)
        and (total < z * (1.0 - CLOSE_SHARE) or total_of(v, False) <= z)
    ):
        return v.dtype.type(INSIDE), 0.0, CERTAIN, 0
    if kind == NONNEGATIVE and above(v, v.dtype.type(0), signed)[0] <= z:
        return v.dtype.type(0.0), 0.0, CERTAIN, 0
    if z == 0.0:
        return largest_entry(v, signed), 0.0, CERTAIN, 0
    few = int(count) if z <= excess and 0.0 < count <= candidates.size else 0  # theta is a lower bound
    if few:
        theta, rest, n = newton_among(v, candidates[:few], z, theta, excess, count, signed)
    else:
        theta, rest, n = newton(v, z, total_of(v, signed) if signed else total, theta, excess, count, signed)
    if kind != SIMPLEX:
        theta, rest = not_below_zero(theta, rest)
    return theta, rest, n, few


@njit(inline="always")
def shrink_entries(v, theta, rest, kind, b):  # type: ignore[no-untyped-def]
    count, zero = np.int32(0), v.dtype.type(0)
    if kind != BALL:
        for i in range(v.size):
            w = (v[i] - theta) - rest
            b[i] = w if w > zero else zero
            count = np.int32(count + np.int32(w > zero))
    elif theta < zero:
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
def shrink_here(b, theta, rest, kind):  # type: ignore[no-untyped-def]
    return shrink_entries(b, theta, rest, kind, b)


@njit
def shrink(v, theta, rest, kind, b):  # type: ignore[no-untyped-def]
    """b_i = sign(v_i) (|v_i| - theta - rest)_+, for other sets than the ball (v_i - theta - rest)_+; count b_i != 0."""
    # The compiler vectorises if it knows that b is v, or sees that they do not overlap.
    if b.ctypes.data == v.ctypes.data:
        return shrink_here(b, theta, rest, kind)
    return shrink_entries(v, theta, rest, kind, b)


@njit
def shrink_on(b, z, kind):  # type: ignore[no-untyped-def]
    """Shrink b, which is too large because entries unexpectedly became zero, by Newton's method on b itself."""
    zero, left, count = b.dtype.type(0), 0, -1.0
    while left != count:
        excess, count = above(b, zero, kind != BALL)
        if excess <= z:
            return
        left = shrink(b, b.dtype.type((excess - z) / count), zero, kind, b)


@njit
def shrink_and_check(v, theta, rest, count, z, kind, b):  # type: ignore[no-untyped-def]
    """`shrink`, and `shrink_on` unless `count` entries are left as expected."""
    left = shrink(v, theta, v.dtype.type(rest), kind, b)
    if count >= 0.0 and left != count:
        shrink_on(b, z, kind)


@njit
def project_vector(v, z, kind, b):  # type: ignore[no-untyped-def]
    """Write the projection to b, which may be v. False if v is not fit."""
    candidates = np.empty(v.size // ENTRIES_PER_CANDIDATE, np.int64)
    theta, rest, count, few = solve_vector(v, z, kind, candidates)
    if np.isnan(theta):
        return False
    if few:
        result = v[candidates[:few]]
        shrink_and_check(result, theta, rest, count, z, kind, result)
        b[:] = 0
        for i in range(few):
            b[candidates[i]] = result[i]
    else:
        shrink_and_check(v, theta, rest, count, z, kind, b)
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
def add_tile(w, theta, signed, excesses, counts):  # type: ignore[no-untyped-def]
    """Add (w_k - theta_k)_+ to excesses_k, and 1 to counts_k if that is not 0; |w_k| unless `signed`."""
    zero, one = w.dtype.type(0), w.dtype.type(1)
    for k in range(w.size):
        x = (w[k] if signed else abs(w[k])) - theta[k]
        excesses[k] += x if x > zero else zero
        counts[k] += one if x > zero else zero


@njit
def add_tiles(w, theta, signed, excesses, counts):  # type: ignore[no-untyped-def]
    """`add_tile` for four tiles in a row: to read and write the sums for each would take most of the time."""
    zero, one, size = w.dtype.type(0), w.dtype.type(1), theta.size
    for k in range(size):
        t, w1, w2, w3, w4 = theta[k], w[k], w[k + size], w[k + 2 * size], w[k + 3 * size]
        x1 = (w1 if signed else abs(w1)) - t
        x2 = (w2 if signed else abs(w2)) - t
        x3 = (w3 if signed else abs(w3)) - t
        x4 = (w4 if signed else abs(w4)) - t
        part = (x1 if x1 > zero else zero) + (x2 if x2 > zero else zero)
        excesses[k] += part + ((x3 if x3 > zero else zero) + (x4 if x4 > zero else zero))
        few = (one if x1 > zero else zero) + (one if x2 > zero else zero)
        counts[k] += few + ((one if x3 > zero else zero) + (one if x4 > zero else zero))


@njit
def add_sizes(w, totals):  # type: ignore[no-untyped-def]
    for k in range(w.size):
        totals[k] += abs(w[k])


@njit
def add_four_sizes(w, totals):  # type: ignore[no-untyped-def]
    size = totals.size
    for k in range(size):
        totals[k] += (abs(w[k]) + abs(w[k + size])) + (abs(w[k + 2 * size]) + abs(w[k + 3 * size]))


@njit
def fold(parts, sums, lost):  # type: ignore[no-untyped-def]
    """Add the rows of a tile to the sums of the tasks, without loss, and set the tile to zero."""
    n_tasks = sums.size
    for first in range(0, parts.size, n_tasks):
        for l in range(n_tasks):
            sums[l], lost[l] = add_compensated(sums[l], lost[l], float(parts[first + l]))
    for k in range(parts.size):
        parts[k] = 0


@njit
def add_panel(w, thetas, signed, excesses, counts):  # type: ignore[no-untyped-def]
    size, start = thetas.size, 0
    while start + 4 * size <= w.size:
        add_tiles(w[start : start + 4 * size], thetas, signed, excesses, counts)
        start += 4 * size
    for first in range(start, w.size, size):
        add_tile(w[first : min(first + size, w.size)], thetas, signed, excesses, counts)


@njit
def add_panel_sizes(w, parts):  # type: ignore[no-untyped-def]
    size, start = parts.size, 0
    while start + 4 * size <= w.size:
        add_four_sizes(w[start : start + 4 * size], parts)
        start += 4 * size
    for first in range(start, w.size, size):
        add_sizes(w[first : min(first + size, w.size)], parts)


@njit
def column_survey(W, theta, signed, totals):  # type: ignore[no-untyped-def]
    """`above` for every column. Unless empty, `totals` takes about sum |W_il|, not finite if an entry is not."""
    # The entries of a column lie far apart, so whole rows are added to sums that lie side by side.
    n_tasks = W.shape[1]
    w, size = W.reshape(W.size), tile_size(W.shape[0], n_tasks)
    thetas, parts = tiled(theta, size), np.zeros((3, size), W.dtype)
    sums, lost = np.zeros((3, n_tasks)), np.zeros((3, n_tasks))
    for start in range(0, w.size, PANEL_TILES * size):
        panel = w[start : min(start + PANEL_TILES * size, w.size)]
        if totals.size:
            add_panel_sizes(panel, parts[0])
            fold(parts[0], sums[0], lost[0])
        add_panel(panel, thetas, signed, parts[1], parts[2])
        fold(parts[1], sums[1], lost[1])
        fold(parts[2], sums[2], lost[2])
    for l in range(totals.size):
        totals[l] = sums[0, l] + lost[0, l]
    return sums[1] + lost[1], sums[2]


@njit
def abs_column_sums(W):  # type: ignore[no-untyped-def]
    """sum |W_il| for every column l, as good as exact; not finite if an entry is not."""
    n_tasks = W.shape[1]
    w, size = W.reshape(W.size), tile_size(W.shape[0], n_tasks)
    parts, sums, lost = np.zeros(size), np.zeros(n_tasks), np.zeros(n_tasks)
    for start in range(0, w.size, PANEL_TILES * size):
        add_panel_sizes(w[start : min(start + PANEL_TILES * size, w.size)], parts)
        fold(parts, sums, lost)
    return sums + lost


@njit
def raise_tops(w, signed, tops):  # type: ignore[no-untyped-def]
    for k in range(w.size):
        x = w[k] if signed else abs(w[k])
        tops[k] = x if x > tops[k] else tops[k]


@njit
def column_tops(W, signed):  # type: ignore[no-untyped-def]
    """max_i W_il, or max_i |W_il| unless `signed`, for every column l, without NaN."""
    n_tasks = W.shape[1]
    w, size = W.reshape(W.size), tile_size(W.shape[0], n_tasks)
    tops, tile_tops = np.full(n_tasks, W.dtype.type(-np.inf)), np.full(size, W.dtype.type(-np.inf))
    for start in range(0, w.size, size):
        raise_tops(w[start : min(start + size, w.size)], signed, tile_tops)
    for first in range(0, size, n_tasks):
        raise_tops(tile_tops[first : first + n_tasks], True, tops)
    return tops


@njit
def column_bounds(W, radii, signed):  # type: ignore[no-untyped-def]
    """Lower bound of theta for each column: f is at least the term of the largest entry."""
    theta = column_tops(W, signed)
    for l in range(theta.size):
        theta[l] = theta[l] - radii[l] if signed or theta[l] > radii[l] else 0
    return theta


@njit
def step_columns(radii, theta, excess, count, rest, n, previous, step, state, sweep):  # type: ignore[no-untyped-def]
    """Take a step of Newton's method in every OPEN column; return how many are expected to need another one.

    A column that stays OPEN has the theta and rest of its step, and n positive entries if these are right.
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
            rest[l], n[l], state[l] = more, CERTAIN, DONE
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
def newton_columns(W, radii, theta, excess, count, signed, state, guessed):  # type: ignore[no-untyped-def]
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
        excess, count = column_survey(W, theta, signed, np.empty(0))
    for l in range(n_tasks):
        if state[l] == ALONE:
            v = W[:, l].copy()
            total, t, excess_l, count_l = starting_point(v, radii[l], theta[l], signed, np.empty(0, np.int64))
            total = total_of(v, signed) if signed else total
            theta[l], rest[l], n[l] = newton(v, radii[l], total, t, excess_l, count_l, signed)
    return rest, n


@njit
def guess_columns(W, radii, signed):  # type: ignore[no-untyped-def]
    """`guess_theta` for every column, from evenly spread rows. With few rows, a lower bound of theta."""
    n_features, n_tasks = W.shape
    theta = np.empty(0, W.dtype)
    for size in (FIRST_SAMPLE_ROWS, min(n_features // 32, LARGEST_SAMPLE)):
        if FIRST_SAMPLE_ROWS <= size <= n_features // 4:
            sample, gap = np.empty((size, n_tasks), W.dtype), n_features // size
            for i in range(size):
                for l in range(n_tasks):
                    sample[i, l] = W[i * gap, l]
            share = radii * (size / n_features)
            if theta.size == 0:
                theta = column_bounds(sample, share, signed)
            totals = np.empty(n_tasks)
            excess, count = column_survey(sample, theta, signed, totals)
            if not (totals < sum_limit(W)).all():
                return np.zeros(n_tasks, W.dtype)
            state = np.full(n_tasks, OPEN)
            for l in range(n_tasks):
                if not share[l] < (LARGEST_SUM if signed else totals[l]):  # perhaps inside
                    theta[l], state[l] = 0, DONE
            rest, _ = newton_columns(sample, share, theta, excess, count, signed, state, size > FIRST_SAMPLE_ROWS)
            theta += rest
    return theta if theta.size else column_bounds(W, radii, signed)


@njit
def solve_columns(W, radii, kind):  # type: ignore[no-untyped-def]
    """True if W is fit, and theta, rest and n for every column."""
    signed, n_tasks = kind != BALL, W.shape[1]
    theta = guess_columns(W, radii, signed)
    totals = np.empty(n_tasks)
    excess, count = column_survey(W, theta, signed, totals)
    state = np.full(n_tasks, OPEN)
    limit = sum_limit(W)
    if not (totals < limit).all() or (kind == SIMPLEX and not (radii < limit).all()):
        return False, theta, theta, totals
    if kind == BALL and (np.abs(totals - radii) <= CLOSE_SHARE * radii).any():
        totals = abs_column_sums(W)
    if kind == NONNEGATIVE:
        totals = column_survey(W, np.zeros(n_tasks, W.dtype), signed, np.empty(0))[0]
    for l in range(n_tasks):
        if kind != SIMPLEX and totals[l] <= radii[l]:
            theta[l], state[l] = INSIDE if kind == BALL else 0, DONE
    rest, n = newton_columns(W, radii, theta, excess, count, signed, state, W.shape[0] >= 4 * FIRST_SAMPLE_ROWS)
    for l in range(n_tasks):
        if kind != SIMPLEX and totals[l] > radii[l]:
            theta[l], rest[l] = not_below_zero(theta[l], rest[l])
    return True, theta, rest, n


@njit(inline="always")
def shrink_each_entry(w, theta, rest, kind, b):  # type: ignore[no-untyped-def]
    zero = w.dtype.type(0)
    if kind != BALL:
        for k in range(w.size):
            y = (w[k] - theta[k]) - rest[k]
            b[k] = y if y > zero else zero
    else:
        for k in range(w.size):
            x = w[k]
            y = (abs(x) - theta[k]) - rest[k]
            b[k] = x if theta[k] < zero else math.copysign(y if y > zero else zero, x) + zero


@njit
def shrink_each_here(b, theta, rest, kind):  # type: ignore[no-untyped-def]
    shrink_each_entry(b, theta, rest, kind, b)


@njit
def shrink_each(w, theta, rest, kind, b):  # type: ignore[no-untyped-def]
    """`shrink` with a theta for each entry, without counting."""
    if b.ctypes.data == w.ctypes.data:
        shrink_each_here(b, theta, rest, kind)
    else:
        shrink_each_entry(w, theta, rest, kind, b)


@njit
def count_tile(b, counts):  # type: ignore[no-untyped-def]
    zero, one = b.dtype.type(0), b.dtype.type(1)
    for k in range(b.size):
        counts[k] += one if b[k] != zero else zero


@njit
def count_tiles(b, counts):  # type: ignore[no-untyped-def]
    """`count_tile` for four tiles."""
    zero, one, size = b.dtype.type(0), b.dtype.type(1), counts.size
    for k in range(size):
        few = (one if b[k] != zero else zero) + (one if b[k + size] != zero else zero)
        counts[k] += few + ((one if b[k + 2 * size] != zero else zero) + (one if b[k + 3 * size] != zero else zero))


@njit
def shrink_columns(W, theta, rest, kind, B):  # type: ignore[no-untyped-def]
    """`shrink` for every column; count the entries of each that are not 0."""
    n_tasks = W.shape[1]
    w, b, size = W.reshape(W.size), B.reshape(W.size), tile_size(W.shape[0], n_tasks)
    thetas, rests, counts = tiled(theta, size), tiled(rest, size), np.zeros(size, W.dtype)
    left, lost = np.zeros(n_tasks), np.zeros(n_tasks)
    for panel in range(0, w.size, 4 * size):
        end = min(panel + 4 * size, w.size)
        for start in range(panel, end, size):
            stop = min(start + size, end)
            shrink_each(w[start:stop], thetas, rests, kind, b[start:stop])
        if end == panel + 4 * size:
            count_tiles(b[panel:end], counts)
        else:
            for start in range(panel, end, size):
                count_tile(b[start : min(start + size, end)], counts)
    fold(counts, left, lost)
    return left


@njit
def project_columns(W, radii, kind, B):  # type: ignore[no-untyped-def]
    """`project_vector` for every column of W, each with its own radius."""
    if W.shape[1] == 1:
        return project_vector(W.reshape(W.size), radii[0], kind, B.reshape(W.size))
    fit, theta, rest, n = solve_columns(W, radii, kind)
    if not fit:
        return False
    left = shrink_columns(W, theta, rest, kind, B)
    for l in range(W.shape[1]):
        if n[l] >= 0.0 and left[l] != n[l]:
            column = B[:, l].copy()
            shrink_on(column, radii[l], kind)
            for i in range(column.size):
                B[i, l] = column[i]
    return True


@njit(fastmath=FINITE)
def block_above_weighted(v, a, theta):  # type: ignore[no-untyped-def]
    """sum a_i (|v_i| - theta a_i)_+, minus its slope, and the number of positive terms."""
    excess, slope, count = 0.0, 0.0, 0.0
    for i in range(v.size):
        x = abs(v[i]) - theta * a[i]
        excess += a[i] * x if x > 0.0 else 0.0
        slope += a[i] * a[i] if x > 0.0 else 0.0
        count += 1.0 if x > 0.0 else 0.0
    return excess, slope, count


@njit
def shrink_weighted(v, a, z, b):  # type: ignore[no-untyped-def]
    """b_i = sign(v_i) (|v_i| - theta a_i)_+ with sum a_i |b_i| = z > 0, by Newton's method, for v outside the ball."""
    theta = 0.0
    for i in range(v.size):
        theta = max(theta, (abs(v[i]) - z / a[i]) / a[i])  # f is at least any of its terms alone
    previous, rest = -1.0, 0.0
    while True:
        excess, lost, slope, count = 0.0, 0.0, 0.0, 0.0
        for start in range(0, v.size, BLOCK_ENTRIES):
            block = slice(start, start + BLOCK_ENTRIES)
            part, more, n = block_above_weighted(v[block], a[block], theta)
            excess, lost = add_compensated(excess, lost, part)
            slope, count = slope + more, count + n
        if slope == 0.0:  # z is too small to show beside the largest entries
            break
        rest = (excess + lost - z) / slope
        better = theta + rest
        if count == previous or better == theta or (previous >= 0.0 and better < theta):
            break
        previous, theta, rest = count, better, 0.0
    theta, rest = not_below_zero(theta, rest)
    for i in range(v.size):
        w = (abs(v[i]) - theta * a[i]) - rest * a[i]
        b[i] = (w if v[i] > 0.0 else -w) if w > 0.0 else 0.0


def tasks(W: Floats) -> Floats:
    """Columns of W as contiguous rows, (n_tasks, n_features); a vector is one task."""
    return np.ascontiguousarray(W.T if W.ndim == 2 else W[np.newaxis])


def like(W: Floats, per_task: NDArray[np.float64]) -> Any:
    """Numbers per task as they are; for a vector W one float."""
    return per_task if W.ndim == 2 else float(per_task[0])


def sums_of(W: Floats) -> NDArray[np.float64]:
    """sum_i |W_il| for each task l; a vector is one task."""
    if W.ndim == 1 or W.shape[1] == 1:
        return np.array([total_of(W.reshape(-1), False)])
    sums: NDArray[np.float64] = abs_column_sums(W) if W.size else np.zeros(W.shape[1])
    return sums


def factors(weights: ArrayLike, W: Floats) -> NDArray[np.float64]:
    """`weights`, one per feature or of W's shape, as an array that multiplies W."""
    a = as_weights(weights, len(W), shape=W.shape)
    return a if a.ndim == W.ndim else a[:, np.newaxis]


def weighted_columns(W: Floats, weights: ArrayLike) -> Iterator[tuple[Floats, Floats, int, int]]:
    """Each column of W and its weights a, both with their largest entry near 1, and the powers of two for that."""
    require_finite(W)
    V = tasks(W).astype(np.float64)
    A = tasks(np.broadcast_to(factors(weights, W), W.shape))
    for v, a in zip(V, A, strict=True):
        # Nothing overflows then.
        unit, heavy = (min(1 - int(np.frexp(np.abs(x).max(initial=0.0))[1]), 1023) for x in (v, a))
        yield v * 2.0**unit, a * 2.0**heavy, unit, heavy


@np.errstate(over="ignore")  # norms above the largest float
def weighted_sums(W: Floats, weights: ArrayLike) -> NDArray[np.float64]:
    """sum_i a_i |W_il| for each task l; a vector is one task."""
    columns = weighted_columns(W, weights)
    return np.array([np.ldexp(total_of(v * a, False), -unit - heavy) for v, a, unit, heavy in columns], np.float64)


def norm(W: ArrayLike, *, weights: ArrayLike | None = None) -> Any:
    """||w_l||_1 = sum_i |W_il| for each task l; with weights a the sum of a_i |W_il|.

    W: (n_features, n_tasks), or one task's (n_features,). weights: (n_features,) or of W's shape, positive. Returns an
    array (n_tasks,), for a vector a float; infinity for sums above the largest float. Raises ValueError for NaN,
    infinity, a wrong shape or unfit weights.

    >>> norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 3.])
    """
    W = as_columns(W)
    if weights is not None:
        return like(W, weighted_sums(W, weights))
    sums = sums_of(W)
    if not np.isfinite(sums).all():
        require_finite(W)
        sums[~np.isfinite(sums)] = np.inf  # above the largest float
    return like(W, sums)


def dual_norm(W: ArrayLike, *, weights: ArrayLike | None = None) -> Any:
    """max_i |W_il| for each task l, the dual of the l1 norm; with weights a the maximum of |W_il| / a_i.

    W: (n_features, n_tasks), or one task's (n_features,). weights: (n_features,) or of W's shape, positive. Returns an
    array (n_tasks,), for a vector a float. Raises ValueError for NaN, infinity, a wrong shape or unfit weights.

    >>> dual_norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 2.])
    """
    W = as_columns(W)
    if weights is not None:
        return like(W, np.atleast_1d(dual_rows(W, weights=weights).max(axis=0, initial=0.0)))
    if not np.isfinite(sums_of(W)).all():
        require_finite(W)
    if not W.size:
        return like(W, np.zeros(W.shape[1:] or 1))
    return like(W, column_tops(W if W.ndim == 2 else W[:, np.newaxis], False).astype(np.float64))


def dual_rows(W: ArrayLike, *, weights: ArrayLike | None = None) -> Floats:
    """|W_il|: each entry's part in `dual_norm`, which is the largest of a column. Weights a divide it by a_i.

    W: (n_features, n_tasks), or one task's (n_features,). weights: (n_features,) or of W's shape, positive. Returns an
    array of W's shape. Raises ValueError for NaN, infinity, a wrong shape or unfit weights.

    >>> dual_rows([[3.0, -1.0]])
    array([[3., 1.]])
    """
    W = as_columns(W)
    require_finite(W)
    if weights is None:
        return np.abs(W)
    with np.errstate(over="ignore"):
        result: Floats = np.abs(W) / factors(weights, W)
    return result


@njit
def threshold_by_pivot(u, z):  # type: ignore[no-untyped-def]
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


def threshold_by_sorting(v: Floats, z: float) -> float:
    """theta with sum (v - theta)_+ = z. Paper: Fig. 1."""
    u = np.sort(v)[::-1]
    j = np.arange(1, len(u) + 1)
    theta = (np.cumsum(u) - z) / j
    rho = np.flatnonzero(u - theta > 0)[-1]
    return float(theta[rho])


@njit
def polish(u, z, theta):  # type: ignore[no-untyped-def]
    """Remove the rounding errors of theta by one Newton step on sum (u - theta)_+ = z."""
    excess, count = above(u, theta, True)
    return theta + (excess - z) / count if count > 0 else theta


def _threshold(v: Floats, z: float, kind: int, method: Method) -> tuple[float, float]:
    """theta and rest as `solve_vector` returns them, by one of the paper's methods."""
    size = np.abs(v) if kind == BALL else v
    if kind == BALL and total_of(v, False) <= z:
        return INSIDE, 0.0
    if kind == NONNEGATIVE and total_of(np.maximum(v, 0), False) <= z:
        return 0.0, 0.0
    top = float(size.max())
    if z == 0.0:
        return top, 0.0
    # theta is sought below the largest entry, among those that can stay positive: small z keep their digits.
    u = size.astype(np.float64) - top
    u = u[u > -z]
    below = threshold_by_sorting(u, z) if method == "sort" else threshold_by_pivot(u.copy(), z)
    rest = polish(u, z, below)
    return not_below_zero(top, rest) if kind != SIMPLEX else (top, rest)


def _project_by_method(W: Floats, radii: NDArray[np.float64], kind: int, method: Method, B: Floats) -> bool:
    """`project_columns` by one of the paper's methods; W: (n_features, n_tasks)."""
    V = tasks(W)
    if not (sums_of(W) < sum_limit(W)).all() or (kind == SIMPLEX and radii.max() > LARGEST_SUM):
        return False
    pairs = [_threshold(v, float(z), kind, method) for v, z in zip(V, radii, strict=True)]
    for b, v, (theta, rest) in zip(B.T, V, pairs, strict=True):
        projected = np.empty(v.shape)
        shrink(v.astype(np.float64), theta, rest, kind, projected)
        if kind != SIMPLEX:  # theta is above 0, but beside a large entry rounding is larger
            projected = np.copysign(np.minimum(np.abs(projected), np.abs(v)), projected)
        b[...] = projected
    return True


@np.errstate(over="ignore")  # an entry that overflows here is far below the others
def _project_large(W: Floats, radii: NDArray[np.float64], kind: int, method: Method) -> Floats:
    """Projection of columns whose sums might overflow, by way of smaller numbers in float64."""
    V = W.astype(np.float64)
    size = V if kind == SIMPLEX else np.abs(V) if kind == BALL else np.maximum(V, 0.0)
    inside = (kind != SIMPLEX) & ((radii == np.inf) | (sums_of(size) <= radii))
    z = np.where(inside, 1.0, radii)
    # Outside, the projection is one onto the simplex, which may be moved. Entries below the largest one minus z are 0.
    scale = np.where(z > 2.0**512, 2.0**-256, 1.0)
    moved = np.maximum(size - size.max(axis=0), -z) * scale
    B = np.empty_like(V)
    if method == "newton":
        project_columns(moved, z * scale, SIMPLEX, B)
    else:
        _project_by_method(moved, z * scale, SIMPLEX, method, B)
    B /= scale
    if kind != SIMPLEX:
        B = np.where(inside, size, np.minimum(B, size))
    if kind == BALL:
        B = np.where(inside | (B > 0), np.copysign(B, V), B)
    return B.astype(W.dtype)


def is_apart(out: Any, W: Floats) -> bool:
    """True if `out` is like W and both own their memory, so that they cannot overlap. A quick test."""
    return (
        type(out) is np.ndarray
        and out.flags.carray
        and out.flags.owndata
        and W.flags.owndata
        and out.dtype is W.dtype
        and out.shape == W.shape
    )


def _project_onto(kind: int, W: ArrayLike, radius: ArrayLike, method: Method, out: Floats | None, name: str) -> Floats:
    """Project each column of W onto its own set. `name` is what the caller calls W, for errors."""
    # The usual case first: the checks below take longer than projecting a thousand entries.
    if (
        type(W) is np.ndarray
        and W.ndim == 1
        and W.dtype in FLOATING
        and W.flags.carray
        and isinstance(radius, float)
        and method == "newton"
    ):
        B = np.empty_like(W) if out is None else out if out is W or is_apart(out, W) else as_output(out, W)
        if project_vector(W, radius, kind, B):
            return B if out is None or B is out else deliver(B, out)
    called = "radius" if kind == BALL else "z"
    V = as_columns(W, name)
    if method not in METHODS:
        raise ValueError(f"method must be newton, pivot or sort, got {method!r}")
    B = as_output(out, V)
    radii = as_radii(radius, V.shape[1] if V.ndim == 2 else 1, called)
    if kind == SIMPLEX and ((radii > np.finfo(V.dtype).max).any() or (not len(V) and radii.any())):
        raise ValueError(f"z must be reachable by {len(V)} finite numbers ({V.dtype}), got {radius!r}")
    if not V.size:
        return deliver(B, out)
    columns, result = (V, B) if V.ndim == 2 else (V[:, np.newaxis], B[:, np.newaxis])
    if method != "newton":
        done = _project_by_method(columns, radii, kind, method, result)
    elif V.ndim == 1:
        done = project_vector(V, radii[0], kind, B)
    else:
        done = project_columns(columns, radii, kind, result)
    if not done:
        require_finite(V, name)
        result[...] = _project_large(columns, radii, kind, method)
    return deliver(B, out)


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
    weights : array (n_features,) or of W's shape, positive, optional
        Solved by "newton". In one column they differ by a factor of at most 2^500.
    positive : bool
        Ask for B >= 0 too. The solution is the projection of max(W, 0).
    out : array of W's shape and precision, optional
        Where to write, perhaps W itself. A new array by default.

    Returns
    -------
    B : array of W's shape and precision
        A column of W (or max(W, 0)) inside its ball comes back bit for bit, and zeros stay zeros. The norm of other
        columns may exceed the radius by rounding, unlike that of an l1,inf projection.

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
    if positive:
        W = positive_part(as_columns(W))
    if weights is None:
        return _project_onto(BALL, W, radius, method, out, "W")
    if method != "newton":
        raise ValueError(f"method must be newton where weights are given, got {method!r}")
    return _project_weighted(as_columns(W), radius, weights, out)


@np.errstate(over="ignore")  # a radius that overflows here is above the norm
def _project_weighted(W: Floats, radius: ArrayLike, weights: ArrayLike, out: Floats | None) -> Floats:
    """`project` with weights."""
    B = as_output(out, W)
    radii = as_radii(radius, W.shape[1] if W.ndim == 2 else 1)
    projected = tasks(W).astype(np.float64)
    for b, z, (v, a, unit, heavy) in zip(projected, radii, weighted_columns(W, weights), strict=True):
        scaled_z = float(np.ldexp(z, unit + heavy))
        if total_of(v * a, False) <= scaled_z:
            continue
        if scaled_z == 0.0:
            b[...] = 0.0
        else:
            shrink_weighted(v, a, scaled_z, b)
            b *= 2.0**-unit
    B[...] = projected.T.reshape(W.shape)
    return deliver(B, out)


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
    return _project_onto(SIMPLEX, v, z, method, out, "v")


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
    return _project_onto(NONNEGATIVE, v, z, method, out, "v")


def prox(W: ArrayLike, step: ArrayLike, *, weights: ArrayLike | None = None, positive: bool = False) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + sum_l step_l sum_i a_i |B_il|: B_il = sign(W_il) max(|W_il| - step_l a_i, 0).

    Parameters
    ----------
    W : array (n_features, n_tasks), or one task's (n_features,)
        As in `project`.
    step : float or array (n_tasks,), at least 0
        Infinity is allowed.
    weights : array (n_features,) or of W's shape, positive, optional
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
    if positive:
        W = positive_part(W)
    return (W - np.clip(W, -step, step)).astype(W.dtype)
