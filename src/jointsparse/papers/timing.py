"""Measure seconds: of a quick call, and the median of several measurements with its interval."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special  # not stats, which takes half a second to import

LEAST_SECONDS = 2e-3  # for which a quick call is repeated, as clocks are coarse
CONFIDENCE = 0.95


class Task(NamedTuple):
    """A measurement: its columns in a table, and a function that takes it and returns seconds."""

    columns: dict[str, Any]
    seconds: Callable[[], float]


def measure(tasks: Sequence[Task], repeats: int, progress: Callable[[int, int], None] | None = None) -> pd.DataFrame:
    """Take several measurements in turn, each `repeats` times; return a row for each, with the columns of `median`.

    progress: called with (measurements done, of all).
    """
    seconds: list[list[float]] = [[] for _ in tasks]
    for repeat in range(repeats):
        for i, task in enumerate(tasks):
            seconds[i].append(task.seconds())
            if progress:
                progress(repeat * len(tasks) + i + 1, repeats * len(tasks))
    rows = [task.columns | {"repeats": repeats} | median(times) for task, times in zip(tasks, seconds, strict=True)]
    return pd.DataFrame(rows)


def require_sizes(**lists: Sequence[int]) -> None:
    """Raise ValueError unless each list, given by name, holds numbers of at least 1."""
    for name, values in lists.items():
        if not len(values) or min(values) < 1:
            raise ValueError(f"{name} must be at least 1, got {values}")


def seconds_of(call: Callable[[], object]) -> float:
    """CPU seconds of a call, the mean of as many as take 2 ms together, at least one."""
    calls, start = 0, time.process_time()
    while True:
        call()
        calls += 1
        elapsed = time.process_time() - start
        if elapsed >= LEAST_SECONDS:
            return elapsed / calls


def median(times: Sequence[float]) -> dict[str, float]:
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
