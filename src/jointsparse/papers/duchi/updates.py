"""Measure the cost of an online update, from many non-zero weights to few.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 6 and 7.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from jointsparse.checks import as_positive, require_count
from jointsparse.datasets.samples import Samples
from jointsparse.learning.entropic import SparseEntropic
from jointsparse.learning.lazy import LONGEST_STEP, Rows, csr
from jointsparse.norms import l1
from jointsparse.papers.duchi.descent import sizes_of
from jointsparse.papers.duchi.exponentiated import OF_PROJECTIONS
from jointsparse.papers.duchi.online import (
    Point,
    Tree,
    compile_steps,
    example,
    logistic_objective,
    require_all_positive,
    with_label,
)
from jointsparse.papers.duchi.projection import WholeVector
from jointsparse.papers.timing import median

SERVES = "samples"
TABLES = {"updates": "timings"}
WARNS = ()

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]
PER_BLOCK = 20  # updates by one method before it is the next one's turn
SPARE = 1024  # places for features to come, at least


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


def run(
    data: Samples,
    *,
    label: str | None = None,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Measure with the samples that have a label against the others: see `measure`.

    label: the most frequent one by default; column label of the table.
    """
    X, y, label = with_label(data, label)
    return measure(X, y, rng=rng, progress=progress, **options).assign(label=label)


def measure(
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
    objective = logistic_objective(X, y)
    n = objective.n_features
    require_all_positive(shares, "shares")
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
            indices, x = example(rows, t)
            w0[indices] += sizes[t] * labels[t] * expit(-labels[t] * (w0[indices] * x).sum()) * x
        size = float(np.abs(w0).sum())
    if not size < LONGEST_STEP:
        raise ValueError(f"learning without a constraint diverged with eta0 {eta0:g}: choose a smaller one, or scale X")
    touched = float(np.diff(rows.indptr[end:]).mean())
    compile_steps()

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
        indices, x = example(rows, t)
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
