"""Vocabulary trees: paths, histograms and weights agree with slow versions, and trees depend only on the seed."""

import numpy as np
import oracles_features
import pytest
from common import run_python
from scipy import sparse

from jointsparse.features import vocabulary_tree
from jointsparse.features.vocabulary_tree import Tree, encode, grow, quantise, require_tree, weigh


def points(n, length=12, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, length)).astype(np.uint8)


FULL = {"branching": 3, "depth": 3, "min_points": 3, "seed": 0}


@pytest.fixture(scope="module")
def full():
    """A tree of depth 3 with all leaves on the last level: 3 + 9 + 27 words."""
    return grow(points(2000), **FULL)


@pytest.fixture(scope="module")
def early():
    """A tree with leaves on every level, grown from a cluster of equal descriptors, a small cluster, and the rest."""
    rest = points(600) // 4
    cluster = np.full((200, 12), 255, np.uint8)
    small = 128 + points(15, seed=1) // 32
    return grow(np.concatenate([rest, cluster, small]), **FULL | {"min_points": 20})


@pytest.fixture(params=["full", "early"])
def tree(request):
    return request.getfixturevalue(request.param)


def test_paths_are_greedy(tree):
    require_tree(tree)  # its nodes are numbered level by level, with the children of a node in a row
    descriptors = np.concatenate([points(500, seed=2), points(200, seed=3) // 4, np.full((3, 12), 255, np.uint8)])
    expected = np.array([oracles_features.greedy_path(tree, x, 3) for x in descriptors], np.int32)
    np.testing.assert_array_equal(quantise(tree, descriptors), expected, strict=True)


def test_centres_of_the_first_level_are_the_means_of_their_descriptors(full):
    descriptors = points(2000)
    first = quantise(full, descriptors)[:, 0]
    for node in (1, 2, 3):
        got, expected = full.centres[node], descriptors[first == node].mean(axis=0)
        assert np.abs(got - expected).max() < 3  # k-means may stop before it has converged


def test_the_first_of_several_nearest_children_is_taken():
    level = np.array([0, 1, 1, 1], np.int32)
    centres = np.array([[0, 0], [9, 9], [5, 5], [5, 5]], np.float32)
    tree = Tree(centres, np.array([1, 0, 0, 0], np.int32), np.array([3, 0, 0, 0], np.int32), level)
    assert quantise(tree, np.array([[5, 5], [7, 7], [0, 0]], np.uint8)).tolist() == [[2], [1], [2]]


def test_tree_depends_on_descriptors_and_seed_alone(full):
    readonly = points(2000)
    readonly.flags.writeable = False
    np.testing.assert_equal(tuple(grow(readonly, **FULL)), tuple(full))
    assert not np.array_equal(grow(readonly, **FULL | {"seed": 1}).centres, full.centres)


def test_the_random_state_of_a_node_depends_on_its_path(monkeypatch):
    begin, states = vocabulary_tree._begin, []

    def record(points, branching, rng):
        states.append(rng.bit_generator.state["state"]["state"])
        return begin(points, branching, rng)

    monkeypatch.setattr(vocabulary_tree, "_begin", record)
    tree = grow(points(200), **FULL)
    assert len(set(states)) == len(states) == np.count_nonzero(tree.n_children)


@pytest.mark.parametrize("seed", range(3))
def test_a_point_that_is_already_a_centre_is_not_drawn_again(seed):
    zeros_and_a_one = np.repeat([0, 1], [9, 1]).astype(np.int16)[:, np.newaxis]
    centres = vocabulary_tree._begin(zeros_and_a_one, 2, np.random.default_rng(seed))
    assert sorted(centres.ravel()) == [0, 1]


PROGRAM = """
import numpy as np
from jointsparse.features.vocabulary_tree import encode, grow
points = np.minimum(255, np.random.default_rng(0).gamma(0.6, 40, (10_000, 6))).astype(np.uint8)
tree = grow(points, branching=10, depth=3, min_points=20, seed=0)
print((tree.centres.tobytes() + encode(tree, points, np.full(100, 100)).indices.tobytes()).hex())
"""


def test_same_tree_and_histograms_under_each_blas_kernel_and_number_of_threads():
    kernels = [{"OPENBLAS_CORETYPE": name, "OMP_NUM_THREADS": "4"} for name in ("Prescott", "Haswell")]
    got = [run_python("-c", PROGRAM, variables=variables) for variables in kernels]
    assert got[0] == got[1] and len(got[0]) > 2 * 4 * 6 * 1000


def test_progress_counts_up_to_the_total():
    seen = []
    descriptors = np.concatenate([points(300), np.zeros((100, 12), np.uint8)])
    grow(descriptors, **FULL | {"min_points": 5}, progress=lambda *pair: seen.append(pair))
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {400 * 3}
    assert seen[-1] == (400 * 3, 400 * 3)


def test_histograms_agree_with_the_slow_version(tree):
    counts_per_image = np.array([0, 7, 1, 0, 40, 2, 0])
    descriptors = points(50, seed=4) // 2
    got = encode(tree, descriptors, counts_per_image)
    assert isinstance(got, sparse.csr_matrix)
    expected = [
        oracles_features.histogram(tree, [oracles_features.greedy_path(tree, x, 3) for x in part])
        for part in np.split(descriptors, np.cumsum(counts_per_image)[:-1])
    ]
    np.testing.assert_array_equal(got.toarray(), np.array(expected, np.int32), strict=True)


@pytest.mark.parametrize("block", [1, 2, 3])
def test_block_size_and_memory_maps_do_not_change_the_result(full, tmp_path, monkeypatch, block):
    descriptors = points(100)
    counts_per_image = np.array([10, 0, 25, 64, 1])
    expected = encode(full, descriptors, counts_per_image)
    np.save(tmp_path / "descriptors.npy", descriptors)
    mapped = np.load(tmp_path / "descriptors.npy", mmap_mode="r")
    monkeypatch.setattr(vocabulary_tree, "IMAGES_ENCODED_AT_ONCE", block)
    got = encode(full, mapped, counts_per_image)
    assert (got != expected).nnz == 0
    assert got.has_canonical_format


@pytest.fixture
def counts(full):
    made = encode(full, points(90, seed=5), np.array([50, 0, 38, 2]))
    made.data[::5] = 0  # a word that is stored with a count of 0 does not occur
    return made


@pytest.mark.parametrize("weighting", vocabulary_tree.WEIGHTINGS)
def test_weights_follow_their_formula_and_each_level_has_unit_norm(full, counts, weighting):
    fitted, dense = np.array([0, 1, 3]), counts.toarray().astype(float)
    holding = (dense[fitted] > 0).sum(axis=0)
    idf = np.where(holding > 0, np.log(3 / np.maximum(holding, 1)), 0)
    expected = {"count": dense, "sqrt": np.sqrt(dense), "tf-idf": dense * idf}[weighting]
    options = {"weighting": weighting, "idf": vocabulary_tree.inverse_frequencies(counts[fitted])}
    raw = weigh(counts, full, **options, normalise=False)
    assert raw.dtype == np.float32
    np.testing.assert_allclose(raw.toarray(), expected, rtol=1e-6)
    for level in (1, 2, 3):
        part = expected[:, full.level[1:] == level]
        norms = np.linalg.norm(part, axis=1, keepdims=True)
        expected[:, full.level[1:] == level] = part / np.where(norms > 0, norms, 1)
    np.testing.assert_allclose(weigh(counts, full, **options).toarray(), expected, atol=1e-6)


OTHER_TREE = sparse.csr_matrix((4, 38), dtype=np.int32)


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [
        (grow, {"branching": 1}, "branching must be a whole number of at least 2, got 1"),
        (grow, {"depth": 0}, "depth must be a whole number of at least 1, got 0"),
        (grow, {"depth": 1.5}, "depth must be a whole number"),
        (grow, {"min_points": 0}, "min_points must be a whole number of at least 1, got 0"),
        (grow, {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        (grow, {"branching": 200}, "at least 200 rows .* got 100 rows"),
        (grow, {"min_points": 101}, "at least 101 rows .* got 100 rows"),
        (grow, {"descriptors": np.repeat(points(9), 20, axis=0)}, "10 of them distinct"),
        (encode, {"descriptors": np.zeros((5, 12), np.float32)}, "must be uint8"),
        (encode, {"descriptors": np.zeros(12, np.uint8)}, "must be uint8 .* shape"),
        (encode, {"descriptors": np.zeros((5, 11), np.uint8)}, "tree's length 12, got 11"),
        (encode, {"counts_per_image": np.array([3, 3])}, "must sum to the 5 descriptors, got 6"),
        (encode, {"counts_per_image": np.array([6, -1])}, "integers of at least 0"),
        (encode, {"counts_per_image": np.array([2.5, 2.5])}, "integers of at least 0"),
        (weigh, {"weighting": "log"}, "one of count, sqrt, tf-idf, got 'log'"),
        (weigh, {"weighting": "tf-idf"}, r"idf must have shape \(39,\), got \(\)"),
        (weigh, {"weighting": "tf-idf", "idf": np.ones(3)}, r"idf must have shape \(39,\), got \(3,\)"),
        (weigh, {"counts": OTHER_TREE}, "one column for each of the tree's 39 words, got 38"),
    ],
)
def test_invalid_arguments_raise(full, counts, call, options, message):
    arguments = {
        grow: {"descriptors": points(100), "seed": 0},
        encode: {"tree": full, "descriptors": points(5), "counts_per_image": np.array([5])},
        weigh: {"tree": full, "counts": counts},
    }
    with pytest.raises(ValueError, match=message):
        call(**arguments[call] | options)
