"""Comparison of methods: sign tests, and intervals of differences by resampling test images.

Source: Quattoni et al. 2009, sec. 6.1 and Table 1.
"""

from itertools import product

import numpy as np

from jointsparse.checks import Misfit, require, require_extra
from jointsparse.metrics import holm, over_runs, resample, resampled, sign_test
from jointsparse.pipeline.scores.runs import FEWEST_RUNS, half_width
from jointsparse.pipeline.scores.scored_fits import METRICS, ScoredFits

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

WORDS = ("test words", "all words")  # without and with the words that chose the radius
AVERAGES = ("by positives", "plain")  # over words; the first is the paper's, sec. 6.1


def significance(scores: ScoredFits, *, n_pairings: int, seed: int) -> pd.DataFrame:
    """Sign tests of the first method (of a study's `methods:`) against each other one, for every run and size.

    scores: of a study. n_pairings: at least 1. seed: of the pairings, the same for each test.

    Rows with words = "test words" leave out the words that chose the radius, those with "all words" keep them. p, wins,
    losses: of the first pairing. p_median: over all n_pairings. p_holm, p_reverse_holm: corrected for all comparisons
    of the table with the same words, run and direction. p_all_runs, p_reverse_all_runs: of all runs and pairings
    together, see `over_runs`, the same in each run.

    Pooled pairs share images across words, so the test is not exact; and a median of p-values is not a p-value.
    Raises Misfit where scores do not belong together.
    """
    fits, (first, *others) = _by_fit(scores)
    tables = []
    for run, label in product(pd.unique(scores.run), WORDS):
        rows = []
        for n, other in product(pd.unique(scores.n), others):
            fit = fits[run, first, n]
            words = _words(scores, fit, label)
            f, g = (scores.score[place][:, words] for place in (fit, fits[run, other, n]))
            rng = np.random.default_rng(seed)
            tested = sign_test(f, g, scores.labels[:, words], n_pairings=n_pairings, rng=rng)
            rows.append(
                {"run": run, "n": n, "n_samples": scores.n_samples[fit], "words": label}
                | {"method": first, "against": other}
                | {"wins": tested.wins[0], "losses": tested.losses[0], "p": tested.p[0]}
                | {"p_median": np.median(tested.p), "p_reverse": tested.p_reverse[0]}
                | {"p_reverse_median": np.median(tested.p_reverse)}
            )
        table = pd.DataFrame(rows)
        tables.append(table.assign(**{f"{name}_holm": holm(table[name].to_numpy()) for name in ("p", "p_reverse")}))
    table = pd.concat(tables, ignore_index=True)
    compared = table.groupby(["n", "words", "against"])
    return table.assign(
        **{f"{name}_all_runs": compared[f"{name}_median"].transform(over_runs) for name in ("p", "p_reverse")}
    )


