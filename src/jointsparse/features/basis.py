"""Basis of the image space in which features are uncorrelated, computed by singular value decomposition (SVD).

Source: Quattoni et al. 2009, sec. 6 ("we performed SVD to obtain a new basis of the image space where features are
uncorrelated"); 2008 report, sec. 5.2, where the basis comes from unlabelled images.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse

from jointsparse.checks import require

DENSE_BYTES = 2 * 10**9  # a sparse matrix that would need more memory is made dense a few rows at a time
ROWS_AT_ONCE = 1024
N_PASSES = 7  # number of passes over the data in the randomised SVD
MOST_AUTO_RANK = 1000  # largest rank that "auto" chooses. Choice: the rank used for Flickr8k


Blocks = Callable[[], Iterator[sparse.csr_matrix | np.ndarray]]


class Basis(NamedTuple):
    """Fitted basis, which maps x to scale * (x - mean) @ components.

    mean: (n_features,), zero if the basis is not centred. components: (n_features, rank), columns of unit length.
    scale: a common factor. singular_values: (rank,), singular values of the fitted matrix, which is centred by default.
    """

    mean: np.ndarray
    components: np.ndarray
    scale: float
    singular_values: np.ndarray

    def columns(self, some: np.ndarray) -> "Basis":
        """Return a basis that has only the columns with these indices."""
        components = np.ascontiguousarray(self.components[:, some])
        return self._replace(components=components, singular_values=self.singular_values[some])


def fit(
    X: sparse.csr_matrix | np.ndarray | Callable[[], Iterator[sparse.csr_matrix | np.ndarray]],
    *,
    rank: int | Literal["full", "auto"],
    centred: bool = True,
    rng: np.random.Generator,
) -> Basis:
    """Compute a basis from the first right singular vectors of X, which is centred by default.

    The new features are scaled by a common factor such that the rows of X have a mean squared length of 1. Step sizes
    and radii are then comparable between ranks and features.

    Parameters
    ----------
    X : csr_matrix or array, shape (n_samples, n_features), or function
        Features of the images from which the basis is computed. If X is a function, every call must return an iterator
        over blocks of rows; memory then does not grow with the number of images if the rank is small.
    rank : int, "full" or "auto"
        Number of singular vectors. "full" stands for the numerical rank of X. "auto" stands for half the number of
        samples, but at most `MOST_AUTO_RANK` and at most the numerical rank of X.
    centred : bool
        Whether to subtract the column means.
    rng : Generator
        Random generator for the randomised decomposition.

    Returns
    -------
    basis : Basis

    Raises
    ------
    ValueError
        If the rank is below 1 or above the numerical rank of X, or if the numerical rank is 0.
    """
    blocks = partial(_blocks, X)
    n_samples, total = 0, np.zeros(1)
    for block in blocks():
        n_samples, total = n_samples + block.shape[0], total + np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
    n_features = np.size(total)
    most = min(n_samples - centred, n_features)
    fitting = {"full": most, "auto": min(MOST_AUTO_RANK, n_samples // 2, most)}
    wanted = fitting[rank] if isinstance(rank, str) else rank
    require(
        1 <= wanted <= most,
        f"rank must be between 1 and {most} ({n_samples} images, {n_features} features"
        f"{', centred' if centred else ''}), got {rank}",
    )
    mean = np.asarray(total / n_samples if centred else np.zeros(n_features), np.float32)
    singular_values, right = _decompose(blocks, (n_samples, n_features), mean, wanted, rng)
    numerical_rank = int((singular_values > 1e-5 * singular_values[0]).sum())
    require(
        numerical_rank >= (1 if isinstance(rank, str) else wanted),
        f"rank must be at most {numerical_rank}, the rank of the data, got {rank}",
    )
    wanted = min(wanted, numerical_rank)
    singular_values, right = singular_values[:wanted], right[:wanted]
    # Choice: rows have a mean squared length of 1.
    return Basis(
        mean=mean,
        components=np.ascontiguousarray(right.T, dtype=np.float32),
        scale=float(1 / np.sqrt((singular_values.astype(np.float64) ** 2).sum() / n_samples)),
        singular_values=singular_values,
    )


def factors(singular_values: np.ndarray, powers: Iterable[float]) -> dict[float, np.ndarray]:
    """Return a dictionary that maps each power to factors (rank,), by which the features have to be multiplied.

    The factors raise the singular values of the features to the power, and depend on `singular_values`, (rank,), from a
    `Basis`. Power 1 leaves the features unchanged; power 0 whitens them, so that all
    have equal variance. The paper's "uncorrelated" can mean either. The rows on which the basis was fitted keep a mean
    squared length of 1.

    >>> factors(np.array([3.0, 1.0]), [0])
    {0: array([0.74535599, 2.23606798])}
    """
    values = np.asarray(singular_values, dtype=np.float64) / singular_values[0]
    lengths = {power: np.sqrt((values**2).sum() / (values ** (2 * power)).sum()) for power in powers}
    return {power: lengths[power] * values ** (power - 1) for power in lengths}


def _decompose(
    blocks: Blocks, shape: tuple[int, int], mean: np.ndarray, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return at least `rank` singular values and right singular vectors of the rows minus their mean."""
    few = rank < 0.5 * min(shape)
    if few and 4 * math.prod(shape) > DENSE_BYTES:
        return _svd_in_batches(blocks, mean, min(rank + 10, *shape), rng)
    dense = np.empty(shape, np.float32)
    done = 0
    for block in blocks():
        dense[done : done + block.shape[0]] = _dense(block) - mean
        done += block.shape[0]
    if few:
        from sklearn.utils.extmath import randomized_svd

        return tuple(randomized_svd(dense, rank, random_state=int(rng.integers(2**31)))[1:])
    return tuple(linalg.svd(dense, full_matrices=False, overwrite_a=True, check_finite=False)[1:])


