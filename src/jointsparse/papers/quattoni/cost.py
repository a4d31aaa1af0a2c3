"""Measure the seconds of projections and of training, and how they grow.

Source: Quattoni et al. 2009, sec. 4.2. They claim O(dm log dm) for a projection, where dm counts non-zero entries.
"""

import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.datasets import synthetic
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient
from jointsparse.norms import l1, l1inf
from jointsparse.papers.timing import Task, measure, require_sizes, seconds_of

SERVES = "drawn"
TABLES = {"cost": "timings"}
WARNS = ()
COLUMNS = ("part", "x", "seconds", "low", "high", "repeats", "d", "m", "method", "bytes", "objective")

Seconds = Callable[[np.ndarray], float]  # of what is done with a matrix

N_TASKS = 40
RADIUS_SHARE = 0.1  # radius / norm
TRACED_ROWS = 10_000  # of the largest matrix of whose projection the memory is traced
SHAPED_ROWS, SHAPED_TASKS = 8_000, (10, 20, 40, 80, 160, 320)  # a matrix with other numbers of tasks, as many entries
MATRIX_ROWS = 100_000  # of a matrix in which few are not zero
N_FEATURES = 200  # of samples, as in sec. 5
N_ITER, ETA0 = 20, 100.0  # of a fit whose iterations are measured
# Of the tasks whose training is also written as a linear program, and of the fit that it is compared with; sec. 5.
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
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Measure CPU seconds of projections and of training: medians of interleaved repeats.

    Parameters
    ----------
    data : None
    projection_sizes : sequence of int, at least 1
        Numbers d of rows of dense normal matrices.
    projection_rows : sequence of int, from 1 to 100,000
        Numbers of non-zero rows among 100,000, all of which are stored.
    training_sizes : sequence of int, at least 1
        Samples per task, with 200 features.
    program_tasks : sequence of int, at least 1
        Numbers of tasks of 50 features and 40 samples each.
    repeats : int, at least 1
    rng : numpy.random.Generator
        Draws the numbers. Seconds vary all the same.
    progress : callable, optional
        Called with (measurements done, of all).

    Returns
    -------
    DataFrame
        A row per measurement, with columns part, x, seconds, low, high, repeats, d, m (the number of tasks, 40 if not
        said), method, bytes, objective. From six repeats on low and high are the 95 % interval of the median. Parts:
        - "projection size": `l1inf.project` by the paper's "sort" and by "newton", radius 0.1 of the norm. x = d m. And
          "l1 pivot": `l1.project` of the same entries as one vector, radius 0.1 of its norm.
        - "projection tasks": by "sort", matrices of 320,000 entries. x = m.
        - "projection rows": likewise, with x = non-zero rows, and "scan": one scan of the stored entries, for row
          maxima and a copy. Whoever takes and returns a dense matrix cannot do less.
        - "training samples": an iteration of the solver "subgradient" with l1inf. x = samples per task.
        - "tasks": training of m = x tasks with the l1,inf norm to the end, as a "linear program" by the interior-point
          method of HiGHS, and by 200 iterations of "subgradient". Both have an objective.

        bytes: the most that a projection by "sort" holds at once beside matrix and result, NaN above 10,000 rows. The
        memory of NumPy is traced. That of compiled code is not, so "newton" has NaN.

    Raises
    ------
    ValueError
        Sizes out of range.
    """
    require_sizes(
        projection_sizes=projection_sizes,
        projection_rows=projection_rows,
        training_sizes=training_sizes,
        program_tasks=program_tasks,
        repeats=[repeats],
    )
    if max(projection_rows) > MATRIX_ROWS:
        raise ValueError(f"projection_rows must be at most {MATRIX_ROWS:,}, got {max(projection_rows)}")
    A = rng.normal(size=(max(*projection_sizes, MATRIX_ROWS), N_TASKS))
    order = rng.permutation(MATRIX_ROWS)
    drawn = synthetic.draw(
        n_features=N_FEATURES, n_tasks=N_TASKS, n_train=max(training_sizes), n_validation=0, n_test=0, rng=rng
    )
    many = synthetic.draw(
        n_features=PROGRAM_FEATURES,
        n_tasks=max(program_tasks),
        n_train=PROGRAM_SAMPLES,
        n_validation=0,
        n_test=0,
        rng=rng,
    )
    for of in OF_SIZE.values():
        of(A[:10])  # compiles
    tasks = []
    for d, (method, of) in product(projection_sizes, OF_SIZE.items()):
        task = _task("projection size", d * N_TASKS, d, method, partial(of, A[:d]))
        task.columns["bytes"] = _peak_bytes(A[:d]) if method == "sort" and d <= TRACED_ROWS else np.nan
        tasks.append(task)
    for m in SHAPED_TASKS:
        shaped = A[:SHAPED_ROWS].reshape(-1, m)
        tasks.append(_task("projection tasks", m, len(shaped), "sort", partial(SORT, shaped), m))
    for k, (method, of_few) in product(projection_rows, OF_FEW.items()):
        tasks.append(_task("projection rows", k, MATRIX_ROWS, method, partial(_of_few, A, order[:k], of_few)))
    for n in training_sizes:
        tasks.append(_task("training samples", n, N_FEATURES, "subgradient", partial(_iteration, drawn, n)))
    for m, (method, train) in product(program_tasks, OF_TASKS.items()):
        tasks.append(_task("tasks", m, PROGRAM_FEATURES, method, partial(_of_training, train, many, m), m))
        tasks[-1].columns["objective"] = train(many, m).objective
    _iteration(drawn, min(training_sizes))  # compiles
    table = measure(tasks, repeats, progress)
    return table[list(COLUMNS)]


def _task(part: str, x: int, d: int, method: str, seconds: Callable[[], float], m: int = N_TASKS) -> Task:
    return Task({"part": part, "x": x, "d": d, "m": m, "method": method}, seconds)


def _projection(A: np.ndarray, method: Literal["sort", "newton"]) -> float:
    """CPU seconds of a projection of A."""
    radius, B = RADIUS_SHARE * l1inf.norm(A), np.empty_like(A)
    return seconds_of(lambda: l1inf.project(A, radius, out=B, method=method))


def _peak_bytes(A: np.ndarray) -> int:
    """Largest number of bytes that a projection of A by the paper's method holds at once, beside A and the result."""
    radius, B = RADIUS_SHARE * l1inf.norm(A), np.empty_like(A)
    tracemalloc.start()
    try:
        l1inf.project(A, radius, out=B, method="sort")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _projection_of_vector(A: np.ndarray) -> float:
    """CPU seconds of a projection of the entries of A onto an l1 ball, by the algorithm of Duchi et al. 2008."""
    v, b = A.reshape(A.size), np.empty(A.size)
    radius = RADIUS_SHARE * l1.norm(v)
    return seconds_of(lambda: l1.project(v, radius, out=b, method="pivot"))


