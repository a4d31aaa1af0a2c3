"""The steps from pictures to features as scikit-learn transformers.

The transformers call the same functions as the pipeline, and return the same bits for the same seed. They are in a
separate file, because importing scikit-learn takes a second, and because the pipeline recomputes all descriptors when
the file of an extractor changes.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from jointsparse.arrays import as_numpy, dtypes_of
from jointsparse.checks import as_finite, require, require_array, require_count, require_extra, require_sound
from jointsparse.features import basis, dense_sift, shards, vocabulary_tree
from jointsparse.versions import Versioned

LARGEST_ENTRY = 1e30  # limit for the entries of X in SVDBasis, so that float32 sums do not overflow


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be a whole number of at least 0, a Generator or None, got {random_state!r}"
        ) from None


def map_items(X: Any, function: Callable[[Any], Any]) -> list[Any]:
    """Apply a function to each item of X, any iterable. If it raises ValueError, name the item in the error message."""
    if isinstance(X, Iterator):
        X = list(X)
    if isinstance(X, str | os.PathLike) or not isinstance(X, Collection) or not len(X):
        raise ValueError(f"X must be a list of at least one picture, or of the descriptors of each, got {X!r}")
    if isinstance(X, np.ndarray) and (X.ndim == 2 or (X.ndim == 3 and X.shape[2] == 3)):
        raise ValueError(
            f"X must be a list with one item per picture, got an array of shape {X.shape}: give [X] for one picture"
        )
    results = []
    for i, item in enumerate(X):
        try:
            results.append(function(item))
        except ValueError as error:
            raise ValueError(f"X[{i}]: {error}") from error
    return results


def _descriptors(item: Any) -> np.ndarray | None:
    """Return the descriptors of a picture, (n_descriptors, length), or None if it has none.

    OpenCV returns None for a picture without keypoints, and stores integers as floats, which are converted to uint8.
    """
    try:
        descriptors = np.empty(0) if item is None else np.asarray(item)
    except ValueError:  # NumPy's message for rows of different lengths would not help here
        descriptors = np.empty(0, object)
    require(
        descriptors.dtype != object,
        "expected an array of descriptors (n_descriptors, length), got rows of different lengths or other objects: if "
        "these are pairs (keypoints, descriptors), give only the descriptors",
    )
    if not descriptors.size:
        return None
    require(descriptors.ndim == 2, f"expected descriptors (n_descriptors, length), got shape {descriptors.shape}")
    if descriptors.dtype.kind == "f":
        fits_uint8 = (descriptors >= 0) & (descriptors <= 255) & (descriptors == np.rint(descriptors))
        descriptors = descriptors.astype(np.uint8) if fits_uint8.all() else descriptors
    return descriptors


def _all_descriptors(X: Any) -> list[np.ndarray]:
    """Return one array of descriptors per picture, (n_descriptors, length). It has no rows if the picture has none.

    Raises ValueError if not all descriptors have the same length.
    """
    items = map_items(X, _descriptors)
    lengths = {i: descriptors.shape[1] for i, descriptors in enumerate(items) if descriptors is not None}
    require(lengths, "X must hold descriptors, got none")
    first, length = next(iter(lengths.items()))
    for i, other in lengths.items():
        require(
            other == length,
            f"X must hold descriptors of the same length, got {length} in X[{first}] and {other} in X[{i}]",
        )
    return [np.empty((0, length), np.uint8) if descriptors is None else descriptors for descriptors in items]


class PerPicture(Versioned, TransformerMixin, BaseEstimator):
    """Base class of transformers whose input has one item per picture."""

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Fit to X, and transform X. X may be an iterator, which is read only once."""
        return super().fit_transform(list(X) if isinstance(X, Iterator) else X, y, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags


class _Extractor(PerPicture):
    """Base class of transformers that compute local descriptors of pictures with a module of `jointsparse.features`."""

    extractor: ModuleType
    # Measured memory in bytes: per pixel, and per descriptor together with its path through the deepest tree.
    bytes_of: tuple[int, int]

    def __init__(
        self,
        patch_sizes: Sequence[int] = dense_sift.PATCH_SIZES_PIXELS,
        step: int = dense_sift.STEP_PIXELS,
        *,
        rootsift: bool = True,
        longest_side: int = 320,
        clip: float = dense_sift.CLIP,
        min_contrast: float = dense_sift.MIN_CONTRAST,
    ) -> None:
        self.patch_sizes = patch_sizes
        self.step = step
        self.rootsift = rootsift
        self.longest_side = longest_side
        self.clip = clip
        self.min_contrast = min_contrast

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the transformer itself. X and y are ignored."""
        return self

    def transform(self, X: Sequence[Any]) -> list[np.ndarray]:
        """Compute the descriptors of each picture.

        Parameters
        ----------
        X : iterable of pictures
            A picture is a path or an array (height, width) or (height, width, 3), uint8 or floating-point in [0, 1].

        Returns
        -------
        descriptors : list of arrays (n_descriptors, length), uint8
            Descriptors of each picture, ordered by patch size, then row by row from the top left.

        Raises
        ------
        ValueError
            If a picture or a parameter is invalid.
        """
        self.require_options()
        return map_items(X, lambda picture: self.extractor.describe(self.grey(picture), **self.options))

    def require_options(self) -> None:
        """Raise ValueError unless all parameters are valid."""
        require_count(self.longest_side, "longest_side")
        require(np.ndim(self.patch_sizes), f"patch_sizes must be a sequence of whole numbers, got {self.patch_sizes!r}")
        self.smallest_side()

    def smallest_side(self) -> int:
        """Return the smallest side in pixels that a picture must have to contain a patch of every size."""
        return int(self.extractor.smallest_side(**self.options))

    def bytes_of_picture(self) -> int:
        """Return the largest number of bytes of memory needed to describe a picture and to draw a map of its words."""
        places = [max(0, self.longest_side - side) // self.step + 1 for side in self.patch_sizes]
        per_pixel, per_descriptor = self.bytes_of
        return per_pixel * self.longest_side**2 + per_descriptor * sum(n**2 for n in places)

    @property
    def options(self) -> dict[str, Any]:
        """Options that are passed to the functions of the extractor's module."""
        names = ("patch_sizes", "step", "rootsift", "clip", "min_contrast")
        return {name: getattr(self, name) for name in names}

    def grey(self, picture: Any) -> np.ndarray:
        """Return the grey levels in [0, 1] of a picture, shrunk to `longest_side`. picture: as in `transform`."""
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
    patch_sizes : sequence of int, default=(16, 24, 32)
        Sides of the patches in pixels, at least 4. After shrinking, both sides of a picture must be at least as long as
        the largest patch.
    step : int, default=8
        Distance between neighbouring patches in pixels, at least 1.
    rootsift : bool, default=True
        Whether to return the square roots of l1-normalised values, instead of l2-normalised values.
    longest_side : int, default=320
        Longest side of a picture in pixels, at least 1. Larger pictures are shrunk to this size.
    clip : float, default=0.2
        Histograms of unit length are clipped to this value and normalised again. Above 0 and at most 1.
    min_contrast : float, default=0.005
        Patches with less contrast than this, in grey levels per pixel, get a descriptor of zeros.

    See Also
    --------
    VocabularyTree : Turns these descriptors into histograms.
    jointsparse.features.dense_sift.describe : Gives the formula.

    Notes
    -----
    Nothing is learnt, so calling `fit` is not necessary. Pictures are opened and shrunk as in the pipeline, which needs
    `pip install 'jointsparse[pipeline]'`. The descriptors of a picture of 320 x 240 pixels take 0.4 MB.

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


class VocabularyTree(ClassNamePrefixFeaturesOutMixin, PerPicture):
    """Turn the descriptors of each picture into a histogram of visual words, which are the nodes of a vocabulary tree.

    `fit` splits a sample of all descriptors by k-means into `branching` parts, splits every part again, and so on for
    `depth` levels. A descriptor descends from the root to the nearest child at every node, and counts for one word per
    level.

    Parameters
    ----------
    branching : int, default=10
        Number of children of a node, at least 2.
    depth : int, default=4
        Number of levels, at least 1. The defaults give at most 10 + 100 + 1000 + 10000 words.
    sample_size : int, default=200000
        Number of descriptors from which the tree is grown, drawn from all pictures. If there are fewer, all are used.
    weighting : {"count", "sqrt", "tf-idf"}, default="sqrt"
        Weighting of a word's count h: h, sqrt(h) or h ln(N / N_w), where N_w of the N fitted pictures have the word.
    normalise : bool, default=True
        Whether to scale each level of a histogram to unit length.
    random_state : int, Generator or None, default=None
        Seed or random generator that draws the sample and the initial centres of k-means.

    Attributes
    ----------
    tree_ : jointsparse.features.vocabulary_tree.Tree
        The fitted tree. Word w is node w + 1.
    idf_ : ndarray (n_words,) or None
        ln(N / N_w) if the weighting is "tf-idf", and None otherwise.

    See Also
    --------
    DenseSift : Computes descriptors.

    References
    ----------
    Nister and Stewenius (2006), Sections 3 and 4. Quattoni et al. (2009), Section 6.

    Examples
    --------
    >>> descriptors = list(np.random.default_rng(0).integers(0, 256, (4, 50, 128), dtype=np.uint8))
    >>> VocabularyTree(branching=3, depth=1, random_state=0).fit_transform(descriptors).shape
    (4, 3)
    """

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
        """Grow the vocabulary tree from the descriptors of all pictures.

        Parameters
        ----------
        X : iterable of arrays (n_descriptors, length)
            Descriptors of each picture, uint8 or floats that are whole numbers from 0 to 255. None or an empty array
            stands for a picture without descriptors.
        y : None
            Ignored.

        Returns
        -------
        self : VocabularyTree

        Raises
        ------
        ValueError
            If descriptors or parameters are invalid, or if there are too few descriptors to split.
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

    @classmethod
    def from_tree(cls, tree: vocabulary_tree.Tree, idf: np.ndarray | None = None, **parameters: Any) -> Self:
        """Return a fitted transformer with an existing tree.

        Parameters
        ----------
        tree : Tree
            Tree from `vocabulary_tree.grow`.
        idf : array (n_words,) or None
            Inverse frequencies from `vocabulary_tree.inverse_frequencies`, for the weighting "tf-idf".
        **parameters : any
            Parameters of the transformer. Only `weighting` and `normalise` have an effect.

        Raises
        ------
        ValueError
            If the tree or a parameter is invalid, or if there are inverse frequencies for another weighting.
        """
        self = cls(**parameters)
        vocabulary_tree.require_weighting(self.weighting)
        vocabulary_tree.require_tree(tree)
        needed = self.weighting == "tf-idf"
        require((idf is not None) == needed, f"idf must be {'an array' if needed else None} for {self.weighting!r}")
        if needed:
            require_array(idf, "idf", (tree.n_words,), dtypes=(np.float32,), least=0)
        self.tree_, self.idf_ = tree, idf
        return self

    def transform(self, X: Sequence[np.ndarray]) -> sparse.csr_matrix:
        """Count and weight the words of each picture.

        Parameters
        ----------
        X : iterable of arrays (n_descriptors, length)
            Descriptors of each picture, as in `fit`. A picture without descriptors has a histogram of zeros.

        Returns
        -------
        histograms : csr_matrix (n_pictures, n_words), float32
            Weighted counts, with the words ordered by level.

        Raises
        ------
        ValueError
            If the descriptors do not have the same length as the centres of the tree.
        """
        check_is_fitted(self)
        counts = self._count(map_items(X, _descriptors))
        return vocabulary_tree.weigh(
            counts, self.tree_, weighting=self.weighting, normalise=self.normalise, idf=self.idf_
        )

    def _count(self, X: Sequence[np.ndarray | None]) -> sparse.csr_matrix:
        """Count the words of each picture, (n_pictures, n_words).

        Pictures are counted one by one, so that descriptors need not be copied into a single array.
        """
        none = np.empty((0, self.tree_.centres.shape[1]), np.uint8)

        def count(descriptors: np.ndarray | None) -> sparse.csr_matrix:
            descriptors = none if descriptors is None else descriptors
            return vocabulary_tree.encode(self.tree_, descriptors, np.array([len(descriptors)]))

        return sparse.csr_matrix(sparse.vstack(map_items(X, count), format="csr"))

    @property
    def _n_features_out(self) -> int:
        return self.tree_.n_words


class SVDBasis(Versioned, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transform samples to a basis in which features are uncorrelated: the first right singular vectors of X.

    With X - mean = U diag(s) V^T, the new features of the fitted samples are U diag(s^power), scaled such that their
    mean squared length is 1. Radii are then comparable between ranks.

    Parameters
    ----------
    rank : int or "full", default=1000
        Number of new features, at least 1 and at most the rank of the data. "full" stands for the rank of the data.
    centred : bool, default=True
        Whether to subtract the column means.
    power : float, default=1
        Non-negative power to which the singular values are raised in the new features: 1 keeps their variances, and 0
        makes them equal, which is called whitening.
    random_state : int, Generator or None, default=None
        Seed or random generator for the randomised decomposition, which is used if the rank is below half the shorter
        side of X.

    Attributes
    ----------
    basis_ : jointsparse.features.basis.Basis
        Mean, components (n_features, rank), scale and singular values.
    factors_ : ndarray (rank,)
        Factors of the features that raise their singular values to `power`.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the input features, as in scikit-learn.

    Notes
    -----
    The basis is float32. `transform` returns float64 for float64 X, and float32 for float32 X. To decompose a CSR
    matrix, `fit` makes it dense, a few rows at a time if it is large.

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
        """Compute the basis from X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            At least two samples.
        y : None
            Ignored.

        Returns
        -------
        self : SVDBasis

        Raises
        ------
        ValueError
            If X or parameters are invalid, or if the rank of the data is too small.
        """
        X = self._validated(X, ensure_min_samples=2)
        largest = max(X.max(), -X.min())
        require(
            largest <= LARGEST_ENTRY,
            f"X must hold numbers from -{LARGEST_ENTRY:g} to {LARGEST_ENTRY:g}, got the magnitude {largest:g}",
        )
        if self.rank != "full":
            require_count(self.rank, "rank")
        power = as_finite(self.power, "power")
        self.basis_ = basis.fit(X, rank=self.rank, centred=self.centred, rng=_generator(self.random_state))
        self.factors_ = basis.factors(self.basis_.singular_values, [power])[power]
        return self

    @classmethod
    def from_basis(cls, found: basis.Basis, *, factors: np.ndarray, columns: np.ndarray, power: float = 1) -> Self:
        """Return a fitted transformer with an existing basis, or with some of its columns.

        Parameters
        ----------
        found : Basis
            Basis from `basis.fit`, or some of its columns, from `Basis.columns`.
        factors : array (rank,)
            Factors of these columns, from `basis.factors`.
        columns : int array (rank,)
            Indices of these columns in the whole basis.
        power : float
            Non-negative power to which the factors raise the singular values.

        Raises
        ------
        ValueError
            If the shapes do not fit, or if an array holds numbers that are not finite.
        """
        rank = len(found.singular_values)
        require_array(found.mean, "the mean of the basis", (None,))
        require_array(found.components, "the components of the basis", (len(found.mean), rank or None))
        require_array(found.scale, "the scale of the basis", (), least=0)
        require_array(found.singular_values, "the singular values of the basis", (rank,), least=0)
        require_array(factors, "factors", (rank,))
        require_array(columns, "columns", (rank,), dtypes=(np.int64,), least=0)
        self = cls(rank=rank, centred=bool(found.mean.any()), power=as_finite(power, "power"))
        self.basis_, self.factors_, self.columns_ = found, factors, columns
        self.n_features_in_ = len(found.mean)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return X in the basis, as a dense array (n_samples, rank). X: as in `fit`, but a single sample is enough."""
        check_is_fitted(self)
        Z = basis.project(self._validated(X, reset=False), self.basis_)
        return (Z * self.factors_).astype(Z.dtype, copy=False)

    def _validated(self, X: Any, **options: Any) -> Any:
        require_sound(X)
        return validate_data(self, as_numpy(X, "X"), accept_sparse="csr", dtype=dtypes_of(X), **options)

    @property
    def _n_features_out(self) -> int:
        return len(self.factors_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
