"""Slow but obviously correct versions of the library's functions, with which the tests compare them."""

import math

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

# --- norms and losses -------------------------------------------------------------------------------------------------


def project_simplex(v, z):
    """Return (v - theta)_+, with theta by sorting ([D08] Fig. 1) after the largest entry is subtracted from v."""
    below = np.asarray(v, np.longdouble) - np.max(v)
    theta = ((np.cumsum(np.sort(below)[::-1]) - z) / np.arange(1, len(v) + 1)).max()
    return np.maximum(below - theta, 0)


def project_l1_vector(v, radius):
    """Return sign(v) (|v| - theta)_+ in extended precision."""
    v = np.asarray(v, np.longdouble)
    return v if np.abs(v).sum() <= radius else np.sign(v) * project_simplex(np.abs(v), radius)


def project_nonnegative(v, z):
    return project_l1_vector(np.maximum(v, 0), z)


def project_l1_weighted(v, a, z):
    """Return w = sign(v) (|v| - theta a)_+ with sum a |w| <= z, with theta by bisection."""
    v, a = np.asarray(v, np.longdouble), np.asarray(a, np.longdouble)
    size = np.abs(v)
    if (a * size).sum() <= z:
        return v
    low, high = np.longdouble(0), (size / a).max()
    for _ in range(200):
        theta = (low + high) / 2
        low, high = (theta, high) if (a * np.maximum(size - theta * a, 0)).sum() > z else (low, theta)
    return np.sign(v) * np.maximum(size - high * a, 0)


def project_l1(W, radius, weights=1.0):
    a, radii = np.broadcast_to(weights, len(W)), np.broadcast_to(radius, W.shape[1])
    if np.all(a == 1):
        return np.stack([project_l1_vector(w, z) for w, z in zip(W.T, radii, strict=True)], axis=1)
    return np.stack([project_l1_weighted(w, a, z) for w, z in zip(W.T, radii, strict=True)], axis=1)


def project_l2(W, radius):
    W = np.asarray(W, np.longdouble)
    lengths = np.sqrt((W**2).sum(axis=0))
    return np.where(lengths <= radius, W, W / np.where(lengths > 0, lengths, 1) * radius)


def project_l12(W, radius, weights=1.0):
    W = np.asarray(W, np.longdouble)
    lengths = np.sqrt((W**2).sum(axis=1))
    shorter = project_l1_weighted(lengths, np.broadcast_to(weights, len(W)), radius)
    return W * (shorter / np.where(lengths > 0, lengths, 1))[:, np.newaxis]


def largest_sums(W):
    """Return the sums of the k largest magnitudes of each row, for every k."""
    return np.cumsum(np.sort(np.abs(np.asarray(W, np.longdouble)), axis=1)[:, ::-1], axis=1)


def levels_l1inf(sums, theta):
    """Return mu_i with sum_j (|W_ij| - mu_i)_+ = theta_i, or 0: the maximum over k of (sums_ik - theta_i) / k."""
    return np.maximum(((sums - np.reshape(theta, (-1, 1))) / np.arange(1, sums.shape[1] + 1)).max(axis=1), 0)


def solve_l1inf(W, radius, weights=1.0):
    """Return theta and mu of a W outside the l1,inf ball, by bisection to the last digit. Row i loses s_i theta."""
    sums, s = largest_sums(W), np.asarray(weights, np.longdouble)
    low, high = np.longdouble(0), (sums[:, -1] / s).max()
    while low < (theta := (low + high) / 2) < high:
        low, high = (theta, high) if (s * levels_l1inf(sums, s * theta)).sum() > radius else (low, theta)
    return theta, levels_l1inf(sums, s * theta)


def project_l1inf(W, radius, weights=1.0):
    W = np.asarray(W, np.longdouble)
    if W.size == 0 or (np.asarray(weights, np.longdouble) * np.abs(W).max(axis=1)).sum() <= radius:
        return W
    _, mu = solve_l1inf(W, radius, weights)
    return np.clip(W, -mu[:, np.newaxis], mu[:, np.newaxis])


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


SIZES = {  # the norm and the dual norm of a matrix without weights and groups
    "l1": (lambda W: np.abs(W).sum(axis=0), lambda W: np.abs(W).max(axis=0)),
    "l12": (lambda W: np.sqrt((W**2).sum(axis=1)).sum(), lambda W: np.sqrt((W**2).sum(axis=1)).max()),
    "l1inf": (lambda W: np.abs(W).max(axis=1).sum(), lambda W: np.abs(W).sum(axis=1).max()),
    "l2": (lambda W: np.sqrt((W**2).sum(axis=0)),) * 2,
}
PROJECTIONS = {"l1": project_l1, "l2": project_l2, "l12": project_l12, "l1inf": project_l1inf}


def project(name, W, radius, weights=None, groups=None):
    """Project W onto the ball of the norm with this name, with weights and groups if given."""
    options = {} if weights is None else {"weights": weights}
    if groups is None:
        return PROJECTIONS[name](W, radius, **options)
    return features_of_rows(PROJECTIONS[name](rows_of_groups(W, groups), radius, **options), groups, W.shape[1])


LOSSES = {
    "hinge": lambda f, y: max(0.0, 1.0 - y * f),
    "logistic": lambda f, y: -y * f if -y * f > 30 else math.log1p(math.exp(-y * f)),
    "squared": lambda f, y: (y - f) ** 2 / 2,
}


# --- end of norms and losses ------------------------------------------------------------------------------------------


# --- scores -----------------------------------------------------------------------------------------------------------


def slow_eer(scores, labels):
    """Return the EER of one task: where the piecewise linear ROC curve meets the line from (0, 1) to (1, 0)."""
    if labels.all() or not labels.any():
        return np.nan
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
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
    function = STATISTICS.get(key, lambda y, f: slow_eer(f, y))
    columns = zip(scores.T, labels.T, strict=True)
    return np.array([np.nan if y.all() or not y.any() else function(y, f) for f, y in columns])
