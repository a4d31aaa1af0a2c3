"""Compare the estimators with scikit-learn, skglm, celer or adelie by the time to an objective and for a grid search.

    python benchmarks/peers.py [--peer NAME] [--quick] [--out FOLDER]

Adds a row for each problem to peers-fits.csv, in place of earlier rows of the same peer. README.md tells how to give
each peer an environment of its own, with its newest version. Everything runs on one thread; times are CPU time. Both
learners are run with decreasing tolerances. The tolerance that counts is the largest one at which the learner's
objective is within GAP of the best objective that both learners reach at the tolerance REFERENCE, and its time is the
shortest of REPEATS interleaved runs. ptlasso is not compared: it first fits all tasks together and then each task from
there, which is another problem.

With scikit-learn, the peer without --peer, the script also writes peers-search.csv. There the grid search chooses among
six regularisation strengths by macro AUC over five folds, and our joint norm is compared with l1-regularised logistic
regression for each task separately.
"""

# ruff: noqa: E402

from jointsparse.pipeline.app.blas import use_best_kernel

use_best_kernel()  # before NumPy is imported

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from measure import fastest, keep, machine, merge, options, show
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor
from jointsparse.threads import one_thread

GAP = 1e-4  # largest relative difference from the best objective
TOLERANCES = 10.0 ** -np.arange(1, 10)
REFERENCE = 1e-6
REPEATS = 5
STRENGTHS = 6
OURS = "jointsparse"
PEERS = ("scikit-learn", "celer", "skglm", "adelie")
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
    ours: Learner, peer: str, theirs: Learner, objective: Callable[[np.ndarray, np.ndarray], float]
) -> dict[str, Any]:
    """Return the CPU time in seconds that both learners need until their objective is within GAP of the best."""
    learners = {OURS: ours, peer: theirs}
    best = min(objective(*learner(REFERENCE)) for learner in learners.values())  # the first fits compile the kernels
    tasks, distances = {}, {}
    for name, learner in learners.items():
        for tol in TOLERANCES:
            distances[name] = objective(*learner(tol)) / best - 1
            if distances[name] <= GAP:
                tasks[name] = partial(learner, tol)
                break
    seconds = fastest(tasks, REPEATS)
    return {
        "peer": peer,
        "seconds": seconds.get(peer, np.nan),
        "ours (s)": seconds[OURS],
        "peer / ours": seconds.get(peer, np.nan) / seconds[OURS],
        "objective / best - 1": distances[peer],
        "ours / best - 1": distances[OURS],
        "threads": 1,
    }


def by_adelie(X: Any, loss: Any, strength: float, tol: float, **options: Any) -> np.ndarray:
    """Return W of one fit by adelie, whose losses are means over the samples and, for several tasks, over the tasks."""
    from adelie import grpnet

    quiet = {"intercept": False, "early_exit": False, "n_threads": 1, "progress_bar": False}
    fit = grpnet(X, loss, lmda_path=[strength], tol=tol, irls_tol=tol, **quiet, **options)
    return fit.betas.toarray().reshape(X.shape[1], -1)


def squared(peer: str, n: int, d: int, m: int) -> dict[str, Any]:
    """Compare learners for the squared loss with an l1,2 penalty."""
    X, Y = drawn(n, d, m)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    alpha = 0.1 * float(np.linalg.norm(X.T @ Y, axis=1).max()) / n
    options = {"norm": "l12", "penalty": alpha, "normalisation": "mean", "fit_intercept": False}

    def objective(W: np.ndarray, b: np.ndarray) -> float:
        return float(np.square(Y - X @ W).sum() / (2 * n) + alpha * np.linalg.norm(W, axis=1).sum())

    def fitted(model: Any) -> tuple[np.ndarray, np.ndarray]:
        return model.fit(X, Y).coef_.T, np.zeros(m)

    if peer == "adelie":
        import adelie

        loss, columns = adelie.glm.multigaussian(Y), np.asfortranarray(X)

        def theirs(tol: float) -> tuple[np.ndarray, np.ndarray]:
            return by_adelie(columns, loss, alpha / m, tol, penalty=np.ones(d)), np.zeros(m)
    else:
        lasso = import_module({"scikit-learn": "sklearn.linear_model"}.get(peer, peer)).MultiTaskLasso
        more = {"max_iter": 10_000} if peer == "scikit-learn" else {}

        def theirs(tol: float) -> tuple[np.ndarray, np.ndarray]:
            return fitted(lasso(alpha, tol=tol, fit_intercept=False, **more))

    row = race(lambda tol: fitted(JointSparseRegressor(tol=tol, **options)), peer, theirs, objective)
    return {"problem": "squared, l1,2", "n": n, "d": d, "m": m} | row


