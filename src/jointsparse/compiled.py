"""Compile kernels with Numba, once per user and per version of the source code.

Numba's own cache lies next to the code and identifies a kernel by its folder and its file. Every copy of the library
would therefore compile again, and editing one file would not recompile kernels in other files that call it. Here the
name of the cache folder contains a hash of all files with kernels. The folder lies in the user's cache folder, or in
NUMBA_CACHE_DIR if that is set.

Cached kernels are pickles, so anyone who can write one can run code. A folder that belongs to somebody else, or that
others can open, is therefore not used. A flipped bit in machine code can crash the process, so every cached kernel
starts with a checksum.
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
MARK = b"jointsparse.compiled import njit"  # occurs in every file with kernels
DIGEST_BYTES = 32


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function like `numba.njit`, but with the cache of this module. All options except `cache` are the same.

    A kernel may call kernels in other files of the library and use their constants.
    """
    if function is None:
        return partial(njit, **options)
    kernel = numba.njit(**options)(function)
    if folder() is not None:
        kernel._cache = KernelCache(function)
    return kernel


@cache
def folder() -> Path | None:
    """Return the cache folder for this version of the code, or None if it cannot be created or is not safe to use."""
    root = Path(getattr(numba.config, "CACHE_DIR", "") or AppDirs("jointsparse", appauthor=False).user_cache_dir)
    digest = sha256(f"{numba.__version__} {sys.version}".encode())
    for file in sorted(PACKAGE.rglob("*.py")):
        content = file.read_bytes()
        if MARK in content:
            digest.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + content + b"\0")
    path = root / f"kernels-{digest.hexdigest()[:16]}"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = path.lstat()
    except OSError:
        return None
    if os.name == "posix" and (not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077):
        warnings.warn(
            f"the cache of compiled kernels must be a folder that only you can open, got {path} with mode "
            f"{stat.filemode(info.st_mode)} and owner {info.st_uid}: remove it. Until then every process compiles",
            stacklevel=2,
        )
        return None
    return path


class KernelCache(NullCache):
    """Numba cache for a single kernel. It has one file per signature and processor, with a checksum and the kernel.

    If a file is damaged, or cannot be read or written, the kernel is compiled again.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        within = "".join(f"-{f.__module__}.{f.__name__}" for f in getclosurevars(function).nonlocals.values())
        self._name = f"{function.__module__}.{function.__name__}-{function.__code__.co_firstlineno}{within}"

    def _file(self, signature: Any, codegen: Any) -> Path:
        kind = sha256(repr((signature, codegen.magic_tuple())).encode()).hexdigest()
        return Path(str(folder())) / f"{self._name}-{kind[:16]}.kernel"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the cached kernel for this signature, or None if it has to be compiled."""
        target_context.refresh()
        with suppress(Exception):  # unpickling a kernel of another version may raise anything
            content = self._file(sig, target_context.codegen()).read_bytes()
            if sha256(content[DIGEST_BYTES:]).digest() == content[:DIGEST_BYTES]:
                return CompileResult._rebuild(target_context, *pickle.loads(content[DIGEST_BYTES:]))
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Store a compiled kernel. Failures, such as a full disk or a read-only folder, are ignored."""
        if not cres.library.has_dynamic_globals:  # these hold memory addresses, which differ between processes
            with suppress(Exception):
                packed = dumps(cres._reduce())
                self._file(sig, cres.codegen).write_bytes(sha256(packed).digest() + packed)
