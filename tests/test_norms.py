"""One test per fact, over every registered norm; then the facts of single norms."""

import cvxpy
import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from jointsparse.norms import NORMS, l1, l1inf, l2, l12

EPS = np.finfo(float).eps


@pytest.fixture(params=sorted(NORMS))
def name(request):
    return request.param


@pytest.fixture
def norm(name):
    return NORMS[name]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def matrices(rng):
    """Matrices of many characters."""
    normal = rng.normal(size=(30, 7))
    yield "normal", normal
    yield "heavy tails", rng.standard_t(1.5, size=(30, 7))
    yield "ties", rng.integers(-2, 3, size=(20, 5)).astype(float)
    yield "all equal", np.ones((6, 4))
    yield "zero rows", normal * (rng.random((30, 1)) < 0.5)
    yield "sparse", normal * (rng.random(normal.shape) < 0.2)
    yield "one task", normal[:, :1]
    yield "one feature", normal[:1]
    yield "single", np.array([[-2.0]])
    yield "many tasks", rng.normal(size=(3, 90))
    yield "tiny", normal * 1e-300
    yield "huge", normal * 1e300
    yield "scales", np.array([[1e-150, -2e-150], [1e150, 3e150], [1.0, -1.0]])


def cases(norm, rng):
    """Matrices with radii from well inside to outside, as (what, W, radius)."""
    for what, W in matrices(rng):
        for fraction in (1e-3, 0.01, 0.1, 0.5, 0.99, 1 - EPS / 2):
            yield f"{what}, {fraction} of the norm", W, norm.norm(W) * fraction


def is_per_task(norm):
    return np.ndim(norm.norm(np.ones((2, 2)))) == 1


def unit(W):
    """A power of two near the largest entry, so that products neither overflow nor vanish."""
    return 2.0 ** np.frexp(np.abs(W).max())[1]


# Facts about every norm.


def test_norm_agrees_with_its_formula(name, norm, rng):
    for what, W in matrices(rng):
        got, expected = norm.norm(W), oracles.NORMS[name](W)
        np.testing.assert_allclose(got, expected, rtol=1e-14, err_msg=what)


def test_norm_is_a_float_or_one_number_per_task(norm):
    got = norm.norm(np.ones((3, 2))), norm.dual_norm(np.ones((3, 2)))
    for value in got:
        assert type(value) is float or (value.shape, value.dtype) == ((2,), np.float64)


def test_dual_norm_bounds_inner_products_and_is_reached(norm, rng):
    """<Z, W> <= norm(Z) * dual_norm(W), with equality for W - project(W) and its projection."""
    W, Z = rng.normal(size=(2, 30, 7))
    axis = 0 if is_per_task(norm) else None
    assert np.all((Z * W).sum(axis=axis) <= norm.norm(Z) * norm.dual_norm(W) * (1 + 1e-14))
    B = norm.project(W, norm.norm(W) / 2)
    got, expected = ((W - B) * B).sum(axis=axis), norm.norm(B) * norm.dual_norm(W - B)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_projection_lands_on_the_ball(norm, rng):
    for what, W, radius in cases(norm, rng):
        got = norm.norm(norm.project(W, radius))
        np.testing.assert_allclose(got, radius, rtol=1e-12, err_msg=what)


def test_projection_is_optimal(norm, rng):
    """W - B is normal to the ball at B: <W - B, B> = radius * dual_norm(W - B)."""
    axis = 0 if is_per_task(norm) else None
    for what, W, radius in cases(norm, rng):
        B = norm.project(W, radius)
        scale = unit(W)
        rest, inside = (W - B) / scale, B / scale
        got, expected = (rest * inside).sum(axis=axis), radius / scale * norm.dual_norm(rest)
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-14 * W.size, err_msg=what)


