"""Figures of a study's scores, each a function of one table.

They know no paper. Values that a paper states come as arguments, see `papers`.
"""

from collections.abc import Callable, Sequence
from math import ceil
from textwrap import wrap
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from jointsparse.figures.style import (
    apart,
    band_note,
    canvas,
    curve,
    in_order,
    legend,
    looks,
    nothing,
    percent,
    plain,
    size_axis,
)
from jointsparse.scores.flags import GAP

APART = 10  # per cent of the features between markers of a path of radii
MOST_ROWS = 400  # of a picture of weights, so that each row has a line of pixels


class Range(NamedTuple):
    """An interval of AUC that is stated elsewhere, with its label in the legend."""

    label: str
    low: float
    high: float


class Star(NamedTuple):
    """A point that is stated elsewhere: its method, share of features and AUC, and its label in the legend."""

    method: str
    features: float
    auc: float
    label: str


def auc(table: pd.DataFrame, *, stated: Range | None = None, source: str = "") -> Figure:
    """Average test AUC, over the words not used for validation, against the number of training samples.

    source: the figure that this one reproduces, for the title.
    """
    figure, (axes,) = canvas()
    _over_sizes(axes, table, "n_samples", "auc")
    if stated:
        label = f"{stated.label}: {stated.low:g} to {stated.high:g}"
        axes.axhspan(stated.low, stated.high, color="0.93", label=label, zorder=0)
    size_axis(axes, table.groupby("n")["n_samples"].mean(), "number of training samples, all words together")
    axes.set(ylabel="average test AUC", title="AUC of the words not used for validation" + source)
    legend(figure, *band_note(table))
    return figure


def eer(table: pd.DataFrame, *, source: str = "") -> Figure:
    """Average test equal error rate, over the words not used for validation, against the number of positive samples.

    source: see `auc`.
    """
    figure, (axes,) = canvas()
    _over_sizes(axes, table.assign(eer=100 * table["eer"]), "n", "eer")
    size_axis(axes, table["n"], "n, positive training samples of each word")
    axes.set(ylabel="average test EER (%)", title="Equal error rate of the words not used for validation" + source)
    legend(figure, *band_note(table))
    return figure


def _over_sizes(axes: Axes, table: pd.DataFrame, x: str, y: str) -> None:
    """Draw a curve of every method, and rings at points where the fit of any run may be unfinished."""
    for method, look in in_order(table).items():
        curve(axes, table[table["method"] == method], x, y, label=method, **look)
    points = table.groupby(["method", "n"], as_index=False).agg(x=(x, "mean"), y=(y, "mean"), gap=("gap", "max"))
    _mark_unfinished(axes, points, "x", "y")


def _mark_unfinished(axes: Axes, points: pd.DataFrame, x: str, y: str) -> None:
    """Draw a ring around each point whose fit may be far from the optimum."""
    far = points[points["gap"] > GAP]
    if len(far):
        label = f"certified gap above {percent(GAP)}, up to {percent(far['gap'].max())}"
        axes.plot(far[x], far[y], "o", color="0.35", markersize=11, markerfacecolor="none", label=label)


def eer_by_word(table: pd.DataFrame, *, n: int, source: str = "") -> Figure:
    """Test equal error rate of each word at one size n, the mean over runs, sorted by that of the first method.

    A word does not count in the runs whose radius it helped to choose. source: see `auc`.
    """
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
    axes.set(
        ylim=(len(by_word) - 0.4, -0.6),
        xlabel="test EER (%)" + _mean_of(shown),
        title=f"EER of each word, n = {n}" + source,
    )
    legend(figure)
    return figure


def _mean_of(table: pd.DataFrame) -> str:
    runs = table["run"].nunique()
    return f", mean of {runs} runs" if runs > 1 else ""


def auc_by_features(table: pd.DataFrame, *, stated: Sequence[Star] = (), source: str = "") -> Figure:
    """Average test AUC against the share of features that any word uses, on the largest training sets, at each radius.

    Markers with their radius are `APART` per cent of the features apart. source: see `auc`.
    """
    figure, (axes,) = canvas()
    columns = ["features", "auc", "gap"]
    largest = table[table["n"] == table["n"].max()]
    fits = largest.groupby(["method", "radius"])[columns]
    # Paths of runs may end at other radii. A mean of fewer runs would be a step in the line.
    n_runs = fits.size()
    means = fits.mean()[n_runs == n_runs.groupby("method").transform("max")]
    means["features"] *= 100
    look = looks([*table["method"], *(star.method for star in stated)])
    sparse = []
    for method in largest["method"].unique():
        points = means.loc[method].dropna(subset=["features"])
        if not (points["features"] < 99).any():
            continue  # not a sparse method, even if some feature of text has no weight by chance
        sparse.append(method)
        marked = apart(points["features"].to_numpy(), APART)
        axes.plot(points["features"], points["auc"], label=method, markevery=marked, **look[method])
        for radius, point in points.iloc[marked].iterrows():
            at, label = (point["features"], point["auc"]), f"{radius:.3g}" if radius < 1000 else f"{radius:,.0f}"
            text = {"fontsize": 7, "color": look[method]["color"], "ha": "center"}
            axes.annotate(label, at, (0, 6 if len(sparse) == 1 else -11), textcoords="offset points", **text)
    _mark_unfinished(axes, means[means.index.get_level_values("method").isin(sparse)], "features", "auc")
    for star in stated:
        line = {"color": look[star.method]["color"], "markersize": 12, "markerfacecolor": "none"}
        axes.plot(100 * star.features, star.auc, "*", label=star.label, **line)
    label = "features used by any word (%)" + _mean_of(largest)
    title = "AUC and joint sparsity, radius beside each marker" + source
    axes.set(xlim=(-4, 106), xlabel=label, ylabel="average test AUC", title=title)
    legend(figure)
    return figure


