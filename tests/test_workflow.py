"""The whole workflow in miniature: its results, and the jobs that a change reruns."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import make_album
from miniature import BASE, CONFIG, DATASETS, Project

from jointsparse.provenance import manifest

METHODS = 4  # of the annotation study
SIZES = 2  # of every study in the overlay
PATHS_OF_L1INF = 6  # annotation, annotation-whitened, stories (two runs), scenes, text
STUDIES = [(dataset, study) for dataset in DATASETS for study in CONFIG["datasets"][dataset]["studies"]]
FIGURES = [f"{d}/{study}/figures/{name}" for d, study in STUDIES for name in CONFIG["studies"][study]["figures"]]
MADE_WITH = {f"claims/{'+'.join(DATASETS)}/made_with.csv"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose embedded run has been made once."""
    made = Project(tmp_path_factory.mktemp("workflow") / "project")
    made.run()
    return made


def test_every_figure_and_table_is_made(project):
    for figure in FIGURES:
        path = project.root / "results" / figure
        assert path.with_suffix(".png").stat().st_size > 5_000
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    study = project.root / "results" / "collage" / "annotation"
    n_rows = {"chosen": METHODS * SIZES, "by_word": METHODS * SIZES * 6, "words": 6}
    n_rows |= {"significance": (METHODS - 1) * SIZES * 2}
    tables = {name: pd.read_csv(study / "tables" / f"{name}.csv") for name in n_rows}
    assert {name: len(table) for name, table in tables.items()} == n_rows
    assert tables["chosen"]["auc"].between(0.2, 1).all()
    assert not list(project.root.rglob("*.part*"))


def test_every_stage_leaves_its_log_and_its_seconds(project):
    results = project.root / "results"
    n_jobs = sum(project.planned("--forceall").values())
    assert len(list(results.rglob("timings/**/*.tsv"))) == n_jobs
    assert len(list(results.rglob("logs/**/*.log"))) == n_jobs


def test_every_claim_is_on_the_page_with_its_study_and_the_tables_that_its_number_stands_in(project):
    folder = project.root / "results" / "claims" / "+".join(DATASETS)
    judged = pd.concat([pd.read_csv(folder / "claims.csv"), pd.read_csv(folder / "timings" / "claims.csv")])
    studies = {study for _, study in STUDIES}
    assert set(judged["study"]) == studies
    assert set(judged["id"]) == {claim for study in studies for claim in CONFIG["studies"][study]["claims"]}
    pages = {timed: (folder / name).read_text() for timed, name in ((False, "claims.md"), (True, "timings/claims.md"))}
    for row in judged.itertuples():
        assert (project.root / row.config).is_file()
        assert f"(`{row.id}`)" in pages[row.timed] and f"(`{row.id}`)" not in pages[not row.timed]
        if row.verdict != "not tested":
            assert (project.root / row.source).is_file()


def test_the_manifest_names_every_table_of_the_run(project):
    recorded = set(json.loads(project.manifest().read_text())["tables"])
    assert recorded == {f"results/{name}" for name in project.tables().keys() - MADE_WITH}
    checked, differences, _ = manifest.verify(project.manifest())
    assert (checked > len(recorded) + len(project.tables()), differences) == (True, [])


def test_every_warning_of_a_study_is_in_its_table_of_warnings(project):
    warned = {"collage/annotation": "chosen", "documents/text": "chosen", "synthetic/recovery": "recovery"}
    for study, name in warned.items():
        folder = project.root / "results" / study / "tables"
        warnings = pd.read_csv(folder / "warnings.csv")
        assert len(warnings) and (warnings["rows"] <= warnings["of"]).all()
        carried = pd.read_csv(folder / f"{name}.csv")["warning"].dropna()
        told = " ".join(warnings.loc[warnings["table"] == name, "warning"])
        assert all(one.split()[0] in told for text in carried for one in text.split("; "))


def test_a_damaged_file_is_made_again_by_what_the_message_says(project):
    path = project.root / "results" / "synthetic" / "recovery" / "timings" / "runs" / "run2.csv"
    table = path.parents[2] / "tables" / "recovery.csv"
    target = str(table.relative_to(project.root))
    made, expected = path.read_bytes(), table.read_bytes()
    path.write_bytes(made[: made.rindex(b"\n", 0, -2) + 1])  # without its last row
    *_, line = project.snakemake(target).stderr.splitlines()
    name = str(path.relative_to(project.root))
    why = "it was changed after it was made"
    assert line.startswith(f"error: gather_runs synthetic recovery tables recovery: {name} is damaged ({why})")
    assert line.endswith(f"(rm {name}; then the same command as before)")
    path.unlink()
    done = project.snakemake(target)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"2 of 2 jobs in \d+ s", done.stderr.splitlines()[-1])
    assert (path.read_bytes(), table.read_bytes()) == (made, expected)
    project.run("--touch")  # what follows was made from the same bytes


