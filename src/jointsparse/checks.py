"""Functions for all packages: checks of input with error messages, warnings, paths, and a limit on BLAS threads."""

import hashlib
import os
import sys
import threading
import unicodedata
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy  # scipy.sparse is loaded on first use
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

Floats = NDArray[Any]  # float64 or float32, as passed by the caller
FLOATING = (np.dtype(np.float64), np.dtype(np.float32))
UNMARKED = (("torch", "Tensor"), ("cupy", "ndarray"))  # arrays without the standard's `__array_namespace__`
JOINERS = "\u200c\u200d"  # zero-width characters that decide whether neighbours join: Persian, Hindi, emoji
MOST_SPREAD = 2.0**500  # largest ratio of two weights: their squares must neither overflow nor underflow


class Misfit(ValueError):
    """Error for arrays that do not belong together, because their datasets, runs or configurations differ."""


def select(X: Any, chosen: NDArray[np.bool_], name: str = "features") -> Any:
    """Return the rows of X, dense or CSR, where `chosen`, (n_samples,) bool, is True. float16 becomes float32.

    Raises Misfit if X does not have one row per entry of `chosen`.

    >>> select(np.array([[1, 2], [3, 4]]), np.array([False, True])).tolist()
    [[3, 4]]
    """
    require(
        np.shape(X)[:1] == np.shape(chosen),
        f"{name} must have a row for each of {len(chosen)} samples, got shape {np.shape(X)}",
        Misfit,
    )
    return widened(X[chosen])


def widened(X: Any) -> Any:
    """Return X in float32 if its dtype is float16, in which nothing is computed; otherwise return X itself."""
    return X.astype(np.float32) if X.dtype == np.float16 else X


def dtypes_of(X: Any) -> tuple[np.dtype, ...]:
    """Return the dtypes that scikit-learn's checks of X may return: float64 and float32, but float32 alone for float16.

    Raises ValueError if a float16 array has infinite entries.
    """
    half = isinstance(X, np.ndarray) and X.dtype == np.float16
    finite = not half or not np.isinf([X.max(initial=0), X.min(initial=0)]).any()
    require(finite, "X must be finite, got infinite numbers in float16, whose largest is 65,504: pass X as float32")
    return FLOATING[1:] if half else FLOATING


def fingerprint(X: Any) -> str:
    """Return a hash of an array, dense or CSR, that depends on its shape, its dtype and every bit of its content.

    >>> fingerprint(np.zeros(3)) == fingerprint(np.zeros(3, np.float32))
    False
    """
    digest = hashlib.blake2b(f"{np.shape(X)} {X.dtype}".encode(), digest_size=16)
    for array in (X.indptr, X.indices, X.data) if scipy.sparse.issparse(X) else (X,):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def as_matrix(W: ArrayLike, name: str = "W") -> Floats:
    """Return `W` as a C-contiguous float matrix. float64 and float32 are kept, other real dtypes become float64.

    Entries may be NaN or infinite; `require_finite` checks for them.
    """
    array = real_array(W, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix (n_features, n_tasks), got shape {array.shape}")
    return array


def as_columns(W: ArrayLike, name: str = "W") -> Floats:
    """Return `W` like `as_matrix`, but also accept a vector, which stands for a single column and stays a vector."""
    array = real_array(W, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must be a vector or a matrix (n_features, n_tasks), got shape {array.shape}")
    return array


def real_array(W: ArrayLike, name: str) -> Floats:
    """Return `W` as a C-contiguous, writable array of float64 or float32. The result may be `W` itself."""
    if type(W) is np.ndarray and W.dtype in FLOATING and W.flags.carray:
        return W  # shortcut, because the checks below take longer than projecting a small matrix
    try:
        array = np.asarray(W)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of real numbers, got {type(W).__name__}") from None
    if array.dtype.kind not in "fiubO":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    require_unmasked(W, name)
    dtype = np.float32 if array.dtype.kind == "f" and array.dtype.itemsize == 4 else np.float64
    try:
        # "W", because Numba would compile every kernel a second time for read-only arrays.
        return np.require(array, dtype, ["C", "W"]).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}") from None


def is_of_another_library(x: Any) -> bool:
    """Return True if x is an array of another library than NumPy, such as JAX, PyTorch or CuPy."""
    if isinstance(x, np.ndarray | np.generic):
        return False
    kinds = [(sys.modules[module], kind) for module, kind in UNMARKED if module in sys.modules]
    return hasattr(x, "__array_namespace__") or any(isinstance(x, getattr(module, kind)) for module, kind in kinds)


def as_numpy(x: Any, name: str) -> Any:
    """Return an array of another library as a NumPy array, and anything else unchanged.

    Raises ValueError if the array cannot be converted, for example because it lies on another device.
    """
    if not is_of_another_library(x):
        return x
    try:
        return np.asarray(x)
    except (TypeError, ValueError, RuntimeError):
        library = type(x).__module__.partition(".")[0]
        raise ValueError(
            f"{name} must be an array that NumPy can read, got one of {library}: copy it to the CPU"
        ) from None


def require_unmasked(array: Any, name: str) -> None:
    """Raise ValueError for a masked array with masked entries, because NumPy would read the values under the mask."""
    hides = isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array)  # pandas arrays have a `_mask` as well
    require(not hides, f"{name} must hold a number everywhere, got a masked array: fill it")


