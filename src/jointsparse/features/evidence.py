"""Evidence of the patches of a picture: how much each of them adds to a score, and where it is in the picture.

The score of a linear model of histograms of visual words is a sum over words. The contribution of a word is divided
equally between the descriptors that pass through the word. A patch therefore contributes one term per level of its path
through the tree, and the score is the sum of all terms plus a constant. Similarities to other pictures are not linear
in the words, so this decomposition does not exist for them.
"""

import numpy as np
from scipy import sparse

from jointsparse.features.basis import Basis
from jointsparse.features.vocabulary_tree import Tree, quantise, weigh

WORDS_AT_ONCE = 4096  # number of rows of the basis that are copied at once


def word_weights(
    W: np.ndarray, intercept: np.ndarray, basis: Basis | None = None, factors: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights G of the visual words and constants c such that the scores of pictures are v G + c.

    Here v are the weighted histograms of the pictures. With a basis, z = scale ((v - mean) components) diag(factors),
    and the scores are z W + b, so that

    $$
    G = scale components diag(factors) W,    c = b - mean G
    $$

    Without a basis, G = W and c = b.

    Parameters
    ----------
    W : array, shape (rank, n_tasks), or (n_words, n_tasks) without a basis
        Weights of a linear model, for the tasks that are of interest.
    intercept : array, shape (n_tasks,)
        The model's intercepts b for these tasks.
    basis : Basis or None
        Basis in which the model was trained.
    factors : array, shape (rank,), or None
        Factors of the features in the basis, from `basis.factors`. None means that all are 1.

    Returns
    -------
    G : array, shape (n_words, n_tasks), float64
        Weights of the visual words.
    constant : array, shape (n_tasks,), float64
        The constants c, which are the scores of a picture without descriptors.

    Examples
    --------
    >>> basis = Basis(np.array([1.0, 0.0]), np.eye(2), scale=0.5, singular_values=np.ones(2))
    >>> G, constant = word_weights(np.array([[2.0], [4.0]]), np.array([3.0]), basis)
    >>> G.tolist(), constant.tolist()
    ([[1.0], [2.0]], [2.0])
    """
    W, intercept = np.asarray(W, np.float64), np.asarray(intercept, np.float64)
    if basis is None:
        return W, intercept
    used = W.any(axis=1)  # models with joint norms use few features
    scaled = W if factors is None else factors[:, np.newaxis] * W
    G = np.empty((len(basis.components), W.shape[1]))
    for start in range(0, len(G), WORDS_AT_ONCE):
        rows = slice(start, start + WORDS_AT_ONCE)
        G[rows] = basis.scale * (basis.components[rows, used] @ scaled[used])
    return G, intercept - basis.mean @ G


def parts(
    tree: Tree,
    descriptors: np.ndarray,
    G: np.ndarray,
    *,
    weighting: str,
    normalise: bool,
    idf: np.ndarray | None = None,
) -> np.ndarray:
    """Return how much each descriptor of a picture adds to its scores.

    The scores are the sum of these parts plus the constant from `word_weights`. With counts h and v = weigh(h), a
    descriptor whose path has the words w_1, w_2, …, one per level, adds

    $$
    sum_l  G[w_l] v[w_l] / h[w_l]
    $$

    Parameters
    ----------
    tree : Tree
        Vocabulary tree.
    descriptors : array, shape (n_descriptors, length), uint8
        All descriptors of the picture, because v depends on all of them.
    G : array, shape (n_words, n_tasks)
        Weights of the visual words, from `word_weights`.
    weighting : "count", "sqrt" or "tf-idf"
        Weighting of the counts, see `vocabulary_tree.weigh`.
    normalise : bool
        Whether each level of a histogram has unit length, see `vocabulary_tree.weigh`.
    idf : array, shape (n_words,)
        Inverse frequencies for the weighting "tf-idf", see `vocabulary_tree.weigh`.

    Returns
    -------
    parts : array, shape (n_descriptors, n_tasks), float64
        Positive parts are evidence for the task, negative parts are evidence against it.

    Raises
    ------
    ValueError
        If the arguments are invalid for `quantise` or `weigh`.

    Examples
    --------
    >>> level = np.array([0, 1, 1], np.int32)
    >>> centres = np.array([[0, 0], [10, 10], [200, 200]], np.float32)
    >>> tree = Tree(centres, np.array([1, 0, 0], np.int32), np.array([2, 0, 0], np.int32), level)
    >>> descriptors = np.array([[9, 9], [250, 250], [8, 8], [9, 8], [8, 9]], np.uint8)
    >>> parts(tree, descriptors, np.array([[6.0], [-1.0]]), weighting="sqrt", normalise=False).ravel().tolist()
    [3.0, -1.0, 3.0, 3.0, 3.0]
    """
    # Paths have -1 below an early leaf. It is replaced by the root, which is not a word and adds nothing.
    nodes = np.maximum(quantise(tree, descriptors), 0)
    counts = np.bincount(nodes.ravel(), minlength=tree.n_words + 1)[np.newaxis, 1:]
    v = weigh(sparse.csr_matrix(counts), tree, weighting=weighting, normalise=normalise, idf=idf).toarray()
    node_parts = np.zeros((tree.n_words + 1, G.shape[1]))
    node_parts[1:] = (v / np.maximum(counts, 1)).T * G
    return np.asarray(sum(node_parts[level] for level in nodes.T))


def heat(parts: np.ndarray, patches: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return a heat map in which the contribution of each patch is spread evenly over its pixels.

    Parameters
    ----------
    parts : array, shape (n_descriptors,)
        Contribution of each patch to the score of one task: a column of the result of `parts`.
    patches : array, shape (n_descriptors, 3), int
        Top, left and side in pixels of each patch, from the extractor's `patches`.
    height, width : int
        Size in pixels of the picture that was described, after shrinking.

    Returns
    -------
    heat : array, shape (height, width), float32
        Contribution of each pixel to the score. Positive values are evidence for the task.

    Examples
    --------
    >>> heat(np.array([4.0, -1.0]), np.array([[0, 0, 2], [1, 2, 1]]), 2, 3)
    array([[ 1.,  1.,  0.],
           [ 1.,  1., -1.]], dtype=float32)
    """
    top, left, side = patches.T
    # Write the share of each patch at its corners, with signs. Cumulative sums along both axes then fill the patches.
    share = parts / side**2
    corners = [(top, left), (top + side, left + side), (top, left + side), (top + side, left)]
    places = np.concatenate([y * (width + 1) + x for y, x in corners])
    shares = np.concatenate([share, share, -share, -share])
    differences = np.bincount(places, shares, (height + 1) * (width + 1)).reshape(height + 1, width + 1)
    return differences.cumsum(axis=0).cumsum(axis=1)[:-1, :-1].astype(np.float32)


def smooth_heat(parts: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return a heat map in which the contribution of each place falls off linearly towards the neighbouring places.

    Parameters
    ----------
    parts : array, shape (rows, columns)
        Contribution of each place to the score of one task. The places divide the picture evenly.
    height, width : int
        Size of the heat map in pixels.

    Returns
    -------
    heat : array, shape (height, width), float32
        Contribution of each pixel to the score. Positive values are evidence for the task.

    Examples
    --------
    >>> smooth_heat(np.array([[4.0, 0.0]]), 1, 4).round(2)
    array([[2. , 1.5, 0.5, 0. ]], dtype=float32)
    >>> smooth_heat(np.array([[1.0, 2.0, 4.0, 8.0]]), 1, 2)  # a pixel may cover several places
    array([[ 3., 12.]], dtype=float32)
    """
    rows, columns = parts.shape
    return (_hats(height, rows) @ parts @ _hats(width, columns).T).astype(np.float32)


def _hats(n_pixels: int, n_places: int) -> np.ndarray:
    """Return the share that each pixel of a line gets of the contribution of each place along it, (n_pixels, n_places).

    The shares of a place sum to 1. They are largest at the centre of the place and fall to 0 at the centres of its
    neighbours.
    """
    pixels = (np.arange(n_pixels) + 0.5) / n_pixels * n_places - 0.5  # in units of places
    inside = np.clip(pixels, 0, n_places - 1)  # beyond the outermost centres the shares are constant
    hats = np.maximum(1 - np.abs(inside[:, np.newaxis] - np.arange(n_places)), 0)
    if n_pixels < n_places:  # a pixel that covers several places gets all of their contributions
        hats = np.zeros((n_pixels, n_places))
        hats[np.arange(n_places) * n_pixels // n_places, np.arange(n_places)] = 1
    return hats / hats.sum(axis=0)
