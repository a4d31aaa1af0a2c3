"""What figures share: panels, legends, axes, curves, and how a method looks in all of them."""

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

# Colour of the style sheet, marker and dashes. All three differ, so that methods are told apart in grey too.
FIVE: tuple[tuple[str, str, Any], ...] = (
    ("C0", "o", "-"),
    ("C1", "s", (0, (6, 1.5))),
    ("C2", "D", "-."),
    ("C3", "^", (0, (4, 1.2, 1, 1.2, 1, 1.2))),
    ("C4", "v", "--"),
)
NORMS = dict(zip(("l1inf", "l1", "l2", "l12"), FIVE, strict=False))
# Methods that share a look are in no figure together; the tree is how the projections of sparse steps are done.
SHARING = (
    ("newton", "batch"),
    ("sort", "entropic", "coordinate-descent"),
    ("pivot", "line-search", "full of non-zeros"),
    ("tree", "projection", "stochastic"),
    ("full", "interior-point", "svm-l2"),
)
NAMED = {method: look for look, methods in zip(FIVE, SHARING, strict=True) for method in methods}
OTHERS = (("C5", "P", ":"), ("C6", "X", (0, (2, 1))), ("C7", "<", "-."), ("C5", ">", "--"), ("C6", "p", ":"))
# How much lighter than the norm's colour, and how much of the marker is filled.
LOSSES = {"hinge": (0.0, "full"), "logistic": (0.3, "bottom"), "squared": (0.5, "none")}

STATED: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1}  # lines for what a paper states


def looks(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, marker and dashes of each method, as keywords of `Axes.plot`.

    The norm decides, the loss makes them lighter. What is no loss-norm of `LOSSES` and `NORMS` nor in `NAMED` takes its
    turn in `OTHERS`, by name, whatever the order of methods.
    """
    methods = sorted(set(methods))
    known = {f"{loss}-{norm}": (loss, norm) for loss in LOSSES for norm in NORMS}
    others = cycle(OTHERS)
    found = {}
    for method in methods:
        loss, norm = known.get(method, ("hinge", None))
        colour, marker, dashes = NORMS[norm] if norm else NAMED.get(method) or next(others)
        lighter, filled = LOSSES[loss]
        red, green, blue = (c + lighter * (1 - c) for c in to_rgb(colour))
        colour = to_hex((red, green, blue))
        found[method] = {"color": colour, "marker": marker, "linestyle": dashes}
        found[method] |= {"fillstyle": "bottom" if filled == "bottom" else "full", "markerfacecoloralt": "white"}
        found[method] |= {"markerfacecolor": "white" if filled == "none" else colour}
    return found


def in_order(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The looks of the methods of a table, in its order; the first lies on top."""
    look = looks(table["method"])
    return {method: look[method] | {"zorder": 3 - i / 100} for i, method in enumerate(table["method"].unique())}


class Drawing(NamedTuple):
    """A kind of figure: the name of the table it is drawn from, and what draws it."""

    table: str
    function: Callable[[pd.DataFrame], Figure]


def canvas(
    width: float = 6.4, height: float = 3.6, panels: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure that no window or global list knows of, with panels side by side in each of its rows."""
    figure = Figure(figsize=(width, height))
    return figure, list(figure.subplots(rows, panels, squeeze=False, **options).flat)


def legend(figure: Figure, *more: Any) -> None:
    """All labelled lines, each once, and more, below the axes, where they hide no data; the figure grows by that."""
    labelled = {h.get_label(): h for axes in figure.axes for h in axes.get_legend_handles_labels()[0]}
    handles = [*labelled.values(), *more]
    columns = _columns([len(handle.get_label()) for handle in handles], 16 * figure.get_figwidth())
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.19 * ceil(len(handles) / columns))


def _columns(lengths: list[int], width: float) -> int:
    """How many columns of a legend, filled one after the other, fit side by side. lengths, width: in letters."""
    for columns in range(min(4, len(lengths)), 1, -1):
        if sum(9 + max(column) for column in np.array_split(lengths, columns)) <= width:
            return columns
    return 1


def size_axis(axes: Axes, sizes: Iterable[float], label: str, most: int = 8) -> None:
    """A logarithmic axis whose ticks are sizes, without those that stand too close for more than so many labels."""
    sizes = sorted(set(sizes))
    ticks = apart(np.log(sizes), (1 - 1e-9) * np.log(sizes[-1] / sizes[0]) / most)  # rounding leaves none out
    axes.set_xscale("log")
    axes.set_xticks([sizes[i] for i in ticks], [f"{sizes[i]:,.0f}" for i in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(label)


def log_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """A logarithmic scale that leaves out what is not above 0, unless that is all there is."""
    drawn = np.concatenate([np.empty((0, 2)), *(np.asarray(line.get_xydata(), dtype=float) for line in axes.lines)])
    if (drawn[np.isfinite(drawn).all(axis=1), "xy".index(which)] > 0).any():
        {"x": axes.set_xscale, "y": axes.set_yscale}[which]("log", nonpositive="mask")


def apart(values: Sequence[float] | np.ndarray, distance: float) -> list[int]:
    """The places of the first value and of each that is at least that far from the one before of these."""
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
    """The mean over runs of scale * y at each value of by, and a band of a standard deviation to either side of it."""
    at = rows.groupby(by).agg(x=(x, "mean"), mean=(y, "mean"), deviation=(y, "std"))
    axes.plot(at["x"], scale * at["mean"], **look)
    if band and at["deviation"].notna().any():
        low, high = (scale * (at["mean"] + sign * at["deviation"]) for sign in (-1, 1))
        axes.fill_between(at["x"], low, high, color=look["color"], alpha=0.15, linewidth=0)


def band_note(table: pd.DataFrame, of: str = "band") -> list[Patch]:
    """What the bands of `curve` are, for the legend; nothing of a single run."""
    runs = table["run"].nunique()
    return [Patch(color="0.85", label=f"{of}: ±1 standard deviation, {runs} runs")] if runs > 1 else []


def growth_line(axes: Axes, x: pd.Series, seconds: pd.Series, growth: pd.Series) -> None:
    """A line in proportion to growth that ends where the measurements end."""
    axes.plot(x, growth * (seconds / growth).iloc[-1:].sum(), label="_papers", **STATED)


def median_of(table: pd.DataFrame) -> str:
    """Of how many repeats seconds are the median."""
    return "a median of " + " to ".join(f"{n:g}" for n in sorted({table["repeats"].min(), table["repeats"].max()}))


def percent(part: float) -> str:
    """Two digits, or all before the point."""
    return f"{100 * part:.2g}%" if part < 0.995 else f"{100 * part:.0f}%"


def plain(text: Any, longest: int = 40) -> str:
    """A word or name as matplotlib draws it: on one line, not too long, a dollar no beginning of a formula."""
    line = " ".join(str(text).split())
    line = line if len(line) <= longest else line[: longest - 1] + "…"
    return line.replace("$", r"\$")


def nothing(axes: Axes, why: str) -> None:
    """Said in the middle of axes that would be empty."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color="0.35")
