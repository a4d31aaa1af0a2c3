"""Facts about the embedded dataset."""

import re
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from jointsparse.datasets import collage
from jointsparse.datasets.collage import scenes

NUMBERS = (0, 7, 42, 3, 1799)
NO_CAUSE = {"nice", "holiday", "friend", "monday", "friday", "weekend", "trip", "favourite", "album", "family", "today"}


@pytest.fixture(scope="module")
def default():
    return collage.read(smallest_side=60)


@pytest.fixture(scope="module")
def counts(default):
    """Images that each content word names: among all and in the training part."""
    training = set(default.images["image"][default.images["split"] == "train"])
    everywhere, in_training = Counter(), Counter()
    for image, lines in default.captions.groupby("image")["caption"]:
        words = set(re.findall(r"[a-z]+", " ".join(lines).lower())) - ENGLISH_STOP_WORDS
        words = {word for word in words if len(word) >= 3}
        everywhere.update(words)
        in_training.update(words if image in training else ())
    return everywhere, in_training


def names(numbers):
    return [f"collage_{number:05d}" for number in numbers]


def test_the_same_seed_paints_the_same_pixels_in_any_order():
    forwards = {name: collage.photograph(name, seed=3) for name in names(NUMBERS)}
    backwards = {name: collage.photograph(name, seed=3) for name in reversed(names(NUMBERS))}
    for name in names(NUMBERS):
        np.testing.assert_array_equal(forwards[name], backwards[name])


def test_the_same_seed_tells_the_same_captions_and_splits(default):
    again = collage.read(smallest_side=60)
    assert again.captions.equals(default.captions)
    assert again.images.equals(default.images)


def test_fewer_images_are_the_first_ones(default):
    few = collage.read(smallest_side=60, n_images=20)
    expected = default.captions[default.captions["image"].isin(names(range(20)))]
    assert few.captions["caption"].tolist() == expected["caption"].tolist()


def test_another_seed_makes_another_dataset(default):
    assert not collage.read(smallest_side=60, seed=1).captions.equals(default.captions)
    for name in names(NUMBERS):
        one, other = collage.photograph(name, seed=0), collage.photograph(name, seed=1)
        assert one.shape != other.shape or (one != other).any()


def test_a_photograph_is_in_colour_and_varies_around_320_by_240():
    shapes = set()
    for name in names(range(40)):
        pixels = collage.photograph(name)
        assert pixels.dtype == np.uint8
        height, width, channels = pixels.shape
        assert channels == 3
        assert 300 <= max(height, width) <= 320
        assert 224 <= min(height, width) <= 248
        assert pixels.std() > 8, f"{name} shows nothing"
        shapes.add(height > width)
    assert shapes == {True, False}


@pytest.mark.parametrize("longest_side", [320, 160, 61])
def test_a_picture_is_the_grey_photograph_shrunk(longest_side):
    for name in names(NUMBERS):
        got = collage.picture(name, longest_side=longest_side)
        assert got.dtype == np.float32
        assert got.ndim == 2
        assert got.min() >= 0
        assert got.max() <= 1
        assert max(got.shape) == min(longest_side, max(collage.photograph(name).shape))
        expected = collage.photograph(name).mean() / 255
        assert got.mean() == pytest.approx(expected, abs=0.1)


def test_pictures_sit_in_their_splits_as_asked(default):
    assert default.images["image"].tolist() == names(range(1800))
    assert default.images["split"].value_counts().to_dict() == {"train": 1080, "validation": 360, "test": 360}
    halves = collage.read(smallest_side=60, n_images=10, fractions={"train": 0.5, "test": 0.5})
    assert halves.images["split"].value_counts().to_dict() == {"train": 5, "test": 5}


def test_three_to_five_sentences_tell_of_each_picture(default):
    rows = default.captions.groupby("image").size()
    assert set(rows.index) == set(default.images["image"])
    assert set(rows) == {3, 4, 5}
    for caption in default.captions["caption"]:
        assert re.fullmatch(r"[A-Z][A-Za-z ,\"]*\.", caption), caption
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|  | ,", caption), caption


def test_captions_hold_commas_quotes_and_plurals(default):
    text = " ".join(default.captions["caption"])
    assert "," in text
    assert '"' in text
    assert re.search(r"\bhorse\b", text)
    assert re.search(r"\bhorses\b", text)


def test_fifty_words_are_frequent_enough_to_learn(counts):
    everywhere, in_training = counts
    usable = [word for word, n in everywhere.items() if n >= 150 and in_training[word] >= 90]
    assert len(usable) >= 50
    assert max(everywhere.values()) <= 0.45 * 1800


def test_the_forty_most_frequent_words_allow_the_tasks_and_hold_words_without_cause(counts):
    everywhere, in_training = counts
    frequent = [word for word, _ in everywhere.most_common(40)]
    assert min(in_training[word] for word in frequent) >= 80
    assert 1080 - max(in_training[word] for word in frequent) >= 160
    assert len(NO_CAUSE & set(frequent)) >= 5


def test_words_without_cause_fall_on_every_scene(default):
    kinds = {name: scenes.plan_of(number, 0).scene for number, name in enumerate(names(range(1800)))}
    named = default.captions[default.captions["caption"].str.contains("holiday")]
    assert {kinds[name] for name in named["image"]} == set(scenes.SCENES)


@pytest.mark.parametrize("image", ["collage_1", "collage_00042.png", "cat", "collage_000042", ""])
def test_an_unknown_name_is_refused(image):
    with pytest.raises(ValueError, match="image must be a name such as 'collage_00042', got"):
        collage.photograph(image)


def test_a_picture_beyond_the_last_is_refused():
    with pytest.raises(ValueError, match="'collage_00000' to 'collage_00009', got 'collage_00010'"):
        collage.picture("collage_00010", n_images=10)


def test_no_images_are_refused():
    with pytest.raises(ValueError, match="n_images must be at least 1, got 0"):
        collage.read(smallest_side=60, n_images=0)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
        collage.read(smallest_side=60, seed=-1)


def test_fractions_that_do_not_add_up_are_refused():
    with pytest.raises(ValueError, match="fractions must be at least 0 and add up to 1"):
        collage.read(smallest_side=60, n_images=10, fractions={"train": 0.6, "test": 0.2})


def test_pictures_too_small_for_the_grid_are_left_out_with_a_reason():
    some = collage.read(smallest_side=236, n_images=60)
    assert len(some.images) + len(some.left_out) == 60
    assert len(some.left_out)
    assert (
        some.left_out["reason"]
        .str.fullmatch(r"too small: \d+ x \d+ pixels, the shorter side must be at least 236")
        .all()
    )


def test_progress_counts_to_the_end():
    calls = []
    collage.read(smallest_side=60, n_images=3, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]
