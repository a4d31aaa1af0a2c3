"""Linear models of several tasks: what is common to reading samples, to predicting, and to all estimators.

Labels and targets are read, coded and stored in the same way by every estimator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from jointsparse.arrays import as_numpy, dtypes_of
from jointsparse.checks import real_array, require, require_extra, require_sound, require_unmasked
from jointsparse.estimators.labels import Labels
from jointsparse.messages import printable, warn_user
from jointsparse.versions import Versioned

SCALE_ENTRIES = 2_000_000  # number of entries of X from which the sizes of the features are estimated
FEWEST_ENTRIES = 10  # non-zero entries that a feature needs for an estimate of its size
# Choice: features whose sizes differ by more than this factor are in raw units. The factor is 5 to 17 in iris, digits
# and word counts.
RAW_SPREAD = 100


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
