"""Figures: what is drawn are the numbers of the table, with the papers' beside them."""

import io
import re
from inspect import signature

import numpy as np
import pandas as pd
import pytest
import test_duchi_figures
from docutils.core import publish_doctree
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb
from test_duchi_figures import legend

from jointsparse.figures import scores, style
from jointsparse.papers import catalogue
from jointsparse.papers.quattoni import numbers
from jointsparse.registry import room
from jointsparse.scores.flags import GAP

METHODS = ["hinge-l1inf", "hinge-l1", "hinge-l2", "svm-l2"]
SIZES = {40: 4_800, 80: 9_600, 160: 19_200}
DENSE = {"hinge-l2", "svm-l2"}
RINGED = "certified gap above 5%, up to 30%"
WORDS = ["dog", "água", "ball", "man", "zoo", "sky"]


def convergence_table(methods=METHODS, sizes=SIZES, runs=(1,)):
    """Four radii, of the first method only, with a curve each."""
    return pd.DataFrame(
        {"run": run, "n": n, "n_samples": sizes[n], "method": methods[0], "radius": radius, "eta0": 1 / radius}
        | {"iteration": t, "objective": (1 - radius / 200) ** t + 0.01 * (run - 1), "gap": radius / 300}
        for run in runs
        for n in sizes
        for radius in (0.1, 1.0, 10.0, 100.0)
        for t in range(21)
    )


def chosen_table(methods=METHODS, sizes=SIZES, runs=(1,)):
    rng = np.random.default_rng(0)
    rows = [
        {"run": run, "n": n, "n_samples": sizes[n], "method": method}
        for run in runs
        for n in sizes
        for method in methods
    ]
    auc = 0.6 + 0.1 * rng.random(len(rows))
    return pd.DataFrame(rows).assign(auc=auc, eer=0.9 - auc, gap=0.01)


def by_word_table(methods=METHODS, sizes=SIZES, runs=(1,)):
    """Six words, of which every run takes another one for validation."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"run": run, "n": n, "n_samples": sizes[n], "method": method, "word": word}
        | {"validation_word": run % 6 == i, "positives": 9, "auc": 0.7, "eer": 0.2 + 0.2 * rng.random()}
        for run in runs
        for n in sizes
        for method in methods
        for i, word in enumerate(WORDS)
    )


def sparsity_table(methods=METHODS, sizes=SIZES, runs=(1,), radii=(10.0, 1.0, 0.1)):
    """Some radii, in decreasing order; l2 uses all features."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"run": run, "n": n, "method": method, "radius": radius, "auc": 0.6 + 0.1 * rng.random()}
        | {"features": 1.0 if method in DENSE else rng.random(), "gap": 0.01}
        for run in runs
        for n in sizes
        for method in methods
        for radius in radii
    )


def path_table(methods=METHODS, sizes=SIZES, runs=(1,)):
    """A hundred radii from 1 % to 100 % of the features, on the smallest training sets."""
    table = sparsity_table(methods, list(sizes)[:1], runs, np.arange(1, 101.0))
    return table.assign(features=np.where(table["method"].isin(DENSE), 1.0, table["radius"] / 100))


def significance_table(methods=METHODS, sizes=SIZES, runs=(1,)):
    rng = np.random.default_rng(0)
    rows = [
        {"run": run, "n": n, "n_samples": sizes[n], "words": words, "method": methods[0], "against": other}
        for run in runs
        for words in ("test words", "all words")
        for n in sizes
        for other in methods[1:]
    ]
    table = pd.DataFrame(rows)
    for name in ("p", "p_median", "p_reverse", "p_holm"):
        table[name] = 10.0 ** rng.uniform(-9, 0, len(rows))
    return table


def differences_table(methods=METHODS, sizes=SIZES, runs=(1,)):
    rng = np.random.default_rng(0)
    rows = [
        {"metric": metric, "n": n, "n_samples": sizes[n], "words": words, "method": methods[0], "against": other}
        for metric in ("auc", "eer")
        for words in ("test words", "all words")
        for n in sizes
        for other in methods[1:]
    ]
    difference = rng.normal(0, 0.02, len(rows))
    return pd.DataFrame(rows).assign(
        difference=difference, low=difference - 0.01, high=difference + 0.02, runs=len(runs)
    )


def weights_table(methods=METHODS, n_features=50, n_words=4):
    """l1inf uses every tenth feature for all words, l1 every feature for one word, l2 all for all."""
    rows = [
        {"method": method, "feature": i, "word": k, "weight": (-1) ** k * (1 + i / n_features)}
        for method in methods
        for i in range(n_features)
        for k in range(n_words)
        if (i % 10 == 0 if "l1inf" in method else "l1" not in method or i % n_words == k)
    ]
    return pd.DataFrame(rows).assign(n_features=n_features, n_words=n_words)


def recovery_table(methods=METHODS[:3], sizes=SIZES, runs=(1,)):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"run": run, "n": n, "method": method, "radius_rule": rule, "solver": solver, "radius": 1.0}
        | {"test_error": 0.5 * rng.random(), "precision": rng.random(), "recall": rng.random(), "gap": 0.01}
        for run in runs
        for n in sizes
        for method in methods
        for solver, rule in (("subgradient", "true"), ("subgradient", "validated"), ("pdhg", "true"))
    )


