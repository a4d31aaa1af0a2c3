"""Compare online logistic regression with projections and with exponentiated gradient: one pass over sparse text.

    minimise sum_t log(1 + exp(-y_t x_t . w))  subject to ||w||_1 <= radius,  one step per example.

A step changes the weights of the k features of its example and then returns to the ball. Projected stochastic
subgradient steps take O(k log n), steps of the lazy exponentiated gradient O(k).

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 6 and 7.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from jointsparse.learning.l1_sparse import SparseL1Ball
from jointsparse.learning.lazy import csr
from jointsparse.pipeline import tasks
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.papers.duchi.comparison import best_runs, halved
from jointsparse.pipeline.papers.duchi.entropic import SCHEDULES, SparseEntropic
from jointsparse.pipeline.papers.duchi.objective import Objective
from jointsparse.pipeline.papers.duchi.steps import Method, Vector, scheduled_etas, take_step
from jointsparse.pipeline.papers.harness import Progress, State, silent, ticking

SERVES = "samples"
TABLES = {"online": "tables", "online_seconds": "timings"}

COLUMNS = ("method", "radius", "schedule", "eta0", "examples", "loss", "error", "non_zero", "seconds", "warning")


class SparseProjected(SparseL1Ball):
    """w <- project(w - eta values), after each example."""

    def step(self, indices: NDArray[np.int64], values: Vector, eta: float) -> None:
        self.add(indices, -eta * values)


class Pass(NamedTuple):
    """A pass so far: the margins y_t x_t . w of its examples, each before its step, and the point now."""

    margins: Vector
    point: SparseProjected | SparseEntropic


POINTS: dict[str, tuple[type[SparseProjected | SparseEntropic], Method]] = {  # and whose step sizes they take
    "tree": (SparseProjected, "projection"),
    "entropic": (SparseEntropic, "entropic"),
}


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
    progress: Progress = silent,
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
    progress : callable
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
        - seconds: CPU seconds so far.
        - warning: an eta0 at the edge of its grid.
        - label.

    Raises
    ------
    ValueError
        Steps that overflow for each step size. Others that overflow are left out.
    """
    label, signs = tasks.one_label(data.images, data.captions, label)
    X, y, _, _ = halved(data, signs)
    order = rng.permutation(len(y))
    examples = Objective(sparse.csr_matrix(X)[order], y[order], loss="logistic")
    T = min(len(y), n_examples or len(y))
    at = {*(np.arange(1, n_records + 1) * T // n_records).tolist()} - {0}
    grids = {"tree": [*map(float, eta0)], "entropic": [*map(float, entropic_eta0)]}
    tick = ticking(progress, len(radius) * len(schedules) * (len(eta0) + len(entropic_eta0)))

    def begin(z: float, method: str, schedule: str, eta0: float) -> Iterator[State]:
        point, step_method = POINTS[method]
        etas = scheduled_etas(step_method, schedule, eta0, n=examples.n_features, n_iter=T)
        return pass_over(examples, point(examples.n_features, z), etas)

    tables = [
        best_runs(partial(begin, z), columns, grids, schedules, at=at, by="loss", tick=tick).assign(radius=float(z))
        for z in radius
    ]
    table = pd.concat(tables, ignore_index=True).rename(columns={"step": "examples"})
    return table[list(COLUMNS)].assign(label=label)


def pass_over(examples: Objective, point: SparseProjected | SparseEntropic, etas: Vector) -> Iterator[State]:
    """Learn from an example with each step size. The details of a state are a `Pass`."""
    (indptr, indices, data), y, margins = csr(examples.X), examples.y, np.empty(len(etas))
    for t, eta in enumerate(etas):
        entries = slice(indptr[t], indptr[t + 1])
        features, x = indices[entries], data[entries]
        margins[t] = y[t] * (point.take(features) * x).sum()
        take_step(point.step, t + 1, features, -y[t] * expit(-margins[t]) * x, eta)
        yield State(t + 1, point.toarray, details=Pass(margins[: t + 1], point))


def columns(state: State) -> dict[str, float]:
    """The columns of a record."""
    margins, point = state.details
    losses = np.logaddexp(0.0, -margins)
    errors = np.where(margins == 0, 0.5, margins < 0)  # Choice: a margin of 0 counts one half.
    # Sums in the order of the examples, whatever their number.
    loss, error = (values.cumsum()[-1] / state.step for values in (losses, errors))
    return {"loss": loss, "error": error, "non_zero": point.count_nonzero() / point.n}
