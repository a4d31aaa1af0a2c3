"""What `jointsparse init` takes files and columns for, what it reports and leaves out, and when it stops."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from common import run_python
from PIL import Image

from jointsparse.pipeline.app import config
from jointsparse.pipeline.app.command_line import WORKFLOW, main
from jointsparse.registry import pick

X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
Y = pd.DataFrame((X[:, :3] > 0).astype(int), columns=["cat", "dog", "sea"])
CLASSES = np.array(["cat", "dog", "sea"])[X[:, :3].argmax(axis=1)]
NAMED = pd.DataFrame(X, columns=list("abcd"))


def lay(root, files):
    """Write arrays, tables and texts to files, given by name."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pd.DataFrame):
            content.to_parquet(path) if path.suffix == ".parquet" else content.to_csv(path, index=False)
        elif isinstance(content, np.ndarray):
            np.save(path, content)
        elif isinstance(content, int):
            Image.fromarray(np.random.default_rng(content).integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(path)
        else:
            path.write_text(content, encoding="utf-8")


def init(root, monkeypatch, files, **choices):
    """Return what `init` reports on a folder of these files, the options that it writes, and what the loader reads."""
    lay(root / "data", files)
    (root / "run").mkdir(exist_ok=True)
    monkeypatch.chdir(root / "run")
    Path("config.yaml").unlink(missing_ok=True)
    said = config.write(root / "data", Path("config.yaml"), WORKFLOW, choices)
    (entry,) = yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8"))["datasets"].values()
    more = {"smallest_side": 8} if entry["loader"] in ("photos", "scenes") else {}
    read = pick("datasets", entry["loader"]).read(**entry["options"], **more)
    return said, {key: value for key, value in entry["options"].items() if key != "root"}, read


def labels_of(read):
    known = read.captions["known"].astype(bool) if "known" in read.captions else slice(None)
    return read.captions.loc[known, "caption"].value_counts().to_dict()


OF_Y = {name: int(Y[name].sum()) for name in Y}
OF_CLASSES = pd.Series(CLASSES).value_counts().to_dict()
OF_TAGS = "labels.csv: tags: labels"
LEFT_OUT = "smiles, age: left out (--text COLUMN shows a column on the page)"


def test_editors_find_the_schema_by_the_first_line(tmp_path):
    workflow = tmp_path / "my workflow"
    lay(workflow, {"config.yaml": (WORKFLOW / "config.yaml").read_text(encoding="utf-8")})
    lay(tmp_path / "data", {"features.npy": X, "labels.csv": Y})
    config.write(tmp_path / "data", tmp_path / "config.yaml", workflow)
    first, *_ = (tmp_path / "config.yaml").read_text(encoding="utf-8").splitlines()
    assert first == f"# yaml-language-server: $schema=file://{tmp_path}/my%20workflow/config/schema.json"


@pytest.mark.parametrize(
    ("labels", "expected", "line"),
    [
        (Y, OF_Y, "labels.csv: 3 labels (cat, dog, sea)"),
        (Y.rename(columns={"cat": "file"}), {"file": OF_Y["cat"]}, "labels.csv: 3 labels (file, dog, sea)"),
        (Y.rename(columns={"cat": "id"}), {"id": OF_Y["cat"]}, "labels.csv: 3 labels (id, dog, sea)"),
        (Y.rename(columns={"cat": "text"}), {"text": OF_Y["cat"]}, "labels.csv: 3 labels (text, dog, sea)"),
        (pd.DataFrame({"label": CLASSES}), OF_CLASSES, "labels.csv: label: labels"),
        (pd.DataFrame({"species": CLASSES}), OF_CLASSES, "labels.csv: species: labels"),
        (
            pd.DataFrame({"y": X[:, :3].argmax(axis=1) + 3}),
            {str(3 + i): OF_CLASSES[name] for i, name in enumerate(("cat", "dog", "sea"))},
            "labels.csv: y: labels",
        ),
        (pd.DataFrame({"tags": [str([name]) for name in CLASSES]}), OF_CLASSES, OF_TAGS),
        (
            pd.DataFrame({"tags": [str(np.array([name, "x"])) for name in CLASSES]}),
            {"x": 60},
            "labels.csv: tags: labels",
        ),
        (
            pd.DataFrame({"tags": [json.dumps([name, None]) for name in CLASSES]}),
            OF_CLASSES,
            "labels.csv: tags: labels",
        ),
        (
            Y.assign(id=range(60), smiles=[f"C{i}" for i in range(60)], age=range(60)),
            OF_Y,
            f"labels.csv: 3 labels (cat, dog, sea); id: names; {LEFT_OUT}",
        ),
        (
            Y.assign(image=[f"https://x.org/{i}.jpg" for i in range(60)]),
            OF_Y,
            "labels.csv: 3 labels (cat, dog, sea); image: left out (--text COLUMN shows a column on the page)",
        ),
        (
            Y.assign(File=[f"{i}.png" for i in range(60)], SPLIT=["train", "val", "test"] * 20, title="A sea."),
            OF_Y,
            "labels.csv: 3 labels (cat, dog, sea); SPLIT: splits; File: pictures; title: text",
        ),
    ],
)
def test_content_and_name_decide_what_a_column_is_taken_for(tmp_path, monkeypatch, labels, expected, line):
    said, _, read = init(tmp_path, monkeypatch, {"features.npy": X, "labels.csv": labels})
    assert f"  {line}" in said and "  features.npy: features" in said
    got = labels_of(read)
    assert {name: got[name] for name in expected} == expected
    np.testing.assert_array_equal(read.X, X)


def test_the_choice_of_the_user_decides_what_a_column_is(tmp_path, monkeypatch):
    labels = Y.assign(address="1 Sea Road", note="x")
    files = {"features.npy": X, "labels.csv": labels}
    _, options, read = init(tmp_path, monkeypatch, files, text="address", ignore=["note", "sea"])
    assert options["text"] == "address" and options["ignore"] == ["note", "sea"]
    assert set(labels_of(read)) == {"cat", "dog"} and set(read.images["text"]) == {"1 Sea Road"}


def test_two_columns_of_classes_are_an_error_until_one_is_chosen(tmp_path, monkeypatch):
    files = {"features.npy": X, "labels.csv": pd.DataFrame({"genus": CLASSES, "family": CLASSES})}
    with pytest.raises(ValueError, match="several columns could list them, got genus, family: choose one with --tags"):
        init(tmp_path, monkeypatch, files)
    ages = {"labels.csv": pd.DataFrame({"age": range(60), "note": [f"n{i}" for i in range(60)]})}
    with pytest.raises(ValueError, match=r"no column could list them, got age, note: choose one with --tags COLUMN"):
        init(tmp_path, monkeypatch, ages)
    _, options, read = init(tmp_path, monkeypatch, files, tags="family")
    assert labels_of(read) == OF_CLASSES and options["tags"] == "family"


def test_labels_and_row_numbers_among_the_features_are_left_out(tmp_path, monkeypatch):
    features = NAMED.assign(cat=Y["cat"], id=range(60), name="x")
    said, _, read = init(tmp_path, monkeypatch, {"features.csv": features, "labels.csv": Y})
    np.testing.assert_array_equal(read.X, X)
    line = "features.csv: 4 columns of features; id, name: left out; cat: left out, because also in labels.csv"
    assert f"  {line}" in said
    assert read.left_out["item"].tolist() == ["cat (feature)"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_embeddings_may_be_lists_in_a_column(tmp_path, monkeypatch, kind):
    table = pd.DataFrame({"embedding": X.astype(float).tolist()})
    _, options, read = init(tmp_path, monkeypatch, {f"features.{kind}": table, "labels.csv": Y})
    np.testing.assert_allclose(read.X, X, rtol=1e-6)
    names = pick("datasets", "arrays").feature_names(tmp_path / "data", **options)
    assert names == [f"embedding {i}" for i in range(1, 5)]
    table.loc[7, "embedding"] = table.loc[7, "embedding"][:3] if kind == "parquet" else "[1.0]"
    with pytest.raises(
        ValueError, match=r"must hold a list of 4 numbers in each row of the column 'embedding', got .* 8"
    ):
        init(tmp_path, monkeypatch, {f"features.{kind}": table})


def test_the_parts_of_a_table_are_joined(tmp_path, monkeypatch):
    files = {f"features-{i:05}-of-00003.parquet": NAMED[20 * i : 20 * i + 20] for i in range(3)}
    _, options, read = init(tmp_path, monkeypatch, files | {"labels.csv": Y})
    np.testing.assert_array_equal(read.X, X)
    assert options["features"] == sorted(files) and labels_of(read) == OF_Y


@pytest.mark.parametrize(
    "copy",
    [
        "labels (copy).csv",
        "labels copy.csv",
        "labels (1).csv",
        "labels_old.csv",
        "Copy of labels.csv",
        "test_labels.csv",
    ],
)
def test_where_several_files_fit_init_stops_and_names_the_options(tmp_path, monkeypatch, capsys, copy):
    files = {"features.npy": X, "labels.csv": Y, copy: 1 - Y}
    with pytest.raises(ValueError, match=r"choose one with --labels FILE, or leave some out with --ignore") as error:
        init(tmp_path, monkeypatch, files)
    assert "labels.csv" in str(error.value) and copy in str(error.value)
    for choice in (["--labels", "labels.csv"], ["--ignore", copy]):
        assert main(["init", str(tmp_path / "data"), *choice]) == 0
        said = capsys.readouterr().out
        assert "labels.csv: 3 labels" in said and (f"not used: {copy}" in said) == ("--labels" in choice)
        Path("config.yaml").unlink()


@pytest.mark.parametrize("place", ["old", ".ipynb_checkpoints"])
def test_a_file_in_the_folder_itself_comes_before_a_file_in_a_subfolder(tmp_path, monkeypatch, place):
    files = {"features.npy": X, "labels.csv": Y, f"{place}/labels.csv": 1 - Y}
    said, options, read = init(tmp_path, monkeypatch, files)
    assert (options["labels"], labels_of(read)) == ("labels.csv", OF_Y)
    assert ("  not used: old/labels.csv" in said) == (place == "old")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"labels.npy": Y.to_numpy() + 1j}, "labels.npy must hold real numbers or text, got complex128"),
        ({"labels.npy": Y.to_numpy()[:, :, np.newaxis]}, r"a row of labels for each sample, got shape \(60, 3, 1\)"),
        (
            {"labels.csv": pd.DataFrame({"tags": ["[cat"] * 30 + ["[cat, dog]"] * 30})},
            r"cell, got '\[cat, dog\]': write",
        ),
        (
            {"train_labels.npy": Y[:40].to_numpy(), "test_labels.npy": Y[40:].to_numpy()},
            "files for the same splits, got",
        ),
    ],
)
def test_the_error_about_labels_that_cannot_be_read_says_why(tmp_path, monkeypatch, files, said):
    with pytest.raises(ValueError, match=said):
        init(tmp_path, monkeypatch, {"features.npy": X} | files)


