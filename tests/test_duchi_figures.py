"""Figures of Duchi et al. (2008): what is drawn are the numbers of the table; facts of all figures: test_figures.py."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from jointsparse.figures import style
from jointsparse.papers import catalogue
from jointsparse.papers.duchi import figures

DENSE = {"sort": (8e-9, 1.1), "pivot": (9e-9, 1.0), "newton": (4e-9, 1.0)}
SUBOPTIMALITY = {
    "power": lambda t: (1 + 3 * t) ** -0.8,
    "geometric": lambda t: 0.9**t,
    "fast": lambda t: 0.002 ** (t / 40),
}
METHODS_OF_RACE = {  # key of SUBOPTIMALITY, seconds and operations of a step
    "batch": ("power", 1e-3, 1.3e6),
    "stochastic": ("power", 1e-5, 4e3),
    "line-search": ("geometric", 2e-3, 4e6),
    "coordinate-descent": ("geometric", 4e-3, 2e6),
    "interior-point": ("fast", 3e-2, 4e8),
}
PROBLEMS = ("squared", "logistic")
FORMS = ("batch 25%", "batch 100%", "stochastic 1", "stochastic 100")


def projection_table(sizes=(1_000, 10_000, 100_000, 1_000_000, 10_000_000), non_zeros=(10_000, 1_000_000)):
    """Seconds of sort grow with n^1.1, those of the others with n."""
    rows = [
        {"part": "dimension", "x": n, "seconds": seconds * n**power, "repeats": 5, "n": n, "k": n, "method": method}
        for method, (seconds, power) in DENSE.items()
        for n in sizes
    ]
    rows += [
        {"part": "touched", "x": k, "seconds": seconds, "repeats": 3, "n": n, "k": k, "method": method}
        for n in non_zeros
        for k in (10, 30, 100, 300, 1_000)
        for method, seconds in (("tree", 3e-7 * k**0.9 * np.log(n) / 10), ("full", 4e-9 * n + 1e-8 * k))
    ]
    return pd.DataFrame(rows)


def race_table(problems=PROBLEMS[:1], sizes=(800,), runs=(1,), methods=tuple(METHODS_OF_RACE)):
    """The operations of coordinate descent on the logistic loss are not counted."""
    return pd.DataFrame(
        {"run": run, "problem": problem, "n": n, "method": method, "eta0": np.nan, "step": t}
        | {
            "suboptimality": (1 + 0.3 * (run - 1)) * SUBOPTIMALITY[kind](t),
            "flops": np.nan
            if t and (method, problem) == ("coordinate-descent", "logistic")
            else t * flops * (n / 800) ** 2,
            "seconds": 1e-6 + t * seconds * (n / 800) ** 2,
        }
        | {"non_zero": 0.4, "radius": 100.0, "penalty": 3.0, "warning": ""}
        for run in runs
        for problem in problems
        for n in sizes
        for method in methods
        for kind, seconds, flops in [METHODS_OF_RACE[method]]
        for t in range(0, 101, 5)
    )


def exponentiated_table(forms=FORMS[:1], methods=("projection", "entropic"), runs=(1,)):
    return pd.DataFrame(
        {"run": run, "form": form, "method": method, "schedule": "1/sqrt(t)", "eta0": 3.0, "step": t}
        | {"gradients": 50 * t * (i + 1), "objective": 0.1 + 0.5 * (1 + t) ** -0.7}
        | {"suboptimality": (1 + 0.2 * run) * (1 + t) ** (-0.7 if method == "projection" else -0.5)}
        | {"test_error": 0.04 + 0.3 / (1 + t), "non_zero": 0.03 if method == "projection" else 1.0}
        | {"flops": np.nan, "seconds": 1e-3 * t * (i + 1), "radius": 100.0, "warning": ""}
        for run in runs
        for i, form in enumerate(forms)
        for method in methods
        for t in range(0, 201, 10)
    )


def online_table(methods=("tree", "entropic"), radii=(30.0, 300.0), runs=(1,)):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"run": run, "method": method, "radius": radius, "schedule": "1/sqrt(t)", "eta0": 1.0, "examples": examples}
        | {"loss": 0.2 + 0.4 * (examples / 500) ** -0.5 + (method == "entropic") * 0.05 + 0.02 * rng.random()}
        | {"error": 0.05 + 0.4 * (examples / 500) ** -0.5 + 0.02 * rng.random(), "seconds": 1e-5 * examples}
        | {"non_zero": 1.0 if method == "entropic" else 1e-7 * radius * examples**0.3, "warning": ""}
        for run in runs
        for method in methods
        for radius in radii
        for examples in range(500, 10_001, 500)
    )


def updates_table(methods=("tree", "full", "full of non-zeros", "entropic"), shares=(1.0, 0.3, 0.1, 0.01)):
    seconds = {
        "tree": lambda z: 2e-6 * np.log(z),
        "full": lambda z: 3e-2 + 0 * z,
        "full of non-zeros": lambda z: 5e-9 * z + 1e-6,
        "entropic": lambda z: 8e-6 + 0 * z,
    }
    return pd.DataFrame(
        {"share": share, "non_zeros": int(2e6 * share), "n": 10_000_000, "touched": 97.3, "method": method}
        | {"seconds": seconds[method](2e6 * share), "repeats": 300}
        for share in shares
        for method in methods
    )


TABLES = {
    "projection": projection_table,
    "race_seconds": race_table,
    "exponentiated_seconds": exponentiated_table,
    "digits_seconds": exponentiated_table,
    "online": online_table,
    "updates": updates_table,
}
FIGURES = {name: drawing for name, drawing in catalogue.FIGURES.items() if drawing.table in TABLES}
OF_STEPS = [name for name, drawing in FIGURES.items() if "suboptimality" in TABLES[drawing.table]()]


def made(name, **some):
    """Made-up table of a figure."""
    return TABLES[FIGURES[name].table](**some)


def lines(axes):
    """The numbers of every line by its label; of lines of one label a list."""
    found = {}
    for line in axes.lines:
        found.setdefault(line.get_label(), []).append(line.get_xydata())
    return {label: data[0] if len(data) == 1 else data for label, data in found.items()}


def legend(figure):
    """The texts of the figure's only legend."""
    (drawn,) = figure.legends
    return [text.get_text() for text in drawn.get_texts()]


