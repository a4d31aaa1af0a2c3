"""Online learning: lazy steps give the same result as eager steps, and a call that fails changes nothing."""

import pickle
from itertools import cycle

import numpy as np
import pytest
from scipy import sparse

from jointsparse.estimators.online import OnlineJointSparseClassifier
from jointsparse.learning.lazy import ONE_BALL_PER_TASK, Eager, Lazy, csr
from jointsparse.learning.losses import LOSSES
from jointsparse.norms import NORMS


def draw(rng, n, d, m):
    # Examples are sparse, and noisy signs of m tasks depend on the first few features.
    X = sparse.random(n, d, density=0.3, format="csr", random_state=rng, data_rvs=rng.standard_normal)
    W = np.zeros((d, m))
    W[:4] = rng.choice([-1.0, 1.0], (4, 1)) * rng.uniform(0.5, 1.5, (4, m))
    return X, np.where((X @ W + 1e-9 > 0) ^ (rng.random((n, m)) < 0.1), 1, -1)


def online(**options):
    return OnlineJointSparseClassifier(**{"labels": "signed", "eta0": 0.5, **options})


def streams(model, X, Y, size=1):
    for start in range(0, len(Y), size):
        model.partial_fit(X[start : start + size], Y[start : start + size])
    return model


# Lazy steps


@pytest.mark.parametrize("norm", sorted(ONE_BALL_PER_TASK))
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_lazy_and_eager_steps_of_very_different_length_give_the_same_weights_in_the_ball(rng, norm, scale):
    lazy, eager = (kind(25, 4, norm, 2.0 * scale) for kind in (Lazy, Eager))
    for _ in range(120):
        X, G = draw(rng, 1, 25, 4)[0], rng.standard_t(1.0, size=(1, 4)) * scale
        atol = 1e-13 * max(scale, np.abs(G).max())
        np.testing.assert_allclose(lazy.margins(csr(X)), eager.margins(X), atol=10 * atol)
        lazy.step(csr(X), G)
        eager.step(X, G)
        np.testing.assert_allclose(lazy.last(), eager.last(), atol=atol)
        assert np.all(NORMS[norm].norm(lazy.last()) <= 2.0 * scale * (1 + 1e-15))


# The estimator


