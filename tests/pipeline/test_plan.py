"""The plan of a run: its datasets and studies, the files of its jobs, and what is found out about raw files.

Which rules a setting changes is in test_walk.py. A table here has the answer of a plan for each fact.
"""

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
COLLAGE, OWN = {"loader": "collage"}, {"loader": "documents", "options": {"n_documents": 60}}
OF_TEXT = {"final": {"study": "text", "norm": "l1"}}
CORRECTED = OF_TEXT | {"corrections": "mine.csv"}
TWO = {"shards": 2}
TABLE, BASIS = "results/documents/features.npz", f"{W.folder}/basis/basis.npz"
SVM_ONLY = {"svm-l2": {"C": [1]}, "hinge-l1": None, "hinge-l2": None, "hinge-l1inf": None}
GRIDS = {"hinge-l1": {"radius": [1]}, "hinge-l2": {"radius": "auto"}, "hinge-l1inf": None}


def mine(**values):
    """Return the plan of a collage of two shards with other values of its study."""
    return plan_of("mine", entry=COLLAGE | TWO, **values)


def size_shown(sizes, **values):
    plan = mine(sizes=sizes, **values)
    return min(plan.words(MINE).all_sizes), plan.at_size(MINE)


def powers(**values):
    plan = plan_of(**values)
    return plan.words(W).powers, plan.basis(W)


def judged(*norms):
    """Return the tables on which the claims of a study with these norms are judged, and those of its figures."""
    methods = {f"hinge-{norm}": None for norm in ("l1", "l2", "l1inf") if norm not in norms} | {"svm-l2": None}
    shown = {"claims": ["auc-significant", "joint-sparsity"], "figures": ["auc"]}
    plan, w = plan_of("mine", entry=COLLAGE, methods=methods, **shown), SimpleNamespace(datasets="mine")
    return [file.rpartition("/")[2] for file in plan.judged_tables(w)], len(plan.tables_of_figures(MINE))


def page(loader, **final):
    entry = {"loader": loader, "final": {"like": "annotation" if loader == "collage" else "text"} | final}
    return plan_of("mine", entry=entry).inputs_of_page(MINE)


def results(*datasets, without=("/tables/", "/figures", "claims", "config.yaml"), **given):
    """Return the results of a run, without those of studies."""
    files = plan_of(*datasets[:1], **given).results(datasets)
    return [file.split("/", 2)[2] for file in files if not any(part in file for part in without)]


def own(*, stability, quick):
    plan = plan_of("mine", entry=OWN | {"final": {"stability": stability}}, quick=quick)
    return [file.split("/", 2)[2] for file in plan.results(plan.chosen)], plan.norms


