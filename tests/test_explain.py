"""Heat maps of a picture: they sum to the score of a word, and show where the object of that name is."""

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from jointsparse import JointSparseClassifier, explain
from jointsparse.features import DenseSift, SVDBasis, VocabularyTree

pytest.importorskip("PIL")

WORDS = ["ramp", "stripes"]
HALVES = slice(0, 20), slice(28, 48)  # columns in which a picture may have a ramp and stripes, respectively


@pytest.fixture(scope="module")
def drawn():
    """Grey pictures with a ramp, stripes, both or neither, and labels (n, 2) that say what they have."""
    rng = np.random.default_rng(0)
    labels = rng.random((80, 2)) < 0.4
    pictures = rng.uniform(0.4, 0.6, (80, 32, 48))
    pictures[labels[:, 0], :, :24] = np.linspace(0, 1, 24)
    pictures[labels[:, 1], :, 24:] = np.arange(32)[:, np.newaxis] // 2 % 2
    return list(pictures), labels.astype(int)


@pytest.fixture(scope="module", params=[None, SVDBasis(rank=5, random_state=0)], ids=["", "basis"])
def model(drawn, request):
    """A pipeline from pictures to words, with or without a basis, with the attributes of a kept model."""
    steps = [("describe", DenseSift((8, 12), step=4)), ("words", VocabularyTree(4, 2, random_state=0))]
    steps += [("basis", request.param)] if request.param else []
    model = Pipeline([*steps, ("classifier", JointSparseClassifier(radius=5.0, fit_intercept=True))]).fit(*drawn)
    model.known_scores_, model.card_ = model.decision_function(drawn[0]), {"words": WORDS}
    return model


def test_a_map_and_the_intercept_sum_to_the_score(model, drawn):
    for picture in drawn[0][:6]:
        [scores] = model.decision_function([picture])
        for word, score, intercept in zip(WORDS, scores, model[-1].intercept_, strict=True):
            heat = explain(model, picture, word)
            assert heat.shape == picture.shape and heat.sum() + intercept == pytest.approx(score, abs=1e-4)


def test_a_map_shows_where_the_object_is(model, drawn):
    pictures, labels = drawn
    for i in np.flatnonzero(labels.all(axis=1))[:4]:
        for word, half in zip(WORDS, HALVES, strict=True):
            heat = explain(model, pictures[i], word)
            assert heat[:, half].mean() > heat.mean()


def test_an_unknown_word_raises(model, drawn):
    with pytest.raises(ValueError, match="word must be one of ramp, stripes, got 'cat'"):
        explain(model, drawn[0][0], "cat")


def test_a_model_that_does_not_take_pictures_raises(drawn):
    with pytest.raises(ValueError, match=r"must be a model of pictures that a run has kept .* got JointSparseClass"):
        explain(JointSparseClassifier(), drawn[0][0], "ramp")
