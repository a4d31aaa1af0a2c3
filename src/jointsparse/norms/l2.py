"""The l2 norm of each task's weights: tasks are independent and weights are not sparse. The first baseline of [Q09].

Quattoni, Carreras, Collins, Darrell: An efficient projection for l1,inf regularization. ICML 2009.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_columns, as_output, as_radii, deliver, positive_part, require_finite
from jointsparse.compiled import njit
from jointsparse.norms import on_arrays
from jointsparse.norms.rows import SMALL_RADIUS, lowered

WARM = False  # `project` takes no warm start
PER_TASK = True  # one norm and one ball per task
SPARSE = False  # the balls have no corners
WEIGHTED = False  # with weights the balls would be ellipsoids
GROUPED = False  # no function takes `groups`
DESCENDS = False  # there is no `descend`

Vector = NDArray[np.float64]

TILE_ENTRIES = 256  # largest number of entries that `column_lengths` adds to its sums at once
# A sum of squares between these limits has not lost accuracy by underflow or overflow.
SMALLEST_SQUARES, LARGEST_SQUARES = 2.0**-600, 2.0**600


@njit
def add_squares(w, sums):  # type: ignore[no-untyped-def]
    for k in range(w.size):
        x = np.float64(w[k])
        sums[k] += x * x


@njit
def column_lengths(W):  # type: ignore[no-untyped-def]
    """Return the l2 length of every column, or NaN if its sum of squares is not finite, overflows or underflows."""
    n_features, n_tasks = W.shape
    # Several rows are added at a time, because single rows may be too short to vectorise.
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
    """Project B in place and return True, or return False at once if a column's length is NaN or a radius is tiny."""
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
    """Return W scaled by powers of two that bring its largest entries near 1, and these powers.

    Sums of squares then neither overflow nor underflow. tops: largest entry of each column, (n_tasks,), or of each row,
    (n_features, 1). Raises ValueError for NaN or infinity in W.
    """
    if not np.isfinite(tops).all():
        require_finite(W)
    power = np.ldexp(1.0, -np.maximum(np.frexp(tops)[1], -1000))
    return W * power, power


def safe_lengths(W: Floats) -> tuple[Vector, Floats, Vector]:
    """Return the column lengths of V = W * power, the matrix V, and `power`, one power of two per column.

    The powers are 1 and V is W, unless the sum of squares of a column overflows or underflows.
    """
    lengths = column_lengths(W) if W.size else np.zeros(W.shape[1])
    if not np.isnan(lengths).any():
        return lengths, W, np.ones(len(lengths))
    V, power = scaled(W, np.abs(W).max(axis=0).astype(np.float64))
    return column_lengths(V), V, power


def norm(W: ArrayLike, *, axis: int | None = None) -> Any:
    """Return ||w_l||_2 = sqrt(sum_i W_il^2) for each task l.

    W: (n_features, n_tasks), or (n_features,) for a single task. axis: as in `project`. Returns an array (n_tasks,), or
    a float for a vector. Raises ValueError for NaN, infinity or a wrong shape.

    >>> norm([[3.0, 1.0], [4.0, 0.0]])
    array([5., 1.])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None:
        return on_arrays.call(norm, W, axis=axis)
    W = as_columns(W)
    lengths, _, power = safe_lengths(W if W.ndim == 2 else W[:, np.newaxis])
    with np.errstate(over="ignore"):  # a length above the largest float becomes infinity
        lengths = lengths / power
    return lengths if W.ndim == 2 else float(lengths[0])


def dual_norm(W: ArrayLike, *, axis: int | None = None) -> Any:
    """Return the dual norm for each task l, which is ||w_l||_2 because the l2 norm is its own dual norm.

    W: (n_features, n_tasks), or (n_features,) for a single task. axis: as in `project`. Returns an array (n_tasks,), or
    a float for a vector. Raises ValueError for NaN, infinity or a wrong shape.

    >>> dual_norm([3.0, 4.0])
    5.0
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None:
        return on_arrays.call(dual_norm, W, axis=axis)
    return norm(W)


