"""Compare the estimators with scikit-learn, skglm, celer and adelie by the time to an objective and for a grid search.

    python benchmarks/peers.py [--quick] [--out FOLDER]

Prints two tables and writes peers-fits.csv and peers-search.csv. Everything runs on one thread; times are CPU time.
Every learner is run with decreasing tolerances. The tolerance that counts is the largest one at which the learner's
objective is within GAP of the best objective that any learner reaches at the tolerance REFERENCE, and its time is the
shortest of REPEATS interleaved runs. README.md tells which packages to install; a learner that is missing is skipped.
ptlasso is not compared: it first fits all tasks together and then each task from there, which is another problem.

The grid search chooses among six regularisation strengths by macro AUC over five folds. It compares our joint norm with
l1-regularised logistic regression for each task separately.
"""

# ruff: noqa: E402

from jointsparse.pipeline.app.blas import use_best_kernel

use_best_kernel()  # before NumPy is imported

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from measure import fastest, keep, machine, options, show
from scipy import sparse
from sklearn.linear_model import LogisticRegression, MultiTaskLasso
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor
from jointsparse.checks import one_thread

GAP = 1e-4  # largest relative difference from the best objective
TOLERANCES = 10.0 ** -np.arange(1, 10)
REFERENCE = 1e-6
REPEATS = 5
STRENGTHS = 6
Learner = Callable[[float], tuple[np.ndarray, np.ndarray]]  # maps a tolerance to W (n_features, n_tasks) and b


def drawn(n: int, d: int, m: int, density: float = 1.0) -> tuple[Any, np.ndarray]:
    """Draw features, and targets for m tasks that all depend on the same 20 features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    W = np.zeros((d, m))
    W[:20] = rng.normal(size=(20, m))
    F = X @ W
    return (sparse.csr_matrix(X) if density < 1 else X), F + F.std() * rng.normal(size=F.shape)


def race(
    learners: dict[str, Learner], objective: Callable[[np.ndarray, np.ndarray], float]
) -> Iterator[dict[str, Any]]:
    """Yield the CPU time in seconds that each learner needs until its objective is within GAP of the best."""
    references = {}
    for name, learner in learners.items():
        try:
            references[name] = objective(*learner(REFERENCE))  # also compiles the kernels
        except (AttributeError, TypeError) as error:
            print(f"{name} does not work with this version of scikit-learn and is skipped: {error}")
    best = min(references.values())
    tasks, distances = {}, {}
    for name in references:
        for tol in TOLERANCES:
            distances[name] = objective(*learners[name](tol)) / best - 1
            if distances[name] <= GAP:
                tasks[name] = partial(learners[name], tol)
                break
    seconds = fastest(tasks, REPEATS)
    for name, distance in distances.items():
        yield {
            "learner": name,
            "seconds": seconds.get(name, np.nan),
            "objective / best - 1": distance,
            "threads": 1,
        }


def by_adelie(X: Any, loss: Any, strength: float, tol: float, **options: Any) -> np.ndarray:
    """Return W of one fit by adelie, whose losses are means over the samples and, for several tasks, over the tasks."""
    from adelie import grpnet

    quiet = {"intercept": False, "early_exit": False, "n_threads": 1, "progress_bar": False}
    fit = grpnet(X, loss, lmda_path=[strength], tol=tol, irls_tol=tol, **quiet, **options)
    return fit.betas.toarray().reshape(X.shape[1], -1)


def squared(n: int, d: int, m: int) -> Iterator[dict[str, Any]]:
    """Compare with scikit-learn's MultiTaskLasso: squared loss with an l1,2 penalty."""
    X, Y = drawn(n, d, m)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    alpha = 0.1 * float(np.linalg.norm(X.T @ Y, axis=1).max()) / n
    options = {"norm": "l12", "penalty": alpha, "normalisation": "mean", "fit_intercept": False}

    def objective(W: np.ndarray, b: np.ndarray) -> float:
        return float(np.square(Y - X @ W).sum() / (2 * n) + alpha * np.linalg.norm(W, axis=1).sum())

    def of(model: Any) -> tuple[np.ndarray, np.ndarray]:
        return model.fit(X, Y).coef_.T, np.zeros(m)

    learners: dict[str, Learner] = {
        "jointsparse": lambda tol: of(JointSparseRegressor(tol=tol, **options)),
        "scikit-learn": lambda tol: of(MultiTaskLasso(alpha, tol=tol, fit_intercept=False, max_iter=10_000)),
    }
    if find_spec("celer"):
        from celer import MultiTaskLasso as Celer

        learners["celer"] = lambda tol: of(Celer(alpha, tol=tol, fit_intercept=False))
    if find_spec("skglm"):
        from skglm import MultiTaskLasso as Skglm

        learners["skglm"] = lambda tol: of(Skglm(alpha, tol=tol, fit_intercept=False))
    if find_spec("adelie"):
        import adelie

        loss, columns = adelie.glm.multigaussian(Y), np.asfortranarray(X)
        learners["adelie"] = lambda tol: (by_adelie(columns, loss, alpha / m, tol, penalty=np.ones(d)), np.zeros(m))
    for row in race(learners, objective):
        yield {"problem": "squared, l1,2", "n": n, "d": d, "m": m} | row


