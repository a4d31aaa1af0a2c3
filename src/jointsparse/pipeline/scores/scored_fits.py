"""Test scores of a study's chosen fits, and the statistics by which the fits are compared."""

from typing import NamedTuple

import numpy as np

from jointsparse.metrics import EER, STATISTICS

COMPARED = {"auc": STATISTICS["auc"], "eer": EER}  # the papers' statistics, in the order of `metrics.resampled`


class ScoredFits(NamedTuple):
    """Test scores of all chosen fits of a study, from which methods are compared.

    Attributes
    ----------
    run, n, n_samples : int arrays, (n_fits,)
        Run, number of positives and number of training samples of each fit.
    method : text array, (n_fits,)
        Method of each fit.
    validation_words : bool array, (n_fits, n_words)
        True for the words whose validation scores chose the radius of the fit.
    score : array, (n_fits, n_test_images, n_words)
        Scores of each fit.
    labels : array, (n_test_images, n_words)
        Which test image has which word, see `words.choose_words`.
    """

    run: np.ndarray
    n: np.ndarray
    n_samples: np.ndarray
    method: np.ndarray
    validation_words: np.ndarray
    score: np.ndarray
    labels: np.ndarray