def cost_table():
    rows = [
        {"part": "projection size", "x": 40 * d, "seconds": factor * d, "repeats": 7, "d": d, "m": 40, "method": method}
        for d in (1_000, 10_000, 100_000)
        for method, factor in (("sort", 2e-6), ("newton", 1e-6))
    ]
    rows += [
        {"part": "training samples", "x": n, "seconds": 1e-5 * n, "repeats": 7, "d": 200, "m": 40}
        for n in (40, 80, 160, 320, 640, 1_280, 2_560)
    ]
    return pd.DataFrame(rows)


TABLES = {
    "convergence": convergence_table,
    "chosen": chosen_table,
    "by_word": by_word_table,
    "sparsity": sparsity_table,
    "path": path_table,
    "significance": significance_table,
    "differences": differences_table,
    "weights": weights_table,
    "recovery": recovery_table,
    "cost": cost_table,
} | test_duchi_figures.TABLES
DUCHI = test_duchi_figures.FIGURES
QUATTONI = [name for name in catalogue.FIGURES if name not in DUCHI]


def made(name, **some):
    """Made-up table of a figure."""
    return TABLES[catalogue.FIGURES[name].table](**some)


OF_RUNS = [name for name in QUATTONI if "runs" in signature(TABLES[catalogue.FIGURES[name].table]).parameters]
ONE_METHOD_EACH = [name for name in QUATTONI if "method" in made(name) and "against" not in made(name)]
CURVES = [name for name in ONE_METHOD_EACH if name != "cost"]


@pytest.fixture(params=sorted(catalogue.FIGURES))
def name(request):
    return request.param


def lines(figure):
    """The numbers of every line by its label."""
    (axes,) = figure.axes
    return {line.get_label(): line.get_xydata() for line in axes.lines}


def bands(axes):
    """Lower and upper end of every filled band at every point: (n_points, 2)."""
    found = []
    for band in axes.collections:
        (path,) = band.get_paths()
        by_x = pd.DataFrame(path.vertices).groupby(0)[1]
        found.append(np.column_stack([by_x.min(), by_x.max()]))
    return found


def cells(figure):
    """The texts of the only table, row by row."""
    (axes,) = figure.axes
    (table,) = axes.tables
    texts = {place: cell.get_text().get_text() for place, cell in table.get_celld().items()}
    n_rows, n_columns = (max(place[i] for place in texts) + 1 for i in (0, 1))
    return [[texts[row, column] for column in range(n_columns)] for row in range(n_rows)]


def titles(figure):
    return " ".join([figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)])


def ticks(axes):
    return [text.get_text() for text in axes.get_xticklabels()]


# Facts about every figure


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError) as caught:
        catalogue.draw("roc", chosen_table())
    assert str(caught.value) == f"figures knows {', '.join(catalogue.FIGURES)}; got 'roc'"


def test_a_table_without_rows_is_one_line(name):
    with pytest.raises(ValueError) as caught:
        catalogue.draw(name, made(name)[:0])
    assert str(caught.value) == f"figure {name}: expected a table {catalogue.FIGURES[name].table} with rows, got none"


def is_of_a_paper(name):
    return catalogue.FIGURES[name].function.__module__ != scores.__name__


def is_named(axis):
    """True if the axis has a label or ticks that are words, or shares those of another panel."""
    ticks = [text.get_text().replace("mathdefault", "") for text in axis.get_ticklabels() if text.get_visible()]
    return bool(axis.get_label_text()) or all(re.search("[a-z]", text) for text in ticks if text)


def test_every_figure_names_its_quantities(name):
    figure = catalogue.draw(name, made(name))
    figure.draw_without_rendering()
    shown = [axes for axes in figure.axes if axes.axison]
    assert all(is_named(axis) for axes in shown for axis in (axes.xaxis, axes.yaxis))
    texts = [titles(figure), *(text.get_text() for drawn in figure.legends for text in drawn.get_texts())]
    assert any("paper" in text for text in texts) == is_of_a_paper(name)


def test_every_figure_has_a_caption(name):
    caption = catalogue.FIGURES[name].caption
    assert caption[0].isupper() and caption.endswith(".")
    assert ("et al." in caption) == is_of_a_paper(name)
    publish_doctree(caption, settings_overrides={"halt_level": 2, "report_level": 5})  # a problem is an error


def test_every_figure_draws_columns_of_its_table(name):
    """Some columns are needed: without one, the error names it."""
    table, needed = made(name), []
    for column in table:
        try:
            catalogue.draw(name, table.drop(columns=column))
        except ValueError as error:
            assert column in str(error).partition(", got ")[0].partition(" lacks ")[2]
            needed.append(column)
    assert len(needed) >= 2


@pytest.mark.parametrize("suffix", ["pdf", "png"])
def test_the_same_table_gives_the_same_bytes(name, suffix):
    def drawn():
        file = io.BytesIO()
        metadata = {"CreationDate": None} if suffix == "pdf" else None
        catalogue.draw(name, made(name)).savefig(file, format=suffix, metadata=metadata)
        return file.getvalue()

    assert drawn() == drawn()


def test_drawing_leaves_the_table_alone(name):
    table = made(name)
    catalogue.draw(name, table)
    pd.testing.assert_frame_equal(table, made(name))


