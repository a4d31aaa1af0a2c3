"""Hostile pictures, names, links and tables: read right, or listed with the reason; nothing hangs, nothing is run."""

import os
import re
import struct
import unicodedata
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tifffile
from conftest import make_album
from PIL import Image

from jointsparse.datasets import folder, photos
from jointsparse.tables import read_table, write_table

BASE = Path(__file__).parents[1]
RAMP = np.tile(np.linspace(0, 255, 64).astype(np.uint8), (48, 1))


def read(root, **options):
    return photos.read(root, smallest_side=32, longest_side=320, **options)


def caption(root, *names):
    """Writes a caption for every name, besides those there are."""
    with (root / "captions.csv").open("a", encoding="utf-8", newline="") as file:
        file.writelines(f'"{name.replace(chr(34), chr(34) * 2)}",A dog.\n' for name in names)


def reason(root, name):
    """Why a picture with a caption is left out; the others are used."""
    caption(root, name)
    images, _, left_out = read(root)
    assert len(images) == 12
    assert list(left_out["item"]) == [name]
    return left_out["reason"][0]


def encoded(picture, kind, **options):
    file = BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


# Pictures that are too large for their file


def resized(kind, width, height):
    """A small picture whose header gives it another size."""
    data = bytearray(encoded(Image.fromarray(RAMP), kind))
    if kind == "PNG":
        data[16:24] = struct.pack(">II", width, height)
        data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    elif kind == "JPEG":
        at = data.index(b"\xff\xc0")
        data[at + 5 : at + 9] = struct.pack(">HH", height, width)
    elif kind == "BMP":
        data[18:26] = struct.pack("<II", width, height)
    elif kind == "GIF":  # the frame is larger than the screen
        at = data.index(b",", data.index(b"\x21\xf9") + 8 if b"\x21\xf9" in data else 13 + 3 * 2 ** (data[10] % 8 + 1))
        data[at + 5 : at + 9] = struct.pack("<HH", width, height)
    elif kind == "PPM":
        data = bytearray(data.replace(b"64 48", b"%d %d" % (width, height), 1))
    elif kind == "TIFF":
        file = BytesIO(data)
        with tifffile.TiffFile(file) as pages:
            places = {code: pages.pages[0].tags[code].valueoffset for code in (256, 257)}
        for code, number in ((256, width), (257, height)):
            data[places[code] : places[code] + 4] = struct.pack("<I" if data[:2] == b"II" else ">I", number)
    return bytes(data)


@pytest.mark.filterwarnings("ignore")  # what Pillow only warns of is too large for us without the filter as well
@pytest.mark.parametrize("side", [10_000, 20_000])
@pytest.mark.parametrize("kind", ["BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF"])
def test_picture_of_too_many_pixels_is_listed_before_it_is_decoded(album, kind, side):
    name = f"bomb.{kind.lower()}"
    (album / "images" / name).write_bytes(resized(kind, side, side))
    assert re.search(r"does not open as a picture: .* pixels", reason(album, name))


@pytest.mark.parametrize("chunk", [b"zTXt", b"iTXt", b"iCCP"])
def test_text_in_a_picture_that_unpacks_to_more_than_it_may_hurts_nothing(album, chunk):
    packed = zlib.compress(bytes(200_000_000), 9)
    body = {b"zTXt": b"a\0\0", b"iTXt": b"a\0\1\0\0\0", b"iCCP": b"a\0\0"}[chunk] + packed
    data = encoded(Image.fromarray(RAMP), "PNG")
    piece = struct.pack(">I", len(body)) + chunk + body + struct.pack(">I", zlib.crc32(chunk + body))
    (album / "images" / "text.png").write_bytes(data[:33] + piece + data[33:])
    caption(album, "text.png")
    images, _, left_out = read(album)
    if "text.png" in set(images["image"]):
        grey = photos.picture("text.png", root=album)
        np.testing.assert_allclose(grey, RAMP / 255, atol=1e-6)
    else:
        assert "does not open" in left_out["reason"][0]


