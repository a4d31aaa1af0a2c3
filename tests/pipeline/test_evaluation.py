"""Sweeps are chosen and tested as separate computations say, and the methods are compared with each other."""

from collections import namedtuple
from functools import partial

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from small_experiments import COMPARISONS, FOLDER, study

from jointsparse.arrays import fingerprint
from jointsparse.checks import Misfit
from jointsparse.pipeline import sweep, tasks
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.scores import comparison, evaluation

Data = namedtuple("Data", "X labels split words")
RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 3)).astype(np.float32)
# Four words of 90 images, whose labels depend on the first feature.
DATA = Data(X, X[:, :1] + RNG.normal(0, 0.3, (90, 4)) > 0, np.repeat(["train", "validation", "test"], 30), list("abcd"))


# A sweep of four pairs, whose second radius fits the example. arrays: fields of the sweep to replace.
def one_sweep(method="hinge-l1inf", n=5, run=1, seed=0, **arrays):
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


GIVEN = {"converging_method": "", "metric": "auc", "selection": "best", "at_size": 0}


# The sweeps are made to claim that they were learnt from these features.
def evaluate(data, *sweeps, **options):
    source = np.array([fingerprint(data.X), "labels", "method"])
    own = [trained._replace(sweep=trained.sweep._replace(learnt_from=source)) for trained in sweeps]
    return evaluation.evaluate(own, *data, **GIVEN | options)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_objective_and_validation_words_decide_the_choice_and_the_other_words_are_tested(form):
    # A third of the labels is unknown, W has zeros, and the fits at the smaller radius ended after one iteration.
    objective = np.array([[4, 2, np.nan, np.nan], [4, 3, np.nan, np.nan], [4, 3, 2, 1.5], [4, 3, 1, 1.2]])
    trained = one_sweep(objective=objective)
    W = trained.sweep.W[1]
    W[1] = [0, 0, 0.1, 0.2]
    unknown = np.random.default_rng(1).random((90, 4)) < 1 / 3
    data = DATA._replace(labels=np.where(unknown, -1, DATA.labels).astype(np.int8))
    tables = evaluate(data._replace(X=form(data.X)), trained, converging_method="hinge-l1inf")

    def by_word(split, statistic):
        scores, labels = data.X[data.split == split] @ W, data.labels[data.split == split]
        return np.array([statistic(y[y >= 0], f[y >= 0]) for y, f in zip(labels.T, scores.T, strict=True)])

    auc, eer = by_word("test", roc_auc_score), by_word("test", oracles.slow_eer)
    positives = by_word("test", lambda y, f: y.sum())
    expected = {
        "radius": 10.0,
        "eta0": 1.0,
        "objective": 0.25,  # the smallest, which is not the last
        "gap": 0.02,
        "features": 2 / 3,
        "auc": auc[1:3].mean(),
        "auc_weighted": np.average(auc[1:3], weights=positives[1:3]),
        "auc_all": auc.mean(),
        "auc_all_weighted": np.average(auc, weights=positives),
        "eer": eer[1:3].mean(),
        "eer_all_weighted": np.average(eer, weights=positives),
        "validation": by_word("validation", roc_auc_score)[[0, 3]].mean(),
        "warning": "radius at the upper edge of its grid",  # the edge of eta0 does not matter for a certified fit
    }
    (row,) = tables.chosen.to_dict("records")
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert tables.sparsity[["radius", "gap"]].to_numpy().tolist() == [[1.0, 0.9], [10.0, 0.02]]
    columns = {"word": data.words, "validation_word": [True, False, False, True], "positives": positives}
    columns |= {"n_features": [1, 1, 2, 2], "auc": auc, "eer": eer}
    pd.testing.assert_frame_equal(tables.by_word[list(columns)], pd.DataFrame(columns), rtol=1e-7, check_dtype=False)
    assert tables.convergence[["iteration", "objective", "gap"]].to_numpy().tolist() == [
        [0, 1, 0.9],
        [1, 0.5, 0.9],
        [0, 1, 0.02],
        [1, 0.75, 0.02],
        [2, 0.25, 0.02],
        [3, 0.3, 0.02],
    ]