@pytest.mark.parametrize(
    "some",
    [
        {"methods": METHODS[:2]},
        {"sizes": {40: 4_800}},
        {"runs": (1, 2, 3)},
        {"sizes": {7: 99}, "methods": METHODS[::-1]},
    ],
    ids=["two methods", "one size", "three runs", "another size and order"],
)
@pytest.mark.parametrize("name", OF_RUNS)
def test_every_figure_is_drawn_of_smaller_and_larger_tables(name, some):
    catalogue.draw(name, made(name, **some)).draw_without_rendering()


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("method", METHODS)
def test_curves_are_drawn_of_one_method(name, method):
    catalogue.draw(name, made(name, methods=[method])).draw_without_rendering()


NUMBERS = ["auc", "eer", "objective", "gap", "eta0", "features", "p", "p_holm", "difference", "low", "high"]
NUMBERS += ["test_error", "precision", "recall", "seconds"]
NUMBERS += ["suboptimality", "flops", "loss", "error", "non_zero", "touched"]


@pytest.mark.parametrize("rows", ["one method", "all"])
def test_numbers_that_are_missing_leave_a_gap(name, rows):
    table = made(name)
    column = "against" if "against" in table else "method"
    missing = table[column] == table[column].iloc[-1] if rows == "one method" else np.ones(len(table), dtype=bool)
    table.loc[missing, [number for number in NUMBERS if number in table]] = np.nan
    catalogue.draw(name, table).draw_without_rendering()


def test_texts_stay_within_the_figure(name):
    """Nothing is cut at the edge of a page, whatever the length of the legend."""
    table = made(name, runs=tuple(range(1, 11))) if name in OF_RUNS else made(name)
    if "gap" in table:
        table["gap"] = 0.3
    figure = catalogue.draw(name, table)
    figure.draw_without_rendering()
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert box.x0 > -0.02 and box.y0 > -0.02 and box.x1 < width + 0.02 and box.y1 < height + 0.02


# The looks of methods


def methods_of_all_plug_ins():
    return [f"{loss}-{norm}" for loss in room("losses") for norm in room("norms")] + ["svm-l2"]


def test_every_loss_and_norm_has_a_look_of_its_own(monkeypatch):
    monkeypatch.setitem(room("norms"), "l7", None)
    monkeypatch.setitem(room("losses"), "huber", None)
    found = style.looks(methods_of_all_plug_ins())
    assert len(set(map(str, found.values()))) == len(found) == (len(room("losses")) * len(room("norms")) + 1)
    assert len({found[f"hinge-{norm}"]["marker"] for norm in room("norms")}) == len(room("norms"))


def test_a_look_depends_on_the_method_alone():
    several, strange = style.looks(METHODS), style.looks(["aa-b", *METHODS[::-1], "zz"])
    assert {method: strange[method] for method in METHODS} == several
    assert style.looks(["zz", "aa-b", *METHODS]) == strange


def test_a_loss_is_a_lighter_look_of_its_norm():
    found = style.looks(["hinge-l1", "logistic-l1", "squared-l1"])
    assert len({look["marker"] for look in found.values()}) == len({look["linestyle"] for look in found.values()}) == 1
    assert np.all(np.diff([sum(to_rgb(look["color"])) for look in found.values()]) > 0)


def test_norms_differ_in_grey_and_svm_is_grey():
    found = catalogue.draw("auc", chosen_table(methods=["hinge-l1inf", "hinge-l1", "hinge-l2", "hinge-l12", "svm-l2"]))
    colours = {line.get_label(): to_rgb(line.get_color()) for line in found.axes[0].lines}
    assert len(set(colours["svm-l2"])) == 1
    grey = sorted(np.dot(colour, (0.299, 0.587, 0.114)) for colour in colours.values())
    assert min(np.diff(grey)) > 0.05


def test_unknown_methods_take_turns():
    names = [f"m{i}" for i in range(7)]
    found = style.looks(names)
    assert len({(look["color"], look["marker"]) for look in found.values()}) == len(style.OTHERS)
    assert found["m0"] == found[f"m{len(style.OTHERS)}"]


@pytest.mark.parametrize("figure", ["auc", "eer_by_word", "sparsity", "path", "selection", "test_error"])
def test_a_method_looks_the_same_in_every_figure(figure):
    (axes,) = catalogue.draw(figure, made(figure, methods=METHODS[:2])).axes
    look = catalogue.draw("eer", chosen_table()).axes[0].lines[1]
    assert look.get_label() == "hinge-l1"
    drawn = [line for line in axes.lines if "hinge-l1 " in f"{line.get_label()} " and line.get_marker() == "s"]
    assert drawn and {to_hex(line.get_color()) for line in drawn} == {to_hex(look.get_color())}


# Single figures


def test_convergence_draws_every_radius_on_the_largest_training_sets():
    table = convergence_table()
    figure = catalogue.draw("convergence", table)
    drawn = lines(figure)
    assert list(drawn) == [
        "radius 0.1 (eta0 10, certified gap 0.033%)",
        "radius 1 (eta0 1, certified gap 0.33%)",
        "radius 10 (eta0 0.1, certified gap 3.3%)",
        "radius 100 (eta0 0.01, certified gap 33%)",
    ]
    assert legend(figure) == list(drawn)
    for radius, got in zip((0.1, 1, 10, 100), drawn.values(), strict=True):
        expected = table[(table["n"] == 160) & (table["radius"] == radius)][["iteration", "objective"]]
        np.testing.assert_array_equal(got, expected)


