"""An interior-point method for a loss with an l1 penalty and dense X. `objective` explains how operations are counted.

Source: Koh, Kim, Boyd: An interior-point method for large-scale l1-regularized logistic regression. JMLR 8, 2007.
"""

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from jointsparse.pipeline.papers.duchi.objective import CURVATURE_FLOPS, LOSS_FLOPS, SLOPE_FLOPS, Objective
from jointsparse.pipeline.papers.duchi.steps import Matrix, Vector
from jointsparse.pipeline.papers.harness import State

SHORTEST_STEP = 2.0**-60  # as a fraction of the Newton step; shorter steps are lost to rounding
# Paper (Koh et al. 2007, sec. 3.2): t is multiplied by T_GROWTH when a step is at least LONG_STEP long.
T_GROWTH, LONG_STEP = 2.0, 0.5
DECREASE = 0.01  # required decrease of the barrier function, as a fraction of the decrease predicted by the slope


def interior_point(objective: Objective, penalty: float, *, tol: float = 1e-8, n_iter: int = 200) -> Iterator[State]:
    """Minimise f(w) + penalty ||w||_1 by Newton's method on a barrier function.

    The barrier function is t (f(w) + penalty sum_i u_i) - sum_i log(u_i^2 - w_i^2), for increasing t. With
    p = 1 / (u + w) and q = 1 / (u - w), the change of u is eliminated from the Newton system. The remaining n
    equations

        (t X^T H X + 4 p^2 q^2 / (p^2 + q^2)) dw = -g_w + (p^2 - q^2) / (p^2 + q^2) g_u,

    are solved by a Cholesky decomposition. H is the diagonal matrix of the curvatures of the losses,
    g_w = t gradient - p + q, and g_u = t penalty - p - q.

    A step takes the following operations, for n features and m samples:

    - (2 LOSS_FLOPS + SLOPE_FLOPS + CURVATURE_FLOPS) m + 4 m n for the gradient, the curvatures, the gap and the margins
      of dw;
    - m n^2 + m n for X^T H X, which is half of the full product because of symmetry. For "squared", it is computed only
      in the first step;
    - n^3 / 3 + 2 n^2 for solving the equations, and 20 n for the rest;
    - (LOSS_FLOPS + 2) m + 10 n for each trial step length.

    Parameters
    ----------
    objective : Objective
    penalty : float, above 0
    tol : float, above 0
        Relative duality gap at which the method stops.
    n_iter : int, at least 1
        Largest number of steps.

    References
    ----------
    Koh, Kim, Boyd: An interior-point method for large-scale l1-regularized logistic regression. JMLR 8, 2007; Kim et
    al.: An interior-point method for large-scale l1-regularized least squares. IEEE JSTSP 1, 2007.
    """
    n, m, loss = objective.n_features, objective.n_samples, objective.loss
    loss_flops = (2 * LOSS_FLOPS[loss] + SLOPE_FLOPS[loss] + CURVATURE_FLOPS[loss]) * m
    step_flops = 4 * m * n + loss_flops + n**3 / 3 + 2 * n**2 + 20 * n
    w, u, margins, t, length = np.zeros(n), np.ones(n), np.zeros(m), 1 / penalty, 0.0
    gram, bound, flops = None, 0.0, 0.0
    for step in range(n_iter + 1):
        tangent = objective.tangent(w, margins=margins)
        value, tangent_bound = objective.certify_penalised(tangent, penalty)
        bound = max(bound, tangent_bound)
        yield State(step, w.copy, flops, tangent)
        if value - bound <= tol * value:
            return
        if length >= LONG_STEP:
            # Paper (Koh et al. 2007): the central point of t has the duality gap 2 n / t, so the central point of
            # t = 2 n / gap has the same gap as the current point.
            t = max(T_GROWTH * min(2 * n / (value - bound), t), t)
        if gram is None or loss != "squared":
            gram = _gram(objective, tangent.slopes)
            flops += m * n**2 + m * n
        dw, du, slope = _newton_direction(gram, tangent.gradient, w, u, t, penalty)
        moved = np.asarray(objective.X @ dw)
        length, trials = _step_length(objective, t, penalty, (w, u, margins), (dw, du, moved), slope)
        flops += step_flops + trials * ((LOSS_FLOPS[loss] + 2) * m + 10 * n)
        if not length:
            return
        w, u, margins = w + length * dw, u + length * du, margins + length * moved


def _gram(objective: Objective, slopes: Vector) -> Matrix:
    """Return X^T H X, where H is the diagonal matrix of curvatures, the weighted second derivatives of the losses."""
    share, c = np.abs(slopes), 1 / objective.n_samples
    curvatures = share * (1 - share / c) if objective.loss == "logistic" else np.full_like(share, c)
    scaled = objective.X * np.sqrt(curvatures)[:, None]
    return np.asarray(scaled.T @ scaled)


def _newton_direction(
    gram: Matrix, gradient: Vector, w: Vector, u: Vector, t: float, penalty: float
) -> tuple[Vector, Vector, float]:
    """Return the Newton step in w and in u, and the derivative of the barrier function along this step."""
    p, q = 1 / (u + w), 1 / (u - w)
    sums, differences = p**2 + q**2, p**2 - q**2
    g_w, g_u = t * gradient - p + q, t * penalty - p - q
    system = t * gram
    system.flat[:: len(w) + 1] += 4 * (p * q) ** 2 / sums
    factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    dw = linalg.cho_solve(factor, -g_w + differences / sums * g_u, check_finite=False)
    du = -(g_u + differences * dw) / sums
    return dw, du, float(g_w @ dw + g_u @ du)


def _step_length(
    objective: Objective,
    t: float,
    penalty: float,
    at: tuple[Vector, Vector, Vector],
    along: tuple[Vector, Vector, Vector],
    slope: float,
) -> tuple[float, int]:
    """Return a step length and the number of lengths tried.

    The length is the first of 1, 1/2, 1/4, ... at which |w| < u and the barrier function is low enough, or 0 if there
    is none.
    """

    def barrier(length: float) -> float:
        w, u, margins = (here + length * change for here, change in zip(at, along, strict=True))
        if not (np.abs(w) < u).all():
            return np.inf
        return t * (objective.value(margins) + penalty * float(u.sum())) - float(np.log((u + w) * (u - w)).sum())

    start, length, trials = barrier(0.0), 1.0, 1
    while not barrier(length) <= start + DECREASE * length * slope:
        length, trials = 0.5 * length, trials + 1
        if length <= SHORTEST_STEP:
            return 0.0, trials
    return length, trials
