"""Missing labels, names of tasks, probabilities, weights per task, and penalties per feature."""

import sys
from decimal import Decimal

import numpy as np
import pytest
from common import problem
from scipy import special
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
    compare,
    task_scores,
)
from jointsparse.norms import NORMS

X, SIGNS = problem(n=120, d=8)
Y = (SIGNS + 1) // 2
TARGETS = X[:, :3] @ np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]) + 3.0
HIDDEN = np.random.default_rng(5).random(Y.shape) < 0.3
WITH_MISSING = np.where(HIDDEN, np.nan, Y)


# Missing labels


def assert_left_out(labels):
    """Assert that missing labels give the same model as labels that are masked or have weight 0."""
    model = JointSparseClassifier(radius=3.0).fit(X, labels)
    expected = JointSparseClassifier(radius=3.0, labels="masked").fit(X, np.where(HIDDEN, 0, SIGNS))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    correct, weights = ((model.predict(X) == Y) | HIDDEN).all(axis=1), ~HIDDEN.all(axis=1) * np.arange(120.0)
    assert model.score(X, labels, np.arange(120.0)) == pytest.approx(np.average(correct, weights=weights))


def test_samples_with_a_missing_label_are_left_out_of_the_task():
    assert_left_out(WITH_MISSING)


@pytest.mark.parametrize("labels", ["classes", "01"])
def test_missing_entries_of_a_vector_are_left_out(labels):
    y = WITH_MISSING[:, 0]
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
    model = JointSparseRegressor(radius=4.0, tol=1e-8).fit(X, T)
    apart = JointSparseRegressor(radius=4.0, tol=1e-8).fit_tasks(
        [(X[~HIDDEN[:, k]], TARGETS[~HIDDEN[:, k], k]) for k in range(3)]
    )
    np.testing.assert_allclose(model.coef_, apart.coef_, atol=1e-6)
    assert model.score(X, T) > 0.9
    T[1:, 1] = np.nan
    assert model.score(X, T) == pytest.approx(
        np.mean([model.score(X, np.where(np.eye(3)[k], T, np.nan)) for k in (0, 2)])
    )
    with pytest.raises(ValueError, match=r"^y must hold at least two known values of some target"):
        model.score(X[:1], TARGETS[:1])


def test_tasks_with_samples_of_their_own_are_scored_and_calibrated_by_their_classes():
    words = np.where(Y > 0, "yes", "no")
    model = JointSparseClassifier().fit_tasks([(X, words[:, k]) for k in range(3)])
    expected = JointSparseClassifier().fit(X, Y)
    assert model.score(X, words) == expected.score(X, Y)
    some_missing = np.where(HIDDEN, None, words)
    assert model.score(X, some_missing) == expected.score(X, WITH_MISSING)
    calibrated = model.calibrate(X, some_missing).calibration_
    np.testing.assert_allclose(calibrated, expected.calibrate(X, WITH_MISSING).calibration_, rtol=1e-6)
    with pytest.raises(ValueError, match=r"^y must hold the classes \['no', 'yes'\], got \['maybe'\]"):
        model.score(X, np.where(Y > 0, "yes", "maybe"))


# Types of labels

LARGE = 2**53  # above this number float64 cannot represent all integers
IDS, THIRDS = [LARGE, LARGE + 1, LARGE + 2], np.digitize(X[:, 0], [-0.5, 0.5])


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([True, None, False] * 40), [False, True]),
        (np.array([1, None, 2.5 - 0.5] * 40), [1.0, 2.0]),
        ([5, float("nan"), LARGE + 1] * 40, [5, LARGE + 1]),
        (np.array([2**64 - 1, None, 7] * 40), np.array([7, 2**64 - 1], dtype=np.uint64)),
    ],
    ids=["truth", "mixed", "list", "unsigned"],
)
def test_labels_of_other_types_keep_their_type_if_some_are_missing(labels, classes):
    got = JointSparseClassifier(radius=3.0).fit(X, labels).classes_
    np.testing.assert_array_equal(got, np.array(classes), strict=True)


DOORS = {
    "fit": lambda X, y: JointSparseClassifier().fit(X, y).coef_,
    "path": lambda X, y: JointSparseClassifier().path(X, y, strengths=[1.0]).coef,
    "search": lambda X, y: JointSparseClassifierCV(radii=[1.0], cv=2).fit(X, y).scores_,
    "scoring": lambda X, y: JointSparseClassifierCV(radii=[1.0], cv=2, scoring="accuracy").fit(X, y).scores_,
    "y_val": lambda X, y: JointSparseClassifierCV(radii=[1.0]).fit(X, KNOWN, X_val=X, y_val=y).scores_,
    "score": lambda X, y: JointSparseClassifier().fit(X, KNOWN).score(X, y),
    "task_scores": lambda X, y: task_scores(JointSparseClassifier().fit(X, KNOWN), X, y).auc,
    "compare": lambda X, y: compare(*(2 * [JointSparseClassifier().fit(X, KNOWN)]), X, y, n_resamples=2).auc_a,
    "online": lambda X, y: OnlineJointSparseClassifier(random_state=0).fit(X, y).coef_,
    "partial_fit": lambda X, y: OnlineJointSparseClassifier().partial_fit(X, y, classes=IDS).coef_,
}
KNOWN = np.array(IDS)[THIRDS]
MANY = LARGE + 2**20 * (np.arange(120) % 30)


