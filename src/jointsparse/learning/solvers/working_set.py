"""Iterations on the rows of W that matter, with a certificate over all rows.

They are those of `accelerated` for smooth losses, and of `pdhg` for the others.

A solution has few rows with weights. These can be told from the dual variables A: a row whose part in
||X^T A||_dual is below the largest has no weights at the optimum. So each round solves the problem on a working set of
rows, then computes X^T A for all rows. With that it proves a gap for the whole problem, and takes in the rows whose
part is too large. A norm for each task has a working set for each task. A norm without zeros has none, nor has one of
groups of features: the iterations are then on all rows.

Sources: docs/training.md, and for the lasso

- Johnson and Guestrin, Blitz: a principled meta-algorithm for scaling sparse optimization, 2015;
- Massias, Gramfort and Salmon, Celer: a fast solver for the lasso with dual extrapolation, 2018.
"""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import one_thread
from jointsparse.learning.certificate import (
    balanced,
    bound_from,
    lower_bound,
    objective_of,
    relative_gap,
    solve_at_zero,
)
from jointsparse.learning.fit import Fit, Trace, Watch
from jointsparse.learning.problem import Problem, stored
from jointsparse.learning.regulariser import Penalty, Regulariser, per_pair
from jointsparse.learning.solvers import accelerated, pdhg

TAKES: tuple[str, ...] = ()
STOPS_AT_TOL = True

FIRST_ROWS = 16  # size of the first working set, at least
NEAR_SHARE = 0.98  # of the largest part of a row inside: rows outside with a larger one come in
KEPT_SHARE = 0.9  # of the same: rows without weights and with a smaller part may leave
ROUND_SHARE = 0.3  # of the gap: a round ends where the gap on its rows is smaller
LAST_SHARE = 0.95  # of tol: likewise
SCALE_SAMPLES = 2000  # that the sizes of features are taken from
DENSE_SHARE = 0.5  # of the entries: if more are 0, features are not scaled
MOST_ROWS_OF_DESCENT = 2000  # as their Gram matrix is kept
FIRST_ROWS_OF_DESCENT = 1000  # at most: a Gram matrix costs less than another round
GROWTH_OF_DESCENT = 4  # rows that may come in, times those inside; with other solvers as many as are inside
SWEEPS_PER_LOOK = 3
SWEEPS_OF_TASKS = 5  # likewise; only the first of them sees weights of 0
TOGETHER = 10  # an entry of a product takes so much longer where tasks have working sets of their own
LEAST_SPREAD = 0.1  # standard deviation of the logarithms of features' sizes: if it is less, they are not scaled


class Round(NamedTuple):
    """Progress after a round.

    n_rows : int
        Rows in the working set; the most of any task if each task has its own.
    n_iter : int
        Iterations done in all rounds.
    gap : float
        Relative duality gap of the whole problem after the round.
    """

    n_rows: int
    n_iter: int
    gap: float


