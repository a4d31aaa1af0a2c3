"""The tables that every loader returns, with a feature matrix if the dataset comes with features."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.arrays import widened
from jointsparse.checks import require
from jointsparse.pipeline.provenance.tables import read_matrix, read_table, write_matrix, write_table


class Samples(NamedTuple):
    """A dataset that has been read and checked: photographs, or samples that come with features.

    Attributes
    ----------
    images
        Table with a row for each image or sample, and the columns `image` (its name) and `split` (one of
        `names.SPLITS`). If images are files, they are sorted by name, and a column `digest` holds a checksum of the
        content of each file. If the dataset has groups, a column `group` holds the number of the group of each image,
        see `datasets.groups`. If the results page shows pictures or text of samples, there are also the columns
        `picture` (a file, or empty) and `text`.
    captions
        Table with a row for each caption or label of these images, and the columns `image` and `caption`. An image
        without labels is a negative example in every task. If some labels are unknown, a column `known` is False for
        these labels. If there are corrections, a column `absent` may be True for labels that an image does not have,
        whatever its captions say. For labels, `words.choose_words` reads this table with split_captions=False.
    left_out
        Table with a row for each file, caption or label that is not used, and the columns `item` and `reason`.
    X
        Feature matrix, dense or CSR, shape (n_samples, n_features), or None for images. Its rows are in the order of
        `images`. It may be memory-mapped. `write` keeps float16, and converts any other type to float32.
    """

    images: pd.DataFrame
    captions: pd.DataFrame
    left_out: pd.DataFrame
    X: Any = None

    @classmethod
    def read(cls, *, images: str | Path, captions: str | Path, features: str | Path) -> "Samples":
        """Read a dataset written by `write`. The features become CSR, and the table `left_out` is empty.

        Labels that are marked as absent are left out, because no other row states them.
        """
        nothing, labels = pd.DataFrame(columns=["item", "reason"], dtype=str), present(read_table(captions))
        return cls(read_table(images), labels, nothing, sparse.csr_matrix(widened(read_matrix(features))))

    def write(
        self, *, images: str | Path, captions: str | Path, left_out: str | Path, features: str | Path | None = None
    ) -> None:
        """Write the three tables, and the feature matrix of samples that have one, each to its own file.

        Parameters
        ----------
        images, captions, left_out, features : path
            The files that are written.
        """
        write_table(self.images, images)
        write_table(self.captions, captions)
        write_table(self.left_out, left_out)
        if features:
            write_matrix(features, self.X, kept_dtype(self.X))


def present(captions: pd.DataFrame) -> pd.DataFrame:
    """Return captions without the labels that are marked as absent."""
    return captions[~captions["absent"]].drop(columns="absent") if "absent" in captions else captions


def kept_dtype(*matrices: Any) -> np.dtype:
    """Return the dtype in which features are kept between stages: float16 if all matrices have it, else float32."""
    return np.dtype(np.float16 if all(X.dtype == np.float16 for X in matrices) else np.float32)


def at_most(samples: Samples, n: int | None, seed: int) -> Samples:
    """Draw a random subset of at most n images or samples, in which each split keeps its proportion.

    The images of a group that are in the same split are drawn together. If the first group that is drawn for a split is
    larger than the split's proportion, it is drawn nevertheless. Images that are not drawn do not appear in `left_out`,
    because nothing is wrong with them.

    Parameters
    ----------
    samples : Samples
        The dataset.
    n : int or None
        Size of the subset. If it is None or not below the size of the dataset, the whole dataset is returned.
    seed : int
        Seed of the random generator that draws the subset.
    """
    every, captions = samples.images, samples.captions
    if n is None or len(every) <= n:
        return samples
    by_split = every.sample(frac=1, random_state=seed).sort_values("split", kind="stable")
    drawn = by_split.iloc[np.arange(n) * len(every) // n]
    images = (_whole_groups(by_split, Counter(drawn["split"])) if "group" in every else drawn).sort_index()
    own = captions[captions["image"].isin(images["image"])].reset_index(drop=True)
    X = None if samples.X is None else samples.X[images.index]
    return Samples(images.reset_index(drop=True), own, samples.left_out, X)


def _whole_groups(images: pd.DataFrame, numbers: Mapping[Any, int]) -> pd.DataFrame:
    """Take groups in the order of the images, as long as each split has at most the given number of images."""
    taken, drawn = Counter[Any](), list[pd.DataFrame]()
    for (split, _), group in images.groupby(["split", "group"], sort=False):
        if split in numbers and (taken[split] + len(group) <= numbers[split] or not taken[split]):
            taken[split] += len(group)
            drawn.append(group)
    return pd.concat(drawn)


def gather(splits: Mapping[str, str], captions: pd.DataFrame, left_out: Mapping[str, str], X: Any = None) -> Samples:
    """Return a dataset, from the splits, the captions and the reasons for items left out.

    Parameters
    ----------
    splits : mapping
        For each usable image or sample, by name, the split that it belongs to.
    captions : DataFrame
        As in `Samples`.
    left_out : mapping
        For each item that is not used, the reason.
    X : ndarray, csr_matrix or None
        As in `Samples`.

    Raises
    ------
    ValueError
        If there is no training image or sample.
    """
    example = f", the first because: {min(left_out.items())}" if left_out else ""
    require(
        "train" in splits.values(),
        f"the dataset must have at least one usable training image or sample, got {len(splits)} usable images or "
        f"samples, none of them for training ({len(left_out)} left out{example})",
    )
    images = pd.DataFrame(list(splits.items()), columns=["image", "split"], dtype=str)
    return Samples(images, captions, pd.DataFrame(list(left_out.items()), columns=["item", "reason"], dtype=str), X)


def listed(names: Iterable[str], labels: Iterable[Sequence[str]]) -> pd.DataFrame:
    """Return the table of captions of samples with these names and these lists of labels."""
    rows = [(name, label) for name, own in zip(names, labels, strict=True) for label in own]
    return pd.DataFrame(rows, columns=["image", "caption"], dtype=str)
