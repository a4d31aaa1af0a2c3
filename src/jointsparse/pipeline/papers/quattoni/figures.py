"""The figures of Quattoni et al. (2009, and the report of 2008), with the values that the papers state."""

from __future__ import annotations

from collections.abc import Iterable
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
    label,
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

    The training sets are the largest. The objective is divided by its value at W = 0, because the axis of the paper's
    figure runs from 0 to 1.
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
        title=f"Convergence of {label(largest['method'].iloc[0])}, {largest['n_samples'].iloc[0]:,} samples{source}",
    )
    legend(figure)
    return figure


def eer_by_word(table: pd.DataFrame, *, source: str = "") -> Figure:
    """Test equal error rate of each word at one size (Quattoni et al. 2008, Fig. 3 right)."""
    return study.eer_by_word(table, n=report_size(table["n"].unique()), source=source)


LOWEST_P = 1e-9  # smaller p-values are drawn here


def significance(table: pd.DataFrame, *, reported: pd.DataFrame | None = None, source: str = "") -> Figure:
    """One-sided p-values of sign tests of the first method against each other method (Quattoni et al. 2009, Table 1).

    The tests pool the test words. A filled marker is the p-value of all runs and pairings together, which the verdict
    uses, and a hollow one that of the reverse direction. A bar spans the p-values of the single runs, each of one
    pairing as in the paper. reported: p-values of a paper by n, with a column for each norm.
    """
    rows = table[table["words"] == "test words"].sort_values("n", kind="stable")
    require(len(rows), "the table significance must have rows of the test words, got none", Misfit)
    method, others, runs = label(table["method"].iloc[0]), list(rows["against"].unique()), table["run"].nunique()
    sizes, method_looks = list(rows["n"].unique()), looks(rows["against"])
    figure, panels = canvas(max(5.0, 3.0 * len(others)), 0.8 + 0.45 * len(sizes), len(others), sharex=True, sharey=True)
    for axes, other in zip(panels, others, strict=True):
        own = rows[rows["against"] == other]
        look = method_looks[other] | {"linestyle": "none", "clip_on": False, "zorder": 3}
        tests = [own[own["n"] == n] for n in sizes]
        low, high = (_drawn_p(test["p"].agg(end) for test in tests) for end in ("min", "max"))
        pooled = [[over_runs(test[f"{name}_median"]) for test in tests] for name in ("p", "p_reverse")]
        axes.hlines(np.arange(len(sizes)), low, high, color="0.6", linewidth=4)
        axes.plot(_drawn_p(pooled[0]), range(len(sizes)), **look)
        axes.plot(_drawn_p(pooled[1]), range(len(sizes)), **look | {"markerfacecolor": "none"})
        if reported is not None:
            column = str(other).split("-")[-1]
            stated = reported.set_index("n").get(column, pd.Series(dtype=float)).reindex(sizes)
            axes.plot(_drawn_p(stated), range(len(sizes)), "*", color="0.2", markersize=11, label="_papers", zorder=4)
        axes.axvline(0.05, **STATED)
        axes.set(xscale="log", xlabel="p", title=f"against {label(other)}")
    panels[0].set_yticks(range(len(sizes)), [f"{n:,}" for n in sizes])
    panels[0].set(ylim=(len(sizes) - 0.5, -0.5), ylabel="positives of each word")
    figure.suptitle(f"Sign tests: is {method} better? {runs} run{'s' if runs > 1 else ''}{source}")
    point = {"marker": "o", "linestyle": "none"}
    entries = [
        entry("all runs and pairings together", **point),
        entry("the reverse: is it worse?", **point, markerfacecolor="none"),
        entry("single runs", color="0.6", linewidth=4),
        entry("p = 0.05", **STATED),
        entry("pooled pairs share samples, so the tests are not exact", linestyle="none"),
    ]
    entries += (
        [entry("paper", color="0.2", marker="*", markersize=11, linestyle="none")] if reported is not None else []
    )
    legend(figure, *entries)
    return figure


def _drawn_p(values: Iterable[float]) -> np.ndarray:
    """Return p-values as they are drawn: values below LOWEST_P are raised to LOWEST_P."""
    return np.maximum(np.asarray(list(values), dtype=float), LOWEST_P)


# The synthetic experiment


MAIN_SETTING = ("working_set", "true")
# The look and the label for each combination of a solver and a rule for the radius. Subgradient steps reach nearly the
# same error as the certified fits, so they are drawn as rings around the points of these fits.
RING: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 11, "fillstyle": "none"}
SETTINGS: dict[tuple[str, str], tuple[dict[str, Any], str]] = {
    MAIN_SETTING: ({"linestyle": "-"}, "certified, true radius"),
    ("working_set", "validated"): ({"linestyle": ":", "marker": ""}, "certified, validated radius"),
    ("subgradient", "true"): (RING, "subgradient steps, true radius (the paper's)"),
}


