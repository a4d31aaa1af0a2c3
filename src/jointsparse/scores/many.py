"""Statistics of several runs and several tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special  # not stats, which takes half a second to import

if TYPE_CHECKING:  # nothing else here needs the extra
    import pandas as pd

FEWEST_RUNS = 5  # Choice: an interval over fewer runs is too wide, and its t distribution too far from the truth.


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down correction of p-values for the number of tests. NaN is no test.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03, 0.6, 0.7]))
    array([0.05, 0.12,  nan, 0.12, 1.  , 1.  ])
    """
    order = np.argsort(p, kind="stable")  # NaNs last
    left = np.count_nonzero(~np.isnan(p)) - np.arange(len(p))
    return np.minimum(1.0, np.maximum.accumulate(p[order] * left))[np.argsort(order)]


def over_runs(p_values: Any) -> float:
    """A p-value for all runs and pairings, of each run's median over pairings.

    Twice the median of p-values is a p-value, however they depend on each other (Rueschendorf 1982): twice for
    pairings, and twice for runs. A missing p-value is not a significant one.

    >>> over_runs([0.001, 0.002, 0.5])
    0.008
    """
    several = 4 if len(p_values) > 1 else 2
    return min(1.0, several * float(np.median(np.nan_to_num(np.asarray(p_values, float), nan=1.0))))


def half_width(spread: Any, n_runs: Any) -> Any:
    """Half width of the 95 % t interval of a mean over runs.

    spread: standard deviation of the runs (ddof=1). n_runs: how many, 2 or more. Both may be arrays or columns.

    >>> float(half_width(1.0, 5).round(3))
    1.242
    """
    return special.stdtrit(n_runs - 1, 0.975) * spread / np.sqrt(n_runs)


def means(chosen: pd.DataFrame) -> pd.DataFrame:
    """Means over runs, with a row for each method and size.

    chosen: see `evaluation.Evaluation`. Columns of the same name are means of its own. runs: how many. low, high: ends
    of the 95 % t interval of auc_weighted, missing of fewer than `FEWEST_RUNS` runs.
    """
    averaged = {name: (name, "mean") for name in ("n_samples", "auc_weighted", "auc", "eer", "features")}
    groups = chosen.groupby(["method", "n"], sort=False)
    table = groups.agg(runs=("run", "nunique"), spread=("auc_weighted", "std"), **averaged).reset_index()
    half = half_width(table.pop("spread"), table["runs"].where(table["runs"] >= FEWEST_RUNS))
    return table.assign(low=table["auc_weighted"] - half, high=table["auc_weighted"] + half)
