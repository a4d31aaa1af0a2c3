"""The kept model on the page: its numbers on the test images, and the images that it ranks right and wrong."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # which loads scipy.sparse when it is used

from jointsparse.explorer.findings import label
from jointsparse.explorer.words import ranked

FEATURES, RESPONDERS = 12, 4  # features with the largest weights that are shown, and the pictures of each
KINDS = {
    "highest": "Ranked highest, and right",
    "errors": "Errors: ranked highest without the word",
    "misses": "Misses",
}


class Kept(NamedTuple):
    """A kept model and its test images.

    card: see `kept.annotator.card_of`. scores, labels: (n_test, n_words), decisions and which image has which word.
    test_images: the row of each in the table of images. has_maps: whether it begins with pictures. features: the
    places of those with the largest weights. names, weights: (n_words, n_features), responses: (n_test, n_features), of
    these. spread: standard deviation of the scores of each word, and of the responses of each of these features.
    """

    card: Mapping[str, Any]
    scores: np.ndarray
    labels: np.ndarray
    test_images: Sequence[int]
    has_maps: bool
    spread: np.ndarray
    features: np.ndarray
    names: Sequence[str]
    weights: np.ndarray
    responses: np.ndarray


def kept_of(
    model: Any, X: Any, labels: np.ndarray, test_images: Sequence[int], *, has_maps: bool, names: Sequence[str]
) -> Kept:
    """Gather what a kept model says of test images.

    Parameters
    ----------
    model : Pipeline
        See `kept.annotator.annotator`.
    X : matrix, (n_test, n_features)
        The test images, as they enter the first step that takes a matrix.
    labels, test_images, has_maps : array, list of int, bool
        See `Kept`.
    names : list of str
        Of the features of X; empty if they have none.
    """
    first, classifier = model.check_["first_step"], model[-1]
    Z = model[first:-1].transform(X) if "basis" in model.named_steps else X
    columns = model["basis"].columns_ if "basis" in model.named_steps else np.arange(X.shape[1])
    names = () if "basis" in model.named_steps else names
    size = np.linalg.norm(classifier.coef_, axis=0)
    features = np.argsort(-size, kind="stable")[: min(FEATURES, np.count_nonzero(size))]
    responses = Z[:, features]
    responses = responses.toarray() if scipy.sparse.issparse(responses) else responses
    return Kept(
        model.card_,
        np.asarray(classifier.decision_function(Z)),
        labels,
        test_images,
        has_maps,
        np.concatenate([model.known_scores_.std(axis=0), responses.std(axis=0)]),
        features,
        [names[column] if names else f"feature {column}" for column in columns[features]],
        classifier.coef_[:, features],
        responses,
    )


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
        The places of the words and features whose maps each image has, by its row. Features come after all words.
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
    shared = []
    for i, name in enumerate(kept.names):
        w, place = kept.weights[:, i], len(of_words) + i
        order = [k for k in np.argsort(-np.abs(w), kind="stable") if w[k]]
        of_sign = {sign: [of_words[k]["word"] for k in order if sign * w[k] > 0] for sign in (1, -1)}
        best = np.argsort(-kept.responses[:, i], kind="stable")[:RESPONDERS] if thumbnail and kept.has_maps else ()
        rows = [int(kept.test_images[image]) for image in best]
        for row in rows:
            maps.setdefault(row, set()).add(place)
        own = [(row, thumbnail(row), thumbnail(row, place)) for row in rows] if thumbnail else []
        shared.append({"name": name, "speaks_for": of_sign[1], "against": of_sign[-1], "images": own})
    told = {"mean": mean, "norm": label(kept.card["norm"]), "n_test": len(kept.scores), "words": shown}
    told |= {"shared": shared}
    return dict(kept.card) | told, maps
