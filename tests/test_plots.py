"""Figures: what is drawn are the numbers of the table, with the paper's beside them."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from jointsparse import papers, plots

METHODS = ["hinge-l1inf", "hinge-l1", "hinge-l2", "svm-l2"]
SIZES = {40: 4_800, 80: 9_600, 160: 19_200}
DENSE = {"hinge-l2", "svm-l2"}
RINGED = "certified gap above 5%, up to 30%"


def convergence_table(methods=METHODS, sizes=SIZES, runs=(1,)):
    """Four radii, of the first method only, with a curve each."""
    return pd.DataFrame(
        {"run": run, "n": n, "n_samples": sizes[n], "method": methods[0], "parameter": radius, "eta0": 1 / radius}
        | {"iteration": t, "objective": (1 - radius / 200) ** t + 0.01 * (run - 1), "gap": radius / 300}
        for run in runs
        for n in sizes
        for radius in (0.1, 1.0, 10.0, 100.0)
        for t in range(21)
    )


def auc_table(methods=METHODS, sizes=SIZES, runs=(1,)):
    rng = np.random.default_rng(0)
    rows = [
        {"run": run, "n": n, "n_samples": sizes[n], "method": method}
        for run in runs
        for n in sizes
        for method in methods
    ]
    return pd.DataFrame(rows).assign(auc=0.6 + 0.1 * rng.random(len(rows)), gap=0.01)


def sparsity_table(methods=METHODS, sizes=SIZES, runs=(1,)):
    """Three radii, in decreasing order; l2 uses all features."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"run": run, "n": n, "method": method, "parameter": radius, "auc": 0.6 + 0.1 * rng.random()}
        | {"features": 1.0 if method in DENSE else rng.random(), "gap": 0.01}
        for run in runs
        for n in sizes
        for method in methods
        for radius in (10.0, 1.0, 0.1)
    )


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
    reported = papers.TABLE_1.set_index("n")
    norms = table["against"].str.split("-").str[1]
    return table.assign(
        paper=[reported[norm].get(n) if norm in reported else None for norm, n in zip(norms, table["n"], strict=True)]
    )


TABLES = {
    "convergence": convergence_table,
    "auc": auc_table,
    "sparsity": sparsity_table,
    "significance": significance_table,
}


@pytest.fixture(params=sorted(TABLES))
def name(request):
    return request.param


def lines(figure):
    """The numbers of every line by its label."""
    (axes,) = figure.axes
    return {line.get_label(): line.get_xydata() for line in axes.lines}


def cells(figure):
    """The texts of the only table, row by row."""
    (axes,) = figure.axes
    (table,) = axes.tables
    texts = {place: cell.get_text().get_text() for place, cell in table.get_celld().items()}
    n_rows, n_columns = (max(place[i] for place in texts) + 1 for i in (0, 1))
    return [[texts[row, column] for column in range(n_columns)] for row in range(n_rows)]


# Facts about every figure


def test_every_figure_has_a_table_here():
    assert set(TABLES) == set(plots.FIGURES)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError) as caught:
        plots.draw("roc", auc_table())
    assert str(caught.value) == "figures knows convergence, auc, sparsity, significance; got 'roc'"


def test_every_figure_names_its_quantities(name):
    (axes,) = plots.draw(name, TABLES[name]()).axes
    assert "(paper: " in axes.get_title()
    if name != "significance":
        assert axes.get_xlabel() and axes.get_ylabel()


@pytest.mark.parametrize("suffix", ["pdf", "png"])
def test_the_same_table_gives_the_same_bytes(name, suffix):
    def drawn():
        file = io.BytesIO()
        metadata = {"CreationDate": None} if suffix == "pdf" else None
        plots.draw(name, TABLES[name]()).savefig(file, format=suffix, metadata=metadata)
        return file.getvalue()

    assert drawn() == drawn()


def test_drawing_leaves_the_table_alone(name):
    table = TABLES[name]()
    plots.draw(name, table)
    pd.testing.assert_frame_equal(table, TABLES[name]())


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
def test_every_figure_is_drawn_of_smaller_and_larger_tables(name, some):
    plots.draw(name, TABLES[name](**some)).savefig(io.BytesIO(), format="pdf")


@pytest.mark.parametrize("name", ["convergence", "auc", "sparsity"])
@pytest.mark.parametrize("method", METHODS)
def test_curves_are_drawn_of_one_method(name, method):
    plots.draw(name, TABLES[name](methods=[method])).savefig(io.BytesIO(), format="pdf")


