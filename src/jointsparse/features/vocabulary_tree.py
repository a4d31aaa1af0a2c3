"""Vocabulary tree: hierarchical k-means quantises local descriptors into words, which are counted on all levels.

Nister, D. and Stewenius, H. (2006), Scalable recognition with a vocabulary tree, CVPR. Quattoni, Carreras, Collins and
Darrell (2009), Section 6, use a multi-resolution histogram of 10 + 100 + 1000 + 10000 words.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import Misfit, require, require_array, require_count
from jointsparse.compiled import njit

WEIGHTINGS = ("count", "sqrt", "tf-idf")

IMAGES_ENCODED_AT_ONCE = 32  # block size: 12 MB of descriptors for 320 x 240 pixels
IMAGES_AT_ONCE = 1000  # block size of the normalisation, whose temporary arrays would be too large for all images
# Most iterations of k-means in a node. Measured: 100 iterations reduce the root mean square distance to the leaves by
# less than 0.1 %.
MAX_ITER = 50
TOL = 1e-4  # k-means stops if the summed squared movement of the centres is at most this part of the mean variance
MOST_STEPS = 128  # centres are rounded to multiples of 1 / 128, or coarser if descriptors are long
MOST_LEVELS = 20  # largest depth of a tree
LONGEST = 33_000  # longest descriptors whose squared distances fit in 32 bits

Progress = Callable[[int, int], None]


class Tree(NamedTuple):
    """Vocabulary tree as plain arrays with one entry per node, in breadth-first order. Node 0 is the root.

    centres: (n_nodes, length) float32, multiples of 1 / 128 or of a larger power of two, so that distances are computed
    exactly, on all processors. The centre of the root is not used.
    first_child: (n_nodes,) int32. Index of the node's first child; the indices of its other children follow. 0: a leaf.
    n_children: (n_nodes,) int32. Number of children. 0 for a leaf.
    level: (n_nodes,) int32. 0 for the root, 1 to depth for the words.

    All nodes except the root are words: word w is node w + 1 and column w of a histogram.
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
    """Grow a vocabulary tree: split the descriptors by k-means into `branching` parts, and split every part again.

    In every node, k-means minimises sum_x min_k |x - c_k|^2 over centres c_1, ..., c_b, where the sum runs over the
    node's descriptors x.

    Parameters
    ----------
    descriptors : array, shape (n, length), uint8
        Sample of the descriptors that will be quantised.
    branching : int
        Number of children per node, at least 2. A node has fewer children if k-means leaves a part empty.
    depth : int
        Number of levels below the root, at least 1.
    min_points : int
        Smallest number of descriptors in a node that is split, at least 1. A node is also a leaf if it has fewer
        distinct descriptors than `branching`.
    seed : int
        Non-negative seed. The random state of a node depends on the seed and the node's path.
    progress : function or None
        Called as `progress(done, total)` after every node; both are counted in descriptors times levels.

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
    Source: Nister and Stewenius (2006), Section 3. k-means has a single start, chosen by greedy k-means++ (Arthur and
    Vassilvitskii, SODA 2007), and computes in integers, so that the tree has the same bits on every processor.

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
    # Nodes in the order of their numbers: the path from the root as child indices, and the node's descriptors.
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
    """Return the centres of a node's children, and the index of the child to which each point belongs."""
    points = points.astype(np.int16)  # the processor multiplies several 16-bit integers at once
    # Centres are stored as integers, in units of 1 / steps, so that their products with points are exact.
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
    """Return the initial centres, by greedy k-means++.

    For every centre a few points are drawn, with probabilities proportional to their squared distances from the nearest
    existing centre. The point that reduces the sum of these distances most becomes the next centre.
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
    """Return the power of two by which centres are multiplied before rounding, so that dot products fit in 32 bits."""
    return int(min(MOST_STEPS, 2 ** int(math.log2(2**31 / (255 * 255 * length)))))


def _on_grid(centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the scaled centres as int16, which the kernels expect, and the squared lengths of the scaled centres."""
    whole = np.rint(centres, out=np.empty(centres.shape, np.int16), casting="unsafe")
    return whole, np.einsum("ij,ij->i", whole, whole, dtype=np.int64)


@njit(nogil=True)
def _distances(points, centre):  # type: ignore[no-untyped-def]
    """Return the squared distance of each point from a centre."""
    squares = np.empty(len(points), np.int64)
    for i in range(len(points)):
        point, total = points[i], np.int32(0)
        for j in range(len(centre)):
            difference = np.int32(np.int32(point[j]) - np.int32(centre[j]))
            total = np.int32(total + np.int32(difference * difference))
        squares[i] = total
    return squares


@njit(nogil=True)
def _nearest(centres, squares, first, last, x, steps):  # type: ignore[no-untyped-def]
    """Return which of the centres `first` to `last` - 1 is nearest to x: the centre c with the largest 2 c . x - |c|^2.

    Choice: if several centres are equally near, the first one is returned. centres: integers, which are the centres
    times `steps`. squares: the squared lengths of these integer vectors. The compared scores are therefore scaled by
    steps^2.
    """
    nearest, best = first, np.int64(-(2**62))
    for k in range(first, last):
        centre, product = centres[k], np.int32(0)
        for j in range(len(x)):  # 32 bits are four times as fast as 64
            product = np.int32(product + np.int32(np.int32(centre[j]) * np.int32(x[j])))
        score = 2 * steps * np.int64(product) - squares[k]
        if score > best:
            nearest, best = k, score
    return nearest


