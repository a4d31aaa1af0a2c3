"""Specifications of what the objects in a model file may hold: types, shapes and ranges of their attributes.

A class whose objects may be in files declares a specification per attribute in `_HOLDS`, and `load` compares the file
with it. Shapes consist of named sizes, such as ("tasks", "in"). The first array whose shape contains a name sets the
value of this size, and all other arrays must agree. "in" and "out" are the numbers of features that a step takes and
returns.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy  # scipy.sparse is loaded on first use

from jointsparse.checks import FLOATING, require, require_sound, shortened

MOST_LETTERS = 10_000  # largest length of a string
MOST_NESTED = 6  # deepest nesting of lists
LARGEST, WHOLE = sys.float_info.max, 2**53

Sizes = dict[str, int]
FLOATS, INTEGERS = FLOATING, tuple(map(np.dtype, (np.int8, np.int16, np.int32, np.int64)))


class Spec(NamedTuple):
    """Specification of a value.

    check: function of the value's name, the value and the known sizes, which raises ValueError if the value does not
    fit. optional: whether the value may be missing.
    """

    check: Callable[[str, Any, Sizes], None]
    optional: bool = False


def require_like(values: Mapping[str, Any], specs: Mapping[str, Spec], name: str, sizes: Sizes) -> None:
    """Raise ValueError unless the values fit their specifications, none is missing, and there are no other values.

    Parameters
    ----------
    values : mapping
        Values by name.
    specs : mapping
        Specifications by name.
    name : str
        Name, in messages, of the object that has the values.
    sizes : dict
        Known sizes. Sizes that follow from the values are added.
    """
    for unknown in [key for key in values if key not in specs][:1]:
        raise ValueError(f"{name} must hold only {', '.join(specs)}, got {shortened(unknown)} as well")
    for key, spec in specs.items():
        require(spec.optional or key in values, f"{name}.{key} must be there, got none")
        if key in values:
            spec.check(f"{name}.{key}", values[key], sizes)


def brief(value: Any) -> str:
    """Return a description of a value for a message: arrays by dtype and shape, other large values by their size."""
    if isinstance(value, np.ndarray) or scipy.sparse.issparse(value):
        return f"{value.dtype} of shape {value.shape}"
    if isinstance(value, list | tuple | dict | set) or (isinstance(value, str) and len(value) > MOST_LETTERS):
        return f"a {type(value).__name__} of {len(value):,}"
    known = value is None or isinstance(value, str | int | float | np.generic)
    return " ".join(shortened(value).split()) if known else f"a {type(value).__name__}"


def simple(expected: str, holds: Callable[[Any], object]) -> Spec:
    """Return the specification of values for which `holds` is true. expected: their description in messages."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        require(holds(value), f"{name} must be {expected}, got {brief(value)}")

    return Spec(check)


def optional(spec: Spec) -> Spec:
    """Return the specification of a value that fits `spec` or is missing."""
    return spec._replace(optional=True)


def either(*specs: Spec) -> Spec:
    """Return the specification of a value that fits one of `specs`. If none fits, the error is that of the last one."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        for spec in specs[:-1]:
            with suppress(ValueError):
                return spec.check(name, value, sizes)
        return specs[-1].check(name, value, sizes)

    return Spec(check)


def number(low: float = -math.inf, high: float = math.inf, *, nan: bool = False) -> Spec:
    """Return the specification of a Python number, NumPy scalar or 0-d array. nan: whether NaN is allowed as well."""
    expected = f"a {'finite ' * (high < math.inf)}number{_bounds(low, high)}{' or NaN' * nan}"

    def holds(value: Any) -> bool:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        value = float(value) if isinstance(value, np.floating) else value  # otherwise NumPy would round the bounds
        return _is_number(value) and bool(low <= value <= high or (nan and value != value))

    return simple(expected, holds)


def whole(low: int = 0, high: int = WHOLE) -> Spec:
    return simple(f"a whole number from {low:,} to {high:,}", lambda value: _is_whole(value) and low <= value <= high)


def one_of(*names: str) -> Spec:
    return simple(f"one of {', '.join(names)}", lambda value: isinstance(value, str) and str(value) in names)


def size(size: str, low: int = 1) -> Spec:
    """Return the specification of an integer that is at least `low` and equals the size of the given name."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        whole(low).check(name, value, sizes)
        known = sizes.setdefault(size, int(value))
        require(value == known, f"{name} must be {known}, got {value}")

    return Spec(check)


