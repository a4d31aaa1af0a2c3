"""Panels, legends, axes and curves for all figures, and the look of each method in figures and on pages.

matplotlib is imported inside the functions that draw, because the workflow reads the tables and captions of the figures
from this module whenever it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.registry import room

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

# The colours on white paper and on a dark page. The five colours for the norms and the SVM stay at least 25 apart in
# CIELAB under simulated protanopia, deuteranopia and tritanopia, differ in grey, and have a contrast of at least 3 with
# the background. The style sheet repeats the first of each pair as C0 to C7.
PALETTE = {
    "l1inf": ("#16347f", "#a9c1ff"),
    "l1": ("#c94200", "#e8743b"),
    "l2": ("#732e56", "#a8538c"),
    "l12": ("#1e8fc7", "#2c8fc9"),
    "other": ("#949494", "#cfcfcf"),
    "other1": ("#2f7d4f", "#5fae7e"),
    "other2": ("#7a5fc0", "#b49ae6"),
    "other3": ("#5c4033", "#c39a70"),
}
_C = [colour for colour, _ in PALETTE.values()]
# Colour, marker and dashes. All three differ, so that methods can be told apart in grey too.
FIVE: tuple[tuple[str, str, Any], ...] = (
    (_C[0], "o", "-"),
    (_C[1], "s", (0, (6, 1.5))),
    (_C[2], "D", "-."),
    (_C[3], "^", (0, (4, 1.2, 1, 1.2, 1, 1.2))),
    (_C[4], "v", "--"),
)
OTHERS = (
    (_C[5], "P", ":"),
    (_C[6], "X", (0, (2, 1))),
    (_C[7], "<", "-."),
    (_C[5], ">", "--"),
    (_C[6], "p", ":"),
)
NORM_LOOKS = dict(zip(("l1inf", "l1", "l2", "l12"), FIVE, strict=False))  # further norms share the looks in OTHERS
NORM_NAMES = {"l1inf": "l1,∞", "l12": "l1,2"}  # names for readers; other norms are shown under their names in the code
# For each loss, in order: how much lighter than the norm's colour its lines are, and which part of its marker is
# filled.
SHADES = ((0.0, "full"), (0.3, "bottom"), (0.5, "none"), (0.3, "left"), (0.5, "top"))
# Algorithms in the same row share a look, because no figure shows two of them. "tree" shares the row of "projection"
# and "stochastic" because it computes their projections.
SHARING = (
    ("newton", "batch"),
    ("sort", "entropic", "coordinate-descent"),
    ("pivot", "line-search", "full of non-zeros", "verbatim"),
    ("tree", "projection", "stochastic"),
    ("full", "interior-point", "svm-l2"),
)
NAMED = {method: look for look, methods in zip(FIVE, SHARING, strict=True) for method in methods}

SHEET = "jointsparse.pipeline.figures.jointsparse"  # the name of the style sheet for matplotlib.style
STATED: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1}  # lines for values that a paper states


def label(method: str) -> str:
    """Return the label by which figures and pages name a method, a norm or an algorithm.

    >>> label("hinge-l1inf"), label("logistic-l12"), label("l12"), label("svm-l2"), label("line-search")
    ('l1,∞', 'l1,2 (logistic)', 'l1,2', 'linear SVM', 'line-search')
    """
    if method == "svm-l2":
        return "linear SVM"
    loss, _, norm = method.rpartition("-")
    if norm not in room("norms") or loss not in ("", *room("losses")):
        return method
    name = NORM_NAMES.get(norm, norm)
    return name if loss in ("", "hinge") else f"{name} ({loss})"


def looks(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the colour, marker and dashes of each method, as keywords of `Axes.plot`.

    A method named `loss-norm` has the look of its norm, in a lighter colour that depends on its loss. Algorithms in
    `NAMED` have looks of their own. All other methods, sorted by name, get the looks in `OTHERS` in turn.
    """
    from matplotlib.colors import to_hex, to_rgb

    turns = cycle(OTHERS)
    norms = NORM_LOOKS | {norm: next(turns) for norm in room("norms") if norm not in NORM_LOOKS}
    shades = dict(zip(room("losses"), cycle(SHADES), strict=False))
    known = {
        **{f"{loss}-{norm}": (norms[norm], shades[loss]) for loss in shades for norm in norms},
        **{method: (look, SHADES[0]) for method, look in NAMED.items()},
    }
    method_looks = {}
    for method in sorted(set(methods)):
        (colour, marker, dashes), (lighter, filled) = known.get(method) or (next(turns), SHADES[0])
        red, green, blue = (c + lighter * (1 - c) for c in to_rgb(colour))
        colour = to_hex((red, green, blue))
        method_looks[method] = {
            "color": colour,
            "marker": marker,
            "linestyle": dashes,
            "fillstyle": "full" if filled == "none" else filled,
            "markerfacecolor": "white" if filled == "none" else colour,
            "markerfacecoloralt": "white",
        }
    return method_looks


