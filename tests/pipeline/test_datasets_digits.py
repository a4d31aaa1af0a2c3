"""scikit-learn's digits: all images with their labels."""

import numpy as np
from sklearn.datasets import load_digits

from jointsparse.pipeline.datasets import digits


def test_images_and_labels_are_the_same_as_in_scikit_learn():
    pixels, labels = load_digits(return_X_y=True)
    samples = digits.read()
    np.testing.assert_array_equal(samples.X.toarray() * 16, pixels.astype(np.float32), strict=True)
    names = [f"digit {i}" for i in range(1, 1798)]
    assert samples.captions.to_dict("list") == {"image": names, "caption": [str(label) for label in labels]}
    assert samples.images["image"].tolist() == names
    assert samples.left_out.empty
