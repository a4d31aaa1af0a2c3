"""Primal-dual hybrid gradient against an interior-point solver, for every norm and loss; then its own promises."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from jointsparse.learning.losses import LOSSES, hinge, squared
from jointsparse.learning.problem import Problem, Regulariser, lower_bound
from jointsparse.learning.solvers import pdhg
from jointsparse.norms import NORMS, l1, l1inf

CONVEX_NORMS = {
    "l1": lambda W: cp.sum(cp.abs(W)),
    "l2": lambda W: cp.sum(cp.norm(W, 2, axis=0)),
    "l12": lambda W: cp.sum(cp.norm(W, 2, axis=1)),
    "l1inf": lambda W: cp.sum(cp.max(cp.abs(W), axis=1)),
}
CONVEX_LOSSES = {
    "hinge": lambda f, y: cp.pos(1 - cp.multiply(y, f)),
    "logistic": lambda f, y: cp.logistic(-cp.multiply(y, f)),
    "squared": lambda f, y: cp.square(y - f) / 2,
}


def tasks(dtype=float, m=3, d=6, n=14, seed=0, **options):
    """Tasks of n, n + 1, … samples that share two features, with weights."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n + k, d)).astype(dtype) for k in range(m)]
    y = [np.where(x[:, 0] + x[:, 1] * rng.random() + 0.5 + rng.normal(size=len(x)) > 0, 1.0, -1.0) for x in X]
    return Problem(X, y, [rng.choice([0.5, 1.0, 3.0], size=len(x)) for x in X], **options)


def optimum(problem, loss, norm, radius, penalised):
    """The smallest objective, by an interior-point method."""
    W, b = cp.Variable((problem.n_features, problem.n_tasks)), cp.Variable(problem.n_tasks)
    objective, constraints = 0, [] if problem.intercept else [b == 0]
    for part in problem.parts:
        X, y, c = (np.asarray(array, dtype=float) for array in (part.X, part.y[:, 0], part.c[:, 0]))
        objective += c @ CONVEX_LOSSES[loss](X @ W[:, part.task] + b[part.task], y)
    if penalised:
        objective += radius * CONVEX_NORMS[norm](W)
    elif np.ndim(NORMS[norm].norm(np.eye(2))):  # a ball for each task
        constraints += [CONVEX_NORMS[norm](W[:, [k]]) <= radius for k in range(problem.n_tasks)]
    else:
        constraints += [CONVEX_NORMS[norm](W) <= radius]
    return cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("penalised", [False, True], ids=["radius", "penalty"])
@pytest.mark.parametrize("norm", sorted(NORMS))
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_objective_and_bound_enclose_the_optimum(loss, norm, penalised, intercept):
    problem = tasks(intercept=intercept)
    radius, tol = (2.0, 0.7)[penalised], 1e-6
    fit = pdhg.fit(
        problem,
        loss=LOSSES[loss],
        norm=NORMS[norm],
        radius=np.array([radius]),
        tol=tol,
        n_iter=20000,
        penalised=penalised,
    )
    expected = optimum(problem, loss, norm, radius, penalised)
    smallest = np.nanmin(fit.objective)
    assert fit.gap[0] <= tol
    assert fit.bound[0] <= expected * (1 + 1e-7)
    assert expected * (1 - 1e-7) <= smallest <= expected * (1 + 2 * tol)
    np.testing.assert_allclose(objective(problem, LOSSES[loss], fit, NORMS[norm], radius * penalised), smallest)
    assert penalised or np.all(NORMS[norm].norm(fit.W[0]) <= radius * (1 + 1e-12))
    assert intercept or not fit.b.any()


def objective(problem, loss, fit, norm, penalty=0.0, pair=0):
    W, b = fit.W[pair].astype(float), fit.b[pair]
    losses = [loss.value((p.X @ W[:, p.task] + b[p.task])[:, np.newaxis], p.y, p.c)[0] for p in problem.parts]
    return sum(losses) + penalty * np.sum(norm.norm(W))


def fit_hinge(problem, radii=(0.3, 3.0, 30.0), norm=l1inf, **options):
    return pdhg.fit(problem, loss=hinge, norm=norm, radius=np.array(radii), **options)


def same(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one[:5], other[:5], strict=True))


