"""Sparse updates in the l1 ball: the point always equals the one from updating and projecting the whole vector."""

import runpy
from functools import partial
from pathlib import Path

import numpy as np
import oracles
import pytest

from jointsparse.learning.l1_sparse import SparseL1Ball
from jointsparse.norms import l1

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def follow(ball, updates, tolerance):
    """Compare each update with an update and a projection of the whole vector in extended precision."""
    for indices, values in updates:
        w = ball.toarray()
        np.add.at(w, indices, values)
        ball.add(indices, values)
        expected = oracles.project_l1_vector(w, ball.radius)
        assert np.abs(ball.toarray() - expected).max(initial=0) <= tolerance * max(np.abs(w).max(initial=0), 1e-300)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e250])
@pytest.mark.parametrize("radius", [0.01, 1.0, 30.0])
def test_long_sequences_from_a_full_point(rng, radius, scale):
    n = 300
    ball = SparseL1Ball(n, radius * scale, rng.normal(size=n) * scale)
    updates = [
        *((rng.integers(0, n, 7), rng.standard_t(1.5, size=7) * 0.1 * scale) for _ in range(300)),
        *((rng.integers(0, n, 9), rng.integers(-2, 3, 9) / 8 * scale) for _ in range(100)),  # ties
    ]
    follow(ball, updates, tolerance=1e-14)


@pytest.mark.parametrize("n", [10_000, 100_000])
@pytest.mark.parametrize("k", [1, 30])
def test_an_update_reads_rows_of_the_order_of_k_log_n(n, k):
    visits = runpy.run_path(str(BENCHMARKS / "visits.py"))["visits"]
    assert k <= visits(n, k) <= 3 * k * np.log2(n)


def test_rounding_errors_do_not_accumulate_over_a_million_updates(rng):
    """Compare with the same sequence of updates in extended precision, each with a projection of the whole vector."""
    n, k, radius = 400, 100, 20.0
    ball, exact = SparseL1Ball(n, radius), np.zeros(n, np.longdouble)
    for _ in range(10_000):
        indices, values = rng.integers(0, n, k), rng.normal(size=k) * 0.01
        ball.add(indices, values)
        np.add.at(exact, indices, values)
        exact = oracles.project_l1_vector(exact, radius)
    assert np.abs(ball.toarray() - exact).max() <= 1e-13 * radius / n * 100
    np.testing.assert_allclose(ball.norm(), radius, rtol=1e-14)


# The point


def test_the_first_point_is_projected_and_a_point_inside_the_ball_is_not_changed(rng):
    w = rng.normal(size=500)
    np.testing.assert_array_equal(SparseL1Ball(500, 3.0, w).toarray(), l1.project(w, 3.0))
    ball = SparseL1Ball(500, 1e3, w)
    np.testing.assert_array_equal(ball.toarray(), w)
    ball.add([3, 7], [0.25, -0.5])
    np.testing.assert_array_equal(np.flatnonzero(ball.toarray() != w), [3, 7])


@pytest.mark.parametrize(
    "radius, updates, expected",
    [
        (10.0, [([1, 2, 1, 1], [1.0, 2.0, 3.0, -0.5])], [0, 3.5, 2]),  # duplicates add up
        (10.0, [([1, 2], [1.0, 2.0]), ([1], [-1.0])], [0, 0, 2]),  # an entry becomes 0 again
        (0.0, [([0, 1, 2], [1.0, 2.0, 3.0]), ([0], [1.0])], [0, 0, 0]),
        (1.0, [([0, 1, 2], [0.5, 0.25, 0.25]), ([1, 2], [1e20, -1e250])], [0, 0, -1]),  # one entry dwarfs all others
        (1.0, [([1, 2], [1e20, -1e250]), ([0], [0.5])], [0.25, 0, -0.75]),
    ],
)
def test_special_cases(radius, updates, expected):
    ball = SparseL1Ball(3, radius)
    for indices, values in updates:
        ball.add(indices, values)
    np.testing.assert_array_equal(ball.toarray(), expected)
    assert ball.norm() == np.abs(expected).sum()


