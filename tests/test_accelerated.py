"""Accelerated steps for smooth losses: they reach the same optimum as pdhg, in fewer iterations."""

import numpy as np
import pytest
from common import draw_tasks

from jointsparse.learning.losses import LOSSES, logistic, squared
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import per_pair
from jointsparse.learning.solvers import accelerated, pdhg, working_set
from jointsparse.norms import NORMS, l1inf

SMOOTH = [logistic, squared]
OPTIONS = {"plain": {}, "weights": {"weights": np.linspace(0.5, 2.0, 6)}, "positive": {"positive": True}}
CASES = [
    pytest.param(norm, options, id=f"{name}-{option}")
    for name, norm in NORMS.items()
    for option, options in OPTIONS.items()
    if norm.WEIGHTED or option != "weights"
]


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize(("norm", "options"), CASES)
@pytest.mark.parametrize(("penalised", "intercept"), [(False, True), (True, False)], ids=["radius", "penalty"])
def test_the_optimum_equals_that_of_pdhg(loss, norm, penalised, intercept, options):
    problem = draw_tasks(intercept=intercept)
    options = options | {"loss": loss, "norm": norm, "radius": np.array([1.0]), "penalised": penalised}
    got, expected = (solver.fit(problem, **options, tol=1e-6, n_iter=50_000) for solver in (working_set, pdhg))
    assert got.gap[0] <= 1e-6
    np.testing.assert_allclose(got.value, expected.value, rtol=3e-6)


def draw_nearly_separable(rng, dtype=float):
    """Return two tasks that are separable but for a few wrong labels."""
    X = rng.normal(size=(200, 20)).astype(dtype)
    Y = np.where(X[:, :2] + 0.3 * rng.normal(size=(200, 2)) > 0, 1.0, -1.0)
    return Problem([X] * 2, [*Y.T], intercept=True)


def test_steps_are_longer_where_large_margins_reduce_the_curvature(rng):
    problem = draw_nearly_separable(rng).together()
    (ball,) = per_pair(l1inf, np.array([50.0]), False, None, False, None)
    at = pdhg.begin(problem, logistic, ball, None, np.zeros(2))
    run = accelerated.Run(problem, logistic, ball, at, None)
    for t in range(100):
        run.iterate(t, None)
    assert run.omega > 5 * run.safe


def test_a_step_that_is_far_too_long_is_shortened(rng):
    problem = draw_nearly_separable(rng, dtype=np.float32).together()
    (ball,) = per_pair(l1inf, np.array([5.0]), False, None, False, None)
    at = pdhg.begin(problem, squared, ball, None, np.zeros(2))
    run = accelerated.Run(problem, squared, ball, at, 1e6)
    run.iterate(1, None)
    before = float(squared.value(at.F, problem.y, problem.c).sum())
    assert float(squared.value(run.at.F, problem.y, problem.c).sum()) < before and run.omega < 100 * run.safe


@pytest.mark.parametrize("name", LOSSES)
def test_the_curvature_is_the_largest_second_derivative(name):
    loss, h = LOSSES[name], 1e-3
    f = np.linspace(-3, 3, 6001)[:, np.newaxis]
    y = np.ones_like(f)
    second = (loss.subgradient(f + h, y) - loss.subgradient(f - h, y)) / (2 * h)
    if np.inf > loss.CURVATURE:
        np.testing.assert_allclose(second.max(), loss.CURVATURE, rtol=1e-4)
    else:
        assert second.max() >= 0.1 / h
