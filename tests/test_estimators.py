"""The estimators: codings of labels, weights, warnings, invalid input, pipelines and searches."""

import pickle
import re
from functools import partial

import numpy as np
import pytest
from common import masked, problem, regression
from scipy import sparse
from sklearn import datasets
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, MultiTaskElasticNet, MultiTaskLasso
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jointsparse import metrics
from jointsparse.estimators import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
    search,
)
from jointsparse.estimators.base import SWITCHES
from jointsparse.estimators.classifier import CODES
from jointsparse.learning.losses import LOSSES
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import NORMS

ALL = [JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor, JointSparseRegressorCV]
SINGLE = [JointSparseClassifier, JointSparseRegressor]
CLASSIFIERS = [JointSparseClassifier, JointSparseClassifierCV]
SEARCH = [JointSparseClassifierCV, JointSparseRegressorCV]
# Quick searches, for tests that are not about the search.
QUICK = {estimator: partial(estimator, radii=[1.0], cv=2) for estimator in SEARCH}
SEEDED = {OnlineJointSparseClassifier: partial(OnlineJointSparseClassifier, random_state=0)}


@pytest.fixture
def X():
    return problem()[0]


@pytest.fixture
def Y():
    return problem()[1]


def assert_same(*models):
    """Assert that models are equal to the last bit."""
    expected, *others = ([m.coef_, m.intercept_, m.objective_, m.duality_gap_, m.n_iter_] for m in models)
    for got in others:
        np.testing.assert_equal(got, expected)


# Codings of labels


