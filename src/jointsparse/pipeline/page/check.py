"""The tags to check: labels that may be wrong or missing, which the page shows for a decision."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from jointsparse.pipeline.datasets.samples import present
from jointsparse.pipeline.models.probabilities import DOUBLE
from jointsparse.pipeline.page.kept import Kept
from jointsparse.pipeline.page.words import per_cent
from jointsparse.pipeline.words import normalised

SHOWN = 200  # rows of each kind on the page, which a person decides within an hour
AT_ONCE = 30  # rows of each kind that the page shows first, and counts in its first sentence


class ToCheck(NamedTuple):
    """The labels of each kind that the page shows: the row of the image, the index of the word, its probability."""

    wrong: list[tuple[int, int, float]]
    missing: list[tuple[int, int, float]]

    @property
    def first(self) -> int:
        """The number of labels to check first: those that are shown first and are less probable than not."""
        doubted = [p < 0.5 for *_, p in self.wrong[:AT_ONCE]] + [p > 0.5 for *_, p in self.missing[:AT_ONCE]]
        return sum(doubted)

    def listed(self) -> dict[str, list[list[int]]]:
        """Return the labels of each kind for the script, with probabilities in per cent."""
        return {kind: [[*place, int(per_cent(p))] for *place, p in rows] for kind, rows in self._asdict().items()}

    @property
    def places(self) -> set[tuple[int, int]]:
        """The row of the image and the index of the word for each label."""
        return {(row, k) for rows in self for row, k, _ in rows}


def to_check(tags: pd.DataFrame, images: Sequence[str], words: Sequence[str]) -> ToCheck:
    """Return the first `SHOWN` labels of each kind.

    tags: the table that `models.tags_to_check` makes. images, words: their names, in the order of rows and indices.
    """
    first = tags.groupby("kind").head(SHOWN)
    row_of, place_of = ({name: i for i, name in enumerate(names)} for names in (images, words))
    first = first.assign(row=first["sample"].map(row_of), place=first["tag"].map(place_of))
    first = first[["kind", "row", "place", "probability"]]
    rows = {kind: first[first["kind"] == kind].iloc[:, 1:] for kind in ToCheck._fields}
    return ToCheck(**{kind: list(of_kind.itertuples(index=False, name=None)) for kind, of_kind in rows.items()})


def exclude_each_other(kept: Kept, images: Sequence[str], captions: pd.DataFrame) -> bool:
    """Whether the labels are classes that exclude each other, of which every labelled image has one by its captions.

    Nearly all images have no other. Classes that the model has not learnt count as well. images: their names, by row.
    """
    is_labelled = (kept.labels >= 0).any(axis=1)
    names = pd.Index(images)[np.flatnonzero(is_labelled)]
    captions = present(captions[captions["image"].isin(names)])
    classes = {normalised(str(caption)) for caption in captions["caption"].unique()}
    counts = captions["image"].value_counts().reindex(names, fill_value=0)
    return bool(
        kept.exclusive and classes >= set(kept.names_of_words) and (counts > 0).all() and (counts > 1).mean() <= DOUBLE
    )
