"""The l1,2 norm: the sum over features of the l2 length of a feature's weights, also known as the group lasso.

Obozinski, Taskar, Jordan: Multi-task feature selection, 2006; the l1-2 norm that [Q08] and [Q09] compare theirs with.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from jointsparse.checks import (
    Floats,
    Groups,
    as_groups,
    as_matrix,
    as_output,
    as_radius,
    as_weights,
    deliver,
    positive_part,
)
from jointsparse.compiled import njit
from jointsparse.norms import l1
from jointsparse.norms.l2 import Vector, directions, scaled, scaled_lengths
from jointsparse.norms.rows import aim_row, take_row

WARM = False  # `project` takes no warm start
PER_TASK = False  # one number for all tasks together
SPARSE = True  # rows become 0, see `dual_rows`
WEIGHTED = True  # takes `weights`, one per feature or group
GROUPED = True  # takes `groups` of features
DESCENDS = True  # has `descend`

# A sum of squares between these has lost nothing to underflow or overflow.
SMALLEST_SQUARES, LARGEST_SQUARES = 2.0**-600, 2.0**600


@njit(fastmath={"reassoc", "contract"})
def sum_of_squares(w):  # type: ignore[no-untyped-def]
    result = 0.0
    for j in range(w.size):
        x = np.float64(w[j])
        result += x * x
    return result


@njit
def plain_lengths(W, lengths):  # type: ignore[no-untyped-def]
    """Write the l2 length of every row. False if a sum of squares is not safe (see above) or not finite."""
    for i in range(W.shape[0]):
        squares = sum_of_squares(W[i])
        if not (SMALLEST_SQUARES < squares < LARGEST_SQUARES or (squares == 0.0 and not W[i].any())):
            return False
        lengths[i] = math.sqrt(squares)
    return True


@njit(inline="always")
def scale_row_entries(w, inverse, length, b):  # type: ignore[no-untyped-def]
    for j in range(w.size):
        b[j] = (w[j] * inverse) * length


@njit
def scale_row_here(b, inverse, length):  # type: ignore[no-untyped-def]
    scale_row_entries(b, inverse, length, b)


@njit
def scale_rows(W, lengths, shorter, B):  # type: ignore[no-untyped-def]
    """Scale the rows of W from `lengths` to the lengths `shorter`. B may be W."""
    # The compiler vectorises if it knows that B is W, or sees that they do not overlap.
    here = B.ctypes.data == W.ctypes.data
    for i in range(W.shape[0]):
        if shorter[i] == 0.0 or lengths[i] == 0.0:
            B[i] = 0
        elif here:
            scale_row_here(B[i], 1.0 / lengths[i], shorter[i])
        else:
            scale_row_entries(W[i], 1.0 / lengths[i], shorter[i], B[i])


def row_lengths(W: Floats) -> Vector:
    """l2 length of each row, (n_features,); infinite above the largest float."""
    lengths = np.empty(len(W))
    if not plain_lengths(W, lengths):
        V, power = scaled(W, axis=1)
        plain_lengths(V, lengths)
        with np.errstate(over="ignore"):
            lengths /= power[:, 0]
    return lengths


def group_lengths(W: Floats, groups: Groups | None) -> Vector:
    """l2 length of each group's rows together, (n_groups,), or of each row; infinite above the largest float."""
    lengths = row_lengths(W)
    if groups is None:
        return lengths
    # Powers of two bring the longest row of a group near 1, so that squares neither overflow nor vanish.
    power = np.ldexp(1.0, -np.maximum(np.frexp(groups.reduce(np.maximum, lengths))[1], -1000))
    with np.errstate(over="ignore"):
        return np.sqrt(groups.reduce(np.add, np.square(lengths * power[groups.of_feature]))) / power


def finite_group_lengths(W: Floats, groups: Groups) -> tuple[Vector, float]:
    """`group_lengths` times a power of two at which they do not overflow, and that power."""
    unit = 2.0**-64 if float(np.abs(W).max(initial=0.0)) > 2.0**900 else 1.0
    return group_lengths(W * unit, groups), unit


