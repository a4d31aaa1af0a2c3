"""The saved model on the page: its scores on the test images, and the images that it ranks correctly and wrongly."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # which loads scipy.sparse when it is used

from jointsparse.metrics import by_chance, holm, nearest
from jointsparse.pipeline.explorer.answers import Answers, Feature, Path
from jointsparse.pipeline.explorer.words import number
from jointsparse.pipeline.models.card import Card

FEATURES = 12  # number of features that are shown, chosen by the norms of their weight vectors
RESPONDERS = 4  # number of images that are shown for a feature
# The results for a word. The keys are their names in the model card; the values are their names on the page.
IN_CARD = {"auc": "auc", "auc_low": "low", "auc_high": "high", "precision_of_first": "first"}
IN_CARD |= {"average_precision": "precision", "features": "n_features"}
ALIKE = 3  # number of images with similar scores that are shown next to an image


class Fits(NamedTuple):
    """A comparison of the final fits of a dataset, one of which is saved, and the warnings about their data.

    Attributes
    ----------
    norms : DataFrame
        See `models.final.norms`.
    thresholds : DataFrame
        See `models.annotator.at_precisions`.
    n_learnable : int
        Number of words that could be learnt; the model may learn fewer.
    warnings : DataFrame
        The table of `scores.warning_table.gather`; empty if the warnings are already in the table of a study.
    stability : DataFrame
        The table of `models.stability.stability`; empty if the run does not make it.
    """

    norms: pd.DataFrame
    thresholds: pd.DataFrame
    n_learnable: int
    warnings: pd.DataFrame
    stability: pd.DataFrame


class Kept(NamedTuple):
    """A saved model and its test images.

    Attributes
    ----------
    model : Pipeline
        The model.
    answers : Answers
        The model's answers for the test images.
    spread : array, (n_words + n_features_shown,)
        Standard deviations, first of the scores of each word, then of the values of each feature that is shown.
    known_scores : array, (n_known, n_words)
        The model's scores for the images from which it has learnt.
    known_images : list of int, (n_known,)
        For each row of `known_scores`, the row of the image in the table of images.
    fits : Fits
        How the model compares with the other final fits.
    """

    model: Any
    answers: Answers
    spread: np.ndarray
    known_scores: np.ndarray
    known_images: Sequence[int]
    fits: Fits

    @property
    def features(self) -> list[int]:
        """The indices of the features that are shown, in the order of their maps."""
        (path,) = self.answers.paths.values()
        return [feature.place for feature in path.features]


def kept_model(
    model: Any,
    X: Any,
    labels: np.ndarray,
    test_images: Sequence[int],
    *,
    known_images: Sequence[int],
    has_maps: bool,
    names: Sequence[str],
    fits: Fits,
) -> Kept:
    """Compute a saved model's answers for the test images, and what the page needs to explain them.

    Parameters
    ----------
    model : Pipeline
        See `models.annotator.annotator`.
    X : matrix, (n_test, n_features)
        The features of the test images. They are the input of the first step of the model that takes a matrix.
    labels : array, (n_test, n_words)
        The labels of the test images, see `tasks.choose_words`.
    test_images : list of int
        See `Answers`.
    known_images : list of int
        See `Kept`.
    has_maps : bool
        Whether the model's input is pictures, so that maps can be drawn.
    names : list of str
        Names of the features of X; empty if they have none.
    fits : Fits
        See `Kept`.
    """
    classifier, columns = model[-1], np.arange(X.shape[1])
    if "basis" in model.named_steps:  # features of a basis have no names
        X, names = model[model.check_["first_step"] : -1].transform(X), ()
        columns = model["basis"].columns_
    size = np.linalg.norm(classifier.coef_, axis=0)
    places = np.argsort(-size, kind="stable")[: min(FEATURES, np.count_nonzero(size))]
    values = X[:, places]
    values = values.toarray() if scipy.sparse.issparse(values) else values
    notes = {row.feature: f"chosen in {row.halves} of {row.of} halves" for row in fits.stability.itertuples()}
    features = [
        Feature(
            place=place,
            name=names[columns[place]] if names else f"feature {columns[place]}",
            high=np.argsort(-column, kind="stable")[:RESPONDERS].tolist(),
            low=[],
            note=notes.get(columns[place], ""),
        )
        for place, column in zip(places.tolist(), values.T, strict=True)
    ]
    answers = model_answers(
        model.card_,
        W=classifier.coef_.T,
        features=features,
        X=X,
        names=names,
        test_images=test_images,
        labels=labels,
        scores=np.asarray(classifier.decision_function(X)),
        has_maps=has_maps,
    )
    spread = np.concatenate([model.known_scores_.std(axis=0), values.std(axis=0)])
    return Kept(model, answers, spread, model.known_scores_, known_images, fits)


def model_answers(
    card: Card,
    *,
    W: np.ndarray,
    features: list[Feature],
    X: Any,
    names: Sequence[str],
    test_images: Sequence[int],
    labels: np.ndarray,
    scores: np.ndarray,
    has_maps: bool,
) -> Answers:
    """Return a model's answers for the test images. The results of each word are taken from the model card.

    Parameters
    ----------
    card : Card
        See `models.card`.
    W : array, (n_features, n_words)
        The weights of the model.
    features : list of Feature
        The features that the page shows.
    X, names, test_images, labels : see `Answers`
        The fields of `Answers` with these names.
    scores : array, (n_test_images, n_words)
        The scores of the model.
    has_maps : bool
        Whether the page shows maps of the evidence for a word.
    """
    method, words = f"{card.loss}-{card.norm}", card.words
    numbers = card.table()[[*IN_CARD]].rename(columns=IN_CARD).astype(float)
    word_numbers, mean_numbers = numbers[:-1], numbers.iloc[-1]
    positives, known = (labels == 1).sum(axis=0), (labels >= 0).sum(axis=0)
    return Answers(
        about={
            "name": "the kept model",
            "by": "the kept model",
            "with_maps": has_maps,
            "known_images": card.known_images,
            "means": {name: number(mean_numbers[name]) for name in ("auc", "precision", "first")},
        },
        best=method,
        words=words,
        validation_words=np.zeros(len(words), bool),
        X=X,
        names=names,
        test_images=test_images,
        labels=labels,
        scores={method: scores},
        learnt=word_numbers.assign(
            word=words,
            method=method,
            positives=positives,
            p_holm=holm(by_chance(word_numbers["auc"].to_numpy(), positives, known)),
            validation_word=False,
            best=False,
            weight=1,
        ),
        by_size=pd.DataFrame(),
        paths={
            method: Path(
                W=W[np.newaxis],
                chosen=0,
                radius=[number(card.radius)],
                auc=[number(mean_numbers["auc"])],
                n_features=card.n_features[1],
                features=features,
            )
        },
    )


def alike(kept: Kept, images: Iterable[int]) -> dict[int, list[int]]:
    """For each test image, find the known images with the most similar scores.

    Known images are the images from which the model has learnt. They are given by their rows in the table of images.
    """
    (scores,) = kept.answers.scores.values()
    return {i: [int(kept.known_images[j]) for j in nearest(kept.known_scores, scores[i], ALIKE)] for i in images}
