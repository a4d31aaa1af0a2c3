"""Panels, legends, axes and curves that figures share, and the look of each method in all figures.

Figures import matplotlib only when they draw, because the workflow reads their tables and captions at every start.
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

# Colour of the style sheet, marker and dashes. All three differ, so that methods can be distinguished in grey, too.
FIVE: tuple[tuple[str, str, Any], ...] = (
    ("C0", "o", "-"),
    ("C1", "s", (0, (6, 1.5))),
    ("C2", "D", "-."),
    ("C3", "^", (0, (4, 1.2, 1, 1.2, 1, 1.2))),
    ("C4", "v", "--"),
)
OTHERS = (("C5", "P", ":"), ("C6", "X", (0, (2, 1))), ("C7", "<", "-."), ("C5", ">", "--"), ("C6", "p", ":"))
NORM_LOOKS = dict(zip(("l1inf", "l1", "l2", "l12"), FIVE, strict=False))  # other norms get the looks in OTHERS in turn
# For each loss, how much lighter than the norm's colour it is, and how much of the marker is filled.
SHADES = ((0.0, "full"), (0.3, "bottom"), (0.5, "none"), (0.3, "left"), (0.5, "top"))
# The methods in a row share a look, because no figure shows two of them. "tree" is in the row of "projection" and
# "stochastic" because it computes their projections.
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


def looks(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return colour, marker and dashes of each method, as keyword arguments of `Axes.plot`.

    The norm of a method `loss-norm` gives the look, and the loss makes it lighter. Methods in `NAMED` have their own
    look. Other methods get the looks in `OTHERS` in turn, in alphabetical order.
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
    """Return the looks of the methods of a table, in the order of the table. The first method is drawn on top."""
    look = looks(table["method"])
    return {method: look[method] | {"zorder": 3 - i / 100} for i, method in enumerate(table["method"].unique())}


def by_method(table: pd.DataFrame) -> list[tuple[str, dict[str, Any], pd.DataFrame]]:
    """Return each method of a table with its look and its rows, in the order of the table."""
    return [(method, look, table[table["method"] == method]) for method, look in in_order(table).items()]


class Drawing(NamedTuple):
    """A kind of figure: the name of its table, and the function that draws it.

    beside: name of a second table, which the figure shows if the study has it; "" for none. place: the figure of a
    paper that this figure reproduces, if the docstring of the function does not say so. stated: keyword arguments of
    the function with values that the paper states, for figures that show them.
    """

    table: str
    function: Callable[..., Figure]
    beside: str = ""
    place: str = ""
    stated: Mapping[str, Any] = {}

    @property
    def caption(self) -> str:
        """First paragraph of the function's docstring, with the place."""
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
        Height in inches, to which `legend` adds its own.
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
    """Create a figure outside pyplot, with its panels in rows.

    Parameters
    ----------
    n : int
        Number of panels.
    columns : int
        Largest number of panels in a row.
    width : float
        Width of the figure in inches.
    height : float
        Height of each row in inches. `legend` adds its own height to the figure.
    """
    columns, rows = min(columns, n), ceil(n / columns)
    figure, panels = canvas(width, 0.4 + height * rows, columns, rows)
    for axes in panels[n:]:
        axes.remove()
    return figure, panels[:n]


def entry(label: str, **look: Any) -> Line2D:
    """Return a legend entry for lines of any method, in grey unless the look has a colour."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"color": "0.35", "label": label} | look)


def heading(figure: Figure, text: str) -> None:
    """Write a title above all panels, in the size of a panel's title."""
    from matplotlib import rcParams

    figure.suptitle(text, fontsize=rcParams["axes.titlesize"])


def legend(figure: Figure, *more: Any) -> None:
    """Draw a legend below the axes, with each label once and further entries. The figure grows by its height."""
    labelled = {h.get_label(): h for axes in figure.axes for h in axes.get_legend_handles_labels()[0]}
    handles = [*labelled.values(), *more]
    columns = _columns([len(handle.get_label()) for handle in handles], 16 * figure.get_figwidth())
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.19 * ceil(len(handles) / columns))


