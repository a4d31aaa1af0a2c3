"""Words as tasks: which words are chosen, which images have them, and what the training sets contain."""

from unicodedata import normalize

import numpy as np
import pandas as pd
import pytest

from jointsparse.checks import Misfit
from jointsparse.pipeline import tasks
from jointsparse.pipeline.provenance.tables import read_arrays, read_table, write_array, write_table
from jointsparse.pipeline.words import choose_words, classes, names_of, one_label, words_of

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


# Words


def test_the_most_frequent_words_of_the_training_images_are_chosen_with_their_inflected_forms_if_asked():
    words, labels = choose_words(IMAGES, CAPTIONS, n_words=2, join_inflections=True)
    assert words.to_dict("list") == {
        "word": ["dog", "cat"],
        "forms": ["dog dogs", "cat cat's"],
        "images": [4, 4],
        "train": [3, 2],
        "validation": [0, 1],
        "test": [1, 1],
        "warning": ["", ""],
    }
    assert labels.T.tolist() == [[True, True, False, True, False, True], [False, True, True, False, True, True]]


def captions_of(*texts):
    return pd.DataFrame({"image": list("abcdef")[: len(texts)], "caption": texts})


@pytest.mark.parametrize(
    ("captions", "options", "expected"),
    [
        pytest.param(CAPTIONS, {}, ["dog", "café"], id="the earlier in the alphabet of equally frequent words"),
        pytest.param(
            CAPTIONS,
            {"min_length": 4, "stop_words": ["Café"]},
            ["cat's", "dogs", "o'clock", "runs"],
            id="neither stop words nor short words nor digits",
        ),
        pytest.param(captions_of("3d, cat", "3d", "cat"), {"min_length": 2}, ["3d", "cat"], id="short tags when asked"),
        pytest.param(captions_of(*["It's there's they're zebra's"] * 4), {}, ["zebra's"], id="no contractions"),
        pytest.param(
            captions_of(*["Tall Building"] * 3, *["The"] * 3),
            {"split_captions": False},
            ["Tall Building", "The"],
            id="whole captions when asked",
        ),
        pytest.param(
            captions_of(*["the"] * 2, "TV", "002"),  # "the" is the most frequent in training
            {"split_captions": False, "stop_words": ["THE"]},
            ["002", "TV"],
            id="whole captions of any length that are no stop words",
        ),
    ],
)
def test_options_decide_which_words_are_chosen(captions, options, expected):
    words, _ = choose_words(IMAGES, captions, n_words=len(expected), **options)
    assert words["word"].tolist() == expected


# Words with too few images


# 20 training, 4 validation and 4 test images. counts: for each word, its number of images in each split
def photographs(*counts):
    names = [f"{split}{i}" for split, n in (("train", 20), ("validation", 4), ("test", 4)) for i in range(n)]
    images = pd.DataFrame({"image": names, "split": [name.rstrip("0123456789") for name in names]})
    rows = [
        (f"{split}{i}", word)
        for word, numbers in zip(["ant", "bee", "cow", "dog", "elk"], counts, strict=False)
        for split, n in zip(("train", "validation", "test"), numbers, strict=True)
        for i in range(n)
    ]
    return images, pd.DataFrame(rows, columns=["image", "caption"])


@pytest.mark.parametrize(("n_with", "warning"), [(18, "training images with it: 90%"), (17, "")])
def test_a_word_that_nearly_all_training_images_have_gets_a_warning(n_with, warning):
    assert choose_words(*photographs((n_with, 1, 1)), n_words=1)[0]["warning"].tolist() == [warning]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((4, 2, 2), "left out, too few training images with it: 4"),
        ((16, 2, 2), "left out, too few training images without it: 4"),
        ((20, 4, 4), "left out, too few training images without it: 0"),
        ((9, 2, 0), "left out, too few test images with it: 0"),
        ((9, 2, 4), "left out, too few test images without it: 0"),
    ],
)
def test_a_word_with_too_few_images_is_left_out_with_a_warning(counts, expected):
    with pytest.warns(UserWarning, match=f"^the word 'bee' is {expected}$"):
        words, labels = choose_words(*photographs((10, 2, 2), counts, (8, 0, 1)), n_words=3, smallest_size=5)
    assert words[["word", "warning"]].to_numpy().tolist() == [["ant", ""], ["cow", ""], ["bee", expected]]
    assert labels.shape == (28, 2) and labels.flags.c_contiguous
    assert names_of(words, labels) == ["ant", "cow"]


def test_fewer_words_than_asked_for_are_enough():
    with pytest.warns(UserWarning, match="^n_words is 9, but the training captions hold 2 content words$"):
        words, _ = choose_words(*photographs((10, 2, 2), (9, 1, 2)), n_words=9, smallest_size=5)
    assert words["word"].tolist() == ["ant", "bee"]


