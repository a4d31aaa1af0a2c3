"""Online logistic regression on sparse text: one pass over the examples.

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

from jointsparse.checks import as_positive, require_count, select
from jointsparse.datasets.samples import Samples
from jointsparse.learning import tasks
from jointsparse.learning.entropic import SCHEDULES, SparseEntropic
from jointsparse.learning.flag import write_cell
from jointsparse.learning.lazy import Rows, csr
from jointsparse.learning.sweep import at_edge
from jointsparse.norms.l1_sparse import SparseL1Ball
from jointsparse.papers.duchi.descent import Objective, sizes_of
from jointsparse.papers.duchi.exponentiated import OF_PROJECTIONS

SERVES = "samples"
TABLES = {"online": "tables", "online_seconds": "timings"}
WARNS = ("online",)

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]
STEPS = {"tree": "projection", "entropic": "entropic"}  # whose step sizes a method takes


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


class Pass(NamedTuple):
    """A pass: the margin of each example before its step, and for each record the non-zero weights and seconds."""

    margins: Vector
    non_zeros: list[int]
    seconds: list[float]


def run(
    data: Samples,
    *,
    label: str | None = None,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """One repetition, with the samples that have a label against the others: see `one_pass`.

    label: the most frequent one by default; column label of the table.
    """
    X, y, label = with_label(data, label)
    return one_pass(X, y, rng=rng, progress=progress, **options).assign(label=label)


def with_label(data: Samples, label: str | None) -> tuple[Any, Vector, str]:
    """The samples to learn from, whether each has the label (-1, +1), and that label, by default the most frequent."""
    label, y = tasks.one_label(data.images, data.captions, label)
    learn, _ = tasks.halves(data.images)
    return select(data.X, learn), y[learn], label


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
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Learn from each example once, in random order, by both methods with their best step sizes.

    X: (n_examples, n_features), csr. y: (n_examples,), -1 and +1. radius: each above 0, the paper's z. eta0: first step
    sizes of projections, which shrink as 1/sqrt(t); entropic_eta0: those of the exponentiated gradient, tried with each
    of the schedules, see `entropic.step_sizes`. n_examples: the pass ends after so many, if there are; None: after all.
    n_records: at least 1. rng: draws the order, the same for all that is tried.
    progress: called with (passes done, of all). A step size whose steps overflow is left out; raises ValueError where
    none is left, and for other input.

    Returns a row per record, evenly spaced, for each method and radius. Columns: method: "tree", projected by
    `SparseL1Ball`, or "entropic", `SparseEntropic`; radius; schedule and eta0, those with the smallest loss at the end;
    examples: seen so far; loss: the mean logistic loss so far, of each example before its step; error: the fraction
    misclassified, likewise; non_zero: the fraction of all features that w uses now; seconds: CPU seconds of the steps
    so far, without the margins, a product of k entries, that they need; warning: an eta0 at the edge of its grid.
    """
    objective = logistic_objective(X, y)
    for name, values in (("radius", radius), ("eta0", eta0), ("entropic_eta0", entropic_eta0)):
        require_all_positive(values, name)
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
    compile_steps()

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
        key = {"method": method, "radius": float(z), "schedule": schedule, "eta0": float(eta)}
        parts.append(_table(key, passed, examples, n).assign(warning=write_cell([at_edge("eta0", eta, grid[1])])))
    return pd.concat(parts, ignore_index=True)


def logistic_objective(X: Any, y: ArrayLike) -> Objective:
    return Objective(sparse.csr_matrix(X), y, loss="logistic")


def require_all_positive(values: Sequence[float], name: str) -> None:
    if not len(values):
        raise ValueError(f"{name} must be a list of at least one number, got none")
    for value in values:
        as_positive(value, name)


def compile_steps() -> None:
    one = np.zeros(1, np.int64)
    for point in (Tree(1, 1.0, [0.5]), SparseEntropic(1, 1.0)):
        point.take(one)
        point.step(one, np.ones(1), 1.0)


def example(rows: Rows, t: int) -> tuple[Indices, Vector]:
    of_row = slice(rows.indptr[t], rows.indptr[t + 1])
    return rows.indices[of_row], rows.data[of_row]


def _go(point: Point, rows: Rows, y: Vector, sizes: Vector, examples: Indices, seen: Indices) -> Pass | None:
    """A pass, None where it diverges. seen: the features that any example holds, as no others ever have a weight."""
    margins, spent = np.empty(len(y)), 0.0
    non_zeros, seconds = [], []
    for t, eta in enumerate(sizes):
        indices, x = example(rows, t)
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
