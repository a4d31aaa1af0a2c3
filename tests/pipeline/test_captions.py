"""Files of captions and labels: tables with any of three separators, JSON in two formats, and clear errors."""

import json
from functools import reduce
from operator import getitem

import pytest

from jointsparse.pipeline.datasets import records

ROWS = [("a.jpg", "A dog, and a cat."), ("b/c.jpg", "Two; three."), ("a.jpg", 'One\t"kitten".')]
COCO = {
    "info": {"year": 2026},
    "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 3, "file_name": "b/c.jpg"}, {"id": 9, "file_name": "d.jpg"}],
    "annotations": [
        {"id": i, "image_id": 7 if name == "a.jpg" else 3, "caption": text} for i, (name, text) in enumerate(ROWS)
    ],
}
KARPATHY = {
    "dataset": "mine",
    "images": [
        {"filename": "a.jpg", "split": "train", "sentences": [{"raw": ROWS[0][1], "tokens": []}, {"raw": ROWS[2][1]}]},
        {"filepath": "b", "filename": "c.jpg", "sentences": [{"raw": ROWS[1][1]}]},
        {"filename": "d.jpg", "sentences": []},
    ],
}


def read(tmp_path, name, content):
    """Write a file with this content, and return its captions."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode("utf-8-sig"))
    table = records.read(path)
    return sorted(zip(table["image"], table["caption"], strict=True))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["image,caption", '"image","caption"', "\ufeffimage,caption,note"])
def test_the_header_decides_the_separator(tmp_path, delimiter, header):
    quoted = [[f'"{field.replace(chr(34), 2 * chr(34))}"' for field in row] for row in ROWS]
    header = header.replace(",", delimiter).replace("note", "note" if delimiter == "," else "note, or text")
    lines = [header, *(delimiter.join(row + [""] * header.count("note")) for row in quoted)]
    assert read(tmp_path, "captions.csv", "\r\n".join(lines).encode()) == sorted(ROWS)


@pytest.mark.parametrize("sign", [",", ";", "|"])
def test_a_quoted_field_may_follow_a_space(tmp_path, sign):
    content = f'image{sign} "caption"\na.png{sign} "A dog{sign} or ""puppy"""\n "b.png"{sign}  A "cat" .\n'
    expected = [("a.png", f'A dog{sign} or "puppy"'), ("b.png", 'A "cat" .')]
    assert read(tmp_path, "captions.csv", content.encode()) == expected


@pytest.mark.parametrize("name", ["captions.json", "dataset.JSON"])
@pytest.mark.parametrize("content", [COCO, KARPATHY])
def test_captions_may_be_json(tmp_path, name, content):
    assert read(tmp_path, name, content) == sorted(ROWS)


def changed(content, *path, value=None):
    """Return a copy of the content of a file in which a value is replaced or removed."""
    copy = json.loads(json.dumps(content))
    *above, key = path
    block = reduce(getitem, above, copy)
    block[key] = value
    if value is None:
        del block[key]
    return copy


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.csv",
            b"image;caption\na.jpg;A dog; a cat.\n",
            "a.csv line 2: expected 2 fields .* contains a semicolon in",
        ),
        ("a.csv", b"image\tcaption\na.jpg\n", "a.csv line 2: expected 2 fields .* contains a tab in .* got 'a.jpg'"),
        ("a.csv", b"image/caption\n", "a.csv must hold at least one row, got only the columns image/caption"),
        ("a.csv", b"", "a.csv must begin with a header line that names each column once, got ''"),
        (
            "a.csv",
            b"image,caption\na.jpg,A dog.\nimage,caption\n",
            "a.csv must have a header, and only one, but the column 'image' also holds 'image'",
        ),
        (
            "a.csv",
            b"image,caption,caption\na,A,B\n",
            "a.csv must begin with a header .* names each column once, got 'image",
        ),
        ("a.csv", b'image,caption\na.jpg,"A dog.\n', "a.csv line 2: unexpected end of data"),
        ("a.csv", b'image,caption\na.jpg,"A dog." x\n', "a.csv line 2: ',' expected after '\"'"),
        ("a.csv", b"image,caption\na.jpg,A\x00dog.\n", "a.csv line 2: expected 2 fields of text"),
        (
            "a.csv",
            b"image,caption\n" + 20_000 * b"a,\xc3\xa9\n" + b"a,\xe9\n",
            "UTF-8 text, got byte 0xe9 in line 20002",
        ),
        ("a.json", b'{"images": [\n{"id": 1,}]}', "a.json must be JSON with captions or labels: .* line 2 column"),
        ("a.json", b"", "a.json must be JSON with captions or labels: .* line 1 column 1"),
        ("a.json", b"[" * 100_000, "a.json must be JSON with captions or labels: maximum recursion depth exceeded"),
        (
            "a.json",
            b'{"images": [' + b"9" * 5000 + b"]}",
            "a.json must be JSON with captions or labels: Exceeds the limit",
        ),
        ("a.json", [], "a.json must hold at least one row, got only the columns "),
        ("a.json", [{"image": "a.jpg", "caption": "\ud800"}], "a.json row 1: caption must be text, got '.ud8"),
        ("a.json", ["a"], "a.json row 1 must be a JSON object, got 'a'"),
        ("a.jsonl", b'{"image": "a"}\n[', "a.jsonl line 2 must be JSON"),
        ("a.txt", b"a.jpg#0\tA dog.\nb.jpg\n", 'a.txt line 2: expected an image, "#" and a number'),
        ("a.doc", b"a", "must be in a file that ends in .csv, .json"),
        ("a.json", changed(COCO, "images"), "labels: images must be a list, got None"),
        (
            "a.json",
            changed(COCO, "images", 1, value="x"),
            r"labels: images\[1\].id must be a whole number, got None",
        ),
        ("a.json", changed(COCO, "images", 1, "id", value=True), r"images\[1\].id must be a whole number, got True"),
        ("a.json", changed(COCO, "images", 1, "id", value=7), r"images must have different ids"),
        ("a.json", changed(COCO, "images", 0, "file_name"), r"images\[0\].file_name must be text, got None"),
        ("a.json", changed(COCO, "annotations", value={}), "labels: annotations must be a list, got {}"),
        (
            "a.json",
            changed(COCO, "annotations", 2, "image_id", value=8),
            r"\[2\].image_id must be one of the ids, got 8",
        ),
        (
            "a.json",
            changed(COCO, "annotations", 1, "caption", value=5),
            r"annotations\[1\].caption must be text, got 5",
        ),
        (
            "a.json",
            changed(COCO, "annotations", 1, "caption", value="\ud800"),
            r"\[1\].caption must be text, got '.ud8",
        ),
        (
            "a.json",
            changed(COCO, "annotations", 1, "caption", value="a\0"),
            r"annotations\[1\].caption must be text, got",
        ),
        ("a.json", changed(KARPATHY, "images", 1, "filename"), r"images\[1\].filename must be text, got None"),
        ("a.json", changed(KARPATHY, "images", 1, "filepath", value=5), r"images\[1\].filepath must be text, got 5"),
        ("a.json", changed(KARPATHY, "images", 2, "sentences"), r"images\[2\].sentences must be a list, got None"),
        (
            "a.json",
            changed(KARPATHY, "images", 0, "sentences", 1, "raw"),
            r"images\[0\].sentences\[1\].raw must be text, got None",
        ),
    ],
)
def test_the_error_about_a_bad_file_names_the_line_or_key(tmp_path, name, content, said):
    with pytest.raises(ValueError, match=rf"\A[^\n]*{said}[^\n]*\Z"):
        read(tmp_path, name, content)
