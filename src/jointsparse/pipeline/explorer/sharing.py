"""The features that words share: the largest weights at every radius, and the images that a feature responds to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy  # which loads scipy.sparse when it is used

from jointsparse.pipeline.explorer.fits import Fits
from jointsparse.pipeline.explorer.words import levels_of

MOST_FEATURES = 48  # rows of the map
RESPONDERS = 6  # test images with the largest, and with the smallest value of a feature
APART = ("l1",)  # norms with which a word may leave out a feature that other words use


def sharing_of(fits: Fits, method: str, names: Sequence[str]) -> dict[str, Any]:
    """The map of W of one method: features in rows, words in columns, both ordered so that blocks show.

    Parameters
    ----------
    fits : Fits
        The fits.
    method : str
        One of their methods.
    names : list of str
        Names of the features; empty if they have none.

    Returns
    -------
    dict
        Numbers and text alone, for JSON. features: those with the largest weights at the chosen radius. path: by
        radius, with its weights as signed bytes, rows by rows, the largest as 127; base64. auc: the mean of the page's
        methods, see `findings.methods_table`, in this run. apart: whether words may use other features. Images are
        rows of the test images.
    """
    path = fits.paths[method]
    chosen = path.W[path.chosen]
    largest = np.abs(chosen).max(axis=1)
    features = np.argsort(-largest, kind="stable")[:MOST_FEATURES]
    features = features[largest[features] > 0]
    features = features[order_of(chosen[features])]
    words = order_of(chosen[features].T) if len(features) else np.arange(chosen.shape[1])
    X = fits.X[:, features]
    X = X.toarray() if scipy.sparse.issparse(X) else X
    return {
        "n_features": chosen.shape[0],
        "chosen": path.chosen,
        "apart": method.rpartition("-")[2] in APART,
        "words": words.tolist(),
        "features": [
            {"name": names[feature] if names else f"feature {feature}", "images": _responders(X[:, i])}
            for i, feature in enumerate(features)
        ],
        "path": [
            {
                "radius": float(f"{row['radius']:.4g}"),
                "used": int(W.any(axis=1).sum()),
                "auc": float(f"{row['auc_weighted']:.4g}"),
                "weights": levels_of(W[np.ix_(features, words)]),
            }
            for W, row in zip(path.W, path.rows.to_dict("records"), strict=True)
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


def _responders(values: np.ndarray) -> list[list[int]]:
    """The images with the largest values of a feature, and with the smallest below 0."""
    order = np.argsort(values, kind="stable")
    high = [int(i) for i in order[::-1][:RESPONDERS] if values[i] > 0]
    return [high, [int(i) for i in order[:RESPONDERS] if values[i] < 0]]
