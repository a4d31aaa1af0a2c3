"""Second readers of pictures, for `fuzz.py`: known pictures, decoders of BMP, PPM, TIFF, and sizes of JPEG, WebP."""

import re
import struct
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import numpy as np
import tifffile

SMALLEST_SIDE, LONGEST_SIDE = 16, 320  # in pixels, as the readers under test are told
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


def grey(levels: np.ndarray) -> np.ndarray:
    """Grey levels in [0, 1] of (height, width), RGB or RGBA whole numbers; transparency on white."""
    levels = levels.astype(float) / np.iinfo(levels.dtype).max
    if levels.shape[2:] == (4,):
        alpha = levels[:, :, 3:]
        levels = levels[:, :, :3] * alpha + 1 - alpha
    return levels if levels.ndim == 2 else levels @ [0.299, 0.587, 0.114]


def sized(width: int, height: int, pixels: Callable[[], np.ndarray]) -> tuple[tuple[int, int], Any]:
    """The shape of a picture after shrinking, and the function of its pixels if nothing is shrunk."""
    require(width > 0 and height > 0 and width * height <= 89_478_485, f"{width} x {height} pixels")
    factor = min(1.0, LONGEST_SIDE / max(width, height))
    shape = max(1, round(height * factor)), max(1, round(width * factor))
    require(min(shape) >= SMALLEST_SIDE, f"small: {width} x {height}")
    return shape, pixels if factor == 1 else None


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
    return tuple(chunk for chunk in chunks if chunk[0] in (b"IHDR", b"PLTE", b"tRNS", b"IDAT"))


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
        levels = lines.reshape(abs(height), width, 3)[:, :, ::-1]
        return levels[::-1] if height > 0 else levels

    return sized(width, abs(height), pixels)


def ppm(data: bytes) -> Any:
    found = re.match(rb"P([56])\s(?:#[^\n]*\n|\s)*(\d+)\s+(\d+)\s+(\d+)\s", data)
    know(found is not None, "a kind of PPM")
    kind, width, height, most = (int(number) for number in found.groups())

    def pixels() -> np.ndarray:
        know(most == 255 or (most == 65535 and kind == 5), "a kind of PPM")
        shape = (height, width, 3) if kind == 6 else (height, width)
        dtype = np.dtype(np.uint8 if most == 255 else ">u2")
        raw = data[found.end() :][: int(np.prod(shape)) * dtype.itemsize]
        require(len(raw) == np.prod(shape) * dtype.itemsize, "too few pixels")
        return np.frombuffer(raw, dtype=dtype).astype(dtype.newbyteorder("=")).reshape(shape)

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
            levels = page.asarray()
    except (Bad, Unknown):
        raise
    except Exception as error:  # whatever tifffile raises on damaged files
        raise Unknown(f"tifffile: {error}") from None
    know(levels.shape[:2] == (height, width), "a kind of TIFF")
    upright = (
        *(levels, levels[:, ::-1], levels[::-1, ::-1], levels[::-1], levels.swapaxes(0, 1)),
        *(np.rot90(levels, -1), levels[::-1, ::-1].swapaxes(0, 1), np.rot90(levels)),
    )[turned - 1]
    return sized(upright.shape[1], upright.shape[0], lambda: 255 - upright if kind[0] == 0 else upright)


def _no_pixels() -> np.ndarray:
    raise Unknown("the pixels")


def jpeg(data: bytes) -> Any:
    """Only the size: JPEG has no checksums, and a second decoder of JPEG is more than a test should hold."""
    at, size = 2, None
    while size is None:
        require(at + 9 <= len(data), "no size")
        know(data[at] == 0xFF and data[at + 1] != 0xFF, "stray bytes between segments")
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


def read(data: bytes, known: Mapping[Any, np.ndarray]) -> tuple[tuple[int, int], np.ndarray | None]:
    """The shape of a picture after shrinking, and its grey levels if nothing is shrunk. Raises Bad or Unknown.

    known: grey levels by `essence`, of pictures that are not shrunk.
    """
    made = known.get(essence(data))
    if made is not None:
        return made.shape, made
    for magic, reader in READERS.items():
        if data.startswith(magic):
            shape, pixels = reader(data)
            return shape, pixels and grey(pixels())
    require(data.startswith(OTHERS), "no picture")
    raise Unknown("a kind of picture")
