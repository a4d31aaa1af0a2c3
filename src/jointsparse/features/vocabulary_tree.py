"""Vocabulary tree: words for local descriptors by hierarchical k-means, and histograms over all its levels.

Nister, D. and Stewenius, H. (2006), Scalable recognition with a vocabulary tree, CVPR. As a multi-resolution histogram
in Quattoni, Carreras, Collins and Darrell (2009), Section 6: 10 + 100 + 1000 + 10000 words.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import Misfit, require, require_count
from jointsparse.compiled import njit

WEIGHTINGS = ("count", "sqrt", "tf-idf")

IMAGES_ENCODED_AT_ONCE = 32  # of 320 x 240 pixels: 12 MB of descriptors
IMAGES_AT_ONCE = 1000  # whose histograms are weighted together: numbers for each entry of all would not fit
MAX_ITER = 50  # of k-means in a node. Measured: 100 reduce the root mean square distance to the leaves by under 0.1 %.
TOL = 1e-4  # of k-means: the squared distance that all centres move, as a fraction of the features' mean variance
MOST_STEPS = 128  # in 1, of the centres' grid
LONGEST = 33_000  # descriptors: their squared distances fit in 32 bits

Progress = Callable[[int, int], None]


class Tree(NamedTuple):
    """A tree of words as plain arrays, one entry per node, level by level (breadth-first). Node 0 is the root.

    centres: (n_nodes, length) float32, multiples of 1 / 128: distances are whole numbers, which no processor rounds in
    another order. The root's is not used.
    first_child: (n_nodes,) int32. The children of a node follow one another from here. 0 for a leaf.
    n_children: (n_nodes,) int32. 0 for a leaf.
    level: (n_nodes,) int32. 0 for the root, 1 to depth for the words.

    Every node but the root is a word: word w is node w + 1 and column w of a histogram.
    """

    centres: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray
    level: np.ndarray

    @property
    def depth(self) -> int:
        return int(self.level[-1])

    @property
    def n_words(self) -> int:
        return len(self.level) - 1


def grow(
    descriptors: np.ndarray,
    *,
    branching: int = 10,
    depth: int = 4,
    min_points: int = 50,
    seed: int,
    progress: Progress | None = None,
) -> Tree:
    """Split the descriptors by k-means into `branching` parts, each part again, and so on for `depth` levels.

    In every node: minimise over centres c_1, ..., c_b  sum_x min_k |x - c_k|^2, the sum over the node's descriptors x.

    Parameters
    ----------
    descriptors : array, shape (n, length), uint8
        Sample of the descriptors to quantise later.
    branching : int, at least 2
        Children per node. There are fewer where k-means leaves a part empty.
    depth : int, at least 1
        Levels below the root.
    min_points : int, at least 1
        A node with fewer descriptors, or with fewer distinct ones than `branching`, is a leaf whatever its level.
    seed : int, at least 0
        Together with a node's path, decides the node's random state.
    progress : function or None
        Called as `progress(done, total)` after each node, in descriptors times levels.

    Returns
    -------
    tree : Tree
        About branching + branching^2 + ... + branching^depth words.

    Raises
    ------
    ValueError
        If an option is outside its range or if the root itself cannot be split.

    Notes
    -----
    Source: Nister and Stewenius (2006), Section 3. k-means begins at one greedy k-means++ start (Arthur and
    Vassilvitskii, SODA 2007) and is exact in integers: the tree is the same, bit by bit, on every processor.

    Examples
    --------
    >>> points = np.repeat(np.array([[0, 0], [0, 9], [90, 0], [90, 9]], dtype=np.uint8), 5, axis=0)
    >>> tree = grow(points, branching=2, depth=2, min_points=10, seed=0)
    >>> tree.level.tolist()
    [0, 1, 1, 2, 2, 2, 2]
    >>> sorted(tree.centres[1:3].tolist())
    [[0.0, 4.5], [90.0, 4.5]]
    """
    _require_descriptors(descriptors)
    require_count(branching, "branching", least=2)
    require_count(depth, "depth")
    require_count(min_points, "min_points")
    require_count(seed, "seed", least=0)
    require(
        len(descriptors) >= max(branching, min_points) and _has_distinct(descriptors, branching),
        f"descriptors must hold at least {max(branching, min_points)} rows (branching, min_points), "
        f"{branching} of them distinct, got {len(descriptors)} rows, {len(np.unique(descriptors, axis=0))} of them "
        "distinct",
    )
    total, done = len(descriptors) * depth, 0
    root = np.zeros((1, descriptors.shape[1]), np.float32)
    centres, first_child, n_children, level = [root], list[int](), list[int](), list[int]()
    # Nodes in the order of their numbers: the path of child numbers from the root, and the descriptors there.
    waiting: deque[tuple[tuple[int, ...], np.ndarray]] = deque([((), descriptors)])
    while waiting:
        path, points = waiting.popleft()
        level.append(len(path))
        first_child.append(0)
        n_children.append(0)
        done += len(points) * (depth - len(path))
        if len(path) < depth and len(points) >= min_points and _has_distinct(points, branching):
            means, labels = _split(points, path, branching, seed)
            first_child[-1], n_children[-1] = len(level) + len(waiting), len(means)
            centres.append(means)
            waiting += [((*path, child), points[labels == child]) for child in range(len(means))]
            done -= len(points) * (depth - len(path) - 1)
        if progress is not None:
            progress(done, total)
    return Tree(np.concatenate(centres), *(np.array(part, np.int32) for part in (first_child, n_children, level)))


def _split(points: np.ndarray, path: tuple[int, ...], branching: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres of a node's children, and the child of each of its points."""
    points = points.astype(np.int16)  # of which kernels multiply many at once
    # Centres here are in steps of a grid, 1 / steps, so whole numbers: their products with points are exact.
    (n, length), steps = points.shape, _steps(points.shape[1])
    totals, squares = points.sum(axis=0, dtype=np.int64), _distances(points, np.zeros(length, np.int16)).sum()
    variance = (int(squares) - sum(int(total) ** 2 for total in totals) / n) / n / length
    centres = steps * _begin(points, branching, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path)))
    labels, sums, counts = np.empty(n, np.int32), np.empty((branching, length), np.int64), np.empty(branching, np.int64)
    for _ in range(MAX_ITER):
        _assign(*_on_grid(centres), steps, points, labels, sums, counts)
        means = np.rint(steps * sums / np.maximum(counts, 1)[:, np.newaxis])
        moved = np.where(counts[:, np.newaxis] > 0, means, centres) - centres
        centres = centres + moved
        if (moved**2).sum() <= TOL * steps**2 * variance:
            break
    _assign(*_on_grid(centres), steps, points, labels, sums, counts)
    not_empty, children = np.unique(labels, return_inverse=True)
    return (centres[not_empty] / steps).astype(np.float32), children


