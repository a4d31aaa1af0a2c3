"""Steps along the gradient of an objective, over all samples or over samples drawn for each step.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointsparse.pipeline.papers.duchi.entropic import Entropic
from jointsparse.pipeline.papers.harness import State

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
RowNumbers = NDArray[np.int64]


class Diverged(ValueError):
    """Raised if a step overflows."""


def take_step(move: Callable[..., None], t: int, *arguments: Any) -> None:
    """Take step number t by calling `move`. Raise Diverged if the step overflows."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            move(*arguments)
    except ValueError:
        raise Diverged(f"descent diverged in step {t}: choose a smaller eta0, or scale the features") from None


class Projected:
    """A point W in a feasible set, which is moved by W <- project(W - eta G)."""

    def __init__(self, W: Matrix, radius: float, project: Callable[..., Any]) -> None:
        self.W, self.radius, self.project = W, radius, project

    def step(self, G: Matrix, eta: float) -> None:
        self.W -= eta * G
        self.project(self.W, self.radius, out=self.W)

    def toarray(self) -> Matrix:
        return self.W


def dense_steps(
    objective: Any,
    point: Projected | Entropic,
    etas: Vector,
    batches: Sequence[RowNumbers] | None,
    step_flops: Callable[[Any], float] | None = None,
) -> Iterator[State]:
    """In each step, move all weights along the gradient over all samples, or over the samples of this step.

    Parameters
    ----------
    objective : object with a method `tangent`, which returns a gradient
    point : Projected or Entropic
        The weights.
    etas : array (n_iter,)
        Step sizes.
    batches : sequence of int arrays, or None
        Row numbers of the samples of each step. None means that every step uses all samples.
    step_flops : callable, optional
        Returns the number of operations of a step along a tangent. By default, operations are not counted.
    """
    flops = 0.0 if step_flops else np.nan
    for t, eta in enumerate(etas):
        exact = objective.tangent(point.toarray()) if batches is None else None
        yield State(t, point.toarray, flops, exact)
        tangent: Any = objective.tangent(point.toarray(), batches[t]) if batches else exact
        take_step(point.step, t + 1, tangent.gradient, eta)
        flops += step_flops(tangent) if step_flops else 0.0
    yield State(len(etas), point.toarray, flops)


def draw_batches(n_iter: int, n_samples: int, batch_size: int, rng: np.random.Generator) -> list[RowNumbers]:
    """Draw the row numbers of the samples for each step. Within a step, they are drawn without replacement.

    Parameters
    ----------
    n_iter : int
        Number of steps.
    n_samples : int
        Number of samples to draw from.
    batch_size : int
        Number of samples per step.
    rng : numpy.random.Generator
    """
    return [np.sort(rng.choice(n_samples, batch_size, replace=False)) for _ in range(n_iter)]
