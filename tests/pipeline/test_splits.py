"""Splits are drawn with their fractions or read from tables, and groups of rows stay together in all parts of data."""

import numpy as np
import pandas as pd
import pytest
from common import draw_scores
from samples import make_samples
from scipy import sparse
from small_experiments import study

from jointsparse import metrics
from jointsparse.pipeline.datasets import splits
from jointsparse.pipeline.datasets.samples import at_most
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.models import final
from jointsparse.pipeline.models.model_file import load
from jointsparse.pipeline.provenance.tables import read_table, write_arrays, write_table
from jointsparse.pipeline.scores import comparison, flags
from jointsparse.pipeline.words import choose_words, counted_words

NAMES = [f"{i:02}" for i in range(41)]
OPTIONS = {"split_names": splits.SPLIT_NAMES, "fractions": splits.FRACTIONS, "validation_fraction": 0.25, "seed": 3}


def assign(given, names=NAMES, **options):
    """Assign splits. given: pairs of a split and its number of rows in the table, for the last names, or None."""
    split = np.repeat(*zip(*given, strict=True)) if given else ()
    table = pd.DataFrame({"image": names[-len(split) :], "split": split}) if given else None
    return splits.assign_splits(names, table, **OPTIONS | options)


def counts(got, rows=slice(None)):
    return pd.Series(got, dtype=object)[rows].value_counts().to_dict()


@pytest.mark.parametrize(
    ("n", "fractions", "expected"),
    [
        (0, splits.FRACTIONS, {}),
        (1, splits.FRACTIONS, {"train": 1}),
        (4, splits.FRACTIONS, {"train": 2, "validation": 1, "test": 1}),
        (7, splits.FRACTIONS, {"train": 4, "validation": 2, "test": 1}),
        (41, splits.FRACTIONS, {"train": 25, "validation": 8, "test": 8}),
        (41, {"train": 1.0, "test": 0.0}, {"train": 41}),
        (41, {"unlabelled": 0.5, "test": 0.5}, {"unlabelled": 20, "test": 21}),
    ],
)
def test_every_split_gets_its_fraction_of_the_names_up_to_rounding(n, fractions, expected):
    got = splits.draw_splits(NAMES[:n], fractions, np.random.default_rng(0))
    assert list(got) == NAMES[:n] and counts(got) == expected


@pytest.mark.parametrize(
    ("given", "options", "expected"),
    [
        ([("Train", 2), ("VAL", 1), ("Testing", 1), ("None", 1)], {}, "train train validation test unlabelled"),
        ([("training", 1), ("restval", 1), ("dev", 1), ("unlabeled", 1)], {}, "train train validation unlabelled"),
        ([("train", 9), ("valid", 1)], {}, "train " * 9 + "validation"),
        ([("train", 2)], {"validation_fraction": 0}, "train train"),
        (
            [("fit", 2), ("dev", 1), ("eval", 1)],
            {"split_names": {"train": "fit", "validation": "dev", "test": "eval"}},
            "train train validation test",
        ),
    ],
)
def test_a_table_names_splits_in_common_ways_or_as_split_names_says(given, options, expected):
    got, unplaced = assign(given, NAMES[: len(expected.split())], **options)
    assert list(got.values()) == expected.split() and unplaced == {}


LONG = "x" * 100_000


@pytest.mark.parametrize(
    ("rows", "names", "said"),
    [
        ([("00", LONG)], {}, "use the split names 'train', "),
        ([(LONG, "train"), (LONG, "test")], {}, "give each image one split, got two for 'xxx"),
        ([("00", "dev")], {"test": "eval"}, "use the split names .*, got 'dev'"),
    ],
    ids=["an unknown split", "two splits", "a split that has another name"],
)
def test_a_wrong_table_is_refused_in_a_short_line(rows, names, said):
    options = OPTIONS | {"split_names": splits.SPLIT_NAMES | names}
    with pytest.raises(ValueError, match=rf"\Asplits.csv must {said}.{{,500}}\Z"):
        splits.assign_splits(NAMES, pd.DataFrame(rows, columns=["image", "split"]), **options)


