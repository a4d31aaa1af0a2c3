"""The plan of a run: its datasets and studies, the files of its jobs, and what is found out about raw files."""

import os
from types import SimpleNamespace

import pytest
import raw
from plan import Place, Plan, tables_of
from raw import Found, raw_files
from runs import CONFIG, plan_of

from jointsparse.pipeline.models.annotator import EXTRACTORS
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.settings import SettingError, read
from jointsparse.pipeline.settings.datasets import Learnable

W, TEXT, RACE, DIGITS = map(
    Place, ("collage", "documents", "synthetic", "digits"), ("annotation", "text", "race", "digits")
)
MINE = Place("mine", "annotation")
HISTOGRAMS = [f"results/collage/histograms/{shard}-of-2.npz" for shard in range(2)]
TWO = {"shards": 2}
OF_PAGE = ("model", "labels", "images", "features", "norms", "thresholds", "warned", "all_images", "all_captions")
OF_PAGE += ("all_left_out", "tags")
OF_TEXT = {"final": {"study": "text", "norm": "l1"}}
OWN = {"loader": "documents", "options": {"n_documents": 60}}


# Datasets and studies


@pytest.mark.parametrize("dataset", ["collage", "scene15", "reuters21578"])
def test_a_quick_run_has_few_samples_and_one_run_at_one_size_of_the_study_of_the_final_fit(dataset):
    plan = plan_of(dataset, quick=True, seed=7)
    (name,) = plan.chosen
    ((study, block),) = plan.datasets[name].studies.items()
    place, full = Place(name, study), plan.datasets[dataset]
    assert (name, plan.named(place), study) == (f"{dataset}-quick", dataset, full.final.study)
    assert (plan.runs(place), block.sizes, block.figures, block.claims) == ([1], [10], [], [])
    assert (plan.drawn(place), plan.drawn(Place(dataset, study))) == ([500, 7], [None, None])
    note = plan.datasets[name].note
    assert note.startswith("A quick run: one run at one size on at most 500 samples.") and note.endswith(full.note)
    with pytest.raises(SettingError, match="quick is for datasets with a final fit, got 'synthetic'"):
        plan_of("synthetic", quick=True)


def test_a_quick_run_does_not_write_into_the_folder_of_another_dataset():
    config = CONFIG | {"quick": True, "dataset": "digits", "datasets": {"digits": OWN, "digits-quick": OWN}}
    with pytest.raises(SettingError, match="digits-quick must not be the name of a dataset, because a quick run"):
        Plan(read(config), Found(fresh=True, environment={}))


def test_a_dataset_grows_only_the_vocabularies_that_its_studies_use():
    assert plan_of("scene15").vocabularies(Place("scene15", ""), "depth") == {"tree": {"depth": 4}}
    assert plan_of("flickr8k").vocabularies(Place("flickr8k", ""), "depth").keys() == {"tree", "words3000"}


def test_a_saved_model_takes_the_settings_with_which_pictures_are_described():
    features = plan_of().features_of_pictures(W)
    describe = EXTRACTORS[features["extractor"]](**features["options"], longest_side=features["longest_side"])
    assert describe.longest_side == CONFIG["features"]["longest_side"]
    assert {key: getattr(describe, key) for key in features["options"]} == CONFIG["features"]["options"]
    assert features["vocabularies"] == {"tree": {"weighting": "sqrt", "normalise": True}}


def test_only_studies_of_pictures_have_a_vocabulary():
    plan = plan_of("documents", entry=OF_TEXT)
    assert (plan.vocabulary(W), plan.final_vocabulary(W)) == ("tree", "tree")
    assert (plan.vocabulary(TEXT), plan.final_vocabulary(TEXT), plan.final_vocabulary(RACE)) == (None, None, None)