@pytest.mark.parametrize(("most", "expected"), [(40, ["ant", "cow", "dog"]), (2, ["ant", "cow"])])
def test_with_auto_all_words_that_have_enough_images_are_chosen(monkeypatch, most, expected):
    monkeypatch.setattr("jointsparse.pipeline.words.MOST_WORDS", most)
    counts = (10, 2, 2), (9, 2, 0), (8, 0, 1), (7, 1, 1), (6, 2, 2)  # the last has too few training images
    with pytest.warns(UserWarning, match="^the word 'bee' is left out, too few test images"):
        words, labels = choose_words(*photographs(*counts), n_words="auto", smallest_size=7)
    assert words["word"].tolist() == [*expected, "bee"]
    assert labels.shape == (28, len(expected))


# Training sets


RNG, WORDS, SIZES = np.random.default_rng(0), [f"word{k}" for k in range(5)], [5, 10, 40]
SPLIT = RNG.choice(["train", "validation", "test"], 300, p=[0.6, 0.2, 0.2])
LABELS = (RNG.random((300, 5)) < np.linspace(0.1, 0.5, 5)).astype(np.int8)


def draw(labels=LABELS, seed=1, **options):
    options = {"sizes": SIZES, "n_validation_words": 2, "rng": np.random.default_rng(seed)} | options
    return tasks.draw(labels, SPLIT, WORDS, **options)


def test_training_sets_are_nested_and_have_their_sizes_or_are_marked_as_capped():
    # A third of the labels of training images is unknown, and these images are in no training set of the word.
    is_train = (SPLIT == "train")[:, np.newaxis]
    labels = np.where(is_train & (RNG.random(LABELS.shape) < 1 / 3), -1, LABELS)
    (Y, sizes, _), table = draw(labels)
    assert sizes.tolist() == SIZES and (Y[:-1][Y[:-1] != 0] == Y[1:][Y[:-1] != 0]).all()  # nested
    assert (labels[np.nonzero(Y == 1)[1:]] == 1).all() and (labels[np.nonzero(Y == -1)[1:]] == 0).all()
    assert not Y[:, ~is_train[:, 0]].any()
    with_it, without = ((is_train & (labels == value)).sum(axis=0) for value in (1, 0))
    drawn = [
        (n, k, (y[:, k] == 1).sum(), (y[:, k] == -1).sum()) for k in range(5) for n, y in zip(SIZES, Y, strict=True)
    ]
    assert drawn == [(n, k, min(n, with_it[k]), min(2 * n, without[k])) for k in range(5) for n in SIZES]
    in_table = [(n, WORDS[k], *numbers, n > with_it[k] or 2 * n > without[k]) for n, k, *numbers in drawn]
    assert [*table.itertuples(index=False, name=None)] == in_table
    assert (draw(labels)[0].Y == Y).all() and all((draw(labels, seed=2)[0].Y != Y)[sign == Y].any() for sign in (1, -1))


def test_words_without_validation_images_are_not_validation_words():
    few = np.where((SPLIT == "validation")[:, np.newaxis] & (np.arange(5) > 2), False, LABELS)
    chosen = [draw(few, seed=seed)[0].validation_words for seed in range(9)]
    assert np.sum(chosen, axis=0)[:3].all() and not np.any(chosen, axis=0)[3:].any()
    assert draw(few, n_validation_words=4)[0].validation_words.tolist() == [True] * 3 + [False] * 2


@pytest.mark.parametrize(
    ("n_validation_words", "n_words", "expected"),  # n_words were asked for, and 5 are there
    [
        (2, 5, 2),
        (2, None, 2),
        (4, 10, 2),
        (10, 40, 1),
        (1, 40, 1),
        (2, "auto", 2),
        ("auto", 40, 1),
        ("auto", "auto", 1),
    ],
)
def test_the_number_of_validation_words_shrinks_with_the_number_of_words(n_validation_words, n_words, expected):
    assert draw(n_validation_words=n_validation_words, n_words=n_words)[0].validation_words.sum() == expected


@pytest.mark.parametrize(("sizes", "expected"), [("auto", [10, 20, 40]), ({"auto": 2}, [10, 40])])  # at most 2 sizes
def test_with_auto_at_least_half_of_the_words_reach_each_size(sizes, expected):
    np.testing.assert_equal(draw(sizes=sizes)[0], draw(sizes=expected)[0])


DRAWN = tasks.Tasks(Y=np.arange(24).reshape(2, 4, 3), sizes=np.array([5, 9]), validation_words=np.ones(3, bool))


