"""Norms of arrays of any library, of batches, and along either axis.

NumPy arrays go to the compiled code, which takes the matrices of a batch one by one. If the matrix, the radius or step,
or the weights are an array of another library that `array_api_compat` knows (JAX, PyTorch, CuPy, …), all of them go to
`formulas` as arrays of this library: they stay on their device, keep their precision, and have gradients if the library
computes them. Only libraries that the caller has imported are imported here.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from jointsparse.arrays import is_of_another_library
from jointsparse.checks import as_output, as_radius, deliver, real_array, require, require_finite
from jointsparse.groups import as_weights

NUMPY_ONLY = ("out", "method", "warm", "groups")  # options of the compiled code
DEFAULT_METHOD = "newton"
OF_PYTHON = {float, int, np.float64, np.ndarray, type(None)}  # the usual types, for which no further test is needed
NUMBERS = {"project": "radius", "prox": "step", "project_simplex": "z"}  # name of a function's argument after W


class Layout(NamedTuple):
    """The axes along which the groups of an array lie, and the shapes of its norms and weights."""

    per_task: bool  # True if a group is the weights of a task, False if it is the weights of a feature
    along_last: bool  # True if a group lies along the last axis, False if along the one before
    of_norms: tuple[int, ...]  # the shape of the norms
    of_weights: tuple[int, ...]  # the largest shape of weights: one per entry of a group if per task, else per group


def call(verb: Callable, W: Any, *numbers: Any, axis: int | None, **options: Any) -> Any:
    """Call a function of a norm for an array W of any library, with any number of axes, and return its result.

    Parameters
    ----------
    verb : function
        A function of a norm's module that takes NumPy matrices, for example `l1inf.project`.
    W : array (..., n_features, n_tasks), or (n_features,) for norms per task
        An array of any library. Leading axes are batches.
    *numbers : float or array
        The radius or step, if the function takes one: a number, or an array that broadcasts to the shape of the norms.
    axis : int or None
        The axis along which a group lies: -1 or -2. None stands for -2 if each task has its own norm, and for -1
        otherwise.
    **options : Any
        Further arguments of the function.

    Returns
    -------
    Any
        The result of the function.
    """
    name, per_task = "v" if verb.__name__ == "project_simplex" else "W", sys.modules[verb.__module__].PER_TASK
    W = W if is_of_another_library(W) else real_array(W, name)
    if any_of_another_library(W, *numbers, options.get("weights")):
        return _by_formula(verb, W, name, _layout(W, name, axis, per_task), numbers, options)
    if W.ndim <= 2 and axis is None:
        return verb(W, *numbers, **options)
    return _by_compiled_code(verb, W, _layout(W, name, axis, per_task), numbers, **options)


def any_of_another_library(*arguments: Any) -> bool:
    """Return True if an argument is an array of another library than NumPy."""
    return not OF_PYTHON.issuperset(map(type, arguments)) and any(is_of_another_library(x) for x in arguments)


def _layout(W: Any, name: str, axis: int | None, per_task: bool) -> Layout:
    """Return the layout of W. Raise ValueError if its shape or `axis` is not allowed."""
    shape, n = tuple(W.shape), len(W.shape)
    if n < (1 if per_task else 2):
        vector = "a vector or " if per_task else ""
        raise ValueError(f"{name} must be {vector}a matrix (n_features, n_tasks), got shape {shape}")
    places = {-1: n - 1, -2: n - 2, n - 1: n - 1, n - 2: n - 2} if n > 1 else {-1: 0, 0: 0}
    require(axis is None or axis in places, f"axis must be one of the last two, -2 or -1, got {axis!r}")
    place = places[axis if axis is not None else -2 if per_task and n > 1 else -1]
    batch, others = shape[:-2], shape[:place] + shape[place + 1 :]
    if per_task:
        return Layout(True, place == n - 1, others, (*batch, shape[place]))
    return Layout(False, place == n - 1, batch, others)


def _require_broadcastable(got: tuple[int, ...], shape: tuple[int, ...], message: str) -> None:
    fits = len(got) <= len(shape) and all(n in (1, m) for n, m in zip(got[::-1], shape[::-1], strict=False))
    require(fits, f"{message}, got shape {got}")


def _require_number(got: tuple[int, ...], name: str, layout: Layout) -> None:
    many = f" or broadcast to the shape of the norms, {layout.of_norms}" if layout.of_norms else ""
    _require_broadcastable(got, layout.of_norms, f"{name} must be one number{many}")


def _require_weights(got: tuple[int, ...], layout: Layout) -> None:
    message = f"weights must be one per feature, shape ({layout.of_weights[-1]},)"
    require(got[-1:] == layout.of_weights[-1:], f"{message}, got shape {got}")
    _require_broadcastable(got, layout.of_weights, message)


# NumPy.


def _by_compiled_code(
    verb: Callable, W: Any, layout: Layout, numbers: tuple, *, out: Any = None, weights: Any = None, **options: Any
) -> Any:
    """Call a function that takes NumPy matrices once for every matrix of a batch."""
    transposes = W.ndim > 1 and layout.along_last == layout.per_task
    V, is_norm = np.swapaxes(W, -1, -2) if transposes else W, verb.__name__ not in NUMBERS
    if weights is not None:
        options["weights"] = weights
    if V.ndim <= 2:
        results = verb(V, *numbers, **options)
    else:
        require(options.get("warm") is None, "warm must be None for a batch of matrices")
        arrays = [real_array(number, NUMBERS[verb.__name__]) for number in numbers]
        for number in arrays:
            _require_number(number.shape, NUMBERS[verb.__name__], layout)
        arrays = [np.broadcast_to(number, layout.of_norms) for number in arrays]
        if weights is not None:
            arrays.append(real_array(options.pop("weights"), "weights"))
            _require_weights(arrays[-1].shape, layout)

        def of_matrix(V: Any, *arrays: Any) -> Any:
            also = {} if weights is None else {"weights": arrays[-1]}
            return verb(V, *arrays[: len(numbers)], **also, **options)

        norms = "(m)" if layout.per_task else "()"
        inputs = ["(d,m)", *[norms] * len(numbers), *["(d)"] * (weights is not None)]
        outputs = [norms] if is_norm else ["(d,m)", "()", "(g)"] if options.get("return_theta") else ["(d,m)"]
        dtypes = [float] if is_norm else [W.dtype, float, float][: len(outputs)]
        results = np.vectorize(of_matrix, dtypes, signature=f"{','.join(inputs)}->{','.join(outputs)}")(V, *arrays)
    if is_norm:
        return results
    B, *theta_and_mu = results if isinstance(results, tuple) else (results,)
    B = np.swapaxes(B, -1, -2) if transposes else B
    if out is not None:
        as_output(out, W)
        B = deliver(B, out)
    return (B, *theta_and_mu) if theta_and_mu else B


# Other libraries.


def _by_formula(verb: Callable, W: Any, name: str, layout: Layout, numbers: tuple, options: dict[str, Any]) -> Any:
    weights, returns_theta = options.pop("weights", None), options.pop("return_theta", False)
    arrays = [x for x in (W, *numbers, weights) if is_of_another_library(x)]
    lib, is_traced = _library(verb, arrays)
    xp = lib.xp
    for option in NUMPY_ONLY:
        value = options.pop(option, None)
        unused = value is None or (isinstance(value, str) and value == DEFAULT_METHOD)
        require(unused, f"{option} must be left out for arrays of {_name(xp)}: it is for arrays of NumPy alone")
    if isinstance(W, np.ndarray):
        require_finite(W, name)
        W = xp.asarray(W, device=_device(lib, arrays[0]))
    require(W.dtype in (xp.float32, xp.float64), f"{name} must hold float32 or float64, got dtype {W.dtype}")
    if not is_traced and 0 not in W.shape:
        _require_all(lib, xp.isfinite(W), W, f"{name} must be finite, got {{}} at {{}}")
    arrays = [_as_number(lib, number, W, NUMBERS[verb.__name__], layout, not is_traced) for number in numbers]
    s = _as_weights(lib, weights, W, layout, not is_traced)
    is_norm = verb.__name__ not in NUMBERS
    if 0 in W.shape:
        zeros = [
            xp.zeros(shape, dtype=W.dtype, device=_device(lib, W)) for shape in (layout.of_norms, layout.of_weights)
        ]
        return zeros[0] if is_norm else (W, *zeros) if returns_theta else W
    norm = verb.__module__.rpartition(".")[2]
    form = (layout.per_task, layout.along_last, options.get("positive", False))
    results = _prepared(lib, norm, verb.__name__, *form)(W, s, *arrays)
    return results if returns_theta or not isinstance(results, tuple) else results[0]


def _formulas() -> Any:
    """Import `formulas` dynamically, so that the pipeline does not count it among the files that a job depends on.

    No result for NumPy arrays depends on it, so no job has to rerun when it changes.
    """
    return import_module("jointsparse.norms.formulas")


@cache
def _prepared(lib: Any, norm: str, verb: str, per_task: bool, along_last: bool, positive: bool) -> Callable:
    """Return a function that applies a formula to W in its own layout, compiled if the library has a compiler."""
    formulas, transpose = _formulas(), lib.xp.matrix_transpose

    def run(W: Any, s: Any, *numbers: Any) -> Any:
        V = W if along_last else transpose(W)
        V = formulas.positive_part(lib, V) if positive else V
        results = formulas.apply(lib, norm, verb, per_task, V, s, *numbers)
        if verb not in NUMBERS or along_last:
            return results
        return (transpose(results[0]), *results[1:]) if isinstance(results, tuple) else transpose(results)

    return lib.compiled(run)


def _library(verb: Callable, arrays: list[Any]) -> tuple[Any, bool]:
    """Return the library of the arrays, and whether it is tracing them, so that their values are not yet known."""
    try:
        compat = import_module("array_api_compat")
    except ImportError:
        module = type(arrays[0]).__module__.partition(".")[0]
        raise ImportError(
            f"{verb.__module__} needs array-api-compat for arrays of {module}: pip install 'jointsparse[arrays]'"
        ) from None
    try:
        xp = compat.array_namespace(*arrays)
    except TypeError:
        kinds = sorted({type(x).__module__.partition(".")[0] for x in arrays})
        raise ValueError(f"all arrays must be of one library, got {' and '.join(kinds)}") from None
    if compat.is_jax_namespace(xp):
        tracer = import_module("jax").core.Tracer
        return _library_of(xp), any(isinstance(x, tracer) for x in arrays)
    return _library_of(xp), compat.is_torch_namespace(xp) and sys.modules["torch"].compiler.is_compiling()


def _name(xp: Any) -> str:
    return xp.__name__.removeprefix("array_api_compat.").partition(".")[0]


@cache
def _library_of(xp: Any) -> Any:
    formulas = _formulas()
    if _name(xp) == "jax":
        jax = import_module("jax")

        def repeat(step: Callable[[tuple], tuple], state: tuple) -> tuple:
            return jax.lax.while_loop(lambda state: state[0], step, state)

        return formulas.Library(xp, jax.lax.stop_gradient, repeat, jax.jit)

    def repeat_eagerly(step: Callable[[tuple], tuple], state: tuple) -> tuple:
        while bool(state[0]):
            state = step(state)
        return state

    constant = (lambda x: x.detach()) if _name(xp) == "torch" else (lambda x: x)
    return formulas.Library(xp, constant, repeat_eagerly, lambda function: function)


def _device(lib: Any, W: Any) -> Any:
    """Return the device of W, or None for JAX, which moves arrays itself and whose traced arrays have no device."""
    return None if _name(lib.xp) == "jax" else import_module("array_api_compat").device(W)


def _require_all(lib: Any, holds: Any, values: Any, message: str) -> None:
    """Raise ValueError if `holds` is not true everywhere. The message names the first invalid value and its index."""
    if bool(lib.xp.all(holds)):
        return
    i = int(lib.xp.argmin(lib.xp.astype(lib.xp.reshape(holds, (-1,)), lib.xp.int32)))
    place = tuple(int(k) for k in np.unravel_index(i, tuple(values.shape)))
    raise ValueError(message.format(float(lib.constant(lib.xp.reshape(values, (-1,))[i])), place))


def _as_number(lib: Any, number: Any, W: Any, name: str, layout: Layout, is_checked: bool) -> Any:
    """Return a radius or step as an array of W's library and dtype, in the shape of the norms."""
    xp, largest = lib.xp, float(lib.xp.finfo(W.dtype).max)
    if is_of_another_library(number):
        _require_real(lib, number, name)
        array = xp.astype(number, W.dtype, copy=False)
        if is_checked:
            _require_all(lib, array >= 0, array, f"{name} must be at least 0, got {{}}")
            _require_all(lib, (array <= largest) | (name != "z"), array, f"{name} must be finite, got {{}}")
    else:
        single = np.ndim(number) == 0
        numbers = np.asarray(as_radius(number, name)) if single else real_array(number, name).astype(np.float64)
        for negative in numbers[~(numbers >= 0)]:
            raise ValueError(f"{name} must be at least 0, got {negative}")
        require(name != "z" or np.isfinite(numbers).all(), f"{name} must be finite, got {number!r}")
        finite = np.where(np.isinf(numbers), np.inf, np.minimum(numbers, largest))
        array = xp.asarray(finite, dtype=W.dtype, device=_device(lib, W))
    _require_number(tuple(array.shape), name, layout)
    return xp.broadcast_to(array, layout.of_norms)


