"""Means over runs, and their confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # loads scipy.special only when it is used; scipy.stats would take half a second

if TYPE_CHECKING:  # only the annotations need pandas, which is optional
    import pandas as pd

FEWEST_RUNS = 5  # Choice: with fewer runs, the interval is too wide and the t distribution too rough an approximation


def half_width(spread: Any, n_runs: Any) -> Any:
    """Return the half-width of the 95 % t interval of a mean over runs.

    spread: standard deviation of the runs (ddof=1). n_runs: number of runs, at least 2. Both may be arrays or columns.

    >>> float(half_width(1.0, 5).round(3))
    1.242
    """
    return scipy.special.stdtrit(n_runs - 1, 0.975) * spread / np.sqrt(n_runs)


def means(chosen: pd.DataFrame) -> pd.DataFrame:
    """Return a table of means over all runs, with one row for each method and size.

    chosen: see `evaluation.Evaluation`. Columns with the same name as a column of `chosen` hold its mean over runs.
    `runs` is the number of runs. `low` and `high` are the ends of the 95 % t interval of `auc_weighted`; they are
    missing if there are fewer than `FEWEST_RUNS` runs.
    """
    averaged = {name: (name, "mean") for name in ("n_samples", "auc_weighted", "auc", "eer", "features")}
    groups = chosen.groupby(["method", "n"], sort=False)
    table = groups.agg(runs=("run", "nunique"), spread=("auc_weighted", "std"), **averaged).reset_index()
    half = half_width(table.pop("spread"), table["runs"].where(table["runs"] >= FEWEST_RUNS))
    return table.assign(low=table["auc_weighted"] - half, high=table["auc_weighted"] + half)
