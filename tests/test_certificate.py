"""Optima of small problems by a convex solver, which lower bounds and objectives must enclose, and the duality gap.

`CELLS` has a problem for every norm, form (radius or penalty), shape and loss. test_solvers.py solves all of them.
"""

from functools import cache

import numpy as np
import pytest
from common import draw_labels, draw_tasks
from scipy import sparse

from jointsparse.learning.certificate import bound_from, lower_bound, objective_of, relative_gap, solve_at_zero
from jointsparse.learning.losses import LOSSES
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import Ball, per_pair
from jointsparse.norms import NORMS, l1inf

SHAPES = {  # terms and constraints; weights and groups are left out for norms that do not take them
    "plain": {},
    "ridge": {"l2": 2.0},
    "positive": {"positive": True, "weights": [1.5, 0.5, 1.0, 2.0, 0.7, 1.0, 0.8, 1.2, 1.0]},
    "groups": {"groups": [2, 0, 2, 1, 0, 1, 0, 0, 2], "weights": [1.5, 0.5, 1.0]},
    "ridge alone": {"l2": 5.0},  # with a large radius, or a penalty of 0
}
KINDS = ["masked", "alike", "sparse", "wide", "apart"]


@cache
def problem(kind, loss, intercept):
    """Return a problem of three tasks whose samples overlap, are weighted alike, are sparse, are few, or are apart."""
    if kind == "apart":
        return draw_tasks(n=14, d=9, intercept=intercept, normalisation="mean")
    X, Y = draw_labels(d=9)
    rng = np.random.default_rng(1)
    X, weights = X + 0.5, rng.choice([0.5, 1.0, 3.0], Y.shape)  # + 0.5 makes an intercept useful
    known = np.where(Y == 0, 1.0, Y) + 2.0 * LOSSES[loss].QUADRATIC
    if kind == "masked":
        return Problem.from_matrix(X, Y, weights * np.abs(Y), intercept=intercept)
    X, n = (X * (rng.random(X.shape) < 0.4) if kind == "sparse" else X), (7 if kind == "wide" else len(X))
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    return Problem.from_matrix(X[:n], known[:n], np.tile(weights[:n, :1], 3), intercept=intercept)


@cache
def cells():
    """Return the arguments of every cell: problem, loss, norm, strength, whether it is a penalty, and the shape."""
    made = {}
    for i, norm in enumerate(NORMS):
        for j, (shape, options) in enumerate(SHAPES.items()):
            if shape == "groups" and not NORMS[norm].GROUPED:
                continue
            form = {k: np.array(v) if k in ("weights", "groups") else v for k, v in options.items()}
            form.pop("weights" if not NORMS[norm].WEIGHTED else "", None)
            for penalised in (False, True):
                strength = (0.0 if penalised else 1e4) if shape == "ridge alone" else 0.8
                for k, loss in enumerate(LOSSES):
                    kind, intercept = KINDS[(k + j + penalised) % len(KINDS)], (i + j + k) % 2 == 0
                    name = f"{norm}-{'penalty' if penalised else 'radius'}-{shape}-{loss}-{kind}{'-b' * intercept}"
                    made[name] = problem(kind, loss, intercept), loss, norm, strength, penalised, form
    return made


CELLS = pytest.mark.parametrize("cell", cells())


@cache
def optimum(cell):
    """Return the smallest objective of a cell, by an interior-point method."""
    import oracles_convex

    tasks, loss, norm, strength, penalised, form = cells()[cell]
    return oracles_convex.optimum(tasks, loss, norm, strength, penalised, **form)[0]


@CELLS
def test_any_dual_variables_and_any_weights_enclose_the_optimum(cell, rng, convex):
    tasks, loss, norm, strength, penalised, form = cells()[cell]
    regularisers, loss = per_pair(NORMS[norm], [strength], penalised, **form), LOSSES[loss]
    for _ in range(10):
        # These dual variables are in the domain of every loss: 0 <= A y <= c.
        dual = np.sign(tasks.y) * tasks.c * rng.random((len(tasks.y), 1)) ** rng.uniform(0.1, 9)
        assert 0 <= lower_bound(tasks, loss, regularisers, dual)[0] <= optimum(cell) * (1 + 1e-7)
        W, b = rng.normal(size=(1, 9, 3)) * rng.uniform(0, 2), rng.normal(size=(1, 3)) * tasks.intercept
        regularisers[0].project(W[0] if not form.get("positive") else np.abs(W[0], out=W[0]))
        assert objective_of(tasks, loss, regularisers, W, b)[0] >= optimum(cell) * (1 - 1e-7)
        W[..., 0] *= 1e6  # one task outside its ball is enough
        assert penalised or objective_of(tasks, loss, regularisers, W, b)[0] == np.inf


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dual_variables_outside_their_domain_are_moved_into_it(rng, loss, dtype):
    tasks, balls = draw_tasks(dtype), per_pair(l1inf, [0.01, 1.0])
    share = rng.uniform(-1, 3, (len(tasks.y), 2))
    inside = share if LOSSES[loss].QUADRATIC else np.clip(share, 0, 1)  # 0 <= A y <= c
    dual, A = ((tasks.y * tasks.c * factor).astype(dtype) for factor in (share, inside))
    got, A = lower_bound(tasks, LOSSES[loss], balls, dual), A.astype(float)  # bounds are in double precision
    np.testing.assert_allclose(got, bound_from(tasks, LOSSES[loss], balls, A, tasks.transposed(A)), rtol=1e-12)


@pytest.mark.parametrize(("loss", "best"), [("hinge", -1.0), ("logistic", -np.log(2)), ("squared", -1 / 3)])
def test_the_objective_at_zero_has_the_best_intercepts_and_the_bound_of_their_dual_variables(loss, best):
    X, y, loss = [np.zeros((6, 1))] * 2, [np.array([1.0, 1, -1, -1, -1, -1])] * 2, LOSSES[loss]
    tasks = Problem(X, y, intercept=True)
    b, at_zero = solve_at_zero(tasks, loss)
    np.testing.assert_allclose(b, best, rtol=2e-6)
    np.testing.assert_allclose(at_zero, loss.value(np.full((12, 1), best), tasks.y, tasks.c)[0], rtol=1e-5)
    np.testing.assert_array_equal(solve_at_zero(Problem(X, y), loss)[0], 0)
    dual = -loss.subgradient(np.full((12, 1), b[0]), tasks.y, tasks.c)
    np.testing.assert_allclose(lower_bound(tasks, loss, [Ball(l1inf, 0.0)], dual), at_zero, rtol=1e-4)


def test_the_gap_is_relative_to_the_objective_or_the_gain_whichever_is_smaller_and_not_tiny():
    objective, bound = np.array([10.0, 10.0, 1e-9, 5.0, 0.0, 10.0]), np.array([9.0, 0.0, 0.0, 6.0, 0.0, 10.0])
    np.testing.assert_allclose(relative_gap(objective, bound, 10.0), [1.0, 1.0, 1e-7, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(relative_gap(np.array([6.0, 2.0]), np.array([5.0, 1.9]), 10.0), [0.2, 0.05])
