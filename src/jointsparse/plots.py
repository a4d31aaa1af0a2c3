"""Figures, each a function of one table, the papers' numbers beside ours.

Here are those of Quattoni et al. (2009; "report": 2008); those of Duchi et al. (2008) are in `plots_l1`.
`draw(name, table)` draws by name; `FIGURES` says which table each is drawn from. A method looks the same in all.
"""

from collections.abc import Callable
from functools import partial
from importlib.resources import as_file, files
from itertools import cycle
from math import ceil
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import colormaps, rcParams, style
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from jointsparse import papers, plots_l1
from jointsparse.drawing import (
    STATED,
    Drawing,
    apart,
    band_note,
    canvas,
    curve,
    growth_line,
    in_order,
    legend,
    looks,
    median_of,
    nothing,
    percent,
    plain,
    size_axis,
)
from jointsparse.thresholds import GAP

MOST_ROWS = 400  # of a picture of weights: more than it has lines of pixels would be lost


def draw(name: str, table: pd.DataFrame) -> Figure:
    """The figure of that name. Raises ValueError with the known names for another, and for a table without rows."""
    if name not in FIGURES:
        raise ValueError(f"figures knows {', '.join(FIGURES)}; got {name!r}")
    if not len(table):
        raise ValueError(f"figure {name}: expected a table {FIGURES[name].table} with rows, got none")
    with as_file(files("jointsparse") / "jointsparse.mplstyle") as sheet, style.context(str(sheet)):
        try:
            return FIGURES[name].function(table)
        except KeyError as missing:
            got = ", ".join(map(str, table))
            raise ValueError(f"figure {name}: the table {FIGURES[name].table} lacks {missing}, got {got}") from None


# Image annotation, stories, scenes


def convergence(table: pd.DataFrame) -> Figure:
    """2009, Fig. 2: the objective at every iteration for each radius at its best eta0, on the largest training sets.

    The objective is divided by its value at W = 0, as the axis of the paper's figure runs from 0 to 1.
    """
    largest = table[(table["n"] == table["n"].max()) & (table["run"] == table["run"].min())]
    figure, (axes,) = canvas()
    by_radius = largest.groupby("parameter")
    colours = colormaps[rcParams["image.cmap"]](np.linspace(0, 0.85, len(by_radius)))
    for (radius, rows), colour, dashes in zip(by_radius, colours, cycle(("-", "--", "-.", ":")), strict=False):
        label = f"radius {radius:g} (" + ("" if rows["eta0"].isna().all() else f"eta0 {rows['eta0'].iloc[0]:g}, ")
        label += f"certified gap {percent(rows['gap'].iloc[0])})"
        axes.plot(rows["iteration"], rows["objective"], label=label, color=colour, linestyle=dashes)
    top = largest["objective"].quantile(0.99)
    axes.set_ylim(0, 1.05 if np.isnan(top) else max(1.05, min(2.0, top)))
    axes.set_xlabel("iteration")
    axes.set_ylabel("objective / objective at W = 0")
    axes.set_title(
        f"Convergence of {largest['method'].iloc[0]}, {largest['n_samples'].iloc[0]:,} samples\n"
        "(paper: Fig. 2, radius 0.1, 1, 10, 100, 63,408 samples)"
    )
    legend(figure)
    return figure


def auc(table: pd.DataFrame, *, beside_paper: bool = True) -> Figure:
    """2009, Fig. 3: average test AUC of the words not used for validation, against the number of training samples."""
    figure, (axes,) = canvas()
    _over_sizes(axes, table, "n_samples", "auc")
    if beside_paper:
        low, high = papers.FIGURE_3_AUC_RANGE
        axes.axhspan(low, high, color="0.93", label=f"paper's Fig. 3 (Reuters): {low:g} to {high:g}", zorder=0)
    size_axis(axes, table.groupby("n")["n_samples"].mean(), "number of training samples, all words together")
    axes.set_ylabel("average test AUC")
    axes.set_title("AUC of the words not used for validation" + (" (paper: Fig. 3)" if beside_paper else ""))
    legend(figure, *band_note(table))
    return figure


def eer(table: pd.DataFrame) -> Figure:
    """Report, Fig. 3 left: average test equal error rate of the words not used for validation, against n."""
    figure, (axes,) = canvas()
    _over_sizes(axes, table.assign(eer=100 * table["eer"]), "n", "eer")
    size_axis(axes, table["n"], "n, positive training samples of each word")
    axes.set_ylabel("average test EER (%)")
    axes.set_title(
        "Equal error rate of the words not used for validation\n(paper: report, Fig. 3 left, l1inf < l1 < l2)"
    )
    legend(figure, *band_note(table))
    return figure