def logistic(n: int, d: int, m: int, density: float = 1.0) -> Iterator[dict[str, Any]]:
    """Compare learners for l1-penalised logistic regression, each task being fitted separately."""
    X, F = drawn(n, d, m, density)
    Y = np.where(np.quantile(F, 0.8, axis=0) < F, 1.0, -1.0)
    penalty = 0.1 * float(np.abs(X.T @ Y).max()) / 2

    def objective(W: np.ndarray, b: np.ndarray) -> float:
        return float(np.logaddexp(0, -Y * (X @ W + b)).sum() + penalty * np.abs(W).sum())

    def ours(tol: float) -> tuple[np.ndarray, np.ndarray]:
        model = JointSparseClassifier("l1", penalty=penalty, tol=tol, labels="signed", fit_intercept=False).fit(X, Y)
        return model.coef_.T, model.intercept_

    def each(make: Callable[[], Any]) -> tuple[np.ndarray, np.ndarray]:
        return np.stack([make().fit(X, y).coef_.ravel() for y in Y.T], axis=1), np.zeros(m)

    def liblinear(tol: float) -> Any:
        return LogisticRegression(penalty="l1", C=1 / penalty, solver="liblinear", tol=tol, fit_intercept=False)

    learners: dict[str, Learner] = {"jointsparse": ours, "scikit-learn": lambda tol: each(lambda: liblinear(tol))}
    if find_spec("celer"):
        from celer import LogisticRegression as Celer

        learners["celer"] = lambda tol: each(lambda: Celer(1 / penalty, tol=tol, fit_intercept=False))
    if find_spec("skglm"):
        from skglm import SparseLogisticRegression as Skglm

        learners["skglm"] = lambda tol: each(lambda: Skglm(penalty / n, tol=tol, fit_intercept=False))
    if find_spec("adelie"):
        import adelie

        columns = adelie.matrix.sparse(sparse.csc_matrix(X)) if sparse.issparse(X) else np.asfortranarray(X)
        losses = [adelie.glm.binomial(np.maximum(y, 0)) for y in Y.T]
        learners["adelie"] = lambda tol: (
            np.concatenate([by_adelie(columns, loss, penalty / n, tol) for loss in losses], axis=1),
            np.zeros(m),
        )
    for row in race(learners, objective):
        yield {"problem": "logistic, l1", "n": n, "d": d, "m": m} | row


def search(n: int, d: int, m: int, density: float) -> Iterator[dict[str, Any]]:
    """Time the choice among six regularisation strengths by five-fold cross-validation, including the final fit."""
    X, F = drawn(n, d, m, density)
    Y = (np.quantile(F, 0.9, axis=0) < F).astype(int)
    folds = KFold(5, shuffle=True, random_state=0)
    start = time.process_time()
    ours = JointSparseClassifierCV(radii=STRENGTHS, cv=folds).fit(X, Y)
    yield {"learner": "JointSparseClassifierCV", "seconds": time.process_time() - start, "macro AUC": ours.best_score_}
    start = time.process_time()
    scores = []
    for C in np.geomspace(1e-3, 1e2, STRENGTHS):
        of_folds = []
        for train, test in folds.split(X):
            model = LogisticRegression(penalty="l1", C=C, solver="liblinear", tol=1e-3)
            F_test = np.stack([model.fit(X[train], y[train]).decision_function(X[test]) for y in Y.T], axis=1)
            of_folds.append(roc_auc_score(Y[test], F_test, average="macro"))
        scores.append(np.mean(of_folds))
    best = LogisticRegression(penalty="l1", C=np.geomspace(1e-3, 1e2, STRENGTHS)[np.argmax(scores)], solver="liblinear")
    for y in Y.T:
        best.fit(X, y)
    yield {
        "learner": "l1 logistic regression",
        "seconds": time.process_time() - start,
        "macro AUC": float(np.max(scores)),
    }


def main() -> None:
    given = options(__doc__, "small problems only")
    print(machine())
    warnings.simplefilter("ignore")
    with one_thread():
        sizes = [(500, 300, 10)] if given.quick else [(500, 1000, 20), (1000, 500, 40)]
        fits = [row for size in sizes for row in squared(*size)]
        tasks = [(300, 200, 5, 1.0)] if given.quick else [(1100, 1000, 53, 1.0), (4500, 500, 374, 0.02)]
        fits += [row for size in tasks for row in logistic(*size)]
        show("Seconds to the same objective", keep(pd.DataFrame(fits), given.out / "peers-fits.csv"))
        chosen = [{"n": n, "d": d, "m": m} | row for n, d, m, part in tasks for row in search(n, d, m, part)]
    table = keep(pd.DataFrame(chosen), given.out / "peers-search.csv")
    show("Seconds of a choice among six strengths by five folds", table)


if __name__ == "__main__":
    main()
