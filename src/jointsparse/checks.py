"""Checks of input, whose errors say what was expected and what came."""

from collections.abc import Collection, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy  # scipy.sparse is loaded on first use
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[Any]  # float64 or float32, as passed by the caller
FLOATING = (np.dtype(np.float64), np.dtype(np.float32))


class Misfit(ValueError):
    """Error for arrays that do not belong together, because their datasets, runs or configurations differ."""


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


def require_extra(module: str, *packages: str) -> None:
    """Raise ImportError if one of these packages is missing, which the extra `pipeline` installs."""
    if missing := [package for package in packages if find_spec(package) is None]:
        raise ImportError(f"{module} needs {', '.join(missing)}: pip install 'jointsparse[pipeline]'")
