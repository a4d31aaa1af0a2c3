"""The l2 norm of each task's weights, and its ball: independent tasks without sparsity, the first comparison of [Q09].

Quattoni, Carreras, Collins, Darrell: An efficient projection for l1,inf regularization. ICML 2009.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_columns, as_output, as_radii, deliver, positive_part, require_finite
from jointsparse.compiled import njit
from jointsparse.norms.rows import SMALL_RADIUS, lowered

WARM = False  # `project` takes no warm start
PER_TASK = True  # one number for each task
SPARSE = False  # its balls have no corners
WEIGHTED = False  # with weights its ball would be an ellipsoid
GROUPED = False  # takes no `groups` of features
DESCENDS = False  # has no `descend`

Vector = NDArray[np.float64]

TILE_ENTRIES = 256  # of a matrix, at most, that are worked on side by side
# A sum of squares between these has lost nothing to underflow or overflow.
SMALLEST_SQUARES, LARGEST_SQUARES = 2.0**-600, 2.0**600


@njit
def add_squares(w, sums):  # type: ignore[no-untyped-def]
    for k in range(w.size):
        x = np.float64(w[k])
        sums[k] += x * x


@njit
def column_lengths(W):  # type: ignore[no-untyped-def]
    """l2 length of every column. NaN if an entry is NaN, infinite, or so large or small that its square is unsafe."""
    n_features, n_tasks = W.shape
    # Several rows at a time: single rows may be too short to vectorise.
    size = n_tasks * min(n_features, max(1, TILE_ENTRIES // n_tasks))
    w, squares, lengths = W.reshape(W.size), np.zeros(size), np.zeros(n_tasks)
    for start in range(0, w.size, size):
        add_squares(w[start : min(start + size, w.size)], squares)
    for k in range(size):
        lengths[k % n_tasks] += squares[k]
    for l in range(n_tasks):
        if lengths[l] == 0.0:
            lengths[l] = np.nan if W[:, l].any() else 0.0
        else:
            lengths[l] = math.sqrt(lengths[l]) if SMALLEST_SQUARES < lengths[l] < LARGEST_SQUARES else np.nan
    return lengths


@njit
def project_columns(B, radii):  # type: ignore[no-untyped-def]
    """Replace B by its projection. False, and nothing is changed, if a column has no safe length or a tiny radius."""
    lengths = column_lengths(B)
    inverses, scales = np.ones(radii.size), np.ones(radii.size)
    for l in range(radii.size):
        if math.isnan(lengths[l]) or radii[l] < SMALL_RADIUS:
            return False
        if lengths[l] > radii[l]:
            inverses[l], scales[l] = 1.0 / lengths[l], radii[l]
    for i in range(B.shape[0]):
        b = B[i]
        for l in range(b.size):
            shorter = (b[l] * inverses[l]) * scales[l]
            b[l] = shorter if abs(shorter) <= abs(b[l]) else b[l]  # rounding must not let an entry grow
    return True


def scaled(W: Floats, tops: Vector) -> tuple[Vector, Vector]:
    """Return W times powers of two that bring its largest entries `tops` near 1, and these powers.

    No sum of squares is unsafe then. `tops`: one for each column, (n_tasks,), or for each row, (n_features, 1). Raises
    ValueError for NaN or infinity in W.
    """
    if not np.isfinite(tops).all():
        require_finite(W)
    power = np.ldexp(1.0, -np.maximum(np.frexp(tops)[1], -1000))
    return W * power, power


def safe_lengths(W: Floats) -> tuple[Vector, Floats, Vector]:
    """Return the lengths of the columns of V; V, which is W * power; and the power of two of each column.

    V is W, and the powers are 1, unless the sum of squares of a column is unsafe.
    """
    lengths = column_lengths(W) if W.size else np.zeros(W.shape[1])
    if not np.isnan(lengths).any():
        return lengths, W, np.ones(len(lengths))
    V, power = scaled(W, np.abs(W).max(axis=0).astype(np.float64))
    return column_lengths(V), V, power


def norm(W: ArrayLike) -> Any:
    """||w_l||_2 = sqrt(sum_i W_il^2) for each task l.

    W: (n_features, n_tasks), or one task's (n_features,). Returns an array (n_tasks,), for a vector a float. Raises
    ValueError for NaN, infinity or a wrong shape.

    >>> norm([[3.0, 1.0], [4.0, 0.0]])
    array([5., 1.])
    """
    W = as_columns(W)
    lengths, _, power = safe_lengths(W if W.ndim == 2 else W[:, np.newaxis])
    with np.errstate(over="ignore"):  # a length above the largest float is infinite
        lengths = lengths / power
    return lengths if W.ndim == 2 else float(lengths[0])


def dual_norm(W: ArrayLike) -> Any:
    """||w_l||_2 for each task l: the l2 norm is its own dual.

    W: (n_features, n_tasks), or one task's (n_features,). Returns an array (n_tasks,), for a vector a float. Raises
    ValueError for NaN, infinity or a wrong shape.

    >>> dual_norm([3.0, 4.0])
    5.0
    """
    return norm(W)


def project(W: ArrayLike, radius: ArrayLike, *, out: Floats | None = None, positive: bool = False) -> Floats:
    """min_B 1/2 ||B - W||_F^2  subject to  sqrt(sum_i B_il^2) <= radius_l for each task l.

    The solution is b_l = w_l min(1, radius_l / ||w_l||_2).

    Parameters
    ----------
    W : array (n_features, n_tasks), or one task's (n_features,)
        Real and finite. float32 and float64 are kept, other types become float64.
    radius : float or array (n_tasks,), at least 0
        The papers' C. Infinity is allowed.
    out : array of W's shape and precision, optional
        Where to write, perhaps W itself. A new array by default.
    positive : bool
        Ask for B >= 0 too. The solution is the projection of max(W, 0).

    Returns
    -------
    B : array of W's shape and precision
        A column of W (or max(W, 0)) inside its ball comes back bit for bit.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, and a radius below 0 or NaN.

    References
    ----------
    The independent l2 projections of Quattoni et al. (2009), sec. 5.

    >>> project([3.0, 4.0], radius=1.0)
    array([0.6, 0.8])
    """
    W = positive_part(as_columns(W)) if positive else as_columns(W)
    B = as_output(out, W)
    columns, result = (W, B) if W.ndim == 2 else (W[:, np.newaxis], B[:, np.newaxis])
    radii = as_radii(radius, columns.shape[1])
    np.copyto(B, W)  # the compiler vectorises where a kernel writes what it reads
    if W.size and not project_columns(result, radii):
        lengths, V, power = safe_lengths(columns)  # V is columns * power, and the lengths are those in V
        with np.errstate(all="ignore"):  # a radius that overflows here is larger than the length, which may be 0
            shorter = lowered((V * (1.0 / lengths) * radii).astype(W.dtype))
            # A column inside its ball stays as it is, and rounding must not let an entry grow.
            is_inside = lengths <= radii * power
            result[...] = np.where(is_inside | (np.abs(shorter) > np.abs(columns)), columns, shorter)
    return deliver(B, out)


def prox(W: ArrayLike, step: ArrayLike, *, positive: bool = False) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + sum_l step_l sqrt(sum_i B_il^2): b_l = w_l max(1 - step_l / ||w_l||_2, 0).

    W: (n_features, n_tasks), or one task's (n_features,). step: at least 0, one number or one per task. positive: ask
    for B >= 0 too, by the prox of max(W, 0). Returns a new array. Raises ValueError for NaN, infinity, a wrong shape, a
    step below 0 or NaN.
    Source: Moreau's decomposition: what is taken off is the projection onto the l2 ball of radius step.

    >>> prox([3.0, 4.0], step=2.5)
    array([1.5, 2. ])
    """
    W = positive_part(as_columns(W)) if positive else as_columns(W)
    steps = as_radii(step, W.shape[1] if W.ndim == 2 else 1, "step")
    lengths = np.atleast_1d(norm(W))
    if not np.isfinite(lengths).all():  # above the largest float
        unit = np.where(np.isfinite(lengths), 1.0, 2.0**-64)
        return prox(W * unit, steps * unit) / unit
    return project(W, np.maximum(lengths - steps, 0.0))
