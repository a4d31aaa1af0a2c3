"""Words as tasks: which words are chosen, who has them, and what the training sets hold."""

import unicodedata

import numpy as np
import pandas as pd
import pytest

from jointsparse.checks import Misfit
from jointsparse.learning import tasks

IMAGES = pd.DataFrame({"image": list("abcdef"), "split": ["train"] * 4 + ["validation", "test"]})
CAPTIONS = pd.DataFrame(
    [
        ("a", "The dog runs."),
        ("a", "A DOG!"),
        ("b", "Two dogs, and a cat."),
        ("c", "The cat's café; it is 3 o'clock"),
        ("d", "dog"),
        ("e", "a cat"),
        ("f", "dog cat"),
    ],
    columns=["image", "caption"],
)


def test_most_frequent_words_of_the_training_images_come_first():
    words, labels = tasks.choose_words(IMAGES, CAPTIONS, n_words=2)
    assert words["word"].tolist() == ["dog", "café"]  # cat is in one training image, after café in the alphabet
    np.testing.assert_array_equal(labels[:, 0], [True, False, False, True, False, True])
    assert words.loc[0, ["images", "train", "validation", "test"]].tolist() == [3, 2, 0, 1]


@pytest.mark.parametrize(("n_with", "warning"), [(9, "training images with it: 90%"), (8, "")])
def test_a_word_of_nearly_every_training_image_carries_a_warning(n_with, warning):
    images = pd.DataFrame({"image": range(12), "split": ["train"] * 10 + ["validation", "test"]})
    captions = pd.DataFrame(
        {"image": range(12), "caption": ["dog"] * n_with + ["cat"] * (10 - n_with) + ["dog", "dog"]}
    )
    words, _ = tasks.choose_words(images, captions, n_words=2)
    assert words["warning"].tolist() == [warning, ""]


def test_captions_of_other_images_are_refused():
    with pytest.raises(Misfit, match="captions must be of the images in the table of images, got one of 'f'"):
        tasks.choose_words(IMAGES[:5], CAPTIONS, n_words=1)


def test_inflected_forms_are_joined_when_asked():
    words, labels = tasks.choose_words(IMAGES, CAPTIONS, n_words=2, join_inflections=True)
    assert words["word"].tolist() == ["dog", "cat"]
    assert words["forms"].tolist() == ["dog dogs", "cat cat's"]
    assert labels[1, 0]


def test_stop_words_short_words_and_digits_are_no_tasks():
    with pytest.raises(ValueError, match="n_words must be at most"):
        tasks.choose_words(IMAGES, CAPTIONS, n_words=100)
    words, _ = tasks.choose_words(IMAGES, CAPTIONS, n_words=4, min_length=4, stop_words=["Café"])
    assert words["word"].tolist() == ["cat's", "dogs", "o'clock", "runs"]


def test_whole_captions_are_labels_when_asked():
    captions = pd.DataFrame({"image": list("abcdef"), "caption": ["Tall Building"] * 3 + ["The"] * 3})
    words, labels = tasks.choose_words(IMAGES, captions, n_words=2, split_captions=False)
    assert words["word"].tolist() == ["Tall Building", "The"]
    np.testing.assert_array_equal(labels.sum(axis=1), 1)


def test_class_names_are_kept_whatever_their_length_unless_told_otherwise():
    captions = pd.DataFrame({"image": list("abcdef"), "caption": ["TV"] * 2 + ["002"] * 2 + ["the"] * 2})
    words, _ = tasks.choose_words(IMAGES, captions, n_words=2, split_captions=False, stop_words=["THE"])
    assert words["word"].tolist() == ["002", "TV"]


def test_contractions_of_stop_words_are_stop_words():
    captions = pd.DataFrame({"image": list("abcd"), "caption": ["It's there's they're dog's"] * 4})
    words, _ = tasks.choose_words(IMAGES, captions, n_words=1)
    assert words["word"].tolist() == ["dog's"]


