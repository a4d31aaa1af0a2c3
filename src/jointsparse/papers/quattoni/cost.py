"""What projections and training cost: measured seconds, and how they grow.

Source: the claims of Quattoni et al. 2009, sec. 4.2: O(dm log dm) for a projection, where dm counts non-zero entries.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.datasets import synthetic
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient
from jointsparse.norms import l1inf
from jointsparse.papers.timing import by_turns, seconds_of

SERVES = "drawn"
TABLES = {"cost": "timings"}
WARNS = ()

N_TASKS = 40
Method = Literal["sort", "newton"]  # the paper's and ours
METHODS: tuple[Method, ...] = ("sort", "newton")
SHARE = 0.1  # radius / norm
ROWS = 100_000  # of a matrix in which few are not zero
N_FEATURES = 200  # where samples vary, as in sec. 5
N_ITER, ETA0 = 20, 100.0  # of a measured fit


class Task(NamedTuple):
    """Something to measure: where it belongs in the table, and what returns its seconds."""

    part: str
    x: int
    d: int
    method: str
    seconds: Callable[[], float]


def run(
    data: None,
    *,
    projection_sizes: Sequence[int] = (1_000, 3_000, 10_000, 30_000, 100_000),
    projection_rows: Sequence[int] = (100, 300, 1_000, 3_000, 10_000, 30_000),
    training_sizes: Sequence[int] = (40, 80, 160, 320, 640, 1280, 2560),
    repeats: int = 5,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """CPU seconds of projections and of iterations, for problems with 40 tasks: medians of interleaved repeats.

    projection_sizes: numbers d of rows of dense normal matrices. projection_rows: numbers of non-zero rows among
    100,000, all of which are stored. training_sizes: samples per task, with 200 features in single precision. repeats:
    at least 1. rng: draws the numbers; seconds vary all the same. progress: called with (measurements done, of
    all). Raises ValueError for sizes out of range.

    Returns one row per measurement, with columns part, x, seconds, repeats, d, m (the number of tasks), method:
    - "projection size": `l1inf.project` by the paper's "sort" and by "newton", radius 0.1 of the norm; x = d m;
    - "projection rows": the same; x = non-zero rows;
    - "training samples": an iteration of the solver "subgradient" with l1inf; x = samples per task.
    """
    sizes = {"projection_sizes": projection_sizes, "projection_rows": projection_rows, "training_sizes": training_sizes}
    for name, values in (sizes | {"repeats": [repeats]}).items():
        if not len(values) or min(values) < 1:
            raise ValueError(f"{name} must be at least 1, got {values}")
    if max(projection_rows) > ROWS:
        raise ValueError(f"projection_rows must be at most {ROWS:,}, got {max(projection_rows)}")
    A = rng.normal(size=(max(*projection_sizes, ROWS), N_TASKS))
    order = rng.permutation(ROWS)
    drawn = synthetic.draw(
        n_features=N_FEATURES, n_tasks=N_TASKS, n_train=max(training_sizes), n_validation=0, n_test=0, rng=rng
    )
    tasks = []
    for method in METHODS:
        for d in projection_sizes:
            tasks.append(Task("projection size", d * N_TASKS, d, method, partial(_projection, A[:d], method)))
        for k in projection_rows:
            of_few = partial(_projection_of_few, A, order[:k], method)
            tasks.append(Task("projection rows", k, ROWS, method, of_few))
    for n in training_sizes:
        tasks.append(Task("training samples", n, N_FEATURES, "subgradient", partial(_iteration, drawn, n)))

    for method in METHODS:
        _projection(A[:10], method)  # compiles
    _iteration(drawn, min(training_sizes))
    seconds = by_turns([task.seconds for task in tasks], repeats, progress)
    rows = [
        (task.part, task.x, float(np.median(times)), repeats, task.d, N_TASKS, task.method)
        for task, times in zip(tasks, seconds, strict=True)
    ]
    return pd.DataFrame(rows, columns=["part", "x", "seconds", "repeats", "d", "m", "method"])


def _projection(A: np.ndarray, method: Method) -> float:
    """CPU seconds of a projection of A."""
    radius, B = SHARE * l1inf.norm(A), np.empty_like(A)
    return seconds_of(lambda: l1inf.project(A, radius, out=B, method=method))


def _projection_of_few(A: np.ndarray, rows: np.ndarray, method: Method) -> float:
    """The same of a matrix that has these rows of A, and zeros in the others."""
    few = np.zeros((ROWS, A.shape[1]))
    few[rows] = A[rows]
    return _projection(few, method)


def _iteration(data: synthetic.Synthetic, n: int) -> float:
    """CPU seconds of an iteration with n samples per task, the median of a fit."""
    problem = Problem(list(data.X_train[:, :n]), list(data.y_train[:, :n]), normalisation="mean")
    stamps: list[float] = []
    subgradient.fit(
        problem,
        loss=hinge,
        norm=l1inf,
        radius=np.array([l1inf.norm(data.W)]),
        eta0=np.array([ETA0]),
        n_iter=N_ITER,
        progress=lambda done, of: stamps.append(time.process_time()),
    )
    return float(np.median(np.diff(stamps)))
