"""The choice of a radius or penalty on held-out samples, as in Quattoni et al. (2009), sec. 6.2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import column_or_1d

from jointsparse.checks import as_finite, as_radius, require, shortened, warn_user
from jointsparse.estimators.base import (
    Posed,
    Trained,
    all_or_nothing,
    given_one,
    known,
    parameters,
    positional,
    validated,
)
from jointsparse.estimators.labels import CODES, Labelled, probabilities_of_classes, to_dense
from jointsparse.estimators.path import grid_of
from jointsparse.estimators.regressor import Targets
from jointsparse.learning.problem import Fit, Problem, solve_at_zero
from jointsparse.learning.scales import PER_DECADE, radius_at
from jointsparse.learning.sweep import MOST_RADII, NOTHING_LEFT, SELECTIONS, TIE, choose_eta0, next_step
from jointsparse.registry import pick

FOLD_TOL = 1e-2  # Choice: folds are trained to this gap at least, as scores hardly tell closer fits apart.
FIRST_STEPS = range(-2, PER_DECADE + 1)  # of automatic radii
PATIENCE = 2  # automatic radii without a better score before a path ends


class Samples(NamedTuple):
    """Samples of all splits: X (n_samples, n_features), targets or signs Y and weights (n_samples, n_tasks)."""

    X: Any
    Y: np.ndarray
    weights: np.ndarray

    def of(self, rows: np.ndarray) -> Samples:
        """Some of the samples."""
        return Samples(*(array[rows] for array in self))


Split = tuple[np.ndarray, np.ndarray]  # rows to train on, and held-out rows


class Scored(NamedTuple):
    """Scores of some strengths on the held-out samples of a split.

    scores, gaps, unproven: per strength, in the order in which they were fitted. ended: True if a path came to its end,
    so that larger radii change nothing. last: the last fit.
    """

    scores: np.ndarray
    gaps: np.ndarray
    unproven: np.ndarray
    ended: bool
    last: Fit


class _Classified(ClassifierMixin, BaseEstimator):
    """A stand-in for a classifier whose decisions are known, for scorers."""

    def __init__(self, decisions: np.ndarray, classes: np.ndarray, probabilities: np.ndarray | None) -> None:
        self.decisions, self.classes, self.probabilities, self.classes_ = decisions, classes, probabilities, classes

    def decision_function(self, X: Any) -> np.ndarray:
        return self.decisions

    def predict(self, X: Any) -> np.ndarray:
        chosen = self.decisions.argmax(axis=1) if self.decisions.ndim == 2 else (self.decisions > 0).astype(int)
        return np.asarray(self.classes[chosen])

    def predict_proba(self, X: Any) -> np.ndarray:
        if self.probabilities is None:
            raise AttributeError("probabilities need loss='logistic'")
        return self.probabilities


class _Regressed(RegressorMixin, BaseEstimator):
    """A stand-in for a regressor whose predictions are known, for scorers."""

    def __init__(self, predicted: np.ndarray) -> None:
        self.predicted = predicted

    def predict(self, X: Any) -> np.ndarray:
        return self.predicted


def _called(scorer: Callable[..., Any], stand_in: BaseEstimator, X: Any, y: np.ndarray) -> float:
    """The score of a scorer, which must be a finite number."""
    value = scorer(stand_in, X, y)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    require(np.isfinite(number), f"scoring must give one finite number, got {shortened(value)}")
    return number


def mean_over_tasks(
    score: Callable[..., float], F: np.ndarray, Y: np.ndarray, weights: np.ndarray, counts: Callable[..., bool]
) -> float:
    """Average the scores of the tasks that count; NaN if none does.

    Parameters
    ----------
    score : function (y, f, c)
        Score of a task, of samples of positive weight.
    F : array (n_samples, n_tasks)
        Decisions or predictions.
    Y : array (n_samples, n_tasks)
        Signs or targets.
    weights : array (n_samples, n_tasks)
        Weights of the samples.
    counts : function (y)
        True for a task that counts.
    """
    found = []
    for y, f, c in zip(Y.T, F.T, weights.T, strict=True):
        inside = c > 0
        if counts(y[inside]):
            found.append(score(y[inside], f[inside], c[inside]))
    return float(np.mean(found)) if found else np.nan


def has_both(y: np.ndarray) -> bool:
    """True if there are positives and negatives."""
    return len(np.unique(y)) == 2


def choose(scores: np.ndarray, penalised: bool, selection: str) -> int:
    """Index of the best mean score, of equally good ones that of the most regularised.

    Parameters
    ----------
    scores : array (n_grid, n_folds)
        By increasing radius or penalty; larger is better.
    penalised : bool
        True for penalties, of which the largest regularises most.
    selection : "best" or "one_standard_error"
        Means are equally good within `sweep.TIE` of their range, or within the best one's standard error over folds.
    """
    require(selection in SELECTIONS, f"selection must be one of {', '.join(SELECTIONS)}, got {selection!r}")
    means = scores.mean(axis=1)
    slack = TIE * float(np.ptp(means))
    if selection == "one_standard_error" and scores.shape[1] > 1:
        slack = max(slack, float(scores[np.argmax(means)].std(ddof=1) / np.sqrt(scores.shape[1])))
    order = np.arange(len(means))[:: -1 if penalised else 1]
    return int(order[np.argmax(means[order] >= means.max() - slack)])


def strata(Y: np.ndarray, n_folds: int) -> np.ndarray:
    """The rarest label of each sample of a label matrix, -1 for none. Y: (n_samples, n_tasks) of -1, 0, +1.

    Labels that fewer than n_folds samples have as their rarest count as the most frequent result.
    """
    counts = (Y > 0).sum(axis=0)
    order = np.argsort(counts, kind="stable")
    positive = Y[:, order] > 0
    rarest = np.where(positive.any(axis=1), order[positive.argmax(axis=1)], -1)
    found, n = np.unique(rarest, return_counts=True)
    return np.where(np.isin(rarest, found[n >= n_folds]), rarest, found[n.argmax()])


def _table(found: Sequence[Scored]) -> np.ndarray:
    """Scores of several splits, (n_strengths, n_splits)."""
    return np.array([one.scores for one in found]).T


@parameters
class Search(Trained):
    """The choice of a radius or penalty by folds or held-out samples; see `JointSparseClassifierCV`."""

    radii: str | int | Sequence[float] | None = positional("auto")
    penalties: int | Sequence[float] | None = None
    eta0: Sequence[float] = (0.1, 1.0, 10.0, 100.0)
    cv: Any = 5
    scoring: Any = None
    selection: str = "best"
    n_jobs: int | None = None
    validation_tasks: ArrayLike | None = None

    _chance: ClassVar[float]  # the default score of what says nothing

    def _score_of(self, F: np.ndarray, held_out: Samples) -> float:
        """Score of the decisions or predictions F (n_samples, n_tasks) on held-out samples."""
        raise NotImplementedError

    def _search(self, samples: Samples, splits: Sequence[Split], posed: Posed) -> None:
        """Choose on splits of the samples, then train on a problem. Sets the attributes of both."""
        require(splits, "cv must give at least one fold, got none")
        require(
            len(splits) > 1 or self.selection != "one_standard_error",
            "selection must be 'best' without two folds or more, as with X_val, got 'one_standard_error'",
        )
        problem = posed.problem
        if isinstance(self.radii, str) and self.penalties is None:
            require(self.radii == "auto", f"radii must be 'auto', a number of radii or radii, got {self.radii!r}")
            self._extend(samples, splits, self._scales(problem, self.loss).radius)
            penalised = False
        else:
            grid, penalised = self._read_grid(problem)
            self._score_grid(samples, splits, grid, penalised)
        best = self._choose(penalised)
        value = float(self.grid_[best])
        radius, penalty = (None, value) if penalised else (value, None)
        self._train_one(posed, self.loss, radius, penalty, self.eta0)

    def _read_grid(self, problem: Problem) -> tuple[np.ndarray, bool]:
        """The radii or penalties in increasing order, and True if they are penalties."""
        values, penalised = given_one(self.radii, self.penalties, "radii and penalties")
        name = "penalties" if penalised else "radii"
        if np.ndim(values) == 0 and not isinstance(values, (str, bytes, float)):
            return grid_of(self._scales(problem, self.loss), values, penalised), penalised
        grid = np.unique([as_finite(value, f"each of {name}") for value in np.atleast_1d(values)])
        require(len(grid), f"{name} must hold at least one number, got none")
        return grid, penalised

    def _score_grid(self, samples: Samples, splits: Sequence[Split], grid: np.ndarray, penalised: bool) -> None:
        """Set grid_ and scores_, (n_grid, n_splits)."""
        order = slice(None, None, -1 if penalised else 1)
        found = self._scored(samples, splits, grid[order], penalised, [None] * len(splits))
        self.grid_, self.scores_ = grid, _table(found)[order]
        self._warn_of_gaps(found)

    def _extend(self, samples: Samples, splits: Sequence[Split], unit: float) -> None:
        """Set grid_ and scores_ of automatic radii: more are tried until the best one is inside, or the path ends."""
        cold: list[Fit | None] = [None] * len(splits)

        def score(steps: list[int], starts: Sequence[Fit | None]) -> list[Scored]:
            return self._scored(samples, splits, np.array([radius_at(unit, step) for step in steps]), False, starts)

        steps = list(FIRST_STEPS) if unit > 0 else [0]
        top = score(steps, cold)  # with the largest radius so far
        rounds, scores = list(top), _table(top)
        while unit > 0 and len(steps) < MOST_RADII:
            counted = scores[:, ~np.isnan(scores).any(axis=0)]
            if not counted.size:
                break
            means = counted.mean(axis=1)
            slack, ended = TIE * float(np.ptp(means)), all(one.ended for one in top)
            step = next_step(dict(zip(steps, means, strict=True)), ended=ended, slack=slack, patience=PATIENCE)
            if choose(counted, False, self.selection) == 0 and abs(means[0] - means[1]) > slack:
                step = steps[0] - 1
            if step is None:
                break
            if step < 0:
                more = [step - 1, step]
                added = score(more, cold)  # cheap, as small balls are near W = 0
                steps, scores = more + steps, np.vstack([_table(added), scores])
            else:
                more = [step, step + 1]
                added = top = score(more, [one.last for one in top])
                steps, scores = steps + more, np.vstack([scores, _table(added)])
            rounds += added
        self.grid_, self.scores_ = np.array([radius_at(unit, step) for step in steps]), scores
        self._warn_of_gaps(rounds)

    def _scored(
        self,
        samples: Samples,
        splits: Sequence[Split],
        strengths: np.ndarray,
        penalised: bool,
        starts: Sequence[Fit | None],
    ) -> list[Scored]:
        """Score strengths, the most regularised first, on each split."""
        jobs = (
            delayed(self._score_split)(samples, split, strengths, penalised, start)
            for split, start in zip(splits, starts, strict=True)
        )
        return list(Parallel(n_jobs=self.n_jobs)(jobs))

    def _score_split(
        self, samples: Samples, split: Split, strengths: np.ndarray, penalised: bool, start: Fit | None
    ) -> Scored:
        problem, centres = self._pose_shared(*samples.of(split[0]))
        held_out = samples.of(split[1])
        nothing = NOTHING_LEFT * solve_at_zero(problem, pick("losses", self.loss)).objective
        fits: list[Fit] = []
        scores: list[float] = []
        for strength in strengths:
            if start is not None and not penalised and fits and start.value[0] <= nothing:
                fits.append(start)  # a larger ball changes nothing
                scores.append(scores[-1])
                continue
            start = self._fold_fit(problem, float(strength), penalised, start)
            fits.append(start)
            scores.append(self._score_of(np.asarray(held_out.X @ start.W[0]) + start.b[0] + centres, held_out))
        gaps = np.array([fit.gap[0] for fit in fits])
        stops = pick("solvers", self.solver).STOPS_AT_TOL
        ended = bool(fits[-1].value[0] <= nothing)
        return Scored(np.array(scores), gaps, stops & ~(gaps <= self._fold_tol()), ended, fits[-1])

    def _fold_tol(self) -> float:
        return max(as_radius(self.tol, "tol"), FOLD_TOL)

    def _fold_fit(self, problem: Problem, strength: float, penalised: bool, start: Fit | None) -> Fit:
        """Fit of one strength, from the fit before if the solver can."""
        stops = pick("solvers", self.solver).STOPS_AT_TOL
        options = {"start": start} if stops else {}
        pairs, fitted = self._train(
            problem, self.loss, [strength], penalised, list(np.atleast_1d(self.eta0)), tol=self._fold_tol(), **options
        )
        return fitted.of(int(choose_eta0(pairs[:, 0], fitted.objective)[0]))

    def _warn_of_gaps(self, found: Iterable[Scored]) -> None:
        gaps, unproven = (np.concatenate([getattr(one, name) for one in found]) for name in ("gaps", "unproven"))
        if unproven.any():
            warn_user(
                f"the choice rests on {len(gaps)} fits, of which {unproven.sum()} are not certified to be within "
                f"{self._fold_tol():g} of their optima, but within {gaps.max():.2g} (relative) at worst: raise n_iter "
                "or tol, or centre and scale the features",
                ConvergenceWarning,
            )

    def _choose(self, penalised: bool) -> int:
        """Set best_score_ and return the place of the best radius or penalty in the grid."""
        counted = ~np.isnan(self.scores_).any(axis=0)
        require(
            counted.any(),
            "held-out samples must include a positive and a negative of some validation task, got none: choose "
            "fewer folds (cv) or other validation_tasks",
        )
        chosen = choose(self.scores_[:, counted], penalised, self.selection)
        self.best_score_ = float(self.scores_[chosen, counted].mean())
        if self.scoring is None and self.best_score_ <= self._chance:
            warn_user(
                f"the chosen {'penalty' if penalised else 'radius'} has a score of {self.best_score_:.3g} on held-out "
                f"samples, no better than chance ({self._chance:g}): what was learnt says nothing of other samples"
            )
        return chosen

    def _read_tasks_of_choice(self, n_tasks: int) -> None:
        """Set the indices of the validation tasks."""
        self._counted = np.arange(n_tasks)
        if self.validation_tasks is None:
            return
        try:
            tasks = np.arange(n_tasks)[np.asarray(self.validation_tasks)]
        except IndexError:
            tasks = np.empty(0, dtype=int)
        require(
            tasks.ndim == 1 and len(tasks),
            f"validation_tasks must be indices of tasks, 0 to {n_tasks - 1}, or one bool per task, and name one at "
            f"least, got {self.validation_tasks!r}",
        )
        self._counted = tasks

    def _with_held_out(self, train: Samples, held_out: Samples) -> tuple[Samples, list[Split]]:
        """All samples, and the one split that the user has made."""
        stack = sparse.vstack if sparse.issparse(train.X) else np.vstack
        both = Samples(stack([train.X, held_out.X]), *map(np.vstack, zip(train[1:], held_out[1:], strict=True)))
        n = len(train.Y)
        return both, [(np.arange(n), np.arange(n, len(both.Y)))]


@parameters
class JointSparseClassifierCV(Labelled, Search):
    """`JointSparseClassifier` with its radius or penalty chosen on held-out samples.

    Of the radii the one with the largest score is taken, averaged over the validation tasks and the folds. Of equally
    good radii it is the most regularised. The folds are trained to a gap of 1 %, the final fit to `tol`.

    Parameters
    ----------
    norm, loss, solver, n_iter, tol, normalisation, labels, fit_intercept, class_weight
        See JointSparseClassifier. Class weights are those of all samples, also within folds.
    feature_weights, groups, positive
        See JointSparseClassifier.
    max_time, callback, verbose, warm_start
        See JointSparseClassifier. They are about the final fit.
    radii : "auto", int, sequence of float, or None, at least 0, default="auto"
        Radii to try. "auto": four in each factor of ten about the data's natural unit, in both directions until the
        best one is inside or the problem itself ends. An int: so many radii from a tenth of the unit to ten times it.
        None with `penalties`.
    penalties : int, sequence of float, or None, at least 0, default=None
        Penalties to try, if radii is None. An int: so many from a thousandth of the smallest one for which W = 0.
    eta0 : sequence of float, greater than 0, default=(0.1, 1.0, 10.0, 100.0)
        Step sizes of subgradient to choose from by the training objective. Others ignore them.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of fit without X_val, as in scikit-learn. An int means folds stratified by class if y is a vector. For a
        matrix they are shuffled (always in the same way) and stratified by the rarest label of a sample. Folds that
        keep groups of samples together are `GroupKFold(5).split(X, y, groups)`.
    scoring : str, scorer, callable or None, default=None
        Any scikit-learn scorer. For a matrix y it is called for each task with labels 0 and 1, and averaged. None: AUC,
        averaged over tasks, one against the rest.
    selection : {"best", "one_standard_error"}, default="best"
        "one_standard_error" takes the most regularised one whose score is within the standard error of the best over
        two folds or more. Choose it for fewer features at a score that may be as good.
    n_jobs : int or None, default=None
        Folds at the same time, as in scikit-learn. Results are the same for any number.
    validation_tasks : sequence of int or of bool, or None, default=None
        Tasks whose score counts. None: all. The papers take 10 of 40 words and leave these out of the test average.

    Attributes
    ----------
    radius_, penalty_ : float or None
        The chosen one. The other is None.
    eta0_ : float
        The chosen first step size, NaN if the solver has none.
    grid_ : ndarray (n_grid,)
        The radii or penalties in increasing order.
    scores_ : ndarray (n_grid, n_folds)
        Scores, averaged over the validation tasks that have positives and negatives in the fold. NaN for a fold without
        such a task.
    best_score_ : float
        Mean over the other folds at the chosen radius or penalty.
    coef_, intercept_, selected_features_, classes_, duality_gap_, objective_, n_iter_
        See JointSparseClassifier. They describe the final fit, on all samples, or with X_val on those of X.
    n_features_in_, feature_names_in_ : int, ndarray
        As in scikit-learn.

    See Also
    --------
    JointSparseClassifier : The problem, with one radius.
    JointSparseRegressorCV : Real targets.

    References
    ----------
    Quattoni et al. (2009), sec. 6.2.

    Examples
    --------
    >>> X, y = [[1.0, 0.3], [2.0, -0.3], [-1.0, 0.3], [-2.0, -0.3]], [1, 1, 0, 0]
    >>> model = JointSparseClassifierCV(radii=[0.0, 0.5, 1.0], cv=2).fit(X, y)
    >>> model.radius_, model.scores_.tolist()
    (0.5, [[0.5, 0.5], [1.0, 1.0], [1.0, 1.0]])
    """

    _chance = 0.5  # AUC

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, X_val: Any = None, y_val: Any = None
    ) -> Self:
        """Choose and train.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array, DataFrame or sparse matrix (n_samples,) or (n_samples, n_tasks)
            Labels, coded as `labels` says. NaN, None and pandas.NA are unknown.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), at least 0, or None
            Weights of the samples. Weight 2 is the sample twice. Scorers other than the default do not see them.
        X_val : array, DataFrame or sparse matrix (n_held_out, n_features), or None
            Held-out samples that choose instead of folds, as in the papers. None of them is trained on. A Pipeline
            hands them on as they are: transform them first.
        y_val : array or sparse matrix (n_held_out,) or (n_held_out, n_tasks), or None
            Their labels.

        Returns
        -------
        self : JointSparseClassifierCV

        Raises
        ------
        ValueError
            If input or parameters make no sense, or no fold has a validation task with both positives and negatives.
            The estimator keeps its previous state.

        Warns
        -----
        ConvergenceWarning
            Once, if fits that the choice rests on did not reach their gap.
        UserWarning
            If tasks of a matrix lack positives or negatives in a fold.
        """
        X, y, Y, weights = self._read(X, y, sample_weight)
        require((X_val is None) == (y_val is None), "X_val and y_val must be given together")
        self._read_tasks_of_choice(Y.shape[1])
        samples = Samples(X, Y, weights)
        posed = self._pose_shared(*samples)
        if X_val is not None:
            samples, splits = self._with_held_out(samples, self._read_held_out(X_val, y_val, Y.shape[1]))
        else:
            splits = self._folds(X, y, Y)
            if not self._flat:
                self._warn_of_absent(samples, splits)
        self._search(samples, splits, posed)
        return self

    def _folds(self, X: Any, y: Any, Y: np.ndarray) -> list[Split]:
        if self._flat or not isinstance(self.cv, (int, np.integer)):
            splitter = check_cv(self.cv, y if self._flat else None, classifier=self._flat)
            return list(splitter.split(X, y))
        by = strata(Y, int(self.cv))
        return list(StratifiedKFold(self.cv, shuffle=True, random_state=0).split(X, by))

    def _warn_of_absent(self, samples: Samples, splits: Sequence[Split]) -> None:
        """Warn of tasks that some folds cannot judge."""
        absent = np.zeros(samples.Y.shape[1], dtype=int)
        for _, rows in splits:
            inside, positive = samples.weights[rows] > 0, samples.Y[rows] > 0
            absent += ~((inside & positive).any(axis=0) & (inside & ~positive).any(axis=0))
        names = [str(self.classes_[k]) for k in self._counted if absent[k]]
        if names:
            warn_user(
                f"{len(names)} of {len(self._counted)} tasks have no positives or no negatives in some of the "
                f"{len(splits)} folds and do not count there: {', '.join(names[:10])}{', ...' * (len(names) > 10)}",
            )

    def _score_of(self, F: np.ndarray, held_out: Samples) -> float:
        F, Y, weights = (array[:, self._counted] for array in (F, held_out.Y, held_out.weights))
        if self.scoring is None:
            return mean_over_tasks(lambda y, f, c: roc_auc_score(y > 0, f, sample_weight=c), F, Y, weights, has_both)
        scorer = get_scorer(self.scoring)
        likely = self.loss == "logistic"
        if self._has_names() and Y.shape[1] > 1:
            P = probabilities_of_classes(F) if likely else None
            rows = weights.any(axis=1)
            stand_in = _Classified(F[rows], self.classes_[self._counted], None if P is None else P[rows])
            return _called(scorer, stand_in, held_out.X[rows], self.classes_[held_out.Y[rows].argmax(axis=1)])

        def score(y: np.ndarray, f: np.ndarray, c: np.ndarray) -> float:
            p = special.expit(f)
            stand_in = _Classified(f, np.array([0, 1]), np.column_stack([1 - p, p]) if likely else None)
            return _called(scorer, stand_in, np.empty((len(y), 0)), (y > 0).astype(int))

        return mean_over_tasks(score, F, Y, weights, has_both)

    def _read_held_out(self, X_val: Any, y_val: Any, n_tasks: int) -> Samples:
        """Held-out samples, of weight 1 or 0."""
        self._require_names(y_val, "y_val")
        y_val, missing = known(y_val, CODES[self.labels][0])
        X_val, y_val = validated(self, X_val, to_dense(y_val), reset=False, multi_output=True)
        if self._flat:
            y_val = column_or_1d(y_val)
            self._require_classes(y_val, "y_val")
        elif y_val.shape[1:] != (n_tasks,):
            raise ValueError(f"y_val must have one column per task, {n_tasks}, got shape {y_val.shape}")
        Y_val = self._signs(y_val)
        weights = (Y_val != 0).astype(float)
        return Samples(X_val, Y_val, weights if missing is None else weights * ~missing.reshape(len(missing), -1))


@parameters
class JointSparseRegressorCV(Targets, Search):
    """`JointSparseRegressor` with its radius or penalty chosen on held-out samples.

    Parameters
    ----------
    norm, solver, n_iter, tol, normalisation, fit_intercept, feature_weights, groups, positive
        See JointSparseRegressor.
    radii, penalties, eta0, selection, n_jobs, validation_tasks, max_time, callback, verbose, warm_start
        See JointSparseClassifierCV.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of fit without X_val. An int means shuffled folds (always in the same way).
    scoring : str, scorer, callable or None, default=None
        Any scikit-learn scorer, called for each target and averaged. None: R^2.

    Attributes
    ----------
    radius_, penalty_, eta0_, grid_, scores_, best_score_
        See JointSparseClassifierCV.
    coef_, intercept_, selected_features_, duality_gap_, objective_, n_iter_, n_features_in_, feature_names_in_
        See JointSparseRegressor. They describe the final fit.

    See Also
    --------
    JointSparseRegressor : The problem, with one radius.

    References
    ----------
    Quattoni et al. (2009), sec. 6.2, with real targets.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = JointSparseRegressorCV().fit(X, X[:, :2] @ [[1.0, 2.0], [2.0, 1.0]])
    >>> model.coef_.shape, model.best_score_ > 0.9
    ((2, 5), True)
    """

    _chance = 0.0  # R^2

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, X_val: Any = None, y_val: Any = None
    ) -> Self:
        """Choose and train.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array or DataFrame (n_samples,) or (n_samples, n_tasks)
            Targets, real numbers. NaN is unknown.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), at least 0, or None
            Weights of the samples.
        X_val : array, DataFrame or sparse matrix (n_held_out, n_features), or None
            Held-out samples that choose instead of folds. A Pipeline hands them on as they are: transform them first.
        y_val : array (n_held_out,) or (n_held_out, n_tasks), or None
            Their targets.

        Returns
        -------
        self : JointSparseRegressorCV

        Raises
        ------
        ValueError
            If input or parameters make no sense. The estimator keeps its previous state.
        """
        samples = Samples(*self._read(X, y, sample_weight))
        require((X_val is None) == (y_val is None), "X_val and y_val must be given together")
        self._read_tasks_of_choice(samples.Y.shape[1])
        posed = self._pose_shared(*samples)
        if X_val is not None:
            self._require_names(y_val, "y_val")
            flat, names = self._flat, self._names
            held_out = Samples(*self._read(X_val, y_val, None, reset=False))
            self._flat, self._names = flat, names
            require(
                held_out.Y.shape[1:] == samples.Y.shape[1:],
                f"y_val must have one column per task, {samples.Y.shape[1]}, got shape {held_out.Y.shape}",
            )
            samples, splits = self._with_held_out(samples, held_out)
        elif isinstance(self.cv, (int, np.integer)):
            splits = list(KFold(self.cv, shuffle=True, random_state=0).split(samples.X))
        else:
            splits = list(check_cv(self.cv).split(samples.X, samples.Y))
        self._search(samples, splits, posed)
        return self

    def _score_of(self, F: np.ndarray, held_out: Samples) -> float:
        scorer = None if self.scoring is None else get_scorer(self.scoring)

        def score(y: np.ndarray, f: np.ndarray, c: np.ndarray) -> float:
            if scorer is None:
                return float(r2_score(y, f, sample_weight=c))
            return _called(scorer, _Regressed(f), np.empty((len(y), 0)), y)

        F, Y, weights = (array[:, self._counted] for array in (F, held_out.Y, held_out.weights))
        return mean_over_tasks(score, F, Y, weights, lambda y: len(y) > 1)
