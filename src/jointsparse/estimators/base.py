"""Base classes of the estimators: a linear model, and one that a solver trains.

minimise over W  sum_k sum_i c_ik loss(x_i·w_k + b_k, y_ik)  subject to  ||W|| <= radius, or with penalty * ||W|| added.
Source: Quattoni et al. (2009), eq. 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from jointsparse.checks import (
    as_finite,
    as_positive,
    as_radius,
    real_array,
    require,
    require_count,
    require_sound,
    require_unmasked,
    shortened,
    warn_user,
)
from jointsparse.estimators.watch import CALLBACK, INTERRUPT, Interrupted, Watch
from jointsparse.learning.problem import Fit, Problem
from jointsparse.learning.scales import Scales, scales
from jointsparse.learning.sweep import choose_eta0
from jointsparse.registry import pick

# Default iterations. Solvers that stop at tol rarely need so many. Other solvers do them all: Quattoni et al. use 200.
N_ITER_TO_TOL, N_ITER = 10_000, 200
# Choice: automatic radii in natural units, where they are not one; see benchmarks/defaults.py.
UNITS = {"squared": 2.0}
FLOATING = [np.float64, np.float32]
SWITCHES = ("fit_intercept", "positive", "warm_start", "verbose")

# An estimator's parameters are the fields of a dataclass. Equality and text stay those of scikit-learn.
parameters = dataclass(eq=False, repr=False, kw_only=True)


def positional(default: Any) -> Any:
    """A parameter that may be given without its name."""
    return field(default=default, kw_only=False)


def all_or_nothing(learn: Callable[..., Any]) -> Callable[..., Any]:
    """If fitting fails, restore the estimator's previous state. An interrupted fit keeps what it has."""

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


def given_one(radius: Any, penalty: Any, names: str = "radius and penalty") -> tuple[Any, bool]:
    """Return the one of radius and penalty that is given, and True if it is the penalty; "auto" gives way to one."""
    if isinstance(radius, str) and radius == "auto" and penalty is not None:
        radius = None
    require(
        (radius is None) != (penalty is None),
        f"exactly one of {names} must be given and the other one None, got {radius!r} and {penalty!r}",
    )
    return (radius, False) if penalty is None else (penalty, True)


def _numbers(y: Any) -> Any:
    """Targets that scikit-learn can check. It fails on text and dates without naming y."""
    require(not sparse.issparse(y), "y must hold targets in an array, got a sparse matrix: pass y.toarray()")
    return y if y is None or np.asarray(y).dtype.kind in "fiubc" else real_array(y, "y")


def validated(estimator: BaseEstimator, *X_and_y: Any, **options: Any) -> Any:
    """Check X, or X and y, as scikit-learn does, and refuse masked arrays, whose mask it loses."""
    for name, array in zip("Xy", X_and_y, strict=False):
        require_unmasked(array, name)
    require_sound(X_and_y[0])
    if options.get("y_numeric"):
        X, y = X_and_y
        X_and_y = X, _numbers(y)
    return validate_data(estimator, *X_and_y, accept_sparse="csr", dtype=FLOATING, **options)


def weights_of(sample_weight: Any, X: Any) -> np.ndarray:
    """The weights of the samples, (n_samples,) or (n_samples, n_tasks) float64, at least 0."""
    require_unmasked(sample_weight, "sample_weight")
    if np.asarray(sample_weight).ndim < 2:
        return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
    weights = np.asarray(sample_weight, dtype=np.float64)
    require(len(weights) == X.shape[0], f"sample_weight must have {X.shape[0]} rows, got shape {weights.shape}")
    require(
        bool(np.isfinite(weights).all()) and weights.min(initial=0) >= 0,
        "sample_weight must hold finite numbers of at least 0",
    )
    return weights


