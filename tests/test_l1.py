"""Tests of the l1 ball, the simplex and related sets. Tests of all norms are in test_norms.py."""

import functools
import math

import numpy as np
import oracles
import pytest
from test_norms import kinds

from jointsparse.norms import l1

EPS = np.finfo(float).eps
METHODS = ["newton", "pivot", "sort"]
MOST = np.finfo(np.float32).max
PRECISION = pytest.mark.parametrize("dtype, precision", [(np.float64, 4e-15), (np.float32, 2 * np.finfo("f").eps)])
by_method = pytest.mark.parametrize("method", METHODS)
SLOW = {  # each function, and its oracle for a vector
    l1.project: oracles.project_l1_vector,
    l1.project_simplex: oracles.project_simplex,
    l1.project_nonnegative: oracles.project_nonnegative,
}


@pytest.mark.parametrize("z", [1.0, 1000.0])
def test_pivots_take_linear_time_on_ties_and_sorted_input(z):
    """A quadratic search would need minutes."""
    n = 200_000
    ramp = np.arange(n)
    for u in (np.r_[np.ones(n), 100.0], ramp / n, -ramp / n, np.r_[ramp, ramp[::-1]] + 0.0):
        np.testing.assert_allclose(l1.theta_by_pivot(u.copy(), z), l1.theta_by_sorting(u, z), rtol=1e-11, atol=1e-11)


@by_method
@pytest.mark.parametrize("onto", SLOW)
@pytest.mark.parametrize("shape", [(7, 1), (3, 9), (1000, 5), (60_000, 1), (3000, 40)])
def test_columns_and_vectors_agree_with_extended_precision(rng, onto, method, shape):
    """Columns of different kinds and radii are swept together; entries are added in another order than in a vector."""
    columns = [W for what, W in kinds(rng, *shape).items() if "scale" not in what and "beside" not in what]
    V = np.choose(np.arange(shape[1]) % len(columns), columns)
    for share in (1e-12, 1e-3, 0.5, 0.999):
        z = np.maximum(l1.norm(V) * share, 1e-300)
        if onto is not l1.project_simplex:
            z[1:2] = np.inf
        got, place = onto(V, z, method=method), V.copy()
        assert onto(place, z, method=method, out=place) is place and place.tobytes() == got.tobytes()
        for l in range(shape[1]):
            tolerance = 4e-15 * max(np.abs(V[:, l]).max(), z[l] if onto is l1.project_simplex else 0)
            vector = onto(V[:, l].copy(), float(z[l]), method=method)
            for w in (got[:, l], vector):
                assert np.abs(w - SLOW[onto](V[:, l], z[l])).max() <= tolerance
                assert onto is not l1.project_simplex or abs(w.sum() - z[l]) <= 1e-12 * z[l]


@PRECISION
@pytest.mark.parametrize("fraction", [1e-5, 1e-3])
@pytest.mark.parametrize("onto", SLOW)
def test_few_candidates_of_a_long_vector(rng, onto, dtype, precision, fraction):
    """Results are right, also in place, when the entries below a lower bound of theta are not read again."""
    v = rng.standard_t(1.5, 60_000).astype(dtype)
    z = fraction * float(np.abs(v).sum(dtype=np.float64))
    w, place = onto(v, z), v.copy()
    assert 0 < np.count_nonzero(w) < v.size // l1.ENTRIES_PER_CANDIDATE
    np.testing.assert_allclose(w, SLOW[onto](v.astype(np.float64), z), rtol=0, atol=precision * np.abs(v).max())
    np.testing.assert_array_equal(onto(place, z, out=place), w)