def logistic(peer: str, n: int, d: int, m: int, density: float = 1.0) -> dict[str, Any]:
    """Compare learners for l1-penalised logistic regression, each task being fitted separately."""
    X, F = drawn(n, d, m, density)
    Y = np.where(np.quantile(F, 0.8, axis=0) < F, 1.0, -1.0)
    penalty = 0.1 * float(np.abs(X.T @ Y).max()) / 2

    def objective(W: np.ndarray, b: np.ndarray) -> float:
        return float(np.logaddexp(0, -Y * (X @ W + b)).sum() + penalty * np.abs(W).sum())

    def ours(tol: float) -> tuple[np.ndarray, np.ndarray]:
        model = JointSparseClassifier("l1", penalty=penalty, tol=tol, labels="signed", fit_intercept=False).fit(X, Y)
        return model.coef_.T, model.intercept_

    if peer == "adelie":
        import adelie

        columns = adelie.matrix.sparse(sparse.csc_matrix(X)) if sparse.issparse(X) else np.asfortranarray(X)
        losses = [adelie.glm.binomial(np.maximum(y, 0)) for y in Y.T]

        def theirs(tol: float) -> tuple[np.ndarray, np.ndarray]:
            return np.concatenate([by_adelie(columns, loss, penalty / n, tol) for loss in losses], axis=1), np.zeros(m)
    else:
        if peer == "scikit-learn":
            model = partial(LogisticRegression, l1_ratio=1.0, C=1 / penalty, solver="liblinear")
        elif peer == "celer":
            model = partial(import_module("celer").LogisticRegression, 1 / penalty)
        else:
            model = partial(import_module("skglm").SparseLogisticRegression, penalty / n)

        def theirs(tol: float) -> tuple[np.ndarray, np.ndarray]:
            fits = [model(tol=tol, fit_intercept=False).fit(X, y).coef_.ravel() for y in Y.T]
            return np.stack(fits, axis=1), np.zeros(m)

    name = "logistic, l1" if density == 1 else "logistic, l1, sparse features"
    return {"problem": name, "n": n, "d": d, "m": m} | race(ours, peer, theirs, objective)


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
    best = LogisticRegression(l1_ratio=1.0, C=np.geomspace(1e-3, 1e2, STRENGTHS)[np.argmax(scores)], solver="liblinear")
    for y in Y.T:
        best.fit(X, y)
    yield {
        "learner": "l1 logistic regression",
        "seconds": time.process_time() - start,
        "macro AUC": float(np.max(scores)),
    }


def main() -> None:
    given = options(__doc__, "small problems only", PEERS)
    print(machine())
    warnings.simplefilter("ignore")
    with one_thread():
        sizes = [(500, 300, 10)] if given.quick else [(500, 1000, 20), (1000, 500, 40), (1500, 400, 20)]
        fits = [squared(given.peer, *size) for size in sizes]
        tasks = [(300, 200, 5, 1.0)] if given.quick else [(1100, 1000, 53, 1.0), (4500, 500, 374, 0.02)]
        more = [] if given.quick else [(1500, 400, 20, 1.0), (20_000, 100, 30, 1.0), (2000, 20_000, 10, 0.01)]
        fits += [logistic(given.peer, *size) for size in tasks + more]
        table = pd.DataFrame(fits)
        show("Seconds to the same objective", table)
        problems = ("squared, l1,2", "logistic, l1", "logistic, l1, sparse features")
        order = {"problem": problems, "peer": PEERS}
        merge(table.assign(machine=machine()), given.out / "peers-fits.csv", "peer", order)
        if given.peer == "scikit-learn":
            chosen = [{"n": n, "d": d, "m": m} | row for n, d, m, part in tasks for row in search(n, d, m, part)]
            searches = keep(pd.DataFrame(chosen), given.out / "peers-search.csv")
            show("Seconds of a choice among six strengths by five folds", searches)


if __name__ == "__main__":
    main()
