"""Base classes of the estimators: a linear model, and one that a solver trains.

minimise over W  sum_k sum_i c_ik loss(x_i·w_k + b_k, y_ik)  subject to  ||W|| <= radius, or with penalty * ||W|| added.
Source: Quattoni et al. (2009), eq. 1 and 2.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from jointsparse.checks import as_finite, as_radius, require, require_count, require_unmasked
from jointsparse.learning.problem import Fit, Problem
from jointsparse.registry import pick

# Default iterations. Solvers that stop at tol rarely need so many. Other solvers do them all: Quattoni et al. use 200.
N_ITER_TO_TOL, N_ITER = 10_000, 200
FLOATING = [np.float64, np.float32]

# An estimator's parameters are the fields of a dataclass. Equality and text stay those of scikit-learn.
parameters = dataclass(eq=False, repr=False, kw_only=True)


def positional(default: Any) -> Any:
    """A parameter that may be given without its name."""
    return field(default=default, kw_only=False)


def all_or_nothing(learn: Callable[..., Any]) -> Callable[..., Any]:
    """If fitting fails, restore the estimator's previous state."""

    @wraps(learn)
    def guarded(self: Any, *arguments: Any, **options: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return learn(self, *arguments, **options)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return guarded


def given_one(radius: Any, penalty: Any, names: str = "radius and penalty") -> tuple[Any, bool]:
    """Return the one of radius and penalty that is given, and True if it is the penalty."""
    require(
        (radius is None) != (penalty is None),
        f"exactly one of {names} must be given and the other one None, got {radius!r} and {penalty!r}",
    )
    return (radius, False) if penalty is None else (penalty, True)


def validated(estimator: BaseEstimator, *X_and_y: Any, **options: Any) -> Any:
    """Check X, or X and y, as scikit-learn does, and refuse masked arrays, whose mask it loses."""
    for name, array in zip("Xy", X_and_y, strict=False):
        require_unmasked(array, name)
    return validate_data(estimator, *X_and_y, accept_sparse="csr", dtype=FLOATING, **options)


def weights_of(sample_weight: Any, X: Any) -> np.ndarray:
    """The weights of the samples, (n_samples,) float64, at least 0."""
    require_unmasked(sample_weight, "sample_weight")
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))


class Linear(BaseEstimator):
    """A linear model of features that are dense or sparse."""

    coef_: np.ndarray
    intercept_: np.ndarray

    def _margins(self, X: Any) -> np.ndarray:
        """X W + b, (n_samples, n_tasks)."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        return np.asarray(X @ np.atleast_2d(self.coef_).T) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@parameters
class Trained(Linear):
    """A linear model that a solver trains on all samples together."""

    norm: str = positional("l1inf")
    solver: str = "working_set"
    n_iter: int | None = None
    tol: float = 1e-3
    normalisation: str = "sum"
    fit_intercept: bool = False

    def _train(
        self, problem: Problem, loss: str, radii: Sequence[float], penalised: bool, eta0: Sequence[float]
    ) -> tuple[np.ndarray, Fit]:
        """Fit all pairs (radius, eta0), and return both; without step sizes each radius is one pair with eta0 NaN."""
        solver = pick("solvers", self.solver)
        if self.n_iter is not None:
            require_count(self.n_iter, "n_iter")
        takes_eta0 = "eta0" in solver.TAKES
        steps = eta0 if takes_eta0 else [np.nan]
        require(len(steps), "eta0 must hold at least one number, got none")
        pairs = np.array(list(product(radii, steps)), dtype=float)
        options: dict[str, Any] = {"eta0": pairs[:, 1]} if takes_eta0 else {}
        tol = as_radius(self.tol, "tol")
        if solver.STOPS_AT_TOL:
            options["tol"] = tol
        return pairs, solver.fit(
            problem,
            loss=pick("losses", loss),
            norm=pick("norms", self.norm),
            radius=pairs[:, 0],
            penalised=penalised,
            n_iter=int(self.n_iter or (N_ITER_TO_TOL if solver.STOPS_AT_TOL else N_ITER)),
            **options,
        )

    def _train_one(self, problem: Problem, loss: str, radius: Any, penalty: Any, eta0: float) -> None:
        """Train with one radius or penalty and keep the result."""
        value, penalised = given_one(radius, penalty)
        value = as_finite(value, "penalty" if penalised else "radius")
        _, fitted = self._train(problem, loss, [value], penalised, [eta0])
        self._keep(fitted, 0)

    def _keep(self, fitted: Fit, pair: int) -> None:
        """Set the attributes that describe one pair of a fit, and warn if a solver that stops at tol did not."""
        self.coef_ = np.ascontiguousarray(fitted.W[pair].T)
        self.intercept_ = fitted.b[pair].copy()
        self.selected_features_ = np.flatnonzero(self.coef_.any(axis=0))
        self.n_iter_ = int(fitted.n_iter)
        self.objective_ = fitted.objective[pair, : self.n_iter_ + 1].copy()
        self.duality_gap_ = float(fitted.gap[pair])
        if self._unproven(fitted)[pair]:
            warnings.warn(
                f"after {self.n_iter_} iterations the objective is certified to be within {self.duality_gap_:.2g} of "
                f"the optimum (relative), not within tol={self.tol:g}: raise n_iter or tol, or scale the features",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _unproven(self, fitted: Fit) -> np.ndarray:
        """Mark the pairs, (n_pairs,), that are not certified to be within tol although the solver stops there."""
        return ~(fitted.gap <= self.tol) & pick("solvers", self.solver).STOPS_AT_TOL

    def _problem(self, X: Sequence[Any], Y: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> Problem:
        """Tasks without their samples of weight 0. X, Y, weights: per task (n_k, n_features), (n_k,), (n_k,)."""
        return Problem(X, Y, weights, normalisation=self.normalisation, intercept=bool(self.fit_intercept))

    def _shared(self, X: Any, Y: np.ndarray, weights: np.ndarray) -> Problem:
        """Tasks that share their samples. X: (n_samples, n_features). Y, weights: (n_samples, n_tasks)."""
        return self._problem([X] * Y.shape[1], list(Y.T), list(weights.T))

    def _read_tasks(
        self, tasks: Sequence[tuple[Any, ArrayLike]], sample_weight: Sequence[ArrayLike] | None, y_numeric: bool
    ) -> tuple[list[Any], list[np.ndarray], list[np.ndarray]]:
        """Check tasks with samples of their own; return features of one dtype, targets and weights per task."""
        tasks = list(tasks)
        require(
            tasks and all(isinstance(task, (tuple, list)) and len(task) == 2 for task in tasks),
            "tasks must be a list of pairs (X_k, y_k), at least one",
        )
        given = [None] * len(tasks) if sample_weight is None else list(sample_weight)
        require(len(given) == len(tasks), f"sample_weight must hold one array per task, {len(tasks)}, got {len(given)}")
        features, targets, weights = [], [], []
        for k, ((X_k, y_k), weight) in enumerate(zip(tasks, given, strict=True)):
            X_k, y_k = validated(self, X_k, y_k, reset=k == 0, order="C", y_numeric=y_numeric)
            features.append(X_k)
            targets.append(y_k)
            weights.append(weights_of(weight, X_k))
        dtype = np.result_type(*(X_k.dtype for X_k in features))
        return [X_k.astype(dtype, copy=False) for X_k in features], targets, weights