def require_finite(W: Floats, name: str = "W") -> None:
    """Raise ValueError if an entry of `W` is NaN or infinite. The message names the first such entry."""
    for bad in np.argwhere(~np.isfinite(W)):
        place = tuple(bad.tolist())
        raise ValueError(f"{name} must be finite, got {float(W[place])} at {place}")


def as_radius(radius: Any, name: str = "radius") -> float:
    """Return `radius` as a float. Raise ValueError if it is negative or NaN; infinity is allowed."""
    value = as_number(radius, name)
    if not value >= 0:
        raise ValueError(f"{name} must be at least 0, got {value}")
    return value


def as_finite(value: Any, name: str) -> float:
    """Return `value` as a float. Raise ValueError unless it is non-negative and finite."""
    number = as_radius(value, name)
    require(number < np.inf, f"{name} must be finite, got {number}")
    return number


def as_positive(value: Any, name: str) -> float:
    """Return `value` as a float. Raise ValueError unless it is positive and finite."""
    number = as_number(value, name)
    require(0 < number < np.inf, f"{name} must be above 0 and finite, got {number}")
    return number


def as_number(value: Any, name: str) -> float:
    """Return `value` as a float, which may be NaN. Raise ValueError if it is no number."""
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None


def require(holds: object, message: str, error: type[Exception] = ValueError) -> None:
    """Raise an error of the given type with this message unless `holds` is true.

    >>> require(2 < 3, "2 must be below 3")
    """
    if not holds:
        raise error(message)


def require_array(
    array: Any,
    name: str,
    shape: Sequence[int | None],
    *,
    dtypes: Collection[Any] = FLOATING,
    least: float = -np.inf,
    most: float = np.inf,
) -> None:
    """Raise ValueError unless an array has this dtype and shape, and holds finite numbers in a range.

    Parameters
    ----------
    array : Any
        Array to check.
    name : str
        Name of the array in the message.
    shape : sequence of int or None
        Expected length of each axis; None for any length above 0.
    dtypes : collection of dtype
        Allowed dtypes.
    least, most : float
        Smallest and largest allowed number.
    """
    array = np.asarray(array)
    fits = len(array.shape) == len(shape) and array.dtype in dtypes
    fits = fits and all(n == m or (m is None and n) for n, m in zip(array.shape, shape, strict=True))
    wanted = ", ".join("any" if n is None else f"{n:,}" for n in shape)
    kinds = " or ".join(np.dtype(dtype).name for dtype in dtypes)
    require(fits, f"{name} must be {kinds} of shape ({wanted}), got {array.dtype} of shape {array.shape}")
    ends = [float(array.min()), float(array.max())] if array.size else []
    within = np.isfinite(ends).all() and all(least <= end <= most for end in ends)
    bounds = f" from {least:g} to {most:g}" if least > -np.inf or most < np.inf else ""
    require(within, f"{name} must hold finite numbers{bounds}, got others")