TABLES_OF_FITS = ["norms.csv", "thresholds.csv", "tags_to_check.csv", "model.jointsparse"]
OF_PAGE = {"model", "labels", "images", "features", "norms", "thresholds", "warned", "all_images", "all_captions"}
OF_PAGE |= {"all_left_out", "tags"}
OF_OWN = ["left_out.csv", *(f"final/{norm}.csv" for norm in ("l1", "l12", "l1inf", "l2")), *TABLES_OF_FITS]
OF_SETTINGS = ["own-labels/config.yaml"]
OF_SETTINGS += [f"own-labels/tables/{table}.csv" for table in ("words", "odd_features", "repeated")]
FACTS = {
    "a dataset grows only the vocabularies that its studies use": (
        lambda: [
            plan_of("scene15").vocabularies(Place("scene15", ""), "depth"),
            {*plan_of("flickr8k").vocabularies(Place("flickr8k", ""))},
        ],
        [{"tree": {"depth": 4}}, {"tree", "words3000"}],
    ),
    "a final fit with settings of its own names its vocabulary": (
        lambda: {*plan_of("mine", entry=COLLAGE | {"final": {"like": "annotation"}}).vocabularies(MINE)},
        {"tree"},
    ),
    "only studies of pictures have a vocabulary": (
        lambda: [plan_of("documents", entry=OF_TEXT).vocabulary(w) for w in (W, TEXT)],
        ["tree", None],
    ),
    "only final fits of pictures have a vocabulary": (
        lambda: [plan_of("documents", entry=OF_TEXT).final_vocabulary(w) for w in (W, TEXT, RACE)],
        ["tree", None, None],
    ),
    # Sizes and powers
    "figures of a single size show the first of at least 30": (lambda: size_shown([5, 50]), (5, 50)),
    "figures of a single size show the size that is set": (lambda: size_shown([5, 50], at_size=5), (5, 5)),
    "figures of automatic sizes show 40": (lambda: size_shown("auto"), (10, 40)),
    "features of power 1 need no singular values": (lambda: powers(basis={"power": 1}), ([1], [])),
    "features of power 1 in a list need none": (lambda: powers(basis={"power": [1]}), ([1], [])),
    "features of power 0 need singular values": (lambda: powers(basis={"power": 0}), ([0], BASIS)),
    "features of several powers need them": (lambda: powers(basis={"power": [0, 1]}), ([0, 1], BASIS)),
    "features of a fractional power need them": (lambda: powers(basis={"power": 0.5}), ([0.5], BASIS)),
    "features without a basis have no powers": (lambda: powers(basis=None), ([], [])),
    # Inputs of jobs
    "a study that sets nothing aside uses the splits of its dataset": (
        lambda: plan_of(set_aside={"train": 0}).images(W),
        "results/collage/images.parquet",
    ),
    "a study that sets images aside has its own splits": (
        lambda: plan_of(set_aside={"train": 9}).images(W),
        f"{W.folder}/images.parquet",
    ),
    "a study learns from its basis": (lambda: mine(runs=2).features(MINE), f"{MINE.folder}/basis/features.npy"),
    "a study without a basis learns from histograms": (
        lambda: mine(basis=None).features(MINE),
        [f"results/mine/histograms/{shard}-of-2.npz" for shard in range(2)],
    ),
    "a study learns from its similarities": (
        lambda: mine(basis=None, similarities={"measure": "cosine", "n_prototypes": 9}).features(MINE),
        f"{MINE.folder}/similarities/features.npz",
    ),
    "a study of documents learns from the given features": (lambda: plan_of().features(TEXT), TABLE),
    "each run has a path if radii are auto and a sweep otherwise": (
        lambda: sorted(plan_of(runs=2, methods=GRIDS).sweeps(W)),
        [
            f"{W.folder}/{folder}/run{run}/{name}.npz"
            for folder, names in (("paths", ["hinge-l2"]), ("sweeps", ["hinge-l1", "svm-l2"]))
            for run in (1, 2)
            for name in names
        ],
    ),
    "an experiment that draws its samples reads none and leaves none out": (
        lambda: (plan_of().samples(RACE), plan_of().left_out(RACE)),
        ({}, []),
    ),
    "an experiment on samples reads them": (
        lambda: ({*plan_of().samples(DIGITS)}, plan_of().left_out(DIGITS)),
        ({"images", "features", "captions"}, ["results/digits/left_out.csv"]),
    ),
    "a final fit reads the basis of its study": (
        lambda: {*plan_of().inputs_of_final(W)},
        {"images", "features", "labels", "words", "basis"},
    ),
    "a final fit without a basis reads none": (
        lambda: {*plan_of(basis=None).inputs_of_final(W)},
        {"images", "features", "labels", "words"},
    ),
    "a model of pictures is made of vocabularies, basis and all final fits": (
        lambda: plan_of(entry=TWO | {"final": {"norm": ["l2", "l1"]}}).inputs_of_model(W),
        {
            "images": "results/collage/images.parquet",
            "features": [f"results/collage/histograms/{shard}-of-2.npz" for shard in range(2)],
            "labels": f"{W.folder}/labels.npy",
            "basis": BASIS,
            "transformed": f"{W.folder}/basis/features.npy",
            "models": [f"results/collage/final/{norm}.npz" for norm in ("l2", "l1")],
            "tables": [f"results/collage/final/{norm}.csv" for norm in ("l2", "l1")],
            "vocabularies": "results/collage/vocabularies.npz",
        },
    ),
    "a model of a table is made of its features": (
        lambda: plan_of("documents", entry=OF_TEXT).inputs_of_model(TEXT),
        {
            "images": "results/documents/images.parquet",
            "features": TABLE,
            "transformed": TABLE,
            "labels": f"{TEXT.folder}/labels.npy",
            "models": ["results/documents/final/l1.npz"],
            "tables": ["results/documents/final/l1.csv"],
        },
    ),
    "jobs read corrected labels if there are corrections": (
        lambda: [plan_of("documents", entry=CORRECTED).corrected(TEXT, "a.csv"), plan_of().corrected(TEXT, "a.csv")],
        ["results/documents/corrected/a.csv", "results/documents/a.csv"],
    ),
    "tables of samples are corrected": (
        lambda: [
            *plan_of("documents", entry=CORRECTED).left_out(TEXT),
            plan_of("documents", entry=CORRECTED).samples(TEXT)["captions"],
            *(plan_of("documents", entry=CORRECTED).inputs_of_page(TEXT)[f"all_{n}"] for n in ("captions", "left_out")),
        ],
        [f"results/documents/corrected/{name}" for name in ("left_out.csv", *["captions.parquet"] * 2, "left_out.csv")],
    ),
    # Pages
    "claims and figures of several methods use tables that compare them": (
        lambda: judged("l1", "l2"),
        (["chosen.csv", "differences.csv", "significance.csv"], 2),
    ),
    "claims and figures of one method do not": (lambda: judged("l1"), (["chosen.csv"], 1)),
    "a study without claims is not judged": (
        lambda: [
            study["study"]
            for study in plan_of("documents", "text", claims=[]).judged(SimpleNamespace(datasets="documents"))
        ],
        ["exponentiated"],
    ),
    "a run without claims has no page of claims": (
        lambda: [(plan.claims(), plan.overview()) for plan in [plan_of("digits", "digits", claims=[])]],
        [([], "")],
    ),
    "a run with claims has a page of them": (lambda: plan_of("digits").overview(), "claims/digits/index.html"),
    "a page shows the model of its dataset": (lambda: {*page("collage")}, OF_PAGE),
    "a page shows how often features are selected": (
        lambda: {*page("collage", stability=3)},
        OF_PAGE | {"stability"},
    ),
    "a page of samples shows them": (lambda: {*page("digits")}, OF_PAGE | {"samples"}),
    "a page shows the warnings about the data of its final fit": (
        lambda: page("collage")["warned"],
        [f"{MINE.folder}/tables/{name}.csv" for name in ("words", "odd_features")],
    ),
    # The whole run
    "a run compiles the norms of its methods": (lambda: plan_of("collage").norms, ["l1", "l1inf", "l2"]),
    "a run compiles the norms of its experiments": (lambda: plan_of("bigrams").norms, ["l1"]),
    "nothing is compiled for final fits and support vector machines": (
        lambda: (
            plan_of(
                "mine", "text", entry=COLLAGE | OWN | {"final": {"study": "text", "norm": ["l12"]}}, methods=SVM_ONLY
            ).norms
        ),
        [],
    ),
    "descriptors are not made unless they are saved": (
        lambda: [name for name in results("collage", entry=TWO | {"features": {"keep": []}}) if "descr" in name],
        [],
    ),
    "saved descriptors are made": (
        lambda: results("collage", entry=TWO | {"features": {"keep": ["descriptors"]}})[1:3],
        [f"descriptors/{shard}-of-2.npy" for shard in range(2)],
    ),
    "a dataset with final fits has a model and a table for each fit": (
        lambda: results("collage", entry={"final": {"norm": ["l1inf", "l2"]}}),
        ["left_out.csv", "final/l1inf.csv", "final/l2.csv", *TABLES_OF_FITS],
    ),
    **{
        f"own data have a fit with each norm but no study, {stability=}, {quick=}": (
            lambda given={"stability": stability, "quick": quick}: own(**given),
            ([*OF_OWN, *["stability.csv"] * bool(stability), *OF_SETTINGS], []),
        )
        for stability in (25, None)
        for quick in (False, True)
    },
    "with compare, own data have a study of all norms too": (
        lambda: [
            (len(files) - len({*files}), {"own-labels/tables/words_learnt.csv", "model.jointsparse"} <= {*files})
            for files in [results("mine", entry=OWN, compare=True, without=())]
        ],
        [(0, True)],
    ),
    "with compare, all norms are compiled": (
        lambda: plan_of("mine", entry=OWN, compare=True).norms,
        ["l1", "l12", "l1inf", "l2"],
    ),
    "all datasets but synthetic ones can be learnt": (
        lambda: {*plan_of().datasets} - {*plan_of().of(Learnable)},
        {"synthetic", "synthetic-full"},
    ),
}


