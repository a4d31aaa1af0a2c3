"""Norms of arrays of JAX, PyTorch and the array API standard, of batches, and along either axis.

They are compared with the compiled code, on which tests/test_norms.py and the files of each norm say more.
"""

import sys
from functools import cache, partial

import numpy as np
import pytest
from common import run_python

from jointsparse.norms import NORMS, l1, l1inf

FRACTIONS = (0.0, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1.0, 1.5)  # of the norm: radii, and steps
VERBS = [*((name, verb) for name in NORMS for verb in ("project", "prox")), ("l1", "project_simplex")]
SIZES = [(name, verb) for name in NORMS for verb in ("norm", "dual_norm")]
QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}  # JAX compiles four times as fast


class Strict:
    """array-api-strict, which does what the standard says and no more."""

    def __init__(self):
        xp = pytest.importorskip("array_api_strict")
        self.array, self.numpy, self.compiled = xp.asarray, np.asarray, lambda f: f


class Jax:
    def __init__(self):
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        self.array, self.numpy, self.compiled = jax.numpy.asarray, np.asarray, partial(jax.jit, compiler_options=QUICK)


class Torch:
    def __init__(self):
        torch = pytest.importorskip("torch")
        self.array, self.numpy, self.compiled = torch.asarray, lambda x: x.detach().numpy(), lambda f: f


@pytest.fixture(params=[Strict, Jax, Torch], ids=["array-api-strict", "JAX", "PyTorch"])
def library(request):
    pytest.importorskip("array_api_compat")
    return request.param()


@pytest.fixture(params=[Strict, Torch], ids=["array-api-strict", "PyTorch"])
def eager(request):
    """A library that compiles nothing, which takes JAX most of the time of a test."""
    pytest.importorskip("array_api_compat")
    return request.param()


@pytest.fixture
def jax():
    pytest.importorskip("array_api_compat")
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def function(name, verb):
    return getattr(NORMS[name], verb)


def draws(rng, n, d, m):
    """A batch of n matrices of many kinds: normal, with heavy tails, tied, sparse, constant, of many scales."""
    normal = rng.normal(size=(n, d, m))
    kinds = [
        normal,
        rng.standard_t(1.5, size=normal.shape),
        rng.integers(-2, 3, size=normal.shape).astype(float),
        normal * (rng.random(normal.shape) < 0.2),
        np.ones_like(normal),
        normal * 10.0 ** rng.integers(-3, 4, size=(n, d, 1)),
    ]
    return np.choose(np.arange(n)[:, np.newaxis, np.newaxis] % len(kinds), kinds)


def drawn(name, n, d, m, dtype, rng):
    """A batch of matrices, numbers that serve as radius, step or z, and options for a norm."""
    W = draws(rng, n, d, m).astype(dtype)
    options = {"weights": 10.0 ** rng.uniform(-1, 1, size=(n, d))} if NORMS[name].WEIGHTED else {}
    norms = NORMS[name].norm(W, **options)
    return W, norms * rng.choice(FRACTIONS, size=np.shape(norms)), options


def points(name, W, radius, step, **options):
    """The projection and the proximal point of W for a norm, and the projection onto the simplex if it has one."""
    norm = NORMS[name]
    simplex = {"project_simplex": l1.project_simplex(W, radius)} if norm is l1 else {}
    return {"project": norm.project(W, radius, **options), "prox": norm.prox(W, step, **options), **simplex}


def tops(W):
    """The largest entry of each matrix, at least 1."""
    return np.maximum(np.abs(W).max(axis=(-1, -2), keepdims=True), 1.0)


# Against the compiled code.


@cache
def thousand(name, dtype):
    """Arguments for a thousand matrices, and the results of the compiled code."""
    W, number, options = drawn(name, 1000, 12, 5, dtype, np.random.default_rng(0))
    return W, number, options, points(name, W.astype(float), number, number, **options)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NORMS)
