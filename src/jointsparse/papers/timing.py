"""Measured seconds: of a quick call, and the median of several measurements with its interval."""

import time
from collections.abc import Callable, Sequence

import numpy as np
from scipy import special  # not stats, which takes half a second to import

LEAST = 2e-3  # seconds for which a quick call is repeated, as clocks are coarse
CONFIDENCE = 0.95


def seconds_of(call: Callable[[], object]) -> float:
    """CPU seconds of a call, the mean of as many as take 2 ms together; at least one."""
    calls, start = 0, time.process_time()
    while True:
        call()
        calls += 1
        elapsed = time.process_time() - start
        if elapsed >= LEAST:
            return elapsed / calls


def by_turns(
    measurements: Sequence[Callable[[], float]], repeats: int, progress: Callable[[int, int], None] | None = None
) -> list[list[float]]:
    """The seconds that each measurement returns in each repeat, all of them once before any comes again.

    progress: called with (measurements done, of all).
    """
    seconds: list[list[float]] = [[] for _ in measurements]
    for repeat in range(repeats):
        for i, measure in enumerate(measurements):
            seconds[i].append(measure())
            if progress:
                progress(repeat * len(measurements) + i + 1, repeats * len(measurements))
    return seconds


def median(times: Sequence[float]) -> dict[str, float]:
    """The columns seconds, low and high of a table: the median of some measurements and its 95 % interval.

    The interval lies between two of the measurements and holds whatever their distribution; NaN for fewer than six.

    >>> median([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])
    {'seconds': 3.5, 'low': 1.0, 'high': 6.0}
    """
    ordered = np.sort(times)
    below = special.bdtr(np.arange(len(ordered) + 1), len(ordered), 0.5)  # P(so many or fewer lie below the median)
    place = int(np.searchsorted(below, (1 - CONFIDENCE) / 2))
    low, high = (ordered[place - 1], ordered[-place]) if place else (np.nan, np.nan)
    return {"seconds": float(np.median(ordered)), "low": float(low), "high": float(high)}
