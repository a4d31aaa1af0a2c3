"""Compare methods by sign tests, and by bootstrap intervals of differences over test images.

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

WORDS = ("test words", "all words")  # without and with the validation words, which chose the radius
AVERAGES = ("by positives", "plain")  # averages over words; the first is the paper's, see sec. 6.1


def significance(scores: ScoredFits, *, n_pairings: int, seed: int) -> pd.DataFrame:
    """Compare the first method of a study with every other method by sign tests, for each run and size.

    The pairs of different words share images, so the test on the pooled pairs is not exact. Note that a median of
    p-values is not itself a p-value.

    Parameters
    ----------
    scores : ScoredFits
        Scores of a study. Its first method is the first under `methods:` in the configuration.
    n_pairings : int, at least 1
        Number of random pairings of positives and negatives.
    seed : int
        Seed of the random generator that draws the pairings. Every test uses the same seed.

    Returns
    -------
    table
        A row for each run, size, other method and set of words, with the columns

        - `run`, `n`, `n_samples`, `method`, `against`;
        - `words`: "test words" (without the validation words, which chose the radius) or "all words";
        - `wins`, `losses`, `p`: the result of the sign test with the first pairing;
        - `p_reverse`: the p-value of the test in the other direction, with the first pairing;
        - `p_median`, `p_reverse_median`: medians of the p-values over all pairings;
        - `p_holm`, `p_reverse_holm`: `p` and `p_reverse` corrected for all comparisons with the same words and run;
        - `p_all_runs`, `p_reverse_all_runs`: p-values that combine all runs and pairings, see `over_runs`. Their values
          are the same in the rows of all runs.

    Raises
    ------
    Misfit
        If the scores of some method, run or size are missing.
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


def differences(scores: ScoredFits, *, n_resamples: int, seed: int, groups: np.ndarray | None = None) -> pd.DataFrame:
    """Return the differences in AUC and EER between the first method and each other method, with 95 % intervals.

    The interval combines two parts in quadrature. The first part is a bootstrap percentile interval over test images.
    The images are drawn with replacement, and all methods, words and runs share the same resamples. A word that has no
    positives or no negatives in a resample is left out of the mean for this resample. The second part is the t interval
    of the mean over runs. With fewer than `FEWEST_RUNS` runs there is no interval.

    Parameters
    ----------
    scores : ScoredFits
        Scores of a study.
    n_resamples : int, at least 1
        Number of bootstrap resamples.
    seed : int
        Seed of the random generator that draws the resamples.
    groups : int array, (n_test,), or None
        The group of each test image. Whole groups are resampled.

    Returns
    -------
    table
        A row for each metric, size, other method, set of words and average, with the columns

        - `metric`, `n`, `n_samples`, `method`, `against`;
        - `words`: "test words" or "all words", see `significance`;
        - `average`: the kind of average over words. In the "plain" average each word weighs the same, and in "by
          positives" each positive does, see `evaluation.average`;
        - `difference`: the metric of `method` minus the metric of `against`, averaged over words and runs;
        - `low`, `high`: the ends of the interval;
        - `low_words`, `high_words`: the ends of an interval for which words are resampled, too;
        - `over_runs`: the half-width of the t interval over runs;
        - `runs`: the number of runs.

    Raises
    ------
    Misfit
        If the scores of some method, run or size are missing.
    """
    fits, (first, *others) = _by_fit(scores)
    runs = pd.unique(scores.run)
    rng = np.random.default_rng(seed)
    # With fewer runs there is no interval, and nothing needs to be resampled.
    images = resample(len(scores.labels), n_resamples if len(runs) >= FEWEST_RUNS else 0, rng, groups)
    n_words = scores.labels.shape[1]
    # Row 0 of `images` and `drawn` counts each image and word once, so that it gives the difference itself.
    ones, drawn = np.ones((len(images), n_words)), resample(n_words, len(images) - 1, rng)
    positives = images @ (scores.labels == 1)
    # Word weights, each (n_resamples, n_words). AVERAGES[a] has index 2 a, or 2 a + 1 if words are resampled, too.
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
    """Return the index of the fit for each (run, method, n), and the methods. Raises Misfit if a fit is missing."""
    keys = list(zip(scores.run.tolist(), scores.method.tolist(), scores.n.tolist(), strict=True))
    methods = list(dict.fromkeys(scores.method.tolist()))
    require(len(methods) > 1, f"there must be scores of at least two methods, got {methods}", Misfit)
    for run, method, n in product(pd.unique(scores.run), methods, pd.unique(scores.n)):
        require((run, method, n) in keys, f"the scores of {method}, run {run}, n {n} are missing", Misfit)
    return {key: fit for fit, key in enumerate(keys)}, methods


def _words(scores: ScoredFits, fit: int, label: str) -> np.ndarray:
    """Return a mask (n_words,) of the test words of a fit, or of all words. label: one of the values in `WORDS`."""
    in_validation: np.ndarray = scores.validation_words[fit]
    return ~in_validation if label == WORDS[0] else np.ones_like(in_validation)


def _interval(by_run: np.ndarray) -> tuple[float, float, float, float]:
    """Return the mean over runs, the ends of its total interval, and the half-width of the t interval over runs.

    by_run: (n_runs, 1 + n_resamples). The first column is computed from all test images, each other column from a
    resample of them.
    """
    n_runs = len(by_run)
    mean, resampled = by_run[:, 0].mean(), by_run[:, 1:].mean(axis=0)
    resampled = resampled[~np.isnan(resampled)]
    if not len(resampled):
        return float(mean), np.nan, np.nan, np.nan
    below, above = mean - np.quantile(resampled, 0.025), np.quantile(resampled, 0.975) - mean
    # Choice: a t interval, because resampling a small number of runs would underestimate their spread.
    width = half_width(by_run[:, 0].std(ddof=1), n_runs)
    return float(mean), float(mean - np.hypot(below, width)), float(mean + np.hypot(above, width)), float(width)


def _means_over_words(by_word: np.ndarray, scores: ScoredFits, fit: int, weights: np.ndarray) -> np.ndarray:
    """Return weighted means over the test words and over all words, ignoring words whose metric is NaN.

    by_word: (n_metrics, n_resamples, n_words). weights: (n_weights, n_resamples, n_words). The result has the shape
    (n_metrics, 2, n_weights, n_resamples).
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
