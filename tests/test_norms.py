"""Tests of every registered norm, with and without weights and groups.

A new norm is tested through its definitions. Norm and dual norm must satisfy Hölder's inequality and attain equality.
`project` and `prox` must satisfy their optimality conditions, and agree with a convex solver that uses the norm's
expression in oracles_convex.py. A norm with a row in oracles.py is also compared with extended precision.
"""

import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import numpy as np
import oracles
import pytest

from jointsparse.norms import NORMS, l1, l1inf, l2

EPS = np.finfo(float).eps
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])
NAME = {norm: name for name, norm in NORMS.items()}


def norms(flag):
    """Parametrise a test with the norms whose constant `flag` is True."""
    return pytest.mark.parametrize("norm", [pytest.param(n, id=name) for name, n in NORMS.items() if getattr(n, flag)])


@pytest.fixture(params=NORMS.values(), ids=NORMS)
def norm(request):
    return request.param


def matrices(rng):
    """Return matrices of many kinds, by name."""
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
        "squares below the smallest float": normal * 1e-160,
        "tiny": normal * 1e-300,
        "huge": normal * 1e300,
        "scales": np.array([[1e-150, -2e-150], [1e150, 3e150], [1.0, -1.0]]),
    }


def variants(norm, W, rng):
    """Return options by name: weights and groups of many kinds, as far as the norm takes them."""
    d = len(W)
    numbers = np.arange(d)
    weights = {
        "like": rng.uniform(0.5, 2, size=d),
        "spread": 10.0 ** rng.uniform(-10, 10, size=d),
        "one heavy": np.where(numbers == d // 2, 1e10, 1.0),
    }
    groups = {
        "own": rng.permutation(d),
        "single": np.zeros(d, int),
        "of one size": rng.permutation(numbers // (2 if d % 2 == 0 else 1)),
        "random": np.unique(rng.integers(0, d, size=d), return_inverse=True)[1],
        "one large": rng.permutation(np.maximum(numbers - d * 2 // 3, 0)),
    }
    options = {"plain": {}}
    if np.abs(W).max() < 1e30 and norm.WEIGHTED:  # otherwise some weighted norms are above the largest float
        options |= {f"weights {kind}": {"weights": s} for kind, s in weights.items()}
    if norm.GROUPED:
        options |= {f"groups {kind}": {"groups": g} for kind, g in groups.items()}
    if len(options) > 6:
        for kind in ("of one size", "one large"):
            s = 10.0 ** rng.uniform(-10, 10, size=groups[kind].max() + 1)
            options[f"groups {kind} with weights"] = {"groups": groups[kind], "weights": s}
    return options


def forms(norm, rng):
    """Yield a name, a matrix and options, for all matrices and all variants."""
    for what, W in matrices(rng).items():
        for kind, options in variants(norm, W, rng).items():
            yield f"{what}, {kind}", W, options


def some_forms(norm, s, groups):
    """Return options: none, and weights and groups as far as the norm takes them."""
    return [{}, *norm.WEIGHTED * [{"weights": s}], *norm.GROUPED * [{"groups": groups}]]


def inner(norm, V, W):
    """Return <V, W> or, for a norm per task, the inner product of each column."""
    return (V * W).sum(axis=0 if norm.PER_TASK else None)


def unit(W):
    """Return a power of two near the largest entry. Divided by it, products neither overflow nor underflow."""
    return 2.0 ** np.frexp(np.abs(W).max())[1]


def functions(norm):
    return norm.norm, norm.dual_norm, partial(norm.project, radius=3.0), partial(norm.prox, step=3.0)


def read_only(W):
    W = W.copy()
    W.flags.writeable = False
    return W


# Norm and dual norm


def test_norm_and_dual_norm_are_norms_and_satisfy_hoelders_inequality(norm, rng):
    """<V, W> <= norm(V) * dual_norm(W). See the test of projections for equality."""
    V, W = rng.normal(size=(2, 30, 7))
    assert np.all(inner(norm, V, W) <= norm.norm(V) * norm.dual_norm(W) * (1 + 1e-14))
    for size in (norm.norm, norm.dual_norm):
        got = size(W)
        assert (got.shape, got.dtype) == ((7,), np.float64) if norm.PER_TASK else type(got) is float
        assert np.all(got > 0) and not np.any(size(0 * W))
        assert np.all(size(V + W) <= (size(V) + got) * (1 + 1e-14))
        np.testing.assert_allclose(size(-3 * W), 3 * got, rtol=1e-14)


@pytest.mark.parametrize("name", oracles.SIZES)
def test_weights_multiply_the_rows_of_groups_in_the_norm_and_divide_them_in_the_dual(name, rng):
    norm = NORMS[name]
    for what, W, options in forms(norm, rng):
        rows = oracles.rows_of_groups(W, options["groups"]) if "groups" in options else W
        s = np.asarray(options.get("weights", np.ones(len(rows))), np.longdouble)[:, np.newaxis]
        for size, oracle, factor in zip((norm.norm, norm.dual_norm), oracles.SIZES[name], (s, 1 / s), strict=True):
            expected = oracle(rows.astype(np.longdouble) * factor).astype(float)
            np.testing.assert_allclose(size(W, **options), expected, rtol=1e-14, err_msg=what)
        if norm.SPARSE:
            got = norm.dual_rows(W, **options)
            assert got.shape == (W.shape if norm.PER_TASK else (len(rows),)), what
            np.testing.assert_array_equal(got.max(axis=0), norm.dual_norm(W, **options), err_msg=what)
            plain = norm.dual_rows(rows) / s.astype(float)[(...,) if norm.PER_TASK else (..., 0)]
            np.testing.assert_allclose(got, plain, rtol=1e-14, err_msg=what)


# Projection


def test_a_projection_is_the_nearest_point_of_the_ball(norm, rng):
    """W - B is normal to the ball at B: <W - B, B> = radius * dual_norm(W - B)."""
    for what, W, options in forms(norm, rng):
        for fraction in (1e-3, 0.1, 0.5, 0.99, 1 - EPS / 2) if not options else (1e-2, 0.5, 1 - EPS / 2):
            radius, case = norm.norm(W, **options) * fraction, f"{what}, {fraction}"
            B = norm.project(W, radius, **options)
            np.testing.assert_allclose(norm.norm(B, **options), radius, rtol=1e-12, err_msg=case)
            assert np.all((np.sign(B) == np.sign(W)) | (B == 0)) and np.all(np.abs(B) <= np.abs(W) * (1 + 2 * EPS)), (
                case
            )
            again = norm.project(B, radius, **options)
            np.testing.assert_allclose(again, B, rtol=1e-12, atol=1e-15 * np.abs(B).max(), err_msg=case)
            rest, r = (W - B) / unit(W), radius / unit(W)
            rounding = 1e-14 * W.size * max(np.max(r), 1) / min(options.get("weights", np.ones(1)).min(), 1)
            got, expected = inner(norm, rest, B / unit(W)), r * norm.dual_norm(rest, **options)
            np.testing.assert_allclose(got, expected, rtol=1e-10, atol=rounding, err_msg=case)
            if NAME[norm] in oracles.PROJECTIONS:
                exact = oracles.project(NAME[norm], W, radius, **options)
                assert np.abs(B - exact).max() <= (1e-13 if options else 4e-15) * np.abs(W).max(), case


def test_a_point_inside_comes_back_bit_for_bit_and_radius_zero_gives_zeros(norm, rng):
    for what, W, options in forms(norm, rng):
        for radius in (norm.norm(W, **options), np.inf):
            got = norm.project(W, radius, **options)
            assert got.tobytes() == W.tobytes() and got is not W, what
        got = norm.project(W, 0, **options)
        assert got.shape == W.shape and not got.any(), what


def test_a_prox_is_optimal(norm, rng):
    """V = W - prox(W, step) has dual_norm(V) <= step and <V, prox> = step * norm(prox)."""
    for what, W, options in forms(norm, rng):
        s = options.get("weights", np.ones(1))
        for step in (1e-3, 0.1, 1.0, 10.0):
            B = norm.prox(W, step * unit(W), **options) / unit(W)
            V = W / unit(W) - B
            assert np.all(norm.dual_norm(V, **options) <= step * (1 + 1e-12) + 1e-13 / s.min()), what
            expected = step * norm.norm(B, **options)
            np.testing.assert_allclose(inner(norm, V, B), expected, rtol=1e-12, atol=1e-13, err_msg=what)
        for step, expected in ((0.0, W), (np.inf, 0 * W)):
            np.testing.assert_array_equal(norm.prox(W, step, **options), expected, err_msg=what)


@pytest.mark.parametrize("positive", [False, True])
def test_projection_and_prox_agree_with_a_convex_solver(norm, rng, positive, convex):
    cp, s, groups = convex.cp, np.array([0.1, 0.5, 1.0, 1.0, 2.0, 7.0]), np.array([0, 2, 0, 1, 2, 0])
    kinds = [{}, *norm.WEIGHTED * [{"weights": s}], *norm.GROUPED * [{"groups": groups, "weights": s[:3]}]]
    for radius, options in product((0.3, 2.0, 50.0), kinds):
        W, B = rng.normal(size=(6, 4)), cp.Variable((6, 4))
        columns = [B[:, [l]] for l in range(4)] if norm.PER_TASK else [B]
        arguments = options.get("weights", np.ones(6)), options.get("groups")
        sizes = [convex.convex_norm(NAME[norm], part, *arguments) for part in columns]
        signs, distance = [B >= 0] if positive else [], cp.sum_squares(B - W)
        for function, objective, constraints in (
            (norm.project, distance, [size <= radius for size in sizes]),
            (norm.prox, distance / 2 + radius * sum(sizes), []),
        ):
            cp.Problem(cp.Minimize(objective), signs + constraints).solve(solver="CLARABEL")
            np.testing.assert_allclose(function(W, radius, positive=positive, **options), B.value, atol=1e-4)


def test_positive_takes_the_positive_part(norm, rng):
    for what, W, options in forms(norm, rng):
        part, out = np.maximum(W, 0), W.copy(order="F")
        for radius in (0.0, norm.norm(W) / 3, norm.norm(part), np.inf):
            got = norm.project(W, radius, positive=True, **options)
            np.testing.assert_array_equal(got, norm.project(part, radius, **options), err_msg=what)
            assert got.dtype == W.dtype and not np.signbit(got).any(), what
        got = norm.prox(W, unit(W), positive=True, **options)
        np.testing.assert_array_equal(got, norm.prox(part, unit(W), **options), err_msg=what)
        assert norm.project(out, 1.0, positive=True, out=out) is out
        np.testing.assert_array_equal(out, norm.project(part, 1.0), err_msg=what)


# Large matrices, which kernels sample, split into blocks, or copy


def kinds(rng, d, m):
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
        "periodic": np.tile(rng.standard_t(1.5, size=(97, m)), (d // 97 + 1, 1))[:d],
        "ties": rng.integers(-3, 4, size=(d, m)).astype(float),
        "nearly equal": 1 + rng.integers(-3, 4, size=(d, m)) * EPS,
        "tiny": normal * 1e-38,
        "large": normal * 1e36,
    }


def warm_from(W, fraction):
    """Return the warm start that results from a projection of W onto the l1,inf ball."""
    warm = l1inf.Warm()
    l1inf.project(W, fraction * l1inf.norm(W), warm=warm)
    return warm


def ways(norm, W, share, rng):
    """Yield options with which a projection must give the same result: methods and warm starts."""
    yield {}
    yield from ({"method": method} for method in {l1: ("pivot", "sort"), l1inf: ("sort",)}.get(norm, ()))
    if norm.WARM:
        for V, fraction in ((rng.standard_t(1.5, size=(len(W), 2)), 0.1), (W * W.dtype.type(1.01), 0.999 * share)):
            yield {"warm": warm_from(V, fraction)}


def check(norm, W, radius, expected, *, weights=None, **options):
    """Check the accuracy of a projection, and its properties that hold bit for bit."""
    options |= {} if weights is None else {"weights": weights}
    got = norm.project(W, radius, **options)
    error, digits = np.abs(got - expected).max(initial=0), np.finfo(W.dtype).eps / EPS
    exact = norm in (l1, l1inf) and weights is None
    assert error <= (4e-15 if exact else 1e-14) * digits * np.abs(W).max(initial=0), options
    if exact and np.all(radius >= 1e-2 * norm.norm(W)):
        assert error <= 1e-13 * digits * np.abs(expected).max(initial=0), options
    assert np.all((np.sign(got) == np.sign(W)) | (got == 0)) and np.all(np.abs(got) <= np.abs(W)), options
    if norm is l1inf:
        assert l1inf.norm(got, weights=weights) <= radius, options
        assert l1inf.project(got, radius, **options | {"warm": None}).tobytes() == got.tobytes(), options


SHAPES = {
    "l1": [(1000, 1), (60_000, 1), (40, 1500), (700, 3), (5000, 7), (3001, 41)],
    "l1inf": [(256, 1), (300, 40), (700, 6), (2000, 3)],
    "l12": [(3000, 40)],
    "l2": [(3000, 40), (5, 1)],
}


@DTYPES
@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name in SHAPES for shape in SHAPES[name]])
def test_large_matrices_agree_with_extended_precision(name, shape, dtype, rng):
    norm, lost = (
        NORMS[name],
        ("1e-150 beside 1e150",) if dtype == np.float32 else ("1e-150 beside 1e150",) * (name != "l1inf"),
    )
    for what, W in kinds(rng, *shape).items():
        if what not in lost:
            W = W.astype(dtype)
            size = norm.norm(W)
            for share in (1 - EPS, 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-12, -3)):
                expected = oracles.project(name, W, size * share)
                for V, exact in [(W, expected), *[(W[:, 0], expected[:, 0])] * (shape[1] == 1 and norm.PER_TASK)]:
                    radius = size * share if V.ndim == 2 else float(size[0] * share)
                    for options in ways(norm, V, share, rng):
                        check(norm, V, radius, exact, **options)


@DTYPES
@pytest.mark.parametrize("shape", [(4, 2), (4, 700), (300, 100), (5000, 9)])
def test_zeros_stay_zeros_and_no_entry_grows_however_near_the_radius_is_to_the_norm(norm, rng, dtype, shape):
    W = (rng.uniform(size=shape) * (rng.random(shape) < 0.7)).astype(dtype)
    W[:4, 0], W[3] = [0.41643062916792795, 0.8523841701715669, 0, 0.47138529765377946], 0
    size = norm.norm(W)
    for share, options in product(
        (0.0, -1, 1, 3e-8, 0.5), [{}, *({"method": m} for m in ("sort", "pivot") if norm is l1)]
    ):
        radius = np.maximum(np.nextafter(size, share * np.inf), 0) if abs(share) == 1 else size * (1 - share)
        got = norm.project(W, radius, **options)
        assert not got[W == 0].any() and np.all(got <= W) and not norm.project(got, radius, **options)[got == 0].any()
        np.testing.assert_allclose(norm.norm(got), np.minimum(radius, size), rtol=64 * np.finfo(dtype).eps)
        assert share < 0 or share == 3e-8 or share == 0.5 or got.tobytes() == W.tobytes()


@pytest.mark.parametrize(
    "dtype, power", [*product([np.float64], [-300, -37, 1, 100, 700]), *product([np.float32], [-20, 25])]
)
def test_powers_of_two_scale_exactly(norm, rng, dtype, power):
    for shape in [(30, 7), (400, 7), (3000, 40), *norm.PER_TASK * [(5000,)]]:
        W, s = rng.standard_t(1.5, size=shape).astype(dtype), 10.0 ** rng.uniform(-3, 3, size=shape[0])
        for fraction, options in product((0.01, 0.5, 1 - EPS), [{}] + norm.WEIGHTED * [{"weights": s}]):
            radius = norm.norm(W, **options) * fraction
            expected = norm.project(W, radius, **options)
            got = norm.project(np.ldexp(W, power), np.ldexp(radius, power), **options)
            np.testing.assert_array_equal(got, np.ldexp(expected, power))
            if options:
                got = norm.project(W, np.ldexp(radius, power), weights=np.ldexp(s, power))
                np.testing.assert_array_equal(got, expected)


@norms("WARM")
def test_a_warm_start_gives_the_same_projection_as_a_cold_start(norm, rng):
    warm, W, s = norm.Warm(), rng.normal(size=(300, 7)), 10.0 ** rng.uniform(-2, 2, size=300)
    for step in range(80):
        W += 0.05 * rng.normal(size=W.shape)
        V = W * (10.0 ** rng.integers(-12, 13) if step % 7 == 6 else 1.0)  # occasionally of another scale
        V = V[: 299 if step % 17 == 16 else 300]  # occasionally of another shape
        options = {"weights": s[: len(V)]} if norm.WEIGHTED and step % 11 > 6 else {}
        radius = rng.uniform(1e-4, 1.1) * norm.norm(V, **options)
        got, expected = norm.project(V, radius, warm=warm, **options), norm.project(V, radius, **options)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14 * np.abs(V).max())


# Corner cases


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (4, 3)])
def test_empty_and_zero_matrices_are_not_changed(norm, shape):
    groups = [[], [], [], [1, 0, 0], [1, 0, 0, 1]][shape[0]]
    for options in some_forms(norm, np.arange(1.0, 1 + shape[0]), groups):
        W = np.zeros(shape)
        for got in (norm.project(W, 1.0, **options), norm.project(W, 0, **options), norm.prox(W, 1, **options)):
            assert got.shape == shape and not got.any()
        assert np.sum(norm.norm(W, **options)) == np.sum(norm.dual_norm(W, **options)) == 0