# What is no picture file, whatever its name


def test_pipe_is_listed_and_nobody_waits_for_it(album):
    os.mkfifo(album / "images" / "pipe.jpg")
    assert reason(album, "pipe.jpg") == "not a regular file"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/dev/zero", "not a regular file"),
        ("loop.jpg", "does not open as a picture: Too many levels of symbolic links"),
        ("nowhere.jpg", "does not open as a picture: No such file or directory"),
    ],
)
def test_link_to_no_file_is_listed(album, target, expected):
    (album / "images" / "loop.jpg").symlink_to(target)
    assert reason(album, "loop.jpg") == expected


def test_folder_with_the_name_of_a_picture_is_listed(album):
    (album / "images" / "folder.jpg").mkdir()
    assert reason(album, "folder.jpg") == "a folder, not a picture file"


def test_file_of_gigabytes_is_listed_and_not_read(album):
    with (album / "images" / "large.png").open("wb") as file:
        file.truncate(2**40)  # a hole: nothing is on disk
    assert reason(album, "large.png") == "too large: 1,099,511,627,776 bytes, at most 1,073,741,824 are read"


def test_file_that_may_not_be_read_is_listed(album, monkeypatch):
    opened = Path.open

    def refuse(path, *arguments, **options):
        if path.name == "003.jpg":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    left_out = read(album).left_out
    assert left_out.to_numpy().tolist() == [["003.jpg", "does not open as a picture: Permission denied"]]


def test_folder_that_may_not_be_read_is_listed(album, monkeypatch):
    (album / "images" / "closed").mkdir()
    listed = os.listdir

    def refuse(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "listdir", refuse)
    left_out = read(album).left_out
    assert left_out.to_numpy().tolist() == [["closed", "a folder that cannot be read: Permission denied"]]


def test_no_other_program_is_asked_to_open_a_picture(album):
    (album / "images" / "a.jpg").write_bytes(encoded(Image.new("RGB", (64, 64)), "EPS"))  # Ghostscript
    assert reason(album, "a.jpg") == "does not open as a picture: none of BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP"


def test_reasons_are_the_same_wherever_the_folder_lies(tmp_path):
    lists = []
    for place in ("here", "over/there"):
        root = make_album(tmp_path / place, 3)
        (root / "images" / "text.jpg").write_bytes(b"hello")
        (root / "images" / "loop.jpg").symlink_to("loop.jpg")
        lists.append(read(root).left_out.to_numpy().tolist())
    assert lists[0] == lists[1]
    assert len(lists[0]) == 2


# Pictures of unusual kinds


def test_png_whose_pixels_do_not_match_their_checksum_is_listed(album):
    data = bytearray(encoded(Image.fromarray(RAMP), "PNG"))
    at = data.index(b"IDAT")
    data[at + 4 + int.from_bytes(data[at - 4 : at], "big")] ^= 1
    (album / "images" / "flipped.png").write_bytes(data)
    assert "broken PNG file" in reason(album, "flipped.png")


@pytest.mark.parametrize("cut", [8, 12, 20])
def test_png_without_its_end_is_listed(album, cut):
    (album / "images" / "cut.png").write_bytes(encoded(Image.fromarray(RAMP), "PNG")[:-cut])
    assert "does not open" in reason(album, "cut.png")


@pytest.mark.parametrize(
    "levels",
    [
        RAMP.astype(np.uint32) << 24,
        RAMP.astype(np.int32) << 20,
        RAMP.astype(np.int16) - 128,
        (RAMP.astype(np.int16) - 128).astype(np.int8),
        RAMP.astype(np.float32),
        np.where(RAMP == 0, np.nan, RAMP / 255).astype(np.float32),
    ],
    ids=lambda levels: str(levels.dtype),
)
def test_tiff_whose_scale_is_not_known_is_listed(album, levels):
    tifffile.imwrite(album / "images" / "levels.tif", levels)
    assert re.search("levels must (be of 8 or 16 bits|lie in)", reason(album, "levels.tif"))


