"""pandas and pyarrow input: names of tasks and features, dtypes of labels, and missing labels."""

import numpy as np
import pytest
from common import problem
from scipy import sparse
from test_estimators import ALL, QUICK, SINGLE
from test_labels import DOORS, HIDDEN, IDS, KNOWN, TARGETS, THIRDS, X, Y, assert_left_out

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
WITH_MISSING = {
    "object": FRAME.astype(object).mask(HIDDEN, None),
    **{dtype: FRAME.astype(dtype).mask(HIDDEN, pd.NA) for dtype in ("Int64", "boolean")},
}


# Missing labels


@pytest.mark.parametrize("labels", WITH_MISSING.values(), ids=WITH_MISSING)
def test_samples_with_a_missing_label_are_left_out_of_the_task(labels):
    assert_left_out(labels)


def test_missing_targets_of_a_frame_count_like_those_of_an_array():
    targets = np.where(HIDDEN, np.nan, TARGETS), FRAME_OF_TARGETS.mask(HIDDEN, np.nan)
    np.testing.assert_array_equal(*(JointSparseRegressor(radius=4.0).fit(X, y).coef_ for y in targets))


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
    "arrow": lambda y: pa.array(y.astype(object).where(y.notna(), None).tolist()),
    "index": pd.Index,
}


def of_type(kind, classes=None, missing=False):
    """Return labels of this dtype as a Series, and their classes."""
    classes = BY_TYPE[kind] if classes is None else classes
    y = pd.Series([classes[k] for k in np.minimum(THIRDS, len(classes) - 1)], dtype=kind)
    return (y.mask(HIDDEN[:, 0]) if missing else y), classes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", BY_TYPE, ids=str)
def test_classes_are_the_labels_whether_or_not_some_are_missing(kind, form):
    for missing in (False, True):
        y, classes = of_type(kind, missing=missing)
        model = JointSparseClassifier(radius=3.0).fit(X, FORMS[form](y))
        np.testing.assert_array_equal(model.classes_, np.array(classes), strict=True)
        assert set(model.predict(X)) == set(classes)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.Series([True, None, False] * 40, dtype="category"), [False, True]),
        (pd.Series(pd.to_datetime(["2001-01-01", None, "2002-01-01"] * 40)), np.array(["2001", "2002"], "M8[us]")),
    ],
    ids=["categories", "dates"],
)
def test_labels_of_other_types_keep_their_type_if_some_are_missing(labels, classes):
    got = JointSparseClassifier(radius=3.0).fit(X, labels).classes_
    np.testing.assert_array_equal(got, np.array(classes), strict=True)


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]"])
@pytest.mark.parametrize("door", DOORS)
def test_every_entry_point_reads_large_labels_exactly(door, kind):
    np.testing.assert_array_equal(DOORS[door](X, of_type(kind, IDS)[0]), DOORS[door](X, KNOWN))


def test_tasks_with_samples_of_their_own_share_large_classes():
    two, kinds = np.array(IDS)[np.minimum(THIRDS, 1)], ("Int64", "uint64", "int64")
    model = JointSparseClassifier(radius=3.0).fit_tasks({kind: (X, pd.Series(two, dtype=kind)) for kind in kinds})
    frame = pd.DataFrame({kind: pd.Series(two, dtype=kind) for kind in kinds})
    predicted = model.predict(X)
    assert set(np.unique(predicted)) == set(IDS[:2])
    assert model.score(X, frame) == (predicted == frame).all(axis=1).mean()
    frame["Int64"] = frame["Int64"].mask(HIDDEN[:, 0])
    assert model.score(X, frame) == ((predicted == frame) | frame.isna()).all(axis=1).mean()


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([("cat", "dog"), ("sea", "sky")] * 20),
        pd.DataFrame({"tags": [["cat"], ["dog", "sea"]] * 20}),
    ],
    ids=["series", "frame"],
)
@pytest.mark.parametrize("estimator", [*ALL, OnlineJointSparseClassifier])
def test_lists_of_tags_are_refused(estimator, y):
    said = "^y must be a vector or a matrix, got a list of tags per sample: .*MultiLabelBinarizer"
    with pytest.raises(ValueError, match=said):
        QUICK.get(estimator, estimator)().fit(problem()[0], y)


# Names


