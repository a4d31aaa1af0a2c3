"""Thumbnails of pictures and of their maps, as WebP files."""

import io
from collections.abc import Sequence
from math import isqrt

import numpy as np
from PIL import Image

LONGEST_SIDE = 240  # pixels; the page enlarges thumbnails
QUALITY = 60  # Choice: a thumbnail then takes 5 to 8 kB, and a map 1 kB
COARSER = 4  # side of a pixel of a map, in pixels of the picture
# Choice: the full colour corresponds to a picture with this score, in standard deviations of the word's scores, if all
# its pixels had that colour. In photographs, one pixel in a hundred has it. This gives all pictures of a word the same
# scale, whatever their size.
FULL = 16.0
FOR, AGAINST = (178, 24, 43), (33, 102, 172)  # red and blue
OPAQUE = 210  # opacity of the full colour, of 255


def file_of(row: int, word: int | None = None) -> str:
    """Return the path, relative to the page, of an image's thumbnail or of its map for a word.

    The file name consists of the image's row and the word's index, because image names may contain any characters.
    """
    return f"thumbnails/{row:06d}{'' if word is None else f'-{word:03d}'}.webp"


def of_features(row: np.ndarray) -> np.ndarray | None:
    """Draw features from 0 to 1 as enlarged pixels, uint8 (side, side, 3); return None if they do not fill a square."""
    side = isqrt(len(row))
    if side * side != len(row) or not side:
        return None
    grey = (255 * np.clip(row, 0, 1)).astype(np.uint8).reshape(side, side)
    # A feature of 0 is drawn white and a feature of 1 black.
    larger = max(1, LONGEST_SIDE // 2 // side)
    return np.repeat(np.kron(255 - grey, np.ones((larger, larger), np.uint8))[:, :, np.newaxis], 3, axis=2)


def overlay(heat: np.ndarray, full: float) -> np.ndarray:
    """Draw the map that is laid over a thumbnail, uint8 (height, width, 4): red speaks for a word, blue against it.

    heat: (height, width), see `features.explain`. full: the value that gets the full colour. The map is about as coarse
    as the patches of the picture.
    """
    height, width = (max(1, side // COARSER) for side in heat.shape)
    small = Image.fromarray(heat.astype(np.float32) / np.float32(full)).resize((width, height), Image.Resampling.BOX)
    strength = np.asarray(small)[:, :, np.newaxis]
    ink = np.where(strength > 0, FOR, AGAINST)
    return np.concatenate([ink, OPAQUE * np.clip(np.abs(strength), 0, 1)], axis=2).round().astype(np.uint8)


def overlays(heats: Sequence[np.ndarray], spread: np.ndarray) -> list[bytes]:
    """Draw the maps of a picture, and return the contents of their files.

    heats: see `overlay`. spread: for each map, the standard deviation over pictures of the scores that it explains.
    """
    pairs = zip(heats, spread, strict=True)
    return [encoded(overlay(heat, FULL * deviation / heat.size)) for heat, deviation in pairs]


def encoded(picture: np.ndarray) -> bytes:
    """Encode a picture, uint8 (height, width, 3 or 4), as the content of a WebP file."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "WEBP", quality=QUALITY, method=2)
    return file.getvalue()
