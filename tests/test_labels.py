"""Labels: missing labels, types, names of tasks in messages, and probabilities."""

from decimal import Decimal

import numpy as np
import pytest
from entry_points import (
    CLASSES,
    CLASSES_ONLY,
    FEATURES,
    HIDDEN,
    LABELS,
    LARGE,
    NUMBERS,
    SIGNS,
    TARGETS,
    TASKS,
    THIRDS,
    Y,
    beyond,
)
from entry_points import SAMPLES as X
from scipy import special
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
    stability_selection,
    task_scores,
)

WITH_MISSING, WORDS = np.where(HIDDEN, np.nan, Y), np.where(Y > 0, "yes", "no")
MANY = LARGE + 2**20 * (np.arange(120) % 30)

# What no entry point can read


def hide_one(array):
    return np.ma.array(array, mask=np.arange(array.size).reshape(array.shape) == 3)


MASKED = "must hold a number everywhere, got a masked array: fill it$"
READ_Y = LABELS | TASKS | NUMBERS
REFUSED = {
    "masked X": (READ_Y | FEATURES, lambda X, y: (hide_one(X), y), f"^X {MASKED}"),
    "NaN in X": (READ_Y | FEATURES, lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
    "infinite X": (READ_Y | FEATURES, lambda X, y: (np.where(X > 1, np.inf, X), y), "infinity"),
    "index beyond X": (READ_Y | FEATURES, lambda X, y: (beyond(X), y), "^X must be a valid CSR matrix, got an invalid"),
    "fewer features": (FEATURES, lambda X, y: (X[:, 1:], y), "X has 7 features"),
    "masked y": (
        READ_Y | CLASSES_ONLY,
        lambda X, y: (X, hide_one(y)),
        f"^(y|Y|y_val|y of task 1|classes) {MASKED}",
    ),
    "no known y": (READ_Y, lambda X, y: (X, np.full(120, np.nan)), "must hold at least one known value, got only miss"),
    "one tag each": (READ_Y, lambda X, y: (X, [["cat"], ["dog"]] * 60), "a list of tags per sample: .*MultiLabelBinar"),
    "tags in an array": (
        READ_Y,
        lambda X, y: (X, np.array([["cat"], ["dog", "sea"]] * 60, dtype=object)),
        "a list of tags per sample",
    ),
    "short y": (READ_Y, lambda X, y: (X, y[1:]), "inconsistent numbers|have a row for each|got shape|[Ii]ndex"),
    "rounded y": (
        LABELS | TASKS | CLASSES_ONLY,
        lambda X, y: (X, np.where(HIDDEN[:, 0], np.nan, y)),
        r"must hold labels below 9007199254740992 if .* float64, got \[9007",
    ),
}


@pytest.mark.parametrize(
    ("call", "spoil", "said"),
    [
        pytest.param(call, spoil, said, id=f"{case}, {name}")
        for case, (calls, spoil, said) in REFUSED.items()
        for name, call in calls.items()
    ],
)
def test_every_entry_point_refuses_what_it_cannot_read(call, spoil, said):
    with pytest.raises(ValueError, match=said):
        call(*spoil(X, CLASSES))


# Missing labels


def test_missing_labels_count_as_correct_unless_all_labels_of_a_sample_are_missing():
    model = JointSparseClassifier(radius=3.0).fit(X, WITH_MISSING)
    correct, weights = ((model.predict(X) == Y) | HIDDEN).all(axis=1), ~HIDDEN.all(axis=1) * np.arange(120.0)
    assert model.score(X, WITH_MISSING, np.arange(120.0)) == pytest.approx(np.average(correct, weights=weights))


@pytest.mark.parametrize(("labels", "y", "missing"), [("classes", WORDS[:, 0], None), ("01", Y[:, 0], np.nan)])
def test_missing_entries_of_a_vector_are_left_out(labels, y, missing):
    there, given = ~HIDDEN[:, 0], np.where(HIDDEN[:, 0], missing, y.astype(object))
    fits = (X, given), (X[there], y[there])
    model, expected = (JointSparseClassifier(radius=3.0, labels=labels).fit(*samples) for samples in fits)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    assert model.score(X, given) == pytest.approx(expected.score(X[there], y[there]))


@pytest.mark.parametrize(
    "call",
    [
        lambda y, c: JointSparseClassifier().fit(X, WORDS[:, 0]).score(X, y, c),
        lambda y, c: JointSparseClassifier().path(X, y, strengths=[1.0], sample_weight=c).coef,
        lambda y, c: stability_selection(JointSparseClassifier(), X, y, n_pairs=1, sample_weight=c).frequencies,
    ],
)
def test_a_label_of_weight_zero_is_as_good_as_missing(call):
    expected = call(np.where(HIDDEN[:, 0], None, WORDS[:, 0]), None)
    np.testing.assert_array_equal(call(WORDS[:, 0], ~HIDDEN[:, 0]), expected)


def test_missing_targets_are_left_out_of_fit_and_score():
    T, own = np.where(HIDDEN, np.nan, TARGETS), [(X[~HIDDEN[:, k]], TARGETS[~HIDDEN[:, k], k]) for k in range(3)]
    model = JointSparseRegressor(radius=4.0, tol=1e-8).fit(X, T)
    np.testing.assert_allclose(model.coef_, JointSparseRegressor(radius=4.0, tol=1e-8).fit_tasks(own).coef_, atol=1e-6)
    T[1:, 1] = np.nan  # a score of a single target is undefined
    others = [model.score(X, np.where(np.eye(3)[k], T, np.nan)) for k in (0, 2)]
    assert model.score(X, T) == pytest.approx(np.mean(others)) and min(others) > 0.8


def test_tasks_with_samples_of_their_own_are_scored_and_calibrated_by_their_classes():
    model, expected = JointSparseClassifier().fit_tasks([(X, y) for y in WORDS.T]), JointSparseClassifier().fit(X, Y)
    some = np.where(HIDDEN, None, WORDS)
    assert model.score(X, some) == expected.score(X, WITH_MISSING)
    calibrations = model.calibrate(X, some).calibration_, expected.calibrate(X, WITH_MISSING).calibration_
    np.testing.assert_allclose(*calibrations, rtol=1e-6)


# Types of labels


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([True, None, False] * 40), [False, True]),
        (np.array([1, None, 2.0] * 40), [1.0, 2.0]),  # an int and a float
        ([5, float("nan"), LARGE + 1] * 40, [5, LARGE + 1]),
        (np.array([2**64 - 1, None, 0] * 40), np.array([0, 2**64 - 1], dtype=np.uint64)),
        (np.array(["2001-01-01", "NaT", "2002-01-01"] * 40, "M8[D]"), np.array(["2001-01-01", "2002-01-01"], "M8[D]")),
    ],
    ids=["truth", "mixed", "list", "unsigned", "dates"],
)
def test_labels_keep_their_type_if_some_are_missing(labels, classes):
    model = JointSparseClassifier(radius=3.0).fit(X, labels)
    np.testing.assert_array_equal(model.classes_, np.array(classes), strict=True)


