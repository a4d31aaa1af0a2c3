"""Vocabulary tree: words for local descriptors by hierarchical k-means, and histograms over all its levels.

Nister, D. and Stewenius, H. (2006), Scalable recognition with a vocabulary tree, CVPR. As a multi-resolution histogram
in Quattoni, Carreras, Collins and Darrell (2009), Section 6: 10 + 100 + 1000 + 10000 words.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import Misfit, one_thread, require, require_count
from jointsparse.compiled import njit

WEIGHTINGS = ("count", "sqrt", "tf-idf")

DESCRIPTORS_AT_ONCE = 65_536  # 8 MB of uint8
MAX_ITER = 50  # of k-means in a node. Measured: 100 reduce the root mean square distance to the leaves by under 0.1 %.

Progress = Callable[[int, int], None]
Splits = dict[tuple[int, ...], np.ndarray]  # path of child numbers from the root -> centres of that node's children


class Tree(NamedTuple):
    """A tree of words as plain arrays, one entry per node, level by level (breadth-first). Node 0 is the root.

    centres: (n_nodes, length) float32. The root's is not used.
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
        Called as `progress(done, total)` after the root and after each subtree, in descriptors times levels.

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
    Source: Nister and Stewenius (2006), Section 3. k-means is scikit-learn's, from one k-means++ start.

    Examples
    --------
    >>> points = np.repeat(np.array([[0, 0], [0, 9], [90, 0], [90, 9]], dtype=np.uint8), 5, axis=0)
    >>> tree = grow(points, branching=2, depth=2, min_points=2, seed=0)
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
        f"{branching} of them distinct, got {len(descriptors)} rows",
    )
    total, done = len(descriptors) * depth, len(descriptors)
    # With two threads, the last bit of a centre depends on which one finishes first.
    with one_thread(openmp=True):
        centres, labels = _split(descriptors, (), branching, seed)
        splits: Splits = {(): centres}
        for child in range(len(centres)):
            part = descriptors[labels == child]
            if progress is not None:
                progress(done, total)
            splits |= _split_downwards(part, (child,), branching, depth, min_points, seed)
            done += len(part) * (depth - 1)
    if progress is not None:
        progress(done, total)
    return _number(splits)


def _split_downwards(
    points: np.ndarray, path: tuple[int, ...], branching: int, depth: int, min_points: int, seed: int
) -> Splits:
    if len(path) == depth or len(points) < min_points or not _has_distinct(points, branching):
        return {}
    centres, labels = _split(points, path, branching, seed)
    splits = {path: centres}
    for child in range(len(centres)):
        splits |= _split_downwards(points[labels == child], (*path, child), branching, depth, min_points, seed)
    return splits


