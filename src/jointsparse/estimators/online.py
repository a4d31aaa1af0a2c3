"""Online learning: projected subgradient steps on one example or a few at a time.

W <- P(W - eta0 / sqrt(t) * subgradient), see Zinkevich (ICML 2003). Quattoni et al. (2009), sec. 7, leave the l1,inf
ball to future work; Duchi et al. (2008), sec. 7, use the l1 ball. `learning.lazy` implements the steps.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import _is_fitted, check_is_fitted

from jointsparse.checks import as_finite, as_positive, require, require_count
from jointsparse.estimators.base import all_or_nothing, parameters, positional
from jointsparse.estimators.classifier import Labelled
from jointsparse.estimators.labels import Labels
from jointsparse.estimators.linear import validated
from jointsparse.learning.lazy import LARGEST_STEP_SUM, ONE_BALL_PER_TASK, Eager, Lazy, Matrix, csr
from jointsparse.learning.problem import magnitude
from jointsparse.registry import pick


@parameters
class OnlineJointSparseClassifier(Labelled):
    """Linear classifiers with a joint norm that learn online, from one example or a few at a time.

    Each step is W <- P(W - eta0 / sqrt(t) * G), where G is a subgradient of the mean loss of the examples and P the
    projection onto ||W|| <= radius. For convex losses f_1, f_2, ... the regret after T steps,
    sum_t f_t(W_t) - min_{||W|| <= radius} sum_t f_t(W), grows at most like sqrt(T). As in the papers, there is no
    intercept.

    Parameters
    ----------
    norm : a name in `jointsparse.norms.NORMS`, default="l1inf"
        The norm that is bounded. l1 and l2 bound each task separately, with the same radius for all tasks. The other
        norms couple the tasks.
    radius : float, at least 0, default=1.0
        Bound on ||W||, which the papers call C. A larger radius means less regularisation.
    loss : {"hinge", "logistic", "squared"}, default="hinge"
        Loss function. Labels are converted to -1 and +1, whatever their coding in y.
    eta0 : float, greater than 0, default=1.0
        First step size.
    labels : {"classes", "01", "signed", "masked"}, default="classes"
        Coding of y, as in JointSparseClassifier. "masked" means -1, +1, and 0 for a sample that is not part of the
        task.
    class_weight : dict, "balanced" or None, default=None
        As in JointSparseClassifier. `partial_fit` does not support "balanced".
    max_iter : int, default=5
        Number of passes of `fit` over the samples. Each pass takes them in a new random order.
    batch_size : int, default=1
        Number of samples per step of `fit`.
    random_state : int, RandomState or None, default=None
        Seed of the random generator that draws the order of the samples in each pass.

    Attributes
    ----------
    coef_ : ndarray (n_tasks, n_features)
        The weights W, transposed. They are computed at each access, in O(d m) time for d features and m tasks.
    intercept_ : ndarray (n_tasks,)
        Zeros.
    selected_features_ : ndarray of int
        Indices of the features that at least one task uses.
    t_ : int
        Number of steps so far.
    n_iter_ : int
        Number of passes over the samples in the last call of `fit`.
    classes_, n_features_in_, feature_names_in_
        As in JointSparseClassifier.

    See Also
    --------
    JointSparseClassifier : Trains on all samples together, to a certified optimum.

    Notes
    -----
    With the norms l1inf and l1, a step on a CSR matrix touches only the features that its examples contain. For k
    non-zeros, m tasks and d features it takes amortised O(k m (log d + log m)) time. All other steps take O(d m).
    Whether the first samples are sparse or dense decides which kind of step is used for all later samples. A dense X is
    faster if the examples contain more than a few percent of the features (for l1, more than one percent). The weights
    are float64 for any X.

    References
    ----------
    Zinkevich (ICML 2003), Theorem 1, with step sizes multiplied by eta0. Quattoni et al. (2009), sec. 7. Duchi et al.
    (2008), sec. 6.

    Examples
    --------
    >>> model = OnlineJointSparseClassifier(radius=2.0, labels="signed")
    >>> model.partial_fit([[1.0, 0.0]], [[1, -1]]).partial_fit([[0.0, 1.0]], [[-1, -1]]).coef_.round(3)
    array([[ 1.   , -0.707],
           [-1.   , -0.707]])
    """

    norm: str = positional("l1inf")
    radius: float = positional(1.0)
    loss: str = "hinge"
    eta0: float = 1.0
    max_iter: int = 5
    batch_size: int = 1
    random_state: Any = None

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train from W = 0, with `max_iter` passes over the samples in random order.

        Parameters
        ----------
        X, y, sample_weight : as in `JointSparseClassifier.fit`
            The weights multiply the losses of the samples. A sample of weight 0 is left out.

        Returns
        -------
        self : OnlineJointSparseClassifier
        """
        self._check_parameters()
        require_count(self.max_iter, "max_iter")
        require_count(self.batch_size, "batch_size")
        X, Y, weights = self._read_all(X, y, sample_weight)
        self._iterate: Any = None
        rng = check_random_state(self.random_state)
        members = np.flatnonzero(weights.any(axis=1))
        for _ in range(self.max_iter):
            order = rng.permutation(members)
            self._steps(X[order], Y[order], weights[order], self.batch_size)
        self.n_iter_ = self.max_iter
        return self

    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take a single step along the subgradient of the mean loss of these samples.

        Checking the input takes about 0.3 ms, which is often longer than the step itself. `fit` checks its input only
        once for all steps.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            Samples of this step.
        classes : array (n_classes,) or None
            All classes that can occur in any call. Required in the first call if labels="classes" and y is a vector.

        Returns
        -------
        self : OnlineJointSparseClassifier

        Raises
        ------
        ValueError
            If the input or a parameter is invalid, or if `norm`, `radius` or `labels` have changed since the first
            step. The estimator then keeps its previous state.
        """
        self._check_parameters()
        require(
            not isinstance(self.class_weight, str),
            f"class_weight must be a dict or None for partial_fit, got {self.class_weight!r}",
        )
        first = not _is_fitted(self)
        if first:
            needs_classes = self.labels == "classes" and np.shape(Labels.read(y).y)[1:] in ((), (1,))
            require(not needs_classes or classes is not None, "classes must be passed on the first call to partial_fit")
        else:
            settings = self.norm, float(self.radius), self.labels
            require(
                settings == self._settings,
                f"norm, radius and labels must remain {self._settings}, as at the first step, got {settings}",
            )
        if classes is not None:
            classes, is_known = Labels.read(classes, "classes")
            require(is_known.all(), "classes must not contain missing values")
        X, Y, weights = self._read(X, y, sample_weight, reset=first, classes=classes)
        if first:
            self._iterate = None
        require(
            classes is None or np.unique(classes).tolist() == self._codes.tolist(),
            f"classes must be {self._codes.tolist()}, got {np.asarray(classes).tolist()}",
        )
        self.__dict__.pop("calibration_", None)  # it belongs to the model before this step
        members = weights.any(axis=1)
        self._steps(X[members], Y[members], weights[members], max(members.sum(), 1))
        return self

    def _check_parameters(self) -> None:
        pick("norms", self.norm)
        as_finite(self.radius, "radius")
        as_positive(self.eta0, "eta0")

    def _steps(self, X: Any, Y: Matrix, weights: Matrix, size: int) -> None:
        """Take steps on `size` samples each. They start from W = 0 if there is no iterate yet."""
        if self._iterate is None:
            kind = Lazy if sparse.issparse(X) and self.norm in ONE_BALL_PER_TASK else Eager
            self._settings = self.norm, float(self.radius), self.labels
            self._iterate = kind(self.n_features_in_, Y.shape[1], self.norm, float(self.radius))
        loss, iterate = pick("losses", self.loss), self._iterate
        rows = csr(sparse.csr_array(X)) if isinstance(iterate, Lazy) else None
        for start in range(0, len(Y), size):
            batch = slice(start, start + size)
            part = rows.part(batch) if rows else X[batch]
            # Choice: losses are averaged over the batch, so that eta0 need not depend on the size of the batch.
            G = loss.subgradient(iterate.margins(part), Y[batch], weights[batch] / len(Y[batch]))
            G *= -float(self.eta0) / np.sqrt(iterate.t + 1)  # Paper: eta_t = 1 / sqrt(t); Choice: times eta0
            require(
                np.abs(G).sum() * magnitude(part.entries() if rows else part) < LARGEST_STEP_SUM,
                "the step is too large for double precision: scale X, or choose a smaller eta0",
            )
            iterate.step(part, G)

    def _W(self) -> Matrix:
        """Return the weights W, (n_features, n_tasks)."""
        check_is_fitted(self)
        return np.asarray(self._iterate.last())

    @property
    def t_(self) -> int:
        check_is_fitted(self)
        return self._iterate.t

    @property
    def coef_(self) -> Matrix:  # type: ignore[override]
        return self._W().T.copy()

    @property
    def intercept_(self) -> Matrix:  # type: ignore[override]
        return np.zeros(self._W().shape[1])

    @property
    def selected_features_(self) -> np.ndarray:
        return np.flatnonzero(self._W().any(axis=1))

    def _margins(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        lazy = isinstance(self._iterate, Lazy) and sparse.issparse(X)
        return self._iterate.margins(csr(X)) if lazy else np.asarray(X @ self._W())
