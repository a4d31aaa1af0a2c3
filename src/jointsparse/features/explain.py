"""Heat maps that show which parts of a picture contribute to the decision value of a task."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC
from sklearn.utils.validation import check_is_fitted

from jointsparse.checks import require
from jointsparse.features import evidence
from jointsparse.features.embedding import Embedding
from jointsparse.features.transformers import PerPicture, SVDBasis, VocabularyTree
from jointsparse.messages import shortened

EXPECTED = "a fitted Pipeline of Embedding, or of DenseSift and VocabularyTree, and a linear estimator"


def is_of_pictures(model: Any) -> bool:
    """Return True if the model is a Pipeline that takes pictures."""
    return isinstance(model, Pipeline) and isinstance(model[0], PerPicture)


def has_maps(model: Any) -> bool:
    """Return True if a model takes pictures and its features belong to places in them."""
    return is_of_pictures(model) and not (isinstance(model[0], Embedding) and model[0].grid_ == (1, 1))


def explain(model: Pipeline, picture: Any, task: Any) -> np.ndarray:
    """Return how much each pixel of a picture adds to the decision value of a task.

    The decision value is linear in the picture's histogram of visual words, or in the mean of a network's features over
    the places of its last layer. The contribution of each patch, summed over the levels of the vocabulary tree, is
    spread evenly over its pixels. The contribution of each place falls off linearly towards the neighbouring places.
    The contribution of the mean picture is subtracted evenly from all pixels.

    Parameters
    ----------
    model : Pipeline
        Fitted Pipeline. It begins with `Embedding`, or with `DenseSift` and `VocabularyTree`. `SVDBasis` and
        `StandardScaler` may follow. The last step is a linear estimator of jointsparse or scikit-learn, with a row of
        `coef_` and an entry of `intercept_` per task, such as `JointSparseClassifier` or `LogisticRegression`.
    picture : path or array
        Picture in any form that `DenseSift` or `Embedding` takes.
    task : Any
        Class, name of a column of y, or index of a row of `coef_`. An integer that is also a class stands for the
        class. With two classes, the only task is the second class, which a positive decision value predicts.

    Returns
    -------
    heat : array (height, width), float32
        Heat map in the size to which the picture is shrunk. The sum of all pixels and the task's intercept is the
        decision value.

    Raises
    ------
    ValueError
        If the model has other steps or does not know the task, or if its network returns a single vector per picture.
        A file that cannot be opened raises Pillow's error.

    Notes
    -----
    With visual words the decomposition is exact if the normalisation of the histogram, which depends on all patches, is
    taken as fixed. With a network it is exact, but the features of a place may depend on the whole picture.

    Examples
    --------
    >>> steps = DenseSift(), VocabularyTree(), SVDBasis(100), JointSparseClassifierCV()  # doctest: +SKIP
    >>> model = make_pipeline(*steps).fit(paths, labels)  # doctest: +SKIP
    >>> heat = explain(model, "a.jpg", "dog")  # doctest: +SKIP
    >>> heat.shape  # doctest: +SKIP
    (240, 320)
    >>> plt.imshow(heat, cmap="RdBu_r")  # doctest: +SKIP
    """
    explainer = Explainer(model)
    return explainer.heats(picture, [explainer.index(task)])[0]


MOST_BYTES = 50_000_000  # size of the weights that are cached for the next pictures


class Explainer:
    """Heat maps of many pictures for one model, whose weights in terms of words or network features are cached.

    Parameters
    ----------
    model : Pipeline
        Model as in `explain`.
    features : int array, shape (n_features,)
        Indices of features of the model's last step that can be explained as well. They are numbered after the tasks.
    """

    def __init__(self, model: Pipeline, features: Sequence[int] | np.ndarray = ()) -> None:
        require(is_of_pictures(model), f"model must be {EXPECTED}, got {type(model).__name__}")
        steps = [step for _, step in model.steps]
        self.in_colour = isinstance(steps[0], Embedding)  # whether the model uses colours
        n_first = 1 if self.in_colour else 2
        self.first, (*self.linear, self.last) = steps[:n_first], steps[n_first:] or [None]
        known = self.in_colour or isinstance(self.first[-1], VocabularyTree)
        linear = all(isinstance(step, SVDBasis | StandardScaler) for step in self.linear)
        if self.last is not None:
            check_is_fitted(self.last)
        linear = linear and hasattr(self.last, "coef_") and hasattr(self.last, "intercept_")
        names = ", ".join(type(step).__name__ for step in steps)
        require(known and linear, f"model must be {EXPECTED} with coef_ and intercept_, got the steps {names}")
        one_vs_one = isinstance(self.last, SVC | NuSVC) and len(self.last.classes_) > 2
        require(
            not one_vs_one,
            f"the last step must have a row of coef_ for each task, got {type(self.last).__name__}, which has a row "
            "for each pair of classes: use LinearSVC",
        )
        coef = self.last.coef_.toarray() if sparse.issparse(self.last.coef_) else self.last.coef_  # after sparsify()
        self.coef = np.atleast_2d(coef)
        self.features = np.asarray(features, int)
        self._cached: dict[int, tuple[np.ndarray, float]] = {}

    def index(self, task: Any) -> int:
        """Return the index of a task. task: as in `explain`. Raise ValueError if the model does not know it."""
        classes = np.asarray(getattr(self.last, "classes_", [])).tolist()
        names = getattr(self.last, "_names", None)
        names = classes if names is None else np.asarray(names).tolist()
        names = names[-len(self.coef) :]  # two classes are one task
        if task in names:
            return names.index(task)
        known = ", ".join(map(str, names)) or f"an index below {len(self.coef)}"
        is_index = isinstance(task, int | np.integer) and 0 <= task < len(self.coef) and task not in classes
        require(is_index, f"task must be one of {known[:200]}, got {shortened(task)}")
        return int(task)

    def weights(self, places: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the first steps' weights for each entry of `places`, and the contributions of the mean picture.

        places: as in `heats`. The results have the shapes (n_features, len(places)) and (len(places),).
        """
        missing = [place for place in dict.fromkeys(places) if place not in self._cached]
        if missing:
            G, constant = np.zeros((self.coef.shape[1], len(missing))), np.zeros(len(missing))
            for column, place in enumerate(missing):
                if place < len(self.coef):
                    G[:, column] = self.coef[place]
                else:
                    G[self.features[place - len(self.coef)], column] = 1
            for step in reversed(self.linear):
                G, constant = _weights_before(step, G, constant)
            if (len(self._cached) + len(missing)) * G[:, 0].nbytes > MOST_BYTES:
                self._cached = {place: self._cached[place] for place in places if place in self._cached}
            self._cached |= {
                place: (np.ascontiguousarray(G[:, column]), -float(constant[column]))
                for column, place in enumerate(missing)
            }
        cached = [self._cached[place] for place in places]
        return np.stack([column for column, _ in cached], axis=1), np.array([mean for _, mean in cached])

    def heats(self, picture: Any, places: Sequence[int]) -> list[np.ndarray]:
        """Return the heat map of a picture for each entry of `places`, computed as in `explain`.

        places: numbers of the tasks or features to explain. Task k has the number k, and features[i] has n_tasks + i.
        """
        G, means = self.weights(places)
        maps = (_maps_of_network if self.in_colour else _maps_of_words)(picture, G, *self.first)
        return [heat - np.float32(mean / heat.size) for heat, mean in zip(maps, means, strict=True)]


def _weights_before(step: Any, W: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and intercepts of a linear model for the input of a step, given those for its output."""
    if isinstance(step, SVDBasis):
        return evidence.word_weights(W, intercept, step.basis_, step.factors_)
    W = W if step.scale_ is None else W / step.scale_[:, np.newaxis]
    return W, intercept - step.mean_ @ W if step.with_mean else intercept


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
