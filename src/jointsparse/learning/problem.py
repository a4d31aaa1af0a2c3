"""Problems that solvers solve: tasks with samples of their own, and products with their features.

minimise over W  sum_k sum_i c_ik loss(f_ik, y_ik),  f_k = X_k w_k + b_k,
subject to ||W|| <= radius, or with penalty * ||W|| added. Source: Quattoni et al. (2009), eq. 1 and 2.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import Misfit, require
from jointsparse.compiled import njit

# OpenBLAS copies the operands of larger products first. With few columns, this doubles the time.
SMALL_PRODUCT_MULTIPLICATIONS = 10**6
# A part of X should stay in the second-level cache between its two products.
PART_BYTES = 720_000
# If fewer than one feature in 25 has weights, gathering these takes less time than the whole product.
FEATURES_PER_USED = 25
# A task that lacks fewer than one sample in 10 keeps them with weight 0. Otherwise it copies its own rows.
SAMPLES_PER_ABSENT = 10


class Part(NamedTuple):
    """Some samples of a task.

    task : int
        The task's number.
    rows : slice
        The samples' places among the samples of all tasks.
    X : array or CSR matrix (n, n_features)
        Features.
    y : array (n, 1), float64
        Labels.
    c : array (n, 1), float64
        Weights of the losses.
    """

    task: int
    rows: slice
    X: Any
    y: np.ndarray
    c: np.ndarray


class Problem:
    """Tasks to be learnt together.

    A task copies its rows of X, unless it lacks fewer than a tenth of them. Then it shares X, and its absent samples
    have weight 0. Objectives and bounds are computed from labels and weights in double precision, whatever X is.

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
    parts : list of Part
        The samples of all tasks, one task after the other, each task in one part or more.
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
        self.n_tasks, self.n_features, self.dtype = len(X), X[0].shape[1], X[0].dtype
        self.intercept = intercept
        tasks = []
        for k, X_k in enumerate(X):
            c = np.ones(len(y[k])) if weights is None else np.asarray(weights[k], dtype=np.float64)
            tasks.append(_task(k, X_k, y[k], c, normalisation))
        self.y = np.concatenate([task.y for task in tasks]).astype(np.float64)[:, np.newaxis]
        self.c = np.concatenate([task.c for task in tasks])[:, np.newaxis]
        self.parts: list[Part] = []
        offset = 0
        for k, X_k in enumerate(_features(X, tasks)):
            for start, end in pairwise(_ends(X_k)):
                rows = slice(offset + start, offset + end)
                X_part = X_k if end - start == X_k.shape[0] else X_k[start:end]  # a slice of CSR is a copy
                self.parts.append(Part(k, rows, X_part, self.y[rows], self.c[rows]))
            offset += X_k.shape[0]

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


class _Task(NamedTuple):
    """Labels and weights of a task's samples. rows: their places in X, None if the task shares X."""

    y: np.ndarray
    c: np.ndarray
    rows: np.ndarray | None


def _task(k: int, X: Any, y: np.ndarray, c: np.ndarray, normalisation: str) -> _Task:
    require(
        X.shape[0] == len(y) == len(c),
        f"task {k} must have a label and a weight for each of its {X.shape[0]} samples, got {len(y)}, {len(c)}",
    )
    y = np.where(c == 0, 0, y)
    with np.errstate(over="ignore"):
        size = c * np.maximum(np.abs(y), 1)
    require_magnitude(size, X.dtype, f"weights times labels of task {k}")
    rows = None if _shares(X, c) else np.flatnonzero(c)
    if normalisation == "mean" and c.any():
        c = c / c[c != 0].sum()
    return _Task(y, c, None) if rows is None else _Task(y[rows], c[rows], rows)


