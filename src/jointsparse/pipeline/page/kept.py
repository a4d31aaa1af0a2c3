"""The saved model: its probabilities for all labelled images, and what the page needs to explain them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # which loads scipy.sparse when it is used

from jointsparse.arrays import widened
from jointsparse.metrics import STATISTICS, by_chance, holm
from jointsparse.pipeline.models.card import Card
from jointsparse.pipeline.models.model_file import load
from jointsparse.pipeline.models.probabilities import are_exclusive, given_labels
from jointsparse.pipeline.provenance.tables import read_array, read_features, read_table
from jointsparse.pipeline.scores.warning_table import gather
from jointsparse.pipeline.words import counted_words

FEATURES = 12  # number of features that are shown, chosen by the norms of their weight vectors
RESPONDERS = 4  # number of images that are shown for a feature


class Feature(NamedTuple):
    """A feature that the page shows in the map of weights.

    Attributes
    ----------
    place : int
        Index of the feature's row in `Kept.W`.
    name : str
        Name of the feature.
    images : list of int
        Rows, in the table of images, of the test images in which the feature has its largest values.
    note : str
        A remark on how often the feature is selected, or an empty string.
    """

    place: int
    name: str
    images: list[int]
    note: str = ""


class Fits(NamedTuple):
    """The tables of a dataset's final fits, one of which is saved, and the warnings about their data.

    Attributes
    ----------
    norms : DataFrame
        See `models.final.norms`.
    thresholds : DataFrame
        See `models.annotator.at_precisions`.
    counted : DataFrame
        The words of all images, see `words.counted_words`. The model may learn fewer.
    warnings : DataFrame
        The table of `scores.warning_table.gather`.
    stability : DataFrame
        The table of `models.stability.stability`; empty if the run does not make it.
    """

    norms: pd.DataFrame
    thresholds: pd.DataFrame
    counted: pd.DataFrame
    warnings: pd.DataFrame
    stability: pd.DataFrame


class Kept(NamedTuple):
    """A saved model and the labelled images: those from which it has learnt, and its test images.

    All rows are rows of the table of images.

    Attributes
    ----------
    model : Pipeline
        The model, see `models.annotator.annotator`.
    with_maps : bool
        Whether the model's input is pictures, so that maps of the evidence for a word can be drawn.
    words : DataFrame
        A row for each word, in the order of the model: `word`; each key of `metrics.STATISTICS`, `auc_low` and
        `auc_high`; `n_features`, the number of features that the word uses; `positives` and `of`, the number of test
        images with the word and of those whose label is known; and `p_holm`, the p-value of its AUC against chance,
        corrected for all words.
    W : array, (n_features, n_words)
        The weights.
    X : matrix, (n_images, n_features)
        The features of all images, dense or CSR. Not used if the features have no names.
    names : list of str
        Names of the columns of X; empty if the features have no names.
    features : list of Feature
        The features with the largest weights, largest first.
    test_images : int array, (n_test_images,)
        The rows of the test images.
    labels : int8 array, (n_images, n_words)
        The labels: 1, 0, or -1 where they are unknown, which they are for all images that are not labelled.
    scores : array, (n_images, n_words)
        The score of each word. The model predicts those of the test images. Those of the other labelled images are
        held out, see `models.final.calibrated`. NaN for images that are not labelled.
    probabilities : array, (n_images, n_words)
        The probability of each word by these scores, see `models.probabilities.given_labels`.
    exclusive : bool
        Whether the labels are classes that exclude each other, see `models.probabilities.are_exclusive`.
    spread : array, (n_words + n_features_shown,)
        Standard deviations, first of the scores of each word, then of the values of each feature that is shown.
    fits : Fits
        How the model compares with the other final fits.
    """

    model: Any
    with_maps: bool
    words: pd.DataFrame
    W: np.ndarray
    X: Any
    names: Sequence[str]
    features: list[Feature]
    test_images: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray
    exclusive: bool
    spread: np.ndarray
    fits: Fits

    @property
    def names_of_words(self) -> list[str]:
        """Names of the words, in the order of the columns of all matrices."""
        return [str(word) for word in self.words["word"]]


def read_fits(
    norms: str,
    thresholds: str,
    stability: str | None,
    images: str,
    captions: pd.DataFrame,
    warned: Sequence[str],
    learnable: Mapping[str, Any],
) -> Fits:
    """Read the tables of a dataset's final fits, and gather the warnings about their data.

    Parameters
    ----------
    norms, thresholds, stability, images : path
        Files of the tables with these names. `stability` is None if the run does not make this table.
    captions : DataFrame
        The captions of the dataset.
    warned : list of path
        Files of the tables whose warnings are gathered.
    learnable : mapping
        The options that determine which words could be learnt, see `words.counted_words`.
    """
    return Fits(
        read_table(norms),
        read_table(thresholds),
        counted_words(read_table(images, "image", "split"), captions, learnable),
        gather({Path(file).stem: read_table(file) for file in warned}),
        read_table(stability) if stability else pd.DataFrame(),
    )


def read_kept(
    model: str,
    labels: str,
    images: str,
    features: str | list[str],
    *,
    network: str | None,
    vocabulary: str | None,
    names: Sequence[str],
    fits: Fits,
) -> Kept:
    """Read a saved model and the labelled images.

    Parameters
    ----------
    model, labels, images : path
        Files of the model, of the labels and of the table of images.
    features : path or list of paths
        Files of the features from which the model learns, see `tables.read_features`.
    network : path or None
        File of the network that describes the pictures, if there is one.
    vocabulary : str or None
        Name of these features in the files: a visual vocabulary, or the prefix of a network. Not used if `features` is
        a single file.
    names : list of str
        Names of these features; empty if they have none.
    fits : Fits
        See `read_fits`.
    """
    from jointsparse.features.explain import has_maps  # imported here because scikit-learn takes two seconds

    kept, table = load(model, network=network), read_table(images, "image", "split")
    return kept_model(
        kept,
        read_features(features, vocabulary),
        read_array(labels),
        np.flatnonzero(table["split"] == "test"),
        known_images=pd.Index(table["image"]).get_indexer(kept.known_names_),
        with_maps=has_maps(kept),
        names=names,
        fits=fits,
    )


def kept_model(
    model: Any,
    X: Any,
    labels: np.ndarray,
    test_images: np.ndarray,
    *,
    known_images: np.ndarray,
    with_maps: bool,
    names: Sequence[str],
    fits: Fits,
) -> Kept:
    """Compute a saved model's probabilities for the labelled images, and what the page needs to explain them.

    Parameters
    ----------
    model : Pipeline
        See `models.annotator.annotator`.
    X : matrix, (n_images, n_features)
        The features of all images. They are the input of the first step of the model that takes a matrix.
    labels : array, (n_images, n_words)
        The labels, see `words.choose_words`.
    test_images, with_maps, fits : as in `Kept`
        See there.
    known_images : int array, (n_known,)
        The rows of the images from which the model has learnt.
    names : list of str
        Names of the features of X; empty if they have none.
    """
    classifier, on_test = model[-1], widened(X[test_images])
    columns = np.arange(X.shape[1])
    if "basis" in model.named_steps:  # features of a basis have no names
        on_test, names = model[model.check_["first_step"] : -1].transform(on_test), ()
        columns = model["basis"].columns_
    size = np.linalg.norm(classifier.coef_, axis=0)
    places = np.argsort(-size, kind="stable")[: min(FEATURES, np.count_nonzero(size))]
    values = on_test[:, places]
    values = values.toarray() if scipy.sparse.issparse(values) else values
    notes = {row.feature: f"chosen in {row.halves} of {row.of} halves" for row in fits.stability.itertuples()}
    features = [
        Feature(
            place,
            name=names[columns[place]] if names else f"feature {columns[place]}",
            images=test_images[np.argsort(-column, kind="stable")[:RESPONDERS]].tolist(),
            note=notes.get(columns[place], ""),
        )
        for place, column in zip(places.tolist(), values.T, strict=True)
    ]
    rows = np.concatenate([known_images, test_images])
    scores = np.concatenate([model.known_scores_, classifier.decision_function(on_test)])
    known, p = np.full(labels.shape, -1, np.int8), np.full(labels.shape, np.nan, np.float32)
    all_scores = np.full(labels.shape, np.nan)
    known[rows], all_scores[rows] = labels[rows], scores
    exclusive = are_exclusive(labels[rows])
    p[rows] = given_labels(model, scores, labels[rows], exclusive=exclusive)
    return Kept(
        model,
        with_maps,
        judged(model.card_, known[test_images]),
        W=classifier.coef_.T,
        X=X,
        names=names,
        features=features,
        test_images=test_images,
        labels=known,
        scores=all_scores,
        probabilities=p,
        exclusive=exclusive,
        spread=np.concatenate([model.known_scores_.std(axis=0), values.std(axis=0)]),
        fits=fits,
    )


def judged(card: Card, labels: np.ndarray) -> pd.DataFrame:
    """Return `words` of `Kept`, in which the statistics are those of the model card.

    labels: those of the test images, (n_test_images, n_words).
    """
    numbers = card.table()[[*STATISTICS, "auc_low", "auc_high", "features"]].astype(float)
    words, positives, of = numbers[:-1].rename(columns={"features": "n_features"}), labels == 1, labels >= 0
    words = words.assign(word=card.words, positives=positives.sum(axis=0), of=of.sum(axis=0))
    return words.assign(p_holm=holm(by_chance(words["auc"].to_numpy(), words["positives"], words["of"])))
