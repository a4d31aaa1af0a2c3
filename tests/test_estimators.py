"""The estimators: scikit-learn's own checks, every coding of labels, the corners, and the company they keep."""

import pickle
import subprocess
import sys

import numpy as np
import oracles
import pandas as pd
import pytest
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Lasso, LogisticRegression, MultiTaskLasso
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from jointsparse.estimators.classifier import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor
from jointsparse.learning import sweep
from jointsparse.norms import NORMS
from jointsparse.scores import metrics

ALL = [JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor]
SINGLE = [JointSparseClassifier, JointSparseRegressor]


def problem(n=40, d=6, m=3, seed=0):
    """Features, and signs (n, m) that follow the first two of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, :1] + 0.5 * X[:, 1:2] + rng.normal(0, 0.5, (n, m)) > 0, 1, -1)


def masked(Y, seed=1):
    return np.where(np.random.default_rng(seed).random(Y.shape) < 0.3, 0, Y)


def trained(model):
    return [model.coef_, model.intercept_, model.objective_, model.duality_gap_, model.n_iter_]


def assert_same(got, expected):
    for one, other in zip(trained(got), trained(expected), strict=True):
        np.testing.assert_array_equal(one, other)


# scikit-learn's checks

NO_INTERCEPT = "class 0 should win everywhere, which no classifier without intercept can do; those with pass"
TO_TOL = "objectives agree to tol=1e-3, the check wants solutions to 1e-7; fixed steps or a tiny tol below pass"
WEIGHTS_TO_TOL = {f"check_sample_weight_equivalence_on_{kind}_data": TO_TOL for kind in ("dense", "sparse")}
CHECKED = [
    (JointSparseClassifier(), {"check_class_weight_classifiers": NO_INTERCEPT}),
    (JointSparseClassifier(fit_intercept=True), WEIGHTS_TO_TOL),
    (JointSparseClassifier(solver="subgradient", eta0=0.1, fit_intercept=True), {}),
    (JointSparseClassifierCV(n_iter=200), {"check_class_weight_classifiers": NO_INTERCEPT, **WEIGHTS_TO_TOL}),
    (JointSparseClassifierCV(radii=(0.1, 1.0), solver="subgradient", n_iter=100, fit_intercept=True), {}),
    (JointSparseRegressor(), WEIGHTS_TO_TOL),
    (JointSparseRegressor(tol=1e-13), {}),
]
FAILING = {repr(estimator): failing for estimator, failing in CHECKED}


# The checks' features are all around 100 or labels mere noise: what a warning is for, but not what they test.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [estimator for estimator, _ in CHECKED], expected_failed_checks=lambda estimator: FAILING[repr(estimator)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Codings of labels


def test_two_classes_are_one_task_and_the_last_is_positive():
    X, Y = problem()
    y = np.where(Y[:, 0] > 0, "yes", "no")
    model = JointSparseClassifier().fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.coef_.shape, model.intercept_.shape, model.decision_function(X).shape) == ((1, 6), (1,), (40,))
    assert_same(model, JointSparseClassifier(labels="signed").fit(X, Y[:, 0]))
    np.testing.assert_array_equal(model.predict(X), np.where(X @ model.coef_[0] > 0, "yes", "no"))
    assert model.score(X, y) == np.mean(model.predict(X) == y) > 0.8


def test_several_classes_are_one_task_each_against_the_rest():
    X, _ = problem()
    y = np.array(["a", "c", "b"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = JointSparseClassifier(radius=3.0).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    tasks = np.stack([y == name for name in "abc"], axis=1).astype(int)
    assert_same(model, JointSparseClassifier(radius=3.0).fit(X, tasks))
    np.testing.assert_array_equal(model.predict(X), np.array(["a", "b", "c"])[(X @ model.coef_.T).argmax(axis=1)])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, pd.DataFrame, np.ndarray.tolist])
def test_a_matrix_of_zeros_and_ones_is_one_task_per_column(container):
    X, Y = problem()
    model = JointSparseClassifier().fit(X, container((Y + 1) // 2))
    assert_same(model, JointSparseClassifier(labels="signed").fit(X, Y))
    assert_same(model, JointSparseClassifier(labels="01").fit(X, (Y + 1) // 2))
    assert (model.coef_.shape, model.decision_function(X).shape) == ((3, 6), (40, 3))
    np.testing.assert_array_equal(model.predict(X), X @ model.coef_.T > 0)
    assert model.classes_.tolist() == [0, 1]


def test_samples_marked_zero_are_not_part_of_a_masked_task():
    X, Y = problem()
    Y = masked(Y)
    model = JointSparseClassifier(labels="masked").fit(X, Y)
    tasks = [(X[Y[:, k] != 0], Y[Y[:, k] != 0, k]) for k in range(3)]
    assert_same(model, JointSparseClassifier(labels="signed").fit_tasks(tasks))
    assert set(np.unique(model.predict(X))) == {-1, 1}
    in_task = Y != 0
    assert model.score(X, Y) == np.mean(model.predict(X)[in_task] == Y[in_task])
    assert model.score(X, sparse.csr_matrix(Y)) == model.score(X, Y)


def test_a_masked_vector_is_one_task():
    X, Y = problem()
    y = masked(Y)[:, 0]
    model = JointSparseClassifier(labels="masked").fit(X, y)
    assert_same(model, JointSparseClassifier().fit(X[y != 0], y[y != 0]))
    assert model.predict(X).shape == (40,) and model.classes_.tolist() == [-1, 1]


def test_zero_is_a_label_or_a_mask_as_the_parameter_says():
    X, Y = problem()
    y = (Y[:, :1] + 1) // 2
    as_label, as_mask = (JointSparseClassifier(labels=labels).fit(X, y) for labels in ("01", "masked"))
    assert (as_label.predict(X) == 0).any() and not (as_mask.predict(X) == 0).any()


@pytest.mark.parametrize("labels", ["01", "signed", "masked"])
def test_one_column_of_an_explicit_coding_stays_a_column(labels):
    X, Y = problem(m=1)
    model = JointSparseClassifier(labels=labels).fit(X, (Y + 1) // 2 if labels == "01" else Y)
    assert model.predict(X).shape == model.decision_function(X).shape == (40, 1)


def test_one_column_of_classes_becomes_a_vector_as_in_scikit_learn():
    X, Y = problem(m=1)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = JointSparseClassifier().fit(X, Y)
    assert model.predict(X).shape == (40,)


@pytest.mark.parametrize(
    ("labels", "wrong", "said"),
    [
        (
            "classes",
            2,
            "labels='classes' expects 0, 1 in a matrix y, got 2; labels may also be '01', 'signed', 'masked'",
        ),
        ("classes", -1, "labels='classes' expects 0, 1 in a matrix y, got -1;"),
        ("01", -1, "labels='01' expects 0, 1 in y, got -1; labels may also be 'classes', 'signed', 'masked'"),
        ("signed", 0, "labels='signed' expects -1, 1 in y, got 0; labels may also be"),
        ("masked", 0.5, "labels='masked' expects -1, 0, 1 in y, got 0.5; labels may also be"),
    ],
)
@pytest.mark.parametrize("estimator", [JointSparseClassifier, JointSparseClassifierCV])
def test_a_wrong_label_names_the_parameter(estimator, labels, wrong, said):
    X, Y = problem()
    Y = (Y + 1.0) / 2 if labels in ("classes", "01") else Y.astype(float)
    Y[3, 1] = wrong
    with pytest.raises(ValueError) as caught:
        estimator(labels=labels).fit(X, Y)
    assert str(caught.value).startswith(said)


def test_words_where_numbers_are_expected_name_the_parameter():
    with pytest.raises(ValueError, match=r"^labels='signed' expects numbers in y"):
        JointSparseClassifier(labels="signed").fit([[1.0], [2.0]], ["a", "b"])


# Tasks with samples of their own


def test_tasks_that_share_samples_are_the_columns_of_a_matrix():
    X, Y = problem()
    weights = np.random.default_rng(3).random(40)
    for options in ({}, {"class_weight": {1: 2.0}}, {"fit_intercept": True, "normalisation": "mean"}):
        model = JointSparseClassifier(labels="signed", **options)
        expected = clone(model).fit(X, Y, weights)
        assert_same(model.fit_tasks([(X, y) for y in Y.T], [weights] * 3), expected)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    regressor = JointSparseRegressor()
    assert_same(clone(regressor).fit_tasks([(X, y) for y in Y.T]), regressor.fit(X, Y))


def test_classes_of_tasks_are_shared_and_the_last_is_positive():
    X, Y = problem()
    tasks = [(X[:20], np.where(Y[:20, 0] > 0, "yes", "no")), (sparse.csr_matrix(X[20:]), ["yes"] * 20)]
    model = JointSparseClassifier().fit_tasks(tasks)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict(X).shape == (40, 2)


def test_tasks_of_mixed_precision_are_trained_in_double():
    X, Y = problem()
    tasks = [(X.astype(np.float32), Y[:, 0]), (X, Y[:, 1])]
    assert JointSparseClassifier(labels="signed").fit_tasks(tasks).coef_.dtype == np.float64
    assert JointSparseClassifier(labels="signed").fit_tasks(tasks[:1]).coef_.dtype == np.float32


@pytest.mark.parametrize(
    ("tasks", "weights", "said"),
    [
        ([], None, "tasks must be a list of pairs"),
        ([[[1.0]]], None, "tasks must be a list of pairs"),
        ([([[1.0]], [1]), ([[1.0, 2.0]], [0])], None, "features"),
        ([([[1.0]], [1, 0])], None, "inconsistent numbers of samples"),
        ([([[1.0], [2.0]], [1, 0])], [], "sample_weight must hold one array per task, 1, got 0"),
    ],
)
@pytest.mark.parametrize("estimator", SINGLE)
def test_tasks_that_make_no_sense_are_refused(estimator, tasks, weights, said):
    with pytest.raises(ValueError, match=said):
        estimator().fit_tasks(tasks, weights)


def test_tasks_of_more_than_two_classes_are_refused():
    with pytest.raises(
        ValueError, match=r"^labels='classes' expects two classes, the same in all tasks, got \[0, 1, 2"
    ):
        JointSparseClassifier().fit_tasks([([[1.0], [2.0]], [0, 1]), ([[1.0], [2.0]], [1, 2])])


# Weights


@pytest.mark.parametrize("estimator", SINGLE)
@pytest.mark.parametrize("normalisation", ["sum", "mean"])
def test_weight_two_is_the_sample_twice_and_weight_zero_none(estimator, normalisation):
    X, Y = problem()
    y, counts = Y[:, 0], np.random.default_rng(2).integers(0, 3, 40)
    for options in ({"tol": 1e-10}, {"solver": "subgradient", "eta0": 0.01}):
        model = estimator(normalisation=normalisation, **options)
        weighted = clone(model).fit(X, y, counts)
        repeated = model.fit(X.repeat(counts, axis=0), y.repeat(counts))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
        np.testing.assert_allclose(np.nanmin(weighted.objective_), np.nanmin(repeated.objective_), rtol=1e-9)


def test_balanced_weights_are_scikit_learns_for_two_classes():
    X, _ = problem()
    y = np.where(X[:, 0] > 0.5, 1, 0)
    of_class = dict(enumerate(compute_class_weight("balanced", classes=np.array([0, 1]), y=y)))
    balanced = JointSparseClassifier(class_weight="balanced").fit(X, y)
    for other in (
        JointSparseClassifier(class_weight=of_class).fit(X, y),
        JointSparseClassifier().fit(X, y, np.where(y == 1, of_class[1], of_class[0])),
    ):
        np.testing.assert_allclose(balanced.coef_, other.coef_, rtol=1e-10)


def test_balanced_positives_and_negatives_weigh_the_same_in_each_task():
    X, Y = problem()
    Y = masked(Y)
    Y[:, 1] = np.abs(Y[:, 1])  # no negatives: nothing to balance
    model = JointSparseClassifier(labels="masked", class_weight="balanced", normalisation="sum").fit(X, Y)
    n = np.count_nonzero(Y, axis=0)
    np.testing.assert_allclose(model.objective_[0], n.sum())  # balancing keeps the total
    tasks = []
    for k in (0, 2):
        y = Y[:, k]
        tasks.append(np.where(y > 0, n[k] / (2 * (y > 0).sum()), n[k] / (2 * (y < 0).sum())))
    weights = np.stack([tasks[0], np.ones(40), tasks[1]], axis=1)
    by_hand = JointSparseClassifier(labels="signed").fit_tasks(
        [(X[Y[:, k] != 0], Y[Y[:, k] != 0, k]) for k in range(3)], [weights[Y[:, k] != 0, k] for k in range(3)]
    )
    np.testing.assert_allclose(model.coef_, by_hand.coef_, atol=1e-12)


def test_a_class_weight_by_name_is_the_weight_of_its_samples_in_every_task():
    X, _ = problem()
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    by_class = JointSparseClassifier(class_weight={"b": 2.0}).fit(X, y)
    assert_same(by_class, JointSparseClassifier().fit(X, y, np.where(y == "b", 2.0, 1.0)))
    Y = problem()[1]
    by_label = JointSparseClassifier(labels="signed", class_weight={1: 0.0}).fit(X, Y)
    assert (by_label.predict(X) == -1).mean() > 0.4


@pytest.mark.parametrize(
    ("class_weight", "said"),
    [
        ("even", "class_weight must be 'balanced', a dict or None, got 'even'"),
        ({2: 1.0}, r"class_weight must name classes of y, \[0, 1\], got \[2\]"),
        ({1: -1.0}, "class_weight must hold numbers of at least 0"),
    ],
)
def test_a_wrong_class_weight_is_refused(class_weight, said):
    X, Y = problem()
    with pytest.raises(ValueError, match=said):
        JointSparseClassifier(class_weight=class_weight).fit(X, (Y + 1) // 2)


def test_negative_sample_weights_are_refused():
    X, Y = problem()
    for estimator in ALL:
        with pytest.raises(ValueError, match="sample_weight"):
            estimator().fit(X, Y[:, 0], -np.ones(40))


# What is found


@pytest.mark.parametrize("norm", sorted(NORMS))
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_attributes_describe_the_problem_that_was_solved(norm, loss):
    X, Y = problem()
    for strength in ({"radius": 0.7}, {"radius": None, "penalty": 2.0}):
        model = JointSparseClassifier(norm, loss=loss, labels="signed", fit_intercept=True, **strength).fit(X, Y)
        F = X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(model.decision_function(X), F, atol=1e-12)
        size = NORMS[norm].norm(model.coef_.T)
        cost = 2.0 * np.sum(size) if "penalty" in strength else 0.0
        objective = oracles.loss_value(loss, F, Y).sum() + cost
        np.testing.assert_allclose(np.nanmin(model.objective_), objective, rtol=1e-10)
        assert "penalty" in strength or np.all(size <= 0.7 * (1 + 1e-12))
        assert 0 <= model.duality_gap_ <= 1e-3
        assert model.objective_.shape == (model.n_iter_ + 1,)
        np.testing.assert_array_equal(model.selected_features_, np.flatnonzero((model.coef_ != 0).any(axis=0)))


def test_tasks_agree_on_few_features():
    X, Y = problem(n=200, d=20)
    model = JointSparseClassifier(radius=0.3, labels="signed").fit(X, Y)
    assert set(model.selected_features_) <= {0, 1}
    assert model.coef_[:, 0].all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(dtype):
    X, Y = problem()
    X = X.astype(dtype)
    for model in (JointSparseClassifier(labels="signed"), JointSparseClassifierCV(labels="signed")):
        model.fit(X, Y)
        assert model.coef_.dtype == model.intercept_.dtype == model.decision_function(X).dtype == dtype
    regressor = JointSparseRegressor().fit(X, Y)
    assert regressor.coef_.dtype == regressor.predict(X).dtype == dtype


def test_integers_become_double():
    assert JointSparseClassifier().fit([[1], [-1]], [1, 0]).coef_.dtype == np.float64


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
@pytest.mark.parametrize("estimator", ALL)
def test_sparse_features_change_nothing(estimator, container):
    X, Y = problem()
    X = np.where(np.abs(X) > 0.7, X, 0)
    dense, thin = estimator(tol=1e-6).fit(X, Y[:, 0]), estimator(tol=1e-6).fit(container(X), Y[:, 0])
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-4)
    np.testing.assert_allclose(np.nanmin(thin.objective_), np.nanmin(dense.objective_), rtol=1e-6)
    np.testing.assert_allclose(thin.predict(container(X)), thin.predict(X), rtol=1e-12)


def test_training_leaves_its_input_alone():
    X, Y = problem()
    X_before, Y_before = X.copy(), Y.copy()
    for estimator in ALL:
        estimator().fit(X, Y[:, 0])
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(Y, Y_before)


def test_a_frame_gives_the_names_of_its_features():
    X, Y = problem()
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(6)])
    for estimator in ALL:
        model = estimator().fit(frame, Y[:, 0])
        assert model.feature_names_in_.tolist() == list(frame) and model.n_features_in_ == 6
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[frame.columns[::-1]])


def test_a_fit_that_does_not_reach_tol_warns():
    X, Y = problem()
    with pytest.warns(ConvergenceWarning, match=r"not within tol=1e-09: raise n_iter or tol"):
        model = JointSparseClassifier(tol=1e-9, n_iter=5).fit(X, Y[:, 0])
    assert model.duality_gap_ > 1e-9 and model.n_iter_ == 5


def test_folds_that_do_not_reach_tol_warn_once():
    X, Y = problem()
    model = JointSparseClassifierCV(radii=[0.0, 1.0, 3.0], cv=4, tol=1e-9, n_iter=5)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y[:, 0])
    said = [str(warning.message) for warning in caught]
    assert len(said) == 2 and said[1].startswith("after 5 iterations the objective is certified to be within")
    folds = list(StratifiedKFold(4).split(X, Y[:, 0]))
    gaps = []
    with pytest.warns(ConvergenceWarning):
        for radius in (1.0, 3.0):
            for train, _ in folds:
                one = JointSparseClassifier(radius=radius, tol=1e-9, n_iter=5).fit(X[train], Y[train, 0])
                gaps.append(one.duality_gap_)
    assert said[0] == (
        "the choice rests on 12 fits, of which 8 are not certified to be within tol=1e-09 of their optima, but within "
        f"{max(gaps):.2g} (relative) at worst: raise n_iter or tol, or scale the features"
    )


def test_subgradients_promise_no_gap_and_do_not_warn():
    X, Y = problem()
    model = JointSparseClassifier(solver="subgradient", n_iter=3, eta0=0.01, tol=1e-9).fit(X, Y[:, 0])
    assert model.duality_gap_ > 1e-9 and model.n_iter_ == 3
    assert JointSparseClassifier(solver="subgradient", eta0=0.01).fit(X, Y[:, 0]).n_iter_ == 200
    JointSparseClassifierCV(solver="subgradient", n_iter=3, eta0=[0.01], tol=1e-9).fit(X, Y[:, 0])


# Corners


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(estimator, bad):
    X, Y = problem()
    y = Y[:, 0].astype(float)
    for spoil in (X.copy(), y.copy()):
        spoil.flat[3] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            estimator().fit(*((spoil, y) if spoil.ndim == 2 else (X, spoil)))
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        estimator().fit(X, y).predict(np.full((1, 6), bad))


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_task_of_one_label_is_solved_as_it_stands(sign):
    X, Y = problem()
    Y[:, 1] = sign
    model = JointSparseClassifier(radius=3.0, labels="signed", fit_intercept=True).fit(X, Y)
    assert (model.predict(X)[:, 1] == sign).all()
    alone = JointSparseClassifier(radius=3.0, labels="signed", fit_intercept=True).fit(X, Y[:, 1])
    assert np.nanmin(alone.objective_) <= 1e-3 * 40 and (alone.predict(X) == sign).all()


def test_a_task_without_samples_stays_zero():
    X, Y = problem()
    Y[:, 1] = 0
    for options in ({}, {"normalisation": "mean", "fit_intercept": True, "class_weight": "balanced"}):
        model = JointSparseClassifier(labels="masked", **options).fit(X, Y)
        assert not model.coef_[1].any() and model.intercept_[1] == 0 and np.isfinite(model.objective_[0])


@pytest.mark.parametrize("estimator", [JointSparseClassifier, JointSparseClassifierCV])
def test_a_single_class_is_refused(estimator):
    with pytest.raises(ValueError, match=r"^y must hold at least two classes, got 1 class of positive weight: a"):
        estimator().fit(problem()[0], ["a"] * 40)


@pytest.mark.parametrize("estimator", ALL)
def test_a_feature_of_zeros_is_not_selected(estimator):
    X, Y = problem()
    X[:, 2] = 0
    model = estimator().fit(X, Y[:, 0])
    assert 2 not in model.selected_features_ and not np.atleast_2d(model.coef_)[:, 2].any()


def test_one_sample():
    X = [[2.0, 0.0]]
    with pytest.raises(ValueError, match="1 class"):
        JointSparseClassifier().fit(X, [1])
    model = JointSparseClassifier().fit(X, [[1, 0]])
    assert model.predict(X).tolist() == [[1, 0]]
    with pytest.raises(ValueError, match=r"splits|samples"):
        JointSparseClassifierCV().fit(X, [[1, 0]])
    regressor = JointSparseRegressor(fit_intercept=False, radius=5.0).fit(X, [3.0])
    np.testing.assert_allclose(regressor.coef_, [1.5, 0], atol=0.05)
    np.testing.assert_allclose(JointSparseRegressor().fit(X, [3.0]).predict(X), 3.0, rtol=0.05)


@pytest.mark.parametrize("estimator", SINGLE)
@pytest.mark.parametrize("strength", [{"radius": 0.0}, {"radius": None, "penalty": 1e6}])
@pytest.mark.parametrize("solver", ["pdhg", "subgradient"])
def test_radius_zero_or_a_large_penalty_give_zero(estimator, strength, solver):
    X, Y = problem()
    model = estimator(solver=solver, eta0=0.1, fit_intercept=False, **strength).fit(X, Y[:, 0])
    assert not model.coef_.any() and not len(model.selected_features_)
    assert not model.intercept_.any()
    assert set(model.predict(X)) == ({-1} if estimator is JointSparseClassifier else {0.0})


def test_radius_zero_leaves_the_intercept():
    X, Y = problem()
    y = 5.0 + Y[:, 0]
    model = JointSparseRegressor(radius=0.0, tol=1e-8).fit(X, y)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.intercept_, y.mean(), rtol=1e-3)


@pytest.mark.parametrize("estimator", ALL)
def test_mismatched_shapes_are_refused(estimator):
    X, Y = problem()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator().fit(X, Y[:-1, 0])
    with pytest.raises(ValueError, match="sample_weight"):
        estimator().fit(X, Y[:, 0], np.ones(39))
    model = estimator().fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="X has 5 features"):
        model.predict(X[:, :5])
    with pytest.raises(ValueError, match="1D"):
        model.predict(X[0])


def test_a_score_needs_one_column_per_task():
    X, Y = problem()
    model = JointSparseClassifier(labels="signed").fit(X, Y)
    with pytest.raises(ValueError, match=r"^y must have one column per task, 3, got 2"):
        model.score(X, Y[:, :2])


def test_a_score_needs_a_label_that_counts():
    X, Y = problem()
    model = JointSparseClassifier(labels="masked").fit(X, Y)
    for y, weight in ((0 * Y, None), (np.where(np.arange(40)[:, np.newaxis] < 5, Y, 0), np.arange(40) >= 5)):
        with pytest.raises(ValueError, match=r"^y must hold at least one label of a sample of positive weight, got no"):
            model.score(X, y, weight)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("solver", ["pdhg", "subgradient"])
@pytest.mark.parametrize(("dtype", "scale"), [(np.float64, 1e150), (np.float32, 1e20)])
def test_features_too_large_to_square_are_refused(estimator, solver, dtype, scale):
    X, Y = problem()
    with pytest.raises(
        ValueError, match=rf"^features of task 0 must be finite and at most .* in {dtype.__name__}, got"
    ):
        estimator(solver=solver).fit((scale * X).astype(dtype), Y[:, 0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # what becomes of some of them
@pytest.mark.parametrize(("dtype", "scale"), [(float, 1e70), (float, 1e-150), (np.float32, 1e12), (np.float32, 1e-37)])
def test_features_of_any_other_scale_are_trained_on(dtype, scale):
    X, Y = problem()
    for radius in (1.0, 1 / scale):
        model = JointSparseClassifier(radius=radius, n_iter=100).fit((scale * X).astype(dtype), Y[:, 0])
        assert np.isfinite(model.coef_).all() and 0 <= model.duality_gap_ <= 1


@pytest.mark.parametrize("large", [1e200, 1e308, np.inf])
def test_weights_too_large_to_square_are_refused(large):
    X, Y = problem()
    with pytest.raises(ValueError, match=r"^weights times labels of task 0 must be finite and at most .* in float64"):
        JointSparseClassifier(class_weight={-1: 1.0, 1: large}).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match=r"weights times labels of task 0|sample_weight contains infinity"):
        JointSparseClassifier().fit(X, Y[:, 0], np.full(40, large))


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"norm": "l3"}, r"^norms knows .*l1inf.*; got 'l3'"),
        ({"solver": "adam"}, r"^solvers knows .*pdhg.*; got 'adam'"),
        ({"normalisation": "median"}, "^normalisation must be 'sum' or 'mean', got 'median'"),
        ({"n_iter": 0}, "^n_iter must be a whole number of at least 1, got 0"),
        ({"n_iter": 1.5}, "^n_iter must be a whole number of at least 1, got 1.5"),
        ({"tol": -1.0}, r"^tol must be at least 0, got -1\.0"),
        ({"tol": "small"}, "^tol must be a number, got 'small'"),
        ({"solver": "subgradient", "eta0": 0.0}, r"^eta0 must be greater than 0, got 0\.0"),
    ],
)
def test_wrong_parameters_are_named(estimator, options, said):
    X, Y = problem()
    with pytest.raises(ValueError, match=said):
        estimator(**options).fit(X, Y[:, 0])


@pytest.mark.parametrize("estimator", [JointSparseClassifier, JointSparseClassifierCV])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loss": "hing"}, r"^losses knows .*hinge.*; got 'hing'"),
        ({"labels": "10"}, "^labels must be one of 'classes', '01', 'signed', 'masked', got '10'"),
    ],
)
def test_wrong_parameters_of_classifiers_are_named(estimator, options, said):
    X, Y = problem()
    with pytest.raises(ValueError, match=said):
        estimator(**options).fit(X, Y[:, 0])


@pytest.mark.parametrize("estimator", SINGLE)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"radius": -1.0}, r"^radius must be at least 0, got -1\.0"),
        ({"radius": np.nan}, "^radius must be at least 0, got nan"),
        ({"radius": np.inf}, "^radius must be finite, got inf"),
        ({"radius": None, "penalty": -2}, r"^penalty must be at least 0, got -2\.0"),
        (
            {"radius": None},
            "^exactly one of radius and penalty must be given and the other one None, got None and None",
        ),
        ({"penalty": 1.0}, r"^exactly one of radius and penalty must be given .* got 1\.0 and 1\.0"),
    ],
)
def test_a_wrong_strength_is_refused(estimator, options, said):
    X, Y = problem()
    with pytest.raises(ValueError, match=said):
        estimator(**options).fit(X, Y[:, 0])


def test_unfitted_models_say_so():
    for estimator in ALL:
        with pytest.raises(NotFittedError):
            estimator().predict([[1.0]])


# The same optimum as scikit-learn's own


@pytest.mark.parametrize(
    "peer",
    [
        LinearSVC(C=0.1, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=1_000_000),
        LogisticRegression(C=0.1, fit_intercept=False, tol=1e-10),
    ],
)
def test_one_task_in_an_l2_ball_is_the_classifier_with_its_squared_norm_as_penalty(peer):
    X, Y = problem(n=80)
    y, loss = Y[:, 0], "hinge" if isinstance(peer, LinearSVC) else "logistic"
    expected = clone(peer).fit(X, y).coef_
    model = JointSparseClassifier("l2", np.linalg.norm(expected), loss=loss, tol=1e-8, n_iter=50_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-3)
    objective = oracles.loss_value(loss, X @ expected.T, y[:, np.newaxis]).sum()
    np.testing.assert_allclose(np.nanmin(model.objective_), objective, rtol=1e-6)


@pytest.mark.parametrize("norm", ["l1", "l1inf"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_one_target_with_a_penalty_is_the_lasso(norm, fit_intercept):
    X, y = regression()
    expected = Lasso(alpha=0.1, fit_intercept=fit_intercept, tol=1e-10).fit(X, y[:, 0])
    options = {"fit_intercept": fit_intercept, "normalisation": "mean", "tol": 1e-10}
    model = JointSparseRegressor(norm, None, penalty=0.1, **options).fit(X, y[:, 0])
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-5)
    np.testing.assert_array_equal(model.selected_features_, np.flatnonzero(expected.coef_))


def test_targets_with_an_l12_penalty_are_the_multi_task_lasso():
    X, Y = regression()
    expected = MultiTaskLasso(alpha=0.2, tol=1e-10).fit(X, Y)
    model = JointSparseRegressor("l12", None, penalty=0.2, normalisation="mean", tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-5)


# Regression


def regression(n=50, d=8, m=3, seed=0):
    """Targets that follow the first three features, around 10."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :3] @ rng.normal(size=(3, m)) + 10 + rng.normal(0, 0.1, (n, m))


