"""Tests of the l1,inf ball. Tests of all norms are in test_norms.py."""

import numpy as np
import oracles
import pytest
from test_norms import check, forms, kinds

from jointsparse.norms import l1inf

EPS = np.finfo(float).eps
METHODS = ["newton", "sort"]
by_method = pytest.mark.parametrize("method", METHODS)


def size(A):
    return np.abs(A).max(initial=0)


def test_the_papers_theta_and_mu_agree_with_bisection(rng):
    for what, W in kinds(rng, 30, 7).items():
        for fraction in (0.1, 0.5, 0.99):
            radius = fraction * l1inf.norm(W)
            got, expected = l1inf.sort_and_merge(W, radius), oracles.solve_l1inf(W, radius)
            assert abs(got[0] - expected[0]) <= 1e-11 * size(W) and size(got[1] - expected[1]) <= 1e-11 * size(W), what


def test_theta_and_mu_meet_their_conditions(rng):
    """Row i loses s_i theta, or all of its mass if mu_i = 0. Inside the ball theta is 0, and mu the row maxima."""
    large = [(what, W, {}) for what, W in kinds(rng, 300, 7).items() if "beside" not in what]
    for what, W, options in [*forms(l1inf, rng), *large]:
        groups = options.get("groups", np.arange(len(W)))
        s, norm = options.get("weights", np.ones(groups.max() + 1)), l1inf.norm(W, **options)
        tops, mass = np.zeros(len(s)), np.bincount(groups, np.abs(W / size(W)).sum(axis=1)) * size(W)
        np.maximum.at(tops, groups, np.abs(W).max(axis=1))
        for fraction, method in [(f, {"method": m} if not options else {}) for f in (1e-2, 0.5, 0.99) for m in METHODS]:
            B, theta, mu = l1inf.project(W, norm * fraction, return_theta=True, **options, **method)
            np.testing.assert_array_equal(B, np.clip(W, -mu[groups, np.newaxis], mu[groups, np.newaxis]), err_msg=what)
            np.testing.assert_allclose((s * mu).sum(), norm * fraction, rtol=1e-12, err_msg=what)
            taken = np.bincount(groups, np.abs((W - B) / size(W)).sum(axis=1)) * size(W)
            rounding = 1e-13 * size(W) * W.size / len(s)
            assert theta > 0 and np.all(np.abs(taken - s * theta)[mu > 0] <= rounding + 1e-12 * (s * theta)[mu > 0]), (
                what
            )
            assert np.all(mass[mu == 0] <= (s * theta)[mu == 0] * (1 + 1e-12) + rounding), what
        _, theta, mu = l1inf.project(W, 1.1 * norm, return_theta=True, **options)
        assert theta == 0 and mu.tolist() == tops.tolist(), what
        B, theta, mu = l1inf.project(W, 0.0, return_theta=True, **options)
        assert not B.any() and not mu.any(), what
        np.testing.assert_allclose(theta, l1inf.dual_norm(W, **options), rtol=1e-14, err_msg=what)
    B, theta, mu = l1inf.project(np.empty((3, 0)), 1.0, return_theta=True)
    assert (B.shape, theta, mu.tolist()) == ((3, 0), 0.0, [0.0, 0.0, 0.0])


def test_levels_of_float32_are_those_at_which_its_rows_are_clipped(rng):
    W = rng.normal(size=(30, 7)).astype(np.float32)
    B, _, mu = l1inf.project(W, 3.0, return_theta=True)
    np.testing.assert_array_equal(B, np.clip(W, -mu[:, np.newaxis], mu[:, np.newaxis]), strict=True)


@pytest.mark.parametrize("mu", [np.full(40, 1e300), np.full(40, -1.0), np.zeros(40), np.zeros(3)])
@pytest.mark.parametrize("theta", [0.0, 1e-300, 1e300])
def test_a_nonsensical_warm_start_is_still_exact(rng, mu, theta):
    warm, W = l1inf.Warm(), rng.normal(size=(40, 9))
    l1inf.project(W, 3.0, warm=warm)  # sets a bound that is close to the right one
    warm.theta, warm.mu = theta, mu
    np.testing.assert_allclose(l1inf.project(W, 3.0, warm=warm), l1inf.project(W, 3.0), rtol=0, atol=1e-14)


