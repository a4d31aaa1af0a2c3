"""Near duplicates of photographs."""

from io import BytesIO

import numpy as np
import pytest
from albums import read_album
from PIL import Image
from scipy.fft import dctn
from skimage import data

from jointsparse.pipeline.datasets.near_duplicates import NORM, SIMILAR, clusters, descriptor

PHOTOGRAPHS = [Image.fromarray(read()) for read in (data.astronaut, data.coffee, data.chelsea, data.rocket)]


def changed(photograph, box=(0, 0, 1, 1), scale=1.0, quality=90):
    """Return a part of a photograph, scaled and recompressed. box: left, top, right and bottom side of the part."""
    file, sides = BytesIO(), 2 * photograph.size
    part = photograph.crop([round(place * side) for place, side in zip(box, sides, strict=True)])
    part.resize([round(scale * side) for side in part.size]).save(file, "JPEG", quality=quality)
    return Image.open(file)


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 0.5},
        {"scale": 2.0, "quality": 40},
        {"box": (0.02, 0.02, 1, 1)},
        {"box": (0, 0, 0.98, 0.98), "scale": 0.7, "quality": 40},
        {"box": (0.02, 0.02, 0.98, 0.98), "scale": 0.5},
    ],
)
def test_scaled_compressed_and_cropped_photographs_are_in_the_cluster_of_the_original(change):
    both = [*PHOTOGRAPHS, *(changed(photograph, **change) for photograph in PHOTOGRAPHS)]
    descriptors = np.array([descriptor(np.asarray(photograph.convert("F")) / 255) for photograph in both])
    assert clusters(descriptors).tolist() == 2 * [*range(len(PHOTOGRAPHS))]


def test_photographs_of_a_single_grey_or_with_the_same_horizon_are_not_near_duplicates():
    clouds = np.random.default_rng(0).normal(0, 0.05, (20, 12, 16))
    skies = np.repeat([0.8, 0.4], 24)[:, np.newaxis] + np.kron(clouds, np.ones((4, 4)))
    scenes = [*skies, *(np.full((40, 60), grey) for grey in (0.1, 0.1, 0.7))]
    assert clusters(np.array([descriptor(scene) for scene in scenes])).tolist() == [*range(23)]


def test_a_descriptor_has_the_lowest_frequencies_of_the_cosine_transform(rng):
    greys, waves = rng.random((48, 64)), np.arange(12)
    amplitudes = dctn(greys, norm="ortho")[:12, :12] * np.hypot(waves[:, np.newaxis], waves)
    roots = np.sign(amplitudes) * np.sqrt(np.abs(amplitudes))
    np.testing.assert_allclose(descriptor(greys), (NORM * roots / np.linalg.norm(roots)).ravel(), atol=0.5001)


def test_clusters_are_the_components_of_the_graph_of_pairs(rng, monkeypatch):
    monkeypatch.setattr("jointsparse.pipeline.datasets.near_duplicates.PHOTOGRAPHS_AT_ONCE", 4)
    entries = rng.normal(size=(6, 144))[rng.integers(6, size=30)] + 0.5 * rng.normal(size=(30, 144))
    entries = np.rint(NORM * entries / np.linalg.norm(entries, axis=1, keepdims=True)).astype(np.int8)
    near = entries.astype(int) @ entries.T.astype(int) >= SIMILAR * NORM**2
    assert 0 < near.mean() < 0.1
    connected = np.linalg.matrix_power(near.astype(object), 30) > 0
    assert clusters(entries).tolist() == np.unique(connected.argmax(axis=1), return_inverse=True)[1].tolist()


@pytest.mark.parametrize(
    ("together", "given", "group_by", "n_groups"),
    [(True, False, None, 40), (True, False, "folder", 10), (False, False, None, None), (True, True, None, 40)],
)
def test_splits_divide_no_photograph_and_its_copy_unless_they_are_given(tmp_path, together, given, group_by, n_groups):
    captions, splits = ["image,caption"], ["image,split"]
    for i, squares in enumerate(np.random.default_rng(0).integers(0, 256, (40, 12, 16))):
        photograph = Image.fromarray(np.kron(squares, np.ones((8, 8))).astype(np.uint8))
        name, copy = f"{i % 10}/{i}.png", f"copy-{i}/{i}.png"
        for picture, path in ((photograph, name), (changed(photograph, scale=0.5), copy)):
            (tmp_path / "images" / path).parent.mkdir(parents=True, exist_ok=True)
            picture.save(tmp_path / "images" / path)
        captions += [f"{name},a cat", f"{copy},a cat"]
        splits += [f"{name},{'validation' if i > 36 else 'train'}", f"{copy},{'test' if i < 3 else 'train'}"]
    (tmp_path / "captions.csv").write_text("\n".join(captions))
    (tmp_path / "splits.csv").write_text("\n".join(splits))
    splits = "splits.csv" if given else None
    images = read_album(tmp_path, near_duplicates=together, splits=splits, group_by=group_by).images
    split_of = images.set_index("image")["split"]
    torn = sum(split_of[f"{i % 10}/{i}.png"] != split_of[f"copy-{i}/{i}.png"] for i in range(40))
    assert torn == 6 if given else (torn > 0) != together
    assert set(split_of) == {"train", "validation", "test"}
    assert images["group"].nunique() == n_groups if together else "group" not in images


def test_pictures_that_are_all_alike_are_refused(album):
    photograph = Image.open(album / "images" / "000.jpg").convert("RGB")
    for i in range(12):
        photograph.resize((64 + i, 48)).save(album / "images" / f"{i:03}.jpg")
    with pytest.raises(ValueError, match=r"near_duplicates must be false for .*, because 12 of its 12 pictures are"):
        read_album(album, near_duplicates=True)
