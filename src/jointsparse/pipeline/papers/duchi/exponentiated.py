"""Compare exponentiated gradient with projected gradient on sparse text: objective, test error and sparsity by step.

    minimise 1/m sum_i log(1 + exp(-y_i x_i . w))  subject to ||w||_1 <= radius.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 7 and Fig. 6. `digits` does the same for Fig. 7.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.checks import require, select
from jointsparse.pipeline import tasks
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.papers.duchi.descent import Matrix, Objective, best_of, descend, drawn, line_search, looking
from jointsparse.pipeline.papers.duchi.entropic import SCHEDULES
from jointsparse.pipeline.papers.harness import Progress, State, record, silent, ticking

SERVES = "samples"
TABLES = {"exponentiated": "tables", "exponentiated_seconds": "timings"}
WARNS = ("exponentiated",)

# The forms of an experiment: which samples make the gradient of a step.
BATCH_SHARES = {"batch 25%": 0.25, "batch 100%": 1.0}
BATCH_COUNTS = {"stochastic 1": 1, "stochastic 100": 100}
FORMS = (*BATCH_SHARES, *BATCH_COUNTS)

COLUMNS = (
    *("form", "method", "schedule", "eta0", "step", "gradients", "objective", "suboptimality", "best_suboptimality"),
    *("test_error", "non_zero", "flops", "seconds", "radius", "warning"),
)


class Problem(NamedTuple):
    """A problem that both methods solve, in each form.

    n_samples: to draw from. radius: of the set. at_zero: the objective at W = 0. bound: a lower bound of the optimum.
    look: see `descent.looking`; it has a column test_error. descend: begins a method with the options method,
    schedule, eta0, n_iter, samples and lazy of `descent.descend`.
    """

    n_samples: int
    radius: float
    at_zero: float
    bound: float
    look: Callable[[State], dict[str, float]]
    descend: Callable[..., Iterator[State]]


def run(
    data: Samples,
    *,
    radius: Sequence[float],
    label: str | None = None,
    optimum_n_iter: int = 2000,
    rng: np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """Do one repetition on nine in ten of the training samples: those with a label against the others.

    Parameters
    ----------
    data : Samples
    radius : sequence of float, above 0
        The paper's z.
    label : str, optional
        The most frequent label by default.
    optimum_n_iter : int, at least 1
        Steps of the line search that bounds the optimum from below.
    rng : numpy.random.Generator
        Draws the training samples, and the samples of each step.
    **options : Any
        Options of `train_forms`.

    Returns
    -------
    DataFrame
        The table of `train_forms` with the column label.
    """
    label, signs = tasks.one_label(data.images, data.captions, label)
    X, y, X_test, y_test = halved(data, signs)
    kept = tasks.thinned(np.ones(len(y), bool), rng)
    objective = Objective(X[kept], y[kept], loss="logistic")
    test = Objective(X_test, y_test, loss="logistic")

    def error(w: Matrix) -> float:
        """Fraction of test samples whose score has not the label's sign. A score of 0 counts one half."""
        scores = test.X @ w
        return float(np.where(scores == 0, 0.5, scores * test.y < 0).mean())

    def problem(z: float) -> Problem:
        certify = partial(objective.certify_in_ball, radius=z)
        bounds = [certify(state.seen)[1] for state in line_search(objective, z, n_iter=optimum_n_iter)]
        return Problem(
            n_samples=objective.n_samples,
            radius=z,
            at_zero=objective.value(np.zeros(objective.n_samples)),
            bound=max(0.0, *bounds),
            look=looking(objective, certify, test_error=error),
            descend=partial(descend, objective, z),
        )

    return train_forms([problem(z) for z in radius], rng=rng, records_each="batch 100%", **options).assign(label=label)


