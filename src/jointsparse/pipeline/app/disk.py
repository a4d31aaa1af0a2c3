"""Say in one line that a disk is full, or that a run cannot write to a folder."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)  # EDQUOT: the disk has room, but the user's quota is used up
STATUS = errno.ENOSPC  # exit status of a job that ended because a disk was full
AGAIN = "Make room there, then run the same command again"
SENTENCE = f"the disk of the folder {{}} is full. {AGAIN}"
ROOM_BYTES = 2**18  # a run without a single job writes less than this


def is_full(error: BaseException | str) -> bool:
    """Return True if an error, its cause or the text of a message says that a disk is full."""
    if isinstance(error, str):
        return any(os.strerror(number) in error for number in FULL)
    return any(isinstance(cause, OSError) and cause.errno in FULL for cause in _causes(error))


def sentence(error: BaseException | None, *folders: str | Path) -> str:
    """Return the message about a full disk.

    It names the folder of the file that the error names. Some errors name no file; then it names the folder with the
    least free space, among the given folders and the folder of temporary files.
    """
    files = [str(cause.filename) for cause in _causes(error) if isinstance(cause, OSError) and cause.filename]
    folder = Path(files[0]).parent if files else min(map(Path, (*folders, tempfile.gettempdir())), key=_free_bytes)
    return SENTENCE.format(folder.absolute())


def require_room(*folders: Path) -> None:
    """Raise OSError if one of the folders, which are created if necessary, cannot be written, or its disk is full."""
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(os.urandom(ROOM_BYTES))  # some disks need no room for zeros
        except OSError as error:
            advice = AGAIN if is_full(error) else "A run must be able to write there"
            raise OSError(f"{folder.absolute()}: {error.strerror}. {advice}") from None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, the error that caused it, and so on."""
    while error:
        yield error
        error = error.__cause__ or error.__context__


def _free_bytes(folder: Path) -> float:
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return float("inf")
