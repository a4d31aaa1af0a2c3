"""Rows of one group stay together in every split, fold, half and resample of the pipeline."""

import numpy as np
import pandas as pd
import pytest
from common import draw_scores
from scipy import sparse
from test_compare_methods import study

from jointsparse import JointSparseClassifier
from jointsparse.pipeline import tasks
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.models import final
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.pipeline.scores import comparison, flags
from jointsparse.pipeline.scores.runs import FEWEST_RUNS
from jointsparse.pipeline.words import choose_words, counted_words

PATIENTS = np.random.default_rng(0).permutation(np.repeat(np.arange(150), 4))


@pytest.mark.filterwarnings("ignore:the chosen radius has a score of:UserWarning")
@pytest.mark.parametrize("grouped", [True, False], ids=["grouped", "not grouped"])
@pytest.mark.parametrize("enough", [final.ENOUGH, 100], ids=["folds", "one split"])
def test_labels_that_only_the_patient_tells_are_not_learnt_if_patients_are_groups(
    tmp_path, monkeypatch, run_script, grouped, enough
):
    """The features say who the patient is, so a patient in two splits or folds would give the labels away."""
    torn = []

    class Watched(JointSparseClassifier):
        """A classifier that notes whether it has been trained on a patient whom it scores."""

        def fit(self, X, Y):
            self.patients = {*sparse.csr_matrix(X).indices}
            return super().fit(X, Y)

        def decision_function(self, X):
            torn.append(not self.patients.isdisjoint(sparse.csr_matrix(X).indices))
            return super().decision_function(X)

    monkeypatch.setattr(final, "JointSparseClassifier", Watched)
    monkeypatch.setattr(final, "ENOUGH", enough)
    has = np.random.default_rng(1).random((150, 2))[PATIENTS] < 0.4
    table = pd.DataFrame(np.eye(150)[PATIENTS], columns=[f"x{i}" for i in range(150)])
    table.assign(patient=PATIENTS, cat=has[:, 0], dog=has[:, 1]).to_csv(tmp_path / "a.csv", index=False)
    options = {"root": tmp_path, "features": "a.csv", "labels": "a.csv", "columns": ["cat", "dog"]}
    options |= {"group": "patient"} if grouped else {"ignore": ["patient"]}
    names = ("images.parquet", "captions.parquet", "left_out.csv", "features.npz", "words.csv", "labels.npy", "fit.csv")
    names += ("l1.npz", "model.jointsparse", "norms.csv")
    made = {name.partition(".")[0]: str(tmp_path / name) for name in names}
    samples = {key: made[key] for key in ("images", "captions", "left_out", "features")}
    learnt = {key: made[key] for key in ("images", "features", "words", "labels")}
    of_data = {"loader": "arrays", "options": options, "vocabulary": None, "seed": 0}

    run_script("read_samples", params=of_data | {"drawn": [500, 0]}, output=samples)
    words = {"smallest_size": 5, "options": {"n_words": "auto", "split_captions": False}}
    run_script("choose_words", input=samples, params=words, output=learnt)
    fitted = {"model": made["l1"], "table": made["fit"]}
    params = of_data | {"powers": [], "n_resamples": 20}
    run_script("fit_final", input=learnt, params=params, output=fitted, wildcards={"norm": "l1"})
    given = learnt | {"models": [made["l1"]], "tables": [made["fit"]], "transformed": made["features"]}
    params = of_data | {"network": None, "features": None, "study": "", "kept": "l1", "raw": {"digest": ""}}
    kept = {"model": made["model"], "norms": made["norms"]}
    kept |= {"thresholds": tmp_path / "thresholds.csv", "tags": tmp_path / "tags_to_check.csv"}
    run_script("keep_model", input=given, params=params, output=kept, wildcards={"dataset": ""})

    images = read_table(made["images"])
    splits = images["split"].groupby(PATIENTS[[int(name[4:]) - 1 for name in images["image"]]]).nunique()
    aucs = [*read_table(made["fit"])["auc"], *read_table(made["norms"])["validation"]]
    assert (splits.max() == 1) == grouped and len(images) <= 500
    assert torn == final.N_FOLDS * [not grouped]  # in the fits whose scores give the thresholds of `annotate`
    assert max(aucs) < 0.75 if grouped else min(aucs) > 0.85


def test_intervals_are_those_of_as_many_groups():
    scores, labels = draw_scores(n=60, m=3)
    groups = np.repeat(np.arange(60), 4)
    expected = final.tested(scores, labels, n_resamples=30, seed=3)
    got = final.tested(scores[groups], labels[groups], n_resamples=30, seed=3, groups=groups)
    for metric in ("auc", "average_precision"):
        np.testing.assert_allclose(got[metric], expected[metric])


