"""Train by projected and by exponentiated gradient, with the full and stochastic gradients that the paper compares.

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

# The forms of gradient, which differ in the samples from which the gradient of a step is computed.
BATCH_SHARES = {"batch 25%": 0.25, "batch 100%": 1.0}
BATCH_COUNTS = {"stochastic 1": 1, "stochastic 100": 100}
FORMS = (*BATCH_SHARES, *BATCH_COUNTS)

COLUMNS = (
    *("form", "method", "schedule", "eta0", "step", "gradients", "objective", "suboptimality", "best_suboptimality"),
    *("test_error", "non_zero", "flops", "seconds", "radius", "warning"),
)


class Form(NamedTuple):
    """The steps that are taken with one form of the gradient.

    n_iter: number of steps. batch_size: number of samples per step. batches: row numbers of the samples of each step,
    or None if each step uses all samples. lazy: whether a step changes only the weights of the features that occur in
    its samples. at: the steps to record.
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
    """Train by both methods with each form of the gradient, and with the best step sizes.

    Forms:
    - "batch 100%": steps along the full gradient.
    - "batch 25%": steps along the gradient over a random quarter of the samples, drawn anew for each step.
    - "stochastic 1", "stochastic 100": steps along the gradient over 1 or 100 random samples, drawn anew for each step.

    Parameters
    ----------
    begin : callable
        Starts a method in the feasible set of the given radius, for example `descent.descend` with a fixed objective.
    comparisons : mapping from float to Comparison
        The `Comparison` for each radius. Its columns must include `test_error`.
    n_samples : int
        Number of all samples. The samples of a step are drawn from these.
    n_iter : mapping from form to int
        The forms to try, each with its number of steps.
    eta0 : sequence of float, above 0
        First step sizes of the projected gradient.
    entropic_eta0 : sequence of float, above 0
        First step sizes of the exponentiated gradient.
    schedules : sequence of str
        Schedules of the step sizes; see `entropic.step_sizes`. Both methods try every schedule. The paper uses only
        1/sqrt(t) for projected gradient.
    n_records : int, at least 1
        Approximate number of records in a run.
    repeats : int, at least 1
        Number of runs with the best step sizes, including the run that found them. Their median timings are reported.
    records_each : str
        A form for which every step is recorded, or an empty string for none.
    rng : numpy.random.Generator
        Draws the samples of the steps, which are the same for all step sizes.
    progress : callable
        Called with the number of runs done and the number of all runs.

    Returns
    -------
    DataFrame
        For each radius, form and method, a row per record of the run with the lowest final objective. Columns:

        - form, method.
        - schedule, eta0: the best schedule and first step size.
        - step.
        - gradients: number of single-sample gradients computed so far.
        - objective.
        - suboptimality: see `Comparison`. It is computed with the best bound from all records for this radius.
        - best_suboptimality: suboptimality of the lowest objective that has been reached up to this step with any
          schedule and eta0.
        - test_error.
        - non_zero: fraction of non-zero weights.
        - flops: number of operations so far.
        - seconds: CPU time so far, as the median over the repeats.
        - radius.
        - warning: says that eta0 lies at the edge of its grid, or that the objective has not decreased.

    Raises
    ------
    ValueError
        If an input is out of range, or if a method overflows with every step size. Otherwise, runs that overflow are
        skipped.
    """
    require(n_iter and n_iter.keys() <= set(FORMS), f"n_iter must name forms among {', '.join(FORMS)}, got {[*n_iter]}")
    grids = {"projection": eta0, "entropic": entropic_eta0}
    # Each form has its own seed, so that its results do not depend on which other forms are in n_iter.
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
    """Return the number of samples that a step of a form uses. Raise ValueError if there are too few samples."""
    size = BATCH_COUNTS[form] if form in BATCH_COUNTS else max(1, round(BATCH_SHARES[form] * n_samples))
    require(size <= n_samples, f"{form} needs at least {size} training samples, got {n_samples}")
    return size
