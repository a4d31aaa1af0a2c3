"""Words as tasks: content words of captions, and 1:2 samples of positive and negative images for each.

Source: Quattoni et al. 2009, sec. 6. There the 40 most frequent content words, without stop words, are 40 binary tasks.
For n = 40, 80, 160, 320, 640, each gets n positive and 2n negative training images.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointsparse.checks import Misfit, require, require_extra
from jointsparse.learning.flag import Flag, write_cell

require_extra(__name__, "pandas", "snowballstemmer")
from snowballstemmer import stemmer  # noqa: E402

if TYPE_CHECKING:
    import pandas as pd

# Choice: the papers say nothing of words that nearly every image has.
NEARLY_ALL = 0.9  # words that at least this fraction of the training images has carry a warning

JOINERS = "\u200c\u200d"  # invisible, inside words of Persian and Indian scripts


@cache
def _word(letter: str) -> re.Pattern[str]:
    """A pattern whose group is a word. Possessive throughout (++, *+), so that it takes linear time."""
    address, number, part = r"(?:(?:https?|ftp)://|www\.)\S*+", r"\d++(?![^\W\d_])", rf"(?:{letter})++"
    return re.compile(rf"{address}|{number}|({part}(?:['-]{part})*+)")


@cache
def _marked_letter() -> str:
    """A letter or digit with the marks that belong to it: accents, vowel signs, points."""
    marks = (chr(code) for code in range(0x300, sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M")
    return rf"[^\W_][{''.join(marks)}{JOINERS}]*+"


def normalised(text: str) -> str:
    """Text in one form (NFC), however its accents were written, without spaces around it."""
    return text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()


def words_of(caption: str) -> list[str]:
    """The words of a sentence or list of tags, in lower case. Each begins with letters, or with digits and a letter.

    Numbers, web addresses and punctuation separate words. An inner hyphen or apostrophe does not.

    >>> words_of("The cat's well-worn toys, 2 of them.")
    ['the', "cat's", 'well-worn', 'toys', 'of', 'them']
    >>> words_of("3d, b2b, f-16, 2009, https://example.org/cat")
    ['3d', 'b2b', 'f-16']
    """
    text = normalised(caption.lower()).replace("’", "'")
    return list(filter(None, _word(r"[^\W_]" if text.isascii() else _marked_letter()).findall(text)))


def choose_words(
    images: pd.DataFrame,
    captions: pd.DataFrame,
    *,
    n_words: int,
    min_length: int = 3,
    stop_words: Iterable[str] = (),
    split_captions: bool = True,
    join_inflections: bool = False,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Choose the most frequent content words of the training images.

    An image has a word if any of its captions does.

    Parameters
    ----------
    images : table
        Columns image, split.
    captions : table
        Columns image, caption.
    n_words : int, at least 1
        Words to choose.
    min_length : int
        Letters of a word, at least.
    stop_words : list of str
        Left out besides the 318 English function words of scikit-learn. The part before an apostrophe counts: "it's" is
        "it".
    split_captions : bool
        False: a whole caption is one label, such as the name of a class, of any length. Only stop_words are left out.
    join_inflections : bool
        True: forms with one English stem (Snowball) count as one word, named by its commonest form.

    Returns
    -------
    words : table
        Columns word, forms, images, train, validation, test (numbers of images), warning; most frequent first.
    labels : bool array, (n_images, n_words)
        True where an image has a word, in the order of `images`.

    Raises
    ------
    ValueError
        If the training captions hold fewer than n_words content words.
    """
    # Choice: frequency is the number of training images with the word; equal counts are ordered alphabetically.
    import pandas as pd  # here, as it takes a third of a second

    left_out = {word.lower() for word in stop_words}
    if split_captions:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        left_out |= ENGLISH_STOP_WORDS
    else:
        min_length = 1
    stem = stemmer("english").stemWord if join_inflections else str
    row = {image: i for i, image in enumerate(images["image"])}
    for image in captions["image"][~captions["image"].isin(row)].head(1):
        raise Misfit(f"captions must be of the images in the table of images, got one of {image!r}")
    rows_with: dict[str, set[int]] = defaultdict(set)
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for image, caption in zip(captions["image"], captions["caption"], strict=True):
        for word in words_of(caption) if split_captions else [normalised(caption)]:
            if len(word) >= min_length and not {word.lower(), word.partition("'")[0]} & left_out:
                key = stem(word)
                rows_with[key].add(row[image])
                forms[key][word] += 1

    in_split = {split: (images["split"] == split).to_numpy() for split in ("train", "validation", "test")}
    train_counts = {key: int(in_split["train"][list(rows)].sum()) for key, rows in rows_with.items()}
    ranked = sorted((key for key in rows_with if train_counts[key]), key=lambda key: (-train_counts[key], key))
    require(
        len(ranked) >= n_words,
        f"n_words must be at most {len(ranked)}, the number of content words in training captions, got {n_words}",
    )
    labels = np.zeros((len(images), n_words), dtype=bool)
    table = []
    for j, key in enumerate(ranked[:n_words]):
        labels[list(rows_with[key]), j] = True
        by_count = sorted(forms[key], key=lambda form: (-forms[key][form], form))
        counts = {split: int(labels[mask, j].sum()) for split, mask in in_split.items()}
        # A word of nearly all images has few negatives to learn from; `draw` refuses a word of all images.
        share = counts["train"] / in_split["train"].sum()
        flag = Flag("training images with it", round(100 * share), "%") if share >= NEARLY_ALL else None
        row_of_word = {"word": by_count[0], "forms": " ".join(by_count), "images": int(labels[:, j].sum())}
        table.append(row_of_word | counts | {"warning": write_cell([flag])})
    return pd.DataFrame(table), labels


