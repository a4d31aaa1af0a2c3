"""Primal-dual hybrid gradient (PDHG) with restarts.

PDHG needs fewer iterations than the subgradient method, needs no step size, and certifies a duality gap. Each iteration
computes W <- P(W + tau X^T A), and then takes a dual step of size sigma from A, at the margins X (2 W_new - W_old).

Sources:

- Chambolle and Pock, A first-order primal-dual algorithm, 2011;
- reflected Halpern iterations and restarts: Lu and Yang, Restarted Halpern PDHG for linear programming, 2024;
- the balance of the two step sizes: Applegate et al., Practical large-scale linear programming using primal-dual
  hybrid gradient (PDLP), 2021.

With intercepts the features are centred implicitly, without a copy: uncentred features would need many more iterations.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from jointsparse.compiled import njit
from jointsparse.learning.certificate import (
    balanced,
    bound_from,
    lower_bound,
    objective_of,
    relative_gap,
    solve_at_zero,
)
from jointsparse.learning.fit import Fit, Trace, Watch
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import Regulariser, per_pair
from jointsparse.threads import one_thread

TAKES: tuple[str, ...] = ()
STOPS_AT_TOL = True

LANCZOS_STEPS = 12
TINY = np.finfo(float).tiny


class Point(NamedTuple):
    """An iterate.

    W : array (n_tasks, n_features)
        Weights.
    b : array (n_tasks,)
        Intercepts.
    V : array (n_tasks, n_features)
        X^T A.
    s : array (n_tasks,)
        Sum of the dual variables of each task.
    A : array (n_samples, n_tasks of a part)
        Dual variables, in the shape of the problem's y.
    F : array (n_samples, n_tasks of a part)
        Margins.
    """

    W: np.ndarray
    b: np.ndarray
    V: np.ndarray
    s: np.ndarray
    A: np.ndarray
    F: np.ndarray


@njit
def reflect(at, new, first, share):  # type: ignore[no-untyped-def]
    """Replace `at` by share * (2 * new - at) + (1 - share) * first, in place. All arrays are (n,)."""
    for i in range(at.size):
        at[i] = share * (2 * new[i] - at[i]) + (1 - share) * first[i]


@njit
def add_products(new, at, other_new, other_at, sums):  # type: ignore[no-untyped-def]
    """Add the inner products of the columns of `new - at` and `other_new - other_at` to `sums`, (n_columns,)."""
    for i in range(at.shape[0]):
        for p in range(at.shape[1]):
            sums[p] += np.float64(new[i, p] - at[i, p]) * np.float64(other_new[i, p] - other_at[i, p])


def inner_product(new: np.ndarray, at: np.ndarray, other_new: np.ndarray, other_at: np.ndarray) -> float:
    """Compute the inner product of `new - at` and `other_new - other_at` in double precision, without temporary arrays.

    Parameters
    ----------
    new, at : arrays
        End and start of the first movement.
    other_new, other_at : arrays of the same shape
        End and start of the second movement.
    """
    total = np.zeros(1)
    add_products(*(array.reshape(-1, 1) for array in (new, at, other_new, other_at)), total)
    return float(total[0])


class Centring:
    """An implicit centring of the features, for problems with intercepts. Without intercepts it changes nothing.

    The iterations use features from which the means are subtracted, and the intercepts that belong to these features.
    A column of ones is orthogonal to centred features. An intercept counts as such a column, scaled to the length
    ||X_k||, which does not increase the norm of X_k.

    means : array (n_tasks, n_features)
        Means of the features over the samples of each task, or 0 without intercepts.
    n : array (n_tasks,)
        Numbers of samples of the tasks, at least 1. Samples of weight 0 do not count.
    """

    def __init__(self, problem: Problem) -> None:
        counted = (problem.c != 0).astype(problem.dtype)
        self.n = np.maximum(problem.per_task(counted, float)[:, 0], 1.0)
        self.intercept, self.means = problem.intercept, np.zeros((problem.n_tasks, problem.n_features), problem.dtype)
        if problem.intercept:
            self.means = (problem.transposed(counted)[..., 0] / self.n[:, np.newaxis]).astype(problem.dtype)

    def shift(self, W: np.ndarray) -> np.ndarray:
        """Return by how much the intercepts for centred features exceed those for the original features, (n_tasks,)."""
        return np.asarray((self.means * W).sum(axis=1))

    def products(self, V: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Convert V = X^T A for the original features to centred features. s: sums of A, (n_tasks,)."""
        return V - self.means * s[:, np.newaxis].astype(V.dtype) if self.intercept else V

    def centred(self, at: Point) -> Point:
        """Convert an iterate for the original features to one for the centred features."""
        return at._replace(b=at.b + self.shift(at.W), V=self.products(at.V, at.s)) if self.intercept else at

    def original(self, at: Point) -> Point:
        """Convert an iterate for the centred features to one for the original features, except for V.

        `Proof` computes V anew if there are intercepts.
        """
        return at._replace(b=at.b - self.shift(at.W)) if self.intercept else at


