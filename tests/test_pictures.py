"""Pictures of all formats are decoded correctly, turned upright, and shrunk alike from a file and from memory."""

from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")
from jointsparse.pictures import FORMATS, grey_of, open_colour, open_grey  # noqa: E402

# Written once with Pillow, tifffile and jpegtran, or byte by byte, and kept, because other versions write other bytes;
# camera.heic is a photograph of a rotated camera. All pictures in a folder show the same content, which the folder's
# name describes, except for those in `listed` and `misread`.
PICTURES = Path(__file__).with_name("pictures")
KINDS = {".avif": "AVIF", ".heic": "HEIF"}  # formats that not every build of Pillow reads
READABLE = [
    path
    for path in sorted(PICTURES.glob("*/*"))
    if KINDS.get(path.suffix, "PNG") in FORMATS and path.parent.name != "misread"
]
RAMP = np.tile(np.linspace(0, 255, 64).astype(np.uint8), (48, 1))
LEVELS = np.arange(192, 256)
FRAME = np.pad(RAMP / 255, ((0, 9), (0, 6)), constant_values=1)  # the first frame of a GIF does not fill the picture
# Levels of columns: a transparent one, and levels that have one of its bytes or neither.
NEAR = np.array([0x1235, 0x1234, 0x1335, 0x0035, 0xFFFF, 0x12FF, 0])


def near(bits, n_rows, green=1.0):
    """Grey levels of the columns, of which the first is white. The lower half has another green, so none is white."""
    levels = np.repeat((NEAR & 2**bits - 1) / (2**bits - 1), 8)
    clear = np.repeat((NEAR ^ NEAR[0]) & 2**bits - 1, 8) == 0
    return np.vstack([np.tile(np.where(clear, 1, levels), (n_rows, 1)), np.tile(green * levels, (48 - n_rows, 1))])


SHOWN = {  # expected grey levels of the pictures in each folder, and the tolerance
    "ramp": (RAMP / 255, 1e-6),
    "nearly-ramp": (RAMP / 255, 0.05),
    "halves": (np.tile(np.repeat([0.0, 1.0], 32), (48, 1)), 1e-6),
    "inverse": (1 - RAMP / 255, 1e-6),
    "levels": (np.tile(np.where(LEVELS == 200, 1, LEVELS / 255), (48, 1)), 1e-6),  # 200 is transparent, on white
    "upright": (np.kron([[0, 127 / 255], [0, 1]], np.ones((24, 32))), 0.1),
    "ramp-turned": (np.rot90(np.vstack([RAMP[:24] // 2, RAMP[24:]]), -1) / 255, 0.1),
    "part": (FRAME, 1e-6),
    "part-transparent": (np.where(FRAME == 32 / 255, 1, FRAME), 1e-6),
    **{f"transparent-of-{bits}-bits": (near(bits, 48), 1e-6) for bits in (1, 2, 4, 8)},
    **{f"transparent-colours-of-{bits}-bits": (near(bits, 24, green=0.413), 0.006) for bits in (8, 16)},
}


@pytest.mark.parametrize("folder", SHOWN)
def test_pictures_of_unusual_formats_are_decoded_correctly(folder):
    expected, atol = SHOWN[folder]
    paths = [path for path in READABLE if path.parent.name == folder]
    if not paths:
        pytest.skip("this Pillow reads none of them")
    for path in paths:
        np.testing.assert_allclose(open_grey(path, 320), expected, atol=atol, err_msg=path.name)


MISREAD = {
    "signed.tif": "signed levels",
    "a-plane-0-is-white.tif": "levels in separate planes",
    "a-plane-lowest-bit-first.tif": "levels in separate planes",
    "planes-of-16-bits.tif": "levels in separate planes",
    "planes-with-opacity.tif": "levels in separate planes",
    "palette-of-8-bits.tif": "a palette with 8 bits per channel",
    "premultiplied.tif": "La levels",
    "palette-with-opacity.tif": "PA levels",
    "transparent-of-16-bits.png": "I;16 levels",
}


@pytest.mark.parametrize("name", MISREAD)
def test_pictures_that_pillow_misreads_are_rejected(name):
    with pytest.raises(ValueError, match=f"^{MISREAD[name]}: save it as a JPEG, or as a PNG with 8 bits per channel$"):
        open_colour(PICTURES / "misread" / name, 320)


@pytest.mark.parametrize(
    ("shape", "longest_side"),
    [((40, 60), 320), ((60, 40, 3), 320), ((60, 40), 50), ((40, 60, 3), 50), ((150, 600, 3), 50)],
)
def test_a_picture_in_memory_gives_the_same_levels_as_its_file(tmp_path, shape, longest_side):
    picture, path = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8), tmp_path / "picture.png"
    Image.fromarray(picture).save(path)
    grey = open_grey(path, longest_side)
    assert max(grey.shape) == min(max(shape), longest_side)
    np.testing.assert_array_equal(grey_of(picture, longest_side), grey, strict=True)
    np.testing.assert_allclose(grey_of(picture / 255, longest_side), grey, atol=1 / 255)  # not rounded to 255 levels
