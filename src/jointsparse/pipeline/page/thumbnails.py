"""Thumbnails of pictures, and the maps that are laid over them, as WebP files."""

import io
from collections.abc import Sequence
from math import isqrt

import numpy as np
from PIL import Image

LONGEST_SIDE = 240  # pixels; the page enlarges thumbnails
QUALITY = 60  # Choice: a thumbnail then takes 5 to 8 kB, and a map 1 kB
COARSER = 4  # side of a pixel of a map, in pixels of the picture
# Choice: a picture whose pixels all had the full colour would have this score, in standard deviations of the word's
# scores. In photographs, one pixel in a hundred has the full colour. The scale is the same for all pictures of a word,
# whatever their size.
FULL = 16.0
FOR, AGAINST = (178, 24, 43), (33, 102, 172)  # red and blue
OPAQUE = 210  # opacity of the full colour, on a scale from 0 to 255


def file_of(row: int, word: int | None = None) -> str:
    """Return the path, relative to the page, of an image's thumbnail or, if `word` is given, of its map.

    The file name consists of the image's row and the word's index, because image names may contain any characters.
    """
    return f"thumbnails/{row:06d}{'' if word is None else f'-{word:03d}'}.webp"


def of_features(row: np.ndarray) -> np.ndarray | None:
    """Draw features between 0 and 1 as enlarged pixels, uint8 (side, side, 3); None if they do not fill a square."""
    side = isqrt(len(row))
    if side * side != len(row) or not side:
        return None
    grey = (255 * np.clip(row, 0, 1)).astype(np.uint8).reshape(side, side)
    # A feature of 0 is drawn white and a feature of 1 black.
    larger = max(1, LONGEST_SIDE // 2 // side)
    return np.repeat(np.kron(255 - grey, np.ones((larger, larger), np.uint8))[:, :, np.newaxis], 3, axis=2)


def overlay(heat: np.ndarray, full: float) -> np.ndarray:
    """Draw the map laid over a thumbnail, uint8 (height, width, 4): red supports a word, blue speaks against it.

    heat: (height, width), see `features.explain`. full: the value of `heat` that is drawn in the full colour. The map
    is about as coarse as the patches of the picture.
    """
    height, width = (max(1, side // COARSER) for side in heat.shape)
    small = Image.fromarray(heat.astype(np.float32) / np.float32(full)).resize((width, height), Image.Resampling.BOX)
    strength = np.asarray(small)[:, :, np.newaxis]
    ink = np.where(strength > 0, FOR, AGAINST)
    return np.concatenate([ink, OPAQUE * np.clip(np.abs(strength), 0, 1)], axis=2).round().astype(np.uint8)


def overlays(heats: Sequence[np.ndarray], spread: np.ndarray) -> list[bytes]:
    """Draw the maps of a picture, and return the contents of their files.

    heats: the `heat` of each map, see `overlay`. spread: for each map, the standard deviation, over all pictures, of
    the scores that the map explains.
    """
    pairs = zip(heats, spread, strict=True)
    return [encoded(overlay(heat, FULL * deviation / heat.size)) for heat, deviation in pairs]


def encoded(picture: np.ndarray) -> bytes:
    """Encode a picture, uint8 (height, width, 3 or 4), as the content of a WebP file."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "WEBP", quality=QUALITY, method=2)
    return file.getvalue()
