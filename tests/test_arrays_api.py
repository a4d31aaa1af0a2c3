"""Norms of arrays of JAX, PyTorch and the array API standard, of batches, and along either axis.

Every function of every norm must give the results of the compiled code, on which tests/test_norms.py says more.
"""

from functools import cache, partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from test_norms import DTYPES, kinds

from jointsparse.norms import NORMS, l1, l1inf

VERBS = {name: ["norm", "dual_norm", "project", "prox", *["project_simplex"] * (name == "l1")] for name in NORMS}
by_name = pytest.mark.parametrize("name", NORMS)
QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}  # JAX compiles four times as fast


@pytest.fixture(params=["array_api_strict", "jax", "torch"])
def library(request):
    pytest.importorskip("array_api_compat")
    module, compiled = pytest.importorskip(request.param), lambda function: function
    if request.param == "jax":
        module.config.update("jax_enable_x64", True)
        module, compiled = module.numpy, partial(module.jit, compiler_options=QUICK)
    return SimpleNamespace(array=module.asarray, compiled=compiled)


# JAX would compile for most of the time of a test
eager = pytest.mark.parametrize("library", ["array_api_strict", "torch"], indirect=True)
with_jax = pytest.mark.parametrize("library", ["jax"], indirect=True)


def called(name, verb, W, number, of=lambda x: x, **options):
    """Call a function of a norm. The number is left out for norms, and the options for the simplex."""
    numbers = [] if "norm" in verb else [of(number)]
    return getattr(NORMS[name], verb)(of(W), *numbers, **({} if verb == "project_simplex" else options))


def results(name, W, radius, step, **options):
    return {verb: called(name, verb, W, step if verb == "prox" else radius, **options) for verb in VERBS[name]}


@cache
def drawn(name, n, dtype=np.float64):
    """Draw n of each kind of matrices, numbers that serve as radius, step or z, and options for a norm."""
    rng = np.random.default_rng(0)
    extreme = ("tiny", "huge", "tiny beside huge rows", "rows of all scales")
    W = np.stack([W for _ in range(n) for what, W in kinds(rng, 12, 5, dtype).items() if what not in extreme])
    options = {"weights": 10.0 ** rng.uniform(-1, 1, size=W.shape[:2])} if NORMS[name].WEIGHTED else {}
    norms = NORMS[name].norm(W, **options)
    # Numbers that serve as radii and as steps, inside, on and outside the ball.
    return W, norms * rng.choice([0.0, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1.0, 1.5], size=np.shape(norms)), options


# Against the compiled code


@DTYPES
@by_name
def test_many_results_are_those_of_the_compiled_code(library, name, dtype):
    (W, number, options), digits = drawn(name, 25, dtype), 1 if dtype is np.float64 else 1e7
    got = library.compiled(lambda W: results(name, W, number, number, **options))(library.array(W))
    for verb, expected in results(name, W.astype(float), number, number, **options).items():
        assert (type(got[verb]), got[verb].dtype) == (type(library.array(W)), library.array(W).dtype), verb
        assert "norm" in verb or called(name, verb, W, number, **options).dtype == dtype
        B = np.asarray(got[verb]).astype(float)
        z = np.max(number, axis=-1)[:, np.newaxis, np.newaxis] if verb == "project_simplex" else 1.0
        size = expected if "norm" in verb else np.maximum(np.abs(W).max((-1, -2), keepdims=True), z)
        assert B.shape == expected.shape and np.all(np.abs(B - expected) <= 1e-12 * digits * size), verb
    norms, B = NORMS[name].norm(W, **options), np.asarray(got["project"])
    assert np.all(NORMS[name].norm(B.astype(float), **options) <= number * (1 + 1e-12 * min(digits, 1e6)))
    inside = np.broadcast_to(number >= norms * 1.01, norms.shape)  # these come back bit for bit
    axes = (0, 2, 1) if NORMS[name].PER_TASK else (0, 1, 2)
    np.testing.assert_array_equal(B.transpose(axes)[inside], W.transpose(axes)[inside])


@eager
@by_name
def test_options_are_those_of_the_compiled_code(library, name):
    along = -1 if NORMS[name].PER_TASK else -2  # not the axis by default
    for options in [{"positive": True}, {"axis": along}, *[{"return_theta": True}] * (name == "l1inf")]:
        W = drawn(name, 5)[0]
        number = 0.7 * NORMS[name].norm(W, axis=options.get("axis"))
        for verb in ("project", "prox")[: 1 if "return_theta" in options else 2]:
            got, expected = (getattr(NORMS[name], verb)(of(W), number, **options) for of in (library.array, np.asarray))
            for x, y in zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]:
                np.testing.assert_allclose(np.asarray(x), y, atol=1e-12 * np.abs(W).max())


