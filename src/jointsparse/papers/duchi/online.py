"""Compare online logistic regression with projections and with exponentiated gradient: one pass over sparse text.

    minimise sum_t log(1 + exp(-y_t x_t . w))  subject to ||w||_1 <= radius,  one step per example.

A step changes the weights of the k features of its example and then returns to the ball. Projected stochastic
subgradient steps with the search tree take O(k log n), steps of the lazy exponentiated gradient O(k).

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 6 and 7.
"""

import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from jointsparse.checks import require, require_count
from jointsparse.datasets.samples import Samples
from jointsparse.learning import tasks
from jointsparse.learning.entropic import SCHEDULES, SparseEntropic
from jointsparse.learning.flag import write_cell
from jointsparse.learning.lazy import Rows, csr
from jointsparse.learning.sweep import at_edge
from jointsparse.norms.l1_sparse import SparseL1Ball
from jointsparse.papers.duchi.descent import Objective, Vector, sizes_of
from jointsparse.papers.duchi.exponentiated import halved, require_all_positive

SERVES = "samples"
TABLES = {"online": "tables", "online_seconds": "timings"}
WARNS = ("online",)

Indices = NDArray[np.int64]


class Tree(SparseL1Ball):
    """w <- project(w - eta values), by the search tree."""

    def step(self, indices: Indices, values: Vector, eta: float) -> None:
        self.add(indices, -eta * values)


POINTS: dict[str, type[Tree] | type[SparseEntropic]] = {"tree": Tree, "entropic": SparseEntropic}
STEP_SIZES = {"tree": "projection", "entropic": "entropic"}  # whose step sizes a method takes


class Examples(NamedTuple):
    """Examples in the order of a pass, with labels of -1 and +1."""

    rows: Rows
    y: Vector
    n_features: int

    def features(self, t: int) -> tuple[Indices, Vector]:
        """Indices and values of the features of example t."""
        of_row = slice(self.rows.indptr[t], self.rows.indptr[t + 1])
        return self.rows.indices[of_row], self.rows.data[of_row]

    def slope(self, t: int, margin: float, x: Vector) -> Vector:
        """Derivatives of the loss of example t, given y_t x_t . w."""
        return -self.y[t] * expit(-margin) * x


def shuffled(data: Samples, label: str | None, rng: np.random.Generator) -> tuple[Examples, str]:
    """The samples to learn from in random order, those with a label against the others, and this label."""
    label, signs = tasks.one_label(data.images, data.captions, label)
    X, y, _, _ = halved(data, signs)
    objective = Objective(sparse.csr_matrix(X), y, loss="logistic")  # checks
    order = rng.permutation(objective.n_samples)
    return Examples(csr(objective.X[order]), objective.y[order], objective.n_features), label


