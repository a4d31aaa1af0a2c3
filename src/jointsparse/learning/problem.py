"""Problems that solvers solve: tasks with samples of their own, and products with their features.

minimise over W  sum_k sum_i c_ik loss(f_ik, y_ik),  f_k = X_k w_k + b_k,
subject to ||W|| <= radius, or with penalty * ||W|| added. Source: Quattoni et al. (2009), eq. 1 and 2.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import Misfit, require

Watch = Callable[[int, float, float], object]  # see `learning.solvers`

# OpenBLAS copies the operands of larger products first. With few columns, this doubles the time.
SMALL_PRODUCT_MULTIPLICATIONS = 10**6
# With more columns, no product is small.
MANY_COLUMNS = 32
# A part of X should stay in the second-level cache between its two products.
PART_BYTES = 720_000
# If fewer than one entry in 20 is not 0, products with CSR matrices take less time.
ENTRIES_PER_NONZERO = 20
# If fewer than one feature in 25 has weights, gathering these takes less time than the whole product.
FEATURES_PER_USED = 25
# A task that lacks fewer than one sample in 10 keeps them with weight 0. Otherwise it copies its own rows.
SAMPLES_PER_ABSENT = 10
# A certificate allows W to exceed its ball by this share of the radius, which is rounding.
MOST_EXCESS = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}
# If the copies of dense rows took more memory than this, tasks with a quarter of the samples share them, too.
MOST_COPIED_BYTES, SAMPLES_PER_PRESENT = 2**30, 4


class Part(NamedTuple):
    """Some samples of a task, or of several tasks that share them.

    Margins and dual variables are arrays (n_samples, n_tasks of a part * n_pairs): the pairs of its first task, then
    those of its second one. There is one pair where there are several tasks.

    tasks : slice
        The tasks' numbers.
    rows : slice
        The samples' places among the samples of all tasks. If the tasks share X, their places in X.
    X : array or CSR matrix (n, n_features)
        Features.
    y : array (n, n_tasks of the part), float64
        Labels.
    c : array (n, n_tasks of the part), float64
        Weights of the losses.
    first : bool
        True if it holds the first samples of its tasks.
    """

    tasks: slice
    rows: slice
    X: Any
    y: np.ndarray
    c: np.ndarray
    first: bool

    def margins(self, W: np.ndarray, b: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
        """X w_k + b_k. W: (n_tasks, n_features, n_pairs). b: (n_tasks, n_pairs). used: the features with weights."""
        W, b = W[self.tasks], b[self.tasks].reshape(-1)
        return product(self.X, W[0] if len(W) == 1 else W[:, :, 0].T, used) + b

    def add_transposed(self, A: np.ndarray, V: np.ndarray) -> None:
        """Add X^T A to V (n_tasks, n_features, n_pairs), or write it there if the part is the first."""
        V = V[self.tasks]
        if len(V) == 1:
            add_transposed_product(self.X, A, V[0], self.first)
        elif self.first:
            V[:, :, 0] = A.T @ self.X
        else:
            V[:, :, 0] += A.T @ self.X

    def per_task(self, sums: np.ndarray) -> np.ndarray:
        """Shape sums of the columns as (n_tasks of the part, n_pairs)."""
        return sums.reshape(self.y.shape[1], -1)


class Problem:
    """Tasks to be learnt together.

    A task copies its rows of X, unless it lacks fewer than a tenth of them, or copies would fill the memory. Then it
    shares X, and its absent samples have weight 0. Objectives and bounds are computed from labels and weights in double
    precision, whatever X is.

    Parameters
    ----------
    X : list of arrays or CSR matrices (n_k, n_features), of one floating dtype
        Features of each task.
    y : list of arrays (n_k,)
        Labels of each task, -1 and +1 or any numbers.
    weights : list of arrays (n_k,), at least 0, or None
        Weights of the losses. None means 1. A sample of weight 0 is not part of the task.
    normalisation : "sum" or "mean"
        "sum" adds the losses up (Quattoni et al. 2009, sec. 6). "mean" divides the weights of each task by their sum
        (sec. 5).
    intercept : bool
        True if b_k is free. Otherwise it is 0.

    Attributes
    ----------
    X : list of arrays or CSR matrices (n_k, n_features)
        Features of each task's samples.
    y, c : arrays (n, 1), float64
        Labels and weights of the samples of all parts.

    Raises
    ------
    ValueError
        If shapes do not fit, and for numbers that are not finite or so large that their products would not be.
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
        """Make a problem of the tasks of one matrix of samples.

        Parameters
        ----------
        X : array or CSR matrix (n_samples, n_features)
            Features.
        Y : array (n_samples, n_tasks)
            Labels.
        weights : array (n_samples, n_tasks), at least 0, or None
            Weights of the losses. None means 1 where Y is not 0, else 0.
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
            If Y is no matrix with a row for each sample.
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
        """The samples of all tasks, one task after the other, each task in one part or more."""
        parts: list[Part] = []
        width, offset = self.y.shape[1], 0
        for k, X in enumerate(self.X[: self.n_tasks // width]):
            for start, end in pairwise(_ends(X)):
                rows = slice(offset + start, offset + end)
                X_part = X if end - start == X.shape[0] else X[start:end]  # a slice of CSR is a copy
                parts.append(Part(slice(k, k + width), rows, X_part, self.y[rows], self.c[rows], start == 0))
            offset += X.shape[0]
        return parts

    @property
    def is_sparse(self) -> bool:
        """True if the features of any task are a CSR matrix."""
        return any(map(sparse.issparse, self.X))

    def changed(self, **attributes: Any) -> "Problem":
        """Return the same problem with other attributes."""
        other = copy(self)
        vars(other).pop("parts", None)
        vars(other).update(attributes)
        return other

    def together(self) -> "Problem":
        """Return the same problem in one part for all tasks, if these share X: products are then of matrices.

        It is for one pair at a time. Its y and c are (n, n_tasks). `arranged` carries dual variables over.
        """
        if self.y.shape[1] > 1 or any(X is not self.X[0] for X in self.X):
            return self
        y, c = (column.reshape(self.n_tasks, -1).T.copy() for column in (self.y, self.c))
        return self.changed(y=y, c=c)

    def compact(self) -> "Problem":
        """Return the same problem in sparse form, if few of the entries are not 0."""
        of_all = stored(self.X)
        n_entries = sum(X.shape[0] * X.shape[1] for X in of_all.values())
        if self.is_sparse or sum(map(np.count_nonzero, of_all.values())) * ENTRIES_PER_NONZERO >= n_entries:
            return self
        copies = {key: sparse.csr_matrix(X) for key, X in of_all.items()}
        return self.changed(X=[copies[id(X)] for X in self.X])

    def arranged(self, dual: np.ndarray) -> np.ndarray:
        """Arrange dual variables of one pair like y, if they are those of the other form of this problem."""
        if len(dual) == len(self.y):
            return dual
        alone = self.y.shape[1] == 1
        return np.ascontiguousarray(dual.T.reshape(-1, 1) if alone else dual.reshape(self.y.shape[::-1]).T)

    def transposed(self, dual: np.ndarray) -> np.ndarray:
        """Multiply X^T by the dual variables of each task: (n_tasks, n_features, n_pairs), in their precision."""
        V = np.empty((self.n_tasks, self.n_features, dual.shape[1] // self.y.shape[1]), dtype=dual.dtype)
        for part in self.parts:
            part.add_transposed(dual[part.rows], V)
        return V

    def per_task(self, A: np.ndarray, dtype: Any = None) -> np.ndarray:
        """Add up margins or dual variables for each task, (n_tasks, n_pairs), in their precision or another one."""
        sums = np.zeros((self.n_tasks, A.shape[1] // self.y.shape[1]), dtype=dtype or A.dtype)
        for part in self.parts:
            sums[part.tasks] += part.per_task(A[part.rows].sum(axis=0, dtype=dtype))
        return sums

    def per_pair(self, sums: np.ndarray) -> np.ndarray:
        """Add up sums of the columns of margins or dual variables for each pair."""
        return sums.reshape(self.y.shape[1], -1).sum(axis=0)

    def restricted(self, columns: np.ndarray, scale: np.ndarray | None = None) -> "Problem":
        """Return the problem of some features only, which may be scaled.

        Parameters
        ----------
        columns : int array (n_columns,) or (n_columns, n_tasks)
            The features of all tasks, or of each task, -1 for none.
        scale : array (n_columns,), optional
            Factors of these features, if they are those of all tasks.

        Returns
        -------
        problem : Problem
            Its features are copies. A feature -1 is 0 in all samples.
        """
        if columns.ndim == 1:
            copies = {key: _columns(X, columns, scale) for key, X in stored(self.X).items()}
            return self.changed(n_features=len(columns), X=[copies[id(X)] for X in self.X])
        return self.changed(
            n_features=len(columns), X=[_padded(X, of_task) for X, of_task in zip(self.X, columns.T, strict=True)]
        )


def stored(X: Sequence[Any]) -> dict[int, Any]:
    """The features that tasks have, each once, by their identity."""
    return {id(X_k): X_k for X_k in X}


def _columns(X: Any, columns: np.ndarray, scale: np.ndarray | None) -> Any:
    """Copy these columns of X, times a factor each."""
    if sparse.issparse(X):
        return X[:, columns] if scale is None else X[:, columns] @ sparse.diags_array(scale.astype(X.dtype))
    found = np.take(X, columns, axis=1, mode="clip")
    return found if scale is None else np.multiply(found, scale.astype(X.dtype), out=found)


def _padded(X: Any, columns: np.ndarray) -> Any:
    """Copy these columns of X, with zeros for -1."""
    found, there = X[:, np.maximum(columns, 0)], columns >= 0
    if not sparse.issparse(found):
        found[:, ~there] = 0
    elif not there.all():
        return found @ sparse.diags_array(there.astype(found.dtype), format="csr")
    return found


def _checked_labels(k: int, X: Any, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Labels of a task, 0 where the weight is 0. Raises ValueError where they or the weights do not fit."""
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
    """Features of each task: X itself if it shares all of them, else a copy of its rows, which is checked."""
    found = []
    for k, (X_k, r) in enumerate(zip(X, rows, strict=True)):
        if isinstance(r, slice):
            found.append(X_k if sparse.issparse(X_k) else np.ascontiguousarray(X_k))
        else:
            found.append(X_k[r] if sparse.issparse(X_k) else np.take(X_k, r, axis=0))
            require_magnitude(found[k], X_k.dtype, f"features of task {k}")
    return found


