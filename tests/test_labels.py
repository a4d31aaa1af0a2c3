"""Missing labels, names of tasks, probabilities, weights per task, and penalties per feature."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, special
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from test_estimators import problem

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
)
from jointsparse.norms import NORMS

X, SIGNS = problem(n=120, d=8)
Y = (SIGNS + 1) // 2
TARGETS = X[:, :3] @ np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]) + 3.0
HIDDEN = np.random.default_rng(5).random(Y.shape) < 0.3
NAMES = ["cat", "dog", "sea"]


FRAME, FRAME_OF_TARGETS = (pd.DataFrame(T, columns=NAMES) for T in (Y, TARGETS))
WITH_MISSING = {
    "float": np.where(HIDDEN, np.nan, Y),
    "object": FRAME.astype(object).mask(HIDDEN, None),
    **{dtype: FRAME.astype(dtype).mask(HIDDEN, pd.NA) for dtype in ("Int64", "boolean")},
}


# Missing labels


@pytest.mark.parametrize("labels", WITH_MISSING.values(), ids=WITH_MISSING)
def test_a_missing_label_is_no_part_of_its_task(labels):
    model = JointSparseClassifier(radius=3.0).fit(X, labels)
    expected = JointSparseClassifier(radius=3.0, labels="masked").fit(X, np.where(HIDDEN, 0, SIGNS))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    correct, weights = ((model.predict(X) == Y) | HIDDEN).all(axis=1), ~HIDDEN.all(axis=1) * np.arange(120.0)
    assert model.score(X, labels, np.arange(120.0)) == pytest.approx(np.average(correct, weights=weights))


@pytest.mark.parametrize("labels", ["classes", "01"])
def test_missing_entries_of_a_vector_are_left_out(labels):
    y = WITH_MISSING["float"][:, 0]
    model = JointSparseClassifier(radius=3.0, labels=labels).fit(X, y)
    there = ~HIDDEN[:, 0]
    expected = JointSparseClassifier(radius=3.0, labels=labels).fit(X[there], y[there])
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    assert model.score(X, y) == pytest.approx(expected.score(X[there], y[there]))
    words = np.where(HIDDEN[:, 0], None, np.where(Y[:, 0] > 0, "yes", "no"))
    assert JointSparseClassifier(radius=3.0).fit(X, words).classes_.tolist() == ["no", "yes"]
    words[HIDDEN[:, 0]] = np.nan
    assert JointSparseClassifier(radius=3.0).fit(X, words.tolist()).classes_.tolist() == ["no", "yes"]


def test_missing_targets_are_left_out_of_fit_and_score():
    T = np.where(HIDDEN, np.nan, TARGETS)
    model = JointSparseRegressor(radius=4.0, tol=1e-8).fit(X, pd.DataFrame(T, columns=NAMES))
    apart = JointSparseRegressor(radius=4.0, tol=1e-8).fit_tasks(
        {name: (X[~HIDDEN[:, k]], TARGETS[~HIDDEN[:, k], k]) for k, name in enumerate(NAMES)}
    )
    np.testing.assert_allclose(model.coef_, apart.coef_, atol=1e-6)
    assert model.score(X, T) > 0.9
    T[1:, 1] = np.nan
    assert model.score(X, T) == pytest.approx(
        np.mean([model.score(X, np.where(np.eye(3)[k], T, np.nan)) for k in (0, 2)])
    )
    with pytest.raises(ValueError, match=r"^y must hold two values or more of some target"):
        model.score(X[:1], TARGETS[:1])
    assert apart.predict(X).columns.tolist() == NAMES


def test_tasks_with_samples_of_their_own_are_scored_and_calibrated_by_their_classes():
    words = np.where(Y > 0, "yes", "no")
    model = JointSparseClassifier().fit_tasks([(X, words[:, k]) for k in range(3)])
    expected = JointSparseClassifier().fit(X, Y)
    assert model.score(X, words) == expected.score(X, Y)
    some_missing = np.where(HIDDEN, None, words)
    assert model.score(X, some_missing) == expected.score(X, WITH_MISSING["float"])
    calibrated = model.calibrate(X, some_missing).calibration_
    np.testing.assert_allclose(calibrated, expected.calibrate(X, WITH_MISSING["float"]).calibration_, rtol=1e-6)
    with pytest.raises(ValueError, match=r"^y must hold the classes \['no', 'yes'\], got \['maybe'\]"):
        model.score(X, np.where(Y > 0, "yes", "maybe"))


# Names


def test_names_of_tasks_and_features_come_back():
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


def test_without_names_there_are_numbers():
    model = JointSparseClassifier(radius=1.0).fit(X, Y)
    assert model.classes_.tolist() == model.coef_frame().columns.tolist() == [0, 1, 2]
    three = np.array(["u", "v", "w"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    for y, columns in ((three, ["u", "v", "w"]), (Y[:, 0], [0])):
        assert JointSparseClassifier(radius=1.0).fit(X, y).coef_frame().columns.tolist() == columns
    np.testing.assert_array_equal(model.transform(sparse.csr_matrix(X)).toarray(), X[:, model.selected_features_])


def test_a_frame_needs_pandas_only_where_one_comes(monkeypatch):
    model = JointSparseClassifier(radius=1.0).fit(X, Y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert model.predict_proba(X).shape == (120, 3)


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
    assert 0.5 < JointSparseClassifier().fit(X, FRAME).score(X, Y) < 1  # without names the order is the user's


# Probabilities


@pytest.mark.parametrize("y", [Y, Y[:, 0], np.digitize(X[:, 0], [-0.5, 0.5])], ids=["matrix", "two", "three"])
def test_probabilities_are_logistic_functions_of_decisions(y):
    model = JointSparseClassifier(radius=3.0).fit(X, y)
    P, L, expected = model.predict_proba(X), model.predict_log_proba(1e4 * X), special.expit(model.decision_function(X))
    if y.ndim == 1:
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))
    expected = expected[:, np.newaxis] if expected.ndim == 1 else expected
    np.testing.assert_allclose(
        P[:, 1:] if P.shape[1] == 2 else P, expected / expected.sum(axis=1, keepdims=True) if y.max() == 2 else expected
    )
    assert np.isfinite(L).all()
    np.testing.assert_allclose(np.exp(L), model.predict_proba(1e4 * X), atol=1e-15)


def test_probabilities_sum_to_one_where_no_class_holds():
    model = JointSparseClassifier(radius=3.0).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    model.intercept_ -= 1e6
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_hinge_has_probabilities_after_calibration_only():
    model = JointSparseClassifier(loss="hinge", radius=3.0).fit(X[:60], Y[:60])
    with pytest.raises(AttributeError) as refused:
        model.predict_proba(X)
    assert str(refused.value.__cause__).startswith("probabilities need loss='logistic', or calibrate(X, y)")
    P = model.calibrate(X[60:], Y[60:]).predict_proba(X[60:])
    for k in range(3):  # scikit-learn's, task by task
        one = JointSparseClassifier(loss="hinge", radius=3.0).fit(X[:60], Y[:60, k])
        one.coef_, one.intercept_ = model.coef_[[k]], model.intercept_[[k]]
        peer = CalibratedClassifierCV(FrozenEstimator(one), ensemble=False).fit(X[60:], Y[60:, k])
        np.testing.assert_allclose(P[:, k], peer.predict_proba(X[60:])[:, 1], atol=1e-3)
    assert not hasattr(model.fit(X, Y), "calibration_")  # of another fit
    with pytest.raises(ValueError, match=r"^task 1 must have a positive and a negative"):
        model.calibrate(X, np.where([False, True, False], 1, Y))


# Weights, groups, signs


@pytest.mark.parametrize("norm", [name for name, norm in NORMS.items() if norm.GROUPED])
def test_groups_of_one_are_no_groups_and_groups_go_together(norm):
    options = {"norm": norm, "radius": 2.0, "tol": 1e-8}
    plain, alone = (JointSparseClassifier(groups=groups, **options).fit(X, Y) for groups in (None, list("hgfedcba")))
    np.testing.assert_allclose(plain.coef_, alone.coef_, atol=1e-4)
    pairs = JointSparseClassifier(groups=np.repeat(["a", "b", "c", "d"], 2), **options).fit(X, Y)
    used = (pairs.coef_ != 0).any(axis=0).reshape(4, 2)
    np.testing.assert_array_equal(used[:, 0], used[:, 1])
    assert 0 < used.sum() < 8


def test_positive_weights_are_at_least_zero():
    smallest = [
        JointSparseClassifier(penalty=3.0, positive=positive).fit(X, Y).coef_.min() for positive in (True, False)
    ]
    assert smallest[0] == 0 > smallest[1]


def test_a_feature_of_weight_w_is_the_feature_divided_by_w():
    """W x = (w W) (x / w), and w |W| is what the norm counts."""
    weights = np.linspace(0.5, 4.0, 8)
    model = JointSparseClassifier(radius=2.0, feature_weights=weights, tol=1e-8).fit(X, Y)
    expected = JointSparseClassifier(radius=2.0, tol=1e-8).fit(X / weights, Y)
    np.testing.assert_allclose(model.coef_ * weights, expected.coef_, atol=1e-4)
    np.testing.assert_allclose(
        JointSparseClassifier(feature_weights=weights).fit(X, Y).radius_,
        JointSparseClassifier().fit(X / weights, Y).radius_,
    )


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
    fits = [JointSparseClassifier(groups=each).fit(frame, Y) for each in (groups, ["colour", "colour", "size"])]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"norm": "l2", "feature_weights": np.ones(8)}, "^feature_weights must be None with norm='l2'"),
        ({"norm": "l1", "groups": np.arange(8)}, "^groups must be None with norm='l1'"),
        ({"feature_weights": np.zeros(8)}, r"^feature_weights must hold a number above 0 .* 8 features, got \[0\.\]"),
        ({"feature_weights": np.ones(7)}, r"^feature_weights must hold a number .* 8 features, got shape \(7,\)"),
        ({"feature_weights": {"x0": 2.0}}, "^feature_weights must hold real numbers, got"),
        (
            {"groups": [0] * 8, "feature_weights": np.ones(8)},
            "for each of 1 groups, in the order of their sorted names",
        ),
        ({"groups": [0] * 7}, r"^groups must name a group for each of 8 features, got shape \(7,\)"),
        ({"groups": ["a", None] * 4}, r"^groups must hold names of one type, got \['a', None"),
    ],
)
def test_wrong_penalties_are_named(options, said):
    with pytest.raises(ValueError, match=said):
        JointSparseClassifier(**options).fit(X, Y)