def run(
    data: Samples,
    *,
    label: str | None = None,
    radius: Sequence[float],
    eta0: Sequence[float],
    entropic_eta0: Sequence[float],
    schedules: Sequence[str] = SCHEDULES,
    n_examples: int | None = None,
    n_records: int = 20,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Do one repetition: learn from each example once, in random order, by both methods with their best step sizes.

    Parameters
    ----------
    data : Samples
        Those with the label are told from the others.
    label : str, optional
        The most frequent label by default.
    radius : sequence of float, above 0
        The paper's z.
    eta0 : sequence of float, above 0
        First step sizes of projections.
    entropic_eta0 : sequence of float, above 0
        First step sizes of the exponentiated gradient.
    schedules : sequence of str
        Of the step sizes, see `entropic.step_sizes`. Both methods try each.
        The paper's projections have 1/sqrt(t) only.
    n_examples : int, at least 1, optional
        Length of a pass, if there are more examples.
    n_records : int, at least 1
        Records of a pass.
    rng : numpy.random.Generator
        Draws the order, the same for all step sizes.
    progress : callable, optional
        Called with (passes done, of all).

    Returns
    -------
    DataFrame
        A row per record, evenly spaced, for each method and radius. Columns:
        - method: "tree", projected by `SparseL1Ball`, or "entropic", `SparseEntropic`.
        - radius.
        - schedule, eta0: those with the smallest loss at the end.
        - examples: seen so far.
        - loss: the mean logistic loss so far, of each example before its step.
        - error: the fraction misclassified so far, likewise before the step.
        - non_zero: the fraction of all features that w uses now.
        - seconds: CPU seconds of the steps so far, without the margins that they need.
        - warning: an eta0 at the edge of its grid.
        - label.

    Raises
    ------
    ValueError
        Input out of range, or steps that overflow for each step size. Others that overflow are left out.
    """
    for name, values in (("radius", radius), ("eta0", eta0), ("entropic_eta0", entropic_eta0)):
        require_all_positive(values, name)
    require(len(schedules), f"schedules must list some of {', '.join(SCHEDULES)}, got none")
    require_count(n_records, "n_records")
    if n_examples is not None:
        require_count(n_examples, "n_examples")
    examples, label = shuffled(data, label, rng)
    T = min(len(examples.y), n_examples or len(examples.y))
    at = np.unique(np.arange(1, n_records + 1) * T // n_records)
    grids: dict[str, tuple[Sequence[str], Sequence[float]]] = {
        "tree": (schedules, eta0),
        "entropic": (schedules, entropic_eta0),
    }
    n_passes = len(radius) * sum(len(names) * len(etas) for names, etas in grids.values())
    compile_steps()

    parts, done = [], 0
    for z, (method, grid) in product(radius, grids.items()):
        passes = []
        for schedule, eta in product(*grid):
            sizes = sizes_of(STEP_SIZES[method], schedule, eta, n=examples.n_features, n_iter=T)
            table = _one_pass(POINTS[method](examples.n_features, z), examples, sizes, at[at > 0])
            if table is not None:
                warning = write_cell([at_edge("eta0", eta, grid[1])])
                passes.append(table.assign(schedule=schedule, eta0=float(eta), warning=warning))
            done += 1
            if progress:
                progress(done, n_passes)
        require(passes, f"{method} diverged with each eta0 at radius {z:g}: choose smaller ones, or scale X")
        best = min(passes, key=lambda table: table["loss"].iloc[-1])
        parts.append(best.assign(method=method, radius=float(z)))
    columns = ["method", "radius", "schedule", "eta0", "examples", "loss", "error", "non_zero", "seconds", "warning"]
    return pd.concat(parts, ignore_index=True)[columns].assign(label=label)


def compile_steps() -> None:
    """Compile the steps of both methods."""
    one = np.zeros(1, np.int64)
    for point in (Tree(1, 1.0, [0.5]), SparseEntropic(1, 1.0)):
        point.take(one)
        point.step(one, np.ones(1), 1.0)


def _one_pass(point: Tree | SparseEntropic, examples: Examples, sizes: Vector, at: Indices) -> pd.DataFrame | None:
    """Learn from an example with each step size; return a record after so many examples, None if a step overflows."""
    y, margins, spent = examples.y, np.empty(len(sizes)), 0.0
    non_zeros, seconds = [], []
    for t, eta in enumerate(sizes):
        indices, x = examples.features(t)
        margins[t] = y[t] * (point.take(indices) * x).sum()
        values = examples.slope(t, margins[t], x)
        start = time.process_time()
        try:
            with np.errstate(over="ignore"):
                point.step(indices, values, eta)
        except ValueError:
            return None
        spent += time.process_time() - start
        if t + 1 in at:
            non_zeros.append(point.count_nonzero())
            seconds.append(spent)
    loss = np.logaddexp(0.0, -margins).cumsum()
    # Choice: a margin of 0 counts one half.
    wrong = np.where(margins == 0, 0.5, margins < 0).cumsum()
    return pd.DataFrame(
        {
            "examples": at,
            "loss": loss[at - 1] / at,
            "error": wrong[at - 1] / at,
            "non_zero": np.array(non_zeros) / examples.n_features,
            "seconds": seconds,
        }
    )
