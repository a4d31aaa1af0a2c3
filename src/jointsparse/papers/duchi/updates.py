"""Measure the cost of an online update, from many non-zero weights to few.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 6 and 7.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import expit

from jointsparse.checks import as_positive, require, require_count
from jointsparse.datasets.samples import Samples
from jointsparse.learning.entropic import SparseEntropic
from jointsparse.learning.lazy import LARGEST_STEP_SUM
from jointsparse.norms import l1
from jointsparse.papers.duchi.descent import Vector, sizes_of
from jointsparse.papers.duchi.exponentiated import require_all_positive
from jointsparse.papers.duchi.online import Examples, Indices, Tree, compile_steps, shuffled
from jointsparse.papers.duchi.projection import WholeVector
from jointsparse.papers.timing import Task, measure

SERVES = "samples"
TABLES = {"updates": "timings"}
WARNS = ()

Change = tuple[Indices, Vector, float]
UPDATES_PER_BLOCK = 20  # by one method before it is the next one's turn
SPARE_PLACES = 1024  # for features to come, at least


class Full(WholeVector):
    """w <- project(w - eta values), by projecting the whole vector."""

    def step(self, indices: Indices, values: Vector, eta: float) -> None:
        self.add(indices, -eta * values)


class FullOfNonZeros:
    """w <- project(w - eta values), by projecting a vector of the non-zero entries alone.

    Careful users without a tree do so. Features that come are appended. Features that have become zero leave when there
    is no room for more.
    """

    def __init__(self, n: int, radius: float, point: Vector) -> None:
        self.radius = radius
        self.place = np.full(n, -1, np.int32)  # of each feature's entry; -1: it has none
        self.features = np.flatnonzero(point)
        self.entries = l1.project(point[self.features], radius)
        self.size = len(self.features)
        self._make_room(SPARE_PLACES)

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
        """Leave out the zeros, and make room for as many features again, or for `least` if that is more."""
        kept = np.flatnonzero(self.entries[: self.size])
        features, entries = self.features[kept], self.entries[kept]
        self.place[self.features[: self.size]] = -1
        self.place[features] = np.arange(len(kept))
        more = max(len(kept), least, SPARE_PLACES)
        self.features = np.concatenate([features, np.full(more, -1)])
        self.entries = np.concatenate([entries, np.zeros(more)])
        self.size = len(kept)

    def toarray(self) -> Vector:
        """The point, (n,)."""
        w = np.zeros(len(self.place))
        w[self.features[: self.size]] = self.entries[: self.size]
        return w


Moving = Tree | Full | FullOfNonZeros | SparseEntropic


def run(
    data: Samples,
    *,
    label: str | None = None,
    shares: Sequence[float],
    eta0: float,
    n_updates: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Measure CPU seconds of an update when there are many, or few, non-zero weights.

    All examples but the last n_updates, in random order, are learnt without a constraint: weights w0. For each share,
    w0 is projected onto the ball of radius share ||w0||_1. The last examples are learnt from there, with step sizes
    eta0 / sqrt(t), by each of
    - "tree": `SparseL1Ball`;
    - "full": an addition and a projection of the whole vector, by `l1.project`;
    - "full of non-zeros": an addition and a projection of a vector of the non-zero weights alone;
    - "entropic": `SparseEntropic`. It takes the gradients of the others' weights, and starts at 0, as it cannot reach
      most points of the ball's boundary. Only its cost means something.

    The first three take the same steps. Margins and slopes are computed beforehand. The methods take turns, a block of
    20 updates each.

    Parameters
    ----------
    data : Samples
        Those with the label are told from the others.
    label : str, optional
        The most frequent label by default.
    shares : sequence of float, above 0, at most 1
        Radius / norm of w0.
    eta0 : float, above 0
    n_updates : int, at least 1, less than the examples
    rng : numpy.random.Generator
        Draws the order.
    progress : callable, optional
        Called with (shares done, of all).

    Returns
    -------
    DataFrame
        A row for each share and method. Columns:
        - share.
        - non_zeros: of w before these updates.
        - n: features.
        - touched: mean number of features of an example.
        - method.
        - repeats: number of blocks.
        - seconds: per update, the median over the blocks of their means. A mean includes the work that the tree and the
          vector of non-zeros put off;
        - low, high: 95 % interval of seconds.
        - label.

    Raises
    ------
    ValueError
        Input out of range, or steps that overflow.
    """
    require_all_positive(shares, "shares")
    require(max(shares) <= 1, f"shares must be at most 1, where the projection changes nothing, got {max(shares):g}")
    as_positive(eta0, "eta0")
    examples, label = shuffled(data, label, rng)
    n, n_examples = examples.n_features, len(examples.y)
    require_count(n_updates, "n_updates", n_examples - 1)
    first = n_examples - n_updates
    sizes = sizes_of("projection", "1/sqrt(t)", eta0, n=n, n_iter=n_examples)
    w0 = _unconstrained(examples, sizes[:first])
    norm = float(np.abs(w0).sum())
    require(
        norm < LARGEST_STEP_SUM,
        f"learning without a constraint diverged with eta0 {eta0:g}: choose a smaller one, or scale X",
    )
    touched = float(np.diff(examples.rows.indptr[first:]).mean())
    compile_steps()

    tables = []
    for done, share in enumerate(shares):
        start = l1.project(w0, share * norm)
        key = {"share": share, "non_zeros": np.count_nonzero(start), "n": n, "touched": touched}
        points = _points(n, share * norm, start)
        changes = _changes(Tree(n, share * norm, start), examples, sizes, first)
        blocks = [changes[i : i + UPDATES_PER_BLOCK] for i in range(0, n_updates, UPDATES_PER_BLOCK)]
        by_turns = [Task(key | {"method": name}, partial(_replay, one, iter(blocks))) for name, one in points.items()]
        tables.append(measure(by_turns, len(blocks)))
        if progress:
            progress(done + 1, len(shares))
    return pd.concat(tables, ignore_index=True).assign(label=label)


@np.errstate(over="ignore", invalid="ignore")
def _unconstrained(examples: Examples, sizes: Vector) -> Vector:
    """Weights after a gradient step from each of the first examples."""
    w = np.zeros(examples.n_features)
    for t, eta in enumerate(sizes):
        y, (indices, x) = examples.y[t], examples.features(t)
        w[indices] += eta * y * expit(-y * (w[indices] * x).sum()) * x
    return w


def _points(n: int, radius: float, start: Vector) -> dict[str, Moving]:
    """The weights that each method updates."""
    entropic = SparseEntropic(n, radius)
    entropic.step(np.arange(n), np.zeros(n), 0.0)  # changes nothing, but touches all its memory
    return {
        "tree": Tree(n, radius, start),
        "full": Full(n, radius, start),
        "full of non-zeros": FullOfNonZeros(n, radius, start),
        "entropic": entropic,
    }


def _changes(point: Tree, examples: Examples, sizes: Vector, first: int) -> list[Change]:
    """The steps that `point` takes with the examples from `first` on: indices, values and eta."""
    changes = []
    for t in range(first, len(sizes)):
        indices, x = examples.features(t)
        margin = examples.y[t] * (point.take(indices) * x).sum()
        changes.append((indices, examples.slope(t, margin, x), float(sizes[t])))
        point.step(*changes[-1])
    return changes


def _replay(point: Moving, blocks: Iterator[list[Change]]) -> float:
    """CPU seconds of a step, the mean of the next block."""
    changes = next(blocks)
    start = time.process_time()
    for change in changes:
        point.step(*change)
    return (time.process_time() - start) / len(changes)
