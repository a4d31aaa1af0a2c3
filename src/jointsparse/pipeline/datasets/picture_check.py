"""Check pictures: the program of the processes that `checker` starts.

Of jointsparse it imports `pictures` alone, so that such a process starts in a fifth of a second.
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
from collections.abc import Callable
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from jointsparse.pictures import FORMATS, open_grey

MOST_BYTES = 2**30  # of a picture file; MOST_PIXELS in 16-bit colour take half of it
MOST_MEMORY = 3 * 2**30  # bytes of a process that checks; a picture of MOST_PIXELS takes up to two thirds of them
BYTES_PER_PIXEL = 20  # at most, while a picture is decoded
# Errors that a file itself explains. Python has EINVAL where a damaged file sends a decoder before its beginning.
OF_FILES = {None, errno.EACCES, errno.EINVAL, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EPERM}
MOST_WORDS = 2**16  # bytes of what a decoder says of a picture: a pipe of Linux holds as much
NO_PICTURE = "does not open as a picture: "


class MachineError(OSError):
    """The machine failed while a file was read, which may be in good order."""

    def __init__(self, path: str | Path, why: object) -> None:
        super().__init__(f"{path} could not be read: {why}. The file may be in good order: mend this and run again")
        self.why = str(why)


def of_machine(error: BaseException) -> bool:
    """True if an error says nothing of the file that was read: a failing disk, too many open files, no memory."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno not in OF_FILES)


def check_picture(path: Path, smallest_side: int, longest_side: int) -> tuple[str, str, int]:
    """Return the reason why a picture cannot be used, or "", a digest of its bytes, and a number of bytes.

    If that number is not 0, decoding failed, perhaps for lack of memory. The reason then holds only if the system would
    grant so many bytes more. smallest_side: the shorter side must have so many pixels, after shrinking to
    `longest_side`. Raises MachineError.
    """
    n_pixels = 0
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            return "not a regular file", "", 0
        if not 0 < status.st_size <= MOST_BYTES:
            return f"a picture file must hold 1 to {MOST_BYTES:,} bytes, got {status.st_size:,}", "", 0
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with Image.open(path, formats=FORMATS) as picture:
            n_pixels = picture.width * picture.height
            picture.verify()  # the checksums of PNG, which decoding passes over
        height, width = open_grey(path, longest_side).shape
    except UnidentifiedImageError:
        lacking = path.suffix.lower() in (".heic", ".heif") and "HEIF" not in FORMATS
        hint = "; HEIC takes the package pi-heif" if lacking else ""
        return f"{NO_PICTURE}none of {', '.join(FORMATS)}{hint}", "", 0
    except MemoryError:
        return f"{NO_PICTURE}decoding takes more than {MOST_MEMORY >> 20:,} MiB of memory", "", MOST_MEMORY
    except Exception as error:  # Pillow's decoders raise any error on damaged files
        message = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if of_machine(error):
            raise MachineError(path, message) from error
        # Without the path, which differs between copies of a dataset. Decoders in C call a lack of memory damage.
        return f"{NO_PICTURE}{' '.join(message.split())[:200]}", "", n_pixels * BYTES_PER_PIXEL
    too_small = f"too small: {width} x {height} pixels, the shorter side must be at least {smallest_side}"
    return "" if min(width, height) >= smallest_side else too_small, digest, 0


def main(smallest_side: int, longest_side: int, most_seconds: float) -> None:
    """Check the pictures that the standard input names, and print a line with the verdict on each."""
    if sys.platform == "linux":  # macOS does not keep to a limit of memory, Windows has none
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = MOST_MEMORY if most == resource.RLIM_INFINITY else min(MOST_MEMORY, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    if sys.platform != "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which kills this process
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # if the parent is gone
    words_of_decoder = _catch_words()
    for line in sys.stdin:
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, most_seconds)  # SIGPROF ends this process, also within C code
        path = Path(json.loads(line))
        with warnings.catch_warnings(record=True, action="always") as warned:
            try:
                reason, digest, n_bytes = check_picture(path, smallest_side, longest_side)
                failure = ""
            except MachineError as error:
                reason, digest, n_bytes, failure = "", "", 0, error.why
        words = words_of_decoder()
        reason = _with_words(reason, words)
        words += "".join(f"{text}\n" for text in dict.fromkeys(str(one.message) for one in warned))
        print(json.dumps((reason, digest, n_bytes, failure, words)), flush=True)


def _catch_words() -> Callable[[], str]:
    """Catch what decoders in C write to the standard error, without naming the file. Return a function that gives it.

    Python itself goes on writing there.
    """
    if sys.platform == "win32":
        return str
    logging.getLogger("PIL").addHandler(logging.NullHandler())  # or its errors would go there, too
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)  # when the pipe is full, more words are lost
    os.dup2(writing, 2)

    def words() -> str:
        try:
            return os.read(reading, MOST_WORDS).decode(errors="backslashreplace")
        except BlockingIOError:
            return ""

    return words


def _with_words(reason: str, words: str) -> str:
    """The reason why a picture cannot be used, with the last words of its decoder.

    Those of libtiff are errors, as Pillow turns its warnings off. It may decode damaged faxes in spite of them.
    """
    last = " ".join(words.splitlines()[-1:]).strip().rstrip(".")[:200]
    if last and not reason:
        return f"{NO_PICTURE}{last}"
    return f"{reason} ({last})" if last and reason.startswith(NO_PICTURE) else reason


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
