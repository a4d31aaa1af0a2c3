"""Measure the seconds of projections onto the l1 ball, and how they grow.

Source: Duchi et al. 2008. They claim O(n) expected for a projection (sec. 5, Fig. 2). For an update of k coordinates
and the return to the ball they claim O(k log n) (sec. 6, Fig. 3).
"""

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jointsparse.norms import l1, l2
from jointsparse.norms.l1_sparse import SparseL1Ball
from jointsparse.papers.timing import Task, measure, require_sizes, seconds_of

SERVES = "drawn"
TABLES = {"projection": "timings"}
WARNS = ()

Vector = NDArray[np.float64]
METHODS: tuple[l1.Method, ...] = ("sort", "pivot", "newton")  # the paper's two and ours
RADIUS_SHARE = 0.1  # radius / norm
# Choice: standard deviation of updates / that of the entries. Most updates then leave the ball, so that something is
# projected, and few entries become zero, as others come back.
UPDATE_SHARE = 0.3
N_UPDATES = 10  # of a measurement


class WholeVector:
    """A point in the l1 ball that is projected as a whole after each update, to compare `SparseL1Ball` with."""

    method: l1.Method = "newton"

    def __init__(self, n: int, radius: float, point: Vector) -> None:
        self.radius = radius
        self.w = l1.project(point, radius)

    def add(self, indices: NDArray[np.int64], values: Vector) -> None:
        """Add values (k,) to coordinates indices (k,), each given once, then project."""
        self.w[indices] += values
        l1.project(self.w, self.radius, out=self.w, method=self.method)


class Verbatim(WholeVector):
    """Points projected by the paper's Fig. 2, which sec. 6 would not use verbatim."""

    method: l1.Method = "pivot"


KINDS: dict[str, type[SparseL1Ball] | type[WholeVector]] = {"tree": SparseL1Ball, "full": WholeVector}
MOST_VERBATIM = 1_000_000  # Choice: entries; more take minutes


def run(
    data: None,
    *,
    sizes: Sequence[int],
    touched: Sequence[int],
    non_zeros: Sequence[int],
    repeats: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Measure CPU seconds of projections and of sparse updates: medians of interleaved repeats.

    Parameters
    ----------
    data : None
    sizes : sequence of int, at least 1
        Numbers of entries of dense normal vectors.
    touched : sequence of int, at least 1
        Numbers k of coordinates that an update changes.
    non_zeros : sequence of int, at least max(touched)
        Numbers of non-zero entries before the update, all that its vector has.
    repeats : int, at least 1
    rng : numpy.random.Generator
        Draws the numbers. Seconds vary all the same.
    progress : callable, optional
        Called with (measurements done, of all).

    Returns
    -------
    DataFrame
        A row per measurement, with columns part, x, n, k, method, repeats, seconds, and low and high, their 95 %
        interval (NaN for fewer than six repeats):
        - "dimension": `l1.project` of a vector of n entries by "sort", "pivot" (both the paper's) and "newton", and
          `l2.project`, called "l2". The radius is 0.1 of the norm, and x = k = n.
        - "touched": k random coordinates, each once, change by normal values, and the point returns to the ball. The
          method is "tree", `SparseL1Ball.add`, or "full", an addition and a projection of the whole vector. x = k. Each
          measurement is the mean of 10 updates. "verbatim" projects it by "pivot", for the most coordinates and up to
          1,000,000 entries. The point is normal and on the ball's boundary. After any number of
          updates about nine in ten of its n entries or more are not zero.

    Raises
    ------
    ValueError
        Sizes out of range.
    """
    require_sizes(sizes=sizes, touched=touched, non_zeros=non_zeros, repeats=[repeats])
    if max(touched) > min(non_zeros):
        raise ValueError(f"touched must be at most {min(non_zeros)}, the least of non_zeros, got {max(touched)}")
    seed = int(rng.integers(2**63))
    v = np.random.default_rng(seed).normal(size=max(*sizes, *non_zeros))
    tasks = []
    for n in sizes:
        columns = {"part": "dimension", "x": n, "n": n, "k": n}
        tasks += [Task(columns | {"method": method}, partial(_projection, v[:n], method)) for method in METHODS]
        tasks.append(Task(columns | {"method": "l2"}, partial(_projection_to_l2, v[:n])))
    for n in non_zeros:
        radius = l1.norm(v[:n])
        # Generators of one seed, so that both methods see the same updates.
        points = [(name, kind(n, radius, v[:n]), np.random.default_rng(seed)) for name, kind in KINDS.items()]
        for k in touched:
            columns = {"part": "touched", "x": k, "n": n, "k": k}
            tasks += [Task(columns | {"method": name}, partial(_updates, one, n, k, own)) for name, one, own in points]
        if n <= MOST_VERBATIM:
            columns = {"part": "touched", "x": max(touched), "n": n, "k": max(touched), "method": "verbatim"}
            one, own = Verbatim(n, radius, v[:n]), np.random.default_rng(seed)
            tasks.append(Task(columns, partial(_updates, one, n, max(touched), own)))
    _compile()
    return measure(tasks, repeats, progress)


def _compile() -> None:
    few = np.arange(1.0, 4.0)
    for method in METHODS:
        _projection(few, method)
    _projection_to_l2(few)
    for kind in (*KINDS.values(), Verbatim):
        _updates(kind(3, 1.0, few), 3, 2, np.random.default_rng(0))


def _projection(v: Vector, method: l1.Method) -> float:
    """CPU seconds of a projection of v."""
    radius, w = RADIUS_SHARE * l1.norm(v), np.empty_like(v)
    return seconds_of(lambda: l1.project(v, radius, out=w, method=method))


def _projection_to_l2(v: Vector) -> float:
    """CPU seconds of a projection of v onto an l2 ball."""
    radius, w = RADIUS_SHARE * l2.norm(v), np.empty_like(v)
    return seconds_of(lambda: l2.project(v, radius, out=w))


def _updates(point: SparseL1Ball | WholeVector, n: int, k: int, rng: np.random.Generator) -> float:
    """CPU seconds of an update of k of n coordinates, the mean of several."""
    indices = [rng.choice(n, k, replace=False) for _ in range(N_UPDATES)]
    values = UPDATE_SHARE * rng.normal(size=(N_UPDATES, k))
    start = time.process_time()
    for update in zip(indices, values, strict=True):
        point.add(*update)
    return (time.process_time() - start) / N_UPDATES
