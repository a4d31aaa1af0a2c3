"""Kernels that the norms share: compensated sums, maxima, a threshold search, and steps of block coordinate descent.

This module is not a norm. Block coordinate descent minimises 1/2 ||Y - X W||^2 plus a penalty on the rows of W. Its
steps keep a matrix H up to date, in one of two forms:

- A is the Gram matrix X^T X, and H is (X^T Y - X^T X W)^T;
- A is X^T, if there are more features than samples, and H is (Y - X W)^T.

In both forms, adding d to the row W_i changes H to H - d A_i^T.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointsparse.compiled import njit

# Compiler options that allow sums to be reordered, so that they vectorise. NaN and infinity still propagate.
REORDER = {"reassoc", "nsz", "contract"}
# Compiler options for entries that are known to be finite.
FINITE = REORDER | {"nnan", "ninf"}
# Below this radius, entries of a projection may be so small that rounding them matters; see `lowered`.
SMALL_RADIUS = 2.0**-80
SMALLEST_SHARE = 2.0**-1000  # the projection onto a weighted ball is 0 if radius / norm is below about this number


@njit
def add_compensated(total, lost, part):  # type: ignore[no-untyped-def]
    """Return total + part, and `lost`, the accumulated rounding errors. The sum of both results is nearly exact."""
    larger = total + part
    added = larger - total
    return larger, lost + ((total - (larger - added)) + (part - added))


# Numba compiles a second copy of a kernel into each caller, where sums may be optimised to another order. Without
# forceinline a caller would run its own copy or the original, depending on which one the process has loaded first.
@njit(fastmath=REORDER, forceinline=True)
def block_sum(v, zero):  # type: ignore[no-untyped-def]
    """Return sum |v_i|, computed in the precision of `zero`."""
    result = zero
    for i in range(v.size):
        result += abs(v[i])
    return result


@njit
def top_bits(bits, no_sign):  # type: ignore[no-untyped-def]
    """Return the bits of the largest magnitude. bits: floats viewed as integers. no_sign: mask that clears the sign."""
    # Read as integers, the bits of non-negative floats have the same order as the floats, and infinity and NaN come
    # last. The compiler vectorises a maximum of integers but not a maximum of floats, which takes six times as long.
    top = bits[0] & no_sign
    for j in range(1, bits.size):
        x = bits[j] & no_sign
        top = x if x > top else top
    return top


@njit
def copy_numbers(x, out):  # type: ignore[no-untyped-def]
    """Copy the vector x to `out`. `out[:] = x` would take seconds to compile, because it supports all shapes."""
    for i in range(x.size):
        out[i] = x[i]


@njit
def heights_above(tops, slopes, total, heights):  # type: ignore[no-untyped-def]
    """Write heights_i = (tops_i - theta)_+ such that sum_i slopes_i heights_i = total > 0, by Newton's method on theta.

    The slopes may differ by any factor, and the total may be tiny. Because tops - theta would cancel, heights are
    measured upwards from the lowest top above theta, so that only non-negative numbers are added.
    """
    rounding = 1.0 - 8 * np.finfo(np.float64).eps
    bound = -np.inf  # lower bound of theta, because every term of the sum is at most the total
    for i in range(tops.size):
        bound = max(bound, tops[i] - total / slopes[i])
    candidates = np.nonzero(tops >= min(bound * rounding, bound / rounding))[0]
    top, slope, n = tops[candidates], slopes[candidates], candidates.size
    lowest = top.min()
    while True:
        mass, mass_lost, steepness, steepness_lost = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            mass, mass_lost = add_compensated(mass, mass_lost, slope[i] * (top[i] - lowest))
            steepness, steepness_lost = add_compensated(steepness, steepness_lost, slope[i])
        depth = (total - (mass + mass_lost)) / (steepness + steepness_lost)
        if depth > 0.0:
            break
        n_above, next_lowest = 0, np.inf
        for i in range(n):
            if top[i] - lowest > -depth * rounding:
                top[n_above], slope[n_above], next_lowest = top[i], slope[i], min(next_lowest, top[i])
                n_above += 1
        n, lowest = n_above, next_lowest
    for i in range(tops.size):
        heights[i] = (tops[i] - lowest) + depth if tops[i] >= lowest else 0.0


def lowered(B: NDArray[Any]) -> NDArray[Any]:
    """Return B with all magnitudes lowered by the smallest subnormal number, which changes only tiny entries.

    Subnormal numbers have few digits. If they were rounded up, B might lie outside its ball; lowering them avoids
    this.
    """
    return np.copysign(np.maximum(np.abs(B) - np.finfo(B.dtype).smallest_subnormal, 0), B) + B.dtype.type(0)


def unscaled(scaled: NDArray[Any], exponent: Any, dtype: Any) -> NDArray[Any]:
    """Return non-negative numbers times 2^-exponent as another dtype. Subnormal results are rounded towards 0."""
    rounded = np.ldexp(scaled, -exponent).astype(dtype)
    return np.where(np.ldexp(rounded.astype(np.float64), exponent) > scaled, lowered(rounded), rounded)


@njit(forceinline=True, fastmath={"reassoc", "contract"})
def dot(a, h):  # type: ignore[no-untyped-def]
    """Return sum_j a_j h_j, computed in double precision."""
    result = 0.0
    for j in range(a.size):
        result += np.float64(a[j]) * np.float64(h[j])
    return result


@njit
def aim_row(A, H, W, i, square, w):  # type: ignore[no-untyped-def]
    """Write to w the row W_i that is optimal without a penalty, multiplied by `square`, which is ||X_i||^2."""
    is_gram = A.shape[0] == A.shape[1]
    for k in range(w.size):
        w[k] = square * W[i, k] + (H[k, i] if is_gram else dot(A[i], H[k]))


@njit
def take_row(A, H, W, i, w):  # type: ignore[no-untyped-def]
    """Set W_i to w and update H. Afterwards w holds the change of W_i."""
    a = A[i]
    for k in range(w.size):
        step = w[k] - W[i, k]
        W[i, k], w[k] = w[k], step
        if step != 0.0:
            h = H[k]
            for j in range(a.size):
                h[j] -= step * a[j]
