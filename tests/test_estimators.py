"""The estimators: codings of labels, weights, norms with weights and groups, warnings, watched fits, invalid input."""

import itertools
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from common import masked, problem, regression
from entry_points import beyond
from scipy import sparse
from sklearn import base, datasets, decomposition, preprocessing
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
)
from jointsparse.estimators.base import SWITCHES
from jointsparse.estimators.classifier import CODES
from jointsparse.estimators.watch import Watch
from jointsparse.learning.losses import LOSSES
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import NORMS

X, Y = problem()
# Quick searches, for tests that are not about the search.
CLASSIFIER_CV, REGRESSOR_CV = (
    partial(estimator, radii=[1.0], cv=2) for estimator in (JointSparseClassifierCV, JointSparseRegressorCV)
)


def assert_same(*models):
    expected, *others = ([m.coef_, m.intercept_, m.objective_, m.duality_gap_, m.n_iter_] for m in models)
    for got in others:
        np.testing.assert_equal(got, expected)


# Codings of labels


@pytest.mark.parametrize(
    ("labels", "coded", "classes"),
    [
        ("classes", lambda Y: (Y + 1) // 2, [0, 1, 2]),
        ("01", lambda Y: (Y + 1) // 2, [0, 1, 2]),
        ("masked", lambda Y: Y, [0, 1, 2]),
        ("classes", lambda Y: np.where(Y[:, 0] > 0, "yes", "no"), ["no", "yes"]),
        ("signed", lambda Y: Y[:, 0], [-1, 1]),
        ("masked", lambda Y: Y[:, :1], [0]),
    ],
)
def test_every_coding_gives_the_same_model_as_signs(labels, coded, classes):
    y, signs = coded(Y), Y if coded(Y).shape == Y.shape else Y[:, :1]
    forms = [y, y.tolist()] + ([sparse.csr_matrix(y)] if y.shape == Y.shape else [])
    model, *alike = (JointSparseClassifier(labels=labels).fit(X, form) for form in forms)
    assert_same(model, JointSparseClassifier(labels="signed").fit(X, signs), *alike)
    np.testing.assert_array_equal(model.predict(X), coded(np.where(X @ model.coef_.T + model.intercept_ > 0, 1, -1)))
    assert model.classes_.tolist() == classes and model.decision_function(X).shape == y.shape
    correct = model.predict(X) == y
    assert model.score(X, y) == (correct.all(axis=1) if labels == "classes" and y.ndim == 2 else correct).mean()


def test_samples_marked_zero_are_not_part_of_a_masked_task():
    Y_0, model = masked(Y), JointSparseClassifier(labels="masked").fit(X, masked(Y))
    assert_same(
        model,
        JointSparseClassifier(labels="signed").fit_tasks([(X[y != 0], y[y != 0]) for y in Y_0.T]),
        JointSparseClassifier(labels="signed").fit(X, np.where(Y_0 == 0, np.nan, Y_0)),
        JointSparseClassifier().fit(X, np.where(Y_0 == 0, np.nan, Y_0 > 0)),
        JointSparseClassifier(labels="signed").fit(X, np.where(Y_0 == 0, 1, Y_0), np.abs(Y_0)),
    )
    assert model.score(X, Y_0) == model.score(X, sparse.csr_matrix(Y_0)) == (model.predict(X) == Y_0)[Y_0 != 0].mean()


# Weights of samples and classes

WEIGHTS = np.random.default_rng(3).random(40)


@pytest.mark.parametrize(
    "model",
    [
        JointSparseClassifier(labels="signed", class_weight={1: 2.0}),
        JointSparseClassifier(labels="signed", normalisation="mean"),
        JointSparseRegressor(),
    ],
)
def test_tasks_that_share_samples_equal_the_columns_of_a_matrix(model):
    assert_same(base.clone(model).fit_tasks([(X, y) for y in Y.T], [WEIGHTS] * 3), model.fit(X, Y, WEIGHTS))


def test_balanced_positives_and_negatives_weigh_the_same_in_each_task():
    Y_0 = np.where([False, True, False], np.abs(masked(Y)), masked(Y))  # without negatives there is nothing to balance
    options = {"labels": "masked", "loss": "hinge", "radius": 1.0, "fit_intercept": False}
    model = JointSparseClassifier(class_weight="balanced", **options).fit(X, Y_0, WEIGHTS)
    c = np.abs(Y_0) * WEIGHTS[:, np.newaxis]
    np.testing.assert_allclose(model.objective_[0], c.sum())  # balancing does not change the total weight
    of_sign = [(c * (sign == Y_0)).sum(axis=0) for sign in (1, -1)]
    weights = c * c.sum(axis=0) / np.where(Y_0 > 0, of_sign[0], np.maximum(of_sign[1], 1)) / 2
    weights[:, 1] = c[:, 1]
    np.testing.assert_allclose(model.coef_, JointSparseClassifier(**options).fit(X, Y_0, weights).coef_, atol=1e-12)


@pytest.mark.parametrize(
    ("y", "label"),
    [(np.array([*"abc"])[np.digitize(X[:, 0], [-0.5, 0.5])], "b"), ((Y + 1) // 2, 1)],
    ids=["a vector", "a matrix"],
)
def test_a_class_weight_multiplies_the_samples_of_its_class_in_every_task(y, label):
    model = JointSparseClassifier(class_weight={label: 2.0}).fit(X, y)
    assert_same(model, JointSparseClassifier().fit(X, y, np.where(y == label, 2.0, 1.0)))


# Weights and groups of features, signs


@pytest.mark.parametrize("norm", [name for name, norm in NORMS.items() if norm.GROUPED])
def test_a_group_of_features_is_selected_as_a_whole(norm):
    pairs = JointSparseClassifier(norm, radius=1.0, labels="signed", groups=["a", "b", "c", "c", "b", "a"]).fit(X, Y)
    used = pairs.coef_.any(axis=0)
    assert used[:3].tolist() == used[:2:-1].tolist() and 0 < used.sum() < 6


def test_weights_are_non_negative_if_positive():
    any_sign, positive = (JointSparseRegressor(positive=value).fit(X, -Y).coef_ for value in (False, True))
    assert any_sign.min() < 0 == positive.min() < positive.max()


def test_weighting_a_feature_by_w_equals_dividing_it_by_w():
    # W x = (w W) (x / w), and the norm with weights counts w |W|.
    w = np.linspace(0.5, 4.0, 6)
    model = JointSparseRegressor(feature_weights=w, tol=1e-8).fit(X, Y)
    expected = JointSparseRegressor(tol=1e-8).fit(X / w, Y)
    assert model.radius_ == pytest.approx(expected.radius_)  # the natural unit of the data
    np.testing.assert_allclose(model.coef_ * w, expected.coef_, atol=1e-4)


# Results of fits


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("case", "solver", "dtype"),
    [
        *zip(
            itertools.product(LOSSES, NORMS),  # four norms, so that each loss meets all three solvers
            itertools.cycle(SOLVERS),
            itertools.cycle([np.float64, np.float32]),
            strict=False,
        )
    ],
)
@pytest.mark.parametrize(
    "options",
    [{"radius": 3.0}, {"radius": None, "penalty": 0.5, "l2": 0.2}, {"radius": 3.0, "normalisation": "mean"}],
    ids=str,
)
def test_attributes_describe_the_problem_that_was_solved(options, case, solver, dtype):
    # The last objective is that of the coefficients, and none is smaller.
    (loss, norm), X_0 = case, X.astype(dtype)
    model = JointSparseClassifier(norm, loss=loss, solver=solver, labels="signed", n_iter=25, tol=0.0, **options)
    W, b = model.fit(X_0, Y).coef_.astype(float), model.intercept_.astype(float)
    F, size = X_0.astype(float) @ W.T + b, NORMS[norm].norm(W.T)
    np.testing.assert_allclose(model.decision_function(X_0), F, rtol=1e-5, atol=1e-5)
    share = 1 / 40 if "normalisation" in options else 1
    expected = (
        share * LOSSES[loss].value(F, Y).sum() + (model.penalty or 0.0) * np.sum(size) + model.l2 / 2 * (W**2).sum()
    )
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-12)
    assert np.nanmin(model.objective_) == pytest.approx(expected, rel=1e-5)  # float32 rounds others
    assert model.penalty or np.all(size <= 3.0 * (1 + 1e-6))
    assert model.objective_.shape == (model.n_iter_ + 1,) and model.duality_gap_ >= 0
    np.testing.assert_array_equal(model.selected_features_, np.flatnonzero(W.any(axis=0)))


@pytest.mark.parametrize(
    ("convert", "dtype"),
    [
        (lambda X: (10 * X).astype(int), np.float64),
        (lambda X: X.astype(np.float16), np.float32),
        (lambda X: X.astype(np.float32), np.float32),
        (sparse.csr_matrix, np.float64),
        (sparse.coo_array, np.float64),
        (lambda X: sparse.csr_array(X, dtype=np.float32), np.float32),
    ],
    ids=["int", "float16", "float32", "csr_matrix", "coo_array", "csr_array of float32"],
)
@pytest.mark.parametrize(
    "model",
    [
        JointSparseClassifier(tol=1e-6),
        JointSparseClassifier("l1", penalty=5.0, tol=1e-6),
        JointSparseRegressor(penalty=1.0, tol=1e-6),
        REGRESSOR_CV(tol=1e-6),
        OnlineJointSparseClassifier(random_state=0),
    ],
    ids=["classifier", "penalised classifier", "penalised regressor", "search", "online"],
)
def test_features_in_any_form_give_the_same_model_in_their_precision(model, convert, dtype):
    given = convert(np.where(np.abs(X) > 0.7, X, 0))
    plain = (given.toarray() if sparse.issparse(given) else given).astype(dtype)
    expected, got = (base.clone(model).fit(features, Y[:, 0]) for features in (plain, given))
    # The weights of online learning are always float64.
    assert got.coef_.dtype == got.intercept_.dtype == (np.float64 if hasattr(model, "partial_fit") else dtype)
    np.testing.assert_allclose(got.coef_, expected.coef_, atol=1e-4 if sparse.issparse(given) else 0)
    np.testing.assert_allclose(got.predict(given), got.predict(plain), atol=1e-5)


def test_the_score_of_targets_is_the_mean_of_their_weighted_r2():
    model, c = JointSparseRegressor(penalty=5.0).fit(X, Y), np.arange(40)
    assert model.score(X, Y, c) == pytest.approx(r2_score(Y, model.predict(X), sample_weight=c))


@pytest.mark.parametrize(("offset", "dtype"), [(1e3, np.float32), (1e5, np.float64)])
def test_targets_far_from_zero_are_learnt_as_well(offset, dtype):
    features, T = regression()
    model = JointSparseRegressor(radius=5.0).fit(features.astype(dtype), T[:, 0] + offset)
    assert model.score(features, T[:, 0] + offset) > 0.99 and model.intercept_ - offset == pytest.approx(10, abs=0.2)


# Warnings


def test_folds_that_do_not_reach_tol_warn_once():
    with pytest.warns(ConvergenceWarning) as caught:
        JointSparseClassifierCV(radii=[0.0, 3.0, 9.0], cv=4, tol=1e-9, n_iter=1).fit(X, Y[:, 0])
    folds, final = (str(warning.message) for warning in caught)
    assert re.match(
        "of the 12 fits on the folds, 8 are not .* within 0.03 of their optima, only .* worst: raise", folds
    )
    assert re.match(r"with radius=\S+, after 1 iterations, .*, not within tol=1e-09: raise n_iter or tol$", final)


@pytest.mark.parametrize(
    ("load", "hinted"),
    [
        (datasets.load_breast_cancer, True),
        (partial(datasets.load_diabetes, scaled=False), True),
        (datasets.load_digits, False),
    ],
)
def test_features_that_differ_in_size_cause_one_hint_with_a_scaler_that_suits_them_and_others_none(
    load, hinted, recwarn
):
    raw, y = (array[::3] for array in load(return_X_y=True))
    for form in (
        raw,
        sparse.csr_matrix(raw),
        preprocessing.StandardScaler().fit_transform(raw),
        decomposition.PCA().fit_transform(raw),
        np.random.default_rng(0).poisson(0.1, raw.shape),
    ):
        JointSparseRegressor(max_time=1e-6).fit(form, y)
    hints = [str(warning.message) for warning in recwarn if "features differ in size" in str(warning.message)]
    assert ["StandardScaler" in hint for hint in hints] == [True, False] * hinted  # sparse features: MaxAbsScaler


# Special cases


@pytest.mark.filterwarnings("ignore:the chosen radius has a score:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "n", "dtype"),
    [(JointSparseClassifier, 10_001, np.float32), (JointSparseRegressorCV, 40, np.float64)],
)
def test_constant_features_give_zero_weights(estimator, n, dtype, rng):
    # The gradients are rounding errors, so they give no natural unit of radii.
    model = estimator().fit(np.full((n, 2), [0.7, 3.3], dtype=dtype), (rng.random((n, 3)) < 0.3).astype(int))
    assert model.radius_ == 0 and not model.coef_.any() and model.duality_gap_ <= 1e-3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # some of these fits do not converge
@pytest.mark.parametrize(
    ("dtype", "scale", "radius"),
    [(float, 1e70, 1.0), (float, 1e-150, 1e150), (np.float32, 1e12, 1e-12), (np.float32, 1e-37, 1.0)],
)
def test_features_of_extreme_scales_can_be_trained_on(dtype, scale, radius):
    model = JointSparseClassifier(radius=radius, n_iter=100).fit((scale * X).astype(dtype), Y[:, 0])
    assert np.isfinite(model.coef_).all() and 0 <= model.duality_gap_ <= 1 + 1e-9


# Watched fits

SAMPLES, SIGNS = problem(n=80, d=12)
WATCHED = {"labels": "signed", "loss": "hinge", "radius": 3.0, "tol": 1e-10}


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_callback_sees_the_certificates_that_verbose_prints_and_may_end_the_fit(solver, capsys):
    calls, stop = [], {"n_iter": 10**15, "callback": lambda *report: calls.append(report) or len(calls) == 4}
    # Memory for the objectives of all iterations would be 8 PB.
    model = JointSparseClassifier(solver=solver, verbose=True, **WATCHED | stop).fit(SAMPLES, SIGNS)
    proven = [f"iteration {t:5d}: objective {value:.6g}, gap {gap:.2g}" for t, value, gap in calls if gap == gap]
    assert capsys.readouterr().out.splitlines() == proven
    assert len(calls) == 4 and model.n_iter_ == calls[-1][0] and model.objective_.shape == (model.n_iter_ + 1,)
    assert WATCHED["tol"] < model.duality_gap_ < np.inf


def test_a_fit_ends_after_max_time_with_a_warning():
    with pytest.warns(ConvergenceWarning, match=r"not within tol=1e-10: raise max_time=1e-09 or tol"):
        model = JointSparseClassifier(max_time=1e-9, **WATCHED).fit(SAMPLES, SIGNS)
    assert model.n_iter_ <= 10


@pytest.mark.parametrize("grid", [{"radii": [0.1, 1.0, 3.0, 10.0, 30.0]}, {"radii": None, "penalties": 5}, {}])
def test_folds_that_run_out_of_time_choose_among_the_most_regularised_fits(grid, monkeypatch):
    ticks, labels = itertools.count(), (SIGNS + 1) // 2  # on this clock, each reading is a second later
    monkeypatch.setattr("jointsparse.estimators.watch.time", SimpleNamespace(monotonic=ticks.__next__))
    whole = JointSparseClassifierCV(cv=2, max_time=1e9, **grid).fit(SAMPLES, labels)
    needed = next(ticks)
    time, said = 9 * needed // 10, r"was long enough for \d (radii|penalties) only, the most"
    with pytest.warns(ConvergenceWarning, match=f"^max_time={time} {said}"):
        model = JointSparseClassifierCV(cv=2, max_time=time, **grid).fit(SAMPLES, labels)
    n = len(model.grid_)
    assert next(ticks) - needed < needed and model.scores_.shape == (n, 2) and n < len(whole.grid_)
    assert model.grid_.tolist() == (whole.grid_[-n:] if "penalties" in grid else whole.grid_[:n]).tolist()


@pytest.fixture
def listening():
    # The process that runs the tests may ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def raise_interrupt(iteration, objective, gap):
    raise KeyboardInterrupt


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    ("solver", "interrupt"),
    [
        *((solver, raise_interrupt) for solver in SOLVERS),
        ("working_set", lambda *report: signal.raise_signal(signal.SIGINT)),
    ],
)
def test_an_interrupted_fit_keeps_its_solution_and_raises_afterwards(solver, interrupt):
    model = JointSparseClassifier(solver=solver, callback=interrupt, **WATCHED)
    with pytest.raises(KeyboardInterrupt):
        model.fit(SAMPLES, SIGNS)
    assert model.predict(SAMPLES).shape == SIGNS.shape and model.duality_gap_ > 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("listening")
def test_a_second_interrupt_ends_at_once():
    with Watch(None, None, False):
        signal.raise_signal(signal.SIGINT)  # only noted
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("listening")
def test_a_fit_in_another_thread_does_not_handle_interrupts():
    assert ThreadPoolExecutor().submit(JointSparseClassifier().fit, SAMPLES, SIGNS > 0).result().n_iter_ > 0


@pytest.mark.parametrize(
    ("estimator", "solver"), [(JointSparseClassifier, "working_set"), (JointSparseRegressor, "pdhg")]
)
def test_a_warm_start_begins_at_the_last_fit(estimator, solver):
    model = estimator(radius=2.0, solver=solver, tol=1e-6, warm_start=True).fit(SAMPLES, SIGNS[:, 0])
    cold, coef = model.n_iter_, model.coef_
    assert model.fit(SAMPLES, SIGNS[:, 0]).n_iter_ <= cold / 4
    np.testing.assert_allclose(model.coef_, coef, atol=1e-3)
    for rows, columns in ((slice(50), slice(12)), (slice(80), slice(5))):  # only the weights can be reused, or nothing
        model.fit(SAMPLES[rows, columns], SIGNS[rows, 0])
        np.testing.assert_allclose(
            model.coef_, base.clone(model).fit(SAMPLES[rows, columns], SIGNS[rows, 0]).coef_, atol=0.02
        )
    assert model.set_params(warm_start=False).fit(SAMPLES, SIGNS[:, 0]).n_iter_ == cold


def test_the_subgradient_method_starts_anew_with_warm_start():
    model = JointSparseClassifier(solver="subgradient", eta0=0.1, warm_start=True, n_iter=5).fit(SAMPLES, SIGNS[:, 0])
    np.testing.assert_array_equal(model.objective_, model.fit(SAMPLES, SIGNS[:, 0]).objective_)


# Invalid input: test_labels.py has what all entry points refuse


def fit_label(labels, value):
    return lambda: JointSparseClassifier(labels=labels).fit(
        X, np.where(np.arange(120).reshape(Y.shape) == 10, value, (Y + 1) / 2 if min(CODES[labels]) == 0 else Y)
    )


def given(**changes):
    return JointSparseClassifier.from_coef(
        **{"coef": np.ones((2, 3)), "intercept": np.zeros(2), "classes": ["cat", "dog"], "radius": 1.0} | changes
    )


labelled = cache(lambda: JointSparseClassifier(labels="signed").fit(X, Y))


LARGE = "^weights times labels of task 0 must be finite and at most .* in float64"
PAIRS = "^tasks must be a list or a mapping of at least one pair"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (fit_label("classes", 2), "^labels='classes' expects 0, 1 in a matrix y, got .2.0.; labels may also be '01'"),
        (fit_label("01", -1), "^labels='01' expects 0, 1 in y, got .-1.0.; .* be 'classes', 'signed', 'masked'$"),
        (fit_label("signed", 0), "^labels='signed' expects -1, 1 in y, got .0.; labels may also be"),
        (fit_label("masked", 0.5), "^labels='masked' expects -1, 0, 1 in y, got .0.5.; labels may also be"),
        (
            lambda: JointSparseClassifier(labels="signed").fit(X, ["a", "b"] * 20),
            "^labels='signed' expects .*, got .'a'.",
        ),
        (
            lambda: JointSparseClassifier().fit(X, ["a"] * 40),
            r"^labels='classes' expects two classes or more, got 1 class of .*\['a'\]",
        ),
        (lambda: JointSparseClassifier(class_weight={-1: 1.0, 1: 1e200}).fit(X, Y[:, 0]), LARGE),
        (lambda: labelled().score(X, Y[:, :2]), r"^y must have .* one column per task, \(40, 3\), got shape \(40, 2\)"),
        (
            lambda: JointSparseClassifier(labels="masked").fit(X, Y).score(X, 0 * Y),
            "^y must hold at least one known label of a sample with positive weight, got none",
        ),
        (lambda: labelled().score(X, Y[:, 0]), r"^y must have .* one column per task, \(40, 3\), got shape \(40,"),
        (lambda: labelled().predict(np.empty((0, 6), np.float16)), r"^Found array with 0 sample\(s\)"),
        *(
            (
                lambda sign=sign: JointSparseClassifier().fit(
                    (np.where(X > 1, np.inf, X) * sign).astype(np.float16), Y[:, 0]
                ),
                "^X must be finite, got infinite numbers in float16, whose largest is 65,504: pass X as float32",
            )
            for sign in (-1, 1)
        ),
        *(
            (
                lambda form=form: JointSparseClassifier().fit(beyond(X, form), Y[:, 0]),
                f"^X must be a valid {form} matrix",
            )
            for form in ("CSC", "COO")
        ),
        (lambda: JointSparseClassifier().fit_tasks([]), PAIRS),
        (lambda: JointSparseClassifier().fit_tasks([[[1.0]]]), PAIRS),
        (lambda: JointSparseClassifier().fit_tasks([(X, Y[:, 0]), (X[:, :2], Y[:, 0])]), "features"),
        (
            lambda: JointSparseClassifier().fit_tasks([(X, Y[:, 0])], []),
            "^sample_weight must hold one .* task, 1, got 0",
        ),
        (
            lambda: JointSparseClassifier().fit_tasks([(X[:2], [0, 1]), (X[:2], [1, 2])]),
            r"^labels='classes' expects two classes that are the same for all tasks, got 3 classes of .*, \[0, 1, 2",
        ),
        (
            lambda: JointSparseClassifier().fit_tasks({"cat": (X, Y[:, 0]), "dog": (X, np.full(40, np.nan))}),
            "^y of task dog must hold at least one known value, got only missing values",
        ),
        (lambda: JointSparseRegressor().fit_tasks([(X, ["a"] * 40)]), "^y of task 0 must hold real numbers"),
        (lambda: JointSparseRegressor().fit(X, ["a", "b"] * 20), "^y must hold real numbers, got dtype "),
        (lambda: JointSparseRegressor().fit(X, np.zeros(40, "M8[D]")), "^y must hold real numbers, got dtype "),
        (
            lambda: JointSparseRegressor().fit(X.astype(np.float32), 1e150 * Y[:, 0]),
            "^weights times labels of .* float32",
        ),
        (
            lambda: JointSparseRegressor().fit(X, Y).score(X[:1], Y[:1]),
            "^y must hold at least two known values of some",
        ),
        (lambda: JointSparseRegressor().fit(X, Y[:, 0], np.full(40, 1e200)), LARGE),
        (lambda: JointSparseClassifier().fit(X, {"cat": Y[:, 0]}), "^y must be a vector or a matrix, got dict"),
        (
            lambda: JointSparseClassifier().fit(X, Y > 0, np.ones((40, 2))),
            r"^sample_weight .*, \(40, 3\), got shape \(40",
        ),
        (lambda: JointSparseClassifier().get_support(), "^This JointSparseClassifier instance is not fitted yet"),
        (lambda: JointSparseClassifier().fit(X, Y[:, 0], np.ones(39)), "sample_weight"),
        (lambda: JointSparseClassifier().fit(X, Y[:, 0], -np.ones(40)), "sample_weight"),
        (
            lambda: JointSparseClassifier().fit(X, Y[:, 0], np.ma.array(WEIGHTS, mask=WEIGHTS > 0.9)),
            "^sample_weight must",
        ),
        (lambda: CLASSIFIER_CV().fit(X, Y[:, 0], X_val=X), "^X_val and y_val must be given together"),
        (lambda: CLASSIFIER_CV().fit(X, Y > 0, X_val=X, y_val=Y[:, :2]), r"^y_val .* \(40, 3\), got shape \(40, 2\)"),
        (lambda: CLASSIFIER_CV().fit(X, Y > 0, X_val=X[:, :2], y_val=Y), "features"),
        (
            lambda: CLASSIFIER_CV().fit(X, np.where(Y[:, 0] > 0, "yes", "no"), X_val=X, y_val=["no", "Yes"] * 20),
            r"^y_val must hold the classes \['no', 'yes'\], got \['Yes'\]",
        ),
        (
            lambda: CLASSIFIER_CV().fit(X, Y > 0, X_val=X, y_val=Y > 0, groups=WEIGHTS),
            "^X_val replaces the folds, so fit takes no groups with it$",
        ),
        (
            lambda: CLASSIFIER_CV(cv=[(np.arange(20), np.arange(20, 40))]).fit(
                X, np.where(np.arange(40) > 20, 1, Y[:, 0])
            ),
            "^the held-out samples of some fold must include a positive and a negative",
        ),
        (lambda: JointSparseClassifier().predict(X), "not fitted"),
        # weights that are given
        (
            lambda: given(coef=np.ones(2)),
            r"coef must be float64 or float32 of shape \(2, any\), got float64 of shape \(2,",
        ),
        (lambda: given(coef=np.full((2, 3), np.inf)), "coef must hold finite numbers, got others"),
        (lambda: given(intercept=np.zeros(3)), r"intercept must be float64 or float32 of shape \(2\)"),
        (lambda: given(calibration=np.ones((2, 1))), r"calibration must be float64 or float32 of shape \(2, 2\)"),
        (lambda: given(radius="auto"), "radius must be a number"),
        (lambda: given(norm="l3"), "norm must be one of"),
        (lambda: given(loss="l3"), "loss must be one of"),
        # a label that cannot be calibrated
        (
            lambda: labelled().calibrate(X, np.where([True, False, True], Y, -1)),
            "^label 1 must have .*, got no positive$",
        ),
        (
            lambda: JointSparseClassifier().fit(X, np.where(Y[:, 0] > 0, "yes", "no")).calibrate(X, ["yes"] * 40),
            "^label yes .*, got no negative$",
        ),
    ],
)
def test_wrong_input_is_named(call, expected):
    with pytest.raises(ValueError, match=expected):
        call()


