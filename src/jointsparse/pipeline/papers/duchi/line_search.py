"""Projected gradient with a line search in the l1 ball. `objective` explains how operations are counted.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi.objective import LOSS_FLOPS, PROJECTION_FLOPS, SLOPE_FLOPS, Objective, Tangent
from jointsparse.pipeline.papers.duchi.steps import Vector
from jointsparse.pipeline.papers.harness import State

# Choice: the paper gives no constants for the line search.
ARMIJO = 1e-4  # required decrease, as a fraction of the decrease predicted by the slope
SHORTEST_STEP = 2.0**-60  # relative to w; shorter steps are lost to rounding


def line_search(objective: Objective, radius: float, *, n_iter: int) -> Iterator[State]:
    """Minimise f(w) subject to ||w||_1 <= radius by projected gradient with backtracking along the projection arc.

    A step to w(s) = P(w - s gradient), where P projects onto the ball, is accepted if
    f(w(s)) <= f(w) - ARMIJO gradient . (w - w(s)). The first step begins with s = 1, and every later step with twice
    the last accepted s. Then s is halved until the step is accepted. The method stops early at an exact optimum, where
    w(s) = w, and when further descent is so small that it is lost to rounding.

    Parameters
    ----------
    objective : Objective
    radius : float, at least 0 and finite
    n_iter : int, at least 1
        Number of steps.

    References
    ----------
    Duchi et al. (2008), sec. 7; Bertsekas: On the Goldstein-Levitin-Polyak gradient projection method. IEEE
    Transactions on Automatic Control 21, 1976.
    """
    n, m, nnz = objective.n_features, objective.n_samples, objective.X.size
    gradient_flops = 2 * nnz + SLOPE_FLOPS[objective.loss] * m
    trial_flops = (2 + PROJECTION_FLOPS + 3) * n + 2 * nnz + LOSS_FLOPS[objective.loss] * m
    w, margins, s, flops = np.zeros(n), np.zeros(m), 0.5, 0
    for t in range(n_iter + 1):
        tangent = objective.tangent(w, margins=margins)
        yield State(t, w.copy, flops, tangent)
        accepted = _backtrack(objective, radius, tangent, 2 * s)
        if accepted is None:
            return
        w, margins, s = accepted.w, accepted.margins, accepted.s
        flops += gradient_flops + accepted.trials * trial_flops


class Accepted(NamedTuple):
    """An accepted step: the point w(s), its margins X w(s), the step size s, and the number of step sizes tried."""

    w: Vector
    margins: Vector
    s: float
    trials: int


def _backtrack(objective: Objective, radius: float, tangent: Tangent, s: float) -> Accepted | None:
    """Try steps of size s, s/2, ... and return the first step that is accepted.

    Return None if no step is accepted, or if the accepted step leaves w unchanged.
    """
    longest, size = (float(np.abs(numbers).max()) for numbers in (tangent.gradient, tangent.w))
    value, trials = objective.value(tangent.margins), 0
    while s * longest > SHORTEST_STEP * size:
        trials += 1
        moved = l1.project(tangent.w - s * tangent.gradient, radius)
        margins = np.asarray(objective.X @ moved)
        if objective.value(margins) <= value - ARMIJO * float(tangent.gradient @ (tangent.w - moved)):
            return None if np.array_equal(moved, tangent.w) else Accepted(moved, margins, s, trials)
        s *= 0.5
    return None
