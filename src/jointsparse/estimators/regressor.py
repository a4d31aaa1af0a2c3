"""The solvers as a scikit-learn regressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score

from jointsparse.checks import require_unmasked
from jointsparse.estimators.base import (
    Posed,
    Trained,
    all_or_nothing,
    in_columns,
    known,
    names_of,
    parameters,
    spread,
    validated,
    weights_of,
)
from jointsparse.estimators.path import OneStrength
from jointsparse.learning.problem import Fit


@parameters
class Targets(MultiOutputMixin, RegressorMixin, Trained):
    """A regressor for targets in a vector or a matrix, some of which may be missing."""

    loss: ClassVar[str] = "squared"

    def _read(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, reset: bool = True
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """X, targets and weights (n_samples, n_tasks), checked; weights are 0 where a target is missing."""
        names = names_of(y)
        y, missing = known(y, 0.0)
        X, y = validated(self, X, y, order="C", multi_output=True, y_numeric=True, reset=reset)
        self._flat, self._names = y.ndim == 1, None if y.ndim == 1 else names
        Y = y.reshape(len(y), -1)
        weights = spread(weights_of(sample_weight, X), Y.shape)
        return X, Y, weights if missing is None else weights * ~missing.reshape(Y.shape)

    def _centres_of(self, Y: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> np.ndarray:
        # Targets far from 0 would lose digits. And gaps, relative to the objective at W = 0, would look small.
        if not self.fit_intercept:
            return np.zeros(len(Y))
        return np.array([np.average(y, weights=c) if c.any() else 0.0 for y, c in zip(Y, weights, strict=True)])

    def _keep(self, fitted: Fit, pair: int, centres: np.ndarray, ended_by: str) -> None:
        super()._keep(fitted, pair, centres, ended_by)
        if self._flat:
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]

    def predict(self, X: Any) -> Any:
        """Compute x·w_k + b_k for X (n_samples, n_features), dense or sparse: (n_samples,) or (n_samples, n_tasks)."""
        F = self._margins(X)
        return F[:, 0] if np.ndim(self.coef_) == 1 else self._in_frame(F, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute R^2, averaged over the targets; missing targets do not count. X, y, sample_weight: as in fit."""
        require_unmasked(y, "y")
        F = self._margins(X)
        self._require_names(y)
        y, missing = known(y, 0.0)
        if missing is None and np.asarray(sample_weight).ndim < 2:
            return float(super().score(X, y, sample_weight))
        Y = in_columns(np.asarray(y, dtype=float), F.shape)
        weights = spread(weights_of(sample_weight, F), F.shape)
        if missing is not None:
            weights = weights * ~in_columns(missing, F.shape)
        scores = [
            r2_score(y_k[c > 0], f[c > 0], sample_weight=c[c > 0])
            for y_k, f, c in zip(Y.T, F.T, weights.T, strict=True)
        ]
        return float(np.mean(scores))


@parameters
class JointSparseRegressor(Targets, OneStrength):
    """Linear regressions, one per target, that agree on a few features: the "simultaneous lasso".

    minimise over W, b  sum_k sum_i c_i 1/2 (y_ik - x_i·w_k - b_k)^2  subject to  ||W|| <= radius,
    or the same losses plus penalty * ||W||. For l1inf, ||W|| = sum_j max_k |W_jk|. With one target l1inf is l1, and
    `penalty=alpha, radius=None, normalisation="mean"` is scikit-learn's Lasso(alpha).

    Parameters
    ----------
    norm, penalty, solver, eta0, n_iter, tol, normalisation
        See JointSparseClassifier.
    radius : float, at least 0, "auto" or None, default="auto"
        The papers' C. "auto": twice the data's natural unit, a first guess; JointSparseRegressorCV chooses. None with
        `penalty`.
    fit_intercept : bool, default=True
        Give each target a free b_k.
    feature_weights, groups, positive, warm_start, max_time, callback, verbose
        See JointSparseClassifier.

    Attributes
    ----------
    coef_ : ndarray (n_tasks, n_features), or (n_features,) for y a vector
        W transposed, with exact zeros.
    intercept_ : ndarray (n_tasks,), or float for y a vector
        b.
    selected_features_, radius_, penalty_, duality_gap_, objective_, n_iter_, n_features_in_, feature_names_in_
        See JointSparseClassifier.

    See Also
    --------
    JointSparseRegressorCV : Chooses the radius on held-out samples.
    JointSparseClassifier : Labels instead of real targets.

    References
    ----------
    Quattoni et al. (2009), eq. 1 and 2, with the squared loss of Duchi et al. (2008), sec. 7.

    Examples
    --------
    >>> X, Y = [[1.0, 0.0], [0.0, 1.0]], [[3.0, 0.1], [0.2, 0.1]]
    >>> model = JointSparseRegressor(radius=2.0, fit_intercept=False, tol=1e-6).fit(X, Y)
    >>> model.coef_.round(2).tolist(), model.selected_features_.tolist()
    ([[2.0, 0.0], [0.1, 0.0]], [0])
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on samples that the targets share.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array or DataFrame (n_samples,) or (n_samples, n_tasks)
            Targets, real numbers. NaN is unknown.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), at least 0, or None
            Weights of the samples. Weight 2 is the sample twice.

        Returns
        -------
        self : JointSparseRegressor

        Raises
        ------
        ValueError
            If input or parameters make no sense. The estimator keeps its previous state.
        """
        self._train_one(self._posed(X, y, sample_weight), self.loss, self.radius, self.penalty, self.eta0)
        return self

    def _posed(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Posed:
        return self._pose_shared(*self._read(X, y, sample_weight))

    @all_or_nothing
    def fit_tasks(
        self,
        tasks: Sequence[tuple[Any, ArrayLike]] | Mapping[Any, tuple[Any, ArrayLike]],
        sample_weight: Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Train on targets that have samples of their own. Predictions have a column per task.

        Parameters
        ----------
        tasks : list of pairs (X_k, y_k) of shapes (n_k, n_features) and (n_k,), or mapping from names to them
            Features and targets.
        sample_weight : list of arrays (n_k,), at least 0, or None
            Weights of the samples, per task.

        Examples
        --------
        >>> tasks = [([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.1]), ([[1.0, 0.0]], [-5.0])]
        >>> model = JointSparseRegressor(radius=1.0, fit_intercept=False, tol=1e-6).fit_tasks(tasks)
        >>> model.predict([[2.0, 1.0]]).round(2).tolist(), model.selected_features_.tolist()
        ([[2.0, -2.0]], [0])
        """
        self._flat = False
        posed = self._pose(*self._read_tasks(tasks, sample_weight, y_numeric=True))
        self._train_one(posed, self.loss, self.radius, self.penalty, self.eta0)
        return self