def test_an_archive_of_two_arrays_is_refused(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "features.npz", X=X, y=Y)
    with pytest.raises(ValueError, match="must hold a single array, got X, y: save one array"):
        init(tmp_path, monkeypatch, {"labels.csv": Y})


PICTURES = {f"{i:02}.png": i for i in range(40)}
TEXTS = {name: f"A {('cat', 'dog')[i % 2]}." for name, i in PICTURES.items()}


def csv(names, texts=TEXTS):
    return "image,caption\n" + "".join(f"{name},{texts[name]}\n" for name in names)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokens.txt", "".join(f"{name}#0\t{text}\n" for name, text in TEXTS.items())),
        (
            "results.csv",
            "image_name| comment_number| comment\n" + "".join(f"{name}| 0| {text}\n" for name, text in TEXTS.items()),
        ),
        ("metadata.csv", "file_name,text\n" + "".join(f"{name},{text}\n" for name, text in TEXTS.items())),
    ],
)
def test_captions_in_several_formats_are_read(tmp_path, monkeypatch, checked_here, name, content):
    said, options, read = init(tmp_path, monkeypatch, PICTURES | {name: content})
    assert options["captions"] == name and f"  {name}: captions of 40 of 40 pictures" in said
    assert labels_of(read) == {"A cat.": 20, "A dog.": 20}


