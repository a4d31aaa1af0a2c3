"""Choice and test of sweeps: the tables are compared with separate computations."""

from typing import NamedTuple

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from jointsparse.arrays import fingerprint
from jointsparse.checks import Misfit
from jointsparse.learning import radii
from jointsparse.pipeline import sweep, tasks
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.scores import evaluation


class Data(NamedTuple):
    """Features, labels and splits of 90 images, and four words. The labels depend on the first feature."""

    X: np.ndarray
    labels: np.ndarray
    split: np.ndarray
    words: list[str]


def example():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3)).astype(np.float32)
    return Data(
        X, X[:, :1] + rng.normal(0, 0.3, (90, 4)) > 0, np.repeat(["train", "validation", "test"], 30), list("abcd")
    )


def one_sweep(method="hinge-l1inf", n=5, run=1, seed=0, **arrays):
    """Return a sweep of four pairs, whose second radius fits the example. arrays: fields of the sweep to replace."""
    W = np.random.default_rng(seed).normal(size=(4, 3, 4)).astype(np.float32)
    W[3] = np.array([1, 0, 0])[:, np.newaxis]
    fits = sweep.Sweep(
        radius=np.array([1.0, 1.0, 10.0, 10.0]),
        eta0=np.array([0.1, 1.0, 0.1, 1.0]),
        power=np.ones(4),
        objective=np.array([[4.0, 2.0], [4.0, 3.0], [4.0, 1.5], [4.0, 1.0]]),
        gap=np.array([0.9, 0.9, 0.01, 0.02]),
        unconverged=np.zeros(4, dtype=int),
        W=W[[0, 3]],
        learnt_from=np.array(["features", "labels", method]),
    )
    return evaluation.TrainedSweep(run, n, method, 60, fits._replace(**arrays), np.array([True, False, False, True]))


def learnt_from(X, sweeps):
    """Return sweeps that claim to be learnt from X."""
    source = np.array([fingerprint(X), "labels", "method"])
    return [trained._replace(sweep=trained.sweep._replace(learnt_from=source)) for trained in sweeps]


def evaluate(data, *sweeps, **options):
    return evaluation.evaluate(learnt_from(data.X, sweeps), *data, **{"converging_method": ""} | options)


def test_objective_and_validation_words_decide_the_choice_and_the_other_words_are_tested():
    data = example()
    tables = evaluate(data, one_sweep(), converging_method="hinge-l1inf")
    test, held_out = (data.split == name for name in ("test", "validation"))
    scores, labels = data.X[test, 0], data.labels[test]
    positives = labels.sum(axis=0)
    auc = np.array([roc_auc_score(labels[:, k], scores) for k in range(4)])
    eer = np.array([oracles.slow_eer(scores, labels[:, k]) for k in range(4)])
    by_validation_word = [roc_auc_score(data.labels[held_out, k], data.X[held_out, 0]) for k in (0, 3)]
    expected = {
        "radius": 10.0,
        "eta0": 1.0,
        "gap": 0.02,
        "features": 1 / 3,
        "auc": auc[1:3].mean(),
        "auc_weighted": np.average(auc[1:3], weights=positives[1:3]),
        "auc_all": auc.mean(),
        "eer": eer[1:3].mean(),
        "eer_all_weighted": np.average(eer, weights=positives),
        "validation": np.mean(by_validation_word),
        "warning": "radius at the upper edge of its grid",  # the edge of eta0 does not matter for a certified fit
    }
    (row,) = tables.chosen.to_dict("records")
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert tables.sparsity[["radius", "gap"]].to_numpy().tolist() == [[1.0, 0.9], [10.0, 0.02]]
    by_word = {
        "word": data.words,
        "validation_word": [True, False, False, True],
        "positives": positives,
        "auc": auc,
        "eer": eer,
    }
    pd.testing.assert_frame_equal(tables.by_word[list(by_word)], pd.DataFrame(by_word), rtol=1e-7)
    assert tables.convergence["objective"].tolist() == [1.0, 0.5, 1.0, 0.25]
    assert tables.convergence["gap"].tolist() == [0.9, 0.9, 0.02, 0.02]


