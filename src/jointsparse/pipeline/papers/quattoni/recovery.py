"""Learn tasks with known weights, and measure the test error and how well the relevant features are selected.

Source: Quattoni et al. 2009, sec. 5 and Fig. 1.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.learning.certificate import relative_gap
from jointsparse.learning.fit import Fit
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.radii import choose_eta0, choose_radius
from jointsparse.learning.solvers import subgradient, working_set
from jointsparse.norms import l1, l1inf, l2
from jointsparse.pipeline import sweep
from jointsparse.pipeline.datasets import synthetic
from jointsparse.pipeline.flag import gap_above, write_cell
from jointsparse.pipeline.papers.harness import Progress, silent, ticking

COMPARED = {"l1inf": l1inf, "l1": l1, "l2": l2}
# Choice: larger radii are tried until this many in a row have not improved on the smallest validation error so far.
PATIENCE = 2
# By column: the first iteration is recorded whose objective is within this fraction of the optimum.
NEAR_OPTIMUM = {"iterations": 0.01, "iterations_3": 0.03, "iterations_10": 0.1}


def run(
    data: None,
    *,
    tasks: Mapping[str, Any],
    sizes: Sequence[int],
    weights: Sequence[str] = ("normal",),
    support: Sequence[str] = ("random",),
    rng: np.random.Generator,
    progress: Progress = silent,
    **options: Any,
) -> pd.DataFrame:
    """Do one repetition with newly drawn tasks.

    Parameters
    ----------
    data : None
    tasks : mapping
        Options of `synthetic.draw`.
    weights, support : sequences of str
        Options of `synthetic.draw`. Tasks are drawn for every combination of weights and support. The paper uses only
        normal weights on random supports.
    sizes : sequence of int, at least 1
        Numbers of training samples per task.
    rng : numpy.random.Generator
        Draws the tasks.
    progress : callable
        Called with the number of fits done and the number of fits for all norms and sizes, separately for each
        combination of weights and support.
    **options : Any
        Options of `learn`.

    Returns
    -------
    DataFrame
        The concatenated tables of `learn`, with `weights` and `support` as additional first columns.
    """
    tables = []
    for kind, used in product(weights, support):
        drawn = synthetic.draw(**tasks, weights=kind, support=used, n_train=max(sizes), rng=rng)
        learnt = learn(drawn, sizes=sizes, progress=progress, **options)
        tables.append(pd.concat([pd.DataFrame({"weights": kind, "support": used}, index=learnt.index), learnt], axis=1))
    return pd.concat(tables, ignore_index=True)


def learn(
    data: synthetic.Synthetic,
    *,
    sizes: Sequence[int],
    progress: Progress = silent,
    **options: Any,
) -> pd.DataFrame:
    """Learn the tasks from training sets of several sizes, with each norm.

    minimise sum_k 1/n sum_i max(0, 1 - y_ik w_k . x_ik)  subject to ||W|| <= radius (l1inf), or ||w_k|| <= radius_k
    for each task (l1, l2).

    Parameters
    ----------
    data : Synthetic
        See `synthetic.draw`.
    sizes : sequence of int, from 1 to the number of training samples of a task
        Numbers of training samples per task.
    progress : callable
        Called with the number of fits done and the number of fits for all norms and sizes.
    **options : Any
        Options of `rows_of`.

    Returns
    -------
    DataFrame
        Three rows for each size and method (hinge-l1inf, hinge-l1, hinge-l2):

        - radius_rule "true", solver "subgradient": the radius is the norm of the true weights, either of W or of each
          w_k.
        - radius_rule "true", solver "working_set": the optimum that the fit in the first row approaches.
        - radius_rule "validated", solver "working_set": the optimum for the radius with the smallest validation error.
          This radius is the same for all tasks.

        Columns:

        - n: number of training samples per task.
        - method, radius_rule, solver: as above.
        - radius: the radius, or the mean of the radii if they differ between tasks.
        - eta0: the first step size, or NaN for the solver without step sizes.
        - test_error: fraction of test samples that are misclassified.
        - precision, recall: precision and recall of the selected features, which are those with a non-zero weight for
          any task. Precision is NaN if no feature is selected.
        - features: fraction of the features that are selected.
        - objective: the objective, divided by the objective at W = 0.
        - gap: certified relative duality gap. Rows with "true" use the better lower bound of the two solvers.
        - iterations: index of the first iterate whose objective is within 1 % of the optimum. It is missing if there
          is no such iterate or if the optimum is unknown.
        - iterations_3, iterations_10: the same for 3 % and 10 %.
        - warning: says that eta0 or the radius lies at the edge of its grid, or that an optimum is not certified to
          `tol`.

    References
    ----------
    Quattoni et al. 2009, sec. 5.
    """
    rows: list[dict[str, Any]] = []
    tick = ticking(progress, len(COMPARED) * len(sizes))
    for n, (name, norm) in product(sizes, COMPARED.items()):
        problem = Problem([*data.X_train[:, :n]], [*data.y_train[:, :n]], normalisation="mean")
        rows += [{"n": n, "method": f"hinge-{name}"} | row for row in rows_of(problem, data, norm, **options)]
        tick()
    return pd.DataFrame(rows).astype(dict.fromkeys(NEAR_OPTIMUM, "Int64"))


def rows_of(
    problem: Problem,
    data: synthetic.Synthetic,
    norm: Any,
    *,
    eta0: Sequence[float],
    radius: Sequence[float],
    n_iter: int,
    tol: float = 1e-3,
    optimum_n_iter: int = 5000,
) -> list[dict[str, Any]]:
    """Return the three rows of the table for a training set and a norm.

    Parameters
    ----------
    problem : Problem
        The tasks with their training samples.
    data : Synthetic
        All drawn samples and the true weights.
    norm : module
        One of the modules in `norms`.
    eta0 : sequence of float, above 0
        First step sizes of the subgradient method. The fit with the smallest training objective is kept.
    radius : sequence of float, at least 0
        Radii from which the validation error chooses. They are tried in increasing order, until PATIENCE radii in a row
        bring no improvement.
    n_iter : int, at least 1
        Number of iterations of the subgradient method.
    tol : float, at least 0
        Relative duality gap at which the solver that computes the optima stops.
    optimum_n_iter : int, at least 1
        Largest number of iterations of this solver.
    """
    true = np.asarray(norm.norm(data.W))  # a scalar, or an array with an entry per task
    # Choice: validation chooses from the same radii for every task and norm; the paper gives no grid. Multiples of the
    # true norms would anticipate what validation has to find. In the paper's problem, the true l1inf, l1 and l2 norms
    # are about 49, 12 and 4.
    radii = np.stack([true, *(np.full(true.shape, value) for value in sorted(radius))])
    steps = np.asarray(eta0, dtype=float)
    fit = subgradient.fit(
        problem, loss=hinge, norm=norm, radius=np.repeat(radii[:1], len(steps), axis=0), eta0=steps, n_iter=n_iter
    )
    (best,) = choose_eta0(np.zeros(len(steps)), fit.objective)
    optima, chosen = _optima(problem, data, norm, radii, tol=tol, n_iter=optimum_n_iter)
    bound, at_zero = max(fit.bound[best], optima.bound[0]), float(fit.objective[0, 0])

    def row(
        rule: str, learnt: Fit, i: int, radii: np.ndarray, bound: float, **grids: Sequence[float]
    ) -> dict[str, Any]:
        solver, eta = ("subgradient", steps[i]) if learnt is fit else ("working_set", np.nan)
        chosen = {"radius": radii.mean(), "eta0": eta}
        gap = float(relative_gap(np.array(learnt.value[i]), np.array(bound), at_zero))
        flags = [
            *(sweep.at_edge(name, chosen[name], grid) for name, grid in grids.items()),
            *([gap_above(tol, gap)] if learnt is optima else []),
        ]
        return {
            "radius_rule": rule,
            "solver": solver,
            **chosen,
            "test_error": error(learnt.W[i], data.X_test, data.y_test),
            **selection(learnt.W[i], data.relevant),
            "objective": learnt.value[i] / at_zero,
            "gap": gap,
            **dict.fromkeys(NEAR_OPTIMUM),
            "warning": write_cell(flags),
        }

    rows = [
        row("true", fit, best, true, bound, eta0=eta0),
        row("true", optima, 0, true, bound),
        row("validated", optima, chosen, radii[chosen], optima.bound[chosen], radius=radius),
    ]
    gaps = relative_gap(fit.objective[best], np.array(bound), at_zero)
    for column, fraction in NEAR_OPTIMUM.items():
        near = np.flatnonzero(gaps <= fraction)
        rows[0][column] = near[0] if len(near) else None
    return rows


def _optima(
    problem: Problem, data: synthetic.Synthetic, norm: Any, radii: np.ndarray, **options: Any
) -> tuple[Fit, int]:
    """Return the optima at the true radii and at the other radii, and the index of the one chosen by validation.

    The other radii are tried until the validation error stops improving. options: passed to `working_set.fit`.
    """
    fits: list[Fit] = []
    errors: list[float] = []
    for pair in radii[:, np.newaxis]:
        fits.append(working_set.fit(problem, loss=hinge, norm=norm, radius=pair, **options))
        if len(fits) > 1:
            errors.append(error(fits[-1].W[0], data.X_validation, data.y_validation))
        if errors and len(errors) > int(np.argmin(errors)) + PATIENCE:
            break
    return Fit.stack(fits), 1 + choose_radius(-np.array(errors))


def error(W: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Return the fraction of the samples of all tasks whose score does not have the sign of the label.

    W: (n_features, n_tasks). X: (n_tasks, n, n_features). y: (n_tasks, n) of -1 and +1.
    """
    scores = np.einsum("knd,dk->kn", X, W)  # bitwise the same result for any number of threads
    # Choice: a score of 0 counts as half an error, because a task without weights can only guess.
    return float(np.where(scores == 0, 0.5, scores * y < 0).mean())


def selection(W: np.ndarray, relevant: np.ndarray) -> dict[str, float]:
    """Return, by column name, the precision and recall of the features that W uses for any task, and their fraction.

    W: (n_features, n_tasks). relevant: (n_features,) bool. Precision is NaN if no feature is used.
    """
    used = W.any(axis=1)
    right = np.count_nonzero(used & relevant)
    return {
        "precision": (right / np.count_nonzero(used) if used.any() else np.nan),
        "recall": right / np.count_nonzero(relevant),
        "features": float(used.mean()),
    }
