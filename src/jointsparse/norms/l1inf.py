"""The l1,inf norm: the sum over features of a feature's largest absolute weight; its ball makes tasks share features.

Quattoni, Carreras, Collins, Darrell: An efficient projection for l1,inf regularization. ICML 2009.
"""

from typing import Any, Literal, overload

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_matrix, as_output, as_radius, deliver, require_finite

# Sums may be reordered, so they run on vector units, and still turn NaN or infinite when an entry is.
REORDER = {"reassoc", "nsz", "contract"}
# For entries that are known to be finite.
FINITE = REORDER | {"nnan", "ninf"}

Vector = NDArray[np.float64]


@njit(cache=True, fastmath=REORDER)
def abs_sum(a):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(a.size):
        total += abs(a[j])
    return total


@njit(cache=True, fastmath=FINITE)
def abs_max(a):  # type: ignore[no-untyped-def]
    top = abs(a[0])
    for j in range(1, a.size):
        top = max(top, abs(a[j]))
    return top


@njit(cache=True)
def row_statistics(A, sums, maxima):  # type: ignore[no-untyped-def]
    for i in range(A.shape[0]):
        sums[i] = abs_sum(A[i])
        maxima[i] = abs_max(A[i])


@njit(cache=True)
def total(x):  # type: ignore[no-untyped-def]
    """Sum with the rounding errors added back at the end: as good as twice the digits, and zeros do not alter it."""
    result, lost = 0.0, 0.0
    for i in range(x.size):
        larger = result + x[i]
        added = larger - result
        lost += (result - (larger - added)) + (x[i] - added)
        result = larger
    return result + lost


def statistics(W: Floats) -> tuple[Vector, Vector]:
    """Per row the sum and the maximum of the absolute values; NaN or infinity: ValueError. A sum may overflow."""
    sums, maxima = np.zeros(len(W)), np.zeros(len(W))
    if W.size:
        row_statistics(W, sums, maxima)
        if not np.isfinite(total(sums)):
            require_finite(W)
    return sums, maxima


def norm(W: ArrayLike) -> float:
    """||W||_{1,inf} = sum_i max_j |W_ij| ([Q09] sec. 3).

    W: (n_features, n_tasks). Returns a float. Raises ValueError for NaN, infinity or a wrong shape.

    >>> norm([[3.0, -1.0], [0.0, 2.0]])
    5.0
    """
    return float(total(statistics(as_matrix(W))[1]))


def dual_norm(W: ArrayLike) -> float:
    """max_i sum_j |W_ij|, the dual of the l1,inf norm.

    W: (n_features, n_tasks). Returns a float. Raises ValueError for NaN, infinity or a wrong shape.

    >>> dual_norm([[3.0, -1.0], [0.0, 2.0]])
    4.0
    """
    return float(statistics(as_matrix(W))[0].max(initial=0.0))


@njit(cache=True, fastmath=FINITE)
def above(a, mu):  # type: ignore[no-untyped-def]
    """How many |a_j| exceed mu, and their sum."""
    count, top_sum = 0.0, 0.0
    for j in range(a.size):
        x = abs(a[j])
        if x > mu:
            count += 1.0
            top_sum += x
    return count, top_sum


@njit(cache=True, fastmath=FINITE)
def bound_and_slope(sums, maxima, m, theta):  # type: ignore[no-untyped-def]
    """sum_i max(M_i - theta, (S_i - theta) / m, 0), a lower bound of N(theta), and minus its slope."""
    value, slope = 0.0, 0.0
    share = 1.0 / m
    for i in range(sums.size):
        one, all_ = maxima[i] - theta, (sums[i] - theta) * share
        higher = max(one, all_)
        weight = 1.0 if one >= all_ else share
        value += higher if higher > 0.0 else 0.0
        slope += weight if higher > 0.0 else 0.0
    return value, slope


@njit(cache=True)
def screen(sums, maxima, m, radius):  # type: ignore[no-untyped-def]
    """A lower bound of theta from the row statistics alone: Newton on the bound above, from theta = 0."""
    theta = 0.0
    while True:
        value, slope = bound_and_slope(sums, maxima, m, theta)
        if slope == 0.0:
            return theta
        step = (value - radius) / slope
        if not theta + step > theta:
            return theta
        theta += step