def test_what_a_study_was_run_with_stands_beside_its_tables(project):
    got = yaml.safe_load((project.root / "results" / "collage" / "stories" / "config.yaml").read_text())
    stories, collage = got["studies"]["stories"], got["datasets"]["collage"]
    assert (got["seed"], stories["set_aside"], collage["options"]["n_images"]) == (CONFIG["seed"], {"train": 40}, 240)


def test_images_set_aside_are_unlabelled_and_never_in_a_task(project):
    study = project.root / "results" / "collage" / "stories"
    before = pd.read_parquet(study.parent / "images.parquet")["split"].to_numpy()
    after = pd.read_parquet(study / "images.parquet")["split"].to_numpy()
    changed = before != after
    assert Counter(zip(before[changed], after[changed], strict=True)) == {("train", "unlabelled"): 40}
    with np.load(study / "tasks" / "run1.npz") as tasks:
        assert not tasks["Y"][:, after != "train"].any()
    with np.load(study / "basis" / "features.npz") as features:
        assert features["dense"].shape[1] <= (after == "unlabelled").sum()


RADII = "hinge-l1: {eta0: [0.1, 1], radius: [1, 10]}"
L2 = "      hinge-l2: {eta0: [0.1, 1], radius: [1, 10]}"
PAIRINGS = "    tests: {n_pairings: 7, n_resamples: 30}\n  annotation-sweep"
SPACE = ("import numpy", "import  numpy")
PAGE, PAGES = {"write_page": 1, "write_index": 1}, {"write_page": 5, "write_index": 1}
# Jobs that follow others and take moments. A test of an edit counts them only if it names them.
CHEAP = {
    "draw_figures",
    "gather_warnings",
    "judge_claims",
    "write_configs",
    "write_index",
    "write_manifest",
    "write_page",
}
RERUNS_OF_L1INF = {"compile_kernels": 1, "train_sweep": 1, "train_path": PATHS_OF_L1INF, "repeat": 2, "measure": 1}
EDITS = {  # file, old text, new text, and the number of jobs of each rule that the edit reruns
    "radii": ("overlay.yaml", RADII, "hinge-l1: {eta0: [1], radius: [5]}", {"train_sweep": 1}),
    "method": (
        "overlay.yaml",
        L2,
        f"{L2}\n      logistic-l12: {{eta0: [0.1], radius: [1]}}",
        {"train_sweep": 1, "compile_kernels": 1},
    ),
    "pairings": ("overlay.yaml", PAIRINGS, PAIRINGS.replace("7", "8"), {"compare_methods": 3}),
    "norm": ("src/jointsparse/norms/l1inf.py", *SPACE, RERUNS_OF_L1INF),
    "figures": (
        "src/jointsparse/papers/quattoni/figures.py",
        *SPACE,
        {"draw_figures": len({figure.split("/figures/")[0] for figure in FIGURES})},
    ),
    "claims": ("src/jointsparse/papers/judging.py", *SPACE, {"judge_claims": 1}),
    "estimators": ("src/jointsparse/estimators/classifier.py", *SPACE, {}),
}
# Edits of the same row have no job in common, so one dry run shows what each of them reruns.
TOGETHER = (("radii",), ("pairings", "figures"), ("method", "claims"), ("norm",), ("estimators",))
FOLLOWING = {  # what follows jobs whose results change
    "train_sweep": ("evaluate", "compare_methods", "resample_differences"),
    "train_path": ("evaluate",),
    "repeat": ("gather_runs",),
}


@pytest.mark.parametrize("names", TOGETHER, ids=" and ".join)
def test_an_edit_reruns_the_jobs_that_depend_on_it_and_no_others(project, names):
    expected = {rule: n for name in names for rule, n in EDITS[name][-1].items()}
    assert len(expected) == sum(len(EDITS[name][-1]) for name in names)
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(project.edited(*EDITS[name][:-1]))
        planned = project.planned()
    following = {rule for made in expected for rule in FOLLOWING.get(made, ())}
    assert following <= set(planned)
    ignored = following | (CHEAP - set(expected))
    assert {rule: n for rule, n in planned.items() if rule not in ignored} == expected
    assert bool(planned) == bool(expected)


def test_new_dataset_reruns_nothing_of_the_old(project):
    make_album(project.root / "mine", 30)
    entry = {"loader": "photos", "shards": 1, "options": {"root": "mine"}, "studies": {"annotation": {"sizes": [2, 3]}}}
    (project.root / "mine.yaml").write_text(yaml.safe_dump({"datasets": {"mine": entry}}))
    assert project.planned(overlays=("mine.yaml",)) == {}
    outputs = project.run("--dry-run", "--config", "dataset=mine", overlays=("mine.yaml",))
    assert "rule read_images:" in outputs
    assert "results/collage" not in outputs