# All figures


@pytest.mark.parametrize("name", FIGURES)
def test_methods_of_a_figure_differ_in_grey_and_marker(name):
    table = made(name)
    drawn = [line for axes in catalogue.draw(name, table).axes for line in axes.lines if line.get_marker() != "None"]
    found = {(line.get_color(), line.get_marker()) for line in drawn}
    assert len(found) == len({marker for _, marker in found}) == table["method"].nunique()
    assert min(np.diff(sorted(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) for colour, _ in found))) > 0.05


def test_a_method_looks_the_same_whatever_the_others():
    alone = {method: style.looks([method])[method] for method in style.NAMED}
    assert style.looks([*style.NAMED, "hinge-l1", "aa"]).items() >= alone.items()


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("rows", ["last row", "first method", "two runs of a method"])
def test_degenerate_tables_are_drawn(name, rows):
    table = made(name)
    if rows == "two runs of a method":
        table = table.assign(run=1 + np.arange(len(table)) % 2)
    one = table[-1:] if rows == "last row" else table[table["method"] == table["method"].iloc[0]]
    catalogue.draw(name, one).draw_without_rendering()


@pytest.mark.parametrize("name", OF_STEPS)
def test_an_optimum_that_is_reached_ends_the_line(name):
    table = made(name)
    table.loc[table["step"] > 50, "suboptimality"] = 0.0
    table.loc[table["method"] == table["method"].iloc[-1], "suboptimality"] = -1e-17
    figure = catalogue.draw(name, table)
    figure.draw_without_rendering()
    drawn = np.concatenate([line.get_ydata() for axes in figure.axes for line in axes.lines])
    assert min(drawn) == table["suboptimality"][table["suboptimality"] > 0].min()


@pytest.mark.parametrize("name", [*OF_STEPS, "online"])
def test_warnings_are_stars_in_the_legend(name):
    table = made(name)
    methods = list(table["method"].unique())
    assert set(methods) <= {text.split(" (")[0] for text in legend(catalogue.draw(name, table))}
    edge = "eta0 at the upper edge of its grid"
    last = table["method"] == methods[-1]
    got = legend(catalogue.draw(name, table.assign(warning=np.where(last & (table.index > 9), edge, ""))))
    assert [text for text in got if "*" in text] == [f"{methods[-1]}*", f"*some fits: {edge}"]


# Seconds of projections


