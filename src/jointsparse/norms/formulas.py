"""The norms, their projections and proximal operators in terms of the array API standard.

They serve arrays of JAX, PyTorch, CuPy and other libraries (see `on_arrays`); NumPy arrays go to the compiled code.
W has the shape (..., n_groups, n_entries): a group lies along the last axis, and leading axes are batches. A radius has
the shape (...,) for l1inf and l12, whose norm is one number for all tasks, and (..., n_groups) for l1 and l2, which
have one norm per task.

Newton's method finds which entries a projection clips or sets to zero; no gradient is taken through it. Once these sets
are known, the threshold theta and the levels mu have closed forms, which the library differentiates. The method takes 4
to 11 passes over a matrix with normal or heavy-tailed entries, and needs a quarter of the memory of the paper's sort
and merge.

A projection is differentiable almost everywhere. Elsewhere the gradient is the one for these sets:

- a matrix on the boundary of its ball counts as inside, where the projection is the identity and ignores the radius;
- an entry that equals its level is not clipped, and one that equals the threshold of the l1 ball becomes zero;
- a group that loses exactly its whole mass becomes zero, and its gradient is zero;
- at radius 0 all gradients are zero, also those of a matrix of zeros;
- the norms take the subgradient 0 at zero, and share it evenly where several entries are the largest.
"""

from collections.abc import Callable
from math import frexp
from typing import Any, NamedTuple

Array = Any  # of any library

MOST_PASSES = 100  # limit for Newton's method, which usually takes about ten passes


class Library(NamedTuple):
    """An array library: its namespace, and functions that the array API standard lacks."""

    xp: Any
    constant: Callable[[Array], Array]  # returns the same numbers, detached from the gradient
    repeat: Callable[[Callable[[tuple], tuple], tuple], tuple]  # repeats a step while its state's first item is true
    compiled: Callable[[Callable], Callable]


def total(lib: Library, x: Array) -> Array:
    """Return the sum along the last axis."""
    return lib.xp.sum(x, axis=-1)


def top(lib: Library, x: Array) -> Array:
    """Return the maximum along the last axis."""
    return lib.xp.max(x, axis=-1)


def magnitudes(lib: Library, x: Array) -> Array:
    """Return |x| with the gradient 0 at zero, where the libraries differ."""
    return lib.xp.where(x == 0, 0.0, lib.xp.abs(x))


def positive_part(lib: Library, x: Array) -> Array:
    return lib.xp.where(x > 0, x, 0.0)


def quotient(lib: Library, x: Array, y: Array) -> Array:
    """Return x / y where y > 0, and x where y = 0; y must not be negative."""
    return x / lib.xp.where(y > 0, y, 1.0)


