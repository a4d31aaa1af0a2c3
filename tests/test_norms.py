"""Facts that hold for every registered norm, one test each; then facts of the papers' four norms.

A new norm needs no entry here. Its four verbs are checked by their definitions. Norm and dual norm must fulfil Hölder's
inequality and reach equality. project and prox must fulfil their conditions of optimality and agree with oracles.py.
"""

import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import cvxpy
import numpy as np
import oracles
import pandas as pd
import pytest

from jointsparse.norms import NORMS, l1, l1inf, l2, l12

EPS = np.finfo(float).eps
SLOW = {l1: oracles.project_l1, l12: oracles.project_l12, l1inf: oracles.project_l1inf}  # with weights
PER_TASK = [pytest.param(norm, id=name) for name, norm in NORMS.items() if norm.PER_TASK]
WARM = [pytest.param(norm, id=name) for name, norm in NORMS.items() if norm.WARM]
SPARSE = [pytest.param(norm, id=name) for name, norm in NORMS.items() if norm.SPARSE]
WEIGHTED = [pytest.param(norm, id=name) for name, norm in NORMS.items() if norm.WEIGHTED]
GROUPED = [pytest.param(norm, id=name) for name, norm in NORMS.items() if norm.GROUPED]


@pytest.fixture(params=sorted(NORMS))
def norm(request):
    return NORMS[request.param]


def matrices(rng):
    """Matrices of many kinds, by name."""
    normal = rng.normal(size=(30, 7))
    return {
        "normal": normal,
        "heavy tails": rng.standard_t(1.5, size=(30, 7)),
        "ties": rng.integers(-2, 3, size=(20, 5)).astype(float),
        "all equal": np.ones((6, 4)),
        "zero rows": normal * (rng.random((30, 1)) < 0.5),
        "sparse": normal * (rng.random(normal.shape) < 0.2),
        "one task": normal[:, :1],
        "one feature": normal[:1],
        "single": np.array([[-2.0]]),
        "many tasks": rng.normal(size=(3, 90)),
        "tiny": normal * 1e-300,
        "huge": normal * 1e300,
        "scales": np.array([[1e-150, -2e-150], [1e150, 3e150], [1.0, -1.0]]),
    }


def cases(norm, rng):
    """Name, matrix, radius from well inside to just inside the norm, and the projection."""
    for what, W in matrices(rng).items():
        for fraction in (1e-3, 0.01, 0.1, 0.5, 0.99, 1 - EPS / 2):
            radius = norm.norm(W) * fraction
            yield f"{what}, {fraction} of the norm", W, radius, norm.project(W, radius)


def inner(norm, V, W):
    """<V, W>, for a norm per task that of each column."""
    return (V * W).sum(axis=0 if norm.PER_TASK else None)


def unit(W):
    """Return a power of two near the largest entry, so that products neither overflow nor vanish."""
    return 2.0 ** np.frexp(np.abs(W).max())[1]


def verbs(norm):
    return norm.norm, norm.dual_norm, partial(norm.project, radius=3.0), partial(norm.prox, step=3.0)


# Norm and dual norm


def test_norm_and_dual_norm_are_norms(norm, rng):
    V, W = rng.normal(size=(2, 30, 7))
    for size in (norm.norm, norm.dual_norm):
        assert np.all(size(W) > 0) and not np.any(size(0 * W))
        assert np.all(size(V + W) <= (size(V) + size(W)) * (1 + 1e-14))
        np.testing.assert_allclose(size(-3 * W), 3 * size(W), rtol=1e-14)


def test_norm_is_a_float_or_one_number_per_task_as_declared(norm):
    for size in (norm.norm, norm.dual_norm):
        got = size(np.ones((3, 2)))
        assert (got.shape, got.dtype) == ((2,), np.float64) if norm.PER_TASK else type(got) is float


def test_dual_norm_bounds_inner_products_and_is_reached(norm, rng):
    """<Z, W> <= norm(Z) * dual_norm(W), with equality for W - project(W) and its projection."""
    W, Z = rng.normal(size=(2, 30, 7))
    assert np.all(inner(norm, Z, W) <= norm.norm(Z) * norm.dual_norm(W) * (1 + 1e-14))
    B = norm.project(W, norm.norm(W) / 2)
    got, expected = inner(norm, W - B, B), norm.norm(B) * norm.dual_norm(W - B)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


# Projection


def test_projection_lands_on_the_ball(norm, rng):
    for what, _, radius, B in cases(norm, rng):
        np.testing.assert_allclose(norm.norm(B), radius, rtol=1e-12, err_msg=what)


def test_projection_is_optimal(norm, rng):
    """W - B is normal to the ball at B: <W - B, B> = radius * dual_norm(W - B)."""
    for what, W, radius, B in cases(norm, rng):
        rest = (W - B) / unit(W)
        got, expected = inner(norm, rest, B / unit(W)), radius / unit(W) * norm.dual_norm(rest)
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


def test_projection_agrees_with_bisection(norm, rng):
    for what, W, radius, got in cases(norm, rng):
        expected = oracles.project(norm, W, radius)
        assert np.abs(got - expected).max() <= 1e-13 * np.abs(W).max(), what


def test_a_point_inside_comes_back_bit_for_bit(norm, rng):
    for what, W in matrices(rng).items():
        for radius in (norm.norm(W), np.multiply(norm.norm(W), 2), np.inf):
            got = norm.project(W, radius)
            assert got.tobytes() == W.tobytes() and got is not W, what


