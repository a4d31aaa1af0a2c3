"""The built-in dataset: photographs composed at run time from real pictures that two dependencies install.

Nothing is downloaded, and a picture depends only on the seed and its number. A few visual causes (grass, bricks, a cat,
the stars, …) explain many words, and several words share a cause. This is the structure that joint sparsity assumes.
Objects, ground and background are drawn independently of each other, so a word can be recognised only from the part of
the picture that shows its cause. Words are noisy labels, and some frequent words have no visual cause at all.

The source pictures are installed files, which are altered only in memory. Their licences, as stated by the two packages
that install them, are:

- scikit-image, folder skimage/data. Public domain: astronaut, hubble_deep_field (NASA), rocket (SpaceX). No known
  restrictions: coins (Brooklyn Museum). CC0: brick, grass, gravel (CC0Textures), camera (Lav Varshney), chelsea (Stefan
  van der Walt), coffee (Rachel Michetti), horse (Andreas Preuss). No terms stated: moon, page, and motorcycle_left with
  motorcycle_disp (Middlebury stereo data 2014; Scharstein et al., GCPR 2014).
- scikit-learn, folder sklearn/datasets/images. CC BY 2.0: china (danielbuechele), flower (vultilion).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image

from jointsparse.checks import require
from jointsparse.pictures import grey_of, shrunk_colour
from jointsparse.pipeline.datasets.collage.painting import paint
from jointsparse.pipeline.datasets.collage.plans import captions_of, plan_of
from jointsparse.pipeline.datasets.samples import Samples, gather, listed
from jointsparse.pipeline.datasets.splits import FRACTIONS, draw_splits

SHOWS = "pictures"
LABELS = "words"


def _name(number: int) -> str:
    return f"collage_{number:05d}"


def _number(image: str) -> int:
    number = image.removeprefix("collage_")
    require(
        number.isdecimal() and _name(int(number)) == image,
        f"image must be a name such as 'collage_00042', got {image!r}",
    )
    return int(number)


def read(*, n_images: int = 1800, seed: int = 0, fractions: Mapping[str, float] = FRACTIONS, **of_rule: Any) -> Samples:
    """Return tables of the pictures' names, splits and captions. No picture is painted.

    Parameters
    ----------
    n_images : int, at least 1
        Number of pictures.
    seed : int, at least 0
        Seed that determines the pictures, captions and splits.
    fractions : mapping
        Fraction of the pictures that each split gets, from 0 to 1. The fractions must add up to 1.
    **of_rule : any
        Options that the workflow passes to every loader of photographs. They have no effect here.

    Returns
    -------
    samples : Samples
    """
    require(seed >= 0, f"seed must be at least 0, got {seed}")
    splits = draw_splits([_name(number) for number in range(n_images)], fractions, np.random.default_rng(seed))
    rngs = (np.random.default_rng((seed, number, 2)) for number in range(n_images))
    captions = [captions_of(plan_of(number, seed), rng) for number, rng in enumerate(rngs)]
    return gather(splits, listed(splits, captions), {})


@lru_cache(maxsize=1)  # the page of a model shows each photograph as a thumbnail, and describes it for its maps
def photograph(image: str, *, seed: int = 0) -> np.ndarray:
    """Paint the photograph with the given name, and return it in colour, as an array (height, width, 3) of uint8.

    The seed and the number in the name determine the photograph. The array is read-only.

    >>> photograph("collage_00042").shape[2]
    3
    """
    number = _number(image)
    painted = paint(plan_of(number, seed), np.random.default_rng((seed, number, 1)))
    painted.flags.writeable = False
    return painted


def picture(image: str, *, longest_side: int = 320, seed: int = 0, **options: Any) -> np.ndarray:
    """Return a photograph as grey levels.

    Parameters
    ----------
    image : str
        Name of the photograph, such as "collage_00042".
    longest_side : int, pixels
        Photographs whose longer side exceeds this length are shrunk to it.
    seed : int
        As in `read`.
    **options : any
        The other options of `read`, which have no effect here.

    Returns
    -------
    greys : array, shape (height, width), float32, in [0, 1]
    """
    return grey_of(photograph(image, seed=seed), longest_side)


def thumbnail(image: str, *, longest_side: int, seed: int = 0, **options: Any) -> np.ndarray:
    """Return a photograph in colour, for display.

    Parameters
    ----------
    image, seed, **options : as in `picture`
        See there.
    longest_side : int, pixels
        Photographs whose longer side exceeds this length are shrunk to it.

    Returns
    -------
    colours : array, shape (height, width, 3), uint8
    """
    return shrunk_colour(Image.fromarray(photograph(image, seed=seed)), longest_side)
