"""Sparse updates in the l1 ball: the point always equals the one from updating and projecting the whole vector."""

from operator import methodcaller

import numpy as np
import oracles
import pytest

from jointsparse.learning.l1_sparse import SparseL1Ball
from jointsparse.norms import l1


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e250])
@pytest.mark.parametrize("radius", [0.01, 1.0, 30.0, np.inf])
def test_each_update_gives_the_projection_of_the_whole_updated_vector(rng, radius, scale):
    """The same sequence of updates in extended precision, each with a projection of the whole vector, is the oracle."""
    exact = rng.normal(size=300) * scale
    ball, exact = SparseL1Ball(300, radius * scale, exact), oracles.project_l1(exact, radius * scale)
    for indices, values in [
        *((rng.integers(0, 300, 7), rng.standard_t(1.5, size=7) * 0.1 * scale) for _ in range(500)),
        *((rng.integers(0, 300, 9), rng.integers(-2, 3, 9) / 8 * scale) for _ in range(100)),  # ties
        *((rng.integers(0, 3, 2), rng.choice([1e3, -1e9], 2) * scale) for _ in range(20)),  # an entry dwarfs all others
    ]:
        np.add.at(exact, indices, values)
        largest, exact = np.abs(exact).max(), oracles.project_l1(exact, ball.radius)
        ball.add(indices, values)
        got = ball.toarray()
        assert np.abs(got - exact).max() <= 1e-13 * largest
        assert ball.count_nonzero() == np.count_nonzero(got) and ball.norm() == np.abs(got).sum()
        np.testing.assert_array_equal(ball.take([*indices, 0, 0]), got[[*indices, 0, 0]])


def test_the_first_point_is_projected_and_a_point_inside_the_ball_is_not_changed(rng):
    w = rng.normal(size=500)
    np.testing.assert_array_equal(SparseL1Ball(500, 3.0, w).toarray(), l1.project(w, 3.0))
    ball = SparseL1Ball(500, 1e3, w)
    ball.add([3, 7], [0.25, -0.5])
    np.testing.assert_array_equal(np.flatnonzero(ball.toarray() != w), [3, 7])
    assert (len(SparseL1Ball(0, 1.0, [])), SparseL1Ball(0, 1.0).norm()) == (0, 0.0)


@pytest.mark.parametrize(
    ("radius", "updates", "expected"),
    [
        (10.0, [([1, 2, 1, 1], [1.0, 2.0, 3.0, -0.5])], [0, 3.5, 2]),  # duplicates add up
        (10.0, [([1, 2], [1.0, 2.0]), ([1], [-1.0])], [0, 0, 2]),  # an entry becomes 0 again
        (0.0, [([0, 1, 2], [1.0, 2.0, 3.0]), ([0], [1.0])], [0, 0, 0]),
        (1.0, [([0, 1, 2], [0.5, 0.25, 0.25]), ([1, 2], [1e20, -1e250])], [0, 0, -1]),  # an entry dwarfs all others
        (1.0, [([1, 2], [1e20, -1e250]), ([0], [0.5])], [0.25, 0, -0.75]),
        (np.inf, 10 * [([i], [2.0**900]) for i in range(3)], [10 * 2.0**900] * 3),  # far beyond single precision
        (2.0**900, 10 * [([i], [2.0**900]) for i in (0, 0, 0)], [2.0**900, 0, 0]),
    ],
)
def test_updates_of_a_sparse_ball_are_those_by_hand(radius, updates, expected):
    ball = SparseL1Ball(3, radius)
    for indices, values in updates:
        ball.add(indices, values)
    np.testing.assert_array_equal(ball.toarray(), expected)


VECTORS = r"indices must be a vector of integers and values a vector of the same length, got "


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: SparseL1Ball(2**31, 1.0), "n must be a whole number from 0 to 2147483646, got 2147483648$"),
        (lambda _: SparseL1Ball(2, 1e308), r"radius must be at most 2\^900 or infinite, got 1e\+308$"),
        (lambda _: SparseL1Ball(2, np.inf, [1e308] * 2), r"the sum of the magnitudes of point must be at most 2\^900$"),
        (lambda _: SparseL1Ball(2, -1.0), r"radius must be at least 0, got -1\.0$"),
        (lambda _: SparseL1Ball(2, 1.0, [1.0]), r"point must have shape \(2,\), got \(1,\)$"),
        (lambda _: SparseL1Ball(2, 1.0, [1.0, np.nan]), r"point must be finite, got nan at \(1,\)$"),
        *((methodcaller("take", [0, bad]), rf"indices must be in 0\.\.4, got {bad}$") for bad in (-1, 5)),
        *((methodcaller("add", [0, bad], [1.0, 1.0]), rf"indices must be in 0\.\.4, got {bad}$") for bad in (-1, 5)),
        (methodcaller("add", [0.0], [1.0]), VECTORS + r"float64 \(1,\) and \(1,\)$"),
        (methodcaller("add", [0, 1], [1.0]), VECTORS + r"int64 \(2,\) and \(1,\)$"),
        (methodcaller("add", [0], [1.0, 1.0]), VECTORS + r"int64 \(1,\) and \(2,\)$"),
        (methodcaller("add", [0, 1], [1.0, np.nan]), r"values must be finite, got nan at \(1,\)$"),
        (methodcaller("add", [0, 1], [2.0**900] * 2), r"the sum of the magnitudes of values must be at most 2\^900$"),
    ],
)
def test_invalid_arguments_raise_and_change_nothing(call, message):
    ball = SparseL1Ball(5, 1.0, [0.5, 0.0, 0.0, 0.0, -0.5])
    with pytest.raises(ValueError, match=f"^{message}"):
        call(ball)
    np.testing.assert_array_equal(ball.toarray(), [0.5, 0, 0, 0, -0.5])
