"""Slow but obviously correct versions of the library's functions, with which the tests compare them."""

import math

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

# --- norms and losses: arrays in extended precision ------------------------------------------------------------------


def threshold(A, z, s=1.0):
    """Return the theta_l with sum_i s_i (A_il - s_i theta_l)_+ = z_l for each column l, as in [D08] Fig. 1.

    Any set of entries gives a lower bound of theta. The largest bound is that of the entries that stay positive.
    """
    s = np.broadcast_to(s, A.shape).astype(np.longdouble)
    order = np.argsort(-A / s, axis=0)
    A, s = (np.take_along_axis(array, order, axis=0) for array in (A, s))
    return ((np.cumsum(s * A, axis=0) - z) / np.cumsum(s * s, axis=0)).max(axis=0, initial=-np.inf)


def project_l1(W, radius, s=1.0):
    """Project each column, or a vector. s: weights, which broadcast to W."""
    W = np.asarray(W, np.longdouble)
    outside = (s * np.abs(W)).sum(axis=0) > radius
    lost = np.where(outside, threshold(np.abs(W), radius, s), 0)
    return np.sign(W) * np.maximum(np.abs(W) - s * lost, 0)


def project_l2(W, radius):
    lengths = np.sqrt((W**2).sum(axis=0))
    return W * np.where(lengths > radius, radius / np.where(lengths > 0, lengths, 1), 1)


def project_l12(W, radius, s):
    lengths = np.sqrt((W**2).sum(axis=1, keepdims=True))
    return W * (project_l1(lengths, radius, s) / np.where(lengths > 0, lengths, 1))


def levels_l1inf(sums, theta):
    """Return mu_i with sum_j (|W_ij| - mu_i)_+ = theta_i, or 0: the maximum over k of (sums_ik - theta_i) / k."""
    return np.maximum(((sums - theta) / np.arange(1, sums.shape[1] + 1)).max(axis=1, keepdims=True), 0)


def solve_l1inf(W, radius, s=1.0):
    """Return theta and mu, (n_features, 1), of a W outside the ball, by bisection to the last digit."""
    W, s = np.abs(np.asarray(W, np.longdouble)), np.broadcast_to(s, (len(W), 1)).astype(np.longdouble)
    sums = np.cumsum(np.sort(W, axis=1)[:, ::-1], axis=1)  # of the k largest magnitudes of each row, for every k
    low, high = np.longdouble(0), (sums[:, -1:] / s).max()
    while low < (theta := (low + high) / 2) < high:
        low, high = (theta, high) if (s * levels_l1inf(sums, s * theta)).sum() > radius else (low, theta)
    return theta, levels_l1inf(sums, s * theta)


def project_l1inf(W, radius, s=1.0):
    if not W.size or (s * np.abs(W).max(axis=1, keepdims=True)).sum() <= radius:
        return W
    _, mu = solve_l1inf(W, radius, s)
    return np.clip(W, -mu, mu)


def rows_of_groups(W, groups):
    """Return a matrix with one row per group, which holds all entries of the group and is padded with zeros."""
    rows = [W[groups == g].ravel() for g in range(groups.max(initial=-1) + 1)]
    longest = max(map(len, rows), default=0)
    return np.array([np.append(row, np.zeros(longest - len(row))) for row in rows]).reshape(len(rows), longest)


def features_of_rows(rows, groups, n_tasks):
    """Return the matrix of features from rows of groups: the inverse of `rows_of_groups`."""
    W = np.zeros((len(groups), n_tasks), rows.dtype)
    for g, row in enumerate(rows):
        W[groups == g] = row[: (groups == g).sum() * n_tasks].reshape(-1, n_tasks)
    return W


# Functions of W, of a radius or step, and of weights, one per row. By Moreau's decomposition, a prox loses the
# projection onto the ball of the dual norm.
VERBS = {
    "l1": {
        "norm": lambda W, _, s: np.abs(s * W).sum(axis=0),
        "dual_norm": lambda W, _, s: np.abs(W / s).max(axis=0),
        "project": project_l1,
        "prox": lambda W, step, s: W - np.clip(W, -step * s, step * s),
    },
    "l12": {
        "norm": lambda W, _, s: np.sqrt(np.square(s * W).sum(axis=1)).sum(),
        "dual_norm": lambda W, _, s: np.sqrt(np.square(W / s).sum(axis=1)).max(),
        "project": project_l12,
        "prox": lambda W, step, s: W - project_l2(W.T, (step * s).T).T,
    },
    "l1inf": {
        "norm": lambda W, _, s: np.abs(s * W).max(axis=1).sum(),
        "dual_norm": lambda W, _, s: np.abs(W / s).sum(axis=1).max(),
        "project": project_l1inf,
        "prox": lambda W, step, s: W - project_l1(W.T, (step * s).T).T,
    },
    "l2": {
        "norm": lambda W, _, s: np.sqrt(np.square(W).sum(axis=0)),
        "dual_norm": lambda W, _, s: np.sqrt(np.square(W).sum(axis=0)),
        "project": lambda W, radius, s: project_l2(W, radius),
        "prox": lambda W, step, s: W - project_l2(W, step),
    },
}


def answer(name, verb, W, number=None, *, weights=None, groups=None):
    """Return the result of a function of the norm with this name. number: the radius or step, if there is one."""
    rows = np.asarray(W, np.longdouble) if groups is None else rows_of_groups(np.asarray(W, np.longdouble), groups)
    s = np.ones(len(rows)) if weights is None else np.asarray(weights)
    result = VERBS[name][verb](rows, number, s.astype(np.longdouble)[:, np.newaxis])
    return result if groups is None or not np.ndim(result) else features_of_rows(result, groups, W.shape[1])


LOSSES = {
    "hinge": lambda f, y: max(0.0, 1.0 - y * f),
    "logistic": lambda f, y: -y * f if -y * f > 30 else math.log1p(math.exp(-y * f)),
    "squared": lambda f, y: (y - f) ** 2 / 2,
}


# --- end of norms and losses ------------------------------------------------------------------------------------------


# --- scores -----------------------------------------------------------------------------------------------------------


def slow_eer(y, f):
    """Return the EER of one task: where the piecewise linear ROC curve meets the line from (0, 1) to (1, 0)."""
    fpr, tpr, _ = roc_curve(y, f, drop_intermediate=False)
    return np.interp(0, fpr - (1 - tpr), fpr)


def slow_precision(y, f, first):
    """Return the expected precision of the highest-ranked samples, if samples with equal scores are in random order."""
    in_first = [np.clip((first - (f > score).sum()) / (f == score).sum(), 0, 1) for score in f]
    return (y * in_first).sum() / min(first, len(y))


STATISTICS = {  # of the labels and the scores of a task; the keys are those of `metrics.STATISTICS`
    "auc": roc_auc_score,
    "precision_at_10": lambda y, f: slow_precision(y, f, 10),
    "average_precision": average_precision_score,
}


def slow_statistic(key, scores, labels):
    """Return a statistic of each task, (n_tasks,), by scikit-learn or from its definition."""
    columns = zip(scores.T, labels.T, strict=True)
    return np.array([np.nan if y.all() or not y.any() else STATISTICS.get(key, slow_eer)(y, f) for f, y in columns])