def _split(points: np.ndarray, path: tuple[int, ...], branching: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres of a node's children, and the child of each of its points."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    random_state = int(np.random.SeedSequence(seed, spawn_key=path).generate_state(1)[0])
    k_means = KMeans(branching, n_init=1, max_iter=MAX_ITER, tol=1e-4, random_state=random_state, copy_x=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of empty clusters, which are dropped below
        labels = k_means.fit(points.astype(np.float32)).labels_
    kept, labels = np.unique(labels, return_inverse=True)
    return k_means.cluster_centers_[kept].astype(np.float32), labels


def _number(splits: Splits) -> Tree:
    """The tree as arrays: nodes level by level, and in each level by path."""
    first_child, n_children, level = [0], [0], [0]
    number: dict[tuple[int, ...], int] = {(): 0}
    in_order = sorted(splits, key=lambda path: (len(path), path))
    for path in in_order:
        n = len(splits[path])
        first_child[number[path]], n_children[number[path]] = len(level), n
        for child in range(n):
            number[(*path, child)] = len(level)
            first_child.append(0)
            n_children.append(0)
            level.append(len(path) + 1)
    root = np.zeros((1, splits[()].shape[1]), np.float32)
    return Tree(
        np.concatenate([root, *(splits[path] for path in in_order)]),
        np.array(first_child, np.int32),
        np.array(n_children, np.int32),
        np.array(level, np.int32),
    )


def _has_distinct(points: np.ndarray, n: int) -> bool:
    """True if there are at least n distinct rows. The first few rows nearly always hold them."""
    return any(len(np.unique(points[:stop], axis=0)) >= n for stop in (10 * n, len(points)))


@njit(nogil=True, fastmath={"reassoc", "contract"})
def _descend(
    centres: np.ndarray,
    half_squares: np.ndarray,
    first_child: np.ndarray,
    n_children: np.ndarray,
    descriptors: np.ndarray,
    paths: np.ndarray,
) -> None:
    """Fill `paths`: from the root, always to the nearest child, argmax of centre . x - |centre|^2 / 2."""
    x = np.empty(descriptors.shape[1], np.float32)
    for i in range(len(descriptors)):
        descriptor, path = descriptors[i], paths[i]
        for j in range(len(x)):
            x[j] = descriptor[j]
        node = 0
        for above in range(paths.shape[1]):
            first = first_child[node]
            last = first + n_children[node]
            if first == last:
                path[above:] = -1
                break
            best = np.float32(-np.inf)
            for child in range(first, last):
                centre = centres[child]
                score = -half_squares[child]
                for j in range(len(x)):
                    score += centre[j] * x[j]
                if score > best:  # Choice: of children equally near, the first
                    best = score
                    node = child
            path[above] = node


def quantise(tree: Tree, descriptors: np.ndarray) -> np.ndarray:
    """Return the greedy path of every descriptor x down the tree: node <- argmin over its children k of |x - c_k|^2.

    descriptors: (n, length) uint8. They may be memory-mapped, as they are read in blocks.

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
    centres = np.require(tree.centres, np.float32, ["C", "W"])
    first_child = np.require(tree.first_child, np.int32, ["C", "W"])
    n_children = np.require(tree.n_children, np.int32, ["C", "W"])
    half_squares = np.einsum("ij,ij->i", centres, centres) / np.float32(2)
    paths = np.empty((len(descriptors), tree.depth), np.int32)
    for start in range(0, len(descriptors), DESCRIPTORS_AT_ONCE):
        block = np.array(descriptors[start : start + DESCRIPTORS_AT_ONCE], order="C")
        _descend(centres, half_squares, first_child, n_children, block, paths[start : start + DESCRIPTORS_AT_ONCE])
    return paths


def encode(tree: Tree, descriptors: np.ndarray, counts_per_image: np.ndarray) -> sparse.csr_matrix:
    """Count words at all levels, a multi-resolution histogram: H[image, w] descriptors pass through word w.

    descriptors: (n, length) uint8, image after image. They may be memory-mapped: about 65,000 of them are held at a
    time, or all of the largest image if it has more. counts_per_image: (n_images,) integers that sum to n.

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
    for images in _image_blocks(ends):
        paths = quantise(tree, descriptors[ends[images.start] : ends[images.stop]])
        image = np.repeat(np.arange(len(images), dtype=np.int32), counts_per_image[images.start : images.stop])
        rows, words = np.repeat(image, paths.shape[1]), paths.ravel() - 1
        met = words >= 0  # -1 stands below an early leaf
        ones = np.ones(int(met.sum()), np.int32)
        blocks.append(sparse.csr_matrix((ones, (rows[met], words[met])), shape=(len(images), tree.n_words)))
    return sparse.csr_matrix(sparse.vstack(blocks, format="csr"))


def _image_blocks(ends: np.ndarray) -> Iterator[range]:
    """Consecutive images that together hold at most DESCRIPTORS_AT_ONCE, or a single one that holds more."""
    start, n_images = 0, len(ends) - 1
    while start < n_images:
        stop = int(np.searchsorted(ends, ends[start] + DESCRIPTORS_AT_ONCE, side="right")) - 1
        stop = min(max(stop, start + 1), n_images)
        yield range(start, stop)
        start = stop


@njit(nogil=True)
def _normalise_levels(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, level: np.ndarray, depth: int) -> None:
    """Scale, in place, each level's entries of each row to unit l2 norm. `level` holds the level of each column."""
    squares = np.empty(depth + 1)
    for i in range(len(indptr) - 1):
        squares[:] = 0
        for k in range(indptr[i], indptr[i + 1]):
            squares[level[indices[k]]] += np.float64(data[k]) * data[k]
        for k in range(indptr[i], indptr[i + 1]):
            if squares[level[indices[k]]] > 0:
                data[k] /= np.sqrt(squares[level[indices[k]]])


def weigh(
    counts: sparse.csr_matrix,
    tree: Tree,
    *,
    weighting: str = "sqrt",
    normalise: bool = True,
    fit_rows: np.ndarray | None = None,
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
        h, sqrt(h) or h ln(N / N_w), where N_w of the N images in `fit_rows` hold word w.
    normalise : bool
        Whether to give each level's part of a row unit l2 norm. A part of zeros stays.
    fit_rows : array or None
        Rows that decide N_w, as a boolean mask or as indices. Only "tf-idf" needs it.
    idf : array, shape (n_words,), or None
        ln(N / N_w) of other images, from `inverse_frequencies`. "tf-idf" then needs no `fit_rows`.

    Returns
    -------
    features : csr_matrix, shape (n_images, n_words), float32

    Raises
    ------
    ValueError
        If the weighting is unknown, "tf-idf" has neither `fit_rows` nor `idf`, or the columns are not the tree's words.

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
    if fit_rows is not None and np.asarray(fit_rows).dtype == bool and len(fit_rows) != counts.shape[0]:
        raise Misfit(f"counts must have a row for each of {len(fit_rows)} images, got {counts.shape[0]}")
    weighted = sparse.csr_matrix(counts, dtype=np.float32, copy=True)
    if weighting == "sqrt":
        np.sqrt(weighted.data, out=weighted.data)
    elif weighting == "tf-idf":
        idf = inverse_frequencies(weighted, fit_rows) if idf is None else idf
        require(idf.shape == (tree.n_words,), f"idf must have shape ({tree.n_words},), got {idf.shape}", Misfit)
        weighted.data *= idf[weighted.indices]
    if normalise:
        _normalise_levels(weighted.data, weighted.indices, weighted.indptr, tree.level[1:], tree.depth)
    return weighted


def require_weighting(weighting: object) -> None:
    """Raise ValueError unless `weighting` is one of `WEIGHTINGS`."""
    require(weighting in WEIGHTINGS, f"weighting must be one of {', '.join(WEIGHTINGS)}, got {weighting!r}")


def inverse_frequencies(counts: sparse.csr_matrix, fit_rows: np.ndarray | None) -> np.ndarray:
    """ln(N / N_w), (n_words,) float32: N_w of the N images in `fit_rows`, a mask or indices, hold word w."""
    if fit_rows is None:
        raise ValueError('weighting "tf-idf" needs fit_rows, the images that set the document frequencies, got None')
    fitted = counts[np.asarray(fit_rows)]
    require(fitted.shape[0], "fit_rows must choose at least one image, got none")
    holding = np.bincount(fitted.indices[fitted.data > 0], minlength=counts.shape[1])
    # Choice: a word that no fitting image holds has weight 0; the formula has no value for it.
    return np.log(fitted.shape[0] / np.where(holding > 0, holding, fitted.shape[0])).astype(np.float32)


def stack(parts: Sequence[sparse.csr_matrix], tree: Tree) -> sparse.csr_matrix:
    """Histograms of several shards, from `encode`, one below the other. Raises Misfit if one is another tree's."""
    for part in parts:
        _require_words(part, tree)
    return sparse.csr_matrix(sparse.vstack(parts, format="csr"))


def _require_words(counts: sparse.csr_matrix, tree: Tree) -> None:
    require(
        counts.shape[1] == tree.n_words,
        f"counts must have one column for each of the tree's {tree.n_words} words, got {counts.shape[1]}",
        Misfit,
    )


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Tree:
    """The tree of stored arrays. Raises ValueError if they are no tree, as compiled functions do not check."""
    tree = Tree(**{name: arrays[name] for name in Tree._fields})
    n_nodes = len(tree.level)
    ranks, kinds = (tuple(getattr(array, name) for array in tree) for name in ("ndim", "dtype"))
    if ranks != (2, 1, 1, 1) or kinds != ("f4", "i4", "i4", "i4") or {len(array) for array in tree} != {n_nodes}:
        got = ", ".join(f"{name} {array.dtype} {array.shape}" for name, array in tree._asdict().items())
        raise ValueError(f"a tree must have float32 centres and int32 numbers for each of its nodes, got {got}")
    last = tree.first_child.astype(np.int64) + tree.n_children
    below = np.flatnonzero(tree.n_children)
    require(len(below), "a tree's root must have children")
    require(
        (tree.n_children >= 0).all() and (tree.first_child[below] > below).all() and (last <= n_nodes).all(),
        "the children of a tree's nodes must be nodes that come later",
    )
    return tree


def _require_descriptors(descriptors: np.ndarray, length: int | None = None) -> None:
    require(
        descriptors.ndim == 2 and descriptors.dtype == np.uint8,
        f"descriptors must be uint8 (n, length), got {descriptors.dtype} with shape {descriptors.shape}",
    )
    require(
        length is None or descriptors.shape[1] == length,
        f"descriptors must have the tree's length {length}, got {descriptors.shape[1]}",
        Misfit,
    )