CHOICE = ["radius", "eta0", "validation"]


@pytest.mark.parametrize("metric", ["auc", "eer"])
def test_the_choice_does_not_depend_on_test_images(metric):
    data = example()
    test = data.split == "test"
    drawn = np.random.default_rng(9).normal(size=data.X.shape)
    sweeps = [one_sweep(seed=seed) for seed in range(5)]
    expected, *others = (
        evaluate(changed, *sweeps, metric=metric).chosen
        for changed in (
            data,
            data._replace(labels=data.labels ^ test[:, np.newaxis]),
            data._replace(X=np.where(test[:, np.newaxis], np.nan, data.X)),
            data._replace(X=np.where(test[:, np.newaxis], drawn, data.X)),
        )
    )
    for got in others:
        pd.testing.assert_frame_equal(got[CHOICE], expected[CHOICE])
        assert (got["auc"] != expected["auc"]).all()


@pytest.mark.parametrize(("metric", "expected"), [("auc", 2), ("eer", 1)])
def test_the_chosen_radius_has_the_largest_auc_or_the_smallest_eer(metric, expected):
    # Ten positives P and ten negatives N, from the largest score down. Radius 1: all tied. Radius 2: 8 P, 10 N, 2 P,
    # AUC 0.8, EER 0.2. Radius 3: 7 P, 3 N, 3 P, 7 N, AUC 0.91, EER 0.3.
    labels = np.repeat([True, False], 10)[:, None]
    X = np.zeros((20, 3))
    X[:10, 1] = np.repeat([1, -1], [8, 2])
    X[:, 2] = np.repeat([4, 2, 3, 1], [7, 3, 3, 7])
    trained = one_sweep(
        W=np.eye(3)[:, :, None], radius=np.array([1.0, 2.0, 3.0]), power=np.ones(3), objective=np.ones((3, 2))
    )._replace(validation_words=np.array([True]))
    pairs, validation, chosen, _ = evaluation.choose(trained, evaluation.SplitImages(X, labels), metric)
    np.testing.assert_array_equal(pairs, [0, 1, 2])
    np.testing.assert_allclose(validation, {"auc": [0.5, 0.8, 0.91], "eer": [0.5, 0.2, 0.3]}[metric])
    assert chosen == expected


def test_sparse_features_give_the_same_tables():
    data = example()
    dense, compressed = (
        evaluate(data._replace(X=form(data.X)), one_sweep(), converging_method="hinge-l1inf")
        for form in (np.asarray, sparse.csr_matrix)
    )
    for name in ("chosen", "by_word", "sparsity", "convergence"):
        pd.testing.assert_frame_equal(getattr(dense, name), getattr(compressed, name))


def test_the_table_of_weights_holds_non_zero_weights_of_the_first_run_at_the_given_size():
    sweeps = [one_sweep(method, n=n, run=run) for run in (2, 1) for n in (5, 9) for method in ("hinge-l1inf", "svm-l2")]
    for trained in sweeps[::2]:
        trained.sweep.W[1, 0, 2] = 0
    weights = evaluate(example(), *sweeps, at_size=9).weights
    for method, used in (("hinge-l1inf", [0, 1, 3]), ("svm-l2", [0, 1, 2, 3])):
        rows = weights[weights["method"] == method]
        assert rows["word"].tolist() == used
        assert (rows[["run", "n", "feature", "weight", "n_features", "n_words"]] == [2, 9, 0, 1, 3, 4]).all(axis=None)
    without = evaluate(example(), *sweeps).weights
    assert len(without) == 0 and list(without) == list(weights)


UPPER, OBJECTIVE = "radius at the upper edge of its grid", one_sweep().sweep.objective
GAPS = ["certified gap: 90%", ""]  # of the fits at both radii
ONE_STEP = {"eta0": np.ones(4)}  # a grid of one value has no edges


