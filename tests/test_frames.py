"""pandas and pyarrow input: names of tasks and features, dtypes of labels, and missing labels."""

import sys
from functools import cache

import numpy as np
import pytest
from entry_points import CLASSES, HIDDEN, IDS, LABELS, TARGETS, THIRDS, Y
from entry_points import SAMPLES as X

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
    compare,
    task_scores,
)

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

NAMES = ["cat", "dog", "sea"]
FRAME, FRAME_OF_TARGETS = (pd.DataFrame(T, columns=NAMES) for T in (Y, TARGETS))

# Missing labels


@pytest.mark.parametrize(
    ("estimator", "array", "frame"),
    [
        *((JointSparseClassifier, Y, FRAME.astype(dtype)) for dtype in (object, "Int64", "boolean")),
        (JointSparseRegressor, TARGETS, FRAME_OF_TARGETS),
    ],
)
def test_missing_entries_of_a_frame_count_like_those_of_an_array(estimator, array, frame):
    given = np.where(HIDDEN, np.nan, array), frame.mask(HIDDEN, np.nan if estimator is JointSparseRegressor else pd.NA)
    by_array, by_frame = (estimator(radius=3.0).fit(X, y) for y in given)
    np.testing.assert_array_equal(by_frame.coef_, by_array.coef_)
    assert by_frame.score(X, given[1]) == by_array.score(X, given[0])


# Types of labels

BY_TYPE = {
    kind: classes
    for kinds, classes in (
        (("Int64", "UInt64", "int64[pyarrow]", "uint64[pyarrow]", "category", object), IDS),
        (("Int8", "int8[pyarrow]"), [-1, 0, 1]),
        (("boolean", "bool[pyarrow]"), [False, True]),
        (("Float64", "double[pyarrow]"), [0.0, 1.0, 2.0]),
        (("string", "string[pyarrow]"), ["a", "b", "c"]),
    )
    for kind in kinds
}
FORMS = {
    "series": lambda y: y,
    "array": lambda y: y.array,
    "list": lambda y: y.astype(object).tolist(),
    "NaT": lambda y: [pd.NaT if label is pd.NA else label for label in y],
    "arrow": lambda y: pa.array(y.astype(object).where(y.notna(), None).tolist()),
    "index": pd.Index,
}


@pytest.mark.parametrize(
    ("kind", "form"),
    [*((kind, "series") for kind in BY_TYPE), *(("Int64", form) for form in FORMS), ("string", "list")],
)
def test_classes_are_the_labels_whether_or_not_some_are_missing(kind, form):
    labels = pd.Series([BY_TYPE[kind][k] for k in np.minimum(THIRDS, len(BY_TYPE[kind]) - 1)], dtype=kind)
    for y in (labels, labels.mask(HIDDEN[:, 0])):
        model = JointSparseClassifier(radius=3.0).fit(X, FORMS[form](y))
        np.testing.assert_array_equal(model.classes_, np.array(BY_TYPE[kind]), strict=True)
        assert set(model.predict(X)) == set(BY_TYPE[kind])


@pytest.mark.parametrize("call", LABELS)
def test_every_entry_point_reads_large_labels_exactly(call):
    np.testing.assert_array_equal(LABELS[call](X, pd.Series(CLASSES, dtype="Int64")), LABELS[call](X, CLASSES))


def test_tasks_with_samples_of_their_own_share_large_classes():
    frame = pd.DataFrame({kind: pd.Series(np.minimum(CLASSES, IDS[1]), dtype=kind) for kind in ("uint64", "int64")})
    model = JointSparseClassifier(radius=3.0).fit_tasks({kind: (X, frame[kind]) for kind in frame})
    assert np.unique(model.predict(X)).tolist() == IDS[:2]
    assert model.score(X, frame) == (model.predict(X) == frame).all(axis=1).mean()


# Names


def test_results_have_the_names_of_tasks_and_features():
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)], index=np.arange(120) + 1000)
    model = JointSparseClassifier(radius=1.0).fit(frame, FRAME)
    for answer in (model.predict, model.decision_function, model.predict_proba, model.predict_log_proba):
        assert [axis.tolist() for axis in answer(frame.iloc[:2]).axes] == [[1000, 1001], NAMES]
    used = [f"x{i}" for i in np.flatnonzero(model.coef_.any(axis=0))]
    assert used == model.selected_features_.tolist() == model.get_feature_names_out().tolist()
    assert model.coef_frame().loc["x0", "dog"] == model.coef_[1, 0] and 0 < len(used) < 8
    own = JointSparseRegressor().fit_tasks({name: (X, TARGETS[:, k]) for k, name in enumerate(NAMES)})
    names = own.predict(X).columns, model.classes_, task_scores(model, frame, FRAME).task
    assert [list(each) for each in names] == [NAMES] * 3


