"""Statistics of several runs and several tests."""

from typing import Any

import numpy as np
from scipy import special  # not stats, which takes half a second to import

FEWEST_RUNS = 5  # Choice: an interval over fewer runs is too wide, and its t distribution too far from the truth.


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down correction of p-values for the number of tests.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return stepped[np.argsort(order)]


def half_width(spread: Any, n_runs: Any) -> Any:
    """Half width of the 95 % t interval of a mean over runs.

    spread: standard deviation of the runs (ddof=1). n_runs: how many, 2 or more. Both may be arrays or columns.

    >>> float(half_width(1.0, 5).round(3))
    1.242
    """
    return special.stdtrit(n_runs - 1, 0.975) * spread / np.sqrt(n_runs)
