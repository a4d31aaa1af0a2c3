"""The whole workflow in miniature: what a run produces and prints, on one core and on several."""

import json
import re
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from miniature import BASE, CONFIG, DATASETS, Project

from jointsparse.features import similarities
from jointsparse.pipeline import load
from jointsparse.pipeline.datasets.collage import picture
from jointsparse.pipeline.models import final
from jointsparse.pipeline.provenance import manifest
from jointsparse.pipeline.provenance.tables import (
    read_array,
    read_features,
    read_matrix,
    read_record,
    read_table,
    write_table,
)

METHODS = 4  # methods of the annotation study
SIZES = 2  # sizes of every study in the overlay
STUDIES = [(dataset, study) for dataset in DATASETS for study in CONFIG["datasets"][dataset]["studies"]]
FIGURES = [f"{d}/{study}/figures/{name}" for d, study in STUDIES for name in CONFIG["studies"][study]["figures"]]
MADE_WITH = {f"claims/{'+'.join(DATASETS)}/made_with.csv"}


def test_every_figure_and_table_is_made_and_every_job_has_its_log_and_seconds(project):
    results = project.root / "results"
    for path in (results / figure for figure in FIGURES):
        assert path.with_suffix(".png").stat().st_size > 5_000
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    n_rows = {"chosen": METHODS * SIZES, "by_word": METHODS * SIZES * 6, "words": 6}
    n_rows |= {"significance": (METHODS - 1) * SIZES * 2}
    tables = {name: pd.read_csv(results / "collage" / "annotation" / "tables" / f"{name}.csv") for name in n_rows}
    assert {name: len(table) for name, table in tables.items()} == n_rows
    assert tables["chosen"]["auc"].between(0.2, 1).all()
    assert not list(project.root.rglob("*.part*"))
    assert len(list(results.rglob("timings/**/*.tsv"))) == len(list(results.rglob("logs/**/*.log"))) > 50


def test_every_claim_is_on_the_page_with_its_study_and_tables(project):
    folder = project.manifest().parent
    judged = pd.concat([pd.read_csv(folder / "claims.csv"), pd.read_csv(folder / "timings" / "claims.csv")])
    claims = {(study, claim) for _, study in STUDIES for claim in CONFIG["studies"][study]["claims"]}
    assert set(zip(judged["study"], judged["id"], strict=True)) == claims
    pages = {timed: (folder / name).read_text() for timed, name in ((False, "claims.md"), (True, "timings/claims.md"))}
    overview = (folder / "index.html").read_text()
    for row in judged.itertuples():
        assert (project.root / row.config).is_file()
        assert f"\n### {row.id}\n" in pages[row.timed] and f"\n### {row.id}\n" not in pages[not row.timed]
        assert f'id="claim-{row.id}"' in overview
        assert row.verdict == "not tested" or (project.root / row.source).is_file()


def test_the_manifest_names_every_table_and_the_settings_of_the_run_and_mixed_versions(project):
    made = json.loads(project.manifest().read_text())
    assert (made["settings"]["dataset"], made["settings"]["seed"]) == (list(DATASETS), CONFIG["seed"])
    recorded = set(made["tables"])
    assert recorded == {f"results/{name}" for name in project.tables().keys() - MADE_WITH}
    checked, differences, notes = manifest.verify(project.manifest())
    assert (checked > len(project.tables()), differences) == (True, [])
    assert not any(note.startswith("numpy: ") for note in notes)
    record = project.root / "results" / "collage" / "scenes" / "tables" / "records" / "chosen.csv.json"
    with project.edited(str(record), f'"{version("numpy")}"', '"0.9"'):
        project.manifest().unlink()
        last = project.run().splitlines()[-4:]
        mixture = [note for note in manifest.verify(project.manifest())[2] if note.startswith("numpy: ")]
        made_with = pd.read_csv(project.manifest().with_name("made_with.csv"), dtype=str)
    assert "(a mixture)" in mixture[0]
    assert sorted(made_with.loc[made_with["name"] == "numpy", "value"]) == ["0.9", version("numpy")]
    said = [
        r"\d+ of \d+ jobs in \d+ s",
        r"All \d+ results match their records\.",
        "collage: .+",
        "The page .*: results/index.html",
    ]
    assert [line for pattern, line in zip(said, last, strict=True) if not re.fullmatch(pattern, line)] == []