def _require_real(lib: Any, x: Any, name: str) -> None:
    is_complex = lib.xp.isdtype(x.dtype, "complex floating")
    require(not is_complex, f"{name} must hold real numbers, got dtype {x.dtype}")


def _as_weights(lib: Any, weights: Any, W: Any, layout: Layout, is_checked: bool) -> Any:
    """Convert the weights to an array of the same library and dtype as W.

    The result broadcasts with one weight per row or, if each task has its own norm, with one weight per feature.
    """
    xp, n = lib.xp, layout.of_weights[-1]
    if weights is None:
        return xp.ones(n, dtype=W.dtype, device=_device(lib, W))
    if is_of_another_library(weights):
        _require_real(lib, weights, "weights")
        s = xp.astype(weights, W.dtype, copy=False)
        if is_checked:
            _require_all(lib, (s > 0) & xp.isfinite(s), s, "weights must be positive and finite, got {} at {}")
    else:
        array = real_array(weights, "weights")
        positive = as_weights(array, n) if array.ndim < 2 else as_weights(array.reshape(-1), array.size)
        s = xp.asarray(positive.reshape(array.shape), dtype=W.dtype, device=_device(lib, W))
    _require_weights(tuple(s.shape), layout)
    return s[..., None, :] if layout.per_task and s.ndim > 1 else s
