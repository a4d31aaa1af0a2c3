"""Time the l1,inf and l1 projections relative to their limits, which are measured in the same run.

    python benchmarks/projections.py [--quick] [--out FOLDER]

Prints tables, marks results that miss our goals with *, and writes the tables as CSV and a figure, projections.png. The
limit is the time for the least work that any projection has to do, in the fastest compiled form that we know
(measure.py). The plain limit, which is measured for l1,inf only, is the time for the same work in the most obvious
Numba code. All times are medians of CPU time over interleaved rounds in one process.
"""

import itertools
import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace

import l1 as l1_sections
import measure
import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measure import ENTRIES, RADII, Task, machine, medians, plain_row_limit, row_limit, show

from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import pdhg, subgradient
from jointsparse.norms import l1inf
from jointsparse.pipeline.figures.style import SHEET

# Goals for the ratio time / limit of a projection without warm start, by radius, for normal entries in float64.
GOALS = {
    (200, 60): (1.5, 3.5, 8, 14),
    (3_000, 40): (2.5, 5, 10, 14),
    (11_110, 40): (2, 5, 10, 12),
    (100_000, 40): (1.4, 3.5, 5, 6),
    (1_000, 1_000): (1.5, 3, 4, 5),
    (10_000, 100): (1.5, 4, 5.5, 8),
}
AT_MOST = {"warm / cold": 1.1, "warm after a jump / cold": 1.1, "float32 / float64": 0.65}
SHIFT = 0.002  # distance between successive matrices in a warm start, relative to their entries
JUMP = 4 / 3  # factor by which theta jumps, as it does when the constraint is barely active


def moving(A: np.ndarray, step: np.ndarray, radius: float, warm: l1inf.Warm | None) -> Task:
    """Return a task that projects a matrix which changes a little from call to call, back and forth."""
    path = [A + A.dtype.type(SHIFT * t) * step for t in range(4)]
    turns, out = itertools.cycle([0, 1, 2, 3, 2, 1]), np.empty_like(A)
    return lambda: l1inf.project(path[next(turns)], radius, out=out, warm=warm)


def jumping(A: np.ndarray, radius: float, warm: l1inf.Warm | None) -> Task:
    """Return a task of projections whose theta jumps up and down. Without a warm start all of them cost the same,
    because the matrix and the radius are scaled together.
    """
    turns, out = itertools.cycle([(A, radius), (A * A.dtype.type(JUMP), radius * JUMP)]), np.empty_like(A)
    return lambda: l1inf.project(*next(turns), out=out, warm=warm)


def matrix_rows(shape: tuple[int, int], entries: str, fraction: float, rounds: int) -> Iterator[dict[str, object]]:
    """Yield two rows for a kind of matrix, one in float64 and one in float32, both measured in the same rounds."""
    rng = np.random.default_rng(0)
    draw = [ENTRIES[entries](rng, shape) for _ in range(2)]
    cpu: dict[str, Task] = {}
    for dtype in ("float64", "float32"):
        A, step = (entry.astype(dtype) for entry in draw)
        radius, out = fraction * l1inf.norm(A), np.empty_like(A)
        tasks: dict[str, Task] = {
            "limit": row_limit(A),
            "plain limit": plain_row_limit(A),
            "cold": lambda A=A, radius=radius, out=out: l1inf.project(A, radius, out=out),
            "cold, moving": moving(A, step, radius, None),
            "warm, moving": moving(A, step, radius, l1inf.Warm()),
            "cold, jumping": jumping(A, radius, None),
            "warm, jumping": jumping(A, radius, l1inf.Warm()),
        }
        cpu |= {f"{dtype} {name}": task for name, task in tasks.items()}
    seconds = medians(cpu, rounds)
    for dtype in ("float64", "float32"):
        t = {name.removeprefix(f"{dtype} "): s for name, s in seconds.items() if name.startswith(dtype)}
        row: dict[str, object] = {"features x tasks": "{} x {}".format(*shape), "entries": entries, "dtype": dtype}
        row |= {"radius / norm": fraction, "limit (us)": 1e6 * t["limit"], "plain limit (us)": 1e6 * t["plain limit"]}
        row["cold / limit"] = cold = t["cold"] / t["limit"]
        if (entries, dtype) == ("normal", "float64"):
            row["goal"] = GOALS[shape][RADII.index(fraction)]
        # Alternating between matrices costs more cache misses, so warm and cold starts are compared on the same path.
        warm = t["warm, moving"] / t["cold, moving"]
        row |= {
            "cold / plain limit": t["cold"] / t["plain limit"],
            "warm / limit": warm * cold,
            "warm / cold": warm,
            "warm after a jump / cold": t["warm, jumping"] / t["cold, jumping"],
        }
        if dtype == "float32":
            row["float32 / float64"] = t["cold"] / seconds["float64 cold"]
        yield row


