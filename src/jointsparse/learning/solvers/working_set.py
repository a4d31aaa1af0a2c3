"""Working set method: iterations on the rows of W that matter, with a certificate for all rows.

The iterations are those of `accelerated` for smooth losses, and of `pdhg` for other losses.

A solution has few non-zero rows, and the dual variables A identify them: a row whose contribution to ||X^T A||_dual is
smaller than the largest contribution is zero at the optimum. So each round first solves the problem on a working set of
rows. Then it computes X^T A for all rows, which gives a duality gap for the whole problem, and adds the rows whose
contribution is too large for a row of zeros. A norm that treats each task separately has a working set for each task.
For a norm without exact zeros, or for groups of features, there is no working set, and the iterations are on all rows.

Sources: docs/training.md, and, for the lasso:

- Johnson and Guestrin, Blitz: a principled meta-algorithm for scaling sparse optimization, 2015;
- Massias, Gramfort and Salmon, Celer: a fast solver for the lasso with dual extrapolation, 2018.
"""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

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
from jointsparse.threads import one_thread

TAKES: tuple[str, ...] = ()
STOPS_AT_TOL = True

FIRST_ROWS = 16  # smallest size of the first working set
# Rows outside the working set are added if their contribution exceeds NEAR_SHARE of the largest one inside. Zero rows
# inside may leave if their contribution is below KEPT_SHARE of the largest one.
NEAR_SHARE, KEPT_SHARE = 0.98, 0.9
# A round ends if the gap on its rows is below ROUND_SHARE of the gap of the whole problem, or below LAST_SHARE of tol.
ROUND_SHARE, LAST_SHARE = 0.3, 0.95
SCALE_SAMPLES = 2000  # number of samples from which the sizes of the features are estimated
DENSE_SHARE = 0.5  # features are not scaled if a smaller fraction of their entries is non-zero
CONSTANT = 1e-12  # a feature counts as constant if its variance is at most this fraction of its mean square
LEAST_SPREAD = 0.1  # features are not scaled if the logarithms of their sizes have a smaller standard deviation
MOST_ROWS_OF_DESCENT = 2000  # most rows for coordinate descent, because it stores their Gram matrix
# The first working set of descent on rows has at most this many rows, and at most one row in ROWS_PER_FIRST.
FIRST_ROWS_OF_DESCENT, ROWS_PER_FIRST = 1000, 8
GROWTH_OF_DESCENT = 8  # most rows added per round, relative to the working set; 1 for the other kinds of iterations
SWEEPS_PER_LOOK = 3  # number of sweeps of coordinate descent on rows before the gap is computed
SWEEPS_OF_TASKS = 4  # number of sweeps of coordinate descent on the weights of a task in a Newton step
MOST_COPIES = 2  # if each task has its own copies of features, they may have this many times as many entries as X
TOGETHER = 10  # if each task has its own working set, an entry of a product takes this many times as long


class Round(NamedTuple):
    """The state of a fit after a round.

    n_rows : int
        Number of rows in the working set. If each task has a working set of its own, the largest of these numbers.
    n_iter : int
        Number of iterations in all rounds so far.
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
    l2: float = 0.0,
    start: Fit | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Minimise sum_k sum_i c_ik loss(f_ik, y_ik) subject to ||W|| <= radius, for one radius after the other.

    Parameters and results are the same as those of `pdhg.fit`. The time of an iteration is proportional to the number
    of rows in the working set.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        The loss module; see `learning.losses`.
    norm : module
        The norm module; see `norms`.
    radius : array (n_pairs,) or (n_pairs, n_tasks), at least 0
        Radii, which the papers call C. Each radius is a pair (eta0, radius) without eta0. Norms with a ball for each
        task also accept one radius per task.
    tol : float, at least 0
        Relative duality gap at which the fit of a pair stops. The gap is checked after each round.
    n_iter : int
        Maximum number of iterations of a pair.
    penalised : bool
        Whether to add radius * ||W|| to the losses instead of bounding ||W||.
    weights : array (n_features,) or (n_groups,), or None
        Positive weights of the features or groups in the norm. None means 1.
    positive : bool
        Whether W must be non-negative.
    groups : int array (n_features,) or None
        The group of each feature, from 0 to n_groups - 1. The norm treats a group as one row. None means no groups.
    l2 : float, at least 0
        Factor of the ridge term l2 / 2 sum_jk W_jk^2, which is added to the losses.
    start : Fit or None
        Fit of the same problem for a warm start.
    watch : function or None
        See `jointsparse.learning.solvers`.

    Returns
    -------
    fit : Fit
    """
    pairs = per_pair(norm, radius, penalised, weights, positive, groups, l2)
    if not norm.SPARSE or groups is not None:
        return Fit.stack(pdhg.fit_pairs(run_class(loss), problem, loss, pairs, tol, n_iter, start, watch))
    search = _Search(problem, loss, pairs[0], tol, n_iter, watch)
    return Fit.stack([search.run(regulariser, start and start.of(pair)) for pair, regulariser in enumerate(pairs)])


