"""Properties of single solvers; test_solvers.py has the properties of every solver."""

import re
from functools import partial

import numpy as np
import oracles
import pytest
from common import draw_labels, draw_tasks, problem
from scipy import sparse

from jointsparse.learning.fit import Fit
from jointsparse.learning.losses import LOSSES, hinge, logistic
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import SOLVERS, pdhg, subgradient, working_set
from jointsparse.norms import NORMS, l1inf

# The working set solver


@pytest.mark.parametrize("penalised", [False, True], ids=["radius", "penalty"])
@pytest.mark.parametrize("norm", ["l1", "l12", "l1inf"])
@pytest.mark.parametrize("case", ["apart", "shared", "features of many sizes", "ridge"])
def test_a_few_rows_suffice_to_certify_the_optimum(norm, penalised, case):
    X, Y = problem(n=40, d=200, m=4)
    X *= 10.0 ** np.linspace(-1, 1, 200) if "sizes" in case else 1.0
    tasks = draw_tasks(n=40, d=200, intercept=True) if case == "apart" else Problem.from_matrix(X, Y)
    options = {"norm": NORMS[norm], "radius": np.array([6.0 if penalised else 1.0]), "penalised": penalised}
    for loss in LOSSES.values():
        got = working_set.fit(tasks, loss=loss, l2=2.0 * (case == "ridge"), tol=1e-5, n_iter=20_000, **options)
        rounds = got.rounds[0]
        assert got.gap[0] <= 1e-5 and rounds[0].n_rows < 60 and rounds[-1].n_rows < 200
        assert rounds[-1].n_iter == got.n_iter and rounds[-1].gap == got.gap[0]


@pytest.mark.parametrize(("together", "most_copies", "expected"), [(0, 2, 2), (1e9, 2, 1), (0, 0, 1)])
def test_tasks_copy_their_own_rows_unless_one_product_is_faster_or_the_copies_are_large(
    together, most_copies, expected, monkeypatch
):
    monkeypatch.setattr(working_set, "TOGETHER", together)
    monkeypatch.setattr(working_set, "MOST_COPIES", most_copies)
    tasks, shapes, steps = Problem.from_matrix(*problem(d=400)), [], working_set._Steps
    monkeypatch.setattr(working_set, "_Steps", lambda search, rows: shapes.append(rows.ndim) or steps(search, rows))
    got = working_set.fit(tasks, loss=hinge, norm=NORMS["l1"], radius=np.array([1.0]), tol=1e-4)
    assert got.gap[0] <= 1e-4 and set(shapes) == {expected}


def test_the_rounding_errors_of_a_constant_feature_are_not_taken_for_its_size():
    X, Y = problem(n=40, d=20)
    X *= 10.0 ** np.linspace(-1, 1, 20)
    X[:, :5] = [0.1, 0.3, 0.7, 1.1, 1 / 3]
    assert (X[:, :5] != X[:, :5].mean(axis=0)).any()
    scale = working_set.scale_of(Problem.from_matrix(X, Y, intercept=True))
    assert (scale[:5] == 1.0).all() and scale[5] > scale[-1]


@pytest.mark.parametrize("norm", ["l1", "l1inf"])
@pytest.mark.parametrize("solver", [pdhg, working_set])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_the_fit_of_a_radius_does_not_depend_on_the_other_radii(norm, solver, container):
    tasks = draw_tasks(np.float32, container=container, n=40, d=150)
    fit = partial(solver.fit, tasks, loss=hinge, norm=NORMS[norm], n_iter=5000)
    radii = np.array([2.0, 0.5, 1.0])
    got, turned = fit(radius=radii), fit(radius=radii[::-1])
    assert (
        np.all(got.gap <= 1e-3)
        and got.value[1] > got.value[2] > got.value[0]
        and fit(radius=radii, start=got).n_iter == 0
    )
    for name in ("W", "bound", "dual"):
        of_pairs, expected = ([getattr(fits.of(pair), name) for pair in range(3)] for fits in (got, turned))
        np.testing.assert_array_equal(of_pairs, expected[::-1], err_msg=name)
        joined = Fit.stack([got.of(pair) for pair in range(3)])
        np.testing.assert_array_equal(getattr(joined, name), getattr(got, name), err_msg=name)