def test_take_norm_and_count_nonzero_agree_with_the_array(rng):
    ball = SparseL1Ball(100, 2.0)
    for _ in range(50):
        ball.add(rng.integers(0, 100, 5), rng.normal(size=5))
        w = ball.toarray()
        np.testing.assert_array_equal(ball.take([7, 3, 7]), w[[7, 3, 7]])
        assert ball.count_nonzero() == np.count_nonzero(w)
        np.testing.assert_allclose(ball.norm(), np.abs(w).sum(), rtol=1e-14)


@pytest.mark.parametrize("radius", [2.0**900, np.inf])
def test_the_largest_numbers_do_not_overflow(radius):
    ball = SparseL1Ball(3, radius)
    for i in 10 * [0, 1, 2]:
        ball.add([i], [2.0**900])
    np.testing.assert_allclose(ball.norm(), min(radius, 30 * 2.0**900), rtol=1e-15)
    np.testing.assert_allclose(np.abs(ball.toarray()).sum(), ball.norm(), rtol=1e-15)


def test_a_ball_without_coordinates():
    ball = SparseL1Ball(0, 1.0, [])
    ball.add([], [])
    assert (len(ball), ball.toarray().shape, ball.norm()) == (0, (0,), 0.0)


# Invalid input


@pytest.mark.parametrize(
    "indices, values, message",
    [
        ([0, 5], [1.0, 1.0], r"^indices must be in 0\.\.4, got 5$"),
        ([-1], [1.0], r"^indices must be in 0\.\.4, got -1$"),
        ([0.0], [1.0], r"^indices must be a vector of integers .*, got float64 \(1,\) and \(1,\)$"),
        ([0, 1], [1.0], r"^indices must be a vector of integers and values .* length, got int64 \(2,\) and \(1,\)$"),
        (0, 1.0, r"^indices must be a vector of integers and values a vector of the same length"),
        ([0, 1], [1.0, np.nan], r"^values must be finite, got nan at \(1,\)$"),
        ([0, 1], [1.0, -np.inf], r"^values must be finite, got -inf at \(1,\)$"),
        ([0, 1], [1e308, 1e308], r"^the sum of the magnitudes of values must be at most 2\^900$"),
        ([0, 1], [2.0**900, 2.0**900], r"^the sum of the magnitudes of values must be at most 2\^900$"),
    ],
)
def test_invalid_updates_raise_and_change_nothing(indices, values, message):
    ball = SparseL1Ball(5, 1.0, [0.5, 0.0, 0.0, 0.0, -0.5])
    with pytest.raises(ValueError, match=message):
        ball.add(indices, values)
    np.testing.assert_array_equal(ball.toarray(), [0.5, 0, 0, 0, -0.5])


@pytest.mark.parametrize(
    "call, message",
    [
        *(
            (partial(SparseL1Ball, bad, 1.0), f"n must be a whole number from 0 to 2147483646, got {bad!r}$")
            for bad in (-1, 2**31, 3.0, "3")
        ),
        (partial(SparseL1Ball, 2, 1e308), r"radius must be at most 2\^900 or infinite, got 1e\+308$"),
        (partial(SparseL1Ball, 2, np.inf, [1e308] * 2), r"^the sum of the magnitudes of point must be at most 2\^900$"),
        (partial(SparseL1Ball, 2, -1.0), r"radius must be at least 0, got -1\.0$"),
        (partial(SparseL1Ball, 2, 1.0, [1.0]), r"point must have shape \(2,\), got \(1,\)$"),
        (partial(SparseL1Ball, 2, 1.0, [1.0, np.nan]), r"point must be finite, got nan at \(1,\)$"),
        *((partial(SparseL1Ball(3, 1.0).take, [0, bad]), rf"indices must be in 0\.\.2, got {bad}$") for bad in (-1, 3)),
    ],
)
def test_invalid_balls_and_coordinates_raise(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