def one_label(images: pd.DataFrame, captions: pd.DataFrame, label: str | None = None) -> tuple[str, np.ndarray]:
    """Choose a label, by default the most frequent one of the training samples, and mark the samples that have it.

    images: columns image, split. captions: columns image, caption, a caption being a whole label. Returns the label and
    y (n_images,) of -1 and +1. Raises ValueError where the training samples do not hold both.

    >>> import pandas as pd
    >>> images = pd.DataFrame({"image": list("abc"), "split": "train"})
    >>> one_label(images, pd.DataFrame({"image": list("abb"), "caption": ["grain", "grain", "tea"]}))
    ('grain', array([ 1.,  1., -1.]))
    """
    if label is None:
        trained = images.loc[images["split"] == "train", "image"]
        require(
            captions["image"].isin(trained).any(),
            f"some training samples must have a label, got none for all {len(trained)}",
        )
        label = choose_words(images, captions, n_words=1, split_captions=False)[0]["word"].iloc[0]
    with_it = captions["image"][captions["caption"].map(normalised) == normalised(label)]
    has_it = images["image"].isin(with_it).to_numpy()
    in_training = has_it[(images["split"] == "train").to_numpy()]
    require(
        in_training.any() and not in_training.all(),
        f"label must be one that some training samples have and others have not, got {label!r}, which "
        f"{in_training.sum()} of {len(in_training)} have",
    )
    return label, np.where(has_it, 1.0, -1.0)


def classes(images: pd.DataFrame, captions: pd.DataFrame) -> np.ndarray:
    """The one label of each sample, (n_images,) of text.

    images: column image. captions: columns image, caption, a caption being a whole label. Raises ValueError where a
    sample has not exactly one label.

    >>> import pandas as pd
    >>> images = pd.DataFrame({"image": list("abc")})
    >>> classes(images, pd.DataFrame({"image": list("cab"), "caption": ["1", "0", "0"]})).tolist()
    ['0', '0', '1']
    """
    of_image = captions.groupby("image")["caption"].agg(["size", "first"]).reindex(images["image"])
    for image, number in of_image["size"][of_image["size"] != 1].fillna(0).items():
        raise ValueError(f"each sample must have one label, its class, got {number:.0f} for {image!r}")
    return of_image["first"].map(normalised).to_numpy(dtype=str)


