"""AUC, EER, tests and the tables made of them, against scikit-learn, SciPy and hand counts."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score, roc_curve

from jointsparse import checks, comparison, sweep


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


def slow_eer(scores, labels):
    """Of one task: where the piecewise linear ROC curve meets the line from (0, 1) to (1, 0)."""
    if labels.all() or not labels.any():
        return np.nan
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    return np.interp(0, fpr - (1 - tpr), fpr)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eer_is_where_scikit_learns_roc_curve_meets_the_diagonal(ties, dtype):
    for seed in range(20):
        scores, labels = scored(n=37, seed=seed, ties=ties)
        scores = scores.astype(dtype)
        expected = [slow_eer(scores[:, k], labels[:, k]) for k in range(labels.shape[1])]
        np.testing.assert_allclose(comparison.eer(scores, labels), expected, rtol=1e-12, atol=1e-15)


def test_eer_by_hand():
    labels = np.array([[True], [True], [False], [False], [False]])
    # One positive of two is above every negative, the other below one of three: rejected 1/2 meets accepted 1/3.
    assert comparison.eer(np.array([[5.0], [3.0], [4.0], [2.0], [1.0]]), labels) == pytest.approx([1 / 3])
    # Perfect, reversed, and all tied: accepted together, halfway along the only step.
    assert comparison.eer(np.array([[5.0], [4.0], [3.0], [2.0], [1.0]]), labels) == [0.0]
    assert comparison.eer(np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]), labels) == [1.0]
    assert comparison.eer(np.zeros((5, 1)), labels) == [0.5]


def test_infinite_scores_are_tied():
    labels = np.array([[True], [False]])
    assert comparison.eer(np.full((2, 1), np.inf), labels) == [0.5]


@pytest.mark.parametrize("labels", [np.zeros((3, 1), dtype=bool), np.ones((3, 1), dtype=bool)])
def test_eer_without_positives_or_negatives_is_undefined(labels):
    assert np.isnan(comparison.eer(np.arange(3.0)[:, None], labels))[0]


def test_eer_of_undefined_scores_is_undefined():
    scores, labels = scored()
    scores[3, 1] = np.nan
    np.testing.assert_array_equal(np.isnan(comparison.eer(scores, labels)), np.arange(6) == 1)


def test_two_averages():
    by_task, positives = np.array([0.5, 0.9, 0.1]), np.array([10, 30, 5])
    plain, weighted = comparison.average(by_task, positives, np.array([True, True, False]))
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
        "W": W[[0, 3]],
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
    (row,) = tables.chosen.to_dict("records")
    assert (row["parameter"], row["eta0"]) == (10.0, 1.0)
    assert row["warning"] == "parameter at the upper edge of its grid; eta0 at the upper edge of its grid"
    assert row["features"] == pytest.approx(1 / 3)
    assert row["gap"] == 0.02 and tables.sparsity["gap"].tolist() == [0.9, 0.02]
    test = split == "test"
    by_word = [roc_auc_score(labels[test, k], X[test, 0]) for k in range(4)]
    assert row["auc"] == pytest.approx(np.mean(by_word[1:3]))
    assert row["auc_all"] == pytest.approx(np.mean(by_word))
    assert row["auc_weighted"] == pytest.approx(np.average(by_word[1:3], weights=labels[test].sum(axis=0)[1:3]))
    eer_by_word = [slow_eer(X[test, 0], labels[test, k]) for k in range(4)]
    assert row["eer"] == pytest.approx(np.mean(eer_by_word[1:3]))
    assert row["eer_all_weighted"] == pytest.approx(np.average(eer_by_word, weights=labels[test].sum(axis=0)))
    assert tables.by_word["word"].tolist() == words
    assert tables.by_word["positives"].tolist() == labels[test].sum(axis=0).tolist()
    np.testing.assert_allclose(tables.by_word["auc"], by_word)
    np.testing.assert_allclose(tables.by_word["eer"], eer_by_word)
    assert tables.by_word["validation_word"].tolist() == [True, False, False, True]
    assert tables.sparsity["parameter"].tolist() == [1.0, 10.0]
    assert tables.convergence["objective"].tolist() == [1.0, 0.5, 1.0, 0.25]


CHOICE = ["parameter", "eta0", "validation"]


@pytest.mark.parametrize("metric", ["auc", "eer"])
def test_choice_never_looks_at_test_images(metric):
    X, labels, split, words = example()
    test = split == "test"
    flipped, undefined, other = labels.copy(), X.copy(), X.copy()
    flipped[test] = ~flipped[test]
    undefined[test] = np.nan
    other[test] = np.random.default_rng(9).normal(size=other[test].shape)
    sweeps = [one_sweep(seed=seed) for seed in range(5)]
    expected, *others = (
        comparison.evaluate(sweeps, features, some, split, words, converging_method="", metric=metric).chosen
        for features, some in ((X, labels), (X, flipped), (undefined, labels), (other, labels))
    )
    for got in others:
        pd.testing.assert_frame_equal(got[CHOICE], expected[CHOICE])
        assert (got["auc"] != expected["auc"]).all()


def test_choice_is_given_validation_images_only(monkeypatch):
    X, labels, split, words = example()
    seen = []

    def choose(one, X, labels, metric, choose=comparison.choose):
        seen.append((X, labels))
        return choose(one, X, labels, metric)

    monkeypatch.setattr(comparison, "choose", choose)
    comparison.evaluate([one_sweep(), one_sweep(seed=1)], X, labels, split, words, converging_method="")
    assert len(seen) == 2
    for got_X, got_labels in seen:
        np.testing.assert_array_equal(got_X, X[split == "validation"])
        np.testing.assert_array_equal(got_labels, labels[split == "validation"])


@pytest.mark.parametrize(("metric", "expected"), [("auc", 2), ("eer", 1)])
def test_radius_has_the_largest_auc_or_the_smallest_eer(metric, expected):
    # Ten positives P and ten negatives N, from the largest score down. Radius 1: all tied. Radius 2: 8 P, 10 N, 2 P,
    # AUC 0.8, EER 0.2. Radius 3: 7 P, 3 N, 3 P, 7 N, AUC 0.91, EER 0.3.
    labels = np.repeat([True, False], 10)[:, None]
    X = np.zeros((20, 3))
    X[:10, 1] = np.repeat([1, -1], [8, 2])
    X[:, 2] = np.repeat([4, 2, 3, 1], [7, 3, 3, 7])
    arrays = {
        "parameter": np.array([1.0, 2.0, 3.0]),
        "eta0": np.ones(3),
        "W": np.eye(3)[:, :, None],
        "objective": np.ones((3, 2)),
        "gap": np.zeros(3),
    }
    one = comparison.TrainedSweep(1, 5, "hinge-l1", 15, arrays, np.array([True]))
    pairs, validation, chosen = comparison.choose(one, X, labels, metric)
    np.testing.assert_array_equal(pairs, [0, 1, 2])
    np.testing.assert_allclose(validation, {"auc": [0.5, 0.8, 0.91], "eer": [0.5, 0.2, 0.3]}[metric])
    assert chosen == expected


@pytest.mark.parametrize("metric", ["auc", "eer"])
def test_of_equally_good_radii_the_smallest_is_chosen(metric):
    X, labels, split, words = example()
    one = one_sweep()
    one.arrays["W"][:] = 1
    table = comparison.evaluate([one], X, labels, split, words, converging_method="", metric=metric).chosen
    assert table["parameter"].tolist() == [1.0]


def test_sparse_features_give_the_same_tables():
    X, labels, split, words = example()
    dense, compressed = (
        comparison.evaluate([one_sweep()], some, labels, split, words, converging_method="hinge-l1inf")
        for some in (X, sparse.csr_matrix(X))
    )
    for name in ("chosen", "by_word", "sparsity", "convergence"):
        pd.testing.assert_frame_equal(getattr(dense, name), getattr(compressed, name))


def test_weights_are_the_non_zero_ones_of_the_first_run_at_one_size():
    X, labels, split, words = example()
    sweeps = [one_sweep(method, n=n, run=run) for run in (2, 1) for n in (5, 9) for method in ("hinge-l1inf", "svm-l2")]
    for one in sweeps[::2]:
        one.arrays["W"][1, 0, 2] = 0
    tables = comparison.evaluate(sweeps, X, labels, split, words, converging_method="", at_size=9)
    for method, used in (("hinge-l1inf", [0, 1, 3]), ("svm-l2", [0, 1, 2, 3])):
        rows = tables.weights[tables.weights["method"] == method]
        assert rows["word"].tolist() == used
        assert (rows[["run", "n", "feature", "weight", "n_features", "n_words"]] == [2, 9, 0, 1, 3, 4]).all(axis=None)
    without = comparison.evaluate(sweeps, X, labels, split, words, converging_method="").weights
    assert len(without) == 0 and list(without) == list(tables.weights)


def test_what_evaluate_does_not_know_is_one_clear_error():
    X, labels, split, words = example()
    with pytest.raises(ValueError, match="metric must be one of auc, eer, got 'f1'"):
        comparison.evaluate([], X, labels, split, words, converging_method="", metric="f1")
    with pytest.raises(ValueError, match="at_size must be one of the sizes of run 1, got 7"):
        comparison.evaluate([one_sweep()], X, labels, split, words, converging_method="", at_size=7)
    with pytest.raises(ValueError, match="metric must be one of auc, eer, got 'f1'"):
        comparison.path_table([], X, labels, split, metric="f1")


def test_words_with_the_same_score_for_all_test_images_carry_a_warning():
    X, labels, split, words = example()
    one = one_sweep()
    one.arrays["W"][1, :, 1:3] = 0
    tables = comparison.evaluate([one], X, labels, split, words, converging_method="")
    assert tables.by_word["warning"].tolist() == ["", comparison.TIED, comparison.TIED, ""]
    assert tables.by_word["auc"].tolist()[1:3] == [0.5, 0.5]
    assert tables.chosen["warning"].item().endswith("; 2 words with the same score for all test images")


def test_scores_that_are_not_numbers_carry_a_warning():
    X, labels, split, words = example()
    X[-1] = np.nan
    tables = comparison.evaluate([one_sweep()], X, labels, split, words, converging_method="")
    assert set(tables.by_word["warning"]) == {comparison.UNDEFINED}
    assert tables.chosen["warning"].item().endswith("; 4 words with scores that are not numbers")


def test_ties_among_some_images_are_no_warning():
    X, labels, split, words = example()
    X[:] = np.sign(X)
    tables = comparison.evaluate([one_sweep()], X, labels, split, words, converging_method="")
    assert (tables.by_word["warning"] == "").all()


def learnt(X, Y):
    """The tasks that fits were learnt from, and the fits as stored."""
    tasks = {"Y": Y[np.newaxis], "sizes": np.array([5]), "validation_words": one_sweep().validation_words}
    return tasks, one_sweep().arrays | {"learnt_from": checks.learnt_from(X, Y, "hinge-l1")}


def test_fits_are_tested_on_what_they_were_learnt_from():
    X, labels, split, words = example()
    Y = np.where(labels, 1, -1).astype(np.int8)
    tasks, arrays = learnt(X, Y)
    one = comparison.trained_sweep(1, 5, "hinge-l1", tasks, arrays)
    assert len(comparison.evaluate([one], X, labels, split, words, converging_method="").chosen) == 1
    with pytest.raises(checks.Misfit, match="of hinge-l1, run 1, n 5, were learnt from other features than these"):
        comparison.evaluate([one], X + 1, labels, split, words, converging_method="")
    with pytest.raises(checks.Misfit, match="of hinge-l1, run 1, n 5, must be learnt by it, from the training"):
        comparison.trained_sweep(1, 5, "hinge-l1", tasks | {"Y": -tasks["Y"]}, arrays)
    with pytest.raises(checks.Misfit, match="of hinge-l2, run 1, n 5, must be learnt by it, from the training"):
        comparison.trained_sweep(1, 5, "hinge-l2", tasks, arrays)
    with pytest.raises(checks.Misfit, match="tasks must hold training sets of size 7, got the sizes 5"):
        comparison.trained_sweep(1, 7, "hinge-l1", tasks, arrays)


def spoil(name, X, labels, split, words, one):
    """What evaluate is given, with one of them of another dataset or configuration."""
    if name == "features of other images":
        X = X[:-1]
    elif name == "features of another basis":
        X = X[:, :2]
    elif name == "labels of other images":
        labels = labels[:-1]
    elif name == "labels of other words":
        labels = labels[:, :3]
    elif name == "labels that are numbers":
        labels = labels.astype(float)
    elif name == "other words":
        words = words[:3]
    elif name == "fits of another grid":
        one.arrays["W"] = one.arrays["W"][:1]
    elif name.startswith("fits with"):
        array = name.split()[-1]
        spoilt = one.arrays[array].astype(str) if "text" in name else one.arrays[array][:-1]
        one.arrays[array] = spoilt[np.newaxis] if "axis" in name else spoilt
    elif name == "tasks of other words":
        one = one._replace(validation_words=one.validation_words[:3])
    return X, labels, split, words, one


MISFITS = ["features of other images", "features of another basis", "labels of other images", "labels of other words"]
MISFITS += ["labels that are numbers", "fits of another grid", "tasks of other words"]
MISFITS += [
    f"fits with {how} {name}" for how in ("text in", "too few") for name in ("parameter", "gap", "objective", "W")
]
MISFITS += [f"fits with one more axis of {name}" for name in ("parameter", "gap", "objective")]


@pytest.mark.parametrize("name", [*MISFITS, "other words"])
def test_what_does_not_belong_together_is_not_evaluated(name):
    X, labels, split, words, one = spoil(name, *example(), one_sweep())
    with pytest.raises(checks.Misfit):
        comparison.evaluate([one], X, labels, split, words, converging_method="")


@pytest.mark.parametrize("name", MISFITS)
def test_what_does_not_belong_together_makes_no_path(name):
    X, labels, split, _, one = spoil(name, *example(), one_sweep())
    one.arrays["at_zero"] = np.array(4.0)
    with pytest.raises(checks.Misfit):
        comparison.path_table([one], X, labels, split)


@pytest.mark.parametrize("change", ["missing", "images", "words", "text", "validation words", "no labels"])
def test_scores_of_other_images_words_or_methods_are_refused(change):
    _, labels, _, _ = example()
    scores = {f"1 {method} 5": np.zeros(labels.shape) for method in ("hinge-l1inf", "hinge-l1")}
    words = {1: np.array([True, False, False, True])}
    if change == "missing":
        scores["1 svm-l2 5"] = scores.pop("1 hinge-l1 5")
    elif change in ("images", "words"):
        scores["1 hinge-l1 5"] = scores["1 hinge-l1 5"][:-1] if change == "images" else np.zeros((90, 3))
    elif change == "text":
        scores["1 hinge-l1 5"] = scores["1 hinge-l1 5"].astype(str)
    elif change == "validation words":
        words[1] = words[1][:3]
    else:
        labels = labels.astype(int)
    options = {"n_samples": {5: 60}, "methods": ["hinge-l1inf", "hinge-l1"], "seed": 0}
    with pytest.raises(checks.Misfit):
        comparison.significance(scores, labels, words, n_pairings=2, **options)
    with pytest.raises(checks.Misfit):
        comparison.differences(scores, labels, words, n_resamples=2, **options)


@pytest.mark.parametrize("metric", ["auc", "eer"])
def test_path_has_the_rows_of_sparsity(metric):
    X, labels, split, words = example()
    one = one_sweep()
    kept = [0, 3]  # the best eta0 of each radius
    arrays = {name: one.arrays[name][kept] for name in ("parameter", "gap")} | {"W": one.arrays["W"]}
    arrays["objective"] = one.arrays["objective"][kept].min(axis=1)
    one.arrays["objective"][0] = one.arrays["objective"][1] - 1
    expected = comparison.evaluate([one], X, labels, split, words, converging_method="", metric=metric).sparsity
    arrays["at_zero"] = np.array(4.0)
    got = comparison.path_table([one._replace(arrays=arrays)], X, labels, split, metric=metric)
    assert list(got) == [*expected, "warning"]
    assert got["eta0"].isna().all()
    assert got["objective"].tolist() == [0.5, 0.25]
    assert got["warning"].tolist() == ["certified gap 90%", ""]
    others = ["eta0", "objective"]
    pd.testing.assert_frame_equal(got.drop(columns=[*others, "warning"]), expected.drop(columns=others))


def test_path_reads_what_sweep_gives():
    X, labels, split, _ = example()
    Y = np.where(split == "train", 1, 0)[:, None] * np.where(labels, 1, -1)
    radii = [0.1, 1.0, 5.0]
    arrays = sweep.path(X, Y, loss="hinge", norm="l1", radius=radii, n_iter=50, normalisation="sum")
    one = comparison.TrainedSweep(1, 30, "hinge-l1", 120, arrays, np.array([True, False, False, True]))
    table = comparison.path_table([one], X, labels, split)
    assert table["parameter"].tolist() == radii
    test = split == "test"
    for row, W in zip(table.to_dict("records"), arrays["W"], strict=True):
        by_word = [roc_auc_score(labels[test, k], X[test] @ W[:, k]) for k in (1, 2)]
        assert row["auc"] == pytest.approx(np.mean(by_word))
        assert row["features"] == pytest.approx(np.mean((W != 0).any(axis=1)))
        hinge = np.maximum(0, 1 - Y * (X @ W))[Y != 0].sum()
        assert row["objective"] == pytest.approx(hinge / np.count_nonzero(Y), rel=1e-4)


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


def slow_metrics(scores, labels):
    """AUC and EER of each task, (2, n_tasks)."""
    columns = list(zip(scores.T, labels.T, strict=True))
    auc = [np.nan if y.all() or not y.any() else roc_auc_score(y, f) for f, y in columns]
    return np.array([auc, [slow_eer(f, y) for f, y in columns]])


@pytest.mark.parametrize("ties", [False, True])
def test_resampled_metrics_are_those_of_repeated_images(ties):
    scores, labels = scored(n=25, ties=ties)
    counts = comparison._resample(25, 20, np.random.default_rng(0))
    got = comparison._resampled(scores, labels, counts)
    for b, count in enumerate(counts):
        drawn = np.repeat(np.arange(25), count)
        np.testing.assert_allclose(got[:, b], slow_metrics(scores[drawn], labels[drawn]), rtol=1e-12, atol=1e-15)
    assert np.isnan(got).any()  # the rare task is missing from some
    np.testing.assert_array_equal(got[0, 0], comparison.auc(scores, labels))
    np.testing.assert_array_equal(got[1, 0], comparison.eer(scores, labels))


def study(n_images=30, n_runs=3, ties=False):
    rng = np.random.default_rng(4)
    labels = rng.random((n_images, 5)) < [0.1, 0.3, 0.5, 0.5, 0.6]
    methods = ["hinge-l1inf", "hinge-l1", "svm-l2"]
    noise = {method: 1.0 + i for i, method in enumerate(methods)}
    scores = {
        f"{run} {method} {n}": labels + rng.normal(0, noise[method], labels.shape)
        for run in range(1, n_runs + 1)
        for method in methods
        for n in (40, 80)
    }
    validation_words = {run: np.arange(5) == run for run in range(1, n_runs + 1)}
    options = {"n_samples": {40: 480, 80: 960}, "methods": methods, "n_resamples": 12, "seed": 7}
    return scores, labels, validation_words, options


@pytest.mark.parametrize("n_runs", [1, 2])
def test_differences_are_those_of_repeated_images_and_of_runs(n_runs):
    scores, labels, validation_words, options = study(n_runs=n_runs)
    table = comparison.differences(scores, labels, validation_words, **options)
    assert len(table) == 2 * 2 * 2 * 2
    images = comparison._resample(30, 12, np.random.default_rng(7))
    drawn = [np.repeat(np.arange(30), counts) for counts in images]
    by_word = {name: np.array([slow_metrics(f[some], labels[some]) for some in drawn]) for name, f in scores.items()}
    for row in table.to_dict("records"):
        expected = np.empty((len(images), n_runs))
        for b in range(len(images)):
            for r, run in enumerate(validation_words):
                words = ~validation_words[run] if row["words"] == "test words" else np.ones(5, dtype=bool)
                f, g = (by_word[f"{run} {row[name]} {row['n']}"][b][:, words] for name in ("method", "against"))
                expected[b, r] = np.nanmean((f - g)[["auc", "eer"].index(row["metric"])])
        mean = expected[0].mean()
        assert row["difference"] == pytest.approx(mean, rel=1e-9, abs=1e-12)
        runs = (stats.t.interval(0.95, n_runs - 1, mean, stats.sem(expected[0]))[1] - mean) if n_runs > 1 else 0
        low, high = np.quantile(expected[1:].mean(axis=1), [0.025, 0.975])
        assert row["low"] == pytest.approx(mean - np.hypot(mean - low, runs), rel=1e-9)
        assert row["high"] == pytest.approx(mean + np.hypot(high - mean, runs), rel=1e-9)
        assert row["runs"] == n_runs and row["n_samples"] == 12 * row["n"]


def test_the_better_method_has_the_larger_auc_and_the_smaller_eer():
    scores, labels, validation_words, options = study(n_images=400)
    table = comparison.differences(scores, labels, validation_words, **options)
    auc, eer = table[table["metric"] == "auc"], table[table["metric"] == "eer"]
    assert (auc["low"] > 0).all() and (eer["high"] < 0).all()
    assert ((table["low"] < table["difference"]) & (table["difference"] < table["high"])).all()


def test_a_method_does_not_differ_from_itself_and_a_seed_gives_one_table():
    scores, labels, validation_words, options = study()
    scores |= {name.replace("hinge-l1inf", "same"): values for name, values in scores.items()}
    options["methods"] = ["hinge-l1inf", "same", "svm-l2"]
    first, second = (comparison.differences(scores, labels, validation_words, **options) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert (first.loc[first["against"] == "same", ["difference", "low", "high"]] == 0).all(axis=None)


def test_words_that_no_resample_holds_are_undefined_and_nothing_warns():
    scores, _, validation_words, options = study()
    table = comparison.differences(scores, np.zeros((30, 5), dtype=bool), validation_words, **options)
    assert table[["difference", "low", "high"]].isna().all(axis=None)
