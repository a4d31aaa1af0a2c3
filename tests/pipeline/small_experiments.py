"""Every experiment, with options that make it small."""

from typing import Any, NamedTuple

from samples import labelled_samples

from jointsparse.pipeline.datasets import digits
from jointsparse.pipeline.datasets.samples import Samples

X, Y, TEXT = labelled_samples()
X_STREAM, Y_STREAM, STREAM = labelled_samples(70, 80, n_test=10)


class Experiment(NamedTuple):
    """An experiment: its data, its options, and the number of progress reports of a repetition."""

    data: Samples | None
    options: dict[str, Any]
    n_reports: int


SCHEDULED = 3  # number of schedules that are tried
FORM_OPTIONS = {"n_records": 3, "repeats": 2}
EXPERIMENTS = {
    "exponentiated": Experiment(
        TEXT,
        FORM_OPTIONS
        | {"n_iter": {"batch 25%": 12, "batch 100%": 6, "stochastic 1": 40, "stochastic 100": 5}}
        | {"radius": [4.0], "eta0": [0.5, 4.0], "entropic_eta0": [0.1, 2.0], "optimum_n_iter": 200},
        4 * (2 * SCHEDULED * 2 + 2),  # all step sizes for each form and method, and a repeat of the best
    ),
    "digits": Experiment(
        digits.read(),
        FORM_OPTIONS
        | {"n_iter": {"batch 25%": 8, "batch 100%": 6, "stochastic 1": 30}}
        | {"radius": [20.0], "eta0": [1.0, 30.0], "entropic_eta0": [0.1, 3.0], "optimum_n_iter": 100}
        | {"n_support": 12, "n_train": 40, "width": 2.0},
        3 * (2 * SCHEDULED * 2 + 2),
    ),
    "online": Experiment(
        STREAM,
        {"label": "grain", "radius": [2.0], "eta0": [1.0, 4.0, 16.0], "entropic_eta0": [0.3, 1.0, 3.0], "n_records": 4},
        2 * SCHEDULED * 3,
    ),
    "race": Experiment(
        None,
        {"problems": ["squared", "logistic"], "sizes": [40], "eta0": [0.5, 2.0, 8.0]}
        | {"penalty": 0.03, "n_iter": 30, "stochastic_n_iter": 60, "passes": [1, 3, 100]},
        2,
    ),
    "recovery": Experiment(
        None,
        {"tasks": {"n_features": 20, "n_tasks": 4, "n_validation": 10, "n_test": 10}, "sizes": [5, 15]}
        | {"eta0": [0.1, 30.0], "radius": [2.0, 8.0, 30.0], "n_iter": 20, "optimum_n_iter": 50},
        2 * 3,
    ),
    "cost": Experiment(
        None,
        {"projection_sizes": [10, 30], "projection_rows": [5], "training_sizes": [2, 4], "program_tasks": [2, 3]}
        | {"repeats": 2},
        2 * 23,
    ),
    "projection": Experiment(None, {"sizes": [10, 30], "touched": [2, 5], "non_zeros": [20], "repeats": 2}, 2 * 18),
    "operations": Experiment(None, {"sizes": [10, 30], "touched": [2, 5], "non_zeros": [20, 40]}, 6),
}
