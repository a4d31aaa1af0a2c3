"""Stability selection with complementary pairs: how often each feature is selected on random halves of the samples.

Source: Shah & Samworth, "Variable selection with error control: another look at stability selection", JRSSB 75 (2013).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from jointsparse.checks import as_number, as_positive, require, require_count
from jointsparse.estimators.base import PENALTIES_SPAN, OneStrength, centring_advice
from jointsparse.estimators.labels import Labels
from jointsparse.estimators.linear import TaskSamples, in_words, names_of_tasks
from jointsparse.estimators.search import strata
from jointsparse.messages import shortened, warn_user
from jointsparse.registry import pick, room

# Choice: penalties fall by the factor FALL until too many features are selected. The interval between the last two
# penalties is then halved, on a logarithmic scale, as long as the next step is larger than the factor FINE.
FALL, FINE = 0.8, 0.98
LEAST_PENALTY = PENALTIES_SPAN[0]  # the path ends here, in natural units
MOST_DRAWS = 100  # pairs of halves that are drawn until each half has positives and negatives of all tasks


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilitySelection:
    """How often each feature was selected on random halves of the samples, and which features are selected often.

    Attributes
    ----------
    frequencies : ndarray (n_features,)
        Fraction of the 2 * n_pairs halves in which at least one task uses the feature.
    task_frequencies : ndarray (n_tasks, n_features)
        Fraction of the halves in which the task uses the feature.
    n_selected : float
        The number q in the bounds: the limit `n_features` if there was one, else the mean number of features that are
        selected on a half, which estimates the expected number.
    n_pairs : int
        Number of pairs of halves.
    features, tasks : ndarray
        Names of the features and of the tasks, or their indices if they have no names.
    threshold : float
        Features with at least this frequency are selected. It is a multiple of 1 / (2 * n_pairs).

    See Also
    --------
    stability_selection : Computes the frequencies.
    StabilityDisplay : Plots them.
    """

    frequencies: np.ndarray
    task_frequencies: np.ndarray
    n_selected: float
    n_pairs: int
    features: np.ndarray
    tasks: np.ndarray
    threshold: float = 1.0

    def at(self, threshold: float) -> Self:
        """Return the same frequencies with another threshold, rounded up to a multiple of 1 / (2 * n_pairs).

        Rounding does not change which features are selected. threshold: above 1/2 and at most 1.
        """
        n = 2 * self.n_pairs
        n_halves = max(math.ceil(n * _as_threshold(threshold) - 1e-9), self.n_pairs + 1)  # more than one half of them
        return replace(self, threshold=n_halves / n)

    def within(self, n_false: float) -> Self:
        """Return the same frequencies with the smallest threshold for which `bound` is at most `n_false`.

        Raises ValueError if no threshold has such a bound.
        """
        wanted, least = as_positive(n_false, "n_false"), self.at(1.0).bound
        require(
            wanted >= least,
            f"n_false must be at least {least:.3g}, the bound at a threshold of 1, got {wanted:g}: select fewer "
            "features per half, with a smaller n_features or radius",
        )
        return self.at(0.5 + max(least / wanted, 1 / self.n_pairs) / 2)

    @property
    def selected(self) -> np.ndarray:
        """Names or indices of the features whose frequency is at least the threshold."""
        return np.asarray(self.features[self.frequencies >= self.threshold])

    @property
    def bound(self) -> float:
        """Bound on the expected number of selected features that a half selects with probability q / p or less.

        The bound is q^2 / ((2 threshold - 1) p), where q is `n_selected` and p the number of features. The samples, or
        their groups, must be drawn independently from one distribution. There is no assumption on this distribution, on
        the estimator or on dependences between features (Shah & Samworth, Theorem 1 with theta = q / p). The bound
        holds for all false selections if no irrelevant feature is selected on a half with a probability above q / p,
        that is, more often than the average feature (compare Meinshausen & Bühlmann 2010, Theorem 1).
        """
        return self.n_selected**2 / len(self.frequencies) / (2 * self.threshold - 1)

    @property
    def unimodal_bound(self) -> float:
        """A sharper bound on the same number, for frequencies whose distributions are unimodal.

        For each of these features, the fraction of the pairs in which both halves select the feature must have a
        unimodal distribution (Shah & Samworth, Theorem 2). The theorem excludes thresholds close to 1/2 and q / p above
        1 / sqrt(3); this property then equals `bound`.
        """
        theta, t, B = self.n_selected / len(self.frequencies), self.threshold, self.n_pairs
        if theta > 3**-0.5 or t <= 0.5 + min(theta**2, 0.5 / B + 0.75 * theta**2):
            return self.bound
        factor = 0.5 / (2 * t - 1 - 0.5 / B) if t <= 0.75 else 4 * (1 - t + 0.5 / B) / (1 + 1 / B)
        return factor * theta * self.n_selected


def _as_threshold(threshold: Any) -> float:
    """Return a threshold as a float. Raise ValueError unless it is above 1/2 and at most 1."""
    value = as_number(threshold, "threshold")
    require(0.5 < value <= 1, f"threshold must be above 0.5 and at most 1, got {value}")
    return value


def stability_selection(
    estimator: Any,
    X: Any,
    Y: Any = None,
    *,
    n_pairs: int = 25,
    n_features: int | None = None,
    threshold: float = 0.9,
    sample_weight: Any = None,
    sample_groups: ArrayLike | Sequence[ArrayLike] | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> StabilitySelection:
    """Fit on random halves of the samples, and count how often each feature is selected.

    Features that a single fit selects may be there by chance. A feature that is selected on almost all halves is not an
    accident of the sample, and the expected number of false selections among these features is bounded. A selection is
    false here if a half selects the feature with a low probability; see `StabilitySelection.bound`. The samples are
    split `n_pairs` times into two halves, and both halves are fitted.

    Parameters
    ----------
    estimator : JointSparseClassifier or JointSparseRegressor
        Estimator whose parameters are used for all fits. It is not changed. Its parameters warm_start, max_time,
        callback and verbose have no effect here.
    X : array, DataFrame or sparse matrix (n_samples, n_features)
        Features. For tasks with samples of their own, pass the list or mapping that `fit_tasks` accepts, without Y.
    Y : array or DataFrame (n_samples,) or (n_samples, n_tasks), or None
        Labels or targets, as in `fit`. NaN, None and pandas.NA stand for unknown entries. None if X holds tasks.
    n_pairs : int, at least 1, default=25
        Number of pairs of halves, and half the number of fits. Shah & Samworth use 50.
    n_features : int or None, at least 1, default=None
        Largest number of features to select on each half, for a norm that selects features. Each half is then fitted
        along a path of falling penalties, down to the smallest penalty that selects at most this number of features;
        each fit starts from the previous one, and the estimator's own radius or penalty is not used. None fits each
        half once with the estimator's radius or penalty.
    threshold : float, above 0.5 and at most 1, default=0.9
        Frequency from which features are selected. The result can be evaluated at other thresholds.
    sample_weight : array, list of arrays or None
        Weights of the samples, as in `fit` or `fit_tasks`.
    sample_groups : array (n_samples,), list of arrays (n_k,) or None
        Name of each sample's group, for example of the person or the place. All samples of a group are in the same
        half. No name may be missing. Not to be confused with the `groups` of features of an estimator.
    n_jobs : int or None, default=None
        Number of halves that are fitted in parallel, as in scikit-learn. It does not change the results.
    random_state : int, at least 0, default=0
        Seed of the random generator that draws the halves.

    Returns
    -------
    StabilitySelection

    Raises
    ------
    ValueError
        If the input or a parameter is invalid, or if no split leaves positives and negatives of each task that has
        both in both halves.

    Warns
    -----
    ConvergenceWarning
        If the gap of any fit exceeds `tol`. A single warning is issued for all fits.
    UserWarning
        If no half selects any feature.

    Notes
    -----
    The bounds are for halves of equal size; the two halves of an odd number of samples differ by one sample. Halves are
    stratified by the rarest label of each sample, so the bounds hold for given numbers of labels. If the estimator has
    `groups` of features, the bounds count features, not groups. Class weights and the coding of the labels come from
    all samples. A penalty on summed losses regularises halves twice as much as all samples: use a radius, or
    normalisation="mean".

    `n_features` of about sqrt(0.8 p), for p features in total, bounds the number of false selections at a threshold of
    0.9 by 1. Of several features that are almost equal, each is selected on some of the halves only, so that none may
    pass the threshold. The norm "l2" selects all features, so `n_features` is not allowed with it.

    References
    ----------
    R. D. Shah, R. J. Samworth: Variable selection with error control: another look at stability selection, Journal of
    the Royal Statistical Society B 75 (2013), 55-80.

    N. Meinshausen, P. Bühlmann: Stability selection, Journal of the Royal Statistical Society B 72 (2010), 417-473.

    Examples
    --------
    >>> import numpy as np
    >>> from jointsparse import JointSparseRegressor, stability_selection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 30))
    >>> Y = X[:, :2] @ [[1.0, 2.0, 1.0], [1.0, -1.0, 2.0]] + rng.normal(size=(60, 3))
    >>> stability = stability_selection(JointSparseRegressor(), X, Y, n_pairs=5, n_features=5)
    >>> stability.selected.tolist(), stability.frequencies[:3].tolist(), round(stability.bound, 2)
    ([0, 1], [1.0, 1.0, 0.0], 1.04)
    >>> stability.within(0.9).threshold
    1.0
    """
    require(
        isinstance(estimator, OneStrength),
        "estimator must be a JointSparseClassifier or JointSparseRegressor, for example with the norm_ and the radius_ "
        f"that a search has chosen, got {type(estimator).__name__}",
    )
    require_count(n_pairs, "n_pairs")
    require_count(random_state, "random_state", least=0)
    _as_threshold(threshold)  # before the fits, which may take long
    require(
        Y is not None or not hasattr(X, "shape"), "Y must be given, unless X is a list or mapping of tasks, got None"
    )
    model: OneStrength = clone(estimator)
    parts = model._read_tasks(X, sample_weight) if Y is None else [model._read_all(X, Y, sample_weight)]
    n_in = int(model.n_features_in_)
    if n_features is not None:
        require_count(n_features, "n_features", n_in)
        require(model._stops(), f"n_features needs a solver that stops at tol, got solver={model.solver!r}")
        selects = [name for name in room("norms") if pick("norms", name).SPARSE]
        require(
            pick("norms", model.norm).SPARSE or n_features == n_in,
            f"n_features={n_features} needs a norm that selects features ({', '.join(selects)}), got "
            f"norm={model.norm!r}, which uses all {n_in}",
        )
    is_list = Y is None and isinstance(sample_groups, Sequence | np.ndarray)
    group_names = None if sample_groups is None else sample_groups if is_list else [sample_groups]
    pairs = _draw_pairs(model, parts, group_names, n_pairs, np.random.default_rng(random_state))
    ends = np.cumsum([len(part.Y) for part in parts])[:-1]
    halves = [[*map(np.flatnonzero, np.split(half, ends))] for first in pairs for half in (first, ~first)]
    jobs = (delayed(_selected)(model, parts, rows, n_features) for rows in halves)
    supports, gaps, exceed = zip(*Parallel(n_jobs=n_jobs)(jobs), strict=True)
    unproven = model._unproven(np.array(gaps), model.tol).sum()
    if unproven:
        warn_user(
            f"{unproven} of {len(halves)} halves have fits that are not certified to be within tol={model.tol:g} of "
            f"their optima, so their features may differ: raise n_iter or tol"
            f"{centring_advice(model._pose_samples(*parts)[0])}",
            ConvergenceWarning,
        )
    used = np.array([support.any(axis=0) for support in supports])
    if not used.any():
        warn_user(f"no feature is selected on any half: {_reason(model, n_features, all(exceed))}")
    return StabilitySelection(
        frequencies=used.mean(axis=0),
        task_frequencies=np.mean(supports, axis=0),
        n_selected=float(used.sum(axis=1).mean() if n_features is None else n_features),
        n_pairs=int(n_pairs),
        features=np.asarray(getattr(model, "feature_names_in_", np.arange(n_in))),
        tasks=np.array(names_of_tasks(model, len(supports[0])), dtype=object),
    ).at(threshold)


def _reason(model: OneStrength, n_features: int | None, all_exceed: bool) -> str:
    """Return why no half selects a feature, with advice. all_exceed: whether each half exceeds the limit at once."""
    if n_features is None:
        return "raise the radius or lower the penalty, and make sure that the labels or targets vary"
    if all_exceed:
        return f"the first features are more than n_features={n_features} at once: raise n_features"
    varying = "targets vary" if model._numeric else "labels include positives and negatives"
    return f"no penalty is small enough to use one, so make sure that the {varying} and that features vary with them"


def sides_of(model: OneStrength, parts: Sequence[TaskSamples]) -> np.ndarray:
    """Return which samples are positives and which are negatives of a task, bool (n_samples, n_tasks, 2).

    The samples and the tasks of the parts follow one another. For targets, the last axis has length 1, and entries are
    True where the target is known.
    """
    known, signs = (block_diag(*arrays) for arrays in zip(*((part.weights > 0, part.Y) for part in parts), strict=True))
    return np.stack([known] if model._numeric else [known & (signs > 0), known & (signs < 0)], axis=2)


def draw_halves(sides: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw a random half, bool (n_groups,), and return it with a mask of the tasks that lack a side in one half.

    Each half has a sample of every side of a task that occurs at all, if MOST_DRAWS draws suffice. sides: bool
    (n_groups, n_tasks, n_sides), True if a sample of the group is on this side; see `sides_of`.
    """
    occurs, lacking = sides.any(axis=0), np.ones(0, dtype=bool)
    stratum = strata(sides.reshape(len(sides), -1), 2)
    for _ in range(MOST_DRAWS):
        half = np.empty(len(sides), dtype=bool)
        # One stratum after the other, groups in random order go to the two halves in turn.
        half[np.lexsort((rng.random(len(sides)), stratum))] = np.arange(len(sides)) % 2 == 0
        lacking = np.any(occurs & ~(sides[half].any(axis=0) & sides[~half].any(axis=0)), axis=1)
        if not lacking.any():
            break
    return half, lacking


