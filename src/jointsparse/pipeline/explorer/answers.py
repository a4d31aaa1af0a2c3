"""The kept model on the page: its numbers on the test images, and the images that it ranks right and wrong."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # which loads scipy.sparse when it is used

from jointsparse.metrics import by_chance, holm, nearest
from jointsparse.pipeline.explorer.findings import CHANCE, label
from jointsparse.pipeline.explorer.fits import Fits, Path
from jointsparse.pipeline.explorer.sharing import APART, order_of
from jointsparse.pipeline.explorer.words import levels_of, number, of_ranks, telling

FEATURES, RESPONDERS = 12, 4  # features with the largest weights that are shown, and the pictures of each
# Of a word, as the page and the card call them.
NUMBERS = {"auc": "auc", "low": "auc_low", "high": "auc_high", "first": "precision_of_first"}
NUMBERS |= {"precision": "average_precision", "n_features": "features"}
GALLERIES = ("highest", "errors", "misses")
ALIKE = 3  # known images that are shown beside each


class Kept(NamedTuple):
    """A kept model and its test images.

    card: see `models.annotator.card_of`. fits: as of a study with this one method. test_images: the row of each in the
    table of images. has_maps: whether it begins with pictures. features: the places of those with the largest weights.
    names, responses: (n_test, n_features), of these. spread: standard deviation of the scores of each word, and of the
    responses of each of these features. vocabulary: names of the features of the test images. known_scores: (n_known,
    n_words), decisions on the images that have taught it. known_images: their rows in the table of images.
    """

    card: Mapping[str, Any]
    fits: Fits
    test_images: Sequence[int]
    has_maps: bool
    spread: np.ndarray
    features: np.ndarray
    names: Sequence[str]
    responses: np.ndarray
    vocabulary: Sequence[str]
    known_scores: np.ndarray
    known_images: Sequence[int]


def kept_of(
    model: Any,
    X: Any,
    labels: np.ndarray,
    test_images: Sequence[int],
    *,
    known_images: Sequence[int],
    has_maps: bool,
    names: Sequence[str],
) -> Kept:
    """Gather what a kept model says of test images.

    Parameters
    ----------
    model : Pipeline
        See `models.annotator.annotator`.
    X : matrix, (n_test, n_features)
        The test images, as they enter the first step that takes a matrix.
    labels : array, (n_test, n_words)
        See `tasks.choose_words`. Which image has which word.
    test_images, known_images, has_maps : lists of int, bool
        See `Kept`.
    names : list of str
        Of the features of X; empty if they have none.
    """
    first, classifier = model.check_["first_step"], model[-1]
    Z, columns = X, np.arange(X.shape[1])
    if "basis" in model.named_steps:
        Z, columns, names = model[first:-1].transform(X), model["basis"].columns_, ()
    size = np.linalg.norm(classifier.coef_, axis=0)
    features = np.argsort(-size, kind="stable")[: min(FEATURES, np.count_nonzero(size))]
    responses = Z[:, features]
    responses = responses.toarray() if scipy.sparse.issparse(responses) else responses
    method = method_of(model.card_)
    scores = {method: np.asarray(classifier.decision_function(Z))}
    path = {method: Path(classifier.coef_.T[np.newaxis], 0, pd.DataFrame())}
    return Kept(
        model.card_,
        Fits(0, 0, list(model.card_["words"]), np.array([]), X, labels, scores, {}, path),
        test_images,
        has_maps,
        np.concatenate([model.known_scores_.std(axis=0), responses.std(axis=0)]),
        features,
        [names[column] if names else f"feature {column}" for column in columns[features]],
        responses,
        names,
        model.known_scores_,
        known_images,
    )


def method_of(card: Mapping[str, Any]) -> str:
    """The method of a model, as a study would call it."""
    return f"{card['loss']}-{card['norm']}"


def alike(kept: Kept, images: Iterable[int]) -> dict[int, list[int]]:
    """The rows in the table of images of the known images that are scored most like each of some test images."""
    (scores,) = kept.fits.scores.values()
    return {i: [int(kept.known_images[j]) for j in nearest(kept.known_scores, scores[i], ALIKE)] for i in images}


def answers_of(kept: Kept) -> tuple[dict[str, Any], dict[int, set[int]]]:
    """Gather what the page shows of a kept model, as of a study with one method and one size.

    Returns
    -------
    study : dict
        See `page`.
    maps : dict
        The places of the words and features whose maps each test image has. Features come after all words.
    """
    card, names, method, labels = kept.card, kept.fits.words, method_of(kept.card), kept.fits.labels
    *of_words, mean = card["numbers"]
    W = kept.fits.W(method)
    weights = W[kept.features].T
    auc = np.array([row["auc"] for row in of_words], float)
    p_holm = holm(by_chance(auc, (labels == 1).sum(axis=0), (labels >= 0).sum(axis=0)))
    maps: dict[int, set[int]] = {}
    words = []
    for k, row in enumerate(of_words):
        own = {
            **{key: number(row[name] if row[name] is not None else np.nan) for key, name in NUMBERS.items()},
            "p_holm": number(p_holm[k]),
            "known": bool(p_holm[k] <= CHANCE),
            "sizes": [],
            **of_ranks(kept.fits.scores[method], labels, k, names),
            **({"telling": telling(W[:, k], kept.vocabulary)} if kept.vocabulary else {}),
        }
        for image, _ in (ranked for kind in GALLERIES for ranked in own[kind]):
            maps.setdefault(image, set()).add(k)
        positives = int((labels[:, k] == 1).sum())
        words.append({"word": names[k], "positives": positives, "chose": False, "always": False, "best": None})
        words[-1]["methods"] = {method: own}
    features, order = order_of(weights.T), order_of(weights)
    shared = []
    for i in features:
        best = np.argsort(-kept.responses[:, i], kind="stable")[:RESPONDERS].tolist()
        for image in best:
            maps.setdefault(image, set()).add(len(names) + int(i))
        shared.append({"name": kept.names[i], "images": [best, []], "place": len(names) + int(i)})
    fit = {"radius": number(card["radius"]), "used": card["features"][0], "auc": number(mean["auc"])}
    study = {
        "name": "the kept model",
        "by": "the kept model",
        "with_maps": kept.has_maps,
        "known_images": card["known_images"],
        "means": {key: number(mean[NUMBERS[key]]) for key in ("auc", "precision", "first")},
        "methods": [{"name": method, "label": label(method)}],
        "best": method,
        "names": names,
        "words": words,
        "sharing": {
            method: {
                "n_features": card["features"][1],
                "chosen": 0,
                "apart": card["norm"] in APART,
                "words": order.tolist(),
                "features": shared,
                "path": [fit | {"weights": levels_of(weights[np.ix_(order, features)].T)}],
            }
        },
    }
    return study, maps if kept.has_maps else {}
