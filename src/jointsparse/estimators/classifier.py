"""The solvers as scikit-learn estimators: `JointSparseClassifier`, `JointSparseClassifierCV`, `JointSparseRegressor`.

minimise over W  sum_k sum_i c_ik loss(x_i·w_k + b_k, y_ik)  subject to  ||W|| <= radius, or with penalty * ||W|| added.
Source: Quattoni et al. (2009), eq. 1 and 2.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from jointsparse.checks import as_radius, require_count
from jointsparse.learning.problem import Fit, Problem
from jointsparse.learning.sweep import choose_eta0
from jointsparse.registry import pick

# What a matrix y may hold under each value of `labels`.
CODES = {"classes": (0, 1), "01": (0, 1), "signed": (-1, 1), "masked": (-1, 0, 1)}
# Iterations where n_iter is None. Solvers that stop at tol rarely need so many; the others always do all, and Quattoni
# et al. (2009) use 200.
N_ITER_TO_TOL, N_ITER = 10_000, 200
FLOATING = [np.float64, np.float32]


def all_or_nothing(learn: Callable[..., Any]) -> Callable[..., Any]:
    """Where a method that learns fails, the estimator stays as it was."""

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


class _JointSparse(BaseEstimator):
    """What the estimators share: from a problem to a trained W, and from W to margins."""

    norm: str
    solver: str
    n_iter: int | None
    tol: float
    normalisation: str
    fit_intercept: bool

    def _train(
        self, problem: Problem, loss: str, strengths: Sequence[float], penalised: bool, eta0: Sequence[float]
    ) -> tuple[np.ndarray, Fit]:
        """The pairs (strength, eta0) and their fit; a solver without step sizes takes each strength once, eta0 NaN."""
        solver = pick("solvers", self.solver)
        if self.n_iter is not None:
            require_count(self.n_iter, "n_iter")
        n_iter = int(self.n_iter or (N_ITER_TO_TOL if solver.STOPS_AT_TOL else N_ITER))
        steps = eta0 if "eta0" in solver.TAKES else [np.nan]
        if not len(steps):
            raise ValueError("eta0 must hold at least one number, got none")
        pairs = np.array(list(product(strengths, steps)), dtype=float)
        options: dict[str, Any] = {"eta0": pairs[:, 1]} if "eta0" in solver.TAKES else {}
        tol = as_radius(self.tol, "tol")
        if solver.STOPS_AT_TOL:
            options["tol"] = tol
        return pairs, solver.fit(
            problem,
            loss=pick("losses", loss),
            norm=pick("norms", self.norm),
            radius=pairs[:, 0],
            penalised=penalised,
            n_iter=n_iter,
            **options,
        )

    def _keep(self, fitted: Fit, pair: int) -> None:
        """Set the attributes that describe one pair of a fit, and warn where a solver that stops at tol did not."""
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
                stacklevel=3,
            )

    def _unproven(self, fitted: Fit) -> np.ndarray:
        """Which pairs of a fit, (n_pairs,), are not certified to be within tol although the solver stops there."""
        return ~(fitted.gap <= self.tol) & pick("solvers", self.solver).STOPS_AT_TOL

    def _problem(self, X: Sequence[Any], Y: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> Problem:
        """The tasks, without samples of weight 0. X, Y, weights: per task (n_k, n_features), (n_k,), (n_k,)."""
        return Problem(X, Y, weights, normalisation=self.normalisation, intercept=bool(self.fit_intercept))

    def _shared(self, X: Any, Y: np.ndarray, weights: np.ndarray) -> Problem:
        """The tasks of samples that they share. X: (n_samples, n_features). Y, weights: (n_samples, n_tasks)."""
        return self._problem([X] * Y.shape[1], list(Y.T), list(weights.T))

    def _read_tasks(
        self, tasks: Sequence[tuple[Any, ArrayLike]], sample_weight: Sequence[ArrayLike] | None, y_numeric: bool
    ) -> tuple[list[Any], list[np.ndarray], list[np.ndarray]]:
        """The features, targets and weights of tasks with samples of their own, checked, features of one dtype."""
        tasks = list(tasks)
        if not tasks or any(not isinstance(task, (tuple, list)) or len(task) != 2 for task in tasks):
            raise ValueError("tasks must be a list of pairs (X_k, y_k), at least one")
        given = [None] * len(tasks) if sample_weight is None else list(sample_weight)
        if len(given) != len(tasks):
            raise ValueError(f"sample_weight must hold one array per task, {len(tasks)}, got {len(given)}")
        features, targets, weights = [], [], []
        for k, ((X_k, y_k), weight) in enumerate(zip(tasks, given, strict=True)):
            X_k, y_k = validate_data(
                self, X_k, y_k, reset=k == 0, accept_sparse="csr", dtype=FLOATING, order="C", y_numeric=y_numeric
            )
            features.append(X_k)
            targets.append(y_k)
            weights.append(_check_sample_weight(weight, X_k, dtype=np.float64, ensure_non_negative=True))
        dtype = np.result_type(*(X_k.dtype for X_k in features))
        return [X_k.astype(dtype, copy=False) for X_k in features], targets, weights

    def _margins(self, X: Any) -> np.ndarray:
        """X W + b, (n_samples, n_tasks)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATING)
        return np.asarray(X @ np.atleast_2d(self.coef_).T) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def one_of(radius: Any, penalty: Any, names: str = "radius and penalty") -> tuple[Any, bool]:
    """The one of radius and penalty that is given, and whether it is the penalty."""
    if (radius is None) == (penalty is None):
        raise ValueError(f"exactly one of {names} must be given and the other one None, got {radius!r} and {penalty!r}")
    return (radius, False) if penalty is None else (penalty, True)


