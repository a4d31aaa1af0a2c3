"""Compare the speed of training with that of matrix products and other learners, and measure the accuracy reached.

    python benchmarks/training.py [--quick] [--out FOLDER]

Prints three tables and writes training-sweeps.csv, training-learners.csv, training-gaps.csv and training.png.
Everything runs on one thread; times are CPU time. The reference rate is the rate at which two 2048 x 2048 matrices of
the same precision are multiplied in the same run. Useful work is 4 n_features sum_k n_k multiplications and additions
per iteration and pair (eta0, radius). No program can reach 100 % of the reference rate unless it skips zeros. The
features are random, with a decaying spectrum like that of the pipeline's features. The labels depend on 100 of the
features.
"""

# ruff: noqa: E402

from jointsparse.pipeline.app.blas import use_best_kernel

use_best_kernel()  # before NumPy is imported

import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from measure import keep, machine, medians, options

from jointsparse.learning.fit import Fit
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import pdhg, subgradient, working_set
from jointsparse.norms import NORMS, l1inf
from jointsparse.threads import one_thread

N_SAMPLES, N_FEATURES, N_TASKS = 10_589, 3_000, 40
ETA0, RADII = [0.0001, 0.001, 0.01, 0.1], [1.0, 3.0, 10.0, 30.0]
GAPS = [1e-2, 1e-3, 1e-4]
SOLVERS_TO_TOL = {"working_set": working_set, "pdhg": pdhg}


def product_rate(dtype: type) -> float:
    """Return the speed of a large matrix product in floating-point operations per second."""
    A = np.random.default_rng(0).normal(size=(2048, 2048)).astype(dtype)
    return 2 * 2048**3 / medians({"product": lambda: A @ A}, 5)["product"]