def gaps(gap):
    return {"gap": np.array([0.9, 0.9, 0.9, gap])}


@pytest.mark.parametrize(
    ("changes", "warning", "of_gaps"),
    [
        ({}, UPPER, GAPS),  # the edge of eta0 does not matter for a certified fit
        (gaps(0.07), f"{UPPER}; eta0 at the upper edge of its grid; certified gap: 7%", [GAPS[0], "certified gap: 7%"]),
        ({"gap": np.full(4, np.nan)}, f"{UPPER}; eta0 at the upper edge of its grid", ["", ""]),
        (gaps(0.05) | ONE_STEP, UPPER, GAPS),
        (gaps(0.051) | ONE_STEP, f"{UPPER}; certified gap: 5%", [GAPS[0], "certified gap: 5%"]),
        (gaps(0.36) | ONE_STEP, f"{UPPER}; certified gap: 36%", [GAPS[0], "certified gap: 36%"]),
        ({"objective": np.vstack([OBJECTIVE[:3], [4.0, 0.003]])}, "", GAPS),  # hardly any loss is left
        # The same classifiers.
        ({"W": one_sweep().sweep.W[[1, 1]] * np.float32([[[1]], [[3]]]), "gap": np.zeros(4)}, "", ["", ""]),
        ({"unconverged": np.array([3, 3, 3, 0])}, UPPER, GAPS),
        ({"unconverged": np.array([0, 0, 0, 2])}, f"{UPPER}; tasks not converged: 2", GAPS),
    ],
)
def test_a_chosen_fit_that_is_not_finished_gets_a_warning(changes, warning, of_gaps):
    tables = evaluate(example(), one_sweep(**changes))
    assert tables.chosen["warning"].item() == warning
    assert tables.chosen["note"].item() == ("not unique from radius: 10" if "objective" in changes else "")
    assert tables.sparsity["warning"].tolist() == of_gaps


@pytest.mark.parametrize(
    ("data", "W", "by_word", "chosen"),
    [
        (example(), [1, 0, 0, 1], ["", Kind.TIED, Kind.TIED, ""], f"; {Kind.WORDS_TIED}: 2"),
        (
            example()._replace(X=np.where(np.arange(90)[:, np.newaxis] == 89, np.nan, example().X)),
            1,
            [Kind.UNDEFINED] * 4,
            f"; {Kind.WORDS_UNDEFINED}: 4",
        ),
        (example()._replace(X=np.sign(example().X)), 1, [""] * 4, ""),  # ties among some images
    ],
)
def test_tied_and_undefined_scores_get_a_warning(data, W, by_word, chosen):
    tables = evaluate(data, one_sweep(W=one_sweep().sweep.W * W))
    assert tables.by_word["warning"].tolist() == by_word
    assert tables.chosen["warning"].item() == UPPER + chosen
    assert (tables.by_word["auc"][tables.by_word["warning"] == Kind.TIED] == 0.5).all()


@pytest.mark.parametrize("power", [0, 1])
@pytest.mark.parametrize(
    ("classifiers", "edges"),
    [
        ("aab", [None, None, "upper"]),
        ("abb", ["lower", None, None]),
        ("aba", ["lower", None, "upper"]),
        ("aaa", [None, None, None]),
    ],
)
def test_an_edge_is_not_flagged_if_the_neighbouring_radius_gives_the_same_classifiers(classifiers, edges, power):
    """There are three radii for each of two powers. Letters name classifiers, whose weights may differ in scale."""
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(6, 3, 4))
    own = [drawn["ab".index(letter)] * rng.uniform(0.1, 10, 4) for letter in classifiers]
    fits = one_sweep(
        radius=np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]),
        power=np.repeat([0.5, 1.0], 3),
        objective=np.tile([4.0, 2.0], (6, 1)),
        W=np.array([*own, *drawn[3:]] if power == 0 else [*drawn[3:], *own]),
    ).sweep
    flags = [evaluation._edge_of_radii(fits, 3 * power + i) for i in range(3)]
    expected = [f"radius at the {edge} edge of its grid" if edge else None for edge in edges]
    assert [flag and flag.kind for flag in flags] == expected


