"""The choice of a radius on held-out samples, as in Quattoni et al. (2009), sec. 6.2."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import check_cv
from sklearn.utils.validation import column_or_1d

from jointsparse.checks import as_finite, require
from jointsparse.estimators.base import Trained, all_or_nothing, given_one, parameters, positional, validated
from jointsparse.estimators.labels import Labelled, to_dense
from jointsparse.learning.problem import Fit, Problem
from jointsparse.learning.sweep import choose_eta0


class Fold(NamedTuple):
    """Tasks to train on, and held-out samples: X (n, n_features), signs Y and weights (n, n_tasks)."""

    problem: Problem
    X: Any
    Y: np.ndarray
    weights: np.ndarray


class GridFit(NamedTuple):
    """A fit of all pairs (radius, eta0), the index of the best pair per radius, and the eta0 of all pairs."""

    fit: Fit
    best: np.ndarray
    eta0: np.ndarray


def mean_auc(F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> float:
    """Average the AUC of the tasks that have positives and negatives, NaN if none has. All are (n_samples, n_tasks).

    Source: Quattoni et al. (2009), eq. 20. A tie counts one half.
    """
    found = []
    for k in range(Y.shape[1]):
        rows = weights[:, k] > 0
        if len(np.unique(Y[rows, k])) == 2:
            found.append(roc_auc_score(Y[rows, k] > 0, F[rows, k], sample_weight=weights[rows, k]))
    return float(np.mean(found)) if found else np.nan


@parameters
class JointSparseClassifierCV(Labelled, Trained):
    """`JointSparseClassifier` with its radius chosen by AUC on held-out samples, and eta0 by the training objective.

    For each radius the eta0 with the smallest training objective is taken. Of the radii the one with the largest AUC
    is taken, averaged over the validation tasks and the folds. Of equally good radii it is the most regularised. The
    whole grid is trained together.

    Parameters
    ----------
    norm, loss, solver, n_iter, tol, normalisation, labels, fit_intercept, class_weight
        See JointSparseClassifier. Class weights are those of all samples, also within folds.
    radii : sequence of float or None, at least 0, default=(0.1, 1.0, 10.0, 100.0)
        Grid of radii. None with `penalties`.
    penalties : sequence of float or None, at least 0, default=None
        Grid of penalties. Exactly one of radii and penalties is given.
    eta0 : sequence of float, greater than 0, default=(0.1, 1.0, 10.0, 100.0)
        Step sizes of subgradient to choose from. Others ignore them.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of fit without X_val, as in scikit-learn. An int means folds stratified by class if y is a vector.
    validation_tasks : sequence of int or of bool, or None, default=None
        Tasks whose AUC counts. None: all. The papers take 10 of 40 words and leave these out of the test average.

    Attributes
    ----------
    radius_, penalty_ : float or None
        The chosen one. The other is None.
    eta0_ : float
        The chosen first step size, NaN if the solver has none.
    grid_ : ndarray (n_grid,)
        The radii or penalties in increasing order.
    scores_ : ndarray (n_grid, n_folds)
        AUC, averaged over the validation tasks that have positives and negatives in the fold. NaN for a fold without
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

    radii: Sequence[float] | None = positional((0.1, 1.0, 10.0, 100.0))
    penalties: Sequence[float] | None = None
    eta0: Sequence[float] = (0.1, 1.0, 10.0, 100.0)
    cv: Any = 5
    validation_tasks: ArrayLike | None = None

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, X_val: Any = None, y_val: Any = None
    ) -> Self:
        """Choose and train.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array or sparse matrix (n_samples,) or (n_samples, n_tasks)
            Labels, coded as `labels` says.
        sample_weight : array (n_samples,), at least 0, or None
            Weights of the samples. Weight 2 is the sample twice.
        X_val : array, DataFrame or sparse matrix (n_held_out, n_features), or None
            Held-out samples that choose instead of folds, as in the papers. None of them is trained on.
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
            Once, if fits that the choice rests on did not reach tol.
        """
        X, y, Y, weights = self._read(X, y, sample_weight)
        require((X_val is None) == (y_val is None), "X_val and y_val must be given together")
        self.grid_, penalised = self._read_grid()
        tasks = self._validation_tasks(Y.shape[1])
        if X_val is not None:
            held_out = self._read_validation(X_val, y_val, Y.shape[1])
            trained = self._score([Fold(self._shared(X, Y, weights), *held_out)], tasks, penalised)
            pair = self._choose(penalised)
        else:
            self._score(self._folds(X, y, Y, weights), tasks, penalised)
            best = self.grid_[[self._choose(penalised)]]
            trained, pair = self._train_grid(self._shared(X, Y, weights), best, penalised), 0
        self.eta0_ = float(trained.eta0[trained.best[pair]])
        self._keep(trained.fit, trained.best[pair])
        return self

    def _read_grid(self) -> tuple[np.ndarray, bool]:
        """The radii or penalties in increasing order, and True if they are penalties."""
        values, penalised = given_one(self.radii, self.penalties, "radii and penalties")
        name = "penalties" if penalised else "radii"
        grid = np.unique([as_finite(value, f"each of {name}") for value in np.atleast_1d(values)])
        require(len(grid), f"{name} must hold at least one number, got none")
        return grid, penalised

    def _folds(self, X: Any, y: Any, Y: np.ndarray, weights: np.ndarray) -> Iterator[Fold]:
        """Yield one fold at a time, as each copies its samples."""
        splitter = check_cv(self.cv, y if self._flat else None, classifier=self._flat)
        for train, test in splitter.split(X, y):
            yield Fold(self._shared(X[train], Y[train], weights[train]), X[test], Y[test], weights[test])

    def _score(self, folds: Iterable[Fold], tasks: np.ndarray, penalised: bool) -> GridFit:
        """Set the scores of the grid in each fold, warn of fits that did not reach tol, return the last fold's fits."""
        scores, gaps, unproven = [], [], []
        for fold in folds:
            trained = self._train_grid(fold.problem, self.grid_, penalised)
            W, b = trained.fit.W, trained.fit.b
            gaps.append(trained.fit.gap)
            unproven.append(self._unproven(trained.fit))
            margins = [np.asarray(fold.X @ W[pair]) + b[pair] for pair in trained.best]
            scores.append([mean_auc(F[:, tasks], fold.Y[:, tasks], fold.weights[:, tasks]) for F in margins])
        require(scores, "cv must give at least one fold, got none")
        self.scores_ = np.array(scores).T
        if np.any(unproven):
            warnings.warn(
                f"the choice rests on {np.size(gaps)} fits, of which {np.sum(unproven)} are not certified to be within "
                f"tol={self.tol:g} of their optima, but within {np.max(gaps):.2g} (relative) at worst: raise n_iter or "
                "tol, or scale the features",
                ConvergenceWarning,
                stacklevel=4,
            )
        return trained

    def _choose(self, penalised: bool) -> int:
        """Set the attributes of the best radius or penalty and return its place in the grid."""
        counted = ~np.isnan(self.scores_).any(axis=0)
        require(
            counted.any(),
            "held-out samples must include a positive and a negative of some validation task, got none: choose "
            "fewer folds (cv) or other validation_tasks",
        )
        means = self.scores_[:, counted].mean(axis=1)
        # Choice: of equally good ones the most regularised, that is the smallest radius or the largest penalty.
        order = np.arange(len(means))[:: -1 if penalised else 1]
        chosen = int(order[np.argmax(means[order])])
        self.best_score_ = float(means[chosen])
        self.radius_ = None if penalised else float(self.grid_[chosen])
        self.penalty_ = float(self.grid_[chosen]) if penalised else None
        return chosen

    def _train_grid(self, problem: Problem, radii: np.ndarray, penalised: bool) -> GridFit:
        pairs, fitted = self._train(problem, self.loss, list(radii), penalised, list(np.atleast_1d(self.eta0)))
        return GridFit(fitted, choose_eta0(pairs[:, 0], fitted.objective), pairs[:, 1])

    def _validation_tasks(self, n_tasks: int) -> np.ndarray:
        """Indices of the validation tasks."""
        if self.validation_tasks is None:
            return np.arange(n_tasks)
        try:
            tasks = np.arange(n_tasks)[np.asarray(self.validation_tasks)]
        except IndexError:
            tasks = np.empty(0, dtype=int)
        require(
            tasks.ndim == 1 and len(tasks),
            f"validation_tasks must be indices of tasks, 0 to {n_tasks - 1}, or one bool per task, and name one at "
            f"least, got {self.validation_tasks!r}",
        )
        return tasks

    def _read_validation(self, X_val: Any, y_val: Any, n_tasks: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Features of held-out samples, and their labels and weights (n_samples, n_tasks)."""
        X_val, y_val = validated(self, X_val, to_dense(y_val), reset=False, multi_output=True)
        if self._flat:
            y_val = column_or_1d(y_val)
        elif y_val.shape[1:] != (n_tasks,):
            raise ValueError(f"y_val must have one column per task, {n_tasks}, got shape {y_val.shape}")
        Y_val = self._signs(y_val)
        return X_val, Y_val, (Y_val != 0).astype(float)
