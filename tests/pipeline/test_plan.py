"""The plan of a run: its datasets and studies, the files of its jobs, and what is found out about raw files.

Which rules a setting changes is in test_walk.py. A table here has the answer of a plan for each fact.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest
from plan import Place, Plan
from raw import Found, raw_files
from runs import CONFIG, plan_of

from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.settings import SettingError, read
from jointsparse.pipeline.settings.datasets import Learnable

W, TEXT, RACE, DIGITS, MINE = map(
    Place,
    ("collage", "documents", "synthetic", "digits", "mine"),
    ("annotation", "text", "race", "digits", "annotation"),
)
COLLAGE, DOCUMENTS = {"loader": "collage", "shards": 2}, {"loader": "documents"}
OF_TEXT = {"dataset": "documents", "entry": {"final": {"study": "text", "norm": "l1"}}}
CORRECTED = {"dataset": "documents", "entry": OF_TEXT["entry"] | {"corrections": "mine.csv"}}
OWN = {"dataset": "mine", "entry": DOCUMENTS | {"options": {"n_documents": 60}}}
STABLE = {"dataset": "mine", "entry": OWN["entry"] | {"final": {"stability": 25}}}
LIKE = {"dataset": "mine", "entry": COLLAGE | {"final": {"like": "annotation"}}}
SVM = {"svm-l2": {"C": [1]}, "hinge-l1": None, "hinge-l2": None, "hinge-l1inf": None}
TWO, ONE = SVM | {"hinge-l1": {"radius": [1]}}, SVM | {"svm-l2": None, "hinge-l1": {"radius": [1]}}
SHOWN = {"claims": ["auc-significant", "joint-sparsity"], "figures": ["auc"]}
SIMILAR = {"dataset": "mine", "entry": COLLAGE, "basis": None, "similarities": {"measure": "cosine", "n_prototypes": 9}}
SHARDS = [f"results/collage/histograms/{shard}-of-2.npz" for shard in range(2)]
TABLE, BASIS = "results/documents/features.npz", f"{W.folder}/basis/basis.npz"
TABLES_OF_FITS = ["norms.csv", "thresholds.csv", "tags_to_check.csv", "model.jointsparse"]
OF_SETTINGS = [
    f"own-labels/{name}"
    for name in ("config.yaml", *(f"tables/{n}.csv" for n in ("words", "odd_features", "repeated")))
]
OF_OWN = ["left_out.csv", *(f"final/{norm}.csv" for norm in ("l1", "l12", "l1inf", "l2")), *TABLES_OF_FITS]
OF_PAGE = {
    "model",
    "labels",
    "images",
    "features",
    "norms",
    "thresholds",
    "warned",
    "all_images",
    "all_captions",
    "all_left_out",
    "tags",
}


def judged(plan):
    """Return the tables on which the claims of a run on the collage are judged, and the number of those of figures."""
    tables = plan.judged_tables(SimpleNamespace(datasets="collage"))
    return [file.split("/")[-1] for file in tables if file.startswith(f"{W.folder}/")], len(plan.tables_of_figures(W))


def results(plan):
    """Return the results of a run in the folders of its datasets."""
    return [file.split("/", 2)[2] for file in plan.results(plan.chosen)]


FACTS = {  # settings, a question to the plan, and its answer
    "a dataset grows only the vocabularies that its studies use": (
        {"dataset": "scene15"},
        lambda plan: plan.vocabularies(Place("scene15", ""), "depth"),
        {"tree": {"depth": 4}},
    ),
    "a final fit with settings of its own names its vocabulary": (
        LIKE,
        lambda plan: {*plan.vocabularies(MINE)},
        {"tree"},
    ),
    "only pictures have vocabularies": (
        OF_TEXT,
        lambda plan: [plan.vocabulary(W), plan.vocabulary(TEXT), *map(plan.final_vocabulary, (W, TEXT, RACE))],
        ["tree", None, "tree", None, None],
    ),
    "figures of a single size show the first of at least 30": ({"sizes": [5, 50]}, lambda plan: plan.at_size(W), 50),
    "figures of a single size show the size that is set": (
        {"dataset": "mine", "entry": COLLAGE, "sizes": [5, 50], "at_size": 5},
        lambda plan: plan.at_size(MINE),
        5,
    ),
    "figures of automatic sizes show 40": ({"sizes": "auto"}, lambda plan: plan.at_size(W), 40),
    "figures of automatic sizes show the size that is set": (
        {"dataset": "mine", "entry": COLLAGE, "sizes": "auto", "at_size": 7},
        lambda plan: plan.at_size(MINE),
        7,
    ),
    # Inputs of jobs
    **{
        f"features of the power {power} need {'singular values' if needed else 'none'}": (
            {"basis": {"power": power}},
            lambda plan: plan.basis(W),
            needed,
        )
        for power, needed in ((0, BASIS), (0.5, BASIS), (1, []))
    },
    "features of power 1 in a list need no singular values": (
        {"basis": {"power": [1]}},
        lambda plan: plan.basis(W),
        [],
    ),
    "features of several powers need them": ({"basis": {"power": [0, 1]}}, lambda plan: plan.basis(W), BASIS),
    "features without a basis need none": ({"basis": None}, lambda plan: plan.basis(W), []),
    "a study that sets nothing aside uses the splits of its dataset": (
        {"set_aside": {"train": 0}},
        lambda plan: plan.images(W),
        "results/collage/images.parquet",
    ),
    "a study that sets images aside has its own splits": (
        {"set_aside": {"train": 9}},
        lambda plan: plan.images(W),
        f"{W.folder}/images.parquet",
    ),
    "a study learns from its basis": ({}, lambda plan: plan.features(W), f"{W.folder}/basis/features.npy"),
    "a study without a basis learns from histograms": (
        {"entry": COLLAGE, "basis": None},
        lambda plan: plan.features(W),
        SHARDS,
    ),
    "a study learns from its similarities": (
        SIMILAR,
        lambda plan: plan.features(MINE),
        f"{MINE.folder}/similarities/features.npz",
    ),
    "a study of documents learns from the given features": ({}, lambda plan: plan.features(TEXT), TABLE),
    "each run has a path if radii are auto and a sweep otherwise": (
        {"runs": 2, "methods": {"hinge-l1": {"radius": [1]}, "hinge-l2": {"radius": "auto"}, "hinge-l1inf": None}},
        lambda plan: plan.sweeps(W),
        [
            f"{W.folder}/{file}.npz"
            for run in ("run1", "run2")
            for file in (f"sweeps/{run}/hinge-l1", f"paths/{run}/hinge-l2", f"sweeps/{run}/svm-l2")
        ],
    ),
    "an experiment reads the samples that it does not draw": (
        {},
        lambda plan: [({*plan.samples(w)}, plan.left_out(w)) for w in (RACE, DIGITS)],
        [(set(), []), ({"images", "features", "captions"}, ["results/digits/left_out.csv"])],
    ),
    "a final fit reads the basis of its study": (
        {},
        lambda plan: {*plan.inputs_of_final(W)},
        {"images", "features", "labels", "words", "basis"},
    ),
    "a final fit without a basis reads none": (
        {"basis": None},
        lambda plan: {*plan.inputs_of_final(W)},
        {"images", "features", "labels", "words"},
    ),
    "a model of pictures is made of vocabularies, basis and all final fits": (
        {"entry": COLLAGE | {"final": {"norm": ["l2", "l1"]}}},
        lambda plan: plan.inputs_of_model(W),
        {
            "images": "results/collage/images.parquet",
            "features": SHARDS,
            "labels": f"{W.folder}/labels.npy",
            "basis": BASIS,
            "transformed": f"{W.folder}/basis/features.npy",
            "models": [f"results/collage/final/{norm}.npz" for norm in ("l2", "l1")],
            "tables": [f"results/collage/final/{norm}.csv" for norm in ("l2", "l1")],
            "vocabularies": "results/collage/vocabularies.npz",
        },
    ),
    "a model of corrected samples is made of their features and of the decisions": (
        CORRECTED,
        lambda plan: plan.inputs_of_model(TEXT),
        {
            "images": "results/documents/images.parquet",
            "features": TABLE,
            "transformed": TABLE,
            "labels": f"{TEXT.folder}/labels.npy",
            "models": ["results/documents/final/l1.npz"],
            "tables": ["results/documents/final/l1.csv"],
            "decisions": "results/documents/corrected/decisions.parquet",
        },
    ),
    "jobs read uncorrected labels if there are no corrections": (
        {},
        lambda plan: plan.corrected(TEXT, "a.csv"),
        "results/documents/a.csv",
    ),
    "jobs read corrected labels if there are corrections": (
        CORRECTED,
        lambda plan: [
            *plan.left_out(TEXT),
            plan.samples(TEXT)["captions"],
            *(plan.inputs_of_page(TEXT)[f"all_{name}"] for name in ("captions", "left_out")),
        ],
        [f"results/documents/corrected/{name}" for name in ("left_out.csv", *["captions.parquet"] * 2, "left_out.csv")],
    ),
    # Pages
    "claims and figures of several methods use tables that compare them": (
        {"methods": TWO, **SHOWN},
        judged,
        (["chosen.csv", "differences.csv", "significance.csv"], 2),
    ),
    "claims and figures of one method do not": ({"methods": ONE, **SHOWN}, judged, (["chosen.csv"], 1)),
    "a study without claims is not judged": (
        {"dataset": "documents", "study": "text", "claims": []},
        lambda plan: [study["study"] for study in plan.judged(SimpleNamespace(datasets="documents"))],
        ["exponentiated"],
    ),
    "a run without claims has no page of claims": (
        {"dataset": "digits", "study": "digits", "claims": []},
        lambda plan: (plan.claims(), plan.overview()),
        ([], ""),
    ),
    "a run with claims has a page of them": (
        {"dataset": "digits"},
        lambda plan: plan.overview(),
        "claims/digits/index.html",
    ),
    "a page shows the model of its dataset, and how often features are selected": (
        {"entry": {"final": {"stability": 3}}},
        lambda plan: {*plan.inputs_of_page(W)},
        OF_PAGE | {"stability"},
    ),
    "a page of samples shows them": (OF_TEXT, lambda plan: {*plan.inputs_of_page(TEXT)}, OF_PAGE | {"samples"}),
    "a page shows the warnings about the data of its final fit": (
        LIKE,
        lambda plan: plan.inputs_of_page(MINE)["warned"],
        [f"{MINE.folder}/tables/{name}.csv" for name in ("words", "odd_features")],
    ),
    # The whole run
    "a run compiles the norms of its methods": ({}, lambda plan: plan.norms, ["l1", "l1inf", "l2"]),
    "a run compiles the norms of its experiments": ({"dataset": "bigrams"}, lambda plan: plan.norms, ["l1"]),
    "nothing is compiled for final fits and support vector machines": (
        {"dataset": "mine", "entry": COLLAGE | {"final": {"study": "annotation", "norm": "l12"}}, "methods": SVM},
        lambda plan: plan.norms,
        [],
    ),
    "descriptors are not made unless they are saved": (
        {"entry": COLLAGE | {"features": {"keep": []}}},
        lambda plan: [name for name in results(plan) if name.startswith("descriptors")],
        [],
    ),
    "saved descriptors are made": (
        {"entry": COLLAGE | {"features": {"keep": ["descriptors"]}}},
        lambda plan: [name for name in results(plan) if name.startswith("descriptors")],
        [f"descriptors/{shard}-of-2.npy" for shard in range(2)],
    ),
    "own data have a fit with each norm but no study": (OWN, results, [*OF_OWN, *OF_SETTINGS]),
    "selections are counted if stability is set": (STABLE, results, [*OF_OWN, "stability.csv", *OF_SETTINGS]),
    "a quick run of own data has all norms": (OWN | {"quick": True}, results, [*OF_OWN, *OF_SETTINGS]),
    "with compare, own data have a study of all norms too": (
        OWN | {"compare": True},
        lambda plan: (
            len(results(plan)) - len({*results(plan)}),
            "own-labels/tables/chosen.csv" in results(plan),
            plan.norms,
        ),
        (0, True, ["l1", "l12", "l1inf", "l2"]),
    ),
    "all datasets but synthetic ones can be learnt": (
        {},
        lambda plan: {*plan.datasets} - {*plan.of(Learnable)},
        {"synthetic", "synthetic-full"},
    ),
    "a quick run has few samples and one run at one size of the study of the final fit, without figures and claims": (
        {"dataset": "flickr8k", "quick": True, "seed": 7},
        lambda plan: [
            (
                w,
                plan.runs(w),
                plan.study(w).sizes,
                plan.study(w).figures,
                plan.study(w).claims,
                plan.images(w),
                plan.drawn(w),
                plan.named(w),
            )
            for w in plan.places(plan.chosen)
        ],
        [
            (
                ("flickr8k-quick", "annotation"),
                [1],
                [10],
                [],
                [],
                "results/flickr8k-quick/images.parquet",
                [500, 7],
                "flickr8k",
            )
        ],
    ),
    "all samples are used if the run is not quick": ({}, lambda plan: plan.drawn(W), [None, None]),
    "the manifest has the verdicts and every table except seconds": (
        {},
        lambda plan: [
            file.removeprefix("results/")
            for file in plan.tables(SimpleNamespace(datasets="synthetic"))
            if Path(file).parts[-2] == "synthetic" or {"recovery", "cost"} & {*Path(file).parts}
        ],
        [
            *(f"synthetic/recovery/tables/{name}.csv" for name in ("recovery", "warnings")),
            "claims/synthetic/claims.csv",
        ],
    ),
    "the settings of a run are only those that it uses": (
        {"dataset": "documents", "seed": 7},
        lambda plan: [
            (key, block if key != "datasets" else [*block]) for key, block in plan.settings(["documents"]).items()
        ],
        [("dataset", ["documents"]), ("seed", 7), ("datasets", ["documents"])],
    ),
    "the settings of a study are only those that it uses": (
        {"dataset": "documents", "study": "text", "runs": 3, "seed": 7},
        lambda plan: [
            (
                *used,
                used["seed"],
                *used["studies"],
                used["studies"][study]["runs"],
                "studies" in used["datasets"]["documents"],
            )
            for study in ("text", "exponentiated")
            for used in [plan.settings_of_studies[f"results/documents/{study}"]]
        ],
        [
            ("seed", "datasets", "studies", 7, "text", 3, False),
            ("seed", "datasets", "studies", 7, "exponentiated", 1, False),
        ],
    ),
    "the settings of a study of pictures say how they are described": (
        {},
        lambda plan: "features" in plan.settings_of_studies[W.folder],
        True,
    ),
}


@pytest.mark.parametrize(("given", "question", "expected"), FACTS.values(), ids=FACTS)
def test_a_plan_knows_that(given, question, expected):
    assert question(plan_of(**given)) == expected


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"dataset": "synthetic"}, "quick is for datasets with a final fit, got 'synthetic'"),
        (
            {"dataset": "digits", "datasets": {"digits": DOCUMENTS, "digits-quick": DOCUMENTS}},
            "digits-quick must not be the name of a dataset, because a quick",
        ),
    ],
)
def test_a_quick_run_is_refused_without_a_final_fit_and_in_the_folder_of_another_dataset(values, said):
    with pytest.raises(SettingError, match=said):
        Plan(read(CONFIG | {"quick": True} | values), Found(fresh=True, environment={}))


def test_a_quick_run_keeps_the_list_of_pages_of_a_full_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = plan_of(quick=True).everything()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "index.html").touch()
    assert [*plan_of(quick=True).everything(), "results/index.html"] == first
    assert plan_of().everything()[-1] == "results/index.html"


@pytest.mark.parametrize(("seed", "expected"), [(0, ["results/collage/features.npz"]), (1, [])])
def test_a_run_with_the_same_settings_makes_its_deleted_results_again(tmp_path, monkeypatch, seed, expected):
    monkeypatch.chdir(tmp_path)
    files = [f"results/{name}" for name in ("collage/features.npz", "collage/words.npz", "other/features.npz")]
    for file, inputs in zip([*files, "results/collage/model.jointsparse"], ([], [], [], files[:2]), strict=True):
        records.write_json(file, {})
        records.write([file], records.read_inputs(inputs), job=file, code=[], values={}, raw={})
    records.write_json("results/claims/collage/manifest.json", {"settings": plan_of().settings(["collage"])})
    for file in (*files, "results/collage/records/words.npz.json"):  # a file without its record is not known
        (tmp_path / file).unlink()
    plan = plan_of(seed=seed)
    assert ({*expected} <= {*plan.everything()}) and plan.again == expected


# Raw files

FLICKR = Place("flickr8k", "")


def test_shards_are_those_that_are_set_or_enough_for_the_pictures(album, monkeypatch):
    monkeypatch.setattr("raw.MOST_OF_SHARD", 5)
    (album / "images" / "all").symlink_to(".")  # a link back to the folder
    entry = {"options": {"root": str(album)}}
    # Without a setting, 12 pictures in shards of at most 5 need 3 shards, and the next power of two is 4.
    assert [plan_of("flickr8k", entry=entry | shards).n_shards(FLICKR) for shards in ({"shards": 3}, {})] == [3, 4]


def test_a_job_takes_over_what_the_run_has_found_and_a_run_finds_everything_anew(tmp_path):
    (tmp_path / "raw.csv").write_text("1")
    given, environment = ("mine", [str(tmp_path / "raw.csv")], str(tmp_path / "cache.json")), {}
    first = Found(fresh=True, environment=environment).digest(*given)
    (tmp_path / "raw.csv").write_text("two")
    assert Found(fresh=False, environment=environment).digest(*given) == first
    assert Found(fresh=True, environment=environment).digest(*given) != first
    assert Found(fresh=False, environment=environment).digest(*given) == Found(fresh=False, environment={}).digest(
        *given
    )


@pytest.mark.parametrize("here", ["images", "link"])
def test_a_run_inside_the_folder_of_its_pictures_is_refused(album, monkeypatch, here):
    (album / "images" / "run").mkdir()
    (album / "link").symlink_to("images/run")
    plan = plan_of("flickr8k", entry={"options": {"root": str(album)}})
    plan.require_raw_files()
    monkeypatch.chdir(album / here)
    with pytest.raises(SettingError, match=r"^results must not be .* of the pictures, .*/images: run"):
        plan.require_raw_files()


IDX = dict(zip(("train_images", "train_labels", "test_images", "test_labels"), "abcd", strict=True))


@pytest.mark.parametrize(
    ("dataset", "options", "there", "expected"),
    [
        ("collage", None, [], []),
        ("synthetic", None, [], []),
        ("flickr8k", {}, ["images/"], ["images", "captions.csv", "splits.csv"]),  # captions may come later
        ("flickr8k", {"captions": "words.txt"}, ["images/"], ["images", "words.txt", "splits.csv"]),
        ("scene15", {}, ["images/"], ["images", "splits.csv"]),
        ("mnist", IDX, [*"abcde"], [*"abcd"]),
        ("flickr8k", {}, ["images"], "a folder 'images'"),  # images is a file
        ("reuters21578", {"train": "a", "test": "b"}, ["a", "b", "vocabulary.txt"], "'topics.txt'"),
    ],
)
def test_raw_files_are_those_that_a_dataset_is_read_from_and_a_missing_file_is_one_line(
    tmp_path, dataset, options, there, expected
):
    entry = {} if options is None else {"options": options | {"root": str(tmp_path)}}
    for name in there:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    try:
        got = raw_files(dataset, plan_of(dataset, entry=entry).datasets[dataset])
    except SettingError as error:
        assert str(error).startswith(
            f"root must be a folder with {expected}, got {str(tmp_path)!r}: put the data there"
        )
    else:
        assert got == [str(tmp_path / name) for name in expected]


def test_corrections_are_raw_files_of_their_own_and_a_missing_file_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"dataset": "documents", "entry": {"corrections": "mine.csv"}}
    said = "corrections must be a file with decisions about labels, got 'mine.csv', which is not there: put it there"
    with pytest.raises(SettingError, match=said):
        plan_of(**given).require_raw_files()
    digests = []
    for content in ("a", "b"):
        (tmp_path / "mine.csv").write_text(content)
        blocks = plan_of(**given).raw_of_datasets(SimpleNamespace(datasets="documents+collage"))
        digests.append({name: (block["paths"], block["digest"]) for name, block in blocks.items()})
    changed = [name for name in digests[0] if digests[0][name] != digests[1][name]]
    assert changed == ["documents (corrections)"] and [*digests[0]] == ["documents", "collage", *changed]
