"""Vocabulary trees agree with slow versions and depend only on the seed; shards of pictures share one pass."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from jointsparse.features import shards, vocabulary_tree
from jointsparse.features.vocabulary_tree import Tree, encode, grow, inverse_frequencies, quantise, require_tree, weigh


def points(n, length=12, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, length)).astype(np.uint8)


FULL = {"branching": 3, "depth": 3, "min_points": 3, "seed": 0}
BRIGHT = np.full((200, 12), 255, np.uint8)
# Equal descriptors, a small cluster, and the rest.
CLUSTERS = np.concatenate([points(600) // 4, BRIGHT, 128 + points(15, seed=1) // 32])
TREES = {
    "full": lambda: grow(points(2000), **FULL),  # 3 + 9 + 27 words
    "with leaves on every level": lambda: grow(CLUSTERS, **FULL | {"min_points": 20}),
    "with ties": lambda: Tree(
        np.repeat([[0], [9], [200], [200]], 12, axis=1).astype(np.float32),
        *np.array([[1, 0, 0, 0], [3, 0, 0, 0], [0, 1, 1, 1]], np.int32),
    ),
}
tree_of = cache(lambda name="full": TREES[name]())


def greedy_path(tree, descriptor):
    """Return the path from the root that always continues to the nearest child, padded with -1 to the tree's depth."""
    path, node = [], 0
    while tree.n_children[node] > 0:
        children = tree.first_child[node] + np.arange(tree.n_children[node])
        distances = ((tree.centres[children].astype(np.float64) - descriptor) ** 2).sum(axis=1)
        node = int(children[np.argmin(distances)])
        path.append(node)
    return path + [-1] * (tree.depth - len(path))


