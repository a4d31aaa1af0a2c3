"""Compile kernels with Numba, once for each content of the library and each user.

Numba's own cache lies beside the code and knows a kernel by its folder and its own file. So every copy of the library
compiles again, and an edit of one file goes unnoticed by kernels of others that call it. Here the folder's name is a
hash of all files with kernels. It lies in the user's cache folder, or in NUMBA_CACHE_DIR if that is set.

Numba's cache files are pickles: whoever writes one can run code. So a folder that is not the user's own, or is open to
others, is not used.
"""

import os
import pickle
import stat
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import caching
from numba.misc.appdirs import AppDirs

PACKAGE = Path(__file__).parent
MARK = b"jointsparse.compiled import njit"  # in every file with kernels


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`numba.njit` with the cache of this module; takes the same options but `cache`.

    A kernel may call kernels of other files of the library, and use their constants.
    """
    if function is None:
        return partial(njit, **options)
    kernel = numba.njit(**options)(function)
    if folder() is not None:
        kernel._cache = KernelCache(function)
    return kernel


@cache
def folder() -> Path | None:
    """Cache folder of this content of the library, None if there cannot be one or it is not safe to use."""
    root = Path(getattr(numba.config, "CACHE_DIR", "") or AppDirs("jointsparse", appauthor=False).user_cache_dir)
    digest = sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        content = file.read_bytes()
        if MARK in content:
            digest.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + content + b"\0")
    path = root / f"kernels-{digest.hexdigest()[:16]}"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError:
        return None
    if os.name == "posix" and (not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077):
        warnings.warn(
            f"the cache of compiled kernels must be a folder that only you can open, got {path} with mode "
            f"{stat.filemode(found.st_mode)} and owner {found.st_uid}: remove it. Until then every process compiles",
            stacklevel=2,
        )
        return None
    return path


class Locator(caching._CacheLocator):
    """Numba's questions about one kernel, answered by the folder above."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file  # Numba's messages name it
        self._name = f"{function.__module__}-{function.__code__.co_firstlineno}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "Locator":
        return cls(function, file)

    def get_cache_path(self) -> str:
        return str(folder())

    def get_source_stamp(self) -> str:
        return ""  # the folder's name stands for the source

    def get_disambiguator(self) -> str:
        return self._name


class _Impl(caching.CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [Locator]  # noqa: RUF012  as Numba declares it


class _Files(caching.IndexDataCacheFile):
    """Numba's files of one kernel, with a checksum behind each: machine code with a changed bit ends the process."""

    def _dump(self, obj: object) -> bytes:
        packed: bytes = super()._dump(obj)
        return packed + sha256(packed).digest()  # what stands behind a pickle is not read

    def _load_index(self) -> Any:
        if os.path.exists(self._index_path):
            _require_whole(self._index_path, len(pickle.dumps(self._version, protocol=-1)))
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _require_whole(self._data_path(name), 0)
        return super()._load_data(name)


def _require_whole(path: str, start: int) -> None:
    """Raise ValueError if a file from byte `start` on is not what its checksum says."""
    packed = Path(path).read_bytes()[start:]
    if sha256(packed[:-32]).digest() != packed[-32:]:
        raise ValueError(path)


class KernelCache(caching.FunctionCache):
    """Numba's cache of one kernel. A file that cannot be read or written costs a compilation and nothing else."""

    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for this signature, None if it has to be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a cut pickle may raise anything
            with suppress(OSError):
                self._cache_file.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel, unless the disk is full, or the folder gone or not to be written."""
        with suppress(Exception):
            super().save_overload(sig, data)