def auc_by_power(table: pd.DataFrame) -> Figure:
    """Average test AUC against the power of the singular values in the features, a panel for each size.

    The radius is the one that validation chooses for the power.
    """
    chosen = table[table["chosen"].astype(bool)]
    sizes = sorted(chosen["n"].unique())
    figure, panels = canvas(1 + 2.6 * max(len(sizes), 2), 3.4, max(len(sizes), 1), sharey=True)
    if not sizes:
        nothing(panels[0], "no chosen radius")
    for axes, n in zip(panels, sizes, strict=False):
        of_size = chosen[chosen["n"] == n]
        for method, look in in_order(table).items():
            rows = of_size[of_size["method"] == method]
            curve(axes, rows, "power", "auc", by="power", band=False, label=method, **look)
        axes.set(title=f"n = {n}", xticks=sorted(chosen["power"].unique()))
        axes.set_xlabel("power of the singular values")
    panels[0].set_ylabel("average test AUC" + _mean_of(chosen))
    figure.suptitle("Features whitened (0) to unscaled (1)", fontsize=rcParams["axes.titlesize"])
    legend(figure)
    return figure


def differences(table: pd.DataFrame) -> Figure:
    """Lead of the first method over each other one in average test AUC, with 95 % intervals."""
    return _differences(table, "auc", "right")


def eer_differences(table: pd.DataFrame) -> Figure:
    """Lead of the first method over each other one in average test equal error rate, with 95 % intervals."""
    return _differences(table, "eer", "left")


def _differences(table: pd.DataFrame, metric: str, better: str) -> Figure:
    """Differences of the words not used for validation, for each n. better: the side of 0 of a better first method."""
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
    axes.grid(visible=False, axis="y")
    for between in range(len(sizes) - 1):
        axes.axhline(between + 0.5, color=rcParams["grid.color"], linewidth=0.8)
    runs = rows["runs"].max() if len(rows) else 1
    axes.set(
        ylim=(max(len(sizes), 1) - 0.5, -0.5),
        xlabel=f"average test {metric.upper()} of {method} minus the other's\n({better} of 0: {method} is better)",
        title=f"{metric.upper()} of {method} against the others" + (f", mean of {runs} runs" if runs > 1 else ""),
    )
    legend(figure, Line2D([], [], color="0.35", label="95% interval (test images, runs)"))
    return figure


def weights(table: pd.DataFrame, *, source: str = "") -> Figure:
    """Absolute weights of the methods that may leave features out: rows are features, columns are words.

    All methods share one scale. l2 uses every feature and is left out. source: see `auc`.
    """
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
    figure.suptitle("Who uses which feature" + source, fontsize=rcParams["axes.titlesize"])
    return figure


def _picture(rows: pd.DataFrame, n_features: int, n_words: int, block: int) -> np.ndarray:
    """Largest |weights| of each block of features: (ceil(n_features / block), n_words)."""
    picture = np.zeros((ceil(n_features / block), n_words))
    places = (rows["feature"] // block).to_numpy(dtype=int), rows["word"].to_numpy(dtype=int)
    np.maximum.at(picture, places, rows["weight"].abs().to_numpy())
    return picture


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
    """Draw random images, each with its first caption.

    Parameters
    ----------
    images : DataFrame
        Column image.
    captions : DataFrame
        Columns image, caption.
    picture : callable
        Opens an image by name, as grey levels in [0, 1].
    rows : int
        Rows of images.
    columns : int
        Images in a row.
    seed : int
        Of the draw.
    """
    shown = np.random.default_rng(seed).permutation(images["image"].to_numpy())[: rows * columns]
    first = captions.drop_duplicates("image").set_index("image")["caption"]
    figure = Figure(figsize=(2.2 * columns, 2.1 * rows), layout="constrained")
    for axes, image in zip(np.ravel(figure.subplots(rows, columns)), shown, strict=False):
        axes.set(xticks=[], yticks=[])  # they would be laid out even where no axis is shown
        axes.imshow(picture(image), cmap="gray", vmin=0, vmax=1)
        axes.set_title("\n".join(map(plain, wrap(str(first.get(image, "")), 34)[:3])), fontsize=6)
    for axes in figure.axes:
        axes.axis("off")
    return figure
