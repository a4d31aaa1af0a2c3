"""Theta and the levels mu of the l1,inf ball, and its warm starts. Tests of all norms are in test_norms.py."""

import numpy as np
import oracles
import pytest
from test_norms import kinds, variants

from jointsparse.norms import l1inf


def size(A):
    return float(np.abs(A).max(initial=0))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-6)])
def test_theta_and_mu_agree_with_bisection(dtype, tolerance, rng):
    for what, W in kinds(rng, 30, 7, dtype).items():
        for options in variants(l1inf, 30, rng) if size(W) < 1e30 else [{}]:
            groups = options.get("groups", np.arange(30))
            rows = np.abs(oracles.rows_of_groups(W.astype(np.longdouble), groups))
            s, norm = options.get("weights", np.ones(len(rows))), l1inf.norm(W, **options)
            for fraction in (0.0, 1e-2, 0.5, 1 - np.finfo(float).eps, 1.1):
                B, theta, mu = l1inf.project(W, norm * fraction, return_theta=True, **options)
                np.testing.assert_array_equal(B, np.clip(W, -mu[groups, np.newaxis], mu[groups, np.newaxis]))
                assert B.dtype == mu.dtype == dtype and (theta > 0) == (fraction < 1), what
                exact, levels = 0.0, rows.max(axis=1, keepdims=True)  # inside the ball
                if fraction < 1:
                    exact, levels = oracles.solve_l1inf(rows, norm * fraction, s[:, np.newaxis])
                assert size(mu - levels[:, 0]) <= tolerance * size(W), what
                assert abs(theta - exact) <= tolerance * (rows.sum(axis=1) / s).max(), what
                if not options and 0 < fraction < 0.99:  # the paper's algorithm
                    theta, mu = l1inf.sort_and_merge(W, float(norm * fraction))
                    assert abs(theta - exact) <= 1e-11 * size(W) and size(mu - levels[:, 0]) <= 1e-11 * size(W), what
    B, theta, mu = l1inf.project(np.empty((3, 0)), 1.0, return_theta=True)
    assert (B.shape, theta, mu.tolist()) == ((3, 0), 0.0, [0.0, 0.0, 0.0])


def test_theta_and_mu_of_rows_whose_sums_overflow_are_those_of_smaller_rows():
    W, huge = np.array([[1.0, 1.0], [0.5, 0.25]]), 2.0**1023
    for far, near in zip(*(l1inf.project(W * by, by, return_theta=True) for by in (huge, 1.0)), strict=True):
        np.testing.assert_allclose(far, near * huge, rtol=1e-14)


def test_a_warm_start_gives_the_same_projection_as_a_cold_start(rng):
    warm, W, s = l1inf.Warm(), rng.normal(size=(300, 7)), 10.0 ** rng.uniform(-2, 2, size=300)
    for step in range(80):
        W += 0.05 * rng.normal(size=W.shape)
        # Occasionally, the matrix is of another scale or shape, or the warm start is nonsense.
        V = W[step % 17 // 16 :] * (10.0 ** rng.integers(-12, 13) if step % 7 == 6 else 1.0)
        options = {"weights": s[: len(V)]} if step % 11 > 6 else {}
        if step % 13 == 12:
            warm.theta, warm.mu = 1e300 * (step % 2), np.full(len(V), [-1.0, 1e300][step % 2])
        radius = rng.uniform(1e-4, 1.1) * l1inf.norm(V, **options)
        got, expected = l1inf.project(V, radius, warm=warm, **options), l1inf.project(V, radius, **options)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14 * size(V))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_large_matrix_of_which_few_rows_survive_is_projected_accurately(rng, weighted):
    # In matrices of more than 2**20 entries the rows that may survive are copied first.
    W, s = rng.normal(size=(27_000, 40)) * rng.gamma(0.5, size=(27_000, 1)), rng.uniform(0.5, 2, size=27_000)
    options, s = ({"weights": s}, s) if weighted else ({}, np.ones(27_000))
    radius = 0.01 * l1inf.norm(W, **options)
    B, theta, mu = l1inf.project(W, radius, return_theta=True, **options)
    kept = np.abs(W).sum(axis=1) > 0.99 * theta * s  # the oracle does not need the other rows, which are zero
    assert 0 < np.count_nonzero(mu) < len(W) / 2 and not B[~kept].any()
    assert size(B[kept] - oracles.project_l1inf(W[kept], radius, s[kept, np.newaxis])) <= 1e-14 * size(W)


@pytest.mark.parametrize(
    "dtype, W, step, expected",
    [
        *(
            (dtype, [[huge, huge, tiny], [tiny, 2 * tiny, 0]], 0.1 * tiny, [[huge, huge, tiny], [tiny, 1.9 * tiny, 0]])
            for dtype, huge, tiny in ((np.float64, 1e308, 1e-300), (np.float32, 3e38, 1e-30))
        ),
        (np.float32, np.full((2, 7), 3e38), 6e38, np.full((2, 7), 1.5e39 / 7)),
    ],
)
def test_prox_of_a_row_whose_sum_overflows_is_accurate(dtype, W, step, expected):
    np.testing.assert_allclose(l1inf.prox(np.array(W, dtype), step), expected, rtol=4 * np.finfo(dtype).eps)


def test_long_rows_of_float32_are_summed_in_double_precision(rng):
    W = rng.uniform(size=(1, 3_000_000)).astype(np.float32)
    np.testing.assert_allclose(l1inf.dual_norm(W), W.sum(dtype=float), rtol=1e-7)