@pytest.mark.parametrize(
    ("values", "smallest", "shown"),
    [({"sizes": [5, 50]}, 5, 50), ({"sizes": [5, 50], "at_size": 5}, 5, 5), ({"sizes": "auto"}, 10, 40)],
)
def test_figures_for_a_single_size_show_the_first_of_at_least_30_unless_told(values, smallest, shown):
    plan = plan_of("mine", entry={"loader": "collage"}, **values)
    assert (min(plan.words(MINE).all_sizes), plan.at_size(MINE)) == (smallest, shown)


def test_every_study_has_a_table_of_warnings_unless_it_only_measures_seconds():
    plan = plan_of()
    for place in plan.places(plan.datasets):
        tables = tables_of(plan.study(place))
        assert ("warnings" in tables) == (plan.kind(place) not in ("cost", "projection"))
        assert all(
            ("timings" in plan.table_file(place, name)) == (folder == "timings") for name, folder in tables.items()
        )


# Raw files


def test_a_digest_follows_the_contents_of_raw_files_and_not_their_dates(album):
    def digest():
        return plan_of("flickr8k", entry={"options": {"root": str(album)}}).raw(Place("flickr8k", ""))["digest"]

    before, captions = digest(), album / "captions.csv"
    os.utime(captions, (0, 0))
    assert digest() == before
    captions.write_text(captions.read_text().replace("dog", "cow"))
    assert digest() != before


def test_each_dataset_has_its_own_raw_files_and_shards(album):
    plan = plan_of("flickr8k", entry={"options": {"root": str(album)}, "shards": 3})
    flickr, collage = (
        plan.raw_of_datasets(SimpleNamespace(datasets="flickr8k+collage"))[name] for name in ("flickr8k", "collage")
    )
    assert flickr["digest"] != collage["digest"] and collage["paths"] == []
    assert (plan.n_shards(Place("flickr8k", "")), plan.n_shards(W)) == (3, 4)


def test_a_job_takes_over_what_the_run_has_found_and_a_run_finds_everything_anew(tmp_path):
    file, environment = tmp_path / "raw.csv", {}

    def digest(*, fresh, environment=environment):
        return Found(fresh=fresh, environment=environment).digest("mine", [str(file)], str(tmp_path / "cache.json"))

    file.write_text("1")
    first = digest(fresh=True)
    file.write_text("two")
    assert digest(fresh=False) == first
    second = digest(fresh=True)
    assert second != first and digest(fresh=False) == digest(fresh=False, environment={}) == second


@pytest.mark.parametrize("here", ["images", "images/run", "link"])
def test_a_run_inside_the_folder_of_its_pictures_is_refused(album, monkeypatch, here):
    (album / "images" / "run").mkdir()
    (album / "link").symlink_to("images/run")
    plan = plan_of("flickr8k", entry={"options": {"root": str(album)}})
    plan.require_raw_files()
    monkeypatch.chdir(album / here)
    with pytest.raises(SettingError, match=r"^results must not be .* of the pictures, .*/images: run"):
        plan.require_raw_files()


IDX = ("train_images", "train_labels", "test_images", "test_labels")


@pytest.mark.parametrize(
    ("dataset", "options", "there", "expected"),
    [
        ("collage", {}, [], []),
        ("synthetic", {}, [], []),
        ("flickr8k", {}, ["images/", "notes.csv"], ["images", "captions.csv", "splits.csv"]),  # captions may come later
        ("flickr8k", {"captions": "words.txt"}, ["images/"], ["images", "words.txt", "splits.csv"]),
        ("scene15", {}, ["images/"], ["images", "splits.csv"]),
        ("mnist", dict(zip(IDX, "abcd", strict=True)), [*"abcde"], [*"abcd"]),
        ("flickr8k", {}, ["images"], "a folder 'images'"),  # images is a file
        ("flickr8k", {"root": "a" * 300}, [], "a folder 'images'"),
        ("reuters21578", {"train": "a", "test": "b"}, ["a", "b", "vocabulary.txt"], "'topics.txt'"),
    ],
)
def test_raw_files_are_those_that_a_dataset_is_read_from_and_a_missing_file_is_one_line(
    tmp_path, dataset, options, there, expected
):
    root = str(tmp_path / options.get("root", ""))
    named = {} if dataset in ("collage", "synthetic") else {"root": root}
    settings = plan_of(dataset, entry={"options": options | named}).datasets[dataset]
    for name in there:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    if isinstance(expected, list):
        assert raw_files(dataset, settings) == [str(tmp_path / name) for name in expected]
        return
    with pytest.raises(SettingError) as caught:
        raw_files(dataset, settings)
    said = f"root must be a folder with {expected}, got {root!r}: put the data there, link it, or change root"
    assert str(caught.value).startswith(said[:500])