def test_a_thousand_results_are_those_of_the_compiled_code(library, name, dtype):
    W, number, options, expected = thousand(name, dtype)
    got = library.compiled(lambda W: points(name, W, number, number, **options))(library.array(W))
    for verb, result in got.items():
        assert (type(result), result.dtype, result.shape) == (type(library.array(W)), library.array(W).dtype, W.shape)
        z = np.max(number, axis=-1)[:, np.newaxis, np.newaxis] if "simplex" in verb else 0
        B = library.numpy(result).astype(float)
        errors = np.abs(B - expected[verb]) / np.maximum(tops(W), z)
        assert errors.max() <= (1e-12 if dtype is np.float64 else 1e-5), verb
        if verb == "project":
            assert np.all(NORMS[name].norm(B, **options) <= number * (1 + (1e-12 if dtype is np.float64 else 1e-6)))


@pytest.mark.parametrize(("name", "verb"), SIZES)
def test_norms_are_those_of_the_compiled_code(eager, name, verb, rng):
    W, _, options = drawn(name, 50, 12, 5, np.float64, rng)
    got = function(name, verb)(eager.array(W), **options)
    np.testing.assert_allclose(eager.numpy(got), function(name, verb)(W, **options), rtol=1e-13)


@pytest.mark.parametrize("shape", [(200_000, 5), (5, 200_000)])
def test_float32_keeps_its_digits_in_large_matrices(library, shape, rng):
    W = rng.normal(size=shape).astype(np.float32)
    radius = 0.3 * l1inf.norm(W)
    B = library.numpy(l1inf.project(library.array(W), radius)).astype(float)
    assert np.abs(B - l1inf.project(W.astype(float), radius)).max() <= 1e-5 * np.abs(W).max()
    assert l1inf.norm(B) <= radius * (1 + 1e-6)


@pytest.mark.parametrize("name", NORMS)
def test_positive_projects_the_positive_part(eager, name, rng):
    W = rng.normal(size=(12, 5))
    radius = 0.5 * np.mean(NORMS[name].norm(W))
    got = eager.numpy(NORMS[name].project(eager.array(W), radius, positive=True))
    np.testing.assert_allclose(got, NORMS[name].project(W, radius, positive=True), atol=1e-14)


@pytest.mark.parametrize("name", NORMS)
def test_a_matrix_inside_its_ball_comes_back_bit_for_bit(eager, name, rng):
    W = rng.normal(size=(12, 5))
    for radius in (np.max(NORMS[name].norm(W)) * 1.001, np.inf):
        assert np.array_equal(eager.numpy(NORMS[name].project(eager.array(W), radius)), W)


def test_theta_and_mu_are_those_of_the_compiled_code(eager, rng):
    W, radius, options = drawn("l1inf", 60, 12, 5, np.float64, rng)
    got = l1inf.project(eager.array(W), radius, return_theta=True, **options)
    outside = (radius > 0) & (radius < l1inf.norm(W, **options))
    for x, expected in zip(got, l1inf.project(W, radius, return_theta=True, **options), strict=True):
        np.testing.assert_allclose(eager.numpy(x)[outside], expected[outside], atol=1e-12 * np.abs(W).max())


# Every verb of every norm, for numbers of any size.