def test_convergence_draws_the_first_of_several_runs():
    several, one = (lines(catalogue.draw("convergence", convergence_table(runs=runs))) for runs in ((2, 1, 3), (1,)))
    assert list(several) == list(one)
    for label in one:
        np.testing.assert_array_equal(several[label], one[label])


def test_convergence_shows_all_of_its_curves_apart_beside_what_the_paper_did():
    (axes,) = catalogue.draw("convergence", convergence_table()).axes
    assert axes.get_title() == (
        "Convergence of hinge-l1inf, 19,200 samples\n(paper: Fig. 2, radius 0.1, 1, 10, 100, 63,408 samples)"
    )
    assert (axes.get_ylabel(), axes.get_ylim()) == ("objective / objective at W = 0", (0, 1.05))
    assert len({line.get_linestyle() for line in axes.lines}) == 4
    assert min(np.diff([sum(to_rgb(line.get_color())) for line in axes.lines])) > 0.1


@pytest.mark.parametrize("gap, text", [(0.00012, "0.012%"), (0.054, "5.4%"), (0.996, "100%"), (1.5, "150%")])
def test_gaps_are_written_in_per_cent(gap, text):
    assert style.percent(gap) == text


def test_convergence_of_a_solver_without_step_sizes_names_none():
    table = convergence_table().assign(eta0=np.nan)
    assert next(iter(lines(catalogue.draw("convergence", table)))) == "radius 0.1 (certified gap 0.033%)"


@pytest.mark.parametrize("figure", ["auc", "eer", "sparsity"])
def test_fits_that_may_be_far_from_the_optimum_are_ringed(figure):
    table = made(figure).assign(gap=GAP)
    assert not [label for label in lines(catalogue.draw(figure, table)) if "gap" in label]
    far = (table["n"] == 160) & (table["method"] == "hinge-l1")
    table.loc[far, "gap"] = 0.3
    drawn = catalogue.draw(figure, table)
    (ringed,) = [xy for label, xy in lines(drawn).items() if label == RINGED]
    assert RINGED in legend(drawn)
    x = {"auc": "n_samples", "eer": "n", "sparsity": "features"}[figure]
    y = "eer" if figure == "eer" else "auc"
    expected = table.loc[far, [x, y]] * [100 if figure == "sparsity" else 1, 100 if figure == "eer" else 1]
    np.testing.assert_allclose(sorted(map(tuple, ringed)), sorted(map(tuple, expected.to_numpy())), rtol=1e-14)


@pytest.mark.parametrize(
    "figure, columns, scale, sizes, label",
    [
        ("auc", ["n_samples", "auc"], 1, ["4,800", "9,600", "19,200"], "average test AUC"),
        ("eer", ["n", "eer"], 100, ["40", "80", "160"], "average test EER (%)"),
    ],
)
def test_auc_and_eer_draw_every_method_over_the_sizes(figure, columns, scale, sizes, label):
    table = chosen_table()
    (axes,) = catalogue.draw(figure, table).axes
    drawn = lines(axes.figure)
    assert list(drawn) == METHODS
    for method in METHODS:
        expected = table[table["method"] == method][columns] * [1, scale]
        np.testing.assert_allclose(drawn[method], expected, rtol=1e-15)
    assert (ticks(axes), axes.get_ylabel(), axes.get_xscale()) == (sizes, label, "log")


@pytest.mark.parametrize("figure, y, scale", [("auc", "auc", 1), ("eer", "eer", 100)])
def test_several_runs_are_a_mean_and_a_band_of_one_standard_deviation(figure, y, scale):
    table = chosen_table(runs=(1, 2, 3))
    (axes,) = catalogue.draw(figure, table).axes
    drawn = lines(axes.figure)
    for method, band in zip(METHODS, bands(axes), strict=True):
        by_size = scale * table[table["method"] == method].pivot_table(index="n", columns="run", values=y)
        mean, deviation = by_size.mean(axis=1).to_numpy(), by_size.std(axis=1).to_numpy()
        np.testing.assert_allclose(drawn[method][:, 1], mean, rtol=1e-14)
        np.testing.assert_allclose(band, np.column_stack([mean - deviation, mean + deviation]), rtol=1e-12)
    assert "band: ±1 standard deviation, 3 runs" in legend(axes.figure)


@pytest.mark.parametrize("figure", ["auc", "eer", "test_error", "selection"])
def test_a_single_run_has_no_band(figure):
    (axes,) = catalogue.draw(figure, made(figure)).axes
    assert not bands(axes)
    assert not [text for text in legend(axes.figure) if "band" in text]


def test_auc_shows_the_papers_range():
    (axes,) = catalogue.draw("auc", chosen_table()).axes
    (band,) = axes.patches
    low, high = numbers.FIGURE_3_AUC_RANGE
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((low, high))
    assert legend(axes.figure) == [*METHODS, f"paper's Fig. 3 (Reuters): {low:g} to {high:g}"]


