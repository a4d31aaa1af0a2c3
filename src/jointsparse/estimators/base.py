"""Base classes of the estimators that a solver trains: `Trained`, and `OneStrength` with a given radius or penalty.

minimise over W  sum_k sum_i c_ik loss(x_i·w_k + b_k, y_ik)  subject to  ||W|| <= radius, or with penalty * ||W|| added.
Source: Quattoni et al. (2009), eq. 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from jointsparse.checks import (
    as_finite,
    as_positive,
    as_radius,
    real_array,
    require,
    require_count,
)
from jointsparse.estimators.labels import Labels
from jointsparse.estimators.linear import (
    SCALE_ENTRIES,
    Linear,
    TaskSamples,
    in_order_of_names,
)
from jointsparse.estimators.path import Path, fits_along
from jointsparse.estimators.watch import CALLBACK, INTERRUPT, Interrupted, Watch
from jointsparse.learning import radii
from jointsparse.learning.certificate import solve_at_zero
from jointsparse.learning.fit import Fit
from jointsparse.learning.problem import Problem, stored
from jointsparse.learning.scales import Scales, scales
from jointsparse.messages import shortened, warn_user
from jointsparse.registry import pick

# Default numbers of iterations. Solvers that stop at `tol` rarely need N_ITER_TO_TOL iterations. The other solvers
# always do N_ITER iterations, as Quattoni et al. do.
N_ITER_TO_TOL, N_ITER = 10_000, 200
# Choice: radius="auto" is this many natural units, or one unit for a loss that is not listed; see
# benchmarks/defaults.py.
UNITS = {"squared": 2.0}
RADII_SPAN = (0.1, 10.0)  # ends of a grid of radii, in natural units of the data; see `learning.scales`
PENALTIES_SPAN = (1e-3, 1.0)  # ends of a grid of penalties, in natural units: W = 0 is optimal from 1 on
OFF_CENTRE = 0.5  # fits are slow if the square of a feature's mean exceeds this fraction of the feature's mean square
TINY = np.finfo(float).tiny
SWITCHES = ("fit_intercept", "positive", "warm_start", "verbose")

# An estimator's parameters are the fields of a dataclass. `__eq__` and `__repr__` remain scikit-learn's.
parameters = dataclass(eq=False, repr=False, kw_only=True)


def positional(default: Any) -> Any:
    """Return a dataclass field for a parameter that may be passed by position."""
    return field(default=default, kw_only=False)


def all_or_nothing(learn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method that fits, so that the estimator returns to its previous state if the method fails.

    After an interrupted fit, the estimator keeps the result of this fit.
    """

    @wraps(learn)
    def guarded(self: Any, *arguments: Any, **options: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return learn(self, *arguments, **options)
        except Interrupted:
            raise
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return guarded


def radius_or_penalty(radius: Any, penalty: Any, names: str = "radius and penalty") -> tuple[Any, bool]:
    """Return the radius or the penalty, whichever is given, and a flag that is True for the penalty.

    The default radius "auto" counts as None if a penalty is given.
    """
    radius = None if isinstance(radius, str) and radius == "auto" and penalty is not None else radius
    require(
        (radius is None) != (penalty is None),
        f"exactly one of {names} must be given and the other must be None, got {radius!r} and {penalty!r}",
    )
    return (radius, False) if penalty is None else (penalty, True)


def are_listed(strengths: Any) -> bool:
    """Return True if `strengths` lists radii or penalties, and False if it is the number of them to try."""
    return bool(np.ndim(strengths)) or isinstance(strengths, str | bytes | float)


def centring_advice(problem: Problem) -> str:
    """Return a phrase that advises centring if the features are dense and not centred, else an empty string."""
    for X in [] if problem.is_sparse else stored(problem.X).values():
        some = X[:: max(X.size // SCALE_ENTRIES, 1)].astype(np.float64)
        if np.median(some.mean(axis=0) ** 2 / np.maximum((some * some).mean(axis=0), TINY)) > OFF_CENTRE:
            return ", or centre the features"
    return ""


@parameters
class Trained(SelectorMixin, Linear):
    """A linear model that a solver trains on all samples at once. As a transformer, it selects the features it uses."""

    norm: str = positional("l1inf")
    solver: str = "working_set"
    n_iter: int | None = None
    tol: float = 1e-3
    eta0: float | Sequence[float] = 1.0
    normalisation: str = "sum"
    fit_intercept: bool = True
    feature_weights: ArrayLike | None = None
    groups: ArrayLike | None = None
    positive: bool = False
    l2: float = 0.0
    warm_start: bool = False
    max_time: float | None = None
    callback: Callable[[int, float, float], object] | None = None
    verbose: bool = False

    def _norm(self) -> ModuleType:
        """Return the norm module."""
        return pick("norms", self.norm)

    def _options_of_norm(self, n_features: int) -> dict[str, Any]:
        """Check `feature_weights`, `groups` and `positive`, and return them as keyword arguments for the solvers."""
        norm = self._norm()
        options: dict[str, Any] = {"positive": bool(self.positive)}
        names, n_rows, rows = getattr(self, "feature_names_in_", None), n_features, f"{n_features} features"
        if self.groups is not None:
            require(norm.GROUPED, f"groups must be None with norm={self.norm!r}, which does not support groups")
            try:
                names, options["groups"] = np.unique(
                    np.asarray(in_order_of_names(self.groups, names)), return_inverse=True
                )
            except TypeError:
                message = f"groups must hold names that are all of the same type, got {shortened(self.groups)}"
                raise ValueError(message) from None
            missing = any(name != name for name in names.tolist())  # NaN, NaT
            require(not missing, f"groups must have no missing names, got {shortened(self.groups)}")
            shape, n_rows = options["groups"].shape, len(names)
            require(
                shape == (n_features,), f"groups must name a group for each of {n_features} features, got shape {shape}"
            )
            rows = f"{n_rows} groups, in the order of their sorted names"
        if self.feature_weights is not None:  # one weight per group if there are groups
            require(
                norm.WEIGHTED, f"feature_weights must be None with norm={self.norm!r}, which does not support weights"
            )
            weights = real_array(in_order_of_names(self.feature_weights, names), "feature_weights").astype(float)
            wrong = weights[~((weights > 0) & np.isfinite(weights))]
            got = wrong[:1] if weights.shape == (n_rows,) else f"shape {weights.shape}"
            require(
                weights.shape == (n_rows,) and not len(wrong),
                f"feature_weights must hold a positive number for each of {rows}, got {got}",
            )
            options["weights"] = weights
        return options

    def _scales(self, problem: Problem) -> Scales:
        """Return the natural scales of radii and penalties; see `learning.scales`."""
        return scales(
            problem,
            loss=pick("losses", self.loss),
            norm=self._norm(),
            **self._options_of_norm(problem.n_features),
        )

    def _grid(self, problem: Problem, given: Any, penalised: bool, name: str) -> np.ndarray:
        """Return the radii or penalties to try, in increasing order.

        given: the radii or penalties, or only their number. In the latter case they are spaced evenly on a logarithmic
        scale.
        """
        if are_listed(given):
            grid = np.unique([as_finite(value, f"each of {name}") for value in np.atleast_1d(given)])
            require(len(grid), f"{name} must hold at least one number, got none")
            return grid
        require_count(given, "n_points")
        natural = self._scales(problem)
        unit, span = (natural.penalty, PENALTIES_SPAN) if penalised else (natural.radius, RADII_SPAN)
        return np.geomspace(*span, given) * unit if unit > 0 else np.zeros(1)

    def _end_of_path(self, problem: Problem) -> Callable[[float, Fit], bool]:
        """Return a function that takes a radius and its fit, and returns True if no larger radius could change it."""
        _, at_zero = solve_at_zero(problem, pick("losses", self.loss))
        norm, options = self._norm().norm, self._options_of_norm(problem.n_features)
        del options["positive"]

        def ends(radius: float, fit: Fit) -> bool:
            largest = float(np.max(norm(fit.W[0], **options)))
            without_loss = radii.is_loss_gone(float(fit.value[0]), at_zero)
            return without_loss or radii.is_far_inside(largest, radius, float(fit.gap[0]))

        return ends

    def _train(
        self, problem: Problem, strength: float, penalised: bool, *, tol: float | None = None, **options: Any
    ) -> tuple[float, Fit]:
        """Fit one radius or penalty with each of the step sizes, and return the best step size and its fit.

        The step size is NaN if the solver has none. tol: the tolerance, by default the estimator's. options: further
        arguments for the solver, such as `start` and `watch`.
        """
        solver, steps = pick("solvers", self.solver), np.array([np.nan])
        require_count(N_ITER if self.n_iter is None else self.n_iter, "n_iter")
        if "eta0" in solver.TAKES:
            steps = options["eta0"] = np.atleast_1d(np.asarray(self.eta0, dtype=float))
            require(len(steps), "eta0 must hold at least one number, got none")
        own_tol = as_radius(self.tol, "tol")
        if solver.STOPS_AT_TOL:
            options["tol"] = own_tol if tol is None else tol
        strengths = np.full(len(steps), strength)
        fitted = solver.fit(
            problem,
            loss=pick("losses", self.loss),
            norm=self._norm(),
            radius=strengths,
            penalised=penalised,
            n_iter=int(self.n_iter or (N_ITER_TO_TOL if solver.STOPS_AT_TOL else N_ITER)),
            l2=as_finite(self.l2, "l2"),
            **self._options_of_norm(problem.n_features),
            **options,
        )
        best = int(radii.choose_eta0(strengths, fitted.objective)[0])
        return float(steps[best]), fitted.of(best)

    def _stops(self) -> bool:
        """Return True if the solver stops when the duality gap reaches `tol`."""
        return bool(pick("solvers", self.solver).STOPS_AT_TOL)

    def _unproven(self, gaps: np.ndarray, tol: float) -> np.ndarray:
        """Return a mask of the gaps that exceed tol or are NaN, (n_fits,): all False if the solver ignores tol."""
        return ~(gaps <= tol) & self._stops()

    def _watch(self, share: float = 1.0) -> Watch:
        """Return a watch that starts now, and ends fits after the fraction `share` of `max_time`."""
        max_time = None if self.max_time is None else share * as_positive(self.max_time, "max_time")
        return Watch(self.callback, max_time, bool(self.verbose))

    def _strength(self, problem: Problem, radius: Any, penalty: Any) -> tuple[float, bool]:
        """Return the radius or the penalty as a number, and a flag that is True for the penalty."""
        value, penalised = radius_or_penalty(radius, penalty)
        if not penalised and isinstance(value, str) and value == "auto":
            value = UNITS.get(self.loss, 1.0) * self._scales(problem).radius
        return as_finite(value, "penalty" if penalised else "radius"), penalised

    def _train_one(
        self, problem: Problem, centres: np.ndarray, radius: Any, penalty: Any, watch: Watch | None = None
    ) -> Self:
        """Train with one radius or penalty and with the best of the step sizes, and store the result."""
        value, penalised = self._strength(problem, radius, penalty)
        start: Any = getattr(self, "_last_fit", None) if self.warm_start and self._stops() else None
        fits = start is not None and start.W.shape[1:] == (problem.n_features, problem.n_tasks)
        options = {"start": start} if fits else {}
        with watch or self._watch() as watch:
            self.eta0_, fitted = self._train(problem, value, penalised, watch=watch, **options)
        self.radius_ = None if penalised else value
        self.penalty_ = value if penalised else None
        self._keep(fitted, centres, watch.ended_by, problem)
        self._last_fit = fitted if self.warm_start else None
        if watch.ended_by == INTERRUPT:
            raise Interrupted
        return self

    def _keep(self, fitted: Fit, centres: np.ndarray, ended_by: str, problem: Problem) -> None:
        """Store a fit in the attributes, and warn if the fit is not certified to be within `tol` of the optimum.

        centres: the means that `_pose` subtracted from the targets. ended_by: see `Watch`. problem: the problem that
        was solved.
        """
        self.coef_ = np.ascontiguousarray(fitted.W[0].T)
        self.intercept_ = (fitted.b[0] + centres).astype(fitted.b.dtype)
        if self._numeric and self._flat:
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
        self.selected_features_ = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))[self.get_support()]
        self.n_iter_ = int(fitted.n_iter)
        self.objective_ = fitted.objective[0, : self.n_iter_ + 1].copy()
        self.objective_[-1] = fitted.value[0]  # a solver returns its best iterate, which need not be the last one
        self.duality_gap_ = float(fitted.gap[0])
        strength = f"penalty={self.penalty_:.4g}" if self.radius_ is None else f"radius={self.radius_:.4g}"
        if np.isinf(self.duality_gap_):
            warn_user(
                f"with {strength}, the coefficients lie outside the ball, so no gap is certified: please report a bug",
                ConvergenceWarning,
            )
        elif self._unproven(fitted.gap, self.tol)[0] and ended_by not in (CALLBACK, INTERRUPT):
            limit = f"max_time={self.max_time:g}" if ended_by else "n_iter"
            warn_user(
                f"with {strength}, after {self.n_iter_} iterations, the objective is certified to be within "
                f"{self.duality_gap_:.2g} of the optimum (relative), not within tol={self.tol:g}: raise {limit} or "
                f"tol{centring_advice(problem)}",
                ConvergenceWarning,
            )

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(np.atleast_2d(self.coef_).any(axis=0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _require_switches(self) -> None:
        """Raise ValueError if a Boolean parameter is neither True nor False, or if the callback is not callable."""
        for name in SWITCHES:
            value = getattr(self, name)
            require(isinstance(value, bool | np.bool_ | int), f"{name} must be True or False, got {value!r}")
        require(
            self.callback is None or callable(self.callback),
            f"callback must be a function or None, got {self.callback!r}",
        )

    def _pose(
        self, X: Sequence[Any], Y: Sequence[np.ndarray], weights: Sequence[np.ndarray]
    ) -> tuple[Problem, np.ndarray]:
        """Return the problem to solve, and the weighted means, (n_tasks,), that are subtracted from the targets.

        The means are 0 for labels and for fits without intercepts. X, Y, weights: one array per task, of shapes
        (n_k, n_features), (n_k,) and (n_k,).
        """
        # Targets far from 0 would lose digits, and gaps, which are relative to the objective, would look too small.
        centred = self._numeric and self.fit_intercept
        means = [np.average(y, weights=c) if centred and c.any() else 0.0 for y, c in zip(Y, weights, strict=True)]
        Y = [y - mean for y, mean in zip(Y, means, strict=True)]
        problem = Problem(X, Y, weights, normalisation=self.normalisation, intercept=bool(self.fit_intercept))
        return problem, np.array(means)

    def _pose_samples(self, *parts: TaskSamples) -> tuple[Problem, np.ndarray]:
        """Check the Boolean parameters and the callback, and call `_pose` for the tasks of these samples, in order."""
        self._require_switches()
        Y, weights = ([column for part in parts for column in part[i].T] for i in (1, 2))
        return self._pose([part.X for part in parts for _ in part.Y.T], Y, weights)


@parameters
class OneStrength(Trained):
    """An estimator that trains with a given radius or penalty, and can also compute a regularisation path."""

    radius: float | str | None = positional("auto")
    penalty: float | None = None

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on samples that all tasks share.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array, DataFrame or sparse matrix (n_samples,) or (n_samples, n_tasks)
            Labels, in the coding that the parameter `labels` names, or the targets of a regressor. NaN, None and
            pandas.NA stand for unknown labels and targets.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), at least 0, or None
            Weights of the samples. A weight of 2 has the same effect as repeating the sample.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If the input or a parameter is invalid. The estimator then keeps its previous state.
        """
        return self._train_one(*self._pose_samples(self._read_all(X, y, sample_weight)), self.radius, self.penalty)

    @all_or_nothing
    def fit_tasks(
        self,
        tasks: Sequence[tuple[Any, ArrayLike]] | Mapping[Any, tuple[Any, ArrayLike]],
        sample_weight: Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Train on tasks that each have their own samples. Predictions have a column per task.

        Parameters
        ----------
        tasks : list of pairs (X_k, y_k), or mapping from task names to such pairs
            Features (n_k, n_features) and labels or targets (n_k,) of each task. Labels are in the coding that
            the parameter `labels` names. With "classes" all tasks must have the same two classes.
        sample_weight : list of arrays (n_k,), at least 0, or None
            Sample weights of each task.

        Returns
        -------
        self : estimator

        Examples
        --------
        >>> from jointsparse import JointSparseClassifier, JointSparseRegressor
        >>> tasks = [([[1.0, 0.0], [-1.0, 0.1]], [1, 0]), ([[2.0, 0.0]], [0])]
        >>> JointSparseClassifier(radius=0.5).fit_tasks(tasks).predict([[1.0, 0.0]]).tolist()
        [[1, 0]]
        >>> tasks = {"near": ([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.1]), "far": ([[1.0, 0.0]], [-5.0])}
        >>> model = JointSparseRegressor(radius=1.0, fit_intercept=False, tol=1e-6).fit_tasks(tasks)
        >>> model.predict([[2.0, 1.0]]).round(2).to_dict("list"), model.selected_features_.tolist()
        ({'near': [2.0], 'far': [-2.0]}, [0])
        """
        return self._train_one(*self._pose_samples(*self._read_tasks(tasks, sample_weight)), self.radius, self.penalty)

    def _read_tasks(self, tasks: Any, sample_weight: Any) -> list[TaskSamples]:
        """Check the tasks passed to `fit_tasks`, and return the samples of each task, a list of n_tasks."""
        names = np.array(list(tasks), dtype=object) if isinstance(tasks, Mapping) else None
        tasks = list(tasks.values()) if isinstance(tasks, Mapping) else list(tasks)
        require(
            tasks and all(isinstance(task, (tuple, list)) and len(task) == 2 for task in tasks),
            "tasks must be a list or a mapping of at least one pair (X_k, y_k)",
        )
        n, of_samples = len(tasks), [None] * len(tasks) if sample_weight is None else list(sample_weight)
        require(len(of_samples) == n, f"sample_weight must hold one array per task, {n}, got {len(of_samples)}")
        self._flat, self._n_columns, self._names = False, len(tasks), names
        read = [
            self._checked(
                X_k, y_k, weight, f"y of task {k if names is None else names[k]}", reset=k == 0, multi_output=False
            )
            for k, ((X_k, y_k), weight) in enumerate(zip(tasks, of_samples, strict=True))
        ]
        of_tasks = [labels.y for _, labels, _ in read]
        alike = all(y_k.dtype == of_tasks[0].dtype for y_k in of_tasks)
        # If dtypes differ, arrays of objects keep the labels unchanged: np.concatenate would turn numbers into text.
        y = np.concatenate(of_tasks if alike else [y_k.astype(object) for y_k in of_tasks])
        y = Labels.read(y, numeric=self._numeric).y
        self._learn_coding(y, classes=y)
        dtype = np.result_type(*(X_k.dtype for X_k, _, _ in read))
        X = [X_k.astype(dtype, copy=False) for X_k, _, _ in read]
        in_tasks = [self._in_tasks(labels, weight) for _, labels, weight in read]
        weights = [self._weigh(Y_k, c) for Y_k, c in in_tasks]
        self._warn_of_unknown(np.array([c.any() for c in weights]), "task")
        return [TaskSamples(X_k, Y_k, c) for X_k, (Y_k, _), c in zip(X, in_tasks, weights, strict=True)]

    def path(
        self,
        X: Any,
        y: ArrayLike,
        *,
        n_points: int = 20,
        strengths: Sequence[float] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Path:
        """Compute a regularisation path, without changing the estimator.

        The path consists of radii, or of penalties if the estimator has `radius=None` and a penalty. Radii range from a
        tenth of the natural unit of the data to ten times this unit. The path ends early if a larger radius could not
        change the fit. Penalties range from a thousandth of the smallest penalty for which W = 0 is optimal up to this
        penalty. `PathDisplay` plots a path. To choose a radius or penalty, use an estimator with cross-validation. The
        parameters warm_start, max_time, callback and verbose have no effect here.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array or DataFrame (n_samples,) or (n_samples, n_tasks)
            Labels or targets, as in `fit`.
        n_points : int, at least 1
            Number of radii or penalties.
        strengths : sequence of float, at least 0, or None
            The radii or penalties to use instead of automatic ones. The path then does not end early.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), or None
            Weights of the samples.

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            If the input or a parameter is invalid, or if the solver does not stop at `tol`.

        Warns
        -----
        ConvergenceWarning
            If the gap exceeds `tol` at any points of the path. A single warning is issued for all of them.

        Examples
        --------
        >>> from jointsparse import JointSparseClassifier
        >>> X, y = [[1.0, 0.1], [-1.0, 0.1], [1.5, -0.1]], [1, 0, 1]
        >>> path = JointSparseClassifier().path(X, y, strengths=[0.1, 1.0])
        >>> path.n_features.tolist(), path.coef.shape
        ([1, 1], (2, 1, 2))
        """
        model = clone(self)
        require(model._stops(), f"path needs a solver that stops at tol, got solver={model.solver!r}")
        _, penalised = radius_or_penalty(model.radius, model.penalty)
        problem, centres = model._pose_samples(model._read_all(X, y, sample_weight))
        grid = model._grid(problem, n_points if strengths is None else np.atleast_1d(strengths), penalised, "strengths")

        def train(strength: float, start: Fit | None) -> Fit:
            return model._train(problem, strength, penalised, start=start)[1]

        ends = {"ends": model._end_of_path(problem)} if strengths is None else {}
        fits = fits_along(train, grid, penalised, **ends)
        gaps = np.concatenate([fit.gap for fit in fits])
        unproven = model._unproven(gaps, model.tol).sum()
        if unproven:
            warn_user(
                f"{unproven} of {len(fits)} points of the path are not certified to be within tol={model.tol:g} of "
                f"their optima (see the gap of the path): raise n_iter or tol{centring_advice(problem)}",
                ConvergenceWarning,
            )
        return Path(
            strength=grid[: len(fits)],
            penalised=penalised,
            coef=np.concatenate([fit.W for fit in fits]).transpose(0, 2, 1),
            intercept=np.concatenate([fit.b for fit in fits]) + centres,
            objective=np.concatenate([fit.value for fit in fits]),
            gap=gaps,
        )
