"""Pictures in all variants that their formats allow are either decoded correctly or rejected with a clear message."""

import struct
from io import BytesIO
from itertools import product

import numpy as np
import pytest
from raw_pictures import png, tiff

Image = pytest.importorskip("PIL.Image")
from PIL.PngImagePlugin import PngInfo  # noqa: E402

from jointsparse.pictures import open_colour  # noqa: E402

LEVEL = 0x1235  # the transparent level; a picture with fewer bits per level uses the lowest bits
NEAR = np.array(
    [LEVEL, 0x1234, 0x1335, 0x0035, 0xFFFF, 0x12FF, 0]
)  # LEVEL, and levels with one of its bytes or neither
TURN = struct.pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, 274, 3, 1, 6, 0, 0)  # EXIF: rotate by a quarter turn
X, Y = (part / [60, 40][i] for i, part in enumerate(np.meshgrid(np.arange(61), np.arange(41))))
LUT = np.arange(16)[:, np.newaxis] * [1, -1, 0] / 15 + [0, 1, 0.5]  # colours of a palette


def shown(tmp_path, data):
    (tmp_path / "picture").write_bytes(data)
    return open_colour(tmp_path / "picture", 320) / 255


def saved(picture, kind, **options):
    file = BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def whole(*parts, bits=8):
    """Convert levels in [0, 1] to whole numbers, (height, width, n_channels)."""
    return np.rint(np.dstack(parts) * (2**bits - 1)).astype(np.int64)


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize(
    ("bits", "colour", "level"), [(1, 0, 0), *((bits, 0, LEVEL) for bits in (2, 4, 8)), (8, 2, LEVEL), (16, 2, LEVEL)]
)
def test_the_transparent_level_of_a_png_is_white(tmp_path, rng, bits, colour, level, interlaced, turn):
    most, n = 2**bits - 1, 3 if colour else 1
    levels = rng.choice(NEAR & most, size=(40, 24, 1)).repeat(n, axis=2)
    levels[:4] ^= rng.random((4, 24, n)) < 0.5  # colours that agree with the transparent colour in some channels only
    data = png(levels, bits, colour, n * struct.pack(">H", level), interlaced=interlaced, exif=TURN * turn)
    expected = np.where((levels == level & most).all(axis=2, keepdims=True), 1, levels / most) * np.ones(3)
    np.testing.assert_allclose(shown(tmp_path, data), np.rot90(expected, -1) if turn else expected, atol=0.006)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_colours_in_the_palette_of_a_png_may_be_transparent(tmp_path, rng, bits):
    palette, opacity = rng.integers(0, 256, (2**bits, 3)), rng.integers(0, 256, 2**bits)
    levels = rng.integers(0, 2**bits, (40, 24, 1))
    got = shown(tmp_path, png(levels, bits, 3, bytes(opacity.tolist()), bytes(palette.ravel().tolist())))
    expected = 1 + (palette / 255 - 1) * opacity[:, np.newaxis] / 255
    np.testing.assert_allclose(got, expected[levels[:, :, 0]], atol=0.006)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("bits", "extra"), [*product((8, 16), ([], [0], [1], [2])), (8, [2, 0])])
def test_an_extra_channel_of_a_tiff_is_its_opacity_if_its_tag_says_so(tmp_path, extra, bits, order):
    opacity = 1 - Y * (extra[:1] > [0])
    colours = [X, 1 - X, Y]
    stored = [colour * opacity if extra == [1] else colour for colour in colours]  # premultiplied
    levels = whole(*stored, *([1 - Y, 0 * Y][: len(extra)]), bits=bits)
    tags = {"ExtraSamples": extra} if extra else {}
    got = shown(tmp_path, tiff(levels, bits, 2, order=order, rows_per_strip=16, **tags))
    expected = 1 + (np.dstack(colours) - 1) * opacity[:, :, np.newaxis]
    assert np.abs(got - expected).mean() < 0.004