def by_picture(content, name="file_name", caption="text", *, own=range(40), splits=()):
    """Return the captions of some pictures as lines of JSON or as a table, with the given names of the columns."""
    files = list(PICTURES)
    table = pd.DataFrame({name: [files[i] for i in own], caption: [TEXTS[files[i]] for i in own]})
    table = table.assign(split=[splits[i % len(splits)] for i in own]) if splits else table
    return table if content is pd.DataFrame else table.to_json(orient="records", lines=True)


KARPATHY = [
    {"filename": name, "split": ("train", "restval", "test")[i % 3], "sentences": [{"raw": text}]}
    for i, (name, text) in enumerate(TEXTS.items())
]


COCO = {
    "images": [{"id": i, "file_name": image["filename"], "split": image["split"]} for i, image in enumerate(KARPATHY)],
    "annotations": [{"image_id": i, "caption": text} for i, text in enumerate(TEXTS.values())],
}


@pytest.mark.parametrize(
    ("name", "content", "test"),
    [
        ("captions.parquet", by_picture(pd.DataFrame, "image", "caption"), None),
        ("metadata.jsonl", by_picture(str), None),
        ("captions.csv", by_picture(pd.DataFrame, splits=("train", "val", "test")), range(2, 40, 3)),
        (
            "captions.csv",
            by_picture(pd.DataFrame, splits=("train", "val", "test")).rename(columns=str.title),
            range(2, 40, 3),
        ),
        ("metadata.jsonl", by_picture(str, splits=("train", "train", "test")), range(2, 40, 3)),
        ("dataset.json", json.dumps({"images": KARPATHY}), range(2, 40, 3)),
        ("coco.json", json.dumps(COCO), range(2, 40, 3)),
    ],
)
def test_a_table_of_captions_may_hold_the_splits(tmp_path, monkeypatch, checked_here, name, content, test):
    said, _, read = init(tmp_path, monkeypatch, PICTURES | {name: content})
    assert labels_of(read) == {"A cat.": 20, "A dog.": 20}
    assert (f"  {name}: splits of 40 of 40 pictures" in said) == (test is not None)
    got = set(read.images["image"][read.images["split"] == "test"])
    assert test is None or got == {f"{i:02}.png" for i in test}


