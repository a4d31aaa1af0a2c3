"""Corrections: tables of decisions, the labels of a dataset after them, and what the command `correct` writes."""

import os
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from albums import lay, make_tagged

from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.app.plain_yaml import load_file
from jointsparse.pipeline.datasets import corrections
from jointsparse.pipeline.datasets.metadata import tags_of
from jointsparse.pipeline.datasets.samples import Samples, present
from jointsparse.pipeline.datasets.sidecars import predict
from jointsparse.pipeline.provenance.tables import write_table
from jointsparse.pipeline.words import choose_words

# Tables of decisions


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "tag;sample;note;has\r\nowl;a;1;yes\r\n\r\n dog ;b;2;no\r\nowl;a;3;no\r\nowl;b;;yes\r\n",
            [["a", "owl", False], ["b", "dog", False], ["b", "owl", True]],
        ),
        (
            "Sample, TAG,Has\ncaf\u00e9,owl, YES \nb,owl,No\ncafe\u0301,owl,no\n",
            [["cafe\u0301", "owl", False], ["b", "owl", False]],
        ),
    ],
    ids=[
        "later decisions override earlier ones, and other columns are ignored",
        "upper case, and two forms of Unicode",
    ],
)
def test_the_last_decision_on_a_label_counts_in_any_spelling(tmp_path, content, expected):
    (tmp_path / "mine.csv").write_bytes(content.encode())
    assert corrections.read(tmp_path / "mine.csv", ["b", "cafe\u0301"]).to_numpy().tolist() == expected


def test_any_name_survives_writing_and_reading(tmp_path):
    names = ["a,b", ' "c"', "../d", "/e", "new\nline", "=1+1", "'=1", "ça\r.jpg", "nan", "007"]
    decided = decisions([(name, "@owl, =x", i % 2) for i, name in enumerate(names)])
    corrections.write(decided, tmp_path / "mine.csv")
    pd.testing.assert_frame_equal(corrections.read(tmp_path / "mine.csv"), decided)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1: corrections must be a table with the columns sample,tag,has, got ''"),
        (
            "sample,tag,has,tag\na,owl,yes,x\n",
            "line 1: corrections must be a table with the columns",
        ),
        ('sample,tag,has\n"a\nb",owl,yes\n\nc,owl,maybe\n', "line 5: has must be yes or no, got 'maybe'"),
        ("sample,tag,has\na,owl\n", "line 2: expected 3 fields, got 2"),
        ("sample,tag,has\n,owl,yes\n", "line 2: sample must be a name, got ''"),
        ("sample,tag,has\na\0b,owl,yes\n", "line 2: "),
        ('sample,tag,has\na,"owl"s,yes\n', "line 2: "),
        ("sample,tag,has\n\udcff,owl,yes\n", "must be UTF-8 text, got byte 0xff in line 2"),
        (f"sample,tag,has\n{'x' * corrections.MOST_BYTES}", "must have at most 16,777,216 bytes, got "),
    ],
    ids=range(9),
)
def test_a_file_that_is_no_table_of_decisions_is_refused_with_its_line(tmp_path, content, said):
    (tmp_path / "mine.csv").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=f"mine.csv.*{re.escape(said)}"):
        corrections.read(tmp_path / "mine.csv")


# Labels after decisions

IMAGES = pd.DataFrame({"image": list("abcd"), "split": "train"})
NOTHING = pd.DataFrame(columns=["item", "reason"], dtype=str)
TWO = [("a", "owl"), ("a", "dog"), ("b", "owl"), ("c", "dog")]
TEXTS = [("a", "Two dogs and a cat."), ("b", "A dog."), ("b", "One cat."), ("c", "Grass")]
OF_TEXTS = [("a", "dog", False), ("c", "Dog", True), ("c", "grass", False)]
TAGS = {"split_captions": False}
# captions, which of them are known, decisions, options of words, and by word the labels of the samples (? is unknown)
CORRECTED = {
    "whole labels": (
        TWO,
        True,
        [("a", "owl", False), ("a", "dog", True), ("d", "owl", True), ("c", "cat", False)],
        TAGS,
        {"dog": "1010", "owl": "0101"},
    ),
    "unknown labels become known, and a new label is unknown where labels are unknown": (
        [(name, "owl") for name in "abcd"],
        [True, False, False, True],
        [("b", "owl", True), ("c", "owl", False), ("a", "dog", True), ("c", "dog", False)],
        TAGS,
        {"owl": "1101", "dog": "1?00"},
    ),
    "words of sentences": (TEXTS, True, OF_TEXTS, {"join_inflections": True}, {"dog": "0110", "cat": "1100"}),
    "words of sentences, in one form": (
        TEXTS,
        True,
        OF_TEXTS,
        {"join_inflections": False},
        {"dog": "0110", "dogs": "1000", "cat": "1100"},
    ),
    "the only sample of a word does not have it": (
        [("a", "An owl."), ("b", "A dog."), ("c", "A dog.")],
        True,
        [("a", "owl", False)],
        {},
        {"dog": "0110"},
    ),
}


