"""Statistics of several runs and several tests."""

import numpy as np

FEWEST_RUNS = 5  # Choice: an interval over fewer runs is too wide, and its t distribution too far from the truth.


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down correction of p-values for the number of tests.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return stepped[np.argsort(order)]
