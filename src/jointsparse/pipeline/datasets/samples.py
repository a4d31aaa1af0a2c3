"""The tables that every dataset is read into, and the matrix of those whose features are given."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.checks import require
from jointsparse.pipeline.provenance.tables import read_matrix, read_table, write_matrix, write_table


class Photographs(NamedTuple):
    """A dataset of photographs as read and checked.

    - images: columns image (its name), split (one of `splits.SPLITS`), sorted by name. And digest, of its file's
      bytes, where images are files.
    - captions: columns image, caption. One row per caption of an image in the table `images`.
    - left_out: columns item, reason. One row per file or caption that is not used.
    """

    images: pd.DataFrame
    captions: pd.DataFrame
    left_out: pd.DataFrame


class Samples(NamedTuple):
    """A dataset as read and checked, whose features are given.

    The names of tables and columns are those of photographs, so that all later stages read both kinds alike: an image
    is a sample, a caption a label.

    - images: columns image (the sample's name), split (one of `splits.SPLITS`), one row per sample.
      And, if the page shows them, picture (its file, empty if there is none) and text.
    - captions: columns image, caption. One row per label of a sample. A sample without label is a negative of every
      task. And, if labels are unknown, known: False in the row of such a label. `tasks.choose_words` reads the table
      with split_captions=False.
    - left_out: columns item, reason. One row per thing that is not used.
    - X: features, dense or csr (n_samples, n_features) float32, rows in the order of `images`.
    """

    images: pd.DataFrame
    captions: pd.DataFrame
    left_out: pd.DataFrame
    X: np.ndarray | sparse.csr_matrix

    @classmethod
    def read(cls, *, images: str | Path, captions: str | Path, features: str | Path) -> "Samples":
        """Read what `write` wrote, features as csr; the table of what is not used stays empty."""
        nothing = pd.DataFrame(columns=["item", "reason"], dtype=str)
        return cls(read_table(images), read_table(captions), nothing, sparse.csr_matrix(read_matrix(features)))

    def write(self, *, images: str | Path, captions: str | Path, left_out: str | Path, features: str | Path) -> None:
        """Write each table and the features to its file.

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
    """Draw n of the images or samples, of each split its part. None, or no more than n: all of them.

    What is not drawn is no defect, and does not become part of the table left_out.
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
    """Gather the tables of a dataset.

    splits: split by image or sample. captions: captions or labels of each, in the same order. left_out: reason by thing
    that is not used. Raises ValueError if nothing is there to learn from.
    """
    example = f", the first because: {min(left_out.items())}" if left_out else ""
    require(
        "train" in splits.values(),
        f"the dataset must hold at least one usable training image or sample, got none of {len(splits)} usable ones "
        f"({len(left_out)} left out{example})",
    )
    rows = [(name, text) for name, texts in zip(splits, captions, strict=True) for text in texts]
    return Photographs(
        pd.DataFrame(list(splits.items()), columns=["image", "split"], dtype=str),
        pd.DataFrame(rows, columns=["image", "caption"], dtype=str),
        pd.DataFrame(list(left_out.items()), columns=["item", "reason"], dtype=str),
    )


def find(folder: Path, option: str, file: str) -> Path:
    """The path of a file that must be there, by the option that names it."""
    path = folder / file
    require(
        path.is_file(),
        f"root must hold the file {file!r} (option {option}), got none at {path}: "
        "put the data there, link it, or set root in the dataset's entry",
    )
    return path