@pytest.mark.parametrize("name", TREES)
def test_paths_are_greedy_and_histograms_count_them(name, monkeypatch):
    monkeypatch.setattr(vocabulary_tree, "IMAGES_ENCODED_AT_ONCE", 3)
    tree = tree_of(name)
    require_tree(tree)  # its nodes are numbered level by level, with the children of a node in a row
    descriptors = np.concatenate([points(500, seed=2), points(200, seed=3) // 4, BRIGHT[:3]])
    paths = [greedy_path(tree, x) for x in descriptors]
    np.testing.assert_array_equal(quantise(tree, descriptors), np.array(paths, np.int32), strict=True)
    counts = np.array([0, 7, 600, 0, 90, 6, 0])
    parts = np.split(paths, np.cumsum(counts)[:-1])
    expected = [[np.sum(part == word + 1) for word in range(tree.n_words)] for part in parts]
    got = encode(tree, descriptors, counts)
    assert isinstance(got, sparse.csr_matrix) and got.has_canonical_format
    np.testing.assert_array_equal(got.toarray(), np.array(expected, np.int32), strict=True)


def test_clusters_that_are_far_apart_become_words_at_their_means():
    clusters = [30 * k + points(20 + k, seed=k) // 64 for k in range(8)]
    tree = grow(np.concatenate(clusters), branching=8, depth=1, min_points=sum(map(len, clusters)), seed=0)
    got, expected = tree.centres[1:], [cluster.mean(axis=0) for cluster in clusters]
    np.testing.assert_allclose(got[np.argsort(got[:, 0])], expected, atol=1 / 256)


def test_each_of_a_few_similar_descriptors_becomes_a_word():
    for first in (1, 60):  # many equal descriptors come first
        descriptors = np.repeat(np.eye(5, 12, dtype=np.uint8), [first, 1, 1, 1, 1], axis=0)
        options = {"descriptors": descriptors, "branching": 5, "depth": 1, "min_points": 5}
        assert [grow(**options, seed=seed).n_words for seed in range(20)] == [5] * 20


def test_tree_depends_on_descriptors_and_seed_alone():
    assert tree_of().centres.sum(dtype=float) == 59426.8828125  # whole numbers of 1 / 128, the same on every processor
    readonly = np.broadcast_to(points(2000), (2000, 12))
    np.testing.assert_equal(tuple(grow(readonly, **FULL)), tuple(tree_of()))
    assert not np.array_equal(grow(readonly, **FULL | {"seed": 1}).centres, tree_of().centres)


@cache
def counts_of_four():
    counts = encode(tree_of(), points(90, seed=5), np.array([50, 0, 38, 2]))
    counts.data[::5] = 0  # a word that is stored with a count of 0 does not occur
    return counts


@pytest.mark.parametrize("weighting", vocabulary_tree.WEIGHTINGS)
def test_weights_follow_their_formula_and_each_level_has_unit_norm(weighting, monkeypatch):
    monkeypatch.setattr(vocabulary_tree, "IMAGES_AT_ONCE", 3)
    counts, fitted = counts_of_four(), np.array([0, 1, 3])
    dense = counts.toarray().astype(float)
    having = (dense[fitted] > 0).sum(axis=0)
    idf = np.where(having > 0, np.log(3 / np.maximum(having, 1)), 0)
    expected = {"count": dense, "sqrt": np.sqrt(dense), "tf-idf": dense * idf}[weighting]
    options = {"weighting": weighting, "idf": inverse_frequencies(counts[fitted])}
    raw = weigh(counts, tree_of(), **options, normalise=False)
    assert raw.dtype == np.float32
    np.testing.assert_allclose(raw.toarray(), expected, rtol=1e-6)
    for level in (1, 2, 3):
        part = expected[:, tree_of().level[1:] == level]
        part /= np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-30)
        got = weigh(counts, tree_of(), **options).toarray()[:, tree_of().level[1:] == level]
        np.testing.assert_allclose(got, part, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [
        (grow, {"branching": 1}, "branching must be a whole number of at least 2, got 1"),
        (grow, {"depth": 0}, "depth must be a whole number of at least 1, got 0"),
        (grow, {"min_points": 0}, "min_points must be a whole number of at least 1, got 0"),
        (grow, {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        (grow, {"branching": 200}, "at least 200 rows .* got 100 rows"),
        (grow, {"min_points": 101}, "at least 101 rows .* got 100 rows"),
        (grow, {"descriptors": np.repeat(points(9), 20, axis=0)}, "10 of them distinct"),
        (encode, {"descriptors": np.zeros((5, 12), np.float32)}, "must be uint8"),
        (encode, {"descriptors": np.zeros((5, 11), np.uint8)}, "tree's length 12, got 11"),
        (encode, {"counts_per_image": np.array([3, 3])}, "must sum to the 5 descriptors, got 6"),
        (encode, {"counts_per_image": np.array([6, -1])}, "integers of at least 0"),
        (weigh, {"weighting": "log"}, "one of count, sqrt, tf-idf, got 'log'"),
        (weigh, {"weighting": "tf-idf", "idf": np.ones(3)}, r"idf must have shape \(39,\), got \(3,\)"),
        (
            weigh,
            {"counts": sparse.csr_matrix((4, 38), dtype=np.int32)},
            "one column for each of the tree's 39 words, got 38",
        ),
    ],
)
def test_invalid_arguments_raise(call, options, message):
    arguments = {
        grow: {"descriptors": points(100), "seed": 0},
        encode: {"tree": tree_of(), "descriptors": points(5), "counts_per_image": np.array([5])},
        weigh: {"tree": tree_of(), "counts": counts_of_four()},
    }
    with pytest.raises(ValueError, match=message):
        call(**arguments[call] | options)


# Shards


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


def test_a_sample_has_equally_many_descriptors_of_each_picture_or_all_in_their_order():
    pictures = [np.array([(image, i) for i in range(n)]).reshape(-1, 2) for image, n in enumerate([3, 1, 0, 50, 20])]
    drawn = shards.sample(iter(pictures), 5, 48, rng=np.random.default_rng(0))  # 48 / 5, rounded up to 10
    assert np.bincount(drawn[:, 0].astype(int)).tolist() == [3, 1, 0, 10, 10]
    assert drawn.tolist() == sorted(drawn.tolist()) and len(np.unique(drawn, axis=0)) == len(drawn)
    with pytest.raises(ValueError, match="fitted_on must name splits that hold images, got none"):
        shards.sample([], 0, 48, rng=np.random.default_rng(0))


def test_one_pass_computes_the_rows_for_every_vocabulary():
    album, seen = [np.full((1 + i % 3, 2), i) for i in range(70)], []

    def words(descriptors, counts):
        seen.append(len(counts))
        return sparse.csr_matrix(np.add.reduceat(descriptors, np.cumsum(counts) - counts))

    blocks = shards.encode(iter(album), {"a": words, "b": lambda *block: 2 * words(*block)})
    once, twice = (sparse.vstack(blocks[name]).toarray() for name in "ab")
    np.testing.assert_array_equal(once, [picture.sum(axis=0) for picture in album])
    np.testing.assert_array_equal(twice, 2 * once)
    assert seen == [32, 32, 32, 32, 6, 6]  # only a few pictures are in memory at a time