@njit(cache=True)
def newton(A, radius, sums, maxima, mu):  # type: ignore[no-untyped-def]
    """Newton on theta; writes the maxima mu of the projection and returns theta. For 0 < radius < ||A||.

    mu_i(theta) is the largest of (s_k - theta) / k over k, s_k being the sum of the k largest |A_ij|. So any set of
    largest entries bounds mu_i from below, the solution for such sets bounds theta from below, and the entries above
    the bound of mu_i are a better set. theta grows until the sets repeat; a row whose sum it passes is zero for good.
    """
    m = A.shape[1]
    theta = screen(sums, maxima, m, radius)
    rows = np.nonzero(sums > theta)[0]
    k, s = np.ones(rows.size), maxima[rows]
    alive, first = rows.size, True
    while True:
        kept, changed = 0, first
        level, lost, slope = 0.0, 0.0, 0.0
        for r in range(alive):
            i = rows[r]
            if sums[i] <= theta:
                changed = True
                continue
            count, top_sum = above(A[i], max((s[r] - theta) / k[r], (sums[i] - theta) / m, maxima[i] - theta))
            if count == 0.0:  # theta is too small to show beside the row's maximum
                count, top_sum = 1.0, maxima[i]
            changed = changed or count != k[r]
            rows[kept], k[kept], s[kept] = i, count, top_sum
            kept += 1
            mu_i = (top_sum - theta) / count
            larger = level + mu_i
            added = larger - level
            lost += (level - (larger - added)) + (mu_i - added)
            level = larger
            slope += 1.0 / count
        alive = kept
        if alive == 0:  # the radius is too small to show beside the row sums
            mu[:] = 0.0
            return sums.max()
        previous = theta
        theta += ((level - radius) + lost) / slope
        # Only rounding lets theta fall, except at first, where the screening may have been a rounding too high.
        if not changed or (theta <= previous and not first):
            break
        first = False
    mu[:] = 0.0
    for r in range(alive):
        mu[rows[r]] = max((s[r] - theta) / k[r], 0.0)
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
    slopes = np.cumsum(change_at_k[visits % (m + 1)])
    # Paper: N at each visited point, from ||A|| downwards, until it would pass C.
    N = total(s[:, 0]) + np.append(0.0, np.cumsum(slopes[:-1] * np.diff(r_visited)))
    t = int(np.count_nonzero(np.minimum.accumulate(N) > radius)) - 1
    theta = float(r_visited[t])

    def at(theta: float) -> tuple[Vector, float]:
        # Paper: k_i is the last visited value of row i; mu_i = max(s_ik - (theta - r_ik) / k, 0), slope -sum_i 1/k_i.
        k_i = np.count_nonzero(r <= theta, axis=1)
        last = np.arange(d), k_i - 1
        return np.maximum(s[last] - (theta - r[last]) / k_i, 0.0), float((1 / k_i[k_i <= m]).sum())

    # Paper: theta = r^t + (N^t - C) / sum_i 1/k_i. Done twice, since the running sum N that chose the piece
    # has gathered the rounding errors of all the pieces before.
    for _ in range(2):
        mu, slope = at(theta)
        if slope > 0:
            theta = max(theta + (total(mu) - radius) / slope, theta / 2)
    return theta, at(theta)[0]


@njit(cache=True)
def clip_rows(A, mu, B):  # type: ignore[no-untyped-def]
    """B_ij = sign(A_ij) min(|A_ij|, mu_i)."""
    for i in range(A.shape[0]):
        a, b, top = A[i], B[i], mu[i]
        if top == 0.0:
            b[:] = 0.0
        else:
            for j in range(a.size):
                b[j] = top if a[j] > top else (-top if a[j] < -top else a[j])


def levels(W: Floats, radius: float, method: str) -> tuple[float, Vector]:
    """theta and mu of the projection of `W`, which is finite and not empty."""
    sums, maxima = statistics(W)
    if not np.isfinite(total(sums)):  # finite entries, but their sum overflows
        theta, mu = levels(W * 2.0**-64, radius * 2.0**-64, method)
        return theta * 2.0**64, mu * 2.0**64 if theta else maxima
    if total(maxima) <= radius:
        return 0.0, maxima
    if radius == 0.0:
        return float(sums.max()), np.zeros(len(W))
    if method == "sort":
        return sort_and_merge(W, radius)
    mu = np.empty(len(W))
    return float(newton(W, radius, sums, maxima, mu)), mu


