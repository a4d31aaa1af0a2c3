"""Splits are drawn with the given fractions, or read from a table."""

import numpy as np
import pandas as pd
import pytest
from samples import make_samples
from scipy import sparse

from jointsparse.pipeline.datasets import splits
from jointsparse.pipeline.datasets.samples import at_most

NAMES = [f"{i:02}" for i in range(41)]
OPTIONS = {"split_names": splits.SPLIT_NAMES, "fractions": splits.FRACTIONS, "validation_fraction": 0.25, "seed": 3}


@pytest.mark.parametrize("n", [0, 1, 7, 41])
@pytest.mark.parametrize(
    "fractions", [splits.FRACTIONS, {"train": 1.0}, {"unlabelled": 0.5, "test": 0.5}, {"train": 1.0, "test": 0.0}]
)
def test_every_split_gets_its_fraction_of_the_names(n, fractions):
    got = splits.draw_splits(NAMES[:n], fractions, np.random.default_rng(0))
    assert list(got) == NAMES[:n]
    counts = pd.Series(got, dtype=object).value_counts()
    for split, fraction in fractions.items():
        assert abs(counts.get(split, 0) - fraction * n) <= 1
    assert set(counts.index) <= set(fractions)


@pytest.mark.parametrize(("n", "expected"), [(4, (2, 1, 1)), (7, (4, 2, 1)), (41, (25, 8, 8))])
def test_sizes_of_splits_are_rounded_to_whole_numbers(n, expected):
    got = pd.Series(splits.draw_splits(NAMES[:n], splits.FRACTIONS, np.random.default_rng(0))).value_counts()
    assert tuple(got[split] for split in splits.FRACTIONS) == expected


def test_a_table_gives_the_splits_and_images_without_a_split_are_listed():
    got, unplaced = splits.assign_splits(
        NAMES[:4],
        pd.DataFrame({"image": ["00", "01", "02", "ghost"], "split": ["fit", "dev", "eval", "fit"]}),
        **OPTIONS | {"split_names": {"train": "fit", "validation": "dev", "test": "eval"}},
    )
    assert got == {"00": "train", "01": "validation", "02": "test"}
    assert unplaced == {"ghost": "splits.csv names an image that is not there", "03": "in no split of splits.csv"}


def test_names_of_splits_may_have_capital_letters():
    table = pd.DataFrame({"image": NAMES[:5], "split": ["Train", "VAL", "Testing", "None", "test"]})
    got, _ = splits.assign_splits(NAMES[:5], table, **OPTIONS)
    assert list(got.values()) == ["train", "validation", "test", "unlabelled", "test"]


LONG = "x" * 100_000


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([("00", "eval"), ("01", "train")], {}, "splits.csv must use the split names 'train', "),
        ([("00", "train"), ("00", "test")], {}, "splits.csv must give each image one split, got two for '00'"),
        ([("00", LONG)], {}, "splits.csv must use the split names 'train', "),
        ([(LONG, "train"), (LONG, "test")], {}, "splits.csv must give each image one split"),
    ],
)
def test_wrong_tables_and_options_are_refused_in_a_short_line(rows, options, said):
    table = None if rows is None else pd.DataFrame(rows, columns=["image", "split"])
    with pytest.raises(ValueError) as caught:
        splits.assign_splits(NAMES, table, **OPTIONS | options)
    assert str(caught.value).startswith(said) and len(str(caught.value)) < 500


def table_of(*parts):
    """Return a table of splits for the first of NAMES. parts: name and size of each split, in order."""
    split = np.repeat([name for name, _ in parts], [size for _, size in parts])
    return pd.DataFrame({"image": NAMES[: len(split)], "split": split})


@pytest.mark.parametrize(
    ("name", "split"),
    [
        *((name, "validation") for name in ("val", "valid", "dev")),
        *(("training", "train"), ("testing", "test"), ("none", "unlabelled"), ("unlabeled", "unlabelled")),
    ],
)
def test_common_names_of_splits_are_read_unless_the_option_split_names_is_set(name, split):
    table = table_of(("train", 3), ("validation", 1), (name, 2))
    got, _ = splits.assign_splits(NAMES[:6], table, **OPTIONS)
    assert list(got.values()) == ["train"] * 3 + ["validation"] + [split] * 2
    with pytest.raises(ValueError, match=f"must use the split names 'train', .*, got {name!r}"):
        splits.assign_splits(NAMES[:6], table, **OPTIONS | {"split_names": splits.SPLIT_NAMES | {"test": "eval"}})


@pytest.mark.parametrize(
    ("name", "split_names"),
    [*((name, splits.SPLIT_NAMES) for name in ("validation", "val", "valid", "dev")), ("held", {"validation": "held"})],
)
def test_no_validation_is_drawn_if_the_table_has_validation_images(name, split_names):
    split_names = {"train": "train", "test": "test"} | dict(split_names)
    got, _ = splits.assign_splits(
        NAMES, table_of(("train", 36), (name, 1), ("test", 4)), **OPTIONS | {"split_names": split_names}
    )
    assert list(got.values()) == ["train"] * 36 + ["validation"] + ["test"] * 4


