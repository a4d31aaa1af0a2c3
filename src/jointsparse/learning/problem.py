"""What a solver solves: tasks, each with samples of its own, and the two products with their features.

minimise over W  sum_k sum_i c_ik loss(f_ik, y_ik),  f_k = X_k w_k + b_k,
subject to ||W|| <= radius, or with penalty * ||W|| added. Source: Quattoni et al. (2009), eq. 1 and 2.
"""

from collections.abc import Callable, Sequence
from functools import cache, wraps
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse
from threadpoolctl import ThreadpoolController

from jointsparse.checks import Misfit

# Products with few columns take twice as long where BLAS copies its operands first; OpenBLAS does not for this many
# multiplications or fewer. Between the two products with a part of X it should stay in the second-level cache.
SMALL_PRODUCT = 10**6
PART = 720_000  # bytes
# Where fewer than one in so many features have weights, gathering these takes less time than the whole product.
FEW = 25
# A task that lacks fewer than one in so many samples takes them along with weight 0, rather than a copy of the others.
LACKING = 10


class Part(NamedTuple):
    """Some samples of a task. X: (n, n_features), dense or CSR. y, c: (n, 1) float64, labels and weights of the losses.

    rows: where they are among the samples of all tasks.
    """

    task: int
    rows: slice
    X: Any
    y: np.ndarray
    c: np.ndarray


