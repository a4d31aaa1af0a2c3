"""Second readers of pictures, for `fuzz.py`: decoders of BMP, PPM and TIFF, and sizes of JPEG and WebP."""

import math
import re
import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import tifffile

SMALLEST_SIDE, LONGEST_SIDE = 4, 40  # in pixels, as the readers under test are told
TOLERANCE = 1.6  # of the decoders below, in levels of 255
PNG = b"\x89PNG\r\n\x1a\n"


class Bad(Exception):
    """The second reader objects."""


class Unknown(Exception):
    """The second reader does not know."""


def require(holds: bool, objection: str) -> None:
    if not holds:
        raise Bad(objection)


def know(holds: bool, kind: str) -> None:
    if not holds:
        raise Unknown(kind)


def grey(levels: np.ndarray, opacity: Any = 1.0) -> np.ndarray:
    """Grey levels of levels in [0, 1], (height, width, 1 or 3), on white."""
    return (levels @ {1: [1.0], 3: [0.299, 0.587, 0.114]}[levels.shape[2]] - 1) * opacity + 1


def upright(levels: np.ndarray, orientation: int) -> np.ndarray:
    """A picture as stored, turned as its orientation of EXIF, 1 to 8, says."""
    turned = levels.swapaxes(0, 1) if orientation > 4 else levels
    down, right = {1: (1, 1), 2: (1, -1), 3: (-1, -1), 4: (-1, 1), 5: (1, 1), 6: (1, -1), 7: (-1, -1), 8: (-1, 1)}[
        orientation
    ]
    return turned[::down, ::right]


def fitted(height: int, width: int) -> tuple[int, int]:
    """Height and width after shrinking."""
    factor = min(1.0, LONGEST_SIDE / max(width, height))
    return max(1, round(height * factor)), max(1, round(width * factor))


def sized(width: int, height: int, pixels: Callable[[], np.ndarray]) -> tuple[tuple[int, int], Any]:
    """The shape of a picture after shrinking, and the function of its pixels if nothing is shrunk."""
    require(width > 0 and height > 0 and width * height <= 89_478_485, f"{width} x {height} pixels")
    shape = fitted(height, width)
    require(min(shape) >= SMALLEST_SIDE, f"small: {width} x {height}")
    return shape, pixels if shape == (height, width) else None


def essence(data: bytes) -> Any:
    """Bytes that decide the pixels: of a PNG its main chunks, each of which has a checksum, else the whole file."""
    if not data.startswith(PNG):
        return data
    at, chunks = 8, [(b"", b"")]
    while chunks[-1][0] != b"IEND":  # whose own checksum does not matter
        require(at + 8 <= len(data), "cut off")
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body, check = data[at + 8 : at + 8 + length], data[at + 8 + length : at + 12 + length]
        whole = check == zlib.crc32(kind + body).to_bytes(4, "big")
        require(kind == b"IEND" or whole, f"checksum of {kind!r}, or cut off")
        chunks.append((kind, body))
        at += 12 + length
    require(chunks[1][0] == b"IHDR" and b"IDAT" in dict(chunks), "no IHDR or IDAT")
    return tuple(chunk for chunk in chunks if chunk[0] in (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"eXIf"))


def bmp(data: bytes) -> Any:
    require(len(data) >= 54, "cut off")
    offset, header, width, height, _, bits, packed = struct.unpack("<IIiiHHI", data[10:34])
    know(header == 40 and bits == 24 and not packed and offset >= 54, "a kind of BMP")

    def pixels() -> np.ndarray:
        stride = (3 * width + 3) // 4 * 4
        raw = data[offset : offset + stride * abs(height)]
        require(len(raw) >= stride * (abs(height) - 1) + 3 * width, "too few pixels")
        raw = raw.ljust(stride * abs(height), b"\0")
        lines = np.frombuffer(raw, dtype=np.uint8).reshape(abs(height), stride)[:, : 3 * width]
        levels = lines.reshape(abs(height), width, 3)[:, :, ::-1] / 255
        return levels[::-1] if height > 0 else levels

    return sized(width, abs(height), pixels)