@eager
@pytest.mark.parametrize(
    ("dtype", "k", "j"),
    [
        *((np.float64, k, 0) for k in (1016, -1012)),
        *((np.float32, k, 0) for k in (120, -116)),
        *((np.float32, k, j) for k in (48, -48) for j in (68, -68)),
    ],
)
@by_name
def test_powers_of_two_multiply_the_results_at_both_ends_of_the_range(library, name, dtype, k, j, rng):
    # The matrix is multiplied by 2^k, and the weights by 2^j.
    W, s = rng.integers(1, 64, size=(6, 4)) / 64 * np.array([1, -1, 1, -1]), rng.integers(1, 9, size=6).astype(dtype)
    j = j if NORMS[name].WEIGHTED else 0
    of_numbers = {"norm": 0, "dual_norm": 0, "project": k + j, "prox": k - j, "project_simplex": k}
    for verb in VERBS[name]:
        near, far = (
            called(name, verb, (W * 2.0**a).astype(dtype), dtype(0.75 * 2.0**b), library.array, **weights)
            for a, b, weights in (
                (0, 0, {"weights": s} if j else {}),
                (k, of_numbers[verb], {"weights": s * dtype(2.0**j)} if j else {}),
            )
        )
        factor = 2.0 ** {"norm": k + j, "dual_norm": k - j}.get(verb, k)
        np.testing.assert_array_equal(np.asarray(far), np.asarray(near) * dtype(factor), err_msg=verb)


NORMAL = np.random.default_rng(0).normal(size=(6, 4))


@by_name
def test_one_argument_of_another_library_decides_and_numbers_of_any_real_dtype_are_taken(library, name):
    weights = {"weights": np.linspace(1, 2, 6)} if NORMS[name].WEIGHTED else {}
    for function, number in ((NORMS[name].project, "radius"), (NORMS[name].prox, "step")):
        given = {"W": NORMAL, number: 0.5} | weights
        for key, value in [*given.items(), (number, True), (number, np.float32(0.25)), (number, 0.0)]:
            got = function(**given | {key: library.array(np.asarray(value))})
            assert type(got) is type(library.array(NORMAL))
            np.testing.assert_allclose(np.asarray(got), function(**given | {key: value}), atol=1e-13)
        np.testing.assert_array_equal(np.asarray(function(library.array(NORMAL), np.inf)), function(NORMAL, np.inf))


# Batches and axes


@by_name
def test_a_batch_is_its_matrices_one_by_one_along_either_axis(name):
    W, number, options = drawn(name, 2)
    batches = [array.reshape(2, -1, *array.shape[1:]) for array in (W, number, *options.values())]
    along = -1 if NORMS[name].PER_TASK else -2  # not the axis by default
    for verb in VERBS[name]:
        rows = zip(W, number, *options.values(), strict=True)
        expected = [called(name, verb, *row[:2], **dict(zip(options, row[2:], strict=True))) for row in rows]
        for axis in (None, along, 4 + along):
            form = partial(np.swapaxes, axis1=-1, axis2=-2) if axis else np.asarray
            weights = dict(zip(options, batches[2:], strict=True)) if verb != "project_simplex" else {}
            numbers = [] if "norm" in verb else batches[1:2]
            got = getattr(NORMS[name], verb)(form(batches[0]), *numbers, **weights, axis=axis)
            got = got if "norm" in verb else form(got)
            np.testing.assert_array_equal(got.reshape(np.shape(expected)), expected)
    out = np.empty_like(W)
    assert NORMS[name].project(W, 2.0, out=out) is out and np.array_equal(out, NORMS[name].project(W, 2.0))


@eager
@by_name
def test_empty_arrays_have_empty_results(library, name):
    for shape, verb in product([(0, 4, 3), (2, 0, 3), (2, 4, 0)], VERBS[name]):
        got = np.asarray(called(name, verb, library.array(np.zeros(shape)), 0.0))
        assert got.shape == called(name, verb, np.zeros(shape), 0.0).shape and not got.any()


@eager
@by_name
@pytest.mark.filterwarnings("ignore:overflow")  # numbers that overflow are above the norm
def test_large_numbers_have_the_results_of_the_compiled_code(library, name):
    for (scale, number), verb in product([(0.0, 1e38), (1e-30, 1e10), (1e37, 1e38)], VERBS[name][2:]):
        W = (NORMAL * scale).astype(np.float32)
        got, expected = (called(name, verb, V, number) for V in (library.array(W), W.astype(float)))
        atol = 1e-5 * (number if "simplex" in verb else np.abs(W).max())
        np.testing.assert_allclose(np.asarray(got), expected, atol=atol, err_msg=verb)


# Gradients


