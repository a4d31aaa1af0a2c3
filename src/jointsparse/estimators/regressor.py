"""The solvers as a scikit-learn regressor."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin

from jointsparse.estimators.base import Trained, all_or_nothing, parameters, positional, validated, weights_of


@parameters
class JointSparseRegressor(MultiOutputMixin, RegressorMixin, Trained):
    """Linear regressions, one per target, that agree on a few features: the "simultaneous lasso".

    minimise over W, b  sum_k sum_i c_i 1/2 (y_ik - x_i·w_k - b_k)^2  subject to  ||W|| <= radius,
    or the same losses plus penalty * ||W||. For l1inf, ||W|| = sum_j max_k |W_jk|. With one target l1inf is l1, and
    `penalty=alpha, radius=None, normalisation="mean"` is scikit-learn's Lasso(alpha).

    Parameters
    ----------
    norm, radius, penalty, solver, eta0, n_iter, tol, normalisation
        See JointSparseClassifier.
    fit_intercept : bool, default=True
        Give each target a free b_k. The classifiers have none by default. But targets are seldom centred, and R^2
        compares with their mean.

    Attributes
    ----------
    coef_ : ndarray (n_tasks, n_features), or (n_features,) for y a vector
        W transposed, with exact zeros.
    intercept_ : ndarray (n_tasks,), or float for y a vector
        b.
    selected_features_, duality_gap_, objective_, n_iter_, n_features_in_, feature_names_in_
        See JointSparseClassifier.

    See Also
    --------
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

    radius: float | None = positional(1.0)
    penalty: float | None = None
    eta0: float = 1.0
    fit_intercept: bool = True

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on samples that the targets share.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array (n_samples,) or (n_samples, n_tasks)
            Targets, real numbers.
        sample_weight : array (n_samples,), at least 0, or None
            Weights of the samples. Weight 2 is the sample twice.

        Returns
        -------
        self : JointSparseRegressor

        Raises
        ------
        ValueError
            If input or parameters make no sense. The estimator keeps its previous state.
        """
        X, y = validated(self, X, y, order="C", multi_output=True, y_numeric=True)
        weight = weights_of(sample_weight, X)
        Y = y.reshape(len(y), -1)
        self._fit([X] * Y.shape[1], list(Y.T), [weight] * Y.shape[1])
        if y.ndim == 1:
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
        return self

    @all_or_nothing
    def fit_tasks(
        self, tasks: Sequence[tuple[Any, ArrayLike]], sample_weight: Sequence[ArrayLike] | None = None
    ) -> Self:
        """Train on targets that have samples of their own. Predictions have a column per task.

        Parameters
        ----------
        tasks : list of pairs (X_k, y_k) of shapes (n_k, n_features) and (n_k,)
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
        self._fit(*self._read_tasks(tasks, sample_weight, y_numeric=True))
        return self

    def _fit(self, X: Sequence[Any], Y: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> None:
        # Targets far from 0 would lose digits. And gaps, relative to the objective at W = 0, would look small.
        centres = np.zeros(len(Y))
        if self.fit_intercept:
            centres += [np.average(y, weights=c) if c.any() else 0.0 for y, c in zip(Y, weights, strict=True)]
        problem = self._problem(X, [y - centre for y, centre in zip(Y, centres, strict=True)], weights)
        self._train_one(problem, "squared", self.radius, self.penalty, self.eta0)
        self.intercept_ = (self.intercept_ + centres).astype(self.intercept_.dtype)

    def predict(self, X: Any) -> np.ndarray:
        """Compute x·w_k + b_k for X (n_samples, n_features), dense or sparse: (n_samples,) or (n_samples, n_tasks)."""
        F = self._margins(X)
        return F[:, 0] if np.ndim(self.coef_) == 1 else F
