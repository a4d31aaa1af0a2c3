"""Features of pictures from a pretrained network, computed by a scikit-learn transformer."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from jointsparse.checks import require, require_extra
from jointsparse.features import onnx
from jointsparse.features.transformers import PerPicture, map_items
from jointsparse.schema import TEXT, Sizes, list_of, whole

MAP_SIDE_PIXELS = 320  # longest side of a map
BYTES_OF_PICTURE = 50_000_000  # measured with a network of 13 MB whose input has 224 x 224 pixels


class Embedding(ClassNamePrefixFeaturesOutMixin, PerPicture):
    """Describe pictures by a pretrained network in an ONNX file, which ONNX Runtime runs on the CPU.

    Parameters
    ----------
    model : path
        The ONNX file. Its input holds pictures, uint8 or float, (n, height, width, 3) or (n, 3, height, width). Its
        output holds one feature vector per picture, (n, d), per place, (n, d, height, width), or per token,
        (n, tokens, d). The mean over the places or tokens is taken.
    size : int, (int, int) or None, pixels, default=None
        Side, or height and width, to which each picture is resized, whatever its aspect ratio. None stands for the size
        that the file states, or for 224 if it states none.
    mean, std : sequences of 3 floats, default=None
        A floating-point input is (colour - mean) / std, with colours in [0, 1]. None stands for the values of ImageNet.
        A uint8 input takes the colours unchanged, and both must be None.
    layout : {"NHWC", "NCHW"} or None, default=None
        Order of the input's axes. If it is None, the axis of length 3 holds the colours.
    output : str or None, default=None
        Name of the output that holds the features. None stands for the output with the most axes.
    tokens : {"mean", "first"}, default="mean"
        If the output has tokens: whether the features are the mean over all tokens, or the first token.

    Attributes
    ----------
    digest_ : str
        SHA-256 of the file, computed by `fit` or for the first picture. A file with another SHA-256 is rejected.
    size_ : (int, int), pixels
        Height and width to which each picture is resized.
    grid_ : (int, int)
        Numbers of rows and columns of places; (1, 1) if the network has no places.
    n_features_ : int
        Number of features.

    See Also
    --------
    DenseSift : Computes local descriptors, for visual words.
    explain : Returns heat maps, which are exact if the network has features per place or per token.

    Notes
    -----
    This class needs `pip install 'jointsparse[embeddings]'`. Nothing is learnt, so calling `fit` is not necessary.
    Pictures are processed one after the other in a single thread, so that the same picture always has the same features
    on one type of processor. On another type of processor the last digits may differ.

    A model file may come from anyone. Before the network describes the first picture, a separate process therefore
    tries it on a blank picture, within 60 seconds and 4 GiB of memory.

    Examples
    --------
    >>> chain = make_pipeline(Embedding("network.onnx"), StandardScaler(), JointSparseClassifierCV())  # doctest: +SKIP
    >>> chain.fit(paths, Y)  # doctest: +SKIP
    """

    _HOLDS: ClassVar = {
        "model": TEXT,
        "digest_": TEXT,
        "size_": list_of(whole(1)),
        "grid_": list_of(whole(1)),
        "n_features_": whole(1),
    }

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        size: int | Sequence[int] | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        layout: str | None = None,
        output: str | None = None,
        tokens: str = "mean",
    ) -> None:
        self.model = model
        self.size = size
        self.mean = mean
        self.std = std
        self.layout = layout
        self.output = output
        self.tokens = tokens

    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the network on a blank picture, to find the size of its input and output. X and y are ignored."""
        self.__dict__.pop("digest_", None)
        features, self.grid_ = self.places(np.zeros((1, 1, 3), np.uint8))
        reading = self.network().reading
        self.size_, self.n_features_ = (reading.height, reading.width), features.shape[1]
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_features_

    def transform(self, X: Sequence[Any]) -> np.ndarray:
        """Compute the features of each picture.

        Parameters
        ----------
        X : iterable of pictures
            A picture is a path or an array (height, width) or (height, width, 3), uint8 or floating-point in [0, 1].

        Returns
        -------
        features : array (n_pictures, n_features), float32

        Raises
        ------
        ValueError
            If a picture, a parameter or the model file is invalid.
        """
        self.network()  # opened first, so that no error message blames a picture for the model file
        means = map_items(X, lambda picture: self.places(picture)[0].mean(axis=0, dtype=np.float64))
        return np.stack(means).astype(np.float32)

    def places(self, picture: Any) -> tuple[np.ndarray, tuple[int, int]]:
        """Return the features of each place of a picture, and the grid of the places.

        Parameters
        ----------
        picture : path or array
            A picture in any form that `transform` takes.

        Returns
        -------
        features : array (n_places, n_features), float32
            Features of the places, row by row from the top left. `transform` returns their mean.
        grid : (int, int)
            Numbers of rows and columns of places; (1, 1) if the network has no places.
        """
        opened = self.network()
        return opened.places(colours_of(picture, opened.reading.height, opened.reading.width))

    def shape(self, picture: Any) -> tuple[int, int]:
        """Return the height and width of the heat maps of a picture; the longer one is at most MAP_SIDE_PIXELS."""
        if isinstance(picture, str | os.PathLike):
            from jointsparse.pictures import open_colour

            return open_colour(Path(picture), MAP_SIDE_PIXELS).shape[:2]
        factor = min(1.0, MAP_SIDE_PIXELS / max(np.shape(picture)[:2]))
        return tuple(max(1, round(side * factor)) for side in np.shape(picture)[:2])

    def network(self) -> onnx.Network:
        """Return the network, which is opened once per process. Raise ValueError if the file has changed."""
        path = Path(self.model)
        require(path.is_file(), f"model must be an ONNX file, got {str(path)!r}, which is not there")
        digest = onnx.digest(path)
        expected = self.__dict__.setdefault("digest_", digest)
        require(digest == expected, f"{path} must be the file with SHA-256 {expected}, got {digest}: it has changed")
        options = {name: getattr(self, name) for name in onnx.TAKES if name != "model"}
        return onnx.open_network(
            path, digest, **{name: tuple(v) if isinstance(v, list | np.ndarray) else v for name, v in options.items()}
        )

    @property
    def longest_side(self) -> int:
        """Longer side in pixels of the size to which pictures are resized."""
        return max(self.size_)

    def smallest_side(self) -> int:
        """Return the smallest side in pixels that a picture must have."""
        return onnx.smallest_side()

    def bytes_of_picture(self) -> int:
        """Return an estimate of the number of bytes of memory needed to describe a picture."""
        return BYTES_OF_PICTURE

    def _require_consistent(self, sizes: Sizes) -> None:
        onnx.require_options(self.size, self.mean, self.std, self.layout, self.tokens)
        require(len(self.grid_) == len(self.size_) == 2, "grid_ and size_ must have two numbers each")
        sizes["out"] = self.n_features_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def colours_of(picture: Any, height: int, width: int) -> np.ndarray:
    """Return a picture in colour, resized to (height, width, 3), as uint8. picture: a path or an array."""
    require_extra("Embedding", "PIL")
    from jointsparse.pictures import open_resized, resized

    if isinstance(picture, str | os.PathLike):
        return open_resized(Path(picture), height, width)
    return resized(np.asarray(picture), height, width)
