"""Every function of every norm agrees with extended precision, with and without weights, groups and signs.

The oracles are those of oracles.py. Fits with a new norm without a row there are compared with a convex solver in
test_solvers.py, which uses the norm's expression in oracles_convex.py.
"""

import re
from functools import partial
from itertools import product

import numpy as np
import oracles
import pytest

from jointsparse.norms import NORMS, l1, l1inf

EPS = np.finfo(float).eps
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])
NAMES = pytest.mark.parametrize("name", oracles.VERBS)
# Largest error of an entry relative to the largest entry, and of the norm relative to the radius.
ENTRY, NORM = {np.float64: 1e-14, np.float32: 4e-6}, {np.float64: 1e-12, np.float32: 1e-6}


EACH_NORM = pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)


def kinds(rng, d, m, dtype=np.float64):
    normal, double = rng.normal(size=(d, m)), dtype == np.float64
    made = {
        "normal": normal,
        "heavy tails": rng.standard_t(0.5, size=(d, m)),
        "rows of all scales": normal * 10.0 ** rng.uniform(-12, 12, size=(d, 1)),
        "tiny beside huge rows": normal * rng.choice([1e-150, 1e150] if double else [1e-18, 1e18], size=(d, 1)),
        "mostly small rows": normal * np.where(rng.random((d, 1)) < 0.02, 1.0, 1e-6),
        "identical rows": np.where(rng.random((d, 1)) < 0.9, normal[:1], normal),
        "zero rows": normal * (rng.random((d, 1)) < 0.5),
        "sparse": normal * (rng.random((d, m)) < 0.2),
        "a giant row": np.vstack([normal[:-1], 1e9 * normal[-1:]]),
        "sorted rows": np.sort(normal, axis=0),
        "periodic": np.tile(rng.standard_t(1.5, size=(97, m)), (d // 97 + 1, 1))[:d],
        "ties": rng.integers(-3, 4, size=(d, m)).astype(float),
        "nearly equal": 1 + rng.integers(-3, 4, size=(d, m)) * EPS,
        "tiny": normal * (1e-300 if double else 1e-38),
        "huge": normal * (1e300 if double else 1e36),
    }
    return {what: W.astype(dtype) for what, W in made.items()}


def variants(norm, d, rng):
    """Return options: none, and weights and groups of many kinds, as far as the norm takes them."""
    spread, pairs, large = 10.0 ** rng.uniform(-10, 10, size=d), np.arange(d) // 2, np.maximum(np.arange(d) - d // 2, 0)
    heavy = np.where(np.arange(d) == d // 2, 1e10, 1.0)
    groups = [{"groups": np.zeros(d, int)}, {"groups": rng.permutation(large)}]
    groups += [{"groups": rng.permutation(g), "weights": spread[: g.max() + 1]} for g in (pairs, large)]
    return [{}, *norm.WEIGHTED * [{"weights": spread}, {"weights": heavy}], *norm.GROUPED * groups]


def check(name, W, radius, *, expected=None, **options):
    """Check a projection against extended precision, and its properties that hold bit for bit."""
    norm, kind = NORMS[name], W.dtype.type
    own = {key: options[key] for key in options.keys() & {"weights", "groups"}}
    got, size, place = norm.project(W, radius, **options), norm.norm(W, **own), W.copy()
    expected = oracles.answer(name, "project", W, radius, **own) if expected is None else expected
    assert got.dtype == W.dtype
    assert np.abs(got - expected).max(initial=0) <= (10 if own else 1) * ENTRY[kind] * np.abs(W).max(initial=0), options
    assert np.all((np.sign(got) == np.sign(W)) | (got == 0)) and np.all(np.abs(got) <= np.abs(W)), options
    lost = W.size * np.finfo(kind).smallest_subnormal * np.max(own.get("weights", 1.0))
    np.testing.assert_allclose(
        norm.norm(got.astype(float), **own), np.minimum(radius, size), rtol=NORM[kind], atol=lost
    )
    assert np.any(radius < size) or (got.tobytes() == W.tobytes() and got is not W), options
    inside = np.broadcast_to(radius >= size, W.T.shape[:1] if norm.PER_TASK else ())
    np.testing.assert_array_equal(got.T[inside], W.T[inside])  # a task inside its ball is not changed
    if norm is l1inf:
        assert l1inf.norm(got, **own) <= radius, options
        assert l1inf.project(got, radius, **options | {"warm": None}).tobytes() == got.tobytes(), options
    if "warm" not in options:  # it has changed
        assert norm.project(place, radius, out=place, **options) is place and place.tobytes() == got.tobytes(), options


@DTYPES
@NAMES
def test_all_functions_agree_with_extended_precision(name, dtype, rng):
    norm = NORMS[name]
    for shape in [(30, 7), (20, 1), (1, 7), (3, 90)]:
        for what, W in kinds(rng, *shape, dtype).items():
            fits = len(W) == 30 and what not in ("tiny", "huge", "tiny beside huge rows")
            for options in variants(norm, len(W), rng) if fits else [{}]:
                case, largest = f"{what} {shape} {options}", float(np.abs(W).max())
                for verb in ("norm", "dual_norm"):
                    expected = oracles.answer(name, verb, W, **options).astype(float)
                    got = getattr(norm, verb)(W, **options)
                    np.testing.assert_allclose(got, expected, rtol=1e-14 if dtype == np.float64 else 1e-6, err_msg=case)
                    assert type(got) is (np.ndarray if norm.PER_TASK else float)
                mixed = [np.resize([0.5, 2.0], shape[1])] * norm.PER_TASK
                for share in (0.0, 1e-20, 0.1, 1 - EPS / 2, 1.0, 1e5, *mixed):
                    check(name, W, norm.norm(W, **options) * share, **options)
                for step in (*largest * np.array([0.0, 1e-3, 0.1, 1.0, 10.0]), np.inf):
                    got, expected = norm.prox(W, step, **options), oracles.answer(name, "prox", W, step, **options)
                    assert got.dtype == dtype and np.abs(got - expected).max() <= ENTRY[dtype] * largest, (case, step)
                if norm.SPARSE:
                    members, rows = options.get("groups", np.arange(len(W))), norm.dual_rows(W, **options)
                    for g, row in enumerate(rows):
                        s = options["weights"][g] if "weights" in options else 1.0
                        expected = oracles.answer(name, "dual_norm", W[members == g].reshape(1, -1)) / s
                        np.testing.assert_allclose(row, expected.astype(float), rtol=1e-6, err_msg=case)


def ways(name, W, radius, rng):
    """Return options with which a projection must give the same result: methods and warm starts."""
    options = [{}, *({"method": method} for method in {"l1": ["pivot", "sort"], "l1inf": ["sort"]}.get(name, []))]
    starts = [(rng.standard_t(1.5, size=(len(W), 2)), 1), (W * W.dtype.type(1.01), 1), (W, 3)]
    for start, wrong in starts if name == "l1inf" else []:
        options.append({"warm": l1inf.Warm()})
        l1inf.project(start, radius, warm=options[-1]["warm"])
        options[-1]["warm"].theta *= wrong
    return options


SHAPES = {  # kernels sample large matrices, split them into blocks, or copy their rows
    "l1": [(1000, 1), (60_000, 1), (40, 600), (700, 3), (1601, 41)],
    "l1inf": [(256, 1), (300, 40), (2000, 3)],
    "l12": [(3000, 40)],
    "l2": [(3000, 40)],
}


@DTYPES
@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name in SHAPES for shape in SHAPES[name]])
def test_projections_of_large_matrices_agree_with_extended_precision(name, shape, dtype, rng):
    norm = NORMS[name]
    for W in kinds(rng, *shape, dtype).values():
        for share in (1 - EPS, 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-12, -3)):
            radius = norm.norm(W) * share
            expected = oracles.answer(name, "project", W, radius)
            vector = [(W[:, 0], radius[0], expected[:, 0])] if norm.PER_TASK and shape[1] == 1 else []
            for V, own_radius, exact in [(W, radius, expected), *vector]:
                for options in ways(name, V, own_radius, rng):
                    check(name, V, own_radius, expected=exact, **options)


