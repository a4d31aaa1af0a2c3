"""Image features that consist of the similarities to a set of unlabelled images, the prototypes.

Source: Quattoni et al. 2009, poster, second experiment ("similarities to a set of unlabeled images", with 2000 images).
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.arrays import widened
from jointsparse.checks import require
from jointsparse.compiled import njit

IMAGES_AT_ONCE = 1024  # block size: similarities to 2,000 prototypes take 16 MB in double precision
MEASURES = ("intersection", "cosine", "rbf")


class Similarities(NamedTuple):
    """Fitted features, which map x to scale * (similarities of x to the prototypes - mean).

    prototypes: CSR (n_prototypes, n_features). measure, gamma: see `to_prototypes`; gamma is None unless the measure is
    "rbf". mean: (n_prototypes,), zero if the features are not centred. scale: a common factor.
    """

    prototypes: sparse.csr_matrix
    measure: str
    gamma: float | None
    mean: np.ndarray
    scale: float


@njit(nogil=True)
def _add_minima(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    values: np.ndarray,
    prototype: np.ndarray,
    starts: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add the sum of min(x, p) over all features to sums[image, prototype]. Images are CSR, prototypes are CSC."""
    for i in range(len(sums)):
        row = sums[i]
        for e in range(indptr[i], indptr[i + 1]):
            for t in range(starts[indices[e]], starts[indices[e] + 1]):
                row[prototype[t]] += min(data[e], values[t])


def _intersection(X: sparse.csr_matrix, prototypes: sparse.csr_matrix) -> np.ndarray:
    for name, matrix in (("X", X), ("prototypes", prototypes)):
        if matrix.nnz and matrix.data.min() < 0:
            raise ValueError(f"{name} must hold histograms without negative entries, got {matrix.data.min()}")
    sums = np.zeros((X.shape[0], prototypes.shape[0]))
    by_feature = prototypes.tocsc()
    _add_minima(X.data, X.indices, X.indptr, by_feature.data, by_feature.indices, by_feature.indptr, sums)
    return sums


def to_prototypes(
    X: sparse.csr_matrix | np.ndarray,
    prototypes: sparse.csr_matrix | np.ndarray,
    *,
    measure: str,
    gamma: float | None = None,
) -> np.ndarray:
    """Compute the similarity of every image x to every prototype p.

    The measures are

    - "intersection": sum_w min(x_w, p_w);
    - "cosine": x·p / (|x|_2 |p|_2), or 0 if a histogram is empty;
    - "rbf": exp(-gamma |x - p|_2^2).

    Rows are not normalised, so the intersection also depends on the sums of the rows.

    Parameters
    ----------
    X : csr_matrix or array, shape (n_images, n_features)
        Histograms, which must be non-negative for "intersection".
    prototypes : csr_matrix or array, shape (n_prototypes, n_features)
        Histograms, which must be non-negative for "intersection".
    measure : "intersection", "cosine" or "rbf"
        Similarity measure.
    gamma : float or None
        Positive coefficient of "rbf". By default it is the inverse of the mean squared distance between two prototypes.

    Returns
    -------
    similarities : array, shape (n_images, n_prototypes), float32
        Bitwise identical for any number of threads.

    Raises
    ------
    ValueError
        If the measure is unknown, if an entry is not finite, or negative for "intersection", or if gamma is needed but
        not given and all prototypes are equal.

    Examples
    --------
    >>> X, prototypes = np.array([[3.0, 0.0, 1.0]]), np.array([[1.0, 1.0, 1.0], [0.0, 5.0, 0.0]])
    >>> to_prototypes(X, prototypes, measure="intersection")
    array([[2., 0.]], dtype=float32)
    """
    require(measure in MEASURES, f"measure must be one of {', '.join(MEASURES)}, got {measure!r}")
    X, prototypes = _histograms(X, "X"), _histograms(prototypes, "prototypes").astype(np.float64)
    require(
        X.shape[1] == prototypes.shape[1],
        f"X must have {prototypes.shape[1]} features, as many as the prototypes, got {X.shape[1]}",
    )
    gamma = _width(prototypes, measure, gamma)
    function = _intersection
    if measure != "intersection":
        from sklearn.metrics import pairwise  # imported here, because the import takes a second

        function = pairwise.cosine_similarity if measure == "cosine" else partial(pairwise.rbf_kernel, gamma=gamma)
    similarities = np.empty((X.shape[0], prototypes.shape[0]), np.float32)
    for start in range(0, X.shape[0], IMAGES_AT_ONCE):
        rows = slice(start, start + IMAGES_AT_ONCE)
        similarities[rows] = function(X[rows].astype(np.float64), prototypes)
    return similarities