def test_the_choice_does_not_depend_on_test_images():
    test = (DATA.split == "test")[:, np.newaxis]
    changes = [
        {},
        {"labels": DATA.labels ^ test},
        *({"X": np.where(test, other, X)} for other in (np.nan, X[::-1] ** 2)),
    ]
    sweeps = [one_sweep(seed=seed) for seed in range(5)]
    expected, *others = (evaluate(DATA._replace(**change), *sweeps).chosen for change in changes)
    choice = ["radius", "eta0", "validation"]
    for got in others:
        assert got[choice].equals(expected[choice]) and (got["auc"] != expected["auc"]).all()


@pytest.mark.parametrize(
    ("metric", "selection", "expected"),
    [("auc", "best", 2), ("eer", "best", 1), ("auc", "one_standard_error", 1)],
    ids=["the largest AUC", "the smallest EER", "within a standard error of the largest AUC"],
)
def test_the_chosen_radius_is_the_best_or_the_smallest_within_a_standard_error(metric, selection, expected):
    # Ten positives P and ten negatives N, from the largest score down. Radius 1: all tied. Radius 2: 8 P, 10 N, 2 P,
    # AUC 0.8, EER 0.2. Radius 3: 7 P, 3 N, 3 P, 7 N, AUC 0.91, EER 0.3. The second of three words is always tied.
    labels = np.repeat([[True] * 3, [False] * 3], 10, axis=0)
    X = np.zeros((20, 3))
    X[:10, 1] = np.repeat([1, -1], [8, 2])
    X[:, 2] = np.repeat([4, 2, 3, 1], [7, 3, 3, 7])
    W = np.eye(3)[:, :, np.newaxis] * [1.0, 0.0, 1.0]
    trained = one_sweep(W=W, radius=np.array([1.0, 2.0, 3.0]), power=np.ones(3), objective=np.ones((3, 2)))
    trained = trained._replace(validation_words=np.array([True, True, True]))
    pairs, validation, chosen, _ = evaluation.choose(trained, evaluation.SplitImages(X, labels), metric, selection)
    np.testing.assert_array_equal(pairs, [0, 1, 2])
    np.testing.assert_allclose(
        validation, (np.array({"auc": [0.5, 0.8, 0.91], "eer": [0.5, 0.2, 0.3]}[metric]) * 2 + 0.5) / 3
    )
    assert chosen == expected
    split = np.repeat("validation", 20)
    score = evaluation.validation_score(X, labels, split, trained.validation_words, metric=metric)  # of paths
    np.testing.assert_allclose([score(W) for W in trained.sweep.W], validation * (1 if metric == "auc" else -1))


GOOD, BAD = one_sweep().sweep.W[[1, 0]]


@pytest.mark.parametrize(
    ("W", "radius", "power", "chosen"),
    [
        ([BAD, GOOD, BAD, -GOOD], 10.0, 0.5, [False, True, True, False]),
        ([BAD, -GOOD, GOOD, BAD], 1.0, 0.0, [True, False, True, False]),
        ([BAD, GOOD, GOOD, BAD], 10.0, 0.5, [False, True, True, False]),  # equally good: the first power is chosen
    ],
)
def test_validation_chooses_the_power_after_a_radius_for_each_power(W, radius, power, chosen):
    arrays = {"radius": np.array([1.0, 10.0, 1.0, 10.0]), "power": np.array([0.5, 0.5, 0.0, 0.0])}
    tables = evaluate(DATA, one_sweep(W=np.array(W), **arrays))
    assert tables.chosen[["radius", "power"]].to_numpy().tolist() == [[radius, power]]
    assert tables.sparsity["chosen"].tolist() == chosen
    assert tables.chosen["warning"].item().startswith(f"radius at the {'upper' if radius == 10 else 'lower'} edge")


