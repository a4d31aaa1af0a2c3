"""The SVD basis: features are uncorrelated, and singular values agree with NumPy's."""

import numpy as np
import pytest
from scipy import sparse

from jointsparse.features import basis


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.4, (120, 80)).astype(np.float32) * rng.gamma(1.0, 1.0, 80).astype(np.float32)
    return sparse.csr_matrix(dense)


def fit(X, **options):
    return basis.fit(X, **options, rng=np.random.default_rng(1))


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
@pytest.mark.parametrize("rank", [3, 60])
def test_features_are_uncorrelated_and_have_powers_of_the_singular_values_as_lengths(X, centred, power, rank):
    fitted = fit(X, rank=rank, centred=centred)
    Z = basis.project(X, fitted) * basis.factors(fitted.singular_values, [power])[power]
    assert Z.shape == (120, rank)
    covariance = Z.T @ Z / len(Z)
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < (2e-3 if rank == 3 else 1e-5) * covariance.max()
    expected = fitted.singular_values.astype(float) ** (2 * power)
    np.testing.assert_allclose(np.diag(covariance), expected / expected.sum(), rtol=1e-3)
    assert np.mean(np.sum(Z**2, axis=1)) == pytest.approx(1, rel=1e-3)
    if centred:
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-5)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("rows", "centred", "expected"), [(50, False, 50), (50, True, 49), (120, True, 80)])
def test_full_rank_is_the_rank_of_the_data(X, rows, centred, expected, times):
    assert fit(X[[*range(rows)] * times], rank="full", centred=centred).components.shape == (80, expected)


@pytest.mark.parametrize(("rows", "most", "expected"), [(50, 1000, 25), (50, 20, 20), (2, 1000, 1)])
def test_auto_rank_is_half_the_number_of_images(X, monkeypatch, rows, most, expected):
    monkeypatch.setattr(basis, "MOST_AUTO_RANK", most)
    np.testing.assert_array_equal(fit(X[:rows], rank="auto").components, fit(X[:rows], rank=expected).components)


def test_auto_rank_is_at_most_the_rank_of_the_data(X):
    assert fit(X[[*range(10)] * 5], rank="auto").components.shape == (80, 9)


@pytest.mark.parametrize("rank", [3, 60])
def test_singular_values_agree_with_numpy(X, rank):
    dense = X.toarray().astype(float)
    expected = np.linalg.svd(dense - dense.mean(axis=0), compute_uv=False)[:rank]
    np.testing.assert_allclose(fit(X, rank=rank).singular_values, expected, rtol=1e-3)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([*range(120)], {"rank": 0}, "between 1 and 80 .*, got 0"),
        ([*range(120)], {"rank": 81}, "between 1 and 80 .*, got 81"),
        ([*range(30)], {"rank": 31, "centred": False}, "between 1 and 30 .*, got 31"),
        ([*range(30)], {"rank": 30}, "between 1 and 29 .*, got 30"),
        ([*range(10)] * 5, {"rank": 20}, "at most 9, the rank of the data, got 20"),
    ],
)
def test_an_impossible_rank_raises(X, rows, options, message):
    with pytest.raises(ValueError, match=f"rank must be {message}"):
        fit(X[rows], **options)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_matrix.toarray])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("rank", [3, 30])
def test_a_matrix_too_large_to_be_made_dense_has_the_same_basis(X, monkeypatch, centred, rank, container):
    X = X @ sparse.diags_array(0.9 ** np.arange(80), format="csr")  # so that the singular values are distinct
    expected = fit(X, rank=rank, centred=centred)
    monkeypatch.setattr(basis, "DENSE_BYTES", 0)
    monkeypatch.setattr(basis, "ROWS_AT_ONCE", 50)
    got = fit(container(X), rank=rank, centred=centred)
    np.testing.assert_allclose(got.singular_values, expected.singular_values, rtol=1e-3)
    np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-5)
    assert got.scale == pytest.approx(expected.scale, rel=1e-4)
    assert got.components.dtype == expected.components.dtype
    # The sign of a singular vector is arbitrary.
    np.testing.assert_allclose(np.abs(np.sum(got.components[:, :3] * expected.components[:, :3], axis=0)), 1, atol=1e-2)
    Z, Z_expected = basis.project(X, got), basis.project(X, expected)
    np.testing.assert_allclose(Z @ Z.T, Z_expected @ Z_expected.T, atol=1e-2)
