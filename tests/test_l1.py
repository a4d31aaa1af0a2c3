"""Facts of the l1 ball, the simplex and their relatives; what every norm must do is in test_norms.py."""

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jointsparse.norms import l1

EPS = np.finfo(float).eps
METHODS = ["newton", "pivot", "sort"]

numbers = (
    st.integers(-3, 3).map(float)
    | st.floats(-1e6, 1e6)
    | st.sampled_from([1e-300, -1e-300, 1e-9, -1e9, 1e300, -3e300, 0.0, -0.0])
)
vectors = arrays(np.float64, st.integers(0, 50), elements=numbers)
fractions = st.floats(0, 1) | st.sampled_from([1e-300, 1e-17, 1e-3, 0.5, 1 - EPS])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draws(rng, n):
    yield "normal", rng.normal(size=n)
    yield "uniform", rng.uniform(-1, 1, size=n)
    yield "heavy tails", rng.standard_t(1.5, size=n)
    yield "ties", rng.integers(-3, 4, size=n).astype(float)
    yield "sorted", np.sort(rng.normal(size=n))
    yield "periodic", np.tile(rng.standard_t(1.5, size=97), -(-n // 97))[:n]
    yield "one large", np.r_[np.full(n - 1, 1e-3), 1e3]


# The l1 ball


def test_the_norm_is_infinite_where_sums_overflow():
    assert l1.norm([1e308, -1e308]) == np.inf
    np.testing.assert_array_equal(l1.norm([[1e308, 1.0], [1e308, 2.0]]), [np.inf, 3.0])


@settings(deadline=None, max_examples=300)
@given(v=vectors, fraction=fractions)
def test_any_vector_any_method(v, fraction):
    radius = l1.norm(v) * fraction
    expected = oracles.project_l1_vector(v, radius)
    top = np.abs(v).max(initial=0.0)
    for method in METHODS:
        got = l1.project(v, radius, method=method)
        assert np.abs(got - expected).max(initial=0) <= 4e-15 * top
        assert l1.norm(got) <= radius * (1 + 1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1000, 5000, 200_000])
def test_long_vectors_agree_with_extended_precision(rng, method, n):
    for what, v in draws(rng, n):
        for fraction in (1e-3, 0.01, 0.1, 0.5, 0.999):
            radius = l1.norm(v) * fraction
            got, expected = l1.project(v, radius, method=method), oracles.project_l1_by_sorting(v, radius)
            error = float(np.abs(got - expected).max())
            assert error <= 4e-15 * np.abs(v).max(), (what, fraction)
            if fraction >= 0.01:
                assert error <= 1e-13 * np.abs(got).max(), (what, fraction)


def test_float32_is_computed_to_its_own_rounding(rng):
    for n in (10, 1000, 100_000):
        for what, v in draws(rng, n):
            v = v.astype(np.float32)
            for fraction in (1e-3, 0.1, 0.5):
                radius = l1.norm(v) * fraction
                got, expected = l1.project(v, radius), l1.project(v.astype(float), radius)
                assert got.dtype == np.float32
                assert np.abs(got - expected).max() <= 2 * np.finfo(np.float32).eps * np.abs(v).max(), what


def test_large_and_tiny_float32(rng):
    v = rng.normal(size=5000)
    for scale in (1e-38, 1e37):
        w = (v * scale).astype(np.float32)
        radius = l1.norm(w) / 3
        np.testing.assert_allclose(l1.norm(l1.project(w, radius)), radius, rtol=1e-4)


@pytest.mark.parametrize("power", [-700, -37, 1, 600])
def test_powers_of_two_scale_long_vectors_exactly(rng, power):
    for what, v in draws(rng, 5000):
        radius = l1.norm(v) / 7
        got = l1.project(np.ldexp(v, power), np.ldexp(radius, power))
        np.testing.assert_array_equal(got, np.ldexp(l1.project(v, radius), power), err_msg=what)


@pytest.mark.parametrize("method", METHODS)
def test_one_ulp_decides_what_is_inside(rng, method):
    v = rng.normal(size=1000)
    size = l1.norm(v)
    assert l1.project(v, size, method=method).tobytes() == v.tobytes()
    assert l1.project(v, np.nextafter(size, 9e9), method=method).tobytes() == v.tobytes()
    outside = l1.project(v, np.nextafter(size, 0), method=method)
    np.testing.assert_allclose(outside, v, rtol=0, atol=4 * EPS)


def projections():
    """Every way to project the columns of V onto a set that contains 0, as (what, project)."""
    for method in METHODS:
        for project in (l1.project, l1.project_nonnegative):
            yield f"{project.__name__}, {method}", functools.partial(project, method=method)
    yield "one by one", lambda V, z: np.stack([l1.project(v, r) for v, r in zip(V.T, z, strict=True)], axis=1)
    yield "weights", lambda V, z: l1.project(V, z, weights=np.ones(len(V)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(4, 700), (30, 300), (300, 100), (5000, 9)])
def test_zeros_stay_zeros_however_near_the_radius_is_to_the_norm(rng, dtype, shape):
    V = (rng.uniform(size=shape) * (rng.random(shape) < 0.7)).astype(dtype)
    size = l1.norm(V)
    for what, project in projections():
        for radii in (size, np.nextafter(size, 0), np.nextafter(size, np.inf), size * (1 - 3e-8), size * 0.5):
            got = project(V, radii)
            assert not got[V == 0].any(), what
            assert not project(got, radii)[got == 0].any(), what
            np.testing.assert_allclose(l1.norm(got), np.minimum(radii, size), rtol=64 * np.finfo(dtype).eps)


@settings(deadline=None, max_examples=200)
@given(v=vectors, fraction=fractions, dtype=st.sampled_from([np.float64, np.float32]))
def test_no_projection_adds_entries(v, fraction, dtype):
    v = (v if dtype == np.float64 else np.clip(v, -1e37, 1e37)).astype(dtype)
    V = np.stack([v, np.abs(v)], axis=1)
    for what, project in projections():
        got = project(V, l1.norm(V) * fraction)
        assert not got[V == 0].any(), what
        assert not project(got, l1.norm(V) * fraction)[got == 0].any(), what


def test_a_zero_among_entries_that_sum_to_the_radius():
    v, radius = np.array([0.41643062916792795, 0.8523841701715669, 0, 0.47138529765377946]), 1.7402000969932743
    assert radius < l1.norm(v)
    for method in METHODS:
        for project in (l1.project, l1.project_nonnegative):
            np.testing.assert_allclose(project(v, radius, method=method), v, rtol=1e-15)
    np.testing.assert_allclose(l1.project(v, radius, weights=np.ones(4)), v, rtol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_negative_zeros_inside_come_back(method):
    for W in (np.array([-0.0, 1.0, 0.0]), np.array([[-0.0, 9.0], [1.0, -0.0]])):
        got = l1.project(W, 2.0, method=method)
        inside = W.ndim == 1
        assert np.signbit(got.ravel()[0]) and (not inside or got.tobytes() == W.tobytes())


@pytest.mark.parametrize("method", METHODS)
def test_what_becomes_zero_is_positive_zero(method):
    assert not np.signbit(l1.project([-1.0, 5.0], 1.0, method=method)[0])


@pytest.mark.parametrize("method", METHODS)
def test_corners(method):
    np.testing.assert_array_equal(l1.project([], 1.0, method=method), [])
    np.testing.assert_array_equal(l1.project([], 0.0, method=method), [])
    np.testing.assert_array_equal(l1.project([-3.0], 2.0, method=method), [-2])
    np.testing.assert_array_equal(l1.project([3.0, -3.0], 0.0, method=method), [0, 0])
    np.testing.assert_array_equal(l1.project([3.0, -3.0, 1.0], 2.0, method=method), [1, -1, 0])
    np.testing.assert_array_equal(l1.project([3.0, -3.0], 5, method=method), [2.5, -2.5])
    np.testing.assert_allclose(l1.project([1.0, 1e-300], 1e-320, method=method), [1e-320, 0])


def test_a_radius_too_small_to_show_beside_the_entries_is_kept(rng):
    v = np.r_[np.full(3, 1e8), rng.normal(size=2000)]
    for radius in (1e-300, 1e-12, 1e-7):
        got = l1.project(v, radius)
        np.testing.assert_allclose(got[:3], radius / 3, rtol=1e-14)
        assert not got[3:].any()


def test_neighbouring_floats_do_not_confuse_newton():
    """theta lies between two floats that are next to each other."""
    for k in range(1, 40):
        v = np.nextafter(1.0, 2.0) + EPS * (np.arange(100) % k)
        for radius in EPS * np.array([0.1, 0.5, 1.0, 3.0, 17.0, 1e3]):
            got, expected = l1.project(v, radius), oracles.project_l1_vector(v, radius)
            np.testing.assert_allclose(got, expected.astype(float), atol=EPS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(7, 1), (3, 9), (600, 17), (3000, 40)])
def test_columns_are_projected_each_for_itself(rng, method, shape):
    W = rng.standard_t(1.5, size=shape)
    radii = l1.norm(W) * rng.uniform(0, 1.1, size=shape[1])
    got = l1.project(W, radii, method=method)
    expected = np.stack([l1.project(w, z, method=method) for w, z in zip(W.T, radii, strict=True)], axis=1)
    # The sums over a column are taken in another order when all columns are swept at once.
    np.testing.assert_allclose(got, expected, rtol=0, atol=2 * EPS * np.abs(W).max() if method == "newton" else 0)
    np.testing.assert_array_equal(got[:, l1.norm(W) <= radii], W[:, l1.norm(W) <= radii])
    itself = W.copy()
    assert l1.project(itself, radii, method=method, out=itself) is itself
    np.testing.assert_array_equal(itself, got)


@pytest.mark.parametrize("dtype, precision", [(np.float64, 4e-15), (np.float32, 2 * np.finfo(np.float32).eps)])
@pytest.mark.parametrize("shape", [(60, 40), (700, 3), (5000, 7), (40, 1500), (3001, 41)])
def test_columns_agree_with_extended_precision(rng, dtype, precision, shape):
    """Each column of another character, swept together, with radii from tiny to outside."""
    columns = [v for _ in range(shape[1] // 7 + 1) for _, v in draws(rng, shape[0])]
    W = np.stack(columns[: shape[1]], axis=1).astype(dtype)
    radii = l1.norm(W) * rng.choice([0.0, 1e-12, 1e-3, 0.01, 0.1, 0.5, 0.999, 1.0], size=shape[1])
    got = l1.project(W, radii)
    assert got.dtype == dtype
    for l in range(shape[1]):
        if radii[l] == l1.norm(W)[l] or radii[l] == 0.0:
            np.testing.assert_array_equal(got[:, l], W[:, l] if radii[l] else 0)
        else:
            expected = oracles.project_l1_by_sorting(W[:, l], radii[l])
            assert np.abs(got[:, l] - expected).max() <= precision * np.abs(W[:, l]).max()
    again = W.copy()
    l1.project(again, radii, out=again)
    assert again.tobytes() == got.tobytes()


@pytest.mark.parametrize("power", [-700, 600])
def test_powers_of_two_scale_columns_exactly(rng, power):
    W = rng.standard_t(1.5, size=(3000, 40))
    radii = l1.norm(W) * rng.uniform(0, 1.1, size=40)
    got = l1.project(np.ldexp(W, power), np.ldexp(radii, power))
    np.testing.assert_array_equal(got, np.ldexp(l1.project(W, radii), power))


@pytest.mark.parametrize("project", [l1.project, l1.project_nonnegative])
@pytest.mark.parametrize("n", [200, 1000, 20_000])
def test_an_infinite_radius_leaves_long_tasks_alone(rng, project, n):
    W = np.abs(rng.normal(size=(n, 5)))
    assert project(W[:, 0].copy(), np.inf).tobytes() == W[:, 0].tobytes()
    radii = np.array([np.inf, 1.0, 1e300, 0.1 * n, np.inf])
    got = project(W, radii)
    np.testing.assert_array_equal(got[:, [0, 2, 4]], W[:, [0, 2, 4]])
    np.testing.assert_allclose(l1.norm(got)[[1, 3]], radii[[1, 3]], rtol=1e-12)


@pytest.mark.parametrize("n", [3000, 200_000])
def test_a_sample_that_misleads_does_no_harm(rng, n):
    """All entries that survive are where no sample looks, or all that a sample sees are among them."""
    sampled = np.zeros(n, bool)
    for stretch in range(64 // 8):
        sampled[stretch * (n // 8) :][:8] = True
    for v in (np.where(sampled, 1e-9, rng.normal(size=n)), np.where(sampled, 1e3, rng.normal(size=n))):
        for fraction in (1e-3, 0.1, 0.9):
            radius = l1.norm(v) * fraction
            error = np.abs(l1.project(v, radius) - oracles.project_l1_by_sorting(v, radius)).max()
            assert error <= 4e-15 * np.abs(v).max()
            columns = l1.project(np.stack([v, rng.normal(size=n)], axis=1), radius)
            np.testing.assert_allclose(columns[:, 0], l1.project(v, radius), rtol=0, atol=4e-15 * np.abs(v).max())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(5000,), (5000, 3), (200, 3)])
def test_nan_and_infinity_are_noticed_wherever_they_are(rng, bad, shape):
    for place in (0, 1, 128, 199):
        v = rng.normal(size=shape)
        v.flat[place] = bad
        for call in (l1.norm, l1.dual_norm, lambda v: l1.project(v, 1.0)):
            with pytest.raises(ValueError, match=f"must be finite, got {bad}"):
                call(v)


def test_unknown_method_is_refused():
    for call in (l1.project, l1.project_simplex, l1.project_nonnegative):
        with pytest.raises(ValueError, match=r"^method must be newton, pivot or sort, got 'heap'$"):
            call([1.0], 1.0, method="heap")


def test_eight_threads_get_the_same(rng):
    tasks = [(v, l1.norm(v) * 0.1) for n in (100, 3000, 50_000) for _, v in draws(rng, n)] * 8
    tasks += [(rng.normal(size=(200, 30)), 3.0)] * 8
    expected = [l1.project(v, z) for v, z in tasks]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda task: l1.project(*task), tasks))
    for one, same in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, same)


# Weights


@settings(deadline=None, max_examples=150)
@given(
    pairs=st.lists(st.tuples(numbers, st.sampled_from([1.0, 0.5, 3.0]) | st.floats(1e-3, 1e3)), max_size=50),
    fraction=fractions,
)
def test_weighted_any_vector(pairs, fraction):
    v, a = np.array(pairs, dtype=float).reshape(-1, 2).T
    radius = float((a * np.abs(v)).sum() * fraction)
    got, expected = l1.project(v, radius, weights=a), oracles.project_l1_weighted(v, a, radius)
    scale = np.abs(v).max(initial=0)
    spread = a.max(initial=1) / a.min(initial=1)
    # No float64 is nearer to the oracle's extended precision than half of the smallest one.
    assert np.abs(got - expected).max(initial=0) <= 4e-15 * scale * spread + 5e-324


def test_weighted_subnormal_vector():
    np.testing.assert_array_equal(l1.project([5e-324, 2e-309], 1.0, weights=[1.0, 2.0]), [5e-324, 2e-309])
    np.testing.assert_array_equal(l1.project([2e-309], 0.0, weights=[1.0]), [0.0])


def test_weights_of_one_change_nothing(rng):
    W = rng.normal(size=(300, 4))
    np.testing.assert_allclose(l1.project(W, 5.0, weights=np.ones(300)), l1.project(W, 5.0), atol=1e-15)


def test_weighted_constraint_is_active(rng):
    W = rng.normal(size=(300, 4))
    for a in (rng.uniform(0.1, 10, size=300), rng.uniform(0.1, 10, size=(300, 4))):
        got = l1.project(W, [1.0, 10.0, 100.0, 1e5], weights=a)
        spent = ((a if a.ndim == 2 else a[:, None]) * np.abs(got)).sum(axis=0)
        np.testing.assert_allclose(spent[:3], [1.0, 10.0, 100.0], rtol=1e-13)
        np.testing.assert_array_equal(got[:, 3], W[:, 3])


def test_weighted_corners():
    np.testing.assert_array_equal(l1.project([3.0, 1.0], 0, weights=[1.0, 2.0]), [0, 0])
    np.testing.assert_array_equal(l1.project([], 1.0, weights=[]), [])
    np.testing.assert_allclose(l1.project([1e308, -1e308], 1e308, weights=[1.0, 1.0]), [5e307, -5e307])


def test_weights_do_not_depend_on_the_unit(rng):
    v, a = rng.normal(size=50), rng.uniform(0.5, 2, size=50)
    expected = l1.project(v, 3.0, weights=a)
    np.testing.assert_array_equal(l1.project(np.ldexp(v, 400), np.ldexp(3.0, 400), weights=a), np.ldexp(expected, 400))
    np.testing.assert_array_equal(l1.project(v, np.ldexp(3.0, -400), weights=np.ldexp(a, -400)), expected)


@pytest.mark.parametrize("bad", [[1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], [1.0], [[1.0, 1.0]]])
def test_unfit_weights_are_refused(bad):
    with pytest.raises(ValueError, match=r"^weights must"):
        l1.project([1.0, 2.0], 1.0, weights=bad)


def test_weights_may_differ_much_but_not_beyond_all_bounds():
    np.testing.assert_array_equal(l1.project([1.0, 2.0, 3.0], 1.0, weights=[1e-75, 1.0, 1e75]), [1, 1, 0])
    np.testing.assert_array_equal(l1.project([1.0, 2.0], 1e-75, weights=[1e-75, 1.0]), [1, 0])
    np.testing.assert_array_equal(l1.project(np.ones((2, 2)), 2e300, weights=[[1e-300, 1e300], [1e-300, 1e299]]), 1)
    with pytest.raises(
        ValueError, match=r"^weights must differ by a factor of at most 2\^500 .* got 1e-300 and 1e\+300$"
    ):
        l1.project([1.0, 2.0, 3.0], 1.0, weights=[1e-300, 1.0, 1e300])


def test_a_weighted_radius_beyond_all_numbers_leaves_w_alone():
    np.testing.assert_array_equal(l1.project([1e-300], 1e308, weights=[1.0]), [1e-300])


def test_weights_go_with_newton_only():
    with pytest.raises(ValueError, match=r"^method must be newton where weights are given, got 'sort'$"):
        l1.project([1.0], 1.0, weights=[1.0], method="sort")


# Simplex and non-negative orthant


@settings(deadline=None, max_examples=200)
@given(v=vectors, z=st.sampled_from([1e-300, 1e-9, 0.5, 1.0, 1e6, 1e300]) | st.floats(0, 100, allow_subnormal=False))
def test_simplex_any_vector(v, z):
    if not v.size:
        return
    expected = oracles.project_simplex(v, z)
    for method in METHODS:
        got = l1.project_simplex(v, z, method=method)
        assert np.abs(got - expected).max() <= 4e-15 * max(np.abs(v).max(), z)
        assert got.min() >= 0
        if z < 1e300:
            np.testing.assert_allclose(got.sum(), z, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("method", METHODS)
def test_simplex_of_long_vectors(rng, method):
    for n in (1000, 50_000):
        for what, v in draws(rng, n):
            for z in (1e-12, 1.0, 1e6):
                got = l1.project_simplex(v, z, method=method)
                u = np.sort(v.astype(np.longdouble))[::-1]
                theta = ((np.cumsum(u) - z) / np.arange(1, n + 1)).max()
                scale = max(np.abs(v).max(), z)
                np.testing.assert_allclose(
                    got, np.maximum(v - theta, 0).astype(float), atol=4e-15 * scale, err_msg=what
                )
                np.testing.assert_allclose(got.sum(), z, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_simplex_in_float32_ends_where_its_numbers_end(method):
    most = np.finfo(np.float32).max
    for v in ([1.0, 2.0], [most, most], [-most, most, 0.0], [5.0]):
        got, expected = l1.project_simplex(np.float32(v), most, method=method), oracles.project_simplex(v, float(most))
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    with pytest.raises(ValueError, match=r"^z must be reachable by 2 finite numbers \(float32\), got 1e\+39$"):
        l1.project_simplex(np.float32([1.0, 2.0]), 1e39, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_simplex_with_negative_entries_whose_sum_is_z(method):
    np.testing.assert_array_equal(l1.project_simplex([-5.0, 1.0, 5.0], 1.0, method=method), [0, 0, 1])


@pytest.mark.parametrize("method", METHODS)
def test_all_negative_entries(method):
    np.testing.assert_allclose(l1.project_simplex([-5.0, -2.0, -2.5], 1.0, method=method), [0, 0.75, 0.25])
    np.testing.assert_array_equal(l1.project_nonnegative([-5.0, -2.0, -2.5], 1.0, method=method), [0, 0, 0])


@settings(deadline=None, max_examples=100)
@given(v=vectors, z=st.sampled_from([0.0, 1e-9, 0.5, 1e6]) | st.floats(0, 100))
def test_nonnegative_any_vector(v, z):
    expected = oracles.project_nonnegative(v, z)
    for method in METHODS:
        got = l1.project_nonnegative(v, z, method=method)
        assert np.abs(got - expected).max(initial=0) <= 4e-15 * max(np.abs(v).max(initial=0), z)


def test_nonnegative_columns_and_radii(rng):
    V = rng.normal(size=(500, 11))
    z = rng.uniform(0, 300, size=11)
    expected = np.stack([l1.project_nonnegative(v, r) for v, r in zip(V.T, z, strict=True)], axis=1)
    got = l1.project_nonnegative(V, z)
    np.testing.assert_allclose(got, expected, rtol=0, atol=2 * EPS * np.abs(V).max())  # sums in another order
    assert l1.project_nonnegative(V, np.inf).tobytes() == np.maximum(V, 0.0).tobytes()
    out = np.empty_like(V)
    assert l1.project_nonnegative(V, z, out=out) is out
    np.testing.assert_array_equal(out, got)


def test_nonnegative_refuses():
    with pytest.raises(ValueError, match=r"^z must be at least 0, got -1\.0$"):
        l1.project_nonnegative([1.0], -1.0)
    with pytest.raises(ValueError, match=r"^v must be finite, got nan at \(1,\)$"):
        l1.project_nonnegative([1.0, np.nan], 1.0)