@pytest.mark.parametrize("start", [28, 0])  # 0: the pictures of both splits have the same names
def test_a_table_of_captions_may_lie_beside_the_pictures_of_each_split(tmp_path, monkeypatch, checked_here, start):
    files = {"train/metadata.csv": by_picture(pd.DataFrame, own=range(28))}
    files["test/metadata.csv"] = by_picture(pd.DataFrame, own=range(start, start + 12))
    files |= {f"train/{i:02}.png": i for i in range(28)} | {f"test/{start + i:02}.png": 28 + i for i in range(12)}
    _, _, read = init(tmp_path, monkeypatch, files)
    assert {name.split("/")[0] for name in read.images["image"][read.images["split"] != "test"]} == {"train"}
    assert (read.images["split"] == "test").sum() == 12 and read.left_out.empty and len(read.captions) == 40


@pytest.mark.parametrize(
    "folders",
    [
        *(("training_set", "test_set"), ("seg_train", "seg_test"), ("train2017", "val2017"), ("trainset", "testset")),
        *(("Training Data", "Testing Data"), ("TrainingSet", "TestSet"), ("train", "pred"), ("train", "test", "extra")),
    ],
)
def test_folders_that_are_named_after_splits_are_not_classes(tmp_path, monkeypatch, folders):
    files = {f"{folder}/{k}/{i}.png": i for folder in folders for k in ("cat", "dog") for i in range(3)}
    with pytest.raises(ValueError, match=rf"every folder must be a class, .* named after splits .*{folders[0]}"):
        init(tmp_path, monkeypatch, files)


@pytest.mark.parametrize("files", [{}, {"captions.csv": csv(PICTURES)}])
def test_folders_of_splits_below_classes_or_captions_ask_for_a_table(tmp_path, monkeypatch, checked_here, files):
    names = {f"{i % 2}/{('train', 'test')[i % 3 == 0]}/{name}": i for i, name in enumerate(PICTURES)}
    with pytest.raises(
        ValueError, match=r"named after splits \(test, train\), .*: write splits\.csv with the columns image,split"
    ):
        init(tmp_path, monkeypatch, names | files)
    splits = "image,split\n" + "".join(f"{name},{('train', 'test')[i % 3 == 0]}\n" for i, name in enumerate(PICTURES))
    said, _, read = init(tmp_path, monkeypatch, {"splits.csv": splits})
    assert "  splits.csv: splits of 40 of 40 pictures" in said and (read.images["split"] == "test").sum() == 14


def test_a_class_may_be_called_train(tmp_path, monkeypatch, checked_here):
    files = {f"{name}/{i}.png": 20 * k + i for k, name in enumerate(("train", "car", "bus")) for i in range(20)}
    assert labels_of(init(tmp_path, monkeypatch, files)[2]) == {"train": 20, "car": 20, "bus": 20}


def test_the_error_about_a_picture_in_two_splits_names_the_files(tmp_path, monkeypatch):
    files = {
        f"captions_{part}.csv": by_picture(pd.DataFrame, own=own)
        for part, own in (("train", range(28)), ("val", range(27, 40)))
    }
    with pytest.raises(ValueError, match=r"^captions_train\.csv and captions_val\.csv must give .* two for '27\.png'"):
        init(tmp_path, monkeypatch, PICTURES | files)


