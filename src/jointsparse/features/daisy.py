"""DAISY descriptors on a regular grid with several patch sizes, computed by scikit-image.

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
    """Compute the DAISY descriptors of all patches of a grid.

    The descriptor of a patch consists of orientation histograms at its centre and on two rings around the centre.

    Parameters
    ----------
    picture : array, shape (height, width)
        Grey levels in [0, 1].
    patch_sizes : sequence of int
        Diameters of the outer rings in pixels, at least 4, which are rounded down to odd numbers.
    step : int
        Distance between neighbouring patches in pixels.
    rootsift : bool
        Whether to return the square root of l1-normalised values, as in `dense_sift.describe`, instead of l2-normalised
        values.

    Returns
    -------
    descriptors : array, shape (n_descriptors, 104), uint8
        Ordered by patch size, then row by row from the top left. The value v stands for v / 512. Descriptors have unit
        l2 norm, that is about 512.

    Raises
    ------
    ValueError
        If the picture is not grey, has values outside [0, 1] or is smaller than `smallest_side`, or if an option is
        outside its range.
    """
    require_extra("jointsparse.features.daisy", "skimage")
    from skimage.feature import daisy

    require_grid(patch_sizes, step)
    require_picture(picture, smallest_side(patch_sizes=patch_sizes))
    grey = np.asarray(picture, dtype=np.float64)
    options = {"rings": RINGS, "histograms": HISTOGRAMS, "orientations": ORIENTATIONS}
    norm = "l1" if rootsift else "l2"
    descriptors = []
    for size in patch_sizes:  # one size at a time, because scikit-image allocates 832 bytes per pixel
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
    """Return top, left and side in pixels of the patch of each descriptor, in the order of `describe`.

    Parameters
    ----------
    height, width : int
        Size of the picture in pixels.
    patch_sizes : sequence of int
        Diameters of the outer rings in pixels, as in `describe`.
    step : int
        Distance between neighbouring patches in pixels.
    **others : object
        Other options of `describe`, which are ignored.

    Returns
    -------
    patches : array, shape (n_descriptors, 3), int
        A patch is the square around the outer ring, which has the radius r = (size - 1) // 2: the pixels
        [top : top + side, left : left + side]. The histograms on the ring, with Gaussian weights, depend on pixels up
        to 2 r outside of the patch.

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
    """Return the smallest side in pixels of a picture that has a patch of every size. Takes `describe`'s options."""
    require_grid(patch_sizes)
    return int(max(patch_sizes))