def test_projecting_twice_does_nothing_more(norm, rng):
    for what, _, radius, B in cases(norm, rng):
        np.testing.assert_allclose(norm.project(B, radius), B, rtol=1e-12, atol=1e-15 * np.abs(B).max(), err_msg=what)


def test_signs_and_zeros_are_kept(norm, rng):
    for what, W, _, B in cases(norm, rng):
        assert np.all((np.sign(B) == np.sign(W)) | (B == 0)), what


def test_projection_brings_points_no_further_apart(norm, rng):
    for radius in (0.01, 1.0, 10.0):
        V, W = rng.normal(size=(2, 30, 7))
        got = np.linalg.norm(norm.project(V, radius) - norm.project(W, radius))
        assert got <= np.linalg.norm(V - W)


def test_the_order_of_features_and_tasks_does_not_matter(norm, rng):
    W = rng.normal(size=(30, 7))
    order = np.ix_(rng.permutation(30), rng.permutation(7))
    np.testing.assert_allclose(norm.project(W[order], 2.0), norm.project(W, 2.0)[order], atol=1e-15)


@pytest.mark.parametrize("power", [-300, -37, 1, 100, 700])
def test_powers_of_two_scale_exactly(norm, rng, power):
    W = rng.normal(size=(30, 7))
    for fraction in (0.01, 0.5, 1 - EPS):
        radius = norm.norm(W) * fraction
        got = norm.project(np.ldexp(W, power), np.ldexp(radius, power))
        np.testing.assert_array_equal(got, np.ldexp(norm.project(W, radius), power))


@pytest.mark.parametrize("norm", WARM)
def test_a_warm_start_gives_the_cold_projection_whatever_came_before(norm, rng):
    warm, W = norm.Warm(), rng.normal(size=(300, 7))
    for step in range(60):
        W += 0.05 * rng.normal(size=W.shape)
        V = W * (10.0 ** rng.integers(-12, 13) if step % 7 == 6 else 1.0)  # now and then an unrelated matrix
        radius = rng.uniform(1e-4, 1.1) * norm.norm(V)
        got, expected = norm.project(V, radius, warm=warm), norm.project(V, radius)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14 * np.abs(V).max())


# Corners


def test_radius_zero_gives_zeros(norm, rng):
    for what, W in matrices(rng).items():
        got = norm.project(W, 0)
        assert got.shape == W.shape and not got.any(), what


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (4, 3)])
def test_empty_and_zero_matrices_stay_as_they_are(norm, shape):
    W = np.zeros(shape)
    for got in (norm.project(W, 1.0), norm.project(W, 0.0), norm.prox(W, 1.0)):
        assert got.shape == shape and not got.any()
    assert np.sum(norm.norm(W)) == np.sum(norm.dual_norm(W)) == 0


def test_sums_that_overflow_are_no_obstacle(norm):
    W = np.full((4, 4), 1.5e308)
    B = norm.project(W, 1e308)
    np.testing.assert_allclose(norm.norm(B), 1e308)
    np.testing.assert_allclose(B, B[0, 0])
    assert norm.project(W, np.inf).tobytes() == W.tobytes()
    np.testing.assert_allclose(norm.prox(W, 1e308) / 1e308, norm.prox(W / 1e308, 1.0))


@pytest.mark.parametrize("name", ["l1", "l12", "l2"])
@pytest.mark.parametrize("radius", [1e-20, 1e-120, 1e-270])
def test_a_small_radius_beside_entries_near_the_largest_float_is_kept(name, radius):
    norm = NORMS[name]
    B = norm.project([[1e300, 1e200], [0.0, 0.0]], radius)
    np.testing.assert_allclose(norm.norm(B), radius, rtol=1e-14)


def test_one_row_beyond_all_others(norm):
    """Rows of scale 1e-150 beside 1e150 do not disturb the projection, and it does not enlarge them."""
    W = np.full((3, 2), 1e-150)
    W[1] = 1e150
    B = norm.project(W, 1e149)
    np.testing.assert_allclose(norm.norm(B), 1e149)
    assert np.all(np.abs(B) <= np.abs(W))


# Prox


def test_prox_is_optimal(norm, rng):
    """V = W - prox(W, step) has dual_norm(V) <= step and <V, prox> = step * norm(prox)."""
    for what, W in matrices(rng).items():
        for step in (1e-3, 0.1, 0.5, 1.0, 10.0):
            B = norm.prox(W, step * unit(W)) / unit(W)
            V = W / unit(W) - B
            assert np.all(norm.dual_norm(V) <= step * (1 + 1e-12)), what
            got, expected = inner(norm, V, B), step * norm.norm(B)
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14, err_msg=what)


def test_prox_is_zero_from_the_dual_norm_on(norm, rng):
    W = rng.normal(size=(5, 3))
    size = norm.dual_norm(W)
    assert not norm.prox(W, size * (1 + 1e-12)).any()
    assert np.all(norm.norm(norm.prox(W, size * (1 - 1e-6))) > 0)
    np.testing.assert_array_equal(norm.prox(W, 0), W)
    np.testing.assert_array_equal(norm.prox(W, np.inf), 0 * W)


# Types and memory


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(norm, rng, dtype):
    W = rng.normal(size=(30, 7)).astype(dtype)
    for radius in (0.1, 2.0, 1000.0):
        got = norm.project(W, radius)
        assert got.dtype == norm.prox(W, radius).dtype == dtype
        np.testing.assert_allclose(got, norm.project(W.astype(float), radius), atol=2 * np.finfo(dtype).eps)


