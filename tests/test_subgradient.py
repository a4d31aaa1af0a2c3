"""Projected subgradient descent: comparison with a slow implementation, and properties of this solver only."""

import numpy as np
import oracles
import pytest
from common import draw_labels

from jointsparse.learning.certificate import lower_bound
from jointsparse.learning.losses import LOSSES
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import per_pair
from jointsparse.learning.solvers import subgradient
from jointsparse.norms import NORMS

ETA0 = np.array([0.02, 0.3, 0.3, 2.0])
RADIUS = np.array([1.5, 0.4, 100.0, 0.0])


def fit(X, Y, loss="hinge", norm="l1inf", eta0=ETA0, radius=RADIUS, normalisation="sum", **options):
    tasks = Problem.from_matrix(X, Y, normalisation=normalisation)
    return subgradient.fit(tasks, loss=LOSSES[loss], norm=NORMS[norm], eta0=eta0, radius=radius, **options)


def slow_fit(X, Y, loss, norm, eta0, radius, n_iter, c):
    """Return the iterates and objectives of one pair, from a plain implementation."""
    project = oracles.PROJECTIONS.get(norm, NORMS[norm].project)  # not every norm has an oracle
    iterates = [np.zeros((X.shape[1], Y.shape[1]))]
    for t in range(1, n_iter + 1):
        G = X.T @ LOSSES[loss].subgradient(X @ iterates[-1], Y, c)
        iterates.append(project(iterates[-1] - eta0 / np.sqrt(t) * G, radius).astype(float))
    return iterates, [LOSSES[loss].value(X @ W, Y, c).sum() for W in iterates]


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("norm", sorted(oracles.PROJECTIONS))
@pytest.mark.parametrize("normalisation", ["sum", "mean"])
def test_training_agrees_with_a_slow_implementation(loss, norm, normalisation):
    X, Y = draw_labels()
    Y[:15, 0] = 0  # tasks of different sizes
    X.flags.writeable = Y.flags.writeable = False  # training must not change its input
    c = (Y != 0) / ((Y != 0).sum(axis=0) if normalisation == "mean" else 1.0)
    trained = fit(X, Y, loss, norm, n_iter=6, normalisation=normalisation)
    for p, (eta0, radius) in enumerate(zip(ETA0, RADIUS, strict=True)):
        iterates, objective = slow_fit(X, Y, loss, norm, eta0, radius, 6, c)
        np.testing.assert_allclose(trained.objective[p], objective, rtol=1e-12)
        np.testing.assert_allclose(trained.value[p], min(objective), rtol=1e-12)
        np.testing.assert_allclose(trained.W[p], iterates[trained.objective[p].argmin()], atol=1e-12)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_the_dual_variables_are_an_average_over_iterates_with_increasing_weights(loss):
    X, Y = draw_labels()
    c, tasks = (Y != 0) * 1.0, Problem.from_matrix(X, Y)
    trained = fit(X, Y, loss, n_iter=6)
    for p, (eta0, radius) in enumerate(zip(ETA0, RADIUS, strict=True)):
        iterates, _ = slow_fit(X, Y, loss, "l1inf", eta0, radius, 6, c)
        A = [-LOSSES[loss].subgradient(X @ W, Y, c) for W in iterates[:-1]]
        average = np.average(A, axis=0, weights=[t**2 * eta0 / np.sqrt(t) for t in range(1, 7)])
        np.testing.assert_allclose(tasks.transposed(trained.dual)[:, :, p], average.T @ X, atol=1e-12)
    balls = per_pair(NORMS["l1inf"], RADIUS)
    np.testing.assert_array_equal(trained.bound, lower_bound(tasks, LOSSES[loss], balls, trained.dual))


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_intercepts_take_the_same_steps_as_weights_but_are_not_projected(loss):
    X, Y = draw_labels()
    with_ones = np.column_stack([X, np.ones(len(X))])  # a feature of ones, in a ball so large that it has no effect
    options = {"loss": LOSSES[loss], "norm": NORMS["l1inf"], "eta0": np.array([0.02]), "radius": np.array([1e6])}
    got = subgradient.fit(Problem.from_matrix(X, Y, intercept=True), **options, n_iter=6)
    expected = subgradient.fit(Problem.from_matrix(with_ones, Y), **options, n_iter=6)
    np.testing.assert_allclose(got.objective, expected.objective, rtol=1e-12)
    np.testing.assert_allclose(got.b[0], expected.W[0, -1], rtol=1e-9)


def test_margins_from_the_used_features_equal_margins_from_all_features(monkeypatch):
    X, Y = draw_labels(n=60, d=100)
    expected = fit(X, Y, radius=RADIUS[[0, 1, 1, 3]] / 10, n_iter=20)
    assert expected.W.any(axis=(0, 2)).mean() < 1
    monkeypatch.setattr("jointsparse.learning.problem.FEATURES_PER_USED", 1)
    np.testing.assert_allclose(fit(X, Y, radius=RADIUS[[0, 1, 1, 3]] / 10, n_iter=20).W, expected.W, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_divergence_names_eta0():
    X, Y = draw_labels()
    with pytest.raises(ValueError, match=r"training diverged in iteration \d+: choose an eta0 below 1e\+200"):
        fit(X * 1e70, Y, "squared", eta0=np.array([1e200]), radius=np.array([1e300]))
