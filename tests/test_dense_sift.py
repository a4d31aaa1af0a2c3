"""Dense SIFT: descriptors agree with a slow version, and have the expected invariances."""

import numpy as np
import oracles_features
import pytest

from jointsparse.features.dense_sift import describe, smallest_side

PLAIN = {"patch_sizes": (16,), "step": 8, "min_contrast": 1e-6}


def texture(height, width, seed=0):
    """Return smooth noise in [0.2, 0.5], which has gradients in all directions."""
    noise = np.random.default_rng(seed).random((height + 4, width + 4))
    smooth = sum(noise[i : i + height, j : j + width] for i in range(5) for j in range(5)) / 25
    low, high = smooth.min(), smooth.max()
    return (0.2 + 0.3 * (smooth - low) / (high - low)).astype(np.float32)


TEXTURE = texture(40, 40)


def differences(got, expected):
    return np.abs(got.astype(int) - expected.astype(int)).max()


@pytest.mark.parametrize("rootsift", [True, False])
@pytest.mark.parametrize("patch_sizes, step", [((16,), 8), ((5, 18), 7), ((4, 12), 11)])
def test_descriptors_agree_with_the_slow_version(patch_sizes, step, rootsift):
    picture = texture(25, 32)
    picture[:, :9] = 0.3  # gives some flat patches
    options = {
        "patch_sizes": patch_sizes, "step": step, "clip": 0.2, "rootsift": rootsift, "min_contrast": 0.004,
    }  # fmt: skip
    got = describe(picture, **options)
    expected = oracles_features.dense_sift(picture, **options)
    assert got.shape == expected.shape
    assert np.abs(got - np.minimum(expected, 255)).max() <= 0.51


def test_min_contrast_is_compared_with_the_mean_gradient():
    ramp = np.tile(np.arange(64, dtype=np.float32) / 100, (32, 1))  # 0.01 per pixel, away from the border
    options = {"patch_sizes": (16,), "step": 24}
    assert not describe(ramp, min_contrast=0.0101, **options).any()
    assert describe(ramp, min_contrast=0.0099, **options)[1].any()


@pytest.mark.parametrize(("factor", "offset", "most"), [(1, 0.4, 1), (0.1, 0, 1), (2, 0, 0), (2.0**-10, 0, 0)])
@pytest.mark.parametrize("rootsift", [True, False])
def test_brightness_and_contrast_do_not_matter(rootsift, factor, offset, most):
    picture = texture(40, 56) - np.float32(0.1)
    changed = picture * np.float32(factor) + np.float32(offset)
    got, expected = (describe(grey, rootsift=rootsift, **PLAIN) for grey in (changed, picture))
    assert differences(got, expected) <= most


def test_rotation_turns_grid_cells_and_orientations():
    picture = texture(40, 40)
    upright = describe(picture, **PLAIN).reshape(4, 4, 4, 4, 8)
    got = describe(np.rot90(picture), **PLAIN).reshape(4, 4, 4, 4, 8)
    # A quarter turn to the left turns a gradient to the right (orientation 0) into an upward one (orientation 6).
    assert differences(got, np.roll(np.rot90(np.rot90(upright, axes=(0, 1)), axes=(2, 3)), -2, axis=-1)) <= 1


@pytest.mark.parametrize("orientation", range(8))
def test_a_ramp_has_one_orientation(orientation):
    angle = np.pi / 4 * orientation
    y, x = np.mgrid[:48, :48] - 23.5
    ramp = (0.5 + 0.01 * (np.cos(angle) * x + np.sin(angle) * y)).astype(np.float32)
    inner = describe(ramp, patch_sizes=(16,), step=16).reshape(3, 3, 16, 8)[1, 1]
    others = np.delete(inner, orientation, axis=1)
    assert (inner[:, orientation] > 100).all()
    assert others.max() <= 4  # from rounding of the ramp to float32, enlarged by the square root


def test_all_memory_layouts_give_the_same_descriptors():
    picture = texture(40, 50)
    expected = describe(picture)
    picture.flags.writeable = False
    layouts = (picture, picture.copy(), np.asfortranarray(picture), np.repeat(picture, 2, axis=1)[:, ::2])
    for layout in (*layouts, picture.astype(np.float64)):
        assert np.array_equal(describe(layout), expected)


def test_a_picture_of_the_smallest_side_has_a_patch_of_every_size():
    options = {"patch_sizes": (10, 20), "step": 50}
    side = smallest_side(**options)
    assert (side, len(describe(texture(side, side), **options))) == (20, 2)
    with pytest.raises(ValueError, match="at least 20 pixels"):
        describe(texture(side - 1, side), **options)


@pytest.mark.parametrize(
    ("picture", "options", "message"),
    [
        (np.zeros((300, 20)), {}, r"at least 32 pixels on its shorter side, got 20 x 300"),
        (np.zeros((0, 0)), {}, r"at least 32 pixels"),
        (np.zeros((40, 40, 3)), {}, r"grey, \(height, width\), got shape \(40, 40, 3\)"),
        (np.zeros(40), {}, r"grey, \(height, width\)"),
        (np.full((40, 40), np.nan), {}, r"got values from nan to nan"),
        (np.full((40, 40), np.inf), {}, r"got values from inf to inf"),
        (np.full((40, 40), 255, np.uint8), {}, r"in \[0, 1\], got values from 255 to 255"),
        (np.full((40, 40), -0.1), {}, r"in \[0, 1\], got values from -0.1"),
        (np.full((40, 40), "a"), {}, r"real numbers"),
        (TEXTURE, {"patch_sizes": ()}, "patch_sizes must hold at least one size"),
        (TEXTURE, {"patch_sizes": (16, 3)}, "each of patch_sizes must be a whole number of at least 4, got 3"),
        (TEXTURE, {"patch_sizes": (16.0,)}, "each of patch_sizes must be a whole number of at least 4, got 16.0"),
        (TEXTURE, {"step": 0}, "step must be a whole number of at least 1, got 0"),
        (TEXTURE, {"step": 1.5}, "step must be a whole number"),
        (TEXTURE, {"clip": 0.0}, "clip must be above 0 and at most 1, got 0.0"),
        (TEXTURE, {"clip": float("nan")}, "clip must be above 0"),
        (TEXTURE, {"min_contrast": 0.0}, "min_contrast must be between 1e-06 and 1, got 0.0"),
    ],
)
def test_invalid_pictures_and_options_raise(picture, options, message):
    with pytest.raises(ValueError, match=message):
        describe(picture, **options)
