"""The whole workflow in miniature: what it makes, what reruns after which change, and what it says of bad input."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import make_album

from jointsparse import records
from jointsparse.tables import read_table

BASE = Path(__file__).parents[1]
CONFIG = yaml.safe_load((BASE / "config.yaml").read_text())
DATASETS = tuple(CONFIG["dataset"])
METHODS = 4  # of the annotation study
SIZES = 2  # of every study in the overlay
FIGURES = CONFIG["studies"]["annotation"]["figures"]
ALL_FIGURES = sum(
    len(CONFIG["studies"][study]["figures"]) for d in DATASETS for study in CONFIG["datasets"][d]["studies"]
)
# Sweeps of the overlay by norm: annotation, stories (two runs), scenes, text.
SWEEPS = {"l1inf": SIZES * 5, "l1": SIZES * 5, "l2": SIZES * 4}
STUDIES = sum(len(CONFIG["datasets"][dataset]["studies"]) for dataset in DATASETS)
CLAIMS = {f"claims/{'+'.join(DATASETS)}/claims.csv"}


class Project:
    """A copy of the workflow in a folder of its own."""

    def __init__(self, root: Path):
        self.root = root
        root.mkdir()
        for name in ("Snakefile", "config.yaml"):
            shutil.copy(BASE / name, root)
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in ("workflow", "src", "profiles"):
            shutil.copytree(BASE / name, root / name, ignore=ignored)
        shutil.copy(BASE / "tests" / "config.yaml", root / "overlay.yaml")

    def command(self, *arguments: str, cores: int = 2, overlays: tuple[str, ...] = ()) -> list[str]:
        command = [sys.executable, "-m", "snakemake", "--cores", str(cores)]
        return [*command, "--configfile", "overlay.yaml", *overlays, "--nocolor", *arguments]

    def environment(self) -> dict[str, str]:
        return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def snakemake(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        command = self.command(*arguments, **options)
        return subprocess.run(
            command, cwd=self.root, env=self.environment(), capture_output=True, text=True, check=False
        )

    def run(self, *arguments: str, **options) -> str:
        done = self.snakemake("reproduce-all", *arguments, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def planned(self, *arguments: str, **options) -> dict[str, int]:
        """How many jobs of each rule a run would execute."""
        output = self.run("--dry-run", *arguments, **options)
        table = re.search(r"^job\s+count\n-+\s+-+\n(.*?)^total", output, re.MULTILINE | re.DOTALL)
        if not table:
            assert "Nothing to be done" in output, output
            return {}
        jobs = dict(line.split() for line in table[1].strip().splitlines())
        jobs.pop("reproduce-all", None)
        return {rule: int(count) for rule, count in jobs.items()}

    def planned_outputs(self, *arguments: str, rule: str) -> list[str]:
        output = self.run("--dry-run", *arguments)
        return re.findall(rf"rule {rule}:\n(?:    .*\n)*?    output: (.*)\n", output)

    @contextmanager
    def edited(self, file: str, old: str, new: str) -> Iterator[None]:
        """A file with one text replaced, until the block ends."""
        path = self.root / file
        before = path.read_text()
        assert old in before, (file, old)
        path.write_text(before.replace(old, new))
        try:
            yield
        finally:
            path.write_text(before)

    def manifest(self) -> Path:
        return self.root / "results" / "claims" / "+".join(DATASETS) / "manifest.json"

    def tables(self) -> dict[str, bytes]:
        """Every table of results; measured seconds lie elsewhere."""
        results = self.root / "results"
        files = [path for path in sorted(results.rglob("*.csv")) if "timings" not in path.parts]
        return {str(path.relative_to(results)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose embedded run has been made once."""
    made = Project(tmp_path_factory.mktemp("workflow") / "project")
    made.run()
    return made


def after_sweeps() -> dict[str, int]:
    """What follows the sweeps of the annotation study."""
    return {"evaluate": 1, "compare_methods": 1, "resample_differences": 1, "judge_claims": 1} | {
        "draw_figure": len(FIGURES) - 1,  # the path is trained apart
        "write_claims_page": 1,
        "gather_warnings": 1,
        "write_manifest": 1,
    }


