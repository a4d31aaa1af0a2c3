"""Shards: a name alone decides its shard, and one pass over the descriptors serves every vocabulary."""

import numpy as np
import pytest
from scipy import sparse

from jointsparse.features import shards

NAMES = [f"{i:04}.jpg" for i in range(1000)]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_names_shard_depends_on_no_other_name_and_shards_are_about_equally_large(n):
    parts = [shards.part(NAMES, shard, n) for shard in range(n)]
    assert sorted(name for part in parts for name in part) == NAMES
    assert [shards.part(NAMES[:500], shard, n) for shard in range(n)] == [
        [name for name in part if name in NAMES[:500]] for part in parts
    ]
    assert max(map(len, parts)) < 1.3 * len(NAMES) / n


def test_one_name_more_changes_one_of_those_that_are_drawn_at_most():
    before, after = (shards.drawn(names, 100, seed=3) for names in (NAMES[:-1], NAMES))
    assert len(before) == 100 and before == sorted(before) and len({*before} - {*after}) <= 1
    assert before != shards.drawn(NAMES[:-1], 100, seed=4) and shards.drawn(NAMES, 5000, seed=3) == NAMES


def pictures():
    """Descriptors of some pictures: each row holds the number of its picture and its number there."""
    return [
        np.array([(image, i) for i in range(n)], dtype=int).reshape(-1, 2) for image, n in enumerate([3, 1, 0, 50, 20])
    ]


def test_a_sample_has_as_many_descriptors_of_each_picture_in_their_order():
    drawn = shards.sample(iter(pictures()), 5, 48, rng=np.random.default_rng(0))
    assert np.bincount(drawn[:, 0]).tolist() == [3, 1, 0, 10, 10]
    assert drawn.tolist() == sorted(drawn.tolist()) and len(np.unique(drawn, axis=0)) == len(drawn)
    with pytest.raises(ValueError, match="fitted_on must name splits that hold images, got none"):
        shards.sample([], 0, 48, rng=np.random.default_rng(0))


def test_one_pass_makes_the_rows_of_every_vocabulary():
    album, seen = [np.full((1 + i % 3, 2), i) for i in range(70)], []

    def words(descriptors, counts):
        seen.append(len(counts))
        ends = np.cumsum(counts)
        return sparse.csr_matrix([descriptors[a:b].sum(axis=0) for a, b in zip(ends - counts, ends, strict=True)])

    blocks = shards.encode(iter(album), {"a": words, "b": lambda *given: 2 * words(*given)})
    once, twice = (sparse.vstack(blocks[name]).toarray() for name in "ab")
    np.testing.assert_array_equal(once, [one.sum(axis=0) for one in album])
    np.testing.assert_array_equal(twice, 2 * once)
    assert seen == [32, 32, 32, 32, 6, 6]  # those of a few pictures are held at a time
