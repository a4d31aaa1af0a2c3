"""Panels, legends, axes and curves that figures share, and the look of each method in all of them.

Figures import matplotlib where they draw, as the workflow asks for their tables and captions whenever it starts.
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

# Colour of the style sheet, marker and dashes. All three differ, so that methods are told apart in grey too.
FIVE: tuple[tuple[str, str, Any], ...] = (
    ("C0", "o", "-"),
    ("C1", "s", (0, (6, 1.5))),
    ("C2", "D", "-."),
    ("C3", "^", (0, (4, 1.2, 1, 1.2, 1, 1.2))),
    ("C4", "v", "--"),
)
OTHERS = (("C5", "P", ":"), ("C6", "X", (0, (2, 1))), ("C7", "<", "-."), ("C5", ">", "--"), ("C6", "p", ":"))
NORM_LOOKS = dict(zip(("l1inf", "l1", "l2", "l12"), FIVE, strict=False))  # any other norm takes its turn in OTHERS
# How much lighter than the norm's colour a loss is, and how much of the marker is filled; in the order of the losses.
SHADES = ((0.0, "full"), (0.3, "bottom"), (0.5, "none"), (0.3, "left"), (0.5, "top"))
# Methods in a row share a look, since no figure shows two of them. "tree" is beside "projection" and "stochastic"
# because it computes their projections.
SHARING = (
    ("newton", "batch"),
    ("sort", "entropic", "coordinate-descent"),
    ("pivot", "line-search", "full of non-zeros", "verbatim"),
    ("tree", "projection", "stochastic"),
    ("full", "interior-point", "svm-l2"),
)
NAMED = {method: look for look, methods in zip(FIVE, SHARING, strict=True) for method in methods}

SHEET = "jointsparse.pipeline.figures.jointsparse"  # the style sheet, as matplotlib.style finds it
STATED: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1}  # lines for values that a paper states


def looks(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, marker and dashes of each method, as keywords of `Axes.plot`.

    The norm of a method `loss-norm` decides, and the loss makes it lighter. Methods in `NAMED` have their own look. Any
    other method takes its turn in `OTHERS`, by name, whatever the order of methods.
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
    """Looks of the methods of a table, in its order. The first lies on top."""
    look = looks(table["method"])
    return {method: look[method] | {"zorder": 3 - i / 100} for i, method in enumerate(table["method"].unique())}


def by_method(table: pd.DataFrame) -> list[tuple[str, dict[str, Any], pd.DataFrame]]:
    """Each method of a table with its look and its rows, in the order of the table."""
    return [(method, look, table[table["method"] == method]) for method, look in in_order(table).items()]


class Drawing(NamedTuple):
    """A kind of figure: the name of its table, and the function that draws it.

    beside: name of a second table, which the figure shows where a study has it; "" for none. place: the figure of a
    paper that this one reproduces, if the function does not say. stated: keywords of the function for what the paper
    states, in figures that show it.
    """

    table: str
    function: Callable[..., Figure]
    beside: str = ""
    place: str = ""
    stated: Mapping[str, Any] = {}

    @property
    def caption(self) -> str:
        """First paragraph of the function's docstring, and the place."""
        text = " ".join(str(self.function.__doc__).split("\n\n")[0].split())
        return f"{text[:-1]} ({self.place})." if self.place else text