def arguments(name, verb, W, scale, dtype):
    """Return W, and the radius, step or z if the verb takes one, multiplied by a power of two."""
    W = (W * scale).astype(dtype)
    size = 1.0 if verb == "project_simplex" else 0.3 * np.max(NORMS[name].norm(W.astype(float))) / scale
    return (W,) if (name, verb) in SIZES else (W, float(dtype(size * scale)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("end", ["largest", "smallest"])
@pytest.mark.parametrize(("name", "verb"), [*VERBS, *SIZES])
def test_a_power_of_two_multiplies_the_result_at_both_ends_of_the_range(library, name, verb, end, dtype, rng):
    exponent = np.frexp(np.finfo(dtype).max)[1] - 8
    scale = 2.0 ** (exponent if end == "largest" else 12 - exponent)
    W = rng.integers(1, 64, size=(6, 4)) / 64 * np.array([1, -1, 1, -1])
    near, far = [
        library.numpy(
            function(name, verb)(*[library.array(np.asarray(x, dtype)) for x in arguments(name, verb, W, k, dtype)])
        )
        for k in (1.0, scale)
    ]
    np.testing.assert_array_equal(far, near * dtype(scale))


@pytest.mark.parametrize(("name", "verb"), [*VERBS, *SIZES])
def test_numbers_near_the_largest_float_have_the_results_of_the_compiled_code(library, name, verb):
    W = np.array([[6e37, -2e38], [2e38, 1e38], [-1e38, 5e37]], np.float32)
    numbers = [] if (name, verb) in SIZES else [1e38]
    with np.errstate(over="ignore"):  # norms above the largest float are infinite
        got = library.numpy(function(name, verb)(library.array(W), *numbers)).astype(float)
        expected = np.asarray(function(name, verb)(W.astype(float), *numbers)).astype(np.float32)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6 * 2e38)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("scale", [1e-20, 1e20])
@pytest.mark.parametrize("of_weights", [1e-15, 1e15])
def test_float32_weights_and_lengths_of_any_size(library, name, scale, of_weights, rng):
    """Squares of these numbers are no float32."""
    W = (rng.normal(size=(6, 4)) * scale).astype(np.float32)
    weights = (rng.uniform(1, 2, 6) * of_weights).astype(np.float32)
    options = {"weights": weights} if NORMS[name].WEIGHTED else {}
    radius = 0.3 * np.max(NORMS[name].norm(W.astype(float), **options))
    for verb in ("norm", "dual_norm", "project", "prox"):
        numbers = [radius if verb == "project" else 0.3 * np.max(NORMS[name].dual_norm(W, **options))]
        numbers = [] if (name, verb) in SIZES else numbers
        got = library.numpy(function(name, verb)(library.array(W), *numbers, **options))
        expected = function(name, verb)(W.astype(float), *numbers, **options)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * np.abs(W).max() * bool(numbers), err_msg=verb)


@pytest.mark.parametrize(("name", "verb"), [*VERBS, *SIZES])
@pytest.mark.parametrize("number", [0.0, 1.0, 1e38])
def test_zeros_give_zeros(library, name, verb, number):
    numbers = [] if (name, verb) in SIZES else [number * (verb != "project_simplex")]
    assert not library.numpy(function(name, verb)(library.array(np.zeros((3, 2), np.float32)), *numbers)).any()


@pytest.mark.parametrize(("name", "verb"), VERBS)
@pytest.mark.parametrize("which", [0, 1])
def test_one_argument_of_another_library_decides(library, name, verb, which, rng):
    W = rng.normal(size=(6, 4))
    given = [library.array(np.asarray(x)) if i == which else x for i, x in enumerate((W, 0.5))]
    got = function(name, verb)(*given)
    assert type(got) is type(library.array(W))
    np.testing.assert_allclose(library.numpy(got), function(name, verb)(W, 0.5), atol=1e-14)


@pytest.mark.parametrize("name", [name for name in NORMS if NORMS[name].WEIGHTED])
@pytest.mark.parametrize("verb", ["norm", "dual_norm", "project", "prox"])
def test_weights_of_another_library_decide(library, name, verb, rng):
    W, s = rng.normal(size=(6, 4)), rng.uniform(1, 2, size=6)
    numbers = [] if (name, verb) in SIZES else [0.5]
    got = function(name, verb)(W, *numbers, weights=library.array(s))
    assert type(got) is type(library.array(W))
    np.testing.assert_allclose(library.numpy(got), function(name, verb)(W, *numbers, weights=s), atol=1e-13)


