"""How well scores rank the samples of each task: AUC, equal error rate, precision, their intervals, and tests of both.

Sources: Quattoni et al. 2009, sec. 6.1 and Table 1; 2008 (report), sec. 5.2.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special  # not stats, which takes half a second to import

from jointsparse.compiled import njit

FIRST = 10  # samples ranked highest, whose precision is told
LEVEL = 0.95  # of the intervals
SAMPLES_AT_ONCE = 4096  # that are compared with another


def auc(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of each task: the fraction of (positive, negative) pairs that are ranked rightly.

    scores: (n_samples, n_tasks). labels: the same shape, bool. A task without positives or negatives gets NaN.
    Source: Quattoni et al. 2009, eq. 20.

    >>> auc(np.array([[0.1], [0.4], [0.35], [0.8]]), np.array([[False], [False], [True], [True]]))
    array([0.75])
    """
    # Choice: a tie counts one half, as usual for AUC; the paper's strict inequality would count it as wrong.
    return resampled(scores, labels, np.ones((1, len(scores)), np.int32))[0, 0]


@njit(nogil=True)
def _weighted_auc_eer(
    order: np.ndarray, last: np.ndarray, labels: np.ndarray, counts: np.ndarray, auc: np.ndarray, eer: np.ndarray
) -> None:
    """Fill auc and eer (n_resamples,) of one task, where image i counts counts[b, i] times in resample b.

    order, last: see `_ranked`. labels: (n_images,) 0 or 1, in that order.
    """
    for b in range(len(counts)):
        positives, negatives = 0, 0
        for i in range(len(order)):
            positives += counts[b, order[i]] * labels[i]
            negatives += counts[b, order[i]] * (1 - labels[i])
        if positives == 0 or negatives == 0:
            auc[b] = eer[b] = np.nan
            continue
        # below: positives * negatives times (false negative rate - false positive rate); EER is where it meets 0.
        twice_area, above, below = 0, 0, positives * negatives
        tied_positives, tied_negatives = 0, 0
        for i in range(len(order)):
            tied_positives += counts[b, order[i]] * labels[i]
            tied_negatives += counts[b, order[i]] * (1 - labels[i])
            if last[i]:
                twice_area += tied_positives * (2 * (negatives - above) - tied_negatives)
                if below > 0:
                    step = tied_negatives * positives + tied_positives * negatives
                    if step >= below:
                        eer[b] = (above + tied_negatives * (below / step)) / negatives
                    below -= step
                above += tied_negatives
                tied_positives, tied_negatives = 0, 0
        auc[b] = twice_area / (2 * positives * negatives)


