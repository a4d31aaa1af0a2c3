"""The SVD basis: its features are those of NumPy's decomposition, up to their signs."""

import numpy as np
import pytest
from scipy import sparse

from jointsparse.features import basis


@pytest.fixture(scope="module")
def X():
    """Histograms (120, 80) whose singular values are distinct."""
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.4, (120, 80)) * rng.gamma(4.0, 1.0, 80) * 0.95 ** np.arange(80)
    return sparse.csr_matrix(dense.astype(np.float32))


def fit(X, **options):
    return basis.fit(X, **options, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    ("rank", "centred", "power", "dense_bytes", "form"),
    [
        (60, True, 1, 10**9, sparse.csr_matrix),
        (60, False, 0.5, 10**9, sparse.csr_matrix.toarray),
        (60, True, 2, 0, sparse.csr_matrix),
        (3, True, 0, 10**9, sparse.csr_matrix),
        (3, False, 1, 10**9, sparse.csr_matrix),
        (3, True, 1, 0, sparse.csr_matrix),  # too large to be made dense as a whole
        (30, False, 1, 0, sparse.csr_matrix.toarray),
    ],
)
def test_features_are_those_of_numpy(X, monkeypatch, rank, centred, power, dense_bytes, form):
    monkeypatch.setattr(basis, "DENSE_BYTES", dense_bytes)
    monkeypatch.setattr(basis, "ROWS_AT_ONCE", 50)
    left, values, _ = np.linalg.svd(X.toarray() - centred * np.asarray(X.mean(axis=0)), full_matrices=False)
    expected = left[:, :rank] * values[:rank].astype(float) ** power
    expected *= np.sqrt(120 / np.sum(expected**2))  # a mean squared length of 1
    fitted = fit(form(X), rank=rank, centred=centred)
    np.testing.assert_allclose(fitted.singular_values[:rank], values[:rank], rtol=1e-3)
    got = basis.project(form(X), fitted) * basis.factors(fitted.singular_values, [power])[power]
    np.testing.assert_allclose(np.abs(got[:, :3]), np.abs(expected[:, :3]), atol=0.02)
    np.testing.assert_allclose(got @ got.T, expected @ expected.T, atol=0.02)


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        (range(50), {"rank": "full", "centred": False}, 50),
        (range(50), {"rank": "full"}, 49),
        (2 * [*range(50)], {"rank": "full"}, 49),
        (range(120), {"rank": "full"}, 80),
        (range(50), {"rank": "auto"}, 20),
        (range(30), {"rank": "auto"}, 15),
        (5 * [*range(10)], {"rank": "auto"}, 9),
        (range(2), {"rank": "auto"}, 1),
        (range(120), {"rank": 0}, "between 1 and 80 .*, got 0"),
        (range(120), {"rank": 81}, "between 1 and 80 .*, got 81"),
        (range(30), {"rank": 31, "centred": False}, "between 1 and 30 .*, got 31"),
        (range(30), {"rank": 30}, "between 1 and 29 .*, got 30"),
        (5 * [*range(10)], {"rank": 20}, "at most 9, the rank of the data, got 20"),
    ],
)
def test_the_rank_is_that_of_the_data_or_half_the_number_of_images(X, monkeypatch, rows, options, expected):
    monkeypatch.setattr(basis, "MOST_AUTO_RANK", 20)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=f"rank must be {expected}"):
            fit(X[[*rows]], **options)
    else:
        assert fit(X[[*rows]], **options).components.shape == (80, expected)
