"""The page of benchmarks, made at each build from the tables that `benchmarks/` wrote into docs/benchmarks/."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.figure import Figure

from jointsparse.pipeline.figures.style import SHEET, canvas

OURS = "jointsparse"
OVER_OURS = " / ours"  # columns with seconds of a peer over ours end so
SEARCH = "JointSparseClassifierCV"
VECTOR_PEERS = ("numpy sort", "POT simplex", "optax")


def write_benchmarks(folder: Path) -> None:
    """Write benchmarks.md and benchmarks.png."""
    tables = {file.stem: pd.read_csv(file) for file in sorted((folder / "benchmarks").glob("*.csv"))}
    matrices, vectors, fits = (tables[name] for name in ("projections", "l1-dense", "peers-fits"))
    searches = tables["peers-search"].assign(problem="choice by folds").replace({"learner": {SEARCH: OURS}})
    parts_of_cells = [_of_matrices(matrices), _of_vectors(vectors), _of_fits(fits), _of_fits(searches)]
    cells = pd.concat(parts_of_cells, ignore_index=True)
    draw(cells).savefig(folder / "benchmarks.png", dpi=100)
    machines = sorted({machine for table in tables.values() for machine in table["machine"]})
    trained = ~cells["problem"].str.startswith("l1")
    lost = cells[cells["peer / ours"] < 1].sort_values("peer / ours")
    radii = " / ".join(f"{radius:g}" for radius in sorted(matrices["radius / norm"].unique()))
    plain = matrices.query("entries == 'normal' and dtype == 'float64'")
    parts = [
        "# Benchmarks",
        "This page is made at each build from the tables in `docs/benchmarks/`. The command `python "
        "benchmarks/projections.py --out docs/benchmarks` writes them, and so does `benchmarks/peers.py`. All runs "
        "have one thread. Times are CPU time; those of projections are medians of interleaved rounds in one process.",
        "\n".join(f"- {machine}" for machine in machines),
        f"**Projections: ahead in {_share(cells[~trained])} cells. Training: ahead in {_share(cells[trained])}.** A "
        "cell is a size, a kind of entries, a precision and a radius, or a problem of training:",
        _markdown(_by_kind(cells)),
        "![CPU seconds of each peer over ours, a dot for each cell](benchmarks.png)",
        "## What we lose",
        _markdown(lost) if len(lost) else "None of these cells.",
        "## Projection onto the l1,∞ ball",
        "In units of a pass that reads the matrix and a pass that writes the result. "
        f"Radii are {radii} of the norm. Below 1: most rows become zero, and are not read again. Float32 takes "
        f"{_range(matrices['float32 / float64'])} of the time of float64.",
        *(
            _markdown(_by_radius(of_one, "cold / limit", ["entries", "dtype"]))
            for _, of_one in matrices.groupby("dtype")
        ),
        "SPAMS has the proximal operator. So a projection searches for its threshold. Seconds over ours, of that "
        "search and of a single call at the known threshold, which no search can beat, for normal entries in float64. "
        f"In all cells the search takes {_range(matrices[f'SPAMS search{OVER_OURS}'])} times as long as ours, the call "
        f"{_range(matrices[f'SPAMS prox{OVER_OURS}'])} times:",
        _markdown(
            _by_radius(plain, f"SPAMS search{OVER_OURS}", []).merge(_by_radius(plain, f"SPAMS prox{OVER_OURS}", []))
        ),
        _growth(tables["growth"], tables["memory"], tables["trajectories"]["warm / cold"]),
        "## Projection onto the l1 ball",
        "Seconds over ours for normal entries, radii as above. The slow ones were measured at "
        "one radius for 10,000,000 entries.",
        _markdown(_of_peers(vectors.query("entries == 'normal'"))),
        _crossovers(tables["l1-sparse"]),
        "## Training to the same objective",
        "CPU seconds of the loosest tolerance, of 10⁻¹ to 10⁻⁹, with which the objective is within 10⁻⁴ of the best of "
        "all. In brackets the distance that was reached: a learner that jumps far below pays for it. Problems are "
        "samples × features × tasks. An empty cell: the learner does not work with this scikit-learn, or did not come "
        "so close. With the l1,∞ norm, SPAMS alone trains: see {doc}`gallery/plot_04_certificates`.",
        _markdown(_with_distance(fits)),
        "## Choice of the strength by five folds",
        "Of six strengths, where 10 % of the labels are positive. The peer is one l1 logistic regression for "
        "each task.",
        _markdown(tables["peers-search"].drop(columns="machine")),
    ]
    (folder / "benchmarks.md").write_text("\n\n".join(parts) + "\n")


def _of_matrices(table: pd.DataFrame) -> pd.DataFrame:
    what = "l1,∞ " + table["features x tasks"] + ", " + table["entries"] + ", " + table["dtype"]
    return _long(table, what, ["SPAMS search"])


def _of_vectors(table: pd.DataFrame) -> pd.DataFrame:
    what = "l1 " + table["n"].map("{:,}".format) + ", " + table["entries"]
    return _long(table, what, [*VECTOR_PEERS])


def _long(table: pd.DataFrame, what: pd.Series, peers: list[str]) -> pd.DataFrame:
    what = what + ", radius " + table["radius / norm"].map("{:g}".format)
    parts = [
        pd.DataFrame({"problem": what, "peer": peer, "peer / ours": table[f"{peer}{OVER_OURS}"]})
        for peer in peers
        if f"{peer}{OVER_OURS}" in table
    ]
    return pd.concat(parts).dropna()


def _range(values: pd.Series) -> str:
    return f"{values.min():.2g} to {values.max():.2g}"


def _problems(fits: pd.DataFrame) -> pd.Series:
    size = fits["n"].map("{:,}".format) + " × " + fits["d"].map("{:,}".format) + " × " + fits["m"].map("{:,}".format)
    return fits["problem"] + ", " + size


def _seconds(fits: pd.DataFrame) -> pd.DataFrame:
    return fits.assign(problem=_problems(fits)).pivot_table("seconds", "problem", "learner")


def _with_distance(fits: pd.DataFrame) -> pd.DataFrame:
    """Seconds of each learner on each problem, and in brackets how far from the best it ended."""
    texts = fits["seconds"].map("{:.3g}".format) + " (" + fits["objective / best - 1"].map("{:.0e}".format) + ")"
    shown = fits.assign(problem=_problems(fits), text=texts)[fits["seconds"].notna()]
    return shown.pivot_table("text", "problem", "learner", aggfunc="first").reset_index()


def _crossovers(sparse: pd.DataFrame) -> str:
    """A sentence on how many entries may change until a full projection is faster."""
    most, last = sparse["k"].max(), sparse.groupby("n")["crossover k"].first()
    counts = [f"{k:.0f} of {n:,}" if np.isfinite(k) else f"more than {most:,} of {n:,}" for n, k in last.items()]
    return f"While few entries change, `SparseL1Ball` beats our own full projection: up to {', '.join(counts)} entries."


def _of_fits(fits: pd.DataFrame) -> pd.DataFrame:
    seconds = _seconds(fits)
    over = seconds.drop(columns=OURS).div(seconds[OURS], axis=0).reset_index()
    return over.melt("problem", var_name="peer", value_name="peer / ours").dropna()


def _kinds(cells: pd.DataFrame) -> pd.Series:
    """The problem and the peer of each cell, in a few words."""
    problems = cells["problem"].str.extract(r"^((?:squared, |logistic, )?l1(?:,∞|,2)?|choice by folds)", expand=False)
    return problems + " · " + cells["peer"]


def _share(cells: pd.DataFrame) -> str:
    return f"{(cells['peer / ours'] > 1).sum()} of {len(cells)}"


def _by_kind(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells won and lost, and the median ratio, of each kind."""
    ratios = cells["peer / ours"].groupby(_kinds(cells), sort=False)
    counts = {"cells": ratios.size(), "ahead": ratios.agg(lambda one: (one > 1).sum())}
    median = ratios.median().map("{:.3g}".format)
    return pd.DataFrame(counts | {"median of peer / ours": median}).rename_axis("problem · peer").reset_index()