@pytest.mark.parametrize("n_tasks", [4, 1])  # with one task, only the sum over all rows overflows
def test_matrices_whose_sums_overflow_are_projected(norm, n_tasks):
    W = np.full((5, n_tasks), 1.5e308)
    assert np.all(np.isinf(norm.norm(W)))
    for options in some_forms(norm, np.ones(5), [0, 1, 1, 1, 0]):
        np.testing.assert_allclose(norm.norm(norm.project(W, 1e308, **options), **options), 1e308)
        assert norm.project(W, np.inf, **options).tobytes() == W.tobytes()
        np.testing.assert_allclose(norm.prox(W, 1e308, **options) / 1e308, norm.prox(W / 1e308, 1.0, **options))
    if norm is not l1inf:
        for radius in (1e-20, 1e-120, 1e-270):
            got = norm.norm(norm.project([[1e300, 1e200], [0.0, 0.0]], radius))
            np.testing.assert_allclose(got, radius, rtol=1e-14)


@norms("GROUPED")
def test_small_groups_are_not_padded_to_the_size_of_a_large_group(norm, rng):
    W, groups = rng.normal(size=(20_000, 2)), np.maximum(np.arange(20_000) - 10_000, 0)
    tracemalloc.start()
    for function in (norm.project, norm.prox):
        function(W, 0.5, groups=groups)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * W.nbytes  # with padding it would be 5,000 times W


