"""Projected and exponentiated gradient in the l1 ball, from w = 0. `objective` explains how operations are counted.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from jointsparse.checks import require
from jointsparse.learning.lazy import LARGEST_STEP_SUM, Lazy, Rows, csr
from jointsparse.learning.problem import magnitude
from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi.entropic import Entropic, Method, SparseEntropic, step_sizes
from jointsparse.pipeline.papers.duchi.objective import PROJECTION_FLOPS, SLOPE_FLOPS, Objective, Tangent
from jointsparse.pipeline.papers.duchi.steps import (
    Projected,
    RowNumbers,
    Vector,
    dense_steps,
    take_step,
)
from jointsparse.pipeline.papers.harness import State

ENTROPIC_FLOPS = 15  # for each of two logarithms: step, subtract maximum, exp, sum, scale; then a subtraction
LAZY_PROJECTION_FLOPS = 12  # removal from a heap or tree and insertion, six operations per level each
LAZY_ENTROPIC_FLOPS = 22  # for each of two logarithms: step, exp before and after, compensated sum


def descend(
    objective: Objective,
    radius: float,
    *,
    eta0: float,
    n_iter: int,
    method: Method = "projection",
    schedule: str = "1/sqrt(t)",
    batches: Sequence[RowNumbers] | None = None,
    lazy: bool = False,
) -> Iterator[State]:
    """Minimise f(w) subject to ||w||_1 <= radius by steps along the gradient over all samples, or over a few of them.

    The gradient over a few samples is scaled so that it estimates the full gradient. If these samples have k stored
    entries in total, computing the gradient takes 4 k + SLOPE_FLOPS batch_size operations. The operations of the method
    are added to these.

    Parameters
    ----------
    objective : Objective
    radius : float, at least 0 and finite
        The paper's z.
    eta0 : float, above 0
        First step size.
    n_iter : int, at least 1
        Number of steps.
    method : "projection" or "entropic"
        "projection" is projected gradient, w <- P(w - eta_t gradient). "entropic" is exponentiated gradient.
    schedule : str
        Schedule of the step sizes; see `entropic.step_sizes`.
    batches : sequence of int arrays, optional
        Row numbers of the samples that each step uses; see `steps.draw_batches`. By default, every step uses all
        samples.
    lazy : bool
        Whether a step changes only the weights of the features that occur in its samples. This has no effect if X is
        dense or all samples are used. With many samples per step, dense steps are faster.

    Raises
    ------
    Diverged
        If a step overflows.

    References
    ----------
    Duchi et al. (2008), sec. 7, eq. 2 and 13.
    """
    n = objective.n_features
    etas = step_sizes(schedule, eta0=eta0, n=n, n_iter=n_iter, method=method)
    if lazy and batches and sparse.issparse(objective.X):
        lazy_point = LazyEntropic(n, radius) if method == "entropic" else LazyProjected(n, radius)
        return lazy_steps(objective, lazy_point, etas, batches)
    point = Entropic(n, radius) if method == "entropic" else Projected(np.zeros(n), radius, l1.project)
    point_flops = (ENTROPIC_FLOPS if method == "entropic" else 2 + PROJECTION_FLOPS) * n

    def step_flops(tangent: Tangent) -> float:
        return 4 * tangent.n_entries + SLOPE_FLOPS[objective.loss] * len(tangent.slopes) + point_flops

    return dense_steps(objective, point, etas, batches, step_flops)


class LazyProjected(Lazy):
    """A point in the l1 ball, moved by projected steps that touch only the features of their samples."""

    def __init__(self, n: int, radius: float) -> None:
        super().__init__(n, 1, "l1", radius)
        self.entry_flops = LAZY_PROJECTION_FLOPS * math.log2(n + 1)

    def move(self, X: Rows, slopes: Vector, eta: float) -> None:
        require(eta * np.abs(slopes).sum() * magnitude(X.entries()) < LARGEST_STEP_SUM, "the step overflows")
        self.step(X, -eta * slopes[:, None])

    def toarray(self) -> Vector:
        return self.last().ravel()


class LazyEntropic(SparseEntropic):
    """A point in the l1 ball, moved by exponentiated gradient steps that touch only the features of their samples."""

    entry_flops = LAZY_ENTROPIC_FLOPS

    def margins(self, X: Rows) -> Vector:
        sample = np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr))
        return np.bincount(sample, self.take(X.indices) * X.data, minlength=len(X.indptr) - 1).astype(np.float64)

    def move(self, X: Rows, slopes: Vector, eta: float) -> None:
        self.step(X.indices, np.repeat(slopes, np.diff(X.indptr)) * X.data, eta)


def lazy_steps(
    objective: Objective, point: LazyProjected | LazyEntropic, etas: Vector, batches: Sequence[RowNumbers]
) -> Iterator[State]:
    """In each step, move only the weights of the features that occur in the step's samples. X must be sparse.

    Parameters
    ----------
    objective : Objective
    point : LazyProjected or LazyEntropic
        The weights.
    etas : array (n_iter,)
        Step sizes.
    batches : sequence of int arrays
        Row numbers of the samples of each step.
    """
    rows, flops = csr(objective.X), 0.0
    for t, eta in enumerate(etas):
        yield State(t, point.toarray, flops)
        X = rows.take(batches[t])
        slopes = objective.slopes(point.margins(X).ravel(), batches[t])
        take_step(point.move, t + 1, X, slopes, eta)
        flops += len(X.data) * (4 + point.entry_flops) + SLOPE_FLOPS[objective.loss] * len(slopes)
    yield State(len(etas), point.toarray, flops)
