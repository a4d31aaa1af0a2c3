"""The features that words share: the largest weights at each radius, and the AUC against the number of features."""

from typing import Any

import numpy as np
import pandas as pd

from jointsparse.pipeline.explorer.answers import Path
from jointsparse.pipeline.explorer.words import number, packed_weights
from jointsparse.pipeline.figures.style import label

APART = ("l1",)  # norms under which a word may leave out a feature that other words use


def sharing_of(path: Path, norm: str) -> dict[str, Any]:
    """Return the data of the map of a method's weights. Rows and columns are ordered so that blocks become visible.

    Returns
    -------
    dict
        All values can be written as JSON:

        - features: for each feature, its name, the test images in which it has its largest and smallest values, the
          index of its map, and a note if there is one. The maps of the words come before those of the features.
        - path: for each radius, the number of features in use, the mean AUC in this run, and the weights, see
          `packed_weights`.
        - apart: whether words may use different features.
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
            {"name": feature.name, "images": [feature.high, feature.low], "place": place}
            | ({"note": feature.note} if feature.note else {})
            for place, feature in shown
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
    """Return a permutation of the rows that places rows with similar directions next to each other."""
    if len(rows) < 3:
        return np.arange(len(rows))
    from scipy.cluster import hierarchy  # imported here because it takes a fifth of a second

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    joined = hierarchy.ward(rows / np.where(lengths > 0, lengths, 1))
    return np.asarray(hierarchy.leaves_list(joined))


def study_curve(sparsity: pd.DataFrame, means: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the curve of each method of a study: the mean test AUC against the fraction of the features in use.

    Parameters
    ----------
    sparsity : DataFrame
        The fits at all radii, see `scores.evaluation.Evaluation`. Only the largest training sets are shown.
    means : DataFrame
        The table of `scores.runs.means`, which gives the chosen point of each method.

    Returns
    -------
    list of dict
        An entry for each method, which can be written as JSON:

        - method, label: name and label of the method.
        - chosen: the chosen point, (fraction of features, AUC).
        - path: a list of such points, one for each radius that occurs in all runs.
    """
    chosen = means[means["n"] == means["n"].max()].set_index("method")
    largest = sparsity[sparsity["n"] == sparsity["n"].max()]
    power = largest.loc[largest["chosen"].astype(bool), ["run", "method", "power"]]
    largest = largest.merge(power, on=["run", "method", "power"])
    curves = []
    for method, row in chosen.iterrows():
        by_radius = largest[largest["method"] == method].groupby("radius")[["features", "auc_weighted"]]
        n_runs = by_radius.size()
        path = by_radius.mean()[n_runs == n_runs.max()]
        path = path[path["features"] > 0].dropna()
        points = [[number(share), number(auc)] for share, auc in path.to_numpy()]
        chosen_point = [number(row["features"]), number(row["auc_weighted"])]
        curves.append({"method": method, "label": label(str(method)), "chosen": chosen_point, "path": points})
    return curves


def norms_curve(norms: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the curves of final fits, see `study_curve`. Their paths are empty, because each norm has a single fit.

    norms: see `models.final.norms`.
    """
    return [
        {
            "method": row["norm"],
            "label": label(row["norm"]),
            "chosen": [number(row["features"] / row["of"]), number(row["auc"])],
            "path": [],
        }
        for row in norms.to_dict("records")
    ]
