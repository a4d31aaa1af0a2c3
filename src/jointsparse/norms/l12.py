"""The l1,2 norm: the sum over features of the l2 length of the feature's weights, also known as the group lasso.

Obozinski, Taskar, Jordan: Multi-task feature selection, 2006. [Q08] and [Q09] compare the l1,inf norm with it.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from jointsparse.checks import Floats, as_matrix, as_output, as_radius, deliver
from jointsparse.compiled import njit
from jointsparse.groups import Groups, as_rows
from jointsparse.norms import l1, on_arrays
from jointsparse.norms.l2 import LARGEST_SQUARES, SMALLEST_SQUARES, Vector, scaled
from jointsparse.norms.rows import SMALL_RADIUS, aim_row, copy_numbers, dot, lowered, take_row

WARM = False  # `project` takes no warm start
PER_TASK = False  # one norm for all tasks together
SPARSE = True  # whole rows become 0, see `dual_rows`
WEIGHTED = True  # functions take `weights`, one per feature or group
GROUPED = True  # functions take `groups` of features
DESCENDS = True  # there is `descend`

NEARLY_AS_LONG = 1.0 - 2.0**-40  # if a row is shortened by a smaller factor, rounding cannot let its entries grow
LARGE_ENTRY = 2.0**900  # with larger entries, lengths and their sums might overflow
SMALLER = 2.0**-64  # factor by which lengths are scaled if entries exceed LARGE_ENTRY


@njit
def plain_lengths(W, lengths):  # type: ignore[no-untyped-def]
    """Write the l2 length of every row, and return True if all lengths are accurate.

    Return False, with only some lengths written, if the sum of squares of a row is NaN or not between SMALLEST_SQUARES
    and LARGEST_SQUARES, because squares may then have underflowed or overflowed.
    """
    for i in range(W.shape[0]):
        squares = dot(W[i], W[i])
        if not (SMALLEST_SQUARES < squares < LARGEST_SQUARES or (squares == 0.0 and not W[i].any())):
            return False
        lengths[i] = math.sqrt(squares)
    return True


@njit
def scale_rows(B, lengths, wanted):  # type: ignore[no-untyped-def]
    """Scale the rows of B from their `lengths` to the lengths `wanted`. A row that keeps its length is not changed.

    Return True if a scaled row is so short that its entries may be subnormal.
    """
    tiny = False
    for i in range(B.shape[0]):
        if wanted[i] == lengths[i]:
            continue
        inverse, length, b = 1.0 / lengths[i], wanted[i], B[i]
        tiny = tiny or 0.0 < length < SMALL_RADIUS
        if length * inverse < NEARLY_AS_LONG:
            for j in range(b.size):
                b[j] = (b[j] * inverse) * length if length > 0.0 else 0.0
        else:
            for j in range(b.size):
                x = (b[j] * inverse) * length
                b[j] = x if abs(x) <= abs(b[j]) else b[j]  # rounding must not let an entry grow
    return tiny


@njit
def prox_rows(W, step, B):  # type: ignore[no-untyped-def]
    """Write the result of `prox` without weights and groups to B, and return True.

    Return False, with only a part written, if lengths are not accurate (see `plain_lengths`) or results are subnormal.
    """
    lengths = np.empty(W.shape[0])
    if not plain_lengths(W, lengths):
        return False
    copy_numbers(W.reshape(W.size), B.reshape(W.size))  # `scale_rows` works in place, because it then vectorises
    return not scale_rows(B, lengths, np.maximum(lengths - step, 0.0))


def scaled_lengths(W: Floats, groups: Groups | None) -> tuple[Vector, Vector, Vector]:
    """Return W scaled by a power of two per row or group, the lengths of the scaled rows or groups, and the powers."""
    tops = np.abs(W).max(axis=1, initial=0.0).astype(np.float64)
    if groups is None:
        V, power = scaled(W, tops[:, np.newaxis])
        lengths = np.empty(len(W))
        plain_lengths(V, lengths)
        return V, lengths, power[:, 0]
    tops = groups.reduce(np.maximum, tops)
    power = scaled(tops, tops)[1]
    V = W * power[groups.of_feature, np.newaxis]
    return V, np.sqrt(groups.reduce(np.add, np.square(V).sum(axis=1))), power


@np.errstate(over="ignore")
def lengths_of(W: Floats, groups: Groups | None) -> Vector:
    """Return the l2 length of each row or, with groups, of each group's entries. Lengths may overflow to infinity."""
    lengths = np.empty(len(W))
    if groups is None and plain_lengths(W, lengths):
        return lengths
    _, lengths, power = scaled_lengths(W, groups)
    return lengths / power


def _shorten(W: Floats, groups: Groups | None, shorter: Callable[[Vector, float], Vector], B: Floats) -> None:
    """Write W to B, with every row or group shortened to the length that the function `shorter` returns.

    `shorter(lengths, unit)` takes the lengths of all rows or groups multiplied by `unit`, a power of two that avoids
    overflow, and returns the new lengths multiplied by `unit`.
    """
    if groups is not None or not _shorten_plain(W, shorter, B):
        _shorten_scaled(W, groups, shorter, B)