def test_a_chosen_radius_that_leaves_hardly_any_loss_is_noted_with_the_smallest_such_radius():
    fits = one_sweep(
        radius=np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]),
        power=np.repeat([0.5, 1.0], 3),
        objective=np.array([[4.0, end] for end in (1.0, 0.003, 0.0, 1.0, 1.0, 0.0)]),
    ).sweep
    noted = [evaluation._not_unique(fits, pair) for pair in range(6)]
    assert [flag and flag.number for flag in noted] == [None, 2.0, 2.0, None, None, 0.3]


@pytest.mark.parametrize("metric", ["auc", "eer"])
@pytest.mark.parametrize(("factor", "expected"), [(0, True), (1e-3, False)])
def test_validation_that_is_no_better_than_chance_gets_a_warning(metric, factor, expected):
    """The smaller radius is worse than chance. With a factor of 0 all images have the same score."""
    W = one_sweep().sweep.W[1] * np.float32([-1, factor])[:, np.newaxis, np.newaxis]
    warning = evaluate(example(), one_sweep(W=W), metric=metric).chosen["warning"].item()
    assert (Kind.NO_BETTER in warning) == expected


def test_tables_of_partly_known_labels_of_sparse_weights_and_of_fits_that_ended_early():
    """A third of the labels is unknown; W has zeros; the first two fits ended after one iteration."""
    ends = [[4, 2, np.nan, np.nan], [4, 3, np.nan, np.nan], [4, 3, 2, 1.5], [4, 3, 1, 1.2]]
    data, trained = example(), one_sweep(objective=np.array(ends))
    trained.sweep.W[1, 1] = [0, 0, 0.1, 0.2]
    unknown = np.random.default_rng(1).random((90, 4)) < 1 / 3
    data = data._replace(labels=np.where(unknown, -1, data.labels).astype(np.int8))
    tables = evaluate(data, trained, converging_method="hinge-l1inf")
    test = data.split == "test"
    scores, labels = data.X[test] @ trained.sweep.W[1], data.labels[test]
    auc = np.array([roc_auc_score(y[y >= 0], f[y >= 0]) for f, y in zip(scores.T, labels.T, strict=True)])
    positives = (labels == 1).sum(axis=0)
    np.testing.assert_allclose(tables.by_word["auc"], auc)
    assert tables.by_word[["positives", "n_features"]].T.to_numpy().tolist() == [positives.tolist(), [1, 1, 2, 2]]
    (row,) = tables.chosen.to_dict("records")
    assert row["auc_all_weighted"] == pytest.approx(np.average(auc, weights=positives))
    assert (row["features"], row["objective"]) == (pytest.approx(2 / 3), 0.25)  # the smallest objective
    assert tables.convergence["iteration"].tolist() == [0, 1, 0, 1, 2, 3]
    assert tables.convergence["objective"].tolist() == [1, 0.5, 1, 0.75, 0.25, 0.3]


def test_the_option_selection_decides_the_choice():
    """On two validation words, the smaller radius has AUCs of 0.9 and 0.7, the larger radius of 1 and 0.7."""
    labels = np.repeat([True, False], 10)[:, None].repeat(2, axis=1)
    X = np.zeros((20, 3))
    X[:10] = 1
    X[0, 0], X[:3, 1] = -1, -1
    W = np.array([np.eye(3)[:, :2], np.eye(3)[:, [2, 1]]])
    trained = one_sweep(W=W, radius=np.array([1.0, 2.0]), power=np.ones(2), objective=np.ones((2, 2)))
    trained = trained._replace(validation_words=np.array([True, True]))
    on_validation = evaluation.SplitImages(X, labels)
    chosen = [evaluation.choose(trained, on_validation, "auc", selection)[2] for selection in radii.SELECTIONS]
    assert chosen == [1, 0]


