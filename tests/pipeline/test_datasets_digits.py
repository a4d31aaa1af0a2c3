"""scikit-learn's digits: all images with their labels, and splits that depend only on the seed."""

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


def test_splits_have_their_fractions_and_depend_on_the_seed():
    first, again, other = (digits.read(fractions={"train": 0.5, "test": 0.5}, seed=seed).images for seed in (1, 1, 2))
    assert first["split"].value_counts().to_dict() == {"train": 898, "test": 899}
    assert first.equals(again) and not first.equals(other)