@pytest.mark.parametrize("figure", ["auc", "sparsity"])
def test_every_loss_with_every_norm_is_drawn_and_looks_different(figure):
    methods = methods_of_all_plug_ins()
    (axes,) = catalogue.draw(figure, made(figure, methods=methods).replace({"features": {1.0: 0.9}})).axes
    ours = [line for line in axes.lines if not line.get_label().startswith("paper")]
    assert [line.get_label() for line in ours] == methods
    assert len({(to_hex(line.get_color()), line.get_marker()) for line in ours}) == len(methods)


# EER of single words


def words_of(figure):
    """The words from top to bottom."""
    (axes,) = figure.axes
    bottom, top = axes.get_ylim()
    assert bottom > top
    return [text.get_text() for text in axes.get_yticklabels()]


def test_eer_by_word_draws_the_words_of_one_size_sorted_by_the_first_method():
    table = by_word_table()
    figure = catalogue.draw("eer_by_word", table)
    shown = table[(table["n"] == 40) & ~table["validation_word"]]
    by_word = 100 * shown.pivot_table(index="word", columns="method", values="eer").sort_values("hinge-l1inf")
    assert words_of(figure) == list(by_word.index)
    assert len(by_word) == 5
    for method, line in zip(METHODS, figure.axes[0].lines, strict=True):
        assert line.get_label().startswith(f"{method} (lowest for ")
        assert line.get_linestyle() == "None"
        np.testing.assert_allclose(line.get_xdata(), by_word[method], rtol=1e-14)
        np.testing.assert_array_equal(line.get_ydata(), range(5))


def test_eer_by_word_leaves_a_validation_word_out_of_its_run_alone():
    table = by_word_table(runs=(1, 2), methods=METHODS[:1])
    figure = catalogue.draw("eer_by_word", table)
    (line,) = figure.axes[0].lines
    got = dict(zip(words_of(figure), line.get_xdata(), strict=True))
    at_40 = table[table["n"] == 40].set_index(["run", "word"])["eer"]
    assert sorted(got) == sorted(WORDS)
    assert got[WORDS[1]] == pytest.approx(100 * at_40[2, WORDS[1]])  # run 1 validates on word 1
    assert got[WORDS[0]] == pytest.approx(100 * (at_40[1, WORDS[0]] + at_40[2, WORDS[0]]) / 2)
    assert figure.axes[0].get_xlabel() == "test EER (%), mean of 2 runs"


@pytest.mark.parametrize(
    "sizes, n", [([15, 30, 60], 30), ([10, 20], 20), ([40, 80, 160], 40), ([160, 20, 40], 40)], ids=str
)
def test_eer_by_word_draws_the_first_size_of_at_least_the_papers(sizes, n):
    figure = catalogue.draw("eer_by_word", by_word_table(sizes={size: 120 * size for size in sizes}))
    assert titles(figure) == f" EER of each word, n = {n}\n(paper: report, Fig. 3 right, n = 30)"


def test_eer_by_word_counts_the_words_on_which_a_method_is_lowest():
    table = by_word_table(methods=METHODS[:2]).assign(validation_word=False)
    first = table["method"] == "hinge-l1inf"
    table["eer"] = np.where(first, 0.2, 0.3)
    table.loc[first & (table["word"] == "zoo"), "eer"] = 0.4
    table.loc[first & (table["word"] == "man"), "eer"] = 0.3  # a tie
    assert legend(catalogue.draw("eer_by_word", table)) == [
        "hinge-l1inf (lowest for 4 of 6)",
        "hinge-l1 (lowest for 1 of 6)",
    ]


# AUC against features


def test_sparsity_draws_the_sparse_methods_over_the_share_of_features_in_per_cent():
    table = sparsity_table()
    drawn = lines(catalogue.draw("sparsity", table))
    assert [label for label in drawn if not label.startswith("paper")] == ["hinge-l1inf", "hinge-l1"]
    for method in ("hinge-l1inf", "hinge-l1"):
        rows = table[(table["n"] == 160) & (table["method"] == method)].sort_values("radius")
        expected = np.column_stack([100 * rows["features"], rows["auc"]])
        np.testing.assert_array_equal(drawn[method], expected)


def test_sparsity_draws_the_mean_of_several_runs():
    table = sparsity_table(runs=(1, 2, 3))
    figure = catalogue.draw("sparsity", table)
    rows = table[(table["n"] == 160) & (table["method"] == "hinge-l1")].groupby("radius")[["features", "auc"]].mean()
    np.testing.assert_allclose(lines(figure)["hinge-l1"], rows.to_numpy() * [100, 1], rtol=1e-14)
    assert figure.axes[0].get_xlabel() == "features used by any word (%), mean of 3 runs"


def test_sparsity_writes_the_radius_beside_its_point():
    (axes,) = catalogue.draw("sparsity", sparsity_table()).axes
    drawn = lines(axes.figure)
    points = np.concatenate([drawn["hinge-l1inf"], drawn["hinge-l1"]])
    assert [text.get_text() for text in axes.texts] == ["0.1", "1", "10"] * 2
    np.testing.assert_array_equal([text.xy for text in axes.texts], points)


