"""Files that may be packed: plain, .gz or .bz2 as their names say, read whole or refused."""

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BYTES_AT_ONCE = io.DEFAULT_BUFFER_SIZE  # of an unpacked file


@contextmanager
def opened(path: Path, so_far: Callable[[], str] = lambda: "") -> Iterator[io.BufferedIOBase]:
    """Open a file for reading, unpacked as its name says.

    so_far: returns a text for the message, such as " after line 3". Raises ValueError if the file is damaged or cut
    off.
    """
    try:
        with _open(path) as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} must be a whole file, got one that is damaged{so_far()}: {reason}") from None


def _open(path: Path) -> io.BufferedIOBase:
    if path.suffix.lower() == ".gz":
        return gzip.open(path)
    return io.BufferedReader(_Bz2(path), BYTES_AT_ONCE) if path.suffix.lower() == ".bz2" else path.open("rb")


class _Bz2(io.RawIOBase):
    """An unpacked bz2 file. It refuses garbage behind a stream, which `bz2.open` ignores."""

    def __init__(self, path: Path) -> None:
        self.pieces = _unpacked(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = next(self.pieces, b"")
        buffer[: len(piece)] = piece
        return len(piece)


def _unpacked(path: Path) -> Iterator[bytes]:
    """The unpacked bytes of a bz2 file of one or more streams, at most BYTES_AT_ONCE at a time."""
    unpacker = bz2.BZ2Decompressor()
    with path.open("rb") as file:
        while packed := file.read(BYTES_AT_ONCE):
            while packed or not (unpacker.needs_input or unpacker.eof):
                if unpacker.eof:
                    unpacker = bz2.BZ2Decompressor()
                if piece := unpacker.decompress(packed, BYTES_AT_ONCE):
                    yield piece
                packed = unpacker.unused_data
    if not unpacker.eof:
        raise EOFError("the file ends within a stream")
