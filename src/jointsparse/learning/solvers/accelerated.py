"""Accelerated proximal gradient steps, for losses with a Lipschitz continuous derivative.

W <- P(Z - step * gradient(Z)), Z <- W + momentum (W - W_before), where P is the projection or the proximal step. The
step size adapts to the local curvature. For large margins the curvature of the logistic loss is far below its upper
bound, so the steps can be ten times longer than the bound allows. With intercepts the features are centred implicitly,
without a copy.

Sources:

- Beck and Teboulle, A fast iterative shrinkage-thresholding algorithm for linear inverse problems, 2009;
- O'Donoghue and Candès, Adaptive restart for accelerated gradient schemes, 2015.
"""

from types import ModuleType

import numpy as np

from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import Regulariser
from jointsparse.learning.solvers.pdhg import Centring, Point, Proof, inner_product, margins, spectral_bounds

# Factors by which the step size grows in each iteration, and shrinks if the step was too long.
GROWTH, SHRINKAGE = 1.1, 1.5


class Run:
    """Accelerated iterations, which can replace those of `pdhg.Run` if the CURVATURE of the loss is finite.

    at : Point
        The iterate.
    b : array (n_tasks,)
        Intercepts of the iterate, for the centred features.
    ahead : tuple
        Weights, intercepts and margins of the extrapolated point Z.
    centring : Centring
        The centring of the features.
    omega : float
        Step size.
    safe : float
        A step size that is short enough at every point, because of the CURVATURE of the loss.
    b_scale : array (n_tasks,)
        Factors of the step sizes of the intercepts.
    """

    ITERATIONS_PER_LOOK = 4  # the gap is computed in every fourth iteration, because many fits need fewer than ten

    def __init__(
        self, problem: Problem, loss: ModuleType, regulariser: Regulariser, at: Point, omega: float | None
    ) -> None:
        self.problem, self.loss, self.regulariser, self.at = problem, loss, regulariser, at
        self.warm, self.momentum, self.centring = regulariser.warm_start(), 1.0, Centring(problem)
        spectral = spectral_bounds(problem, self.centring.means)
        self.b_scale = spectral / self.centring.n
        curvature = loss.CURVATURE * float(problem.c.max(initial=0.0)) * float(spectral.max(initial=0.0))
        self.safe = 1 / (curvature or 1.0)
        self.omega = self.safe if omega is None else omega
        self.limit = 0.1 * float(np.finfo(problem.dtype).max)  # entries may become very large before the projection
        self.b = at.b + self.centring.shift(at.W)
        self.ahead = at.W, self.b, at.F

    def in_scale(self, b: np.ndarray, other: np.ndarray) -> float:
        """Return the inner product of two changes of the intercepts, divided by the factors of their step sizes."""
        return float((b / self.b_scale) @ other)

    def iterate(self, t: int, best: Proof | None) -> None:
        """Do iteration t. best: a record that is updated with the new iterate, or None."""
        problem, (Z, b_ahead, F_ahead) = self.problem, self.ahead
        slope = self.loss.subgradient(F_ahead, problem.y, problem.c)
        s = problem.per_task(slope)[:, 0] * problem.intercept
        gradient = self.centring.products(problem.transposed(slope)[..., 0], s)
        step = np.float64(max(GROWTH * self.omega, self.safe))  # so that products with it are in double precision
        while True:
            W = np.ascontiguousarray(np.clip(Z - step * gradient, -self.limit, self.limit).T, dtype=Z.dtype)
            self.regulariser.step(W, step, **self.warm)
            W = np.ascontiguousarray(W.T)
            b = (b_ahead - step * self.b_scale * s).astype(Z.dtype)
            b_original = b - self.centring.shift(W)
            F = margins(problem, W, b_original)
            slope_there = self.loss.subgradient(F, problem.y, problem.c)
            length = inner_product(W, Z, W, Z) + self.in_scale(b - b_ahead, b - b_ahead)
            # If this holds, the quadratic model of this step is an upper bound of a convex loss at W.
            if step <= self.safe or step * inner_product(slope_there, slope, F, F_ahead) <= length:
                break
            step = np.float64(max(step / SHRINKAGE, self.safe))
        self.omega = float(step)
        # Choice: restart as O'Donoghue and Candès do, when momentum and step have opposite directions.
        uphill = inner_product(Z, W, W, self.at.W) + self.in_scale(b_ahead - b, b - self.b) > 0
        momentum = 1.0 if uphill else (1 + np.sqrt(1 + 4 * self.momentum**2)) / 2
        share = Z.dtype.type(0.0 if uphill else (self.momentum - 1) / momentum)
        before, self.momentum = (self.at.W, self.b, self.at.F), momentum
        self.ahead = tuple(new + share * (new - old) for new, old in zip((W, b, F), before, strict=True))
        self.b, self.at = b, self.at._replace(W=W, b=b_original, A=-slope_there, F=F)
        if best is not None:
            V = self.at.V if problem.intercept else problem.transposed(self.at.A)[..., 0]
            best.look(t, self.at._replace(V=V))
