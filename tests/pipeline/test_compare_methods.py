"""Methods are compared by sign tests, and by differences that agree with those of repeated images."""

from functools import cache, partial
from itertools import product

import numpy as np
import oracles
import pytest
from scipy import stats

from jointsparse import metrics
from jointsparse.checks import Misfit
from jointsparse.pipeline.scores import comparison
from jointsparse.pipeline.scores.scored_fits import ScoredFits


def study(n_images=30, n_runs=3):
    """Return the scores of three methods, each noisier than the one before. Word r validates run r + 1."""
    rng = np.random.default_rng(4)
    labels = rng.random((n_images, 5)) < [0.1, 0.3, 0.5, 0.5, 0.6]
    noise = {"hinge-l1inf": 1.0, "hinge-l1": 2.0, "svm-l2": 3.0}
    fits = list(product(range(1, n_runs + 1), (40, 80), noise))
    score = [labels + rng.normal(0, noise[method], labels.shape) for _, _, method in fits]
    run, n, method = map(np.array, zip(*fits, strict=True))
    return ScoredFits(run, n, 12 * n, method, np.arange(5) == run[:, np.newaxis], np.array(score), labels)


def place(scores, run, row, name):
    """Return the index of the fit that a row calls `name`, in a run."""
    return list(zip(scores.run, scores.method, scores.n, strict=True)).index((run, row[name], row["n"]))


def words_of(row, run):
    """Return a mask of the words that a row counts: of the test words, or of all words."""
    return np.arange(5) != run if row["words"] == "test words" else np.ones(5, dtype=bool)


def test_significance_is_a_sign_test_for_each_run_size_method_and_set_of_words():
    scores = study(n_images=90)
    table = comparison.sign_tests(scores, n_pairings=11, seed=3)
    assert len(table) == 3 * 2 * 2 * 2
    for row in table.to_dict("records"):
        words = words_of(row, row["run"])
        f, g = (scores.score[place(scores, row["run"], row, name)][:, words] for name in ("method", "against"))
        tested = metrics.sign_test(f, g, scores.labels[:, words], n_pairings=11, rng=np.random.default_rng(3))
        expected = {"n_samples": 12 * row["n"], "wins": tested.wins[0], "losses": tested.losses[0]}
        for name, p in (("p", tested.p), ("p_reverse", tested.p_reverse)):
            expected |= {name: p[0], f"{name}_median": np.median(p)}
        assert {name: row[name] for name in expected} == pytest.approx(expected)
    for name in ("p", "p_reverse"):
        for _, rows in table.groupby(["run", "words"]):
            assert rows[f"{name}_holm"].tolist() == metrics.holm(rows[name].to_numpy()).tolist()
        for _, rows in table.groupby(["n", "words", "against"]):
            assert rows[f"{name}_all_runs"].tolist() == [metrics.over_runs(rows[f"{name}_median"])] * 3


@pytest.mark.parametrize("n_runs", [2, 5])
def test_differences_and_their_intervals_agree_with_repeated_images_and_runs(n_runs):
    """Fewer than five runs have no interval."""
    scores, rng = study(n_runs=n_runs), np.random.default_rng(7)
    table = comparison.differences(scores, n_resamples=6, seed=7)
    assert len(table) == 2 * 2 * 2 * 2 * 2
    images, words_drawn = metrics.resample(30, 6, rng), metrics.resample(5, 6, rng)
    drawn = [np.repeat(np.arange(30), counts) for counts in images]

    @cache
    def by_word(metric, b, fit):
        return oracles.slow_statistic(metric, scores.score[fit][drawn[b]], scores.labels[drawn[b]])

    def lead(row, b, run, times):
        """The difference in a resample of the images and of the words, which occur so many times."""
        f, g = (by_word(row["metric"], b, place(scores, run, row, name)) for name in ("method", "against"))
        weights = scores.labels[drawn[b]].sum(axis=0) if row["average"] == "by positives" else np.ones(5)
        weights = weights * times * words_of(row, run) * ~np.isnan(f)
        return (np.nan_to_num(f - g) * weights).sum() / weights.sum() if weights.any() else np.nan

    runs = range(1, n_runs + 1)
    for row in table.to_dict("records"):
        by_run = [lead(row, 0, run, 1) for run in runs]
        mean = np.mean(by_run)
        assert row["difference"] == pytest.approx(mean, rel=1e-9, abs=1e-12)
        assert row["runs"] == n_runs and row["n_samples"] == 12 * row["n"]
        expected = dict.fromkeys(("low", "high", "low_words", "high_words"), np.nan)
        if n_runs == 5:
            over_runs = stats.t.interval(0.95, 4, mean, stats.sem(by_run))[1] - mean
            assert row["over_runs"] == pytest.approx(over_runs, rel=1e-9)
            for suffix, times in (("", np.ones((7, 5))), ("_words", words_drawn)):
                resampled = np.array([[lead(row, b, run, times[b]) for run in runs] for b in range(1, 7)]).mean(axis=1)
                low, high = np.nanquantile(resampled, [0.025, 0.975])
                expected[f"low{suffix}"] = mean - np.hypot(mean - low, over_runs)
                expected[f"high{suffix}"] = mean + np.hypot(high - mean, over_runs)
        assert {end: row[end] for end in expected} == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_words_without_positives_give_no_difference_and_no_warning():
    table = comparison.differences(study(n_runs=5)._replace(labels=np.zeros((30, 5), bool)), n_resamples=12, seed=7)
    assert table[["difference", "low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["hinge-l1inf"] * 6 + ["hinge-l1"] * 12, "the scores of hinge-l1, run 1, n 40 are missing"),
        (["hinge-l1"] * 18, "at least two methods, got"),
    ],
)
@pytest.mark.parametrize(
    "compare", [partial(comparison.sign_tests, n_pairings=2), partial(comparison.differences, n_resamples=2)]
)
def test_incomplete_scores_are_refused(methods, message, compare):
    with pytest.raises(Misfit, match=message):
        compare(study()._replace(method=np.array(methods)), seed=0)
