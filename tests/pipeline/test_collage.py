"""Facts about the built-in dataset of composed photographs."""

import re
from collections import Counter
from itertools import chain, product

import numpy as np
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from jointsparse.pipeline.datasets import collage
from jointsparse.pipeline.datasets.collage import plans

NUMBERS = (0, 1799)
NO_CAUSE = {"nice", "holiday", "friend", "monday", "friday", "weekend", "trip", "favourite", "album", "family", "today"}


@pytest.fixture(scope="module")
def default():
    return collage.read()


def names(numbers):
    return [f"collage_{number:05d}" for number in numbers]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_pixels_depend_only_on_seed_and_number(number):
    (name,) = names([number])
    first = collage.photograph(name, seed=3)
    other = collage.photograph(name, seed=4)  # must not affect the next photograph
    np.testing.assert_array_equal(collage.photograph(name, seed=3), first)
    assert first.shape != other.shape or (first != other).any()


def test_captions_and_splits_depend_only_on_seed_and_number(default):
    again, few, other = (collage.read(**options) for options in ({}, {"n_images": 20}, {"seed": 1}))
    assert all(table.equals(same) for table, same in zip(default[:3], again[:3], strict=True))
    expected = default.captions[default.captions["image"].isin(names(range(20)))]
    assert few.captions["caption"].tolist() == expected["caption"].tolist()
    assert not other.captions.equals(default.captions)


def test_a_photograph_is_in_colour_and_varies_around_320_by_240():
    pictures = [collage.photograph(name) for name in names(range(12))]
    for pixels in pictures:
        assert (pixels.dtype, pixels.shape[2]) == (np.uint8, 3)
        short, long = sorted(pixels.shape[:2])
        assert 224 <= short <= 248 and 300 <= long <= 320
        assert pixels.std() > 8, "it shows nothing"
    assert {pixels.shape[0] > pixels.shape[1] for pixels in pictures} == {True, False}


@pytest.mark.parametrize("longest_side", [320, 160, 61])
@pytest.mark.parametrize("name", names(NUMBERS))
def test_a_picture_is_the_photograph_in_grey_and_shrunk(name, longest_side):
    got, photograph = collage.picture(name, longest_side=longest_side), collage.photograph(name)
    assert got.dtype == np.float32 and got.ndim == 2
    assert got.min() >= 0 and got.max() <= 1
    assert max(got.shape) == min(longest_side, max(photograph.shape))
    assert got.mean() == pytest.approx(photograph.mean() / 255, abs=0.1)


def test_splits_have_their_sizes(default):
    assert default.images["image"].tolist() == names(range(1800))
    assert default.images["split"].value_counts().to_dict() == {"train": 1080, "validation": 360, "test": 360}


def test_each_picture_has_three_to_five_sentences(default):
    rows = default.captions["image"].value_counts()
    assert (set(rows.index), set(rows)) == (set(default.images["image"]), {3, 4, 5})
    for caption in default.captions["caption"]:
        assert re.fullmatch(r"[A-Z][A-Za-z ,\"]*\.", caption), caption
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|  | ,", caption), caption
    assert not default.captions.duplicated().any()
    for pattern in (",", '"', r"\bhorse\b", r"\bhorses\b"):
        assert default.captions["caption"].str.contains(pattern).any()


def test_words_are_frequent_enough_to_learn_and_some_have_no_visual_cause(default):
    words = default.captions["caption"].str.lower().str.findall("[a-z]{3,}")
    of_images = words.groupby(default.captions["image"]).agg(lambda lists: set().union(*lists) - ENGLISH_STOP_WORDS)
    training = default.images["image"][default.images["split"] == "train"]
    everywhere, in_training = (Counter(chain.from_iterable(part)) for part in (of_images, of_images[training]))
    assert sum(n >= 150 and in_training[word] >= 90 for word, n in everywhere.items()) >= 50
    assert max(everywhere.values()) <= 0.45 * 1800
    frequent = [word for word, _ in everywhere.most_common(40)]
    assert min(in_training[word] for word in frequent) >= 80
    assert 1080 - max(in_training[word] for word in frequent) >= 160
    assert len(NO_CAUSE & set(frequent)) >= 5


def test_objects_ground_and_background_are_independent(default):
    every = [plans.plan_of(number, 0) for number in range(1800)]
    assert all({spot.name for spot in plan.placed} == {*plan.things} for plan in every)
    shown = {
        cause: np.array([cause in plan.causes for plan in every])
        for cause in set().union(*(plan.causes for plan in every))
    }
    for cause, others in product(plans.THINGS, [f"on {ground}" for ground in plans.GROUNDS] + list(plans.BACKS)):
        expected = shown[others].mean()
        assert abs(shown[others][shown[cause]].mean() - expected) < 4 * np.sqrt(expected / shown[cause].sum())
    holiday = default.captions["image"][default.captions["caption"].str.contains("holiday")]
    numbers = holiday.drop_duplicates().str.removeprefix("collage_").astype(int)
    assert {cause for number in numbers for cause in every[number].causes} == set(shown)


@pytest.mark.parametrize(
    ("call", "options", "expected"),
    [
        *(
            (collage.photograph, {"image": image}, "image must be a name such as 'collage_00042', got")
            for image in ("collage_1", "collage_00042.png", "cat", "collage_000042", "")
        ),
        (collage.read, {"n_images": 0}, "must have at least one usable .* got 0 usable images or samples"),
        (collage.read, {"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_unknown_names_and_wrong_options_are_refused(call, options, expected):
    with pytest.raises(ValueError, match=expected):
        call(**options)
