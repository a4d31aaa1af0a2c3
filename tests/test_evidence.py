"""Heat maps of patches and places: they sum to the parts, and show them at the right pixels.

test_explain.py shows that the parts sum to the score of a pipeline.
"""

import numpy as np
import pytest

from jointsparse.features.evidence import heat, smooth_heat


def test_heat_agrees_with_a_slow_version(rng):
    side, added, expected = rng.integers(1, 12, 200), rng.normal(size=200), np.zeros((30, 40))
    patches = np.stack([rng.integers(0, 31 - side), rng.integers(0, 41 - side), side], axis=1)
    for (y, x, s), part in zip(patches, added, strict=True):
        expected[y : y + s, x : x + s] += part / s**2
    np.testing.assert_allclose(heat(added, patches, 30, 40), expected, atol=1e-6)


@pytest.mark.parametrize(("height", "width"), [(30, 40), (3, 40), (1, 2)])
def test_smooth_heat_sums_to_the_parts_even_if_there_are_fewer_pixels_than_places(height, width, rng):
    added = rng.normal(size=(5, 7))
    assert smooth_heat(added, height, width).sum() == pytest.approx(added.sum(), abs=1e-5)
