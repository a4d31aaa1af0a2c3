"""Helpers of the benchmarks: options, tables, the machine's name, random entries, medians, and limits of projections.

A limit is the time for the least work that any projection has to do: one compiled pass reads the matrix and computes
what the second pass needs, and the second pass reads the matrix again and writes the result. Limits are measured in the
same run as the projections, for the same matrix, precision and number of threads. Ratios to the limit carry over to
other machines; absolute times do not.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd
from llvmlite.binding import get_host_cpu_name
from numba import njit
from threadpoolctl import threadpool_info

RADII = (0.001, 0.01, 0.1, 0.5)  # as fractions of the norm
ENTRIES: dict[str, Callable[[np.random.Generator, int | tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape),
    "t(1.5)": lambda rng, shape: rng.standard_t(1.5, shape),
}
ROUND_SECONDS = 3e-3  # quick tasks are repeated for this long in every round
SLOW_TASK_SECONDS = 0.15  # total time of a task over all rounds; slower tasks take part in fewer rounds
FEWEST_ROUNDS = 3  # least number of rounds for any task
PACKAGES = ("numpy", "numba", "scikit-learn", "spams-bin", "skglm", "celer", "adelie")  # a table names their versions

Task = Callable[[], object]


def options(about: str | None, quick: str, peers: tuple[str, ...] = ()) -> argparse.Namespace:
    """Parse a benchmark's options, and create the folder `out` for its results.

    quick: help text of --quick. peers: the values of --peer, of which the first is the default.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=quick)
    if peers:
        parser.add_argument("--peer", choices=peers, default=peers[0], help="package to compare with")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"), help="folder for tables and figure")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    return given


def keep(table: pd.DataFrame, file: Path) -> pd.DataFrame:
    """Write a table, with the machine's name added to each row, and return the table unchanged."""
    table.assign(machine=machine()).to_csv(file, index=False)
    return table


def merge(table: pd.DataFrame, file: Path, peer: str, order: Mapping[str, Iterable[str]]) -> None:
    """Write a table to a file, in place of the file's rows about the same peers.

    peer: the column with the peers. order: for each column by which rows are sorted, its values in their order. Rows
    with equal values keep their order.
    """
    if file.exists():
        earlier = pd.read_csv(file)
        table = pd.concat([earlier[~earlier[peer].isin(table[peer])], table])
    places = {value: place for values in order.values() for place, value in enumerate(values)}
    table = table.sort_values([*order], key=lambda column: column.map(places), kind="stable")
    table.to_csv(file, index=False, float_format="%.4g")


def processor() -> str:
    """Return the processor's name, its generation as compilers call it, and the number of cores."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()} ({get_host_cpu_name()}), {os.cpu_count()} cores"


def versions(*packages: str) -> str:
    """Return the names and versions of those packages that are installed, and Python's version."""
    known = []
    for package in packages:
        with suppress(PackageNotFoundError):
            known.append(f"{package} {version(package)}")
    return ", ".join([*known, f"Python {platform.python_version()}"])


def machine() -> str:
    kernels = {library.get("architecture", "unknown") for library in threadpool_info() if library["user_api"] == "blas"}
    return f"{processor()}, BLAS kernel {' and '.join(sorted(kernels))}; {versions(*PACKAGES)}"


