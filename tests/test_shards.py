"""Shards: a name alone determines its shard, and all vocabularies share one pass over the descriptors."""

import numpy as np
import pytest
from scipy import sparse

from jointsparse.features import shards

NAMES = [f"{i:04}.jpg" for i in range(1000)]


def test_shards_depend_on_the_name_alone_and_have_about_the_same_size():
    parts = [shards.part(NAMES, shard, 7) for shard in range(7)]
    assert sorted(name for part in parts for name in part) == NAMES
    for shard, part in enumerate(parts):
        assert shards.part(NAMES[250:], shard, 7) == [name for name in part if name in NAMES[250:]]
        assert len(part) < 1.3 * len(NAMES) / 7


def test_an_additional_name_changes_at_most_one_of_the_drawn_names():
    before, after = (shards.drawn(names, 100, seed=3) for names in (NAMES[:-1], NAMES))
    assert len(before) == 100 and before == sorted(before) and len({*before} - {*after}) <= 1
    assert before != shards.drawn(NAMES[:-1], 100, seed=4) and shards.drawn(NAMES, 5000, seed=3) == NAMES


def test_a_sample_has_the_same_number_of_descriptors_of_each_picture_in_their_order():
    pictures = [np.array([(image, i) for i in range(n)]).reshape(-1, 2) for image, n in enumerate([3, 1, 0, 50, 20])]
    drawn = shards.sample(iter(pictures), 5, 48, rng=np.random.default_rng(0))
    assert np.bincount(drawn[:, 0].astype(int)).tolist() == [3, 1, 0, 10, 10]
    assert drawn.tolist() == sorted(drawn.tolist()) and len(np.unique(drawn, axis=0)) == len(drawn)
    with pytest.raises(ValueError, match="fitted_on must name splits that hold images, got none"):
        shards.sample([], 0, 48, rng=np.random.default_rng(0))


def test_one_pass_computes_the_rows_for_every_vocabulary():
    album, seen = [np.full((1 + i % 3, 2), i) for i in range(70)], []

    def words(descriptors, counts):
        seen.append(len(counts))
        ends = np.cumsum(counts)
        return sparse.csr_matrix([descriptors[a:b].sum(axis=0) for a, b in zip(ends - counts, ends, strict=True)])

    blocks = shards.encode(iter(album), {"a": words, "b": lambda *block: 2 * words(*block)})
    once, twice = (sparse.vstack(blocks[name]).toarray() for name in "ab")
    np.testing.assert_array_equal(once, [picture.sum(axis=0) for picture in album])
    np.testing.assert_array_equal(twice, 2 * once)
    assert seen == [32, 32, 32, 32, 6, 6]  # only a few pictures are in memory at a time
