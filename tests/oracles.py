"""Slow, obvious twins of the library, for its tests."""

import math

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

# --- norms and losses -------------------------------------------------------------------------------------------------


def bisect(decreasing, target, high):
    """The x in [0, high] with decreasing(x) = target, in extended precision."""
    low, high = np.longdouble(0), np.longdouble(high)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if decreasing(middle) > target else (low, middle)
    return (low + high) / 2


def project_l1_vector(v, radius):
    """sign(v) (|v| - theta)_+, theta by bisection."""
    v = np.asarray(v, np.longdouble)
    size = np.abs(v)
    if size.sum() <= radius:
        return v
    theta = bisect(lambda theta: np.maximum(size - theta, 0).sum(), radius, size.max())
    return np.sign(v) * np.maximum(size - theta, 0)


def project_simplex(v, z):
    """(v - theta)_+, theta by bisection below the maximum."""
    v = np.asarray(v, np.longdouble)
    below = v - v.max()
    depth = bisect(lambda depth: -np.maximum(below + depth, 0).sum(), -z, z)
    return np.maximum(below + depth, 0)


def h(row, theta):
    """mu with sum (|row| - mu)_+ = theta, or 0: the largest (sum of the k largest - theta) / k."""
    sums = np.cumsum(np.sort(np.abs(row))[::-1])
    return max(((sums - theta) / np.arange(1, len(row) + 1)).max(), np.longdouble(0))


def solve_l1inf(W, radius):
    """theta and mu of the l1,inf projection of a W outside the ball, theta by bisection."""
    W = np.asarray(W, np.longdouble)
    theta = bisect(lambda theta: sum(h(row, theta) for row in W), radius, np.abs(W).sum(axis=1).max())
    return theta, np.array([h(row, theta) for row in W])


def project_l1(W, radius):
    return np.stack([project_l1_vector(w, z) for w, z in zip(W.T, per_task(W, radius), strict=True)], axis=1)


def project_l2(W, radius):
    W = np.asarray(W, np.longdouble)
    lengths = np.sqrt((W**2).sum(axis=0))
    return np.where(lengths <= per_task(W, radius), W, W / np.where(lengths > 0, lengths, 1) * per_task(W, radius))


def project_l12(W, radius):
    W = np.asarray(W, np.longdouble)
    lengths = np.sqrt((W**2).sum(axis=1))
    return W * (project_l1_vector(lengths, radius) / np.where(lengths > 0, lengths, 1))[:, np.newaxis]


def project_l1inf(W, radius):
    W = np.asarray(W, np.longdouble)
    if np.abs(W).max(axis=1).sum() <= radius:
        return W
    _, mu = solve_l1inf(W, radius)
    return np.clip(W, -mu[:, np.newaxis], mu[:, np.newaxis])


def per_task(W, radius):
    return np.broadcast_to(np.asarray(radius, np.longdouble), W.shape[1:])


PROJECTIONS = {"l1": project_l1, "l12": project_l12, "l1inf": project_l1inf, "l2": project_l2}

NORMS = {
    "l1": lambda W: np.array([sum(abs(x) for x in w) for w in W.T]),
    "l12": lambda W: sum(math.hypot(*row) for row in W),
    "l1inf": lambda W: sum(max(abs(x) for x in row) for row in W),
    "l2": lambda W: np.array([math.hypot(*w) for w in W.T]),
}

LOSSES = {
    "hinge": lambda f, y: max(0.0, 1.0 - y * f),
    "logistic": lambda f, y: -y * f if -y * f > 30 else math.log1p(math.exp(-y * f)),
    "squared": lambda f, y: (y - f) ** 2 / 2,
}
LOSS_SLOPES = {
    "hinge": lambda f, y: -y if y * f < 1 else 0.0,
    "logistic": lambda f, y: -y / (1 + math.exp(y * f)),
    "squared": lambda f, y: f - y,
}


def loss_value(name, F, Y):
    """The sum of each column's losses, entry by entry."""
    sums = [0.0] * F.shape[1]
    for (i, l), f in np.ndenumerate(F):
        if Y[i, l] != 0:
            sums[l] += LOSSES[name](float(f), float(Y[i, l]))
    return np.array(sums)


# --- end of norms and losses ------------------------------------------------------------------------------------------


# --- sets of the l1 room ----------------------------------------------------------------------------------------------


def project_nonnegative(v, z):
    """max(v, 0) if its sum is at most z, else onto the simplex."""
    clipped = np.maximum(np.asarray(v, np.longdouble), 0)
    return clipped if clipped.sum() <= z else project_simplex(v, z)


def project_l1_weighted(v, a, z):
    """sign(v) (|v| - theta a)_+ with sum a |w| <= z, theta by bisection."""
    v, a = np.asarray(v, np.longdouble), np.asarray(a, np.longdouble)
    size = np.abs(v)
    if (a * size).sum() <= z:
        return v
    theta = bisect(lambda theta: (a * np.maximum(size - theta * a, 0)).sum(), z, (size / a).max())
    return np.sign(v) * np.maximum(size - theta * a, 0)


def project_l1_by_sorting(v, radius):
    """sign(v) (|v| - theta)_+ in extended precision, [D08] Fig. 1: a quicker twin for long sequences."""
    v = np.asarray(v, np.longdouble)
    size = np.abs(v)
    if size.sum() <= radius:
        return v
    u = np.sort(size)[::-1]
    theta = ((np.cumsum(u) - radius) / np.arange(1, len(u) + 1)).max()
    return np.sign(v) * np.maximum(size - theta, 0)


# --- the l1,inf ball of many rows -------------------------------------------------------------------------------------


def solve_l1inf_at_once(W, radius):
    """As solve_l1inf, for all rows at once and until theta's last digit: quick enough for thousands of rows."""
    sums = np.cumsum(np.sort(np.abs(np.asarray(W, np.longdouble)), axis=1)[:, ::-1], axis=1)
    k = np.arange(1, W.shape[1] + 1)

    def maxima(theta):
        return np.maximum(((sums - theta) / k).max(axis=1), 0)

    low, high = np.longdouble(0), sums[:, -1].max()
    while low < (theta := (low + high) / 2) < high:
        low, high = (theta, high) if maxima(theta).sum() > radius else (low, theta)
    return theta, maxima(theta)


def project_l1inf_at_once(W, radius):
    W = np.asarray(W, np.longdouble)
    if W.size == 0 or np.abs(W).max(axis=1).sum() <= radius:
        return W
    _, mu = solve_l1inf_at_once(W, radius)
    return np.clip(W, -mu[:, np.newaxis], mu[:, np.newaxis])


# --- scores -----------------------------------------------------------------------------------------------------------


def slow_eer(scores, labels):
    """Of one task: where the piecewise linear ROC curve meets the line from (0, 1) to (1, 0)."""
    if labels.all() or not labels.any():
        return np.nan
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    return np.interp(0, fpr - (1 - tpr), fpr)


def slow_metrics(scores, labels):
    """AUC and EER of each task, (2, n_tasks)."""
    columns = list(zip(scores.T, labels.T, strict=True))
    auc = [np.nan if y.all() or not y.any() else roc_auc_score(y, f) for f, y in columns]
    return np.array([auc, [slow_eer(f, y) for f, y in columns]])