def in_order(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the look of each method in a table, in the table's order. The first method is drawn on top."""
    look = looks(table["method"])
    return {method: look[method] | {"zorder": 3 - i / 100} for i, method in enumerate(table["method"].unique())}


def by_method(table: pd.DataFrame) -> list[tuple[str, dict[str, Any], pd.DataFrame]]:
    """Return each method in a table, its look, and its rows of the table, in the order of the table."""
    return [(method, look, table[table["method"] == method]) for method, look in in_order(table).items()]


class Drawing(NamedTuple):
    """A kind of figure, and the table that it is drawn from.

    Attributes
    ----------
    table : str
        Name of the table that the figure shows.
    function : function
        Draws the figure from its table.
    beside : str
        Name of a second table, which the figure also shows if the study has it; empty if there is no second table.
    place : str
        The figure in a paper that this figure reproduces, unless the function's docstring already names it.
    stated : mapping
        Keyword arguments of the function that hold the values stated in the paper.
    """

    table: str
    function: Callable[..., Figure]
    beside: str = ""
    place: str = ""
    stated: Mapping[str, Any] = {}

    @property
    def caption(self) -> str:
        """The caption: the first paragraph of the function's docstring, followed by the place."""
        text = " ".join(str(self.function.__doc__).split("\n\n")[0].split())
        return f"{text[:-1]} ({self.place})." if self.place else text


def canvas(
    width: float = 6.4, height: float = 3.6, panels: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Create a figure outside pyplot, with its panels.

    Parameters
    ----------
    width : float
        Width in inches.
    height : float
        Height in inches, without the legend; `legend` adds the height of the legend.
    panels : int
        Number of panels in each row.
    rows : int
        Number of rows of panels.
    **options : Any
        Passed to `Figure.subplots`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, list(figure.subplots(rows, panels, squeeze=False, **options).flat)


def grid(n: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Create a figure outside pyplot whose panels fill rows from left to right.

    Parameters
    ----------
    n : int
        Number of panels.
    columns : int
        Maximum number of panels in a row.
    width : float
        Width of the figure in inches.
    height : float
        Height of each row in inches, without the legend; `legend` adds the height of the legend.
    """
    columns, rows = min(columns, n), ceil(n / columns)
    figure, panels = canvas(width, 0.4 + height * rows, columns, rows)
    for axes in panels[n:]:
        axes.remove()
    return figure, panels[:n]


def entry(label: str, **look: Any) -> Line2D:
    """Return a legend entry that represents the lines of all methods. It is grey unless `look` sets another colour."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"color": "0.35", "label": label} | look)


def heading(figure: Figure, text: str) -> None:
    """Write a title above all panels, in the font size of a panel title."""
    from matplotlib import rcParams

    figure.suptitle(text, fontsize=rcParams["axes.titlesize"])


def legend(figure: Figure, *more: Any) -> None:
    """Draw a legend below the axes, with one entry per label, followed by the additional entries `more`.

    The figure grows by the height of the legend.
    """
    labelled = {h.get_label(): h for axes in figure.axes for h in axes.get_legend_handles_labels()[0]}
    handles = [*labelled.values(), *more]
    columns = _columns([len(handle.get_label()) for handle in handles], 16 * figure.get_figwidth())
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.19 * ceil(len(handles) / columns))


def _columns(lengths: list[int], width: float) -> int:
    """Return how many columns fit into a legend. lengths: letters in each entry. width: letters in a line."""
    for columns in range(min(4, len(lengths)), 1, -1):
        # The line next to the labels of a column and the gaps around it are as wide as 9 letters.
        if sum(9 + max(column) for column in np.array_split(lengths, columns)) <= width:
            return columns
    return 1


def size_axis(axes: Axes, sizes: Iterable[float], label: str, most: int = 8) -> None:
    """Make the x axis logarithmic, with ticks at those sizes whose labels fit next to each other.

    Parameters
    ----------
    axes : Axes
        The panel.
    sizes : iterable of float
        The values of x.
    label : str
        Label of the axis.
    most : int
        Maximum number of tick labels.
    """
    sizes = sorted(set(sizes))
    ticks = apart(np.log(sizes), (1 - 1e-9) * np.log(sizes[-1] / sizes[0]) / most)  # less, against rounding
    axes.set(xscale="log", xlabel=label)
    axes.set_xticks([sizes[i] for i in ticks], [short(sizes[i]) for i in ticks])
    axes.set_xticks([], minor=True)


def short(number: float) -> str:
    """Format a number as a tick label, with k for thousands and M for millions where that is shorter.

    >>> short(640), short(2560), short(40_000), short(1_200_000)
    ('640', '2,560', '40k', '1.2M')
    """
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if number >= max(unit, 1e4):
            return f"{number / unit:,.4g}{name}"
    return f"{number:,.4g}"


def log_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic if any value is positive; values that are not positive are left out.

    An axis that spans less than two decades has ticks at 1, 2 and 5 times the powers of ten. The powers of ten alone
    would be too few ticks, and matplotlib's default labels for the ticks between them would overlap.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    drawn = np.concatenate([np.empty((0, 2)), *(np.asarray(line.get_xydata(), dtype=float) for line in axes.lines)])
    values = drawn[np.isfinite(drawn).all(axis=1), "xy".index(which)]
    values = values[values > 0]
    if len(values):
        {"x": axes.set_xscale, "y": axes.set_yscale}[which]("log", nonpositive="mask")
        axis = {"x": axes.xaxis, "y": axes.yaxis}[which]
        axis.set_minor_formatter(NullFormatter())
        if values.max() < 100 * values.min():
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def few_ticks(axes: Axes, most: int = 4) -> None:
    """Divide a linear x axis that starts at 0 into at most `most` intervals, with short tick labels."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(most))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def apart(values: Sequence[float] | np.ndarray, distance: float) -> list[int]:
    """Return the index of the first value, and of each value at least `distance` from the last value kept."""
    kept = [0]
    for i, value in enumerate(values):
        if i and abs(value - values[kept[-1]]) >= distance:
            kept.append(i)
    return kept


def curve(
    axes: Axes,
    rows: pd.DataFrame,
    x: str,
    y: str,
    *,
    by: str = "n",
    scale: float = 1,
    band: bool = True,
    **look: Any,
) -> None:
    """Draw the mean over runs, with a band of one standard deviation on either side.

    Parameters
    ----------
    axes : Axes
        The panel.
    rows : DataFrame
        The rows of one method.
    x : str
        Column of the x axis. The x coordinate of a point is the mean over the rows of the point.
    y : str
        Column of the y axis.
    by : str
        Column that assigns rows to points: rows with the same value belong to the same point.
    scale : float
        Factor by which y is multiplied, such as 100 for per cent.
    band : bool
        Whether the band is drawn.
    **look : Any
        Keyword arguments of `Axes.plot`.
    """
    at = rows.groupby(by).agg(x=(x, "mean"), mean=(y, "mean"), deviation=(y, "std"))
    axes.plot(at["x"], scale * at["mean"], **look)
    if band and at["deviation"].notna().any():
        low, high = (scale * (at["mean"] + sign * at["deviation"]) for sign in (-1, 1))
        axes.fill_between(at["x"], low, high, color=look["color"], alpha=0.15, linewidth=0)


def band_note(table: pd.DataFrame, of: str = "band") -> list[Patch]:
    """Return the legend entry for the bands that `curve` draws, or no entry if there is only one run."""
    from matplotlib.patches import Patch

    runs = table["run"].nunique()
    return [Patch(color="0.85", label=f"{of}: ±1 standard deviation, {runs} runs")] if runs > 1 else []


def growth_line(axes: Axes, x: pd.Series, seconds: pd.Series, growth: pd.Series) -> None:
    """Draw a line through the last measurement that grows in proportion to a stated cost.

    Parameters
    ----------
    axes : Axes
        The panel.
    x : Series
        The sizes that were measured, in increasing order.
    seconds : Series
        The times in seconds that were measured at these sizes.
    growth : Series
        The stated cost at these sizes, up to a constant factor.
    """
    axes.plot(x, growth * (seconds / growth).iloc[-1:].sum(), label="_papers", **STATED)


def median_of(table: pd.DataFrame) -> str:
    """Return a phrase that says over how many repeats the median of the timings was taken."""
    return "a median of " + " to ".join(f"{n:g}" for n in sorted({table["repeats"].min(), table["repeats"].max()}))


def percent(part: float, space: str = "") -> str:
    """Format a fraction in per cent, to two significant digits if it is below 99.5 %, otherwise to a whole number.

    space: stands before the sign; figures have no room for it.

    >>> percent(0.0345), percent(1.0, " ")
    ('3.5%', '100 %')
    """
    return f"{100 * part:.2g}{space}%" if part < 0.995 else f"{100 * part:.0f}{space}%"


def plain(text: Any, longest: int = 40) -> str:
    """Return a word or name in a form that matplotlib can draw: on one line, shortened, with dollar signs escaped."""
    line = " ".join(str(text).split())
    line = line if len(line) <= longest else line[: longest - 1] + "…"
    return line.replace("$", r"\$")


def nothing(axes: Axes, why: str) -> None:
    """Write the reason why the axes are empty in the centre of the axes."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color="0.35")