@pytest.mark.parametrize(
    ("loss", "norm", "kind", "options", "used"),
    [
        *(("squared", name, "", {"penalised": True}, "_RowSweeps") for name in NORMS if NORMS[name].DESCENDS),
        ("squared", "l12", "weights that differ", {"penalised": True}, "_Steps"),
        ("squared", "l12", "", {"penalised": True, "positive": True}, "_Steps"),
        ("squared", "l12", "many rows", {"penalised": True}, "_Steps"),
        ("squared", "l12", "", {}, "_Steps"),
        ("squared", "l1", "", {"penalised": True}, "_Steps"),
        ("logistic", "l1", "sparse", {"penalised": True}, "_TaskSweeps"),
        ("logistic", "l1", "sparse", {}, "_Steps"),
        ("logistic", "l12", "sparse", {"penalised": True}, "_Steps"),
        ("hinge", "l2", "", {}, None),  # a norm without zeros has no working set
        ("hinge", "l12", "", {"groups": np.arange(50) // 2}, None),
    ],
)
def test_descent_is_used_where_it_can_be(monkeypatch, rng, loss, norm, kind, options, used):
    X, Y = rng.normal(size=(20, 50)), np.where(rng.normal(size=(20, 3)) > 0, 1.0, -1.0)
    X = sparse.csr_matrix(X * (rng.random(X.shape) < 0.2)) if kind == "sparse" else X
    problem = Problem.from_matrix(X, Y, rng.random((20, 3)) if "differ" in kind else np.ones((20, 3)))
    monkeypatch.setattr(working_set, "MOST_ROWS_OF_DESCENT", 10 if kind == "many rows" else 50)
    for other in {"_Steps", "_RowSweeps", "_TaskSweeps"} - {used}:
        monkeypatch.setattr(working_set, other, None)
    fit = partial(working_set.fit, problem, loss=LOSSES[loss], norm=NORMS[norm], radius=np.array([0.5]), **options)
    got = fit(tol=1e-4, n_iter=5000)
    assert got.gap[0] <= 1e-4 and bool(got.rounds) == (used is not None)
    assert 8 <= fit(tol=0.0, n_iter=50, watch=lambda t, *report: t >= 8).n_iter <= 10


def test_descent_on_tasks_never_increases_the_objective(rng):
    X = sparse.csr_matrix(rng.normal(size=(60, 10)) * (rng.random((60, 10)) < 0.5))
    problem = Problem.from_matrix(X, np.where(rng.random((60, 2)) < 0.5, 1.0, -1.0), intercept=True)
    options = {"loss": logistic, "norm": NORMS["l1"], "radius": np.array([0.1]), "penalised": True}
    start = working_set.fit(problem, **options, n_iter=1)
    # Where the curvature of the loss almost vanishes, whole Newton steps would overshoot.
    far = start._replace(W=5 + 20 * rng.normal(size=start.W.shape))
    got = working_set.fit(problem, **options, start=far, tol=1e-8)
    assert got.gap[0] <= 1e-8 and np.all(np.diff(got.objective[:, 0]) <= 1e-9)


# The primal-dual iterations


def fit_hinge(problem, radii=(0.3, 3.0, 30.0), norm=l1inf, **options):
    return pdhg.fit(problem, loss=hinge, norm=norm, radius=np.array(radii), **options)


def test_a_tolerance_of_zero_takes_all_iterations():
    fit = fit_hinge(draw_tasks(), tol=0.0, n_iter=25)
    assert fit.n_iter == 25 and fit.objective.shape == (3, 26)
    assert np.flatnonzero(np.isfinite(fit.objective[2])).tolist() == [0, 10, 20, 25]


@pytest.mark.parametrize("penalised", [False, True], ids=["radius", "penalty"])
def test_a_warm_start_saves_iterations(penalised):
    fit = partial(fit_hinge, draw_tasks(n=40, d=30, intercept=True), n_iter=5000, penalised=penalised)
    cold = fit([1.0, 3.0], tol=1e-5)
    near, far = (fit([0.99, 2.97], tol=1e-4, start=start) for start in (cold, None))
    assert near.n_iter < far.n_iter and np.all(near.gap <= 1e-4)


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_a_start_outside_the_ball_is_projected(norm):
    small = fit_hinge(draw_tasks(), [0.5], norm, start=fit_hinge(draw_tasks(), [10.0], norm), n_iter=0)
    assert np.all(norm.norm(small.W[0]) <= 0.5 * (1 + 1e-12)) and np.isfinite(small.value[0])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("solver", [solver for solver in SOLVERS.values() if solver.STOPS_AT_TOL])
def test_features_far_from_zero_cost_no_more_iterations(solver, loss, container, rng):
    X = rng.normal(size=(200, 20))
    Y = np.where(X[:, :2] + 0.3 * rng.normal(size=(200, 2)) > 0, 1.0, -1.0)
    options = {"loss": loss, "norm": l1inf, "radius": np.array([2.0]), "tol": 1e-3, "n_iter": 5000}
    near, far = (
        solver.fit(Problem.from_matrix(container(X + shift), Y, intercept=True), **options) for shift in (0.0, 100.0)
    )
    assert far.gap[0] <= 1e-3 and far.n_iter <= 1.5 * near.n_iter
    np.testing.assert_allclose(far.value, near.value, rtol=2e-3)


# Projected subgradient descent


# The weights of the first pair stay zero, and those of the others use features.
ETA0, RADIUS = np.array([2.0, 0.3, 0.3, 0.02]), np.array([0.0, 0.4, 100.0, 1.5])


def descend(X, Y, loss="hinge", norm="l1inf", eta0=ETA0, radius=RADIUS, penalised=False, n_iter=6, **options):
    tasks, plug_ins = Problem.from_matrix(X, Y, **options), {"loss": LOSSES[loss], "norm": NORMS[norm]}
    return subgradient.fit(tasks, eta0=eta0, radius=radius, penalised=penalised, n_iter=n_iter, **plug_ins)


@pytest.mark.parametrize(
    ("loss", "norm", "normalisation", "penalised"),
    [
        ("hinge", "l1inf", "sum", False),
        ("hinge", "l1inf", "sum", True),
        ("logistic", "l1", "mean", False),
        ("squared", "l12", "mean", False),
        ("hinge", "l2", "sum", False),
    ],
)
def test_training_agrees_with_a_slow_implementation(loss, norm, normalisation, penalised):
    X, Y = draw_labels()
    Y[:15, 0] = 0  # tasks of different sizes
    X.flags.writeable = Y.flags.writeable = False  # training must not change its input
    c = (Y != 0) / ((Y != 0).sum(axis=0) if normalisation == "mean" else 1.0)
    trained = descend(X, Y, loss, norm, penalised=penalised, normalisation=normalisation)
    for p, (eta0, radius) in enumerate(zip(ETA0, RADIUS, strict=True)):
        W, slopes = [np.zeros((X.shape[1], Y.shape[1]))], []
        for t in range(1, 7):
            slopes.append(LOSSES[loss].subgradient(X @ W[-1], Y, c))
            verb, number = ("prox", radius * eta0 / np.sqrt(t)) if penalised else ("project", radius)
            W.append(oracles.answer(norm, verb, W[-1] - eta0 / np.sqrt(t) * X.T @ slopes[-1], number).astype(float))
        cost = [float(penalised and radius * NORMS[norm].norm(W_t)) for W_t in W]
        objective = [LOSSES[loss].value(X @ W_t, Y, c).sum() + more for W_t, more in zip(W, cost, strict=True)]
        np.testing.assert_allclose(trained.objective[p], objective, rtol=1e-12)
        np.testing.assert_allclose(trained.value[p], min(objective), rtol=1e-12)
        np.testing.assert_allclose(trained.W[p], W[np.argmin(trained.objective[p])], atol=1e-12)
        # The dual variables are an average over the iterates, with weights that increase.
        average = np.average(slopes, axis=0, weights=[t**2 * eta0 / np.sqrt(t) for t in range(1, 7)])
        tasks = Problem.from_matrix(X, Y)
        np.testing.assert_allclose(tasks.transposed(trained.dual)[:, :, p], -average.T @ X, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("dtype", "scale", "eta0", "options"),
    [
        (np.float64, 1e70, 1e200, {"radius": np.array([1e300])}),
        (np.float32, 1, 5, {"radius": np.array([1e-3]), "penalised": True, "n_iter": 23}),  # in the last iteration
    ],
)
def test_divergence_names_eta0(dtype, scale, eta0, options):
    (X, Y), below = draw_labels(), re.escape(f"{eta0:g}")
    with pytest.raises(ValueError, match=rf"training diverged in iteration \d+: choose an eta0 below {below}, or"):
        descend((X * scale).astype(dtype), Y, "squared", eta0=np.array([float(eta0)]), **options)
