"""The l1 ball under sparse updates: a point that changes in a few coordinates at a time and stays in the ball.

Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 6.

The paper keeps the non-zero entries in a search tree (Fig. 3; `pipeline.papers.duchi.operations.Tree` follows it). Here
they lie in the heap of `learning.lazy`, as rows of one entry each, which takes a quarter to a half of the time.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_places, as_radius, real_array, require, require_count, require_finite
from jointsparse.compiled import njit
from jointsparse.learning.lazy import Lazy, add_to_rows, put_back, return_rows
from jointsparse.norms import l1

MOST_COORDINATES = 2**31 - 2
LARGEST_SUM = 2.0**900  # of the radius and of an update's magnitudes: no sum of so many entries overflows
ONE_STEP = np.ones((1, 1))


@njit
def update(balls, rows, values, sizes, heaps, radius, indices, changes, step):  # type: ignore[no-untyped-def]
    """Add the changes to the coordinates and project. Return no coordinates, as a rule.

    If an entry has become so large that all untouched coordinates become zero, the ball is emptied instead. Then the
    touched coordinates are returned: their entries in `values` are still to be projected.
    """
    ball, rows, values, sizes, heap = balls[0], rows[0], values[0], sizes[0], heaps[0]
    touched = add_to_rows(ball, rows, values, heap, np.array([0, indices.size]), indices, changes, step)
    largest = 0.0
    for i in touched:
        largest = max(largest, abs(values[i, 0]))
    if largest > 2.0 * radius:  # Theta grows by at least largest - radius > radius, the most another entry can be
        empty(ball, rows, heap)
        return touched
    return_rows(ball, rows, values, sizes, heap, radius, touched)
    return touched[:0]


@njit
def empty(ball, rows, heap):  # type: ignore[no-untyped-def]
    """Make all entries zero. Each has paid for this when it was added."""
    for place in range(1, ball.size + 1):
        rows[heap[place]].place = 0
    ball.size, ball.theta, ball.level, ball.slope = 0, 0.0, 0.0, 0.0


@njit
def fill(balls, rows, values, sizes, heaps, indices, entries):  # type: ignore[no-untyped-def]
    """Give coordinates of an empty ball their entries, a point of the ball."""
    for k in range(indices.size):
        values[0, indices[k], 0] = entries[k]
        put_back(balls[0], rows[0], values[0], sizes[0], heaps[0], indices[k])


@njit
def are_fit(indices, values, n):  # type: ignore[no-untyped-def]
    """True if all indices are in 0..n-1 and sum |values| is not too large."""
    total = 0.0
    for k in range(indices.size):
        total += abs(values[k]) if 0 <= indices[k] < n else math.inf
    return total <= LARGEST_SUM


class SparseL1Ball:
    """A point w in the l1 ball, sum_i |w_i| <= radius, that sparse updates move: w <- project(w + sum_k values_k e_k).

    `add` takes O(k log N) for k indices and N non-zero coordinates. The bound is amortised: an entry that becomes zero
    is paid for when it is added. The norm and the array take O(n). Memory is 68 bytes for each coordinate that was ever
    not zero. Two threads must not change one object at once.

    Parameters
    ----------
    n : int, 0 to 2^31 - 2
        Number of coordinates.
    radius : float, at least 0
        The papers' z: at most 2^900, or infinite.
    point : array (n,), optional
        The start, zero by default. It is projected first, in O(n log n). Its magnitudes sum to at most 2^900.

    Raises
    ------
    ValueError
        For values outside these ranges, NaN, infinity, or a wrong shape.

    References
    ----------
    Duchi et al. (2008), sec. 6.

    >>> ball = SparseL1Ball(5, radius=2.0)
    >>> ball.add([0, 3], [3.0, -2.0])
    >>> ball.toarray()
    array([ 1.5,  0. ,  0. , -0.5,  0. ])
    """

    def __init__(self, n: int, radius: float, point: ArrayLike | None = None) -> None:
        require_count(n, "n", MOST_COORDINATES, least=0)
        self.n, self.radius = int(n), as_radius(radius)
        if LARGEST_SUM < self.radius < math.inf:
            raise ValueError(f"radius must be at most 2^900 or infinite, got {self.radius}")
        lazy = Lazy(self.n, 1, "l1", self.radius)
        self._balls, self._rows, self._values = lazy.balls, lazy.rows, lazy.values
        self._arrays = lazy.balls, lazy.rows, lazy.values, lazy.sizes, lazy.heaps
        if point is not None:
            start = real_array(point, "point").astype(np.float64)
            require(start.shape == (self.n,), f"point must have shape ({self.n},), got {start.shape}")
            require_finite(start, "point")
            require(l1.norm(start) <= LARGEST_SUM, "point must have a sum of magnitudes of at most 2^900")
            fill(*self._arrays, np.arange(self.n), l1.project(start, self.radius))

    def add(self, indices: ArrayLike, values: ArrayLike) -> None:
        """Add values[k] to coordinate indices[k] for all k, then project. An index that comes twice is added twice.

        indices: (k,) integers in 0..n-1. values: (k,). Raises ValueError, and changes nothing, for other indices, NaN,
        infinity, magnitudes whose sum is above 2^900, and lengths that differ.
        """
        where = np.asarray(indices)
        numbers = real_array(values, "values").astype(np.float64, copy=False)
        if where.ndim != 1 or where.shape != numbers.shape or (where.dtype.kind not in "iu" and where.size):
            raise ValueError(
                "indices and values must be vectors of one length, the first of integers, "
                f"got {where.dtype} {where.shape} and {numbers.shape}"
            )
        where = np.ascontiguousarray(where, np.int64)
        if not are_fit(where, numbers, self.n):
            as_places(where, self.n)
            require_finite(numbers, "values")
            raise ValueError("values must have a sum of magnitudes of at most 2^900")
        outside = update(*self._arrays, self.radius, where, numbers, ONE_STEP)
        if len(outside):
            fill(*self._arrays, outside, l1.project(self._values[0, outside, 0], self.radius))

    def __len__(self) -> int:
        return self.n

    def take(self, indices: ArrayLike) -> NDArray[np.float64]:
        """Coordinates (k,) for k indices in 0..n-1, in O(k). Raises ValueError for others."""
        return self._entries(as_places(indices, self.n))

    def toarray(self) -> NDArray[np.float64]:
        """The point, (n,)."""
        return self._entries(slice(None))

    def _entries(self, which: NDArray[np.int64] | slice) -> Floats:
        rows = self._rows[0, which]
        magnitudes = rows["bend"] - self._balls["theta"]  # an entry becomes zero at its bend
        return np.where(rows["place"] > 0, np.copysign(magnitudes, self._values[0, which, 0]), 0.0)

    def count_nonzero(self) -> int:
        """The number of coordinates that are not zero."""
        return int(self._balls["size"][0])

    def norm(self) -> float:
        """sum_i |w_i|."""
        return float(np.abs(self.toarray()).sum())
