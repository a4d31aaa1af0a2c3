"""Properties of every solver, for every norm and loss."""

import numpy as np
import pytest
from common import draw_tasks, rounding
from scipy import sparse
from test_certificate import CELLS, cells, optimum

from jointsparse.learning.certificate import lower_bound, relative_gap, solve_at_zero
from jointsparse.learning.losses import LOSSES, hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import per_pair
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import NORMS, l1inf

pytestmark = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
NORM = pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
INTERCEPT = pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])


def fit(solver, problem, radius=(0.3, 3.0), loss=hinge, norm=l1inf, eta0=0.05, tol=1e-3, n_iter=200, **options):
    options |= {"tol": tol} if solver.STOPS_AT_TOL else {}
    options |= {"eta0": np.full(len(radius), eta0)} if "eta0" in solver.TAKES else {}
    return solver.fit(problem, loss=loss, norm=norm, radius=np.array(radius), n_iter=n_iter, **options)


def objective(problem, loss, fit, norm, pair=0):
    W, b = fit.W[pair].astype(float), fit.b[pair]
    margins = ((p, (p.X @ W[:, p.tasks.start] + b[p.tasks.start])[:, np.newaxis]) for p in problem.parts)
    return sum(loss.value(F, p.y, p.c)[0] for p, F in margins)


@CELLS
def test_objective_and_bound_enclose_the_optimum(solver, cell, convex):
    problem, loss, norm, strength, penalised, form = cells()[cell]
    options = {"loss": LOSSES[loss], "norm": NORMS[norm], "penalised": penalised, **form}
    options["eta0"] = 1.0 if "apart" in cell else 0.05  # these losses are means
    got = fit(solver, problem, [strength], tol=1e-6, n_iter=20_000 if solver.STOPS_AT_TOL else 500, **options)
    expected, smallest = optimum(cell), np.nanmin(got.objective)
    assert got.bound[0] * (1 - 1e-7) <= expected <= smallest * (1 + 1e-7)
    np.testing.assert_allclose(got.value[0], smallest, rtol=1e-12)
    at_zero = solve_at_zero(problem, LOSSES[loss])[1]
    # Problems whose tasks form one part add up their terms in another order.
    np.testing.assert_allclose(got.gap, relative_gap(got.value, got.bound, at_zero), rtol=1e-9, atol=1e-15)
    regularisers = per_pair(NORMS[norm], [strength], penalised, **form)
    bound = lower_bound(problem, LOSSES[loss], regularisers, got.dual)
    np.testing.assert_allclose(got.bound, bound, rtol=1e-12, atol=1e-13 * at_zero)
    assert not form.get("positive") or got.W.min() >= 0
    size = NORMS[norm].norm(got.W[0], **{name: form[name] for name in ("weights", "groups") if name in form})
    assert penalised or np.all(size <= strength * (1 + 1e-12))
    assert problem.intercept or not got.b.any()
    if solver.STOPS_AT_TOL:
        assert got.gap[0] <= 1e-6 and fit(solver, problem, [strength], start=got, tol=1e-6, **options).n_iter == 0
    else:
        assert penalised or got.gap[0] <= 0.2


@NORM
@INTERCEPT
def test_single_precision_is_kept_and_certified_in_double(solver, norm, intercept):
    problem, radii = draw_tasks(np.float32, intercept=intercept), (0.3, 3.0, 30.0)
    got = fit(solver, problem, radii, norm=norm, tol=1e-4, n_iter=5000 if solver.STOPS_AT_TOL else 200)
    assert got.W.dtype == np.float32 and np.all(got.gap <= (1e-4 if solver.STOPS_AT_TOL else 1))
    at_zero = got.objective[0, 0]
    # Products for another number of pairs add up their terms in another order.
    proven = lower_bound(problem, hinge, per_pair(norm, radii), got.dual)
    np.testing.assert_allclose(got.bound, proven, rtol=0, atol=1e-13 * at_zero)
    for pair, radius in enumerate(radii):
        assert np.all(norm.norm(got.W[pair]) <= radius * (1 + 1e-6))
        # `value` is the objective in double precision; the margins of `objective` are products in single precision.
        expected = objective(problem, hinge, got, norm, pair=pair)
        np.testing.assert_allclose(got.value[pair], expected, rtol=0, atol=1e-13 * at_zero)
        atol = sum((part.c * rounding(part.X, got.W[pair][:, part.tasks])).sum() for part in problem.parts)
        np.testing.assert_allclose(np.nanmin(got.objective[pair]), expected, rtol=1e-6, atol=atol)


