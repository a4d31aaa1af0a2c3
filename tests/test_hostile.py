"""Hostile pictures, names, links and tables are read right or listed with the reason. Nothing hangs, nothing is run."""

import errno
import os
import re
import struct
import unicodedata
import zlib
from base64 import b85decode
from io import BytesIO
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tifffile
from conftest import failing, make_album, verdicts_here
from PIL import Image, PngImagePlugin, features

from jointsparse.datasets import folder, photos, pictures, text
from jointsparse.provenance.tables import read_table, write_table

pytestmark = pytest.mark.usefixtures("checked_here")

BASE = Path(__file__).parents[1]
RAMP = np.tile(np.linspace(0, 255, 64).astype(np.uint8), (48, 1))
GREY = Image.fromarray(RAMP)


def read(root, **options):
    return photos.read(root, smallest_side=32, longest_side=320, **options)


def caption(root, *names):
    """Add a caption for every name."""
    with (root / "captions.csv").open("a", encoding="utf-8", newline="") as file:
        file.writelines(f'"{name.replace(chr(34), chr(34) * 2)}",A dog.\n' for name in names)


def encoded(picture, kind, **options):
    file = BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


# The ramp, 64 x 48 pixels. Nothing here writes HEIF.
SAVED = {kind: encoded(GREY, kind) for kind in pictures.FORMATS if kind != "HEIF"}
PNG = SAVED["PNG"]


# Files that are not read as pictures


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(bits, colour, row, transparent=(), side=(64, 48)):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *side, bits, colour, 0, 0, 0))
    level = chunk(b"tRNS", struct.pack(f">{len(transparent)}H", *transparent)) if transparent else b""
    return PNG[:8] + header + level + chunk(b"IDAT", zlib.compress(48 * (b"\0" + row))) + chunk(b"IEND", b"")


def tiff_of(changes, harm=()):
    """A TIFF of zeros, with other entries than those of grey levels of 8 bits. harm: type and count of an entry."""
    size = 48 * 64
    entries = {256: 64, 257: 48, 258: 8, 262: 1, 273: 8, 277: 1, 279: size} | changes
    kinds = dict.fromkeys(entries, (3, 1)) | dict([harm] if harm else [])
    rows = [struct.pack("<HHII", tag, *kinds[tag], entries[tag]) for tag in sorted(entries)]
    head = struct.pack("<2sHI", b"II", 42, 8 + size) + bytes(size)
    return head + struct.pack("<H", len(rows)) + b"".join(rows) + bytes(4)


def tiff(levels, **options):
    file = BytesIO()
    tifffile.imwrite(file, levels, **options)
    return file.getvalue()


def bmp_in_runs():
    """A BMP of 64 x 48 zeros in runs, a byte behind its colours."""
    runs = bytes([64, 0, 0, 0]) * 48 + b"\0\1"
    head = struct.pack("<IiiHHII", 40, 64, 48, 1, 8, 1, len(runs)) + bytes(16 + 1024 + 1)
    return struct.pack("<2sIHHI", b"BM", 14 + len(head) + len(runs), 0, 0, 14 + len(head)) + head + runs


def avif_to_be_cut():
    """An AVIF with a box that says which part of it to show. No decoder has to look at its numbers."""
    data = bytearray(encoded(GREY.convert("RGB"), "AVIF"))
    begin = data.index(b"mdat") + 4
    struct.pack_into(">I", data, data.index(struct.pack(">I", begin)), begin + 40)
    for name in (b"meta", b"iprp", b"ipco"):
        at = data.index(name) - 4
        struct.pack_into(">I", data, at, struct.unpack_from(">I", data, at)[0] + 40)
    end = at + struct.unpack_from(">I", data, at)[0] - 40
    return bytes(data[:end] + struct.pack(">I4s8I", 40, b"clap", 32, 1, 24, 1, 0, 1, 0, 1) + data[end:])


def enlarged(kind, before, layout, width_first=True):
    """A small picture whose header claims 20,000 x 20,000 pixels."""
    sizes = (64, 48) if width_first else (48, 64)
    found = before + struct.pack(layout, *sizes)
    assert SAVED[kind].count(found) == 1
    return SAVED[kind].replace(found, before + struct.pack(layout, 20_000, 20_000))


def hole(path):
    """A file of gigabytes, none of them on disk."""
    path.touch()
    os.truncate(path, 2**40)


def linked(target):
    return lambda path: path.symlink_to(target)


