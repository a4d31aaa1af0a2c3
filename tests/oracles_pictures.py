"""Second readers of pictures, for `fuzz.py`: decoders of PNG, BMP, PPM, GIF, TIFF, and the sizes of JPEG, WebP."""

import re
import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import tifffile

SMALLEST_SIDE, LONGEST_SIDE = 16, 320  # in pixels, as the readers under test are told


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
    """Grey levels in [0, 1] of (height, width[, channels]) whole numbers; transparency on white."""
    if levels.dtype == np.uint16 and levels.ndim == 2:
        return levels / 65535
    levels = levels.astype(float) / np.iinfo(levels.dtype).max
    if levels.ndim == 3 and levels.shape[2] in (2, 4):
        alpha = levels[:, :, -1:]
        levels = levels[:, :, :-1] * alpha + 1 - alpha
    if levels.ndim == 3:
        levels = levels @ [0.299, 0.587, 0.114] if levels.shape[2] == 3 else levels[:, :, 0]
    return levels


def sized(width: int, height: int, pixels: Callable[[], np.ndarray]) -> tuple[tuple[int, int], Any]:
    """The shape of a picture after shrinking, and the function of its pixels if nothing is shrunk."""
    require(width > 0 and height > 0 and width * height <= 89_478_485, f"{width} x {height} pixels")
    factor = min(1.0, LONGEST_SIDE / max(width, height))
    shape = max(1, round(height * factor)), max(1, round(width * factor))
    require(min(shape) >= SMALLEST_SIDE, f"small: {width} x {height}")
    return shape, pixels if factor == 1 else None


def _png_chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """The kinds and contents of the chunks up to IEND, whose own checksum does not matter."""
    at, chunks = 8, [(b"", b"")]
    while chunks[-1][0] != b"IEND":
        require(at + 8 <= len(data), "cut off")
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body, check = data[at + 8 : at + 8 + length], data[at + 8 + length : at + 12 + length]
        whole = check == zlib.crc32(kind + body).to_bytes(4, "big")
        require(kind == b"IEND" or whole, f"checksum of {kind!r}, or cut off")
        chunks.append((kind, body))
        at += 12 + length
    return chunks[1:]


def _png_lines(raw: bytes, height: int, stride: int, step: int) -> np.ndarray:
    """Undo the filter of each line; `step` bytes make a pixel."""
    require(len(raw) >= height * (stride + 1), "too few pixels")
    lines = np.zeros((height + 1, stride + step), dtype=np.uint8)
    for y in range(height):
        line = raw[y * (stride + 1) : (y + 1) * (stride + 1)]
        require(line[0] <= 4, "filter")
        for x in range(stride):
            left, up, corner = (int(lines[y + 1, x]), int(lines[y, x + step]), int(lines[y, x]))
            near = left + up - corner
            paeth = min((abs(near - left), 0, left), (abs(near - up), 1, up), (abs(near - corner), 2, corner))[2]
            add = (0, left, up, (left + up) // 2, paeth)[line[0]]
            lines[y + 1, x + step] = (line[x + 1] + add) % 256
    return lines[1:, step:].reshape(height, stride // step, step)


def png(data: bytes) -> Any:
    chunks = _png_chunks(data)
    kinds = [kind for kind, _ in chunks]
    require(kinds[0] == b"IHDR" and b"IDAT" in kinds, "no IHDR or IDAT")
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1][:13])

    def pixels() -> np.ndarray:
        channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(colour, 0)
        deep = bits == 16
        know(channels > 0 and bits in (8, 16) and not (interlaced or (deep and colour)), "a kind of PNG")
        know(b"tRNS" not in kinds and kinds.count(b"IHDR") < 2 and kinds.count(b"PLTE") < 2, "a kind of PNG")
        try:
            raw = zlib.decompressobj().decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
        except zlib.error as error:
            raise Bad(f"zlib: {error}") from None
        step = channels * bits // 8
        levels = _png_lines(raw, height, step * width, step)
        if deep:
            return levels.view(">u2")[:, :, 0].astype(np.uint16)
        if colour == 3:
            palette = np.frombuffer(dict(chunks).get(b"PLTE", b"") + bytes(768), dtype=np.uint8)[:768].reshape(-1, 3)
            return palette[levels[:, :, 0]]
        return levels[:, :, 0] if step == 1 else levels

    return sized(width, height, pixels)