def spread(weight: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Weights of the samples as weights in each task, which some have already. shape: (n_samples, n_tasks)."""
    require(
        weight.ndim == 1 or weight.shape == shape,
        f"sample_weight must have a number per sample, or one per sample and task, {shape}, got shape {weight.shape}",
    )
    return np.broadcast_to(weight if weight.ndim == 2 else weight[:, np.newaxis], shape)


def in_columns(y: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """y, (n_samples,) or (n_samples, n_tasks), as a matrix of this shape."""
    Y = y[:, np.newaxis] if y.ndim == 1 else y
    require(Y.shape == shape, f"y must have one row per sample and one column per task, {shape}, got shape {y.shape}")
    return Y


def _by_name(numbers: Any, names: np.ndarray | None) -> Any:
    """A pandas Series in the order of the names, if these are its index. All else stays as it is."""
    labels: Any = getattr(numbers, "index", None)  # a method of lists
    named = names is not None and np.shape(labels) == names.shape and set(labels) == set(names)
    return numbers.loc[names] if named else numbers


def _is_missing(value: Any) -> bool:
    """True for None, NaN and pandas.NA."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def known(y: Any, filling: Any) -> tuple[Any, np.ndarray | None]:
    """Fill in missing labels or targets, and mark them.

    Parameters
    ----------
    y : array, DataFrame or Series (n_samples,) or (n_samples, n_tasks)
        Labels or targets. NaN, None and pandas.NA are missing.
    filling : object
        Takes their place in a matrix. In a vector the first one that is not missing does.

    Returns
    -------
    y : array or as it came
        Without missing entries.
    missing : bool array of the shape of y, or None
        Marks them.
    """
    if y is None or sparse.issparse(y) or np.ma.isMaskedArray(y):
        return y, None
    array = np.asarray(y)
    require(array.ndim, f"y must be a vector or a matrix, got {type(y).__name__}")
    if array.dtype.kind == "f":
        missing = np.isnan(array)
    elif array.dtype.kind == "O":
        missing = np.frompyfunc(_is_missing, 1, 1)(array).astype(bool)
    else:
        return y, None
    if not missing.any():
        if array.dtype.kind == "O" and hasattr(y, "isna"):  # pandas' own numbers
            y = np.array(array.tolist())
        return y, None
    require(not missing.all(), "y must hold at least one label or target, got missing ones only")
    filled = array.copy()
    filled[missing] = filling if array.ndim == 2 else array[~missing][0]
    return np.array(filled.tolist()) if array.dtype.kind == "O" else filled, missing


def names_of(y: Any) -> np.ndarray | None:
    """Names of the columns of a DataFrame, or None."""
    return np.asarray(y.columns) if hasattr(y, "columns") else None


class Linear(BaseEstimator):
    """A linear model of features that are dense or sparse."""

    coef_: np.ndarray
    intercept_: np.ndarray
    _names: np.ndarray | None = None  # of the tasks, if they came in a DataFrame or a mapping

    def coef_frame(self) -> Any:
        """Return W as a pandas DataFrame: a row per feature, a column per task, with the names that `fit` has seen."""
        import pandas as pd  # which is no dependency

        check_is_fitted(self)
        W = np.atleast_2d(self.coef_).T
        columns = getattr(self, "classes_", ()) if self._names is None else self._names
        if len(columns) != W.shape[1]:  # two classes are one task
            columns = range(W.shape[1])
        return pd.DataFrame(W, index=getattr(self, "feature_names_in_", None), columns=list(columns))

    def _require_names(self, y: Any, name: str = "y") -> None:
        """Raise ValueError if the columns of a DataFrame y are not those that `fit` has seen, in their order."""
        got = names_of(y)
        if got is not None and self._names is not None:
            require(
                np.array_equal(got, self._names),
                f"{name} must have the columns {self._names.tolist()} in this order, got {got.tolist()}",
            )

    def _in_frame(self, predicted: np.ndarray, X: Any) -> Any:
        """Predictions (n_samples, n_tasks) as a DataFrame, if the tasks have names."""
        if self._names is None or predicted.ndim != 2:
            return predicted
        import pandas as pd

        return pd.DataFrame(predicted, index=getattr(X, "index", None), columns=list(self._names))

    def _margins(self, X: Any) -> np.ndarray:
        """X W + b, (n_samples, n_tasks)."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        return np.asarray(X @ np.atleast_2d(self.coef_).T) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Posed(NamedTuple):
    """A problem, and numbers that its targets are less than those given, (n_tasks,)."""

    problem: Problem
    centres: np.ndarray


@parameters
class Trained(SelectorMixin, Linear):
    """A linear model that a solver trains on all samples together. As a transformer it keeps the features it uses."""

    norm: str = positional("l1inf")
    solver: str = "working_set"
    n_iter: int | None = None
    tol: float = 1e-3
    normalisation: str = "sum"
    fit_intercept: bool = True
    feature_weights: ArrayLike | None = None
    groups: ArrayLike | None = None
    positive: bool = False
    warm_start: bool = False
    max_time: float | None = None
    callback: Callable[[int, float, float], object] | None = None
    verbose: bool = False

    def _check_switches(self) -> None:
        for name in SWITCHES:
            value = getattr(self, name)
            require(isinstance(value, bool | np.bool_ | int), f"{name} must be True or False, got {value!r}")
        require(
            self.callback is None or callable(self.callback),
            f"callback must be a function or None, got {self.callback!r}",
        )

    def _options_of_norm(self, n_features: int) -> dict[str, Any]:
        """feature_weights, groups and positive, checked, as the solvers take them."""
        norm = pick("norms", self.norm)
        options: dict[str, Any] = {"positive": bool(self.positive)}
        groups, n_rows = None, n_features
        if self.groups is not None:
            require(norm.GROUPED, f"groups must be None with norm={self.norm!r}, which takes none")
            try:
                names, groups = np.unique(np.asarray(self.groups), return_inverse=True)
            except TypeError:
                raise ValueError(f"groups must hold names of one type, got {shortened(self.groups)}") from None
            require(
                groups.shape == (n_features,),
                f"groups must name a group for each of {n_features} features, got shape {groups.shape}",
            )
            n_rows = len(names)
        if self.feature_weights is not None:
            require(norm.WEIGHTED, f"feature_weights must be None with norm={self.norm!r}, which takes none")
            features = getattr(self, "feature_names_in_", None)
            weights = real_array(
                _by_name(self.feature_weights, features if groups is None else names), "feature_weights"
            )
            weights = weights.astype(float)
            expected = (
                f"feature_weights must hold a number above 0 for each of {n_rows} "
                f"{'features' if groups is None else 'groups, in the order of their sorted names'}"
            )
            require(weights.shape == (n_rows,), f"{expected}, got shape {weights.shape}")
            wrong = weights[~((weights > 0) & np.isfinite(weights))]
            require(not len(wrong), f"{expected}, got {wrong[:1]}")
            options["weights"] = weights
        return options if groups is None else options | {"groups": groups}

    def _train(
        self,
        problem: Problem,
        loss: str,
        radii: Sequence[float],
        penalised: bool,
        eta0: Sequence[float],
        *,
        tol: float | None = None,
        **options: Any,
    ) -> tuple[np.ndarray, Fit]:
        """Fit all pairs (radius, eta0), and return both; without step sizes each radius is one pair with eta0 NaN.

        options: of the solver, such as start and watch.
        """
        solver = pick("solvers", self.solver)
        if self.n_iter is not None:
            require_count(self.n_iter, "n_iter")
        takes_eta0 = "eta0" in solver.TAKES
        steps = eta0 if takes_eta0 else [np.nan]
        require(len(steps), "eta0 must hold at least one number, got none")
        pairs = np.array(list(product(radii, steps)), dtype=float)
        if takes_eta0:
            options["eta0"] = pairs[:, 1]
        own_tol = as_radius(self.tol, "tol")
        if solver.STOPS_AT_TOL:
            options["tol"] = own_tol if tol is None else tol
        return pairs, solver.fit(
            problem,
            loss=pick("losses", loss),
            norm=pick("norms", self.norm),
            radius=pairs[:, 0],
            penalised=penalised,
            n_iter=int(self.n_iter or (N_ITER_TO_TOL if solver.STOPS_AT_TOL else N_ITER)),
            **self._options_of_norm(problem.n_features),
            **options,
        )

    def _train_one(self, posed: Posed, loss: str, radius: Any, penalty: Any, eta0: Any) -> None:
        """Train with one radius or penalty, and the best of the step sizes, and keep the result."""
        problem = posed.problem
        value, penalised = given_one(radius, penalty)
        if value is radius and isinstance(value, str) and value == "auto":
            value = UNITS.get(loss, 1.0) * self._scales(problem, loss).radius
        value = as_finite(value, "penalty" if penalised else "radius")
        options: dict[str, Any] = {"start": start} if (start := self._start(problem)) else {}
        max_time = None if self.max_time is None else as_positive(self.max_time, "max_time")
        with Watch(self.callback, max_time, bool(self.verbose)) as watch:
            steps = list(np.atleast_1d(eta0))
            pairs, fitted = self._train(problem, loss, [value], penalised, steps, watch=watch, **options)
        best = int(choose_eta0(pairs[:, 0], fitted.objective)[0])
        self.eta0_ = float(pairs[best, 1])
        self.radius_ = None if penalised else value
        self.penalty_ = value if penalised else None
        self._keep(fitted, best, posed.centres, watch.ended_by)
        self._last_fit = fitted.of(best) if self.warm_start else None
        if watch.ended_by == INTERRUPT:
            raise Interrupted

    def _scales(self, problem: Problem, loss: str) -> Scales:
        """The natural scales of radii and penalties, see `learning.scales`."""
        options = self._options_of_norm(problem.n_features)
        return scales(problem, loss=pick("losses", loss), norm=pick("norms", self.norm), **options)

    def _start(self, problem: Problem) -> Fit | None:
        """The last fit, if the next one shall start from it and its weights have the right shape."""
        last = getattr(self, "_last_fit", None) if self.warm_start else None
        fits = last is not None and last.W.shape[1:] == (problem.n_features, problem.n_tasks)
        return last if fits and pick("solvers", self.solver).STOPS_AT_TOL else None

    def _keep(self, fitted: Fit, pair: int, centres: np.ndarray, ended_by: str) -> None:
        """Set the attributes that describe one pair of a fit, and warn if a solver that stops at tol did not."""
        self.coef_ = np.ascontiguousarray(fitted.W[pair].T)
        self.intercept_ = (fitted.b[pair] + centres).astype(fitted.b.dtype)
        self.selected_features_ = self.get_support(indices=True)
        if hasattr(self, "feature_names_in_"):
            self.selected_features_ = self.feature_names_in_[self.selected_features_]
        self.n_iter_ = int(fitted.n_iter)
        self.objective_ = fitted.objective[pair, : self.n_iter_ + 1].copy()
        self.duality_gap_ = float(fitted.gap[pair])
        if self._unproven(fitted)[pair] and ended_by not in (CALLBACK, INTERRUPT):
            strength = f"penalty={self.penalty_:.4g}" if self.radius_ is None else f"radius={self.radius_:.4g}"
            limit = f"max_time={self.max_time:g}" if ended_by else "n_iter"
            warn_user(
                f"with {strength}, after {self.n_iter_} iterations, the objective is certified to be within "
                f"{self.duality_gap_:.2g} of the optimum (relative), not within tol={self.tol:g}: raise {limit} or "
                "tol, or centre and scale the features",
                ConvergenceWarning,
            )

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(np.atleast_2d(self.coef_).any(axis=0))

    def _unproven(self, fitted: Fit) -> np.ndarray:
        """Mark the pairs, (n_pairs,), that are not certified to be within tol although the solver stops there."""
        return ~(fitted.gap <= self.tol) & pick("solvers", self.solver).STOPS_AT_TOL

    def _pose(self, X: Sequence[Any], Y: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> Posed:
        """Tasks without their samples of weight 0. X, Y, weights: per task (n_k, n_features), (n_k,), (n_k,)."""
        self._check_switches()
        centres = self._centres_of(Y, weights)
        Y = [y - centre for y, centre in zip(Y, centres, strict=True)]
        problem = Problem(X, Y, weights, normalisation=self.normalisation, intercept=bool(self.fit_intercept))
        return Posed(problem, centres)

    def _centres_of(self, Y: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> np.ndarray:
        """Numbers, (n_tasks,), that are taken off the targets before training."""
        return np.zeros(len(Y))

    def _pose_shared(self, X: Any, Y: np.ndarray, weights: np.ndarray) -> Posed:
        """Tasks that share their samples. X: (n_samples, n_features). Y, weights: (n_samples, n_tasks)."""
        return self._pose([X] * Y.shape[1], list(Y.T), list(weights.T))

    def _read_tasks(
        self,
        tasks: Sequence[tuple[Any, ArrayLike]] | Mapping[Any, tuple[Any, ArrayLike]],
        sample_weight: Sequence[ArrayLike] | None,
        y_numeric: bool,
    ) -> tuple[list[Any], list[np.ndarray], list[np.ndarray]]:
        """Check tasks with samples of their own; return features of one dtype, targets and weights per task."""
        self._names = np.array(list(tasks), dtype=object) if isinstance(tasks, Mapping) else None
        tasks = list(tasks.values()) if isinstance(tasks, Mapping) else list(tasks)
        require(
            tasks and all(isinstance(task, (tuple, list)) and len(task) == 2 for task in tasks),
            "tasks must be a list of pairs (X_k, y_k), at least one",
        )
        given = [None] * len(tasks) if sample_weight is None else list(sample_weight)
        require(len(given) == len(tasks), f"sample_weight must hold one array per task, {len(tasks)}, got {len(given)}")
        features, targets, weights = [], [], []
        for k, ((X_k, y_k), weight) in enumerate(zip(tasks, given, strict=True)):
            y_k, missing = known(y_k, None)
            X_k, y_k = validated(self, X_k, y_k, reset=k == 0, order="C", y_numeric=y_numeric)
            features.append(X_k)
            targets.append(y_k)
            weights.append(weights_of(weight, X_k) * (1.0 if missing is None else ~missing))
        dtype = np.result_type(*(X_k.dtype for X_k in features))
        return [X_k.astype(dtype, copy=False) for X_k in features], targets, weights
