"""Pictures of known grey levels, drawn at random and encoded in every kind of file that is read.

PNG, TIFF, BMP, GIF and PNM are written here, JPEG and WebP by Pillow. A picture is drawn as stored, so its levels are
known before there is a file. What must not matter (comments, unknown chunks, other EXIF, bytes behind the end) is drawn
as well.
"""

import struct
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from oracles_pictures import LONGEST_SIDE, SMALLEST_SIDE, grey, upright
from PIL import Image


class Picture(NamedTuple):
    """A file and the picture in it.

    levels: grey levels in [0, 1], (height, width), upright, transparency on white. None: the file must be refused.
    tolerance: how far they may be read off, in levels of 255.
    sure: False if the file may be refused too.
    """

    data: bytes
    levels: np.ndarray | None
    tolerance: float = 0.0
    sure: bool = True


EXACT, ROUNDED, CUT = 0.01, 0.52, 1.0  # tolerances: none, colour as a grey level of 8 bits, 16 bits cut to 8
JPEG_TOLERANCE, WEBP_TOLERANCE = 6.0, 12.0  # of smooth pictures


Entries = dict[int, tuple[int, Any]]  # type and values by tag


def one_of(things: Any, rng: np.random.Generator) -> Any:
    return things[rng.integers(len(things))]


def often(rng: np.random.Generator, share: float = 0.5) -> bool:
    return bool(rng.random() < share)


def draw(n_levels: int, n_channels: int, rng: np.random.Generator, *, smooth: bool = False) -> np.ndarray:
    """Whole numbers below n_levels, (height, width, n_channels). A picture that will be shrunk has one colour."""
    if often(rng, 0.05):
        height, width = rng.integers(LONGEST_SIDE, 3 * LONGEST_SIDE, 2)
        return np.broadcast_to(rng.integers(n_levels, size=n_channels), (height, width, n_channels))
    height, width = rng.integers(SMALLEST_SIDE, LONGEST_SIDE + 1, 2)
    if smooth:
        y, x = np.mgrid[:height, :width, :n_channels][:2] / LONGEST_SIDE
        a, b, c = rng.uniform(-3, 3, (3, n_channels))
        return ((n_levels - 1) * (0.5 + 0.5 * np.sin(a * x + b * y + c))).round().astype(int)
    colours = rng.integers(n_levels, size=(one_of((1, 3, 300), rng), n_channels))
    colours = np.vstack([colours, colours ^ (n_levels > 1)]) % n_levels  # some differ in the last bit only
    return colours[rng.integers(len(colours), size=(height, width))]


def packed(numbers: Any, bits: int, bitorder: Any = "big") -> np.ndarray:
    """Bytes of the numbers of each row, of so many bits each."""
    shifts = np.arange(bits)[:: -1 if bitorder == "big" else 1]
    rows = np.asarray(numbers)[..., None] >> shifts & 1
    return np.packbits(rows.reshape(*rows.shape[:-2], -1).astype(np.uint8), axis=-1, bitorder=bitorder)


def lzw(levels: bytes, bits: int, bitorder: str) -> bytes:
    """LZW without repetitions: the table of codes is cleared before they grow longer."""
    clear = 1 << bits
    run = clear - 3
    codes = [code for at in range(0, len(levels), run) for code in (clear, *levels[at : at + run])]
    return packed([*codes, clear + 1], bits + 1, bitorder).tobytes()


def directory(entries: Entries, order: str, begin: int, harm: Sequence[int] = (), big: bool = False) -> bytes:
    """A directory of TIFF that begins at a place. harm: a tag, and the type and count that it is said to have."""
    codes = {2: "s", 3: "H", 4: "I", 7: "s", 11: "f"}
    count, entry, size = ("Q", "HHQ", 8) if big else ("H", "HHI", 4)
    head, tail = struct.pack(order + count, len(entries)), b""
    end = begin + len(head) + len(entries) * (4 + 2 * size) + size
    for tag, (kind, values) in sorted(entries.items()):
        text = isinstance(values, bytes)
        data = values if text else struct.pack(f"{order}{len(values)}{codes[kind]}", *values)
        number = struct.pack(order + entry, *(harm if harm[:1] == (tag,) else (tag, kind, len(values))))
        if len(data) > size:
            place, data = struct.pack(order + entry[-1], end + len(tail)), data + bytes(len(data) % 2)
            tail += data
        else:
            place = data.ljust(size, b"\0")
        head += number + place
    return head + bytes(size) + tail