def test_targets_of_a_vector_and_of_a_column():
    X, Y = regression()
    vector, column = (JointSparseRegressor(radius=3.0).fit(X, y) for y in (Y[:, 0], Y[:, :1]))
    assert (vector.coef_.shape, np.ndim(vector.intercept_), vector.predict(X).shape) == ((8,), 0, (50,))
    assert (column.coef_.shape, column.intercept_.shape, column.predict(X).shape) == ((1, 8), (1,), (50, 1))
    np.testing.assert_array_equal(vector.coef_, column.coef_[0])


def test_the_simultaneous_lasso_finds_the_features_of_all_targets():
    X, Y = regression()
    model = JointSparseRegressor(radius=None, penalty=5.0, tol=1e-6).fit(X, Y)
    assert model.selected_features_.tolist() == [0, 1, 2]
    assert model.score(X, Y) == r2_score(Y, model.predict(X)) > 0.9


def test_a_target_of_zero_is_a_target():
    X, Y = regression()
    y = np.where(np.arange(50) < 25, 0.0, Y[:, 0])
    expected = Lasso(alpha=0.1, fit_intercept=False, tol=1e-10).fit(X, y).coef_
    options = {"normalisation": "mean", "fit_intercept": False, "tol": 1e-10}
    np.testing.assert_allclose(
        JointSparseRegressor("l1", None, penalty=0.1, **options).fit(X, y).coef_, expected, atol=1e-5
    )


