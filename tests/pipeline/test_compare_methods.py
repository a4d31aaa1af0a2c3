"""Methods are compared by sign tests, and by differences that agree with those of repeated images."""

from functools import partial
from itertools import product

import numpy as np
import oracles
import pytest
from scipy import stats

from jointsparse import metrics
from jointsparse.checks import Misfit
from jointsparse.pipeline.scores import comparison
from jointsparse.pipeline.scores.scored_fits import ScoredFits


def study(n_images=30, n_runs=3, seed=4):
    """Return the scores of three methods, each noisier than the one before. Word r validates run r + 1."""
    rng = np.random.default_rng(seed)
    labels = rng.random((n_images, 5)) < [0.1, 0.3, 0.5, 0.5, 0.6]
    methods = ["hinge-l1inf", "hinge-l1", "svm-l2"]
    fits = list(product(range(1, n_runs + 1), (40, 80), methods))
    score = [labels + rng.normal(0, 1.0 + methods.index(method), labels.shape) for _, _, method in fits]
    run, n, method = map(np.array, zip(*fits, strict=True))
    return ScoredFits(run, n, 12 * n, method, np.arange(5) == run[:, np.newaxis], np.array(score), labels)


def places(scores):
    """Return the keys (run, method, n) of all fits, in their order."""
    return list(zip(scores.run, scores.method, scores.n, strict=True))


def words_of(row, run):
    """Return a mask of the words that a row counts: of the test words, or of all words."""
    return np.arange(5) != run if row["words"] == "test words" else np.ones(5, dtype=bool)


def test_significance_is_a_sign_test_for_each_run_size_method_and_set_of_words():
    scores = study(n_images=90)
    table = comparison.sign_tests(scores, n_pairings=11, seed=3)
    assert len(table) == 3 * 2 * 2 * 2
    for row in table.to_dict("records"):
        f, g = (scores.score[places(scores).index((row["run"], row[name], row["n"]))] for name in ("method", "against"))
        words = words_of(row, row["run"])
        tested = metrics.sign_test(
            f[:, words], g[:, words], scores.labels[:, words], n_pairings=11, rng=np.random.default_rng(3)
        )
        expected = {"n_samples": 12 * row["n"], "wins": tested.wins[0], "losses": tested.losses[0]}
        for name, p in (("p", tested.p), ("p_reverse", tested.p_reverse)):
            expected |= {name: p[0], f"{name}_median": np.median(p)}
        assert {name: row[name] for name in expected} == pytest.approx(expected)
    for name in ("p", "p_reverse"):
        for _, rows in table.groupby(["run", "words"]):
            assert rows[f"{name}_holm"].tolist() == metrics.holm(rows[name].to_numpy()).tolist()
        for _, rows in table.groupby(["n", "words", "against"]):
            assert rows[f"{name}_all_runs"].tolist() == [metrics.over_runs(rows[f"{name}_median"])] * 3


@pytest.mark.parametrize("n_runs", [1, 2, 5])
def test_differences_and_their_intervals_agree_with_repeated_images_and_runs(n_runs):
    scores = study(n_runs=n_runs)
    table = comparison.differences(scores, n_resamples=6, seed=7)
    assert len(table) == 2 * 2 * 2 * 2 * 2
    rng = np.random.default_rng(7)
    images, words_drawn = metrics.resample(30, 6, rng), metrics.resample(5, 6, rng)
    drawn = [np.repeat(np.arange(30), counts) for counts in images]
    by_word = [
        np.array(
            [[oracles.slow_statistic(key, f[some], scores.labels[some]) for key in ("auc", "eer")] for some in drawn]
        )
        for f in scores.score
    ]
    for row in table.to_dict("records"):
        expected, of_words = np.empty((2, len(images), n_runs))
        for b in range(len(images)):
            for r in range(n_runs):
                words = words_of(row, r + 1)
                fits = (places(scores).index((r + 1, row[name], row["n"])) for name in ("method", "against"))
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


def test_a_method_does_not_differ_from_itself():
    scores = study(n_runs=5)
    scores.method[scores.method == "hinge-l1"] = "same"
    scores.score[scores.method == "same"] = scores.score[scores.method == "hinge-l1inf"]
    table = comparison.differences(scores, n_resamples=12, seed=7)
    assert (table.loc[table["against"] == "same", ["difference", "low", "high"]] == 0).all(axis=None)


def test_words_without_positives_give_no_difference_and_no_warning():
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
    "compare", [partial(comparison.sign_tests, n_pairings=2), partial(comparison.differences, n_resamples=2)]
)
def test_incomplete_scores_are_refused(change, compare):
    with pytest.raises(Misfit):
        compare(study()._replace(**change), seed=0)