def _columns(lengths: list[int], width: float) -> int:
    """Return the number of legend columns that fit side by side. lengths: of the labels, and width: both in letters."""
    for columns in range(min(4, len(lengths)), 1, -1):
        # 9 letters are for the line beside the labels of a column, and the gaps around it.
        if sum(9 + max(column) for column in np.array_split(lengths, columns)) <= width:
            return columns
    return 1


def size_axis(axes: Axes, sizes: Iterable[float], label: str, most: int = 8) -> None:
    """Make the x axis logarithmic, with the sizes as ticks.

    Parameters
    ----------
    axes : Axes
        The panel.
    sizes : iterable of float
        Values on the x axis.
    label : str
        Label of the axis.
    most : int
        Number of tick labels that fit. Sizes that are too close together get no label.
    """
    sizes = sorted(set(sizes))
    ticks = apart(np.log(sizes), (1 - 1e-9) * np.log(sizes[-1] / sizes[0]) / most)  # against rounding
    axes.set(xscale="log", xlabel=label)
    axes.set_xticks([sizes[i] for i in ticks], [f"{sizes[i]:,.0f}" for i in ticks])
    axes.set_xticks([], minor=True)


def log_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic if any value is above 0. Other values are not drawn."""
    drawn = np.concatenate([np.empty((0, 2)), *(np.asarray(line.get_xydata(), dtype=float) for line in axes.lines)])
    if (drawn[np.isfinite(drawn).all(axis=1), "xy".index(which)] > 0).any():
        {"x": axes.set_xscale, "y": axes.set_yscale}[which]("log", nonpositive="mask")


def apart(values: Sequence[float] | np.ndarray, distance: float) -> list[int]:
    """Return the indices of the first value, and of each value at least this distance from the last one kept."""
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
        Rows of a single method.
    x : str
        Column of the x axis, whose mean is drawn.
    y : str
        Column of the y axis.
    by : str
        Column by whose values rows are grouped into points.
    scale : float
        Factor of y, such as 100 for per cent.
    band : bool
        Whether to draw the band.
    **look : Any
        Keyword arguments of `Axes.plot`.
    """
    at = rows.groupby(by).agg(x=(x, "mean"), mean=(y, "mean"), deviation=(y, "std"))
    axes.plot(at["x"], scale * at["mean"], **look)
    if band and at["deviation"].notna().any():
        low, high = (scale * (at["mean"] + sign * at["deviation"]) for sign in (-1, 1))
        axes.fill_between(at["x"], low, high, color=look["color"], alpha=0.15, linewidth=0)


def band_note(table: pd.DataFrame, of: str = "band") -> list[Patch]:
    """Return the legend entry for the bands of `curve`, or nothing for a single run."""
    from matplotlib.patches import Patch

    runs = table["run"].nunique()
    return [Patch(color="0.85", label=f"{of}: ±1 standard deviation, {runs} runs")] if runs > 1 else []


def growth_line(axes: Axes, x: pd.Series, seconds: pd.Series, growth: pd.Series) -> None:
    """Draw a line proportional to a growth, through the last measurement.

    Parameters
    ----------
    axes : Axes
        The panel.
    x : Series
        Increasing x of the measurements.
    seconds : Series
        Measured seconds at x.
    growth : Series
        Stated cost at x, up to a factor.
    """
    axes.plot(x, growth * (seconds / growth).iloc[-1:].sum(), label="_papers", **STATED)


def median_of(table: pd.DataFrame) -> str:
    """Return the number of repeats over which the median seconds are taken, as text."""
    return "a median of " + " to ".join(f"{n:g}" for n in sorted({table["repeats"].min(), table["repeats"].max()}))


def percent(part: float) -> str:
    """Return a fraction in per cent as text, with two digits."""
    return f"{100 * part:.2g}%" if part < 0.995 else f"{100 * part:.0f}%"


def plain(text: Any, longest: int = 40) -> str:
    """Return a word or name as text for matplotlib: on one line, shortened, with dollar signs escaped."""
    line = " ".join(str(text).split())
    line = line if len(line) <= longest else line[: longest - 1] + "…"
    return line.replace("$", r"\$")


def nothing(axes: Axes, why: str) -> None:
    """Write a reason into the middle of empty axes."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color="0.35")