def test_the_page_shows_how_often_each_feature_of_the_saved_model_is_selected(project):
    results = project.root / "results" / "collage"
    table = read_table(results / "stability.csv")
    assert (table["of"] == 4).all() and table["halves"].between(0, 4).all() and table["used"].any()
    page = (results / "index.html").read_text()
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    notes = {feature["name"]: feature["note"] for feature in json.loads(data)["weights"]["features"]}
    shown = table[table["name"].isin(notes)]
    assert notes == {row.name: f"chosen in {row.halves} of 4 halves" for row in shown.itertuples(index=False)}
    assert notes and "features of the kept model were chosen in at least 4 of 4 random halves" in page


def test_the_list_of_datasets_links_every_figure_and_table_of_each_study_and_the_pages_of_models(project):
    index = (project.root / "results" / "index.html").read_text()
    for file in re.findall('(?:href|src)="([^"]+)"', index):
        assert (project.root / "results" / file).is_file(), file
    tables = project.tables().keys()
    listed = {f"{d}/{study}/" for d, study in STUDIES}
    for file in [*(f"{name}.png" for name in FIGURES), *(t for t in tables if t.startswith(tuple(listed)))]:
        assert f'href="{file}"' in index, file
    assert index.count('/index.html">') == 1 + sum(bool(CONFIG["studies"][study]["claims"]) for _, study in STUDIES)


def test_every_warning_of_a_study_is_in_its_table_of_warnings(project):
    warned = {"collage/annotation": "chosen", "collage/scenes": "chosen", "synthetic/recovery": "recovery"}
    for study, name in warned.items():
        folder = project.root / "results" / study / "tables"
        warnings = pd.read_csv(folder / "warnings.csv")
        assert (warnings["rows"] <= warnings["of"]).all()
        carried = pd.read_csv(folder / f"{name}.csv")["warning"].dropna()
        told = " ".join(warnings.loc[warnings["table"] == name, "warning"])
        assert all(one.split()[0] in told for text in carried for one in text.split("; "))
    assert len(carried)


def test_words_with_fewer_images_than_asked_for_are_in_the_table_of_warnings(
    project, run_script, tmp_path, monkeypatch
):
    monkeypatch.chdir(project.root)
    study, drawn, warnings = "results/collage/annotation", tmp_path / "tasks_run1.csv", tmp_path / "warnings.csv"
    write_table(read_table(f"{study}/tables/tasks_run1.csv").assign(capped=True), drawn)
    params = json.loads(Path(f"{study}/tables/records/chosen.csv.json").read_text(encoding="utf-8"))["values"]
    given = {"images": "results/collage/images.parquet", "left_out": ["results/collage/left_out.csv"], "drawn": [drawn]}
    given |= {"features": f"{study}/basis/features.npy", "labels": f"{study}/labels.npy"}
    given |= {name: f"{study}/tables/{name}.csv" for name in ("words", "odd_features")}
    sweeps = [next(Path(study).glob(f"*/run1/{method}.npz")) for method in params["methods"]]
    given |= {"tasks": [f"{study}/tasks/run1.npz"], "sweeps": sweeps}
    output = {name: tmp_path / f"{name}.csv" for name in ("chosen", "words_learnt", "means", "by_word", "warnings")}
    run_script("evaluate", input=given, output=output | {"scores": tmp_path / "scores.npz"}, params=params)
    assert "tasks_run1" in set(read_table(warnings)["table"])


