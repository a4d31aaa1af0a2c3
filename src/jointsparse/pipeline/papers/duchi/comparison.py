"""The harness of the comparisons: run methods on a problem, each with its best step sizes, and tabulate the records.

`best_runs` serves all comparisons. `train_forms` compares projected with exponentiated gradient, with the full and
stochastic gradients that the paper compares.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7, Fig. 4 to 7.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.arrays import select
from jointsparse.checks import require
from jointsparse.pipeline import tasks
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.flag import Flag, write_cell
from jointsparse.pipeline.papers.duchi.entropic import SCHEDULES
from jointsparse.pipeline.papers.duchi.steps import Diverged, Matrix, RowNumbers, draw_batches
from jointsparse.pipeline.papers.harness import Columns, Progress, State, record, silent, ticking
from jointsparse.pipeline.sweep import at_edge

# The forms of gradient, which differ in the samples from which the gradient of a step is computed.
BATCH_SHARES = {"batch 25%": 0.25, "batch 100%": 1.0}
BATCH_COUNTS = {"stochastic 1": 1, "stochastic 100": 100}
FORMS = (*BATCH_SHARES, *BATCH_COUNTS)

COLUMNS = (
    *("form", "method", "schedule", "eta0", "step", "gradients", "objective", "suboptimality", "best_suboptimality"),
    *("test_error", "non_zero", "flops", "seconds", "radius", "warning"),
)


class Comparison(NamedTuple):
    """How methods are compared on a problem.

    columns: a function that returns the columns of a state. They must include `objective` and `bound`, a lower bound of
    the optimum. at_zero: the objective at W = 0, by which the suboptimality is divided. bound: a lower bound of the
    optimum that is known before the methods are run.
    """

    columns: Columns
    at_zero: float
    bound: float

    def suboptimality(self, table: pd.DataFrame, objective: str = "objective") -> pd.Series:
        """Return (objective - bound) / at_zero for each record, where `bound` is the best bound from all records."""
        return (table[objective] - max(self.bound, table["bound"].max())) / self.at_zero


def certified_columns(
    objective: Any, certify: Callable[[Any], tuple[float, float]], **more: Callable[[Matrix], float]
) -> Columns:
    """Return a function that computes the columns of a state: `objective`, `bound`, `non_zero`, and those of `more`.

    The column `non_zero` is the fraction of non-zero weights. objective: an object with a method `tangent`, which
    returns a tuple that begins with the weights. certify: a function that returns the objective and a lower bound of
    the optimum, given a tangent. more: by column name, functions that compute further columns from the weights.
    """

    def columns(state: State) -> dict[str, float]:
        tangent = state.details or objective.tangent(state.weights())
        weights, (value, bound) = tangent[0], certify(tangent)
        certified = {"objective": value, "bound": bound, "non_zero": np.count_nonzero(weights) / weights.size}
        return certified | {name: function(weights) for name, function in more.items()}

    return columns


def halved(data: Samples, y: np.ndarray) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Split the samples in half. Return the features and labels for training, then those for testing."""
    learn, test = tasks.halves(data.images)
    return select(data.X, learn), y[learn], select(data.X, test), y[test]