@pytest.mark.parametrize(
    ("labels", "said"),  # labels of a fit, or a call with labels that the classes of MANY lack
    [
        (["1", 1], r"^y must hold labels of a single type, text or numbers, got \[1\], which an array of dtype <U"),
        (["a", True], r"^y must hold labels of a single type, text or numbers, got \[True\]"),
        (["a\0", "a"], r"^y must hold labels of a single type, text or numbers, got \['a\\x00'\]"),
        ([-1, 2**63 + 1], r"^y must hold labels of a single type, .* got \[9223372036854775809\], .* dtype float64"),
        ([LARGE + 1, 0.0], r"^y must hold labels of a single type, .* got \[9007199254740993\], .* dtype float64"),
        ([2**64, 1], r"^y must hold labels that are text, integers of at most 64 bits, .* such as \[18446744073709"),
        ([Decimal(1), Decimal(2)], r"^y must hold labels that are text, .* got objects such as \[Decimal\('1'\)\]"),
        (
            lambda model: task_scores(model.fit(X, MANY), X, MANY.astype(str)),
            r"^Y must hold the classes \[9007.*\], got \['90071[0-9]*'\]",
        ),
        (
            lambda model: task_scores(model.fit(X, MANY), X, MANY.astype(np.uint64) + np.eye(120, dtype=np.uint64)[0]),
            r"^Y must hold the classes \[9007.*\], got \[9007199254740993\]",
        ),
        (np.float32([2**24, 1]), r"^y must hold labels below 16777216 if their dtype is float32, got \[16777216.0\]"),
    ],
    ids=["text", "truth", "nul", "signs", "fraction", "long", "decimal", "other text", "other unsigned", "float32"],
)
def test_labels_that_an_array_cannot_hold_or_match_exactly_raise(labels, said):
    with pytest.raises(ValueError, match=said):
        labels(JointSparseClassifier()) if callable(labels) else JointSparseClassifier().fit(X, [*labels] * 60)


# Names of tasks in warnings

