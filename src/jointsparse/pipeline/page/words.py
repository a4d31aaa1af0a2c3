"""How well each word is recognised, which images have it, and how probable it is on them."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy  # which loads scipy.sparse when it is used

from jointsparse.metrics import STATISTICS, by_chance
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.page.kept import Kept
from jointsparse.pipeline.page.sentences import CHANCE

FIRST = 10  # number of most probable images that are counted, see `precision_at_10` in `metrics.STATISTICS`
TELLING = 8  # number of features that are named for a document or a word
WALL_IMAGES, WALL_TELLING = 3, 5  # number of images, and of telling features, for a word on the wall
LEVELS_OF_WEIGHTS = 127  # the packed value of the largest weight
TOP = 20  # number of most probable images in which the other words are counted
MOST_BESIDE = 3  # most other words that are named for a word
# Choice: the AUC of a model that is of use, half-way between chance and perfection. A word that is not recognised has
# too few test images to tell if even this AUC would not have been significant.
OF_USE = 0.75
NOBODY = 255  # the packed value of a probability that is not known


def words_of(kept: Kept) -> list[dict[str, Any]]:
    """Gather the data that the page shows for each word, in the order of `Kept.words`.

    Returns
    -------
    list of dict
        The data of each word, which can be written as JSON. Images are identified by their rows in the table of images.
    """
    names, shown = kept.names_of_words, []
    for k, row in enumerate(kept.words.to_dict("records")):
        word: dict[str, Any] = {key: number(row[key]) for key in (*STATISTICS, "auc_low", "auc_high", "p_holm")}
        word |= {key: int(row[key]) for key in ("positives", "of", "n_features")}
        word |= {"word": names[k], "verdict": verdict(row, len(names))} | most_probable(kept, k)
        shown.append(word | ({"telling": telling(kept.W[:, k], kept.names)} if kept.names else {}))
    return shown


def number(value: float) -> float | None:
    """Round a number to six digits for JSON; return None for NaN and infinity, which JSON cannot hold."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def verdict(word: Mapping[Any, Any], n_words: int) -> str:
    """Say whether a word is "recognised" better than chance, "not" recognised, or on too "few" test images to tell.

    word: a row of `Kept.words`. n_words: the number of words, for all of which the significance is corrected.

    >>> [verdict({"p_holm": p, "positives": n, "of": 900}, 40) for p, n in ((0.01, 5), (0.2, 12), (0.2, 13))]
    ['recognised', 'few', 'not']
    """
    if word["p_holm"] <= CHANCE:
        return "recognised"
    p = by_chance(np.array(OF_USE), np.array(word["positives"]), word["of"])
    return "few" if n_words * p > CHANCE else "not"


def most_probable(kept: Kept, k: int) -> dict[str, Any]:
    """Say what the test images are on which a word is most probable.

    Returns
    -------
    dict
        All values can be written as JSON. In this list, the first images are those on which the word is most probable.

        - by_chance: the number of images with the word that are expected among `FIRST` random images.
        - first: the first `WALL_IMAGES` images, each with whether it has the word.
        - top: the number of first images, at most `TOP`, in which the other words are counted.
        - beside: other words that are far more frequent among these first images than among all images, each with the
          number of these images that have it.
    """
    rows = kept.test_images[kept.labels[kept.test_images, k] >= 0]
    rows = rows[np.argsort(-kept.probabilities[rows, k], kind="stable")]
    has, top = kept.labels[rows, k] == 1, kept.labels[rows[:TOP]] == 1
    count, expected = top.sum(axis=0), len(top) * (kept.labels[kept.test_images] == 1).mean(axis=0)
    many = [j for j in np.argsort(expected - count, kind="stable") if j != k and count[j] >= max(3, 2 * expected[j])]
    return {
        "by_chance": number(min(FIRST, len(has)) * has.mean()),
        "first": list(zip(rows[:WALL_IMAGES].tolist(), has[:WALL_IMAGES].tolist(), strict=True)),
        "top": len(top),
        "beside": [[kept.names_of_words[j], int(count[j])] for j in many[:MOST_BESIDE]],
    }


