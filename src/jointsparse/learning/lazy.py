"""Projected subgradient steps on sparse examples that touch only the rows an example has.

An example changes the rows of W whose features it holds. The projection then takes mass theta off every other row too,
but these rows need not be touched. Projecting a row twice equals projecting it once by the sum of both thetas, since
sum_j (a_j - mu2)_+ = sum_j (a_j - mu1)_+ + sum_j (min(a_j, mu1) - mu2)_+ for mu2 <= mu1.

So one number, Theta, adds up all shifts. Each row keeps its entries and the Theta at which they were written. The level
mu_i(Theta) of row i is linear until its next smaller entry joins the entries at the level: then the row bends. A heap
holds the Theta at which each row bends. The sums of levels and slopes over all rows give the next Theta by Newton's
method, which first looks at the rows that bend before it.

With a single task this is the l1 ball under sparse updates (Duchi et al., sec. 6). So the l1 norm is one ball per task.
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
        ("count", np.int64),  # number of these magnitudes; 0: the row is zero
        ("next", np.float64),  # largest magnitude below the level
        ("bend", np.float64),  # Theta at which the level reaches `next`; if `next` is 0, the row becomes zero there
        ("place", np.int64),  # place in the heap; 0: the row is zero, -1: taken out for a change
    ],
    align=True,
)


BALL = np.dtype(
    [
        ("theta", np.float64),  # Theta, up to a constant that may change
        ("level", np.float64),  # sum of the levels of all rows, which is the norm
        ("slope", np.float64),  # sum of 1 / count over all rows
        ("size", np.int64),  # number of rows that are not zero
        ("changes", np.int64),  # number of rows written since the constant changed
    ],
    align=True,
)


# Norms with lazy steps. True: each task has a ball of its own.
ONE_BALL_PER_TASK = {"l1": True, "l1inf": False}
LARGEST_STEP_SUM = 1e150  # sum of magnitudes; the sums of a longer step might overflow
FEWEST_CHANGES = 64  # rows written before sums are taken afresh; more where more rows are not zero


@njit
def put(rows, heap, place, i):  # type: ignore[no-untyped-def]
    heap[place] = i
    rows[i].place = place


@njit
def lift(rows, heap, place):  # type: ignore[no-untyped-def]
    """Move the row at `place` towards the root while it bends before its parent."""
    i = heap[place]
    while place > 1 and rows[i].bend < rows[heap[place // 2]].bend:
        put(rows, heap, place, heap[place // 2])
        place //= 2
    put(rows, heap, place, i)


@njit
def lower(rows, heap, size, place):  # type: ignore[no-untyped-def]
    """Move the row at `place` away from the root while a child bends before it."""
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
    place, last = rows[i].place, heap[ball.size]
    ball.size -= 1
    if last != i:
        put(rows, heap, place, last)
        lift(rows, heap, place)
        lower(rows, heap, ball.size, rows[last].place)
    rows[i].place = 0


@njit
def level_of(ball, row):  # type: ignore[no-untyped-def]
    return (row.sum - (ball.theta - row.base)) / row.count


@njit
def bends(ball, row, sizes):  # type: ignore[no-untyped-def]
    """Bend the row up to Theta and add its level and slope to the ball; False if it became zero. sizes: sorted."""
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
    """Write the present entries of a row whose entries were once a, and return its level."""
    level = max(level_of(ball, row), 0.0) if row.place > 0 else 0.0
    for j in range(a.size):
        out[j] = min(max(a[j], -level), level) if level > 0.0 else 0.0
    return level


@njit
def take_out(ball, rows, values, heap, i):  # type: ignore[no-untyped-def]
    """Take row i out of the ball and write its present entries."""
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
    """Project: raise Theta until the levels add up to the radius."""
    # Newton's method. Levels are convex in Theta, so no step passes the solution. Each bends the rows before its Theta.
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
    """Count Theta from 0 again and take all sums afresh, so that rounding errors do not add up."""
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
    """W <- W + X^T G, X in CSR. Return the rows that changed; they are taken out of the ball."""
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
    """Put the touched rows back into the ball, and project."""
    for i in touched:
        put_back(ball, rows, values, sizes, heap, i)
    settle(ball, rows, sizes, heap, radius)
    # A restart reads all rows, so it must be rare. Beyond the first bound, enough rows were written to pay for it. Old
    # rows that are not zero hold more than Theta each and m radius in all. So beyond the second, half the rows are new.
    if ball.changes >= max(FEWEST_CHANGES, 2 * ball.size) or ball.theta * ball.size > 2 * values.shape[1] * radius:
        restart(ball, rows, heap)


@njit
def step(ball, rows, values, sizes, heap, radius, indptr, indices, data, G):  # type: ignore[no-untyped-def]
    """W <- P(W + X^T G) in one ball, X in CSR."""
    touched = add_to_rows(ball, rows, values, heap, indptr, indices, data, G)
    return_rows(ball, rows, values, sizes, heap, radius, touched)


@njit
def step_all(balls, rows, values, sizes, heaps, radius, indptr, indices, data, G):  # type: ignore[no-untyped-def]
    """Take the step in every ball, each with its share of the columns of G."""
    width = values.shape[2]
    for b in range(balls.size):
        part = G[:, b * width : (b + 1) * width]
        step(balls[b], rows[b], values[b], sizes[b], heaps[b], radius, indptr, indices, data, part)


@njit
def margins(balls, rows, values, indptr, indices, data, F):  # type: ignore[no-untyped-def]
    """F = X W, X in CSR."""
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
    """Some rows of a CSR matrix: row n holds the columns indices[indptr[n] : indptr[n + 1]]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    data: Matrix

    def part(self, batch: slice) -> "Rows":
        return Rows(self.indptr[batch.start : batch.stop + 1], self.indices, self.data)

    def take(self, chosen: NDArray[np.int64]) -> "Rows":
        """Copy the chosen rows, in a tenth of the time of scipy's indexing."""
        return Rows(*_take(*self, chosen))

    def entries(self) -> Matrix:
        """The stored entries of these rows alone."""
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
    return Rows(X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64))