@pytest.mark.parametrize("fact", FACTS)
def test_a_plan_knows_that(fact):
    got, expected = FACTS[fact]
    assert got() == expected


@pytest.mark.parametrize("dataset", ["collage", "scene15", "reuters21578"])
def test_a_quick_run_has_few_samples_and_one_run_at_one_size_of_the_study_of_the_final_fit(dataset):
    plan = plan_of(dataset, quick=True, seed=7)
    (name,) = plan.chosen
    ((study, block),) = plan.datasets[name].studies.items()
    place, full = Place(name, study), plan.datasets[dataset]
    assert (name, plan.named(place), study) == (f"{dataset}-quick", dataset, full.final.study)
    assert (plan.runs(place), block.sizes, block.figures, block.claims) == ([1], [10], [], [])
    assert plan.images(place) == f"results/{name}/images.parquet"
    assert (plan.drawn(place), plan.drawn(Place(dataset, study))) == ([500, 7], [None, None])
    note = plan.datasets[name].note
    assert note.startswith("A quick run: one run at one size on at most 500 samples.") and note.endswith(full.note)


OF_BOTH = {"digits": OWN, "digits-quick": OWN}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"dataset": "synthetic"}, "quick is for datasets with a final fit, got 'synthetic'"),
        ({"dataset": "digits", "datasets": OF_BOTH}, "digits-quick must not be the name of a dataset, because a quick"),
    ],
)
def test_a_quick_run_is_refused_without_a_final_fit_and_in_the_folder_of_another_dataset(values, said):
    with pytest.raises(SettingError, match=said):
        Plan(read(CONFIG | {"quick": True} | values), Found(fresh=True, environment={}))


