"""How well tasks with known weights are learnt: test error, and which of the relevant features are found.

Source: Quattoni et al. 2009, sec. 5 and Fig. 1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.datasets import synthetic
from jointsparse.datasets.synthetic import Synthetic
from jointsparse.learning import sweep
from jointsparse.learning.flag import gap_above, write_cell
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem, relative_gap
from jointsparse.learning.solvers import pdhg, subgradient
from jointsparse.norms import l1, l1inf, l2

SERVES = "drawn"
TABLES = {"recovery": "tables"}
WARNS = ("recovery",)

NORMS = {"l1inf": l1inf, "l1": l1, "l2": l2}
# Choice: validation chooses from the same plain radii for every task and norm; the paper names none. Multiples of the
# true norms would know what validation has to find. On the paper's problem the true norms are about 49, 12 and 4.
RADII = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
NEAR = 0.01  # iterates certified to be within this fraction of the optimum count as there


def run(
    data: None,
    *,
    tasks: Mapping[str, Any],
    sizes: Sequence[int],
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """One repetition with tasks drawn afresh: see `learn`. tasks: options of `synthetic.draw`."""
    drawn = synthetic.draw(**tasks, n_train=max(sizes), rng=rng)
    return learn(drawn, sizes=sizes, progress=progress, **options)


def learn(
    data: Synthetic,
    *,
    sizes: Sequence[int],
    eta0: Sequence[float],
    radius: Sequence[float] = RADII,
    n_iter: int,
    tol: float = 1e-3,
    optimum_n_iter: int = 5000,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Learn the tasks from training sets of several sizes, with each norm: the rows of one repetition.

    minimise sum_k 1/n sum_i max(0, 1 - y_ik w_k . x_ik)  subject to ||W|| <= radius (l1inf), or ||w_k|| <= radius_k
    for each task (l1, l2).

    data: see `synthetic.draw`. sizes: training samples per task. eta0: first step sizes. radius: to choose from by
    validation, in any order. n_iter: iterations of the subgradient method. tol, optimum_n_iter: the relative duality
    gap and the most iterations of the solver that finds the optimum. progress: called with (sweeps done, of all).
    Raises ValueError for sizes that the data do not have, and for unfit grids.

    Three rows for each size and method (hinge-l1inf, hinge-l1, hinge-l2):
    - radius_rule "true", solver "subgradient": the radii are the true norms, of W or of each w_k;
    - radius_rule "validated", solver "subgradient": the radius with the smallest mean validation error, for all tasks;
    - radius_rule "true", solver "pdhg": the optimum that the first row is on its way to.
    Each eta0 has the smallest training objective for its radius.

    Columns: n; method; radius_rule; solver; radius: the mean where it differs by task; eta0, NaN
    without step sizes; test_error: the fraction of test samples misclassified; precision and recall of the features
    that have a weight for any task, precision NaN where there are none; features: their fraction; objective: relative
    to W = 0; gap: the certified relative duality gap, in rows with "true" by the better bound of the two solvers;
    iterations: the first iterate within 1 % of the optimum, missing where there is none or no optimum is known;
    warning: a value at the edge of its grid, or an optimum not certified to tol.
    """
    n_train = data.X_train.shape[1]
    if not len(sizes) or min(sizes) < 1 or max(sizes) > n_train:
        raise ValueError(f"sizes must be numbers of training samples, from 1 to {n_train}, got {list(sizes)}")
    if not len(eta0) or not len(radius) or not np.isfinite([*eta0, *radius]).all():
        raise ValueError(f"eta0 and radius must list finite numbers, at least one each, got {eta0}, {radius}")
    if not data.X_validation.size or not data.X_test.size:
        raise ValueError("data must hold validation and test samples, got none of one of the two")
    options: dict[str, Any] = {
        "eta0": eta0,
        "radius": radius,
        "n_iter": n_iter,
        "tol": tol,
        "optimum_n_iter": optimum_n_iter,
    }
    rows: list[dict[str, Any]] = []
    for i, n in enumerate(sizes):
        problem = Problem(list(data.X_train[:, :n]), list(data.y_train[:, :n]), normalisation="mean")
        for j, norm in enumerate(NORMS):
            key = {"n": n, "method": f"hinge-{norm}"}
            rows += [key | row for row in _rows(problem, data, norm, **options)]
            if progress:
                progress(len(NORMS) * i + j + 1, len(NORMS) * len(sizes))
    return pd.DataFrame(rows).astype({"iterations": "Int64"})


