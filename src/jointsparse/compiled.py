"""Compile kernels with Numba, once per user and per version of the source code.

Numba's own cache lies next to the code and identifies a kernel by its folder and its file. Every copy of the library
would therefore compile again, and editing one file would not recompile kernels in other files that call it. Here the
name of the cache folder contains a hash of all files with kernels. The folder lies in the user's cache folder, or in
NUMBA_CACHE_DIR if that is set.

Cached kernels are pickles, so anyone who can write one can run code. Therefore only folders and files are used that
nobody but the user and root can write. Root may have compiled the kernels of an image, which all users then share. A
flipped bit in machine code can crash the process, so every cached kernel starts with a checksum.
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
MARKS = b"jointsparse.compiled", b"njit"  # occur in every file with kernels, also in bytecode
DIGEST_BYTES = 32
ROOT = 0  # user ID
FOLDER_MODE, FILE_MODE = 0o755, 0o644  # everyone may read kernels
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# Environment variable with the cache folder that this process has checked. The processes that it starts inherit it.
CHECKED = "JOINTSPARSE_KERNELS"
CHECKED_BY_PARENT = os.environ.get(CHECKED)


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function like `numba.njit`, but with the cache of this module. The other options are the same.

    C code cannot call a kernel: compiling an entry for it would take a twentieth of the time. A kernel may call kernels
    in other files of the library and use their constants.
    """
    if function is None:
        return partial(njit, **options)
    kernel: Any = numba.njit(**{"no_cfunc_wrapper": True} | options)(function)
    if folder() is not None:
        kernel._cache = KernelCache(function)
    return kernel


@cache
def folder() -> Path | None:
    """Return the cache folder for this version of the code, or None if it cannot be used."""
    root = Path(getattr(numba.config, "CACHE_DIR", "") or AppDirs("jointsparse", appauthor=False).user_cache_dir)
    digest = code_digest()
    if digest is None:
        return None
    path = root / f"kernels-{digest[:16]}"
    try:
        path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        info = path.lstat()
    except OSError as error:
        advise(path, str(error.strerror))
        return None
    if not stat.S_ISDIR(info.st_mode) or not is_trusted(info) or not os.access(path, os.R_OK | os.X_OK):
        advise(path, f"its mode is {stat.filemode(info.st_mode)}, its owner {info.st_uid}")
        return None
    os.environ[CHECKED] = str(path)
    return path


def code_digest() -> str | None:
    """Return a hash of the versions of Numba and Python, and of all files of the library that contain kernels.

    A library without its source has files of bytecode instead, outside of the folders __pycache__. If it has no files
    either, because it is in an archive, the result is None.
    """
    files = (file for file in PACKAGE.rglob("*.py*") if file.suffix in (".py", ".pyc"))
    contents = {file: file.read_bytes() for file in sorted(files) if file.parent.name != "__pycache__"}
    kernels = {file: content for file, content in contents.items() if all(mark in content for mark in MARKS)}
    digest = sha256(f"{numba.__version__} {sys.version}".encode())
    for file, content in kernels.items():
        digest.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + content + b"\0")
    return digest.hexdigest() if kernels else None


def is_trusted(info: os.stat_result) -> bool:
    """Return True if only this user and root can have written a file or a folder. Windows has no such owners."""
    return os.name != "posix" or (info.st_uid in (ROOT, os.getuid()) and not info.st_mode & WRITABLE_BY_OTHERS)


@cache
def advise(path: Path, reason: str) -> None:
    """Warn that kernels cannot be stored, and advise another folder, unless the parent process has done so."""
    os.environ[CHECKED] = str(path)  # so that the processes that this one starts do not repeat the warning
    if str(path) != CHECKED_BY_PARENT:
        warnings.warn(
            f"compiled kernels must be stored in a folder that you can write, and nobody else but root, got {path} "
            f"({reason}), so every process compiles for up to 15 seconds: set the environment variable "
            "NUMBA_CACHE_DIR to a folder of your own on a local disk",
            stacklevel=3,
        )


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
            with self._file(sig, target_context.codegen()).open("rb") as file:
                content = file.read() if is_trusted(os.fstat(file.fileno())) else b""
            if sha256(content[DIGEST_BYTES:]).digest() == content[:DIGEST_BYTES]:
                return CompileResult._rebuild(target_context, *pickle.loads(content[DIGEST_BYTES:]))
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Store a compiled kernel. If it cannot be written, for example in a read-only folder, a warning says so."""
        if not cres.library.has_dynamic_globals:  # these hold memory addresses, which differ between processes
            packed = dumps(cres._reduce())
            path = self._file(sig, cres.codegen)
            try:
                with open(path, "wb", opener=partial(os.open, mode=FILE_MODE)) as file:
                    file.write(sha256(packed).digest() + packed)
            except OSError as error:
                advise(path.parent, str(error.strerror))
