"""Dense SIFT: histograms of gradient orientations on a regular grid of square patches, at several patch sizes.

Lowe, D. (2004), Distinctive image features from scale-invariant keypoints, IJCV 60(2), Section 6: the descriptor.
Arandjelovic, R. and Zisserman, A. (2012), Three things everyone should know to improve object retrieval, CVPR,
Section 3: its square root.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from jointsparse.checks import require_count

CELLS = 4  # along each side of a patch
ORIENTATIONS = 8
LENGTH = CELLS * CELLS * ORIENTATIONS
UNIT = 512  # the uint8 value v stands for v / UNIT; components above 255 / UNIT are cut there

PATCH_SIZES = (16, 24, 32)
STEP = 8
CLIP = 0.2
MIN_CONTRAST = 0.005
SMALLEST_CONTRAST = 1e-6  # below, squares of gradients come near the smallest float32


# No fast-math in these kernels: every sum has one order, so that all machines give the same descriptors.


@njit(cache=True, nogil=True, error_model="numpy")
def _orientation_channels(padded: np.ndarray) -> np.ndarray:
    """Gradient magnitude of each pixel, shared between its two nearest orientations: (height, width, 8).

    `padded` has one more pixel on every side than the picture.
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
            # The angle in eighths of a turn; the arc tangent by Abramowitz and Stegun, 4.4.47, to 1e-5 radians.
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


@njit(cache=True, nogil=True, error_model="numpy")
def _sum(values: np.ndarray) -> np.float32:
    """Sum of a descriptor in eight lanes, one per orientation: vector instructions, and still one fixed order."""
    a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    e, f, g, h = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for k in range(0, LENGTH, 8):
        a += values[k]
        b += values[k + 1]
        c += values[k + 2]
        d += values[k + 3]
        e += values[k + 4]
        f += values[k + 5]
        g += values[k + 6]
        h += values[k + 7]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@njit(cache=True, nogil=True, error_model="numpy")
def _finish(
    raw: np.ndarray, smallest_sum: np.float32, clip: np.float32, rootsift: bool, descriptor: np.ndarray
) -> None:
    """Normalise, clip, normalise again and round to uint8; spoils `raw`."""
    if _sum(raw) < smallest_sum:
        descriptor[:] = 0
        return
    largest = clip * np.sqrt(_sum(raw * raw))
    for k in range(LENGTH):
        raw[k] = min(raw[k], largest)
    if rootsift:
        scale = np.float32(UNIT) / np.sqrt(_sum(raw))
        for k in range(LENGTH):
            descriptor[k] = np.uint8(min(np.float32(255), np.sqrt(raw[k]) * scale + np.float32(0.5)))
    else:
        scale = np.float32(UNIT) / np.sqrt(_sum(raw * raw))
        for k in range(LENGTH):
            descriptor[k] = np.uint8(min(np.float32(255), raw[k] * scale + np.float32(0.5)))


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_cell(cell: np.ndarray, pixels: np.ndarray, weights: np.ndarray) -> None:
    """cell[o] = sum over x of weights[x] * pixels[x, o]; eight named sums, which the compiler keeps in a register."""
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


@njit(cache=True, nogil=True, error_model="numpy")
def _describe_scale(
    channels: np.ndarray,
    weights: np.ndarray,
    step: int,
    clip: float,
    rootsift: bool,
    min_contrast: float,
    descriptors: np.ndarray,
) -> None:
    """Fill `descriptors` with the patches of one size, row by row; `weights` (4, size) are those of `_cell_weights`."""
    height, width = channels.shape[:2]
    size = weights.shape[1]
    flat = channels.reshape(height, width * ORIENTATIONS)
    cell_rows = np.empty((CELLS, width * ORIENTATIONS), np.float32)
    raw = np.empty(LENGTH, np.float32)
    smallest_sum = np.float32(min_contrast) * weights.sum() ** 2
    n = 0
    for top in range(0, height - size + 1, step):
        cell_rows[:] = 0
        for y in range(size):
            pixel_row = flat[top + y]
            for i in range(CELLS):
                weight = weights[i, y]
                if weight > 0:
                    cell_row = cell_rows[i]
                    for k in range(width * ORIENTATIONS):
                        cell_row[k] += weight * pixel_row[k]
        for left in range(0, width - size + 1, step):
            for i in range(CELLS):
                for j in range(CELLS):
                    _fill_cell(raw[(i * CELLS + j) * ORIENTATIONS :], cell_rows[i, left * ORIENTATIONS :], weights[j])
            _finish(raw, smallest_sum, np.float32(clip), rootsift, descriptors[n])
            n += 1


def _cell_weights(size: int) -> np.ndarray:
    """Share of each of the patch's pixels in the four cells along one side: (4, size), float32."""
    # Choice: only pixels inside the patch count, as in Lowe's 16 x 16 samples, and no Gaussian window is laid over
    # them: on a dense grid no keypoint sits at the centre.
    pixels = (np.arange(size) + 0.5) * CELLS / size
    centres = np.arange(CELLS) + 0.5
    return np.maximum(0.0, 1.0 - np.abs(pixels - centres[:, None])).astype(np.float32)


