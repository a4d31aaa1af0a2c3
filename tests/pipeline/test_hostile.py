"""Hostile pictures, names, links and tables are read correctly or listed with the reason, and nothing hangs or runs."""

import errno
import os
import re
import shutil
import struct
import unicodedata
import zlib
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from albums import failing, make_album, read_album, verdicts_here
from PIL import Image
from test_pictures import PICTURES, READABLE

from jointsparse import pictures
from jointsparse.pipeline.datasets import checker, folder, picture_check
from jointsparse.pipeline.provenance.tables import read_table, write_table

pytestmark = pytest.mark.usefixtures("checked_here")

BASE = Path(__file__).parents[2]
RAMP = np.tile(np.linspace(0, 255, 64).astype(np.uint8), (48, 1))


def caption(root, *names):
    """Add a caption for every name."""
    with (root / "captions.csv").open("a", encoding="utf-8", newline="") as file:
        file.writelines(f'"{name.replace(chr(34), chr(34) * 2)}",A dog.\n' for name in names)


# Files that are not read as pictures


def hole(path):
    """Make a sparse file of many gigabytes that takes no room on disk."""
    path.touch()
    os.truncate(path, 2**40)


def linked(target):
    return lambda path: path.symlink_to(target)


NO_PICTURE = "^does not open as a picture"
TOO_MANY = f"{NO_PICTURE}: .* pixels"
CONVERT = ": save it as a JPEG, or as a PNG with 8 bits per channel$"
MADE = {  # by a function
    "pipe.jpg": (os.mkfifo, "^not a regular file$"),
    "device.jpg": (linked("/dev/zero"), "^not a regular file$"),
    "link-to-itself.jpg": (linked("link-to-itself.jpg"), f"{NO_PICTURE}: Too many levels of symbolic links$"),
    "link-to-nothing.jpg": (linked("nowhere"), f"{NO_PICTURE}: No such file or directory$"),
    "empty.jpg": (Path.touch, "^a picture file must hold 1 to 1,073,741,824 bytes, got 0$"),
    "folder.jpg": (Path.mkdir, "^a folder, not a picture file$"),
    "gigabytes.jpg": (hole, "^a picture file must hold 1 to 1,073,741,824 bytes, got 1,099,511,627,776$"),
}
LISTED = {
    "text.jpg": f"{NO_PICTURE}: none of",
    "beginning.jpg": NO_PICTURE,
    "eps.jpg": f"{NO_PICTURE}: none of BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP(, AVIF)?(, HEIF)?$",
    **{f"too-many-pixels.{suffix}": TOO_MANY for suffix in ("bmp", "gif", "jpg", "png", "ppm", "tif")},
    "a-few-too-many-pixels.png": TOO_MANY,
    "wrong-checksum.png": "broken PNG file",
    "arithmetic-beyond-64-KiB.jpg": f"{NO_PICTURE}: broken data stream",
    "uint16.tif": f"I;16 levels{CONVERT}",
    "int32.tif": f"I levels{CONVERT}",
    "int16.tif": f"(I;16S|I) levels{CONVERT}",
    "float32.tif": f"F levels{CONVERT}",
    "of-10-bits.heic": f"I;16 levels{CONVERT}",
    **{f"without-its-last-{cut}-bytes.png": NO_PICTURE for cut in (8, 12, 20)},
    **{f"half.{suffix}": NO_PICTURE for suffix in ("avif", "bmp", "gif", "heic", "jpg", "png", "ppm", "tif", "webp")},
}


@pytest.fixture(scope="module")
def left_out(tmp_path_factory):
    """The reasons for each of these files, which lie beside twelve good pictures."""
    root = make_album(tmp_path_factory.mktemp("listed") / "album", 12)
    shutil.copytree(PICTURES / "listed", root / "images", dirs_exist_ok=True)
    for name, (make, _) in MADE.items():
        make(root / "images" / name)
    caption(root, *MADE, *LISTED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checker, "verdicts", verdicts_here)
        images, _, left_out, _ = read_album(root)
    assert images["image"].tolist() == [f"{i:03}.jpg" for i in range(12)]
    return dict(zip(left_out["item"], left_out["reason"], strict=True))


@pytest.mark.parametrize("name", [*MADE, *(path.name for path in READABLE if path.parent.name == "listed")])
def test_a_file_that_cannot_be_read_is_listed_with_the_reason(left_out, name):
    assert re.search(MADE[name][1] if name in MADE else LISTED[name], left_out[name])


