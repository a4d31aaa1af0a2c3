"""How far a fit is from the optimum: its objective, a lower bound of all objectives, and the duality gap between them.

Source: Fenchel's duality; see docs/training.md.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from jointsparse.learning.problem import Problem, magnitude
from jointsparse.learning.regulariser import Regulariser

# A certificate allows W to exceed its ball by this share of the radius, which is rounding.
MOST_EXCESS = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}


def lower_bound(
    problem: Problem, loss: ModuleType, regularisers: Sequence[Regulariser], dual: np.ndarray
) -> np.ndarray:
    """Bound all objectives of each pair from below, by any dual variables of the losses.

    With V = X^T dual, the bound is sum dual_value - radius ||V||_dual. If penalised, it is sum dual_value of the dual
    variables scaled down until ||V||_dual <= penalty. With intercepts, dual variables must sum to 0 within each task.
    So the larger of their positive and negative sums is scaled down first. Source: Fenchel's duality; see
    docs/training.md.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        Plug-in of losses.
    regularisers : list of Regulariser
        Constraint or penalty of each pair.
    dual : array (n_samples, n_pairs)
        Dual variables, in the order of the problem's y.
        They are moved into the domain of `loss.dual_value` where rounding left them outside.

    Returns
    -------
    bound : array (n_pairs,), at least 0
    """
    # In double precision, whatever X is. A dual step of size 0 leads into the domain.
    exact = dual.astype(np.float64)
    exact = loss.dual_step(exact, exact, problem.y, problem.c, 0.0)
    if problem.intercept:
        exact = balanced(problem, exact)
    return bound_from(problem, loss, regularisers, exact, problem.transposed(exact))


def bound_from(
    problem: Problem, loss: ModuleType, regularisers: Sequence[Regulariser], dual: np.ndarray, V: np.ndarray
) -> np.ndarray:
    """Compute `lower_bound` from balanced dual variables and their known V = X^T dual.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        Plug-in of losses.
    regularisers : list of Regulariser
        Constraint or penalty of each pair.
    dual : array (n_samples, n_pairs)
        Dual variables of the domain. With intercepts, they sum to 0 within each task.
    V : array (n_tasks, n_features, n_pairs)
        X^T dual of each task.

    Returns
    -------
    bound : array (n_pairs,), at least 0
    """
    bounds, share = np.zeros(len(regularisers)), np.ones((problem.n_tasks, len(regularisers)))
    for pair, regulariser in enumerate(regularisers):
        gradient = regulariser.gradient(V[:, :, pair].T)
        size = regulariser.norm.dual_norm(gradient, **regulariser.options)  # one number, or one per task
        share[:, pair] = regulariser.dual_share(size)
        bounds[pair] -= regulariser.dual_cost(size)
    if (share != 1).any():
        dual = np.vstack([dual[part.rows] * share[part.tasks].reshape(-1) for part in problem.parts])
    bounds += problem.per_pair(loss.dual_value(dual, problem.y, problem.c))
    return np.maximum(bounds, 0.0)  # 0 is the bound of dual variables that are all 0


def balanced(problem: Problem, dual: np.ndarray) -> np.ndarray:
    """Scale the larger of the positive and negative sums of each task's dual variables down to the other."""
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
    """Compute the objective of each pair in double precision, whatever X is; infinity where W breaks its constraints.

    So no gap certifies a W outside its ball, whichever solver it is from.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        Plug-in of losses.
    regularisers : list of Regulariser
        Constraint or penalty of each pair.
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
    """Margins for W = 0 and intercepts b (n_tasks,), like the problem's y."""
    return np.vstack([np.broadcast_to(b[part.tasks], part.y.shape) for part in problem.parts])


def best_intercepts(problem: Problem, loss: ModuleType) -> np.ndarray:
    """Find the intercepts (n_tasks,) of smallest losses for W = 0, means or by bisection; 0 if the problem has none.

    Where a kink of the loss is the best, the result is next to it on the side of 0.
    """
    b = np.zeros(problem.n_tasks)
    if not problem.intercept:
        return b
    if loss.QUADRATIC:
        total = problem.per_task(problem.c)[:, 0]
        return np.divide(problem.per_task(problem.c * problem.y)[:, 0], total, out=b, where=total > 0)
    # Beyond 40 the logistic loss is 0 to double precision.
    size = 40.0 * max(1.0, magnitude(problem.y))
    low, high = b - size, b + size
    for _ in range(64):
        b = (low + high) / 2
        slope = problem.per_task(loss.subgradient(intercepts_of_samples(problem, b), problem.y, problem.c))[:, 0]
        low, high = np.where(slope <= 0, b, low), np.where(slope >= 0, b, high)
    return b * (1 - 1e-6)


def solve_at_zero(problem: Problem, loss: ModuleType) -> tuple[np.ndarray, float]:
    """Return the best intercepts for W = 0, (n_tasks,), and the objective of W = 0 with these intercepts.

    If that is less than a millionth of the objective with intercepts of 0, this millionth is returned instead.
    """
    b = best_intercepts(problem, loss)
    margins = (intercepts_of_samples(problem, intercepts) for intercepts in (b, np.zeros_like(b)))
    best, without = (float(loss.value(F, problem.y, problem.c).sum()) for F in margins)
    return b, max(best, 1e-6 * without)


def relative_gap(objective: Any, bound: Any, at_zero: float) -> Any:
    """Return objective - bound, divided by the smaller of objective and at_zero - bound.

    at_zero is the objective at W = 0, and the divisor is at least a thousandth of it. So W = 0 has a gap of 0 if it is
    optimal, and a large gap if it is not.
    """
    size = np.maximum(np.minimum(objective, at_zero - bound), 1e-3 * at_zero)
    return np.maximum(objective - bound, 0.0) / np.maximum(size, np.finfo(float).tiny)
