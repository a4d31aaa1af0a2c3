"""How pictures become features: a class of settings for each way."""

from typing import Annotated, Literal

from annotated_types import Ge, Le, MinLen
from pydantic import Field

from jointsparse.pipeline.settings.values import (
    AsGiven,
    Block,
    Colour,
    Count,
    Distinct,
    File,
    FittedOn,
    Folders,
    Fraction,
    Name,
    Number,
    Pixels,
    Text,
    tags_of,
)

BUILT_IN = "efficientnet-lite0"  # the network that comes with the pipeline


class DenseSift(Block):
    """Options of the extractor `dense_sift`."""

    patch_sizes: Annotated[list[Annotated[int, Ge(4), Le(100_000)]], MinLen(1), Distinct] = [16, 24, 32]
    """Sides of the square patches, in pixels."""
    step: Pixels = 8
    """Pixels between neighbouring patches."""
    clip: Fraction = 0.2
    """A unit-length descriptor is clipped to this value, and then normalised again."""
    rootsift: bool = True
    """True if descriptors are the square roots of their L1-normalised values."""
    min_contrast: Annotated[float, Ge(1e-6), Le(1), AsGiven] = 0.005
    """Patches with less contrast than this, in grey levels per pixel, get a descriptor of zeros."""


class Onnx(Block):
    """Options of the extractor `onnx`. What is not given is read from the network's files."""

    model: File = BUILT_IN
    """The network: an ONNX file, or efficientnet-lite0, which is built in."""
    size: Pixels | Annotated[list[Pixels], Field(min_length=2, max_length=2)] | None = None
    """Side, or height and width, to which pictures are resized, in pixels."""
    mean: Colour | None = None
    """Mean of the colours, which is subtracted from a floating-point input: for red, for green and for blue."""
    std: Colour | None = None
    """Standard deviation of the colours, by which a floating-point input is divided."""
    scale: Number | None = None
    """Value of white in a floating-point input before the mean is subtracted; by default 1."""
    channels: Literal["RGB", "BGR"] | None = None
    """Order of the colours in the input."""
    layout: Literal["NHWC", "NCHW"] | None = None
    """Order of the input's axes."""
    output: Text | None = None
    """Name of the output with the features."""
    output_layout: Literal["NHWC", "NCHW"] | None = None
    """Order of the axes of an output with features by place."""
    tokens: Literal["mean", "first"] | Annotated[int, Ge(0), Le(100_000)] = "mean"
    """The mean over the tokens of places, the first token, or the mean over all tokens after this many."""


class Vocabulary(Block):
    """A vocabulary tree, and the weighting of its visual words."""

    branching: Annotated[int, Ge(2), Le(1000)]
    """Children of a node."""
    depth: Annotated[int, Ge(1), Le(20)]
    """Levels below the root."""
    weighting: Literal["count", "sqrt", "tf-idf"]
    """Weighting of visual words: their count in a picture, its square root, or tf-idf."""
    normalise: bool
    """True if each level of the tree is scaled to unit length."""


class Sample(Block):
    """The descriptors that vocabularies are grown from."""

    images: Count
    """Number of images at most; they are described an additional time for the sample."""
    descriptors: Count
    """Approximate number of descriptors, the same number from each image."""
    fitted_on: FittedOn
    """Splits that the images come from."""


class VisualWords(Block):
    """Histograms of visual words: local descriptors, quantised by vocabulary trees."""

    extractor: Literal["dense_sift"]
    """The plug-in that computes the local descriptors of a picture."""
    options: DenseSift = DenseSift()
    """Options of the extractor."""
    longest_side: Pixels = 320
    """Larger pictures are shrunk to this many pixels on their longer side."""
    sample: Sample
    """The descriptors that vocabularies are grown from."""
    keep: Annotated[list[Literal["vocabularies", "descriptors"]], Distinct] = []
    """vocabularies: do not grow them again when images are added. descriptors: save those of every image."""
    vocabularies: Annotated[dict[Name, Vocabulary], MinLen(1), Folders]
    """Vocabulary trees, by name."""


class Network(Block):
    """Features from a pretrained network."""

    extractor: Literal["onnx"]
    """The plug-in that describes pictures by a network."""
    options: Onnx = Onnx()
    """Options of the extractor."""
    longest_side: Pixels = 320
    """Pictures are shrunk to this many pixels on their longer side when they are checked."""


Features = Annotated[VisualWords | Network, Field(discriminator="extractor")]
EXTRACTORS = tags_of(VisualWords, "extractor") + tags_of(Network, "extractor")
