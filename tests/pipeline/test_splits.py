"""Splits are drawn with the given fractions, or read from a table; groups stay together, labels in proportion."""

import numpy as np
import pandas as pd
import pytest
from samples import make_samples
from scipy import sparse

from jointsparse.pipeline.datasets import splits
from jointsparse.pipeline.datasets.samples import at_most

NAMES = [f"{i:02}" for i in range(41)]
OPTIONS = {"split_names": splits.SPLIT_NAMES, "fractions": splits.FRACTIONS, "validation_fraction": 0.25, "seed": 3}
PATIENTS = np.repeat(np.arange(150), 4)
ROWS = [f"{i:03}" for i in np.random.default_rng(0).permutation(600)]
RARE = PATIENTS % 10 == 0
OF_ROWS = pd.DataFrame({"image": ROWS, "caption": np.where(RARE, "rare", "frequent")})


def assign(given, names=NAMES, **options):
    """Assign splits. given: pairs of a name of a split and the number of its rows in the table, in order, or None."""
    split = np.repeat(*zip(*given, strict=True)) if given else ()
    table = pd.DataFrame({"image": names[: len(split)], "split": split}) if given else None
    return splits.assign_splits(names, table, **OPTIONS | options)


def counts(got, rows=slice(None)):
    return pd.Series(got, dtype=object)[rows].value_counts().to_dict()


def torn(got, groups=PATIENTS):
    return pd.Series(got).groupby(groups).nunique().gt(1).sum()


@pytest.mark.parametrize("n", [0, 1, 4, 7, 41])
@pytest.mark.parametrize(
    "fractions", [splits.FRACTIONS, {"train": 1.0}, {"unlabelled": 0.5, "test": 0.5}, {"train": 1.0, "test": 0.0}]
)
def test_every_split_gets_its_fraction_of_the_names_up_to_rounding(n, fractions):
    got = splits.draw_splits(NAMES[:n], fractions, np.random.default_rng(0))
    ends = [round(n * sum([*fractions.values()][:k])) for k in range(len(fractions) + 1)]
    sizes = dict(zip(fractions, np.diff(ends).tolist(), strict=True))
    assert list(got) == NAMES[:n] and counts(got) == {split: size for split, size in sizes.items() if size}


OWN = {"split_names": {"train": "fit", "validation": "dev", "test": "eval"}}
GIVEN = [  # rows of the table, options, and the splits
    ([("Train", 2), ("VAL", 1), ("Testing", 1), ("None", 1)], {}, ["train"] * 2 + ["validation", "test", "unlabelled"]),
    ([("fit", 2), ("dev", 1), ("eval", 1)], OWN, ["train", "train", "validation", "test"]),
    ([("train", 9)], {"validation_fraction": 0}, ["train"] * 9),
    *(
        ([("train", 3), ("validation", 1), (alias, 2)], {}, ["train"] * 3 + ["validation"] + [split] * 2)
        for alias, split in splits.ALIASES.items()
    ),
    *(
        ([("train", 9), (name, 1)], {}, ["train"] * 9 + ["validation"])
        for name in ("validation", "val", "valid", "dev")
    ),
]


@pytest.mark.parametrize(("given", "options", "expected"), GIVEN)
def test_a_table_gives_the_splits(given, options, expected):
    got, unplaced = assign(given, NAMES[: len(expected)], **options)
    assert list(got.values()) == expected and unplaced == {}


LONG = "x" * 100_000
REFUSED = [
    ([("00", "eval")], {}, "use the split names 'train', .*, got 'eval'"),
    ([("00", LONG)], {}, "use the split names 'train', "),
    ([("00", "train"), ("00", "test")], {}, "give each image one split, got two for '00'"),
    ([(LONG, "train"), (LONG, "test")], {}, "give each image one split"),
    ([("00", "dev")], {"split_names": splits.SPLIT_NAMES | {"test": "eval"}}, "use the split names .*, got 'dev'"),
]


@pytest.mark.parametrize(("rows", "options", "said"), REFUSED)
def test_a_wrong_table_is_refused_in_a_short_line(rows, options, said):
    with pytest.raises(ValueError, match=rf"\Asplits.csv must {said}.{{,500}}\Z"):
        splits.assign_splits(NAMES, pd.DataFrame(rows, columns=["image", "split"]), **OPTIONS | options)


