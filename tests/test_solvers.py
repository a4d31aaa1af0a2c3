"""Properties of every solver, for every norm and loss."""

from functools import partial

import numpy as np
import pytest
from common import draw_labels, draw_tasks, rounding
from scipy import sparse

from jointsparse.learning.certificate import lower_bound, relative_gap, solve_at_zero
from jointsparse.learning.losses import LOSSES, hinge, squared
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import per_pair
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import NORMS, l1inf

pytestmark = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
NORM = pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
SHAPES = [(norm, shape) for norm in NORMS for shape in ("", "ridge", "weights", "groups")[: 3 + NORMS[norm].GROUPED]]
INTERCEPT = pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])


def fit(solver, problem, radius=(0.3, 3.0), loss=hinge, norm=l1inf, eta0=0.05, **options):
    if "eta0" in solver.TAKES:
        options["eta0"] = np.full(len(radius), eta0)
    return solver.fit(problem, loss=loss, norm=norm, radius=np.array(radius), **options)


def ignore_positive(project, W, radius, *, positive=False, **options):
    """Project as if negative weights were allowed."""
    return project(W, radius, **options)


def objective(problem, loss, fit, norm, penalty=0.0, pair=0):
    W, b = fit.W[pair].astype(float), fit.b[pair]
    losses = [
        loss.value((p.X @ W[:, p.tasks.start] + b[p.tasks.start])[:, np.newaxis], p.y, p.c)[0] for p in problem.parts
    ]
    return sum(losses) + penalty * np.sum(norm.norm(W))


@pytest.mark.parametrize("penalised", [False, True], ids=["radius", "penalty"])
@pytest.mark.parametrize(("norm", "shape"), SHAPES)
def test_objective_and_bound_enclose_the_optimum(solver, norm, penalised, shape, convex):
    # The cases combine every solver, loss and shape in pairs. Half of the cases have intercepts.
    place = list(SOLVERS.values()).index(solver) + SHAPES.index((norm, shape))
    loss, intercept = list(LOSSES)[place % len(LOSSES)], (place + penalised) % 2 == 0
    X, Y = draw_labels()
    form = {"l2": 2.0} if shape == "ridge" else {"positive": bool(shape)}
    if shape == "groups":
        form |= {"groups": np.array([2, 0, 2, 1, 0]), "weights": np.array([1.5, 0.5, 1.0])}
    elif shape == "weights" and NORMS[norm].WEIGHTED:
        form["weights"] = np.array([1.5, 0.5, 1.0, 2.0, 0.7])
    weights = np.abs(Y) * np.random.default_rng(1).choice([0.5, 1.0, 3.0], Y.shape)
    problem = Problem.from_matrix(X + 0.5, Y, weights, intercept=intercept)  # + 0.5 makes an intercept useful
    options = {"tol": 1e-6, "n_iter": 20_000} if solver.STOPS_AT_TOL else {"n_iter": 500}
    got = fit(solver, problem, [0.8], LOSSES[loss], NORMS[norm], penalised=penalised, **form, **options)
    (expected, _), smallest = convex.optimum(problem, loss, norm, 0.8, penalised, **form), np.nanmin(got.objective)
    assert got.bound[0] * (1 - 1e-7) <= expected <= smallest * (1 + 1e-7)
    np.testing.assert_allclose(got.value[0], smallest, rtol=1e-12)
    _, at_zero = solve_at_zero(problem, LOSSES[loss])
    np.testing.assert_array_equal(got.gap, relative_gap(got.value, got.bound, at_zero))
    assert got.gap[0] <= options.get("tol", np.inf if penalised else 0.1)
    assert not form.get("positive") or got.W.min() >= 0
    options = {name: form[name] for name in ("weights", "groups") if name in form}
    assert penalised or np.all(NORMS[norm].norm(got.W[0], **options) <= 0.8 * (1 + 1e-12))
    assert intercept or not got.b.any()


@NORM
@pytest.mark.parametrize(("strength", "penalised"), [(1e4, False), (0.0, True)], ids=["large radius", "no penalty"])
def test_a_ridge_term_alone_is_ridge_regression(solver, norm, strength, penalised, rng):
    X, Y = rng.normal(size=(30, 8)), rng.normal(size=(30, 3))
    options = {"tol": 1e-9, "n_iter": 5000} if solver.STOPS_AT_TOL else {"n_iter": 200}
    got = fit(solver, Problem.from_matrix(X, Y), [strength], squared, norm, penalised=penalised, l2=5.0, **options)
    expected = np.linalg.solve(X.T @ X + 5 * np.eye(8), X.T @ Y)
    np.testing.assert_allclose(got.W[0], expected, atol=1e-4)
    assert got.gap[0] <= options.get("tol", 0.01) and got.n_iter < 5000


