"""The figures of Duchi et al. (2008), sec. 7, and figures of the costs that the paper states.

`catalogue.draw` draws them.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jointsparse.pipeline.figures.style import (
    STATED,
    band_note,
    by_method,
    canvas,
    curve,
    entry,
    few_ticks,
    grid,
    growth_line,
    in_order,
    label,
    legend,
    log_axis,
    median_of,
    nothing,
    percent,
    size_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

REACHED = 1e-2  # the suboptimality that the paper's methods reach quickly
THIN: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.6}  # for the lines of all runs except the first
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))  # for a second variable; the colours show the methods


def _dashes(values: Iterable[float]) -> dict[Any, Any]:
    return dict(zip(sorted(set(values)), cycle(DASHES), strict=False))


def _keys(dashes: dict[Any, Any], name: str) -> list[Line2D]:
    """Return the legend entries that explain the dashes."""
    return [entry(f"{name} {value:,.10g}", linestyle=dash) for value, dash in dashes.items()]


def _labels(table: pd.DataFrame) -> dict[str, str]:
    """Return the legend label of each method, followed by a star if any fit of the method has a warning."""
    warned = set(table["method"][table["warning"].notna() & (table["warning"] != "")])
    return {method: label(method) + "*" * (method in warned) for method in table["method"].unique()}


def _warnings(table: pd.DataFrame) -> list[Line2D]:
    """Return the legend entry that explains the stars of `_labels`, or nothing if there are no warnings."""
    texts = " or ".join(text for text in table["warning"].dropna().unique() if text)
    return [entry(f"*some fits: {texts}", linestyle="none")] if texts else []


def _traces(axes: Axes, rows: pd.DataFrame, x: str, looks: dict[str, dict[str, Any]], labels: dict[str, str]) -> None:
    """Draw the suboptimality against x: each method's first run in the look of the method, other runs as thin lines."""
    first_run = rows["run"].min()
    rows = rows[(rows["suboptimality"] > 0) & rows[x].notna()]
    for method, look in looks.items():
        for run, trace in rows[rows["method"] == method].groupby("run"):
            if run == first_run:
                line = {"label": labels[method], "markevery": 0.1}
            else:
                line = THIN | {"marker": "", "label": f"_{method}, run {run}"}
            axes.plot(trace[x], trace["suboptimality"], **look | line)
    if not axes.lines:
        nothing(axes, "no numbers")
    log_axis(axes, "y")
    axes.set_ylabel("suboptimality /\nobjective at w = 0")


def _other_runs(table: pd.DataFrame) -> list[Line2D]:
    """Return the legend entry for the thin lines of `_traces`, or nothing if there is only one run."""
    more = table["run"].nunique() - 1
    return [entry(f"thin: {more} more run{'s' if more > 1 else ''}", **THIN)] if more else []


def projection(table: pd.DataFrame) -> Figure:
    """Measured seconds of projections onto the l1 ball, and of updates of k entries (Duchi et al. 2008, sec. 5 and 6).

    The dashed line of the second panel grows with k log n, and ends at the last measurement of the tree at the largest
    n. Steps of the exponentiated gradient do not project, and are left out.
    """
    figure, panels = canvas(7.2, 3.2, 2)
    table = table[table["method"] != "entropic"].sort_values(["n", "x"])
    updates = table[table["part"] == "touched"]
    dashes, tree = _dashes(updates["n"]), updates[updates["method"] == "tree"].dropna(subset=["seconds"])
    for axes, part, x_label, what, stated in (
        (panels[0], "dimension", "dimension n", "projection", "pivot in O(n)"),
        (panels[1], "touched", "k, touched entries", "update", "tree in O(k log n)"),
    ):
        shown = table[table["part"] == part]
        for method, look, rows in by_method(shown):
            for n, line in rows.groupby("n" if part == "touched" else "part"):
                dashed = look | {"label": label(method), "linestyle": dashes.get(n, look["linestyle"])}
                axes.plot(line["x"], line["seconds"], **dashed)
        axes.set(xlabel=x_label, ylabel=f"CPU seconds per {what}")
        axes.set_title(f"{what} (paper: {stated})", fontsize=10)
        if shown.empty:
            nothing(axes, "not measured")
            continue
        size_axis(axes, shown["x"], x_label, most=3)
        log_axis(axes, "y")
    last = tree[tree["n"] == tree["n"].max()]
    growth_line(panels[1], last["x"], last["seconds"], last["x"] * np.log(last["n"]))
    figure.suptitle(f"l1 ball: seconds, each {median_of(table)}")
    growth = [entry("paper: k log n", **STATED)] if len(tree) else []
    legend(figure, *growth, *_keys(dashes, "non-zero entries n ="))
    return figure


