"""Tests of the l1,inf ball. Tests of all norms are in test_norms.py."""

import numpy as np
import oracles
import pytest

from jointsparse.norms import l1inf

EPS = np.finfo(float).eps
METHODS = ["newton", "sort"]


def size(A):
    return np.abs(A).max(initial=0)


def check(W, radius, expected, *, weights=None, **options):
    """Check the accuracy of a projection, and its properties that hold bit for bit."""
    options |= {"weights": weights}
    got = l1inf.project(W, radius, **options)
    error, digits = size(got - expected), np.finfo(W.dtype).eps / EPS
    assert error <= (4e-15 if weights is None else 1e-14) * digits * size(W)
    if weights is None and radius >= 1e-2 * l1inf.norm(W):
        assert error <= 1e-13 * digits * size(expected)
    assert l1inf.norm(got, weights=weights) <= radius
    assert l1inf.project(got, radius, **options | {"warm": None}).tobytes() == got.tobytes()
    assert np.all((np.sign(got) == np.sign(W)) | (got == 0))


def warm_from(W, fraction):
    """Return the warm start that results from a projection of W."""
    warm = l1inf.Warm()
    l1inf.project(W, fraction * l1inf.norm(W), warm=warm)
    return warm


# Many rows: with 256 or more, theta is estimated from a sample


def many_rows(rng, d, m):
    """Return matrices of many kinds, by name."""
    normal = rng.normal(size=(d, m))
    return {
        "normal": normal,
        "heavy tails": rng.standard_t(0.5, size=(d, m)),
        "rows of all scales": normal * 10.0 ** rng.uniform(-12, 12, size=(d, 1)),
        "1e-150 beside 1e150": normal * rng.choice([1e-150, 1e150], size=(d, 1)),
        "mostly small rows": normal * np.where(rng.random((d, 1)) < 0.02, 1.0, 1e-6),
        "identical rows": np.where(rng.random((d, 1)) < 0.9, normal[:1], normal),
        "zero rows": normal * (rng.random((d, 1)) < 0.1),
        "a giant row": np.vstack([normal[:-1], 1e9 * normal[-1:]]),
        "sorted rows": np.sort(normal, axis=0),
        "ties": rng.integers(-3, 4, size=(d, m)).astype(float),
        "nearly equal": 1 + rng.integers(-3, 4, size=(d, m)) * EPS,
    }


@pytest.mark.parametrize("d, m", [(256, 1), (300, 40), (700, 6), (2000, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_agree_with_extended_precision(rng, dtype, d, m):
    for what, W in many_rows(rng, d, m).items():
        if dtype == np.float32 and what == "1e-150 beside 1e150":
            continue
        W = W.astype(dtype)
        norm = l1inf.norm(W)
        for radius in (np.nextafter(norm, 0), norm * 10 ** rng.uniform(-3, 0), norm * 10 ** rng.uniform(-12, -3)):
            expected = oracles.project_l1inf(W, radius)
            warm = [warm_from(rng.standard_t(1.5, size=(d, 2)), 0.1), warm_from(dtype(1.01) * W, 0.999 * radius / norm)]
            for options in ({}, {"method": "sort"}, {"warm": warm[0]}, {"warm": warm[1]}):
                check(W, radius, expected, **options)


def test_the_papers_theta_and_mu_agree_with_bisection(rng):
    for what, W in many_rows(rng, 30, 7).items():
        for fraction in (0.1, 0.5, 0.99):
            radius = fraction * l1inf.norm(W)
            got, expected = l1inf.sort_and_merge(W, radius), oracles.solve_l1inf(W, radius)
            assert abs(got[0] - expected[0]) <= 1e-11 * size(W) and size(got[1] - expected[1]) <= 1e-11 * size(W), what


@pytest.mark.parametrize("method, spread", [("newton", 0.0), ("sort", 0.0), *(("newton", p) for p in (0.3, 2.0, 10.0))])
def test_theta_and_mu_agree_with_bisection(rng, method, spread):
    normal = rng.normal(size=(30, 7))
    others = {"tiny": normal * 1e-300, "huge": normal * 1e300, "long rows": rng.normal(size=(60, 200))}
    for what, W in (many_rows(rng, 300 if spread else 30, 7) | ({} if spread else others)).items():
        if spread and what == "1e-150 beside 1e150":
            continue  # most rows are lost by rounding beside the others
        s = 10.0 ** rng.uniform(-spread, spread, size=len(W))
        options = {"weights": s} if spread else {"method": method}
        for fraction in (1e-2, 0.1, 0.5, 0.99, 1 - EPS / 2):
            radius = fraction * l1inf.norm(W, weights=s if spread else None)
            tolerance = (1e-13 if spread else 4e-15) * size(W)
            B, theta, mu = l1inf.project(W, radius, return_theta=True, **options)
            expected_theta, expected_mu = oracles.solve_l1inf(W, radius, s)
            assert theta > 0 and np.all(mu >= 0) and size(mu - expected_mu) <= tolerance, what
            assert size((s * (theta - expected_theta))[mu > 0]) <= tolerance * W.shape[1], what
            np.testing.assert_allclose((s * mu).sum(), radius, rtol=1e-12, err_msg=what)
            np.testing.assert_array_equal(B, np.clip(W, -mu[:, np.newaxis], mu[:, np.newaxis]), err_msg=what)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 30)])
