"""Figures of Quattoni et al. (2009), each a function of one table, with the paper's numbers beside ours.

`draw(name, table)` draws by name; the tables are described in `comparison.Evaluation` and `comparison.significance`.
"""

from collections.abc import Callable
from importlib.resources import as_file, files
from itertools import cycle
from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jointsparse import papers
from jointsparse.sweep import GAP

MARKERS = "osD^vXP"  # one more than there are colours, so that 42 methods differ


def draw(name: str, table: pd.DataFrame) -> Figure:
    """The figure of that name. Raises ValueError with the known names for another."""
    if name not in FIGURES:
        raise ValueError(f"figures knows {', '.join(FIGURES)}; got {name!r}")
    with as_file(files("jointsparse") / "jointsparse.mplstyle") as sheet, style.context(str(sheet)):
        return FIGURES[name](table)


def _canvas(width: float = 6.0, height: float = 4.0) -> tuple[Figure, Axes]:
    """A figure that no window or global list knows of."""
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots()


def convergence(table: pd.DataFrame) -> Figure:
    """Fig. 2: the objective at every iteration for each radius at its best eta0, on the largest training sets.

    The objective is divided by its value at W = 0, as the axis of the paper's figure runs from 0 to 1.
    """
    largest = table[(table["n"] == table["n"].max()) & (table["run"] == table["run"].min())]
    figure, axes = _canvas()
    for radius, rows in largest.groupby("parameter"):
        label = f"radius {radius:g} (" + ("" if rows["eta0"].isna().all() else f"eta0 {rows['eta0'].iloc[0]:g}, ")
        label += f"certified gap {_percent(rows['gap'].iloc[0])})"
        axes.plot(rows["iteration"], rows["objective"], label=label)
    axes.set_ylim(0, max(1.05, min(2.0, largest["objective"].quantile(0.99))))
    axes.set_xlabel("iteration")
    axes.set_ylabel("objective / objective at W = 0")
    axes.set_title(
        f"Convergence of {largest['method'].iloc[0]}, {largest['n_samples'].iloc[0]:,} samples\n"
        "(paper: Fig. 2, radius 0.1, 1, 10, 100, 63,408 samples)"
    )
    axes.legend()
    return figure


def auc(table: pd.DataFrame) -> Figure:
    """Fig. 3: average test AUC of the words not used for validation, against the number of training samples."""
    figure, axes = _canvas()
    mean = table.groupby(["method", "n_samples"], sort=False)["auc"].mean()
    low, high = papers.FIGURE_3_AUC_RANGE
    axes.axhspan(low, high, color="0.88", label=f"range of the paper's Fig. 3 (Reuters): {low:g} to {high:g}", zorder=0)
    for method, marker in zip(table["method"].unique(), cycle(MARKERS), strict=False):
        axes.plot(mean[method].index, mean[method], marker=marker, label=method)
        if len(table["run"].unique()) > 1:
            one = table[table["method"] == method]
            axes.plot(one["n_samples"], one["auc"], ".", color=axes.lines[-1].get_color(), alpha=0.4, markersize=3)
    _mark_unfinished(
        axes, table.groupby(["method", "n_samples"], as_index=False).agg({"auc": "mean", "gap": "max"}), "n_samples"
    )
    sizes = sorted(table["n_samples"].unique())
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("number of training samples, all words together")
    axes.set_ylabel("average test AUC")
    axes.set_title("Comparison of methods (paper: Fig. 3)")
    axes.legend()
    return figure


def _mark_unfinished(axes: Axes, points: pd.DataFrame, x: str) -> None:
    """A ring around each point whose fit may be far from the optimum."""
    far = points[points["gap"] > GAP]
    if len(far):
        label = f"certified gap above {_percent(GAP)}, up to {_percent(far['gap'].max())}"
        axes.plot(far[x], far["auc"], "o", color="0.35", markersize=11, markerfacecolor="none", label=label)


def _percent(gap: float) -> str:
    return f"{100 * gap:.2g}%"


def sparsity(table: pd.DataFrame) -> Figure:
    """Fig. 4: average test AUC against the fraction of features used by any word, on the largest training sets."""
    figure, axes = _canvas()
    largest = table[table["n"] == table["n"].max()].groupby(["method", "parameter"], sort=False).mean(numeric_only=True)
    colours = {}
    for method, marker in zip(table["method"].unique(), cycle(MARKERS), strict=False):
        points = largest.loc[method].sort_index()
        if points["features"].min() == points["features"].max() == 1:
            continue  # not a sparse method
        (line,) = axes.plot(100 * points["features"], points["auc"], marker=marker, label=method)
        colours[method] = line.get_color()
        for radius, used, reached in zip(points.index, 100 * points["features"], points["auc"], strict=True):
            axes.annotate(f"{radius:g}", (used, reached), (5, -9), textcoords="offset points", fontsize=7)
    drawn = largest[largest.index.get_level_values("method").isin(list(colours))]
    _mark_unfinished(axes, drawn.assign(features=100 * drawn["features"]), "features")
    for paper_method, used, reached in papers.FIGURE_4:
        axes.plot(
            100 * used,
            reached,
            marker="*",
            markersize=11,
            linestyle="none",
            color=colours.get(paper_method, "0.5"),
            markerfacecolor="none",
            label=f"paper (Reuters): {paper_method} {reached:.0%} AUC with {used:.0%}",
        )
    axes.set_xlim(0, 104)
    axes.set_xlabel("features used by any word (%)")
    axes.set_ylabel("average test AUC")
    axes.set_title("AUC and joint sparsity; the radius beside each point (paper: Fig. 4)")
    axes.legend()
    return figure


def significance(table: pd.DataFrame) -> Figure:
    """Table 1: p-values of sign tests of the first method against each other one, and the paper's."""
    rows = table[(table["words"] == "test words") & (table["run"] == table["run"].min())]
    method, others = rows["method"].iloc[0], rows["against"].unique()
    header = ["n", "samples"]
    for other in others:
        header += [f"{other}\np", "median p", "reverse p", "Holm p", "paper"]
    cells = []
    for n, group in rows.groupby("n"):
        line = [f"{n}", f"{group['n_samples'].iloc[0]:,}"]
        for other in others:
            row = group[group["against"] == other].iloc[0]
            line += [_p(row[name]) for name in ("p", "p_median", "p_reverse", "p_holm", "paper")]
        cells.append(line)
    figure, axes = _canvas(2.2 + 3.1 * len(others), 1.3 + 0.24 * len(cells))
    axes.axis("off")
    drawn = axes.table(cells, colLabels=header, loc="upper center", cellLoc="right", edges="horizontal")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    drawn.scale(1, 1.35)
    for (i, _), cell in drawn.get_celld().items():
        if i == 0:
            cell.set_height(1.9 * cell.get_height())
    axes.set_title(f"Sign tests: is {method} better? One-sided p-values (paper: Table 1, Reuters photographs)")
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


def _p(value: float) -> str:
    """A p-value for people."""
    if value is None or np.isnan(value):
        return "–"
    return f"{value:.2g}" if value >= 1e-4 else f"{value:.0e}"


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
        axes.set_title("\n".join(wrap(str(first.get(image, "")), 34)[:3]), fontsize=6)
    for axes in figure.axes:
        axes.axis("off")
    return figure


FIGURES = {"convergence": convergence, "auc": auc, "sparsity": sparsity, "significance": significance}
