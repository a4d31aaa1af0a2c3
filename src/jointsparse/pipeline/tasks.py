"""Draw binary tasks: training sets of each word and size, with two negative images per positive image.

Source: Quattoni et al. 2009, sec. 6, with n positive and 2n negative training images per word, n = 40, 80, …, 640.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointsparse.checks import Misfit, require

if TYPE_CHECKING:
    import pandas as pd

# Choice: values for data other than the papers'. `n_validation_words` and `sizes` may be AUTO.
AUTO = "auto"
WORDS_PER_VALIDATION_WORD = 4  # the paper uses 10 validation words of 40
AUTO_SIZES = (10, 20, 40, 80, 160, 320, 640)  # for `sizes: auto`, up to the paper's largest size
SMALLEST_SIZE = 5  # an additional size for `sizes: {auto: 3}`, because users may have few images


def _first_groups(groups: np.ndarray, n: int) -> np.ndarray:
    """Return the first distinct groups that have at least n images together. groups: the group of each image."""
    names, first, sizes = np.unique(groups, return_index=True, return_counts=True)
    order = np.argsort(first)
    return np.asarray(names[order][np.cumsum(sizes[order]) - sizes[order] < n])


def halves(images: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return masks (n_images,) of the samples to learn from (training and validation) and of the test samples.

    The masks are for experiments in which validation chooses no parameter. images: a table with the column `split`.
    Raises ValueError if one of the masks is empty.
    """
    learn, test = (images["split"].isin(names).to_numpy() for names in (("train", "validation"), ("test",)))
    require(
        learn.any() and test.any(),
        f"there must be samples for training and for testing, got {learn.sum()} and {test.sum()}",
    )
    return learn, test