# Dtypes and memory


@pytest.mark.parametrize("given, dtype", [(np.float32, np.float32), (">f4", np.float32), (np.float64, np.float64)])
def test_float32_and_float64_are_kept(norm, rng, given, dtype):
    W = rng.normal(size=(30, 7)).astype(given)
    for radius, (kind, options) in product((0.1, 2.0, 1000.0), variants(norm, W, rng).items()):
        if "spread" not in kind and "with weights" not in kind:
            got, exact = (norm.project(of, radius, **options) for of in (W, W.astype(float)))
            assert got.dtype == norm.prox(W, radius, **options).dtype == dtype
            np.testing.assert_allclose(got, exact, atol=4 * np.finfo(dtype).eps, err_msg=kind)


CONVERSIONS = {
    "columns": np.asfortranarray,
    "strides": lambda W: np.repeat(np.repeat(W, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda W: W[::-1].copy()[::-1],
    "read-only": read_only,
    "list": np.ndarray.tolist,
    **{str(dtype): partial(np.ndarray.astype, dtype=dtype) for dtype in (int, np.int8, ">f8", np.float16, object)},
    "frame": lambda W: pytest.importorskip("pandas").DataFrame(W),
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_other_layouts_and_dtypes_give_the_same_result_and_input_is_not_changed(norm, rng, convert):
    W, s = rng.integers(-9, 9, size=(6, 5)).astype(float), read_only(rng.uniform(0.5, 2, size=6))
    groups = np.uint8([0, 1, 1, 0, 2, 1])
    for function, options in product(functions(norm), some_forms(norm, s, groups) + some_forms(norm, [*s], [*groups])):
        V = convert(W)
        np.testing.assert_array_equal(function(V, **options), function(W, **options))
        np.testing.assert_array_equal(V, convert(W))


def test_out_takes_the_result(norm, rng):
    W = rng.normal(size=(30, 7))
    for radius, options in product((0.0, 2.0, 1000.0), [{}] + norm.GROUPED * [{"groups": np.arange(30) ** 2 // 60}]):
        expected = norm.project(W, radius, **options)
        shifted = np.vstack([W, W[:1]])
        for V, out in (
            *((W, out) for out in (np.empty_like(W), np.empty((7, 30)).T, np.zeros((30, 14))[:, ::2])),
            *((V, V) for V in (W.copy(), np.asfortranarray(W))),
            (shifted[:-1], shifted[1:]),  # overlaps the input
        ):
            assert norm.project(V, radius, out=out, **options) is out
            np.testing.assert_array_equal(out, expected)


def test_eight_threads_may_share_their_input(norm, rng):
    for shape in [(100, 1), (200, 30), (1000, 2)]:
        W = rng.standard_t(1.5, size=shape)
        radii = np.multiply.outer(np.linspace(0.01, 1.1, 8), norm.norm(W))
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(partial(norm.project, W), radii))
        np.testing.assert_array_equal(got, [norm.project(W, radius) for radius in radii])


# Norms per task


@norms("PER_TASK")
def test_each_task_may_have_its_own_radius_and_a_vector_is_a_single_task(norm, rng):
    W, radii = rng.normal(size=(30, 4)), [0.0, 0.5, 2.0, 1000.0]
    for function in (norm.project, norm.prox):
        expected = np.stack([function(w, radius) for w, radius in zip(W.T, radii, strict=True)], axis=1)
        np.testing.assert_allclose(function(W, radii), expected, rtol=4 * EPS)
    w = W[:, 0].copy()
    for function in functions(norm):
        np.testing.assert_array_equal(function(w), np.squeeze(function(w[:, np.newaxis])))
    assert type(norm.norm(w)) is type(norm.dual_norm(w)) is float
    expected = norm.project(w, 1.0)
    assert norm.project(w, 1.0, out=w) is w and w.tobytes() == expected.tobytes()
    V = np.array([[1e-300, 1.5e308], [2e-300, 1.5e308], [0.0, 1.5e308]])  # a huge task beside a tiny one
    np.testing.assert_array_equal(norm.project(V, 1.0)[:, 0], V[:, 0])
    np.testing.assert_allclose(norm.norm(norm.project(V, 1.0))[1], 1.0)


# Coordinate descent


@pytest.mark.parametrize("n_samples", [9, 4])
@norms("DESCENDS")
def test_a_sweep_solves_each_row_by_the_proximal_operator(norm, n_samples):
    """A single row minimises 1/2 g ||w||^2 - <u, w> + p norm(w), whose solution is prox(u, p) / g."""
    rng = np.random.default_rng(0)
    X, Y, W = rng.normal(size=(n_samples, 6)), rng.normal(size=(n_samples, 3)), rng.normal(size=(6, 3))
    penalties = rng.random(6)
    X[:, 2] = 0.0  # the weights of a feature that is always 0 do not change
    penalties[4] = 100.0
    G, Q = X.T @ X, X.T @ Y
    expected = W.copy()
    for i in (0, 1, 3, 4, 5):
        u = Q[i] - G[i] @ expected + G[i, i] * expected[i]
        expected[i] = norm.prox(u[np.newaxis], penalties[i])[0] / G[i, i]
    few = n_samples < 6
    A, H = (np.ascontiguousarray(array) for array in ((X.T, (Y - X @ W).T) if few else (G, (Q - G @ W).T)))
    norm.descend(A, G.diagonal().copy(), H, W, penalties, 1)
    np.testing.assert_allclose(W, expected, atol=1e-12)
    np.testing.assert_allclose(H, (Y - X @ W).T if few else (Q - G @ W).T, atol=1e-12)
    assert not W[4].any()


# Radii and weights of extreme sizes


WEIGHTED = [("l1", "weights"), *((name, form) for name in ("l12", "l1inf") for form in ("weights", "groups"))]


@pytest.mark.parametrize("radius", [1e-220, 1e-20, 6.0, 1e10, 2.0**249])
@pytest.mark.parametrize(("name", "form"), WEIGHTED)
def test_weights_may_differ_by_the_largest_allowed_factor(name, form, radius):
    norm, weights = NORMS[name], np.array([2.0**250, 1e20, 1.0, 1e-20, 2.0**-250, 1.0])
    options = {"weights": weights} if form == "weights" else {"weights": weights[:4], "groups": [0, 1, 2, 3, 3, 2]}
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-6)):
        W = np.array([[3.0, -0.5], [1.0, 0.5], [-0.25, 2.0], [1.0, 1.0], [0.5, -0.5], [2.0, 1.0]], dtype)
        B = norm.project(W, radius, **options)
        got = np.max(norm.norm(B.astype(np.float64), **options))
        # In float32, rows with large weights underflow, so the norm may stay below the radius.
        assert got <= radius * (1 + tolerance) and (dtype == np.float32 or got >= radius * (1 - tolerance))
        assert np.all(np.abs(B) <= np.abs(W))


LARGEST = np.finfo(float).max


@pytest.mark.parametrize(
    ("W", "weights", "radius", "expected"),
    [
        # Row i loses s_i theta. The first row can only lose 1, so theta and the loss of the other row are tiny.
        ([1.0, 0.5], [1e20, 1.0], 6.0, [5.5e-20, 0.5]),
        ([1e300, 2e300], [1e-10, 1e20], LARGEST, [1e300, LARGEST / 1e20]),  # the norm is above the largest float
        ([1e-310, 0.0], [1e20, 1e20], 0.0, [0, 0]),  # divided by the weight the row sum underflows
        ([5e-324, 0.0], [0.01, 0.01], 0.0, [0, 0]),
    ],
)
@pytest.mark.parametrize(("name", "form"), WEIGHTED)
def test_weights_by_hand(name, form, W, weights, radius, expected):
    groups = {"groups": [0, 1]} if form == "groups" else {}
    B = NORMS[name].project(np.array(W)[:, np.newaxis], radius, weights=np.array(weights), **groups)
    np.testing.assert_allclose(B[:, 0], expected, rtol=1e-12)


@DTYPES
def test_tiny_radii_are_met(norm, dtype):
    W = np.array([[1.0, 0.5], [0.25, 2.0], [0.0, 0.0], [-2.0, 0.25]], dtype)
    for share in (1e-15, 1e-17, 1e-20, 1e-33, 1e-35, *(1e-100, 1e-290) * (dtype == np.float64)):
        for options in variants(norm, W, np.random.default_rng(0)).values():
            radius = share * np.max(norm.norm(W, **options))
            got = norm.norm(norm.project(W, radius, **options).astype(float), **options)
            np.testing.assert_allclose(got, radius, rtol=1e-12 if dtype == np.float64 else 1e-6)


@DTYPES
def test_radii_close_to_0_and_close_to_the_norm(norm, dtype, rng):
    """No entry grows, and the error of the norm is at most one unit in the last place per entry."""
    for _ in range(300):
        shape = rng.integers(1, 9), rng.integers(1, 4)
        W = (1 + rng.integers(0, 10, size=shape) * np.finfo(dtype).eps).astype(dtype)
        before, unit = np.max(norm.norm(W)), np.spacing(W.max())
        for radius in (np.nextafter(before, 0), before - unit, *(unit * rng.uniform(0, 5, size=3))):
            B = norm.project(W, float(radius))
            assert np.all(B <= W) and np.all(B >= 0)
            most = max(4, len(W) * (1 if norm.PER_TASK else shape[1])) * unit if radius > 1e-3 else 1e-6 * radius
            assert np.all(abs(norm.norm(B.astype(np.float64)) - np.minimum(radius, norm.norm(W))) <= most)


@DTYPES
def test_subnormal_results_stay_in_the_ball(norm, dtype, rng):
    """Subnormal numbers have few digits and are rounded towards 0."""
    unit = np.finfo(dtype).smallest_subnormal
    for W in (np.array([[3, 2], [-5, 4], [4, 1]]), *(rng.integers(0, high, size=(9, 3)) for high in (2, 5, 1000))):
        W = (W * unit).astype(dtype)
        for share, options in product(
            (0.3, 0.6, 0.9), [{}, *norm.WEIGHTED * [{"weights": np.linspace(0.1, 9, len(W))}]]
        ):
            radius = share * np.min(norm.norm(W, **options)).astype(np.float64)
            B = norm.project(W, radius, **options)
            assert np.all(norm.norm(B, **options) <= radius) and np.all(np.abs(B) <= np.abs(W))
            if NAME[norm] in oracles.PROJECTIONS and norm is not l2:
                assert np.abs(B - oracles.project(NAME[norm], W, radius, **options)).max() <= 20 * unit


# Refusals: for which norms (all, those with a flag, or one), which functions, the arguments, and the message


NAN, MASKED = np.array([[1.0], [np.nan], [2.0]]), np.ma.array(np.eye(2), mask=np.eye(2))
ALL, ROWS, TWO = "norm dual_norm project prox", "norm dual_norm dual_rows project prox", np.ones((2, 2))
GROUPS, GAPS = "groups must be one whole number per feature, shape (3,), got ", "groups must be numbered 0, 1, 2, … "
SORT = "method must be newton if {} are given, got 'sort'"
INVALID = [
    *(("", ALL, {"W": bad}, "W must ") for bad in (1.0, np.eye(2) * 1j, [["a"]], [[1.0], [1, 2]], None, [[10**400]])),
    ("", ALL, {"W": MASKED}, "W must hold a number everywhere, got a masked"),
    *(
        ("", "project", {"out": bad}, "out must be ")
        for bad in (np.eye(2), np.ones((3, 2), "f"), [[1.0]], read_only(np.ones((3, 2))))
    ),
    *(("", "project", {"radius": bad}, "radius must be ") for bad in ("1", None, [[1.0]], [1.0, 2.0, 3.0], 10**400)),
    *(
        ("", function, {"W": np.ones(shape), name: bad}, f"{name} must be at least 0, got {float(bad)}")
        for function, name in (("project", "radius"), ("prox", "step"))
        for bad in (-3, np.nan, -5e-324)
        for shape in ((3, 2), (0, 2))
    ),
    ("", "project prox", {"W": [[1.0, -np.inf]], "positive": True}, "W must be finite, got -inf at (0, 1)"),
    ("PER_TASK", "project", {"radius": [1.0, -2.0]}, "radius must be at least 0, got -2.0"),
    *(
        (
            "WEIGHTED",
            ROWS,
            {"weights": [1.0, bad, 1.0]},
            f"weights must be positive and finite, got {float(bad)} at (1,)",
        )
        for bad in (0, -2.0, np.nan, np.inf)
    ),
    *(
        ("WEIGHTED", ROWS, {"weights": bad}, "weights must be one per feature, shape (3,)")
        for bad in ([1.0, 2.0], 1.0, np.ones((3, 1)))
    ),
    ("WEIGHTED", ROWS, {"weights": ["a", "b", "c"]}, "weights must hold real numbers"),
    ("WEIGHTED", ROWS, {"weights": [1e-300, 1.0, 1e300]}, "weights must differ by a factor of at most 2^500"),
    *(
        ("GROUPED", ROWS, {"groups": bad}, GROUPS + got)
        for bad, got in (
            ([0, 1], "shape (2,), dtype int64"),
            ([[0], [1, 1], [1]], "list"),
            ([0.0, 1, 1], "shape (3,), dtype f"),
        )
    ),
    *(
        ("GROUPED", ROWS, {"groups": bad}, f"{GAPS}without gaps, got {got} instead of {place}")
        for bad, got, place in (([0, -1, 1], -1, 0), ([0, 2, 2], 2, 1), ([1, 1, 2], 1, 0))
    ),
    ("GROUPED", ROWS, {"groups": [0, 1, 1], "weights": np.ones(3)}, "weights must be one per group, shape (2,), got "),
    *(
        ("GROUPED", ROWS, {"W": NAN, "groups": bad}, "W must be finite, got nan at (1, 0)")
        for bad in ([2, 1, 0], [1, 0, 0])
    ),
    ("l1", "project", {"method": "heap"}, "method must be newton, pivot or sort, got 'heap'"),
    ("l1", "project", {"weights": np.ones(3), "method": "sort"}, SORT.format("weights")),
    ("l1inf", "project", {"method": "bisect"}, "method must be newton or sort, got 'bisect'"),
    ("l1inf", "project", {"weights": np.ones(3), "method": "sort"}, SORT.format("weights")),
    ("l1inf", "project", {"groups": [0, 1, 1], "method": "sort"}, SORT.format("groups")),
    ("l1inf", "project", {"groups": [0, 1, 1], "warm": l1inf.Warm()}, "warm must be None if groups are given, got <"),
    ("l1inf", "project", {"warm": 3}, "warm must be a Warm object or None, got 3"),
]


@pytest.mark.parametrize(("which", "called", "arguments", "message"), INVALID)
def test_invalid_arguments_raise(which, called, arguments, message):
    of_all = [norm for name, norm in NORMS.items() if which in ("", name) or (which.isupper() and getattr(norm, which))]
    for norm, name in product(of_all, called.split()):
        needed = {"project": {"radius": 1.0}, "prox": {"step": 1.0}}.get(name, {})
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            getattr(norm, name)(**{"W": np.ones((3, 2))} | needed | arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@DTYPES
def test_nan_and_infinity_raise_at_every_place(norm, bad, dtype):
    for shape in [(3, 2), (40, 50), (200, 3), (5000, 3)]:
        places = [(0, 0), (2, 1), (shape[0] // 2, 1), (shape[0] - 1, shape[1] - 1)]
        for function, place in product(functions(norm), places):
            W = np.ones(shape, dtype)
            W[place] = bad
            for V in [W, *norm.PER_TASK * [W[:, place[1]].copy()]]:
                with pytest.raises(ValueError, match=re.escape(f"W must be finite, got {bad} at ({place[0]},")):
                    function(V)