@pytest.mark.parametrize(("name", "verb"), VERBS)
@pytest.mark.parametrize("number", [True, 1, np.float32(0.5)])
def test_numbers_of_any_real_dtype_are_taken(library, name, verb, number, rng):
    W = rng.normal(size=(6, 4))
    got = library.numpy(function(name, verb)(library.array(W), library.array(np.asarray(number))))
    np.testing.assert_allclose(got, function(name, verb)(W, float(number)), atol=1e-14)


# Batches and axes.


@pytest.mark.parametrize(("name", "verb"), [*VERBS, *SIZES])
def test_a_batch_is_its_matrices_one_by_one(name, verb, rng):
    W, number, options = drawn(name, 6, 12, 5, np.float64, rng)
    options = {} if verb == "project_simplex" else options
    numbers = [] if (name, verb) in SIZES else [number]
    got = function(name, verb)(
        W.reshape(2, 3, 12, 5),
        *(x.reshape(2, 3, *x.shape[1:]) for x in numbers),
        **({key: s.reshape(2, 3, 12) for key, s in options.items()}),
    )
    for b, one in enumerate(W):
        arguments = [x[b] if np.ndim(x[b]) else float(x[b]) for x in numbers]
        expected = function(name, verb)(one, *arguments, **{key: s[b] for key, s in options.items()})
        assert np.array_equal(got[b // 3, b % 3], expected)


@pytest.mark.parametrize(("name", "verb"), [*VERBS, *SIZES])
def test_the_other_axis_is_that_of_the_transposed_matrices(name, verb, rng):
    numbers = [] if (name, verb) in SIZES else [1.5]
    for W in (rng.normal(size=(3, 12, 5)), rng.normal(size=(12, 5))):
        expected = function(name, verb)(W, *numbers)
        for axis in (-1, W.ndim - 1) if NORMS[name].PER_TASK else (-2, W.ndim - 2):
            got = function(name, verb)(W.swapaxes(-1, -2), *numbers, axis=axis)
            assert np.array_equal(got.swapaxes(-1, -2) if numbers else got, expected)


@pytest.mark.parametrize(("name", "verb"), [(name, verb) for name in NORMS for verb in ("project", "norm")])
def test_the_other_axis_is_that_of_numpy(eager, name, verb, rng):
    W, numbers, axis = rng.normal(size=(3, 12, 5)), [1.5] * (verb == "project"), -1 if NORMS[name].PER_TASK else -2
    got = eager.numpy(function(name, verb)(eager.array(W), *numbers, axis=axis))
    np.testing.assert_allclose(got, function(name, verb)(W, *numbers, axis=axis), rtol=1e-13, atol=1e-14)


def test_out_takes_a_batch(rng):
    W = rng.normal(size=(3, 12, 5))
    out = np.empty_like(W)
    assert l1inf.project(W, 2.0, out=out) is out and np.array_equal(out, l1inf.project(W, 2.0))


@pytest.mark.parametrize(("name", "verb"), [*VERBS, *SIZES])
@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3), (2, 4, 0)])
def test_empty_arrays_have_empty_results(eager, name, verb, shape):
    W = np.zeros(shape)
    numbers = [] if (name, verb) in SIZES else [0.0]
    got = eager.numpy(function(name, verb)(eager.array(W), *numbers))
    assert got.shape == function(name, verb)(W, *numbers).shape and not got.any()


# Gradients.


def all_results(name, W, radius, step, **options):
    """The results of all functions of a norm, by name."""
    norms = {"norm": NORMS[name].norm(W, **options), "dual_norm": NORMS[name].dual_norm(W, **options)}
    return norms | points(name, W, radius, step, **options)


@cache
def differentiated(name):
    """Compile a function that returns all results of a norm, and gradients of the sum of results times `factors`.

    JAX vectorises it over the first axis of the arguments; the second one is that of a batch. All tests call it with
    arguments of the same shapes, for which JAX compiles it once.
    """
    import jax

    def of_batch(arguments, factors):
        values, gradients = jax.vjp(lambda arguments: all_results(name, **arguments), arguments)
        return values, gradients(factors)[0]

    return jax.jit(jax.vmap(of_batch), compiler_options=QUICK)