def _shares(X: Any, c: np.ndarray) -> bool:
    """True if a task of weights c can keep all rows of X: it lacks few, and these can be multiplied by 0."""
    absent = np.flatnonzero(c == 0)
    few = SAMPLES_PER_ABSENT * len(absent) < max(len(c), 1)
    return few and magnitude(X[absent]) <= magnitude_limit(X.dtype)


def _features(X: Sequence[Any], tasks: list[_Task]) -> Iterator[Any]:
    """Features of each task, checked: X itself if it is shared, else a copy of the task's rows."""
    n_copied = sum(
        len(task.rows) for X_k, task in zip(X, tasks, strict=True) if task.rows is not None and not sparse.issparse(X_k)
    )
    # One array for all copies: the system then maps it in large pages, and products take a few percent less time.
    copies = np.empty((n_copied, X[0].shape[1]), dtype=X[0].dtype)
    checked = None
    for k, (X_k, task) in enumerate(zip(X, tasks, strict=True)):
        if task.rows is None:
            found = X_k if sparse.issparse(X_k) else np.ascontiguousarray(X_k)
        elif sparse.issparse(X_k):
            found = X_k[task.rows]
        else:
            found, copies = copies[: len(task.rows)], copies[len(task.rows) :]
            np.take(X_k, task.rows, axis=0, out=found, mode="clip")
        if task.rows is not None or X_k is not checked:
            require_magnitude(found, X_k.dtype, f"features of task {k}")
        if task.rows is None:
            checked = X_k
        yield found


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


