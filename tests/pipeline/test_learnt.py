"""Tables over runs: means of methods, and how well each word is learnt, with a test against chance and intervals."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jointsparse.metrics import as_trials, auc, holm, interval
from jointsparse.pipeline.scores.learnt import by_size, words_learnt
from jointsparse.pipeline.scores.runs import means

BY_WORD = pd.DataFrame(
    {"run": [1, 2], "n": 5, "method": "a", "word": "cat", "validation_word": False, "positives": 8}
).assign(auc=[0.6, 0.8], n_features=[1, 2])


@pytest.mark.parametrize("n_runs", [4, 5])
def test_means_over_runs_have_an_interval_from_five_runs_on(rng, n_runs):
    names, scores = ["n_samples", "auc_weighted", "auc", "eer", "features"], rng.random((5, n_runs, 3))
    keys = product(range(n_runs), [("b", 5), ("b", 10), ("a", 5)])
    chosen = pd.DataFrame([(run, *key) for run, key in keys], columns=["run", "method", "n"])
    table = means(chosen.assign(**dict(zip(names, scores.reshape(5, -1), strict=True))))
    assert table[["method", "n", "runs"]].to_numpy().tolist() == [["b", 5, n_runs], ["b", 10, n_runs], ["a", 5, n_runs]]
    np.testing.assert_allclose(table[names].T, scores.mean(axis=1))
    ends = stats.t.interval(0.95, n_runs - 1, scores[1].mean(axis=0), stats.sem(scores[1]))
    np.testing.assert_allclose(table[["low", "high"]].T, ends if n_runs == 5 else np.full((2, 3), np.nan))


def test_a_word_is_tested_against_chance():
    (row,) = words_learnt(pd.concat([BY_WORD.assign(n=2, auc=0.1), BY_WORD]), 20).to_dict("records")  # the largest n
    # Variance of the Mann-Whitney statistic over its number of pairs: 21 / (12 * 8 * 12).
    assert row["p"] == pytest.approx(0.5 * (1 - math.erf(0.2 / math.sqrt(2 * 21 / 1152))))
    assert (row["auc"], row["n_features"], row["runs"], row["best"]) == (pytest.approx(0.7), 1.5, 2, True)


def test_words_are_sorted_by_their_best_method_and_corrected_for_all_words_of_a_method():
    cat, dog = ([BY_WORD.assign(word=word, method=method) for method in "ab"] for word in ("cat", "dog"))
    rows = [table.assign(auc=auc) for table, auc in zip(dog + cat, (0.8, 0.7, 0.6, 0.9), strict=True)]
    table = words_learnt(pd.concat(rows), 20)
    expected = [["cat", "a", False], ["cat", "b", True], ["dog", "a", True], ["dog", "b", False]]
    assert table[["word", "method", "best"]].to_numpy().tolist() == expected
    for _, of_method in table.groupby("method"):
        np.testing.assert_array_equal(of_method["p_holm"], holm(of_method["p"].to_numpy()))


@pytest.mark.parametrize(
    "chose, expected", [(False, [False, 0.7, 2]), ([True, False], [False, 0.8, 1]), (True, [True, 0.7, 2])]
)
def test_runs_in_which_a_word_chose_the_radius_are_left_out_unless_it_did_in_all_runs(chose, expected):
    (row,) = words_learnt(BY_WORD.assign(validation_word=chose), 20).to_dict("records")
    assert [row[name] for name in ("validation_word", "auc", "runs")] == pytest.approx(expected)


@pytest.mark.parametrize(
    "n_runs, positives, true, width", [(1, 10, 0.95, 0.25), (2, 30, 0.8, 0.24), (10, 30, 0.95, 0.12)]
)
def test_the_interval_of_a_word_covers_its_true_auc(n_runs, positives, true, width, rng):
    """Scores of shared images are normal, training sets shift positives by N(0, 0.2²), each method has ten words."""
    moved = np.sqrt(2.04) * stats.norm.ppf(true) + 0.2 * rng.normal(size=(n_runs, 1000))
    scores = rng.normal(size=(3 * positives, 1000))
    labels = np.tile(np.arange(len(scores))[:, np.newaxis] < positives, 1000)
    rows = pd.DataFrame({"n": 5, "word": np.tile(np.arange(1000), n_runs), "validation_word": False, "n_features": 0})
    rows["auc"] = np.concatenate([auc(scores + labels * by, labels) for by in moved])
    table = by_size(rows.assign(method=rows["word"] // 10, positives=positives), len(scores))
    # The interval of a single run is for the AUC of its fit, because nothing is known about other training sets.
    target = true if n_runs > 1 else stats.norm.cdf(moved[0] / np.sqrt(2))
    assert ((table["low"] <= target) & (target <= table["high"])).mean() >= 0.93
    assert (table["high"] - table["low"]).mean() == pytest.approx(width, abs=0.01)


def test_the_interval_of_a_single_word_is_that_of_its_test_images_and_of_the_t_distribution_over_its_runs():
    (right, wrong), (table, n) = as_trials(0.7, 8, 20), (by_size(BY_WORD, 20), len(BY_WORD))
    half = stats.t.ppf(0.975, n - 1) * stats.sem(BY_WORD["auc"]) * (right + wrong) ** 2 / (right * wrong)
    assert table.loc[0, ["low", "high"]].tolist() == pytest.approx(interval(right, wrong, half))


@pytest.mark.parametrize("n_runs", [1, 2])
def test_the_interval_of_a_word_is_between_0_and_1(n_runs):
    words = pd.DataFrame(product([0.0, 0.5, 1.0], [1, 10, 100]), columns=["auc", "positives"])
    rows = BY_WORD[:n_runs].drop(columns=["auc", "positives", "word"])
    table = by_size(rows.merge(words.assign(word=words.index), how="cross"), 200)
    low, high = table["low"], table["high"]
    assert ((low > 0) & (low <= table["auc"].clip(lower=0.2))).all() and (high - low > 0.02).all()
    assert ((high < 1) & (high >= table["auc"].clip(upper=0.8))).all()
