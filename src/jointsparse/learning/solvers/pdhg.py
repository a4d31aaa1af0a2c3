"""Primal-dual hybrid gradient with restarts: fewer iterations than subgradients, no step size to choose, a proven gap.

W <- P(W + tau X^T A), A <- dual step of size sigma from A at the margins X (2 W_new - W_old), in turns.
Source: Chambolle and Pock, A first-order primal-dual algorithm, 2011; reflected Halpern iterations and restarts: Lu and
Yang, Restarted Halpern PDHG for linear programming, 2024; the balance of the two step sizes: Applegate et al.,
Practical large-scale linear programming using primal-dual hybrid gradient (PDLP), 2021.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from jointsparse.learning.problem import (
    Fit,
    Problem,
    Regulariser,
    add_transposed_product,
    balanced,
    bound_from,
    by_task,
    in_one_thread,
    lower_bound,
    objective_at_zero,
    objective_of,
    product,
    relative_gap,
)

TAKES: tuple[str, ...] = ()
STOPS_AT_TOL = True

CHECK = 10  # iterations between two looks at the gap
LANCZOS_STEPS = 12
INTERCEPT = 0.25  # a task's intercept is a column of X of this share of ||X_k||^2; shares from 0.1 to 0.5 are as good
TINY = np.finfo(float).tiny


class Point(NamedTuple):
    """Where the pairs are, in arrays whose last axis is the pairs.

    W, V = X^T A: (n_tasks, n_features, n_pairs). b, s: (n_tasks, n_pairs), intercepts and each task's sum of A.
    A, F: per part (n, n_pairs), dual variables and margins.
    """

    W: np.ndarray
    b: np.ndarray
    V: np.ndarray
    s: np.ndarray
    A: list[np.ndarray]
    F: list[np.ndarray]

    def arrays(self) -> list[np.ndarray]:
        return [self.W, self.b, self.V, self.s, *self.A, *self.F]

    def of(self, pairs: Any) -> "Point":
        """A copy, of these pairs only."""
        W, b, V, s = (np.array(array[..., pairs], order="C") for array in (self.W, self.b, self.V, self.s))
        A, F = ([np.array(array[:, pairs], order="C") for array in arrays] for arrays in (self.A, self.F))
        return Point(W, b, V, s, A, F)


class Metric(NamedTuple):
    """How long steps are. spectral: (n_tasks,), at least ||X_k||^2. b_scale: (n_tasks,), of the intercepts' steps.

    omega: (n_pairs,), the balance: tau = 1 / omega, sigma_k = omega / spectral_k.
    """

    spectral: np.ndarray
    b_scale: np.ndarray
    omega: np.ndarray


@njit(cache=True)
def ascend(W, V, tau, by_pair):  # type: ignore[no-untyped-def]
    """by_pair (n_pairs, n_features, n_tasks) = W + tau V, both (n_tasks, n_features, n_pairs)."""
    for i in range(W.shape[1]):
        for k in range(W.shape[0]):
            for p in range(W.shape[2]):
                by_pair[p, i, k] = W[k, i, p] + tau[p] * V[k, i, p]


@njit(cache=True)
def reflect(at, new, first, share):  # type: ignore[no-untyped-def]
    """at = share (2 new - at) + (1 - share) first; all (n, n_pairs)."""
    for i in range(at.shape[0]):
        for p in range(at.shape[1]):
            at[i, p] = share[p] * (2 * new[i, p] - at[i, p]) + (1 - share[p]) * first[i, p]


@njit(cache=True)
def add_products(new, at, other_new, other_at, sums):  # type: ignore[no-untyped-def]
    """sums (n_pairs,) += sum of (new - at) (other_new - other_at); all (n, n_pairs)."""
    for i in range(at.shape[0]):
        for p in range(at.shape[1]):
            sums[p] += np.float64(new[i, p] - at[i, p]) * np.float64(other_new[i, p] - other_at[i, p])


def flat(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, array.shape[-1])


def squared_distance(new: np.ndarray, at: np.ndarray) -> np.ndarray:
    sums = np.zeros(at.shape[-1])
    add_products(flat(new), flat(at), flat(new), flat(at), sums)
    return sums


def transposed(problem: Problem, A: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """V = X^T A and each task's sum of A."""
    V = np.zeros((problem.n_tasks, problem.n_features, A[0].shape[1]), dtype=problem.dtype)
    s = np.zeros((problem.n_tasks, A[0].shape[1]), dtype=problem.dtype)
    for part, of_part in zip(problem.parts, A, strict=True):
        add_transposed_product(part.X, of_part, V[part.task], first=False)
        s[part.task] += of_part.sum(axis=0)
    return V, s


