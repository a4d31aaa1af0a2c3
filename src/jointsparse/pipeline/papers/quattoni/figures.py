"""Figures of Quattoni et al. (2009, and the report of 2008) beside the numbers that the papers print."""

from __future__ import annotations

from itertools import cycle, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jointsparse.checks import Misfit, require
from jointsparse.metrics import over_runs
from jointsparse.pipeline.figures import study
from jointsparse.pipeline.figures.style import (
    STATED,
    band_note,
    by_method,
    canvas,
    curve,
    entry,
    grid,
    growth_line,
    legend,
    log_axis,
    looks,
    median_of,
    percent,
    size_axis,
)
from jointsparse.pipeline.papers.quattoni.numbers import report_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Image annotation, stories, scenes


def convergence(table: pd.DataFrame, *, source: str = "") -> Figure:
    """Objective at every iteration, for each radius at its best eta0 (Quattoni et al. 2009, Fig. 2).

    The figure shows the largest training sets. The objective is divided by its value at W = 0, because the axis of the
    paper's figure runs from 0 to 1.
    """
    from matplotlib import colormaps, rcParams

    largest = table[(table["n"] == table["n"].max()) & (table["run"] == table["run"].min())]
    figure, (axes,) = canvas()
    by_radius = largest.groupby("radius")
    colours = colormaps[rcParams["image.cmap"]](np.linspace(0, 0.85, len(by_radius)))
    for (radius, rows), colour, dashes in zip(by_radius, colours, cycle(("-", "--", "-.", ":")), strict=False):
        step = "" if rows["eta0"].isna().all() else f"eta0 {rows['eta0'].iloc[0]:g}, "
        axes.plot(
            rows["iteration"],
            rows["objective"],
            label=f"radius {radius:g} ({step}certified gap {percent(rows['gap'].iloc[0])})",
            color=colour,
            linestyle=dashes,
        )
    top = largest["objective"].quantile(0.99)
    axes.set(
        ylim=(0, 1.05 if np.isnan(top) else max(1.05, min(2.0, top))),
        xlabel="iteration",
        ylabel="objective / objective at W = 0",
        title=f"Convergence of {largest['method'].iloc[0]}, {largest['n_samples'].iloc[0]:,} samples{source}",
    )
    legend(figure)
    return figure


def eer_by_word(table: pd.DataFrame, *, source: str = "") -> Figure:
    """Test equal error rate of each word at one size (Quattoni et al. 2008, Fig. 3 right)."""
    return study.eer_by_word(table, n=report_size(table["n"].unique()), source=source)


def significance(table: pd.DataFrame, *, reported: pd.DataFrame | None = None, source: str = "") -> Figure:
    """One-sided p-values of sign tests of the first method against the others (Quattoni et al. 2009, Table 1).

    Only test words are included. p is the value over all runs and pairings, as in the verdict. "p of each run" is the
    paper's test with one pairing. reported: p-values of a paper by n, with a column per norm.
    """
    rows = table[table["words"] == "test words"].sort_values("n", kind="stable")
    require(len(rows), "the table significance must have rows of the test words, got none", Misfit)
    method, runs = table["method"].iloc[0], table["run"].nunique()
    cells = []
    for (n, other), tests in rows.groupby(["n", "against"], sort=False):
        each_run = " to ".join(dict.fromkeys(map(_p, (tests["p"].min(), tests["p"].max()))))
        all_runs = [_p(over_runs(tests[f"{name}_median"])) for name in ("p", "p_reverse")]
        cells.append([str(n), f"{tests['n_samples'].iloc[0]:,}", str(other), *all_runs, each_run])
        if reported is not None:
            stated = reported.loc[reported["n"] == n].get(str(other).split("-")[-1])
            cells[-1].append("–" if stated is None or stated.empty else _p(stated.iloc[0]))
    columns = ["n", "samples", "against", "p, all runs", "p, reverse", "p of each run", "p, paper"][: len(cells[0])]
    figure, (axes,) = canvas(8.4, 1.5 + 0.24 * len(cells))
    axes.axis("off")
    drawn = axes.table(cells, colLabels=columns, loc="upper center", cellLoc="right", edges="horizontal")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    drawn.scale(1, 1.35)
    axes.set_title(f"Sign tests: is {method} better? One-sided p-values, {runs} run{'s' if runs > 1 else ''}{source}")
    note = "Pooled pairs share samples across words, so the test is not exact."
    axes.text(0.5, 0.0, note, ha="center", transform=axes.transAxes, fontsize=8, color="0.35")
    return figure


def _p(value: float) -> str:
    """Return a p-value as text."""
    if np.isnan(value):
        return "–"
    return f"{value:.2g}" if value >= 1e-4 else f"{value:.0e}"


# The synthetic experiment


MAIN_SETTING = ("working_set", "true")
SETTINGS: dict[tuple[str, str], tuple[Any, float, str]] = {  # solver and radius: dashes, width, label in the legend
    MAIN_SETTING: ("-", 1.0, "certified, true radius"),
    ("working_set", "validated"): (":", 0.8, "certified, validated radius"),
    ("subgradient", "true"): ("--", 0.5, "subgradient steps, true radius (the paper's)"),
}