def many(n_images=300, n_words=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.random((n_images, n_words)) < np.linspace(0.1, 0.5, n_words)
    split = rng.choice(["train", "validation", "test"], n_images, p=[0.6, 0.2, 0.2])
    return labels, split, [f"word{k}" for k in range(n_words)]


def draw(labels, split, words, seed=1, **options):
    options = {"sizes": [5, 10, 40], "n_validation_words": 2} | options
    return tasks.draw(labels, split, words, **options, rng=np.random.default_rng(seed))


def test_training_sets_hold_what_their_names_say():
    labels, split, words = many()
    (Y, sizes, validation_words), table = draw(labels, split, words)
    assert sizes.tolist() == [5, 10, 40]
    assert Y.shape == (3, 300, 5)
    assert validation_words.sum() == 2
    assert not Y[:, split != "train"].any()
    np.testing.assert_array_equal(Y[0] == 1, (Y[0] == 1) & labels)
    np.testing.assert_array_equal(Y[0] == -1, (Y[0] == -1) & ~labels)
    np.testing.assert_array_equal((Y[0] == 1).sum(axis=0), 5)
    np.testing.assert_array_equal((Y[1] == -1).sum(axis=0), 20)
    in_table = table.set_index(["n", "word"])
    for s, n in enumerate([5, 10, 40]):
        for k, word in enumerate(words):
            assert in_table.loc[(n, word), "positives"] == (Y[s, :, k] == 1).sum()
            assert in_table.loc[(n, word), "negatives"] == (Y[s, :, k] == -1).sum()


def test_rare_word_is_capped_and_says_so():
    labels, split, words = many()
    table = draw(labels, split, words)[1].set_index(["n", "word"])
    have = int(labels[split == "train", 0].sum())
    assert have < 40
    assert table.loc[(40, "word0"), "positives"] == have
    assert table.loc[(40, "word0"), "capped"]
    assert not table.loc[(5, "word0"), "capped"]


@pytest.mark.parametrize("change", ["images", "words", "numbers"])
def test_labels_of_other_images_or_words_are_refused(change):
    labels, split, words = many()
    labels = {"images": labels[:-1], "words": labels[:, :-1], "numbers": labels.astype(int)}[change]
    with pytest.raises(
        Misfit, match="labels must be bool with a row for each of 300 images and a column for each of 5"
    ):
        draw(labels, split, words)


def test_training_sets_are_nested():
    Y = draw(*many())[0].Y
    assert (Y[2][Y[0] != 0] == Y[0][Y[0] != 0]).all()


def test_same_seed_same_sets_other_seed_others():
    first, again, other = (draw(*many(), seed=seed)[0].Y for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_word_too_rare_for_the_smallest_size_is_one_clear_error():
    labels, split, words = many()
    with pytest.raises(ValueError, match=r"smallest of sizes must be at most \d+, .* with the word 'word0', got 60"):
        draw(labels, split, words, sizes=[100, 60])


def test_word_in_nearly_every_image_is_one_clear_error():
    labels, split, words = many()
    labels[split == "train", 1] = True
    with pytest.raises(ValueError, match=r"missing from at least 5 training images .* 'word1' is missing from 0"):
        draw(labels, split, words)


@pytest.mark.parametrize("part", ["validation", "test"])
@pytest.mark.parametrize(("value", "kind"), [(False, "with"), (True, "without")])
def test_part_without_a_positive_or_negative_is_one_clear_error(part, value, kind):
    labels, split, words = many()
    labels[split == part] = value
    with pytest.raises(ValueError, match=f"the {part} part must hold an image {kind} each word, got none"):
        draw(labels, split, words)


@pytest.mark.parametrize("n", [0, 5])
def test_number_of_validation_words_must_leave_some(n):
    with pytest.raises(ValueError, match=f"n_validation_words must be between 1 and 4 .* got {n}"):
        draw(*many(), n_validation_words=n)


# Images set aside


def test_images_set_aside_become_unlabelled_and_no_others():
    split = np.array(["train"] * 20 + ["validation"] * 5 + ["test"] * 10 + ["unlabelled"] * 3)
    got = tasks.set_aside(split, {"train": 7, "test": 4, "validation": 0}, rng=np.random.default_rng(0))
    assert [np.count_nonzero(got == name) for name in ("train", "validation", "test", "unlabelled")] == [13, 5, 6, 14]
    np.testing.assert_array_equal(got[got != "unlabelled"], split[got != "unlabelled"])
    again = tasks.set_aside(split, {"test": 4, "validation": 0, "train": 7}, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(got, again)
    assert (tasks.set_aside(split, {}, rng=np.random.default_rng(0)) == split).all()


@pytest.mark.parametrize(("numbers", "there"), [({"train": 20}, 20), ({"test": 1}, 0)])
def test_more_images_than_there_are_cannot_be_set_aside(numbers, there):
    split = np.array(["train"] * 20)
    with pytest.raises(ValueError, match=rf"set aside must be less than {there}, the number there is, got"):
        tasks.set_aside(split, numbers, rng=np.random.default_rng(0))


def test_most_frequent_label_of_training_samples_is_taken_unless_another_is_named():
    images = pd.DataFrame({"image": list("abcdef"), "split": ["train"] * 4 + ["test"] * 2})
    captions = pd.DataFrame({"image": list("aabef"), "caption": ["tea", "oil", "tea", "oil", "oil"]})
    label, y = tasks.one_label(images, captions)
    assert label == "tea"
    np.testing.assert_array_equal(y, [1, 1, -1, -1, -1, -1])
    np.testing.assert_array_equal(tasks.one_label(images, captions, "oil")[1], [1, -1, -1, -1, 1, 1])


@pytest.mark.parametrize("captions", [[["a", "tea"], ["b", "tea"]], [["c", "tea"]]])
def test_label_that_training_samples_all_have_or_all_lack_is_an_error(captions):
    images = pd.DataFrame({"image": list("abc"), "split": ["train", "train", "test"]})
    with pytest.raises(ValueError, match=r"label must be one that some .* got 'tea', which [02] of 2 have"):
        tasks.one_label(images, pd.DataFrame(captions, columns=["image", "caption"]), "tea")


def test_classes_stand_in_the_order_of_the_samples():
    images = pd.DataFrame({"image": list("cab")})
    captions = pd.DataFrame({"image": list("abc"), "caption": ["two", "one", "three"]})
    assert tasks.classes(images, captions).tolist() == ["three", "two", "one"]


@pytest.mark.parametrize(("of", "number"), [("ab", 0), ("abcc", 2)])
def test_sample_without_exactly_one_class_is_an_error(of, number):
    images = pd.DataFrame({"image": list("abc"), "split": "train"})
    captions = pd.DataFrame({"image": list(of), "caption": ["1"] * len(of)})
    with pytest.raises(ValueError, match=f"each sample must have one label, its class, got {number} for 'c'"):
        tasks.classes(images, captions)


def test_validation_samples_are_learnt_from_where_nothing_is_validated():
    images = pd.DataFrame({"image": list("abcd"), "split": ["train", "validation", "test", "unlabelled"]})
    learn, test = tasks.halves(images)
    np.testing.assert_array_equal(learn, [True, True, False, False])
    np.testing.assert_array_equal(test, [False, False, True, False])
    with pytest.raises(ValueError, match="for training and for testing, got 1 and 0"):
        tasks.halves(images[:1])


def test_words_are_named_where_they_are_those_of_the_labels():
    words, labels = tasks.choose_words(IMAGES, CAPTIONS, n_words=2)
    assert tasks.names_of(words, labels) == ["dog", "café"]
    for others in (labels[:, ::-1], labels[:, :1], labels[0], labels.astype(str)):
        with pytest.raises(Misfit, match="labels must be of the words in their table, dog, café, got others"):
            tasks.names_of(words, others)


def test_a_tenth_is_left_out_and_another_one_the_next_time():
    chosen = np.arange(60) % 3 > 0
    rng = np.random.default_rng(0)
    first, second = (tasks.thinned(chosen, rng) for _ in range(2))
    assert first.sum() == second.sum() == 36
    assert (first <= chosen).all() and (second <= chosen).all() and (first != second).any()
    assert chosen.sum() == 40


def test_one_label_of_samples_without_any_is_refused():
    images = pd.DataFrame({"image": list("ab"), "split": ["train", "test"]})
    with pytest.raises(ValueError, match="some training samples must have a label, got none for all 1"):
        tasks.one_label(images, pd.DataFrame({"image": ["b"], "caption": ["tea"]}))


def test_accents_and_vowel_signs_belong_to_their_letters_however_they_are_written():
    composed = "Un café naïf, señor"
    decomposed = unicodedata.normalize("NFD", composed)
    assert tasks.words_of(decomposed) == tasks.words_of(composed) == ["un", "café", "naïf", "señor"]
    assert tasks.words_of("कुत्ता बिल्ली") == ["कुत्ता", "बिल्ली"]
    assert tasks.words_of("שָׁלוֹם 2 عَرَبِيّ") == [unicodedata.normalize("NFC", word) for word in ("שָׁלוֹם", "عَرَبِيّ")]


def test_labels_are_the_same_however_their_accents_are_written():
    images = pd.DataFrame({"image": list("abc"), "split": "train"})
    captions = pd.DataFrame({"image": list("abc"), "caption": ["caf\u00e9", "cafe\u0301 ", "th\u00e9"]})
    words, labels = tasks.choose_words(images, captions, n_words=2, split_captions=False)
    assert words["word"].tolist() == ["caf\u00e9", "th\u00e9"] and labels[:, 0].tolist() == [True, True, False]
    assert tasks.one_label(images, captions, "cafe\u0301")[1].tolist() == [1, 1, -1]
    assert tasks.classes(images, captions).tolist() == ["caf\u00e9", "caf\u00e9", "th\u00e9"]


# Training sets of a size


DRAWN = tasks.Tasks(Y=np.arange(24).reshape(2, 4, 3), sizes=np.array([5, 9]), validation_words=np.ones(3, bool))


def test_training_sets_are_those_of_their_size():
    np.testing.assert_array_equal(DRAWN.training_sets(5), np.arange(12).reshape(4, 3))
    np.testing.assert_array_equal(DRAWN.training_sets(), np.arange(12, 24).reshape(4, 3))


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": np.array([5, 8])},
        {"sizes": np.array([9, 9])},
        {"sizes": np.array([5.0, 9.0])},
        {"Y": np.zeros((1, 4, 3), int)},
        {"Y": np.zeros(2, int)},
        {"Y": np.zeros((2, 4, 3))},
        {"Y": np.zeros((2, 4, 3)).astype(str)},
    ],
)
def test_training_sets_of_another_configuration_are_refused(change):
    with pytest.raises(Misfit, match="tasks must"):
        DRAWN._replace(**change).training_sets(9)
