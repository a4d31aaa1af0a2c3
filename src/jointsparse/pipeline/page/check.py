"""The tags to check: labels that may be wrong or missing, which the page shows for a decision."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from jointsparse.pipeline.page.kept import Kept
from jointsparse.pipeline.words import normalised

KINDS = ("wrong", "missing")
SHOWN = 200  # rows of each kind on the page, which a person decides within an hour
AT_ONCE = 30  # rows of each kind that the page shows first, and counts in its first sentence


class ToCheck(NamedTuple):
    """The labels of each kind that the page shows: the row of the image, the index of the word, its probability."""

    wrong: list[tuple[int, int, float]]
    missing: list[tuple[int, int, float]]

    @property
    def first(self) -> int:
        """The number of labels to check first: those shown first, without the labels that are more probable than not."""
        doubted = [p < 0.5 for *_, p in self.wrong[:AT_ONCE]] + [p > 0.5 for *_, p in self.missing[:AT_ONCE]]
        return sum(doubted)

    @property
    def places(self) -> set[tuple[int, int]]:
        """The row of the image and the index of the word for each label."""
        return {(row, k) for rows in self for row, k, _ in rows}


def to_check(tags: pd.DataFrame, images: Sequence[str], words: Sequence[str]) -> ToCheck:
    """Return the first `SHOWN` labels of each kind.

    tags: the table that `models.tags_to_check` makes. images, words: their names, in the order of rows and indices.
    """
    first = tags.groupby("kind").head(SHOWN)
    rows, places = pd.Index(images).get_indexer(first["sample"]), pd.Index(words).get_indexer(first["tag"])
    first = first.assign(row=rows, place=places)[["kind", "row", "place", "probability"]]
    return ToCheck(*(list(first[first["kind"] == kind].iloc[:, 1:].itertuples(index=False, name=None)) for kind in KINDS))


def exclude_each_other(kept: Kept, images: Sequence[str], captions: pd.DataFrame) -> bool:
    """Whether every labelled image has exactly one label, its class.

    Classes that the model has not learnt count as well. images: names of the images, by row.
    """
    is_labelled = (kept.labels >= 0).any(axis=1)
    labelled = pd.Index(images)[is_labelled]
    captions = captions[captions["image"].isin(labelled)]
    whole = {normalised(str(caption)) for caption in captions["caption"].unique()}
    return bool(
        captions["image"].is_unique
        and len(captions) == len(labelled)
        and whole >= set(kept.names_of_words)
        and (kept.labels[is_labelled] >= 0).all()
        and len(kept.names_of_words) > 1
    )
