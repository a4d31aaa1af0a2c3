"""Figures draw the numbers of their tables, with the papers' numbers beside them."""

import io
import re
from itertools import combinations

import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from docutils.core import publish_doctree
from drawings import (
    DENSE,
    FILE,
    FORMS,
    METHODS,
    PROJECTIONS,
    RACERS,
    RUNS,
    TABLES,
    WORDS,
    assert_lines,
    described,
    drawn,
    lacking,
    legend,
    made,
    ours,
    titles,
)
from matplotlib.colors import to_rgb
from skimage.color import rgb2lab

from jointsparse.pipeline.figures import study, style
from jointsparse.pipeline.papers import catalogue
from jointsparse.pipeline.papers.duchi import figures
from jointsparse.pipeline.scores.flags import GAP
from jointsparse.registry import room

SHOWN = dict(part.split("\n", 1) for part in f"\n\n{FILE.read_text()}".removesuffix("\n").split("\n\n# ")[1:])
# A path of a hundred radii, from 1 % to 100 % of the features, on the smallest training sets.
PATH_TABLE = made("sparsity", n=(40,), radius=np.arange(1, 101.0))
PATH_TABLE = PATH_TABLE.assign(features=np.where(PATH_TABLE["method"].isin(DENSE), 1.0, PATH_TABLE["radius"] / 100))
RINGED = "certified gap above 5%, up to 30%"
LABELS = ["l1,∞", "l1", "l2", "linear SVM"]  # of METHODS


@pytest.fixture(params=sorted(catalogue.FIGURES))
def name(request):
    return request.param


# Facts about every figure


def test_a_figure_shows_what_figures_txt_says(name):
    """If the change is wanted: trials/figures.py writes this file anew, and the pictures to look at."""
    assert described(drawn(name)) == SHOWN[name]


