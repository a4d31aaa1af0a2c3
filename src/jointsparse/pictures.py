"""Decode a picture, turn it upright, and shrink it: to grey levels for features, or to colours for people.

Nothing of jointsparse is imported here, so that a process that checks pictures starts in a fifth of a second.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image, ImageChops, ImageOps

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

    Of several frames or pages, the first is read. Raises ValueError on more than `MOST_PIXELS`, on another mode than
    `MODES`, and on a TIFF that Pillow misreads. Pillow's decoders raise any error on damaged files.
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
        if misread := file.format == "TIFF" and _misread(file):
            raise ValueError(f"{misread}: {CONVERT}")
        file.draft(mode, (2 * longest_side, 2 * longest_side))  # JPEG decodes to a smaller picture at once
        _forget_xmp(file)  # before a TIFF is loaded, which turns it
        picture = (_with_alpha(path, file) if file.format in ("GIF", "PNG") else file).copy()
    _forget_xmp(picture)  # of a PNG it may stand behind the pixels, and of a JPEG its file has read it when opened
    ImageOps.exif_transpose(picture, in_place=True)
    return picture


def _forget_xmp(picture: Image.Image) -> None:
    """Leave the orientation to EXIF. Where EXIF says nothing, Pillow would turn by XMP, as no other program does."""
    for name in ("xmp", "XML:com.adobe.xmp"):
        picture.info.pop(name, None)


def _misread(file: Any) -> str:
    """Say what of a TIFF Pillow would pass over; "" if nothing."""
    tag, tags = ExifTags.Base, file.tag_v2
    if 2 in tags.get(tag.SampleFormat, ()):
        return "signed levels"
    if 0 < max(tags.get(tag.ColorMap, ()), default=0) < 256:  # Pillow divides by 256, as colours should have 16 bits
        return "a palette of 8 bits a level"
    if tags.get(tag.PlanarConfiguration, 1) == 2:
        decoded = any(tile.codec_name == "libtiff" for tile in file.tile)  # and not by Pillow, which ignores the others
        plain = set(tags.get(tag.BitsPerSample, ())) == {8} and tags.get(tag.FillOrder, 1) == 1
        plain &= tags.get(tag.PhotometricInterpretation, 0) != 0
        if file.mode == "LA" or not (decoded or plain):
            return "levels in separate planes"
    return ""


def _with_alpha(path: Path, file: Any) -> Image.Image:
    """A GIF or PNG, with what Pillow does not know to be transparent in an alpha channel."""
    tiles, level = file.tile, file.info.get("transparency")
    codings = [tile.args for tile in tiles] if file.format == "PNG" and level is not None else []
    file.load()
    if file.format == "GIF" and tiles[0].extents != (0, 0, *file.size):  # its first frame is smaller
        picture, box = file.convert("RGBA"), tiles[0].extents
        alpha = Image.new("L", file.size)
        alpha.paste(picture.getchannel("A").crop(box), box)
        picture.putalpha(alpha)
        return picture
    for coding, largest in (("L;2", 3), ("L;4", 15)):
        if coding in codings:  # Pillow scales levels to 8 bits, but not the transparent one
            file.info["transparency"] = (level & largest) * (255 // largest)
    if "RGB;16B" not in codings:
        return file
    # Pillow decodes the upper eight bits of a level, or with the name of the other order of bytes the lower eight. What
    # is transparent has both.
    file.info["transparency"] = tuple(one >> 8 for one in level)
    with path.open("rb") as stream, Image.open(stream, formats=["PNG"]) as lower:
        lower.tile = [tile._replace(args="RGB;16L") for tile in lower.tile]
        lower.info["transparency"] = tuple(one & 255 for one in level)
        alpha = lower.convert("RGBA").getchannel("A")
    picture = file.convert("RGBA")
    picture.putalpha(ImageChops.lighter(picture.getchannel("A"), alpha))
    return picture


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