def _over_sizes(axes: Axes, table: pd.DataFrame, x: str, y: str) -> None:
    """A curve of every method, and rings where the fit of any run may be unfinished."""
    for method, look in in_order(table).items():
        curve(axes, table[table["method"] == method], x, y, label=method, **look)
    points = table.groupby(["method", "n"], as_index=False).agg(x=(x, "mean"), y=(y, "mean"), gap=("gap", "max"))
    _mark_unfinished(axes, points, "x", "y")


def _mark_unfinished(axes: Axes, points: pd.DataFrame, x: str, y: str) -> None:
    """A ring around each point whose fit may be far from the optimum."""
    far = points[points["gap"] > GAP]
    if len(far):
        label = f"certified gap above {percent(GAP)}, up to {percent(far['gap'].max())}"
        axes.plot(far[x], far[y], "o", color="0.35", markersize=11, markerfacecolor="none", label=label)


def eer_by_word(table: pd.DataFrame) -> Figure:
    """Report, Fig. 3 right: the mean over runs of each word's EER, words sorted by the first method's.

    Of all sizes the first of at least the report's 30 positives is drawn, or else the largest. A word does not count in
    the runs whose radius it helped to choose.
    """
    sizes = np.sort(table["n"].unique())
    n = next((size for size in sizes if size >= papers.REPORT_N), sizes[-1])
    shown = table[(table["n"] == n) & ~table["validation_word"].astype(bool)]
    look = in_order(table)
    by_word = shown.pivot_table(index="word", columns="method", values="eer", aggfunc="mean", dropna=False)
    by_word = by_word.reindex(columns=list(look)).dropna(how="all").sort_values(next(iter(look)), kind="stable")
    lowest = (by_word.rank(axis=1, method="max") == 1).sum()  # a tie counts for none
    figure, (axes,) = canvas(height=1.2 + 0.17 * max(len(by_word), 4))
    for method, one in look.items():
        label = method if len(look) == 1 else f"{method} (lowest for {lowest[method]} of {len(by_word)})"
        axes.plot(100 * by_word[method], np.arange(len(by_word)), label=label, **one | {"linestyle": "none"})
    if by_word.empty:
        nothing(axes, "no word with an EER")
    axes.set_yticks(np.arange(len(by_word)), map(plain, by_word.index), fontsize=8)
    axes.set_ylim(len(by_word) - 0.4, -0.6)
    axes.set_xlabel("test EER (%)" + _mean_of(shown))
    axes.set_title(f"EER of each word, n = {n}\n(paper: report, Fig. 3 right, n = {papers.REPORT_N})")
    legend(figure)
    return figure


def _mean_of(table: pd.DataFrame) -> str:
    runs = table["run"].nunique()
    return f", mean of {runs} runs" if runs > 1 else ""


def sparsity(table: pd.DataFrame, *, beside_paper: bool = True) -> Figure:
    """2009, Fig. 4: average test AUC against the share of features used by any word, on the largest training sets."""
    return _against_features(table, "AUC and joint sparsity, radius beside each point", 0, beside_paper)


def path(table: pd.DataFrame) -> Figure:
    """2009, Fig. 4 as a curve over many radii; some radii are written beside it."""
    return _against_features(table, "AUC along the path of radii, some named", 15, beside_paper=True)


def _against_features(table: pd.DataFrame, title: str, distance: float, beside_paper: bool) -> Figure:
    """distance: in per cent of features, between points that get a marker and their radius."""
    figure, (axes,) = canvas()
    columns = ["features", "auc", "gap"]
    largest = table[table["n"] == table["n"].max()]
    means = largest.groupby(["method", "parameter"])[columns].mean()
    means["features"] *= 100
    look = looks([*table["method"], *(method for method, _, _ in papers.FIGURE_4)])
    sparse = []
    for method in largest["method"].unique():
        points = means.loc[method].dropna(subset=["features"])
        if not (points["features"] < 99).any():
            continue  # not a sparse method, even if a feature of text has no weight by chance
        sparse.append(method)
        marked = apart(points["features"].to_numpy(), distance)
        axes.plot(points["features"], points["auc"], label=method, markevery=marked, **look[method])
        for radius, point in points.iloc[marked].iterrows():
            at, offset = (point["features"], point["auc"]), (-4, 5) if len(sparse) == 1 else (4, -10)
            text = {"fontsize": 7, "color": look[method]["color"], "ha": "right" if offset[0] < 0 else "left"}
            label = f"{radius:.3g}" if radius < 1000 else f"{radius:,.0f}"
            axes.annotate(label, at, offset, textcoords="offset points", **text)
    _mark_unfinished(axes, means[means.index.get_level_values("method").isin(sparse)], "features", "auc")
    for method, used, reached in papers.FIGURE_4 if beside_paper else ():
        label = f"paper: {method} {reached:.0%} AUC with {used:.0%} of features"
        colour = look[method]["color"]
        axes.plot(100 * used, reached, "*", color=colour, markersize=12, markerfacecolor="none", label=label)
    axes.set_xlim(-4, 106)
    axes.set_xlabel("features used by any word (%)" + _mean_of(largest))
    axes.set_ylabel("average test AUC")
    axes.set_title(title + (" (paper: Fig. 4, Reuters)" if beside_paper else ""))
    legend(figure)
    return figure