@pytest.mark.parametrize("groups", [None, np.arange(30) // 2, np.arange(30) ** 2 // 60])
def test_theta_and_mu_inside_the_ball_and_for_radius_zero(rng, weights, groups):
    W, n = rng.normal(size=(30, 7)), 30 if groups is None else groups.max() + 1
    options = {"weights": None if weights is None else weights[:n], "groups": groups}
    _, theta, mu = l1inf.project(W, 1000.0, return_theta=True, **options)
    assert (
        theta == 0
        and size(mu - [size(W[np.arange(30) == i if groups is None else groups == i]) for i in range(n)]) == 0
    )
    B, theta, mu = l1inf.project(W, 0.0, return_theta=True, **options)
    assert theta == pytest.approx(l1inf.dual_norm(W, **options), rel=1e-15) and not B.any() and not mu.any()
    B, theta, mu = l1inf.project(np.empty((3, 0)), 1.0, return_theta=True)
    assert (B.shape, theta, mu.tolist()) == ((3, 0), 0.0, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("mu", [np.full(40, 1e300), np.full(40, -1.0), np.zeros(40), np.zeros(3)])
@pytest.mark.parametrize("theta", [0.0, 1e-300, 1e300])
def test_a_nonsensical_warm_start_is_still_exact(rng, mu, theta):
    warm = l1inf.Warm()
    W = rng.normal(size=(40, 9))
    l1inf.project(W, 3.0, warm=warm)  # sets a bound that is close to the right one
    warm.theta, warm.mu = theta, mu
    np.testing.assert_allclose(l1inf.project(W, 3.0, warm=warm), l1inf.project(W, 3.0), rtol=0, atol=1e-14)


@pytest.mark.parametrize("fraction, weighted", [(0.001, False), (0.1, False), (0.01, True)])
def test_few_surviving_rows_of_a_large_matrix(rng, fraction, weighted):
    """In matrices of more than 2**20 entries the rows that may survive are copied first."""
    W, s = rng.normal(size=(27_000, 40)) * rng.gamma(0.5, size=(27_000, 1)), np.ones(27_000)
    s = rng.uniform(0.5, 2, size=27_000) if weighted else s
    options = {"weights": s} if weighted else {}
    radius = fraction * l1inf.norm(W, **options)
    B, theta, mu = l1inf.project(W, radius, return_theta=True, **options)
    assert 0 < np.count_nonzero(mu) < len(W) / 2
    kept = np.abs(W).sum(axis=1) > 0.99 * theta * s  # the oracle does not need the other rows, which are zero
    assert not B[~kept].any()
    assert size(B[kept] - oracles.project_l1inf(W[kept], radius, s[kept])) <= (1e-14 if weighted else 4e-15) * size(W)
    warm = l1inf.Warm()
    l1inf.project(W, 1.01 * radius, warm=warm, **options)
    assert size(l1inf.project(W, radius, warm=warm, **options) - B) <= 1e-14 * size(W)


# Weights


def test_theta_and_mu_of_groups_meet_their_conditions(rng):
    W, groups, s = rng.normal(size=(30, 4)), rng.permutation(np.arange(30) ** 2 // 60), rng.uniform(0.5, 2, size=15)
    B, theta, mu = l1inf.project(W, 5.0, groups=groups, weights=s, return_theta=True)
    assert mu.shape == (15,) and 0 < np.count_nonzero(mu) < 15
    taken = np.bincount(groups, np.abs(W - B).sum(axis=1))
    np.testing.assert_allclose(taken[mu > 0], theta * s[mu > 0], rtol=1e-13)
    assert np.all(taken[mu == 0] <= theta * s[mu == 0])
    np.testing.assert_allclose(s @ mu, 5.0, rtol=1e-14)


# Rounding


@pytest.mark.parametrize("method", METHODS)
def test_a_matrix_outside_the_ball_by_one_digit_is_projected(rng, method):
    """theta is lost by rounding, but the matrix must not come back unchanged."""
    for shape in [(1, 1), (7, 24), (25, 34), (500, 3)] * 20:
        W = rng.choice([1.0, 1 / 3, 0.1], size=shape) * (1 + EPS * rng.integers(-3, 4, size=shape))
        radius = np.nextafter(l1inf.norm(W), 0)
        B, theta, _ = l1inf.project(W, radius, method=method, return_theta=True)
        assert l1inf.norm(B) <= radius and theta > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit, dtype", [(5e-324, np.float64), (1e-45, np.float32)])
@pytest.mark.parametrize("high", [2, 5, 1000])
def test_the_smallest_numbers_stay_inside(rng, method, unit, dtype, high):
    W = (rng.integers(0, high, size=(9, 3)) * dtype(unit)).astype(dtype)
    for radius in (0.3 * l1inf.norm(W), 0.9 * l1inf.norm(W), np.nextafter(l1inf.norm(W), 0)):
        got = l1inf.project(W, radius, method=method)
        assert l1inf.norm(got) <= radius
        assert size(got - oracles.project_l1inf(W, radius)) <= 2 * unit


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
    np.testing.assert_allclose(
        l1inf.prox(np.array(W, dtype), step), np.array(expected, dtype), rtol=4 * np.finfo(dtype).eps
    )


def test_prox_of_groups_ends_for_the_smallest_numbers(rng):
    """By rounding, two sets of entries can alternate forever."""
    W, groups = rng.integers(-50, 50, size=(200, 60)) * 5e-324, np.maximum(np.arange(200) - 66, 0)
    for step in (0.0005 * l1inf.norm(W), 0.015 * l1inf.norm(W)):
        mu = oracles.levels_l1inf(oracles.largest_sums(oracles.rows_of_groups(W, groups)), step)[groups, np.newaxis]
        assert size(l1inf.prox(W, step, groups=groups) - np.clip(W, -mu, mu)) <= 5e-324


def test_sort_is_accurate_for_a_small_radius_and_many_break_points(rng):
    """In a running sum from the norm downwards, this radius would be lost by rounding."""
    W = np.vstack([np.ones((1, 19)), 10.0 ** rng.uniform(-20, -2, size=(400, 19))])
    radius = 1e-12
    got, expected = l1inf.project(W, radius, method="sort"), oracles.project_l1inf(W, radius)
    assert np.abs(got - expected).max() <= 4e-15


@pytest.mark.parametrize("method", METHODS)
def test_many_rows_whose_sums_equal_theta_up_to_rounding(rng, method):
    """The last bits of all these rows add up, so no row may be declared dead too early."""
    for d, m in [(828, 29), (1007, 7), (738, 12)] * 5 + [(20_000, 5)]:
        W = 1 + rng.integers(-3, 4, size=(d, m)) * EPS
        W[:2] *= 1.1
        theta = rng.choice(W[2:].sum(axis=1))  # exactly the sum of one of the rows
        radius = float(oracles.levels_l1inf(oracles.largest_sums(W), theta).sum())
        got, expected = l1inf.project(W, radius, method=method), oracles.project_l1inf(W, radius)
        assert np.abs(got - expected).max() <= 4e-15


@pytest.mark.parametrize("dtype, huge", [(np.float64, 1e308), (np.float32, 3e38)])
@pytest.mark.parametrize("method", ["newton", "sort"])
def test_a_row_sum_that_overflows(rng, method, dtype, huge):
    W = rng.normal(size=(300, 20)).astype(dtype)
    W[3, :2] = huge
    radius = float(dtype(huge / 4))
    check(W, radius, method=method, expected=np.clip(W, *(sign * np.eye(1, 300, 3).T * radius for sign in (-1, 1))))
    assert l1inf.dual_norm(W) == (np.inf if dtype == np.float64 else np.abs(W).sum(axis=1, dtype=float).max())


def test_long_rows_of_float32_are_summed_in_double_precision(rng):
    W = rng.uniform(size=(1, 3_000_000)).astype(np.float32)
    np.testing.assert_allclose(l1inf.dual_norm(W), W.sum(dtype=float), rtol=1e-7)


@pytest.mark.parametrize(
    "W, radius, options, message",
    [
        (np.ones((2, 2)), 10**400, {}, "radius must be a number, got 1000"),
        ([[10**400]], 1.0, {}, "W must hold real numbers"),
        (np.ma.array(np.eye(2), mask=np.eye(2)), 1.0, {}, "W must hold a number everywhere, got a masked"),
        (np.ones((2, 2)), 1.0, {"warm": 3}, "warm must be a Warm object or None, got 3"),
        (np.ones((2, 2)), 1.0, {"method": "bisect"}, "method must be newton or sort, got 'bisect'"),
        *(
            (np.ones((3, 2)), 1.0, {"method": "sort", name: given}, f"method must be newton if {name} are given")
            for name, given in (("weights", np.ones(3)), ("groups", [0, 1, 1]))
        ),
        (
            np.ones((3, 2)),
            1.0,
            {"warm": l1inf.Warm(), "groups": [0, 1, 1]},
            "warm must be None if groups are given, got <",
        ),
    ],
)
def test_invalid_arguments_raise(W, radius, options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        l1inf.project(W, radius, **options)
