"""The kept model on the page: its numbers on the test images, and the images that it ranks right and wrong."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jointsparse.explorer.findings import label
from jointsparse.explorer.words import ranked

KINDS = {
    "highest": "Ranked highest, and right",
    "errors": "Errors: ranked highest without the word",
    "misses": "Misses",
}


class Kept(NamedTuple):
    """A kept model and its test images.

    card: see `kept.annotator.card_of`. scores, labels: (n_test, n_words), decisions and which image has which word.
    test_images: the row of each in the table of images. has_maps: whether it begins with pictures.
    """

    card: Mapping[str, Any]
    scores: np.ndarray
    labels: np.ndarray
    test_images: Sequence[int]
    has_maps: bool


def answers_of(kept: Kept, thumbnail: Callable[..., str] | None) -> tuple[dict[str, Any], dict[int, set[int]]]:
    """Gather what the page shows of a kept model.

    Parameters
    ----------
    kept : Kept
        The model.
    thumbnail : function or None
        The file of the thumbnail of an image, by its row, or of its map of a word. None: images are no pictures.

    Returns
    -------
    answers : dict
        The model's norm and numbers, and by word, in decreasing order of AUC, its numbers and galleries.
    maps : dict
        The places of the words whose maps each image has, by its row.
    """
    *of_words, mean = kept.card["numbers"]
    maps: dict[int, set[int]] = {}
    shown = []
    for k in sorted(range(len(of_words)), key=lambda k: -(of_words[k]["auc"] or 0)):
        galleries = {}
        if thumbnail and kept.has_maps:
            found = ranked(kept.scores[:, k], kept.labels[:, k])
            for kind, title in KINDS.items():
                images = [(int(kept.test_images[i]), rank) for i, rank in found[kind]]
                for row, _ in images:
                    maps.setdefault(row, set()).add(k)
                galleries[title] = [(row, thumbnail(row), thumbnail(row, k), rank) for row, rank in images]
        shown.append(of_words[k] | {"galleries": galleries})
    told = {"mean": mean, "norm": label(kept.card["norm"]), "n_test": len(kept.scores), "words": shown}
    return dict(kept.card) | told, maps
