"""For each word: how well it is recognised, and the test images that are ranked highest, missed and mistaken."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy  # which loads scipy.sparse when it is used

from jointsparse.explorer.findings import CHANCE
from jointsparse.explorer.fits import Fits
from jointsparse.scores.learnt import by_size

HIGHEST, WORST = 8, 6  # images that are shown: ranked highest; misses, and errors
ROC_POINTS = 32
TELLING = 8  # features of a document that are named
TOP, MOST_BESIDE = 20, 3  # images ranked highest, and other words that many of them have


def words_of(learnt: pd.DataFrame, by_word: pd.DataFrame, fits: Fits, names: Sequence[str]) -> list[dict[str, Any]]:
    """Gather what the page shows of each word, words in the order of `learnt`.

    Parameters
    ----------
    learnt : table
        See `scores.learnt.words_learnt`.
    by_word : table
        See `scores.evaluation.Evaluation`.
    fits : Fits
        The fits whose test images are shown.
    names : list of str
        Names of the features; empty if they have none.

    Returns
    -------
    list of dict
        Numbers and text alone, for JSON. Images are rows of the test images.
    """
    sizes: dict[Any, list[list[Any]]] = {}
    for row in by_size(by_word, len(fits.labels)).to_dict("records"):
        sizes.setdefault((row["word"], row["method"]), []).append(
            [row["n"], *(_number(row[key]) for key in ("auc", "low", "high"))]
        )
    shown = []
    for word, rows in learnt.groupby("word", sort=False):
        k = fits.words.index(str(word))
        methods = {}
        for row in rows.to_dict("records"):
            methods[row["method"]] = {
                **{key: _number(row[key]) for key in ("auc", "low", "high", "p_holm", "n_features")},
                "sizes": sizes[word, row["method"]],
                **ranked(fits.scores[row["method"]][:, k], fits.labels[:, k]),
                **_beside(fits, row["method"], k),
                **(_telling(fits, row["method"], k, names) if names else {}),
            }
        known = bool((rows["p_holm"] <= CHANCE).any())
        best = rows.loc[rows["best"], "method"]
        shown.append(
            {
                "word": str(word),
                "positives": int(rows["positives"].iloc[0]),
                "chose": bool(fits.validation_words[k]),
                "always": bool(rows["validation_word"].iloc[0]),
                "best": best.iloc[0] if known else None,
                "methods": methods,
            }
        )
    return shown


def _number(value: float) -> float | None:
    """A number in JSON, to four digits; None for a missing one, which JSON does not know."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


def ranked(scores: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Test images by their scores for one word, and the ROC curve. Each image comes with its rank, from 1."""
    order = np.argsort(-scores, kind="stable")
    has = labels[order]
    right, wrong = np.flatnonzero(has), np.flatnonzero(~has)

    def images(ranks: np.ndarray) -> list[list[int]]:
        return [[int(order[rank]), int(rank) + 1] for rank in ranks]

    hits = np.concatenate([[0.0], np.cumsum(has) / max(len(right), 1)])
    alarms = np.concatenate([[0.0], np.cumsum(~has) / max(len(wrong), 1)])
    points = np.unique(np.linspace(0, len(order), ROC_POINTS).round().astype(int))
    return {
        "highest": images(right[:HIGHEST]),
        "misses": images(right[::-1][:WORST]),
        "errors": images(wrong[:WORST]),
        "roc": [alarms[points].round(3).tolist(), hits[points].round(3).tolist()],
    }


def _beside(fits: Fits, method: str, k: int) -> dict[str, Any]:
    """Other words that are far more frequent among the images ranked highest than among all, and how many have them."""
    top = np.argsort(-fits.scores[method][:, k], kind="stable")[:TOP]
    count, expected = fits.labels[top].sum(axis=0), len(top) * fits.labels.mean(axis=0)
    many = [j for j in np.argsort(expected - count, kind="stable") if j != k and count[j] >= max(3, 2 * expected[j])]
    return {"top": len(top), "beside": [[fits.words[j], int(count[j])] for j in many[:MOST_BESIDE]]}


def _telling(fits: Fits, method: str, k: int, names: Sequence[str]) -> dict[str, Any]:
    """The features with the largest weights for a word."""
    w = fits.W(method)[:, k]
    largest = np.argsort(-w, kind="stable")[:TELLING]
    return {"telling": [names[feature] for feature in largest if w[feature] > 0]}


def telling_of_samples(fits: Fits, rows: Sequence[int], names: Sequence[str]) -> dict[int, str]:
    """The names of the largest features of each document in `rows`."""
    told = {}
    for i in rows:
        x = fits.X[[i]]
        x = (x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)).ravel()
        told[i] = ", ".join(names[feature] for feature in np.argsort(-x, kind="stable")[:TELLING] if x[feature] > 0)
    return told
