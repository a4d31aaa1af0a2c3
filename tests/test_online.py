"""Online learning: lazy steps give the same result as eager steps, and a call that fails changes nothing."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from jointsparse.estimators.online import OnlineJointSparseClassifier
from jointsparse.learning.lazy import ONE_BALL_PER_TASK, Eager, Lazy, csr
from jointsparse.learning.losses import LOSSES
from jointsparse.norms import NORMS


def examples(rng, n, d, density=0.3):
    return sparse.random(n, d, density=density, format="csr", random_state=rng, data_rvs=rng.standard_normal)


def signs(rng, X, m, noise=0.1):
    """Draw labels of tasks that share the first few features, and flip some of the labels."""
    W = np.zeros((X.shape[1], m))
    W[:4] = rng.choice([-1.0, 1.0], (4, 1)) * rng.uniform(0.5, 1.5, (4, m))
    return np.where((X @ W + 1e-9 > 0) ^ (rng.random((X.shape[0], m)) < noise), 1, -1)


def draw(rng, n, d, m):
    """Draw sparse examples, and signs of m tasks."""
    X = examples(rng, n, d)
    return X, signs(rng, X, m)


LAZY = sorted(ONE_BALL_PER_TASK)


def to_dense(X):
    return X.toarray() if sparse.issparse(X) else X


KINDS = pytest.mark.parametrize("make", [sparse.csr_array, to_dense], ids=["sparse", "dense"])


def online(**options):
    return OnlineJointSparseClassifier(**{"labels": "signed", "eta0": 0.5, **options})


def streams(model, X, Y, size=1, **options):
    for start in range(0, len(Y), size):
        model.partial_fit(X[start : start + size], Y[start : start + size], **options)
    return model


def both(d, m, norm, radius):
    return (kind(d, m, norm, radius) for kind in (Lazy, Eager))


def assert_same_steps(lazy, eager, steps, atol=lambda G: 1e-13):
    """Take the steps (X, G) with both iterates, and compare margins and weights, which must stay in the ball."""
    for X, G in steps:
        np.testing.assert_allclose(lazy.margins(csr(X)), eager.margins(X), atol=10 * atol(G))
        lazy.step(csr(X), G)
        eager.step(X, G)
        np.testing.assert_allclose(lazy.last(), eager.last(), atol=atol(G))
        assert np.all(NORMS[lazy.norm].norm(lazy.last()) <= lazy.radius * (1 + 1e-15))


# Lazy steps


@pytest.mark.parametrize("norm", LAZY)
@pytest.mark.parametrize("scale", [1e-100, 1e-9, 1.0, 1e9, 1e100])
def test_steps_of_very_different_length_in_units_of_any_size(rng, norm, scale):
    steps = ((examples(rng, 1, 25), rng.standard_t(1.0, size=(1, 4)) * scale) for _ in range(120))
    assert_same_steps(*both(25, 4, norm, 2.0 * scale), steps, lambda G: 1e-13 * max(scale, np.abs(G).max()))


def test_a_feature_that_occurs_in_no_example_is_not_read():
    lazy = Lazy(50, 3, "l1inf", 0.5)
    lazy.step(csr(sparse.csr_array(np.eye(1, 50))), np.full((1, 3), 5.0))
    lazy.values[0, 10:] = np.nan  # reading one of these rows would make the result NaN
    lazy.step(csr(sparse.csr_array(np.eye(1, 50, 1))), np.full((1, 3), 0.1))
    np.testing.assert_allclose(lazy.balls["level"], 0.5)
    assert np.isfinite(lazy.margins(csr(sparse.csr_array(np.eye(1, 50))))).all()


# The estimator


@pytest.mark.parametrize("norm", sorted(NORMS))
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_sparse_and_dense_examples_give_the_same_model_even_if_they_alternate(rng, norm, loss):
    X, Y = draw(rng, 120, 30, 5)
    thin, dense, mixed = (online(norm=norm, loss=loss, radius=2.0) for _ in range(3))
    for start in range(0, 120, 20):
        part, in_turn = slice(start, start + 20), to_dense if start % 40 else sparse.csr_array
        for model, make in ((thin, sparse.csr_array), (dense, to_dense), (mixed, in_turn)):
            streams(model, make(X[part]).astype(np.float64 if start else np.float32), Y[part], 2)
    for model in (thin, mixed):
        assert model.t_ == dense.t_ == 60 and model.coef_.dtype == np.float64
        np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-7)
        np.testing.assert_array_equal(model.selected_features_, dense.selected_features_)
        for A in (X, X.toarray()):
            np.testing.assert_allclose(model.decision_function(A), A @ model.coef_.T, atol=1e-11)


def test_steps_by_hand(rng):
    X, Y = examples(rng, 30, 10).toarray(), rng.choice([-1, 0, 1], (30, 3))
    W = np.zeros((10, 3))
    for t in range(10):
        X_t, Y_t = X[3 * t : 3 * t + 3], Y[3 * t : 3 * t + 3]
        active = np.where(Y_t * (X_t @ W) < 1, Y_t, 0)
        W = NORMS["l1inf"].project(W + 0.7 / np.sqrt(t + 1) * X_t.T @ active / 3, 1.5)
    np.testing.assert_allclose(streams(online(eta0=0.7, radius=1.5, labels="masked"), X, Y, 3).coef_.T, W, atol=1e-14)


@pytest.mark.parametrize(("batch_size", "steps"), [(5, 16), (7, 12)], ids=["", "the last batch is smaller"])
def test_fit_is_partial_fit_in_some_order(rng, batch_size, steps):
    X, Y = draw(rng, 40, 15, 3)
    fitted = online(max_iter=2, batch_size=batch_size, random_state=3).fit(X, Y)
    orders, expected = np.random.RandomState(3), online()
    for order in (orders.permutation(40), orders.permutation(40)):
        streams(expected, X[order], Y[order], batch_size)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    assert fitted.t_ == steps
    np.testing.assert_array_equal(fitted.fit(X, Y).coef_, expected.coef_)


def test_a_sample_of_weight_zero_is_ignored_and_weight_two_doubles_the_step(rng):
    X, Y = draw(rng, 30, 8, 2)
    kept = rng.random(30) < 0.5
    plain, some = (online().partial_fit(X[rows], Y[rows]).coef_ for rows in (slice(None), kept))
    np.testing.assert_array_equal(online().partial_fit(X, Y, sample_weight=kept.astype(int)).coef_, some)
    fitted = online(random_state=0).fit(X, Y, sample_weight=kept.astype(int)).coef_
    np.testing.assert_array_equal(fitted, online(random_state=0).fit(X[kept], Y[kept]).coef_)
    doubled = online(eta0=0.25).partial_fit(X, Y, sample_weight=np.full(30, 2.0)).coef_
    np.testing.assert_allclose(doubled, plain, atol=1e-15)
    np.testing.assert_array_equal(online(class_weight={1: 2.0, -1: 2.0}, eta0=0.25).partial_fit(X, Y).coef_, doubled)
    # Samples that are part of no task do not count as a step.
    assert online(labels="masked").partial_fit(X, Y).partial_fit(X, 0 * Y).t_ == 1


def test_a_step_invalidates_the_calibration(rng):
    X, Y = draw(rng, 40, 15, 3)
    model = online().partial_fit(X, Y).calibrate(X, Y)
    assert model.predict_proba(X).shape == Y.shape
    with pytest.raises(AttributeError, match="predict_proba"):
        model.partial_fit(X, Y).predict_proba(X)


REFUSED = {
    "NaN": (lambda X, Y: (np.where(np.arange(5) == 2, np.nan, X), Y), {}, "NaN"),
    "infinity": (lambda X, Y: (X + np.inf, Y), {}, "infinity"),
    "NaN in y": (lambda X, Y: (X, Y * np.nan), {}, "y must hold at least one known value, got only"),
    "labels": (lambda X, Y: (X, 3 * Y), {}, "labels='signed' expects"),
    "columns of y": (lambda X, Y: (X, Y[:, :2]), {}, r"one column per task, \(4, 3\), got shape \(4, 2\)"),
    "vector": (lambda X, Y: (X, Y[:, 0]), {}, r"one column per task, \(4, 3\), got shape \(4,\)"),
    "lengths": (lambda X, Y: (X, Y[:-1]), {}, "inconsistent numbers of samples"),
    "features": (lambda X, Y: (X[:, 1:], Y), {}, "expecting 5 features"),
    "empty": (lambda X, Y: (X[:0], Y[:0]), {}, "0 sample"),
    "weights": (lambda X, Y: (X, Y), {"sample_weight": -np.ones(4)}, "Negative values"),
    "no weight": (lambda X, Y: (X, Y), {"sample_weight": np.zeros(4)}, "at least one non-zero"),
    "classes": (lambda X, Y: (X, Y), {"classes": [0, 1]}, r"classes must be \[-1, 1\]"),
    "overflow": (lambda X, Y: (X * 1e200, Y), {}, "the step is too large"),
}


@pytest.mark.parametrize("case", REFUSED)
@KINDS
def test_a_call_that_raises_changes_nothing(rng, make, case):
    spoil, options, message = REFUSED[case]
    X, Y = rng.normal(size=(4, 5)), rng.choice([-1, 1], (4, 3))
    bad_X, bad_Y = spoil(X, Y)
    models = [online().partial_fit(make(X), Y)]
    if case not in ("columns of y", "vector", "features"):  # in a first call, these are valid
        models.append(online())
    for model in models:
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(make(bad_X), bad_Y, **options)
        assert pickle.dumps(model) == before


TWO, NAMES, SIGNS = [[1.0], [2.0]], ["no", "yes"], [1, -1]


def fits(**options):
    return lambda: online(**options).fit(TWO, SIGNS)


def takes(y, classes=None, **options):
    return lambda: online(**options).partial_fit(TWO, y, classes)


def changes(**options):
    """Return a call that takes a step, and then a second step with other parameters."""
    return lambda: online().partial_fit(TWO, SIGNS).set_params(**options).partial_fit(TWO, SIGNS)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (fits(norm="l3"), r"norm must be one of .*l1inf.*, got 'l3'"),
        (fits(loss="cubic"), "loss must be one of"),
        (fits(radius=-1.0), "radius must be at least 0, got -1.0"),
        (fits(radius=np.inf), "radius must be finite"),
        (fits(eta0=0.0), "eta0 must be above 0 and finite, got 0.0"),
        (fits(eta0="fast"), "eta0 must be a number"),
        (fits(labels="plus"), "labels must be one of"),
        (fits(max_iter=0), "max_iter must be a whole number of at least 1, got 0"),
        (fits(batch_size=1.5), "batch_size must be a whole number"),
        (takes(NAMES, labels="classes"), "classes must be passed on the first call"),
        (takes(NAMES, ["no"], labels="classes"), "^labels='classes' expects two classes or more, got 1 class"),
        (takes(NAMES, ["no", "maybe"], labels="classes"), r"must hold the classes \['maybe', 'no'\], got .*'yes'"),
        (takes(SIGNS, class_weight="balanced"), "class_weight must be a dict or None"),
        (changes(radius=2.0), r"norm, radius and labels must remain \('l1inf', 1.0, 'signed'\), as at the first step"),
        (changes(norm="l1"), r"as at the first step, got \('l1', "),
        (changes(labels="masked"), "as at the first step, got .*'masked'"),
    ],
)
def test_wrong_parameters_are_named(call, expected):
    with pytest.raises(ValueError, match=expected):
        call()


def test_a_column_of_classes_is_a_vector_with_a_warning():
    with pytest.warns(DataConversionWarning):
        model = online(labels="classes").partial_fit([[1.0], [-1.0]], np.array([["b"], ["a"]]), classes=["a", "b"])
    assert model.predict([[3.0]]).tolist() == ["b"]
