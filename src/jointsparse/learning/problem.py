"""Problems for the solvers: tasks with their samples, and products of the features with weights or dual variables.

minimise over W  sum_k sum_i c_ik loss(f_ik, y_ik),  f_k = X_k w_k + b_k,
subject to ||W|| <= radius, or with penalty * ||W|| added. Source: Quattoni et al. (2009), eq. 1 and 2.
"""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import Misfit, require

# Before a product with more multiplications than this, OpenBLAS copies the operands. With few columns, the copy doubles
# the time.
SMALL_PRODUCT_MULTIPLICATIONS = 10**6
# With more columns than this, products are not split into small ones.
MANY_COLUMNS = 32
# Size of the parts of X, so that each part stays in the second-level cache between its two products.
PART_BYTES = 720_000
# Products with CSR matrices are faster if fewer than one entry in this many is non-zero.
ENTRIES_PER_NONZERO = 20
# If fewer than one feature in this many has non-zero weights, it is faster to gather these features for the product.
FEATURES_PER_USED = 25
# A task that lacks fewer than one sample in this many shares X, and the samples that it lacks have weight 0. The other
# tasks copy their own rows.
SAMPLES_PER_ABSENT = 10
# If the copies of dense rows needed more memory than this, tasks that have more than one sample in
# SAMPLES_PER_PRESENT share X, too.
MOST_COPIED_BYTES, SAMPLES_PER_PRESENT = 2**30, 4


