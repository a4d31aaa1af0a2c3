"""Projected subgradient descent: W <- P(W - eta0 / sqrt(t) * subgradient).

Source: Quattoni et al. 2009, sec. 3.3.
"""

from collections.abc import Callable
from types import ModuleType

import numpy as np
from numba import njit

from jointsparse.learning.problem import (
    Fit,
    Problem,
    Regulariser,
    add_transposed_product,
    by_task,
    in_one_thread,
    lower_bound,
    objective_at_zero,
    objective_of,
    product,
    relative_gap,
)

TAKES = ("eta0",)
STOPS_AT_TOL = False


@njit(cache=True)
def any_weight(w):  # type: ignore[no-untyped-def]
    """Whether a weight is not 0. Without an early end it runs on vector units."""
    found = False
    for k in range(w.size):
        found |= w[k] != 0
    return found


@njit(cache=True)
def features_in_use(W, used):  # type: ignore[no-untyped-def]
    """Whether any weight of a feature is not 0: `used` (n_features,)."""
    for i in range(W.shape[1]):
        p = 0
        while p < W.shape[0] and not any_weight(W[p, i]):
            p += 1
        used[i] = p < W.shape[0]


@njit(cache=True)
def descend(W, G, step):  # type: ignore[no-untyped-def]
    """W[p] -= step[p] G[:, :, p]^T."""
    for i in range(W.shape[1]):
        for p in range(W.shape[0]):
            w, size = W[p, i], step[p]
            for k in range(w.size):
                w[k] -= size * G[k, i, p]


@in_one_thread
def fit(
    problem: Problem,
    *,
    loss: ModuleType,
    norm: ModuleType,
    radius: np.ndarray,
    eta0: np.ndarray,
    n_iter: int = 200,
    penalised: bool = False,
    start: Fit | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Minimise sum_k sum_i c_ik loss(f_ik, y_ik) subject to ||W|| <= radius, for many pairs together.

    problem: the tasks. loss, norm: plug-ins. radius, eta0: (n_pairs,), the radius and the first step size of each
    pair; penalised: add radius * ||W|| instead, by proximal steps. The paper's C is called radius here, because
    scikit-learn's C means nearly the opposite. n_iter: iterations, always all of them. start: a fit to begin from
    instead of 0. progress: called with (iterations done, of all).

    The bound of the fit is that of an average of the iterates' dual variables. It is good for balls; where penalised,
    the average is often far from what the penalty allows, and the bound poor. Each iteration takes one product with X
    and one with its transpose.
    """
    radius, eta0 = np.atleast_1d(radius).astype(float), np.atleast_1d(eta0).astype(float)
    if not np.all(eta0 > 0):
        raise ValueError(f"eta0 must be greater than 0, got {np.min(eta0)}")
    # Choice: the iterate with the smallest objective is kept, as usual for subgradient methods; the papers do not say.
    n_pairs, n_tasks = len(radius), problem.n_tasks
    regulariser = Regulariser(norm, radius, penalised)
    W = np.zeros((n_pairs, problem.n_features, n_tasks), dtype=problem.dtype)
    b = np.zeros((n_pairs, n_tasks), dtype=problem.dtype)
    if start is not None:
        W[...], b[...] = start.W, start.b
        for p in range(n_pairs) if not penalised else ():
            regulariser.step(W[p], p, 1.0)
    warm = [{"warm": norm.Warm()} if norm.WARM else {} for _ in range(n_pairs)]
    W_of = np.empty((n_tasks, problem.n_features, n_pairs), dtype=problem.dtype)
    G, in_use = np.zeros_like(W_of), np.empty(problem.n_features, dtype=bool)
    F, slopes, average = (np.zeros((len(problem.y), n_pairs), dtype=problem.dtype) for _ in range(3))
    objective = np.zeros((n_pairs, n_iter + 1))
    best, best_W, best_b = np.zeros(n_pairs, dtype=int), W.copy(), b.copy()
    weights = np.zeros(n_pairs, dtype=problem.dtype)
    for t in range(n_iter + 1):
        by_task(W, W_of)
        features_in_use(W, in_use)
        used = np.flatnonzero(in_use)
        step = (eta0 / np.sqrt(t + 1)).astype(problem.dtype)  # Paper: eta = eta0 / sqrt(t), t = 1, 2, …
        # Choice: later dual variables weigh more; plain step sizes gave bounds with three to six times the gap.
        weight = (t + 1) ** 2 * step
        slope_b = np.zeros_like(b)
        previous = -1
        for part in problem.parts:
            k = part.task
            margins = product(part.X, W_of[k], used)
            if problem.intercept:
                margins += b[:, k]
            F[part.rows] = margins
            if t < n_iter:
                of_part = loss.subgradient(margins, part.y, part.c)
                add_transposed_product(part.X, of_part, G[k], first=k != previous)
                slopes[part.rows] = of_part
                if problem.intercept:
                    slope_b[:, k] += of_part.sum(axis=0)
            previous = k
        objective[:, t] = loss.value(F, problem.y, problem.c)
        for p in range(n_pairs) if penalised else ():
            objective[p, t] += regulariser.cost(W[p], p)
        better = objective[:, t] < objective[np.arange(n_pairs), best]
        best[better] = t
        for p in range(n_pairs):
            if better[p]:
                best_W[p], best_b[p] = W[p], b[p]
        if progress:
            progress(t, n_iter)
        if t == n_iter:
            break
        average -= np.multiply(slopes, weight, out=slopes)
        weights += weight
        descend(W, G, step)
        b -= step[:, np.newaxis] * slope_b
        for p in range(n_pairs):
            try:
                regulariser.step(W[p], p, float(step[p]), **warm[p])
            except ValueError:
                if np.isfinite(W[p]).all():
                    raise
                raise ValueError(
                    f"training diverged in iteration {t + 1}: choose an eta0 below {eta0[p]:g}, or scale the features"
                ) from None
    average /= np.where(weights > 0, weights, 1)
    dual = [average[part.rows] for part in problem.parts]
    bound = lower_bound(problem, loss, regulariser, dual)
    value = objective_of(problem, loss, regulariser, best_W, best_b)
    gap = relative_gap(value, bound, objective_at_zero(problem, loss))
    return Fit(best_W, best_b, objective, value, bound, gap, n_iter, dual)
