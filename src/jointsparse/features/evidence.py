"""Evidence of each patch of a picture: how much it adds to a score, and where it stands.

A linear model over histograms of visual words is a sum over words. The descriptors that met a word share its part
evenly. A patch thus adds a number for each level of its path. These numbers and a constant sum to the score.
Similarities to other pictures are not linear in the words, so they have no evidence.
"""

import numpy as np
from scipy import sparse

from jointsparse.features.basis import Basis
from jointsparse.features.vocabulary_tree import Tree, quantise, weigh

WORDS_AT_ONCE = 4096  # rows of the basis, which are copied


def word_weights(
    W: np.ndarray, intercept: np.ndarray, basis: Basis | None = None, factors: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights G of the visual words and constants c in the scores v G + c of pictures, v their weighted histograms.

    With a basis, z = scale ((v - mean) components) diag(factors), and the scores are z W + b:

    $$
    G = scale components diag(factors) W,    c = b - mean G
    $$

    Without one, G = W and c = b.

    Parameters
    ----------
    W : array, shape (rank, n_tasks), or (n_words, n_tasks) without a basis
        Weights of a linear model. The columns of the tasks that are asked for suffice.
    intercept : array, shape (n_tasks,)
        b, the model's intercepts.
    basis : Basis or None
        Basis that the model was trained in.
    factors : array, shape (rank,), or None
        Factors of its features, as from `basis.factors`. None stands for power 1: all are 1.

    Returns
    -------
    G : array, shape (n_words, n_tasks), float64
        Weights of the visual words.
    constant : array, shape (n_tasks,), float64
        c, the scores of a picture without descriptors.

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
    used = W.any(axis=1)  # of 1000 features, joint norms use few
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
    """Part of each descriptor of one picture in its scores. The parts and the constant of `word_weights` sum to them.

    With counts h and v = weigh(h), a descriptor with the words w_1, w_2, … on its path, one for each level, adds

    $$
    sum_l  G[w_l] v[w_l] / h[w_l]
    $$

    Parameters
    ----------
    tree : Tree
        Vocabulary tree.
    descriptors : array, shape (n_descriptors, length), uint8
        All descriptors of the picture: v depends on all.
    G : array, shape (n_words, n_tasks)
        Weights of the visual words, from `word_weights`.
    weighting : "count", "sqrt" or "tf-idf"
        As in `vocabulary_tree.weigh`.
    normalise : bool
        As in `vocabulary_tree.weigh`.
    idf : array, shape (n_words,)
        As in `vocabulary_tree.weigh`. Only "tf-idf" needs it.

    Returns
    -------
    parts : array, shape (n_descriptors, n_tasks), float64
        Positive parts speak for the task, negative ones against it.

    Raises
    ------
    ValueError
        As `quantise` and `weigh`.

    Examples
    --------
    >>> level = np.array([0, 1, 1], np.int32)
    >>> centres = np.array([[0, 0], [10, 10], [200, 200]], np.float32)
    >>> tree = Tree(centres, np.array([1, 0, 0], np.int32), np.array([2, 0, 0], np.int32), level)
    >>> descriptors = np.array([[9, 9], [250, 250], [8, 8], [9, 8], [8, 9]], np.uint8)
    >>> parts(tree, descriptors, np.array([[6.0], [-1.0]]), weighting="sqrt", normalise=False).ravel().tolist()
    [3.0, -1.0, 3.0, 3.0, 3.0]
    """
    # Below an early leaf the root stands for -1: it is no word and adds nothing.
    nodes = np.maximum(quantise(tree, descriptors), 0)
    counts = np.bincount(nodes.ravel(), minlength=tree.n_words + 1)[np.newaxis, 1:]
    v = weigh(sparse.csr_matrix(counts), tree, weighting=weighting, normalise=normalise, idf=idf).toarray()
    of_each = np.zeros((tree.n_words + 1, G.shape[1]))
    of_each[1:] = (v / np.maximum(counts, 1)).T * G
    return np.asarray(sum(of_each[of_level] for of_level in nodes.T))


def heat(parts: np.ndarray, patches: np.ndarray, height: int, width: int) -> np.ndarray:
    """Spread the part of each patch evenly over its pixels: a heat map, (height, width) float32, of the parts' sum.

    Parameters
    ----------
    parts : array, shape (n_descriptors,)
        Parts in the score of one task, a column from `parts`.
    patches : array, shape (n_descriptors, 3), int
        Top, left and side in pixels of each patch, from the extractor's `patches`.
    height, width : int, pixels
        Of the picture that was described, which may be shrunk.

    Returns
    -------
    heat : array, shape (height, width), float32
        Parts of the pixels. Positive ones speak for the task.

    Examples
    --------
    >>> heat(np.array([4.0, -1.0]), np.array([[0, 0, 2], [1, 2, 1]]), 2, 3)
    array([[ 1.,  1.,  0.],
           [ 1.,  1., -1.]], dtype=float32)
    """
    top, left, side = patches.T
    # Differences at the corners of each patch. Sums down the columns and along the rows of them fill the patches.
    share = parts / side**2
    corners = [(top, left), (top + side, left + side), (top, left + side), (top + side, left)]
    places = np.concatenate([y * (width + 1) + x for y, x in corners])
    shares = np.concatenate([share, share, -share, -share])
    differences = np.bincount(places, shares, (height + 1) * (width + 1)).reshape(height + 1, width + 1)
    return differences.cumsum(axis=0).cumsum(axis=1)[:-1, :-1].astype(np.float32)