ZERO_ONE = [lambda Y: (Y + 1) // 2, [0, 1, 2]]


@pytest.mark.parametrize(
    ("labels", "coded", "classes"),
    [
        ("classes", *ZERO_ONE),
        ("01", *ZERO_ONE),
        ("masked", lambda Y: Y, [0, 1, 2]),
        ("classes", lambda Y: np.where(Y[:, 0] > 0, "yes", "no"), ["no", "yes"]),
        *((labels, lambda Y: Y[:, 0], [-1, 1]) for labels in ("classes", "signed", "masked")),
        *((labels, lambda Y: Y[:, :1], [0]) for labels in ("signed", "masked")),
    ],
)
def test_every_coding_gives_the_same_model_as_signs(labels, coded, classes, X, Y):
    y = coded(Y)
    model = JointSparseClassifier(labels=labels).fit(X, y)
    alike = [JointSparseClassifier(labels=labels).fit(X, y.tolist())]
    if y.shape == Y.shape:
        alike.append(JointSparseClassifier(labels=labels).fit(X, sparse.csr_matrix(y)))
    assert_same(model, JointSparseClassifier(labels="signed").fit(X, Y if y.shape == Y.shape else Y[:, :1]), *alike)
    F = X @ model.coef_.T + model.intercept_
    np.testing.assert_array_equal(model.predict(X), coded(np.where(F > 0, 1, -1)))
    assert model.classes_.tolist() == classes and model.decision_function(X).shape == y.shape
    correct = model.predict(X) == y
    assert model.score(X, y) == (correct.all(axis=1) if labels == "classes" and y.ndim == 2 else correct).mean()


def test_with_several_classes_each_class_against_the_rest_is_a_task(X):
    y = np.array(["a", "c", "b"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = JointSparseClassifier(radius=3.0).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert_same(model, JointSparseClassifier(radius=3.0).fit(X, (y[:, np.newaxis] == model.classes_).astype(int)))
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])


def test_samples_marked_zero_are_not_part_of_a_masked_task(X, Y):
    Y = masked(Y)
    model = JointSparseClassifier(labels="masked").fit(X, Y)
    assert_same(
        model,
        JointSparseClassifier(labels="signed").fit_tasks([(X[y != 0], y[y != 0]) for y in Y.T]),
        JointSparseClassifier(labels="signed").fit(X, np.where(Y == 0, np.nan, Y)),
        JointSparseClassifier(labels="signed").fit(X, np.where(Y == 0, 1, Y), np.abs(Y)),
    )
    correct = model.predict(X)[Y != 0] == Y[Y != 0]
    assert model.score(X, Y) == model.score(X, sparse.csr_matrix(Y)) == correct.mean()


# Weights


@pytest.mark.parametrize(
    "model",
    [
        JointSparseClassifier(labels="signed"),
        JointSparseClassifier(labels="signed", class_weight={1: 2.0}),
        JointSparseClassifier(labels="signed", normalisation="mean"),
        JointSparseRegressor(),
    ],
)
@pytest.mark.parametrize("weights", [None, np.random.default_rng(3).random(40)], ids=["", "weights"])
def test_tasks_that_share_samples_equal_the_columns_of_a_matrix(model, weights, X, Y):
    expected = clone(model).fit(X, Y, weights)
    got = clone(model).fit_tasks([(X, y) for y in Y.T], None if weights is None else [weights] * 3)
    assert_same(got, expected)
    np.testing.assert_array_equal(got.predict(X), expected.predict(X))


@pytest.mark.parametrize("given", [None, np.random.default_rng(3).random(40)], ids=["", "weights"])
def test_balanced_positives_and_negatives_weigh_the_same_in_each_task(given, X, Y):
    Y = masked(Y)
    Y[:, 1] = np.abs(Y[:, 1])  # without negatives there is nothing to balance
    options = {"labels": "masked", "loss": "hinge", "radius": 1.0, "fit_intercept": False}
    model = JointSparseClassifier(class_weight="balanced", **options).fit(X, Y, given)
    c = np.abs(Y) * (1.0 if given is None else given[:, np.newaxis])
    np.testing.assert_allclose(model.objective_[0], c.sum())  # balancing does not change the total weight
    positive, negative = (c * (Y > 0)).sum(axis=0), (c * (Y < 0)).sum(axis=0)
    weights = c * c.sum(axis=0) / np.where(Y > 0, positive, np.maximum(negative, 1)) / 2
    weights[:, 1] = c[:, 1]
    by_hand = JointSparseClassifier(**options).fit(X, Y, weights)
    np.testing.assert_allclose(model.coef_, by_hand.coef_, atol=1e-12)


def test_a_class_weight_multiplies_the_samples_of_its_class_in_every_task(X, Y):
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    by_class = JointSparseClassifier(class_weight={"b": 2.0}).fit(X, y)
    assert_same(by_class, JointSparseClassifier().fit(X, y, np.where(y == "b", 2.0, 1.0)))
    by_label = JointSparseClassifier(labels="signed", class_weight={1: 0.0}).fit(X, Y)
    assert (by_label.predict(X) == -1).mean() > 0.4


# Results of fits


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("options", [{"radius": 3.0}, {"radius": None, "penalty": 0.5, "l2": 0.2}], ids=str)
def test_attributes_describe_the_problem_that_was_solved(options, norm, loss, solver, dtype, X, Y):
    """The last objective is that of the coefficients, and none is smaller."""
    model = JointSparseClassifier(norm, loss=loss, solver=solver, labels="signed", n_iter=25, tol=0.0, **options)
    X = X.astype(dtype)
    W, b = model.fit(X, Y).coef_.astype(float), model.intercept_.astype(float)
    F, size = X.astype(float) @ W.T + b, NORMS[norm].norm(W.T)
    np.testing.assert_allclose(model.decision_function(X), F, rtol=1e-5, atol=1e-5)
    expected = LOSSES[loss].value(F, Y).sum() + (model.penalty or 0.0) * np.sum(size) + model.l2 / 2 * (W**2).sum()
    np.testing.assert_allclose(model.objective_[-1], expected, rtol=1e-12)
    np.testing.assert_allclose(np.nanmin(model.objective_), expected, rtol=1e-5)  # float32 rounds others
    assert model.penalty or np.all(size <= 3.0 * (1 + 1e-6))
    assert model.objective_.shape == (model.n_iter_ + 1,) and model.duality_gap_ >= 0
    np.testing.assert_array_equal(model.selected_features_, np.flatnonzero(W.any(axis=0)))


def mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


FORMS = {  # features in other forms, and the precision of the results
    "int": (lambda X, folder: (10 * X).astype(int), np.float64),
    "float16": (lambda X, folder: mapped(X.astype(np.float16), folder), np.float32),
    "float32": (lambda X, folder: X.astype(np.float32), np.float32),
    **{
        form: (lambda X, folder, form=form: getattr(sparse, form)(X), np.float64)
        for form in ("csr_matrix", "csc_array", "coo_matrix", "csr_array")
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator", [*ALL, OnlineJointSparseClassifier])
def test_features_in_any_form_give_the_same_model_in_their_precision(estimator, form, tmp_path, X, Y):
    (convert, dtype), new = FORMS[form], (QUICK | SEEDED).get(estimator, estimator)
    given = convert(np.where(np.abs(X) > 0.7, X, 0), tmp_path)
    plain = (given.toarray() if sparse.issparse(given) else np.asarray(given)).astype(dtype)
    options = {} if estimator is OnlineJointSparseClassifier else {"tol": 1e-6}
    expected, got = (new(**options).fit(features, Y[:, 0]) for features in (plain, given))
    online = estimator is OnlineJointSparseClassifier  # whose weights are always float64
    assert got.coef_.dtype == got.intercept_.dtype == (np.float64 if online else dtype)
    np.testing.assert_allclose(got.coef_, expected.coef_, atol=1e-4 if sparse.issparse(given) else 0)
    for results in ("predict", "decision_function"):
        if hasattr(got, results):
            values = getattr(got, results)(given)
            np.testing.assert_allclose(values, getattr(got, results)(plain), atol=1e-5)
            assert results == "predict" or online or values.dtype == dtype


# Warnings


def test_folds_that_do_not_reach_tol_warn_once(X, Y):
    model = JointSparseClassifierCV(radii=[0.0, 3.0, 9.0], cv=4, tol=1e-9, n_iter=1)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y[:, 0])
    of_folds, final = (str(warning.message) for warning in caught)
    said = r"with radius=\S+, after 1 iterations, .* of the optimum .*, not within tol=1e-09: raise n_iter or tol$"
    assert re.match(said, final) and model.duality_gap_ > 1e-9 and model.n_iter_ == 1
    said = (
        r"of the 12 fits on the folds, 8 are not certified to be within 0.03 of their optima, only within \S+ .* worst"
    )
    assert re.match(said, of_folds) and of_folds.endswith(": raise n_iter or tol")


def test_folds_that_almost_reach_tol_cause_no_warning(X, Y, monkeypatch):
    def messages():
        with pytest.warns(ConvergenceWarning) as caught:  # there is always a warning about the final fit
            model = JointSparseClassifierCV(radii=[3.0], cv=2, tol=0.0, n_iter=10).fit(X, Y[:, 0])
        return model.results_by_norm_["l1inf"]["gaps"].max(), [str(warning.message)[:10] for warning in caught]

    gap, _ = messages()
    for share, expected in {0.6: ["with radiu"], 0.4: ["of the 2 f", "with radiu"]}.items():
        monkeypatch.setattr(search, "FOLD_TOL", share * gap)
        assert messages()[1] == expected


@pytest.mark.parametrize(("container", "advised"), [(np.asarray, True), (sparse.csr_matrix, False)])
def test_the_warning_advises_to_centre_dense_features(X, Y, container, advised):
    with pytest.warns(ConvergenceWarning, match=r"n_iter or tol, or centre the features$" if advised else r"or tol$"):
        JointSparseClassifier(radius=3.0, tol=1e-9, n_iter=1).fit(container(X - X.mean(axis=0) + 3 * X.std()), Y[:, 0])


def test_warnings_name_the_line_of_the_user(X, Y):
    y, rough = Y[:, 0], {"tol": 1e-9, "n_iter": 1}
    with pytest.warns(ConvergenceWarning) as caught:
        JointSparseClassifier(**rough).fit(X, y)
        JointSparseClassifierCV(**rough, radii=[1.0], cv=2).fit(X, y)
        make_pipeline(JointSparseRegressor(**rough)).fit(X, 1.0 * y)
        JointSparseClassifier(**rough).path(X, y, strengths=[1.0])
    assert [warning.filename for warning in caught] == [__file__] * 5


def test_the_subgradient_solver_does_not_warn_of_gaps(X, Y):
    model = JointSparseClassifier(solver="subgradient", n_iter=3, eta0=0.01, tol=1e-9).fit(X, Y[:, 0])
    assert model.duality_gap_ > 1e-9 and model.n_iter_ == 3
    assert JointSparseClassifier(solver="subgradient", eta0=0.01).fit(X, Y[:, 0]).n_iter_ == 200


@pytest.mark.parametrize(
    ("load", "hinted"),
    [
        (datasets.load_breast_cancer, True),
        (partial(datasets.load_diabetes, scaled=False), True),
        (datasets.load_digits, False),
    ],
)
def test_features_in_raw_units_cause_a_single_hint(load, hinted, recwarn):
    X, y = (array[::3] for array in load(return_X_y=True))
    components, counts = PCA().fit_transform(X), np.random.default_rng(0).poisson(0.1, X.shape)
    for form in (X, sparse.csr_matrix(X), StandardScaler().fit_transform(X), components, sparse.csr_matrix(counts)):
        JointSparseRegressorCV(radii=[0.1], cv=2, max_time=1e-6).fit(form, y)
    hints = [str(warning.message) for warning in recwarn if "features differ in size" in str(warning.message)]
    assert ["StandardScaler" in hint for hint in hints] == [True, False] * hinted


# Special cases


@pytest.mark.parametrize("solver", SOLVERS)
def test_memory_does_not_depend_on_the_maximum_of_iterations(solver, X, Y):
    """Memory for the objectives of all iterations would be 8 PB."""
    model = JointSparseClassifier(solver=solver, n_iter=10**15, callback=lambda t, *_: t >= 20).fit(X, Y[:, 0])
    assert len(model.objective_) == model.n_iter_ + 1 <= 31


@pytest.mark.filterwarnings("ignore:the chosen radius has a score:UserWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "estimator"), [*((10_001, one) for one in SINGLE), *((40, one) for one in SEARCH)])
def test_constant_features_give_zero_weights(estimator, n, dtype, rng):
    """The gradients are rounding errors, so they give no natural unit of radii."""
    model = estimator().fit(np.full((n, 2), [0.7, 3.3], dtype=dtype), (rng.random((n, 3)) < 0.3).astype(int))
    assert model.radius_ == 0 and not model.coef_.any() and model.duality_gap_ <= 1e-3


@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1e10, 1e30])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_automatic_radii_are_of_the_scale_of_the_features(loss, scale, X, Y):
    plain, scaled = (JointSparseClassifier(loss=loss).fit(factor * X, Y[:, 0]) for factor in (1.0, scale))
    assert scaled.radius_ * scale == pytest.approx(plain.radius_)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, atol=0.02 * np.abs(plain.coef_).max())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # some of these fits do not converge
