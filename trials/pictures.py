"""Read generated and damaged pictures with our reader and with two others: OpenCV and libvips.

    pip install opencv-python-headless pyvips[binary]
    python trials/pictures.py --cases 20000 --seed 1

The ways in which a case can end are listed in `harness.py`. A case is right if we read it as both others do, or as the
only other reader that can read it, and it is wrong if no other reader reads it like us. There are two more ways:

- disputed: the two others differ, and we read it as one of them does.
- alone: only we read it.

Two readings count as equal if their sizes are equal and the mean difference of their colours is at most `FAR`, because
decoders round and upsample differently. Large parts of a picture have one colour, so a wrong rotation or level gives a
much larger difference.
"""

import io
import struct
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import harness
import numpy as np
import pyvips
from harness import mutated
from PIL import Image, TiffImagePlugin

from jointsparse import pictures
from jointsparse.pipeline.datasets import picture_check

FAR = 8.0  # mean difference over pixels and colours, in levels of 255
NEAR = 2.0  # mean difference of two others that read the same
Rng = np.random.Generator


def drawn(rng: Rng, mode: str) -> Image.Image:
    """Draw a picture of four parts, each of which has one colour with a little noise."""
    height, width = rng.integers(32, 96, 2)
    parts = rng.integers(0, 256, (2, 2, 4))
    parts[0, 0] = 255 * (np.arange(4) % 2)
    levels = parts.repeat(height // 2, axis=0).repeat(width // 2, axis=1)
    levels = np.clip(levels + rng.integers(-2, 3, levels.shape), 0, 255).astype(np.uint8)
    if mode in ("RGBA", "LA"):
        picture = Image.fromarray(levels, "RGBA")
        picture.putalpha(Image.fromarray(np.where(levels[:, :, 3] > 128, 255, 0).astype(np.uint8)))
        return picture.convert(mode)
    if mode == "I;16":
        return Image.fromarray(levels[:, :, 0].astype(np.uint16) * 257)
    return Image.fromarray(levels[:, :, :3]).convert(mode)


def saved(picture: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def exif(rng: Rng) -> bytes:
    """Return random EXIF data, usually with an orientation."""
    block, turn = Image.Exif(), int(rng.integers(0, 9))
    block[0x0112 if turn else 0x010F] = turn or "maker"
    return block.tobytes()


def jpeg(rng: Rng) -> bytes:
    options = {"quality": int(rng.integers(60, 96)), "progressive": bool(rng.integers(2)), "exif": exif(rng)}
    mode = str(rng.choice(["L", "RGB", "RGB", "CMYK"]))
    return saved(drawn(rng, mode), "JPEG", subsampling=int(rng.integers(3)) if mode == "RGB" else -1, **options)


def png(rng: Rng) -> bytes:
    picture = drawn(rng, str(rng.choice(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])))
    options: dict[str, Any] = {"exif": exif(rng)} if rng.integers(2) else {}
    if picture.mode in ("1", "L", "P") and rng.integers(3) == 0:
        options["transparency"] = int(rng.integers(2 if picture.mode == "1" else 256))
    if picture.mode == "P" and rng.integers(2):
        options["bits"] = int(rng.choice([1, 2, 4]))
    return saved(picture, "PNG", **options)


def gif(rng: Rng) -> bytes:
    frames = [drawn(rng, "P") for _ in range(rng.integers(1, 3))]
    data = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    if len(frames) > 1 and rng.integers(2):  # a larger screen; programs differ in how they fill it for a single frame
        width, height = struct.unpack_from("<HH", data, 6)
        data = data[:6] + struct.pack("<HH", width + int(rng.integers(20)), height + int(rng.integers(20))) + data[10:]
    return data


def tiff(rng: Rng) -> bytes:
    mode = str(rng.choice(["1", "L", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LA", "I;16"]))
    packings = [None, "tiff_lzw", "tiff_adobe_deflate", "packbits"]
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    if rng.integers(2):
        tags[274] = int(rng.integers(1, 9))
    return saved(drawn(rng, mode), "TIFF", compression=packings[rng.integers(4)], tiffinfo=tags)


def bmp(rng: Rng) -> bytes:
    return saved(drawn(rng, str(rng.choice(["1", "L", "P", "RGB", "RGBA"]))), "BMP")


def pnm(rng: Rng) -> bytes:
    if rng.integers(3):
        return saved(drawn(rng, str(rng.choice(["1", "L", "RGB", "I;16"]))), "PPM")
    levels, most = np.asarray(drawn(rng, "L")), int(rng.choice([15, 255, 1023]))
    numbers = " ".join(map(str, (levels.astype(int) * most // 255).ravel()))
    return f"P2\n{levels.shape[1]} {levels.shape[0]}\n{most}\n{numbers}\n".encode()


def webp(rng: Rng) -> bytes:
    mode = str(rng.choice(["RGB", "RGBA"]))
    return saved(drawn(rng, mode), "WEBP", lossless=bool(rng.integers(2)), quality=90, exif=exif(rng))


def avif(rng: Rng) -> bytes:
    return saved(drawn(rng, "RGB"), "AVIF", quality=90, exif=exif(rng))


MAKERS: dict[str, Callable[[Rng], bytes]] = {
    "JPEG": jpeg,
    "PNG": png,
    "GIF": gif,
    "TIFF": tiff,
    "BMP": bmp,
    "PNM": pnm,
    "WebP": webp,
    "AVIF": avif,
}


def by_opencv(data: bytes) -> np.ndarray | None:
    """Return the colours on white, or None for transparent or rotated pictures that OpenCV does not read as such."""
    if b"ftypavif" in data[:32] and (b"irot" in data or b"imir" in data):
        return None
    coded = np.frombuffer(data, np.uint8)
    colour, whole = (cv2.imdecode(coded, flag) for flag in (cv2.IMREAD_COLOR_RGB, cv2.IMREAD_UNCHANGED))
    if colour is None or whole is None or whole.dtype != np.uint8:
        return None
    if whole.ndim == 3 and whole.shape[2] == 4:
        upright = cv2.cvtColor(np.ascontiguousarray(whole[:, :, :3]), cv2.COLOR_BGR2RGB)
        if upright.shape != colour.shape or (upright != colour).any():
            return None
        opacity = whole[:, :, 3:] / 255.0
        return np.asarray(colour * opacity + 255 * (1 - opacity))
    return np.asarray(colour, dtype=float)


def by_libvips(data: bytes) -> np.ndarray | None:
    try:
        picture = pyvips.Image.new_from_buffer(data, "", fail_on="error").autorot()
        if picture.format != "uchar":
            return None
        picture = picture.colourspace("srgb")
        picture = picture.flatten(background=[255] * 3) if picture.hasalpha() else picture
        return np.asarray(picture.numpy(), dtype=float).reshape(picture.height, picture.width, -1)[:, :, :3]
    except pyvips.Error:
        return None


def same(one: np.ndarray, other: np.ndarray, most: float = FAR) -> bool:
    return one.shape == other.shape and bool(np.abs(one - other).mean() <= most)


def compared(make: Callable[[Rng], bytes], rng: Rng, folder: Path) -> str:
    """Make a picture, and compare our reader with the others."""
    data = make(rng)
    (folder / "picture").write_bytes(data)
    reason = picture_check.check_picture(folder / "picture", 4, 4000)[0]
    if reason:
        harness.refuse(ValueError(reason), longest=400)
    ours = pictures.open_colour(folder / "picture", 4000).astype(float)
    others = {name: read(data) for name, read in (("OpenCV", by_opencv), ("libvips", by_libvips))}
    known = {name: got for name, got in others.items() if got is not None}
    agree = [name for name, got in known.items() if same(ours, got)]
    if len(agree) == len(known):
        return "right" if known else "alone"
    disputed = agree or (len(known) == 2 and not same(*known.values(), NEAR))
    harness.require(disputed, f"as read by nobody of {', '.join(known)}")
    return "disputed"


def damaged(rng: Rng) -> bytes:
    pieces = [b"\0", b"\xff\xd9", b"\xff\xff\xff\xff"]
    return mutated(MAKERS[str(rng.choice(list(MAKERS)))](rng), rng, pieces, 40)


KINDS = {kind: partial(compared, make) for kind, make in (MAKERS | {"damaged": damaged}).items()}

if __name__ == "__main__":
    sys.exit(harness.run(KINDS, harness.parser(__doc__, 20_000).parse_args()))
