"""Estimators that choose the radius or penalty on held-out samples, as in Quattoni et al. (2009), sec. 6.2."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, r2_score, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed

from jointsparse.checks import as_radius, require
from jointsparse.estimators.base import (
    Trained,
    all_or_nothing,
    are_listed,
    centring_advice,
    parameters,
    positional,
    radius_or_penalty,
)
from jointsparse.estimators.classifier import Labelled, has_probabilities
from jointsparse.estimators.labels import Labels
from jointsparse.estimators.linear import TaskSamples, in_words
from jointsparse.estimators.path import fits_along
from jointsparse.estimators.regressor import Targets
from jointsparse.estimators.watch import Watch
from jointsparse.learning.fit import Fit
from jointsparse.learning.problem import Problem
from jointsparse.learning.radii import (
    MOST_RADII,
    PATIENCE,
    PER_DECADE,
    SELECTIONS,
    TIE,
    first_of_best,
    next_step,
    radius_at,
    rounds,
    tie_of,
)
from jointsparse.messages import shortened, warn_user
from jointsparse.metrics import auc
from jointsparse.registry import pick, room

LOG = logging.getLogger(__name__)  # shows the progress of a search: one line at the start of each fit
FOLD_TOL = 3e-2  # Choice: fits on folds stop at this gap. Smaller gaps change the scores by less than .001.
SILENT = 2.0  # Choice: no warning for gaps up to this many times the tolerance, which do not change the choice
FIRST_STEPS = range(-PATIENCE, PATIENCE + 1)  # steps of the first automatic radii
FOLDS_SHARE = 0.5  # Choice: fraction of max_time that the folds may use, so that the rest is left for the final fit
LEAST_GAIN = 0.5  # Choice: a path ends unless larger radii improve the score by this many standard errors
WIDTH = PATIENCE  # number of radii that are tried in one round
# With a single split, the first radii are smaller, and a round tries one radius: each larger radius takes longer.
FIRST_STEPS_OF_ONE_SPLIT, WIDTH_OF_ONE_SPLIT = range(-2 * PATIENCE, 1), 1
N_RESAMPLES = 25  # bootstrap resamples of the held-out samples of a single split, for the standard error of a score
# Choice: with a single split, a fit stops at the gap ROUGH_TOL if its score is then FAR standard errors below the best.
ROUGH_TOL, FAR = 0.3, 5.0


class Split(NamedTuple):
    """Training samples and held-out samples, as rows.

    groups: the number of the group of each held-out sample, if its groups are to be resampled, or None.
    """

    train: np.ndarray
    held_out: np.ndarray
    groups: np.ndarray | None = None


class Scored(NamedTuple):
    """Results of fits with several strengths (radii or penalties) on the training samples of one split.

    scores, errors, gaps, features : lists, in order of increasing strength
        Score on the held-out samples and its bootstrap standard error, which is NaN if there are other splits,
        certified gap, and number of selected features of each fit. If time ran out, the least regularised fits are
        missing.
    ended : bool
        True if a larger radius could not change the fit.
    """

    scores: list[float]
    errors: list[float]
    gaps: list[float]
    features: list[int]
    ended: bool


FIT_FIELDS = "scores", "errors", "gaps", "features"  # fields of Scored that hold one value per fit


class ScoredRound(NamedTuple):
    """Radii or penalties that are tried in one round, in increasing order, and the results on each split."""

    strengths: np.ndarray
    by_split: list[Scored]


class _Classified(Labelled):
    """A classifier with given decision values, which is passed to scorers in place of a fitted model."""

    def __init__(self, loss: str, classes: np.ndarray, decisions: np.ndarray) -> None:
        super().__init__(loss=loss)
        self._flat, self._codes, self.classes_, self.decisions = True, classes, classes, decisions

    def _margins(self, X: Any) -> np.ndarray:
        return self.decisions

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X) if has_probabilities(self) else None


class _Regressed(Targets):
    """A regressor that predicts the value of its only feature, and is passed to scorers in place of a fitted model."""

    _flat = True

    def _margins(self, X: Any) -> np.ndarray:
        return np.asarray(X)


def _called(scorer: Callable[..., Any], stand_in: BaseEstimator, X: Any, y: np.ndarray) -> float:
    """Call a scorer, and return its score. Raises ValueError if the score is not a finite number."""
    value = scorer(stand_in, X, y)
    require(
        isinstance(value, float | int | np.number) and np.isfinite(value),
        f"scoring must return one finite number, got {shortened(value)}",
    )
    return float(value)


def comparable(scores: np.ndarray) -> np.ndarray:
    """Drop splits without scores. scores: (n_strengths, n_splits)."""
    return scores[:, ~np.isnan(scores).any(axis=0)]


def standard_errors(scores: np.ndarray, of_one_split: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean score of each strength, (n_strengths,).

    scores: (n_strengths, n_splits). of_one_split: the errors if there is only one split, (n_strengths,).
    """
    counted = comparable(scores)
    n = counted.shape[1]
    return counted.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else of_one_split


