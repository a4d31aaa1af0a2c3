"""How well each word is recognised, which test images are ranked highest for it, and which are ranked wrongly."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy  # which loads scipy.sparse when it is used

from jointsparse.metrics import STATISTICS
from jointsparse.pipeline.page.kept import Kept
from jointsparse.pipeline.page.sentences import CHANCE

FIRST = 10  # number of highest-ranked images that are counted, see `precision_at_10` in `metrics.STATISTICS`
HIGHEST = 8  # number of images with the word that are shown, beginning with the highest rank
WORST = 6  # number of misses, and of errors, that are shown
ROC_POINTS = 32
TELLING = 8  # number of features that are named for a document or a word
WALL_IMAGES, WALL_TELLING = 3, 5  # number of images, and of telling features, for a word on the wall
SUSPECTS = ["image", "word", "label", "score", "rank"]  # columns of the table of labels that may be wrong
LISTED = 20  # most labels of each kind that this table lists for a word
LEVELS = 20  # steps of a packed score per standard deviation
LEVELS_OF_WEIGHTS = 127  # the packed value of the largest weight
TOP = 20  # number of highest-ranked images in which the other words are counted
MOST_BESIDE = 3  # most other words that are named for a word


def words_of(kept: Kept) -> list[dict[str, Any]]:
    """Gather the data that the page shows for each word, in the order of `Kept.words`.

    Returns
    -------
    list of dict
        The data of each word, which can be written as JSON. Images are identified by their rows among the test images.
    """
    names, shown = kept.names_of_words, []
    for k, row in enumerate(kept.words.to_dict("records")):
        word: dict[str, Any] = {
            key: number(row[key]) for key in (*STATISTICS, "auc_low", "auc_high", "p_holm", "n_features")
        }
        word |= {"word": names[k], "positives": int(row["positives"]), "recognised": bool(row["p_holm"] <= CHANCE)}
        word |= ranking(kept.scores, kept.labels, k, names)
        shown.append(word | ({"telling": telling(kept.W[:, k], kept.names)} if kept.names else {}))
    return shown


def number(value: float) -> float | None:
    """Round a number to six digits for JSON; return None for NaN and infinity, which JSON cannot hold."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def ranking(scores: np.ndarray, labels: np.ndarray, k: int, words: Sequence[str]) -> dict[str, Any]:
    """Rank the test images by their scores for a word, and compute the ROC curve of the ranking.

    Parameters
    ----------
    scores, labels : arrays, (n_test_images, n_words)
        The scores of all words, and the labels, see `words.choose_words`.
    k : int
        The column of the word.
    words : list of str
        Names of all words.

    Returns
    -------
    dict
        All values can be written as JSON. Each image comes with its rank, counted from 1. In this list, m is the number
        of images that have the word.

        - highest: the images with the word, beginning with the highest rank.
        - errors: the images without the word that are ranked among the first max(m, `FIRST`).
        - misses: the images with the word that are not ranked among the first m, beginning with the lowest rank.
        - by_chance: the number of images with the word that are expected among the first `FIRST` of a random ranking.
        - of: the number of images whose label is known.
        - roc: the false alarms and the hits at some thresholds, as fractions.
        - beside: other words that are far more frequent among the highest-ranked images than among all images, each
          with the number of highest-ranked images that have it.
    """
    order = np.argsort(-scores[:, k], kind="stable")
    order = order[labels[order, k] >= 0]
    has = labels[order, k] == 1
    right, wrong = np.flatnonzero(has), np.flatnonzero(~has)

    def images(ranks: np.ndarray) -> list[list[int]]:
        return [[int(order[rank]), int(rank) + 1] for rank in ranks]

    hits = np.concatenate([[0.0], np.cumsum(has) / max(len(right), 1)])
    alarms = np.concatenate([[0.0], np.cumsum(~has) / max(len(wrong), 1)])
    points = np.unique([*np.linspace(0, len(order), ROC_POINTS).round().astype(int), len(right)])
    top = order[:TOP]
    count, expected = (labels[top] == 1).sum(axis=0), len(top) * (labels == 1).mean(axis=0)
    many = [j for j in np.argsort(expected - count, kind="stable") if j != k and count[j] >= max(3, 2 * expected[j])]
    return {
        "by_chance": number(min(FIRST, len(has)) * has.mean()),
        "highest": images(right[:HIGHEST]),
        "misses": images(right[right >= len(right)][::-1][:WORST]),
        "errors": images(wrong[wrong < max(len(right), FIRST)][:WORST]),
        "of": len(order),
        "roc": [alarms[points].round(3).tolist(), hits[points].round(3).tolist()],
        "top": len(top),
        "beside": [[words[j], int(count[j])] for j in many[:MOST_BESIDE]],
    }


def telling(w: np.ndarray, names: Sequence[str]) -> list[str]:
    """Return the names of the features with the largest positive weights for a word."""
    largest = np.argsort(-w, kind="stable")[:TELLING]
    return [names[feature] for feature in largest if w[feature] > 0]


