"""Exponentiated gradient against projections on sparse text: objective, test error and sparsity along their ways.

    minimise 1/m sum_i log(1 + exp(-y_i x_i . w))  subject to ||w||_1 <= radius.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 7 and Fig. 6. `digits` does the same for Fig. 7.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import as_positive, require_count, select
from jointsparse.datasets.samples import Samples
from jointsparse.learning import tasks
from jointsparse.learning.entropic import SCHEDULES
from jointsparse.learning.flag import Flag, write_cell
from jointsparse.learning.sweep import at_edge
from jointsparse.papers.duchi import descent

SERVES = "samples"
TABLES = {"exponentiated": "tables", "exponentiated_seconds": "timings"}
WARNS = ("exponentiated",)

Vector = NDArray[np.float64]
Method = Literal["projection", "entropic"]
METHODS: tuple[Method, ...] = ("projection", "entropic")
OF_PROJECTIONS = ("1/sqrt(t)",)  # Paper: sec. 7, "here and throughout"

# The forms of an experiment: which samples make the gradient of a step.
SHARES = {"batch 25%": 0.25, "batch 100%": 1.0}
COUNTS = {"stochastic 1": 1, "stochastic 100": 100}
FORMS = (*SHARES, *COUNTS)

COLUMNS = (
    *("form", "method", "schedule", "eta0", "step", "gradients", "objective", "suboptimality", "test_error"),
    *("non_zero", "flops", "seconds", "radius", "warning"),
)


class Attempt(NamedTuple):
    """What is tried: form and method, schedule and eta0 of the step sizes, and a record after every so many steps."""

    form: str
    method: Method
    schedule: str
    eta0: float
    every: int


class Watched:
    """Gathers test error and the fraction of weights that are not zero, for each record of a trace."""

    def __init__(self, test_error: Callable[[Vector], float]) -> None:
        self.test_error = test_error
        self.rows: list[tuple[float, float]] = []

    def __call__(self, w: Vector) -> None:
        self.rows.append((self.test_error(w), np.count_nonzero(w) / w.size))

    def table(self, trace: descent.Trace) -> pd.DataFrame:
        """A row per record: those of the trace, and what was gathered."""
        columns = {name: column for name, column in trace._asdict().items() if name != "w"}
        return pd.DataFrame(columns | dict(zip(("test_error", "non_zero"), np.array(self.rows).T, strict=True)))


def run(
    data: Samples,
    *,
    label: str | None = None,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """One repetition, on nine in ten of the samples, with those that have a label against the others: see `train`.

    label: the most frequent one by default; column label of the table.
    """
    label, y = tasks.one_label(data.images, data.captions, label)
    learn, test = tasks.halves(data.images)
    learn = tasks.thinned(learn, rng)
    table = train(select(data.X, learn), y[learn], select(data.X, test), y[test], rng=rng, progress=progress, **options)
    return table.assign(label=label)


def train(
    X_train: Any,
    y_train: ArrayLike,
    X_test: Any,
    y_test: ArrayLike,
    *,
    radius: float,
    n_iter: Mapping[str, int],
    eta0: Sequence[float],
    entropic_eta0: Sequence[float],
    schedules: Sequence[str] = SCHEDULES,
    n_records: int = 50,
    repeats: int = 3,
    optimum_n_iter: int = 2000,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Binary logistic regression by both methods in several forms, each with its best step sizes.

    X_train, X_test: (n_samples, n_features), csr. y_train, y_test: -1 and +1. radius: above 0, the paper's z. n_iter:
    steps of each form that is to be tried. The forms are
    - "batch 100%": the true gradient;
    - "batch 25%": that of a random quarter of the samples, another one in each step;
    - "stochastic 1", "stochastic 100": that of so many samples, where a step touches only their features.
    eta0: first step sizes of projections, which shrink as 1/sqrt(t); entropic_eta0: those of the exponentiated
    gradient, tried with each of the schedules, see `entropic.step_sizes`. n_records: how many of a way, about. repeats:
    how often the best way is gone again for its seconds. optimum_n_iter: steps of the line search that bounds the
    optimum from below. rng: draws the samples of the steps, the same for all that
    is tried. progress: called with (ways done, of all). Raises ValueError for other input.

    Returns a row for each record of the way with the lowest last objective, of each form and method: see `compare`.
    """
    radius = as_positive(radius, "radius")
    objective = descent.Objective(X_train, y_train, loss="logistic")
    test = descent.Objective(X_test, y_test, loss="logistic")
    if test.n_features != objective.n_features:
        raise ValueError(f"X_test must have the {objective.n_features} features of X_train, got {test.n_features}")
    seeds = {form: int(rng.integers(2**63)) for form in FORMS}

    def go(attempt: Attempt) -> pd.DataFrame:
        form = attempt.form
        watched = Watched(lambda w: error(test.X @ w, test.y))
        options: dict[str, Any] = {
            "eta0": attempt.eta0,
            "n_iter": n_iter[form],
            "method": attempt.method,
            "schedule": attempt.schedule,
            "watch": watched,
        }
        if form == "batch 100%":
            trace = descent.batch(objective, radius, **options)
        else:
            options |= {"batch_size": batch_size(form, objective.n_samples), "every": attempt.every}
            options |= {"rng": np.random.default_rng(seeds[form]), "lazy": form in COUNTS}
            trace = descent.stochastic(objective, radius, **options)
        return watched.table(trace)

    optimum = descent.line_search(objective, radius, n_iter=optimum_n_iter)
    table = compare(
        go,
        n_samples=objective.n_samples,
        n_iter=n_iter,
        grids={"projection": (OF_PROJECTIONS, eta0), "entropic": (schedules, entropic_eta0)},
        n_records=n_records,
        repeats=repeats,
        bound=float(optimum.bound[-1]),
        at_zero=float(optimum.objective[0]),
        progress=progress,
    )
    return table.assign(radius=radius)[list(COLUMNS)]


