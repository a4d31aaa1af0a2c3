"""What the fits of a study, or a kept model, say of the test images. The page shows both in the same way."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Feature(NamedTuple):
    """A feature on the map of weights.

    place: its row in W. high, low: the test images with its largest, and with its smallest values.
    """

    place: int
    name: str
    high: list[int]
    low: list[int]


class Path(NamedTuple):
    """The fits of one method, by increasing radius. A kept model has one.

    Attributes
    ----------
    W : array, (n_radii, n_features, n_words)
        The weights.
    chosen : int
        Index of the radius that validation has chosen.
    radius, auc : lists of float or None, (n_radii,)
        The radii and the mean test AUCs, in the digits that the page shows.
    n_features : int
        How many features there are. W may leave out those that no fit uses.
    features : list of Feature
        Those with the largest weights at the chosen radius, the largest first.
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
    """What some fits say of the test images.

    Attributes
    ----------
    about : mapping
        What the page's script says of them in sentences, for JSON: the study and its run, or the kept model.
    best : str
        The method that the page shows first.
    words : list of str, (n_words,)
        Columns of all matrices.
    validation_words : bool array, (n_words,)
        The words that chose the radii.
    X : matrix, (n_test_images, n_features)
        What the fits weigh of each test image, dense or CSR.
    names : list of str
        Names of these features; empty if they have none.
    test_images : list of int, (n_test_images,)
        The row of each test image in the table of images.
    labels : array, (n_test_images, n_words)
        Which test image has which word, see `tasks.choose_words`.
    scores : dict of arrays, (n_test_images, n_words)
        The chosen fit's scores, by method.
    learnt : table
        One row per word and method, words in the order in which they are shown. Columns of `scores.learnt.words_learnt`
        and three more: first and precision, the numbers of `metrics.by_rank`, and the weight of the word in means.
    by_size : table
        See `scores.learnt.by_size`. No rows for a kept model, which has one size.
    paths : dict of Path
        By method.
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
