"""Compile kernels with Numba, once for each content of the library and each user.

Numba's own cache lies beside the code and knows a kernel by its folder and its own file. So every copy of the library
compiles again, and an edit of one file goes unnoticed by kernels of others that call it. Here the folder's name is a
hash of all files with kernels. It lies in the user's cache folder, or in NUMBA_CACHE_DIR if that is set.

Cached kernels are pickles: whoever writes one can run code. So a folder that is not the user's own, or is open to
others, is not used. Machine code with a changed bit ends the process, so a checksum stands before each kernel.
"""

import os
import pickle
import stat
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from inspect import getclosurevars
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

PACKAGE = Path(__file__).parent
MARK = b"jointsparse.compiled import njit"  # in every file with kernels
DIGEST_BYTES = 32


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
    digest = sha256(f"{numba.__version__} {sys.version}".encode())
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


class KernelCache(NullCache):
    """Numba's cache of one kernel: a file for each signature and processor, which holds a checksum and the kernel.

    A file that is damaged, or cannot be read or written, costs a compilation and nothing else.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        within = "".join(f"-{f.__module__}.{f.__name__}" for f in getclosurevars(function).nonlocals.values())
        self._name = f"{function.__module__}.{function.__name__}-{function.__code__.co_firstlineno}{within}"

    def _file(self, signature: Any, codegen: Any) -> Path:
        kind = sha256(repr((signature, codegen.magic_tuple())).encode()).hexdigest()
        return Path(str(folder())) / f"{self._name}-{kind[:16]}.kernel"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for this signature, None if it has to be compiled."""
        target_context.refresh()
        with suppress(Exception):  # a pickle of another version may raise anything
            content = self._file(sig, target_context.codegen()).read_bytes()
            if sha256(content[DIGEST_BYTES:]).digest() == content[:DIGEST_BYTES]:
                return CompileResult._rebuild(target_context, *pickle.loads(content[DIGEST_BYTES:]))
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Store a compiled kernel, unless the disk is full, or the folder gone or not to be written."""
        if not cres.library.has_dynamic_globals:  # addresses, which are others in another process
            with suppress(Exception):
                packed = dumps(cres._reduce())
                self._file(sig, cres.codegen).write_bytes(sha256(packed).digest() + packed)