def test_the_table_of_weights_holds_non_zero_weights_of_the_run_that_comes_first_at_the_given_size():
    sweeps = [one_sweep(method, n=n, run=run) for run in (2, 1) for n in (5, 9) for method in ("hinge-l1inf", "svm-l2")]
    sweeps[2].sweep.W[1, 0, 2] = 0
    columns = ["run", "n", "method", "feature", "word", "weight", "n_features", "n_words"]
    expected = [[2, 9, method, 0, word, 1, 3, 4] for method in ("hinge-l1inf", "svm-l2") for word in range(4)]
    got = evaluate(DATA, *sweeps, at_size=9).weights
    assert got[columns].to_numpy().tolist() == [row for row in expected if row[2:5] != ["hinge-l1inf", 0, 2]]
    without = evaluate(DATA, *sweeps).weights
    assert len(without) == 0 and list(without) == list(got)


# Warnings

UPPER, ETA0 = "radius at the upper edge of its grid", "eta0 at the upper edge of its grid"
OBJECTIVE, W = one_sweep().sweep.objective, one_sweep().sweep.W
GAPS = ["certified gap: 90%", ""]  # of the fits at both radii
ONE_STEP = {"eta0": np.ones(4)}  # a grid of one value has no edges


@pytest.mark.parametrize(
    ("changes", "options", "warning", "of_gaps"),
    [
        ({}, {}, UPPER, GAPS),  # the edge of eta0 does not matter for a certified fit
        (
            {"gap": np.array([0.9, 0.9, 0.9, 0.07])},
            {},
            f"{UPPER}; {ETA0}; certified gap: 7%",
            [GAPS[0], "certified gap: 7%"],
        ),
        ({"gap": np.full(4, np.nan)}, {}, f"{UPPER}; {ETA0}", ["", ""]),
        ({"gap": np.array([0.9, 0.9, 0.9, 0.05])} | ONE_STEP, {}, UPPER, GAPS),
        (
            {"gap": np.array([0.9, 0.9, 0.9, 0.051])} | ONE_STEP,
            {},
            f"{UPPER}; certified gap: 5%",
            [GAPS[0], "certified gap: 5%"],
        ),
        ({"objective": np.vstack([OBJECTIVE[:3], [4.0, 0.003]])}, {}, "", GAPS),  # hardly any loss is left
        ({"unconverged": np.array([3, 3, 3, 0])}, {}, UPPER, GAPS),
        ({"unconverged": np.array([0, 0, 0, 2])}, {}, f"{UPPER}; tasks not converged: 2", GAPS),
        *(
            (
                ONE_STEP | {"W": W[1] * np.float32([-1, factor])[:, np.newaxis, np.newaxis]},
                {"metric": metric},
                warning,
                GAPS,
            )
            for metric in ("auc", "eer")  # the smaller radius is worse than chance, and perhaps the larger one
            for factor, warning in ((0, f"{UPPER}; {Kind.NO_BETTER}; {Kind.WORDS_TIED}: 4"), (1e-3, UPPER))
        ),
    ],
)
def test_an_unfinished_or_useless_fit_gets_a_warning(changes, options, warning, of_gaps):
    tables = evaluate(DATA, one_sweep(**changes), **options)
    note = "not unique from radius: 10" if "objective" in changes else ""
    assert tables.chosen[["warning", "note"]].to_numpy().tolist() == [[warning, note]]
    assert tables.sparsity["warning"].tolist() == of_gaps


@pytest.mark.parametrize(
    ("data", "weights", "by_word", "chosen"),
    [
        (DATA, [1, 0, 0, 1], ["", Kind.TIED, Kind.TIED, ""], f"; {Kind.WORDS_TIED}: 2"),
        (
            DATA._replace(X=np.where(np.arange(90)[:, np.newaxis] == 89, np.nan, DATA.X)),  # of one test image
            1,
            [Kind.UNDEFINED] * 4,
            f"; {Kind.WORDS_UNDEFINED}: 4",
        ),
        (DATA, [1, np.nan, 1, 1], ["", Kind.UNDEFINED, "", ""], f"; {Kind.WORDS_UNDEFINED}: 1"),
        (DATA._replace(X=np.sign(DATA.X)), 1, [""] * 4, ""),  # ties among some images
    ],
)
def test_tied_and_undefined_scores_get_a_warning(data, weights, by_word, chosen):
    tables = evaluate(data, one_sweep(W=W * weights))
    assert tables.by_word["warning"].tolist() == by_word
    assert tables.chosen["warning"].item() == UPPER + chosen


