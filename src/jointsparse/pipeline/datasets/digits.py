"""The handwritten digits that come with scikit-learn: 1,797 images of 8 x 8 pixels.

Source: the test set of E. Alpaydin and C. Kaynak, Optical recognition of handwritten digits, UCI Machine Learning
Repository, 1998.
"""

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from jointsparse.pipeline.datasets.samples import Samples, gather, listed
from jointsparse.pipeline.datasets.splits import FRACTIONS, draw_splits

SHOWS = "pixels"
LABELS = "digits"

WHITE_LEVEL = 16  # largest pixel value


def read(*, fractions: Mapping[str, float] = FRACTIONS, seed: int = 0) -> Samples:
    """Return the images of the digits, with one label each, "0" to "9".

    The features are the pixels, scaled to [0, 1]. Samples are named "digit 1", "digit 2", … in scikit-learn's order.

    Parameters
    ----------
    fractions : mapping
        Fraction of the images that each split gets.
    seed : int
        Seed of the random generator that draws the splits.

    Raises
    ------
    ValueError
        If the fractions are negative or do not add up to 1.
    """
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    splits = draw_splits([f"digit {i + 1}" for i in range(len(pixels))], fractions, np.random.default_rng(seed))
    X = sparse.csr_matrix((pixels / WHITE_LEVEL).astype(np.float32))
    return gather(splits, listed(splits, ([str(label)] for label in labels)), {}, X)
