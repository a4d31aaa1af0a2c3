"""The clock and the recorder of all experiments, and medians of measured seconds.

A method is a generator of `State`, one after each step, and knows no clock.
"""

import time
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special  # not stats, which takes half a second to import

from jointsparse.checks import one_thread

Progress = Callable[[int, int], None]  # is called with (done, of all)

LEAST_SECONDS = 2e-3  # for which a quick call is repeated, as clocks are coarse
CONFIDENCE = 0.95
RADIUS_SHARE = 0.1  # radius / norm, of projections that are measured or counted


class State(NamedTuple):
    """A method after some steps.

    weights: returns the weights. flops: operations so far, NaN if they are not counted. details: what the method has
    computed besides, such as the derivatives at the weights.
    """

    step: int
    weights: Callable[[], Any]
    flops: float = np.nan
    details: Any = None


Columns = Callable[[State], dict[str, float]]  # returns the columns of a state


class Measurement(NamedTuple):
    """Seconds that are measured: the columns that say of what, and a function that takes one measurement."""

    columns: dict[str, Any]
    seconds: Callable[[], float]


def silent(done: int, of: int) -> None:
    """Report no progress."""


def ticking(progress: Progress, total: int) -> Callable[[], object]:
    """A function that reports that one more of all is done."""
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
    """Run a method, and tabulate its states.

    Parameters
    ----------
    method : callable
        Begins the method. It is begun twice, first for a single step that compiles.
    columns : callable
        Returns the columns of a state. Its time does not count.
    at : container of int, optional
        Steps to record, all by default.
    restarts : bool
        True for a method that starts anew for each state: seconds are then those of this state alone.

    Returns
    -------
    DataFrame
        A row for each record, with step, flops, those of `columns`, and seconds: CPU seconds since the first state.
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
    """Take several measurements in turn, each `repeats` times; return a row for each, with the columns of `median`."""
    tick, seconds = ticking(progress, repeats * len(measurements)), np.empty((repeats, len(measurements)))
    for repeat in range(repeats):
        for i, measurement in enumerate(measurements):
            seconds[repeat, i] = measurement.seconds()
            tick()
    medians = zip(measurements, map(median, seconds.T), strict=True)
    return pd.DataFrame(measurement.columns | {"repeats": repeats} | row for measurement, row in medians)


def seconds_of(call: Callable[[], object]) -> float:
    """CPU seconds of a call, the mean of as many as take 2 ms together, at least one."""
    calls, start, elapsed = 0, time.process_time(), 0.0
    while elapsed < LEAST_SECONDS or not calls:
        call()
        calls, elapsed = calls + 1, time.process_time() - start
    return elapsed / calls


def seconds_of_projection(ball: Any, W: np.ndarray, **options: Any) -> float:
    """CPU seconds of a projection of W. ball: a norm's module. options: those of its `project`."""
    radius, out = RADIUS_SHARE * ball.norm(W), np.empty_like(W)
    return seconds_of(lambda: ball.project(W, radius, out=out, **options))


def median(times: Sequence[float] | np.ndarray) -> dict[str, float]:
    """The columns seconds, low and high of a table: the median of some measurements and its 95 % interval.

    The interval lies between two of the measurements and holds for any distribution. It is NaN for fewer than six.

    >>> median([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])
    {'seconds': 3.5, 'low': 1.0, 'high': 6.0}
    """
    ordered = np.sort(times)
    below = special.bdtr(np.arange(len(ordered) + 1), len(ordered), 0.5)  # P(at most so many lie below the median)
    place = int(np.searchsorted(below, (1 - CONFIDENCE) / 2))
    low, high = (ordered[place - 1], ordered[-place]) if place else (np.nan, np.nan)
    return {"seconds": float(np.median(ordered)), "low": float(low), "high": float(high)}