@pytest.mark.parametrize(("dtype", "scale"), [(float, 1e70), (float, 1e-150), (np.float32, 1e12), (np.float32, 1e-37)])
@pytest.mark.parametrize("radius_of", [lambda scale: 1.0, lambda scale: 1 / scale], ids=["radius 1", "radius 1/scale"])
def test_features_of_extreme_scales_can_be_trained_on(dtype, scale, radius_of, X, Y):
    model = JointSparseClassifier(radius=radius_of(scale), n_iter=100).fit((scale * X).astype(dtype), Y[:, 0])
    assert np.isfinite(model.coef_).all() and 0 <= model.duality_gap_ <= 1 + 1e-9


# Invalid input


def spoilt(A, value, place=3):
    """Return a copy of A with one entry replaced."""
    A = np.array(A, dtype=float)
    A.flat[place] = value
    return A


def fit_label(labels, value):
    """Return a call that fits a matrix of labels of which one is invalid."""
    return lambda new, X, Y: new(labels=labels).fit(X, spoilt((Y + 1) / 2 if min(CODES[labels]) == 0 else Y, value, 10))


def hidden(array):
    """Return a masked array with one masked entry."""
    return np.ma.array(array, mask=np.arange(array.size).reshape(array.shape) == 3)


NOT_FINITE = "NaN|infinity"
PAIRS = "^tasks must be a list or a mapping of at least one pair"
LARGE = "^weights times labels of task 0 must be finite and at most .* in float64"


