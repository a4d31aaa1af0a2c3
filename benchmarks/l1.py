"""Time of the l1 projections over their limit, beside other libraries, and of sparse updates beside full projections.

    python benchmarks/l1.py [--sizes 1000 100000 10000000] [--rounds 9] [--csv l1]

limit = one compiled pass that adds up absolute values + one that soft-thresholds into a given array, same vector, same
precision, same run: no projection can do with less. `kernel` is our default method without the checks of its input.
Every round runs each task for some milliseconds, one after the other; medians over the rounds are printed and written
to <csv>-dense.csv, <csv>-columns.csv and <csv>-sparse.csv. Ratios carry further than the times of the machine named.
POT and optax are timed if installed.
"""

import argparse
import importlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numba import njit

from jointsparse.norms import l1
from jointsparse.norms.l1_sparse import SparseL1Ball

FRACTIONS = (0.001, 0.01, 0.1, 0.5)
DRAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, size=n),
    "t(1.5)": lambda rng, n: rng.standard_t(1.5, size=n),
}
SLOW = 10**6  # entries from which the sorting methods and the peers are left out


def machine() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {len(names)} cores; Python {platform.python_version()}"


@njit(cache=True, fastmath={"reassoc", "nsz", "contract"})
def sum_pass(v):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(v.size):
        total += abs(v[i])
    return total


@njit(cache=True)
def soft_pass(v, theta, b):  # type: ignore[no-untyped-def]
    for i in range(v.size):
        w = abs(v[i]) - theta
        b[i] = (w if v[i] > 0.0 else -w) if w > 0.0 else 0.0


@njit(cache=True)
def limit(v, theta, b):  # type: ignore[no-untyped-def]
    """As little as any projection can do."""
    total = sum_pass(v)
    soft_pass(v, theta, b)
    return total


