"""The l1 norm of each task's weights, its ball, and the simplex: the independent-tasks side of the comparison.

Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008.
"""

from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_columns, as_output, as_radii, as_radius, deliver, require_finite

# Sums may be reordered, so they run on vector units, and still turn NaN or infinite when an entry is.
REORDER = {"reassoc", "nsz", "contract"}
# For entries that are known to be finite.
FINITE = REORDER | {"nnan", "ninf"}

LARGE = 2.0**900  # columns with sums above this are scaled down first, so that nothing overflows


@njit(cache=True, fastmath=REORDER)
def abs_sum(v):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(v.size):
        total += abs(v[i])
    return total


@njit(cache=True, fastmath=FINITE)
def abs_max(v):  # type: ignore[no-untyped-def]
    top = 0.0
    for i in range(v.size):
        top = max(top, float(abs(v[i])))
    return top


@njit(cache=True)
def abs_sums(V):  # type: ignore[no-untyped-def]
    sums = np.empty(V.shape[0])
    for l in range(V.shape[0]):
        sums[l] = abs_sum(V[l])
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
    sums = abs_sums(tasks(W))
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


@njit(cache=True, fastmath=FINITE)
def polish(u, z, theta):  # type: ignore[no-untyped-def]
    """One Newton step on sum (u - theta)_+ = z: removes what rounding gathered on the way to theta."""
    total, count = 0.0, 0
    for i in range(u.size):
        if u[i] > theta:
            total += u[i] - theta
            count += 1
    return theta + (total - z) / count if count > 0 else theta


@njit(cache=True)
def candidates(v, top, z):  # type: ignore[no-untyped-def]
    """|v| - top, in double precision, of the entries that can stay positive: those above top - z."""
    u = np.empty(v.size)
    count = 0
    for i in range(v.size):
        u[count] = abs(v[i]) - top
        if u[count] > -z:
            count += 1
    return u[:count]


@njit(cache=True)
def project_tasks(V, radii, sums, B):  # type: ignore[no-untyped-def]
    """Each row of V onto its own l1 ball. Thresholds are taken below the row's maximum: small radii keep digits."""
    for l in range(V.shape[0]):
        v, b, z = V[l], B[l], radii[l]
        if sums[l] <= z:
            b[:] = v
            continue
        top = abs_max(v)
        theta = 0.0
        if z > 0.0:
            u = candidates(v, top, z)
            theta = polish(u, z, threshold_by_pivot(u, z))
        for i in range(v.size):
            w = (abs(v[i]) - top) - theta
            b[i] = (w if v[i] > 0.0 else -w) if w > 0.0 else 0.0


def project(W: ArrayLike, radius: ArrayLike, *, out: Floats | None = None) -> Floats:
    """min_B 1/2 ||B - W||_F^2  subject to  sum_i |B_il| <= radius_l for each task l.

    The solution is B_il = sign(W_il) max(|W_il| - theta_l, 0).

    W: (n_features, n_tasks), or one task's (n_features,). radius: at least 0, one number or one per task, the papers'
    z or C. out: where to write, an array of W's shape and precision, perhaps W itself; a new array by default. Returns
    B; a column inside its ball comes back bit for bit. Raises ValueError for NaN, infinity, a wrong shape, a radius
    below 0 or NaN.

    Source: Duchi et al. (2008), eq. 7 and Fig. 2.

    >>> project([3.0, -1.0, 0.5], radius=2.0)
    array([2., 0., 0.])
    """
    W = as_columns(W)
    B = as_output(out, W)
    V = tasks(W)
    radii = as_radii(radius, len(V))
    sums = abs_sums(V)
    large = ~(sums < LARGE)
    if large.any():
        require_finite(W)
        scale = np.where(large, 2.0**-256, 1.0)
        scaled = project((V * scale[:, np.newaxis]).T, radii * scale) / scale
        B[...] = np.where(sums <= radii, V.T, scaled).reshape(W.shape)
        return deliver(B, out)
    projected = np.empty_like(V)
    project_tasks(V, radii, sums, projected)
    B[...] = projected.T.reshape(W.shape)
    return deliver(B, out)


def project_simplex(v: ArrayLike, z: float, *, method: Literal["pivot", "sort"] = "pivot") -> Floats:
    """min_w 1/2 ||w - v||^2  subject to  sum_i w_i = z, w_i >= 0.

    The solution is w_i = max(v_i - theta, 0).

    v: (n,), any signs. z: at least 0. method: "pivot", expected linear time ([D08] Fig. 2), or "sort", O(n log n)
    ([D08] Fig. 1). Returns a new array (n,). Raises ValueError for NaN, infinity, a wrong shape, an unknown method,
    an empty v with z > 0, and z below 0, NaN or infinite.

    Source: Duchi et al. (2008), eq. 3, Fig. 1 and Fig. 2.

    >>> project_simplex([-5.0, 1.0, 0.5], z=1.0)
    array([0.  , 0.75, 0.25])
    """
    v = as_columns(v, "v")
    if v.ndim != 1:
        raise ValueError(f"v must be a vector, got shape {v.shape}")
    require_finite(v, "v")
    z = as_radius(z, "z")
    if method not in ("pivot", "sort"):
        raise ValueError(f"method must be pivot or sort, got {method!r}")
    if z == np.inf or (z > 0 and not v.size):
        raise ValueError(f"z must be reachable by {v.size} finite numbers, got {z}")
    if z == 0.0:
        return np.zeros_like(v)
    if max(z, float(np.abs(v).max())) > LARGE:
        return (project_simplex(v.astype(np.float64) * 2.0**-256, z * 2.0**-256, method=method) * 2.0**256).astype(
            v.dtype
        )
    # w does not change when a number is added to all v. Below their maximum, a small z keeps its digits.
    shifted = v.astype(np.float64) - float(v.max())
    u = shifted[shifted > -z]
    theta = threshold_by_sorting(u, z) if method == "sort" else threshold_by_pivot(u, z)
    theta = polish(u, z, theta)
    return np.maximum(shifted - theta, 0.0).astype(v.dtype)


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
