"""Properties of the primal-dual and the accelerated iterations; test_solvers.py has the properties of every solver."""

from functools import partial

import numpy as np
import pytest
from common import draw_tasks
from scipy import sparse

from jointsparse.learning.losses import LOSSES, hinge, logistic, squared
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import Ball
from jointsparse.learning.solvers import SOLVERS, accelerated, pdhg
from jointsparse.norms import NORMS, l1inf


def fit_hinge(problem, radii=(0.3, 3.0, 30.0), norm=l1inf, **options):
    return pdhg.fit(problem, loss=hinge, norm=norm, radius=np.array(radii), **options)


def test_a_tolerance_of_zero_takes_all_iterations():
    fit = fit_hinge(draw_tasks(), tol=0.0, n_iter=25)
    assert fit.n_iter == 25 and fit.objective.shape == (3, 26)
    assert np.flatnonzero(np.isfinite(fit.objective[2])).tolist() == [0, 10, 20, 25]


@pytest.mark.parametrize("penalised", [False, True], ids=["radius", "penalty"])
def test_a_warm_start_saves_iterations(penalised):
    fit = partial(fit_hinge, draw_tasks(n=40, d=30, intercept=True), n_iter=5000, penalised=penalised)
    rough, cold = (fit([1.0, 3.0], tol=tol) for tol in (1e-3, 1e-5))
    assert fit([1.0, 3.0], start=rough).n_iter == fit([1.0, 3.0], tol=1e-5, start=cold).n_iter == 0
    near, far = (fit([0.99, 2.97], tol=1e-4, start=start) for start in (cold, None))
    assert near.n_iter < far.n_iter and np.all(near.gap <= 1e-4)


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_a_start_outside_the_ball_is_projected(norm):
    small = fit_hinge(draw_tasks(), [0.5], norm, start=fit_hinge(draw_tasks(), [10.0], norm), n_iter=0)
    assert np.all(norm.norm(small.W[0]) <= 0.5 * (1 + 1e-12)) and np.isfinite(small.value[0])


def draw_separable(rng, n=200, d=20):
    """Draw features, and signs of two tasks that are separable but for a few of them."""
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, :2] + 0.3 * rng.normal(size=(n, 2)) > 0, 1.0, -1.0)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("solver", [solver for solver in SOLVERS.values() if solver.STOPS_AT_TOL])
def test_features_far_from_zero_cost_no_more_iterations(solver, loss, container, rng):
    X, Y = draw_separable(rng)
    options = {"loss": loss, "norm": l1inf, "radius": np.array([2.0]), "tol": 1e-3, "n_iter": 5000}
    problems = (Problem.from_matrix(container(X + shift), Y, intercept=True) for shift in (0.0, 100.0))
    near, far = (solver.fit(problem, **options) for problem in problems)
    assert far.gap[0] <= 1e-3 and far.n_iter <= 1.5 * near.n_iter
    np.testing.assert_allclose(far.value, near.value, rtol=2e-3)


@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
def test_iterations_leave_the_first_iterate_as_it_is(intercept):
    """A proof that has kept its dual variables would otherwise change with the iterations."""
    problem, ball = draw_tasks(intercept=intercept), Ball(l1inf, 3.0)
    at = pdhg.begin(problem, hinge, ball, None, np.zeros(3))
    before, run = [array.copy() for array in at], pdhg.Run(problem, hinge, ball, at, None)
    for t in range(1, 4):
        run.iterate(t, None)
    np.testing.assert_equal([*at], before)


def test_spectral_bounds_are_tight_and_ignore_samples_of_weight_zero(rng):
    X, few_absent = [rng.normal(size=(n, 40)) for n in (20, 40, 300)], np.ones(300)
    few_absent[:1], X[2][:1] = 0, 1e5  # so few that no rows are copied
    X.append(np.zeros((3, 40)))
    problem = Problem(X, [np.ones(len(X_k)) for X_k in X], [np.ones(20), np.ones(40), few_absent, np.ones(3)])
    got, exact = pdhg.spectral_bounds(problem), [np.linalg.norm(X_k, 2) ** 2 for X_k in (X[0], X[1], X[2][1:])]
    assert (
        len(problem.y) == 363 and np.all(got[:3] >= exact) and np.all(got[:3] <= 1.06 * np.array(exact)) and got[3] == 1
    )


# Accelerated steps for smooth losses adapt their length to the curvature


def begun(rng, loss, radius, omega, dtype=float):
    X, Y = draw_separable(rng)
    problem, ball = Problem([X.astype(dtype)] * 2, [*Y.T], intercept=True).together(), Ball(l1inf, radius)
    return accelerated.Run(problem, loss, ball, pdhg.begin(problem, loss, ball, None, np.zeros(2)), omega)


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