def samples(tasks: Mapping[str, Task], rounds: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Return the time per call of each task in each round, in seconds. Every round runs all tasks in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    calls, turns = {}, {}
    for name, task in tasks.items():
        task()  # compiles the kernels
        start = clock()
        task()
        once = max(clock() - start, 1e-7)
        calls[name] = max(1, int(ROUND_SECONDS / once))
        turns[name] = max(FEWEST_ROUNDS, int(SLOW_TASK_SECONDS / once))
    for turn in range(rounds):
        for name, task in tasks.items():
            if turn < turns[name]:
                if calls[name] > 1:
                    task()  # fills the caches
                start = clock()
                for _ in range(calls[name]):
                    task()
                seconds[name].append((clock() - start) / calls[name])
    return seconds


def medians(tasks: Mapping[str, Task], rounds: int, clock: Callable[[], float] = time.process_time) -> dict[str, float]:
    """Return the time per call of each task in seconds, as the median over rounds.

    The default clock measures the CPU time of all threads together, so that other work on the machine matters little,
    and no library gains by starting threads.
    """
    return {name: float(np.median(values)) for name, values in samples(tasks, rounds, clock).items()}


def fastest(tasks: Mapping[str, Task], rounds: int) -> dict[str, float]:
    """Return the CPU time per call of each task in seconds, as the minimum over rounds.

    Other work on the machine disturbs the minimum least.
    """
    return {name: min(values) for name, values in samples(tasks, rounds, time.process_time).items()}


def show(title: str, table: pd.DataFrame) -> None:
    with pd.option_context("display.width", 250, "display.max_columns", 40, "display.max_rows", None):
        print(f"\n{title}\n{table.to_string(index=False, float_format='{:.4g}'.format)}", flush=True)


# The limit for the l1,inf projection. The bits of non-negative floats, read as integers, have the same order as the
# floats, and compilers vectorise a maximum over integers. This is the fastest form we know.
INTEGER = {np.dtype(np.float64): np.int64, np.dtype(np.float32): np.int32}


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract", "nnan", "ninf"})
def row_passes(A, bits, no_sign, tops, levels, B):  # type: ignore[no-untyped-def]
    for i in range(A.shape[0]):
        row = bits[i]
        top = row[0] & no_sign
        for j in range(1, row.size):
            x = row[j] & no_sign
            top = x if x > top else top
        tops[i] = top
    for i in range(A.shape[0]):
        a, b, high = A[i], B[i], levels[i]
        for j in range(a.size):
            b[j] = min(max(a[j], -high), high)


@njit(cache=True)
def plain_row_passes(A, tops, levels, B):  # type: ignore[no-untyped-def]
    """Do the same as `row_passes`, but in the most obvious code and without compiler flags."""
    for i in range(A.shape[0]):
        top = abs(A[i, 0])
        for j in range(1, A.shape[1]):
            x = abs(A[i, j])
            if x > top:
                top = x
        tops[i] = top
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = min(max(A[i, j], -levels[i]), levels[i])


def row_limit(A: np.ndarray) -> Task:
    """Return the benchmark task of two passes over A that clip every row at half of the row's maximum."""
    integer = INTEGER[A.dtype]
    no_sign = np.array(np.iinfo(integer).max, integer)[()]
    arguments = A, A.view(integer), no_sign, np.empty(len(A), integer), np.abs(A).max(axis=1) / 2, np.empty_like(A)
    return lambda: row_passes(*arguments)


def plain_row_limit(A: np.ndarray) -> Task:
    arguments = A, np.empty(len(A), A.dtype), np.abs(A).max(axis=1) / 2, np.empty_like(A)
    return lambda: plain_row_passes(*arguments)


# The limit for the l1 projection: a sum of absolute values, and soft thresholding.


@njit(cache=True, fastmath={"reassoc", "nsz", "contract"})
def sum_pass(v):  # type: ignore[no-untyped-def]
    total = v.dtype.type(0)
    for i in range(v.size):
        total += abs(v[i])
    return total


@njit(cache=True)
def soft_pass(v, theta, b):  # type: ignore[no-untyped-def]
    for i in range(v.size):
        w = abs(v[i]) - theta
        b[i] = (w if v[i] > 0.0 else -w) if w > 0.0 else 0.0


@njit(cache=True)
def vector_passes(v, theta, b):  # type: ignore[no-untyped-def]
    total = sum_pass(v)
    soft_pass(v, theta, b)
    return total


def vector_limit(v: np.ndarray) -> Task:
    theta, b = v.dtype.type(0.7), np.empty_like(v)
    return lambda: vector_passes(v, theta, b)