def test_projection_is_closer_than_other_points_of_the_ball(norm, rng):
    W = rng.normal(size=(30, 7))
    radius = norm.norm(W) / 3
    B = norm.project(W, radius)
    for _ in range(100):
        Z = rng.standard_t(1.5, size=W.shape) * (rng.random((30, 1)) < 0.5)
        Z *= radius / np.maximum(norm.norm(Z), 1e-12)
        near = B + 1e-3 * (Z - B)
        assert np.linalg.norm(W - B) <= min(np.linalg.norm(W - Z), np.linalg.norm(W - near))


def test_projection_agrees_with_its_slow_twin(name, norm, rng):
    for what, W, radius in cases(norm, rng):
        got, expected = norm.project(W, radius), oracles.PROJECTIONS[name](W, radius)
        scale = np.abs(W).max()
        assert float(np.abs(got - expected).max() / scale) <= 4e-15, what


def test_projection_agrees_with_a_convex_solver(name, norm, rng):
    expressions = {
        "l1": lambda B: [cvxpy.norm1(B[:, l]) for l in range(B.shape[1])],
        "l12": lambda B: [cvxpy.sum(cvxpy.norm(B, 2, axis=1))],
        "l1inf": lambda B: [cvxpy.sum(cvxpy.max(cvxpy.abs(B), axis=1))],
        "l2": lambda B: [cvxpy.norm(B[:, l], 2) for l in range(B.shape[1])],
    }
    for radius in (0.3, 2.0, 50.0):
        W = rng.normal(size=(6, 4))
        B = cvxpy.Variable(W.shape)
        constraints = [size <= radius for size in expressions[name](B)]
        cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(B - W)), constraints).solve(solver="CLARABEL")
        got, expected = norm.project(W, radius), B.value
        np.testing.assert_allclose(got, expected, atol=1e-4)


def test_a_point_inside_comes_back_bit_for_bit(norm, rng):
    for what, W in matrices(rng):
        for radius in (norm.norm(W), np.multiply(norm.norm(W), 2), np.inf):
            got = norm.project(W, radius)
            assert got.tobytes() == W.tobytes() and got is not W, what


def test_projecting_twice_does_nothing_more(norm, rng):
    for what, W, radius in cases(norm, rng):
        B = norm.project(W, radius)
        np.testing.assert_allclose(norm.project(B, radius), B, rtol=1e-12, atol=1e-15 * np.abs(B).max(), err_msg=what)


def test_signs_and_zeros_are_kept(norm, rng):
    for what, W, radius in cases(norm, rng):
        B = norm.project(W, radius)
        assert np.all((np.sign(B) == np.sign(W)) | (B == 0)), what


def test_projection_brings_points_no_further_apart(norm, rng):
    for radius in (0.01, 1.0, 10.0):
        V, W = rng.normal(size=(2, 30, 7))
        got = np.linalg.norm(norm.project(V, radius) - norm.project(W, radius))
        assert got <= np.linalg.norm(V - W)


def test_the_order_of_features_and_tasks_does_not_matter(norm, rng):
    W = rng.normal(size=(30, 7))
    rows, columns = rng.permutation(30), rng.permutation(7)
    got = norm.project(W[rows][:, columns], 2.0)
    expected = norm.project(W, 2.0)[rows][:, columns]
    np.testing.assert_allclose(got, expected, atol=1e-15)


@pytest.mark.parametrize("power", [-300, -37, 1, 100, 700])
def test_powers_of_two_scale_exactly(norm, rng, power):
    W = rng.normal(size=(30, 7))
    for fraction in (0.01, 0.5, 1 - EPS):
        radius = norm.norm(W) * fraction
        got = norm.project(np.ldexp(W, power), np.ldexp(radius, power))
        expected = np.ldexp(norm.project(W, radius), power)
        np.testing.assert_array_equal(got, expected)


def test_radius_zero_gives_zeros(norm, rng):
    for what, W in matrices(rng):
        got = norm.project(W, 0)
        assert got.shape == W.shape and not got.any(), what


