"""Train by projected and by exponentiated gradient, in the forms that the paper compares: batches or a few samples.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 7, Fig. 6 and 7.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.pipeline.papers.duchi.comparison import Comparison, best_runs
from jointsparse.pipeline.papers.duchi.entropic import SCHEDULES
from jointsparse.pipeline.papers.duchi.steps import RowNumbers, draw_batches
from jointsparse.pipeline.papers.harness import Progress, State, silent, ticking

# The forms of an experiment: which samples make the gradient of a step.
BATCH_SHARES = {"batch 25%": 0.25, "batch 100%": 1.0}
BATCH_COUNTS = {"stochastic 1": 1, "stochastic 100": 100}
FORMS = (*BATCH_SHARES, *BATCH_COUNTS)

COLUMNS = (
    *("form", "method", "schedule", "eta0", "step", "gradients", "objective", "suboptimality", "best_suboptimality"),
    *("test_error", "non_zero", "flops", "seconds", "radius", "warning"),
)


class Form(NamedTuple):
    """The steps of a form.

    n_iter: their number. batch_size: samples of a step. batches: the numbers of these samples, None for all. lazy: True
    if a step touches only the features of its samples. at: the steps to record.
    """

    n_iter: int
    batch_size: int
    batches: Sequence[RowNumbers] | None
    lazy: bool
    at: set[int]


def train_forms(
    begin: Callable[..., Iterator[State]],
    comparisons: Mapping[float, Comparison],
    *,
    n_samples: int,
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
    begin : callable
        Begins a method in the set of a radius: `descent.descend`, say, without its objective.
    comparisons : mapping from float to Comparison
        By radius. Their columns include test_error.
    n_samples : int
        To draw the samples of a step from.
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
        - suboptimality: see `Comparison`, with the best bound of any record of the radius.
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
    grids = {"projection": eta0, "entropic": entropic_eta0}
    # A seed for each form, so that another form in n_iter changes nothing of this one.
    seeds = {form: int(rng.integers(2**63)) for form in FORMS}
    forms = {}
    for name, steps in n_iter.items():
        size, every = batch_size(name, n_samples), 1 if name == records_each else max(1, steps // n_records)
        batches = draw_batches(steps, n_samples, size, np.random.default_rng(seeds[name])) if size < n_samples else None
        forms[name] = Form(steps, size, batches, name in BATCH_COUNTS, {*range(0, steps, every), steps})
    n_runs = sum(len(schedules) * len(grid) + repeats - 1 for grid in grids.values())
    tick = ticking(progress, len(comparisons) * len(forms) * n_runs)

    def train(radius: float, comparison: Comparison, form: Form) -> pd.DataFrame:
        def begin_run(method: str, schedule: str, eta0: float) -> Iterator[State]:
            options = {"n_iter": form.n_iter, "batches": form.batches, "lazy": form.lazy}
            return begin(radius, method=method, schedule=schedule, eta0=eta0, **options)

        table = best_runs(begin_run, comparison.columns, grids, schedules, at=form.at, repeats=repeats, tick=tick)
        return table.assign(gradients=form.batch_size * table["step"])

    tables = []
    for radius, comparison in comparisons.items():
        table = pd.concat([train(radius, comparison, form).assign(form=name) for name, form in forms.items()])
        table["suboptimality"] = comparison.suboptimality(table)
        table["best_suboptimality"] = comparison.suboptimality(table, "lowest")
        tables.append(table.assign(radius=float(radius)))
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def batch_size(form: str, n_samples: int) -> int:
    """Samples per step of a form. Raises ValueError if there are too few."""
    size = BATCH_COUNTS[form] if form in BATCH_COUNTS else max(1, round(BATCH_SHARES[form] * n_samples))
    require(size <= n_samples, f"{form} needs at least {size} training samples, got {n_samples}")
    return size