@pytest.mark.parametrize("split_names", [splits.SPLIT_NAMES, {"train": "train", "test": "test", "unlabelled": "none"}])
def test_validation_is_drawn_from_train_if_the_table_has_no_validation_images(split_names):
    given = [("train", 20), ("test", 11), ("none", 10)]
    got, again, other = (assign(given, split_names=split_names, seed=seed)[0] for seed in (1, 1, 2))
    assert got == again != other and counts(got, slice(20)) == {"train": 15, "validation": 5}
    assert list(got.values())[20:] == ["test"] * 11 + ["unlabelled"] * 10


def test_images_that_only_the_table_or_the_folder_has_are_listed_and_do_not_count_as_validation_images():
    table = pd.DataFrame({"image": [*NAMES[:8], "ghost"], "split": ["train"] * 8 + ["val"]})
    got, unplaced = splits.assign_splits(NAMES[:9], table, **OPTIONS)
    assert counts(got) == {"train": 6, "validation": 2}
    assert unplaced == {"ghost": "splits.csv names an image that is not there", "08": "in no split of splits.csv"}


@pytest.mark.parametrize("given", [None, [("train", 600)]])
def test_groups_stay_together_with_splits_in_their_fractions_and_known_labels_in_proportion(given):
    guesses = OF_ROWS.assign(caption=[f"guess {i // 10}" for i in PATIENTS], known=False)
    captions = pd.concat([OF_ROWS.assign(known=True), guesses])
    options = {"groups": PATIENTS, "captions": captions}
    got, again, other = (assign(given, ROWS, **options, seed=seed)[0] for seed in (1, 1, 2))
    assert got == again != other and list(got) == ROWS
    n = {"train": 450, "validation": 150} if given else {"train": 360, "validation": 120, "test": 120}
    for drawn in (got, other):
        assert torn(drawn) == 0 and counts(drawn) == pytest.approx(n, abs=2)
        assert counts(drawn, RARE) == pytest.approx({split: size / 10 for split, size in n.items()}, abs=1)


def test_validation_is_drawn_in_whole_groups_and_the_other_given_splits_are_kept():
    table = pd.DataFrame({"image": ROWS[2:], "split": [*398 * ["train"], *200 * ["test"]]})
    of_split = pd.Series(splits.assign_splits(ROWS, table, **OPTIONS, groups=PATIENTS)[0])
    assert of_split[398:].eq("test").all() and torn(of_split[:398], PATIENTS[2:400]) == 0
    assert 96 <= of_split.eq("validation").sum() <= 104


def test_few_groups_reach_every_split():
    got = splits.draw_splits(ROWS[:12], splits.FRACTIONS, np.random.default_rng(0), PATIENTS[:12])
    assert counts(got) == {"train": 4, "validation": 4, "test": 4}


def subset(made, n, seed):
    """Draw a subset, whose features and labels are those of its samples."""
    got = at_most(made, n, seed)
    drawn = [f"sample {value:.0f}" for value in got.X.toarray()[:, 0]]
    assert drawn == got.images["image"].tolist() == got.captions["image"].tolist()
    return got.images


def test_a_random_subset_keeps_the_proportions_of_the_splits_and_has_whole_groups_of_every_split():
    made = make_samples(sparse.csr_matrix(np.arange(40.0)[:, np.newaxis]), [str(i) for i in range(40)], n_test=10)
    assert at_most(made, None, 0) is at_most(made, 40, 0) is made
    got, again, other = (subset(made, 8, seed) for seed in (1, 1, 2))
    assert got.equals(again) and not got.equals(other)
    assert got["split"].value_counts().to_dict() == {"train": 6, "test": 2}
    images = made.images.assign(split=[*24 * ["train"], *16 * ["test"]], group=[*np.arange(24) // 2, *16 * [12]])
    grouped = subset(made._replace(images=images), 21, 0)
    assert grouped["split"].value_counts().to_dict() == {"train": 12, "test": 16}
    assert grouped.groupby("group").size().loc[:11].eq(2).all()