def spectral_bounds(problem: Problem) -> np.ndarray:
    """||X_k||^2 for each task, 5 % above what Lanczos finds: (n_tasks,). Lanczos is seldom 1 % below."""
    v = np.random.default_rng(0).normal(size=problem.n_features)
    v = np.tile(v / np.linalg.norm(v), (problem.n_tasks, 1)) if problem.n_features else np.zeros((problem.n_tasks, 0))
    before, beta = np.zeros_like(v), np.zeros(problem.n_tasks)
    T = np.zeros((problem.n_tasks, LANCZOS_STEPS, LANCZOS_STEPS))
    for j in range(LANCZOS_STEPS):
        V = v[..., np.newaxis].astype(problem.dtype)
        # Rows of weight 0 are those of no sample.
        f = [product(part.X, V[part.task]) * (part.c != 0) for part in problem.parts]
        w = transposed(problem, f)[0][:, :, 0].astype(float)
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


def begin(problem: Problem, loss: ModuleType, regulariser: Regulariser, start: Fit | None) -> Point:
    """W = 0 and the dual variables that belong to it; or those of `start`, W projected."""
    n_pairs, n_tasks = len(regulariser.radius), problem.n_tasks
    W = np.zeros((n_tasks, problem.n_features, n_pairs), dtype=problem.dtype)
    b = np.zeros((n_tasks, n_pairs), dtype=problem.dtype)
    if start is not None:
        by_pair = np.zeros((n_pairs, problem.n_features, n_tasks), dtype=problem.dtype)
        by_pair[...] = start.W
        if problem.intercept:
            b[...] = start.b.T
        for pair in range(n_pairs) if not regulariser.penalised else ():
            regulariser.step(by_pair[pair], pair, 1.0)
        by_task(by_pair, W)
    F = [product(part.X, W[part.task]) + b[part.task] for part in problem.parts]
    if start is None:
        A = [-loss.subgradient(f, part.y, part.c) for f, part in zip(F, problem.parts, strict=True)]
    else:
        A = [np.array(np.broadcast_to(a, f.shape), dtype=problem.dtype) for a, f in zip(start.dual, F, strict=True)]
        # A step of size 0 leads into the domain, should the weights have changed.
        A = [loss.dual_step(a, f, part.y, part.c, 0.0) for a, f, part in zip(A, F, problem.parts, strict=True)]
    V, s = transposed(problem, A)
    return Point(W, b, V, s, A, F)


def first_metric(problem: Problem, regulariser: Regulariser, at: Point) -> Metric:
    """Steps balanced by a guess at how far the solution is: (n_pairs,) sizes of the dual variables and of W."""
    spectral = spectral_bounds(problem)
    n = np.zeros(problem.n_tasks)
    for part in problem.parts:
        n[part.task] += np.count_nonzero(part.c)
    b_scale = INTERCEPT * spectral / np.maximum(n, 1)
    dual = np.zeros(at.W.shape[2])
    for part, A in zip(problem.parts, at.A, strict=True):
        dual += spectral[part.task] * np.square(A, dtype=np.float64).sum(axis=0)
    # The size of W: as far towards V as the ball allows, but no further than margins of 1.
    W = at.V.transpose(2, 1, 0).copy()
    largest = np.abs(W).max(axis=(1, 2), keepdims=True, initial=0)
    W *= 1e6 / np.where(largest > 1e6 / np.finfo(problem.dtype).max, largest, 1)
    for pair in range(len(W)) if not regulariser.penalised else ():
        regulariser.step(W[pair], pair, 1.0)
    F = [product(part.X, np.ascontiguousarray(W[:, :, part.task].T)) * (part.c != 0) for part in problem.parts]
    margin = np.sqrt(sum(np.square(f, dtype=np.float64).sum(axis=0) for f in F) / max(n.sum(), 1))
    length = np.linalg.norm(W.reshape(len(W), -1).astype(float), axis=1)
    length /= np.where(margin > 1, margin, 1)
    omega = np.where((dual > 0) & (length > 0), np.sqrt(dual) / np.where(length > 0, length, 1), 1.0)
    return Metric(spectral * (1 + INTERCEPT if problem.intercept else 1.0), b_scale, omega)