def race(table: pd.DataFrame) -> Figure:
    """Suboptimality against CPU seconds and floating-point operations (Duchi et al. 2008, Fig. 4 and 5).

    Each problem has a row. The paper draws f(w) - f(w*) against operations; here it is divided by the objective at
    w = 0. Both axes are logarithmic, so the start w = 0, which costs nothing, is left out. The operations of coordinate
    descent on the logistic loss are not counted.
    """
    problems = list(table.groupby(["problem", "n"], sort=False))
    costs = [("seconds", "CPU seconds"), ("flops", "floating-point operations")]
    figure, panels = canvas(7.2, 0.4 + 2.4 * len(problems), len(costs), len(problems), sharey="row")
    for axes, (((problem, n), rows), (x, x_label)) in zip(panels, product(problems, costs), strict=True):
        _traces(axes, rows[(rows["step"] > 0) & (rows[x] > 0)], x, in_order(table), _labels(table))
        log_axis(axes, "x")
        axes.axhline(REACHED, **STATED)
        axes.set_xlabel(x_label)
        axes.set_title(f"{problem} loss, n = {n:,}", fontsize=10)
    figure.suptitle("Suboptimality (paper: Fig. 4, squared; Fig. 5, logistic)")
    reached = entry(f"{REACHED:g} (paper: soon reached, then slower)", **STATED)
    legend(figure, *_other_runs(table), reached, *_warnings(table))
    return figure


def exponentiated(table: pd.DataFrame) -> Figure:
    """Suboptimality of projected and exponentiated gradient against CPU seconds (Duchi et al. 2008, Fig. 6 and 7)."""
    return _exponentiated(table, "seconds", "CPU seconds")


def exponentiated_gradients(table: pd.DataFrame) -> Figure:
    """Suboptimality of projected and exponentiated gradient against gradients (Duchi et al. 2008, Fig. 6 and 7).

    A line shows the lowest objective that any of the step sizes has reached after so many gradients.
    """
    best = table.assign(suboptimality=table["best_suboptimality"])
    return _exponentiated(best, "gradients", "single-sample gradients", ", best eta0 for each")


def _exponentiated(table: pd.DataFrame, x: str, x_label: str, note: str = "") -> Figure:
    """Draw a panel for each form of the gradient and each radius. Titles show means over runs at the last step."""
    runs = list(table.groupby(["form", "radius"], sort=False))
    figure, panels = grid(len(runs), 4, max(5.0, 3.0 * min(4, len(runs))), 2.6)
    looks = in_order(table)
    for i, (axes, ((form, radius), rows)) in enumerate(zip(panels, runs, strict=True)):
        _traces(axes, rows, x, looks, _labels(table))
        shown = [method for method in looks if method in set(rows["method"])]
        ends = [f"{label(method)}: {_end(rows[rows['method'] == method])}" for method in shown]
        axes.set_title("\n".join([f"{form}, radius {radius:,.10g}", *ends]), fontsize=7)
        axes.set_xlabel(x_label)
        few_ticks(axes)
        if i % 4:
            axes.set_ylabel("")
    figure.suptitle(f"Projection and exponentiated gradient{note}\n(paper: Fig. 6, text; Fig. 7, digits)")
    legend(figure, *_other_runs(table), *_warnings(table))
    return figure


def _end(rows: pd.DataFrame) -> str:
    """Return a string with the fraction of non-zero weights and the test error at the last step, as means over runs."""
    last = rows.sort_values("step", kind="stable").groupby("run").tail(1)
    return f"{percent(last['non_zero'].mean())} non-zero, error {percent(last['test_error'].mean())}"


def online(table: pd.DataFrame) -> Figure:
    """Mean log loss, errors and non-zero weights in one pass over sparse text (Duchi et al. 2008, sec. 7)."""
    figure, panels = canvas(9.6, 3.0, 3)
    dashes, labels = _dashes(table["radius"]), _labels(table)
    shown = {"loss": "mean log loss so far", "error": "errors so far (%)", "non_zero": "non-zero weights (%)"}
    for axes, (y, y_label) in zip(panels, shown.items(), strict=True):
        for i, (method, look, method_rows) in enumerate(by_method(table)):
            for radius, rows in method_rows.groupby("radius"):
                line = look | {"label": labels[method], "linestyle": dashes[radius], "markevery": (i, 4)}
                curve(axes, rows, "examples", y, by="examples", scale=1 if y == "loss" else 100, **line)
        axes.set(xlabel="examples", ylabel=y_label)
        few_ticks(axes)
    log_axis(panels[2], "y")
    figure.suptitle("One pass over sparse text (paper: sec. 7)")
    legend(figure, *_keys(dashes, "radius"), *band_note(table), *_warnings(table))
    return figure
