"""Made-up tables for the figures, and what the figures of these tables show.

trials/figures.py draws them to look at, and writes figures.txt, which describes them.
"""

import re
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from jointsparse.pipeline.papers import catalogue

METHODS = ["hinge-l1inf", "hinge-l1", "hinge-l2", "svm-l2"]
DENSE = ["hinge-l2", "svm-l2"]
WORDS = ["dog", "água", "ball", "man", "zoo", "sky"]
FORMS = ("batch 25%", "batch 100%", "stochastic 1", "stochastic 100")

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
    "word": WORDS,
    "iteration": range(21),
    "gap": (0.01,),
}


def crossed(**columns):
    """Return a table with a row for each combination of values."""
    return pd.MultiIndex.from_product(columns.values(), names=columns).to_frame(index=False)


def derived(columns, **some):
    """Return a table with these columns: the KEYS crossed, random numbers from 0 to 1 elsewhere. some: other KEYS."""
    names = columns.split()
    table = crossed(**{name: some.get(name, KEYS[name]) for name in names if name in KEYS})
    rng = np.random.default_rng(0)
    table = table.assign(**{name: rng.random(len(table)) for name in names if name not in KEYS})
    return table.assign(n_samples=120 * table["n"]) if "n_samples" in names else table


def convergence(**some):
    """Return a curve for each of four radii, for the first method only."""
    table = derived("run n n_samples method radius iteration", **{"method": METHODS[:1]} | some)
    radius, run = table["radius"], table["run"]
    return table.assign(
        eta0=1 / radius, objective=(1 - radius / 200) ** table["iteration"] + 0.01 * (run - 1), gap=radius / 300
    )


def by_word(**some):
    """Return a table of six words; every run uses another word for validation."""
    table = derived("run n method word positives auc eer", **some)
    return table.assign(validation_word=table["word"] == np.take(WORDS, table["run"] % 6))


def sparsity(**some):
    """Return a table with some radii in decreasing order; l2 uses all features."""
    table = derived("run n method power radius auc_weighted features gap", **{"radius": (10.0, 1.0, 0.1)} | some)
    return table.assign(
        features=table["features"].where(~table["method"].isin(DENSE), 1.0),
        chosen=table["radius"] == table["radius"].iloc[1 % len(table)],
    )


def differences(runs=1, **some):
    table = derived("metric n n_samples words average method against difference", **{"method": METHODS[:1]} | some)
    difference = (table["difference"] - 0.5) / 10
    return table.assign(difference=difference, low=difference - 0.01, high=difference + 0.02, runs=runs)


def weights(method=METHODS, n_features=50, n_words=4):
    """Return weights: l1inf uses every tenth feature for all words, l1 every feature for one word, l2 all for all."""
    table = crossed(method=method, feature=range(n_features), word=range(n_words))
    name, feature, word = (table[column] for column in ("method", "feature", "word"))
    of_l1inf, of_l1 = name.str.contains("l1inf"), name.str.endswith("l1")
    used = ~(of_l1inf & (feature % 10 > 0)) & ~(of_l1 & (feature % n_words != word))
    weight = (-1) ** word * (1 + feature / n_features)
    return table.assign(weight=weight, n_features=n_features, n_words=n_words)[used]


def recovery(weights=("normal",), support=("random",), **some):
    """Return a table of three methods, with the three pairs of radius and solver that are learnt."""
    settings = pd.DataFrame(
        {"solver": ["subgradient"] + ["working_set"] * 2, "radius_rule": ["true", "true", "validated"]}
    )
    table = derived("run n method gap", **{"method": METHODS[:3]} | some)
    table = crossed(weights=weights, support=support).merge(table, how="cross").merge(settings, how="cross")
    numbers = derived("method test_error precision recall", method=range(len(table)))
    return table.join(numbers.drop(columns="method")).assign(radius=1.0)


def cost():
    sizes = crossed(d=(1_000, 10_000, 100_000), method=("sort", "newton"))
    projections = sizes.assign(
        part="projection size",
        x=40 * sizes["d"],
        seconds=sizes["d"] * sizes["method"].map({"sort": 2e-6, "newton": 1e-6}),
    )
    samples = np.array([40, 80, 160, 320, 640, 1_280, 2_560])
    training = pd.DataFrame({"part": "training samples", "x": samples, "seconds": 1e-5 * samples, "d": 200})
    training["method"] = "subgradient"
    return pd.concat([projections, training]).assign(m=40, repeats=7)


