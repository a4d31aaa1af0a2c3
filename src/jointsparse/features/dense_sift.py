"""Dense SIFT: histograms of gradient orientations on a regular grid of square patches, with several patch sizes.

The descriptor: Lowe, D. (2004), Distinctive image features from scale-invariant keypoints, IJCV 60(2), Section 6.
Its square root: Arandjelovic, R. and Zisserman, A. (2012), Three things everyone should know to improve object
retrieval, CVPR, Section 3.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jointsparse.checks import require, require_grid, require_picture
from jointsparse.compiled import njit

CELLS_PER_SIDE = 4  # cells along one side of a patch
ORIENTATIONS = 8
LENGTH = CELLS_PER_SIDE * CELLS_PER_SIDE * ORIENTATIONS
STEPS_PER_UNIT = 512  # the uint8 value v stands for v / 512; larger components are clipped at 255 / 512

PATCH_SIZES_PIXELS = (16, 24, 32)
STEP_PIXELS = 8
CLIP = 0.2
MIN_CONTRAST = 0.005  # grey levels per pixel
SMALLEST_CONTRAST = 1e-6  # grey levels per pixel; for smaller values, squared gradients approach the smallest float32
ONES = np.ones(LENGTH // ORIENTATIONS, np.float32)


# These kernels do not use fast-math, so that sums have a fixed order and descriptors are the same on all machines.


@njit(nogil=True, error_model="numpy")
def _orientation_channels(padded: np.ndarray) -> np.ndarray:
    """Return the gradient magnitudes, each divided between its two nearest orientations: (height, width, 8).

    padded: the picture with one additional pixel on every side.
    """
    height, width = padded.shape[0] - 2, padded.shape[1] - 2
    channels = np.empty((height, width, ORIENTATIONS), np.float32)
    magnitude = np.empty(width, np.float32)
    turn = np.empty(width, np.float32)
    for y in range(height):
        above, row, below = padded[y], padded[y + 1], padded[y + 2]
        for x in range(width):
            dx = (row[x + 2] - row[x]) * np.float32(0.5)
            dy = (below[x + 1] - above[x + 1]) * np.float32(0.5)
            magnitude[x] = np.sqrt(dx * dx + dy * dy)
            # Angle in eighths of a turn. The arc tangent of Abramowitz and Stegun, 4.4.47, is accurate to 1e-5 radians.
            long, short = max(abs(dx), abs(dy)), min(abs(dx), abs(dy))
            q = short / (long + np.float32(1e-30))
            s = q * q
            p = np.float32(-0.0851330) + s * np.float32(0.0208351)
            p = np.float32(-0.3302995) + s * (np.float32(0.1801410) + s * p)
            t = q * (np.float32(0.9998660) + s * p) * np.float32(4.0 / np.pi)
            t = t if abs(dy) <= abs(dx) else np.float32(2.0) - t
            t = t if dx >= 0 else np.float32(4.0) - t
            turn[x] = t if dy >= 0 else np.float32(8.0) - t
        for x in range(width):
            channel = channels[y, x]
            for o in range(ORIENTATIONS):
                apart = abs(turn[x] - np.float32(o))
                apart = min(apart, np.float32(8.0) - apart)
                channel[o] = magnitude[x] * max(np.float32(0.0), np.float32(1.0) - apart)
    return channels


@njit(nogil=True, error_model="numpy")
def _fill_cell(cell: np.ndarray, pixels: np.ndarray, weights: np.ndarray) -> None:
    """Write cell[o] = sum_x weights[x] * pixels[x, o]. Eight named sums are used, so that they stay in registers."""
    a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    e, f, g, h = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for x in range(len(weights)):
        weight = weights[x]
        if weight > 0:
            k = x * ORIENTATIONS
            a += weight * pixels[k]
            b += weight * pixels[k + 1]
            c += weight * pixels[k + 2]
            d += weight * pixels[k + 3]
            e += weight * pixels[k + 4]
            f += weight * pixels[k + 5]
            g += weight * pixels[k + 6]
            h += weight * pixels[k + 7]
    cell[0], cell[1], cell[2], cell[3] = a, b, c, d
    cell[4], cell[5], cell[6], cell[7] = e, f, g, h


@njit(nogil=True, error_model="numpy")
def _sum(values: np.ndarray, sums: np.ndarray) -> np.float32:
    """Return the sum of a descriptor. Orientations are summed first, so that the loop vectorises. Overwrites `sums`."""
    _fill_cell(sums, values, ONES)
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))


@njit(nogil=True, error_model="numpy")
def _finish(
    raw: np.ndarray, smallest_sum: np.float32, clip: np.float32, rootsift: bool, descriptor: np.ndarray
) -> None:
    """Normalise the histograms `raw`, clip them, normalise them again and round them to uint8. Overwrites `raw`."""
    sums = np.empty(ORIENTATIONS, np.float32)
    if _sum(raw, sums) < smallest_sum:
        descriptor[:] = 0
        return
    bound = clip * np.sqrt(_sum(raw * raw, sums))
    for k in range(LENGTH):
        raw[k] = min(raw[k], bound)
    scale = np.float32(STEPS_PER_UNIT) / np.sqrt(_sum(raw if rootsift else raw * raw, sums))
    for k in range(LENGTH):
        root = np.sqrt(raw[k]) if rootsift else raw[k]
        descriptor[k] = np.uint8(min(np.float32(255), root * scale + np.float32(0.5)))


@njit(nogil=True, error_model="numpy")
def _describe_scale(
    channels: np.ndarray,
    weights: np.ndarray,
    step: int,
    clip: float,
    rootsift: bool,
    min_contrast: float,
    descriptors: np.ndarray,
) -> None:
    """Fill `descriptors` for all patches of one size, row by row. weights: (4, size), from `_cell_weights`."""
    height, width = channels.shape[:2]
    size = weights.shape[1]
    flat = channels.reshape(height, width * ORIENTATIONS)
    cell_rows = np.empty((CELLS_PER_SIDE, width * ORIENTATIONS), np.float32)
    raw = np.empty(LENGTH, np.float32)
    smallest_sum = np.float32(min_contrast) * weights.sum() ** 2
    n = 0
    for top in range(0, height - size + 1, step):
        cell_rows[:] = 0
        for y in range(size):
            pixel_row = flat[top + y]
            for i in range(CELLS_PER_SIDE):
                weight = weights[i, y]
                if weight > 0:
                    cell_row = cell_rows[i]
                    for k in range(width * ORIENTATIONS):
                        cell_row[k] += weight * pixel_row[k]
        for left in range(0, width - size + 1, step):
            for i in range(CELLS_PER_SIDE):
                for j in range(CELLS_PER_SIDE):
                    _fill_cell(
                        raw[(i * CELLS_PER_SIDE + j) * ORIENTATIONS :], cell_rows[i, left * ORIENTATIONS :], weights[j]
                    )
            _finish(raw, smallest_sum, np.float32(clip), rootsift, descriptors[n])
            n += 1


def _cell_weights(size: int) -> np.ndarray:
    """Return the weights that the pixels along one side of a patch have in its four cells: (4, size) float32."""
    # Choice: only pixels inside the patch count, as in Lowe's 16 x 16 samples. There is no Gaussian window, because on
    # a dense grid there is no keypoint at the centre of a patch.
    pixels = (np.arange(size) + 0.5) * CELLS_PER_SIDE / size
    centres = np.arange(CELLS_PER_SIDE) + 0.5
    return np.maximum(0.0, 1.0 - np.abs(pixels - centres[:, None])).astype(np.float32)


def describe(
    picture: np.ndarray,
    *,
    patch_sizes: Sequence[int] = PATCH_SIZES_PIXELS,
    step: int = STEP_PIXELS,
    clip: float = CLIP,
    rootsift: bool = True,
    min_contrast: float = MIN_CONTRAST,
) -> np.ndarray:
    """Compute the SIFT descriptors of all patches of a grid: contrast-normalised orientation histograms of 4 x 4 cells.

    The gradient of pixel p has the magnitude m(p) and the angle angle(p). The histogram of a patch of side s has the
    following value for the cell in row i and column j and for orientation o:

    $$
    h[i, j, o] = sum_p  m(p) t(4 y_p / s - i - 1/2) t(4 x_p / s - j - 1/2) t((angle(p) - 45 o) / 45),
    t(z) = max(0, 1 - |z|),    f = min(h / |h|_2, clip),    descriptor = sqrt(f / |f|_1)  or  f / |f|_2
    $$

    Parameters
    ----------
    picture : array, shape (height, width)
        Grey levels in [0, 1], which are converted to float32. Edge pixels are repeated beyond the border.
    patch_sizes : sequence of int
        Sides s of the square patches in pixels, at least 4.
    step : int
        Distance between neighbouring patches in pixels. The first patch begins in the top left corner.
    clip : float
        Largest component of the l2-normalised histogram, in (0, 1].
    rootsift : bool
        Whether to normalise by |f|_1 and take the square root (Arandjelovic and Zisserman), instead of normalising by
        |f|_2 (Lowe).
    min_contrast : float
        Smallest weighted mean of m, in grey levels per pixel. Patches with less contrast have a descriptor of zeros.
        0.005 corresponds to 1.3 of 255 grey levels.

    Returns
    -------
    descriptors : array, shape (n_descriptors, 128), uint8
        Ordered by patch size, then row by row from the top left. n_descriptors is the sum over the sizes s of
        ((height - s) // step + 1) ((width - s) // step + 1). The components of a descriptor are ordered by cell row,
        cell column and orientation. Orientation o stands for gradients towards 45 o degrees, with x to the right and y
        down. The value v stands for v / 512, and components above 255 / 512 are clipped. With and without `rootsift`,
        descriptors have unit l2 norm, that is about 512.

    Raises
    ------
    ValueError
        If the picture is not two-dimensional, holds NaN, has values outside [0, 1] or is smaller than `smallest_side`,
        or if an option is outside its range.

    Notes
    -----
    Source: Lowe (2004), Section 6, and Arandjelovic and Zisserman (2012), Section 3.

    Examples
    --------
    >>> ramp = np.tile(np.linspace(0, 1, 64, dtype=np.float32), (48, 1))
    >>> descriptors = describe(ramp, patch_sizes=(16,), step=8)
    >>> descriptors.shape
    (35, 128)
    >>> descriptors[0].reshape(4, 4, 8)[1, 1]  # the grey level rises to the right, so only orientation 0 occurs
    array([128,   0,   0,   0,   0,   0,   0,   0], dtype=uint8)
    """
    _check_options(patch_sizes, step, clip, min_contrast)
    require_picture(picture, smallest_side(patch_sizes=patch_sizes))
    picture = np.ascontiguousarray(picture, dtype=np.float32)
    height, width = picture.shape
    counts = [((height - size) // step + 1) * ((width - size) // step + 1) for size in patch_sizes]
    channels = _orientation_channels(np.pad(picture, 1, mode="edge"))
    # Choice: flat patches are kept as rows of zeros, so that the index of a row determines its place in the picture.
    # The vocabulary learns a word for flat patches.
    descriptors = np.empty((sum(counts), LENGTH), np.uint8)
    for size, part in zip(patch_sizes, np.split(descriptors, np.cumsum(counts)[:-1]), strict=True):
        _describe_scale(channels, _cell_weights(size), step, clip, rootsift, min_contrast, part)
    return descriptors


def smallest_side(*, patch_sizes: Sequence[int] = PATCH_SIZES_PIXELS, rootsift: bool = True, **others: Any) -> int:
    """Return the smallest side in pixels that a picture must have to contain a patch of every size.

    Takes and checks the options of `describe`, but depends only on `patch_sizes`.

    >>> smallest_side(patch_sizes=(16, 24, 32), step=8)
    32
    """
    _check_options(patch_sizes, **others)
    return int(max(patch_sizes))


def patches(
    height: int,
    width: int,
    *,
    patch_sizes: Sequence[int] = PATCH_SIZES_PIXELS,
    step: int = STEP_PIXELS,
    **others: object,
) -> np.ndarray:
    """Return the top, left and side in pixels of the patch of each descriptor, in the order of `describe`.

    Parameters
    ----------
    height, width : int
        Size of the picture in pixels.
    patch_sizes : sequence of int
        Sides of the patches in pixels.
    step : int
        Distance between neighbouring patches in pixels.
    **others : object
        Other options of `describe`, which are ignored.

    Returns
    -------
    patches : array, shape (n_descriptors, 3), int
        A patch holds the pixels [top : top + side, left : left + side]. Its gradients depend on one more pixel on every
        side.

    Examples
    --------
    >>> patches(24, 24, patch_sizes=(16, 24), step=8).tolist()
    [[0, 0, 16], [0, 8, 16], [8, 0, 16], [8, 8, 16], [0, 0, 24]]
    """
    return np.array(
        [
            (top, left, side)
            for side in patch_sizes
            for top in range(0, height - side + 1, step)
            for left in range(0, width - side + 1, step)
        ]
    )


def _check_options(
    patch_sizes: Sequence[int], step: int = STEP_PIXELS, clip: float = CLIP, min_contrast: float = MIN_CONTRAST
) -> None:
    require_grid(patch_sizes, step)
    require(0 < clip <= 1, f"clip must be above 0 and at most 1, got {clip!r}")
    require(
        SMALLEST_CONTRAST <= min_contrast <= 1,
        f"min_contrast must be between {SMALLEST_CONTRAST:g} and 1, got {min_contrast!r}",
    )
