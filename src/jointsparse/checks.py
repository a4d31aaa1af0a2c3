"""Checks of input with their error messages, and the hold on threads, for all rooms."""

import hashlib
import sys
import threading
import unicodedata
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy  # which loads scipy.sparse when it is used
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

Floats = NDArray[Any]  # float64 or float32, as it came
FLOATING = (np.dtype(np.float64), np.dtype(np.float32))
JOINERS = "\u200c\u200d"  # which say whether letters join: in Persian and Hindi, and in emoji
MOST_SPREAD = 2.0**500  # of weights: their squares must neither overflow nor vanish beside each other


class Misfit(ValueError):
    """Arrays that do not belong together: one of them is from another dataset, run or configuration."""


def select(X: Any, chosen: NDArray[np.bool_], name: str = "features") -> Any:
    """Choose rows of X, dense or CSR. chosen: (n_samples,) bool. Raises Misfit if X has another number of rows.

    >>> select(np.array([[1, 2], [3, 4]]), np.array([False, True])).tolist()
    [[3, 4]]
    """
    require(
        np.shape(X)[:1] == np.shape(chosen),
        f"{name} must have a row for each of {len(chosen)} samples, got shape {np.shape(X)}",
        Misfit,
    )
    return X[chosen]


def fingerprint(X: Any) -> str:
    """Text that no other array, dense or CSR, has. It depends on the shape, the type and every bit.

    >>> fingerprint(np.zeros(3)) == fingerprint(np.zeros(3, np.float32))
    False
    """
    digest = hashlib.blake2b(f"{np.shape(X)} {X.dtype}".encode(), digest_size=16)
    for array in (X.indptr, X.indices, X.data) if scipy.sparse.issparse(X) else (X,):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def as_matrix(W: ArrayLike, name: str = "W") -> Floats:
    """`W` as a C-contiguous float matrix. float64 and float32 are kept, other real numbers become float64.

    Entries may be NaN or infinite: see `require_finite`.
    """
    array = real_array(W, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix (n_features, n_tasks), got shape {array.shape}")
    return array


def as_columns(W: ArrayLike, name: str = "W") -> Floats:
    """`W` as `as_matrix` returns it, but a vector is accepted as a single column and stays a vector."""
    array = real_array(W, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must be a vector or a matrix (n_features, n_tasks), got shape {array.shape}")
    return array


def real_array(W: ArrayLike, name: str) -> Floats:
    """`W` as a C-contiguous, writable array of float64 or float32. It may be `W` itself."""
    if type(W) is np.ndarray and W.dtype in FLOATING and W.flags.carray:
        return W  # the other checks take longer than projecting a small matrix
    try:
        array = np.asarray(W)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of real numbers, got {type(W).__name__}") from None
    if array.dtype.kind not in "fiubO":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    require_unmasked(W, name)
    dtype = np.float32 if array.dtype.kind == "f" and array.dtype.itemsize == 4 else np.float64
    try:
        # Writable too: Numba would compile every kernel once more for read-only arrays.
        return np.require(array, dtype, ["C", "W"]).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}") from None


def require_unmasked(array: Any, name: str) -> None:
    """Raise ValueError for a masked array that hides entries: NumPy reads what is behind the mask."""
    hides = isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array)  # pandas' own arrays have a `_mask`, too
    require(not hides, f"{name} must hold a number everywhere, got a masked array: fill it")


def require_finite(W: Floats, name: str = "W") -> None:
    """Raise ValueError if an entry of `W` is NaN or infinite, and name the first one."""
    for bad in np.argwhere(~np.isfinite(W)):
        place = tuple(bad.tolist())
        raise ValueError(f"{name} must be finite, got {float(W[place])} at {place}")


def as_radius(radius: Any, name: str = "radius") -> float:
    """`radius` as a float, at least 0; infinity is allowed."""
    value = _number(radius, name)
    if not value >= 0:
        raise ValueError(f"{name} must be at least 0, got {value}")
    return value