PROJECTIONS = {"sort": (8e-9, 1.1), "pivot": (9e-9, 1.0), "newton": (4e-9, 1.0)}


def projection(n=(1_000, 10_000, 100_000, 1_000_000, 10_000_000), non_zeros=(10_000, 1_000_000)):
    """Return seconds that grow with n^1.1 for sort, and with n for the other methods."""
    whole = [
        {"part": "dimension", "x": size, "seconds": seconds * size**power, "repeats": 5, "n": size, "method": method}
        for method, (seconds, power) in PROJECTIONS.items()
        for size in n
    ]
    of_few = [
        {"part": "touched", "x": k, "seconds": seconds, "repeats": 3, "n": size, "method": method}
        for size in non_zeros
        for k in (10, 30, 100, 300, 1_000)
        for method, seconds in (("tree", 3e-7 * k**0.9 * np.log(size) / 10), ("full", 4e-9 * size + 1e-8 * k))
    ]
    return pd.DataFrame(whole + of_few).assign(
        k=lambda table: table["n"].where(table["part"] == "dimension", table["x"])
    )


RACERS = {  # seconds and operations per step, and the suboptimality after t steps
    "batch": (1e-3, 1.3e6, lambda t: (1 + 3 * t) ** -0.8),
    "stochastic": (1e-5, 4e3, lambda t: (1 + 3 * t) ** -0.8),
    "line-search": (2e-3, 4e6, lambda t: 0.9**t),
    "coordinate-descent": (4e-3, 2e6, lambda t: 0.9**t),
    "interior-point": (3e-2, 4e8, lambda t: 0.002 ** (t / 40)),
}


def race(problem=("squared",), n=(800,), run=(1,)):
    """Return records of the race. The operations of coordinate descent on the logistic loss are not counted."""
    table = crossed(run=run, problem=problem, n=n, method=list(RACERS), step=range(0, 101, 5))
    seconds, flops, left = (table["method"].map({name: of[i] for name, of in RACERS.items()}) for i in range(3))
    steps = table["step"] * (table["n"] / 800) ** 2
    uncounted = (table["method"] == "coordinate-descent") & (table["problem"] == "logistic") & (steps > 0)
    reached = [function(t) for function, t in zip(left, table["step"], strict=True)]
    return table.assign(
        suboptimality=(1 + 0.3 * (table["run"] - 1)) * reached,
        flops=(steps * flops).mask(uncounted),
        seconds=1e-6 + steps * seconds,
        warning="",
    )


def exponentiated(form=FORMS[:1], run=(1,), radius=(320.0,)):
    """Return records in which the suboptimality of projection falls faster than that of entropic."""
    table = crossed(run=run, form=form, radius=radius, method=("projection", "entropic"), step=range(0, 201, 10))
    t, cost_of_form = table["step"], 1 + table["form"].map(FORMS.index)
    power = table["method"].map({"projection": -0.7, "entropic": -0.5})
    return table.assign(
        gradients=50 * t * cost_of_form,
        seconds=1e-3 * t * cost_of_form,
        suboptimality=(1 + 0.2 * table["run"]) * (1 + t) ** power,
        best_suboptimality=(0.9 + 0.2 * table["run"]) * (1 + t) ** power,
        test_error=0.04 + 0.3 / (1 + t),
        non_zero=table["method"].map({"projection": 0.03, "entropic": 1.0}),
        warning="",
    )


def online(radius=(30.0, 300.0), run=(1,)):
    """Return records in which the loss of the tree is lower, and its weights are sparse."""
    table = crossed(run=run, method=("tree", "entropic"), radius=radius, examples=range(500, 10_001, 500))
    rng = np.random.default_rng(0)
    examples, entropic = table["examples"], table["method"] == "entropic"
    return table.assign(
        loss=0.2 + 0.4 * (examples / 500) ** -0.5 + 0.05 * entropic + 0.02 * rng.random(len(table)),
        error=0.05 + 0.4 * (examples / 500) ** -0.5 + 0.02 * rng.random(len(table)),
        non_zero=(1e-7 * table["radius"] * examples**0.3).mask(entropic, 1.0),
        warning="",
    )


TABLES = {
    "convergence": convergence,
    "chosen": partial(derived, "run n n_samples method auc_weighted eer gap"),
    "by_word": by_word,
    "sparsity": sparsity,
    "significance": partial(
        derived, "run words n n_samples method against p p_median p_reverse_median", method=METHODS[:1]
    ),
    "differences": differences,
    "weights": weights,
    "recovery": recovery,
    "cost": cost,
    "projection": projection,
    "race_seconds": race,
    "exponentiated_seconds": exponentiated,
    "digits_seconds": exponentiated,
    "online": online,
}


