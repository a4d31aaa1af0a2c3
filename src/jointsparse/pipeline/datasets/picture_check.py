"""The program that opens pictures. The module `checker` runs it in a separate process.

It imports only modules that load neither pandas nor SciPy, so that a process starts in a fifth of a second.
"""

import errno
import hashlib
import json
import logging
import os
import signal
import stat
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image, UnidentifiedImageError

from jointsparse.pictures import FORMATS, open_grey
from jointsparse.pipeline.datasets.metadata import tags_of, taken
from jointsparse.pipeline.datasets.near_duplicates import descriptor

MOST_BYTES = 2**30  # size limit of a picture file; MOST_PIXELS in 16-bit colour take half of it
MOST_MEMORY = 3 * 2**30  # memory limit of this process in bytes; a picture of MOST_PIXELS needs up to two thirds of it
BYTES_PER_PIXEL = 20  # largest memory use while a picture is decoded
# Errors that are due to the file itself. EINVAL occurs if a damaged file makes a decoder seek to a negative position.
OF_FILES = {None, errno.EACCES, errno.EINVAL, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EPERM}
MOST_WORDS = 2**16  # bytes that are kept of a decoder's messages about a picture; a pipe on Linux holds that many
NO_PICTURE = "does not open as a picture: "


class MachineError(OSError):
    """Error raised if a file cannot be read because of a failure of the machine. The file itself may be fine."""

    def __init__(self, path: str | Path, why: object) -> None:
        super().__init__(f"{path} could not be read: {why}. The file itself may be fine: fix the cause and run again")
        self.why = str(why)


def of_machine(error: BaseException) -> bool:
    """Return True if an error is due to the machine (a failing disk, too many open files, too little memory)."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno not in OF_FILES)


class Outcome(NamedTuple):
    """What a task says about a picture.

    Attributes
    ----------
    reason
        The reason why the picture cannot be used, or "" if it can.
    value
        The result of the task, which can be written as JSON.
    n_bytes
        Usually 0. If decoding failed for a reason that may be a lack of memory, the memory in bytes that decoding may
        need; the picture is then to blame only if the system would grant this much additional memory.
    """

    reason: str = ""
    value: Any = None
    n_bytes: int = 0


def check_picture(path: Path, smallest_side: int, longest_side: int, near_duplicates: bool = False) -> Outcome:
    """Check that a picture can be decoded and is large enough.

    Parameters
    ----------
    path : path
        The picture.
    smallest_side : int, pixels
        Smallest allowed length of the shorter side, after the picture has been shrunk to `longest_side`.
    longest_side : int, pixels
        Pictures whose longer side exceeds this length are shrunk to it.
    near_duplicates : bool
        If True, describe the picture, see `near_duplicates.descriptor`.

    Returns
    -------
    outcome : Outcome
        If the picture can be decoded, its value is a pair: a checksum of the file, and the entries of the descriptor,
        or an empty list.

    Raises
    ------
    MachineError
        If the picture cannot be read because of a failure of the machine.
    """
    n_pixels = 0
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would block
            return Outcome("not a regular file")
        if not 0 < status.st_size <= MOST_BYTES:
            return Outcome(f"a picture file must hold 1 to {MOST_BYTES:,} bytes, got {status.st_size:,}")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with Image.open(path, formats=FORMATS) as picture:
            n_pixels = picture.width * picture.height
            picture.verify()  # checks the checksums of PNG, which decoding ignores
        greys = open_grey(path, longest_side)
    except UnidentifiedImageError:
        lacking = path.suffix.lower() in (".heic", ".heif") and "HEIF" not in FORMATS
        hint = "; HEIC needs the package pi-heif" if lacking else ""
        return Outcome(f"{NO_PICTURE}none of {', '.join(FORMATS)}{hint}")
    except MemoryError:
        reason = f"{NO_PICTURE}decoding takes more than {MOST_MEMORY >> 20:,} MiB of memory"
        return Outcome(reason, n_bytes=MOST_MEMORY)
    except Exception as error:  # on damaged files Pillow's decoders may raise any error
        message = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if of_machine(error):
            raise MachineError(path, message) from error
        # The reason does not name the path, which differs between copies of a dataset. Decoders in C report a lack of
        # memory as damage, hence `n_bytes`.
        reason = f"{NO_PICTURE}{' '.join(message.split())[:200]}"
        return Outcome(reason, n_bytes=n_pixels * BYTES_PER_PIXEL)
    height, width = greys.shape
    too_small = f"too small: {width} x {height} pixels, the shorter side must be at least {smallest_side}"
    described = descriptor(greys).tolist() if near_duplicates else []
    return Outcome("" if min(width, height) >= smallest_side else too_small, (digest, described))


TASKS: dict[str, Callable[..., Outcome]] = {
    "check": check_picture,
    "tags": lambda path, levels: Outcome(value=tags_of(path, levels)),
    "both": lambda path, levels: Outcome(value=(tags_of(path, levels), tags_of(path, levels, beside=False))),
    "levels": lambda path: Outcome(value=(tags_of(path, "all"), tags_of(path, "last"))),
    "time": lambda path: Outcome(value=taken(path)),
}


def main(task: str, arguments: Sequence[Any], most_seconds: float) -> None:
    """Read paths of pictures from standard input, run a task on each picture, and print one line of results for it."""
    if sys.platform == "linux":  # macOS does not enforce a limit on memory, and Windows has none
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = MOST_MEMORY if most == resource.RLIM_INFINITY else min(MOST_MEMORY, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    if sys.platform != "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent kills this process
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end this process if the parent is gone
    words_of_decoder = _catch_words()
    for line in sys.stdin:
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, most_seconds)  # SIGPROF then ends this process, even inside C code
        path = Path(json.loads(line))
        with warnings.catch_warnings(record=True, action="always") as warned:
            try:
                outcome, failure = TASKS[task](path, *arguments), ""
            except MachineError as error:
                outcome, failure = Outcome(), error.why
        words = words_of_decoder()
        reason = _with_words(outcome.reason, words)
        words += "".join(f"{text}\n" for text in dict.fromkeys(str(warning.message) for warning in warned))
        print(json.dumps((reason, outcome.value, outcome.n_bytes, failure, words)), flush=True)


def _catch_words() -> Callable[[], str]:
    """Start to catch what decoders in C write to standard error.

    Returns a function that returns the text caught since its last call. The messages of decoders do not name the file,
    so they would be useless on their own. Python's own output is not caught.
    """
    if sys.platform == "win32":
        return str
    logging.getLogger("PIL").addHandler(logging.NullHandler())  # otherwise Pillow's log would go to standard error
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)  # when the pipe is full, further text is lost
    os.dup2(writing, 2)

    def words() -> str:
        try:
            return os.read(reading, MOST_WORDS).decode(errors="backslashreplace")
        except BlockingIOError:
            return ""

    return words


def _with_words(reason: str, words: str) -> str:
    """Append the last line that the decoder wrote to the reason why a picture cannot be used.

    If there is no reason yet, the line becomes the reason. It then comes from libtiff, which reports errors in damaged
    faxes but may decode them nevertheless. It is not a warning, because Pillow turns off the warnings of libtiff.
    """
    last = " ".join(words.splitlines()[-1:]).strip().rstrip(".")[:200]
    if last and not reason:
        return f"{NO_PICTURE}{last}"
    return f"{reason} ({last})" if last and reason.startswith(NO_PICTURE) else reason


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3]))