@njit(nogil=True)
def _assign(centres, squares, steps, points, labels, sums, counts):  # type: ignore[no-untyped-def]
    """Write the index of each point's nearest centre to `labels`, and the sum and number of each centre's points."""
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
    """Return True if at least n of the rows are distinct."""
    # The first few rows nearly always contain n distinct rows.
    return any(len(np.unique(points[:stop], axis=0)) >= n for stop in (10 * n, len(points)))


@njit(nogil=True)
def _descend(centres, squares, steps, first_child, n_children, descriptors, paths):  # type: ignore[no-untyped-def]
    """Write to `paths` the nodes that each descriptor passes when it descends to the nearest child at every node.

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
    """Return the path of every descriptor x down the tree, from every node to its child k of least |x - c_k|^2.

    descriptors: (n, length) uint8.

    Returns the nodes on the paths, (n, depth) int32: column l - 1 is the node at level l, or -1 below an early leaf. If
    several children are equally near, the first one is taken. Raises ValueError if the descriptors are not uint8 of the
    tree's length.

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
    # Numba would compile again for read-only arrays, such as memory maps, so these arrays are copied.
    steps = _steps(tree.centres.shape[1])
    centres, squares = _on_grid(steps * tree.centres)
    first_child = np.require(tree.first_child, np.int32, ["C", "W"])
    n_children = np.require(tree.n_children, np.int32, ["C", "W"])
    paths = np.empty((len(descriptors), tree.depth), np.int32)
    _descend(centres, squares, steps, first_child, n_children, descriptors.astype(np.int16), paths)
    return paths


def encode(tree: Tree, descriptors: np.ndarray, counts_per_image: np.ndarray) -> sparse.csr_matrix:
    """Count the words on all levels: H[image, w] is the number of the image's descriptors that pass through word w.

    descriptors: (n, length) uint8, ordered by image. The array may be memory-mapped, because the descriptors of only a
    few images are read at a time. counts_per_image: (n_images,) integers that sum to n.

    Returns the multi-resolution histogram H, csr (n_images, n_words) int32. Word w is node w + 1, so that the columns
    are ordered by level. The sum of a row over a level is the image's number of descriptors, minus the number of
    descriptors whose path ends in a leaf above that level. Raises ValueError if the counts do not sum to n, or if the
    descriptors are not uint8 of the tree's length.

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
        is_word = words >= 0  # paths have -1 below an early leaf
        ones = np.ones(int(is_word.sum()), np.int32)
        blocks.append(sparse.csr_matrix((ones, (rows[is_word], words[is_word])), shape=(len(counts), tree.n_words)))
    return sparse.csr_matrix(sparse.vstack(blocks, format="csr"))


def _normalise_levels(features: sparse.csr_matrix, level: np.ndarray, depth: int) -> None:
    """Scale the entries of each row and level to unit l2 norm, in place. level: the level of each column."""
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
    """Turn counts into features: weight the words, then scale each level of each row to unit l2 norm.

    Parameters
    ----------
    counts : csr_matrix, shape (n_images, n_words)
        Counts from `encode`.
    tree : Tree
        Tree with which the words were counted.
    weighting : "count", "sqrt" or "tf-idf"
        Weighting of a count h: h, sqrt(h) or h ln(N / N_w), where N_w of N images have the word w.
    normalise : bool
        Whether to scale each level of a row to unit l2 norm. Levels without words stay zero.
    idf : array, shape (n_words,)
        ln(N / N_w) from `inverse_frequencies`, which only "tf-idf" needs.

    Returns
    -------
    features : csr_matrix, shape (n_images, n_words), float32

    Raises
    ------
    ValueError
        If the weighting is unknown, if `idf` is missing for "tf-idf", or if the columns are not the tree's words.

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


def require_tree(tree: Tree) -> None:
    """Raise ValueError unless a tree has the form that `grow` returns, so that every path ends at a node of the tree.

    All nodes except the root must be children of an earlier node, one level below it.
    """
    n = len(tree.level)
    require_array(tree.centres, "the centres of the tree", (n, None), dtypes=(np.float32,), least=0, most=255)
    for name in ("first_child", "n_children", "level"):
        require_array(getattr(tree, name), f"{name} of the tree", (n,), dtypes=(np.int32,), least=0, most=n)
    n_children = tree.n_children.astype(np.int64)
    ends = 1 + np.cumsum(n_children)
    sound = n > 1 and ends[-1] == n and (tree.first_child == np.where(n_children, ends - n_children, 0)).all()
    if sound:
        parents = np.repeat(np.arange(n), n_children)
        sound = (parents < np.arange(1, n)).all() and tree.level[0] == 0
        sound = sound and (tree.level[1:] == tree.level[parents] + 1).all()
    require(sound, "the nodes of the tree must be numbered level by level, with the children of a node in a row")
    require(tree.depth <= MOST_LEVELS, f"the tree must have at most {MOST_LEVELS} levels, got {tree.depth:,}")
    length = tree.centres.shape[1]
    require(length <= LONGEST, f"descriptors must have at most {LONGEST:,} numbers, got {length:,}")


def require_weighting(weighting: object) -> None:
    """Raise ValueError unless `weighting` is one of `WEIGHTINGS`."""
    require(weighting in WEIGHTINGS, f"weighting must be one of {', '.join(WEIGHTINGS)}, got {weighting!r}")


def inverse_frequencies(counts: sparse.csr_matrix) -> np.ndarray:
    """Return ln(N / N_w), (n_words,) float32, where N_w of the N images in `counts` have the word w."""
    n_images = counts.shape[0]
    require(n_images, "counts must have a row for at least one image, got none")
    n_having = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
    # Choice: a word that no image has gets the weight 0, because the formula is not defined for it.
    return np.log(n_images / np.where(n_having > 0, n_having, n_images)).astype(np.float32)


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
