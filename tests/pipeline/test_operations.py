"""Counted operations: the twins project as the library does, and their counts are those counted by hand."""

import numpy as np
import pytest

from jointsparse.learning.l1_sparse import SparseL1Ball
from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi import operations

SMALL = {"sizes": [10, 30], "touched": [2, 5], "non_zeros": [20, 40]}


def table_of(seed=0, **options):
    return operations.run(None, rng=np.random.default_rng(seed), **SMALL | options)


class Draws:
    """A generator whose whole numbers are given."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def integers(self, high):
        assert self.numbers[0] < high
        return self.numbers.pop(0)


def test_a_row_for_each_count_and_the_same_twice():
    done = []
    table = table_of(progress=lambda i, of: done.append((i, of)))
    assert list(table) == ["part", "x", "n", "k", "method", "operations"]
    assert table.drop(columns="operations").to_numpy().tolist() == [
        *(["dimension", n, n, n, "pivot"] for n in (10, 30)),
        *(["touched", k, n, k, "tree"] for n in (20, 40) for k in (2, 5)),
    ]
    assert table["operations"].tolist() == [22.25, 77.3, 50, 124, 66, 140]  # as counted when tables were published
    assert done == [(i, 6) for i in range(1, 7)]
    assert table.equals(table_of()) and not table.equals(table_of(seed=1))


@pytest.mark.parametrize(
    ("pivots", "compared"),
    [
        ([0, 0, 0], 4 + 3 + 2),  # 4 is above Theta and leaves, then 3; 2 is not, and none above it is left
        ([1, 0], 4 + 2),  # 4 and 3 leave at once
        ([3, 2, 0, 0], 4 + 3 + 2 + 1),  # 1 is below Theta and leaves, then 2, and then 4 and 3 from above
    ],
)
def test_entries_compared_with_each_pivot_are_counted(pivots, compared):
    """Theta is 2.5: (4 - 2.5) + (3 - 2.5) = 2."""
    assert operations.pivot(np.array([4.0, 3.0, 2.0, 1.0]), 2.0, Draws(*pivots)) == (2.5, compared)


@pytest.mark.parametrize("n", [1, 2, 3000])
@pytest.mark.parametrize("share", [1e-3, 0.9])
def test_the_pivot_projects_as_the_library_does(n, share):
    rng = np.random.default_rng(n)
    v = np.abs(rng.normal(size=n))
    theta, compared = operations.pivot(v, share * v.sum(), rng)
    np.testing.assert_allclose(np.maximum(v - theta, 0), l1.project(v, share * v.sum()), rtol=0, atol=1e-12)
    assert n <= compared <= n * (n + 1) / 2


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_the_tree_moves_as_the_library_does(scale):
    rng = np.random.default_rng(3)
    start = rng.normal(size=60)
    tree, ball = operations.Tree(start, rng), SparseL1Ball(60, l1.norm(start), start)
    for _ in range(30):
        indices, values = rng.choice(60, 8, replace=False), scale * rng.normal(size=8)
        tree.add(indices, values)
        ball.add(indices, values)
        np.testing.assert_allclose(tree.toarray(), ball.toarray(), rtol=0, atol=1e-10)
    assert tree.root.size == ball.count_nonzero()
    assert scale < 1 or ball.count_nonzero() < 60  # zeros have left


def test_a_tree_of_one_node_is_visited_as_counted_by_hand():
    """Twice to take the node out: the split before it meets it, that behind it too. Then the pivot, and the zeros."""
    tree = operations.Tree(np.array([-2.0]), np.random.default_rng(0))
    tree.add(np.array([0]), np.array([-1.0]))
    assert (tree.toarray().tolist(), tree.visits) == ([-2.0], 4)