# The choice of a radius


def test_scores_are_the_average_auc_of_the_validation_tasks_in_each_fold():
    X, Y = problem()
    folds = KFold(3, shuffle=True, random_state=0)
    radii, tasks = [3.0, 0.1], [0, 2]
    model = JointSparseClassifierCV(radii=radii, labels="signed", cv=folds, validation_tasks=tasks).fit(X, Y)
    assert model.grid_.tolist() == [0.1, 3.0] and model.scores_.shape == (2, 3)
    for i, radius in enumerate(model.grid_):
        for fold, (train, test) in enumerate(folds.split(X)):
            scores = (
                JointSparseClassifier(radius=radius, labels="signed").fit(X[train], Y[train]).decision_function(X[test])
            )
            expected = metrics.auc(scores[:, tasks], Y[test][:, tasks] > 0).mean()
            np.testing.assert_allclose(model.scores_[i, fold], expected)
    means = model.scores_.mean(axis=1)
    assert model.best_score_ == means.max() and model.radius_ == model.grid_[means.argmax()] and model.penalty_ is None
    assert np.isnan(model.eta0_)
    assert_same(model, JointSparseClassifier(radius=model.radius_, labels="signed").fit(X, Y))


def test_held_out_samples_choose_as_in_the_paper():
    X, Y = problem(n=90)
    Y[:60] = masked(Y[:60])
    grid = {"eta0": [0.001, 0.01, 0.1], "n_iter": 20, "solver": "subgradient"}
    model = JointSparseClassifierCV(
        radii=[0.1, 1.0, 10.0], labels="masked", validation_tasks=[True, False, True], **grid
    )
    model.fit(X[:60], Y[:60], X_val=X[60:], y_val=Y[60:])
    swept = sweep.run(X[:60], Y[:60], loss="hinge", norm="l1inf", radius=[0.1, 1.0, 10.0], normalisation="sum", **grid)
    pairs = sweep.choose_eta0(swept.radius, swept.objective)
    auc = [metrics.auc(X[60:] @ W[:, [0, 2]], Y[60:][:, [0, 2]] > 0).mean() for W in swept.W]
    best = sweep.choose_radius(np.array(auc))
    chosen = pairs[best]
    np.testing.assert_allclose(model.scores_[:, 0], auc)
    assert (model.radius_, model.eta0_) == (swept.radius[chosen], swept.eta0[chosen])
    np.testing.assert_array_equal(model.coef_, swept.W[best].T)