def draw(cells: pd.DataFrame) -> Figure:
    """A row of dots for each peer, right of the line where we are ahead, left of it where we are behind."""
    kinds = _kinds(cells)
    names = list(dict.fromkeys(kinds))[::-1]
    with style.context(SHEET):
        figure, (axes,) = canvas(8, 0.5 + 0.32 * len(names), panels=1)
        ours = cells["peer / ours"] > 1
        for ahead, colour, marker, size, alpha in ((ours, "C0", "o", 22, 0.6), (~ours, "C1", "s", 40, 1.0)):
            rows = [names.index(kind) for kind in kinds[ahead]]
            look = {"s": size, "color": colour, "marker": marker, "alpha": alpha}
            axes.scatter(cells["peer / ours"][ahead], rows, linewidths=0, **look)
        axes.axvline(1, color="0.35", linewidth=1)
        axes.set(xscale="log", xlabel="CPU seconds of the peer / ours   (left of 1 we are behind)")
        axes.set_yticks(range(len(names)), names)
    return figure


def _by_radius(table: pd.DataFrame, column: str, more: list[str]) -> pd.DataFrame:
    """A row for each shape, the numbers of all radii in one cell, and a column for each kind of entries."""
    if column not in table:
        return pd.DataFrame(columns=["features × tasks"])
    kinds = table[more].agg(", ".join, axis=1) if more else column
    rows = table.assign(kind=kinds, shape=table["features x tasks"].str.replace("x", "×"))
    cells = rows.pivot_table(
        column, "shape", "kind", aggfunc=lambda values: " / ".join(f"{value:.1f}" for value in values), sort=False
    )
    return cells.rename_axis("features × tasks").reset_index()


