"""Count false selections of `stability_selection` on drawn data, and compare them with the bounds.

    python trials/stability.py --draws 200

The first table is for regressions with known weights and correlated features. Features that halves select with
probability q / p or less are known from all draws together. The mean number of these features that stability selection
selects must not exceed the bound of Theorem 1 by more than two standard errors. The second table has the precision and
recall of the relevant features in the tasks of Quattoni et al. (2009), sec. 5, for one fit with the radius that
validation chooses, and for stability selection.
"""

import argparse
import sys
from itertools import product

import numpy as np
import pandas as pd

from jointsparse import JointSparseClassifier, JointSparseRegressor
from jointsparse.estimators import StabilitySelection, stability_selection
from jointsparse.pipeline.datasets import synthetic
from jointsparse.pipeline.papers.quattoni import recovery

NORMS = ("l1inf", "l12", "l1")
N_SAMPLES, N_FEATURES, N_RELEVANT, N_TASKS, CORRELATION, NOISE, Q, N_PAIRS = 80, 100, 8, 4, 0.5, 3.0, 10, 25
THRESHOLDS = (0.6, 0.75, 0.9)
SIZES, N_FEATURES_PER_HALF = (20, 80), 20  # samples per task, and features per half, in the papers' tasks
RELEVANT = np.arange(N_RELEVANT) * (N_FEATURES // N_RELEVANT)


def stabilities(norm: str, n_draws: int) -> list[StabilitySelection]:
    """Draw regressions with the same weights again and again, and return the stability selection of each draw."""
    rng, results = np.random.default_rng(0), []
    W = np.zeros((N_FEATURES, N_TASKS))
    W[RELEVANT] = rng.normal(size=(N_RELEVANT, N_TASKS))
    distance = np.subtract.outer(np.arange(N_FEATURES), np.arange(N_FEATURES))
    factor = np.linalg.cholesky(CORRELATION ** abs(distance))
    for draw in range(n_draws):
        X = rng.normal(size=(N_SAMPLES, N_FEATURES)) @ factor.T
        Y = X @ W + NOISE * rng.normal(size=(N_SAMPLES, N_TASKS))
        model = JointSparseRegressor(norm, tol=1e-2)
        results.append(stability_selection(model, X, Y, n_pairs=N_PAIRS, n_features=Q, random_state=draw))
    return results


def false_selections(norm: str, n_draws: int) -> pd.DataFrame:
    """Return the mean number of selected features of low selection probability and the bounds, by threshold."""
    results, rows = stabilities(norm, n_draws), []
    low_probability = np.mean([result.frequencies for result in results], axis=0) <= Q / N_FEATURES
    for threshold in THRESHOLDS:
        chosen = np.array([result.frequencies >= result.at(threshold).threshold for result in results])
        low = chosen[:, low_probability].sum(axis=1)
        row = {"norm": norm, "threshold": threshold, "low": low.mean(), "low_error": low.std(ddof=1) / n_draws**0.5}
        row["irrelevant"] = np.delete(chosen, RELEVANT, axis=1).sum(axis=1).mean()
        row["relevant"] = chosen[:, RELEVANT].sum(axis=1).mean()
        row |= {"unimodal_bound": results[0].at(threshold).unimodal_bound, "bound": results[0].at(threshold).bound}
        rows.append(row)
    return pd.DataFrame(rows)


def recovered(norm: str, n_train: int, seed: int) -> list[dict[str, object]]:
    """Return the precision and recall in the papers' tasks of one fit and of two stability selections."""
    drawn = synthetic.draw(n_train=n_train, rng=np.random.default_rng(seed), n_test=0)
    tasks = list(zip(drawn.X_train, drawn.y_train, strict=True))
    setting = {"loss": "hinge", "labels": "signed", "fit_intercept": False, "normalisation": "mean", "tol": 1e-2}
    fits = [
        JointSparseClassifier(norm, radius=radius, **setting).fit_tasks(tasks) for radius in 2.0 ** np.arange(1, 12)
    ]
    errors = [recovery.error(fit.coef_.T, drawn.X_validation, drawn.y_validation) for fit in fits]
    best = fits[int(np.argmin(errors))]
    rows = [{"how": "one fit", "bound": np.nan} | recovery.selection(best.coef_.T, drawn.relevant)]
    for how, n_features in (("its radius", None), (f"at most {N_FEATURES_PER_HALF} features", N_FEATURES_PER_HALF)):
        result = stability_selection(best, tasks, n_features=n_features, n_jobs=1)
        selected = (result.frequencies >= result.threshold)[:, np.newaxis]
        rows.append({"how": how, "bound": result.bound} | recovery.selection(selected, drawn.relevant))
    return [{"norm": norm, "samples": n_train} | row for row in rows]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=3, help="draws of the papers' tasks")
    given = parser.parse_args()
    table = pd.concat([false_selections(norm, given.draws) for norm in NORMS])
    print(table.round(2).to_string(index=False))
    cases = product(NORMS, SIZES, range(given.tasks))
    rows = pd.DataFrame([row for case in cases for row in recovered(*case)])
    print(rows.groupby(["norm", "samples", "how"], sort=False).mean().round(2).to_string())
    sys.exit(int((table["low"] - 2 * table["low_error"] > table["bound"]).any()))
