"""DAISY descriptors, which scikit-image computes: shapes, units and invariances."""

import re

import numpy as np
import pytest

from jointsparse.features import daisy
from jointsparse.registry import pick

pytest.importorskip("skimage")

PICTURE = np.random.default_rng(0).random((48, 64)).astype(np.float32)


@pytest.mark.parametrize("rootsift", [True, False])
def test_every_patch_of_every_size_has_a_descriptor_of_unit_length(rootsift):
    got = daisy.describe(PICTURE, patch_sizes=(16, 32), step=8, rootsift=rootsift)
    assert got.dtype == np.uint8 and got.shape[1] == daisy.LENGTH == 104
    assert len(got) == sum(len(range(0, 48 - 2 * r, 8)) * len(range(0, 64 - 2 * r, 8)) for r in (7, 15))
    np.testing.assert_allclose(np.linalg.norm(got.astype(float), axis=1), 512, rtol=0.02)


def test_descriptors_do_not_depend_on_contrast_and_brightness():
    got, expected = (daisy.describe(picture).astype(float) for picture in (0.2 + 0.5 * PICTURE, PICTURE))
    np.testing.assert_allclose(got, expected, atol=1.01)


def test_daisy_is_registered_and_a_picture_of_the_smallest_side_has_descriptors():
    assert pick("features", "daisy") is daisy
    side = daisy.smallest_side(patch_sizes=(16, 24))
    assert side == 24 and len(daisy.describe(PICTURE[:side, :side], patch_sizes=(16, 24), step=100)) == 2


@pytest.mark.parametrize(
    ("picture", "options", "message"),
    [
        (PICTURE[:20], {}, "picture must be at least 32 pixels on its shorter side, got 64 x 20"),
        (np.dstack([PICTURE] * 3), {}, "picture must be grey, (height, width), got shape (48, 64, 3)"),
        (PICTURE * 255, {}, "picture must hold grey levels in [0, 1], got values from"),
        (PICTURE, {"patch_sizes": (16, 3)}, "each of patch_sizes must be a whole number of at least 4, got 3"),
        (PICTURE, {"patch_sizes": ()}, "patch_sizes must hold at least one size"),
        (PICTURE, {"step": 0}, "step must be a whole number of at least 1, got 0"),
    ],
)
def test_invalid_pictures_and_options_raise(picture, options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        daisy.describe(picture, **options)