@NORM
@INTERCEPT
def test_single_precision_is_kept_and_certified_in_double(solver, norm, intercept):
    problem, radii = draw_tasks(np.float32, intercept=intercept), (0.3, 3.0, 30.0)
    options = {"tol": 1e-4, "n_iter": 5000} if solver.STOPS_AT_TOL else {"n_iter": 200}
    got = fit(solver, problem, radii, norm=norm, **options)
    assert got.W.dtype == np.float32 and np.all(got.gap <= options.get("tol", 1))
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
def test_without_iterations_the_solution_is_zero(solver, norm):
    problem = draw_tasks()
    got = fit(solver, problem, norm=norm, n_iter=0)
    assert got.n_iter == 0 and not got.W.any() and not got.b.any()
    np.testing.assert_allclose(got.objective, np.full((2, 1), sum(part.c.sum() for part in problem.parts)))
    np.testing.assert_allclose(got.gap, 1)
    assert solver.STOPS_AT_TOL or not got.bound.any()


@NORM
@pytest.mark.parametrize(("radius", "penalised"), [(0.0, False), (1e4, True)])
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_radius_zero_and_a_large_penalty_give_zero(solver, norm, radius, penalised, loss):
    options = {"tol": 1e-12} if solver.STOPS_AT_TOL else {}
    got = fit(solver, draw_tasks(), [radius], LOSSES[loss], norm, n_iter=5, penalised=penalised, **options)
    assert not got.W.any() and (got.n_iter == 0 or not options)
    np.testing.assert_allclose(got.value, got.objective[0, 0])


@NORM
@INTERCEPT
def test_tasks_may_have_no_samples_or_one_class(solver, norm, intercept):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 5)) for n in (12, 0, 7)]
    problem = Problem(X, [np.sign(X[0][:, 0]), np.empty(0), np.ones(7)], normalisation="mean", intercept=intercept)
    got = fit(solver, problem, [0.5], norm=norm, eta0=0.5, n_iter=3000)
    assert not got.W[0, :, 1].any() and np.all(np.isfinite(got.W)) and got.gap[0] <= 0.01
    assert not intercept or got.b[0, 2] > 0.5


@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_problems_may_be_empty(solver, shape):
    got = fit(solver, Problem([np.zeros(shape)] * 2, [np.ones(shape[0])] * 2), [1.0], norm=NORMS["l1"], n_iter=3)
    assert got.W.shape == (1, shape[1], 2) and got.value[0] == got.objective[0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_features_and_many_parts_give_the_same_solution(monkeypatch, solver, dtype):
    problems = [
        draw_tasks(dtype, n=50, intercept=True),
        draw_tasks(dtype, n=50, intercept=True, container=sparse.csr_matrix),
    ]
    n_parts = [len(problem.parts) for problem in problems]  # parts are computed at the first access
    monkeypatch.setattr("jointsparse.learning.problem.PART_BYTES", 1)
    problems.append(draw_tasks(dtype, n=50, intercept=True))
    assert len(problems[2].parts) > n_parts[0]
    whole, *others = (fit(solver, problem, n_iter=20) for problem in problems)
    for got in others:
        assert got.W.dtype == dtype
        np.testing.assert_allclose(got.W, whole.W, atol=1e-4 if dtype == np.float32 else 1e-9)


@NORM
@pytest.mark.parametrize("positive", [False, True], ids=["", "positive"])
def test_weights_outside_the_ball_are_not_certified(solver, norm, positive, monkeypatch):
    exact = norm.project

    def too_long(W, radius, *, out=None, **options):
        out = exact(W, radius, out=out, **options)
        out *= 1 + 2e-9
        return out

    radii = (0.1, 0.3)
    options = {"tol": 1e-4, "n_iter": 300} if solver.STOPS_AT_TOL else {"n_iter": 200}
    assert np.all(np.isfinite(fit(solver, draw_tasks(), radii, norm=norm, positive=positive, **options).gap))
    monkeypatch.setattr(norm, "project", too_long)
    got = fit(solver, draw_tasks(), radii, norm=norm, positive=positive, **options)
    assert np.all(got.gap == np.inf) and np.all(got.value == np.inf)


@NORM
def test_negative_weights_are_not_certified_if_positive(solver, norm, monkeypatch):
    monkeypatch.setattr(norm, "project", partial(ignore_positive, norm.project))
    options = {"tol": 1e-4, "n_iter": 300} if solver.STOPS_AT_TOL else {"n_iter": 200}
    got = fit(solver, draw_tasks(), [3.0], norm=norm, positive=True, **options)
    assert (got.W < 0).any() and got.gap[0] == np.inf
