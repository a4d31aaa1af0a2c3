"""Independent l2-regularised linear classifiers with scikit-learn's LinearSVC: the standard SVM the paper compares to.

Source: Quattoni et al. 2009, sec. 6 (there SVM-Light).
"""

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from jointsparse.checks import Misfit
from jointsparse.learning.sweep import learnt_from


def run(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    C: Sequence[float],
    max_iter: int = 10_000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, np.ndarray]:
    """For every task k and every C: min_w ½‖w‖² + C sum_{i: Y_ik != 0} max(0, 1 - Y_ik x_i·w), without intercept.

    X: (n_samples, n_features). Y: (n_samples, n_tasks) in {-1, 0, +1}. C: scikit-learn's C, large = weakly regularised.

    Returns the arrays of a sweep, one entry per C, in increasing order: radius (C), eta0 (NaN), W (n_C, n_features,
    n_tasks), objective (n_C, 2): the sum of hinge losses at the zero matrix and at W, gap (NaN: LinearSVC certifies
    none), unconverged: the number of tasks that reached max_iter; and `sweep.learnt_from`.
    Raises Misfit where X and Y have not the same number of rows.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    if len(Y) != X.shape[0]:
        raise Misfit(f"Y must be a matrix with a row for each of {X.shape[0]} samples, got shape {Y.shape}")
    C = sorted(C)
    n_tasks = Y.shape[1]
    W = np.zeros((len(C), X.shape[1], n_tasks), dtype=X.dtype)
    hinge, unconverged = np.zeros((len(C), 2)), np.zeros(len(C), dtype=int)
    for k in range(n_tasks):
        rows = np.flatnonzero(Y[:, k])
        X_k, y = X[rows].astype(np.float64), Y[rows, k]
        for p, one_C in enumerate(C):
            learner = LinearSVC(C=one_C, loss="hinge", fit_intercept=False, max_iter=max_iter, random_state=seed)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                learner.fit(X_k, y)
            unconverged[p] += any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
            w = learner.coef_[0]
            W[p, :, k] = w
            hinge[p] += len(y), np.maximum(0.0, 1.0 - y * (X_k @ w)).sum()
        if progress:
            progress(k + 1, n_tasks)
    costs = np.asarray(C, dtype=float)
    return {
        "radius": costs,
        "eta0": np.full(len(C), np.nan),
        "W": W,
        "objective": hinge,
        "gap": np.full(len(C), np.nan),
        "unconverged": unconverged,
        "learnt_from": learnt_from(X, Y, "svm-l2"),
    }
