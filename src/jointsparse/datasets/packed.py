"""Files that may be packed: plain, .gz or .bz2 as their names say, read whole or refused."""

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jointsparse.checks import as_positive

BYTES_AT_ONCE = io.DEFAULT_BUFFER_SIZE  # of an unpacked file
# Choice: MNIST has 5 and Reuters-21578 has 3. A file of nothing but zeros has 1,000 as .gz and a million as .bz2.
COMPRESSION_RATIO = 200.0
SMALL_BYTES = 2**16  # that every packed file may unpack to


@contextmanager
def opened(
    path: Path, so_far: Callable[[], str] = lambda: "", compression_ratio: float = COMPRESSION_RATIO
) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading, unpacked as its name says.

    so_far: returns a text for the message, such as " after line 3". compression_ratio: times its size that a packed
    file may unpack to. Raises ValueError if the file is damaged, cut off, or unpacks to more.
    """
    try:
        with _open(path, as_positive(compression_ratio, "compression_ratio")) as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} must be a whole file, got one that is damaged{so_far()}: {reason}") from None


def _open(path: Path, compression_ratio: float) -> io.BufferedIOBase:
    unpack = {".gz": _gunzipped, ".bz2": _bunzipped}.get(path.suffix.lower())
    if unpack is None:
        return path.open("rb")
    return io.BufferedReader(_Pieces(_limited(unpack(path), path, compression_ratio)), BYTES_AT_ONCE)


class _Pieces(io.RawIOBase):
    """A file from its pieces, of at most BYTES_AT_ONCE each."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = next(self.pieces, b"")
        buffer[: len(piece)] = piece
        return len(piece)


def _limited(pieces: Iterator[bytes], path: Path, compression_ratio: float) -> Iterator[bytes]:
    """The pieces of an unpacked file. Raises ValueError if it is too long for the packed one."""
    size = path.stat().st_size
    left = max(SMALL_BYTES, compression_ratio * size)
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise ValueError(
                f"{path} must unpack to at most {compression_ratio:g} times its {size:,} bytes, got more: raise "
                "compression_ratio or unpack the file, if it is what it should be"
            )
        yield piece


def _gunzipped(path: Path) -> Iterator[bytes]:
    """The unpacked bytes of a gzip file, at most BYTES_AT_ONCE at a time."""
    with gzip.open(path) as file:
        yield from iter(lambda: file.read1(BYTES_AT_ONCE), b"")


def _bunzipped(path: Path) -> Iterator[bytes]:
    """The unpacked bytes of a bz2 file of one or more streams, at most BYTES_AT_ONCE at a time.

    It refuses garbage behind a stream, which `bz2.open` ignores.
    """
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
