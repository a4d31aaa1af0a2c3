"""Thumbnails of pictures, as files of WebP."""

import io
from math import isqrt

import numpy as np
from PIL import Image

LONGEST_SIDE = 160  # pixels
QUALITY = 70  # Choice: 4 to 6 kB each


def file_of(row: int) -> str:
    """Path of the thumbnail of an image, as a page finds it, by its row. Names of images may be anything."""
    return f"thumbnails/{row:06d}.webp"


def of_features(row: np.ndarray) -> np.ndarray | None:
    """A picture whose pixels are features from 0 to 1, uint8 (side, side, 3), enlarged; None if it is no square."""
    side = isqrt(len(row))
    if side * side != len(row) or not side:
        return None
    grey = (255 * np.clip(row, 0, 1)).astype(np.uint8).reshape(side, side)
    larger = max(1, LONGEST_SIDE // 2 // side)
    return np.repeat(np.kron(255 - grey, np.ones((larger, larger), np.uint8))[:, :, np.newaxis], 3, axis=2)


def encoded(picture: np.ndarray) -> bytes:
    """A picture (height, width, 3) uint8 as the content of a file."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "WEBP", quality=QUALITY, method=2)
    return file.getvalue()
