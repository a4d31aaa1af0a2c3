"""Norms of arrays of JAX, PyTorch and the array API standard, of batches, and along either axis.

Every function of every norm must give the results of the compiled code, on which tests/test_norms.py says more.
"""

import sys
from functools import cache, partial

import numpy as np
import pytest
from common import run_python

from jointsparse.norms import NORMS, l1, l1inf

SIZES = [(name, verb) for name in NORMS for verb in ("norm", "dual_norm")]
POINTS = [*((name, verb) for name in NORMS for verb in ("project", "prox")), ("l1", "project_simplex")]
by_verb = pytest.mark.parametrize(("name", "verb"), [*POINTS, *SIZES])
by_point = pytest.mark.parametrize(("name", "verb"), POINTS)
by_name = pytest.mark.parametrize("name", NORMS)
FRACTIONS = (0.0, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1.0, 1.5)  # of the norm: radii, and steps
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


def libraries(*kinds):
    return pytest.mark.parametrize("library", kinds, ids=lambda kind: kind.__name__, indirect=True)


@pytest.fixture(params=[Strict, Jax, Torch], ids=lambda kind: kind.__name__)
def library(request):
    pytest.importorskip("array_api_compat")
    return request.param()


eager = libraries(Strict, Torch)  # JAX would compile for most of the time of a test


@pytest.fixture
def jax():
    pytest.importorskip("array_api_compat")
    return (Jax(), pytest.importorskip("jax"))[1]


def called(name, verb, W, number, of=lambda x: x, **options):
    """Call a function of a norm. The number is left out for norms, and the options for the simplex."""
    numbers, options = [] if (name, verb) in SIZES else [of(number)], {} if verb == "project_simplex" else options
    return getattr(NORMS[name], verb)(of(W), *numbers, **options)


