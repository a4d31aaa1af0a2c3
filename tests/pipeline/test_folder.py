"""Folders of photographs: by layout, what is read, what is left out with which reason, and what is refused."""

import itertools
import unicodedata
from typing import Any, NamedTuple

import pytest
from albums import lay
from PIL import Image

from jointsparse.pipeline.datasets import folder, photos, scenes, tagged
from jointsparse.pipeline.datasets.names import finder
from jointsparse.pipeline.provenance.folders import is_no_data

pytestmark = pytest.mark.usefixtures("checked_here")


class Row(NamedTuple):
    """A folder, and the captions and splits that its loader reads, the reasons for what is left out, or a sentence."""

    files: dict[str, Any]  # a number is the seed of a picture
    captions: Any = ()  # pairs of a picture and a caption
    splits: Any = None  # by picture
    left_out: Any = {}  # noqa: RUF012
    options: Any = {}  # noqa: RUF012
    loader: Any = photos
    stops: str = ""


NAMES = ["0.png", "1.png", "2.png", "3.png"]
PICTURES = {f"images/{name}": i for i, name in enumerate(NAMES)}
ANIMALS = list(zip(NAMES, ["A cat.", "A dog.", "A cat.", 'A dog, or "puppy".'], strict=True))
CAFE = {form: unicodedata.normalize(form, "café.png") for form in ("NFC", "NFD")}
LEFT_BEHIND = ["Thumbs.db", "Icon\r", ".x/5.png", "__MACOSX/0.png", "FOUND.000/0.png", "CVS/0.png", "0/._3.png"]
TRAIN = {"fractions": {"train": 1.0}}


def csv(rows, header="image,caption"):
    return header + "\n" + "".join(f'{name},"{text.replace(chr(34), 2 * chr(34))}"\n' for name, text in rows)


def captioned(*more, **files):
    """Files of four pictures with captions, and more rows and files."""
    return PICTURES | {"captions.csv": csv([*ANIMALS, *more])} | {f"{name}.csv": text for name, text in files.items()}


def split(*splits, names=NAMES):
    return csv(zip(names, splits, strict=False), "image,split")


