"""The l1 norm of each task's weights, its ball, and the simplex: the independent-tasks side of the comparison.

Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008.

Every projection here takes one number theta off: w_i = sign(v_i) (|v_i| - theta)_+, where theta solves
f(theta) = sum_i (|v_i| - theta)_+ = z. f is convex, decreasing and piecewise linear, so Newton's method from anywhere
is at or below the solution after one step, rises from there, and is done when the set {i: |v_i| > theta} repeats:
a few sweeps over v on vector units, from a start that a sample of v provides.
"""

import math
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import FLOATING, Floats, as_columns, as_output, as_radii, deliver, real_array, require_finite

WARM = False  # `project` takes no warm start

Method = Literal["newton", "pivot", "sort"]
METHODS = ("newton", "pivot", "sort")

# Sums may be reordered, so they run on vector units, and still turn NaN or infinite when an entry is.
REORDER = {"reassoc", "nsz", "contract"}
# For entries that are known to be finite.
FINITE = REORDER | {"nnan", "ninf"}

BALL, SIMPLEX, NONNEGATIVE = 0, 1, 2  # the sets: sum |w| <= z; w >= 0 and sum w = z; w >= 0 and sum w <= z

FIRST_SAMPLE, FIRST_ROWS, MAX_SAMPLE = 64, 128, 2**17  # entries or rows of the samples from which theta is guessed
STRETCH = 8  # neighbouring entries that go into a sample together: a cache line of float64
# A last step that is expected to pass fewer entries is checked only while the result is written: most likely it passes
# none and a sweep is saved, else the result is put right afterwards.
SURE = 0.25
VISIBLE = 1e-3  # the rounding of theta may be this part of z; beyond, steps are not as precise as that prediction needs
FAR = 1 / 64  # where z is a smaller part of the sum, 0 is a start so far from theta that one below the top is better
CLOSE = 1e-4  # nearer to the radius than this, a sum in float32 is taken again in float64
BLOCK = 1024  # entries whose sum is taken in any order; the sums of blocks are added without loss

TILE = 512  # entries of a matrix, or somewhat fewer, that are worked on side by side
TILES = 128  # so many tiles are added up in the matrix's own precision
MANY = 16  # columns are swept all together while more than one in so many needs it
OPEN, DONE, ALONE = 0, 1, 2  # states of a column: not known to be solved, solved, to be solved by itself

LARGE = 2.0**900  # columns with sums above this are scaled down first, so that nothing overflows
LARGE_FLOAT32 = 2.0**100  # the same for float32, whose blocks are summed in float32: they are computed in float64
MOST_SPREAD = 2.0**500  # of weights: their squares must neither overflow nor vanish beside each other


@njit(cache=True)
def add(total, lost, part):  # type: ignore[no-untyped-def]
    """total + part, and all that rounding has lost so far: with it a long sum is as good as exact."""
    larger = total + part
    added = larger - total
    return larger, lost + ((total - (larger - added)) + (part - added))


@njit(cache=True, fastmath=REORDER)
def block_sum(v, signed, zero):  # type: ignore[no-untyped-def]
    """sum v_i, or sum |v_i| unless `signed`, in the precision of `zero`."""
    result = zero
    for i in range(v.size):
        result += v[i] if signed else abs(v[i])
    return result


@njit(cache=True)
def largest_bits(bits, mask):  # type: ignore[no-untyped-def]
    """The bits of the largest float; of the largest magnitude where `mask` takes the sign bit off.

    Floats are ordered like their bits read as integers, negative ones backwards; and the largest integer is found on
    vector units, the largest float is not.
    """
    most, least = bits[0] & mask, bits[0] & mask
    for i in range(bits.size):
        most, least = max(most, bits[i] & mask), min(least, bits[i] & mask)
    result = bits[:1].copy()
    result[0] = most if most >= 0 else least
    return result


@njit(cache=True)
def largest(v, signed):  # type: ignore[no-untyped-def]
    if v.itemsize == 4:
        mask = np.int32(-1) if signed else np.int32(0x7FFFFFFF)
        return v.dtype.type(largest_bits(v.view(np.int32), mask).view(np.float32)[0])
    mask8 = np.int64(-1) if signed else np.int64(0x7FFFFFFFFFFFFFFF)
    return v.dtype.type(largest_bits(v.view(np.int64), mask8).view(np.float64)[0])


@njit(cache=True)
def total_of(v, signed):  # type: ignore[no-untyped-def]
    """sum v_i, or sum |v_i| unless `signed`; not finite if an entry is not."""
    total, lost = 0.0, 0.0
    for start in range(0, v.size, BLOCK):
        total, lost = add(total, lost, block_sum(v[start : start + BLOCK], signed, 0.0))
    return total + lost


