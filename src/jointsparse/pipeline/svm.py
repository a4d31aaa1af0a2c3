"""Train an independent l2-regularised linear classifier per task with scikit-learn's LinearSVC.

This is the standard SVM with which the paper compares its method. Source: Quattoni et al. 2009, sec. 6, which uses
SVM-Light.
"""

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from jointsparse.checks import Misfit, require
from jointsparse.pipeline.sweep import Sweep, learnt_from


def run(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    C: Sequence[float],
    max_iter: int = 10_000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Solve min_w ½‖w‖² + C sum_{i: Y_ik != 0} max(0, 1 - Y_ik x_i·w) for every task k and every value of C.

    The classifiers have no intercept.

    Parameters
    ----------
    X : matrix, (n_samples, n_features)
        Features. Rows of samples that belong to no task are not read.
    Y : array, (n_samples, n_tasks)
        Labels: -1 or +1, or 0 if the sample does not belong to the task.
    C : list of floats above 0
        scikit-learn's C. Larger values regularise less.
    max_iter : int
        Maximum number of iterations of LinearSVC.
    seed : int
        Seed of the random generator with which LinearSVC shuffles the samples.
    progress : function (done, total), optional
        Called after each task.

    Returns
    -------
    Sweep
        One fit per value of C, in increasing order of C. The objectives are sums of hinge losses, at W = 0 and at the
        final W.

    Raises
    ------
    Misfit
        If X and Y have different numbers of rows.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    require(
        len(Y) == X.shape[0],
        f"Y must be a matrix with a row for each of {X.shape[0]} samples, got shape {Y.shape}",
        Misfit,
    )
    C = sorted(C)
    n_tasks = Y.shape[1]
    W = np.zeros((len(C), X.shape[1], n_tasks), dtype=np.result_type(X.dtype, np.float32))
    hinge, unconverged = np.zeros((len(C), 2)), np.zeros(len(C), dtype=int)
    for k in range(n_tasks):
        rows = np.flatnonzero(Y[:, k])
        X_k, y = X[rows].astype(np.float64), Y[rows, k]
        for p, value in enumerate(C):
            learner = LinearSVC(C=value, loss="hinge", fit_intercept=False, max_iter=max_iter, random_state=seed)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                learner.fit(X_k, y)
            unconverged[p] += any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
            W[p, :, k] = learner.coef_[0]
            hinge[p] += len(y), np.maximum(0.0, 1.0 - y * (X_k @ learner.coef_[0])).sum()
        if progress:
            progress(k + 1, n_tasks)
    none = np.full(len(C), np.nan)
    return Sweep(
        radius=np.asarray(C, dtype=float),
        eta0=none,
        power=np.ones(len(C)),
        objective=hinge,
        gap=none,
        unconverged=unconverged,
        W=W,
        learnt_from=learnt_from(X, Y, "svm-l2"),
    )