def beyond(X, form):
    """Return a sparse X with an entry in a column or row beyond its shape."""
    made = getattr(sparse, f"{form.lower()}_matrix")(X)
    (made.row if form == "COO" else made.indices)[3] = 2**31 - 1
    return made


WRONG_CALLS = [
    (
        CLASSIFIERS,
        fit_label("classes", 2),
        "^labels='classes' expects 0, 1 in a matrix y, got .2.0.; labels may also be '01'",
    ),
    (CLASSIFIERS, fit_label("classes", -1), "^labels='classes' expects 0, 1 in a matrix y, got .-1.0.;"),
    (
        CLASSIFIERS,
        fit_label("01", -1),
        "^labels='01' expects 0, 1 in y, got .-1.0.; .* be 'classes', 'signed', 'masked'$",
    ),
    (CLASSIFIERS, fit_label("signed", 0), "^labels='signed' expects -1, 1 in y, got .0.0.; labels may also be"),
    (CLASSIFIERS, fit_label("masked", 0.5), "^labels='masked' expects -1, 0, 1 in y, got .0.5.; labels may also be"),
    (
        CLASSIFIERS,
        lambda new, X, Y: new(labels="signed").fit(X, ["a", "b"] * 20),
        "^labels='signed' expects -1, 1 in y, got .'a'.; labels may also be 'classes', '01', 'masked'",
    ),
    (
        CLASSIFIERS,
        lambda new, X, Y: new().fit(X, ["a"] * 40),
        r"^labels='classes' expects two classes or more, got 1 class of positive weight, \['a'\]",
    ),
    (CLASSIFIERS, lambda new, X, Y: new().fit(X[:1], [1]), "1 class"),
    (SEARCH, lambda new, X, Y: new().fit(X[:1], [[1, 0]]), "splits|samples"),
    (CLASSIFIERS, lambda new, X, Y: new(class_weight={-1: 1.0, 1: 1e200}).fit(X, Y[:, 0]), LARGE),
    (CLASSIFIERS, lambda new, X, Y: new(class_weight={-1: 1.0, 1: np.inf}).fit(X, Y[:, 0]), LARGE),
    (
        CLASSIFIERS,
        lambda new, X, Y: new(labels="signed").fit(X, Y).score(X, Y[:, :2]),
        r"^y must have one row per sample and one column per task, \(40, 3\), got shape \(40, 2\)",
    ),
    (
        CLASSIFIERS,
        lambda new, X, Y: new(labels="masked").fit(X, Y).score(X, 0 * Y),
        "^y must hold at least one known label",
    ),
    (
        CLASSIFIERS,
        lambda new, X, Y: new(labels="masked").fit(X, Y).score(X, Y * (np.arange(40) < 5)[:, None], np.arange(40) >= 5),
        "^y must hold at least one known label of a sample with positive weight, got none",
    ),
    (
        [*ALL, OnlineJointSparseClassifier],
        lambda new, X, Y: new().fit(np.where(X > 1, np.inf, X).astype(np.float16), Y[:, 0]),
        "^X must be finite, got infinite numbers in float16, whose largest is 65,504: pass X as float32",
    ),
    (SINGLE, lambda new, X, Y: new().fit_tasks([]), PAIRS),
    (SINGLE, lambda new, X, Y: new().fit_tasks([[[1.0]]]), PAIRS),
    (SINGLE, lambda new, X, Y: new().fit_tasks([(X, Y[:, 0]), (X[:, :2], Y[:, 0])]), "features"),
    (SINGLE, lambda new, X, Y: new().fit_tasks([(X, Y[:2, 0])]), "inconsistent numbers of samples"),
    (
        SINGLE,
        lambda new, X, Y: new().fit_tasks([(X, Y[:, 0])], []),
        "^sample_weight must hold one array per task, 1, got 0",
    ),
    (
        [JointSparseClassifier],
        lambda new, X, Y: new().fit_tasks([(X[:2], [0, 1]), (X[:2], [1, 2])]),
        r"^labels='classes' expects two classes that are the same for all tasks, got 3 classes of .*, \[0, 1, 2",
    ),
    (SEARCH, lambda new, X, Y: new().fit(X, Y[:, 0], X_val=X), "^X_val and y_val must be given together"),
    (
        SEARCH,
        lambda new, X, Y: new().fit(X, Y > 0, X_val=X, y_val=Y[:, :2]),
        r"^y_val .* one column per task, \(40, 3\), got shape \(40, 2\)",
    ),
    (SEARCH, lambda new, X, Y: new().fit(X, Y > 0, X_val=X[:, :2], y_val=Y), "features"),
    (
        [JointSparseClassifierCV],
        lambda new, X, Y: new().fit(X, np.where(Y[:, 0] > 0, "yes", "no"), X_val=X, y_val=["no", "Yes"] * 20),
        r"^y_val must hold the classes \['no', 'yes'\], got \['Yes'\]",
    ),
    (
        ALL,
        lambda new, X, Y: new().fit(X, Y > 0, np.ones((40, 2))),
        r"^sample_weight must hold one number per sample, or one per sample and task, \(40, 3\), got shape \(40, 2\)",
    ),
    (ALL, lambda new, X, Y: new().fit(X, Y[:-1, 0]), "inconsistent numbers of samples"),
    (ALL, lambda new, X, Y: new().fit(X, Y[:, 0], np.ones(39)), "sample_weight"),
    (ALL, lambda new, X, Y: new().fit(X, Y[:, 0], -np.ones(40)), "sample_weight"),
    (ALL, lambda new, X, Y: new().fit(X, Y[:, 0], np.full(40, 1e200)), LARGE),
    (CLASSIFIERS, lambda new, X, Y: new().fit(X, Y[:, 0], np.full(40, 1e308)), LARGE),
    (ALL, lambda new, X, Y: new().fit(X, Y[:, 0], np.full(40, np.inf)), "sample_weight contains infinity"),
    (ALL, lambda new, X, Y: new().fit(spoilt(X, np.nan), Y[:, 0]), NOT_FINITE),
    (ALL, lambda new, X, Y: new().fit(spoilt(X, np.inf), Y[:, 0]), NOT_FINITE),
    (
        ALL,
        lambda new, X, Y: new().fit(X, np.full(40, np.nan)),
        "^y must hold at least one known value, got only",
    ),
    (ALL, lambda new, X, Y: new().fit(X, spoilt(Y[:, 0], np.inf)), NOT_FINITE),
    (ALL, lambda new, X, Y: new().fit(X, {"cat": Y[:, 0]}), "^y must be a vector or a matrix, got dict"),
    *(
        (
            [*ALL, OnlineJointSparseClassifier],
            lambda new, X, Y, tags=tags: new().fit(X, tags),
            "^y must be a vector or a matrix, got a list of tags per sample: .*MultiLabelBinarizer",
        )
        for tags in (
            [["cat"], ["dog", "sea"], [], ["sea"]] * 10,
            [["cat"], ["dog"]] * 20,  # lists of tags, not a column of classes
            [{"cat"}, {"dog", "sea"}] * 20,
            [np.array([1]), np.array([2, 3])] * 20,
        )
    ),
    *(
        (
            [JointSparseRegressor, JointSparseRegressorCV],
            lambda new, X, Y, y=y: new().fit(X, y),
            "^y must hold real numbers, got dtype ",
        )
        for y in (
            ["a", "b"] * 20,
            np.array([["a", "b"]] * 40),
            np.array(["a", "b"] * 20, dtype=object),
            np.zeros(40, "M8[D]"),
        )
    ),
    (
        [JointSparseRegressor],
        lambda new, X, Y: new().fit_tasks([(X, ["a"] * 40)]),
        "^y of task 0 must hold real numbers",
    ),
    (ALL, lambda new, X, Y: new().fit(X, Y[:, 0]).predict(spoilt(X, np.nan)), NOT_FINITE),
    *(
        ([*ALL, OnlineJointSparseClassifier], call, f"^X must be a valid {form} matrix, got an invalid one: ")
        for form in ("CSR", "CSC", "COO")
        for call in (
            lambda new, X, Y, form=form: new().fit(beyond(X, form), Y[:, 0]),
            lambda new, X, Y, form=form: new().fit(X, Y[:, 0]).predict(beyond(X, form)),
        )
    ),
    (ALL, lambda new, X, Y: new().fit(X, Y[:, 0]).predict(spoilt(X, np.inf)), NOT_FINITE),
    (ALL, lambda new, X, Y: new().fit(X, Y[:, 0]).predict(X[:, :5]), "X has 5 features"),
    (ALL, lambda new, X, Y: new().fit(X, Y[:, 0]).predict(X[0]), "1D"),
    (ALL, lambda new, X, Y: new().predict(X), "not fitted"),
    (
        [JointSparseRegressor],
        lambda new, X, Y: new().fit(X.astype(np.float32), 1e150 * Y[:, 0]),
        "^weights times labels of task 0 must be finite and at most .* in float32, got .*: scale them$",
    ),
    *(
        (estimators, call, f"^{name} must hold a number everywhere, got a masked array: fill it$")
        for name, estimators, call in (
            ("X", [*ALL, OnlineJointSparseClassifier], lambda new, X, Y: new().fit(hidden(X), Y[:, 0])),
            ("X", [*ALL, OnlineJointSparseClassifier], lambda new, X, Y: new().fit(X, Y[:, 0]).predict(hidden(X))),
            (
                "X",
                [*CLASSIFIERS, OnlineJointSparseClassifier],
                lambda new, X, Y: new().fit(X, Y[:, 0]).decision_function(hidden(X)),
            ),
            ("X", SINGLE, lambda new, X, Y: new().fit_tasks([(X, Y[:, 0]), (hidden(X), Y[:, 1])])),
            ("X", SEARCH, lambda new, X, Y: new().fit(X, Y[:, 0], X_val=hidden(X), y_val=Y[:, 0])),
            ("X", [OnlineJointSparseClassifier], lambda new, X, Y: new().partial_fit(hidden(X), Y[:, 0], [-1, 1])),
            ("y", [*ALL, OnlineJointSparseClassifier], lambda new, X, Y: new().fit(X, hidden(Y[:, 0]))),
            (
                "y",
                [*CLASSIFIERS, OnlineJointSparseClassifier],
                lambda new, X, Y: new().fit(X, Y[:, 0]).score(X, hidden(Y[:, 0])),
            ),
            ("y of task 1", SINGLE, lambda new, X, Y: new().fit_tasks([(X, Y[:, 0]), (X, hidden(Y[:, 1]))])),
            ("y_val", SEARCH, lambda new, X, Y: new().fit(X, Y[:, 0], X_val=X, y_val=hidden(Y[:, 0]))),
            ("y", [OnlineJointSparseClassifier], lambda new, X, Y: new().partial_fit(X, hidden(Y[:, 0]), [-1, 1])),
            (
                "sample_weight",
                [*ALL, OnlineJointSparseClassifier],
                lambda new, X, Y: new().fit(X, Y[:, 0], hidden(np.ones(40))),
            ),
        )
    ),
]