def read_only(W):
    W = W.copy()
    W.flags.writeable = False
    return W


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda W: np.repeat(np.repeat(W, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda W: W[::-1].copy()[::-1],
        read_only,
        np.ndarray.tolist,
        *(partial(np.ndarray.astype, dtype=dtype) for dtype in (int, np.int8, ">f8", np.float16, object)),
        pd.DataFrame,
    ],
)
def test_other_layouts_and_types_give_the_same(norm, rng, convert):
    W = rng.integers(-9, 9, size=(6, 5)).astype(float)
    for verb in verbs(norm):
        got = verb(convert(W))
        np.testing.assert_array_equal(got, verb(W))
        assert np.asarray(got).dtype == np.float64


def test_input_is_left_alone(norm, rng):
    W = rng.normal(size=(30, 7))
    before = W.copy()
    for verb in verbs(norm):
        assert not np.shares_memory(verb(W), W)
    np.testing.assert_array_equal(W, before)


def test_out_takes_the_result(norm, rng):
    W = rng.normal(size=(30, 7))
    for radius in (0.0, 2.0, 1000.0):
        expected = norm.project(W, radius)
        for out in (np.empty_like(W), np.empty((7, 30)).T, np.zeros((30, 14))[:, ::2], W.copy()):
            assert norm.project(W, radius, out=out) is out
            np.testing.assert_array_equal(out, expected)
        for itself in (W.copy(), np.asfortranarray(W)):
            norm.project(itself, radius, out=itself)
            np.testing.assert_array_equal(itself, expected)
        shifted = np.vstack([W, W[:1]])
        norm.project(shifted[:-1], radius, out=shifted[1:])  # overlaps the input
        np.testing.assert_array_equal(shifted[1:], expected)


def test_eight_threads_may_share_their_input(norm, rng):
    for shape in [(100, 1), (200, 30), (1000, 2)]:
        W = rng.standard_t(1.5, size=shape)
        radii = np.multiply.outer(np.linspace(0.01, 1.1, 8), norm.norm(W))
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(partial(norm.project, W), radii))
        np.testing.assert_array_equal(got, [norm.project(W, radius) for radius in radii])


# Refusals


@pytest.mark.parametrize(
    "out", [np.ones((2, 3)), np.ones((3, 2), np.float32), [[1.0, 1.0]] * 3, read_only(np.ones((3, 2)))]
)
def test_unfit_out_is_refused(norm, out):
    with pytest.raises(ValueError, match="out must be"):
        norm.project(np.ones((3, 2)), 1.0, out=out)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 2), (40, 50), (200, 3), (5000, 3)])