def some_options(norm, s, groups):
    return [{}, *norm.WEIGHTED * [{"weights": s}], *norm.GROUPED * [{"groups": groups}]]


@EACH_NORM
def test_positive_takes_the_positive_part(norm, rng):
    for W in kinds(rng, 30, 7).values():
        for options in some_options(norm, rng.uniform(0.5, 2, size=30), np.arange(30) // 7):
            for function, number in (
                (norm.project, norm.norm(W) / 3),
                (norm.project, np.inf),
                (norm.prox, W.max() / 9),
            ):
                got = function(W, number, positive=True, **options)
                np.testing.assert_array_equal(got, function(np.maximum(W, 0), number, **options))


# Layouts, dtypes and memory


CONVERSIONS = {
    "columns": np.asfortranarray,
    "strides": lambda W: np.repeat(np.repeat(W, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda W: W[::-1].copy()[::-1],
    "read-only": lambda W: np.broadcast_to(W, W.shape),
    "list": np.ndarray.tolist,
    **{str(dtype): partial(np.ndarray.astype, dtype=dtype) for dtype in (int, ">f8", np.float16, object)},
    "frame": lambda W: pytest.importorskip("pandas").DataFrame(W),
}


@EACH_NORM
@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_other_layouts_and_dtypes_give_the_same_result_and_input_is_not_changed(norm, rng, convert):
    W, s = rng.integers(-9, 9, size=(6, 5)).astype(float), np.broadcast_to(rng.uniform(0.5, 2, size=6), 6)
    for options in some_options(norm, s, np.uint8([0, 1, 1, 0, 2, 1])) + some_options(norm, [*s], [0, 1, 1, 0, 2, 1]):
        for function, numbers in ((norm.norm, []), (norm.dual_norm, []), (norm.project, [3.0]), (norm.prox, [3.0])):
            V = convert(W)
            np.testing.assert_array_equal(function(V, *numbers, **options), function(W, *numbers, **options))
            np.testing.assert_array_equal(V, convert(W))


@EACH_NORM
def test_out_takes_the_result(norm, rng):
    W = rng.normal(size=(30, 7))
    for radius, options in product((0.0, 2.0, 1000.0), some_options(norm, np.ones(30), np.arange(30) ** 2 // 60)):
        expected, shifted = norm.project(W, radius, **options), np.vstack([W, W[:1]])
        for V, out in (
            *((W, out) for out in (np.empty_like(W), np.empty((7, 30)).T, np.zeros((30, 14))[:, ::2])),
            *((V, V) for V in (W.copy(), np.asfortranarray(W))),
            (shifted[:-1], shifted[1:]),  # overlaps the input
        ):
            assert norm.project(V, radius, out=out, **options) is out
            np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", [name for name in oracles.VERBS if NORMS[name].PER_TASK])
def test_each_task_may_have_its_own_radius_and_a_vector_is_a_single_task(name, rng):
    norm, W, numbers = NORMS[name], rng.normal(size=(30, 4)), np.array([0.0, 0.5, 2.0, 1000.0])
    W[:, 3], numbers[3] = 1.5e308 * np.sign(W[:, 3]), 1e300  # a huge task beside tiny ones
    for function in (norm.project, norm.prox):
        got = function(W, numbers)
        for l, number in enumerate(numbers):
            vector = function(W[:, l].copy(), number)
            np.testing.assert_allclose(got[:, l], vector, rtol=4 * EPS)
            np.testing.assert_array_equal(function(W[:, l : l + 1], number)[:, 0], vector)
    assert type(norm.norm(W[:, 0])) is type(norm.dual_norm(W[:, 0])) is float


# Extreme sizes


@EACH_NORM
@pytest.mark.parametrize(("shape", "groups"), [((0, 0), []), ((0, 3), []), ((3, 0), [1, 0, 0]), ((4, 3), [1, 0, 0, 1])])
def test_empty_and_zero_matrices_have_norm_zero_and_are_not_changed(norm, shape, groups):
    for options in some_options(norm, np.arange(1.0, 1 + shape[0]), groups):
        W = np.zeros(shape)
        for got in (norm.project(W, 1.0, **options), norm.project(W, 0, **options), norm.prox(W, 1, **options)):
            assert got.shape == shape and not got.any()
        assert np.sum(norm.norm(W, **options)) == np.sum(norm.dual_norm(W, **options)) == 0


@EACH_NORM
@DTYPES
@pytest.mark.parametrize("n_tasks", [4, 1])  # with one task, only the sum over all rows overflows
def test_matrices_whose_sums_overflow_are_projected(norm, n_tasks, dtype):
    W, half = np.full((5, n_tasks), 0.9 * np.finfo(dtype).max), float(np.finfo(dtype).max / 2)
    assert dtype == np.float32 or np.all(np.isinf(norm.norm(W)))
    for options in [*some_options(norm, np.ones(5), [0, 1, 1, 1, 0]), *[{"method": "sort"}] * (norm in (l1, l1inf))]:
        own = {key: options[key] for key in options if key != "method"}
        np.testing.assert_allclose(norm.norm(norm.project(W, half, **options).astype(float), **own), half, rtol=1e-6)
        assert norm.project(W, np.inf, **options).tobytes() == W.tobytes()
        got, expected = norm.prox(W, half, **own), norm.prox(W / dtype(2) ** 9, half / 2**9, **own)
        np.testing.assert_allclose(got / dtype(2) ** 9, expected, rtol=1e-6)


LARGEST = np.finfo(float).max


WEIGHTED = {
    # Row i loses s_i theta. The first row can only lose 1, so theta and the loss of the other row are tiny.
    "a weight of 1e20": ([1.0, 0.5], [1e20, 1.0], 6.0, [5.5e-20, 0.5]),
    "a norm above the largest float": ([1e300, 2e300], [1e-10, 1e20], LARGEST, [1e300, LARGEST / 1e20]),
    "a sum that underflows if it is divided by the weight": ([1e-310, 0.0], [1e20, 1e20], 0.0, [0, 0]),
    "the smallest number": ([5e-324, 0.0], [0.01, 0.01], 0.0, [0, 0]),
}


@pytest.mark.parametrize(("W", "weights", "radius", "expected"), WEIGHTED.values(), ids=WEIGHTED)
@pytest.mark.parametrize("name", [name for name in NORMS if NORMS[name].WEIGHTED])
def test_extreme_weights_give_the_projection_computed_by_hand(name, W, weights, radius, expected):
    for groups in [{}, *NORMS[name].GROUPED * [{"groups": [0, 1]}]]:
        B = NORMS[name].project(np.array(W)[:, np.newaxis], radius, weights=np.array(weights), **groups)
        np.testing.assert_allclose(B[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("norm", [norm for norm in NORMS.values() if norm.WEIGHTED])
def test_weights_may_make_a_step_or_a_dual_norm_overflow(norm):
    W, s = np.full((2, 1), 1e300), np.array([1e10, 1e-20])
    for groups in [{}, *norm.GROUPED * [{"groups": [0, 1]}]]:
        assert norm.prox(W, 1e300, weights=s, **groups).tolist() == [[0.0], [1e300]]
        assert np.isinf([norm.dual_norm(W, weights=s, **groups), *norm.dual_rows(W, weights=s, **groups)[1:]]).all()


@DTYPES
@NAMES
def test_subnormal_results_stay_in_the_ball_and_are_right_within_three_units(name, dtype, rng):
    norm, unit = NORMS[name], np.finfo(dtype).smallest_subnormal
    for W in (np.array([[3, 2], [-5, 4], [4, 1]]), *(rng.integers(0, high, size=(9, 3)) for high in (2, 5, 1000))):
        W = (W * unit).astype(dtype)
        for share, options in product((0.3, 0.9), some_options(norm, np.linspace(0.1, 9, len(W)), np.arange(len(W)))):
            radius = share * np.min(norm.norm(W, **options)).astype(np.float64)
            B = norm.project(W, radius, **options)
            assert np.all(norm.norm(B, **options) <= radius) and np.all(np.abs(B) <= np.abs(W))
            assert np.abs(B - oracles.answer(name, "project", W, radius, **options)).max() <= 3 * unit


# Refusals: for which norms (all, those with a flag, or one), which functions, the arguments, and the message


ALL, ROWS = "norm dual_norm project prox", "norm dual_norm dual_rows project prox"
INVALID = [
    *(("", ALL, {"W": bad}, "W must ") for bad in (1.0, np.eye(2) * 1j, [["a"]], [[1.0], [1, 2]], [[10**400]])),
    ("", ALL, {"W": np.ma.array(np.eye(2), mask=np.eye(2))}, "W must hold a number everywhere, got a masked"),
    *(("", "project", {"out": bad}, "out must be ") for bad in (np.eye(2), [[1.0]], np.broadcast_to(1.0, (3, 2)))),
    *(("", "project", {"radius": bad}, "radius must be ") for bad in ("1", [[1.0]], [1.0, 2.0, 3.0])),
    *(("", "project", {"radius": bad}, "radius must be at least 0, got ") for bad in (-3, np.nan)),
    ("", "prox", {"step": -5e-324, "W": np.ones((0, 2))}, "step must be at least 0, got -5e-324"),
    ("", "project prox", {"W": [[1.0, -np.inf]], "positive": True}, "W must be finite, got -inf at (0, 1)"),
    ("PER_TASK", "project", {"radius": [1.0, -2.0]}, "radius must be at least 0, got -2.0"),
    *(
        ("WEIGHTED", ROWS, {"weights": [1.0, bad, 1.0]}, "weights must be positive and finite, got ")
        for bad in (0, np.nan, np.inf)
    ),
    ("WEIGHTED", ROWS, {"weights": [1.0, 2.0]}, "weights must be one per feature, shape (3,)"),
    ("WEIGHTED", ROWS, {"weights": [1e-300, 1.0, 1e300]}, "weights must differ by a factor of at most 2^500"),
    *(
        ("GROUPED", ROWS, {"groups": bad}, "groups must be one whole number per feature, shape (3,), got ")
        for bad in ([0, 1], [[0], [1, 1], [1]], [0.0, 1, 1])
    ),
    *(("GROUPED", ROWS, {"groups": bad}, "groups must be numbered 0, 1, 2") for bad in ([0, -1, 1], [0, 2, 2])),
    ("GROUPED", ROWS, {"groups": [0, 1, 1], "weights": np.ones(3)}, "weights must be one per group, shape (2,), got "),
    (
        "GROUPED",
        ROWS,
        {"W": np.array([[1.0], [np.nan], [2.0]]), "groups": [2, 1, 0]},
        "W must be finite, got nan at (1, 0)",
    ),
    ("l1", "project", {"method": "heap"}, "method must be newton, pivot or sort, got 'heap'"),
    ("l1", "project", {"weights": np.ones(3), "method": "sort"}, "method must be newton if weights are given, got "),
    ("l1inf", "project", {"method": "bisect"}, "method must be newton or sort, got 'bisect'"),
    ("l1inf", "project", {"weights": np.ones(3), "method": "sort"}, "method must be newton if weights are given, got "),
    ("l1inf", "project", {"groups": [0, 1, 1], "method": "sort"}, "method must be newton if groups are given, got "),
    ("l1inf", "project", {"groups": [0, 1, 1], "warm": l1inf.Warm()}, "warm must be None if groups are given, got <"),
    ("l1inf", "project", {"warm": 3}, "warm must be a Warm object or None, got 3"),
]


@pytest.mark.parametrize(("norms", "verbs", "arguments", "message"), INVALID)
def test_invalid_arguments_raise(norms, verbs, arguments, message):
    chosen = [norm for name, norm in NORMS.items() if norms in ("", name) or (norms.isupper() and getattr(norm, norms))]
    assert chosen
    for norm, verb in product(chosen, verbs.split()):
        needed = {"project": {"radius": 1.0}, "prox": {"step": 1.0}}.get(verb, {})
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            getattr(norm, verb)(**{"W": np.ones((3, 2))} | needed | arguments)


@EACH_NORM
@DTYPES
def test_nan_and_infinity_raise_at_every_place(norm, dtype):
    functions = norm.norm, norm.dual_norm, partial(norm.project, radius=3.0), partial(norm.prox, step=3.0)
    for (d, m), bad, function in product([(3, 2), (40, 50), (5000, 3)], (np.nan, np.inf, -np.inf), functions):
        for i, j in [(0, 0), (2, 1), (d // 2, 1), (d - 1, m - 1)]:
            W = np.ones((d, m), dtype)
            W[i, j] = bad
            for V in [W, *norm.PER_TASK * [W[:, j].copy()]]:
                with pytest.raises(ValueError, match=re.escape(f"W must be finite, got {bad} at ({i},")):
                    function(V)
