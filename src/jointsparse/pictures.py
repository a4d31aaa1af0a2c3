"""Decode a picture, turn it upright, and shrink it: to grey levels for features, or to colours for people.

Nothing of jointsparse is imported here, so that a process that checks pictures starts in a fifth of a second.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

# Kinds of pictures that are opened, whatever the suffix says. Pillow would hand others (EPS) to other programs.
FORMATS: tuple[str, ...] = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
if find_spec("PIL._avif"):  # from Pillow 11.3 on, in most builds
    FORMATS += ("AVIF",)
if find_spec("pi_heif"):
    from pi_heif import register_heif_opener

    register_heif_opener(thumbnails=False, depth_images=False, aux_images=False)
    FORMATS += ("HEIF",)  # HEIC too. Behind AVIF, as some files of that kind begin alike
# Modes of 8 bits a level that pictures of each of these kinds have, as Pillow calls them.
MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr")
CONVERT = "save it as a JPEG, or a PNG of 8 bits a level"
MOST_PIXELS = 89_478_485  # Pillow begins to warn of a decompression bomb here: 256 MiB in colour
GREY_OF_COLOUR = (0.299, 0.587, 0.114)  # as Pillow makes it, ITU-R 601-2


def open_grey(path: Path, longest_side: int) -> np.ndarray:
    """A photograph as grey levels in [0, 1], float32 (height, width), upright, at most `longest_side` pixels long.

    Of several frames or pages, the first is read. Raises ValueError on more than `MOST_PIXELS` and on another mode than
    `MODES`. Pillow's decoders raise any error on damaged files.
    """
    return _shrunk(_as_grey(_upright(path, "L", longest_side)), longest_side)


def open_colour(path: Path, longest_side: int) -> np.ndarray:
    """A photograph for people to look at, uint8 (height, width, 3), otherwise as `open_grey` reads it."""
    return shrunk_colour(_on_white(_upright(path, "RGB", longest_side)), longest_side)


def shrunk_colour(picture: Image.Image, longest_side: int) -> np.ndarray:
    """Shrink a picture without transparency to at most `longest_side` pixels, uint8 (height, width, 3)."""
    colour = picture.convert("RGB")
    colour.thumbnail((longest_side, longest_side))
    return np.asarray(colour)


def _upright(path: Path, mode: str, longest_side: int) -> Image.Image:
    """A photograph as its file has it, but turned upright. mode: "L" or "RGB", where the file leaves a choice."""
    # A stream, as Pillow 13 maps a named file of a turned, uncompressed TIFF into memory with width for height.
    with path.open("rb") as stream, Image.open(stream, formats=FORMATS) as file:
        if file.width * file.height > MOST_PIXELS:
            raise ValueError(f"{file.width} x {file.height} pixels are more than {MOST_PIXELS:,}")
        if file.mode not in MODES:
            raise ValueError(f"{file.mode} levels: {CONVERT}")
        file.draft(mode, (2 * longest_side, 2 * longest_side))  # JPEG decodes to a smaller picture at once
        return ImageOps.exif_transpose(file)


def grey_of(picture: np.ndarray, longest_side: int) -> np.ndarray:
    """A picture in memory as `open_grey` returns it from a file of the same pixels.

    picture: (height, width) or (height, width, 3), uint8, or floating-point in [0, 1]. Raises ValueError on others.
    """
    floating = picture.dtype.kind == "f"
    if not (floating or picture.dtype == np.uint8) or picture.ndim < 2 or picture.shape[2:] not in ((), (3,)):
        raise ValueError(
            "a picture must be (height, width) or (height, width, 3), uint8 or floating-point, got shape "
            f"{picture.shape} of {picture.dtype}"
        )
    if not floating:
        return _shrunk(_as_grey(Image.fromarray(picture)), longest_side)
    low, high = picture.min(), picture.max()
    if not (low >= 0 and high <= 1):  # NaN is refused too
        raise ValueError(f"floating-point grey levels must lie in [0, 1], got {low} to {high}")
    grey = picture @ GREY_OF_COLOUR if picture.ndim == 3 else picture
    return _shrunk(Image.fromarray(grey.astype(np.float32)), longest_side)


def _shrunk(grey: Image.Image, longest_side: int) -> np.ndarray:
    """Shrink a picture to at most `longest_side` pixels. Smaller ones stay as they are."""
    factor = min(1.0, longest_side / max(grey.size))
    size = max(1, round(grey.width * factor)), max(1, round(grey.height * factor))
    if size != grey.size:
        grey = grey.resize(size, Image.Resampling.BOX if grey.size[0] > 4 * size[0] else Image.Resampling.LANCZOS)
    return np.clip(np.asarray(grey, dtype=np.float32), 0.0, 1.0)


def _as_grey(picture: Image.Image) -> Image.Image:
    """Grey levels in [0, 1] as a float picture, transparency on white."""
    return Image.fromarray(np.asarray(_on_white(picture).convert("L"), dtype=np.float32) / np.float32(255))


def _on_white(picture: Image.Image) -> Image.Image:
    if not picture.has_transparency_data:
        return picture
    picture = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
