"""Thumbnails of pictures, as files of WebP."""

import io
from collections.abc import Sequence
from math import isqrt

import numpy as np
from PIL import Image

LONGEST_SIDE = 240  # pixels; a page enlarges them
QUALITY = 60  # Choice: 5 to 8 kB each, and 1 kB of a map
COARSER = 4  # pixels of a picture in one of its map
# Choice: standard deviations of a word's decisions that a picture would add whose pixels all had the full colour. On
# photographs one pixel in a hundred has it. So a word has one scale, for pictures of any size.
FULL = 16.0
FOR, AGAINST, OPAQUE = (178, 24, 43), (33, 102, 172), 210  # red, blue, and how much of it covers a picture, of 255


def file_of(row: int, word: int | None = None) -> str:
    """Path of the thumbnail of an image, as a page finds it, by its row, or of the map of a word, by its place.

    Names of images may be anything.
    """
    return f"thumbnails/{row:06d}{'' if word is None else f'-{word:03d}'}.webp"


def of_features(row: np.ndarray) -> np.ndarray | None:
    """A picture whose pixels are features from 0 to 1, uint8 (side, side, 3), enlarged; None if it is no square."""
    side = isqrt(len(row))
    if side * side != len(row) or not side:
        return None
    grey = (255 * np.clip(row, 0, 1)).astype(np.uint8).reshape(side, side)
    # 0 is drawn white and 1 black.
    larger = max(1, LONGEST_SIDE // 2 // side)
    return np.repeat(np.kron(255 - grey, np.ones((larger, larger), np.uint8))[:, :, np.newaxis], 3, axis=2)


def overlay(heat: np.ndarray, full: float) -> np.ndarray:
    """A map that lies over a thumbnail, uint8 (height, width, 4): red speaks for a word, blue against it.

    heat: (height, width), see `features.explain`. full: what has the full colour. It is as coarse as patches are.
    """
    height, width = (max(1, side // COARSER) for side in heat.shape)
    small = Image.fromarray(heat.astype(np.float32) / np.float32(full)).resize((width, height), Image.Resampling.BOX)
    strength = np.asarray(small)[:, :, np.newaxis]
    ink = np.where(strength > 0, FOR, AGAINST)
    return np.concatenate([ink, OPAQUE * np.clip(np.abs(strength), 0, 1)], axis=2).round().astype(np.uint8)


def overlays(heats: Sequence[np.ndarray], spread: np.ndarray) -> list[bytes]:
    """The maps of a picture as contents of files.

    heats: see `overlay`. spread: standard deviation of the scores that each is of, over pictures.
    """
    pairs = zip(heats, spread, strict=True)
    return [encoded(overlay(heat, FULL * deviation / heat.size)) for heat, deviation in pairs]


def encoded(picture: np.ndarray) -> bytes:
    """A picture (height, width, 3 or 4) uint8 as the content of a file."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "WEBP", quality=QUALITY, method=2)
    return file.getvalue()
