"""Find near duplicates: photographs that differ only in scale, compression, or a narrow strip cut off at a side.

A descriptor of a photograph consists of the lowest frequencies of its cosine transform. Two photographs are near
duplicates if the correlation of their descriptors is at least SIMILAR.

The program `trials/near_duplicates.py` measures how many planted near duplicates are found.
"""

import numpy as np

N_FREQUENCIES = 12  # in each direction
# Choice: in Flickr8k and Scene15, a photograph and its scaled, compressed and cropped copy correlate by more than 0.83
# in 99.5 % of the cases, and different views by less than 0.7.
SIMILAR = 0.8
NORM = 127  # of a descriptor, so that its entries fit into int8
PHOTOGRAPHS_AT_ONCE = 4096


def descriptor(greys: np.ndarray) -> np.ndarray:
    """Return the descriptor of a photograph, which is zero if all grey levels are equal.

    Amplitudes of natural images fall with the frequency, so they are multiplied by it. Their square roots are taken,
    because otherwise all photographs with a straight horizon would be alike.

    Parameters
    ----------
    greys : array, shape (height, width)
        Grey levels.

    Returns
    -------
    entries : array, shape (N_FREQUENCIES ** 2,), int8
    """
    if greys.min() == greys.max():
        return np.zeros(N_FREQUENCIES**2, np.int8)
    of_rows, of_columns = (_cosines(n_pixels) for n_pixels in greys.shape)
    waves = np.arange(N_FREQUENCIES)
    amplitudes = (of_rows @ greys @ of_columns.T) * np.hypot.outer(waves, waves)
    entries = np.sign(amplitudes) * np.sqrt(np.abs(amplitudes))
    return np.rint(NORM / np.linalg.norm(entries) * entries).astype(np.int8).ravel()


def _cosines(n_pixels: int) -> np.ndarray:
    waves = np.cos(np.pi / n_pixels * np.outer(np.arange(N_FREQUENCIES), np.arange(n_pixels) + 0.5))
    waves[0] *= np.sqrt(0.5)
    return waves


def clusters(descriptors: np.ndarray) -> np.ndarray:
    """Return the number of the cluster that each photograph belongs to.

    Near duplicates are in the same cluster, and so are near duplicates of near duplicates.

    Parameters
    ----------
    descriptors : array, shape (n_photographs, N_FREQUENCIES ** 2), int8
        See `descriptor`.

    Returns
    -------
    cluster : array, shape (n_photographs,), int
        Clusters are numbered in the order of their first photographs.
    """
    from scipy import sparse  # imported here, because `picture_check` does without SciPy
    from scipy.sparse.csgraph import connected_components

    n = len(descriptors)
    cluster = np.arange(n)
    starts = range(0, n, PHOTOGRAPHS_AT_ONCE)
    # Sums of products of these integers are exact in float32, in whatever order they are added.
    blocks = [descriptors[start : start + PHOTOGRAPHS_AT_ONCE].astype(np.float32) for start in starts]
    for i, first in enumerate(blocks):
        for j, second in enumerate(blocks[: i + 1]):
            rows, columns = np.nonzero(first @ second.T >= SIMILAR * NORM**2)
            one, other = cluster[rows + starts[i]], cluster[columns + starts[j]]
            if (one != other).any():
                edges = sparse.coo_matrix((np.ones(len(one)), (one, other)), shape=(n, n))
                cluster = connected_components(edges, directed=False)[1][cluster]
    return np.unique(cluster, return_index=True, return_inverse=True)[2]
