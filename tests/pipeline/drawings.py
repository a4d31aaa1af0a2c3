"""Made-up tables for the figures, and what the figures of these tables show.

trials/figures.py draws them to look at, and writes figures.txt, which describes them.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.ticker import FixedLocator

from jointsparse.pipeline.papers import catalogue

FILE = Path(__file__).parent / "figures.txt"
METHODS = ["hinge-l1inf", "hinge-l1", "hinge-l2", "svm-l2"]
WORDS = ["dog", "água", "ball", "man", "zoo", "sky"]
FORMS = ("batch 25%", "batch 100%", "stochastic 1", "stochastic 100")
RUNS = {"run": (1, 2, 3)}
EDGE = "eta0 at the upper edge of its grid"

# Tables

KEYS = {  # columns with few values; made-up tables have a row for each combination
    "run": (1,),
    "metric": ("auc", "eer"),
    "words": ("all words", "test words"),
    "average": ("by positives", "plain"),
    "n": (40, 80, 160),
    "method": METHODS,
    "against": METHODS[1:],
    "radius": (0.1, 1.0, 10.0, 100.0),
    "power": (1.0,),
    "weights": ("normal",),
    "support": ("random",),
    "setting": (("subgradient", "true"), ("working_set", "true"), ("working_set", "validated")),
    "word": WORDS,
    "iteration": range(21),
}


def crossed(**columns):
    return pd.MultiIndex.from_product(columns.values(), names=columns).to_frame(index=False)


def derived(columns, **some):
    """Return a table with these columns: the KEYS crossed, random numbers from 0 to 1 elsewhere. some: other KEYS."""
    names = columns.split()
    table = crossed(**{name: some.get(name, KEYS[name]) for name in names if name in KEYS})
    rng = np.random.default_rng(0)
    table = table.assign(**{name: rng.random(len(table)) for name in names if name not in KEYS})
    return table.assign(n_samples=120 * table["n"]) if "n_samples" in names else table


# A curve for each of four radii, for the first method only.
def convergence(**some):
    table = derived("run n n_samples method radius iteration", **{"method": METHODS[:1]} | some)
    radius, run = table["radius"], table["run"]
    objective = (1 - radius / 200) ** table["iteration"] + 0.01 * (run - 1)
    return table.assign(eta0=1 / radius, objective=objective, gap=radius / 300)


# The largest fits of l1 end far from the optimum, the others exactly at the largest gap without a ring.
def with_gaps(table):
    far = (table["n"] == 160) & (table["method"] == "hinge-l1")
    return table.assign(gap=np.where(far, 0.3, 0.05))


# Six words, of which every run uses another one for validation.
def by_word(**some):
    table = derived("run n method word positives auc eer", **some)
    return table.assign(validation_word=table["word"] == np.take(WORDS, table["run"] % 6))


# Some radii in decreasing order; l2 uses all features.
def sparsity(**some):
    table = derived("run n method power radius auc_weighted features", **{"radius": (10.0, 1.0, 0.1)} | some)
    dense, radii = table["method"].str.endswith("-l2"), table["radius"]
    return with_gaps(table).assign(features=table["features"].mask(dense, 1.0), chosen=radii == radii.iloc[1])


def significance(**some):
    columns = "run words n n_samples method against p p_median p_reverse_median"
    table = derived(columns, **{"method": METHODS[:1]} | some)
    certain = (table["n"] == 40) & (table["against"] == "svm-l2")  # smaller than any that is drawn
    return table.assign(p=table["p"].mask(certain, 0.0), p_median=table["p_median"].mask(certain, 1e-30))


def differences(runs=5, **some):
    table = derived("metric n n_samples words average method against difference", **{"method": METHODS[:1]} | some)
    difference = (table["difference"] - 0.5) / 10
    return table.assign(difference=difference, low=difference - 0.01, high=difference + 0.02, runs=runs)


# l1inf uses every tenth feature for all words, l1 every feature for one word, l2 all features for all words.
def weights(method=METHODS):
    table = crossed(method=method, feature=range(50), word=range(4))
    name, feature, word = (table[column] for column in ("method", "feature", "word"))
    unused = name.str.contains("l1inf") & (feature % 10 > 0) | name.str.endswith("l1") & (feature % 4 != word)
    return table.assign(weight=(-1) ** word * (1 + feature / 50), n_features=50, n_words=4)[~unused]


# Three methods, with the three pairs of radius and solver that are learnt.
def recovery(**some):
    columns = "weights support run n method setting test_error precision recall"
    table = derived(columns, **{"method": METHODS[:3]} | some)
    return table.assign(solver=table["setting"].str[0], radius_rule=table["setting"].str[1], radius=1.0)


def cost():
    projections = crossed(part=["projection size"], x=(40_000, 400_000, 4_000_000), method=("sort", "newton"))
    training = crossed(part=["training samples"], x=40 * 2 ** np.arange(7), method=["subgradient"]).assign(d=200)
    table = pd.concat([projections.assign(d=projections["x"] // 40), training], ignore_index=True)
    return table.assign(seconds=1e-8 * table["x"] * (1 + (table["method"] == "sort")), m=40, repeats=7)


def projection():
    whole = crossed(part=["dimension"], method=("sort", "pivot", "newton"), n=10 ** np.arange(3, 8)).assign(repeats=5)
    few = crossed(part=["touched"], n=(10_000, 1_000_000), x=(10, 100, 1_000), method=("tree", "full")).assign(
        repeats=3
    )
    table = pd.concat([whole.assign(x=whole["n"]), few.assign(repeats=3)], ignore_index=True)
    slow = table["method"].map({"sort": 3, "pivot": 2, "full": 100}).fillna(1)
    return table.assign(seconds=1e-8 * slow * table["x"] ** 0.9 * table["n"] ** 0.1)


RACERS = ["batch", "stochastic", "line-search", "coordinate-descent", "interior-point"]


# The operations of coordinate descent on the logistic loss are not counted; interior points find an optimum.
def race(problem=("squared",), n=(800,), run=(1,)):
    table = crossed(run=run, problem=problem, n=n, method=RACERS, step=range(0, 101, 5))
    method, step, place = table["method"], table["step"], table["method"].map(RACERS.index)
    seconds = 1e-3 * step * 5.0**place
    uncounted = (method == "coordinate-descent") & (table["problem"] == "logistic") & (step > 0)
    found = (method == "interior-point") & (step > 80)
    return table.assign(
        suboptimality=((1 + 0.3 * (table["run"] - 1)) * np.exp(-0.02 * step * (1 + place))).mask(found, 0.0),
        flops=(1e9 * seconds).mask(uncounted),
        seconds=1e-6 + seconds,
        warning=np.where((method == "batch") & (table["run"] == 1), EDGE, ""),
    )


# The suboptimality of projection falls faster than that of entropic, down to the optimum.
def exponentiated(form=FORMS[:1], run=(1,), radius=(320.0,)):
    table = crossed(run=run, form=form, radius=radius, method=("projection", "entropic"), step=range(0, 201, 10))
    t, cost_of_form, projects = table["step"], 1 + table["form"].map(FORMS.index), table["method"] == "projection"
    left = (1 + t) ** np.where(projects, -0.7, -0.5)
    return table.assign(
        gradients=50 * t * cost_of_form,
        seconds=1e-3 * t * cost_of_form,
        suboptimality=((1 + 0.2 * table["run"]) * left).mask(projects & (t > 150), 0.0),
        best_suboptimality=((0.9 + 0.2 * table["run"]) * left).mask(projects & (t > 120), -1e-17),
        test_error=0.04 + 0.3 / (1 + t),
        non_zero=np.where(projects, 0.03, 1.0),
        warning=np.where(projects, "", EDGE),
    )


# The loss of the tree is lower, and its weights are sparse.
def online(radius=(30.0, 300.0), run=(1,)):
    table = crossed(run=run, method=("tree", "entropic"), radius=radius, examples=range(500, 10_001, 500))
    examples, entropic = table["examples"], table["method"] == "entropic"
    left = (examples / 500) ** -0.5 + 0.1 * entropic + 0.02 * table["run"] ** 2 + table["radius"] / 3000
    return table.assign(
        loss=0.2 + 0.4 * left,
        error=0.05 + 0.4 * left,
        non_zero=(1e-7 * table["radius"] * examples**0.3).mask(entropic, 1.0),
        warning=np.where(entropic, EDGE, ""),
    )


TABLES = {
    "convergence": convergence,
    "chosen": lambda **some: with_gaps(derived("run n n_samples method auc_weighted eer", **some)),
    "by_word": by_word,
    "sparsity": sparsity,
    "significance": significance,
    "weights": weights,
    "recovery": recovery,
    "cost": cost,
    "projection": projection,
    "race_seconds": race,
    "exponentiated_seconds": exponentiated,
    "digits_seconds": exponentiated,
    "online": online,
}


def made(name, **some):
    return TABLES[catalogue.FIGURES[name].table](**some)


# What a figure shows

FEW_FORMS = {"form": FORMS[1:3], "run": (1, 2)}
SOME = {  # what the table of a figure has more than its smallest table
    **dict.fromkeys(("auc", "auc_by_size", "eer", "eer_by_word", "significance"), RUNS),
    **dict.fromkeys(("test_error", "selection", "selection_by_validation"), RUNS),
    **dict.fromkeys(("exponentiated", "exponentiated_gradients", "digits", "digits_gradients"), FEW_FORMS),
    "convergence": {"run": (2, 1)},
    "sparsity": {"run": range(5)},
    "auc_by_features": RUNS,
    "auc_by_power": {"power": (0.0, 0.5, 1.0), "run": (1, 2)},
    "error_by_arm": {"weights": ("normal", "sign"), "support": ("random", "all")},
    "race": {"problem": ("squared", "logistic"), "run": (2, 1)},
    "online": {"radius": (3.0, 30.0, 300.0), "run": (1, 2, 3)},
}


@cache
def drawn(name):
    """Return the figure of a table with several runs, and with its second table if it has one."""
    beside = differences() if catalogue.FIGURES[name].beside else None
    return catalogue.draw(name, made(name, **SOME.get(name, {})), beside=beside)


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