def for_each_estimator(rows):
    return [(estimator, *row) for estimators, *row in rows for estimator in estimators]


@pytest.mark.parametrize(("estimator", "call", "expected"), for_each_estimator(WRONG_CALLS))
def test_wrong_input_is_named(estimator, call, expected, X, Y):
    with pytest.raises(ValueError, match=expected):
        call(QUICK.get(estimator, estimator), X, Y)


WRONG_OPTIONS = [
    (ALL, {"norm": "l3"}, r"^norm must be one of .*l1inf.*, got 'l3'"),
    ([*ALL, OnlineJointSparseClassifier], {"norm": ["l1"]}, r"^norm must be one of .*l1inf.*, got \['l1'\]"),
    (ALL, {"solver": "adam"}, r"^solver must be one of .*pdhg.*, got 'adam'"),
    (ALL, {"normalisation": "median"}, "^normalisation must be 'sum' or 'mean', got 'median'"),
    (ALL, {"n_iter": 0}, "^n_iter must be a whole number of at least 1, got 0"),
    (ALL, {"n_iter": 1.5}, "^n_iter must be a whole number of at least 1, got 1.5"),
    (ALL, {"tol": -1.0}, r"^tol must be at least 0, got -1\.0"),
    (ALL, {"tol": "small"}, "^tol must be a number, got 'small'"),
    (ALL, {"solver": "subgradient", "eta0": 0.0}, r"^eta0 must be greater than 0, got 0\.0"),
    (CLASSIFIERS, {"loss": "hing"}, r"^loss must be one of .*hinge.*, got 'hing'"),
    (CLASSIFIERS, {"labels": "10"}, "^labels must be one of 'classes', '01', 'signed', 'masked', got '10'"),
    (CLASSIFIERS, {"labels": ["01"]}, "^labels must be one of 'classes', '01', 'signed', 'masked', got .'01'"),
    (CLASSIFIERS, {"class_weight": "even"}, "^class_weight must be 'balanced', a dict or None, got 'even'"),
    (CLASSIFIERS, {"class_weight": [1.0, 2.0]}, r"^class_weight must be 'balanced', a dict or None, got \[1"),
    *((ALL, {name: "no"}, f"^{name} must be True or False, got 'no'") for name in SWITCHES),
    (ALL, {"l2": -1.0}, r"^l2 must be at least 0, got -1\.0"),
    (ALL, {"callback": 3}, "^callback must be a function or None, got 3"),
    (CLASSIFIERS, {"class_weight": {2: 1.0}}, r"^class_weight must name classes of y, \[-1, 1\], got \[2\]"),
    (CLASSIFIERS, {"class_weight": {1: -1.0}}, "^class_weight must hold non-negative numbers, got"),
    (SINGLE, {"radius": -1.0}, r"^radius must be at least 0, got -1\.0"),
    (SINGLE, {"radius": "1"}, "^radius must be a number, got '1'"),
    (SINGLE, {"radius": b"1"}, "^radius must be a number, got b'1'"),
    (SEARCH, {"radii": ["1"]}, "^each of radii must be a number, got .*'1'"),
    (SINGLE, {"radius": np.nan}, "^radius must be at least 0, got nan"),
    (SINGLE, {"radius": np.inf}, "^radius must be finite, got inf"),
    (SINGLE, {"radius": None, "penalty": -2}, r"^penalty must be at least 0, got -2\.0"),
    (SINGLE, {"radius": None}, "^exactly one of radius and penalty must be given .* None, got None and None"),
    (SINGLE, {"radius": 1.0, "penalty": 1.0}, r"^exactly one of radius and penalty must be given .* got 1\.0 and 1\.0"),
    (SEARCH, {"radii": [1.0, -1.0]}, r"^each of radii must be at least 0, got -1\.0"),
    (SEARCH, {"radii": []}, "^radii must hold at least one number, got none"),
    (SEARCH, {"radii": None}, "^exactly one of radii and penalties must be given"),
    (SEARCH, {"radii": [1.0], "penalties": [1.0]}, "^exactly one of radii and penalties must be given"),
    (SEARCH, {"radii": None, "penalties": []}, "^penalties must hold at least one number, got none"),
    (SEARCH, {"solver": "subgradient", "eta0": []}, "^eta0 must hold at least one number, got none"),
    (SEARCH, {"cv": []}, "^cv must give at least one fold, got none"),
    *(
        (
            SEARCH,
            {"validation_tasks": tasks},
            "^validation_tasks must hold indices of tasks, from 0 to 0, or one bool per task",
        )
        for tasks in ([3], [], [True, False], [[0]], [0.5])
    ),
]