def test_results_have_the_names_of_tasks_and_features():
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)], index=np.arange(120) + 1000)
    model = JointSparseClassifier(radius=1.0).fit(frame, FRAME)
    assert model.classes_.tolist() == NAMES
    for answer in (model.predict, model.decision_function, model.predict_proba, model.predict_log_proba):
        got = answer(frame.iloc[:4])
        assert got.columns.tolist() == NAMES and got.index.tolist() == [1000, 1001, 1002, 1003]
    W = model.coef_frame()
    assert W.loc["x0", "dog"] == model.coef_[1, 0] and W.shape == (8, 3)
    used = W.index[W.any(axis=1)].tolist()
    assert 0 < len(used) < 8 and model.selected_features_.tolist() == used == model.get_feature_names_out().tolist()
    assert model.set_output(transform="pandas").transform(frame).columns.tolist() == used
    own = JointSparseRegressor().fit_tasks({name: (X, TARGETS[:, k]) for k, name in enumerate(NAMES)})
    assert own.predict(X).columns.tolist() == task_scores(model, frame, FRAME).task.tolist() == NAMES


def test_tasks_and_features_without_names_are_numbered():
    model = JointSparseClassifier(radius=1.0).fit(X, Y)
    assert model.classes_.tolist() == model.coef_frame().columns.tolist() == [0, 1, 2]
    for y, columns in ((np.array(["u", "v", "w"])[THIRDS], ["u", "v", "w"]), (Y[:, 0], [0])):
        assert JointSparseClassifier(radius=1.0).fit(X, y).coef_frame().columns.tolist() == columns
    np.testing.assert_array_equal(model.transform(sparse.csr_matrix(X)).toarray(), X[:, model.selected_features_])


LABELLED, OTHER_ORDER = JointSparseClassifier(radius=2.0), FRAME[["dog", "cat", "sea"]]


@pytest.mark.parametrize(
    "call",
    [
        lambda y: LABELLED.fit(X, FRAME).score(X, y),
        lambda y: LABELLED.fit(X, FRAME).calibrate(X, y),
        lambda y: OnlineJointSparseClassifier().partial_fit(X, FRAME).partial_fit(X, y),
        lambda y: JointSparseRegressor().fit(X, FRAME_OF_TARGETS).score(X, y),
        lambda y: JointSparseClassifierCV(radii=[1.0]).fit(X, FRAME, X_val=X, y_val=y),
        lambda y: JointSparseRegressorCV(radii=[1.0]).fit(X, FRAME_OF_TARGETS, X_val=X, y_val=y),
        lambda y: task_scores(LABELLED.fit(X, FRAME), X, y),
        lambda y: compare(LABELLED.fit(X, FRAME), LABELLED, X, y),
    ],
)
def test_tasks_in_another_order_are_refused_if_they_have_names(call):
    with pytest.raises(ValueError, match=r"must have the columns .*\['cat', .* in this order, got \['dog'"):
        call(OTHER_ORDER)
    assert 0.5 < LABELLED.fit(X, FRAME).score(X, Y) < 1


# Weights and groups


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
    got, expected = (
        JointSparseClassifier(feature_weights=w, groups=g).fit(frame, Y)
        for w, g in ((weights, groups), (expected, by_place))
    )
    np.testing.assert_array_equal(got.coef_, expected.coef_)


# Attributes after a failure


def fail(*report):
    raise SystemExit


def by_tasks(model, X, Y):
    return model.fit_tasks({k: (X, Y[k]) for k in Y})


STEPS = OnlineJointSparseClassifier.fit, OnlineJointSparseClassifier.partial_fit
LEARNING = [
    *((estimator, estimator.fit, {"callback": fail}) for estimator in ALL),
    *((estimator, by_tasks, {"callback": fail}) for estimator in SINGLE),
    *((OnlineJointSparseClassifier, step, {"eta0": 1e300}) for step in STEPS),
]


@pytest.mark.parametrize("is_fitted", [False, True])
@pytest.mark.parametrize(("estimator", "learn", "failing"), LEARNING)
def test_a_fit_that_fails_leaves_no_attribute_behind(estimator, learn, failing, is_fitted):
    """Examples of attributes are the names of the features and tasks, which differ from those of the previous fit."""
    (X, Y), model = problem(), QUICK.get(estimator, estimator)()
    if is_fitted and learn is not OnlineJointSparseClassifier.partial_fit:
        model.fit(X, (Y + 1) // 2)
    before = vars(model.set_params(**failing)).copy()
    with pytest.raises((SystemExit, ValueError), match=r"the step is too large|^$"):
        learn(model, pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame((Y + 1) // 2, columns=list("rst")))
    assert vars(model) == before