def array(
    types: Sequence[np.dtype[Any]], *shape: str | int, low: float = -LARGEST, high: float = LARGEST, nan: bool = False
) -> Spec:
    """Return the specification of an array of numbers.

    Parameters
    ----------
    types : sequence of dtype
        Allowed dtypes.
    *shape : str or int
        Length of each axis: a number or the name of a size.
    low, high : float
        Finite bounds of all entries.
    nan : bool
        Whether the entries may also be NaN, infinite or outside the bounds.
    """

    def check(name: str, value: Any, sizes: Sizes) -> None:
        kinds, wanted = " or ".join(map(str, types)), _in_words(shape, sizes)
        require(
            type(value) is np.ndarray and value.dtype in types and _agrees(value.shape, shape, sizes),
            f"{name} must be an array of {kinds}, shape ({wanted}), got {brief(value)}",
        )
        within = nan or not value.size or (low <= float(value.min()) and float(value.max()) <= high)  # false for NaN
        require(within, f"{name} must hold finite numbers{_bounds(low, high)}, got others")

    return Spec(check)


def labels(size: str) -> Spec:
    """Return the specification of a vector of names: strings, numbers, or objects such as tuples of both."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        fits = type(value) is np.ndarray and value.dtype.kind in "UOiufbmM" and _agrees(value.shape, (size,), sizes)
        fits = fits and value.dtype.itemsize <= 4 * MOST_LETTERS
        require(fits, f"{name} must be a vector of {_in_words((size,), sizes)} names, got {brief(value)}")
        for label in value.tolist() if value.dtype == object else ():
            PLAIN.check(f"each of {name}", label, sizes)

    return Spec(check)


def matrix(rows: str, columns: str) -> Spec:
    """Return the specification of a matrix of floating-point numbers, dense or CSR."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        if not scipy.sparse.issparse(value):
            return array(FLOATS, rows, columns).check(name, value, sizes)
        shape = rows, columns
        require(
            value.format == "csr" and value.dtype in FLOATS and _agrees(value.shape, shape, sizes),
            f"{name} must be a CSR matrix of floats, shape ({_in_words(shape, sizes)}), got {brief(value)}",
        )
        require_sound(value)
        return array(FLOATS, "entries").check(name, value.data, {})

    return Spec(check)


def list_of(spec: Spec, size: str = "") -> Spec:
    """Return the specification of a list or tuple whose items fit `spec`.

    size: name of the size that the length must equal, or "" if any length is allowed.
    """

    def check(name: str, value: Any, sizes: Sizes) -> None:
        fits = type(value) in (list, tuple) and (not size or _agrees((len(value),), (size,), sizes))
        wanted = f" of {_in_words((size,), sizes)}" if size else ""
        require(fits, f"{name} must be a list{wanted}, got {brief(value)}")
        for i, item in enumerate(value):
            spec.check(f"{name}[{i}]", item, sizes)

    return Spec(check)