def as_strength(value: Any, name: str) -> float:
    """A finite radius or penalty of at least 0."""
    strength = as_radius(value, name)
    if not np.isfinite(strength):
        raise ValueError(f"{name} must be finite, got {strength}")
    return strength


def as_signs(y: np.ndarray, labels: str) -> np.ndarray:
    """Labels as -1, +1, and 0 for samples that are not part of a task. y: any shape, coded as `labels` says."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"labels={labels!r} expects numbers in y, got dtype {np.asarray(y).dtype}") from None
    codes = CODES[labels]
    bad = values[~np.isin(values, codes)]
    if bad.size:
        known, others = ", ".join(map(str, codes)), ", ".join(repr(name) for name in CODES if name != labels)
        matrix = "a matrix y" if labels == "classes" else "y"
        raise ValueError(f"labels={labels!r} expects {known} in {matrix}, got {bad[0]:g}; labels may also be {others}")
    return values if -1 in codes else 2 * values - 1


class _JointSparseClassifier(ClassifierMixin, _JointSparse):
    """What the classifiers share: labels in every coding, class weights, decisions and predictions."""

    loss: str
    labels: str
    class_weight: str | Mapping[Any, float] | None

    def _check_labels(self) -> None:
        if self.labels not in CODES:
            raise ValueError(f"labels must be one of {', '.join(map(repr, CODES))}, got {self.labels!r}")

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray, np.ndarray]:
        """X and y, checked; Y (n_samples, n_tasks) of -1 and +1, weights of that shape, 0 outside a task."""
        self._check_labels()
        if sparse.issparse(y):
            y = y.toarray()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=FLOATING, order="C", multi_output=True, y_numeric=False
        )
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.labels == "classes" and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        self._flat = y.ndim == 1
        if self.labels == "classes" and self._flat:
            check_classification_targets(y)
            self.classes_ = np.unique(y[weight > 0])
            if len(self.classes_) < 2:
                raise ValueError(
                    f"y must hold at least two classes, got 1 class of positive weight: {self.classes_[0]}"
                )
        else:
            self.classes_ = np.array([CODES[self.labels][0], 1])
        Y = self._signs(y)
        return X, y, Y, self._weigh(y, Y, weight)

    def _signs(self, y: np.ndarray) -> np.ndarray:
        """y, in the coding and shape that fit has seen, as signs (n_samples, n_tasks)."""
        if self.labels == "classes" and self._flat:
            positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
            return np.where(y[:, np.newaxis] == positive, 1.0, -1.0)
        Y = as_signs(y, self.labels)
        return Y[:, np.newaxis] if self._flat else Y

    def _weigh(self, y: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The weights (n_samples, n_tasks) of the losses: sample weight times class weight, 0 outside a task."""
        weights = weight[:, np.newaxis] * (Y != 0)
        if self.class_weight is None:
            return weights
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise ValueError(f"class_weight must be 'balanced', a dict or None, got {self.class_weight!r}")
            # Choice: each task is balanced by itself, its positives against its negatives.
            sides = np.array([(weights * (sign * Y > 0)).sum(axis=0) for sign in (-1, 1)])
            share = sides.sum(axis=0) / (np.maximum((sides > 0).sum(axis=0), 1) * np.where(sides > 0, sides, 1))
            return weights * np.where(Y > 0, share[1], share[0])
        unknown = set(self.class_weight) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(
                f"class_weight must name classes of y, {self.classes_.tolist()}, got {sorted(unknown, key=str)}"
            )
        of_class = np.array([self.class_weight.get(value, 1.0) for value in self.classes_.tolist()], dtype=float)
        if not np.all(of_class >= 0):
            raise ValueError(f"class_weight must hold numbers of at least 0, got {dict(self.class_weight)}")
        if self._flat and self.labels == "classes":  # the sample's own class, in every task
            position = np.clip(np.searchsorted(self.classes_, y), 0, len(self.classes_) - 1)
            return weights * of_class[position][:, np.newaxis]
        return weights * np.where(Y > 0, of_class[1], of_class[0])

    def decision_function(self, X: Any) -> np.ndarray:
        """x·w_k + b_k: positive where task k is predicted to hold.

        X: (n_samples, n_features), dense or sparse. Returns (n_samples, n_tasks), or (n_samples,) for two classes and
        for a single task whose labels came as a vector.

        >>> model = JointSparseClassifier(radius=1.0).fit([[1.0], [-1.0]], ["no", "yes"])
        >>> model.decision_function([[2.0]]).round(2)
        array([-2.])
        """
        F = self._margins(X)
        return F[:, 0] if self._flat and F.shape[1] == 1 else F

    def predict(self, X: Any) -> np.ndarray:
        """The class of each sample, or the label of each sample in each task, in the coding that fit has seen.

        X: (n_samples, n_features), dense or sparse. Returns (n_samples,) or (n_samples, n_tasks): of several classes
        the one with the largest decision; else the positive label where the decision is greater than 0.

        >>> model = JointSparseClassifier(radius=1.0).fit([[1.0], [-1.0]], ["no", "yes"])
        >>> model.predict([[2.0], [-3.0]]).tolist()
        ['no', 'yes']
        """
        F = self.decision_function(X)
        if self._flat and len(self.classes_) > 2:
            return np.asarray(self.classes_[F.argmax(axis=1)])
        return np.asarray(self.classes_[(F > 0).astype(int)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of samples that are predicted rightly, as scikit-learn counts them (all tasks of a sample).

        With labels other than "classes": the fraction of the labels that are predicted rightly, over the samples of
        each task. X: (n_samples, n_features). y: as in fit. sample_weight: (n_samples,).
        """
        if self.labels == "classes":
            return float(super().score(X, y, sample_weight))
        F = self._margins(X)
        Y = as_signs(y.toarray() if sparse.issparse(y) else np.asarray(y), self.labels).reshape(len(F), -1)
        if Y.shape != F.shape:
            raise ValueError(f"y must have one column per task, {F.shape[1]}, got {Y.shape[1]}")
        weights = _check_sample_weight(sample_weight, F, dtype=np.float64)[:, np.newaxis] * (Y != 0)
        if not weights.any():
            raise ValueError("y must hold at least one label of a sample of positive weight, got none")
        return float(np.average((F > 0) == (Y > 0), weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class JointSparseClassifier(_JointSparseClassifier):
    """Linear classifiers, one per task, that agree on a few features.

    minimise over W, b  sum_k sum_i c_ik loss(x_i·w_k + b_k, y_ik)  subject to  ||W|| <= radius,
    or the same losses plus penalty * ||W||. With l1inf, ||W|| = sum_j max_k |W_jk|, a feature is either 0 in all tasks
    or free in all of them. Source: Quattoni et al. (2009), eq. 1, 2 and 4.

    Parameters
    ----------
    norm : "l1inf", "l12", "l1" or "l2"
        l1inf and l12 join the tasks; l1 and l2 bound each task by itself, all with the same radius.
    radius : number, at least 0
        The papers' C, which is nearly the opposite of scikit-learn's. None with `penalty`.
    penalty : number, at least 0, or None
        lambda of the penalised form; exactly one of radius and penalty is given.
    loss : "hinge", "logistic" or "squared"
        Of labels -1 and +1, whatever y holds.
    solver : "pdhg" or "subgradient"
        pdhg stops as soon as its objective is certified to lie within `tol` of the optimum and has no step size to
        choose: hence the default. subgradient is the papers' method: always `n_iter` steps eta0 / sqrt(t); it certifies
        a gap too, but does not stop at it.
    eta0 : number, greater than 0
        First step size of subgradient; not used by pdhg.
    n_iter : int, at least 1, or None
        Iterations: of pdhg at most so many, of subgradient exactly so many. None: 10,000 and, as in the papers, 200.
    tol : number, at least 0
        Relative duality gap to stop at. Where pdhg does not reach it in n_iter iterations, fit raises a
        ConvergenceWarning and `duality_gap_` says what was reached. Not used by subgradient, which has no such promise
        to break and so never warns.
    normalisation : "sum" or "mean"
        Whether the losses of a task are added up or averaged.
    labels : "classes", "01", "signed" or "masked"
        What y holds. "classes": as everywhere in scikit-learn, a vector of classes (two: one task, the positive class
        being the last; more: one task per class, one against the rest), or a matrix of 0 and 1, one column per task.
        "01", "signed", "masked": a vector for one task or a matrix with one column per task, of {0, 1}, {-1, +1}, or
        {-1, 0, +1} where 0 says that the sample is not part of the task. Nothing is guessed from the values.
    fit_intercept : bool
        Whether each task has a free b_k. The papers have none.
    class_weight : None, "balanced" or dict
        "balanced": in each task positives and negatives weigh the same in total. A dict: weights by class; for a
        matrix of labels by label, {0: ..., 1: ...} or {-1: ..., 1: ...}. What is not named weighs 1.

    Attributes
    ----------
    coef_ : (n_tasks, n_features), W transposed, exact zeros; intercept_ : (n_tasks,)
    selected_features_ : indices of the features that are not 0 in some task
    classes_ : the classes, or the two labels that predict tells apart
    duality_gap_ : the objective is certified to lie no further from the optimum, relative to itself, or to a thousandth
        of that of W = 0 and b = 0 where that is more
    objective_ : (n_iter_ + 1,), at every iterate, NaN where it was not computed
    n_iter_ : iterations done
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    float32 and float64 X are kept, other numbers become float64; CSR X stays sparse. Nothing is random. A task whose
    labels are all positive, or all negative, is solved as it stands. To select features in a pipeline:
    `SelectFromModel(model, threshold=1e-12, norm_order=numpy.inf)`; its default threshold would drop some.

    Examples
    --------
    >>> X, Y = [[1.0, 0.1], [-1.0, 0.1], [1.0, -0.1]], [[1, 0], [0, 1], [1, 0]]
    >>> model = JointSparseClassifier(radius=1.0).fit(X, Y)
    >>> model.predict([[2.0, 5.0]]).tolist(), model.selected_features_.tolist()
    ([[1, 0]], [0])
    """

    def __init__(
        self,
        norm: str = "l1inf",
        radius: float | None = 1.0,
        *,
        penalty: float | None = None,
        loss: str = "hinge",
        solver: str = "pdhg",
        eta0: float = 1.0,
        n_iter: int | None = None,
        tol: float = 1e-3,
        normalisation: str = "sum",
        labels: str = "classes",
        fit_intercept: bool = False,
        class_weight: str | Mapping[Any, float] | None = None,
    ) -> None:
        self.norm = norm
        self.radius = radius
        self.penalty = penalty
        self.loss = loss
        self.solver = solver
        self.eta0 = eta0
        self.n_iter = n_iter
        self.tol = tol
        self.normalisation = normalisation
        self.labels = labels
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on samples that the tasks share.

        X: (n_samples, n_features), array, DataFrame or sparse. y: (n_samples,) or (n_samples, n_tasks), coded as
        `labels` says. sample_weight: (n_samples,), at least 0; weight 2 is the sample twice. Raises ValueError where
        input or parameters make no sense.
        """
        X, _, Y, weights = self._read(X, y, sample_weight)
        return self._fit(self._shared(X, Y, weights))

    @all_or_nothing
    def fit_tasks(
        self, tasks: Sequence[tuple[Any, ArrayLike]], sample_weight: Sequence[ArrayLike] | None = None
    ) -> Self:
        """Train on tasks that have samples of their own.

        tasks: pairs (X_k, y_k), (n_k, n_features) and (n_k,), labels coded as `labels` says; with "classes" the same
        two classes in all tasks. sample_weight: per task (n_k,), at least 0. Predictions have a column per task.

        >>> tasks = [([[1.0, 0.0], [-1.0, 0.1]], [1, 0]), ([[2.0, 0.0]], [0])]
        >>> JointSparseClassifier(radius=0.5).fit_tasks(tasks).predict([[1.0, 0.0]]).tolist()
        [[1, 0]]
        """
        self._check_labels()
        features, targets, given = self._read_tasks(tasks, sample_weight, y_numeric=False)
        self._flat = False
        if self.labels == "classes":
            self.classes_ = np.unique(np.concatenate(targets))
            if len(self.classes_) != 2:
                raise ValueError(
                    f"labels='classes' expects two classes, the same in all tasks, got {self.classes_.tolist()}"
                )
            signs = [np.where(y_k == self.classes_[1], 1.0, -1.0) for y_k in targets]
        else:
            self.classes_ = np.array([CODES[self.labels][0], 1])
            signs = [as_signs(y_k, self.labels) for y_k in targets]
        weights = [
            self._weigh(y_k, Y_k[:, np.newaxis], weight)[:, 0]
            for y_k, Y_k, weight in zip(targets, signs, given, strict=True)
        ]
        return self._fit(self._problem(features, signs, weights))

    def _fit(self, problem: Problem) -> Self:
        strength, penalised = one_of(self.radius, self.penalty)
        strength = as_strength(strength, "penalty" if penalised else "radius")
        _, fitted = self._train(problem, self.loss, [strength], penalised, [self.eta0])
        self._keep(fitted, 0)
        return self


class JointSparseClassifierCV(_JointSparseClassifier):
    """`JointSparseClassifier` with its radius chosen by AUC on held-out samples, and eta0 by the training objective.

    The problem is that of JointSparseClassifier. For each radius the eta0 with the smallest training objective is
    taken; of the radii the one with the largest AUC, averaged over the validation tasks and the folds; of equally good
    ones the most regularised. The whole grid is trained together. Source: Quattoni et al. (2009), sec. 6.2.

    Parameters
    ----------
    norm, loss, solver, n_iter, tol, normalisation, labels, fit_intercept, class_weight
        See JointSparseClassifier. Class weights are those of all samples, also within folds.
    radii, penalties : sequences of numbers, at least 0
        The grid; exactly one of them is given, the other is None.
    eta0 : sequence of numbers, greater than 0
        Step sizes of subgradient to choose from; not used by pdhg.
    cv : int, splitter or iterable of (train, test)
        As in scikit-learn: folds of fit without X_val. An int means folds stratified by class where y is a vector.
    validation_tasks : sequence of indices or of bools, or None
        The tasks whose AUC counts; None: all. The papers take 10 of 40 words and leave these out of the test average.

    Attributes
    ----------
    radius_, penalty_ : the chosen one; the other is None
    eta0_ : the chosen first step size, NaN where the solver has none
    grid_ : (n_grid,), the radii or penalties in increasing order
    scores_ : (n_grid, n_folds), the AUC, averaged over the validation tasks that have positives and negatives in the
        fold; NaN for a fold where none has
    best_score_ : the mean over the other folds at the chosen one
    and those of JointSparseClassifier, of the final fit: on all samples, or with X_val on those of X.

    Examples
    --------
    >>> X, y = [[1.0, 0.3], [2.0, -0.3], [-1.0, 0.3], [-2.0, -0.3]], [1, 1, 0, 0]
    >>> model = JointSparseClassifierCV(radii=[0.0, 0.5, 1.0], cv=2).fit(X, y)
    >>> model.radius_, model.scores_.tolist()
    (0.5, [[0.5, 0.5], [1.0, 1.0], [1.0, 1.0]])
    """

    def __init__(
        self,
        norm: str = "l1inf",
        radii: Sequence[float] | None = (0.1, 1.0, 10.0, 100.0),
        *,
        penalties: Sequence[float] | None = None,
        loss: str = "hinge",
        solver: str = "pdhg",
        eta0: Sequence[float] = (0.1, 1.0, 10.0, 100.0),
        n_iter: int | None = None,
        tol: float = 1e-3,
        normalisation: str = "sum",
        labels: str = "classes",
        fit_intercept: bool = False,
        class_weight: str | Mapping[Any, float] | None = None,
        cv: Any = 5,
        validation_tasks: ArrayLike | None = None,
    ) -> None:
        self.norm = norm
        self.radii = radii
        self.penalties = penalties
        self.loss = loss
        self.solver = solver
        self.eta0 = eta0
        self.n_iter = n_iter
        self.tol = tol
        self.normalisation = normalisation
        self.labels = labels
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.cv = cv
        self.validation_tasks = validation_tasks

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, X_val: Any = None, y_val: Any = None
    ) -> Self:
        """Choose and train.

        X, y, sample_weight: as in JointSparseClassifier. X_val, y_val: held-out samples that choose instead of folds,
        as in the papers; none of them is trained on. Raises ValueError where input or parameters make no sense, and
        where no fold has a validation task with both positives and negatives; one ConvergenceWarning where fits that
        the choice rests on did not reach tol.
        """
        X, y, Y, weights = self._read(X, y, sample_weight)
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together")
        values, penalised = one_of(self.radii, self.penalties, "radii and penalties")
        name = "penalties" if penalised else "radii"
        self.grid_ = np.unique([as_strength(value, f"each of {name}") for value in np.atleast_1d(values)])
        if not len(self.grid_):
            raise ValueError(f"{name} must hold at least one number, got none")
        tasks = self._validation_tasks(Y.shape[1])

        folds: Iterable[tuple[Problem, Any, np.ndarray, np.ndarray]]
        if X_val is None:
            splits = check_cv(self.cv, y if self._flat else None, classifier=self._flat).split(X, y)
            folds = (  # one at a time: each copies its samples
                (self._shared(X[train], Y[train], weights[train]), X[test], Y[test], weights[test])
                for train, test in splits
            )
        else:
            folds = [(self._shared(X, Y, weights), *self._read_validation(X_val, y_val, Y.shape[1]))]
        scores, gaps, unproven = [], [], []
        for problem, X_test, Y_test, weights_test in folds:
            fitted, best, steps = self._train_grid(problem, self.grid_, penalised)
            gaps.append(fitted.gap)
            unproven.append(self._unproven(fitted))
            margins = [np.asarray(X_test @ fitted.W[pair]) + fitted.b[pair] for pair in best]
            scores.append([mean_auc(F[:, tasks], Y_test[:, tasks], weights_test[:, tasks]) for F in margins])
        self.scores_ = np.array(scores).T
        if np.any(unproven):
            warnings.warn(
                f"the choice rests on {np.size(gaps)} fits, of which {np.sum(unproven)} are not certified to be within "
                f"tol={self.tol:g} of their optima, but within {np.max(gaps):.2g} (relative) at worst: raise n_iter or "
                "tol, or scale the features",
                ConvergenceWarning,
                stacklevel=3,
            )

        counted = ~np.isnan(self.scores_).any(axis=0)
        if not counted.any():
            raise ValueError(
                "held-out samples must include a positive and a negative of some validation task, got none: choose "
                "fewer folds (cv) or other validation_tasks"
            )
        means = self.scores_[:, counted].mean(axis=1)
        # Choice: of equally good ones the most regularised, that is the smallest radius or the largest penalty.
        order = np.arange(len(means))[:: -1 if penalised else 1]
        chosen = int(order[np.argmax(means[order])])
        self.best_score_ = float(means[chosen])
        self.radius_ = None if penalised else float(self.grid_[chosen])
        self.penalty_ = float(self.grid_[chosen]) if penalised else None
        if X_val is None:
            fitted, best, steps = self._train_grid(self._shared(X, Y, weights), self.grid_[[chosen]], penalised)
            chosen = 0
        self.eta0_ = float(steps[best[chosen]])
        self._keep(fitted, best[chosen])
        return self

    def _train_grid(
        self, problem: Problem, strengths: np.ndarray, penalised: bool
    ) -> tuple[Fit, np.ndarray, np.ndarray]:
        """The fit of all pairs, the index of the best eta0 for each strength, in order, and the eta0 of all pairs."""
        pairs, fitted = self._train(problem, self.loss, list(strengths), penalised, list(np.atleast_1d(self.eta0)))
        best = choose_eta0(pairs[:, 0], fitted.objective)
        return fitted, best, pairs[:, 1]

    def _validation_tasks(self, n_tasks: int) -> np.ndarray:
        """The indices of the validation tasks."""
        if self.validation_tasks is None:
            return np.arange(n_tasks)
        try:
            tasks = np.arange(n_tasks)[np.asarray(self.validation_tasks)]
        except IndexError:
            tasks = np.empty(0, dtype=int)
        if tasks.ndim != 1 or not len(tasks):
            raise ValueError(
                f"validation_tasks must be indices of tasks, 0 to {n_tasks - 1}, or one bool per task, and name one at "
                f"least, got {self.validation_tasks!r}"
            )
        return tasks

    def _read_validation(self, X_val: Any, y_val: Any, n_tasks: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """The features of held-out samples, their labels and weights (n_samples, n_tasks)."""
        X_val, y_val = validate_data(
            self,
            X_val,
            y_val.toarray() if sparse.issparse(y_val) else y_val,
            reset=False,
            accept_sparse="csr",
            dtype=FLOATING,
            multi_output=True,
        )
        if self._flat:
            y_val = column_or_1d(y_val)
        elif y_val.shape[1:] != (n_tasks,):
            raise ValueError(f"y_val must have one column per task, {n_tasks}, got shape {y_val.shape}")
        Y_val = self._signs(y_val)
        return X_val, Y_val, (Y_val != 0).astype(float)


def mean_auc(F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> float:
    """The mean AUC of the tasks that have positives and negatives, NaN if none. F, Y, weights: (n_samples, n_tasks).

    Source: Quattoni et al. (2009), eq. 20; a tie counts one half.
    """
    found = []
    for k in range(Y.shape[1]):
        rows = weights[:, k] > 0
        if len(np.unique(Y[rows, k])) == 2:
            found.append(roc_auc_score(Y[rows, k] > 0, F[rows, k], sample_weight=weights[rows, k]))
    return float(np.mean(found)) if found else np.nan


class JointSparseRegressor(RegressorMixin, _JointSparse):
    """Linear regressions, one per target, that agree on a few features: the "simultaneous lasso".

    minimise over W, b  sum_k sum_i c_i 1/2 (y_ik - x_i·w_k - b_k)^2  subject to  ||W|| <= radius,
    or the same losses plus penalty * ||W||; ||W|| = sum_j max_k |W_jk| for l1inf. With one target l1inf is l1, and
    `penalty=alpha, radius=None, normalisation="mean"` is scikit-learn's Lasso(alpha).
    Source: Quattoni et al. (2009), eq. 1 and 2, with the squared loss of Duchi et al. (2008), sec. 7.

    Parameters
    ----------
    norm, radius, penalty, solver, eta0, n_iter, tol, normalisation
        See JointSparseClassifier.
    fit_intercept : bool
        Whether each target has a free b_k. On by default, unlike for the classifiers: labels are centred, targets
        seldom are, and R^2 compares with their mean.

    Attributes
    ----------
    coef_, intercept_ : (n_tasks, n_features) and (n_tasks,); for y a vector (n_features,) and a number
    selected_features_, duality_gap_, objective_, n_iter_, n_features_in_, feature_names_in_
        See JointSparseClassifier.

    Examples
    --------
    >>> X, Y = [[1.0, 0.0], [0.0, 1.0]], [[3.0, 0.1], [0.2, 0.1]]
    >>> model = JointSparseRegressor(radius=2.0, fit_intercept=False, tol=1e-6).fit(X, Y)
    >>> model.coef_.round(2).tolist(), model.selected_features_.tolist()
    ([[2.0, 0.0], [0.1, 0.0]], [0])
    """

    def __init__(
        self,
        norm: str = "l1inf",
        radius: float | None = 1.0,
        *,
        penalty: float | None = None,
        solver: str = "pdhg",
        eta0: float = 1.0,
        n_iter: int | None = None,
        tol: float = 1e-3,
        normalisation: str = "sum",
        fit_intercept: bool = True,
    ) -> None:
        self.norm = norm
        self.radius = radius
        self.penalty = penalty
        self.solver = solver
        self.eta0 = eta0
        self.n_iter = n_iter
        self.tol = tol
        self.normalisation = normalisation
        self.fit_intercept = fit_intercept

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on samples that the targets share.

        X: (n_samples, n_features), array, DataFrame or sparse. y: (n_samples,) or (n_samples, n_tasks), real numbers.
        sample_weight: (n_samples,), at least 0; weight 2 is the sample twice. Raises ValueError where input or
        parameters make no sense.
        """
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=FLOATING, order="C", multi_output=True, y_numeric=True
        )
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        Y = y.reshape(len(y), -1)
        self._fit([X] * Y.shape[1], list(Y.T), [weight] * Y.shape[1])
        if y.ndim == 1:
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
        return self

    @all_or_nothing
    def fit_tasks(
        self, tasks: Sequence[tuple[Any, ArrayLike]], sample_weight: Sequence[ArrayLike] | None = None
    ) -> Self:
        """Train on targets that have samples of their own.

        tasks: pairs (X_k, y_k), (n_k, n_features) and (n_k,). sample_weight: per task (n_k,), at least 0. Predictions
        have a column per task.

        >>> tasks = [([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.1]), ([[1.0, 0.0]], [-5.0])]
        >>> model = JointSparseRegressor(radius=1.0, fit_intercept=False, tol=1e-6).fit_tasks(tasks)
        >>> model.predict([[2.0, 1.0]]).round(2).tolist(), model.selected_features_.tolist()
        ([[2.0, -2.0]], [0])
        """
        features, targets, weights = self._read_tasks(tasks, sample_weight, y_numeric=True)
        return self._fit(features, targets, weights)

    def _fit(self, X: Sequence[Any], Y: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> Self:
        # Far from 0, targets would lose digits, and the objective at W = 0, which gaps are relative to, says nothing.
        centres = np.zeros(len(Y))
        if self.fit_intercept:
            centres += [np.average(y, weights=c) if c.any() else 0.0 for y, c in zip(Y, weights, strict=True)]
        problem = self._problem(X, [y - centre for y, centre in zip(Y, centres, strict=True)], weights)
        strength, penalised = one_of(self.radius, self.penalty)
        strength = as_strength(strength, "penalty" if penalised else "radius")
        _, fitted = self._train(problem, "squared", [strength], penalised, [self.eta0])
        self._keep(fitted, 0)
        self.intercept_ = (self.intercept_ + centres).astype(self.intercept_.dtype)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """x·w_k + b_k. X: (n_samples, n_features), dense or sparse. Returns (n_samples,) or (n_samples, n_tasks)."""
        F = self._margins(X)
        return F[:, 0] if np.ndim(self.coef_) == 1 else F

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