def test_every_figure_and_table_is_made(project):
    for dataset in DATASETS:
        for study in CONFIG["datasets"][dataset]["studies"]:
            for figure in CONFIG["studies"][study]["figures"]:
                path = project.root / "results" / dataset / study / "figures" / figure
                assert path.with_suffix(".png").stat().st_size > 5_000
                assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    study = project.root / "results" / "collage" / "annotation"
    chosen = pd.read_csv(study / "tables" / "chosen.csv")
    assert len(chosen) == METHODS * SIZES
    assert chosen["auc"].between(0.2, 1).all()
    by_word = pd.read_csv(study / "tables" / "by_word.csv")
    assert len(by_word) == METHODS * SIZES * 6
    assert len(pd.read_csv(study / "tables" / "significance.csv")) == (METHODS - 1) * SIZES * 2
    assert len(pd.read_csv(study / "tables" / "words.csv")) == 6
    assert (project.root / "results" / "collage" / "contact_sheet.png").exists()
    assert not list(project.root.rglob("*.part*"))


def test_every_stage_leaves_its_log_and_its_seconds(project):
    results = project.root / "results"
    n_jobs = sum(project.planned("--forceall").values())
    assert len(list(results.rglob("timings/**/*.tsv"))) == n_jobs
    assert len(list(results.rglob("logs/**/*.log"))) == n_jobs


def test_second_run_has_nothing_to_do(project):
    assert project.planned() == {}


def test_every_claim_is_on_the_page_with_its_study_and_the_tables_that_its_number_stands_in(project):
    folder = project.root / "results" / "claims" / "+".join(DATASETS)
    judged = pd.concat([pd.read_csv(folder / "claims.csv"), pd.read_csv(folder / "timings" / "claims.csv")])
    studies = {study for dataset in DATASETS for study in CONFIG["datasets"][dataset]["studies"]}
    assert set(judged["study"]) == studies
    assert set(judged["id"]) == {claim for study in studies for claim in CONFIG["studies"][study]["claims"]}
    page = (folder / "claims.md").read_text()
    for row in judged.itertuples():
        assert (project.root / row.config).is_file()
        assert row.id in page
        if row.verdict != "not tested":
            assert (project.root / row.source).is_file()


def test_the_manifest_names_every_table_of_the_run_and_finds_a_changed_byte(project):
    recorded = set(json.loads(project.manifest().read_text())["tables"])
    assert recorded == {f"../../{name}" for name in project.tables().keys() - CLAIMS} | {"claims.csv"}
    assert records.verify(project.manifest())[:2] == (len(recorded), [])
    path = project.root / "results" / "collage" / "stories" / "tables" / "chosen.csv"
    whole, time = path.read_bytes(), path.stat().st_mtime_ns
    path.write_bytes(whole.replace(b"5", b"6", 1))
    try:
        changed = records.verify(project.manifest()).differences
    finally:
        path.write_bytes(whole)
        os.utime(path, ns=(time, time))
    assert changed == ["differs: ../../collage/stories/tables/chosen.csv"]


def test_every_warning_of_a_study_is_in_its_table_of_warnings(project):
    for dataset, study in (("collage", "annotation"), ("documents", "text"), ("synthetic", "recovery")):
        folder = project.root / "results" / dataset / study / "tables"
        warnings = pd.read_csv(folder / "warnings.csv")
        assert len(warnings) and (warnings["rows"] <= warnings["of"]).all()
        name = "recovery" if study == "recovery" else "chosen"
        carried = pd.read_csv(folder / f"{name}.csv")["warning"].dropna()
        told = " ".join(warnings.loc[warnings["table"] == name, "warning"])
        assert all(one.split()[0] in told for text in carried for one in text.split("; "))


def test_a_damaged_file_is_made_again_by_what_the_message_says(project):
    path = project.root / "results" / "synthetic" / "recovery" / "timings" / "runs" / "run2.csv"
    table = path.parents[2] / "tables" / "recovery.csv"
    target = str(table.relative_to(project.root))
    made, expected = path.read_bytes(), table.read_bytes()
    path.write_bytes(made[: made.rindex(b"\n", 0, -2) + 1])  # without its last row
    done = project.snakemake(target)
    (line,) = {line for line in done.stderr.splitlines() if line.startswith("error: ")}
    name = str(path.relative_to(project.root))
    why = "it was changed after it was made"
    assert line.startswith(f"error: gather_runs synthetic recovery tables recovery: {name} is damaged ({why})")
    assert line.endswith(f"(rm {name}; then the same command as before)")
    subprocess.run(["rm", *line.split("(rm ")[1].split(";")[0].split()], cwd=project.root, check=True)
    done = project.snakemake(target)
    assert done.returncode == 0, done.stderr
    assert (path.read_bytes(), table.read_bytes()) == (made, expected)
    project.run()


