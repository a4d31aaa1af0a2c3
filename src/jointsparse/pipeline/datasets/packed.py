"""Files that may be packed: plain, .gz or .bz2 as their names say, read whole or refused."""

import zlib
from bz2 import BZ2Decompressor
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from jointsparse.checks import as_positive, require

BYTES_AT_ONCE = 2**13  # of a packed file; in bz2 so few hold 160 MB at most
# Choice: MNIST has 5 and Reuters-21578 has 3. A file of nothing but zeros has 1,000 as .gz and a million as .bz2.
COMPRESSION_RATIO = 200.0
SMALL_BYTES = 2**16  # that every packed file may unpack to
UNPACKERS: dict[str, Callable[[], Any]] = {".gz": partial(zlib.decompressobj, 31), ".bz2": BZ2Decompressor}


def read_whole(path: Path, compression_ratio: float = COMPRESSION_RATIO) -> bytes:
    """The bytes of a file, unpacked as its name says.

    compression_ratio: times its size that a packed file may unpack to. Raises ValueError if the file is damaged, cut
    off, or unpacks to more.
    """
    size = path.stat().st_size
    most = max(SMALL_BYTES, as_positive(compression_ratio, "compression_ratio") * size)
    new = UNPACKERS.get(path.suffix.lower())
    if new is None:
        return path.read_bytes()
    data, unpacker = bytearray(), new()
    try:
        with path.open("rb") as file:
            while len(data) <= most and (packed := file.read(BYTES_AT_ONCE)):
                while packed:  # bytes behind a stream must be another one, unlike in `bz2.open`
                    unpacker = new() if unpacker.eof else unpacker
                    data += unpacker.decompress(packed)
                    packed = unpacker.unused_data
        require(unpacker.eof or len(data) > most, "the file ends within a stream")
    except (OSError, ValueError, zlib.error) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} must be a whole file, got one that is damaged: {reason}") from None
    require(
        len(data) <= most,
        f"{path} must unpack to at most {compression_ratio:g} times its {size:,} bytes, got more: raise "
        "compression_ratio or unpack the file, if it is what it should be",
    )
    return bytes(data)
