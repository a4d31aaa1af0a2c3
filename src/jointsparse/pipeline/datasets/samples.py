"""The tables that every dataset is read into, and the feature matrix of datasets with given features."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.checks import require
from jointsparse.pipeline.provenance.tables import read_matrix, read_table, write_matrix, write_table


class Photographs(NamedTuple):
    """A dataset of photographs, read and checked.

    Attributes
    ----------
    images
        Columns `image` (the name) and `split` (one of `names.SPLITS`), sorted by name. If images are files, also
        `digest`, a digest of the bytes of the file.
    captions
        Columns `image` and `caption`, with a row for each caption of an image in `images`.
    left_out
        Columns `item` and `reason`, with a row for each file or caption that is not used.
    """

    images: pd.DataFrame
    captions: pd.DataFrame
    left_out: pd.DataFrame


class Samples(NamedTuple):
    """A dataset with given features, read and checked.

    Tables and columns have the same names as for photographs, so that all later stages treat both kinds alike: an
    "image" is a sample, and a "caption" is a label.

    Attributes
    ----------
    images
        Columns `image` (the name of the sample) and `split` (one of `names.SPLITS`), with a row for each sample. If the
        page shows pictures or texts, also `picture` (a file, or empty) and `text`.
    captions
        Columns `image` and `caption`, with a row for each label of a sample. A sample without labels is a negative of
        every task. If some labels are unknown, also `known`, which is False for these labels. `tasks.choose_words`
        reads this table with split_captions=False.
    left_out
        Columns `item` and `reason`, with a row for everything that is not used.
    X
        Features, dense or CSR, shape (n_samples, n_features), float32, with rows in the order of `images`.
    """

    images: pd.DataFrame
    captions: pd.DataFrame
    left_out: pd.DataFrame
    X: np.ndarray | sparse.csr_matrix

    @classmethod
    def read(cls, *, images: str | Path, captions: str | Path, features: str | Path) -> "Samples":
        """Read a dataset written by `write`, with the features as CSR and an empty table `left_out`."""
        nothing = pd.DataFrame(columns=["item", "reason"], dtype=str)
        return cls(read_table(images), read_table(captions), nothing, sparse.csr_matrix(read_matrix(features)))

    def write(self, *, images: str | Path, captions: str | Path, left_out: str | Path, features: str | Path) -> None:
        """Write the tables and the features.

        Parameters
        ----------
        images, captions, left_out, features : path
            The files to write.
        """
        write_table(self.images, images)
        write_table(self.captions, captions)
        write_table(self.left_out, left_out)
        write_matrix(features, self.X)


Tables = TypeVar("Tables", Photographs, Samples)


def at_most(tables: Tables, n: int | None, seed: int) -> Tables:
    """Draw a random subset of n images or samples, in which each split keeps its proportion.

    Images that are not drawn are not listed in `left_out`, because they have no defect.

    Parameters
    ----------
    tables : Photographs or Samples
        The dataset.
    n : int or None
        Size of the subset. If None, or at least the size of the dataset, the whole dataset is returned.
    seed : int
        Seed of the random generator that draws the subset.
    """
    every, captions = tables.images, tables.captions
    if n is None or len(every) <= n:
        return tables
    by_split = every.sample(frac=1, random_state=seed).sort_values("split", kind="stable")
    images = by_split.iloc[np.arange(n) * len(every) // n].sort_index()
    own: dict[str, Any] = {"X": tables.X[images.index]} if isinstance(tables, Samples) else {}
    own["captions"] = captions[captions["image"].isin(images["image"])].reset_index(drop=True)
    return tables._replace(images=images.reset_index(drop=True), **own)


def gather(splits: Mapping[str, str], captions: Iterable[Sequence[str]], left_out: Mapping[str, str]) -> Photographs:
    """Return the tables of a dataset.

    Parameters
    ----------
    splits : mapping
        Split of each usable image or sample.
    captions : iterable of list of str
        Captions or labels of each image or sample, in the same order.
    left_out : mapping
        Reason for each item that is not used.

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
    rows = [(name, text) for name, texts in zip(splits, captions, strict=True) for text in texts]
    return Photographs(
        pd.DataFrame(list(splits.items()), columns=["image", "split"], dtype=str),
        pd.DataFrame(rows, columns=["image", "caption"], dtype=str),
        pd.DataFrame(list(left_out.items()), columns=["item", "reason"], dtype=str),
    )


def find(folder: Path, option: str, file: str) -> Path:
    """Return the path of a file that an option names. Raises ValueError if the file does not exist."""
    path = folder / file
    require(
        path.is_file(),
        f"root must hold the file {file!r} (option {option}), got none at {path}: "
        "put the data there, link to it, or set root in the entry of the dataset",
    )
    return path