def features(n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw features and, for each task, scores whose signs are the task's labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, N_FEATURES)).astype(np.float32) / np.sqrt(np.arange(1, N_FEATURES + 1, dtype="f4"))
    W = np.zeros((N_FEATURES, N_TASKS), np.float32)
    W[rng.choice(300, 100, replace=False)] = rng.normal(size=(100, N_TASKS))
    return X, X @ W + 0.5 * rng.normal(size=(n_samples, N_TASKS)).astype(np.float32)


def labels(scores: np.ndarray, n: int) -> np.ndarray:
    """Draw n positive and 2n negative samples for each task."""
    rng = np.random.default_rng(n)
    Y = np.zeros(scores.shape, np.int8)
    for k, score in enumerate(scores.T):
        Y[rng.choice(np.flatnonzero(score > 0), n, replace=False), k] = 1
        Y[rng.choice(np.flatnonzero(score <= 0), 2 * n, replace=False), k] = -1
    return Y


class Timed:
    """A norm whose projections are timed."""

    def __init__(self, norm: object) -> None:
        self.norm, self.seconds = norm, 0.0

    def module(self) -> SimpleNamespace:
        def project(*arguments: object, **options: object) -> object:
            start = time.process_time()
            result = self.norm.project(*arguments, **options)  # type: ignore[attr-defined]
            self.seconds += time.process_time() - start
            return result

        return SimpleNamespace(**vars(self.norm) | {"project": project})


def sweep_rows(sizes: list[int], n_iter: int) -> Iterator[dict[str, object]]:
    """Time the iterations of a sweep, for several numbers of positives and of pairs (eta0, radius)."""
    X, scores = features(N_SAMPLES)
    rate = product_rate(np.float32)
    for n in sizes:
        problem = Problem.from_matrix(X, labels(scores, n))
        for n_pairs, norm in product((1, 4, 16), ("l1inf",) if n != sizes[0] else NORMS):
            pairs = np.array(list(product(RADII, ETA0)))[np.linspace(0, 15, n_pairs).round().astype(int)]
            timed, stamps = Timed(NORMS[norm]), []
            subgradient.fit(
                problem,
                loss=hinge,
                norm=timed.module(),
                radius=pairs[:, 0],
                eta0=pairs[:, 1],
                n_iter=n_iter,
                watch=lambda *_, timed=timed, stamps=stamps: stamps.append((time.process_time(), timed.seconds)),
            )
            seconds, projecting = np.median(np.diff(stamps, axis=0), axis=0)
            flops = 4 * N_FEATURES * sum(len(part.y) for part in problem.parts) * n_pairs
            yield {
                "norm": norm,
                "n": n,
                "pairs": n_pairs,
                "iteration (ms)": 1e3 * seconds,
                "% of the rate": 100 * flops / seconds / rate,
                "projection (%)": 100 * projecting / seconds,
            }


def learner_rows(n_iter: int) -> Iterator[dict[str, object]]:
    """Measure the CPU time for 40 tasks x 120 samples x 3,000 features, and the sum of hinge losses reached."""
    X, scores = features(N_SAMPLES)
    Y = labels(scores, 40)
    members = [np.flatnonzero(y) for y in Y.T]
    problem = Problem.from_matrix(X, Y)
    parts = [(X[rows], Y[rows, k]) for k, rows in enumerate(members)]

    def ours(n_pairs: int) -> Callable[[], np.ndarray]:
        pairs = np.array(list(product(RADII, ETA0)))[[-2] if n_pairs == 1 else slice(None)]
        grid = {"radius": pairs[:, 0], "eta0": pairs[:, 1]}
        return lambda: subgradient.fit(problem, loss=hinge, norm=l1inf, n_iter=n_iter, **grid).W[-2 % n_pairs]

    def certified(solver: ModuleType, tol: float) -> Callable[[], np.ndarray]:
        return lambda: solver.fit(problem, loss=hinge, norm=l1inf, radius=np.array([10.0]), tol=tol).W[0]

    def bare() -> np.ndarray:
        """Compute only the matrix products of a single fit, as a baseline for its time."""
        for _ in range(n_iter):
            for rows, y in parts:
                f = rows @ w
                rows.T @ f[: len(y)]
        return np.zeros((N_FEATURES, N_TASKS))

    w = np.zeros(N_FEATURES, np.float32)
    tasks: dict[str, Callable[[], np.ndarray]] = {
        f"subgradient, {n_iter} iterations, single pair": ours(1),
        f"subgradient, {n_iter} iterations, per pair of 16": ours(16),
        f"bare products of {n_iter} iterations": bare,
        **{
            f"{name} to a gap of {tol:g}": certified(solver, tol)
            for name, solver in SOLVERS_TO_TOL.items()
            for tol in (1e-2, 1e-3)
        },
    } | others(parts, X, Y)
    objective = {}
    for name, task in tasks.items():
        objective[name] = sum(
            np.maximum(0, 1 - y * (rows @ w)).sum() for (rows, y), w in zip(parts, task().T, strict=True)
        )
    seconds = medians(tasks, 3)
    single = seconds[f"subgradient, {n_iter} iterations, single pair"]
    for name in tasks:
        share = 16 if "of 16" in name else 1
        yield {
            "learner": name,
            "seconds": seconds[name] / share,
            "/ ours, single": seconds[name] / share / single,
            "hinge losses": objective[name] if "bare" not in name else np.nan,
        }


def others(
    parts: list[tuple[np.ndarray, np.ndarray]], X: np.ndarray, Y: np.ndarray
) -> dict[str, Callable[[], np.ndarray]]:
    """Return the other learners that are installed. Those that need the same samples for all tasks get all samples."""
    from sklearn.linear_model import MultiTaskLasso, SGDClassifier
    from sklearn.svm import LinearSVC

    warnings.simplefilter("ignore")
    used = Y.any(axis=1)
    shared, targets = np.asfortranarray(X[used], dtype=float), Y[used].astype(float)

    def each(make: Callable[[], object]) -> Callable[[], np.ndarray]:
        return lambda: np.column_stack([make().fit(rows, y).coef_[0] for rows, y in parts])  # type: ignore[attr-defined]

    tasks: dict[str, Callable[[], np.ndarray]] = {
        "LinearSVC l2": each(lambda: LinearSVC(C=0.1, loss="hinge", fit_intercept=False, max_iter=10_000)),
        "LinearSVC l1": each(lambda: LinearSVC(C=0.1, penalty="l1", dual=False, fit_intercept=False)),
        "SGDClassifier l1": each(lambda: SGDClassifier(penalty="l1", alpha=1e-3, fit_intercept=False, random_state=0)),
        "MultiTaskLasso (shared samples)": lambda: (
            MultiTaskLasso(0.01, fit_intercept=False).fit(shared, targets).coef_.T
        ),
    }
    with suppress(ImportError):
        skglm = importlib.import_module("skglm")
        tasks["skglm MultiTaskLasso (shared samples)"] = lambda: (
            skglm.MultiTaskLasso(0.01, fit_intercept=False).fit(shared, targets).coef_.T
        )
    with suppress(ImportError):
        spams = importlib.import_module("spams")
        start = np.zeros((N_FEATURES, N_TASKS), order="F")
        options = {"loss": "square", "regul": "l1linf", "lambda1": 10.0, "max_it": 200, "tol": 1e-3, "numThreads": 1}
        tasks["spams FISTA l1linf, squared loss (shared samples)"] = lambda: spams.fistaFlat(
            np.asfortranarray(targets), shared, start, **options
        )
    return tasks


def gap_rows(n_iter: int) -> Iterator[dict[str, object]]:
    """Measure the CPU time and the iterations until a gap is certified, on the problem in Quattoni et al., sec. 5."""
    problem, radius = synthetic()
    for gap in GAPS:
        for name, solver in SOLVERS_TO_TOL.items():
            start = time.process_time()
            fit = solver.fit(problem, loss=hinge, norm=l1inf, radius=np.array([radius]), tol=gap, n_iter=n_iter)
            yield row(name, gap, fit, time.process_time() - start)
        for n in (10, 30, 100, 300, 1000, 3000, 10_000):
            start = time.process_time()
            fit = subgradient.fit(
                problem, loss=hinge, norm=l1inf, radius=np.full(3, radius), eta0=np.array([10.0, 100, 1000]), n_iter=n
            )
            if fit.gap.min() <= gap or n >= n_iter:
                yield row("subgradient, best of 3 step sizes", gap, fit, time.process_time() - start)
                break


def row(solver: str, gap: float, fit: Fit, seconds: float) -> dict[str, object]:
    """Return a row of the table of gaps. The column "full-width iterations" is the cost of all products with X and X^T,
    divided by the cost of one iteration with all features.
    """
    work = float(fit.n_iter)
    if fit.rounds:  # a round has iterations on its own rows of W, and one product with all rows
        n_rows, n_iter, _ = np.array(fit.rounds[0]).T
        work = float(np.sum(0.5 + n_rows / fit.W.shape[1] * np.diff(n_iter, prepend=0)))
    counts = {"iterations": fit.n_iter, "full-width iterations": work}
    return {"solver": solver, "gap": gap, "reached": float(fit.gap.min()), **counts, "seconds": seconds}


def synthetic(n: int = 320) -> tuple[Problem, float]:
    """Draw 60 tasks on 200 features, each of which uses 10 to 20 of the same 20 features. Samples have unit length."""
    rng = np.random.default_rng(0)
    W, relevant = np.zeros((200, 60)), rng.choice(200, 20, replace=False)
    X, y = [], []
    for k in range(60):
        used = rng.choice(relevant, rng.integers(10, 21), replace=False)
        W[used, k] = rng.normal(size=len(used))
        samples = rng.normal(size=(n, 200))
        X.append(samples / np.linalg.norm(samples, axis=1, keepdims=True))
        y.append(np.where(X[-1] @ W[:, k] > 0, 1.0, -1.0))
    return Problem(X, y, normalisation="mean"), float(l1inf.norm(W))


def figure(sweeps: pd.DataFrame, gaps: pd.DataFrame) -> Figure:
    drawn = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = drawn.subplots(1, 2)
    for pairs, rows in sweeps[sweeps["norm"] == "l1inf"].groupby("pairs"):
        left.plot(rows["n"], rows["% of the rate"], "o-", label=f"{pairs} pairs")
    left.set(xscale="log", xlabel="positives per task", ylabel="useful work, % of the product rate", ylim=(0, None))
    left.legend()
    for solver, rows in gaps.groupby("solver"):
        right.loglog(rows["seconds"], rows["reached"], "o-", label=solver)
    right.set(xlabel="CPU seconds", ylabel="certified relative gap")
    right.legend()
    return drawn


def main() -> None:
    given = options(__doc__, "fewer sizes and iterations")
    print(machine())
    tables = {
        "sweeps": sweep_rows([40, 160] if given.quick else [40, 80, 160, 320, 640], 20 if given.quick else 40),
        "learners": learner_rows(200),
        "gaps": gap_rows(1000 if given.quick else 10_000),
    }
    kept = {}
    for name, rows in tables.items():
        with one_thread():
            kept[name] = keep(pd.DataFrame(rows), given.out / f"training-{name}.csv")
        print(f"\n{kept[name].to_string(index=False, float_format=lambda value: f'{value:.3g}')}", flush=True)
    figure(kept["sweeps"], kept["gaps"]).savefig(given.out / "training.png", dpi=120)


if __name__ == "__main__":
    main()