CLASSIFIER, FEATURES = JointSparseClassifier, "feature_weights must hold a positive number"


@pytest.mark.parametrize(
    ("estimator", "options", "expected"),
    [
        (CLASSIFIER, {"norm": "l3"}, r"^norm must be one of .*l1inf.*, got 'l3'"),
        (CLASSIFIER_CV, {"norm": "l3"}, r"^norm must be one of auto, .*l1inf.*, got 'l3'"),
        (CLASSIFIER, {"norm": ["l1"]}, r"^norm must be one of .*l1inf.*, got \['l1'\]"),
        (CLASSIFIER, {"solver": "adam"}, r"^solver must be one of .*pdhg.*, got 'adam'"),
        (CLASSIFIER, {"normalisation": "median"}, "^normalisation must be 'sum' or 'mean', got 'median'"),
        (CLASSIFIER, {"n_iter": 0}, "^n_iter must be a whole number of at least 1, got 0"),
        (CLASSIFIER, {"tol": -1.0}, r"^tol must be at least 0, got -1\.0"),
        (REGRESSOR_CV, {"tol": "small"}, "^tol must be a number, got 'small'"),
        (CLASSIFIER, {"solver": "subgradient", "eta0": 0.0}, r"^eta0 must be greater than 0, got 0\.0"),
        (CLASSIFIER, {"loss": "hing"}, r"^loss must be one of .*hinge.*, got 'hing'"),
        (CLASSIFIER, {"labels": ["01"]}, "^labels must be one of 'classes', '01', 'signed', 'masked', got .'01'"),
        *((CLASSIFIER, {name: "no"}, f"^{name} must be True or False, got 'no'") for name in SWITCHES),
        (CLASSIFIER, {"l2": -1.0}, r"^l2 must be at least 0, got -1\.0"),
        (CLASSIFIER, {"callback": 3}, "^callback must be a function or None, got 3"),
        (CLASSIFIER, {"max_time": 0}, "^max_time must be above 0 and finite, got 0"),
        (CLASSIFIER, {"class_weight": "even"}, "^class_weight must be 'balanced', a dict or None, got 'even'"),
        (CLASSIFIER, {"class_weight": {2: 1.0}}, r"^class_weight must name classes of y, \[-1, 1\], got \[2\]"),
        (CLASSIFIER, {"class_weight": {1: -1.0}}, "^class_weight must hold non-negative numbers, got"),
        (CLASSIFIER, {"radius": -1.0}, r"^radius must be at least 0, got -1\.0"),
        (CLASSIFIER, {"radius": "1"}, "^radius must be a number, got '1'"),
        (JointSparseRegressor, {"radius": np.inf}, "^radius must be finite, got inf"),
        (CLASSIFIER, {"radius": None, "penalty": -2}, r"^penalty must be at least 0, got -2\.0"),
        (CLASSIFIER, {"radius": None}, "^exactly one of radius and penalty must be given .* None, got None and None"),
        (
            CLASSIFIER,
            {"radius": 1.0, "penalty": 1.0},
            r"^exactly one of radius and penalty must be .* got 1\.0 and 1\.0",
        ),
        (CLASSIFIER, {"norm": "l2", "feature_weights": np.ones(6)}, "^feature_weights must be None with norm='l2'"),
        (CLASSIFIER, {"norm": "l1", "groups": np.arange(6)}, "^groups must be None with norm='l1'"),
        (CLASSIFIER, {"feature_weights": np.zeros(6)}, rf"^{FEATURES} for each of 6 features, got \[0\.\]"),
        (CLASSIFIER, {"feature_weights": np.ones(7)}, rf"^{FEATURES} for each of 6 features, got shape \(7,\)"),
        (CLASSIFIER, {"feature_weights": {"x0": 2.0}}, "^feature_weights must hold real numbers, got"),
        (
            CLASSIFIER,
            {"groups": [0] * 6, "feature_weights": np.ones(6)},
            "for each of 1 groups, in the order of their sor",
        ),
        (CLASSIFIER, {"groups": [0] * 7}, r"^groups must name a group for each of 6 features, got shape \(7,\)"),
        (CLASSIFIER, {"groups": [0.0, np.nan] * 3}, r"^groups must have no missing names, got \[0.0, nan"),
        (
            CLASSIFIER,
            {"groups": ["a", None] * 3},
            r"^groups must hold names that are all of the same type, got \['a', Non",
        ),
        (CLASSIFIER_CV, {"radii": ["1"]}, "^each of radii must be a number, got .*'1'"),
        (CLASSIFIER_CV, {"radii": [1.0, -1.0]}, r"^each of radii must be at least 0, got -1\.0"),
        (CLASSIFIER_CV, {"radii": []}, "^radii must hold at least one number, got none"),
        (CLASSIFIER_CV, {"radii": "all"}, "^radii must be 'auto', a list of radii or their number, got 'all'"),
        (CLASSIFIER_CV, {"radii": 0}, "^n_points must be a whole number of at least 1, got 0"),  # radii: how many
        (CLASSIFIER_CV, {"radii": None}, "^exactly one of radii and penalties must be given"),
        (CLASSIFIER_CV, {"radii": None, "penalties": []}, "^penalties must hold at least one number, got none"),
        (CLASSIFIER_CV, {"solver": "subgradient", "eta0": []}, "^eta0 must hold at least one number, got none"),
        (CLASSIFIER_CV, {"cv": []}, "^cv must give at least one fold, got none"),
        (CLASSIFIER_CV, {"scoring": "auc"}, "scoring"),
        (CLASSIFIER_CV, {"scoring": lambda *_: np.nan}, "^scoring must return one finite number, got nan"),
        (REGRESSOR_CV, {"scoring": lambda *_: None}, "^scoring must return one finite number, got None"),
        (CLASSIFIER_CV, {"selection": "median"}, "^selection must be one of best, one_standard_error, got 'median'"),
        (CLASSIFIER_CV, {"norm": "auto"}, "^radii must be the number of radii.* if norm='auto', because radii of "),
        (
            CLASSIFIER_CV,
            {"norm": "auto", "radii": None, "penalties": [0.1]},
            "^penalties must be the number of penalties",
        ),
        *(
            (
                CLASSIFIER_CV,
                {"validation_tasks": tasks},
                "^validation_tasks must hold indices of tasks, from 0 to 0, or one",
            )
            for tasks in ([3], [], [True, False], [[0]], [0.5])
        ),
    ],
)
def test_wrong_parameters_are_named_and_leave_the_model_as_it_was(estimator, options, expected):
    model = estimator().fit(X, Y[:, 0]).set_params(**options)
    before = vars(model).copy()
    with pytest.raises(ValueError, match=expected):
        model.fit(X[:30], -Y[:30, 0])
    assert vars(model) == before
