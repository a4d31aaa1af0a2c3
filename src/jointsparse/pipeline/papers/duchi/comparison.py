"""Run methods on a problem, each with its best step sizes, and tabulate how they compare.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7.
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
from jointsparse.pipeline.papers.duchi.steps import Diverged, Matrix
from jointsparse.pipeline.papers.harness import Columns, State, record
from jointsparse.pipeline.sweep import at_edge


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
