"""AUC, sign tests and the tables made of them, against scikit-learn, SciPy and hand counts."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from jointsparse import comparison


def scored(n=200, m=6, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    labels = rng.random((n, m)) < np.linspace(0.1, 0.9, m)
    scores = labels + rng.normal(0, 1.5, (n, m))
    return (np.round(scores) if ties else scores), labels


@pytest.mark.parametrize("ties", [False, True])
def test_auc_is_scikit_learns(ties):
    scores, labels = scored(ties=ties)
    expected = [roc_auc_score(labels[:, k], scores[:, k]) for k in range(labels.shape[1])]
    np.testing.assert_allclose(comparison.auc(scores, labels), expected, rtol=1e-12)


def test_auc_counts_pairs():
    scores = np.array([[3.0], [1.0], [2.0], [2.0]])
    labels = np.array([[True], [False], [True], [False]])
    assert comparison.auc(scores, labels) == pytest.approx([(1 + 1 + 1 + 0.5) / 4])


def test_auc_of_equal_scores_is_one_half():
    assert comparison.auc(np.zeros((5, 1)), np.array([[True], [False]] * 2 + [[True]])) == [0.5]


def test_auc_without_positives_is_undefined():
    assert np.isnan(comparison.auc(np.arange(3.0)[:, None], np.zeros((3, 1), dtype=bool)))[0]


def test_two_averages():
    by_task, positives = np.array([0.5, 0.9, 0.1]), np.array([10, 30, 5])
    plain, weighted = comparison.average_auc(by_task, positives, np.array([True, True, False]))
    assert plain == pytest.approx(0.7)
    assert weighted == pytest.approx((0.5 * 10 + 0.9 * 30) / 40)


def test_sign_test_is_binomtest_on_its_counts():
    f, labels = scored(seed=1)
    g = scored(seed=2)[0]
    tested = comparison.sign_test(f, g, labels, n_pairings=20, rng=np.random.default_rng(0))
    for wins, losses, p, p_reverse in zip(*tested, strict=True):
        assert p == pytest.approx(binomtest(wins, wins + losses, alternative="greater").pvalue)
        assert p_reverse == pytest.approx(binomtest(losses, wins + losses, alternative="greater").pvalue)


def test_sign_test_counts_by_hand():
    labels = np.array([[True], [False]])
    f, g = np.array([[2.0], [1.0]]), np.array([[1.0], [2.0]])
    tested = comparison.sign_test(f, g, labels, n_pairings=3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(tested.wins, 1)
    np.testing.assert_array_equal(tested.losses, 0)
    np.testing.assert_allclose(tested.p, 0.5)
    np.testing.assert_allclose(tested.p_reverse, 1.0)


def test_sign_test_drops_ties_and_equal_classifiers_are_undecided():
    f, labels = scored()
    tested = comparison.sign_test(f, f, labels, n_pairings=2, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(tested.wins + tested.losses, 0)
    np.testing.assert_array_equal(tested.p, 1.0)


def test_sign_test_pairs_each_item_once_and_the_smaller_side_decides():
    # Every pair is won, so wins counts pairs: min(positives, negatives) of each task.
    labels = np.array([[True, True]] * 2 + [[True, False]] * 3 + [[False, False]] * 2)
    f = labels.astype(float)
    tested = comparison.sign_test(f, -f, labels, n_pairings=4, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(tested.wins, 2 + 2)


def test_holm_by_hand_and_never_below_the_p_value():
    p = np.array([0.01, 0.04, 0.03, 0.9])
    np.testing.assert_allclose(comparison.holm(p), [0.04, 0.09, 0.09, 0.9])
    assert (comparison.holm(np.full(3, 0.5)) <= 1).all()


def one_sweep(method="hinge-l1inf", n=5, run=1, seed=0):
    """Four pairs on a task that the first feature decides; the second radius is the good one."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(4, 3, 4)).astype(np.float32)
    W[3] = 0
    W[3, 0] = 1
    arrays = {
        "parameter": np.array([1.0, 1.0, 10.0, 10.0]),
        "eta0": np.array([0.1, 1.0, 0.1, 1.0]),
        "W": W,
        "objective": np.array([[4.0, 2.0], [4.0, 3.0], [4.0, 1.5], [4.0, 1.0]]),
        "gap": np.array([0.9, 0.9, 0.01, 0.02]),
    }
    return comparison.TrainedSweep(run, n, method, 60, arrays, np.array([True, False, False, True]))


def example(seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3)).astype(np.float32)
    labels = X[:, :1] + rng.normal(0, 0.3, (90, 4)) > 0
    return X, labels, np.repeat(["train", "validation", "test"], 30), list("abcd")


def test_choice_is_by_objective_and_validation_words_and_the_rest_is_tested():
    X, labels, split, words = example()
    tables = comparison.evaluate([one_sweep()], X, labels, split, words, converging_method="hinge-l1inf")
    (row,) = tables.auc.to_dict("records")
    assert (row["parameter"], row["eta0"]) == (10.0, 1.0)
    assert row["warning"] == "parameter at the upper edge of its grid; eta0 at the upper edge of its grid"
    assert row["features"] == pytest.approx(1 / 3)
    assert row["gap"] == 0.02 and tables.sparsity["gap"].tolist() == [0.9, 0.02]
    test = split == "test"
    by_word = [roc_auc_score(labels[test, k], X[test, 0]) for k in range(4)]
    assert row["auc"] == pytest.approx(np.mean(by_word[1:3]))
    assert row["auc_all"] == pytest.approx(np.mean(by_word))
    assert row["auc_weighted"] == pytest.approx(np.average(by_word[1:3], weights=labels[test].sum(axis=0)[1:3]))
    np.testing.assert_allclose(tables.auc_by_word["auc"], by_word)
    assert tables.auc_by_word["validation_word"].tolist() == [True, False, False, True]
    assert tables.sparsity["parameter"].tolist() == [1.0, 10.0]
    assert tables.convergence["objective"].tolist() == [1.0, 0.5, 1.0, 0.25]


def test_choice_never_looks_at_test_images():
    X, labels, split, words = example()
    sweeps = [one_sweep(seed=seed) for seed in range(5)]
    scrambled = labels.copy()
    scrambled[split == "test"] = ~scrambled[split == "test"]
    first, second = (
        comparison.evaluate(sweeps, X, some, split, words, converging_method="").auc for some in (labels, scrambled)
    )
    pd.testing.assert_frame_equal(
        first[["parameter", "eta0", "validation_auc"]], second[["parameter", "eta0", "validation_auc"]]
    )
    assert (first["auc"] != second["auc"]).all()


def test_significance_table_holds_both_directions_and_the_papers_values():
    _, labels, _, _ = example()
    rng = np.random.default_rng(0)
    methods = ["hinge-l1inf", "hinge-l1", "svm-l2"]
    scores = {f"1 {method} {n}": labels + rng.normal(size=labels.shape) for method in methods for n in (40, 80)}
    table = comparison.significance(
        scores,
        labels,
        {1: one_sweep().validation_words},
        n_samples={40: 480, 80: 960},
        methods=methods,
        n_pairings=11,
        seed=0,
    )
    assert len(table) == 2 * 2 * 2
    assert set(table["words"]) == {"test words", "all words"}
    row = table[(table["n"] == 40) & (table["against"] == "svm-l2") & (table["words"] == "test words")].iloc[0]
    assert row["paper"] == 0.0042
    expected = binomtest(row["wins"], row["wins"] + row["losses"], alternative="greater").pvalue
    assert row["p"] == pytest.approx(expected)
    assert (table["p_holm"] >= table["p"]).all()
