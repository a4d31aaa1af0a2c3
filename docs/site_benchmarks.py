"""Write the page of benchmarks at each build, from the tables in docs/benchmarks/."""

from pathlib import Path
from string import Template

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.figure import Figure

from jointsparse.pipeline.figures.style import SHEET, canvas

OURS = "jointsparse"
SEARCH = "JointSparseClassifierCV"
COLUMNS = ["kind", "problem", "peer", "ours (ms)", "peer (ms)", "peer / ours"]
SHOWN = 0.1  # fraction of the norm or of the dual norm in the table of milliseconds, which has no room for all


def write_benchmarks(folder: Path) -> None:
    """Write benchmarks.md from the text in benchmarks/page.txt, and benchmarks.png."""
    tables = {file.stem: pd.read_csv(file) for file in sorted((folder / "benchmarks").glob("*.csv"))}
    race, others, cells = race_cells(tables.pop("race")), tables.pop("race-others"), own_cells(tables)
    draw(cells).savefig(folder / "benchmarks.png", dpi=100)
    values = _of_race(race, others) | _of_ours(cells, tables) | _of_bilevel(tables["bilevel"])
    every = all_cells(cells, race)
    values |= {"losses": _markdown(_largest_losses(every)), "all_losses": _markdown(losses(every))}
    text = Template((folder / "benchmarks" / "page.txt").read_text()).substitute(values)
    (folder / "benchmarks.md").write_text(text)


