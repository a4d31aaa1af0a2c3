"""Norms of arrays of JAX, PyTorch and the array API standard, of batches, and along either axis.

They are compared with the compiled code, on which tests/test_norms.py and the files of each norm say more.
"""

import sys

import numpy as np
import pytest
from common import run_python

from jointsparse.norms import NORMS, l1, l1inf

FRACTIONS = (0.0, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1.0, 1.5)  # of the norm: radii, and steps
VERBS = [*((name, verb) for name in NORMS for verb in ("project", "prox")), ("l1", "project_simplex")]
SIZES = [(name, verb) for name in NORMS for verb in ("norm", "dual_norm")]


class Strict:
    """array-api-strict, which does what the standard says and no more."""

    def __init__(self):
        xp = pytest.importorskip("array_api_strict")
        self.array, self.numpy = xp.asarray, np.asarray


class Jax:
    def __init__(self):
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        self.array, self.numpy = jax.numpy.asarray, np.asarray


class Torch:
    def __init__(self):
        torch = pytest.importorskip("torch")
        self.array, self.numpy = torch.asarray, lambda x: x.detach().numpy()


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


def drawn(name, verb, n, d, m, dtype, rng):
    """Arguments and options for a function of a norm."""
    W = draws(rng, n, d, m).astype(dtype)
    options = (
        {"weights": 10.0 ** rng.uniform(-1, 1, size=(n, d))} if NORMS[name].WEIGHTED and "simplex" not in verb else {}
    )
    norms = NORMS[name].norm(W, **options)
    return W, norms * rng.choice(FRACTIONS, size=np.shape(norms)), options


def tops(W):
    """The largest entry of each matrix, at least 1."""
    return np.maximum(np.abs(W).max(axis=(-1, -2), keepdims=True), 1.0)


# Against the compiled code.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "verb"), VERBS)
def test_a_thousand_results_are_those_of_the_compiled_code(library, name, verb, dtype, rng):
    W, number, options = drawn(name, verb, 1000, 12, 5, dtype, rng)
    expected = function(name, verb)(W.astype(float), number, **options)
    got = function(name, verb)(library.array(W), number, **options)
    assert (type(got), got.dtype, got.shape) == (type(library.array(W)), library.array(W).dtype, W.shape)
    largest = np.maximum(tops(W), 0 if "simplex" not in verb else np.max(number, axis=-1)[:, np.newaxis, np.newaxis])
    B = library.numpy(got).astype(float)
    assert (np.abs(B - expected) / largest).max() <= (1e-12 if dtype is np.float64 else 1e-5)
    if verb == "project":
        assert np.all(NORMS[name].norm(B, **options) <= number * (1 + (1e-12 if dtype is np.float64 else 1e-6)))


@pytest.mark.parametrize(("name", "verb"), SIZES)
def test_norms_are_those_of_the_compiled_code(library, name, verb, rng):
    W, _, options = drawn(name, verb, 50, 12, 5, np.float64, rng)
    got = function(name, verb)(library.array(W), **options)
    np.testing.assert_allclose(library.numpy(got), function(name, verb)(W, **options), rtol=1e-13)


@pytest.mark.parametrize("shape", [(1000, 1000), (200_000, 5), (5, 200_000)])
def test_float32_keeps_its_digits_in_large_matrices(jax, shape, rng):
    W = rng.normal(size=shape).astype(np.float32)
    radius = 0.3 * l1inf.norm(W)
    B = np.asarray(l1inf.project(jax.numpy.asarray(W), radius)).astype(float)
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
    W, radius, options = drawn("l1inf", "project", 60, 12, 5, np.float64, rng)
    got = l1inf.project(eager.array(W), radius, return_theta=True, **options)
    outside = (radius > 0) & (radius < l1inf.norm(W, **options))
    for x, expected in zip(got, l1inf.project(W, radius, return_theta=True, **options), strict=True):
        np.testing.assert_allclose(eager.numpy(x)[outside], expected[outside], atol=1e-12 * np.abs(W).max())


# Batches and axes.


@pytest.mark.parametrize(("name", "verb"), [*VERBS, *SIZES])
def test_a_batch_is_its_matrices_one_by_one(name, verb, rng):
    W, number, options = drawn(name, verb, 6, 12, 5, np.float64, rng)
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