def exif(rng: np.random.Generator) -> tuple[bytes, int]:
    """A block of EXIF, and the orientation in it."""
    order, turn = one_of("<>", rng), int(rng.integers(1, 9))
    entries = {274: (3, [turn]), 271: (2, b"maker\0"), 700: (7, rng.bytes(9)), 283: (4, [72])}
    entries = {tag: entry for tag, entry in entries.items() if tag == 274 or often(rng)}
    head = struct.pack(order + "2sHI", b"II" if order == "<" else b"MM", 42, 8)
    return head + directory(entries, order, 8), turn


def counted(data: bytes, most: int, less: int = 0) -> bytes:
    """Pieces of at most so many bytes, each after a byte with its length less a number."""
    pieces = [data[at : at + most] for at in range(0, len(data), most)]
    return b"".join(bytes([len(piece) - less]) + piece for piece in pieces)


def end(rng: np.random.Generator) -> bytes:
    """Bytes behind the end of a file."""
    return rng.bytes(int(rng.integers(1, 30))) if often(rng, 0.1) else b""


# PNG

PNG_KINDS = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), *((3, 2**k) for k in range(4))]
PNG_KINDS += [(kind, depth) for kind in (4, 6) for depth in (8, 16)]
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def paeth(left: np.ndarray, above: np.ndarray, corner: np.ndarray) -> np.ndarray:
    far = [abs(left + above - corner - one) for one in (left, above, corner)]
    nearest_above = np.where(far[1] <= far[2], above, corner)
    return np.where((far[0] <= far[1]) & (far[0] <= far[2]), left, nearest_above)


