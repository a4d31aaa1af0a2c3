"""The kept model on the page: its numbers on the test images, and the images that it ranks right and wrong."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # which loads scipy.sparse when it is used

from jointsparse.explorer.findings import label
from jointsparse.explorer.sharing import APART, levels_of, order_of
from jointsparse.explorer.words import number, of_ranks, telling

FEATURES, RESPONDERS = 12, 4  # features with the largest weights that are shown, and the pictures of each
# Of a word, as the page and the card call them.
NUMBERS = {"auc": "auc", "low": "auc_low", "high": "auc_high", "first": "precision_of_first"}
NUMBERS |= {"precision": "average_precision", "n_features": "features"}
GALLERIES = ("highest", "errors", "misses")


class Kept(NamedTuple):
    """A kept model and its test images.

    card: see `kept.annotator.card_of`. scores, labels: (n_test, n_words), decisions and which image has which word.
    test_images: the row of each in the table of images. has_maps: whether it begins with pictures. features: the
    places of those with the largest weights. names, weights: (n_words, n_features), responses: (n_test, n_features), of
    these. spread: standard deviation of the scores of each word, and of the responses of each of these features.
    telling: features of each word, if they have names. X, vocabulary: features of the test images, and their names.
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
    telling: Sequence[Sequence[str]]
    X: Any
    vocabulary: Sequence[str]


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
        [telling(w, names) for w in classifier.coef_] if names else [],
        X,
        names,
    )


def answers_of(kept: Kept) -> tuple[dict[str, Any], dict[int, set[int]]]:
    """Gather what the page shows of a kept model, as of a study with one method and one size.

    Returns
    -------
    study : dict
        See `page`.
    maps : dict
        The places of the words and features whose maps each test image has. Features come after all words.
    """
    card, names, method = kept.card, list(kept.card["words"]), f"{kept.card['loss']}-{kept.card['norm']}"
    *of_words, mean = card["numbers"]
    maps: dict[int, set[int]] = {}
    words = []
    for k, row in enumerate(of_words):
        own = {
            **{key: number(row[name] if row[name] is not None else np.nan) for key, name in NUMBERS.items()},
            "p_holm": None,
            "known": (row["auc_low"] or 0) > 0.5,
            "sizes": [],
            **of_ranks(kept.scores, kept.labels, k, names),
            **({"telling": kept.telling[k]} if kept.telling else {}),
        }
        for image, _ in (ranked for kind in GALLERIES for ranked in own[kind]):
            maps.setdefault(image, set()).add(k)
        positives = int(kept.labels[:, k].sum())
        words.append({"word": names[k], "positives": positives, "chose": False, "always": False, "best": None})
        words[-1]["methods"] = {method: own}
    features, order = order_of(kept.weights.T), order_of(kept.weights)
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
                "path": [fit | {"weights": levels_of(kept.weights[np.ix_(order, features)].T)}],
            }
        },
    }
    return study, maps if kept.has_maps else {}