@one_thread()
def fit(
    problem: Problem,
    *,
    loss: ModuleType,
    norm: ModuleType,
    radius: np.ndarray,
    tol: float = 1e-3,
    n_iter: int = 1000,
    penalised: bool = False,
    weights: np.ndarray | None = None,
    positive: bool = False,
    groups: np.ndarray | None = None,
    start: Fit | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Minimise sum_k sum_i c_ik loss(f_ik, y_ik) subject to ||W|| <= radius, for one pair after the other.

    Parameters and results are those of `pdhg.fit`. An iteration costs as much as the rows in the working set.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        Plug-in of losses.
    norm : module
        Plug-in of norms.
    radius : array (n_pairs,) or (n_pairs, n_tasks), at least 0
        Radius of each pair, the paper's C. Norms with a ball for each task take one per task too.
    tol : float, at least 0
        Relative duality gap. A pair stops at the first round that proves it.
    n_iter : int
        Largest number of iterations of a pair.
    penalised : bool
        True to add radius * ||W|| to the losses instead.
    weights : array (n_features,) or (n_groups,), or None
        Weights of the features or groups in the norm, above 0. None means 1.
    positive : bool
        True to allow no weights W below 0.
    groups : int array (n_features,) or None
        The group of each feature, from 0 to n_groups - 1. The norm counts a group as one row. None: no groups.
    start : Fit or None
        Fit of the same problem to begin from instead of 0.
    watch : function or None
        See the room's docstring.

    Returns
    -------
    fit : Fit
    """
    pairs = per_pair(norm, radius, penalised, weights, positive, groups)
    if not norm.SPARSE or groups is not None:
        kind = run_class(loss)
        whole = problem if kind is pdhg.Run and problem.shares_X else problem.together()
        fits = pdhg.fit_pairs(kind, whole, loss, pairs, tol, n_iter, start, watch)
        return Fit.stack([fit._replace(dual=problem.arranged(fit.dual)) for fit in fits])
    search = _Search(problem, loss, pairs[0], tol, n_iter, watch)
    return Fit.stack([search.run(regulariser, start and start.of(pair)) for pair, regulariser in enumerate(pairs)])


def run_class(loss: ModuleType) -> Callable[..., Any]:
    """Return the class of the iterations for a loss: those of `accelerated` if it is smooth, else those of `pdhg`."""
    return accelerated.Run if np.inf > loss.CURVATURE else pdhg.Run


def scale_of(problem: Problem) -> np.ndarray | None:
    """Return factors of the features that make the solver faster, 1 on average, or None where they do not pay.

    Iterations slow down where features differ in size, as those of an SVD do. Factors of rms^(-1/2) take half of the
    difference away, and the norm weighs the scaled features accordingly. On sparse features, where the size says how
    many samples have the feature, this does not pay.
    """
    if problem.is_sparse:
        return None
    squares, n_samples, n_nonzeros = np.zeros(problem.n_features), 0, 0
    for X in stored(problem.X).values():  # tasks may share X, which is then counted once
        some = X[:: max(len(X) * len(problem.X) // SCALE_SAMPLES, 1)].astype(np.float64)
        squares += np.square(some).sum(axis=0)
        n_samples, n_nonzeros = n_samples + len(some), n_nonzeros + int(np.count_nonzero(some))
    rms = np.sqrt(squares / max(n_samples, 1))
    logarithms = np.log(rms[rms > 0])
    is_mostly_zero = n_nonzeros < DENSE_SHARE * n_samples * problem.n_features
    if is_mostly_zero or not len(logarithms) or np.std(logarithms) < LEAST_SPREAD:
        return None
    scale = np.ones_like(rms)
    scale[rms > 0] = np.exp(-0.5 * (logarithms - logarithms.mean()))
    return scale


class _Search:
    """The search for the optimum of one pair after the other. A pair is here a radius or a penalty alone.

    What all pairs have in common:

    problem : the tasks, each in parts of its own.
    whole : the same problem, in one part for all tasks together where that is possible. Its products are faster.
    b_zero, at_zero : the best intercepts and the objective for W = 0.
    per_task : True if each task has a working set of its own.
    is_dense : True if the tasks share dense samples.
    n_samples : samples of each task, (n_tasks,), if so.
    sweeps_rows : True if `_RowSweeps` solve the problem on few rows.
    sweeps_tasks : True if `_TaskSweeps` solve the whole problem, of tasks that share sparse features.
    scale : factors of the features, see `scale_of`.

    The state of the present pair, which `begin` sets:

    W, b, value : the best fit so far, W (n_features, n_tasks), and its objective.
    A, V, s : the last dual variables; X^T A of all rows, (n_tasks, n_features); each task's sum of A.
    bound, best_dual : the best lower bound of the objective, and its dual variables.
    inside : the working set, bool (n_features,), or (n_features, n_tasks) if `per_task`.
    now : the iterations on it, such as `_Steps`.
    """

    def __init__(
        self,
        problem: Problem,
        loss: ModuleType,
        regulariser: Regulariser,
        tol: float,
        n_iter: int,
        watch: Watch | None,
    ) -> None:
        self.loss, self.tol, self.n_iter, self.watch = loss, tol, n_iter, watch
        norm, penalised = regulariser.norm, isinstance(regulariser, Penalty)
        self.problem = problem.compact()
        self.whole = whole = self.problem.together()
        self.per_task = norm.PER_TASK and regulariser.weights is None
        shared = whole.shares_X
        self.is_dense, self.n_samples = shared and not whole.is_sparse, np.count_nonzero(whole.c, axis=0)
        alike = shared and bool((whole.c == whole.c[:, :1]).all())
        self.sweeps_rows = loss.QUADRATIC and norm.DESCENDS and penalised and not regulariser.positive and alike
        self.scale = scale_of(problem) if norm.WEIGHTED and not norm.PER_TASK and not self.sweeps_rows else None
        self.sweeps_tasks = loss.DESCENDS and norm.PER_TASK and penalised and whole.is_sparse and shared
        self.b_zero, self.at_zero = solve_at_zero(whole, loss)

    def begin(self, regulariser: Regulariser, start: Fit | None) -> None:
        """Begin a pair, from a fit or from W = 0."""
        self.regulariser, self.objective = regulariser, Trace()
        self.t, self.rounds, self.stopped = 0, list[Round](), False
        at = pdhg.begin(self.whole, self.loss, regulariser, start, self.b_zero)
        self.W, self.b = np.ascontiguousarray(at.W.T), at.b
        self.value = self.value_of(at.F, self.W)
        self.omega = None if start is None or start.omega is None else float(start.omega[0])
        self.bound, self.best_dual = -np.inf, at.A
        self.inside = np.zeros(self.W.shape if self.per_task else self.whole.n_features, dtype=bool)
        self.now: Any = None
        self.see(at.A)
        n_rows = self.whole.n_features // 16
        if self.sweeps_rows:  # rows that get weights in the first sweep if all are there
            n_rows = min(np.count_nonzero(self.row_duals > regulariser.strength), FIRST_ROWS_OF_DESCENT)
        self.first_rows = max(FIRST_ROWS, n_rows)

    def value_of(self, F: np.ndarray, W: np.ndarray) -> float:
        """Objective of W (n_features, n_tasks) with margins F."""
        return float(self.loss.value(F, self.whole.y, self.whole.c).sum()) + self.regulariser.cost(W)

    def see(self, A: np.ndarray) -> None:
        """Compute X^T A for all rows, what it proves, and each row's part in its dual norm."""
        whole = self.whole
        self.A = balanced(whole, A) if whole.intercept else A
        V = whole.transposed(self.A)
        self.V, self.s = V[:, :, 0], whole.per_task(self.A)[:, 0]
        bound = bound_from(whole, self.loss, [self.regulariser], self.A, V)[0]
        if bound > self.bound:
            self.bound, self.best_dual = bound, self.A
        gradient = self.regulariser.gradient(np.ascontiguousarray(self.V.T))
        self.row_duals = self.regulariser.norm.dual_rows(gradient, **self.regulariser.options)
        # Parts for each task but one working set for all: each row has its largest part, relative to the task's.
        if self.row_duals.ndim > self.inside.ndim:
            largest = self.row_duals.max(axis=0, initial=0.0)
            self.row_duals = (self.row_duals / np.where(largest > 0, largest, 1)).max(axis=1, initial=0.0)

    def gap(self) -> float:
        """Relative gap that is known so far."""
        return float(relative_gap(self.value, self.bound, self.at_zero))

    def certify(self) -> float:
        """Compute the objective of W and the bound again, in double precision, and return their gap."""
        whole, loss, regularisers = self.whole, self.loss, [self.regulariser]
        self.value = float(objective_of(whole, loss, regularisers, self.W[np.newaxis], self.b[np.newaxis])[0])
        self.bound = lower_bound(whole, loss, regularisers, self.best_dual)[0]
        return self.gap()

    def choose_rows(self) -> None:
        """Choose the working set; begin anew on it if it has changed.

        It holds the rows with weights, and those with parts near the largest. At first it holds the largest parts.
        """
        parts, used = self.row_duals, self.W != 0 if self.per_task else self.W.any(axis=1)
        growth = GROWTH_OF_DESCENT if self.sweeps_rows else 1
        size = np.maximum(growth * self.inside.sum(axis=0), self.first_rows)
        largest = np.max(parts, axis=0, where=self.inside, initial=0.0)
        stays = used | (self.inside & (parts > KEPT_SHARE * largest))
        outside = np.where(stays | self.inside | (parts <= NEAR_SHARE * largest), 0, parts)  # parts of rows to take in
        ranks = np.argsort(np.argsort(-outside, axis=0, kind="stable"), axis=0)
        new = (outside > 0) & (ranks < size)
        if self.now is None or new.any() or 2 * stays.sum() < self.inside.sum():
            self.inside = stays | new
            rows = self.rows()
            by_descent = self.sweeps_rows and len(rows) <= MOST_ROWS_OF_DESCENT
            self.now = (_RowSweeps if by_descent else _Steps)(self, rows)

    def rows(self) -> np.ndarray:
        """Rows of the working set: (n_rows,), or (n_rows, n_tasks) with -1 where a task has fewer.

        Tasks whose sets differ iterate on the rows of any of them where one product for all tasks costs less.
        """
        if self.inside.ndim == 1:
            return np.flatnonzero(self.inside)
        size, of_any = self.inside.sum(axis=0), np.flatnonzero(self.inside.any(axis=1))
        if self.is_dense and TOGETHER * (size @ self.n_samples) > len(of_any) * self.whole.c.size:
            return of_any
        order = np.argsort(~self.inside, axis=0, kind="stable")[: size.max()]
        return np.where(np.arange(len(order))[:, np.newaxis] < size, order, -1)

    def run(self, regulariser: Regulariser, start: Fit | None) -> Fit:
        """Do rounds for a pair until the gap is proven, or the iterations are used up."""
        self.begin(regulariser, start)
        working_tol = self.tol  # of the gap in X's precision
        self.objective.append((0, 0, self.value))
        if self.sweeps_tasks:
            self.inside[...], self.now = True, _TaskSweeps(self)
        while True:
            gap = self.gap()
            if gap <= working_tol:
                gap = self.certify()
                if gap <= self.tol:
                    self.watched(self.value, gap)
                    break
                working_tol /= 2  # single precision promised too much
            if self.t >= self.n_iter or self.watched(self.value, gap):
                self.certify()
                break
            if not self.sweeps_tasks:
                self.choose_rows()
            self.solve(max(ROUND_SHARE * gap, LAST_SHARE * working_tol))
            self.rounds.append(Round(int(self.inside.sum(axis=0).max()), self.t, self.gap()))
        if self.rounds:  # the certificate belongs to the last one
            self.rounds[-1] = self.rounds[-1]._replace(gap=self.gap())
        value, bound, gaps = (np.array([number]) for number in (self.value, self.bound, self.gap()))
        omega = np.array([1.0 if self.omega is None else self.omega])
        return Fit(
            W=self.W[np.newaxis],
            b=self.b[np.newaxis],
            objective=self.objective.until(self.t, 1),
            value=value,
            bound=bound,
            gap=gaps,
            n_iter=self.t,
            dual=self.problem.arranged(self.best_dual),
            omega=omega,
            rounds=[self.rounds],
        )

    def solve(self, tol: float) -> None:
        """Iterate on the working set to this gap, then see all rows."""
        done = False
        while not done:
            value_and_gap = self.now.go(self)
            if value_and_gap is not None:
                value, gap = value_and_gap
                done = self.watched(value, np.nan) or gap <= tol or self.t == self.n_iter
        self.W, self.b, self.value, A = self.now.found(self)
        self.see(A)

    def watched(self, value: float, gap: float) -> bool:
        """True if the search shall end. value, gap: objective, and certified gap of the whole problem, or NaN."""
        if self.watch and not self.stopped:
            self.stopped = bool(self.watch(self.t, value, gap))
        return self.stopped


# Iterations on a working set. `go` does one or some, counts them in search.t, and returns the objective and the gap on
# these rows, or None if it has not computed them. `found` returns W, b, their objective and the dual variables.


class _Steps:
    """Iterations of `accelerated` or `pdhg` on a working set, from the best W and the last dual variables.

    rows : of the working set, (n_rows,), or (n_rows, n_tasks) with -1 where a task has fewer.
    iterations : the `Run` of the loss's solver.
    best : the best W and dual variables on these rows, and the gap between them.
    """

    def __init__(self, search: _Search, rows: np.ndarray) -> None:
        # Tasks with working sets of their own no longer share features, so each needs parts of its own.
        regulariser, base = search.regulariser, search.whole if rows.ndim == 1 else search.problem
        # Features are multiplied by `scale`. So W is divided by it, V is multiplied by it, and the norm weighted by it.
        scale, dtype = None if search.scale is None else search.scale[rows], base.dtype
        small = base.restricted(rows, scale).together()
        weights = [factors for factors in (scale, regulariser.weights_of(rows)) if factors is not None]
        regulariser = replace(regulariser, weights=np.prod(weights, axis=0) if weights else None)
        # For -1, which is no row, row 0 is read; its copy is then set to 0.
        entries = np.maximum(rows, 0), (slice(None) if rows.ndim == 1 else np.arange(base.n_tasks))
        W, V = search.W[entries], search.V.T[entries]
        if scale is not None:
            W = (W * (1 / scale)[:, np.newaxis]).astype(dtype)
            V = (V * scale[:, np.newaxis]).astype(dtype)
        W[rows < 0] = V[rows < 0] = 0
        W, V = (np.ascontiguousarray(array.T) for array in (W, V))
        b, A = search.b.copy(), small.arranged(search.A).copy()
        at = pdhg.Point(W, b, V, search.s.copy(), A, pdhg.margins(small, W, b))
        self.rows, run = rows, run_class(search.loss)
        self.iterations = run(small, search.loss, regulariser, at, search.omega)
        self.best = pdhg.Proof(small, search.loss, regulariser, search.tol, search.at_zero, search.objective)
        self.best.look(search.t, self.iterations.first)

    def go(self, search: _Search) -> tuple[float, float] | None:
        search.t += 1
        is_look = search.t % pdhg.ITERATIONS_PER_LOOK == 0 or search.t == search.n_iter
        self.iterations.iterate(search.t, self.best if is_look else None)
        search.omega = self.iterations.omega
        return (self.best.smallest, self.best.gap()) if is_look else None

    def found(self, search: _Search) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        rows, W = self.rows, np.zeros_like(search.W)
        if rows.ndim == 1:
            W[rows] = self.best.W if search.scale is None else self.best.W * search.scale[rows, np.newaxis]
        else:
            inside, task = np.nonzero(rows >= 0)
            W[rows[inside, task], task] = self.best.W[inside, task]
        return W, self.best.b, self.best.smallest, search.whole.arranged(self.best.dual).copy()


class _RowSweeps:
    """Block coordinate descent on some rows of W, for the squared loss with a penalty and tasks that share samples.

    X and Y are here times the roots of the weights, and centred if there are intercepts. With Q = X^T Y: A and H are
    X^T X and (Q - X^T X W)^T, or with fewer samples than rows X^T and (Y - X W)^T, see `jointsparse.norms.rows`.
    """

    def __init__(self, search: _Search, rows: np.ndarray) -> None:
        whole, regulariser = search.whole, search.regulariser
        (X,) = whole.restricted(rows).X[:1]
        X = X.toarray() if sparse.issparse(X) else X
        self.X, self.rows, c = X.astype(np.float64, copy=False), rows, whole.c[:, :1]
        self.x_mean, self.y_mean = (
            (c * array).sum(axis=0) / (c.sum() or 1.0) if whole.intercept else np.zeros(array.shape[1])
            for array in (self.X, whole.y)
        )
        centred = self.X - self.x_mean if whole.intercept else self.X
        XT = np.multiply(centred.T, np.sqrt(c).T, order="C")
        Y = np.sqrt(c) * (whole.y - self.y_mean)
        self.regulariser = replace(regulariser, weights=regulariser.weights_of(rows))
        self.W, self.squares, self.Q = search.W[rows].astype(np.float64), float((Y * Y).sum()), XT @ Y
        self.by_samples = len(X) < len(rows)
        if self.by_samples:
            self.A, self.lengths = XT, np.einsum("ij,ij->i", XT, XT)
            H = Y.T - self.W.T @ XT
        else:
            self.A = XT @ XT.T  # a product with itself takes half the time
            H, self.lengths = (self.Q - self.A @ self.W).T, self.A.diagonal().copy()
        self.H = np.ascontiguousarray(H)
        self.penalties = self.regulariser.by_feature(len(rows))

    def go(self, search: _Search) -> tuple[float, float]:
        n_sweeps = min(SWEEPS_PER_LOOK, search.n_iter - search.t)
        search.t += n_sweeps
        self.regulariser.norm.descend(self.A, self.lengths, self.H, self.W, self.penalties, n_sweeps)
        V = self.A @ self.H.T if self.by_samples else self.H.T  # X^T (Y - X W)
        of_fit = float((self.W * self.Q).sum())
        losses = self.squares - of_fit - float((self.W * V).sum())  # twice
        value = 0.5 * losses + self.regulariser.cost(self.W)
        search.objective.append((search.t, 0, value))
        size = float(self.regulariser.norm.dual_norm(V, **self.regulariser.options))
        radius = float(self.regulariser.strength)
        share = radius / max(size, radius) if radius > 0 else 0.0
        bound = share * (self.squares - of_fit) - 0.5 * share**2 * losses
        return value, float(relative_gap(value, bound, search.at_zero))

    def found(self, search: _Search) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        whole, W = search.whole, np.zeros_like(search.W)
        W[self.rows] = self.W
        b = self.y_mean - self.x_mean @ self.W
        F = self.X @ self.W + b
        return W, b.astype(search.b.dtype), search.value_of(F, W), (whole.c * (whole.y - F)).astype(W.dtype)


class _TaskSweeps:
    """Sweeps over all weights of each task, by the loss's `descend`, for a penalty and sparse features."""

    def __init__(self, search: _Search) -> None:
        whole = search.whole
        self.X = whole.X[0].tocsc().astype(np.float64)
        self.y, self.c, self.W, self.b = (
            np.ascontiguousarray(of.T, dtype=np.float64) for of in (whole.y, whole.c, search.W, search.b)
        )
        self.F = np.ascontiguousarray((self.X @ self.W.T + self.b).T)
        self.A = np.empty_like(self.F)
        self.penalties = np.broadcast_to(search.regulariser.by_feature(whole.n_features), self.W.shape).copy()

    def go(self, search: _Search) -> tuple[float, float]:
        n_sweeps = min(SWEEPS_OF_TASKS, search.n_iter - search.t)
        search.t += n_sweeps
        options = search.regulariser.positive, search.whole.intercept, n_sweeps
        arrays = self.X.indptr, self.X.indices, self.X.data, self.y, self.c, self.F, self.A, self.W, self.b
        search.loss.descend(*arrays, self.penalties, *options)
        self.value = search.value_of(self.F.T, self.W.T)
        search.objective.append((search.t, 0, self.value))
        return self.value, 0.0  # all rows are looked at now

    def found(self, search: _Search) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        W, b, A = (np.ascontiguousarray(of.T, dtype=search.W.dtype) for of in (self.W, self.b, self.A))
        return W, b, self.value, A