def test_a_predefined_split_is_one_fold_and_the_refit_takes_all():
    X, Y = problem(n=90)
    y = Y[:, 0]
    split = PredefinedSplit(np.where(np.arange(90) < 60, -1, 0))
    by_split = JointSparseClassifierCV(cv=split).fit(X, y)
    by_hand = JointSparseClassifierCV().fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    np.testing.assert_array_equal(by_split.scores_, by_hand.scores_)
    assert_same(by_split, JointSparseClassifier(radius=by_split.radius_).fit(X, y))
    expected = JointSparseClassifier(radius=by_hand.radius_).fit(X[:60], y[:60])
    np.testing.assert_allclose(np.nanmin(by_hand.objective_), np.nanmin(expected.objective_), rtol=1e-3)


def test_of_equally_good_ones_the_most_regularised_is_chosen():
    X = np.array([[1.0], [2.0], [3.0], [-1.0], [-2.0], [-3.0]])
    y = [1, 1, 1, 0, 0, 0]
    assert JointSparseClassifierCV(radii=[1.0, 0.0, 0.5], cv=3).fit(X, y).radius_ == 0.5
    model = JointSparseClassifierCV(radii=None, penalties=[0.1, 100.0, 1.0], cv=3).fit(X, y)
    assert (model.penalty_, model.radius_, model.scores_[2].max()) == (1.0, None, 0.5)