@pytest.mark.parametrize("norm", sorted(NORMS))
@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
def test_single_precision_reaches_a_small_gap(norm, intercept):
    problem = tasks(np.float32, intercept=intercept)
    fit = fit_hinge(problem, norm=NORMS[norm], tol=1e-4, n_iter=5000)
    assert fit.W.dtype == np.float32 and np.all(fit.gap <= 1e-4)
    at_zero = fit.objective[0, 0]
    # `bound` is that of `dual`, in double precision. Products of another number of pairs add up in another order.
    proven = lower_bound(problem, hinge, Regulariser(NORMS[norm], np.array([0.3, 3.0, 30.0])), fit.dual)
    np.testing.assert_allclose(fit.bound, proven, rtol=0, atol=1e-13 * at_zero)
    for pair, radius in enumerate((0.3, 3.0, 30.0)):
        assert np.all(NORMS[norm].norm(fit.W[pair]) <= radius * (1 + 1e-6))
        # `value` is the objective in double precision; `objective` has margins with the 1e-7 of single precision.
        expected = objective(problem, hinge, fit, NORMS[norm], pair=pair)
        np.testing.assert_allclose(fit.value[pair], expected, rtol=0, atol=1e-13 * at_zero)
        np.testing.assert_allclose(np.nanmin(fit.objective[pair]), expected, rtol=0, atol=1e-6 * at_zero)


def test_every_pair_stops_at_its_own_gap():
    problem = tasks(normalisation="mean")
    together = fit_hinge(problem, n_iter=5000)
    last = np.isfinite(together.objective).cumsum(axis=1).argmax(axis=1)
    assert together.n_iter == last.max() and len(set(last)) > 1
    for pair, radius in enumerate((0.3, 3.0, 30.0)):
        alone = fit_hinge(problem, [radius], n_iter=5000)
        assert alone.n_iter == last[pair] and alone.gap[0] <= 1e-3
        np.testing.assert_allclose(alone.W[0], together.W[pair], atol=1e-6)


def test_a_tolerance_out_of_reach_takes_all_iterations():
    fit = fit_hinge(tasks(), tol=0.0, n_iter=25)
    assert fit.n_iter == 25 and fit.objective.shape == (3, 26)
    assert np.flatnonzero(np.isfinite(fit.objective[2])).tolist() == [0, 10, 20, 25]
    with pytest.raises(ValueError, match=r"^tol must be at least 0, got -1"):
        fit_hinge(tasks(), tol=-1.0)


def test_two_runs_give_the_same_bits():
    assert same(fit_hinge(tasks(np.float32)), fit_hinge(tasks(np.float32)))


@pytest.mark.parametrize("penalised", [False, True], ids=["radius", "penalty"])
def test_an_earlier_fit_saves_iterations(penalised):
    problem = tasks(n=40, d=30, intercept=True)
    rough = fit_hinge(problem, [1.0, 3.0], n_iter=5000, penalised=penalised)
    cold = fit_hinge(problem, [1.0, 3.0], tol=1e-5, n_iter=5000, penalised=penalised)
    again = fit_hinge(problem, [1.0, 3.0], n_iter=5000, penalised=penalised, start=rough)
    further = fit_hinge(problem, [1.0, 3.0], tol=1e-5, n_iter=5000, penalised=penalised, start=cold)
    near = fit_hinge(problem, [0.99, 2.97], tol=1e-4, n_iter=5000, penalised=penalised, start=cold)
    far = fit_hinge(problem, [0.99, 2.97], tol=1e-4, n_iter=5000, penalised=penalised)
    assert again.n_iter == further.n_iter == 0 and near.n_iter < far.n_iter
    assert np.all(near.gap <= 1e-4)


def test_without_iterations_the_solution_is_zero():
    problem = tasks()
    fit = fit_hinge(problem, n_iter=0)
    assert fit.n_iter == 0 and not fit.W.any() and not fit.b.any()
    np.testing.assert_allclose(fit.objective[:, 0], sum(part.c.sum() for part in problem.parts))
    np.testing.assert_allclose(fit.gap, 1 - np.maximum(fit.bound, -np.inf) / fit.objective[:, 0])


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("norm", sorted(NORMS))
def test_radius_zero_and_a_large_penalty_need_no_iterations(loss, norm):
    for radius, penalised in ((0.0, False), (1e4, True)):
        fit = pdhg.fit(
            tasks(), loss=LOSSES[loss], norm=NORMS[norm], radius=np.array([radius]), penalised=penalised, tol=1e-12
        )
        assert fit.n_iter == 0 and not fit.W.any() and fit.gap[0] <= 1e-12