def _draw_pairs(
    model: OneStrength, parts: Sequence[TaskSamples], group_names: Any, n_pairs: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Draw the first half of each pair, as masks of the samples of all parts together, bool (n_samples,).

    group_names: for each part, the names of the groups of its samples, or None. Raises ValueError if the groups do not
    fit the samples, or if some task lacks a positive or a negative sample in one half.
    """
    sides = sides_of(model, parts)
    groups = np.arange(len(sides))
    if group_names is not None:
        shapes, n = [np.shape(names) for names in group_names], [len(part.Y) for part in parts]
        require(
            shapes == [(n_k,) for n_k in n],
            f"sample_groups must name a group for each sample{' of each task' * (len(n) > 1)}, "
            f"{shortened(n if len(n) > 1 else n[0])}, got {shortened(shapes)}",
        )
        names = [Labels.read(names_of_part, "sample_groups") for names_of_part in group_names]
        require(all(is_known.all() for _, is_known in names), "sample_groups must have no missing names, got some")
        groups = np.unique(np.concatenate([names_of_part for names_of_part, _ in names]), return_inverse=True)[1]
        sample_sides, sides = sides, np.zeros((groups.max() + 1, *sides.shape[1:]), dtype=bool)
        np.logical_or.at(sides, groups, sample_sides)
    pairs = []
    for _ in range(n_pairs):
        half, lacking = draw_halves(sides, rng)
        tasks = [name for name, lacks in zip(names_of_tasks(model, len(lacking)), lacking, strict=True) if lacks]
        require(
            not tasks,
            f"both halves must hold {'targets' if model._numeric else 'positives and negatives'} of each task, but "
            f"{MOST_DRAWS} random draws gave no such halves: add samples{' or groups' * (group_names is not None)}, or "
            f"leave out {in_words(tasks, 'task')}",
        )
        pairs.append(half[groups])
    return pairs


def _selected(
    model: OneStrength, parts: Sequence[TaskSamples], rows: Sequence[np.ndarray], n_features: int | None
) -> tuple[np.ndarray, float, bool]:
    """Fit some rows of each part.

    Return the used features, bool (n_tasks, n_features), the largest gap, and whether some fit exceeds `n_features`.
    """
    problem, _ = model._pose_samples(*(part.of(index) for part, index in zip(parts, rows, strict=True)))
    if n_features is None:
        _, fit = model._train(problem, *model._strength(problem, model.radius, model.penalty))
        return fit.W[0].T != 0, float(fit.gap[0]), False
    support, gap, start = np.zeros((problem.n_tasks, problem.n_features), dtype=bool), 0.0, None
    natural = penalty = model._scales(problem).penalty
    fall, exceeded = FALL, False
    while fall < FINE and penalty > LEAST_PENALTY * natural:
        _, start = model._train(problem, fall * penalty, True, start=start)
        used, gap = start.W[0].T != 0, max(gap, float(start.gap[0]))
        exceeds = int(used.any(axis=0).sum()) > n_features
        if not exceeds:
            support, penalty = used, fall * penalty
        exceeded = exceeded or exceeds
        fall = fall**0.5 if exceeded else fall
    return support, gap, exceeded
