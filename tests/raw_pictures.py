"""PNG and TIFF written level by level, in forms that no common program writes, so that what they show is known."""

import struct
import zlib

import numpy as np
from PIL.TiffImagePlugin import ImageFileDirectory_v2

ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
NUMBERS = {"FillOrder": 266, "PlanarConfiguration": 284, "ColorMap": 320, "ExtraSamples": 338, "SampleFormat": 339}


def _packed(levels, bits):
    """The bytes of each row of levels (height, width, n_levels)."""
    rows = levels.reshape(len(levels), -1)
    if bits >= 8:
        return [row.tobytes() for row in rows.astype(f">u{bits // 8}")]
    ones = (rows[:, :, np.newaxis] >> np.arange(bits)[::-1]) & 1
    return [np.packbits(row.astype(np.uint8)).tobytes() for row in ones]


def png(levels, bits, colour, transparent=b"", palette=b"", *, interlaced=False, exif=b""):
    """A PNG. levels: whole numbers, (height, width, n_levels). colour: the colour type. transparent: chunk tRNS."""
    header = struct.pack(">IIBBBBB", levels.shape[1], len(levels), bits, colour, 0, 0, interlaced)
    passes = [levels[y::dy, x::dx] for x, y, dx, dy in (ADAM7 if interlaced else [(0, 0, 1, 1)])]
    rows = zlib.compress(b"".join(b"\0" + row for part in passes if part.size for row in _packed(part, bits)))
    chunks = {b"IHDR": header, b"PLTE": palette, b"tRNS": transparent, b"eXIf": exif, b"IDAT": rows, b"IEND": b""}
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks.items():
        if body or name == b"IEND":
            data += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return data


def tiff(levels, bits, photometric, *, packed=False, **more):
    """A TIFF. levels: as in `png`. more: values of the tags in NUMBERS."""
    height, width, n = levels.shape
    planes = np.split(levels, n, axis=2) if more.get("PlanarConfiguration") == 2 else [levels]
    strips = [b"".join(_packed(plane, bits)) for plane in planes]
    strips = [zlib.compress(strip) for strip in strips] if packed else strips
    if more.get("FillOrder") == 2:  # the lowest bit of each byte comes first
        ones = [np.unpackbits(np.frombuffer(strip, np.uint8), bitorder="little") for strip in strips]
        strips = [np.packbits(bits).tobytes() for bits in ones]
    head, sizes = b"MM\0*\0\0\0\x08", [len(strip) for strip in strips]
    tags = {256: width, 257: height, 258: n * (bits,), 259: 8 if packed else 1, 262: photometric, 277: n, 278: height}
    tags |= {279: sizes} | {NUMBERS[name]: value for name, value in more.items()}
    tags[273] = np.cumsum([0, *sizes[:-1]])  # to which Pillow adds the length of what precedes the strips
    directory = ImageFileDirectory_v2(head)
    for tag, value in tags.items():
        directory[tag] = tuple(np.ravel(value).tolist())
    return head + directory.tobytes(8) + b"".join(strips)