@njit(cache=True, fastmath=FINITE)
def block_above(v, theta, signed):  # type: ignore[no-untyped-def]
    """sum (v_i - theta)_+ and the number of v_i > theta, in v's own precision; |v_i| unless `signed`."""
    zero, one = v.dtype.type(0), v.dtype.type(1)
    excess, count = zero, zero
    for i in range(v.size):
        x = (v[i] if signed else abs(v[i])) - theta
        excess += x if x > zero else zero
        count += one if x > zero else zero
    return float(excess), float(count)


@njit(cache=True)
def above(v, theta, signed):  # type: ignore[no-untyped-def]
    total, lost, count = 0.0, 0.0, 0.0
    for start in range(0, v.size, BLOCK):
        part, more = block_above(v[start : start + BLOCK], theta, signed)
        total, lost = add(total, lost, part)
        count += more
    return total + lost, count


@njit(cache=True)
def survey(v, theta, signed):  # type: ignore[no-untyped-def]
    """About sum |v_i|, not finite if an entry is not, and what `above` says: the entries are read from memory once."""
    total, total_lost, excess, excess_lost, count = 0.0, 0.0, 0.0, 0.0, 0.0
    for start in range(0, v.size, BLOCK):
        block = v[start : start + BLOCK]
        total, total_lost = add(total, total_lost, float(block_sum(block, False, v.dtype.type(0))))
        part, more = block_above(block, theta, signed)
        excess, excess_lost = add(excess, excess_lost, part)
        count += more
    return total + total_lost, excess + excess_lost, count


@njit(cache=True)
def first_step(excess, count, z):  # type: ignore[no-untyped-def]
    """What a guess of theta wants: Newton's step for log f = log z, as most tails are nearer to exponential ones."""
    return excess / count * math.log(excess / z) if excess > 0.0 and z > 0.0 else (excess - z) / count


@njit(cache=True)
def newton(v, z, total, theta, excess, count, signed):  # type: ignore[no-untyped-def]
    """(theta, rest, n): f(theta + rest) = z > 0, theta in v's precision and rest the small correction it cannot hold.

    `excess` and `count` belong to the theta to start from, count < 0 if there is none. n is -1, or the number of
    entries that must stay positive for this to be true.
    """
    above_all, plain, previous, step, eps = False, False, -1.0, 0.0, np.finfo(v.dtype).eps
    while True:
        if count > 0.0:
            rest = (excess - z) / count
            better = v.dtype.type(theta + rest)
            if better == theta or (plain and (count == previous or better < theta)):
                return theta, rest, -1.0
            # The last step passed |previous - count| entries, so the next one may pass this many.
            passed = abs(previous - count) * abs(rest / step) if step != 0.0 else np.inf
            if passed < SURE and eps * abs(theta) * count < VISIBLE * z:  # z shows beside the entries
                return better, (theta - better) + rest, count
            plain = previous > 0.0 or above_all or theta == 0.0  # 0 is no guess
            step = rest if plain else first_step(excess, count, z)
            previous, theta = count, v.dtype.type(theta + step)
        elif above_all or plain:  # z is too small to show beside the largest entries
            top, ties = largest(v, signed), 0
            for i in range(v.size):
                ties += (v[i] if signed else abs(v[i])) == top
            return top, -z / ties, -1.0
        else:  # no guess, or a misleading one. f is at least its largest term alone, and all terms without the ()_+
            theta, above_all = v.dtype.type(max(largest(v, signed) - z, (total - z) / v.size)), True
            previous, step = -1.0, 0.0
        excess, count = above(v, theta, signed)


@njit(cache=True)
def sample_of(v, size):  # type: ignore[no-untyped-def]
    """Short stretches of v, evenly spread."""
    stretches = size // STRETCH
    sample, gap = np.empty(stretches * STRETCH, v.dtype), v.size // stretches
    for k in range(stretches):
        for i in range(STRETCH):
            sample[k * STRETCH + i] = v[k * gap + i]
    return sample


@njit(cache=True)
def begin(v, z, theta, signed):  # type: ignore[no-untyped-def]
    """About sum |v_i|, and theta, excess and count to begin with; theta may be -infinity, for no guess."""
    guessed = theta > -np.inf
    theta = theta if guessed else v.dtype.type(0)
    total, excess, count = survey(v, theta, signed)
    # Without a guess 0 will do, unless theta is far from it and not far from the largest entry. Short vectors start
    # from the largest entry too, where small whole numbers are projected without rounding.
    if not guessed and (z < total * FAR or v.size < 4 * FIRST_SAMPLE):
        count = -1.0
    return total, theta, excess, count