def test_nan_and_infinity_are_refused_wherever_they_are(norm, bad, dtype, shape):
    for verb, place in product(verbs(norm), [(0, 0), (2, 1), (shape[0] // 2, 1), (shape[0] - 1, shape[1] - 1)]):
        W = np.ones(shape, dtype)
        W[place] = bad
        with pytest.raises(ValueError, match=re.escape(f"W must be finite, got {bad} at {place}")):
            verb(W)


@pytest.mark.parametrize("bad", [1.0, np.ones((2, 2, 2)), np.ones((2, 2)) * 1j, [["a"]], [[1.0], [1.0, 2.0]], None])
def test_anything_but_a_real_matrix_is_refused(norm, bad):
    for verb in verbs(norm):
        with pytest.raises(ValueError, match=r"^W must "):
            verb(bad)


@pytest.mark.parametrize("bad, got", [(-3, "-3.0"), (np.nan, "nan"), (-np.inf, "-inf"), (-5e-324, "-5e-324")])
@pytest.mark.parametrize("verb, name", [("project", "radius"), ("prox", "step")])
@pytest.mark.parametrize("shape", [(3, 2), (0, 2)])
def test_negative_radius_and_step_are_refused(norm, bad, got, verb, name, shape):
    with pytest.raises(ValueError, match=f"^{name} must be at least 0, got {got}$"):
        getattr(norm, verb)(np.ones(shape), bad)


@pytest.mark.parametrize("bad", ["one", None, [[1.0]], [1.0, 2.0, 3.0]])
def test_radius_must_be_a_number(norm, bad):
    with pytest.raises(ValueError, match=r"^radius must be"):
        norm.project(np.ones((3, 2)), bad)


# Norms per task


@pytest.mark.parametrize("norm", PER_TASK)
def test_each_task_may_have_its_own_radius(norm, rng):
    W = rng.normal(size=(30, 4))
    radii = [0.0, 0.5, 2.0, 1000.0]
    for verb in (norm.project, norm.prox):
        expected = np.stack([verb(w, radius) for w, radius in zip(W.T, radii, strict=True)], axis=1)
        np.testing.assert_allclose(verb(W, radii), expected, rtol=4 * EPS)
    with pytest.raises(ValueError, match=r"^radius must be at least 0, got -2\.0$"):
        norm.project(W, [1.0, -2.0, 3.0, -4.0])


@pytest.mark.parametrize("norm", PER_TASK)
def test_a_vector_is_one_task(norm, rng):
    w = rng.normal(size=30)
    for verb in verbs(norm):
        np.testing.assert_array_equal(verb(w), np.squeeze(verb(w[:, np.newaxis])))
    assert type(norm.norm(w)) is type(norm.dual_norm(w)) is float
    itself = w.copy()
    assert norm.project(itself, 1.0, out=itself) is itself
    np.testing.assert_array_equal(itself, norm.project(w, 1.0))


@pytest.mark.parametrize("norm", PER_TASK)
@pytest.mark.parametrize("place", [0, 1, 128, 4999])
def test_nan_in_a_vector_is_refused_wherever_it_is(norm, place):
    w = np.eye(1, 5000, place)[0]
    w[place] = np.nan
    for verb in verbs(norm):
        with pytest.raises(ValueError, match=rf"W must be finite, got nan at \({place},"):
            verb(w)


@pytest.mark.parametrize("norm", PER_TASK)
def test_a_huge_task_does_not_disturb_a_tiny_one(norm):
    W = np.array([[1e-300, 1.5e308], [2e-300, 1.5e308], [0.0, 1.5e308]])
    B = norm.project(W, 1.0)
    np.testing.assert_array_equal(B[:, 0], W[:, 0])
    np.testing.assert_allclose(norm.norm(B)[1], 1.0)


# Row parts of the dual norm


@pytest.mark.parametrize("norm", SPARSE)
def test_the_largest_part_of_a_row_is_the_dual_norm(norm, rng):
    for what, W in matrices(rng).items():
        got = norm.dual_rows(W)
        assert got.shape == (W.shape if norm.PER_TASK else W.shape[:1]), what
        np.testing.assert_array_equal(got.max(axis=0), norm.dual_norm(W), err_msg=what)


# Weights: one factor for each feature


def weights_for(W, rng):
    """Weights of many kinds, by name."""
    d = len(W)
    return {
        "like": rng.uniform(0.5, 2, size=d),
        "spread": 10.0 ** rng.uniform(-10, 10, size=d),
        "powers of two": 2.0 ** rng.integers(-30, 30, size=d),
        "one heavy": np.where(np.arange(d) == d // 2, 1e10, 1.0),
    }


def weighted_cases(norm, rng):
    """Name, matrix, weights, radius from well inside to just inside the norm, and the projection."""
    for what, W in matrices(rng).items():
        if what in ("huge", "scales"):
            continue  # some weighted norms are above the largest float, or lose the small rows
        for kind, s in weights_for(W, rng).items():
            for fraction in (0.01, 0.1, 0.5, 0.99, 1 - EPS / 2):
                radius = norm.norm(W, weights=s) * fraction
                B = norm.project(W, radius, weights=s)
                yield f"{what}, weights {kind}, {fraction} of the norm", W, s, radius, B


@pytest.mark.parametrize("norm", WEIGHTED)
def test_weights_multiply_rows_in_the_norm_and_divide_them_in_the_dual(norm, rng):
    W = rng.normal(size=(30, 7))
    for kind, s in weights_for(W, rng).items():
        column = s[:, np.newaxis]
        np.testing.assert_allclose(norm.norm(W, weights=s), norm.norm(column * W), rtol=1e-14, err_msg=kind)
        np.testing.assert_allclose(norm.dual_norm(W, weights=s), norm.dual_norm(W / column), rtol=1e-14, err_msg=kind)
        np.testing.assert_array_equal(norm.dual_rows(W, weights=s).max(axis=0), norm.dual_norm(W, weights=s))


@pytest.mark.parametrize("norm", WEIGHTED)
def test_weighted_projection_agrees_with_extended_precision(norm, rng):
    for what, W, s, radius, got in weighted_cases(norm, rng):
        expected = SLOW[norm](W, radius, s)
        assert np.abs(got - expected).max() <= 1e-13 * np.abs(W).max(), what
        assert np.all(norm.norm(got, weights=s) <= np.multiply(radius, 1 + 1e-12)), what


@pytest.mark.parametrize("norm", WEIGHTED)
def test_weighted_projection_is_optimal(norm, rng):
    """W - B is normal to the ball at B."""
    for what, W, s, radius, B in weighted_cases(norm, rng):
        rest = (W - B) / unit(W)
        got, expected = inner(norm, rest, B / unit(W)), radius / unit(W) * norm.dual_norm(rest, weights=s)
        rounding = 1e-14 * W.size * np.max(radius / unit(W)) / s.min()  # of a row of `rest`, in the dual norm
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=rounding, err_msg=what)


@pytest.mark.parametrize("norm", WEIGHTED)
def test_weighted_point_inside_comes_back_bit_for_bit(norm, rng):
    for what, W in matrices(rng).items():
        for kind, s in weights_for(W, rng).items():
            for radius in (norm.norm(W, weights=s), np.inf):
                assert norm.project(W, radius, weights=s).tobytes() == W.tobytes(), f"{what}, weights {kind}"


@pytest.mark.parametrize("norm", WEIGHTED)
def test_weights_of_one_are_no_weights(norm, rng):
    for what, W, radius, expected in cases(norm, rng):
        got = norm.project(W, radius, weights=np.ones(len(W)))
        assert np.abs(got - expected).max() <= 1e-15 * np.abs(W).max(), what


@pytest.mark.parametrize("norm", WEIGHTED)
@pytest.mark.parametrize("power", [-600, -37, 1, 600])
def test_the_unit_of_weights_does_not_matter(norm, rng, power):
    W, s = rng.normal(size=(30, 7)), 10.0 ** rng.uniform(-3, 3, size=30)
    for fraction in (0.01, 0.5, 1 - EPS):
        radius = norm.norm(W, weights=s) * fraction
        got = norm.project(W, np.ldexp(radius, power), weights=np.ldexp(s, power))
        np.testing.assert_array_equal(got, norm.project(W, radius, weights=s))


@pytest.mark.parametrize("norm", WEIGHTED)
def test_weighted_prox_is_optimal(norm, rng):
    """V = W - prox(W, step) has dual_norm(V) <= step and <V, prox> = step * norm(prox)."""
    W = rng.normal(size=(30, 7))
    for kind, s in weights_for(W, rng).items():
        for step in (1e-3, 0.1, 1.0):
            B = norm.prox(W, step, weights=s)
            assert np.all(norm.dual_norm(W - B, weights=s) <= step * (1 + 1e-12) + EPS / s.min()), kind
            got, expected = inner(norm, W - B, B), step * norm.norm(B, weights=s)
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13, err_msg=kind)
        for step, expected in ((0.0, W), (np.inf, 0 * W)):
            np.testing.assert_array_equal(norm.prox(W, step, weights=s), expected)


@pytest.mark.parametrize("norm", [each for each in WARM if each in WEIGHTED])
def test_a_weighted_warm_start_gives_the_cold_projection_whatever_came_before(norm, rng):
    warm, W, s = norm.Warm(), rng.normal(size=(300, 7)), 10.0 ** rng.uniform(-2, 2, size=300)
    for step in range(40):
        W += 0.05 * rng.normal(size=W.shape)
        options = {"weights": s if step % 7 < 5 else None}
        radius = rng.uniform(1e-2, 1.1) * norm.norm(W, **options)
        got, expected = norm.project(W, radius, warm=warm, **options), norm.project(W, radius, **options)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14 * np.abs(W).max())


@pytest.mark.parametrize("norm", WEIGHTED)
def test_weights_in_the_corners(norm, rng):
    for shape in [(0, 0), (0, 3), (3, 0), (4, 3)]:
        W, s = np.zeros(shape), np.arange(1.0, 1 + shape[0])
        for got in (norm.project(W, 1.0, weights=s), norm.project(W, 0.0, weights=s), norm.prox(W, 1.0, weights=s)):
            assert got.shape == shape and not got.any()
        assert np.sum(norm.norm(W, weights=s)) == np.sum(norm.dual_norm(W, weights=s)) == 0
    for what, W in matrices(rng).items():
        assert not norm.project(W, 0, weights=10.0 ** rng.uniform(-10, 10, size=len(W))).any(), what
    W, s = rng.normal(size=(30, 7)), rng.uniform(0.1, 10, size=30)
    radius = norm.norm(W, weights=s) / 3
    expected = norm.project(W, radius, weights=s)
    for other in (np.asfortranarray(W), W.tolist(), read_only(W)):
        np.testing.assert_array_equal(norm.project(other, radius, weights=read_only(s)), expected)
    single = norm.project(np.float32(W), radius, weights=s.tolist())
    assert single.dtype == norm.prox(np.float32(W), 0.1, weights=s).dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-6)
    smallest = rng.integers(0, 1000, size=(9, 3)) * 5e-324
    for fraction in (0.3, 0.9):
        radius = norm.norm(smallest, weights=s[:9]) * fraction
        got = norm.project(smallest, radius, weights=s[:9])
        assert np.abs(got - SLOW[norm](smallest, radius, s[:9])).max() <= 20 * 5e-324


