"""Reading folders of photographs: what is used, what is left out and why, and what ends with one clear error."""

import re

import numpy as np
import pytest
from conftest import make_album
from PIL import Image

from jointsparse.datasets import folder, photos, scenes
from jointsparse.registry import pick


def read(root, **options):
    return photos.read(root, smallest_side=32, longest_side=320, **options)


def reason(left_out, item):
    return left_out.set_index("item")["reason"][item]


def test_good_album_is_used_whole(album):
    images, captions, left_out = read(album)
    assert len(images) == 12
    assert len(captions) == 24
    assert len(left_out) == 0
    assert captions["caption"].iloc[1] == 'A cat, or "kitten", on grass.'
    assert images["split"].value_counts().to_dict() == {"train": 7, "validation": 3, "test": 2}


def test_split_depends_on_the_seed_alone(album):
    first, again, other = (read(album, seed=seed).images["split"].tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("broken.jpg", b"\xff\xd8\xff\xe0 nothing more", "does not open"),
        ("text.jpg", b"hello", "does not open"),
        ("empty.png", b"", "empty"),
    ],
)
def test_file_that_is_no_picture_is_left_out_and_listed(album, name, content, expected):
    (album / "images" / name).write_bytes(content)
    images, _, left_out = read(album)
    assert expected in reason(left_out, name)
    assert len(images) == 12


def test_truncated_jpeg_is_left_out_and_listed(album):
    path = album / "images" / "003.jpg"
    path.write_bytes(path.read_bytes()[:-500])
    images, captions, left_out = read(album)
    assert "does not open" in reason(left_out, "003.jpg")
    assert len(images) == 11
    assert "003.jpg" not in set(captions["image"])


def test_small_picture_is_left_out_and_listed(album):
    Image.new("RGB", (200, 31)).save(album / "images" / "flat.png")
    left_out = read(album).left_out
    assert reason(left_out, "flat.png") == "too small: 200 x 31 pixels, the shorter side must be at least 32"


def test_picture_too_narrow_after_shrinking_is_left_out(album):
    Image.new("RGB", (3200, 100)).save(album / "images" / "wide.png")
    assert "too small: 320 x 10" in reason(read(album).left_out, "wide.png")


def test_caption_without_picture_and_picture_without_caption_are_listed(album):
    with (album / "captions.csv").open("a") as file:
        file.write("ghost.jpg,A ghost.\n")
    Image.effect_noise((64, 64), 50).save(album / "images" / "mute.png")
    left_out = read(album).left_out
    assert reason(left_out, "ghost.jpg") == "captions.csv names an image that is not there"
    assert reason(left_out, "mute.png") == "no caption"


def test_same_bytes_twice_are_used_once(album):
    (album / "images" / "copy.jpg").write_bytes((album / "images" / "000.jpg").read_bytes())
    with (album / "captions.csv").open("a") as file:
        file.write("copy.jpg,A dog.\n")
    assert reason(read(album).left_out, "copy.jpg") == "same bytes as 000.jpg"


def test_copy_without_a_caption_takes_nothing_from_its_original(album):
    (album / "images" / "000 copy.jpg").write_bytes((album / "images" / "001.jpg").read_bytes())
    images, _, left_out = read(album)
    assert reason(left_out, "000 copy.jpg") == "no caption"
    assert "001.jpg" in set(images["image"])


def test_blank_caption_is_no_caption(album):
    path = album / "captions.csv"
    path.write_text(
        "".join(line for line in path.read_text().splitlines(True) if not line.startswith("004")) + "004.jpg, \n"
    )
    assert reason(read(album).left_out, "004.jpg") == "no caption"


def test_splits_without_training_part_are_one_clear_error(album):
    (album / "splits.csv").write_text("\n".join(["image,split", *(f"{i:03}.jpg,test" for i in range(12))]))
    with pytest.raises(ValueError, match="must hold at least one usable training image, got none of 12 usable images"):
        read(album)


def test_other_files_are_listed(album):
    (album / "images" / "Thumbs.db").write_bytes(b"x")
    assert reason(read(album).left_out, "Thumbs.db").startswith("not a picture file")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            b"000.jpg,A dog.\n",
            r"must begin with a header line that names the columns image,caption, got '000.jpg,A dog.'",
        ),
        (b"file,text\n000.jpg,A dog.\n", r"must begin with a header line .* got 'file,text'"),
        (b"", r"must begin with a header line .* got ''"),
        (b"image,caption,caption\n000.jpg,A,B\n", r"must name each column once"),
        (b"image,caption\n000.jpg,A dog, and a cat.\n", r"line 2: expected 2 fields"),
        (b"image,caption\n000.jpg\n", r"line 2: expected 2 fields"),
        (b'image,caption\n000.jpg,"A dog.\n', r"line 2: "),
        (b"image,caption\n000.jpg,A caf\xe9.\n", r"must be UTF-8 text, got byte 0xe9"),
        (b"image,caption\n000.jpg,A\x00dog.\n", r"line 2: expected 2 fields of text"),
    ],
)
def test_captions_that_cannot_be_read_are_one_clear_error(album, content, expected):
    (album / "captions.csv").write_bytes(content)
    with pytest.raises(ValueError, match=expected) as caught:
        read(album)
    assert "captions.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_byte_order_mark_and_extra_columns_are_accepted(album):
    lines = ["\ufeffid,image,caption", *(f"{i},{i:03}.jpg,A dog." for i in range(12))]
    (album / "captions.csv").write_text("\n".join(lines), encoding="utf-8")
    assert len(read(album).captions) == 12


