"""Read whole files, which may be compressed (.gz or .bz2), and refuse files that are damaged or unpack to too much."""

import zlib
from bz2 import BZ2Decompressor
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from jointsparse.checks import as_positive, require

BYTES_AT_ONCE = 2**13  # bytes read at a time; in bz2 these unpack to at most 160 MB
# Choice: MNIST has a ratio of 5 and Reuters-21578 of 3. A file of zeros has a ratio of 1,000 as .gz and of a million as
# .bz2.
COMPRESSION_RATIO = 200.0
SMALL_BYTES = 2**26  # a file may unpack to this size, whatever its compression ratio
BYTES_OF_LINE = 50  # fewest bytes that the name and the label of a sample take as texts of Python
UNPACKERS: dict[str, Callable[[], Any]] = {".gz": partial(zlib.decompressobj, 31), ".bz2": BZ2Decompressor}


def most_bytes(path: Path, compression_ratio: float = COMPRESSION_RATIO) -> float:
    """Return the number of bytes to which a file may unpack.

    This is `compression_ratio` times the size of the file, or SMALL_BYTES if that is more.
    """
    return max(SMALL_BYTES, as_positive(compression_ratio, "compression_ratio") * path.stat().st_size)


def require_bytes(path: Path, n_bytes: int, compression_ratio: float = COMPRESSION_RATIO) -> None:
    """Raise ValueError if a file that unpacks to `n_bytes` exceeds `most_bytes`."""
    require(
        n_bytes <= most_bytes(path, compression_ratio),
        f"{path} must unpack to at most {compression_ratio:g} times its {path.stat().st_size:,} bytes, got "
        f"{n_bytes:,} bytes or more: if the file is as it should be, save it without compression, or raise "
        "compression_ratio where the loader has this option",
    )


def read_whole(path: Path, compression_ratio: float = COMPRESSION_RATIO) -> bytes:
    """Return the content of a file, decompressed if the file name ends in .gz or .bz2.

    Parameters
    ----------
    path : path
        The file.
    compression_ratio : float above 0
        See `most_bytes`.

    Raises
    ------
    ValueError
        If a compressed file is damaged or truncated, or unpacks to more than `compression_ratio` allows.
    """
    most = most_bytes(path, compression_ratio)
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
    require_bytes(path, len(data), compression_ratio)
    return bytes(data)