def spectral_bounds(problem: Problem, means: np.ndarray | None = None) -> np.ndarray:
    """Estimate an upper bound of ||X_k||^2 for each task, (n_tasks,).

    The bound is 5 % above the result of the Lanczos method, which is seldom too low by more than 1 %. means: the means,
    (n_tasks, n_features), that are first subtracted from the features, or None.
    """
    means = np.zeros((problem.n_tasks, problem.n_features), dtype=problem.dtype) if means is None else means
    if problem.y.shape[1] > 1 and problem.shares_X and problem.c.all():  # all tasks have the same samples
        alone = problem.changed(n_tasks=1, X=problem.X[:1], y=problem.y[:, :1].copy(), c=problem.c[:, :1].copy())
        return np.repeat(spectral_bounds(alone, means[:1]), problem.n_tasks)
    v = np.random.default_rng(0).normal(size=problem.n_features)
    v = np.tile(v / np.linalg.norm(v), (problem.n_tasks, 1)) if problem.n_features else np.zeros((problem.n_tasks, 0))
    before, beta = np.zeros_like(v), np.zeros(problem.n_tasks)
    T = np.zeros((problem.n_tasks, LANCZOS_STEPS, LANCZOS_STEPS))
    for j in range(LANCZOS_STEPS):
        V = v.astype(problem.dtype)
        # Rows of weight 0 are not part of the task.
        f = margins(problem, V, -(means * V).sum(axis=1)) * (problem.c != 0)
        w = problem.transposed(f)[:, :, 0].astype(float) - means * problem.per_task(f, float)
        T[:, j, j] = (w * v).sum(axis=1)
        w -= T[:, j, j, np.newaxis] * v + beta[:, np.newaxis] * before
        # Squares of the entries might overflow. Scaling by powers of two is exact.
        size = np.exp2(np.frexp(np.abs(w).max(axis=1, initial=0))[1])
        w /= size[:, np.newaxis]
        length = np.linalg.norm(w, axis=1)
        beta = size * length
        if j + 1 < LANCZOS_STEPS:
            T[:, j, j + 1] = T[:, j + 1, j] = beta
        before, v = v, w / np.maximum(length, TINY)[:, np.newaxis]
    largest = np.linalg.eigvalsh(T)[:, -1]
    return np.where(largest > 0, 1.05 * largest, 1.0)


def begin(problem: Problem, loss: ModuleType, regulariser: Regulariser, start: Fit | None, b_zero: np.ndarray) -> Point:
    """Return the first iterate: W = 0 with its dual variables, or the projected W and the dual variables of `start`.

    Parameters
    ----------
    problem : Problem
        The tasks.
    loss : module
        The loss module; see `learning.losses`.
    regulariser : Regulariser
        Constraint or penalty.
    start : Fit or None
        Fit of one pair (eta0, radius). If it belongs to a problem with other samples, only its W and b are used.
    b_zero : array (n_tasks,)
        The best intercepts for W = 0.

    Returns
    -------
    at : Point
    """
    W = np.zeros((problem.n_features, problem.n_tasks), dtype=problem.dtype)
    if start is not None:
        W[...] = start.W[0]
    regulariser.project(W)
    W = np.ascontiguousarray(W.T)
    b = ((b_zero if start is None else start.b[0]) * problem.intercept).astype(problem.dtype)
    F = margins(problem, W, b, np.flatnonzero(W.any(axis=0)))
    if start is None or start.dual.size != F.size:
        A = -loss.subgradient(F, problem.y, problem.c)
    else:
        A = problem.arranged(start.dual).astype(problem.dtype)
        # If sample weights have changed, the dual variables may be infeasible. A step of size 0 makes them feasible.
        A = loss.dual_step(A, F, problem.y, problem.c, 0.0)
    return Point(W, b, problem.transposed(A)[..., 0], problem.per_task(A)[:, 0], A, F)