class Problem:
    """Tasks to be learnt together.

    X: per task (n_k, n_features), arrays of one floating dtype or CSR. y: per task (n_k,), labels -1 and +1 or numbers.
    weights: per task (n_k,), at least 0, of the losses; 1 by default, 0 leaves a sample out. normalisation: "sum"
    (Quattoni et al. 2009, sec. 6) or "mean", which divides each task's weights by their sum (sec. 5). intercept:
    whether b_k is free; else 0. A task keeps a copy of its rows, unless it lacks fewer than a tenth of them: then it
    shares X, and the absent samples keep their weight of 0. Raises ValueError where shapes do not fit, and for numbers
    that are not finite or so large that their products would not be.

    y, c: (n, 1), labels and weights of the samples of all tasks, one task after the other, in double precision
    whatever X is: objectives and bounds are computed from them.
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
        if normalisation not in ("sum", "mean"):
            raise ValueError(f"normalisation must be 'sum' or 'mean', got {normalisation!r}")
        self.n_tasks, self.n_features, self.dtype = len(X), X[0].shape[1], X[0].dtype
        self.intercept = intercept
        labels: list[np.ndarray] = []
        losses: list[np.ndarray] = []
        members: list[np.ndarray | None] = []  # None: the task shares X
        for k in range(self.n_tasks):
            c = np.ones(len(y[k])) if weights is None else np.asarray(weights[k], dtype=np.float64)
            if not X[k].shape[0] == len(y[k]) == len(c):
                raise ValueError(
                    f"task {k} must have a label and a weight for each of its {X[k].shape[0]} samples, "
                    f"got {len(y[k])}, {len(c)}"
                )
            members.append(None if shares(X[k], c) else np.flatnonzero(c))
            y_k = np.where(c == 0, 0, y[k])
            with np.errstate(over="ignore"):
                size = c * np.maximum(np.abs(y_k), 1)
            require_room(size, self.dtype, f"weights times labels of task {k}")
            if normalisation == "mean" and c.any():
                c = c / c[c != 0].sum()
            labels.append(y_k if members[k] is None else y_k[members[k]])
            losses.append(c if members[k] is None else c[members[k]])
        self.y, self.c = (np.concatenate(columns).astype(np.float64)[:, np.newaxis] for columns in (labels, losses))
        # One array for all copies: the system then maps it in large pages, and products take a few percent less time.
        copied = sum(
            len(rows) for rows, X_k in zip(members, X, strict=True) if rows is not None and not sparse.issparse(X_k)
        )
        copies = np.empty((copied, self.n_features), dtype=self.dtype)
        self.parts: list[Part] = []
        offset, shared = 0, None
        for k, rows in enumerate(members):
            X_k = X[k]
            if rows is None:
                X_k = X_k if sparse.issparse(X_k) else np.ascontiguousarray(X_k)
            elif sparse.issparse(X_k):
                X_k = X_k[rows]
            else:
                X_k, copies = np.take(X_k, rows, axis=0, out=copies[: len(rows)], mode="clip"), copies[len(rows) :]
            if rows is not None or X[k] is not shared:
                require_room(X_k, self.dtype, f"features of task {k}")
                shared = X[k] if rows is None else shared
            # Sparse parts would each add a whole dense V.
            height = max(PART // max(self.n_features * self.dtype.itemsize, 1), 32)
            height = X_k.shape[0] if sparse.issparse(X_k) else height
            # Parts of equal size, and at least one, so that every task is there.
            ends = np.linspace(0, X_k.shape[0], max(-(-X_k.shape[0] // max(height, 1)), 1) + 1).astype(int)
            for start, end in pairwise(ends):
                of_part = slice(offset + start, offset + end)
                X_part = X_k if end - start == X_k.shape[0] else X_k[start:end]  # a slice of CSR is a copy
                self.parts.append(Part(k, of_part, X_part, self.y[of_part], self.c[of_part]))
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
        """The tasks of one matrix of samples.

        X: (n_samples, n_features), dense or CSR. Y: (n_samples, n_tasks). weights: (n_samples, n_tasks), at least 0;
        by default 1 where Y is not 0. Samples of weight 0 are not part of that task.
        """
        if Y.ndim != 2 or len(Y) != X.shape[0]:
            raise Misfit(f"Y must be a matrix with a row for each of {X.shape[0]} samples, got shape {Y.shape}")
        if weights is None:
            weights = np.asarray(Y != 0, dtype=np.float64)
        tasks = [X if sparse.issparse(X) else np.ascontiguousarray(X)] * Y.shape[1]
        return cls(tasks, list(Y.T), list(weights.T), normalisation=normalisation, intercept=intercept)


def shares(X: Any, c: np.ndarray) -> bool:
    """Whether a task of weights c takes all rows of X: it lacks few, and these can be multiplied by 0."""
    absent = np.flatnonzero(c == 0)
    return LACKING * len(absent) < max(len(c), 1) and largest(X[absent]) <= room(X.dtype)


def room(dtype: np.dtype) -> float:
    """What features may be at most, and weights times labels.

    Solvers add up products of two of them in their own precision, and multiply four in double precision.
    """
    return 1e-6 * min(float(np.finfo(dtype).max) ** 0.5, float(np.finfo(float).max) ** 0.25)


def largest(X: Any) -> float:
    """The largest absolute value, 0 if there is none. NaN gives NaN."""
    entries = X.data if sparse.issparse(X) else X
    return max(float(entries.max(initial=0)), -float(entries.min(initial=0)))


def require_room(values: Any, dtype: np.dtype, name: str) -> None:
    if not largest(values) <= room(dtype):
        raise ValueError(
            f"{name} must be finite and at most {room(dtype):.1e} in {dtype}, got {largest(values):.3g}: scale them"
        )


def product(X: Any, W: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
    """X W for a W with few columns. X: (n, n_features). W: (n_features, n_pairs).

    used: the rows of W that are not 0, if known.
    """
    if used is not None and FEW * len(used) < len(W) and not sparse.issparse(X):
        return np.asarray(X[:, used] @ W[used])
    if sparse.issparse(X) or W.shape[1] == 1:
        return np.asarray(X @ W)
    width = small_width(X.shape[0], W.shape[1])
    F = X[:, :width] @ W[:width]
    for left in range(width, X.shape[1], width):
        F += X[:, left : left + width] @ W[left : left + width]
    return F


def add_transposed_product(X: Any, A: np.ndarray, V: np.ndarray, first: bool) -> None:
    """V += X^T A for an A with few columns; V = X^T A if it is the first. A: (n, n_pairs). V: (n_features, n_pairs)."""
    if sparse.issparse(X) or A.shape[1] == 1:
        V[...] = X.T @ A if first else V + X.T @ A
        return
    width = small_width(*A.shape)
    for left in range(0, X.shape[1], width):
        columns, part = X[:, left : left + width].T, V[left : left + width]
        if first:
            np.matmul(columns, A, out=part)
        else:
            part += columns @ A


def small_width(n: int, n_pairs: int) -> int:
    """How many columns of a part of n rows make a small product."""
    return max(SMALL_PRODUCT // max(n * n_pairs, 1), 8)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def in_one_thread(fit: Callable[..., "Fit"]) -> Callable[..., "Fit"]:
    """Let BLAS use one thread while a solver runs: same bits everywhere, and small products take longer in two."""

    @wraps(fit)
    def alone(*arguments: Any, **options: Any) -> "Fit":
        with _libraries().limit(limits=1, user_api="blas"):
            return fit(*arguments, **options)

    return alone


@njit(cache=True)
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
    """||W|| <= radius, or radius * ||W|| added where `penalised`. norm: a plug-in. radius: (n_pairs,)."""

    norm: ModuleType
    radius: np.ndarray
    penalised: bool = False

    def step(self, W: np.ndarray, pair: int, size: float, **warm: Any) -> None:
        """Project W (n_features, n_tasks), in place; where penalised, the proximal step of that size."""
        if self.penalised:
            W[...] = self.norm.prox(W, self.radius[pair] * size)
        else:
            self.norm.project(W, self.radius[pair], out=W, **warm)

    def cost(self, W: np.ndarray, pair: int) -> float:
        """What is added to the losses."""
        return float(self.radius[pair] * np.sum(self.norm.norm(W))) if self.penalised else 0.0


class Fit(NamedTuple):
    """What training found, for each of the pairs.

    W: (n_pairs, n_features, n_tasks), the iterate of smallest objective, and b: (n_pairs, n_tasks), its intercepts.
    objective: (n_pairs, n_iter + 1) at every iterate, NaN where it was not computed; from margins in X's precision.
    value: (n_pairs,), the objective of W and b in double precision. bound: (n_pairs,), no objective is smaller, in
    double precision too. gap: (n_pairs,), the relative duality gap of `value` and `bound`, see `relative_gap`: the
    solution is no further from the optimum. n_iter: iterations done. dual: per part of the problem (n, n_pairs), the
    dual variables of `bound`.
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
    """A number (n_pairs,) that no objective is smaller than, from any dual variables of the losses.

    dual: per part (n, n_pairs), moved into the domain of loss.dual_value where rounding left them outside. With
    V = X^T dual the bound is sum dual_value - radius ||V||_dual; where penalised, sum dual_value of the dual variables
    scaled down until ||V||_dual <= penalty. With intercepts only dual variables count that sum to 0 within each task:
    the larger side is scaled down first. Source: Fenchel's duality; see docs/training.md.
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
    """`lower_bound` of balanced dual variables for which V = X^T dual, (n_tasks, n_features, n_pairs), is known."""
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
    return np.maximum(bounds, 0.0)  # that of no dual variables at all


def balanced(problem: Problem, dual: list[np.ndarray]) -> list[np.ndarray]:
    """The dual variables with the larger of the positive and negative sums of each task scaled down to the other."""
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
    """The objective (n_pairs,) in double precision, whatever X is.

    W: (n_pairs, n_features, n_tasks). b: (n_pairs, n_tasks).
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
    """The objective for W = 0."""
    return float(sum(loss.value(np.zeros_like(part.y), part.y, part.c).sum() for part in problem.parts))


def relative_gap(objective: np.ndarray, bound: np.ndarray, at_zero: float) -> np.ndarray:
    """(objective - bound) / objective, but over a thousandth of the objective at W = 0, b = 0 where that is larger."""
    return np.maximum(objective - bound, 0.0) / np.maximum(np.maximum(objective, 1e-3 * at_zero), np.finfo(float).tiny)
