"""Certificates for fits: the objective, a lower bound of the optimum, and the gap between the objective and the bound.

Source: Fenchel's duality; see docs/training.md.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import Regulariser

# Rounding may put W outside its ball by this fraction of the radius without invalidating a certificate.
MOST_EXCESS = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}
LEAST_L2 = 1e-100  # smaller ridge terms are left out of the bound, because divisions by l2 might overflow


def lower_bound(
    problem: Problem, loss: ModuleType, regularisers: Sequence[Regulariser], dual: np.ndarray
) -> np.ndarray:
    """Compute a lower bound of the optimum of each pair (eta0, radius) from any dual variables.

    With V = X^T dual, the bound is sum dual_value - radius ||V||_dual. In the penalised form it is sum dual_value,
    after the dual variables are scaled down until ||V||_dual <= penalty. With a ridge term there is a second bound,
    and the result is the larger one; see `Regulariser.conjugate`. With intercepts, the dual variables of each
    task must sum to 0, so the positive or the negative ones, whichever sum to more, are scaled down first. Source:
    Fenchel's duality; see docs/training.md.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        The loss module; see `learning.losses`.
    regularisers : list of Regulariser
        Constraint or penalty of each pair (eta0, radius).
    dual : array (n_samples, n_pairs)
        Dual variables, in the order of the problem's y. Dual variables that rounding has put outside the
        domain of `loss.dual_value` are moved into it.

    Returns
    -------
    bound : array (n_pairs,), at least 0
    """
    # The bound is computed in double precision for every dtype of X. A dual step of size 0 moves into the domain.
    exact = dual.astype(np.float64)
    exact = loss.dual_step(exact, exact, problem.y, problem.c, 0.0)
    if problem.intercept:
        exact = balanced(problem, exact)
    return bound_from(problem, loss, regularisers, exact, problem.transposed(exact))


def bound_from(
    problem: Problem, loss: ModuleType, regularisers: Sequence[Regulariser], dual: np.ndarray, V: np.ndarray
) -> np.ndarray:
    """Compute the lower bound as `lower_bound` does, from V = X^T dual, which the caller has already computed.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        The loss module; see `learning.losses`.
    regularisers : list of Regulariser
        Constraint or penalty of each pair (eta0, radius).
    dual : array (n_samples, n_pairs)
        Dual variables within the domain of `loss.dual_value`. With intercepts, the dual variables of each
        task sum to 0.
    V : array (n_tasks, n_features, n_pairs)
        X^T dual of each task.

    Returns
    -------
    bound : array (n_pairs,), at least 0
    """
    bounds, share = np.zeros(len(regularisers)), np.ones((problem.n_tasks, len(regularisers)))
    for pair, regulariser in enumerate(regularisers):
        gradient = regulariser.gradient(V[:, :, pair].T)
        size = regulariser.norm.dual_norm(gradient, **regulariser.options)  # a single number, or one per task
        share[:, pair] = regulariser.dual_share(size)
        bounds[pair] -= regulariser.dual_cost(size)
    feasible = dual
    if (share != 1).any():
        feasible = np.vstack([dual[part.rows] * share[part.tasks].reshape(-1) for part in problem.parts])
    bounds += problem.per_pair(loss.dual_value(feasible, problem.y, problem.c))
    # The bound so far ignores the ridge term. Unless the ridge term is small, the second bound is larger.
    if all(regulariser.l2 > LEAST_L2 for regulariser in regularisers):
        conjugates = [regulariser.conjugate(V[:, :, pair].T) for pair, regulariser in enumerate(regularisers)]
        bounds = np.maximum(bounds, problem.per_pair(loss.dual_value(dual, problem.y, problem.c)) - conjugates)
    return np.maximum(bounds, 0.0)  # 0 is the bound of dual variables that are all 0


def balanced(problem: Problem, dual: np.ndarray) -> np.ndarray:
    """Scale down the positive or the negative dual variables of each task, so that they sum to 0 over the task."""
    up, down = problem.per_task(np.maximum(dual, 0), float), -problem.per_task(np.minimum(dual, 0), float)
    even, tiny = np.minimum(up, down), np.finfo(float).tiny
    shrink_up, shrink_down = even / np.maximum(up, tiny), even / np.maximum(down, tiny)
    even_dual = np.empty_like(dual)
    for part in problem.parts:
        A, up_by, down_by = dual[part.rows], shrink_up[part.tasks], shrink_down[part.tasks]
        even_dual[part.rows] = A * np.where(A > 0, up_by.reshape(-1), down_by.reshape(-1))
    return even_dual


def objective_of(
    problem: Problem, loss: ModuleType, regularisers: Sequence[Regulariser], W: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Compute the objective of each pair (eta0, radius) in double precision, even if X is in single precision.

    The objective is infinite if W violates its constraints, so that no gap certifies a W outside its ball.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        The loss module; see `learning.losses`.
    regularisers : list of Regulariser
        Constraint or penalty of each pair (eta0, radius).
    W : array (n_pairs, n_features, n_tasks)
        Weights.
    b : array (n_pairs, n_tasks)
        Intercepts.

    Returns
    -------
    objective : array (n_pairs,)
    """
    W = W.astype(np.float64)
    value = np.array([regulariser.cost(w) for regulariser, w in zip(regularisers, W, strict=True)])
    W_of = np.ascontiguousarray(W.transpose(2, 1, 0))
    used = np.flatnonzero(W.any(axis=(0, 2)))
    for part in problem.parts:
        F = part.margins(W_of, np.asarray(b, dtype=np.float64).T, used)
        value += problem.per_pair(loss.value(F, part.y, part.c))
    excess = MOST_EXCESS[problem.dtype]
    allowed = [regulariser.allows(w, excess) for regulariser, w in zip(regularisers, W, strict=True)]
    return np.where(allowed, value, np.inf)