@pytest.mark.parametrize("n", [3000, 200_000])
@pytest.mark.parametrize("fraction", [1e-3, 0.1, 0.9])
def test_a_misleading_sample_does_not_change_the_result(rng, n, fraction):
    """Either no sampled entry survives, or all sampled entries survive."""
    sampled = np.zeros(n, bool)
    sampled[(n // 8 * np.arange(8)[:, np.newaxis] + np.arange(8)).ravel()] = True  # 8 runs of 8 entries
    for v in (np.where(sampled, 1e-9, rng.normal(size=n)), np.where(sampled, 1e3, rng.normal(size=n))):
        radius, tolerance = l1.norm(v) * fraction, 4e-15 * np.abs(v).max()
        columns = l1.project(np.stack([v, rng.normal(size=n)], axis=1), radius)
        for got in (l1.project(v, radius), columns[:, 0]):
            assert np.abs(got - oracles.project_l1_vector(v, radius)).max() <= tolerance


# Corners


@by_method
def test_zeros_keep_their_signs_inside_and_are_positive_outside(method):
    assert l1.project([-0.0, 1.0, 0.0], 2.0, method=method).tobytes() == np.array([-0.0, 1.0, 0.0]).tobytes()
    assert np.signbit(l1.project([[-0.0, 9.0], [1.0, -0.0]], 2.0, method=method)[0, 0])
    assert not np.signbit(l1.project([-1.0, 5.0], 1.0, method=method)[0])


BY_HAND = [
    *((l1.project, [], z, []) for z in (1.0, 0.0)),
    (l1.project, [-3.0], 2.0, [-2]),
    (l1.project, [3.0, -3.0], 0.0, [0, 0]),
    (l1.project, [3.0, -3.0, 1.0], 2.0, [1, -1, 0]),
    (l1.project, [3.0, -3.0], 5, [2.5, -2.5]),
    (l1.project, [1.0, 1e-300], 1e-320, [1e-320, 0]),
    (l1.project_simplex, [], 0.0, []),
    (l1.project_simplex, [3.0, 1.0], 0.0, [0, 0]),
    (l1.project_simplex, [-5, 1], 1, [0, 1]),
    (l1.project_simplex, [-5.0, 1.0, 5.0], 1.0, [0, 0, 1]),  # the sum is z, but the point is not in the simplex
    (l1.project_simplex, [-5.0, -2.0, -2.5], 1.0, [0, 0.75, 0.25]),
    (l1.project_simplex, np.float32([-5.0, -2.0, -2.5]), 1.0, [0, 0.75, 0.25]),
    (l1.project_simplex, [1e308, -1.7e308, 1e308], 1e308, [5e307, 0, 5e307]),
    (l1.project_simplex, np.ones(3, np.float32), 1, np.full(3, 1 / 3, np.float32)),
    *((l1.project_simplex, np.float32(v), MOST, w) for v, w in (([5], [MOST]), ([-MOST, MOST, 0], [0, MOST, 0]))),
    (l1.project_nonnegative, [-5.0, -2.0, -2.5], 1.0, [0, 0, 0]),
]
BY_HAND_WITH_WEIGHTS = [
    ([], 1.0, [], []),
    ([3.0, 1.0], 0, [1.0, 2.0], [0, 0]),
    ([2e-309], 0.0, [1.0], [0]),
    ([5e-324, 2e-309], 1.0, [1.0, 2.0], [5e-324, 2e-309]),
    ([1e-300], 1e308, [1.0], [1e-300]),
    ([1e308, -1e308], 1e308, [1.0, 1.0], [5e307, -5e307]),
    ([1.0, 2.0, 3.0], 1.0, [1e-75, 1.0, 1e75], [1, 1, 0]),
    ([1.0, 2.0], 1e-75, [1e-75, 1.0], [1, 0]),
]


@pytest.mark.parametrize(
    ("project", "v", "radius", "expected"),
    [
        *((functools.partial(row[0], method=method), *row[1:]) for row in BY_HAND for method in METHODS),
        *((functools.partial(l1.project, weights=a), v, z, expected) for v, z, a, expected in BY_HAND_WITH_WEIGHTS),
    ],
)
def test_by_hand(project, v, radius, expected):
    got = project(v, radius)
    assert got.dtype == (np.float32 if np.asarray(v).dtype == np.float32 else np.float64)
    np.testing.assert_allclose(got, expected, rtol=1e-7 if got.dtype == np.float32 else 1e-15)


def test_the_sum_of_a_vector_is_exact_so_that_one_ulp_decides_whether_it_is_inside():
    v = np.full(100_000, 0.1)
    v[0] = 1e5
    exact = math.fsum(v)
    for W in (v, np.stack([v, v], axis=1)):
        np.testing.assert_array_equal(l1.project(W, exact), W)
        assert (l1.project(W, np.nextafter(exact, 0)) != W).any()


def hard(rng, dtype):
    """Yield vectors whose projections are hard to round, and z, which is to be met up to a tolerance."""
    for n in (8, 1000, 10_000):
        for gap in np.linspace(0.01, 0.9, 30):  # z is a little larger than the gap: almost all entries survive, tiny
            v = np.r_[1.0, np.full(n - 1, 1 - gap)].astype(dtype)
            yield v, float(v[0] - v[1]) * 1.01, 1e-12 if dtype == np.float64 else 1.5e-6
    for _ in range(300 * (dtype == np.float64)):  # nearly equal entries
        top = 2.0 ** rng.integers(-40, 40)
        yield top * (1 + rng.normal(size=8) * 1e-15), top * 10.0 ** rng.uniform(-12, 0), 1e-12


@pytest.mark.parametrize("onto", [l1.project, *(functools.partial(l1.project_simplex, method=m) for m in METHODS)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hard_vectors_and_columns_meet_the_sum(rng, onto, dtype):
    for v, z, tolerance in hard(rng, dtype):
        if np.abs(v).sum() > z or onto is not l1.project:
            for w in (onto(v, z), onto(np.stack([v, v], 1), z)[:, 0]):
                assert abs(math.fsum([*np.abs(w).astype(float).tolist(), -z])) <= tolerance * z


@pytest.mark.parametrize("radius", EPS * np.array([0.1, 0.5, 1.0, 3.0, 17.0, 1e3]))
def test_newton_ends_if_theta_lies_between_two_adjacent_floats(radius):
    for k in range(1, 40):
        v = np.nextafter(1.0, 2.0) + EPS * (np.arange(100) % k)
        np.testing.assert_allclose(l1.project(v, radius), oracles.project_l1_vector(v, radius).astype(float), atol=EPS)


@pytest.mark.parametrize(
    ("project", "v", "z", "options", "message"),
    [
        *(
            (project, *rest)
            for project in (l1.project_simplex, l1.project_nonnegative)
            for rest in (
                ([1.0], -1.0, {}, r"z must be at least 0, got -1\.0$"),
                ([[1.0], [-np.inf]], 1.0, {}, r"v must be finite, got -inf at \(1, 0\)$"),
                ("one", 1.0, {}, "v must hold real numbers"),
                ([1.0], 1.0, {"method": "heap"}, "method must be newton, pivot or sort, got 'heap'$"),
            )
        ),
        (l1.project_simplex, [1.0], np.inf, {}, r"z must be reachable by 1 finite numbers \(float64\), got inf$"),
        (l1.project_simplex, np.float32([1.0]), 1e39, {}, r"z must be reachable by 1 finite numbers \(float32\)"),
        (l1.project_simplex, [], 1.0, {}, "z must be reachable by 0 finite numbers"),
    ],
)
def test_invalid_arguments_raise(project, v, z, options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        project(v, z, **options)
