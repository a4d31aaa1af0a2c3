"""The whole workflow in miniature: what a run makes and prints, and which jobs rerun after a change."""

import json
import re
from contextlib import ExitStack
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
import yaml
from albums import lay, make_album
from miniature import CONFIG, DATASETS, Project

from jointsparse.features import similarities
from jointsparse.pipeline import load
from jointsparse.pipeline.datasets.collage import picture
from jointsparse.pipeline.models import final, stability
from jointsparse.pipeline.provenance import manifest
from jointsparse.pipeline.provenance.tables import (
    read_array,
    read_arrays,
    read_features,
    read_matrix,
    read_record,
    read_table,
)
from jointsparse.pipeline.scores import warning_table

STUDIES = {f"{dataset}/{study}": study for dataset in DATASETS for study in CONFIG["datasets"][dataset]["studies"]}
FIGURES = [
    f"{place}/figures/{name}" for place, study in STUDIES.items() for name in CONFIG["studies"][study]["figures"]
]
KNOWN = ["train", "validation"]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return the workflow in a folder of its own, which was moved after a run in miniature."""
    made = Project(tmp_path_factory.mktemp("workflow") / "made")
    said = made.run()
    moved = Project(made.root.rename(made.root.with_name("moved")))
    moved.n_jobs = int(re.search(r"(\d+) of \1 jobs in", said)[1])
    return moved


@pytest.fixture(scope="module")
def collage(project):
    return project.root / "results" / "collage"


def test_figures_and_tables_are_made_and_no_partial_file_is_left(project, collage):
    for path in (project.root / "results" / figure for figure in FIGURES):
        assert path.with_suffix(".png").stat().st_size > 5_000
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    n_rows = {"chosen": 3 * 2, "by_word": 3 * 2 * 6, "words": 6, "significance": 2 * 2 * 2}  # methods, sizes, words
    assert {name: len(read_table(collage / "annotation" / "tables" / f"{name}.csv")) for name in n_rows} == n_rows
    assert not list(project.root.rglob("*.part*"))


def test_every_job_has_its_log_and_its_seconds(project):
    logs, seconds = (
        {
            str(file.with_suffix("")).replace(f"/{part}/", "/")
            for file in project.root.rglob(f"results/**/{part}/**/*.{kind}")
        }
        for part, kind in (("logs", "log"), ("timings", "tsv"))
    )
    assert logs == seconds and len(logs) == project.n_jobs - 1, "the target itself counts as a job"


def test_every_claim_is_judged_from_the_tables_of_its_study(project):
    judged = pd.concat(pd.read_csv(project.manifest().parent / name) for name in ("claims.csv", "timings/claims.csv"))
    claims = {(study, claim) for study in STUDIES.values() for claim in CONFIG["studies"][study]["claims"]}
    assert {*zip(judged["study"], judged["id"], strict=True)} == claims
    files = [*judged["config"], *judged.loc[judged["verdict"] != "not tested", "source"]]
    assert [file for file in files if not (project.root / file).is_file()] == []


def test_the_list_of_datasets_links_every_figure_and_table_and_the_pages_of_models_and_claims(project):
    results = project.root / "results"
    linked = {*re.findall('(?:href|src)="([^"]+)"', (results / "index.html").read_text())}
    assert [file for file in linked if not (results / file).is_file()] == []
    expected = [f"{figure}.png" for figure in FIGURES] + [
        table for table in project.tables() if table.startswith((*STUDIES,))
    ]
    assert linked >= {*expected, "collage/index.html", f"claims/{'+'.join(DATASETS)}/index.html"}


def test_every_warning_of_a_study_is_in_its_table_of_warnings(project, collage):
    for place in {*STUDIES} - {"synthetic/cost"}:
        tables = {file.stem: read_table(file) for file in (project.root / "results" / place / "tables").glob("*.csv")}
        warned = tables.pop("warnings").to_numpy().tolist()
        tables.pop("sparsity", None)  # of all radii, not only of the chosen one
        assert sorted(warned) == sorted(warning_table.gather(tables).to_numpy().tolist()), place
    assert {*read_table(collage / "annotation" / "tables" / "warnings.csv")["table"]} == {"chosen", "tasks_run1"}


def test_the_manifest_names_every_table_the_settings_of_the_run_and_mixed_versions(project, collage):
    made = json.loads(project.manifest().read_text())
    assert (made["settings"]["dataset"], made["settings"]["seed"]) == ([*DATASETS], CONFIG["seed"])
    own = {str(project.manifest().with_name("made_with.csv").relative_to(project.root))}
    assert {*made["tables"]} == {f"results/{name}" for name in project.tables()} - own
    checked, differences, _ = manifest.verify(project.manifest())
    assert (checked > len(project.tables()), differences) == (True, [])
    record = collage / "scenes" / "tables" / "records" / "chosen.csv.json"
    with project.edited(str(record), f'"{version("numpy")}"', '"0.9"'):
        project.manifest().unlink()
        last = project.run().splitlines()[-4:]
        (mixture,) = [note for note in manifest.verify(project.manifest())[2] if note.startswith("numpy: ")]
    assert "(a mixture)" in mixture
    said = (
        r"\d+ of \d+ jobs in \d+ s\nAll \d+ results match their records\.\ncollage: .+\nThe page .*: results/index.html"
    )
    assert re.fullmatch(said, "\n".join(last))


def test_files_changed_by_hand_are_named_at_the_end_of_a_run(project):
    with project.edited("results/collage/index.html", '<main id="main">', '<main id="main">Ahead.'):
        said = project.run().splitlines()
    command = "rm -r results/collage/index.html"
    assert f"Some results were changed after they were made. Remove them and run again: {command}" in said


def test_one_core_another_folder_one_shard_and_other_hashes_give_the_same_table_of_chosen_fits(
    project, tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # otherwise each process has another seed
    other = Project(tmp_path / "elsewhere")
    (other.root / "shard.yaml").write_text("datasets: {collage: {shards: 1}}")
    chosen = "collage/scenes/tables/chosen.csv"  # computed from pictures, all the way to AUC
    other.run(targets=[f"results/{chosen}"], cores=1, overlays=["shard.yaml"])
    assert other.tables()[chosen] == project.tables()[chosen]


def test_the_report_shows_what_was_left_out_and_the_results(project):
    project.run("--report", "report.html", targets=())
    report = (project.root / "report.html").read_text()
    files = ("left_out.csv", "chosen.csv", "significance.png", "warnings.csv", "repeated.csv", "made_with.csv")
    assert [file for file in (*files, "Images, captions and samples that are not used") if file not in report] == []
    assert {key for label in re.findall(r'"labels": (\{.+?\})', report) for key in json.loads(label)} == {"result"}


# The results of single rules


def test_similarities_are_computed_from_images_of_the_right_splits(collage):
    split = read_table(collage / "scenes" / "images.parquet", "split")["split"].to_numpy()
    scenes = yaml.safe_load((collage / "scenes" / "config.yaml").read_text())["studies"]["scenes"]
    X = read_features(sorted((collage / "histograms").glob("*.npz")), scenes["vocabulary"])
    rng = np.random.default_rng(CONFIG["seed"])
    fitted = similarities.fit(X[split == "unlabelled"], X[split == "train"], **scenes["similarities"], rng=rng)
    got = read_matrix(collage / "scenes" / "similarities" / "features.npz")
    np.testing.assert_allclose(got, similarities.project(X, fitted), atol=1e-6)


def test_words_are_chosen_for_the_smallest_of_the_sizes_in_the_config(collage):
    record = collage / "annotation" / "tables" / "records" / "words.csv.json"
    assert json.loads(record.read_text())["values"]["smallest_size"] == 3


def test_the_kept_model_gives_the_scores_of_the_run(collage):
    model, images = load(collage / "model.jointsparse"), read_table(collage / "images.parquet")
    few = np.flatnonzero(images["split"] == "test")[:6]
    pictures = [picture(images["image"][i], n_images=110, seed=0, longest_side=120) for i in few]
    X = read_matrix(collage / "annotation" / "basis" / "features.npy")[few]
    fit = read_record(final.Fit, collage / "final" / "l1inf.npz").model()
    assert model["basis"].power == 1  # otherwise the features of the fit are other ones
    np.testing.assert_allclose(model.decision_function(pictures), fit.decision_function(X), atol=1e-5)


def test_selections_are_counted_on_the_images_that_the_saved_model_has_learnt_from(collage):
    known = read_table(collage / "images.parquet", "split")["split"].isin(KNOWN)
    X = read_matrix(collage / "annotation" / "basis" / "features.npy")[known]
    labels, model = read_array(collage / "annotation" / "labels.npy")[known], load(collage / "model.jointsparse")
    scale = read_arrays(collage / "annotation" / "basis" / "basis.npz", "singular_values")
    expected = stability.stability(model, X, labels, **scale, n_pairs=2, seed=CONFIG["seed"])
    pd.testing.assert_frame_equal(read_table(collage / "stability.csv"), expected, check_dtype=False)


# Reruns

IMPORT = ("import numpy as np", "import numpy as np, math")
# Quick jobs that follow other jobs. A test of an edit counts them only if it names them.
CHEAP = {"draw_figures", "judge_claims", "write_page", "write_index", "write_configs", "write_manifest"}
FOLLOWING = {  # the jobs that follow a job whose results change
    "train_sweep": {"evaluate", "compare_methods"},
    "train_path": {"evaluate", "compare_methods"},
    "fit_final": {"keep_model", "count_selections"},
}
EDITS = {  # file, old text, new text, and number of rerun jobs by rule
    "a comment": ("src/jointsparse/learning/problem.py", "as np\n", "as np  # arrays\n", {}),
    "pairings": ("overlay.yaml", "{n_pairings: 7", "{n_pairings: 8", {"compare_methods": 2}),
    "figures": ("src/jointsparse/pipeline/papers/quattoni/figures.py", *IMPORT, {"draw_figures": 1}),
    "claims": ("src/jointsparse/pipeline/papers/judging.py", *IMPORT, {"judge_claims": 1}),
    "l1inf": (
        "src/jointsparse/norms/l1inf.py",
        *IMPORT,
        {"compile_kernels": 1, "train_path": 2, "repeat_recovery": 1, "measure": 1, "fit_final": 1},
    ),
    "a radius": ("overlay.yaml", "[1, 10]}, svm", "[1, 9]}, svm", {"train_sweep": 1}),
}


# Edits after which no results of training change, and the others
@pytest.mark.parametrize("names", [[*EDITS][:4], [*EDITS][4:]], ids=" and ".join)
def test_edits_rerun_the_jobs_that_depend_on_them_and_no_other_slow_jobs(project, names):
    expected = {rule: n for name in names for rule, n in EDITS[name][-1].items()}
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(project.edited(*EDITS[name][:-1]))
        planned = project.planned()
    following = {rule for made in expected for rule in FOLLOWING.get(made, ())}
    assert following <= {*planned}
    assert {rule: n for rule, n in planned.items() if rule in expected or rule not in following | CHEAP} == expected


HOSTILE = ["$(touch run).jpg", "`touch run`.jpg", ";touch run;.jpg", "{dataset}.jpg", "two\nlines.jpg", "'\"&|>x.jpg"]


def test_a_new_dataset_reruns_nothing_of_the_old_and_names_of_pictures_never_reach_a_shell(project):
    folder = make_album(project.root / "mine", 30)
    for i, name in enumerate(HOSTILE):
        (folder / "images" / f"{i:03}.jpg").rename(folder / "images" / name)
    entry = {"loader": "photos", "shards": 1, "most_samples": 12, "options": {"root": "mine"}}
    (project.root / "mine.yaml").write_text(yaml.safe_dump({"datasets": {"mine": entry}}))
    assert project.planned(overlays=("mine.yaml",)) == {}
    project.run("--config", "dataset=mine", targets=("results/mine/left_out.csv",), overlays=("mine.yaml",))
    mine = project.root / "results" / "mine"
    assert {*HOSTILE} <= {*read_table(mine / "left_out.csv")["item"]}
    assert len(read_table(mine / "images.parquet")) == 12, "photographs are cut to most_samples, like tables"
    assert not list(project.root.rglob("run"))


OWN = {"overlays": ("own.yaml",), "targets": ("results/own/index.html",)}


@pytest.fixture(scope="module")
def own(project):
    """Return the results of a run on a table with labels: final fits with two norms, and their page."""
    X = np.random.default_rng(0).normal(size=(90, 8)).astype(np.float32)
    entry = {
        "loader": "arrays",
        "options": {"root": "own", "features": "x.npy", "labels": "y.csv"},
        "final": {"norm": ["l2", "l1"]},
    }
    config = yaml.safe_dump({"dataset": "own", "datasets": {"own": entry}})
    y = pd.DataFrame(X[:, [0, 0, 1]] > 0, columns=["fish", "bird", "frog"])
    lay(project.root, {"own/x.npy": X, "own/y.csv": y, "own.yaml": config})
    project.run(**OWN)
    return project.root / "results" / "own"


def test_own_data_have_a_model_and_a_page_of_only_the_final_fits(project, own):
    folders = ["final", "logs", "own-labels", "records", "thumbnails", "timings"]
    assert sorted(file.name for file in own.iterdir() if file.is_dir()) == folders
    norms = read_table(own / "norms.csv")
    assert norms[["norm", "kept"]].to_numpy().tolist() == [["l2", True], ["l1", False]] and norms["auc"].min() > 0.9
    page = (own / "index.html").read_text()
    assert "The model recognises 3 of 3 labels" in page and "There are no warnings." in page


def test_corrections_change_the_labels_of_the_next_run(project, own):
    names, file = read_table(own / "images.parquet", "image")["image"], own / "own-labels" / "labels.npy"
    frog = read_table(own / "own-labels" / "tables" / "words.csv")["word"].tolist().index("frog")
    expected = np.load(file)
    assert expected[:5, frog].any()
    expected[:5, frog] = 0
    (project.root / "given.csv").write_text("sample,tag,has\n" + "".join(f"{name},frog,no\n" for name in names[:5]))
    (project.root / "corrected.yaml").write_text(yaml.safe_dump({"datasets": {"own": {"corrections": "given.csv"}}}))
    project.run(targets=("results/own/own-labels/labels.npy",), overlays=("own.yaml", "corrected.yaml"))
    np.testing.assert_array_equal(np.load(file), expected)


def test_the_command_in_the_message_remakes_a_damaged_file(project):
    name, target = "results/collage/images.parquet", "results/collage/scenes/images.parquet"
    path, table = project.root / name, project.root / target
    made, expected = path.read_bytes(), table.read_bytes()
    path.write_bytes(made[:-1])
    *_, line = project.snakemake(target).stderr.splitlines()
    assert line == (
        f"error: set_aside collage scenes: {name} is damaged (it was changed after it was made): "
        f"delete it and run again (rm {name}; then the same command as before)"
    )
    path.unlink()
    assert re.fullmatch(r"2 of 2 jobs in \d+ s", project.run(targets=(target,)).splitlines()[-1])
    assert (path.read_bytes(), table.read_bytes()) == (made, expected)
