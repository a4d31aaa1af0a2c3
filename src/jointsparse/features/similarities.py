"""Features of images: their similarities to a set of unlabelled images, the prototypes.

Source: Quattoni et al. 2009, poster, second experiment ("similarities to a set of unlabeled images", 2000 of them).
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import require
from jointsparse.compiled import njit

IMAGES_AT_ONCE = 1024  # their similarities to 2,000 prototypes are 16 MB in double precision
MEASURES = ("intersection", "cosine", "rbf")


class Similarities(NamedTuple):
    """Fitted features, x -> scale * (similarities of x to the prototypes - mean).

    prototypes: CSR (n_prototypes, n_features). measure, gamma: see `to_prototypes`. gamma is None unless the measure is
    "rbf". mean: (n_prototypes,), zero if not centred. scale: one number.
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
    """Add min(x, p) over the features that an image (CSR) and a prototype (CSC) share to sums[image, prototype]."""
    for i in range(len(sums)):
        row = sums[i]
        for e in range(indptr[i], indptr[i + 1]):
            for t in range(starts[indices[e]], starts[indices[e] + 1]):
                row[prototype[t]] += min(data[e], values[t])


def _intersection(X: sparse.csr_matrix, prototypes: sparse.csr_matrix) -> np.ndarray:
    for name, matrix in (("X", X), ("prototypes", prototypes)):
        if matrix.nnz and matrix.data.min() < 0:
            raise ValueError(f"expected histograms without negative entries in {name}, got {matrix.data.min()}")
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
    - "cosine": x·p / (|x|_2 |p|_2), 0 where a histogram is empty;
    - "rbf": exp(-gamma |x - p|_2^2).

    Rows are not normalised. An intersection of rows with different sums depends on these sums too.

    Parameters
    ----------
    X : csr_matrix or array, shape (n_images, n_features)
        Histograms, at least 0 for "intersection".
    prototypes : csr_matrix or array, shape (n_prototypes, n_features)
        Histograms, at least 0 for "intersection".
    measure : "intersection", "cosine" or "rbf"
        See above.
    gamma : float above 0, or None
        Width of "rbf". None: 1 / the mean squared distance between two prototypes.

    Returns
    -------
    similarities : array, shape (n_images, n_prototypes), float32
        Identical bits for any number of threads.

    Raises
    ------
    ValueError
        If the measure is unknown, an entry is not finite, or negative for "intersection". If gamma is to follow from
        the prototypes and all of these are equal.

    Examples
    --------
    >>> X, prototypes = np.array([[3.0, 0.0, 1.0]]), np.array([[1.0, 1.0, 1.0], [0.0, 5.0, 0.0]])
    >>> to_prototypes(X, prototypes, measure="intersection")
    array([[2., 0.]], dtype=float32)
    """
    from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

    require(measure in MEASURES, f"measure must be one of {', '.join(MEASURES)}, got {measure!r}")
    X, prototypes = _histograms(X, "X"), _histograms(prototypes, "prototypes").astype(np.float64)
    require(
        X.shape[1] == prototypes.shape[1],
        f"expected X with the prototypes' {prototypes.shape[1]} features, got {X.shape[1]}",
    )
    gamma = _width(prototypes, measure, gamma)
    functions = {"intersection": _intersection, "cosine": cosine_similarity, "rbf": partial(rbf_kernel, gamma=gamma)}
    similarities = np.empty((X.shape[0], prototypes.shape[0]), np.float32)
    for start in range(0, X.shape[0], IMAGES_AT_ONCE):
        rows = slice(start, start + IMAGES_AT_ONCE)
        similarities[rows] = functions[measure](X[rows].astype(np.float64), prototypes)
    return similarities


def _histograms(X: sparse.csr_matrix | np.ndarray, name: str) -> sparse.csr_matrix:
    """X as CSR, each row's features in order and once each. X itself stays as it is."""
    require(
        sparse.issparse(X) or np.ndim(X) == 2,
        f"expected {name} with two axes (images, features), got shape {np.shape(X)}",
    )
    matrix = sparse.csr_matrix(X)
    require(matrix.shape[0], f"expected at least one row in {name}, got none")
    require(np.isfinite(matrix.data).all(), f"{name} must be finite, got NaN or infinity")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _width(prototypes: sparse.csr_matrix, measure: str, gamma: float | None) -> float | None:
    """The gamma to use: the given one, or the inverse of the mean squared distance between two prototypes."""
    if measure != "rbf":
        require(gamma is None, f"gamma belongs to the measure rbf, got {gamma} for {measure}")
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
        "prototypes must differ, or gamma be given: their mean squared distance is 0",
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
    """Draw the prototypes from the unlabelled images, and set mean and scale on the training images.

    The new features are scaled by one number, so that training images have a mean squared length of 1. Step sizes and
    radii then mean the same whatever the measure and the number of prototypes, as after `basis.fit`.

    Parameters
    ----------
    X : csr_matrix or array, shape (n_candidates, n_features)
        Histograms of the unlabelled images.
    training : csr_matrix or array, shape (n_training, n_features)
        Histograms of the training images. No other image enters mean or scale.
    measure : "intersection", "cosine" or "rbf"
        See `to_prototypes`.
    gamma : float above 0, or None
        See `to_prototypes`.
    n_prototypes : int, from 1 to n_candidates
        Number of prototypes to draw.
    centred : bool
        Whether to take off the mean similarities of the training images.
    rng : Generator
        Source of the draw.

    Returns
    -------
    fitted : Similarities

    Raises
    ------
    ValueError
        As `to_prototypes`, if there are fewer images than prototypes, or if all similarities are equal.
    """
    # Choice: mean squared length 1.
    # Choice: centred by default. Similarities are positive. Uncentred features share one large component, nearly equal
    # for all images, which would use up the length 1 and make nearly all subgradients equal.
    # Choice: mean and scale of the training images. A prototype's similarity to itself would enter those of X.
    X = _histograms(X, "X")
    n = X.shape[0]
    require(1 <= n_prototypes <= n, f"n_prototypes must be between 1 and {n}, the images there, got {n_prototypes}")
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
        f"expected images whose similarities ({measure}) differ, got {similarities.shape[0]} alike",
    )
    return Similarities(prototypes, measure, gamma, mean, float(1 / centred_length))


def _length(rows: np.ndarray) -> np.floating:
    """Root mean square length of rows, in double precision."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).mean())


def project(X: sparse.csr_matrix | np.ndarray, fitted: Similarities) -> np.ndarray:
    """Return the images X (n_images, n_features) as scaled similarities, (n_images, n_prototypes), float32."""
    projected = to_prototypes(X, fitted.prototypes, measure=fitted.measure, gamma=fitted.gamma)
    projected -= fitted.mean
    projected *= np.float32(fitted.scale)
    return projected