def test_tiff_of_16_bits_in_which_0_is_white_is_listed(album):
    tifffile.imwrite(album / "images" / "levels.tif", RAMP.astype(np.uint16) * 257, photometric="miniswhite")
    assert "0 as black" in reason(album, "levels.tif")


def test_tiff_of_floats_in_which_0_is_white_is_listed(album):
    tifffile.imwrite(album / "images" / "levels.tif", (RAMP / 255).astype(np.float32), photometric="miniswhite")
    assert "0 as black" in reason(album, "levels.tif")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_tiff_with_planes_apart_is_read_right_or_listed(album, dtype):
    levels = np.stack([RAMP.astype(dtype) * (257 if dtype == np.uint16 else 1)] * 3)
    tifffile.imwrite(album / "images" / "levels.tif", levels, photometric="rgb", planarconfig="separate")
    if dtype == np.uint16:  # which Pillow mixes up
        assert "planes together" in reason(album, "levels.tif")
    else:
        grey = folder.open_grey(album / "images" / "levels.tif", 320)
        np.testing.assert_allclose(grey, RAMP / 255, atol=0.01)


def test_level_of_a_16_bit_png_that_is_transparent_is_white(tmp_path):
    levels = RAMP.astype(np.uint16) * 257
    Image.fromarray(levels).save(tmp_path / "a.png", transparency=int(levels[0, 0]))
    expected = np.where(levels == levels[0, 0], 1, RAMP / 255)
    np.testing.assert_allclose(folder.open_grey(tmp_path / "a.png", 320), expected, atol=1e-6)


@pytest.mark.parametrize("photometric", ["minisblack", "miniswhite"])
def test_tiff_of_8_bits_is_read_the_right_way_round(tmp_path, photometric):
    tifffile.imwrite(tmp_path / "a.tif", RAMP, photometric=photometric)
    expected = RAMP / 255 if photometric == "minisblack" else 1 - RAMP / 255
    np.testing.assert_allclose(folder.open_grey(tmp_path / "a.tif", 320), expected, atol=1e-6)


def test_pgm_is_scaled_by_its_largest_value(tmp_path):
    for most, kind in ((255, ">u1"), (1023, ">u2"), (65535, ">u2")):
        levels = (RAMP * (most / 255)).astype(kind)
        (tmp_path / "a.ppm").write_bytes(b"P5 64 48 %d\n" % most + levels.tobytes())
        np.testing.assert_allclose(folder.open_grey(tmp_path / "a.ppm", 320), levels / most, atol=0.003)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF", "MPO"])
def test_of_several_frames_the_first_is_read(tmp_path, kind):
    first, other = (Image.fromarray(levels) for levels in (RAMP, RAMP[:, ::-1].copy()))
    options = {"lossless": True} if kind == "WEBP" else {"quality": 95} if kind == "MPO" else {}
    data = encoded(first.convert("RGB"), kind, save_all=True, append_images=[other.convert("RGB")], **options)
    (tmp_path / "a.jpg").write_bytes(data)
    grey = folder.open_grey(tmp_path / "a.jpg", 320)
    np.testing.assert_allclose(grey, RAMP / 255, atol=0.03)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_turned_picture_stands_upright(tmp_path, kind, orientation):
    upright = np.tile(np.r_[np.zeros(32), np.full(32, 255)].astype(np.uint8), (48, 1))
    upright[:24] //= 2
    # What the camera stored, so that it shows `upright` after what the tag asks for.
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.T,
        6: np.rot90(upright),
        7: upright[::-1, ::-1].T,
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    (tmp_path / "a.jpg").write_bytes(encoded(Image.fromarray(np.ascontiguousarray(stored)), kind, exif=exif))
    grey = folder.open_grey(tmp_path / "a.jpg", 320)
    np.testing.assert_allclose(grey, upright / 255, atol=0.1)