GIVEN = {"splits": "splits.csv", "validation_fraction": 0}
ROWS = {
    "captions": Row(captioned(), ANIMALS),
    "pictures beside their captions": Row(
        {n: i for i, n in enumerate(NAMES)} | {"captions.csv": csv(ANIMALS)}, ANIMALS, options={"images": "."}
    ),
    "several files": Row(
        PICTURES | {"a.csv": csv(ANIMALS[:2]), "b.csv": csv(ANIMALS[2:])},
        ANIMALS,
        options={"captions": ["a.csv", "b.csv"]},
    ),
    "files by split": Row(
        PICTURES | {"a.csv": csv(ANIMALS[:2]), "b.csv": csv(ANIMALS[2:])},
        ANIMALS,
        ["train", "train", "test", "test"],
        options={"captions": {"test": "b.csv", "train": "a.csv"}, "validation_fraction": 0},
    ),
    "text files, and names with dots": Row(
        {"images/a.b.png": 0, "images/a.c.png": 1, "images/a.b.txt": "A cat.\n", "images/a.c.txt": "A dog."},
        [("a.b.png", "A cat."), ("a.c.png", "A dog.")],
        options={"captions": "*.txt"},
    ),
    "captions and pictures that are not used": Row(
        captioned(
            *(("4.png", " "), ("ghost.jpg", "A ghost."), ("0 copy.png", "A toy."), ("012.", "x"), ("7", "x")),
            *(("1.0", "x"), ANIMALS[1]),
        )
        | {"images/4.png": 4, "images/mute.png": 5, "images/notes.doc": "x"}
        | {"images/0 copy.png": 0, "images/1 copy.png": 1},
        [*ANIMALS, ("0 copy.png", "A cat."), ("0 copy.png", "A toy.")][1:],
        left_out={
            "4.png": "no caption",
            "mute.png": "no caption",
            "1 copy.png": "no caption",  # a copy without a caption gets none
            "notes.doc": f"not a picture file ({' '.join(folder.SUFFIXES)})",
            **dict.fromkeys(("ghost.jpg", "012.", "7", "1.0"), "captions.csv names an image that is not there"),
            "1.png (repeated caption)": "captions.csv gives it the same caption again",
            "0.png": "same bytes as 0 copy.png, which gets its captions, too",
        },
    ),
    "splits": Row(captioned(splits=split("train", "VAL", "test", "train")), ANIMALS, ["train", "validation", "test"]),
    "splits of another name": Row(
        captioned(splits=split("fit", "eval", "fit", "eval")),
        ANIMALS,
        ["train", "test", "train", "test"],
        options={"split_names": {"train": "fit", "test": "eval"}},
    ),
    "repeated and missing rows of splits": Row(
        captioned(splits=split("train", "train", "test") + "1.png,train\nghost.png,train\n"),
        ANIMALS[:3],
        ["train", "train", "test"],
        {
            "1.png (repeated split)": "splits.csv lists it again, with the same split",
            "3.png": "in no split of splits.csv",
            "ghost.png": "splits.csv names an image that is not there",
        },
    ),
    "unlabelled pictures need no caption": Row(
        PICTURES | {"captions.csv": csv(ANIMALS[:1]), "splits.csv": split("train", *["unlabelled"] * 3)},
        ANIMALS[:1],
        ["train", *["unlabelled"] * 3],
    ),
    "of equal pictures the labelled one is kept": Row(
        captioned(splits=split("train", "test", "train", "train") + "0 copy.png,unlabelled\n")
        | {"images/0 copy.png": 0},
        ANIMALS,
        ["train", "test", "train", "train"],
        {"0 copy.png": "same bytes as 0.png"},
    ),
    "no training picture": Row(
        captioned(splits=split("test", "test", "test")),
        stops=r"usable training image or sample, got 3 .* because: \('3.png', 'in no split of splits.csv'",
    ),
    "no captions": Row(PICTURES, stops="must hold a file captions.csv, got none at"),
    "no pictures": Row(
        {"captions.csv": csv(ANIMALS)}, stops=r"root must hold pictures .* in '.*/images', got none: put"
    ),
    **{
        f"{of_file} in files, {of_table} in tables": Row(
            {f"images/{CAFE[of_file]}": 0, "images/tea.png": 1}
            | {"captions.csv": csv([(CAFE[of_table], "A cup."), ("tea.png", "A pot.")])}
            | {"splits.csv": split("train", "test", names=[CAFE[of_table], "tea.png"])},
            [(CAFE[of_file], "A cup."), ("tea.png", "A pot.")],
            ["train", "test"],
        )
        for of_file, of_table in itertools.product(CAFE, CAFE)
    },
    "classes": Row(
        {"images/Tall Building/0.png": 0, "images/Coast/0.png": 1, "images/Coast/1.png": 2}
        | {f"images/{name}": "x" for name in LEFT_BEHIND},
        [("Tall Building/0.png", "Tall Building"), ("Coast/0.png", "Coast"), ("Coast/1.png", "Coast")],
        loader=scenes,
    ),
    "equal pictures in two classes and in one": Row(
        {"images/cat/0.png": 0, "images/dog/0.png": 0, "images/dog/1.png": 1, "images/cat/2.png": 2}
        | {"images/cat/3.png": 2},
        [("cat/0.png", "cat"), ("cat/0.png", "dog"), ("cat/2.png", "cat"), ("dog/1.png", "dog")],
        left_out={
            "cat/3.png": "same bytes as cat/2.png",
            "dog/0.png": "same bytes as cat/0.png, which gets its captions, too",
        },
        loader=scenes,
    ),
    "of equal pictures a known label comes first": Row(
        {"images/0.png": 0, "images/1.png": 1, "images/5.png": 0}
        | {"t.csv": "image,cat,dog\n0.png,,0\n1.png,1,\n5.png,1,1\n"},
        [("0.png", "cat", True), ("0.png", "dog", True), ("1.png", "cat", True), ("1.png", "dog", False)],
        left_out={"5.png": "same bytes as 0.png, which gets its captions, too"},
        options={"labels": "t.csv"},
        loader=tagged,
    ),
    "a picture outside the classes": Row(
        {"images/cat/0.png": 0, "images/5.png": 1},
        stops="must be in one folder per class .* got '5.png'",
        loader=scenes,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_folder_is_read_as_it_looks(tmp_path, name):
    row = ROWS[name]
    lay(tmp_path, row.files)
    options = (GIVEN if "splits.csv" in row.files else TRAIN if row.splits is None else {}) | row.options
    if row.stops:
        with pytest.raises(ValueError, match=row.stops):
            row.loader.read(tmp_path, smallest_side=8, **options)
        return
    read = row.loader.read(tmp_path, smallest_side=8, **options)
    assert sorted(read.captions.itertuples(index=False, name=None)) == sorted(row.captions)
    assert row.splits is None or read.images["split"].tolist()[: len(row.splits)] == row.splits
    assert dict(read.left_out.itertuples(index=False, name=None)) == row.left_out


@pytest.mark.parametrize(("size", "shrunk"), [((200, 31), "200 x 31"), ((3200, 100), "320 x 10")])
def test_the_shorter_side_after_shrinking_must_be_long_enough(tmp_path, size, shrunk):
    lay(tmp_path, captioned(("low.png", "A cat.")))
    Image.new("RGB", size).save(tmp_path / "images" / "low.png")
    expected = f"too small: {shrunk} pixels, the shorter side must be at least 32"
    assert photos.read(tmp_path, smallest_side=32, **TRAIN).left_out.to_numpy().tolist() == [["low.png", expected]]


def test_a_name_in_a_table_is_a_path_or_the_end_of_only_one_path():
    files = ["a/x.png", "a/y.png", "b/y.png", "b/a/y.png", *CAFE.values()]
    find = finder(files)
    for name in (*files, "x.png", "y.png", "z.png"):
        ends = [file for file in files if file.endswith(f"/{name}")]
        assert find(name) == (name if name in files or len(ends) != 1 else ends[0])


@pytest.mark.parametrize(
    "name",
    [
        *("Thumbs.db", "desktop.ini", "Icon\r", "~$labels.xlsx", "labels.csv~", "a.part", ".x", ".ipynb_checkpoints"),
        *("__MACOSX", "@eaDir", "#recycle", "$RECYCLE.BIN", "lost+found", "~snapshot", "LOST.DIR", "FOUND.000"),
        *("_vti_cnf", "CVS", "@__thumb", "_thumbs", "$Trash"),
    ],
)
def test_what_systems_leave_behind_is_no_data_in_any_folder(name):
    assert is_no_data(name) and is_no_data(f"a/{name}/b.png") and not is_no_data(f"a/b{name[1:-1]}c.csv")
