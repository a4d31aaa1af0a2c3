"""Time and record the methods of all experiments, and compute medians of timings.

A method is a generator that yields a `State` after each step. It does not measure time itself.
"""

import time
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special  # scipy.stats takes half a second to import

from jointsparse.threads import one_thread

Progress = Callable[[int, int], None]  # called with the number of parts that are done, and of all parts

LEAST_SECONDS = 2e-3  # quick calls are repeated for this long, because clocks are coarse
CONFIDENCE = 0.95
RADIUS_SHARE = 0.1  # radius / norm, for the projections that are timed or whose operations are counted


class State(NamedTuple):
    """The state of a method after a number of steps.

    weights: a function that returns the weights. flops: the number of operations so far, or NaN if operations are not
    counted. details: anything else that the method has computed, such as the derivatives at the weights.
    """

    step: int
    weights: Callable[[], Any]
    flops: float = np.nan
    details: Any = None


Columns = Callable[[State], dict[str, float]]  # returns the columns of a state


class Measurement(NamedTuple):
    """Something to be timed: its columns in the table, and a function that times it once and returns the seconds."""

    columns: dict[str, Any]
    seconds: Callable[[], float]


def silent(done: int, of: int) -> None:
    """Do nothing. This is the default for `progress`."""


def ticking(progress: Progress, total: int) -> Callable[[], object]:
    """Return a function that reports, each time that it is called, that one more of `total` parts is done."""
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
        A function that starts the method and returns its generator of states. It is called twice. The first call is
        only for compiling the kernels, and runs a single step.
    columns : callable
        Returns the columns of a state. Its own running time is not counted.
    at : container of int, optional
        The steps to record. By default, all steps are recorded.
    restarts : bool
        True for a method that computes each state from scratch. The clock is then reset for each state, too.

    Returns
    -------
    DataFrame
        A row for each recorded state, with the columns of `columns` and:

        - step: number of the step.
        - flops: number of operations so far.
        - seconds: CPU time in seconds since the first state.
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
    """Make all measurements in turn, `repeats` times, and return a row with the median timing of each."""
    tick, seconds = ticking(progress, repeats * len(measurements)), np.empty((repeats, len(measurements)))
    for repeat in range(repeats):
        for i, measurement in enumerate(measurements):
            seconds[repeat, i] = measurement.seconds()
            tick()
    medians = zip(measurements, map(median, seconds.T), strict=True)
    return pd.DataFrame(measurement.columns | {"repeats": repeats} | row for measurement, row in medians)


def seconds_of(call: Callable[[], object]) -> float:
    """Return the CPU time of a call in seconds, averaged over as many calls as are needed to fill 2 ms."""
    calls, start, elapsed = 0, time.process_time(), 0.0
    while elapsed < LEAST_SECONDS or not calls:
        call()
        calls, elapsed = calls + 1, time.process_time() - start
    return elapsed / calls


def seconds_of_projection(ball: Any, W: np.ndarray, **options: Any) -> float:
    """Return the CPU time in seconds taken by `ball.project` to project W. ball: the module of a norm."""
    radius, out = RADIUS_SHARE * ball.norm(W), np.empty_like(W)
    return seconds_of(lambda: ball.project(W, radius, out=out, **options))


def median(times: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Return the median of timings (`seconds`) and the ends of its 95 % interval (`low`, `high`).

    Each end of the interval is one of the timings, so the interval is valid for any distribution. With fewer than six
    timings, the ends are NaN.

    >>> median([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])
    {'seconds': 3.5, 'low': 1.0, 'high': 6.0}
    >>> median(range(5))
    {'seconds': 2.0, 'low': nan, 'high': nan}

    Of 15 timings, at most 3 lie below the median in 1.8 % of cases, and at most 4 in 5.9 %:

    >>> median(range(15))
    {'seconds': 7.0, 'low': 3.0, 'high': 11.0}
    """
    ordered = np.sort(times)
    below = special.bdtr(np.arange(len(ordered) + 1), len(ordered), 0.5)  # P(at most this many lie below the median)
    place = int(np.searchsorted(below, (1 - CONFIDENCE) / 2))
    low, high = (ordered[place - 1], ordered[-place]) if place else (np.nan, np.nan)
    return {"seconds": float(np.median(ordered)), "low": float(low), "high": float(high)}