def best_runs(
    begin: Callable[[str, str, float], Iterator[State]],
    columns: Columns,
    grids: Mapping[str, Sequence[float]],
    schedules: Sequence[str],
    *,
    at: Container[int] | None = None,
    by: str = "objective",
    repeats: int = 1,
    tick: Callable[[], object] = lambda: None,
) -> pd.DataFrame:
    """Run each method with each of its step sizes, and return the records of the best run of each method.

    Parameters
    ----------
    begin : callable
        Starts a method, given its name, a schedule and a first step size.
    columns : callable
        Returns the columns of a state.
    grids : mapping from method to sequence of float
        The first step sizes to try for each method.
    schedules : sequence of str
        Schedules to try with each first step size.
    at : container of int, optional
        The steps to record. By default, all steps are recorded.
    by : str
        Column by which the best run is chosen: the run whose last record has the smallest value.
    repeats : int, at least 1
        Number of runs with the best step sizes, including the run that found them. The methods take turns, and the
        median timings are reported.
    tick : callable
        Called after each run.

    Returns
    -------
    DataFrame
        The columns of `harness.record`, the column `method`, and the columns that `best_of` adds.

    Raises
    ------
    ValueError
        If all runs of a method diverge.
    """

    def run(method: str, schedule: str, eta0: float) -> pd.DataFrame:
        try:
            return record(partial(begin, method, schedule, eta0), columns, at=at).assign(method=method)
        finally:
            tick()

    best = {method: best_of(partial(run, method), schedules, grid, by) for method, grid in grids.items()}
    seconds = {method: [table["seconds"]] for method, table in best.items()}
    for _ in range(repeats - 1):
        for method, table in best.items():
            seconds[method].append(run(method, table["schedule"].iloc[0], table["eta0"].iloc[0])["seconds"])
    timed = [table.assign(seconds=np.median(seconds[method], axis=0)) for method, table in best.items()]
    return pd.concat(timed, ignore_index=True)


def best_of(
    run: Callable[[str, float], pd.DataFrame], schedules: Sequence[str], eta0: Sequence[float], by: str = "objective"
) -> pd.DataFrame:
    """Try each schedule with each eta0, and return the records of the run with the smallest final value of `by`.

    Parameters
    ----------
    run : callable
        Returns the records of a run, given a schedule and an eta0. Runs that diverge are skipped.
    schedules : sequence of str
        Schedules to try.
    eta0 : sequence of float
        First step sizes to try with each schedule.
    by : str
        Column by which the best run is chosen.

    Returns
    -------
    DataFrame
        The records of the best run, with further columns:
        - schedule, eta0: the best schedule and first step size.
        - lowest: the smallest value of the column `by` that any run has reached up to this step.
        - warning: says that eta0 lies at the edge of its grid, or that the objective has not decreased.

    Raises
    ------
    ValueError
        If all runs diverge.
    """
    tables = []
    for schedule, eta in product(schedules, eta0):
        with suppress(Diverged):
            tables.append(run(schedule, eta).assign(schedule=schedule, eta0=eta))
    require(tables, f"descent diverged for every eta0 in {list(eta0)}: choose a smaller eta0, or scale the features")
    best = min(tables, key=lambda table: table[by].iloc[-1])
    lowest = np.minimum.accumulate(np.min([table[by] for table in tables], axis=0))
    flags = [at_edge("eta0", best["eta0"].iloc[0], eta0)]
    if by == "objective" and not best[by].iloc[-1] < best[by].iloc[0]:
        flags.append(Flag("the last objective is no lower than the first"))
    return best.assign(lowest=lowest, warning=write_cell(flags))


# The forms of the gradient


class Form(NamedTuple):
    """The steps that are taken with one form of the gradient.

    n_iter: number of steps. batch_size: number of samples per step. batches: row numbers of the samples of each step,
    or None if each step uses all samples. lazy: whether a step changes only the weights of the features that occur in
    its samples. at: the steps to record.
    """

    n_iter: int
    batch_size: int
    batches: Sequence[RowNumbers] | None
    lazy: bool
    at: set[int]