def telling(w: np.ndarray, names: Sequence[str]) -> list[str]:
    """Return the names of the features with the largest positive weights for a word."""
    largest = np.argsort(-w, kind="stable")[:TELLING]
    return [names[feature] for feature in largest if w[feature] > 0]


def wall_of(words: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a tile for each word that is recognised better than chance, the best recognised word first.

    words: see `words_of`. Tiles are ordered by the number of most probable images that have the word. Each image of a
    tile is a pair: its row, and whether it has the word.
    """
    recognised = [word for word in words if word["verdict"] == "recognised"]
    recognised.sort(key=lambda word: (-word["precision_at_10"], -word["auc"]))
    return [
        {
            "word": word["word"],
            "right": word["precision_at_10"],
            "by_chance": word["by_chance"],
            "images": word["first"],
            "telling": word.get("telling", [])[:WALL_TELLING],
        }
        for word in recognised
    ]


def not_learnt(counted: pd.DataFrame, words: Sequence[str], least: int, things: str) -> dict[str, Any]:
    """Return the words that the model has not learnt, and why.

    Parameters
    ----------
    counted : DataFrame
        The table of `words.counted_words`.
    words : list of str
        The words of the model.
    least : int
        The smallest number of training images that must have a word.
    things : str
        The plural noun for the samples.

    Returns
    -------
    dict
        All values can be written as JSON: the `reasons`, and for each of the `words` its name, the number of images
        that have it, and the index of the reason.
    """
    reasons = {
        "": f"only the {len(words)} most frequent are learnt; to learn more, raise the setting n_words",
        Kind.FEW_TRAINING_WITH: f"at least {least} training {things} are needed",
        Kind.FEW_TRAINING_WITHOUT: f"at least {least} training {things} without it are needed",
        Kind.FEW_TEST_WITH: f"none of them is among the test {things}",
        Kind.FEW_TEST_WITHOUT: f"all test {things} have it",
        Kind.ONE_GROUP: f"training {things} of two groups must have it, and lack it",
    }
    others = counted[~counted["word"].isin(words)].sort_values("images", ascending=False, kind="stable")
    place = {kind: i for i, kind in enumerate(reasons)}
    columns = (others[name] for name in ("word", "images", "left_out"))
    listed = [(word, n, place[kind]) for word, n, kind in zip(*columns, strict=True)]
    return {"reasons": [*reasons.values()], "words": listed}


def packed(numbers: np.ndarray) -> str:
    """Encode the bytes of an array in base64."""
    return base64.b64encode(numbers.tobytes()).decode()


def packed_rows(rows: Sequence[np.ndarray], n_images: int) -> str:
    """Pack lists of rows of the table of images one after another. A row takes two bytes, or four if there are many."""
    return packed(np.concatenate([np.empty(0, int), *rows]).astype(np.uint16 if n_images < 2**16 else np.uint32))


def per_cent(probabilities: Any) -> np.ndarray:
    """Return probabilities in per cent as bytes, `NOBODY` for those that are not known.

    >>> per_cent(np.array([0.004, 0.516, 1, np.nan])).tolist()
    [0, 52, 100, 255]
    """
    return np.nan_to_num(100 * np.asarray(probabilities), nan=NOBODY).round().astype(np.uint8)


def having(kept: Kept) -> list[np.ndarray]:
    """Return for each word the rows of all labelled images that have it, the most probable first."""
    rows = [np.flatnonzero(kept.labels[:, k] == 1) for k in range(kept.labels.shape[1])]
    return [having[np.argsort(-kept.probabilities[having, k], kind="stable")] for k, having in enumerate(rows)]


def packed_weights(weights: np.ndarray) -> str:
    """Pack weights as signed bytes, in fractions of the largest absolute weight. Non-zero weights never become zero."""
    largest = np.abs(weights).max(initial=0.0)
    levels = np.rint(LEVELS_OF_WEIGHTS * weights / (largest or 1.0))
    return packed(np.where(levels == 0, np.sign(weights), levels).astype(np.int8))


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
