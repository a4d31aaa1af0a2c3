"""Pictures of all formats are decoded correctly, turned upright, and shrunk alike from a file and from memory."""

from pathlib import Path

import numpy as np
import pytest

from jointsparse.features import DenseSift
from jointsparse.features.dense_sift import describe

Image = pytest.importorskip("PIL.Image")
from jointsparse.pictures import FORMATS, grey_of, open_grey  # noqa: E402

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


@pytest.mark.parametrize("path", [path for path in READABLE if path.parent.name in SHOWN], ids=str)
def test_a_picture_of_an_unusual_format_is_decoded_correctly(path):
    expected, atol = SHOWN[path.parent.name]
    np.testing.assert_allclose(open_grey(path, 320), expected, atol=atol)


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