@pytest.mark.parametrize("figure", ["sparsity", "path"])
def test_against_features_shows_the_papers_points_in_the_colours_of_ours(figure):
    (axes,) = catalogue.draw(figure, made(figure)).axes
    by_label = {line.get_label(): line for line in axes.lines}
    for method, used, reached in numbers.FIGURE_4:
        line = by_label[f"paper: {method} {reached:.0%} AUC with {used:.0%} of features"]
        np.testing.assert_array_equal(line.get_xydata(), [[100 * used, reached]])
        assert line.get_color() == by_label[method].get_color()


def test_path_draws_every_radius_and_names_some():
    table = path_table()
    (axes,) = catalogue.draw("path", table).axes
    drawn = lines(axes.figure)
    rows = table[table["method"] == "hinge-l1"]
    np.testing.assert_allclose(drawn["hinge-l1"], np.column_stack([rows["radius"], rows["auc"]]), rtol=1e-14)
    named = [float(text.get_text()) for text in axes.texts]
    assert named == [1, 16, 31, 46, 61, 76, 91] * 2
    assert [line.get_markevery() for line in axes.lines[:2]] == [[int(radius) - 1 for radius in named[:7]]] * 2


# Significance and differences


def test_significance_writes_the_p_values_of_the_test_words():
    table = significance_table()
    (header, *rows) = cells(catalogue.draw("significance", table))
    assert header == ["n", "samples"] + [
        heading for other in METHODS[1:] for heading in (f"{other}\np", "median p", "reverse p", "Holm p", "paper")
    ]
    shown = table[table["words"] == "test words"]
    for row, (n, n_samples) in zip(rows, SIZES.items(), strict=True):
        assert row[:2] == [str(n), f"{n_samples:,}"]
        for i, other in enumerate(METHODS[1:]):
            (expected,) = shown[(shown["n"] == n) & (shown["against"] == other)].to_dict("records")
            for name, text in zip(("p", "p_median", "p_reverse", "p_holm"), row[2 + 5 * i :], strict=False):
                assert float(text) == pytest.approx(expected[name], rel=0.5 if expected[name] < 1e-4 else 0.05)


def test_significance_writes_the_papers_values_beside_ours():
    (_, *rows) = cells(catalogue.draw("significance", significance_table(sizes={40: 4_800, 320: 38_400, 20: 2_400})))
    got = {row[0]: [row[6], row[11], row[16]] for row in rows}  # hinge-l1, hinge-l2, svm-l2
    assert got == {"20": ["–", "–", "–"], "40": ["1e-05", "0.0042", "0.0042"], "320": ["0.36", "0.35", "0.35"]}


def test_significance_leaves_a_comparison_that_is_missing_open():
    (_, _, row, _) = cells(
        catalogue.draw("significance", significance_table().query("n != 80 or against != 'hinge-l1'"))
    )
    assert row[2:7] == ["–"] * 4 + ["0.009"]  # ours; the paper has its value all the same
    assert "–" not in row[7:]


def test_significance_shows_the_first_of_several_runs():
    several = catalogue.draw("significance", significance_table(runs=(1, 2)))
    assert cells(several) == cells(catalogue.draw("significance", significance_table(runs=(1, 2)).query("run == 1")))
    assert "first of 2 runs" in titles(several)


def test_significance_names_the_method_and_says_that_the_test_is_not_exact():
    (axes,) = catalogue.draw("significance", significance_table()).axes
    assert "is hinge-l1inf better?" in axes.get_title()
    assert any("not exact" in text.get_text() for text in axes.texts)


def test_differences_draws_the_auc_of_test_words_with_its_intervals():
    table = differences_table(runs=(1, 2, 3))
    figure = catalogue.draw("differences", table)
    (axes,) = figure.axes
    shown = table[(table["metric"] == "auc") & (table["words"] == "test words")]
    segments = [found for found in axes.collections if isinstance(found, LineCollection)]
    drawn = lines(figure)
    for other, intervals in zip(METHODS[1:], segments, strict=True):
        rows = shown[shown["against"] == other]
        got = drawn[f"against {other}"]
        np.testing.assert_array_equal(got[:, 0], rows["difference"])
        np.testing.assert_array_equal(np.rint(got[:, 1]), [0, 1, 2])  # each size keeps to its place
        ends = np.array(intervals.get_segments())
        np.testing.assert_array_equal(ends[:, :, 0], rows[["low", "high"]])
        np.testing.assert_array_equal(ends[:, :, 1], np.repeat(got[:, 1:], 2, axis=1))
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "n = 40\n4,800 samples",
        "n = 80\n9,600 samples",
        "n = 160\n19,200 samples",
    ]
    assert axes.lines[0].get_xdata() == [0, 0]
    assert "95% interval (test images, runs)" in legend(figure)
    assert "mean of 3 runs" in axes.get_title()


def test_differences_of_a_size_without_one_method_leaves_that_out():
    table = differences_table().query("n != 80 or against != 'hinge-l2'")
    got = lines(catalogue.draw("differences", table))
    assert list(np.rint(got["against hinge-l2"][:, 1])) == [0, 2]