@njit(cache=True)
def guess(v, z, signed):  # type: ignore[no-untyped-def]
    """About theta, from samples of v; -infinity if v is short, perhaps inside, or there is something wrong with it."""
    theta = v.dtype.type(-np.inf)
    for size in (FIRST_SAMPLE, min(v.size // 32, MAX_SAMPLE)):
        if FIRST_SAMPLE <= size <= v.size // 4:
            sample = sample_of(v, size)
            share = z * (sample.size / v.size)
            total, theta, excess, count = begin(sample, share, theta, signed)
            if not total < (LARGE if v.itemsize == 8 else LARGE_FLOAT32) or not share < (LARGE if signed else total):
                return v.dtype.type(-np.inf)
            theta, rest, _ = newton(sample, share, total, theta, excess, count, signed)
            theta = v.dtype.type(theta + rest)
    return theta


@njit(cache=True)
def not_below_zero(theta, rest):  # type: ignore[no-untyped-def]
    """theta and rest such that zeros stay zeros, if rounding has brought their sum below 0; not for the simplex."""
    if theta < 0.0:
        return type(theta)(0), max(theta + rest, type(rest)(0))
    return theta, max(rest, -theta)


@njit(cache=True)
def solve(v, z, kind):  # type: ignore[no-untyped-def]
    """What `newton` returns; theta is -1 inside the l1 ball, NaN if v is not finite or must be scaled first."""
    signed, unfit, large = kind != BALL, v.dtype.type(np.nan), LARGE if v.itemsize == 8 else LARGE_FLOAT32
    if not z >= 0.0 or v.size == 0 or not (kind != SIMPLEX or z < large):
        return unfit, 0.0, -1.0
    total, theta, excess, count = begin(v, z, guess(v, z, signed), signed)
    if not total < large:
        return unfit, 0.0, -1.0
    if kind == BALL and total <= z * (1.0 + CLOSE) and (total < z * (1.0 - CLOSE) or total_of(v, False) <= z):
        return v.dtype.type(-1.0), 0.0, -1.0
    if kind == NONNEGATIVE and above(v, v.dtype.type(0), True)[0] <= z:
        return v.dtype.type(0.0), 0.0, -1.0
    if z == 0.0:
        return largest(v, signed), 0.0, -1.0
    theta, rest, n = newton(v, z, total_of(v, True) if signed else total, theta, excess, count, signed)
    if kind != SIMPLEX:
        theta, rest = not_below_zero(theta, rest)
    return theta, rest, n


@njit(cache=True, inline="always")
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


@njit(cache=True)
def shrink_here(b, theta, rest, kind):  # type: ignore[no-untyped-def]
    return shrink_entries(b, theta, rest, kind, b)


@njit(cache=True)
def shrink(v, theta, rest, kind, b):  # type: ignore[no-untyped-def]
    """b_i = sign(v_i) (|v_i| - theta - rest)_+, without the signs for the other sets; the number of b_i != 0."""
    # The compiler uses vector units where it knows that b is v, or sees that they are apart.
    if b.ctypes.data == v.ctypes.data:
        return shrink_here(b, theta, rest, kind)
    return shrink_entries(v, theta, rest, kind, b)


@njit(cache=True)
def shrink_on(b, z, kind):  # type: ignore[no-untyped-def]
    """Project b, which came out too large because entries unexpectedly became zero; Newton's method on b itself."""
    zero, left, count = b.dtype.type(0), 0, -1.0
    while left != count:
        excess, count = above(b, zero, kind != BALL)
        if excess <= z:
            return
        left = shrink(b, b.dtype.type((excess - z) / count), zero, kind, b)


@njit(cache=True)
def project_vector(v, z, kind, b):  # type: ignore[no-untyped-def]
    """Whether v was fit; if so the projection is in b, which may be v."""
    theta, rest, count = solve(v, z, kind)
    if np.isnan(theta):
        return False
    left = shrink(v, theta, v.dtype.type(rest), kind, b)
    if count >= 0.0 and left != count:
        shrink_on(b, z, kind)
    return True


@njit(cache=True)
def tiled(per_task, size):  # type: ignore[no-untyped-def]
    """One number per task repeated for the rows of a tile."""
    result = np.empty(size, per_task.dtype)
    for first in range(0, size, per_task.size):
        for l in range(per_task.size):
            result[first + l] = per_task[l]
    return result


@njit(cache=True)
def tile_size(n_features, n_tasks):  # type: ignore[no-untyped-def]
    """Entries in as many whole rows as are worked on at once: single rows may be too short for vector units."""
    return n_tasks * min(n_features, max(1, TILE // n_tasks))


@njit(cache=True)
def add_tile(w, theta, signed, excesses, counts):  # type: ignore[no-untyped-def]
    """Each w_k, or |w_k| unless `signed`, adds (w_k - theta_k)_+ to excesses_k, and 1 to counts_k if that is not 0."""
    zero, one = w.dtype.type(0), w.dtype.type(1)
    for k in range(w.size):
        x = (w[k] if signed else abs(w[k])) - theta[k]
        excesses[k] += x if x > zero else zero
        counts[k] += one if x > zero else zero


@njit(cache=True)
def add_tiles(w, theta, signed, excesses, counts):  # type: ignore[no-untyped-def]
    """The same for four tiles in a row: reading and writing the sums for each would take most of the time."""
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


@njit(cache=True)
def add_sizes(w, totals):  # type: ignore[no-untyped-def]
    for k in range(w.size):
        totals[k] += abs(w[k])


@njit(cache=True)
def add_four_sizes(w, totals):  # type: ignore[no-untyped-def]
    size = totals.size
    for k in range(size):
        totals[k] += (abs(w[k]) + abs(w[k + size])) + (abs(w[k + 2 * size]) + abs(w[k + 3 * size]))


@njit(cache=True)
def fold(parts, sums, lost):  # type: ignore[no-untyped-def]
    """Add the rows of a tile to the sums of the tasks, without loss; the tile is zero afterwards."""
    n_tasks = sums.size
    for first in range(0, parts.size, n_tasks):
        for l in range(n_tasks):
            sums[l], lost[l] = add(sums[l], lost[l], float(parts[first + l]))
    for k in range(parts.size):
        parts[k] = 0


@njit(cache=True)
def add_panel(w, thetas, signed, excesses, counts):  # type: ignore[no-untyped-def]
    size, start = thetas.size, 0
    while start + 4 * size <= w.size:
        add_tiles(w[start : start + 4 * size], thetas, signed, excesses, counts)
        start += 4 * size
    for first in range(start, w.size, size):
        add_tile(w[first : min(first + size, w.size)], thetas, signed, excesses, counts)


@njit(cache=True)
def add_panel_sizes(w, parts):  # type: ignore[no-untyped-def]
    size, start = parts.size, 0
    while start + 4 * size <= w.size:
        add_four_sizes(w[start : start + 4 * size], parts)
        start += 4 * size
    for first in range(start, w.size, size):
        add_sizes(w[first : min(first + size, w.size)], parts)


@njit(cache=True)
def column_survey(W, theta, signed, totals):  # type: ignore[no-untyped-def]
    """`above` for every column; `totals`, unless empty, takes about sum |W_il|, not finite if an entry is not.

    The entries of a column lie far apart, so whole rows are added to sums that lie side by side.
    """
    n_tasks = W.shape[1]
    w, size = W.reshape(W.size), tile_size(W.shape[0], n_tasks)
    thetas, parts = tiled(theta, size), np.zeros((3, size), W.dtype)
    sums, lost = np.zeros((3, n_tasks)), np.zeros((3, n_tasks))
    for start in range(0, w.size, TILES * size):
        panel = w[start : min(start + TILES * size, w.size)]
        if totals.size:
            add_panel_sizes(panel, parts[0])
            fold(parts[0], sums[0], lost[0])
        add_panel(panel, thetas, signed, parts[1], parts[2])
        fold(parts[1], sums[1], lost[1])
        fold(parts[2], sums[2], lost[2])
    for l in range(totals.size):
        totals[l] = sums[0, l] + lost[0, l]
    return sums[1] + lost[1], sums[2]


@njit(cache=True)
def column_sums(W):  # type: ignore[no-untyped-def]
    """sum |W_il| for every column l, as good as exact; not finite if an entry is not."""
    n_tasks = W.shape[1]
    w, size = W.reshape(W.size), tile_size(W.shape[0], n_tasks)
    parts, sums, lost = np.zeros(size), np.zeros(n_tasks), np.zeros(n_tasks)
    for start in range(0, w.size, TILES * size):
        add_panel_sizes(w[start : min(start + TILES * size, w.size)], parts)
        fold(parts, sums, lost)
    return sums + lost


@njit(cache=True)
def raise_tops(w, signed, tops):  # type: ignore[no-untyped-def]
    for k in range(w.size):
        x = w[k] if signed else abs(w[k])
        tops[k] = x if x > tops[k] else tops[k]


@njit(cache=True)
def column_tops(W, signed):  # type: ignore[no-untyped-def]
    """max_i W_il, or max_i |W_il| unless `signed`, for every column l; entries that are NaN do not count."""
    n_tasks = W.shape[1]
    w, size = W.reshape(W.size), tile_size(W.shape[0], n_tasks)
    tops, tile_tops = np.full(n_tasks, W.dtype.type(-np.inf)), np.full(size, W.dtype.type(-np.inf))
    for start in range(0, w.size, size):
        raise_tops(w[start : min(start + size, w.size)], signed, tile_tops)
    for first in range(0, size, n_tasks):
        raise_tops(tile_tops[first : first + n_tasks], True, tops)
    return tops


@njit(cache=True)
def column_start(W, radii, signed):  # type: ignore[no-untyped-def]
    """A theta at or below the solution for each column: f is at least the term of the largest entry alone."""
    theta = column_tops(W, signed)
    for l in range(theta.size):
        theta[l] = theta[l] - radii[l] if signed or theta[l] > radii[l] else 0
    return theta


@njit(cache=True)
def newton_columns(W, radii, theta, excess, count, signed, state, guessed):  # type: ignore[no-untyped-def]
    """`newton` for the columns whose state is OPEN, from excess and count at theta; changes theta, returns rest and n.

    Columns are swept all together, until so few are expected to have entries that the next step passes that they are
    better put right one by one.
    """
    n_tasks, eps = W.shape[1], np.finfo(W.dtype).eps
    rest, n = np.zeros(n_tasks, W.dtype), np.full(n_tasks, -1.0)
    previous, step = np.full(n_tasks, -1.0), np.zeros(n_tasks)
    sweep, wrong = 0 if guessed else 1, np.inf
    while wrong > n_tasks / MANY:
        wrong = 0.0
        for l in range(n_tasks):
            if state[l] == OPEN and (count[l] == 0.0 or radii[l] == 0.0):
                state[l] = ALONE
            if state[l] != OPEN:
                continue
            more = (excess[l] - radii[l]) / count[l]
            better = W.dtype.type(theta[l] + more)
            if better == theta[l] or (
                previous[l] > 0.0 and sweep > 1 and (count[l] == previous[l] or better < theta[l])
            ):
                rest[l], n[l], state[l] = more, -1.0, DONE
            elif eps * abs(theta[l]) * count[l] > VISIBLE * radii[l]:  # z hardly shows beside the entries
                state[l] = ALONE
            elif sweep == 0:
                wrong, previous[l], step[l] = np.inf, count[l], first_step(excess[l], count[l], radii[l])
                theta[l] += step[l]
            else:
                wrong += min(abs(previous[l] - count[l]) * abs(more / step[l]) if step[l] != 0.0 else 1.0, 1.0)
                previous[l], step[l], n[l] = count[l], more, count[l]
                rest[l], theta[l] = (theta[l] - better) + more, better
        sweep += 1
        if wrong > n_tasks / MANY:
            excess, count = column_survey(W, theta, signed, np.empty(0))
    for l in range(n_tasks):
        if state[l] == ALONE:
            v = W[:, l].copy()
            total, t, excess_l, count_l = begin(v, radii[l], theta[l], signed)
            total = total_of(v, True) if signed else total
            theta[l], rest[l], n[l] = newton(v, radii[l], total, t, excess_l, count_l, signed)
    return rest, n


@njit(cache=True)
def guess_columns(W, radii, signed):  # type: ignore[no-untyped-def]
    """`guess` for every column, from evenly spread rows; for few rows something below theta."""
    n_features, n_tasks = W.shape
    theta = np.empty(0, W.dtype)
    for size in (FIRST_ROWS, min(n_features // 32, MAX_SAMPLE)):
        if FIRST_ROWS <= size <= n_features // 4:
            sample, gap = np.empty((size, n_tasks), W.dtype), n_features // size
            for i in range(size):
                sample[i] = W[i * gap]
            share = radii * (size / n_features)
            if theta.size == 0:
                theta = column_start(sample, share, signed)
            totals = np.empty(n_tasks)
            excess, count = column_survey(sample, theta, signed, totals)
            if not (totals < (LARGE if W.itemsize == 8 else LARGE_FLOAT32)).all():
                return np.zeros(n_tasks, W.dtype)
            state = np.full(n_tasks, OPEN)
            for l in range(n_tasks):
                if not share[l] < (LARGE if signed else totals[l]):  # perhaps inside
                    theta[l], state[l] = 0, DONE
            rest, _ = newton_columns(sample, share, theta, excess, count, signed, state, size > FIRST_ROWS)
            theta += rest
    return theta if theta.size else column_start(W, radii, signed)


@njit(cache=True)
def solve_columns(W, radii, kind):  # type: ignore[no-untyped-def]
    """Whether W was fit, and `solve` for every column."""
    signed, n_tasks = kind != BALL, W.shape[1]
    theta = guess_columns(W, radii, signed)
    totals = np.empty(n_tasks)
    excess, count = column_survey(W, theta, signed, totals)
    state = np.full(n_tasks, OPEN)
    large = LARGE if W.itemsize == 8 else LARGE_FLOAT32
    if not (totals < large).all() or (kind == SIMPLEX and not (radii < large).all()):
        return False, theta, theta, totals
    if kind == BALL and (np.abs(totals - radii) <= CLOSE * radii).any():
        totals = column_sums(W)
    if kind == NONNEGATIVE:
        totals = column_survey(W, np.zeros(n_tasks, W.dtype), True, np.empty(0))[0]
    for l in range(n_tasks):
        if kind != SIMPLEX and totals[l] <= radii[l]:
            theta[l], state[l] = -1 if kind == BALL else 0, DONE
    rest, n = newton_columns(W, radii, theta, excess, count, signed, state, W.shape[0] >= 4 * FIRST_ROWS)
    for l in range(n_tasks):
        if kind != SIMPLEX and totals[l] > radii[l]:
            theta[l], rest[l] = not_below_zero(theta[l], rest[l])
    return True, theta, rest, n


@njit(cache=True, inline="always")
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


@njit(cache=True)
def shrink_each_here(b, theta, rest, kind):  # type: ignore[no-untyped-def]
    shrink_each_entry(b, theta, rest, kind, b)


@njit(cache=True)
def shrink_each(w, theta, rest, kind, b):  # type: ignore[no-untyped-def]
    """`shrink` with a theta for each entry, and without the number of b_k != 0."""
    if b.ctypes.data == w.ctypes.data:
        shrink_each_here(b, theta, rest, kind)
    else:
        shrink_each_entry(w, theta, rest, kind, b)


@njit(cache=True)
def count_tile(b, counts):  # type: ignore[no-untyped-def]
    zero, one = b.dtype.type(0), b.dtype.type(1)
    for k in range(b.size):
        counts[k] += one if b[k] != zero else zero


@njit(cache=True)
def count_tiles(b, counts):  # type: ignore[no-untyped-def]
    """The same for four tiles."""
    zero, one, size = b.dtype.type(0), b.dtype.type(1), counts.size
    for k in range(size):
        few = (one if b[k] != zero else zero) + (one if b[k + size] != zero else zero)
        counts[k] += few + ((one if b[k + 2 * size] != zero else zero) + (one if b[k + 3 * size] != zero else zero))


@njit(cache=True)
def shrink_columns(W, theta, rest, kind, B):  # type: ignore[no-untyped-def]
    """`shrink` for every column, and the numbers of entries that are not 0."""
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


@njit(cache=True)
def project_columns(W, radii, kind, B):  # type: ignore[no-untyped-def]
    """`project_vector` for every column of W, with its own radius."""
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


@njit(cache=True, fastmath=FINITE)
def block_above_weighted(v, a, theta):  # type: ignore[no-untyped-def]
    """sum a_i (|v_i| - theta a_i)_+, minus its slope, and the number of positive terms."""
    excess, slope, count = 0.0, 0.0, 0.0
    for i in range(v.size):
        x = abs(v[i]) - theta * a[i]
        excess += a[i] * x if x > 0.0 else 0.0
        slope += a[i] * a[i] if x > 0.0 else 0.0
        count += 1.0 if x > 0.0 else 0.0
    return excess, slope, count


@njit(cache=True)
def shrink_weighted(v, a, z, b):  # type: ignore[no-untyped-def]
    """b_i = sign(v_i) (|v_i| - theta a_i)_+ with sum a_i |b_i| = z > 0, by Newton's method; v outside the ball."""
    theta = 0.0
    for i in range(v.size):
        theta = max(theta, (abs(v[i]) - z / a[i]) / a[i])  # f is at least any of its terms alone
    previous, rest = -1.0, 0.0
    while True:
        excess, lost, slope, count = 0.0, 0.0, 0.0, 0.0
        for start in range(0, v.size, BLOCK):
            part, more, n = block_above_weighted(v[start : start + BLOCK], a[start : start + BLOCK], theta)
            excess, lost = add(excess, lost, part)
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
    """The columns of W as contiguous rows, (n_tasks, n_features); a vector is one task."""
    return np.ascontiguousarray(W.T if W.ndim == 2 else W[np.newaxis])


def like(W: Floats, per_task: NDArray[np.float64]) -> Any:
    """One number per task; for a vector a float."""
    return per_task if W.ndim == 2 else float(per_task[0])


def sums_of(W: Floats) -> NDArray[np.float64]:
    """sum_i |W_il| for each task l; a vector is one task."""
    if W.ndim == 1 or W.shape[1] == 1:
        return np.array([total_of(W.reshape(-1), False)])
    sums: NDArray[np.float64] = column_sums(W) if W.size else np.zeros(W.shape[1])
    return sums


def norm(W: ArrayLike) -> Any:
    """||w_l||_1 = sum_i |W_il| for each task l.

    W: (n_features, n_tasks), or one task's (n_features,). Returns an array (n_tasks,), for a vector a float; infinity
    for sums above the largest float. Raises ValueError for NaN, infinity or a wrong shape.

    >>> norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 3.])
    """
    W = as_columns(W)
    sums = sums_of(W)
    if not np.isfinite(sums).all():
        require_finite(W)
        sums[~np.isfinite(sums)] = np.inf  # above the largest float
    return like(W, sums)


def dual_norm(W: ArrayLike) -> Any:
    """max_i |W_il| for each task l, the dual of the l1 norm.

    W: (n_features, n_tasks), or one task's (n_features,). Returns an array (n_tasks,), for a vector a float. Raises
    ValueError for NaN, infinity or a wrong shape.

    >>> dual_norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 2.])
    """
    W = as_columns(W)
    if not np.isfinite(sums_of(W)).all():
        require_finite(W)
    if not W.size:
        return like(W, np.zeros(W.shape[1:] or 1))
    return like(W, column_tops(W if W.ndim == 2 else W[:, np.newaxis], False).astype(np.float64))


@njit(cache=True)
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


@njit(cache=True)
def polish(u, z, theta):  # type: ignore[no-untyped-def]
    """One Newton step on sum (u - theta)_+ = z: removes what rounding gathered on the way to theta."""
    excess, count = above(u, theta, True)
    return theta + (excess - z) / count if count > 0 else theta


def threshold(v: Floats, z: float, kind: int, method: Method) -> tuple[float, float]:
    """(theta, rest) as `solve` gives them, by one of the paper's methods."""
    size = np.abs(v) if kind == BALL else v
    if kind == BALL and total_of(v, False) <= z:
        return -1.0, 0.0
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


def by_method(W: Floats, radii: NDArray[np.float64], kind: int, method: Method, B: Floats) -> bool:
    """`project_columns` by one of the paper's methods; W: (n_features, n_tasks)."""
    V = tasks(W)
    if not (sums_of(W) < (LARGE if W.itemsize == 8 else LARGE_FLOAT32)).all() or (
        kind == SIMPLEX and radii.max() > LARGE
    ):
        return False
    pairs = [threshold(v, float(z), kind, method) for v, z in zip(V, radii, strict=True)]
    for b, v, (theta, rest) in zip(B.T, V, pairs, strict=True):
        projected = np.empty(v.shape)
        shrink(v.astype(np.float64), theta, rest, kind, projected)
        b[...] = projected
    return True


def scaled_down(W: Floats, radii: NDArray[np.float64], kind: int, method: Method) -> Floats:
    """Projection of columns some of which have sums that could overflow, by way of smaller numbers in float64."""
    tops = np.abs(W).max(axis=0).astype(np.float64)
    large = (tops > LARGE / len(W)) | ((radii > LARGE / 2) & (kind == SIMPLEX))
    scale = np.where(large, 2.0**-256, 1.0)
    V, z = W.astype(np.float64) * scale, radii * scale
    B = np.empty_like(V)
    if method == "newton":
        project_columns(V, z, kind, B)
    else:
        by_method(V, z, kind, method, B)
    inside = (sums_of(V) <= z) & (kind == BALL)
    return np.where(inside, W, (B / scale).astype(W.dtype))


def is_apart(out: Any, W: Floats) -> bool:
    """Whether `out` is like W and shares nothing with it, seen at a glance: each has memory of its own."""
    return (
        type(out) is np.ndarray
        and out.flags.carray
        and out.flags.owndata
        and W.flags.owndata
        and out.dtype is W.dtype
        and out.shape == W.shape
    )


def project_onto(kind: int, W: ArrayLike, radius: ArrayLike, method: Method, out: Floats | None, name: str) -> Floats:
    """Each column of W onto its own set. `name` and `radius`, what the caller calls them, are for errors."""
    # The usual case, first: what follows would take longer than projecting a thousand entries.
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
        done = by_method(columns, radii, kind, method, result)
    elif V.ndim == 1:
        done = project_vector(V, radii[0], kind, B)
    else:
        done = project_columns(columns, radii, kind, result)
    if not done:
        require_finite(V, name)
        result[...] = scaled_down(columns, radii, kind, method)
    return deliver(B, out)


def project(
    W: ArrayLike,
    radius: ArrayLike,
    *,
    method: Method = "newton",
    weights: ArrayLike | None = None,
    out: Floats | None = None,
) -> Floats:
    """min_B 1/2 ||B - W||_F^2  subject to  sum_i |B_il| <= radius_l for each task l.

    The solution is B_il = sign(W_il) max(|W_il| - theta_l, 0); with weights a > 0 the constraint is
    sum_i a_il |B_il| <= radius_l and the solution sign(W_il) max(|W_il| - theta_l a_il, 0).

    W: (n_features, n_tasks), or one task's (n_features,). radius: at least 0, one number or one per task, the papers'
    z or C. method: "newton", the fastest; "pivot", expected linear time ([D08] Fig. 2); "sort", O(n log n) ([D08]
    Fig. 1); they agree up to rounding. weights: positive, (n_features,) or W's shape, solved by "newton". out: where to
    write, an array of W's shape and precision, perhaps W itself; a new array by default. Returns B; a column inside
    its ball comes back bit for bit, and zeros stay zeros. The norm of another may exceed its radius by rounding, unlike
    that of an l1,inf projection. Raises ValueError for NaN, infinity, a wrong shape, an unknown method, a radius below
    0 or NaN, and weights that are not positive and finite or, in one column, differ by a factor above 2^500.

    Source: Duchi et al. (2008), eq. 7, Fig. 1 and Fig. 2.

    >>> project([3.0, -1.0, 0.5], radius=2.0)
    array([2., 0., 0.])
    """
    if weights is None:
        return project_onto(BALL, W, radius, method, out, "W")
    if method != "newton":
        raise ValueError(f"method must be newton where weights are given, got {method!r}")
    return project_weighted(as_columns(W), radius, weights, out)


def project_weighted(W: Floats, radius: ArrayLike, weights: ArrayLike, out: Floats | None) -> Floats:
    require_finite(W)
    B = as_output(out, W)
    radii = as_radii(radius, W.shape[1] if W.ndim == 2 else 1)
    a = real_array(weights, "weights").astype(np.float64)
    if a.shape not in (W.shape, W.shape[:1]):
        raise ValueError(f"weights must have W's shape {W.shape} or one number per feature, got shape {a.shape}")
    if not (np.isfinite(a) & (a > 0)).all():
        raise ValueError("weights must be positive and finite")
    V = tasks(W).astype(np.float64)
    A = np.broadcast_to(a, V.shape) if a.ndim == 1 else tasks(a)
    least, most = A.min(axis=1, initial=np.inf), A.max(axis=1, initial=0.0)
    for l in np.flatnonzero(least < most / MOST_SPREAD)[:1]:
        raise ValueError(
            f"weights must differ by a factor of at most 2^500 within a column, got {least[l]} and {most[l]}"
        )
    projected = np.empty_like(V)
    for b, v, a_l, z in zip(projected, V, A, radii, strict=True):
        # Powers of two that bring the largest entry and the largest weight near 1: nothing overflows.
        unit, heavy = (2.0 ** min(1 - int(np.frexp(x.max(initial=0.0))[1]), 1023) for x in (np.abs(v), a_l))
        u, c, y = v * unit, a_l * heavy, float(z) * unit * heavy
        if total_of(u * c, False) <= y:
            b[...] = v
        elif y == 0.0:
            b[...] = 0.0
        else:
            shrink_weighted(u, c, y, b)
            b /= unit
    B[...] = projected.T.reshape(W.shape)
    return deliver(B, out)


def project_simplex(v: ArrayLike, z: float, *, method: Method = "newton", out: Floats | None = None) -> Floats:
    """min_w 1/2 ||w - v||^2  subject to  sum_i w_i = z, w_i >= 0.

    The solution is w_i = max(v_i - theta, 0).

    v: (n,), any signs. z: at least 0. method and out as in `project`. Returns an array (n,). Raises ValueError for NaN,
    infinity, a wrong shape, an unknown method, an empty v with z > 0, and z below 0, NaN or above the largest
    number of v's precision.

    Source: Duchi et al. (2008), eq. 3, Fig. 1 and Fig. 2.

    >>> project_simplex([-5.0, 1.0, 0.5], z=1.0)
    array([0.  , 0.75, 0.25])
    """
    if np.ndim(v) > 1:
        raise ValueError(f"v must be a vector, got shape {np.shape(v)}")
    return project_onto(SIMPLEX, v, z, method, out, "v")


def project_nonnegative(v: ArrayLike, z: ArrayLike, *, method: Method = "newton", out: Floats | None = None) -> Floats:
    """min_w 1/2 ||w - v||^2  subject to  sum_i w_i <= z, w_i >= 0; each column for itself.

    The solution is max(v_i, 0) if that is feasible, else the projection onto the simplex.

    v: (n,), any signs, or (n, n_tasks). z: at least 0, one number or one per column. method and out as in `project`.
    Returns an array of v's shape. Raises ValueError for NaN, infinity, a wrong shape, an unknown method and z below 0
    or NaN.

    Source: Duchi et al. (2008), sec. 7.

    >>> project_nonnegative([-5.0, 1.0, 0.5], z=2.0)
    array([0. , 1. , 0.5])
    """
    return project_onto(NONNEGATIVE, v, z, method, out, "v")


def prox(W: ArrayLike, step: ArrayLike) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + sum_l step_l sum_i |B_il|, soft thresholding: sign(W_il) max(|W_il| - step_l, 0).

    W: (n_features, n_tasks), or one task's (n_features,). step: at least 0, one number or one per task. Returns a new
    array. Raises ValueError for NaN, infinity, a wrong shape, a step below 0 or NaN.
    Source: Duchi et al. (2008), eq. 6, with theta given.

    >>> prox([3.0, -1.0, 0.5], step=0.5)
    array([ 2.5, -0.5,  0. ])
    """
    W = as_columns(W)
    require_finite(W)
    step = as_radii(step, W.shape[1] if W.ndim == 2 else 1, "step")
    return (W - np.clip(W, -step, step)).astype(W.dtype)
