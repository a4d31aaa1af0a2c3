"""Warnings about constant features and repeated images, and the table that collects all warnings."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointsparse.checks import Misfit
from jointsparse.pipeline.flag import Flag, Kind, gap_above, read_cell, write_cell
from jointsparse.pipeline.scores import flags, warning_table

SPLITS = ("train", "train", "test", "validation", "unlabelled", "test", "test", "train")


def with_zeros(X):
    """Return a sparse matrix that stores all entries, also zeros."""
    return sparse.csr_matrix((X.ravel(), np.indices(X.shape).reshape(2, -1)), X.shape)


FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, with_zeros])


def blocks(X, cut=2):
    """Return the rows of X in two blocks, the second block first."""
    rows = np.arange(X.shape[0])
    return [(rows[cut:], X[cut:]), (rows[:cut], X[:cut])]


def flagged(X, given, split=SPLITS):
    """Return the counts and warnings of `of_features`, and its repeated images."""
    images = pd.DataFrame({"image": [f"{i}.jpg" for i in range(len(split))], "split": split})
    table, repeated = flags.of_features(blocks(X), blocks(given), images)
    assert [*repeated] == ["image", "split", "same_as", "split_of_that"]
    return [*table[["count", "of", "warning"]].itertuples(index=False, name=None)], repeated.to_numpy().tolist()


@FORMS
@pytest.mark.parametrize("at_once", [3, 4096])
def test_features_that_are_the_same_in_all_training_images_are_counted(form, at_once, rng, monkeypatch):
    monkeypatch.setattr(flags, "IMAGES_AT_ONCE", at_once)
    X = rng.random((9, 13)) + 1
    X[:7, 1], X[:7, 4], X[:7, 6:] = 0, 0.3, 1 + np.eye(7)  # the last seven differ in a single training image
    counts, _ = flagged(form(X), form(X), ["train"] * 7 + ["validation", "unlabelled"])
    assert counts == [(2, 13, "features that are the same in all training images: 2"), (0, 9, ""), (0, 9, "")]


@FORMS
@pytest.mark.parametrize(
    ("split", "expected"),
    [
        (SPLITS, [["2.jpg", "test", "0.jpg", "train"], ["4.jpg", "unlabelled", "0.jpg", "train"]]),
        # The image in the later split is listed, whatever the order of images.
        (
            ("test", "train", "train", "unlabelled", "validation", "test", "test", "train"),
            [["4.jpg", "validation", "1.jpg", "train"], ["0.jpg", "test", "1.jpg", "train"]],
        ),
    ],
)
def test_images_that_repeat_bit_by_bit_in_another_split_are_listed_once_each(form, split, expected, rng):
    given = rng.random((8, 4))
    given[[1, 2, 4]] = given[0]
    given[[0, 1, 2, 4], 1] = [0.0, -0.0, 0.0, -0.0]  # of one value
    given[5] = np.nextafter(given[0], 1)
    given[6:] = 0  # images without features are not compared
    counts, repeated = flagged(given, form(given), split)
    said = ["images without any feature: 2", "images with the features of an image in another split: 2"]
    assert (counts[1:], repeated) == ([(2, 8, text) for text in said], expected)


@pytest.mark.parametrize("rows", [(4, 8), (8, 4)])
def test_a_wrong_number_of_rows_is_refused(rows):
    with pytest.raises(Misfit, match="must have a row for each of 8 images, got shape"):
        flags.of_features(*([(slice(None), np.ones((n, 2)))] for n in rows), pd.DataFrame({"split": SPLITS}))


EDGE, LEFT = Kind.ETA0_UPPER, "pictures, captions or samples not used, each with its reason in left_out.csv"
TABLES = {
    "chosen": {
        "run": [1, 1, 2],
        "method": ["hinge-l1", "svm-l2", "hinge-l1"],
        "auc": 0.5,
        "warning": [f"{EDGE}; certified gap: 9%", np.nan, "certified gap: 23%"],
        "note": [np.nan, Flag(Kind.NOT_UNIQUE, 30.0).write(), np.nan],
    },
    "fits": {"warning": ["a gap: 7%", "a gap: 7%", "words with 0 in l1inf: 12", "words with 0 in l1inf: 3", "a: b"]},
    "tasks_run1": {"n": [5, 9], "word": ["dog", "{cat}"], "capped": [False, True]},
    "words": {"word": ["dog"], "warning": [np.nan]},
    "means": {"n": [1, 2]},
    "left_out": {"item": ["a.jpg", "b.jpg"], "reason": ["too small", "no caption"]},
}


def test_each_kind_of_warning_has_one_row_per_table_with_the_range_of_its_numbers():
    got = warning_table.gather({name: pd.DataFrame(table) for name, table in TABLES.items()})
    assert [*got] == ["table", "warning", "rows", "of", "first"]
    assert got.to_numpy().tolist() == [
        ["chosen", EDGE, 1, 3, "run=1, method=hinge-l1"],
        ["chosen", "certified gap: 9 to 23%", 2, 3, "run=1, method=hinge-l1"],
        ["chosen", f"{Kind.NOT_UNIQUE}: 30", 1, 3, "run=1, method=svm-l2"],
        ["fits", "a gap: 7%", 2, 5, ""],
        ["fits", "words with 0 in l1inf: 3 to 12", 2, 5, ""],
        ["fits", "a: b", 1, 5, ""],
        ["tasks_run1", "fewer images than asked for", 1, 2, "n=9, word={cat}"],
        ["left_out", LEFT, 2, 2, "item=a.jpg"],
    ]


def test_the_flags_of_a_cell_are_read_back():
    cell = [Flag("gap", 7, "%"), Flag("at an edge"), Flag("tasks not converged", 3), gap_above(1e-4, 0.01234)]
    assert [read_cell(text) for text in ("", np.nan, write_cell([None, *cell, gap_above(1e-4, 1e-4)]))] == [
        [],
        [],
        cell,
    ]
    assert cell[-1].number == 0.012