def step(
    problem: Problem, loss: ModuleType, regulariser: Regulariser, metric: Metric, at: Point, warm: list[Any]
) -> tuple[Point, np.ndarray]:
    """The next point, and its W by pair: (n_pairs, n_features, n_tasks). Two products, and X is read once."""
    tau = 1 / metric.omega
    by_pair = np.empty((at.W.shape[2], *at.W.shape[1::-1]), dtype=problem.dtype)
    ascend(at.W, at.V, tau.astype(problem.dtype), by_pair)
    for pair, remembered in enumerate(warm):
        regulariser.step(by_pair[pair], pair, float(tau[pair]), **remembered)
    new = Point(np.empty_like(at.W), at.b.copy(), np.empty_like(at.V), np.zeros_like(at.s), [], [])
    by_task(by_pair, new.W)
    if problem.intercept:
        new.b[...] += metric.b_scale[:, np.newaxis] * tau * at.s
    previous = -1
    for part, A, F in zip(problem.parts, at.A, at.F, strict=True):
        k = part.task
        new.F.append(product(part.X, new.W[k]) + new.b[k])
        new.A.append(loss.dual_step(A, 2 * new.F[-1] - F, part.y, part.c, metric.omega / metric.spectral[k]))
        add_transposed_product(part.X, new.A[-1], new.V[k], first=k != previous)
        new.s[k] += new.A[-1].sum(axis=0)
        previous = k
    return new, by_pair