def thinned(chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a mask (n_images,) of the chosen samples, from which a random tenth of the samples has been removed.

    Without this step, all runs of a method that has no random step would be identical.
    """
    members = rng.permutation(np.flatnonzero(chosen))
    return chosen & ~np.isin(np.arange(len(chosen)), members[: len(members) // 10])


def set_aside(
    split: np.ndarray, numbers: Mapping[str, int], *, rng: np.random.Generator, groups: np.ndarray | None = None
) -> np.ndarray:
    """Move random images of each split to the split "unlabelled", and return the new splits (n_images,).

    Parameters
    ----------
    split : text array, (n_images,)
        The split of each image.
    numbers : mapping
        The number of images to move from each split.
    rng : Generator
        Random generator that draws the images.
    groups : int array, (n_images,), or None
        The group of each image. Whole groups move, until the number is reached.

    Raises
    ------
    ValueError
        If no image would remain in a split.

    References
    ----------
    Quattoni et al. 2008, sec. 5.2, where the basis is computed from images that no task uses.
    """
    result = split.astype(object)
    for name, n in sorted(numbers.items()):
        members = np.flatnonzero(split == name)
        members = rng.permutation(members)
        moved = members[:n]
        if groups is not None:
            moved = members[np.isin(groups[members], _first_groups(groups[members], n))]
        require(
            n == 0 or len(moved) < len(members),
            f"the number of {name} images to set aside must be less than {len(members)}, the number of such images, "
            f"got {n}{' in whole groups' * (groups is not None)}",
        )
        result[moved] = "unlabelled"
    return result


class Tasks(NamedTuple):
    """The training sets of a run.

    Attributes
    ----------
    Y : int8 array, (n_sizes, n_images, n_words)
        +1 for a positive, -1 for a negative, 0 if the image is not in the training set. The sets of a word are nested,
        so that a learning curve shows the effect of n and not the effect of independent draws.
    sizes : int array, (n_sizes,)
        The numbers n of positives.
    validation_words : bool array, (n_words,)
        True for the validation words, whose scores on the validation images choose the radius.
    """

    Y: NDArray[Any]
    sizes: NDArray[Any]
    validation_words: NDArray[Any]

    def each_size(self) -> list[int]:
        """Return the training-set sizes n as a list of int."""
        return [int(n) for n in self.sizes]

    def size_at_most(self, most: int) -> int:
        """Return the largest training-set size that is at most `most`, or the smallest size if all sizes are larger."""
        sizes = self.each_size()
        return max([n for n in sizes if n <= most], default=min(sizes))

    def training_sets(self, n: int | None = None) -> NDArray[Any]:
        """Return the training sets of size `n`, by default of the largest size, with shape (n_images, n_words).

        Raises Misfit if the run has no training sets of size `n`.
        """
        sizes = self.each_size()
        n = max(sizes) if n is None else n
        require(
            sizes.count(n) == 1,
            f"tasks must hold training sets of size {n}, got the sizes {', '.join(map(str, sizes))}",
            Misfit,
        )
        return np.asarray(self.Y[sizes.index(n)])


def auto_sizes(n_positives: np.ndarray, most: int | None = None) -> list[int]:
    """Return the first size in `AUTO_SIZES`, and all other sizes for which half of the words have enough images.

    Parameters
    ----------
    n_positives : int array, (n_words,)
        Number of training images of each word.
    most : int or None
        Maximum number of sizes. If given, the result is the largest of the sizes, and sizes that are 4, 16, … times
        smaller, down to `SMALLEST_SIZE`. If None, all sizes are returned.

    >>> auto_sizes(np.array([10, 25, 90])), auto_sizes(np.array([7, 25, 90]), most=3)
    ([10, 20], [5, 20])
    """
    every = AUTO_SIZES if most is None else (SMALLEST_SIZE, *AUTO_SIZES)
    reached = [n for n in every if n == every[0] or 2 * np.sum(n_positives >= n) >= len(n_positives)]
    return reached if most is None else reached[::-2][:most][::-1]


def draw(
    labels: np.ndarray,
    split: np.ndarray,
    words: Sequence[str],
    *,
    sizes: Sequence[int] | Literal["auto"] | Mapping[str, int],
    negatives_per_positive: int = 2,
    n_validation_words: int | Literal["auto"],
    n_words: int | Literal["auto"] | None = None,
    rng: np.random.Generator,
) -> tuple[Tasks, pd.DataFrame]:
    """Draw the training sets of every word and size, and the words whose validation images choose the radius.

    A word with fewer positives or negatives than requested gets all that there are, and is marked in the column
    `capped`.

    Parameters
    ----------
    labels : array, (n_images, n_words)
        Which image has which word, see `choose_words`. An image whose label for a word is unknown is not in the word's
        training sets.
    split : text array, (n_images,)
        "train", "validation", "test" or "unlabelled".
    words : list of str, (n_words,)
        Names of the words.
    sizes : list of int, at least 1, "auto" or {"auto": most}
        The training-set sizes, as numbers n of positives. For "auto" see `auto_sizes`.
    negatives_per_positive : int, at least 1
        Number of negatives of a word as a multiple of n.
    n_validation_words : int or "auto"
        Number of validation words, at least 1 and less than the number of words. "auto" stands for a quarter of the
        words. Validation words are drawn from the words that some validation images have and others lack; if there are
        too few of these words, all of them are taken.
    n_words : int or "auto", optional
        Requested number of words. If `words` has fewer, `n_validation_words` is reduced in proportion.
    rng : Generator
        Random generator that draws words and images.

    Returns
    -------
    Tasks
        The training sets and the validation words.
    table
        The size of each training set, with the columns `n`, `word`, `positives`, `negatives` and `capped`.

    Raises
    ------
    ValueError
        If there is no word that some validation images have and others lack, which the AUC requires. The other splits
        are checked by `choose_words`.
    """
    import pandas as pd

    n_there = len(words)
    number: Any = n_validation_words
    if n_validation_words == AUTO:
        number = max(1, n_there // WORDS_PER_VALIDATION_WORD)
    elif isinstance(n_words, int) and n_there < n_words:  # keep the proportion
        number = max(1, number * n_there // n_words)
    require(
        0 < number < n_there,
        f"n_validation_words must be between 1 and {n_there - 1} (n_words - 1), got {number}",
    )
    on_validation = labels[split == "validation"]
    able = np.flatnonzero((on_validation == 1).any(axis=0) & (on_validation == 0).any(axis=0))
    require(
        len(able),
        f"the validation split must hold images with and without a word, got {len(on_validation)} images and no such "
        f"word among {', '.join(words)}: make the validation split larger, or choose other words",
    )
    validation_words = np.zeros(n_there, dtype=bool)
    validation_words[rng.choice(able, min(number, len(able)), replace=False)] = True

    train = np.flatnonzero(split == "train")
    if isinstance(sizes, str | Mapping):
        numbers = auto_sizes((labels[train] == 1).sum(axis=0), None if isinstance(sizes, str) else sizes[AUTO])
    else:
        numbers = list(sizes)
    Y = np.zeros((len(numbers), *labels.shape), dtype=np.int8)  # Choice: nested training sets
    table = []
    for k, word in enumerate(words):
        positives = rng.permutation(train[labels[train, k] == 1])
        negatives = rng.permutation(train[labels[train, k] == 0])
        for s, n in enumerate(numbers):
            with_word, without = positives[:n], negatives[: negatives_per_positive * n]
            Y[s, with_word, k], Y[s, without, k] = 1, -1
            capped = len(with_word) < n or len(without) < negatives_per_positive * n
            table.append((n, word, len(with_word), len(without), capped))
    return Tasks(Y, np.array(numbers), validation_words), pd.DataFrame(
        table, columns=["n", "word", "positives", "negatives", "capped"]
    )