def test_projection_draws_the_seconds_of_both_parts():
    table = projection_table()
    figure = catalogue.draw("projection", table)
    left, right = figure.axes
    drawn = lines(left)
    assert list(drawn) == ["sort (like n^1.10)", "pivot (like n^1.00)", "newton (like n^1.00)"]
    for method, got in zip(DENSE, drawn.values(), strict=True):
        rows = table[(table["part"] == "dimension") & (table["method"] == method)]
        np.testing.assert_array_equal(got, rows[["x", "seconds"]])
    drawn = lines(right)
    for method in ("tree", "full"):
        rows = table[(table["part"] == "touched") & (table["method"] == method)]
        for n, got in zip((10_000, 1_000_000), drawn[method], strict=True):
            np.testing.assert_array_equal(got, rows[rows["n"] == n][["x", "seconds"]])
    assert {axes.get_xscale() for axes in figure.axes} | {axes.get_yscale() for axes in figure.axes} == {"log"}
    assert figure.get_suptitle() == "l1 ball: seconds, each a median of 3 to 5"
    assert [text.get_text() for text in left.get_xticklabels()] == ["1,000", "100,000", "10,000,000"]


def test_projection_ends_the_papers_line_where_the_tree_of_the_largest_n_ends():
    table = projection_table()
    (_, right) = catalogue.draw("projection", table).axes
    k, seconds = lines(right)["_papers"].T
    (last,) = table[(table["method"] == "tree") & (table["n"] == 1_000_000) & (table["x"] == 1_000)]["seconds"]
    np.testing.assert_allclose(seconds, last * k / 1_000, rtol=1e-14)


def test_projection_tells_n_by_dashes_and_methods_by_colour():
    (_, right) = catalogue.draw("projection", projection_table()).axes
    measured = [line for line in right.lines if line.get_label() != "_papers"]
    assert len({line.get_color() for line in measured}) == 2
    assert len({(line.get_color(), str(line._dash_pattern)) for line in measured}) == 4
    assert legend(right.figure)[-3:] == [
        "paper: k log n",
        "non-zero entries n = 10,000",
        "non-zero entries n = 1,000,000",
    ]


def test_the_exponent_is_fitted_to_large_dimensions_alone():
    table = projection_table(sizes=(100, 1_000, 10_000, 100_000)).query("method == 'newton'")
    table.loc[table["x"] < figures.LARGE_ENTRIES, "seconds"] = 1.0
    (left, _) = catalogue.draw("projection", table).axes
    assert list(lines(left)) == ["newton (like n^1.00)"]
    (left, _) = catalogue.draw("projection", table[table["x"] <= figures.LARGE_ENTRIES]).axes
    assert list(lines(left)) == ["newton"]


def test_projection_without_a_part_promises_no_line_of_the_paper():
    figure = catalogue.draw("projection", projection_table().query("part == 'dimension'"))
    assert "paper: k log n" not in legend(figure)


# Race


def test_race_draws_a_row_for_each_problem_and_size():
    table = race_table(PROBLEMS, sizes=(800, 4_000))
    figure = catalogue.draw("race", table)
    assert [axes.get_title() for axes in figure.axes] == [
        f"{problem} loss, n = {n}" for problem in PROBLEMS for n in ("800", "4,000") for _ in range(2)
    ]
    cells = [(problem, n, x) for problem in PROBLEMS for n in (800, 4_000) for x in ("seconds", "flops")]
    for axes, (problem, n, x) in zip(figure.axes, cells, strict=True):
        drawn = {label.split(" (")[0]: data for label, data in lines(axes).items()}
        rows = table[(table["problem"] == problem) & (table["n"] == n) & (table["step"] > 0)]
        for method in METHODS_OF_RACE:
            if (method, problem, x) == ("coordinate-descent", "logistic", "flops"):
                assert method not in drawn
            else:
                np.testing.assert_array_equal(drawn[method], rows[rows["method"] == method][[x, "suboptimality"]])
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_race_says_whose_operations_are_not_counted():
    table = race_table(PROBLEMS)
    assert "coordinate-descent (flops not counted: logistic)" in legend(catalogue.draw("race", table))
    table.loc[(table["method"] == "interior-point") & (table["step"] > 0), "flops"] = np.nan
    assert "interior-point (flops not counted)" in legend(catalogue.draw("race", table))


def test_race_draws_the_first_run_thick_and_the_others_thin():
    table = race_table(runs=(2, 1, 3))
    figure = catalogue.draw("race", table)
    by_label = {line.get_label(): line for line in figure.axes[0].lines}
    for method in METHODS_OF_RACE:
        first, *others = (by_label[label] for label in (method, f"_{method}, run 2", f"_{method}, run 3"))
        for run, line in ((1, first), (2, others[0]), (3, others[1])):
            rows = table[(table["method"] == method) & (table["run"] == run) & (table["step"] > 0)]
            np.testing.assert_array_equal(line.get_xydata(), rows[["seconds", "suboptimality"]])
        assert all(line.get_linewidth() < first.get_linewidth() / 2 and not line.get_marker() for line in others)
    assert "thin: 2 more runs" in legend(figure)


