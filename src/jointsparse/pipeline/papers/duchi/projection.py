"""Measure the CPU time of projections onto the l1 ball, and how it grows with the size.

Source: Duchi et al. 2008. The paper claims expected O(n) for a projection (sec. 5, Fig. 2), and O(k log n) for an
update of k coordinates followed by a projection (sec. 6, Fig. 3).
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jointsparse.checks import require
from jointsparse.learning.l1_sparse import SparseL1Ball
from jointsparse.norms import l1, l2
from jointsparse.pipeline.papers.duchi.entropic import SparseEntropic
from jointsparse.pipeline.papers.harness import (
    RADIUS_SHARE,
    Measurement,
    Progress,
    measure,
    seconds_of,
    seconds_of_projection,
    silent,
)

Vector = NDArray[np.float64]
Update = Callable[[NDArray[np.int64], Vector], object]  # adds values to coordinates and projects

BALLS: dict[str, tuple[Any, dict[str, Any]]] = {  # two of the paper's methods, our method, and the l2 ball
    **{method: (l1, {"method": method}) for method in ("sort", "pivot", "newton")},
    "l2": (l2, {}),
}
METHODS: dict[str, Callable[[Vector], float]] = {
    method: partial(seconds_of_projection, ball, **options) for method, (ball, options) in BALLS.items()
}
GRADIENT_SIZES = (800, 4000)  # numbers of features, and of samples, in the paper's random problems; sec. 7
# Choice: standard deviation of updates / standard deviation of the entries. Most updates then leave the ball, so that a
# projection takes place, and the number of zeros hardly changes, because other entries become non-zero.
UPDATE_SHARE = 0.3
N_UPDATES = 10  # updates per measurement
VERBATIM = "verbatim"  # projects the whole vector as in the paper's Fig. 2; sec. 6 improves on this
MOST_VERBATIM = 1_000_000  # Choice: largest number of entries for "verbatim"; more would take minutes


def run(
    data: None,
    *,
    sizes: Sequence[int],
    touched: Sequence[int],
    non_zeros: Sequence[int],
    repeats: int,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Measure the CPU time of projections and of sparse updates as medians over interleaved repeats.

    Parameters
    ----------
    data : None
    sizes : sequence of int, at least 1
        Lengths n of dense normal vectors.
    touched : sequence of int, at least 1
        Numbers k of coordinates that an update changes.
    non_zeros : sequence of int, at least max(touched)
        Numbers n of entries before the update, none of which is zero.
    repeats : int, at least 1
        Number of times that each measurement is taken.
    rng : numpy.random.Generator
        Draws the vectors and updates.
    progress : callable
        Called with the number of measurements done and the number of all measurements.

    Returns
    -------
    DataFrame
        A row per measurement. Columns:

        - part: see below.
        - x: the size that varies within the part.
        - n: number of entries.
        - k: number of entries that change.
        - method: name of the method.
        - repeats: number of repeats.
        - seconds: median CPU time over the repeats.
        - low, high: the 95 % interval of the median, or NaN with fewer than six repeats.

        Parts:

        - "dimension": projections of a vector of n entries, by `l1.project` with the paper's methods "sort" and "pivot"
          and with "newton", and by `l2.project`, called "l2". The radius is 0.1 times the norm, and x = k = n.
        - "gradient step": a gradient step of least squares with n features and n samples, followed by a projection by
          "pivot", "newton" or "l2"; x = k = n.
        - "touched": normal values are added to k distinct random coordinates, and the point is projected; x = k. Each
          measurement is the mean of 10 updates. The point starts as a normal vector on the boundary of the ball. After
          any number of updates, about nine tenths or more of its n entries are non-zero. Methods:

          - "tree": `SparseL1Ball.add`, which uses a heap, whereas the paper uses a search tree.
          - "full": the whole vector is projected by "newton".
          - "verbatim": the whole vector is projected by "pivot", only for the largest k and for at most 1,000,000
            entries.
          - "entropic": a step of `SparseEntropic`. Its point starts at 0, because it cannot reach most points of the
            boundary. Only its cost can therefore be compared.

    Raises
    ------
    ValueError
        If more coordinates are touched than there are.
    """
    require_fit(touched, non_zeros)
    seed = int(rng.integers(2**63))
    v, small = np.random.default_rng(seed).normal(size=max(*sizes, *non_zeros)), np.arange(1.0, 4.0)
    for seconds in METHODS.values():
        seconds(small)  # compiles the kernels
    for begin in POINTS.values():
        _updates(begin(small, 1.0), 3, 2, rng)  # compiles the kernels
    measurements = []
    for n, (method, seconds) in product(sizes, METHODS.items()):
        measurements.append(Measurement(_columns("dimension", n, n, method), partial(seconds, v[:n])))
    for n in GRADIENT_SIZES:
        X = np.random.default_rng(seed).normal(size=(n, n))
        for method, (ball, options) in BALLS.items():
            if method != "sort":
                step = _gradient_step(X, ball, **options)
                measurements.append(Measurement(_columns("gradient step", n, n, method), partial(seconds_of, step)))
    for n in non_zeros:
        # Each method has a generator with the same seed, so that all methods see the same updates.
        points = [
            (method, begin(v[:n], l1.norm(v[:n])), np.random.default_rng(seed))
            for method, begin in POINTS.items()
            if method != VERBATIM or n <= MOST_VERBATIM
        ]
        for k, (method, update, generator) in product(touched, points):
            if method != VERBATIM or k == max(touched):
                seconds = partial(_updates, update, n, k, generator)
                measurements.append(Measurement(_columns("touched", n, k, method), seconds))
    return measure(measurements, repeats, progress)


