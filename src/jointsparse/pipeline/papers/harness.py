"""Time and record the methods of all experiments, and compute medians of measured seconds.

A method is a generator that yields a `State` after each step. It does not measure time itself.
"""

import time
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special  # scipy.stats takes half a second to import

from jointsparse.checks import one_thread

Progress = Callable[[int, int], None]  # called with the number of parts that are done, and their total

LEAST_SECONDS = 2e-3  # quick calls are repeated for this long, because clocks are coarse
CONFIDENCE = 0.95
RADIUS_SHARE = 0.1  # radius / norm, for the projections that are timed or whose operations are counted


class State(NamedTuple):
    """The state of a method after some steps.

    weights: a function that returns the weights. flops: the number of operations so far; NaN if they are not counted.
    details: anything else that the method has computed, such as the derivatives at the weights.
    """

    step: int
    weights: Callable[[], Any]
    flops: float = np.nan
    details: Any = None


Columns = Callable[[State], dict[str, float]]  # returns the columns of a state


class Measurement(NamedTuple):
    """A timing: its columns in the table, and a function that measures the seconds once."""

    columns: dict[str, Any]
    seconds: Callable[[], float]


def silent(done: int, of: int) -> None:
    """Report no progress."""


def ticking(progress: Progress, total: int) -> Callable[[], object]:
    """Return a function that, at every call, reports that one more of `total` parts is done."""
    done = count(1)
    return lambda: progress(next(done), total)


@one_thread()
def record(
    method: Callable[[], Iterator[State]],
    columns: Columns,
    *,
    at: Container[int] | None = None,
    restarts: bool = False,
) -> pd.DataFrame:
    """Run a method and record its states in a table.

    Parameters
    ----------
    method : callable
        Starts the method. It is started twice, the first time for one step, to compile its kernels.
    columns : callable
        Returns the columns of a state. The time that it takes is not counted.
    at : container of int, optional
        Steps to record; all by default.
    restarts : bool
        True for a method that starts from scratch for each state. The clock then starts again for each state, too.

    Returns
    -------
    DataFrame
        A row for each recorded state, with the columns of `columns` and:

        - step: number of the step.
        - flops: number of operations so far.
        - seconds: CPU seconds since the first state.
    """
    for _ in islice(method(), 2):
        pass
    rows, seconds, since = [], 0.0, 0.0
    for state in method():
        since = since or time.process_time()
        if at is None or state.step in at:
            seconds = time.process_time() - since + (0 if restarts else seconds)
            rows.append({"step": state.step, "flops": state.flops, "seconds": seconds} | columns(state))
            since = time.process_time()
    return pd.DataFrame(rows)


def measure(measurements: Sequence[Measurement], repeats: int, progress: Progress = silent) -> pd.DataFrame:
    """Return a row for each measurement with its median seconds. The measurements take turns, `repeats` times each."""
    tick, seconds = ticking(progress, repeats * len(measurements)), np.empty((repeats, len(measurements)))
    for repeat in range(repeats):
        for i, measurement in enumerate(measurements):
            seconds[repeat, i] = measurement.seconds()
            tick()
    medians = zip(measurements, map(median, seconds.T), strict=True)
    return pd.DataFrame(measurement.columns | {"repeats": repeats} | row for measurement, row in medians)


def seconds_of(call: Callable[[], object]) -> float:
    """Return the CPU seconds of a call, averaged over as many calls as fill 2 ms."""
    calls, start, elapsed = 0, time.process_time(), 0.0
    while elapsed < LEAST_SECONDS or not calls:
        call()
        calls, elapsed = calls + 1, time.process_time() - start
    return elapsed / calls


def seconds_of_projection(ball: Any, W: np.ndarray, **options: Any) -> float:
    """Return the CPU seconds of projecting W. ball: the module of a norm, to whose `project` the options are passed."""
    radius, out = RADIUS_SHARE * ball.norm(W), np.empty_like(W)
    return seconds_of(lambda: ball.project(W, radius, out=out, **options))


def median(times: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Return the median of measured times (`seconds`) and the ends of its 95 % interval (`low`, `high`).

    The ends of the interval are two of the measurements, so it is valid for any distribution. They are NaN for fewer
    than six measurements.

    >>> median([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])
    {'seconds': 3.5, 'low': 1.0, 'high': 6.0}
    """
    ordered = np.sort(times)
    below = special.bdtr(np.arange(len(ordered) + 1), len(ordered), 0.5)  # P(at most this many lie below the median)
    place = int(np.searchsorted(below, (1 - CONFIDENCE) / 2))
    low, high = (ordered[place - 1], ordered[-place]) if place else (np.nan, np.nan)
    return {"seconds": float(np.median(ordered)), "low": float(low), "high": float(high)}