@pytest.mark.parametrize(
    "figure, table, text",
    [
        ("differences", differences_table().query("metric == 'eer'"), "no AUC of test words"),
        ("eer_by_word", by_word_table().assign(validation_word=True), "no word with an EER"),
        ("weights", weights_table(methods=["hinge-l2", "svm-l2"]), "no method that leaves features out"),
        ("projection", made("projection").query("part == 'dimension'"), "not measured"),
    ],
)
def test_empty_axes_say_why(figure, table, text):
    *_, axes = catalogue.draw(figure, table).axes
    assert [drawn.get_text() for drawn in axes.texts] == [text]


# Weights


def test_weights_draws_the_sparse_methods_side_by_side_in_one_scale():
    figure = catalogue.draw("weights", weights_table())
    *panels, bar = figure.axes
    assert [axes.get_title() for axes in panels] == [
        "hinge-l1: 100% of features used",
        "hinge-l1inf: 10% of features used",
    ]
    pictures = [axes.images[0] for axes in panels]
    assert pictures[0].get_clim() == pictures[1].get_clim() == (0, 1.98)
    assert bar.get_ylabel() == "|weight| (white: 0; square-root scale)"
    assert panels[0].get_ylabel() == "feature"
    expected = np.zeros((50, 4))
    expected[::10] = 1 + np.arange(0, 50, 10)[:, None] / 50
    np.testing.assert_allclose(pictures[1].get_array().filled(0), expected, rtol=1e-15)


def test_weights_of_many_features_keeps_every_thin_line():
    n_features = 3_001
    rows = [{"method": "hinge-l1", "feature": i, "word": 1, "weight": -0.5} for i in (0, 777, 778, 3_000)]
    rows.append({"method": "hinge-l1", "feature": 779, "word": 1, "weight": 2.0})
    (axes, _) = catalogue.draw("weights", pd.DataFrame(rows).assign(n_features=n_features, n_words=3)).axes
    picture = axes.images[0].get_array().filled(0)
    assert picture.shape == (376, 3)
    expected = np.zeros((376, 3))
    expected[[0, 375], 1], expected[97, 1] = 0.5, 2.0
    np.testing.assert_array_equal(picture, expected)
    assert axes.get_ylabel() == "feature (each row: the largest |weight| of 8)"
    assert axes.images[0].get_extent() == [0.5, 3.5, 3008.5, 0.5]
    assert axes.get_title() == "hinge-l1: 0.17% of features used"


# The synthetic experiment


def test_test_error_draws_both_radii_and_the_optimum_in_per_cent():
    table = recovery_table()
    figure = catalogue.draw("test_error", table)
    drawn = {line.get_label(): line for line in figure.axes[0].lines}
    dashes_of = {("subgradient", "true"): "-", ("subgradient", "validated"): ":", ("pdhg", "true"): "--"}
    for method in METHODS[:3]:
        for (solver, rule), dashes in dashes_of.items():
            rows = table[(table["method"] == method) & (table["solver"] == solver) & (table["radius_rule"] == rule)]
            line = drawn[method if dashes == "-" else f"_{method}, {solver}, {rule}"]
            np.testing.assert_allclose(line.get_xydata(), rows[["n", "test_error"]] * [1, 100], rtol=1e-15)
            assert line.get_linestyle() == dashes
            assert line.get_color() == drawn[method].get_color()
    assert legend(figure) == [
        *METHODS[:3],
        "subgradient, true radius (the paper's)",
        "subgradient, validated radius",
        "certified optimum, true radius",
    ]
    assert ticks(figure.axes[0]) == ["40", "80", "160"]


def test_test_error_names_only_the_settings_there_are():
    table = recovery_table().query("radius_rule == 'true' and solver == 'subgradient'")
    assert legend(catalogue.draw("test_error", table)) == [*METHODS[:3], "subgradient, true radius (the paper's)"]


def test_test_error_has_a_band_about_the_solid_lines():
    table = recovery_table(runs=(1, 2, 3))
    (axes,) = catalogue.draw("test_error", table).axes
    main = table[(table["solver"] == "subgradient") & (table["radius_rule"] == "true")]
    for method, band in zip(METHODS[:3], bands(axes), strict=True):
        by_size = 100 * main[main["method"] == method].groupby("n")["test_error"].agg(["mean", "std"])
        expected = np.column_stack([by_size["mean"] - by_size["std"], by_size["mean"] + by_size["std"]])
        np.testing.assert_allclose(band, expected, rtol=1e-12)
    assert legend(axes.figure)[-1] == "band (solid): ±1 standard deviation, 3 runs"


def test_selection_draws_precision_and_recall_of_the_sparse_methods_as_in_the_paper():
    table = recovery_table(runs=(1, 2))
    figure = catalogue.draw("selection", table)
    drawn = lines(figure)
    assert list(drawn) == [f"{what}, {method}" for method in METHODS[:2] for what in ("precision", "recall")]
    assert legend(figure) == [*drawn, "band: ±1 standard deviation, 2 runs"]
    main = table[(table["solver"] == "subgradient") & (table["radius_rule"] == "true")]
    for label, got in drawn.items():
        what, method = label.split(", ")
        expected = 100 * main[main["method"] == method].groupby("n")[what].mean()
        np.testing.assert_allclose(got, np.column_stack([expected.index, expected]), rtol=1e-14)


# Cost


