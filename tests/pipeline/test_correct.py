"""The command `correct`: which decisions it adds, what it writes into config.yaml and sidecars, and what it refuses."""

import os
from pathlib import Path

import pandas as pd
import pytest
import yaml
from albums import make_tagged

from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.app.plain_yaml import check_file
from jointsparse.pipeline.datasets import corrections, keywords
from jointsparse.pipeline.datasets.metadata import tags_of
from jointsparse.pipeline.datasets.sidecars import predict
from jointsparse.pipeline.provenance.tables import write_table

TAGS = {"a.jpg": ["owl", "sea"], "b.jpg": ["owl"], "c.jpg": [], "d.jpg": ["sea"], "=1.jpg": ["sea"]}
ENTRY = "  photos:\n    # mine\n    loader: keywords    # tags in them\n    options: {root: photos, images: .}\n"
CONFIG = f"dataset: photos\ndatasets:\n{ENTRY}  other: {{loader: digits}}\n"
DECISIONS = "sample,tag,has\na.jpg,owl,no\nb.jpg,owl,yes\nd.jpg,dog,yes\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working folder, with photographs, and the names of the photographs that the last run used."""
    monkeypatch.chdir(tmp_path)
    make_tagged(tmp_path / "photos", TAGS)
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "given.csv").write_text(DECISIONS)
    write_table(pd.DataFrame({"image": [*TAGS]}), tmp_path / "results" / "photos" / "images.parquet")
    return tmp_path


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def decided(file="photos-corrections.csv"):
    return corrections.read(file).to_numpy().tolist()


OWL = [["a.jpg", "owl", False], ["b.jpg", "owl", True], ["d.jpg", "dog", True]]


def test_decisions_are_added_once_and_the_file_is_named_in_config_yaml(folder, capsys):
    assert main(["correct", "given.csv"]) == 0
    out = capsys.readouterr().out.split("\n")
    assert out[0] == "Added 3 decisions (3 new) to photos-corrections.csv."
    assert out[2:] == ["Learn from them with: jointsparse run", ""]
    assert decided() == OWL and (folder / "config.yaml").read_text() == CONFIG.replace(
        "# tags in them\n", "# tags in them\n    corrections: photos-corrections.csv\n"
    )
    before = files_in(folder)
    for again in ("given.csv", "photos-corrections.csv"):
        assert main(["correct", again]) == 0 and files_in(folder) == before
    assert capsys.readouterr().out.startswith("Added 3 decisions (0 new) to photos-corrections.csv.\nLearn")
    (folder / "given.csv").write_text("sample,tag,has\nb.jpg,owl,yes\na.jpg,owl,yes\n=1.jpg,@x,no\n")
    assert main(["correct", "given.csv"]) == 0
    assert decided() == [["a.jpg", "owl", True], *OWL[1:], ["=1.jpg", "@x", False]]
    assert capsys.readouterr().out.startswith("Added 3 decisions (2 new)")


OLD = {  # by dataset, a config.yaml, cut where the key comes
    "photos": [
        ("datasets:\r\n  photos:\r\n", "    options:\r\n      {root: photos}\r\n    loader: keywords\r\n"),
        ("datasets:\n    'photos':\n        loader: keywords # tags\n", "        options: {root: photos}"),
    ],
    "digits": [("seed: 2\n", ""), ("datasets:\n  digits:\n    note: mine", "")],  # the package's config.yaml has it
}


@pytest.mark.parametrize(("name", "first", "last"), [(name, *parts) for name, old in OLD.items() for parts in old])
def test_config_yaml_keeps_every_other_byte(folder, name, first, last):
    file, old = folder / "config.yaml", f"{first}{last}"
    file.write_bytes(old.encode())
    (folder / "results" / "digits").symlink_to("photos")
    assert main(["correct", "given.csv", "--dataset", name]) == 0
    new, before = file.read_bytes().decode(), yaml.safe_load(old).get("datasets") or {}
    assert new.startswith(first) and new.endswith(last) and new.count("\r\n") in (0, new.count("\n"))
    check_file(file)
    entry = before.get(name, {}) | {"corrections": f"{name}-corrections.csv"}
    assert yaml.safe_load(new)["datasets"] == before | {name: entry}


