"""The way from pictures to features as transformers of scikit-learn.

They call the functions that the pipeline calls, and return the same bits for the same seed. They have a file of their
own, as scikit-learn takes a second to import, and as an edit of the extractor's file makes all descriptors anew.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from jointsparse.checks import Versioned, as_finite, require, require_count, require_extra, require_grid, require_sound
from jointsparse.features import basis, daisy, dense_sift, shards, vocabulary_tree
from jointsparse.schema import (
    FLAG,
    FLOATS,
    INTEGERS,
    LARGEST,
    NOTHING,
    Sizes,
    array,
    either,
    labels,
    number,
    one_of,
    optional,
    part,
    size,
    whole,
)

LARGEST_ENTRY = 1e30  # of X for a basis; float32 holds sums of many
DEEPEST = 20  # levels of a tree in a file
MOST_BYTES_OF_PICTURE = 400_000_000  # that a model in a file may take to describe one


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be a whole number of at least 0, a Generator or None, got {random_state!r}"
        ) from None


def _each(X: Any, use: Callable[[Any], Any]) -> list[Any]:
    """Return what `use` returns for each item of X, which may be any iterable. A ValueError names the item."""
    if isinstance(X, Iterator):
        X = list(X)
    if isinstance(X, str | os.PathLike) or not isinstance(X, Collection) or not len(X):
        raise ValueError(f"X must be a list of at least one picture, or of the descriptors of each, got {X!r}")
    if isinstance(X, np.ndarray) and (X.ndim == 2 or (X.ndim == 3 and X.shape[2] == 3)):
        raise ValueError(
            f"X must be a list with an item for each picture, got one of shape {X.shape}: give [X] for one"
        )
    results = []
    for i, item in enumerate(X):
        try:
            results.append(use(item))
        except ValueError as error:
            raise ValueError(f"X[{i}]: {error}") from error
    return results


def _descriptors(item: Any) -> np.ndarray | None:
    """Return the descriptors of a picture, (n_descriptors, length), or None if it has none.

    OpenCV returns None for a picture without keypoints. It returns whole numbers as floats, which become uint8.
    """
    try:
        descriptors = np.empty(0) if item is None else np.asarray(item)
    except ValueError:  # for rows of several lengths; NumPy's message would speak of sequences and array elements
        descriptors = np.empty(0, object)
    require(
        descriptors.dtype != object,
        "expected an array of descriptors (n_descriptors, length), got rows of several lengths or other objects: of "
        "pairs (keypoints, descriptors) give the descriptors",
    )
    if not descriptors.size:
        return None
    require(descriptors.ndim == 2, f"expected descriptors (n_descriptors, length), got shape {descriptors.shape}")
    if descriptors.dtype.kind == "f":
        fits_uint8 = (descriptors >= 0) & (descriptors <= 255) & (descriptors == np.rint(descriptors))
        descriptors = descriptors.astype(np.uint8) if fits_uint8.all() else descriptors
    return descriptors


def _all_descriptors(X: Any) -> list[np.ndarray]:
    """Return the descriptors of each picture, all of one length. A picture without keypoints has an empty array."""
    of_pictures = _each(X, _descriptors)
    lengths = {i: descriptors.shape[1] for i, descriptors in enumerate(of_pictures) if descriptors is not None}
    require(lengths, "X must hold descriptors, got none")
    first, length = next(iter(lengths.items()))
    for i, other in lengths.items():
        require(
            other == length, f"X must hold descriptors of one length, got {length} in X[{first}], {other} in X[{i}]"
        )
    return [np.empty((0, length), np.uint8) if descriptors is None else descriptors for descriptors in of_pictures]


def _require_tree(tree: vocabulary_tree.Tree, sizes: Sizes) -> None:
    """Raise ValueError unless each node but the root is the child of an earlier node, one level below it."""
    n_children = tree.n_children.astype(np.int64)
    ends = 1 + np.cumsum(n_children)
    sound = ends[-1] == len(tree.level) and (tree.first_child == np.where(n_children, ends - n_children, 0)).all()
    if sound:
        parents = np.repeat(np.arange(len(n_children)), n_children)
        sound = (parents < np.arange(1, len(n_children))).all() and tree.level[0] == 0
        sound = sound and (tree.level[1:] == tree.level[parents] + 1).all()
    require(sound, "the tree must lead from nodes to nodes of its own, got one with a fault")
    require(tree.depth <= DEEPEST, f"the tree must have at most {DEEPEST} levels, got {tree.depth:,}")


# What a model file may hold of a tree and of a basis.
SINGLE, INT32 = (np.dtype(np.float32),), (np.dtype(np.int32),)
TREE = {
    "centres": array(SINGLE, "nodes", "in", low=0, high=255),
    **dict.fromkeys(("first_child", "n_children", "level"), array(INT32, "nodes", low=0)),
}
BASIS = {
    "mean": array(FLOATS, "in"),
    "components": array(FLOATS, "in", "out"),
    "scale": number(0, LARGEST),
    "singular_values": array(FLOATS, "out", low=0),
}


class _OfLists(Versioned, TransformerMixin, BaseEstimator):
    """A transformer whose input has an item for each picture."""

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Fit to X, and transform it. X may be an iterator, which is read once."""
        return super().fit_transform(list(X) if isinstance(X, Iterator) else X, y, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


class _Extractor(_OfLists):
    """Local descriptors of pictures, by a module of the room."""

    extractor: ModuleType
    bytes_of: tuple[int, int]  # Measured: a pixel, and a descriptor with its path through the deepest tree

    _HOLDS: ClassVar = {"step": whole(1), "rootsift": FLAG, "longest_side": whole(1)}

    def __init__(
        self,
        patch_sizes: Sequence[int] = dense_sift.PATCH_SIZES_PIXELS,
        step: int = dense_sift.STEP_PIXELS,
        *,
        rootsift: bool = True,
        longest_side: int = 320,
    ) -> None:
        self.patch_sizes = patch_sizes
        self.step = step
        self.rootsift = rootsift
        self.longest_side = longest_side

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the transformer itself. X and y are not looked at."""
        return self

    def transform(self, X: Sequence[Any]) -> list[np.ndarray]:
        """Describe each picture.

        Parameters
        ----------
        X : iterable of pictures
            Each a path, or an array (height, width) or (height, width, 3), uint8 or floating-point in [0, 1].

        Returns
        -------
        descriptors : list of arrays (n_descriptors, length), uint8
            For each picture, size by size, each row by row from the top left.

        Raises
        ------
        ValueError
            If a picture or a parameter makes no sense.
        """
        require_count(self.longest_side, "longest_side")
        require(np.ndim(self.patch_sizes), f"patch_sizes must be a sequence of whole numbers, got {self.patch_sizes!r}")
        return _each(X, lambda picture: self.extractor.describe(self.grey(picture), **self.options))

    def bytes_of_picture(self) -> int:
        """Return the memory that describing a picture of `longest_side` takes at most, with the maps of its words."""
        places = [max(0, self.longest_side - side) // self.step + 1 for side in self.patch_sizes]
        of_pixel, of_descriptor = self.bytes_of
        return of_pixel * self.longest_side**2 + of_descriptor * sum(n**2 for n in places)

    def _require_consistent(self, sizes: Sizes) -> None:
        require(np.ndim(self.patch_sizes) == 1, "patch_sizes must be a list of whole numbers")
        require_grid(self.patch_sizes, self.step)
        require(
            self.bytes_of_picture() <= MOST_BYTES_OF_PICTURE,
            f"longest_side, step and patch_sizes must be such that a picture takes at most {MOST_BYTES_OF_PICTURE:,} "
            f"bytes, got {self.bytes_of_picture():,}",
        )
        sizes["out"] = self.extractor.LENGTH

    @property
    def options(self) -> dict[str, Any]:
        """Options of the extractor's functions."""
        return {"patch_sizes": self.patch_sizes, "step": self.step, "rootsift": self.rootsift}

    def grey(self, picture: Any) -> np.ndarray:
        """Grey levels in [0, 1] of a picture, shrunk to `longest_side`. picture: as in `transform`."""
        require_extra(type(self).__name__, "PIL")
        from jointsparse.pictures import grey_of, open_grey

        if isinstance(picture, str | os.PathLike):
            return open_grey(Path(picture), self.longest_side)
        return grey_of(np.asarray(picture), self.longest_side)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class DenseSift(_Extractor):
    """Describe pictures by dense SIFT: histograms of gradient orientations on a grid of square patches.

    Parameters
    ----------
    patch_sizes : sequence of int, pixels, at least 4, default=(16, 24, 32)
        Sides of the patches. No side of a picture may be shorter, after shrinking.
    step : int, pixels, at least 1, default=8
        Distance of neighbouring patches.
    rootsift : bool, default=True
        Whether to take the square roots of the l1-normalised values, instead of l2-normalised values.
    longest_side : int, pixels, at least 1, default=320
        Larger pictures are shrunk to it.

    See Also
    --------
    VocabularyTree : Makes histograms of these descriptors.
    jointsparse.features.dense_sift.describe : The formula.

    Notes
    -----
    Nothing is learnt, so `fit` may be left out. Pictures are opened and shrunk as in the pipeline, which needs
    `pip install 'jointsparse[pipeline]'`. Descriptors of a picture of 320 x 240 pixels take 0.4 MB.

    References
    ----------
    Lowe (2004), Section 6. Arandjelovic and Zisserman (2012), Section 3.

    Examples
    --------
    >>> ramp = np.tile(np.linspace(0, 1, 64), (48, 1))
    >>> [descriptors] = DenseSift(patch_sizes=(16,)).transform([ramp])
    >>> descriptors.shape, descriptors.dtype
    ((35, 128), dtype('uint8'))
    """

    extractor, bytes_of = dense_sift, (60, 1200)


class Daisy(_Extractor):
    """Describe pictures by DAISY: histograms of gradient orientations on rings about the points of a grid.

    Parameters
    ----------
    patch_sizes : sequence of int, pixels, at least 4, default=(16, 24, 32)
        Diameters of the outer rings, rounded down to odd ones.
    step : int, pixels, at least 1, default=8
        Distance of neighbouring points.
    rootsift : bool, default=True
        Whether to take the square roots of the l1-normalised values, instead of l2-normalised values.
    longest_side : int, pixels, at least 1, default=320
        Larger pictures are shrunk to it.

    See Also
    --------
    DenseSift : Square patches instead of rings.

    Notes
    -----
    As of `DenseSift`. It also takes scikit-image.

    References
    ----------
    Tola, Lepetit and Fua (2010).

    Examples
    --------
    >>> ramp = np.tile(np.linspace(0, 1, 64), (48, 1))
    >>> [descriptors] = Daisy(patch_sizes=(16,)).transform([ramp])
    >>> descriptors.shape
    (35, 104)
    """

    extractor, bytes_of = daisy, (1200, 3000)


class VocabularyTree(ClassNamePrefixFeaturesOutMixin, _OfLists):
    """Turn the descriptors of each picture into a histogram of visual words, the nodes of a vocabulary tree.

    `fit` splits a sample of all descriptors by k-means into `branching` parts, each part again, and so on for `depth`
    levels. A descriptor counts for one word of each level, on its way to the nearest of the children.

    Parameters
    ----------
    branching : int, at least 2, default=10
        Children of a node.
    depth : int, at least 1, default=4
        Levels: 10 + 100 + 1000 + 10000 words at most.
    sample_size : int, at least 1, default=200000
        Descriptors that the tree is grown from, drawn from those of all pictures. All are taken if there are fewer.
    weighting : {"count", "sqrt", "tf-idf"}, default="sqrt"
        Of a word's count h: h, sqrt(h), or h ln(N / N_w), where N_w of the N fitted pictures hold the word.
    normalise : bool, default=True
        Whether to give each level of a histogram unit length.
    random_state : int, Generator or None, default=None
        Draws the sample and begins k-means.

    Attributes
    ----------
    tree_ : jointsparse.features.vocabulary_tree.Tree
        The tree. Word w is its node w + 1.
    idf_ : ndarray (n_words,) or None
        ln(N / N_w), if the weighting is "tf-idf".

    See Also
    --------
    DenseSift : Makes descriptors.

    References
    ----------
    Nister and Stewenius (2006), Sections 3 and 4. Quattoni et al. (2009), Section 6.

    Examples
    --------
    >>> descriptors = list(np.random.default_rng(0).integers(0, 256, (4, 50, 128), dtype=np.uint8))
    >>> VocabularyTree(branching=3, depth=1, random_state=0).fit_transform(descriptors).shape
    (4, 3)
    """

    _HOLDS: ClassVar = {
        "weighting": one_of(*vocabulary_tree.WEIGHTINGS),
        "normalise": FLAG,
        "tree_": part("features.vocabulary_tree.Tree", TREE, _require_tree),
        "idf_": either(NOTHING, array(SINGLE, "out", low=0)),
    }

    def __init__(
        self,
        branching: int = 10,
        depth: int = 4,
        *,
        sample_size: int = 200_000,
        weighting: str = "sqrt",
        normalise: bool = True,
        random_state: Any = None,
    ) -> None:
        self.branching = branching
        self.depth = depth
        self.sample_size = sample_size
        self.weighting = weighting
        self.normalise = normalise
        self.random_state = random_state

    def fit(self, X: Sequence[np.ndarray], y: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : iterable of arrays (n_descriptors, length), uint8, or floats that are whole numbers from 0 to 255
            Descriptors of each picture. None or an empty array stands for a picture without any.
        y : None
            Not looked at.

        Returns
        -------
        self : VocabularyTree

        Raises
        ------
        ValueError
            If descriptors or parameters make no sense, or if there are too few descriptors to split.
        """
        require_count(self.sample_size, "sample_size")
        vocabulary_tree.require_weighting(self.weighting)
        X = _all_descriptors(X)
        rng = _generator(self.random_state)
        sample = shards.sample(X, len(X), self.sample_size, rng=rng)
        seed = int(self.random_state if isinstance(self.random_state, int | np.integer) else rng.integers(2**31))
        self.tree_ = vocabulary_tree.grow(sample, branching=self.branching, depth=self.depth, seed=seed)
        self.idf_ = None
        if self.weighting == "tf-idf":
            self.idf_ = vocabulary_tree.inverse_frequencies(self._count(X))
        return self

    def _require_consistent(self, sizes: Sizes) -> None:
        n_words, has_idf = self.tree_.n_words, self.idf_ is not None
        require(n_words and sizes.setdefault("out", n_words) == n_words, f"idf_ must have {n_words} numbers")
        require(has_idf == (self.weighting == "tf-idf"), "idf_ must be there with the weighting tf-idf alone")
        require(sizes["in"] <= vocabulary_tree.LONGEST, f"descriptors must be short, got {sizes['in']:,} numbers")

    @classmethod
    def from_tree(cls, tree: vocabulary_tree.Tree, idf: np.ndarray | None = None, **parameters: Any) -> Self:
        """Return a fitted transformer with a tree that was grown before.

        Parameters
        ----------
        tree : Tree
            From `vocabulary_tree.grow`.
        idf : array (n_words,) or None
            From `vocabulary_tree.inverse_frequencies`, for the weighting "tf-idf".
        **parameters : any
            Of the transformer, of which `weighting` and `normalise` matter.
        """
        self = cls(**parameters)
        vocabulary_tree.require_weighting(self.weighting)
        self.tree_, self.idf_ = tree, idf
        return self

    def transform(self, X: Sequence[np.ndarray]) -> sparse.csr_matrix:
        """Count and weight the words of each picture.

        Parameters
        ----------
        X : iterable of arrays (n_descriptors, length), or None
            Descriptors of each picture, as in `fit`. A picture without descriptors has a histogram of zeros.

        Returns
        -------
        histograms : csr_matrix (n_pictures, n_words), float32
            The words level by level.

        Raises
        ------
        ValueError
            If descriptors are not of the tree's length.
        """
        check_is_fitted(self)
        counts = self._count(_each(X, _descriptors))
        return vocabulary_tree.weigh(
            counts, self.tree_, weighting=self.weighting, normalise=self.normalise, idf=self.idf_
        )

    def _count(self, X: Sequence[np.ndarray | None]) -> sparse.csr_matrix:
        """Count the words of each picture, (n_pictures, n_words).

        Pictures are counted one by one: together, their descriptors would have to be copied.
        """
        none = np.empty((0, self.tree_.centres.shape[1]), np.uint8)

        def count(descriptors: np.ndarray | None) -> sparse.csr_matrix:
            descriptors = none if descriptors is None else descriptors
            return vocabulary_tree.encode(self.tree_, descriptors, np.array([len(descriptors)]))

        return sparse.csr_matrix(sparse.vstack(_each(X, count), format="csr"))

    @property
    def _n_features_out(self) -> int:
        return self.tree_.n_words


class SVDBasis(Versioned, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Express samples in a basis in which features are uncorrelated, the first right singular vectors of X.

    With X - mean = U diag(s) V^T, the new features of the fitted samples are U diag(s^power), times a number that makes
    their mean squared length 1. Radii then mean the same whatever the rank.

    Parameters
    ----------
    rank : int, at least 1, or "full", default=1000
        Number of new features. It must not be above the rank of the data, which "full" stands for.
    centred : bool, default=True
        Whether to take off the column means.
    power : float, at least 0, default=1
        Power of the singular values in the new features: 1 keeps variances, 0 makes them equal, which whitens.
    random_state : int, Generator or None, default=None
        Begins the randomised decomposition, which is taken for a rank below half the shorter side of X.

    Attributes
    ----------
    basis_ : jointsparse.features.basis.Basis
        Mean, components (n_features, rank), scale and singular values.
    factors_ : ndarray (rank,)
        Factors that replace the singular values by their power.
    n_features_in_, feature_names_in_ : int, ndarray
        As in scikit-learn.

    Notes
    -----
    The basis is float32. `transform` returns float64 for float64 X, and float32 for float32. To decompose CSR X, `fit`
    makes it dense, a few rows at a time if it is large.

    References
    ----------
    Quattoni et al. (2009), Section 6. Halko, Martinsson and Tropp (2011).

    Examples
    --------
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> abs(SVDBasis(rank=2, power=0).fit_transform(X)).round(3)
    array([[1., 0.],
           [1., 0.],
           [0., 1.],
           [0., 1.]])
    """

    _HOLDS: ClassVar = {
        "n_features_in_": size("in"),
        "feature_names_in_": optional(labels("in")),
        "power": number(0, LARGEST),
        "basis_": part("features.basis.Basis", BASIS),
        "factors_": array(FLOATS, "out"),
        "columns_": optional(array(INTEGERS, "out", low=0)),
    }

    def __init__(
        self,
        rank: int | Literal["full"] = 1000,
        *,
        centred: bool = True,
        power: float = 1,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.centred = centred
        self.power = power
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decompose X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Samples that decide the basis, at least two.
        y : None
            Not looked at.

        Returns
        -------
        self : SVDBasis

        Raises
        ------
        ValueError
            If X or parameters make no sense, or if the rank of the data is too small.
        """
        X = self._validated(X, ensure_min_samples=2)
        largest = max(X.max(), -X.min())
        require(
            largest <= LARGEST_ENTRY,
            f"X must hold numbers from -{LARGEST_ENTRY:g} to {LARGEST_ENTRY:g}, got {largest:g} in size",
        )
        if self.rank != "full":
            require_count(self.rank, "rank")
        power = as_finite(self.power, "power")
        self.basis_ = basis.fit(X, rank=self.rank, centred=self.centred, rng=_generator(self.random_state))
        self.factors_ = basis.factors(self.basis_.singular_values, [power])[power]
        return self

    @classmethod
    def from_basis(cls, found: basis.Basis, *, power: float = 1, columns: np.ndarray | None = None) -> Self:
        """Return a fitted transformer with a basis that was found before.

        Parameters
        ----------
        found : Basis
            From `basis.fit`.
        power : float, at least 0
            Power of the singular values in the new features.
        columns : int array or None
            Which of the new features `transform` returns, in this order. None: all of them.
        """
        some = slice(None) if columns is None else columns
        self = cls(rank=len(found.singular_values[some]), centred=bool(found.mean.any()), power=power)
        self.factors_ = basis.factors(found.singular_values, [power])[power][some]
        self.basis_ = found._replace(
            components=np.ascontiguousarray(found.components[:, some]), singular_values=found.singular_values[some]
        )
        self.n_features_in_, self.columns_ = len(found.mean), np.arange(len(found.singular_values))[some]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the samples in the basis, dense (n_samples, rank). X is as in `fit`, one sample suffices."""
        check_is_fitted(self)
        Z = basis.project(self._validated(X, reset=False), self.basis_)
        return (Z * self.factors_).astype(Z.dtype, copy=False)

    def _validated(self, X: Any, **options: Any) -> Any:
        require_sound(X)
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], **options)

    @property
    def _n_features_out(self) -> int:
        return len(self.factors_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