def test_zero_matrix_stays_zero(norm):
    assert not norm.project(np.zeros((4, 3)), 1.0).any()
    assert not norm.prox(np.zeros((4, 3)), 1.0).any()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty_arrays_work(norm, shape):
    W = np.empty(shape)
    assert norm.project(W, 1.0).shape == norm.project(W, 0.0).shape == norm.prox(W, 1.0).shape == shape
    assert np.sum(norm.norm(W)) == np.sum(norm.dual_norm(W)) == 0


def test_sums_that_overflow_are_no_obstacle(norm):
    W = np.full((4, 4), 1.5e308)
    B = norm.project(W, 1e308)
    np.testing.assert_allclose(norm.norm(B), 1e308)
    np.testing.assert_allclose(B, B[0, 0])
    assert norm.project(W, np.inf).tobytes() == W.tobytes()
    np.testing.assert_allclose(norm.prox(W, 1e308) / 1e308, norm.prox(W / 1e308, 1.0))


def test_one_row_beyond_all_others(norm):
    """Rows of scales 1e-150 beside 1e150: the small ones vanish, nothing else happens."""
    W = np.full((3, 2), 1e-150)
    W[1] = 1e150
    B = norm.project(W, 1e149)
    np.testing.assert_allclose(norm.norm(B), 1e149)
    if norm is not l2:  # which shrinks everything alike
        assert not B[[0, 2]].any()


def test_prox_is_optimal(norm, rng):
    """V = W - prox(W, step) has dual_norm(V) <= step and <V, prox> = step * norm(prox)."""
    axis = 0 if is_per_task(norm) else None
    for what, W in matrices(rng):
        scale = unit(W)
        for step in scale * np.array([1e-3, 0.1, 0.5, 1.0, 10.0]):
            B = norm.prox(W, step)
            V = (W - B) / scale
            assert np.all(norm.dual_norm(V) <= step / scale * (1 + 1e-12)), what
            got, expected = (V * (B / scale)).sum(axis=axis), step / scale * (norm.norm(B) / scale)
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14, err_msg=what)


def test_prox_with_step_zero_or_infinite(norm, rng):
    W = rng.normal(size=(5, 3))
    np.testing.assert_array_equal(norm.prox(W, 0), W)
    np.testing.assert_array_equal(norm.prox(W, np.inf), 0 * W)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(norm, rng, dtype):
    W = rng.normal(size=(30, 7)).astype(dtype)
    for radius in (0.1, 2.0, 1000.0):
        got = norm.project(W, radius)
        expected = norm.project(W.astype(float), radius)
        assert got.dtype == norm.prox(W, radius).dtype == dtype
        np.testing.assert_allclose(got, expected, atol=2 * np.finfo(dtype).eps)


def test_other_layouts_and_types_give_the_same(norm, rng):
    W = rng.integers(-9, 9, size=(6, 5)).astype(float)
    expected = norm.project(W, 3.0), norm.prox(W, 3.0), norm.norm(W), norm.dual_norm(W)
    spread = np.zeros((12, 15))
    spread[::2, ::3] = W
    read_only = W.copy()
    read_only.flags.writeable = False
    others = [
        np.asfortranarray(W),
        spread[::2, ::3],
        W[::-1][::-1],
        read_only,
        W.tolist(),
        W.astype(int),
        W.astype(np.int8),
        W.astype(">f8"),
        W.astype(np.float16),
        W.astype(object),
        pd.DataFrame(W),
    ]
    for other in others:
        got = norm.project(other, 3.0), norm.prox(other, 3.0), norm.norm(other), norm.dual_norm(other)
        for one, same in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, same)
            assert np.asarray(one).dtype == np.float64


def test_input_is_left_alone(norm, rng):
    W = rng.normal(size=(30, 7))
    before = W.copy()
    B = norm.project(W, 2.0)
    norm.prox(W, 2.0), norm.norm(W), norm.dual_norm(W)
    np.testing.assert_array_equal(W, before)
    assert not np.shares_memory(B, W)