def test_images_set_aside_are_unlabelled_and_in_no_task_and_settings_are_saved_with_a_study(project):
    study = project.root / "results" / "collage" / "stories"
    before, after = (pd.read_parquet(folder / "images.parquet")["split"].to_numpy() for folder in (study.parent, study))
    changed = before != after
    assert Counter(zip(before[changed], after[changed], strict=True)) == {("train", "unlabelled"): 40}
    with np.load(study / "tasks" / "run1.npz") as tasks:
        assert not tasks["Y"][:, after != "train"].any()
    assert np.load(study / "basis" / "features.npy").shape[1] <= (after == "unlabelled").sum()
    got = yaml.safe_load((study / "config.yaml").read_text())
    stories, collage = got["studies"]["stories"], got["datasets"]["collage"]
    assert (got["seed"], stories["set_aside"], collage["options"]["n_images"]) == (CONFIG["seed"], {"train": 40}, 160)


def test_files_changed_by_hand_are_named_at_the_end_of_a_run(project):
    with project.edited("results/collage/index.html", '<main id="main">', '<main id="main">Ahead.'):
        said = project.run().splitlines()
    command = "rm -r results/collage/index.html"
    assert f"Some results were changed after they were made. Remove them and run again: {command}" in said


def test_one_core_another_folder_and_other_hashes_give_the_same_tables(project, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # otherwise each process has another seed
    other = Project(tmp_path / "elsewhere")
    chosen = "collage/scenes/tables/chosen.csv"  # computed from pictures, all the way to AUC
    other.run(targets=[f"results/{chosen}"], cores=1)
    assert other.tables()[chosen] == project.tables()[chosen]


def test_lint_finds_nothing(project):
    done = project.snakemake("--lint")
    assert done.returncode == 0, done.stderr


def test_report_shows_what_was_left_out_and_the_results(project):
    project.run("--report", "report.html", targets=())
    report = (project.root / "report.html").read_text()
    files = ("left_out.csv", "chosen.csv", "significance.png", "warnings.csv", "repeated.csv", "made_with.csv")
    captions = ("Images, captions and samples that are not used", "All warnings of a study")
    assert [shown for shown in (*files, *captions) if shown not in report] == []
    labels = re.findall(r'"labels": (\{.+?\})', report)
    assert labels and all(json.loads(label).keys() == {"result"} for label in labels)


@pytest.mark.parametrize(
    ("variables", "folder", "said"),
    [
        ({"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "plain", ""),
        ({"PYTHONOPTIMIZE": "2"}, "plain", "PYTHONOPTIMIZE must be less than 2, because captions"),
        ({}, "a:b", "the workflow must be in a folder without ':' in its path, got "),
    ],
)
def test_the_workflow_does_not_start_where_it_cannot_run_correctly(tmp_path, variables, folder, said):
    new = Project(tmp_path / folder)
    new.variables = variables
    done = new.snakemake("--dry-run")
    assert (done.returncode != 0) == bool(said) and said in done.stdout + done.stderr, done.stderr


def test_the_library_does_not_mention_the_workflow():
    package = BASE / "src" / "jointsparse"
    others = [file for part in ("app", "settings") for file in (package / "pipeline" / part).rglob("*.py")]
    for file in set(package.rglob("*.py")) - set(others):
        code = file.read_text().lower().split('"""', 2)[-1]
        assert not re.search(r"snakemake|config\.yaml|results/|wildcard", code), file


def test_the_kept_model_gives_the_scores_of_the_run(project):
    results = project.root / "results" / "collage"
    model, images = load(results / "model.jointsparse"), read_table(results / "images.parquet")
    options = {"n_images": 160, "seed": 0, "longest_side": 120}
    few = np.flatnonzero(images["split"] == "test")[:6]
    pictures = [picture(images["image"][i], **options) for i in few]
    histograms = read_features(sorted((results / "histograms").glob("*.npz")), "tree")
    expected = model[2:].decision_function(histograms[few])
    np.testing.assert_allclose(model.decision_function(pictures), expected, atol=1e-5)
    fit = read_record(final.Fit, results / "final" / "l1inf.npz")
    if model["basis"].power == 1:
        features = read_matrix(results / "annotation" / "basis" / "features.npy")
        np.testing.assert_allclose(fit.model().decision_function(features[few]), expected, atol=1e-5)
    labels, table = read_array(results / "annotation" / "labels.npy"), read_table(results / "final" / "l1inf.csv")
    assert table["images"][:-1].tolist() == labels[images["split"].isin(["train", "validation"])].sum(axis=0).tolist()
    assert model.card_.words == table["word"][:-1].tolist()


def test_the_command_in_the_message_remakes_a_damaged_file(project):
    path = project.root / "results" / "documents" / "captions.parquet"
    table = path.parent / "exponentiated" / "tables" / "exponentiated.csv"
    target, name = (str(file.relative_to(project.root)) for file in (table, path))
    made, expected = path.read_bytes(), table.read_bytes()
    path.write_bytes(made[:-1])
    *_, line = project.snakemake(target).stderr.splitlines()
    why = "it was changed after it was made"
    assert line.startswith(f"error: repeat_exponentiated documents exponentiated: {name} is damaged ({why})")
    assert line.endswith(f"(rm {name}; then the same command as before)")
    path.unlink()
    assert re.fullmatch(r"2 of 2 jobs in \d+ s", project.run(targets=(target,)).splitlines()[-1])
    assert (path.read_bytes(), table.read_bytes()) == (made, expected)


def test_features_are_inspected_and_words_chosen_from_the_right_files_and_settings(project):
    tables = project.root / "results" / "collage" / "annotation" / "tables" / "records"
    odd, words = (json.loads((tables / f"{name}.csv.json").read_text()) for name in ("odd_features", "words"))
    histograms = [f"results/collage/histograms/{shard}-of-2.npz" for shard in range(2)]
    expected = ["results/collage/annotation/basis/features.npy", *histograms, "results/collage/images.parquet"]
    assert (sorted(odd["files"]), words["values"]["smallest_size"]) == (expected, 3)


def test_similarities_are_computed_from_images_of_the_right_splits(project):
    results = project.root / "results" / "collage"
    split = read_table(results / "scenes" / "images.parquet", "split")["split"].to_numpy()
    scenes = yaml.safe_load((results / "scenes" / "config.yaml").read_text())["studies"]["scenes"]
    options, rng = scenes["similarities"], np.random.default_rng(CONFIG["seed"])
    X = read_features(sorted((results / "histograms").glob("*.npz")), scenes["vocabulary"])
    unlabelled, training = (X[split == name] for name in ("unlabelled", "train"))
    fitted = similarities.fit(unlabelled, training, **options, rng=rng)
    got = read_matrix(results / "scenes" / "similarities" / "features.npz")
    np.testing.assert_allclose(got, similarities.project(X, fitted), atol=1e-6)


def test_selections_are_counted_on_the_images_that_the_saved_model_has_learnt_from(
    project, run_script, tmp_path, monkeypatch
):
    folder, study = project.root / "results" / "collage", project.root / "results" / "collage" / "annotation"
    given = {"model": folder / "model.jointsparse", "images": folder / "images.parquet", "labels": study / "labels.npy"}
    given |= {"features": str(study / "basis" / "features.npy"), "basis": study / "basis" / "basis.npz"}
    known = read_table(given["images"], "split")["split"].isin(["train", "validation"])

    def check(model, X, labels, *, singular_values, n_pairs, seed, groups):
        np.testing.assert_array_equal(X, read_matrix(given["features"])[known])
        np.testing.assert_array_equal(labels, read_array(given["labels"])[known])
        assert (len(singular_values), n_pairs, seed, groups) == (X.shape[1], 2, 7, None)
        return pd.DataFrame({"feature": [0]})

    monkeypatch.setattr("jointsparse.pipeline.models.stability.stability", check)
    params = {"vocabulary": None, "n_pairs": 2, "seed": 7}
    run_script("count_selections", input=given, output={"table": tmp_path / "stability.csv"}, params=params)
