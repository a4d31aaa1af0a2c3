"""The l1,2 norm: the sum over features of the l2 length of a feature's weights, also known as the group lasso.

Obozinski, Taskar, Jordan: Multi-task feature selection, 2006; the l1-2 norm that [Q08] and [Q09] compare theirs with.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from jointsparse.checks import Floats, as_matrix, as_output, as_radius, deliver
from jointsparse.compiled import njit
from jointsparse.norms import l1
from jointsparse.norms.l2 import Vector, directions, scaled, scaled_lengths

WARM = False  # `project` takes no warm start
PER_TASK = False  # one number for all tasks together

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


def norm(W: ArrayLike) -> float:
    """||W||_{1,2} = sum_i sqrt(sum_j W_ij^2).

    W: (n_features, n_tasks). Returns a float. Raises ValueError for NaN, infinity or a wrong shape.

    >>> norm([[3.0, 4.0], [0.0, 2.0]])
    7.0
    """
    lengths = row_lengths(as_matrix(W))
    return float(l1.norm(lengths)) if np.isfinite(lengths).all() else np.inf


def dual_norm(W: ArrayLike) -> float:
    """max_i sqrt(sum_j W_ij^2), the dual of the l1,2 norm.

    W: (n_features, n_tasks). Returns a float. Raises ValueError for NaN, infinity or a wrong shape.

    >>> dual_norm([[3.0, 4.0], [0.0, 2.0]])
    5.0
    """
    return float(row_lengths(as_matrix(W)).max(initial=0.0))


def project(W: ArrayLike, radius: float, *, out: Floats | None = None) -> Floats:
    """min_B 1/2 ||B - W||_F^2  subject to  sum_i sqrt(sum_j B_ij^2) <= radius.

    The rows keep their directions; their lengths are projected onto the l1 ball.

    W: (n_features, n_tasks). radius: at least 0, the papers' C. out: where to write, an array of W's shape and
    precision, perhaps W itself; a new array by default. Returns B; inside the ball W comes back bit for bit. Raises
    ValueError for NaN, infinity, a wrong shape, a radius below 0 or NaN.

    Source: the row lengths by Duchi et al. (2008), eq. 7, solved as in `l1.project`.

    >>> project([[3.0, 4.0], [0.0, 2.0]], radius=4.0)
    array([[2.1, 2.8],
           [0. , 0.5]])
    """
    W = as_matrix(W)
    radius = as_radius(radius)
    B = as_output(out, W)
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
    if l1.norm(true_lengths) <= radius * unit:
        B[...] = W
    else:
        scale_rows(V, lengths, l1.project(true_lengths, radius * unit) / unit, P)
        if not plain:
            B[...] = P
    return deliver(B, out)


def prox(W: ArrayLike, step: float) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + step * sum_i sqrt(sum_j B_ij^2): each row times max(1 - step / its length, 0).

    W: (n_features, n_tasks). step: at least 0. Returns a new array. Raises ValueError for NaN, infinity, a wrong
    shape, a step below 0 or NaN.
    Source: Moreau's decomposition: what is taken off a row is its projection onto the l2 ball of radius step.

    >>> prox([[3.0, 4.0], [0.0, 2.0]], step=2.5)
    array([[1.5, 2. ],
           [0. , 0. ]])
    """
    W = as_matrix(W)
    step = as_radius(step, "step")
    lengths, power = scaled_lengths(W, axis=1)
    if step == 0.0:
        return W.copy()
    with np.errstate(over="ignore"):  # a step that overflows here is larger than the length
        shorter = np.maximum(lengths - step * power, 0.0)
    return (directions(W, lengths, power) * shorter / power).astype(W.dtype)