def run_class(loss: ModuleType) -> Callable[..., Any]:
    """Return the class of the iterations for a loss: `accelerated.Run` if the loss is smooth, else `pdhg.Run`."""
    return accelerated.Run if np.inf > loss.CURVATURE else pdhg.Run


def scale_of(problem: Problem) -> np.ndarray | None:
    """Return factors for the features that make training faster, or None if no factors would help.

    Iterations are slow if the features differ in size, as the features of an SVD do. Multiplying each feature by
    size^(-1/2) halves the differences on a logarithmic scale; the weights of the features in the norm are adapted, so
    that the optimum stays the same. The size is the root mean square or, if there are intercepts, the standard
    deviation, because the iterations then centre the features. The geometric mean of the factors is 1. Factors do not
    help with sparse features, whose size depends mainly on the number of samples that have the feature.
    """
    if problem.is_sparse:
        return None
    squares, raw_squares, n_samples, n_nonzeros = np.zeros(problem.n_features), np.zeros(problem.n_features), 0, 0
    for X in stored(problem.X).values():  # an X that several tasks share counts once
        some = X[:: max(len(X) * len(problem.X) // SCALE_SAMPLES, 1)].astype(np.float64)
        n_samples, n_nonzeros = n_samples + len(some), n_nonzeros + int(np.count_nonzero(some))
        raw_squares += np.square(some).sum(axis=0)
        means = problem.intercept * some.sum(axis=0) / max(len(some), 1)
        squares += np.square(some - means).sum(axis=0)
    squares[squares <= CONSTANT * raw_squares] = 0  # a constant feature has only rounding errors here
    size = np.sqrt(squares / max(n_samples, 1))
    logarithms = np.log(size[size > 0])
    is_mostly_zero = n_nonzeros < DENSE_SHARE * n_samples * problem.n_features
    if is_mostly_zero or not len(logarithms) or np.std(logarithms) < LEAST_SPREAD:
        return None
    scale = np.ones_like(size)
    scale[size > 0] = np.exp(-0.5 * (logarithms - logarithms.mean()))
    return scale


class _Search:
    """The search for the optimum of one pair after another. Here a pair is a radius or a penalty, without a step size.

    Attributes that all pairs share:

    problem : the problem in which each task has parts of its own.
    whole : the same problem with all tasks in one part, if that is possible, because its products are faster.
    b_zero, at_zero : the best intercepts for W = 0, and the objective of W = 0 with these intercepts.
    per_task : True if each task has a working set of its own.
    is_dense : True if the tasks share dense samples.
    n_samples : number of samples of each task, (n_tasks,), if the tasks share samples.
    sweeps_rows : True if `_RowSweeps` solves the problem on the working set.
    sweeps_tasks : True if `_TaskSweeps` solves the whole problem, for tasks that share sparse features.
    scale : factors by which the features are multiplied; see `scale_of`.

    State of the current pair, which `begin` sets:

    W, b, value : weights (n_features, n_tasks) and intercepts of the best fit so far, and its objective.
    A, V, s : the last dual variables; X^T A for all rows, (n_tasks, n_features); and the sum of A for each task.
    bound, best_dual : the best lower bound of the optimum, and its dual variables.
    inside : the working set, bool (n_features,), or (n_features, n_tasks) if `per_task`.
    now : the iterations on the working set, such as `_Steps`.
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
        # With scaled features, the ridge term would have a factor for each feature.
        scales = norm.WEIGHTED and not norm.PER_TASK and not self.sweeps_rows and not regulariser.l2
        self.scale = scale_of(problem) if scales else None
        self.sweeps_tasks = loss.DESCENDS and norm.PER_TASK and penalised and whole.is_sparse and shared
        self.b_zero, self.at_zero = solve_at_zero(whole, loss)

    def begin(self, regulariser: Regulariser, start: Fit | None) -> None:
        """Begin the search for the optimum of one pair, from the fit `start` or from W = 0."""
        self.regulariser, self.objective = regulariser, Trace()
        self.t, self.rounds, self.stopped = 0, list[Round](), False
        at = pdhg.begin(self.whole, self.loss, regulariser, start, self.b_zero)
        self.W, self.b = np.ascontiguousarray(at.W.T), at.b
        self.value = self.value_of(at.F, self.W)
        self.omega = None if start is None or start.omega is None else float(start.omega[0])
        self.bound, self.best_dual = -np.inf, at.A
        self.inside = np.zeros(self.W.shape if self.per_task else self.whole.n_features, dtype=bool)
        self.now: Any = None
        self.see(at.A, at.V)
        n_rows = self.whole.n_features // 16
        if self.sweeps_rows:  # the rows that the first sweep over all rows would make non-zero
            n_violated = np.count_nonzero(self.row_duals > regulariser.strength)
            n_rows = min(n_violated, FIRST_ROWS_OF_DESCENT, self.whole.n_features // ROWS_PER_FIRST)
        self.first_rows = max(FIRST_ROWS, n_rows)

    def value_of(self, F: np.ndarray, W: np.ndarray) -> float:
        """Return the objective of W (n_features, n_tasks), given the margins F of W."""
        return float(self.loss.value(F, self.whole.y, self.whole.c).sum()) + self.regulariser.cost(W)

    def see(self, A: np.ndarray, V: np.ndarray | None = None) -> None:
        """Compute X^T A for all rows of W, the lower bound, and each row's contribution to the dual norm of X^T A.

        V: X^T A (n_tasks, n_features) if it has been computed, or None.
        """
        whole = self.whole
        if whole.intercept:
            A, V = balanced(whole, A), None
        self.A, self.s = A, whole.per_task(A)[:, 0]
        self.V = whole.transposed(A)[:, :, 0] if V is None else V
        bound = bound_from(whole, self.loss, [self.regulariser], A, self.V[:, :, np.newaxis])[0]
        if bound > self.bound:
            self.bound, self.best_dual = bound, self.A
        l2 = np.float64(self.regulariser.l2)  # so that the product is in double precision
        of_norm = self.V.T - l2 * self.W if l2 else self.V.T
        gradient = self.regulariser.gradient(np.ascontiguousarray(of_norm))
        self.row_duals = self.regulariser.norm.dual_rows(gradient, **self.regulariser.options)
        # If contributions are per task but the working set is common, a row counts with its largest contribution,
        # relative to the largest contribution in the task.
        if self.row_duals.ndim > self.inside.ndim:
            largest = self.row_duals.max(axis=0, initial=0.0)
            self.row_duals = (self.row_duals / np.where(largest > 0, largest, 1)).max(axis=1, initial=0.0)

    def gap(self) -> float:
        """Return the relative gap between the best objective and the best lower bound so far."""
        return float(relative_gap(self.value, self.bound, self.at_zero))

    def certify(self) -> float:
        """Compute the objective of W and its lower bound in double precision, and return the relative gap.

        The bound is already in double precision if the features are.
        """
        whole, loss, regularisers = self.whole, self.loss, [self.regulariser]
        self.value = float(objective_of(whole, loss, regularisers, self.W[np.newaxis], self.b[np.newaxis])[0])
        if whole.dtype != np.float64:
            self.bound = lower_bound(whole, loss, regularisers, self.best_dual)[0]
        return self.gap()

    def choose_rows(self) -> None:
        """Choose the working set, and start new iterations if it has changed.

        The working set consists of the non-zero rows and of the rows whose contribution is close to the largest one.
        The first working set consists of the rows with the largest contributions.
        """
        parts, used = self.row_duals, self.W != 0 if self.per_task else self.W.any(axis=1)
        growth = GROWTH_OF_DESCENT if self.sweeps_rows else 1
        size = np.maximum(growth * self.inside.sum(axis=0), self.first_rows)
        largest = np.max(parts, axis=0, where=self.inside, initial=0.0)
        stays = used | (self.inside & (parts > KEPT_SHARE * largest))
        outside = np.where(stays | self.inside | (parts <= NEAR_SHARE * largest), 0, parts)  # candidates for new rows
        ranks = np.argsort(np.argsort(-outside, axis=0, kind="stable"), axis=0)
        new = (outside > 0) & (ranks < size)
        if self.now is None or new.any() or 2 * stays.sum() < self.inside.sum():
            self.inside = stays | new
            rows = self.rows()
            self.now = None  # frees its copy of the features before the next one is made
            # Without a penalty, descent on rows certifies no gap.
            penalised = not self.regulariser.l2 or bool(np.all(self.regulariser.strength))
            by_descent = self.sweeps_rows and len(rows) <= MOST_ROWS_OF_DESCENT and penalised
            self.now = (_RowSweeps if by_descent else _Steps)(self, rows)

    def rows(self) -> np.ndarray:
        """Return the indices of the rows in the working set.

        The shape is (n_rows,), or (n_rows, n_tasks) if each task has a working set of its own; the columns of tasks
        with fewer rows are then filled with -1.

        If each task has a working set of its own, but a single product for all tasks is faster, or the copies of the
        features would need too much memory, the rows are the union of these sets.
        """
        if self.inside.ndim == 1:
            return np.flatnonzero(self.inside)
        size, of_any = self.inside.sum(axis=0), np.flatnonzero(self.inside.any(axis=1))
        if self.is_dense:
            n_copied, n_together = size @ self.n_samples, len(of_any) * self.whole.c.size
            if TOGETHER * n_copied > n_together or n_copied > MOST_COPIES * self.whole.X[0].size:
                return of_any
        order = np.argsort(~self.inside, axis=0, kind="stable")[: size.max()]
        return np.where(np.arange(len(order))[:, np.newaxis] < size, order, -1)

    def run(self, regulariser: Regulariser, start: Fit | None) -> Fit:
        """Fit one pair, in rounds, until a gap of at most `tol` is certified or `n_iter` iterations are done."""
        self.begin(regulariser, start)
        working_tol = self.tol  # tolerance for gaps in the precision of X
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
                working_tol /= 2  # the gap that was computed in single precision was too small
            if self.t >= self.n_iter or self.watched(self.value, gap):
                self.certify()
                break
            if not self.sweeps_tasks:
                self.choose_rows()
            self.solve(max(ROUND_SHARE * gap, LAST_SHARE * working_tol))
            self.rounds.append(Round(int(self.inside.sum(axis=0).max()), self.t, self.gap()))
        if self.rounds:  # the last round gets the certified gap
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
        """Iterate on the working set until the gap on its rows is at most `tol`, then compute X^T A for all rows."""
        done = False
        while not done:
            value_and_gap = self.now.go(self)
            if value_and_gap is not None:
                value, gap = value_and_gap
                done = self.watched(value, np.nan) or gap <= tol or self.t == self.n_iter
        self.W, self.b, self.value, A = self.now.found(self)
        self.see(A)

    def watched(self, value: float, gap: float) -> bool:
        """Call the watch, and return True if it has ended the search. gap: the gap of the whole problem, or NaN."""
        if self.watch and not self.stopped:
            self.stopped = bool(self.watch(self.t, value, gap))
        return self.stopped


# Iterations on a working set. `go` does one or more iterations, counts them in search.t, and returns the objective and
# the gap on the working set, or None if it has not computed them. `found` returns W, b, their objective and the dual
# variables.


class _Steps:
    """Iterations of `accelerated` or `pdhg` on a working set, which start from the best W and the last dual variables.

    rows : the rows in the working set, as returned by `_Search.rows`.
    iterations : `accelerated.Run` or `pdhg.Run`, depending on the loss.
    best : the best W and dual variables on these rows, and the gap between them.
    """

    def __init__(self, search: _Search, rows: np.ndarray) -> None:
        # Tasks with working sets of their own do not share features, so each of these tasks needs parts of its own.
        regulariser, base = search.regulariser, search.whole if rows.ndim == 1 else search.problem
        # Features are multiplied by `scale`, so W is divided by it, and V and the weights of the norm are multiplied.
        scale, dtype = None if search.scale is None else search.scale[rows], base.dtype
        small = base.restricted(rows, scale).together()
        weights = [factors for factors in (scale, regulariser.weights_of(rows)) if factors is not None]
        regulariser = replace(regulariser, weights=np.prod(weights, axis=0) if weights else None)
        # For -1, row 0 is copied, and the copy is then set to 0.
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
        self.best.look(search.t, at)

    def go(self, search: _Search) -> tuple[float, float] | None:
        search.t += 1
        is_look = search.t % self.iterations.ITERATIONS_PER_LOOK == 0 or search.t == search.n_iter
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

    Here X and Y are multiplied by the square roots of the sample weights, and centred if there are intercepts. With
    Q = X^T Y, A is X^T X and H is (Q - X^T X W)^T. If there are fewer samples than rows, A is X^T and H is (Y - X W)^T.
    See `jointsparse.norms.rows`. A ridge term is the squared loss of a further sample for each row, whose only feature
    is sqrt(l2) and whose labels are 0. These samples add l2 to the diagonal of X^T X.
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
        self.regulariser = replace(regulariser, weights=regulariser.weights_of(rows), l2=0.0)
        self.W, self.squares, self.Q = search.W[rows].astype(np.float64), float((Y * Y).sum()), XT @ Y
        self.by_samples = len(X) < len(rows) and not regulariser.l2
        if self.by_samples:
            self.A, self.lengths = XT, np.einsum("ij,ij->i", XT, XT)
            H = Y.T - self.W.T @ XT
        else:
            self.A = XT @ XT.T  # BLAS computes a product of this form in half the time
            self.A.flat[:: len(rows) + 1] += regulariser.l2
            H, self.lengths = (self.Q - self.A @ self.W).T, self.A.diagonal().copy()
        self.H = np.ascontiguousarray(H)
        self.penalties = self.regulariser.by_feature(len(rows))

    def go(self, search: _Search) -> tuple[float, float]:
        n_sweeps = min(SWEEPS_PER_LOOK, search.n_iter - search.t)
        search.t += n_sweeps
        self.regulariser.norm.descend(self.A, self.lengths, self.H, self.W, self.penalties, n_sweeps)
        V = self.A @ self.H.T if self.by_samples else self.H.T  # X^T (Y - X W)
        of_fit = float((self.W * self.Q).sum())
        losses = self.squares - of_fit - float((self.W * V).sum())  # twice the losses
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
    """Proximal Newton steps on the weights of each task, with the loss's `descend`, for a penalty and sparse features.

    A step changes the weights that are not 0, and those whose entry of X^T A is close to the penalty or above it.
    """

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
        options = search.regulariser.l2, search.regulariser.positive, search.whole.intercept, n_sweeps
        arrays = self.X.indptr, self.X.indices, self.X.data, self.y, self.c, self.F, self.A, self.W, self.b
        inside = (self.W != 0) | (np.abs(search.V) > NEAR_SHARE * self.penalties)
        search.loss.descend(*arrays, inside, self.penalties, *options)
        self.value = search.value_of(self.F.T, self.W.T)
        search.objective.append((search.t, 0, self.value))
        return self.value, 0.0  # so that the round ends, and the gap is computed from all rows

    def found(self, search: _Search) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        W, b, A = (np.ascontiguousarray(of.T, dtype=search.W.dtype) for of in (self.W, self.b, self.A))
        return W, b, self.value, A