@pytest.mark.parametrize("norm", WEIGHTED)
@pytest.mark.parametrize(
    "bad, message",
    [
        *(
            ([1.0, value, 1.0], f"weights must be positive and finite, got {float(value)} at (1,)")
            for value in (0, -2.0, np.nan, np.inf)
        ),
        ([1.0, 2.0], "weights must be one per feature, shape (3,)"),
        (1.0, "weights must be one per feature, shape (3,)"),
        (np.ones((3, 1)), "weights must be one per feature, shape (3,)"),
        (["a", "b", "c"], "weights must hold real numbers"),
        ([1e-300, 1.0, 1e300], "weights must differ by a factor of at most 2^500"),
    ],
)
def test_unfit_weights_are_refused(norm, bad, message):
    W = np.ones((3, 2))
    for verb in (*verbs(norm), norm.dual_rows):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            verb(W, weights=bad)


# Groups of features: one row for each


def groups_for(W, rng):
    """Groups of many kinds, by name."""
    d = len(W)
    numbers = np.arange(d)
    return {
        "own": rng.permutation(d),
        "one": np.zeros(d, int),
        "of one size": rng.permutation(numbers // (2 if d % 2 == 0 else 1)),
        "random": np.unique(rng.integers(0, d, size=d), return_inverse=True)[1],
        "one large": rng.permutation(np.maximum(numbers - d * 2 // 3, 0)),
    }


def grouped_cases(norm, rng):
    """Name, matrix, groups with or without weights, radius as in `cases`, and the projection."""
    for what, W in matrices(rng).items():
        for kind, groups in groups_for(W, rng).items():
            weighted = kind in ("random", "one large") and what not in ("huge", "scales")
            for weights in (None, 10.0 ** rng.uniform(-10, 10, size=groups.max() + 1)) if weighted else (None,):
                options = {"groups": groups, "weights": weights}
                for fraction in (1e-3, 0.3, 1 - EPS / 2):
                    radius = norm.norm(W, **options) * fraction
                    B = norm.project(W, radius, **options)
                    yield f"{what}, groups {kind}, {weights}, {fraction} of the norm", W, options, radius, B


@pytest.mark.parametrize("norm", GROUPED)
def test_a_group_is_a_row_of_all_its_entries(norm, rng):
    for what, W in matrices(rng).items():
        for kind, groups in groups_for(W, rng).items():
            rows = oracles.rows_of_groups(W, groups)
            for s in (None, rng.uniform(0.5, 2, size=len(rows))):
                for size in (norm.norm, norm.dual_norm, norm.dual_rows):
                    got, expected = size(W, groups=groups, weights=s), size(rows, weights=s)
                    np.testing.assert_allclose(got, expected, rtol=1e-14, err_msg=f"{what}, groups {kind}")
                step = 0.7 * unit(W)
                got = norm.prox(W, step, groups=groups, weights=s)
                expected = oracles.features_of_rows(norm.prox(rows, step, weights=s), groups, W.shape[1])
                assert np.abs(got - expected).max() <= 1e-14 * np.abs(W).max(), f"{what}, groups {kind}"


@pytest.mark.parametrize("norm", GROUPED)
def test_grouped_projection_agrees_with_extended_precision(norm, rng):
    for what, W, options, radius, got in grouped_cases(norm, rng):
        s = 1.0 if options["weights"] is None else options["weights"]
        rows = SLOW[norm](oracles.rows_of_groups(W, options["groups"]), radius, s)
        expected = oracles.features_of_rows(rows, options["groups"], W.shape[1])
        assert np.abs(got - expected).max() <= 1e-13 * np.abs(W).max(), what
        assert norm.norm(got, **options) <= radius * (1 + 1e-12), what
        assert np.all(np.abs(got) <= np.abs(W)) and np.all((np.sign(got) == np.sign(W)) | (got == 0)), what


@pytest.mark.parametrize("norm", GROUPED)
def test_groups_of_one_feature_are_no_groups(norm, rng):
    for what, W, radius, expected in cases(norm, rng):
        got = norm.project(W, radius, groups=np.arange(len(W)))
        assert np.abs(got - expected).max() <= 1e-15 * np.abs(W).max(), what


@pytest.mark.parametrize("norm", GROUPED)
def test_grouped_point_inside_comes_back_bit_for_bit(norm, rng):
    for what, W in matrices(rng).items():
        for kind, groups in groups_for(W, rng).items():
            for radius in (norm.norm(W, groups=groups), np.inf):
                assert norm.project(W, radius, groups=groups).tobytes() == W.tobytes(), f"{what}, groups {kind}"


@pytest.mark.parametrize("norm", GROUPED)
def test_the_order_of_features_and_the_numbers_of_groups_do_not_matter(norm, rng):
    W, groups, order = rng.normal(size=(30, 7)), rng.permutation(np.maximum(np.arange(30) - 9, 0)), rng.permutation(30)
    s, numbers = rng.uniform(0.5, 2, size=21), rng.permutation(21)
    for verb in (norm.project, norm.prox):
        expected = verb(W, 0.8, groups=groups, weights=s[numbers])
        got = verb(W[order], 0.8, groups=groups[order], weights=s[numbers])
        np.testing.assert_allclose(got, expected[order], atol=1e-14)
        np.testing.assert_allclose(verb(W, 0.8, groups=numbers[groups], weights=s), expected, atol=1e-14)


@pytest.mark.parametrize("norm", GROUPED)
@pytest.mark.parametrize("positive", [False, True])
def test_grouped_projection_and_prox_agree_with_a_convex_solver(norm, rng, positive):
    groups, s = np.array([0, 2, 0, 1, 2, 0]), np.array([0.5, 1.0, 2.0])
    size = {l12: cvxpy.norm, l1inf: lambda B: cvxpy.max(cvxpy.abs(B))}[norm]
    for radius in (0.3, 2.0, 50.0):
        W, B = rng.normal(size=(6, 4)), cvxpy.Variable((6, 4))
        sizes = sum(s[g] * size(cvxpy.vec(B[np.flatnonzero(groups == g)], order="C")) for g in range(3))
        signs, distance = [B >= 0] if positive else [], cvxpy.sum_squares(B - W)
        for verb, problem in (
            (norm.project, cvxpy.Problem(cvxpy.Minimize(distance), [*signs, sizes <= radius])),
            (norm.prox, cvxpy.Problem(cvxpy.Minimize(distance / 2 + radius * sizes), signs)),
        ):
            problem.solve(solver="CLARABEL")
            got = verb(W, radius, groups=groups, weights=s, positive=positive)
            np.testing.assert_allclose(got, B.value, atol=1e-4)


@pytest.mark.parametrize("norm", GROUPED)
def test_groups_in_the_corners(norm, rng):
    for shape, groups in (((0, 0), []), ((0, 3), []), ((3, 0), [1, 0, 0]), ((4, 3), [1, 0, 0, 1]), ((3, 2), [1, 0, 0])):
        W = np.zeros(shape)
        for got in (
            norm.project(W, 1.0, groups=groups),
            norm.project(W, 0, groups=groups),
            norm.prox(W, 1, groups=groups),
        ):
            assert got.shape == shape and not got.any()
        assert norm.norm(W, groups=groups) == norm.dual_norm(W, groups=groups) == 0
    for what, W in matrices(rng).items():
        for groups in groups_for(W, rng).values():
            assert not norm.project(W, 0, groups=groups).any(), what
            for step, expected in ((0.0, W), (np.inf, 0 * W)):
                np.testing.assert_array_equal(norm.prox(W, step, groups=groups), expected, err_msg=what)
    W = rng.normal(size=(30, 7))
    groups = groups_for(W, rng)["one large"]
    W[groups == 3] = 0
    radius = norm.norm(W, groups=groups) / 3
    expected = norm.project(W, radius, groups=groups)
    assert not expected[groups == 3].any() and expected.any()
    for other, numbers in product(
        (np.asfortranarray(W), W.tolist(), read_only(W)), (groups.tolist(), np.uint8(groups))
    ):
        np.testing.assert_array_equal(norm.project(other, radius, groups=numbers), expected)
    for out in (np.empty_like(W), np.asfortranarray(W), W.copy()):
        assert norm.project(W, radius, groups=groups, out=out) is out
        np.testing.assert_array_equal(out, expected)
    single = norm.project(np.float32(W), radius, groups=groups)
    assert single.dtype == norm.prox(np.float32(W), 0.1, groups=groups).dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-6)
    full = np.full((5, 2), 1.5e308)
    B = norm.project(full, 1e308, groups=[0, 1, 1, 1, 0])
    np.testing.assert_allclose(norm.norm(B, groups=[0, 1, 1, 1, 0]), 1e308)
    scaled = norm.prox(full / 1e308, 1.0, groups=[0, 1, 1, 1, 0])
    np.testing.assert_allclose(norm.prox(full, 1e308, groups=[0, 1, 1, 1, 0]) / 1e308, scaled)


@pytest.mark.parametrize("norm", GROUPED)
def test_a_large_group_costs_no_memory_for_the_small_ones(norm, rng):
    W, groups = rng.normal(size=(20_000, 2)), np.maximum(np.arange(20_000) - 10_000, 0)
    tracemalloc.start()
    for verb in (norm.project, norm.prox):
        verb(W, 0.5, groups=groups)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * W.nbytes  # 5,000 times W with padding


@pytest.mark.parametrize("norm", GROUPED)
@pytest.mark.parametrize(
    "bad, message",
    [
        ([0, 1], "groups must be one whole number per feature, shape (3,), got shape (2,), dtype int64"),
        (0, "groups must be one whole number per feature, shape (3,), got shape ()"),
        ([[0], [1], [1]], "groups must be one whole number per feature, shape (3,), got shape (3, 1)"),
        ([[0], [1, 1], [1]], "groups must be one whole number per feature, shape (3,), got list"),
        ([0.0, 1.0, 1.0], "groups must be one whole number per feature, shape (3,), got shape (3,), dtype float64"),
        ([True, False, True], "groups must be one whole number per feature, shape (3,), got shape (3,), dtype bool"),
        (["a", "b", "c"], "groups must be one whole number per feature, shape (3,), got shape (3,), dtype <U1"),
        ([0, -1, 1], "groups must be numbered 0, 1, 2, … without gaps, got -1 in the place of 0"),
        ([0, 2, 2], "groups must be numbered 0, 1, 2, … without gaps, got 2 in the place of 1"),
        ([1, 1, 2], "groups must be numbered 0, 1, 2, … without gaps, got 1 in the place of 0"),
    ],
)
def test_unfit_groups_are_refused(norm, bad, message):
    for verb in (*verbs(norm), norm.dual_rows):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            verb(np.ones((3, 2)), groups=bad)


@pytest.mark.parametrize("norm", GROUPED)
def test_weights_of_groups_and_entries_are_checked(norm):
    for verb in (*verbs(norm), norm.dual_rows):
        with pytest.raises(ValueError, match=re.escape("weights must be one per group, shape (2,), got shape (3,)")):
            verb(np.ones((3, 2)), groups=[0, 1, 1], weights=np.ones(3))
        for groups in ([2, 1, 0], [1, 0, 0]):
            with pytest.raises(ValueError, match=re.escape("W must be finite, got nan at (1, 0)")):
                verb([[1.0], [np.nan], [2.0]], groups=groups)


# Non-negative weights


def test_positive_projects_the_positive_part(norm, rng):
    for what, W in matrices(rng).items():
        part = np.maximum(W, 0)
        for radius in (0.0, norm.norm(W) / 3, norm.norm(part), np.inf):
            got = norm.project(W, radius, positive=True)
            np.testing.assert_array_equal(got, norm.project(part, radius), err_msg=what)
            assert got.dtype == W.dtype and not np.signbit(got).any(), what
        np.testing.assert_array_equal(norm.prox(W, unit(W), positive=True), norm.prox(part, unit(W)), err_msg=what)
        if norm.GROUPED:
            options = {"groups": np.arange(len(W)) * 2 // 3}
            got, expected = (norm.project(V, unit(W), **options, positive=V is W) for V in (W, part))
            np.testing.assert_array_equal(got, expected, err_msg=what)
    before, out = W.copy(), W.copy(order="F")
    assert norm.project(out, 1.0, positive=True, out=out) is out
    np.testing.assert_array_equal(out, norm.project(W, 1.0, positive=True))
    np.testing.assert_array_equal(W, before)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_the_positive_part_hides_no_bad_entry(norm, bad):
    for verb in (norm.project, norm.prox):
        with pytest.raises(ValueError, match=re.escape(f"W must be finite, got {bad} at (0, 1)")):
            verb([[1.0, bad]], 1.0, positive=True)


# The papers' four norms: formula, projection in extended precision, and the formula as a convex expression

FOUR = pytest.mark.parametrize(
    "norm, formula, slow, expressions",
    [
        (
            l1,
            lambda W: np.abs(W).sum(axis=0),
            oracles.project_l1,
            lambda B: [cvxpy.norm1(B[:, l]) for l in range(B.shape[1])],
        ),
        (
            l12,
            lambda W: np.sqrt((W**2).sum(axis=1)).sum(),
            oracles.project_l12,
            lambda B: [cvxpy.sum(cvxpy.norm(B, 2, axis=1))],
        ),
        (
            l1inf,
            lambda W: np.abs(W).max(axis=1).sum(),
            oracles.project_l1inf,
            lambda B: [cvxpy.sum(cvxpy.max(cvxpy.abs(B), axis=1))],
        ),
        (
            l2,
            lambda W: np.sqrt((W**2).sum(axis=0)),
            oracles.project_l2,
            lambda B: [cvxpy.norm(B[:, l], 2) for l in range(B.shape[1])],
        ),
    ],
    ids=["l1", "l12", "l1inf", "l2"],
)


@FOUR
def test_norm_agrees_with_its_formula(norm, formula, slow, expressions, rng):
    for what, W in matrices(rng).items():
        expected = formula(W.astype(np.longdouble)).astype(float)
        np.testing.assert_allclose(norm.norm(W), expected, rtol=1e-14, err_msg=what)


@FOUR
def test_projection_agrees_with_extended_precision(norm, formula, slow, expressions, rng):
    for what, W, radius, got in cases(norm, rng):
        assert np.abs(got - slow(W, radius)).max() <= 4e-15 * np.abs(W).max(), what


@FOUR
@pytest.mark.parametrize("positive", [False, True])
def test_projection_and_prox_agree_with_a_convex_solver(norm, formula, slow, expressions, rng, positive):
    s = np.array([0.1, 0.5, 1.0, 1.0, 2.0, 7.0])
    for radius, weighted in product((0.3, 2.0, 50.0), (False, True) if norm.WEIGHTED else (False,)):
        options = {"positive": positive} | ({"weights": s} if weighted else {})
        W, B = rng.normal(size=(6, 4)), cvxpy.Variable((6, 4))
        sizes = expressions(np.diag(s) @ B if weighted else B)
        signs = [B >= 0] if positive else []
        distance = cvxpy.sum_squares(B - W)
        cvxpy.Problem(cvxpy.Minimize(distance), signs + [size <= radius for size in sizes]).solve(solver="CLARABEL")
        np.testing.assert_allclose(norm.project(W, radius, **options), B.value, atol=1e-4)
        cvxpy.Problem(cvxpy.Minimize(distance / 2 + radius * sum(sizes)), signs).solve(solver="CLARABEL")
        np.testing.assert_allclose(norm.prox(W, radius, **options), B.value, atol=1e-4)


@pytest.mark.parametrize("norm", [l1, l12, l1inf])
def test_small_rows_beside_large_ones_become_zero(norm):
    W = np.array([[1e-150], [1e150], [1e-150]]) * np.ones(2)
    assert not norm.project(W, 1e149)[[0, 2]].any()


def test_l12_of_one_task_is_the_l1_ball(rng):
    w = rng.normal(size=(50, 1))
    np.testing.assert_allclose(l12.project(w, 1.0), l1.project(w, 1.0), atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_l12_keeps_zero_rows_however_near_the_radius_is_to_the_norm(rng, dtype):
    for _ in range(300):
        W = (rng.uniform(size=(4, 2)) * (rng.random((4, 1)) < 0.7)).astype(dtype)
        for radius in (l12.norm(W), np.nextafter(l12.norm(W), 0), l12.norm(W) * 0.5):
            got = l12.project(W, radius)
            assert not got[W == 0].any()
            assert not l12.project(got, radius)[got == 0].any()


def test_l12_of_a_zero_row_among_rows_that_sum_to_the_radius():
    W = [[0.41643062916792795], [0.8523841701715669], [0.0], [0.47138529765377946]]
    np.testing.assert_allclose(l12.project(W, 1.7402000969932743), W, rtol=1e-15)


# Sweeps over rows


@pytest.mark.parametrize("n_samples", [9, 4])
@pytest.mark.parametrize("norm", [pytest.param(norm, id=name) for name, norm in NORMS.items() if norm.DESCENDS])
def test_a_sweep_solves_each_row_by_the_proximal_operator(norm, n_samples):
    """A row alone minimises 1/2 g ||w||^2 - <u, w> + p norm(w), whose solution is prox(u, p) / g."""
    rng = np.random.default_rng(0)
    X, Y, W, penalties = (
        rng.normal(size=(n_samples, 6)),
        rng.normal(size=(n_samples, 3)),
        rng.normal(size=(6, 3)),
        rng.random(6),
    )
    X[:, 2] = 0.0  # a feature that is 0 stays as it is
    G, Q = X.T @ X, X.T @ Y
    penalties[4] = 100.0
    expected = W.copy()
    for i in (0, 1, 3, 4, 5):
        u = Q[i] - G[i] @ expected + G[i, i] * expected[i]
        expected[i] = norm.prox(u[np.newaxis], penalties[i])[0] / G[i, i]
    few = n_samples < 6
    A, H = (np.ascontiguousarray(array) for array in ((X.T, (Y - X @ W).T) if few else (G, (Q - G @ W).T)))
    lengths = G.diagonal().copy()

    def objective():
        return 0.5 * np.sum((Y - X @ W) ** 2) + np.sum(penalties * [norm.norm(w[np.newaxis]) for w in W])

    norm.descend(A, lengths, H, W, penalties, 1)
    np.testing.assert_allclose(W, expected, atol=1e-12)
    np.testing.assert_allclose(H, (Y - X @ W).T if few else (Q - G @ W).T, atol=1e-12)
    assert not W[4].any()
    before = objective()
    norm.descend(A, lengths, H, W, penalties, 20)
    assert objective() <= before
