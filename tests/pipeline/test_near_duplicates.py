"""Near duplicates of photographs."""

from io import BytesIO

import numpy as np
import pytest
from albums import read_album
from PIL import Image
from skimage import data

from jointsparse.pipeline.datasets import near_duplicates
from jointsparse.pipeline.datasets.near_duplicates import NORM, SIMILAR, clusters, descriptor
from jointsparse.pipeline.scores import flags

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


SKY = np.repeat([0.8, 0.4], 24)[:, np.newaxis]
CLOUDS = np.random.default_rng(0).normal(0, 0.05, (20, 12, 16))
UNLIKE = {
    "a single grey": [np.full((40, 60), grey, np.float32) for grey in (0.1, 0.1, 0.7)],
    "the same horizon": [SKY + np.kron(clouds, np.ones((4, 4))) for clouds in CLOUDS],
}


@pytest.mark.parametrize("kind", UNLIKE)
def test_photographs_of_a_single_grey_or_with_the_same_horizon_are_not_near_duplicates(kind):
    assert clusters(np.array([descriptor(scene) for scene in UNLIKE[kind]])).tolist() == [*range(len(UNLIKE[kind]))]


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


@pytest.fixture
def with_copies(tmp_path):
    """Return a folder of 40 photographs and, scaled and compressed, their copies."""
    rng = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    for i in range(40):
        photograph = Image.fromarray(np.kron(rng.integers(0, 256, (12, 16)), np.ones((8, 8))).astype(np.uint8))
        photograph.save(tmp_path / "images" / f"{i}.png")
        changed(photograph, 0.5).save(tmp_path / "images" / f"copy-{i}.png")
    names = [f"{start}{i}.png" for i in range(40) for start in ("", "copy-")]
    (tmp_path / "captions.csv").write_text("image,caption\n" + "".join(f"{name},a cat\n" for name in names))
    return tmp_path


@pytest.mark.parametrize("together", [True, False])
def test_splits_that_are_drawn_divide_no_near_duplicates(with_copies, together):
    images = read_album(with_copies, near_duplicates=together).images
    split_of = images.set_index("image")["split"]
    assert set(split_of) == {"train", "validation", "test"}
    assert all(split_of[f"{i}.png"] == split_of[f"copy-{i}.png"] for i in range(40)) == together
    assert ("group" in images) == together


def test_splits_that_are_given_stay_and_a_warning_counts_near_duplicates_in_several_of_them(with_copies, rng):
    rows = [f"copy-{i}.png,{'test' if i < 3 else 'train'}\n{i}.png,train\n" for i in range(40)]
    (with_copies / "splits.csv").write_text("image,split\n" + "".join(rows))
    images = read_album(with_copies, near_duplicates=True, validation_fraction=0).images
    assert (images["split"] == "test").sum() == 3
    blocks = [(slice(None), rng.random((80, 2)))]
    counts, _ = flags.of_features(blocks, blocks, images)
    assert counts.set_index("what").loc["torn groups", ["count", "of"]].tolist() == [3, 40]


def test_pictures_that_are_all_alike_are_refused(album):
    photograph = Image.open(album / "images" / "000.jpg").convert("RGB")
    for i in range(12):
        photograph.resize((64 + i, 48)).save(album / "images" / f"{i:03}.jpg")
    with pytest.raises(ValueError, match=r"near_duplicates must be false for .*, because 12 of its 12 pictures are"):
        read_album(album, near_duplicates=True)
