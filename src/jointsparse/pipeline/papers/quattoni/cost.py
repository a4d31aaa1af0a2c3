"""Measure the CPU time of projections and of training, and how it grows with the size of the problem.

Source: Quattoni et al. 2009, sec. 4.2. The paper claims O(dm log dm) for a projection with dm non-zero entries.
"""

import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.checks import require
from jointsparse.learning.fit import Fit, Watch
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient
from jointsparse.norms import l1, l1inf
from jointsparse.pipeline.datasets.synthetic import Synthetic, draw
from jointsparse.pipeline.papers.harness import (
    RADIUS_SHARE,
    Measurement,
    Progress,
    measure,
    seconds_of,
    seconds_of_projection,
    silent,
)

COLUMNS = ("part", "x", "seconds", "low", "high", "repeats", "d", "m", "method", "bytes", "objective", "difference")

N_TASKS = 40
TRACED_ROWS = 10_000  # the largest matrix for which the memory of a projection is traced
# Matrices with the same number of entries and different numbers of tasks.
SHAPED_ROWS, SHAPED_TASKS = 8_000, (10, 20, 40, 80, 160, 320)
MATRIX_ROWS = 100_000  # rows of the matrix with few non-zero rows
N_FEATURES = 200  # features of the samples, as in sec. 5
N_ITER, ETA0 = 20, 100.0  # for the fits whose iterations are timed
# The tasks that are also learnt by a linear program (as in sec. 5), and the iterations of the fit compared with it.
PROGRAM_FEATURES, PROGRAM_SAMPLES, PROGRAM_N_ITER = 50, 40, 200