def test_cost_draws_the_seconds_of_each_part_in_a_panel():
    table = cost_table()
    figure = catalogue.draw("cost", table)
    size, training = figure.axes
    assert size.get_title() == "projection size, m = 40"
    assert training.get_title() == "training samples, d = 200, m = 40"
    assert (size.get_xlabel(), training.get_ylabel()) == ("entries of the matrix", "seconds per iteration")
    assert {axes.get_xscale() for axes in figure.axes} | {axes.get_yscale() for axes in figure.axes} == {"log"}
    assert ticks(size) == ["40,000", "400,000", "4,000,000"]
    assert ticks(training) == ["40", "160", "640", "2,560"]
    drawn = [{line.get_label(): line.get_xydata() for line in axes.lines} for axes in figure.axes]
    for method in ("sort", "newton"):
        np.testing.assert_array_equal(drawn[0][method], table[table["method"] == method][["x", "seconds"]])
    rows = table[table["part"] == "training samples"][["x", "seconds"]]
    np.testing.assert_array_equal(drawn[1]["measured"], rows)
    label = "papers: N log N in the number N of non-zero entries; linear in the number of samples"
    assert legend(figure) == ["sort", "newton", "measured", label]
    assert figure.get_suptitle() == "Measured seconds, each a median of 7"
    x, seconds = drawn[0]["_papers"].T  # through the last point of the first method, in proportion to x log x
    np.testing.assert_allclose(seconds, 0.2 * x * np.log(x) / (4e6 * np.log(4e6)), rtol=1e-13)
    np.testing.assert_allclose(drawn[1]["_papers"], rows, rtol=1e-13)


def test_cost_of_rows_grows_with_their_entries():
    table = pd.DataFrame({"part": "projection rows", "x": [100, 10_000], "seconds": [1e-3, 1.0], "d": 100_000, "m": 40})
    (axes,) = catalogue.draw("cost", table.assign(repeats=[5, 7])).axes
    seconds = axes.lines[-1].get_ydata()
    np.testing.assert_allclose(seconds, [4e3 * np.log(4e3) / (4e5 * np.log(4e5)), 1], rtol=1e-14)
    assert axes.get_title() == "projection rows, d = 100,000, m = 40"
    assert axes.figure.get_suptitle() == "Measured seconds, each a median of 5 to 7"


def test_cost_of_another_part_is_drawn_against_x():
    table = cost_table().query("part == 'training samples'").assign(part="loading")
    (axes,) = catalogue.draw("cost", table.drop(columns="method")).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "seconds")


# The contact sheet


def album(n_images):
    """Images whose grey level says which they are, and two captions each; the last has none."""
    images = pd.DataFrame({"image": [f"{i}.jpg" for i in range(n_images)]})
    captions = pd.DataFrame(
        [(f"{i}.jpg", f"{which} caption of {i}") for i in range(n_images - 1) for which in ("first", "second")],
        columns=["image", "caption"],
    )
    return images, captions, lambda name: np.full((4, 6), int(name.removesuffix(".jpg")) / 100, dtype=np.float32)


def shown(figure):
    """Number of the image and title of every filled cell."""
    return [
        (round(100 * float(axes.images[0].get_array()[0, 0])), axes.get_title()) for axes in figure.axes if axes.images
    ]


@pytest.mark.parametrize("n_images, rows, columns", [(50, 3, 4), (5, 3, 4), (5, 1, 1)])
def test_the_contact_sheet_shows_different_images_with_their_first_captions(n_images, rows, columns):
    """Cells without an image stay empty, and grey levels are not stretched."""
    figure = scores.contact_sheet(*album(n_images), rows=rows, columns=columns)
    got = shown(figure)
    assert len(figure.axes) == rows * columns
    assert len(dict(got)) == len(got) == min(n_images, rows * columns)
    assert all(title == ("" if i == n_images - 1 else f"first caption of {i}") for i, title in got)
    assert not any(axes.axison for axes in figure.axes)
    assert {axes.images[0].get_clim() for axes in figure.axes if axes.images} == {(0, 1)}


def test_the_contact_sheet_is_drawn_from_its_seed():
    sheets = [shown(scores.contact_sheet(*album(50), rows=2, columns=2, seed=seed)) for seed in (1, 1, 2)]
    assert sheets[0] == sheets[1] != sheets[2]


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
def test_words_are_drawn_as_they_stand_and_no_formula(word, drawn):
    table = by_word_table().replace({"word": {"zoo": word}})
    figure = catalogue.draw("eer_by_word", table)
    figure.savefig(io.BytesIO())
    texts = [label for label in figure.axes[0].get_yticklabels() if label.get_text() not in WORDS]
    assert [label._preprocess_math(label.get_text()) for label in texts] == [(drawn, False)]


def test_captions_are_drawn_as_they_stand_and_no_formula():
    names = ["a", "b"]
    images = pd.DataFrame({"image": names, "split": "train"})
    captions = pd.DataFrame({"image": names, "caption": [r"$\frac{ and $", "<b>&amp;</b>"]})
    figure = scores.contact_sheet(images, captions, lambda image: np.zeros((4, 4)), rows=1, columns=2, seed=0)
    figure.savefig(io.BytesIO())
    titles = {axes.title._preprocess_math(axes.get_title()) for axes in figure.axes}
    assert titles == {(r"$\frac{ and $", False), ("<b>&amp;</b>", False)}