def test_validation_is_drawn_from_train_if_the_table_has_no_validation_images_that_are_there():
    given = np.repeat(["train", "test", "unlabelled", "val"], [20, 11, 9, 1])
    table = pd.DataFrame({"image": [*NAMES[:40], "ghost"], "split": given})
    (got, unplaced), (again, _), (other, _) = (
        splits.assign_splits([*NAMES[:40], "new"], table, **OPTIONS | {"seed": seed}) for seed in (1, 1, 2)
    )
    assert got == again != other and counts(got, slice(20)) == {"train": 15, "validation": 5}
    assert list(got.values())[20:] == ["test"] * 11 + ["unlabelled"] * 9
    assert unplaced == {"ghost": "splits.csv names an image that is not there", "new": "in no split of splits.csv"}


# Groups

PATIENTS = np.repeat(np.arange(150), 4)
ROWS = [f"{i:03}" for i in np.random.default_rng(0).permutation(600)]
RARE = PATIENTS % 10 == 0


@pytest.mark.parametrize(
    # the number of patients that the table does not divide, and by how many images the rare label may be off
    ("given", "n_whole", "off"),
    [(None, 150, 1), ([("train", 600)], 150, 1), ([("train", 400), ("test", 198)], 100, 2)],
    ids=["drawn", "train", "given"],
)
def test_groups_stay_together_with_splits_in_their_fractions_and_known_labels_in_proportion(given, n_whole, off):
    has = pd.DataFrame({"image": ROWS, "caption": np.where(RARE, "rare", "frequent"), "known": True})
    guesses = has.assign(caption=[f"guess {i // 10}" for i in PATIENTS], known=False)
    options = {"groups": PATIENTS, "captions": pd.concat([has, has.assign(caption="any"), guesses])}
    got, again, other = (assign(given, ROWS, **options, seed=seed)[0] for seed in (1, 1, 2))
    assert got == again != other and list(got) == ROWS[-len(got) :]
    n = {"train": 360, "validation": 120, "test": 120}
    if given:
        n = {"train": 0.75 * given[0][1], "validation": 0.25 * given[0][1]} | dict(given[1:])
    for drawn in map(pd.Series, (got, other)):
        of_patients = drawn.groupby(PATIENTS[-len(drawn) :]).agg(set)[:n_whole]
        assert of_patients.map(len).max() == 1 and counts(drawn) == pytest.approx(n, abs=2)
        rare = {split: size / 10 for split, size in n.items()}
        assert counts(drawn, RARE[-len(drawn) :]) == pytest.approx(rare, abs=off)


@pytest.mark.parametrize(
    ("n", "reached"), [(4, ["train"]), (8, ["train", "validation"]), (12, ["train", "validation", "test"])]
)
def test_few_groups_of_four_reach_as_many_splits(n, reached):
    got = splits.draw_splits(ROWS[:n], splits.FRACTIONS, np.random.default_rng(0), PATIENTS[:n])
    assert counts(got) == dict.fromkeys(reached, 4)