def _begin(points: np.ndarray, branching: int, rng: np.random.Generator) -> np.ndarray:
    """Return the first centres, by greedy k-means++.

    Each is the best of a few points, drawn with probabilities in proportion to their squared distances from the nearest
    centre so far: the one with which the sum of these distances becomes the smallest.
    """
    centres = [int(rng.integers(len(points)))]
    squares = _distances(points, points[centres[0]])
    while len(centres) < branching:
        ends = np.cumsum(squares)
        candidates = np.searchsorted(ends, rng.integers(ends[-1], size=2 + int(math.log(branching))), side="right")
        squares_with = [np.minimum(squares, _distances(points, points[i])) for i in candidates]
        best = int(np.argmin([distances.sum() for distances in squares_with]))
        centres.append(int(candidates[best]))
        squares = squares_with[best]
    return points[centres].astype(np.float64)


def _steps(length: int) -> int:
    """Return how many steps of the centres' grid make 1: a power of two, so that products of vectors fit in 32 bits."""
    return int(min(MOST_STEPS, 2 ** int(math.log2(2**31 / (255 * 255 * length)))))


def _on_grid(centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centres in steps of their grid, as the kernels take them, and their squared lengths."""
    whole = np.rint(centres, out=np.empty(centres.shape, np.int16), casting="unsafe")
    return whole, np.einsum("ij,ij->i", whole, whole, dtype=np.int64)


@njit(nogil=True)
def _distances(points, centre):  # type: ignore[no-untyped-def]
    """Squared distance of each point to a centre."""
    squares = np.empty(len(points), np.int64)
    for i in range(len(points)):
        point, total = points[i], np.int32(0)
        for j in range(len(centre)):
            apart = np.int32(np.int32(point[j]) - np.int32(centre[j]))
            total = np.int32(total + np.int32(apart * apart))
        squares[i] = total
    return squares


@njit(nogil=True)
def _nearest(centres, squares, first, last, x, steps):  # type: ignore[no-untyped-def]
    """Return which of the centres first, …, last - 1 is nearest to x: the one with the largest 2 c . x - |c|^2.

    Choice: of equally near centres the first. `centres` count in steps of a grid, `steps` of which make 1; `squares`
    are their squared lengths. So the scores that are compared are steps^2 times as large.
    """
    nearest, best = first, np.int64(-(2**62))
    for k in range(first, last):
        centre, product = centres[k], np.int32(0)
        for j in range(len(x)):  # in 32 bits: four times as fast
            product = np.int32(product + np.int32(np.int32(centre[j]) * np.int32(x[j])))
        score = 2 * steps * np.int64(product) - squares[k]
        if score > best:
            nearest, best = k, score
    return nearest


@njit(nogil=True)
def _assign(centres, squares, steps, points, labels, sums, counts):  # type: ignore[no-untyped-def]
    """Write the nearest centre of each point to `labels`, and the sum and number of each centre's points."""
    sums[:] = 0
    counts[:] = 0
    for i in range(len(points)):
        point = points[i]
        labels[i] = k = _nearest(centres, squares, 0, len(centres), point, steps)
        counts[k] += 1
        total = sums[k]
        for j in range(len(point)):
            total[j] += point[j]


def _has_distinct(points: np.ndarray, n: int) -> bool:
    """Return True if there are at least n distinct rows."""
    # The first few rows nearly always hold them.
    return any(len(np.unique(points[:stop], axis=0)) >= n for stop in (10 * n, len(points)))


@njit(nogil=True)
def _descend(centres, squares, steps, first_child, n_children, descriptors, paths):  # type: ignore[no-untyped-def]
    """Write to `paths` the nodes that each descriptor meets from the root, always going to the nearest child.

    Column l - 1 is the node at level l, or -1 below a leaf.
    """
    for i in range(len(descriptors)):
        x, path = descriptors[i], paths[i]
        node = 0
        for column in range(paths.shape[1]):
            first = first_child[node]
            last = first + n_children[node]
            if first == last:
                path[column:] = -1
                break
            node = _nearest(centres, squares, first, last, x, steps)
            path[column] = node


def quantise(tree: Tree, descriptors: np.ndarray) -> np.ndarray:
    """Return the greedy path of every descriptor x down the tree: node <- argmin over its children k of |x - c_k|^2.

    descriptors: (n, length) uint8.

    Returns the nodes met, (n, depth) int32: column l - 1 is the node at level l, or -1 below an early leaf. Of
    children equally near, the first is taken. Raises ValueError if the descriptors are not uint8 of the tree's length.

    Notes
    -----
    Source: Nister and Stewenius (2006), Section 3.

    Examples
    --------
    >>> level = np.array([0, 1, 1], np.int32)
    >>> centres = np.array([[0, 0], [10, 10], [200, 200]], np.float32)
    >>> tree = Tree(centres, np.array([1, 0, 0], np.int32), np.array([2, 0, 0], np.int32), level)
    >>> quantise(tree, np.array([[180, 250], [0, 9]], dtype=np.uint8)).tolist()
    [[2], [1]]
    """
    _require_descriptors(descriptors, tree.centres.shape[1])
    # Numba compiles anew for read-only arrays, such as memory maps. Only such arrays are copied here.
    steps = _steps(tree.centres.shape[1])
    centres, squares = _on_grid(steps * tree.centres)
    first_child = np.require(tree.first_child, np.int32, ["C", "W"])
    n_children = np.require(tree.n_children, np.int32, ["C", "W"])
    paths = np.empty((len(descriptors), tree.depth), np.int32)
    _descend(centres, squares, steps, first_child, n_children, descriptors.astype(np.int16), paths)
    return paths


def encode(tree: Tree, descriptors: np.ndarray, counts_per_image: np.ndarray) -> sparse.csr_matrix:
    """Count words at all levels, a multi-resolution histogram: H[image, w] descriptors pass through word w.

    descriptors: (n, length) uint8, image after image. They may be memory-mapped: those of a few images are held at a
    time. counts_per_image: (n_images,) integers that sum to n.

    Returns counts, csr (n_images, n_words) int32. Word w is node w + 1, so that the columns come level by level. In
    each level a row sums to the image's number of descriptors, less the number that ended in a leaf above.
    Raises ValueError if the counts do not sum to n, or as `quantise`.

    Notes
    -----
    Source: Quattoni et al. (2009), Section 6.

    Examples
    --------
    >>> level = np.array([0, 1, 1], np.int32)
    >>> centres = np.array([[0, 0], [10, 10], [200, 200]], np.float32)
    >>> tree = Tree(centres, np.array([1, 0, 0], np.int32), np.array([2, 0, 0], np.int32), level)
    >>> encode(tree, np.array([[180, 250], [0, 9], [1, 1]], dtype=np.uint8), np.array([1, 0, 2])).toarray().tolist()
    [[0, 1], [0, 0], [2, 0]]
    """
    _require_descriptors(descriptors, tree.centres.shape[1])
    counts_per_image = np.asarray(counts_per_image)
    require(
        counts_per_image.ndim == 1 and counts_per_image.dtype.kind in "iu" and (counts_per_image >= 0).all(),
        "counts_per_image must be a vector of integers of at least 0",
    )
    ends = np.concatenate([[0], np.cumsum(counts_per_image, dtype=np.int64)])
    require(
        ends[-1] == len(descriptors),
        f"counts_per_image must sum to the {len(descriptors)} descriptors, got {ends[-1]}",
        Misfit,
    )
    blocks = [sparse.csr_matrix((0, tree.n_words), dtype=np.int32)]
    for start in range(0, len(counts_per_image), IMAGES_ENCODED_AT_ONCE):
        counts = counts_per_image[start : start + IMAGES_ENCODED_AT_ONCE]
        paths = quantise(tree, descriptors[ends[start] : ends[start + len(counts)]])
        rows, words = np.repeat(np.arange(len(counts)), counts * paths.shape[1]), paths.ravel() - 1
        met = words >= 0  # -1 stands below an early leaf
        ones = np.ones(int(met.sum()), np.int32)
        blocks.append(sparse.csr_matrix((ones, (rows[met], words[met])), shape=(len(counts), tree.n_words)))
    return sparse.csr_matrix(sparse.vstack(blocks, format="csr"))


def _normalise_levels(features: sparse.csr_matrix, level: np.ndarray, depth: int) -> None:
    """Scale, in place, each level's entries of each row to unit l2 norm. `level` holds the level of each column."""
    for start in range(0, features.shape[0], IMAGES_AT_ONCE):
        ends = features.indptr[start : start + IMAGES_AT_ONCE + 1]
        block, row = slice(ends[0], ends[-1]), np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        part = row * (depth + 1) + level[features.indices[block]]
        squares = np.bincount(part, features.data[block].astype(np.float64) ** 2)[part]
        features.data[block] /= np.sqrt(np.where(squares > 0, squares, 1))


def weigh(
    counts: sparse.csr_matrix,
    tree: Tree,
    *,
    weighting: str = "sqrt",
    normalise: bool = True,
    idf: np.ndarray | None = None,
) -> sparse.csr_matrix:
    """Make features from counts h: weight each word, then divide each level's part v of each row by |v|_2.

    Parameters
    ----------
    counts : csr_matrix, shape (n_images, n_words)
        Counts from `encode`.
    tree : Tree
        The tree that counted.
    weighting : "count", "sqrt" or "tf-idf"
        h, sqrt(h) or h ln(N / N_w), where N_w of N images hold word w.
    normalise : bool
        Whether to give each level's part of a row unit l2 norm. A part of zeros stays.
    idf : array, shape (n_words,)
        ln(N / N_w), from `inverse_frequencies`. Only "tf-idf" needs it.

    Returns
    -------
    features : csr_matrix, shape (n_images, n_words), float32

    Raises
    ------
    ValueError
        If the weighting is unknown, "tf-idf" has no `idf`, or the columns are not the tree's words.

    Notes
    -----
    Source: Nister and Stewenius (2006), Section 4, for the weights ln(N / N_w).

    Examples
    --------
    >>> nodes = np.zeros(4, np.int32)
    >>> tree = Tree(np.zeros((4, 2), np.float32), nodes, nodes, np.array([0, 1, 1, 1], np.int32))
    >>> weigh(sparse.csr_matrix([[9, 16, 0], [0, 0, 0]]), tree).toarray()
    array([[0.6, 0.8, 0. ],
           [0. , 0. , 0. ]], dtype=float32)
    """
    require_weighting(weighting)
    _require_words(counts, tree)
    weighted = sparse.csr_matrix(counts, dtype=np.float32, copy=True)
    if weighting == "sqrt":
        np.sqrt(weighted.data, out=weighted.data)
    elif weighting == "tf-idf":
        idf = np.asarray(idf)
        require(idf.shape == (tree.n_words,), f"idf must have shape ({tree.n_words},), got {idf.shape}", Misfit)
        weighted.data *= idf[weighted.indices]
    if normalise:
        _normalise_levels(weighted, tree.level[1:], tree.depth)
    return weighted


def require_weighting(weighting: object) -> None:
    """Raise ValueError unless `weighting` is one of `WEIGHTINGS`."""
    require(weighting in WEIGHTINGS, f"weighting must be one of {', '.join(WEIGHTINGS)}, got {weighting!r}")


def inverse_frequencies(counts: sparse.csr_matrix) -> np.ndarray:
    """ln(N / N_w), (n_words,) float32: N_w of the N images in `counts` hold word w."""
    n_images = counts.shape[0]
    require(n_images, "counts must have a row for at least one image, got none")
    holding = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
    # Choice: a word that no image holds has weight 0; the formula has no value for it.
    return np.log(n_images / np.where(holding > 0, holding, n_images)).astype(np.float32)


def _require_words(counts: sparse.csr_matrix, tree: Tree) -> None:
    require(
        counts.shape[1] == tree.n_words,
        f"counts must have one column for each of the tree's {tree.n_words} words, got {counts.shape[1]}",
        Misfit,
    )


def _require_descriptors(descriptors: np.ndarray, length: int | None = None) -> None:
    require(
        descriptors.ndim == 2 and descriptors.dtype == np.uint8,
        f"descriptors must be uint8 (n, length), got {descriptors.dtype} with shape {descriptors.shape}",
    )
    require(descriptors.shape[1] <= LONGEST, f"length must be at most {LONGEST}, got {descriptors.shape[1]}")
    require(
        length is None or descriptors.shape[1] == length,
        f"descriptors must have the tree's length {length}, got {descriptors.shape[1]}",
        Misfit,
    )
