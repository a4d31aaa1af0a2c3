"""Dense SIFT: descriptors agree with a slow version, and which pictures and options are refused."""

import numpy as np
import pytest

from jointsparse.features.dense_sift import describe

TEXTURE = np.full((25, 32), 0.3)  # with smooth noise, which has gradients in all directions, and some flat patches
NOISE = np.lib.stride_tricks.sliding_window_view(np.random.default_rng(0).random((29, 27)), (5, 5)).mean(axis=(2, 3))
TEXTURE[:, 9:] = np.interp(NOISE, (NOISE.min(), NOISE.max()), (0.2, 0.5))


def slow(picture, patch_sizes, step, clip, rootsift, min_contrast):
    """Return descriptors computed patch by patch in double precision, scaled by 512, not rounded."""
    padded = np.pad(picture.astype(np.float64), 1, mode="edge")
    dx = (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2
    dy = (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2
    descriptors = []
    for s in patch_sizes:
        for top in range(0, picture.shape[0] - s + 1, step):
            for left in range(0, picture.shape[1] - s + 1, step):
                histogram, share = _histogram(dx[top : top + s, left : left + s], dy[top : top + s, left : left + s])
                f = np.minimum(histogram, clip * np.linalg.norm(histogram))
                f = np.sqrt(f / max(f.sum(), 1e-30)) if rootsift else f / max(np.linalg.norm(f), 1e-30)
                descriptors.append(512 * f if histogram.sum() / share >= min_contrast else np.zeros(128))
    return np.array(descriptors)


def _triangle(z):
    return np.maximum(0.0, 1.0 - np.abs(z))


def _histogram(dx, dy):
    """Return the histogram of a patch, and the sum of the weights of its pixels."""
    i, o = np.arange(4)[:, np.newaxis], np.arange(8)[:, np.newaxis, np.newaxis]
    near = _triangle(4 * (np.arange(len(dx)) + 0.5) / len(dx) - i - 0.5)
    apart = (np.degrees(np.arctan2(dy, dx)) - 45 * o + 180) % 360 - 180
    return np.einsum("iy,jx,oyx->ijo", near, near, np.hypot(dx, dy) * _triangle(apart / 45)).ravel(), near.sum() ** 2


@pytest.mark.parametrize("rootsift", [True, False])
@pytest.mark.parametrize(
    ("patch_sizes", "step", "clip", "min_contrast"),
    [((16,), 8, 0.2, 1e-6), ((5, 18), 7, 0.2, 0.0295), ((4, 25), 9, 1.0, 0.0295)],
)
def test_descriptors_agree_with_the_slow_version(patch_sizes, step, clip, min_contrast, rootsift):
    options = {"patch_sizes": patch_sizes, "step": step, "clip": clip, "rootsift": rootsift}
    got = describe(np.asfortranarray(TEXTURE), **options, min_contrast=min_contrast)
    expected = slow(TEXTURE, **options, min_contrast=min_contrast)
    assert got.shape == expected.shape and np.abs(got - np.minimum(expected, 255)).max() <= 0.51


@pytest.mark.parametrize(
    ("picture", "options", "message"),
    [
        (np.zeros((300, 20)), {}, r"at least 32 pixels on its shorter side, got 20 x 300"),
        (np.zeros((0, 0)), {}, r"at least 32 pixels"),
        (np.zeros((40, 40, 3)), {}, r"grey, \(height, width\), got shape \(40, 40, 3\)"),
        (np.full((40, 40), np.nan), {}, r"got values from nan to nan"),
        (np.full((40, 40), 255, np.uint8), {}, r"in \[0, 1\], got values from 255 to 255"),
        (np.full((40, 40), -0.1), {}, r"in \[0, 1\], got values from -0.1"),
        (np.full((40, 40), "a"), {}, r"real numbers"),
        (TEXTURE, {"patch_sizes": ()}, "patch_sizes must hold at least one size"),
        (TEXTURE, {"patch_sizes": (16, 3)}, "each of patch_sizes must be a whole number of at least 4, got 3"),
        (TEXTURE, {"patch_sizes": (16, 26)}, "at least 26 pixels on its shorter side, got 32 x 25"),
        (TEXTURE, {"step": 0}, "step must be a whole number of at least 1, got 0"),
        (TEXTURE, {"clip": 0.0}, "clip must be above 0 and at most 1, got 0.0"),
        (TEXTURE, {"min_contrast": 0.0}, "min_contrast must be between 1e-06 and 1, got 0.0"),
    ],
)
def test_invalid_pictures_and_options_raise(picture, options, message):
    with pytest.raises(ValueError, match=message):
        describe(picture, **options)