def halves(images: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Samples to learn from, training and validation, and samples to test with: (n_images,) bool each.

    For experiments that choose nothing by validation. images: column split. Raises ValueError where either is empty.
    """
    learn, test = (images["split"].isin(names).to_numpy() for names in (("train", "validation"), ("test",)))
    require(
        learn.any() and test.any(), f"samples must be for training and for testing, got {learn.sum()} and {test.sum()}"
    )
    return learn, test


def names_of(words: pd.DataFrame, labels: np.ndarray) -> list[str]:
    """The names of words in the order of their labels. words: columns word, images. labels: (n_images, n_words) bool.

    Raises Misfit where the labels say of a word that other numbers of images have it.
    """
    require(
        labels.ndim == 2 and labels.dtype == bool and words["images"].tolist() == labels.sum(axis=0).tolist(),
        f"labels must be of the words in their table, {', '.join(words['word'])}, got others",
        Misfit,
    )
    return words["word"].tolist()


def thinned(chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The chosen samples, (n_images,) bool, without a tenth of them, drawn at random.

    For runs that would not differ otherwise, such as those of methods without any random step.
    """
    kept = chosen.copy()
    members = np.flatnonzero(chosen)
    kept[rng.permutation(members)[: len(members) // 10]] = False
    return kept


def set_aside(split: np.ndarray, numbers: Mapping[str, int], *, rng: np.random.Generator) -> np.ndarray:
    """The splits (n_images,) with some images of each split, drawn at random, made unlabelled.

    numbers: split -> how many of its images. Raises ValueError where a split has no more than that.
    Source: Quattoni et al. 2008, sec. 5.2: a basis from images that no task uses.
    """
    result = split.astype(object)
    for name in sorted(numbers):
        members = np.flatnonzero(split == name)
        require(
            not 0 < numbers[name] >= len(members),
            f"the number of {name} images to set aside must be less than {len(members)}, the number there is, "
            f"got {numbers[name]}",
        )
        result[rng.permutation(members)[: numbers[name]]] = "unlabelled"
    return result


class Tasks(NamedTuple):
    """The training sets of one run.

    Attributes
    ----------
    Y : int8 array, (n_sizes, n_images, n_words)
        +1 positive, -1 negative, 0 not in this training set. The sets of one word are nested, so that a learning curve
        varies with n and not with the luck of five draws.
    sizes : int array, (n_sizes,)
        The numbers n of positives.
    validation_words : bool array, (n_words,)
        The words whose validation images choose the radius.
    """

    Y: NDArray[Any]
    sizes: NDArray[Any]
    validation_words: NDArray[Any]

    def training_sets(self, n: int | None = None) -> NDArray[Any]:
        """Training sets of size n (None: the largest), (n_images, n_words). Raises Misfit where there are none."""
        Y, sizes = self.Y, self.sizes
        kinds = Y.dtype.kind + sizes.dtype.kind
        if Y.ndim != 3 or sizes.shape != Y.shape[:1] or not len(sizes) or kinds not in ("ii", "iu"):
            got = f"{Y.dtype} {Y.shape}, {sizes.dtype} {sizes.shape}"
            raise Misfit(f"tasks must be whole numbers Y (sizes, images, words) and their sizes, got {got}")
        found = np.flatnonzero(sizes == (sizes.max() if n is None else n))
        require(
            len(found) == 1,
            f"tasks must hold training sets of size {n}, got the sizes {', '.join(map(str, sizes))}",
            Misfit,
        )
        return np.asarray(Y[found[0]])


def draw(
    labels: np.ndarray,
    split: np.ndarray,
    words: Sequence[str],
    *,
    sizes: Sequence[int],
    negatives_per_positive: int = 2,
    n_validation_words: int,
    rng: np.random.Generator,
) -> tuple[Tasks, pd.DataFrame]:
    """Draw the training sets of every word and size, and the words whose validation images choose the radius.

    A word with fewer positives (negatives) than asked gets all there are, and column capped says so.

    Parameters
    ----------
    labels : bool array, (n_images, n_words)
        Which image has which word.
    split : text array, (n_images,)
        "train", "validation", "test" or "unlabelled".
    words : list of str, (n_words,)
        Names of the words.
    sizes : list of int, at least 1
        The numbers n of positives.
    negatives_per_positive : int, at least 1
        Each word also gets so many times n negatives.
    n_validation_words : int
        At least 1, less than n_words.
    rng : Generator
        Draws words and images.

    Returns
    -------
    Tasks
        The training sets and the validation words.
    table
        Columns n, word, positives, negatives, capped: the content of each training set.

    Raises
    ------
    ValueError
        If a word cannot fill the smallest size, or lacks a positive or negative where AUC needs one.
    """
    import pandas as pd

    n_words = len(words)
    require(
        labels.shape == (len(split), n_words) and labels.dtype == bool,
        f"labels must be bool with a row for each of {len(split)} images and a column for each of {n_words} words, "
        f"got {labels.dtype} with shape {labels.shape}",
        Misfit,
    )
    require(
        0 < n_validation_words < n_words,
        f"n_validation_words must be between 1 and {n_words - 1} (n_words - 1), got {n_validation_words}",
    )
    validation_words = np.zeros(n_words, dtype=bool)
    validation_words[rng.choice(n_words, n_validation_words, replace=False)] = True
    _check_evaluable(labels[split == "validation"], words, "validation", validation_words)
    _check_evaluable(labels[split == "test"], words, "test", np.ones(n_words, dtype=bool))

    train = np.flatnonzero(split == "train")
    Y = np.zeros((len(sizes), *labels.shape), dtype=np.int8)  # Choice: nested training sets
    table = []
    for k, word in enumerate(words):
        positives = rng.permutation(train[labels[train, k]])
        negatives = rng.permutation(train[~labels[train, k]])
        _check_enough(len(positives), len(negatives), min(sizes), word)
        for s, n in enumerate(sizes):
            with_word, without = positives[:n], negatives[: negatives_per_positive * n]
            Y[s, with_word, k] = 1
            Y[s, without, k] = -1
            capped = len(with_word) < n or len(without) < negatives_per_positive * n
            table.append((n, word, len(with_word), len(without), capped))
    columns = ["n", "word", "positives", "negatives", "capped"]
    return Tasks(Y, np.array(sizes), validation_words), pd.DataFrame(table, columns=columns)


def _check_enough(n_positives: int, n_negatives: int, smallest: int, word: str) -> None:
    """Raise ValueError where a word cannot fill the smallest size."""
    require(
        n_positives >= smallest,
        f"the smallest of sizes must be at most {n_positives}, the number of training images with the word "
        f"{word!r}, got {smallest}: choose smaller sizes or fewer words",
    )
    require(
        n_negatives >= smallest,
        f"each word must be missing from at least {smallest} training images (the smallest of sizes), "
        f"but {word!r} is missing from {n_negatives}: choose smaller sizes or add it to stop_words",
    )


def _check_evaluable(labels: np.ndarray, words: Sequence[str], split: str, needed: np.ndarray) -> None:
    """Raise ValueError where a part lacks a positive or a negative of a needed word, as AUC takes both."""
    require(len(labels), f"the {split} part must hold images, got none: see the splits of the dataset")
    for kind, counts in (("with", labels.sum(axis=0)), ("without", (~labels).sum(axis=0))):
        bad = np.flatnonzero(needed & (counts == 0))
        if len(bad):
            raise ValueError(
                f"the {split} part must hold an image {kind} each word, got none {kind} {words[bad[0]]!r}: "
                f"make the {split} part larger, choose fewer words, or add the word to stop_words"
            )
