"""The l1 norm of each task's weights, its ball, and the simplex: the independent-tasks side of the comparison.

Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008.

Every projection here takes one number theta off: w_i = sign(v_i) (|v_i| - theta)_+, where theta solves
f(theta) = sum_i (|v_i| - theta)_+ = z. f is convex, decreasing and piecewise linear, so Newton's method from anywhere
is at or below the solution after one step, rises from there, and is done when the set {i: |v_i| > theta} repeats:
a few sweeps over v on vector units, from a start that a sample of v provides.
"""

from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_columns, as_output, as_radii, deliver, real_array, require_finite

Method = Literal["newton", "pivot", "sort"]
METHODS = ("newton", "pivot", "sort")
PLAIN = (np.dtype(np.float64), np.dtype(np.float32))

# Sums may be reordered, so they run on vector units, and still turn NaN or infinite when an entry is.
REORDER = {"reassoc", "nsz", "contract"}
# For entries that are known to be finite.
FINITE = REORDER | {"nnan", "ninf"}

BALL, SIMPLEX, NONNEGATIVE = 0, 1, 2  # the sets: sum |w| <= z; w >= 0 and sum w = z; w >= 0 and sum w <= z

MIN_SAMPLE, MAX_SAMPLE = 32, 2**17  # entries of the samples from which theta is guessed
BLOCK = 1024  # entries whose sum is taken in any order; the sums of blocks are added without loss
GROUP = 8  # columns of a matrix that are gathered together: a cache line of float64
LARGE = 2.0**900  # columns with sums above this are scaled down first, so that nothing overflows
LARGE_FLOAT32 = 2.0**100  # the same for float32, whose blocks are summed in float32: they are computed in float64


@njit(cache=True)
def add(total, lost, part):  # type: ignore[no-untyped-def]
    """total + part, and all that rounding has lost so far: with it a long sum is as good as exact."""
    larger = total + part
    added = larger - total
    return larger, lost + ((total - (larger - added)) + (part - added))


@njit(cache=True, fastmath=REORDER)
def block_sum(v, signed):  # type: ignore[no-untyped-def]
    result = 0.0
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
        total, lost = add(total, lost, block_sum(v[start : start + BLOCK], signed))
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
def newton(v, z, total, guess, signed):  # type: ignore[no-untyped-def]
    """(theta, rest): f(theta + rest) = z > 0, theta in v's precision and rest the small correction it cannot hold."""
    theta, above_all, previous = v.dtype.type(guess), False, -1.0
    while True:
        excess, count = 0.0, 0.0
        if theta > -np.inf:
            excess, count = above(v, theta, signed)
        if count > 0.0:
            rest = (excess - z) / count
            better = v.dtype.type(theta + rest)
            if count == previous or better == theta or (previous > 0.0 and better < theta):
                return theta, rest
            previous, theta = count, better
        elif above_all or previous > 0.0:  # z is too small to show beside the largest entries
            top, ties = largest(v, signed), 0
            for i in range(v.size):
                ties += (v[i] if signed else abs(v[i])) == top
            return top, -z / ties
        else:  # no guess, or a misleading one. f is larger than for the largest entry alone, or for all without ()_+
            theta, above_all = v.dtype.type(max(largest(v, signed) - z, (total - z) / v.size)), True