def trajectory(solver: ModuleType, radius: float) -> list[np.ndarray]:
    """Return the matrices that are projected during a training run, from the 20th projection on.

    The scales of the features decay, as after an SVD. The first 30 of 1,000 features matter for the 40 tasks.
    """
    rng, seen = np.random.default_rng(0), list[np.ndarray]()
    X = rng.normal(size=(1200, 1000)) * np.arange(1, 1001) ** -0.5
    Y = np.sign(X[:, :30] @ rng.normal(size=(30, 40)) + 0.3 * rng.normal(size=(1200, 40)))

    def project(W: np.ndarray, size: float, **options: object) -> np.ndarray:
        seen.append(W.copy())
        return l1inf.project(W, size, **options)

    norm = SimpleNamespace(**{**vars(l1inf), "project": project})
    step = {"eta0": np.array([3e-4 * radius])} if "eta0" in solver.TAKES else {"tol": 0.0}
    problem = Problem.from_matrix(X.astype(np.float32), Y)
    solver.fit(problem, loss=hinge, norm=norm, radius=np.array([radius]), n_iter=60, **step)
    return seen[20:50]


def trajectory_rows(rounds: int) -> Iterator[dict[str, object]]:
    """Time all projections of a training run in sequence, in float32 as in training."""
    for solver, radius in itertools.product((subgradient, pdhg), (10.0, 30.0, 100.0, 300.0)):
        path = trajectory(solver, radius)
        out, limits = np.empty_like(path[0]), [row_limit(W) for W in path]

        def run(warm: l1inf.Warm | None, path: list[np.ndarray] = path, radius: float = radius, out=out) -> None:
            for W in path:
                l1inf.project(W, radius, out=out, warm=warm)

        t = medians(
            {
                "limit": lambda limits=limits: [limit() for limit in limits],
                "cold": lambda run=run: run(None),
                "warm": lambda run=run: run(l1inf.Warm()),
            },
            rounds,
        )
        rows = [np.count_nonzero(l1inf.project(W, radius).any(axis=1)) for W in path]
        yield {
            "solver": solver.__name__.rpartition(".")[2],
            "radius": radius,
            "rows of 1,000": round(float(np.mean(rows))),
            "limit (us)": 1e6 * t["limit"] / len(path),
            "cold / limit": t["cold"] / t["limit"],
            "warm / limit": t["warm"] / t["limit"],
            "warm / cold": t["warm"] / t["cold"],
        }


