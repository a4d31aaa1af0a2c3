"""What projections onto the l1 ball cost: measured seconds, and how they grow.

Source: the claims of Duchi et al. 2008: O(n) expected for a projection (sec. 5, Fig. 2), O(k log n) for an update of k
coordinates and the return to the ball (sec. 6, Fig. 3).
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jointsparse.norms import l1
from jointsparse.norms.l1_sparse import SparseL1Ball
from jointsparse.papers.timing import by_turns, median, seconds_of

SERVES = "drawn"
TABLES = {"projection": "timings"}
WARNS = ()

Vector = NDArray[np.float64]
METHODS: tuple[l1.Method, ...] = ("sort", "pivot", "newton")  # the paper's two and ours
SHARE = 0.1  # radius / norm
# Choice: of the updates' standard deviation to that of the entries. Most updates then leave the ball, so that something
# is projected; and few entries become zero, as others come back.
SMALL = 0.3
N_UPDATES = 10  # of a measurement


class Task(NamedTuple):
    """Something to measure: where it belongs in the table, and what returns its seconds."""

    part: str
    x: int
    n: int
    k: int
    method: str
    seconds: Callable[[], float]


class WholeVector:
    """A point in the l1 ball that is projected as a whole after each update: what `SparseL1Ball` is compared with."""

    def __init__(self, n: int, radius: float, point: Vector) -> None:
        self.radius = radius
        self.w = l1.project(point, radius)

    def add(self, indices: NDArray[np.int64], values: Vector) -> None:
        """Add values (k,) to coordinates indices (k,), each given once, then project."""
        self.w[indices] += values
        l1.project(self.w, self.radius, out=self.w)


KINDS: dict[str, type[SparseL1Ball] | type[WholeVector]] = {"tree": SparseL1Ball, "full": WholeVector}


def run(
    data: None,
    *,
    sizes: Sequence[int] = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
    touched: Sequence[int] = (10, 30, 100, 300, 1_000),
    non_zeros: Sequence[int] = (10_000, 100_000, 1_000_000, 10_000_000),
    repeats: int = 7,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """CPU seconds of projections and of sparse updates: medians of interleaved repeats.

    sizes: numbers of entries of dense normal vectors. touched: numbers k of coordinates that an update changes.
    non_zeros: numbers of non-zero entries that it finds, all that its vector has; at least as many as are touched.
    repeats: at least 1. rng: draws the numbers; seconds vary all the same. progress: called with (measurements
    done, of all). Raises ValueError for sizes out of range.

    Returns one row per measurement, with columns part, x, n, k, method, repeats, seconds, and low and high, their 95 %
    interval (NaN for fewer than six repeats):
    - "dimension": `l1.project` of a vector of n entries by "sort", "pivot" (both the paper's) and "newton", radius 0.1
      of the norm; x = k = n;
    - "touched": k random coordinates, each once, change by normal values, and the point returns to the ball: by "tree",
      `SparseL1Ball.add`, or "full", an addition and a projection of the whole vector; x = k. Each measurement is the
      mean of 10 updates. The point is normal and on the ball's boundary, and after any number of updates about nine in
      ten of its n entries or more are not zero.
    """
    for name, values in {"sizes": sizes, "touched": touched, "non_zeros": non_zeros, "repeats": [repeats]}.items():
        if not len(values) or min(values) < 1:
            raise ValueError(f"{name} must be at least 1, got {values}")
    if max(touched) > min(non_zeros):
        raise ValueError(f"touched must be at most {min(non_zeros)}, the least of non_zeros, got {max(touched)}")
    seed = int(rng.integers(2**63))
    v = np.random.default_rng(seed).normal(size=max(*sizes, *non_zeros))
    tasks = []
    for n in sizes:
        tasks += [Task("dimension", n, n, n, method, partial(_projection, v[:n], method)) for method in METHODS]
    for n in non_zeros:
        # Generators of one seed, so that both methods see the same updates.
        radius = l1.norm(v[:n])
        points = [(name, kind(n, radius, v[:n]), np.random.default_rng(seed)) for name, kind in KINDS.items()]
        for k in touched:
            tasks += [
                Task("touched", k, n, k, name, partial(_updates, point, n, k, own)) for name, point, own in points
            ]

    few = np.arange(1.0, 4.0)  # to compile
    for method in METHODS:
        _projection(few, method)
    for kind in KINDS.values():
        _updates(kind(3, 1.0, few), 3, 2, np.random.default_rng(seed))
    seconds = by_turns([task.seconds for task in tasks], repeats, progress)
    rows = [
        {"part": task.part, "x": task.x, "n": task.n, "k": task.k, "method": task.method, "repeats": repeats}
        | median(times)
        for task, times in zip(tasks, seconds, strict=True)
    ]
    return pd.DataFrame(rows)


def _projection(v: Vector, method: l1.Method) -> float:
    """CPU seconds of a projection of v."""
    radius, w = SHARE * l1.norm(v), np.empty_like(v)
    return seconds_of(lambda: l1.project(v, radius, out=w, method=method))


def _updates(point: SparseL1Ball | WholeVector, n: int, k: int, rng: np.random.Generator) -> float:
    """CPU seconds of an update of k coordinates, the mean of several."""
    indices = [rng.choice(n, k, replace=False) for _ in range(N_UPDATES)]
    values = SMALL * rng.normal(size=(N_UPDATES, k))
    start = time.process_time()
    for update in zip(indices, values, strict=True):
        point.add(*update)
    return (time.process_time() - start) / N_UPDATES
