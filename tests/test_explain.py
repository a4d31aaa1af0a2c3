"""Heat maps: they sum to the decision value of a task, and patches and places are drawn at the right pixels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    OnlineJointSparseClassifier,
    explain,
)
from jointsparse.features import DenseSift, SVDBasis, VocabularyTree
from jointsparse.features.evidence import heat, smooth_heat
from jointsparse.features.explain import Explainer

pytest.importorskip("PIL")

SIFT = DenseSift((8, 12), step=4)
LABELS = np.random.default_rng(0).random((40, 2)) < 0.4
PICTURES = np.random.default_rng(1).uniform(0.4, 0.6, (40, 32, 48))
PICTURES[LABELS[:, 0], :, :24] = np.linspace(0, 1, 24)  # a ramp
PICTURES[LABELS[:, 1], :, 24:] = np.arange(32)[:, np.newaxis] // 2 % 2  # stripes
KINDS = {  # labels, and the names of the tasks
    "tasks": (LABELS.astype(int), [0, 1]),
    "one": (LABELS[:, 0].astype(int), [1]),
    "number": (LABELS[:, 0].astype(float), [0]),
    "classes": (LABELS.sum(axis=1), [0, 1, 2]),
}
SCALED, WHITENED = SVDBasis(5, random_state=0), SVDBasis(5, power=0, centred=False, random_state=0)


@pytest.mark.parametrize(
    ("kind", "last", "words", "between"),
    [
        ("tasks", JointSparseClassifier(radius=5.0), {}, ()),
        ("tasks", JointSparseClassifierCV(radii=[5.0], cv=2), {}, (StandardScaler(with_mean=False),)),
        ("tasks", RidgeClassifier(), {}, (SCALED, StandardScaler())),
        ("tasks", JointSparseRegressor(radius=5.0), {"weighting": "count"}, ()),
        ("tasks", LinearRegression(), {"weighting": "tf-idf"}, (SVDBasis(5, power=0.5, random_state=0),)),
        ("one", JointSparseClassifier(radius=5.0), {"weighting": "tf-idf", "normalise": False}, (WHITENED,)),
        ("one", LogisticRegression(), {"weighting": "tf-idf"}, (StandardScaler(with_std=False, with_mean=False),)),
        ("one", SVC(kernel="linear"), {}, (WHITENED, StandardScaler(with_std=False))),
        ("number", JointSparseRegressor(radius=5.0), {}, (SCALED,)),
        ("classes", JointSparseClassifier(radius=5.0), {}, (SCALED,)),
        ("classes", OnlineJointSparseClassifier(radius=5.0), {}, ()),
        ("classes", LogisticRegression(), {}, (StandardScaler(with_mean=False),)),
    ],
)
def test_a_map_and_the_intercept_sum_to_the_decision(kind, last, words, between):
    y, names = KINDS[kind]
    tree = VocabularyTree(branching=4, depth=3, random_state=0, **words)  # has leaves on several levels
    model = make_pipeline(SIFT, tree, *map(clone, between), last).fit(PICTURES, y)
    expected = getattr(model, "decision_function", model.predict)(PICTURES[:3]).reshape(3, -1)
    for picture, decisions in zip(PICTURES, expected, strict=False):
        heats = [explain(model, picture, task) for task in names]
        assert {heat.shape for heat in heats} == {picture.shape}
        got = [heat.sum(dtype=float) for heat in heats] + model[-1].intercept_
        np.testing.assert_allclose(got, decisions, atol=1e-5 * (1 + np.abs(expected).max()))


def fitted(last, classes):
    return make_pipeline(SIFT, VocabularyTree(), last.fit(np.eye(len(classes)), classes))


@pytest.mark.parametrize(
    ("classes", "task", "expected"),
    [
        (["a", "b", "c"], "b", 1),
        (["a", "b", "c"], 2, 2),
        ([1, 2, 3], 1, 0),  # the class, not the index
        ([1, 2, 3], 0, 0),
        (["a", "b"], "b", 0),
        (["a", "b"], 0, 0),
        ([0, 1], 1, 0),
        (["a", "b", "c"], "d", "task must be one of a, b, c, got 'd'"),
        (["a", "b", "c"], 3, "task must be one of a, b, c, got 3"),
        (["a", "b"], "a", "task must be one of b, got 'a'"),
        ([0, 1], 0, "task must be one of 1, got 0"),
    ],
)
def test_a_task_is_a_class_or_else_an_index(classes, task, expected):
    explainer = Explainer(fitted(LogisticRegression(), classes))
    if isinstance(expected, int):
        assert explainer.index(task) == expected
    else:
        with pytest.raises(ValueError, match=expected):
            explainer.index(task)


def test_tasks_of_a_frame_have_the_names_of_their_columns():
    y = pytest.importorskip("pandas").DataFrame(np.eye(3, dtype=int)[:, :2], columns=["ramp", "stripes"])
    for last in (JointSparseClassifier(radius=1.0), JointSparseRegressor(radius=1.0)):
        assert Explainer(fitted(last, y)).index("stripes") == 1


WORDS, LINEAR = (SIFT, VocabularyTree()), LinearRegression().fit(np.eye(2), [0, 1])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (JointSparseClassifier(), "got JointSparseClassifier"),
        (make_pipeline(*WORDS), "got the steps DenseSift, VocabularyTree"),
        (make_pipeline(WORDS[1], LINEAR), "got the steps VocabularyTree, LinearRegression"),
        (make_pipeline(*WORDS, MaxAbsScaler(), LINEAR), "got the steps .*MaxAbsScaler, LinearRegression"),
        (fitted(SVDBasis(1), [0, 1]), "with coef_ and intercept_, got the steps DenseSift.*SVDBasis"),
        (fitted(SVC(kernel="linear"), [0, 1, 2]), "got SVC, which has a row for each pair of classes: use LinearSVC"),
    ],
)
def test_other_models_have_no_maps(model, message):
    with pytest.raises(ValueError, match=message):
        explain(model, PICTURES[0], 0)


# Patches and places


def test_heat_agrees_with_a_slow_version(rng):
    side, added, expected = rng.integers(1, 12, 200), rng.normal(size=200), np.zeros((30, 40))
    patches = np.stack([rng.integers(0, 31 - side), rng.integers(0, 41 - side), side], axis=1)
    for (y, x, s), part in zip(patches, added, strict=True):
        expected[y : y + s, x : x + s] += part / s**2
    np.testing.assert_allclose(heat(added, patches, 30, 40), expected, atol=1e-6)


@pytest.mark.parametrize(("height", "width"), [(30, 40), (3, 40), (1, 2)])
def test_smooth_heat_sums_to_the_parts_even_if_there_are_fewer_pixels_than_places(height, width, rng):
    added = rng.normal(size=(5, 7))
    assert smooth_heat(added, height, width).sum() == pytest.approx(added.sum(), abs=1e-5)