def test_own_photographs_are_fitted_without_a_number(project):
    root, names = make_album(project.root / "own", 60) / "captions.csv", ("dog", "cat", "cow", "elk", "yak")
    rows = [f"{i:03}.jpg,{' '.join(word for k, word in enumerate(names) if i % (k + 2) == 0)}" for i in range(60)]
    root.write_text("\n".join(["image,caption", *rows]))
    values = {
        "words": dict.fromkeys(("n_words", "n_validation_words"), "auto"),
        "sizes": "auto",
        "basis": {"rank": "auto"},
    }
    entry = {"loader": "photos", "options": {"root": "own"}, "studies": {"annotation": values}}
    (project.root / "own.yaml").write_text(yaml.safe_dump({"datasets": {"own": entry}}))
    made = project.root / "results" / "own" / "annotation"
    files = [str(made.relative_to(project.root) / name) for name in ("tables/tasks_run1.csv", "basis/basis.npz")]
    done = project.snakemake(*files, overlays=("own.yaml",))
    assert done.returncode == 0, done.stderr
    words, drawn = (pd.read_csv(made / "tables" / f"{name}.csv") for name in ("words", "tasks_run1"))
    assert set(words["word"]) <= set(names) and (words["train"] >= 10).all()
    kept = words[words["warning"].isna()]
    assert set(drawn["word"]) == set(kept["word"]) and drawn["n"].min() == 10
    n_train = (pd.read_parquet(made.parent / "images.parquet")["split"] == "train").sum()
    assert len(np.load(made / "basis" / "basis.npz")["singular_values"]) == n_train // 2


def test_other_data_are_read_again_and_the_same_data_are_not(project, tmp_path):
    """Whatever their dates, and wherever a link to them points."""
    for name in ("first", "copy", "other"):
        make_album(tmp_path / name, 12).joinpath("captions.csv").rename(tmp_path / name / "words.txt")
    link, words = project.root / "linked", tmp_path / "copy" / "words.txt"
    link.symlink_to(tmp_path / "first")
    options = {"root": "linked", "captions": "words.txt"}
    entry = {"loader": "photos", "shards": 1, "options": options, "studies": {"annotation": {"sizes": [2, 3]}}}
    (project.root / "linked.yaml").write_text(yaml.safe_dump({"datasets": {"linked": entry}}))
    arguments, options = ("results/linked/images.parquet",), {"overlays": ("linked.yaml",)}
    done = project.snakemake(*arguments, **options)
    assert done.returncode == 0, done.stderr

    def reads():
        said = project.snakemake("--dry-run", *arguments, **options).stdout
        assert ("rule read_images:" in said) != ("Nothing to be done" in said), said
        return "rule read_images:" in said

    link.unlink()
    link.symlink_to(tmp_path / "copy")  # with the same contents
    os.utime(words)
    assert not reads()
    status = words.stat()
    text = words.read_text().replace("dog", "cow")
    words.write_text(text)
    os.utime(words, ns=(status.st_atime_ns, status.st_mtime_ns - 10**15))  # an older file
    assert reads()
    words.write_text(text.replace("cow", "dog"))
    (tmp_path / "copy" / "images" / "000.jpg").unlink()
    link.unlink()
    link.symlink_to(tmp_path / "other")
    assert not reads()
    link.unlink()
    link.symlink_to(tmp_path / "copy")
    assert reads()


def test_a_copied_and_a_moved_checkout_have_nothing_to_do(project, tmp_path):
    copy, moved = tmp_path / "copy", tmp_path / "moved"
    shutil.copytree(project.root, copy, symlinks=True)
    copy.rename(moved)
    home, project.root = project.root, moved
    try:
        assert project.planned() == {}
        assert manifest.verify(project.manifest()).differences == []
    finally:
        project.root = home


def test_what_was_changed_by_hand_is_named_when_a_run_ends(project):
    with project.edited("results/collage/index.html", "<main>", "<main>Ahead."):
        said = project.run().splitlines()
    assert "changed after they were made: rm -r results/collage/index.html; then run again" in said
    assert any(re.fullmatch(r"\d+ results as recorded\.", line) for line in project.run().splitlines())


