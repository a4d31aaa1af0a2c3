"""The probabilities of a saved model, and whether its words are classes that exclude each other."""

import numpy as np
from scipy import special
from sklearn.pipeline import Pipeline

# Choice: exclusive classes may share this fraction of the samples, such as equal files in two folders, and this part of
# the samples that they would share if they were independent. Rare tags share few samples, too, but not fewer than that.
DOUBLE, OF_INDEPENDENT = 0.01, 0.1


def probabilities(model: Pipeline, scores: np.ndarray) -> np.ndarray:
    """Return the probability of each word for the given scores. Both arrays have the shape (n_samples, n_words)."""
    with np.errstate(over="ignore"):
        return np.asarray(special.expit(_log_odds(model, scores)))


def of_classes(model: Pipeline, scores: np.ndarray, *, every: bool) -> np.ndarray:
    """Return the probability of each word given that at most one word is true, or exactly one if `every` is True.

    The arrays are those of `probabilities`. A class that is only similar to the right one becomes improbable.
    """
    log_odds = _log_odds(model, scores)
    if not every:
        log_odds = np.column_stack([log_odds, np.zeros(len(scores))])  # no class
    return np.asarray(special.softmax(log_odds, axis=1))[:, : scores.shape[1]]


def _log_odds(model: Pipeline, scores: np.ndarray) -> np.ndarray:
    a, b = model[-1].calibration_.T
    return np.asarray(scores * a + b)


def given_labels(model: Pipeline, scores: np.ndarray, labels: np.ndarray, *, exclusive: bool) -> np.ndarray:
    """Return the probability of each word: of classes if the labels are classes that exclude each other.

    Parameters
    ----------
    model : Pipeline
        A model from `annotator`.
    scores, labels : arrays, (n_samples, n_words)
        Scores of samples, and which sample has which word.
    exclusive : bool
        What `are_exclusive` returns for these labels.
    """
    if not exclusive:
        return probabilities(model, scores)
    return of_classes(model, scores, every=bool((labels == 1).any(axis=1).all()))


def are_exclusive(labels: np.ndarray) -> bool:
    """Return True if the words are classes that exclude each other: all labels are known, and few samples have two.

    labels: array, (n_samples, n_words), with 1 or True, 0 or False, and -1 if unknown.
    """
    has = labels == 1
    p = has.mean(axis=0)
    others = np.array([np.delete(1 - p, k).prod() for k in range(len(p))])
    by_chance = 1 - (1 - p).prod() - (p * others).sum()
    return bool((labels >= 0).all() and (has.sum(axis=1) > 1).mean() <= min(DOUBLE, OF_INDEPENDENT * by_chance))