@pytest.mark.parametrize(("estimator", "options", "expected"), for_each_estimator(WRONG_OPTIONS))
def test_wrong_parameters_are_named_and_leave_the_model_as_it_was(estimator, options, expected, X, Y):
    model = QUICK.get(estimator, estimator)().fit(X, Y[:, 0]).set_params(**options)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=expected):
        model.fit(X[:30], -Y[:30, 0])
    assert pickle.dumps(model) == before


# Agreement with scikit-learn's own estimators


@pytest.mark.parametrize(
    ("norm", "peer", "targets"),
    [
        ("l1", Lasso(0.1), lambda Y: Y[:, 0]),
        ("l1inf", Lasso(0.1), lambda Y: Y[:, 0]),
        ("l1", Lasso(0.1), lambda Y: np.where(np.arange(50) < 25, 0.0, Y[:, 0])),  # a target of 0 counts, too
        ("l12", MultiTaskLasso(0.2), lambda Y: Y),
        ("l1inf", ElasticNet(0.2, l1_ratio=0.5), lambda Y: Y[:, 0]),
        ("l12", MultiTaskElasticNet(0.4, l1_ratio=0.5), lambda Y: Y),
    ],
)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_mean_losses_with_a_penalty_are_the_lasso_or_the_elastic_net(norm, peer, targets, fit_intercept):
    X, Y = regression()
    y, options = targets(Y), {"fit_intercept": fit_intercept, "tol": 1e-10}
    expected = clone(peer).set_params(**options).fit(X, y)
    options |= {"penalty": peer.alpha * peer.l1_ratio, "l2": peer.alpha * (1 - peer.l1_ratio), "normalisation": "mean"}
    model = JointSparseRegressor(norm, None, **options).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-5)
    np.testing.assert_array_equal(model.selected_features_, np.flatnonzero(np.atleast_2d(expected.coef_).any(axis=0)))


