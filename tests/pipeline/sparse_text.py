"""Sparse samples with labels, as text gives them."""

import numpy as np
from conftest import make_samples
from scipy import sparse


def labelled_samples(n_samples=180, n_features=25, *, n_test=60, density=0.2, names=("grain", "tea"), seed=0):
    """Samples whose label, one of two names, follows a few features; X, y of -1 and +1, and the `Samples` of both."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n_samples, n_features, density=density, rng=rng, format="csr", data_rvs=rng.standard_normal)
    w = np.where(np.arange(n_features) % 5 == 0, rng.normal(size=n_features), 0.0)
    y = np.where(X @ w + 0.1 * rng.normal(size=n_samples) > 0, 1.0, -1.0)
    return X, y, make_samples(X, np.where(y > 0, *names), n_test)