def test_what_a_study_was_run_with_stands_beside_its_tables(project):
    got = yaml.safe_load((project.root / "results" / "collage" / "stories" / "config.yaml").read_text())
    assert got["seed"] == CONFIG["seed"]
    assert got["studies"]["stories"]["set_aside"] == {"train": 40}
    assert got["datasets"]["collage"]["options"]["n_images"] == 240


def test_images_set_aside_are_unlabelled_and_never_in_a_task(project):
    study = project.root / "results" / "collage" / "stories"
    before = pd.read_parquet(study.parent / "images.parquet")["split"].to_numpy()
    after = pd.read_parquet(study / "images.parquet")["split"].to_numpy()
    changed = before != after
    assert changed.sum() == 40
    assert set(before[changed]) == {"train"}
    assert set(after[changed]) == {"unlabelled"}
    with np.load(study / "tasks" / "run1.npz") as tasks:
        assert not tasks["Y"][:, after != "train"].any()
    with np.load(study / "basis" / "features.npz") as features:
        assert features["dense"].shape[1] <= (after == "unlabelled").sum()


def test_touched_library_file_reruns_nothing(project):
    (project.root / "src" / "jointsparse" / "learning" / "sweep.py").touch()
    assert project.planned() == {}


def test_changed_radius_grid_reruns_that_norm_and_what_follows(project):
    with project.edited(
        "overlay.yaml", "hinge-l1: {eta0: [0.1, 1], radius: [1, 10]}", "hinge-l1: {eta0: [1], radius: [5]}"
    ):
        planned = project.planned()
        assert planned == {
            "train_sweep": SIZES,
            "train_path": 1,
            "write_config": 1,
            "evaluate_path": 1,
        } | after_sweeps() | {"draw_figure": len(FIGURES)}
        outputs = project.planned_outputs(rule="train_sweep")
    assert len(outputs) == SIZES
    assert all("/hinge-l1.npz" in output for output in outputs)


@pytest.mark.parametrize("norm", ["l1inf", "l2"])
def test_edited_norm_reruns_its_sweeps(project, norm):
    with project.edited(f"src/jointsparse/norms/{norm}.py", "import numpy", "import  numpy"):
        assert project.planned()["train_sweep"] == SWEEPS[norm]
        outputs = project.planned_outputs(rule="train_sweep")
    assert all(f"/hinge-{norm}.npz" in output for output in outputs)


@pytest.mark.parametrize(
    ("file", "others"), [("figures/scores.py", {"draw_contact_sheet": 1}), ("papers/quattoni/figures.py", {})]
)
def test_edited_figures_are_drawn_again_and_nothing_is_fitted(project, file, others):
    with project.edited(f"src/jointsparse/{file}", "import numpy", "import  numpy"):
        assert project.planned() == {"draw_figure": ALL_FIGURES} | others


@pytest.mark.parametrize("file", ["estimators/classifier.py", "app/command_line.py"])
def test_edited_estimators_and_command_line_rerun_nothing(project, file):
    with project.edited(f"src/jointsparse/{file}", "import", "import "):
        assert project.planned() == {}


def test_edited_metrics_evaluate_again_and_fit_nothing(project):
    with project.edited("src/jointsparse/scores/metrics.py", "import numpy", "import  numpy"):
        planned = project.planned()
    assert planned["evaluate"] == planned["compare_methods"] == planned["resample_differences"] == 4
    assert not {"train_sweep", "train_path", "train_svm", "repeat", "measure"} & set(planned)


