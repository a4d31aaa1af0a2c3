"""Many pictures in bounded memory: a sample of them to learn words from, and histograms of a shard at a time."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

import numpy as np
from scipy import sparse

from jointsparse.checks import require

IMAGES_AT_ONCE = 32  # whose descriptors are held: of 320 x 240 pixels, 12 MB


def number(name: str) -> int:
    """A number that the name alone decides, between 0 and 2^64 - 1."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest())


def part(names: Sequence[str], shard: int, n_shards: int) -> list[str]:
    """The names of one shard, in their order. A name's shard does not depend on other names.

    >>> [part(["fig", "kiwi", "lime", "plum"], shard, 2) for shard in range(2)]
    [['fig', 'lime', 'plum'], ['kiwi']]
    """
    return [name for name in names if number(name) % n_shards == shard]


def drawn(names: Sequence[str], n: int, seed: int) -> list[str]:
    """At most n of the names, in their order. One name more changes at most one of them.

    >>> drawn(["fig", "kiwi", "lime", "plum"], 2, seed=0)
    ['fig', 'lime']
    """
    return sorted(sorted(names, key=lambda name: number(f"{seed} {name}"))[:n])


def sample(described: Iterable[np.ndarray], n: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
    """Draw about as many descriptors of each picture, without replacement and in their order.

    Parameters
    ----------
    described : iterable of arrays, shape (n_descriptors, length)
        Descriptors of each picture, of which those of one are held at a time.
    n : int
        Number of pictures.
    size : int
        Number of descriptors to draw, rounded up to the same of each picture. All are taken of one that has fewer.
    rng : Generator
        Source of the draw.

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
    """Make histograms of pictures in several vocabularies, in one pass over their descriptors.

    described: descriptors of each picture, (n_descriptors, length). words: by name of a vocabulary, a function from the
    descriptors of some pictures, one below the other, and how many each has, to their rows. Returns, by name, blocks of
    rows that follow each other.
    """
    rows: dict[str, list[sparse.csr_matrix]] = {name: [] for name in words}
    remaining = iter(described)
    while block := list(islice(remaining, IMAGES_AT_ONCE)):
        descriptors, counts = np.concatenate(block), np.array([len(picture) for picture in block], dtype=np.int64)
        for name, histograms_of in words.items():
            rows[name].append(histograms_of(descriptors, counts))
    return rows