def compare(
    go: Callable[[Attempt], pd.DataFrame],
    *,
    n_samples: int,
    n_iter: Mapping[str, int],
    grids: Mapping[Method, tuple[Sequence[str], Sequence[float]]],
    n_records: int,
    repeats: int,
    bound: float,
    at_zero: float,
    progress: Callable[[int, int], None] | None,
) -> pd.DataFrame:
    """Find the best step sizes of each form and method, and what happens on their way.

    go: tries something and returns its records, columns step, objective, bound, test_error, non_zero, flops, seconds.
    n_samples: to draw from. n_iter: steps of each form. grids: schedules and eta0 of each method. n_records, repeats:
    as in `train`. bound: a lower bound of the optimum. at_zero: the objective at W = 0.

    Returns the columns form; method; schedule and eta0: the best ones, by last objective; step; gradients: of samples,
    evaluated so far; objective; suboptimality: (objective - bound) / at_zero with the best bound of any record; those
    of `go`, seconds as the median of the repeats; warning: an eta0 at the edge of its grid, no gain.
    """
    for form, steps in n_iter.items():
        if form not in FORMS:
            raise ValueError(f"n_iter must name forms among {', '.join(FORMS)}, got {form!r}")
        require_count(steps, f"n_iter of {form}")
        batch_size(form, n_samples)
    for count, name in ((len(n_iter), "the number of forms in n_iter"), (n_records, "n_records"), (repeats, "repeats")):
        require_count(count, name)
    for schedules, eta0 in grids.values():
        if not len(schedules) or not len(eta0):
            raise ValueError(f"schedules and eta0 must not be empty, got {list(schedules)}, {list(eta0)}")

    n_ways = len(n_iter) * sum(len(schedules) * len(eta0) + repeats for schedules, eta0 in grids.values())
    done, parts = 0, []

    def counted(attempt: Attempt) -> pd.DataFrame:
        nonlocal done
        table = go(attempt)
        done += 1
        if progress:
            progress(done, n_ways)
        return table

    for form, steps in n_iter.items():
        best: dict[Method, Attempt] = {}
        for method, grid in grids.items():
            tries = [Attempt(form, method, schedule, eta, steps) for schedule, eta in product(*grid)]
            last = [counted(attempt)["objective"].iloc[-1] for attempt in tries]
            best[method] = tries[int(np.argmin(last))]._replace(every=max(1, steps // n_records))
        ways: list[list[pd.DataFrame]] = [[counted(attempt) for attempt in best.values()] for _ in range(repeats)]
        for attempt, tables in zip(best.values(), zip(*ways, strict=True), strict=True):
            flags = [at_edge("eta0", attempt.eta0, grids[attempt.method][1])]
            if tables[0]["objective"].iloc[-1] >= tables[0]["objective"].iloc[0]:
                flags.append(Flag("the last objective is no lower than the first"))
            part = tables[0].assign(**attempt._asdict(), warning=write_cell(flags))
            part["seconds"] = np.median([table["seconds"] for table in tables], axis=0)
            part["gradients"] = batch_size(form, n_samples) * part["step"]
            parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table["suboptimality"] = (table["objective"] - max(bound, table["bound"].max())) / at_zero
    return table


def batch_size(form: str, n_samples: int) -> int:
    """Samples per step of a form. Raises ValueError where there are too few."""
    size = COUNTS[form] if form in COUNTS else max(1, round(SHARES[form] * n_samples))
    if size > n_samples:
        raise ValueError(f"{form} needs at least {size} training samples, got {n_samples}")
    return size


def error(scores: Vector, y: Vector) -> float:
    """The fraction of samples whose score has not the label's sign; a score of 0 counts one half."""
    return float(np.where(scores == 0, 0.5, scores * y < 0).mean())