def test_texts_that_programs_write_for_a_missing_value_are_no_captions(tmp_path, monkeypatch, checked_here):
    texts = TEXTS | dict(zip(TEXTS, ("nan", "NaN", "None", "null", "N/A", ""), strict=False))
    said, _, read = init(tmp_path, monkeypatch, PICTURES | {"captions.csv": csv(PICTURES, texts)})
    assert "  captions.csv: captions of 34 of 40 pictures" in said and set(read.left_out["reason"]) == {"no caption"}
    assert labels_of(read) == {"A cat.": 17, "A dog.": 17}


def test_init_reports_pictures_outside_the_folder(tmp_path, monkeypatch, checked_here):
    files = {f"a/{name}": i for name, i in PICTURES.items()} | {f"b/{i:02}.png": 100 + i for i in range(10)}
    said, options, _ = init(tmp_path, monkeypatch, files | {"captions.csv": csv(PICTURES)})
    assert options["images"] == "a" and "  not used: 10 pictures outside a, such as b/00.png" in said
    said, options, read = init(tmp_path, monkeypatch, {"captions.csv": csv(list(PICTURES)[10:]), "b/x.png": 200})
    (tmp_path / "data" / "a" / "39.png").rename(tmp_path / "data" / "b" / "39.png")
    said, options, read = init(tmp_path, monkeypatch, {})
    assert options["images"] == "." and {"a/38.png", "b/39.png"} <= set(read.images["image"])


def test_init_names_a_link_that_is_not_followed(tmp_path, monkeypatch, checked_here):
    (tmp_path / "data" / "a").mkdir(parents=True)
    (tmp_path / "data" / "a" / "up").symlink_to("../..")
    said, _, _ = init(tmp_path, monkeypatch, PICTURES | {"captions.csv": csv(PICTURES)})
    assert said[-1] == "  not used: a/up, a link to a folder above a folder of data or of results"


def test_init_reports_equal_pictures_in_two_classes(tmp_path, monkeypatch, checked_here):
    files = {f"{k}/{i}.png": 20 * n + i for n, k in enumerate(("cat", "dog")) for i in range(20)}
    said, _, _ = init(tmp_path, monkeypatch, files | {f"cat - Copy/{i}.png": i for i in range(16)})
    (line,) = (line for line in said if "the same bytes" in line)
    assert line.startswith("  16 pictures ") and "such as cat - Copy/0.png and cat/0.png" in line


@pytest.mark.parametrize("name", ["captions.csv", "notes.csv", "captions.jsonl", "captions.parquet"])
def test_the_error_about_chosen_captions_that_cannot_be_read_names_the_file(tmp_path, monkeypatch, name):
    files = {f"{k}/{i}.png": 20 * n + i for n, k in enumerate(("cat", "dog")) for i in range(20)}
    content = pd.DataFrame({"a": ["b"]}) if name.endswith(("csv", "parquet")) else '{"a": "b"}\n'
    with pytest.raises(ValueError, match=rf"{name} must .* image,caption.* got "):
        init(tmp_path, monkeypatch, files | {name: content}, captions=name)


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        *(({"ignore": [name]}, f"--ignore {name}") for name in ("nope.csv", "0", "splits.csv")),
        *(({key: "splits.csv"}, f"--{key} splits.csv") for key in ("labels", "text")),
    ],
)
def test_choices_without_effect_are_refused(tmp_path, monkeypatch, choice, said):
    files = {f"{i % 2}/{name}": i for name, i in PICTURES.items()} | {"splits.csv": "image,split\n"}
    splits = "image,split\n" + "".join(f"{name},{('train', 'test')[i % 3 == 0]}\n" for name, i in PICTURES.items())
    with pytest.raises(ValueError, match=f"in 2 folders, one per class, and {said} has no effect there: leave it out"):
        init(tmp_path, monkeypatch, files | {"splits.csv": splits}, **choice)


def test_splits_of_other_pictures_are_refused(tmp_path, monkeypatch):
    files = PICTURES | {"captions.csv": csv(PICTURES), "splits.csv": "image,split\nx.png,train\n"}
    with pytest.raises(ValueError, match=r"splits\.csv must name the pictures .* such as '00\.png', got 'x\.png'"):
        init(tmp_path, monkeypatch, files)


def test_the_error_names_a_table_that_cannot_be_read_and_the_reason(tmp_path, monkeypatch):
    with pytest.raises(
        ValueError, match=r"got labels\.csv, .*labels\.csv must .* columns image,caption, .*'image,label'"
    ):
        init(tmp_path, monkeypatch, PICTURES | {"labels.csv": csv(PICTURES).replace("caption", "label")})