def classes_of_partial_fit(X, y):
    OnlineJointSparseClassifier().partial_fit(X, KNOWN, classes=y)


@pytest.mark.parametrize("door", [*DOORS.values(), classes_of_partial_fit], ids=[*DOORS, "classes"])
def test_every_entry_point_refuses_rounded_labels(door):
    with pytest.raises(ValueError, match=r"must hold labels below 9007199254740992 if .* float64, got \[9007"):
        door(X, np.where(HIDDEN[:, 0], np.nan, KNOWN))


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["1", 1], r"^y must hold labels of a single type, text or numbers, got \[1\], which an array of dtype <U"),
        (["a", True], r"^y must hold labels of a single type, text or numbers, got \[True\]"),
        (["a\0", "a"], r"^y must hold labels of a single type, text or numbers, got \['a\\x00'\]"),
        (
            [-1, 2**63 + 1],
            r"^y must hold labels of a single type, .* got \[9223372036854775809\], which an array of dtype float64",
        ),
        (
            [LARGE + 1, 0.0],
            r"^y must hold labels of a single type, .* got \[9007199254740993\], which an array of dtype float64",
        ),
        (
            [2**64, 1],
            r"^y must hold labels that are text, integers of at most 64 bits, .* such as \[18446744073709",
        ),
        ([Decimal(1), Decimal(2)], r"^y must hold labels that are text, .* got objects such as \[Decimal\('1'\)\]"),
        (np.float32([2**24, 1]), r"^y must hold labels below 16777216 if their dtype is float32, got \[16777216.0\]"),
    ],
    ids=["text", "truth", "nul", "signs", "fraction", "long", "decimal", "float32"],
)
def test_labels_that_an_array_cannot_hold_exactly_raise(labels, said):
    with pytest.raises(ValueError, match=said):
        JointSparseClassifier().fit(X, [*labels, *labels] * 30 if isinstance(labels, list) else np.tile(labels, 60))


@pytest.mark.parametrize(
    ("other", "got"),
    [
        (MANY.astype(str), "'90071[0-9]*'"),
        (MANY.astype(np.uint64) + np.eye(120, dtype=np.uint64)[0], "9007199254740993"),
    ],
    ids=["text", "unsigned"],
)
def test_labels_of_another_type_do_not_match_a_class_by_rounding_or_as_text(other, got):
    with pytest.raises(ValueError, match=rf"^Y must hold the classes \[9007.*\], got \[{got}\]"):
        task_scores(JointSparseClassifier().fit(X, MANY), X, other)


# Tasks without any known label


UNKNOWN = np.where([False, True, False], np.nan, Y)
KINDS = {
    "classifier": JointSparseClassifier(),
    "search": JointSparseClassifierCV(radii=[3.0], cv=2),
    "online": OnlineJointSparseClassifier(random_state=0),
    "regressor": JointSparseRegressor(),
    "search-of-regressor": JointSparseRegressorCV(radii=[3.0], cv=2),
}


@pytest.mark.parametrize("learner", KINDS.values(), ids=KINDS)
def test_tasks_without_known_labels_are_named_once(learner):
    said = "^1 of 3 tasks have no known label or target of positive weight, .* stay 0 .*: (label|target) 1$"
    with pytest.warns(UserWarning, match=said) as warned:
        model = clone(learner).fit(X, UNKNOWN)
    assert len(warned) == 1 and warned[0].filename == __file__
    assert not model.coef_[1].any() and not model.intercept_[1] and model.coef_[2].any()


@pytest.mark.parametrize(
    "call",
    [
        lambda: JointSparseClassifier(labels="masked").fit(X, np.where([True, False, True], SIGNS, 0)),
        lambda: JointSparseClassifier().fit(X, Y, np.tile([1.0, 0.0, 1.0], (120, 1))),
        lambda: JointSparseClassifier().path(X, UNKNOWN, strengths=[1.0]),
        lambda: JointSparseClassifier(labels="masked").fit_tasks([(X, SIGNS[:, k] * (k != 1)) for k in range(3)]),
        lambda: JointSparseClassifierCV(radii=[3.0]).fit(X, UNKNOWN, X_val=X, y_val=Y),
    ],
    ids=["masked", "weights", "path", "fit_tasks", "X_val"],
)
def test_tasks_without_samples_are_named_once_whatever_leaves_them_out(call):
    with pytest.warns(UserWarning, match="^1 of 3 tasks have no known label .* stay 0 .*: (label|task) 1$") as warned:
        call()
    assert len(warned) == 1


def test_a_single_step_does_not_warn_of_tasks_without_samples():
    assert not OnlineJointSparseClassifier().partial_fit(X[:5], UNKNOWN[:5]).coef_[1].any()