def test_a_dry_run_writes_nothing(folder, capsys):
    before = files_in(folder)
    assert main(["correct", "given.csv", "--xmp", "--dry-run"]) == 0
    assert files_in(folder) == before
    assert capsys.readouterr().out.split("\n") == [
        "Would add 3 decisions (3 new) to photos-corrections.csv.",
        "config.yaml would name this file in the entry of photos, with the key corrections.",
        "photos/d.jpg.xmp: adds 1 (dog)",
        "photos/a.jpg.xmp: no longer predicts 1 (owl)",
        "2 sidecars of 3 pictures would change.",
        "",
    ]


BAD = [
    (
        'sample,tag,has\nz.jpg,owl,yes\n../a.jpg,owl,no\n/a.jpg,owl,no\n"a\nb",owl,no\n',
        "but 4 of the samples were not in the last run",
    ),
    ("sample,tag,has\na.jpg,owl,perhaps\n", "given.csv line 2: has must be yes or no, got 'perhaps'"),
    ("sample,tag,has\n", "given.csv must hold at least one decision"),
]


@pytest.mark.parametrize(("content", "said"), BAD)
def test_a_bad_table_is_refused_in_a_line_and_nothing_is_written(folder, capsys, content, said):
    (folder / "given.csv").write_text(content)
    before = files_in(folder)
    assert main(["correct", "given.csv", "--xmp"]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and files_in(folder) == before


@pytest.mark.parametrize(
    ("config", "arguments", "said"),
    [
        (None, [], "this folder has no config.yaml"),
        (CONFIG.replace("dataset: photos", "dataset: [photos, other]"), [], "choose one with --dataset"),
        (CONFIG, ["--dataset", "nope"], "config.yaml has no dataset 'nope'"),
        (CONFIG, ["--dataset", "synthetic"], "draws its own tasks"),
        (CONFIG + ENTRY.replace("photos:", "more:"), ["--dataset", "more", "--xmp"], "--xmp needs the results of more"),
        (CONFIG, ["--dataset", "other", "--xmp"], "--xmp is for photographs, and other has none"),
        (
            "datasets: {photos: {loader: keywords, options: {root: photos}}}",
            ["--dataset", "photos"],
            "on lines of their",
        ),
    ],
)
def test_an_unfit_dataset_is_refused_in_a_line_and_nothing_is_written(folder, capsys, config, arguments, said):
    (folder / "config.yaml").write_text(config) if config else (folder / "config.yaml").unlink()
    before = files_in(folder)
    assert main(["correct", "given.csv", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and files_in(folder) == before


def test_samples_of_a_quick_run_and_of_a_full_run_count(folder, capsys):
    write_table(pd.DataFrame({"image": ["new.jpg"]}), "results/photos-quick/images.parquet")
    (folder / "given.csv").write_text("sample,tag,has\nnew.jpg,owl,yes\na.jpg,owl,no\n")
    assert main(["correct", "given.csv"]) == 0 and len(decided()) == 2
    (folder / "given.csv").write_text("sample,tag,has\nz.jpg,owl,yes\n")
    assert main(["correct", "given.csv"]) == 2
    assert "but 1 of the samples was not in the last run: 'z.jpg'. Remove" in capsys.readouterr().err


def test_sidecars_and_corrections_say_the_same_and_nothing_is_applied_twice(folder):
    predict({folder / "photos" / "d.jpg": ["dog"]}, [folder])
    assert main(["correct", "given.csv", "--xmp"]) == 0
    before = files_in(folder)
    assert main(["correct", "given.csv", "--xmp"]) == 0 and files_in(folder) == before
    assert {*tags_of(folder / "photos" / "d.jpg")} == {"sea", "dog"}  # the prediction is confirmed
    assert not (folder / "photos" / "b.jpg.xmp").exists()  # it has the tag already
    read = keywords.read("photos", images=".", smallest_side=32)
    again, once = (
        corrections.applied(read._replace(captions=captions), corrections.read("given.csv")).captions
        for captions in (corrections.applied(read, corrections.read("given.csv")).captions, read.captions)
    )
    pd.testing.assert_frame_equal(again, once)
    write_table(pd.DataFrame({"image": ["b.jpg"]}), "results/photos/images.parquet")
    assert main(["correct", "given.csv"]) == 0  # decisions about samples that the next run has lost
    os.remove("photos/d.jpg")
    assert main(["correct", "given.csv", "--xmp"]) == 1  # the photograph is not there any more
    assert not Path("photos/d.jpg").exists()