def lacking(name, table):
    """Return the names in the error for a table that lacks columns, or nothing if the figure is drawn."""
    try:
        catalogue.draw(name, table)
    except ValueError as error:
        return re.findall(r"(\w+)'", str(error).partition(" must have the column ")[2].partition(", got ")[0])
    return []


def made(name, **some):
    """Return a made-up table of a figure, from TABLES or derived from the columns that the figure asks for."""
    kind = catalogue.FIGURES[name].table
    if kind in TABLES:
        return TABLES[kind](**some)
    columns, missing = "", {"run"}
    try:
        while missing:
            columns = " ".join([columns, *missing])
            missing = set(lacking(name, derived(columns))) - set(columns.split())
        catalogue.draw(name, derived(columns))
    except Exception as error:
        raise LookupError(f"figure {name} needs special data: add a table {kind} to TABLES of drawings.py") from error
    return derived(columns, **some)


# What a figure shows

RUNS = {"run": (1, 2, 3)}
FEW_FORMS = {"form": FORMS[1:3], "run": (1, 2)}
SOME = {  # what the table of a figure has more than its smallest table
    **dict.fromkeys(("auc", "auc_by_size", "eer", "eer_by_word", "sparsity", "auc_by_features", "significance"), RUNS),
    **dict.fromkeys(("test_error", "selection", "selection_by_validation", "online"), RUNS),
    **dict.fromkeys(("exponentiated", "exponentiated_gradients", "digits", "digits_gradients"), FEW_FORMS),
    "auc_by_power": {"power": (0.0, 0.5, 1.0), "run": (1, 2)},
    "error_by_arm": {"weights": ("normal", "sign"), "support": ("random", "all")},
    "race": {"problem": ("squared", "logistic"), "run": (2, 1)},
}
FILE = Path(__file__).parent / "figures.txt"


@cache
def drawn(name):
    """Return the figure of a table with several runs, and with its second table if it has one."""
    beside = differences(runs=5) if catalogue.FIGURES[name].beside else None
    return catalogue.draw(name, made(name, **SOME.get(name, {})), beside=beside)


def described(figure):
    """Return as text what a figure shows: its texts, scales and ranges, and every series with its look and numbers."""
    lines = [f"title: {figure.get_suptitle()}"]
    for axes in figure.axes:
        lines.append(f"panel: {axes.get_title()}")
        for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            lines.append(f"  {axis.axis_name}: {axis.get_label_text()}, {axis.get_scale()}, {_numbers(ends, 2)}")
        for text in axes.texts:
            lines.append(f"  text: {text.get_text()} at {_numbers(text.get_position())}")
        for line in axes.lines:
            look = [line.get_label(), to_hex(line.get_color()), line.get_marker(), line.get_linestyle()]
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
    means = points.mean(axis=0).filled(np.nan) if len(points) else ()
    ends = points[[0, -1]].filled(np.nan).T if len(points) else ()
    parts = [f"{name} {_numbers(end)}, mean {mean:.4g}" for name, end, mean in zip("xy", ends, means, strict=False)]
    return "; ".join([f"{len(points)} points", *parts])


def assert_lines(axes, table, x, y, rows, *, by="", scale=(1, 1)):
    """Assert that the lines of a panel are rows of a table, leaving out lines for values of the papers.

    rows: label and query of each line, in order, and its column if this is not y. Rows that share `by`, or else x, are
    averaged.
    """
    lines = ours(axes)
    assert [line.get_label() for line in lines] == [label for label, *_ in rows]
    for line, (_, query, *column) in zip(lines, rows, strict=True):
        expected = table.query(query).groupby(by or x)[[x, *(column or [y])]].mean().to_numpy() * scale
        np.testing.assert_allclose(line.get_xydata(), expected, rtol=1e-15)


def ours(axes):
    """Return the lines that have a label, except for lines with the papers' values."""
    return [line for line in axes.lines if not line.get_label().startswith(("_papers", "_child", "paper"))]


def legend(figure):
    """Return the texts of the figure's legend, if it has one."""
    return [text.get_text() for below in figure.legends for text in below.get_texts()]


def titles(figure):
    """Return the title of the figure, if it has one, and the titles of its panels."""
    return [title for title in (figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)) if title]