# Single figures


def test_convergence_draws_every_radius_on_the_largest_training_sets():
    table = convergence_table()
    drawn = lines(plots.draw("convergence", table))
    assert list(drawn) == [
        "radius 0.1 (eta0 10, certified gap 0.033%)",
        "radius 1 (eta0 1, certified gap 0.33%)",
        "radius 10 (eta0 0.1, certified gap 3.3%)",
        "radius 100 (eta0 0.01, certified gap 33%)",
    ]
    for radius, got in zip((0.1, 1, 10, 100), drawn.values(), strict=True):
        expected = table[(table["n"] == 160) & (table["parameter"] == radius)][["iteration", "objective"]]
        np.testing.assert_array_equal(got, expected)


def test_convergence_draws_the_first_of_several_runs():
    several, one = (lines(plots.draw("convergence", convergence_table(runs=runs))) for runs in ((2, 1, 3), (1,)))
    assert list(several) == list(one)
    for label in one:
        np.testing.assert_array_equal(several[label], one[label])


def test_convergence_shows_what_the_paper_did_beside_ours():
    (axes,) = plots.draw("convergence", convergence_table()).axes
    assert axes.get_title() == (
        "Convergence of hinge-l1inf, 19,200 samples\n(paper: Fig. 2, radius 0.1, 1, 10, 100, 63,408 samples)"
    )
    assert axes.get_ylabel() == "objective / objective at W = 0"


def test_convergence_shows_all_of_a_curve_that_descends():
    (axes,) = plots.draw("convergence", convergence_table()).axes
    assert axes.get_ylim() == (0, 1.05)


def test_convergence_of_a_solver_without_step_sizes_names_none():
    table = convergence_table().assign(eta0=np.nan)
    assert next(iter(lines(plots.draw("convergence", table)))) == "radius 0.1 (certified gap 0.033%)"


@pytest.mark.parametrize("figure", ["auc", "sparsity"])
def test_fits_that_may_be_far_from_the_optimum_are_ringed(figure):
    table = {"auc": auc_table, "sparsity": sparsity_table}[figure]()
    assert not [label for label in lines(plots.draw(figure, table)) if "gap" in label]
    far = (table["n"] == 160) & (table["method"] == "hinge-l1")
    table.loc[far, "gap"] = 0.3
    (ringed,) = [xy for label, xy in lines(plots.draw(figure, table)).items() if label == RINGED]
    x = table.loc[far, "n_samples"] if figure == "auc" else 100 * table.loc[far, "features"]
    assert sorted(map(tuple, ringed)) == sorted(zip(x, table.loc[far, "auc"], strict=True))


def test_auc_draws_every_method_over_the_number_of_samples():
    table = auc_table()
    figure = plots.draw("auc", table)
    drawn = lines(figure)
    assert list(drawn) == METHODS
    for method in METHODS:
        np.testing.assert_array_equal(drawn[method], table[table["method"] == method][["n_samples", "auc"]])
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["4,800", "9,600", "19,200"]


def test_auc_draws_the_mean_of_several_runs_and_each_run_as_a_dot():
    table = auc_table(runs=(1, 2, 3))
    (axes,) = plots.draw("auc", table).axes
    drawn = lines(axes.figure)
    for method in METHODS:
        rows = table[table["method"] == method]
        expected = [[n_samples, rows[rows["n_samples"] == n_samples]["auc"].mean()] for n_samples in SIZES.values()]
        np.testing.assert_allclose(drawn[method], expected, rtol=1e-15)
    dots = [line for line in axes.lines if line.get_marker() == "."]
    for method, line in zip(METHODS, dots, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), table[table["method"] == method][["n_samples", "auc"]])


def test_auc_shows_the_papers_range():
    (axes,) = plots.draw("auc", auc_table()).axes
    (band,) = axes.patches
    low, high = papers.FIGURE_3_AUC_RANGE
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((low, high))
    assert f"{low:g} to {high:g}" in band.get_label()


@pytest.mark.parametrize("figure", ["auc", "sparsity"])
def test_thirteen_methods_are_all_drawn_and_look_different(figure):
    """Every loss with every norm, and svm-l2."""
    methods = [f"{loss}-{norm}" for loss in ("hinge", "logistic", "squared") for norm in ("l1", "l12", "l1inf", "inf")]
    (axes,) = plots.draw(figure, TABLES[figure](methods=[*methods, "svm-l1"])).axes
    ours = [line for line in axes.lines if not line.get_label().startswith("paper")]
    assert [line.get_label() for line in ours] == [*methods, "svm-l1"]
    assert len({(to_hex(line.get_color()), line.get_marker()) for line in ours}) == 13


