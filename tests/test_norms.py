"""Tests of every registered norm, with and without weights and groups.

A new norm is tested through its definitions. Norm and dual norm must satisfy Hölder's inequality and attain equality.
`project` and `prox` must satisfy their optimality conditions, and agree with a convex solver that uses the norm's
expression in oracles_convex.py.
"""

import math
import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import numpy as np
import oracles
import pytest

from jointsparse.norms import NORMS, l1, l1inf, l2, l12

EPS = np.finfo(float).eps


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


def cases(norm, rng):
    """Yield a name, a matrix, options, a radius from far below to just below the norm, and the projection."""
    for what, W in matrices(rng).items():
        for kind, options in variants(norm, W, rng).items():
            for fraction in (1e-3, 0.1, 0.5, 0.99, 1 - EPS / 2) if kind == "plain" else (1e-2, 0.5, 1 - EPS / 2):
                radius = norm.norm(W, **options) * fraction
                yield f"{what}, {kind}, {fraction}", W, options, radius, norm.project(W, radius, **options)


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
    """<V, W> <= norm(V) * dual_norm(W). See `test_projection_is_optimal` for equality."""
    V, W = rng.normal(size=(2, 30, 7))
    assert np.all(inner(norm, V, W) <= norm.norm(V) * norm.dual_norm(W) * (1 + 1e-14))
    for size in (norm.norm, norm.dual_norm):
        got = size(W)
        assert (got.shape, got.dtype) == ((7,), np.float64) if norm.PER_TASK else type(got) is float
        assert np.all(got > 0) and not np.any(size(0 * W))
        assert np.all(size(V + W) <= (size(V) + got) * (1 + 1e-14))
        np.testing.assert_allclose(size(-3 * W), 3 * got, rtol=1e-14)