def wall_of(words: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a tile for each word that is recognised better than chance, and the names of the other words.

    words: see `words_of`. Tiles are ordered by the number of highest-ranked images that have the word. Each image of a
    tile is a pair: the row of the test image, and whether it has the word.
    """
    recognised = [word for word in words if word["recognised"]]
    recognised.sort(key=lambda word: (-word["precision_at_10"], -word["auc"]))
    tiles = []
    for word in recognised:
        ranked = sorted((rank, image, kind) for kind in ("highest", "errors") for image, rank in word[kind])
        tiles.append(
            {
                "word": word["word"],
                "right": word["precision_at_10"],
                "by_chance": word["by_chance"],
                "images": [(image, kind == "highest") for _, image, kind in ranked[:WALL_IMAGES]],
                "telling": word.get("telling", [])[:WALL_TELLING],
            }
        )
    return tiles, sorted(word["word"] for word in words if not word["recognised"])


def suspects_of(scores: np.ndarray, labels: np.ndarray, words: Mapping[int, str]) -> pd.DataFrame:
    """List labels that may be wrong: an image may lack a word that it should have, or have a word by mistake.

    If m images have a word, then images without the word that are ranked among the first m may lack it, and images with
    the word that are ranked lower may have it by mistake. For each word, the worst `LISTED` labels of each kind are
    listed.

    Parameters
    ----------
    scores, labels : arrays, (n_test_images, n_words)
        The scores of all words, and the labels, see `words.choose_words`.
    words : mapping
        Names of the words that are recognised better than chance. The keys are their columns in `scores`.

    >>> labels = np.array([[False], [True], [True], [False], [True]])
    >>> suspects_of(np.array([[5.0], [4], [3], [2], [1]]), labels, {0: "cat"}).to_numpy().tolist()
    [[0, 'cat', 0, 5.0, 1], [4, 'cat', 1, 1.0, 5]]
    """
    rows = []
    for k, word in words.items():
        order = np.argsort(-scores[:, k], kind="stable")
        order = order[labels[order, k] >= 0]
        has = labels[order, k] == 1
        ends = np.flatnonzero(~has[: has.sum()])[:LISTED], has.sum() + np.flatnonzero(has[has.sum() :])[::-1][:LISTED]
        rows += [(order[i], word, int(has[i]), scores[order[i], k], i + 1) for i in np.concatenate(ends)]
    return pd.DataFrame(rows, columns=SUSPECTS)


def packed(numbers: np.ndarray) -> str:
    """Encode the bytes of an array in base64."""
    return base64.b64encode(numbers.tobytes()).decode()


def packed_weights(weights: np.ndarray) -> str:
    """Pack weights as signed bytes, in fractions of the largest absolute weight. Non-zero weights never become zero."""
    largest = np.abs(weights).max(initial=0.0)
    levels = np.rint(LEVELS_OF_WEIGHTS * weights / (largest or 1.0))
    return packed(np.where(levels == 0, np.sign(weights), levels).astype(np.int8))


def packed_scores(scores: np.ndarray, images: Sequence[int]) -> dict[str, str]:
    """Pack the scores of some test images for every word, and their ranks among all test images, image by image.

    scores: (n_test_images, n_words). A packed score is a signed byte: the distance from the word's mean, in steps of
    1 / LEVELS of a standard deviation. A rank takes two bytes, or four if there are 2¹⁶ images or more.
    """
    spread = scores.std(axis=0)
    levels = LEVELS * (scores - scores.mean(axis=0)) / np.where(spread > 0, spread, 1)
    ranks = np.argsort(np.argsort(-scores, axis=0, kind="stable"), axis=0) + 1
    return {
        "scores": packed(np.nan_to_num(levels[images]).round().clip(-127, 127).astype(np.int8)),
        "ranks": packed(ranks[images].astype(np.uint16 if len(scores) < 2**16 else np.uint32)),
    }


def reasons_of(X: Any, rows: Iterable[int], W: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Find the features that matter most in each document, and their weights.

    Parameters
    ----------
    X : matrix, (n_samples, n_features)
        Features of all documents.
    rows : ints
        The rows of X for the documents that are shown.
    W : array, (n_features, n_words)
        The weights.
    names : list of str
        Names of the features.

    Returns
    -------
    dict
        All values can be written as JSON:

        - brief: True if X is sparse, so that a few names of features describe a document.
        - features: names of all features that occur in `values`.
        - values: for each document, pairs of an index into `features` and the feature's value, in decreasing
          order of the absolute value times the length of the feature's row in W.
        - weights: the rows of W for these features, see `packed_weights`.
    """
    size = np.linalg.norm(W, axis=1)
    largest: dict[int, list[tuple[int, float]]] = {}
    for i in rows:
        x = X[[i]]
        x = (x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)).ravel()
        most = np.argsort(-np.abs(x * size), kind="stable")[:TELLING]
        largest[i] = [(int(feature), float(f"{x[feature]:.3g}")) for feature in most if x[feature] * size[feature]]
    used = sorted({feature for features_of_row in largest.values() for feature, _ in features_of_row})
    place = {feature: j for j, feature in enumerate(used)}
    return {
        "brief": bool(scipy.sparse.issparse(X)),
        "features": [names[feature] for feature in used],
        "weights": packed_weights(W[used]),
        "values": {
            i: [(place[feature], value) for feature, value in features_of_row] for i, features_of_row in largest.items()
        },
    }
