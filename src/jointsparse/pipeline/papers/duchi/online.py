"""Compare projections and exponentiated gradient in online logistic regression: one pass over sparse text.

    minimise sum_t log(1 + exp(-y_t x_t . w))  subject to ||w||_1 <= radius,  one step per example.

A step changes the weights of the k features that occur in its example, and then returns to the ball. A projected step
takes O(k log n), and a lazy step of exponentiated gradient takes O(k).

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
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.papers.duchi.comparison import best_runs, halved
from jointsparse.pipeline.papers.duchi.entropic import SCHEDULES, Method, SparseEntropic, step_sizes
from jointsparse.pipeline.papers.duchi.objective import Objective
from jointsparse.pipeline.papers.duchi.steps import Vector, take_step
from jointsparse.pipeline.papers.harness import Progress, State, silent, ticking
from jointsparse.pipeline.words import one_label

COLUMNS = ("method", "radius", "schedule", "eta0", "examples", "loss", "error", "non_zero", "seconds", "warning")


class SparseProjected(SparseL1Ball):
    """A point w that is moved by w <- project(w - eta gradient) after each example."""

    def step(self, indices: NDArray[np.int64], values: Vector, eta: float) -> None:
        self.add(indices, -eta * values)


class Pass(NamedTuple):
    """An unfinished pass: the current point, and the margin y_t x_t . w of each example so far, before its step."""

    margins: Vector
    point: SparseProjected | SparseEntropic


POINTS: dict[str, tuple[type[SparseProjected | SparseEntropic], Method]] = {  # Method: sets the step sizes
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
    """Do one repetition: learn from each example once, in random order, with the best step sizes of both methods.

    Parameters
    ----------
    data : Samples
        The samples. One label is learnt against all others.
    label : str, optional
        The label to learn. By default, this is the most frequent label.
    radius : sequence of float, above 0
        The paper's z.
    eta0 : sequence of float, above 0
        First step sizes of the projected gradient.
    entropic_eta0 : sequence of float, above 0
        First step sizes of the exponentiated gradient.
    schedules : sequence of str
        Schedules of the step sizes; see `entropic.step_sizes`. Both methods try every schedule. The paper uses only
        1/sqrt(t) for projected gradient.
    n_examples : int, at least 1, optional
        Largest number of examples in a pass. By default, all examples are used.
    n_records : int, at least 1
        Number of records in a pass.
    rng : numpy.random.Generator
        Draws the order of the examples, which is the same for all step sizes.
    progress : callable
        Called with the number of passes done and the number of all passes.

    Returns
    -------
    DataFrame
        For each method and radius, a row per record. The records are evenly spaced. Columns:

        - method: "tree" for projections by `SparseL1Ball`, "entropic" for steps of `SparseEntropic`.
        - radius: the radius of the ball.
        - schedule, eta0: the schedule and first step size with the smallest final loss.
        - examples: number of examples seen so far.
        - loss: mean logistic loss so far, with each example scored before its step.
        - error: fraction of examples misclassified so far, scored in the same way.
        - non_zero: fraction of features with a non-zero weight.
        - seconds: CPU time so far, in seconds.
        - warning: says that eta0 lies at the edge of its grid.
        - label: the label that is learnt.

    Raises
    ------
    ValueError
        If a method overflows with every step size. Other overflowing passes are skipped.
    """
    label, signs = one_label(data.images, data.captions, label)
    X, y, _, _ = halved(data, signs)
    order = rng.permutation(len(y))
    examples = Objective(sparse.csr_matrix(X)[order], y[order], loss="logistic")
    T = min(len(y), n_examples or len(y))
    at = {*(np.arange(1, n_records + 1) * T // n_records).tolist()} - {0}
    grids = {"tree": [*map(float, eta0)], "entropic": [*map(float, entropic_eta0)]}
    tick = ticking(progress, len(radius) * len(schedules) * (len(eta0) + len(entropic_eta0)))

    def begin(z: float, method: str, schedule: str, eta0: float) -> Iterator[State]:
        point, step_method = POINTS[method]
        etas = step_sizes(schedule, eta0=eta0, n=examples.n_features, n_iter=T, method=step_method)
        return pass_over(examples, point(examples.n_features, z), etas)

    tables = [
        best_runs(partial(begin, z), columns, grids, schedules, at=at, by="loss", tick=tick).assign(radius=float(z))
        for z in radius
    ]
    table = pd.concat(tables, ignore_index=True).rename(columns={"step": "examples"})
    return table[list(COLUMNS)].assign(label=label)


def pass_over(examples: Objective, point: SparseProjected | SparseEntropic, etas: Vector) -> Iterator[State]:
    """Take a step for each example, and yield states that have a `Pass` in `details`."""
    (indptr, indices, data), y, margins = csr(examples.X), examples.y, np.empty(len(etas))
    for t, eta in enumerate(etas):
        entries = slice(indptr[t], indptr[t + 1])
        features, x = indices[entries], data[entries]
        margins[t] = y[t] * (point.take(features) * x).sum()
        take_step(point.step, t + 1, features, -y[t] * expit(-margins[t]) * x, eta)
        yield State(t + 1, point.toarray, details=Pass(margins[: t + 1], point))


def columns(state: State) -> dict[str, float]:
    """Return the columns of the table for a state."""
    margins, point = state.details
    losses = np.logaddexp(0.0, -margins)
    errors = np.where(margins == 0, 0.5, margins < 0)  # Choice: a margin of 0 counts as half an error.
    # cumsum adds in the order of the examples, so the result does not depend on how many follow.
    loss, error = (values.cumsum()[-1] / state.step for values in (losses, errors))
    return {"loss": loss, "error": error, "non_zero": point.count_nonzero() / point.n}
