"""PNG and TIFF written byte by byte, in forms that no common program writes, so that what they show is known."""

import struct
import zlib

import numpy as np

ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1)[:, ::-1], axis=1).ravel()


def _packed(levels, bits, order=">"):
    """The bytes of each row of levels (height, width, n_levels)."""
    rows = levels.reshape(len(levels), -1)
    if bits >= 8:
        return [row.tobytes() for row in rows.astype(f"{order}u{bits // 8}")]
    ones = (rows[:, :, np.newaxis] >> np.arange(bits)[::-1]) & 1
    return [np.packbits(row.astype(np.uint8)).tobytes() for row in ones]


def png(levels, bits, colour, transparent=b"", palette=b"", *, interlaced=False, exif=b""):
    """A PNG. levels: whole numbers, (height, width, n_levels). colour: the colour type. transparent: chunk tRNS."""

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    height, width, _ = levels.shape
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
    passes = [levels[y::dy, x::dx] for x, y, dx, dy in (ADAM7 if interlaced else [(0, 0, 1, 1)])]
    rows = b"".join(b"\0" + row for part in passes if part.size for row in _packed(part, bits))
    chunks = {b"IHDR": header, b"PLTE": palette, b"tRNS": transparent, b"eXIf": exif, b"IDAT": zlib.compress(rows)}
    body = b"".join(chunk(name, data) for name, data in chunks.items() if data)
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def tiff(levels, bits, photometric, *, order="<", rows_per_strip=None, packed=False, **more):
    """A TIFF. levels: as in `png`. more: FillOrder, PlanarConfiguration, ColorMap, ExtraSamples, SampleFormat."""
    numbers = {"FillOrder": 266, "PlanarConfiguration": 284, "ColorMap": 320, "ExtraSamples": 338, "SampleFormat": 339}
    height, width, n = levels.shape
    step = rows_per_strip or height
    planes = np.split(levels, n, axis=2) if more.get("PlanarConfiguration") == 2 else [levels]
    strips = [b"".join(_packed(plane[y : y + step], bits, order)) for plane in planes for y in range(0, height, step)]
    strips = [zlib.compress(strip) for strip in strips] if packed else strips
    if more.get("FillOrder") == 2:
        strips = [REVERSED[np.frombuffer(strip, np.uint8)].tobytes() for strip in strips]
    sizes = [len(strip) for strip in strips]
    begins = (8 + np.cumsum([0, *sizes[:-1]])).tolist()
    tags = {256: [width], 257: [height], 258: n * [bits], 259: [8 if packed else 1], 262: [photometric], 273: begins}
    tags |= {277: [n], 278: [step], 279: sizes} | {numbers[name]: list(np.ravel(tag)) for name, tag in more.items()}
    at = 8 + sum(sizes)
    behind, entries = at + 2 + 12 * len(tags) + 4, b""
    values = b""
    for tag, numbers_of_tag in sorted(tags.items()):
        kind, letter = (4, "I") if tag in (273, 279) else (3, "H")
        data = struct.pack(f"{order}{len(numbers_of_tag)}{letter}", *numbers_of_tag)
        if len(data) > 4:
            data, values = struct.pack(f"{order}I", behind + len(values)), values + data
        entries += struct.pack(f"{order}HHI", tag, kind, len(numbers_of_tag)) + data.ljust(4, b"\0")
    head = struct.pack(f"{order}2sHI", b"II" if order == "<" else b"MM", 42, at)
    return head + b"".join(strips) + struct.pack(f"{order}H", len(tags)) + entries + bytes(4) + values
