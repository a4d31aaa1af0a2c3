"""Means over several runs, and their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special  # not stats, which takes half a second to import

if TYPE_CHECKING:  # nothing else here needs the extra
    import pandas as pd

FEWEST_RUNS = 5  # Choice: an interval over fewer runs is too wide, and its t distribution too far from the truth.


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
