"""Compare exponentiated gradient with projected gradient on sparse text: objective, test error and sparsity by step.

    minimise 1/m sum_i log(1 + exp(-y_i x_i . w))  subject to ||w||_1 <= radius.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 7 and Fig. 6. `digits` does the same for Fig. 7.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jointsparse.checks import as_positive, require, require_count, select
from jointsparse.datasets.samples import Samples
from jointsparse.learning import tasks
from jointsparse.learning.entropic import SCHEDULES
from jointsparse.learning.flag import Flag, write_cell
from jointsparse.learning.sweep import at_edge
from jointsparse.papers.duchi import descent
from jointsparse.papers.duchi.descent import Matrix, Method, Trace

SERVES = "samples"
TABLES = {"exponentiated": "tables", "exponentiated_seconds": "timings"}
WARNS = ("exponentiated",)

# The forms of an experiment: which samples make the gradient of a step.
BATCH_SHARES = {"batch 25%": 0.25, "batch 100%": 1.0}
BATCH_COUNTS = {"stochastic 1": 1, "stochastic 100": 100}
FORMS = (*BATCH_SHARES, *BATCH_COUNTS)

COLUMNS = (
    *("form", "method", "schedule", "eta0", "step", "gradients", "objective", "suboptimality", "best_suboptimality"),
    *("test_error", "non_zero", "flops", "seconds", "radius", "warning"),
)


class Problem(NamedTuple):
    """A problem that both methods solve, in each form.

    n_samples: to draw from. radius: of the set. at_zero: the objective at W = 0. bound: a lower bound of the optimum.
    test_error: returns the fraction of test samples that weights misclassify. descend: runs a method with the options
    form, batch_size, rng, every, method, schedule, eta0, n_iter and watch of `descent.stochastic`.
    """

    n_samples: int
    radius: float
    at_zero: float
    bound: float
    test_error: Callable[[Matrix], float]
    descend: Callable[..., Trace]


class Attempt(NamedTuple):
    """A run of a method in a form, with the schedule and the first of its step sizes."""

    form: str
    method: Method
    schedule: str
    eta0: float


def run(
    data: Samples,
    *,
    radius: Sequence[float],
    label: str | None = None,
    optimum_n_iter: int = 2000,
    rng: np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """Do one repetition on nine in ten of the training samples: those with a label against the others.

    Parameters
    ----------
    data : Samples
    radius : sequence of float, above 0
        The paper's z.
    label : str, optional
        The most frequent label by default.
    optimum_n_iter : int, at least 1
        Steps of the line search that bounds the optimum from below.
    rng : numpy.random.Generator
        Draws the training samples, and the samples of each step.
    **options : Any
        Options of `train_forms`.

    Returns
    -------
    DataFrame
        The table of `train_forms` with the column label.

    Raises
    ------
    ValueError
        Input out of range.
    """
    require_all_positive(radius, "radius")
    label, signs = tasks.one_label(data.images, data.captions, label)
    X, y, X_test, y_test = halved(data, signs)
    kept = tasks.thinned(np.ones(len(y), bool), rng)
    objective = descent.Objective(X[kept], y[kept], loss="logistic")
    test = descent.Objective(X_test, y_test, loss="logistic")

    def descend(z: float, form: str, batch_size: int, rng: np.random.Generator, every: int, **options: Any) -> Trace:
        if form == "batch 100%":
            return descent.batch(objective, z, **options)
        options |= {"batch_size": batch_size, "rng": rng, "every": every, "lazy": form in BATCH_COUNTS}
        return descent.stochastic(objective, z, **options)

    def problem(z: float) -> Problem:
        optimum = descent.line_search(objective, z, n_iter=optimum_n_iter)
        return Problem(
            n_samples=objective.n_samples,
            radius=z,
            at_zero=float(optimum.objective[0]),
            bound=float(optimum.bound[-1]),
            test_error=lambda w: error(test.X @ w, test.y),
            descend=partial(descend, z),
        )

    return train_forms(list(map(problem, radius)), rng=rng, **options).assign(label=label)


def require_all_positive(values: Sequence[float], name: str) -> None:
    """Raise ValueError unless values hold at least one number, each above 0 and finite."""
    require(len(values), f"{name} must be a list of at least one number, got none")
    for value in values:
        as_positive(value, name)


def halved(data: Samples, y: NDArray[Any]) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    """Features and labels of the samples to learn from, then of the samples to test with."""
    learn, test = tasks.halves(data.images)
    return select(data.X, learn), y[learn], select(data.X, test), y[test]


def train_forms(
    problems: Sequence[Problem],
    *,
    n_iter: Mapping[str, int],
    eta0: Sequence[float],
    entropic_eta0: Sequence[float],
    schedules: Sequence[str] = SCHEDULES,
    n_records: int = 50,
    repeats: int = 3,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Train in several forms by both methods, each with its best step sizes.

    The forms are
    - "batch 100%": steps along the true gradient;
    - "batch 25%": along the gradient of a random quarter of the samples, another one in each step;
    - "stochastic 1", "stochastic 100": along the gradient of 1 or 100 random samples.

    Parameters
    ----------
    problems : sequence of Problem
        One for each radius, with the same samples.
    n_iter : mapping from form to int
        Steps of each form to try.
    eta0 : sequence of float, above 0
        First step sizes of projections.
    entropic_eta0 : sequence of float, above 0
        First step sizes of the exponentiated gradient.
    schedules : sequence of str
        Of the step sizes, see `entropic.step_sizes`. Both methods try each.
        The paper's projections have 1/sqrt(t) only.
    n_records : int, at least 1
        Records of a run, approximately.
    repeats : int, at least 1
        Runs with the best step sizes, for the median of their seconds.
    rng : numpy.random.Generator
        Draws the samples of the steps, the same ones for all step sizes.
    progress : callable, optional
        Called with (runs done, of all).

    Returns
    -------
    DataFrame
        A row for each record of the run with the lowest last objective, of each radius, form and method. Columns:
        - form, method.
        - schedule, eta0: the best ones.
        - step.
        - gradients: of samples, evaluated so far.
        - objective.
        - suboptimality: (objective - bound) / at_zero with the best bound of any record of the radius.
        - best_suboptimality: of the lowest objective that any schedule and eta0 has reached by then.
        - test_error.
        - non_zero: the fraction of weights that are not 0.
        - flops.
        - seconds: the median of the repeats.
        - radius.
        - warning: eta0 at the edge of its grid, no gain.

    Raises
    ------
    ValueError
        Input out of range.
    """
    _require_forms(n_iter, problems[0].n_samples)
    require_count(n_records, "n_records")
    require_count(repeats, "repeats")
    grids: dict[Method, tuple[Sequence[str], Sequence[float]]] = {
        "projection": (schedules, eta0),
        "entropic": (schedules, entropic_eta0),
    }
    for grid in grids.values():
        require(all(map(len, grid)), f"schedules and eta0 must not be empty, got {list(grid[0])}, {list(grid[1])}")
    seeds = {form: int(rng.integers(2**63)) for form in FORMS}
    n_runs = len(problems) * len(n_iter) * sum(len(names) * len(etas) + repeats for names, etas in grids.values())
    done = count(1)

    def train(problem: Problem, attempt: Attempt) -> pd.DataFrame:
        steps, rng = n_iter[attempt.form], np.random.default_rng(seeds[attempt.form])
        table = _records(problem, attempt, steps, max(1, steps // n_records), rng)
        if progress:
            progress(next(done), n_runs)
        return table

    def train_form(problem: Problem, form: str) -> Iterator[pd.DataFrame]:
        best, lowest = [], []
        for method, grid in grids.items():
            tried = [Attempt(form, method, *pair) for pair in product(*grid)]
            objectives = np.array([train(problem, attempt)["objective"] for attempt in tried])
            best.append(tried[int(objectives[:, -1].argmin())])
            lowest.append(np.minimum.accumulate(objectives.min(axis=0)))
        repeated = [[train(problem, attempt) for attempt in best] for _ in range(repeats)]
        for attempt, tables, objective in zip(best, zip(*repeated, strict=True), lowest, strict=True):
            edge = at_edge("eta0", attempt.eta0, grids[attempt.method][1])
            yield _merged(attempt, tables, edge).assign(lowest=objective)

    tables = []
    for problem in problems:
        table = pd.concat([part for form in n_iter for part in train_form(problem, form)])
        bound = max(problem.bound, table["bound"].max())
        for column, objective in (("suboptimality", "objective"), ("best_suboptimality", "lowest")):
            table[column] = (table[objective] - bound) / problem.at_zero
        tables.append(table.assign(radius=float(problem.radius)))
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def _require_forms(n_iter: Mapping[str, int], n_samples: int) -> None:
    require_count(len(n_iter), "the number of forms in n_iter")
    for form, steps in n_iter.items():
        require(form in FORMS, f"n_iter must name forms among {', '.join(FORMS)}, got {form!r}")
        require_count(steps, f"n_iter of {form}")
        batch_size(form, n_samples)


def _records(problem: Problem, attempt: Attempt, n_iter: int, every: int, rng: np.random.Generator) -> pd.DataFrame:
    """Run an attempt; return a row per record."""
    seen: list[tuple[float, float]] = []
    size = batch_size(attempt.form, problem.n_samples)
    trace = problem.descend(
        **attempt._asdict(),
        n_iter=n_iter,
        batch_size=size,
        rng=rng,
        every=every,
        watch=lambda W: seen.append((problem.test_error(W), np.count_nonzero(W) / W.size)),
    )
    columns = {name: column for name, column in trace._asdict().items() if name != "w"}
    columns |= dict(zip(("test_error", "non_zero"), np.array(seen).T, strict=True))
    return pd.DataFrame(columns | {"gradients": size * trace.step})


def _merged(attempt: Attempt, tables: Sequence[pd.DataFrame], edge: Flag | None) -> pd.DataFrame:
    """The records of equal runs, with the medians of their seconds and a warning."""
    objective = tables[0]["objective"]
    no_gain = None if objective.iloc[-1] < objective.iloc[0] else Flag("the last objective is no lower than the first")
    seconds = np.median([table["seconds"] for table in tables], axis=0)
    return tables[0].assign(**attempt._asdict(), seconds=seconds, warning=write_cell([edge, no_gain]))


def batch_size(form: str, n_samples: int) -> int:
    """Samples per step of a form. Raises ValueError if there are too few."""
    size = BATCH_COUNTS[form] if form in BATCH_COUNTS else max(1, round(BATCH_SHARES[form] * n_samples))
    require(size <= n_samples, f"{form} needs at least {size} training samples, got {n_samples}")
    return size


def error(scores: Matrix, y: NDArray[Any]) -> float:
    """Fraction of samples whose score has not the label's sign. A score of 0 counts one half."""
    return float(np.where(scores == 0, 0.5, scores * y < 0).mean())