@pytest.mark.parametrize(
    ("y", "columns"), [(Y, [0, 1, 2]), (Y[:, 0], [0]), (np.array([*"uvw"])[THIRDS], [*"uvw"])], ids=["0-2", "0", "uvw"]
)
def test_tasks_without_names_are_numbered_and_classes_name_their_tasks(y, columns):
    assert JointSparseClassifier(radius=1.0).fit(X, y).coef_frame().columns.tolist() == columns


labelled = cache(lambda: JointSparseClassifier(radius=2.0).fit(X, FRAME))


@pytest.mark.parametrize(
    "call",
    [
        lambda y: labelled().score(X, y),
        lambda y: labelled().calibrate(X, y),
        lambda y: OnlineJointSparseClassifier().partial_fit(X, FRAME).partial_fit(X, y),
        lambda y: JointSparseRegressor().fit(X, FRAME_OF_TARGETS).score(X, y),
        lambda y: JointSparseClassifierCV(radii=[1.0]).fit(X, FRAME, X_val=X, y_val=y),
        lambda y: JointSparseRegressorCV(radii=[1.0]).fit(X, FRAME_OF_TARGETS, X_val=X, y_val=y),
        lambda y: task_scores(labelled(), X, y),
        lambda y: compare(labelled(), labelled(), X, y),
    ],
)
def test_tasks_in_another_order_are_refused_if_they_have_names(call):
    with pytest.raises(ValueError, match=r"must have the columns .*\['cat', .* in this order, got \['dog'"):
        call(FRAME[["dog", "cat", "sea"]])
    assert labelled().score(X, Y) > 0.5  # an array has no names


@pytest.mark.parametrize(
    ("weights", "expected", "groups"),
    [
        (pd.Series([9.0, 1.0, 1.0], index=list("cab")), [1.0, 1.0, 9.0], None),
        (pd.Series([9.0, 1.0, 1.0], index=[7, 8, 9]), [9.0, 1.0, 1.0], None),
        (pd.Series([9.0, 1.0], index=["two", "one"]), [1.0, 9.0], ["one", "two", "two"]),
        (None, None, pd.Series(["two", "one", "two"], index=list("cab"))),
    ],
)
def test_a_series_of_feature_weights_or_groups_goes_by_name(weights, expected, groups):
    frame, by_place = pd.DataFrame(X[:, :3], columns=list("abc")), ["one", "two", "two"] if groups is not None else None
    got = JointSparseClassifier(feature_weights=weights, groups=groups).fit(frame, Y)
    placed = JointSparseClassifier(feature_weights=expected, groups=by_place).fit(frame, Y)
    np.testing.assert_array_equal(got.coef_, placed.coef_)


# Attributes after a failure


FAILING = {"callback": lambda *report: sys.exit("stop")}


@pytest.mark.parametrize(
    ("prepared", "learn", "failing"),
    [
        (lambda: JointSparseClassifier().fit(X, Y), JointSparseClassifier.fit, FAILING),
        (
            lambda: JointSparseRegressor().fit(X, Y),
            lambda model, X, Y: model.fit_tasks([(X, Y[k]) for k in Y]),
            FAILING,
        ),
        (lambda: JointSparseClassifierCV(radii=[1.0], cv=2).fit(X, Y), JointSparseClassifierCV.fit, FAILING),
        (lambda: OnlineJointSparseClassifier().fit(X, Y), OnlineJointSparseClassifier.fit, {"eta0": 1e300}),
        (OnlineJointSparseClassifier, OnlineJointSparseClassifier.partial_fit, {"eta0": 1e300}),
    ],
)
def test_a_fit_that_fails_late_leaves_no_attribute_behind(prepared, learn, failing):
    # Examples of attributes are the names of the features and tasks, which differ from those of the previous fit.
    model = prepared().set_params(**failing)
    before = vars(model).copy()
    with pytest.raises((SystemExit, ValueError), match=r"^stop|the step is too large"):
        learn(model, pd.DataFrame(X, columns=list("abcdefgh")), pd.DataFrame(Y, columns=list("rst")))
    assert vars(model) == before