def test_error(table: pd.DataFrame) -> Figure:
    """Mean test error of synthetic tasks against the number of training samples (Quattoni et al. 2009, Fig. 1 top)."""
    figure, (axes,) = canvas()
    for (method, look, method_rows), setting in product(by_method(table), SETTINGS):
        solver, rule = setting
        rows = method_rows[(method_rows["solver"] == solver) & (method_rows["radius_rule"] == rule)]
        is_main = setting == MAIN_SETTING
        line = look | {"label": method} if is_main else look | {"label": f"_{method}, {solver}, {rule}", "marker": ""}
        curve(axes, rows, "n", "test_error", scale=100, band=is_main, **line | _line(setting))
    size_axis(axes, table["n"], "training samples of each task")
    axes.set(ylim=(0, None), ylabel="test error (%)", title="Synthetic tasks (paper: Fig. 1 top, l1inf lowest)")
    shown = set(zip(table["solver"], table["radius_rule"], strict=True))
    entries = [entry(label, **_line(setting)) for setting, (*_, label) in SETTINGS.items() if setting in shown]
    legend(figure, *entries, *band_note(table, "band (solid)"))
    return figure


def _line(setting: tuple[str, str]) -> dict[str, Any]:
    from matplotlib import rcParams

    dashes, width, _ = SETTINGS[setting]
    return {"linestyle": dashes, "linewidth": width * rcParams["lines.linewidth"]}


def error_by_arm(table: pd.DataFrame) -> Figure:
    """Mean test error of synthetic tasks (Quattoni et al. 2009, sec. 5) for each kind of weights and support, at
    validated radii.

    The paper has normal weights on random supports.
    """
    rows = table[table["radius_rule"] == "validated"]
    supports, weights = table["support"].unique(), table["weights"].unique()
    figure, panels = canvas(1 + 2.4 * max(len(weights), 2), 2.6 * len(supports), len(weights), len(supports))
    for axes, (support, kind) in zip(panels, product(supports, weights), strict=True):
        for method, look, method_rows in by_method(rows[(rows["support"] == support) & (rows["weights"] == kind)]):
            curve(axes, method_rows, "n", "test_error", scale=100, label=method, **look)
        size_axis(axes, table["n"], "training samples of each task", most=4)
        axes.set(ylim=(0, None), title=f"{kind} weights, {support} support")
    for axes in panels[:: len(weights)]:
        axes.set_ylabel("test error (%)")
    fits = "certified fits" if (rows["solver"] == "working_set").all() else "subgradient steps, far from optima"
    figure.suptitle(f"Validated radii, {fits}\n(paper: Fig. 1 top, normal weights on random supports)")
    legend(figure, *band_note(rows))
    return figure


def selection(table: pd.DataFrame) -> Figure:
    """Precision and recall of the features that any synthetic task uses (Quattoni et al. 2009, Fig. 1 bottom).

    l2 is not shown, because it uses all features.
    """
    return _selection(table, "true", "(paper: Fig. 1 bottom, l1inf more precise)")


def selection_by_validation(table: pd.DataFrame) -> Figure:
    """Precision and recall as in `selection`, at validated radii (Quattoni et al. 2009, sec. 5, footnote 2)."""
    return _selection(table, "validated", "at validated radii (paper: sec. 5, footnote 2)")


def _selection(table: pd.DataFrame, radius_rule: str, which: str) -> Figure:
    """Draw precision and recall at the radii of a rule. which: the end of the title."""
    rows = table[(table["solver"] == "working_set") & (table["radius_rule"] == radius_rule)]
    figure, (axes,) = canvas()
    for method, look, method_rows in by_method(rows[~rows["method"].str.endswith("-l2")]):
        for name, line in (("precision", {"linestyle": "-"}), ("recall", {"linestyle": ":", "fillstyle": "none"})):
            curve(axes, method_rows, "n", name, scale=100, **look | line, label=f"{name}, {method}")
    size_axis(axes, table["n"], "training samples of each task")
    axes.set(ylim=(0, 104), ylabel="precision, recall (%)", title=f"Feature selection {which}")
    legend(figure, *band_note(rows))
    return figure


# Cost


# For each part of the cost table: the labels of both axes, and the cost that the papers state, up to a factor.
PARTS = {
    "projection size": ("entries of the matrix", "seconds per projection", "x * log(x)"),
    "projection rows": ("non-zero rows of the matrix", "seconds per projection", "x * m * log(x * m)"),
    "one task": ("entries of the vector", "seconds per projection", "x * log(x)"),
    "projection tasks": ("tasks of a matrix of as many entries", "seconds per projection", "x / x"),
    "training samples": ("training samples of each task", "seconds per iteration", "1.0 * x"),
    "tasks": ("tasks", "seconds of training", "1.0 * x"),
}


def cost(table: pd.DataFrame) -> Figure:
    """Measured seconds of projections and of training (Quattoni et al. 2009, sec. 4.2; 2008, abstract).

    The reference line grows as the papers state, and ends at the last measurement of the first method.
    """
    parts, method_looks = table["part"].unique(), looks(table["method"])
    figure, panels = grid(len(parts), 3, 10.4, 2.7)
    for axes, name in zip(panels, parts, strict=True):
        x, y, growth = PARTS[name]
        rows = table[table["part"] == name].sort_values("x")
        for method, method_rows in rows.groupby("method", sort=False):
            axes.plot(method_rows["x"], method_rows["seconds"], label=method, **method_looks[method])
        first = rows[rows["method"] == rows["method"].iloc[0]].dropna(subset=["seconds"])
        growth_line(axes, first["x"], first["seconds"], first.eval(growth))
        size_axis(axes, rows["x"], x, most=4)
        log_axis(axes, "y")
        axes.set_ylabel(y)
        fixed = [f"{column} = {rows[column].iloc[0]:,.0f}" for column in ("d", "m") if len(set(rows[column])) == 1]
        axes.set_title(", ".join([name, *fixed]), fontsize=9)
    figure.suptitle(f"Measured seconds, each {median_of(table)}")
    stated = "papers: N log N in the number N of non-zero entries; linear in the number of samples"
    legend(figure, entry(stated, **STATED))
    return figure
