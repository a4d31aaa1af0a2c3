"""A basis of the image space in which features are uncorrelated, by the singular value decomposition.

Source: Quattoni et al. 2009, sec. 6 ("we performed SVD to obtain a new basis of the image space where features are
uncorrelated"); 2008 report, sec. 5.2 (from unlabelled images).
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse

DENSE = 2 * 10**9  # bytes; what would be larger as a dense matrix is made dense in blocks
BLOCK = 1024  # rows
N_ITER = 7  # passes over the data


class Basis(NamedTuple):
    """x -> scale * (x - mean) @ components.

    mean: (n_features,), zero if the basis is not centred. components: (n_features, rank), divided by their standard
    deviations if whitened. scale: one number. singular_values: (rank,), of the fitted (centred) matrix.
    """

    mean: np.ndarray
    components: np.ndarray
    scale: float
    singular_values: np.ndarray


def fit(
    X: sparse.csr_matrix,
    *,
    rank: int | Literal["full"],
    centred: bool = True,
    whitened: bool = False,
    rng: np.random.Generator,
) -> Basis:
    """The first `rank` right singular vectors of X (n_samples, n_features), by default of X less its column means.

    rank: their number, or "full": as many as X has (its numerical rank).
    whitened: each new feature is divided by its standard deviation (root mean square if not centred) over X.
    The paper's "uncorrelated" can mean either. The new features are then scaled by one number, so that the rows of X
    have a mean squared length of 1 and step sizes and radii mean the same whatever the rank and the features.

    Raises ValueError if rank is not in 1 … what the data allow (their numerical rank).
    """
    # Choice: mean squared length 1.
    n_samples, n_features = X.shape
    most = min(n_samples - centred, n_features)
    wanted = most if rank == "full" else rank
    if not 1 <= wanted <= most:
        raise ValueError(
            f"rank must be between 1 and {most} ({n_samples} images, {n_features} features"
            f"{', centred' if centred else ''}), got {rank}"
        )
    few = wanted < 0.5 * min(X.shape)
    if few and 4 * n_samples * n_features > DENSE:
        mean = np.zeros(n_features, np.float32)
        if centred:
            mean = np.asarray(X.mean(axis=0, dtype=np.float64), np.float32).ravel()
        singular_values, right = _svd_in_blocks(X, mean, wanted, rng)
    else:
        dense = X.toarray().astype(np.float32, copy=False)
        mean = dense.mean(axis=0, dtype=np.float64).astype(np.float32) if centred else np.zeros(n_features, np.float32)
        dense -= mean
        if few:
            from sklearn.utils.extmath import randomized_svd

            _, singular_values, right = randomized_svd(dense, wanted, random_state=int(rng.integers(2**31)))
        else:
            _, singular_values, right = linalg.svd(dense, full_matrices=False, overwrite_a=True, check_finite=False)
    numerical_rank = int((singular_values > 1e-5 * singular_values[0]).sum())
    if numerical_rank < wanted and rank != "full":
        raise ValueError(f"rank must be at most {numerical_rank}, the rank of the data, got {rank}")
    wanted = min(wanted, numerical_rank)
    singular_values, right = singular_values[:wanted], right[:wanted]
    components = right.T.astype(np.float64)
    variances = singular_values.astype(np.float64) ** 2 / n_samples
    if whitened:
        components /= np.sqrt(variances)
    mean_squared_length = wanted if whitened else variances.sum()
    return Basis(
        mean=mean,
        components=np.ascontiguousarray(components, dtype=np.float32),
        scale=float(1 / np.sqrt(mean_squared_length)),
        singular_values=singular_values,
    )


def _svd_in_blocks(
    X: sparse.csr_matrix, mean: np.ndarray, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The first singular values (rank,) and right singular vectors (rank, n_features) of X - mean, randomised.

    As scikit-learn's `randomized_svd`, but X is dense in a block of rows at a time only. Source: Halko, Martinsson and
    Tropp (2011), Algorithms 4.4 and 5.1.
    """

    def blocks() -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, X.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            dense = X[rows].toarray().astype(np.float32, copy=False)
            dense -= mean
            yield rows, dense

    left = np.empty((X.shape[0], min(rank + 10, *X.shape)), np.float32)
    right = rng.normal(size=(X.shape[1], left.shape[1])).astype(np.float32)
    for _ in range(N_ITER):
        right, _ = linalg.qr(right, mode="economic", overwrite_a=True, check_finite=False)
        for rows, dense in blocks():
            left[rows] = dense @ right
        left, _ = linalg.qr(left, mode="economic", overwrite_a=True, check_finite=False)
        right[...] = 0
        for rows, dense in blocks():
            right += dense.T @ left[rows]
    _, singular_values, vectors = linalg.svd(right.T, full_matrices=False, check_finite=False)
    return singular_values[:rank], vectors[:rank]


def project(X: sparse.csr_matrix, basis: Basis) -> np.ndarray:
    """The rows of X (n_samples, n_features) in the new basis: (n_samples, rank), float32."""
    projected = np.asarray(X @ basis.components)
    projected -= basis.mean @ basis.components
    projected *= np.float32(basis.scale)
    return projected