def run(
    data: None,
    *,
    projection_sizes: Sequence[int],
    projection_rows: Sequence[int],
    training_sizes: Sequence[int],
    program_tasks: Sequence[int],
    repeats: int,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Measure the CPU time of projections and of training as medians over interleaved repeats.

    Parameters
    ----------
    data : None
    projection_sizes : sequence of int, at least 1
        Numbers of rows d of dense normal matrices.
    projection_rows : sequence of int, from 1 to 100,000
        Numbers of non-zero rows in a dense matrix of 100,000 rows.
    training_sizes : sequence of int, at least 1
        Numbers of samples per task, with 200 features.
    program_tasks : sequence of int, at least 1
        Numbers of tasks, with 50 features and 40 samples per task.
    repeats : int, at least 1
        Number of times that each measurement is taken.
    rng : numpy.random.Generator
        Draws the matrices and samples.
    progress : callable
        Called with the number of measurements done and the number of all measurements.

    Returns
    -------
    DataFrame
        A row per measurement. Columns:

        - part: see below.
        - x: the size that varies within the part.
        - seconds: median CPU time over the repeats.
        - low, high: the 95 % interval of the median, or NaN with fewer than six repeats.
        - repeats: number of repeats.
        - d: number of rows.
        - m: number of tasks, which is 40 unless stated otherwise.
        - method: name of the method.
        - bytes: peak memory that a projection by "sort" uses in addition to the matrix and the result. It is NaN above
          10,000 rows, and for "newton", because only NumPy's memory can be traced, not the memory of compiled code.
        - objective: the objective of the trained tasks, only in the part "tasks".
        - difference: largest difference between the projection of a matrix with a single column and the result of
          `l1.project` for this column, divided by the radius.

        Parts:

        - "projection size": `l1inf.project` by the paper's method "sort" and by "newton", with a radius of 0.1 times
          the norm; x = d m. "l1 pivot" is `l1.project` of the same entries as a single vector, with a radius of 0.1
          times its l1 norm.
        - "projection tasks": method "sort" on matrices with 320,000 entries; x = m.
        - "projection rows": the methods "sort" and "newton" on a matrix with x non-zero rows. "scan" finds the row
          maxima and copies the matrix, which is the least that any projection of a dense matrix has to do.
        - "one task": method "sort" on matrices with a single column; x = d.
        - "training samples": an iteration of the solver "subgradient" with l1inf; x = samples per task.
        - "tasks": training of m = x tasks with the l1,inf norm, solved as a "linear program" by HiGHS's interior-point
          method, or by 200 iterations of "subgradient".

    Raises
    ------
    ValueError
        If sizes are out of range.
    """
    most = max(projection_rows)
    require(most <= MATRIX_ROWS, f"projection_rows must be at most {MATRIX_ROWS:,}, got {most}")
    A = rng.normal(size=(max(*projection_sizes, MATRIX_ROWS), N_TASKS))
    order = rng.permutation(MATRIX_ROWS)
    only: dict[str, Any] = {"n_validation": 0, "n_test": 0, "rng": rng}
    drawn = draw(n_features=N_FEATURES, n_tasks=N_TASKS, n_train=max(training_sizes), **only)
    many = draw(n_features=PROGRAM_FEATURES, n_tasks=max(program_tasks), n_train=PROGRAM_SAMPLES, **only)
    for seconds in MATRIX_SECONDS.values():
        seconds(A[:10])  # compiles the kernels
    _iteration(drawn, min(training_sizes))  # compiles the kernels

    measurements = []
    for d, method in product(projection_sizes, ("sort", "newton", "l1 pivot")):
        peak = _peak_bytes(A[:d]) if method == "sort" and d <= TRACED_ROWS else np.nan
        columns = _columns("projection size", d * N_TASKS, d, method, bytes=peak)
        measurements.append(Measurement(columns, partial(MATRIX_SECONDS[method], A[:d])))
    for m in SHAPED_TASKS:
        shaped = A[:SHAPED_ROWS].reshape(-1, m)
        columns = _columns("projection tasks", m, len(shaped), "sort", m=m)
        measurements.append(Measurement(columns, partial(MATRIX_SECONDS["sort"], shaped)))
    for d in projection_sizes:
        vector = A[:d, :1]
        columns = _columns("one task", d, d, "sort", m=1, difference=_from_l1(vector))
        measurements.append(Measurement(columns, partial(MATRIX_SECONDS["sort"], vector)))
    for k, method in product(projection_rows, CALLS_OF_FEW_ROWS):
        columns = _columns("projection rows", k, MATRIX_ROWS, method)
        measurements.append(Measurement(columns, partial(_few_rows, A, order[:k], method)))
    for n in training_sizes:
        columns = _columns("training samples", n, N_FEATURES, "subgradient")
        measurements.append(Measurement(columns, partial(_iteration, drawn, n)))
    for m, method in product(program_tasks, TRAINERS):
        columns = _columns("tasks", m, PROGRAM_FEATURES, method, m=m)
        measurements.append(Measurement(columns, partial(_training, columns, method, many, m)))
    return measure(measurements, repeats, progress)[list(COLUMNS)]


def _columns(part: str, x: int, d: int, method: str, **more: float) -> dict[str, Any]:
    columns = {"part": part, "x": x, "d": d, "m": N_TASKS, "method": method}
    return columns | dict.fromkeys(("bytes", "objective", "difference"), np.nan) | more


def _from_l1(column: np.ndarray) -> float:
    """Return the largest difference between projecting a column as a matrix and as a vector, divided by the radius."""
    radius = RADIUS_SHARE * l1.norm(column[:, 0])
    as_vector = l1.project(column[:, 0], radius, method="sort")
    return float(np.abs(l1inf.project(column, radius, method="sort")[:, 0] - as_vector).max() / radius)


def _peak_bytes(A: np.ndarray) -> int:
    """Return the peak memory in bytes that the paper's method needs to project A, not counting A and the result."""
    radius, B = RADIUS_SHARE * l1inf.norm(A), np.empty_like(A)
    tracemalloc.start()
    try:
        l1inf.project(A, radius, out=B, method="sort")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _scan(A: np.ndarray) -> float:
    """Return the CPU time in seconds taken to find the row maxima of A and to copy A."""
    B = np.empty_like(A)

    def scan() -> None:
        l1inf.norm(A)
        np.copyto(B, A)

    return seconds_of(scan)


MATRIX_SECONDS: dict[str, Callable[[np.ndarray], float]] = {
    "sort": partial(seconds_of_projection, l1inf, method="sort"),  # the paper's method
    "newton": partial(seconds_of_projection, l1inf, method="newton"),  # our default method
    "l1 pivot": lambda A: seconds_of_projection(l1, A.reshape(A.size), method="pivot"),  # Duchi et al. 2008
    "scan": _scan,
}
CALLS_OF_FEW_ROWS = {
    "sort": 1,
    "newton": 5,
    "scan": 5,
}  # the median over these calls is taken, because the methods differ little


def _few_rows(A: np.ndarray, rows: np.ndarray, method: str) -> float:
    """Return the CPU time of a method in seconds, for a matrix with the given rows of A and zeros elsewhere."""
    sparse_A = np.zeros((MATRIX_ROWS, A.shape[1]))
    sparse_A[rows] = A[rows]
    return float(np.median([MATRIX_SECONDS[method](sparse_A) for _ in range(CALLS_OF_FEW_ROWS[method])]))


def _iteration(data: Synthetic, n: int) -> float:
    """Return the median CPU time in seconds of the iterations of a fit with n samples per task."""
    stamps: list[float] = []
    _fit([*data.X_train[:, :n]], [*data.y_train[:, :n]], data.W, N_ITER, lambda *_: stamps.append(time.process_time()))
    return float(np.median(np.diff(stamps)))


def _fit(X: list[Any], y: list[Any], W: np.ndarray, n_iter: int, watch: Watch | None = None) -> Fit:
    """Train tasks by the paper's method, in the ball that has the true weights W on its boundary."""
    problem, radius = Problem(X, y, normalisation="mean"), np.array([l1inf.norm(W)])
    return subgradient.fit(
        problem, loss=hinge, norm=l1inf, radius=radius, eta0=np.array([ETA0]), n_iter=n_iter, watch=watch
    )


def _training(columns: dict[str, Any], method: str, data: Synthetic, m: int) -> float:
    """Return the CPU time in seconds taken to train the first m tasks, and store the objective in `columns`."""
    start = time.process_time()
    columns["objective"] = TRAINERS[method]([*data.X_train[:m]], [*data.y_train[:m]], data.W[:, :m])
    return time.process_time() - start


def _by_program(X: list[Any], y: list[Any], W: np.ndarray) -> float:
    """Train tasks by a linear program, in the ball that has the true weights on its boundary. Return the objective.

    The variables of the program are the weights, task by task, the row maxima t, and the hinge losses s. The program
    minimises the sum of s / n, subject to y x . w + s >= 1 for each sample, |w| <= t for the weights in each row, and
    sum t <= radius.
    """
    from scipy.optimize import linprog  # imported here because it takes a fifth of a second

    (d, m), n = W.shape, len(y[0])
    samples = sparse.block_diag([labels[:, None] * rows for rows, labels in zip(X, y, strict=True)])
    weights, maxima = sparse.identity(W.size), sparse.vstack([sparse.identity(d)] * m)
    constraints = sparse.bmat(
        [
            [-samples, None, -sparse.identity(m * n)],
            [weights, -maxima, None],
            [-weights, -maxima, None],
            [None, np.ones((1, d)), None],
        ],
        format="csr",
    )
    limits = np.concatenate([-np.ones(m * n), np.zeros(2 * W.size), [l1inf.norm(W)]])
    cost = np.concatenate([np.zeros(W.size + d), np.full(m * n, 1 / n)])
    bounds = [(None, None)] * W.size + [(0, None)] * (d + m * n)
    return float(linprog(cost, A_ub=constraints, b_ub=limits, bounds=bounds, method="highs-ipm").fun)


TRAINERS: dict[str, Callable[[list[Any], list[Any], np.ndarray], float]] = {
    "linear program": _by_program,
    "subgradient": lambda X, y, W: float(np.min(_fit(X, y, W, PROGRAM_N_ITER).objective)),
}
