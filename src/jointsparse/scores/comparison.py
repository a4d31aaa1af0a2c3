"""Whether one method is better than another: sign tests, and intervals of differences by resampling test images.

Source: Quattoni et al. 2009, sec. 6.1 and Table 1.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom, t

from jointsparse.checks import Misfit
from jointsparse.scores.metrics import METRICS, require_labels, require_words, resampled


class SignTest(NamedTuple):
    """Pairs that f ranks rightly and g wrongly (wins), the reverse (losses), and the one-sided exact p-values.

    p: for "f is better"; p_reverse: for "g is better". Each is an array with one entry per pairing.
    """

    wins: np.ndarray
    losses: np.ndarray
    p: np.ndarray
    p_reverse: np.ndarray


def sign_test(
    f: np.ndarray, g: np.ndarray, labels: np.ndarray, *, n_pairings: int, rng: np.random.Generator
) -> SignTest:
    """Does f rank positives above negatives more often than g? Sign tests over random pairs, pooled over tasks.

    Each positive of a task is paired with a distinct negative of the same task (the smaller side decides how many
    pairs there are). Of the pairs that exactly one of f and g ranks rightly, wins ~ Bin(wins + losses, ½) if f and g
    are equally good; ties count for neither. The pairing is random, so n_pairings of them are tested.

    f, g: (n_samples, n_tasks) scores. labels: the same shape, bool.
    """
    wins = np.zeros(n_pairings, dtype=int)
    losses = np.zeros(n_pairings, dtype=int)
    for k in range(labels.shape[1]):
        positives, negatives = np.flatnonzero(labels[:, k]), np.flatnonzero(~labels[:, k])
        n_pairs = min(len(positives), len(negatives))
        left = rng.permuted(np.tile(positives, (n_pairings, 1)), axis=1)[:, :n_pairs]
        right = rng.permuted(np.tile(negatives, (n_pairings, 1)), axis=1)[:, :n_pairs]
        f_sign = np.sign(f[left, k] - f[right, k])
        g_sign = np.sign(g[left, k] - g[right, k])
        wins += ((f_sign > 0) & (g_sign < 0)).sum(axis=1)
        losses += ((f_sign < 0) & (g_sign > 0)).sum(axis=1)
    n = wins + losses
    return SignTest(wins, losses, binom.sf(wins - 1, n, 0.5), binom.sf(losses - 1, n, 0.5))


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down correction of p-values for the number of tests.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    corrected = np.empty(len(p))
    corrected[order] = stepped
    return corrected


def significance(
    scores: dict[str, np.ndarray],
    labels: np.ndarray,
    validation_words: dict[int, np.ndarray],
    *,
    n_samples: dict[int, int],
    methods: Sequence[str],
    n_pairings: int,
    seed: int,
) -> pd.DataFrame:
    """Sign tests of the first method against each other one, for every run and size.

    scores: test scores by "run method n" (see `Evaluation`). labels: (n_test_images, n_words) bool. validation_words:
    per run, bool; these are left out in the rows with words = "test words" and kept in those with "all words".
    n_samples: per n. p, wins, losses: of the first pairing drawn from seed; p_median: over all n_pairings; p_holm,
    p_reverse_holm: corrected for all comparisons of the table with the same words, run and direction.

    Pooled pairs share images across words, so the test is not exact; and a median of p-values is not a p-value.
    Raises Misfit where scores are missing or not of these images and words.
    """
    _check_scores(scores, labels, validation_words, n_samples, methods)
    first, others = methods[0], methods[1:]
    tables = []
    for run, in_validation in validation_words.items():
        for label, words in (("test words", ~in_validation), ("all words", np.ones_like(in_validation))):
            rows = []
            for n in n_samples:
                for other in others:
                    f, g = (scores[f"{run} {method} {n}"][:, words] for method in (first, other))
                    tested = sign_test(f, g, labels[:, words], n_pairings=n_pairings, rng=np.random.default_rng(seed))
                    rows.append(
                        {"run": run, "n": n, "n_samples": n_samples[n], "words": label, "method": first}
                        | {"against": other, "wins": tested.wins[0], "losses": tested.losses[0], "p": tested.p[0]}
                        | {"p_median": np.median(tested.p), "p_reverse": tested.p_reverse[0]}
                        | {"p_reverse_median": np.median(tested.p_reverse)}
                    )
            table = pd.DataFrame(rows)
            table["p_holm"] = holm(table["p"].to_numpy())
            table["p_reverse_holm"] = holm(table["p_reverse"].to_numpy())
            tables.append(table)
    return pd.concat(tables, ignore_index=True)


def differences(
    scores: dict[str, np.ndarray],
    labels: np.ndarray,
    validation_words: dict[int, np.ndarray],
    *,
    n_samples: dict[int, int],
    methods: Sequence[str],
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """How much the first method differs from each other one, in AUC and EER, with 95 % intervals.

    scores, labels, validation_words, n_samples: as in `significance`. difference: method minus against, of the plain
    mean over words (words: "test words" or "all words"), averaged over runs; runs: how many. low, high: how far the
    difference moves when test images are drawn anew n_resamples times, with replacement and the same for all methods,
    words and runs (percentiles), and how far runs are apart (t interval of their mean), added in squares. A word that
    such a draw leaves without positives or negatives is left out of its mean. The words are taken as given: intervals
    say nothing of other words, and with a single run nothing of other training sets.
    """
    _check_scores(scores, labels, validation_words, n_samples, methods)
    images = _resample(len(labels), n_resamples, np.random.default_rng(seed))
    rows = []
    for n in n_samples:
        means = {
            method: np.stack(
                [
                    _means_over_words(resampled(scores[f"{run} {method} {n}"], labels, images), in_validation)
                    for run, in_validation in validation_words.items()
                ]
            )
            for method in methods
        }
        for other in methods[1:]:
            by_run = means[methods[0]] - means[other]
            for i, metric in enumerate(METRICS):
                for j, words in enumerate(("test words", "all words")):
                    difference, low, high = _interval(by_run[:, i, j])
                    rows.append(
                        {"metric": metric, "n": n, "n_samples": n_samples[n], "words": words, "method": methods[0]}
                        | {"against": other, "difference": difference, "low": low, "high": high, "runs": len(by_run)}
                    )
    return pd.DataFrame(rows).sort_values("metric", kind="stable", ignore_index=True)


def _check_scores(
    scores: dict[str, np.ndarray],
    labels: np.ndarray,
    validation_words: dict[int, np.ndarray],
    n_samples: dict[int, int],
    methods: Sequence[str],
) -> None:
    """Raise Misfit where scores are missing, or not of these images and words."""
    require_labels(labels)
    for run, method, n in product(validation_words, methods, n_samples):
        name = f"{run} {method} {n}"
        if name not in scores:
            raise Misfit(f"there must be scores of {method}, run {run}, n {n}, got those of {', '.join(scores)}")
        if scores[name].shape != labels.shape or scores[name].dtype.kind != "f":
            got = f"{scores[name].dtype} {scores[name].shape}"
            raise Misfit(f"scores of {method}, run {run}, n {n}, must be numbers of shape {labels.shape}, got {got}")
    for in_validation in validation_words.values():
        require_words(in_validation, labels.shape[1])


def _interval(by_run: np.ndarray) -> tuple[float, float, float]:
    """The mean over runs and its interval. by_run: (n_runs, 1 + n_resamples), the first column of all images."""
    n_runs = len(by_run)
    mean, resampled = by_run[:, 0].mean(), by_run[:, 1:].mean(axis=0)
    resampled = resampled[~np.isnan(resampled)]
    if not len(resampled):
        return float(mean), np.nan, np.nan
    below, above = mean - np.quantile(resampled, 0.025), np.quantile(resampled, 0.975) - mean
    # Choice: runs are few, and resampling them as well would make them look closer to each other than they are.
    of_runs = t.ppf(0.975, n_runs - 1) * by_run[:, 0].std(ddof=1) / np.sqrt(n_runs) if n_runs > 1 else 0.0
    return float(mean), float(mean - np.hypot(below, of_runs)), float(mean + np.hypot(above, of_runs))


def _resample(n: int, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of n things is drawn, (1 + n_resamples, n): once each in the first row, then with replacement."""
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples)
    return np.concatenate([np.ones((1, n)), drawn]).astype(np.int32)


def _means_over_words(by_word: np.ndarray, in_validation: np.ndarray) -> np.ndarray:
    """Means over test words and over all words, NaNs left out: (2, n_resamples, n_words) to (2, 2, n_resamples)."""
    means = []
    for words in (~in_validation, np.ones_like(in_validation)):
        defined = ~np.isnan(by_word[..., words])
        with np.errstate(invalid="ignore"):
            means.append(np.where(defined, by_word[..., words], 0.0).sum(axis=-1) / defined.sum(axis=-1))
    return np.stack(means, axis=1)