def test_out_takes_the_result(norm, rng):
    W = rng.normal(size=(30, 7))
    wide = np.zeros((30, 14))
    for radius in (0.0, 2.0, 1000.0):
        expected = norm.project(W, radius)
        for out in (np.empty_like(W), np.empty((7, 30)).T, wide[:, ::2], W.copy()):
            assert norm.project(W, radius, out=out) is out
            np.testing.assert_array_equal(out, expected)
        itself = W.copy()
        norm.project(itself, radius, out=itself)
        np.testing.assert_array_equal(itself, expected)
        fortran = np.asfortranarray(W)
        norm.project(fortran, radius, out=fortran)
        np.testing.assert_array_equal(fortran, expected)
        shifted = np.vstack([W, W[:1]])
        norm.project(shifted[:-1], radius, out=shifted[1:])  # overlaps the input
        np.testing.assert_array_equal(shifted[1:], expected)


def test_unfit_out_is_refused(norm):
    W = np.ones((3, 2))
    read_only = np.ones((3, 2))
    read_only.flags.writeable = False
    for out in (np.ones((2, 3)), np.ones((3, 2), np.float32), [[1.0, 1.0]] * 3, read_only):
        with pytest.raises(ValueError, match="out must be"):
            norm.project(W, 1.0, out=out)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_and_infinity_are_refused(norm, bad, dtype):
    for shape in ((3, 2), (40, 50)):
        W = np.ones(shape, dtype)
        W[2, 1] = bad
        for call in (norm.norm, norm.dual_norm, lambda W: norm.project(W, 1), lambda W: norm.prox(W, 1)):
            with pytest.raises(ValueError, match=rf"^W must be finite, got {bad} at \(2, 1\)$"):
                call(W)


@pytest.mark.parametrize("bad", [1.0, np.ones((2, 2, 2)), np.ones((2, 2)) * 1j, [["a"]], [[1.0], [1.0, 2.0]], None])
def test_what_is_no_real_matrix_is_refused(norm, bad):
    for call in (norm.norm, norm.dual_norm, lambda W: norm.project(W, 1), lambda W: norm.prox(W, 1)):
        with pytest.raises(ValueError, match=r"^W must "):
            call(bad)


@pytest.mark.parametrize("bad, got", [(-3, "-3.0"), (np.nan, "nan"), (-np.inf, "-inf"), (-5e-324, "-5e-324")])
def test_negative_radius_is_refused(norm, bad, got):
    for W in (np.ones((3, 2)), np.empty((0, 2))):
        with pytest.raises(ValueError, match=f"^radius must be at least 0, got {got}$"):
            norm.project(W, bad)
        with pytest.raises(ValueError, match=f"^step must be at least 0, got {got}$"):
            norm.prox(W, bad)