def test_the_folders_and_files_of_coco_are_read_as_published(tmp_path, monkeypatch, checked_here):
    files = {}
    for part, own in (("train2017", range(30)), ("val2017", range(30, 40))):
        files |= {f"{part}/{i:012}.png": i for i in own}
        images = [{"id": i, "file_name": f"{i:012}.png"} for i in own]
        annotations = [{"id": i, "image_id": i, "caption": f"A {('cat', 'dog')[i % 2]}."} for i in own]
        files[f"annotations/captions_{part}.json"] = json.dumps({"images": images, "annotations": annotations})
    _, _, read = init(tmp_path, monkeypatch, files)
    assert len(read.images) == len(read.captions) == 40
    assert set(read.images["image"][read.images["split"] == "test"]) == {f"val2017/{i:012}.png" for i in range(30, 40)}


def test_several_libsvm_files_must_be_named_after_splits(tmp_path, monkeypatch):
    files = dict.fromkeys(("a.svm", "b.svm"), "".join(f"{i % 2} 1:{i}\n" for i in range(40)))
    with pytest.raises(ValueError, match=r"samples must be .*: a\.svm, b\.svm\. To .* leave some out with --ignore"):
        init(tmp_path, monkeypatch, files)
    _, options, read = init(tmp_path, monkeypatch, files, ignore=["b.svm"])
    assert options["train"] == "a.svm" and len(read.images) == 40


def test_init_works_on_a_terminal_that_has_only_ascii(tmp_path):
    lay(tmp_path / "data", {"features.npy": X, "labels.csv": Y.rename(columns={"cat": "chat noir é"})})
    (tmp_path / "run").mkdir()
    said = run_python(
        *("-m", "jointsparse", "init", "../data"), cwd=tmp_path / "run", variables={"PYTHONIOENCODING": "ascii:strict"}
    )
    assert r"chat noir \xe9" in said and (tmp_path / "run" / "config.yaml").is_file()


@pytest.mark.parametrize("below", ["", "images/"])
def test_files_with_contradicting_captions_are_refused_until_one_is_chosen(tmp_path, monkeypatch, checked_here, below):
    draft = csv(PICTURES, dict.fromkeys(PICTURES, "A draft.")).replace("\n0", f"\n{below}0")
    files = {f"{below}{name}": i for name, i in PICTURES.items()}
    files |= {"captions.csv": csv(PICTURES), "captions old.csv": draft}
    with pytest.raises(
        ValueError, match=rf"captions old\.csv and captions\.csv give different captions for '{below}00\.png': choose"
    ):
        init(tmp_path, monkeypatch, files)
    _, options, read = init(tmp_path, monkeypatch, files, captions="captions.csv")
    assert options["captions"] == "captions.csv" and labels_of(read) == {"A cat.": 20, "A dog.": 20}


def test_the_error_about_missing_captions_names_the_table(tmp_path, monkeypatch):
    files = PICTURES | {"captions.csv": "image,caption\n"}
    with pytest.raises(ValueError, match=r"captions\.csv must hold at least one caption, got none"):
        init(tmp_path, monkeypatch, files)
    files = PICTURES | {"pictures.csv": "a,b\n1,2\n", "captions.csv": csv([])}
    (tmp_path / "data" / "captions.csv").unlink()
    del files["captions.csv"]
    with pytest.raises(ValueError, match=r"got pictures\.csv, 00\.png"):
        init(tmp_path, monkeypatch, files)


def columns(**more):
    return NAMED.assign(**{name.replace("_", " "): values for name, values in more.items()})


CODES = X[:, :3].argmax(axis=1)
TAGGED = pd.DataFrame({"tags": [";".join(Y.columns[row == 1]) for row in Y.to_numpy()]})


@pytest.mark.parametrize(
    ("features", "labels", "line"),
    [
        (
            columns(Cat=Y["cat"], _dog=1 - Y["dog"]),
            {"labels.csv": Y},
            "Cat,  dog: left out, because they copy labels",
        ),
        (
            columns(cat=Y["cat"], dog=Y["dog"]),
            {"labels.csv": TAGGED},
            "cat, dog: left out, because they copy labels",
        ),
        (columns(code=7 * CODES), {"labels.npy": CLASSES}, "code: left out, because they copy labels"),
        (
            columns(target=CODES),
            {"labels.csv": pd.DataFrame({"species": CLASSES})},
            "4 columns of features; target: left out, because labels have such names",
        ),
        (columns(image_id=range(60)).rename(columns={"image id": "image_id"}), {"labels.csv": Y}, "image_id: left out"),
        (
            columns(Unnamed__0=range(60)).rename(columns={"Unnamed  0": "Unnamed: 0"}),
            {"labels.csv": Y},
            "Unnamed: 0: left",
        ),
        (columns(idx=np.random.default_rng(1).permutation(60)), {"labels.csv": Y}, "idx: left out"),
    ],
)
def test_copies_of_labels_and_row_numbers_are_not_features(tmp_path, monkeypatch, features, labels, line):
    said, _, read = init(tmp_path, monkeypatch, {"features.csv": features} | labels)
    assert line in "\n".join(said)
    np.testing.assert_array_equal(read.X, X)


