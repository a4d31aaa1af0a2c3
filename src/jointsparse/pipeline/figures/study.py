"""Figures of a study's scores, each drawn from a table.

No figure here is specific to a paper. The values that a paper states are passed as arguments; see `papers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jointsparse.pipeline.figures.style import (
    apart,
    by_method,
    canvas,
    curve,
    heading,
    in_order,
    label,
    legend,
    looks,
    nothing,
    percent,
    plain,
    size_axis,
)
from jointsparse.pipeline.scores.flags import GAP
from jointsparse.pipeline.scores.runs import FEWEST_RUNS, half_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

APART = 10  # smallest distance between two radii written next to a path, in per cent of the axis
MOST_ROWS = 400  # largest number of rows in a picture of weights, so that each is at least one pixel high


def auc(table: pd.DataFrame, *, beside: pd.DataFrame | None = None, source: str = "") -> Figure:
    """Average test AUC, over the words not used for validation, against the number of training samples.

    The average weights every positive equally.

    Parameters
    ----------
    table : DataFrame
        The table of chosen fits.
    beside : DataFrame, optional
        The differences between methods, whose intervals are drawn in a second panel.
    source : str
        The figure of a paper that this figure reproduces, for the title.
    """
    title = "AUC of the words not used for validation" + source
    return _curves_and_lead(table, beside, "n_samples", "auc_weighted", "auc", "by positives", title)


def eer(table: pd.DataFrame, *, beside: pd.DataFrame | None = None, source: str = "") -> Figure:
    """Average test equal error rate, over the words not used for validation, against the number of positive samples.

    beside, source: see `auc`.
    """
    return _curves_and_lead(
        table, beside, "n", "eer", "eer", "plain", "Equal error rate of the words not used for validation" + source
    )


X_LABELS = {
    "n_samples": "number of training samples, all words together",
    "n": "n, positive training samples of each word",
}


def _curves_and_lead(
    table: pd.DataFrame, beside: pd.DataFrame | None, x: str, y: str, metric: str, average: str, title: str
) -> Figure:
    """Draw a curve for every method and, in a second panel, the first method's lead over the others.

    Parameters
    ----------
    table : DataFrame
        The table of chosen fits.
    beside : DataFrame, optional
        The differences between methods.
    x : str
        Column of the x axis.
    y : str
        Column of the curves.
    metric, average : str
        The metric and the kind of average whose differences are drawn.
    title : str
        Title of the figure.
    """
    wanted = "metric == @metric and words == 'test words' and average == @average"
    lead = None if beside is None else beside.query(wanted)
    figure, panels = canvas(6.4 if lead is None else 10.4, panels=1 if lead is None else 2)
    scale, unit = (100, " (%)") if metric == "eer" else (1, "")
    for method, look, rows in by_method(table):
        curve(panels[0], rows, x, y, scale=scale, band=False, label=label(method), **look)
    points = table.groupby(["method", "n"], as_index=False).agg(x=(x, "mean"), y=(y, "mean"), gap=("gap", "max"))
    _mark_unfinished(panels[0], points.assign(y=scale * points["y"]), "x", "y")
    panels[0].set_ylabel(f"average test {metric.upper()}{unit}{_mean_of(table)}")
    sizes = table.groupby("n")[x].mean() if x != "n" else table["n"]
    for axes in panels:
        size_axis(axes, sizes, X_LABELS[x], most=8 if lead is None else 6)
    if lead is None:
        panels[0].set_title(title)
    else:
        _lead(panels[1], lead, x, scale)
        panels[1].set_ylabel(f"{metric.upper()} of {label(table['method'].iloc[0])} minus that of the other{unit}")
        heading(figure, title)
    legend(figure)
    return figure


def _lead(axes: Axes, rows: pd.DataFrame, x: str, scale: float) -> None:
    """Draw differences with their 95 % intervals. The markers of several other methods are placed side by side."""
    others = list(rows["against"].unique())
    look = looks([*rows["method"], *others])
    axes.axhline(0, color="0.35", linewidth=1)
    for i, other in enumerate(others):
        leads = rows[rows["against"] == other]
        at = leads[x] * 1.06 ** (i - (len(others) - 1) / 2)
        axes.vlines(at, scale * leads["low"], scale * leads["high"], color=look[other]["color"])
        axes.plot(at, scale * leads["difference"], label=f"_against {other}", **look[other] | {"linestyle": "none"})
    has_intervals = rows["low"].notna().any()
    intervals = "95% intervals (test samples, runs)" if has_intervals else f"no intervals: they take {FEWEST_RUNS} runs"
    axes.set_title(intervals, fontsize=9)


def _mark_unfinished(axes: Axes, points: pd.DataFrame, x: str, y: str) -> None:
    """Draw a ring around each point that belongs to a fit that may be far from the optimum."""
    far = points[points["gap"] > GAP]
    if len(far):
        axes.plot(
            far[x],
            far[y],
            "o",
            color="0.35",
            markersize=11,
            markerfacecolor="none",
            label=f"certified gap above {percent(GAP)}, up to {percent(far['gap'].max())}",
        )


def eer_by_word(table: pd.DataFrame, *, n: int, source: str = "") -> Figure:
    """Test equal error rate of each word at one size n, averaged over runs and sorted by the first method.

    Runs in which a word helped to choose the radius are left out of its mean. source: see `auc`.
    """
    shown = table[(table["n"] == n) & ~table["validation_word"].astype(bool)]
    method_looks = in_order(table)
    by_word = shown.pivot_table(index="word", columns="method", values="eer", aggfunc="mean", dropna=False)
    by_word = by_word.reindex(columns=list(method_looks)).dropna(how="all")
    by_word = by_word.sort_values(next(iter(method_looks)), kind="stable")
    lowest = (by_word.rank(axis=1, method="max") == 1).sum()  # a tie counts for neither method
    figure, (axes,) = canvas(height=1.2 + 0.17 * max(len(by_word), 4))
    for method, look in method_looks.items():
        axes.plot(
            100 * by_word[method],
            np.arange(len(by_word)),
            label=label(method)
            if len(method_looks) == 1
            else f"{label(method)} (lowest for {lowest[method]} of {len(by_word)})",
            **look | {"linestyle": "none"},
        )
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


def auc_by_features(
    table: pd.DataFrame, *, stated: Sequence[tuple[str, float, float]] = (), source: str = ""
) -> Figure:
    """Average test AUC on the largest training sets against the fraction of features that words use, at each radius.

    Bars are 95 % intervals over runs. Radii are written at least `APART` per cent of the axis apart. The x axis is
    logarithmic if some fits use less than 1 % of the features. Stars whose AUC lies outside our fits are left out.
    stated: method, fraction of features used, and AUC of each star, a result in a paper. source: see `auc`.
    """
    figure, (axes,) = canvas()
    largest = table[table["n"] == table["n"].max()]
    means = _means_by_radius(largest)
    lowest = means["features"][means["features"] > 0].min()
    look = looks([*table["method"], *(method for method, *_ in stated)])
    sparse: list[str] = []
    for method in largest["method"].unique():
        points = means.loc[method].dropna(subset=["features"])
        points = points[points["features"] > 0] if lowest < 1 else points
        share = points["features"].to_numpy()
        if share.size == 0 or (share.min() > 90 and np.ptp(share) < 1):
            continue  # this method is not sparse, even if a few text features happen to have no weight
        marked = apart(100 * np.log(share / lowest) / np.log(100 / lowest) if lowest < 1 else share, APART)
        offset = 6 if not sparse else -11  # radii of the first method stand above its markers, all others below
        _draw_path(axes, points, marked, offset, look[method] | {"label": label(method)})
        sparse.append(method)
    _mark_unfinished(axes, means[means.index.get_level_values("method").isin(sparse)], "features", "auc_weighted")
    axes.margins(y=0.12)
    axes.autoscale_view()
    axes.autoscale(enable=False, axis="y")
    low, high = axes.get_ylim()
    for method, share, value in (star for star in stated if low <= star[-1] <= high):
        named = f"paper: {label(method)} {value:.0%} AUC with {share:.0%} of features"
        colour = look[method]["color"]
        axes.plot(100 * share, value, "*", label=named, color=colour, markersize=12, markerfacecolor="none")
    axes.set(
        xlim=(-4, 106),
        xlabel="features used by any word (%)" + _mean_of(largest),
        ylabel="average test AUC",
        title="AUC and joint sparsity, radius beside each marker" + source,
    )
    if lowest < 1:
        axes.set(xlim=(lowest / 1.3, 130), xscale="log")
        axes.xaxis.set_major_formatter("{x:g}")
    legend(figure)
    return figure


def _means_by_radius(table: pd.DataFrame) -> pd.DataFrame:
    """Average the features in use (in per cent), the AUC (with its interval half-width) and the gap over the runs."""
    by_radius = table.groupby(["method", "radius"])
    fits = by_radius[["features", "auc_weighted", "gap"]]
    # Runs may end their paths at different radii. A mean over fewer runs would cause a step in the line.
    n_runs = fits.size()
    whole = n_runs == n_runs.groupby("method").transform("max")
    means = fits.mean()[whole]
    means["half"] = half_width(by_radius["auc_weighted"].std(), n_runs.where(n_runs >= FEWEST_RUNS))[whole]
    means["features"] *= 100
    return means


def _draw_path(axes: Axes, points: pd.DataFrame, marked: list[int], above: float, look: dict[str, Any]) -> None:
    """Draw the AUC along a path of radii, with its intervals.

    marked: indices of the points next to which the radius is written. above: distance in typographic points between the
    marker and the radius above it.
    """
    axes.plot(points["features"], points["auc_weighted"], markersize=4, **look)
    low, high = points["auc_weighted"] - points["half"], points["auc_weighted"] + points["half"]
    axes.vlines(points["features"], low, high, color=look["color"], linewidth=0.8)
    from matplotlib.patheffects import withStroke

    radius: Any
    for radius, point in points.iloc[marked].iterrows():
        axes.annotate(
            f"{radius:.3g}" if radius < 1000 else f"{radius:,.0f}",
            (point["features"], point["auc_weighted"]),
            (0, above),
            textcoords="offset points",
            fontsize=7,
            color=look["color"],
            ha="center",
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )


def auc_by_power(table: pd.DataFrame) -> Figure:
    """Average test AUC against the power of the singular values that scales the features, with a panel per size.

    For each power the radius is the one that validation chooses.
    """
    chosen = table[table["chosen"].astype(bool)]
    sizes = sorted(table["n"].unique())
    figure, panels = canvas(1 + 2.6 * max(len(sizes), 2), 3.4, len(sizes), sharey=True)
    for axes, n in zip(panels, sizes, strict=True):
        for method, look, rows in by_method(chosen[chosen["n"] == n]):
            curve(axes, rows, "power", "auc_weighted", by="power", band=False, label=label(method), **look)
        axes.set(title=f"n = {n}", xticks=sorted(chosen["power"].unique()))
        axes.set_xlabel("power of the singular values")
    panels[0].set_ylabel("average test AUC" + _mean_of(chosen))
    heading(figure, "Features whitened (0) to unscaled (1)")
    legend(figure)
    return figure


def weights(table: pd.DataFrame, *, source: str = "") -> Figure:
    """Absolute weights of the sparse methods: a row for each feature that any of them uses, a column for each word.

    All methods share one colour scale. l2 is not shown, because it uses every feature. source: see `auc`.
    """
    from matplotlib import colormaps, rcParams
    from matplotlib.colors import PowerNorm

    methods = sorted(method for method in table["method"].unique() if method.split("-")[-1] != "l2")
    figure, panels = canvas(1.2 + 2.6 * max(len(methods), 2), 5.2, max(len(methods), 1), sharey=True)
    if not methods:
        nothing(panels[0], "no method that leaves features out")
    n_features, n_words = int(table["n_features"].max()), int(table["n_words"].max())
    shown = table[table["method"].isin(methods) & (table["weight"] != 0)]
    ranked = shown.assign(feature=shown["feature"].rank(method="dense").astype(int) - 1)
    n_used = shown["feature"].nunique()
    block = ceil(max(n_used, 1) / MOST_ROWS)
    pictures = {method: _picture(ranked[ranked["method"] == method], n_used, n_words, block) for method in methods}
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
        used = shown[shown["method"] == method]["feature"].nunique() / n_features
        axes.set_title(f"{label(method)}: {percent(used)} of features used", fontsize=10)
        axes.set_xlabel("word")
        axes.grid(visible=False)
    if pictures:
        figure.colorbar(drawn, ax=panels, label="|weight| (white: 0; square-root scale)", shrink=0.8)
    blocks = f" (each row: the largest |weight| of {block})" if block > 1 else ""
    panels[0].set_ylabel(f"features in use, {n_used:,} of {n_features:,}{blocks}")
    heading(figure, "Which word uses which feature" + source)
    return figure


def _picture(rows: pd.DataFrame, n_features: int, n_words: int, block: int) -> np.ndarray:
    """Return the largest absolute weight in each block of features, as an array (ceil(n_features / block), n_words)."""
    picture = np.zeros((ceil(n_features / block), n_words))
    places = (rows["feature"] // block).to_numpy(dtype=int), rows["word"].to_numpy(dtype=int)
    np.maximum.at(picture, places, rows["weight"].abs().to_numpy())
    return picture
