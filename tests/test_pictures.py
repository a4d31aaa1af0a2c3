"""Pictures in all forms that their formats allow are decoded correctly or refused, from a file and from memory."""

import struct
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from jointsparse.features import DenseSift
from jointsparse.features.dense_sift import describe

Image = pytest.importorskip("PIL.Image")
from PIL.PngImagePlugin import PngInfo  # noqa: E402
from raw_pictures import png, tiff  # noqa: E402

from jointsparse.pictures import FORMATS, grey_of, open_colour, open_grey  # noqa: E402

# Written once with Pillow, tifffile and jpegtran, and kept, because other versions write other bytes; camera.heic is a
# photograph of a rotated camera. All pictures in a folder show the same content, which the folder's name describes.
PICTURES = Path(__file__).with_name("pictures")
KINDS = {".avif": "AVIF", ".heic": "HEIF"}  # formats that not every build of Pillow reads
READABLE = [path for path in sorted(PICTURES.glob("*/*")) if KINDS.get(path.suffix, "PNG") in FORMATS]
RAMP = np.tile(np.linspace(0, 255, 64).astype(np.uint8), (48, 1))
LEVELS = np.arange(192, 256)
SHOWN = {  # expected grey levels of the pictures in each folder, and the tolerance
    "ramp": (RAMP / 255, 1e-6),
    "nearly-ramp": (RAMP / 255, 0.05),
    "halves": (np.tile(np.repeat([0.0, 1.0], 32), (48, 1)), 1e-6),
    "inverse": (1 - RAMP / 255, 1e-6),
    "levels": (np.tile(np.where(LEVELS == 200, 1, LEVELS / 255), (48, 1)), 1e-6),  # 200 is transparent, on white
    "upright": (np.kron([[0, 127 / 255], [0, 1]], np.ones((24, 32))), 0.1),
    "ramp-turned": (np.rot90(np.vstack([RAMP[:24] // 2, RAMP[24:]]), -1) / 255, 0.1),
}


@pytest.mark.parametrize("folder", SHOWN)
def test_pictures_of_unusual_formats_are_decoded_correctly(folder):
    expected, atol = SHOWN[folder]
    for path in READABLE:
        if path.parent.name == folder:
            np.testing.assert_allclose(open_grey(path, 320), expected, atol=atol, err_msg=path.name)


LEVEL = 0x1235  # the transparent level; a picture with fewer bits per level uses the lowest bits
NEAR = np.array([LEVEL, 0x1234, 0x1335, 0x0035, 0xFFFF, 0x12FF, 0])  # LEVEL, and levels with one of its bytes or none
TURN = struct.pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, 274, 3, 1, 6, 0, 0)  # EXIF: rotate by a quarter turn
WITHOUT_TURN = TURN.replace(b"\x01\x12", b"\x01\x28")
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><r tiff:Orientation="6"/></x:xmpmeta>'
X, Y = (part / [60, 40][i] for i, part in enumerate(np.meshgrid(np.arange(61), np.arange(41))))
LUT = np.arange(16)[:, np.newaxis] * [1, -1, 0] / 15 + [0, 1, 0.5]  # colours of a palette


def whole(*parts, bits=8):
    """Convert levels in [0, 1] to whole numbers, (height, width, n_channels)."""
    return np.rint(np.dstack(parts) * (2**bits - 1)).astype(np.int64)


def saved(picture, kind, **options):
    file = BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def with_level(bits, colour, interlaced=False, exif=b""):
    """A PNG in which LEVEL is transparent, and what it shows."""
    rng, most, n = np.random.default_rng(0), 2**bits - 1, 3 if colour else 1
    levels = rng.choice(NEAR & most, size=(40, 24, 1)).repeat(n, axis=2)
    levels[:4] ^= rng.random((4, 24, n)) < 0.5  # colours that agree with the transparent colour in some channels only
    shown = np.where((levels == LEVEL & most).all(axis=2, keepdims=True), 1, levels / most) * np.ones(3)
    data = png(levels, bits, colour, n * struct.pack(">H", LEVEL), interlaced=interlaced, exif=exif)
    return data, np.rot90(shown, -1) if exif else shown


def of_grey(bits, photometric, **tags):
    levels, most = whole(X, bits=bits), 2**bits - 1
    return tiff(levels if photometric else most - levels, bits, photometric, **tags), levels / most * np.ones(3)


def of_part(**options):
    """A GIF whose first frame does not cover the whole picture."""
    levels = whole(X)[:, :, 0].astype(np.uint8) // 4
    picture = Image.fromarray(levels).convert("P")
    picture.putpalette(list(range(256)) * 3)
    shown, data = np.ones((50, 70, 3)), saved(picture, "GIF", **options)
    shown[:41, :61] = np.asarray(picture.convert("RGB")) / 255
    shown[:41, :61][levels == options.get("transparency")] = 1
    return data[:6] + struct.pack("<HH", 70, 50) + data[10:], shown


def with_xmp(kind, exif=b""):
    """A black picture whose XMP says that it must be turned, which is ignored."""
    texts = PngInfo()
    texts.add_itxt("XML:com.adobe.xmp", XMP.decode())
    options = {"PNG": {"pnginfo": texts}, "TIFF": {"tiffinfo": {700: XMP}}}.get(kind, {"xmp": XMP})
    return saved(Image.new("RGB", (60, 40)), kind, **options, **({"exif": exif} if exif else {})), np.zeros((40, 60, 3))


FORMS = {
    **{f"PNG, {bits} bits, a level is transparent": with_level(bits, 0) for bits in (1, 2, 4, 8)},
    **{f"PNG, {bits} bits, a colour is transparent": with_level(bits, 2) for bits in (8, 16)},
    "interlaced PNG, 4 bits": with_level(4, 0, interlaced=True),
    "interlaced PNG, 16 bits, turned": with_level(16, 2, interlaced=True, exif=TURN),
    **{f"TIFF, {bits} bits, lowest bit first": of_grey(bits, 1, FillOrder=2) for bits in (1, 2, 4, 8)},
    **{f"TIFF, {bits} bits, 0 is white": of_grey(bits, 0) for bits in (1, 2, 4, 8)},
    "TIFF, 4 bits, lowest bit first, 0 is white": of_grey(4, 0, FillOrder=2),
    "compressed TIFF of planes, 0 is white": of_grey(8, 0, packed=True, PlanarConfiguration=2),
    "TIFF of planes": of_grey(8, 1, PlanarConfiguration=2),
    "TIFF without planes": of_grey(8, 1, PlanarConfiguration=1, SampleFormat=1),
    "TIFF, a palette of 4 bits": (
        tiff(whole(X, bits=4), 4, 3, ColorMap=whole(LUT, bits=16).squeeze().T),
        LUT[whole(X, bits=4)[:, :, 0]],
    ),
    "GIF with a frame of a part": of_part(),
    "transparent GIF with a frame of a part": of_part(transparency=7),
    **{f"{kind} with XMP": with_xmp(kind) for kind in ("JPEG", "PNG", "WEBP", "TIFF")},
    **{f"{kind} with XMP and EXIF": with_xmp(kind, WITHOUT_TURN) for kind in ("JPEG", "PNG", "WEBP")},
}


def shown(tmp_path, data):
    (tmp_path / "picture").write_bytes(data)
    return open_colour(tmp_path / "picture", 320) / 255


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_no_common_program_writes_is_decoded_correctly(tmp_path, name):
    data, expected = FORMS[name]
    np.testing.assert_allclose(shown(tmp_path, data), expected, atol=0.006)


PLANES = {"PlanarConfiguration": 2}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (tiff(whole(X), 8, 1, SampleFormat=2), "signed levels"),
        (tiff(whole(X), 8, 0, **PLANES), "levels in separate planes"),
        (tiff(whole(X), 8, 1, FillOrder=2, **PLANES), "levels in separate planes"),
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


@pytest.mark.parametrize("shape", [(40, 60), (40, 60, 3), (150, 600, 3)])
@pytest.mark.parametrize("longest_side", [320, 50])
def test_a_picture_in_memory_gives_the_same_levels_as_its_file(tmp_path, shape, longest_side):
    picture = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    Image.fromarray(picture).save(tmp_path / "picture.png")
    grey = open_grey(tmp_path / "picture.png", longest_side)
    np.testing.assert_array_equal(grey_of(picture, longest_side), grey, strict=True)
    np.testing.assert_allclose(grey_of(picture / 255, longest_side), grey, atol=1 / 255)  # not rounded to 255 levels
    for got in DenseSift([4], longest_side=longest_side).transform([picture, tmp_path / "picture.png"]):
        np.testing.assert_array_equal(got, describe(grey, patch_sizes=[4]), strict=True)
