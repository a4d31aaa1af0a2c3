"""Sparse updates in the l1 ball: each update changes a few coordinates of a point and projects it onto the ball.

Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 6.

The paper stores the non-zero entries in a search tree (Fig. 3), as does `pipeline.papers.duchi.operations.Tree`. Here
they are single-entry rows in the heap of `learning.lazy`, which takes between a quarter and a half of the time that the
tree takes.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_places, as_radius, real_array, require, require_count, require_finite
from jointsparse.compiled import njit
from jointsparse.learning.lazy import Lazy, add_to_rows, put_back, return_rows
from jointsparse.norms import l1

MOST_COORDINATES = 2**31 - 2
LARGEST_SUM = 2.0**900  # limit on the radius and on the sum of an update's magnitudes, so that no sum overflows
ONE_STEP = np.ones((1, 1))


@njit
def update(balls, rows, values, sizes, heaps, radius, indices, changes, step):  # type: ignore[no-untyped-def]
    """Add changes to coordinates, and project the point onto the ball. The returned array of indices is usually empty.

    If an entry has become so large that the projection sets all untouched coordinates to zero, the ball is emptied
    instead, and the indices of the touched coordinates are returned. The caller must then project their entries in
    `values`.
    """
    ball, rows, values, sizes, heap = balls[0], rows[0], values[0], sizes[0], heaps[0]
    touched = add_to_rows(ball, rows, values, heap, np.array([0, indices.size]), indices, changes, step)
    largest = 0.0
    for i in touched:
        largest = max(largest, abs(values[i, 0]))
    # Theta grows by at least largest - radius > radius, and no untouched entry exceeds the radius.
    if largest > 2.0 * radius:
        empty(ball, rows, heap)
        return touched
    return_rows(ball, rows, values, sizes, heap, radius, touched)
    return touched[:0]


@njit
def empty(ball, rows, heap):  # type: ignore[no-untyped-def]
    """Set all entries to zero. The time that this takes is amortised over the updates that wrote the entries."""
    for place in range(1, ball.size + 1):
        rows[heap[place]].place = 0
    ball.size, ball.theta, ball.level, ball.slope = 0, 0.0, 0.0, 0.0


@njit
def fill(balls, rows, values, sizes, heaps, indices, entries):  # type: ignore[no-untyped-def]
    """Set the coordinates at `indices` to `entries`. The ball must be empty, and the new point must lie inside it."""
    for k in range(indices.size):
        values[0, indices[k], 0] = entries[k]
        put_back(balls[0], rows[0], values[0], sizes[0], heaps[0], indices[k])


@njit
def are_fit(indices, values, n):  # type: ignore[no-untyped-def]
    """Return True if all indices are in 0..n-1 and sum |values| is at most LARGEST_SUM."""
    total = 0.0
    for k in range(indices.size):
        total += abs(values[k]) if 0 <= indices[k] < n else math.inf
    return total <= LARGEST_SUM


class SparseL1Ball:
    """A point w in the l1 ball, sum_i |w_i| <= radius, with sparse updates w <- project(w + sum_k values_k e_k).

    `add` takes amortised O(k log N) time for k indices and N non-zero coordinates. `norm` and `toarray` take O(n) time.
    An object needs 68 bytes of memory for each coordinate that has ever been non-zero. It must not be changed by two
    threads at the same time.

    Parameters
    ----------
    n : int, 0 to 2^31 - 2
        Number of coordinates.
    radius : float, at least 0
        Radius of the ball, which the paper calls z. It must be at most 2^900, or infinite.
    point : array (n,), optional
        The initial point, zero by default. It is projected onto the ball, in O(n log n) time. The sum of its magnitudes
        must be at most 2^900.

    Raises
    ------
    ValueError
        If an argument is outside these ranges, if `point` is not finite, or if `point` has the wrong shape.

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
            require(l1.norm(start) <= LARGEST_SUM, "the sum of the magnitudes of point must be at most 2^900")
            fill(*self._arrays, np.arange(self.n), l1.project(start, self.radius))

    def add(self, indices: ArrayLike, values: ArrayLike) -> None:
        """Add values[k] to coordinate indices[k] for all k, then project. Indices may occur more than once.

        indices: integers (k,) in 0..n-1. values: (k,). Raises ValueError, without changing the point, if an index is
        out of range, a value is NaN or infinite, the magnitudes sum to more than 2^900, or the lengths differ.
        """
        where = np.asarray(indices)
        numbers = real_array(values, "values").astype(np.float64, copy=False)
        if where.ndim != 1 or where.shape != numbers.shape or (where.dtype.kind not in "iu" and where.size):
            raise ValueError(
                "indices must be a vector of integers and values a vector of the same length, "
                f"got {where.dtype} {where.shape} and {numbers.shape}"
            )
        where = np.ascontiguousarray(where, np.int64)
        if not are_fit(where, numbers, self.n):
            as_places(where, self.n)
            require_finite(numbers, "values")
            raise ValueError("the sum of the magnitudes of values must be at most 2^900")
        outside = update(*self._arrays, self.radius, where, numbers, ONE_STEP)
        if len(outside):
            fill(*self._arrays, outside, l1.project(self._values[0, outside, 0], self.radius))

    def __len__(self) -> int:
        return self.n

    def take(self, indices: ArrayLike) -> NDArray[np.float64]:
        """Return the coordinates at k indices, (k,), in O(k) time. Raises ValueError if an index is not in 0..n-1."""
        return self._entries(as_places(indices, self.n))

    def toarray(self) -> NDArray[np.float64]:
        """Return the point as an array (n,)."""
        return self._entries(slice(None))

    def _entries(self, which: NDArray[np.int64] | slice) -> Floats:
        rows = self._rows[0, which]
        magnitudes = rows["bend"] - self._balls["theta"]  # an entry becomes zero when Theta reaches its bend
        return np.where(rows["place"] > 0, np.copysign(magnitudes, self._values[0, which, 0]), 0.0)

    def count_nonzero(self) -> int:
        """Return the number of non-zero coordinates."""
        return int(self._balls["size"][0])

    def norm(self) -> float:
        """Return the l1 norm of the point, sum_i |w_i|."""
        return float(np.abs(self.toarray()).sum())
