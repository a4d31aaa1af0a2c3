"""The published table that each figure of the tests shows, and what these figures show.

trials/figures.py draws them to look at, and writes figures.txt, which describes them.
"""

from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.ticker import FixedLocator

from jointsparse.pipeline.papers import catalogue

FILE = Path(__file__).parent / "figures.txt"
PUBLISHED = Path(__file__).parents[2] / "docs" / "results" / "tables"
STUDIES = {  # by figure; together they have gaps above 5 %, intervals, and p-values too small to be drawn
    "convergence": "collage/annotation-sweep",
    "auc": "reuters21578/text",
    "auc_by_size": "collage/annotation",
    "eer": "flickr8k/stories",
    "eer_by_word": "collage/stories",
    "sparsity": "flickr8k/scenes",
    "auc_by_features": "collage/annotation",
    "auc_by_power": "flickr8k/annotation-power-chosen",
    "significance": "reuters21578/text-whitened-600",
    "weights": "collage/annotation",
    **dict.fromkeys(("test_error", "selection", "selection_by_validation"), "synthetic/recovery"),
    "error_by_arm": "synthetic-full/recovery-arms",
    **{name: f"synthetic/{name}" for name in ("cost", "projection", "race")},
    **dict.fromkeys(("exponentiated", "exponentiated_gradients"), "documents/exponentiated"),
    **dict.fromkeys(("digits", "digits_gradients"), "digits/digits"),
    "online": "bigrams/online",
}


draw = partial(catalogue.draw, beside_paper=True)


@cache
def published(study, table):
    """Return a table of docs/results, which must not be changed."""
    (file,) = (PUBLISHED / study).glob(f"t*/{table}.csv*")
    return pd.read_csv(file)


def shown(name):
    """Return the table of a figure."""
    return published(STUDIES[name], catalogue.FIGURES[name].table)


@cache
def drawn(name):
    """Return the figure of its table, with its second table if it has one."""
    beside = catalogue.FIGURES[name].beside
    return draw(name, shown(name), beside=published(STUDIES[name], beside) if beside else None)


def described(figure):
    """Return as text what a figure shows: its texts, scales and ranges, and every series with its look and numbers."""
    lines = [f"title: {figure.get_suptitle()}"]
    for axes in figure.axes:
        lines.append(f"panel: {axes.get_title()}")
        for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            lines.append(f"  {axis.axis_name}: {axis.get_label_text()}, {axis.get_scale()}, {_numbers(ends, 2)}")
            if isinstance(axis.get_major_locator(), FixedLocator):
                lines.append(f"    ticks: {', '.join(text.get_text() for text in axis.get_ticklabels())}")
        for text in axes.texts:
            lines.append(f"  text: {text.get_text()} at {_numbers(text.get_position())}")
        for line in axes.lines:
            dashes = [f"{length:g}" for length in line._unscaled_dash_pattern[1] or ()]
            look = [line.get_label(), to_hex(line.get_color()), line.get_marker(), line.get_linestyle(), *dashes]
            lines.append(f"  line: {' '.join(map(str, look))}, {_series(line.get_xydata())}")
        for collection in axes.collections:
            points = [point for path in collection.get_paths() for point in path.vertices]
            lines.append(f"  {type(collection).__name__}: {_series(points)}")
        for image in axes.images:
            lines.append(f"  image: {image.get_array().shape}, sum {image.get_array().sum():.4g}")
    return "\n".join(line.replace("\n", " / ") for line in [*lines, *(f"legend: {text}" for text in legend(figure))])


def _numbers(values, digits=4):
    return " to ".join(f"{value:.{digits}g}" for value in values)


def _series(points):
    """Write the number of points, the first and the last one, and the mean of the finite ones."""
    points = np.ma.masked_invalid(np.asarray(points, dtype=float).reshape(-1, 2))
    if not len(points):
        return "0 points"
    (x, y), (mean_x, mean_y) = points[[0, -1]].filled(np.nan).T, points.mean(axis=0).filled(np.nan)
    return f"{len(points)} points; x {_numbers(x)}, mean {mean_x:.4g}; y {_numbers(y)}, mean {mean_y:.4g}"


def legend(figure):
    return [text.get_text() for below in figure.legends for text in below.get_texts()]
