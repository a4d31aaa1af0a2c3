"""Sampling of descriptors, and histograms of words, for many pictures in bounded memory."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

import numpy as np
from scipy import sparse

from jointsparse.checks import require

IMAGES_AT_ONCE = 32  # pictures whose descriptors are in memory together: 12 MB for 320 x 240 pixels


def number(name: str) -> int:
    """Return a hash of the name as an integer between 0 and 2^64 - 1."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest())


def part(names: Sequence[str], shard: int, n_shards: int) -> list[str]:
    """Return the names that belong to one shard, in the given order. A name's shard does not depend on the other names.

    >>> [part(["fig", "kiwi", "lime", "plum"], shard, 2) for shard in range(2)]
    [['fig', 'lime', 'plum'], ['kiwi']]
    """
    return [name for name in names if number(name) % n_shards == shard]


def drawn(names: Sequence[str], n: int, seed: int) -> list[str]:
    """Draw at most n of the names, and return them sorted. An additional name changes at most one of the drawn names.

    >>> drawn(["fig", "kiwi", "lime", "plum"], 2, seed=0)
    ['fig', 'lime']
    """
    return sorted(sorted(names, key=lambda name: number(f"{seed} {name}"))[:n])


def sample(described: Iterable[np.ndarray], n: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
    """Draw the same number of descriptors from every picture, without replacement, and keep their order.

    Parameters
    ----------
    described : iterable of arrays, shape (n_descriptors, length)
        Descriptors of each picture. Only one of these arrays is held in memory at a time.
    n : int
        Number of pictures.
    size : int
        Number of descriptors to draw in total, rounded up to a multiple of n. A picture that has too few descriptors
        contributes all of them.
    rng : Generator
        Random generator that draws the descriptors.

    Returns
    -------
    drawn : array, shape (about size, length)
    """
    require(n, "fitted_on must name splits that hold images, got none")
    n_each = -(-size // n)
    return np.concatenate(
        [
            descriptors[np.sort(rng.choice(len(descriptors), min(n_each, len(descriptors)), replace=False))]
            for descriptors in described
        ]
    )


def encode(
    described: Iterable[np.ndarray], words: Mapping[str, Callable[[np.ndarray, np.ndarray], sparse.csr_matrix]]
) -> dict[str, list[sparse.csr_matrix]]:
    """Compute the histograms of pictures for several vocabularies, in one pass over the descriptors.

    described: one array of descriptors per picture, (n_descriptors, length). words: maps each vocabulary's name to a
    function that takes the concatenated descriptors of some pictures and the number of descriptors of each picture, and
    returns one row per picture. The result maps each vocabulary's name to a list of consecutive blocks of rows.
    """
    rows: dict[str, list[sparse.csr_matrix]] = {name: [] for name in words}
    remaining = iter(described)
    while block := list(islice(remaining, IMAGES_AT_ONCE)):
        descriptors, counts = np.concatenate(block), np.array([len(picture) for picture in block], dtype=np.int64)
        for name, histograms_of in words.items():
            rows[name].append(histograms_of(descriptors, counts))
    return rows