def test_pictures_are_counted_once_if_a_link_leads_back_to_their_folder(album, monkeypatch):
    (album / "images" / "all").symlink_to(".")
    monkeypatch.setattr(raw, "MOST_OF_SHARD", 5)
    plan = plan_of("flickr8k", entry={"options": {"root": str(album)}})
    assert plan.n_shards(Place("flickr8k", "")) == 4  # the next power of two above 12 / 5


def test_corrections_are_raw_files_of_their_own_and_a_missing_file_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan, digest = (lambda: plan_of("documents", entry={"corrections": "mine.csv"})), "documents (corrections)"
    said = "corrections must be a file with decisions about labels, got 'mine.csv', which is not there: put it there, "
    with pytest.raises(SettingError, match=f"^{said}or remove the key .config.yaml: datasets.documents.corrections.$"):
        plan().require_raw_files()
    found = []
    for content in ("a", "b"):
        (tmp_path / "mine.csv").write_text(content)
        plan().require_raw_files()
        blocks = plan().raw_of_datasets(SimpleNamespace(datasets="documents+collage"))
        assert [*blocks] == ["documents", "collage", digest] and blocks[digest]["paths"] == ["mine.csv"]
        found.append([block["digest"] for block in blocks.values()])
    assert found[0][:2] == found[1][:2] and found[0][2] != found[1][2]
    assert plan().corrections(TEXT) == "mine.csv" and plan().corrections(RACE) is None


# Inputs of jobs


def test_jobs_read_corrected_labels_if_there_are_corrections():
    plan, before = (
        plan_of("documents", entry=OF_TEXT | {"corrections": "mine.csv"}),
        plan_of("documents", entry=OF_TEXT),
    )
    for files_of in (Plan.left_out, Plan.samples, Plan.inputs_of_page):
        new, old = (
            {*files} if isinstance(files := files_of(one, TEXT), list) else {*map(str, files.values())}
            for one in (plan, before)
        )
        changed = {file.replace("documents/", "documents/corrected/") for file in old - new}
        assert changed == new - old and changed


@pytest.mark.parametrize(
    ("values", "expected"),
    [({"train": 0}, "results/collage/images.parquet"), ({"train": 9}, "results/collage/annotation/images.parquet")],
)
def test_a_study_that_sets_images_aside_has_its_own_splits(values, expected):
    assert plan_of(set_aside=values).images(W) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"runs": 2}, f"{MINE.folder}/basis/features.npy"),
        ({"basis": None}, [f"results/mine/histograms/{shard}-of-2.npz" for shard in range(2)]),
        (
            {"basis": None, "similarities": {"measure": "cosine", "n_prototypes": 9}},
            f"{MINE.folder}/similarities/features.npz",
        ),
    ],
)
def test_a_study_learns_from_its_basis_or_similarities_or_the_given_features(values, expected):
    plan = plan_of("mine", entry={"loader": "collage"} | TWO, **values)
    assert plan.features(MINE) == expected and plan.given_features(W)
    assert plan.features(TEXT) == "results/documents/features.npz"


@pytest.mark.parametrize(("power", "powers"), [(1, [1]), ([1], [1]), (0, [0]), ([0, 1], [0, 1]), (0.5, [0.5])])
def test_the_basis_is_read_if_features_are_scaled_by_a_power_other_than_1(power, powers):
    plan = plan_of(basis={"power": power})
    assert plan.words(W).powers == powers
    assert plan.basis(W) == ([] if powers == [1] else f"{W.folder}/basis/basis.npz")
    assert plan_of(basis=None).words(W).powers == plan_of(basis=None).basis(W) == []


