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
    FORMS,
    METHODS,
    PROJECTIONS,
    RACERS,
    TABLES,
    WORDS,
    assert_lines,
    labels,
    lacking,
    legend,
    made,
    notes,
    ours,
    scales,
    ticks,
    titles,
)
from matplotlib.colors import to_rgb
from skimage.color import rgb2lab

from jointsparse.pipeline.figures import study, style
from jointsparse.pipeline.papers import catalogue
from jointsparse.pipeline.papers.duchi import figures
from jointsparse.pipeline.scores.flags import GAP
from jointsparse.registry import room

# A path of a hundred radii, from 1 % to 100 % of the features, on the smallest training sets.
PATH_TABLE = made("sparsity", n=(40,), radius=np.arange(1, 101.0))
PATH_TABLE = PATH_TABLE.assign(features=np.where(PATH_TABLE["method"].isin(DENSE), 1.0, PATH_TABLE["radius"] / 100))
RINGED = "certified gap above 5%, up to 30%"
LABELS = ["l1,∞", "l1", "l2", "linear SVM"]  # of METHODS


@pytest.fixture(params=sorted(catalogue.FIGURES))
def name(request):
    return request.param


# Facts about every figure


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


def test_every_figure_names_its_quantities(name):
    figure = catalogue.draw(name, made(name))
    figure.draw_without_rendering()
    assert all(is_named(axis) for axes in figure.axes if axes.axison for axis in (axes.xaxis, axes.yaxis))
    texts = [*titles(figure), *(text.get_text() for drawn in figure.legends for text in drawn.get_texts())]
    assert any("paper" in text for text in texts) == is_of_a_paper(name)


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


@pytest.mark.parametrize("name", sorted(catalogue.FIGURES)[::3])
def test_the_same_table_gives_the_same_bytes_and_is_not_changed(name):
    table, files = made(name), (io.BytesIO(), io.BytesIO())
    for file in files:
        catalogue.draw(name, table).savefig(file, format="png", dpi=40)
    assert files[0].getvalue() == files[1].getvalue()
    pd.testing.assert_frame_equal(table, made(name))


def with_runs(table, n_runs):
    """Repeat the rows for each run."""
    return pd.concat([table.assign(run=run) for run in range(1, n_runs + 1)], ignore_index=True)


def test_every_figure_is_drawn_of_smaller_and_larger_tables(name):
    table = made(name)
    of = table["against" if "against" in table else "method"]
    first = table[of == of.dropna().iloc[0]].assign(n=7, n_samples=99)[::-1]
    for rows in (table[-1:], with_runs(first, 3)):
        catalogue.draw(name, rows).draw_without_rendering()


NUMBERS = [
    *("auc", "eer", "objective", "gap", "eta0", "features", "p", "p_holm", "difference", "low", "high"),
    *("test_error", "precision", "recall", "seconds"),
    *("suboptimality", "flops", "loss", "error", "non_zero", "touched"),
]


@pytest.mark.parametrize("rows", ["one method", "all"])
def test_numbers_that_are_missing_leave_a_gap(name, rows):
    table = made(name)
    column = "against" if "against" in table else "method"
    missing = table[column] == table[column].iloc[-1] if rows == "one method" else np.ones(len(table), dtype=bool)
    table.loc[missing, [number for number in NUMBERS if number in table]] = np.nan
    catalogue.draw(name, table).draw_without_rendering()


def test_texts_stay_within_the_figure(name):
    """Nothing is cut off at the edge of a page, whatever the length of the legend."""
    table = made(name)
    if "run" in table:
        table = with_runs(table, 10)
    if "gap" in table:
        table["gap"] = 0.3
    figure = catalogue.draw(name, table)
    figure.draw_without_rendering()
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert box.x0 > -0.02 and box.y0 > -0.02 and box.x1 < width + 0.02 and box.y1 < height + 0.02


# The looks of methods


def test_every_loss_and_norm_has_a_look_of_its_own(monkeypatch):
    monkeypatch.setitem(room("norms"), "l7", None)
    monkeypatch.setitem(room("losses"), "huber", None)
    found = style.looks([*(f"{loss}-{norm}" for loss in room("losses") for norm in room("norms")), "svm-l2"])
    assert len(set(map(str, found.values()))) == len(found) == (len(room("losses")) * len(room("norms")) + 1)
    assert len({found[f"hinge-{norm}"]["marker"] for norm in room("norms")}) == len(room("norms"))