def unit_of(lib: Library, x: Array) -> Array:
    """Return for every x >= 0 a power of two that brings x so near to 1 that its square neither over- nor underflows.

    The power is 1 if x is 0 or already near 1.
    """
    xp, exponent = lib.xp, frexp(float(lib.xp.finfo(x.dtype).max))[1]
    x, unit = lib.constant(x), xp.ones_like(x)
    for k in (exponent // 2, exponent // 4):
        y = x * unit
        unit = xp.where(y >= 2.0**k, unit * 2.0**-k, xp.where((y < 2.0**-k) & (y > 0), unit * 2.0**k, unit))
    return unit


def product(lib: Library, x: Array, y: Array) -> Array:
    """Return x y for x >= 0 and y > 0, but at most the largest float, because infinity would make gradients NaN."""
    xy = x * y
    return lib.xp.where(x > 0, lib.xp.minimum(xy, lib.xp.full_like(xy, float(lib.xp.finfo(xy.dtype).max))), 0.0)


def rounding(lib: Library, x: Array) -> float:
    return 4 * float(lib.xp.finfo(x.dtype).eps)


def _find_threshold(lib: Library, A: Array, radius: Array, s: Array) -> Array:
    """Return the theta that solves sum_i s_i (A_i - s_i theta)_+ = radius up to rounding.

    Newton's method approaches theta from below. No gradient is taken through it.
    """
    xp, eps = lib.xp, rounding(lib, A)

    def step(state: tuple) -> tuple:
        _, passes, theta = state
        above = s * theta[..., None] < A
        slope = total(lib, xp.where(above, s * s, 0.0))
        mass = total(lib, xp.where(above, s * A, 0.0)) - radius
        higher = xp.maximum(theta, quotient(lib, mass, slope))
        goes_on = xp.any(higher > theta * (1 + eps)) & (passes < MOST_PASSES)
        return goes_on, passes + 1, higher

    # No entry may keep more than the radius, and theta is at least what this leaves of the largest entry.
    start = positive_part(lib, top(lib, A / s - radius[..., None] / (s * s)))
    _, _, theta = lib.repeat(step, (xp.any(start >= 0), xp.zeros_like(xp.sum(start)), start))
    return xp.minimum(theta, top(lib, A / s) * (1 - eps))  # so that the largest entry stays positive


def _heights(lib: Library, A: Array, radius: Array, s: Array) -> tuple[Array, Array]:
    """Return the theta that solves sum_i s_i (A_i - s_i theta)_+ = radius, and the heights (A_i - s_i theta)_+.

    A: (..., n), non-negative, with each vector outside its ball.
    """
    xp, constant = lib.xp, lib.constant
    theta = _find_threshold(lib, constant(A), constant(radius), constant(s))
    above = s * theta[..., None] < A
    h = xp.where(above, A - s * theta[..., None], 0.0)
    slope = total(lib, xp.where(above, s * s, 0.0))
    # theta carries no gradient and is not exact. `rest` solves the equation for these sets: it has the gradient, and
    # corrects the last digits of theta.
    rest = quotient(lib, total(lib, s * h) - radius, slope)
    return theta + rest, xp.where(above, positive_part(lib, h - s * rest[..., None]), 0.0)


def _find_levels(lib: Library, A: Array, radius: Array, s: Array) -> tuple[Array, Array]:
    """Return theta and mu for the l1,inf ball up to rounding, without a gradient, like `l1inf.newton_with_sets`.

    Any set of k entries of a row with sum S bounds mu_i from below by (S - s_i theta) / k. The solution for such sets
    bounds theta from below, and the entries above the bounds of mu_i are better sets.
    """
    xp, eps, m = lib.xp, rounding(lib, A), A.shape[-1]
    maxima, sums, squares = top(lib, A), total(lib, A), s * s

    def at_least(theta: Array, mu: Array) -> Array:
        """Return the highest of three lower bounds: mu, and those from the sets of one entry and of all entries.

        The result is 0 for dead rows, and is kept below the maximum of its row.
        """
        lost = s * theta[..., None]
        mu = xp.maximum(xp.maximum(mu, maxima - lost), (sums - lost) / m)
        return xp.where(sums > lost, xp.minimum(positive_part(lib, mu), maxima * (1 - eps)), 0.0)

    def step(state: tuple) -> tuple:
        _, passes, theta, mu, last_sizes = state
        depth = A - mu[..., None]
        k = xp.maximum(total(lib, xp.astype(depth > 0, A.dtype)), xp.ones_like(mu))
        excess = total(lib, positive_part(lib, depth))
        alive = sums > s * theta[..., None]
        inverse, sizes = xp.where(alive, 1 / k, 0.0), xp.where(alive, k, 0.0)
        slope = total(lib, squares * inverse)
        mass = total(lib, s * xp.where(alive, mu + excess / k, 0.0)) - radius
        higher = xp.maximum(theta, quotient(lib, mass, slope))
        new_mu = at_least(higher, mu + (excess - s * higher[..., None]) / k)
        moves = xp.any(higher > theta * (1 + eps)) | xp.any(xp.abs(new_mu - mu) > eps * maxima)
        goes_on = moves & xp.any(sizes != last_sizes) & (passes < MOST_PASSES)
        return goes_on, passes + 1, higher, new_mu, sizes

    by_all = (total(lib, s * sums) / m - radius) / (total(lib, squares) / m)
    by_one = (total(lib, s * maxima) - radius) / total(lib, squares)
    theta = positive_part(lib, xp.maximum(by_all, by_one))
    mu = at_least(theta, xp.zeros_like(maxima))
    start = (xp.any(theta >= 0), xp.zeros_like(xp.sum(theta)), theta, mu, xp.zeros_like(mu))
    _, _, theta, mu, _ = lib.repeat(step, start)
    return theta, mu


def _levels(lib: Library, A: Array, radius: Array, s: Array) -> tuple[Array, Array]:
    """Return theta and the levels mu for the l1,inf ball, with their gradients. A: (..., d, m), outside the ball."""
    xp, constant = lib.xp, lib.constant
    theta, found = _find_levels(lib, constant(A), constant(radius), constant(s))
    above, alive = found[..., None] < A, found > 0
    k = total(lib, xp.astype(above, A.dtype))
    inverse = xp.where(alive, quotient(lib, xp.ones_like(k), k), 0.0)
    excess = total(lib, xp.where(above, A - found[..., None], 0.0))
    mu = found + (excess - s * theta[..., None]) * inverse
    # As in `_heights`, `rest` has the gradient, and corrects the last digits of theta.
    slope = total(lib, s * s * inverse)
    rest = quotient(lib, total(lib, s * xp.where(alive, mu, 0.0)) - radius, slope)
    mu = positive_part(lib, mu - s * rest[..., None] * inverse)
    return theta + rest, xp.where(alive, mu, 0.0)


def _clipped(lib: Library, W: Array, mu: Array) -> Array:
    """Return W with its rows clipped at mu > 0, and rows with mu = 0 set to zero."""
    level = mu[..., None]
    clips = (lib.xp.abs(W) > level) | (level <= 0)
    return lib.xp.where(clips, lib.xp.sign(W) * level, W)


def lengths(lib: Library, W: Array) -> Array:
    """Return the l2 length of each group. The gradient of the length of a zero group is 0.

    Groups are scaled first, so that their squares neither overflow nor underflow.
    """
    xp = lib.xp
    unit = lib.constant(top(lib, xp.abs(W)))
    squares = total(lib, xp.square(quotient(lib, W, unit[..., None])))
    is_zero = squares == 0
    return xp.where(is_zero, 0.0, unit * xp.sqrt(xp.where(is_zero, 1.0, squares)))


def _scaled(lib: Library, W: Array, length: Array, wanted: Array) -> Array:
    """Return W with its groups shortened from the lengths `length` to the lengths `wanted`."""
    xp = lib.xp
    return W * quotient(lib, xp.where(length > 0, wanted, 0.0), length)[..., None]


def l1inf_norm(lib: Library, W: Array, s: Array) -> Array:
    return total(lib, s * top(lib, magnitudes(lib, W)))


def l1inf_dual_norm(lib: Library, W: Array, s: Array) -> Array:
    return top(lib, total(lib, magnitudes(lib, W)) / s)


def l1inf_project(lib: Library, W: Array, s: Array, radius: Array) -> tuple[Array, Array, Array]:
    theta, mu = _levels(lib, lib.xp.abs(W), radius, s)
    return _clipped(lib, W, mu), theta, mu


def l1inf_prox(lib: Library, W: Array, s: Array, step: Array) -> Array:
    # Moreau's decomposition: each row loses its projection onto an l1 ball, whose threshold is the level of the row.
    xp, A = lib.xp, lib.xp.abs(W)
    mass, lost = total(lib, A), s * step[..., None]
    stays = mass > lost
    mu, _ = _heights(lib, A, xp.where(stays, lost, lib.constant(mass)), xp.ones_like(A[..., :1]))
    clipped = _clipped(lib, W, xp.where(stays, positive_part(lib, mu), 0.0))
    return xp.where((lost > 0)[..., None], clipped, W)


def l12_norm(lib: Library, W: Array, s: Array) -> Array:
    return total(lib, s * lengths(lib, W))


def l12_dual_norm(lib: Library, W: Array, s: Array) -> Array:
    return top(lib, lengths(lib, W) / s)


def l12_project(lib: Library, W: Array, s: Array, radius: Array) -> Array:
    length = lengths(lib, W)
    return _scaled(lib, W, length, _heights(lib, length, radius, s)[1])


def l12_prox(lib: Library, W: Array, s: Array, step: Array) -> Array:
    length = lengths(lib, W)
    return _scaled(lib, W, length, positive_part(lib, length - s * step[..., None]))


def l1_norm(lib: Library, W: Array, s: Array) -> Array:
    return total(lib, s * magnitudes(lib, W))


def l1_dual_norm(lib: Library, W: Array, s: Array) -> Array:
    return top(lib, magnitudes(lib, W) / s)


def l1_project(lib: Library, W: Array, s: Array, radius: Array) -> Array:
    return lib.xp.sign(W) * _heights(lib, lib.xp.abs(W), radius, s)[1]


def l1_prox(lib: Library, W: Array, s: Array, step: Array) -> Array:
    return lib.xp.sign(W) * positive_part(lib, lib.xp.abs(W) - s * step[..., None])


def l1_project_simplex(lib: Library, v: Array, s: Array, z: Array) -> Array:
    # theta is at least max v - z. The vector (v - max v + z)_+ has the same projection, and it lies on the simplex or
    # outside the l1 ball.
    below = v - lib.constant(top(lib, v))[..., None]
    return _heights(lib, positive_part(lib, below + z[..., None]), z, s)[1]


def l2_norm(lib: Library, W: Array, s: Array) -> Array:
    return lengths(lib, W)


def l2_project(lib: Library, W: Array, s: Array, radius: Array) -> Array:
    return _scaled(lib, W, lengths(lib, W), radius)


def l2_prox(lib: Library, W: Array, s: Array, step: Array) -> Array:
    length = lengths(lib, W)
    return _scaled(lib, W, length, positive_part(lib, length - step))


FORMULAS: dict[tuple[str, str], Callable] = {
    ("l1", "dual_norm"): l1_dual_norm,
    ("l1", "norm"): l1_norm,
    ("l1", "project"): l1_project,
    ("l1", "project_simplex"): l1_project_simplex,
    ("l1", "prox"): l1_prox,
    ("l12", "dual_norm"): l12_dual_norm,
    ("l12", "norm"): l12_norm,
    ("l12", "project"): l12_project,
    ("l12", "prox"): l12_prox,
    ("l1inf", "dual_norm"): l1inf_dual_norm,
    ("l1inf", "norm"): l1inf_norm,
    ("l1inf", "project"): l1inf_project,
    ("l1inf", "prox"): l1inf_prox,
    ("l2", "dual_norm"): l2_norm,
    ("l2", "norm"): l2_norm,
    ("l2", "project"): l2_project,
    ("l2", "prox"): l2_prox,
}


def apply(lib: Library, norm: str, verb: str, per_task: bool, W: Array, s: Array, *numbers: Array) -> Any:
    """Return the result of a formula. For `l1inf` "project" returns B, theta and mu.

    Every ball is brought near 1 by a power of two for W and another for the weights, which changes no digits.

    Parameters
    ----------
    lib : Library
        Library of the arrays.
    norm, verb : str
        Key of the formula.
    per_task : bool
        Whether each group has a ball of its own. Otherwise there is one for each matrix.
    W, s, *numbers : array
        Arguments of the formula. s broadcasts to one weight per group or, if `per_task`, to one per entry.
    """
    xp, formula = lib.xp, FORMULAS[norm, verb]

    def of_entries(x: Array) -> Array:
        return x[..., None] if per_task else x[..., None, None]

    size = top(lib, xp.abs(W))
    size = size if per_task else top(lib, size)
    unit = unit_of(lib, xp.maximum(size, *numbers) if verb == "project_simplex" else size)
    unit_s = unit_of(lib, top(lib, s))
    V, s = W * of_entries(unit), s * unit_s[..., None]
    if verb == "norm":
        return formula(lib, V, s) / (unit * unit_s)
    if verb == "dual_norm":
        return formula(lib, V, s) / (unit / unit_s)
    if verb == "prox":
        return formula(lib, V, s, *(product(lib, step, unit / unit_s) for step in numbers)) / of_entries(unit)
    if verb == "project_simplex":
        radius, is_outside = product(lib, numbers[0], unit), xp.ones_like(unit, dtype=xp.bool)
    else:
        radius, length = product(lib, numbers[0], unit * unit_s), FORMULAS[norm, "norm"](lib, V, s)
        is_outside = length > radius
    is_zero = radius <= 0
    if verb != "project_simplex":  # the norm is a valid radius even inside the ball, where the formula is not used
        radius = xp.where(is_outside, radius, lib.constant(length))
    results = formula(lib, V, s, radius)
    B, *levels = results if isinstance(results, tuple) else (results,)
    B = xp.where(of_entries(is_zero), 0.0, xp.where(of_entries(is_outside), B / of_entries(unit), W))
    if not levels:
        return B
    theta, mu = levels[0] / (unit / unit_s), levels[1] / unit[..., None]
    theta = xp.where(is_outside, xp.where(is_zero, lib.constant(theta), theta), 0.0)
    mu = xp.where(is_zero[..., None], 0.0, mu)
    return B, theta, xp.where(is_outside[..., None], mu, top(lib, xp.abs(W)))