@pytest.mark.parametrize("norm", sorted(NORMS))
@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
def test_tasks_without_samples_or_with_one_class(norm, intercept):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 5)) for n in (12, 0, 7)]
    y = [np.sign(X[0][:, 0]), np.empty(0), np.ones(7)]
    fit = fit_hinge(Problem(X, y, normalisation="mean", intercept=intercept), [0.5], NORMS[norm], n_iter=3000)
    assert fit.gap[0] <= 1e-3 and np.all(np.isfinite(fit.W))
    assert not intercept or fit.b[0, 2] > 0.5


@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_nothing_to_learn(shape):
    problem = Problem([np.zeros(shape)] * 2, [np.ones(shape[0])] * 2)
    fit = fit_hinge(problem, [1.0], l1)
    assert fit.n_iter == 0 and fit.gap[0] == 0 and fit.W.shape == (1, shape[1], 2)


def test_sparse_features_give_the_same_solution():
    dense = tasks(intercept=True)
    labels = [part.y[:, 0] for part in dense.parts], [part.c[:, 0] for part in dense.parts]
    thin = Problem([sparse.csr_matrix(part.X) for part in dense.parts], *labels, intercept=True)
    np.testing.assert_allclose(fit_hinge(thin).W, fit_hinge(dense).W, atol=1e-9)


def test_samples_of_a_task_may_come_in_parts(monkeypatch):
    monkeypatch.setattr("jointsparse.learning.problem.PART", 1)
    parted = tasks(n=50)
    monkeypatch.undo()
    whole = tasks(n=50)
    assert len(parted.parts) > len(whole.parts)
    np.testing.assert_allclose(fit_hinge(parted).W, fit_hinge(whole).W, atol=1e-9)


def test_spectral_bounds_are_close_from_above():
    rng = np.random.default_rng(1)
    shapes = [(20, 40), (40, 40), (300, 40)]
    problem = Problem(
        [rng.normal(size=shape) for shape in shapes] + [np.zeros((3, 40))],
        [np.ones(s[0]) for s in shapes] + [np.ones(3)],
    )
    got = pdhg.spectral_bounds(problem)
    expected = [np.linalg.norm(part.X, 2) ** 2 for part in problem.parts]
    assert np.all(got[:3] >= expected[:3]) and np.all(got[:3] <= 1.06 * np.array(expected[:3])) and got[3] == 1


@pytest.mark.parametrize(
    ("dtype", "scale"), [(float, 2.0**200), (float, 2.0**-500), (np.float32, 2.0**35), (np.float32, 2.0**-50)]
)
def test_spectral_bounds_scale_with_the_features(dtype, scale):
    X = np.random.default_rng(1).normal(size=(20, 40)).astype(dtype)
    one, other = (pdhg.spectral_bounds(Problem([x], [np.ones(20)])) for x in (X, (X * scale).astype(dtype)))
    np.testing.assert_allclose(other / scale**2, one, rtol=1e-6)


def test_spectral_bounds_leave_out_samples_of_weight_zero():
    X = np.random.default_rng(1).normal(size=(40, 10))
    c = (np.arange(40) > 1).astype(float)
    expected = pdhg.spectral_bounds(Problem([X[2:]], [np.ones(38)]))
    X[:2] *= 1e5
    shared = Problem([X], [np.ones(40)], [c])
    assert len(shared.y) == 40
    np.testing.assert_allclose(pdhg.spectral_bounds(shared), expected, rtol=1e-6)


def test_numbers_may_be_learnt_and_zero_is_one_of_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    target = np.where(rng.random(30) < 0.5, 0.0, X @ [1.0, 0.0, -2.0, 0.0])
    expected = np.linalg.lstsq(X, target, rcond=None)[0]
    fit = pdhg.fit(Problem([X], [target]), loss=squared, norm=l1, radius=np.array([1e3]), tol=1e-12, n_iter=5000)
    np.testing.assert_allclose(fit.W[0, :, 0], expected, atol=1e-5)


def test_progress_is_told():
    told = []
    fit_hinge(tasks(), tol=0.0, n_iter=3, progress=lambda done, of_all: told.append((done, of_all)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_one_task_and_one_pair_are_as_easy_as_two_pairs(loss):
    tasks = Problem([np.array([[1.0, -0.5]])], [np.ones(1)])
    options = {"loss": LOSSES[loss], "norm": NORMS["l1inf"], "tol": 1e-4, "penalised": True}
    one = pdhg.fit(tasks, radius=np.array([0.1]), **options)
    two = pdhg.fit(tasks, radius=np.array([0.1, 0.1]), **options)
    assert one.gap[0] <= 1e-4 and one.n_iter == two.n_iter
    np.testing.assert_allclose(one.W[0], two.W[1], atol=1e-12)