def differences(scores: ScoredFits, *, n_resamples: int, seed: int) -> pd.DataFrame:
    """Lead of the first method over each other one, in AUC and EER, with 95 % intervals.

    scores: of a study. n_resamples: at least 1. seed: of the resamples.

    difference: method minus against, of the mean over words (words: "test words" or "all words"), averaged over runs;
    runs: how many. average: "by positives", in which each positive weighs the same (`evaluation.average`), or "plain".
    low, high: the root of two summed squares. One is the shift of the difference when test images are drawn anew
    n_resamples times (percentiles). They are drawn with replacement, alike for all methods, words and runs. The other
    is the t interval of the mean over runs, over_runs its half width. low_words, high_words: words are drawn anew, too.

    A word that a draw leaves without positives or negatives is left out of its mean. Of fewer than `FEWEST_RUNS` runs
    there is no interval. Raises Misfit where scores do not belong together.
    """
    fits, (first, *others) = _by_fit(scores)
    runs = pd.unique(scores.run)
    rng = np.random.default_rng(seed)
    # Fewer runs have no interval.
    images = resample(len(scores.labels), n_resamples if len(runs) >= FEWEST_RUNS else 0, rng)
    n_words = scores.labels.shape[1]
    # Row 0 of images and of drawn counts each once, so that it gives the difference itself.
    ones, drawn = np.ones((len(images), n_words)), resample(n_words, len(images) - 1, rng)
    positives = images @ (scores.labels == 1)
    # Weights of the words, (n_resamples, n_words): 2 a for AVERAGES[a] over the words, 2 a + 1 over words drawn anew.
    weights = np.stack([positives, positives * drawn, ones, ones * drawn])
    rows = []
    for n in pd.unique(scores.n):
        means = {}
        for method in (first, *others):
            of_runs = [fits[run, method, n] for run in runs]
            by_word = (resampled(scores.score[fit], scores.labels, images) for fit in of_runs)
            means[method] = np.stack(
                [
                    _means_over_words(numbers, scores, fit, weights)
                    for numbers, fit in zip(by_word, of_runs, strict=True)
                ]
            )
        n_samples = scores.n_samples[fits[runs[0], first, n]]
        for other in others:
            by_run = means[first] - means[other]
            for (i, metric), (j, words), (a, average) in product(*map(enumerate, (METRICS, WORDS, AVERAGES))):
                difference, low, high, over_runs = _interval(by_run[:, i, j, 2 * a])
                _, low_words, high_words, _ = _interval(by_run[:, i, j, 2 * a + 1])
                rows.append(
                    {"metric": metric, "n": n, "n_samples": n_samples, "words": words, "average": average}
                    | {"method": first, "against": other, "difference": difference, "low": low, "high": high}
                    | {"low_words": low_words, "high_words": high_words, "over_runs": over_runs, "runs": len(by_run)}
                )
    return pd.DataFrame(rows).sort_values("metric", kind="stable", ignore_index=True)


def _by_fit(scores: ScoredFits) -> tuple[dict[tuple[int, str, int], int], list[str]]:
    """Place of each fit by (run, method, n), and the methods. Raises Misfit where scores do not belong together."""
    keys = list(zip(scores.run.tolist(), scores.method.tolist(), scores.n.tolist(), strict=True))
    methods = list(dict.fromkeys(scores.method.tolist()))
    require(len(methods) > 1, f"there must be scores of two methods at least, got {methods}", Misfit)
    for run, method, n in product(pd.unique(scores.run), methods, pd.unique(scores.n)):
        require((run, method, n) in keys, f"there must be scores of {method}, run {run}, n {n}", Misfit)
    return {key: fit for fit, key in enumerate(keys)}, methods


def _words(scores: ScoredFits, fit: int, label: str) -> np.ndarray:
    """The words (n_words,) bool that rows with this label in column `words` count."""
    in_validation: np.ndarray = scores.validation_words[fit]
    return ~in_validation if label == WORDS[0] else np.ones_like(in_validation)


def _interval(by_run: np.ndarray) -> tuple[float, float, float, float]:
    """The mean over runs, its interval, and the part of its half width that comes from runs.

    by_run: (n_runs, 1 + n_resamples), the first column of all images.
    """
    n_runs = len(by_run)
    mean, resampled = by_run[:, 0].mean(), by_run[:, 1:].mean(axis=0)
    resampled = resampled[~np.isnan(resampled)]
    if not len(resampled):
        return float(mean), np.nan, np.nan, np.nan
    below, above = mean - np.quantile(resampled, 0.025), np.quantile(resampled, 0.975) - mean
    # Choice: runs are few, and resampling them as well would make them look closer to each other than they are.
    width = half_width(by_run[:, 0].std(ddof=1), n_runs)
    return float(mean), float(mean - np.hypot(below, width)), float(mean + np.hypot(above, width)), float(width)


def _means_over_words(by_word: np.ndarray, scores: ScoredFits, fit: int, weights: np.ndarray) -> np.ndarray:
    """Weighted means over test words and over all words, NaNs left out.

    by_word: (n_metrics, n_resamples, n_words). weights: (n_weights, n_resamples, n_words). Returns (n_metrics, 2,
    n_weights, n_resamples).
    """
    defined = ~np.isnan(by_word)
    values = np.where(defined, by_word, 0.0)
    means = []
    for words in (_words(scores, fit, label) for label in WORDS):
        word_weights = weights[..., words]
        with np.errstate(invalid="ignore"):
            total, weight = (
                np.einsum("srw,mrw->msr", word_weights, numbers[..., words])
                for numbers in (values, defined.astype(float))
            )
            means.append(total / weight)
    return np.stack(means, axis=1)