FORMULAS = {
    "l1": lambda W: np.abs(W).sum(axis=0),
    "l12": lambda W: np.sqrt((W**2).sum(axis=1)).sum(),
    "l1inf": lambda W: np.abs(W).max(axis=1).sum(),
    "l2": lambda W: np.sqrt((W**2).sum(axis=0)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_norm_agrees_with_its_formula(name, rng):
    for what, W in matrices(rng).items():
        np.testing.assert_allclose(
            NORMS[name].norm(W), FORMULAS[name](W.astype(np.longdouble)).astype(float), rtol=1e-14, err_msg=what
        )


@norms("WEIGHTED")
def test_weights_multiply_rows_in_the_norm_and_divide_them_in_the_dual(norm, rng):
    W, s = rng.normal(size=(30, 7)), 10.0 ** rng.uniform(-10, 10, size=30)
    np.testing.assert_allclose(norm.norm(W, weights=s), norm.norm(s[:, np.newaxis] * W), rtol=1e-14)
    np.testing.assert_allclose(norm.dual_norm(W, weights=s), norm.dual_norm(W / s[:, np.newaxis]), rtol=1e-14)


@norms("GROUPED")
def test_all_entries_of_a_group_count_as_one_row(norm, rng):
    for what, W in matrices(rng).items():
        for kind, options in variants(norm, W, rng).items():
            if "groups" in options:
                rows, s = oracles.rows_of_groups(W, options["groups"]), options.get("weights")
                for size in (norm.norm, norm.dual_norm, norm.dual_rows):
                    np.testing.assert_allclose(size(W, **options), size(rows, weights=s), rtol=1e-14, err_msg=what)
                step = 0.7 * unit(W)
                expected = oracles.features_of_rows(norm.prox(rows, step, weights=s), options["groups"], W.shape[1])
                assert np.abs(norm.prox(W, step, **options) - expected).max() <= 1e-14 * np.abs(W).max(), (what, kind)


@norms("SPARSE")
def test_the_maximum_of_dual_rows_is_the_dual_norm(norm, rng):
    for what, W in matrices(rng).items():
        for kind, options in variants(norm, W, rng).items():
            got = norm.dual_rows(W, **options)
            n = options["groups"].max() + 1 if "groups" in options else len(W)
            assert got.shape == (W.shape if norm.PER_TASK else (n,)), what
            np.testing.assert_array_equal(got.max(axis=0), norm.dual_norm(W, **options), err_msg=f"{what}, {kind}")


# Projection


def test_projection_meets_the_radius_keeps_signs_and_zeros_and_lets_no_entry_grow(norm, rng):
    for what, W, options, radius, B in cases(norm, rng):
        np.testing.assert_allclose(norm.norm(B, **options), radius, rtol=1e-12, err_msg=what)
        assert np.all((np.sign(B) == np.sign(W)) | (B == 0)) and np.all(np.abs(B) <= np.abs(W) * (1 + 2 * EPS)), what
        np.testing.assert_allclose(
            norm.project(B, radius, **options), B, rtol=1e-12, atol=1e-15 * np.abs(B).max(), err_msg=what
        )


def test_projection_is_optimal(norm, rng):
    """W - B is normal to the ball at B: <W - B, B> = radius * dual_norm(W - B)."""
    for what, W, options, radius, B in cases(norm, rng):
        rest = (W - B) / unit(W)
        got, expected = inner(norm, rest, B / unit(W)), radius / unit(W) * norm.dual_norm(rest, **options)
        rounding = (
            1e-14 * W.size * max(np.max(radius / unit(W)), 1) / min(options.get("weights", np.ones(1)).min(), 1)
        )  # rounding error of a row of `rest` in the dual norm
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=rounding, err_msg=what)


@pytest.mark.parametrize("name", oracles.PROJECTIONS)
def test_projection_agrees_with_extended_precision(name, rng):
    for what, W, options, radius, got in cases(NORMS[name], rng):
        expected = oracles.project(name, W, radius, **options)
        assert np.abs(got - expected).max() <= (1e-13 if options else 4e-15) * np.abs(W).max(), what


@pytest.mark.parametrize(("name", "norm"), NORMS.items(), ids=NORMS)
@pytest.mark.parametrize("positive", [False, True])
def test_projection_and_prox_agree_with_a_convex_solver(name, norm, rng, positive, convex):
    cp, s, groups = convex.cp, np.array([0.1, 0.5, 1.0, 1.0, 2.0, 7.0]), np.array([0, 2, 0, 1, 2, 0])
    forms = [{}, *([{"weights": s}] if norm.WEIGHTED else []), *([{"groups": groups, "weights": s[:3]}] * norm.GROUPED)]
    for radius, options in product((0.3, 2.0, 50.0), forms):
        W, B = rng.normal(size=(6, 4)), cp.Variable((6, 4))
        columns = [B[:, [l]] for l in range(4)] if norm.PER_TASK else [B]
        arguments = options.get("weights", np.ones(6)), options.get("groups")
        sizes = [convex.convex_norm(name, part, *arguments) for part in columns]
        signs, distance = [B >= 0] if positive else [], cp.sum_squares(B - W)
        for function, objective, constraints in (
            (norm.project, distance, [size <= radius for size in sizes]),
            (norm.prox, distance / 2 + radius * sum(sizes), []),
        ):
            cp.Problem(cp.Minimize(objective), signs + constraints).solve(solver="CLARABEL")
            np.testing.assert_allclose(function(W, radius, positive=positive, **options), B.value, atol=1e-4)


def test_a_point_inside_comes_back_bit_for_bit_and_radius_zero_gives_zeros(norm, rng):
    for what, W in matrices(rng).items():
        for kind, options in variants(norm, W, rng).items():
            for radius in (norm.norm(W, **options), np.inf):
                got = norm.project(W, radius, **options)
                assert got.tobytes() == W.tobytes() and got is not W, (what, kind)
            got = norm.project(W, 0, **options)
            assert got.shape == W.shape and not got.any(), (what, kind)


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
        options = {"weights": s} if norm.WEIGHTED and step % 11 > 6 else {}
        radius = rng.uniform(1e-4, 1.1) * norm.norm(V, **options)
        got, expected = norm.project(V, radius, warm=warm, **options), norm.project(V, radius, **options)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14 * np.abs(V).max())


