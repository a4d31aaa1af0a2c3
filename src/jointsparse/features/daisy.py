"""DAISY descriptors on a regular grid, at several patch sizes, by scikit-image.

Tola, E., Lepetit, V. and Fua, P. (2010), DAISY: an efficient dense descriptor applied to wide-baseline stereo, PAMI
32(5).
"""

from collections.abc import Sequence

import numpy as np

from jointsparse.checks import require_extra, require_grid, require_picture

PATCH_SIZES_PIXELS = (16, 24, 32)
STEP_PIXELS = 8
STEPS_PER_UNIT = 512  # the uint8 value v stands for v / 512
TAKES = ("patch_sizes", "step", "rootsift")
RINGS, HISTOGRAMS, ORIENTATIONS = 2, 6, 8
LENGTH = (RINGS * HISTOGRAMS + 1) * ORIENTATIONS


def describe(
    picture: np.ndarray,
    *,
    patch_sizes: Sequence[int] = PATCH_SIZES_PIXELS,
    step: int = STEP_PIXELS,
    rootsift: bool = True,
) -> np.ndarray:
    """Compute the DAISY descriptors of all patches of a grid: orientation histograms on two rings about its centre.

    Parameters
    ----------
    picture : array, shape (height, width), in [0, 1]
        Grey levels.
    patch_sizes : sequence of int, pixels, at least 4
        Diameters of the outer rings, rounded down to odd ones.
    step : int, pixels
        Distance of neighbouring patches.
    rootsift : bool
        Whether to end with the square root of the l1-normalised values, as in `dense_sift.describe`.

    Returns
    -------
    descriptors : array, shape (n_descriptors, 104), uint8
        Size by size, each row by row from the top left. They have unit l2 norm, which is about 512 here.

    Raises
    ------
    ValueError
        As of `dense_sift.describe`.
    """
    require_extra("jointsparse.features.daisy", "skimage")
    from skimage.feature import daisy

    require_grid(patch_sizes, step)
    require_picture(picture, smallest_side(patch_sizes=patch_sizes))
    grey = np.asarray(picture, dtype=np.float64)
    options = {"rings": RINGS, "histograms": HISTOGRAMS, "orientations": ORIENTATIONS}
    norm = "l1" if rootsift else "l2"
    descriptors = []
    for size in patch_sizes:  # one after the other: scikit-image returns some of 832 bytes for each pixel
        part = daisy(grey, step, (size - 1) // 2, **options, normalization=norm).reshape(-1, LENGTH)
        part = np.sqrt(part) if rootsift else part
        descriptors.append(np.rint(np.minimum(STEPS_PER_UNIT * part, 255)).astype(np.uint8))
    return np.concatenate(descriptors)


def patches(
    height: int,
    width: int,
    *,
    patch_sizes: Sequence[int] = PATCH_SIZES_PIXELS,
    step: int = STEP_PIXELS,
    **others: object,
) -> np.ndarray:
    """Top, left and side in pixels of the patch of each descriptor, in the order in which `describe` returns them.

    Parameters
    ----------
    height, width : int, pixels
        Of the picture.
    patch_sizes : sequence of int, pixels
        As in `describe`.
    step : int, pixels
        As in `describe`.
    **others : object
        The other options of `describe`, of which none matters.

    Returns
    -------
    patches : array, shape (n_descriptors, 3), int
        A patch is the square about the outer ring, whose radius r is (size - 1) // 2: the pixels
        [top : top + side, left : left + side]. Histograms on the ring look up to 2 r further, with Gaussian weights.

    Examples
    --------
    >>> patches(16, 24, patch_sizes=(16,), step=8).tolist()
    [[0, 0, 15], [0, 8, 15]]
    """
    return np.array(
        [
            (top, left, side)
            for side in (2 * ((size - 1) // 2) + 1 for size in patch_sizes)
            for top in range(0, height - side + 1, step)
            for left in range(0, width - side + 1, step)
        ]
    )


def smallest_side(*, patch_sizes: Sequence[int] = PATCH_SIZES_PIXELS, **others: object) -> int:
    """Smallest side in pixels of a picture that holds one patch of every size. Takes the options of `describe`."""
    require_grid(patch_sizes)
    return int(max(patch_sizes))
