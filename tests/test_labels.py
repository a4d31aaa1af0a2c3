"""Missing labels, names of tasks, probabilities, weights per task, and penalties per feature."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, special
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import roc_auc_score
from test_estimators import problem

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
)
from jointsparse.learning.losses import LOSSES
from jointsparse.norms import NORMS

X, SIGNS = problem(n=120, d=8)
Y = (SIGNS + 1) // 2
TARGETS = X[:, :3] @ np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]) + 3.0
HIDDEN = np.random.default_rng(5).random(Y.shape) < 0.3
NAMES = ["cat", "dog", "sea"]


def with_missing(how):
    if how == "float":
        return np.where(HIDDEN, np.nan, Y)
    frame = pd.DataFrame(Y, columns=NAMES)
    if how == "object":
        return frame.astype(object).mask(HIDDEN, None)
    return frame.astype("boolean" if how == "boolean" else "Int64").mask(HIDDEN, pd.NA)


# Missing labels


@pytest.mark.parametrize("how", ["float", "object", "Int64", "boolean"])
def test_a_missing_label_is_no_part_of_its_task(how):
    model = JointSparseClassifier(radius=3.0).fit(X, with_missing(how))
    expected = JointSparseClassifier(radius=3.0, labels="masked").fit(X, np.where(HIDDEN, 0, SIGNS))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    correct = ((model.predict(X) == Y) | HIDDEN).all(axis=1)
    assert model.score(X, with_missing(how)) == correct[~HIDDEN.all(axis=1)].mean()


def test_scores_with_and_without_missing_labels_mean_the_same():
    model = JointSparseClassifier(radius=3.0).fit(X, Y)
    one_missing, weights = Y.astype(float), np.arange(120.0)
    one_missing[0, 1] = np.nan
    expected = model.score(X[1:], Y[1:], weights[1:])
    assert model.score(X, one_missing, weights) == pytest.approx(expected)


def test_scores_refuse_labels_of_another_shape():
    for model, T in (
        (JointSparseClassifier().fit(X, Y), Y),
        (JointSparseClassifier(labels="01").fit(X, Y), Y),
        (JointSparseRegressor().fit(X, TARGETS), TARGETS),
    ):
        some_missing = np.where(np.arange(3) + np.arange(120)[:, np.newaxis] == 0, np.nan, T)
        for wrong in (some_missing.T, some_missing[:, :2], some_missing[:9]):
            with pytest.raises(ValueError, match=r"^y must have one row per sample and one column per task"):
                model.score(X, wrong)
    with pytest.raises(ValueError, match=r"^y must have one row per sample and .* got shape \(120, 1\)"):
        JointSparseClassifier(loss="hinge").fit(X, Y).calibrate(X, Y[:, 0])


@pytest.mark.parametrize("labels", ["classes", "01"])
def test_missing_entries_of_a_vector_are_left_out(labels):
    y = with_missing("float")[:, 0]
    model = JointSparseClassifier(radius=3.0, labels=labels).fit(X, y)
    there = ~HIDDEN[:, 0]
    expected = JointSparseClassifier(radius=3.0, labels=labels).fit(X[there], y[there])
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    assert model.score(X, y) == pytest.approx(expected.score(X[there], y[there]))
    words = np.where(HIDDEN[:, 0], None, np.where(Y[:, 0] > 0, "yes", "no"))
    assert JointSparseClassifier(radius=3.0).fit(X, words).classes_.tolist() == ["no", "yes"]


def test_missing_targets_are_left_out_of_fit_and_score():
    T = np.where(HIDDEN, np.nan, TARGETS)
    model = JointSparseRegressor(radius=4.0, tol=1e-8).fit(X, pd.DataFrame(T, columns=NAMES))
    tasks = {name: (X[~HIDDEN[:, k]], TARGETS[~HIDDEN[:, k], k]) for k, name in enumerate(NAMES)}
    apart = JointSparseRegressor(radius=4.0, tol=1e-8).fit_tasks(tasks)
    np.testing.assert_allclose(model.coef_, apart.coef_, atol=1e-6)
    assert model.score(X, T) > 0.9
    assert apart.predict(X).columns.tolist() == NAMES


def test_choice_and_online_steps_take_missing_labels_too():
    model = JointSparseClassifierCV(radii=[1.0, 3.0], cv=3).fit(X, with_missing("float"))
    assert model.best_score_ > 0.8
    by_signs = OnlineJointSparseClassifier(labels="masked", random_state=0).fit(X, np.where(HIDDEN, 0, SIGNS))
    online = OnlineJointSparseClassifier(random_state=0).fit(X, with_missing("Int64"))
    np.testing.assert_array_equal(online.coef_, by_signs.coef_)
    assert online.classes_.tolist() == NAMES


def test_tasks_with_samples_of_their_own_are_scored_and_calibrated_by_their_classes():
    words = np.where(Y > 0, "yes", "no")
    model = JointSparseClassifier().fit_tasks([(X, words[:, k]) for k in range(3)])
    expected = JointSparseClassifier().fit(X, Y)
    assert model.score(X, words) == expected.score(X, Y)
    some_missing = np.where(HIDDEN, None, words)
    assert model.score(X, some_missing) == expected.score(X, with_missing("float"))
    calibrated = model.calibrate(X, some_missing).calibration_
    np.testing.assert_allclose(calibrated, expected.calibrate(X, with_missing("float")).calibration_, rtol=1e-6)
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
    assert model.classes_.tolist() == [0, 1, 2] and isinstance(model.predict(X), np.ndarray)
    assert model.coef_frame().columns.tolist() == [0, 1, 2]
    classes = JointSparseClassifier(radius=1.0).fit(X, np.array(["u", "v", "w"])[np.digitize(X[:, 0], [-0.5, 0.5])])
    assert classes.coef_frame().columns.tolist() == ["u", "v", "w"]
    assert JointSparseClassifier().fit(X, Y[:, 0]).coef_frame().columns.tolist() == [0]
    np.testing.assert_array_equal(model.transform(sparse.csr_matrix(X)).toarray(), X[:, model.selected_features_])
    np.testing.assert_array_equal(model.get_support(indices=True), model.selected_features_)


def test_a_frame_needs_pandas_only_where_one_comes(monkeypatch):
    model = JointSparseClassifier(radius=1.0).fit(X, Y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert model.predict_proba(X).shape == (120, 3)


def test_tasks_in_another_order_are_refused():
    frame = pd.DataFrame(Y, columns=NAMES)
    other = frame[["dog", "cat", "sea"]]
    model = JointSparseClassifier().fit(X, frame)
    online = OnlineJointSparseClassifier().partial_fit(X, frame)
    targets = pd.DataFrame(TARGETS, columns=NAMES)
    calls = (
        lambda: model.score(X, other),
        lambda: model.calibrate(X, other),
        lambda: online.partial_fit(X, other),
        lambda: JointSparseRegressor().fit(X, targets).score(X, targets[other.columns]),
        lambda: JointSparseClassifierCV(radii=[1.0]).fit(X, frame, X_val=X, y_val=other),
        lambda: JointSparseRegressorCV(radii=[1.0]).fit(X, targets, X_val=X, y_val=targets[other.columns]),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"must have the columns \['cat', .* in this order, got \['dog'"):
            call()
    assert model.score(X, frame) == model.score(X, Y)  # without names the order is the user's


def test_classes_that_fit_has_not_seen_are_refused():
    y, other = np.where(Y[:, 0], "yes", "no"), np.where(Y[:, 0], "Yes", "no")
    with pytest.raises(ValueError, match=r"^y must hold the classes \['no', 'yes'\], got 'Yes'"):
        JointSparseClassifier().fit(X, y).calibrate(X, other)
    with pytest.raises(ValueError, match=r"^y_val must hold the classes \['no', 'yes'\], got 'Yes'"):
        JointSparseClassifierCV(radii=[1.0]).fit(X, y, X_val=X, y_val=other)


# Probabilities


def test_probabilities_are_logistic_functions_of_decisions():
    one = JointSparseClassifier(radius=3.0).fit(X, Y[:, 0])
    P = one.predict_proba(X)
    np.testing.assert_allclose(P[:, 1], special.expit(one.decision_function(X)))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    several = JointSparseClassifier(radius=3.0).fit(X, Y)
    np.testing.assert_allclose(several.predict_proba(X), special.expit(several.decision_function(X)))
    np.testing.assert_allclose(np.exp(several.predict_log_proba(X)), several.predict_proba(X))
    classes = JointSparseClassifier(radius=3.0).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    np.testing.assert_allclose(classes.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(classes.predict_proba(X).argmax(axis=1), classes.predict(X))


def test_logarithms_of_probabilities_are_finite_far_out():
    far = 1e4 * X
    for y in (Y, Y[:, 0], np.digitize(X[:, 0], [-0.5, 0.5])):
        model = JointSparseClassifier(radius=3.0).fit(X, y)
        assert np.isfinite(model.predict_log_proba(far)).all()
        np.testing.assert_allclose(np.exp(model.predict_log_proba(far)), model.predict_proba(far), atol=1e-15)
    model.intercept_ -= 1e6  # no class holds
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_hinge_has_probabilities_after_calibration_only():
    model = JointSparseClassifier(loss="hinge", radius=3.0).fit(X[:60], Y[:60])
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as refused:
        model.predict_proba(X)
    assert str(refused.value.__cause__).startswith("probabilities need loss='logistic', or calibrate(X, y)")
    P = model.calibrate(X[60:], Y[60:]).predict_proba(X[60:])
    for k in range(3):  # scikit-learn's, task by task
        one = JointSparseClassifier(loss="hinge", radius=3.0).fit(X[:60], Y[:60, k])
        one.coef_, one.intercept_ = model.coef_[[k]], model.intercept_[[k]]
        from sklearn.frozen import FrozenEstimator

        peer = CalibratedClassifierCV(FrozenEstimator(one), ensemble=False).fit(X[60:], Y[60:, k])
        np.testing.assert_allclose(P[:, k], peer.predict_proba(X[60:])[:, 1], atol=1e-3)
    assert roc_auc_score(Y[60:], P, average="macro") > 0.8
    assert not hasattr(model.fit(X, Y), "calibration_")  # of another fit
    with pytest.raises(ValueError, match=r"^task 1 must have a positive and a negative"):
        model.calibrate(X, np.where([False, True, False], 1, Y))


# Weights, groups, signs


def test_a_weight_per_sample_and_task_is_the_sample_as_often_in_the_task():
    counts = np.random.default_rng(2).integers(0, 3, Y.shape)
    for estimator, T in ((JointSparseClassifier(radius=2.0, tol=1e-9), Y), (JointSparseRegressor(3.0), TARGETS)):
        model = clone(estimator).set_params(radius=2.0, norm="l1inf", tol=1e-9).fit(X, T, counts)
        repeated = [(X.repeat(counts[:, k], axis=0), T[:, k].repeat(counts[:, k])) for k in range(3)]
        expected = clone(estimator).set_params(radius=2.0, norm="l1inf", tol=1e-9).fit_tasks(repeated)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-4)
    with pytest.raises(ValueError, match=r"^sample_weight must have a number per sample, or one per sample and task, "):
        JointSparseClassifier().fit(X, Y, counts[:, :2])


@pytest.mark.parametrize("norm", [name for name, norm in NORMS.items() if norm.GROUPED])
def test_groups_of_one_are_no_groups_and_groups_go_together(norm):
    options = {"norm": norm, "radius": 2.0, "tol": 1e-8}
    plain, alone = (JointSparseClassifier(groups=groups, **options).fit(X, Y) for groups in (None, list("hgfedcba")))
    np.testing.assert_allclose(plain.coef_, alone.coef_, atol=1e-4)
    pairs = JointSparseClassifier(groups=np.repeat(["a", "b", "c", "d"], 2), **options).fit(X, Y)
    used = (pairs.coef_ != 0).any(axis=0).reshape(4, 2)
    np.testing.assert_array_equal(used[:, 0], used[:, 1])
    assert 0 < used.sum() < 8


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


@pytest.mark.parametrize("loss", LOSSES)
def test_positive_solutions_satisfy_their_optimality_conditions(loss):
    """With penalty p and V = -gradient: max(V, 0) has the dual norm p at most, and <V, W> = p ||W||."""
    p = 3.0
    model = JointSparseClassifier(penalty=p, loss=loss, positive=True, fit_intercept=False, tol=1e-10)
    W = model.fit(X, Y).coef_.T
    assert (W >= 0).all() and W.any()
    assert JointSparseClassifier(penalty=p, loss=loss, fit_intercept=False).fit(X, Y).coef_.min() < 0
    if loss == "hinge":
        return  # whose gradient is not unique
    V = -X.T @ LOSSES[loss].subgradient(X @ W, SIGNS.astype(float), np.ones(Y.shape))
    norm = NORMS["l1inf"]
    assert norm.dual_norm(np.maximum(V, 0)) <= p * (1 + 1e-4)
    assert np.sum(V * W) == pytest.approx(p * norm.norm(W), rel=1e-4)


def test_a_series_of_feature_weights_goes_by_name():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] + X["c"] > 0).astype(int)
    weights = pd.Series([9.0, 1.0, 1.0], index=list("cab"))

    def radius(**options):
        return JointSparseClassifier(**options).fit(X, y).radius_

    assert radius(feature_weights=weights) == radius(feature_weights=[1.0, 1.0, 9.0])
    assert radius(feature_weights=weights.set_axis([7, 8, 9])) == radius(feature_weights=[9.0, 1.0, 1.0])
    of_group = pd.Series([9.0, 1.0], index=["two", "one"])
    assert radius(groups=["one", "two", "two"], feature_weights=of_group) == radius(
        groups=["one", "two", "two"], feature_weights=[1.0, 9.0]
    )


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