def significance(table: pd.DataFrame) -> Figure:
    """2009, Table 1: p-values of sign tests of the first method against each other one, and the paper's."""
    rows = table[(table["words"] == "test words") & (table["run"] == table["run"].min())]
    method, others = table["method"].iloc[0], table["against"].unique()
    header = ["n", "samples"]
    for other in others:
        header += [f"{other}\np", "median p", "reverse p", "Holm p", "paper"]
    cells = []
    for n, group in rows.groupby("n"):
        line = [f"{n}", f"{group['n_samples'].iloc[0]:,}"]
        for other in others:
            found = group[group["against"] == other]
            for name in ("p", "p_median", "p_reverse", "p_holm", "paper"):
                line.append(_p(found[name].iloc[0]) if len(found) else "–")
        cells.append(line)
    figure, (axes,) = canvas(2.2 + 3.1 * len(others), 1.3 + 0.24 * len(cells))
    axes.axis("off")
    drawn = axes.table(cells, colLabels=header, loc="upper center", cellLoc="right", edges="horizontal")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    drawn.scale(1, 1.35)
    for (i, _), cell in drawn.get_celld().items():
        if i == 0:
            cell.set_height(1.9 * cell.get_height())
    runs = table["run"].nunique()
    which = f", first of {runs} runs" if runs > 1 else ""
    axes.set_title(f"Sign tests: is {method} better? One-sided p-values{which} (paper: Table 1, Reuters photographs)")
    axes.text(
        0.5,
        0.0,
        "Pooled pairs share images across words, so the test is not exact; a median of p-values is not a p-value.",
        ha="center",
        transform=axes.transAxes,
        fontsize=8,
        color="0.35",
    )
    return figure


def _p(value: float | None) -> str:
    """A p-value for people."""
    if value is None or np.isnan(value):
        return "–"
    return f"{value:.2g}" if value >= 1e-4 else f"{value:.0e}"


