"""The map of weights: the features with the largest weights, and the words for which they speak."""

from typing import Any

import numpy as np

from jointsparse.pipeline.page.kept import Kept
from jointsparse.pipeline.page.words import packed_weights

APART = ("l1",)  # norms under which a word may leave out a feature that other words use


def map_of_weights(kept: Kept) -> dict[str, Any]:
    """Return the data of the map of weights. Rows and columns are ordered so that blocks become visible.

    Returns
    -------
    dict
        All values can be written as JSON:

        - features: for each feature, its name, the rows of the test images in which it has its largest values, the
          index of its map, and a note if there is one. The maps of the words come before those of the features.
        - words: the words in the order of the columns.
        - weights: the weights, see `packed_weights`.
        - apart: whether words may use different features.
    """
    n_words = kept.W.shape[1]
    places = [feature.place for feature in kept.features]
    rows = order_of(kept.W[places])
    features = np.array(places, int)[rows]
    words = order_of(kept.W[features].T) if len(features) else np.arange(n_words)
    shown = [(n_words + row, kept.features[row]) for row in rows.tolist()]
    return {
        "apart": kept.model.card_.norm in APART,
        "words": words.tolist(),
        "features": [
            {"name": feature.name, "images": feature.images, "place": place}
            | ({"note": feature.note} if feature.note else {})
            for place, feature in shown
        ],
        "weights": packed_weights(kept.W[np.ix_(features, words)]),
    }


def order_of(rows: np.ndarray) -> np.ndarray:
    """Return a permutation of the rows that places rows with similar directions next to each other."""
    if len(rows) < 3:
        return np.arange(len(rows))
    from scipy.cluster import hierarchy  # imported here because it takes a fifth of a second

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    joined = hierarchy.ward(rows / np.where(lengths > 0, lengths, 1))
    return np.asarray(hierarchy.leaves_list(joined))