def test_a_quick_run_makes_one_study_without_figures_and_claims_and_keeps_the_list_of_pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = plan_of(quick=True)
    everything = plan.everything()
    assert {file.split("/")[2] for file in everything if file.startswith("results/collage-quick/")} == {
        *("annotation", "final", "index.html", "left_out.csv", *TABLES_OF_FITS)
    }
    assert not any("figures" in file or "claims.md" in file for file in everything)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "index.html").touch()
    assert plan.everything() == everything[:-1] and everything[-1] == "results/index.html"
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


def test_a_saved_model_takes_the_settings_with_which_pictures_are_described():
    features = plan_of().features_of_pictures(W)
    describe = EXTRACTORS[features["extractor"]](**features["options"], longest_side=features["longest_side"])
    assert describe.longest_side == CONFIG["features"]["longest_side"]
    assert {key: getattr(describe, key) for key in features["options"]} == CONFIG["features"]["options"]
    assert features["vocabularies"] == {"tree": {"weighting": "sqrt", "normalise": True}}


def test_every_study_has_a_table_of_warnings_unless_it_only_measures_seconds():
    plan = plan_of()
    for place in plan.places(plan.datasets):
        tables = tables_of(plan.study(place))
        assert ("warnings" in tables) == (plan.kind(place) not in ("cost", "projection"))
        assert all(("timings" in plan.table_file(place, name)) == (tables[name] == "timings") for name in tables)


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


# Raw files


def test_a_digest_follows_the_contents_of_raw_files_and_not_their_dates(album):
    def digest():
        return plan_of("flickr8k", entry={"options": {"root": str(album)}}).raw(Place("flickr8k", ""))["digest"]

    before, captions = digest(), album / "captions.csv"
    os.utime(captions, (0, 0))
    assert digest() == before
    captions.write_text(captions.read_text().replace("dog", "cow"))
    assert digest() != before


def test_each_dataset_has_its_own_raw_files_and_shards(album, monkeypatch):
    entry = {"options": {"root": str(album)}}
    plan = plan_of("flickr8k", entry=entry | {"shards": 3})
    flickr, collage = (
        plan.raw_of_datasets(SimpleNamespace(datasets="flickr8k+collage"))[name] for name in ("flickr8k", "collage")
    )
    assert flickr["digest"] != collage["digest"] and collage["paths"] == []
    assert (plan.n_shards(Place("flickr8k", "")), plan.n_shards(W)) == (3, 4)
    (album / "images" / "all").symlink_to(".")  # a link back to the folder
    monkeypatch.setattr(raw, "MOST_OF_SHARD", 5)
    assert plan_of("flickr8k", entry=entry).n_shards(Place("flickr8k", "")) == 4  # the next power of two above 12 / 5


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