def test_missing_captions_file_says_what_is_expected(album):
    (album / "captions.csv").unlink()
    with pytest.raises(ValueError, match=r"must hold a file captions.csv with the columns image,caption"):
        read(album)


def test_missing_root_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match="root must be a folder that holds a folder 'images', got"):
        read(tmp_path / "nowhere")


def test_folder_without_pictures_is_an_error(tmp_path):
    (tmp_path / "images").mkdir()
    with pytest.raises(ValueError, match="root must hold pictures"):
        read(tmp_path)


def test_splits_file_decides(album):
    rows = ["image,split,note"] + [f"{i:03}.jpg,{('fit', 'dev', 'eval')[i % 3]},x" for i in range(11)]
    (album / "splits.csv").write_text("\n".join(rows))
    names = {"train": "fit", "validation": "dev", "test": "eval"}
    images, _, left_out = read(album, split_names=names)
    assert images["split"].tolist() == [("train", "validation", "test")[i % 3] for i in range(11)]
    assert reason(left_out, "011.jpg") == "in no split of splits.csv"


def test_validation_part_is_split_off_where_there_is_none(album):
    rows = ["image,split"] + [f"{i:03}.jpg,{'train' if i < 8 else 'test'}" for i in range(12)]
    (album / "splits.csv").write_text("\n".join(rows))
    counts = read(album, validation_fraction=0.25).images["split"].value_counts().to_dict()
    assert counts == {"train": 6, "validation": 2, "test": 4}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("000.jpg,dev", "splits.csv may use the splits 'train', .* got 'dev'"),
        ("001.jpg,test", "splits.csv must give each image one split, got two for '001.jpg'"),
    ],
)
def test_wrong_split_is_one_clear_error(album, row, expected):
    rows = ["image,split"] + [f"{i:03}.jpg,train" for i in range(1, 12)] + [row]
    (album / "splits.csv").write_text("\n".join(rows))
    with pytest.raises(ValueError, match=expected):
        read(album)


@pytest.mark.parametrize("fractions", [{"train": 0.5, "test": 0.4}, {"train": 1.5, "test": -0.5}, {"trian": 1.0}])
def test_wrong_fractions_are_one_clear_error(album, fractions):
    with pytest.raises(ValueError, match="fractions"):
        read(album, fractions=fractions)


def test_folder_names_are_the_captions_of_scenes(tmp_path):
    root = make_album(tmp_path / "album", 6)
    for i, path in enumerate(sorted((root / "images").iterdir())):
        folder = root / "images" / ("Tall Building", "Coast")[i % 2]
        folder.mkdir(exist_ok=True)
        path.rename(folder / path.name)
    images, captions, _ = scenes.read(root, smallest_side=32)
    assert len(images) == 6
    assert captions["caption"].value_counts().to_dict() == {"Tall Building": 3, "Coast": 3}


def test_scene_outside_a_class_folder_is_one_clear_error(album):
    with pytest.raises(ValueError, match=r"must lie in one folder per class .* got '000.jpg'"):
        scenes.read(album, smallest_side=32)


def test_unknown_dataset_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"datasets knows .*photos, .*scenes.*; got 'photo'"):
        pick("datasets", "photo")


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "F"])
def test_every_kind_of_picture_opens_as_grey_levels(tmp_path, mode):
    ramp = np.tile(np.linspace(0, 1, 64, dtype=np.float32), (48, 1))
    if mode == "F":
        picture, name = Image.fromarray(ramp), "ramp.tif"
    elif mode == "I;16":
        picture, name = Image.fromarray((ramp * 65535).astype(np.uint16)), "ramp.png"
    else:
        picture, name = Image.fromarray((ramp * 255).astype(np.uint8)).convert(mode), "ramp.tif"
    picture.save(tmp_path / name)
    grey = folder.open_grey(tmp_path / name, 320)
    assert grey.dtype == np.float32
    assert grey.shape == (48, 64)
    tolerance = 0.6 if mode == "1" else 0.02
    np.testing.assert_allclose(grey[:, 2:-2], ramp[:, 2:-2], atol=1.0 if mode == "1" else tolerance)
    assert abs(grey.mean() - 0.5) < 0.02


def test_picture_is_upright_and_shrunk(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by a quarter
    Image.fromarray(np.zeros((480, 640, 3), dtype=np.uint8)).save(tmp_path / "turned.jpg", exif=exif)
    assert folder.open_grey(tmp_path / "turned.jpg", 320).shape == (320, 240)


def test_image_names_are_kept_exactly(tmp_path):
    root = make_album(tmp_path / "album", 3)
    odd = ["a b'c.jpg", "ü$(x);.jpg", "sub/new\nline.jpg"]
    (root / "images" / "sub").mkdir()
    for old, new in zip(sorted((root / "images").glob("*.jpg")), odd, strict=True):
        old.rename(root / "images" / new)
    rows = ["image,caption", *('"' + name + '",A dog.' for name in odd)]
    (root / "captions.csv").write_text("\n".join(rows), encoding="utf-8")
    images = photos.read(root, smallest_side=32, fractions={"train": 1.0}).images
    assert sorted(images["image"]) == sorted(odd)
    assert all(re.search("jpg$", name) for name in images["image"])
    assert photos.picture(odd[2], root=root).shape == (48, 64)
