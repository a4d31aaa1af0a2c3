"""Names of files: which files are never data, names in both forms of Unicode, and files by split."""

import shutil
import unicodedata

import numpy as np
import pytest
from PIL import Image

from jointsparse.pipeline.datasets import names, photos, scenes
from jointsparse.pipeline.provenance.folders import is_no_data

CAFE = {form: unicodedata.normalize(form, "café.png") for form in ("NFC", "NFD")}


def lay(root, files):
    """Make pictures, which have the same bytes if they have the same number."""
    for name, number in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(number).integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(root / name)


@pytest.mark.parametrize(
    "place",
    [
        *(
            ".ipynb_checkpoints",
            "__MACOSX",
            "@eaDir",
            "#recycle",
            "$RECYCLE.BIN",
            "lost+found",
            "~snapshot",
            "LOST.DIR",
        ),
        *("FOUND.000", "_vti_cnf", "CVS", "@__thumb", "_thumbs", "$Trash"),
    ],
)
def test_folders_that_systems_leave_behind_are_ignored(tmp_path, checked_here, place):
    real = {f"{name}/{i}.png": 10 * k + i for k, name in enumerate(("cat", "dog")) for i in range(6)}
    lay(tmp_path, real | {f"{place}/0.png": 0, f"cat/{place}/5.png": 5, "dog/._3.png": 13})
    read = scenes.read(tmp_path, images=".", smallest_side=8)
    assert set(read.images["image"]) == set(real) and read.left_out.empty
    assert read.captions["caption"].value_counts().to_dict() == {"cat": 6, "dog": 6}


@pytest.mark.parametrize("name", ["Thumbs.db", "desktop.ini", "Icon\r", "~$labels.xlsx", "labels.csv~", "a.part", ".x"])
def test_files_that_systems_leave_behind_are_no_data_in_any_folder(name):
    assert is_no_data(name) and is_no_data(f"a/{name}") and not is_no_data(f"a/b{name[1:-1]}c.csv")


@pytest.mark.parametrize("of_file", CAFE)
@pytest.mark.parametrize("of_table", CAFE)
def test_names_match_in_either_form_of_unicode(tmp_path, checked_here, of_file, of_table):
    lay(tmp_path, {f"images/{CAFE[of_file]}": 0, "images/tea.png": 1})
    name = CAFE[of_table]
    (tmp_path / "captions.csv").write_text(f"image,caption\n{name},A cup.\ntea.png,A pot.\n", encoding="utf-8")
    (tmp_path / "splits.csv").write_text(f"image,split\n{name},train\ntea.png,test\n", encoding="utf-8")
    read = photos.read(tmp_path, splits="splits.csv", smallest_side=8)
    assert dict(read.images[["image", "split"]].to_numpy()) == {CAFE[of_file]: "train", "tea.png": "test"}
    assert read.left_out.empty and dict(read.captions.to_numpy())[CAFE[of_file]] == "A cup."


def test_two_files_whose_names_differ_only_in_their_unicode_form_stay_distinct(tmp_path):
    find = names.finder(CAFE.values())
    assert {find(name) for name in CAFE.values()} == set(CAFE.values())


def test_a_name_in_a_table_refers_to_the_only_file_whose_path_ends_with_it():
    find = names.finder(["a/x.png", "a/y.png", "b/y.png"])
    assert [find(name) for name in ("x.png", "a/x.png", "y.png", "b/y.png", "z.png")] == [
        *("a/x.png", "a/x.png", "y.png", "b/y.png", "z.png")
    ]


def test_captions_of_equal_pictures_are_joined_and_the_other_copy_is_listed(tmp_path, checked_here):
    lay(tmp_path, {"images/cat/0.png": 0, "images/dog/0.png": 0, "images/dog/1.png": 1, "images/cat/2.png": 2})
    shutil.copy(tmp_path / "images/cat/2.png", tmp_path / "images/cat/3.png")
    read = scenes.read(tmp_path, smallest_side=8, fractions={"train": 1.0})
    has = read.captions.groupby("image")["caption"].agg(sorted).to_dict()
    assert has == {"cat/0.png": ["cat", "dog"], "cat/2.png": ["cat"], "dog/1.png": ["dog"]}
    assert dict(read.left_out.to_numpy()) == {
        "cat/3.png": "same bytes as cat/2.png",
        "dog/0.png": "same bytes as cat/0.png, which gets its captions, too",
    }


def test_captions_may_be_in_several_files_also_by_split(tmp_path, checked_here):
    lay(tmp_path, {f"images/{i}.png": i for i in range(4)})
    for name, rows in (("a.csv", "0.png,A cat.\n1.png,A dog.\n"), ("b.csv", "2.png,A cat.\n3.png,A dog.\n")):
        (tmp_path / name).write_text(f"image,caption\n{rows}")
    assert len(photos.read(tmp_path, captions=["a.csv", "b.csv"], smallest_side=8).captions) == 4
    read = photos.read(tmp_path, captions={"test": "b.csv", "train": "a.csv"}, smallest_side=8, validation_fraction=0)
    assert dict(read.images[["image", "split"]].to_numpy()) == {
        **dict.fromkeys(("0.png", "1.png"), "train"),
        **dict.fromkeys(("2.png", "3.png"), "test"),
    }