def describe(
    picture: np.ndarray,
    *,
    patch_sizes: Sequence[int] = PATCH_SIZES,
    step: int = STEP,
    clip: float = CLIP,
    rootsift: bool = True,
    min_contrast: float = MIN_CONTRAST,
) -> np.ndarray:
    """SIFT descriptors of all patches of a grid: orientation histograms of 4 x 4 cells, free of contrast.

    With the gradient (m, angle) of every pixel p of a patch of side s, cells i and j, orientation o:

        h[i, j, o] = sum_p  m(p) t(4 y_p / s - i - 1/2) t(4 x_p / s - j - 1/2) t((angle(p) - 45 o) / 45),
        t(z) = max(0, 1 - |z|),    f = min(h / |h|_2, clip),    descriptor = sqrt(f / |f|_1)  or  f / |f|_2

    picture: grey levels in [0, 1], (height, width), made float32. Beyond its border it goes on with its edge pixels.
    patch_sizes: sides s of the square patches in pixels, at least 4 each.
    step: pixels between neighbouring patches; the first begins in the top left corner.
    clip: largest component of the unit histogram, in (0, 1].
    rootsift: whether to end with |f|_1 and the square root (Arandjelovic and Zisserman) or with |f|_2 (Lowe).
    min_contrast: patches whose weighted mean of m is smaller, in grey levels per pixel, have a descriptor of zeros;
        0.005 is 1.3 of 255 grey levels.

    Returns uint8 (n_descriptors, 128): size by size, each row by row from the top left,
    sum_s ((height - s) // step + 1) ((width - s) // step + 1) of them. The numbers within one are ordered by cell row,
    cell column, orientation; orientation o is that of a gradient towards 45 o degrees, x to the right and y down. The
    value v stands for v / 512, and whatever exceeds 255 / 512 is cut: both kinds have unit l2 norm, about 512 here.

    Raises ValueError if the picture is not 2-d, holds NaN or leaves [0, 1], is smaller than `smallest_side`, or if
    an option is outside its range.
    Source: Lowe (2004), Section 6, and Arandjelovic and Zisserman (2012), Section 3.

    >>> ramp = np.tile(np.linspace(0, 1, 64, dtype=np.float32), (48, 1))
    >>> descriptors = describe(ramp, patch_sizes=(16,), step=8)
    >>> descriptors.shape
    (35, 128)
    >>> descriptors[0].reshape(4, 4, 8)[1, 1]  # grey rises to the right: orientation 0 only
    array([128,   0,   0,   0,   0,   0,   0,   0], dtype=uint8)
    """
    _check_options(patch_sizes, step, clip, min_contrast)
    picture = _checked(picture, smallest_side(patch_sizes=patch_sizes))
    height, width = picture.shape
    counts = [((height - size) // step + 1) * ((width - size) // step + 1) for size in patch_sizes]
    channels = _orientation_channels(np.pad(picture, 1, mode="edge"))
    # Choice: flat patches stay as rows of zeros instead of being dropped, so that row and place go together; a
    # vocabulary then has a word for "flat".
    descriptors = np.empty((sum(counts), LENGTH), np.uint8)
    parts = np.split(descriptors, np.cumsum(counts)[:-1])
    for size, part in zip(patch_sizes, parts, strict=True):
        _describe_scale(channels, _cell_weights(size), step, clip, rootsift, min_contrast, part)
    return descriptors


def smallest_side(*, patch_sizes: Sequence[int] = PATCH_SIZES, **others: object) -> int:
    """The side in pixels from which a picture holds one patch of every size, hence of the largest.

    Takes the options of `describe`; only `patch_sizes` matters.

    >>> smallest_side(patch_sizes=(16, 24, 32), step=8)
    32
    """
    _check_options(patch_sizes)
    return int(max(patch_sizes))


def _checked(picture: np.ndarray, smallest: int) -> np.ndarray:
    picture = np.asarray(picture)
    if picture.ndim != 2:
        raise ValueError(f"picture must be grey, (height, width), got shape {picture.shape}")
    height, width = picture.shape
    if min(height, width) < smallest:
        raise ValueError(
            f"picture must be at least {smallest} pixels on its shorter side, got {width} x {height} (width x height)"
        )
    if picture.dtype.kind not in "biuf":
        raise ValueError(f"picture must hold real numbers, got dtype {picture.dtype}")
    low, high = float(picture.min()), float(picture.max())
    if np.isnan(low):
        raise ValueError("picture must hold grey levels in [0, 1], got NaN")
    if low < 0 or high > 1:
        raise ValueError(f"picture must hold grey levels in [0, 1], got values from {low:g} to {high:g}")
    return np.ascontiguousarray(picture, dtype=np.float32)


def _check_options(
    patch_sizes: Sequence[int], step: int = STEP, clip: float = CLIP, min_contrast: float = MIN_CONTRAST
) -> None:
    if len(patch_sizes) == 0:
        raise ValueError("patch_sizes must hold at least one size, got none")
    for size in patch_sizes:
        require_count(size, "each of patch_sizes", least=CELLS)
    require_count(step, "step")
    if not 0 < clip <= 1:
        raise ValueError(f"clip must be above 0 and at most 1, got {clip!r}")
    if not SMALLEST_CONTRAST <= min_contrast <= 1:
        raise ValueError(f"min_contrast must be between {SMALLEST_CONTRAST:g} and 1, got {min_contrast!r}")