def product(X: Any, W: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
    """Multiply X (n, n_features) by a W (n_features, n_pairs) with few columns. used: the rows of W that are not 0."""
    if used is not None and FEATURES_PER_USED * len(used) < len(W) and not sparse.issparse(X):
        return np.asarray(X[:, used] @ W[used])
    if sparse.issparse(X) or W.shape[1] == 1:
        return np.asarray(X @ W)
    width = _small_width(X.shape[0], W.shape[1])
    F = X[:, :width] @ W[:width]
    for left in range(width, X.shape[1], width):
        F += X[:, left : left + width] @ W[left : left + width]
    return F


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


@njit
def interleave(W, W_of):  # type: ignore[no-untyped-def]
    for i in range(W.shape[1]):
        for k in range(W.shape[2]):
            for p in range(W.shape[0]):
                W_of[k, i, p] = W[p, i, k]


def by_task(W: np.ndarray, W_of: np.ndarray) -> None:
    """Copy W (n_pairs, n_features, n_tasks) to W_of (n_tasks, n_features, n_pairs)."""
    if len(W) == 1:
        W_of[:, :, 0] = W[0].T
    else:  # NumPy would take ten times as long
        interleave(W, W_of)


class Regulariser(NamedTuple):
    """The constraint ||W|| <= radius of each pair, or the added radius * ||W|| if `penalised`.

    norm : module
        Plug-in of norms.
    radius : array (n_pairs,) or (n_pairs, n_tasks)
        Radii, or penalties if `penalised`.
    penalised : bool
        True for the added norm.
    """

    norm: ModuleType
    radius: np.ndarray
    penalised: bool = False

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
            W[...] = self.norm.prox(W, self.radius[pair] * size)
        else:
            self.norm.project(W, self.radius[pair], out=W, **warm)

    def cost(self, W: np.ndarray, pair: int) -> float:
        """Term that is added to the losses."""
        return float(self.radius[pair] * np.sum(self.norm.norm(W))) if self.penalised else 0.0

    def warm_starts(self) -> list[dict[str, Any]]:
        """Options of `step` for each pair, by which each projection starts from the one before."""
        return [{"warm": self.norm.Warm()} if self.norm.WARM else {} for _ in self.radius]


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
        Relative duality gap of `value` and `bound`, see `relative_gap`. No optimum is further away.
    n_iter : int
        Number of iterations done.
    dual : list of arrays (n, n_pairs), one per part of the problem
        Dual variables of `bound`.
    """

    W: np.ndarray
    b: np.ndarray
    objective: np.ndarray
    value: np.ndarray
    bound: np.ndarray
    gap: np.ndarray
    n_iter: int
    dual: list[np.ndarray]


def lower_bound(problem: Problem, loss: ModuleType, regulariser: Regulariser, dual: list[np.ndarray]) -> np.ndarray:
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
    dual : list of arrays (n, n_pairs), one per part
        Dual variables. They are moved into the domain of `loss.dual_value` where rounding left them outside.

    Returns
    -------
    bound : array (n_pairs,), at least 0
    """
    V = np.zeros((problem.n_tasks, problem.n_features, dual[0].shape[1]))
    # In double precision, whatever X is. A dual step of size 0 leads into the domain.
    exact = [A.astype(np.float64) for A in dual]
    exact = [loss.dual_step(A, A, part.y, part.c, 0.0) for part, A in zip(problem.parts, exact, strict=True)]
    if problem.intercept:
        exact = balanced(problem, exact)
    for part, A in zip(problem.parts, exact, strict=True):
        V[part.task] += part.X.T @ A
    return bound_from(problem, loss, regulariser, exact, V)


def bound_from(
    problem: Problem, loss: ModuleType, regulariser: Regulariser, dual: list[np.ndarray], V: np.ndarray
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
    dual : list of arrays (n, n_pairs), one per part
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
        size = regulariser.norm.dual_norm(V[:, :, pair].T)  # one number, or one per task
        radius = regulariser.radius[pair]
        if regulariser.penalised:
            share[:, pair] = radius / np.maximum(np.maximum(size, radius), np.finfo(float).tiny)
        else:
            bounds[pair] -= np.sum(radius * size)
    for part, A in zip(problem.parts, dual, strict=True):
        bounds += loss.dual_value(A * share[part.task], part.y, part.c)
    return np.maximum(bounds, 0.0)  # 0 is the bound of dual variables that are all 0


def balanced(problem: Problem, dual: list[np.ndarray]) -> list[np.ndarray]:
    """Scale the larger of the positive and negative sums of each task's dual variables down to the other."""
    n_pairs = dual[0].shape[1]
    up, down = (np.zeros((problem.n_tasks, n_pairs)) for _ in range(2))
    for part, A in zip(problem.parts, dual, strict=True):
        up[part.task] += np.maximum(A, 0).sum(axis=0, dtype=np.float64)
        down[part.task] -= np.minimum(A, 0).sum(axis=0, dtype=np.float64)
    even, tiny = np.minimum(up, down), np.finfo(float).tiny
    shrink_up, shrink_down = even / np.maximum(up, tiny), even / np.maximum(down, tiny)
    return [
        np.where(A > 0, A * shrink_up[part.task], A * shrink_down[part.task])
        for part, A in zip(problem.parts, dual, strict=True)
    ]


def objective_of(
    problem: Problem, loss: ModuleType, regulariser: Regulariser, W: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Compute the objective of each pair in double precision, whatever X is.

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
    W_of = np.empty((problem.n_tasks, problem.n_features, len(W)))
    by_task(W, W_of)
    used = np.flatnonzero(W.any(axis=(0, 2)))
    for part in problem.parts:
        F = product(part.X, W_of[part.task], used) + b[:, part.task]
        value += loss.value(F, part.y, part.c)
    return value


def objective_at_zero(problem: Problem, loss: ModuleType) -> float:
    """Objective for W = 0, b = 0."""
    return float(sum(loss.value(np.zeros_like(part.y), part.y, part.c).sum() for part in problem.parts))


def relative_gap(objective: np.ndarray, bound: np.ndarray, at_zero: float) -> np.ndarray:
    """(objective - bound) / objective, or over a thousandth of the objective at W = 0, b = 0 if that is larger."""
    return np.maximum(objective - bound, 0.0) / np.maximum(np.maximum(objective, 1e-3 * at_zero), np.finfo(float).tiny)
