"""Figures of Duchi et al. (2008): what is drawn are the numbers of the table; facts of all figures: test_figures.py."""

import numpy as np
import pytest
from drawings import (
    FORMS,
    PROJECTIONS,
    RACERS,
    assert_lines,
    legend,
    made,
    ours,
    scales,
    ticks,
    titles,
)
from matplotlib.colors import to_rgb

from jointsparse.pipeline.papers import catalogue
from jointsparse.pipeline.papers.duchi import figures

PROBLEMS = ("squared", "logistic")
FIGURES = [name for name, drawing in catalogue.FIGURES.items() if drawing.function.__module__ == figures.__name__]
OF_STEPS = [name for name in FIGURES if "suboptimality" in made(name)]


# All figures


@pytest.mark.parametrize("name", FIGURES)
def test_methods_of_a_figure_differ_in_grey_and_marker(name):
    table = made(name)
    drawn = [line for axes in catalogue.draw(name, table).axes for line in axes.lines if line.get_marker() != "None"]
    found = {(line.get_color(), line.get_marker()) for line in drawn}
    assert len(found) == len({marker for _, marker in found}) == table["method"].nunique()
    assert min(np.diff(sorted(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) for colour, _ in found))) > 0.05


@pytest.mark.parametrize("name", OF_STEPS)
def test_an_optimum_that_is_reached_ends_the_line(name):
    table = made(name)
    drawn = "best_suboptimality" if name.endswith("_gradients") else "suboptimality"
    table.loc[table["step"] > 50, drawn] = 0.0
    table.loc[table["method"] == table["method"].iloc[-1], drawn] = -1e-17
    figure = catalogue.draw(name, table)
    figure.draw_without_rendering()
    lines = np.concatenate([line.get_ydata() for axes in figure.axes for line in axes.lines])
    assert min(lines) == table[drawn][table[drawn] > 0].min()


@pytest.mark.parametrize("name", [*OF_STEPS, "online"])
def test_warnings_are_stars_in_the_legend(name):
    table = made(name)
    methods = list(table["method"].unique())
    assert set(methods) <= {*legend(catalogue.draw(name, table))}
    edge = "eta0 at the upper edge of its grid"
    last = table["method"] == methods[-1]
    got = legend(catalogue.draw(name, table.assign(warning=np.where(last & (table.index > 9), edge, ""))))
    assert [text for text in got if "*" in text] == [f"{methods[-1]}*", f"*some fits: {edge}"]


# What the lines are, and what is written beside them

LOG = ("log", "log")
BY_METHOD = {method: f"method == '{method}'" for method in ("projection", "entropic", "tree", "full")}
TREE_AND_FULL = [
    (method, f"part == 'touched' and n == {n} and {BY_METHOD[method]}")
    for method in ("tree", "full")
    for n in (10_000, 1_000_000)
]
BY_RADIUS = [
    (method, f"{BY_METHOD[method]} and radius == {radius}") for method in ("tree", "entropic") for radius in (30, 300)
]
BY_FORM = [
    [(method, f"form == '{form}' and {BY_METHOD[method]}") for method in ("projection", "entropic")] for form in FORMS
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


@pytest.mark.parametrize(
    "name, some, panel, x, y, rows, options",
    [
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
def test_lines_are_rows_of_the_table(name, some, panel, x, y, rows, options):
    table = made(name, **some)
    assert_lines(catalogue.draw(name, table).axes[panel], table, x, y, rows, **options)


ENDS = "projection: 3% non-zero, error 4.1%\nentropic: 100% non-zero, error 4.1%"


@pytest.mark.parametrize(
    "read, name, table, expected",
    [
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
        (ticks, "projection", made("projection"), [["1,000", "100,000", "10,000,000"], ["10", "100", "1,000"]]),
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
            made("projection").query("part == 'dimension'"),  # no line of the paper is promised
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
def test_what_is_written(read, name, table, expected):
    assert read(catalogue.draw(name, table)) == expected


def test_projection_ends_the_papers_line_where_the_tree_of_the_largest_n_ends():
    table = made("projection")
    (_, right) = catalogue.draw("projection", table).axes
    ((k, seconds),) = [line.get_data() for line in right.lines if line.get_label() == "_papers"]
    (last,) = table.query("method == 'tree' and n == 1_000_000 and x == 1_000")["seconds"]
    np.testing.assert_allclose(seconds, last * k / 1_000, rtol=1e-14)


def test_online_tells_radii_by_dashes_and_methods_by_colour():
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


def test_exponentiated_writes_what_the_methods_end_with():
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
