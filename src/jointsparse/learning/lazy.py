"""Projected subgradient steps for sparse examples, which touch only the rows of the features that an example contains.

A step changes the rows of W whose features occur in the example. The projection then also removes the mass theta from
every other row, but these rows need not be touched: removing theta1 from a row and then theta2 is the same as removing
theta1 + theta2 at once, because sum_j (a_j - mu2)_+ = sum_j (a_j - mu1)_+ + sum_j (min(a_j, mu1) - mu2)_+ for
mu2 <= mu1.

So a single number, Theta, records the total mass that all steps have removed from a row. Each row stores its entries
and the Theta at which they were written. The level mu_i(Theta) of row i is linear until it reaches the row's next
smaller entry; there the row bends. A heap orders the rows by the Theta at which they bend. From the sums of levels and
slopes over all rows, Newton's method finds the next Theta; on its way it updates the rows that bend before this Theta.

With a single task these are sparse updates in the l1 ball (Duchi et al., sec. 6). The l1 norm therefore uses one ball
per task.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointsparse.compiled import njit
from jointsparse.registry import pick

Matrix = NDArray[np.float64]

ROW = np.dtype(
    [
        ("base", np.float64),  # Theta at which the entries were written
        ("sum", np.float64),  # sum of the `count` largest magnitudes, which are at the level or above it
        ("count", np.int64),  # number of these magnitudes; 0 if the row is zero
        ("next", np.float64),  # largest magnitude below the level
        ("bend", np.float64),  # Theta at which the level reaches `next`; if `next` is 0, the row becomes zero there
        ("place", np.int64),  # index in the heap; 0 if the row is zero, -1 if it has been taken out for a change
    ],
    align=True,
)


BALL = np.dtype(
    [
        ("theta", np.float64),  # Theta since the last restart
        ("level", np.float64),  # sum of the levels of all rows, which is the norm
        ("slope", np.float64),  # sum of 1 / count over all rows
        ("size", np.int64),  # number of non-zero rows
        ("changes", np.int64),  # number of rows written since the last restart
    ],
    align=True,
)


# Norms for which lazy steps exist. The value is True if each task has a ball of its own.
ONE_BALL_PER_TASK = {"l1": True, "l1inf": False}
LARGEST_STEP_SUM = 1e150  # limit on the sum of a step's magnitudes, so that no sum overflows
FEWEST_CHANGES = 64  # number of written rows after which sums are recomputed, if few rows are non-zero


@njit
def put(rows, heap, place, i):  # type: ignore[no-untyped-def]
    """Store row i at index `place` of the heap."""
    heap[place] = i
    rows[i].place = place


@njit
def lift(rows, heap, place):  # type: ignore[no-untyped-def]
    """Move the row at `place` in the heap towards the root until it no longer bends before its parent does."""
    i = heap[place]
    while place > 1 and rows[i].bend < rows[heap[place // 2]].bend:
        put(rows, heap, place, heap[place // 2])
        place //= 2
    put(rows, heap, place, i)


@njit
def lower(rows, heap, size, place):  # type: ignore[no-untyped-def]
    """Move the row at `place` in the heap away from the root until neither of its children bends before it does."""
    i = heap[place]
    while 2 * place <= size:
        child = 2 * place
        if child < size and rows[heap[child + 1]].bend < rows[heap[child]].bend:
            child += 1
        if rows[heap[child]].bend >= rows[i].bend:
            break
        put(rows, heap, place, heap[child])
        place = child
    put(rows, heap, place, i)


@njit
def take_from_heap(ball, rows, heap, i):  # type: ignore[no-untyped-def]
    """Remove row i from the heap."""
    place, last = rows[i].place, heap[ball.size]
    ball.size -= 1
    if last != i:
        put(rows, heap, place, last)
        lift(rows, heap, place)
        lower(rows, heap, ball.size, rows[last].place)
    rows[i].place = 0


@njit
def level_of(ball, row):  # type: ignore[no-untyped-def]
    """Return the level of a row at the present Theta. The level may be negative."""
    return (row.sum - (ball.theta - row.base)) / row.count


@njit
def bends(ball, row, sizes):  # type: ignore[no-untyped-def]
    """Do all bends of a row up to the present Theta, and add its level and its slope to the sums of the ball.

    Return False if the row becomes zero; nothing is then added. sizes: magnitudes of the row, in increasing order.
    """
    while row.bend <= ball.theta:
        if row.next == 0.0:
            row.count = 0
            return False
        row.sum += row.next
        row.count += 1
        row.next = sizes[sizes.size - 1 - row.count] if row.count < sizes.size else 0.0
        row.bend = row.base + (row.sum - row.count * row.next)
    ball.level += level_of(ball, row)
    ball.slope += 1.0 / row.count
    return True


@njit
def entries_of(ball, row, a, out):  # type: ignore[no-untyped-def]
    """Write the present entries of a row to `out`, and return its level. a: its entries when it was last written."""
    level = max(level_of(ball, row), 0.0) if row.place > 0 else 0.0
    for j in range(a.size):
        out[j] = min(max(a[j], -level), level) if level > 0.0 else 0.0
    return level


@njit
def take_out(ball, rows, values, heap, i):  # type: ignore[no-untyped-def]
    """Take row i out of the ball and store its present entries in `values`."""
    row = rows[i]
    level = entries_of(ball, row, values[i], values[i])
    if row.place > 0:
        ball.level -= level
        ball.slope -= 1.0 / row.count
        take_from_heap(ball, rows, heap, i)
    row.place = -1


@njit
def put_back(ball, rows, values, sizes, heap, i):  # type: ignore[no-untyped-def]
    """Put row i into the ball with its new entries."""
    row, a, of_row = rows[i], values[i], sizes[i]
    for j in range(a.size):
        of_row[j] = abs(a[j])
    if of_row.size > 1:
        of_row.sort()
    row.place, row.count, row.sum, row.next = 0, 0, 0.0, of_row[-1]
    row.base, row.bend = ball.theta, ball.theta
    if bends(ball, row, of_row):
        ball.size += 1
        heap[ball.size] = i
        lift(rows, heap, ball.size)
    ball.changes += 1


@njit
def settle(ball, rows, sizes, heap, radius):  # type: ignore[no-untyped-def]
    """Project onto the ball: increase Theta until the levels of the rows add up to at most the radius."""
    # Newton's method. The levels are convex in Theta, so no step overshoots. After each step, the rows that bend before
    # the new Theta are updated.
    while ball.size > 0 and ball.level > radius:
        ball.theta += (ball.level - radius) / ball.slope
        ball.level = radius
        while ball.size > 0 and rows[heap[1]].bend <= ball.theta:
            i = heap[1]
            row = rows[i]
            ball.level -= level_of(ball, row)
            ball.slope -= 1.0 / row.count
            if bends(ball, row, sizes[i]):
                lower(rows, heap, ball.size, 1)
            else:
                take_from_heap(ball, rows, heap, i)
    if ball.size == 0:
        ball.level, ball.slope = 0.0, 0.0


@njit
def restart(ball, rows, heap):  # type: ignore[no-untyped-def]
    """Reset Theta to 0 and recompute the sums of the ball, so that rounding errors do not accumulate."""
    level, slope = 0.0, 0.0
    for place in range(1, ball.size + 1):
        row = rows[heap[place]]
        level += level_of(ball, row)
        slope += 1.0 / row.count
        row.base -= ball.theta
        row.bend -= ball.theta
    ball.level, ball.slope, ball.theta, ball.changes = level, slope, 0.0, 0


@njit
def add_to_rows(ball, rows, values, heap, indptr, indices, data, G):  # type: ignore[no-untyped-def]
    """Compute W <- W + X^T G for a CSR matrix X. Return the rows that changed, which are taken out of the ball."""
    touched, n_touched = np.empty(indptr[-1] - indptr[0], np.int64), 0
    for n in range(G.shape[0]):
        if not np.any(G[n]):
            continue
        for p in range(indptr[n], indptr[n + 1]):
            i = indices[p]
            if data[p] == 0.0:
                continue
            if rows[i].place >= 0:
                take_out(ball, rows, values, heap, i)
                touched[n_touched] = i
                n_touched += 1
            a = values[i]
            for j in range(a.size):
                a[j] += data[p] * G[n, j]
    return touched[:n_touched]


@njit
def return_rows(ball, rows, values, sizes, heap, radius, touched):  # type: ignore[no-untyped-def]
    """Put the touched rows back into the ball, and project all rows onto the ball."""
    for i in touched:
        put_back(ball, rows, values, sizes, heap, i)
    settle(ball, rows, sizes, heap, radius)
    # A restart reads all rows, so it must be rare. Above the first threshold, enough rows have been written to amortise
    # it. Above the second threshold, at least half of the non-zero rows have been written since the last restart:
    # older non-zero rows have a mass of more than Theta each, and of at most m * radius in total.
    if ball.changes >= max(FEWEST_CHANGES, 2 * ball.size) or ball.theta * ball.size > 2 * values.shape[1] * radius:
        restart(ball, rows, heap)


@njit
def step(ball, rows, values, sizes, heap, radius, indptr, indices, data, G):  # type: ignore[no-untyped-def]
    """Compute W <- P(W + X^T G) in one ball, for a CSR matrix X."""
    touched = add_to_rows(ball, rows, values, heap, indptr, indices, data, G)
    return_rows(ball, rows, values, sizes, heap, radius, touched)


@njit
def step_all(balls, rows, values, sizes, heaps, radius, indptr, indices, data, G):  # type: ignore[no-untyped-def]
    """Take the same step in every ball. Each ball uses only the columns of G that belong to its tasks."""
    width = values.shape[2]
    for b in range(balls.size):
        part = G[:, b * width : (b + 1) * width]
        step(balls[b], rows[b], values[b], sizes[b], heaps[b], radius, indptr, indices, data, part)


@njit
def margins(balls, rows, values, indptr, indices, data, F):  # type: ignore[no-untyped-def]
    """Compute F = X W for a CSR matrix X."""
    width = values.shape[2]
    a = np.empty(width)
    F[:] = 0.0
    for n in range(F.shape[0]):
        for p in range(indptr[n], indptr[n + 1]):
            for b in range(balls.size):
                if rows[b, indices[p]].place > 0:
                    entries_of(balls[b], rows[b, indices[p]], values[b, indices[p]], a)
                    for j in range(width):
                        F[n, b * width + j] += data[p] * a[j]


class Rows(NamedTuple):
    """Some rows of a CSR matrix. Row n has entries in the columns indices[indptr[n] : indptr[n + 1]]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    data: Matrix

    def part(self, batch: slice) -> "Rows":
        """Return the rows in a slice, without copying their entries."""
        return Rows(self.indptr[batch.start : batch.stop + 1], self.indices, self.data)

    def take(self, chosen: NDArray[np.int64]) -> "Rows":
        """Return a copy of the chosen rows. This is ten times faster than indexing with SciPy."""
        return Rows(*_take(*self, chosen))

    def entries(self) -> Matrix:
        """Return the values of the stored entries of these rows, as a one-dimensional array."""
        return self.data[self.indptr[0] : self.indptr[-1]]