def alone(spec: Spec) -> Spec:
    """Return the specification `spec` without its effect on sizes: its value sets no sizes for other values."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        spec.check(name, value, sizes.copy())

    return Spec(check)


def mapping(specs: Mapping[str, Spec], others: Spec | None = None) -> Spec:
    """Return the specification of a dictionary with these keys.

    others: specification of the values of all further keys, or None if there must not be any.
    """

    def check(name: str, value: Any, sizes: Sizes) -> None:
        require(type(value) is dict, f"{name} must be a dictionary, got {brief(value)}")
        for key in value:
            TEXT.check(f"each key of {name}", key, sizes)
        further = {} if others is None else dict.fromkeys(value, others)
        require_like(value, further | dict(specs), name, sizes)

    return Spec(check)


def part(kind: str, specs: Mapping[str, Spec], fits: Callable[[Any, Sizes], None] = lambda value, sizes: None) -> Spec:
    """Return the specification of an object of the class `kind` with these attributes.

    kind: name of the class without "jointsparse.", so that its module need not be imported. fits: function that raises
    ValueError if the attributes do not fit together.
    """

    def check(name: str, value: Any, sizes: Sizes) -> None:
        path = f"{type(value).__module__}.{type(value).__qualname__}"
        require(path == f"jointsparse.{kind}", f"{name} must be a {kind.rpartition('.')[2]}, got {brief(value)}")
        require_like(value._asdict() if hasattr(value, "_asdict") else vars(value), specs, name, sizes)
        fits(value, sizes)

    return Spec(check)


def plain_or(others: Callable[[str, Any], bool], *, nan: bool = True) -> Spec:
    """Return the specification of numbers, strings, arrays and random generators, and of collections of these.

    Parameters
    ----------
    others : function
        Function of a name and a value that returns True if the value is allowed although it has none of these types.
    nan : bool
        Whether arrays may hold NaN and infinity.
    """

    def check(name: str, value: Any, sizes: Sizes, depth: int = 0) -> None:
        require(depth <= MOST_NESTED, f"{name} must hold lists nested at most {MOST_NESTED} deep, got more")
        if scipy.sparse.issparse(value):
            require_sound(value)
            value = value.data
        inside: Collection[Any] = value if type(value) in (list, tuple, set) else ()
        if type(value) is np.ndarray:
            require(value.dtype.kind in "iufbUmMO", f"{name} must be of numbers or text, got {brief(value)}")
            finite = nan or value.dtype.kind != "f" or not value.size or np.isfinite([value.min(), value.max()]).all()
            require(finite, f"{name} must hold finite numbers, got others")
            inside = value.ravel().tolist() if value.dtype == object else ()
        elif type(value) is dict:
            inside = [*value, *value.values()]
        elif type(value) not in (list, tuple, set):
            fits = value is None or isinstance(value, bool | np.generic) or _is_number(value) or _is_text(value)
            fits = fits or _is_random(value) or others(name, value)
            require(fits, f"{name} must be a number, text or a list of them, got {brief(value)}")
        for item in inside:
            check(name, item, sizes, depth + 1)

    return Spec(check)


def _is_random(value: Any) -> bool:
    """Return True if the value is a random generator with a valid state, which cannot cause an out-of-bounds read."""
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=False)
        return state["bit_generator"] == "MT19937" and 0 <= state["state"]["pos"] <= len(state["state"]["key"])
    safe = np.random.PCG64, np.random.PCG64DXSM, np.random.SFC64
    return isinstance(value, np.random.Generator) and isinstance(value.bit_generator, safe)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.complexfloating)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    """Return True if the value is a string that is short enough and has no lone surrogates."""
    if not isinstance(value, str) or len(value) > MOST_LETTERS:
        return False
    return value.isascii() or value.encode(errors="ignore").decode() == value


def _bounds(low: float, high: float) -> str:
    ends = [f"at least {low:g}"] * (low > -LARGEST) + [f"at most {high:g}"] * (high < LARGEST)
    return f" of {' and '.join(ends)}" if ends else ""


def _agrees(shape: Sequence[int], names: Sequence[str | int], sizes: Sizes) -> bool:
    """Return True if a shape agrees with the known `sizes`, and add to them the sizes that were not known before."""
    if len(shape) != len(names):
        return False
    known = sizes.copy()
    for n, name in zip(shape, names, strict=True):
        wanted = name if isinstance(name, int) else known.setdefault(name, n)
        if n != wanted:
            return False
    sizes.update(known)
    return True


def _in_words(names: Sequence[str | int], sizes: Sizes) -> str:
    """Return a description of a shape for a message, with known sizes as numbers and unknown sizes by name."""
    return ", ".join(str(name if isinstance(name, int) else sizes.get(name, name)) for name in names)


PLAIN = plain_or(lambda name, value: False)
NOTHING = simple("None", lambda value: value is None)
FLAG = simple("True or False", lambda value: isinstance(value, bool | np.bool_ | int) and value in (0, 1))
TEXT = simple(f"text of at most {MOST_LETTERS:,} letters", _is_text)
