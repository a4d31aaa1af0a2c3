"""Images described by how similar they are to a set of unlabelled images, the prototypes.

Source: Quattoni et al. 2009, poster, second experiment ("similarities to a set of unlabeled images", 2000 of them).
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

BLOCK = 1024  # images compared together: their similarities to 2,000 prototypes are 16 MB in double precision


class Similarities(NamedTuple):
    """x -> scale * (similarities of x to the prototypes - mean).

    prototypes: CSR (n_prototypes, n_features). measure, gamma: see `compare`; gamma is None unless the measure is
    "rbf". mean: (n_prototypes,), zero if not centred. scale: one number.
    """

    prototypes: sparse.csr_matrix
    measure: str
    gamma: float | None
    mean: np.ndarray
    scale: float


@njit(cache=True, nogil=True)
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


def _intersection(X: sparse.csr_matrix, prototypes: sparse.csr_matrix, gamma: float | None) -> np.ndarray:
    for name, matrix in (("X", X), ("prototypes", prototypes)):
        if matrix.nnz and matrix.data.min() < 0:
            raise ValueError(f"expected histograms without negative entries in {name}, got {matrix.data.min()}")
    sums = np.zeros((X.shape[0], prototypes.shape[0]))
    by_feature = prototypes.tocsc()
    _add_minima(X.data, X.indices, X.indptr, by_feature.data, by_feature.indices, by_feature.indptr, sums)
    return sums


def _cosine(X: sparse.csr_matrix, prototypes: sparse.csr_matrix, gamma: float | None) -> np.ndarray:
    from sklearn.metrics.pairwise import cosine_similarity

    return np.asarray(cosine_similarity(X, prototypes))


def _rbf(X: sparse.csr_matrix, prototypes: sparse.csr_matrix, gamma: float | None) -> np.ndarray:
    from sklearn.metrics.pairwise import rbf_kernel

    return np.asarray(rbf_kernel(X, prototypes, gamma=gamma))


MEASURES = {"intersection": _intersection, "cosine": _cosine, "rbf": _rbf}


def compare(
    X: sparse.csr_matrix | np.ndarray,
    prototypes: sparse.csr_matrix | np.ndarray,
    *,
    measure: str,
    gamma: float | None = None,
) -> np.ndarray:
    """The similarity of every image x to every prototype p.

    measure: "intersection": sum_w min(x_w, p_w); "cosine": x·p / (|x|_2 |p|_2), 0 where a histogram is empty; "rbf":
    exp(-gamma |x - p|_2^2).

    X: (n_images, n_features), prototypes: (n_prototypes, n_features), CSR or dense; for "intersection" at least 0. Rows
    are taken as they come: intersections of rows of different sums measure their sizes too.
    gamma: above 0, of "rbf" only; by default 1 / the mean squared distance between two prototypes.

    Returns (n_images, n_prototypes) float32, the same bits for any number of threads.
    Raises ValueError for an unknown measure, entries that are not finite or negative where they may not be, or
    prototypes that are all the same where gamma is to follow from them.

    >>> compare(np.array([[3.0, 0.0, 1.0]]), np.array([[1.0, 1.0, 1.0], [0.0, 5.0, 0.0]]), measure="intersection")
    array([[2., 0.]], dtype=float32)
    """
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}")
    X, prototypes = _histograms(X, "X"), _histograms(prototypes, "prototypes").astype(np.float64)
    if X.shape[1] != prototypes.shape[1]:
        raise ValueError(f"expected X with the prototypes' {prototypes.shape[1]} features, got {X.shape[1]}")
    gamma = _width(prototypes, measure, gamma)
    similarities = np.empty((X.shape[0], prototypes.shape[0]), np.float32)
    for start in range(0, X.shape[0], BLOCK):
        rows = slice(start, start + BLOCK)
        similarities[rows] = MEASURES[measure](X[rows].astype(np.float64), prototypes, gamma)
    return similarities


def _histograms(X: sparse.csr_matrix | np.ndarray, name: str) -> sparse.csr_matrix:
    """X as CSR, each row's features in order and once each; X itself is not touched."""
    if not sparse.issparse(X) and np.ndim(X) != 2:
        raise ValueError(f"expected {name} with two axes (images, features), got shape {np.shape(X)}")
    matrix = sparse.csr_matrix(X)
    if not matrix.shape[0]:
        raise ValueError(f"expected at least one row in {name}, got none")
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _width(prototypes: sparse.csr_matrix, measure: str, gamma: float | None) -> float | None:
    """The gamma to use: the given one, or the inverse of the mean squared distance between two prototypes."""
    if measure != "rbf":
        if gamma is not None:
            raise ValueError(f"gamma belongs to the measure rbf, got {gamma} for {measure}")
        return None
    if gamma is not None:
        if not 0 < gamma < np.inf:
            raise ValueError(f"gamma must be a number above 0, got {gamma}")
        return float(gamma)
    n = prototypes.shape[0]
    mean = np.asarray(prototypes.mean(axis=0)).ravel()
    squares = np.square(prototypes.data).sum()
    # Over pairs of two different prototypes, the mean squared distance is twice their total variance.
    mean_squared_distance = 2 * (squares - n * np.square(mean).sum()) / max(n - 1, 1)
    if not mean_squared_distance > 1e-12 * squares / n:
        raise ValueError("prototypes must differ, or gamma be given: their mean squared distance is 0")
    return float(1 / mean_squared_distance)