def decisions(rows):
    return pd.DataFrame(rows, columns=["sample", "tag", "has"]).astype({"has": bool})


@pytest.mark.parametrize("name", CORRECTED)
def test_decisions_change_labels_and_a_second_time_nothing(name):
    rows, known, decided, options, expected = CORRECTED[name]
    captions = pd.DataFrame(rows, columns=["image", "caption"]).assign(**{} if known is True else {"known": known})
    once = corrections.applied(Samples(IMAGES, captions, NOTHING), decisions(decided))
    for corrected in (once, corrections.applied(once, decisions(decided))):
        assert not corrected.captions.duplicated(["image", "caption"]).any()
        words, labels = choose_words(IMAGES, corrected.captions, n_words="auto", **options)
        states = ["".join("01?"[state] for state in column) for column in labels.astype(int).T]
        assert dict(zip(words["word"], states, strict=True)) == expected


def test_experiments_read_no_label_that_is_absent_and_decisions_about_other_samples_are_listed():
    tags = [*TWO, ("b", " cafe\u0301 ")]  # whose other form is decided
    samples = Samples(IMAGES, pd.DataFrame(tags, columns=["image", "caption"]), NOTHING)
    decided = decisions([("a", "owl", False), ("b", "caf\u00e9", False), ("d", "cat", True), ("z", "owl", True)])
    corrected = corrections.applied(samples, decided, "mine.csv")
    assert present(corrected.captions).to_numpy().tolist() == [["a", "dog"], ["b", "owl"], ["c", "dog"], ["d", "cat"]]
    assert corrected.left_out.to_numpy().tolist() == [["z", "mine.csv decides about it, but it is not there"]]
    assert corrections.applied(samples, decided).left_out.empty  # the dataset was reduced


# The command

OWN = {"a.jpg": ["owl", "sea"], "b.jpg": ["owl"], "c.jpg": [], "d.jpg": ["sea"], "=1.jpg": ["sea"]}
ENTRY = "  photos:\n    # mine\n    loader: keywords    # tags in them\n    options: {root: photos, images: .}\n"
CONFIG = f"dataset: photos\ndatasets:\n{ENTRY}  other: {{loader: digits}}\n"
DECISIONS = "sample,tag,has\na.jpg,owl,no\nb.jpg,owl,yes\nd.jpg,dog,yes\n"


# what a run knows about the samples of a dataset
def ran(name, tags):
    captions = pd.DataFrame([(image, tag) for image, own in tags.items() for tag in own], columns=["image", "caption"])
    write_table(captions, f"results/{name}/captions.parquet")
    write_table(pd.DataFrame({"image": [*tags]}), f"results/{name}/images.parquet")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_tagged(tmp_path / "photos", OWN)
    lay(tmp_path, {"config.yaml": CONFIG, "given.csv": DECISIONS})
    ran("photos", OWN)
    return tmp_path


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def decided():
    return corrections.read("photos-corrections.csv").to_numpy().tolist()


OWL = [["a.jpg", "owl", False], ["b.jpg", "owl", True], ["d.jpg", "dog", True]]


def test_decisions_are_added_once_and_the_file_is_named_in_config_yaml(folder, capsys):
    assert main(["correct", "given.csv"]) == 0
    assert capsys.readouterr().out.split("\n") == [
        "3 decisions: 3 new, 0 changed, 0 known already.",
        "1 decision is about a tag that no sample has yet: dog",
        "Wrote photos-corrections.csv.",
        "config.yaml names photos-corrections.csv in the entry of photos, with the key corrections.",
        "Learn from them with: jointsparse run",
        "",
    ]
    key = "# tags in them\n    corrections: photos-corrections.csv\n"
    assert decided() == OWL and (folder / "config.yaml").read_text() == CONFIG.replace("# tags in them\n", key)
    before = files_in(folder)
    assert main(["correct", "photos-corrections.csv"]) == 0 and files_in(folder) == before
    assert capsys.readouterr().out == "3 decisions: 0 new, 0 changed, 3 known already.\n"
    ran("photos-quick", {"new.jpg": ["fox"]})  # samples of quick runs count, too
    (folder / "given.csv").write_text("sample,tag,has\nb.jpg,owl,yes\na.jpg,owl,yes\n=1.jpg,@x,yes\nnew.jpg,fox,no\n")
    assert main(["correct", "given.csv"]) == 0
    assert decided() == [["a.jpg", "owl", True], *OWL[1:], ["=1.jpg", "@x", True], ["new.jpg", "fox", False]]
    assert capsys.readouterr().out.startswith("4 decisions: 2 new, 1 changed, 1 known already.\n")
    ran("photos-quick", OWN)  # without new.jpg, which has a decision already
    (folder / "given.csv").write_text("sample,tag,has\nb.jpg,owl,no\nnew.jpg,fox,yes\n")
    assert main(["correct", "given.csv"]) == 0 and decided()[1:5:3] == [[*OWL[1][:2], False], ["new.jpg", "fox", True]]


