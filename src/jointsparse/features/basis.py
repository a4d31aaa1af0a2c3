"""A basis of the image space in which features are uncorrelated, by the singular value decomposition.

Source: Quattoni et al. 2009, sec. 6 ("we performed SVD to obtain a new basis of the image space where features are
uncorrelated"); 2008 report, sec. 5.2 (from unlabelled images).
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse

from jointsparse.checks import require

DENSE_BYTES = 2 * 10**9  # a matrix that would be larger is made dense a few rows at a time
ROWS_AT_ONCE = 1024
N_PASSES = 7  # over the data
MOST_AUTO_RANK = 1000  # of rank "auto". Choice: as on Flickr8k


class Basis(NamedTuple):
    """A new basis, x -> scale * (x - mean) @ components.

    mean: (n_features,), zero if the basis is not centred. components: (n_features, rank), of unit length. scale: one
    number. singular_values: (rank,), of the fitted (centred) matrix.
    """

    mean: np.ndarray
    components: np.ndarray
    scale: float
    singular_values: np.ndarray


def fit(
    X: sparse.csr_matrix | np.ndarray,
    *,
    rank: int | Literal["full", "auto"],
    centred: bool = True,
    rng: np.random.Generator,
) -> Basis:
    """Fit a basis: the first right singular vectors of X, by default of X less its column means.

    The new features are scaled by one number, so that the rows of X have a mean squared length of 1. Step sizes and
    radii then mean the same whatever the rank and the features.

    Parameters
    ----------
    X : csr_matrix or array, shape (n_samples, n_features)
        Features of the images that decide the basis.
    rank : int, "full" or "auto"
        Number of singular vectors. "full": as many as X has, its numerical rank. "auto": half as many as samples, but
        at most `MOST_AUTO_RANK` and at most as many as X has.
    centred : bool
        Whether to take off the column means.
    rng : Generator
        Source of the randomised decomposition.

    Returns
    -------
    basis : Basis

    Raises
    ------
    ValueError
        If rank is below 1 or above the numerical rank of X, or if that is 0.
    """
    n_samples, n_features = X.shape
    most = min(n_samples - centred, n_features)
    fitting = {"full": most, "auto": min(MOST_AUTO_RANK, n_samples // 2, most)}
    wanted = fitting[rank] if isinstance(rank, str) else rank
    require(
        1 <= wanted <= most,
        f"rank must be between 1 and {most} ({n_samples} images, {n_features} features"
        f"{', centred' if centred else ''}), got {rank}",
    )
    mean, singular_values, right = _decompose(X, wanted, centred, rng)
    numerical_rank = int((singular_values > 1e-5 * singular_values[0]).sum())
    require(
        numerical_rank >= (1 if isinstance(rank, str) else wanted),
        f"rank must be at most {numerical_rank}, the rank of the data, got {rank}",
    )
    wanted = min(wanted, numerical_rank)
    singular_values, right = singular_values[:wanted], right[:wanted]
    # Choice: mean squared length 1.
    return Basis(
        mean=mean,
        components=np.ascontiguousarray(right.T, dtype=np.float32),
        scale=float(1 / np.sqrt((singular_values.astype(np.float64) ** 2).sum() / n_samples)),
        singular_values=singular_values,
    )


def factors(singular_values: np.ndarray, powers: Iterable[float]) -> dict[float, np.ndarray]:
    """Factors of the features, (rank,), that replace the singular values in them by their powers, for each power.

    singular_values: (rank,), of a `Basis`. Power 1 keeps the features. Power 0 makes their variances equal: it whitens.
    The paper's "uncorrelated" can mean either. The rows that the basis was fitted on keep a mean squared length of 1.

    >>> factors(np.array([3.0, 1.0]), [0])
    {0: array([0.74535599, 2.23606798])}
    """
    values = np.asarray(singular_values, dtype=np.float64) / singular_values[0]
    lengths = {power: np.sqrt((values**2).sum() / (values ** (2 * power)).sum()) for power in powers}
    return {power: lengths[power] * values ** (power - 1) for power in lengths}


def _decompose(
    X: sparse.csr_matrix | np.ndarray, rank: int, centred: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The column means (zeros if not centred), and at least `rank` singular values and right singular vectors."""
    n_samples, n_features = X.shape
    few = rank < 0.5 * min(X.shape)
    mean = np.zeros(n_features, np.float32)
    if few and 4 * n_samples * n_features > DENSE_BYTES:
        if centred:
            mean = np.asarray(X.mean(axis=0, dtype=np.float64), np.float32).ravel()
        return mean, *_svd_in_batches(X, mean, rank, rng)
    dense = _dense(X)
    if centred:
        mean = dense.mean(axis=0, dtype=np.float64).astype(np.float32)
    dense -= mean
    if few:
        from sklearn.utils.extmath import randomized_svd

        return mean, *randomized_svd(dense, rank, random_state=int(rng.integers(2**31)))[1:]
    return mean, *linalg.svd(dense, full_matrices=False, overwrite_a=True, check_finite=False)[1:]


def _dense(X: Any) -> np.ndarray:
    """A dense float32 copy of X, CSR or dense."""
    return X.toarray().astype(np.float32, copy=False) if sparse.issparse(X) else np.array(X, np.float32, order="C")


def _svd_in_batches(
    X: sparse.csr_matrix | np.ndarray, mean: np.ndarray, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The first singular values (rank,) and right singular vectors (rank, n_features) of X - mean, randomised.

    Like scikit-learn's `randomized_svd`, but only a few rows of X are dense at a time. Source: Halko, Martinsson and
    Tropp (2011), Algorithms 4.4 and 5.1.
    """
    batches = [slice(start, start + ROWS_AT_ONCE) for start in range(0, X.shape[0], ROWS_AT_ONCE)]
    left = np.empty((X.shape[0], min(rank + 10, *X.shape)), np.float32)
    right = rng.normal(size=(X.shape[1], left.shape[1])).astype(np.float32)
    for _ in range(N_PASSES):
        right, _ = linalg.qr(right, mode="economic", overwrite_a=True, check_finite=False)
        for rows in batches:
            left[rows] = (_dense(X[rows]) - mean) @ right
        left, _ = linalg.qr(left, mode="economic", overwrite_a=True, check_finite=False)
        right = sum((_dense(X[rows]) - mean).T @ left[rows] for rows in batches)
    _, singular_values, vectors = linalg.svd(right.T, full_matrices=False, check_finite=False)
    return singular_values[:rank], vectors[:rank]


def project(X: sparse.csr_matrix | np.ndarray, basis: Basis) -> np.ndarray:
    """The rows of X (n_samples, n_features) in the new basis: (n_samples, rank), float32, or float64 if X is."""
    projected = np.asarray(X @ basis.components)
    projected -= basis.mean @ basis.components
    projected *= np.float32(basis.scale)
    return projected
