"""Means over runs, with the t interval of SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jointsparse.pipeline.scores.runs import means

NUMBERS = ["n_samples", "auc_weighted", "auc", "eer", "features"]


@pytest.mark.parametrize("n_runs", [1, 4, 5])
def test_means_over_runs_have_an_interval_from_five_runs_on(n_runs):
    rng = np.random.default_rng(0)
    keys = [{"run": run, "method": method, "n": n} for run in range(n_runs) for method in "ba" for n in (5, 10)]
    chosen = pd.DataFrame(keys).assign(**{name: rng.random(len(keys)) for name in NUMBERS})
    table = means(chosen)
    assert table[["method", "n"]].to_numpy().tolist() == [["b", 5], ["b", 10], ["a", 5], ["a", 10]]
    for row in table.to_dict("records"):
        runs = chosen[(chosen["method"] == row["method"]) & (chosen["n"] == row["n"])]
        assert [row[name] for name in NUMBERS] == pytest.approx(runs[NUMBERS].mean().tolist())
        auc = runs["auc_weighted"]
        ends = stats.t.interval(0.95, n_runs - 1, auc.mean(), stats.sem(auc)) if n_runs == 5 else (np.nan, np.nan)
        assert (row["low"], row["high"]) == pytest.approx(ends, nan_ok=True) and row["runs"] == n_runs
