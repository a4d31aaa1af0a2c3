"""The l2 norm of each task's weights, and its ball: independent tasks without sparsity, the first comparison of [Q09].

Quattoni, Carreras, Collins, Darrell: An efficient projection for l1,inf regularization. ICML 2009.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_columns, as_output, as_radii, deliver, require_finite

Vector = NDArray[np.float64]


def scaled_lengths(W: Floats, axis: int) -> tuple[Vector, Vector]:
    """l2 lengths along `axis` times a power of two, and that power: squares neither overflow nor vanish.

    Both keep `axis` as an axis of size 1. NaN or infinity: ValueError.
    """
    tops = np.abs(W).max(axis=axis, keepdims=True, initial=0.0).astype(np.float64)
    if not np.isfinite(tops).all():
        require_finite(W)
    power = np.ldexp(1.0, -np.maximum(np.frexp(tops)[1], -1000))
    return np.sqrt(np.square(W * power).sum(axis=axis, keepdims=True)), power


def directions(W: Floats, lengths: Vector, power: Vector) -> Floats:
    """W with its rows or columns at length 1; zero where there is none."""
    return W * power / np.where(lengths > 0, lengths, 1.0)


def norm(W: ArrayLike) -> Any:
    """||w_l||_2 = sqrt(sum_i W_il^2) for each task l.

    W: (n_features, n_tasks), or one task's (n_features,). Returns an array (n_tasks,), for a vector a float. Raises
    ValueError for NaN, infinity or a wrong shape.

    >>> norm([[3.0, 1.0], [4.0, 0.0]])
    array([5., 1.])
    """
    W = as_columns(W)
    lengths, power = scaled_lengths(W, axis=0)
    with np.errstate(over="ignore"):  # a length above the largest float is infinite
        true_lengths = (lengths / power)[0]
    return true_lengths if W.ndim == 2 else float(true_lengths)


def dual_norm(W: ArrayLike) -> Any:
    """||w_l||_2 for each task l: the l2 norm is its own dual.

    W: (n_features, n_tasks), or one task's (n_features,). Returns an array (n_tasks,), for a vector a float. Raises
    ValueError for NaN, infinity or a wrong shape.

    >>> dual_norm([3.0, 4.0])
    5.0
    """
    return norm(W)


def project(W: ArrayLike, radius: ArrayLike, *, out: Floats | None = None) -> Floats:
    """min_B 1/2 ||B - W||_F^2  subject to  sqrt(sum_i B_il^2) <= radius_l for each task l.

    The solution is b_l = w_l min(1, radius_l / ||w_l||_2).

    W: (n_features, n_tasks), or one task's (n_features,). radius: at least 0, one number or one per task, the papers'
    C. out: where to write, an array of W's shape and precision, perhaps W itself; a new array by default. Returns B; a
    column inside its ball comes back bit for bit. Raises ValueError for NaN, infinity, a wrong shape, a radius below 0
    or NaN.

    Source: the independent l2 projections of Quattoni et al. (2009), sec. 5.

    >>> project([3.0, 4.0], radius=1.0)
    array([0.6, 0.8])
    """
    W = as_columns(W)
    B = as_output(out, W)
    radii = as_radii(radius, W.shape[1] if W.ndim == 2 else 1)
    lengths, power = scaled_lengths(W, axis=0)
    with np.errstate(over="ignore"):  # a radius that overflows here is larger than the length
        inside = lengths <= radii * power
    B[...] = np.where(inside, W, directions(W, lengths, power) * np.where(inside, 0.0, radii))
    return deliver(B, out)


def prox(W: ArrayLike, step: ArrayLike) -> Floats:
    """min_B 1/2 ||B - W||_F^2 + sum_l step_l sqrt(sum_i B_il^2): b_l = w_l max(1 - step_l / ||w_l||_2, 0).

    W: (n_features, n_tasks), or one task's (n_features,). step: at least 0, one number or one per task. Returns a new
    array. Raises ValueError for NaN, infinity, a wrong shape, a step below 0 or NaN.
    Source: Moreau's decomposition: what is taken off is the projection onto the l2 ball of radius step.

    >>> prox([3.0, 4.0], step=2.5)
    array([1.5, 2. ])
    """
    W = as_columns(W)
    steps = as_radii(step, W.shape[1] if W.ndim == 2 else 1, "step")
    lengths, power = scaled_lengths(W, axis=0)
    with np.errstate(over="ignore"):  # a step that overflows here is larger than the length
        shorter = np.maximum(lengths - steps * power, 0.0)
    return np.where(steps == 0, W, directions(W, lengths, power) * shorter / power).astype(W.dtype)
