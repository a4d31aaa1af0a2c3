"""Optima of small problems by a convex solver, which every solver, every lower bound and every objective must enclose.

`CELLS` has a problem for every norm, form (radius or penalty) and shape, with losses and kinds of samples in turn.
"""

from functools import cache

import numpy as np
import pytest
from common import draw_labels, draw_tasks, rounding
from scipy import sparse

from jointsparse.learning.certificate import bound_from, lower_bound, objective_of, relative_gap, solve_at_zero
from jointsparse.learning.losses import LOSSES, hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import per_pair
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import NORMS, l1inf

SOLVER = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
NORM = pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
INTERCEPT = pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
SHAPES = {  # terms and constraints; weights and groups are left out for norms that do not take them
    "plain": {},
    "ridge": {"l2": 2.0},
    "weights": {"weights": np.array([1.5, 0.5, 1.0, 2.0, 0.7, 1.0, 0.8, 1.2, 1.0])},
    "positive": {"positive": True, "weights": np.array([1.0, 1.3, 1.0, 0.6, 1.0, 1.0, 2.0, 1.0, 0.9])},
    "groups": {"groups": np.array([2, 0, 2, 1, 0, 1, 0, 0, 2]), "weights": np.array([1.5, 0.5, 1.0])},
    "positive and ridge alone": {"positive": True, "l2": 5.0},  # with a large radius, or a penalty of 0
}
DESCENTS = [  # the losses, norms and samples for which the working set solver has coordinate descent on a penalty
    *(("squared", norm, kind, shape) for norm in ("l12", "l1inf") for kind in ("alike", "wide") for shape in SHAPES),
    *(("logistic", "l1", "sparse", shape) for shape in SHAPES),
]


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
    turns = [(norm, shape, penalised) for norm in NORMS for shape in SHAPES for penalised in (False, True)]
    rows = [
        ([*LOSSES][t % 3], *turn, ["masked", "alike", "sparse", "wide", "apart"][t % 5]) for t, turn in enumerate(turns)
    ]
    rows += [(loss, norm, shape, True, kind) for loss, norm, kind, shape in DESCENTS]
    made = {}
    for t, (loss, norm, shape, penalised, kind) in enumerate(rows):
        takes = {"weights": NORMS[norm].WEIGHTED, "groups": NORMS[norm].GROUPED}
        form = {option: value for option, value in SHAPES[shape].items() if takes.get(option, True)}
        if takes.get(shape, True):
            strength = (0.0 if penalised else 1e4) if shape == "positive and ridge alone" else 0.8
            name = f"{loss}-{norm}-{shape}-{'penalty' if penalised else 'radius'}-{kind}{'-b' * (t // 2 % 2)}"
            made[name] = problem(kind, loss, t // 2 % 2 == 1), loss, norm, strength, penalised, form
    return made


CELLS = pytest.mark.parametrize("cell", cells())


@cache
def optimum(cell):
    oracles_convex = pytest.importorskip("oracles_convex")  # needs cvxpy
    tasks, loss, norm, strength, penalised, form = cells()[cell]
    return oracles_convex.optimum(tasks, loss, norm, strength, penalised, **form)[0]


def fit(solver, problem, radius=(0.3, 3.0), loss=hinge, norm=l1inf, eta0=0.05, tol=1e-3, n_iter=200, **options):
    options |= {"tol": tol} if solver.STOPS_AT_TOL else {}
    options |= {"eta0": np.full(len(radius), eta0)} if solver.TAKES else {}
    return solver.fit(problem, loss=loss, norm=norm, radius=np.array(radius), n_iter=n_iter, **options)


@SOLVER
@CELLS
def test_a_fit_is_feasible_and_its_objective_and_bound_enclose_the_optimum_with_a_small_gap(solver, cell):
    problem, loss, norm, strength, penalised, form = cells()[cell]
    options = {"loss": LOSSES[loss], "norm": NORMS[norm], "penalised": penalised, **form}
    options["eta0"] = 1.0 if "apart" in cell else 0.05  # these losses are means
    got = fit(solver, problem, [strength], tol=1e-6, n_iter=20_000 if solver.STOPS_AT_TOL else 500, **options)
    expected, smallest, at_zero = optimum(cell), np.nanmin(got.objective), solve_at_zero(problem, LOSSES[loss])[1]
    assert got.bound[0] * (1 - 1e-7) <= expected <= smallest * (1 + 1e-7)
    # The value, the gap and the bound follow from the objectives and the dual variables.
    np.testing.assert_allclose(got.value[0], smallest, rtol=1e-12)
    # Problems whose tasks form one part add up their terms in another order.
    np.testing.assert_allclose(got.gap, relative_gap(got.value, got.bound, at_zero), rtol=1e-9, atol=1e-15)
    bound = lower_bound(problem, LOSSES[loss], per_pair(NORMS[norm], [strength], penalised, **form), got.dual)
    np.testing.assert_allclose(got.bound, bound, rtol=1e-12, atol=1e-13 * at_zero)
    # The weights are feasible.
    assert not form.get("positive") or got.W.min() >= 0
    size = NORMS[norm].norm(got.W[0], **{name: form[name] for name in ("weights", "groups") if name in form})
    assert penalised or np.all(size <= strength * (1 + 1e-12))
    assert problem.intercept or not got.b.any()
    # The gap is small, and a fit that starts from this solution stops at once.
    if solver.STOPS_AT_TOL:
        assert got.gap[0] <= 1e-6 and fit(solver, problem, [strength], start=got, tol=1e-6, **options).n_iter == 0
    else:
        assert penalised or got.gap[0] <= 0.2  # 500 steps of the subgradient method do not come closer in all cells


@CELLS
def test_any_dual_variables_and_any_weights_enclose_the_optimum(cell, rng):
    tasks, loss, norm, strength, penalised, form = cells()[cell]
    regularisers, loss = per_pair(NORMS[norm], [strength], penalised, **form), LOSSES[loss]
    for _ in range(10):
        # These dual variables are in the domain of every loss: 0 <= A y <= c.
        dual = np.sign(tasks.y) * tasks.c * rng.random((len(tasks.y), 1)) ** rng.uniform(0.1, 9)
        assert 0 <= lower_bound(tasks, loss, regularisers, dual)[0] <= optimum(cell) * (1 + 1e-7)
        W, b = rng.normal(size=(1, 9, 3)) * rng.uniform(0, 2), rng.normal(size=(1, 3)) * tasks.intercept
        regularisers[0].project(W[0] if not form.get("positive") else np.abs(W[0], out=W[0]))
        beside_zero, (alone,) = (
            objective_of(tasks, loss, regularisers * n, np.vstack([*[W * 0] * (n - 1), W]), np.vstack([b] * n))
            for n in (2, 1)
        )
        assert alone >= optimum(cell) * (1 - 1e-7) and beside_zero[1] == pytest.approx(alone, rel=1e-12)
        if form.get("positive"):
            assert objective_of(tasks, loss, regularisers, -W, b)[0] == np.inf
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


@pytest.mark.parametrize(("loss", "best"), [("hinge", -1.0), ("logistic", -np.log(99)), ("squared", -0.98)])
def test_the_objective_at_zero_has_the_best_intercepts(loss, best):
    y = np.repeat([1.0, -1.0], [1, 99])
    b, at_zero = solve_at_zero(Problem([np.zeros((100, 1))] * 2, [y, y], intercept=True), LOSSES[loss])
    # They are found by bisection, and shrunk by a millionth.
    np.testing.assert_allclose(b, best, rtol=2e-6)
    np.testing.assert_allclose(at_zero, 2 * LOSSES[loss].value(np.full((100, 1), best), y[:, np.newaxis])[0], rtol=1e-4)


def test_the_gap_is_relative_to_the_smaller_of_objective_and_gain_but_at_least_to_a_thousandth_at_zero():
    cases = [  # objective, bound and gap, where the objective at zero is 10
        (10.0, 9.0, 1.0),  # relative to the gain, 10 - 9
        (10.0, 0.0, 1.0),
        (6.0, 5.0, 0.2),
        (2.0, 1.9, 0.05),  # relative to the objective
        (1e-9, 0.0, 1e-7),  # relative to a thousandth of 10
        (0.0, 0.0, 0.0),
        (5.0, 6.0, 0.0),  # the bound is above the objective by rounding
    ]
    objective, bound, gap = np.array(cases).T
    np.testing.assert_allclose(relative_gap(objective, bound, 10.0), gap)


@SOLVER
@NORM
@INTERCEPT
def test_single_precision_is_kept_and_certified_in_double(solver, norm, intercept):
    problem, radii = draw_tasks(np.float32, intercept=intercept), (0.3, 3.0, 30.0)
    got, balls = (
        fit(solver, problem, radii, norm=norm, tol=1e-4, n_iter=5000 if solver.STOPS_AT_TOL else 200),
        per_pair(norm, radii),
    )
    assert got.W.dtype == got.b.dtype == np.float32 and (not solver.STOPS_AT_TOL or np.all(got.gap <= 1e-4))
    assert all(np.all(norm.norm(W) <= radius * (1 + 1e-6)) for W, radius in zip(got.W, radii, strict=True))
    exact = {"rtol": 0, "atol": 1e-13 * got.objective[0, 0]}
    # Products for another number of pairs add up their terms in another order.
    np.testing.assert_allclose(got.bound, lower_bound(problem, hinge, balls, got.dual), **exact)
    np.testing.assert_allclose(got.value, objective_of(problem, hinge, balls, got.W, got.b), **exact)
    for pair, W in enumerate(got.W):  # the margins of `objective` are products in single precision
        atol = sum((part.c * rounding(part.X, W[:, part.tasks])).sum() for part in problem.parts)
        np.testing.assert_allclose(np.nanmin(got.objective[pair]), got.value[pair], rtol=1e-6, atol=atol)


@SOLVER
@NORM
def test_without_iterations_or_with_radius_zero_or_a_large_penalty_the_solution_is_zero(solver, norm):
    problem = draw_tasks()
    for loss in LOSSES.values():
        at_zero = loss.value(np.zeros_like(problem.y), problem.y, problem.c)
        for radius, penalised, n_iter in ((0.3, False, 0), (0.0, False, 5), (1e4, True, 5)):
            got = fit(solver, problem, [radius], loss, norm, n_iter=n_iter, penalised=penalised, tol=1e-12)
            assert not got.W.any() and not got.b.any()
            np.testing.assert_allclose(got.value, at_zero)
            if solver.STOPS_AT_TOL:
                assert got.n_iter == 0
            elif not n_iter:
                assert got.bound[0] == 0 and got.gap[0] == 1, "without a step there is no certificate"


@SOLVER
@INTERCEPT
def test_tasks_may_have_no_samples_or_one_class_and_problems_may_be_empty(solver, intercept, rng):
    X = [rng.normal(size=(n, 5)) for n in (12, 0, 7)]
    problem = Problem(X, [np.sign(X[0][:, 0]), np.empty(0), np.ones(7)], normalisation="mean", intercept=intercept)
    for norm in NORMS.values():
        got = fit(solver, problem, [0.5], norm=norm, eta0=0.5, n_iter=3000)
        assert not got.W[0, :, 1].any() and np.all(np.isfinite(got.W)) and got.gap[0] <= 0.01
        assert not intercept or got.b[0, 2] > 0.5
        for shape in ((0, 4), (3, 0)):
            empty = Problem([np.zeros(shape)] * 2, [np.ones(shape[0])] * 2)
            got = fit(solver, empty, [1.0], norm=norm, n_iter=3)
            assert got.W.shape == (1, shape[1], 2) and got.value[0] == got.objective[0, 0]


@SOLVER
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-9)])
def test_sparse_features_and_many_parts_give_the_same_solution(monkeypatch, solver, dtype, tolerance):
    options = {"dtype": dtype, "n": 50, "intercept": True}
    n_parts, expected = len(draw_tasks(**options).parts), fit(solver, draw_tasks(**options), n_iter=20)
    monkeypatch.setattr("jointsparse.learning.problem.PART_BYTES", 1)
    assert len(draw_tasks(**options).parts) > n_parts
    for container in (np.asarray, sparse.csr_matrix):
        got = fit(solver, draw_tasks(**options, container=container), n_iter=20)
        np.testing.assert_allclose(got.W, expected.W, atol=tolerance)
