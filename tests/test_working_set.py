"""Properties of the working set solver; test_solvers.py has the properties of every solver."""

import tracemalloc

import numpy as np
import pytest
from common import draw_tasks
from scipy import sparse

from jointsparse.learning.certificate import lower_bound
from jointsparse.learning.losses import LOSSES, hinge, logistic, squared
from jointsparse.learning.problem import Problem
from jointsparse.learning.regulariser import per_pair
from jointsparse.learning.solvers import pdhg, working_set
from jointsparse.norms import NORMS, l12

NORM = pytest.mark.parametrize("norm", [norm for norm in NORMS.values() if norm.SPARSE], ids=lambda norm: norm.__name__)
FORM = pytest.mark.parametrize("penalised", [False, True], ids=["radius", "penalty"])


def draw_wide(dtype=float, shared=False, container=np.asarray, n=60, d=400, m=5, **options):
    """Draw a problem of m tasks that depend on the same 10 of d features, with or without shared samples."""
    rng = np.random.default_rng(0)
    W = np.zeros((d, m))
    W[rng.choice(d, 10, replace=False)] = rng.choice([-1.0, 1.0], (10, m))
    X = [container(rng.normal(size=(n, d)).astype(dtype)) for _ in range(1 if shared else m)] * (m if shared else 1)
    y = [np.where(X_k @ w + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0) for X_k, w in zip(X, W.T, strict=True)]
    return Problem(X, y, **options)


@NORM
@FORM
@pytest.mark.parametrize(("shared", "intercept"), [(False, True), (True, False)], ids=["apart", "shared"])
def test_a_few_rows_suffice_to_certify_the_optimum(norm, penalised, shared, intercept):
    problem = draw_wide(shared=shared, intercept=intercept, n=40, d=200, m=4)
    options = {"loss": hinge, "norm": norm, "radius": np.array([12.0 if penalised else 1.0]), "penalised": penalised}
    got = working_set.fit(problem, **options, tol=1e-5, n_iter=20_000)
    whole = pdhg.fit(problem, **options, tol=1e-5, n_iter=20_000)
    assert got.gap[0] <= 1e-5
    np.testing.assert_allclose(got.value, whole.value, rtol=2e-5)
    regularisers = per_pair(norm, options["radius"], penalised)
    np.testing.assert_allclose(got.bound, lower_bound(problem, hinge, regularisers, got.dual), rtol=1e-12)
    rounds = got.rounds[0]
    assert rounds[-1].n_iter == got.n_iter and rounds[-1].gap == got.gap[0]
    done = np.diff([latest.n_iter for latest in rounds], prepend=0)
    assert rounds[-1].n_rows < 150 and done @ [latest.n_rows for latest in rounds] < 0.5 * 200 * got.n_iter


@pytest.mark.parametrize(("together", "most_copies", "expected"), [(0, 2, 2), (1e9, 2, 1), (0, 0, 1)])
def test_tasks_copy_their_own_rows_unless_one_product_is_faster_or_the_copies_are_large(
    together, most_copies, expected, monkeypatch
):
    monkeypatch.setattr(working_set, "TOGETHER", together)
    monkeypatch.setattr(working_set, "MOST_COPIES", most_copies)
    problem, shapes, steps = draw_wide(shared=True), [], working_set._Steps
    monkeypatch.setattr(working_set, "_Steps", lambda search, rows: shapes.append(rows.ndim) or steps(search, rows))
    got = working_set.fit(problem, loss=hinge, norm=NORMS["l1"], radius=np.array([1.0]), tol=1e-4)
    assert got.gap[0] <= 1e-4 and set(shapes) == {expected}


def test_the_features_of_only_one_working_set_are_copied_at_a_time():
    problem = draw_wide(shared=True, n=3000, d=80, m=2)
    # With a ridge term the features are not scaled, so no sample of them is copied, either.
    options = {"loss": logistic, "norm": l12, "radius": np.array([50.0]), "tol": 1e-4, "l2": 1e-3}
    working_set.fit(problem, **options)  # compiles the kernels
    tracemalloc.start()
    (rounds,) = working_set.fit(problem, **options).rounds
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(latest.n_rows for latest in rounds) >= 40  # at least half of the features
    assert peak < 1.2 * problem.X[0].nbytes  # 1.5 with the features of the previous working set