def test_eta0_is_chosen_by_the_training_objective_also_in_the_refit():
    X, Y = problem()
    options = {"solver": "subgradient", "n_iter": 20}
    model = JointSparseClassifierCV(radii=[1.0], eta0=[1e-4, 0.02, 50.0], **options).fit(X, Y[:, 0])
    smallest = [JointSparseClassifier(eta0=e, **options).fit(X, Y[:, 0]).objective_.min() for e in (1e-4, 0.02, 50.0)]
    assert model.eta0_ == [1e-4, 0.02, 50.0][int(np.argmin(smallest))] == 0.02


def test_tasks_without_both_labels_in_a_fold_do_not_count_there():
    X, Y = problem()
    Y[:, 1] = 1
    some = JointSparseClassifierCV(labels="signed", cv=3).fit(X, Y)
    others = JointSparseClassifierCV(labels="signed", cv=3, validation_tasks=[0, 2]).fit(X, Y)
    np.testing.assert_array_equal(some.scores_, others.scores_)
    with pytest.raises(ValueError, match=r"^held-out samples must include a positive and a negative"):
        JointSparseClassifierCV(labels="signed", validation_tasks=[1]).fit(X, Y)


def test_folds_without_both_labels_do_not_count():
    X, Y = problem()
    y = np.where(np.arange(40) < 20, Y[:, 0], 1)
    folds = [(np.arange(20, 40), np.arange(20)), (np.arange(20), np.arange(20, 40))]
    model = JointSparseClassifierCV(cv=folds).fit(X, y)
    np.testing.assert_array_equal(np.isnan(model.scores_), [[False, True]] * 4)
    assert model.best_score_ == model.scores_[:, 0].max()