@cache
def drawn(name, n, dtype=np.float64, d=12, m=5):
    """Matrices of many kinds, numbers that serve as radius, step or z, and options for a norm."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(n, d, m))
    kinds = [
        normal,
        rng.standard_t(1.5, size=normal.shape),
        rng.integers(-2, 3, size=normal.shape).astype(float),
        normal * (rng.random(normal.shape) < 0.2),
        np.ones_like(normal),
        normal * 10.0 ** rng.integers(-3, 4, size=(n, d, 1)),
    ]
    W = np.choose(np.arange(n)[:, np.newaxis, np.newaxis] % len(kinds), kinds).astype(dtype)
    options = {"weights": 10.0 ** rng.uniform(-1, 1, size=(n, d))} if NORMS[name].WEIGHTED else {}
    norms = NORMS[name].norm(W, **options)
    return W, norms * rng.choice(FRACTIONS, size=np.shape(norms)), options


def results(name, W, radius, step, **options):
    """The results of all functions of a norm, by name."""
    verbs = [verb for norm, verb in (*SIZES, *POINTS) if norm == name]
    return {verb: called(name, verb, W, step if verb == "prox" else radius, **options) for verb in verbs}


# Against the compiled code


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@by_name
def test_a_thousand_results_are_those_of_the_compiled_code(library, name, dtype):
    (W, number, options), digits = drawn(name, 1000, dtype), 1 if dtype is np.float64 else 1e7
    got = library.compiled(lambda W: results(name, W, number, number, **options))(library.array(W))
    for verb, expected in results(name, W.astype(float), number, number, **options).items():
        assert (type(got[verb]), got[verb].dtype) == (type(library.array(W)), library.array(W).dtype), verb
        B = library.numpy(got[verb]).astype(float)
        z = np.max(number, axis=-1)[:, np.newaxis, np.newaxis] if verb == "project_simplex" else 1.0
        size = expected if verb in ("norm", "dual_norm") else np.maximum(np.abs(W).max((-1, -2), keepdims=True), z)
        assert B.shape == expected.shape and np.all(np.abs(B - expected) <= 1e-12 * digits * size), verb
    norms, B = NORMS[name].norm(W, **options), library.numpy(got["project"])
    assert np.all(NORMS[name].norm(B.astype(float), **options) <= number * (1 + 1e-12 * min(digits, 1e6)))
    inside = np.broadcast_to(number >= norms * 1.01, norms.shape)  # these come back bit for bit
    axes = (0, 2, 1) if NORMS[name].PER_TASK else (0, 1, 2)
    np.testing.assert_array_equal(B.transpose(axes)[inside], W.transpose(axes)[inside])


@eager
@pytest.mark.parametrize("options", [{"positive": True}, {"return_theta": True}, {"axis": 1}], ids=str)
@by_point
def test_options_are_those_of_the_compiled_code(library, name, verb, options):
    known = {"positive": verb != "project_simplex", "return_theta": (name, verb) == ("l1inf", "project"), "axis": True}
    (W, number, _), (option,) = drawn(name, 60), options
    if known[option]:
        options = {"axis": -1 if NORMS[name].PER_TASK else -2} if option == "axis" else options
        number = 0.7 * NORMS[name].norm(W, **options if option == "axis" else {})
        got, expected = (getattr(NORMS[name], verb)(of(W), number, **options) for of in (library.array, np.asarray))
        for x, y in zip(got, expected, strict=True) if option == "return_theta" else [(got, expected)]:
            np.testing.assert_allclose(library.numpy(x), y, atol=1e-12 * np.abs(W).max())


@pytest.mark.parametrize("shape", [(200_000, 5), (5, 200_000)])
def test_float32_keeps_its_digits_in_large_matrices(library, shape, rng):
    W = rng.normal(size=shape).astype(np.float32)
    radius = 0.3 * l1inf.norm(W)
    B = library.numpy(l1inf.project(library.array(W), radius)).astype(float)
    assert np.abs(B - l1inf.project(W.astype(float), radius)).max() <= 1e-5 * np.abs(W).max()
    assert l1inf.norm(B) <= radius * (1 + 1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("end", [1, -1], ids=["largest", "smallest"])
@by_verb
def test_a_power_of_two_multiplies_the_result_at_both_ends_of_the_range(library, name, verb, end, dtype, rng):
    exponent = end * (np.frexp(np.finfo(dtype).max)[1] - (8 if end > 0 else 12))
    W = rng.integers(1, 64, size=(6, 4)) / 64 * np.array([1, -1, 1, -1])
    number = dtype(1.0 if verb == "project_simplex" else 0.3 * np.max(NORMS[name].norm(W)))
    near, far = (
        library.numpy(called(name, verb, *(np.asarray(x * 2.0**k, dtype) for x in (W, number)), library.array))
        for k in (0, exponent)
    )
    np.testing.assert_array_equal(far, near * dtype(2.0**exponent))


LARGE = np.array([[6e37, -2e38], [2e38, 1e38], [-1e38, 5e37]], np.float32)
NORMAL = np.random.default_rng(0).normal(size=(6, 4))
SCALED = {  # matrices in float32, numbers and weights whose sums or squares are no float32
    "zeros": (np.zeros((3, 2)), 0.0, None),
    "zeros, large number": (np.zeros((3, 2)), 1e38, None),
    "small, large number": (NORMAL * 1e-30, 1e10, None),
    "near the largest float": (LARGE, 1e38, None),
    **{
        f"{scale:g}, weights {of_weights:g}": (NORMAL * scale, None, np.linspace(1, 2, 6) * of_weights)
        for scale in (1e-20, 1e20)
        for of_weights in (1e-15, 1e15)
    },
}


@pytest.mark.parametrize("case", SCALED)
@by_verb
def test_numbers_of_any_size_have_the_results_of_the_compiled_code(library, name, verb, case):
    W, number, weights = SCALED[case]
    options = {"weights": weights.astype("f")} if weights is not None and NORMS[name].WEIGHTED else {}
    with np.errstate(over="ignore"):  # norms above the largest float are infinite
        if number is None:
            number = 0.3 * np.max(called(name, "dual_norm" if verb == "prox" else "norm", W, 0, **options))
        number = 0.0 if verb == "project_simplex" and not W.any() else number
        got = library.numpy(called(name, verb, library.array(W.astype("f")), number, **options)).astype(float)
        expected = np.asarray(called(name, verb, W.astype("f").astype(float), number, **options)).astype("f")
    size = 0 if (name, verb) in SIZES else max(np.abs(W).max(), number if "simplex" in verb else 0)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * size)


@pytest.mark.parametrize("which", ["W", "number", "weights", "bool", "int", "float32"])
@by_verb
def test_one_argument_of_another_library_decides_and_numbers_of_any_real_dtype_are_taken(library, name, verb, which):
    W, s, of = NORMAL, np.linspace(1, 2, 6), library.array
    options = {"weights": s} if NORMS[name].WEIGHTED and verb != "project_simplex" else {}
    number = {"bool": True, "int": 1, "float32": np.float32(0.5)}.get(which, 0.5)
    taken = [
        of(W) if which in ("W", "bool", "int", "float32") else W,
        number if which in ("W", "weights") else of(np.asarray(number)),
    ]
    taken = taken[:1] if (name, verb) in SIZES else taken
    given = options | ({"weights": of(s)} if which == "weights" and options else {})
    if any(type(x) is type(of(W)) for x in (*taken, *given.values())):
        got = getattr(NORMS[name], verb)(*taken, **given)
        assert type(got) is type(of(W))
        np.testing.assert_allclose(library.numpy(got), called(name, verb, W, float(number), **options), atol=1e-13)


# Batches and axes


@by_verb
def test_a_batch_is_its_matrices_one_by_one_along_either_axis(name, verb):
    (W, number, options), function = drawn(name, 6), getattr(NORMS[name], verb)
    options = {} if verb == "project_simplex" else options
    numbers = [] if (name, verb) in SIZES else [number]
    expected = [function(W[b], *(x[b] for x in numbers), **{key: s[b] for key, s in options.items()}) for b in range(6)]
    along = -1 if NORMS[name].PER_TASK else -2  # not the axis by default
    for axis, form in (
        (None, np.asarray),
        *((a, partial(np.swapaxes, axis1=-1, axis2=-2)) for a in (along, 4 + along)),
    ):
        got = function(
            form(W.reshape(2, 3, 12, 5)),
            *(x.reshape(2, 3, *x.shape[1:]) for x in numbers),
            **{key: s.reshape(2, 3, 12) for key, s in options.items()},
            axis=axis,
        )
        got = form(got) if numbers else got
        np.testing.assert_array_equal(got.reshape(np.shape(expected)), expected)


def test_out_takes_a_batch():
    W = drawn("l1inf", 6)[0]
    out = np.empty_like(W)
    assert l1inf.project(W, 2.0, out=out) is out and np.array_equal(out, l1inf.project(W, 2.0))


@eager
@by_verb
def test_empty_arrays_have_empty_results(library, name, verb):
    for shape in [(0, 4, 3), (2, 0, 3), (2, 4, 0)]:
        got = library.numpy(called(name, verb, library.array(np.zeros(shape)), 0.0))
        assert got.shape == called(name, verb, np.zeros(shape), 0.0).shape and not got.any()


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
    """Arguments of all functions of a norm, near which their results are differentiable."""
    W = rng.normal(size=(2, 3, 6, 4))
    options = {"weights": rng.uniform(0.5, 2.0, size=(2, 3, 6))} if NORMS[name].WEIGHTED else {}
    norms = NORMS[name].norm(W, **options)
    steps = np.linspace(0.3, 1.2, norms.size).reshape(norms.shape)
    return {"W": W, "radius": norms * steps, "step": steps, **options}


@by_name
def test_results_under_jit_and_vmap_and_gradients_are_those_of_the_compiled_code(jax, name, rng):
    """By W, by radius or z, by step, and by the weights: gradients are compared with differences."""
    test_util, arguments = pytest.importorskip("jax.test_util"), smooth(name, rng)
    expected = results(name, **arguments)
    for verb, result in differentiated(name)(arguments, expected)[0].items():
        np.testing.assert_allclose(result, expected[verb], rtol=1e-13, atol=1e-14, err_msg=verb)

    def of_jax(arguments):
        values = results(name, **arguments)
        return values, lambda factors: (differentiated(name)(arguments, factors)[1],)

    test_util.check_vjp(lambda given: results(name, **given), of_jax, (arguments,), atol=1e-6, rtol=1e-6, eps=1e-6)


@by_name
def test_no_gradient_is_nan_at_zeros(jax, name, rng):
    arguments = smooth(name, rng)
    arguments["W"][:], arguments["W"][1, :, :3, :2] = 0.0, [[0.0, 0.0], [1.0, 0.0], [2.0, -1.0]]
    for number in ("radius", "step"):
        arguments[number].swapaxes(1, -1)[:] = [0.0, 0.5, 1e30]
    factors = {verb: np.ones_like(result) for verb, result in results(name, **arguments).items()}
    for argument, gradient in differentiated(name)(arguments, factors)[1].items():
        assert np.isfinite(gradient).all(), argument


@by_point
def test_pytorch_has_the_gradients_of_jax(jax, name, verb, rng):
    torch = pytest.importorskip("torch")
    W, V, verb = *rng.normal(size=(2, 6, 4)), getattr(NORMS[name], verb)
    expected = jax.grad(lambda W, number: (verb(W, number) * V).sum(), (0, 1))(jax.numpy.asarray(W), 0.7)
    leaves = torch.tensor(W, requires_grad=True), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    (verb(*leaves) * torch.asarray(V)).sum().backward()
    for leaf, gradient in zip(leaves, expected, strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), gradient, atol=1e-13)


@by_point
def test_jax_differentiates_by_the_number_of_a_numpy_matrix(jax, name, verb):
    W, verb = NORMAL, getattr(NORMS[name], verb)
    expected = (np.square(verb(W, 0.7 + 1e-6)).sum() - np.square(verb(W, 0.7 - 1e-6)).sum()) / 2e-6
    gradient = jax.jit(jax.grad(lambda number: (verb(W, number) ** 2).sum()), compiler_options=QUICK)
    np.testing.assert_allclose(gradient(0.7), expected, rtol=1e-6)
    several = jax.vmap(lambda number: verb(W, number))(jax.numpy.asarray([0.2, 0.7]))
    np.testing.assert_allclose(several[1], verb(W, 0.7), atol=1e-14)


KINKS = {  # W, the radius, and the gradients of the sum of the projection by both that `formulas` states
    "inside": ([[2, 1], [1, 1]], 9, [[1, 1], [1, 1]], 0),
    "radius 0": ([[2, 1], [1, 1]], 0, [[0, 0], [0, 0]], 0),
    "on the boundary": ([[3, 0], [0, 0]], 3, [[1, 1], [1, 1]], 0),
    "l1inf: on the boundary": ([[2, 1], [1, 1]], 3, [[1, 1], [1, 1]], 0),
    "l1inf: an entry at its level is not clipped": ([[2, 1], [0, 0]], 1, [[0, 1], [0, 0]], 1),
    "l1inf: theta is the sum of the second row, which is dead": ([[2, 0], [0.5, 0.5]], 1, [[0, 1], [0, 0]], 1),
}


@by_name
def test_gradients_where_there_is_none_are_those_that_formulas_states(jax, name):
    cases = {case: row for case, row in KINKS.items() if ":" not in case or case.startswith(f"{name}:")}
    W, radii, *expected = (np.array(column, dtype=float) for column in zip(*cases.values(), strict=True))
    gradient = jax.vmap(jax.grad(lambda W, radius: NORMS[name].project(W, radius).sum(), (0, 1)))
    got = jax.jit(gradient, compiler_options=QUICK)(W, radii)
    for case, by_W, by_radius, expected_by_W, expected_by_radius in zip(cases, *got, *expected, strict=True):
        assert np.array_equal(by_W, expected_by_W) and by_radius == expected_by_radius, case
    for verb in ("norm", "dual_norm"):  # the subgradient 0 at zeros
        V = jax.numpy.asarray([[0.0, 2.0], [0.0, 0.0], [-1.0, 0.0]])
        by_V = jax.grad(lambda V, verb=verb: getattr(NORMS[name], verb)(V).sum())(V)
        assert not by_V[V == 0].any() and by_V[V != 0].any()


def test_theta_inside_the_ball_has_the_gradient_zero(jax):
    assert not jax.grad(lambda W: l1inf.project(W, 99.0, return_theta=True)[1])(jax.numpy.asarray(NORMAL)).any()


# Refusals


TWO, ROW = [[1.0, 2.0], [0.0, 3.0]], [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("verb", "W", "options"),
    [
        (l1inf.project, [[1.0, np.nan], [2.0, 3.0]], {"radius": 1.0}),
        (l1inf.norm, [[1.0, 2.0], [-np.inf, 3.0]], {}),
        (l1inf.project, ROW, {"radius": -1.0}),
        (l1inf.project, ROW, {"radius": "large"}),
        (l1inf.prox, ROW, {"step": np.nan}),
        (l1inf.project, [1.0, 2.0], {"radius": 1.0}),
        (l1.project, 1.0, {"radius": 1.0}),
        (l1.project, ROW, {"radius": [1.0, -2.0]}),
        (l1inf.project, ROW, {"radius": 1.0, "axis": 2}),
        (l1inf.project, ROW, {"radius": 1.0, "weights": [1.0, 2.0]}),
        (l1inf.project, TWO, {"radius": 1.0, "weights": [1.0, -2.0]}),
        (l1inf.project, TWO, {"radius": 1.0, "weights": [1 + 5j, 1]}),
        (l1inf.project, TWO, {"radius": 1 + 5j}),
        (l1.project_simplex, [1.0, 2.0, np.inf, 3.0], {"z": 1.0}),
        (l1inf.project, [TWO, TWO], {"radius": [1.0, 2.0, 3.0]}),
        (l1inf.project, [TWO, TWO], {"radius": 1.0, "weights": np.ones((3, 2))}),
    ],
)
def test_wrong_input_gets_the_sentence_that_numpy_gets(library, verb, W, options):
    said = []
    for array in (np.asarray, library.array):
        with pytest.raises(ValueError, match="got") as caught:
            verb(array(W), **options)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("verb", "options", "message"),
    [
        (l1inf.project, {"radius": -1.0}, r"^radius must be at least 0, got -1\.0"),
        (l1inf.project, {"radius": 1 + 5j}, r"^radius must hold real numbers, got dtype .*complex128$"),
        (
            l1inf.project,
            {"weights": [1.0, 0.0, 1.0, 1.0]},
            r"^weights must be positive and finite, got 0\.0 at \(1,\)$",
        ),
        (l1inf.project, {"weights": [1 + 5j] * 4}, r"^weights must hold real numbers, got dtype .*complex128$"),
        (l1.project_simplex, {"z": np.inf}, "^z must be finite, got inf$"),
    ],
)
@pytest.mark.parametrize("of_library", [True, False])
def test_numbers_of_the_library_are_checked_too(library, verb, options, message, of_library):
    given = {} if "z" in options else {"radius": 1.0}
    given |= {key: library.array(np.asarray(value)) for key, value in options.items()}
    with pytest.raises(ValueError, match=message):
        verb(library.array(np.ones((4, 2))) if of_library else np.ones((4, 2)), **given)


def test_an_infinite_number_of_numpy_is_no_size_of_a_simplex(library):
    with pytest.raises(ValueError, match=r"^z must be finite, got inf$"):
        l1.project_simplex(library.array(np.ones((4, 2))), np.inf)


@eager
@pytest.mark.parametrize(
    ("W", "options", "message"),
    [
        *(
            (np.ones((3, 2)), option, rf"^{next(iter(option))} must be left out for arrays of \w+: it is for arrays of")
            for option in ({"groups": [0, 0, 1]}, {"warm": l1inf.Warm()}, {"method": "sort"}, {"out": 1})
        ),
        (np.ones((3, 2), np.int64), {}, r"^W must hold float32 or float64, got dtype .*int64$"),
    ],
)
def test_what_only_numpy_takes_is_refused(library, W, options, message):
    with pytest.raises(ValueError, match=message):
        l1inf.project(library.array(W), 1.0, **options)


def test_a_warm_start_is_for_one_matrix_and_arrays_are_of_one_library(jax):
    with pytest.raises(ValueError, match=r"^warm must be None for a batch of matrices$"):
        l1inf.project(np.ones((2, 3, 4)), 1.0, warm=l1inf.Warm())
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(ValueError, match=r"^all arrays must be of one library, got array_api_strict and jaxlib$"):
        l1inf.project(jax.numpy.ones((3, 2)), 1.0, weights=strict.ones(3))


@eager
def test_without_the_extra_one_sentence_says_what_to_install(library, monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    said = r"needs array-api-compat for arrays of \w+: pip install 'jointsparse\[arrays\]'$"
    with pytest.raises(ImportError, match=said):
        l1inf.project(library.array(np.ones((3, 2))), 1.0)


def test_numpy_imports_no_other_library():
    code = "import sys; from jointsparse.norms import l1inf; l1inf.project([[1.0]], 0.5); l1inf.norm([[[1.0]]]);"
    code += "print({'array_api_compat', 'jax', 'torch', 'jointsparse.norms.formulas'} & set(sys.modules))"
    assert run_python("-c", code) == "set()\n"
