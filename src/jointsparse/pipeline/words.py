"""Choose the content words of captions, or the labels of samples, that are learnt.

Source: Quattoni et al. 2009, sec. 6, where the 40 most frequent content words, without stop words, are learnt.
"""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointsparse.checks import Misfit, require, require_extra
from jointsparse.messages import JOINERS
from jointsparse.pipeline.flag import LEFT_OUT, Flag, Kind, kinds_in, write_cell

require_extra(__name__, "pandas", "snowballstemmer")
from snowballstemmer import stemmer  # noqa: E402

if TYPE_CHECKING:
    import pandas as pd

# Choice: the papers do not mention words that nearly all images have.
NEARLY_ALL = 0.9  # words that at least this fraction of the training images have get a warning

AUTO = "auto"
MOST_WORDS = 40  # largest number of words for `n_words: auto`, as in Quattoni et al. 2009, sec. 6
FEWEST_WORDS = 2  # one for validation and one for testing

UNKNOWN = -1  # value of unknown labels, in addition to 1 and 0


@cache
def _word(letter: str) -> re.Pattern[str]:
    """Return a regular expression whose group is a word. Possessive quantifiers (++, *+) keep the search linear."""
    address, number, part = r"(?:(?:https?|ftp)://|www\.)\S*+", r"\d++(?![^\W\d_])", rf"(?:{letter})++"
    return re.compile(rf"{address}|{number}|({part}(?:['-]{part})*+)")


