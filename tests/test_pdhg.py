"""Properties of the primal-dual and the accelerated iterations; test_solvers.py has the properties of every solver."""

from functools import partial

import numpy as np
import pytest
from common import draw_tasks
from scipy import sparse

from jointsparse.learning.losses import LOSSES, hinge, logistic
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


def test_accelerated_steps_are_longer_where_large_margins_reduce_the_curvature(rng):
    X, Y = draw_separable(rng)
    problem, ball = Problem.from_matrix(X, Y, intercept=True).together(), Ball(l1inf, 50.0)
    run = accelerated.Run(problem, logistic, ball, pdhg.begin(problem, logistic, ball, None, np.zeros(2)), None)
    for t in range(100):
        run.iterate(t, None)
    assert run.omega > 5 * run.safe