def _shorten_plain(W: Floats, shorter: Callable[[Vector, float], Vector], B: Floats) -> bool:
    """Shorten rows like `_shorten`, without scaling. If `plain_lengths` fails, write nothing and return False."""
    lengths = np.empty(len(W))
    if not plain_lengths(W, lengths):
        return False
    np.copyto(B, W)  # the kernel works in place, because the compiler then vectorises it
    wanted = shorter(lengths, 1.0)
    if scale_rows(B, lengths, wanted):
        tiny = np.flatnonzero(wanted < np.minimum(lengths, SMALL_RADIUS))
        B[tiny] = lowered(B[tiny])
    return True


def _shorten_scaled(W: Floats, groups: Groups | None, shorter: Callable[[Vector, float], Vector], B: Floats) -> None:
    """Shorten rows or groups like `_shorten`, with entries scaled near 1, so that squares do not over- or underflow."""
    V, lengths, power = scaled_lengths(W, groups)  # lengths of the rows or groups of V = W * power
    unit = SMALLER if power.min(initial=1.0) < 1.0 / LARGE_ENTRY else 1.0
    lengths_in_units = lengths * (unit / power)
    wanted = shorter(lengths_in_units, unit)
    # Each row of V is divided by its length in V, which gives a unit vector, and multiplied by its new length.
    inverses = 1.0 / np.where(lengths > 0, lengths, 1.0)
    rows = (slice(None) if groups is None else groups.of_feature, np.newaxis)
    shortened = ((V * inverses[rows]) * wanted[rows] / unit).astype(W.dtype)
    if ((wanted > 0) & (wanted < SMALL_RADIUS)).any():
        shortened = lowered(shortened)
    # A row that keeps its length stays the same bit for bit, and rounding must not let an entry grow.
    keeps_length = wanted == lengths_in_units
    B[...] = np.where(keeps_length[rows] | (np.abs(shortened) > np.abs(W)), W, shortened)


def norm(
    W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None, axis: int | None = None
) -> float:
    """Return ||W||_{1,2} = sum_i sqrt(sum_j W_ij^2) or, with weights s, sum_i s_i sqrt(sum_j W_ij^2).

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite.
    weights : array (n_features,) or (n_groups,), optional
        The positive weights s, all 1 by default.
    groups : array (n_features,) of integers, optional
        The group of each feature. All entries of a group count as one row.
    axis : int, optional
        The axis along which the entries of a row lie: -1 by default, or -2. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, and invalid weights or groups.

    >>> norm([[3.0, 4.0], [0.0, 2.0]])
    7.0
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(weights):
        return on_arrays.call(norm, W, axis=axis, weights=weights, groups=groups)
    W, s, members = as_rows(as_matrix(W), weights, groups)
    lengths = lengths_of(W, members)
    return float(l1.norm(lengths, weights=s)) if np.isfinite(lengths).all() else np.inf


def dual_norm(
    W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None, axis: int | None = None
) -> float:
    """Return the dual norm, max_i sqrt(sum_j W_ij^2) or, with weights s, max_i sqrt(sum_j W_ij^2) / s_i.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite.
    weights : array (n_features,) or (n_groups,), optional
        The positive weights s, all 1 by default.
    groups : array (n_features,) of integers, optional
        The group of each feature. All entries of a group count as one row.
    axis : int, optional
        The axis along which the entries of a row lie: -1 by default, or -2. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, and invalid weights or groups.

    >>> dual_norm([[3.0, 4.0], [0.0, 2.0]])
    5.0
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(weights):
        return on_arrays.call(dual_norm, W, axis=axis, weights=weights, groups=groups)
    return float(dual_rows(W, weights=weights, groups=groups).max(initial=0.0))


def dual_rows(W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None) -> Vector:
    """Return sqrt(sum_j W_ij^2) or, with weights s, sqrt(sum_j W_ij^2) / s_i for each row i.

    The largest of these numbers is `dual_norm`. W: (n_features, n_tasks). weights: (n_features,) or (n_groups,),
    positive. groups: (n_features,), the group of each feature; all entries of a group count as one row. Returns an
    array (n_features,) or (n_groups,). Raises ValueError for NaN, infinity, a wrong shape, and invalid weights or
    groups.

    >>> dual_rows([[3.0, 4.0], [0.0, 2.0]])
    array([5., 2.])
    """
    W, s, members = as_rows(as_matrix(W), weights, groups)
    with np.errstate(over="ignore"):
        return lengths_of(W, members) / (1.0 if s is None else s)


