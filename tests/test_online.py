"""Facts of online learning: lazy steps are eager steps, regret grows like sqrt(T), nothing changes when refused."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from jointsparse.estimators.online import OnlineJointSparseClassifier
from jointsparse.learning.lazy import Eager, Lazy, csr
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import pdhg
from jointsparse.norms import NORMS
from jointsparse.norms.l1_sparse import SparseL1Ball
from jointsparse.registry import pick


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def examples(rng, n, d, density=0.3):
    return sparse.random(n, d, density=density, format="csr", random_state=rng, data_rvs=rng.standard_normal)


def signs(rng, X, m, noise=0.1):
    """Labels of tasks that share the first few features, some of them flipped."""
    W = np.zeros((X.shape[1], m))
    W[:4] = rng.choice([-1.0, 1.0], (4, 1)) * rng.uniform(0.5, 1.5, (4, m))
    return np.where((X @ W + 1e-9 > 0) ^ (rng.random((X.shape[0], m)) < noise), 1, -1)


def online(**options):
    return OnlineJointSparseClassifier(**{"labels": "signed", "eta0": 0.5, **options})


def streams(model, X, Y, size=1, **options):
    for start in range(0, len(Y), size):
        model.partial_fit(X[start : start + size], Y[start : start + size], **options)
    return model


# The projection without looking at every row


@pytest.mark.parametrize("norm", ["l1", "l1inf"])
@pytest.mark.parametrize(("d", "m", "radius"), [(30, 5, 1.0), (150, 12, 5.0), (20, 3, 1e-3), (1, 4, 0.5), (40, 1, 0.3)])
def test_lazy_steps_are_eager_steps(rng, norm, d, m, radius):
    lazy, eager = (kind(d, m, norm, radius, True) for kind in (Lazy, Eager))
    for t in range(800):
        X = examples(rng, rng.integers(1, 4), d)
        G = rng.normal(size=(X.shape[0], m)) * (rng.random((X.shape[0], m)) < 0.5) * (t % 10 > 0) / np.sqrt(t + 1)
        np.testing.assert_allclose(lazy.margins(csr(X)), eager.margins(X), atol=1e-12)
        lazy.step(csr(X), G)
        eager.step(X, G)
        if t % 20 == 0:
            np.testing.assert_allclose(lazy.last(), eager.last(), atol=1e-13)
            np.testing.assert_allclose(lazy.sum() / lazy.t, eager.sum() / eager.t, atol=1e-13)
    assert np.max(NORMS[norm].norm(lazy.last())) <= radius * (1 + 1e-15)


@pytest.mark.parametrize("norm", ["l1", "l1inf"])
def test_a_hundred_thousand_steps_gather_no_error(norm):
    rng = np.random.default_rng(1)
    d, m, T = 40, 4, 100_000
    lazy, eager = (kind(d, m, norm, 2.0, True) for kind in (Lazy, Eager))
    features, values = rng.integers(0, d, (T, 3)), rng.normal(size=(T, 3))
    steps = rng.normal(size=(T, 1, m)) * 0.1  # all of one length: the rounding of Theta grows most
    for t in range(T):
        X = sparse.csr_array((values[t], features[t], [0, 3]), shape=(1, d))
        lazy.step(csr(X), steps[t])
        np.add.at(eager.W, features[t], values[t][:, np.newaxis] * steps[t])
        pick("norms", norm).project(eager.W, 2.0, out=eager.W)
        eager.total += eager.W
    np.testing.assert_allclose(lazy.last(), eager.W, atol=1e-10)
    np.testing.assert_allclose(lazy.sum() / T, eager.total / T, atol=1e-10)


def test_ties_and_entries_that_come_back_to_zero(rng):
    lazy, eager = (kind(12, 6, "l1inf", 1.5, False) for kind in (Lazy, Eager))
    for _ in range(1000):
        X = sparse.csr_array(rng.integers(-1, 2, (2, 12)).astype(float))
        G = rng.integers(-2, 3, (2, 6)) / 8
        lazy.step(csr(X), G)
        eager.step(X, G)
        np.testing.assert_allclose(lazy.last(), eager.last(), atol=1e-13)


@pytest.mark.parametrize("norm", ["l1", "l1inf"])
@pytest.mark.parametrize("scale", [1e-100, 1e-9, 1.0, 1e9, 1e100])
def test_steps_of_very_different_length_in_units_of_any_size(rng, norm, scale):
    lazy, eager = (kind(25, 4, norm, 2.0 * scale, False) for kind in (Lazy, Eager))
    for _ in range(500):
        X = examples(rng, 1, 25)
        G = rng.standard_t(1.0, size=(1, 4)) * scale
        lazy.step(csr(X), G)
        eager.step(X, G)
        np.testing.assert_allclose(lazy.last(), eager.last(), atol=1e-13 * max(scale, np.abs(G).max()))


@given(
    d=st.integers(1, 6),
    m=st.integers(1, 5),
    norm=st.sampled_from(["l1", "l1inf"]),
    radius=st.sampled_from([0.0, 0.25, 1.0, 3.0, np.inf]),
    steps=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-4, 4)), max_size=6), max_size=12
    ),
)
def test_any_sequence_of_steps(d, m, norm, radius, steps):
    lazy, eager = (kind(d, m, norm, radius, True) for kind in (Lazy, Eager))
    for step in steps:
        X = sparse.csr_array(
            (np.ones(len(step)), [i % d for i, _, _ in step], range(len(step) + 1)), shape=(len(step), d)
        )
        G = np.zeros((len(step), m))
        for n, (_, j, x) in enumerate(step):
            G[n, j % m] = x / 4
        lazy.step(csr(X), G)
        eager.step(X, G)
        np.testing.assert_allclose(lazy.last(), eager.last(), atol=1e-13)
        np.testing.assert_allclose(lazy.sum(), eager.sum(), atol=1e-13)


def test_one_task_is_the_l1_ball_under_sparse_updates(rng):
    lazy, ball = Lazy(60, 1, "l1inf", 2.0, False), SparseL1Ball(60, 2.0)
    for _ in range(500):
        features, values = rng.choice(60, 5, replace=False), rng.normal(size=5)
        lazy.step(csr(sparse.csr_array((values, features, [0, 5]), shape=(1, 60))), np.ones((1, 1)))
        ball.add(features, values)
        np.testing.assert_allclose(lazy.last()[:, 0], ball.toarray(), atol=1e-13)


def test_a_feature_that_no_example_holds_is_not_visited():
    """A step must not read the other rows: here they are spoiled once nobody may look at them."""
    lazy = Lazy(50, 3, "l1inf", 0.5, False)
    lazy.step(csr(sparse.csr_array(np.eye(1, 50))), np.full((1, 3), 5.0))
    lazy.values[0, 10:] = np.nan
    lazy.step(csr(sparse.csr_array(np.eye(1, 50, 1))), np.full((1, 3), 0.1))
    np.testing.assert_allclose(lazy.balls["level"], 0.5)
    assert np.isfinite(lazy.margins(csr(sparse.csr_array(np.eye(1, 50))))).all()


# The estimator


@pytest.mark.parametrize("norm", ["l1", "l1inf"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
@pytest.mark.parametrize("average", [False, True])
def test_sparse_is_dense(rng, norm, loss, average):
    X = examples(rng, 300, 30)
    Y, X_test = signs(rng, X, 5), examples(rng, 20, 30)
    lazy, eager = (
        streams(online(norm=norm, loss=loss, average=average, radius=2.0), A, Y, 2) for A in (X, X.toarray())
    )
    np.testing.assert_allclose(lazy.coef_, eager.coef_, atol=1e-12)
    for A in (X_test, X_test.toarray()):
        for model in (lazy, eager):
            np.testing.assert_allclose(model.decision_function(A), A @ eager.coef_.T, atol=1e-11)
    assert list(lazy.selected_features_) == list(eager.selected_features_)


@pytest.mark.parametrize("norm", list(NORMS))
def test_dense_and_sparse_examples_in_turns(rng, norm):
    X = examples(rng, 60, 20)
    Y = signs(rng, X, 4)
    mixed, eager = (online(norm=norm, average=True) for _ in range(2))
    for start in range(0, 60, 10):
        part = slice(start, start + 10)
        streams(mixed, X[part] if start % 20 else X[part].toarray(), Y[part])
        streams(eager, X[part].toarray(), Y[part])
    np.testing.assert_allclose(mixed.coef_, eager.coef_, atol=1e-12)
    assert mixed.t_ == eager.t_ == 60


def test_steps_by_hand(rng):
    X, Y = examples(rng, 30, 10).toarray(), rng.choice([-1, 0, 1], (30, 3))
    W, total = np.zeros((10, 3)), np.zeros((10, 3))
    for t in range(10):
        part = slice(3 * t, 3 * t + 3)
        F = X[part] @ W
        active = np.where(Y[part] * F < 1, Y[part], 0)
        W = NORMS["l1inf"].project(W + 0.7 / np.sqrt(t + 1) * X[part].T @ active / 3, 1.5)
        total += W
    model = streams(online(eta0=0.7, radius=1.5, labels="masked"), X, Y, 3)
    np.testing.assert_allclose(model.coef_, W.T, atol=1e-14)
    model = streams(online(eta0=0.7, radius=1.5, labels="masked", average=True), X, Y, 3)
    np.testing.assert_allclose(model.coef_, total.T / 10, atol=1e-14)


def test_fit_is_partial_fit_in_some_order(rng):
    X = examples(rng, 40, 15).toarray()
    Y = signs(rng, X, 3)
    fitted = online(max_iter=2, batch_size=5, random_state=3).fit(X, Y)
    orders, expected = np.random.RandomState(3), online()
    for _ in range(2):
        order = orders.permutation(40)
        streams(expected, X[order], Y[order], 5)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    assert fitted.t_ == 16
    np.testing.assert_array_equal(fitted.fit(X, Y).coef_, expected.coef_)


@pytest.mark.parametrize(
    ("labels", "of_signs"), [("signed", lambda Y: Y), ("01", lambda Y: (Y + 1) // 2), ("classes", lambda Y: Y > 0)]
)
def test_codings_of_labels(rng, labels, of_signs):
    X = examples(rng, 50, 8).toarray()
    Y = signs(rng, X, 3)
    expected = streams(online(), X, Y)
    model = streams(online(labels=labels), X, of_signs(Y).astype(int))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.predict(X), of_signs(expected.predict(X)))


def test_vectors_of_classes(rng):
    X = rng.normal(size=(300, 4))
    y = np.array(["ant", "bee", "cat"])[X[:, :3].argmax(axis=1)]
    model = streams(online(labels="classes", radius=5.0), X, y, classes=["cat", "bee", "ant"])
    assert model.coef_.shape == (3, 4)
    assert model.score(X, y) > 0.8
    two = y != "cat"
    model = streams(online(labels="classes", radius=5.0), X[two], y[two], classes=["ant", "bee"])
    assert model.coef_.shape == (1, 4)
    assert model.decision_function(X).shape == (300,)
    assert model.score(X[two], y[two]) > 0.8


def test_weights(rng):
    X = examples(rng, 30, 8).toarray()
    Y, weights = signs(rng, X, 2), rng.integers(0, 2, 30)
    kept = weights > 0
    np.testing.assert_array_equal(
        online().partial_fit(X, Y, sample_weight=weights).coef_, online().partial_fit(X[kept], Y[kept]).coef_
    )
    doubled = online(eta0=0.25).partial_fit(X, Y, sample_weight=np.full(30, 2.0))
    np.testing.assert_allclose(doubled.coef_, online().partial_fit(X, Y).coef_, atol=1e-15)
    by_class = online(class_weight={1: 2.0, -1: 2.0}, eta0=0.25).partial_fit(X, Y)
    np.testing.assert_array_equal(by_class.coef_, doubled.coef_)
    masked = online(labels="masked").partial_fit(X, Y).partial_fit(X, 0 * Y)
    assert masked.t_ == 1  # a sample that is part of no task is no example


def test_radius_zero(rng):
    X = examples(rng, 20, 6)
    Y = signs(rng, X, 2)
    for A in (X, X.toarray()):
        model = streams(online(radius=0.0, average=True), A, Y)
        assert not model.coef_.any()
        assert model.t_ == 20
        assert model.selected_features_.size == 0


@pytest.mark.parametrize("make", [lambda X: X, lambda X: X.toarray()], ids=["sparse", "dense"])
def test_float32(rng, make):
    X = examples(rng, 100, 20).astype(np.float32)
    Y = signs(rng, X, 3)
    model, expected = streams(online(), make(X), Y), streams(online(), make(X.astype(np.float64)), Y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    assert model.coef_.dtype == np.float64


@pytest.mark.parametrize("make", [lambda X: X, lambda X: X.toarray()], ids=["sparse", "dense"])
def test_pickle_copy_and_clone(rng, make):
    X = examples(rng, 60, 10)
    Y, X = signs(rng, X, 3), make(X)
    model = streams(online(average=True), X[:30], Y[:30])
    copies = pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model
    for each in copies:
        streams(each, X[30:], Y[30:])
        np.testing.assert_array_equal(each.coef_, copies[0].coef_)
    with pytest.raises(NotFittedError):
        _ = clone(model).coef_


def nan_in(X):
    return np.where(np.arange(X.shape[1]) == 2, np.nan, X)


REFUSED = {
    "NaN": (lambda X, Y: (nan_in(X), Y), {}, "NaN"),
    "infinity": (lambda X, Y: (X + np.inf, Y), {}, "infinity"),
    "NaN in y": (lambda X, Y: (X, Y * np.nan), {}, "NaN"),
    "labels": (lambda X, Y: (X, 3 * Y), {}, "labels='signed' expects"),
    "columns of y": (lambda X, Y: (X, Y[:, :2]), {}, "one column per task, 3, got 2"),
    "vector": (lambda X, Y: (X, Y[:, 0]), {}, "y must be a matrix"),
    "lengths": (lambda X, Y: (X, Y[:-1]), {}, "inconsistent numbers of samples"),
    "features": (lambda X, Y: (X[:, 1:], Y), {}, "expecting 5 features"),
    "empty": (lambda X, Y: (X[:0], Y[:0]), {}, "0 sample"),
    "weights": (lambda X, Y: (X, Y), {"sample_weight": -np.ones(4)}, "Negative values"),
    "no weight": (lambda X, Y: (X, Y), {"sample_weight": np.zeros(4)}, "at least one non-zero"),
    "classes": (lambda X, Y: (X, Y), {"classes": [0, 1]}, r"classes must be \[-1, 1\]"),
    "overflow": (lambda X, Y: (X * 1e200, Y), {}, "too long"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("kind", [sparse.csr_array, np.asarray], ids=["sparse", "dense"])
def test_a_refused_call_changes_nothing(rng, kind, case):
    spoil, options, message = REFUSED[case]
    X = rng.normal(size=(4, 5))
    Y = rng.choice([-1, 1], (4, 3))
    model = online(average=True).partial_fit(kind(X), Y)
    before, attributes = pickle.dumps(model), set(vars(model))
    bad_X, bad_Y = spoil(X, Y)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(kind(bad_X), bad_Y, **options)
    assert pickle.dumps(model) == before
    assert set(vars(model)) == attributes
    if "columns" not in case and case not in ("vector", "features"):  # these suit a first call
        model = online()
        with pytest.raises(ValueError, match=message):
            model.partial_fit(kind(bad_X), bad_Y, **options)
        assert vars(model) == vars(online())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "l3"}, "norms knows l1, l12, l1inf, l2; got 'l3'"),
        ({"loss": "cubic"}, "losses knows"),
        ({"radius": -1.0}, "radius must be at least 0, got -1.0"),
        ({"radius": np.inf}, "radius must be finite"),
        ({"eta0": 0.0}, "eta0 must be greater than 0, got 0.0"),
        ({"eta0": "fast"}, "eta0 must be a number"),
        ({"labels": "plus"}, "labels must be one of"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"batch_size": 1.5}, "batch_size must be a whole number"),
    ],
)
def test_parameters_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        online(**options).fit([[1.0], [2.0]], [[1, -1], [-1, 1]])


def test_what_partial_fit_alone_refuses():
    X, y = [[1.0], [2.0]], ["no", "yes"]
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        online(labels="classes").partial_fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        online(labels="classes").partial_fit(X, y, classes=["no"])
    with pytest.raises(ValueError, match=r"must hold the classes \['maybe', 'no'\], got .*'yes'"):
        online(labels="classes").partial_fit(X, y, classes=["no", "maybe"])
    with pytest.raises(ValueError, match="class_weight must be a dict or None"):
        online(class_weight="balanced").partial_fit(X, [1, -1])
    model = online().partial_fit(X, [1, -1])
    for option in ({"radius": 2.0}, {"norm": "l1"}, {"average": True}):
        with pytest.raises(ValueError, match="must stay as they were"):
            copy.deepcopy(model).set_params(**option).partial_fit(X, [1, -1])


def test_a_column_of_classes_is_a_vector_with_a_warning():
    with pytest.warns(DataConversionWarning):
        model = online(labels="classes").partial_fit([[1.0], [-1.0]], [["b"], ["a"]], classes=["a", "b"])
    assert model.predict([[3.0]]).tolist() == ["b"]


def test_regret_grows_like_the_root_of_time():
    """The slope of log regret against log T, regret against the best fixed W of the first T examples."""
    slopes = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3000, 20))
        Y, loss = signs(rng, X, 4), pick("losses", "hinge")
        model, losses, regret = online(radius=3.0, eta0=0.1), np.empty(3000), []
        model.partial_fit(0 * X[:1], Y[:1])  # W = 0
        for t in range(3000):
            losses[t] = loss.value(X[t : t + 1] @ model.coef_.T, Y[t : t + 1]).sum()
            model.partial_fit(X[t : t + 1], Y[t : t + 1])
        horizons = [100, 300, 1000, 3000]
        for T in horizons:
            problem = Problem.from_matrix(X[:T], Y[:T])
            best = pdhg.fit(problem, loss=loss, norm=NORMS["l1inf"], strength=np.array([3.0]), n_iter=2000, tol=1e-4)
            assert best.gap[0] <= 1e-4
            regret.append(losses[:T].sum() - best.bound[0])  # no fixed W does better than the bound
        assert min(regret) > 0
        slopes.append(np.polyfit(np.log(horizons), np.log(regret), 1)[0])
    assert np.mean(slopes) <= 0.6


SAMPLE_WEIGHTS = "a sample twice is two steps, a sample of weight 2 is one longer step, and fit draws another order"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": SAMPLE_WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": SAMPLE_WEIGHTS,
    "check_class_weight_classifiers": "without an intercept no half-space holds nearly all samples",
}


@pytest.mark.parametrize("options", [{}, {"norm": "l1"}, {"average": True}], ids=str)
def test_scikit_learn_conventions(options):
    found = check_estimator(
        OnlineJointSparseClassifier(**options), expected_failed_checks=EXPECTED_FAILURES, on_skip=None, on_fail=None
    )
    assert [result for result in found if result["status"] == "failed"] == []
    assert {result["check_name"] for result in found if result["status"] == "xfail"} == set(EXPECTED_FAILURES)


def test_labels_stay_as_they_were():
    model = OnlineJointSparseClassifier(labels="01").partial_fit([[1.0], [-1.0]], [1, 0])
    with pytest.raises(ValueError, match="labels must stay '01', as at the first step, got 'signed'"):
        model.set_params(labels="signed").partial_fit([[1.0], [-1.0]], [1, -1])
