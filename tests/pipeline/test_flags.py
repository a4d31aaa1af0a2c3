"""Warnings about constant features and repeated images, and the table that collects all warnings."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointsparse.checks import Misfit
from jointsparse.pipeline.flag import Flag, Kind, gap_above, read_cell, write_cell
from jointsparse.pipeline.scores import flags, warning_table


def images(split=("train", "train", "test", "validation", "unlabelled")):
    return pd.DataFrame({"image": [f"{i}.jpg" for i in range(len(split))], "split": split})


def blocks(X, cut=2):
    """Return the rows of X in two blocks, the second block first."""
    rows = np.arange(X.shape[0])
    return [(rows[cut:], X[cut:]), (rows[:cut], X[:cut])]


def counts(X, given, of=None):
    table, _ = flags.of_features(blocks(X), blocks(given), images() if of is None else of)
    return table.set_index("what")


FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])


@FORMS
@pytest.mark.parametrize("at_once", [1, 3, 4096])
def test_features_that_are_the_same_in_all_training_images_are_counted(form, at_once, monkeypatch):
    monkeypatch.setattr(flags, "IMAGES_AT_ONCE", at_once)
    X = np.random.default_rng(0).random((9, 13)) + 1
    X[:7, 1], X[:7, 4], X[:7, 6:] = 0, 0.3, 1 + np.eye(7)  # the last seven differ in a single training image
    table = counts(form(X), form(X), images(["train"] * 7 + ["test"] * 2))
    assert table.loc["constant features", ["count", "of"]].tolist() == [2, 13]
    assert table.loc["constant features", "warning"] == "features that are the same in all training images: 2"
    assert table.loc[["empty images", "repeated images"], "warning"].tolist() == ["", ""]


@FORMS
@pytest.mark.parametrize(
    ("split", "expected"),
    [
        (
            ("train", "train", "test", "validation", "unlabelled"),
            [("2.jpg", "test", "0.jpg", "train"), ("4.jpg", "unlabelled", "0.jpg", "train")],
        ),
        # The image in the later split is listed, whatever the order of images.
        (
            ("test", "train", "train", "unlabelled", "validation"),
            [("4.jpg", "validation", "1.jpg", "train"), ("0.jpg", "test", "1.jpg", "train")],
        ),
    ],
)
def test_images_that_repeat_in_another_split_are_listed_once_each(form, split, expected):
    given = np.random.default_rng(0).random((5, 4))
    given[[1, 2, 4]] = given[0]
    given[[0, 1, 2, 4], 1] = [0.0, -0.0, 0.0, -0.0]  # of one value
    table, repeated = flags.of_features(blocks(given), blocks(form(given)), images(split))
    assert [*repeated] == ["image", "split", "same_as", "split_of_that"]
    assert [*repeated.itertuples(index=False, name=None)] == expected
    assert table["warning"].tolist()[2] == "images with the features of an image in another split: 2"


@pytest.mark.parametrize(("gap", "said"), [(0.0123, "0.012"), (0.00042, "0.00042")])
def test_a_gap_is_written_with_two_digits(gap, said):
    assert gap_above(1e-4, gap).write().endswith(f": {said}")


def test_repeated_images_are_equal_bit_by_bit_and_images_without_features_are_not_compared():
    given = np.random.default_rng(0).random((5, 4))
    given[2] = np.nextafter(given[0], 1)
    given[[1, 3]] = 0
    table, repeated = flags.of_features(blocks(given), blocks(given), images())
    assert len(repeated) == 0 and list(repeated) == ["image", "split", "same_as", "split_of_that"]
    assert table["warning"].tolist() == ["", "images without any feature: 2", ""]


@pytest.mark.parametrize("rows", [(4, 5), (5, 4)])
def test_a_wrong_number_of_rows_is_refused(rows):
    with pytest.raises(Misfit, match="must have a row for each of 5 images, got shape"):
        flags.of_features(*([(slice(None), np.ones((n, 2)))] for n in rows), images())


def test_each_kind_of_warning_has_one_row_per_table():
    tables = {
        "chosen": pd.DataFrame(
            {
                "run": [1, 1, 2],
                "method": ["hinge-l1", "svm-l2", "hinge-l1"],
                "auc": 0.5,
                "warning": ["eta0 at the upper edge of its grid; certified gap: 9%", np.nan, "certified gap: 23%"],
                "note": [np.nan, Flag(Kind.NOT_UNIQUE, 30.0).write(), np.nan],
            }
        ),
        "tasks_run1": pd.DataFrame({"n": [5, 9], "word": ["dog", "{cat}"], "capped": [False, True]}),
        "words": pd.DataFrame({"word": ["dog"], "warning": [np.nan]}),
        "left_out": pd.DataFrame({"item": ["a.jpg", "b.jpg"], "reason": ["too small", "no caption"]}),
    }
    assert warning_table.gather(tables).to_numpy().tolist() == [
        ["chosen", "eta0 at the upper edge of its grid", 1, 3, "run=1, method=hinge-l1"],
        ["chosen", "certified gap: 9 to 23%", 2, 3, "run=1, method=hinge-l1"],
        ["chosen", f"{Kind.NOT_UNIQUE}: 30", 1, 3, "run=1, method=svm-l2"],
        ["tasks_run1", "fewer images than asked for", 1, 2, "n=9, word={cat}"],
        [
            "left_out",
            "pictures, captions or samples not used, each with its reason in left_out.csv",
            2,
            2,
            "item=a.jpg",
        ],
    ]


@pytest.mark.parametrize(
    ("warnings", "expected"),
    [
        (["words with 0 in l1inf: 3", "words with 0 in l1inf: 12"], "words with 0 in l1inf: 3 to 12"),
        (["certified only to: 1e-05", "certified only to: 0.002"], "certified only to: 1e-05 to 0.002"),
        (["a gap: 7%", "a gap: 7%"], "a gap: 7%"),
        (["a: b", "a: b"], "a: b"),
        (["a {brace}", "a {brace}"], "a {brace}"),
    ],
)
def test_warnings_that_differ_only_in_numbers_are_joined(warnings, expected):
    got = warning_table.gather({"chosen": pd.DataFrame({"warning": warnings})})
    assert got[["warning", "rows"]].to_numpy().tolist() == [[expected, 2]]


FLAGS = [Flag("gap", 7, "%"), Flag("at an edge"), Flag("tasks not converged", 3), Flag("certified to", 1e-5)]


@pytest.mark.parametrize(
    "cell, flags", [("", []), (np.nan, []), (None, []), (write_cell([None, *FLAGS, None]), FLAGS)], ids=str
)
def test_the_flags_of_a_cell_are_read_back(cell, flags):
    assert read_cell(cell) == flags


@pytest.mark.parametrize("table", [{"warning": [np.nan, np.nan]}, {"n": [1, 2]}], ids=["none", "no column"])
def test_the_table_has_its_columns_even_without_warnings(table):
    got = warning_table.gather({"chosen": pd.DataFrame(table)})
    assert len(got) == 0 and list(got) == ["table", "warning", "rows", "of", "first"]
