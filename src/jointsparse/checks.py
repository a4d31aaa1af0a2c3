"""What every public function asks of its input, and what it says when the input is wrong."""

import hashlib
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Floats = NDArray[Any]  # float64 or float32, as it came
FLOATING = (np.dtype(np.float64), np.dtype(np.float32))


class Misfit(ValueError):
    """Arrays that do not belong together: one of them is from another dataset, run or configuration."""


def select(X: Any, chosen: NDArray[np.bool_], name: str = "features") -> Any:
    """The chosen rows of X, dense or CSR. chosen: (n_samples,) bool. Raises Misfit where X has another number of them.

    >>> select(np.array([[1, 2], [3, 4]]), np.array([False, True])).tolist()
    [[3, 4]]
    """
    if np.shape(X)[:1] != np.shape(chosen):
        raise Misfit(f"{name} must have a row for each of {len(chosen)} samples, got shape {np.shape(X)}")
    return X[chosen]


def fingerprint(X: Any) -> str:
    """A text that no other array, dense or CSR, has: of its shape, its type and every bit of it.

    >>> fingerprint(np.zeros(3)) == fingerprint(np.zeros(3, np.float32))
    False
    """
    digest = hashlib.blake2b(f"{np.shape(X)} {X.dtype}".encode(), digest_size=16)
    for array in (X.indptr, X.indices, X.data) if sparse.issparse(X) else (X,):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def as_matrix(W: ArrayLike, name: str = "W") -> Floats:
    """`W` as a C-contiguous float matrix; float64 and float32 are kept, other real numbers become float64.

    Whether the entries are finite is not looked at here: see `require_finite`.
    """
    array = real_array(W, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix (n_features, n_tasks), got shape {array.shape}")
    return array


def as_columns(W: ArrayLike, name: str = "W") -> Floats:
    """`W` as `as_matrix` gives it; a vector may stand for a single column and stays a vector."""
    array = real_array(W, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must be a vector or a matrix (n_features, n_tasks), got shape {array.shape}")
    return array


def real_array(W: ArrayLike, name: str) -> Floats:
    """`W` as a C-contiguous, writable array of float64 or float32; may be `W` itself."""
    if type(W) is np.ndarray and W.dtype in FLOATING and W.flags.carray:
        return W  # what follows costs more than projecting a small matrix
    try:
        array = np.asarray(W)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of real numbers, got {type(W).__name__}") from None
    if array.dtype.kind not in "fiubO":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    dtype = np.float32 if array.dtype.kind == "f" and array.dtype.itemsize == 4 else np.float64
    try:
        # Writable too: Numba would compile every kernel once more for read-only arrays.
        return np.require(array, dtype, ["C", "W"]).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}") from None


def require_finite(W: Floats, name: str = "W") -> None:
    """Raise ValueError, naming the first entry of `W` that is NaN or infinite, if there is one."""
    bad = np.argwhere(~np.isfinite(W))
    if len(bad):
        place = tuple(int(index) for index in bad[0])
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
    if number == np.inf:
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def as_positive(value: Any, name: str) -> float:
    """`value` as a float, above 0 and finite."""
    number = _number(value, name)
    if not 0 < number < np.inf:
        raise ValueError(f"{name} must be above 0 and finite, got {number}")
    return number


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None


def require_count(value: Any, name: str, most: int | None = None) -> None:
    """Raise ValueError unless `value` is a whole number of at least 1, and at most `most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1 or (most is not None and value > most):
        expected = "of at least 1" if most is None else f"from 1 to {most}"
        raise ValueError(f"{name} must be a whole number {expected}, got {value!r}")


def as_radii(radius: ArrayLike, n_tasks: int, name: str = "radius") -> NDArray[np.float64]:
    """`radius`, one number or one per task, as an array (n_tasks,) of floats that are at least 0."""
    if np.ndim(radius) == 0:
        return np.full(n_tasks, as_radius(radius, name))
    radii = real_array(radius, name).astype(np.float64)
    if radii.shape != (n_tasks,):
        raise ValueError(f"{name} must be one number or one per task, shape ({n_tasks},), got shape {radii.shape}")
    for value in radii[~(radii >= 0)][:1]:
        raise ValueError(f"{name} must be at least 0, got {value}")
    return radii


def as_output(out: Any, W: Floats) -> Floats:
    """Where a kernel that reads `W` may write: `out` itself if that is safe, else a new array (see `deliver`)."""
    if out is None:
        return np.empty_like(W)
    if not isinstance(out, np.ndarray) or out.shape != W.shape or out.dtype != W.dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out must be an array {W.dtype} {W.shape}, got {got}")
    if not out.flags.writeable:
        raise ValueError("out must be writable, got a read-only array")
    if out.flags.c_contiguous and (out is W or not np.may_share_memory(out, W) or out.ctypes.data == W.ctypes.data):
        return out
    return np.empty_like(W)


def deliver(B: Floats, out: Any) -> Floats:
    """The result `B`, copied into `out` unless it is there already or nobody asked."""
    if out is None or B is out:
        return B
    out[...] = B
    result: Floats = out
    return result


def as_margins(F: ArrayLike, Y: ArrayLike) -> tuple[Floats, NDArray[Any]]:
    """Margins F (n_samples, n_tasks), floating, and labels Y of the same shape or (n_samples, 1), as arrays.

    A light check for hot loops: shapes and F's dtype, not the entries.
    """
    F, Y = np.asarray(F), np.asarray(Y)
    if F.dtype != np.float64 and F.dtype != np.float32:
        raise ValueError(f"F must be float64 or float32, got {F.dtype}")
    if Y.dtype.kind not in "fi":
        raise ValueError(f"Y must hold -1, 0 and +1, got dtype {Y.dtype}")
    if F.ndim != 2 or Y.ndim != 2 or len(Y) != len(F) or Y.shape[1] not in (1, F.shape[1]):
        raise ValueError(f"Y must have the shape of F (n_samples, n_tasks) or (n_samples, 1), got {Y.shape}, {F.shape}")
    return F, Y


def as_places(indices: ArrayLike, n: int) -> NDArray[np.int64]:
    """A vector of integers in 0..n-1, as int64."""
    where = np.asarray(indices)
    if where.ndim != 1 or (where.dtype.kind not in "iu" and where.size):
        raise ValueError(f"indices must be a vector of integers, got shape {where.shape}, dtype {where.dtype}")
    for outside in where[(where < 0) | (where >= n)][:1]:
        raise ValueError(f"indices must be in 0..{n - 1}, got {outside}")
    return np.ascontiguousarray(where, np.int64)


def shortened(value: object) -> str:
    """A value for a message, which is one line of moderate length whatever the data hold."""
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]} …"


def require_extra(module: str, *packages: str) -> None:
    """Raise ImportError with one sentence where packages are missing that the extra "pipeline" brings."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ImportError(f"{module} needs {', '.join(missing)}: pip install 'jointsparse[pipeline]'")
