"""Time of the l1,inf projection in units of its limit, and of peers in units of ours.

The limit is one pass that takes each row's largest absolute value and one pass that reads the matrix again and writes
a clipped copy, both compiled, in the fastest form we know: no projection can do with less. Figures are medians of
interleaved rounds in one process, of CPU time of the calling thread, so that other work on the machine matters little.

    python benchmarks/projections.py [--quick] [--out FOLDER]

prints a table and writes projections.csv and projections.png. Peers are measured if they are installed:
`pip install spams-bin`. Its proximal operator at the known solution theta is the least that a projection built on it
can cost; a search for theta calls it many times.
"""

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numba import njit

from jointsparse.norms import l1inf

SHAPES = [(200, 60), (3_000, 40), (11_110, 40), (100_000, 40), (1_000, 1_000), (10_000, 100)]
RADII = [0.001, 0.01, 0.1, 0.5]  # in units of the norm
ENTRIES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape),
    "t1.5": lambda rng, shape: rng.standard_t(1.5, shape),
}
SHIFT = 0.002  # of a warm start: how far the matrix moves between two projections, in units of its entries


@njit(fastmath={"reassoc", "nsz", "contract", "nnan", "ninf"})
def limit_passes(A, bits, no_sign, tops, maxima, B):  # type: ignore[no-untyped-def]
    for i in range(A.shape[0]):
        row = bits[i]
        top = row[0] & no_sign
        for j in range(1, row.size):
            x = row[j] & no_sign
            top = x if x > top else top
        tops[i] = top
    for i in range(A.shape[0]):
        a, b, high = A[i], B[i], maxima[i]
        for j in range(a.size):
            b[j] = min(max(a[j], -high), high)


def limit(A: np.ndarray) -> Callable[[], None]:
    integer = l1inf.INTEGER[A.dtype]
    tops, B = np.empty(len(A), integer), np.empty_like(A)
    halves = np.abs(A).max(axis=1) / 2
    arguments = (A, A.view(integer), np.array(np.iinfo(integer).max, integer)[()], tops, halves, B)
    return lambda: limit_passes(*arguments)


def interleaved(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of CPU time of each, all of them once per round."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()  # compiles, and brings the matrix near
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.thread_time()
            run()
            seconds[name].append(time.thread_time() - start)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def warm_run(A: np.ndarray, step: np.ndarray, radius: float, rounds: int) -> Callable[[], object]:
    """Projects a matrix that moves on with every call."""
    warm, out = l1inf.Warm(), np.empty_like(A)
    path = iter([A + A.dtype.type(SHIFT * t) * step for t in range(rounds + 1)])
    return lambda: l1inf.project(next(path), radius, out=out, warm=warm)


def peers(A: np.ndarray, radius: float) -> dict[str, Callable[[], object]]:
    """The projections of others that are installed."""
    try:
        import spams
    except ImportError:
        return {}
    theta = l1inf.project(A, radius, return_theta=True)[1]
    U = np.asfortranarray(A)
    return {"spams prox at known theta": lambda: spams.proximalFlat(U, lambda1=theta, regul="l1linf", numThreads=1)}


def measure(shape: tuple[int, int], entries: str, dtype: type, fraction: float, rounds: int) -> dict[str, object]:
    rng = np.random.default_rng(0)
    A = ENTRIES[entries](rng, shape).astype(dtype)
    step = ENTRIES[entries](rng, shape).astype(dtype)
    radius = fraction * l1inf.norm(A)
    out = np.empty_like(A)
    runs: dict[str, Callable[[], object]] = {
        "limit": limit(A),
        "cold": lambda: l1inf.project(A, radius, out=out),
        "warm": warm_run(A, step, radius, rounds),
    }
    others = peers(A, radius)
    seconds = interleaved(runs | others, rounds)
    row: dict[str, object] = {"shape": "{} x {}".format(*shape), "entries": entries, "dtype": np.dtype(dtype).name}
    row |= {"radius / norm": fraction, "limit (us)": 1e6 * seconds["limit"]}
    row |= {f"{name} / limit": seconds[name] / seconds["limit"] for name in ("cold", "warm")}
    row |= {f"{name} / ours": seconds[name] / seconds["cold"] for name in others}
    return row


def growth(rounds: int) -> pd.DataFrame:
    """Seconds of a projection against the number of entries, radius a tenth of the norm, 100 columns."""
    rows = []
    for n_entries in (10**4, 10**5, 10**6, 10**7):
        A = np.random.default_rng(0).normal(size=(n_entries // 100, 100))
        radius, out = 0.1 * l1inf.norm(A), np.empty_like(A)
        runs: dict[str, Callable[[], object]] = {"newton": lambda: l1inf.project(A, radius, out=out)}  # noqa: B023
        if n_entries <= 10**6:
            runs["sort"] = lambda: l1inf.project(A, radius, out=out, method="sort")  # noqa: B023
        rows.append({"entries": n_entries} | interleaved(runs, rounds))
    return pd.DataFrame(rows)


def figure(table: pd.DataFrame, path: Path) -> None:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(11, 4.2), layout="constrained")
    for axes, dtype in zip(drawn.subplots(1, 2, sharey=True), ("float64", "float32"), strict=True):
        rows = table[(table["entries"] == "normal") & (table["dtype"] == dtype)]
        for shape, cells in rows.groupby("shape", sort=False):
            (line,) = axes.plot(cells["radius / norm"], cells["cold / limit"], "o-", label=shape)
            axes.plot(cells["radius / norm"], cells["warm / limit"], "--", color=line.get_color())
        axes.set_xscale("log")
        axes.set_xlabel("radius / norm")
        axes.set_title(f"{dtype}, normal entries; dashed: warm start")
        axes.grid(color="0.9")
    drawn.axes[0].set_ylabel("time / limit")
    drawn.axes[0].set_ylim(0)
    drawn.axes[0].legend(title="features x tasks", fontsize=8)
    drawn.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, normal entries only")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"), help="folder for the table and figure")
    options = parser.parse_args()
    entries = ["normal"] if options.quick else list(ENTRIES)
    rows = []
    for dtype in (np.float64, np.float32):
        for name in entries:
            for shape in SHAPES:
                rounds = 7 if options.quick or np.prod(shape) > 2e6 else 31
                rows += [measure(shape, name, dtype, fraction, rounds) for fraction in RADII]
    table = pd.DataFrame(rows)
    grown = growth(5)
    options.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.out / "projections.csv", index=False)
    grown.to_csv(options.out / "growth.csv", index=False)
    figure(table, options.out / "projections.png")
    print(f"{platform.processor() or platform.machine()}, NumPy {np.__version__}, one thread")
    print(table.round(2).to_string(index=False))
    print(grown.to_string(index=False))
    for method in ("newton", "sort"):
        known = grown.dropna(subset=method)
        slope = np.polyfit(np.log(known["entries"]), np.log(known[method]), 1)[0]
        print(f"{method}: time grows like entries^{slope:.2f}")


if __name__ == "__main__":
    main()
