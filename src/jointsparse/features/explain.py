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


MOST_BYTES = 50_000_000  # of weights that are kept for the next picture


class Explainer:
    """The weights of a model by visual word, for the maps of many pictures. They are computed when a map needs them.

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
        self.classifier, self.features = classifier, np.asarray(features, int)
        self.basis = (basis[0].basis_, basis[0].factors_) if basis else ()
        self._found: dict[int, tuple[np.ndarray, float]] = {}

    def weights(self, places: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the visual words for each place, as in `heats`, and what the mean takes off.

        Their shapes are (n_visual_words, n_places) and (n_places,).
        """
        lacking = [place for place in dict.fromkeys(places) if place not in self._found]
        if lacking:
            coef, intercept = self.classifier.coef_, np.zeros(len(lacking))
            W = np.zeros((coef.shape[1], len(lacking)))
            for column, place in enumerate(lacking):
                if place < len(coef):
                    W[:, column], intercept[column] = coef[place], self.classifier.intercept_[place]
                else:
                    W[self.features[place - len(coef)], column] = 1
            G, constant = evidence.word_weights(W, intercept, *self.basis)
            if (len(self._found) + len(lacking)) * G[:, 0].nbytes > MOST_BYTES:
                self._found = {place: self._found[place] for place in places if place in self._found}
            self._found |= {
                place: (np.ascontiguousarray(G[:, column]), float(intercept[column] - constant[column]))
                for column, place in enumerate(lacking)
            }
        found = [self._found[place] for place in places]
        return np.stack([column for column, _ in found], axis=1), np.array([of_mean for _, of_mean in found])

    def heats(self, picture: Any, places: Sequence[int]) -> list[np.ndarray]:
        """Return the map of the word or feature in each place; see `explain`."""
        G, of_mean = self.weights(places)
        grey = self.describe.grey(picture)
        descriptors = self.describe.extractor.describe(grey, **self.describe.options)
        patches = self.describe.extractor.patches(*grey.shape, **self.describe.options)
        weighting = {"weighting": self.tree.weighting, "normalise": self.tree.normalise, "idf": self.tree.idf_}
        parts = evidence.parts(self.tree.tree_, descriptors, G, **weighting)
        maps = [evidence.heat(parts[:, i], patches, *grey.shape) for i in range(len(places))]
        return [one - np.float32(mean / grey.size) for one, mean in zip(maps, of_mean, strict=True)]