@pytest.mark.parametrize("metric", ["auc", "eer"])
def test_paths_are_scored_by_the_metric_of_the_choice(metric):
    data, trained = example(), one_sweep()
    score = evaluation.validation_score(data.X, data.labels, data.split, trained.validation_words, metric=metric)
    on_validation = evaluation.SplitImages(*(array[data.split == "validation"] for array in data[:2]))
    expected = evaluation.choose(trained, on_validation, metric)[1] * (1 if metric == "auc" else -1)
    np.testing.assert_allclose([score(W) for W in trained.sweep.W], expected)


def test_fits_are_tested_only_on_the_features_and_labels_that_they_were_learnt_from():
    data = example()
    Y = np.where(data.labels, 1, -1).astype(np.int8)
    drawn = tasks.Tasks(Y[np.newaxis], np.array([5]), one_sweep().validation_words)
    fits = one_sweep(learnt_from=sweep.learnt_from(data.X, Y, "hinge-l1")).sweep
    trained = evaluation.trained_sweep(1, 5, "hinge-l1", drawn, fits)
    assert evaluation.evaluate([trained], *data, converging_method="").chosen["n_samples"].tolist() == [Y.size]
    with pytest.raises(Misfit, match="of hinge-l1, run 1, n 5, must be learnt from the features to be tested"):
        evaluation.evaluate([trained], data.X + 1, *data[1:], converging_method="")
    for said, n, method, of_tasks in (
        ("of hinge-l1, run 1, n 5, must be learnt by that method", 5, "hinge-l1", drawn._replace(Y=-drawn.Y)),
        ("of hinge-l2, run 1, n 5, must be learnt by that method", 5, "hinge-l2", drawn),
        ("tasks must hold training sets of size 7, got the sizes 5", 7, "hinge-l1", drawn),
    ):
        with pytest.raises(Misfit, match=said):
            evaluation.trained_sweep(1, n, method, of_tasks, fits)


DATA, TRAINED = example(), one_sweep()
MISFITS = {  # data and sweep that do not belong to the same dataset or configuration
    "features of other images": (DATA._replace(X=DATA.X[:-1]), TRAINED),
    "labels of other images": (DATA._replace(labels=DATA.labels[:-1]), TRAINED),
    "labels of other words": (DATA._replace(labels=DATA.labels[:, :3]), TRAINED),
    "fits of other words": (DATA, one_sweep(W=TRAINED.sweep.W[..., :3])),
}


@pytest.mark.parametrize(("data", "trained"), MISFITS.values(), ids=MISFITS)
def test_data_and_fits_that_do_not_belong_together_are_refused(data, trained):
    with pytest.raises(Misfit):
        evaluate(data, trained)


def test_validation_chooses_the_power_after_a_radius_for_each_power():
    # Two powers of two radii: the first power has the good W at its larger radius, the second at its smaller one.
    good, bad = one_sweep().sweep.W[[1, 0]]
    arrays = {"radius": np.array([1.0, 10.0, 1.0, 10.0]), "power": np.array([0.5, 0.5, 0.0, 0.0])}
    for W, radius, power, chosen in (
        ([bad, good, bad, -good], 10.0, 0.5, [False, True, True, False]),
        ([bad, -good, good, bad], 1.0, 0.0, [True, False, True, False]),
        ([bad, good, good, bad], 10.0, 0.5, [False, True, True, False]),  # equally good: the first power is chosen
    ):
        tables = evaluate(example(), one_sweep(W=np.array(W), **arrays))
        assert tables.chosen[["radius", "power"]].to_numpy().tolist() == [[radius, power]]
        assert tables.sparsity["power"].tolist() == [0.5, 0.5, 0.0, 0.0]
        assert tables.sparsity["chosen"].tolist() == chosen
        edge = "upper" if radius == 10 else "lower"
        assert tables.chosen["warning"].item().startswith(f"radius at the {edge} edge of its grid")