def test_init_reports_a_copy_of_a_label_in_an_array(tmp_path, monkeypatch):
    said, _, _ = init(tmp_path, monkeypatch, {"features.npy": np.column_stack([X, Y["cat"]]), "labels.csv": Y})
    assert "  features.npy: column 5: seem to copy labels; if they do, remove them from the file" in said


SAMPLE_IDS = {"features.csv": NAMED.assign(sample_id=range(60)), "labels.csv": Y.assign(id=range(60))}
ORDER = pd.Index(np.random.default_rng(1).permutation(60))
SPLIT = ["train", "train", "test", "extra"] * 15


@pytest.mark.parametrize(
    ("files", "ignored", "said"),
    [
        (
            {"features.csv": NAMED.assign(image_id=range(60)), "labels.csv": Y.assign(image_id=range(60)[::-1])},
            "image_id",
            r"the same 'image_id' in each row, got '0' and '59' in row 1: .* --ignore 'image_id'",
        ),
        (
            SAMPLE_IDS | {"labels.csv": SAMPLE_IDS["labels.csv"][::-1]},
            "sample_id",
            "rows in the same order, but in row 1 the column 'sample_id' of the features holds '0' and the column 'id'",
        ),
        (
            {"features.parquet": NAMED.set_index(ORDER), "labels.parquet": Y.set_index(ORDER[::-1])},
            "__index_level_0__",
            "the same '__index_level_0__' in each row, got",
        ),
        ({"features.npy": X, "labels.csv": Y.assign(split=SPLIT)}, "split", "in the column 'split', got extra: repl"),
        ({"features.npy": X, "labels.csv": Y.assign(split=[0, 1] * 30)}, "split", "in the column 'split', got 0, 1"),
        ({"features.csv": NAMED.assign(e="0,5"), "labels.csv": Y}, "e", "got string such as '0,5' in the column 'e'"),
        ({"X.npy": X, "y.npy": Y.to_numpy(), "names.txt": "cat\ndog\nsea\n"}, "names.txt", "names.txt must name the 4"),
    ],
)
def test_in_doubt_init_stops_and_the_user_can_ignore_the_column(tmp_path, monkeypatch, files, ignored, said):
    with pytest.raises(ValueError, match=said):
        init(tmp_path, monkeypatch, files)
    _, _, read = init(tmp_path, monkeypatch, {}, ignore=[ignored])
    np.testing.assert_array_equal(read.X, X)
    assert len(labels_of(read)) == 3


def test_row_names_that_have_nothing_in_common_are_not_compared(tmp_path, monkeypatch):
    files = {"features.csv": NAMED.assign(idx=range(60)), "labels.csv": Y.assign(id=["007", "7", *range(100, 158)])}
    _, _, read = init(tmp_path, monkeypatch, files)
    assert read.images["image"].tolist()[:3] == ["007", "7", "100"] and labels_of(read) == OF_Y


def test_a_choice_that_is_not_in_the_folder_is_refused(tmp_path, monkeypatch):
    files = {"features.csv": NAMED, "labels.csv": Y}
    for choices in ({"ignore": ["Cat"]}, {"ignore": ["nope.csv"]}, {"captions": "labels.csv"}):
        with pytest.raises(
            ValueError,
            match=r"--(ignore|captions) \S+ has no effect there: leave it out \(the columns are a, b, c, d, cat",
        ):
            init(tmp_path, monkeypatch, files, **choices)


def test_a_file_of_label_names_is_not_taken_for_feature_names(tmp_path, monkeypatch):
    names = {"class_names.txt": "1\n2\n3\n4\n", "feature_names.txt": "a\nb\nc\nd\n", "usernames.txt": "a\n"}
    said, options, _ = init(tmp_path, monkeypatch, {"X.npy": X, "y.npy": Y.to_numpy()} | names)
    assert options["names"] == "feature_names.txt" and "  feature_names.txt: names of the features" in said
    assert "  not used: class_names.txt, usernames.txt" in said