def test_edited_experiment_is_repeated_alone(project):
    with project.edited("src/jointsparse/papers/duchi/race.py", "import numpy", "import  numpy"):
        planned = project.planned()
    assert planned["repeat"] == 2 and planned["gather_runs"] == 2  # runs; tables
    figures, claims = CONFIG["studies"]["race"]["figures"], {"judge_claims": 1, "write_claims_page": 1}
    rest = claims | {"gather_warnings": 1, "write_manifest": 1, "draw_figure": len(figures)}
    assert planned == {"repeat": 2, "gather_runs": 2} | rest


def test_edited_claims_are_judged_again_and_no_more(project):
    with project.edited("src/jointsparse/papers/judging.py", "import numpy", "import  numpy"):
        assert project.planned() == {"judge_claims": STUDIES, "write_claims_page": 1, "write_manifest": 1}


def test_edited_extractor_describes_again(project):
    with project.edited("src/jointsparse/features/dense_sift.py", "import numpy", "import  numpy"):
        planned = project.planned()
    assert planned["describe"] == 2
    assert planned["train_sweep"] == 3 * SIZES + 3 * 2 * SIZES + 2 * SIZES  # annotation, stories, scenes


def test_changed_number_of_pairings_compares_again_and_no_more(project):
    with project.edited(
        "overlay.yaml",
        "    tests: {n_pairings: 7, n_resamples: 30}\n  stories",
        "    tests: {n_pairings: 8, n_resamples: 30}\n  stories",
    ):
        assert project.planned() == {"compare_methods": 1, "draw_figure": 1} | {
            "judge_claims": 1,
            "write_claims_page": 1,
            "write_config": 1,
            "write_manifest": 1,
        }


def test_other_method_trains_that_method_alone(project):
    text = "      hinge-l2: {eta0: [0.1, 1], radius: [1, 10]}"
    with project.edited("overlay.yaml", text, text + "\n      logistic-l12: {eta0: [0.1], radius: [1]}"):
        assert project.planned() == {"train_sweep": SIZES, "write_config": 1} | after_sweeps()


def test_new_dataset_reruns_nothing_of_the_old(project):
    make_album(project.root / "mine", 30)
    entry = {"loader": "photos", "shards": 1, "options": {"root": "mine"}, "studies": {"annotation": {"sizes": [2, 3]}}}
    (project.root / "mine.yaml").write_text(yaml.safe_dump({"datasets": {"mine": entry}}))
    assert project.planned(overlays=("mine.yaml",)) == {}
    planned = project.planned("--config", "dataset=mine", overlays=("mine.yaml",))
    assert planned["read_images"] == 1
    outputs = project.run("--dry-run", "--config", "dataset=mine", overlays=("mine.yaml",))
    assert "results/collage" not in outputs


@pytest.mark.parametrize(
    ("deleted", "rebuilt"),
    [
        ("annotation/figures/auc.pdf", {"draw_figure": 1}),
        (
            "annotation/tables/significance.csv",
            {"compare_methods": 1, "draw_figure": 1, "judge_claims": 1, "write_claims_page": 1, "write_manifest": 1},
        ),
        ("left_out.csv", None),
        ("annotation/tables/words.csv", None),
        ("descriptors", {}),  # everything made of them is there
    ],
)
def test_deleted_output_is_rebuilt_with_what_needs_it(project, tmp_path, deleted, rebuilt):
    path = project.root / "results" / "collage" / deleted
    shutil.move(path, tmp_path / "away")
    try:
        planned = project.planned()
    finally:
        shutil.move(tmp_path / "away", path)
    if rebuilt is not None:
        assert planned == rebuilt
    elif deleted == "left_out.csv":
        assert planned["read_images"] == 1
    else:
        assert planned["choose_words"] == 1
        assert "fit_basis" not in planned


def test_rebuilding_a_deleted_sweep_gives_the_same_bytes(project):
    path = project.root / "results" / "collage" / "annotation" / "sweeps" / "run1" / "n3" / "hinge-l1inf.npz"
    before = path.read_bytes()
    path.unlink()
    target = str(path.relative_to(project.root))
    done = project.snakemake(target)
    assert done.returncode == 0, done.stderr
    assert Counter(re.findall(r"^(?:local)?rule (\w+):", done.stdout + done.stderr, re.MULTILINE)) == {"train_sweep": 1}
    assert path.read_bytes() == before
    # What was made of the old file is older than the new one, but was made of the same bytes or is made again; a run
    # brings everything up to date.
    project.run()
    assert project.planned() == {}