def _scan(A: np.ndarray) -> float:
    """CPU seconds of a scan of A."""
    B = np.empty_like(A)

    def scan() -> None:
        l1inf.norm(A)
        np.copyto(B, A)

    return seconds_of(scan)


SORT, NEWTON = partial(_projection, method="sort"), partial(_projection, method="newton")  # the paper's and ours
OF_SIZE: dict[str, Seconds] = {"sort": SORT, "newton": NEWTON, "l1 pivot": _projection_of_vector}


class OfFew(NamedTuple):
    """Measurement of a matrix with few non-zero rows, and the number of times it is taken for a median."""

    seconds: Seconds
    calls: int


# The small difference of the last two counts.
OF_FEW = {
    "sort": OfFew(SORT, 1),
    "newton": OfFew(NEWTON, 5),
    "scan": OfFew(_scan, 5),
}


def _of_few(A: np.ndarray, rows: np.ndarray, of: OfFew) -> float:
    """CPU seconds with a matrix that has these rows of A, and zeros in the others."""
    few = np.zeros((MATRIX_ROWS, A.shape[1]))
    few[rows] = A[rows]
    return float(np.median([of.seconds(few) for _ in range(of.calls)]))


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


class Trained(NamedTuple):
    """CPU seconds of training, and the objective that it reaches."""

    seconds: float
    objective: float


def _by_program(data: synthetic.Synthetic, m: int) -> Trained:
    """Train the first m tasks by solving a linear program.

    Its variables are W by tasks, the row maxima t, and the hinge losses s. It minimises the sum of s / n, subject to
    y x . w + s >= 1, |W| <= t in each row, and the sum of t <= radius.
    """
    from scipy.optimize import linprog  # here, as it takes a fifth of a second to import

    W, n = data.W[:, :m], data.X_train.shape[1]
    d, size = len(W), W.size
    start = time.process_time()
    samples = sparse.block_diag([y[:, None] * X for X, y in zip(data.X_train[:m], data.y_train[:m], strict=True)])
    weights, maxima = sparse.identity(size), sparse.vstack([sparse.identity(d)] * m)
    left = sparse.bmat(
        [
            [-samples, None, -sparse.identity(m * n)],
            [weights, -maxima, None],
            [-weights, -maxima, None],
            [None, np.ones((1, d)), None],
        ],
        format="csr",
    )
    right = np.concatenate([-np.ones(m * n), np.zeros(2 * size), [l1inf.norm(W)]])
    cost = np.concatenate([np.zeros(size + d), np.full(m * n, 1 / n)])
    bounds = [(None, None)] * size + [(0, None)] * (d + m * n)
    solved = linprog(cost, A_ub=left, b_ub=right, bounds=bounds, method="highs-ipm")
    return Trained(time.process_time() - start, float(solved.fun))


def _by_subgradient(data: synthetic.Synthetic, m: int) -> Trained:
    """Train the first m tasks by the paper's method."""
    start = time.process_time()
    fit = subgradient.fit(
        Problem(list(data.X_train[:m]), list(data.y_train[:m]), normalisation="mean"),
        loss=hinge,
        norm=l1inf,
        radius=np.array([l1inf.norm(data.W[:, :m])]),
        eta0=np.array([ETA0]),
        n_iter=PROGRAM_N_ITER,
    )
    return Trained(time.process_time() - start, float(np.min(fit.objective)))


def _of_training(train: Callable[[synthetic.Synthetic, int], Trained], data: synthetic.Synthetic, m: int) -> float:
    """CPU seconds of training m tasks."""
    return train(data, m).seconds


OF_TASKS = {"linear program": _by_program, "subgradient": _by_subgradient}