@pytest.mark.parametrize(("name", "verb"), VERBS)
def test_gradients_are_the_differences_of_the_compiled_code(jax, name, verb, rng):
    """By W, by radius, step or z, and by the weights; JAX calls the function with arrays of NumPy for differences."""
    test_util = pytest.importorskip("jax.test_util")
    weighted = NORMS[name].WEIGHTED and "simplex" not in verb
    W, s = rng.normal(size=(2, 6, 4)), rng.uniform(0.5, 2.0, size=6)
    norms = NORMS[name].norm(W, **({"weights": s} if weighted else {}))
    number = (norms if "project" in verb else np.ones_like(norms)) * np.linspace(0.3, 1.2, norms.size).reshape(
        norms.shape
    )
    verb = function(name, verb)
    checked = (lambda W, number, s: verb(W, number, weights=s)) if weighted else verb
    arguments = [jax.numpy.asarray(x) for x in ((W, number, s) if weighted else (W, number))]
    test_util.check_grads(checked, arguments, order=1, modes=["rev"], atol=1e-6, rtol=1e-6, eps=1e-6)


@pytest.mark.parametrize(("name", "verb"), VERBS)
def test_pytorch_has_the_gradients_of_jax(jax, name, verb, rng):
    torch = pytest.importorskip("torch")
    W, V, verb = *rng.normal(size=(2, 6, 4)), function(name, verb)
    expected = jax.grad(lambda W, number: (verb(W, number) * V).sum(), (0, 1))(jax.numpy.asarray(W), 0.7)
    leaves = torch.tensor(W, requires_grad=True), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    (verb(*leaves) * torch.asarray(V)).sum().backward()
    for leaf, gradient in zip(leaves, expected, strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), gradient, atol=1e-13)


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_no_gradient_is_nan_at_zeros(jax, norm):
    def added(W, number):
        """All functions of the norm, of which none may have such a gradient."""
        simplex = [l1.project_simplex(W, number).sum()] if norm is l1 else []
        results = [norm.project(W, number), norm.prox(W, number), norm.norm(W), norm.dual_norm(W)]
        return sum([x.sum() for x in results] + simplex)

    W = jax.numpy.asarray([np.zeros((3, 2)), [[0.0, 0.0], [1.0, 0.0], [2.0, -1.0]]])
    gradient = jax.jit(jax.grad(added, (0, 1)))
    for number in (0.0, 0.5, 1e30):
        assert all(np.isfinite(x).all() for x in gradient(W, number))


@pytest.mark.parametrize(
    ("W", "radius", "by_W", "by_radius"),
    [
        ([[2.0, 1.0], [1.0, 1.0]], 4.0, [[1, 1], [1, 1]], 0.0),  # inside
        ([[2.0, 1.0], [1.0, 1.0]], 3.0, [[1, 1], [1, 1]], 0.0),  # on the boundary
        ([[2.0, 1.0], [0.0, 0.0]], 1.0, [[0, 1], [0, 0]], 1.0),  # an entry at its level is not clipped
        ([[2.0, 0.0], [0.5, 0.5]], 1.0, [[0, 1], [0, 0]], 1.0),  # theta is the sum of the second row, which is dead
        ([[2.0, 1.0], [1.0, 1.0]], 0.0, [[0, 0], [0, 0]], 0.0),
    ],
    ids=["inside", "on the boundary", "at its level", "just dead", "radius 0"],
)
def test_gradients_where_there_is_none_are_those_that_formulas_states(jax, W, radius, by_W, by_radius):
    got = jax.grad(lambda W, radius: l1inf.project(W, radius).sum(), (0, 1))(jax.numpy.asarray(W), radius)
    assert np.array_equal(got[0], by_W) and got[1] == by_radius


@pytest.mark.parametrize("name", NORMS)
def test_jit_and_vmap_of_jax_give_the_same(jax, name, rng):
    W, radii = rng.normal(size=(4, 12, 5)), np.array([0.5, 1.0, 2.0, 100.0])
    expected = NORMS[name].project(W, radii[:, np.newaxis] if NORMS[name].PER_TASK else radii)
    got = jax.jit(jax.vmap(NORMS[name].project))(jax.numpy.asarray(W), jax.numpy.asarray(radii))
    np.testing.assert_allclose(got, expected, atol=1e-14)


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
        (l1.project_simplex, [1.0, np.inf], {"z": 1.0}),
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
        ({"weights": [1.0, 0.0, 1.0]}, r"^weights must be positive and finite, got 0\.0 at \(1,\)$"),
    ],
)
def test_numbers_of_the_library_are_checked_too(library, options, message):
    given = {"radius": 1.0} | {key: library.array(np.asarray(value)) for key, value in options.items()}
    with pytest.raises(ValueError, match=message):
        l1inf.project(library.array(np.ones((3, 2))), **given)


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