def test_a_task_of_its_own_samples_without_known_labels_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^y of task dog must hold at least one known value, got only missing values"):
        JointSparseClassifier().fit_tasks({"cat": (X, Y[:, 0]), "dog": (X, np.full(120, np.nan))})


# Names


def test_pandas_is_only_needed_for_data_frames(monkeypatch):
    model = JointSparseClassifier(radius=1.0).fit(X, Y)
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    assert model.predict_proba(X).shape == (120, 3) and "pandas" not in sys.modules


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
    assert str(refused.value.__cause__).startswith("probabilities need loss='logistic' or a call of calibrate(X, y)")
    P = model.calibrate(X[60:], Y[60:]).predict_proba(X[60:])
    for k in range(3):  # scikit-learn calibrates one task at a time
        one = JointSparseClassifier(loss="hinge", radius=3.0).fit(X[:60], Y[:60, k])
        one.coef_, one.intercept_ = model.coef_[[k]], model.intercept_[[k]]
        peer = CalibratedClassifierCV(FrozenEstimator(one), ensemble=False).fit(X[60:], Y[60:, k])
        np.testing.assert_allclose(P[:, k], peer.predict_proba(X[60:])[:, 1], atol=1e-3)
    assert not hasattr(model.fit(X, Y), "calibration_")  # a new fit removes the old calibration
    with pytest.raises(ValueError, match=r"^label 1 must have a positive and a negative"):
        model.calibrate(X, np.where([False, True, False], 1, Y))


def test_a_calibration_has_no_negative_slope():
    model = JointSparseClassifier(radius=3.0).fit(X, Y)
    model.calibrate(X, 1 - Y)
    assert (model.calibration_[:, 0] == 0).all()
    n = (1 - Y).sum(axis=0)
    targets = (n * (n + 1) / (n + 2) + (len(Y) - n) / (len(Y) - n + 2)) / len(Y)  # Platt's, on average
    np.testing.assert_allclose(model.predict_proba(X), np.broadcast_to(targets, Y.shape))


# Weights, groups, signs


@pytest.mark.parametrize("norm", [name for name, norm in NORMS.items() if norm.GROUPED])
def test_groups_of_one_feature_change_nothing_and_a_group_is_selected_as_a_whole(norm):
    options = {"norm": norm, "radius": 2.0, "tol": 1e-8}
    plain, alone = (JointSparseClassifier(groups=groups, **options).fit(X, Y) for groups in (None, list("hgfedcba")))
    np.testing.assert_allclose(plain.coef_, alone.coef_, atol=1e-4)
    pairs = JointSparseClassifier(groups=np.repeat(["a", "b", "c", "d"], 2), **options).fit(X, Y)
    used = (pairs.coef_ != 0).any(axis=0).reshape(4, 2)
    np.testing.assert_array_equal(used[:, 0], used[:, 1])
    assert 0 < used.sum() < 8


def test_weights_are_non_negative_if_positive():
    smallest = [
        JointSparseClassifier(penalty=3.0, positive=positive).fit(X, Y).coef_.min() for positive in (True, False)
    ]
    assert smallest[0] == 0 > smallest[1]


def test_weighting_a_feature_by_w_equals_dividing_it_by_w():
    """W x = (w W) (x / w), and the norm with weights counts w |W|."""
    weights = np.linspace(0.5, 4.0, 8)
    model = JointSparseClassifier(radius=2.0, feature_weights=weights, tol=1e-8).fit(X, Y)
    expected = JointSparseClassifier(radius=2.0, tol=1e-8).fit(X / weights, Y)
    np.testing.assert_allclose(model.coef_ * weights, expected.coef_, atol=1e-4)
    np.testing.assert_allclose(
        JointSparseClassifier(feature_weights=weights).fit(X, Y).radius_,
        JointSparseClassifier().fit(X / weights, Y).radius_,
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"norm": "l2", "feature_weights": np.ones(8)}, "^feature_weights must be None with norm='l2'"),
        ({"norm": "l1", "groups": np.arange(8)}, "^groups must be None with norm='l1'"),
        ({"feature_weights": np.zeros(8)}, r"^feature_weights must hold a positive number .* 8 features, got \[0\.\]"),
        (
            {"feature_weights": np.ones(7)},
            r"^feature_weights must hold a positive number .* 8 features, got shape \(7,\)",
        ),
        ({"feature_weights": {"x0": 2.0}}, "^feature_weights must hold real numbers, got"),
        (
            {"groups": [0] * 8, "feature_weights": np.ones(8)},
            "for each of 1 groups, in the order of their sorted names",
        ),
        ({"groups": [0] * 7}, r"^groups must name a group for each of 8 features, got shape \(7,\)"),
        ({"groups": [0.0, np.nan] * 4}, r"^groups must have no missing names, got \[0.0, nan"),
        ({"groups": ["a", None] * 4}, r"^groups must hold names that are all of the same type, got \['a', None"),
    ],
)
def test_wrong_penalties_are_named(options, said):
    with pytest.raises(ValueError, match=said):
        JointSparseClassifier(**options).fit(X, Y)
