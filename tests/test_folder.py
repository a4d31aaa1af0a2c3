"""Folders of photographs: the pictures and captions that are used, the reasons for the rest, and clear errors."""

import numpy as np
import pytest
from conftest import make_album
from PIL import Image

from jointsparse.datasets import folder, photos, pictures, scenes

pytestmark = pytest.mark.usefixtures("checked_here")


def read(root, **options):
    return photos.read(root, smallest_side=32, longest_side=320, **options)


def reasons(root):
    """{item: reason} of everything that is left out."""
    left_out = read(root).left_out
    return dict(zip(left_out["item"], left_out["reason"], strict=True))


def test_good_album_is_used_whole(album):
    images, captions, left_out = read(album)
    assert (len(images), len(captions), len(left_out)) == (12, 24, 0)
    assert captions["caption"].iloc[1] == 'A cat, or "kitten", on grass.'
    assert images["split"].value_counts().to_dict() == {"train": 7, "validation": 3, "test": 2}


def test_file_with_another_suffix_is_listed(album):
    (album / "images" / "Thumbs.db").touch()
    assert reasons(album) == {"Thumbs.db": f"not a picture file ({' '.join(folder.SUFFIXES)})"}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((200, 31), "too small: 200 x 31 pixels, the shorter side must be at least 32"),
        ((3200, 100), "too small: 320 x 10 pixels, the shorter side must be at least 32"),  # after shrinking
    ],
)
def test_small_picture_is_left_out_and_listed(album, size, expected):
    Image.new("RGB", size).save(album / "images" / "flat.png")
    assert reasons(album) == {"flat.png": expected}


def test_caption_without_picture_and_picture_without_caption_are_listed(album):
    path = album / "captions.csv"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("004")]
    path.write_text("\n".join([*lines, "004.jpg, ", "ghost.jpg,A ghost."]))  # a blank caption is none
    Image.effect_noise((64, 64), 50).save(album / "images" / "mute.png")
    missing = "captions.csv names an image that is not there"
    assert reasons(album) == {"004.jpg": "no caption", "ghost.jpg": missing, "mute.png": "no caption"}


@pytest.mark.parametrize(
    ("name", "caption", "expected"),
    [
        ("copy.jpg", "copy.jpg,A dog.\n", "same bytes as 000.jpg"),
        ("000 copy.jpg", "", "no caption"),  # and it takes nothing from its original
    ],
)
def test_same_bytes_twice_are_used_once(album, name, caption, expected):
    (album / "images" / name).write_bytes((album / "images" / "000.jpg").read_bytes())
    (album / "captions.csv").write_text((album / "captions.csv").read_text() + caption)
    assert reasons(album) == {name: expected}


def test_rows_that_say_nothing_new_are_listed_and_change_nothing(album):
    (album / "splits.csv").write_text("image,split\n" + "".join(f"{i:03}.jpg,train\n" for i in range(12)))
    before = read(album)
    for file, row in (("splits.csv", "003.jpg,train\n"), ("captions.csv", "001.jpg,A dog number 1.\n")):
        (album / file).write_text((album / file).read_text() + row)
    tables = read(album)
    assert tables.images.equals(before.images) and tables.captions.equals(before.captions)
    assert dict(tables.left_out.itertuples(index=False)) == {
        "001.jpg (repeated caption)": "captions.csv gives it the same caption again",
        "003.jpg (repeated split)": "splits.csv lists it again, with the same split",
    }


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("album/captions.csv", "must hold a file captions.csv, got none at"),
        ("album", "root must be a folder that holds a folder 'images', got"),
        ("album/images", "root must be a folder that holds a folder 'images', got"),
        ("album/images/*", "root must hold pictures"),
    ],
)
def test_what_is_missing_is_said(tmp_path, album, missing, expected):
    for path in list(tmp_path.glob(missing)):
        path.rename(tmp_path / f"away {path.name}")
    with pytest.raises(ValueError, match=expected):
        read(album)


def test_an_album_without_training_images_is_one_clear_error(album):
    rows = ["image,split,note", *(f"{i:03}.jpg,test,x" for i in range(11))]
    (album / "splits.csv").write_text("\n".join(rows))
    with pytest.raises(
        ValueError, match=r"one usable training image, .* the first because: \('011.jpg', 'in no split of"
    ):
        read(album)


def test_folder_names_are_the_captions_of_scenes(tmp_path):
    root = make_album(tmp_path / "album", 6)
    for i, path in enumerate(sorted((root / "images").iterdir())):
        folder = root / "images" / ("Tall Building", "Coast")[i % 2]
        folder.mkdir(exist_ok=True)
        path.rename(folder / path.name)
    captions = scenes.read(root, smallest_side=32).captions
    assert captions["caption"].value_counts().to_dict() == {"Tall Building": 3, "Coast": 3}


def test_scene_outside_a_class_folder_is_one_clear_error(album):
    with pytest.raises(ValueError, match=r"must lie in one folder per class .* got '000.jpg'"):
        scenes.read(album, smallest_side=32)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_every_kind_of_picture_opens_as_grey_levels(tmp_path, mode):
    ramp = np.tile(np.linspace(0, 1, 64, dtype=np.float32), (48, 1))
    path = tmp_path / "ramp.tif"
    Image.fromarray((ramp * 255).astype(np.uint8)).convert(mode).save(path)
    grey = pictures.open_grey(path, 320)
    assert (grey.dtype, grey.shape) == (np.float32, (48, 64))
    np.testing.assert_allclose(grey[:, 2:-2], ramp[:, 2:-2], atol=1.0 if mode == "1" else 0.02)
    assert abs(grey.mean() - 0.5) < 0.02


def test_picture_is_upright_and_shrunk(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by a quarter
    Image.fromarray(np.zeros((480, 640, 3), dtype=np.uint8)).save(tmp_path / "turned.jpg", exif=exif)
    assert pictures.open_grey(tmp_path / "turned.jpg", 320).shape == (320, 240)
