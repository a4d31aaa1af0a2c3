"""Projected subgradient descent: comparison with a slow implementation, and properties of this solver only."""

import numpy as np
import oracles
import pytest
from common import draw_labels

from jointsparse.learning.losses import LOSSES
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient
from jointsparse.norms import NORMS

ETA0, RADIUS = np.array([0.02, 0.3, 0.3, 2.0]), np.array([1.5, 0.4, 100.0, 0.0])


def fit(X, Y, loss="hinge", norm="l1inf", eta0=ETA0, radius=RADIUS, n_iter=6, **options):
    tasks = Problem.from_matrix(X, Y, **options)
    return subgradient.fit(tasks, loss=LOSSES[loss], norm=NORMS[norm], eta0=eta0, radius=radius, n_iter=n_iter)


@pytest.mark.parametrize(
    ("loss", "norm", "normalisation"),
    [("hinge", "l1inf", "sum"), ("logistic", "l1", "mean"), ("squared", "l12", "mean"), ("hinge", "l2", "sum")],
)
def test_training_agrees_with_a_slow_implementation(loss, norm, normalisation):
    """The dual variables are an average over the iterates, with weights that increase."""
    X, Y = draw_labels()
    Y[:15, 0] = 0  # tasks of different sizes
    X.flags.writeable = Y.flags.writeable = False  # training must not change its input
    c = (Y != 0) / ((Y != 0).sum(axis=0) if normalisation == "mean" else 1.0)
    trained, tasks = fit(X, Y, loss, norm, normalisation=normalisation), Problem.from_matrix(X, Y)
    for p, (eta0, radius) in enumerate(zip(ETA0, RADIUS, strict=True)):
        W, slopes = [np.zeros((X.shape[1], Y.shape[1]))], []
        for t in range(1, 7):
            slopes.append(LOSSES[loss].subgradient(X @ W[-1], Y, c))
            step = W[-1] - eta0 / np.sqrt(t) * X.T @ slopes[-1]
            W.append(oracles.answer(norm, "project", step, radius).astype(float))
        objective = [LOSSES[loss].value(X @ W_t, Y, c).sum() for W_t in W]
        np.testing.assert_allclose(trained.objective[p], objective, rtol=1e-12)
        np.testing.assert_allclose(trained.value[p], min(objective), rtol=1e-12)
        np.testing.assert_allclose(trained.W[p], W[np.argmin(trained.objective[p])], atol=1e-12)
        average = np.average(slopes, axis=0, weights=[t**2 * eta0 / np.sqrt(t) for t in range(1, 7)])
        np.testing.assert_allclose(tasks.transposed(trained.dual)[:, :, p], -average.T @ X, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_divergence_names_eta0():
    X, Y = draw_labels()
    with pytest.raises(ValueError, match=r"training diverged in iteration \d+: choose an eta0 below 1e\+200"):
        fit(X * 1e70, Y, "squared", eta0=np.array([1e200]), radius=np.array([1e300]))