def _rows(
    problem: Problem,
    data: Synthetic,
    norm: str,
    *,
    eta0: Sequence[float],
    radius: Sequence[float],
    n_iter: int,
    tol: float,
    optimum_n_iter: int,
) -> list[dict[str, Any]]:
    """The three rows of a training set and a norm."""
    plug_ins = {"loss": hinge, "norm": NORMS[norm]}
    true = np.asarray(plug_ins["norm"].norm(data.W))  # one number, or one per task
    radii = np.stack([true, *(np.full(true.shape, value) for value in sorted(radius))])
    pairs = np.repeat(np.arange(len(radii)), len(eta0))
    steps = np.tile(np.asarray(eta0, dtype=float), len(radii))
    fit = subgradient.fit(problem, **plug_ins, radius=radii[pairs], eta0=steps, n_iter=n_iter)
    optimum = pdhg.fit(problem, **plug_ins, radius=radii[:1], tol=tol, n_iter=optimum_n_iter)
    at_true, *candidates = sweep.choose_eta0(pairs, fit.objective)
    errors = [error(fit.W[pair], data.X_validation, data.y_validation) for pair in candidates]
    chosen = candidates[sweep.choose_radius(-np.array(errors))]
    at_zero = float(fit.objective[0, 0])

    def row(W: np.ndarray, radius: np.ndarray, eta0: float, objective: float, bound: float) -> dict[str, Any]:
        found = {"radius": radius.mean(), "eta0": eta0, "test_error": error(W, data.X_test, data.y_test)}
        found |= selection(W, data.relevant) | {"objective": objective / at_zero}
        gap = float(relative_gap(np.array(objective), np.array(bound), at_zero))
        return found | {"gap": gap, "iterations": None}

    def row_of(pair: int, bound: float) -> dict[str, Any]:
        return row(fit.W[pair], radii[pairs[pair]], steps[pair], fit.value[pair], bound)

    bound = max(fit.bound[at_true], optimum.bound[0])
    best = row(optimum.W[0], true, np.nan, optimum.value[0], bound)
    best["warning"] = write_cell([gap_above(tol, best["gap"])])
    by_truth, by_validation = row_of(at_true, bound), row_of(chosen, fit.bound[chosen])
    by_truth["warning"] = _edges(by_truth, eta0=eta0)
    by_validation["warning"] = _edges(by_validation, radius=radius, eta0=eta0)
    near = np.flatnonzero(relative_gap(fit.objective[at_true], np.array(bound), at_zero) <= NEAR)
    if len(near):
        by_truth["iterations"] = near[0]
    return [
        {"radius_rule": "true", "solver": "subgradient"} | by_truth,
        {"radius_rule": "validated", "solver": "subgradient"} | by_validation,
        {"radius_rule": "true", "solver": "pdhg"} | best,
    ]


def error(W: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """The fraction of samples whose score has not the label's sign, over all tasks.

    W: (n_features, n_tasks). X: (n_tasks, n, n_features). y: (n_tasks, n) of -1 and +1.
    """
    scores = np.einsum("knd,dk->kn", X, W)  # the same bits for any number of threads
    # Choice: a score of 0 counts one half, as a task without weights can only guess.
    return float(np.where(scores == 0, 0.5, scores * y < 0).mean())


def selection(W: np.ndarray, relevant: np.ndarray) -> dict[str, float]:
    """Precision and recall of the features that W uses for any task, and their fraction, as columns of a row.

    W: (n_features, n_tasks). relevant: (n_features,) bool. Precision is NaN where no feature is used.
    """
    used = W.any(axis=1)
    right = np.count_nonzero(used & relevant)
    precision = right / np.count_nonzero(used) if used.any() else np.nan
    return {"precision": precision, "recall": right / np.count_nonzero(relevant), "features": float(used.mean())}


def _edges(row: dict[str, Any], **grids: Sequence[float]) -> str:
    """Cell of the chosen values that lie at an edge of their grids."""
    return write_cell(sweep.at_edge(name, row[name], grid) for name, grid in grids.items())