class Part(NamedTuple):
    """Some samples of one task, or of several tasks with the same samples or the same number of samples.

    Margins and dual variables are arrays (n_samples, n_tasks of a part * n_pairs). Their columns are the pairs (eta0,
    radius) of the first task, followed by the pairs of the second task, and so on. A part with several tasks has only
    one pair.

    tasks : slice
        Indices of the tasks.
    rows : slice
        Indices of the samples among the samples of all tasks. If the tasks share X, these are their indices in X.
    X : array or CSR matrix (n, n_features), or array (n_tasks of the part, n, n_features)
        Features that the tasks share, or the features of each task.
    y : array (n, n_tasks of the part), float64
        Labels.
    c : array (n, n_tasks of the part), float64
        Weights of the losses.
    first : bool
        True if this is the first part of its tasks.
    """

    tasks: slice
    rows: slice
    X: Any
    y: np.ndarray
    c: np.ndarray
    first: bool

    def margins(self, W: np.ndarray, b: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
        """Compute the margins X w_k + b_k of the samples in this part.

        W: (n_tasks, n_features, n_pairs). b: (n_tasks, n_pairs). used: features with non-zero weights, or None for all.
        """
        W, b = W[self.tasks], b[self.tasks].reshape(-1)
        if self.X.ndim == 3:
            return np.ascontiguousarray(np.matmul(self.X, W)[:, :, 0].T) + b
        return product(self.X, W[0] if len(W) == 1 else W[:, :, 0].T, used) + b

    def add_transposed(self, A: np.ndarray, V: np.ndarray) -> None:
        """Add X^T A to V (n_tasks, n_features, n_pairs). For the first part of a task, overwrite V instead."""
        V = V[self.tasks]
        if self.X.ndim == 3:
            np.matmul(self.X.transpose(0, 2, 1), A.T[:, :, np.newaxis], out=V)
        elif len(V) == 1:
            add_transposed_product(self.X, A, V[0], self.first)
        elif self.first:
            V[:, :, 0] = A.T @ self.X
        else:
            V[:, :, 0] += A.T @ self.X

    def per_task(self, sums: np.ndarray) -> np.ndarray:
        """Reshape sums over the columns of margins or dual variables to (n_tasks of the part, n_pairs)."""
        return sums.reshape(self.y.shape[1], -1)


class Problem:
    """Tasks that are learnt together.

    Each task gets a copy of the rows of X that it uses. If a task leaves out fewer than a tenth of the rows, or if the
    copies would need too much memory, it uses X itself, and the rows that are not part of the task have weight 0.
    Labels and weights are in double precision for every dtype of X, so that objectives and bounds can be computed in
    double precision.

    Parameters
    ----------
    X : list of arrays or CSR matrices (n_k, n_features), of one floating dtype
        Features of each task.
    y : list of arrays (n_k,)
        Labels of each task: -1 and +1, or any numbers for the squared loss.
    weights : list of arrays (n_k,), at least 0, or None
        Weights of the losses. None means 1. A sample of weight 0 is not part of the task.
    normalisation : "sum" or "mean"
        "sum" adds up the losses (Quattoni et al. 2009, sec. 6). "mean" divides the weights of each task by their sum
        (sec. 5).
    intercept : bool
        True if the tasks have intercepts b_k. Otherwise b_k is 0.

    Attributes
    ----------
    X : list of arrays or CSR matrices (n_k, n_features)
        Features of the samples of each task.
    y, c : arrays (n, 1), float64
        Labels and weights of the samples of all parts.

    Raises
    ------
    ValueError
        If shapes do not fit, or if numbers are not finite or so large that their products might overflow.
    """

    def __init__(
        self,
        X: Sequence[Any],
        y: Sequence[np.ndarray],
        weights: Sequence[np.ndarray] | None = None,
        *,
        normalisation: str = "sum",
        intercept: bool = False,
    ) -> None:
        require(normalisation in ("sum", "mean"), f"normalisation must be 'sum' or 'mean', got {normalisation!r}")
        self.n_tasks, self.n_features, self.dtype, self.intercept = len(X), X[0].shape[1], X[0].dtype, intercept
        sound = {key: magnitude(X_k) <= magnitude_limit(self.dtype) for key, X_k in stored(X).items()}
        each = [len(y_k) if weights is None else np.count_nonzero(weights[k]) for k, y_k in enumerate(y)]
        crowded = not sparse.issparse(X[0]) and sum(each) * self.n_features * self.dtype.itemsize > MOST_COPIED_BYTES
        labels, of_losses, rows = [], [], []
        for k, (X_k, y_k) in enumerate(zip(X, y, strict=True)):
            c_k = np.ones(len(y_k)) if weights is None else np.asarray(weights[k], dtype=np.float64)
            y_k = _checked_labels(k, X_k, y_k, c_k)
            few_absent = SAMPLES_PER_ABSENT * (len(c_k) - each[k]) < max(len(c_k), 1)
            shares = sound[id(X_k)] and (few_absent or (crowded and SAMPLES_PER_PRESENT * each[k] > len(c_k)))
            rows.append(slice(None) if shares else np.flatnonzero(c_k))
            if normalisation == "mean" and c_k.any():
                c_k = c_k / c_k[c_k != 0].sum()
            labels.append(y_k[rows[k]])
            of_losses.append(c_k[rows[k]])
        self.y = np.concatenate(labels).astype(np.float64)[:, np.newaxis]
        self.c = np.concatenate(of_losses)[:, np.newaxis]
        self.X = _features(X, rows)

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        normalisation: str = "sum",
        intercept: bool = False,
    ) -> "Problem":
        """Return the problem of tasks that share one matrix of samples.

        Parameters
        ----------
        X : array or CSR matrix (n_samples, n_features)
            Features.
        Y : array (n_samples, n_tasks)
            Labels.
        weights : array (n_samples, n_tasks), at least 0, or None
            Weights of the losses. None means 1 where Y is not 0, and 0 elsewhere.
        normalisation : "sum" or "mean"
            See `Problem`.
        intercept : bool
            See `Problem`.

        Returns
        -------
        problem : Problem

        Raises
        ------
        Misfit
            If Y is not a matrix with one row per sample.
        """
        require(
            Y.ndim == 2 and len(Y) == X.shape[0],
            f"Y must be a matrix with a row for each of {X.shape[0]} samples, got shape {Y.shape}",
            Misfit,
        )
        if weights is None:
            weights = np.asarray(Y != 0, dtype=np.float64)
        tasks = [X if sparse.issparse(X) else np.ascontiguousarray(X)] * Y.shape[1]
        return cls(tasks, list(Y.T), list(weights.T), normalisation=normalisation, intercept=intercept)

    @cached_property
    def parts(self) -> list[Part]:
        """The samples of all tasks, as a list of parts: one or more parts for each task, in the order of the tasks."""
        parts: list[Part] = []
        width, offset = self.y.shape[1], 0
        if width > 1 and not self.shares_X:
            return [Part(slice(0, width), slice(0, len(self.y)), np.stack(self.X), self.y, self.c, True)]
        for k, X in enumerate(self.X[: self.n_tasks // width]):
            for start, end in pairwise(_ends(X)):
                rows = slice(offset + start, offset + end)
                X_part = X if end - start == X.shape[0] else X[start:end]  # avoids a copy: slicing CSR copies
                parts.append(Part(slice(k, k + width), rows, X_part, self.y[rows], self.c[rows], start == 0))
            offset += X.shape[0]
        return parts

    @property
    def shares_X(self) -> bool:
        """Whether all tasks have the same array of features."""
        return all(X is self.X[0] for X in self.X)

    @property
    def is_sparse(self) -> bool:
        """Whether the features of any task are a CSR matrix."""
        return any(map(sparse.issparse, self.X))

    def changed(self, **attributes: Any) -> "Problem":
        """Return a copy of the problem with some attributes replaced."""
        other = copy(self)
        vars(other).pop("parts", None)
        vars(other).update(attributes)
        return other

    def together(self) -> "Problem":
        """Return a problem with all tasks in one part, so that a product with X is a single call for all tasks.

        This is possible if the tasks share X, or if all X_k are small and have the same shape; otherwise the problem
        itself is returned. The new problem can only be solved for one pair at a time. Its y and c are (n, n_tasks).
        `arranged` converts dual variables from one form to the other.
        """
        if self.y.shape[1] > 1 or not (self.shares_X or self._can_stack()):
            return self
        y, c = (column.reshape(self.n_tasks, -1).T.copy() for column in (self.y, self.c))
        return self.changed(y=y, c=c)

    def _can_stack(self) -> bool:
        """Return True if the X_k of all tasks are dense, of the same shape, and small enough for a single part."""
        first = self.X[0]
        return not self.is_sparse and first.nbytes <= PART_BYTES and all(X.shape == first.shape for X in self.X)

    def compact(self) -> "Problem":
        """Return a copy with CSR features if few entries of the features are non-zero, else the problem itself."""
        of_all = stored(self.X)
        n_entries = sum(X.shape[0] * X.shape[1] for X in of_all.values())
        if self.is_sparse or sum(map(np.count_nonzero, of_all.values())) * ENTRIES_PER_NONZERO >= n_entries:
            return self
        copies = {key: sparse.csr_matrix(X) for key, X in of_all.items()}
        return self.changed(X=[copies[id(X)] for X in self.X])

    def arranged(self, dual: np.ndarray) -> np.ndarray:
        """Return the dual variables of one pair in the shape of y. They may be in the form that `together` yields."""
        if len(dual) == len(self.y):
            return dual
        alone = self.y.shape[1] == 1
        return np.ascontiguousarray(dual.T.reshape(-1, 1) if alone else dual.reshape(self.y.shape[::-1]).T)

    def transposed(self, dual: np.ndarray) -> np.ndarray:
        """Return X^T dual for each task, (n_tasks, n_features, n_pairs), in the dtype of the dual variables."""
        V = np.empty((self.n_tasks, self.n_features, dual.shape[1] // self.y.shape[1]), dtype=dual.dtype)
        for part in self.parts:
            part.add_transposed(dual[part.rows], V)
        return V

    def per_task(self, A: np.ndarray, dtype: Any = None) -> np.ndarray:
        """Sum margins or dual variables over the samples of each task, (n_tasks, n_pairs). dtype: dtype of the sums."""
        sums = np.zeros((self.n_tasks, A.shape[1] // self.y.shape[1]), dtype=dtype or A.dtype)
        for part in self.parts:
            sums[part.tasks] += part.per_task(A[part.rows].sum(axis=0, dtype=dtype))
        return sums

    def per_pair(self, sums: np.ndarray) -> np.ndarray:
        """Sum over the tasks for each pair. sums: sums of the columns of margins or dual variables."""
        return sums.reshape(self.y.shape[1], -1).sum(axis=0)

    def restricted(self, columns: np.ndarray, scale: np.ndarray | None = None) -> "Problem":
        """Return a copy of the problem that has only some of the features. They can be scaled.

        Parameters
        ----------
        columns : int array (n_columns,) or (n_columns, n_tasks)
            Indices of the features, the same for all tasks or a column for each task. -1 stands for a feature whose
            values are all 0.
        scale : array (n_columns,), optional
            Factors by which the features are multiplied. Not available if each task has a column of indices.

        Returns
        -------
        problem : Problem
            The new problem, with copies of the features.
        """
        if columns.ndim == 1:
            copies = {key: _columns(X, columns, scale) for key, X in stored(self.X).items()}
            return self.changed(n_features=len(columns), X=[copies[id(X)] for X in self.X])
        return self.changed(
            n_features=len(columns), X=[_padded(X, of_task) for X, of_task in zip(self.X, columns.T, strict=True)]
        )


def stored(X: Sequence[Any]) -> dict[int, Any]:
    """Return the distinct arrays among the features of the tasks, in a dictionary whose keys are their ids."""
    return {id(X_k): X_k for X_k in X}


def _columns(X: Any, columns: np.ndarray, scale: np.ndarray | None) -> Any:
    """Return a copy of these columns of X, multiplied by the factors in `scale` unless it is None."""
    if sparse.issparse(X):
        return X[:, columns] if scale is None else X[:, columns] @ sparse.diags_array(scale.astype(X.dtype))
    copied = np.take(X, columns, axis=1)
    return copied if scale is None else np.multiply(copied, scale.astype(X.dtype), out=copied)


def _padded(X: Any, columns: np.ndarray) -> Any:
    """Return a copy of these columns of X. The index -1 stands for a column of zeros."""
    copied, is_column = X[:, np.maximum(columns, 0)], columns >= 0  # for -1, column 0 is copied and then set to 0
    if not sparse.issparse(copied):
        copied[:, ~is_column] = 0
    elif not is_column.all():
        return copied @ sparse.diags_array(is_column.astype(copied.dtype), format="csr")
    return copied


def _checked_labels(k: int, X: Any, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the labels of task k, with 0 where the weight is 0. Raises ValueError if labels or weights are invalid."""
    require(
        X.shape[0] == len(y) == len(c),
        f"task {k} must have a label and a weight for each of its {X.shape[0]} samples, got {len(y)}, {len(c)}",
    )
    y = np.where(c == 0, 0, y)
    with np.errstate(over="ignore"):
        size = c * np.maximum(np.abs(y), 1)
    require_magnitude(size, X.dtype, f"weights times labels of task {k}")
    return y


def _features(X: Sequence[Any], rows: Sequence[Any]) -> list[Any]:
    """Return the features of each task: its X if the task uses all rows, else a checked copy of the rows it uses."""
    features = []
    for k, (X_k, r) in enumerate(zip(X, rows, strict=True)):
        if isinstance(r, slice):
            features.append(X_k if sparse.issparse(X_k) else np.ascontiguousarray(X_k))
        else:
            features.append(X_k[r] if sparse.issparse(X_k) else np.take(X_k, r, axis=0))
            require_magnitude(features[k], X_k.dtype, f"features of task {k}")
    return features


def _ends(X: Any) -> list[int]:
    """Split a dense X into parts of equal height, and return the rows at which they begin and end.

    A sparse X is not split.
    """
    n = X.shape[0]
    # Each part of a sparse X would add a dense V.
    height = n if sparse.issparse(X) else max(PART_BYTES // max(X.shape[1] * X.dtype.itemsize, 1), 32)
    n_parts = max(-(-n // max(height, 1)), 1)
    return [int(end) for end in np.linspace(0, n, n_parts + 1)]


def magnitude_limit(dtype: np.dtype) -> float:
    """Return the largest absolute value that features, and products of a weight and a label, may have.

    Solvers sum products of two such numbers in the precision of X, and products of four in double precision. With this
    limit, the sums do not overflow.
    """
    return 1e-6 * min(float(np.finfo(dtype).max) ** 0.5, float(np.finfo(float).max) ** 0.25)


def magnitude(X: Any) -> float:
    """Return the largest absolute value in X, which may be dense or sparse: 0 if X is empty, NaN if X contains NaN."""
    entries = X.data if sparse.issparse(X) else X
    return max(float(entries.max(initial=0)), -float(entries.min(initial=0)))


def require_magnitude(values: Any, dtype: np.dtype, name: str) -> None:
    """Raise ValueError unless all values are finite and at most `magnitude_limit(dtype)` in magnitude."""
    limit, largest = magnitude_limit(dtype), magnitude(values)
    require(
        largest <= limit, f"{name} must be finite and at most {limit:.1e} in {dtype}, got {largest:.3g}: scale them"
    )


# BLAS may set the flag for invalid operations although all numbers are finite (NumPy issue 24067), so warnings are off.
@np.errstate(invalid="ignore")
def product(X: Any, W: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
    """Compute X W for X (n, n_features) and W (n_features, n_pairs) with few columns. used: the non-zero rows of W."""
    if used is not None and FEATURES_PER_USED * len(used) < len(W) and not sparse.issparse(X):
        return np.asarray(X[:, used] @ W[used])
    if sparse.issparse(X) or W.shape[1] == 1 or W.shape[1] > MANY_COLUMNS:
        return np.asarray(X @ W)
    # X is split into blocks of columns, because OpenBLAS does not copy the operands of such small products.
    width = _small_width(X.shape[0], W.shape[1])
    F = X[:, :width] @ W[:width]
    for left in range(width, X.shape[1], width):
        F += X[:, left : left + width] @ W[left : left + width]
    return F


@np.errstate(invalid="ignore")  # as in `product`
def add_transposed_product(X: Any, A: np.ndarray, V: np.ndarray, first: bool) -> None:
    """Add X^T A to V, or set V to X^T A if it is the first product.

    Parameters
    ----------
    X : array or CSR matrix (n, n_features)
        Features.
    A : array (n, n_pairs)
        A matrix with few columns.
    V : array (n_features, n_pairs)
        The matrix that is changed in place.
    first : bool
        True to overwrite V.
    """
    if sparse.issparse(X) or A.shape[1] == 1:
        V[...] = X.T @ A if first else V + X.T @ A
        return
    # X is split into blocks of columns, as in `product`.
    width = _small_width(*A.shape)
    for left in range(0, X.shape[1], width):
        columns, part = X[:, left : left + width].T, V[left : left + width]
        if first:
            np.matmul(columns, A, out=part)
        else:
            part += columns @ A


def _small_width(n: int, n_pairs: int) -> int:
    """Return the number of columns of X for which a product is small: it takes at most SMALL_PRODUCT_MULTIPLICATIONS.

    The result is at least 8. n: number of rows of X. n_pairs: number of columns of the other matrix.
    """
    return max(SMALL_PRODUCT_MULTIPLICATIONS // max(n * n_pairs, 1), 8)
