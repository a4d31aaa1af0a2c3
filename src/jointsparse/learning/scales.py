"""Natural scales of radii and penalties, computed from the data.

L is convex, so L(W) >= L(0) - ||W|| ||grad L(0)||_dual. A non-negative loss can therefore vanish only if the radius is
at least L(0) / ||grad L(0)||_dual, which is the natural unit of radii. W = 0 is optimal for every penalty of at least
||grad L(0)||_dual. Source: docs/training.md.
"""

from types import ModuleType
from typing import NamedTuple

import numpy as np

from jointsparse.learning.certificate import balanced, best_intercepts, intercepts_of_samples
from jointsparse.learning.problem import Problem, magnitude
from jointsparse.learning.regulariser import Ball
from jointsparse.threads import one_thread


class Scales(NamedTuple):
    """The natural scales of radii, penalties and gradients for a problem.

    radius : float
        Natural unit of radii, called R0. In a smaller ball no W makes all losses 0, but a smaller radius may still be
        useful.
    penalty : float
        Upper bound of the smallest penalty for which W = 0 is optimal. Without intercepts, it is this smallest penalty.
    gradient : float
        Frobenius norm of the gradient at W = 0. The quantity eta0 * gradient / radius is dimensionless.
    """

    radius: float
    penalty: float
    gradient: float


@one_thread()
def scales(
    problem: Problem,
    *,
    loss: ModuleType,
    norm: ModuleType,
    weights: np.ndarray | None = None,
    positive: bool = False,
    groups: np.ndarray | None = None,
) -> Scales:
    """Compute the scales of a problem from its gradient at W = 0 and the best intercepts for W = 0.

    For a norm that treats each task separately, the radius and the penalty are maxima over the tasks.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        The loss module; see `learning.losses`.
    norm : module
        The norm module; see `norms`.
    weights : array (n_features,) or (n_groups,), or None
        See `Regulariser`.
    positive : bool
        See `Regulariser`.
    groups : int array (n_features,) or None
        See `Regulariser`.

    Returns
    -------
    Scales
        The natural scales. The radius is 0 if the losses or their gradient vanish at W = 0.
    """
    whole = problem.together()
    dual = -loss.subgradient(intercepts_of_samples(whole, best_intercepts(whole, loss)), whole.y, whole.c)
    if problem.intercept:
        dual = balanced(whole, dual)
    value = np.zeros(problem.n_tasks)
    for part in whole.parts:
        value[part.tasks] += loss.dual_value(dual[part.rows], part.y, part.c)
    G = _without_rounding_errors(whole, dual, np.ascontiguousarray(whole.transposed(dual)[:, :, 0].T))
    ball = Ball(norm, 0.0, weights, positive, groups)
    size = np.asarray(norm.dual_norm(ball.gradient(G), **ball.options))
    losses = value if size.ndim else value.sum()
    radius = np.max(np.divide(losses, size, out=np.zeros_like(size), where=size > 0), initial=0.0)
    return Scales(float(radius), float(np.max(size, initial=0.0)), float(np.linalg.norm(G)))


def _without_rounding_errors(problem: Problem, dual: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return G = X^T dual, (n_features, n_tasks), with entries that may be mere rounding errors replaced by 0.

    Each entry of G is a sum over samples. With intercepts, the terms of this sum cancel if the feature is constant.
    """
    n, eps = len(dual), np.finfo(problem.dtype).eps
    largest = max(magnitude(part.X) for part in problem.parts) * np.abs(dual).sum()
    # Usually some entry exceeds every possible rounding error. Then G is returned unchanged.
    if np.abs(G).max(initial=0.0) > n * eps * largest:
        return G
    sums, sizes = np.zeros((2, *G.T.shape, 1))
    for part in problem.parts:
        X, A = part.X.astype(np.float64), dual[part.rows].astype(np.float64)
        part._replace(X=X).add_transposed(A, sums)
        part._replace(X=abs(X)).add_transposed(np.abs(A), sizes)
    return np.where(np.abs(sums) > (2 * eps + n * np.finfo(float).eps) * sizes, sums, 0.0)[:, :, 0].T