# Prox


def test_prox_is_optimal(norm, rng):
    """V = W - prox(W, step) has dual_norm(V) <= step and <V, prox> = step * norm(prox)."""
    for what, W in matrices(rng).items():
        for kind, options in variants(norm, W, rng).items():
            for step in (1e-3, 0.1, 1.0, 10.0):
                B = norm.prox(W, step * unit(W), **options) / unit(W)
                V, s = W / unit(W) - B, options.get("weights", np.ones(1))
                assert np.all(norm.dual_norm(V, **options) <= step * (1 + 1e-12) + 1e-13 / s.min()), (what, kind)
                got, expected = inner(norm, V, B), step * norm.norm(B, **options)
                np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13, err_msg=f"{what}, {kind}")
            for step, expected in ((0.0, W), (np.inf, 0 * W)):
                np.testing.assert_array_equal(norm.prox(W, step, **options), expected, err_msg=f"{what}, {kind}")


# Corner cases


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (4, 3)])
def test_empty_and_zero_matrices_are_not_changed(norm, shape):
    W, s, groups = np.zeros(shape), np.arange(1.0, 1 + shape[0]), [[], [], [], [1, 0, 0], [1, 0, 0, 1]][shape[0]]
    for options in [{}] + norm.WEIGHTED * [{"weights": s}] + norm.GROUPED * [{"groups": groups}]:
        for got in (norm.project(W, 1.0, **options), norm.project(W, 0, **options), norm.prox(W, 1, **options)):
            assert got.shape == shape and not got.any()
        assert np.sum(norm.norm(W, **options)) == np.sum(norm.dual_norm(W, **options)) == 0


@pytest.mark.parametrize("n_tasks", [4, 1])  # with one task, only the sum over all rows overflows
def test_matrices_whose_sums_overflow_are_projected(norm, n_tasks):
    W = np.full((5, n_tasks), 1.5e308)
    assert np.all(np.isinf(norm.norm(W)))
    for options in [{}, *norm.GROUPED * [{"groups": [0, 1, 1, 1, 0]}]]:
        np.testing.assert_allclose(norm.norm(norm.project(W, 1e308, **options), **options), 1e308)
        assert norm.project(W, np.inf, **options).tobytes() == W.tobytes()
        np.testing.assert_allclose(norm.prox(W, 1e308, **options) / 1e308, norm.prox(W / 1e308, 1.0, **options))


@pytest.mark.parametrize("norm", [l1, l12, l2])
@pytest.mark.parametrize("radius", [1e-20, 1e-120, 1e-270])
def test_a_small_radius_is_met_with_entries_near_the_largest_float(norm, radius):
    np.testing.assert_allclose(norm.norm(norm.project([[1e300, 1e200], [0.0, 0.0]], radius)), radius, rtol=1e-14)


@pytest.mark.parametrize("name", ["l1", "l12", "l1inf"])
def test_weighted_projections_of_the_smallest_numbers_are_accurate(name, rng):
    norm, W, s = NORMS[name], rng.integers(0, 1000, size=(9, 3)) * 5e-324, rng.uniform(0.1, 10, size=9)
    for fraction in (0.3, 0.9):
        radius = norm.norm(W, weights=s) * fraction
        assert np.abs(norm.project(W, radius, weights=s) - oracles.project(name, W, radius, s)).max() <= 20 * 5e-324


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
            got = norm.project(W, radius, **options)
            assert got.dtype == norm.prox(W, radius, **options).dtype == dtype
            np.testing.assert_allclose(
                got, norm.project(W.astype(float), radius, **options), atol=4 * np.finfo(dtype).eps, err_msg=kind
            )