@pytest.mark.parametrize("fraction, weighted", [(0.001, False), (0.1, False), (0.01, True)])
def test_few_surviving_rows_of_a_large_matrix(rng, fraction, weighted):
    """In matrices of more than 2**20 entries the rows that may survive are copied first."""
    W, s = rng.normal(size=(27_000, 40)) * rng.gamma(0.5, size=(27_000, 1)), rng.uniform(0.5, 2, size=27_000)
    options, s = ({"weights": s}, s) if weighted else ({}, np.ones(27_000))
    radius, warm = fraction * l1inf.norm(W, **options), l1inf.Warm()
    B, theta, mu = l1inf.project(W, radius, return_theta=True, **options)
    assert 0 < np.count_nonzero(mu) < len(W) / 2
    kept = np.abs(W).sum(axis=1) > 0.99 * theta * s  # the oracle does not need the other rows, which are zero
    assert not B[~kept].any()
    assert size(B[kept] - oracles.project_l1inf(W[kept], radius, s[kept])) <= (1e-14 if weighted else 4e-15) * size(W)
    l1inf.project(W, 1.01 * radius, warm=warm, **options)
    assert size(l1inf.project(W, radius, warm=warm, **options) - B) <= 1e-14 * size(W)


# Rounding


@by_method
def test_a_matrix_outside_the_ball_by_one_digit_is_projected(rng, method):
    """theta is lost by rounding, but the matrix must not come back unchanged."""
    for shape in [(1, 1), (7, 24), (25, 34), (500, 3)] * 20:
        W = rng.choice([1.0, 1 / 3, 0.1], size=shape) * (1 + EPS * rng.integers(-3, 4, size=shape))
        radius = np.nextafter(l1inf.norm(W), 0)
        B, theta, _ = l1inf.project(W, radius, method=method, return_theta=True)
        assert l1inf.norm(B) <= radius and theta > 0


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
    got = l1inf.prox(np.array(W, dtype), step)
    np.testing.assert_allclose(got, np.array(expected, dtype), rtol=4 * np.finfo(dtype).eps)


def test_prox_of_groups_ends_for_the_smallest_numbers(rng):
    """By rounding, two sets of entries can alternate forever."""
    W, groups = rng.integers(-50, 50, size=(200, 60)) * 5e-324, np.maximum(np.arange(200) - 66, 0)
    for step in (0.0005 * l1inf.norm(W), 0.015 * l1inf.norm(W)):
        mu = oracles.levels_l1inf(oracles.largest_sums(oracles.rows_of_groups(W, groups)), step)[groups, np.newaxis]
        assert size(l1inf.prox(W, step, groups=groups) - np.clip(W, -mu, mu)) <= 5e-324


def near_theta(rng):
    """Yield matrices and radii: many rows whose sums equal theta up to rounding, and many break points.

    The last bits of all these rows add up, so no row may be declared dead too early. In a running sum from the norm
    downwards, the radius of the last matrix would be lost by rounding.
    """
    for d, m in [(828, 29), (1007, 7), (738, 12)] * 5 + [(20_000, 5)]:
        W = 1 + rng.integers(-3, 4, size=(d, m)) * EPS
        W[:2] *= 1.1
        theta = rng.choice(W[2:].sum(axis=1))  # exactly the sum of one of the rows
        yield W, float(oracles.levels_l1inf(oracles.largest_sums(W), theta).sum())
    yield np.vstack([np.ones((1, 19)), 10.0 ** rng.uniform(-20, -2, size=(400, 19))]), 1e-12


@by_method
def test_many_rows_near_theta_are_accurate(rng, method):
    for W, radius in near_theta(rng):
        assert size(l1inf.project(W, radius, method=method) - oracles.project_l1inf(W, radius)) <= 4e-15


@pytest.mark.parametrize("dtype, huge", [(np.float64, 1e308), (np.float32, 3e38)])
@by_method
def test_a_row_sum_that_overflows(rng, method, dtype, huge):
    W = rng.normal(size=(300, 20)).astype(dtype)
    W[3, :2] = huge
    radius = float(dtype(huge / 4))
    level = np.eye(1, 300, 3).T * radius
    check(l1inf, W, radius, np.clip(W, -level, level), method=method)
    assert l1inf.dual_norm(W) == (np.inf if dtype == np.float64 else np.abs(W).sum(axis=1, dtype=float).max())


def test_long_rows_of_float32_are_summed_in_double_precision(rng):
    W = rng.uniform(size=(1, 3_000_000)).astype(np.float32)
    np.testing.assert_allclose(l1inf.dual_norm(W), W.sum(dtype=float), rtol=1e-7)