def test_the_reason_for_heic_names_the_package_that_it_needs(monkeypatch):
    monkeypatch.setattr(picture_check, "FORMATS", ("JPEG", "PNG"))
    expected = "does not open as a picture: none of JPEG, PNG; HEIC needs the package pi-heif"
    assert picture_check.check_picture(PICTURES / "ramp-turned" / "camera.heic", 32, 320)[0] == expected


@pytest.mark.parametrize(("name", "head"), [(b"zTXt", b"a\0\0"), (b"iTXt", b"a\0\1\0\0\0"), (b"iCCP", b"a\0\0")])
def test_text_in_a_picture_that_unpacks_to_too_much_does_no_harm(tmp_path, name, head):
    Image.fromarray(RAMP).save(tmp_path / "text.png")
    data, body = (tmp_path / "text.png").read_bytes(), head + zlib.compress(bytes(100_000_000), 1)
    chunk = struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    (tmp_path / "text.png").write_bytes(data[:33] + chunk + data[33:])
    if not (reason := picture_check.check_picture(tmp_path / "text.png", 32, 320)[0]):
        np.testing.assert_allclose(pictures.open_grey(tmp_path / "text.png", 320), RAMP / 255, atol=1e-6)
    assert reason == "" or reason.startswith("does not open")


@pytest.mark.parametrize(
    ("owner", "function", "name", "expected"),
    [
        (Path, "open", "003.jpg", "does not open as a picture: Permission denied"),
        (os, "listdir", "closed", "cannot be read: Permission denied"),
    ],
)
def test_a_file_or_folder_without_permission_to_read_is_listed(album, monkeypatch, owner, function, name, expected):
    (album / "images" / "closed").mkdir()
    failing(monkeypatch, owner, function, name, errno.EACCES)
    assert [name, expected] in read_album(album).left_out.to_numpy().tolist()


# Pictures of unusual kinds


@pytest.mark.parametrize("path", [path for path in READABLE if path.parent.name != "listed"], ids=str)
def test_a_picture_of_an_unusual_kind_is_accepted(path):
    """tests/test_pictures.py tests the pixels that are read."""
    assert picture_check.check_picture(path, 32, 320)[0] == ""


# Names and links


def test_the_suffix_does_not_decide_the_format_and_a_name_that_is_not_utf8_is_listed(tmp_path):
    names = [f"a{suffix.upper()}" for suffix in folder.SUFFIXES]
    for name in (*names, os.fsdecode(b"caf\xe9.jpg")):
        Image.fromarray(RAMP).save(tmp_path / name, "PNG")
    assert folder.list_pictures(tmp_path) == (sorted(names), {r"caf\xe9.jpg": "the name is not UTF-8 text"})
    assert folder.check_pictures(tmp_path, names, smallest_side=32, longest_side=320)[0] == {}


def test_unusual_names_are_unchanged_in_every_table(tmp_path):
    plain = ["a\nb", "a\rb", "a;=1", "=1+1", "'=1", "-x", "@x", '"q"', "{w}", "ü$(x);`y`"]
    names = [f"{name}.jpg" for name in (*plain, *(unicodedata.normalize(form, "é") for form in ("NFC", "NFD")))]
    root = make_album(tmp_path / "album", len(names))
    for old, new in zip(sorted((root / "images").iterdir()), names, strict=True):
        old.rename(root / "images" / new)
    (root / "captions.csv").write_text("image,caption\n")
    caption(root, *names[:-1])
    tables = read_album(root, fractions={"train": 1.0})
    assert sorted(tables.images["image"]) == sorted(names[:-1])
    assert tables.left_out.to_numpy().tolist() == [[names[-1], "no caption"]]
    for table, suffix in product(tables[:3], (".csv", ".parquet")):
        write_table(table, tmp_path / f"table{suffix}")
        assert read_table(tmp_path / f"table{suffix}").equals(table)


def test_names_in_captions_open_no_file_outside_the_folder(album, monkeypatch):
    Image.fromarray(RAMP).save(album / "secret.jpg")
    (album / "images" / "sub").mkdir()
    names = ["../secret.jpg", "./000.jpg", "sub/../000.jpg", "images/000.jpg", "000.jpg/", str(album / "secret.jpg")]
    caption(album, *names)
    opened = []
    look = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how, **options: opened.append(path) or look(path, *how, **options))
    expected = [[name, "captions.csv names an image that is not there"] for name in sorted(names)]
    assert read_album(album).left_out.to_numpy().tolist() == expected
    assert {path.parent for path in opened} == {album, album / "images"}


