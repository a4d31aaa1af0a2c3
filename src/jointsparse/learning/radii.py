"""Automatic paths of radii: which radius to try next, where a path ends, and which radius is chosen.

Source: Quattoni et al. 2009, sec. 6.2, where eta0 is chosen by the training objective and the radius by the mean
validation AUC over 10 words.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointsparse.checks import require

PER_DECADE = 4  # radii per factor of ten
MOST_RADII = 40  # largest number of radii in each direction, which is ten decades
PATIENCE = 2  # Choice: a path ends in a direction after this many radii without a better score

# Choice: smaller differences count as ties, because different processors give different last digits. The difference is
# absolute, because a range of scores may be as small as these differences, or large because of a single bad radius.
TIE = 1e-4  # difference of two AUCs, error rates or R^2; see `tie_of` for other scores
TIE_OF_OBJECTIVES = 1e-6  # difference of two objectives, relative to the objective at W = 0

# Choice: thresholds from which on a larger ball cannot change the fit.
NOTHING_LEFT = 1e-3  # the objective relative to that at W = 0; below it, many W in a larger ball are equally good
INSIDE, CLOSE = 0.5, 0.01  # W is far inside its ball if norm / radius and the duality gap are smaller than these

SELECTIONS = ("best", "one_standard_error")


def radius_at(unit: float, step: int) -> float:
    """Return the radius at a step of a path that begins at `unit` and has PER_DECADE radii per factor of ten.

    The radius at step 0 is the power of 10^(1 / PER_DECADE) nearest to `unit`, so that paths of different runs share
    their radii.

    >>> [radius_at(3.0, step) for step in (-4, 0, 2)]
    [0.316, 3.16, 10.0]
    """
    return float(f"{10 ** ((round(PER_DECADE * math.log10(unit)) + step) / PER_DECADE):.3g}") if unit else 0.0


def tie_of(score: NDArray[Any]) -> float:
    """Return the difference below which mean scores are ties if their unit is unknown, for example squared metres.

    The difference is TIE times a power of ten, which is the smallest one that reaches the magnitude of the best score.
    It is TIE itself for a best score between 0.1 and 1, whether the scores are AUCs or not.

    >>> [tie_of(np.array(score)) for score in ([0.7, 0.8], [-700.0, -30.0])]
    [0.0001, 0.01]
    """
    best = abs(float(np.max(score)))
    return TIE * 10.0 ** math.ceil(math.log10(best)) if best > 0 else 0.0


def rounds(first: Sequence[int], following: Callable[[], int | None], width: int) -> Iterator[list[int]]:
    """Yield, for each round of fits along a path, the steps to fit; see `radius_at`.

    Parameters
    ----------
    first : list of int
        Steps of the first round, in increasing order.
    following : function
        Function that is called after each round. It returns the step to try next, or None if the path ends; see
        `next_step`.
    width : int
        Number of steps of each later round. A later round extends the path downwards if the step to try next is
        negative, and upwards otherwise.

    >>> steps = iter([-1, 1, None])
    >>> list(rounds([0], lambda: next(steps), 2))
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
    """Return the step of a path of radii to try next, or None if the path ends.

    A path is extended downwards from step 0 until PATIENCE radii in a row bring no better score, and then upwards in
    the same way.

    Parameters
    ----------
    scored : mapping
        The score of each step; see `radius_at`. The steps are consecutive and include 0.
    least : int
        The path is extended at least up to this step, regardless of the scores.
    downwards : bool
        Whether to extend the path downwards, too.
    ended : bool
        True if a radius larger than all those tried could not change the fit.
    slack : float
        Scores that differ by less than this are ties; see `tie_of`. A tie does not count as better.

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
    """Return True if the objective is so much smaller than at W = 0 that a larger radius gains nothing."""
    return objective <= NOTHING_LEFT * at_zero


def is_level(objectives: Sequence[float], *, tol: float) -> bool:
    """Return True if the last tenfold increase of the radius lowered the objective by less than the fraction `tol`.

    objectives: the objective at each radius of a path, in order of increasing radius.
    """
    return len(objectives) > PER_DECADE and objectives[-1] >= (1 - tol) * objectives[-1 - PER_DECADE]


def is_far_inside(norm: float, radius: float, gap: float) -> bool:
    """Return True if W lies far inside its ball and the relative gap is small: a larger ball then changes nothing.

    >>> [is_far_inside(norm, 1.0, gap) for norm, gap in ((0.4, 0.01), (0.4, 0.02), (0.5, 0.01))]
    [True, False, False]
    """
    return gap <= CLOSE and norm < INSIDE * radius


def choose_eta0(radius: NDArray[Any], objective: NDArray[Any]) -> NDArray[Any]:
    """Choose eta0 for each radius: return the index of the pair (eta0, radius) with the smallest objective.

    The radii are in increasing order. Among equally good pairs, the first is chosen. radius: (n_pairs,). objective:
    (n_pairs, n_records); the first record is the objective at W = 0, and missing records are NaN.
    """
    smallest = np.nanmin(objective, axis=1)
    slack = TIE_OF_OBJECTIVES * np.abs(objective[:, 0])
    pairs_of = [np.flatnonzero(radius == value) for value in np.unique(radius)]
    return np.array([pairs[first_of_best(-smallest[pairs], slack[pairs[0]])] for pairs in pairs_of])


def choose_radius(score: NDArray[Any], *, selection: str | None = None, slack: float = TIE) -> int:
    """Return the index of the radius with the best mean score. Among equally good radii, choose the smallest.

    Parameters
    ----------
    score : array, (n_radii,) or (n_radii, n_words)
        Scores in order of increasing radius, either of all words together or of each validation word. Larger scores are
        better.
    selection : "best", "one_standard_error" or None
        With "best" or None, mean scores within `slack` of the best one are equally good. With "one_standard_error",
        mean scores within one standard error of the best one are equally good, too. The standard error is that of
        the best radius's mean score over the words.
    slack : float
        Mean scores that differ by less than this are ties; see `tie_of`.

    >>> errors = np.array([0.2, 0.0, 0.1])
    >>> choose_radius(-errors, slack=tie_of(-errors))
    1
    """
    require(selection in (None, *SELECTIONS), f"selection must be one of {', '.join(SELECTIONS)}, got {selection!r}")
    by_word = np.asarray(score, dtype=float).reshape(len(score), -1)
    mean, n_words = by_word.mean(axis=1), by_word.shape[1]
    if selection == "one_standard_error" and n_words > 1:
        slack = max(slack, float(by_word[np.argmax(mean)].std(ddof=1) / np.sqrt(n_words)))
    return first_of_best(mean, slack)


def first_of_best(score: NDArray[Any], slack: float | NDArray[Any] = TIE) -> int:
    """Return the index of the first score that is at most `slack` below the largest score, or 0 if any score is NaN."""
    return int(np.argmax(~(score < score.max() - slack)))