def filtered(lines: np.ndarray, step: int, rng: np.random.Generator) -> bytes:
    """Lines of bytes, each through one of PNG's five filters; step: bytes of a pixel."""
    lines = lines.astype(int)
    above = np.vstack([np.zeros_like(lines[:1]), lines[:-1]])
    left, corner = (np.pad(one, ((0, 0), (step, 0)))[:, : lines.shape[1]] for one in (lines, above))
    guesses = np.stack([0 * lines, left, above, (left + above) // 2, paeth(left, above, corner)])
    kinds = rng.integers(5, size=len(lines))
    rest = lines - guesses[kinds, np.arange(len(lines))]
    return np.hstack([kinds[:, None], rest]).astype(np.uint8).tobytes()


def png(rng: np.random.Generator) -> Picture:
    kind, depth = one_of(PNG_KINDS, rng)
    most, n_channels = 2**depth - 1, {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    samples = draw(most + 1, n_channels, rng)
    chunks, opacity, sure = [], np.ones(samples.shape[:2]), True
    shown = samples[:, :, : 3 if kind & 2 else 1] / most
    if kind == 3:
        colours = rng.integers(256, size=(int(samples.max()) + 1, 3))
        alphas = np.full(len(colours), 255)
        chunks = [chunk(b"PLTE", bytes(colours.ravel().tolist()))]
        if often(rng):
            n = int(rng.integers(1, len(alphas) + 1))
            alphas[:n] = rng.integers(256, size=n)
            chunks += [chunk(b"tRNS", bytes(alphas[:n].tolist()))]
        shown, opacity = colours[samples[:, :, 0]] / 255, alphas[samples[:, :, 0]] / 255
    elif kind & 4:
        opacity = samples[:, :, -1] / most
    elif often(rng):
        clear = (
            one_of(samples.reshape(-1, n_channels), rng) if often(rng, 0.8) else rng.integers(most + 1, size=n_channels)
        )
        chunks = [chunk(b"tRNS", clear.astype(">u2").tobytes())]
        opacity = (samples != clear).any(axis=2).astype(float)
        sure = (kind, depth) != (2, 16)
    turn = 1
    if often(rng, 0.3):
        block, turn = exif(rng)
        chunks += [chunk(b"eXIf", block)]
    if often(rng, 0.3):
        chunks.insert(0, chunk(*one_of(((b"tEXt", b"Comment\0x"), (b"vpAg", b"abc"), (b"gAMA", b"\0\0\xb1\x8f")), rng)))
    interlaced = often(rng)
    passes = [samples[y::dy, x::dx] for y, x, dy, dx in (ADAM7 if interlaced else ((0, 0, 1, 1),))]
    step = max(1, depth * n_channels // 8)
    lines = b"".join(filtered(packed(one.reshape(len(one), -1), depth), step, rng) for one in passes if one.size)
    height, width = samples.shape[:2]
    pixels = zlib.compress(lines, int(rng.integers(10)))
    cut = int(rng.integers(len(pixels)))
    data = b"".join(
        [
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, depth, kind, 0, 0, interlaced)),
            *chunks,
            *(chunk(b"IDAT", part) for part in (pixels[:cut], pixels[cut:])),
            *([chunk(b"tIME", b"\7\xd9\1\1\0\0\0")] if often(rng, 0.2) else []),
            chunk(b"IEND", b"") + end(rng),
        ]
    )
    tolerance = EXACT + ROUNDED * bool(kind & 2) + ROUNDED * (kind >= 3) + 2 * CUT * (depth == 16 and kind > 0)
    return Picture(data, upright(grey(shown, opacity), turn), tolerance, sure)


# GIF


def gif(rng: np.random.Generator) -> Picture:
    bits = int(rng.integers(1, 9))
    samples = draw(1 << bits, 1, rng)[:, :, 0]
    height, width = samples.shape
    other, colours = rng.integers(256, size=(2, 1 << bits, 3))
    clear = int(rng.integers(1 << bits)) if often(rng) else -1
    local, interlaced = often(rng), often(rng)
    order = [y for start, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(start, height, step)]
    levels = (samples[order] if interlaced else samples).astype(np.uint8).tobytes()
    code_bits = max(2, bits)
    table, unused = (bytes(one.ravel().tolist()) for one in (colours, other))

    def blocks(data: bytes) -> bytes:
        return (
            b"".join(bytes([len(data[at : at + 255])]) + data[at : at + 255] for at in range(0, len(data), 255)) + b"\0"
        )

    flags = local << 7 | interlaced << 6 | (bits - 1) * local
    frame = b",\0\0\0\0" + struct.pack("<HHB", width, height, flags) + table * local
    frame += bytes([code_bits]) + counted(lzw(levels, code_bits, "little"), 255) + b"\0"
    control = b"!\xf9\4" + struct.pack("<BHBB", 1, 5, clear, 0) if clear >= 0 else b""
    data = b"".join(
        [
            b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80 | bits - 1, 0, 0) + (unused if local else table),
            b"!\xfe" + counted(b"a comment", 255) + b"\0" if often(rng, 0.3) else b"",
            control + frame,
            b"!\xf9\4\4\5\0\0\0" + frame if often(rng, 0.2) else b"",  # a second frame
            b";" + end(rng),
        ]
    )
    return Picture(data, grey(colours[samples] / 255, samples != clear), EXACT + ROUNDED)


# PNM


def pnm(rng: np.random.Generator) -> Picture:
    kind = one_of(b"123456f", rng)
    most = {b"1"[0]: 1, b"4"[0]: 1}.get(kind, int(one_of((255, 255, 65535, 1, 7, 100, 256, 1000), rng)))
    samples = draw(most + 1, 3 if kind in b"36" else 1, rng)
    height, width = samples.shape[:2]
    space = one_of((b" ", b"\n", b"\t", b" # a comment\n "), rng)
    if kind == b"f"[0]:  # as floats from the last line up
        scale, dtype = one_of(((b"-1.0", "<f4"), (b"1.0", ">f4")), rng)
        data = b"Pf\n%d %d\n%b\n" % (width, height, scale) + (samples[::-1] / most).astype(dtype).tobytes()
        return Picture(data, samples[:, :, 0] / most, EXACT)
    head = [b"P%c" % kind, b"%d" % width, b"%d" % height] + [b"%d" % most] * (kind not in b"14")
    if kind in b"123":
        body = one_of((b" ", b"\n"), rng).join(b"%d" % level for level in samples.ravel()) + b"\n"
    else:
        bits = 1 if kind in b"4" else 8 if most < 256 else 16
        body = packed(samples.reshape(height, -1), bits).tobytes() + end(rng)
    levels = samples / most
    tolerance = EXACT + (ROUNDED if kind in b"36" or most not in (1, 255, 65535) else 0) + ROUNDED * (kind in b"36")
    return Picture(space.join(head) + b"\n" + body, grey(1 - levels if kind in b"14" else levels), tolerance)


# BMP


def rle(row: np.ndarray, bits: int, rng: np.random.Generator) -> bytes:
    """A line as runs of a colour, and as colours one by one."""
    out, at = b"", 0
    while at < len(row):
        n = min(len(row) - at, int(rng.integers(3, 255)))
        if n >= 3 and often(rng):
            body = packed(row[at : at + n], bits).tobytes()
            out += bytes([0, n]) + body + bytes(len(body) % 2)
        else:
            n = int((row[at : at + n] == row[at]).cumprod().sum())
            out += bytes([n, row[at] * (17 if bits == 4 else 1)])
        at += n
    return out + b"\0\0"


BMP_KINDS = {  # bits: the number of levels of blue, green, red and, if any, alpha; or 0 for a palette
    "1": (1, 0),
    "4": (4, 0),
    "8": (8, 0),
    "4, runs": (4, 0),
    "8, runs": (8, 0),
    "16": (16, (32, 32, 32)),
    "16, masks": (16, (32, 64, 32)),
    "24": (24, (256, 256, 256)),
    "32": (32, (256, 256, 256)),
    "32, masks": (32, (256, 256, 256)),
    "32, alpha": (32, (256, 256, 256, 256)),
}


def bmp(rng: np.random.Generator) -> Picture:
    kind = one_of(list(BMP_KINDS), rng)
    bits, counts = BMP_KINDS[kind]
    runs, masks = kind.endswith("runs"), kind.endswith(("masks", "alpha"))
    samples = draw(256 if counts else 1 << bits, len(counts or (1,)), rng) % (counts or 1 << bits)
    height, width = samples.shape[:2]
    opacity, table = 1.0, b""
    header = 108 if kind == "32, alpha" else int(one_of((40, 108, 124) if runs or masks else (12, 40, 108, 124), rng))
    if counts:
        widths = [(count - 1).bit_length() for count in counts]
        shifts = np.cumsum([0, *widths[:-1]])
        pixels = (samples << shifts).sum(axis=2)
        fields = [(count - 1) << int(shift) for count, shift in zip(counts, shifts, strict=True)]
        levels = (samples / (np.array(counts) - 1))[:, :, 2::-1]
        opacity = samples[:, :, 3] / 255 if len(counts) == 4 else 1.0
        body = packed(pixels, bits).reshape(height, width, -1)[:, :, ::-1].reshape(height, -1)
        table = struct.pack("<3I", *fields[2::-1]) if masks and header == 40 else b""
    else:
        colours = rng.integers(256, size=(1 << bits, 3))
        levels = colours[samples[:, :, 0]][:, :, ::-1] / 255
        table = np.pad(colours, ((0, 0), (0, header > 12))).astype(np.uint8).tobytes()
        body = packed(samples[:, :, 0], bits)
    body = np.pad(body, ((0, 0), (0, -body.shape[1] % 4)))
    down = header > 12 and not runs and often(rng, 0.3)
    data = body[:: 1 if down else -1].tobytes()
    if runs:
        data = b"".join(rle(row, bits, rng) for row in samples[::-1, :, 0]) + b"\0\1"
    gap = int(rng.integers(9)) if often(rng, 0.2) else 0
    packing = {8: 1, 4: 2}[bits] if runs else 3 * masks
    if header == 12:
        info = struct.pack("<I4H", 12, width, height, 1, bits)
    else:
        info = struct.pack(
            "<IiiHH6I", header, width, -height if down else height, 1, bits, packing, len(data), 0, 0, 0, 0
        )
        info += (struct.pack("<4I", *fields[2::-1], *fields[3:] or (0,)) if masks else b"").ljust(header - 40, b"\0")
    offset = 14 + len(info) + len(table) + gap
    head = struct.pack("<2sIHHI", b"BM", offset + len(data), 0, 0, offset)
    tolerance = EXACT + ROUNDED + CUT * (bits == 16) + ROUNDED * (kind == "32, alpha")
    sure = not (runs and offset % 2)  # Pillow counts from the beginning of the file
    return Picture(head + info + table + bytes(gap) + data + end(rng), grey(levels, opacity), tolerance, sure)


# TIFF


class Layout(NamedTuple):
    """Numbers of a TIFF. sure: False if it may be refused. kind: whole, signed or floating-point numbers."""

    photometric: int
    bits: int
    n_channels: int = 1
    sure: bool = True
    kind: int = 1
    extra: int = -1  # 0: a channel that means nothing, 1: premultiplied opacity, 2: opacity


WHITE, BLACK, RGB, PALETTE, CMYK = 0, 1, 2, 3, 5
LAYOUTS = [
    *(Layout(white, bits) for white in (WHITE, BLACK) for bits in (1, 2, 4, 8)),
    *(Layout(PALETTE, bits) for bits in (1, 2, 4, 8)),
    *(Layout(RGB, bits, 3) for bits in (8, 8, 16)),
    *(Layout(RGB, 8, 4, extra=extra) for extra in range(3)),
    *(Layout(BLACK, 8, 2, sure=False, extra=extra) for extra in range(3)),
    *(Layout(RGB, 16, 4, sure=False, extra=extra) for extra in range(3)),
    *(Layout(white, bits, sure=False) for white, bits in ((WHITE, 16), (BLACK, 12), (BLACK, 32), (WHITE, 32))),
    *(Layout(CMYK, bits, 4) for bits in (8, 16)),
    *(Layout(BLACK, bits, kind=2) for bits in (8, 16, 16, 16, 32)),
    *(Layout(BLACK, bits, sure=bits == 32, kind=3) for bits in (16, 32, 32, 64)),
    Layout(WHITE, 32, sure=False, kind=3),
    Layout(BLACK, 16),
]
FLOAT_STEPS = 20  # from 0 to 1
PACKINGS: dict[int, Callable[[bytes], bytes]] = {
    1: bytes,
    5: lambda data: lzw(data, 8, "big"),
    8: zlib.compress,
    32773: partial(counted, most=128, less=1),
}


def tiff_levels(samples: np.ndarray, layout: Layout, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
    """The numbers as stored, and the grey levels that they mean."""
    most = 2**layout.bits - 1
    if layout.kind == 3:
        dtype = np.dtype(f"u{layout.bits // 8}")
        numbers = (samples / FLOAT_STEPS * one_of((1, 1, 1, 255), rng)).astype(f"f{layout.bits // 8}")
        outside = numbers.max() > 1 or layout.photometric == WHITE
        return numbers.view(dtype).astype(np.int64), None if outside else numbers[:, :, 0].astype(float)
    if layout.kind == 2:
        return samples, None
    levels, opacity = samples / most, 1.0
    if layout.extra > 0:
        if layout.extra == 1:
            samples = np.minimum(samples, samples[:, :, -1:])
        levels, opacity = samples[:, :, :-1] / most, samples[:, :, -1] / most
        if layout.extra == 1:
            return samples, grey(levels) + 1 - opacity
    if layout.photometric == CMYK:
        levels = (1 - levels[:, :, :3]) * (1 - levels[:, :, 3:])
    levels = levels[:, :, : 3 if layout.photometric in (RGB, CMYK) else 1]
    return samples, grey(1 - levels if layout.photometric == WHITE else levels, opacity)


def tiff_blocks(samples: np.ndarray, bits: int, order: str, predicted: bool, rows: int, tile: int) -> list[bytes]:
    """Strips of so many rows or, if tile is not 0, square tiles: the bytes of each."""
    height, width = samples.shape[:2]
    if tile:
        samples = np.pad(samples, ((0, -height % tile), (0, -width % tile), (0, 0)))
    step = tile or rows
    out = []
    for y in range(0, height, step):
        for x in range(0, width, tile or width):
            block = samples[y : y + step, x : x + (tile or width)]
            if predicted:
                block = np.diff(block.astype(np.int64), axis=1, prepend=0) % 2**bits
            raw = packed(block.reshape(len(block), -1), bits)
            if order == "<" and bits > 8 and bits % 8 == 0:
                raw = raw.reshape(-1, bits // 8)[:, ::-1]
            out.append(raw.tobytes())
    return out


def tiff(rng: np.random.Generator) -> Picture:
    layout = one_of(LAYOUTS, rng)
    bits, n_channels, sure = layout.bits, layout.n_channels, layout.sure
    samples, levels = tiff_levels(draw(FLOAT_STEPS + 1 if layout.kind == 3 else 2**bits, n_channels, rng), layout, rng)
    height, width = samples.shape[:2]
    order, packing, apart, big = one_of("<>", rng), one_of(list(PACKINGS), rng), often(rng, 0.2), often(rng, 0.1)
    predicted = packing in (5, 8) and bits in (8, 16) and layout.kind < 3 and often(rng)
    rows, tile = int(rng.integers(1, height + 1)), int(one_of((0, 0, 16, 32), rng))
    planes = np.split(samples, n_channels, axis=2) if apart else [samples]
    blocks = [
        PACKINGS[packing](block) for one in planes for block in tiff_blocks(one, bits, order, predicted, rows, tile)
    ]
    turn = int(rng.integers(1, 9)) if often(rng, 0.3) else 1
    begin = 16 if big else 8
    places = [begin + sum(map(len, blocks[:i])) for i in range(len(blocks))]
    sizes = [len(block) for block in blocks]
    entries: Entries = {
        256: (int(one_of((3, 4), rng)), [width]),
        257: (int(one_of((3, 4), rng)), [height]),
        258: (3, [bits] * n_channels),
        259: (3, [packing]),
        262: (3, [layout.photometric]),
        277: (3, [n_channels]),
        **({322: (3, [tile]), 323: (3, [tile]), 324: (4, places), 325: (4, sizes)} if tile else {}),
        **({} if tile else {273: (4, places), 278: (4, [rows]), 279: (4, sizes)}),
        **({274: (3, [turn])} if turn > 1 or often(rng) else {}),
        **({284: (3, [1 + apart])} if apart or often(rng) else {}),
        **({305: (2, b"made by a test\0")} if often(rng, 0.2) else {}),
        **({317: (3, [2])} if predicted else {}),
        **({338: (3, [layout.extra])} if layout.extra >= 0 else {}),
        **({339: (3, [layout.kind] * n_channels)} if layout.kind > 1 or often(rng) else {}),
        **({65000: (4, rng.integers(2**32, size=3).tolist())} if often(rng, 0.2) else {}),
    }
    if layout.photometric == PALETTE:
        colours = rng.integers(256, size=(3, 2**bits))
        entries[320] = (3, (colours * 257).ravel().tolist())
        levels = grey(colours.T[samples[:, :, 0]] / 255)
    harm: tuple[int, ...] = ()
    if often(rng, 0.3):  # an entry that nobody can read
        tag = int(one_of(list(entries), rng))
        kind, values = entries[tag]
        kinds = [(one, len(values)) for one in (0, 14, 200, 65535)] + [(kind, count) for count in (0, 99, 2**31)]
        harm = (tag, *one_of(kinds, rng))
    head = struct.pack(order + "2sH", b"II" if order == "<" else b"MM", 43 if big else 42)
    at = begin + sum(sizes)
    head += struct.pack(order + ("HHQ" if big else "I"), *((8, 0) if big else ()), at)
    data = head + b"".join(blocks) + directory(entries, order, at, harm, big) + end(rng)
    tolerance = (
        EXACT + ROUNDED * (layout.photometric > 1 or n_channels > 1) + (2 * CUT) * (bits == 16 and n_channels > 1)
    )
    tolerance += ROUNDED * (layout.extra > 0 or layout.photometric == CMYK) + (layout.extra == 1)
    if apart:
        sure &= bits == 8 and n_channels > 2 and layout.extra in (-1, 2)
    if order == ">":  # Pillow knows no big TIFF of this order
        sure &= not big and (layout.kind < 3 or packing == 1)
    return Picture(data, None if levels is None else upright(levels, turn), tolerance, sure and not harm)


# JPEG and WebP, by Pillow


def jpeg(rng: np.random.Generator) -> Picture:
    mode, n_channels = one_of((("L", 1), ("RGB", 3), ("CMYK", 4)), rng)
    samples = draw(256, n_channels, rng, smooth=True)
    levels = samples / 255
    block, turn = exif(rng) if often(rng) else (b"", 1)
    options = {"quality": int(rng.integers(92, 101)), "progressive": often(rng), "optimize": often(rng)}
    if block:
        options["exif"] = b"Exif\0\0" + block
    if often(rng):
        options["comment"] = b"a comment"
    if mode == "RGB":
        options["subsampling"] = int(rng.integers(3))
    if often(rng):
        options["restart_marker_blocks"] = int(rng.integers(1, 5))
    data = saved(samples, mode, "JPEG", options)
    if often(rng, 0.3):  # a segment of an application that nobody knows, behind the first two bytes
        data = data[:2] + b"\xff\xe9\0\7abcde" + data[2:]
    shown = (1 - levels[:, :, :3]) * (1 - levels[:, :, 3:]) if mode == "CMYK" else levels
    return Picture(data + end(rng), upright(grey(shown), turn), JPEG_TOLERANCE)


def webp(rng: np.random.Generator) -> Picture:
    mode, n_channels = one_of((("RGB", 3), ("RGBA", 4)), rng)
    lossless = often(rng)
    samples = draw(256, n_channels, rng, smooth=not lossless)
    block, turn = exif(rng) if often(rng, 0.3) else (b"", 1)
    options = {"lossless": lossless, "quality": 95, "exif": block, "method": 0}
    data = saved(samples, mode, "WEBP", options)
    if data[12:16] == b"VP8X" and often(rng):  # a chunk that nobody knows
        data += b"abcd\4\0\0\0efgh"
        data = data[:4] + struct.pack("<I", len(data) - 8) + data[8:]
    opacity = samples[:, :, 3] / 255 if mode == "RGBA" else 1.0
    levels = upright(grey(samples[:, :, :3] / 255, opacity), turn)
    return Picture(data + end(rng), levels, EXACT + 2 * ROUNDED if lossless else WEBP_TOLERANCE)


def saved(samples: np.ndarray, mode: str, kind: str, options: dict[str, Any]) -> bytes:
    file = BytesIO()
    levels = samples.astype(np.uint8)
    Image.frombytes(mode, levels.shape[1::-1], levels.tobytes()).save(file, kind, **options)
    return file.getvalue()


ENCODERS: dict[str, Callable[[np.random.Generator], Picture]] = {
    "PNG": png,
    "JPEG": jpeg,
    "TIFF": tiff,
    "BMP": bmp,
    "PNM": pnm,
    "GIF": gif,
    "WebP": webp,
}
