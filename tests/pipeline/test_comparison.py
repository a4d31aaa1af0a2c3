"""Is one method better than another: sign tests, and differences against those of repeated images."""

from functools import partial
from itertools import product

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy import stats

from jointsparse import checks, metrics
from jointsparse.pipeline.scores import comparison
from jointsparse.pipeline.scores.scored_fits import ScoredFits


def study(n_images=30, n_runs=3, seed=4):
    """Scores of three methods, the noisier the later, for runs of which each has one validation word."""
    rng = np.random.default_rng(seed)
    labels = rng.random((n_images, 5)) < [0.1, 0.3, 0.5, 0.5, 0.6]
    methods = ["hinge-l1inf", "hinge-l1", "svm-l2"]
    fits = list(product(range(1, n_runs + 1), (40, 80), methods))
    score = [labels + rng.normal(0, 1.0 + methods.index(method), labels.shape) for _, _, method in fits]
    run, n, method = map(np.array, zip(*fits, strict=True))
    return ScoredFits(run, n, 12 * n, method, np.arange(5) == run[:, np.newaxis], np.array(score), labels)


def test_significance_table_holds_both_directions():
    table = comparison.significance(study(n_images=90, n_runs=1), n_pairings=11, seed=0)
    assert len(table) == 2 * 2 * 2
    assert set(table["words"]) == {"test words", "all words"}
    row = table[(table["n"] == 40) & (table["against"] == "svm-l2") & (table["words"] == "test words")].iloc[0]
    expected = stats.binomtest(row["wins"], row["wins"] + row["losses"], alternative="greater").pvalue
    assert row["p"] == pytest.approx(expected) and row["n_samples"] == 480
    assert (table["p_holm"] >= table["p"]).all()


@pytest.mark.parametrize("n_runs", [1, 2, 5])
def test_differences_are_those_of_repeated_images_and_of_runs(n_runs):
    scores = study(n_runs=n_runs)
    table = comparison.differences(scores, n_resamples=6, seed=7)
    assert len(table) == 2 * 2 * 2 * 2 * 2
    rng = np.random.default_rng(7)
    images, words_drawn = metrics.resample(30, 6, rng), metrics.resample(5, 6, rng)
    drawn = [np.repeat(np.arange(30), counts) for counts in images]
    by_word = [np.array([oracles.slow_metrics(f[some], scores.labels[some]) for some in drawn]) for f in scores.score]
    places = list(zip(scores.run, scores.method, scores.n, strict=True))
    for row in table.to_dict("records"):
        expected, of_words = np.empty((2, len(images), n_runs))
        for b in range(len(images)):
            for r in range(n_runs):
                words = np.arange(5) != r + 1 if row["words"] == "test words" else np.ones(5, dtype=bool)
                fits = (places.index((r + 1, row[name], row["n"])) for name in ("method", "against"))
                f, g = (by_word[fit][b][["auc", "eer"].index(row["metric"])] for fit in fits)
                weights = scores.labels[drawn[b]].sum(axis=0) if row["average"] == "by positives" else np.ones(5)
                for into, times in ((expected, np.ones(5)), (of_words, words_drawn[b])):
                    weigh = weights * times * words * ~np.isnan(f)
                    into[b, r] = (np.nan_to_num(f - g) * weigh).sum() / weigh.sum() if weigh.any() else np.nan
        mean = expected[0].mean()
        assert row["difference"] == pytest.approx(mean, rel=1e-9, abs=1e-12)
        assert row["runs"] == n_runs and row["n_samples"] == 12 * row["n"]
        if n_runs < 5:
            assert np.isnan([row[end] for end in ("low", "high", "low_words", "high_words")]).all()
            continue
        runs = stats.t.interval(0.95, n_runs - 1, mean, stats.sem(expected[0]))[1] - mean
        assert row["over_runs"] == pytest.approx(runs, rel=1e-9)
        for resampled, ends in ((expected, ("low", "high")), (of_words, ("low_words", "high_words"))):
            low, high = np.nanquantile(resampled[1:].mean(axis=1), [0.025, 0.975])
            assert row[ends[0]] == pytest.approx(mean - np.hypot(mean - low, runs), rel=1e-9)
            assert row[ends[1]] == pytest.approx(mean + np.hypot(high - mean, runs), rel=1e-9)


def test_a_method_does_not_differ_from_itself_and_a_seed_gives_one_table():
    scores = study(n_runs=5)
    scores.method[scores.method == "hinge-l1"] = "same"
    scores.score[scores.method == "same"] = scores.score[scores.method == "hinge-l1inf"]
    first = comparison.differences(scores, n_resamples=12, seed=7)
    assert (first.loc[first["against"] == "same", ["difference", "low", "high"]] == 0).all(axis=None)
    pd.testing.assert_frame_equal(first, comparison.differences(scores, n_resamples=12, seed=7))


def test_words_that_no_resample_holds_are_undefined_and_nothing_warns():
    table = comparison.differences(study()._replace(labels=np.zeros((30, 5), dtype=bool)), n_resamples=12, seed=7)
    assert table[["difference", "low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"method": np.array(["hinge-l1inf"] * 6 + ["hinge-l1"] * 12)}, id="a fit is missing"),
        pytest.param({"method": np.array(["hinge-l1"] * 18)}, id="one method"),
    ],
)
@pytest.mark.parametrize(
    "compare", [partial(comparison.significance, n_pairings=2), partial(comparison.differences, n_resamples=2)]
)
def test_scores_that_do_not_belong_together_are_refused(change, compare):
    with pytest.raises(checks.Misfit):
        compare(study()._replace(**change), seed=0)