def test_a_loss_has_a_lighter_colour_of_its_norm():
    found = style.looks(["hinge-l1", "logistic-l1", "squared-l1"])
    assert len({look["marker"] for look in found.values()}) == len({look["linestyle"] for look in found.values()}) == 1
    assert np.all(np.diff([sum(to_rgb(look["color"])) for look in found.values()]) > 0)


def test_norms_differ_in_grey_and_svm_is_grey():
    (axes,) = catalogue.draw(
        "auc", made("auc", method=["hinge-l1inf", "hinge-l1", "hinge-l2", "hinge-l12", "svm-l2"])
    ).axes
    colours = {line.get_label(): to_rgb(line.get_color()) for line in axes.lines}
    assert len(set(colours["linear SVM"])) == 1
    assert min(np.diff(sorted(np.dot(colour, (0.299, 0.587, 0.114)) for colour in colours.values()))) > 0.05


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
def test_norms_have_colours_that_everybody_can_tell_apart_and_see(scheme, paper, apart):
    """Red and green of l1 and l1,2 were once 7 apart for protanopes. Contrast of WCAG AA for graphics: 3."""
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

RUNS = {"run": (1, 2, 3)}
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
ENDS = "projection: 3% non-zero, error 4.1%\nentropic: 100% non-zero, error 4.1%"


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
        ("online", {"run": (1, 2, 3)}, 0, "examples", "loss", BY_RADIUS, {}),
        ("online", {"run": (1, 2, 3)}, 1, "examples", "error", BY_RADIUS, {"scale": (1, 100)}),
        ("online", {"run": (1, 2, 3)}, 2, "examples", "non_zero", BY_RADIUS, {"scale": (1, 100)}),
    ],
)
def test_lines_are_rows_of_the_table(figure, some, panel, x, y, rows, options):
    table = made(figure, **some)
    assert_lines(catalogue.draw(figure, table).axes[panel], table, x, y, rows, **options)


def test_selection_draws_precision_and_recall_of_the_sparse_methods_as_in_the_paper():
    table = made("selection", run=(1, 2))
    figure = catalogue.draw("selection", table)
    kinds = [(method, what) for method in METHODS[:2] for what in ("precision", "recall")]
    rows = [(f"{what}, {style.label(method)}", f"method == '{method}' and what == '{what}'") for method, what in kinds]
    by_kind = table.query(MAIN).melt(["n", "method"], ["precision", "recall"], "what")
    assert_lines(figure.axes[0], by_kind, "n", "value", rows, scale=(1, 100))
    assert legend(figure) == [*(label for label, _ in rows), "band: ±1 standard deviation, 2 runs"]