def best_place(result: Mapping[str, np.ndarray], penalised: bool, selection: str | None, tie: float = TIE) -> int:
    """Return the index of the best radius or penalty.

    Parameters
    ----------
    result : mapping
        Results of one norm; see `JointSparseClassifierCV.results_by_norm_`.
    penalised, selection, tie : as in `choose`
        See there.
    """
    regularised_first = np.arange(len(result["scores"]))[:: -1 if penalised else 1]
    mean = comparable(result["scores"]).mean(axis=1)[regularised_first]
    error = result["errors"][regularised_first][mean.argmax()] if selection == "one_standard_error" else 0.0
    return int(regularised_first[first_of_best(mean, max(tie, error))])


def choose(
    results: Mapping[str, Mapping[str, np.ndarray]], penalised: bool, selection: str | None = None, tie: float = TIE
) -> tuple[str, int]:
    """Choose a norm and a radius or penalty, and return the name of the norm and the index in its grid.

    Among norms whose best scores are equally good, the norm with the smallest mean number of features over the folds is
    chosen.

    Parameters
    ----------
    results : mapping
        Results by norm; see `JointSparseClassifierCV.results_by_norm_`. At least one split must have a score.
    penalised : bool
        True if the grids hold penalties, False if they hold radii.
    selection : "best", "one_standard_error" or None
        See `JointSparseClassifierCV`.
    tie : float
        Mean scores that differ by less than this are equally good; see `radii.tie_of`.
    """
    places = [best_place(result, penalised, selection, tie) for result in results.values()]
    best = {
        key: np.array([result[key][place] for result, place in zip(results.values(), places, strict=True)])
        for key in ("scores", "errors", "features")
    }
    mean, features = comparable(best["scores"]).mean(axis=1), best["features"].mean(axis=1)
    order = np.lexsort((-mean, features))  # norms with equally many features are sorted by their scores
    error = 0.0 if selection == "best" else best["errors"][mean.argmax()]
    chosen = order[first_of_best(mean[order], max(tie, error))]
    return list(results)[chosen], places[chosen]


def strata(Y: np.ndarray, n_folds: int) -> np.ndarray:
    """Return the stratum of each sample, (n_samples,). Stratified folds then share out the rare labels evenly.

    The stratum of a sample is the index of its rarest positive label, or -1 if it has none. Strata of fewer than
    `n_folds` samples are merged into the largest stratum. Y: (n_samples, n_tasks), with entries -1, 0 and +1.
    """
    order = np.argsort((Y > 0).sum(axis=0), kind="stable")
    positive = Y[:, order] > 0
    rarest = np.where(positive.any(axis=1), order[positive.argmax(axis=1)], -1)
    labels, n_samples = np.unique(rarest, return_counts=True)
    return np.where(np.isin(rarest, labels[n_samples >= n_folds]), rarest, labels[n_samples.argmax()])