def ppm(data: bytes) -> Any:
    found = re.match(rb"P([56])\s(?:#[^\n]*\n|\s)*(\d+)\s+(\d+)\s+(\d+)\s", data)
    know(found is not None, "a kind of PPM")
    kind, width, height, most = (int(number) for number in found.groups())

    def pixels() -> np.ndarray:
        require(0 < most < 65536, "levels")
        shape = height, width, 3 if kind == 6 else 1
        dtype = np.dtype(np.uint8 if most < 256 else ">u2")
        raw = data[found.end() :][: math.prod(shape) * dtype.itemsize]
        require(len(raw) == math.prod(shape) * dtype.itemsize, "too few pixels")
        return (np.frombuffer(raw, dtype=dtype).reshape(shape) / most).clip(max=1)

    return sized(width, height, pixels)


def tiff(data: bytes) -> Any:
    try:
        with tifffile.TiffFile(BytesIO(data)) as file:
            page = file.pages[0]
            width, height, tags = page.imagewidth, page.imagelength, page.tags
            turned = tags[274].value if 274 in tags else 1
            kind = page.photometric.value, page.samplesperpixel, page.bitspersample, page.sampleformat
            require(kind[3] != 2 and kind not in ((0, 1, 16, 1), (1, 1, 32, 1)), "a scale that is not known")
            simple = kind in ((1, 1, 8, 1), (2, 3, 8, 1), (1, 1, 16, 1), (0, 1, 8, 1))
            know(simple and 1 <= turned <= 8, "a kind of TIFF")
            know(width * height < 1e6, "a large TIFF")
            levels = page.asarray()
    except (Bad, Unknown):
        raise
    except Exception as error:  # whatever tifffile raises on damaged files
        raise Unknown(f"tifffile: {error}") from None
    know(levels.shape[:2] == (height, width), "a kind of TIFF")
    shown = upright(levels.reshape(height, width, -1) / np.iinfo(levels.dtype).max, turned)
    return sized(shown.shape[1], shown.shape[0], lambda: 1 - shown if kind[0] == 0 else shown)


def _no_pixels() -> np.ndarray:
    raise Unknown("the pixels")


def jpeg(data: bytes) -> Any:
    """Only the size: JPEG has no checksums, and a second decoder of JPEG is more than a test should hold."""
    at, size = 2, None
    while size is None:
        require(at + 9 <= len(data), "no size")
        know(data[at] == 0xFF and data[at + 1] not in (0, 0xFF), "stray bytes between segments")
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            size = struct.unpack(">HH", data[at + 5 : at + 9])
        at += 2 + length
    require(data.rfind(b"\xff\xda") >= 0, "no scan")
    return sized(size[1], size[0], _no_pixels)[0], _no_pixels


def webp(data: bytes) -> Any:
    """Only the size."""
    require(len(data) >= 30 and int.from_bytes(data[4:8], "little") + 8 <= len(data), "cut off")
    know(data[12:16] in (b"VP8 ", b"VP8L"), "a kind of WebP")
    width, height = (number & 0x3FFF for number in struct.unpack("<HH", data[26:30]))
    if data[12:16] == b"VP8L":
        number = int.from_bytes(data[21:25], "little")
        width, height = (number & 0x3FFF) + 1, (number >> 14 & 0x3FFF) + 1
    return sized(width, height, _no_pixels)[0], _no_pixels


READERS = {
    b"BM": bmp,
    b"P5": ppm,
    b"P6": ppm,
    b"II*\0": tiff,
    b"MM\0*": tiff,
    b"\xff\xd8\xff": jpeg,
    b"RIFF": webp,
}
# Beginnings that Pillow knows, besides.
OTHERS = (PNG, b"GIF8", b"P1", b"P2", b"P3", b"P4", b"Pf", b"PF", b"Py", b"P0", b"II+\0", b"MM\0+", b"II\0*", b"MM*\0")


def known(picture: Any) -> tuple[tuple[int, int], np.ndarray, float]:
    """The shape of a drawn picture after shrinking, which only flat ones need, its levels and their tolerance."""
    require(picture.levels is not None, "a picture to refuse")
    height, width = fitted(*picture.levels.shape)
    return (height, width), picture.levels[:height, :width], picture.tolerance


def read(data: bytes, picture: Any) -> tuple[tuple[int, int], np.ndarray | None, float]:
    """The shape of a mutated picture after shrinking, its grey levels if they are known, and a tolerance of 255.

    picture: as drawn, before it was mutated. Raises Bad or Unknown.
    """
    if essence(data) == essence(picture.data):
        return known(picture)
    for magic, reader in READERS.items():
        if data.startswith(magic):
            shape, pixels = reader(data)
            return shape, pixels and grey(pixels()), TOLERANCE
    require(data.startswith(OTHERS), "no picture")
    raise Unknown("a kind of picture")
