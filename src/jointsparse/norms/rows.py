"""What the norms share: sums without loss, maxima, heights above a level, and descent along the rows of W.

This module is no norm. Descent minimises 1/2 ||Y - X W||^2 plus a penalty on the rows of W.

Either A is the Gram matrix X^T X, and H is (X^T Y - X^T X W)^T. Or A is X^T, with more features than samples, and H is
(Y - X W)^T. In both, W_i + d leaves H - d A_i^T.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointsparse.compiled import njit

# Allow reordering so that sums vectorise. NaN and infinity still propagate.
REORDER = {"reassoc", "nsz", "contract"}
# For entries that are known to be finite.
FINITE = REORDER | {"nnan", "ninf"}
# Projections onto smaller balls may have entries whose rounding error shows beside the radius, see `lowered`.
SMALL_RADIUS = 2.0**-80
SMALLEST_SHARE = 2.0**-1000  # of the norm, about: the projection onto a weighted ball of a smaller radius is 0


@njit
def add_compensated(total, lost, part):  # type: ignore[no-untyped-def]
    """total + part, and what rounding has lost so far. Their sum is as good as exact."""
    larger = total + part
    added = larger - total
    return larger, lost + ((total - (larger - added)) + (part - added))


# A caller has a copy of what it calls, optimised once more, in which sums may have another order. Without forceinline
# it would run its own copy or the original, whichever the process has loaded first.
@njit(fastmath=REORDER, forceinline=True)
def block_sum(v, zero):  # type: ignore[no-untyped-def]
    """sum |v_i|, in the precision of `zero`."""
    result = zero
    for i in range(v.size):
        result += abs(v[i])
    return result


@njit
def top_bits(bits, no_sign):  # type: ignore[no-untyped-def]
    """Bits of the largest magnitude. `no_sign` takes the sign off."""
    # Bits of non-negative floats, read as integers, have the order of the floats; NaN and infinity have the largest.
    # The compiler vectorises a maximum of integers but not one of floats, which takes six times as long.
    top = bits[0] & no_sign
    for j in range(1, bits.size):
        x = bits[j] & no_sign
        top = x if x > top else top
    return top


@njit
def copy_numbers(x, out):  # type: ignore[no-untyped-def]
    """Copy a vector. `out[:] = x` would take seconds to compile: it allows for any shapes."""
    for i in range(x.size):
        out[i] = x[i]


@njit
def heights_above(tops, slopes, total, heights):  # type: ignore[no-untyped-def]
    """Write heights_i = (tops_i - theta)_+ with sum_i slopes_i heights_i = total > 0, by Newton's method on theta.

    Slopes may differ by any factor, and the total may be tiny. Heights are measured upwards from the lowest top above
    theta, where only non-negative numbers are added: tops - theta would cancel.
    """
    rounding = 1.0 - 8 * np.finfo(np.float64).eps
    bound = -np.inf  # of theta, as the sum is at least any of its terms
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
    """B with magnitudes lowered by the smallest subnormal number, which changes nothing but subnormal numbers.

    These are rounded to few digits. If that was upwards, B may lie outside its ball.
    """
    return np.copysign(np.maximum(np.abs(B) - np.finfo(B.dtype).smallest_subnormal, 0), B) + B.dtype.type(0)


def unscaled(scaled: NDArray[Any], exponent: Any, dtype: Any) -> NDArray[Any]:
    """Non-negative numbers times 2^-exponent in another precision. Subnormal ones are rounded towards 0."""
    rounded = np.ldexp(scaled, -exponent).astype(dtype)
    return np.where(np.ldexp(rounded.astype(np.float64), exponent) > scaled, lowered(rounded), rounded)


@njit(forceinline=True, fastmath={"reassoc", "contract"})
def dot(a, h):  # type: ignore[no-untyped-def]
    """sum_j a_j h_j in double precision."""
    result = 0.0
    for j in range(a.size):
        result += np.float64(a[j]) * np.float64(h[j])
    return result


@njit
def aim_row(A, H, W, i, square, w):  # type: ignore[no-untyped-def]
    """w = square times the W_i that is best without a penalty, square = ||X_i||^2."""
    is_gram = A.shape[0] == A.shape[1]
    for k in range(w.size):
        w[k] = square * W[i, k] + (H[k, i] if is_gram else dot(A[i], H[k]))


@njit
def take_row(A, H, W, i, w):  # type: ignore[no-untyped-def]
    """W_i = w, and H accordingly. w is then the step."""
    a = A[i]
    for k in range(w.size):
        step = w[k] - W[i, k]
        W[i, k], w[k] = w[k], step
        if step != 0.0:
            h = H[k]
            for j in range(a.size):
                h[j] -= step * a[j]
