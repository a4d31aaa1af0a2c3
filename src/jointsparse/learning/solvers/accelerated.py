"""Accelerated proximal gradient steps, for losses whose derivative is smooth.

W <- P(Z - step * gradient(Z)), Z <- W + momentum (W - W_before), where P is the projection or the proximal step. The
step size follows the curvature along the way. At large margins the logistic loss bends far less than its bound says,
so steps are ten times as long. With intercepts the features are centred, without a copy of them.

Sources:

- Beck and Teboulle, A fast iterative shrinkage-thresholding algorithm for linear inverse problems, 2009;
- O'Donoghue and Candès, Adaptive restart for accelerated gradient schemes, 2015.
"""

from types import ModuleType

import numpy as np

from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import Regulariser
from jointsparse.learning.solvers.pdhg import Point, Proof, inner_product, margins, spectral_bounds

GROWTH, SHRINKAGE = 1.1, 1.5  # of the step size, in each iteration and where it was too long


class Run:
    """Iterations in the place of those of `pdhg.Run`, for a loss whose CURVATURE is finite.

    at: the iterate. b: its intercepts for centred features. ahead: weights, intercepts and margins of Z. omega: the
    step size. safe: a step size that the loss's CURVATURE allows everywhere. means: (n_tasks, n_features), what
    centring takes off the features; 0 without intercepts. b_scale: (n_tasks,), factors of the intercepts' steps.
    """

    def __init__(
        self, problem: Problem, loss: ModuleType, regulariser: Regulariser, at: Point, omega: float | None
    ) -> None:
        self.problem, self.loss, self.regulariser, self.at, self.first = problem, loss, regulariser, at, at
        self.warm, self.momentum = regulariser.warm_start(), 1.0
        self.means = np.zeros_like(at.W)
        if problem.intercept:
            total = np.maximum(problem.per_task(problem.c), np.finfo(float).tiny)
            self.means = (problem.transposed(problem.c)[..., 0] / total).astype(problem.dtype)
        spectral = spectral_bounds(problem, self.means)
        n = np.maximum(problem.per_task((problem.c != 0).astype(float))[:, 0], 1.0)
        self.b_scale = spectral / n
        curvature = loss.CURVATURE * float(problem.c.max(initial=0.0)) * float(spectral.max(initial=0.0))
        # With intercepts the curvature is doubled: the column of ones, scaled by b_scale, adds as much as ||X_k||^2.
        self.safe = 1 / ((1 + problem.intercept) * curvature or 1.0)
        self.omega = self.safe if omega is None else omega
        self.limit = 0.1 * float(np.finfo(problem.dtype).max)  # before the projection a step may go far
        self.b = at.b + self.shift(at.W)
        self.ahead = at.W, self.b, at.F

    def shift(self, W: np.ndarray) -> np.ndarray:
        """What centring the features adds to the intercepts."""
        return np.asarray((self.means * W).sum(axis=1))

    def in_scale(self, b: np.ndarray, other: np.ndarray) -> float:
        """Inner product of changes of the intercepts, in units of the steps that they take."""
        return float((b / self.b_scale) @ other)

    def iterate(self, t: int, best: Proof | None) -> None:
        """Do iteration t. best: given at a look only."""
        problem, (Z, b_ahead, F_ahead) = self.problem, self.ahead
        slope = self.loss.subgradient(F_ahead, problem.y, problem.c)
        s = problem.per_task(slope)[:, 0] * problem.intercept
        gradient = problem.transposed(slope)[..., 0] - self.means * s[:, np.newaxis]
        step = np.float64(max(GROWTH * self.omega, self.safe))  # whose products are in double precision
        while True:
            W = np.ascontiguousarray(np.clip(Z - step * gradient, -self.limit, self.limit).T, dtype=Z.dtype)
            self.regulariser.step(W, step, **self.warm)
            W = np.ascontiguousarray(W.T)
            b = (b_ahead - step * self.b_scale * s).astype(Z.dtype)
            F = margins(problem, W, (b - self.shift(W)) * problem.intercept)
            slope_there = self.loss.subgradient(F, problem.y, problem.c)
            length = inner_product(W, Z, W, Z) + self.in_scale(b - b_ahead, b - b_ahead)
            # Convex losses then lie below the parabola of this step; exactly so if they are quadratic.
            if step <= self.safe or step * inner_product(slope_there, slope, F, F_ahead) <= length:
                break
            step = np.float64(max(step / SHRINKAGE, self.safe))
        self.omega = float(step)
        # Choice: the restart of O'Donoghue and Candès, where the momentum and the step point apart.
        uphill = inner_product(Z, W, W, self.at.W) + self.in_scale(b_ahead - b, b - self.b) > 0
        momentum = 1.0 if uphill else (1 + np.sqrt(1 + 4 * self.momentum**2)) / 2
        share = Z.dtype.type(0.0 if uphill else (self.momentum - 1) / momentum)
        before, self.momentum = (self.at.W, self.b, self.at.F), momentum
        self.ahead = tuple(new + share * (new - old) for new, old in zip((W, b, F), before, strict=True))
        self.b, self.at = b, self.at._replace(W=W, b=(b - self.shift(W)) * problem.intercept, A=-slope_there, F=F)
        if best is not None:
            V = self.at.V if problem.intercept else problem.transposed(self.at.A)[..., 0]
            best.look(t, self.at._replace(V=V))