NO_PICTURE = "^does not open as a picture"
CONVERT = ": save it as a JPEG, or a PNG of 8 bits a level$"
OTHER_TIFF = f"a TIFF of other than 8 bits, with a sign, or with planes apart{CONVERT}"
OTHER_LEVEL = f"a PNG with a transparent level of other than 8 bits{CONVERT}"
TOO_MANY = f"{NO_PICTURE}: .* pixels"
CUT_AVIF = {"AVIF to be cut": (avif_to_be_cut(), f"an AVIF with a part that is to be cut out{CONVERT}")}
# The bytes of a file, or what makes it, and the reason.
LISTED = {
    "pipe": (os.mkfifo, "^not a regular file$"),
    "link to a device": (linked("/dev/zero"), "^not a regular file$"),
    "link to itself": (linked("link to itself.jpg"), f"{NO_PICTURE}: Too many levels of symbolic links$"),
    "link to nothing": (linked("nowhere"), f"{NO_PICTURE}: No such file or directory$"),
    "empty file": (b"", "^the file is empty$"),
    "text": (b"hello", f"{NO_PICTURE}: none of"),
    "beginning of a JPEG": (b"\xff\xd8\xff\xe0 nothing more", NO_PICTURE),
    "folder": (Path.mkdir, "^a folder, not a picture file$"),
    "gigabytes": (hole, "^too large: 1,099,511,627,776 bytes, at most 1,073,741,824 are read$"),
    # Ghostscript would open this one.
    "EPS": (
        encoded(Image.new("RGB", (64, 64)), "EPS"),
        f"{NO_PICTURE}: none of BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP(, AVIF)?(, HEIF)?$",
    ),
    "too many pixels, BMP": (enlarged("BMP", b"(\0\0\0", "<II"), TOO_MANY),
    "too many pixels, GIF": (enlarged("GIF", b",\0\0\0\0", "<HH"), TOO_MANY),  # of the frame
    "too many pixels, JPEG": (enlarged("JPEG", b"\xff\xc0\0\x0b\x08", ">HH", width_first=False), TOO_MANY),
    "too many pixels, PNG": (png(8, 0, bytes(64), side=(20_000, 20_000)), TOO_MANY),
    "a few too many pixels, PNG": (png(8, 0, bytes(64), side=(10_000, 10_000)), TOO_MANY),
    "too many pixels, PPM": (SAVED["PPM"].replace(b"64 48", b"20000 20000", 1), TOO_MANY),
    "too many pixels, TIFF": (tiff_of({256: 20_000, 257: 20_000}), TOO_MANY),
    # Of its pixels: the last byte before the twelve of the end.
    "PNG with a wrong checksum": (PNG[:-13] + bytes([PNG[-13] ^ 1]) + PNG[-12:], "broken PNG file"),
    "TIFF of 16-bit colours": (tiff(np.stack([RAMP.astype(np.uint16)] * 3, axis=-1), photometric="rgb"), OTHER_TIFF),
    "TIFF with a sign": (tiff((RAMP.astype(np.int16) - 128).astype(np.int8)), OTHER_TIFF),
    "TIFF of 4 bits": (tiff_of({258: 4}), OTHER_TIFF),
    # Pillow mixes some of these planes up, and forgets the order of the bits in others.
    "TIFF with planes apart": (tiff(np.stack([RAMP] * 3), photometric="rgb", planarconfig="separate"), OTHER_TIFF),
    "TIFF in which 0 is white with planes apart": (tiff_of({262: 0, 266: 2, 284: 2}), OTHER_TIFF),
    "TIFF that does not say whether 0 is white": (
        tiff_of({}, (262, (3, 99))),
        f"a TIFF with entries that cannot be read, or .* white{CONVERT}",
    ),
    "TIFF of which Pillow warns": (tiff_of({259: 1}, (259, (3, 2))), "tag 259 had too many entries: 2, expected 1"),
    "TIFF of uint16": (tiff(RAMP.astype(np.uint16) * 257), f"I;16 levels{CONVERT}"),
    "TIFF of int32": (tiff(RAMP.astype(np.int32) << 20), f"I levels{CONVERT}"),
    "TIFF of int16": (tiff(RAMP.astype(np.int16) - 128), f"(I;16S|I) levels{CONVERT}|{OTHER_TIFF}"),
    "TIFF of float32": (tiff((RAMP / 255).astype(np.float32)), f"F levels{CONVERT}"),
    # The rest is white, black or of the first colour, as each program likes.
    "GIF whose first frame is a part": (
        b"".join([SAVED["GIF"][:6], struct.pack("<HH", 80, 60), SAVED["GIF"][10:]]),
        f"a GIF whose first frame is smaller than its screen{CONVERT}",
    ),
    "PGM up to 15": (b"P5 64 48 15\n" + bytes(48 * 64), f"a PNM of levels up to .* than 255{CONVERT}"),
    "BMP in runs": (bmp_in_runs(), f"a BMP in runs{CONVERT}"),
    # Of the transparent colour Pillow compares the lower bytes of 16 bits with the upper ones of the pixels.
    "PNG of 16-bit colours, one transparent": (png(16, 2, bytes(384), [0, 0, 0]), OTHER_LEVEL),
    "PNG of 4 bits, a level transparent": (png(4, 0, bytes(range(32)), [3]), OTHER_LEVEL),
    "PNG with a transparent colour beyond its colours": (png(8, 2, bytes(192), [0, 256, 0]), OTHER_LEVEL),
    # Its orientation may come behind the first frame, where Pillow does not look.
    "animated PNG": (
        encoded(GREY, "PNG", save_all=True, append_images=[Image.fromarray(RAMP[::-1].copy())]),
        f"an animated PNG{CONVERT}",
    ),
    **(CUT_AVIF if features.check("avif") else {}),
    **{f"PNG without its last {cut} bytes": (PNG[:-cut], "does not open") for cut in (8, 12, 20)},
    **{f"half of a {kind}": (data[: len(data) // 2], "does not open") for kind, data in SAVED.items()},
}


@pytest.fixture(scope="module")
def left_out(tmp_path_factory):
    """The reason of each of these files, which lie beside twelve pictures in good order."""
    root = make_album(tmp_path_factory.mktemp("listed") / "album", 12)
    for name, (content, _) in LISTED.items():
        path = root / "images" / f"{name}.jpg"
        content(path) if callable(content) else path.write_bytes(content)
    caption(root, *(f"{name}.jpg" for name in LISTED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "verdicts", verdicts_here)
        images, _, left_out = read(root)
    assert images["image"].tolist() == [f"{i:03}.jpg" for i in range(12)]
    return dict(zip(left_out["item"], left_out["reason"], strict=True))


@pytest.mark.parametrize("name", LISTED)
def test_file_that_cannot_be_read_is_listed_with_the_reason(left_out, name):
    assert re.search(LISTED[name][1], left_out[f"{name}.jpg"])


@pytest.mark.parametrize("name", [b"zTXt", b"iTXt", b"iCCP"])
def test_text_in_a_picture_that_unpacks_to_more_than_it_may_hurts_nothing(tmp_path, name):
    packed = zlib.compress(bytes(100_000_000), 1)
    body = {b"zTXt": b"a\0\0", b"iTXt": b"a\0\1\0\0\0", b"iCCP": b"a\0\0"}[name] + packed
    (tmp_path / "text.png").write_bytes(PNG[:33] + chunk(name, body) + PNG[33:])
    if not (reason := pictures.check_picture(tmp_path / "text.png", 32, 320)[0]):
        np.testing.assert_allclose(pictures.open_grey(tmp_path / "text.png", 320), RAMP / 255, atol=1e-6)
    assert reason == "" or reason.startswith("does not open")


def test_tiff_with_a_sign_is_listed_whichever_entry_of_its_directory_is_damaged(tmp_path):
    data = tiff((RAMP.astype(np.int16) - 128).astype(np.int8))
    (begin,) = struct.unpack_from("<I", data, 4)
    (n_entries,) = struct.unpack_from("<H", data, begin)
    changes = [{"kind": 0}, *({"count": count} for count in (0, 2, 99, 2**31))]
    for at, change in product(range(begin + 2, begin + 2 + 12 * n_entries, 12), changes):
        tag, kind, count, value = struct.unpack_from("<HHII", data, at)
        entry = {"kind": kind, "count": count} | change
        damaged = bytearray(data)
        struct.pack_into("<HHII", damaged, at, tag, entry["kind"], entry["count"], value)
        (tmp_path / "a.tif").write_bytes(damaged)
        said = pictures.check_picture(tmp_path / "a.tif", 32, 320)[0]
        assert said.startswith("does not open as a picture: "), (tag, change)


@pytest.mark.parametrize(
    ("owner", "function", "name", "expected"),
    [
        (Path, "open", "003.jpg", "does not open as a picture: Permission denied"),
        (os, "listdir", "closed", "cannot be read: Permission denied"),
    ],
)
def test_file_or_folder_that_may_not_be_read_is_listed(album, monkeypatch, owner, function, name, expected):
    (album / "images" / "closed").mkdir()
    failing(monkeypatch, owner, function, name, errno.EACCES)
    assert [name, expected] in read(album).left_out.to_numpy().tolist()


def test_reasons_are_the_same_wherever_the_folder_lies(tmp_path):
    for place in ("here", "over/there"):
        path = tmp_path / place / "text.jpg"
        path.parent.mkdir(parents=True)
        path.symlink_to("text.jpg")
    reasons = [pictures.check_picture(tmp_path / place / "text.jpg", 32, 320) for place in ("here", "over/there")]
    assert reasons[0] == reasons[1] and reasons[0][0]


# Pictures of unusual kinds


def turned(orientation):
    """XMP by which Pillow turns a picture, and other decoders do not."""
    return f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf tiff:Orientation="{orientation}"/></x:xmpmeta>'.encode()


def with_text(key, text):
    made = PngImagePlugin.PngInfo()
    made.add_itxt(key, text)
    return made


def frames(kind, **options):
    """A picture whose first frame is the ramp and whose second one is the ramp turned round."""
    first, second = (Image.fromarray(levels).convert("RGB") for levels in (RAMP, RAMP[:, ::-1].copy()))
    return encoded(first, kind, save_all=True, append_images=[second], **options)


SCALED = RAMP / 255
CAMERA = Image.Exif()
CAMERA[0x010F] = "maker"
SLOPE = np.add.outer(np.arange(48), np.arange(64)) * 2 / 255
# Written by jpegtran. Behind the comment its pixels lie across the 64 KiB that Pillow hands to the decoder at once.
ARITHMETIC = b85decode(
    "|JeWF01!$>Nk#wx0RR9200961|JwjV01XKW3knDg3knMk4h;_zAQcl55)&sJ9v2`kDKRiEDJ?8BI!Zn>HbyrrEkIX6ModmpQ&KWMT47pHU`kO^"
    "PyfjP3kU!(06+l&5di<p00saM5C#9*00;pA002J#{{XVB;e+M`jsE~}!j5uGSC4ipUy%~ta?Hye5#vC6_q>njjU>nsm<)Ho;^80Y===$*OeTo`*#"
)
COMMENT = b"\xff\xfe\xff\x5a" + bytes(0xFF58)
LEVELS = np.arange(192, 256)
READ = {
    "TIFF in which 0 is black": (tiff(RAMP, photometric="minisblack"), SCALED, 1e-6),
    "TIFF in which 0 is white": (tiff(RAMP, photometric="miniswhite"), 1 - SCALED, 1e-6),
    "PNG of 8 bits with a transparent level, which is white": (
        png(8, 0, LEVELS.astype(np.uint8).tobytes(), [200]),
        np.tile(np.where(LEVELS == 200, 1, LEVELS / 255), (48, 1)),
        1e-6,
    ),
    "arithmetic JPEG of more than 64 KiB": (ARITHMETIC[:2] + COMMENT + ARITHMETIC[2:], SLOPE, 0.01),
    "JPEG turned by XMP alone": (encoded(GREY, "JPEG", xmp=turned(6), quality=95), SCALED, 0.05),
    "JPEG with EXIF turned by XMP alone": (encoded(GREY, "JPEG", xmp=turned(6), exif=CAMERA, quality=95), SCALED, 0.05),
    "WEBP turned by XMP alone": (encoded(GREY, "WEBP", xmp=turned(6), lossless=True), SCALED, 0.05),
    "PNG turned by XMP alone": (
        encoded(GREY, "PNG", pnginfo=with_text("XML:com.adobe.xmp", turned(6).decode())),
        SCALED,
        0.05,
    ),
    "TIFF with a channel that means nothing": (
        tiff(np.dstack([RAMP] * 3 + [0 * RAMP]), photometric="rgb", extrasamples=["unspecified"]),
        SCALED,
        0.01,
    ),
    "BigTIFF": (tiff(RAMP, bigtiff=True), SCALED, 1e-6),
    "PGM up to 255": (b"P5 64 48 255\n" + RAMP.tobytes(), SCALED, 1e-6),
    "first of several frames, GIF": (frames("GIF"), SCALED, 0.03),
    "first of several frames, TIFF": (frames("TIFF"), SCALED, 0.03),
    "first of several frames, WEBP": (frames("WEBP", lossless=True), SCALED, 0.03),
    "first of several frames, MPO": (frames("MPO", quality=95), SCALED, 0.03),
    "CMYK JPEG, not inverted": (encoded(GREY.convert("CMYK"), "JPEG", quality=95), SCALED, 0.03),
}
# What a picture shows, and the pixels that a camera stores with each orientation tag for it.
UPRIGHT = np.tile(np.r_[np.zeros(32), np.full(32, 255)].astype(np.uint8), (48, 1))
UPRIGHT[:24] //= 2
STORED = {
    1: UPRIGHT,
    2: UPRIGHT[:, ::-1],
    3: UPRIGHT[::-1, ::-1],
    4: UPRIGHT[::-1],
    5: UPRIGHT.T,
    6: np.rot90(UPRIGHT),
    7: UPRIGHT[::-1, ::-1].T,
    8: np.rot90(UPRIGHT, -1),
}


def of_camera(kind, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(Image.fromarray(np.ascontiguousarray(STORED[orientation])), kind, exif=exif)


READ |= {
    f"{kind} of orientation {orientation}": (of_camera(kind, orientation), UPRIGHT / 255, 0.1)
    for kind, orientation in product(("JPEG", "PNG", "WEBP", "TIFF"), STORED)
}


@pytest.mark.parametrize("case", READ)
def test_picture_of_an_unusual_kind_is_read_right(tmp_path, case):
    data, expected, atol = READ[case]
    (tmp_path / "a.jpg").write_bytes(data)
    np.testing.assert_allclose(pictures.open_grey(tmp_path / "a.jpg", 320), expected, atol=atol)


# Names and links


def test_suffix_says_nothing_of_the_kind(tmp_path):
    for suffix in folder.SUFFIXES:
        (tmp_path / f"a{suffix.upper()}").write_bytes(PNG)
    names, other = folder.list_pictures(tmp_path)
    assert (len(names), other) == (len(folder.SUFFIXES), {})
    assert folder.check_pictures(tmp_path, names, smallest_side=32, longest_side=320)[0] == {}


def test_names_are_kept_exactly_in_every_table(tmp_path):
    plain = ["a\nb", "a\rb", "a;=1", "=1+1", "'=1", "-x", "@x", '"q"', "{w}", "ü$(x);`y`"]
    names = [f"{name}.jpg" for name in (*plain, *(unicodedata.normalize(form, "é") for form in ("NFC", "NFD")))]
    root = make_album(tmp_path / "album", len(names))
    for old, new in zip(sorted((root / "images").iterdir()), names, strict=True):
        old.rename(root / "images" / new)
    (root / "captions.csv").write_text("image,caption\n")
    caption(root, *names[:-1])
    tables = read(root, fractions={"train": 1.0})
    assert sorted(tables.images["image"]) == sorted(names[:-1])
    assert tables.left_out.to_numpy().tolist() == [[names[-1], "no caption"]]
    for table, suffix in product(tables, (".csv", ".parquet")):
        write_table(table, tmp_path / f"table{suffix}")
        assert read_table(tmp_path / f"table{suffix}").equals(table)


def test_name_that_is_not_utf8_is_listed(tmp_path):
    for name in ("plain.jpg", os.fsdecode(b"caf\xe9.jpg")):
        (tmp_path / name).write_bytes(SAVED["JPEG"])
    expected = ["plain.jpg"], {r"caf\xe9.jpg": "the name is not UTF-8 text"}
    assert folder.list_pictures(tmp_path) == expected


def test_captions_open_nothing_but_the_pictures_that_were_found(album, monkeypatch):
    GREY.save(album / "secret.jpg")
    (album / "images" / "sub").mkdir()
    names = ["../secret.jpg", "./000.jpg", "sub/../000.jpg", "images/000.jpg", "000.jpg/", str(album / "secret.jpg")]
    caption(album, *names)
    opened = []
    look = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how, **options: opened.append(path) or look(path, *how, **options))
    expected = [[name, "captions.csv names an image that is not there"] for name in sorted(names)]
    assert read(album).left_out.to_numpy().tolist() == expected
    assert {path.parent for path in opened} == {album, album / "images"}


def test_folders_are_read_once_whatever_links_to_them(album, tmp_path):
    images, outside = album / "images", tmp_path / "outside"
    (images / "deep" / "real").mkdir(parents=True)
    outside.mkdir()
    for path in (images / "deep" / "real" / "in.png", outside / "out.png"):
        GREY.save(path)
    links = {"a": images / "deep", "b": outside, "c": outside, "deep/up": "..", "root": "/", "b/self": outside}
    for link, target in links.items():
        (images / link).symlink_to(target)
    names, other = folder.list_pictures(images)
    assert [name for name in names if "/" in name] == ["b/out.png", "deep/real/in.png"]
    expected = {"a", "c", "deep/up", "b/self", "root"}
    assert other == dict.fromkeys(expected, "a link to a folder that is read already or holds this one")


# Tables


def test_long_tables_are_read_in_pieces_that_make_a_whole(album, monkeypatch):
    expected = text.read_csv(album / "captions.csv", "image", "caption")
    for rows in (1, 5, 24):
        monkeypatch.setattr(text, "ROWS_AT_ONCE", rows)
        assert text.read_csv(album / "captions.csv", "image", "caption").equals(expected)


@pytest.mark.parametrize(
    ("make", "file"), [(os.mkfifo, "captions.csv"), (os.mkfifo, "splits.csv"), (linked("nowhere.csv"), "splits.csv")]
)
def test_pipe_or_broken_link_instead_of_a_table_is_an_error(album, make, file):
    (album / file).unlink(missing_ok=True)
    make(album / file)
    with pytest.raises(ValueError, match="must hold a file " + re.escape(file)):
        read(album)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1+1", "@A1", "\ta", "\ra", "＝1", "'=1", "''=1"])
def test_no_cell_of_a_csv_is_a_formula_and_all_come_back(tmp_path, cell):
    table = pd.DataFrame({"word": [cell, "plain"], "auc": [-0.5, 0.1 + 0.2]})
    write_table(table, tmp_path / "table.csv")
    written = pd.read_csv(tmp_path / "table.csv", dtype=str, lineterminator="\n")
    assert written.to_dict("list") == {"word": ["'" + cell, "plain"], "auc": ["-0.5", "0.30000000000000004"]}
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.csv"), table)


def test_no_part_of_a_cell_is_one_where_other_letters_end_cells(tmp_path):
    """In any column, of a program that ends cells at any of these signs and knows no quotes."""
    texts = ["".join(some) for n in range(1, 5) for some in product("a'=-,;\t\r\n \"", repeat=n)]
    table = pd.DataFrame({"number": 1.5, "word": texts, "file": texts[::-1]})
    write_table(table, tmp_path / "table.csv")
    written = (tmp_path / "table.csv").read_bytes().decode()
    assert not re.search(r'[,;\t\r\n][ "]*[=\-]', written)
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.csv"), table)


# Calls that no code here makes


def code():
    files = [
        *BASE.glob("src/**/*.py"),
        *BASE.glob("workflow/**/*.py"),
        *BASE.glob("workflow/**/*.smk"),
        BASE / "Snakefile",
    ]
    return {file: file.read_text() for file in files}


def test_no_shell_or_other_program_is_run_and_no_pickle_is_read():
    found = re.compile(
        r"^\s*shell:|os\.system|popen|subprocess|\beval\(|\bexec\(|"
        r"pickle\.load|read_pickle|allow_pickle=True|yaml\.load\(",
        re.MULTILINE,
    )
    # The manifest asks git for the commit, and pictures are checked by a process, with arguments that no data enter.
    assert {file.name for file, text in code().items() if found.search(text)} == {"records.py", "checker.py"}


def test_texts_are_utf8_wherever_they_are_opened():
    """Also where ruff's PLW1514 does not know that something is a path."""
    calls = [call for text in code().values() for call in re.findall(r"(?:read|write)_text\([^\n]*", text)]
    assert len(calls) > 10 and [call for call in calls if "encoding=" not in call] == []


def test_no_wildcard_is_a_name_from_the_data():
    paths = [path for text in code().values() for path in re.findall(r"\b(?:results|timings|logs)/[^\s\"]*", text)]
    names = {name for path in paths for name in re.findall(r"\{(\w+)\}", path)}
    of_config = {
        "dataset",
        "datasets",
        "study",
        "kind",
        "vocabulary",
        "shard",
        "shards",
        "run",
        "method",
        "loss",
        "norm",
    }
    of_rules = {"folder", "name", "one", "own", "table"}
    assert names == of_config | of_rules
