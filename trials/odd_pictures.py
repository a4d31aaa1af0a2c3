"""Write the small, unusual pictures that tests/test_pictures.py reads, some of which come from failed trials.

    python trials/odd_pictures.py tests/pictures

There is one folder for each image that the pictures show, and a folder `listed` for pictures that must be left out. The
pictures were written once and are kept in git, because other versions of Pillow write other bytes. Because no library
here can write HEIC, `camera.heic` was taken with a real, rotated camera.
"""

import argparse
import struct
import zlib
from base64 import b85decode
from io import BytesIO
from itertools import product
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

RAMP = np.tile(np.linspace(0, 255, 64).astype(np.uint8), (48, 1))
GREY = Image.fromarray(RAMP)


def encoded(picture, kind, **options):
    file = BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


SUFFIXES = {
    "BMP": "bmp",
    "GIF": "gif",
    "JPEG": "jpg",
    "PNG": "png",
    "PPM": "ppm",
    "TIFF": "tif",
    "WEBP": "webp",
    "AVIF": "avif",
}
SAVED = {kind: encoded(GREY, kind) for kind in SUFFIXES}  # the ramp, 64 x 48 pixels
PNG = SAVED["PNG"]


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(bits, colour, row, transparent=(), side=(64, 48)):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *side, bits, colour, 0, 0, 0))
    level = chunk(b"tRNS", struct.pack(f">{len(transparent)}H", *transparent)) if transparent else b""
    return PNG[:8] + header + level + chunk(b"IDAT", zlib.compress(48 * (b"\0" + row))) + chunk(b"IEND", b"")


def tiff_of(changes, harm=()):
    """Return an 8-bit grey TIFF of zeros, with changed tags. harm: a tag with the type and count to give it."""
    size = 48 * 64
    entries = {256: 64, 257: 48, 258: 8, 262: 1, 273: 8, 277: 1, 279: size} | changes
    kinds = dict.fromkeys(entries, (3, 1)) | dict([harm] if harm else [])
    rows = [struct.pack("<HHII", tag, *kinds[tag], entries[tag]) for tag in sorted(entries)]
    head = struct.pack("<2sHI", b"II", 42, 8 + size) + bytes(size)
    return head + struct.pack("<H", len(rows)) + b"".join(rows) + bytes(4)


def tiff(levels, **options):
    file = BytesIO()
    tifffile.imwrite(file, levels, **options)
    return file.getvalue()


def avif_to_be_cut():
    """Return an AVIF with a `clap` box, which crops the picture. Decoders do not have to follow the box."""
    data = bytearray(encoded(GREY.convert("RGB"), "AVIF"))
    begin = data.index(b"mdat") + 4
    struct.pack_into(">I", data, data.index(struct.pack(">I", begin)), begin + 40)
    for name in (b"meta", b"iprp", b"ipco"):
        at = data.index(name) - 4
        struct.pack_into(">I", data, at, struct.unpack_from(">I", data, at)[0] + 40)
    end = at + struct.unpack_from(">I", data, at)[0] - 40
    return bytes(data[:end] + struct.pack(">I4s8I", 40, b"clap", 32, 1, 24, 1, 0, 1, 0, 1) + data[end:])


def enlarged(kind, before, layout, width_first=True):
    """Return a small picture whose header claims 20,000 x 20,000 pixels."""
    sizes = (64, 48) if width_first else (48, 64)
    found = before + struct.pack(layout, *sizes)
    assert SAVED[kind].count(found) == 1
    return SAVED[kind].replace(found, before + struct.pack(layout, 20_000, 20_000))


def frames(kind, **options):
    """Return a picture with two frames, of which the first shows the ramp and the second the mirrored ramp."""
    first, second = (Image.fromarray(levels).convert("RGB") for levels in (RAMP, RAMP[:, ::-1].copy()))
    return encoded(first, kind, save_all=True, append_images=[second], **options)