def test_each_run_has_a_path_if_radii_are_auto_and_a_sweep_otherwise():
    methods = {"hinge-l1": {"radius": [1]}, "hinge-l2": {"radius": "auto"}, "hinge-l1inf": None}
    expected = {"hinge-l1": "sweeps", "hinge-l2": "paths", "svm-l2": "sweeps"}
    assert sorted(plan_of(runs=2, methods=methods).sweeps(W)) == sorted(
        f"{W.folder}/{folder}/run{run}/{name}.npz" for run in (1, 2) for name, folder in expected.items()
    )


def test_an_experiment_that_draws_its_samples_reads_none_and_leaves_none_out():
    plan = plan_of()
    assert (plan.samples(RACE), plan.left_out(RACE)) == ({}, [])
    assert (len(plan.samples(DIGITS)), plan.left_out(DIGITS)) == (3, ["results/digits/left_out.csv"])


@pytest.mark.parametrize(("basis", "read"), [({}, True), (None, False)])
def test_a_final_fit_reads_the_basis_of_its_study_if_there_is_one(basis, read):
    files = plan_of(basis=basis).inputs_of_final(W)
    assert ("basis" in files) == read and {"images", "features", "labels", "words"} <= files.keys()


def test_the_model_of_pictures_is_made_of_vocabularies_basis_and_all_final_fits():
    endings = {"models": "npz", "tables": "csv"}
    assert plan_of(entry=TWO | {"final": {"norm": ["l2", "l1"]}}).inputs_of_model(W) == {
        "images": "results/collage/images.parquet",
        "features": HISTOGRAMS,
        "labels": f"{W.folder}/labels.npy",
        "basis": f"{W.folder}/basis/basis.npz",
        "transformed": f"{W.folder}/basis/features.npy",
        **{key: [f"results/collage/final/{norm}.{ending}" for norm in ("l2", "l1")] for key, ending in endings.items()},
        "vocabularies": "results/collage/vocabularies.npz",
    }


def test_the_model_of_a_table_is_made_of_its_features():
    files = plan_of("documents", entry=OF_TEXT).inputs_of_model(TEXT)
    assert files.keys() == {"images", "features", "transformed", "labels", "models", "tables"}
    assert files["features"] == files["transformed"] == "results/documents/features.npz"


# Pages


@pytest.mark.parametrize(
    ("norms", "judged", "drawn"),
    [
        (["l1", "l2"], ["chosen", "differences", "significance"], ["chosen", "differences"]),
        (["l1"], ["chosen"], ["chosen"]),
    ],
)
def test_claims_and_figures_need_only_tables_that_the_study_makes(norms, judged, drawn):
    methods = {f"hinge-{norm}": None for norm in ("l1", "l2", "l1inf") if norm not in norms} | {"svm-l2": None}
    shown = {"claims": ["auc-significant", "joint-sparsity"], "figures": ["auc"]}
    plan = plan_of("mine", entry={"loader": "collage", "demonstration": True}, methods=methods, **shown)
    datasets = SimpleNamespace(datasets="mine")
    (claims,) = plan.judged(datasets)
    assert (claims["dataset"], claims["study"], claims["demonstration"]) == ("mine", "annotation", True)
    assert claims["tables"] == plan.judged_tables(datasets) == [f"{MINE.folder}/tables/{name}.csv" for name in judged]
    assert plan.tables_of_figures(MINE) == [f"{MINE.folder}/tables/{name}.csv" for name in drawn]


def test_a_study_without_claims_is_not_judged():
    judged = plan_of("documents", "text", claims=[]).judged(SimpleNamespace(datasets="documents"))
    assert [study["study"] for study in judged] == ["exponentiated"]
    assert (plan_of("digits", "digits", claims=[]).claims(), plan_of("digits").overview()) == (
        [],
        "claims/digits/index.html",
    )


