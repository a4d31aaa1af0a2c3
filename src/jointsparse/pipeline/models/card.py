"""The card of a model: what it has learnt, from what, how well it recognises each word, and how it is rebuilt."""

from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, MinLen
from pydantic import BaseModel, ConfigDict, FailFast, Field, JsonValue, StringConstraints

from jointsparse.versions import version

# Lists end at the first mistake, because a message takes a hundred times the memory of the entry that it is about.
Texts = Annotated[list[str], FailFast()]
Version = Annotated[str, StringConstraints(pattern=r"^[\w.+!-]{1,50}$")]
Pair = tuple[Annotated[int, Ge(1)], Annotated[int, Ge(1)]]


class Block(BaseModel):
    """A block of the card: unknown keys are refused, and values are not converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Given(Block):
    """Features that the samples come with."""

    kind: Literal["given"] = "given"


class VisualWords(Block):
    """Histograms of visual words of pictures."""

    kind: Literal["words"] = "words"
    extractor: str
    """Name of the extractor in `features.FEATURES`."""
    options: dict[str, JsonValue]
    """Parameters of the extractor's transformer."""
    weighting: str
    """Weighting of a word's count."""
    normalise: bool
    """Whether each level of a histogram has unit length."""


class Network(Block):
    """Features of pictures from a network, which is not part of the model file."""

    kind: Literal["network"] = "network"
    file: str
    """Name of the ONNX file, without its folder, or of the built-in network."""
    digest: str
    """SHA-256 of the network's files, by which the built-in network is recognised."""
    size: Pair
    """Height and width in pixels to which pictures are resized."""
    grid: Pair
    """Numbers of rows and columns of places."""
    n_features: Annotated[int, Ge(1)]
    """Number of features."""
    options: dict[str, JsonValue]
    """Further parameters of `Embedding`."""


Features = Annotated[Given | VisualWords | Network, Field(discriminator="kind")]


class Versions(Block):
    """Versions of the packages that have fitted the model."""

    jointsparse: Version
    scikit_learn: Version
    numpy: Version

    @classmethod
    def here(cls) -> "Versions":
        import sklearn  # imported here, because importing it takes a second

        return cls(jointsparse=version(), scikit_learn=sklearn.__version__, numpy=np.__version__)


class Card(Block):
    """Description of a model. Together with the arrays of the model file it is all that is needed to rebuild the model.

    A file in another format has another number; the number is read before all other keys.
    """

    format: Literal[1] = 1
    """Number of the file format."""
    versions: Versions
    """Versions of the packages that have fitted the model."""
    dataset: str
    """Name of the dataset."""
    study: str = ""
    """Name of the study whose words and settings the model has."""
    seed: int = 0
    """Seed of the run."""
    raw: str = ""
    """Digest of the raw files of the dataset."""
    words: Annotated[list[str], FailFast(), MinLen(1)]
    """Names of the words."""
    norm: str
    """Norm that was bounded."""
    loss: str
    """Loss that was minimised."""
    radius: float
    """Bound on the norm."""
    gap: float
    """Duality gap of the weights."""
    power: float | None = None
    """Power of the singular values in the features of the basis; null without a basis."""
    known_images: int
    """Number of images from which the model has learnt."""
    n_features: tuple[int, int]
    """Number of features in use, and of all features of the fit."""
    features: Features
    """How samples become features."""
    thresholds: Annotated[list[float], FailFast()]
    """For each word, the score from which on it is assigned to an image: the one that maximises F1."""
    statistics: dict[str, Annotated[list[int | float | None], FailFast()]]
    """For each statistic, its value for each word on the test images, and a last entry for all words together."""

    def table(self) -> Any:
        """Return the statistics as a DataFrame with a row per word, a last row for all words, and a column `word`."""
        import pandas as pd  # imported here, because importing it takes a third of a second

        from jointsparse.pipeline.models.final import ALL_WORDS

        return pd.DataFrame(self.statistics | {"word": [*self.words, ALL_WORDS]})


class Stated(Block):
    """What is read first from the card of a file whose format is not yet known."""

    model_config = ConfigDict(extra="ignore")

    format: int
    versions: dict[str, Version]


class Names(Block):
    """Names that are too many for the card."""

    known: Texts
    """Names of the images from which the model has learnt."""
    columns: Texts
    """Names of the input features; empty if they have no names."""
