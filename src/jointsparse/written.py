"""Files that are written whole or not at all."""

import errno
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jointsparse.checks import require_extra


@contextmanager
def written(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path`, which becomes `path` when the block ends without an error.

    It has the same suffix. Its content is on disk before it is renamed, so that not even a power cut leaves a part.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    _clear_leftovers(final)
    temporary = final.with_name(f".{final.stem}.{os.getpid()}.part{final.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, final)
    except OSError as error:
        if error.errno is None:  # of a full disk NumPy says "80000 requested and 872 written"
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(final)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _clear_leftovers(final: Path) -> None:
    """Delete temporary files of processes that were killed while they wrote this file."""
    leftovers = list(final.parent.glob(f"{glob.escape(f'.{final.stem}.')}*{glob.escape(f'.part{final.suffix}')}"))
    if not leftovers:
        return
    require_extra(__name__, "psutil")
    import psutil

    for leftover in leftovers:
        process = leftover.name.removeprefix(f".{final.stem}.").removesuffix(f".part{final.suffix}")
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            leftover.unlink(missing_ok=True)
