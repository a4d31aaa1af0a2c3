"""Arrays of NumPy, SciPy and other libraries: rows, dtypes and fingerprints."""

import hashlib
import sys
from typing import Any

import numpy as np
import scipy  # scipy.sparse is loaded on first use
from numpy.typing import NDArray

from jointsparse.checks import FLOATING, Misfit, require

UNMARKED = (("torch", "Tensor"), ("cupy", "ndarray"))  # arrays without the standard's `__array_namespace__`


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
