"""Folders of photographs: which pictures and captions are used, why others are left out, and clear errors."""

import shutil

import numpy as np
import pytest
from albums import make_album, read_album
from PIL import Image

from jointsparse.pipeline.datasets import folder, scenes
from jointsparse.pipeline.datasets.splits import draw_splits

pytestmark = pytest.mark.usefixtures("checked_here")


def test_a_good_album_is_used_completely(album):
    images, captions, left_out, _ = read_album(album)
    assert (len(images), len(captions), len(left_out)) == (12, 24, 0)
    assert captions["caption"].iloc[1] == 'A cat, or "kitten", on grass.'
    assert images["split"].value_counts().to_dict() == {"train": 7, "validation": 3, "test": 2}


def test_pictures_may_lie_beside_their_captions(album):
    for file in (album / "images").iterdir():
        file.rename(album / file.name)
    read = read_album(album, images=".")
    assert len(read.images) == 12 and read.left_out.empty
    assert folder.picture("000.jpg", root=album, images=".").shape == (48, 64)


def test_options_decide_the_splits(album):
    drawn = read_album(album, fractions={"train": 0.5, "test": 0.5}, seed=5).images
    names = drawn["image"].tolist()
    assert dict(drawn[["image", "split"]].to_numpy()) == draw_splits(
        names, {"train": 0.5, "test": 0.5}, np.random.default_rng(5)
    )
    rows = [f"{name},{'eval' if i % 3 else 'fit'}\n" for i, name in enumerate(names)]
    (album / "splits.csv").write_text("image,split\n" + "".join(rows))
    given = read_album(album, split_names={"train": "fit", "test": "eval"}, validation_fraction=0.5).images["split"]
    assert given.value_counts().to_dict() == {"train": 2, "validation": 2, "test": 8}


def test_unusable_pictures_and_captions_are_listed_with_the_reason(album):
    images, captions = album / "images", album / "captions.csv"
    lines = [line for line in captions.read_text().splitlines() if not line.startswith("004")]
    more = ["004.jpg, ", "ghost.jpg,A ghost.", *(f"{name},A dog." for name in ("copy.jpg", "low.png", "long.png"))]
    captions.write_text("\n".join([*lines, *more]))  # a blank caption does not count
    (images / "notes.doc").touch()
    for name, size in {"mute.png": (64, 64), "low.png": (200, 31), "long.png": (3200, 100)}.items():
        Image.new("RGB", size).save(images / name)
    for name in ("copy.jpg", "000 copy.jpg"):
        shutil.copy(images / "000.jpg", images / name)
    left_out = read_album(album).left_out
    assert dict(zip(left_out["item"], left_out["reason"], strict=True)) == {
        "notes.doc": f"not a picture file ({' '.join(folder.SUFFIXES)})",
        "low.png": "too small: 200 x 31 pixels, the shorter side must be at least 32",
        "long.png": "too small: 320 x 10 pixels, the shorter side must be at least 32",  # after shrinking
        "ghost.jpg": "captions.csv names an image that is not there",
        **dict.fromkeys(["004.jpg", "mute.png", "000 copy.jpg"], "no caption"),  # the copy gets none from 000.jpg
        "copy.jpg": "same bytes as 000.jpg, which gets its captions, too",
    }


def test_of_equal_pictures_the_labelled_picture_is_kept(album):
    shutil.copy(album / "images" / "000.jpg", album / "images" / "00.jpg")  # its name sorts first
    rows = [f"{i:03}.jpg,{'test' if i % 3 else 'train'}\n" for i in range(12)]
    (album / "splits.csv").write_text("image,split\n00.jpg,unlabelled\n" + "".join(rows))
    read = read_album(album)
    assert read.left_out["item"].tolist() == ["00.jpg"] and "000.jpg" in read.images["image"].tolist()


def test_repeated_rows_are_listed_and_have_no_effect(album):
    (album / "splits.csv").write_text("image,split\n" + "".join(f"{i:03}.jpg,train\n" for i in range(12)))
    before = read_album(album)
    for file, row in (("splits.csv", "003.jpg,train\n"), ("captions.csv", "001.jpg,A dog number 1.\n")):
        (album / file).write_text((album / file).read_text() + row)
    tables = read_album(album)
    assert tables.images.equals(before.images) and tables.captions.equals(before.captions)
    assert dict(tables.left_out.itertuples(index=False)) == {
        "001.jpg (repeated caption)": "captions.csv gives it the same caption again",
        "003.jpg (repeated split)": "splits.csv lists it again, with the same split",
    }


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("album/captions.csv", "must hold a file captions.csv, got none at"),
        *(
            (path, r"root must hold pictures .* in '.*album/images', got none: put")
            for path in ("album", "album/images/*")
        ),
    ],
)
def test_the_error_about_a_missing_file_or_folder_names_it(tmp_path, album, missing, expected):
    for path in list(tmp_path.glob(missing)):
        path.rename(tmp_path / f"away {path.name}")
    with pytest.raises(ValueError, match=expected):
        read_album(album)


def test_an_album_without_training_images_is_refused(album):
    (album / "splits.csv").write_text("\n".join(["image,split,note", *(f"{i:03}.jpg,test,x" for i in range(11))]))
    with pytest.raises(
        ValueError, match=r"usable training image or sample, got 11 .* because: \('011.jpg', 'in no split of"
    ):
        read_album(album)


def test_an_unlabelled_image_needs_no_caption(album):
    (album / "captions.csv").write_text("image,caption\n000.jpg,A dog.\n")
    rows = [f"{i:03}.jpg,{'unlabelled' if i else 'train'}\n" for i in range(12)]
    (album / "splits.csv").write_text("image,split\n" + "".join(rows))
    assert read_album(album).images["split"].tolist() == ["train"] + ["unlabelled"] * 11


def test_folder_names_are_the_captions_of_scenes(tmp_path):
    root = make_album(tmp_path / "album", 6)
    for i, path in enumerate(sorted((root / "images").iterdir())):
        folder = root / "images" / ("Tall Building", "Coast")[i % 2]
        folder.mkdir(exist_ok=True)
        path.rename(folder / path.name)
    captions = scenes.read(root, smallest_side=32).captions
    assert captions["caption"].value_counts().to_dict() == {"Tall Building": 3, "Coast": 3}
    shutil.copy(root / "images" / "Coast" / "005.jpg", root / "images")
    with pytest.raises(ValueError, match=r"must be in one folder per class .* got '005.jpg'"):
        scenes.read(root, smallest_side=32)