@NORM
@FORM
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_with_a_ridge_term_equal_features_have_equal_weights(norm, penalised, loss):
    half = draw_wide(shared=True, n=30, d=80, m=3)
    problem = half.changed(n_features=160, X=[np.hstack(half.X[:2])] * 3)
    options = {"radius": np.array([4.0 if penalised else 1.0]), "penalised": penalised, "l2": 2.0}
    options |= {"loss": loss, "norm": norm, "tol": 1e-6}
    got = working_set.fit(problem, n_iter=20_000, **options)
    W, of_copies = np.split(got.W[0], 2)
    np.testing.assert_allclose(W, of_copies, atol=2e-3)  # the objective is strongly convex
    assert got.gap[0] <= 1e-6 and 0 < np.count_nonzero(W.any(axis=1)) < 60
    assert working_set.fit(problem, start=got, **options).n_iter == 0


@NORM
@pytest.mark.parametrize("solver", [pdhg, working_set])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_the_fit_of_a_radius_does_not_depend_on_the_other_radii(norm, solver, container):
    problem = draw_wide(np.float32, container=container, n=40, d=150, m=4)
    options = {"loss": hinge, "norm": norm, "n_iter": 5000}
    radii = np.array([2.0, 0.5, 1.0])
    got = solver.fit(problem, **options, radius=radii)
    turned = solver.fit(problem, **options, radius=radii[::-1])
    assert np.all(got.gap <= 1e-3) and got.value[1] > got.value[2] > got.value[0]
    np.testing.assert_array_equal(got.W, turned.W[::-1])
    assert solver.fit(problem, **options, radius=radii, start=got).n_iter == 0
    for pair, radius in enumerate(radii):
        assert np.all(norm.norm(got.W[pair]) <= radius * (1 + 1e-6))


@pytest.mark.parametrize("loss", [hinge, squared])
def test_a_fit_does_not_change_the_fit_that_it_starts_from(loss):
    problem = draw_wide()
    options = {"loss": loss, "norm": l12, "tol": 1e-4, "n_iter": 5000}
    start = working_set.fit(problem, **options, radius=np.array([1.0]))
    before = working_set.fit(problem, **options, radius=np.array([2.0]), start=start)
    working_set.fit(problem, **options, radius=np.array([0.3]), start=start)
    after = working_set.fit(problem, **options, radius=np.array([2.0]), start=start)
    np.testing.assert_array_equal(after.W, before.W)
    assert after.n_iter == before.n_iter


def test_a_norm_without_zeros_has_no_working_set():
    options = {"loss": hinge, "norm": NORMS["l2"], "radius": np.array([1.0, 2.0])}
    got, whole = (solver.fit(draw_tasks(), **options) for solver in (working_set, pdhg))
    np.testing.assert_array_equal(got.W, whole.W)
    assert not got.rounds


# Coordinate descent on the rows of W, for squared losses with a penalty


@pytest.mark.parametrize("norm", [name for name, norm in NORMS.items() if norm.DESCENDS])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 30)], ids=["", "weighted"])
@pytest.mark.parametrize(("sparse_features", "l2"), [(False, 0.0), (True, 5.0)])
def test_descent_on_rows_agrees_with_pdhg(norm, intercept, weights, sparse_features, l2):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 30)) * (rng.random((40, 30)) < 0.5)
    Y = X[:, :3] @ rng.normal(size=(3, 4)) + rng.normal(size=(40, 4)) + 2.0
    c = np.tile(rng.random((40, 1)) + 0.5, (1, 4))
    problem = Problem.from_matrix(sparse.csr_matrix(X) if sparse_features else X, Y, c, intercept=intercept)
    options = {"loss": squared, "norm": NORMS[norm], "radius": np.array([5.0]), "penalised": True, "weights": weights}
    options |= {"l2": l2}
    got, expected = (solver.fit(problem, tol=1e-9, n_iter=5000, **options) for solver in (working_set, pdhg))
    assert got.gap[0] <= 1e-9 and got.n_iter < expected.n_iter
    np.testing.assert_allclose(got.value, expected.value, rtol=1e-8)
    np.testing.assert_allclose(got.W, expected.W, atol=1e-3)
    np.testing.assert_allclose(got.b, expected.b, atol=1e-3)
    assert working_set.fit(problem, tol=1e-9, start=got, **options).n_iter == 0


