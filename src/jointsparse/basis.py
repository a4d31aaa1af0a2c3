"""A basis of the image space in which features are uncorrelated, by the singular value decomposition.

Source: Quattoni et al. 2009, sec. 6 ("we performed SVD to obtain a new basis of the image space where features are
uncorrelated"); 2008 report, sec. 5.2 (from unlabelled images).
"""

from typing import Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse


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
    dense = X.toarray().astype(np.float32)
    mean = dense.mean(axis=0, dtype=np.float64).astype(np.float32) if centred else np.zeros(n_features, np.float32)
    dense -= mean
    if wanted < 0.5 * min(dense.shape):
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


def project(X: sparse.csr_matrix, basis: Basis) -> np.ndarray:
    """The rows of X (n_samples, n_features) in the new basis: (n_samples, rank), float32."""
    projected = np.asarray(X @ basis.components) - basis.mean @ basis.components
    projected *= np.float32(basis.scale)
    return projected
