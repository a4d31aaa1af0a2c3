"""Near duplicates of photographs."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from skimage import data

from jointsparse.pipeline.datasets import near_duplicates
from jointsparse.pipeline.datasets.near_duplicates import NORM, SIMILAR, clusters, descriptor

PHOTOGRAPHS = [Image.fromarray(read()) for read in (data.astronaut, data.coffee, data.chelsea, data.rocket)]


def changed(photograph, scale=1.0, quality=90, cut=()):
    """Return a photograph scaled, recompressed, and without 2 % of its width or height at the sides of `cut`."""
    width, height = photograph.size
    left, top, right, bottom = (0.02 * (side in cut) for side in ("left", "top", "right", "bottom"))
    cropped = photograph.crop(
        (round(left * width), round(top * height), round((1 - right) * width), round((1 - bottom) * height))
    )
    file = BytesIO()
    cropped.resize((round(scale * cropped.width), round(scale * cropped.height))).save(file, "JPEG", quality=quality)
    return Image.open(file)


def descriptors_of(photographs):
    return np.array([descriptor(np.asarray(photograph.convert("F")) / 255) for photograph in photographs])


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 0.5},
        {"scale": 2.0, "quality": 40},
        {"cut": ("left", "top")},
        {"cut": ("right", "bottom"), "scale": 0.7, "quality": 40},
        {"cut": ("left", "right", "top", "bottom"), "scale": 0.5},
    ],
)
def test_scaled_compressed_and_cropped_photographs_are_in_the_cluster_of_the_original(change):
    both = [*PHOTOGRAPHS, *(changed(photograph, **change) for photograph in PHOTOGRAPHS)]
    assert clusters(descriptors_of(both)).tolist() == [*range(len(PHOTOGRAPHS))] * 2


def test_pictures_of_a_single_grey_are_not_near_duplicates():
    greys = [descriptor(np.full((40, 60), grey, np.float32)) for grey in (0.1, 0.1, 0.7)]
    assert clusters(np.array(greys)).tolist() == [0, 1, 2]


def test_photographs_with_the_same_horizon_are_not_near_duplicates(rng):
    sky = np.repeat([0.8, 0.4], 24)[:, np.newaxis]
    scenes = [sky + np.kron(rng.normal(0, 0.05, (12, 16)), np.ones((4, 4))) for _ in range(20)]
    assert clusters(np.array([descriptor(scene) for scene in scenes])).tolist() == [*range(20)]


def test_a_picture_of_one_frequency_has_a_descriptor_of_the_same_length():
    wave = np.cos(np.pi * (np.arange(64) + 0.5) / 64) * np.ones((48, 1))
    assert descriptor(wave).tolist() == [0, NORM, *[0] * 142]


def test_clusters_are_the_components_of_the_graph_of_pairs(rng, monkeypatch):
    monkeypatch.setattr(near_duplicates, "PHOTOGRAPHS_AT_ONCE", 4)
    centres = rng.normal(size=(6, 144))
    entries = centres[rng.integers(6, size=30)] + 0.6 * rng.normal(size=(30, 144))
    entries = np.rint(NORM * entries / np.linalg.norm(entries, axis=1, keepdims=True)).astype(np.int8)
    expected = np.arange(30)
    products = entries.astype(int) @ entries.T.astype(int)
    assert 0 < (products >= SIMILAR * NORM**2).mean() < 0.1
    for _ in range(30):
        for i, j in np.argwhere(products >= SIMILAR * NORM**2):
            expected[[i, j]] = min(expected[i], expected[j])
    assert clusters(entries).tolist() == np.unique(expected, return_inverse=True)[1].tolist()