def test_training_sets_are_found_by_their_size():
    np.testing.assert_array_equal([DRAWN.training_sets(5), DRAWN.training_sets()], DRAWN.Y)


@pytest.mark.parametrize(("most", "expected"), [(9, 9), (40, 9), (8, 5), (3, 5)])
def test_size_at_most_is_the_largest_size_up_to_a_limit_or_else_the_smallest(most, expected):
    assert DRAWN.size_at_most(most) == expected


# Images set aside


def test_only_images_that_are_set_aside_become_unlabelled():
    split = np.repeat(["train", "validation", "test", "unlabelled"], [20, 5, 10, 3])
    numbers = {"train": 7, "test": 4, "validation": 0}
    got, again = (
        tasks.set_aside(split, dict(items), rng=np.random.default_rng(0))
        for items in (numbers.items(), sorted(numbers.items()))
    )
    assert pd.Series(got).value_counts().to_dict() == {"train": 13, "validation": 5, "test": 6, "unlabelled": 14}
    # The order of the numbers does not matter, and other images keep their splits.
    assert (got == again).all() and (got[got != "unlabelled"] == split[got != "unlabelled"]).all()
    assert (got != tasks.set_aside(split, numbers, rng=np.random.default_rng(1))).any()  # images drawn at random
    # The training images are whole pairs, of which 7 or 8 images need four. Three images were unlabelled before.
    for n in (7, 8):
        by_pair = tasks.set_aside(split[::-1], {"train": n}, rng=np.random.default_rng(0), groups=np.arange(38) // 2)
        assert (by_pair == "unlabelled").sum() == 3 + 8  # whole groups, of this split alone


def test_the_script_sets_whole_groups_aside(run_script, tmp_path):
    given, made = ({"images": str(tmp_path / name)} for name in ("given.parquet", "made.parquet"))
    table = pd.DataFrame({"image": [*map(str, range(20))], "split": "train", "group": np.arange(20) // 2})
    write_table(table, given["images"])
    run_script("set_aside", input=given, output=made, params={"seed": 0, "numbers": {"train": 7}})
    is_aside = (read_table(made["images"])["split"] == "unlabelled").to_numpy().reshape(-1, 2)
    assert is_aside.sum() == 8 and (is_aside[:, 0] == is_aside[:, 1]).all()


def test_each_call_of_thinned_leaves_out_a_different_tenth():
    chosen, rng = np.arange(60) % 3 > 0, np.random.default_rng(0)
    first, second = (tasks.thinned(chosen, rng) for _ in range(2))
    assert first.sum() == second.sum() == 36 and (first | second <= chosen).all() and (first != second).any()


# Words of captions, and one label per sample


def images_of(names, trained):
    return pd.DataFrame({"image": list(names), "split": np.where(np.isin(list(names), list(trained)), "train", "test")})


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        (
            "A 2-year-old in the 1950s with 3 mp3 players",
            ["a", "year-old", "in", "the", "1950s", "with", "mp3", "players"],
        ),
        ("3d,b2b;f-16 | 4x4, 2009, 007", ["3d", "b2b", "f-16", "4x4"]),
        ("3d, café №5", ["3d", "café"]),
        ("See https://a.org/cat?x=1, WWW.dogs.com/b and ftp://c.", ["see", "and"]),
        ("http://éa.org/é awww.dog", ["awww", "dog"]),
        pytest.param("1" * 100_000 + "a", ["1" * 100_000 + "a"], id="in linear time"),
        *((normalize(form, "Un café naïf, señor"), ["un", "café", "naïf", "señor"]) for form in ("NFC", "NFD")),
        ("कुत्ता बिल्ली", ["कुत्ता", "बिल्ली"]),
        ("שָׁלוֹם 2 عَرَبِيّ", [normalize("NFC", word) for word in ("שָׁלוֹם", "عَرَبِيّ")]),
    ],
)
def test_words_may_contain_digits_and_marks_and_addresses_are_not_words(caption, expected):
    assert words_of(caption) == expected


def test_labels_in_both_forms_of_unicode_are_the_same():
    images, captions = images_of("abc", "abc"), captions_of("caf\u00e9", "cafe\u0301 ", "th\u00e9")
    words, labels = choose_words(images, captions, n_words=2, split_captions=False)
    assert words["word"].tolist() == ["caf\u00e9", "th\u00e9"] and labels[:, 0].tolist() == [True, True, False]
    assert one_label(images, captions, "cafe\u0301")[1].tolist() == [1, 1, -1]
    assert classes(images, captions).tolist() == ["caf\u00e9", "caf\u00e9", "th\u00e9"]


# Errors


# Images a and b for training and c for testing, and a caption "tea" for each of the names.
def labelled(*names):
    return images_of("abc", "ab"), pd.DataFrame({"image": names, "caption": "tea"})


CHOSEN = choose_words(IMAGES, CAPTIONS, n_words=2)
FEW = photographs((10, 2, 2), (8, 1, 2), (7, 1, 1))
UNTESTED = [table[~table["image"].str.startswith("test")] for table in FEW]
TOO_FEW = r"at least 2 words must have 9 training images .* got 1 such words( \('bee' is left out, .*: 8\))?: choose"
NOT_SOME = "some training samples must have the label .* got 'tea', which"
WRONG_CALLS = [
    (ValueError, lambda: choose_words(IMAGES, CAPTIONS, n_words=100), "n_words must be at most 7, .* got 100"),
    *(
        (ValueError, lambda n=n_words: choose_words(*FEW, n_words=n, smallest_size=9), TOO_FEW)
        for n_words in (3, "auto")
    ),
    (
        ValueError,
        lambda: choose_words(*UNTESTED, n_words=2, smallest_size=5),
        "the test split must hold images, got none: check the splits of the dataset",
    ),
    *(
        (
            ValueError,
            lambda value=value: draw(np.where(SPLIT[:, np.newaxis] == "validation", value, LABELS)),
            r"the validation split must hold images with .* got \d+ images and no such word among word0, word1, ",
        )
        for value in (False, True)
    ),
    *(
        (ValueError, lambda n=n: draw(n_validation_words=n), f"n_validation_words must be between 1 and 4 .* got {n}")
        for n in (0, 5)
    ),
    *(
        (
            ValueError,
            lambda numbers=numbers: tasks.set_aside(np.array(["train"] * 20), numbers, rng=np.random.default_rng(0)),
            f"set aside must be less than {limit}, the number of such images, got",
        )
        for numbers, limit in (({"train": 20}, 20), ({"test": 1}, 0))
    ),
    (ValueError, lambda: one_label(*labelled("a", "b"), "tea"), f"{NOT_SOME} 2 of 2 have"),
    (ValueError, lambda: one_label(*labelled("c"), "tea"), f"{NOT_SOME} 0 of 2 have"),
    (ValueError, lambda: one_label(*labelled("c")), "n_words must be at most 0, the number of .* got 1"),
    (
        ValueError,
        lambda: classes(*labelled("a", "b")),
        "each sample must have exactly one label, its class, got 0 for 'c'",
    ),
    (
        ValueError,
        lambda: classes(*labelled(*"abcc")),
        "each sample must have exactly one label, its class, got 2 for 'c'",
    ),
    (ValueError, lambda: tasks.halves(images_of("a", "a")), "for training and for testing, got 1 and 0"),
    (
        Misfit,
        lambda: choose_words(IMAGES[:5], CAPTIONS, n_words=1),
        "captions must belong .* got a caption of 'f'",
    ),
    *(
        (
            Misfit,
            lambda others=others: names_of(CHOSEN[0], others),
            "labels must belong to the words in the table, dog, café, got labels of other words",
        )
        for others in (CHOSEN[1][:, ::-1], CHOSEN[1][:, :1], CHOSEN[1][0], CHOSEN[1].astype(str))
    ),
    *(
        (
            Misfit,
            lambda sizes=sizes: DRAWN._replace(sizes=np.array(sizes)).training_sets(9),
            "tasks must hold training sets of size 9, got the sizes",
        )
        for sizes in ([5, 8], [9, 9])
    ),
]


@pytest.mark.filterwarnings("ignore:the word")
@pytest.mark.parametrize(("error", "call", "said"), WRONG_CALLS)
def test_input_that_makes_no_tasks_is_refused(error, call, said):
    with pytest.raises(error, match=said):
        call()


def test_each_run_of_a_study_draws_its_own_tasks_from_the_seed(run_script, tmp_path):
    images, captions = photographs((10, 2, 2), (9, 2, 2), (8, 2, 2))
    words, labels = choose_words(images, captions, n_words=3)
    made = {"tasks": tmp_path / "tasks.npz", "table": tmp_path / "tasks.csv"}
    given = {"images": tmp_path / "images.parquet", "words": tmp_path / "words.csv", "labels": tmp_path / "labels.npy"}
    write_table(images, given["images"])
    write_table(words, given["words"])
    write_array(given["labels"], labels)
    params, drawn = {"options": {"sizes": [5], "n_validation_words": 1}, "seed": 7}, []
    for run in (1, 1, 2):
        run_script("draw_tasks", input=given, params=params, output=made, wildcards={"run": run})
        drawn.append(read_arrays(made["tasks"])["Y"])
    assert (drawn[0] == drawn[1]).all() and (drawn[0] != drawn[2]).any()