# Coordinate descent on the weights of each task, for the logistic loss with an l1 penalty and sparse features


@pytest.mark.parametrize(
    ("positive", "intercept", "weights", "dtype", "l2"),
    [
        (False, False, None, np.float64, 0.0),
        (False, True, np.linspace(0.5, 2.0, 30), np.float64, 3.0),
        (True, True, None, np.float32, 0.0),
    ],
)
def test_descent_on_tasks_agrees_with_pdhg(positive, intercept, weights, dtype, l2, monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(80, 30)) * (rng.random((80, 30)) < 0.2)
    Y = np.where(X[:, :3] @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(80, 4)) > 0.2, 1.0, -1.0)
    c = (rng.random((80, 4)) + 0.5) * (rng.random((80, 4)) < 0.97)
    problem = Problem.from_matrix(sparse.csr_matrix(X.astype(dtype)), Y, c, intercept=intercept)
    options = {
        "loss": LOSSES["logistic"],
        "norm": NORMS["l1"],
        "radius": np.array([[1.0, 0.5, 2.0, 1.0]]),
        "penalised": True,
        "positive": positive,
        "weights": weights,
        "l2": l2,
        "n_iter": 20_000,
    }
    expected = pdhg.fit(problem, tol=1e-5, **options)
    monkeypatch.setattr(pdhg, "Run", None)
    got = working_set.fit(problem, tol=1e-5, **options)
    assert got.gap[0] <= 1e-5 and got.n_iter == got.rounds[0][-1].n_iter
    np.testing.assert_allclose(got.value, expected.value, rtol=2e-5)
    np.testing.assert_allclose(got.W, expected.W, atol=0.02)
    stopped = working_set.fit(problem, tol=0.0, watch=lambda t, *report: t == 8, **options)
    assert stopped.n_iter == 8 and [latest.n_iter for latest in stopped.rounds[0]] == [4, 8]
    assert working_set.fit(problem, tol=1e-5, start=got, **options).n_iter == 0


def test_descent_on_tasks_never_increases_the_objective(rng):
    """From a start where the curvature of the loss almost vanishes, whole Newton steps would overshoot."""
    X = sparse.csr_matrix(rng.normal(size=(60, 10)) * (rng.random((60, 10)) < 0.5))
    problem = Problem.from_matrix(X, np.where(rng.random((60, 2)) < 0.5, 1.0, -1.0), intercept=True)
    options = {"loss": LOSSES["logistic"], "norm": NORMS["l1"], "radius": np.array([0.1]), "penalised": True}
    start = working_set.fit(problem, **options, n_iter=1)
    far = start._replace(W=5 + 20 * rng.normal(size=start.W.shape))
    got = working_set.fit(problem, **options, start=far, tol=1e-8)
    assert got.gap[0] <= 1e-8 and np.all(np.diff(got.objective[:, 0]) <= 1e-9)


@pytest.mark.parametrize(("c", "penalised"), [("differ", True), ("alike", False), ("alike", True)])
def test_cases_without_descent_use_pdhg(monkeypatch, rng, c, penalised):
    X, Y = rng.normal(size=(20, 50)), rng.normal(size=(20, 3))
    problem = Problem.from_matrix(X, Y, rng.random((20, 3)) if c == "differ" else np.ones((20, 3)))
    options = {"loss": squared, "norm": l12, "radius": np.array([0.5]), "penalised": penalised, "n_iter": 5000}
    monkeypatch.setattr(working_set, "MOST_ROWS_OF_DESCENT", 10)
    monkeypatch.setattr(working_set, "_RowSweeps", None)
    assert working_set.fit(problem, tol=1e-4, **options).gap[0] <= 1e-4
