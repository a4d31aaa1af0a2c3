"""Bad input ends a run at once with one clear line."""

import csv
import os
from pathlib import Path

import pandas as pd
import pytest
import yaml
from albums import make_album
from miniature import Project

from jointsparse.pipeline.app.interrupt import RESUME
from jointsparse.pipeline.provenance.tables import read_table

NAMES = [
    "$(touch run).jpg",
    "`touch run`.jpg",
    ";touch run;.jpg",
    "{dataset}.jpg",
    "two\nlines.jpg",
    "'\"&|>x.jpg",
    "=1.jpg",
]


@pytest.fixture
def mine(tmp_path: Path) -> Project:
    """Return a project whose dataset is a small folder of photographs."""
    made = Project(tmp_path / "project")
    make_album(made.root / "mine", 12)
    entry = {"loader": "photos", "shards": 1, "options": {"root": "mine"}, "studies": {"annotation": {}}}
    (made.root / "mine.yaml").write_text(yaml.safe_dump({"dataset": "mine", "datasets": {"mine": entry}}))
    return made


def test_names_of_pictures_never_reach_a_shell_and_bad_captions_end_the_run_with_one_line(mine):
    images, captions = mine.root / "mine" / "images", mine.root / "mine" / "captions.csv"
    for i, name in enumerate(NAMES):
        (images / f"{i:03}.jpg").rename(images / name)
    with captions.open("a", newline="") as file:
        csv.writer(file).writerows((name, "A cat on $x_{ a mat.") for name in NAMES)
    os.mkfifo(images / "pipe.jpg")
    mine.run(targets=("results/mine/left_out.csv",), overlays=("mine.yaml",))
    assert set(NAMES) <= set(pd.read_parquet(mine.root / "results" / "mine" / "images.parquet")["image"])
    left_out = read_table(mine.root / "results" / "mine" / "left_out.csv").set_index("item")["reason"]
    assert left_out["pipe.jpg"] == "not a regular file"
    assert not list(mine.root.rglob("run"))
    captions.write_text("image,note\na.jpg,A cat.\n")
    *_, line = mine.snakemake("results/mine/left_out.csv", overlays=("mine.yaml",)).stderr.splitlines()
    assert "captions.csv must have the column 'caption', which an option names, got ['image', 'note']" in line
    assert line.startswith("error: ") and line.endswith("(config.yaml: datasets.mine.options)")


def edit(file, old, new):
    text = file.read_text()
    file.write_text(text.replace(old, new))
    assert file.read_text() != text


MISTAKES = {
    "an unknown key": (
        lambda root: edit(root / "mine.yaml", "annotation: {}", "annotation: {basis: {rnak: 3}}"),
        "unknown key 'rnak' (did you mean rank?); the keys here are centred, fitted_on, power, rank",
    ),
    "a file that Snakemake would misread": (
        lambda root: edit(root / "config.yaml", "\nseed:", "\nseed: 2\nseed:"),
        "the key 'seed' occurs twice in one block (config.yaml, line ",
    ),
}


@pytest.mark.parametrize(("make", "message"), MISTAKES.values(), ids=MISTAKES)
def test_an_error_in_the_config_ends_a_run_before_any_job(mine, make, message):
    make(mine.root)
    done = mine.snakemake("reproduce-all", overlays=("mine.yaml",))
    assert done.returncode != 0 and done.stderr.splitlines()[-1].startswith(f"error: {message}")
    assert not (mine.root / "results").exists()


def test_an_interrupt_while_rules_are_read_is_one_line(tmp_path):
    project = Project(tmp_path / "project")
    with project.edited("workflow/raw.py", "import math\n", "raise KeyboardInterrupt\n"):
        done = project.snakemake("reproduce-all", "--dry-run")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == RESUME
    assert "Traceback" not in done.stderr
