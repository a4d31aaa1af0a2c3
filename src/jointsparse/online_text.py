"""Online logistic regression on sparse text: a pass over the examples, and what an update of the weights costs.

    minimise sum_t log(1 + exp(-y_t x_t . w))  subject to ||w||_1 <= radius,  one step per example.

A step changes the weights of the k features that its example holds and then returns to the ball: projected stochastic
subgradient steps with the search tree, O(k log n), against the lazy exponentiated gradient, O(k).

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 6 and 7.
"""

import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit

from jointsparse.checks import as_positive, require_count
from jointsparse.descent import Objective, sizes_of
from jointsparse.entropic import SCHEDULES, SparseEntropic
from jointsparse.exponentiated import OF_PROJECTIONS
from jointsparse.norms import l1
from jointsparse.norms.l1_sparse import SparseL1Ball
from jointsparse.online import HUGE, Rows, csr
from jointsparse.projection_cost import WholeVector
from jointsparse.sweep import at_edge
from jointsparse.timing import median

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]
STEPS = {"tree": "projection", "entropic": "entropic"}  # whose step sizes a method takes
PER_BLOCK = 20  # updates by one method before it is the next one's turn
SPARE = 1024  # places for features to come, at least


class Point(Protocol):
    """Weights that change by steps of a few."""

    def take(self, indices: Indices) -> Vector: ...

    def step(self, indices: Indices, values: Vector, eta: float) -> None: ...


class Tree:
    """w <- project(w - eta values)."""

    def __init__(self, n: int, radius: float, point: ArrayLike | None = None) -> None:
        self.ball = SparseL1Ball(n, radius, point)

    def take(self, indices: Indices) -> Vector:
        return self.ball.take(indices)

    def step(self, indices: Indices, values: Vector, eta: float) -> None:
        self.ball.add(indices, -eta * values)


class Full:
    """The same by projecting the whole vector."""

    def __init__(self, n: int, radius: float, point: Vector) -> None:
        self.whole = WholeVector(n, radius, point)

    def step(self, indices: Indices, values: Vector, eta: float) -> None:
        self.whole.add(indices, -eta * values)


class FullOfNonZeros:
    """The same by projecting a vector of the entries that are not zero, as careful users do without a tree.

    Features that come are appended. Those that have become zero leave when there is no room for more.
    """

    def __init__(self, n: int, radius: float, point: Vector) -> None:
        self.radius = radius
        self.place = np.full(n, -1, np.int32)  # of each feature's entry; -1: it has none
        self.features = np.flatnonzero(point)
        self.entries = l1.project(point[self.features], radius)
        self.size = len(self.features)
        self._make_room(SPARE)

    def step(self, indices: Indices, values: Vector, eta: float) -> None:
        if self.size + len(indices) > len(self.entries):
            self._make_room(len(indices))
        new = indices[self.place[indices] < 0]
        end = self.size + len(new)
        self.place[new] = np.arange(self.size, end)
        self.features[self.size : end] = new
        self.size = end
        self.entries[self.place[indices]] -= eta * values
        used = self.entries[:end]
        l1.project(used, self.radius, out=used)

    def _make_room(self, least: int) -> None:
        """Leave out the zeros, and make room for as many features again, or at least so many."""
        kept = np.flatnonzero(self.entries[: self.size])
        features, entries = self.features[kept], self.entries[kept]
        self.place[self.features[: self.size]] = -1
        self.place[features] = np.arange(len(kept))
        more = max(len(kept), least, SPARE)
        self.features = np.concatenate([features, np.full(more, -1)])
        self.entries = np.concatenate([entries, np.zeros(more)])
        self.size = len(kept)

    def toarray(self) -> Vector:
        """The point, (n,)."""
        w = np.zeros(len(self.place))
        w[self.features[: self.size]] = self.entries[: self.size]
        return w


class Pass(NamedTuple):
    """A pass: the margin of each example before its step, and for each record the non-zero weights and seconds."""

    margins: Vector
    non_zeros: list[int]
    seconds: list[float]


