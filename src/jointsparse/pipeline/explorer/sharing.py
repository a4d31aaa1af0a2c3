"""The features that words share: the largest weights at every radius, and the images that a feature responds to."""

from typing import Any

import numpy as np

from jointsparse.pipeline.explorer.answers import Path
from jointsparse.pipeline.explorer.words import packed_weights

APART = ("l1",)  # norms with which a word may leave out a feature that other words use


def sharing_of(path: Path, norm: str) -> dict[str, Any]:
    """The map of W of one method: features in rows, words in columns, both ordered so that blocks show.

    Returns
    -------
    dict
        Numbers and text alone, for JSON. features: each with its images, rows of the test images, and its place among
        the maps of an image, behind those of the words. path: by radius, with its weights as signed bytes, rows by
        rows, the largest as 127; base64. auc: the mean of the page's methods, see `findings.methods_table`, in this
        run. apart: whether words may use other features.
    """
    n_words = path.W.shape[2]
    places = [feature.place for feature in path.features]
    rows = order_of(path.chosen_W[places])
    features = np.array(places, int)[rows]
    words = order_of(path.chosen_W[features].T) if len(features) else np.arange(n_words)
    shown = [(n_words + row, path.features[row]) for row in rows.tolist()]
    return {
        "n_features": path.n_features,
        "chosen": path.chosen,
        "apart": norm in APART,
        "words": words.tolist(),
        "features": [
            {"name": feature.name, "images": [feature.high, feature.low], "place": place} for place, feature in shown
        ],
        "path": [
            {
                "radius": radius,
                "used": int(W.any(axis=1).sum()),
                "auc": auc,
                "weights": packed_weights(W[np.ix_(features, words)]),
            }
            for radius, auc, W in zip(path.radius, path.auc, path.W, strict=True)
        ],
    }


def order_of(rows: np.ndarray) -> np.ndarray:
    """An order of rows in which those of a similar direction are neighbours."""
    if len(rows) < 3:
        return np.arange(len(rows))
    from scipy.cluster import hierarchy  # takes a fifth of a second to import

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    joined = hierarchy.ward(rows / np.where(lengths > 0, lengths, 1))
    return np.asarray(hierarchy.leaves_list(joined))