def choose_prototypes(candidates: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n of the candidates (n_candidates,), such as rows of unlabelled images, without replacement and sorted.

    Raises ValueError if n is not in 1 … n_candidates.
    """
    if not 1 <= n <= len(candidates):
        raise ValueError(f"the number of prototypes must be between 1 and {len(candidates)}, the images there, got {n}")
    return np.sort(rng.choice(candidates, n, replace=False))


def fit(
    X: sparse.csr_matrix | np.ndarray,
    *,
    measure: str,
    n_prototypes: int,
    gamma: float | None = None,
    centred: bool = True,
    rng: np.random.Generator,
) -> Similarities:
    """Draw the prototypes from X (n_candidates, n_features), the unlabelled images, and set mean and scale on X.

    measure, gamma: see `compare`. centred: whether the mean similarities of X are taken off. The new features are then
    scaled by one number, so that the rows of X have a mean squared length of 1 and step sizes and radii mean the same
    whatever the measure and the number of prototypes (as `basis.fit` does). Other images enter neither.

    Raises ValueError as `compare` and `choose_prototypes`, or if all similarities are the same.
    """
    # Choice: mean squared length 1.
    # Choice: centred by default. Similarities are positive, so that without it all features share one large component,
    # the same for nearly every image, which would use up the length 1 and make every subgradient nearly the same.
    # Choice: what a prototype is to itself counts like any other similarity for mean and scale.
    X = _histograms(X, "X")
    prototypes = X[choose_prototypes(np.arange(X.shape[0]), n_prototypes, rng)]
    gamma = _width(prototypes.astype(np.float64), measure, gamma)
    similarities = compare(X, prototypes, measure=measure, gamma=gamma)
    length = _length(similarities)
    mean = np.zeros(n_prototypes, np.float32)
    if centred:
        mean = similarities.mean(axis=0, dtype=np.float64).astype(np.float32)
        similarities -= mean
    centred_length = _length(similarities)
    if not centred_length > 1e-6 * length:
        raise ValueError(f"expected images whose similarities ({measure}) differ, got {X.shape[0]} alike")
    return Similarities(prototypes, measure, gamma, mean, float(1 / centred_length))


def _length(rows: np.ndarray) -> np.floating:
    """The root mean square length of some rows, in double precision."""
    blocks = (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
    squares = np.concatenate([np.square(block, dtype=np.float64).sum(axis=1) for block in blocks])
    return np.sqrt(squares.mean())


def project(X: sparse.csr_matrix | np.ndarray, fitted: Similarities) -> np.ndarray:
    """The images X (n_images, n_features) as scaled similarities: (n_images, n_prototypes), float32."""
    projected = compare(X, fitted.prototypes, measure=fitted.measure, gamma=fitted.gamma)
    projected -= fitted.mean
    projected *= np.float32(fitted.scale)
    return projected
