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


def auc_interval(auc: Any, spread: Any, n_runs: Any, positives: Any, negatives: Any) -> tuple[Any, Any]:
    """95 % interval of the expected AUC of a word: over test images and, of several runs, over training sets.

    On the logit scale, the root of two summed squares. One is the normal interval over test images: runs share them, so
    more runs make it no narrower. The other is the t interval over runs; of one run there is none. Source of the
    variance over test images: Hanley and McNeil (1982), Radiology 143. Half a pair more is counted as right and half a
    pair as wrong, so that an AUC of 1 has an interval.

    Parameters
    ----------
    auc : array
        Mean over runs.
    spread : array
        Standard deviation of the runs (ddof=1); of one run anything.
    n_runs : array of int
        How many.
    positives, negatives : array of int
        Test images. Without one of them there is no interval (NaN).

    >>> low, high = auc_interval(0.8, 0.02, np.array([1, 2, 5]), 20, 80)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.65, 0.506, 0.646], [0.896, 0.94, 0.897])
    """
    pairs = positives * negatives
    with np.errstate(invalid="ignore", divide="ignore"):
        a = np.where(pairs > 0, (auc * pairs + 0.5) / (pairs + 1), np.nan)
        steepness = a * (1 - a)
        # Two positives are above a negative with probability a / (2 - a), a positive above two with 2 a^2 / (1 + a).
        excess = (positives - 1) * (a / (2 - a) - a**2) + (negatives - 1) * (2 * a**2 / (1 + a) - a**2)
        of_images = special.ndtri(0.975) * np.sqrt((steepness + excess) / pairs)
        of_runs = np.where(n_runs > 1, half_width(spread, n_runs), 0.0)
        half = np.hypot(of_images, of_runs) / steepness
    low, high = (special.expit(special.logit(a) + end) for end in (-half, half))
    return np.minimum(low, auc), np.maximum(high, auc)
