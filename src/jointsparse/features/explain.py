"""Heat maps that show which parts of a picture contribute to the score of a word."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from jointsparse.checks import require
from jointsparse.features import evidence
from jointsparse.features.embedding import Embedding
from jointsparse.features.transformers import PerPicture, SVDBasis, VocabularyTree


def is_of_pictures(model: Any) -> bool:
    """Return True if the model is a Pipeline that takes pictures and was saved by a run."""
    return hasattr(model, "known_scores_") and isinstance(model[0], PerPicture)


def has_maps(model: Any) -> bool:
    """Return True if `explain` accepts a model: it takes pictures, and its features belong to places in them."""
    return is_of_pictures(model) and not (isinstance(model[0], Embedding) and model[0].grid_ == (1, 1))


def require_of_pictures(model: Any) -> None:
    """Raise ValueError unless the model is a Pipeline that takes pictures and was saved by a run."""
    require(
        is_of_pictures(model),
        f"model must be a model of pictures that a run has kept as model.skops, got {type(model).__name__}",
    )


def explain(model: Pipeline, picture: Any, word: str) -> np.ndarray:
    """Return how much each pixel of a picture adds to the decision value of a word.

    The decision value is linear in the picture's histogram of visual words, or in the mean of a network's features over
    the places of its last layer. The contribution of each patch, summed over the levels of the vocabulary tree, is
    spread evenly over its pixels. The contribution of each place falls off linearly towards the neighbouring places.
    The contribution of the mean picture is subtracted evenly from all pixels.

    Parameters
    ----------
    model : Pipeline
        Model that a run has saved as model.skops, as returned by `jointsparse.load`.
    picture : path or array
        Picture in any form that `DenseSift` or `Embedding` takes.
    word : str
        A word that the model knows.

    Returns
    -------
    heat : array (height, width), float32
        Heat map in the size to which the picture is shrunk. The sum of all pixels and the word's intercept is the
        decision value.

    Raises
    ------
    ValueError
        If the model does not take pictures or does not know the word, or if its network returns a single vector per
        picture. A file that cannot be opened raises Pillow's error.

    Notes
    -----
    With visual words the decomposition is exact if the normalisation of the histogram, which depends on all patches, is
    taken as fixed. With a network it is exact, but the features of a place may depend on the whole picture.

    Examples
    --------
    With the model that `jointsparse run` has trained on photographs:

    >>> from jointsparse import explain, load
    >>> model = load("model.skops")  # doctest: +SKIP
    >>> heat = explain(model, "a.jpg", "dog")  # doctest: +SKIP
    >>> heat.shape  # doctest: +SKIP
    (240, 320)
    >>> plt.imshow(heat, cmap="RdBu_r")  # doctest: +SKIP
    """
    require_of_pictures(model)
    words = model.card_["words"]
    require(word in words, f"word must be one of {', '.join(words)}, got {word!r}")
    return Explainer(model).heats(picture, [words.index(word)])[0]


MOST_BYTES = 50_000_000  # size of the weights that are cached for the next pictures


class Explainer:
    """Heat maps of many pictures for one model, whose weights in terms of words or network features are cached.

    Parameters
    ----------
    model : Pipeline
        Model as in `explain`.
    features : int array, shape (n_features,)
        Indices of features of the model's classifier that can be explained as well. They are numbered after the words.
    """

    def __init__(self, model: Pipeline, features: Sequence[int] | np.ndarray = ()) -> None:
        require_of_pictures(model)
        *steps, self.classifier = (step for _, step in model.steps)
        self.in_colour = isinstance(steps[0], Embedding)  # whether the model uses colours
        n_first = 1 if self.in_colour else 2
        self.first, self.linear, self.features = steps[:n_first], steps[n_first:], np.asarray(features, int)
        self._cached: dict[int, tuple[np.ndarray, float]] = {}

    def weights(self, places: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the first steps' weights for each entry of `places`, and the contributions of the mean picture.

        places: as in `heats`. The results have the shapes (n_features, len(places)) and (len(places),).
        """
        missing = [place for place in dict.fromkeys(places) if place not in self._cached]
        if missing:
            coef, intercept = self.classifier.coef_, np.zeros(len(missing))
            W = np.zeros((coef.shape[1], len(missing)))
            for column, place in enumerate(missing):
                if place < len(coef):
                    W[:, column], intercept[column] = coef[place], self.classifier.intercept_[place]
                else:
                    W[self.features[place - len(coef)], column] = 1
            G, constant = W, intercept
            for step in reversed(self.linear):
                G, constant = _weights_before(step, G, constant)
            if (len(self._cached) + len(missing)) * G[:, 0].nbytes > MOST_BYTES:
                self._cached = {place: self._cached[place] for place in places if place in self._cached}
            self._cached |= {
                place: (np.ascontiguousarray(G[:, column]), float(intercept[column] - constant[column]))
                for column, place in enumerate(missing)
            }
        cached = [self._cached[place] for place in places]
        return np.stack([column for column, _ in cached], axis=1), np.array([mean for _, mean in cached])

    def heats(self, picture: Any, places: Sequence[int]) -> list[np.ndarray]:
        """Return the heat map of a picture for each entry of `places`, computed as in `explain`.

        places: numbers of the words or features to explain. Word k has the number k, and features[i] has n_words + i.
        """
        G, means = self.weights(places)
        maps = (_maps_of_network if self.in_colour else _maps_of_words)(picture, G, *self.first)
        return [heat - np.float32(mean / heat.size) for heat, mean in zip(maps, means, strict=True)]


def _weights_before(step: Any, W: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and intercepts of a linear model for the input of a step, given those for its output."""
    if isinstance(step, SVDBasis):
        return evidence.word_weights(W, intercept, step.basis_, step.factors_)
    require(isinstance(step, StandardScaler), f"maps need steps that are linear, got {type(step).__name__}")
    W = W if step.scale_ is None else W / step.scale_[:, np.newaxis]
    return W, intercept if step.mean_ is None else intercept - step.mean_ @ W


def _maps_of_words(picture: Any, G: np.ndarray, describe: Any, words: VocabularyTree) -> list[np.ndarray]:
    """Return heat maps of the pixels' contributions by visual words, one map per column of the words' weights G."""
    grey = describe.grey(picture)
    descriptors = describe.extractor.describe(grey, **describe.options)
    patches = describe.extractor.patches(*grey.shape, **describe.options)
    weighting: dict[str, Any] = {"weighting": words.weighting, "normalise": words.normalise, "idf": words.idf_}
    parts = evidence.parts(words.tree_, descriptors, G, **weighting)
    return [evidence.heat(column, patches, *grey.shape) for column in parts.T]


def _maps_of_network(picture: Any, G: np.ndarray, embedding: Embedding) -> list[np.ndarray]:
    """Return heat maps of the pixels' contributions by a network, one map per column of its features' weights G."""
    features, grid = embedding.places(picture)
    said = f"{embedding.model} must have features by place or by token to have maps, got one vector for a picture"
    require(len(features) > 1, said)
    parts, shape = features.astype(np.float64) @ G / len(features), embedding.shape(picture)
    return [evidence.smooth_heat(column.reshape(grid), *shape) for column in parts.T]
