"""Bad input of a run: it ends at once with one clear line, and loses nothing."""

import csv
import os
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from conftest import make_album
from miniature import Project

from jointsparse.provenance.tables import read_table

NAMES = [
    "$(touch run).jpg",
    "`touch run`.jpg",
    ";touch run;.jpg",
    "{dataset}.jpg",
    "two\nlines.jpg",
    "'\"&|>x.jpg",
    "=1.jpg",
]


def make(root: Path) -> Project:
    """A project whose dataset is a small folder of photographs."""
    made = Project(root)
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


@pytest.fixture
def mine(tmp_path: Path) -> Project:
    return make(tmp_path / "project")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Such a project with odd names of pictures, run up to the histograms."""
    made = make(tmp_path_factory.mktemp("odd") / "project")
    images = made.root / "mine" / "images"
    for i, name in enumerate(NAMES):
        (images / f"{i:03}.jpg").rename(images / name)
    with (made.root / "mine" / "captions.csv").open("a", newline="") as file:
        csv.writer(file).writerows((name, "A cat on $x_{ a mat.") for name in NAMES)
    os.mkfifo(images / "pipe.jpg")
    targets = ("left_out.csv", "vocabularies/tree/histograms.npz")
    done = made.snakemake(*(f"results/mine/{target}" for target in targets), overlays=("mine.yaml",))
    assert done.returncode == 0, done.stderr
    return made


def refused(project: Project, target: str = "reproduce-all") -> str:
    """The one line of a failing run."""
    done = project.snakemake(target, overlays=("mine.yaml",))
    assert done.returncode != 0
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "config.yaml: " in line]
    assert len(set(lines)) == 1, done.stdout + done.stderr
    return lines[0]


def change(project: Project, **study) -> None:
    overlay = yaml.safe_load((project.root / "mine.yaml").read_text())
    overlay["datasets"]["mine"]["studies"]["annotation"] |= study
    (project.root / "mine.yaml").write_text(yaml.safe_dump(overlay))


def test_no_name_of_a_picture_reaches_a_shell_or_a_wildcard(odd):
    kept = pd.read_parquet(odd.root / "results" / "mine" / "images.parquet")["image"]
    assert set(NAMES) <= set(kept)
    left_out = read_table(odd.root / "results" / "mine" / "left_out.csv").set_index("item")["reason"]
    assert left_out["pipe.jpg"] == "not a regular file"
    assert not list(odd.root.rglob("run"))


def test_rank_above_the_data_ends_the_run_with_one_line(odd):
    change(odd, basis={"rank": 1000})
    line = refused(odd, "results/mine/annotation/basis/features.npz")
    assert re.search(r"rank must be between 1 and \d+ \(\d+ images, \d+ features, centred\), got 1000", line)
    assert line.endswith("(config.yaml: studies.annotation.basis, or datasets.mine.studies.annotation)")


def test_mistake_in_the_config_ends_before_any_job(mine):
    change(mine, basis={"rnak": 3})
    line = refused(mine)
    assert line.startswith("unknown key 'rnak'; the keys here are centred, fitted_on, power, rank")
    assert not (mine.root / "results").exists()


def test_missing_root_is_one_line_and_no_other_dataset_needs_it(mine):
    shutil.rmtree(mine.root / "mine")
    assert refused(mine).startswith("root must be a folder that holds a folder 'images', got 'mine'")
    assert mine.planned("--config", "dataset=collage", overlays=("mine.yaml",))["read_images"] == 1


def test_a_file_that_snakemake_would_misread_ends_before_it_is_read(mine):
    path = mine.root / "config.yaml"
    path.write_text(path.read_text() + "\nseed: 2\n")
    done = mine.snakemake("reproduce-all", overlays=("mine.yaml",))
    assert done.returncode != 0
    assert re.search(r"^the key 'seed' stands twice in one block \(config.yaml, line \d+\)$", done.stderr, re.MULTILINE)


def test_an_interrupt_while_the_rules_are_read_is_one_line(tmp_path):
    project = Project(tmp_path / "project")
    with project.edited("workflow/configuration/check.py", "import math\n", "raise KeyboardInterrupt\n"):
        done = project.snakemake("reproduce-all", "--dry-run")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in done.stderr
