"""Descriptors of many images, a shard at a time, so that memory stays bounded."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jointsparse.checks import Misfit, require


def part(items: Sequence[Any], shard: int, n_shards: int) -> Sequence[Any]:
    """The items of one shard. All shards together are all items in order, and sizes differ by at most one.

    >>> [part(range(5), shard, 2) for shard in range(2)]
    [range(0, 2), range(2, 5)]
    """
    return items[len(items) * shard // n_shards : len(items) * (shard + 1) // n_shards]


def describe(
    images: Sequence[str],
    picture: Callable[[str], np.ndarray],
    extract: Callable[[np.ndarray], np.ndarray],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Describe images one after the other.

    Parameters
    ----------
    images : sequence of str
        Names of the images, at least one.
    picture : function
        Opens an image by name.
    extract : function
        Returns the descriptors of an open image.
    progress : function or None
        Called as `progress(done, total)` after each image.

    Returns
    -------
    descriptors : array, shape (n_descriptors, length)
        Descriptors of all images, one below the other.
    counts : array, shape (n_images,)
        Number of descriptors of each image.
    """
    require(len(images), "shards must be at most the number of images, got a shard without any")
    found = []
    for i, image in enumerate(images):
        found.append(extract(picture(image)))
        if progress:
            progress(i + 1, len(images))
    return np.concatenate(found), np.array([len(descriptors) for descriptors in found], dtype=np.int64)


def sample(
    descriptors: Sequence[np.ndarray],
    counts: Sequence[np.ndarray],
    wanted: np.ndarray,
    size: int,
    *,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw descriptors of the wanted images, without replacement and in their order.

    The result does not depend on how images are put into shards.

    Parameters
    ----------
    descriptors : sequence of arrays, shape (n_descriptors, length)
        Descriptors of each shard, which may be memory-mapped.
    counts : sequence of integer arrays
        Number of descriptors of each image, by shard.
    wanted : array, shape (n_images,), bool
        Images to draw from, over all shards.
    size : int
        Number of descriptors to draw. All are taken if there are fewer.
    rng : Generator
        Source of the draw.

    Returns
    -------
    drawn : array, shape (at most size, length)
    """
    per_image = np.concatenate([np.ravel(shard) for shard in counts])
    require(len(per_image) == len(wanted), f"counts must be of {len(wanted)} images, got {len(per_image)}", Misfit)
    wanted_ends = np.cumsum(np.where(wanted, per_image, 0))  # among the descriptors of the wanted images
    require(wanted_ends[-1], "fitted_on must name splits that hold images with descriptors, got none")
    # Numbers, not a list to draw from: there are thousands of descriptors per image.
    drawn = np.sort(rng.choice(wanted_ends[-1], min(size, wanted_ends[-1]), replace=False))
    image = np.searchsorted(wanted_ends, drawn, side="right")
    chosen = drawn - wanted_ends[image] + np.cumsum(per_image)[image]
    ends = np.cumsum([len(shard) for shard in descriptors])
    rows = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    starts = np.concatenate(([0], ends[:-1]))
    return np.concatenate(
        [shard[r - start] for shard, r, start in zip(descriptors, rows, starts, strict=True) if len(r)]
    )