CAMERA = Image.Exif()
CAMERA[0x010F] = "maker"
# Written by jpegtran.
ARITHMETIC = b85decode(
    "|JeWF01!$>Nk#wx0RR9200961|JwjV01XKW3knDg3knMk4h;_zAQcl55)&sJ9v2`kDKRiEDJ?8BI!Zn>HbyrrEkIX6ModmpQ&KWMT47pHU`kO^"
    "PyfjP3kU!(06+l&5di<p00saM5C#9*00;pA002J#{{XVB;e+M`jsE~}!j5uGSC4ipUy%~ta?Hye5#vC6_q>njjU>nsm<)Ho;^80Y===$*OeTo`*#"
)
COMMENT = b"\xff\xfe\xff\x5a" + bytes(0xFF58)
LEVELS = np.arange(192, 256)
# The image that each picture shows, and the pixels that a camera stores for it with each orientation tag.
UPRIGHT = np.tile(np.r_[np.zeros(32), np.full(32, 255)].astype(np.uint8), (48, 1))
UPRIGHT[:24] //= 2
STORED = {
    1: UPRIGHT,
    2: UPRIGHT[:, ::-1],
    3: UPRIGHT[::-1, ::-1],
    4: UPRIGHT[::-1],
    5: UPRIGHT.T,
    6: np.rot90(UPRIGHT),
    7: UPRIGHT[::-1, ::-1].T,
    8: np.rot90(UPRIGHT, -1),
}