def test_radius_must_be_a_number(norm):
    for bad in ("one", None, [[1.0]], [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match=r"^radius must be"):
            norm.project(np.ones((3, 2)), bad)


# l1,inf


def l1inf_cases(rng):
    return [*cases(l1inf, rng), ("60 x 200", rng.normal(size=(60, 200)), 3.0)]


@pytest.mark.parametrize("method", ["newton", "sort"])
def test_l1inf_theta_and_mu_satisfy_the_kkt_conditions(rng, method):
    for what, W, radius in l1inf_cases(rng):
        B, theta, mu = l1inf.project(W, radius, method=method, return_theta=True)
        top = np.abs(W).max()
        size, tolerance = np.abs(W), 1e-14 * W.shape[1] * top
        removed = np.maximum(size - mu[:, None], 0).sum(axis=1)
        assert theta > 0 and np.all(mu >= 0), what
        np.testing.assert_allclose(mu.sum(), radius, rtol=1e-12, err_msg=what)
        np.testing.assert_allclose(removed[mu > 0], theta, atol=tolerance, err_msg=what)
        assert np.all(size.sum(axis=1)[mu == 0] <= theta + tolerance), what
        np.testing.assert_array_equal(B, np.clip(W, -mu[:, None], mu[:, None]), err_msg=what)


def test_l1inf_methods_and_bisection_agree(rng):
    for what, W, radius in l1inf_cases(rng):
        newton = l1inf.project(W, radius, return_theta=True)
        merged = l1inf.project(W, radius, method="sort", return_theta=True)
        theta, mu = oracles.solve_l1inf(W, radius)
        tolerance = 4e-15 * np.abs(W).max()
        for got in (newton, merged):
            assert abs(got[1] - theta) <= tolerance * W.shape[1], what
            assert np.abs(got[2] - mu).max() <= tolerance, what


def test_l1inf_is_accurate_relative_to_the_result(rng):
    for W in (rng.normal(size=(100, 40)), rng.standard_t(1.5, size=(60, 60)), rng.random((20, 300))):
        for fraction in (0.01, 0.1, 0.5, 0.9):
            radius = l1inf.norm(W) * fraction
            got, expected = l1inf.project(W, radius), oracles.project_l1inf(W, radius)
            assert np.abs(got - expected).max() <= 1e-13 * np.abs(expected).max()


@pytest.mark.parametrize("method", ["newton", "sort"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_l1inf_result_is_inside_to_the_last_digit(rng, method, dtype):
    for what, W, radius in l1inf_cases(rng):
        if dtype == np.float32 and not 1e-30 < np.abs(W).max() < 1e30:
            continue
        B = l1inf.project(W.astype(dtype), radius, method=method)
        assert l1inf.norm(B) <= radius, what
        assert l1inf.project(B, radius).tobytes() == B.tobytes(), what


def test_l1inf_theta_where_nothing_or_everything_is_removed(rng):
    W = rng.normal(size=(30, 7))
    B, theta, mu = l1inf.project(W, 1000.0, return_theta=True)
    assert theta == 0.0
    np.testing.assert_array_equal(mu, np.abs(W).max(axis=1))
    B, theta, mu = l1inf.project(W, 0.0, return_theta=True)
    np.testing.assert_allclose(theta, np.abs(W).sum(axis=1).max(), rtol=1e-15)
    assert not B.any() and not mu.any()
    B, theta, mu = l1inf.project(np.empty((3, 0)), 1.0, return_theta=True)
    assert (B.shape, theta, mu.tolist()) == ((3, 0), 0.0, [0.0, 0.0, 0.0])


def test_l1inf_of_one_task_is_the_l1_ball(rng):
    w = rng.normal(size=(50, 1))
    for radius in (0.01, 1.0, 20.0):
        np.testing.assert_allclose(l1inf.project(w, radius), l1.project(w, radius), atol=1e-14)


def test_l1inf_of_one_feature_clips(rng):
    w = rng.normal(size=(1, 50))
    for radius in (0.01, 1.0, 20.0):
        np.testing.assert_allclose(l1inf.project(w, radius), np.clip(w, -radius, radius), atol=1e-15)


def test_l1inf_projection_is_the_prox_with_step_theta(rng):
    W = rng.normal(size=(30, 7))
    for radius in (0.1, 1.0, 20.0):
        B, theta, _ = l1inf.project(W, radius, return_theta=True)
        np.testing.assert_allclose(l1inf.prox(W, theta), B, atol=1e-14)


def test_l1inf_unknown_method_is_refused():
    with pytest.raises(ValueError, match=r"^method must be newton or sort, got 'bisect'$"):
        l1inf.project(np.ones((2, 2)), 1.0, method="bisect")


@settings(deadline=None, max_examples=150)
@given(
    W=arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.integers(-4, 4) | st.floats(-1e6, 1e6) | st.sampled_from([1e-300, -1e-9, 1e9, 3e300]),
    ),
    fraction=st.floats(0, 1) | st.sampled_from([1e-300, 1e-17, 1 - EPS, 0.5]),
)
def test_l1inf_of_any_matrix(W, fraction):
    radius = l1inf.norm(W) * fraction
    expected = oracles.project_l1inf(W, radius)
    for method in ("newton", "sort"):
        got = l1inf.project(W, radius, method=method)
        assert l1inf.norm(got) <= radius
        assert np.abs(got - expected).max() <= 4e-15 * np.abs(W).max()


# l1, l2


@pytest.mark.parametrize("norm", [l1, l2])
def test_each_task_may_have_its_own_radius(norm, rng):
    W = rng.normal(size=(30, 4))
    radii = [0.0, 0.5, 2.0, 1000.0]
    for verb in (norm.project, norm.prox):
        got = verb(W, radii)
        expected = np.stack([verb(w, radius) for w, radius in zip(W.T, radii, strict=True)], axis=1)
        np.testing.assert_allclose(got, expected, rtol=4 * EPS)
    with pytest.raises(ValueError, match=r"^radius must be at least 0, got -2\.0$"):
        norm.project(W, [1.0, -2.0, 3.0, -4.0])


@pytest.mark.parametrize("norm", [l1, l2])
def test_a_vector_is_one_task(norm, rng):
    w = rng.normal(size=30)
    np.testing.assert_array_equal(norm.project(w, 1.0), norm.project(w[:, np.newaxis], 1.0)[:, 0])
    np.testing.assert_array_equal(norm.prox(w, 0.1), norm.prox(w[:, np.newaxis], 0.1)[:, 0])
    assert type(norm.norm(w)) is type(norm.dual_norm(w)) is float
    assert norm.norm(w) == norm.norm(w[:, np.newaxis])[0]
    itself = w.copy()
    assert norm.project(itself, 1.0, out=itself) is itself
    np.testing.assert_array_equal(itself, norm.project(w, 1.0))


@pytest.mark.parametrize("norm", [l1, l2])
def test_a_huge_task_does_not_disturb_a_tiny_one(norm):
    W = np.array([[1e-300, 1.5e308], [2e-300, 1.5e308], [0.0, 1.5e308]])
    B = norm.project(W, 1.0)
    np.testing.assert_array_equal(B[:, 0], W[:, 0])
    np.testing.assert_allclose(norm.norm(B)[1], 1.0)


@pytest.mark.parametrize("method", ["pivot", "sort"])
@pytest.mark.parametrize("z", [1e-300, 1e-12, 0.5, 1.0, 10.0, 1e4])
def test_simplex_agrees_with_bisection(rng, method, z):
    vectors = [
        rng.normal(size=100),
        -rng.random(50),
        rng.integers(-3, 3, size=40),
        np.sort(rng.standard_t(1.5, size=60)),
        1e8 + np.arange(5.0),
        [7.0],
        np.zeros(3),
    ]
    for v in vectors:
        got, expected = l1.project_simplex(v, z, method=method), oracles.project_simplex(v, z)
        np.testing.assert_allclose(got.sum(), z, rtol=1e-13)
        np.testing.assert_allclose(got, expected.astype(float), rtol=0, atol=4e-15 * z)


@pytest.mark.parametrize("method", ["pivot", "sort"])
def test_simplex_corners(method):
    np.testing.assert_array_equal(l1.project_simplex([-5, 1], 1, method=method), [0, 1])
    np.testing.assert_array_equal(l1.project_simplex([3.0, 1.0], 0, method=method), [0, 0])
    np.testing.assert_array_equal(l1.project_simplex([], 0, method=method), [])
    np.testing.assert_allclose(l1.project_simplex([1e308, -1.7e308, 1e308], 1e308, method=method), [5e307, 0, 5e307])
    assert l1.project_simplex(np.ones(3, np.float32), 1, method=method).dtype == np.float32


def test_simplex_refuses_what_it_cannot_do():
    for v, z, message in [
        ([1.0], -1.0, r"^z must be at least 0, got -1\.0$"),
        ([], 1.0, "^z must be reachable"),
        ([1.0], np.inf, "^z must be reachable"),
        ([[1.0]], 1.0, "^v must be a vector"),
        ([np.nan], 1.0, "^v must be finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            l1.project_simplex(v, z)
    with pytest.raises(ValueError, match=r"^method must be newton, pivot or sort, got 'heap'$"):
        l1.project_simplex([1.0], 1.0, method="heap")


def test_pivots_take_linear_time_on_ties_and_sorted_input():
    """A quadratic search would need minutes here."""
    n = 200_000
    for v in (np.r_[np.ones(n), 100.0], np.arange(n) / n, -np.arange(n) / n, np.r_[np.arange(n), np.arange(n)[::-1]]):
        for z in (1.0, 1000.0):
            got, expected = l1.project_simplex(v, z), l1.project_simplex(v, z, method="sort")
            np.testing.assert_allclose(got, expected, atol=1e-13 * z)


def test_l12_of_one_task_is_the_l1_ball(rng):
    w = rng.normal(size=(50, 1))
    np.testing.assert_allclose(l12.project(w, 1.0), l1.project(w, 1.0), atol=1e-15)


def test_l12_keeps_zero_rows_however_near_the_radius_is_to_the_norm(rng):
    for dtype in (np.float64, np.float32):
        for _ in range(300):
            W = (rng.uniform(size=(4, 2)) * (rng.random((4, 1)) < 0.7)).astype(dtype)
            for radius in (l12.norm(W), np.nextafter(l12.norm(W), 0), l12.norm(W) * 0.5):
                got = l12.project(W, radius)
                assert not got[W == 0].any()
                assert not l12.project(got, radius)[got == 0].any()
    W = [[0.41643062916792795], [0.8523841701715669], [0.0], [0.47138529765377946]]
    np.testing.assert_allclose(l12.project(W, 1.7402000969932743), W, rtol=1e-15)


def test_l1inf_warm_start_gives_the_cold_projection_whatever_it_remembers(rng):
    warm = l1inf.Warm()
    W = rng.normal(size=(300, 7))
    for step in range(60):
        W += 0.05 * rng.normal(size=W.shape)
        scale = 10.0 ** rng.integers(-12, 13) if step % 7 == 6 else 1.0  # now and then another matrix altogether
        radius = rng.uniform(1e-4, 1.1) * l1inf.norm(scale * W)
        got = l1inf.project(scale * W, radius, warm=warm)
        expected = l1inf.project(scale * W, radius, method="sort")
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14 * np.abs(scale * W).max())
        assert l1inf.norm(got) <= radius


@pytest.mark.parametrize("memory", [np.full(40, 1e300), np.full(40, -1.0), np.zeros(40), np.zeros(3)])
@pytest.mark.parametrize("theta", [0.0, 1e-300, 1e300])
def test_l1inf_warm_start_from_nonsense_is_still_exact(rng, memory, theta):
    warm = l1inf.Warm()
    warm.theta, warm.mu = theta, memory
    W = rng.normal(size=(40, 9))
    got = l1inf.project(W, 3.0, warm=warm)
    np.testing.assert_allclose(got, l1inf.project(W, 3.0), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_l1inf_newton_agrees_with_sort_where_it_guesses_from_a_sample(rng, dtype):
    for _ in range(40):
        d, m = rng.integers(256, 900), rng.integers(1, 12)
        W = (rng.standard_t(rng.uniform(1, 5), size=(d, m)) * rng.gamma(0.5, size=(d, 1))).astype(dtype)
        W[rng.random(d) < 0.2] = 0
        radius = 10 ** rng.uniform(-4, 0) * l1inf.norm(W)
        got = l1inf.project(W, radius)
        expected = l1inf.project(W.astype(np.float64), radius, method="sort")
        np.testing.assert_allclose(got, expected, rtol=0, atol=20 * np.finfo(dtype).eps * np.abs(W).max())
