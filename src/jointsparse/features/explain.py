"""Heat maps that show which parts of a picture contribute to the score of a word."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from jointsparse.checks import require
from jointsparse.features import evidence


def is_of_pictures(model: Any) -> bool:
    """Return True if the model is a pipeline that takes pictures and was kept by a run."""
    return hasattr(model, "known_scores_") and hasattr(model[0], "extractor")


def require_of_pictures(model: Any) -> None:
    """Raise ValueError unless the model is a pipeline that takes pictures and was kept by a run."""
    require(
        is_of_pictures(model),
        f"model must be a model of pictures that a run has kept as model.skops, got {type(model).__name__}",
    )


def explain(model: Pipeline, picture: Any, word: str) -> np.ndarray:
    """Return how much each pixel of a picture adds to the decision value of a word.

    The decision value is linear in the picture's histogram of visual words. The contribution of each patch, summed over
    the levels of the vocabulary tree, is spread evenly over its pixels. The contribution of the mean picture is
    subtracted evenly from all pixels.

    Parameters
    ----------
    model : Pipeline
        Model that a run has kept, from `jointsparse.load`.
    picture : path or array
        Picture in any form that `DenseSift` takes.
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
        If the model does not take pictures, or does not know the word. A file that cannot be opened raises Pillow's
        error.

    Notes
    -----
    The decomposition is exact if the normalisation of the histogram, which depends on all patches, is taken as fixed.

    Examples
    --------
    With the model that `jointsparse run` made of photographs:

    >>> from jointsparse import explain, load
    >>> model = load("results/photos/model.skops")  # doctest: +SKIP
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
    """Heat maps of many pictures, with a cache of a model's weights of the visual words.

    Parameters
    ----------
    model : Pipeline
        Model that a run has kept, as in `explain`.
    features : int array, shape (n_features,)
        Features of the model's classifier for which maps can be made as well. They are numbered after the words.
    """

    def __init__(self, model: Pipeline, features: Sequence[int] | np.ndarray = ()) -> None:
        require_of_pictures(model)
        self.describe, self.tree, *basis, classifier = (step for _, step in model.steps)
        self.classifier, self.features = classifier, np.asarray(features, int)
        self.basis = (basis[0].basis_, basis[0].factors_) if basis else ()
        self._cached: dict[int, tuple[np.ndarray, float]] = {}

    def weights(self, places: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the visual words for each place, and the contribution of the mean picture.

        Places are numbered as in `heats`. The shapes are (n_visual_words, n_places) and (n_places,).
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
            G, constant = evidence.word_weights(W, intercept, *self.basis)
            if (len(self._cached) + len(missing)) * G[:, 0].nbytes > MOST_BYTES:
                self._cached = {place: self._cached[place] for place in places if place in self._cached}
            self._cached |= {
                place: (np.ascontiguousarray(G[:, column]), float(intercept[column] - constant[column]))
                for column, place in enumerate(missing)
            }
        cached = [self._cached[place] for place in places]
        return np.stack([column for column, _ in cached], axis=1), np.array([mean for _, mean in cached])

    def heats(self, picture: Any, places: Sequence[int]) -> list[np.ndarray]:
        """Return a map as in `explain` for each place: the number of a word, or n_words + i for features[i]."""
        G, means = self.weights(places)
        grey = self.describe.grey(picture)
        descriptors = self.describe.extractor.describe(grey, **self.describe.options)
        patches = self.describe.extractor.patches(*grey.shape, **self.describe.options)
        weighting = {"weighting": self.tree.weighting, "normalise": self.tree.normalise, "idf": self.tree.idf_}
        parts = evidence.parts(self.tree.tree_, descriptors, G, **weighting)
        maps = [evidence.heat(parts[:, i], patches, *grey.shape) for i in range(len(places))]
        return [heat - np.float32(mean / grey.size) for heat, mean in zip(maps, means, strict=True)]