def train_forms(
    begin: Callable[..., Iterator[State]],
    comparisons: Mapping[float, Comparison],
    *,
    n_samples: int,
    n_iter: Mapping[str, int],
    eta0: Sequence[float],
    entropic_eta0: Sequence[float],
    schedules: Sequence[str] = SCHEDULES,
    n_records: int = 25,
    repeats: int = 3,
    records_each: str = "",
    rng: np.random.Generator,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Train by both methods with each form of the gradient, and with the best step sizes.

    Forms:
    - "batch 100%": steps along the full gradient.
    - "batch 25%": steps along the gradient over a random quarter of the samples, drawn anew for each step.
    - "stochastic 1", "stochastic 100": steps along the gradient over 1 or 100 random samples, drawn anew for each step.

    Parameters
    ----------
    begin : callable
        Starts a method in the feasible set of the given radius, for example `descent.descend` with a fixed objective.
    comparisons : mapping from float to Comparison
        The `Comparison` for each radius. Its columns must include `test_error`.
    n_samples : int
        Number of all samples. The samples of a step are drawn from these.
    n_iter : mapping from form to int
        The forms to try, each with its number of steps.
    eta0 : sequence of float, above 0
        First step sizes of the projected gradient.
    entropic_eta0 : sequence of float, above 0
        First step sizes of the exponentiated gradient.
    schedules : sequence of str
        Schedules of the step sizes; see `entropic.step_sizes`. Both methods try every schedule. The paper uses only
        1/sqrt(t) for projected gradient.
    n_records : int, at least 1
        Approximate number of records in a run.
    repeats : int, at least 1
        Number of runs with the best step sizes, including the run that found them. Their median timings are reported.
    records_each : str
        A form for which every step is recorded, or an empty string for none.
    rng : numpy.random.Generator
        Draws the samples of the steps, which are the same for all step sizes.
    progress : callable
        Called with the number of runs done and the number of all runs.

    Returns
    -------
    DataFrame
        For each radius, form and method, a row per record of the run with the lowest final objective. Columns:

        - form, method.
        - schedule, eta0: the best schedule and first step size.
        - step.
        - gradients: number of single-sample gradients computed so far.
        - objective.
        - suboptimality: see `Comparison`. It is computed with the best bound from all records for this radius.
        - best_suboptimality: suboptimality of the lowest objective that has been reached up to this step with any
          schedule and eta0.
        - test_error.
        - non_zero: fraction of non-zero weights.
        - flops: number of operations so far.
        - seconds: CPU time so far, as the median over the repeats.
        - radius.
        - warning: says that eta0 lies at the edge of its grid, or that the objective has not decreased.

    Raises
    ------
    ValueError
        If an input is out of range, or if a method overflows with every step size. Otherwise, runs that overflow are
        skipped.
    """
    grids = {"projection": eta0, "entropic": entropic_eta0}
    # Each form has its own seed, so that its results do not depend on which other forms are in n_iter.
    seeds = {form: int(rng.integers(2**63)) for form in FORMS}
    forms = {}
    for name, steps in n_iter.items():
        size, every = batch_size(name, n_samples), 1 if name == records_each else max(1, steps // n_records)
        batches = draw_batches(steps, n_samples, size, np.random.default_rng(seeds[name])) if size < n_samples else None
        forms[name] = Form(steps, size, batches, name in BATCH_COUNTS, {*range(0, steps, every), steps})
    n_runs = sum(len(schedules) * len(grid) + repeats - 1 for grid in grids.values())
    tick = ticking(progress, len(comparisons) * len(forms) * n_runs)

    def train(radius: float, comparison: Comparison, form: Form) -> pd.DataFrame:
        def begin_run(method: str, schedule: str, eta0: float) -> Iterator[State]:
            options = {"n_iter": form.n_iter, "batches": form.batches, "lazy": form.lazy}
            return begin(radius, method=method, schedule=schedule, eta0=eta0, **options)

        table = best_runs(begin_run, comparison.columns, grids, schedules, at=form.at, repeats=repeats, tick=tick)
        return table.assign(gradients=form.batch_size * table["step"])

    tables = []
    for radius, comparison in comparisons.items():
        table = pd.concat([train(radius, comparison, form).assign(form=name) for name, form in forms.items()])
        table["suboptimality"] = comparison.suboptimality(table)
        table["best_suboptimality"] = comparison.suboptimality(table, "lowest")
        tables.append(table.assign(radius=float(radius)))
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def batch_size(form: str, n_samples: int) -> int:
    """Return the number of samples that a step of a form uses. Raise ValueError if there are too few samples."""
    size = BATCH_COUNTS[form] if form in BATCH_COUNTS else max(1, round(BATCH_SHARES[form] * n_samples))
    require(size <= n_samples, f"{form} needs at least {size} training samples, got {n_samples}")
    return size