# Regression


def test_targets_of_a_vector_and_of_a_column():
    X, Y = regression()
    vector, column = (JointSparseRegressor(radius=3.0).fit(X, y) for y in (Y[:, 0], Y[:, :1]))
    assert (vector.coef_.shape, np.ndim(vector.intercept_), vector.predict(X).shape) == ((8,), 0, (50,))
    assert (column.intercept_.shape, column.predict(X).shape) == ((1,), (50, 1))
    np.testing.assert_array_equal(vector.coef_, column.coef_[0])
    several = JointSparseRegressor(radius=None, penalty=5.0, tol=1e-6).fit(X, Y)
    assert several.selected_features_.tolist() == [0, 1, 2]
    assert several.score(X, Y) == pytest.approx(r2_score(Y, several.predict(X))) and several.score(X, Y) > 0.9


# Choosing a radius


def test_scores_are_the_average_auc_of_the_validation_tasks_in_each_fold(X, Y):
    folds, tasks = KFold(3, shuffle=True, random_state=0), [0, 2]
    model = JointSparseClassifierCV(radii=[3.0, 0.1], labels="signed", cv=folds, validation_tasks=tasks).fit(X, Y)
    expected = []
    for train, test in folds.split(X):
        fits = [JointSparseClassifier(radius=radius, labels="signed").fit(X[train], Y[train]) for radius in (0.1, 3.0)]
        F = [fit.decision_function(X[test])[:, tasks] for fit in fits]
        expected.append([metrics.auc(scores, Y[test][:, tasks] > 0).mean() for scores in F])
    np.testing.assert_allclose(model.scores_, np.transpose(expected))
    means = model.scores_.mean(axis=1)
    assert (model.grid_.tolist(), model.best_score_, model.penalty_) == ([0.1, 3.0], means.max(), None)
    assert model.radius_ == model.grid_[means.argmax()] and np.isnan(model.eta0_)
    assert_same(model, JointSparseClassifier(radius=model.radius_, labels="signed").fit(X, Y))