@pytest.mark.parametrize(
    ("wanted", "table", "said"),
    [
        ("roc", made("auc"), f"a figure must be one of {', '.join(catalogue.FIGURES)}, got 'roc'"),
        *(
            (name, made(name)[:0], f"figure {name}: the table {drawing.table} must have rows, got none")
            for name, drawing in catalogue.FIGURES.items()
        ),
    ],
)
def test_an_unknown_name_and_a_table_without_rows_are_one_line(wanted, table, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        catalogue.draw(wanted, table)


def is_of_a_paper(name):
    figure = catalogue.FIGURES[name]
    return bool(figure.place) or figure.function.__module__ != study.__name__


def is_named(axis):
    """Return True if the axis has a label or ticks that are words, or shares the label of another panel."""
    ticks = [text.get_text().replace("mathdefault", "") for text in axis.get_ticklabels() if text.get_visible()]
    return bool(axis.get_label_text()) or all(re.search("[a-z]", text) for text in ticks if text)


def with_runs(table, n_runs):
    """Repeat the rows for each run."""
    return pd.concat([table.assign(run=run) for run in range(1, n_runs + 1)], ignore_index=True)


def test_every_figure_names_its_quantities_and_stays_within_the_page(name):
    """Nothing is cut off at the edge of a page, whatever the length of the legend."""
    table = made(name)
    table = with_runs(table, 10) if "run" in table else table
    figure = catalogue.draw(name, table.assign(gap=0.3) if "gap" in table else table)
    figure.draw_without_rendering()
    assert all(is_named(axis) for axes in figure.axes if axes.axison for axis in (axes.xaxis, axes.yaxis))
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert box.x0 > -0.02 and box.y0 > -0.02 and box.x1 < width + 0.02 and box.y1 < height + 0.02


@pytest.mark.parametrize("beside_paper", [True, False])
def test_the_paper_is_named_beside_its_own_data_alone(name, beside_paper):
    figure = catalogue.draw(name, made(name), beside_paper=beside_paper)
    stated = is_of_a_paper(name) and (beside_paper or not catalogue.FIGURES[name].stated)
    assert any("paper" in text for text in [*titles(figure), *legend(figure)]) == stated


def test_every_figure_has_a_caption(name):
    caption = catalogue.FIGURES[name].caption
    assert caption[0].isupper() and caption.endswith(".")
    assert ("et al." in caption) == is_of_a_paper(name)
    publish_doctree(
        caption, settings_overrides={"halt_level": 2, "report_level": 5}
    )  # raises an error for invalid markup


def test_every_figure_draws_columns_of_its_table(name):
    """Without a needed column, the error names the column."""
    table = made(name)
    needed = {column: lacking(name, table.drop(columns=column)) for column in table}
    assert sum(column in told for column, told in needed.items()) == sum(map(bool, needed.values())) >= 2


NUMBERS = [
    *("auc", "eer", "objective", "gap", "eta0", "features", "p", "p_holm", "difference", "low", "high"),
    *("test_error", "precision", "recall", "seconds"),
    *("suboptimality", "flops", "loss", "error", "non_zero", "touched"),
]


@pytest.mark.parametrize("change", ["one row", "more runs", "a method without numbers", "no numbers"])
def test_every_figure_is_drawn_of_smaller_and_larger_tables_and_of_missing_numbers(name, change):
    table = made(name)
    methods = table["against" if "against" in table else "method"]
    first = table[methods == methods.dropna().iloc[0]].assign(n=7, n_samples=99)[::-1]
    missing = {"a method without numbers": methods == methods.iloc[-1], "no numbers": methods.map(lambda _: True)}
    if change in missing:
        table.loc[missing[change], [number for number in NUMBERS if number in table]] = np.nan
    table = {"one row": table[-1:], "more runs": with_runs(first, 3)}.get(change, table)
    catalogue.draw(name, table).draw_without_rendering()


# The looks of methods


def test_every_loss_and_norm_has_a_look_of_its_own(monkeypatch):
    monkeypatch.setitem(room("norms"), "l7", None)
    monkeypatch.setitem(room("losses"), "huber", None)
    found = style.looks([*(f"{loss}-{norm}" for loss in room("losses") for norm in room("norms")), "svm-l2"])
    assert len(set(map(str, found.values()))) == len(found) == (len(room("losses")) * len(room("norms")) + 1)
    assert len({found[f"hinge-{norm}"]["marker"] for norm in room("norms")}) == len(room("norms"))
    lighter = [found[f"{loss}-l1"] for loss in ("hinge", "logistic", "squared")]
    assert len({look["marker"] for look in lighter}) == len({look["linestyle"] for look in lighter}) == 1
    assert np.all(np.diff([sum(to_rgb(look["color"])) for look in lighter]) > 0)


SRGB = np.linspace(0, 1, 4096) ** 2.2, np.linspace(0, 1, 4096)  # near enough, from linear to encoded
# Colours as people without one kind of cones see them, in linear RGB (Machado et al. 2009, severity 1).
CONES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(colour):
    c = np.array(to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize(("scheme", "paper", "apart"), [(0, "#ffffff", 25), (1, "#17181a", 19)])
def test_norms_and_the_svm_have_colours_that_everybody_can_tell_apart_and_see(scheme, paper, apart):
    """Contrast of WCAG AA for graphics: 3. The SVM is grey."""
    assert len(set(to_rgb(style.PALETTE["other"][scheme]))) == 1
    colours = [linear(pair[scheme]) for pair in list(style.PALETTE.values())[:5]]
    for seen in (np.eye(3), *map(np.array, CONES.values())):
        lab = [rgb2lab(np.interp(np.clip(seen @ colour, 0, 1), *SRGB)) for colour in colours]
        assert min(np.linalg.norm(a - b) for a, b in combinations(lab, 2)) > apart
    light = np.array([0.2126, 0.7152, 0.0722])
    for colour in colours:
        ends = sorted((light @ colour, light @ linear(paper)))
        assert (ends[1] + 0.05) / (ends[0] + 0.05) >= 3


def test_the_style_sheet_has_the_colours_of_the_palette():
    with matplotlib.style.context(style.SHEET):
        assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"] == [
            light for light, _ in style.PALETTE.values()
        ]


@pytest.mark.parametrize(("most", "expected"), [(50, ["1", "2", "5", "10", "20", "50"]), (1000, None)])
def test_an_axis_of_less_than_two_decades_has_ticks_between_powers_of_ten(most, expected):
    figure, (axes,) = style.canvas()
    axes.plot([1, most], [1, most])
    style.log_axis(axes, "y")
    figure.draw_without_rendering()
    low, high = axes.get_ylim()
    shown = [text.get_text() for text in axes.get_yticklabels() if low <= text.get_position()[1] <= high]
    assert shown == (expected or [f"$\\mathdefault{{10^{{{i}}}}}$" for i in range(4)])
    assert not [text for text in axes.get_yticklabels(minor=True) if text.get_text()]


# What the lines are, and what is written beside them

LARGEST = [
    ("radius 0.1 (eta0 10, certified gap 0.033%)", "run == 1 and n == 160 and radius == 0.1"),
    ("radius 1 (eta0 1, certified gap 0.33%)", "run == 1 and n == 160 and radius == 1"),
    ("radius 10 (eta0 0.1, certified gap 3.3%)", "run == 1 and n == 160 and radius == 10"),
    ("radius 100 (eta0 0.01, certified gap 33%)", "run == 1 and n == 160 and radius == 100"),
]
BY_METHOD = [(name, f"method == '{method}'") for name, method in zip(LABELS, METHODS, strict=True)]
SPARSE = [(method, f"n == n.max() and {query}") for method, query in BY_METHOD[:2]]
MAIN = "solver == 'working_set' and radius_rule == 'true'"
ERRORS = [
    (label, f"method == '{method}' and solver == '{solver}' and radius_rule == '{rule}'")
    for name, method in zip(LABELS[:3], METHODS, strict=False)
    for label, solver, rule in (
        (name, "working_set", "true"),
        (f"_{name}, working_set, validated", "working_set", "validated"),
        (f"_{name}, subgradient, true", "subgradient", "true"),
    )
]


PROBLEMS = ("squared", "logistic")
LOG = ("log", "log")
BY_NAME = {method: f"method == '{method}'" for method in ("projection", "entropic", "tree", "full")}
TREE_AND_FULL = [
    (method, f"part == 'touched' and n == {n} and {BY_NAME[method]}")
    for method in ("tree", "full")
    for n in (10_000, 1_000_000)
]
BY_RADIUS = [
    (method, f"{BY_NAME[method]} and radius == {radius}") for method in ("tree", "entropic") for radius in (30, 300)
]
BY_FORM = [
    [(method, f"form == '{form}' and {BY_NAME[method]}") for method in ("projection", "entropic")] for form in FORMS
]
BY_PROBLEM = {  # problem, n and column of each panel, from left to right and from top to bottom
    (problem, n, x): [
        (
            method,
            f"method == '{method}' and problem == '{problem}' and n == {n} and step > 0",
        )
        for method in RACERS
        if (method, problem, x) != ("coordinate-descent", "logistic", "flops")
    ]
    for problem in PROBLEMS
    for n in (800, 4_000)
    for x in ("seconds", "flops")
}
BY_POWER = [[(label, f"chosen and n == {n} and {query}") for label, query in BY_METHOD] for n in (40, 80, 160)]
ARMS = {"weights": ("normal", "sign"), "support": ("random", "all")}
BY_ARM = [
    [
        (label, f"radius_rule == 'validated' and support == '{support}' and weights == '{weights}' and {query}")
        for label, query in BY_METHOD[:3]
    ]
    for support in ARMS["support"]
    for weights in ARMS["weights"]
]
SELECTED = {  # l2 is not shown, as in the paper
    rule: [
        (f"{what}, {label}", f"solver == 'working_set' and radius_rule == '{rule}' and {query}", what)
        for label, query in BY_METHOD[:2]
        for what in ("precision", "recall")
    ]
    for rule in ("true", "validated")
}


@pytest.mark.parametrize(
    "figure, some, panel, x, y, rows, options",
    [
        ("convergence", {}, 0, "iteration", "objective", LARGEST, {}),
        ("convergence", {"run": (2, 1, 3)}, 0, "iteration", "objective", LARGEST, {}),  # the first of several runs
        ("auc", {}, 0, "n_samples", "auc_weighted", BY_METHOD, {}),
        ("auc", RUNS, 0, "n_samples", "auc_weighted", BY_METHOD, {}),
        ("eer", {}, 0, "n", "eer", BY_METHOD, {"scale": (1, 100)}),
        ("eer", RUNS, 0, "n", "eer", BY_METHOD, {"scale": (1, 100)}),
        ("sparsity", {}, 0, "features", "auc_weighted", SPARSE, {"by": "radius", "scale": (100, 1)}),
        ("sparsity", RUNS, 0, "features", "auc_weighted", SPARSE, {"by": "radius", "scale": (100, 1)}),
        ("test_error", {}, 0, "n", "test_error", ERRORS, {"scale": (1, 100)}),
        (
            "projection",
            {},
            0,
            "x",
            "seconds",
            [(m, f"part == 'dimension' and method == '{m}'") for m in PROJECTIONS],
            {},
        ),
        ("projection", {}, 1, "x", "seconds", TREE_AND_FULL, {}),
        *(
            ("race", {"problem": PROBLEMS, "n": (800, 4_000)}, panel, x, "suboptimality", rows, {"by": "step"})
            for panel, ((_, _, x), rows) in enumerate(BY_PROBLEM.items())
        ),
        (
            "race",
            {"run": (2, 1, 3)},
            0,
            "seconds",
            "suboptimality",
            [
                (method if run == 1 else f"_{method}, run {run}", f"method == '{method}' and run == {run} and step > 0")
                for method in RACERS
                for run in (1, 2, 3)
            ],
            {"by": "step"},
        ),
        *(
            (kind + suffix, {"form": FORMS}, panel, x, y, rows, {"by": "step"})
            for kind in ("exponentiated", "digits")
            for suffix, x, y in (("", "seconds", "suboptimality"), ("_gradients", "gradients", "best_suboptimality"))
            for panel, rows in enumerate(BY_FORM)
        ),
        *(
            ("auc_by_power", {"power": (0.0, 0.5, 1.0), "run": (1, 2)}, panel, "power", "auc_weighted", rows, {})
            for panel, rows in enumerate(BY_POWER)
        ),
        *(
            ("error_by_arm", ARMS, panel, "n", "test_error", rows, {"scale": (1, 100)})
            for panel, rows in enumerate(BY_ARM)
        ),
        *(
            (figure, RUNS, 0, "n", "", rows, {"scale": (1, 100)})
            for figure, rows in (("selection", SELECTED["true"]), ("selection_by_validation", SELECTED["validated"]))
        ),
        (
            "cost",
            {},
            0,
            "x",
            "seconds",
            [(m, f"part == 'projection size' and method == '{m}'") for m in ("sort", "newton")],
            {},
        ),
        ("cost", {}, 1, "x", "seconds", [("subgradient", "part == 'training samples'")], {}),
        ("online", {"run": (1, 2, 3)}, 0, "examples", "loss", BY_RADIUS, {}),
        ("online", {"run": (1, 2, 3)}, 1, "examples", "error", BY_RADIUS, {"scale": (1, 100)}),
        ("online", {"run": (1, 2, 3)}, 2, "examples", "non_zero", BY_RADIUS, {"scale": (1, 100)}),
    ],
)
def test_lines_are_rows_of_the_table(figure, some, panel, x, y, rows, options):
    table = made(figure, **some)
    assert_lines(catalogue.draw(figure, table).axes[panel], table, x, y, rows, **options)


@pytest.mark.parametrize(
    ("figure", "table", "expected"),
    [
        ("sparsity", PATH_TABLE, [f"{radius}" for radius in range(1, 101, 10)] * 2),  # radii far enough apart
        # Empty axes say why they are empty.
        ("eer_by_word", made("eer_by_word").assign(validation_word=True), ["no word with an EER"]),
        ("weights", made("weights", method=METHODS[2:]), ["no method that leaves features out"]),
        ("projection", made("projection").query("part == 'dimension'"), ["not measured"]),
    ],
)
def test_texts_within_panels(figure, table, expected):
    assert [text.get_text() for axes in catalogue.draw(figure, table).axes for text in axes.texts] == expected


@pytest.mark.parametrize(
    ("figure", "table", "expected"),
    [
        ("convergence", made("convergence", radius=(0.1,)).assign(eta0=np.nan), ["radius 0.1 (certified gap 0.033%)"]),
        ("test_error", made("test_error").query(MAIN), [*LABELS[:3], "certified, true radius"]),
        ("projection", made("projection").query("part == 'dimension'"), [*PROJECTIONS]),
    ],
)
def test_the_legend_names_only_what_is_drawn(figure, table, expected):
    assert legend(catalogue.draw(figure, table)) == expected


@pytest.mark.parametrize(
    "figure, x, y, scale",
    [
        ("auc", "n_samples", "auc_weighted", 1),
        ("eer", "n", "eer", [1, 100]),
        ("sparsity", "features", "auc_weighted", [100, 1]),
    ],
)
def test_fits_that_may_be_far_from_the_optimum_are_ringed(figure, x, y, scale):
    table = made(figure).assign(gap=GAP)
    assert not [text for text in legend(catalogue.draw(figure, table)) if "gap" in text]
    far = (table["n"] == 160) & (table["method"] == "hinge-l1")
    table.loc[far, "gap"] = 0.3
    drawn = catalogue.draw(figure, table)
    (ringed,) = [line.get_xydata() for line in ours(drawn.axes[0]) if line.get_label() == RINGED]
    assert RINGED in legend(drawn)
    expected = (table.loc[far, [x, y]] * scale).to_numpy()
    np.testing.assert_allclose(sorted(map(tuple, ringed)), sorted(map(tuple, expected)), rtol=1e-14)


# EER of single words


def test_eer_by_word_draws_means_over_test_runs_sorted_by_the_first_method():
    table = made("eer_by_word", run=(1, 2))  # run 1 validates on word 1, run 2 on word 2
    figure = catalogue.draw("eer_by_word", table)
    tested = table[(table["n"] == 40) & ~table["validation_word"]]
    by_word = 100 * tested.pivot_table(index="word", columns="method", values="eer").sort_values("hinge-l1inf")
    (axes,) = figure.axes
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # from top to bottom
    assert [text.get_text() for text in axes.get_yticklabels()] == list(by_word.index) and len(by_word) == len(WORDS)
    for name, method, line in zip(LABELS, METHODS, axes.lines, strict=True):
        assert line.get_label().startswith(f"{name} (lowest for ") and line.get_linestyle() == "None"
        np.testing.assert_allclose(line.get_xydata(), np.column_stack([by_word[method], range(6)]), rtol=1e-14)
    assert axes.get_xlabel() == "test EER (%), mean of 2 runs"


@pytest.mark.parametrize(
    ("word", "drawn"),
    [
        ("$x_", "$x_"),
        ("cash $5, $6", "cash $5, $6"),
        (r"$\frac{", r"$\frac{"),
        (r"a\$b", r"a\$b"),
        ("two\nlines", "two lines"),
        ("long " * 20, "long long long long long long long long…"),
    ],
)
def test_words_are_drawn_literally_and_not_as_formulas(word, drawn):
    figure = catalogue.draw("eer_by_word", made("eer_by_word").replace({"word": {"zoo": word}}))
    figure.savefig(io.BytesIO())
    texts = [label for label in figure.axes[0].get_yticklabels() if label.get_text() not in WORDS]
    assert [label._preprocess_math(label.get_text()) for label in texts] == [(drawn, False)]


# Significance and differences


def test_p_values_below_the_axis_are_drawn_at_its_end():
    table = made("significance", n=(40,)).assign(p_median=1e-30, p=0.0)
    axes = catalogue.draw("significance", table).axes[0]
    assert axes.lines[0].get_xdata()[0] == axes.collections[0].get_segments()[0][0, 0] == 1e-9


@pytest.mark.parametrize(
    ("figure", "metric", "average", "x", "scale"),
    [("auc", "auc", "by positives", "n_samples", 1), ("eer", "eer", "plain", "n", 100)],
)
def test_a_second_panel_shows_the_lead_of_the_first_method_with_its_intervals(figure, metric, average, x, scale):
    table = TABLES["differences"](runs=3)
    curves, lead = catalogue.draw(figure, made(figure, **RUNS), beside=table).axes
    assert len(ours(curves)) == len(METHODS) and not curves.collections
    shown = table[(table["metric"] == metric) & (table["words"] == "test words") & (table["average"] == average)]
    zero, *points = lead.lines
    assert list(zero.get_ydata()) == [0, 0]
    for other, line, intervals in zip(METHODS[1:], points, lead.collections, strict=True):
        rows, ends = shown[shown["against"] == other], np.array(intervals.get_segments())
        assert line.get_label() == f"_against {other}"
        np.testing.assert_allclose(line.get_ydata(), scale * rows["difference"])
        np.testing.assert_allclose(line.get_xdata() / rows[x], 1, atol=0.07)  # close to its size
        np.testing.assert_allclose(ends[:, :, 1], scale * rows[["low", "high"]])
        np.testing.assert_allclose(ends[:, :, 0], np.column_stack([line.get_xdata()] * 2))
    assert {line.get_color() for line in points} == {line.get_color() for line in ours(curves)[1:]}
    unit = " (%)" if scale == 100 else ""
    assert lead.get_ylabel() == f"{metric.upper()} of l1,∞ minus that of the other{unit}"


# Duchi et al.

DUCHI = [name for name, drawing in catalogue.FIGURES.items() if drawing.function.__module__ == figures.__name__]
WITH_STEPS = [name for name in DUCHI if "suboptimality" in made(name)]


@pytest.mark.parametrize("name", DUCHI)
def test_methods_of_a_figure_differ_in_grey_and_marker(name):
    table = made(name)
    drawn = [line for axes in catalogue.draw(name, table).axes for line in axes.lines if line.get_marker() != "None"]
    found = {(line.get_color(), line.get_marker()) for line in drawn}
    assert len(found) == len({marker for _, marker in found}) == table["method"].nunique()
    assert min(np.diff(sorted(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) for colour, _ in found))) > 0.05