def _blocks(X: Any) -> Iterator[sparse.csr_matrix | np.ndarray]:
    """Yield blocks of a few rows, either of a matrix or of every matrix that a function yields."""
    for block in X() if callable(X) else (X,):
        for start in range(0, block.shape[0], ROWS_AT_ONCE):
            yield block[start : start + ROWS_AT_ONCE]


def _dense(X: Any) -> np.ndarray:
    """Return X, CSR or dense, as a dense float32 array."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, np.float32)


def _svd_in_batches(
    blocks: Blocks, mean: np.ndarray, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest singular values, (rank,), and the right singular vectors, (rank, n_features), of X - mean.

    The algorithm is randomised like scikit-learn's `randomized_svd`, but makes only a few rows of X dense at a time,
    and needs no other array with as many rows as X. Source: Halko, Martinsson and Tropp (2011), Algorithms 4.3 and 5.1,
    with a QR decomposition in each iteration.
    """
    right = rng.normal(size=(len(mean), rank)).astype(np.float32)
    for _ in range(N_PASSES):
        right, _ = linalg.qr(right, mode="economic", overwrite_a=True, check_finite=False)
        right = sum(rows.T @ (rows @ right) for rows in (_dense(block) - mean for block in blocks()))
    right, _ = linalg.qr(right, mode="economic", overwrite_a=True, check_finite=False)
    triangle = np.empty((0, rank), np.float32)  # becomes the factor R of the QR decomposition of (X - mean) @ right
    for block in blocks():
        (triangle,) = linalg.qr(np.vstack([triangle, (_dense(block) - mean) @ right]), mode="r", check_finite=False)
        triangle = triangle[:rank]
    _, singular_values, vectors = linalg.svd(triangle, check_finite=False)
    return singular_values, vectors @ right.T


def project(X: sparse.csr_matrix | np.ndarray, basis: Basis) -> np.ndarray:
    """Return X (n_samples, n_features) in the new basis, (n_samples, rank). float64 and float32 are kept."""
    projected = np.asarray(X @ basis.components)
    projected -= basis.mean @ basis.components
    projected *= np.float32(basis.scale)
    return projected