def test_tasks_without_both_labels_in_a_fold_do_not_count_there(X, Y):
    Y[:, 1] = 1
    options = {"labels": "signed", "cv": 3, "radii": [1.0, 3.0]}
    with pytest.warns(UserWarning, match=r"^1 of 3 tasks have no positives or .* of the 3 folds .*: label 1$"):
        some = JointSparseClassifierCV(**options).fit(X, Y)
    others = JointSparseClassifierCV(validation_tasks=[0, 2], **options).fit(X, Y)
    np.testing.assert_array_equal(some.scores_, others.scores_)
    said = pytest.raises(ValueError, match=r"^the held-out samples of some fold must include a positive and a negative")
    with said, pytest.warns(UserWarning, match="^1 of 1 tasks have no positives"):
        JointSparseClassifierCV(validation_tasks=[1], **options).fit(X, Y)


@pytest.mark.filterwarnings("ignore:the chosen radius has a score:UserWarning")
def test_folds_without_both_labels_do_not_count(X, Y):
    y = np.where(np.arange(40) < 20, Y[:, 0], 1)
    model = JointSparseClassifierCV(
        radii=[0.1, 1.0, 10.0], cv=[(np.arange(20, 40), np.arange(20)), (np.arange(20), np.arange(20, 40))]
    ).fit(X, y)
    np.testing.assert_array_equal(np.isnan(model.scores_), [[False, True]] * 3)
    assert model.best_score_ == model.scores_[:, 0].max()


# Combination with other parts of scikit-learn


@pytest.mark.parametrize(("offset", "dtype"), [(0.0, np.float64), (1e3, np.float32), (1e5, np.float64)])
def test_targets_far_from_zero_are_learnt_as_well(offset, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)).astype(dtype)
    y = X @ [1.0, 2.0, 0.0, 0.0] + offset + 0.1 * rng.normal(size=50)
    model = JointSparseRegressor(radius=5.0).fit(X, y)
    assert model.score(X, y) > 0.99
    assert abs(model.intercept_ - offset) < 0.2


# Classifiers with given weights


def test_a_classifier_with_given_weights_predicts_like_the_one_that_learnt_them(X, Y):
    pd = pytest.importorskip("pandas")
    names, parameters = ["cat", "dog", "owl"][: Y.shape[1]], {"radius": 2.0, "norm": "l12", "loss": "hinge"}
    frame = pd.DataFrame((Y > 0).astype(int), columns=names)
    fitted = JointSparseClassifier(**parameters).fit(X, frame).calibrate(X, frame)
    given = {"calibration": fitted.calibration_, "gap": fitted.duality_gap_}
    model = JointSparseClassifier.from_coef(fitted.coef_, fitted.intercept_, names, **given, **parameters)
    for predict in ("predict", "predict_proba", "decision_function"):
        pd.testing.assert_frame_equal(getattr(model, predict)(X), getattr(fitted, predict)(X))
    for name in ("classes_", "selected_features_", "radius_", "penalty_", "duality_gap_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(fitted, name))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coef": np.ones(2)}, r"coef must be float64 or float32 of shape \(2, any\), got float64 of shape \(2,\)"),
        ({"coef": np.full((2, 3), np.inf)}, "coef must hold finite numbers, got others"),
        ({"intercept": np.zeros(3)}, r"intercept must be float64 or float32 of shape \(2\)"),
        ({"calibration": np.ones((2, 1))}, r"calibration must be float64 or float32 of shape \(2, 2\)"),
        ({"radius": "auto"}, "radius must be a number"),
        ({"norm": "l3"}, "norm must be one of"),
        ({"loss": "l3"}, "loss must be one of"),
    ],
)
def test_given_weights_must_be_finite_and_fit_the_tasks(changes, message):
    given = {"coef": np.ones((2, 3)), "intercept": np.zeros(2), "classes": ["cat", "dog"], "radius": 1.0} | changes
    with pytest.raises(ValueError, match=message):
        JointSparseClassifier.from_coef(**given)