def test_cmyk_jpeg_is_not_inverted(tmp_path):
    Image.fromarray(RAMP).convert("CMYK").save(tmp_path / "a.jpg", quality=95)
    np.testing.assert_allclose(folder.open_grey(tmp_path / "a.jpg", 320), RAMP / 255, atol=0.03)


def test_suffix_says_nothing_of_the_kind(tmp_path):
    for suffix in folder.SUFFIXES:
        (tmp_path / f"a{suffix.upper()}").write_bytes(encoded(Image.fromarray(RAMP), "PNG"))
    names, other = folder.list_pictures(tmp_path)
    assert len(names) == len(folder.SUFFIXES) and not other
    reasons, _ = folder.check_pictures(tmp_path, names, smallest_side=32, longest_side=320)
    assert reasons == {}


# Names and links


def test_names_are_kept_exactly_in_every_table(tmp_path):
    names = [
        "a\nb.jpg",
        "a\rb.jpg",
        "a;=1.jpg",
        "=1+1.jpg",
        "'=1.jpg",
        "-x.jpg",
        "@x.jpg",
        '"q".jpg',
        "{w}.jpg",
        "ü$(x);`y`.jpg",
    ]
    names += [unicodedata.normalize(form, "é.jpg") for form in ("NFC", "NFD")]
    root = make_album(tmp_path / "album", len(names))
    for old, new in zip(sorted((root / "images").iterdir()), names, strict=True):
        old.rename(root / "images" / new)
    (root / "captions.csv").write_text("image,caption\n")
    caption(root, *names[:-1])
    tables = read(root, fractions={"train": 1.0})
    assert sorted(tables.images["image"]) == sorted(names[:-1])
    assert tables.left_out.to_numpy().tolist() == [[names[-1], "no caption"]]
    for table in tables:
        for suffix in (".csv", ".parquet"):
            write_table(table, tmp_path / f"table{suffix}")
            assert read_table(tmp_path / f"table{suffix}").equals(table)


def test_name_that_is_not_utf8_is_listed(album):
    path = os.fsencode(album / "images") + b"/caf\xe9.jpg"
    with open(path, "wb") as file:
        file.write(encoded(Image.fromarray(RAMP), "JPEG"))
    left_out = read(album).left_out
    assert left_out.to_numpy().tolist() == [[r"caf\xe9.jpg", "the name is not UTF-8 text"]]
    write_table(left_out, album / "left_out.csv")


@pytest.mark.parametrize(
    "name", ["../secret.jpg", "./000.jpg", "sub/../000.jpg", "images/000.jpg", "000.jpg/", "ABSOLUTE"]
)
def test_captions_open_nothing_but_the_pictures_that_were_found(album, name, monkeypatch):
    Image.fromarray(RAMP).save(album / "secret.jpg")
    (album / "images" / "sub").mkdir()
    name = str(album / "secret.jpg") if name == "ABSOLUTE" else name
    caption(album, name)
    opened = []
    look = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how, **options: opened.append(path) or look(path, *how, **options))
    left_out = read(album).left_out
    assert left_out.to_numpy().tolist() == [[name, "captions.csv names an image that is not there"]]
    assert {path.parent for path in opened} == {album, album / "images"}


def test_folders_are_read_once_whatever_links_to_them(album, tmp_path):
    images = album / "images"
    (images / "deep" / "real").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    Image.fromarray(RAMP).save(images / "deep" / "real" / "in.png")
    Image.fromarray(RAMP[::-1].copy()).save(outside / "out.png")
    (images / "a").symlink_to(images / "deep")
    (images / "b").symlink_to(outside)
    (images / "c").symlink_to(outside)
    (images / "deep" / "up").symlink_to("..")
    (outside / "self").symlink_to(outside)
    (images / "root").symlink_to("/")
    names, other = folder.list_pictures(images)
    assert [name for name in names if "/" in name] == ["b/out.png", "deep/real/in.png"]
    expected = {"a", "c", "deep/up", "b/self", "root"}
    assert other == dict.fromkeys(expected, "a link to a folder that is read already or holds this one")


# Tables