def test_several_classes_are_chosen_by_the_average_over_classes():
    X, _ = problem(n=90)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = JointSparseClassifierCV().fit(X, y)
    assert model.coef_.shape == (3, 6) and model.best_score_ > 0.7
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])


@pytest.mark.parametrize("tasks", [[3], [], [True, False], [[0]], [0.5]])
def test_validation_tasks_that_do_not_exist_are_refused(tasks):
    X, Y = problem()
    with pytest.raises(ValueError, match=r"^validation_tasks must be indices of tasks, 0 to 2, or one bool per task"):
        JointSparseClassifierCV(labels="signed", validation_tasks=tasks).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"radii": [1.0, -1.0]}, r"^each of radii must be at least 0, got -1\.0"),
        ({"radii": []}, "^radii must hold at least one number, got none"),
        ({"radii": None}, "^exactly one of radii and penalties must be given"),
        ({"penalties": [1.0]}, "^exactly one of radii and penalties must be given"),
        ({"radii": None, "penalties": []}, "^penalties must hold at least one number, got none"),
        ({"solver": "subgradient", "eta0": []}, "^eta0 must hold at least one number, got none"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(options, said):
    X, Y = problem()
    with pytest.raises(ValueError, match=said):
        JointSparseClassifierCV(**options).fit(X, Y[:, 0])


def test_held_out_samples_that_make_no_sense_are_refused():
    X, Y = problem()
    model = JointSparseClassifierCV(labels="signed")
    with pytest.raises(ValueError, match=r"^X_val and y_val must be given together"):
        model.fit(X, Y, X_val=X)
    with pytest.raises(ValueError, match=r"^y_val must have one column per task, 3, got shape \(40, 2\)"):
        model.fit(X, Y, X_val=X, y_val=Y[:, :2])
    with pytest.raises(ValueError, match="features"):
        model.fit(X, Y, X_val=X[:, :2], y_val=Y)


# In company


@pytest.mark.parametrize("estimator", ALL)
def test_pickled_and_cloned_models_are_the_same(estimator):
    X, Y = problem()
    model = estimator(tol=1e-4).fit(X, Y[:, 0])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params() == clone(model).get_params()
    assert_same(clone(model).fit(X, Y[:, 0]), model)
    assert not hasattr(clone(model), "coef_")


def test_a_pipeline_under_a_grid_search():
    X, Y = problem(n=90)
    pipeline = make_pipeline(StandardScaler(), JointSparseClassifier())
    search = GridSearchCV(pipeline, {"jointsparseclassifier__radius": [0.0, 1.0]}, scoring="roc_auc", cv=3)
    search.fit(X, Y[:, 0])
    assert search.best_params_ == {"jointsparseclassifier__radius": 1.0} and search.best_score_ > 0.8
    for labels, targets in (("classes", (Y + 1) // 2), ("masked", masked(Y))):
        search = GridSearchCV(JointSparseClassifier(labels=labels), {"radius": [0.0, 1.0]}, cv=3).fit(X, targets)
        assert search.best_params_ == {"radius": 1.0}
    search = GridSearchCV(JointSparseRegressor(), {"radius": [0.0, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"radius": 1.0}


@pytest.mark.parametrize("estimator", ALL)
def test_select_from_model_keeps_the_features_of_any_task(estimator):
    X, Y = problem(d=12)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(12)])
    strength = {"radii": [0.3]} if estimator is JointSparseClassifierCV else {"radius": 0.3}
    targets = Y if estimator is JointSparseRegressor else (Y + 1) // 2
    selector = SelectFromModel(estimator(**strength), threshold=1e-12, norm_order=np.inf).fit(frame, targets)
    chosen = selector.estimator_.selected_features_
    assert 0 < len(chosen) < 12
    np.testing.assert_array_equal(selector.get_support(indices=True), chosen)
    assert selector.get_feature_names_out().tolist() == [f"x{i}" for i in chosen]


def coefficients(estimator, X, y):
    return estimator.fit(X, y).coef_


def test_workers_find_the_same_bits():
    X, Y = problem()
    jobs = [(estimator(norm=norm), X, Y[:, 0]) for estimator in ALL for norm in ("l1inf", "l1")]
    expected = [coefficients(*job) for job in jobs]
    for got, one in zip(Parallel(n_jobs=2)(delayed(coefficients)(*job) for job in jobs), expected, strict=True):
        np.testing.assert_array_equal(got, one)


def test_norms_do_without_scikit_learn():
    code = "import sys, jointsparse.norms; assert not {'sklearn', 'jointsparse.estimators'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_targets_far_from_zero_are_learnt_as_well(offset, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)).astype(dtype)
    y = X @ [1.0, 2.0, 0.0, 0.0] + offset + 0.1 * rng.normal(size=50)
    model = JointSparseRegressor(radius=5.0).fit(X, y)
    assert model.score(X, y) > 0.99
    assert abs(model.intercept_ - offset) < 0.2


def test_a_refit_that_fails_leaves_the_model_as_it_was():
    X, y = np.array([[1.0], [-1.0]]), np.array(["a", "b"])
    model = JointSparseClassifier().fit(X, y)
    expected = model.predict(X).tolist()
    with pytest.raises(ValueError, match="losses knows"):
        model.set_params(loss="nope").fit(X, ["q", "r"])
    assert model.classes_.tolist() == ["a", "b"] and model.predict(X).tolist() == expected
