"""Tests of the l1 ball, the simplex and related sets. Tests of all norms are in test_norms.py."""

import functools
import math

import numpy as np
import oracles
import pytest

from jointsparse.norms import l1

EPS = np.finfo(float).eps
METHODS = ["newton", "pivot", "sort"]
MOST = np.finfo(np.float32).max
PRECISION = pytest.mark.parametrize("dtype, precision", [(np.float64, 4e-15), (np.float32, 2 * np.finfo("f").eps)])
by_method = pytest.mark.parametrize("method", METHODS)


def draws(rng, n):
    """Return vectors of many kinds, by name."""
    return {
        "normal": rng.normal(size=n),
        "uniform": rng.uniform(-1, 1, size=n),
        "heavy tails": rng.standard_t(1.5, size=n),
        "ties": rng.integers(-3, 4, size=n).astype(float),
        "sorted": np.sort(rng.normal(size=n)),
        "periodic": np.tile(rng.standard_t(1.5, size=97), -(-n // 97))[:n],
        "one large": np.r_[np.full(n - 1, 1e-3), 1e3],
    }


def column_by_column(project, V, radii):
    return np.stack([project(v, radius) for v, radius in zip(V.T, radii, strict=True)], axis=1)


# The paper's algorithms


@pytest.mark.parametrize("solve", [l1.theta_by_sorting, lambda u, z: l1.theta_by_pivot(u.copy(), z)])
@pytest.mark.parametrize("z", [0.5, 20.0])
def test_theta_of_the_paper_solves_its_equation(rng, solve, z):
    for what, v in draws(rng, 300).items():
        np.testing.assert_allclose(np.maximum(v - solve(v, z), 0).sum(), z, rtol=1e-10, err_msg=what)


@pytest.mark.parametrize("z", [1.0, 1000.0])
def test_pivots_take_linear_time_on_ties_and_sorted_input(z):
    """A quadratic search would need minutes."""
    n = 200_000
    for u in (
        np.r_[np.ones(n), 100.0],
        np.arange(n) / n,
        -np.arange(n) / n,
        np.r_[np.arange(n), np.arange(n)[::-1]] + 0.0,
    ):
        np.testing.assert_allclose(l1.theta_by_pivot(u.copy(), z), l1.theta_by_sorting(u, z), rtol=1e-11, atol=1e-11)


# The l1 ball


@pytest.mark.parametrize("n", [1000, 5000, 60_000])
def test_long_vectors_agree_with_extended_precision(rng, n):
    for what, v in draws(rng, n).items():
        for fraction in (1e-3, 0.01, 0.1, 0.5, 0.999):
            radius = l1.norm(v) * fraction
            expected = oracles.project_l1_vector(v, radius)
            for method in METHODS:
                got = l1.project(v, radius, method=method)
                error = float(np.abs(got - expected).max())
                assert error <= 4e-15 * np.abs(v).max(), (what, fraction, method)
                assert fraction < 0.01 or error <= 1e-13 * np.abs(got).max(), (what, fraction, method)
        for z in (1e-12, 1.0, 1e6):
            expected = oracles.project_simplex(v, z).astype(float)
            for method in METHODS:
                got = l1.project_simplex(v, z, method=method)
                np.testing.assert_allclose(got, expected, atol=4e-15 * max(np.abs(v).max(), z), err_msg=what)
                np.testing.assert_allclose(got.sum(), z, rtol=1e-12)


@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_float32_projections_are_accurate_up_to_rounding(rng, n):
    for what, v in (draws(rng, n) | {"tiny": rng.normal(size=n) * 1e-38, "large": rng.normal(size=n) * 1e37}).items():
        for fraction in (1e-3, 0.1, 0.5):
            single = v.astype(np.float32)
            radius = l1.norm(single) * fraction
            error = np.abs(l1.project(single, radius) - oracles.project_l1_vector(single, radius)).max()
            # Blocks are summed in float32, which rounds more often where the processor's vectors are short.
            assert error <= 4 * np.finfo(np.float32).eps * np.abs(single).max(), what


@PRECISION
@pytest.mark.parametrize("fraction", [1e-5, 1e-3])
def test_few_candidates_of_a_long_vector(rng, dtype, precision, fraction):
    """Results are right, also in place, when the entries below a lower bound of theta are not read again."""
    v = rng.standard_t(1.5, 60_000).astype(dtype)
    z = fraction * float(np.abs(v).sum(dtype=np.float64))
    for project, slow in [
        (l1.project, oracles.project_l1_vector),
        (l1.project_simplex, oracles.project_simplex),
        (l1.project_nonnegative, oracles.project_nonnegative),
    ]:
        w, place = project(v, z), v.copy()
        assert 0 < np.count_nonzero(w) < v.size // l1.ENTRIES_PER_CANDIDATE
        np.testing.assert_allclose(w, slow(v.astype(np.float64), z), rtol=0, atol=precision * np.abs(v).max())
        project(place, z, out=place)
        np.testing.assert_array_equal(place, w)


@by_method
def test_one_ulp_decides_whether_a_vector_is_inside(rng, method):
    v = rng.normal(size=1000)
    size = l1.norm(v)
    for radius in (size, np.nextafter(size, 9e9)):
        assert l1.project(v, radius, method=method).tobytes() == v.tobytes()
    np.testing.assert_allclose(l1.project(v, np.nextafter(size, 0), method=method), v, rtol=0, atol=4 * EPS)


# All functions that project the columns of V onto a set that contains 0.
PROJECTIONS = {
    **{f"ball, {method}": functools.partial(l1.project, method=method) for method in METHODS},
    **{f"nonnegative, {method}": functools.partial(l1.project_nonnegative, method=method) for method in METHODS},
    "one by one": functools.partial(column_by_column, l1.project),
    "weights": lambda V, z: l1.project(V, z, weights=np.ones(len(V))),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(4, 700), (30, 300), (300, 100), (5000, 9)])
def test_zeros_stay_zeros_and_no_entry_grows_however_near_the_radius_is_to_the_norm(rng, dtype, shape):
    V = (rng.uniform(size=shape) * (rng.random(shape) < 0.7)).astype(dtype)
    V[:4, 0] = [0.41643062916792795, 0.8523841701715669, 0, 0.47138529765377946]
    size = l1.norm(V)
    for what, project in PROJECTIONS.items():
        for radii in (size, np.nextafter(size, 0), np.nextafter(size, np.inf), size * (1 - 3e-8), size * 0.5):
            got = project(V, radii)
            assert not got[V == 0].any() and np.all(got <= V), what
            assert not project(got, radii)[got == 0].any(), what
            np.testing.assert_allclose(l1.norm(got), np.minimum(radii, size), rtol=64 * np.finfo(dtype).eps)


@by_method
def test_zeros_keep_their_signs_inside_and_are_positive_outside(method):
    assert l1.project([-0.0, 1.0, 0.0], 2.0, method=method).tobytes() == np.array([-0.0, 1.0, 0.0]).tobytes()
    assert np.signbit(l1.project([[-0.0, 9.0], [1.0, -0.0]], 2.0, method=method)[0, 0])
    assert not np.signbit(l1.project([-1.0, 5.0], 1.0, method=method)[0])


@by_method
@pytest.mark.parametrize(
    "project, v, radius, expected",
    [
        (l1.project, [], 1.0, []),
        (l1.project, [], 0.0, []),
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
        (l1.project_simplex, [1e308, -1.7e308, 1e308], 1e308, [5e307, 0, 5e307]),
        (l1.project_simplex, np.ones(3, np.float32), 1, np.full(3, 1 / 3, np.float32)),
        *(
            (l1.project_simplex, np.float32(v), MOST, w)
            for v, w in (([5.0], [MOST]), ([-MOST, MOST, 0.0], [0, MOST, 0]))
        ),
        (l1.project_nonnegative, [-5.0, -2.0, -2.5], 1.0, [0, 0, 0]),
    ],
)
def test_corners(project, v, radius, expected, method):
    got = project(v, radius, method=method)
    assert got.dtype == (np.float32 if np.asarray(v).dtype == np.float32 else np.float64)
    np.testing.assert_allclose(got, expected, rtol=1e-7 if got.dtype == np.float32 else 1e-15)


@pytest.mark.parametrize("radius", EPS * np.array([0.1, 0.5, 1.0, 3.0, 17.0, 1e3]))
def test_newton_ends_if_theta_lies_between_two_adjacent_floats(radius):
    for k in range(1, 40):
        v = np.nextafter(1.0, 2.0) + EPS * (np.arange(100) % k)
        np.testing.assert_allclose(l1.project(v, radius), oracles.project_l1_vector(v, radius).astype(float), atol=EPS)


def off(w, z):
    """Return the relative difference of the norm of w and z, without rounding the sum."""
    return abs(math.fsum([*np.abs(w).astype(float).tolist(), -z])) / z


@by_method
@pytest.mark.parametrize("as_input", [lambda v: v, lambda v: np.stack([v, v], 1)], ids=["vector", "columns"])
def test_nearly_equal_entries_meet_the_sum(rng, method, as_input):
    for _ in range(300):
        top = 2.0 ** rng.integers(-40, 40)
        v, z = top * (1 + rng.normal(size=8) * 1e-15), top * 10.0 ** rng.uniform(-12, 0)
        assert off(l1.project_simplex(as_input(v), z, method=method).T.reshape(-1, 8)[0], z) <= 1e-14


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1.5e-6)])
@pytest.mark.parametrize("n", [8, 1000, 10_000])
@pytest.mark.parametrize("onto", [l1.project, l1.project_simplex])
@pytest.mark.parametrize("as_input", [lambda v: v, lambda v: np.stack([v, v], 1)], ids=["vector", "columns"])
def test_many_small_entries_below_a_large_one_meet_the_sum(onto, dtype, tolerance, n, as_input):
    """The radius is a little larger than the gap, so that almost all entries survive and are tiny."""
    for gap in np.linspace(0.01, 0.9, 30):
        v = np.r_[1.0, np.full(n - 1, 1 - gap)].astype(dtype)
        z = float(v[0] - v[1]) * 1.01
        assert off(onto(as_input(v), z).T.reshape(-1, n)[0], z) <= tolerance, gap