def require_count(value: Any, name: str, most: int | None = None, *, least: int = 1) -> None:
    """Raise ValueError unless `value` is a whole number from `least` to `most`.

    Parameters
    ----------
    value : Any
        Number to check. True and 2.0 do not count as whole numbers.
    name : str
        Name of the number in the message.
    most : int or None
        Largest allowed value; None for no upper limit.
    least : int
        Smallest allowed value.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    expected = f"of at least {least}" if most is None else f"from {least} to {most}"
    fit = whole and least <= value <= (np.inf if most is None else most)
    require(fit, f"{name} must be a whole number {expected}, got {value!r}")


def require_grid(patch_sizes: Any, step: Any = 1) -> None:
    """Raise ValueError unless patch sizes are at least 4 pixels and the step of the grid is at least 1 pixel."""
    require(len(patch_sizes), "patch_sizes must hold at least one size, got none")
    for size in patch_sizes:
        require_count(size, "each of patch_sizes", least=4)
    require_count(step, "step")


def require_picture(picture: ArrayLike, smallest: int) -> None:
    """Raise ValueError unless a picture holds grey levels in [0, 1] and both sides have at least `smallest` pixels."""
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
    """Return `radius`, a single number or one number per task, as an array (n_tasks,) of non-negative floats."""
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
    starts: NDArray[np.int64]  # the index in `order` at which each group begins

    def reduce(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Reduce values per feature to values per group, by `np.add` or `np.maximum`."""
        return ufunc.reduceat(values[self.order], self.starts)

    def stacked(self, W: Floats) -> Floats | None:
        """Return a matrix whose row g holds all entries of group g, or None if W is empty or groups differ in size."""
        sizes = np.diff(self.starts, append=len(self.order))
        return W[self.order].reshape(len(sizes), -1) if W.size and (sizes == sizes[0]).all() else None


def as_groups(groups: Any, n_features: int) -> Groups | None:
    """Return `Groups` made from the group number of each feature, or None if `groups` is None.

    Raises ValueError unless the numbers are 0, 1, 2, … without gaps.
    """
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
        raise ValueError(f"groups must be numbered 0, 1, 2, … without gaps, got {numbers[g]} instead of {g}")
    return Groups(array.astype(np.int64), order, starts)


def as_weights(weights: ArrayLike, rows: int | Groups) -> NDArray[np.float64]:
    """Return `weights` as float64. Raise ValueError unless there is one positive number per feature or group."""
    array = real_array(weights, "weights").astype(np.float64)
    row, n = ("group", len(rows.starts)) if isinstance(rows, Groups) else ("feature", rows)
    require(array.shape == (n,), f"weights must be one per {row}, shape ({n},), got shape {array.shape}")
    for i in np.flatnonzero(~((array > 0) & (array < np.inf))).tolist():
        raise ValueError(f"weights must be positive and finite, got {array[i]} at ({i},)")
    least, most = array.min(initial=np.inf), array.max(initial=0.0)
    require(least >= most / MOST_SPREAD, f"weights must differ by a factor of at most 2^500, got {least} and {most}")
    return array


def as_rows(
    W: Floats, weights: ArrayLike | None, groups: Any, positive: bool = False
) -> tuple[Floats, NDArray[np.float64] | None, Groups | None]:
    """Check the arguments that are common to the functions of all norms with PER_TASK = False.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Matrix, as returned by `as_matrix`.
    weights : array (n_features,) or (n_groups,), or None
        Positive weight of each feature or group.
    groups : array (n_features,) of integers, or None
        Group number of each feature.
    positive : bool
        Whether to return max(W, 0) instead of W.

    Returns
    -------
    W : array (n_features, n_tasks)
        W or, if positive, its positive part.
    weights : array of float64, or None
        Weights, as returned by `as_weights`.
    groups : Groups or None
        Groups, as returned by `as_groups`.
    """
    members = as_groups(groups, len(W))
    s = None if weights is None else as_weights(weights, members or len(W))
    if members is not None:
        require_finite(W)  # before the rows are reordered, so that the message names the right place
    return positive_part(W) if positive else W, s, members


def positive_part(W: Floats, name: str = "W") -> Floats:
    """Return max(W, 0) as a new array. Raise ValueError if W has NaN or infinite entries."""
    require_finite(W, name)
    return np.where(W > 0, W, W.dtype.type(0))


