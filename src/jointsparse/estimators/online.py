"""Online learning: projected subgradient steps on one example or a few at a time, each in time of its non-zeros.

W <- P(W - eta0 / sqrt(t) * subgradient): Zinkevich (ICML 2003); for the l1,inf ball the future work of Quattoni et al.
(2009), sec. 7, for the l1 ball done by Duchi et al. (2008), sec. 7. `learning.lazy` takes the steps.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from jointsparse.checks import require_count
from jointsparse.estimators.classifier import FLOATING, _JointSparseClassifier, all_or_nothing, as_strength
from jointsparse.learning.lazy import HUGE, LAZY, Eager, Lazy, Matrix, csr, largest
from jointsparse.registry import pick


class OnlineJointSparseClassifier(_JointSparseClassifier):
    """Learn from one example or a few at a time: W <- P(W - eta0 / sqrt(t) * subgradient of their mean loss).

    P is the projection onto ||W|| <= radius. After T steps with convex losses f_1, f_2, ... the regret,
    sum_t f_t(W_t) - min_{||W|| <= radius} sum_t f_t(W), is at most of order sqrt(T). There is no intercept, as in the
    papers. Source: Zinkevich (ICML 2003), Theorem 1, with his step sizes times eta0; Quattoni et al. (2009), sec. 7;
    Duchi et al. (2008), sec. 6.

    A step with a CSR matrix touches only the features that its examples hold, where the norm is l1inf or l1: for k
    non-zeros, m tasks and d features O(k m (log d + log m)), amortised; other steps take O(d m). Both kinds can
    follow each other, but each change from one to the other costs O(d m). Where examples hold more than a few percent
    of the features (l1: more than one percent), dense X is faster. Weights are float64, whatever X is.

    Parameters
    ----------
    norm : "l1inf", "l12", "l1" or "l2"
        l1inf and l12 join the tasks; l1 and l2 bound each task by itself, all with the same radius.
    radius : number, at least 0
        The papers' C, which is nearly the opposite of scikit-learn's.
    loss : "hinge", "logistic" or "squared"
        Of labels -1 and +1, whatever y holds.
    eta0 : number, greater than 0
        First step size.
    labels : "classes", "01", "signed" or "masked"
        As in JointSparseClassifier; "masked": -1, +1, and 0 where a sample is not part of a task.
    class_weight : dict, "balanced" or None
        As in JointSparseClassifier; "balanced" for `fit` only.
    average : bool
        Whether coef_ is the mean of the iterates after each step so far, instead of the last one.
    max_iter : int
        Passes of `fit` over the samples, each in a random order.
    batch_size : int
        Samples per step of `fit`.
    random_state : int, RandomState or None
        Of the orders.

    Attributes
    ----------
    coef_ : (n_tasks, n_features), put together when asked for, in O(d m)
    intercept_ : (n_tasks,), zeros
    selected_features_ : the indices of the features that any task uses
    t_ : the number of steps so far
    classes_, n_features_in_, feature_names_in_ : as in JointSparseClassifier

    Examples
    --------
    >>> model = OnlineJointSparseClassifier(radius=2.0, labels="signed")
    >>> model.partial_fit([[1.0, 0.0]], [[1, -1]]).partial_fit([[0.0, 1.0]], [[-1, -1]]).coef_.round(3)
    array([[ 1.   , -0.707],
           [-1.   , -0.707]])
    """

    def __init__(
        self,
        norm: str = "l1inf",
        radius: float = 1.0,
        *,
        loss: str = "hinge",
        eta0: float = 1.0,
        labels: str = "classes",
        class_weight: str | Mapping[Any, float] | None = None,
        average: bool = False,
        max_iter: int = 5,
        batch_size: int = 1,
        random_state: Any = None,
    ) -> None:
        self.norm = norm
        self.radius = radius
        self.loss = loss
        self.eta0 = eta0
        self.labels = labels
        self.class_weight = class_weight
        self.average = average
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Begin anew, and take max_iter passes over the samples in random order.

        X: (n_samples, n_features), array, DataFrame or sparse. y: (n_samples,) or (n_samples, n_tasks), see `labels`.
        sample_weight: (n_samples,), at least 0, which multiplies the sample's losses; 0 leaves it out. Raises
        ValueError, and leaves the model as it was, where input or parameters make no sense.
        """
        self._fit(X, y, sample_weight)
        return self

    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """One step with these samples together, along the subgradient of their mean loss.

        Checking the input takes some 0.3 ms, often more than the step; `fit` checks once for all of its steps.

        X, y, sample_weight: as in `fit`. classes: all that will ever come; the first call needs them where labels is
        "classes" and y a vector. Raises ValueError, and leaves the model as it was, where input or parameters make no
        sense, and where norm, radius or average have changed since the first step.
        """
        self._partial_fit(X, y, classes, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> None:
        self._check_parameters()
        self._coding = self.labels
        for name in ("max_iter", "batch_size"):
            require_count(getattr(self, name), name)
        X, y, Y, weights = self._read(X, y, sample_weight)
        self._iterate = self._new_iterate(X, Y.shape[1])
        rng = check_random_state(self.random_state)
        members = np.flatnonzero(weights.any(axis=1))
        for _ in range(self.max_iter):
            order = rng.permutation(members)
            self._steps(X[order], Y[order], weights[order], self.batch_size)
        self.n_iter_ = self.max_iter

    def _partial_fit(self, X: Any, y: Any, classes: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        self._check_parameters()
        if isinstance(self.class_weight, str):
            raise ValueError("class_weight must be a dict or None for partial_fit: give the weights themselves")
        first = not hasattr(self, "_iterate")
        y = y.toarray() if sparse.issparse(y) else y
        X, y = validate_data(
            self, X, y, reset=first, accept_sparse="csr", dtype=FLOATING, multi_output=True, y_numeric=False
        )
        if self.labels == "classes" and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if first:
            self._flat, self._coding = y.ndim == 1, self.labels
        if self.labels != self._coding:
            raise ValueError(f"labels must stay {self._coding!r}, as at the first step, got {self.labels!r}")
        if self._flat != (y.ndim == 1):
            raise ValueError(f"y must be a {'vector' if self._flat else 'matrix'} as at first, got shape {y.shape}")
        self._learn_classes(y, classes, first)
        Y = self._signs(y)
        weights = self._weigh(y, Y, weight)
        if first:
            self._iterate = self._new_iterate(X, Y.shape[1])
        elif self._iterate.settings != (self.norm, float(self.radius), bool(self.average)):
            raise ValueError("norm, radius and average must stay as they were at the first step; fit begins anew")
        if Y.shape[1] != self._iterate.shape[1]:
            raise ValueError(f"y must have one column per task, {self._iterate.shape[1]}, got {Y.shape[1]}")
        members = weights.any(axis=1)
        if not members.all():
            X, Y, weights = X[members], Y[members], weights[members]
        self._steps(X, Y, weights, max(len(Y), 1))

    def _learn_classes(self, y: np.ndarray, classes: ArrayLike | None, first: bool) -> None:
        """Set classes_ the first time; later see that y and `classes` fit."""
        of_vector = self.labels == "classes" and self._flat
        if first and of_vector:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            self.classes_ = np.unique(np.asarray(classes))
            if len(self.classes_) < 2:
                raise ValueError(f"classes must hold at least two classes, got 1 class: {self.classes_[0]!r}")
        elif first:
            self.classes_ = np.array([-1 if self.labels in ("signed", "masked") else 0, 1])
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes must be {self.classes_.tolist()}, got {np.asarray(classes).tolist()}")
        unknown = y[~np.isin(y, self.classes_)] if of_vector else y[:0]
        if len(unknown):
            raise ValueError(f"y must hold the classes {self.classes_.tolist()}, got {unknown[0]!r}")

    def _check_parameters(self) -> None:
        self._check_labels()
        pick("losses", self.loss)
        pick("norms", self.norm)
        as_strength(self.radius, "radius")
        if not as_strength(self.eta0, "eta0") > 0:
            raise ValueError(f"eta0 must be greater than 0, got {self.eta0!r}")

    def _is_lazy(self, X: Any) -> bool:
        return sparse.issparse(X) and self.norm in LAZY

    def _new_iterate(self, X: Any, n_tasks: int) -> Eager | Lazy:
        kind = Lazy if self._is_lazy(X) else Eager
        return kind(self.n_features_in_, n_tasks, self.norm, float(self.radius), bool(self.average))

    def _steps(self, X: Any, Y: Matrix, weights: Matrix, size: int) -> None:
        """Steps with `size` samples each."""
        if isinstance(self._iterate, Lazy) != self._is_lazy(X):
            other = self._new_iterate(X, Y.shape[1])
            other.start_from(self._iterate)  # type: ignore[arg-type]
            self._iterate = other
        loss, iterate = pick("losses", self.loss), self._iterate
        rows = csr(X) if isinstance(iterate, Lazy) else None
        for start in range(0, len(Y), size):
            batch = slice(start, start + size)
            part = rows.part(batch) if rows else X[batch]
            # Choice: the mean over the batch, so that eta0 suits batches of any size.
            c = weights[batch] / len(Y[batch])
            G = loss.subgradient(iterate.margins(part), Y[batch], c)
            G *= -float(self.eta0) / np.sqrt(iterate.t + 1)  # Paper: eta_t = 1 / sqrt(t); Choice: times eta0
            if not np.abs(G).sum() * largest(part) < HUGE:
                raise ValueError("a step is too long for double precision: scale X, or choose a smaller eta0")
            iterate.step(part, G)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_iterate")

    def _W(self) -> Matrix:
        """(n_features, n_tasks)."""
        check_is_fitted(self)
        if not self.average:
            return self._iterate.last()
        return self._iterate.sum() / max(self._iterate.t, 1)

    @property
    def t_(self) -> int:
        check_is_fitted(self)
        return self._iterate.t

    @property
    def coef_(self) -> Matrix:  # type: ignore[override]
        return self._W().T.copy()

    @property
    def intercept_(self) -> Matrix:
        check_is_fitted(self)
        return np.zeros(self._iterate.shape[1])

    @property
    def selected_features_(self) -> NDArray[np.int64]:  # type: ignore[override]
        return np.flatnonzero(self._W().any(axis=1))

    def _margins(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATING)
        if isinstance(self._iterate, Lazy) and sparse.issparse(X) and not self.average:
            return self._iterate.margins(csr(X))
        return np.asarray(X @ self._W())