def _growth(grown: pd.DataFrame, memory: pd.DataFrame, warm: pd.Series) -> str:
    """Sentences on how seconds grow with the entries, on memory, and on warm starts."""
    logs = np.log(grown[["entries", "newton", "sort"]])
    slope, sort_slope = (float(np.polyfit(logs["entries"], logs[method], 1)[0]) for method in ("newton", "sort"))
    low, high = (f"{end:,}" for end in (grown["entries"].min(), grown["entries"].max()))
    extra = [memory[f"{method}: extra / matrix"].max() for method in ("newton", "sort")]
    return (
        f'From {low} to {high} entries seconds grow like entries^{slope:.2f} by `"newton"`, the default, and like '
        f'entries^{sort_slope:.2f} by `"sort"`, the paper\'s algorithm. Beside matrix and result they take up to '
        f"{extra[0]:.2f} and {extra[1]:.1f} times the memory of the matrix. On matrices that training "
        f"projects one after the other a warm start takes {warm.min():.2f} to {warm.max():.2f} of the time of a cold "
        "one."
    )


def _of_peers(table: pd.DataFrame) -> pd.DataFrame:
    columns = [f"{peer}{OVER_OURS}" for peer in VECTOR_PEERS if f"{peer}{OVER_OURS}" in table]
    cells = table.groupby("n")[columns].agg(lambda values: " / ".join(f"{value:.1f}" for value in values.dropna()))
    return cells.rename(index="{:,}".format).rename_axis("entries").reset_index()


def _markdown(table: pd.DataFrame) -> str:
    """A table in Markdown."""
    texts = [[f"{value:.3g}" if isinstance(value, float) else str(value) for value in row] for row in table.to_numpy()]
    lines = [
        list(map(str, table)),
        ["---"] * table.shape[1],
        *[["" if text == "nan" else text for text in row] for row in texts],
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