@njit
def _take(indptr, indices, data, chosen):  # type: ignore[no-untyped-def]
    new = np.zeros(len(chosen) + 1, np.int64)
    for i, row in enumerate(chosen):
        new[i + 1] = new[i] + indptr[row + 1] - indptr[row]
    places, values = np.empty(new[-1], np.int64), np.empty(new[-1])
    for i, row in enumerate(chosen):
        places[new[i] : new[i + 1]] = indices[indptr[row] : indptr[row + 1]]
        values[new[i] : new[i + 1]] = data[indptr[row] : indptr[row + 1]]
    return new, places, values


def csr(X: Any) -> Rows:
    """Convert a CSR matrix to `Rows`."""
    return Rows(X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64))


class Eager:
    """The weights W as a dense array, (n_features, n_tasks). Each step projects all of W."""

    def __init__(self, n_features: int, n_tasks: int, norm: str, radius: float) -> None:
        self.norm, self.radius, self.t = norm, radius, 0
        self.W = np.zeros((n_features, n_tasks))
        self.warm: dict[str, Any] = {"warm": pick("norms", norm).Warm()} if pick("norms", norm).WARM else {}

    def step(self, X: Any, G: Matrix) -> None:
        """Compute W <- P(W + X^T G). X: (n, n_features), dense or CSR. G: (n, n_tasks)."""
        if G.any():
            self.W += X.T @ G
            pick("norms", self.norm).project(self.W, self.radius, out=self.W, **self.warm)
        self.t += 1

    def margins(self, X: Any) -> Matrix:
        return np.asarray(X @ self.W)

    def last(self) -> Matrix:
        return self.W