# Columns


@by_method
@pytest.mark.parametrize("shape", [(7, 1), (3, 9), (600, 17), (3000, 40)])
@pytest.mark.parametrize("onto", [l1.project, l1.project_simplex, l1.project_nonnegative])
def test_columns_are_projected_independently(rng, onto, method, shape):
    W, project = rng.standard_t(1.5, size=shape), functools.partial(onto, method=method)
    radii = l1.norm(W) * rng.uniform(0, 1.1, size=shape[1])
    if onto is not l1.project_simplex:
        radii[1:2] = np.inf
    got = project(W, radii)
    # The entries of a column are added in another order when all columns are swept together.
    tolerance = 8 * EPS * max(np.abs(W).max(), radii.max() if onto is l1.project_simplex else 0.0)
    np.testing.assert_allclose(got, column_by_column(project, W, radii), rtol=0, atol=tolerance)
    if onto is l1.project:
        np.testing.assert_array_equal(got[:, l1.norm(W) <= radii], W[:, l1.norm(W) <= radii])
    in_place = W.copy()
    assert project(in_place, radii, out=in_place) is in_place
    np.testing.assert_array_equal(in_place, got)


@PRECISION
@pytest.mark.parametrize("shape", [(60, 40), (700, 3), (5000, 7), (40, 1500), (3001, 41)])
def test_columns_agree_with_extended_precision(rng, dtype, precision, shape):
    """Columns of different kinds are swept together, with radii from tiny to the norm."""
    columns = [v for _ in range(shape[1] // 7 + 1) for v in draws(rng, shape[0]).values()]
    W = np.stack(columns[: shape[1]], axis=1).astype(dtype)
    radii = l1.norm(W) * rng.choice([0.0, 1e-12, 1e-3, 0.01, 0.1, 0.5, 0.999, 1.0], size=shape[1])
    got = l1.project(W, radii)
    assert got.dtype == dtype
    for l in range(shape[1]):
        expected = W[:, l] if radii[l] == l1.norm(W)[l] else oracles.project_l1_vector(W[:, l], radii[l])
        exact = radii[l] in (0.0, l1.norm(W)[l])
        assert np.abs(got[:, l] - expected).max() <= (0.0 if exact else precision * np.abs(W[:, l]).max())


@pytest.mark.parametrize("n", [3000, 200_000])
@pytest.mark.parametrize("fraction", [1e-3, 0.1, 0.9])
def test_a_misleading_sample_does_not_change_the_result(rng, n, fraction):
    """Either no sampled entry survives, or all sampled entries survive."""
    sampled = np.zeros(n, bool)
    sampled[(n // 8 * np.arange(8)[:, np.newaxis] + np.arange(8)).ravel()] = True  # 8 runs of 8 entries
    for v in (np.where(sampled, 1e-9, rng.normal(size=n)), np.where(sampled, 1e3, rng.normal(size=n))):
        radius, tolerance = l1.norm(v) * fraction, 4e-15 * np.abs(v).max()
        got = l1.project(v, radius)
        assert np.abs(got - oracles.project_l1_vector(v, radius)).max() <= tolerance
        columns = l1.project(np.stack([v, rng.normal(size=n)], axis=1), radius)
        np.testing.assert_allclose(columns[:, 0], got, rtol=0, atol=tolerance)


# Weights


@pytest.mark.parametrize("n_above", [0, 1, 7, 40])
def test_survey_finds_the_entries_above_theta_in_several_blocks_if_there_is_room_for_them(rng, n_above):
    v = rng.normal(size=5 * l1.BLOCK_ENTRIES + 3)
    theta = np.sort(np.abs(v))[-n_above - 1]
    candidates = np.full(n_above, -1)
    _, _, count = l1.survey(v, theta, candidates)
    assert count == n_above
    np.testing.assert_array_equal(candidates, np.flatnonzero(np.abs(v) > theta))
    assert l1.survey(v, 0.0, candidates)[2] == v.size  # without room


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("v", [[-2.0, -1.0, -3.0], [-0.0, 0.0, -1.0], [2.0, -3.0, 5e-324], [-np.inf, -1e30, -2e30]])
def test_largest_number_of_any_sign(v, dtype):
    assert l1.largest_number(np.array(v, dtype)) == np.array(v, dtype).max()


@pytest.mark.parametrize(
    "W, radius, weights, expected",
    [
        ([], 1.0, [], []),
        ([3.0, 1.0], 0, [1.0, 2.0], [0, 0]),
        ([2e-309], 0.0, [1.0], [0]),
        ([5e-324, 2e-309], 1.0, [1.0, 2.0], [5e-324, 2e-309]),
        ([1e-300], 1e308, [1.0], [1e-300]),
        ([1e308, -1e308], 1e308, [1.0, 1.0], [5e307, -5e307]),
        ([1.0, 2.0, 3.0], 1.0, [1e-75, 1.0, 1e75], [1, 1, 0]),
        ([1.0, 2.0], 1e-75, [1e-75, 1.0], [1, 0]),
    ],
)
def test_weighted_corners(W, radius, weights, expected):
    np.testing.assert_allclose(l1.project(W, radius, weights=weights), expected, rtol=1e-15)


# Invalid arguments


@pytest.mark.parametrize(
    "project, v, z, options, message",
    [
        *(
            (project, [1.0], 1.0, {"method": "heap"}, "method must be newton, pivot or sort, got 'heap'$")
            for project in (l1.project, l1.project_simplex, l1.project_nonnegative)
        ),
        (l1.project, [1.0], 1.0, {"weights": [1.0], "method": "sort"}, "method must be newton if .* got 'sort'$"),
        (l1.project, [1.0, 2.0], 1.0, {"weights": [[1.0, 1.0]]}, "weights must be one per feature"),
        (l1.project, [1.0, 2.0], 1.0, {"weights": [[1.0], [1.0]]}, "weights must be one per feature"),
        (l1.project, [1.0, np.nan], 1.0, {"weights": [1.0, 1.0]}, r"W must be finite, got nan at \(1,\)$"),
        *(
            (project, *rest)
            for project in (l1.project_simplex, l1.project_nonnegative)
            for rest in (
                ([1.0], -1.0, {}, r"z must be at least 0, got -1\.0$"),
                ([1.0, np.nan], 1.0, {}, r"v must be finite, got nan at \(1,\)$"),
                ([[1.0], [-np.inf]], 1.0, {}, r"v must be finite, got -inf at \(1, 0\)$"),
                ("one", 1.0, {}, "v must hold real numbers"),
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
