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
    T = np.where(HIDDEN, np.nan, TARGETS)
    models = [JointSparseRegressor(radius=4.0).fit(X, y) for y in (T, FRAME_OF_TARGETS.mask(HIDDEN, np.nan))]
    np.testing.assert_array_equal(*(model.coef_ for model in models))


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
    model = JointSparseClassifier(radius=1.0).fit(frame, pd.DataFrame(Y, columns=NAMES))
    assert model.classes_.tolist() == NAMES
    for answer in (model.predict, model.decision_function, model.predict_proba, model.predict_log_proba):
        got = answer(frame.iloc[:4])
        assert got.columns.tolist() == NAMES and got.index.tolist() == [1000, 1001, 1002, 1003]
    W = model.coef_frame()
    assert W.loc["x0", "dog"] == model.coef_[1, 0] and W.shape == (8, 3)
    used = W.index[W.any(axis=1)].tolist()
    assert model.selected_features_.tolist() == used == model.get_feature_names_out().tolist()
    assert model.set_output(transform="pandas").transform(frame).columns.tolist() == used
    assert 0 < len(used) < 8


def test_tasks_and_features_without_names_are_numbered():
    model = JointSparseClassifier(radius=1.0).fit(X, Y)
    assert model.classes_.tolist() == model.coef_frame().columns.tolist() == [0, 1, 2]
    three = np.array(["u", "v", "w"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    for y, columns in ((three, ["u", "v", "w"]), (Y[:, 0], [0])):
        assert JointSparseClassifier(radius=1.0).fit(X, y).coef_frame().columns.tolist() == columns
    np.testing.assert_array_equal(model.transform(sparse.csr_matrix(X)).toarray(), X[:, model.selected_features_])


def test_results_have_the_names_of_tasks_with_samples_of_their_own():
    model = JointSparseRegressor().fit_tasks({name: (X, TARGETS[:, k]) for k, name in enumerate(NAMES)})
    assert model.predict(X).columns.tolist() == NAMES


@pytest.mark.parametrize(
    "call",
    [
        lambda y: JointSparseClassifier().fit(X, FRAME).score(X, y),
        lambda y: JointSparseClassifier().fit(X, FRAME).calibrate(X, y),
        lambda y: OnlineJointSparseClassifier().partial_fit(X, FRAME).partial_fit(X, y),
        lambda y: JointSparseRegressor().fit(X, FRAME_OF_TARGETS).score(X, y),
        lambda y: JointSparseClassifierCV(radii=[1.0]).fit(X, FRAME, X_val=X, y_val=y),
        lambda y: JointSparseRegressorCV(radii=[1.0]).fit(X, FRAME_OF_TARGETS, X_val=X, y_val=y),
    ],
)
def test_tasks_in_another_order_are_refused(call):
    with pytest.raises(ValueError, match=r"must have the columns \['cat', .* in this order, got \['dog'"):
        call(FRAME[["dog", "cat", "sea"]])
    # Without names, the user is responsible for the order.
    assert 0.5 < JointSparseClassifier().fit(X, FRAME).score(X, Y) < 1


def test_scores_have_the_names_of_tasks():
    named, expected = (
        task_scores(JointSparseClassifier(radius=2.0).fit(X, labels), X, labels) for labels in (FRAME, Y)
    )
    assert named.task.tolist() == NAMES and named.auc.tolist() == expected.auc.tolist()


@pytest.mark.parametrize("call", [task_scores, lambda model, *data: compare(model, model, *data)])
def test_scores_of_tasks_in_another_order_are_refused(call):
    model = JointSparseClassifier(radius=2.0).fit(X, FRAME)
    with pytest.raises(
        ValueError, match=r"^Y must have the columns of the model, \['cat', .* order, got \['dog', 'cat'"
    ):
        call(model, X, FRAME[["dog", "cat", "sea"]])


# Weights and groups


@pytest.mark.parametrize(
    ("weights", "expected", "groups"),
    [
        (pd.Series([9.0, 1.0, 1.0], index=list("cab")), [1.0, 1.0, 9.0], None),
        (pd.Series([9.0, 1.0, 1.0], index=[7, 8, 9]), [9.0, 1.0, 1.0], None),
        (pd.Series([9.0, 1.0], index=["two", "one"]), [1.0, 9.0], ["one", "two", "two"]),
    ],
)
def test_a_series_of_feature_weights_goes_by_name(weights, expected, groups):
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    radii = [JointSparseClassifier(feature_weights=w, groups=groups).fit(frame, Y).radius_ for w in (weights, expected)]
    assert radii[0] == radii[1]


def test_a_series_of_groups_goes_by_name():
    frame, groups = (
        pd.DataFrame(X[:, :3], columns=list("abc")),
        pd.Series(["size", "colour", "colour"], index=list("cab")),
    )
    fits = [JointSparseClassifier(groups=form).fit(frame, Y) for form in (groups, ["colour", "colour", "size"])]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


# Attributes after a failure


def fail(*report):
    raise SystemExit


LEARNING = [
    *((estimator, lambda model, X, Y: model.fit(X, Y)) for estimator in ALL),
    *((estimator, lambda model, X, Y: model.fit_tasks({k: (X, Y[k]) for k in Y})) for estimator in SINGLE),
]


@pytest.mark.parametrize("is_fitted", [False, True])
@pytest.mark.parametrize(("estimator", "learn"), LEARNING)
def test_a_fit_that_fails_leaves_no_attribute_behind(estimator, learn, is_fitted):
    """Examples of attributes are the names of the features and tasks, which differ from those of the previous fit."""
    (X, Y), model = problem(), QUICK.get(estimator, estimator)()
    if is_fitted:
        model.fit(X, (Y + 1) // 2)
    before = vars(model.set_params(callback=fail)).copy()
    with pytest.raises(SystemExit):
        learn(model, pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame((Y + 1) // 2, columns=list("rst")))
    assert vars(model) == before


@pytest.mark.parametrize("learn", [OnlineJointSparseClassifier.fit, OnlineJointSparseClassifier.partial_fit])
def test_a_step_that_fails_leaves_no_attribute_behind(learn):
    (X, Y), model = problem(), OnlineJointSparseClassifier(labels="signed", eta0=1e300)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="the step is too large"):
        learn(model, pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame(Y, columns=list("rst")))
    assert vars(model) == before
