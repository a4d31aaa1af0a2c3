"""Accelerated steps for smooth losses adapt their length to the curvature. test_solvers.py has their optima."""

import numpy as np
import pytest

from jointsparse.learning.losses import LOSSES, logistic, squared
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import Ball
from jointsparse.learning.solvers import accelerated, pdhg
from jointsparse.norms import l1inf


def begun(rng, loss, radius, omega, dtype=float):
    """Begin iterations on two tasks that are separable but for a few wrong labels."""
    X = rng.normal(size=(200, 20)).astype(dtype)
    Y = np.where(X[:, :2] + 0.3 * rng.normal(size=(200, 2)) > 0, 1.0, -1.0)
    problem, ball = Problem([X] * 2, [*Y.T], intercept=True).together(), Ball(l1inf, radius)
    at = pdhg.begin(problem, loss, ball, None, np.zeros(2))
    return accelerated.Run(problem, loss, ball, at, omega)


def test_steps_are_longer_where_large_margins_reduce_the_curvature(rng):
    run = begun(rng, logistic, 50.0, None)
    for t in range(100):
        run.iterate(t, None)
    assert run.omega > 5 * run.safe


def test_a_step_that_is_far_too_long_is_shortened(rng):
    run = begun(rng, squared, 5.0, 1e6, np.float32)
    y, c, before = run.problem.y, run.problem.c, run.at.F
    run.iterate(1, None)
    assert squared.value(run.at.F, y, c).sum() < squared.value(before, y, c).sum() and run.omega < 100 * run.safe


@pytest.mark.parametrize("name", LOSSES)
def test_the_curvature_is_the_largest_second_derivative(name):
    loss, h = LOSSES[name], 1e-3
    f = np.linspace(-3, 3, 6001)[:, np.newaxis]
    second = (loss.subgradient(f + h, np.ones_like(f)) - loss.subgradient(f - h, np.ones_like(f))) / (2 * h)
    expected = min(loss.CURVATURE, 0.5 / h)  # at a kink, the difference of the slopes is divided by 2 h
    np.testing.assert_allclose(second.max(), expected, rtol=1e-4)
