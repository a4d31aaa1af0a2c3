"""Atomic writing of files: a file is either complete or absent."""

import errno
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jointsparse.checks import require_extra


@contextmanager
def written(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`, and rename it to `path` if the block ends without an error.

    The temporary path has the same suffix. Its content is flushed to disk before the file is renamed, so that not even
    a power cut leaves a partial file. A file that is replaced keeps its mode.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    _clear_leftovers(final)
    temporary = final.with_name(f".{final.stem}.{os.getpid()}.part{final.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        if final.exists():
            shutil.copymode(final, temporary)
        os.replace(temporary, final)
    except OSError as error:
        full = errno.ENOSPC if error.errno is None else error.errno  # NumPy: "80000 requested and 872 written"
        if full in (errno.ENOSPC, errno.EDQUOT):  # the error of a write does not name the file
            raise OSError(full, os.strerror(full), str(final)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _clear_leftovers(final: Path) -> None:
    """Delete the temporary files that were left by processes killed while they were writing this file."""
    leftovers = list(final.parent.glob(f"{glob.escape(f'.{final.stem}.')}*{glob.escape(f'.part{final.suffix}')}"))
    if not leftovers:
        return
    require_extra(__name__, "psutil")
    import psutil

    for leftover in leftovers:
        process = leftover.name.removeprefix(f".{final.stem}.").removesuffix(f".part{final.suffix}")
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            leftover.unlink(missing_ok=True)