def _scale_groups(W: Floats, groups: Groups, lengths: Vector, shorter: Vector) -> Floats:
    """Scale the groups of W from `lengths` to the lengths `shorter`."""
    shares = shorter / np.where(lengths > 0, lengths, 1.0)
    return (W * shares[groups.of_feature, np.newaxis]).astype(W.dtype)


def norm(W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None) -> float:
    """||W||_{1,2} = sum_i sqrt(sum_j W_ij^2); with weights s the sum of s_i sqrt(sum_j W_ij^2).

    W: (n_features, n_tasks). weights: (n_features,) or (n_groups,), positive. groups: (n_features,), the group of each
    feature; a group counts as one row. Returns a float. Raises ValueError for NaN, infinity, a wrong shape, unfit
    weights or groups.

    >>> norm([[3.0, 4.0], [0.0, 2.0]])
    7.0
    """
    W = as_matrix(W)
    members = as_groups(groups, len(W))
    lengths = group_lengths(W, members)
    if weights is not None:
        weights = as_weights(weights, members or len(W))
    return float(l1.norm(lengths, weights=weights)) if np.isfinite(lengths).all() else np.inf


def dual_norm(W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None) -> float:
    """max_i sqrt(sum_j W_ij^2), the dual of the l1,2 norm; with weights s the maximum of sqrt(sum_j W_ij^2) / s_i.

    W: (n_features, n_tasks). weights: (n_features,) or (n_groups,), positive. groups: (n_features,), the group of each
    feature; a group counts as one row. Returns a float. Raises ValueError for NaN, infinity, a wrong shape, unfit
    weights or groups.

    >>> dual_norm([[3.0, 4.0], [0.0, 2.0]])
    5.0
    """
    return float(dual_rows(W, weights=weights, groups=groups).max(initial=0.0))


def dual_rows(W: ArrayLike, *, weights: ArrayLike | None = None, groups: ArrayLike | None = None) -> Vector:
    """sqrt(sum_j W_ij^2): each row's part in `dual_norm`, which is the largest. Weights s divide it by s_i.

    W: (n_features, n_tasks). weights: (n_features,) or (n_groups,), positive. groups: (n_features,), the group of each
    feature; a group counts as one row. Returns an array (n_features,) or (n_groups,). Raises ValueError for NaN,
    infinity, a wrong shape, unfit weights or groups.

    >>> dual_rows([[3.0, 4.0], [0.0, 2.0]])
    array([5., 2.])
    """
    W = as_matrix(W)
    members = as_groups(groups, len(W))
    lengths = group_lengths(W, members)
    if weights is None:
        return lengths
    with np.errstate(over="ignore"):
        return lengths / as_weights(weights, members or len(W))


