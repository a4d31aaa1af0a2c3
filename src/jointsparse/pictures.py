"""Decode pictures, turn them upright and shrink them, either as grey levels for features or in colour for display.

This module imports nothing from jointsparse, so that a process that checks pictures starts in a fifth of a second.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image, ImageChops, ImageOps

# File formats that are opened, regardless of a file's suffix. Pillow passes some other formats (EPS) to other programs.
FORMATS: tuple[str, ...] = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
if find_spec("PIL._avif"):  # from Pillow 11.3 on, in most builds
    FORMATS += ("AVIF",)
if find_spec("pi_heif"):
    from pi_heif import register_heif_opener

    register_heif_opener(thumbnails=False, depth_images=False, aux_images=False)
    FORMATS += ("HEIF",)  # includes HEIC; tried after AVIF, because some AVIF files begin like HEIF files
# Pillow's names for the modes with at most 8 bits per channel.
MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr")
CONVERT = "save it as a JPEG, or as a PNG with 8 bits per channel"
MOST_PIXELS = 89_478_485  # 256 MiB in colour; from here on Pillow warns of a decompression bomb
GREY_OF_COLOUR = (0.299, 0.587, 0.114)  # weights of red, green and blue in Pillow's conversion, ITU-R 601-2


def open_grey(path: Path, longest_side: int) -> np.ndarray:
    """Read a photograph as grey levels in [0, 1]: float32 (height, width).

    The picture is turned upright and shrunk to at most `longest_side` pixels on its longer side. If the file has
    several frames or pages, the first one is read. Raises ValueError if the picture has more than `MOST_PIXELS` pixels
    or a mode that is not in `MODES`, or is a TIFF that Pillow misreads. Damaged files can raise any error of Pillow's
    decoders.
    """
    return _shrunk(_as_grey(_upright(path, "L", longest_side)), longest_side)


def open_colour(path: Path, longest_side: int) -> np.ndarray:
    """Read a photograph in colour, for display, as uint8 (height, width, 3). In all other respects like `open_grey`."""
    return shrunk_colour(_on_white(_upright(path, "RGB", longest_side)), longest_side)


def open_resized(path: Path, height: int, width: int) -> np.ndarray:
    """Read a photograph, resized to `height` x `width` whatever its aspect ratio, as uint8. See also `open_grey`."""
    return _resized(_on_white(_upright(path, "RGB", max(height, width))).convert("RGB"), height, width)


def shrunk_colour(picture: Image.Image, longest_side: int) -> np.ndarray:
    """Shrink an opaque picture to at most `longest_side` pixels on its longer side; return uint8 (height, width, 3)."""
    colour = picture.convert("RGB")
    colour.thumbnail((longest_side, longest_side))
    return np.asarray(colour)


def _upright(path: Path, mode: str, longest_side: int) -> Image.Image:
    """Decode a photograph and turn it upright. mode: "L" or "RGB", the mode in which a JPEG is decoded if possible."""
    # Opened as a stream, because Pillow 13 swaps width and height of a rotated, uncompressed TIFF that it memory-maps.
    with path.open("rb") as stream, Image.open(stream, formats=FORMATS) as file:
        if file.width * file.height > MOST_PIXELS:
            raise ValueError(f"{file.width} x {file.height} pixels are more than {MOST_PIXELS:,}")
        if file.mode not in MODES:
            raise ValueError(f"{file.mode} levels: {CONVERT}")
        if misread := file.format == "TIFF" and _misread(file):
            raise ValueError(f"{misread}: {CONVERT}")
        file.draft(mode, (2 * longest_side, 2 * longest_side))  # a JPEG can be decoded at a smaller size
        _forget_xmp(file)  # before the pixels are loaded, because loading a TIFF turns it
        picture = (_with_alpha(path, file) if file.format in ("GIF", "PNG") else file).copy()
    _forget_xmp(picture)  # again, because in a PNG the XMP may follow the pixels
    ImageOps.exif_transpose(picture, in_place=True)
    return picture


def _forget_xmp(picture: Image.Image) -> None:
    """Remove XMP metadata, so that only EXIF decides the orientation. Pillow would use XMP if there is no EXIF."""
    for name in ("xmp", "XML:com.adobe.xmp"):
        picture.info.pop(name, None)


def _misread(file: Any) -> str:
    """Name the property because of which Pillow would decode a TIFF wrongly, or return "" if there is none."""
    tag, tags = ExifTags.Base, file.tag_v2
    if 2 in tags.get(tag.SampleFormat, ()):
        return "signed levels"
    if 0 < max(tags.get(tag.ColorMap, ()), default=0) < 256:  # Pillow divides by 256: palettes should have 16 bits
        return "a palette with 8 bits per channel"
    if tags.get(tag.PlanarConfiguration, 1) == 2:
        decoded = any(tile.codec_name == "libtiff" for tile in file.tile)  # Pillow itself would ignore other planes
        plain = set(tags.get(tag.BitsPerSample, ())) == {8} and tags.get(tag.FillOrder, 1) == 1
        plain &= tags.get(tag.PhotometricInterpretation, 0) != 0
        if file.mode == "LA" or not (decoded or plain):
            return "levels in separate planes"
    return ""


def _with_alpha(path: Path, file: Any) -> Image.Image:
    """Load a GIF or PNG, and store transparency that Pillow would overlook in an alpha channel."""
    tiles, level = file.tile, file.info.get("transparency")
    codings = [tile.args for tile in tiles] if file.format == "PNG" and level is not None else []
    file.load()
    if file.format == "GIF" and tiles[0].extents != (0, 0, *file.size):  # the first frame does not fill the picture
        picture, box = file.convert("RGBA"), tiles[0].extents
        alpha = Image.new("L", file.size)
        alpha.paste(picture.getchannel("A").crop(box), box)
        picture.putalpha(alpha)
        return picture
    for coding, largest in (("L;2", 3), ("L;4", 15)):
        if coding in codings:  # Pillow scales grey levels to 8 bits, but not the level that is transparent
            file.info["transparency"] = (level & largest) * (255 // largest)
    if "RGB;16B" not in codings:
        return file
    # Pillow decodes the upper eight bits of a 16-bit level or, with the opposite byte order ("RGB;16L"), the lower
    # eight. A pixel is transparent if both halves match the transparent colour.
    file.info["transparency"] = tuple(channel >> 8 for channel in level)
    with path.open("rb") as stream, Image.open(stream, formats=["PNG"]) as lower:
        lower.tile = [tile._replace(args="RGB;16L") for tile in lower.tile]
        lower.info["transparency"] = tuple(channel & 255 for channel in level)
        alpha = lower.convert("RGBA").getchannel("A")
    picture = file.convert("RGBA")
    picture.putalpha(ImageChops.lighter(picture.getchannel("A"), alpha))
    return picture


def grey_of(picture: np.ndarray, longest_side: int) -> np.ndarray:
    """Convert a picture in memory to the array that `open_grey` returns for a file with the same pixels.

    picture: (height, width) or (height, width, 3), uint8, or floating-point in [0, 1]. Other arrays raise ValueError.
    """
    _require_levels(picture)
    if picture.dtype == np.uint8:
        return _shrunk(_as_grey(Image.fromarray(picture)), longest_side)
    grey = picture @ GREY_OF_COLOUR if picture.ndim == 3 else picture
    return _shrunk(Image.fromarray(grey.astype(np.float32)), longest_side)


def resized(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """Convert a picture in memory to the array that `open_resized` returns for a file with the same pixels.

    picture: (height, width) or (height, width, 3), uint8, or floating-point in [0, 1]. Other arrays raise ValueError.
    """
    _require_levels(picture)
    levels = picture if picture.dtype == np.uint8 else np.rint(255 * picture).astype(np.uint8)
    return _resized(Image.fromarray(levels).convert("RGB"), height, width)


def _resized(colours: Image.Image, height: int, width: int) -> np.ndarray:
    return np.asarray(colours.resize((width, height), Image.Resampling.BICUBIC))


def _require_levels(picture: np.ndarray) -> None:
    """Raise ValueError unless `grey_of` accepts the shape, type and range of a picture in memory."""
    floating = picture.dtype.kind == "f"
    if not (floating or picture.dtype == np.uint8) or picture.ndim < 2 or picture.shape[2:] not in ((), (3,)):
        raise ValueError(
            "a picture must be (height, width) or (height, width, 3), uint8 or floating-point, got shape "
            f"{picture.shape} of {picture.dtype}"
        )
    if floating:
        low, high = picture.min(), picture.max()
        if not (low >= 0 and high <= 1):  # this form of the condition also rejects NaN
            raise ValueError(f"floating-point levels must lie in [0, 1], got {low} to {high}")


def _shrunk(grey: Image.Image, longest_side: int) -> np.ndarray:
    """Shrink a grey picture to at most `longest_side` pixels on its longer side. A smaller one keeps its size."""
    factor = min(1.0, longest_side / max(grey.size))
    size = max(1, round(grey.width * factor)), max(1, round(grey.height * factor))
    if size != grey.size:
        grey = grey.resize(size, Image.Resampling.BOX if grey.size[0] > 4 * size[0] else Image.Resampling.LANCZOS)
    return np.clip(np.asarray(grey, dtype=np.float32), 0.0, 1.0)


def _as_grey(picture: Image.Image) -> Image.Image:
    """Convert a picture to grey levels in [0, 1], with transparent parts on a white background."""
    return Image.fromarray(np.asarray(_on_white(picture).convert("L"), dtype=np.float32) / np.float32(255))


def _on_white(picture: Image.Image) -> Image.Image:
    if not picture.has_transparency_data:
        return picture
    picture = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