def as_finite(value: Any, name: str) -> float:
    """`value` as a float, at least 0 and finite."""
    number = as_radius(value, name)
    require(number < np.inf, f"{name} must be finite, got {number}")
    return number


def as_positive(value: Any, name: str) -> float:
    """`value` as a float, above 0 and finite."""
    number = _number(value, name)
    require(0 < number < np.inf, f"{name} must be above 0 and finite, got {number}")
    return number


def _number(value: Any, name: str) -> float:
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None


def require(holds: object, message: str, error: type[Exception] = ValueError) -> None:
    """Raise ValueError, or the error of the given type, with this message unless something holds.

    >>> require(2 < 3, "2 must be below 3")
    """
    if not holds:
        raise error(message)


def require_count(value: Any, name: str, most: int | None = None, *, least: int = 1) -> None:
    """Raise ValueError unless `value` is a whole number of at least `least`, and at most `most` if given.

    Parameters
    ----------
    value : Any
        Number to check. True and 2.0 are no whole numbers.
    name : str
        Name of the number, for the message.
    most : int or None
        Largest allowed value.
    least : int
        Smallest allowed value.

    Raises
    ------
    ValueError
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    expected = f"of at least {least}" if most is None else f"from {least} to {most}"
    fit = whole and least <= value <= (np.inf if most is None else most)
    require(fit, f"{name} must be a whole number {expected}, got {value!r}")


def require_grid(patch_sizes: Any, step: Any = 1) -> None:
    """Raise ValueError unless patches of these sizes, at least 4 pixels, can lie on a grid of this step."""
    require(len(patch_sizes), "patch_sizes must hold at least one size, got none")
    for size in patch_sizes:
        require_count(size, "each of patch_sizes", least=4)
    require_count(step, "step")


def require_picture(picture: ArrayLike, smallest: int) -> None:
    """Raise ValueError unless a picture holds grey levels, (height, width) in [0, 1], and each side is long enough."""
    grey = np.asarray(picture)
    require(grey.ndim == 2, f"picture must be grey, (height, width), got shape {grey.shape}")
    height, width = grey.shape
    require(
        min(height, width) >= smallest,
        f"picture must be at least {smallest} pixels on its shorter side, got {width} x {height} (width x height)",
    )
    require(grey.dtype.kind in "biuf", f"picture must hold real numbers, got dtype {grey.dtype}")
    low, high = float(grey.min()), float(grey.max())
    require(low >= 0 and high <= 1, f"picture must hold grey levels in [0, 1], got values from {low:g} to {high:g}")


def as_radii(radius: ArrayLike, n_tasks: int, name: str = "radius") -> NDArray[np.float64]:
    """`radius`, one number or one per task, as an array (n_tasks,) of floats that are at least 0."""
    if np.ndim(radius) == 0:
        return np.full(n_tasks, as_radius(radius, name))
    radii = real_array(radius, name).astype(np.float64)
    expected = f"{name} must be one number or one per task, shape ({n_tasks},)"
    require(radii.shape == (n_tasks,), f"{expected}, got shape {radii.shape}")
    for negative in radii[~(radii >= 0)]:
        raise ValueError(f"{name} must be at least 0, got {negative}")
    return radii


class Groups(NamedTuple):
    """Disjoint groups of features."""

    of_feature: NDArray[np.int64]  # the group of each feature
    order: NDArray[np.int64]  # the features, sorted by group
    starts: NDArray[np.int64]  # where each group begins in that order

    def reduce(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Reduce one value per feature to one per group, by `np.add` or `np.maximum`."""
        return ufunc.reduceat(values[self.order], self.starts)

    def stacked(self, W: Floats) -> Floats | None:
        """A matrix whose row g holds all entries of group g, if all groups are of one size."""
        sizes = np.diff(self.starts, append=len(self.order))
        return W[self.order].reshape(len(sizes), -1) if W.size and (sizes == sizes[0]).all() else None