@pytest.mark.parametrize(
    "read, figure, table, expected",
    [
        (legend, "convergence", made("convergence"), [label for label, _ in LARGEST]),
        (
            legend,
            "convergence",
            made("convergence", radius=(0.1,)).assign(eta0=np.nan),  # a solver without step sizes
            ["radius 0.1 (certified gap 0.033%)"],
        ),
        (
            titles,
            "convergence",
            made("convergence"),
            ["Convergence of l1,∞, 19,200 samples\n(paper: Fig. 2, radius 0.1, 1, 10, 100, 63,408 samples)"],
        ),
        (labels, "convergence", made("convergence"), [("iteration", "objective / objective at W = 0")]),
        (ticks, "auc", made("auc"), [["4,800", "9,600", "19.2k"]]),
        (labels, "auc", made("auc"), [("number of training samples, all words together", "average test AUC")]),
        (scales, "auc", made("auc"), [("log", "linear")]),
        (legend, "auc", made("auc"), LABELS),
        (legend, "auc_by_size", made("auc", **RUNS), LABELS),
        (ticks, "eer", made("eer"), [["40", "80", "160"]]),
        (labels, "eer", made("eer"), [("n, positive training samples of each word", "average test EER (%)")]),
        (scales, "eer", made("eer"), [("log", "linear")]),
        (legend, "eer", made("eer"), LABELS),
        (legend, "eer", made("eer", **RUNS), LABELS),
        (
            labels,
            "sparsity",
            made("sparsity", **RUNS),
            [("features used by any word (%), mean of 3 runs", "average test AUC")],
        ),
        (notes, "sparsity", made("sparsity"), [["0.1", "1", "10"] * 2]),
        (notes, "sparsity", PATH_TABLE, [[f"{radius}" for radius in range(1, 101, 10)] * 2]),
        (ticks, "test_error", made("test_error"), [["40", "80", "160"]]),
        (
            legend,
            "test_error",
            made("test_error"),
            [
                *LABELS[:3],
                "certified, true radius",
                "certified, validated radius",
                "subgradient steps, true radius (the paper's)",
            ],
        ),
        (
            legend,
            "test_error",
            made("test_error", **RUNS).query(MAIN),  # the legend names no other settings
            [
                *LABELS[:3],
                "certified, true radius",
                "band (solid): ±1 standard deviation, 3 runs",
            ],
        ),
        (
            legend,
            "eer_by_word",
            made("eer_by_word"),
            [f"{name} (lowest for {n} of 5)" for name, n in zip(LABELS, (1, 1, 2, 1), strict=True)],
        ),
        (scales, "cost", made("cost"), [("log", "log")] * 2),
        (ticks, "cost", made("cost"), [["40k", "400k", "4M"], ["40", "160", "640", "2,560"]]),
        (
            labels,
            "cost",
            made("cost"),
            [
                ("entries of the matrix", "seconds per projection"),
                ("training samples of each task", "seconds per iteration"),
            ],
        ),
        (
            titles,
            "cost",
            made("cost"),
            [
                "Measured seconds, each a median of 7",
                "projection size, m = 40",
                "training samples, d = 200, m = 40",
            ],
        ),
        (
            legend,
            "cost",
            made("cost"),
            [
                "sort",
                "newton",
                "subgradient",
                "papers: N log N in the number N of non-zero entries; linear in the number of samples",
            ],
        ),
        # Empty axes say why they are empty.
        (notes, "eer_by_word", made("eer_by_word").assign(validation_word=True), [["no word with an EER"]]),
        (notes, "weights", made("weights", method=METHODS[2:]), [["no method that leaves features out"]]),
        (notes, "projection", made("projection").query("part == 'dimension'"), [[], ["not measured"]]),
        (scales, "projection", made("projection"), [LOG] * 2),
        (
            titles,
            "projection",
            made("projection"),
            [
                "l1 ball: seconds, each a median of 3 to 5",
                "projection (paper: pivot in O(n))",
                "update (paper: tree in O(k log n))",
            ],
        ),
        (ticks, "projection", made("projection"), [["1,000", "100k", "10M"], ["10", "100", "1,000"]]),
        (
            legend,
            "projection",
            made("projection"),
            [
                *PROJECTIONS,
                "tree",
                "full",
                "paper: k log n",
                "non-zero entries n = 10,000",
                "non-zero entries n = 1,000,000",
            ],
        ),
        (
            legend,
            "projection",
            made("projection").query("part == 'dimension'"),  # the legend has no line of the paper
            [*PROJECTIONS],
        ),
        (scales, "race", made("race"), [LOG] * 2),
        (
            titles,
            "race",
            made("race", problem=PROBLEMS, n=(800, 4_000)),
            ["Suboptimality (paper: Fig. 4, squared; Fig. 5, logistic)"]
            + [f"{problem} loss, n = {n}" for problem in PROBLEMS for n in ("800", "4,000") for _ in range(2)],
        ),
        (
            legend,
            "race",
            made("race", problem=PROBLEMS, run=(1, 2, 3)),
            [*RACERS, "thin: 2 more runs", "0.01 (paper: soon reached, then slower)"],
        ),
        *(
            (legend, name, made(name, form=FORMS), ["projection", "entropic"])
            for name in ("exponentiated", "exponentiated_gradients", "digits", "digits_gradients")
        ),
        *(
            (
                titles,
                name,
                made(name, form=FORMS[:n]),
                [f"Projection and exponentiated gradient{note}\n(paper: Fig. 6, text; Fig. 7, digits)"]
                + [f"{form}, radius 320\n{ENDS}" for form in FORMS[:n]],
            )
            for kind in ("exponentiated", "digits")
            for name, note in ((kind, ""), (f"{kind}_gradients", ", best eta0 for each"))
            for n in (3, 4)
        ),
        (scales, "online", made("online"), [("linear", "linear")] * 2 + [("linear", "log")]),
        (
            legend,
            "online",
            made("online", run=(1, 2, 3)),
            ["tree", "entropic", "radius 30", "radius 300", "band: ±1 standard deviation, 3 runs"],
        ),
    ],
)
def test_texts_of_figures(read, figure, table, expected):
    assert read(catalogue.draw(figure, table)) == expected


