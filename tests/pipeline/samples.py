"""Samples with labels, as the loaders of tables and of text give them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.pipeline.datasets.samples import Samples


def make_samples(X: sparse.csr_matrix, labels: Sequence[str], n_test: int) -> Samples:
    """Return samples with one label or none ("") each: the last n_test for testing, the one before for validation."""
    names = [f"sample {i}" for i in range(len(labels))]
    split = ["train"] * (len(names) - n_test - 1) + ["validation"] + ["test"] * n_test
    captions = pd.DataFrame({"image": names, "caption": labels})
    images = pd.DataFrame({"image": names, "split": split})
    return Samples(images, captions[captions["caption"] != ""], pd.DataFrame(columns=["item", "reason"]), X)


def labelled_samples(n_samples=180, n_features=25, *, n_test=60):
    """Draw samples with one of two labels that depends on a few features; return X, y (-1 or +1) and the `Samples`."""
    rng = np.random.default_rng(0)
    X = sparse.random(n_samples, n_features, density=0.2, rng=rng, format="csr", data_rvs=rng.standard_normal)
    w = np.where(np.arange(n_features) % 5 == 0, rng.normal(size=n_features), 0.0)
    y = np.where(X @ w + 0.1 * rng.normal(size=n_samples) > 0, 1.0, -1.0)
    return X, y, make_samples(X, np.where(y > 0, "grain", "tea"), n_test)