def test_error(table: pd.DataFrame) -> Figure:
    """Mean test error of synthetic tasks against the number of training samples (Quattoni et al. 2009, Fig. 1 top)."""
    figure, (axes,) = canvas()
    for (method, look, method_rows), (setting, (line, _)) in product(by_method(table), SETTINGS.items()):
        solver, rule = setting
        rows = method_rows[(method_rows["solver"] == solver) & (method_rows["radius_rule"] == rule)]
        is_main = setting == MAIN_SETTING
        name = label(method) if is_main else f"_{label(method)}, {solver}, {rule}"
        curve(axes, rows, "n", "test_error", scale=100, band=is_main, label=name, **look | line)
    size_axis(axes, table["n"], "training samples of each task")
    axes.set(ylim=(0, None), ylabel="test error (%)", title="Synthetic tasks (paper: Fig. 1 top, l1,∞ lowest)")
    shown = set(zip(table["solver"], table["radius_rule"], strict=True))
    entries = [entry(text, **line) for setting, (line, text) in SETTINGS.items() if setting in shown]
    legend(figure, *entries, *band_note(table, "band (solid)"))
    return figure


def error_by_arm(table: pd.DataFrame) -> Figure:
    """Mean test error of synthetic tasks at validated radii, by weights and support (Quattoni et al. 2009, sec. 5).

    The paper has normal weights on random supports.
    """
    rows = table[table["radius_rule"] == "validated"]
    supports, weights = table["support"].unique(), table["weights"].unique()
    figure, panels = canvas(1 + 2.4 * max(len(weights), 2), 2.6 * len(supports), len(weights), len(supports))
    for axes, (support, kind) in zip(panels, product(supports, weights), strict=True):
        for method, look, method_rows in by_method(rows[(rows["support"] == support) & (rows["weights"] == kind)]):
            curve(axes, method_rows, "n", "test_error", scale=100, label=label(method), **look)
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
    return _selection(table, "true", "(paper: Fig. 1 bottom, l1,∞ more precise)")


def selection_by_validation(table: pd.DataFrame) -> Figure:
    """Precision and recall as in `selection`, at validated radii (Quattoni et al. 2009, sec. 5, footnote 2)."""
    return _selection(table, "validated", "at validated radii (paper: sec. 5, footnote 2)")


def _selection(table: pd.DataFrame, radius_rule: str, which: str) -> Figure:
    """Draw precision and recall at the radii that are chosen by a rule. which: the words that end the title."""
    rows = table[(table["solver"] == "working_set") & (table["radius_rule"] == radius_rule)]
    figure, (axes,) = canvas()
    for method, look, method_rows in by_method(rows[~rows["method"].str.endswith("-l2")]):
        for name, line in (("precision", {"linestyle": "-"}), ("recall", {"linestyle": ":", "fillstyle": "none"})):
            curve(axes, method_rows, "n", name, scale=100, **look | line, label=f"{name}, {label(method)}")
    size_axis(axes, table["n"], "training samples of each task")
    axes.set(ylim=(0, 104), ylabel="precision, recall (%)", title=f"Feature selection {which}")
    legend(figure, *band_note(rows))
    return figure


# Cost


# For each part of the cost table, the labels of both axes, and the cost that the papers state, up to a constant factor.
PARTS = {
    "projection size": ("entries of the matrix", "seconds per projection", "x * log(x)"),
    "projection rows": ("non-zero rows of the matrix", "seconds per projection", "x * m * log(x * m)"),
    "one task": ("entries of the vector", "seconds per projection", "x * log(x)"),
    "projection tasks": ("tasks, with a constant number of entries", "seconds per projection", "x / x"),
    "training samples": ("training samples of each task", "seconds per iteration", "1.0 * x"),
    "tasks": ("tasks", "seconds of training", "1.0 * x"),
}


def cost(table: pd.DataFrame) -> Figure:
    """Measured seconds of projections and of training (Quattoni et al. 2009, sec. 4.2; 2008, abstract).

    The dashed line grows as the papers state, and ends at the last measurement of the first method.
    """
    parts, method_looks = table["part"].unique(), looks(table["method"])
    figure, panels = grid(len(parts), 3, 10.4, 2.7)
    for axes, name in zip(panels, parts, strict=True):
        x, y, growth = PARTS[name]
        rows = table[table["part"] == name].sort_values("x")
        for method, method_rows in rows.groupby("method", sort=False):
            axes.plot(method_rows["x"], method_rows["seconds"], label=label(method), **method_looks[method])
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