def medians(tasks: Mapping[str, Callable[[], object]], rounds: int, target: float = 3e-3) -> dict[str, float]:
    """Seconds per call. Each round runs every task, after one call that is not timed, for about `target` seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    calls = {}
    for name, task in tasks.items():
        task()  # compiles
        start = time.perf_counter()
        task()
        calls[name] = max(1, int(target / (time.perf_counter() - start)))
    for _ in range(rounds):
        for name, task in tasks.items():
            task()  # fills the caches
            start = time.perf_counter()
            for _ in range(calls[name]):
                task()
            seconds[name].append((time.perf_counter() - start) / calls[name])
    return {name: float(np.median(times)) for name, times in seconds.items()}


def peers(v: np.ndarray, z: float) -> dict[str, Callable[[], object]]:
    """What other libraries offer, where they are installed."""
    tasks: dict[str, Callable[[], object]] = {"numpy sort": lambda: np.sort(np.abs(v))}
    try:
        proj_simplex = importlib.import_module("ot.utils").proj_simplex
        tasks["POT simplex"] = lambda: proj_simplex(v, z)
    except ImportError:
        pass
    try:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        jax, optax = importlib.import_module("jax"), importlib.import_module("optax")
        jax.config.update("jax_enable_x64", True)
        project = jax.jit(optax.projections.projection_l1_ball)
        device = jax.numpy.asarray(v)
        tasks["optax"] = lambda: project(device, z).block_until_ready()
    except ImportError:
        pass
    return tasks


def dense_rows(sizes: list[int], rounds: int) -> Iterator[dict[str, object]]:
    """One row per size, distribution and radius: the limits in microseconds, all else over a limit or over ours."""
    for n in sizes:
        for draw, make in DRAWS.items():
            double = make(np.random.default_rng(0), n)
            for fraction in FRACTIONS:
                tasks: dict[str, Callable[[], object]] = {}
                for name in ("float64", "float32"):
                    v = double.astype(name)
                    z, b, theta = l1.norm(v) * fraction, np.empty_like(v), v.dtype.type(0.7)
                    tasks |= {
                        f"{name} limit": lambda v=v, theta=theta, b=b: limit(v, theta, b),
                        f"{name} kernel": lambda v=v, z=z, b=b: l1.project_vector(v, z, l1.BALL, b),
                        f"{name} ours": lambda v=v, z=z, b=b: l1.project(v, z, out=b),
                    }
                if n < SLOW:
                    z = l1.norm(double) * fraction
                    for method in ("pivot", "sort"):
                        tasks[method] = lambda v=double, z=z, method=method: l1.project(v, z, method=method)
                    tasks |= peers(double, z)
                t = medians(tasks, rounds)
                row: dict[str, object] = {"n": n, "entries": draw, "radius / norm": fraction}
                for name in ("float64", "float32"):
                    row[f"{name} limit (us)"] = t[f"{name} limit"] * 1e6
                    for what in ("kernel", "ours"):
                        row[f"{name} {what} / limit"] = t[f"{name} {what}"] / t[f"{name} limit"]
                row["float32 / float64"] = t["float32 ours"] / t["float64 ours"]
                for name in ("pivot", "sort", "numpy sort", "POT simplex", "optax"):
                    if name in t:
                        row[f"{name} / ours"] = t[name] / t["float64 ours"]
                yield row


def matrix_rows(rounds: int) -> Iterator[dict[str, object]]:
    """All columns in one call, each with its own radius."""
    for shape in ((200, 60), (3000, 40), (11110, 40), (100_000, 40)):
        W = np.random.default_rng(0).normal(size=shape)
        B, flat, flat_B, z = np.empty_like(W), W.reshape(-1), np.empty(W.size), l1.norm(W) * 0.1
        tasks = {
            "limit": lambda flat=flat, b=flat_B: limit(flat, 0.7, b),
            "ours": lambda W=W, z=z, B=B: l1.project(W, z, out=B),
            "columns": lambda W=W, z=z: [l1.project(w, float(r)) for w, r in zip(W.T, z, strict=True)],
        }
        t = medians(tasks, rounds)
        yield {
            "shape": shape,
            "limit (us)": t["limit"] * 1e6,
            "ours / limit": t["ours"] / t["limit"],
            "loop over columns / ours": t["columns"] / t["ours"],
        }


def sparse_tasks(ball: SparseL1Ball, dense: np.ndarray, k: int) -> dict[str, Callable[[], object]]:
    """An update of k random coordinates, and the same for a dense vector: adding, and projecting by default method.

    The changes are so small that the number of non-zeros stays about as it is.
    """
    rng, n = np.random.default_rng(0), len(ball)
    changes = [(rng.integers(0, n, k), rng.normal(size=k) * 0.1) for _ in range(64)]
    turn, b = iter(range(10**9)), np.empty(n)

    def update() -> None:
        ball.add(*changes[next(turn) % 64])

    def full() -> None:
        indices, values = changes[next(turn) % 64]
        np.add.at(dense, indices, values)
        l1.project(dense, ball.radius, out=b)

    return {"update": update, "full": full}


def sparse_rows(sizes: list[int], rounds: int) -> Iterator[dict[str, object]]:
    """Per number n of coordinates, nearly all of them non-zero, and number k of changes."""
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
    """The k where an update takes as long as a full projection, by interpolation on logarithms; 0 or inf beyond."""
    ks, updates, fulls = (np.array(column, float) for column in zip(*times, strict=True))
    gain = np.log(updates / fulls)
    if gain[0] > 0 or gain[-1] < 0:
        return 0.0 if gain[0] > 0 else np.inf
    return float(np.exp(np.interp(0.0, np.maximum.accumulate(gain), np.log(ks))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**3, 10**5, 10**7])
    parser.add_argument("--sparse-sizes", type=int, nargs="*", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--csv", default="l1", help="where to write, without -dense.csv and so on")
    args = parser.parse_args()
    tables = {
        "dense": dense_rows(args.sizes, args.rounds),
        "columns": matrix_rows(args.rounds),
        "sparse": sparse_rows(args.sparse_sizes, args.rounds),
    }
    print(machine())
    with pd.option_context("display.width", 250, "display.max_columns", 30, "display.max_rows", None):
        for name, rows in tables.items():
            table = pd.DataFrame(rows)
            table.insert(0, "machine", machine())
            table.to_csv(f"{args.csv}-{name}.csv", index=False)
            print(f"\n{table.drop(columns='machine').round(2).to_string(index=False)}", flush=True)


if __name__ == "__main__":
    main()