@cache
def _marked_letter() -> str:
    """Return a regular expression for a letter or digit with its combining marks: accents, vowel signs and points."""
    marks = (chr(code) for code in range(0x300, sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M")
    return rf"[^\W_][{''.join(marks)}{JOINERS}]*+"


def normalised(text: str) -> str:
    """Return a string in the composed Unicode form (NFC), without surrounding spaces."""
    return text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()


def words_of(caption: str) -> list[str]:
    """Return the words of a sentence or of a list of tags, in lower case.

    A word begins with letters, or with digits that are followed by a letter. Words are separated by numbers, web
    addresses and punctuation, except for hyphens and apostrophes inside a word.

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
    n_words: int | Literal["auto"],
    smallest_size: int | None = None,
    min_length: int = 3,
    stop_words: Iterable[str] = (),
    split_captions: bool = True,
    join_inflections: bool = False,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Choose the most frequent content words of the training images.

    An image has a word if any of its captions contains the word.

    Parameters
    ----------
    images : table
        Columns `image`, `split` and perhaps `group`.
    captions : table
        Columns `image` and `caption`. If whole captions are labels, there may also be a column `known`, which is False
        if it is unknown whether the image has the label. A column `absent` is True for words that the image does not
        have, whatever its other captions say.
    n_words : int, at least 1, or "auto"
        Number of words to choose. "auto" chooses all words that have enough images, but at most `MOST_WORDS`.
    smallest_size : int, optional
        Smallest number of training images that must have a word, and that must lack it. Words that do not meet this
        requirement are left out with a warning, and so are words that every test image or no test image has, and words
        that all training images of all groups but one have, or lack. By default no word is left out for these reasons.
    min_length : int
        Smallest number of letters of a word.
    stop_words : list of str
        Words to leave out in addition to the 318 English function words of scikit-learn. A word is also left out if the
        part before its apostrophe is a stop word: "it's" counts as "it".
    split_captions : bool
        If False, each caption as a whole is one label of any length, such as the name of a class, and only the labels
        in `stop_words` are left out.
    join_inflections : bool
        If True, forms with the same English stem (according to the Snowball stemmer) count as one word, which is named
        after its most frequent form.

    Returns
    -------
    words : table
        A row for each word, in order of decreasing frequency; the words that are left out come last. The columns are

        - `word`: the most frequent form;
        - `forms`: all forms, separated by spaces;
        - `images`, `train`, `validation`, `test`: the number of images with the word, in total and in each split;
        - `unknown`: the number of images whose label is unknown; the column exists only if there are unknown labels;
        - `warning`: see `Flag`.
    labels : array, (n_images, n_words)
        True if an image has a word. The rows are in the order of `images`, and the words that are left out have no
        column. If some labels are unknown, the dtype is int8, with the values 1, 0 and `UNKNOWN`.

    Raises
    ------
    ValueError
        If the training captions hold fewer than n_words content words, or, with smallest_size, if fewer than
        `FEWEST_WORDS` words remain.
    """
    # Choice: frequency is the number of training images with the word; equal counts are ordered alphabetically.
    import pandas as pd  # imported here, because the import takes a third of a second

    rows_with, forms, unknown, in_split = _counted(
        images,
        captions,
        min_length=min_length,
        stop_words=stop_words,
        split_captions=split_captions,
        join_inflections=join_inflections,
    )
    train_counts = {key: int(in_split["train"][list(rows)].sum()) for key, rows in rows_with.items()}
    least = (smallest_size or 1) if n_words == AUTO else 1
    ranked = sorted((key for key in rows_with if train_counts[key] >= least), key=lambda key: (-train_counts[key], key))
    most = MOST_WORDS if isinstance(n_words, str) else n_words
    require(
        smallest_size is None or in_split["test"].any(),
        "the test split must hold images, got none: check the splits of the dataset",
    )
    require(
        n_words == AUTO or smallest_size is not None or len(ranked) >= most,
        f"n_words must be at most {len(ranked)}, the number of content words in training captions, got {n_words}",
    )
    kept, refused, columns = list[dict[str, Any]](), list[dict[str, Any]](), []
    for key in ranked if n_words == AUTO else ranked[:most]:
        if len(kept) == most:
            break
        label = _label(len(images), rows_with[key], unknown.get(key, []))
        row_of_word = _row_of_word(forms[key], label, in_split, smallest_size, images.get("group"))
        if kinds_in(row_of_word["warning"]) & LEFT_OUT:
            warnings.warn(f"the word {row_of_word['word']!r} is {row_of_word['warning']}", stacklevel=2)
            refused.append(row_of_word)
        else:
            kept.append(row_of_word)
            columns.append(label)
    if smallest_size is not None:
        _require_words(kept, refused, n_words, smallest_size)
    labels = np.ascontiguousarray(np.transpose(columns))
    table = pd.DataFrame(kept + refused)
    return (table, labels) if unknown else (table.drop(columns="unknown"), labels == 1)


def _whole(caption: str) -> list[str]:
    return [normalised(caption)]


def _stem(join_inflections: bool) -> Callable[[str], str]:
    return cache(stemmer("english").stemWord) if join_inflections else str


class _Counted(NamedTuple):
    """The words in captions, counted by stem or by form, and the images that have them.

    Attributes
    ----------
    rows_with
        For each word, the rows of the images whose captions contain it.
    forms
        For each word, the number of times that each of its forms occurs in the captions.
    unknown
        For each word, the rows of the images for which it is unknown whether they have it.
    in_split
        For each split, a mask (n_images,) of its images.
    """

    rows_with: dict[str, set[int]]
    forms: dict[str, Counter[str]]
    unknown: dict[str, NDArray[Any]]
    in_split: dict[str, NDArray[Any]]


def _counted(
    images: pd.DataFrame,
    captions: pd.DataFrame,
    *,
    min_length: int = 3,
    stop_words: Iterable[str] = (),
    split_captions: bool = True,
    join_inflections: bool = False,
) -> _Counted:
    """Count the content words in captions. The parameters are those of `choose_words`."""
    left_out = {word.lower() for word in stop_words}
    if split_captions:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        left_out |= ENGLISH_STOP_WORDS
    stem, split = _stem(join_inflections), words_of if split_captions else _whole
    row = {image: i for i, image in enumerate(images["image"])}
    for image in captions["image"][~captions["image"].isin(row)].head(1):
        raise Misfit(f"captions must belong to images in the table of images, got a caption of {image!r}")
    absent = captions[captions["absent"]] if "absent" in captions else captions[:0]
    captions = captions.drop(index=absent.index)
    unknown: dict[str, NDArray[Any]] = {}  # rows by word
    if "known" in captions:
        require(not split_captions, "split_captions must be false if labels of samples are unknown, got true")
        others = captions[~captions["known"]].groupby("caption")["image"]
        unknown = {stem(normalised(str(label))): of.map(row).to_numpy() for label, of in others}
        captions = captions[captions["known"]]
    rows_with: dict[str, set[int]] = defaultdict(set)
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for image, caption in zip(captions["image"], captions["caption"], strict=True):
        for word in split(caption):
            short = len(word) < (min_length if split_captions else 1)
            if not short and not {word.lower(), word.partition("'")[0]} & left_out:
                rows_with[stem(word)].add(row[image])
                forms[stem(word)][word] += 1
    for image, caption in zip(absent["image"], absent["caption"], strict=True):
        for key in map(stem, split(caption)):
            rows_with.get(key, set()).discard(row[image])
            if key in unknown:
                unknown[key] = unknown[key][unknown[key] != row[image]]
    rows_with = {key: rows for key, rows in rows_with.items() if rows}

    in_split = {split: (images["split"] == split).to_numpy() for split in ("train", "validation", "test")}
    return _Counted(rows_with, forms, unknown, in_split)


def _label(n: int, with_it: set[int], unknown: Any) -> np.ndarray:
    """Return 1, 0 or `UNKNOWN` for each of n images. with_it, unknown: rows of images that have a word, or may."""
    label = np.zeros(n, np.int8)
    label[unknown] = UNKNOWN
    label[list(with_it)] = 1
    return label


def counted_words(images: pd.DataFrame, captions: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
    """Count the images that have each word, and say which words cannot be learnt from them.

    The words are ranked as by `choose_words`, which takes the learnable ones among the first `n_words`.

    images, captions: as in `choose_words`. options: the other arguments of `choose_words`, which must include
    `smallest_size` but not `n_words`.

    Returns
    -------
    table
        A row for each word, with its most frequent form, `word`; the number of `images` and of images in `train` that
        have it; and the kind of the flag with which `choose_words` leaves it out, `left_out`, or an empty string.

    Examples
    --------
    >>> import pandas as pd
    >>> images = pd.DataFrame({"image": list("abcdef"), "split": [*4 * ["train"], *2 * ["test"]]})
    >>> captions = pd.DataFrame({"image": list("aabbee"), "caption": ["cat", "dog", "cat", "elk", "cat", "dog"]})
    >>> table = counted_words(images, captions, {"smallest_size": 2, "split_captions": False})
    >>> table[["word", "train"]].values.tolist(), (table["left_out"] == "").tolist()
    ([['cat', 2], ['dog', 1], ['elk', 1]], [True, False, False])
    """
    import pandas as pd  # imported here, because the import takes a third of a second

    counted = _counted(images, captions, **{key: value for key, value in options.items() if key != "smallest_size"})
    images_in = {split: int(mask.sum()) for split, mask in counted.in_split.items()}
    words = []
    for key, rows in counted.rows_with.items():
        unknown = counted.unknown.get(key, np.empty(0, int))
        counts = {split: int(mask[list(rows)].sum()) for split, mask in counted.in_split.items()}
        totals = {split: images_in[split] - int(mask[unknown].sum()) for split, mask in counted.in_split.items()}
        flag = _too_few(counts, totals, options["smallest_size"])
        if "group" in images:
            flag = flag or _of_one_group(_label(len(images), rows, unknown), counted.in_split, images["group"])
        word = _by_count(counted.forms[key])[0]
        words.append((-counts["train"], key, word, len(rows), counts["train"], flag.kind if flag else ""))
    columns = ["word", "images", "train", "left_out"]
    return pd.DataFrame([row for _, _, *row in sorted(words)], columns=columns)


def as_words(
    decisions: pd.DataFrame, words: Sequence[str], *, split_captions: bool = True, join_inflections: bool = False
) -> pd.DataFrame:
    """Return decisions about words of a model, in whatever form a tag names them.

    Parameters
    ----------
    decisions : table
        The column `tag`, and any others. A tag that has several words decides about each of them.
    words : list of str
        The words of the model, from `choose_words`.
    split_captions, join_inflections : bool
        As in `choose_words`.

    Returns
    -------
    table
        The decisions, with a row for each word. The tag is empty if the model has not learnt the word.

    Examples
    --------
    >>> import pandas as pd
    >>> as_words(pd.DataFrame({"tag": ["Dog", "red boats"]}), ["dogs", "boat"], join_inflections=True)["tag"].tolist()
    ['dogs', '', 'boat']
    """
    stem, split = _stem(join_inflections), words_of if split_captions else _whole
    word_of = {stem(word): word for word in words}
    tags = decisions["tag"].map(lambda tag: [word_of.get(stem(word), "") for word in split(tag)])
    return decisions.assign(tag=tags).explode("tag", ignore_index=True)


def in_no_caption(
    tags: Iterable[str], captions: Iterable[str], *, split_captions: bool = True, join_inflections: bool = False
) -> dict[str, list[str]]:
    """Return the tags that have a word which no caption contains in any form, and for each tag similar ones.

    Parameters
    ----------
    tags : list of str
        See `as_words`.
    captions : list of str
        The captions, in which the words are.
    split_captions, join_inflections : bool
        As in `choose_words`.

    Returns
    -------
    similar : dict
        For each of these tags, words of the captions that are spelt like it.

    Examples
    --------
    >>> in_no_caption(["blakc", "Dog", "black cow"], ["black dogs"], join_inflections=True)
    {'blakc': ['black'], 'black cow': ['black']}
    """
    stem, split = _stem(join_inflections), words_of if split_captions else _whole
    known = {word: stem(word) for caption in {*captions} for word in split(caption)}
    stems, folded = {*known.values()}, {word.lower(): word for word in sorted(known)}
    lacking = [tag for tag in dict.fromkeys(tags) if not (words := split(tag)) or not {*map(stem, words)} <= stems]
    return {tag: [folded[word] for word in get_close_matches(tag.lower(), folded)] for tag in lacking}


def _by_count(forms: Counter[str]) -> list[str]:
    """Return the forms of a word, the most frequent one first."""
    return sorted(forms, key=lambda form: (-forms[form], form))


def _row_of_word(
    forms: Counter[str],
    label: np.ndarray,
    in_split: Mapping[str, np.ndarray],
    smallest_size: int | None,
    groups: pd.Series | None,
) -> dict[str, Any]:
    """Return a word's row in the table of words.

    label: 1, 0 or `UNKNOWN` per image. in_split: a mask per split. groups: the group of each image, or None.
    """
    by_count = _by_count(forms)
    counts = {split: int((label[mask] == 1).sum()) for split, mask in in_split.items()}
    totals = {split: int((label[mask] >= 0).sum()) for split, mask in in_split.items()}
    # A word that nearly all images have has few negatives. `draw` refuses a word that all images have.
    share = counts["train"] / max(totals["train"], 1)
    flag = Flag(Kind.NEARLY_ALL, round(100 * share), "%") if share >= NEARLY_ALL else None
    too_few = None
    if smallest_size is not None:
        too_few = _too_few(counts, totals, smallest_size) or _of_one_group(label, in_split, groups)
    row_of_word = {"word": by_count[0], "forms": " ".join(by_count), "images": int((label == 1).sum())}
    unknown = {"unknown": int((label == UNKNOWN).sum())}
    return row_of_word | counts | unknown | {"warning": write_cell([too_few or flag])}


def _too_few(counts: Mapping[str, int], totals: Mapping[str, int], smallest_size: int) -> Flag | None:
    """Return a flag if too few images have or lack a word for it to be learnt or tested, otherwise None.

    counts: number of images with the word, by split. totals: number of images for which the label is known, by split.
    """
    numbers = (
        (Kind.FEW_TRAINING_WITH, counts["train"], smallest_size),
        (Kind.FEW_TRAINING_WITHOUT, totals["train"] - counts["train"], smallest_size),
        (Kind.FEW_TEST_WITH, counts["test"], 1),
        (Kind.FEW_TEST_WITHOUT, totals["test"] - counts["test"], 1),
    )
    return next((Flag(kind, n) for kind, n, least in numbers if n < least), None)


def _of_one_group(label: np.ndarray, in_split: Mapping[str, np.ndarray], groups: pd.Series | None) -> Flag | None:
    """Return a flag if training images with a word, or without it, are in fewer than two groups, otherwise None."""
    if groups is None:
        return None
    sides = (groups[in_split["train"] & (label == side)] for side in (1, 0))
    return Flag(Kind.ONE_GROUP) if min(side.nunique() for side in sides) < 2 else None


def _require_words(
    kept: Sequence[Any], refused: Sequence[Mapping[str, Any]], n_words: int | str, smallest_size: int
) -> None:
    """Raise ValueError if too few words remain, and warn if there are fewer words than requested."""
    first = "".join(f" ({row['word']!r} is {row['warning']})" for row in refused[:1])
    require(
        len(kept) >= FEWEST_WORDS,
        f"at least {FEWEST_WORDS} words must have {smallest_size} training images (the smallest of sizes) and a test "
        f"image each, and as many images must lack the word, got {len(kept)} such words{first}: choose smaller sizes "
        "or a larger n_words",
    )
    n_found = len(kept) + len(refused)
    if isinstance(n_words, int) and n_found < n_words:
        warnings.warn(f"n_words is {n_words}, but the training captions hold {n_found} content words", stacklevel=3)


def one_label(images: pd.DataFrame, captions: pd.DataFrame, label: str | None = None) -> tuple[str, np.ndarray]:
    """Return a label and a vector that says which samples have it. The default is the most frequent training label.

    Parameters
    ----------
    images : table
        Columns `image` and `split`.
    captions : table
        Columns `image` and `caption`. A caption is a whole label.
    label : str or None
        The label. If None, it is the most frequent label of the training samples.

    Returns
    -------
    label : str
    y : array, (n_images,)
        +1 if the sample has the label, otherwise -1.

    Raises
    ------
    ValueError
        If all training samples have the label, if none has it, or if it is unknown whether a sample has it.

    >>> import pandas as pd
    >>> images = pd.DataFrame({"image": list("abc"), "split": "train"})
    >>> one_label(images, pd.DataFrame({"image": list("abb"), "caption": ["grain", "grain", "tea"]}))
    ('grain', array([ 1.,  1., -1.]))
    """
    if label is None:
        label = choose_words(images, captions, n_words=1, split_captions=False)[0]["word"].iloc[0]
    with_it = captions["image"][captions["caption"].map(normalised) == normalised(label)]
    if "known" in captions:
        require(
            captions.loc[with_it.index, "known"].all(),
            f"label must be known for every sample, got {label!r}, which is unknown for some samples",
        )
    has_it = images["image"].isin(with_it).to_numpy()
    in_training = has_it[(images["split"] == "train").to_numpy()]
    require(
        in_training.any() and not in_training.all(),
        f"some training samples must have the label and others must not, got {label!r}, which {in_training.sum()} of "
        f"{len(in_training)} have",
    )
    return label, np.where(has_it, 1.0, -1.0)


def classes(images: pd.DataFrame, captions: pd.DataFrame) -> np.ndarray:
    """Return the only label of each sample, as a text array (n_images,).

    images: a table with the column `image`. captions: a table with the columns `image` and `caption`, whose captions
    are whole labels. Raises ValueError if a sample does not have exactly one label.

    >>> import pandas as pd
    >>> images = pd.DataFrame({"image": list("abc")})
    >>> classes(images, pd.DataFrame({"image": list("cab"), "caption": ["1", "0", "0"]})).tolist()
    ['0', '0', '1']
    """
    of_image = captions.groupby("image")["caption"].agg(["size", "first"]).reindex(images["image"])
    for image, number in of_image["size"][of_image["size"] != 1].fillna(0).items():
        raise ValueError(f"each sample must have exactly one label, its class, got {number:.0f} for {image!r}")
    return of_image["first"].map(normalised).to_numpy(dtype=str)


def names_of(words: pd.DataFrame, labels: np.ndarray) -> list[str]:
    """Return the names of the words in the order of the label columns.

    words, labels: the results of `choose_words`. Raises Misfit if the counts of images per word in `words` differ from
    those in `labels`.
    """
    words = words[[not kinds_in(cell) & LEFT_OUT for cell in words["warning"]]]
    require(
        labels.ndim == 2
        and labels.dtype in (bool, np.int8)
        and words["images"].tolist() == (labels == 1).sum(axis=0).tolist(),
        f"labels must belong to the words in the table, {', '.join(words['word'])}, got labels of other words",
        Misfit,
    )
    return words["word"].tolist()
