"""The answers that the fits of a study, or a saved model, give for the test images. The page shows both alike."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Feature(NamedTuple):
    """A feature on the map of weights.

    Attributes
    ----------
    place : int
        Its row in W.
    name : str
        Its name.
    high, low : list of int
        The test images with the largest values of the feature, and with the smallest.
    """

    place: int
    name: str
    high: list[int]
    low: list[int]


class Path(NamedTuple):
    """The fits of a method, ordered by increasing radius. For a saved model, the path has a single fit.

    Attributes
    ----------
    W : array, (n_radii, n_features, n_words)
        The weights.
    chosen : int
        Index of the radius that validation has chosen.
    radius, auc : lists of float or None, (n_radii,)
        The radii and the mean test AUCs, rounded as the page shows them.
    n_features : int
        Total number of features. W may leave out features that no fit uses.
    features : list of Feature
        The features with the largest weights at the chosen radius, largest first.
    """

    W: np.ndarray
    chosen: int
    radius: list[float | None]
    auc: list[float | None]
    n_features: int
    features: list[Feature]

    @property
    def chosen_W(self) -> np.ndarray:
        """The weights at the chosen radius, (n_features, n_words)."""
        weights: np.ndarray = self.W[self.chosen]
        return weights


class Answers(NamedTuple):
    """The answers that some fits give for the test images.

    Attributes
    ----------
    about : mapping
        For JSON: facts about the fits for the page's sentences, such as the study and its run, or the saved model.
    best : str
        The method that the page shows first.
    words : list of str, (n_words,)
        Names of the words, in the order of the columns of all matrices.
    validation_words : bool array, (n_words,)
        True for the validation words, which have chosen the radii.
    X : matrix, (n_test_images, n_features)
        The features of the test images, dense or CSR.
    names : list of str
        Names of these features; empty if they have none.
    test_images : list of int, (n_test_images,)
        The row of each test image in the table of images.
    labels : array, (n_test_images, n_words)
        The labels of the test images, see `tasks.choose_words`.
    scores : dict of arrays, (n_test_images, n_words)
        The scores of the chosen fit, by method.
    learnt : DataFrame
        A row for each word and method, with the words in the order in which they are shown. The columns are those of
        `scores.learnt.words_learnt`, `first` and `precision` of `metrics.by_rank`, and the weight of the word in
        averages.
    by_size : DataFrame
        See `scores.learnt.by_size`; empty for a saved model, which has a single size.
    paths : dict of Path
        The fits by method.
    """

    about: Mapping[str, Any]
    best: str
    words: list[str]
    validation_words: np.ndarray
    X: Any
    names: Sequence[str]
    test_images: Sequence[int]
    labels: np.ndarray
    scores: Mapping[str, np.ndarray]
    learnt: pd.DataFrame
    by_size: pd.DataFrame
    paths: Mapping[str, Path]