@pytest.mark.parametrize("kept", [(0, 2), (0, 1), (0,), (1, 2)])
def test_a_missing_part_is_an_error(tmp_path, monkeypatch, kept):
    tables = {"features": NAMED, "labels": Y}
    files = {f"{of}-{i:05}-of-00003.csv": table[20 * i : 20 * i + 20] for of, table in tables.items() for i in kept}
    with pytest.raises(
        ValueError, match=r"parts of features must be numbered from 0 or 1 without a gap, got features-0000"
    ):
        init(tmp_path, monkeypatch, files)


def test_libsvm_files_in_parts_are_refused(tmp_path, monkeypatch):
    files = dict.fromkeys(("a-1-of-2.svm", "a-2-of-2.svm"), "".join(f"{i % 2} 1:{i}\n" for i in range(40)))
    with pytest.raises(ValueError, match=r"samples must be in one file, .*: a-1-of-2\.svm, a-2-of-2\.svm"):
        init(tmp_path, monkeypatch, files)


@pytest.mark.parametrize(
    "names",
    [
        *("train_features train_labels", "features-train labels-train", "X_training y_training"),
        *("Xtrain ytrain", "trainX trainY", "X_tr y_tr", "features_trn labels_trn", "trainfeatures trainlabels"),
    ],
)
def test_files_named_after_splits_are_joined_in_many_spellings(tmp_path, monkeypatch, names):
    files = {}
    for split, own in (
        (names, slice(0, 40)),
        (re.sub("train|trn|tr", lambda w: {"train": "test", "trn": "tst"}.get(w[0], "te"), names), slice(40, 60)),
    ):
        of_features, of_labels = split.split()
        files |= {f"{of_features}.npy": X[own], f"{of_labels}.npy": Y.to_numpy()[own]}
    _, _, read = init(tmp_path, monkeypatch, files)
    np.testing.assert_array_equal(read.X, X)
    assert set(read.images["split"][40:]) == {"test"} and "test" not in set(read.images["split"][:40])
    assert sorted(labels_of(read).values()) == sorted(OF_Y.values())


def test_integer_and_float_codes_of_a_class_have_the_same_name(tmp_path, monkeypatch):
    files = {}
    for split, own in (("train", slice(0, 30)), ("val", slice(30, 45)), ("test", slice(45, 60))):
        codes = pd.Series(CODES[own] + 1).astype(float if split == "val" else int)
        files |= {f"{split}_features.npy": X[own], f"{split}_labels.csv": pd.DataFrame({"label": codes})}
    files["val_labels.csv"].loc[0] = np.nan
    _, _, read = init(tmp_path, monkeypatch, files)
    assert set(labels_of(read)) == {"1", "2", "3"}


def test_init_reports_a_word_that_counts_as_no_label(tmp_path, monkeypatch):
    labels = pd.DataFrame({"tags": np.where(np.arange(60) % 5, CLASSES, "None")})
    said, _, read = init(tmp_path, monkeypatch, {"features.npy": X, "labels.csv": labels})
    assert "  labels.csv: tags: labels (None counts as no label)" in said and set(labels_of(read)) == set(Y)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"features.npy": X, "labels.csv": Y[["cat"]]}, r"at least 2 labels, .* got 'cat' with 27 samples: add"),
        ({"features.npy": X, "labels.csv": Y[["cat"]] > 0}, r"at least 2 labels, .* got 'cat' with 27 samples: add"),
        *(
            ({"features.npy": X, f"labels.{kind}": "cat\tdog\n1\t0\n"}, rf"got .*labels\.{kind}: convert it to one of")
            for kind in ("tsv", "json", "xlsx", "csv.gz")
        ),
        ({"train-00000-of-00002.parquet": NAMED.join(Y)}, "must be in separate files, .* got train-00000-of"),
        (
            {"features.npy": X, "labels.csv": pd.DataFrame({"label": [np.inf, *range(59)]})},
            "got label: choose one with --tags",
        ),
        ({"0.png": 0, "captions.xlsx": "x"}, r"captions must be in a file of type \.csv, .*captions\.xlsx: convert it"),
        (
            {"features.csv": NAMED.astype(str).add("x"), "labels.csv": Y},
            "must have a column of features: .* got only columns such as 'a' with string such as",
        ),
    ],
)
def test_errors_about_unsupported_formats_name_the_file_or_column(tmp_path, monkeypatch, files, said):
    with pytest.raises(ValueError, match=said):
        init(tmp_path, monkeypatch, files)
