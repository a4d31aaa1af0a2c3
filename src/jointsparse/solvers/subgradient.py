"""Projected subgradient descent: W <- P(W - eta0 / sqrt(t) * subgradient).

Source: Quattoni et al. 2009, sec. 3.3.
"""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np


class Fit(NamedTuple):
    """What training found, for each of the pairs.

    W: (n_pairs, n_features, n_tasks), the iterate of smallest objective. objective: (n_pairs, n_iter + 1) at every
    iterate, the zero matrix first. best: (n_pairs,), the iteration of W.
    """

    W: np.ndarray
    objective: np.ndarray
    best: np.ndarray


def fit(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    loss: ModuleType,
    norm: ModuleType,
    eta0: np.ndarray,
    radius: np.ndarray,
    n_iter: int = 200,
    normalisation: str = "sum",
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Minimise sum_k c_k sum_{i: Y_ik != 0} loss(Y_ik x_i·w_k) subject to ‖W‖ <= radius, for many pairs together.

    X: (n_samples, n_features), float32 or float64, kept. Y: (n_samples, n_tasks) in {-1, 0, +1}, 0 = the sample is not
    part of that task. loss, norm: plug-ins. eta0, radius: (n_pairs,), first step size and radius of each pair.
    normalisation: "sum" (c_k = 1; Quattoni et al. 2009, sec. 6) or "mean" (c_k = 1 / n_k; sec. 5). The paper's C is
    called radius here, because scikit-learn's C means nearly the opposite.
    progress: called with (iterations done, of all).
    """
    if not np.all(np.asarray(eta0) > 0):
        raise ValueError(f"eta0 must be greater than 0, got {np.min(eta0)}")
    # Choice: the iterate with the smallest objective is kept, as usual for subgradient methods; the papers do not say.
    n_features, n_tasks, n_pairs = X.shape[1], Y.shape[1], len(radius)
    members = [np.flatnonzero(Y[:, k]) for k in range(n_tasks)]
    X_of = [np.ascontiguousarray(X[rows]) for rows in members]
    Y_of = [np.ascontiguousarray(Y[rows, k, None], dtype=X.dtype) for k, rows in enumerate(members)]
    c = task_weights(Y, normalisation)

    W = np.zeros((n_pairs, n_features, n_tasks), dtype=X.dtype)
    by_task = np.empty((n_tasks, n_features, n_pairs), dtype=X.dtype)
    objective = np.zeros((n_pairs, n_iter + 1))
    best, best_W = np.zeros(n_pairs, dtype=int), W.copy()
    for t in range(n_iter + 1):
        np.copyto(by_task, W.transpose(2, 1, 0))
        for k in range(n_tasks):
            F = X_of[k] @ by_task[k]
            objective[:, t] += c[k] * loss.value(F, Y_of[k])
            by_task[k] = X_of[k].T @ (loss.subgradient(F, Y_of[k]) * X.dtype.type(c[k]))
        better = objective[:, t] < objective[np.arange(n_pairs), best]
        best[better] = t
        best_W[better] = W[better]
        if progress:
            progress(t, n_iter)
        if t < n_iter:
            step = (eta0 / np.sqrt(t + 1)).astype(X.dtype)  # Paper: eta = eta0 / sqrt(t), t = 1, 2, …
            W -= step[:, None, None] * by_task.transpose(2, 1, 0)
            for p in range(n_pairs):
                norm.project(W[p], radius[p], out=W[p])
    return Fit(best_W, objective, best)


def task_weights(Y: np.ndarray, normalisation: str) -> np.ndarray:
    """The weight c_k of each task's losses: 1 for "sum", one over its number of samples for "mean"."""
    if normalisation == "sum":
        return np.ones(Y.shape[1])
    if normalisation == "mean":
        return 1.0 / np.maximum(np.count_nonzero(Y, axis=0), 1)
    raise ValueError(f"normalisation must be 'sum' or 'mean', got {normalisation!r}")