def smooth(name, rng):
    """Arguments of all functions of a norm, near which their results are differentiable."""
    W = rng.normal(size=(2, 3, 6, 4))
    options = {"weights": rng.uniform(0.5, 2.0, size=(2, 3, 6))} if NORMS[name].WEIGHTED else {}
    norms = NORMS[name].norm(W, **options)
    steps = np.linspace(0.3, 1.2, norms.size).reshape(norms.shape)
    return {"W": W, "radius": norms * steps, "step": steps, **options}


@pytest.mark.parametrize("name", NORMS)
def test_gradients_are_the_differences_of_the_compiled_code(jax, name, rng):
    """By W, by radius or z, by step, and by the weights."""
    test_util = pytest.importorskip("jax.test_util")

    def of_numpy(arguments):
        return all_results(name, **arguments)

    def of_jax(arguments):
        return of_numpy(arguments), lambda factors: (differentiated(name)(arguments, factors)[1],)

    test_util.check_vjp(of_numpy, of_jax, (smooth(name, rng),), atol=1e-6, rtol=1e-6, eps=1e-6)


@pytest.mark.parametrize("name", NORMS)
def test_jit_and_vmap_of_jax_give_the_same(jax, name, rng):
    arguments = smooth(name, rng)
    expected = all_results(name, **arguments)
    got, _ = differentiated(name)(arguments, expected)
    for verb, result in got.items():
        np.testing.assert_allclose(result, expected[verb], rtol=1e-13, atol=1e-14, err_msg=verb)


@pytest.mark.parametrize("name", NORMS)
def test_no_gradient_is_nan_at_zeros(jax, name, rng):
    arguments = smooth(name, rng)
    arguments["W"][:], arguments["W"][1, :, :3, :2] = 0.0, [[0.0, 0.0], [1.0, 0.0], [2.0, -1.0]]
    for number in ("radius", "step"):
        arguments[number].swapaxes(1, -1)[:] = [0.0, 0.5, 1e30]
    factors = {verb: np.ones_like(result) for verb, result in all_results(name, **arguments).items()}
    _, gradients = differentiated(name)(arguments, factors)
    for argument, gradient in gradients.items():
        assert np.isfinite(gradient).all(), argument


@pytest.mark.parametrize(("name", "verb"), VERBS)
def test_pytorch_has_the_gradients_of_jax(jax, name, verb, rng):
    torch = pytest.importorskip("torch")
    W, V, verb = *rng.normal(size=(2, 6, 4)), function(name, verb)
    expected = jax.grad(lambda W, number: (verb(W, number) * V).sum(), (0, 1))(jax.numpy.asarray(W), 0.7)
    leaves = torch.tensor(W, requires_grad=True), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    (verb(*leaves) * torch.asarray(V)).sum().backward()
    for leaf, gradient in zip(leaves, expected, strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), gradient, atol=1e-13)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("verb", ["norm", "dual_norm"])
def test_norms_have_the_gradient_zero_at_zeros(jax, name, verb):
    W = jax.numpy.asarray([[0.0, 2.0], [0.0, 0.0], [-1.0, 0.0]])
    gradient = jax.grad(lambda W: function(name, verb)(W).sum())(W)
    assert not gradient[W == 0].any() and gradient[W != 0].any()


def boundary(name, radius):
    """A matrix on the boundary of the ball, and the gradient of the sum of its projection by W and by the radius."""
    import jax

    W = jax.numpy.asarray([[3.0, 0.0], [-4.0, 0.0]] if NORMS[name].PER_TASK else [[3.0, -4.0], [0.0, 0.0]])
    on = np.max(NORMS[name].norm(np.asarray(W)))
    return W, jax.grad(lambda W, r: NORMS[name].project(W, r).sum(), (0, 1))(W, on * radius)


