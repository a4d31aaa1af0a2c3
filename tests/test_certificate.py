"""Lower bounds of the optimum, which hold for any dual variables, and the duality gap."""

import numpy as np
import pytest
from common import draw_tasks

from jointsparse.learning.certificate import bound_from, lower_bound, objective_of, relative_gap, solve_at_zero
from jointsparse.learning.losses import LOSSES
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import Ball, per_pair
from jointsparse.norms import NORMS, l1inf


@pytest.mark.parametrize("norm", sorted(NORMS))
@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalised", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_no_feasible_objective_is_below_a_bound(rng, norm, loss, intercept, penalised, l2):
    tasks, regularisers = draw_tasks(intercept=intercept), per_pair(NORMS[norm], [0.3, 2e3], penalised, l2=l2)
    for _ in range(20):
        # These dual variables are in the domain of every loss: 0 <= A y <= c.
        bound = lower_bound(
            tasks, LOSSES[loss], regularisers, tasks.y * tasks.c * rng.random((len(tasks.y), 2)) ** rng.uniform(0.1, 9)
        )
        assert (bound >= 0).all()
        W, b = rng.normal(size=(2, 6, 3)) * rng.uniform(0, 2), rng.normal(size=(2, 3)) * intercept
        for pair in range(2):
            regularisers[pair].project(W[pair])
        assert (bound <= objective_of(tasks, LOSSES[loss], regularisers, W, b) + 1e-9).all()


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dual_variables_outside_their_domain_are_moved_into_it(rng, loss, dtype):
    tasks, balls = draw_tasks(dtype), per_pair(l1inf, [0.01, 1.0])
    share = rng.uniform(-1, 3, (len(tasks.y), 2))
    inside = share if LOSSES[loss].QUADRATIC else np.clip(share, 0, 1)  # 0 <= A y <= c
    dual, A = ((tasks.y * tasks.c * factor).astype(dtype) for factor in (share, inside))
    got, A = lower_bound(tasks, LOSSES[loss], balls, dual), A.astype(float)  # bounds are in double precision
    np.testing.assert_allclose(got, bound_from(tasks, LOSSES[loss], balls, A, tasks.transposed(A)), rtol=1e-12)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_no_bound_is_above_the_objective_of_the_best_intercepts(loss):
    y = np.array([1.0, 1, -1, -1, -1, -1, -1])
    tasks = Problem([np.ones((7, 1))], [y], intercept=True)
    b, at_zero = solve_at_zero(tasks, LOSSES[loss])
    for share in (0.1, 0.5, 1.0):
        dual = tasks.y * tasks.c * share  # the sum is not 0, so it has to be balanced
        assert 0 <= lower_bound(tasks, LOSSES[loss], [Ball(l1inf, 0.0)], dual) <= at_zero
    best = -LOSSES[loss].subgradient(np.full((7, 1), b[0]), tasks.y, tasks.c)
    bound = lower_bound(tasks, LOSSES[loss], [Ball(l1inf, 0.0)], best)
    np.testing.assert_allclose(bound, at_zero, rtol=1e-4)


def test_the_gap_is_relative_to_the_objective_or_the_gain_whichever_is_smaller_and_not_tiny():
    objective, bound = np.array([10.0, 10.0, 1e-9, 5.0, 0.0, 10.0]), np.array([9.0, 0.0, 0.0, 6.0, 0.0, 10.0])
    np.testing.assert_allclose(relative_gap(objective, bound, 10.0), [1.0, 1.0, 1e-7, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(relative_gap(np.array([6.0, 2.0]), np.array([5.0, 1.9]), 10.0), [0.2, 0.05])


@pytest.mark.parametrize(("loss", "best"), [("hinge", -1.0), ("logistic", -np.log(2)), ("squared", -1 / 3)])
def test_the_objective_at_zero_has_the_best_intercepts(loss, best):
    X, y = [np.zeros((6, 1))] * 2, [np.array([1.0, 1, -1, -1, -1, -1])] * 2
    problem = Problem(X, y, intercept=True)
    b, at_zero = solve_at_zero(problem, LOSSES[loss])
    np.testing.assert_allclose(b, best, rtol=2e-6)
    np.testing.assert_allclose(at_zero, LOSSES[loss].value(np.full((12, 1), best), problem.y, problem.c)[0], rtol=1e-5)
    np.testing.assert_array_equal(solve_at_zero(Problem(X, y), LOSSES[loss])[0], 0)
