"""Statistics of rankings per task (AUC, equal error rate, precision), their intervals, and significance tests.

`STATISTICS` lists the statistics by which a model is judged. Tables, model cards, pages and figures show its entries.

Sources: Quattoni et al. 2009, sec. 6.1 and Table 1; 2008 (report), sec. 5.2.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads scipy.special only when it is used; scipy.stats would take half a second

CONFIDENCE = 0.95  # confidence level of the intervals
SAMPLES_AT_ONCE = 4096  # block size in `nearest`, which limits its memory
COUNTS_AT_ONCE = 2**18  # block size in `_by_rank`, which limits its memory


def auc(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the area under the ROC curve of each task: the fraction of (positive, negative) pairs ranked correctly.

    scores: (n_samples, n_tasks). labels: bool, of the same shape. The AUC of a task without positives or without
    negatives is NaN. Source: Quattoni et al. 2009, eq. 20.

    >>> auc(np.array([[0.1], [0.4], [0.35], [0.8]]), np.array([[False], [False], [True], [True]]))
    array([0.75])
    """
    # Choice: a tied pair counts one half, as usual for AUC; the paper's strict inequality would count it as wrong.
    return resampled(scores, labels, np.ones((1, len(scores)), np.int32))[0, 0]


def _ranked(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the samples by decreasing score, and whether each is the last sample with its score.

    Samples with a negative label are left out: their label is unknown.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[labels[order] >= 0]
    ranked = scores[order]
    return order, np.append(ranked[1:] != ranked[:-1], True)


def resampled(scores: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return AUC and EER, (2, n_resamples, n_tasks), where sample i occurs counts[b, i] times in resample b.

    labels: True or 1 for positives, False or 0 for negatives, and a negative number where the label is unknown. A
    sample does not count in the tasks where its label is unknown.
    """
    from jointsparse.rankings import write_auc_eer  # imported here because it loads Numba

    by_metric = np.full((2, labels.shape[1], len(counts)), np.nan)
    for k in range(labels.shape[1]):
        if not np.isnan(scores[:, k]).any():
            order, last = _ranked(scores[:, k], labels[:, k])
            write_auc_eer(order, last, labels[order, k].astype(np.int64), counts, *by_metric[:, k])
    return by_metric.swapaxes(1, 2)


def resample(n: int, n_resamples: int, rng: np.random.Generator, groups: Any = None) -> np.ndarray:
    """Return how often each of n items occurs in each bootstrap resample, (1 + n_resamples, n).

    The first row stands for the original sample, in which every item occurs exactly once.

    Parameters
    ----------
    n : int
        Number of items.
    n_resamples : int
        Number of resamples.
    rng : Generator
        Random generator that draws the resamples.
    groups : array (n,) or None
        The group of each item. Whole groups are drawn, as many as there are.

    >>> resample(4, 3, np.random.default_rng(0), groups=["a", "b", "a", "c"])[2:].tolist()
    [[0, 0, 0, 3], [2, 1, 2, 0]]
    """
    if groups is not None:
        names, of_item = np.unique(groups, return_inverse=True)
        return resample(len(names), n_resamples, rng)[:, of_item]
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples)
    return np.concatenate([np.ones((1, n)), drawn], dtype=np.int32, casting="unsafe")


def _by_rank(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    scores: np.ndarray,
    labels: np.ndarray,
    counts: np.ndarray,
) -> np.ndarray:
    """Compute a statistic of the positives and negatives at each rank, (n_resamples, n_tasks).

    Samples with equal scores share their rank, so their order does not matter. The statistic is NaN in resamples
    without positives or without negatives.

    scores, labels, counts: as in `resampled`. function: takes the number of positives and of negatives at each rank,
    highest rank first, both (n_resamples, n_ranks), and returns an array (n_resamples,).
    """
    values = np.full((len(counts), labels.shape[1]), np.nan)
    # A block has at least two resamples if possible, because NumPy adds the entries of a single row in another order.
    n_blocks = max(min(counts.size // COUNTS_AT_ONCE, len(counts) // 2), 1)
    for k in np.flatnonzero(~np.isnan(scores).any(axis=0)):
        order, last = _ranked(scores[:, k], labels[:, k])
        begin = np.flatnonzero(np.append(True, last[:-1]))[: len(order)]
        for block in np.array_split(np.arange(len(counts)), n_blocks):
            drawn = counts[block[0] : block[-1] + 1, order]
            right, wrong = (np.add.reduceat(drawn * (labels[order, k] == label), begin, axis=1) for label in (1, 0))
            values[block, k] = np.where(right.any(axis=1) & wrong.any(axis=1), function(right, wrong), np.nan)
    return values


def _precision(right: np.ndarray, wrong: np.ndarray, first: int) -> np.ndarray:
    """Return the precision of the `first` highest-ranked samples. right, wrong: see `_by_rank`."""
    tied = right + wrong
    share_in_first = np.diff(np.minimum(tied.cumsum(axis=1), first), axis=1, prepend=0) / np.maximum(tied, 1)
    precision: np.ndarray = (share_in_first * right).sum(axis=1) / tied.sum(axis=1).clip(1, first)
    return precision


def _average_precision(right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the average precision, as scikit-learn defines it. right, wrong: see `_by_rank`."""
    seen, found = (right + wrong).cumsum(axis=1), right.cumsum(axis=1)
    precision: np.ndarray = (right * found / np.maximum(seen, 1)).sum(axis=1) / np.maximum(right.sum(axis=1), 1)
    return precision


class Statistic(NamedTuple):
    """A statistic of how well the scores of a task rank its samples.

    Calling a statistic with scores and labels, as in `resampled`, returns its value for each task, (n_tasks,). The
    value is NaN for tasks without positives or without negatives.

    Attributes
    ----------
    label : str
        Name of the statistic for readers.
    resampled : function
        Takes the parameters of `resampled`, and returns the statistic in all resamples, (n_resamples, n_tasks).
    digits : int
        Number of decimal places that readers see.
    higher_is_better : bool
        Whether larger values are better.

    >>> scores, labels = np.array([[4.0], [3], [2], [1]]), np.array([[True], [False], [True], [False]])
    >>> {key: statistic(scores, labels).round(4).tolist() for key, statistic in STATISTICS.items()}
    {'auc': [0.75], 'precision_at_10': [0.5], 'average_precision': [0.8333]}
    """

    label: str
    resampled: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    digits: int = 3
    higher_is_better: bool = True

    def __call__(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        values: np.ndarray = self.resampled(scores, labels, np.ones((1, len(scores)), np.int32))[0]
        return values


STATISTICS = {  # by which a model is judged; the keys are the names of columns
    "auc": Statistic("AUC", lambda *samples: resampled(*samples)[0]),
    "precision_at_10": Statistic("precision at 10", partial(_by_rank, partial(_precision, first=10))),
    "average_precision": Statistic("average precision", partial(_by_rank, _average_precision)),
}
EER = Statistic("EER", lambda *samples: resampled(*samples)[1], higher_is_better=False)  # of the report


def with_mean(values: np.ndarray) -> np.ndarray:
    """Append the mean over tasks, which ignores NaNs, as a last column to `values`, (n_resamples, n_tasks)."""
    counted = ~np.isnan(values)
    mean = np.where(counted, values, 0).sum(axis=1) / np.where(counted.any(axis=1), counted.sum(axis=1), np.nan)
    return np.column_stack([values, mean])


def estimates(values: np.ndarray) -> np.ndarray:
    """Return the estimate for each task and both ends of its 95 % bootstrap interval, (3, n_tasks + 1).

    The last column is the mean over tasks. values: (1 + n_resamples, n_tasks), whose first row comes from the original
    samples and the others from resamples. NaNs are ignored.
    """
    values = with_mean(values)
    ends, some = np.full((2, values.shape[1]), np.nan), ~np.isnan(values[1:]).all(axis=0)
    ends[:, some] = np.nanquantile(values[1:, some], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return np.vstack([values[:1], ends])


def as_trials(auc: Any, positives: Any, n: Any) -> tuple[Any, Any]:
    """Return the numbers of successes and failures in independent trials whose success rate has the AUC's variance.

    auc: AUC over n samples, of which `positives` are positive. The number of trials is chosen such that the variance is
    that of Hanley and McNeil 1982, made symmetric in positives and negatives by Newcombe 2006 (Stat. Med. 25,
    p. 559). That variance is zero for an AUC of 0 or 1, so ½ is added to successes and failures before a logit is taken
    (Gart 1966).
    """
    alike = (1 - auc) / (2 - auc) + auc / (1 + auc)
    trials = positives * (n - positives) / (1 + (n / 2 - 1) * alike)
    return trials * auc + 0.5, trials * (1 - auc) + 0.5


def interval(right: Any, wrong: Any, beside: Any = 0.0) -> tuple[Any, Any]:
    """Return both ends of the 95 % confidence interval of the rate `right / (right + wrong)`.

    The interval is computed on the logit scale. `beside` is the half-width, on this scale, of the interval of a second,
    independent error; the two half-widths are added in quadrature.
    """
    half = np.hypot(scipy.special.ndtri((1 + CONFIDENCE) / 2) * np.sqrt(1 / right + 1 / wrong), beside)
    return scipy.special.expit(np.log(right / wrong) - half), scipy.special.expit(np.log(right / wrong) + half)


def by_chance(auc: np.ndarray, positives: np.ndarray, n: Any) -> np.ndarray:
    """Return each AUC's one-sided p-value against random ranking, by the normal approximation to the Mann-Whitney test.

    positives: number of positives among the n samples. The p-value is 1 where the AUC is NaN.

    >>> by_chance(np.array([0.9, 0.5, np.nan]), np.array([10, 10, 0]), 30).round(4).tolist()
    [0.0002, 0.5, 1.0]
    """
    precision = np.sqrt(12 * positives * (n - positives) / (n + 1))
    return np.nan_to_num(scipy.special.ndtr((0.5 - auc) * precision), nan=1.0)


def eer(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the equal error rate of each task, at which the false negative rate equals the false positive rate.

    The threshold moves down from the largest score, and samples with tied scores are accepted together. Between two
    thresholds both rates are interpolated linearly.

    scores: (n_samples, n_tasks). labels: bool, of the same shape. The rate of a task without positives or without
    negatives is NaN. Source: Quattoni et al. 2008 report, sec. 5.2.

    >>> eer(np.array([[0.1], [0.4], [0.35], [0.8]]), np.array([[False], [False], [True], [True]]))
    array([0.5])
    """
    # Choice: linear interpolation on the ROC curve; the report does not say how it determines the rate.
    return resampled(scores, labels, np.ones((1, len(scores)), np.int32))[1, 0]


def nearest(known: np.ndarray, score: np.ndarray, n: int) -> np.ndarray:
    """Return the indices of the n rows of `known`, (n_samples, n_tasks), that are nearest to `score`, (n_tasks,).

    Distances are Euclidean, after the scores of each task are divided by their standard deviation in `known`. Tasks
    whose known scores are all equal do not count.

    >>> nearest(np.array([[0.0, 0, 0.1], [1, 50, 0.1], [3, 10, 0.1]]), np.array([1.0, 10, 9]), 2)
    array([0, 2])
    """
    spread = np.maximum(known.std(axis=0), np.finfo(np.float32).tiny)
    spread[known.max(axis=0) == known.min(axis=0)] = np.inf
    with np.errstate(over="ignore"):  # for tasks whose scores are nearly equal
        distances = [
            np.square((known[start : start + SAMPLES_AT_ONCE] - score) / spread).sum(axis=1)
            for start in range(0, len(known), SAMPLES_AT_ONCE)
        ]
    return np.argsort(np.concatenate(distances), kind="stable")[:n]


def holm(p: np.ndarray) -> np.ndarray:
    """Correct p-values for multiple testing by Holm's step-down method. NaNs stay NaN and do not count as tests.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03, 0.6, 0.7]))
    array([0.05, 0.12,  nan, 0.12, 1.  , 1.  ])
    """
    order = np.argsort(p, kind="stable")  # NaNs last
    n_remaining = np.count_nonzero(~np.isnan(p)) - np.arange(len(p))
    return np.minimum(1.0, np.maximum.accumulate(p[order] * n_remaining))[np.argsort(order)]


def over_runs(p_values: Any) -> float:
    """Combine the p-values of all runs, where the p-value of a run is its median over pairings.

    Twice the median of several p-values is a valid p-value, however these depend on each other (Rueschendorf 1982).
    The median is doubled once for the pairings and, if there are several runs, once more for the runs. A missing
    p-value counts as 1.

    >>> over_runs([0.01]), over_runs([0.001, 0.002, 0.5]), over_runs([0.01, np.nan, np.nan])
    (0.02, 0.008, 1.0)
    """
    factor = 4 if len(p_values) > 1 else 2
    return min(1.0, factor * float(np.median(np.nan_to_num(np.asarray(p_values, float), nan=1.0))))


class SignTest(NamedTuple):
    """Result of a sign test between the scores f and g. Each field is an array with one entry per pairing.

    `wins` counts the pairs that f ranks correctly and g incorrectly, `losses` counts the reverse. `p` and `p_reverse`
    are the exact one-sided p-values for "f is better" and for "g is better".
    """

    wins: np.ndarray
    losses: np.ndarray
    p: np.ndarray
    p_reverse: np.ndarray


def sign_test(
    f: np.ndarray, g: np.ndarray, labels: np.ndarray, *, n_pairings: int, rng: np.random.Generator
) -> SignTest:
    """Test whether f ranks positives above negatives more often than g does, on random pairs pooled over all tasks.

    Each positive of a task is paired with a distinct negative of the same task; the rarer of the two classes decides
    the number of pairs. A win is a pair that f ranks correctly and g incorrectly, a loss is the reverse, and pairs
    that are tied in f or in g are dropped. If f and g are equally good, wins ~ Bin(wins + losses, ½).

    Parameters
    ----------
    f, g : array, (n_samples, n_tasks)
        Scores of the two methods.
    labels : array, (n_samples, n_tasks)
        True or 1 for positives, False or 0 for negatives. Samples with other labels are not paired.
    n_pairings : int, at least 1
        Number of random pairings to test.
    rng : Generator
        Random generator that draws the pairings.

    Returns
    -------
    SignTest
    """
    from jointsparse.rankings import shuffled  # imported here because it loads Numba

    wins, losses = np.zeros((2, n_pairings), dtype=int)
    for k in range(labels.shape[1]):
        positives, negatives = np.flatnonzero(labels[:, k] == 1), np.flatnonzero(labels[:, k] == 0)
        few, many = sorted((positives, negatives), key=len)
        drawn = shuffled(many.copy(), rng.integers(len(many) - np.arange(len(few)), size=(n_pairings, len(few))))
        positive, negative = (few, drawn) if few is positives else (drawn, few)
        f_sign = np.sign(f[positive, k] - f[negative, k])
        g_sign = np.sign(g[positive, k] - g[negative, k])
        wins += ((f_sign > 0) & (g_sign < 0)).sum(axis=1)
        losses += ((f_sign < 0) & (g_sign > 0)).sum(axis=1)
    # P(Bin(n, 1/2) >= wins) is an incomplete beta function, which is NaN in older versions of SciPy if wins is 0.
    sides = (wins, losses), (losses, wins)
    p, p_reverse = (np.where(k > 0, scipy.special.betainc(k, others + 1, 0.5), 1.0) for k, others in sides)
    return SignTest(wins, losses, p, p_reverse)