def one_pass(
    X: Any,
    y: ArrayLike,
    *,
    radius: Sequence[float],
    eta0: Sequence[float],
    entropic_eta0: Sequence[float],
    schedules: Sequence[str] = SCHEDULES,
    n_examples: int | None = None,
    n_records: int = 20,
    run: int = 0,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Learn from each example once, in random order, by both methods with their best step sizes.

    X: (n_examples, n_features), csr. y: (n_examples,), -1 and +1. radius: each above 0, the paper's z. eta0: first step
    sizes of projections, which shrink as 1/sqrt(t); entropic_eta0: those of the exponentiated gradient, tried with each
    of the schedules, see `entropic.step_sizes`. n_examples: the pass ends after so many, if there are; None: after all.
    n_records: at least 1. run: the number of this repetition. rng: draws the order, the same for all that is tried.
    progress: called with (passes done, of all). A step size whose steps overflow is left out; raises ValueError where
    none is left, and for other input.

    Returns a row per record, evenly spaced, for each method and radius. Columns: run; method: "tree", projected by
    `SparseL1Ball`, or "entropic", `SparseEntropic`; radius; schedule and eta0, those with the smallest loss at the end;
    examples: seen so far; loss: the mean logistic loss so far, of each example before its step; error: the fraction
    misclassified, likewise; non_zero: the fraction of all features that w uses now; seconds: CPU seconds of the steps
    so far, without the margins, a product of k entries, that they need; warning: an eta0 at the edge of its grid.
    """
    objective = _check(X, y)
    for name, values in (("radius", radius), ("eta0", eta0), ("entropic_eta0", entropic_eta0)):
        _require_positive(values, name)
    if not len(schedules):
        raise ValueError(f"schedules must list some of {', '.join(SCHEDULES)}, got none")
    require_count(n_records, "n_records")
    if n_examples is not None:
        require_count(n_examples, "n_examples")
    T = min(objective.n_samples, n_examples or objective.n_samples)
    order = rng.permutation(objective.n_samples)[:T]
    rows, labels, n = csr(objective.X[order]), objective.y[order], objective.n_features
    examples = np.unique(np.arange(1, n_records + 1) * T // n_records)
    examples = examples[examples > 0]
    seen = np.unique(rows.indices)
    grids: dict[str, tuple[Sequence[str], Sequence[float]]]
    grids = {"tree": (OF_PROJECTIONS, eta0), "entropic": (schedules, entropic_eta0)}
    n_passes = len(radius) * sum(len(schedules) * len(etas) for schedules, etas in grids.values())
    _compile()

    parts, done = [], 0
    for z, (method, grid) in product(radius, grids.items()):
        best: tuple[Pass, str, float] | None = None
        smallest = np.inf
        for schedule, eta in product(*grid):
            point: Point = Tree(n, z) if method == "tree" else SparseEntropic(n, z)
            sizes = sizes_of(STEPS[method], schedule, eta, n=n, n_iter=T)
            tried = _go(point, rows, labels, sizes, examples, seen)
            done += 1
            if progress:
                progress(done, n_passes)
            loss = np.inf if tried is None else np.logaddexp(0.0, -tried.margins).sum()
            if tried is not None and loss < smallest:
                best, smallest = (tried, schedule, eta), loss
        if best is None:
            raise ValueError(f"{method} diverged with each eta0 at radius {z:g}: choose smaller ones, or scale X")
        passed, schedule, eta = best
        key = {"run": run, "method": method, "radius": float(z), "schedule": schedule, "eta0": float(eta)}
        parts.append(_table(key, passed, examples, n).assign(warning=at_edge("eta0", eta, grid[1])))
    return pd.concat(parts, ignore_index=True)


def _check(X: Any, y: ArrayLike) -> Objective:
    return Objective(sparse.csr_matrix(X), y, loss="logistic")


def _require_positive(values: Sequence[float], name: str) -> None:
    if not len(values):
        raise ValueError(f"{name} must be a list of at least one number, got none")
    for value in values:
        as_positive(value, name)


def _compile() -> None:
    one = np.zeros(1, np.int64)
    for point in (Tree(1, 1.0, [0.5]), SparseEntropic(1, 1.0)):
        point.take(one)
        point.step(one, np.ones(1), 1.0)


def _example(rows: Rows, t: int) -> tuple[Indices, Vector]:
    of_row = slice(rows.indptr[t], rows.indptr[t + 1])
    return rows.indices[of_row], rows.data[of_row]


def _go(point: Point, rows: Rows, y: Vector, sizes: Vector, examples: Indices, seen: Indices) -> Pass | None:
    """A pass, None where it diverges. seen: the features that any example holds, as no others ever have a weight."""
    margins, spent = np.empty(len(y)), 0.0
    non_zeros, seconds = [], []
    for t, eta in enumerate(sizes):
        indices, x = _example(rows, t)
        margins[t] = y[t] * (point.take(indices) * x).sum()
        values = -y[t] * expit(-margins[t]) * x
        start = time.process_time()
        try:
            with np.errstate(over="ignore"):
                point.step(indices, values, eta)
        except ValueError:
            return None
        spent += time.process_time() - start
        if t + 1 in examples:
            non_zeros.append(_used(point, seen))
            seconds.append(spent)
    return Pass(margins, non_zeros, seconds)


def _used(point: Point, seen: Indices) -> int:
    return point.ball.count_nonzero() if isinstance(point, Tree) else int(np.count_nonzero(point.take(seen)))


def _table(key: dict[str, Any], passed: Pass, examples: Indices, n: int) -> pd.DataFrame:
    """The records of a pass as rows."""
    loss = np.logaddexp(0.0, -passed.margins)
    # Choice: a margin of 0 counts one half.
    wrong = np.where(passed.margins == 0, 0.5, passed.margins < 0)
    so_far = {"loss": loss.cumsum()[examples - 1] / examples, "error": wrong.cumsum()[examples - 1] / examples}
    columns = key | {"examples": examples} | so_far
    return pd.DataFrame(columns | {"non_zero": np.array(passed.non_zeros) / n, "seconds": passed.seconds})


def updates(
    X: Any,
    y: ArrayLike,
    *,
    shares: Sequence[float] = (1.0, 0.3, 0.1, 0.03),
    eta0: float,
    n_updates: int = 300,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """CPU seconds of an update when there are many, or few, non-zero weights.

    All examples but the last n_updates, in random order, are learnt without a constraint: weights w0. For each share,
    w0 is projected onto the ball of radius share ||w0||_1, and the last examples are learnt from there, step sizes
    eta0 / sqrt(t), by each of
    - "tree": `SparseL1Ball`;
    - "full": an addition and a projection of the whole vector, by `l1.project`;
    - "full of non-zeros": the same of a vector of the non-zero weights alone;
    - "entropic": `SparseEntropic`. It takes the gradients of the others' weights, and starts where all are 0, as it
      cannot reach most points of the ball's boundary: only what it costs means something.
    The first three go the same way. Margins and slopes are computed beforehand.

    X: (n_examples, n_features), csr. y: (n_examples,), -1 and +1. shares: above 0, at most 1. eta0: above 0.
    n_updates: at least 1, less than the examples. rng: draws the order. progress: called with (shares done, of all).
    Raises ValueError for other input, and where steps overflow.

    Returns a row for each share and method. Columns: share; non_zeros: of w before these updates; n: features; touched:
    mean number of features of an example; method; repeats: how many blocks of 20 updates; seconds: per update, the
    median over the blocks of their means, which hold what the tree and the vector of non-zeros put off; low, high: its
    95 % interval. The methods take turns, a block each.
    """
    objective = _check(X, y)
    n = objective.n_features
    _require_positive(shares, "shares")
    if max(shares) > 1:
        raise ValueError(f"shares must be at most 1, where the projection changes nothing, got {max(shares):g}")
    as_positive(eta0, "eta0")
    require_count(n_updates, "n_updates", objective.n_samples - 1)
    order = rng.permutation(objective.n_samples)
    rows, labels = csr(objective.X[order]), objective.y[order]
    sizes = sizes_of("projection", OF_PROJECTIONS[0], eta0, n=n, n_iter=len(order))
    w0, end = np.zeros(n), len(order) - n_updates
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(end):
            indices, x = _example(rows, t)
            w0[indices] += sizes[t] * labels[t] * expit(-labels[t] * (w0[indices] * x).sum()) * x
        size = float(np.abs(w0).sum())
    if not size < HUGE:
        raise ValueError(f"learning without a constraint diverged with eta0 {eta0:g}: choose a smaller one, or scale X")
    touched = float(np.diff(rows.indptr[end:]).mean())
    _compile()

    table = []
    for done, share in enumerate(shares):
        radius = share * size
        start = l1.project(w0, radius)
        changes = _changes(Tree(n, radius, start), rows, labels, sizes, end)
        points: dict[str, Any] = {
            "tree": Tree(n, radius, start),
            "full": Full(n, radius, start),
            "full of non-zeros": FullOfNonZeros(n, radius, start),
            "entropic": SparseEntropic(n, radius),
        }
        points["entropic"].step(np.arange(n), np.zeros(n), 0.0)  # changes nothing, but all its memory is there
        seconds: dict[str, list[float]] = {method: [] for method in points}
        for block in range(0, n_updates, PER_BLOCK):
            for method, point in points.items():
                seconds[method].append(_replay(point, changes[block : block + PER_BLOCK]))
        key = {"share": share, "non_zeros": np.count_nonzero(start), "n": n, "touched": touched}
        for method, times in seconds.items():
            table.append(key | {"method": method, "repeats": len(times)} | median(times))
        if progress:
            progress(done + 1, len(shares))
    return pd.DataFrame(table)


def _changes(point: Point, rows: Rows, y: Vector, sizes: Vector, first: int) -> list[tuple[Indices, Vector, float]]:
    """The steps of the examples from `first` on, which `point` takes: indices, values and eta."""
    changes = []
    for t in range(first, len(y)):
        indices, x = _example(rows, t)
        change = indices, -y[t] * expit(-y[t] * (point.take(indices) * x).sum()) * x, float(sizes[t])
        point.step(*change)
        changes.append(change)
    return changes


def _replay(point: Point, changes: list[tuple[Indices, Vector, float]]) -> float:
    """CPU seconds of a step, the mean of these."""
    start = time.process_time()
    for change in changes:
        point.step(*change)
    return (time.process_time() - start) / len(changes)