@NORM
@pytest.mark.parametrize("loss", LOSSES)
def test_without_iterations_or_with_radius_zero_or_a_large_penalty_the_solution_is_zero(solver, norm, loss):
    problem = draw_tasks()
    got = fit(solver, problem, norm=norm, loss=LOSSES[loss], n_iter=0)
    assert got.n_iter == 0 and not got.W.any() and not got.b.any()
    at_zero = LOSSES[loss].value(np.zeros_like(problem.y), problem.y, problem.c)
    np.testing.assert_allclose(got.objective, np.full((2, 1), at_zero))
    assert solver.STOPS_AT_TOL or (not got.bound.any() and np.all(got.gap == 1))
    for radius, penalised in ((0.0, False), (1e4, True)):
        got = fit(solver, problem, [radius], LOSSES[loss], norm, n_iter=5, penalised=penalised, tol=1e-12)
        assert not got.W.any() and (got.n_iter == 0 or not solver.STOPS_AT_TOL)
        np.testing.assert_allclose(got.value, at_zero)


@NORM
@INTERCEPT
def test_tasks_may_have_no_samples_or_one_class_and_problems_may_be_empty(solver, norm, intercept):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 5)) for n in (12, 0, 7)]
    problem = Problem(X, [np.sign(X[0][:, 0]), np.empty(0), np.ones(7)], normalisation="mean", intercept=intercept)
    got = fit(solver, problem, [0.5], norm=norm, eta0=0.5, n_iter=3000)
    assert not got.W[0, :, 1].any() and np.all(np.isfinite(got.W)) and got.gap[0] <= 0.01
    assert not intercept or got.b[0, 2] > 0.5
    for shape in ((0, 4), (3, 0)):
        empty = Problem([np.zeros(shape)] * 2, [np.ones(shape[0])] * 2)
        got = fit(solver, empty, [1.0], norm=norm, n_iter=3)
        assert got.W.shape == (1, shape[1], 2) and got.value[0] == got.objective[0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_features_and_many_parts_give_the_same_solution(monkeypatch, solver, dtype):
    options = {"dtype": dtype, "n": 50, "intercept": True}
    problems = [draw_tasks(**options), draw_tasks(**options, container=sparse.csr_matrix)]
    n_parts = [len(problem.parts) for problem in problems]  # parts are computed at the first access
    monkeypatch.setattr("jointsparse.learning.problem.PART_BYTES", 1)
    problems.append(draw_tasks(**options))
    assert len(problems[2].parts) > n_parts[0]
    whole, *others = (fit(solver, problem, n_iter=20) for problem in problems)
    for got in others:
        assert got.W.dtype == dtype
        np.testing.assert_allclose(got.W, whole.W, atol=1e-4 if dtype == np.float32 else 1e-9)


def too_long(project, W, radius, *, out=None, **options):
    """Project, and leave the ball by a little more than rounding."""
    out = project(W, radius, out=out, **options)
    out *= 1 + 2e-9
    return out


def ignoring_positive(project, W, radius, *, positive=False, **options):
    """Project as if negative weights were allowed."""
    return project(W, radius, **options)


@NORM
@pytest.mark.parametrize("wrong", [too_long, ignoring_positive])
def test_weights_that_violate_a_constraint_are_not_certified(solver, norm, wrong, monkeypatch):
    options = {"norm": norm, "positive": True, "tol": 1e-4, "n_iter": 300}
    assert np.all(np.isfinite(fit(solver, draw_tasks(), [0.3, 3.0], **options).gap))
    exact = norm.project
    monkeypatch.setattr(norm, "project", lambda *arguments, **options: wrong(exact, *arguments, **options))
    got = fit(solver, draw_tasks(), [0.3, 3.0], **options)
    pair = int(wrong is ignoring_positive)  # which ball the fault can be seen in
    assert got.gap[pair] == got.value[pair] == np.inf
