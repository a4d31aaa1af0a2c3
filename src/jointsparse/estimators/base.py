"""Base classes of the estimators: a linear model, and a linear model that a solver trains.

minimise over W  sum_k sum_i c_ik loss(x_i·w_k + b_k, y_ik)  subject to  ||W|| <= radius, or with penalty * ||W|| added.
Source: Quattoni et al. (2009), eq. 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from types import ModuleType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from jointsparse.checks import (
    Versioned,
    as_finite,
    as_numpy,
    as_positive,
    as_radius,
    dtypes_of,
    printable,
    real_array,
    require,
    require_count,
    require_extra,
    require_sound,
    require_unmasked,
    shortened,
    warn_user,
)
from jointsparse.estimators.labels import Labels
from jointsparse.estimators.watch import CALLBACK, INTERRUPT, Interrupted, Watch
from jointsparse.learning import radii
from jointsparse.learning.certificate import solve_at_zero
from jointsparse.learning.fit import Fit
from jointsparse.learning.problem import Problem, stored
from jointsparse.learning.scales import Scales, scales
from jointsparse.registry import pick

# Default numbers of iterations. Solvers that stop at `tol` rarely need N_ITER_TO_TOL iterations. The other solvers
# always do N_ITER iterations, as Quattoni et al. do.
N_ITER_TO_TOL, N_ITER = 10_000, 200
# Choice: radius="auto" is this many natural units, or one unit for a loss that is not listed; see
# benchmarks/defaults.py.
UNITS = {"squared": 2.0}
RADII_SPAN = (0.1, 10.0)  # ends of a grid of radii, in natural units of the data; see `learning.scales`
PENALTIES_SPAN = (1e-3, 1.0)  # ends of a grid of penalties, in natural units: W = 0 is optimal from 1 on
SCALE_ENTRIES = 2_000_000  # number of entries of X from which the sizes of the features are estimated
FEWEST_ENTRIES = 10  # non-zero entries that a feature needs for an estimate of its size
OFF_CENTRE = 0.5  # fits are slow if the square of a feature's mean exceeds this fraction of the feature's mean square
TINY = np.finfo(float).tiny
# Choice: features whose sizes differ by more than this factor are in raw units. The factor is 5 to 17 in iris, digits
# and word counts.
RAW_SPREAD = 100
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


def validated(estimator: BaseEstimator, X: Any, *y: Any, **options: Any) -> Any:
    """Check X, or X and y, as scikit-learn does, and reject masked arrays, whose mask scikit-learn ignores.

    Arrays of other libraries become NumPy arrays, even if scikit-learn's option `array_api_dispatch` is on.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator that stores the number and the names of the features.
    X : Any
        Features as the user passed them.
    *y : Any
        Labels or targets, if there are any.
    **options : Any
        Options of `sklearn.utils.validation.validate_data`.
    """
    require_unmasked(X, "X")
    require_sound(X)
    X = as_numpy(X, "X")
    return validate_data(estimator, X, *y, accept_sparse="csr", dtype=dtypes_of(X), **options)


def weights_of(sample_weight: Any, X: Any) -> np.ndarray:
    """Check sample weights and return them as float64: (n_samples, 1) if tasks share them, or (n_samples, n_tasks)."""
    require_unmasked(sample_weight, "sample_weight")
    sample_weight = as_numpy(sample_weight, "sample_weight")
    shape, counted = (-1, 1), X
    if np.asarray(sample_weight).ndim == 2:
        shape = np.shape(sample_weight)
        require(shape[0] == X.shape[0], f"sample_weight must have {X.shape[0]} rows, got shape {shape}")
        # scikit-learn expects one weight per row of its second argument, so a matrix is checked as one long vector.
        sample_weight = counted = np.ravel(sample_weight)
    weights = _check_sample_weight(sample_weight, counted, dtype=np.float64, ensure_non_negative=True)
    # scikit-learn raises this error itself in newer versions than the oldest one that is supported.
    require(weights.any(), "Sample weights must contain at least one non-zero number.")
    return np.reshape(weights, shape)


def in_order_of_names(numbers: Any, names: np.ndarray | None) -> Any:
    """Reorder a pandas Series like `names` if its index holds exactly these names; return anything else unchanged."""
    labels: Any = getattr(numbers, "index", None)  # lists have a method of this name
    named = names is not None and np.shape(labels) == names.shape and set(labels) == set(names)
    return numbers.loc[names] if named else numbers


def _hint_at_scales(X: Any) -> None:
    """Warn if the features seem to be in raw units.

    Features in raw units differ in size by a large factor, and the values of most of them have only one sign. The
    features of an SVD also differ in size, but have values of both signs.
    """
    rows = X[:: max(X.size // SCALE_ENTRIES, 1)]
    n, sums, sizes = (np.ravel(of.sum(axis=0, dtype=float)) for of in (rows != 0, rows, abs(rows)))
    used = n >= FEWEST_ENTRIES
    mean = sizes[used] / n[used]
    if used.any() and mean.max() > RAW_SPREAD * mean.min() and np.mean(abs(sums) > sizes / 2, where=used) > 0.5:
        warn_user(
            f"features differ in size by a factor of {mean.max() / mean.min():.2g}, so fits take longer and the norm "
            "favours the large features: scale the features first, for example with scikit-learn's make_pipeline("
            f"{'MaxAbsScaler' if sparse.issparse(X) else 'StandardScaler'}(), ...)"
        )


def centring_advice(problem: Problem) -> str:
    """Return a phrase that advises centring if the features are dense and not centred, else an empty string."""
    for X in [] if problem.is_sparse else stored(problem.X).values():
        some = X[:: max(X.size // SCALE_ENTRIES, 1)].astype(np.float64)
        if np.median(some.mean(axis=0) ** 2 / np.maximum((some * some).mean(axis=0), TINY)) > OFF_CENTRE:
            return ", or centre the features"
    return ""


class TaskSamples(NamedTuple):
    """The samples of all tasks, as arrays.

    X : array or CSR matrix (n_samples, n_features)
        Features.
    Y : array (n_samples, n_tasks)
        Targets, or signs -1 and +1; 0 where the sample is not part of the task.
    weights : array (n_samples, n_tasks)
        Weights of the losses; 0 where the sample is not part of the task.
    """

    X: Any
    Y: np.ndarray
    weights: np.ndarray

    def of(self, rows: np.ndarray) -> TaskSamples:
        """Return only the samples at these row indices."""
        return TaskSamples(*(array[rows] for array in self))


def names_of_tasks(estimator: Any, n_tasks: int | None = None) -> list[Any]:
    """Return the names of an estimator's tasks, or 0, 1, ... if the tasks have no names.

    The estimator must be fitted, or at least have processed the labels.
    """
    names: Any = getattr(estimator, "_names", None)
    names = getattr(estimator, "classes_", ()) if names is None else names
    n_tasks = len(np.atleast_2d(estimator.coef_)) if n_tasks is None else n_tasks
    return list(names if len(names) == n_tasks else range(n_tasks))  # two classes are one task


def in_words(names: Sequence[Any], of: str = "label") -> str:
    """Return a phrase that lists at most ten names or numbers of tasks, such as "labels cat, dog"."""
    shown = ", ".join(printable(str(name)) for name in names[:10])
    return f"{of}{'s' * (len(names) > 1)} {shown}{', ...' * (len(names) > 10)}"


class Linear(Versioned, BaseEstimator):
    """A linear model for dense or sparse features, in which each column of y is a task.

    `_flat` is True if y was a vector; predictions are then vectors, too. `_n_columns` is the number of columns of y,
    and `_names` holds their names, or is None.
    """

    coef_: np.ndarray
    intercept_: np.ndarray
    loss: str
    _numeric = False  # True if y holds targets, False for labels
    _names: np.ndarray | None = None

    def coef_frame(self) -> Any:
        """Return W as a pandas DataFrame with a row per feature and a column per task, labelled with their names."""
        require_extra("coef_frame", "pandas")
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(
            np.atleast_2d(self.coef_).T, index=getattr(self, "feature_names_in_", None), columns=names_of_tasks(self)
        )

    def _in_frame(self, predicted: np.ndarray, X: Any) -> Any:
        """Convert predictions (n_samples, n_tasks) to a DataFrame if tasks have names, else return them unchanged.

        It is a DataFrame of Polars if X is one, otherwise of pandas.
        """
        if self._names is None:
            return predicted
        if type(X).__module__.startswith("polars."):
            return type(X)(predicted, schema=[str(name) for name in self._names], orient="row")
        require_extra("a prediction for tasks with names", "pandas")
        import pandas as pd

        return pd.DataFrame(predicted, index=X.index if hasattr(X, "iloc") else None, columns=list(self._names))

    def _margins(self, X: Any) -> np.ndarray:
        """Return X W + b, (n_samples, n_tasks)."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        return np.asarray(X @ np.atleast_2d(self.coef_).T) + self.intercept_

    def _checked(self, X: Any, y: Any, sample_weight: Any, name: str, **options: Any) -> tuple[Any, Labels, np.ndarray]:
        """Check X, the labels or targets, and the sample weights, and return them."""
        y, is_known = Labels.read(y, name, numeric=self._numeric)
        y = y.toarray() if sparse.issparse(y) else y
        if self._numeric and y is not None and y.dtype.kind not in "fiubc":
            y = real_array(y, name)  # scikit-learn's message for text and dates does not name y
        options = {"order": "C", "multi_output": True, "y_numeric": self._numeric} | options
        X, y = validated(self, X, y, **options)
        return X, Labels(y, is_known), weights_of(sample_weight, X)

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        reset: bool = True,
        training: bool = True,
        name: str = "y",
        classes: Any = None,
    ) -> TaskSamples:
        """Check samples, and convert y from its coding to numbers and weights.

        Parameters
        ----------
        X, y, sample_weight : Any
            Samples as the user passed them.
        reset : bool
            True to learn the names of the features and the coding of y from these samples. If False, the samples must
            have the features and the coding that were learnt before.
        training : bool
            True to apply the class weights.
        name : str
            Name of y in error messages.
        classes : array or None
            All classes that can occur, as passed to `partial_fit`.
        """
        names = np.asarray(y.columns) if hasattr(y, "columns") else None
        if not reset and names is not None and self._names is not None:
            require(
                np.array_equal(names, self._names),
                f"{name} must have the columns {self._names.tolist()} in this order, got {names.tolist()}",
            )
        X, given, weight = self._checked(X, y, sample_weight, name, reset=reset)
        y = given.y
        if reset:
            self._flat, self._n_columns = y.ndim == 1, y.size // len(y)
            self._names = None if self._flat else names
            self._learn_coding(y[weight.any(axis=1) & given.is_known.any(axis=1)], classes)
            _hint_at_scales(X)
        require(
            y.size == len(y) * self._n_columns,
            f"{name} must have one row per sample and one column per task, ({len(y)}, {self._n_columns}), got shape "
            f"{y.shape}",
        )
        Y, weights = self._in_tasks(given, weight, name)
        return TaskSamples(X, Y, self._weigh(Y, weights) if training else weights)

    def _read_all(self, X: Any, y: Any, sample_weight: Any) -> TaskSamples:
        """Read the samples passed to `fit`, and warn about tasks without samples."""
        samples = self._read(X, y, sample_weight)
        self._warn_of_unknown(samples.weights.max(axis=0) > 0, "target" if self._numeric else "label")
        return samples

    def _warn_of_unknown(self, has_samples: np.ndarray, of: str) -> None:
        """Warn about all tasks without samples, in a single warning that lists them.

        has_samples: bool (n_tasks,). of: the word for an entry of y in the message, such as "label".
        """
        names = [name for name, has in zip(names_of_tasks(self, len(has_samples)), has_samples, strict=True) if not has]
        if names:
            warn_user(
                f"{len(names)} of {len(has_samples)} tasks have no known label or target of positive weight, so their "
                f"weights stay 0 (add labels or targets, or leave these tasks out of y): {in_words(names, of)}"
            )

    def _in_tasks(self, given: Labels, weight: np.ndarray, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
        """Return Y and the weights for `TaskSamples`. Class weights are not applied yet."""
        y, is_known = given
        Y = self._as_numbers(y, np.asarray(weight.any(axis=1) & is_known.any(axis=1)), name)
        require(
            weight.shape[1] in (1, Y.shape[1]),
            f"sample_weight must hold one number per sample, or one per sample and task, {Y.shape}, got shape "
            f"{weight.shape}",
        )
        weights = weight * is_known * np.ones(Y.shape)
        return np.where(weights > 0, Y, 0.0), weights

    def _learn_coding(self, y: np.ndarray, classes: Any) -> None:
        """Store the coding of the labels y, for predictions and for reading further samples. Targets have no coding."""

    def _as_numbers(self, y: np.ndarray, counted: np.ndarray, name: str) -> np.ndarray:
        """Convert y to a matrix of numbers, (n_samples, n_tasks).

        counted: bool (n_samples,), False for samples whose entries of y are not used.
        """
        return y.reshape(len(y), -1)

    def _weigh(self, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Multiply the weights by the class weights, if the estimator has any."""
        return weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


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