UNKNOWN = np.where([False, True, False], np.nan, Y)
LEFT_OUT = {  # calls in which the second of three tasks has no sample
    "classifier": lambda: JointSparseClassifier().fit(X, UNKNOWN),
    "search": lambda: JointSparseClassifierCV(radii=[3.0], cv=2).fit(X, UNKNOWN),
    "X_val": lambda: JointSparseClassifierCV(radii=[3.0]).fit(X, UNKNOWN, X_val=X, y_val=Y),
    "online": lambda: OnlineJointSparseClassifier(random_state=0).fit(X, UNKNOWN),
    "regressor": lambda: JointSparseRegressor().fit(X, UNKNOWN),
    "search of regressor": lambda: JointSparseRegressorCV(radii=[3.0], cv=2).fit(X, UNKNOWN),
    "masked": lambda: JointSparseClassifier(labels="masked").fit(X, np.where([True, False, True], SIGNS, 0)),
    "weights": lambda: JointSparseClassifier().fit(X, Y, np.tile([1.0, 0.0, 1.0], (120, 1))),
    "tasks": lambda: JointSparseClassifier(labels="masked").fit_tasks([(X, SIGNS[:, k] * (k != 1)) for k in range(3)]),
    "path": lambda: JointSparseClassifier().path(X, UNKNOWN, strengths=[1.0]),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_tasks_without_samples_are_named_once_and_have_weights_of_zero(case):
    said = "^1 of 3 tasks have no known label or target of positive weight, .* stay 0 .*: (label|target|task) 1$"
    with pytest.warns(UserWarning, match=said) as warned:
        model = LEFT_OUT[case]()
    assert [warning.filename for warning in warned] == [__file__]
    W = model.coef[0] if case == "path" else model.coef_
    assert not W[1].any() and W[2].any()


RARE = np.hstack(
    [np.eye(120, 12, dtype=int), Y]
)  # twelve labels with a single positive sample, and three frequent ones
NAMES = [*map(str, range(9)), "bird", "\x1b[31mcat", "dog", "a", "b", "c"]


@pytest.mark.parametrize(
    ("call", "labels", "names", "said"),
    [
        ("search", RARE[:, 10:], None, r"in some of the 3 folds .* \(choose fewer folds with cv, .*\): labels 0, 1$"),
        ("search", RARE, NAMES, "^12 of 15 tasks .*: labels 0, 1, 2, 3, 4, 5, 6, 7, 8, bird, ...$"),
        ("search", RARE[:, 9:], NAMES[9:], r"^3 of 6 tasks .*: labels bird, \\x1b\[31mcat, dog$"),
        ("fit", UNKNOWN, [*"abc"], "add labels or targets, or leave .*: label b$"),
        ("search", np.roll(Y, 1, axis=0), None, r"score of 0\.[34].* no better than chance \(0.5\)"),
    ],
)
def test_a_warning_names_labels_with_too_few_samples_or_a_score_no_better_than_chance(call, labels, names, said):
    y = labels if names is None else pytest.importorskip("pandas").DataFrame(labels, columns=names)
    with pytest.warns(UserWarning, match=said):
        (JointSparseClassifierCV(radii=[1.0], cv=3) if call == "search" else JointSparseClassifier()).fit(X, y)


# Probabilities


@pytest.mark.parametrize("y", [Y, Y[:, 0], THIRDS], ids=["matrix", "two", "three"])
def test_probabilities_are_logistic_functions_of_decisions_that_sum_to_1_over_classes(y):
    model = JointSparseClassifier(radius=3.0).fit(X, y)
    F = special.expit(model.decision_function(X).reshape(120, -1))
    expected = {1: np.hstack([1 - F, F]), 3: F if y is Y else F / F.sum(axis=1, keepdims=True)}[F.shape[1]]
    np.testing.assert_allclose(model.predict_proba(X), expected)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), expected)
    assert np.isfinite(model.predict_log_proba(1e4 * X)).all()
    model.intercept_ -= 1e6  # no class holds
    assert y is Y or np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear to accept sample_weight:UserWarning")
def test_hinge_has_probabilities_after_calibration_only():
    # Class weights are for training only.
    model = JointSparseClassifier(loss="hinge", radius=3.0, class_weight={0: 5.0}).fit(X[:60], Y[:60, 0])
    with pytest.raises(AttributeError) as refused:
        model.predict_proba(X)
    assert str(refused.value.__cause__).startswith("probabilities need loss='logistic' or a call of calibrate(X, y)")
    peer = CalibratedClassifierCV(FrozenEstimator(model), ensemble=False).fit(X[60:], Y[60:, 0], np.arange(60.0))
    P = model.calibrate(X[60:], Y[60:, 0], np.arange(60.0)).predict_proba(X[60:])
    np.testing.assert_allclose(P, peer.predict_proba(X[60:]), atol=1e-3)
    assert not hasattr(model.fit(X, Y), "calibration_")  # a new fit removes the old calibration


def test_a_calibration_has_no_negative_slope():
    model = JointSparseClassifier(radius=3.0).fit(X, Y).calibrate(X, 1 - Y)
    n = (1 - Y).sum(axis=0)
    targets = (n * (n + 1) / (n + 2) + (len(Y) - n) / (len(Y) - n + 2)) / len(Y)  # Platt's, on average
    np.testing.assert_allclose(model.predict_proba(X), np.broadcast_to(targets, Y.shape))