@pytest.mark.parametrize("name", WITH_STEPS)
def test_an_optimum_that_is_reached_ends_the_line(name):
    table = made(name)
    drawn = "best_suboptimality" if name.endswith("_gradients") else "suboptimality"
    table.loc[table["step"] > 50, drawn] = 0.0
    table.loc[table["method"] == table["method"].iloc[-1], drawn] = -1e-17
    figure = catalogue.draw(name, table)
    figure.draw_without_rendering()
    lines = np.concatenate([line.get_ydata() for axes in figure.axes for line in axes.lines])
    assert min(lines) == table[drawn][table[drawn] > 0].min()


@pytest.mark.parametrize("name", [*WITH_STEPS, "online"])
def test_fits_with_warnings_have_stars_in_the_legend(name):
    table = made(name)
    methods = list(table["method"].unique())
    assert set(methods) <= {*legend(catalogue.draw(name, table))}
    edge = "eta0 at the upper edge of its grid"
    last = table["method"] == methods[-1]
    got = legend(catalogue.draw(name, table.assign(warning=np.where(last & (table.index > 9), edge, ""))))
    assert [text for text in got if "*" in text] == [f"{methods[-1]}*", f"*some fits: {edge}"]


def test_online_shows_radii_by_dashes_and_methods_by_colour():
    axes, *_ = catalogue.draw("online", made("online", radius=(3.0, 30.0, 300.0))).axes
    colours, dashes = zip(*((line.get_color(), str(line._dash_pattern)) for line in ours(axes)), strict=True)
    assert colours == (colours[0],) * 3 + (colours[3],) * 3 and colours[0] != colours[3]
    assert dashes[:3] == dashes[3:] and len(set(dashes)) == 3