def test_a_random_subset_keeps_the_proportions_of_the_splits_and_has_whole_groups_of_every_split():
    made = make_samples(sparse.csr_matrix(np.arange(40.0)[:, np.newaxis]), [str(i) for i in range(40)], n_test=10)
    assert at_most(made, None, 0) is at_most(made, 40, 0) is made
    got, again, other = (at_most(made, 8, seed) for seed in (1, 1, 2))
    assert got.images.equals(again.images) and not got.images.equals(other.images)
    assert counts(got.images["split"]) == {"train": 6, "test": 2}
    names = [f"sample {value:.0f}" for value in got.X.toarray()[:, 0]]
    assert names == got.images["image"].tolist() == got.captions["image"].tolist()
    images = made.images.assign(split=[*24 * ["train"], *16 * ["test"]], group=[*np.arange(24) // 2, *16 * [12]])
    # The single group of the test split is larger than its share of 21 samples.
    grouped, other = (at_most(made._replace(images=images), 21, seed).images for seed in (0, 1))
    assert counts(grouped["split"]) == {"train": 12, "test": 16} and not grouped.equals(other)
    assert grouped.groupby("group").size().loc[:11].eq(2).all()


FILES = [
    *("images.parquet", "captions.parquet", "left_out.csv", "features.npz", "words.csv", "labels.npy", "fit.csv"),
    *("l1.npz", "model.jointsparse", "norms.csv", "thresholds.csv", "tags.csv", "stability.csv"),
]


# The features say who the patient is, so a patient in two splits or folds would give the labels away.
@pytest.mark.filterwarnings("ignore:the chosen radius has a score of:UserWarning")
@pytest.mark.parametrize("grouped", [True, False], ids=["grouped", "not grouped"])
def test_labels_that_only_the_patient_tells_are_not_learnt_if_patients_are_groups(tmp_path, run_script, grouped):
    patients = np.random.default_rng(0).permutation(PATIENTS)
    has = np.random.default_rng(1).random((150, 2))[patients] < 0.4
    table = pd.DataFrame(np.eye(150)[patients], columns=[f"x{i}" for i in range(150)])
    table.assign(patient=patients, cat=has[:, 0], dog=has[:, 1]).to_csv(tmp_path / "a.csv", index=False)
    options = {"root": tmp_path, "features": "a.csv", "labels": "a.csv", "columns": ["cat", "dog"]}
    options |= {"group": "patient"} if grouped else {"ignore": ["patient"]}
    at = {name.partition(".")[0]: str(tmp_path / name) for name in FILES}
    samples, learnt = (
        {name: at[name] for name in names.split()}
        for names in ("images captions left_out features", "images features words labels")
    )
    of_data = {"loader": "arrays", "options": options, "vocabulary": None, "seed": 0}
    run_script("read_samples", params=of_data | {"drawn": [500, 0]}, output=samples)
    words = {"smallest_size": 5, "options": {"n_words": "auto", "split_captions": False}}
    run_script("choose_words", input=samples, params=words, output=learnt)
    fitted, params = {"model": at["l1"], "table": at["fit"]}, of_data | {"powers": [], "n_resamples": 20}
    run_script("fit_final", input=learnt, params=params, output=fitted, wildcards={"norm": "l1"})
    given = learnt | {"models": [at["l1"]], "tables": [at["fit"]], "transformed": at["features"]}
    params = of_data | {"network": None, "features": None, "study": "", "kept": "l1", "raw": {"digest": ""}}
    kept = {name: at[name] for name in ("model", "norms", "thresholds", "tags")}
    run_script("keep_model", input=given, params=params, output=kept, wildcards={"dataset": ""})
    run_script(
        "count_selections", input=learnt | kept, params=of_data | {"n_pairs": 3}, output={"table": at["stability"]}
    )

    images, model = read_table(at["images"]), load(at["model"])
    split_of = images["split"].groupby(patients[[int(name[4:]) - 1 for name in images["image"]]])
    assert (split_of.nunique().max() == 1) == grouped and len(images) <= 500
    aucs = [*read_table(at["fit"])["auc"], *read_table(at["norms"])["validation"]]
    aucs += [*metrics.auc(model.known_scores_, model.known_labels_)]  # these give the thresholds of `annotate`
    assert max(aucs) < 0.6 if grouped else min(aucs) > 0.85
    assert (read_table(at["stability"])["halves"].max() <= 3) == grouped  # of each pair of halves, a group is in one


def test_intervals_of_final_fits_are_those_of_as_many_groups():
    scores, labels = draw_scores(n=60, m=3)
    rows = np.repeat(np.arange(60), 4)
    expected = final.tested(scores, labels, n_resamples=30, seed=3)
    got = final.tested(scores[rows], labels[rows], n_resamples=30, seed=3, groups=rows)
    np.testing.assert_allclose(
        [*got["auc"], *got["average_precision"]], [*expected["auc"], *expected["average_precision"]]
    )


def test_differences_between_methods_have_the_intervals_of_as_many_groups(tmp_path, run_script):
    scores, rows = study(n_runs=5), np.repeat(np.arange(30), 4)
    repeated = scores._replace(score=scores.score[:, rows], labels=scores.labels[rows])
    write_arrays(tmp_path / "scores.npz", **repeated._asdict())
    write_table(
        pd.DataFrame({"split": ["train"] * 9 + ["test"] * 120, "group": [*range(9), *rows]}), tmp_path / "images.csv"
    )
    output = {name: tmp_path / f"{name}.csv" for name in ("significance", "differences")}
    run_script(
        "compare_methods",
        input={"scores": tmp_path / "scores.npz", "images": tmp_path / "images.csv"},
        output=output,
        params={"seed": 7, "tests": {"n_pairings": 11, "n_resamples": 6}},
    )
    expected = {
        "significance": comparison.sign_tests(repeated, n_pairings=11, seed=7),
        "differences": comparison.differences(scores, n_resamples=6, seed=7),
    }
    for name, table in expected.items():
        pd.testing.assert_frame_equal(read_table(output[name]), table)


def test_folds_and_the_single_split_share_no_group(monkeypatch):
    labels, validation = np.arange(40)[:, np.newaxis] % 4 == np.arange(2), np.arange(40) >= 30
    for n_groups, n_folds in ((2, 2), (4, 4), (10, 5)):
        groups = np.arange(40) % n_groups
        folds = final.splits(labels, None, groups)
        assert len(folds) == n_folds and not any({*groups[taught]} & {*groups[held]} for taught, held in folds)
    with pytest.raises(ValueError, match="the 40 known images must be from at least two groups, got 1: leave out"):
        final.splits(labels, None, np.zeros(40, int))
    monkeypatch.setattr(final, "ENOUGH", 40)
    # The ten validation images are held out, or a fifth of all if a group is in both splits.
    for pairs, n_held_out in ((np.arange(40) // 2, 10), (np.arange(40) // 2 % 19, 8)):
        ((taught, held_out),) = final.splits(labels, validation, pairs)
        assert not {*pairs[taught]} & {*pairs[held_out]} and len(held_out) == n_held_out


@pytest.mark.parametrize(
    ("groups", "n", "warning", "grouped"),
    [([0, 0, 1, 1, 2, 3, 3], 1, "groups in several splits: 1", 6), ([0, 1, 1, 2, 3, 4, 4], 0, "", 4)],
    ids=["one divided group", "no divided group"],
)
def test_groups_that_the_data_divide_between_splits_are_counted_in_the_warnings(groups, n, warning, grouped):
    images = pd.DataFrame({"image": list("abcdefg"), "split": ["train", "test", "unlabelled", *["train"] * 4]})
    X = [(slice(None), np.random.default_rng(0).random((7, 2)))]
    table, _ = flags.of_features(X, X, images.assign(group=groups))
    assert table.iloc[3].tolist() == ["torn groups", n, groups[-1] + 1, warning]
    assert table.iloc[4].tolist() == ["grouped images", grouped, 7, f"images in a group with others: {grouped}"]


@pytest.mark.parametrize("side", [1, 0], ids=["with it", "without it"])
def test_a_word_is_left_out_if_all_training_images_with_it_or_without_it_are_in_one_group(side):
    elk = (np.arange(24) % 3 > 0) == side
    has = {"cat": np.arange(24) % 2 == 1, "dog": np.arange(24) // 2 % 2 == 1, "elk": elk}
    images = pd.DataFrame({"image": [f"{i}" for i in range(24)], "split": np.repeat(["train", "test"], 12)})
    captions = pd.concat([images[["image"]][yes].assign(caption=word) for word, yes in has.items()])
    grouped, options = (
        images.assign(group=np.where(elk == side, 99, np.arange(24))),
        {"smallest_size": 2, "split_captions": False},
    )
    with pytest.warns(UserWarning, match=f"the word 'elk' is {Kind.ONE_GROUP}"):
        choose_words(grouped, captions, n_words="auto", **options)
    for table, reason in ((grouped, Kind.ONE_GROUP), (images, "")):
        left_out = counted_words(table, captions, options).set_index("word")["left_out"]
        assert left_out[["cat", "dog", "elk"]].tolist() == ["", "", reason]