def project(
    W: ArrayLike,
    radius: float,
    *,
    out: Floats | None = None,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
    axis: int | None = None,
) -> Floats:
    """Project W onto the l1,2 ball.

    Solve min_B 1/2 ||B - W||_F^2 subject to sum_i s_i sqrt(sum_j B_ij^2) <= radius. The rows keep their directions, and
    their lengths are projected onto the l1 ball with weights s. With groups the sum runs over the groups g, and s_g is
    multiplied by the l2 length of all entries of group g.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite. float32 and float64 are kept, other dtypes become float64.
    radius : float
        Non-negative radius of the ball, the papers' C. Infinity is allowed.
    out : array of W's shape and dtype, optional
        Array for the result, which may be W itself. By default a new array is made.
    weights : array (n_features,) or (n_groups,), optional
        The positive weights s, all 1 by default. They may differ by a factor of at most 2^500.
    groups : array (n_features,) of integers, optional
        The group of each feature, from 0 to n_groups - 1. By default every feature is a group of its own.
    positive : bool
        Whether to require B >= 0 as well. The solution is then the projection of max(W, 0).
    axis : int, optional
        The axis along which the entries of a row lie: -1 by default, or -2. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    B : array of W's shape and dtype
        If W (or max(W, 0)) is inside the ball, it is returned bit for bit.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, invalid weights or groups, and a radius that is negative or NaN.

    References
    ----------
    Duchi et al. (2008), eq. 7, applied to the row lengths as in `l1.project`.

    >>> project([[3.0, 4.0], [0.0, 2.0]], radius=4.0)
    array([[2.1, 2.8],
           [0. , 0.5]])
    >>> project([[3.0], [4.0], [2.0]], radius=4.0, groups=[0, 0, 1])
    array([[2.1],
           [2.8],
           [0.5]])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(radius, weights):
        return on_arrays.call(project, W, radius, axis=axis, out=out, weights=weights, groups=groups, positive=positive)
    W, s, members = as_rows(as_matrix(W), weights, groups, positive)
    radius = as_radius(radius)
    B = as_output(out, W)
    _shorten(W, members, lambda lengths, unit: l1.project(lengths, radius * unit, weights=s), B)
    return deliver(B, out)


def prox(
    W: ArrayLike,
    step: float,
    *,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
    axis: int | None = None,
) -> Floats:
    """Apply the proximal operator of step times the l1,2 norm to W.

    Solve min_B 1/2 ||B - W||_F^2 + step * sum_i s_i sqrt(sum_j B_ij^2). The solution multiplies row i, of length l_i,
    by max(1 - step s_i / l_i, 0). By Moreau's decomposition, row i of W - B is the projection of row i of W onto the l2
    ball of radius step * s_i.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite. float32 and float64 are kept, other dtypes become float64.
    step : float
        Non-negative factor of the norm. Infinity is allowed.
    weights : array (n_features,) or (n_groups,), optional
        The positive weights s, all 1 by default.
    groups : array (n_features,) of integers, optional
        The group of each feature, as in `project`.
    positive : bool
        Whether to require B >= 0 as well. The solution is then the prox of max(W, 0).
    axis : int, optional
        The axis along which the entries of a row lie: -1 by default, or -2. `jointsparse.norms` explains batches and
        the arrays of other libraries.

    Returns
    -------
    B : array of W's shape and dtype
        A new array.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, invalid weights or groups, and a step that is negative or NaN.

    >>> prox([[3.0, 4.0], [0.0, 2.0]], step=2.5)
    array([[1.5, 2. ],
           [0. , 0. ]])
    """
    if type(W) is not np.ndarray or W.ndim > 2 or axis is not None or on_arrays.any_of_another_library(step, weights):
        return on_arrays.call(prox, W, step, axis=axis, weights=weights, groups=groups, positive=positive)
    W, s, members = as_rows(as_matrix(W), weights, groups, positive)
    step, B = as_radius(step, "step"), np.empty_like(W)
    # In the usual case a single kernel does all the work, because several calls take longer than a small matrix.
    if s is None and members is None and prox_rows(W, step, B):
        return B
    with np.errstate(over="ignore"):  # a step that overflows here is larger than the length
        steps = step * (1.0 if s is None else s)
        _shorten(W, members, lambda lengths, unit: np.maximum(lengths - steps * unit, 0.0), B)
    return B


@njit
def descend(A, squares, H, W, penalties, n_sweeps):  # type: ignore[no-untyped-def]
    """Perform sweeps of block coordinate descent, see `jointsparse.norms`. Every step shortens a row of W."""
    w = np.empty(W.shape[1])
    for _ in range(n_sweeps):
        for i in range(W.shape[0]):
            if squares[i] <= 0.0:
                continue
            aim_row(A, H, W, i, squares[i], w)
            length = math.sqrt(dot(w, w))
            share = max(1.0 - penalties[i] / length, 0.0) / squares[i] if length > 0.0 else 0.0
            for k in range(w.size):
                w[k] *= share
            take_row(A, H, W, i, w)
