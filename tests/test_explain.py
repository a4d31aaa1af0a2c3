"""Heat maps of a picture: they sum to the decision value of a task, and show where the object of that name is."""

import numpy as np
import pytest
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

pytest.importorskip("PIL")

HALVES = slice(0, 20), slice(28, 48)  # columns in which a picture may have a ramp and stripes, respectively
FIRST = DenseSift((8, 12), step=4), VocabularyTree(4, 2, random_state=0)


@pytest.fixture(scope="module")
def drawn():
    """Grey pictures with a ramp, stripes, both or neither, and labels (n, 2) that say what they have."""
    rng = np.random.default_rng(0)
    labels = rng.random((80, 2)) < 0.4
    pictures = rng.uniform(0.4, 0.6, (80, 32, 48))
    pictures[labels[:, 0], :, :24] = np.linspace(0, 1, 24)
    pictures[labels[:, 1], :, 24:] = np.arange(32)[:, np.newaxis] // 2 % 2
    return list(pictures), labels.astype(int)


KINDS = {  # which labels an estimator learns: those of both tasks, of one task, or three classes
    "tasks": (JointSparseClassifier(radius=5.0), JointSparseClassifierCV(radii=[5.0], cv=2), RidgeClassifier()),
    "numbers": (JointSparseRegressor(radius=5.0), LinearRegression()),
    "one": (
        JointSparseClassifier(radius=5.0),
        LogisticRegression(),
        SVC(kernel="linear"),
        JointSparseRegressor(radius=5.0),
    ),
    "classes": (JointSparseClassifier(radius=5.0), OnlineJointSparseClassifier(radius=5.0), LogisticRegression()),
}
CASES = [(kind, last) for kind, estimators in KINDS.items() for last in estimators]


@pytest.mark.parametrize(
    "steps",
    [(), (SVDBasis(5, random_state=0),), (StandardScaler(with_mean=False),), (SVDBasis(5), StandardScaler())],
    ids=["words", "basis", "scaled", "both"],
)
@pytest.mark.parametrize(("kind", "last"), CASES, ids=[f"{kind}-{type(last).__name__}" for kind, last in CASES])
def test_a_map_and_the_intercept_sum_to_the_decision(drawn, kind, last, steps):
    pictures, labels = drawn
    y = {"tasks": labels, "numbers": labels, "one": labels[:, 0], "classes": labels.sum(axis=1)}[kind]
    model = make_pipeline(*FIRST, *steps, last).fit(pictures, y)
    decisions = getattr(model, "decision_function", model.predict)(pictures[:3]).reshape(3, -1)
    intercepts, tol = np.atleast_1d(model[-1].intercept_), 1e-5 * float(abs(decisions).max()) + 1e-5
    names = {"one": [1] if hasattr(last, "classes_") else [0], "classes": [0, 1, 2]}.get(kind, [0, 1])
    for picture, row in zip(pictures, decisions, strict=False):
        for task, decision, intercept in zip(names, row, intercepts, strict=True):
            heat = explain(model, picture, task)
            assert heat.shape == picture.shape
            assert heat.sum(dtype=float) + intercept == pytest.approx(decision, abs=tol)


def test_a_map_shows_where_the_object_is(drawn):
    pd = pytest.importorskip("pandas")
    pictures, labels = drawn
    model = make_pipeline(*FIRST, JointSparseClassifier(radius=5.0))
    model.fit(pictures, pd.DataFrame(labels, columns=["ramp", "stripes"]))
    for i in np.flatnonzero(labels.all(axis=1))[:4]:
        for word, half in zip(("ramp", "stripes"), HALVES, strict=True):
            heat = explain(model, pictures[i], word)
            assert heat[:, half].mean() > heat.mean()


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
def test_a_task_is_a_class_or_else_an_index(drawn, classes, task, expected):
    places = np.minimum(drawn[1].sum(axis=1), len(classes) - 1)
    model = make_pipeline(*FIRST, LogisticRegression()).fit(drawn[0], np.array(classes)[places])
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            explain(model, drawn[0][0], task)
    else:
        got, again = (
            explain(model, drawn[0][0], task),
            explain(model, drawn[0][0], classes[-len(model[-1].coef_) :][expected]),
        )
        np.testing.assert_array_equal(got, again)


def test_tasks_of_a_regressor_have_the_names_of_their_columns(drawn):
    pd = pytest.importorskip("pandas")
    model = make_pipeline(*FIRST, JointSparseRegressor(radius=5.0))
    model.fit(drawn[0], pd.DataFrame(drawn[1], columns=["ramp", "stripes"]))
    got, expected = (explain(model, drawn[0][0], task) for task in ("stripes", 1))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (JointSparseClassifier(), "got JointSparseClassifier"),
        (make_pipeline(*FIRST), "got the steps DenseSift, VocabularyTree"),
        (make_pipeline(FIRST[1], JointSparseClassifier()), "got the steps VocabularyTree, JointSparseClassifier"),
        (make_pipeline(*FIRST, MaxAbsScaler(), LinearRegression()), "got the steps .*MaxAbsScaler, LinearRegression"),
        (make_pipeline(*FIRST, SVDBasis(5)), "with coef_ and intercept_, got the steps DenseSift.*SVDBasis"),
    ],
)
def test_other_models_have_no_maps(drawn, model, message):
    pictures, labels = drawn
    if hasattr(model, "steps"):
        model.fit(FIRST[0].transform(pictures) if model[0] is FIRST[1] else pictures, labels)
    with pytest.raises(ValueError, match=f"model must be a fitted Pipeline of Embedding, or of .*{message}"):
        explain(model, pictures[0], 0)


def test_a_model_with_a_row_of_weights_for_each_pair_of_classes_has_no_maps(drawn):
    pictures, labels = drawn
    model = make_pipeline(*FIRST, SVC(kernel="linear")).fit(pictures, labels.sum(axis=1))
    with pytest.raises(ValueError, match="got SVC, which has a row for each pair of classes: use LinearSVC"):
        explain(model, pictures[0], 0)