def test_long_tables_are_read_in_pieces_that_make_a_whole(album, monkeypatch):
    expected = folder.read_csv(album / "captions.csv", "image", "caption")
    for rows in (1, 5, 24):
        monkeypatch.setattr(folder, "ROWS_AT_ONCE", rows)
        assert folder.read_csv(album / "captions.csv", "image", "caption").equals(expected)


def test_splits_that_a_broken_link_stands_for_are_an_error_and_not_drawn(album):
    (album / "splits.csv").symlink_to("nowhere.csv")
    with pytest.raises(ValueError, match=r"must hold a file splits\.csv"):
        read(album)


@pytest.mark.parametrize("file", ["captions.csv", "splits.csv"])
def test_pipe_instead_of_a_table_is_an_error(album, file):
    (album / file).unlink(missing_ok=True)
    os.mkfifo(album / file)
    with pytest.raises(ValueError, match="must hold a file " + re.escape(file)):
        read(album)


@pytest.mark.parametrize("names", [{"train": "a", "validation": "a"}, {"trian": "a"}])
def test_split_names_that_mean_two_splits_or_none_are_an_error(album, names):
    (album / "splits.csv").write_text("image,split\n000.jpg,a\n")
    with pytest.raises(ValueError, match=r"split_names must give each of train, .* a name of its own"):
        read(album, split_names=names)


@pytest.mark.parametrize("row", ["000.jpg,{}", "{0},train\n{0},test"])
def test_messages_stay_short_whatever_the_data_hold(album, row):
    (album / "splits.csv").write_text("image,split\n" + row.format("x" * 100_000) + "\n")
    with pytest.raises(ValueError) as caught:
        read(album)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1+1", "@A1", "\t=1", "\r=1", "＝1", "'=1", "''=1"])
def test_no_cell_of_a_csv_is_a_formula_and_all_come_back(tmp_path, cell):
    table = pd.DataFrame({"word": [cell, "plain"], "auc": [-0.5, 0.1 + 0.2]})
    write_table(table, tmp_path / "table.csv")
    written = pd.read_csv(tmp_path / "table.csv", dtype=str, lineterminator="\n")
    assert written["word"][0] == "'" + cell
    assert written["auc"].tolist() == ["-0.5", "0.30000000000000004"]
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.csv"), table)


@pytest.mark.parametrize("cell", ["a;=1+1", "a\t=1+1", "a\r=1+1"])
def test_no_part_of_a_cell_is_one_where_other_letters_end_cells(tmp_path, cell):
    write_table(pd.DataFrame({"word": [cell]}), tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_bytes() == f'"word"\n"{cell}"\n\n'.encode()
    assert read_table(tmp_path / "table.csv")["word"].tolist() == [cell]


# What no code here does


def code():
    files = [
        *BASE.glob("src/**/*.py"),
        *BASE.glob("workflow/**/*.py"),
        *BASE.glob("workflow/**/*.smk"),
        BASE / "Snakefile",
    ]
    return {file: file.read_text() for file in files}


def test_no_shell_or_other_program_is_run_and_no_pickle_is_read():
    found = r"^\s*shell:|os\.system|popen|subprocess|\beval\(|\bexec\(|"
    found += r"pickle\.load|read_pickle|allow_pickle=True|yaml\.load\("
    found = re.compile(found, re.MULTILINE)
    # The manifest asks git for the commit, with arguments that no data enter.
    assert [file.name for file, text in code().items() if found.search(text)] == ["records.py"]


def test_no_wildcard_is_a_name_from_the_data():
    paths = [path for text in code().values() for path in re.findall(r"\b(?:results|timings|logs)/[^\s\"]*", text)]
    names = {name for path in paths for name in re.findall(r"\{(\w+)\}", path)}
    of_config = {"dataset", "datasets", "study", "kind", "vocabulary", "shard", "shards", "run", "n", "figure"}
    of_config |= {"method", "loss", "norm"}
    of_rules = {"folder", "name", "one", "own", "suffix", "table"}
    assert names == of_config | of_rules
