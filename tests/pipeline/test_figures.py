"""Figures draw the numbers of their tables, with the papers' numbers beside them."""

import io
import re

import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from drawings import FILE, described, draw, drawn, legend, shown
from matplotlib.colors import to_rgb

from jointsparse.pipeline.figures import style
from jointsparse.pipeline.papers import catalogue
from jointsparse.registry import room

SHOWN = dict(part.split("\n", 1) for part in f"\n\n{FILE.read_text()}".removesuffix("\n").split("\n\n# ")[1:])
# A path of a hundred radii, from 1 % to 100 % of the features.
PATH = pd.DataFrame({"method": "hinge-l1", "radius": np.arange(1, 101.0), "features": np.arange(1, 101) / 100})
PATH = PATH.assign(run=1, n=40, auc_weighted=0.5, gap=0.0)


@pytest.mark.parametrize("name", catalogue.FIGURES)
def test_a_figure_shows_what_figures_txt_says(name):
    """After an intended change, run trials/figures.py: it rewrites figures.txt and draws the figures to look at."""
    assert described(drawn(name)) == SHOWN[name]


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("roc", PATH, f"a figure must be one of {', '.join(catalogue.FIGURES)}, got 'roc'"),
        ("cost", PATH[:0], "figure cost: the table cost must have rows, got none"),
        (
            "weights",
            PATH[["method"]],
            "figure weights: the table weights must have the column 'n_features', got method",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(name, table, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        draw(name, table)


@pytest.mark.parametrize("name", catalogue.FIGURES)
def test_a_figure_stays_within_the_page_even_with_a_single_row_or_without_numbers(name):
    table = shown(name)
    numbers = table.select_dtypes("float").columns.difference(["radius", "power", "penalty", "weight"])
    # Settings are never missing, and the table of weights has only those that are not 0.
    tables = table[:1], table[:50].assign(**dict.fromkeys(numbers, np.nan))
    for figure in (drawn(name), *(draw(name, table) for table in tables)):
        figure.get_layout_engine().execute(figure)
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(box.x0, box.y0) > -0.02 and box.x1 < width + 0.02 and box.y1 < height + 0.02


@pytest.mark.parametrize("name", ["race", "exponentiated"])
def test_an_optimum_that_is_reached_ends_the_line(name):
    table = shown(name)
    figure = draw(name, table.assign(suboptimality=table["suboptimality"].where(table["step"] < 50, 0.0)))
    drawn = np.concatenate([line.get_ydata() for axes in figure.axes for line in axes.lines])
    assert min(drawn) == table["suboptimality"][(table["step"] < 50) & (table["suboptimality"] > 0)].min()


def test_a_figure_of_a_single_run_speaks_of_no_mean():
    assert "mean of" not in described(draw("sparsity", PATH))


@pytest.mark.parametrize("name", [name for name, drawing in catalogue.FIGURES.items() if drawing.stated])
def test_values_of_the_paper_are_drawn_beside_its_own_data_alone(name):
    figures = drawn(name), draw(name, shown(name), beside_paper=False)
    assert ["paper" in described(figure) for figure in figures] == [True, False]


@pytest.mark.parametrize(("name", "end"), [("sparsity", " (Quattoni et al. 2009, Fig. 4)."), ("auc_by_features", ".")])
def test_a_caption_ends_with_the_place_in_the_paper(name, end):
    assert catalogue.FIGURES[name].caption.endswith(f"words use, at each radius{end}")


# The looks of methods


def test_every_loss_and_norm_has_a_look_of_its_own(monkeypatch):
    """Also a new norm and a new loss; the norm decides the marker, the loss how light the colour is."""
    monkeypatch.setitem(room("norms"), "l7", None)
    monkeypatch.setitem(room("losses"), "huber", None)
    looks = style.looks([*(f"{loss}-{norm}" for loss in room("losses") for norm in room("norms")), "svm-l2"])
    assert len(set(map(str, looks.values()))) == len(room("losses")) * len(room("norms")) + 1
    assert len({looks[f"hinge-{norm}"]["marker"] for norm in room("norms")}) == len(room("norms"))
    lightness = [sum(to_rgb(looks[f"{loss}-l1"]["color"])) for loss in ("hinge", "logistic", "squared")]
    assert lightness == sorted(set(lightness))


def test_the_style_sheet_has_the_colours_of_the_palette():
    with matplotlib.style.context(style.SHEET):
        colours = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    assert colours == [light for light, _ in style.PALETTE.values()]


# Texts


@pytest.mark.parametrize(("most", "expected"), [(50, ["1", "2", "5", "10", "20", "50"]), (1000, None)])
def test_an_axis_of_less_than_two_decades_has_ticks_between_powers_of_ten(most, expected):
    figure, (axes,) = style.canvas()
    axes.plot([1, most], [1, most])
    style.log_axis(axes, "y")
    figure.draw_without_rendering()
    low, high = axes.get_ylim()
    shown = [text.get_text() for text in axes.get_yticklabels() if low <= text.get_position()[1] <= high]
    assert shown == (expected or [f"$\\mathdefault{{10^{{{i}}}}}$" for i in range(4)])


def test_only_radii_that_are_far_enough_apart_are_written_beside_a_path():
    written = [text.get_text() for axes in draw("sparsity", PATH).axes for text in axes.texts]
    assert written == [f"{radius}" for radius in range(1, 101, 10)]


@pytest.mark.parametrize(
    ("name", "table", "expected"),
    [
        ("eer_by_word", shown("eer_by_word").assign(validation_word=True), ["no word with an EER"]),
        ("weights", shown("weights").query("method == 'hinge-l2'"), ["no method that leaves features out"]),
        ("projection", shown("projection").query("part == 'dimension'"), ["not measured"]),
        ("exponentiated", shown("exponentiated").assign(suboptimality=0.0, form="one"), ["no numbers"]),
    ],
)
def test_empty_axes_say_why_they_are_empty(name, table, expected):
    assert [text.get_text() for axes in draw(name, table).axes for text in axes.texts] == expected


LEGENDS = {
    "no step sizes": (
        "convergence",
        shown("convergence").query("radius == 10 and n == n.max()").assign(eta0=np.nan),
        ["radius 10 (certified gap 1.3%)"],
    ),
    "a single solver": (
        "test_error",
        shown("test_error").query("run == 1 and solver == 'working_set' and radius_rule == 'true'"),
        ["l1,∞", "l1", "l2", "certified, true radius"],
    ),
    "a single panel": (
        "projection",
        shown("projection").query("part == 'dimension'"),
        ["sort", "pivot", "newton", "l2"],
    ),
    "the values of the paper lie outside": ("sparsity", PATH, ["l1"]),
    "methods with warnings have a star and a footnote": (
        "exponentiated",
        shown("exponentiated").assign(warning=lambda table: np.where(table["method"] == "entropic", "odd", "")),
        ["projection", "entropic*", "*some fits: odd"],
    ),
    "no fit is far from its optimum": ("auc", shown("auc").assign(gap=0.05), ["l1,∞", "l1", "l2"]),
}


@pytest.mark.parametrize(("name", "table", "expected"), LEGENDS.values(), ids=LEGENDS)
def test_the_legend_names_only_what_is_drawn_and_marks_methods_with_warnings(name, table, expected):
    assert legend(draw(name, table)) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (r"$\frac{ $6", r"$\frac{ $6"),
        ("two\nlines", "two lines"),
        ("long " * 20, "long long long long long long long long…"),
    ],
)
def test_words_are_drawn_literally_and_not_as_formulas(word, expected):
    table = shown("eer_by_word")
    figure = draw("eer_by_word", table[table["word"] == table["word"].iloc[-1]].assign(word=word))
    figure.savefig(io.BytesIO())
    (label,) = figure.axes[0].get_yticklabels()
    assert label._preprocess_math(label.get_text()) == (expected, False)
