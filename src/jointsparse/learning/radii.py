"""Paths of radii that the data choose: where a path grows, where it ends, and which radius is taken.

Source: Quattoni et al. 2009, sec. 6.2: eta0 by the training objective, the radius by validation AUC over 10 words.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointsparse.checks import require

PER_DECADE = 4  # radii of a path between a number and ten times that number
MOST_RADII = 40  # in each direction: ten decades
PATIENCE = 2  # Choice: radii without a better score after which a path ends in a direction

# Choice: numbers that differ by less than this are equal, because other processors round in another order.
TIE = 1e-4  # of scores
TIE_OF_OBJECTIVES = 1e-6  # of the objective at W = 0

# Choice: where a larger ball cannot change the fit.
NOTHING_LEFT = 1e-3  # of the objective at W = 0: with less, many W in a larger ball are as good
INSIDE, CLOSE = 0.5, 0.01  # W is far inside its ball: its norm, as a part of the radius, and the gap that proves it

SELECTIONS = ("best", "one_standard_error")


def radius_at(unit: float, step: int) -> float:
    """Return radius number `step` of a path that begins at a unit, with PER_DECADE radii in each factor of 10.

    Number 0 is the power of 10^(1 / PER_DECADE) nearest to the unit, so that the paths of runs share radii.

    >>> [radius_at(3.0, step) for step in (-4, 0, 2)]
    [0.316, 3.16, 10.0]
    """
    return float(f"{10 ** ((round(PER_DECADE * math.log10(unit)) + step) / PER_DECADE):.3g}") if unit else 0.0


def rounds(first: Sequence[int], following: Callable[[], int | None], width: int) -> Iterator[list[int]]:
    """Yield the steps of each round of fits along a path.

    Parameters
    ----------
    first : list of int
        Steps of the first round, in increasing order.
    following : function
        Called after each round. It returns the step to try next, or None where the path ends; see `next_step`.
    width : int
        Steps of each later round. They lie beyond those before, downwards if the step to try next is negative.

    >>> named = iter([-1, 1, None])
    >>> list(rounds([0], lambda: next(named), 2))
    [[0], [-2, -1], [1, 2]]
    """
    steps = list(first)
    while True:
        yield steps
        step = following()
        if step is None:
            return
        steps = list(range(step - width + 1, step + 1) if step < 0 else range(step, step + width))


def next_step(
    scored: Mapping[int, float], *, least: int = 0, downwards: bool = True, ended: bool = False, slack: float = TIE
) -> int | None:
    """Return the step of a path of radii to try next, or None where the path ends.

    A path goes downwards from step 0 until PATIENCE radii bring no better score, and then upwards likewise.

    Parameters
    ----------
    scored : mapping
        Scores by step, without gaps around step 0; see `radius_at`.
    least : int
        The path goes up to this step whatever the scores are.
    downwards : bool
        True if smaller radii are of interest.
    ended : bool
        True if no radius larger than those tried could change the fit.
    slack : float
        Scores that differ by less are ties. A tie is not better.

    >>> next_step({0: 0.7, -1: 0.6, -2: 0.6})
    1
    >>> next_step({0: 0.7, 1: 0.8}, downwards=False, ended=True)
    """
    lowest, highest = min(scored), max(scored)
    down, up = (np.array([scored[step] for step in steps]) for steps in (range(0, lowest - 1, -1), range(highest + 1)))
    if downwards and -lowest < MOST_RADII and -lowest - first_of_best(down, slack) < PATIENCE:
        return lowest - 1
    fallen = highest >= least and highest - first_of_best(up, slack) >= PATIENCE
    return None if ended or fallen or highest >= MOST_RADII else highest + 1


def is_loss_gone(objective: float, at_zero: float) -> bool:
    """Return True if a fit leaves next to nothing of the objective at W = 0, so that a larger radius gains nothing."""
    return objective <= NOTHING_LEFT * at_zero


def is_level(objectives: Sequence[float], *, tol: float) -> bool:
    """Return True if the last factor of 10 lowered the objective by less than the relative tolerance `tol`.

    objectives: of the radii of a path, in increasing order.
    """
    return len(objectives) > PER_DECADE and objectives[-1] >= (1 - tol) * objectives[-1 - PER_DECADE]


def is_far_inside(norm: float, radius: float, gap: float) -> bool:
    """Return True if a fit of this relative duality gap lies so far inside its ball that the radius does not bind."""
    return gap <= CLOSE and norm < INSIDE * radius


def choose_eta0(radius: NDArray[Any], objective: NDArray[Any]) -> NDArray[Any]:
    """Return the pair of smallest objective for each radius, by increasing radius; of equal pairs the first.

    radius: (n_pairs,). objective: (n_pairs, n_records), at W = 0 first, NaN where there is none.
    """
    smallest = np.nanmin(objective, axis=1)
    slack = TIE_OF_OBJECTIVES * np.abs(objective[:, 0])
    pairs_of = [np.flatnonzero(radius == value) for value in np.unique(radius)]
    return np.array([pairs[first_of_best(-smallest[pairs], slack[pairs[0]])] for pairs in pairs_of])


def choose_radius(score: NDArray[Any], *, selection: str | None = None, slack: float = TIE) -> int:
    """Return the index of the radius with the best mean score; of those that are as good the smallest.

    Parameters
    ----------
    score : array, (n_radii,) or (n_radii, n_words)
        By increasing radius, of all words together or of each validation word; larger is better.
    selection : "best", "one_standard_error" or None
        Means are as good as the best one if they differ by less than `slack`, or by less than the best one's standard
        error over the words. None means "best".
    slack : float
        Means that differ by less are ties.
    """
    require(selection in (None, *SELECTIONS), f"selection must be one of {', '.join(SELECTIONS)}, got {selection!r}")
    by_word = np.asarray(score, dtype=float).reshape(len(score), -1)
    mean, n_words = by_word.mean(axis=1), by_word.shape[1]
    if selection == "one_standard_error" and n_words > 1:
        slack = max(slack, float(by_word[np.argmax(mean)].std(ddof=1) / np.sqrt(n_words)))
    return first_of_best(mean, slack)


def first_of_best(score: NDArray[Any], slack: float) -> int:
    """Return the index of the first score that is at most `slack` below the largest; 0 if a score is not a number."""
    return int(np.argmax(~(score < score.max() - slack)))