@pytest.mark.parametrize(
    ("bits", "photometric", "tags"),
    [
        *[(bits, grey, {"FillOrder": fill}) for bits, grey, fill in product((1, 2, 4), (0, 1), (1, 2))],
        (8, 0, {}),
        (8, 1, {"FillOrder": 2}),
        (8, 0, {"packed": True, "PlanarConfiguration": 2}),
        (8, 1, {"PlanarConfiguration": 2}),
        (8, 1, {"PlanarConfiguration": 1, "SampleFormat": 1}),
    ],
)
def test_grey_levels_of_a_tiff(tmp_path, bits, photometric, tags):
    levels, most = whole(X, bits=bits), 2**bits - 1
    got = shown(tmp_path, tiff(levels if photometric else most - levels, bits, photometric, **tags))
    np.testing.assert_allclose(got, levels / most * np.ones(3), atol=1e-6)


def test_colours_in_the_palette_of_a_tiff(tmp_path):
    levels = whole(X, bits=4)
    got = shown(tmp_path, tiff(levels, 4, 3, ColorMap=whole(LUT, bits=16).squeeze().T))
    np.testing.assert_allclose(got, LUT[levels[:, :, 0]], atol=0.006)


PLANES = {"PlanarConfiguration": 2}
COLOUR, GREY = whole(X, 1 - X, Y), whole(X)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (tiff(GREY, 8, 1, SampleFormat=2), "signed levels"),
        (tiff(GREY, 8, 0, **PLANES), "levels in separate planes"),
        (tiff(GREY, 8, 1, FillOrder=2, **PLANES), "levels in separate planes"),
        (tiff(COLOUR, 8, 2, FillOrder=2, **PLANES), "levels in separate planes"),
        (tiff(whole(X, 1 - X, Y, bits=16), 16, 2, **PLANES), "levels in separate planes"),
        (tiff(whole(X, Y), 8, 1, ExtraSamples=2, packed=True, **PLANES), "levels in separate planes"),
        (tiff(whole(X, bits=4), 4, 3, ColorMap=whole(LUT).squeeze().T), "a palette with 8 bits per channel"),
        (tiff(whole(X, Y), 8, 1, ExtraSamples=1), "La levels"),
        (tiff(whole(X, Y), 8, 3, ExtraSamples=2, ColorMap=3 * list(range(0, 2**16, 256))), "PA levels"),
        (png(whole(X, bits=16), 16, 0, b"\1\2"), "I;16 levels"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value,
)
def test_pictures_that_pillow_misreads_are_rejected(tmp_path, data, expected):
    with pytest.raises(ValueError, match=f"^{expected}: save it as a JPEG, or as a PNG with 8 bits per channel$"):
        shown(tmp_path, data)


@pytest.mark.parametrize("options", [{}, {"transparency": 7}])
def test_the_area_that_the_first_frame_of_a_gif_does_not_cover_is_white(tmp_path, options):
    levels = whole(X)[:, :, 0].astype(np.uint8) // 4
    picture = Image.fromarray(levels).convert("P")
    picture.putpalette(list(range(256)) * 3)
    data = saved(picture, "GIF", **options)
    expected = np.ones((50, 70, 3))
    expected[:41, :61] = np.asarray(picture.convert("RGB")) / 255
    expected[:41, :61][levels == options.get("transparency")] = 1
    got = shown(tmp_path, data[:6] + struct.pack("<HH", 70, 50) + data[10:])
    np.testing.assert_allclose(got, expected, atol=1e-6)


@pytest.mark.parametrize(
    "exif", [b"", TURN.replace(b"\x01\x12", b"\x01\x28")], ids=["", "exif"]
)  # EXIF without orientation
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_the_orientation_in_xmp_is_ignored(tmp_path, kind, exif):
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><r tiff:Orientation="6"/></x:xmpmeta>'
    options = {"xmp": xmp} | ({"exif": exif} if exif else {})
    if kind == "TIFF":
        options = {"tiffinfo": {700: xmp}}
    if kind == "PNG":
        options["pnginfo"] = PngInfo()
        options["pnginfo"].add_itxt("XML:com.adobe.xmp", options.pop("xmp").decode())
    assert shown(tmp_path, saved(Image.new("RGB", (60, 40)), kind, **options)).shape == (40, 60, 3)
