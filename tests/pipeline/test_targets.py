"""The files that a run produces."""

from types import SimpleNamespace

import pytest
from configuration.inputs import Inputs
from configuration.targets import Targets
from runs import run_of

from jointsparse.pipeline.provenance import records


def targets_of(*arguments, **options):
    run = run_of(*arguments, **options)
    return Targets(run, Inputs(run))


@pytest.mark.parametrize(("dataset", "expected"), [("collage", ["l1", "l1inf", "l2"]), ("bigrams", ["l1"])])
def test_a_run_compiles_the_norms_of_its_methods_and_experiments(dataset, expected):
    assert targets_of().norms([dataset]) == expected


def test_a_run_compiles_nothing_in_advance_for_final_fits_and_support_vector_machines():
    entry = {"loader": "documents", "final": {"study": "text", "norm": ["l12"]}}
    methods = {"svm-l2": {"C": [1]}, "hinge-l1": None, "hinge-l2": None, "hinge-l1inf": None}
    assert targets_of("mine", "text", entry=entry, methods=methods).norms(["mine"]) == []


def test_a_quick_run_makes_one_study_without_figures_and_claims_and_keeps_the_list_of_pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    targets = targets_of(quick=True)
    everything = targets.everything()
    assert {file.split("/")[2] for file in everything if file.startswith("results/collage-quick/")} == {
        *("annotation", "final", "index.html", "left_out.csv", "model.skops", "norms.csv", "thresholds.csv")
    }
    assert not any("figures" in file or "claims.md" in file for file in everything)
    assert everything[-1] == "results/index.html"
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "index.html").touch()
    assert targets.everything() == everything[:-1]
    assert targets_of().everything()[-1] == "results/index.html"  # for a full run


@pytest.mark.parametrize(("seed", "expected"), [(0, ["results/collage/features.npz"]), (1, [])])
def test_a_run_with_the_same_settings_makes_deleted_results_again(tmp_path, monkeypatch, seed, expected):
    monkeypatch.chdir(tmp_path)
    targets, files = targets_of(), ["results/collage/features.npz", "results/collage/model.skops"]
    manifest, made = "results/claims/collage/manifest.json", {"code": [], "values": {}, "raw": {}}
    settings = targets.run.settings(SimpleNamespace(datasets="collage"))
    for file, inputs in zip([*files, "results/other/features.npz"], ([], files[:1], []), strict=True):
        records.write_json(file, {})
        records.write([file], records.read_inputs(inputs), job=file, **made)
    records.write_json(manifest, {"settings": settings})
    assert targets.everything() and targets.again == []
    for file in (files[0], "results/other/features.npz"):
        (tmp_path / file).unlink()
    targets = targets_of(seed=seed)
    assert ({*expected} <= {*targets.everything()}) and targets.again == expected


@pytest.mark.parametrize("keep", [[], ["descriptors"]])
def test_descriptors_are_made_only_if_they_are_saved(keep):
    results = targets_of(entry={"shards": 2, "features": {"keep": keep}}).results(["collage"])
    made = [file for file in results if "/descriptors/" in file]
    assert made == [f"results/collage/descriptors/{shard}-of-2.npy" for shard in range(2 * len(keep))]


def test_a_dataset_with_final_fits_has_a_model_and_a_table_for_each_fit():
    results = targets_of(entry={"final": {"norm": ["l1inf", "l2"]}}).results(["collage", "documents"])
    kept = [file for file in results if "/final/" in file or file.count("/") == 2]
    names = ("left_out.csv", "final/l1inf.csv", "final/l2.csv", "norms.csv", "thresholds.csv", "model.skops")
    assert [file for file in kept if "collage" in file and "claims" not in file] == [
        f"results/collage/{name}" for name in names
    ]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(("stability", "expected"), [(25, ["mine/stability.csv"]), (None, [])])
def test_selections_are_counted_only_if_the_final_fit_says_so(quick, stability, expected):
    targets = targets_of("mine", entry={"loader": "documents", "final": {"stability": stability}}, quick=quick)
    results = targets.results(targets.run.chosen)
    counted = [file.removeprefix("results/").replace("-quick", "") for file in results if "stability" in file]
    assert counted == expected


@pytest.mark.parametrize("quick", [False, True])
def test_own_data_have_a_fit_with_each_norm_and_tables_of_words_but_no_study(quick):
    entry = {"loader": "documents", "options": {"n_documents": 60}}
    targets = targets_of("mine", entry=entry, quick=quick)
    (name,) = targets.run.chosen
    names = ["left_out.csv", *(f"final/{norm}.csv" for norm in ("l1", "l12", "l1inf", "l2"))]
    names += ["norms.csv", "thresholds.csv", "model.skops", "own-labels/config.yaml"]
    names += [f"own-labels/tables/{table}.csv" for table in ("words", "odd_features", "repeated")]
    assert targets.results([name]) == [f"results/{name}/{file}" for file in names]
    (settings,) = targets.settings_of_studies().values()
    assert settings["studies"].keys() == {"own-labels"} and targets.norms([name]) == []
    assert targets.run.settings(SimpleNamespace(datasets=name))["studies"].keys() == {"own-labels"}


def test_with_compare_own_data_have_a_study_of_all_norms_too():
    targets = targets_of("mine", entry={"loader": "documents"}, compare=True)
    results = targets.results(["mine"])
    assert {"results/mine/own-labels/tables/words_learnt.csv", "results/mine/model.skops"} < set(results)
    assert len(results) == len(set(results)) and targets.norms(["mine"]) == ["l1", "l12", "l1inf", "l2"]


def test_the_manifest_has_the_verdicts_and_every_table_except_seconds():
    tables = targets_of("documents").tables(SimpleNamespace(datasets="documents+synthetic"))
    assert "results/claims/documents+synthetic/claims.csv" in tables
    assert "results/documents/exponentiated/tables/exponentiated.csv" in tables
    assert not any("timings" in file or not file.endswith(".csv") for file in tables)


def test_the_settings_saved_with_a_study_are_its_own():
    settings = targets_of("documents", "text", runs=3, seed=7).settings_of_studies()
    assert settings.keys() == {f"results/documents/{study}" for study in ("text", "exponentiated")}
    text = settings["results/documents/text"]
    assert (text["seed"], text["studies"].keys(), text["studies"]["text"]["runs"]) == (7, {"text"}, 3)
    assert text["datasets"].keys() == {"documents"} and "studies" not in text["datasets"]["documents"]
