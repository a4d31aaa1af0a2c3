"""The handwritten digits that come with scikit-learn: 1,797 images of 8 x 8 pixels. Nothing is read from `data`.

Source: test part of Alpaydin, Kaynak: Optical recognition of handwritten digits. UCI Machine Learning Repository, 1998.
"""

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from jointsparse.pipeline.datasets.samples import Samples, gather
from jointsparse.pipeline.datasets.splits import FRACTIONS, draw_splits

OFFERS = "samples"
SHOWS = "pixels"
LABELS = "digits"
TAKES = ("fractions", "seed")
NEEDS = ()

WHITE_LEVEL = 16  # largest value of a pixel


def read(*, fractions: Mapping[str, float] = FRACTIONS, seed: int = 0) -> Samples:
    """Return the digits, pixels from 0 to 1, each with one label, "0" to "9".

    fractions: the part of the images in each split. seed: the seed of this draw. Samples are "digit 1", … in
    scikit-learn's order. Raises ValueError for fractions that make no sense.
    """
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    splits = draw_splits([f"digit {i + 1}" for i in range(len(pixels))], fractions, np.random.default_rng(seed))
    X = sparse.csr_matrix((pixels / WHITE_LEVEL).astype(np.float32))
    return Samples(*gather(splits, [[str(label)] for label in labels], {}), X)