def differences(table: pd.DataFrame, *, metric: str = "auc") -> Figure:
    """The first method's average test AUC or EER less each other's, with 95 % intervals, for each n.

    Only the words not used for validation count.
    """
    rows = table[(table["metric"] == metric) & (table["words"] == "test words")]
    method, others = table["method"].iloc[0], list(table["against"].unique())
    look = looks([method, *others])
    sizes = rows.groupby("n")["n_samples"].first()
    figure, (axes,) = canvas(height=1.3 + len(sizes) * (0.2 + 0.2 * len(others)))
    axes.axvline(0, color="0.35", linewidth=1)
    for i, other in enumerate(others):
        one = rows[rows["against"] == other]
        y = sizes.index.get_indexer(one["n"]) + 0.8 * ((i + 0.5) / len(others) - 0.5)
        axes.hlines(y, one["low"], one["high"], color=look[other]["color"])
        axes.plot(one["difference"], y, label=f"against {other}", **look[other] | {"linestyle": "none"})
    if rows.empty:
        nothing(axes, f"no {metric.upper()} of test words")
    axes.set_yticks(range(len(sizes)), [f"n = {n}\n{samples:,} samples" for n, samples in sizes.items()])
    axes.set_ylim(max(len(sizes), 1) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    for between in range(len(sizes) - 1):
        axes.axhline(between + 0.5, color=rcParams["grid.color"], linewidth=0.8)
    better = {"auc": "right", "eer": "left"}[metric]
    axes.set_xlabel(f"average test {metric.upper()} of {method} minus the other's\n({better} of 0: {method} is better)")
    runs = rows["runs"].max() if len(rows) else 1
    axes.set_title(f"{metric.upper()} of {method} against the others" + (f", mean of {runs} runs" if runs > 1 else ""))
    legend(figure, Line2D([], [], color="0.35", label="95% interval (test images, runs)"))
    return figure


def weights(table: pd.DataFrame) -> Figure:
    """Report, Fig. 4: |W| of the methods that may leave features out, side by side in one scale; l2 may not."""
    methods = sorted(method for method in table["method"].unique() if method.split("-")[-1] != "l2")
    figure, panels = canvas(1.2 + 2.6 * max(len(methods), 2), 5.2, max(len(methods), 1), sharey=True)
    if not methods:
        nothing(panels[0], "no method that leaves features out")
    n_features, n_words = int(table["n_features"].max()), int(table["n_words"].max())
    block = ceil(n_features / MOST_ROWS)
    pictures = {method: _picture(table[table["method"] == method], n_features, n_words, block) for method in methods}
    colours = colormaps[rcParams["image.cmap"]].reversed().with_extremes(bad="white")
    top = max((picture.max() for picture in pictures.values()), default=1.0)
    for axes, (method, picture) in zip(panels, pictures.items(), strict=False):
        drawn = axes.imshow(
            np.ma.masked_equal(picture, 0),
            aspect="auto",
            interpolation="none",
            cmap=colours,
            norm=PowerNorm(0.5, 0, top),
            extent=(0.5, n_words + 0.5, len(picture) * block + 0.5, 0.5),
        )
        used = table[table["method"] == method]["feature"].nunique() / n_features
        axes.set_title(f"{method}: {percent(used)} of features used", fontsize=10)
        axes.set_xlabel("word")
        axes.grid(visible=False)
    if pictures:
        figure.colorbar(drawn, ax=panels, label="|weight| (white: 0; square-root scale)", shrink=0.8)
    panels[0].set_ylabel("feature" + (f" (each row: the largest |weight| of {block})" if block > 1 else ""))
    figure.suptitle("Who uses which feature (paper: report, Fig. 4)", fontsize=rcParams["axes.titlesize"])
    return figure


def _picture(rows: pd.DataFrame, n_features: int, n_words: int, block: int) -> np.ndarray:
    """|W| with every block of features as one row that holds their maxima: (ceil(n_features / block), n_words)."""
    picture = np.zeros((ceil(n_features / block), n_words))
    places = (rows["feature"] // block).to_numpy(dtype=int), rows["word"].to_numpy(dtype=int)
    np.maximum.at(picture, places, rows["weight"].abs().to_numpy())
    return picture


# The synthetic experiment


SETTINGS: dict[tuple[str, str], tuple[Any, float, str]] = {  # solver and radius: dashes, width, what the legend says
    ("subgradient", "true"): ("-", 1.0, "subgradient, true radius (the paper's)"),
    ("subgradient", "validated"): (":", 0.8, "subgradient, validated radius"),
    ("pdhg", "true"): ("--", 0.5, "certified optimum, true radius"),
}


def test_error(table: pd.DataFrame) -> Figure:
    """2009, Fig. 1 top: test error against the number of training samples of a task, as the mean over tasks."""
    figure, (axes,) = canvas()
    for method, look in in_order(table).items():
        for (solver, rule), (dashes, width, _) in SETTINGS.items():
            rows = table[(table["method"] == method) & (table["solver"] == solver) & (table["radius_rule"] == rule)]
            main = width == 1
            line = look | {"linestyle": dashes, "linewidth": width * rcParams["lines.linewidth"]}
            line |= {"label": method} if main else {"label": f"_{method}, {solver}, {rule}", "marker": ""}
            curve(axes, rows, "n", "test_error", scale=100, band=main, **line)
    size_axis(axes, table["n"], "training samples of each task")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("test error (%)")
    axes.set_title("Synthetic tasks (paper: Fig. 1 top, l1inf lowest)")
    lines = [
        Line2D([], [], color="0.35", linestyle=dashes, linewidth=width * rcParams["lines.linewidth"], label=label)
        for setting, (dashes, width, label) in SETTINGS.items()
        if setting in set(zip(table["solver"], table["radius_rule"], strict=True))
    ]
    legend(figure, *lines, *band_note(table, "band (solid)"))
    return figure


def selection(table: pd.DataFrame) -> Figure:
    """2009, Fig. 1 bottom: precision and recall of the features that any task uses; l2 uses them all."""
    rows = table[(table["solver"] == "subgradient") & (table["radius_rule"] == "true")]
    figure, (axes,) = canvas()
    for method, look in in_order(table).items():
        if method.split("-")[-1] == "l2":
            continue
        one = rows[rows["method"] == method]
        for name, line in (("precision", {"linestyle": "-"}), ("recall", {"linestyle": ":", "fillstyle": "none"})):
            curve(axes, one, "n", name, scale=100, **look | line, label=f"{name}, {method}")
    size_axis(axes, table["n"], "training samples of each task")
    axes.set_ylim(0, 104)
    axes.set_ylabel("precision, recall (%)")
    axes.set_title("Feature selection (paper: Fig. 1 bottom, l1inf more precise)")
    legend(figure, *band_note(rows))
    return figure


# Cost


class Part(NamedTuple):
    """What a part of the cost table says on its axes, and what the papers' cost is proportional to."""

    x: str
    y: str
    growth: Callable[[pd.DataFrame], pd.Series]


def _by_entries(entries: pd.Series) -> pd.Series:
    return entries * np.log(entries)


PARTS = {
    "projection size": Part("entries of the matrix", "seconds per projection", lambda rows: _by_entries(rows["x"])),
    "projection rows": Part(
        "non-zero rows of the matrix", "seconds per projection", lambda rows: _by_entries(rows["x"] * rows["m"])
    ),
    "training samples": Part("training samples of each task", "seconds per iteration", lambda rows: rows["x"]),
}


def cost(table: pd.DataFrame) -> Figure:
    """Measured seconds of each part against what varies in it, and a line that grows as the papers state.

    The line ends where the measurements of the first method end.
    """
    table = table.assign(method=table["method"].astype(object).fillna("measured") if "method" in table else "measured")
    parts, look = table["part"].unique(), looks(table["method"])
    figure, panels = canvas(max(6.4, 0.4 + 3.3 * len(parts)), 3.0, len(parts))
    for axes, name in zip(panels, parts, strict=True):
        part = PARTS.get(name, Part("x", "seconds", lambda rows: rows["x"]))
        rows = table[table["part"] == name].sort_values("x")
        methods = rows["method"].unique()
        for method in methods:
            one = rows[rows["method"] == method]
            axes.plot(one["x"], one["seconds"], label=method, **look[method])
        first = rows[rows["method"] == methods[0]].dropna(subset=["seconds"])
        growth_line(axes, first["x"], first["seconds"], part.growth(first))
        size_axis(axes, rows["x"], part.x, most=4)
        if len(first):
            axes.set_yscale("log")
        axes.set_ylabel(part.y)
        fixed = [f"{column} = {rows[column].iloc[0]:,.0f}" for column in ("d", "m") if len(set(rows[column])) == 1]
        axes.set_title(", ".join([name, *fixed]), fontsize=10)
    figure.suptitle(f"Measured seconds, each {median_of(table)}", fontsize=rcParams["axes.titlesize"])
    stated = "papers: N log N in the number N of non-zero entries; linear in the number of samples"
    legend(figure, Line2D([], [], label=stated, **STATED))
    return figure


# Pictures of a dataset


def contact_sheet(
    images: pd.DataFrame,
    captions: pd.DataFrame,
    picture: Callable[[str], np.ndarray],
    *,
    rows: int = 6,
    columns: int = 6,
    seed: int = 0,
) -> Figure:
    """Images drawn at random, each with its first caption. picture: opens an image by name."""
    rng = np.random.default_rng(seed)
    shown = rng.permutation(images["image"].to_numpy())[: rows * columns]
    first = captions.drop_duplicates("image").set_index("image")["caption"]
    figure = Figure(figsize=(2.2 * columns, 2.1 * rows), layout="constrained")
    for axes, image in zip(np.ravel(figure.subplots(rows, columns)), shown, strict=False):
        axes.imshow(picture(image), cmap="gray", vmin=0, vmax=1)
        axes.set_title("\n".join(map(plain, wrap(str(first.get(image, "")), 34)[:3])), fontsize=6)
    for axes in figure.axes:
        axes.axis("off")
    return figure


FIGURES = {
    "convergence": Drawing("convergence", convergence),
    "auc": Drawing("chosen", auc),
    "auc_by_size": Drawing("chosen", partial(auc, beside_paper=False)),
    "eer": Drawing("chosen", eer),
    "eer_by_word": Drawing("by_word", eer_by_word),
    "sparsity": Drawing("sparsity", sparsity),
    "auc_by_features": Drawing("sparsity", partial(sparsity, beside_paper=False)),
    "path": Drawing("path", path),
    "significance": Drawing("significance", significance),
    "differences": Drawing("differences", differences),
    "eer_differences": Drawing("differences", partial(differences, metric="eer")),
    "weights": Drawing("weights", weights),
    "test_error": Drawing("recovery", test_error),
    "selection": Drawing("recovery", selection),
    "cost": Drawing("cost", cost),
} | plots_l1.FIGURES