def test_sparsity_draws_the_sparse_methods_over_the_share_of_features_in_per_cent():
    table = sparsity_table()
    drawn = lines(plots.draw("sparsity", table))
    assert [label for label in drawn if not label.startswith("paper")] == ["hinge-l1inf", "hinge-l1"]
    for method in ("hinge-l1inf", "hinge-l1"):
        rows = table[(table["n"] == 160) & (table["method"] == method)].sort_values("parameter")
        expected = np.column_stack([100 * rows["features"], rows["auc"]])
        np.testing.assert_array_equal(drawn[method], expected)


def test_sparsity_draws_the_mean_of_several_runs():
    table = sparsity_table(runs=(1, 2, 3))
    drawn = lines(plots.draw("sparsity", table))
    rows = table[(table["n"] == 160) & (table["method"] == "hinge-l1")].groupby("parameter")[["features", "auc"]].mean()
    np.testing.assert_allclose(drawn["hinge-l1"], rows.to_numpy() * [100, 1], rtol=1e-14)


def test_sparsity_writes_the_radius_beside_its_point():
    (axes,) = plots.draw("sparsity", sparsity_table()).axes
    drawn = lines(axes.figure)
    points = np.concatenate([drawn["hinge-l1inf"], drawn["hinge-l1"]])
    assert [text.get_text() for text in axes.texts] == ["0.1", "1", "10"] * 2
    np.testing.assert_array_equal([text.xy for text in axes.texts], points)


def test_sparsity_shows_the_papers_points_in_the_colours_of_ours():
    (axes,) = plots.draw("sparsity", sparsity_table()).axes
    by_label = {line.get_label(): line for line in axes.lines}
    for method, used, reached in papers.FIGURE_4:
        line = by_label[f"paper (Reuters): {method} {reached:.0%} AUC with {used:.0%}"]
        np.testing.assert_array_equal(line.get_xydata(), [[100 * used, reached]])
        assert line.get_color() == by_label[method].get_color()


def test_significance_writes_the_p_values_of_the_test_words():
    table = significance_table()
    (header, *rows) = cells(plots.draw("significance", table))
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
    (_, *rows) = cells(plots.draw("significance", significance_table(sizes={40: 4_800, 320: 38_400, 20: 2_400})))
    got = {row[0]: [row[6], row[11], row[16]] for row in rows}  # hinge-l1, hinge-l2, svm-l2
    assert got == {"20": ["–", "–", "–"], "40": ["1e-05", "0.0042", "0.0042"], "320": ["0.36", "0.35", "0.35"]}


def test_significance_shows_the_first_of_several_runs():
    assert cells(plots.draw("significance", significance_table(runs=(1, 2)))) == cells(
        plots.draw("significance", significance_table(runs=(1, 2)).query("run == 1"))
    )


def test_significance_names_the_method_and_says_that_the_test_is_not_exact():
    (axes,) = plots.draw("significance", significance_table()).axes
    assert "is hinge-l1inf better?" in axes.get_title()
    assert any("not exact" in text.get_text() for text in axes.texts)


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


def test_the_contact_sheet_shows_different_images_with_their_first_captions():
    got = shown(plots.contact_sheet(*album(50), rows=3, columns=4))
    assert len(dict(got)) == 12
    assert all(title == ("" if i == 49 else f"first caption of {i}") for i, title in got)


def test_the_contact_sheet_of_few_images_shows_them_all_and_leaves_cells_empty():
    figure = plots.contact_sheet(*album(5), rows=3, columns=4)
    assert sorted(i for i, _ in shown(figure)) == [0, 1, 2, 3, 4]
    assert len(figure.axes) == 12
    assert not any(axes.axison for axes in figure.axes)


def test_the_contact_sheet_may_have_a_single_cell():
    assert len(shown(plots.contact_sheet(*album(5), rows=1, columns=1))) == 1


def test_the_contact_sheet_is_drawn_from_its_seed():
    sheets = [shown(plots.contact_sheet(*album(50), rows=2, columns=2, seed=seed)) for seed in (1, 1, 2)]
    assert sheets[0] == sheets[1] != sheets[2]


def test_grey_levels_of_the_contact_sheet_are_not_stretched():
    figure = plots.contact_sheet(*album(5), rows=1, columns=2)
    assert [axes.images[0].get_clim() for axes in figure.axes] == [(0, 1)] * 2