def _ranked(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The samples by decreasing score, and which of them is the last of those with its score.

    Only those whose label, (n_samples,), is known: a negative number is none.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[labels[order] >= 0]
    ranked = scores[order]
    return order, np.append(ranked[1:] != ranked[:-1], True)


def resampled(scores: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """AUC and EER, (2, n_resamples, n_tasks), with sample i counted counts[b, i] times in resample b.

    labels: True or 1, False or 0, and negative where they are unknown: such a sample does not count in its task.
    """
    by_metric = np.full((2, labels.shape[1], len(counts)), np.nan)
    for k in range(labels.shape[1]):
        if not np.isnan(scores[:, k]).any():
            order, last = _ranked(scores[:, k], labels[:, k])
            _weighted_auc_eer(order, last, labels[order, k].astype(np.int64), counts, *by_metric[:, k])
    return by_metric.swapaxes(1, 2)


def resample(n: int, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Counts of n things, (1 + n_resamples, n): once each in the first row, then drawn with replacement."""
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples)
    return np.concatenate([np.ones((1, n)), drawn], dtype=np.int32, casting="unsafe")


def by_rank(scores: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Precision of the `FIRST` samples, and average precision: (2, n_resamples, n_tasks).

    scores, labels, counts: as in `resampled`. Samples of equal scores share their place: their order does not matter.

    >>> scores, labels = np.array([[4.0], [3], [2], [1]]), np.array([[True], [False], [True], [False]])
    >>> by_rank(scores, labels, np.ones((1, 4), int)).round(4).tolist()
    [[[0.5]], [[0.8333]]]
    """
    found = np.empty((2, len(counts), labels.shape[1]))
    for k in range(labels.shape[1]):
        order, last = _ranked(scores[:, k], labels[:, k])
        begin = np.flatnonzero(np.append(True, last[:-1]))[: len(order)]
        sides = (counts[:, order] * (labels[order, k] == label) for label in (1, 0))
        hits, others = (np.add.reduceat(side, begin, axis=1) for side in sides)
        tied, positives = hits + others, hits.sum(axis=1)
        seen, right = tied.cumsum(axis=1), hits.cumsum(axis=1)
        of_first = np.diff(np.minimum(seen, FIRST), axis=1, prepend=0) / np.maximum(tied, 1)
        found[0, :, k] = (of_first * hits).sum(axis=1) / tied.sum(axis=1).clip(1, FIRST)
        found[1, :, k] = (hits * right / np.maximum(seen, 1)).sum(axis=1) / np.maximum(positives, 1)
    return found


def with_mean(values: np.ndarray) -> np.ndarray:
    """Append the mean over tasks, without NaNs, as a last column. values: (n_resamples, n_tasks)."""
    counted = ~np.isnan(values)
    mean = np.where(counted, values, 0).sum(axis=1) / np.where(counted.any(axis=1), counted.sum(axis=1), np.nan)
    return np.column_stack([values, mean])


def estimates(values: np.ndarray) -> np.ndarray:
    """Number and ends of the 95 % interval of each task, and of the mean over tasks: (3, n_tasks + 1).

    values: (1 + n_resamples, n_tasks), of the samples themselves and of resamples. NaNs are left out.
    """
    values = with_mean(values)
    ends, some = np.full((2, values.shape[1]), np.nan), ~np.isnan(values[1:]).all(axis=0)
    ends[:, some] = np.nanquantile(values[1:, some], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return np.vstack([values[:1], ends])


def as_trials(auc: Any, positives: Any, n: Any) -> tuple[Any, Any]:
    """AUC of n samples as right and wrong outcomes of as many independent trials as have its variance.

    Sources: the variance: Hanley and McNeil 1982, as Newcombe 2006 (Stat. Med. 25, p. 559) makes it alike for positives
    and negatives. An AUC of 0 or 1 has none. So ½ is added to both outcomes before the logit (Gart 1966).
    """
    alike = (1 - auc) / (2 - auc) + auc / (1 + auc)
    trials = positives * (n - positives) / (1 + (n / 2 - 1) * alike)
    return trials * auc + 0.5, trials * (1 - auc) + 0.5


def interval(right: Any, wrong: Any, beside: Any = 0.0) -> tuple[Any, Any]:
    """Ends of the 95 % interval of right / (right + wrong), on the logit scale. beside: another half width there."""
    half = np.hypot(special.ndtri((1 + LEVEL) / 2) * np.sqrt(1 / right + 1 / wrong), beside)
    return special.expit(np.log(right / wrong) - half), special.expit(np.log(right / wrong) + half)


def by_chance(auc: np.ndarray, positives: np.ndarray, n: Any) -> np.ndarray:
    """The one-sided p-value of each AUC, of a ranking as good by chance, from the Mann-Whitney statistic's variance.

    positives: of the n samples. What cannot be tested has 1.
    """
    precision = np.sqrt(12 * positives * (n - positives) / (n + 1))
    return np.nan_to_num(special.ndtr((0.5 - auc) * precision), nan=1.0)


def eer(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Equal error rate of each task: the fraction of positives rejected, where that of negatives accepted is the same.

    A threshold moves from the largest score down. Tied scores are accepted together. Between two thresholds both
    fractions are interpolated linearly.

    scores: (n_samples, n_tasks). labels: the same shape, bool. A task without positives or negatives gets NaN.
    Source: Quattoni et al. 2008 report, sec. 5.2.

    >>> eer(np.array([[0.1], [0.4], [0.35], [0.8]]), np.array([[False], [False], [True], [True]]))
    array([0.5])
    """
    # Choice: linear interpolation on the ROC curve; the report does not say how it reads the rate off.
    return resampled(scores, labels, np.ones((1, len(scores)), np.int32))[1, 0]


def nearest(known: np.ndarray, score: np.ndarray, n: int) -> np.ndarray:
    """The n samples whose scores are nearest, each task in standard deviations. known: (n_samples, n_tasks).

    >>> nearest(np.array([[0.0, 0], [1, 50], [3, 10]]), np.array([1.0, 10]), 2)
    array([0, 2])
    """
    spread = np.maximum(known.std(axis=0), np.finfo(np.float32).tiny)
    with np.errstate(over="ignore"):  # by a task without spread
        apart = [
            np.square((known[start : start + SAMPLES_AT_ONCE] - score) / spread).sum(axis=1)
            for start in range(0, len(known), SAMPLES_AT_ONCE)
        ]
    return np.argsort(np.concatenate(apart), kind="stable")[:n]


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down correction of p-values for the number of tests. NaN is no test.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03, 0.6, 0.7]))
    array([0.05, 0.12,  nan, 0.12, 1.  , 1.  ])
    """
    order = np.argsort(p, kind="stable")  # NaNs last
    left = np.count_nonzero(~np.isnan(p)) - np.arange(len(p))
    return np.minimum(1.0, np.maximum.accumulate(p[order] * left))[np.argsort(order)]


def over_runs(p_values: Any) -> float:
    """A p-value for all runs and pairings, of each run's median over pairings.

    Twice the median of p-values is a p-value, however they depend on each other (Rueschendorf 1982): twice for
    pairings, and twice for runs. A missing p-value is not a significant one.

    >>> over_runs([0.001, 0.002, 0.5])
    0.008
    """
    several = 4 if len(p_values) > 1 else 2
    return min(1.0, several * float(np.median(np.nan_to_num(np.asarray(p_values, float), nan=1.0))))


class SignTest(NamedTuple):
    """Pairs that f ranks rightly and g wrongly (wins), the reverse (losses), and the one-sided exact p-values.

    p: for "f is better"; p_reverse: for "g is better". Each is an array with one entry per pairing.
    """

    wins: np.ndarray
    losses: np.ndarray
    p: np.ndarray
    p_reverse: np.ndarray


@njit
def _shuffled(many: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Begin a shuffle of `many` in each row of `steps`: entry j changes places with the entry steps_j further on."""
    drawn = np.empty(steps.shape, many.dtype)
    for p in range(steps.shape[0]):
        for j in range(steps.shape[1]):
            k = j + steps[p, j]
            many[j], many[k] = many[k], many[j]
            drawn[p, j] = many[j]
    return drawn


def sign_test(
    f: np.ndarray, g: np.ndarray, labels: np.ndarray, *, n_pairings: int, rng: np.random.Generator
) -> SignTest:
    """Test whether f ranks positives above negatives more often than g, over random pairs, pooled over tasks.

    Each positive of a task is paired with a distinct negative of the same task. The smaller side decides how many pairs
    there are. Of the pairs that exactly one of f and g ranks rightly, wins ~ Bin(wins + losses, ½) if f and g are
    equally good. Ties count for neither.

    Parameters
    ----------
    f, g : array, (n_samples, n_tasks)
        Scores.
    labels : array, (n_samples, n_tasks)
        True, or 1, for positives and False, or 0, for negatives. Other samples are in no pair.
    n_pairings : int, at least 1
        Random pairings to test.
    rng : Generator
        Draws the pairings.
    """
    wins, losses = np.zeros((2, n_pairings), dtype=int)
    for k in range(labels.shape[1]):
        positives, negatives = np.flatnonzero(labels[:, k] == 1), np.flatnonzero(labels[:, k] == 0)
        few, many = sorted((positives, negatives), key=len)
        drawn = _shuffled(many.copy(), rng.integers(len(many) - np.arange(len(few)), size=(n_pairings, len(few))))
        left, right = (few, drawn) if few is positives else (drawn, few)
        f_sign = np.sign(f[left, k] - f[right, k])
        g_sign = np.sign(g[left, k] - g[right, k])
        wins += ((f_sign > 0) & (g_sign < 0)).sum(axis=1)
        losses += ((f_sign < 0) & (g_sign > 0)).sum(axis=1)
    # P(Bin(n, 1/2) >= wins) is an incomplete beta function.
    p, p_reverse = special.betainc(wins, losses + 1, 0.5), special.betainc(losses, wins + 1, 0.5)
    return SignTest(wins, losses, p, p_reverse)
