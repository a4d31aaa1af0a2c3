"""The answers that the fits of a study, or a saved model, give for the test images, in one form for the page."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Feature(NamedTuple):
    """A feature that the page shows in the map of weights.

    Attributes
    ----------
    place : int
        Index of the feature's row in W.
    name : str
        Name of the feature.
    high, low : list of int
        Rows of the test images in which the feature has its largest values (`high`) and its smallest values (`low`).
    note : str
        A remark on how often the feature is selected, or an empty string.
    """

    place: int
    name: str
    high: list[int]
    low: list[int]
    note: str = ""


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
    """The answers that the fits of a study, or a saved model, give for the test images.

    Attributes
    ----------
    about : mapping
        Facts about the fits that the page states in sentences, such as the study and its run. All values can be written
        as JSON.
    best : str
        The method that the page shows first.
    words : list of str, (n_words,)
        Names of the words, in the order of the columns of all matrices.
    validation_words : bool array, (n_words,)
        True for the validation words, whose validation images have chosen the radii.
    X : matrix, (n_test_images, n_features)
        The features of the test images, dense or CSR.
    names : list of str
        Names of the columns of X; empty if the features have no names.
    test_images : list of int, (n_test_images,)
        The row of each test image in the table of images.
    labels : array, (n_test_images, n_words)
        The labels of the test images, see `tasks.choose_words`.
    scores : dict of arrays, (n_test_images, n_words)
        For each method, the scores of its chosen fit.
    learnt : DataFrame
        A row for each word and method, with the words in the order in which they are shown. The columns are those of
        `scores.learnt.words_learnt`, the columns `first` and `precision` (see `metrics.by_rank`), and `weight`, the
        weight of the word in averages.
    by_size : DataFrame
        The table of `scores.learnt.by_size`; empty for a saved model, whose training set has only one size.
    paths : dict of Path
        For each method, its fits.
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