class Eager:
    """W (n_features, n_tasks) as an array. Each step projects the whole of it."""

    def __init__(self, n_features: int, n_tasks: int, norm: str, radius: float) -> None:
        self.norm, self.radius, self.t = norm, radius, 0
        self.W = np.zeros((n_features, n_tasks))
        self.warm: dict[str, Any] = {"warm": pick("norms", norm).Warm()} if pick("norms", norm).WARM else {}

    def step(self, X: Any, G: Matrix) -> None:
        """W <- P(W + X^T G). X: (n, n_features), dense or CSR. G: (n, n_tasks)."""
        if G.any():
            self.W += X.T @ G
            pick("norms", self.norm).project(self.W, self.radius, out=self.W, **self.warm)
        self.t += 1

    def margins(self, X: Any) -> Matrix:
        return np.asarray(X @ self.W)

    def last(self) -> Matrix:
        return self.W


class Lazy:
    """W in an l1,inf ball or in one l1 ball per task. A step touches only the features of its examples.

    A step with k non-zeros takes O(k m (log d + log m)) for d features and m tasks, amortised. A row that is written is
    sorted, and each of its entries later makes its level bend once.

    Memory is 16 bytes for each weight, and about 50 for each row. With l1 a row is one weight.
    """

    def __init__(self, n_features: int, n_tasks: int, norm: str, radius: float) -> None:
        self.norm, self.radius, self.t = norm, radius, 0
        n_balls, width = (n_tasks, 1) if ONE_BALL_PER_TASK[norm] else (1, n_tasks)
        self.values = np.zeros((n_balls, n_features, width))  # the entries of each row when it was written
        self.sizes = np.zeros_like(self.values)  # their magnitudes, in increasing order within each row
        self.rows = np.zeros((n_balls, n_features), ROW)
        self.balls = np.zeros(n_balls, BALL)
        self.heaps = np.zeros((n_balls, n_features + 1), np.int32)  # rows by `bend`, from place 1: place 0 is unused
        self.written: Matrix | None = None  # W, once it was read

    def step(self, X: Rows, G: Matrix) -> None:
        """W <- P(W + X^T G)."""
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
