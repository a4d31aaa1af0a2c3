"""Primal-dual hybrid gradient with restarts: fewer iterations than subgradients, no step size to choose, a proven gap.

W <- P(W + tau X^T A), A <- dual step of size sigma from A at the margins X (2 W_new - W_old), in turns.

Sources:

- Chambolle and Pock, A first-order primal-dual algorithm, 2011;
- reflected Halpern iterations and restarts: Lu and Yang, Restarted Halpern PDHG for linear programming, 2024;
- the balance of the two step sizes: Applegate et al., Practical large-scale linear programming using primal-dual
  hybrid gradient (PDLP), 2021.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from jointsparse.checks import one_thread
from jointsparse.compiled import njit
from jointsparse.learning.certificate import (
    balanced,
    bound_from,
    lower_bound,
    objective_of,
    relative_gap,
    solve_at_zero,
)
from jointsparse.learning.fit import Best, Fit, Trace, Watch
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import Regulariser

TAKES: tuple[str, ...] = ()
STOPS_AT_TOL = True

ITERATIONS_PER_LOOK = 10  # the gap is computed every tenth iteration
LANCZOS_STEPS = 12
# A task's intercept is a column of X with this share of ||X_k||^2. Shares from 0.1 to 0.5 are as good.
INTERCEPT_SHARE = 0.25
TINY = np.finfo(float).tiny


class Point(NamedTuple):
    """Iterates of all pairs, in arrays whose last axis is the pairs.

    W : array (n_tasks, n_features, n_pairs)
        Weights.
    b : array (n_tasks, n_pairs)
        Intercepts.
    V : array (n_tasks, n_features, n_pairs)
        X^T A.
    s : array (n_tasks, n_pairs)
        Sum of each task's A.
    A : array (n_samples, n_tasks of a part * n_pairs)
        Dual variables.
    F : array (n_samples, n_tasks of a part * n_pairs)
        Margins.
    """

    W: np.ndarray
    b: np.ndarray
    V: np.ndarray
    s: np.ndarray
    A: np.ndarray
    F: np.ndarray

    def of(self, pairs: np.ndarray) -> "Point":
        """Copy these pairs, (n_pairs,) bool."""
        return Point(*(np.ascontiguousarray(array[..., _columns(pairs, array)]) for array in self))


@njit
def reflect(at, new, first, share):  # type: ignore[no-untyped-def]
    """at = share (2 new - at) + (1 - share) first; all (n, n_pairs)."""
    for i in range(at.shape[0]):
        for p in range(at.shape[1]):
            at[i, p] = share[p] * (2 * new[i, p] - at[i, p]) + (1 - share[p]) * first[i, p]


@njit
def add_products(new, at, other_new, other_at, sums):  # type: ignore[no-untyped-def]
    """sums (n_pairs,) += sum of (new - at) (other_new - other_at); all (n, n_pairs)."""
    for i in range(at.shape[0]):
        for p in range(at.shape[1]):
            sums[p] += np.float64(new[i, p] - at[i, p]) * np.float64(other_new[i, p] - other_at[i, p])


def _flat(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, array.shape[-1])


def _columns(of_pairs: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Values of the pairs, repeated for all columns of an array: see `Part`."""
    return np.tile(of_pairs, array.shape[-1] // max(len(of_pairs), 1))


def _squared_distance(new: np.ndarray, at: np.ndarray) -> np.ndarray:
    sums = np.zeros(at.shape[-1])
    add_products(_flat(new), _flat(at), _flat(new), _flat(at), sums)
    return sums


def spectral_bounds(problem: Problem) -> np.ndarray:
    """Estimate ||X_k||^2 of each task, (n_tasks,), 5 % above the result of Lanczos, which is seldom 1 % too low."""
    if problem.y.shape[1] > 1 and problem.c.all():  # all tasks have the same samples
        alone = problem.changed(n_tasks=1, X=problem.X[:1], y=problem.y[:, :1].copy(), c=problem.c[:, :1].copy())
        return np.repeat(spectral_bounds(alone), problem.n_tasks)
    v = np.random.default_rng(0).normal(size=problem.n_features)
    v = np.tile(v / np.linalg.norm(v), (problem.n_tasks, 1)) if problem.n_features else np.zeros((problem.n_tasks, 0))
    before, beta = np.zeros_like(v), np.zeros(problem.n_tasks)
    T = np.zeros((problem.n_tasks, LANCZOS_STEPS, LANCZOS_STEPS))
    nothing = np.zeros((problem.n_tasks, 1), dtype=problem.dtype)
    for j in range(LANCZOS_STEPS):
        V = v[..., np.newaxis].astype(problem.dtype)
        # Rows of weight 0 belong to no sample.
        f = np.vstack([part.margins(V, nothing) for part in problem.parts]) * (problem.c != 0)
        w = problem.transposed(f)[:, :, 0].astype(float)
        T[:, j, j] = (w * v).sum(axis=1)
        w -= T[:, j, j, np.newaxis] * v + beta[:, np.newaxis] * before
        # Squares of the entries may overflow; powers of two change no digit.
        size = np.exp2(np.frexp(np.abs(w).max(axis=1, initial=0))[1])
        w /= size[:, np.newaxis]
        length = np.linalg.norm(w, axis=1)
        beta = size * length
        if j + 1 < LANCZOS_STEPS:
            T[:, j, j + 1] = T[:, j + 1, j] = beta
        before, v = v, w / np.maximum(length, TINY)[:, np.newaxis]
    largest = np.linalg.eigvalsh(T)[:, -1]
    return np.where(largest > 0, 1.05 * largest, 1.0)


def project_all(regulariser: Regulariser, W: np.ndarray) -> None:
    """Project the W (n_pairs, n_features, n_tasks) of each pair, in place; nothing if penalised."""
    for pair in range(0 if regulariser.penalised else len(W)):
        regulariser.step(W[pair], pair, 1.0)


def begin(problem: Problem, loss: ModuleType, regulariser: Regulariser, start: Fit | None, b_zero: np.ndarray) -> Point:
    """Start from W = 0 and the dual variables that belong to it, or from those of `start`, W projected.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        Plug-in of losses.
    regulariser : Regulariser
        Constraint or penalty of each pair.
    start : Fit or None
        Fit of the same problem, or of one with other samples, of which W and b are taken.
    b_zero : array (n_tasks,)
        The best intercepts for W = 0.

    Returns
    -------
    at : Point
    """
    n_pairs = len(regulariser.radius)
    W_start, b_start = (np.zeros(1), b_zero) if start is None else (start.W, start.b)
    by_pair = np.empty((n_pairs, problem.n_features, problem.n_tasks), dtype=problem.dtype)
    by_pair[...] = W_start
    project_all(regulariser, by_pair)
    W = np.ascontiguousarray(by_pair.transpose(2, 1, 0))
    b = np.broadcast_to(b_start * problem.intercept, (n_pairs, problem.n_tasks)).T.astype(problem.dtype, order="C")
    used = np.flatnonzero(W.any(axis=(0, 2)))
    F = np.vstack([part.margins(W, b, used) for part in problem.parts])
    if start is None or start.dual.size not in (F.size, F.size // n_pairs):
        A = -loss.subgradient(F, problem.y, problem.c)
    else:
        A = np.array(np.broadcast_to(problem.arranged(start.dual), F.shape), dtype=problem.dtype)
        # A step of size 0 leads into the domain if the weights have changed.
        A = loss.dual_step(A, F, problem.y, problem.c, 0.0)
    return Point(W, b, problem.transposed(A), problem.per_task(A), A, F)


def _first_balance(
    problem: Problem, regulariser: Regulariser, at: Point, spectral: np.ndarray, n_samples: float
) -> np.ndarray:
    """Balance the steps by guesses at the solution's distance: the sizes of the dual variables and of W."""
    dual = np.zeros(at.W.shape[2])
    for part in problem.parts:
        dual += spectral[part.tasks] @ part.per_task(np.square(at.A[part.rows], dtype=np.float64).sum(axis=0))
    # The size of W: as far towards V as the ball allows, but no further than margins of 1.
    W = at.V.transpose(2, 1, 0).copy()
    largest = np.abs(W).max(axis=(1, 2), keepdims=True, initial=0)
    # A W that is much larger than the ball would project to rounding errors, and a smaller one not reach its edge.
    radius = np.asarray(regulariser.radius, dtype=float).reshape(len(W), 1, -1)  # of a pair, or of each of its tasks
    size = np.full_like(radius, 1e6) if regulariser.penalised else np.clip(1e6, radius, 1e12 * radius)
    limit = float(np.finfo(problem.dtype).max)
    size = np.minimum(size, limit ** (1 / 4))  # far from overflow
    W *= size / np.where(largest > size / limit, largest, 1)
    project_all(regulariser, W)
    W_of = np.ascontiguousarray(W.transpose(2, 1, 0))
    squares = np.zeros(len(W))
    for part in problem.parts:
        f = part.margins(W_of, np.zeros_like(at.b)) * np.repeat(part.c != 0, len(W), axis=1)
        squares += problem.per_pair(np.square(f, dtype=np.float64).sum(axis=0))
    margin = np.sqrt(squares / max(n_samples, 1))
    length = np.linalg.norm(W.reshape(len(W), -1).astype(float), axis=1)
    length /= np.where(margin > 1, margin, 1)
    return np.where((dual > 0) & (length > 0), np.sqrt(dual) / np.where(length > 0, length, 1), 1.0)


class Proof(Best):
    """Best feasible W and best dual variables of each pair so far, and the gap between them."""

    def __init__(
        self,
        problem: Problem,
        loss: ModuleType,
        regulariser: Regulariser,
        tol: float,
        at_zero: float,
        objective: Trace,
    ) -> None:
        n_pairs = len(regulariser.radius)
        super().__init__(problem, n_pairs, objective)
        self.problem, self.loss, self.regulariser = problem, loss, regulariser
        self.tol, self.wanted, self.at_zero = tol, np.full(n_pairs, float(tol)), at_zero
        self._dual = np.zeros((*problem.y.shape, n_pairs), dtype=problem.dtype)
        self.bound = np.full(n_pairs, -np.inf)

    def look(self, t: int, pairs: np.ndarray, at: Point, by_pair: np.ndarray) -> None:
        """Take the W and the dual variables that are better at iteration t.

        Parameters
        ----------
        t : int
            Iteration.
        pairs : array of int
            Pairs that `at` and `by_pair` hold.
        at : Point
            Their iterates.
        by_pair : array (n_pairs, n_features, n_tasks)
            Their W.
        """
        regulariser, problem = self.regulariser.of(pairs), self.problem
        value = np.array([regulariser.cost(W, pair) for pair, W in enumerate(by_pair)])
        value += problem.per_pair(self.loss.value(at.F, problem.y, problem.c))
        self.take(t, pairs, value, by_pair, at.b.T)
        A, V = at.A, at.V
        if problem.intercept:
            A = balanced(problem, A)
            V = problem.transposed(A)
        bound = bound_from(problem, self.loss, regulariser, A, V)  # in the problem's precision
        better = bound > self.bound[pairs]
        self.bound[pairs[better]] = bound[better]
        self._dual[..., pairs[better]] = at.A.reshape(*problem.y.shape, len(pairs))[..., better]

    def dual(self, pairs: Any = slice(None)) -> np.ndarray:
        """The best dual variables of these pairs, in columns."""
        found = self._dual[..., pairs]
        return found.reshape(len(found), found.shape[1] * found.shape[2])

    def gap(self) -> np.ndarray:
        """Relative gap of each pair."""
        return relative_gap(self.smallest, self.bound, self.at_zero)

    def proven(self, pairs: np.ndarray) -> np.ndarray:
        """Pairs among the given ones with a proven gap of at most `tol`, bool."""
        near = pairs[self.gap()[pairs] <= self.wanted[pairs]]
        self.certify(near)
        proven = self.gap() <= self.tol
        self.wanted[near[~proven[near]]] /= 2  # single precision promised too much
        return np.isin(pairs, near) & proven[pairs]

    def certify(self, pairs: np.ndarray) -> None:
        """Compute the smallest objectives and the bounds of these pairs again, in double precision."""
        if len(pairs):
            regulariser = self.regulariser.of(pairs)
            self.smallest[pairs] = objective_of(self.problem, self.loss, regulariser, self.W[pairs], self.b[pairs])
            self.bound[pairs] = lower_bound(self.problem, self.loss, regulariser, self.dual(pairs))


class Run:
    """Pairs that still iterate, with their step sizes tau = 1 / omega, sigma_k = omega / spectral_k, and restarts.

    index: (n_pairs,), their numbers. first: the point of the last restart. since: iterations done since then. begun,
    previous: movement in the first iteration after the restart and at the last look. omega: (n_pairs,), the balance of
    the two step sizes. spectral: (n_tasks,), upper bounds of ||X_k||^2. b_scale: (n_tasks,), factors of the intercepts'
    steps.
    """

    def __init__(
        self, problem: Problem, loss: ModuleType, regulariser: Regulariser, at: Point, omega: np.ndarray | None
    ) -> None:
        n_pairs = len(regulariser.radius)
        self.problem, self.loss, self.regulariser, self.index = problem, loss, regulariser, np.arange(n_pairs)
        self.at, self.first = at, at.of(np.ones(n_pairs, dtype=bool))
        spectral, n = spectral_bounds(problem), problem.per_task((problem.c != 0).astype(float))[:, 0]
        self.omega = _first_balance(problem, regulariser, at, spectral, n.sum()) if omega is None else omega
        self.b_scale = INTERCEPT_SHARE * spectral / np.maximum(n, 1)
        self.spectral = spectral * (1 + INTERCEPT_SHARE if problem.intercept else 1.0)
        self.warm = regulariser.warm_starts()
        self.since = np.zeros(n_pairs, dtype=int)
        self.begun, self.previous = np.zeros(n_pairs), np.zeros(n_pairs)

    def drop(self, done: np.ndarray) -> None:
        """Leave out the pairs that are done, (n_pairs,) bool."""
        if not done.any():
            return
        kept = ~done
        self.index, self.regulariser = self.index[kept], self.regulariser.of(kept)
        self.at, self.first = self.at.of(kept), self.first.of(kept)
        self.warm = [warm for warm, stays in zip(self.warm, kept, strict=True) if stays]
        self.omega, self.since, self.begun, self.previous = (
            array[kept] for array in (self.omega, self.since, self.begun, self.previous)
        )

    def iterate(self, t: int, best: Proof | None) -> None:
        """Do iteration t. best: given at a look only."""
        new, by_pair = self.step()
        if t % ITERATIONS_PER_LOOK == 1:
            moved = self.movements(self.at, new)[2]
            fresh = self.since == 0
            self.begun[fresh] = self.previous[fresh] = moved[fresh]
        self.since += 1
        restart = np.zeros(len(self.index), dtype=bool)
        if best is not None:
            best.look(t, self.index, new, by_pair)
            restart = self.to_restart(t, new)
        if restart.any():
            self.rebalance(restart, new)
        self.move(new, restart)

    def step(self) -> tuple[Point, np.ndarray]:
        """Take a step: the new point, and its W by pair, (n_pairs, n_features, n_tasks). X is read once."""
        problem, at, tau = self.problem, self.at, 1 / self.omega
        by_pair = np.ascontiguousarray((at.W + tau.astype(problem.dtype) * at.V).transpose(2, 1, 0))
        for pair, from_last in enumerate(self.warm):
            self.regulariser.step(by_pair[pair], pair, float(tau[pair]), **from_last)
        W, b, V, s, A, F = (np.empty_like(array) for array in at)
        W[...] = by_pair.transpose(2, 1, 0)
        b[...] = at.b + self.b_scale[:, np.newaxis] * tau * at.s if problem.intercept else at.b
        for part in problem.parts:
            F[part.rows] = margins = part.margins(W, b)
            sigma = (self.omega / self.spectral[part.tasks, np.newaxis]).reshape(-1)
            self.loss.dual_steps(at.A[part.rows], 2 * margins - at.F[part.rows], part.y, part.c, sigma, A[part.rows])
            part.add_transposed(A[part.rows], V)
        s[...] = problem.per_task(A) if problem.intercept else 0
        return Point(W, b, V, s, A, F), by_pair

    def movements(self, at: Point, new: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Movement of W and b, of A, and of all in the metric of the method, (n_pairs,) each."""
        primal, cross = _squared_distance(new.W, at.W), np.zeros(at.W.shape[2])
        add_products(_flat(new.W), _flat(at.W), _flat(new.V), _flat(at.V), cross)
        if self.problem.intercept:
            primal += (np.square(new.b - at.b, dtype=np.float64) / self.b_scale[:, np.newaxis]).sum(axis=0)
            add_products(new.b, at.b, new.s, at.s, cross)
        dual = np.zeros_like(primal)
        for part in self.problem.parts:
            dual += self.spectral[part.tasks] @ part.per_task(_squared_distance(new.A[part.rows], at.A[part.rows]))
        both = np.sqrt(np.maximum(self.omega * primal + dual / self.omega - 2 * cross, 0))
        return np.sqrt(primal), np.sqrt(dual), both

    def to_restart(self, t: int, new: Point) -> np.ndarray:
        """Pairs that restart at a look in iteration t, (n_pairs,) bool."""
        # Choice: PDLP's rule of restarts, by the length of a step and with 0.4 for 0.2; 0.2 to 0.6 take as long.
        moved = self.movements(self.at, new)[2]
        stalled = (moved <= 0.8 * self.begun) & (moved > self.previous)
        self.previous = moved
        return (moved <= 0.4 * self.begun) | stalled | (self.since >= 0.36 * t)

    def rebalance(self, restart: np.ndarray, new: Point) -> None:
        """Balance the step sizes of the pairs that restart by how far W and A moved."""
        W_moved, A_moved, _ = self.movements(self.first, new)
        # A W that stays in a corner moves by rounding, which says nothing of the balance.
        size = np.sqrt(_squared_distance(new.W, np.zeros_like(new.W)))
        moved = W_moved > 100 * np.finfo(self.problem.dtype).eps * size
        square = self.omega * np.where(moved, A_moved / np.where(moved, W_moved, 1), 0)
        change = restart & (square > 0)
        self.omega[change] = np.sqrt(square)[change]

    def move(self, new: Point, restart: np.ndarray) -> None:
        """Reflect the pairs at the new point, and set those that restart on it."""
        share = (self.since / (self.since + 1)).astype(self.problem.dtype)
        for here, there, origin in zip(self.at, new, self.first, strict=True):
            reflect(_flat(here), _flat(there), _flat(origin), _columns(share, here))
            if restart.any():
                columns = _columns(restart, here)
                here[..., columns] = origin[..., columns] = there[..., columns]
        self.since[restart] = 0


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
    """Minimise sum_k sum_i c_ik loss(f_ik, y_ik) subject to ||W|| <= radius, for many pairs together.

    Each iteration takes one product with X and one with its transpose, and reads X once. The start costs about as much
    as 14 such products of one pair, the final proof half of one. The objective is known at every tenth iteration. Step
    sizes follow from ||X_k|| and from how far W and the dual variables move.

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
        Relative duality gap. A pair stops at the first look, every tenth iteration, that proves it.
    n_iter : int
        Largest number of iterations.
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
    regulariser = Regulariser(norm, radius, penalised, weights, positive, groups)
    b_zero, at_zero = solve_at_zero(problem, loss)
    at = begin(problem, loss, regulariser, start, b_zero)
    best = Proof(problem, loss, regulariser, tol, at_zero, Trace())
    run = Run(problem, loss, regulariser, at, None)
    best.look(0, run.index, at, np.ascontiguousarray(at.W.transpose(2, 1, 0)))
    for t in range(n_iter + 1):
        look = t % ITERATIONS_PER_LOOK == 0 or t == n_iter
        if t > 0:
            run.iterate(t, best if look else None)
        if look:
            run.drop(best.proven(run.index))
            if (watch and watch(t, float(best.smallest.sum()), float(best.gap().max()))) or not len(run.index):
                break
    best.certify(run.index)
    return Fit(
        best.W, best.b, best.objective.until(t, len(best.W)), best.smallest, best.bound, best.gap(), t, best.dual()
    )
