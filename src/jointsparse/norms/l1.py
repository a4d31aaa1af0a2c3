"""The l1 norm of each task's weights, its ball, and the simplex: sparse weights for independent tasks.

Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008.

Every projection in this module subtracts a threshold theta: w_i = sign(v_i) (|v_i| - theta)_+, where theta solves
f(theta) = sum_i (|v_i| - theta)_+ = z. `theta_by_sorting` and `theta_by_pivot` are the paper's algorithms.

The rest of this file is a faster algorithm, which takes a tenth to a third of the time of a sort. Since f is convex,
decreasing and piecewise linear, the first step of Newton's method leads from any start to the solution or below it, and
all further steps increase theta. The iteration ends as soon as the set {i: |v_i| > theta} repeats. If it starts from an
estimate from a sample of v, a few sweeps over v are enough.
"""

import math
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import (
    FLOATING,
    Floats,
    as_columns,
    as_output,
    as_radii,
    deliver,
    positive_part,
    require,
    require_finite,
)
from jointsparse.compiled import njit
from jointsparse.groups import as_weights
from jointsparse.norms import on_arrays
from jointsparse.norms.rows import (
    FINITE,
    REORDER,
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
PER_TASK = True  # one norm and one ball per task
SPARSE = True  # single weights become 0, see `dual_rows`
WEIGHTED = True  # functions take `weights`, one per feature
GROUPED = False  # no function takes `groups`
DESCENDS = False  # there is no `descend`

Method = Literal["newton", "pivot", "sort"]
Vector = NDArray[np.float64]
METHODS = ("newton", "pivot", "sort")


def theta_by_sorting(v: Floats, z: float) -> float:
    """Return theta such that sum (v - theta)_+ = z, found by sorting v. Paper: [D08] Fig. 1."""
    u = np.sort(v)[::-1]
    j = np.arange(1, len(u) + 1)
    theta = (np.cumsum(u) - z) / j
    rho = np.flatnonzero(u - theta > 0)[-1]
    return float(theta[rho])


@njit
def theta_by_pivot(u, z):  # type: ignore[no-untyped-def]
    """Return theta such that sum (u - theta)_+ = z, in expected linear time. Changes the order of u. Paper: Fig. 2."""
    # Paper: U = [n], s = rho = 0. U is u[start:end].
    start, end = 0, u.size
    s, rho = 0.0, 0
    random = np.uint64(1)
    # Paper: pick k in U at random. Choice: use a fixed pseudo-random sequence, so that results are reproducible.
    while start < end:
        random = random * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        pivot = u[start + np.int64((random >> np.uint64(33)) % np.uint64(end - start))]
        # Paper: partition U into G, the entries from u_k up, and L. Choice: divide G further, into larger entries (up
        # to `tied`) and equal ones (up to `smaller`).
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
        # Paper: delta_rho = |G|, delta_s = sum of G. If the test holds, all of G stays positive: continue with L.
        delta_rho = smaller - start
        if (s + delta_s) - (rho + delta_rho) * pivot < z:
            s, rho, start = s + delta_s, rho + delta_rho, smaller
        # Paper: else continue with G without k. Choice: entries tied with the pivot leave U together with it, because
        # ties would take quadratic time.
        else:
            end = tied
    # Paper: theta = (s - z) / rho.
    return (s - z) / rho


@np.errstate(over="ignore")
def theta_of_paper(method: Method, v: Floats, z: float) -> float:
    """Return theta, computed by a method of the paper.

    Returns minus infinity if the method is "newton", if v is inside the ball, or if the sum of v overflows.
    """
    if method == "newton":
        return -np.inf
    u = np.abs(v).astype(np.float64)
    if not 0.0 < z < u.sum() < np.inf:
        return -np.inf
    # Choice: theta is computed relative to the largest entry, from entries that can stay positive. This keeps accuracy
    # for small z.
    top = float(u.max())
    below = u[u - top > -z] - top
    return top + (theta_by_sorting(below, z) if method == "sort" else theta_by_pivot(below, z))


# The faster algorithm

# States of a column in `newton_columns`
OPEN = 0  # theta is not found yet, and sweeps over all columns continue to improve it
DONE = 1  # theta is found
ALONE = 2  # sweeps cannot improve this column further: `newton` solves it separately after the sweeps

INSIDE = -1.0  # value of theta that marks a column inside the l1 ball
# Special values in place of a number of positive entries:
NO_GUESS = -1.0  # there is no theta to start from
CERTAIN = -1.0  # theta needs no check, because the column is inside its ball or its projection is 0

FIRST_SAMPLE_ENTRIES = 64  # size of the first sample of a vector, from which theta is estimated
FIRST_SAMPLE_ROWS = 128  # number of rows in the first sample of a matrix
LARGEST_SAMPLE = 2**17  # largest number of entries or rows in the second sample
STRETCH_ENTRIES = 8  # number of adjacent entries that are sampled together: a cache line of float64
# If the last step is expected to pass fewer entries than this, it is checked only while the result is written. That
# saves a sweep if the step passes no entry, which is most likely. Otherwise the result is corrected afterwards.
SURE_ENTRIES = 0.25
# If fewer than one in this many entries of a vector are above a lower bound of theta, only these are read again.
ENTRIES_PER_CANDIDATE = 2048
VISIBLE_SHARE = 1e-3  # fraction of z. If theta's rounding error is larger, the last step must be checked by a sweep
# Newton's method may end only where f(theta) is between z / NEAR and z * NEAR: the rounding of a larger f would be
# visible in the norm, and a smaller one says little about entries below theta.
NEAR = 2.0
FAR_SHARE = 1 / 64  # fraction of the sum. If z is smaller, theta is nearer to the largest entry than to 0
CLOSE_SHARE = 1e-4  # fraction of the radius. A float32 sum that is closer to the radius is computed again in float64
DEEPER = 1.0 + 2.0**-40  # factor that keeps a shifted vector outside the ball in spite of the rounding of its sum
BLOCK_ENTRIES = 1024  # a block is summed in any order; the sums of blocks are added with compensation

TILE_ENTRIES = 512  # largest number of entries of a matrix that are processed side by side
PANEL_TILES = 128  # number of tiles that are added in the dtype of the matrix
FEW_SHARE = 1 / 16  # fraction of columns. If the next sweep would correct fewer, they are corrected one by one

SMALLER = 2.0**-64  # factor by which columns are scaled if their sums might overflow
LARGE_SUM = 2.0**900  # columns with larger sums are scaled by SMALLER


@njit
def largest_entry(v):  # type: ignore[no-untyped-def]
    """Return max |v_i|."""
    if v.itemsize == 4:
        top = top_bits(v.view(np.int32), np.int32(0x7FFFFFFF))
        return v.dtype.type(np.array([top], np.int32).view(np.float32)[0])
    top8 = top_bits(v.view(np.int64), np.int64(0x7FFFFFFFFFFFFFFF))
    return v.dtype.type(np.array([top8], np.int64).view(np.float64)[0])


@njit
def add_magnitudes(v, sums, lost):  # type: ignore[no-untyped-def]
    """Add |v_k| to sums_k by compensated summation. lost: the accumulated rounding errors."""
    for k in range(v.size):
        sums[k], lost[k] = add_compensated(sums[k], lost[k], abs(np.float64(v[k])))


@njit
def total_of(v):  # type: ignore[no-untyped-def]
    """Return sum |v_i|, accurate up to one rounding error. The sum is not finite if an entry of v is not."""
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
    """Return sum (|v_i| - theta)_+ and the number of |v_i| > theta, computed in the dtype of v."""
    zero, one = v.dtype.type(0), v.dtype.type(1)
    excess, count = zero, zero
    for i in range(v.size):
        x = abs(v[i]) - theta
        excess += x if x > zero else zero
        count += one if x > zero else zero
    return float(excess), float(count)


@njit
def gather(v, theta, first, candidates, end):  # type: ignore[no-untyped-def]
    """Write `first` + i for every i with |v_i| > theta to `candidates`, in front of `end`, and return the new end."""
    for i in range(v.size - 1, -1, -1):
        if abs(v[i]) > theta:
            end -= 1
            candidates[end] = first + i
    return end


@njit
def survey(v, theta, candidates):  # type: ignore[no-untyped-def]
    """Return sum |v_i| (approximately), sum (|v_i| - theta)_+ and the number of |v_i| > theta, from one pass over v.

    The first sum is not finite if an entry is not. The indices i with |v_i| > theta are written to `candidates` if this
    array is long enough. If it is None, no indices are written and the first sum is 0.
    """
    total, total_lost, excess, excess_lost, count, n_blocks = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    for start in range(0, v.size, BLOCK_ENTRIES):
        block = v[start : start + BLOCK_ENTRIES]
        part, more = block_above(block, theta)
        excess, excess_lost = add_compensated(excess, excess_lost, part)
        if candidates is not None:
            total, total_lost = add_compensated(total, total_lost, float(block_sum(block, v.dtype.type(0))))
            if more > 0.0 and n_blocks < candidates.size:
                candidates[n_blocks] = start  # indices are gathered from these blocks, but only if all of them fit
                n_blocks += 1
        count += more
    if candidates is not None and count <= candidates.size:
        # The last blocks come first. Their indices do not overwrite the other blocks, each of which has an index.
        end = int(count)
        for r in range(n_blocks - 1, -1, -1):
            start = candidates[r]
            end = gather(v[start : start + BLOCK_ENTRIES], theta, start, candidates, end)
    return total + total_lost, excess + excess_lost, count


@njit
def step_from_guess(excess, count, z):  # type: ignore[no-untyped-def]
    """Return the step of Newton's method for log f = log z. Most tails are closer to exponential than to linear."""
    return excess / count * math.log(excess / z) if excess > 0.0 and z > 0.0 else (excess - z) / count


@njit
def newton(v, z, total, theta, excess, count):  # type: ignore[no-untyped-def]
    """Solve f(theta + rest) = z > 0 by Newton's method, and return theta, rest and n.

    theta has the dtype of v, and rest is the part of the solution that theta loses by rounding to this dtype. The
    solution is correct if exactly n entries stay positive. `excess` and `count` must be computed at the initial theta;
    `count` is NO_GUESS if there is no initial theta.
    """
    # plain: the last step was Newton's step for f itself, not for log f. bounded: theta was reset to a lower bound.
    bounded, plain, previous, step, eps = False, False, -1.0, 0.0, np.finfo(v.dtype).eps
    while True:
        if count > 0.0:
            rest = (excess - z) / count
            better = v.dtype.type(theta + rest)
            exact = excess <= NEAR * z
            # Exit 1: theta or the set repeats. Entries equal to theta may still join the set because of rest.
            if better == theta or (plain and exact and (count == previous or better < theta)):
                return theta, rest, count
            # Exit 2: the next step is expected to pass no entry. The last step passed |previous - count| entries.
            passed = abs(previous - count) * abs(rest / step) if step != 0.0 else np.inf
            if exact and z <= NEAR * excess and passed < SURE_ENTRIES and eps * abs(theta) * count < VISIBLE_SHARE * z:
                return better, (theta - better) + rest, count
            plain = previous > 0.0 or bounded or theta == 0.0  # theta = 0 does not come from a guess
            step = rest if plain else step_from_guess(excess, count, z)
            previous, theta = count, v.dtype.type(theta + step)
        elif bounded or plain:
            # Exit 3: z is so small compared with the largest entries that it is lost to rounding. These entries share z
            # equally.
            top = largest_entry(v)
            tied = float(np.sum(np.abs(v) == top))
            return top, -z / tied, tied
        else:
            # There is no guess, or it is above all entries. Both bounds hold because f is at least its largest term,
            # and at least the sum of all terms without the positive part.
            theta, bounded = v.dtype.type(max(largest_entry(v) - z, (total - z) / v.size)), True
            previous, step = -1.0, 0.0
        _, excess, count = survey(v, theta, None)


@njit
def sample_of(v, size):  # type: ignore[no-untyped-def]
    """Return a sample of about `size` entries of v: short runs of adjacent entries, which are evenly spread over v."""
    stretches = size // STRETCH_ENTRIES
    gap = v.size // stretches
    return v[: gap * stretches].reshape(stretches, gap)[:, :STRETCH_ENTRIES].copy().reshape(-1)


@njit
def starting_point(v, z, theta, candidates):  # type: ignore[no-untyped-def]
    """Return sum |v_i| (approximately), and the theta, excess and count from which `newton` starts.

    theta: a guess, or minus infinity if there is none. candidates: see `survey`.
    """
    guessed = theta > -np.inf
    theta = theta if guessed else v.dtype.type(0)
    total, excess, count = survey(v, theta, candidates)
    # Without a guess `newton` starts at 0, unless theta is closer to the largest entry. For short vectors it also
    # starts at the largest entry, because small whole numbers are then projected without rounding.
    if not guessed and (z < total * FAR_SHARE or v.size < 4 * FIRST_SAMPLE_ENTRIES):
        count = NO_GUESS
    return total, theta, excess, count


@njit
def guess_theta(v, z, no_candidates):  # type: ignore[no-untyped-def]
    """Estimate theta from a sample of v, and then from a larger sample, which starts from the first estimate.

    Returns minus infinity, which means that there is no estimate, if v is too short for a sample, or if the sum of a
    sample is not finite. Also if this sum is at most z times the sampled fraction of v, because v may then be inside
    the l1 ball. no_candidates: an empty array, with which `survey` computes the sum but writes no indices.
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
    """Adjust theta and rest such that their sum is not negative and rest is only what theta loses by rounding.

    If the sum were negative, zeros would not stay zeros. If rest were larger, rounding could let entries grow.
    """
    better = type(theta)(theta + rest)
    theta, rest = better, type(rest)((theta - better) + rest)
    if theta < 0.0:
        return type(theta)(0), type(rest)(0)
    return theta, max(rest, type(rest)(-theta))


@njit
def solve_vector(v, z, guess, candidates):  # type: ignore[no-untyped-def]
    """Return theta, rest and n like `newton`, and the number of candidates.

    theta is INSIDE if v is inside the l1 ball, and NaN if v is empty, its sum is not finite, or z is negative or NaN.
    The projection is 0 at all entries that are not candidates. If the number of candidates is 0, `candidates` is not
    used, and any entry may be positive. guess: an estimate of theta, or minus infinity.
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
    """Do the work of `shrink`. If theta is negative, which means INSIDE, v is copied unchanged. rest: see `newton`."""
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
    """Write b_i = sign(v_i) (|v_i| - theta - rest)_+, or v_i if theta is INSIDE, and count the non-zero b_i."""
    # The compiler vectorises if it knows that b is v or that they do not overlap.
    if b.ctypes.data == v.ctypes.data:
        return shrink_here(b, theta, rest)
    return shrink_entries(v, theta, rest, b)


@njit
def shrink_on(b, z):  # type: ignore[no-untyped-def]
    """Shrink b further by Newton's method, if its norm is still above z because more entries than expected became 0."""
    zero, shorter = b.dtype.type(0), 1.0 - BLOCK_ENTRIES * np.finfo(b.dtype).eps
    while True:
        _, excess, count = survey(b, zero, None)
        if excess <= z:
            return
        # A large excess is not exact. A shorter step leaves a little of it, and the next step corrects its rounding.
        is_near = excess <= NEAR * z
        step = (excess - z) / count * (1.0 if is_near else shorter)
        theta = b.dtype.type(step)
        if shrink(b, theta, b.dtype.type(step - theta), b) == count and is_near:
            return


@njit
def project_vector(v, z, guess, b):  # type: ignore[no-untyped-def]
    """Write the projection of v to b, which may be v, and return True.

    Return False, with nothing written, if v is empty, its sum is not finite, or z is negative or NaN. guess: an
    estimate of theta, or minus infinity.
    """
    candidates = np.empty(v.size // ENTRIES_PER_CANDIDATE, np.int64)
    # n: number of entries that stay positive if theta is right, or CERTAIN, a negative number, if theta needs no check.
    # few: number of candidates, which are the only entries whose projection is not 0, or 0 if all entries are needed.
    theta, rest, n, few = solve_vector(v, z, guess, candidates)
    if np.isnan(theta):
        return False
    result = b
    if few:
        v = v[candidates[:few]]
        result = v
    nonzeros = shrink(v, theta, v.dtype.type(rest), result)
    if n >= 0.0 and nonzeros != n:
        # The last step has passed entries, which are now zero: theta is too small, so the result is still too large.
        shrink_on(result, z)
    if few:
        b[:] = 0
        for i in range(few):
            b[candidates[i]] = result[i]
    return True


@njit
def tiled(per_task, size):  # type: ignore[no-untyped-def]
    """Repeat an array with one number per task, so that it has one number per entry of a tile of `size` entries."""
    result = np.empty(size, per_task.dtype)
    for first in range(0, size, per_task.size):
        for l in range(per_task.size):
            result[first + l] = per_task[l]
    return result


@njit
def tile_size(n_features, n_tasks):  # type: ignore[no-untyped-def]
    """Return the number of entries in a tile of whole rows. Single rows may be too short to vectorise."""
    return n_tasks * min(n_features, max(1, TILE_ENTRIES // n_tasks))


@njit
def add_tile(w, theta, excesses, counts, sizes):  # type: ignore[no-untyped-def]
    """Add (|w_k| - theta_k)_+ to excesses_k and, if |w_k| > theta_k, 1 to counts_k.

    Unless `sizes` is None, |w_k| is added to sizes_k.
    """
    zero, one = theta.dtype.type(0), theta.dtype.type(1)
    for k in range(w.size):
        x = abs(w[k]) - theta[k]
        excesses[k] += x if x > zero else zero
        counts[k] += one if x > zero else zero
        if sizes is not None:
            sizes[k] += abs(w[k])


@njit
def add_tiles(w, theta, excesses, counts, sizes):  # type: ignore[no-untyped-def]
    """Do the work of `add_tile` for four consecutive tiles at once, so that the sums are accessed less often."""
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
    """Add the rows of a tile to the sums of the tasks by compensated summation, and set the tile to zero."""
    n_tasks = sums.size
    for first in range(0, parts.size, n_tasks):
        for l in range(n_tasks):
            sums[l], lost[l] = add_compensated(sums[l], lost[l], float(parts[first + l]))
            parts[first + l] = 0


@njit
def survey_columns(W, theta, with_sums):  # type: ignore[no-untyped-def]
    """Return sum_i (|W_il| - theta_l)_+, the number of |W_il| > theta_l, and sum_i |W_il| for every column l.

    The last sum is not finite if an entry is not, and 0 if `with_sums` is None. Panels are summed in the dtype of
    theta, and the sums of panels are added by compensated summation.
    """
    # The entries of a column lie far apart in memory, so whole rows are added to an array of sums.
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
    """Return sum_i |W_il| for every column l, accurate up to one rounding error, or not finite if an entry is not."""
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
    """Return a lower bound of theta for each column. It holds because f is at least its term for the largest entry."""
    theta = np.zeros(W.shape[1], W.dtype)
    for i in range(W.shape[0]):
        raise_tops(W[i], theta)
    for l in range(theta.size):
        theta[l] = theta[l] - radii[l] if theta[l] > radii[l] else 0
    return theta


@njit
def step_columns(radii, theta, excess, count, rest, n, previous, step, state, sweep):  # type: ignore[no-untyped-def]
    """Take a step of Newton's method in every OPEN column, and return how many columns are expected to need more steps.

    Return infinity if the step started from a guess. Otherwise, theta, rest and n are also updated for columns that
    stay OPEN; theta and rest are exact if exactly n entries of the column remain positive.
    """
    n_tasks, eps, unsure = theta.size, np.finfo(theta.dtype).eps, 0.0
    for l in range(n_tasks):
        if state[l] == OPEN and (count[l] == 0.0 or radii[l] == 0.0):
            state[l] = ALONE
        if state[l] != OPEN:
            continue
        more = (excess[l] - radii[l]) / count[l]
        better = theta.dtype.type(theta[l] + more)
        exact = excess[l] <= NEAR * radii[l]
        repeats = previous[l] > 0.0 and sweep > 1 and (count[l] == previous[l] or better < theta[l])
        if better == theta[l] or (exact and repeats):
            rest[l], n[l], state[l] = more, count[l], DONE
        elif eps * abs(theta[l]) * count[l] > VISIBLE_SHARE * radii[l]:
            state[l] = ALONE
        elif sweep == 0:
            unsure, previous[l], step[l] = np.inf, count[l], step_from_guess(excess[l], count[l], radii[l])
            theta[l] += step[l]
        else:
            # The last step passed |previous - count| entries. The number for this step is taken to be proportional.
            passed = abs(previous[l] - count[l]) * abs(more / step[l]) if step[l] != 0.0 and exact else 1.0
            unsure += min(passed, 1.0)
            previous[l], step[l], n[l] = count[l], more, count[l]
            rest[l], theta[l] = (theta[l] - better) + more, better
    return unsure


@njit
def newton_columns(W, radii, theta, excess, count, state, guessed):  # type: ignore[no-untyped-def]
    """Do the work of `newton` for all OPEN columns. Update theta, and return rest and n.

    `excess` and `count` must be computed at the initial theta. Every sweep reads all columns. The sweeps end when few
    columns are expected to need another sweep; these columns are corrected one by one after the result is written.
    """
    n_tasks = W.shape[1]
    rest, n = np.zeros(n_tasks, W.dtype), np.full(n_tasks, CERTAIN)
    previous, step = np.full(n_tasks, -1.0), np.zeros(n_tasks)
    sweep = 0 if guessed else 1
    while step_columns(radii, theta, excess, count, rest, n, previous, step, state, sweep) > n_tasks * FEW_SHARE:
        sweep += 1
        excess, count, _ = survey_columns(W, theta, None)
    for l in range(n_tasks):
        if state[l] == ALONE or (state[l] == OPEN and excess[l] > NEAR * radii[l]):
            v = W[:, l].copy()
            total, t, excess_l, count_l = starting_point(v, radii[l], theta[l], np.empty(0, np.int64))
            theta[l], rest[l], n[l] = newton(v, radii[l], total, t, excess_l, count_l)
    return rest, n


@njit
def guess_columns(W, radii):  # type: ignore[no-untyped-def]
    """Estimate theta of every column from evenly spread rows. If W has few rows, return a lower bound of theta."""
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
                if not share[l] < totals[l]:  # the column may be inside its ball
                    theta[l], state[l] = 0, DONE
            rest, _ = newton_columns(sample, share, theta, excess, count, state, size > FIRST_SAMPLE_ROWS)
            theta += rest
    return theta if theta.size else column_bounds(W, radii)


@njit
def solve_columns(W, radii):  # type: ignore[no-untyped-def]
    """Return True, and theta, rest and n of every column, which are defined in `newton`.

    theta is INSIDE for a column inside its l1 ball. If the sum of a column is not finite, the result is False and
    meaningless numbers.
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
    """Do the work of `shrink` with one theta per entry. Add 1 to counts_k where |w_k| exceeds theta_k + rest_k."""
    if b.ctypes.data == w.ctypes.data:
        shrink_tile_here(b, theta, rest, counts)
    else:
        shrink_tile_entries(w, theta, rest, b, counts)


@njit
def shrink_columns(W, theta, rest, B):  # type: ignore[no-untyped-def]
    """Do the work of `shrink` for all columns, and return their numbers of non-zero entries. rest: see `newton`."""
    n_tasks = W.shape[1]
    w, b, size = W.reshape(W.size), B.reshape(W.size), tile_size(W.shape[0], n_tasks)
    thetas, rests, counts = tiled(theta, size), tiled(rest, size), np.zeros(size, W.dtype)
    nonzeros, lost = np.zeros(n_tasks), np.zeros(n_tasks)  # `fold` needs both, although counts have no rounding errors
    for start in range(0, w.size, size):
        stop = min(start + size, w.size)
        shrink_tile(w[start:stop], thetas, rests, b[start:stop], counts)
    fold(counts, nonzeros, lost)
    return nonzeros


@njit
def project_columns(W, radii, B):  # type: ignore[no-untyped-def]
    """Project every column of W onto its own ball, write the result to B, which may be W, and return True.

    Return False, with nothing written, if the sum of a column is not finite.
    """
    # n: number of entries of each column that stay positive if theta is right, or CERTAIN, a negative number, if theta
    # needs no check.
    finite, theta, rest, n = solve_columns(W, radii)
    if finite:
        nonzeros = shrink_columns(W, theta, rest, B)
        # The last step of Newton's method is checked only here (see SURE_ENTRIES and FEW_SHARE). In some columns it may
        # have passed entries, which are now zero: theta is too small there, so the column of B is still too large.
        for l in range(W.shape[1]):
            if n[l] >= 0.0 and nonzeros[l] != n[l]:
                column = B[:, l].copy()
                shrink_on(column, radii[l])
                copy_numbers(column, B[:, l])
    return finite


def tasks(W: Floats) -> Floats:
    """Return the columns of W as contiguous rows, (n_tasks, n_features). A vector is a single task."""
    return np.ascontiguousarray(W.T if W.ndim == 2 else W[np.newaxis])


def like(W: Floats, per_task: Vector) -> Any:
    """Return the array, with one number per task, unchanged; if W is a vector, return its only number as a float."""
    return per_task if W.ndim == 2 else float(per_task[0])


def sums_of(W: Floats) -> Vector:
    """Return sum_i |W_il| for each task l. A vector is a single task."""
    if W.ndim == 1 or W.shape[1] == 1:
        return np.array([total_of(W.reshape(-1))])
    return column_sums(W) if W.size else np.zeros(W.shape[1])


def factors(weights: ArrayLike, W: Floats) -> Vector:
    """Return the weights, one per feature, in a shape that broadcasts with W."""
    a = as_weights(weights, len(W))
    return a if W.ndim == 1 else a[:, np.newaxis]


def weighted_columns(W: Floats, weights: ArrayLike) -> tuple[Vector, Vector, NDArray[np.intc], int]:
    """Scale |W| and the weights by powers of two that bring the largest weight and the largest weighted entries near 1.

    Returns |W|, scaled per task, (n_tasks, n_features); the scaled weights, (1, n_features); the exponents of the
    powers of two for |W|, (n_tasks, 1); and the exponent for the weights.
    """
    require_finite(W)
    V, A = np.abs(tasks(W)).astype(np.float64), as_weights(weights, len(W))[np.newaxis]
    weight_power = -int(np.frexp(A.max(initial=0.0))[1])
    A, task_powers = np.ldexp(A, weight_power), np.zeros((len(V), 1), np.intc)
    for factor in (1.0, A):  # scales the entries before the products, so that products with small weights are not 0
        more = -np.frexp((V * factor).max(axis=1, initial=0.0, keepdims=True))[1]
        V, task_powers = np.ldexp(V, more), task_powers + more
    return V, A, task_powers, weight_power


@njit
def heights_of_tasks(tops, slopes, totals):  # type: ignore[no-untyped-def]
    """Return the result of `heights_above` for every row of `tops`, (n_tasks, n_features)."""
    heights = np.empty_like(tops)
    for l in range(totals.size):
        heights_above(tops[l], slopes, totals[l], heights[l])
    return heights


def weighted_totals(V: Vector, A: Vector) -> Vector:
    """Return sum_i A_i V_li for each task l, (n_tasks, 1). Every product is rounded once, and so is their sum."""
    return np.array([[total_of(weighted)] for weighted in V * A]).reshape(-1, 1)


@np.errstate(over="ignore")  # norms above the largest float become infinity
def weighted_sums(W: Floats, weights: ArrayLike) -> Vector:
    """Return sum_i a_i |W_il| for each task l with weights a. A vector is a single task."""
    V, A, task_powers, weight_power = weighted_columns(W, weights)
    return np.ldexp(weighted_totals(V, A), -(task_powers + weight_power))[:, 0]


def norm(W: ArrayLike, *, weights: ArrayLike | None = None, axis: int | None = None) -> Any:
    """Return the norm for each task l: ||w_l||_1 = sum_i |W_il| or, with weights a, sum_i a_i |W_il|.

    W: (n_features, n_tasks), or (n_features,) for a single task. weights: (n_features,), positive. axis: as in
    `project`. Returns an array (n_tasks,), or a float for a vector; sums above the largest float become infinity.
    Raises ValueError for NaN, infinity, a wrong shape, and invalid weights.

    >>> norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 3.])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(weights):
        return on_arrays.call(norm, W, axis=axis, weights=weights)
    W = as_columns(W)
    sums = sums_of(W) if weights is None else weighted_sums(W, weights)
    if not np.isfinite(sums).all():
        require_finite(W)
        sums[~np.isfinite(sums)] = np.inf  # an overflow of finite entries
    return like(W, sums)


def dual_norm(W: ArrayLike, *, weights: ArrayLike | None = None, axis: int | None = None) -> Any:
    """Return the dual norm for each task l: max_i |W_il| or, with weights a, max_i |W_il| / a_i.

    W: (n_features, n_tasks), or (n_features,) for a single task. weights: (n_features,), positive. axis: as in
    `project`. Returns an array (n_tasks,), or a float for a vector. Raises ValueError for NaN, infinity, a wrong shape,
    and invalid weights.

    >>> dual_norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 2.])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(weights):
        return on_arrays.call(dual_norm, W, axis=axis, weights=weights)
    W = as_columns(W)
    return like(W, np.atleast_1d(dual_rows(W, weights=weights).max(axis=0, initial=0.0)).astype(np.float64))


def dual_rows(W: ArrayLike, *, weights: ArrayLike | None = None) -> Floats:
    """Return |W_il| or, with weights a, |W_il| / a_i for every entry.

    The largest of these numbers in a column is `dual_norm`. W: (n_features, n_tasks), or (n_features,) for a single
    task. weights: (n_features,), positive. Returns an array of W's shape. Raises ValueError for NaN, infinity, a wrong
    shape, and invalid weights.

    >>> dual_rows([[3.0, -1.0]])
    array([[3., 1.]])
    """
    W = as_columns(W)
    require_finite(W)
    with np.errstate(over="ignore"):
        return np.abs(W) / (1.0 if weights is None else factors(weights, W))


def _project_tasks(W: Floats, radii: Vector, method: Method, B: Floats) -> bool:
    """Write the projections of the columns of W to B, and return True.

    Return False instead if the sum of a column is not finite. Some columns of B may have been written in that case.
    """
    if method == "newton" and W.shape[1] > 1:
        return bool(project_columns(W, radii, B))
    for v, z, b in zip(tasks(W), radii, B.T, strict=True):
        w = np.empty_like(v)
        if not project_vector(v, z, theta_of_paper(method, v, z), w):
            return False
        b[...] = w
    return True


def is_usual(W: object, radius: object, method: str) -> TypeGuard[Floats]:
    """Return True if the only check that remains is whether the numbers in the vector W are finite."""
    return (
        type(W) is np.ndarray
        and W.ndim == 1
        and W.dtype in FLOATING
        and W.flags.carray
        and isinstance(radius, float)
        and radius > SMALL_RADIUS
        and method == "newton"
    )


def project(
    W: ArrayLike,
    radius: ArrayLike,
    *,
    method: Method = "newton",
    weights: ArrayLike | None = None,
    positive: bool = False,
    out: Floats | None = None,
    axis: int | None = None,
) -> Floats:
    """Project the weights of each task onto an l1 ball.

    Solve min_B 1/2 ||B - W||_F^2 subject to sum_i |B_il| <= radius_l for each task l. The solution is
    B_il = sign(W_il) max(|W_il| - theta_l, 0). With weights a > 0 the constraint is sum_i a_i |B_il| <= radius_l, and
    the solution is B_il = sign(W_il) max(|W_il| - theta_l a_i, 0).

    Parameters
    ----------
    W : array (n_features, n_tasks), or (n_features,) for a single task
        Real and finite. float32 and float64 are kept, other dtypes become float64.
    radius : float or array (n_tasks,)
        Non-negative radius of the balls, the papers' z or C. Infinity is allowed.
    method : "newton", "pivot" or "sort"
        Newton's method is the fastest. "pivot" takes expected linear time ([D08] Fig. 2), "sort" takes O(n log n)
        ([D08] Fig. 1). The results agree up to rounding.
    weights : array (n_features,), optional
        Positive weights, which may differ by a factor of at most 2^500. Only for the method "newton".
    positive : bool
        Whether to require B >= 0 as well. The solution is then the projection of max(W, 0).
    out : array of W's shape and dtype, optional
        Array for the result, which may be W itself. By default a new array is made.
    axis : int, optional
        The axis along which the weights of a task lie: -2 by default, or -1. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    B : array of W's shape and dtype
        A column of W (or of max(W, 0)) inside its ball is returned bit for bit. Zeros stay zeros, and no entry grows.
        The norm of the other columns equals the radius with a relative error of at most 1e-12 in float64 and 1e-6 in
        float32.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, an unknown method, invalid weights, and a radius that is negative or NaN.

    References
    ----------
    Duchi et al. (2008), eq. 7, Fig. 1 and Fig. 2.

    >>> project([3.0, -1.0, 0.5], radius=2.0)
    array([2., 0., 0.])
    """
    # Shortcut for the usual case, because the checks below take longer than projecting a thousand entries.
    if is_usual(W, radius, method) and weights is None and not positive and axis is None:
        B = as_output(out, W)
        if project_vector(W, radius, -np.inf, B):
            return deliver(B, out)
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(radius, weights):
        return on_arrays.call(project, W, radius, axis=axis, method=method, weights=weights, positive=positive, out=out)
    V = positive_part(as_columns(W)) if positive else as_columns(W)
    require(method in METHODS, f"method must be newton, pivot or sort, got {method!r}")
    B, radii = as_output(out, V), as_radii(radius, V.shape[1] if V.ndim == 2 else 1)
    columns, result = (V, B) if V.ndim == 2 else (V[:, np.newaxis], B[:, np.newaxis])
    if weights is not None:
        require(method == "newton", f"method must be newton if weights are given, got {method!r}")
        B[...] = _weighted(V, radii, weights)
    elif V.size:
        if not _project_tasks(columns, radii, method, result):
            require_finite(V)
            result[...] = _scaled_down(columns, radii, method)
        if radius < SMALL_RADIUS if isinstance(radius, float) else (radii < SMALL_RADIUS).any():
            result[...] = np.where(sums_of(result) > radii, lowered(result), result)
    return deliver(B, out)


def _scaled_down(W: Floats, radii: Vector, method: Method) -> Floats:
    """Return the projection of columns whose sums overflow, computed with scaled numbers in float64."""
    scale = np.where(sums_of(W.astype(np.float64)) < LARGE_SUM, 1.0, SMALLER)  # an overflow gives NaN, hence SMALLER
    V, z = W * scale, radii * scale
    B = np.empty_like(V)
    _project_tasks(V, z, method, B)
    return np.where(sums_of(V) <= z, W, B / scale)


@np.errstate(over="ignore")  # a radius that overflows in the scaled problem is above the norm
def _weighted(W: Floats, radii: Vector, weights: ArrayLike) -> Floats:
    """Return the projection of a matrix or vector W with weights a: sign(W_i) a_i (|W_i| / a_i - theta)_+."""
    # V is (n_tasks, n_features) and A is (1, n_features), both scaled by powers of two.
    V, A, task_powers, weight_power = weighted_columns(W, weights)
    if not V.size:
        return W
    z = np.ldexp(radii[:, np.newaxis], task_powers + weight_power)
    outside = weighted_totals(V, A) > z
    is_visible = z >= SMALLEST_SHARE  # the projection onto a smaller ball is 0
    total = np.where(outside & is_visible, z, 1.0)  # 1 where the heights are not used
    magnitudes = np.minimum(A * heights_of_tasks(V / A, (A * A)[0], total[:, 0]), V)
    # The norm differs from the radius only by rounding. A factor two units in the last place below 1 keeps it below.
    norms = weighted_totals(magnitudes, A)
    magnitudes = np.minimum(magnitudes * (total / np.where(norms > 0, norms, 1.0) * (1.0 - 2.0**-51)), V) * is_visible
    projected = unscaled(magnitudes, task_powers, W.dtype)
    return np.where(outside.T, np.copysign(projected.T.reshape(W.shape), W) + W.dtype.type(0), W)


@njit(fastmath=REORDER)
def sum_below(v, top):  # type: ignore[no-untyped-def]
    """Return sum_i (top - v_i). No v_i is above the top."""
    total = 0.0
    for i in range(v.size):
        # Without `abs` the compiler would reorder this to n top - sum_i v_i, which cancels if entries are nearly equal.
        total += float(abs(top - v[i]))
    return total


@njit
def top_ordered(bits, no_sign):  # type: ignore[no-untyped-def]
    """Return max v_i as an integer in the order of floats. bits and no_sign: as in `top_bits`."""
    # The bits of negative floats, read as integers, have the opposite order, so all bits but the sign are flipped.
    top = bits[0] if bits[0] >= 0 else bits[0] ^ no_sign
    for i in range(1, bits.size):
        x = bits[i] if bits[i] >= 0 else bits[i] ^ no_sign
        top = x if x > top else top
    return top


@njit
def largest_number(v):  # type: ignore[no-untyped-def]
    """Return max v_i, or NaN if there is a NaN that counts as positive."""
    if v.itemsize == 4:
        top = top_ordered(v.view(np.int32), np.int32(0x7FFFFFFF))
        return np.array([top if top >= 0 else top ^ 0x7FFFFFFF], np.int32).view(np.float32)[0]
    top8 = top_ordered(v.view(np.int64), np.int64(0x7FFFFFFFFFFFFFFF))
    return np.array([top8 if top8 >= 0 else top8 ^ 0x7FFFFFFFFFFFFFFF], np.int64).view(np.float64)[0]


@njit
def lift(v, z, out):  # type: ignore[no-untyped-def]
    """Shift v and clip it at 0, so that its projections onto the simplex and onto the l1 ball agree.

    The threshold is at least max v - z and at least (sum v - z) / n, up to rounding. After the larger bound is
    subtracted and v is clipped, it lies on the simplex or outside the ball. Return False, and write nothing, if v is
    empty or a number is too large.
    """
    if v.size == 0:
        return False
    top, total, lost = largest_number(v), 0.0, 0.0
    for start in range(0, v.size, BLOCK_ENTRIES):
        total, lost = add_compensated(total, lost, sum_below(v[start : start + BLOCK_ENTRIES], top))
    if not (np.isfinite(total + lost) and z <= np.finfo(v.dtype).max):
        return False
    depth = min(z, (z + (total + lost)) / v.size * DEEPER)
    for i in range(v.size):
        out[i] = max((v[i] - top) + depth, 0.0)
    return True


@njit
def project_lifted(v, z, b):  # type: ignore[no-untyped-def]
    """Write the projection of v onto the simplex to b, and return True and True.

    Return False and False, with nothing written, if `lift` returns False. Return True and False if `lift` has written
    b, but the sum of b overflows.
    """
    lifted = lift(v, z, b)
    return lifted, lifted and project_vector(b, z, -np.inf, b)


@njit
def lift_columns(V, radii, out):  # type: ignore[no-untyped-def]
    """Do to every column of V what `lift` does to a vector. Read V row by row, and allow sums to overflow."""
    n, n_tasks = V.shape
    tops = np.full(n_tasks, -np.inf).astype(V.dtype)
    for i in range(n):
        for task in range(n_tasks):
            tops[task] = max(tops[task], V[i, task])
    totals, lost, sums = np.zeros(n_tasks), np.zeros(n_tasks), np.empty(n_tasks)
    for start in range(0, n, BLOCK_ENTRIES):
        sums[:] = 0.0
        for i in range(start, min(start + BLOCK_ENTRIES, n)):
            for task in range(n_tasks):
                sums[task] += float(tops[task] - V[i, task])
        for task in range(n_tasks):
            totals[task], lost[task] = add_compensated(totals[task], lost[task], sums[task])
    depths = (radii + (totals + lost)) / max(n, 1) * DEEPER  # NaN or infinite if a sum overflows
    depths = np.where(depths < radii, depths, radii)
    for i in range(n):
        for task in range(n_tasks):
            out[i, task] = max((V[i, task] - tops[task]) + depths[task], 0.0)


def project_simplex(
    v: ArrayLike, z: ArrayLike, *, method: Method = "newton", out: Floats | None = None, axis: int | None = None
) -> Floats:
    """Project every column onto the simplex {w >= 0, sum_i w_i = z}.

    Solve min_w 1/2 ||w - v||^2 subject to sum_i w_i = z and w_i >= 0. The solution is w_i = max(v_i - theta, 0).

    Parameters
    ----------
    v : array (n,) or (n, n_tasks)
        Real and finite numbers of any sign.
    z : float or array (n_tasks,)
        Non-negative sum of every column. It must not exceed the largest number of v's dtype, and must be 0 if v is
        empty.
    method : "newton", "pivot" or "sort"
        Algorithm, as in `project`.
    out : array of v's shape and dtype, optional
        Array for the result, which may be v itself. By default a new array is made.
    axis : int, optional
        The axis along which the weights of a task lie: -2 by default, or -1. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    w : array of v's shape
        The projection.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, an unknown method, and a z that is negative, NaN or not reachable.

    References
    ----------
    Duchi et al. (2008), eq. 3, Fig. 1 and Fig. 2.

    >>> project_simplex([-5.0, 1.0, 0.5], z=1.0)
    array([0.  , 0.75, 0.25])
    """
    if is_usual(v, z, method) and axis is None:  # a shortcut, as in `project`
        w = as_output(out, v)
        lifted, projected = project_lifted(v, z, w)
        if lifted:
            return deliver(w if projected else project(w, z, out=w), out)
    if type(v) is not np.ndarray or v.ndim > 2 or axis is not None or on_arrays.any_of_another_library(z):
        return on_arrays.call(project_simplex, v, z, axis=axis, method=method, out=out)
    V = as_columns(v, "v")
    require_finite(V, "v")
    radii = as_radii(z, V.shape[1] if V.ndim == 2 else 1, "z")
    if (radii > np.finfo(V.dtype).max).any() or (not len(V) and radii.any()):
        raise ValueError(f"z must be reachable by {len(V)} finite numbers ({V.dtype}), got {z!r}")
    above = as_output(out, V)
    if not (len(radii) == 1 and lift(V.reshape(-1), radii[0], above.reshape(-1))):
        lift_columns(V.reshape(len(V), len(radii)), radii, above.reshape(len(V), len(radii)))
    return deliver(project(above, like(V, radii), method=method, out=above), out)


def project_nonnegative(v: ArrayLike, z: ArrayLike, *, method: Method = "newton", out: Floats | None = None) -> Floats:
    """Project every column onto the set {w >= 0, sum_i w_i <= z}.

    Solve min_w 1/2 ||w - v||^2 subject to sum_i w_i <= z and w_i >= 0. The solution is max(v_i, 0) if this is feasible,
    and the projection onto the simplex otherwise.

    Parameters
    ----------
    v : array (n,) or (n, n_tasks)
        Real and finite numbers of any sign.
    z : float or array (n_tasks,)
        Non-negative bound on the sum of every column.
    method : "newton", "pivot" or "sort"
        Algorithm, as in `project`.
    out : array of v's shape and dtype, optional
        Array for the result, which may be v itself. By default a new array is made.

    Returns
    -------
    w : array of v's shape
        The projection.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, an unknown method, and a z that is negative or NaN.

    References
    ----------
    Duchi et al. (2008), sec. 7.

    >>> project_nonnegative([-5.0, 1.0, 0.5], z=2.0)
    array([0. , 1. , 0.5])
    """
    V = positive_part(as_columns(v, "v"), "v")
    return project(V, as_radii(z, V.shape[1] if V.ndim == 2 else 1, "z"), method=method, out=out)


def prox(
    W: ArrayLike, step: ArrayLike, *, weights: ArrayLike | None = None, positive: bool = False, axis: int | None = None
) -> Floats:
    """Apply the proximal operator of sum_l step_l ||w_l||_1 to W.

    Solve min_B 1/2 ||B - W||_F^2 + sum_l step_l sum_i a_i |B_il|. The solution is
    B_il = sign(W_il) max(|W_il| - step_l a_i, 0).

    Parameters
    ----------
    W : array (n_features, n_tasks), or (n_features,) for a single task
        Real and finite. float32 and float64 are kept, other dtypes become float64.
    step : float or array (n_tasks,)
        Non-negative factor of the norms. Infinity is allowed.
    weights : array (n_features,), optional
        The positive weights a, all 1 by default.
    positive : bool
        Whether to require B >= 0 as well. The solution is then the prox of max(W, 0).
    axis : int, optional
        The axis along which the weights of a task lie: -2 by default, or -1. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    B : array of W's shape and dtype
        A new array.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, invalid weights, and a step that is negative or NaN.

    References
    ----------
    Duchi et al. (2008), eq. 6: soft thresholding with a given theta.

    >>> prox([3.0, -1.0, 0.5], step=0.5)
    array([ 2.5, -0.5,  0. ])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(step, weights):
        return on_arrays.call(prox, W, step, axis=axis, weights=weights, positive=positive)
    W = as_columns(W)
    require_finite(W)
    step = as_radii(step, W.shape[1] if W.ndim == 2 else 1, "step")
    if weights is not None:
        with np.errstate(over="ignore"):  # an entry whose step overflows becomes 0
            step = step * factors(weights, W)
    V = positive_part(W) if positive else W
    return (V - np.clip(V, -step, step)).astype(W.dtype)