def test_race_marks_what_the_paper_reaches_quickly():
    figure = catalogue.draw("race", race_table())
    for axes in figure.axes:
        assert [line for line in axes.lines if set(line.get_ydata()) == {0.01}]
    assert legend(figure)[-1] == "0.01 (paper: soon reached, then slower)"


# Exponentiated gradient


@pytest.mark.parametrize("kind", ["exponentiated", "digits"])
@pytest.mark.parametrize("suffix, x", [("", "seconds"), ("_gradients", "gradients")])
def test_exponentiated_and_digits_draw_a_panel_for_each_form(kind, suffix, x):
    table = exponentiated_table(FORMS)
    figure = catalogue.draw(kind + suffix, table)
    assert [axes.get_title().split("\n")[0] for axes in figure.axes] == list(FORMS)
    for axes, form in zip(figure.axes, FORMS, strict=True):
        for method, got in lines(axes).items():
            rows = table[(table["form"] == form) & (table["method"] == method)]
            np.testing.assert_array_equal(got, rows[[x, "suboptimality"]])
    assert legend(figure) == ["projection", "entropic"]
    assert len(catalogue.draw(kind + suffix, exponentiated_table(FORMS[:3])).axes) == 3


def test_exponentiated_writes_what_the_methods_end_with():
    table = exponentiated_table(runs=(1, 2)).sample(frac=1, random_state=0)
    table.loc[(table["run"] == 2) & (table["method"] == "projection"), "non_zero"] = 0.07
    last = table["step"] == 200
    table.loc[last & (table["method"] == "projection"), "test_error"] = 0.021
    table.loc[last & (table["method"] == "entropic"), "test_error"] = 0.25
    (axes,) = catalogue.draw("exponentiated", table.sort_values(["method", "step"])).axes
    assert sorted(axes.get_title().split("\n")) == [
        "batch 25%",
        "entropic: 100% non-zero, test error 25%",
        "projection: 5% non-zero, test error 2.1%",
    ]


# Online


def test_online_draws_the_mean_of_the_runs():
    table = online_table(runs=(1, 2, 3))
    figure = catalogue.draw("online", table)
    for axes, (y, scale) in zip(figure.axes, (("loss", 1), ("error", 100), ("non_zero", 100)), strict=True):
        drawn = lines(axes)
        assert list(drawn) == ["tree", "entropic"]
        for method in drawn:
            for radius, got in zip((30.0, 300.0), drawn[method], strict=True):
                rows = table[(table["method"] == method) & (table["radius"] == radius)]
                mean = scale * rows.groupby("examples")[y].mean()
                np.testing.assert_allclose(got, np.column_stack([mean.index, mean]), rtol=1e-13)
    assert legend(figure) == ["tree", "entropic", "radius 30", "radius 300", "band: ±1 standard deviation, 3 runs"]
    assert [axes.get_yscale() for axes in figure.axes] == ["linear", "linear", "log"]


def test_online_tells_radii_by_dashes_and_methods_by_colour():
    axes, *_ = catalogue.draw("online", online_table(radii=(3.0, 30.0, 300.0))).axes
    colours, dashes = (
        [get(line) for line in axes.lines] for get in (lambda x: x.get_color(), lambda x: x._dash_pattern)
    )
    assert colours == [colours[0]] * 3 + [colours[3]] * 3 and colours[0] != colours[3]
    assert dashes[:3] == dashes[3:] and len(set(map(str, dashes))) == 3


# Updates


def test_updates_draws_the_seconds_over_the_weights_in_use():
    table = updates_table()
    figure = catalogue.draw("updates", table)
    (axes,) = figure.axes
    drawn = lines(axes)
    assert list(drawn) == legend(figure) == ["tree", "full", "full of non-zeros", "entropic, from w = 0"]
    for label, got in drawn.items():
        method = label.partition(",")[0]
        rows = table[table["method"] == method].sort_values("non_zeros")
        np.testing.assert_array_equal(got, rows[["non_zeros", "seconds"]])
    assert axes.get_title() == (
        "Updates of k = 97.3 of 10,000,000 weights on average\n(paper: sec. 6, O(k log n) by the tree)"
    )
    assert axes.get_ylabel() == "CPU seconds per update,\na median of 300"
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