def canvas(
    width: float = 6.4, height: float = 3.6, panels: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Create a figure outside pyplot, with its panels.

    Parameters
    ----------
    width : float
        Inches.
    height : float
        Inches; `legend` adds its own.
    panels : int
        Panels side by side in each row.
    rows : int
        Rows of panels.
    **options : Any
        Passed to `Figure.subplots`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, list(figure.subplots(rows, panels, squeeze=False, **options).flat)


def grid(n: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Create a figure outside pyplot, with its panels in rows.

    Parameters
    ----------
    n : int
        Panels.
    columns : int
        Most panels in a row.
    width : float
        Of the figure, in inches.
    height : float
        Of each row, in inches; `legend` adds its own.
    """
    columns, rows = min(columns, n), ceil(n / columns)
    figure, panels = canvas(width, 0.4 + height * rows, columns, rows)
    for axes in panels[n:]:
        axes.remove()
    return figure, panels[:n]


def entry(label: str, **look: Any) -> Line2D:
    """Return a legend entry for lines of any method, grey unless the look says otherwise."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"color": "0.35", "label": label} | look)


def heading(figure: Figure, text: str) -> None:
    """Write a title above all panels, as large as that of a panel."""
    from matplotlib import rcParams

    figure.suptitle(text, fontsize=rcParams["axes.titlesize"])


def legend(figure: Figure, *more: Any) -> None:
    """Draw a legend below the axes: all labelled lines, each once, and more. The figure grows by its height."""
    labelled = {h.get_label(): h for axes in figure.axes for h in axes.get_legend_handles_labels()[0]}
    handles = [*labelled.values(), *more]
    columns = _columns([len(handle.get_label()) for handle in handles], 16 * figure.get_figwidth())
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.19 * ceil(len(handles) / columns))


def _columns(lengths: list[int], width: float) -> int:
    """Number of columns of a legend, filled one after the other, that fit side by side. lengths, width: in letters."""
    for columns in range(min(4, len(lengths)), 1, -1):
        # 9 letters: the line beside the labels of a column, and the gaps about it.
        if sum(9 + max(column) for column in np.array_split(lengths, columns)) <= width:
            return columns
    return 1


def size_axis(axes: Axes, sizes: Iterable[float], label: str, most: int = 8) -> None:
    """Make the x axis logarithmic, with sizes as ticks.

    Parameters
    ----------
    axes : Axes
        The panel.
    sizes : iterable of float
        Values of x.
    label : str
        Of the axis.
    most : int
        Number of tick labels that fit; sizes too close for that get none.
    """
    sizes = sorted(set(sizes))
    ticks = apart(np.log(sizes), (1 - 1e-9) * np.log(sizes[-1] / sizes[0]) / most)  # rounding leaves none out
    axes.set(xscale="log", xlabel=label)
    axes.set_xticks([sizes[i] for i in ticks], [f"{sizes[i]:,.0f}" for i in ticks])
    axes.set_xticks([], minor=True)


def log_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic if any value is above 0. Values that are not above 0 are left out."""
    drawn = np.concatenate([np.empty((0, 2)), *(np.asarray(line.get_xydata(), dtype=float) for line in axes.lines)])
    if (drawn[np.isfinite(drawn).all(axis=1), "xy".index(which)] > 0).any():
        {"x": axes.set_xscale, "y": axes.set_yscale}[which]("log", nonpositive="mask")


def apart(values: Sequence[float] | np.ndarray, distance: float) -> list[int]:
    """Places of the first value and of each that has at least this distance from the one kept before."""
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
    """Draw the mean over runs, and a band of one standard deviation to either side.

    Parameters
    ----------
    axes : Axes
        The panel.
    rows : DataFrame
        Rows of one method.
    x : str
        Column of the x axis; its mean is drawn.
    y : str
        Column of the y axis.
    by : str
        Column whose values make the points.
    scale : float
        Multiplies y, as 100 for per cent.
    band : bool
        False for no band.
    **look : Any
        Keywords of `Axes.plot`.
    """
    at = rows.groupby(by).agg(x=(x, "mean"), mean=(y, "mean"), deviation=(y, "std"))
    axes.plot(at["x"], scale * at["mean"], **look)
    if band and at["deviation"].notna().any():
        low, high = (scale * (at["mean"] + sign * at["deviation"]) for sign in (-1, 1))
        axes.fill_between(at["x"], low, high, color=look["color"], alpha=0.15, linewidth=0)


def band_note(table: pd.DataFrame, of: str = "band") -> list[Patch]:
    """Legend entry for the bands of `curve`; none of a single run."""
    from matplotlib.patches import Patch

    runs = table["run"].nunique()
    return [Patch(color="0.85", label=f"{of}: ±1 standard deviation, {runs} runs")] if runs > 1 else []


def growth_line(axes: Axes, x: pd.Series, seconds: pd.Series, growth: pd.Series) -> None:
    """Draw a line proportional to growth, through the last measurement.

    Parameters
    ----------
    axes : Axes
        The panel.
    x : Series
        Of the measurements, in increasing order.
    seconds : Series
        Measured at x.
    growth : Series
        The stated cost at x, up to a factor.
    """
    axes.plot(x, growth * (seconds / growth).iloc[-1:].sum(), label="_papers", **STATED)


def median_of(table: pd.DataFrame) -> str:
    """Number of repeats that seconds are the median of, as text."""
    return "a median of " + " to ".join(f"{n:g}" for n in sorted({table["repeats"].min(), table["repeats"].max()}))


def percent(part: float) -> str:
    """Per cent as text: two digits, or all before the point."""
    return f"{100 * part:.2g}%" if part < 0.995 else f"{100 * part:.0f}%"


def plain(text: Any, longest: int = 40) -> str:
    """Word or name for matplotlib: on one line, shortened, with dollars that start no formula."""
    line = " ".join(str(text).split())
    line = line if len(line) <= longest else line[: longest - 1] + "…"
    return line.replace("$", r"\$")


def nothing(axes: Axes, why: str) -> None:
    """Write the reason into the middle of empty axes."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color="0.35")