def test_several_runs_have_a_band_of_one_standard_deviation():
    table = made("test_error", **RUNS)
    (axes,) = catalogue.draw("test_error", table).axes
    rows = table.query(MAIN)
    mean, spread = (100 * rows.pivot_table("test_error", "n", "method", of)[METHODS[:3]] for of in ("mean", "std"))
    drawn = [pd.DataFrame(band.get_paths()[0].vertices).groupby(0)[1] for band in axes.collections]
    for expected, got in ((mean - spread, "min"), (mean + spread, "max")):
        np.testing.assert_allclose(np.transpose([band.agg(got) for band in drawn]), expected, rtol=1e-12)


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


# AUC against the power of the singular values


def test_auc_by_power_shows_means_at_the_validated_radius_of_each_power():
    table = made("sparsity", power=(0.0, 0.5, 1.0), run=(1, 2))
    axes = catalogue.draw("auc_by_power", table).axes
    assert [one.get_title() for one in axes] == ["n = 40", "n = 80", "n = 160"]
    for one, (_, of_size) in zip(axes, table[table["chosen"]].groupby("n"), strict=True):
        assert_lines(one, of_size, "power", "auc_weighted", BY_METHOD)


# Synthetic tasks of several kinds


def test_error_by_arm_has_a_panel_of_validated_errors_for_each_kind_of_weights_and_support():
    arms = [(weights, support) for support in ("random", "all") for weights in ("normal", "sign")]
    of_arms = [TABLES["recovery"]().assign(weights=weights, support=support) for weights, support in arms]
    for i, one in enumerate(of_arms):
        one["test_error"] += i
    figure = catalogue.draw("error_by_arm", pd.concat(of_arms))
    assert [axes.get_title() for axes in figure.axes] == [f"{weights} weights, {one} support" for weights, one in arms]
    for axes, one in zip(figure.axes, of_arms, strict=True):
        rows = one.query("radius_rule == 'validated' and method == 'hinge-l1inf'")
        np.testing.assert_allclose(ours(axes)[0].get_ydata(), 100 * rows["test_error"])


# Significance and differences


def test_significance_draws_our_p_values_of_the_test_words_and_the_papers_beside_them():
    table = made("significance", n=(40, 320, 20))
    p_values = ["p_median", "p_reverse_median"]
    table[p_values] = 10.0 ** (9 * table[p_values] - 9)
    figure = catalogue.draw("significance", table)
    assert titles(figure) == [
        "Sign tests: is l1,∞ better? 1 run\n(paper: Table 1, Reuters photographs)",
        *(f"against {name}" for name in LABELS[1:]),
    ]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["20", "40", "320"]
    stated = [[np.nan, 1e-5, 0.36], [np.nan, 0.0042, 0.35], [np.nan, 0.0042, 0.35]]
    for axes, other, papers in zip(figure.axes, METHODS[1:], stated, strict=True):
        own = table[(table["words"] == "test words") & (table["against"] == other)].sort_values("n")
        ours_of_panel = [line.get_xdata() for line in axes.lines[:2]]
        np.testing.assert_allclose(ours_of_panel, np.minimum(2 * own[p_values].to_numpy().T, 1))  # of one run
        (star,) = [line for line in axes.lines if line.get_marker() == "*"]
        np.testing.assert_allclose(star.get_xdata(), papers)


def test_significance_shows_one_p_value_of_all_runs_and_the_range_of_the_papers_test():
    table = made("significance", run=(1, 2, 3), n=(40,)).query("words == 'test words' and against == 'svm-l2'")
    table = table.assign(p=[0.01, 0.6, 0.04], p_median=[0.02, 0.5, 0.03], p_reverse_median=[0.9, 0.04, 0.08])
    figure = catalogue.draw("significance", table, beside_paper=False)
    (axes,) = figure.axes
    np.testing.assert_allclose([line.get_xdata()[0] for line in axes.lines[:2]], [0.12, 0.32])
    np.testing.assert_allclose(axes.collections[0].get_segments()[0][:, 0], [0.01, 0.6])
    assert titles(figure) == ["Sign tests: is l1,∞ better? 3 runs", "against linear SVM"]
    assert "pooled pairs share samples, so the tests are not exact" in legend(figure)


def test_p_values_below_the_axis_are_drawn_at_its_end():
    table = made("significance", n=(40,)).assign(p_median=1e-30, p=0.0)
    axes = catalogue.draw("significance", table).axes[0]
    assert axes.lines[0].get_xdata()[0] == axes.collections[0].get_segments()[0][0, 0] == 1e-9


