"""Optima of training problems, by an interior-point method."""

import cvxpy as cp
import numpy as np

from jointsparse.norms import NORMS

CONVEX_NORMS = {
    "l1": lambda W: cp.sum(cp.abs(W)),
    "l2": lambda W: cp.sum(cp.norm(W, 2, axis=0)),
    "l12": lambda W: cp.sum(cp.norm(W, 2, axis=1)),
    "l1inf": lambda W: cp.sum(cp.max(cp.abs(W), axis=1)),
}
CONVEX_LOSSES = {
    "hinge": lambda f, y: cp.pos(1 - cp.multiply(y, f)),
    "logistic": lambda f, y: cp.logistic(-cp.multiply(y, f)),
    "squared": lambda f, y: cp.square(y - f) / 2,
}


def optimum(problem, loss, norm, radius, penalised, **options):
    """Smallest objective and its W, by an interior-point method with options of CLARABEL."""
    W, b = cp.Variable((problem.n_features, problem.n_tasks)), cp.Variable(problem.n_tasks)
    value, constraints = 0, [] if problem.intercept else [b == 0]
    for part in problem.parts:
        value += part.c[:, 0] @ CONVEX_LOSSES[loss](part.X @ W[:, part.task] + b[part.task], part.y[:, 0])
    if penalised:
        value += radius * CONVEX_NORMS[norm](W)
    elif np.ndim(NORMS[norm].norm(np.eye(2))):  # a ball for each task
        constraints += [CONVEX_NORMS[norm](W[:, [k]]) <= radius for k in range(problem.n_tasks)]
    else:
        constraints += [CONVEX_NORMS[norm](W) <= radius]
    return cp.Problem(cp.Minimize(value), constraints).solve(solver=cp.CLARABEL, **options), W.value