def project(
    W: ArrayLike,
    radius: float,
    *,
    out: Floats | None = None,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
) -> Floats:
    """min_B 1/2 ||B - W||_F^2  subject to  sum_i s_i sqrt(sum_j B_ij^2) <= radius.

    The rows keep their directions; their lengths are projected onto the l1 ball with weights s. With groups the sum is
    that of s_g times the l2 length of all entries of group g.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Real and finite. float32 and float64 are kept, other types become float64.
    radius : float, at least 0
        The papers' C. Infinity is allowed.
    out : array of W's shape and precision, optional
        Where to write, perhaps W itself. A new array by default.
    weights : array (n_features,) or (n_groups,), positive, optional
        s; 1 by default. They differ by a factor of at most 2^500.
    groups : array (n_features,) of integers, optional
        The group of each feature, from 0 to n_groups - 1. Each feature is a group of its own by default.
    positive : bool
        Ask for B >= 0 too. The solution is the projection of max(W, 0).

    Returns
    -------
    B : array of W's shape and precision
        Inside the ball W (or max(W, 0)) bit for bit.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, unfit weights or groups, and a radius below 0 or NaN.

    References
    ----------
    The row lengths by Duchi et al. (2008), eq. 7, solved as in `l1.project`.

    >>> project([[3.0, 4.0], [0.0, 2.0]], radius=4.0)
    array([[2.1, 2.8],
           [0. , 0.5]])
    >>> project([[3.0], [4.0], [2.0]], radius=4.0, groups=[0, 0, 1])
    array([[2.1],
           [2.8],
           [0.5]])
    """
    W = as_matrix(W)
    radius = as_radius(radius)
    members = as_groups(groups, len(W))
    if weights is not None:
        weights = as_weights(weights, members or len(W))
    if positive:
        W = positive_part(W)
    B = as_output(out, W)
    if members is not None:
        lengths, unit = finite_group_lengths(W, members)
        inside = l1.norm(lengths, weights=weights) <= radius * unit
        shorter = l1.project(lengths, radius * unit, weights=weights)
        B[...] = W if inside else _scale_groups(W, members, lengths, shorter)
        return deliver(B, out)
    lengths, unit = np.empty(len(W)), 1.0
    plain = plain_lengths(W, lengths)
    if plain:
        V, P, true_lengths = W, B, lengths
    else:
        V, power = scaled(W, axis=1)
        plain_lengths(V, lengths)
        P = np.empty_like(V)
        # Lengths that would overflow are counted in a larger unit.
        unit = 2.0**-64 if float(np.abs(W).max(initial=0.0)) > 2.0**900 else 1.0
        true_lengths = lengths * (unit / power[:, 0])
    if l1.norm(true_lengths, weights=weights) <= radius * unit:
        B[...] = W
    else:
        scale_rows(V, lengths, l1.project(true_lengths, radius * unit, weights=weights) / unit, P)
        if not plain:
            B[...] = P
    return deliver(B, out)


def prox(
    W: ArrayLike,
    step: float,
    *,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + step * sum_i s_i sqrt(sum_j B_ij^2): row i times max(1 - step s_i / its length, 0).

    Parameters
    ----------
    W : array (n_features, n_tasks)
        As in `project`.
    step : float, at least 0
        Infinity is allowed.
    weights : array (n_features,) or (n_groups,), positive, optional
        s; 1 by default.
    groups : array (n_features,) of integers, optional
        As in `project`.
    positive : bool
        Ask for B >= 0 too. The solution is the prox of max(W, 0).

    Returns
    -------
    B : array of W's shape and precision
        A new array.

    Raises
    ------
    ValueError
        For NaN, infinity, a wrong shape, unfit weights or groups, and a step below 0 or NaN.

    References
    ----------
    Moreau's decomposition: what is taken off a row is its projection onto the l2 ball of radius step * s_i.

    >>> prox([[3.0, 4.0], [0.0, 2.0]], step=2.5)
    array([[1.5, 2. ],
           [0. , 0. ]])
    """
    W = as_matrix(W)
    step = as_radius(step, "step")
    members = as_groups(groups, len(W))
    s = 1.0 if weights is None else as_weights(weights, members or len(W))[:, np.newaxis]
    if positive:
        W = positive_part(W)
    if members is not None:
        lengths, unit = finite_group_lengths(W, members)
        with np.errstate(over="ignore"):
            shorter = np.maximum(lengths - step * unit * np.ravel(s), 0.0)
        return _scale_groups(W, members, lengths, shorter) if step > 0.0 else W.copy()
    lengths, power = scaled_lengths(W, axis=1)
    if step == 0.0:
        return W.copy()
    with np.errstate(over="ignore"):  # a step that overflows here is larger than the length
        shorter = np.maximum(lengths - step * s * power, 0.0)
    return (directions(W, lengths, power) * shorter / power).astype(W.dtype)


@njit
def descend(A, squares, H, W, penalties, n_sweeps):  # type: ignore[no-untyped-def]
    """Sweeps of descent over the rows of W, see `jointsparse.norms`: each row is shortened by the penalty."""
    w = np.empty(W.shape[1])
    for _ in range(n_sweeps):
        for i in range(W.shape[0]):
            if squares[i] <= 0.0:
                continue
            aim_row(A, H, W, i, squares[i], w)
            length = math.sqrt(sum_of_squares(w))
            share = max(1.0 - penalties[i] / length, 0.0) / squares[i] if length > 0.0 else 0.0
            for k in range(w.size):
                w[k] *= share
            take_row(A, H, W, i, w)