def intercepts_of_samples(problem: Problem, b: np.ndarray) -> np.ndarray:
    """Return the margins of all samples for W = 0 and intercepts b (n_tasks,), in the shape of the problem's y."""
    return np.vstack([np.broadcast_to(b[part.tasks], part.y.shape) for part in problem.parts])


def best_intercepts(problem: Problem, loss: ModuleType) -> np.ndarray:
    """Return the intercepts (n_tasks,) that minimise the losses for W = 0, or zeros if the problem has no intercepts.

    For the squared loss they are the weighted means of the labels; for other losses they are found by bisection. If an
    optimal intercept is at a kink of the loss, the result lies close to the kink, between 0 and the kink.
    """
    b = np.zeros(problem.n_tasks)
    if not problem.intercept:
        return b
    if loss.QUADRATIC:
        total = problem.per_task(problem.c)[:, 0]
        return np.divide(problem.per_task(problem.c * problem.y)[:, 0], total, out=b, where=total > 0)
    # All samples of a task have the same margin, so all samples with the same label count as one.
    Y = np.repeat([[1.0], [-1.0]], problem.n_tasks, axis=1)
    c = np.stack([problem.per_task(problem.c * (problem.y == sign))[:, 0] for sign in (1, -1)])
    low, high = b - 40.0, b + 40.0  # at margins beyond 40 the logistic loss vanishes in double precision
    for _ in range(64):
        b = (low + high) / 2
        slope = loss.subgradient(np.stack([b, b]), Y, c).sum(axis=0)
        low, high = np.where(slope <= 0, b, low), np.where(slope >= 0, b, high)
    return b * (1 - 1e-6)


def solve_at_zero(problem: Problem, loss: ModuleType) -> tuple[np.ndarray, float]:
    """Return the best intercepts for W = 0, (n_tasks,), and the objective of W = 0 with these intercepts.

    The returned objective is at least a millionth of the objective for W = 0 and intercepts of 0.
    """
    b = best_intercepts(problem, loss)
    margins = (intercepts_of_samples(problem, intercepts) for intercepts in (b, np.zeros_like(b)))
    best, without = (float(loss.value(F, problem.y, problem.c).sum()) for F in margins)
    return b, max(best, 1e-6 * without)


def relative_gap(objective: Any, bound: Any, at_zero: float) -> Any:
    """Return `objective` - `bound`, divided by the smaller of `objective` and `at_zero` - `bound`.

    `at_zero` is the objective at W = 0. The divisor is at least a thousandth of `at_zero`. With this definition, the
    gap of W = 0 is 0 if W = 0 is optimal, and large if it is not.
    """
    size = np.maximum(np.minimum(objective, at_zero - bound), 1e-3 * at_zero)
    return np.maximum(objective - bound, 0.0) / np.maximum(size, np.finfo(float).tiny)
