"""A scikit-learn regressor that the solvers train."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score

from jointsparse.checks import require
from jointsparse.estimators.base import OneStrength, parameters
from jointsparse.estimators.linear import Linear


class Targets(MultiOutputMixin, RegressorMixin, Linear):
    """Base class of the regressors, for a vector or a matrix of targets. Some of the targets may be missing."""

    loss = "squared"
    _numeric = True

    def predict(self, X: Any) -> Any:
        """Predict the targets, x·w_k + b_k.

        X: (n_samples, n_features), dense or sparse. Returns (n_samples,) if y was a vector in `fit`, else
        (n_samples, n_tasks).
        """
        F = self._margins(X)
        return F[:, 0] if self._flat else self._in_frame(F, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, averaged over the targets with at least two known values. X, y, sample_weight: as in `fit`."""
        F = self._margins(X)
        _, Y, weights = self._read(X, y, sample_weight, reset=False)
        scores = [
            r2_score(y_k[c > 0], f[c > 0], sample_weight=c[c > 0])
            for y_k, f, c in zip(Y.T, F.T, weights.T, strict=True)
            if (c > 0).sum() > 1  # R^2 needs two values
        ]
        require(scores, "y must hold at least two known values of some target, got fewer for every target")
        return float(np.mean(scores))


@parameters
class JointSparseRegressor(Targets, OneStrength):
    """Linear regressions, one per target, that share a small set of features: the "simultaneous lasso".

    minimise over W, b  sum_k sum_i c_i 1/2 (y_ik - x_i·w_k - b_k)^2  subject to  ||W|| <= radius,
    or the same losses plus penalty * ||W||. For l1inf, ||W|| = sum_j max_k |W_jk|. With a single target, l1inf equals
    l1, and `penalty=alpha, radius=None, normalisation="mean"` gives scikit-learn's Lasso(alpha). With
    `penalty=alpha * l1_ratio, l2=alpha * (1 - l1_ratio)` instead, it gives ElasticNet(alpha, l1_ratio=l1_ratio), and
    with l12 and several targets, MultiTaskElasticNet.

    Parameters
    ----------
    norm, penalty, solver, eta0, n_iter, tol, normalisation
        See JointSparseClassifier.
    radius : float, at least 0, "auto" or None, default="auto"
        Bound on ||W||, which the papers call C. "auto" is twice the natural unit of the data (see
        JointSparseClassifier). This is only a first guess; JointSparseRegressorCV chooses the radius by validation.
        Pass None together with `penalty`.
    fit_intercept : bool, default=True
        Whether each target has an intercept b_k, which is not regularised.
    feature_weights, groups, positive, l2, warm_start, max_time, callback, verbose
        See JointSparseClassifier.

    Attributes
    ----------
    coef_ : ndarray (n_tasks, n_features), or (n_features,) if y is a vector
        The weights W, transposed. Features that are not selected have exact zeros.
    intercept_ : ndarray (n_tasks,), or float if y is a vector
        The intercepts b.
    selected_features_, radius_, penalty_, duality_gap_, objective_, n_iter_, n_features_in_, feature_names_in_
        See JointSparseClassifier.

    See Also
    --------
    JointSparseRegressorCV : Chooses the radius on held-out samples.
    JointSparseClassifier : Learns labels instead of real-valued targets.

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