@pytest.mark.parametrize("name", [name for name, kind in catalogue.FIGURES.items() if kind.stated])
def test_numbers_of_the_paper_are_not_drawn_for_other_data(name):
    for beside_paper in (True, False):
        figure = catalogue.draw(name, made(name), beside_paper=beside_paper)
        texts = [*titles(figure), *(text.get_text() for drawn in figure.legends for text in drawn.get_texts())]
        assert any("paper" in text for text in texts) == beside_paper


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


# Weights


def test_weights_draws_the_sparse_methods_side_by_side_in_one_scale():
    figure = catalogue.draw("weights", made("weights"))
    *panels, bar = figure.axes
    assert titles(figure)[1:] == ["l1: 100% of features used", "l1,∞: 10% of features used"]
    pictures = [axes.images[0] for axes in panels]
    assert pictures[0].get_clim() == pictures[1].get_clim() == (0, 1.98)
    assert (panels[0].get_ylabel(), bar.get_ylabel()) == (
        "features in use, 50 of 50",
        "|weight| (white: 0; square-root scale)",
    )
    expected = np.zeros((50, 4))
    expected[::10] = 1 + np.arange(0, 50, 10)[:, None] / 50
    np.testing.assert_allclose(pictures[1].get_array().filled(0), expected, rtol=1e-15)


# Cost


def test_cost_draws_the_seconds_of_each_part_in_a_panel():
    table = made("cost")
    size, training = catalogue.draw("cost", table).axes
    rows = [(method, f"part == 'projection size' and method == '{method}'") for method in ("sort", "newton")]
    assert_lines(size, table, "x", "seconds", rows)
    assert_lines(training, table, "x", "seconds", [("subgradient", "part == 'training samples'")])
    x, seconds = size.lines[-1].get_xydata().T  # through the last point of the first method, in proportion to x log x
    np.testing.assert_allclose(seconds, 0.2 * x * np.log(x) / (4e6 * np.log(4e6)), rtol=1e-13)
    np.testing.assert_allclose(training.lines[-1].get_xydata(), training.lines[0].get_xydata(), rtol=1e-13)


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


def test_projection_ends_the_papers_line_where_the_tree_of_the_largest_n_ends():
    table = made("projection")
    (_, right) = catalogue.draw("projection", table).axes
    ((k, seconds),) = [line.get_data() for line in right.lines if line.get_label() == "_papers"]
    (last,) = table.query("method == 'tree' and n == 1_000_000 and x == 1_000")["seconds"]
    np.testing.assert_allclose(seconds, last * k / 1_000, rtol=1e-14)


def test_online_shows_radii_by_dashes_and_methods_by_colour():
    axes, *_ = catalogue.draw("online", made("online", radius=(3.0, 30.0, 300.0))).axes
    colours, dashes = zip(*((line.get_color(), str(line._dash_pattern)) for line in ours(axes)), strict=True)
    assert colours == (colours[0],) * 3 + (colours[3],) * 3 and colours[0] != colours[3]
    assert dashes[:3] == dashes[3:] and len(set(dashes)) == 3


def test_race_draws_the_first_run_thick_and_the_others_thin():
    first, *others = ours(catalogue.draw("race", made("race", run=(2, 1, 3))).axes[0])[:3]
    assert all(line.get_linewidth() < first.get_linewidth() / 2 and not line.get_marker() for line in others)


def test_race_marks_what_the_paper_reaches_quickly():
    for axes in catalogue.draw("race", made("race")).axes:
        assert [line for line in axes.lines if set(line.get_ydata()) == {0.01}]


def test_exponentiated_writes_the_final_state_of_the_methods():
    table = made("exponentiated", run=(1, 2)).sample(frac=1, random_state=0)
    of_projection, last = table["method"] == "projection", table["step"] == 200
    table.loc[of_projection & (table["run"] == 2), "non_zero"] = 0.07
    table.loc[last, "test_error"] = np.where(of_projection, 0.021, 0.25)[last]
    (axes,) = catalogue.draw("exponentiated", table.sort_values(["method", "step"])).axes
    assert sorted(axes.get_title().split("\n")) == [
        "batch 25%, radius 320",
        "entropic: 100% non-zero, error 25%",
        "projection: 5% non-zero, error 2.1%",
    ]
