"""The files that jobs read."""

import pytest
from configuration.inputs import Inputs
from configuration.wildcards import Study
from runs import run_of

W = Study("collage", "annotation")
HISTOGRAMS = [f"results/collage/histograms/{shard}-of-2.npz" for shard in range(2)]
TWO = {"shards": 2}


@pytest.mark.parametrize(
    ("values", "expected"),
    [({"train": 0}, "results/collage/images.parquet"), ({"train": 9}, "results/collage/annotation/images.parquet")],
)
def test_a_study_that_sets_images_aside_has_its_own_splits(values, expected):
    assert Inputs(run_of(set_aside=values)).images(W) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, f"{W.folder}/basis/features.npy"),
        ({"basis": None}, HISTOGRAMS),
        ({"basis": None, "similarities": {"n_prototypes": 9}}, f"{W.folder}/similarities/features.npz"),
    ],
)
def test_a_study_learns_from_its_basis_or_similarities_or_the_given_features(values, expected):
    inputs = Inputs(run_of(entry=TWO, **values))
    assert (inputs.features(W), inputs.given_features(W)) == (expected, HISTOGRAMS)


def test_a_study_of_a_table_starts_from_the_features_of_the_table():
    w = Study("documents", "text")
    assert Inputs(run_of("documents", "text")).features(w) == "results/documents/features.npz"


@pytest.mark.parametrize(("power", "read"), [(1, False), ([1], False), (0, True), ([0, 1], True)])
def test_the_basis_is_read_if_features_are_scaled_by_a_power_other_than_1(power, read):
    basis = Inputs(run_of(basis={"power": power})).basis(W)
    assert basis == (f"{W.folder}/basis/basis.npz" if read else [])


def test_each_run_has_a_path_if_radii_are_auto_and_a_sweep_otherwise():
    methods = {"hinge-l1": {"radius": [1]}, "hinge-l2": {"radius": "auto"}, "hinge-l1inf": None}
    expected = [
        f"{W.folder}/{name}.npz" for run in (1, 2) for name in (f"sweeps/run{run}/hinge-l1", f"paths/run{run}/hinge-l2")
    ]
    sweeps = Inputs(run_of(runs=2, methods=methods)).sweeps(W)
    assert [file for file in sweeps if "svm" not in file] == expected
    assert [file for file in sweeps if "svm" in file] == [f"{W.folder}/sweeps/run{run}/svm-l2.npz" for run in (1, 2)]


def test_an_experiment_that_draws_its_samples_reads_none_and_leaves_none_out():
    inputs, drawn, given = Inputs(run_of()), Study("synthetic", "recovery"), Study("digits", "digits")
    assert (inputs.samples(drawn), len(inputs.samples(given))) == ({}, 3)
    assert (inputs.left_out(drawn), inputs.left_out(given)) == ([], ["results/digits/left_out.csv"])


@pytest.mark.parametrize(("methods", "shown"), [({}, ["chosen", "differences"]), (("l1", "l2"), ["chosen"])])
def test_a_figure_is_drawn_from_the_tables_that_exist(methods, shown):
    others = dict.fromkeys(["svm-l2", *(f"hinge-{norm}" for norm in methods)]) if methods else {}
    files = Inputs(run_of(figures=["auc"], methods=others)).tables_of_figures(W)
    assert files == [f"{W.folder}/tables/{name}.csv" for name in shown]


@pytest.mark.parametrize(("basis", "read"), [({}, True), (None, False)])
def test_a_final_fit_reads_the_basis_of_its_study_if_there_is_one(basis, read):
    files = Inputs(run_of(basis=basis)).final(W)
    assert ("basis" in files) == read and {"images", "features", "labels", "words"} <= files.keys()


def test_the_model_of_pictures_is_made_of_vocabularies_basis_and_all_final_fits():
    files = Inputs(run_of(entry=TWO | {"final": {"norm": ["l2", "l1"]}})).model(W)
    endings = {"models": "skops", "tables": "csv"}
    assert files == {
        "images": "results/collage/images.parquet",
        "features": HISTOGRAMS,
        "labels": f"{W.folder}/labels.npy",
        "basis": f"{W.folder}/basis/basis.npz",
        "transformed": f"{W.folder}/basis/features.npy",
        **{key: [f"results/collage/final/{norm}.{ending}" for norm in ("l2", "l1")] for key, ending in endings.items()},
        "vocabularies": "results/collage/vocabularies.npz",
    }


def test_the_model_of_a_table_is_made_of_its_features():
    run = run_of("documents", "text", entry={"final": {"study": "text", "norm": "l1"}})
    files = Inputs(run).model(Study("documents", "text"))
    assert files.keys() == {"images", "features", "transformed", "labels", "models", "tables"}
    assert files["features"] == files["transformed"] == "results/documents/features.npz"