def test_one_core_another_folder_and_other_hashes_give_the_same_tables(project, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # else drawn anew for every process
    other = Project(tmp_path / "elsewhere")
    target = other.manifest().relative_to(other.root)  # all tables, and no figures, which would take long
    done = other.snakemake(str(target), cores=1)
    assert done.returncode == 0, done.stdout + done.stderr
    expected, got = project.tables(), other.tables()
    assert len(expected) == 71
    assert got.keys() == expected.keys()
    for name in expected:
        assert got[name] == expected[name], name
    assert other.manifest().read_bytes() == project.manifest().read_bytes()


def test_lint_asks_for_nothing_but_conda_environments(project):
    output = project.snakemake("--lint").stderr
    asked = set(re.findall(r"^    \* (.*)", output, re.MULTILINE))
    assert asked == {"Specify a conda environment or container for each rule.:"}, output


def test_report_shows_what_was_left_out_and_the_results(project):
    done = project.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stderr
    report = (project.root / "report.html").read_text()
    shown_there = ("left_out.csv", "chosen.csv", "significance.png", "Images and captions that are not used")
    for shown in (*shown_there, "warnings.csv", "repeated.csv", "All warnings of a study"):
        assert shown in report


def rules() -> dict[str, str]:
    """Rule name -> its text."""
    found = {}
    for file in sorted((BASE / "workflow" / "rules").glob("*.smk")):
        for name, body in re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", file.read_text(), re.MULTILINE):
            found[name] = body
    return found


def script_of(rule: str) -> str:
    return re.search(r'"\.\./scripts/(\w+\.py)"', rules()[rule])[1]


@pytest.mark.parametrize("rule", rules())
def test_each_rule_depends_on_the_code_of_its_script(rule):
    """Which library files these are, test_code.py says."""
    (named,) = re.findall(r'^        \*code\(\s*"(\w+)"', rules()[rule], re.MULTILINE)
    assert f"{named}.py" == script_of(rule)


@pytest.mark.parametrize("rule", rules())
def test_each_rule_has_its_script_a_log_and_a_benchmark(rule):
    body = rules()[rule]
    assert (BASE / "workflow" / "scripts" / script_of(rule)).exists()
    for needed in ("log:", "benchmark:", "where="):
        assert needed in body


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


# Bad input: the run ends at once, says one clear line, and loses nothing.


@pytest.fixture
def mine(tmp_path: Path) -> Project:
    """A project whose dataset is a small folder of photographs."""
    made = Project(tmp_path / "project")
    make_album(made.root / "mine", 30)
    rows = [f"{i:03}.jpg,A {'dog and a cat' if i % 2 else 'horse'}." for i in range(30)]
    (made.root / "mine" / "captions.csv").write_text("\n".join(["image,caption", *rows, ""]))
    study = {
        "sizes": [2, 3],
        "words": {"n_words": 3, "n_validation_words": 1},
        "basis": {"rank": 3},
    }
    entry = {"loader": "photos", "shards": 1, "options": {"root": "mine"}, "studies": {"annotation": study}}
    (made.root / "mine.yaml").write_text(yaml.safe_dump({"dataset": "mine", "datasets": {"mine": entry}}))
    return made


def refused(project: Project, target: str = "reproduce-all") -> str:
    """The one line that a failing run says."""
    done = project.snakemake(target, overlays=("mine.yaml",))
    assert done.returncode != 0
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "config.yaml: " in line]
    assert len(set(lines)) == 1, done.stdout + done.stderr
    return lines[0]


def change(project: Project, **study) -> None:
    overlay = yaml.safe_load((project.root / "mine.yaml").read_text())
    overlay["datasets"]["mine"]["studies"]["annotation"] |= study
    (project.root / "mine.yaml").write_text(yaml.safe_dump(overlay))


def test_captions_without_header_end_the_run_with_one_line(mine):
    path = mine.root / "mine" / "captions.csv"
    path.write_text(path.read_text().removeprefix("image,caption\n"))
    line = refused(mine, "results/mine/left_out.csv")
    assert "captions.csv must begin with a header line that names the columns image,caption, got" in line
    assert line.endswith("(config.yaml: datasets.mine.options)")