@cache
def differentiated(name):
    """Compile a function that returns all results of a norm, and gradients of the sum of results times `factors`.

    JAX vectorises it over the first axis of the arguments; the second one is that of a batch. All tests call it with
    arguments of the same shapes, for which JAX compiles it once.
    """
    import jax

    def of_batch(arguments, factors):
        values, gradients = jax.vjp(lambda arguments: results(name, **arguments), arguments)
        return values, gradients(factors)[0]

    return jax.jit(jax.vmap(of_batch), compiler_options=QUICK)


def smooth(name, rng):
    """Return arguments of all functions of a norm, near which their results are differentiable."""
    W = rng.normal(size=(2, 3, 6, 4))
    options = {"weights": rng.uniform(0.5, 2.0, size=(2, 3, 6))} if NORMS[name].WEIGHTED else {}
    norms = NORMS[name].norm(W, **options)
    steps = np.linspace(0.3, 1.2, norms.size).reshape(norms.shape)
    return {"W": W, "radius": norms * steps, "step": steps, **options}


@with_jax
@by_name
def test_results_under_jit_and_vmap_and_gradients_are_those_of_the_compiled_code(library, name, rng):
    test_util, arguments = pytest.importorskip("jax.test_util"), smooth(name, rng)
    expected = results(name, **arguments)
    for verb, result in differentiated(name)(arguments, expected)[0].items():
        np.testing.assert_allclose(result, expected[verb], rtol=1e-13, atol=1e-14, err_msg=verb)

    def of_jax(arguments):
        return results(name, **arguments), lambda factors: (differentiated(name)(arguments, factors)[1],)

    test_util.check_vjp(lambda given: results(name, **given), of_jax, (arguments,), atol=1e-6, rtol=1e-6, eps=1e-6)


@with_jax
@by_name
def test_no_gradient_is_nan_at_zeros(library, name, rng):
    arguments = smooth(name, rng)
    arguments["W"][:], arguments["W"][1, :, :3, :2] = 0.0, [[0.0, 0.0], [1.0, 0.0], [2.0, -1.0]]
    for number in ("radius", "step"):
        arguments[number].swapaxes(1, -1)[:] = [0.0, 0.5, 1e30]
    factors = {verb: np.ones_like(result) for verb, result in results(name, **arguments).items()}
    for argument, gradient in differentiated(name)(arguments, factors)[1].items():
        assert np.isfinite(gradient).all(), argument


KINKS = {  # W, the radius, and the gradients of the sum of the projection by both that `formulas` states
    "inside": ([[2, 1], [1, 1]], 9, [[1, 1], [1, 1]], 0),
    "radius 0": ([[2, 1], [1, 1]], 0, [[0, 0], [0, 0]], 0),
    "on the boundary": ([[3, 0], [0, 0]], 3, [[1, 1], [1, 1]], 0),
    "l1inf: on the boundary": ([[2, 1], [1, 1]], 3, [[1, 1], [1, 1]], 0),
    "l1inf: an entry at its level is not clipped": ([[2, 1], [0, 0]], 1, [[0, 1], [0, 0]], 1),
    "l1inf: theta is the sum of the second row, which is dead": ([[2, 0], [0.5, 0.5]], 1, [[0, 1], [0, 0]], 1),
}


@with_jax
@by_name
def test_gradients_where_there_is_none_are_those_that_formulas_states(library, name):
    jax, verbs = pytest.importorskip("jax"), NORMS[name]
    cases = {case: row for case, row in KINKS.items() if ":" not in case or case.startswith(f"{name}:")}
    W, radii, *expected = (np.array(column, dtype=float) for column in zip(*cases.values(), strict=True))
    gradient = jax.vmap(jax.grad(lambda W, radius: verbs.project(W, radius).sum(), (0, 1)))
    for got, of_cases in zip(library.compiled(gradient)(W, radii), expected, strict=True):
        np.testing.assert_array_equal(got, of_cases, err_msg=str([*cases]))
    V = library.array([[0.0, 2.0], [0.0, 0.0], [-1.0, 0.0]])
    for verb in (verbs.norm, verbs.dual_norm):  # the subgradient 0 at zeros
        by_V = jax.grad(lambda V, verb=verb: verb(V).sum())(V)
        assert not by_V[V == 0].any() and by_V[0, 1] > 0
    if name == "l1inf":
        assert not jax.grad(lambda W: l1inf.project(W, 99.0, return_theta=True)[1])(V).any()


# Refusals


TWO, ROW, project = [[1.0, 2.0], [0.0, 3.0]], [[1.0, 2.0]], l1inf.project