OLD = {  # by dataset, a config.yaml, cut where the key comes
    "photos": [
        ("datasets:\r\n  photos:\r\n", "    options:\r\n      {root: photos}\r\n    loader: keywords\r\n"),
        ("datasets:\n  photos:\n    loader: keywords\n    corrections:", "   # none\n    options: {root: photos}"),
        ("datasets: {photos: {loader: keywords, corrections: ", ", options: {root: photos}}}\n"),
        ("datasets:\r\n  photos:\r\n    corrections: ", "\r\n    loader: keywords\r\n    options: {root: photos}"),
        ("datasets:\n    'photos':\n        loader: keywords # tags\n", "        options: {root: photos}"),
    ],
    "digits": [("seed: 2\n", ""), ("datasets:\n  digits:\n    note: mine", "")],  # the package's config.yaml has it
}


@pytest.mark.parametrize(("name", "first", "last"), [(name, *parts) for name, old in OLD.items() for parts in old])
def test_config_yaml_keeps_every_other_byte(folder, name, first, last):
    file, old = folder / "config.yaml", f"{first}{last}"
    file.write_bytes(old.encode())
    ran(name, OWN)
    assert main(["correct", "given.csv", "--dataset", name]) == 0
    new, before = file.read_bytes().decode(), yaml.safe_load(old).get("datasets") or {}
    assert new.startswith(first) and new.endswith(last) and new.count("\r\n") in (0, new.count("\n"))
    entry = before.get(name, {}) | {"corrections": f"{name}-corrections.csv"}
    assert load_file(file)["datasets"] == before | {name: entry}


def test_a_dry_run_writes_nothing(folder, capsys):
    before = files_in(folder)
    assert main(["correct", "given.csv", "--xmp", "--dry-run"]) == 0 and files_in(folder) == before
    assert capsys.readouterr().out.split("\n") == [
        "3 decisions: 3 new, 0 changed, 0 known already.",
        "1 decision is about a tag that no sample has yet: dog",
        "Would write photos-corrections.csv.",
        "config.yaml would name photos-corrections.csv in the entry of photos, with the key corrections.",
        "photos/d.jpg.xmp: adds 1 (dog)",
        "photos/a.jpg.xmp: rejects 1 (owl)",
        "2 sidecars of 3 pictures would change.",
        "",
    ]


ROWS = {
    "samples": 'sample,tag,has\nz.jpg,owl,yes\n../a.jpg,owl,no\n/a.jpg,owl,no\n"a\nb",owl,no\n',
    "value": "sample,tag,has\na.jpg,owl,perhaps\n",
    "none": "sample,tag,has\n",
    "tags": "sample,tag,has\na.jpg,Owl,no\na.jpg,dog,no\nb.jpg,fox,yes\nd.jpg,fox,no\n",
}
REFUSED = [  # the table, config.yaml, further arguments, and a part of the line
    (ROWS["samples"], CONFIG, ["--xmp"], "but 4 of the samples were not in the last run: 'z.jpg', "),
    (ROWS["value"], CONFIG, [], "given.csv line 2: has must be yes or no, got 'perhaps'"),
    (ROWS["none"], CONFIG, [], "given.csv must hold at least one decision"),
    (ROWS["tags"], CONFIG, [], "it: 'Owl' (similar: 'owl'), 'dog'."),
    (DECISIONS, None, [], "this folder has no config.yaml"),
    (DECISIONS, CONFIG.replace("t: photos", "t: [photos, other]", 1), [], "choose one with --dataset"),
    (DECISIONS, CONFIG, ["--dataset", "nope"], "config.yaml has no dataset 'nope'"),
    (DECISIONS, CONFIG, ["--dataset", "synthetic"], "draws its own tasks"),
    (
        DECISIONS,
        CONFIG + ENTRY.replace("photos:", "more:"),
        ["--dataset", "more"],
        "there was none: start one with jointsparse run --d",
    ),
    (
        DECISIONS,
        CONFIG.replace("# tags", "\n    corrections: x.csv #"),
        [],
        "corrections x.csv, which are not there",
    ),
    (DECISIONS, "datasets:\n  digits: {}\n", ["--dataset", "digits"], "on lines of their own"),
    (DECISIONS, "dataset: photos\ndatasets:\n  photos:  # none\n", [], "photos must be a block of keys, got nothing"),
    (DECISIONS, CONFIG, ["--dataset", "other", "--xmp"], "--xmp is for photographs, and other has none"),
]