def _histograms(X: sparse.csr_matrix | np.ndarray, name: str) -> sparse.csr_matrix:
    """Return X in canonical CSR format, that is with sorted indices and without duplicates. X is not changed."""
    require(
        sparse.issparse(X) or np.ndim(X) == 2,
        f"{name} must have two axes (images, features), got shape {np.shape(X)}",
    )
    matrix = sparse.csr_matrix(widened(X))
    require(matrix.shape[0], f"{name} must have at least one row, got none")
    require(np.isfinite(matrix.data).all(), f"{name} must be finite, got NaN or infinity")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _width(prototypes: sparse.csr_matrix, measure: str, gamma: float | None) -> float | None:
    """Return gamma if it is given, and the inverse of the mean squared distance between two prototypes otherwise."""
    if measure != "rbf":
        require(gamma is None, f"gamma must be None unless the measure is rbf, got {gamma} for {measure}")
        return None
    if gamma is not None:
        require(0 < gamma < np.inf, f"gamma must be a number above 0, got {gamma}")
        return float(gamma)
    n = prototypes.shape[0]
    mean = np.asarray(prototypes.mean(axis=0)).ravel()
    squares = np.square(prototypes.data).sum()
    # Over pairs of two different prototypes, the mean squared distance is twice their total variance.
    mean_squared_distance = 2 * (squares - n * np.square(mean).sum()) / max(n - 1, 1)
    require(
        mean_squared_distance > 1e-12 * squares / n,
        "prototypes must differ, got a mean squared distance of 0: give gamma",
    )
    return float(1 / mean_squared_distance)


def fit(
    X: sparse.csr_matrix | np.ndarray,
    training: sparse.csr_matrix | np.ndarray,
    *,
    measure: str,
    n_prototypes: int,
    gamma: float | None = None,
    centred: bool = True,
    rng: np.random.Generator,
) -> Similarities:
    """Draw the prototypes from unlabelled images, and compute mean and scale from training images.

    The new features are scaled by a common factor such that the training images have a mean squared length of 1. Step
    sizes and radii are then comparable between measures and numbers of prototypes, as after `basis.fit`.

    Parameters
    ----------
    X : csr_matrix or array, shape (n_candidates, n_features)
        Histograms of the unlabelled images.
    training : csr_matrix or array, shape (n_training, n_features)
        Histograms of the training images. Mean and scale depend only on these images.
    measure : "intersection", "cosine" or "rbf"
        Similarity measure, see `to_prototypes`.
    n_prototypes : int
        Number of prototypes to draw, from 1 to n_candidates.
    gamma : float or None
        Positive coefficient of "rbf", see `to_prototypes`.
    centred : bool
        Whether to subtract the mean similarities of the training images.
    rng : Generator
        Random generator that draws the prototypes.

    Returns
    -------
    fitted : Similarities

    Raises
    ------
    ValueError
        If the arguments are invalid for `to_prototypes`, if there are fewer images than prototypes, or if all
        similarities are equal.
    """
    # Choice: rows have a mean squared length of 1.
    # Choice: features are centred by default. Similarities are positive, so uncentred features share a large component
    # that is nearly equal for all images. It would dominate the length of 1 and make nearly all subgradients equal.
    # Choice: mean and scale come from the training images, because X contains the prototypes, which are most similar to
    # themselves.
    X = _histograms(X, "X")
    n = X.shape[0]
    require(1 <= n_prototypes <= n, f"n_prototypes must be between 1 and {n}, the number of images, got {n_prototypes}")
    prototypes = X[np.sort(rng.choice(np.arange(n), n_prototypes, replace=False))]
    gamma = _width(prototypes.astype(np.float64), measure, gamma)
    similarities = to_prototypes(training, prototypes, measure=measure, gamma=gamma)
    length = _length(similarities)
    mean = np.zeros(n_prototypes, np.float32)
    if centred:
        mean = similarities.mean(axis=0, dtype=np.float64).astype(np.float32)
        similarities -= mean
    centred_length = _length(similarities)
    require(
        centred_length > 1e-6 * length,
        f"the training images must differ in their similarities ({measure}), got {similarities.shape[0]} equal rows",
    )
    return Similarities(prototypes, measure, gamma, mean, float(1 / centred_length))


def _length(rows: np.ndarray) -> np.floating:
    """Return the root mean square length of the rows, computed in double precision."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).mean())


def project(X: sparse.csr_matrix | np.ndarray, fitted: Similarities) -> np.ndarray:
    """Return the scaled similarities of the images X (n_images, n_features), as (n_images, n_prototypes) float32."""
    projected = to_prototypes(X, fitted.prototypes, measure=fitted.measure, gamma=fitted.gamma)
    projected -= fitted.mean
    projected *= np.float32(fitted.scale)
    return projected
