"""Measure how close our solvers and SPAMS get to the optimum of l1,inf problems in a given time.

    python benchmarks/gaps.py [--quick] [--out FOLDER]

Prints a table and writes gaps.csv, from which an example in the documentation draws a figure. Everything runs on one
thread; times are CPU time and include input validation. Each row is a separate run with its own tolerance or number of
iterations. The column `distance` is the relative difference between the run's objective and the best objective of all
runs. The subgradient method is that of Quattoni et al. (2009), with the best of several step sizes. SPAMS is skipped
if it is not installed: `pip install spams-bin`.
"""

# ruff: noqa: E402

from jointsparse.pipeline.app.blas import use_best_kernel

use_best_kernel()  # before NumPy is imported

import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from measure import keep, machine, options, show

from jointsparse import JointSparseClassifier, JointSparseRegressor
from jointsparse.norms import l1inf
from jointsparse.threads import one_thread

PENALTY = 0.1  # as a fraction of the smallest penalty for which W = 0
N_SHARED = 20  # number of features that determine the targets
TOLERANCES = 10.0 ** -np.arange(1, 7)
ITERATIONS = (3, 10, 30, 100, 300)
STEPS = 10.0 ** np.arange(-0.5, 2, 0.5)  # step sizes of the subgradient method, divided by the norm of X^T Y
REPEATS = 3  # number of timed runs, of which the fastest counts
Run = Callable[[], np.ndarray]


def drawn(n: int, d: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw features with a decaying spectrum, as after an SVD, and targets for tasks that depend on shared features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))
    W = np.zeros((d, m))
    W[rng.choice(d // 4, N_SHARED, replace=False)] = rng.normal(size=(N_SHARED, m))
    F = X @ W
    return np.asfortranarray(X), F + 0.5 * F.std() * rng.normal(size=F.shape)


def runs(loss: str, X: np.ndarray, Y: np.ndarray, penalty: float) -> Iterator[tuple[str, float, Run]]:
    """Yield for each run the learner's name, its tolerance or number of iterations, and a function that fits W."""
    squared = loss == "squared"
    make: Any = JointSparseRegressor if squared else JointSparseClassifier
    setting = {"penalty": penalty, "fit_intercept": False} | ({} if squared else {"labels": "signed"})
    for tol in TOLERANCES:
        yield "default solver", tol, lambda tol=tol: make(**setting, tol=tol).fit(X, Y).coef_.T
    for n_iter in ITERATIONS:
        for step in STEPS / np.linalg.norm(X.T @ Y):
            given = {"solver": "subgradient", "n_iter": n_iter, "eta0": step}
            yield "subgradient", n_iter, lambda given=given: make(**setting, **given).fit(X, Y).coef_.T
    if find_spec("spams"):
        import spams

        start, target = np.zeros((X.shape[1], Y.shape[1]), order="F"), np.asfortranarray(Y)
        name, scale = ("square", 1.0) if squared else ("logistic", len(X))  # SPAMS: sum and mean of the losses
        given = {"loss": name, "regul": "l1linf", "lambda1": penalty / scale, "tol": 0.0, "numThreads": 1}
        for n_iter in ITERATIONS:
            yield (
                "SPAMS, FISTA",
                n_iter,
                lambda n_iter=n_iter: spams.fistaFlat(target, X, start, max_it=n_iter, **given),
            )


def rows(loss: str, n: int, d: int, m: int) -> Iterator[dict[str, Any]]:
    """Yield the CPU time in seconds and the objective of each run."""
    X, F = drawn(n, d, m)
    Y, slope = (F, 1.0) if loss == "squared" else (np.where(F > 0, 1.0, -1.0), 0.5)
    penalty = PENALTY * slope * l1inf.dual_norm(X.T @ Y)
    for learner, setting, run in runs(loss, X, Y, penalty):
        seconds = np.inf
        for _ in range(REPEATS):
            start = time.process_time()
            W = run()
            seconds = min(seconds, time.process_time() - start)
        losses = np.square(Y - X @ W) / 2 if loss == "squared" else np.logaddexp(0, -Y * (X @ W))
        objective = float(losses.sum() + penalty * l1inf.norm(W))
        what = {"loss": loss, "n": n, "d": d, "m": m, "learner": learner, "setting": setting}
        yield what | {"seconds": seconds, "objective": objective}


def main() -> None:
    given = options(__doc__, "a small problem only")
    print(machine())
    warnings.simplefilter("ignore")
    size = (200, 300, 10) if given.quick else (600, 1000, 30)
    with one_thread():
        table = pd.DataFrame([row for loss in ("squared", "logistic") for row in rows(loss, *size)])
    table["distance"] = table["objective"] / table.groupby("loss")["objective"].transform("min") - 1
    table = table.loc[table.groupby(["loss", "learner", "setting"], sort=False)["objective"].idxmin()]
    show("Distance from the best objective", keep(table.drop(columns="objective"), given.out / "gaps.csv"))


if __name__ == "__main__":
    main()
