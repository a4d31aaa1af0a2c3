"""Scores of the fits that a study has chosen, and the metrics that rank them."""

from typing import NamedTuple

import numpy as np

from jointsparse.metrics import auc, eer

METRICS = {"auc": auc, "eer": eer}


class ScoredFits(NamedTuple):
    """Scores of all chosen fits of a study on its test images, as comparisons of methods need them.

    Attributes
    ----------
    run, n, n_samples : int arrays, (n_fits,)
        Run, number of positives and training samples of each fit.
    method : text array, (n_fits,)
        Its method.
    validation_words : bool array, (n_fits, n_words)
        The words that chose its radius.
    score : array, (n_fits, n_test_images, n_words)
        Its scores.
    labels : array, (n_test_images, n_words)
        Which test image has which word, see `tasks.choose_words`.
    """

    run: np.ndarray
    n: np.ndarray
    n_samples: np.ndarray
    method: np.ndarray
    validation_words: np.ndarray
    score: np.ndarray
    labels: np.ndarray