@njit(cache=True)
def guess(v, z, signed):  # type: ignore[no-untyped-def]
    """About theta, from two samples of v; -infinity for short v."""
    theta = -np.inf
    for size in (v.size // 1024, min(v.size // 32, MAX_SAMPLE)):
        if size >= MIN_SAMPLE:
            sample = v[:: v.size // size].copy()
            base, rest = newton(sample, z * (sample.size / v.size), total_of(sample, signed), theta, signed)
            theta = base + rest
    return theta


@njit(cache=True)
def solve(v, z, kind):  # type: ignore[no-untyped-def]
    """(theta, rest) for a vector; theta is -1 inside the l1 ball, NaN if v is not finite or must be scaled first."""
    signed = kind != BALL
    total = total_of(v, False)
    if not total < (LARGE if v.itemsize == 8 else LARGE_FLOAT32) or not (kind != SIMPLEX or z < LARGE):
        return v.dtype.type(np.nan), 0.0
    if kind == BALL and total <= z:
        return v.dtype.type(-1.0), 0.0
    if kind == NONNEGATIVE and above(v, v.dtype.type(0), True)[0] <= z:
        return v.dtype.type(0.0), 0.0
    if z == 0.0:
        return largest(v, signed), 0.0
    return newton(v, z, total_of(v, True) if signed else total, guess(v, z, signed), signed)


@njit(cache=True)
def shrink(v, theta, rest, kind, b):  # type: ignore[no-untyped-def]
    """b_i = sign(v_i) (|v_i| - theta - rest)_+; without the signs for the other sets."""
    if kind != BALL:
        for i in range(v.size):
            w = (v[i] - theta) - rest
            b[i] = w if w > 0.0 else 0.0
    elif theta < 0.0:
        b[:] = v
    else:
        for i in range(v.size):
            w = (abs(v[i]) - theta) - rest
            b[i] = (w if v[i] > 0.0 else -w) if w > 0.0 else 0.0


@njit(cache=True)
def shrink_each(v, theta, rest, kind, b):  # type: ignore[no-untyped-def]
    """The same with a theta for each entry."""
    if kind != BALL:
        for i in range(v.size):
            w = (v[i] - theta[i]) - rest[i]
            b[i] = w if w > 0.0 else 0.0
    else:
        for i in range(v.size):
            x, w = v[i], (abs(v[i]) - theta[i]) - rest[i]
            w = w if w > 0.0 else 0.0
            b[i] = x if theta[i] < 0.0 else (w if x > 0.0 else 0.0 - w)


@njit(cache=True)
def project_vector(v, z, kind, b):  # type: ignore[no-untyped-def]
    """Whether v was fit; if so the projection is in b."""
    theta, rest = solve(v, z, kind)
    if np.isnan(theta):
        return False
    shrink(v, theta, v.dtype.type(rest), kind, b)
    return True


@njit(cache=True)
def project_columns(W, radii, kind, B):  # type: ignore[no-untyped-def]
    """The same for every column of W, with its own radius."""
    n_features, n_tasks = W.shape
    theta, rest = np.empty(n_tasks, W.dtype), np.empty(n_tasks, W.dtype)
    columns = np.empty((GROUP, n_features), W.dtype)
    for first in range(0, n_tasks, GROUP):
        width = min(GROUP, n_tasks - first)
        for i in range(n_features):
            row = W[i]
            for l in range(width):
                columns[l, i] = row[first + l]
        for l in range(first, first + width):
            theta[l], rest[l] = solve(columns[l - first], radii[l], kind)
            if np.isnan(theta[l]):
                return False
    # Several rows at a time, with as many copies of the thetas: a call for each short row would take twice as long.
    rows = min(n_features, max(1, BLOCK // n_tasks))
    thetas, rests = np.empty(rows * n_tasks, W.dtype), np.empty(rows * n_tasks, W.dtype)
    for k in range(thetas.size):
        thetas[k], rests[k] = theta[k % n_tasks], rest[k % n_tasks]
    w, b = W.reshape(W.size), B.reshape(W.size)
    for start in range(0, w.size, thetas.size):
        end = min(start + thetas.size, w.size)
        shrink_each(w[start:end], thetas[: end - start], rests[: end - start], kind, b[start:end])
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
        theta = max(theta, (abs(v[i]) - z / a[i]) / a[i])  # f is larger than for any entry alone
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
    for i in range(v.size):
        w = (abs(v[i]) - theta * a[i]) - rest * a[i]
        b[i] = (w if v[i] > 0.0 else -w) if w > 0.0 else 0.0


@njit(cache=True)
def sums_of(V):  # type: ignore[no-untyped-def]
    sums = np.empty(V.shape[0])
    for l in range(V.shape[0]):
        sums[l] = total_of(V[l], False)
    return sums


def tasks(W: Floats) -> Floats:
    """The columns of W as contiguous rows, (n_tasks, n_features); a vector is one task."""
    return np.ascontiguousarray(W.T if W.ndim == 2 else W[np.newaxis])


def like(W: Floats, per_task: NDArray[np.float64]) -> Any:
    """One number per task; for a vector a float."""
    return per_task if W.ndim == 2 else float(per_task[0])


def norm(W: ArrayLike) -> Any:
    """||w_l||_1 = sum_i |W_il| for each task l.

    W: (n_features, n_tasks), or one task's (n_features,). Returns an array (n_tasks,), for a vector a float. Raises
    ValueError for NaN, infinity or a wrong shape.

    >>> norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 3.])
    """
    W = as_columns(W)
    sums = sums_of(tasks(W))
    if not np.isfinite(sums).all():
        require_finite(W)
    return like(W, sums)


def dual_norm(W: ArrayLike) -> Any:
    """max_i |W_il| for each task l, the dual of the l1 norm.

    W: (n_features, n_tasks), or one task's (n_features,). Returns an array (n_tasks,), for a vector a float. Raises
    ValueError for NaN, infinity or a wrong shape.

    >>> dual_norm([[3.0, -1.0], [0.0, 2.0]])
    array([3., 2.])
    """
    W = as_columns(W)
    maxima = np.abs(tasks(W)).max(axis=1, initial=0.0).astype(np.float64)
    if not np.isfinite(maxima).all():
        require_finite(W)
    return like(W, maxima)


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
    return top, polish(u, z, below)


def by_method(W: Floats, radii: NDArray[np.float64], kind: int, method: Method, B: Floats) -> bool:
    """`project_columns` by one of the paper's methods; W: (n_features, n_tasks)."""
    V = tasks(W)
    if not (sums_of(V) < (LARGE if W.itemsize == 8 else LARGE_FLOAT32)).all() or (
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
    inside = (sums_of(tasks(V)) <= z) & (kind == BALL)
    return np.where(inside, W, (B / scale).astype(W.dtype))


def project_onto(kind: int, W: ArrayLike, radius: ArrayLike, method: Method, out: Floats | None, name: str) -> Floats:
    """Each column of W onto its own set. `name` and `radius`, what the caller calls them, are for errors."""
    called = "radius" if kind == BALL else "z"
    # Plain arrays skip checks that would take longer than the projection of a thousand entries.
    plain = type(W) is np.ndarray and W.dtype in PLAIN and W.flags.carray and 0 < W.ndim <= 2
    V: Floats = W if plain else as_columns(W, name)  # type: ignore[assignment]
    if method not in METHODS:
        raise ValueError(f"method must be newton, pivot or sort, got {method!r}")
    B = np.empty_like(V) if out is None else as_output(out, V)
    simple = V.ndim == 1 and V.size and method == "newton" and isinstance(radius, float) and 0.0 <= radius < np.inf
    if simple and project_vector(V, radius, kind, B):
        return deliver(B, out)
    radii = as_radii(radius, V.shape[1] if V.ndim == 2 else 1, called)
    if kind == SIMPLEX and (np.isinf(radii).any() or (not len(V) and radii.any())):
        raise ValueError(f"z must be reachable by {len(V)} finite numbers, got {radius!r}")
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
    its ball comes back bit for bit. Raises ValueError for NaN, infinity, a wrong shape, an unknown method, a radius
    below 0 or NaN, and weights that are not positive and finite.

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
    projected = np.empty_like(V)
    for b, v, a_l, z in zip(projected, V, A, radii, strict=True):
        # Powers of two that bring the largest entry and the largest weight near 1: nothing overflows.
        unit, heavy = (2.0 ** min(1 - int(np.frexp(x.max(initial=0.0))[1]), 1023) for x in (np.abs(v), a_l))
        u, c, y = v * unit, a_l * heavy, float(z * unit * heavy)
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
    infinity, a wrong shape, an unknown method, an empty v with z > 0, and z below 0, NaN or infinite.

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