CONVERSIONS = [
    np.asfortranarray,
    lambda W: np.repeat(np.repeat(W, 2, axis=0), 3, axis=1)[::2, ::3],
    lambda W: W[::-1].copy()[::-1],
    read_only,
    np.ndarray.tolist,
    *(partial(np.ndarray.astype, dtype=dtype) for dtype in (int, np.int8, ">f8", np.float16, object)),
]


def assert_same_as_array(norm, convert, rng):
    """Assert that the functions of a norm give the same result for W in another form, and do not change W."""
    W, s = rng.integers(-9, 9, size=(6, 5)).astype(float), read_only(rng.uniform(0.5, 2, size=6))
    forms = [
        {},
        *norm.WEIGHTED * [{"weights": s}, {"weights": s.tolist()}],
        *norm.GROUPED * [{"groups": np.uint8([0, 1, 1, 0, 2, 1])}, {"groups": [0, 1, 1, 0, 2, 1]}],
    ]
    for function, options in product(functions(norm), forms):
        V = convert(W)
        got = function(V, **options)
        np.testing.assert_array_equal(got, function(W, **options))
        assert np.asarray(got).dtype == np.float64 and not np.shares_memory(got, W)
        np.testing.assert_array_equal(V, convert(W))


def test_other_layouts_and_dtypes_give_the_same_result_and_input_is_not_changed(norm, rng):
    for convert in CONVERSIONS:
        assert_same_as_array(norm, convert, rng)


def test_a_frame_gives_the_same_result_and_is_not_changed(norm, rng):
    assert_same_as_array(norm, pytest.importorskip("pandas").DataFrame, rng)


