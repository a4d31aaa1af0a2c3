"""Divide images or samples into the splits "train", "validation", "test" and "unlabelled"."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from jointsparse.messages import shortened
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
MOST_FOLDS = 20  # Choice: groups are divided into at most this many folds, which are then handed out to the splits


def assign_splits(
    names: list[str],
    table: pd.DataFrame | None,
    *,
    groups: np.ndarray | None = None,
    captions: pd.DataFrame | None = None,
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
    groups : int array, (n_images,), or None
        The group of each image. Splits that are drawn keep the images of a group together.
    captions : DataFrame or None
        The labels of the images, in the columns `image`, `caption` and perhaps `known`. If there are groups, splits are
        stratified by the rarest label of each image.
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
        return draw_splits(names, fractions, rng, groups, captions), {}
    ours = {theirs: split for split, theirs in split_names.items()}
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
        own = None if groups is None else groups[[name in splits for name in names]]
        splits = set_validation_aside(splits, validation_fraction, rng, own, captions)
    return splits, unplaced


def set_validation_aside(
    splits: Mapping[str, str],
    validation_fraction: float,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
    captions: pd.DataFrame | None = None,
) -> dict[str, str]:
    """Move a random fraction of the training samples to the validation split. All other samples keep their split.

    Parameters
    ----------
    splits : mapping
        The split of each sample, by name.
    validation_fraction : float, from 0 to below 1
        The fraction of the training samples that is moved. Samples of a group move together.
    rng : Generator
        Random generator that draws the samples.
    groups, captions : as in `assign_splits`
        See there.
    """
    of_train = [name for name, split in splits.items() if split == "train"]
    if groups is not None:
        groups = groups[[split == "train" for split in splits.values()]]
    parts = {"train": 1 - validation_fraction, "validation": validation_fraction}
    return dict(splits) | draw_splits(of_train, parts, rng, groups, captions)


def draw_splits(
    names: list[str],
    fractions: Mapping[str, float],
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
    captions: pd.DataFrame | None = None,
) -> dict[str, str]:
    """Draw a split for each name at random. Every split gets its fraction of the names, up to rounding.

    Parameters
    ----------
    names : list of str
        The names.
    fractions : mapping
        The fraction of the names that each split gets. With groups, a split gets about its fraction.
    rng : Generator
        Random generator that draws the splits.
    groups, captions : as in `assign_splits`
        See there.
    """
    if groups is not None:
        return _draw_groups(names, fractions, rng, groups, captions)
    ends = np.rint(np.cumsum(list(fractions.values())) * len(names)).astype(int)
    which = np.searchsorted(ends, np.arange(len(names)), side="right")
    order = rng.permutation(len(names))
    drawn = dict(zip((names[i] for i in order), (list(fractions)[j] for j in which), strict=True))
    return {name: drawn[name] for name in names}


def _draw_groups(
    names: Sequence[str],
    fractions: Mapping[str, float],
    rng: np.random.Generator,
    groups: np.ndarray,
    captions: pd.DataFrame | None,
) -> dict[str, str]:
    """Draw a split for each group: divide the groups into folds, and give each fold to the split that lacks most."""
    wanted = {split: fraction for split, fraction in fractions.items() if fraction > 0}
    whole = [n for n in range(2, MOST_FOLDS) if all(abs(n * f - round(n * f)) < 1e-9 for f in wanted.values())]
    folds = folds_of(_rarest(names, captions), groups, min([*whole, MOST_FOLDS]), int(rng.integers(2**31)))
    split_of, n_given = np.empty(len(names), dtype=object), dict.fromkeys(wanted, 0)
    for fold in sorted(folds, key=len, reverse=True):
        split = min(wanted, key=lambda split: n_given[split] / wanted[split])
        split_of[fold] = split
        n_given[split] += len(fold)
    return dict(zip(names, split_of, strict=True))


def folds_of(strata: np.ndarray, groups: np.ndarray, n_folds: int, seed: int) -> list[np.ndarray]:
    """Divide samples into folds of whole groups, and return the rows of each fold.

    There are fewer folds if there are fewer groups. Strata of fewer than `n_folds` samples are merged into the largest.

    Parameters
    ----------
    strata : array, (n_samples,)
        The stratum of each sample. Every fold gets about the same fraction of each stratum.
    groups : int array, (n_samples,)
        The group of each sample.
    n_folds : int, at least 2
        Number of folds.
    seed : int
        Seed of the random generator that shuffles the groups.
    """
    from sklearn.model_selection import StratifiedGroupKFold  # imported here, because the import takes a second

    n_folds = min(n_folds, len(np.unique(groups)))
    if n_folds < 2:
        return [np.arange(len(groups))]
    _, of_sample, n_samples = np.unique(strata, return_inverse=True, return_counts=True)
    of_sample = np.where(n_samples[of_sample] < n_folds, n_samples.argmax(), of_sample)
    folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed).split(of_sample, of_sample, groups)
    return [held_out for _, held_out in folds]


def _rarest(names: Sequence[str], captions: pd.DataFrame | None) -> np.ndarray:
    """Return the number of the rarest label of each sample."""
    if captions is None:
        return np.zeros(len(names), dtype=int)
    known = captions[captions["known"].astype(bool)] if "known" in captions else captions
    table = known.assign(n=known["caption"].map(known["caption"].value_counts())).sort_values(["n", "caption"])
    of_name = table.drop_duplicates("image").set_index("image")["caption"]
    return np.asarray(pd.factorize(of_name.reindex(list(names)), use_na_sentinel=False)[0])