def test_a_page_shows_the_saved_model_of_its_dataset_and_the_warnings_about_its_data():
    plan = plan_of("mine", entry={"loader": "collage", "final": {"like": "annotation"}})
    assert plan.inputs_of_page(MINE).keys() == {*OF_PAGE}
    assert plan.inputs_of_page(MINE)["warned"] == [
        f"results/mine/{plan.final_study(MINE).study}/tables/{name}.csv" for name in ("words", "odd_features")
    ]
    stable = plan_of("mine", entry={"loader": "collage", "final": {"like": "annotation", "stability": 3}})
    assert stable.inputs_of_page(MINE).keys() == {*OF_PAGE, "stability"}
    samples = plan_of("mine", entry={"loader": "digits", "final": {"like": "text"}})
    assert samples.inputs_of_page(MINE).keys() == {*OF_PAGE, "samples"}


def test_the_list_of_datasets_shows_studies_with_their_figures_and_tables_and_links_models():
    plan = plan_of(figures=["auc"])
    plan.chosen = ["collage", "digits"]
    collage, digits = plan.listed()
    (annotation,) = [study for study in collage["studies"] if study["study"] == "annotation"]
    assert annotation["tables"]["means"] == "collage/annotation/tables/means.csv"
    assert [*annotation["figures"]] == ["collage/annotation/figures/auc.png"]
    assert [study["study"] for study in digits["studies"]] == ["digits"] and digits["demonstration"]
    assert plan.with_models == ["collage"]


# The whole run


@pytest.mark.parametrize(("dataset", "expected"), [("collage", ["l1", "l1inf", "l2"]), ("bigrams", ["l1"])])
def test_a_run_compiles_the_norms_of_its_methods_and_experiments(dataset, expected):
    assert plan_of(dataset).norms == expected


def test_a_run_compiles_nothing_in_advance_for_final_fits_and_support_vector_machines():
    entry = {"loader": "documents", "final": {"study": "text", "norm": ["l12"]}}
    methods = {"svm-l2": {"C": [1]}, "hinge-l1": None, "hinge-l2": None, "hinge-l1inf": None}
    assert plan_of("mine", "text", entry=entry, methods=methods).norms == []


def test_a_quick_run_makes_one_study_without_figures_and_claims_and_keeps_the_list_of_pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = plan_of(quick=True)
    everything = plan.everything()
    assert {file.split("/")[2] for file in everything if file.startswith("results/collage-quick/")} == {
        *("annotation", "final", "index.html", "left_out.csv", "model.jointsparse", "norms.csv", "tags_to_check.csv"),
        "thresholds.csv",
    }
    assert not any("figures" in file or "claims.md" in file for file in everything)
    assert everything[-1] == "results/index.html"
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "index.html").touch()
    assert plan.everything() == everything[:-1]
    assert plan_of().everything()[-1] == "results/index.html"  # for a full run


@pytest.mark.parametrize(("seed", "expected"), [(0, ["results/collage/features.npz"]), (1, [])])
def test_a_run_with_the_same_settings_makes_deleted_results_again(tmp_path, monkeypatch, seed, expected):
    monkeypatch.chdir(tmp_path)
    plan, files = plan_of(), ["results/collage/features.npz", "results/collage/model.jointsparse"]
    manifest, made = "results/claims/collage/manifest.json", {"code": [], "values": {}, "raw": {}}
    for file, inputs in zip([*files, "results/other/features.npz"], ([], files[:1], []), strict=True):
        records.write_json(file, {})
        records.write([file], records.read_inputs(inputs), job=file, **made)
    records.write_json(manifest, {"settings": plan.settings(["collage"])})
    assert plan.everything() and plan.again == []
    for file in (files[0], "results/other/features.npz"):
        (tmp_path / file).unlink()
    plan = plan_of(seed=seed)
    assert ({*expected} <= {*plan.everything()}) and plan.again == expected