@pytest.mark.parametrize(
    ("variables", "folder", "said"),
    [
        ({"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "plain", ""),
        ({"PYTHONOPTIMIZE": "2"}, "plain", "PYTHONOPTIMIZE must be less than 2, which takes away the sentences"),
        ({}, "a:b", "the workflow must lie in a folder without ':' in its path, got "),
    ],
)
def test_where_the_workflow_cannot_run_right_it_does_not_start(tmp_path, variables, folder, said):
    new = Project(tmp_path / folder)
    new.variables = variables
    done = new.snakemake("--dry-run")
    assert (done.returncode != 0) == bool(said) and said in done.stdout + done.stderr, done.stderr


def test_tables_of_another_numpy_are_a_mixture_that_is_said(project, tmp_path):
    """Nothing runs again, and what runs is recorded with the version that it ran with."""
    (tmp_path / "numpy-0.9.dist-info").mkdir()
    (tmp_path / "numpy-0.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.9\n")
    project.variables = {"PYTHONPATH": str(tmp_path)}
    try:
        assert project.planned() == {}
        project.manifest().with_name("claims.md").unlink()
        last = project.run().splitlines()[-5:]
        said = [
            r"\d+ of \d+ jobs in \d+ s",
            "collage: .+",
            "The page .*: results/index.html",
            r"\d+ kinds of warnings: .+",
            r"\d+ results as recorded\.",
        ]
        assert [line for pattern, line in zip(said, last, strict=True) if not re.fullmatch(pattern, line)] == []
    finally:
        project.variables = {}
    made_with = pd.read_csv(project.manifest().with_name("made_with.csv"), dtype=str)
    versions = [version("numpy"), "0.9"]
    assert sorted(made_with.loc[made_with["name"] == "numpy", "value"]) == sorted(versions)
    assert any(
        "(a mixture)" in note and note.startswith("numpy: ") for note in manifest.verify(project.manifest()).notes
    )
    assert project.planned() == {}


@pytest.mark.parametrize(
    ("deleted", "rebuilt"),
    [
        # Everything made of descriptors and of tasks is there.
        (("annotation/figures", "descriptors", "annotation/tasks"), {"draw_figures": 1} | PAGE),
        (
            ("annotation/tables/significance.csv",),
            {"compare_methods": 1, "draw_figures": 1, "judge_claims": 1, "write_manifest": 1} | PAGES,
        ),
        (("left_out.csv",), {"read_images": 1}),
        (("annotation/tables/words.csv",), {"choose_words": 1, "fit_basis": 0}),
    ],
)
def test_deleted_output_is_rebuilt_with_what_needs_it(project, tmp_path, deleted, rebuilt):
    paths = [project.root / "results" / "collage" / name for name in deleted]
    for i, path in enumerate(paths):
        shutil.move(path, tmp_path / f"{i}")
    try:
        planned = Counter(project.planned())
    finally:
        for i, path in enumerate(paths):
            shutil.move(tmp_path / f"{i}", path)
    more = deleted[0] in ("left_out.csv", "annotation/tables/words.csv")  # nearly all follows from these
    assert {rule: planned[rule] for rule in (rebuilt if more else planned | rebuilt)} == rebuilt


def test_one_core_another_folder_and_other_hashes_give_the_same_tables(project, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # else drawn anew for every process
    other = Project(tmp_path / "elsewhere")
    # The stages from pictures to AUC, and an experiment on drawn data.
    kept = ("collage/annotation/tables/", "synthetic/recovery/tables/")
    expected = {name: table for name, table in project.tables().items() if name.startswith(kept)}
    done = other.snakemake(*(f"results/{name}" for name in expected), cores=1)
    assert done.returncode == 0, done.stdout + done.stderr
    got = other.tables()
    assert expected.keys() <= got.keys()
    assert [name for name in expected if got[name] != expected[name]] == []


def test_lint_asks_for_nothing_but_conda_environments(project):
    output = project.snakemake("--lint").stderr
    asked = set(re.findall(r"^    \* (.*)", output, re.MULTILINE))
    assert asked == {"Specify a conda environment or container for each rule.:"}, output


def test_report_shows_what_was_left_out_and_the_results(project):
    done = project.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stderr
    report = (project.root / "report.html").read_text()
    files = ("left_out.csv", "chosen.csv", "significance.png", "warnings.csv", "repeated.csv", "made_with.csv")
    captions = ("Images and captions that are not used", "All warnings of a study")
    assert [shown for shown in (*files, *captions) if shown not in report] == []


def test_scripts_can_be_imported_without_snakemake():
    scripts = sorted((BASE / "workflow" / "scripts").glob("*.py"))
    names = ",".join(script.stem for script in scripts)
    done = subprocess.run(
        [sys.executable, "-c", f"import {names}"], cwd=BASE / "workflow" / "scripts", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_library_has_never_heard_of_the_workflow():
    package = BASE / "src" / "jointsparse"
    for file in set(package.rglob("*.py")) - set((package / "app").rglob("*.py")):
        assert not re.search(
            r"snakemake|config\.yaml|results/|wildcard", file.read_text().lower().split('"""', 2)[-1]
        ), file