@pytest.mark.parametrize("name", NORMS)
def test_on_the_boundary_the_projection_has_the_gradient_of_the_identity(jax, name):
    W, (by_W, by_radius) = boundary(name, 1.0)
    assert np.array_equal(by_W, np.ones_like(W)) and by_radius == 0


@pytest.mark.parametrize("name", NORMS)
def test_at_radius_zero_all_gradients_are_zero(jax, name):
    _, (by_W, by_radius) = boundary(name, 0.0)
    assert not by_W.any() and by_radius == 0


@pytest.mark.parametrize(("name", "verb"), VERBS)
def test_jax_differentiates_by_the_number_of_a_numpy_matrix(jax, name, verb, rng):
    W, verb = rng.normal(size=(6, 4)), function(name, verb)
    expected = (np.square(verb(W, 0.7 + 1e-6)).sum() - np.square(verb(W, 0.7 - 1e-6)).sum()) / 2e-6
    gradient = jax.jit(jax.grad(lambda number: (verb(W, number) ** 2).sum()), compiler_options=QUICK)
    np.testing.assert_allclose(gradient(0.7), expected, rtol=1e-6)
    several = jax.vmap(lambda number: verb(W, number))(jax.numpy.asarray([0.2, 0.7]))
    np.testing.assert_allclose(several[1], verb(W, 0.7), atol=1e-14)


def test_gradients_where_there_is_none_are_those_that_formulas_states(jax):
    cases = {
        "inside": ([[2, 1], [1, 1]], 4, [[1, 1], [1, 1]], 0),
        "on the boundary": ([[2, 1], [1, 1]], 3, [[1, 1], [1, 1]], 0),
        "an entry at its level is not clipped": ([[2, 1], [0, 0]], 1, [[0, 1], [0, 0]], 1),
        "theta is the sum of the second row, which is dead": ([[2, 0], [0.5, 0.5]], 1, [[0, 1], [0, 0]], 1),
        "radius 0": ([[2, 1], [1, 1]], 0, [[0, 0], [0, 0]], 0),
    }
    W, radii, *expected = [np.array(x, dtype=float) for x in zip(*cases.values(), strict=True)]
    gradient = jax.grad(lambda W, radii: l1inf.project(W, radii).sum(), (0, 1))
    got = jax.jit(gradient, compiler_options=QUICK)(W, radii)
    for case, *gradients in zip(cases, *got, *expected, strict=True):
        by_W, by_radius, expected_by_W, expected_by_radius = gradients
        assert np.array_equal(by_W, expected_by_W) and by_radius == expected_by_radius, case


# Wrong input.


@pytest.mark.parametrize(
    ("verb", "W", "options"),
    [
        (l1inf.project, [[1.0, np.nan], [2.0, 3.0]], {"radius": 1.0}),
        (l1inf.norm, [[1.0, 2.0], [-np.inf, 3.0]], {}),
        (l1inf.project, [[1.0, 2.0]], {"radius": -1.0}),
        (l1inf.project, [[1.0, 2.0]], {"radius": "large"}),
        (l1inf.prox, [[1.0, 2.0]], {"step": np.nan}),
        (l1inf.project, [1.0, 2.0], {"radius": 1.0}),
        (l1.project, 1.0, {"radius": 1.0}),
        (l1.project, [[1.0, 2.0]], {"radius": [1.0, -2.0]}),
        (l1inf.project, [[1.0, 2.0]], {"radius": 1.0, "axis": 2}),
        (l1inf.project, [[1.0, 2.0]], {"radius": 1.0, "weights": [1.0, 2.0]}),
        (l1inf.project, [[1.0], [2.0]], {"radius": 1.0, "weights": [1.0, -2.0]}),
        (l1.project_simplex, [1.0, 2.0, np.inf, 3.0], {"z": 1.0}),
    ],
)
def test_wrong_input_gets_the_sentence_that_numpy_gets(library, verb, W, options):
    with pytest.raises(ValueError, match=r"got") as of_numpy:
        verb(np.asarray(W), **options)
    with pytest.raises(ValueError, match=r"got") as of_library:
        verb(library.array(W), **options)
    assert str(of_library.value) == str(of_numpy.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": -1.0}, r"^radius must be at least 0, got -1\.0"),
        ({"weights": [1.0, 0.0, 1.0, 1.0]}, r"^weights must be positive and finite, got 0\.0 at \(1,\)$"),
    ],
)
def test_numbers_of_the_library_are_checked_too(library, options, message):
    given = {"radius": 1.0} | {key: library.array(np.asarray(value)) for key, value in options.items()}
    with pytest.raises(ValueError, match=message):
        l1inf.project(library.array(np.ones((4, 2))), **given)