def test_a_folder_is_read_once_even_if_links_lead_to_it(album, tmp_path):
    images, outside = album / "images", tmp_path / "outside"
    (images / "deep" / "real").mkdir(parents=True)
    outside.mkdir()
    for path in (images / "deep" / "real" / "in.png", outside / "out.png"):
        Image.fromarray(RAMP).save(path)
    (outside / "deep").mkdir()
    again = {"a": images / "deep", "c": outside, "deep/up": "..", "b/self": outside}
    above = {"d": tmp_path, "root": "/", "b/deep/up": outside.parent}
    links = {"b": outside} | again | above
    for link, target in links.items():
        (images / link).symlink_to(target)
    names, other = folder.list_pictures(images)
    assert [name for name in names if "/" in name] == ["b/out.png", "deep/real/in.png"]
    assert other == dict.fromkeys(again, "a link to a folder that is read already") | dict.fromkeys(
        above, "a link to a folder above a folder of data or of results"
    )


# Tables


@pytest.mark.parametrize(
    ("make", "file"), [(os.mkfifo, "captions.csv"), (os.mkfifo, "splits.csv"), (linked("nowhere.csv"), "splits.csv")]
)
def test_a_pipe_or_broken_link_instead_of_a_table_is_an_error(album, make, file):
    (album / file).unlink(missing_ok=True)
    make(album / file)
    with pytest.raises(ValueError, match="must hold a file " + re.escape(file)):
        read_album(album)


def test_no_part_of_a_cell_is_a_formula_in_programs_with_other_separators(tmp_path):
    """Some programs end cells at any of these characters and ignore quotes."""
    texts = ["".join(some) for n in range(1, 5) for some in product("a'=-,;\t\r\n \"", repeat=n)]
    texts += [f"{sign}{text}" for sign in "+@＝" for text in texts[:50]]
    table = pd.DataFrame({"number": -0.5, "word": texts, "file": texts[::-1]})
    write_table(table, tmp_path / "table.csv")
    cells = pd.read_csv(tmp_path / "table.csv", dtype=str, lineterminator="\n")
    assert not cells["word"].str.match(r"[=+\-@＝]|[\t\r\n][ \"]*([^ \"']|$)").any()
    written = re.sub(r"^-0\.5(?=,)", "", (tmp_path / "table.csv").read_bytes().decode(), flags=re.MULTILINE)
    assert not re.search(r'(^|[,;\t\r\n])[ "]*[=\-+@＝]', written)
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.csv"), table)


# Dangerous calls


def code():
    files = [
        *BASE.glob("src/**/*.py"),
        *BASE.glob("workflow/**/*.py"),
        *BASE.glob("workflow/**/*.smk"),
        BASE / "Snakefile",
        BASE / "workflow" / "Snakefile",
    ]
    return {file: file.read_text() for file in files}


def test_no_shell_or_other_program_is_run_and_no_pickle_is_read():
    found = re.compile(
        r"^\s*shell:|os\.system|popen|subprocess|\beval\(|\bexec\(|"
        r"pickle\.load|read_pickle|allow_pickle=True|yaml\.load\(",
        re.MULTILINE,
    )
    # The records ask git for the commit, and pictures are checked by another process. No data become arguments of these
    # programs. The command starts Snakemake with the arguments of its own command line, without a shell. Numba's cache
    # of kernels consists of pickles, see `compiled`. Pandas evaluates only expressions of claims and of stated costs. A
    # network is tried in another process, whose only argument is a line of JSON.
    allowed = {"records.py", "checker.py", "compiled.py", "judging.py", "shapes.py", "figures.py", "command_line.py"}
    allowed |= {"onnx.py"}
    assert {file.name for file, text in code().items() if found.search(text)} == allowed


def test_no_wildcard_takes_a_name_from_the_data():
    paths = [path for text in code().values() for path in re.findall(r"\b(?:results|timings|logs)/[^\s\"]*", text)]
    names = {name for path in paths for name in re.findall(r"\{(\w+)\}", path)}
    of_config = "dataset datasets study kind shard shards run method loss norm"
    of_rules = "folder name table ending n"
    assert names == {*of_config.split(), *of_rules.split()}
