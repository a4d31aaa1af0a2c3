"""Maps of a picture that show where an answer comes from: each patch adds to the score of a word."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from jointsparse.checks import require
from jointsparse.features import evidence


def is_of_pictures(model: Any) -> bool:
    """Return True if a model is a kept chain of steps that begins with pictures."""
    return hasattr(model, "known_scores_") and hasattr(model[0], "extractor")


def require_of_pictures(model: Any) -> None:
    """Raise ValueError unless a model is a kept chain of steps that begins with pictures."""
    require(
        is_of_pictures(model),
        f"the model must be one of pictures that a run has kept as model.skops, got {type(model).__name__}",
    )


def explain(model: Pipeline, picture: Any, word: str) -> np.ndarray:
    """Say how much each pixel of a picture adds to the decision of a word.

    A decision is linear in the picture's histogram of visual words. What a patch counts for, over the levels of the
    tree, is spread over its pixels. What the mean picture has is taken off evenly.

    Parameters
    ----------
    model : Pipeline
        A kept model, from `jointsparse.load`.
    picture : path or array
        As `DenseSift` takes it.
    word : str
        One of its words.

    Returns
    -------
    heat : array (height, width), float32
        Of the picture as it is shrunk. Its sum and the word's intercept are the decision.

    Raises
    ------
    ValueError
        If the model is not of pictures, or does not know the word. A file that does not open raises what Pillow does.

    Notes
    -----
    Exact, given the picture's own normalisation of its histogram.
    """
    require_of_pictures(model)
    words = model.card_["words"]
    require(word in words, f"word must be one of {', '.join(words)}, got {word!r}")
    return Explainer(model).heats(picture, [words.index(word)])[0]


class Explainer:
    """The weights of a model by visual word, for the maps of many pictures.

    Parameters
    ----------
    model : Pipeline
        As `explain` takes it.
    features : int array, shape (n_features,)
        Features of its classifier that have maps, too, in the places after the words.
    """

    def __init__(self, model: Pipeline, features: Sequence[int] | np.ndarray = ()) -> None:
        require_of_pictures(model)
        self.describe, self.tree, *basis, classifier = (step for _, step in model.steps)
        given = (basis[0].basis_, basis[0].factors_) if basis else ()
        of_features = np.eye(classifier.coef_.shape[1])[:, np.asarray(features, int)]
        intercept = np.concatenate([classifier.intercept_, np.zeros(len(features))])
        self.G, constant = evidence.word_weights(np.hstack([classifier.coef_.T, of_features]), intercept, *given)
        self.of_mean = intercept - constant  # what the mean of the basis takes off

    def heats(self, picture: Any, places: Sequence[int]) -> list[np.ndarray]:
        """Return the map of the word or feature in each place; see `explain`."""
        grey = self.describe.grey(picture)
        descriptors = self.describe.extractor.describe(grey, **self.describe.options)
        patches = self.describe.extractor.patches(*grey.shape, **self.describe.options)
        weighting = {"weighting": self.tree.weighting, "normalise": self.tree.normalise, "idf": self.tree.idf_}
        parts = evidence.parts(self.tree.tree_, descriptors, self.G[:, list(places)], **weighting)
        maps = [evidence.heat(parts[:, i], patches, *grey.shape) for i in range(len(places))]
        return [one - np.float32(self.of_mean[place] / grey.size) for one, place in zip(maps, places, strict=True)]
