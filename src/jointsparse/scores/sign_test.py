"""Sign test of two classifiers over pairs of a positive and a negative sample.

Source: Quattoni et al. 2009, sec. 6.1 and Table 1.
"""

from typing import NamedTuple

import numpy as np
from scipy import special  # not stats, which takes half a second to import

from jointsparse.compiled import njit


class SignTest(NamedTuple):
    """Pairs that f ranks rightly and g wrongly (wins), the reverse (losses), and the one-sided exact p-values.

    p: for "f is better"; p_reverse: for "g is better". Each is an array with one entry per pairing.
    """

    wins: np.ndarray
    losses: np.ndarray
    p: np.ndarray
    p_reverse: np.ndarray


@njit
def _shuffled(many: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Begin a shuffle of `many` in each row of `steps`: entry j changes places with the entry steps_j further on."""
    drawn = np.empty(steps.shape, many.dtype)
    for p in range(steps.shape[0]):
        for j in range(steps.shape[1]):
            k = j + steps[p, j]
            many[j], many[k] = many[k], many[j]
            drawn[p, j] = many[j]
    return drawn


def sign_test(
    f: np.ndarray, g: np.ndarray, labels: np.ndarray, *, n_pairings: int, rng: np.random.Generator
) -> SignTest:
    """Test whether f ranks positives above negatives more often than g, over random pairs, pooled over tasks.

    Each positive of a task is paired with a distinct negative of the same task. The smaller side decides how many pairs
    there are. Of the pairs that exactly one of f and g ranks rightly, wins ~ Bin(wins + losses, ½) if f and g are
    equally good. Ties count for neither.

    Parameters
    ----------
    f, g : array, (n_samples, n_tasks)
        Scores.
    labels : array, (n_samples, n_tasks)
        True, or 1, for positives and False, or 0, for negatives. Other samples are in no pair.
    n_pairings : int, at least 1
        Random pairings to test.
    rng : Generator
        Draws the pairings.
    """
    wins, losses = np.zeros((2, n_pairings), dtype=int)
    for k in range(labels.shape[1]):
        positives, negatives = np.flatnonzero(labels[:, k] == 1), np.flatnonzero(labels[:, k] == 0)
        few, many = sorted((positives, negatives), key=len)
        drawn = _shuffled(many.copy(), rng.integers(len(many) - np.arange(len(few)), size=(n_pairings, len(few))))
        left, right = (few, drawn) if few is positives else (drawn, few)
        f_sign = np.sign(f[left, k] - f[right, k])
        g_sign = np.sign(g[left, k] - g[right, k])
        wins += ((f_sign > 0) & (g_sign < 0)).sum(axis=1)
        losses += ((f_sign < 0) & (g_sign > 0)).sum(axis=1)
    # P(Bin(n, 1/2) >= wins) is an incomplete beta function.
    p, p_reverse = special.betainc(wins, losses + 1, 0.5), special.betainc(losses, wins + 1, 0.5)
    return SignTest(wins, losses, p, p_reverse)