def own_cells(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the cases of our own benchmarks: kind and name of the problem, peer, times in milliseconds, and ratio."""
    parts = [_of_operators(tables["operators"]), _of_fits(tables["peers-fits"]), _of_searches(tables["peers-search"])]
    return pd.concat(parts, ignore_index=True)


def race_cells(race: pd.DataFrame) -> pd.DataFrame:
    """Return the cases against rebuilt research codes, with the seconds of the best code divided by ours."""
    sizes = race["d"].map("{:,}".format)
    sizes = sizes.where(race["ball"] == "l1", sizes + " × " + race["m"].map("{:,}".format))
    best = race["best_peer"].str.replace(r"\|v\||_O3|_Ofast", "", regex=True)  # without the name of the build
    return race.assign(size=sizes, best_peer=best, **{"peer / ours": race["best_peer_us"] / race["ours_us"]})


def all_cells(cells: pd.DataFrame, race: pd.DataFrame) -> pd.DataFrame:
    """Return the cases against rebuilt research codes, followed by those of our own benchmarks."""
    rebuilt = race.assign(
        kind=race["ball"].replace("l1inf", "l1,∞") + " projection",
        problem=race["size"] + ", " + race["distribution"] + ", " + race["alive_or_z"].map("{:g}".format),
        peer="best code (rebuilt)",
        **{"ours (ms)": race["ours_us"] / 1000, "peer (ms)": race["best_peer_us"] / 1000},
    )
    return pd.concat([rebuilt[[*cells]], cells], ignore_index=True)


def losses(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cases in which a peer is faster than we are, by kind, with the largest losses first."""
    return cells[cells["peer / ours"] < 1].sort_values(["kind", "peer", "peer / ours"], ignore_index=True)


def _largest_losses(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each kind of problem and peer with losses: their number, and the case with the largest."""
    count = cells.groupby(["kind", "peer"]).size()
    lost = losses(cells)
    largest = lost.groupby(["kind", "peer"]).first()
    largest.insert(0, "we are slower", lost.groupby(["kind", "peer"]).size().astype(str) + " of " + count.astype(str))
    return largest.dropna().sort_values("peer / ours").reset_index().rename(columns={"problem": "largest loss"})


def _of_race(race: pd.DataFrame, others: pd.DataFrame) -> dict[str, str]:
    """Return the numbers and tables on research codes."""
    l1inf, l1 = (race[race["ball"] == ball] for ball in ("l1inf", "l1"))
    columns = {
        "ball": "ball",
        "size": "size",
        "distribution": "entries",
        "alive_or_z": "rows alive, or radius / norm",
        "ours_us": "ours",
        "limit_us": "one pass",
        "best_peer": "best code",
        "best_peer_us": "its time",
    }
    return {
        "race_l1inf": _share(l1inf),
        "race_l1": _share(l1),
        "spoilt": str(race["wrong_peers"].notna().sum()),
        "race_radii": " / ".join(f"{radius:g}" for radius in sorted(l1["alive_or_z"].unique())),
        "race_l1inf_table": _markdown(_race_table(l1inf, "features × tasks")),
        "race_l1_table": _markdown(_race_table(l1, "entries")),
        "race_all": _markdown(race[[*columns]].rename(columns=columns)),
        "others": _markdown(others),
    }


def _race_table(race: pd.DataFrame, size: str) -> pd.DataFrame:
    """Return a row for each size and a column for each kind of entries, with the ratios of all radii in a cell."""
    ratios = race.pivot_table(
        "peer / ours",
        "size",
        "distribution",
        aggfunc=lambda values: " / ".join(map("{:.1f}".format, values)),
        sort=False,
    )
    return ratios.rename_axis(size).reset_index()


def _of_ours(cells: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Return the numbers and tables of our own benchmarks."""
    matrices, operators = tables["projections"], tables["operators"]
    by_dtype = [_by_radius(table, "cold / limit", ["entries", "dtype"]) for _, table in matrices.groupby("dtype")]
    is_operator = cells["kind"].isin(operators["operator"])
    machines = sorted({name for table in tables.values() if "machine" in table for name in table["machine"]})
    return {
        "own_operators": _share(cells[is_operator]),
        "own_training": _share(cells[~is_operator]),
        "processor": " and ".join(operators["processor"].unique()),
        "packages": _markdown(
            operators.assign(package=_libraries(operators))[["package", "versions", "threads"]].drop_duplicates()
        ),
        "farthest": f"{operators['distance'].max():.0e}",
        "machines": "\n".join(f"- {name}" for name in machines),
        "kinds": _markdown(_by_kind(cells)),
        "milliseconds": _markdown(_milliseconds(operators)),
        "all_operators": _markdown(operators.drop(columns=["versions", "threads", "processor"])),
        "radii": " / ".join(f"{radius:g}" for radius in sorted(matrices["radius / norm"].unique())),
        "float32": _range(matrices["float32 / float64"]),
        "matrices": "\n\n".join(map(_markdown, by_dtype)),
        "crossovers": _crossovers(tables["l1-sparse"]),
        "fits": _markdown(_with_distance(tables["peers-fits"])),
        "searches": _markdown(tables["peers-search"].drop(columns="machine")),
        **_growth(tables["growth"], tables["memory"], tables["trajectories"]["warm / cold"]),
    }


def _of_operators(operators: pd.DataFrame) -> pd.DataFrame:
    case = operators["size"] + ", " + operators["entries"] + ", " + operators["fraction"].map("{:g}".format)
    names = {"operator": "kind", "package": "peer", "ms": "peer (ms)", "package / ours": "peer / ours"}
    return operators.assign(problem=case).rename(columns=names)[COLUMNS].dropna()


def _libraries(operators: pd.DataFrame) -> pd.Series:
    """Return the packages without saying that a projection is a search with the proximal operator."""
    return operators["package"].str.split(",").str[0]


def _milliseconds(operators: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each operator and size, and a column for each package, with milliseconds and ratios to ours.

    Our time is the median over the processes in which packages were compared with ours.
    """
    shown = operators[(operators["entries"] == "normal") & (operators["fraction"] == SHOWN)].dropna()
    ratios = " (" + shown["package / ours"].map(_short) + "×)"
    texts = shown.assign(text=shown["ms"].map("{:.3g}".format) + ratios, package=_libraries(shown))
    case = ["operator", "size"]
    table = texts.pivot_table("text", case, "package", aggfunc="first", sort=False)
    table.insert(0, OURS, shown.groupby(case)["ours (ms)"].median())
    return table.reset_index()


def _of_bilevel(bilevel: pd.DataFrame) -> dict[str, str]:
    """Return the numbers on what an exact projection costs and buys, beside the bi-level projection."""
    lost = 1 - bilevel["rows of both"] / bilevel["rows"]
    return {
        "bilevel_quicker": f"{(bilevel['ours / bi-level'] > 1).sum()} of {len(bilevel)}",
        "bilevel_cost": _range(bilevel["ours / bi-level"]),
        "bilevel_median": f"{bilevel['ours / bi-level'].median():.2g}",
        "bilevel_distance": f"{bilevel['distance / length'].median():.2g}",
        "bilevel_farthest": f"{bilevel['distance / length'].max():.2g}",
        "bilevel_excess": f"{100 * bilevel['excess'].max():.0f}",
        "bilevel_rows": str((lost > 0.5).sum()),
    }


def _range(values: pd.Series) -> str:
    return f"{_short(values.min())} to {_short(values.max())}"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _sizes(fits: pd.DataFrame) -> pd.Series:
    return fits["n"].map("{:,}".format) + " × " + fits["d"].map("{:,}".format) + " × " + fits["m"].map("{:,}".format)


def _with_distance(fits: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of each peer and of ours on each problem, and in brackets the distance from the optimum."""

    def texts(seconds: str, distance: str) -> pd.Series:
        known = fits[seconds].map("{:.3g}".format) + " (" + fits[distance].map("{:.0e}".format) + ")"
        return known.where(fits[seconds].notna(), "")

    columns = {
        "problem": fits["problem"] + ", " + _sizes(fits),
        "peer": fits["peer"],
        "seconds": texts("seconds", "objective / best - 1"),
        OURS: texts("ours (s)", "ours / best - 1"),
        "peer / ours": fits["peer / ours"],
    }
    return pd.DataFrame(columns)


def _crossovers(sparse: pd.DataFrame) -> str:
    """Return the number of changed entries up to which sparse updates are faster than a projection, by size."""
    most, last = sparse["k"].max(), sparse.groupby("n")["crossover k"].first()
    return ", ".join(f"{k:.0f} of {n:,}" if np.isfinite(k) else f"more than {most:,} of {n:,}" for n, k in last.items())


def _of_fits(fits: pd.DataFrame) -> pd.DataFrame:
    milliseconds = {"peer (ms)": 1000 * fits["seconds"], "ours (ms)": 1000 * fits["ours (s)"]}
    return fits.assign(kind=fits["problem"], problem=_sizes(fits), **milliseconds)[COLUMNS].dropna()


def _of_searches(searches: pd.DataFrame) -> pd.DataFrame:
    times = searches.assign(problem=_sizes(searches), **{"peer (ms)": 1000 * searches["seconds"]})
    is_ours = times["learner"] == SEARCH
    both = times[~is_ours].merge(times[is_ours][["problem", "peer (ms)"]], on="problem", suffixes=("", " of ours"))
    cells = both.rename(columns={"learner": "peer", "peer (ms) of ours": "ours (ms)"}).assign(kind="choice by folds")
    return cells.assign(**{"peer / ours": cells["peer (ms)"] / cells["ours (ms)"]})[COLUMNS]


def _kinds(cells: pd.DataFrame) -> pd.Series:
    return cells["kind"] + " · " + cells["peer"]


def _share(cells: pd.DataFrame) -> str:
    return f"{(cells['peer / ours'] > 1).sum()} of {len(cells)}"


def _by_kind(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the number of cases, those in which we are faster, and the median ratio, for each kind of problem."""
    ratios = cells["peer / ours"].groupby(_kinds(cells), sort=False)
    counts = {"cases": ratios.size(), "we are faster": ratios.agg(lambda values: (values > 1).sum())}
    median = ratios.median().map("{:.3g}".format)
    return pd.DataFrame(counts | {"median of peer / ours": median}).rename_axis("problem · peer").reset_index()


def draw(cells: pd.DataFrame) -> Figure:
    """Draw a row of dots for each peer: right of the line we are faster, left of it we are slower."""
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
        axes.set(xscale="log", xlabel="CPU seconds of the peer / ours (left of 1 we are slower)")
        axes.set_yticks(range(len(names)), names)
    return figure


def _by_radius(table: pd.DataFrame, column: str, more: list[str]) -> pd.DataFrame:
    """Return a row for each shape and a column for each kind of entries, with the numbers of all radii in a cell."""
    if column not in table:
        return pd.DataFrame(columns=["features × tasks"])
    kinds = table[more].agg(", ".join, axis=1) if more else column
    rows = table.assign(kind=kinds, shape=table["features x tasks"].str.replace("x", "×"))
    cells = rows.pivot_table(
        column, "shape", "kind", aggfunc=lambda values: " / ".join(f"{value:.1f}" for value in values), sort=False
    )
    return cells.rename_axis("features × tasks").reset_index()


def _growth(grown: pd.DataFrame, memory: pd.DataFrame, warm: pd.Series) -> dict[str, str]:
    """Return numbers on the growth of the time with the entries, on memory, and on warm starts."""
    logs = np.log(grown[["entries", "newton", "sort"]])
    slope, sort_slope = (float(np.polyfit(logs["entries"], logs[method], 1)[0]) for method in ("newton", "sort"))
    return {
        "low": f"{grown['entries'].min():,}",
        "high": f"{grown['entries'].max():,}",
        "slope": f"{slope:.2f}",
        "sort_slope": f"{sort_slope:.2f}",
        "newton_memory": f"{memory['newton: extra / matrix'].max():.2f}",
        "sort_memory": f"{memory['sort: extra / matrix'].max():.1f}",
        "warm": f"{warm.min():.2f} to {warm.max():.2f}",
    }


def _text(value: object) -> str:
    """Return a cell of a table as text: numbers have three digits."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if value < 1000 or value != value else f"{float(f'{value:.3g}'):,.0f}"


def _markdown(table: pd.DataFrame) -> str:
    """Return a table in Markdown."""
    texts = [list(map(_text, row)) for row in table.to_numpy()]
    lines = [
        list(map(str, table)),
        ["---"] * table.shape[1],
        *[["" if text == "nan" else text for text in row] for row in texts],
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