class Lazy:
    """Weights W in one l1,inf ball, or in one l1 ball per task. A step touches only the features of its examples.

    A step on examples with k non-zeros takes amortised O(k m (log d + log m)) time for d features and m tasks: a row is
    sorted when it is written, and later bends at most once per entry.

    An object takes 16 bytes of memory per weight, and about 50 bytes per row. With l1, a row is a single weight.
    """

    def __init__(self, n_features: int, n_tasks: int, norm: str, radius: float) -> None:
        self.norm, self.radius, self.t = norm, radius, 0
        n_balls, width = (n_tasks, 1) if ONE_BALL_PER_TASK[norm] else (1, n_tasks)
        self.values = np.zeros((n_balls, n_features, width))  # entries of each row at the time it was written
        self.sizes = np.zeros_like(self.values)  # magnitudes of these entries, in increasing order within each row
        self.rows = np.zeros((n_balls, n_features), ROW)
        self.balls = np.zeros(n_balls, BALL)
        self.heaps = np.zeros((n_balls, n_features + 1), np.int32)  # rows ordered by `bend`; index 0 is unused
        self.written: Matrix | None = None  # cache of W for `last`, until the next step

    def step(self, X: Rows, G: Matrix) -> None:
        """Compute W <- P(W + X^T G)."""
        self.written = None
        if self.radius == 0:
            G = np.zeros_like(G)
        step_all(self.balls, self.rows, self.values, self.sizes, self.heaps, self.radius, *X, G)
        self.t += 1

    def margins(self, X: Rows) -> Matrix:
        F = np.empty((len(X.indptr) - 1, len(self.balls) * self.values.shape[2]))
        margins(self.balls, self.rows, self.values, *X, F)
        return F

    def last(self) -> Matrix:
        if self.written is None:
            rows, theta = self.rows, self.balls["theta"][:, np.newaxis]
            levels = (rows["sum"] - (theta - rows["base"])) / np.maximum(rows["count"], 1)
            levels = np.where(rows["place"] > 0, np.maximum(levels, 0), 0)[..., np.newaxis]
            by_ball = np.minimum(np.maximum(self.values, -levels), levels)
            self.written = by_ball.transpose(1, 0, 2).reshape(len(by_ball[0]), -1)
            # Rounding may leave the norm just above the radius.
            pick("norms", self.norm).project(self.written, self.radius, out=self.written)
        return self.written