@pytest.mark.parametrize("argument", ["radius", "weights"])
@pytest.mark.parametrize("of_library", [True, False])
def test_complex_numbers_are_refused(library, argument, of_library):
    W, number = np.ones((4, 2)), library.array(np.full(4 if argument == "weights" else (), 1 + 5j))
    with pytest.raises(ValueError, match=rf"^{argument} must hold real numbers, got dtype .*complex128$"):
        l1inf.project(library.array(W) if of_library else W, **{"radius": 1.0, argument: number})


def test_an_infinite_z_of_the_library_is_refused(library):
    with pytest.raises(ValueError, match=r"^z must be finite, got inf$"):
        l1.project_simplex(library.array(np.ones(3)), library.array(np.asarray(np.inf)))


@pytest.mark.parametrize("option", [{"groups": [0, 0, 1]}, {"warm": l1inf.Warm()}, {"method": "sort"}, {"out": 1}])
def test_options_of_the_compiled_code_are_refused(eager, option):
    with pytest.raises(
        ValueError, match=rf"^{next(iter(option))} must be left out for arrays of \w+: it is for arrays of"
    ):
        l1inf.project(eager.array(np.ones((3, 2))), 1.0, **option)


@pytest.mark.parametrize(
    ("W", "options", "message"),
    [
        (
            np.ones((2, 3, 4)),
            {"radius": [1.0, 2.0, 3.0]},
            r"radius must be one number or broadcast to .*\(2,\), got sh",
        ),
        (
            np.ones((2, 3, 4)),
            {"radius": 1.0, "weights": np.ones((3, 3))},
            r"weights must be one per feature, .*\(3, 3\)$",
        ),
    ],
)
def test_unfit_shapes_of_a_batch_are_refused(eager, W, options, message):
    for array in (W, eager.array(W)):
        with pytest.raises(ValueError, match=message):
            l1inf.project(array, **options)


def test_a_warm_start_is_for_one_matrix():
    with pytest.raises(ValueError, match=r"^warm must be None for a batch of matrices$"):
        l1inf.project(np.ones((2, 3, 4)), 1.0, warm=l1inf.Warm())


def test_whole_numbers_of_another_library_are_refused(eager):
    with pytest.raises(ValueError, match=r"^W must hold float32 or float64, got dtype .*int64$"):
        l1inf.project(eager.array(np.ones((3, 2), np.int64)), 1.0)


def test_arrays_of_two_libraries_are_refused(jax):
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(ValueError, match=r"^all arrays must be of one library, got array_api_strict and jaxlib$"):
        l1inf.project(jax.numpy.ones((3, 2)), 1.0, weights=strict.ones(3))


def test_without_the_extra_one_sentence_says_what_to_install(eager, monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(
        ImportError, match=r"needs array-api-compat for arrays of \w+: pip install 'jointsparse\[arrays\]'$"
    ):
        l1inf.project(eager.array(np.ones((3, 2))), 1.0)


def test_numpy_imports_no_other_library():
    code = "import sys; from jointsparse.norms import l1inf; l1inf.project([[1.0]], 0.5); l1inf.norm([[[1.0]]]);"
    code += "print({'array_api_compat', 'jax', 'torch', 'jointsparse.norms.formulas'} & set(sys.modules))"
    assert run_python("-c", code) == "set()\n"