def test_too_few_positives_end_the_run_with_one_line(mine):
    splits = [f"{i:03}.jpg,{('train', 'train', 'train', 'train', 'validation', 'test')[i // 5]}" for i in range(30)]
    (mine.root / "mine" / "splits.csv").write_text("\n".join(["image,split", *splits]))
    change(mine, sizes=[15], words={"n_words": 3, "n_validation_words": 1})
    line = refused(mine, "results/mine/annotation/tasks/run1.npz")
    assert "the smallest of sizes must be at most 10, the number of training images with the word" in line
    assert line.endswith("(config.yaml: studies.annotation, or datasets.mine.studies.annotation)")


def test_rank_above_the_data_ends_the_run_with_one_line(mine):
    change(mine, basis={"rank": 1000})
    line = refused(mine, "results/mine/annotation/basis/features.npz")
    assert re.search(r"rank must be between 1 and \d+ \(18 images, \d+ features, centred\), got 1000", line)
    assert line.endswith("(config.yaml: studies.annotation.basis, or datasets.mine.studies.annotation)")


def test_mistake_in_the_config_ends_before_any_job(mine):
    change(mine, basis={"rnak": 3})
    line = refused(mine)
    assert line.startswith("unknown key 'rnak'; the keys here are centred, fitted_on, rank, whitened")
    assert not (mine.root / "results").exists()


def test_missing_root_is_one_line_and_no_other_dataset_needs_it(mine):
    shutil.rmtree(mine.root / "mine")
    assert refused(mine).startswith("root must be a folder that holds a folder 'images', got 'mine'")
    assert mine.planned("--config", "dataset=collage", overlays=("mine.yaml",))["read_images"] == 1


def test_bad_pictures_are_left_out_and_the_run_goes_on(mine):
    (mine.root / "mine" / "images" / "003.jpg").write_bytes(b"no picture")
    with (mine.root / "mine" / "captions.csv").open("a") as file:
        file.write("ghost.jpg,A ghost.\n")
    done = mine.snakemake("results/mine/left_out.csv", overlays=("mine.yaml",))
    assert done.returncode == 0, done.stderr
    left_out = pd.read_csv(mine.root / "results" / "mine" / "left_out.csv").set_index("item")["reason"]
    assert sorted(left_out.index) == ["003.jpg", "ghost.jpg"]
    assert "does not open" in left_out["003.jpg"]


def test_no_name_of_a_picture_reaches_a_shell_or_a_wildcard(mine):
    images = mine.root / "mine" / "images"
    names = [
        "$(touch run).jpg",
        "`touch run`.jpg",
        ";touch run;.jpg",
        "{dataset}.jpg",
        "two\nlines.jpg",
        "'\"&|>x.jpg",
        "=1.jpg",
    ]
    for i, name in enumerate(names):
        (images / f"{i:03}.jpg").rename(images / name)
    with (mine.root / "mine" / "captions.csv").open("a", newline="") as file:
        csv.writer(file).writerows((name, "A cat on $x_{ a mat.") for name in names)
    os.mkfifo(images / "pipe.jpg")
    targets = ("left_out.csv", "contact_sheet.png", "vocabularies/tree/histograms.npz")
    done = mine.snakemake(*(f"results/mine/{target}" for target in targets), overlays=("mine.yaml",))
    assert done.returncode == 0, done.stderr
    kept = pd.read_parquet(mine.root / "results" / "mine" / "images.parquet")["image"]
    assert set(names) <= set(kept)
    left_out = read_table(mine.root / "results" / "mine" / "left_out.csv").set_index("item")["reason"]
    assert left_out["pipe.jpg"] == "not a regular file"
    assert not list(mine.root.rglob("run"))


def test_a_file_that_snakemake_would_misread_ends_before_it_is_read(mine):
    path = mine.root / "config.yaml"
    path.write_text(path.read_text() + "\nseed: 2\n")
    done = mine.snakemake("reproduce-all", overlays=("mine.yaml",))
    assert done.returncode != 0
    assert re.search(r"^the key 'seed' stands twice in one block \(config.yaml, line \d+\)$", done.stderr, re.MULTILINE)
