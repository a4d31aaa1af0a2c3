"""Projected subgradient descent: W <- P(W - eta0 / sqrt(t) * subgradient).

Source: Quattoni et al. 2009, sec. 3.3.
"""

from types import ModuleType

import numpy as np

from jointsparse.checks import require
from jointsparse.compiled import njit
from jointsparse.learning.certificate import lower_bound, objective_of, relative_gap, solve_at_zero
from jointsparse.learning.fit import Best, Fit, Trace, Watch
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import per_pair
from jointsparse.threads import one_thread

TAKES = ("eta0",)
STOPS_AT_TOL = False


@njit
def subtract_gradient(W, G, step):  # type: ignore[no-untyped-def]
    """Subtract step[p] * G[:, :, p]^T from W[p] for each pair p, in place."""
    for i in range(W.shape[1]):
        for p in range(W.shape[0]):
            w, size = W[p, i], step[p]
            for k in range(w.size):
                w[k] -= size * G[k, i, p]


@one_thread()
def fit(
    problem: Problem,
    *,
    loss: ModuleType,
    norm: ModuleType,
    radius: np.ndarray,
    eta0: np.ndarray,
    n_iter: int = 200,
    penalised: bool = False,
    weights: np.ndarray | None = None,
    positive: bool = False,
    groups: np.ndarray | None = None,
    l2: float = 0.0,
    watch: Watch | None = None,
) -> Fit:
    """Minimise sum_k sum_i c_ik loss(f_ik, y_ik) subject to ||W|| <= radius, for many pairs (eta0, radius) at once.

    Each iteration takes one product with X and one with its transpose. The lower bound is computed from an average of
    the dual variables of the iterates. With a constraint the bound is tight. With a penalty it is loose, because the
    average is often far from feasible.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        The loss module; see `learning.losses`.
    norm : module
        The norm module; see `norms`.
    radius : array (n_pairs,) or (n_pairs, n_tasks), at least 0
        Radius of each pair (eta0, radius). The papers call the radius C. Norms with a ball for each task also accept
        one radius per task.
    eta0 : array (n_pairs,), above 0
        First step size of each pair (eta0, radius).
    n_iter : int
        Number of iterations.
    penalised : bool
        Whether to add radius * ||W|| to the losses instead of bounding ||W||. The steps are then proximal steps.
    weights : array (n_features,) or (n_groups,), or None
        Positive weights of the features or groups in the norm. None means 1.
    positive : bool
        Whether W must be non-negative.
    groups : int array (n_features,) or None
        The group of each feature, from 0 to n_groups - 1. The norm treats a group as one row. None means no groups.
    l2 : float, at least 0
        Factor of the ridge term l2 / 2 sum_jk W_jk^2, which is added to the losses.
    watch : function or None
        See `jointsparse.learning.solvers`.

    Returns
    -------
    fit : Fit

    Raises
    ------
    ValueError
        If a step size is not positive, or if training diverges.
    """
    eta0 = np.atleast_1d(eta0).astype(float)
    require((eta0 > 0).all(), f"eta0 must be greater than 0, got {np.min(eta0)}")
    regularisers = per_pair(norm, radius, penalised, weights, positive, groups, l2)
    n_pairs, warm = len(regularisers), [regulariser.warm_start() for regulariser in regularisers]
    visit, best = _Visit(problem, loss, n_pairs), Best(problem, n_pairs, Trace())
    W, b = best.W.copy(), best.b.copy()
    total, weight_sum = np.zeros_like(visit.slopes), np.zeros(n_pairs, dtype=problem.dtype)
    # Paper: at each iteration compute the subgradient, eq. 6, from the samples whose loss is not 0.
    for t in range(n_iter + 1):
        visit.at(W, b, last=t == n_iter)
        # Choice: return the iterate with the smallest objective. The paper does not say which one is returned.
        value = loss.value(visit.F, problem.y, problem.c) + [r.cost(w) for r, w in zip(regularisers, W, strict=True)]
        best.take(t, np.arange(n_pairs), value, W, b)
        if (watch and watch(t, float(best.smallest.sum()), np.nan)) or t == n_iter:
            break
        # Paper: W - eta * subgradient, with eta = eta0 / sqrt(t), t = 1, 2, …
        step = (eta0 / np.sqrt(t + 1)).astype(problem.dtype)
        subtract_gradient(W, visit.G, step)
        b -= step[:, np.newaxis] * visit.slope_b
        # Choice: later dual variables have larger weights in the average. With the step sizes as weights, the gaps were
        # three to six times larger.
        weight = (t + 1) ** 2 * step
        total -= np.multiply(visit.slopes, weight, out=visit.slopes)
        weight_sum += weight
        # Paper: project onto the ball, eq. 5. Every pair (eta0, radius) has a ball of its own.
        for pair, w in enumerate(W):
            try:
                regularisers[pair].step(w, float(step[pair]), **warm[pair])
            except ValueError:
                _refuse_divergence(w, t + 1, eta0[pair])
                raise
    # Choice: a lower bound of the optimum, which the paper does not have.
    total /= np.where(weight_sum > 0, weight_sum, 1)
    for of_pair, largest in zip(total.T, eta0, strict=True):
        _refuse_divergence(of_pair, t, largest)  # the last slopes may have overflowed
    bound = lower_bound(problem, loss, regularisers, total)
    value = objective_of(problem, loss, regularisers, best.W, best.b)
    gap = relative_gap(value, bound, solve_at_zero(problem, loss)[1])
    return Fit(best.W, best.b, best.objective.until(t, n_pairs), value, bound, gap, t, total)


def _refuse_divergence(values: np.ndarray, t: int, eta0: float) -> None:
    """Raise ValueError with advice if training has overflowed. t: the iteration. eta0: the first step size."""
    advice = f"choose an eta0 below {eta0:g}, or scale the features"
    require(np.isfinite(values).all(), f"training diverged in iteration {t}: {advice}")


class _Visit:
    """Margins and gradients of all tasks at a point. To compute them, each part of X is read only once.

    F : array (n_samples, n_pairs)
        Margins.
    slopes : array (n_samples, n_pairs)
        Derivatives of the losses with respect to the margins.
    G : array (n_tasks, n_features, n_pairs)
        Gradients with respect to W.
    slope_b : array (n_pairs, n_tasks)
        Gradients with respect to the intercepts.
    """

    def __init__(self, problem: Problem, loss: ModuleType, n_pairs: int) -> None:
        self.problem, self.loss = problem, loss
        self.W_of = np.empty((problem.n_tasks, problem.n_features, n_pairs), dtype=problem.dtype)
        self.G = np.zeros_like(self.W_of)
        self.F, self.slopes = (np.zeros((len(problem.y), n_pairs), dtype=problem.dtype) for _ in range(2))

    def at(self, W: np.ndarray, b: np.ndarray, last: bool) -> None:
        """Compute margins and gradients at W (n_pairs, n_features, n_tasks) and b (n_pairs, n_tasks).

        last: True for the last point, for which only the margins F are needed.
        """
        self.W_of[...] = W.transpose(2, 1, 0)
        used = np.flatnonzero(W.any(axis=(0, 2)))
        for part in self.problem.parts:
            F, slopes = self.F[part.rows], self.slopes[part.rows]
            F[...] = part.margins(self.W_of, b.T, used)
            if not last:
                self.loss.derivatives(F, part.y, part.c, slopes)
                part.add_transposed(slopes, self.G)
        self.slope_b = self.problem.per_task(self.slopes).T if self.problem.intercept else 0.0