def test_out_takes_the_result(norm, rng):
    W = rng.normal(size=(30, 7))
    for radius, options in product((0.0, 2.0, 1000.0), [{}] + norm.GROUPED * [{"groups": np.arange(30) ** 2 // 60}]):
        expected = norm.project(W, radius, **options)
        for out in (np.empty_like(W), np.empty((7, 30)).T, np.zeros((30, 14))[:, ::2], W.copy()):
            assert norm.project(W, radius, out=out, **options) is out
            np.testing.assert_array_equal(out, expected)
        for in_place in (W.copy(), np.asfortranarray(W)):
            norm.project(in_place, radius, out=in_place, **options)
            np.testing.assert_array_equal(in_place, expected)
        shifted = np.vstack([W, W[:1]])
        norm.project(shifted[:-1], radius, out=shifted[1:], **options)  # overlaps the input
        np.testing.assert_array_equal(shifted[1:], expected)


def test_eight_threads_may_share_their_input(norm, rng):
    for shape in [(100, 1), (200, 30), (1000, 2)]:
        W = rng.standard_t(1.5, size=shape)
        radii = np.multiply.outer(np.linspace(0.01, 1.1, 8), norm.norm(W))
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(partial(norm.project, W), radii))
        np.testing.assert_array_equal(got, [norm.project(W, radius) for radius in radii])


# Invalid arguments

FINITE = "weights must be positive and finite, got {} at (1,)"
GROUPS = "groups must be one whole number per feature, shape (3,), got "
GAPS = "groups must be numbered 0, 1, 2, … without gaps, got {} instead of {}"
NAN, MASKED = np.array([[1.0], [np.nan], [2.0]]), np.ma.array(np.eye(2), mask=np.eye(2))
# Functions, arguments, the constant that must be True for a norm to take the arguments, and the message.
INVALID = [
    *(("all", {"W": bad}, "", "W must ") for bad in (1.0, np.eye(2) * 1j, [["a"]], [[1.0], [1, 2]], None, MASKED)),
    *(
        ("project", {"out": bad}, "", "out must be ")
        for bad in (np.eye(2), np.ones((3, 2), "f"), [[1.0]], read_only(np.ones((3, 2))))
    ),
    *(("project", {"radius": bad}, "", "radius must be ") for bad in ("1", b"1", None, [[1.0]], [1.0, 2.0, 3.0])),
    *(
        (function, {"W": np.ones(shape), name: bad}, "", f"{name} must be at least 0, got {float(bad)}")
        for function, name in (("project", "radius"), ("prox", "step"))
        for bad in (-3, np.nan, -np.inf, -5e-324)
        for shape in ((3, 2), (0, 2))
    ),
    *(
        ("project prox", {"W": [[1.0, bad]], "positive": True}, "", f"W must be finite, got {bad} at (0, 1)")
        for bad in (np.nan, -np.inf)
    ),
    ("project", {"radius": [1.0, -2.0]}, "PER_TASK", "radius must be at least 0, got -2.0"),
    *(
        ("rows", {"weights": [1.0, bad, 1.0]}, "WEIGHTED", FINITE.format(float(bad)))
        for bad in (0, -2.0, np.nan, np.inf)
    ),
    *(
        ("rows", {"weights": bad}, "WEIGHTED", "weights must be one per feature, shape (3,)")
        for bad in ([1.0, 2.0], 1.0, np.ones((3, 1)))
    ),
    ("rows", {"weights": ["a", "b", "c"]}, "WEIGHTED", "weights must hold real numbers"),
    ("rows", {"weights": [1e-300, 1.0, 1e300]}, "WEIGHTED", "weights must differ by a factor of at most 2^500"),
    *(
        ("rows", {"groups": bad}, "GROUPED", GROUPS + got)
        for bad, got in (
            ([0, 1], "shape (2,), dtype int64"),
            (0, "shape ()"),
            ([[0], [1], [1]], "shape (3, 1)"),
            ([[0], [1, 1], [1]], "list"),
            ([0.0, 1.0, 1.0], "shape (3,), dtype float64"),
            ([True, False, True], "shape (3,), dtype bool"),
            (["a", "b", "c"], "shape (3,), dtype <U1"),
        )
    ),
    *(
        ("rows", {"groups": bad}, "GROUPED", GAPS.format(got, place))
        for bad, got, place in (([0, -1, 1], -1, 0), ([0, 2, 2], 2, 1), ([1, 1, 2], 1, 0))
    ),
    (
        "rows",
        {"groups": [0, 1, 1], "weights": np.ones(3)},
        "GROUPED",
        "weights must be one per group, shape (2,), got shape (3,)",
    ),
    *(
        ("rows", {"W": NAN, "groups": bad}, "GROUPED", "W must be finite, got nan at (1, 0)")
        for bad in ([2, 1, 0], [1, 0, 0])
    ),
]


@pytest.mark.parametrize("called, arguments, flag, message", INVALID)
def test_invalid_arguments_raise(norm, called, arguments, flag, message):
    names = {"all": "norm dual_norm project prox", "rows": "norm dual_norm dual_rows project prox"}.get(called, called)
    for name in names.split() if not flag or getattr(norm, flag) else ():
        needed = {"project": {"radius": 1.0}, "prox": {"step": 1.0}}.get(name, {})
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            getattr(norm, name)(**{"W": np.ones((3, 2))} | needed | arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_and_infinity_raise_at_every_place(norm, bad, dtype):
    for shape in [(3, 2), (40, 50), (200, 3), (5000, 3)]:
        places = [(0, 0), (2, 1), (shape[0] // 2, 1), (shape[0] - 1, shape[1] - 1)]
        for function, place in product(functions(norm), places):
            W = np.ones(shape, dtype)
            W[place] = bad
            for V in [W, *norm.PER_TASK * [W[:, place[1]].copy()]]:
                with pytest.raises(ValueError, match=re.escape(f"W must be finite, got {bad} at ({place[0]},")):
                    function(V)


# Norms per task


@norms("PER_TASK")
def test_each_task_may_have_its_own_radius(norm, rng):
    W, radii = rng.normal(size=(30, 4)), [0.0, 0.5, 2.0, 1000.0]
    for function in (norm.project, norm.prox):
        expected = np.stack([function(w, radius) for w, radius in zip(W.T, radii, strict=True)], axis=1)
        np.testing.assert_allclose(function(W, radii), expected, rtol=4 * EPS)


@norms("PER_TASK")
def test_a_vector_is_a_single_task(norm, rng):
    w = rng.normal(size=30)
    for function in functions(norm):
        np.testing.assert_array_equal(function(w), np.squeeze(function(w[:, np.newaxis])))
    assert type(norm.norm(w)) is type(norm.dual_norm(w)) is float
    in_place = w.copy()
    assert norm.project(in_place, 1.0, out=in_place) is in_place
    np.testing.assert_array_equal(in_place, norm.project(w, 1.0))


@norms("PER_TASK")
def test_a_task_with_huge_weights_does_not_change_a_task_with_tiny_weights(norm):
    W = np.array([[1e-300, 1.5e308], [2e-300, 1.5e308], [0.0, 1.5e308]])
    B = norm.project(W, 1.0)
    np.testing.assert_array_equal(B[:, 0], W[:, 0])
    np.testing.assert_allclose(norm.norm(B)[1], 1.0)


# Non-negative weights


def test_positive_projects_the_positive_part(norm, rng):
    for what, W in matrices(rng).items():
        part, out = np.maximum(W, 0), W.copy(order="F")
        for options in variants(norm, W, rng).values():
            for radius in (0.0, norm.norm(W) / 3, norm.norm(part), np.inf):
                got = norm.project(W, radius, positive=True, **options)
                np.testing.assert_array_equal(got, norm.project(part, radius, **options), err_msg=what)
                assert got.dtype == W.dtype and not np.signbit(got).any(), what
            got = norm.prox(W, unit(W), positive=True, **options)
            np.testing.assert_array_equal(got, norm.prox(part, unit(W), **options), err_msg=what)
        assert norm.project(out, 1.0, positive=True, out=out) is out
        np.testing.assert_array_equal(out, norm.project(part, 1.0), err_msg=what)


# Rows that become zero


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_l12_keeps_zero_rows_for_radii_close_to_the_norm(rng, dtype):
    single = np.array([[0.41643062916792795], [0.8523841701715669], [0.0], [0.47138529765377946]])
    np.testing.assert_allclose(l12.project(single, 1.7402000969932743), single, rtol=1e-15)
    for _ in range(300):
        W = (rng.uniform(size=(4, 2)) * (rng.random((4, 1)) < 0.7)).astype(dtype)
        for radius in (l12.norm(W), np.nextafter(l12.norm(W), 0), l12.norm(W) * 0.5):
            got = l12.project(W, radius)
            assert not got[W == 0].any()
            assert not l12.project(got, radius)[got == 0].any()


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


def heavy_and_light(norm, form, dtype=np.float64):
    """Return a matrix, and options of the norm with weights that differ by the factor 2^500."""
    W = np.array([[3.0, -0.5], [1.0, 0.5], [-0.25, 2.0], [1.0, 1.0], [0.5, -0.5], [2.0, 1.0]], dtype)
    weights = np.array([2.0**250, 1e20, 1.0, 1e-20, 2.0**-250, 1.0])
    options = {"weights": weights} if form == "weights" else {"weights": weights[:4], "groups": [0, 1, 2, 3, 3, 2]}
    return W, options


@pytest.mark.parametrize("radius", [1e-220, 1e-20, 6.0, 1e10, 2.0**249])
@pytest.mark.parametrize(("name", "form"), WEIGHTED)
def test_weights_may_differ_by_the_largest_allowed_factor(name, form, radius):
    norm = NORMS[name]
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-6)):
        W, options = heavy_and_light(name, form, dtype)
        B = norm.project(W, radius, **options)
        got = np.max(norm.norm(B.astype(np.float64), **options))
        assert got <= radius * (1 + tolerance)
        # In float32, rows with large weights underflow, so the norm may stay below the radius.
        assert dtype == np.float32 or got >= radius * (1 - tolerance)
        assert np.all(np.abs(B) <= np.abs(W))


@pytest.mark.parametrize(("name", "form"), WEIGHTED)
def test_a_row_with_a_large_weight_hardly_changes_the_other_rows(name, form):
    """Row i loses s_i theta. The first row, of large weight, can only lose 1, so theta and the other loss are tiny."""
    W, weights = np.array([[1.0], [0.5]]), np.array([1e20, 1.0])
    groups = {"groups": [0, 1]} if form == "groups" else {}
    B = NORMS[name].project(W, 6.0, weights=weights, **groups)
    np.testing.assert_allclose(B, [[5.5e-20], [0.5]], rtol=1e-12)


SMALL_SHARES = [1e-15, 1e-17, 1e-20, 1e-33, 1e-35]  # fractions of the norm, above the smallest numbers of float32


@pytest.mark.parametrize(
    ("dtype", "share"),
    [
        *((np.float32, share) for share in SMALL_SHARES),
        *((np.float64, share) for share in (*SMALL_SHARES, 1e-100, 1e-290)),
    ],
)
def test_tiny_radii_are_met(norm, share, dtype):
    W = np.array([[1.0, 0.5], [0.25, 2.0], [0.0, 0.0], [-2.0, 0.25]], dtype)
    for options in variants(norm, W, np.random.default_rng(0)).values():
        radius = share * np.max(norm.norm(W, **options))
        got = norm.norm(norm.project(W, radius, **options).astype(float), **options)
        np.testing.assert_allclose(got, radius, rtol=1e-12 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
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


def test_subnormal_results_stay_in_the_ball(norm):
    """Subnormal numbers have few digits and are rounded towards 0."""
    for dtype in (np.float32, np.float64):
        unit = np.finfo(dtype).smallest_subnormal
        W = np.array([[3, 2], [-5, 4], [4, 1]], dtype) * unit
        for share in (0.3, 0.6, 0.9):
            radius = share * np.min(norm.norm(W)).astype(np.float64)
            B = norm.project(W, radius)
            assert np.all(norm.norm(B) <= radius) and np.all(np.abs(B) <= np.abs(W))


@pytest.mark.parametrize("form", ["weights", "groups"])
def test_subnormal_numbers_are_projected_to_0_for_radius_0(form):
    """Divided by the weight the row sum underflows, so that theta is 0 although the matrix is outside the ball."""
    for norm in (l1, l12, l1inf):
        groups = {"groups": [0]} if form == "groups" and norm.GROUPED else {}
        for entry, weight in ((1e-310, 1e20), (5e-324, 0.01)):
            assert norm.project(np.array([[entry]]), 0.0, weights=[weight], **groups)[0, 0] == 0.0


@pytest.mark.parametrize(("name", "form"), WEIGHTED)
def test_a_weighted_norm_may_be_above_the_largest_float(name, form):
    groups = {"groups": [0, 1]} if form == "groups" else {}
    W, weights, largest = np.array([[1e300], [2e300]]), np.array([1e-10, 1e20]), np.finfo(float).max
    B = NORMS[name].project(W, largest, weights=weights, **groups)
    np.testing.assert_allclose(B[0, 0], 1e300, rtol=1e-15)
    np.testing.assert_allclose(B[1, 0] * 1e20, largest, rtol=1e-12)


def test_columns_on_the_boundary_of_the_ball_are_not_changed():
    """The radius is the exact sum of many entries. An inaccurate sum would be above or below it."""
    v = np.full(100_000, 0.1)
    v[0] = 1e5
    exact = math.fsum(v)
    for W in (v, np.stack([v, v], axis=1)):
        np.testing.assert_array_equal(l1.project(W, exact), W)
        assert (l1.project(W, np.nextafter(exact, 0)) != W).any()
