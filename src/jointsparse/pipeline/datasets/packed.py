"""Read whole files, which may be compressed (.gz or .bz2), and refuse files that are damaged or unpack to too much."""

import zlib
from bz2 import BZ2Decompressor
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from jointsparse.checks import require

BYTES_AT_ONCE = 2**13  # bytes read at a time; in bz2 these unpack to at most 160 MB
# Choice: MNIST has a ratio of 5 and Reuters-21578 of 3. A file of zeros has a ratio of 1,000 as .gz and of a million as
# .bz2.
MOST_RATIO = 200
SMALL_BYTES = 2**26  # a file may unpack to this size, whatever its size
BYTES_OF_LINE = 50  # fewest bytes that the name and the label of a sample take as texts of Python
UNPACKERS: dict[str, Callable[[], Any]] = {".gz": partial(zlib.decompressobj, 31), ".bz2": BZ2Decompressor}


def most_bytes(path: Path) -> int:
    """Return the bytes to which a file may unpack: MOST_RATIO times its size, or SMALL_BYTES if that is more."""
    return max(SMALL_BYTES, MOST_RATIO * path.stat().st_size)


def require_bytes(path: Path, n_bytes: int) -> None:
    """Raise ValueError if a file that unpacks to `n_bytes` exceeds `most_bytes`."""
    require(
        n_bytes <= most_bytes(path),
        f"{path} must unpack to at most {MOST_RATIO} times its {path.stat().st_size:,} bytes, got {n_bytes:,} bytes or "
        "more: if the file is as it should be, save it without compression",
    )


def read_whole(path: Path) -> bytes:
    """Return the content of a file, decompressed if the file name ends in .gz or .bz2.

    Raises ValueError if a compressed file is damaged or truncated, or unpacks to too much.
    """
    most = most_bytes(path)
    new = UNPACKERS.get(path.suffix.lower())
    if new is None:
        return path.read_bytes()
    data, unpacker = bytearray(), new()
    try:
        with path.open("rb") as file:
            while len(data) <= most and (packed := file.read(BYTES_AT_ONCE)):
                while packed:  # bytes after the end of a stream must be another stream, unlike in `bz2.open`
                    unpacker = new() if unpacker.eof else unpacker
                    data += unpacker.decompress(packed)
                    packed = unpacker.unused_data
        require(unpacker.eof or len(data) > most, "the file is truncated")
    except (OSError, ValueError, zlib.error) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} must be a complete compressed file, but is damaged: {reason}") from None
    require_bytes(path, len(data))
    return bytes(data)
