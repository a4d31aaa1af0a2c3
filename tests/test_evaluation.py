"""Choice and test of sweeps: the tables against fits and counts made one by one."""

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from jointsparse import checks
from jointsparse.learning import sweep, tasks
from jointsparse.scores import evaluation


def one_sweep(method="hinge-l1inf", n=5, run=1, seed=0):
    """Four pairs on a task that the first feature decides; the second radius is the good one."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(4, 3, 4)).astype(np.float32)
    W[3] = 0
    W[3, 0] = 1
    fits = sweep.Sweep(
        radius=np.array([1.0, 1.0, 10.0, 10.0]),
        eta0=np.array([0.1, 1.0, 0.1, 1.0]),
        objective=np.array([[4.0, 2.0], [4.0, 3.0], [4.0, 1.5], [4.0, 1.0]]),
        gap=np.array([0.9, 0.9, 0.01, 0.02]),
        unconverged=np.zeros(4, dtype=int),
        W=W[[0, 3]],
        learnt_from=np.array([checks.fingerprint(example()[0]), "labels", method]),
    )
    return evaluation.TrainedSweep(run, n, method, 60, fits, np.array([True, False, False, True]))


def with_fits(one, **arrays):
    """Replace some arrays of a sweep."""
    return one._replace(sweep=one.sweep._replace(**arrays))


def learnt_from(X, sweeps):
    """Sweeps as if they were learnt from X."""
    fingerprint = checks.fingerprint(X)
    return [with_fits(one, learnt_from=np.array([fingerprint, *one.sweep.learnt_from[1:]])) for one in sweeps]


def evaluate(sweeps, X, labels, split, words, **options):
    sweeps = learnt_from(X, sweeps)
    return evaluation.evaluate(sweeps, X, labels, split, words, **{"converging_method": ""} | options)


def path_table(paths, X, labels, split, **options):
    return evaluation.path_table(learnt_from(X, paths), X, labels, split, **options)


def example(seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3)).astype(np.float32)
    labels = X[:, :1] + rng.normal(0, 0.3, (90, 4)) > 0
    return X, labels, np.repeat(["train", "validation", "test"], 30), list("abcd")


def test_choice_is_by_objective_and_validation_words_and_the_rest_is_tested():
    X, labels, split, words = example()
    tables = evaluate([one_sweep()], X, labels, split, words, converging_method="hinge-l1inf")
    (row,) = tables.chosen.to_dict("records")
    assert (row["radius"], row["eta0"]) == (10.0, 1.0)
    assert row["warning"] == "radius at the upper edge of its grid; eta0 at the upper edge of its grid"
    assert row["features"] == pytest.approx(1 / 3)
    assert row["gap"] == 0.02 and tables.sparsity["gap"].tolist() == [0.9, 0.02]
    test = split == "test"
    by_word = [roc_auc_score(labels[test, k], X[test, 0]) for k in range(4)]
    assert row["auc"] == pytest.approx(np.mean(by_word[1:3]))
    assert row["auc_all"] == pytest.approx(np.mean(by_word))
    assert row["auc_weighted"] == pytest.approx(np.average(by_word[1:3], weights=labels[test].sum(axis=0)[1:3]))
    eer_by_word = [oracles.slow_eer(X[test, 0], labels[test, k]) for k in range(4)]
    assert row["eer"] == pytest.approx(np.mean(eer_by_word[1:3]))
    assert row["eer_all_weighted"] == pytest.approx(np.average(eer_by_word, weights=labels[test].sum(axis=0)))
    assert tables.by_word["word"].tolist() == words
    assert tables.by_word["positives"].tolist() == labels[test].sum(axis=0).tolist()
    np.testing.assert_allclose(tables.by_word["auc"], by_word)
    np.testing.assert_allclose(tables.by_word["eer"], eer_by_word)
    assert tables.by_word["validation_word"].tolist() == [True, False, False, True]
    assert tables.sparsity["radius"].tolist() == [1.0, 10.0]
    assert tables.convergence["objective"].tolist() == [1.0, 0.5, 1.0, 0.25]


CHOICE = ["radius", "eta0", "validation"]


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
        evaluate(sweeps, features, some, split, words, metric=metric).chosen
        for features, some in ((X, labels), (X, flipped), (undefined, labels), (other, labels))
    )
    for got in others:
        pd.testing.assert_frame_equal(got[CHOICE], expected[CHOICE])
        assert (got["auc"] != expected["auc"]).all()


def test_choice_is_given_validation_images_only(monkeypatch):
    X, labels, split, words = example()
    seen = []

    def choose(one, on_validation, metric, choose=evaluation.choose):
        seen.append(on_validation)
        return choose(one, on_validation, metric)

    monkeypatch.setattr(evaluation, "choose", choose)
    evaluate([one_sweep(), one_sweep(seed=1)], X, labels, split, words)
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
    fits = {"radius": np.array([1.0, 2.0, 3.0]), "objective": np.ones((3, 2)), "W": np.eye(3)[:, :, None]}
    one = with_fits(one_sweep(), **fits)._replace(validation_words=np.array([True]))
    pairs, validation, chosen = evaluation.choose(one, evaluation.Part(X, labels), metric)
    np.testing.assert_array_equal(pairs, [0, 1, 2])
    np.testing.assert_allclose(validation, {"auc": [0.5, 0.8, 0.91], "eer": [0.5, 0.2, 0.3]}[metric])
    assert chosen == expected


@pytest.mark.parametrize("metric", ["auc", "eer"])
def test_of_equally_good_radii_the_smallest_is_chosen(metric):
    X, labels, split, words = example()
    one = with_fits(one_sweep(), W=np.ones((2, 3, 4)))
    table = evaluate([one], X, labels, split, words, metric=metric).chosen
    assert table["radius"].tolist() == [1.0]


def test_sparse_features_give_the_same_tables():
    X, labels, split, words = example()
    dense, compressed = (
        evaluate([one_sweep()], some, labels, split, words, converging_method="hinge-l1inf")
        for some in (X, sparse.csr_matrix(X))
    )
    for name in ("chosen", "by_word", "sparsity", "convergence"):
        pd.testing.assert_frame_equal(getattr(dense, name), getattr(compressed, name))


def test_weights_are_the_non_zero_ones_of_the_first_run_at_one_size():
    X, labels, split, words = example()
    sweeps = [one_sweep(method, n=n, run=run) for run in (2, 1) for n in (5, 9) for method in ("hinge-l1inf", "svm-l2")]
    for one in sweeps[::2]:
        one.sweep.W[1, 0, 2] = 0
    tables = evaluate(sweeps, X, labels, split, words, at_size=9)
    for method, used in (("hinge-l1inf", [0, 1, 3]), ("svm-l2", [0, 1, 2, 3])):
        rows = tables.weights[tables.weights["method"] == method]
        assert rows["word"].tolist() == used
        assert (rows[["run", "n", "feature", "weight", "n_features", "n_words"]] == [2, 9, 0, 1, 3, 4]).all(axis=None)
    without = evaluate(sweeps, X, labels, split, words).weights
    assert len(without) == 0 and list(without) == list(tables.weights)


def test_what_evaluate_does_not_know_is_one_clear_error():
    X, labels, split, words = example()
    with pytest.raises(ValueError, match="metric must be one of auc, eer, got 'f1'"):
        evaluate([], X, labels, split, words, metric="f1")
    with pytest.raises(ValueError, match="at_size must be one of the sizes of run 1, got 7"):
        evaluate([one_sweep()], X, labels, split, words, at_size=7)
    with pytest.raises(ValueError, match="metric must be one of auc, eer, got 'f1'"):
        path_table([], X, labels, split, metric="f1")


def test_words_with_the_same_score_for_all_test_images_carry_a_warning():
    X, labels, split, words = example()
    one = one_sweep()
    one.sweep.W[1, :, 1:3] = 0
    tables = evaluate([one], X, labels, split, words)
    assert tables.by_word["warning"].tolist() == ["", evaluation.TIED, evaluation.TIED, ""]
    assert tables.by_word["auc"].tolist()[1:3] == [0.5, 0.5]
    assert tables.chosen["warning"].item().endswith("; words with the same score for all test images: 2")


def test_scores_that_are_not_numbers_carry_a_warning():
    X, labels, split, words = example()
    X[-1] = np.nan
    tables = evaluate([one_sweep()], X, labels, split, words)
    assert set(tables.by_word["warning"]) == {evaluation.UNDEFINED}
    assert tables.chosen["warning"].item().endswith("; words with scores that are not numbers: 4")


def test_ties_among_some_images_are_no_warning():
    X, labels, split, words = example()
    X[:] = np.sign(X)
    tables = evaluate([one_sweep()], X, labels, split, words)
    assert (tables.by_word["warning"] == "").all()


def test_fits_are_tested_on_what_they_were_learnt_from():
    X, labels, split, words = example()
    Y = np.where(labels, 1, -1).astype(np.int8)
    drawn = tasks.Tasks(Y[np.newaxis], np.array([5]), one_sweep().validation_words)
    fits = one_sweep().sweep._replace(learnt_from=sweep.learnt_from(X, Y, "hinge-l1"))
    one = evaluation.trained_sweep(1, 5, "hinge-l1", drawn, fits)
    assert len(evaluation.evaluate([one], X, labels, split, words, converging_method="").chosen) == 1
    with pytest.raises(checks.Misfit, match="of hinge-l1, run 1, n 5, were learnt from other features than these"):
        evaluation.evaluate([one], X + 1, labels, split, words, converging_method="")
    with pytest.raises(checks.Misfit, match="of hinge-l1, run 1, n 5, must be learnt by it, from the training"):
        evaluation.trained_sweep(1, 5, "hinge-l1", drawn._replace(Y=-drawn.Y), fits)
    with pytest.raises(checks.Misfit, match="of hinge-l2, run 1, n 5, must be learnt by it, from the training"):
        evaluation.trained_sweep(1, 5, "hinge-l2", drawn, fits)
    with pytest.raises(checks.Misfit, match="tasks must hold training sets of size 7, got the sizes 5"):
        evaluation.trained_sweep(1, 7, "hinge-l1", drawn, fits)


def spoil(name, X, labels, split, words, one):
    """Arguments of evaluate, with one of them of another dataset or configuration."""
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
        one = with_fits(one, W=one.sweep.W[:1])
    elif name.startswith("fits with"):
        array = name.split()[-1]
        values = getattr(one.sweep, array)
        spoilt = {"text": values.astype(str), "too": values[:-1], "one": values[np.newaxis]}[name.split()[2]]
        one = with_fits(one, **{array: spoilt})
    elif name == "tasks of other words":
        one = one._replace(validation_words=one.validation_words[:3])
    return X, labels, split, words, one


MISFITS = ["features of other images", "features of another basis", "labels of other images", "labels of other words"]
MISFITS += ["labels that are numbers", "fits of another grid", "tasks of other words"]
ARRAYS = ("radius", "eta0", "gap", "unconverged", "objective", "W")
MISFITS += [f"fits with {how} {name}" for how in ("text in", "too few", "one more axis of") for name in ARRAYS]


@pytest.mark.parametrize("name", [*MISFITS, "other words"])
def test_what_does_not_belong_together_is_not_evaluated(name):
    X, labels, split, words, one = spoil(name, *example(), one_sweep())
    with pytest.raises(checks.Misfit):
        evaluate([one], X, labels, split, words)


@pytest.mark.parametrize("name", MISFITS)
def test_what_does_not_belong_together_makes_no_path(name):
    X, labels, split, _, one = spoil(name, *example(), one_sweep())
    with pytest.raises(checks.Misfit):
        path_table([one], X, labels, split)


@pytest.mark.parametrize("metric", ["auc", "eer"])
def test_path_has_the_rows_of_sparsity(metric):
    X, labels, split, words = example()
    one = one_sweep()
    kept = [0, 3]  # the best eta0 of each radius
    path = with_fits(
        one,
        **{name: getattr(one.sweep, name)[kept] for name in ("radius", "gap", "objective", "unconverged")},
        eta0=np.full(2, np.nan),
    )
    one.sweep.objective[0] = one.sweep.objective[1] - 1
    expected = evaluate([one], X, labels, split, words, metric=metric).sparsity
    got = path_table([path], X, labels, split, metric=metric)
    assert list(got) == [*expected, "warning"]
    assert got["eta0"].isna().all()
    assert got["objective"].tolist() == [0.5, 0.25]
    assert got["warning"].tolist() == ["certified gap: 90%", ""]
    others = ["eta0", "objective"]
    pd.testing.assert_frame_equal(got.drop(columns=[*others, "warning"]), expected.drop(columns=others))


def test_path_reads_what_sweep_gives():
    X, labels, split, _ = example()
    Y = np.where(split == "train", 1, 0)[:, None] * np.where(labels, 1, -1)
    radii = [0.1, 1.0, 5.0]
    path = sweep.path(X, Y, loss="hinge", norm="l1", radius=radii, n_iter=50, normalisation="sum")
    one = evaluation.TrainedSweep(1, 30, "hinge-l1", 120, path, np.array([True, False, False, True]))
    table = path_table([one], X, labels, split)
    assert table["radius"].tolist() == radii
    test = split == "test"
    for row, W in zip(table.to_dict("records"), path.W, strict=True):
        by_word = [roc_auc_score(labels[test, k], X[test] @ W[:, k]) for k in (1, 2)]
        assert row["auc"] == pytest.approx(np.mean(by_word))
        assert row["features"] == pytest.approx(np.mean((W != 0).any(axis=1)))
        hinge = np.maximum(0, 1 - Y * (X @ W))[Y != 0].sum()
        assert row["objective"] == pytest.approx(hinge / np.count_nonzero(Y), rel=1e-4)