def within(mu: Vector, radius: float, dtype: np.dtype[Any]) -> Floats:
    """`mu` in the matrix's precision, taken down by the last digit or two it may need so that its sum is <= radius."""
    for _ in range(3):
        excess = total(mu)
        if excess <= radius:
            break
        mu = mu * min(radius / excess, 1.0 - 2.0**-52)
    rounded = mu.astype(dtype)
    return np.where(rounded > mu, np.nextafter(rounded, dtype.type(0.0)), rounded)


@overload
def project(
    W: ArrayLike,
    radius: float,
    *,
    out: Floats | None = None,
    method: Literal["newton", "sort"] = "newton",
    return_theta: Literal[False] = False,
) -> Floats: ...
@overload
def project(
    W: ArrayLike,
    radius: float,
    *,
    out: Floats | None = None,
    method: Literal["newton", "sort"] = "newton",
    return_theta: Literal[True],
) -> tuple[Floats, float, Floats]: ...


def project(
    W: ArrayLike,
    radius: float,
    *,
    out: Floats | None = None,
    method: Literal["newton", "sort"] = "newton",
    return_theta: bool = False,
) -> Floats | tuple[Floats, float, Floats]:
    """min_B 1/2 ||B - W||_F^2  subject to  sum_i max_j |B_ij| <= radius.

    The solution takes the same mass theta off every row it does not set to zero: B_ij = sign(W_ij) min(|W_ij|, mu_i)
    with sum_j (|W_ij| - mu_i)_+ = theta where mu_i > 0, sum_j |W_ij| <= theta where mu_i = 0, and sum_i mu_i = radius.

    W: (n_features, n_tasks). radius: at least 0, the papers' C. out: where to write, an array of W's shape and
    precision, perhaps W itself; a new array by default. method: "newton", Newton's method on theta, or "sort", the
    paper's sort and merge in O(dm log dm); they agree up to rounding. return_theta: return (B, theta, mu), theta a
    float and mu of shape (n_features,); inside the ball theta is 0 and mu the row maxima, for radius 0 theta is the
    largest row sum.

    Inside the ball B is W bit for bit. Otherwise norm(B) <= radius holds to the last digit, so projecting again alters
    nothing. Raises ValueError for NaN, infinity, a wrong shape, an unknown method and a radius below 0 or NaN.

    Source: Quattoni et al. (2009), eq. 7-19 and appendix A.

    >>> project([[3.0, -1.0], [1.0, 2.0]], radius=3.0)
    array([[ 2., -1.],
           [ 1.,  1.]])
    """
    W = as_matrix(W)
    radius = as_radius(radius)
    if method not in ("newton", "sort"):
        raise ValueError(f"method must be newton or sort, got {method!r}")
    B = as_output(out, W)
    theta, mu = levels(W, radius, method) if W.size else (0.0, np.zeros(len(W)))
    mu = within(mu, radius, W.dtype)
    if theta == 0.0:
        B[...] = W
    else:
        clip_rows(W, mu, B)
    B = deliver(B, out)
    return (B, theta, mu) if return_theta else B


@njit(cache=True)
def maxima_for_theta(A, theta, sums, maxima, mu):  # type: ignore[no-untyped-def]
    """mu_i = h_i(theta), by Newton within each row from the bound of its statistics."""
    for i in range(A.shape[0]):
        mu[i] = 0.0
        if sums[i] > theta:
            better = max(maxima[i] - theta, (sums[i] - theta) / A.shape[1])
            while better > mu[i]:
                mu[i] = better
                count, top_sum = above(A[i], better)
                better = (top_sum - theta) / count if count > 0.0 else 0.0


def prox(W: ArrayLike, step: float) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + step * sum_i max_j |B_ij|.

    Each row loses its projection onto the l1 ball of radius step (Moreau); project(W, radius) is prox(W, theta).

    W: (n_features, n_tasks). step: at least 0. Returns a new array. Raises ValueError as `project` does.
    Source: the penalised form, Quattoni et al. (2009), eq. 2.

    >>> prox([[3.0, -1.0], [1.0, 2.0]], step=1.0)
    array([[ 2., -1.],
           [ 1.,  1.]])
    """
    W = as_matrix(W)
    step = as_radius(step, "step")
    sums, maxima = statistics(W)
    if step == 0.0 or not W.size:
        return W.copy()
    if not np.isfinite(sums).all():  # finite entries, but their sum overflows
        return prox(W * 2.0**-64, step * 2.0**-64) * 2.0**64
    B, mu = np.empty_like(W), np.empty(len(W))
    maxima_for_theta(W, step, sums, maxima, mu)
    clip_rows(W, mu.astype(W.dtype), B)
    return B
