"""Shards: all images once and in order, and a sample that does not depend on the sharding."""

import numpy as np
import pytest

from jointsparse.features import shards


@pytest.mark.parametrize("n_items", [0, 1, 5, 12, 97])
@pytest.mark.parametrize("n_shards", [1, 2, 3, 7, 12])
def test_the_parts_are_all_items_in_order_and_equally_large(n_items, n_shards):
    items = list(range(n_items))
    parts = [shards.part(items, shard, n_shards) for shard in range(n_shards)]
    assert [item for part in parts for item in part] == items
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def pictures():
    """Three pictures by name; their descriptors are their rows."""
    rng = np.random.default_rng(0)
    return {name: rng.integers(0, 256, (n, 4), dtype=np.uint8) for name, n in [("a", 3), ("b", 1), ("c", 5)]}


def test_describe_puts_descriptors_below_each_other_in_the_order_of_the_images_and_counts_them():
    album, seen = pictures() | {"empty": np.empty((0, 4), dtype=np.uint8)}, []
    names = ["c", "a", "empty", "b"]
    descriptors, counts = shards.describe(names, album.get, lambda p: p, progress=lambda *done: seen.append(done))
    np.testing.assert_array_equal(descriptors, np.concatenate([album[name] for name in names]))
    assert (counts.tolist(), seen) == ([5, 3, 0, 1], [(1, 4), (2, 4), (3, 4), (4, 4)])
    assert (descriptors.dtype, counts.dtype) == (np.uint8, np.int64)


def described(n_shards, n_images=20):
    """Descriptors in shards: each row holds the number of its image and its number in the image."""
    counts = np.arange(n_images) % 4
    rows = np.array([(image, i) for image, n in enumerate(counts) for i in range(n)])
    parts = [shards.part(np.arange(n_images), shard, n_shards) for shard in range(n_shards)]
    return [rows[np.isin(rows[:, 0], part)] for part in parts], [counts[part] for part in parts]


WANTED = np.arange(20) % 3 > 0


def sample(n_shards, size, wanted=WANTED, seed=0):
    return shards.sample(*described(n_shards), wanted, size, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("n_shards", [2, 3, 10, 20])
def test_the_sample_does_not_depend_on_sharding(n_shards):
    np.testing.assert_array_equal(sample(n_shards, 9), sample(1, 9))


@pytest.mark.parametrize("size", [1, 5, 13, 10_000])
def test_the_sample_is_drawn_in_order_from_a_list_of_all_wanted_descriptors(size):
    (rows,), _ = described(1)
    candidates = np.flatnonzero(WANTED[rows[:, 0]])
    drawn = np.random.default_rng(3).choice(candidates, min(size, len(candidates)), replace=False)
    np.testing.assert_array_equal(sample(3, size, seed=3), rows[np.sort(drawn)])


NONE = "fitted_on must name splits that hold images with descriptors, got none"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: shards.describe([], pictures().get, lambda picture: picture),
            "shards must be at most the number of images, got a shard without any",
        ),
        (lambda: sample(2, 9, wanted=np.zeros(20, dtype=bool)), NONE),
        (lambda: sample(2, 9, wanted=np.arange(20) % 4 == 0), NONE),  # of images without descriptors
    ],
)
def test_nothing_to_describe_or_to_sample_from_is_refused(call, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()
