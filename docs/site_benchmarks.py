"""Write the page of benchmarks at each build, from the tables in docs/benchmarks/."""

from pathlib import Path
from string import Template

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.figure import Figure

from jointsparse.pipeline.figures.style import SHEET, canvas

OURS = "jointsparse"
OVER_OURS = " / ours"  # end of the names of columns that hold the seconds of a peer divided by ours
SEARCH = "JointSparseClassifierCV"
VECTOR_PEERS = ("numpy sort", "POT simplex", "optax")


def write_benchmarks(folder: Path) -> None:
    """Write benchmarks.md from the text in benchmarks/page.txt, and benchmarks.png."""
    tables = {file.stem: pd.read_csv(file) for file in sorted((folder / "benchmarks").glob("*.csv"))}
    race, others, cells = race_cells(tables.pop("race")), tables.pop("race-others"), own_cells(tables)
    draw(cells).savefig(folder / "benchmarks.png", dpi=100)
    values = _of_race(race, others) | _of_ours(cells, tables)
    values["losses"] = _markdown(losses(cells, race))
    text = Template((folder / "benchmarks" / "page.txt").read_text()).substitute(values)
    (folder / "benchmarks.md").write_text(text)


def own_cells(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the cases of our own benchmarks: problem, peer, and the seconds of the peer divided by ours."""
    searches = tables["peers-search"].assign(problem="choice by folds").replace({"learner": {SEARCH: OURS}})
    parts = [
        _of_matrices(tables["projections"]),
        _of_vectors(tables["l1-dense"]),
        _of_fits(tables["peers-fits"]),
        _of_fits(searches),
    ]
    return pd.concat(parts, ignore_index=True)


def race_cells(race: pd.DataFrame) -> pd.DataFrame:
    """Return the cases against rebuilt research codes, with the seconds of the best code divided by ours."""
    sizes = race["d"].map("{:,}".format)
    sizes = sizes.where(race["ball"] == "l1", sizes + " × " + race["m"].map("{:,}".format))
    best = race["best_peer"].str.replace(r"\|v\||_O3|_Ofast", "", regex=True)  # without the name of the build
    return race.assign(size=sizes, best_peer=best, **{"peer / ours": race["best_peer_us"] / race["ours_us"]})


def losses(cells: pd.DataFrame, race: pd.DataFrame) -> pd.DataFrame:
    """Return the cases in which a peer is faster than we are, first those against research codes."""
    lost = race[race["peer / ours"] < 1]
    balls, radii = lost["ball"].replace("l1inf", "l1,∞"), lost["alive_or_z"].map("{:g}".format)
    problem = balls + " projection, " + lost["size"] + ", " + lost["distribution"] + ", radius " + radii
    of_race = pd.DataFrame(
        {"problem": problem, "peer": lost["best_peer"] + " (rebuilt)", "peer / ours": lost["peer / ours"]}
    )
    return pd.concat([of_race, cells[cells["peer / ours"] < 1].sort_values("peer / ours")], ignore_index=True)


def _of_race(race: pd.DataFrame, others: pd.DataFrame) -> dict[str, str]:
    """Return the numbers and tables on research codes."""
    l1inf, l1 = (race[race["ball"] == ball] for ball in ("l1inf", "l1"))
    bilevel = others[others["code"].str.contains("bi-level")].iloc[0]
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
        **{f"bilevel_{name}": f"{bilevel[name]:.2f}" for name in ("lowest", "highest", "median")},
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
    matrices, vectors = tables["projections"], tables["l1-dense"]
    plain = matrices.query("entries == 'normal' and dtype == 'float64'")
    search, prox = f"SPAMS search{OVER_OURS}", f"SPAMS prox{OVER_OURS}"
    ball = cells["problem"].str.extract(r"^(l1,∞|l1) ", expand=False)
    by_dtype = [_by_radius(table, "cold / limit", ["entries", "dtype"]) for _, table in matrices.groupby("dtype")]
    return {
        "own_l1inf": _share(cells[ball == "l1,∞"]),
        "own_l1": _share(cells[ball == "l1"]),
        "own_training": _share(cells[ball.isna()]),
        "machines": "\n".join(f"- {name}" for name in sorted({name for t in tables.values() for name in t["machine"]})),
        "kinds": _markdown(_by_kind(cells)),
        "radii": " / ".join(f"{radius:g}" for radius in sorted(matrices["radius / norm"].unique())),
        "float32": _range(matrices["float32 / float64"]),
        "matrices": "\n\n".join(map(_markdown, by_dtype)),
        "spams_search": _range(matrices[search]),
        "spams_prox": _range(matrices[prox]),
        "spams": _markdown(_by_radius(plain, search, []).merge(_by_radius(plain, prox, []))),
        "vectors": _markdown(_of_peers(vectors.query("entries == 'normal'"))),
        "crossovers": _crossovers(tables["l1-sparse"]),
        "fits": _markdown(_with_distance(tables["peers-fits"])),
        "searches": _markdown(tables["peers-search"].drop(columns="machine")),
        **_growth(tables["growth"], tables["memory"], tables["trajectories"]["warm / cold"]),
    }


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
    low, high = (f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in (values.min(), values.max()))
    return f"{low} to {high}"


def _problems(fits: pd.DataFrame) -> pd.Series:
    size = fits["n"].map("{:,}".format) + " × " + fits["d"].map("{:,}".format) + " × " + fits["m"].map("{:,}".format)
    return fits["problem"] + ", " + size


def _seconds(fits: pd.DataFrame) -> pd.DataFrame:
    return fits.assign(problem=_problems(fits)).pivot_table("seconds", "problem", "learner")


def _with_distance(fits: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of each learner on each problem, and in brackets its distance from the best objective."""
    texts = fits["seconds"].map("{:.3g}".format) + " (" + fits["objective / best - 1"].map("{:.0e}".format) + ")"
    shown = fits.assign(problem=_problems(fits), text=texts)[fits["seconds"].notna()]
    return shown.pivot_table("text", "problem", "learner", aggfunc="first").reset_index()


def _crossovers(sparse: pd.DataFrame) -> str:
    """Return the number of changed entries up to which sparse updates are faster than a projection, by size."""
    most, last = sparse["k"].max(), sparse.groupby("n")["crossover k"].first()
    return ", ".join(f"{k:.0f} of {n:,}" if np.isfinite(k) else f"more than {most:,} of {n:,}" for n, k in last.items())


def _of_fits(fits: pd.DataFrame) -> pd.DataFrame:
    seconds = _seconds(fits)
    over = seconds.drop(columns=OURS).div(seconds[OURS], axis=0).reset_index()
    return over.melt("problem", var_name="peer", value_name="peer / ours").dropna()


def _kinds(cells: pd.DataFrame) -> pd.Series:
    """Return the problem and the peer of each cell, in a few words."""
    problems = cells["problem"].str.extract(r"^((?:squared, |logistic, )?l1(?:,∞|,2)?|choice by folds)", expand=False)
    return problems + " · " + cells["peer"]


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


def _of_peers(table: pd.DataFrame) -> pd.DataFrame:
    columns = [f"{peer}{OVER_OURS}" for peer in VECTOR_PEERS if f"{peer}{OVER_OURS}" in table]
    cells = table.groupby("n")[columns].agg(lambda values: " / ".join(f"{value:.1f}" for value in values.dropna()))
    return cells.rename(index="{:,}".format).rename_axis("entries").reset_index()


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