@pytest.mark.parametrize("split_names", [splits.SPLIT_NAMES, {"train": "train", "test": "test", "unlabelled": "none"}])
def test_validation_is_drawn_from_train_if_the_table_has_no_validation_images(split_names):
    table = table_of(("train", 20), ("test", 11), ("none", 10))
    options = OPTIONS | {"split_names": split_names}
    got, again, other = (splits.assign_splits(NAMES, table, **options | {"seed": i})[0] for i in (1, 1, 2))
    assert got == again != other
    assert pd.Series(got)[:20].value_counts().to_dict() == {"train": 15, "validation": 5}
    assert list(got.values())[20:] == ["test"] * 11 + ["unlabelled"] * 10


def test_no_validation_is_drawn_with_a_fraction_of_0():
    got, _ = splits.assign_splits(NAMES[:9], table_of(("train", 9)), **OPTIONS | {"validation_fraction": 0})
    assert set(got.values()) == {"train"}


def test_validation_is_drawn_if_none_of_the_validation_images_exists():
    table = table_of(("train", 8), ("test", 2), ("val", 3))
    got, unplaced = splits.assign_splits(NAMES[:10], table, **OPTIONS)
    assert pd.Series(got)[:8].value_counts().to_dict() == {"train": 6, "validation": 2}
    assert unplaced == dict.fromkeys(NAMES[10:13], "splits.csv names an image that is not there")


def test_a_random_subset_keeps_the_proportions_of_the_splits_and_the_labels_and_features():
    made = make_samples(sparse.csr_matrix(np.arange(40.0)[:, np.newaxis]), [str(i) for i in range(40)], n_test=10)
    assert at_most(made, None, 0) is at_most(made, 40, 0) is made
    got, again, other = (at_most(made, 8, seed) for seed in (1, 1, 2))
    assert got.images.equals(again.images) and not got.images.equals(other.images)
    assert got.images["split"].value_counts().to_dict() == {"train": 6, "test": 2}
    drawn = [f"sample {value:.0f}" for value in got.X.toarray()[:, 0]]
    assert drawn == got.images["image"].tolist() == got.captions["image"].tolist()


PATIENTS = np.repeat(np.arange(150), 4)
ROWS = [f"{i:03}" for i in np.random.default_rng(0).permutation(600)]
OF_ROWS = pd.DataFrame({"image": ROWS, "caption": [("rare", *9 * ["frequent"])[patient % 10] for patient in PATIENTS]})


def torn(split_of, groups=PATIENTS):
    return pd.Series(split_of).groupby(groups).nunique().gt(1).sum()


def test_drawn_splits_keep_groups_together_and_their_fractions_and_the_labels_in_proportion():
    options = OPTIONS | {"groups": PATIENTS, "captions": OF_ROWS}
    got, again, other = (splits.assign_splits(ROWS, None, **options | {"seed": i})[0] for i in (1, 1, 2))
    assert got == again != other and list(got) == ROWS and torn(got) == torn(other) == 0
    assert pd.Series(got).value_counts().to_dict() == {"train": 360, "validation": 120, "test": 120}
    rare = pd.Series(got)[(OF_ROWS["caption"] == "rare").to_numpy()]
    assert rare.value_counts().to_dict() == {"train": 36, "validation": 12, "test": 12}


def test_few_groups_reach_every_split():
    got = splits.draw_splits(ROWS[:12], splits.FRACTIONS, np.random.default_rng(0), PATIENTS[:12])
    assert pd.Series(got).value_counts().to_dict() == {"train": 4, "validation": 4, "test": 4}


def test_validation_is_drawn_in_whole_groups_and_the_other_given_splits_are_kept():
    table = pd.DataFrame({"image": ROWS[2:], "split": [*398 * ["train"], *200 * ["test"]]})
    got, _ = splits.assign_splits(ROWS, table, **OPTIONS, groups=PATIENTS)
    of_split = pd.Series(got)
    assert of_split[398:].eq("test").all() and torn(of_split[:398], PATIENTS[2:400]) == 0
    assert 96 <= of_split.eq("validation").sum() <= 104


def test_a_random_subset_has_whole_groups_and_at_least_one_from_every_split():
    made = make_samples(sparse.csr_matrix(np.arange(40.0)[:, np.newaxis]), [str(i) for i in range(40)], n_test=16)
    images = made.images.assign(split=[*24 * ["train"], *16 * ["test"]], group=[*np.arange(24) // 2, *16 * [12]])
    got = at_most(made._replace(images=images), 21, 0)
    assert got.images["split"].value_counts().to_dict() == {"train": 12, "test": 16}
    assert got.images.groupby("group").size().loc[:11].eq(2).all()
    assert got.X.toarray()[:, 0].astype(int).tolist() == [int(name[7:]) for name in got.images["image"]]
