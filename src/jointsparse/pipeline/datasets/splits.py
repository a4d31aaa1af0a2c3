"""Divide images or samples into the splits "train", "validation", "test" and "unlabelled"."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from jointsparse.checks import require, shortened
from jointsparse.pipeline.datasets.names import SPLITS

FRACTIONS = {"train": 0.6, "validation": 0.2, "test": 0.2}
SPLIT_NAMES = {split: split for split in SPLITS}
ALIASES = {  # other common names of the splits, which are accepted unless the option split_names is set
    **dict.fromkeys(("val", "valid", "dev"), "validation"),
    "training": "train",
    "restval": "train",  # Karpathy's splits of COCO: COCO's validation images outside his validation and test
    "testing": "test",
    "none": "unlabelled",
    "unlabeled": "unlabelled",
}


def assign_splits(
    names: list[str],
    table: pd.DataFrame | None,
    *,
    split_names: Mapping[str, str],
    fractions: Mapping[str, float],
    validation_fraction: float,
    seed: int,
    source: str = "splits.csv",
) -> tuple[dict[str, str], dict[str, str]]:
    """Assign a split to each image, as given in a table or at random.

    Parameters
    ----------
    names : list of str
        Names of the images.
    table : DataFrame or None
        The splits that were published with the dataset, in the columns `image` and `split`. If None, the splits are
        drawn at random.
    split_names : mapping
        For each split, its name in the table.
    fractions : mapping
        Fraction of the images that each split gets if there is no table, from 0 to 1.
    validation_fraction : float, from 0 to below 1
        Fraction of the training images that is moved to the validation split if the table has no validation images.
    seed : int
        Seed of the random generator that draws the splits.
    source : str
        Name of the table, for error messages.

    Returns
    -------
    splits : dict
        For each image that has a split, its split.
    unplaced : dict
        For each image without a split, each name in the table to which no image belongs, and each repeated row of the
        table, a description of the problem.
    """
    rng = np.random.default_rng(seed)
    if table is None:
        return draw_splits(names, fractions, rng), {}
    ours = {theirs: split for split, theirs in split_names.items()}
    require(
        set(split_names) <= set(SPLITS) and len(ours) == len(split_names),
        f"split_names must map the splits {', '.join(SPLITS)} to different names, got {shortened(dict(split_names))}",
    )
    if dict(split_names) == SPLIT_NAMES:
        ours |= ALIASES
        table = table.assign(split=table["split"].str.lower())
    for unknown in sorted(set(table["split"]) - set(ours))[:1]:
        raise ValueError(
            f"{source} must use the split names {', '.join(map(repr, ours))}, got {shortened(unknown)}: rename the "
            "split, or set split_names in the entry of the dataset"
        )
    rows = table.drop_duplicates()
    for image in rows["image"][rows["image"].duplicated()][:1]:
        raise ValueError(f"{source} must give each image one split, got two for {shortened(image)}")
    split_of = dict(zip(rows["image"], rows["split"].map(ours), strict=True))
    unplaced = dict.fromkeys(set(split_of) - set(names), f"{source} names an image that is not there")
    unplaced |= dict.fromkeys(set(names) - set(split_of), f"in no split of {source}")
    for name in table["image"][table.duplicated()]:
        unplaced[f"{name} (repeated split)"] = f"{source} lists it again, with the same split"
    splits = {name: split_of[name] for name in names if name in split_of}
    if "validation" not in splits.values():
        splits = set_validation_aside(splits, validation_fraction, rng)
    return splits, unplaced


def set_validation_aside(
    splits: Mapping[str, str], validation_fraction: float, rng: np.random.Generator
) -> dict[str, str]:
    """Move a random fraction of the training samples to the validation split. All other samples keep their split."""
    require(
        0 <= validation_fraction < 1, f"validation_fraction must be at least 0 and below 1, got {validation_fraction!r}"
    )
    of_train = [name for name, split in splits.items() if split == "train"]
    parts = {"train": 1 - validation_fraction, "validation": validation_fraction}
    return dict(splits) | draw_splits(of_train, parts, rng)


def draw_splits(names: list[str], fractions: Mapping[str, float], rng: np.random.Generator) -> dict[str, str]:
    """Draw a split for each name at random. Every split gets its fraction of the names, up to rounding.

    Raises ValueError if a fraction is negative or belongs to an unknown split, or if the fractions do not add up to 1.
    """
    require(set(fractions) <= set(SPLITS), f"fractions must be given for {', '.join(SPLITS)}, got {dict(fractions)}")
    require(
        abs(sum(fractions.values()) - 1) <= 1e-9 and min(fractions.values()) >= 0,
        f"fractions must be at least 0 and add up to 1, got {dict(fractions)}",
    )
    ends = np.rint(np.cumsum(list(fractions.values())) * len(names)).astype(int)
    which = np.searchsorted(ends, np.arange(len(names)), side="right")
    order = rng.permutation(len(names))
    drawn = dict(zip((names[i] for i in order), (list(fractions)[j] for j in which), strict=True))
    return {name: drawn[name] for name in names}