def halved(data: Samples, y: np.ndarray) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Features and labels of the samples to learn from, then of the samples to test with."""
    learn, test = tasks.halves(data.images)
    return select(data.X, learn), y[learn], select(data.X, test), y[test]


def train_forms(
    problems: Sequence[Problem],
    *,
    n_iter: Mapping[str, int],
    eta0: Sequence[float],
    entropic_eta0: Sequence[float],
    schedules: Sequence[str] = SCHEDULES,
    n_records: int = 25,
    repeats: int = 3,
    records_each: str = "",
    rng: np.random.Generator,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Train by both methods in each form, with their best step sizes.

    Forms:
    - "batch 100%": steps along the true gradient;
    - "batch 25%": along the gradient of a random quarter of the samples, another one in each step;
    - "stochastic 1", "stochastic 100": along the gradient of 1 or 100 random samples.

    Parameters
    ----------
    problems : sequence of Problem
        One for each radius, with the same samples.
    n_iter : mapping from form to int
        Steps of each form to try.
    eta0 : sequence of float, above 0
        First step sizes of projections.
    entropic_eta0 : sequence of float, above 0
        First step sizes of the exponentiated gradient.
    schedules : sequence of str
        Of the step sizes, see `entropic.step_sizes`. Both methods try each.
        The paper's projections have 1/sqrt(t) only.
    n_records : int, at least 1
        Records of a run, approximately.
    repeats : int, at least 1
        Runs with the best step sizes, for the median of their seconds. The first one is the run that was the best.
    records_each : str
        A form of which each step is recorded.
    rng : numpy.random.Generator
        Draws the samples of the steps, the same ones for all step sizes.
    progress : callable
        Called with (runs done, of all).

    Returns
    -------
    DataFrame
        A row for each record of the run with the lowest last objective, of each radius, form and method. Columns:
        - form, method.
        - schedule, eta0: the best ones.
        - step.
        - gradients: of samples, evaluated so far.
        - objective.
        - suboptimality: (objective - bound) / at_zero with the best bound of any record of the radius.
        - best_suboptimality: of the lowest objective that any schedule and eta0 has reached by then.
        - test_error.
        - non_zero: the fraction of weights that are not 0.
        - flops.
        - seconds: the median of the repeats.
        - radius.
        - warning: eta0 at the edge of its grid, no gain.

    Raises
    ------
    ValueError
        Input out of range, or steps that overflow for each step size. Others that overflow are left out.
    """
    require(n_iter and n_iter.keys() <= set(FORMS), f"n_iter must name forms among {', '.join(FORMS)}, got {[*n_iter]}")
    grids, n_samples = {"projection": eta0, "entropic": entropic_eta0}, problems[0].n_samples
    seeds = {form: int(rng.integers(2**63)) for form in FORMS}
    sizes = {form: batch_size(form, n_samples) for form in n_iter}
    samples = {
        form: drawn(n_iter[form], n_samples, size, np.random.default_rng(seeds[form])) if size < n_samples else None
        for form, size in sizes.items()
    }
    n_runs = sum(len(schedules) * len(grid) + repeats - 1 for grid in grids.values())
    tick = ticking(progress, len(problems) * len(n_iter) * n_runs)

    def learn(problem: Problem, form: str, method: str, schedule: str, eta0: float) -> pd.DataFrame:
        steps, lazy = n_iter[form], form in BATCH_COUNTS
        options = {"method": method, "schedule": schedule, "eta0": eta0, "n_iter": steps, "samples": samples[form]}
        at = {*range(0, steps, 1 if form == records_each else max(1, steps // n_records)), steps}
        table = record(partial(problem.descend, **options, lazy=lazy), problem.look, at=at)
        tick()
        return table.assign(form=form, method=method, gradients=sizes[form] * table["step"])

    def learn_best(problem: Problem, form: str) -> Iterator[pd.DataFrame]:
        methods = [partial(learn, problem, form, method) for method in grids]
        best = [best_of(one, schedules, grid) for one, grid in zip(methods, grids.values(), strict=True)]
        again = [partial(one, *of[["schedule", "eta0"]].iloc[0]) for one, of in zip(methods, best, strict=True)]
        timed = [[one()["seconds"] for one in again] for _ in range(repeats - 1)]
        for table, *repeated in zip(best, *timed, strict=True):
            yield table.assign(seconds=np.median([table["seconds"], *repeated], axis=0))

    tables = []
    for problem in problems:
        table = pd.concat([part for form in n_iter for part in learn_best(problem, form)])
        bound = max(problem.bound, table["bound"].max())
        for column, objective in (("suboptimality", "objective"), ("best_suboptimality", "lowest")):
            table[column] = (table[objective] - bound) / problem.at_zero
        tables.append(table.assign(radius=float(problem.radius)))
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def batch_size(form: str, n_samples: int) -> int:
    """Samples per step of a form. Raises ValueError if there are too few."""
    size = BATCH_COUNTS[form] if form in BATCH_COUNTS else max(1, round(BATCH_SHARES[form] * n_samples))
    require(size <= n_samples, f"{form} needs at least {size} training samples, got {n_samples}")
    return size