def of_camera(kind, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(Image.fromarray(np.ascontiguousarray(STORED[orientation])), kind, exif=exif)


# Grey levels from 0 to 255, in the upper half at half the brightness, 64 x 48 pixels, from a camera that was rotated by
# 90 degrees. Nothing here can write HEIC.
HEIC = zlib.decompress(
    b85decode(
        b"c-muNV30{GsVvAy&8%Pmg51nBLl8SRGck>Uf$>0YYDppk1Sn>t<P<^K3<a6VB@Af5Br_*J8N_gLU|?ck1hE*OKxiQF28sazlRjKT1&A#"
        b"&GxO5GJdms?kdq2l22_(#mTbs?B*+L-;#!djR?b(DS(3{DRmt!_v!JK|NZ-pWNX`ej4yf0ek%a@uoc{x)NbUo}pFcl<On&ABpbl{dMjp"
        b"oh|3M0v!77-6N_H_hBm(7BofsKWB@Q&Ph()iSH0#-c1_lP629RJ&5>O?Z3**7!1D!zQg_HAhit>_kDuANA3~WFp3?iAu1*uSvIzX{Ta!"
        b"z6alnrvW0h9)N|NsC0AE3bi^jt+I*l!>oaAp?emjK<tAemW^3yTa!21d3<CT7-_HXuhTvnVwUD#4eWQk)D9evrxKxhaXDcyiZZT&I3y+"
        b"V*R~tP}o6J+S!X=H|d`z#`I`?Q1=MgB+K`ora!JiOc-+FP<qsB6lZA<I#b*#Lmk$OP~DymuGk8;H17Qp|?L|UH}@!28jY+Uj{88kAs1c"
        b"Q3w=DpzwgW000w<dy4"
    )
)


LISTED = {
    "text.jpg": b"hello",
    "beginning.jpg": b"\xff\xd8\xff\xe0 nothing more",
    "eps.jpg": encoded(Image.new("RGB", (8, 8)), "EPS"),  # Ghostscript would open it
    "too-many-pixels.bmp": enlarged("BMP", b"(\0\0\0", "<II"),
    "too-many-pixels.gif": enlarged("GIF", b",\0\0\0\0", "<HH"),  # the size of the frame
    "too-many-pixels.jpg": enlarged("JPEG", b"\xff\xc0\0\x0b\x08", ">HH", width_first=False),
    "too-many-pixels.png": png(8, 0, bytes(64), side=(20_000, 20_000)),
    "too-many-pixels.ppm": SAVED["PPM"].replace(b"64 48", b"20000 20000", 1),
    "too-many-pixels.tif": tiff_of({256: 20_000, 257: 20_000}),
    "a-few-too-many-pixels.png": png(8, 0, bytes(64), side=(10_000, 10_000)),
    # The last byte of the pixels is changed, just before the final twelve bytes.
    "wrong-checksum.png": PNG[:-13] + bytes([PNG[-13] ^ 1]) + PNG[-12:],
    "uint16.tif": tiff(RAMP.astype(np.uint16) * 257),
    "int32.tif": tiff(RAMP.astype(np.int32) << 20),
    "int16.tif": tiff(RAMP.astype(np.int16) - 128),
    "float32.tif": tiff((RAMP / 255).astype(np.float32)),
    # After the comment, its pixels cross the 64 KiB that Pillow passes to the decoder at a time.
    "arithmetic-beyond-64-KiB.jpg": ARITHMETIC[:2] + COMMENT + ARITHMETIC[2:],
    # The file claims to have grey levels of ten bits.
    "of-10-bits.heic": HEIC.replace(b"\xfc\xfc\xf8\xf8", b"\xfc\xfc\xfa\xf8"),
    "half.heic": HEIC[: len(HEIC) // 2],
    **{f"without-its-last-{cut}-bytes.png": PNG[:-cut] for cut in (8, 12, 20)},
    **{f"half.{SUFFIXES[kind]}": data[: len(data) // 2] for kind, data in SAVED.items()},
}
TURNED = Image.Exif()
TURNED[0x0112] = 6
HALF_RAMP = Image.fromarray(np.vstack([RAMP[:24] // 2, RAMP[24:]]))
EXACT = {
    "0-is-black.tif": tiff(RAMP, photometric="minisblack"),
    "big.tif": tiff(RAMP, bigtiff=True),
    "planes-apart.tif": tiff(np.stack([RAMP] * 3), photometric="rgb", planarconfig="separate"),
    "animated.png": encoded(GREY, "PNG", save_all=True, append_images=[Image.fromarray(RAMP[::-1].copy())]),
    "up-to-255.ppm": b"P5 64 48 255\n" + RAMP.tobytes(),
}
ROUGH = {
    "channel-that-means-nothing.tif": tiff(
        np.dstack([RAMP] * 3 + [0 * RAMP]), photometric="rgb", extrasamples=["unspecified"]
    ),
    "to-be-cut.avif": avif_to_be_cut(),
    "frames.gif": frames("GIF"),
    "frames.tif": frames("TIFF"),
    "frames.webp": frames("WEBP", lossless=True),
    "frames.jpg": frames("MPO", quality=95),
    **{f"{mode}.tif": encoded(GREY.convert(mode), "TIFF") for mode in ("L", "LA", "P", "RGB", "RGBA", "CMYK")},
    "cmyk-not-inverted.jpg": encoded(GREY.convert("CMYK"), "JPEG", quality=95),
}
UPRIGHT_FILES = {
    f"{orientation}.{SUFFIXES[kind]}": of_camera(kind, orientation)
    for kind, orientation in product(("JPEG", "PNG", "WEBP", "TIFF"), STORED)
}
FILES = {
    "listed": LISTED,
    "ramp": EXACT,
    "nearly-ramp": ROUGH,
    "halves": {
        f"of-1-bit.{SUFFIXES[kind]}": encoded(Image.fromarray(RAMP > 127), kind) for kind in ("TIFF", "PNG", "BMP")
    },
    "inverse": {"0-is-white.tif": tiff(RAMP, photometric="miniswhite")},
    "levels": {"a-level-transparent.png": png(8, 0, bytes(range(192, 256)), [200])},
    "upright": UPRIGHT_FILES,
    "ramp-turned": {"camera.heic": HEIC, "camera.avif": encoded(HALF_RAMP, "AVIF", quality=90, exif=TURNED)},
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target
    for folder, files in FILES.items():
        place = target / folder
        place.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (place / name).write_bytes(data)