@pytest.mark.parametrize("keep", [[], ["descriptors"]])
def test_descriptors_are_made_only_if_they_are_saved(keep):
    results = plan_of(entry={"shards": 2, "features": {"keep": keep}}).results(["collage"])
    made = [file for file in results if "/descriptors/" in file]
    assert made == [f"results/collage/descriptors/{shard}-of-2.npy" for shard in range(2 * len(keep))]


def test_a_dataset_with_final_fits_has_a_model_and_a_table_for_each_fit():
    results = plan_of(entry={"final": {"norm": ["l1inf", "l2"]}}).results(["collage", "documents"])
    kept = [file for file in results if "/final/" in file or file.count("/") == 2]
    names = ("left_out.csv", "final/l1inf.csv", "final/l2.csv", "norms.csv", "thresholds.csv", "tags_to_check.csv")
    assert [file for file in kept if "collage" in file and "claims" not in file] == [
        f"results/collage/{name}" for name in (*names, "model.jointsparse")
    ]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("stability", [25, None])
def test_own_data_have_a_fit_with_each_norm_and_tables_of_words_but_no_study(quick, stability):
    plan = plan_of("mine", entry=OWN | {"final": {"stability": stability}}, quick=quick)
    (name,) = plan.chosen
    names = ["left_out.csv", *(f"final/{norm}.csv" for norm in ("l1", "l12", "l1inf", "l2"))]
    names += ["norms.csv", "thresholds.csv", "tags_to_check.csv", "model.jointsparse"]
    names += ["stability.csv"] * bool(stability)
    names += ["own-labels/config.yaml"]
    names += [f"own-labels/tables/{table}.csv" for table in ("words", "odd_features", "repeated")]
    assert plan.results([name]) == [f"results/{name}/{file}" for file in names]
    (settings,) = plan.settings_of_studies.values()
    assert settings["studies"].keys() == {"own-labels"} and plan.norms == []
    assert plan.settings([name])["datasets"][name]["final"]["settings"] == settings["studies"]["own-labels"]
    assert plan.datasets[name].note.startswith("A quick run: the final fit on at most 500 samples. Run" * quick)


def test_with_compare_own_data_have_a_study_of_all_norms_too():
    plan = plan_of("mine", entry=OWN, compare=True)
    results = plan.results(["mine"])
    assert {"results/mine/own-labels/tables/words_learnt.csv", "results/mine/model.jointsparse"} < set(results)
    assert len(results) == len(set(results)) and plan.norms == ["l1", "l12", "l1inf", "l2"]


def test_the_manifest_has_the_verdicts_and_every_table_except_seconds():
    tables = plan_of("documents").tables(SimpleNamespace(datasets="documents+synthetic"))
    assert "results/claims/documents+synthetic/claims.csv" in tables
    assert "results/documents/exponentiated/tables/exponentiated.csv" in tables
    assert not any("timings" in file or not file.endswith(".csv") for file in tables)


def test_the_settings_of_a_run_and_of_a_study_are_only_those_that_it_uses():
    plan = plan_of("documents", "text", runs=3, seed=7)
    of_run, of_studies = plan.settings(["documents"]), plan.settings_of_studies
    assert (of_run["dataset"], of_run["seed"], [*of_run["datasets"]]) == (["documents"], 7, ["documents"])
    assert of_run["datasets"]["documents"]["studies"].keys() == {"text", "exponentiated"}
    assert of_studies.keys() == {f"results/documents/{study}" for study in ("text", "exponentiated")}
    text = of_studies["results/documents/text"]
    assert (text["seed"], text["studies"].keys(), text["studies"]["text"]["runs"]) == (7, {"text"}, 3)
    assert text["datasets"].keys() == {"documents"} and "studies" not in text["datasets"]["documents"]
    assert "features" not in text and "features" in plan_of().settings_of_studies[W.folder]


def test_only_datasets_of_samples_and_pictures_can_be_learnt():
    plan = plan_of()
    drawn = {name for name in plan.datasets if name not in plan.of(Learnable)}
    assert drawn == {"synthetic", "synthetic-full"}