def margins(problem: Problem, W: np.ndarray, b: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
    """Compute the margins of all samples.

    Parameters
    ----------
    problem : Problem
        The tasks.
    W : array (n_tasks, n_features)
        Weights.
    b : array (n_tasks,)
        Intercepts.
    used : int array or None
        Features whose weights are not all 0, or None for all features.

    Returns
    -------
    F : array (n_samples, n_tasks of a part)
        Margins in the shape of the problem's y.
    """
    return np.vstack([part.margins(W[..., np.newaxis], b[:, np.newaxis], used) for part in problem.parts])


def _first_balance(
    problem: Problem, regulariser: Regulariser, centring: Centring, at: Point, spectral: np.ndarray
) -> float:
    """Return the initial omega, from guesses of the distances of W and of the dual variables from the solution."""
    dual = 0.0
    for part in problem.parts:
        of_tasks = part.per_task(np.square(at.A[part.rows], dtype=np.float64).sum(axis=0))
        dual += float((spectral[part.tasks] @ of_tasks)[0])
    # The guess for W goes in the direction of V as far as the ball allows, but not beyond margins of 1.
    W = at.V.T.copy()
    largest = np.abs(W).max(initial=0)
    limit = float(np.finfo(problem.dtype).max)
    size = np.minimum(regulariser.beyond_edge(1e6), limit ** (1 / 4))  # avoids overflow
    W *= size / np.where(largest > size / limit, largest, 1)
    regulariser.project(W)
    W = np.ascontiguousarray(W.T)
    F = margins(problem, W, -centring.shift(W)) * (problem.c != 0)
    squares = sum(np.square(F[part.rows], dtype=np.float64).sum(axis=0).sum() for part in problem.parts)
    margin = np.sqrt(squares / max(np.count_nonzero(problem.c), 1))
    length = np.sqrt(np.square(W, dtype=np.float64).sum()) / max(margin, 1)
    return float(np.sqrt(dual) / length) if dual > 0 and length > 0 else 1.0


class Proof:
    """The best feasible W so far, the best dual variables so far, and the duality gap that they certify."""

    def __init__(
        self,
        problem: Problem,
        loss: ModuleType,
        regulariser: Regulariser,
        tol: float,
        at_zero: float,
        objective: Trace,
    ) -> None:
        self.problem, self.loss, self.regulariser, self.objective = problem, loss, regulariser, objective
        self.tol, self.wanted, self.at_zero = tol, float(tol), at_zero
        self.W = np.zeros((problem.n_features, problem.n_tasks), dtype=problem.dtype)
        self.b, self.smallest = np.zeros(problem.n_tasks, dtype=problem.dtype), np.inf
        self.dual, self.bound = np.zeros(problem.y.shape, dtype=problem.dtype), -np.inf

    def look(self, t: int, at: Point) -> None:
        """Keep the W of iteration t if it is the best so far, and its dual variables if they are the best so far."""
        problem = self.problem
        value = self.regulariser.cost(at.W.T) + float(self.loss.value(at.F, problem.y, problem.c).sum())
        self.objective.append((t, 0, value))
        if value < self.smallest:
            self.smallest, self.W, self.b = value, np.ascontiguousarray(at.W.T), at.b
        A, V = at.A, at.V[..., np.newaxis]
        if problem.intercept:
            A = balanced(problem, A)
            V = problem.transposed(A)
        bound = float(bound_from(problem, self.loss, [self.regulariser], A, V)[0])  # in the problem's precision
        if bound > self.bound:
            self.bound, self.dual = bound, at.A

    def gap(self) -> float:
        """Return the relative duality gap between the best W and the best dual variables."""
        return float(relative_gap(self.smallest, self.bound, self.at_zero))

    def is_proven(self) -> bool:
        """Return True if a gap of at most `tol` is proven in double precision."""
        if self.gap() > self.wanted:
            return False
        self.certify()
        proven = self.gap() <= self.tol
        if not proven:
            self.wanted /= 2  # the gap that was computed in single precision was too small
        return proven

    def certify(self) -> None:
        """Recompute the objective of the best W and the best lower bound in double precision."""
        W, b, regularisers = self.W[np.newaxis], self.b[np.newaxis], [self.regulariser]
        self.smallest = float(objective_of(self.problem, self.loss, regularisers, W, b)[0])
        self.bound = float(lower_bound(self.problem, self.loss, regularisers, self.dual)[0])


class Run:
    """PDHG iterations with restarts. The step sizes are tau = 1 / omega for W and sigma_k = omega / spectral_k for A.

    at : Point
        The iterate.
    first : Point
        The iterate at the last restart.
    since : int
        Number of iterations since the last restart.
    begun, previous : float
        Lengths of two movements: in the first iteration after the restart, and in the last iteration whose gap was
        computed.
    centring : Centring
        The centring of the features. The intercepts of `at` and `first` are those for centred features.
    omega : float
        Balance between the two step sizes.
    spectral : array (n_tasks,)
        Upper bounds of ||X_k||^2.
    b_scale : array (n_tasks,)
        Factors of the step sizes of the intercepts.
    """

    ITERATIONS_PER_LOOK = 10  # the gap is computed in every tenth iteration

    def __init__(
        self, problem: Problem, loss: ModuleType, regulariser: Regulariser, at: Point, omega: float | None
    ) -> None:
        self.problem, self.loss, self.regulariser, self.centring = problem, loss, regulariser, Centring(problem)
        self.first = at = self.centring.centred(at)
        self.at = Point(*(array.copy() for array in at))  # `move` changes these arrays in place
        spectral = spectral_bounds(problem, self.centring.means)
        if omega is None:
            omega = _first_balance(problem, regulariser, self.centring, at, spectral)
        self.omega = omega
        self.spectral, self.b_scale = spectral, spectral / self.centring.n
        self.warm = regulariser.warm_start()
        self.since, self.begun, self.previous = 0, 0.0, 0.0

    def iterate(self, t: int, best: Proof | None) -> None:
        """Do iteration t. best: a record that is updated with the new iterate, or None."""
        new = self.step()
        if t % self.ITERATIONS_PER_LOOK == 1 and self.since == 0:
            _, _, moved = self.movements(self.at, new)
            self.begun = self.previous = moved
        self.since += 1
        restarts = False
        if best is not None:
            best.look(t, self.centring.original(new))
            restarts = self.is_to_restart(t, new)
        if restarts:
            self.rebalance(new)
        self.move(new, restarts)

    def step(self) -> Point:
        """Compute the next point from the present iterate. X is read only once."""
        problem, at, tau = self.problem, self.at, 1 / self.omega
        W = np.ascontiguousarray((at.W + at.W.dtype.type(tau) * at.V).T)
        self.regulariser.step(W, tau, **self.warm)
        W, V, A, F = np.ascontiguousarray(W.T), np.empty_like(at.V), np.empty_like(at.A), np.empty_like(at.F)
        b = (at.b + self.b_scale * tau * at.s).astype(at.b.dtype) if problem.intercept else at.b
        b_original = b - self.centring.shift(W) if problem.intercept else b
        for part in problem.parts:
            F[part.rows] = of_part = part.margins(W[..., np.newaxis], b_original[:, np.newaxis])
            sigma = self.omega / self.spectral[part.tasks]
            self.loss.dual_steps(at.A[part.rows], 2 * of_part - at.F[part.rows], part.y, part.c, sigma, A[part.rows])
            part.add_transposed(A[part.rows], V[..., np.newaxis])
        s = problem.per_task(A)[:, 0] if problem.intercept else np.zeros_like(at.s)
        return Point(W, b, self.centring.products(V, s), s, A, F)

    def movements(self, at: Point, new: Point) -> tuple[float, float, float]:
        """Return three distances between `at` and `new`: of W and b, of A, and of the whole points in PDHG's metric."""
        primal, cross = inner_product(new.W, at.W, new.W, at.W), inner_product(new.W, at.W, new.V, at.V)
        if self.problem.intercept:
            primal += float((np.square(new.b - at.b, dtype=np.float64) / self.b_scale).sum())
            cross += inner_product(new.b, at.b, new.s, at.s)
        dual = 0.0
        for part in self.problem.parts:
            here, there, squares = at.A[part.rows], new.A[part.rows], np.zeros(at.A.shape[1])
            add_products(there, here, there, here, squares)
            dual += float((self.spectral[part.tasks] @ part.per_task(squares))[0])
        both = np.sqrt(max(self.omega * primal + dual / self.omega - 2 * cross, 0.0))
        return float(np.sqrt(primal)), float(np.sqrt(dual)), float(both)

    def is_to_restart(self, t: int, new: Point) -> bool:
        """Return True if the method should restart after iteration t."""
        # Choice: PDLP's rule for restarts, applied to the length of a step, and with 0.4 instead of 0.2. Values
        # from 0.2 to 0.6 are equally fast.
        _, _, moved = self.movements(self.at, new)
        stalled = moved <= 0.8 * self.begun and moved > self.previous
        self.previous = moved
        return moved <= 0.4 * self.begun or stalled or self.since >= 0.36 * t

    def rebalance(self, new: Point) -> None:
        """Adapt the balance of the step sizes to the distances that W and A have moved since the last restart."""
        W_moved, A_moved, _ = self.movements(self.first, new)
        # If W stays in a corner, it moves only by rounding errors, which say nothing about the balance.
        zero = np.zeros_like(new.W)  # the distance of W from zero is ||W||
        size = np.sqrt(inner_product(new.W, zero, new.W, zero))
        if W_moved > 100 * np.finfo(self.problem.dtype).eps * size:
            # The new omega is the geometric mean of the old one and of the ratio of the movements.
            square = self.omega * (A_moved / W_moved)
            self.omega = float(np.sqrt(square)) if square > 0 else self.omega

    def move(self, new: Point, restarts: bool) -> None:
        """Take a reflected Halpern step towards the new point, or move to the new point if the method restarts."""
        if restarts:
            self.at, self.first, self.since = Point(*(array.copy() for array in new)), new, 0
            return
        share = self.problem.dtype.type(self.since / (self.since + 1))
        for here, there, origin in zip(self.at, new, self.first, strict=True):
            reflect(here.reshape(-1), there.reshape(-1), origin.reshape(-1), share)


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

    Each iteration takes one product with X and one with its transpose, and reads X once. The start takes as long as
    about 14 iterations, and the final certificate takes as long as half an iteration. The objective is computed in
    every tenth iteration. The step sizes are derived from ||X_k|| and from the distances that W and the dual variables
    move.

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
        Relative duality gap at which the fit of a pair stops. The gap is checked in every tenth iteration.
    n_iter : int
        Maximum number of iterations.
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
    return Fit.stack(fit_pairs(Run, problem, loss, pairs, tol, n_iter, start, watch))


def fit_pairs(
    kind: Callable[..., Any],
    problem: Problem,
    loss: ModuleType,
    pairs: Sequence[Regulariser],
    tol: float,
    n_iter: int,
    start: Fit | None,
    watch: Watch | None,
) -> list[Fit]:
    """Fit one pair (eta0, radius) after another.

    Parameters
    ----------
    kind : class
        The class that does the iterations, such as `Run`.
    problem, loss, tol, n_iter, start, watch : as in `fit`
        See `fit`.
    pairs : sequence of Regulariser
        Constraint or penalty of each pair (eta0, radius).
    """
    whole = problem.together()  # a product for all tasks is up to twenty times as fast as products for each task
    b_zero, at_zero = solve_at_zero(whole, loss)
    fits = []
    for pair, regulariser in enumerate(pairs):
        at = begin(whole, loss, regulariser, start and start.of(pair), b_zero)
        best = Proof(whole, loss, regulariser, tol, at_zero, Trace())
        best.look(0, at)
        fit = _fit_pair(kind(whole, loss, regulariser, at, None), best, n_iter, watch)
        fits.append(fit._replace(dual=problem.arranged(fit.dual)))
    return fits


def _fit_pair(run: Any, best: Proof, n_iter: int, watch: Watch | None) -> Fit:
    """Fit one pair: iterate until the gap is certified, the watch ends the fit, or `n_iter` iterations are done."""
    for t in range(n_iter + 1):
        look = t % run.ITERATIONS_PER_LOOK == 0 or t == n_iter
        if t > 0:
            run.iterate(t, best if look else None)
        if look:
            proven = best.is_proven()
            if (watch and watch(t, best.smallest, best.gap())) or proven:
                break
    if not proven:
        best.certify()
    value, bound, gap = (np.array([number]) for number in (best.smallest, best.bound, best.gap()))
    return Fit(best.W[np.newaxis], best.b[np.newaxis], best.objective.until(t, 1), value, bound, gap, t, best.dual)