def as_output(out: Any, W: Floats) -> Floats:
    """Return an array that a kernel may write while it reads `W`: `out` if that is safe, otherwise a new array.

    `deliver` then copies the result from the new array into `out`.
    """
    if out is None:
        return np.empty_like(W)
    if not isinstance(out, np.ndarray) or out.shape != W.shape or out.dtype != W.dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out must be an array {W.dtype} {W.shape}, got {got}")
    require(out.flags.writeable, "out must be writable, got a read-only array")
    apart = out.flags.owndata and W.flags.owndata  # quick test: two different arrays that own their data are disjoint
    safe = out is W or apart or not np.may_share_memory(out, W) or out.ctypes.data == W.ctypes.data
    return out if out.flags.c_contiguous and safe else np.empty_like(W)


def deliver(B: Floats, out: Any) -> Floats:
    """Return the result `B`, or copy it into `out` and return `out` if `out` is given and is another array."""
    if out is None or B is out:
        return B
    out[...] = B
    return out


def as_places(indices: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return `indices`, a vector of integers in 0..n-1, as a contiguous int64 array."""
    where = np.asarray(indices)
    fit = where.ndim == 1 and (where.dtype.kind in "iu" or not where.size)
    require(fit, f"indices must be a vector of integers, got shape {where.shape}, dtype {where.dtype}")
    for outside in where[(where < 0) | (where >= n)]:
        raise ValueError(f"indices must be in 0..{n - 1}, got {outside}")
    return np.ascontiguousarray(where, np.int64)


def shortened(value: object) -> str:
    """Return the repr of a value for a message, cut after 200 characters."""
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]} …"


def printable(text: str) -> str:
    r"""Return the text in a form that is safe to print on one line of a terminal.

    Characters that move the cursor or change the direction of writing are escaped. Letters of all scripts are kept, and
    so are spaces of any width and the joiners that some scripts need.

    >>> print(printable("caf\u00e9 \u202ecod\x1b[2J"))
    café \u202ecod\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(sign if _is_shown(sign) else sign.encode("unicode_escape").decode() for sign in text)


def _is_shown(sign: str) -> bool:
    return sign.isprintable() or sign in JOINERS or unicodedata.category(sign) == "Zs"


def relative_path(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> str:
    """Return the path of a file relative to a folder, with slashes, or its absolute path if its drive is another one.

    >>> relative_path("data/tea.jpg", "out/page")
    '../../data/tea.jpg'
    """
    try:
        path = os.path.relpath(path, folder)
    except ValueError:  # on Windows, no relative path leads from one drive to another
        path = os.path.abspath(path)
    return path.replace(os.sep, "/")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and attribute the warning to the innermost line of code outside jointsparse and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in ("jointsparse", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def require_sound(X: Any) -> None:
    """Raise ValueError if a sparse X has indices outside its shape, because kernels would read outside its memory."""
    if scipy.sparse.issparse(X):
        try:
            if X.format == "coo":
                scipy.sparse.coo_array((X.data, X.coords), shape=X.shape)  # the constructor checks the indices
            elif X.format in ("csr", "csc", "bsr"):
                X.check_format(full_check=True)
        except ValueError as fault:
            raise ValueError(f"X must be a valid {X.format.upper()} matrix, got an invalid one: {fault}") from None


def version() -> str:
    """Return the version of jointsparse that is in use."""
    return sys.modules["jointsparse"].__version__


class Versioned:
    """Mixin for estimators whose pickles record the version of jointsparse. Loading them with another version warns."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return state | {"_jointsparse_version": version()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        wrote = state.pop("_jointsparse_version")
        if wrote != version():
            warn_user(
                f"{type(self).__name__} was written by jointsparse {wrote} and is read by {version()}: "
                "predictions may differ"
            )
        super().__setstate__(state)  # type: ignore[misc]


def require_extra(module: str, *packages: str) -> None:
    """Raise ImportError if one of these packages is missing, which the extra `pipeline` installs."""
    if missing := [package for package in packages if find_spec(package) is None]:
        raise ImportError(f"{module} needs {', '.join(missing)}: pip install 'jointsparse[pipeline]'")


# State shared by all calls of `one_thread`, because the number of BLAS threads is a setting of the whole process.
_HOLD = SimpleNamespace(lock=threading.Lock(), calls=0, limiter=None)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread, so that results have the same bits on any number of cores.

    `with` blocks in several threads may overlap: the first block to begin sets the limit, and the last block to end
    removes it.

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
    """Return a controller for the loaded libraries that use threads. Finding them takes 20 ms."""
    import_module("scipy.linalg")  # SciPy brings a BLAS of its own, which can be limited only once it is loaded
    return ThreadpoolController()