def movements(problem: Problem, metric: Metric, at: Point, new: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far the pairs moved: W with b, A, and both in the metric of the method; each (n_pairs,)."""
    primal, cross = squared_distance(new.W, at.W), np.zeros(at.W.shape[2])
    add_products(flat(new.W), flat(at.W), flat(new.V), flat(at.V), cross)
    if problem.intercept:
        primal += (np.square(new.b - at.b, dtype=np.float64) / metric.b_scale[:, np.newaxis]).sum(axis=0)
        add_products(new.b, at.b, new.s, at.s, cross)
    dual = np.zeros_like(primal)
    for part, A_new, A in zip(problem.parts, new.A, at.A, strict=True):
        dual += metric.spectral[part.task] * squared_distance(A_new, A)
    both = np.sqrt(np.maximum(metric.omega * primal + dual / metric.omega - 2 * cross, 0))
    return np.sqrt(primal), np.sqrt(dual), both


def quick_bounds(problem: Problem, loss: ModuleType, regulariser: Regulariser, at: Point) -> np.ndarray:
    """`lower_bound` without products where there is no intercept, and in the problem's precision."""
    A, V = at.A, at.V
    if problem.intercept:
        A = balanced(problem, A)
        V = transposed(problem, A)[0]
    return bound_from(problem, loss, regulariser, A, V)


class Best:
    """For every pair the best feasible W and dual variables so far, each for itself, and the gap between them."""

    def __init__(self, problem: Problem, loss: ModuleType, regulariser: Regulariser, n_iter: int) -> None:
        n_pairs = len(regulariser.radius)
        self.problem, self.loss, self.regulariser = problem, loss, regulariser
        self.W = np.zeros((n_pairs, problem.n_features, problem.n_tasks), dtype=problem.dtype)
        self.b = np.zeros((n_pairs, problem.n_tasks), dtype=problem.dtype)
        self.dual = [np.zeros((len(part.y), n_pairs), dtype=problem.dtype) for part in problem.parts]
        self.objective = np.full((n_pairs, n_iter + 1), np.nan)
        self.smallest, self.bound = np.full(n_pairs, np.inf), np.full(n_pairs, -np.inf)
        self.at_zero = objective_at_zero(problem, loss)

    def look(self, t: int, pairs: np.ndarray, at: Point, by_pair: np.ndarray) -> None:
        """Take what is better at iteration t. pairs: which ones `at` and by_pair hold."""
        regulariser = self.regulariser._replace(radius=self.regulariser.radius[pairs])
        value = np.array([regulariser.cost(W, pair) for pair, W in enumerate(by_pair)])
        for part, F in zip(self.problem.parts, at.F, strict=True):
            value += self.loss.value(F, part.y, part.c)
        self.objective[pairs, t] = value
        better = value < self.smallest[pairs]
        self.smallest[pairs[better]] = value[better]
        self.W[pairs[better]], self.b[pairs[better]] = by_pair[better], at.b.T[better]
        bound = quick_bounds(self.problem, self.loss, regulariser, at)
        better = bound > self.bound[pairs]
        self.bound[pairs[better]] = bound[better]
        for of_part, A in zip(self.dual, at.A, strict=True):
            of_part[:, pairs[better]] = A[:, better]

    def gap(self) -> np.ndarray:
        return relative_gap(self.smallest, self.bound, self.at_zero)

    def certify(self, pairs: np.ndarray) -> None:
        """Set the smallest objectives and the bounds of these pairs to those of double precision."""
        if len(pairs):
            regulariser = self.regulariser._replace(radius=self.regulariser.radius[pairs])
            found = self.W[pairs], self.b[pairs]
            self.smallest[pairs] = objective_of(self.problem, self.loss, regulariser, *found)
            dual = [of_part[:, pairs] for of_part in self.dual]
            self.bound[pairs] = lower_bound(self.problem, self.loss, regulariser, dual)


@in_one_thread
def fit(
    problem: Problem,
    *,
    loss: ModuleType,
    norm: ModuleType,
    radius: np.ndarray,
    tol: float = 1e-3,
    n_iter: int = 1000,
    penalised: bool = False,
    start: Fit | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Minimise sum_k sum_i c_ik loss(f_ik, y_ik) subject to ||W|| <= radius, for many pairs together.

    problem: the tasks. loss, norm: plug-ins. radius: (n_pairs,), the radii; penalised: add radius * ||W|| instead.
    The paper's C is called radius here, because scikit-learn's C means nearly the opposite. tol: at least 0; a pair
    stops at the first look, every tenth iteration, that proves a relative duality gap of tol or less. n_iter: at most
    so many iterations. start: a fit of the same problem to begin from instead of 0. progress: called with (iterations
    done, of all).

    Each iteration takes one product with X and one with its transpose, and reads X once; what comes before costs about
    as much as 14 such products of one pair, the final proof half of one. The objective is known at every tenth
    iteration. No step size is to be chosen: steps follow from ||X_k|| and from how far W and the dual variables move.
    """
    radius = np.atleast_1d(radius).astype(float)
    if not tol >= 0:
        raise ValueError(f"tol must be at least 0, got {tol}")
    regulariser = Regulariser(norm, radius, penalised)
    at = begin(problem, loss, regulariser, start)
    best = Best(problem, loss, regulariser, n_iter)
    pairs = np.arange(len(radius))
    best.look(0, pairs, at, np.ascontiguousarray(at.W.transpose(2, 1, 0)))
    metric = first_metric(problem, regulariser, at)
    warm = [{"warm": norm.Warm()} if norm.WARM else {} for _ in pairs]
    wanted = np.full(len(radius), float(tol))
    first, since = at.of(slice(None)), np.zeros(len(radius), dtype=int)
    begun, previous = np.zeros(len(radius)), np.zeros(len(radius))
    t = 0
    while True:
        if t % CHECK == 0 or t == n_iter:
            near = pairs[best.gap()[pairs] <= wanted[pairs]]
            best.certify(near)
            proven = best.gap() <= tol
            wanted[near[~proven[near]]] /= 2  # single precision promised too much
            keep = ~(np.isin(pairs, near) & proven[pairs])
            if not keep.all():
                pairs, at, first = pairs[keep], at.of(keep), first.of(keep)
                since, begun, previous = since[keep], begun[keep], previous[keep]
                warm = [remembered for remembered, kept in zip(warm, keep, strict=True) if kept]
                metric = metric._replace(omega=metric.omega[keep])
                regulariser = regulariser._replace(radius=regulariser.radius[keep])
        if progress:
            progress(t, n_iter)
        if t == n_iter or not len(pairs):
            break
        t += 1
        new, by_pair = step(problem, loss, regulariser, metric, at, warm)
        if t % CHECK == 1:
            moved = movements(problem, metric, at, new)[2]
            begun[since == 0] = previous[since == 0] = moved[since == 0]
        restart = np.zeros(len(pairs), dtype=bool)
        since += 1
        if t % CHECK == 0 or t == n_iter:
            best.look(t, pairs, new, by_pair)
            # Choice: PDLP's rule of restarts, by the length of a step and with 0.4 for 0.2; 0.2 to 0.6 take as long.
            moved = movements(problem, metric, at, new)[2]
            restart = (moved <= 0.4 * begun) | ((moved <= 0.8 * begun) & (moved > previous)) | (since >= 0.36 * t)
            previous = moved
        if restart.any():
            W_moved, A_moved, _ = movements(problem, metric, first, new)
            balance = np.where(W_moved > 0, A_moved / np.where(W_moved > 0, W_moved, 1), 0)
            change = restart & (balance > 0)
            metric.omega[change] = np.sqrt(metric.omega * balance)[change]
        share = (since / (since + 1)).astype(problem.dtype)
        for here, there, origin in zip(at.arrays(), new.arrays(), first.arrays(), strict=True):
            reflect(flat(here), flat(there), flat(origin), share)
            if restart.any():
                here[..., restart] = origin[..., restart] = there[..., restart]
        since[restart] = 0
    best.certify(pairs)
    return Fit(best.W, best.b, best.objective[:, : t + 1], best.smallest, best.bound, best.gap(), t, best.dual)