@pytest.mark.parametrize(("rows", "config", "arguments", "said"), REFUSED)
def test_what_cannot_be_corrected_is_refused_in_a_line_and_nothing_is_written(
    folder, capsys, rows, config, arguments, said
):
    ran("digits", OWN)
    (folder / "given.csv").write_text(rows)
    (folder / "config.yaml").write_text(config) if config else (folder / "config.yaml").unlink()
    before = files_in(folder)
    assert main(["correct", "given.csv", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and files_in(folder) == before


def test_sidecars_and_corrections_say_the_same_and_nothing_is_applied_twice(folder):
    predict({folder / "photos" / "d.jpg": ["dog"]}, [folder])
    assert main(["correct", "given.csv", "--xmp"]) == 0
    before = files_in(folder)
    assert main(["correct", "given.csv", "--xmp"]) == 0 and files_in(folder) == before
    assert {*tags_of(folder / "photos" / "d.jpg")} == {"sea", "dog"}  # the prediction is confirmed
    assert b"owl" in before[folder / "photos" / "a.jpg.xmp"]  # the tag in the photograph is rejected
    assert folder / "photos" / "b.jpg.xmp" not in before  # it has the tag already
    os.remove("photos/d.jpg")
    assert main(["correct", "given.csv", "--xmp"]) == 1  # the photograph is not there any more


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("config.yaml", "config.yaml is read-only"),
        ("photos-corrections.csv", "photos-corrections.csv is read-only"),
        (".", "photos-corrections.csv cannot be written into {}, which is read-only"),
    ],
)
def test_nothing_that_is_read_only_is_changed(folder, capsys, file, said):
    (folder / "photos-corrections.csv").write_text("sample,tag,has\n")
    before = files_in(folder)
    Path(file).chmod(0o555 if file == "." else 0o444)
    assert main(["correct", "given.csv"]) == 2 and files_in(folder) == before
    Path(file).chmod(0o755)
    error = capsys.readouterr().err
    assert said.format(folder) in error and error.count("\n") == 1


def test_files_keep_their_modes_and_links_stay(folder):
    (folder / "config.yaml").chmod(0o640)
    (folder / "config.yaml").rename("mine.yaml")
    (folder / "config.yaml").symlink_to("mine.yaml")
    assert main(["correct", "given.csv"]) == 0 and "corrections" in (folder / "mine.yaml").read_text()
    assert (folder / "mine.yaml").stat().st_mode & 0o777 == 0o640


def test_words_and_stems_are_compared_where_the_model_joins_them(folder, capsys):
    final = "    final: {like: own-words, words: {split_captions: true, join_inflections: true}}\n"
    (folder / "config.yaml").write_text(CONFIG.replace("    options", f"{final}    options", 1))
    ran("photos", {"a.jpg": ["Two dogs."], "b.jpg": ["A black cat"]})
    (folder / "given.csv").write_text("sample,tag,has\na.jpg,Dog,no\nb.jpg,Cats black,no\nb.jpg,blakc,no\n")
    assert main(["correct", "given.csv"]) == 2
    assert "no sample has it: 'blakc' (similar: 'black')." in capsys.readouterr().err


def test_samples_are_found_in_either_unicode_form_and_other_columns_stay(folder):
    ran("photos", {"cafe\u0301.jpg": ["owl"], "b.jpg": ["sea"]})
    (folder / "photos-corrections.csv").write_text("note,sample,tag,has\nmine,caf\u00e9.jpg,owl,no\n,b.jpg,sea,no\n")
    (folder / "given.csv").write_text("Sample,TAG,Has\ncaf\u00e9.jpg,owl, YES\nb.jpg,owl,No \n")
    assert main(["correct", "given.csv"]) == 0
    assert (folder / "photos-corrections.csv").read_text().split() == [
        "sample,tag,has,note",
        "cafe\u0301.jpg,owl,yes,mine",
        "b.jpg,sea,no,",
        "b.jpg,owl,no,",
    ]
