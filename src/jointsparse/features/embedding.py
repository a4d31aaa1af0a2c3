"""Features of pictures from a pretrained network, computed by a scikit-learn transformer."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from jointsparse.checks import require, require_count, require_extra
from jointsparse.features import efficientnet, network_files, onnx
from jointsparse.features.transformers import PerPicture, map_items

MAP_SIDE_PIXELS = 320  # longest side of a map
BYTES_OF_PICTURE = 50_000_000  # measured with a network of 13 MB whose input has 224 x 224 pixels


class Embedding(ClassNamePrefixFeaturesOutMixin, PerPicture):
    """Describe pictures by a pretrained network, which ONNX Runtime runs on the CPU.

    Parameters
    ----------
    model : path or "efficientnet-lite0", default="efficientnet-lite0"
        EfficientNet-Lite0, trained on ImageNet, which comes with the extra `pipeline`, or an ONNX file. Files of
        weights that an ONNX file names must be in its folder. One of its inputs holds pictures, uint8 or
        floating-point, (n, height, width, 3) or (n, 3, height, width). An output that depends on this input alone holds
        one feature vector per picture, (n, d), per place, (n, d, height, width), or per token, (n, tokens, d). The mean
        over the places or tokens is taken.
    size : int, (int, int) or None, pixels, default=None
        Side, or height and width, to which each picture is resized, whatever its aspect ratio. None stands for the size
        that the file states, or for 224 if it states none.
    mean, std : sequences of 3 floats, default=None
        A floating-point input is (colour - mean) / std, with red, green and blue in [0, scale]. None stands for the
        values of ImageNet if scale is 1, and otherwise for 0 and 1. A uint8 input takes the colours unchanged, and
        mean, std and scale must be None.
    scale : float or None, default=None
        Value of white before the mean is subtracted, such as 255. None stands for 1.
    channels : {"RGB", "BGR"} or None, default=None
        Order of the colours in the input. None stands for "RGB".
    layout : {"NHWC", "NCHW"} or None, default=None
        Order of the input's axes. If it is None, the axis of length 3 holds the colours.
    output : str or None, default=None
        Name of the output that holds the features. None stands for the output with the most axes.
    output_layout : {"NHWC", "NCHW"} or None, default=None
        Order of the axes of an output with four axes, where C holds the features. If it is None, the other two axes
        must have the aspect ratio of the input.
    tokens : {"mean", "first"} or int, default="mean"
        If the output has tokens: "mean" takes the mean over the last tokens that form a grid with the aspect ratio of
        the input. For a square input with 201 tokens, these are the last 14 x 14, and the first 5, a class token and 4
        registers, are left out. A number leaves out this many tokens instead. "first" takes the first token.

    Attributes
    ----------
    digest_ : str
        SHA-256 of the file or, if it has more files, of the SHA-256 of all of them, computed by `fit` or for the first
        picture. The file of "efficientnet-lite0" holds its weights. Files with another digest are rejected.
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
    This class needs `pip install 'jointsparse[pipeline]'`. Nothing is learnt, so calling `fit` is not necessary.
    Pictures are processed one after the other in a single thread, so that the same picture always has the same features
    on one type of processor. On another type of processor the last digits may differ.

    If there is a file preprocessor_config.json in the folder of the ONNX file, as Hugging Face's libraries write it, it
    replaces the defaults of `mean`, `std`, `scale` and `channels`, and the size of 224 pixels.

    An ONNX file may come from anyone. Before its network describes the first picture, a separate process therefore
    tries it, within 60 seconds and 4 GiB of memory. Each later picture has the same limits.

    Examples
    --------
    >>> chain = make_pipeline(Embedding(), StandardScaler(), JointSparseClassifierCV())  # doctest: +SKIP
    >>> chain.fit(paths, Y)  # doctest: +SKIP
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = efficientnet.NAME,
        *,
        size: int | Sequence[int] | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        scale: float | None = None,
        channels: str | None = None,
        layout: str | None = None,
        output: str | None = None,
        output_layout: str | None = None,
        tokens: str | int = "mean",
    ) -> None:
        self.model = model
        self.size = size
        self.mean = mean
        self.std = std
        self.scale = scale
        self.channels = channels
        self.layout = layout
        self.output = output
        self.output_layout = output_layout
        self.tokens = tokens

    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the network on a black picture, to find the size of its input and output. X and y are ignored."""
        self.__dict__.pop("digest_", None)
        network = self.network()
        self.size_, self.grid_ = (network.reading.height, network.reading.width), network.blank.grid
        self.n_features_ = network.blank.features.shape[1]
        return self

    @classmethod
    def from_digest(
        cls,
        model: str | os.PathLike[str],
        *,
        digest: str,
        shape: Sequence[int],
        grid: Sequence[int],
        n_features: int,
        **options: Any,
    ) -> Self:
        """Return a fitted transformer for a known network, whose file need not be there yet.

        Parameters
        ----------
        model, **options : as for the class
            The ONNX file, and parameters of the transformer.
        digest, shape, grid, n_features : str, (int, int), (int, int), int
            What `fit` has found: the attributes `digest_`, `size_`, `grid_` and `n_features_`.

        Raises
        ------
        ValueError
            If an option is invalid.
        """
        self = cls(model, **options)
        onnx.require_options(self._options())
        for count in (*shape, *grid, n_features):
            require_count(count, "each of shape, grid and n_features")
        (height, width), (rows, columns) = shape, grid
        self.digest_, self.size_, self.grid_, self.n_features_ = digest, (height, width), (rows, columns), n_features
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
        places = opened.places(colours_of(picture, opened.reading.height, opened.reading.width))
        return places.features, places.grid

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
        digest = network_files.digest(path)
        expected = self.__dict__.setdefault("digest_", digest)
        require(digest == expected, f"{path} must be the network with SHA-256 {expected}, and it is another one")
        return onnx.open_network(path, digest, self._options())

    def _options(self) -> onnx.Options:
        values: dict[str, Any] = {name: getattr(self, name) for name in onnx.Options._fields}
        values |= {name: tuple(v) for name, v in values.items() if isinstance(v, list | np.ndarray)}  # hashable
        return onnx.Options(**values)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def fitted(options: Mapping[str, Any], digest: str) -> Embedding:
    """Return a fitted `Embedding` with these options. Raise ValueError if its network has another digest."""
    embedding = Embedding(**options).fit(None)
    same = embedding.digest_ == digest
    require(same, f"the network {embedding.model} must not change during a run, but it has changed: run again")
    return embedding


def colours_of(picture: Any, height: int, width: int) -> np.ndarray:
    """Return a picture in colour, resized to (height, width, 3), as uint8. picture: a path or an array."""
    require_extra("Embedding", "PIL")
    from jointsparse.pictures import open_resized, resized

    if isinstance(picture, str | os.PathLike):
        return open_resized(Path(picture), height, width)
    return resized(np.asarray(picture), height, width)