def as_groups(groups: Any, n_features: int) -> Groups | None:
    """`groups`, the group number of each feature. Every number from 0 to the largest has a feature. None stays None."""
    if groups is None:
        return None
    expected = f"groups must be one whole number per feature, shape ({n_features},)"
    try:
        array = np.asarray(groups)
    except ValueError:
        raise ValueError(f"{expected}, got {type(groups).__name__}") from None
    fit = array.shape == (n_features,) and (array.dtype.kind in "iu" or not array.size)
    require(fit, f"{expected}, got shape {array.shape}, dtype {array.dtype}")
    order = np.argsort(array, kind="stable")
    numbers, starts = np.unique(array[order], return_index=True)
    for g in np.flatnonzero(numbers != np.arange(len(numbers)))[:1]:
        raise ValueError(f"groups must be numbered 0, 1, 2, … without gaps, got {numbers[g]} in the place of {g}")
    return Groups(array.astype(np.int64), order, starts)


def as_weights(weights: ArrayLike, rows: int | Groups) -> NDArray[np.float64]:
    """`weights`, one positive number per feature or group, as float64."""
    array = real_array(weights, "weights").astype(np.float64)
    each, n = ("group", len(rows.starts)) if isinstance(rows, Groups) else ("feature", rows)
    require(array.shape == (n,), f"weights must be one per {each}, shape ({n},), got shape {array.shape}")
    for i in np.flatnonzero(~((array > 0) & (array < np.inf))).tolist():
        raise ValueError(f"weights must be positive and finite, got {array[i]} at ({i},)")
    least, most = array.min(initial=np.inf), array.max(initial=0.0)
    require(least >= most / MOST_SPREAD, f"weights must differ by a factor of at most 2^500, got {least} and {most}")
    return array


def as_rows(
    W: Floats, weights: ArrayLike | None, groups: Any, positive: bool = False
) -> tuple[Floats, NDArray[np.float64] | None, Groups | None]:
    """Check what verbs of a norm of all tasks take together.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        As `as_matrix` returns it.
    weights : array (n_features,) or (n_groups,), or None
        As in `as_weights`.
    groups : array (n_features,) of integers, or None
        As in `as_groups`.
    positive : bool
        True for max(W, 0) in the place of W.

    Returns
    -------
    tuple
        W, and weights and groups as those two return them.
    """
    members = as_groups(groups, len(W))
    s = None if weights is None else as_weights(weights, members or len(W))
    if members is not None:
        require_finite(W)  # before rows are moved, so that the message names the right place
    return positive_part(W) if positive else W, s, members


def positive_part(W: Floats, name: str = "W") -> Floats:
    """max(W, 0), a new array. NaN or infinity: ValueError."""
    require_finite(W, name)
    return np.where(W > 0, W, W.dtype.type(0))


def as_output(out: Any, W: Floats) -> Floats:
    """Array that a kernel may write while it reads `W`: `out` if that is safe, else a new one (see `deliver`)."""
    if out is None:
        return np.empty_like(W)
    if not isinstance(out, np.ndarray) or out.shape != W.shape or out.dtype != W.dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out must be an array {W.dtype} {W.shape}, got {got}")
    require(out.flags.writeable, "out must be writable, got a read-only array")
    apart = out.flags.owndata and W.flags.owndata  # a quick test, unless one is the other
    safe = out is W or apart or not np.may_share_memory(out, W) or out.ctypes.data == W.ctypes.data
    return out if out.flags.c_contiguous and safe else np.empty_like(W)


def deliver(B: Floats, out: Any) -> Floats:
    """Return the result `B`, copied into `out` if `out` is given and another array."""
    if out is None or B is out:
        return B
    out[...] = B
    return out