@parameters
class Search(Trained):
    """Base class of estimators that choose a radius or penalty on held-out samples; see `JointSparseClassifierCV`."""

    radii: str | int | Sequence[float] | None = positional("auto")
    penalties: int | Sequence[float] | None = None
    eta0: Sequence[float] = (0.1, 1.0, 10.0, 100.0)
    cv: Any = 5
    scoring: Any = None
    selection: str | None = None
    n_jobs: int | None = None
    validation_tasks: ArrayLike | None = None

    _chance: ClassVar[float]  # the default score of a model that predicts at random

    def _norm(self) -> ModuleType:
        """Return the module of the norm that is being tried or, after the search, of the chosen norm."""
        return pick("norms", self.norm_)

    def _norms(self) -> list[str]:
        """Return the names of the norms to try: with "auto", all norms that support the given groups and weights."""
        names = room("norms")
        if not isinstance(self.norm, str) or self.norm != "auto":
            known = isinstance(self.norm, str) and self.norm in names
            require(known, f"norm must be one of auto, {', '.join(sorted(names))}, got {self.norm!r}")
            return [self.norm]
        needed = [
            flag for flag, value in (("GROUPED", self.groups), ("WEIGHTED", self.feature_weights)) if value is not None
        ]
        # Choice: every plug-in is tried, so that a new norm only has to be listed in NORMS.
        return [name for name in names if all(getattr(pick("norms", name), flag) for flag in needed)]

    def _score_task(self, y: np.ndarray, f: np.ndarray, c: np.ndarray) -> float:
        """Return the score of predictions or decision values f for targets or signs y; NaN if undefined. c: weights."""
        raise NotImplementedError

    def _folds(self, y: Any, samples: TaskSamples, **split_params: Any) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Return the indices of the training and the held-out samples of each fold.

        y: as the user passed it. split_params: further arguments of the splitter, such as `groups`.
        """
        return check_cv(self.cv, y, classifier=not self._numeric).split(samples.X, y, **split_params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that `fit`, `score` and the splitter `cv` take, for scikit-learn's metadata routing."""
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        # check_cv would use up an iterator of folds. Given folds take groups, as in scikit-learn, and ignore them.
        is_given = isinstance(self.cv, Iterable) and not hasattr(self.cv, "split")
        splitter = GroupKFold() if is_given else check_cv(self.cv if hasattr(self.cv, "split") else None)
        return router.add(splitter=splitter, method_mapping=to_split)

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        **params: Any,
    ) -> Self:
        """Choose the radius or penalty, and train with it on all samples of X.

        Parameters
        ----------
        X, y, sample_weight : as in `JointSparseClassifier.fit`
            Training samples. Scorers other than the default ignore the weights.
        X_val : array, DataFrame or sparse matrix (n_held_out, n_features), or None
            Held-out samples for the choice, which replace the folds, as in the papers. They are never trained on. A
            scikit-learn Pipeline transforms them only if it has `transform_input=["X_val"]` and metadata routing is
            enabled; otherwise transform them beforehand.
        y_val : array, DataFrame or sparse matrix (n_held_out,) or (n_held_out, n_tasks), or None
            Labels or targets of the held-out samples.
        **params : Any
            Arguments of the method `split` of `cv`. For example, GroupKFold takes `groups`, the group of each sample,
            which has nothing to do with the `groups` of features of the estimator. If there is only one split, its
            standard error is computed from resamples of whole groups.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If the input or a parameter is invalid, or if no fold has a validation task with both positives and
            negatives. The estimator then keeps its previous state.
        TypeError
            If `cv` does not take one of `params`.

        Warns
        -----
        ConvergenceWarning
            If any fits on the folds have a gap that is too large. A single warning is issued for all of them.
        UserWarning
            If y is a matrix and some of its tasks lack positives or negatives in a fold.
        """
        require((X_val is None) == (y_val is None), "X_val and y_val must be given together")
        require(X_val is None or not params, f"X_val replaces the folds, so fit takes no {', '.join(params)} with it")
        split_params = process_routing(self, "fit", **params).splitter.split
        watch, watch_of_folds = self._watch(), self._watch(FOLDS_SHARE)
        samples = self._read_all(X, y, sample_weight)
        n, n_tasks = samples.Y.shape
        self._counted = self._validation_tasks(n_tasks)
        problem, centres = self._pose_samples(samples)
        if X_val is None:
            splits = [
                Split(*rows) for rows in self._folds(Labels.read(y, numeric=self._numeric).y, samples, **split_params)
            ]
            if len(splits) == 1 and params.get("groups") is not None:
                names = np.asarray(Labels.read(params["groups"], "groups").y)[splits[0].held_out]
                splits = [splits[0]._replace(groups=np.unique(names, return_inverse=True)[1])]
        else:
            held_out = self._read(X_val, y_val, None, reset=False, training=False, name="y_val")
            is_sparse = sparse.issparse(samples.X)  # the held-out samples take the format of X
            X_val = held_out.X if is_sparse or not sparse.issparse(held_out.X) else held_out.X.toarray()
            X = sparse.vstack([samples.X, X_val], format="csr") if is_sparse else np.vstack([samples.X, X_val])
            samples = TaskSamples(X, *map(np.vstack, zip(samples[1:], held_out[1:], strict=True)))
            splits = [Split(np.arange(n), np.arange(n, len(samples.Y)))]
        require(splits, "cv must give at least one fold, got none")
        require(
            self.selection in (None, *SELECTIONS),
            f"selection must be one of {', '.join(SELECTIONS)}, got {self.selection!r}",
        )
        values, penalised = self._given()
        self._try_norms(problem, samples, splits, values, penalised, watch_of_folds)
        del samples  # frees the copies of the labels and weights, which the problem has, too
        value = self._choose(problem, penalised)
        radius, penalty = (None, value) if penalised else (value, None)
        return self._train_one(problem, centres, radius, penalty, watch)

    def _given(self) -> tuple[Any, bool]:
        """Return the radii or penalties as the user passed them, and a flag that is True for penalties."""
        values, penalised = radius_or_penalty(self.radii, self.penalties, "radii and penalties")
        if not penalised and isinstance(values, str):
            require(values == "auto", f"radii must be 'auto', a list of radii or their number, got {values!r}")
        elif isinstance(self.norm, str) and self.norm == "auto":
            name = "penalties" if penalised else "radii"
            require(
                not are_listed(values),
                f"{name} must be the number of {name}{', or auto,' * (not penalised)} if norm='auto', because {name} "
                f"of different norms are not comparable, got {shortened(values)}",
            )
        return values, penalised

    def _try_norms(
        self,
        problem: Problem,
        samples: TaskSamples,
        splits: Sequence[Split],
        values: Any,
        penalised: bool,
        watch: Watch,
    ) -> None:
        """Score radii or penalties for each norm, and warn if time ran out. watch: limits the time for all norms."""
        norms, missed = self._norms(), []
        self.results_by_norm_: dict[str, dict[str, np.ndarray]] = {}
        for i, norm in enumerate(norms):
            self.norm_: str = norm
            share = Watch(None, watch.left() / (len(norms) - i), False)  # later norms may use the time that is left
            if self._try_norm(problem, samples, splits, values, penalised, share):
                missed.append(f"{len(self.grid_)}{f' ({norm})' * (len(norms) > 1)}")
        if missed:
            warn_user(
                f"max_time={self.max_time:g} was long enough for {', '.join(missed)} "
                f"{'penalties' if penalised else 'radii'} only, the most regularised ones: raise max_time, n_jobs or "
                "tol",
                ConvergenceWarning,
            )

    def _try_norm(
        self,
        problem: Problem,
        samples: TaskSamples,
        splits: Sequence[Split],
        values: Any,
        penalised: bool,
        watch: Watch,
    ) -> bool:
        """Score radii or penalties for the current norm. Return True if time ran out before all of them were tried.

        values: the radii or penalties as the user passed them. watch: limits the time for the fits with this norm.
        """
        if isinstance(values, str) and not penalised:
            return self._extend(samples, splits, self._scales(problem).radius, watch)
        grid = self._grid(problem, values, penalised, "penalties" if penalised else "radii")
        self._keep_scores([self._scored(samples, splits, grid, watch, penalised=penalised)[0]])
        return len(self.grid_) < len(grid)

    def _extend(self, samples: TaskSamples, splits: Sequence[Split], unit: float, watch: Watch) -> bool:
        """Score automatic radii, in the order that `radii.next_step` gives. Return True if time ran out.

        If the scores fall early, a radius of ten times the unit is tried before the path ends. watch: limits the time
        for the folds.
        """
        tried: list[int] = []
        scored: list[ScoredRound] = []  # by increasing radius
        largest: Sequence[Fit] = ()  # for each split, the fit with the largest radius
        least = 0
        first, width = (FIRST_STEPS_OF_ONE_SPLIT, WIDTH_OF_ONE_SPLIT) if len(splits) == 1 else (FIRST_STEPS, WIDTH)

        def score(
            steps: Sequence[int], splits: Sequence[Split], starts: Sequence[Fit]
        ) -> tuple[ScoredRound, Sequence[Fit]]:
            strengths = np.array([radius_at(unit, step) for step in steps])
            floor = self._floor() if tried and len(splits) == 1 and steps[0] > tried[-1] else -np.inf
            return self._scored(samples, splits, strengths, watch, starts, floor=floor)

        def following() -> int | None:
            nonlocal least
            if unit == 0:
                return None
            ended = all(fits.ended for fits in scored[-1].by_split)
            step = self._next_step(tried, ended, least)
            first_scores = self.scores_[:, 0]
            if step is not None or ended or least or max(tried) >= PER_DECADE or np.isnan(first_scores).any():
                return step
            least = PER_DECADE
            # A single split is enough to see whether the scores rise again.
            look = score([least], splits[:1], largest[:1])[0].by_split[0]
            return tried[-1] + 1 if look.scores[0] > first_scores.max() + self._gain() else None

        for steps in rounds(first if unit > 0 else [0], following, width):
            if tried and watch.left() < 0:
                return True
            below = bool(tried) and steps[0] < tried[0]
            if below:  # in small balls the solution is close to W = 0, so these fits need no warm start
                scored, tried = [score(steps, splits, ())[0], *scored], [*steps, *tried]
            else:
                latest, largest = score(steps, splits, largest)
                scored, tried = [*scored, latest], [*tried, *steps]
            self._keep_scores(scored)
            if len(self.grid_) < len(tried):  # there was no time for the larger radii of this round
                return True
        return False

    def _next_step(self, steps: Sequence[int], ended: bool, least: int) -> int | None:
        """Return the step of the radius to try next (see `radii.radius_at`), or None if the path ends."""
        scores, gain = comparable(self.scores_), self._gain()
        if not scores.size or len(steps) >= MOST_RADII:
            return None
        means, result = scores.mean(axis=1), self.results_by_norm_[self.norm_]
        tie = self._tie(scores)
        if best_place(result, False, self.selection, tie) == 0 and abs(means[0] - means[1]) > tie:
            return steps[0] - 1
        # The first radii of a single split lie below step 0, so larger ones than the best may have been tried already.
        if scores.shape[1] == 1:
            best = steps[first_of_best(means, gain)]
            ended = ended or steps[-1] >= max(best + PATIENCE, least)
        by_step = dict(zip(steps, means.tolist(), strict=True))
        return next_step(by_step, least=least, ended=ended, slack=gain)

    def _floor(self) -> float:
        """Return the score below which the fit with a larger radius may stay rough: it cannot become the best one.

        As long as the scores rise, there is no such score.
        """
        scores, errors = self.scores_[:, 0], self.results_by_norm_[self.norm_]["errors"]
        best = scores.argmax()
        has_fallen = scores[-1] < scores[best] - errors[best]
        return float(scores[best] - FAR * errors[best]) if has_fallen else -np.inf

    def _gain(self) -> float:
        """Return the difference in mean score by which a larger radius must be better for the path to go on."""
        scores = comparable(self.scores_)
        error = self.results_by_norm_[self.norm_]["errors"][scores.mean(axis=1).argmax()] if scores.size else 0.0
        return max(self._tie(scores), LEAST_GAIN * error) if scores.size else 0.0

    def _tie(self, *scores: np.ndarray) -> float:
        """Return the difference below which mean scores are ties. scores: arrays (n_strengths, n_splits)."""
        if self.scoring is None:
            return TIE  # the scores are AUCs or R^2
        return tie_of(np.concatenate([comparable(table).mean(axis=1) for table in scores]))

    def _scored(
        self,
        samples: TaskSamples,
        splits: Sequence[Split],
        strengths: np.ndarray,
        watch: Watch,
        starts: Sequence[Fit] = (),
        penalised: bool = False,
        floor: float = -np.inf,
    ) -> tuple[ScoredRound, Sequence[Fit]]:
        """Fit all strengths on each split, with the splits in parallel, and score the fits on the held-out samples.

        Return the scores and, for each split, the last fit, which is the least regularised one. starts: for each split,
        a fit for a warm start. floor: fits whose score is below this number need no small gap.
        """
        seconds = watch.left() / math.ceil(len(splits) / effective_n_jobs(self.n_jobs))
        norms = self._norms()
        of_norms = f"norm {norms.index(self.norm_) + 1} of {len(norms)}, " if len(norms) > 1 else ""
        jobs = (
            delayed(self._score_split)(
                samples,
                split,
                strengths,
                penalised,
                start,
                seconds,
                of_norms + (f"fold {i} of {len(splits)}" if len(splits) > 1 else "one split"),
                floor,
                len(splits) == 1,
            )
            for i, (split, start) in enumerate(zip(splits, starts or len(splits) * [None], strict=True), start=1)
        )
        results, last_fits = zip(*Parallel(n_jobs=self.n_jobs)(jobs), strict=True)
        # A split may have run out of time, so only the strengths that all splits have tried are kept. Penalties are
        # tried in decreasing order.
        tried = min(len(result.scores) for result in results)
        kept = slice(-tried, None) if penalised else slice(tried)
        by_split = [result._replace(**{name: getattr(result, name)[kept] for name in FIT_FIELDS}) for result in results]
        return ScoredRound(strengths[kept], by_split), last_fits

    def _score_split(
        self,
        samples: TaskSamples,
        split: Split,
        strengths: np.ndarray,
        penalised: bool,
        start: Fit | None,
        seconds: float,
        fold: str,
        floor: float,
        is_only: bool,
    ) -> tuple[Scored, Fit]:
        """Fit all strengths on the training samples of a split, and score the fits on its held-out samples.

        Return the scores and the last fit. floor: see `_scored`. is_only: True if there are no other splits, so that
        errors must come from resamples.
        """
        watch = Watch(None, seconds, False)
        problem, centres = self._pose_samples(samples.of(split.train))

        def predicted(fit: Fit, held_out: TaskSamples) -> np.ndarray:
            return np.asarray(held_out.X @ fit.W[0]) + fit.b[0] + centres

        def score(fit: Fit) -> float:
            held_out = samples.of(split.held_out)  # a copy that needs no memory during the fits
            return self._score_of(predicted(fit, held_out), held_out)

        def train(strength: float, start: Fit | None) -> Fit:
            LOG.info("%s, %s %.4g, %s", self.norm_, "penalty" if penalised else "radius", strength, fold)
            options: dict[str, Any] = {"watch": watch} | ({"start": start} if self._stops() else {})
            if floor > -np.inf and self._stops() and self._fold_tol() < ROUGH_TOL:
                fit = self._train(problem, strength, penalised, tol=ROUGH_TOL, **options)[1]
                if watch.ended_by or score(fit) < floor:
                    return fit
                options["start"] = fit
            return self._train(problem, strength, penalised, tol=self._fold_tol(), **options)[1]

        ends = self._end_of_path(problem)
        fits = fits_along(train, strengths, penalised, start=start, ends=ends, watch=watch)
        held_out = samples.of(split.held_out)
        predictions = [predicted(fit, held_out) for fit in fits]
        scores = [self._score_of(F, held_out) for F in predictions]
        errors = [self._error_of(F, held_out, split.groups) if is_only else np.nan for F in predictions]
        gaps = [float(fit.gap[0]) for fit in fits]
        features = [int(fit.W[0].any(axis=1).sum()) for fit in fits]
        ended = not penalised and ends(float(strengths[len(fits) - 1]), fits[-1])
        repeats = 1 + (len(strengths) - len(fits)) * ended  # the fits with larger radii would be the same

        def extended(values: list[Any]) -> list[Any]:
            return values[:-1] + repeats * values[-1:]

        return Scored(extended(scores), extended(errors), extended(gaps), extended(features), ended), fits[-1]

    def _error_of(self, F: np.ndarray, held_out: TaskSamples, groups: np.ndarray | None) -> float:
        """Return the standard error of `_score_of` over bootstrap resamples of the held-out samples or their groups."""
        if self.scoring is None:  # only a scorer may look at X, whose copies would take long
            held_out = held_out._replace(X=held_out.X[:, :0])
        n = len(F) if groups is None else groups.max() + 1
        drawn: Iterable[np.ndarray] = np.random.default_rng(0).integers(n, size=(N_RESAMPLES, n))
        if groups is not None:
            rows_of = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
            drawn = (np.concatenate([rows_of[group] for group in resample]) for resample in drawn)
        scores = np.array([self._score_of(F[rows], held_out.of(rows)) for rows in drawn])
        return float(scores[~np.isnan(scores)].std()) if not np.isnan(scores).all() else np.nan

    def _score_of(self, F: np.ndarray, held_out: TaskSamples) -> float:
        """Return the mean score over the tasks that have a score, or NaN. F: their predictions or decision values."""
        by_task = self._scores_of(*(array[:, self._counted] for array in (held_out.Y, F, held_out.weights)))
        known = by_task[~np.isnan(by_task)]
        return float(known.mean()) if len(known) else np.nan

    def _scores_of(self, Y: np.ndarray, F: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the score of each task, (n_tasks,), or NaN if it is undefined. Y, F, weights: (n_samples, n_tasks)."""
        tasks = zip(Y.T, F.T, weights.T, strict=True)
        return np.array([self._score_task(y[c > 0], f[c > 0], c[c > 0]) for y, f, c in tasks])

    def _fold_tol(self) -> float:
        """Return the relative duality gap at which the fits on the folds stop."""
        return max(as_radius(self.tol, "tol"), FOLD_TOL)

    def _keep_scores(self, rounds: Sequence[ScoredRound]) -> None:
        """Store the results of the current norm as arrays (n_grid, n_splits). rounds: by increasing strength."""
        result = {"grid": np.concatenate([tried.strengths for tried in rounds])} | {
            name: np.vstack([np.array([getattr(fits, name) for fits in tried.by_split]).T for tried in rounds])
            for name in FIT_FIELDS
        }
        errors = standard_errors(result["scores"], result["errors"][:, 0])
        self.results_by_norm_[self.norm_] = result | {"errors": errors}
        self._show_norm()

    def _show_norm(self) -> None:
        """Set `grid_`, `scores_` and `_gaps` to the results of the norm `norm_`."""
        self.grid_, self.scores_, self._gaps = (
            self.results_by_norm_[self.norm_][name] for name in ("grid", "scores", "gaps")
        )

    def _choose(self, problem: Problem, penalised: bool) -> float:
        """Choose the norm and its radius or penalty, set the attributes of the search, and return this strength."""
        gaps = np.concatenate([result["gaps"].ravel() for result in self.results_by_norm_.values()])
        unproven = self._unproven(gaps, self._fold_tol())
        if unproven.any() and not gaps.max() <= SILENT * self._fold_tol():
            warn_user(
                f"of the {gaps.size} fits on the folds, {unproven.sum()} are not certified to be within "
                f"{self._fold_tol():g} of their optima, only within {gaps.max():.2g} (relative) at worst: raise "
                f"{'' if self.max_time is None else 'max_time, '}n_iter or tol{centring_advice(problem)}",
                ConvergenceWarning,
            )
        require(
            comparable(self.scores_).size,
            "the held-out samples of some fold must include a positive and a negative of a validation task, but none "
            "do: choose fewer folds (cv) or other validation_tasks",
        )
        tie = self._tie(*(result["scores"] for result in self.results_by_norm_.values()))
        self.norm_, chosen = choose(self.results_by_norm_, penalised, self.selection, tie)
        self._show_norm()
        self.best_score_ = float(np.nanmean(self.scores_[chosen]))
        if self.scoring is None and self.best_score_ <= self._chance:
            warn_user(
                f"the chosen {'penalty' if penalised else 'radius'} has a score of {self.best_score_:.3g} on held-out "
                f"samples, no better than chance ({self._chance:g}): the model does not generalise to other samples"
            )
        return float(self.grid_[chosen])

    def _validation_tasks(self, n_tasks: int) -> np.ndarray:
        """Return the indices of the tasks whose scores count for the choice."""
        tasks = np.arange(n_tasks)
        if self.validation_tasks is not None:
            try:
                tasks = tasks[np.asarray(self.validation_tasks)]
            except IndexError:
                tasks = np.empty(0, dtype=int)
        require(
            tasks.ndim == 1 and len(tasks),
            f"validation_tasks must hold indices of tasks, from 0 to {n_tasks - 1}, or one bool per task, and select "
            f"at least one task, got {self.validation_tasks!r}",
        )
        return tasks


@parameters
class JointSparseClassifierCV(Labelled, Search):
    """`JointSparseClassifier` whose radius or penalty is chosen on held-out samples.

    The choice is the radius or penalty with the highest score, averaged over the validation tasks and the folds. Among
    equally good values, the most regularised one is chosen. Scores count as equal if they differ by less than 0.0001
    or, with `scoring`, by less than 0.0001 times the smallest power of ten that reaches the size of the best score.
    Fits on the folds stop at a relative duality gap of 3 %, or at `tol` if it is larger; the final fit stops at `tol`.

    Parameters
    ----------
    norm : a name in `jointsparse.norms.NORMS`, or "auto", default="l1inf"
        "auto" tries all norms on the same held-out samples and chooses one according to `selection`. This takes as long
        as a separate search for each norm. The number of features of a norm is the mean over its fits on the folds.
        Norms that do not support `groups` or `feature_weights` are left out if these parameters are given.
    loss, solver, n_iter, tol, normalisation, labels, fit_intercept, class_weight
        See JointSparseClassifier. "balanced" class weights are computed from all samples, not per fold.
    feature_weights, groups, positive, l2
        See JointSparseClassifier.
    max_time : float or None, above 0, default=None
        Number of seconds for the folds and the final fit together. The folds take at most half of the time, which is
        divided among the norms. If time runs out, the choice is among the most regularised radii, and a warning is
        issued.
    callback, verbose, warm_start
        See JointSparseClassifier. They apply to the final fit only.
    radii : "auto", int, sequence of float, or None, at least 0, default="auto"
        Radii to try. "auto" starts around the natural unit of the data, with four radii per factor of ten, and extends
        the path in both directions. It ends when the best radius is inside the path, when larger radii improve the
        score by less than half a standard error, or when a larger radius could not change the fit. An
        integer is the number of radii, from a tenth of the unit to ten times the unit. Pass None together with
        `penalties`. With norm="auto", each norm has radii or penalties of its own, so they cannot be listed.
    penalties : int, sequence of float, or None, at least 0, default=None
        Penalties to try if `radii` is None. An integer is the number of penalties, from a thousandth of the smallest
        penalty for which W = 0 is optimal up to this penalty.
    eta0 : sequence of float, greater than 0, default=(0.1, 1.0, 10.0, 100.0)
        First step sizes of "subgradient", from which the one with the lowest training objective is chosen. The other
        solvers ignore this parameter.
    cv : int, splitter or iterable of (train, test), default=5
        Folds, as in scikit-learn. They are not used if `X_val` is passed to `fit`. An integer is the number of
        stratified folds. If y is a vector, the strata are the classes. If y is a matrix, the samples are first
        shuffled with a fixed seed, and the stratum of a sample is its rarest label. To keep groups of samples
        together, such as those of a patient, use `cv=GroupKFold(5)` and pass `groups` to `fit`. These are not the
        `groups` of features above.
    scoring : str, scorer, callable or None, default=None
        Any scikit-learn scorer. None means the AUC, averaged over the tasks, or over the classes (each against the
        rest). If y is a vector of classes, a scorer is called once per fold with the classes of `validation_tasks`, if
        there are at least two. Otherwise it is called for each task with labels 0 and 1 and an X without columns, and
        its scores are averaged.
    selection : {"best", "one_standard_error"} or None, default=None
        None chooses the radius with the best score. With norm="auto" it then chooses the norm with the fewest features
        among the norms whose scores lie within one standard error of the best one. "best" always chooses the norm with
        the best score. "one_standard_error" also chooses the most regularised radius within one standard error of the
        best score, for fewer features. The standard error is over the folds or, for a single split, over bootstrap
        resamples of the held-out samples.
    n_jobs : int or None, default=None
        Number of folds that are fitted in parallel, as in scikit-learn. It does not change the results.
    validation_tasks : sequence of int or of bool, or None, default=None
        Tasks whose scores count for the choice. None means all. The papers choose with 10 of 40 words, and leave these
        words out of the test average.

    Attributes
    ----------
    norm_ : str
        The chosen norm.
    radius_, penalty_ : float or None
        The chosen radius or penalty. The one that was not searched is None.
    eta0_ : float
        The chosen first step size, or NaN if the solver has no step size.
    grid_ : ndarray (n_grid,)
        The radii or penalties of the chosen norm in increasing order.
    scores_ : ndarray (n_grid, n_folds)
        Scores, averaged over the validation tasks that have positives and negatives in the fold. The score is NaN for a
        fold without such a task.
    best_score_ : float
        Mean score of the chosen radius or penalty, over the folds that have a score.
    results_by_norm_ : dict of dict
        Results of each norm that was tried. "grid" and "scores" are like `grid_` and `scores_`. "errors", (n_grid,),
        holds the standard errors of the mean scores. "gaps" and "features", (n_grid, n_folds), hold the certified
        relative gap and the number of selected features of each fit.
    coef_, intercept_, selected_features_, classes_, duality_gap_, objective_, n_iter_
        See JointSparseClassifier. They describe the final fit on all samples of X.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the features, as in scikit-learn.

    See Also
    --------
    JointSparseClassifier : The classifier for a given radius or penalty.
    JointSparseRegressorCV : Learns real-valued targets.

    References
    ----------
    Quattoni et al. (2009), sec. 6.2.

    Examples
    --------
    >>> X, y = [[1.0, 0.3], [2.0, -0.3], [-1.0, 0.3], [-2.0, -0.3]], [1, 1, 0, 0]
    >>> model = JointSparseClassifierCV(radii=[0.0, 0.5, 1.0], cv=2).fit(X, y)
    >>> model.radius_, model.scores_.tolist()
    (0.5, [[0.5, 0.5], [1.0, 1.0], [1.0, 1.0]])
    >>> model = JointSparseClassifierCV("auto", radii=3, cv=2).fit(X, y)
    >>> model.norm_, list(model.results_by_norm_)
    ('l1', ['l1', 'l12', 'l1inf', 'l2'])
    """

    _chance = 0.5  # AUC

    def _folds(self, y: Any, samples: TaskSamples, **split_params: Any) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Return the folds as in `Search`, but stratified by the rarest label of each sample if y is a matrix.

        Warn about tasks that have no score in some of the folds.
        """
        if self._flat or not isinstance(self.cv, (int, np.integer)):
            splits = list(super()._folds(y, samples, **split_params))
        else:
            by = strata(samples.Y, int(self.cv))
            splits = list(StratifiedKFold(self.cv, shuffle=True, random_state=0).split(samples.X, by))
        held_out = [samples.Y[rows] * samples.weights[rows] for _, rows in splits]
        judged = np.all([(Y > 0).any(axis=0) & (Y < 0).any(axis=0) for Y in held_out], axis=0)
        has_samples = samples.weights.max(axis=0) > 0  # there has been a warning about tasks without samples
        names = [self.classes_[k] for k in self._counted if splits and has_samples[k] and not judged[k]]
        if names and not self._flat:
            warn_user(
                f"{len(names)} of {len(self._counted)} tasks have no positives or no negatives in some of the "
                f"{len(splits)} folds and have no score there (choose fewer folds with cv, or leave these tasks out "
                f"of y): {in_words(names)}"
            )
        return splits

    def _score_of(self, F: np.ndarray, held_out: TaskSamples) -> float:
        """Score as in `Search`, but if y is a vector of classes, call the scorer once for all validation classes."""
        one_of_several = len(self._counted) == 1 and F.shape[1] > 1  # one class against the rest is a task
        if self.scoring is None or not self._has_names() or one_of_several:
            return super()._score_of(F, held_out)
        Y, classes = held_out.Y[:, self._counted], self.classes_
        Y, classes = (np.hstack([-Y, Y]), classes) if F.shape[1] == 1 else (Y, classes[self._counted])
        rows = (Y > 0).any(axis=1)  # samples of the validation classes
        F, y = F[rows][:, self._counted], classes[Y[rows].argmax(axis=1)]
        if len(np.unique(y)) < 2:
            return np.nan
        return _called(get_scorer(self.scoring), _Classified(self.loss, classes, F), held_out.X[rows], y)

    def _scores_of(self, Y: np.ndarray, F: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if self.scoring is None and ((weights == 0) | (weights == weights.max(axis=0))).all():
            # With roc_auc_score instead, scoring would be a third of the time of a search over many tasks.
            return auc(F, np.where(weights > 0, Y > 0, -1))
        return super()._scores_of(Y, F, weights)

    def _score_task(self, y: np.ndarray, f: np.ndarray, c: np.ndarray) -> float:
        if len(np.unique(y)) < 2:
            return np.nan
        if self.scoring is None:
            return float(roc_auc_score(y > 0, f, sample_weight=c))
        stand_in = _Classified(self.loss, np.array([0, 1]), f[:, np.newaxis])
        return _called(get_scorer(self.scoring), stand_in, np.empty((len(y), 0)), (y > 0).astype(int))


@parameters
class JointSparseRegressorCV(Targets, Search):
    """`JointSparseRegressor` whose radius or penalty is chosen on held-out samples.

    Parameters
    ----------
    solver, n_iter, tol, normalisation, fit_intercept, feature_weights, groups, positive, l2
        See JointSparseRegressor.
    norm, radii, penalties, eta0, selection, n_jobs, validation_tasks, max_time, callback, verbose, warm_start
        See JointSparseClassifierCV.
    cv : int, splitter or iterable of (train, test), default=5
        Folds, as in scikit-learn. They are not used if `X_val` is passed to `fit`. An integer is the number of folds,
        over which the samples are distributed at random with a fixed seed. To keep groups of samples together, use
        `cv=GroupKFold(5)` and pass `groups` to `fit`.
    scoring : str, scorer, callable or None, default=None
        Any scikit-learn scorer, which is called for each target; the scores are averaged. None means R^2.

    Attributes
    ----------
    norm_, radius_, penalty_, eta0_, grid_, scores_, best_score_, results_by_norm_
        See JointSparseClassifierCV.
    coef_, intercept_, selected_features_, duality_gap_, objective_, n_iter_, n_features_in_, feature_names_in_
        See JointSparseRegressor. They describe the final fit on all samples of X.

    See Also
    --------
    JointSparseRegressor : The regressor for a given radius or penalty.

    References
    ----------
    Quattoni et al. (2009), sec. 6.2, with real-valued targets.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = JointSparseRegressorCV().fit(X, X[:, :2] @ [[1.0, 2.0], [2.0, 1.0]])
    >>> model.coef_.shape, model.best_score_ > 0.9
    ((2, 5), True)
    """

    _chance = 0.0  # R^2

    def _folds(self, y: Any, samples: TaskSamples, **split_params: Any) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        if isinstance(self.cv, (int, np.integer)):
            return KFold(self.cv, shuffle=True, random_state=0).split(samples.X)
        return super()._folds(y, samples, **split_params)

    def _score_task(self, y: np.ndarray, f: np.ndarray, c: np.ndarray) -> float:
        if len(y) < 2:
            return np.nan
        return (
            float(r2_score(y, f, sample_weight=c))
            if self.scoring is None
            else _called(get_scorer(self.scoring), _Regressed(), f[:, np.newaxis], y)
        )