def _ends(X: Any) -> list[int]:
    """Rows between which X is cut into parts of equal size, at least one part. A sparse X stays whole."""
    n = X.shape[0]
    # Each sparse part would add a whole dense V.
    height = n if sparse.issparse(X) else max(PART_BYTES // max(X.shape[1] * X.dtype.itemsize, 1), 32)
    n_parts = max(-(-n // max(height, 1)), 1)
    return [int(end) for end in np.linspace(0, n, n_parts + 1)]


def magnitude_limit(dtype: np.dtype) -> float:
    """Largest absolute value allowed in features, and in weights times labels.

    Solvers add up products of two of them in their own precision, and multiply four in double precision.
    """
    return 1e-6 * min(float(np.finfo(dtype).max) ** 0.5, float(np.finfo(float).max) ** 0.25)


def magnitude(X: Any) -> float:
    """Largest absolute value of X, dense or sparse; 0 if X is empty, NaN if it holds NaN."""
    entries = X.data if sparse.issparse(X) else X
    return max(float(entries.max(initial=0)), -float(entries.min(initial=0)))


def require_magnitude(values: Any, dtype: np.dtype, name: str) -> None:
    """Raise ValueError unless all values are finite and at most `magnitude_limit(dtype)` in size."""
    limit, largest = magnitude_limit(dtype), magnitude(values)
    require(
        largest <= limit, f"{name} must be finite and at most {limit:.1e} in {dtype}, got {largest:.3g}: scale them"
    )


# BLAS may raise the flag of an invalid operation where all is finite, NumPy issue 24067: no warning comes of it.
@np.errstate(invalid="ignore")
def product(X: Any, W: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
    """Multiply X (n, n_features) by a W (n_features, n_pairs) with few columns. used: the rows of W that are not 0."""
    if used is not None and FEATURES_PER_USED * len(used) < len(W) and not sparse.issparse(X):
        return np.asarray(X[:, used] @ W[used])
    if sparse.issparse(X) or W.shape[1] == 1 or W.shape[1] > MANY_COLUMNS:
        return np.asarray(X @ W)
    width = _small_width(X.shape[0], W.shape[1])
    F = X[:, :width] @ W[:width]
    for left in range(width, X.shape[1], width):
        F += X[:, left : left + width] @ W[left : left + width]
    return F


@np.errstate(invalid="ignore")
def add_transposed_product(X: Any, A: np.ndarray, V: np.ndarray, first: bool) -> None:
    """Add X^T A to V, or set V to it if it is the first.

    Parameters
    ----------
    X : array or CSR matrix (n, n_features)
        Features.
    A : array (n, n_pairs)
        Factor with few columns.
    V : array (n_features, n_pairs)
        Sum, changed in place.
    first : bool
        True to overwrite V.
    """
    if sparse.issparse(X) or A.shape[1] == 1:
        V[...] = X.T @ A if first else V + X.T @ A
        return
    width = _small_width(*A.shape)
    for left in range(0, X.shape[1], width):
        columns, part = X[:, left : left + width].T, V[left : left + width]
        if first:
            np.matmul(columns, A, out=part)
        else:
            part += columns @ A


def _small_width(n: int, n_pairs: int) -> int:
    """Number of columns of a part of n rows that make a small product."""
    return max(SMALL_PRODUCT_MULTIPLICATIONS // max(n * n_pairs, 1), 8)


class Regulariser(NamedTuple):
    """The constraint ||W|| <= radius of each pair, or the added radius * ||W|| if `penalised`.

    norm : module
        Plug-in of norms.
    radius : array (n_pairs,) or (n_pairs, n_tasks)
        Radii, or penalties if `penalised`.
    penalised : bool
        True for the added norm.
    weights : array (n_features,) or (n_groups,), or None
        Weights of the features or groups in the norm, above 0; None means 1.
    positive : bool
        True for weights W of at least 0.
    groups : int array (n_features,) or None
        The group of each feature, from 0 to n_groups - 1. The norm counts a group as one row. None: no groups.
    """

    norm: ModuleType
    radius: np.ndarray
    penalised: bool = False
    weights: np.ndarray | None = None
    positive: bool = False
    groups: np.ndarray | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Options of the norm's functions."""
        given = {"weights": self.weights, "groups": self.groups}
        return {name: array for name, array in given.items() if array is not None}

    def weights_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Weights of some features."""
        return None if self.weights is None else self.weights[rows]

    def penalties(self, n_features: int) -> np.ndarray:
        """Penalty of each feature of the first pair, (n_features,), or (n_tasks, n_features) if tasks differ."""
        return np.multiply.outer(self.radius[0], np.ones(n_features) if self.weights is None else self.weights)

    def gradient(self, V: np.ndarray) -> np.ndarray:
        """The part of X^T dual that the bound of all W counts: what is above 0, if W is at least 0."""
        return np.maximum(V, 0) if self.positive else V

    def of(self, pairs: Any) -> "Regulariser":
        """Regulariser of these pairs only."""
        return self._replace(radius=self.radius[pairs])

    def step(self, W: np.ndarray, pair: int, size: float, **warm: Any) -> None:
        """Project W (n_features, n_tasks) in place, or take the proximal step of a size if penalised.

        Parameters
        ----------
        W : array (n_features, n_tasks)
            Weights of the pair, changed in place.
        pair : int
            The pair's number.
        size : float, above 0
            Size of the proximal step. A projection has none.
        **warm : Any
            One of `warm_starts`.
        """
        if self.penalised:
            W[...] = self.norm.prox(W, self.radius[pair] * size, positive=self.positive, **self.options)
        else:
            self.norm.project(W, self.radius[pair], out=W, positive=self.positive, **self.options, **warm)

    def cost(self, W: np.ndarray, pair: int) -> float:
        """Term that is added to the losses."""
        return float(np.sum(self.radius[pair] * self.norm.norm(W, **self.options))) if self.penalised else 0.0

    def allows(self, W: np.ndarray, pair: int, excess: float) -> bool:
        """Return True if W is where the constraints want it, up to an excess relative to the radius."""
        fits = self.penalised or np.all(self.norm.norm(W, **self.options) <= self.radius[pair] * (1 + excess))
        return bool(fits and not (self.positive and (W < 0).any()))

    def warm_starts(self) -> list[dict[str, Any]]:
        """Options of `step` for each pair, by which each projection starts from the one before."""
        takes_one = self.norm.WARM and self.groups is None
        return [{"warm": self.norm.Warm()} if takes_one else {} for _ in self.radius]


class Trace(list[tuple[int, Any, Any]]):
    """Iterate, pairs and their objectives, as they come: room for all iterations may be more than there is."""

    def until(self, t: int, n_pairs: int) -> np.ndarray:
        """Objectives (n_pairs, t + 1), NaN where none was kept."""
        objective = np.full((n_pairs, t + 1), np.nan)
        for at, pairs, value in self:
            objective[pairs, at] = value
        return objective


class Best:
    """Iterate of smallest objective of each pair, and the objectives of all iterates.

    Choice: the papers do not say which iterate is kept. The one of smallest objective is usual.
    """

    def __init__(self, problem: Problem, n_pairs: int, objective: Trace) -> None:
        self.W = np.zeros((n_pairs, problem.n_features, problem.n_tasks), dtype=problem.dtype)
        self.b = np.zeros((n_pairs, problem.n_tasks), dtype=problem.dtype)
        self.objective, self.smallest = objective, np.full(n_pairs, np.inf)

    def take(self, t: int, pairs: np.ndarray, value: np.ndarray, W: np.ndarray, b: np.ndarray) -> None:
        """Note the objectives of these pairs at iterate t, and take the iterates that are better.

        Parameters
        ----------
        t : int
            Iterate.
        pairs : int array (n,)
            Numbers of the pairs.
        value : array (n,)
            Their objectives.
        W : array (n, n_features, n_tasks)
            Their weights.
        b : array (n, n_tasks)
            Their intercepts.
        """
        self.objective.append((t, pairs, value))
        for i in np.flatnonzero(value < self.smallest[pairs]):
            self.smallest[pairs[i]], self.W[pairs[i]], self.b[pairs[i]] = value[i], W[i], b[i]


class Fit(NamedTuple):
    """Result of training for each pair.

    W : array (n_pairs, n_features, n_tasks)
        Iterate of smallest objective.
    b : array (n_pairs, n_tasks)
        Its intercepts.
    objective : array (n_pairs, n_iter + 1)
        Objective at every iterate, from margins in X's precision. NaN where it was not computed.
    value : array (n_pairs,)
        Objective of W and b in double precision.
    bound : array (n_pairs,)
        Lower bound of all objectives, in double precision.
    gap : array (n_pairs,)
        Relative duality gap of `value` and `bound`, see `relative_gap`. No optimum is further away. It is infinite if W
        lies outside its ball.
    n_iter : int
        Number of iterations done.
    dual : array (n_samples, n_pairs)
        Dual variables of `bound`, in the order of the problem's y.
    omega : array (n_pairs,) or None
        Balance of the last step sizes, of solvers that can go on with it.
    rounds : list of lists
        What each pair's rounds have reached, of solvers that have rounds.
    """

    W: np.ndarray
    b: np.ndarray
    objective: np.ndarray
    value: np.ndarray
    bound: np.ndarray
    gap: np.ndarray
    n_iter: int
    dual: np.ndarray
    omega: np.ndarray | None = None
    rounds: Sequence[Any] = ()

    def of(self, pair: int) -> "Fit":
        """Fit of one pair; of the only one if there is no other."""
        at = slice(None) if len(self.W) == 1 else slice(pair, pair + 1)
        of_pairs = {
            name: getattr(self, name)[at] for name in ("W", "b", "objective", "value", "bound", "gap", "rounds")
        }
        return self._replace(**of_pairs, dual=self.dual[:, at], omega=None if self.omega is None else self.omega[at])

    @staticmethod
    def stack(fits: Sequence["Fit"]) -> "Fit":
        """Put fits of one pair each into one."""
        n_iter = max(fit.n_iter for fit in fits)
        missing = [((0, 0), (0, n_iter + 1 - fit.objective.shape[1])) for fit in fits]
        objective = [np.pad(fit.objective, gap, constant_values=np.nan) for fit, gap in zip(fits, missing, strict=True)]
        names = ("W", "b", "value", "bound", "gap", "omega")
        joined = {name: np.concatenate([getattr(fit, name) for fit in fits]) for name in names}
        dual, rounds = np.hstack([fit.dual for fit in fits]), [fit.rounds[0] for fit in fits]
        return Fit(**joined, objective=np.concatenate(objective), n_iter=n_iter, dual=dual, rounds=rounds)


def lower_bound(problem: Problem, loss: ModuleType, regulariser: Regulariser, dual: np.ndarray) -> np.ndarray:
    """Bound all objectives of each pair from below, by any dual variables of the losses.

    With V = X^T dual, the bound is sum dual_value - radius ||V||_dual. If penalised, it is sum dual_value of the dual
    variables scaled down until ||V||_dual <= penalty. With intercepts, dual variables must sum to 0 within each task.
    So the larger of their positive and negative sums is scaled down first. Source: Fenchel's duality; see
    docs/training.md.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        Plug-in of losses.
    regulariser : Regulariser
        Constraint or penalty.
    dual : array (n_samples, n_pairs)
        Dual variables, in the order of the problem's y.
        They are moved into the domain of `loss.dual_value` where rounding left them outside.

    Returns
    -------
    bound : array (n_pairs,), at least 0
    """
    # In double precision, whatever X is. A dual step of size 0 leads into the domain.
    exact = dual.astype(np.float64)
    exact = loss.dual_step(exact, exact, problem.y, problem.c, 0.0)
    if problem.intercept:
        exact = balanced(problem, exact)
    return bound_from(problem, loss, regulariser, exact, problem.transposed(exact))


def bound_from(
    problem: Problem, loss: ModuleType, regulariser: Regulariser, dual: np.ndarray, V: np.ndarray
) -> np.ndarray:
    """Compute `lower_bound` from balanced dual variables and their known V = X^T dual.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        Plug-in of losses.
    regulariser : Regulariser
        Constraint or penalty.
    dual : array (n_samples, n_pairs)
        Dual variables of the domain. With intercepts, they sum to 0 within each task.
    V : array (n_tasks, n_features, n_pairs)
        X^T dual of each task.

    Returns
    -------
    bound : array (n_pairs,), at least 0
    """
    n_pairs = V.shape[2]
    bounds, share = np.zeros(n_pairs), np.ones((problem.n_tasks, n_pairs))
    for pair in range(n_pairs):
        of_pair = regulariser.gradient(V[:, :, pair].T)
        size = regulariser.norm.dual_norm(of_pair, **regulariser.options)  # one number, or one per task
        radius = regulariser.radius[pair]
        if regulariser.penalised:
            share[:, pair] = radius / np.maximum(np.maximum(size, radius), np.finfo(float).tiny)
        else:
            bounds[pair] -= np.sum(radius * size)
    if regulariser.penalised:
        dual = np.vstack([dual[part.rows] * share[part.tasks].reshape(-1) for part in problem.parts])
    bounds += problem.per_pair(loss.dual_value(dual, problem.y, problem.c))
    return np.maximum(bounds, 0.0)  # 0 is the bound of dual variables that are all 0


def balanced(problem: Problem, dual: np.ndarray) -> np.ndarray:
    """Scale the larger of the positive and negative sums of each task's dual variables down to the other."""
    up, down = problem.per_task(np.maximum(dual, 0), float), -problem.per_task(np.minimum(dual, 0), float)
    even, tiny = np.minimum(up, down), np.finfo(float).tiny
    shrink_up, shrink_down = even / np.maximum(up, tiny), even / np.maximum(down, tiny)
    even_dual = np.empty_like(dual)
    for part in problem.parts:
        A, up_by, down_by = dual[part.rows], shrink_up[part.tasks], shrink_down[part.tasks]
        even_dual[part.rows] = A * np.where(A > 0, up_by.reshape(-1), down_by.reshape(-1))
    return even_dual


def objective_of(
    problem: Problem, loss: ModuleType, regulariser: Regulariser, W: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Compute the objective of each pair in double precision, whatever X is; infinity where W breaks its constraints.

    So no gap certifies a W outside its ball, whichever solver it is from.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        Plug-in of losses.
    regulariser : Regulariser
        Constraint or penalty.
    W : array (n_pairs, n_features, n_tasks)
        Weights.
    b : array (n_pairs, n_tasks)
        Intercepts.

    Returns
    -------
    objective : array (n_pairs,)
    """
    W = W.astype(np.float64)
    value = np.array([regulariser.cost(w, pair) for pair, w in enumerate(W)])
    W_of = np.ascontiguousarray(W.transpose(2, 1, 0))
    used = np.flatnonzero(W.any(axis=(0, 2)))
    for part in problem.parts:
        F = part.margins(W_of, np.asarray(b, dtype=np.float64).T, used)
        value += problem.per_pair(loss.value(F, part.y, part.c))
    allowed = [regulariser.allows(w, pair, MOST_EXCESS[problem.dtype]) for pair, w in enumerate(W)]
    return np.where(allowed, value, np.inf)


def intercepts_of_samples(problem: Problem, b: np.ndarray) -> np.ndarray:
    """Margins for W = 0 and intercepts b (n_tasks,), like the problem's y."""
    return np.vstack([np.broadcast_to(b[part.tasks], part.y.shape) for part in problem.parts])


def best_intercepts(problem: Problem, loss: ModuleType) -> np.ndarray:
    """Find the intercepts (n_tasks,) of smallest losses for W = 0, means or by bisection; 0 if the problem has none.

    Where a kink of the loss is the best, the result is next to it on the side of 0.
    """
    b = np.zeros(problem.n_tasks)
    if not problem.intercept:
        return b
    if loss.QUADRATIC:
        total = problem.per_task(problem.c)[:, 0]
        return np.divide(problem.per_task(problem.c * problem.y)[:, 0], total, out=b, where=total > 0)
    # Beyond 40 the logistic loss is 0 to double precision.
    size = 40.0 * max(1.0, magnitude(problem.y))
    low, high = b - size, b + size
    for _ in range(64):
        b = (low + high) / 2
        slope = problem.per_task(loss.subgradient(intercepts_of_samples(problem, b), problem.y, problem.c))[:, 0]
        low, high = np.where(slope <= 0, b, low), np.where(slope >= 0, b, high)
    return b * (1 - 1e-6)


def solve_at_zero(problem: Problem, loss: ModuleType) -> tuple[np.ndarray, float]:
    """Compute the best intercepts for W = 0, (n_tasks,), and the objective for both.

    The objective is at least a millionth of that for W = 0 and intercepts of 0.
    """
    b = best_intercepts(problem, loss)
    margins = (intercepts_of_samples(problem, one) for one in (b, np.zeros_like(b)))
    best, without = (float(loss.value(F, problem.y, problem.c).sum()) for F in margins)
    return b, max(best, 1e-6 * without)


def relative_gap(objective: Any, bound: Any, at_zero: float) -> Any:
    """objective - bound, relative to the objective or to how far the bound is below that at W = 0, if this is less.

    It is relative to a thousandth of the objective at W = 0 where that is larger. So W = 0 has a gap of 0 where it is
    optimal, and a large one where not.
    """
    size = np.maximum(np.minimum(objective, at_zero - bound), 1e-3 * at_zero)
    return np.maximum(objective - bound, 0.0) / np.maximum(size, np.finfo(float).tiny)
