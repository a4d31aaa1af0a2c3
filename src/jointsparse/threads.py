"""A limit on the threads of BLAS."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import SimpleNamespace

from threadpoolctl import ThreadpoolController

# State shared by all calls of `one_thread`, because the number of BLAS threads is a setting of the whole process.
_HOLD = SimpleNamespace(lock=threading.Lock(), calls=0, limiter=None)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread, so that results have the same bits on any number of cores.

    `with` blocks in several threads may overlap: the first block to begin sets the limit, and the last block to end
    removes it.

    >>> import numpy as np
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