# Refused calls, each with its message. of: the function that makes an array of the library. NumPy gives the messages
# of OF_ALL as well.
OF_ALL = [
    (lambda of: project(of([[1.0, np.nan], [2.0, 3.0]]), 1.0), r"^W must be finite, got nan at \(0, 1\)$"),
    (lambda of: l1inf.norm(of([[1.0, 2.0], [-np.inf, 3.0]])), r"^W must be finite, got -inf at \(1, 0\)$"),
    (lambda of: project(of(ROW), -1.0), r"^radius must be at least 0, got -1\.0$"),
    (lambda of: project(of(ROW), "large"), r"^radius must be a number, got 'large'$"),
    (lambda of: project(of(TWO), 1 + 5j), r"^radius must be a number, got \(1\+5j\)$"),
    (lambda of: l1inf.prox(of(ROW), np.nan), r"^step must be at least 0, got nan$"),
    (
        lambda of: project(of([1.0, 2.0]), 1.0),
        r"^W must be a matrix \(n_features, n_tasks\), got shape \(2,\)$",
    ),
    (lambda of: l1.project(of(1.0), 1.0), r"^W must be a vector or a matrix .*, got shape \(\)$"),
    (lambda of: l1.project(of(ROW), [1.0, -2.0]), r"^radius must be at least 0, got -2\.0$"),
    (lambda of: project(of([TWO] * 2), of([1.0, np.nan])), r"^radius must be at least 0, got nan$"),
    (lambda of: project(of([TWO] * 2), [1.0, np.nan]), r"^radius must be at least 0, got nan$"),
    (lambda of: project(of(ROW), 1.0, axis=2), r"^axis must be one of the last two, -2 or -1, got 2$"),
    (
        lambda of: project(of(ROW), 1.0, weights=[1.0, 2.0]),
        r"^weights must be one per feature, shape \(1,\), got shape",
    ),
    (
        lambda of: project(of(TWO), 1.0, weights=[1.0, -2.0]),
        r"^weights must be positive and finite, got -2\.0 at \(1,\)",
    ),
    (
        lambda of: project(of(TWO), 1.0, weights=[1 + 5j, 1]),
        r"^weights must hold real numbers, got dtype complex128",
    ),
    (
        lambda of: project(of([TWO] * 2), [1.0, 2.0, 3.0]),
        r"^radius must be one number or broadcast .* got shape \(3,\)$",
    ),
    (
        lambda of: project(of([[TWO] * 3] * 2), [1.0, 2.0]),
        r"^radius must be one number or broadcast .*, \(2, 3\), got shape \(2,\)$",
    ),
    (
        lambda of: project(of([TWO] * 2), 1.0, weights=np.ones((3, 2))),
        r"^weights must be one per .* got shape \(3, 2\)$",
    ),
]
OF_LIBRARIES = [
    *(
        (
            lambda of, option=option: project(of(TWO), 1.0, **option),
            rf"^{name} must be left out for arrays of \w+: it is",
        )
        for name, option in (
            (str(*given), given) for given in ({"groups": [0, 1]}, {"warm": 3}, {"method": "sort"}, {"out": 1})
        )
    ),
    (
        lambda of: project(of(np.ones((3, 2), int)), 1.0),
        r"^W must hold float32 or float64, got dtype .*int64$",
    ),
    (lambda of: project(np.eye(2), of(np.asarray(-1.0))), r"^radius must be at least 0, got -1\.0$"),
    (
        lambda of: project(of(TWO), of(np.asarray(1 + 5j))),
        r"^radius must hold real numbers, got dtype .*complex128$",
    ),
    (
        lambda of: project(np.eye(2), 1.0, weights=of([1.0, 0.0])),
        r"^weights must be positive and finite, got 0\.0 at",
    ),
    (
        lambda of: project(of(TWO), 1.0, weights=of([1 + 5j] * 2)),
        r"^weights must hold real numbers, got .*complex128$",
    ),
    (lambda of: l1.project_simplex(of(TWO), np.inf), r"^z must be finite, got inf$"),
    (lambda of: l1.project_simplex(np.eye(2), of(np.asarray(np.inf))), r"^z must be finite, got inf$"),
    (
        lambda of: project(np.ones((2, 3, 4)), 1.0, warm=l1inf.Warm()),
        r"^warm must be None for a batch of matrices$",
    ),
    (
        lambda of: project(of(TWO), 1.0, weights=pytest.importorskip("jax").numpy.ones(2)),
        r"^all arrays must be of one library, got \w+ and \w+$",
    ),
]


@pytest.mark.parametrize(
    ("library", "call", "message"),
    [
        *((library, *row) for library in ("numpy", "array_api_strict", "torch") for row in OF_ALL),
        *((library, *row) for library in ("array_api_strict", "torch") for row in OF_LIBRARIES),
    ],
    indirect=["library"],
)
def test_wrong_arrays_get_the_sentence_that_numpy_gets_or_one_of_their_own(library, call, message):
    with pytest.raises(ValueError, match=message):
        call(library.array)