# The radii of another power do not count. Letters name classifiers, whose weights may differ in scale.
@pytest.mark.parametrize(
    ("classifiers", "edges"),
    [
        ("aab", [None, None, Kind.RADIUS_UPPER]),
        ("abb", [Kind.RADIUS_LOWER, None, None]),
        ("aba", [Kind.RADIUS_LOWER, None, Kind.RADIUS_UPPER]),
        ("aaa", [None, None, None]),
    ],
)
def test_an_edge_is_not_flagged_if_the_neighbouring_radius_gives_the_same_classifiers(classifiers, edges):
    drawn = np.random.default_rng(0).normal(size=(6, 3, 4))
    own = [drawn["ab".index(letter)] * [0.1, 1, 3, 10] * (i + 1) for i, letter in enumerate(classifiers)]
    fits = one_sweep(
        radius=np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]),
        power=np.repeat([0.5, 1.0], 3),
        objective=np.tile([4.0, 2.0], (6, 1)),
        W=np.array([*drawn[3:], *own]),
    ).sweep
    flags = [evaluation._edge_of_radii(fits, 3 + i) for i in range(3)]
    assert [flag and flag.kind for flag in flags] == edges


def test_a_chosen_radius_that_leaves_hardly_any_loss_is_noted_with_the_smallest_such_radius():
    fits = one_sweep(
        radius=np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]),
        power=np.repeat([0.5, 1.0], 3),
        objective=np.array([[4.0, end] for end in (1.0, 0.003, 0.0, 1.0, 1.0, 0.0)]),
    ).sweep
    flags = [evaluation._not_unique(fits, pair) for pair in range(6)]
    assert [flag and flag.number for flag in flags] == [None, 2.0, 2.0, None, None, 0.3]


# Refusals


Y = np.where(DATA.labels, 1, -1).astype(np.int8)
DRAWN = tasks.Tasks(Y[np.newaxis], np.array([5]), one_sweep().validation_words)
FITS = one_sweep(learnt_from=sweep.learnt_from(DATA.X, Y, "hinge-l1")).sweep


def evaluated(X=DATA.X, labels=DATA.labels, tasks=DRAWN, fits=FITS, method="hinge-l1"):
    sweeps = [evaluation.trained_sweep(1, 5, method, tasks, fits)]
    return evaluation.evaluate(sweeps, X, labels, DATA.split, DATA.words, **GIVEN)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": DATA.X + 1}, "of hinge-l1, run 1, n 5, must be learnt from the features to be tested"),
        ({"X": DATA.X[:-1]}, "features must have a row for each of 90 samples, got"),
        ({"labels": DATA.labels[:-1]}, "labels must have a row for each of 90 samples, got"),
        ({"labels": DATA.labels[:, :3]}, "must have 3 words, got shape"),
        ({"fits": FITS._replace(W=FITS.W[..., :3])}, "must have 4 words, got shape"),
        ({"tasks": DRAWN._replace(Y=-Y[np.newaxis])}, "of hinge-l1, run 1, n 5, must be learnt by that method"),
        ({"method": "hinge-l2"}, "of hinge-l2, run 1, n 5, must be learnt by that method"),
    ],
)
def test_fits_are_tested_only_on_the_features_and_labels_that_they_were_learnt_from(changes, message):
    assert evaluated().chosen["n_samples"].tolist() == [Y.size]
    with pytest.raises(Misfit, match=message):
        evaluated(**changes)


# Methods are compared by sign tests, and by differences with intervals over test images and runs.


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_give_the_committed_tables(name):
    pd.testing.assert_frame_equal(COMPARISONS[name](), pd.read_csv(FOLDER / f"{name}.csv"), rtol=1e-9)


def test_words_without_positives_give_no_difference_and_no_warning():
    table = comparison.differences(study(n_runs=5)._replace(labels=np.zeros((30, 5), bool)), n_resamples=12, seed=7)
    assert table[["difference", "low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("methods", "message"),  # methods of the 18 scores of `study`
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
