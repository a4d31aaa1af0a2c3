"""Optima of training problems, computed by an interior-point method."""

import cvxpy as cp
import numpy as np

from jointsparse.norms import NORMS

# s: weights of the rows, which l2 ignores.
CONVEX_NORMS = {
    "l1": lambda W, s: cp.sum(cp.abs(W).T @ s),
    "l2": lambda W, s: cp.sum(cp.norm(W, 2, axis=0)),
    "l12": lambda W, s: s @ cp.norm(W, 2, axis=1),
    "l1inf": lambda W, s: s @ cp.max(cp.abs(W), axis=1),
}
ORDERS = {"l12": 2, "l1inf": "inf"}
assert set(CONVEX_NORMS) == set(NORMS), "every norm must have its expression in CONVEX_NORMS"


def convex_norm(norm, W, s, groups=None):
    """Return the expression of a norm with weights s, one per row or, if `groups` are given, one per group."""
    if groups is None:
        return CONVEX_NORMS[norm](W, s)
    return sum(s[g] * cp.norm(cp.vec(W[groups == g], order="C"), ORDERS[norm]) for g in np.unique(groups))


CONVEX_LOSSES = {
    "hinge": lambda f, y: cp.pos(1 - cp.multiply(y, f)),
    "logistic": lambda f, y: cp.logistic(-cp.multiply(y, f)),
    "squared": lambda f, y: cp.square(y - f) / 2,
}


def optimum(problem, loss, norm, radius, penalised, weights=None, positive=False, groups=None, l2=0.0, **options):
    """Return the smallest objective and its W. options: passed to the interior-point solver CLARABEL."""
    s = np.ones(problem.n_features) if weights is None else weights  # long enough for groups, too
    W, b = cp.Variable((problem.n_features, problem.n_tasks)), cp.Variable(problem.n_tasks)
    value, constraints = l2 / 2 * cp.sum_squares(W) if l2 else 0, [] if problem.intercept else [b == 0]
    for part in problem.parts:
        value += part.c[:, 0] @ CONVEX_LOSSES[loss](part.X @ W[:, part.tasks.start] + b[part.tasks.start], part.y[:, 0])
    constraints += [W >= 0] if positive else []
    if penalised:
        value += radius * convex_norm(norm, W, s, groups)
    elif NORMS[norm].PER_TASK:
        constraints += [CONVEX_NORMS[norm](W[:, [k]], s) <= radius for k in range(problem.n_tasks)]
    else:
        constraints += [convex_norm(norm, W, s, groups) <= radius]
    return cp.Problem(cp.Minimize(value), constraints).solve(solver=cp.CLARABEL, **options), W.value