def growth_rows(sizes: list[int], rounds: int) -> Iterator[dict[str, object]]:
    """Yield the timings for each number of entries, in matrices of 100 columns with a radius of 0.1 times the norm."""
    for n_entries in sizes:
        A = np.random.default_rng(0).normal(size=(n_entries // 100, 100))
        radius, out = 0.1 * l1inf.norm(A), np.empty_like(A)
        tasks: dict[str, Task] = {"limit": row_limit(A)}
        for method in ("newton", "sort"):
            tasks[method] = lambda A=A, radius=radius, out=out, method=method: l1inf.project(
                A, radius, out=out, method=method
            )
        yield {"entries": n_entries} | medians(tasks, rounds)


def slopes(grown: pd.DataFrame) -> dict[str, float]:
    """Return the exponent p if the time grows as n^p with the number n of entries."""
    logs = np.log(grown)
    return {method: float(np.polyfit(logs["entries"], logs[method], 1)[0]) for method in grown.columns[1:]}


def sparse_matrix_rows(n_features: int, rounds: int) -> Iterator[dict[str, object]]:
    """Time matrices with 40 columns and many zero rows. A zero row should cost only the time to read and write it."""
    beyond = None
    for fraction in (1.0, 0.3, 0.1, 0.03, 0.01):
        rng = np.random.default_rng(0)
        A = rng.normal(size=(n_features, 40))
        A[rng.permutation(n_features)[round(fraction * n_features) :]] = 0.0
        full = A[A.any(axis=1)]
        radius, out, full_out = 0.1 * l1inf.norm(A), np.empty_like(A), np.empty_like(full)
        tasks: dict[str, Task] = {
            "limit": row_limit(A),
            "ours": lambda A=A, radius=radius, out=out: l1inf.project(A, radius, out=out),
            "limit of those rows": row_limit(full),
            "ours on those rows": lambda A=full, radius=radius, out=full_out: l1inf.project(A, radius, out=out),
        }
        t = medians(tasks, rounds)
        beyond = beyond or t["ours"] - t["limit"]
        yield {
            "non-zero rows": fraction,
            "limit (us)": 1e6 * t["limit"],
            "limit of those rows (us)": 1e6 * t["limit of those rows"],
            "ours / limit": t["ours"] / t["limit"],
            "(ours - limit) / (that with no zero row)": (t["ours"] - t["limit"]) / beyond,
            "ours / limit of those rows": t["ours"] / t["limit of those rows"],
            "ours on those rows alone / their limit": t["ours on those rows"] / t["limit of those rows"],
        }


# Only on Linux: writing 5 resets the peak memory of the process. Memory that Numba allocates is included.
PEAK, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def bytes_in_use(what: str) -> int:
    line = next(line for line in PEAK.read_text(encoding="utf-8").splitlines() if line.startswith(what))
    return 1024 * int(line.split()[1])


def extra_memory(method: str, n_entries: int) -> float:
    """Return the peak memory used in addition to the matrix and the result, as a multiple of the size of the matrix."""
    A = np.random.default_rng(0).normal(size=(n_entries // 100, 100))
    radius, out = 0.1 * l1inf.norm(A), np.zeros_like(A)
    l1inf.project(A[:300], radius * 300 / len(A), out=out[:300], method=method)  # compiles the kernels
    out[:] = 0.0  # allocates the memory
    RESET.write_text("5", encoding="utf-8")
    before = bytes_in_use("VmRSS")
    l1inf.project(A, radius, out=out, method=method)
    return (bytes_in_use("VmHWM") - before) / A.nbytes


def memory_rows(sizes: list[int]) -> Iterator[dict[str, object]]:
    """Measure the memory of each method in a new process, because an old one may hold memory that was freed earlier."""
    if not os.access(RESET, os.W_OK):
        return
    spawn = multiprocessing.get_context("spawn")
    for n_entries in sizes:
        row: dict[str, object] = {"entries": n_entries}
        for method in ("newton", "sort"):
            with ProcessPoolExecutor(1, mp_context=spawn) as pool:
                row[f"{method}: extra / matrix"] = pool.submit(extra_memory, method, n_entries).result()
        yield row


def marked(column: str, row: pd.Series) -> str:
    """Format a result as a string, followed by * if the result misses its goal."""
    value = row[column]
    most = row["goal"] if column == "cold / limit" else AT_MOST.get(column, np.inf)
    return f"{value:.{2 if column in AT_MOST else 1}f}{'*' if value > most else ''}"


def by_radius(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return a table with one row per matrix, in which each cell lists the results for all radii."""
    lines = []
    for shape, rows in table.groupby("features x tasks", sort=False):
        line = {"features x tasks": shape}
        for column in columns:
            cells = [marked(column, row) if column != "goal" else f"{row[column]:g}" for _, row in rows.iterrows()]
            line[column] = " ".join(cell.rjust(max(5, len(cell))) for cell in cells)
        lines.append(line)
    return pd.DataFrame(lines)


def show_matrices(table: pd.DataFrame) -> None:
    for (entries, dtype), rows in table.groupby(["entries", "dtype"], sort=False):
        title = f"l1,inf, {entries} entries, {dtype}; radius / norm " + " / ".join(f"{radius:g}" for radius in RADII)
        columns = [
            "cold / limit",
            "goal",
            "cold / plain limit",
            "warm / limit",
            "warm / cold",
            "warm after a jump / cold",
            "float32 / float64",
        ]
        show(title, by_radius(rows, [column for column in columns if column in rows and rows[column].notna().any()]))


def show_vectors(table: pd.DataFrame) -> None:
    first = [column for column in table if column.startswith("float")]
    second = [column for column in table if column.endswith("/ ours")]
    shown = table.copy()
    for column in (column for column in first if column.endswith("ours / limit")):
        shown[column] = [f"{x:.2f}{'*' if x > l1_sections.GOAL else ''}" for x in table[column]]
    for columns in (first, second):
        rows = table[columns].notna().any(axis=1)
        show(
            f"l1 ball, one vector; goal: ours / limit <= {l1_sections.GOAL:g}",
            shown.loc[rows, [*table.columns[:3], *columns]],
        )


def figure(tables: dict[str, pd.DataFrame]) -> Figure:
    with style.context(SHEET):
        drawn = Figure(figsize=(13, 8.5))
        panels = drawn.subplots(2, 3).ravel()
        normal = tables["projections"].query("entries == 'normal'")
        top = 1.05 * normal[["cold / limit", "warm / limit"]].max(axis=None)
        for axes, dtype in zip(panels[:2], ("float64", "float32"), strict=True):
            draw_by_radius(axes, normal[normal["dtype"] == dtype], dtype)
            axes.set_ylim(0, top)
        draw_growth(panels[2], tables["growth"])
        draw_sparse_matrices(panels[3], tables["rows"])
        draw_l1(panels[4], tables["l1-dense"])
        draw_updates(panels[5], tables["l1-sparse"])
    return drawn


def draw_by_radius(axes: Axes, rows: pd.DataFrame, dtype: str) -> None:
    for shape, cells in rows.groupby("features x tasks", sort=False):
        (line,) = axes.plot(cells["radius / norm"], cells["cold / limit"], "o-", label=shape)
        axes.plot(cells["radius / norm"], cells["warm / limit"], "--", color=line.get_color())
    axes.set(xscale="log", xlabel="radius / norm", ylabel="time / limit", title=f"l1,inf, {dtype}; dashed: warm start")
    axes.legend(title="features x tasks")


def draw_growth(axes: Axes, grown: pd.DataFrame) -> None:
    for (method, slope), marker in zip(slopes(grown).items(), "Dos", strict=True):
        axes.plot(grown["entries"], grown[method], marker=marker, label=f"{method}: entries^{slope:.2f}")
    axes.set(xscale="log", yscale="log", xlabel="entries", ylabel="seconds", title="l1,inf, radius 0.1 of the norm")
    axes.legend()


def draw_sparse_matrices(axes: Axes, rows: pd.DataFrame) -> None:
    axes.plot(100 * rows["non-zero rows"], rows["ours / limit"], "o-", label="time / limit")
    share = rows["limit of those rows (us)"] / rows["limit (us)"]
    axes.plot(100 * rows["non-zero rows"], share, "s--", label="limit of the non-zero rows / limit")
    axes.axhline(1, color="0.35", linewidth=1)
    axes.set(xscale="log", xlabel="rows that are not zero (%)", ylabel="time / limit", title="l1,inf, mostly zero rows")
    axes.set_ylim(0)
    axes.legend()


def draw_l1(axes: Axes, dense: pd.DataFrame) -> None:
    rows = dense[(dense["entries"] == "normal") & (dense["radius / norm"] == 0.1)]
    ours = rows["float64 ours / limit"]
    axes.plot(rows["n"], ours, "o-", label="newton")
    for method, marker in zip(("pivot", "sort"), "sD", strict=True):
        axes.plot(rows["n"], ours * rows[f"{method} / ours"], marker=marker, label=method)
    axes.set(xscale="log", yscale="log", xlabel="entries", ylabel="time / limit", title="l1, radius 0.1 of the norm")
    axes.set_ylim(0.5)
    axes.legend(loc="lower left")


def draw_updates(axes: Axes, sparse: pd.DataFrame) -> None:
    for n, rows in sparse.groupby("n"):
        (line,) = axes.plot(rows["k"], rows["update (us)"], "o-", label=f"{n:,}")
        axes.plot(rows["k"], rows["full (us)"], "--", color=line.get_color())
    axes.set(xscale="log", yscale="log", xlabel="k, entries that change", ylabel="microseconds")
    axes.set_title("l1, sparse updates; dashed: full projection")
    axes.set_ylim(top=30 * axes.get_ylim()[1])
    axes.legend(title="entries", loc="upper left", ncols=2)


def main() -> None:
    given = measure.options(__doc__, "about a minute: fewer rounds, sizes and distributions")
    quick, rounds = given.quick, 5 if given.quick else 15
    entries = ["normal"] if quick else list(ENTRIES)
    start = time.perf_counter()
    print(f"{machine()}; medians of at most {rounds} interleaved rounds; * marks missed goals")
    tables: dict[str, pd.DataFrame] = {}

    def keep(name: str, rows: Iterator[dict[str, object]]) -> pd.DataFrame:
        tables[name] = measure.keep(pd.DataFrame(rows), given.out / f"{name}.csv")
        return tables[name]

    cells = ((name, shape, fraction) for name in entries for shape in GOALS for fraction in RADII)
    show_matrices(keep("projections", (r for name, s, f in cells for r in matrix_rows(s, name, f, rounds))))

    title = "l1,inf, matrices that training projects one after the other, 1,000 x 40, float32"
    show(title, keep("trajectories", trajectory_rows(rounds)))

    grown = keep("growth", growth_rows([10**4, 10**5, 10**6] if quick else [10**4, 10**5, 10**6, 10**7], rounds))
    powers = ", ".join(f"{method} like entries^{slope:.2f}" for method, slope in slopes(grown).items())
    show(f"l1,inf, growth: seconds, 100 columns, radius a tenth of the norm; {powers}", grown)

    sparse_matrices = keep("rows", sparse_matrix_rows(100_000, rounds))
    show("l1,inf, 100,000 x 40, of which some rows are not zero, radius a tenth of the norm", sparse_matrices)

    memory = keep("memory", memory_rows([10**6] if quick else [10**6, 10**7]))
    show("l1,inf, peak memory in addition to matrix and result, relative to the matrix", memory)

    sizes = [10**3, 10**5] if quick else [10**3, 10**5, 10**7]
    show_vectors(keep("l1-dense", l1_sections.dense_rows(sizes, entries, rounds)))

    show("l1 balls, one per column, radius a tenth of the norm", keep("l1-columns", l1_sections.column_rows(rounds)))

    sizes = [10**4, 10**5] if quick else [10**4, 10**5, 10**6, 10**7]
    show("l1 ball under sparse updates", keep("l1-sparse", l1_sections.sparse_rows(sizes, rounds)))

    figure(tables).savefig(given.out / "projections.png")
    print(f"\n{time.perf_counter() - start:.0f} s; tables and figure are in {given.out}")


if __name__ == "__main__":
    main()