def _columns(part: str, n: int, k: int, method: str) -> dict[str, Any]:
    return {"part": part, "x": k, "n": n, "k": k, "method": method}


def _gradient_step(X: NDArray[np.float64], ball: Any, **options: Any) -> Callable[[], object]:
    """Return a function that takes a least-squares gradient step, with samples X and labels 1, and projects."""
    w = ball.project(X[0], RADIUS_SHARE * ball.norm(X[0]))
    radius, out = ball.norm(w), np.empty_like(w)
    return lambda: ball.project(w - X.T @ (X @ w - 1) / X.size, radius, out=out, **options)


def require_fit(touched: Sequence[int], non_zeros: Sequence[int]) -> None:
    """Raise ValueError if an update touches more coordinates than the smallest vector has non-zero entries."""
    least = min(non_zeros)
    require(max(touched) <= least, f"touched must be at most {least}, the smallest of non_zeros, got {max(touched)}")


def _in_full(point: Vector, radius: float, method: l1.Method = "newton") -> Update:
    """Return a function that updates some coordinates of a point and then projects the whole vector."""
    w = l1.project(point, radius)

    def add(indices: NDArray[np.int64], values: Vector) -> Vector:
        w[indices] += values
        return l1.project(w, radius, out=w, method=method)

    return add


def _by_factors(point: Vector, radius: float) -> Update:
    entropic = SparseEntropic(len(point), radius)
    entropic.step(np.arange(len(point)), np.zeros(len(point)), 0.0)  # leaves w unchanged, but touches all its memory
    return lambda indices, values: entropic.step(indices, -values, 1.0)


POINTS: dict[str, Callable[[Vector, float], Update]] = {
    "tree": lambda point, radius: SparseL1Ball(len(point), radius, point).add,
    "full": _in_full,
    "entropic": _by_factors,
    VERBATIM: partial(_in_full, method="pivot"),
}


def _updates(update: Update, n: int, k: int, rng: np.random.Generator) -> float:
    """Return the CPU time in seconds taken to update k of n coordinates, averaged over several updates."""
    indices = [rng.choice(n, k, replace=False) for _ in range(N_UPDATES)]
    values = UPDATE_SHARE * rng.normal(size=(N_UPDATES, k))
    start = time.process_time()
    for where, changes in zip(indices, values, strict=True):
        update(where, changes)
    return (time.process_time() - start) / N_UPDATES