@pytest.mark.parametrize(("norm", "loss"), [*zip(NORMS, cycle(LOSSES), strict=False)])
def test_dense_examples_give_the_same_model_as_sparse_and_dense_examples_in_turn(rng, norm, loss):
    X, Y = draw(rng, 120, 30, 5)
    dense, mixed = (online(norm=norm, loss=loss, radius=2.0) for _ in range(2))
    for t, rows in enumerate(np.arange(120).reshape(60, 2)):
        part = X[rows] if t else X[rows].astype(np.float32)
        dense.partial_fit(part.toarray(), Y[rows])
        mixed.partial_fit(part.toarray() if t // 10 % 2 else part, Y[rows])
    assert mixed.t_ == 60 and mixed.selected_features_.tolist() == dense.selected_features_.tolist()
    np.testing.assert_allclose(mixed.coef_, dense.coef_, atol=1e-7)
    np.testing.assert_allclose(mixed.decision_function(X), X @ mixed.coef_.T, atol=1e-11)


def test_a_step_adds_the_mean_subgradient_times_eta0_over_the_root_of_t_and_projects(rng):
    X, Y, W = rng.normal(size=(30, 10)), rng.choice([-1, 0, 1], (30, 3)), np.zeros((10, 3))
    for t in range(10):
        X_t, Y_t = X[3 * t : 3 * t + 3], Y[3 * t : 3 * t + 3]
        active = np.where(Y_t * (X_t @ W) < 1, Y_t, 0)
        W = NORMS["l1inf"].project(W + 0.7 / np.sqrt(t + 1) * X_t.T @ active / 3, 1.5)
    np.testing.assert_allclose(streams(online(eta0=0.7, radius=1.5, labels="masked"), X, Y, 3).coef_.T, W, atol=1e-14)


@pytest.mark.parametrize(("batch_size", "steps"), [(5, 16), (7, 12)], ids=["", "the last batch is smaller"])
def test_fit_is_partial_fit_in_some_order(rng, batch_size, steps):
    X, Y = draw(rng, 40, 15, 3)
    fitted, orders, expected = (
        online(max_iter=2, batch_size=batch_size, random_state=3),
        np.random.RandomState(3),
        online(),
    )
    for order in (orders.permutation(40), orders.permutation(40)):
        streams(expected, X[order], Y[order], batch_size)
    for _ in range(2):  # fit starts anew
        np.testing.assert_array_equal(fitted.fit(X, Y).coef_, expected.coef_)
        assert fitted.t_ == steps


def test_a_sample_of_weight_zero_is_ignored_and_weight_two_doubles_the_step(rng):
    (X, Y), kept = draw(rng, 30, 8, 2), rng.random(30) < 0.5
    for learn in (OnlineJointSparseClassifier.partial_fit, OnlineJointSparseClassifier.fit):
        expected = learn(online(random_state=0), X[kept], Y[kept]).coef_
        got = learn(online(random_state=0), X, Y, sample_weight=kept.astype(int)).coef_
        np.testing.assert_array_equal(got, expected)
    doubled = online(eta0=0.25).partial_fit(X, Y, sample_weight=np.full(30, 2.0)).coef_
    np.testing.assert_allclose(doubled, online().partial_fit(X, Y).coef_, atol=1e-15)
    np.testing.assert_array_equal(online(class_weight={1: 2.0, -1: 2.0}, eta0=0.25).partial_fit(X, Y).coef_, doubled)
    # Samples that are part of no task do not count as a step.
    assert online(labels="masked").partial_fit(X, Y).partial_fit(X, 0 * Y).t_ == 1


def test_a_step_invalidates_the_calibration(rng):
    X, Y = draw(rng, 40, 15, 3)
    with pytest.raises(AttributeError, match="predict_proba"):
        online().partial_fit(X, Y).calibrate(X, Y).partial_fit(X, Y).predict_proba(X)


@pytest.mark.parametrize(
    ("spoil", "options", "message"),
    [  # what a second step refuses: samples, and parameters that have changed since the first step
        (lambda X, Y: (X, Y[:, :2]), {}, r"one column per task, \(4, 3\), got shape \(4, 2\)"),
        (lambda X, Y: (X, Y[:, 0]), {}, r"one column per task, \(4, 3\), got shape \(4,\)"),
        (lambda X, Y: (X[:, 1:], Y), {}, "expecting 5 features"),
        (lambda X, Y: (X, 3 * Y), {}, "labels='signed' expects"),
        (lambda X, Y: (X, Y, [0, 1]), {}, r"classes must be \[-1, 1\]"),
        (lambda X, Y: (X * 1e200, Y), {}, "the step is too large"),
        (lambda X, Y: (X, Y), {"radius": 2.0}, r"must remain \('l1inf', 1.0, 'signed'\), as at the first step"),
        (lambda X, Y: (X, Y), {"norm": "l1"}, r"as at the first step, got \('l1', "),
        (lambda X, Y: (X, Y), {"labels": "masked"}, "as at the first step, got .*'masked'"),
    ],
)
@pytest.mark.parametrize("form", [sparse.csr_array, np.asarray], ids=["sparse", "dense"])
def test_a_step_that_is_refused_changes_nothing(rng, form, spoil, options, message):
    X, Y = rng.normal(size=(4, 5)), rng.choice([-1, 1], (4, 3))
    bad_X, *others = spoil(X, Y)
    model = online().partial_fit(form(X), Y).set_params(**options)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(form(bad_X), *others)
    assert pickle.dumps(model) == before


TWO, NAMES, SIGNS = [[1.0], [2.0]], ["no", "yes"], [1, -1]


@pytest.mark.parametrize(
    ("options", "samples", "expected"),
    [
        ({"norm": "l3"}, (TWO, SIGNS), r"norm must be one of .*l1inf.*, got 'l3'"),
        ({"loss": "cubic"}, (TWO, SIGNS), "loss must be one of"),
        ({"radius": np.inf}, (TWO, SIGNS), "radius must be finite"),
        ({"eta0": 0.0}, (TWO, SIGNS), "eta0 must be above 0 and finite, got 0.0"),
        ({"class_weight": "balanced"}, (TWO, SIGNS), "class_weight must be a dict or None"),
        ({"labels": "classes"}, (TWO, NAMES), "classes must be passed on the first call"),
        ({"labels": "classes"}, (TWO, NAMES, ["no"]), "^labels='classes' expects two classes or more, got 1 class"),
        ({"labels": "classes"}, (TWO, NAMES, ["no", "maybe"]), r"hold the classes \['maybe', 'no'\], got .*'yes'"),
        ({"labels": "classes"}, (TWO, NAMES, ["no", "yes", None]), "classes must not contain missing values"),
        ({}, (TWO, SIGNS, None, [-1, 1]), "Negative values"),
        ({"max_iter": 0}, "fit", "max_iter must be a whole number of at least 1, got 0"),
        ({"batch_size": 1.5}, "fit", "batch_size must be a whole number"),
    ],
)
def test_wrong_parameters_are_named(options, samples, expected):
    with pytest.raises(ValueError, match=expected):
        online(**options).fit(TWO, SIGNS) if samples == "fit" else online(**options).partial_fit(*samples)
