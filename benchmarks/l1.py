"""The benchmarks of l1 projections in projections.py: dense vectors, all columns of a matrix, and sparse updates."""

from collections.abc import Iterator

import numpy as np
from measure import ENTRIES, RADII, Task, medians, vector_limit

from jointsparse.learning.l1_sparse import SparseL1Ball
from jointsparse.norms import l1

GOAL = 3.0  # largest accepted ratio of our time to the limit
SLOW_ENTRIES = 10**6  # from this size on, the paper's methods are timed for only one radius and distribution
COLUMN_SHAPES = [(200, 60), (3_000, 40), (11_110, 40), (100_000, 40)]


def dense_rows(sizes: list[int], distributions: list[str], rounds: int) -> Iterator[dict[str, object]]:
    """Yield a row per size, distribution and radius: the limit in microseconds and other times relative to it."""
    for n in sizes:
        for entries in distributions:
            double = ENTRIES[entries](np.random.default_rng(0), n)
            for fraction in RADII:
                tasks: dict[str, Task] = {}
                for dtype in ("float64", "float32"):
                    v = double.astype(dtype)
                    z, b = l1.norm(v) * fraction, np.empty_like(v)
                    tasks |= {
                        f"{dtype} limit": vector_limit(v),
                        f"{dtype} ours": lambda v=v, z=z, b=b: l1.project(v, z, out=b),
                    }
                if n < SLOW_ENTRIES or (entries, fraction) == ("normal", 0.1):
                    z = l1.norm(double) * fraction
                    for method in ("pivot", "sort"):
                        tasks[method] = lambda v=double, z=z, method=method: l1.project(v, z, method=method)
                t = medians(tasks, rounds)
                row: dict[str, object] = {"n": n, "entries": entries, "radius / norm": fraction}
                for dtype in ("float64", "float32"):
                    row[f"{dtype} limit (us)"] = t[f"{dtype} limit"] * 1e6
                    row[f"{dtype} ours / limit"] = t[f"{dtype} ours"] / t[f"{dtype} limit"]
                row["float32 / float64"] = t["float32 ours"] / t["float64 ours"]
                row |= {f"{name} / ours": t[name] / t["float64 ours"] for name in ("pivot", "sort") if name in t}
                yield row


def column_rows(rounds: int) -> Iterator[dict[str, object]]:
    """Time the projection of all columns of a matrix in one call, with a separate radius for each column."""
    for shape in COLUMN_SHAPES:
        W = np.random.default_rng(0).normal(size=shape)
        B, z = np.empty_like(W), l1.norm(W) * 0.1
        tasks = {
            "limit": vector_limit(W.reshape(-1)),
            "ours": lambda W=W, z=z, B=B: l1.project(W, z, out=B),
            "columns": lambda W=W, z=z: [l1.project(w, float(r)) for w, r in zip(W.T, z, strict=True)],
        }
        t = medians(tasks, rounds)
        yield {
            "features x tasks": "{} x {}".format(*shape),
            "limit (us)": t["limit"] * 1e6,
            "ours / limit": t["ours"] / t["limit"],
            "loop over columns / ours": t["columns"] / t["ours"],
        }


def sparse_tasks(ball: SparseL1Ball, dense: np.ndarray, k: int) -> dict[str, Task]:
    """Return two tasks: an update of k random coordinates, and the same update by projecting the whole dense vector.

    Later updates reverse earlier updates, so that the number of non-zero entries stays about the same.
    """
    rng, n = np.random.default_rng(0), len(ball)
    changes = [(rng.integers(0, n, k), rng.normal(size=k) * 0.1) for _ in range(32)]
    changes += [(indices, -values) for indices, values in changes]
    turn, b = iter(range(10**9)), np.empty(n)

    def update() -> None:
        ball.add(*changes[next(turn) % 64])

    def full() -> None:
        indices, values = changes[next(turn) % 64]
        np.add.at(dense, indices, values)
        l1.project(dense, ball.radius, out=b)

    return {"update": update, "full": full}


def sparse_rows(sizes: list[int], rounds: int) -> Iterator[dict[str, object]]:
    """Yield a row for each number n of coordinates (nearly all non-zero) and each number k of changed coordinates."""
    for n in sizes:
        w = np.random.default_rng(0).normal(size=n)
        ball = SparseL1Ball(n, l1.norm(w) * 0.9, w)
        rows: list[dict[str, object]] = []
        times = []
        for k in (k for k in (1, 3, 10, 30, 100, 300, 1000, 3000) if 10 * k <= n):
            t = medians(sparse_tasks(ball, ball.toarray(), k), rounds)
            times.append((k, t["update"], t["full"]))
            rows.append(
                {
                    "n": n,
                    "non-zeros": ball.count_nonzero(),
                    "k": k,
                    "update (us)": t["update"] * 1e6,
                    "full (us)": t["full"] * 1e6,
                    "full / update": t["full"] / t["update"],
                    "update / (k log2 n) (ns)": t["update"] * 1e9 / k / np.log2(n),
                }
            )
        crossover = crossing(times)
        yield from (row | {"crossover k": crossover} for row in rows)


def crossing(times: list[tuple[int, float, float]]) -> float:
    """Return the number k of changed coordinates at which an update takes as long as a full projection.

    k is interpolated on a log scale. It is 0 if it lies below the measured range, and infinity if it lies above.
    """
    ks, updates, fulls = (np.array(column, float) for column in zip(*times, strict=True))
    gain = np.log(updates / fulls)
    if gain[0] > 0 or gain[-1] < 0:
        return 0.0 if gain[0] > 0 else np.inf
    return float(np.exp(np.interp(0.0, np.maximum.accumulate(gain), np.log(ks))))