def bmp(data: bytes) -> Any:
    require(len(data) >= 54, "cut off")
    offset, header, width, height, _, bits, packed = struct.unpack("<IIiiHHI", data[10:34])
    know(header == 40 and bits == 24 and not packed, "a kind of BMP")

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


def _lzw(raw: bytes, smallest: int, n: int) -> bytes:
    """The first n colours that GIF's codes stand for; the first codes have smallest + 1 bits."""
    bits, clear, size, out, table, last = 0, 1 << smallest, smallest + 1, bytearray(), [], None
    while len(out) < n:
        require(bits + size <= 8 * len(raw), "too few pixels")
        code = int.from_bytes(raw[bits // 8 : bits // 8 + 4], "little") >> bits % 8 & ((1 << size) - 1)
        bits += size
        if code == clear:
            table = [bytes([i]) for i in range(clear)] + [b"", b""]
            size, last = smallest + 1, None
            continue
        codes = len(table) + (last is not None)
        know(table != [] and code != clear + 1 and code < codes, "LZW codes that mean nothing")
        entry = table[code] if code < len(table) else last + last[:1]
        if last is not None and len(table) < 4096:
            table.append(last + entry[:1])
            size += len(table) == 1 << size and size < 12
        out += entry
        last = entry
    return bytes(out[:n])


def gif(data: bytes) -> Any:
    """The first frame."""
    require(len(data) >= 13, "cut off")
    width, height, flags = struct.unpack("<HHB", data[6:11])
    at = 13
    shared = data[at : at + 3 * 2 ** (flags % 8 + 1)] if flags & 128 else b""
    at += len(shared)
    while data[at : at + 1] == b"!":
        at += 2
        while at < len(data) and data[at]:
            at += data[at] + 1
        at += 1
    know(data[at : at + 1] == b"," and len(data) >= at + 11, "no frame where one is expected")
    *place, own = struct.unpack("<HHHHB", data[at + 1 : at + 10])
    simple = place == [0, 0, width, height] and not own & 64 and (shared or own & 128)
    know(bool(simple) and b"\x21\xf9" not in data[:at], "a kind of GIF")
    at += 10
    palette = data[at : at + 3 * 2 ** (own % 8 + 1)] if own & 128 else shared
    at += len(palette) if own & 128 else 0

    def pixels() -> np.ndarray:
        smallest, start, raw = data[at] if at < len(data) else 99, at + 1, b""
        know(2 <= smallest <= 8, "an odd code size")
        while start < len(data) and data[start]:
            raw += data[start + 1 : start + 1 + data[start]]
            start += data[start] + 1
        indices = np.frombuffer(_lzw(raw, smallest, width * height), dtype=np.uint8).reshape(height, width)
        know(indices.max() < len(palette) // 3, "colours that are not in the palette")
        return np.frombuffer(palette.ljust(768, b"\0"), dtype=np.uint8).reshape(-1, 3)[indices]

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
    b"\x89PNG\r\n\x1a\n": png,
    b"BM": bmp,
    b"P5": ppm,
    b"P6": ppm,
    b"GIF8": gif,
    b"II*\0": tiff,
    b"MM\0*": tiff,
    b"\xff\xd8\xff": jpeg,
    b"RIFF": webp,
}
# Beginnings that Pillow knows, besides.
OTHERS = (b"P1", b"P2", b"P3", b"P4", b"Pf", b"PF", b"Py", b"P0", b"II+\0", b"MM\0+", b"II\0*", b"MM*\0")


def read(data: bytes) -> tuple[tuple[int, int], np.ndarray | None]:
    """The shape of a picture after shrinking, and its grey levels if nothing is shrunk. Raises Bad or Unknown."""
    for magic, reader in READERS.items():
        if data.startswith(magic):
            shape, pixels = reader(data)
            return shape, pixels and grey(pixels())
    require(data.startswith(OTHERS), "no picture")
    raise Unknown("a kind of picture")