def as_places(indices: ArrayLike, n: int) -> NDArray[np.int64]:
    """`indices`, a vector of integers in 0..n-1, as int64."""
    where = np.asarray(indices)
    fit = where.ndim == 1 and (where.dtype.kind in "iu" or not where.size)
    require(fit, f"indices must be a vector of integers, got shape {where.shape}, dtype {where.dtype}")
    for outside in where[(where < 0) | (where >= n)]:
        raise ValueError(f"indices must be in 0..{n - 1}, got {outside}")
    return np.ascontiguousarray(where, np.int64)


def shortened(value: object) -> str:
    """Text of a value for a message, in one line of at most 200 characters."""
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]} …"


def printable(text: str) -> str:
    r"""Text as a terminal may show it, in one line: what moves the cursor or the order of letters is escaped.

    Letters of all scripts stay, with spaces of any width and the joiners that some scripts need.

    >>> print(printable("caf\u00e9 \u202ecod\x1b[2J"))
    café \u202ecod\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(sign if _is_shown(sign) else sign.encode("unicode_escape").decode() for sign in text)


def _is_shown(sign: str) -> bool:
    return sign.isprintable() or sign in JOINERS or unicodedata.category(sign) == "Zs"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line of the user that led here: the first outside of this library and of scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in ("jointsparse", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def require_sound(X: Any) -> None:
    """Raise ValueError if a sparse X names places that it does not have: kernels would read memory that is not its."""
    if scipy.sparse.issparse(X):
        try:
            if X.format == "coo":
                scipy.sparse.coo_array((X.data, X.coords), shape=X.shape)  # which checks
            elif X.format in ("csr", "csc", "bsr"):
                X.check_format(full_check=True)
        except ValueError as fault:
            raise ValueError(f"X must be a sound {X.format.upper()} matrix, got one with a fault: {fault}") from None


def version() -> str:
    """The version of jointsparse that runs."""
    return sys.modules["jointsparse"].__version__


class Versioned:
    """A part of an estimator: what is pickled says which version of jointsparse wrote it, and another one warns.

    It also declares what a model file may hold of it, besides its parameters: by attribute in `_HOLDS` (see `schema`),
    to which each class adds its own.
    """

    _HOLDS: ClassVar[Mapping[str, Any]] = {}

    def _require_consistent(self, sizes: dict[str, int]) -> None:
        """Raise ValueError unless the attributes, which have these sizes, fit each other. Adds sizes that follow."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return state | {"_jointsparse_version": version()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        wrote = state.pop("_jointsparse_version", "an unknown version")
        if wrote != version():
            warn_user(
                f"{type(self).__name__} was written by jointsparse {wrote}, and {version()} reads it: "
                "predictions may differ"
            )
        super().__setstate__(state)  # type: ignore[misc]


def require_extra(module: str, *packages: str) -> None:
    """Raise ImportError if packages of the extra "pipeline" are missing."""
    if missing := [package for package in packages if find_spec(package) is None]:
        raise ImportError(f"{module} needs {', '.join(missing)}: pip install 'jointsparse[pipeline]'")


# The hold on BLAS that calls share: its number of threads is the whole process's.
_HOLD = SimpleNamespace(lock=threading.Lock(), calls=0, limiter=None)


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS at one thread: results then have the same bits on any number of cores.

    Calls may overlap in threads. The first one takes hold, and the last one lets go.

    >>> with one_thread():
    ...     np.ones((2, 3)) @ np.ones(3)
    array([3., 3.])
    """
    with _HOLD.lock:
        if not _HOLD.calls:
            _HOLD.limiter = _libraries().limit(limits=1, user_api="blas")
        _HOLD.calls += 1
    try:
        yield
    finally:
        with _HOLD.lock:
            _HOLD.calls -= 1
            if not _HOLD.calls:
                _HOLD.limiter.restore_original_limits()


@cache
def _libraries() -> ThreadpoolController:
    """Loaded libraries that have threads. To find them takes 20 ms."""
    import_module("scipy.linalg")  # only loaded libraries can be held, and SciPy brings a BLAS of its own
    return ThreadpoolController()
