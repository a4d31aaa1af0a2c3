"""Every experiment with options that make it small, none of which is a default, and the comparisons of a small study.

`python tests/pipeline/small_experiments.py` writes the tables anew, into tests/pipeline/experiments/.
"""

from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from samples import labelled_samples

from jointsparse.pipeline.datasets import digits
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.papers import harness
from jointsparse.pipeline.papers.duchi import projection, race
from jointsparse.pipeline.papers.quattoni import cost
from jointsparse.pipeline.scores import comparison
from jointsparse.pipeline.scores.scored_fits import ScoredFits
from jointsparse.registry import pick, room

FOLDER = Path(__file__).parent / "experiments"
TIMED = ["seconds", "low", "high"]
# Sizes that no option sets.
SIZES: list[tuple[Any, str, Any]] = [
    (cost, "MATRIX_ROWS", 50),
    (cost, "SHAPED_ROWS", 16),
    (cost, "TRACED_ROWS", 20),
    (projection, "MOST_VERBATIM", 20),
    (projection, "GRADIENT_SIZES", (7,)),
    (race, "N_RECORDS", 4),
    (harness, "LEAST_SECONDS", 0.0),  # a single call each
]


class Experiment(NamedTuple):
    data: Samples | None
    options: dict[str, Any]
    n_reports: int  # of a repetition


SCHEDULES = ["1/sqrt(t)", "constant"]
TEXT = labelled_samples(n_test=53)[2]  # 115 of 127 samples are kept, a quarter of which is 28.75
BY_FORM = {"n_records": 3, "repeats": 2, "schedules": SCHEDULES}
EXPERIMENTS = {
    "exponentiated": Experiment(
        TEXT,
        BY_FORM
        | {"n_iter": {"batch 25%": 6, "batch 100%": 6, "stochastic 1": 12, "stochastic 100": 4}}
        | {"radius": [4.0, 1.0], "eta0": [0.5, 4.0], "entropic_eta0": [0.1, 1.0, 2.0]}
        | {"label": "tea", "optimum_n_iter": 50},
        2 * 4 * (2 * 2 + 1 + 2 * 3 + 1),  # radii, forms, step sizes of both methods and a repeat of the best
    ),
    "digits": Experiment(
        digits.read(),
        BY_FORM
        | {"n_iter": {"batch 25%": 4, "batch 100%": 4, "stochastic 1": 9}}
        | {"radius": [20.0, 5.0], "eta0": [1.0, 30.0], "entropic_eta0": [0.1, 1.0, 3.0]}
        | {"n_support": 12, "n_train": 43, "width": 2.0, "optimum_n_iter": 40},
        2 * 3 * (2 * 2 + 1 + 2 * 3 + 1),
    ),
    "online": Experiment(
        labelled_samples(70, 80, n_test=10)[2],
        {"label": "tea", "radius": [2.0, 0.5], "eta0": [1.0, 4.0, 16.0], "entropic_eta0": [0.3, 1.0, 3.0]}
        | {"schedules": SCHEDULES, "n_examples": 50, "n_records": 4},
        2 * 2 * (3 + 3),
    ),
    "race": Experiment(
        None,
        {"problems": ["logistic", "squared"], "sizes": [22, 20], "eta0": [0.5, 2.0, 8.0]}
        | {"penalty": 0.03, "n_iter": 4, "stochastic_n_iter": 9, "passes": [1, 3, 20]},
        4,
    ),
    "recovery": Experiment(
        None,
        {"tasks": {"n_features": 20, "n_tasks": 4, "relevant": 0.3, "n_validation": 10, "n_test": 12}}
        | {"sizes": [15, 5], "weights": ["normal", "sign"], "support": ["random", "all"]}
        | {"eta0": [0.1, 30.0], "radius": [8.0, 2.0, 30.0], "n_iter": 20, "tol": 1e-2, "optimum_n_iter": 50},
        2 * 3,
    ),
    "cost": Experiment(
        None,
        {"projection_sizes": [10, 30], "projection_rows": [5], "training_sizes": [2, 4], "program_tasks": [2, 3]}
        | {"repeats": 2},
        2 * 23,
    ),
    "projection": Experiment(None, {"sizes": [10, 30], "touched": [2, 5], "non_zeros": [20, 21], "repeats": 2}, 2 * 24),
    "operations": Experiment(None, {"sizes": [10, 30], "touched": [2, 5], "non_zeros": [20, 40]}, 6),
}


def table_of(kind: str, seed: Any = (9, 2), **options: Any) -> pd.DataFrame:
    data, small, _ = EXPERIMENTS[kind]
    run = pick("experiments", kind).run
    with ExitStack() as stack:
        for module, name, value in SIZES:
            stack.enter_context(patch.object(module, name, value))
        return run(options.pop("data", data), rng=np.random.default_rng(seed), **small | options)


def study(n_images=30, n_runs=3) -> ScoredFits:
    """Return the scores of three methods, each noisier than the one before. Word r validates run r + 1."""
    rng = np.random.default_rng(4)
    labels = rng.random((n_images, 5)) < [0.1, 0.3, 0.5, 0.5, 0.6]
    noise = {"hinge-l1inf": 1.0, "hinge-l1": 2.0, "svm-l2": 3.0}
    fits = list(product(range(1, n_runs + 1), (40, 80), noise))
    score = [labels + rng.normal(0, noise[method], labels.shape) for _, _, method in fits]
    run, n, method = map(np.array, zip(*fits, strict=True))
    return ScoredFits(run, n, 12 * n, method, np.arange(5) == run[:, np.newaxis], np.array(score), labels)


COMPARISONS = {
    "sign_tests": lambda: comparison.sign_tests(study(n_images=90), n_pairings=11, seed=3),
    "differences": lambda: comparison.differences(study(n_runs=5), n_resamples=6, seed=7),
    "differences_of_few_runs": lambda: comparison.differences(study(n_runs=2), n_resamples=6, seed=7),
}


if __name__ == "__main__":
    for name, compare in COMPARISONS.items():
        compare().to_csv(FOLDER / f"{name}.csv", index=False)
    for kind in room("experiments"):
        table = table_of(kind).drop(columns=TIMED, errors="ignore")
        table.to_csv(FOLDER / f"{kind}.csv", index=False, float_format="%.8g")