def test_differences_between_methods_have_the_intervals_of_as_many_groups():
    scores = study(n_runs=FEWEST_RUNS)
    groups = np.repeat(np.arange(len(scores.labels)), 3)
    repeated = scores._replace(labels=scores.labels[groups], score=scores.score[:, groups])
    expected = comparison.differences(scores, n_resamples=12, seed=7)
    got = comparison.differences(repeated, n_resamples=12, seed=7, groups=groups)
    pd.testing.assert_frame_equal(got, expected)


def test_the_single_split_holds_out_validation_images_only_if_they_share_no_group(monkeypatch):
    monkeypatch.setattr(final, "ENOUGH", 40)
    labels, validation, pairs = (
        np.arange(40)[:, np.newaxis] % 4 == np.arange(2),
        np.arange(40) >= 30,
        np.arange(40) // 2,
    )
    ((_, held_out),) = final.splits(labels, validation, pairs)
    assert held_out.tolist() == np.flatnonzero(validation).tolist()
    pairs[30] = pairs[0]
    ((taught, held_out),) = final.splits(labels, validation, pairs)
    assert not {*pairs[taught]} & {*pairs[held_out]} and len(held_out) == 8


@pytest.mark.parametrize(("n_groups", "n_folds"), [(2, 2), (4, 4), (10, 5)])
def test_there_are_at_most_as_many_folds_as_groups(n_groups, n_folds):
    labels, groups = np.arange(40)[:, np.newaxis] % 4 == np.arange(2), np.arange(40) % n_groups
    folds = final.splits(labels, None, groups)
    assert len(folds) == n_folds and all(not {*groups[taught]} & {*groups[held]} for taught, held in folds)


def test_one_group_cannot_be_divided_into_folds():
    labels = np.arange(40)[:, np.newaxis] % 4 == np.arange(2)
    with pytest.raises(ValueError, match="the 40 known images must be from at least two groups, got 1: leave out"):
        final.splits(labels, None, np.zeros(40, int))


def test_groups_that_the_data_divide_between_splits_are_counted_in_the_warnings():
    images = pd.DataFrame({"image": list("abcdefg"), "split": ["train", "test", "unlabelled", *["train"] * 4]})
    X = [(slice(None), np.random.default_rng(0).random((7, 2)))]
    for groups, n, warning, grouped in (
        ([0, 0, 1, 1, 2, 3, 3], 1, "groups in several splits: 1", 6),
        ([0, 1, 1, 2, 3, 4, 4], 0, "", 4),
    ):
        table, _ = flags.of_features(X, X, images.assign(group=groups))
        assert table.iloc[3].tolist() == ["torn groups", n, groups[-1] + 1, warning]
        assert table.iloc[4].tolist() == ["grouped images", grouped, 7, f"images in a group with others: {grouped}"]


def test_images_are_set_aside_in_whole_groups():
    split = np.repeat(["train", "test"], [36, 4])
    groups = np.arange(40) // 4
    got = tasks.set_aside(split, {"train": 10}, rng=np.random.default_rng(0), groups=groups)
    assert (got == "unlabelled").sum() == 12 and pd.Series(got).groupby(groups).nunique().max() == 1
    with pytest.raises(ValueError, match=r"train images to set aside must be less than 36, .* got 33 in whole groups"):
        tasks.set_aside(split, {"train": 33}, rng=np.random.default_rng(0), groups=groups)


@pytest.mark.parametrize("side", [1, 0])
def test_a_word_whose_training_images_are_in_one_group_is_left_out(side):
    has = {
        "cat": np.arange(24) % 2,
        "dog": np.arange(24) // 2 % 2,
        "elk": np.where(np.arange(24) % 3 == 0, side, 1 - side),
    }
    images = pd.DataFrame({"image": [f"{i}" for i in range(24)], "split": np.repeat(["train", "test"], 12)})
    images["group"] = np.where(has["elk"] == side, 99, np.arange(24))
    rows = [
        (name, word) for word, of_word in has.items() for name, yes in zip(images["image"], of_word, strict=True) if yes
    ]
    captions = pd.DataFrame(rows, columns=["image", "caption"])
    options = {"smallest_size": 2, "split_captions": False}
    with pytest.warns(UserWarning, match=f"the word 'elk' is {Kind.ONE_GROUP}"):
        words, labels = choose_words(images, captions, n_words="auto", **options)
    assert words["word"].tolist() == ["cat", "dog", "elk"] and labels.shape == (24, 2)
    for table, left_out in ((images, ["", "", Kind.ONE_GROUP]), (images.drop(columns="group"), [""] * 3)):
        assert (
            counted_words(table, captions, options).set_index("word")["left_out"][["cat", "dog", "elk"]].tolist()
            == left_out
        )