def project(
    W: ArrayLike, radius: ArrayLike, *, out: Floats | None = None, positive: bool = False, axis: int | None = None
) -> Floats:
    """Project the weights of each task onto an l2 ball.

    Solve min_B 1/2 ||B - W||_F^2 subject to sqrt(sum_i B_il^2) <= radius_l for each task l. The solution is
    b_l = w_l min(1, radius_l / ||w_l||_2).

    Parameters
    ----------
    W : array (n_features, n_tasks), or (n_features,) for a single task
        Real and finite. float32 and float64 are kept, other dtypes become float64.
    radius : float or array (n_tasks,)
        Non-negative radius of the balls, the papers' C. Infinity is allowed.
    out : array of W's shape and dtype, optional
        Array for the result, which may be W itself. By default a new array is made.
    positive : bool
        Whether to require B >= 0 as well. The solution is then the projection of max(W, 0).
    axis : int, optional
        The axis along which the weights of a task lie: -2 by default, or -1. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    B : array of W's shape and dtype
        A column of W (or of max(W, 0)) inside its ball is returned bit for bit.

    Raises
    ------
    ValueError
        If `W` or `radius` holds NaN, if `W` is infinite or has a wrong shape, or if a radius is negative.

    References
    ----------
    The independent l2 projections of Quattoni et al. (2009), sec. 5.

    >>> project([3.0, 4.0], radius=1.0)
    array([0.6, 0.8])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(radius):
        return on_arrays.call(project, W, radius, axis=axis, out=out, positive=positive)
    W = positive_part(as_columns(W)) if positive else as_columns(W)
    B = as_output(out, W)
    columns, result = (W, B) if W.ndim == 2 else (W[:, np.newaxis], B[:, np.newaxis])
    radii = as_radii(radius, columns.shape[1])
    np.copyto(B, W)  # the kernel works in place, because the compiler then vectorises it
    if W.size and not project_columns(result, radii):
        lengths, V, power = safe_lengths(columns)  # lengths of the columns of V = columns * power
        with np.errstate(all="ignore"):  # lengths may be 0, and radii * power may overflow: then B is inside
            shorter = lowered((V * (1.0 / lengths) * radii).astype(W.dtype))
            # A column inside its ball is not changed, and rounding must not let an entry grow.
            is_inside = lengths <= radii * power
            result[...] = np.where(is_inside | (np.abs(shorter) > np.abs(columns)), columns, shorter)
    return deliver(B, out)


def prox(W: ArrayLike, step: ArrayLike, *, positive: bool = False, axis: int | None = None) -> Floats:
    """Apply the proximal operator of sum_l step_l ||w_l||_2 to W.

    Solve min_B 1/2 ||B - W||_F^2 + sum_l step_l sqrt(sum_i B_il^2). The solution is
    b_l = w_l max(1 - step_l / ||w_l||_2, 0); by Moreau's decomposition w_l - b_l is the projection of w_l onto the l2
    ball of radius step_l.

    Parameters
    ----------
    W : array (n_features, n_tasks), or (n_features,) for a single task
        Real and finite. float32 and float64 are kept, other dtypes become float64.
    step : float or array (n_tasks,)
        Non-negative factor of the norms. Infinity is allowed.
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
        If W or step is NaN, W is infinite or has a wrong shape, or a step is negative.

    >>> prox([3.0, 4.0], step=2.5)
    array([1.5, 2. ])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(step):
        return on_arrays.call(prox, W, step, axis=axis, positive=positive)
    W = positive_part(as_columns(W)) if positive else as_columns(W)
    steps = as_radii(step, W.shape[1] if W.ndim == 2 else 1, "step")
    lengths = np.atleast_1d(norm(W))
    if not np.isfinite(lengths).all():  # the length overflows, so it is computed on a smaller scale
        unit = np.where(np.isfinite(lengths), 1.0, 2.0**-64)
        return prox(W * unit, steps * unit) / unit
    return project(W, np.maximum(lengths - steps, 0.0))
