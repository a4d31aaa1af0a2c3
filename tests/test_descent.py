"""One l1 task by several methods: optima, certificates, counted operations, and what each promises of its steps."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from jointsparse.learning.entropic import Entropic, step_sizes
from jointsparse.norms import l1
from jointsparse.papers.duchi import descent
from jointsparse.papers.duchi.descent import (
    LOSS,
    Objective,
    batch,
    coordinate_descent,
    interior_point,
    line_search,
    stochastic,
)

LOSSES = ("squared", "logistic")


def drawn(loss, seed=0, n_samples=30, n_features=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    w = rng.normal(size=n_features) * (rng.random(n_features) < 0.5)
    y = X @ w + rng.normal(size=n_samples)
    return X, np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y


def slow_value(X, y, w, loss, c):
    total = 0.0
    for x, label in zip(X, y, strict=True):
        margin = sum(a * b for a, b in zip(x, w, strict=True))
        total += 0.5 * (label - margin) ** 2 if loss == "squared" else np.log(1 + np.exp(-label * margin))
    return c * total


def optimum(objective, *, radius=None, penalty=0.0):
    """The optimal value and w by cvxpy."""
    X, y = objective.X, objective.y
    w = cp.Variable(objective.n_features)
    losses = {"squared": 0.5 * (X @ w - y) ** 2, "logistic": cp.logistic(cp.multiply(-y, X @ w))}
    f = cp.sum(losses[objective.loss])
    constraints = [] if radius is None else [cp.norm1(w) <= radius]
    problem = cp.Problem(cp.Minimize(objective.c * f + penalty * cp.norm1(w)), constraints)
    value = problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return value, w.value


def relative_excess(trace, optimal):
    return (trace.objective - optimal) / optimal


def run(method, objective, strength, n_iter=60):
    """A trace of any of the methods."""
    match method:
        case "batch" | "entropic":
            name = {"batch": "projection"}.get(method, method)
            return batch(objective, strength, eta0=0.5, n_iter=n_iter, method=name)
        case "stochastic":
            return stochastic(objective, strength, eta0=0.1, n_iter=n_iter, batch_size=5, rng=np.random.default_rng(0))
        case "line_search":
            return line_search(objective, strength, n_iter=n_iter)
        case "interior_point":
            return interior_point(objective, strength)
        case _:
            return coordinate_descent(objective, strength, n_iter=range(1, n_iter + 1))


CONSTRAINED = ("batch", "entropic", "stochastic", "line_search")
PENALISED = ("interior_point", "coordinate_descent")


# ---------------------------------------------------------------------------------------------------------------------
# The objective and its bound
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("normalisation", ["mean", "sum"])
def test_objective_and_gradient_are_those_of_the_twin(loss, normalisation):
    X, y = drawn(loss, n_samples=8, n_features=3)
    w = np.array([0.3, -0.7, 1.1])
    c = 1 / 8 if normalisation == "mean" else 1.0
    for matrix in (X, sparse.csr_matrix(X), sparse.coo_matrix(X)):
        objective = Objective(matrix, y, loss=loss, normalisation=normalisation)
        margins = objective.X @ w
        np.testing.assert_allclose(objective.value(margins), slow_value(X, y, w, loss, c), rtol=1e-14)
        got = objective.X.T @ objective.slopes(margins)
        moves = 1e-5 * np.eye(3)
        expected = [(slow_value(X, y, w + e, loss, c) - slow_value(X, y, w - e, loss, c)) / 2e-5 for e in moves]
        np.testing.assert_allclose(got, expected, rtol=1e-7)
        slopes = [objective.slopes(margins + change) for change in (1e-5, -1e-5)]
        np.testing.assert_allclose(objective.curvatures(margins), (slopes[0] - slopes[1]) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_dual_variables_give_a_bound_above_the_optimum_and_some_reach_it(loss):
    objective = Objective(*drawn(loss), loss=loss)
    rng = np.random.default_rng(1)
    for strength in ({"radius": 1.5}, {"penalty": 0.1}):
        expected, w = optimum(objective, **strength)
        for _ in range(50):
            dual = objective.c * rng.normal(size=30) * rng.random()
            dual = np.abs(dual).clip(0, objective.c) * objective.y if loss == "logistic" else dual
            assert descent.lower_bound(objective, dual, **strength) <= expected + 1e-9
        got = descent.lower_bound(objective, -objective.slopes(objective.X @ w), **strength)
        np.testing.assert_allclose(got, expected, rtol=1e-4)
    assert descent.lower_bound(objective, np.zeros(30), penalty=0.1) == 0


# ---------------------------------------------------------------------------------------------------------------------
# Every method
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", CONSTRAINED + PENALISED)
def test_trace_says_what_was_done(loss, method):
    X, y = drawn(loss)
    objective = Objective(X, y, loss=loss)
    strength = 1.5 if method in CONSTRAINED else 0.05
    trace = run(method, objective, strength)
    expected = optimum(objective, **({"radius": strength} if method in CONSTRAINED else {"penalty": strength}))[0]
    assert len({len(column) for column in trace[1:]}) == 1
    assert trace.step[0] == 0
    assert (np.diff(trace.step) > 0).all()
    at_zero = slow_value(X, y, np.zeros(20), loss, 1 / 30)
    np.testing.assert_allclose(trace.objective[0], at_zero, rtol=1e-14)
    penalty = strength * np.abs(trace.w).sum() if method in PENALISED else 0.0
    np.testing.assert_allclose(trace.objective[-1], slow_value(X, y, trace.w, loss, 1 / 30) + penalty, rtol=1e-12)
    assert (trace.bound <= expected * (1 + 1e-7)).all()
    assert (trace.objective >= expected * (1 - 1e-7)).all()
    assert (np.diff(trace.bound) >= 0).all()
    assert trace.seconds[0] >= 0
    if method != "coordinate_descent":
        assert (np.diff(trace.seconds) >= 0).all()
    if method != "coordinate_descent" or loss == "squared":
        assert (np.diff(trace.flops) > 0).all()
        assert trace.flops[0] == 0
    if method in CONSTRAINED:
        assert np.abs(trace.w).sum() <= strength * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", CONSTRAINED + PENALISED)
def test_sparse_X_gives_the_same_steps(loss, method):
    X, y = drawn(loss)
    X = X * (np.random.default_rng(5).random(X.shape) < 0.4)
    dense, lazy = (run(method, Objective(given, y, loss=loss), 0.7) for given in (X, sparse.csr_matrix(X)))
    if method == "coordinate_descent" and loss == "logistic":
        dense, lazy = (trace._replace(objective=trace.objective[-1:]) for trace in (dense, lazy))
    np.testing.assert_allclose(lazy.objective, dense.objective, rtol=1e-7)
    np.testing.assert_allclose(lazy.w, dense.w, atol=1e-6)


@pytest.mark.parametrize("method", ["batch", "entropic", "stochastic", "line_search", "interior_point"])
def test_the_same_again_gives_the_same_bits(method):
    objective = Objective(*drawn("logistic"), loss="logistic")
    first, again = (run(method, objective, 0.7) for _ in range(2))
    np.testing.assert_array_equal(first.w, again.w)
    np.testing.assert_array_equal(first.objective, again.objective)
    np.testing.assert_array_equal(first.flops, again.flops)


@pytest.mark.parametrize("method", ["batch", "entropic", "stochastic", "line_search"])
def test_radius_zero_stays_at_zero(method):
    for X in (drawn("squared")[0], sparse.csr_matrix(drawn("squared")[0])):
        trace = run(method, Objective(X, drawn("squared")[1], loss="squared"), 0.0)
        assert not trace.w.any()
        np.testing.assert_allclose(trace.bound, trace.objective[0], rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Optima of the constrained problem
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("radius", [0.5, 2.0, 100.0])
def test_line_search_reaches_the_optimum_and_never_goes_up(loss, radius):
    objective = Objective(*drawn(loss, n_samples=60), loss=loss)
    trace = line_search(objective, radius, n_iter=3000)
    expected, w = optimum(objective, radius=radius)
    assert relative_excess(trace, expected)[-1] < 1e-6
    np.testing.assert_allclose(trace.bound[-1], expected, rtol=1e-5)
    assert (np.diff(trace.objective) <= 0).all()
    np.testing.assert_allclose(trace.w, w, atol=3e-3 * max(1, np.abs(w).max()))


@pytest.mark.parametrize("eta0", [1e-8, 1e8, 1e300])
def test_line_search_does_with_any_first_step(eta0):
    objective = Objective(*drawn("squared"), loss="squared")
    trace = line_search(objective, 2.0, n_iter=500, eta0=eta0)
    assert relative_excess(trace, optimum(objective, radius=2.0)[0])[-1] < 1e-6


def test_line_search_ends_at_an_exact_optimum():
    objective = Objective(np.eye(2), [3.0, 0.0], loss="squared")
    trace = line_search(objective, 1.0, n_iter=100)
    np.testing.assert_array_equal(trace.w, [1.0, 0.0])
    assert len(trace.step) < 10
    assert trace.objective[-1] == trace.bound[-1] == 1.0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", ["projection", "entropic"])
def test_batch_steps_reach_the_optimum(loss, method):
    objective = Objective(*drawn(loss, n_samples=60), loss=loss)
    eta0 = 10.0 if loss == "logistic" else 1.0
    trace = batch(objective, 2.0, eta0=eta0, n_iter=3000, method=method)
    expected, _ = optimum(objective, radius=2.0)
    assert relative_excess(trace, expected)[-1] < 1e-4
    assert trace.bound[-1] > expected * (1 - 1e-2)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_stochastic_steps_come_near_the_optimum(loss, method, kind):
    X, y = drawn(loss, n_samples=60)
    objective = Objective(kind(X), y, loss=loss)
    options = {"batch_size": 6, "rng": np.random.default_rng(2), "method": method}
    eta0 = 1.0 if loss == "logistic" else 0.1
    trace = stochastic(objective, 2.0, eta0=eta0, n_iter=3000, every=100, **options)
    expected, _ = optimum(objective, radius=2.0)
    assert trace.step.tolist() == list(range(0, 3001, 100))
    assert relative_excess(trace, expected)[-1] < 0.02


def test_batch_steps_are_those_of_the_paper():
    X, y = drawn("squared")
    w, multiplied = np.zeros(20), Entropic(20, 1.5)
    for t in range(1, 11):
        w = l1.project(w - 0.5 / np.sqrt(t) * X.T @ (X @ w - y) / 30, 1.5)
    for eta in step_sizes("1/t", eta0=0.5, n=20, n_iter=10):
        multiplied.step(X.T @ (X @ multiplied.toarray() - y) / 30, eta)
    objective = Objective(X, y, loss="squared")
    np.testing.assert_allclose(batch(objective, 1.5, eta0=0.5, n_iter=10).w, w, rtol=1e-10, atol=1e-14)
    got = batch(objective, 1.5, eta0=0.5, n_iter=10, method="entropic", schedule="1/t").w
    np.testing.assert_allclose(got, multiplied.toarray(), rtol=1e-10)


@pytest.mark.parametrize("normalisation", ["mean", "sum"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("method", ["projection", "entropic"])
def test_a_batch_of_all_samples_is_the_batch_step(normalisation, kind, method):
    X, y = drawn("logistic")
    objective = Objective(kind(X), y, loss="logistic", normalisation=normalisation)
    options = {"eta0": 0.05, "n_iter": 20, "method": method}
    got = stochastic(objective, 1.5, batch_size=30, rng=np.random.default_rng(0), **options)
    expected = batch(objective, 1.5, **options)
    np.testing.assert_allclose(got.objective, expected.objective, rtol=1e-9)
    np.testing.assert_allclose(got.w, expected.w, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Optima of the penalised problem
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("normalisation", ["mean", "sum"])
@pytest.mark.parametrize("penalty", [1e-4, 0.05, 100.0])
def test_interior_points_reach_the_optimum(loss, normalisation, penalty):
    objective = Objective(*drawn(loss), loss=loss, normalisation=normalisation)
    trace = interior_point(objective, penalty, tol=1e-9)
    expected, w = optimum(objective, penalty=penalty)
    assert trace.objective[-1] - trace.bound[-1] <= 1e-9 * trace.objective[-1]
    np.testing.assert_allclose(trace.objective[-1], expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(trace.w, w, atol=1e-3 * max(1, np.abs(w).max()))
    assert len(trace.step) < 60


@pytest.mark.parametrize(("loss", "solver"), [("squared", "lasso"), ("logistic", "liblinear"), ("logistic", "saga")])
@pytest.mark.parametrize("normalisation", ["mean", "sum"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_scikit_learn_reaches_the_same_optimum(loss, solver, normalisation, kind):
    X, y = drawn(loss, n_samples=60)
    objective = Objective(kind(X), y, loss=loss, normalisation=normalisation)
    penalty = 0.05 if normalisation == "mean" else 3.0
    trace = coordinate_descent(objective, penalty, n_iter=[1, 5, 40, 1000], solver=solver)
    assert trace.step.tolist() == [0, 1, 5, 40, 1000]
    expected = interior_point(objective, penalty, tol=1e-10).objective[-1]
    assert relative_excess(trace, expected)[-1] < 1e-7
    assert np.isnan(trace.flops[1:]).all() == (solver == "liblinear")


@pytest.mark.parametrize("loss", LOSSES)
def test_the_norm_of_a_penalised_solution_is_the_radius_of_the_same_solution(loss):
    objective = Objective(*drawn(loss, n_samples=60), loss=loss)
    w = interior_point(objective, 0.05, tol=1e-10).w
    trace = line_search(objective, float(np.abs(w).sum()), n_iter=2000)
    np.testing.assert_allclose(trace.w, w, atol=1e-3)
    np.testing.assert_allclose(trace.bound[-1], objective.value(objective.X @ w), rtol=1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# Operations, against hand counts for X (2, 3)
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "of_loss", "of_slope", "of_curvature"), [("squared", 4, 2, 0), ("logistic", 7, 6, 3)])
def test_operations_of_a_tiny_problem_are_those_counted_by_hand(loss, of_loss, of_slope, of_curvature):
    X, y = [[1.0, 2.0, 0.5], [0.0, -1.0, 1.0]], [1.0, -1.0]
    objective = Objective(X, y, loss=loss)
    gradient = 2 * 6 + 2 * of_slope + 2 * 6  # margins, slopes of two samples, X^T slopes
    got = batch(objective, 1.0, eta0=0.1, n_iter=2).flops
    step = 3 * 2 + 3 * 18  # multiply and subtract, project
    np.testing.assert_array_equal(got, [0, gradient + step, 2 * (gradient + step)])
    got = batch(objective, 1.0, eta0=0.1, n_iter=2, method="entropic").flops
    np.testing.assert_array_equal(got, [0, gradient + 3 * 15, 2 * (gradient + 3 * 15)])
    got = stochastic(objective, 1.0, eta0=0.1, n_iter=2, batch_size=1, rng=np.random.default_rng(0)).flops
    np.testing.assert_array_equal(got, np.arange(3) * (2 * 3 + of_slope + 2 * 3 + step))

    # eta0 is so small that the first trial fits.
    got = line_search(objective, 1.0, n_iter=1, eta0=1e-3).flops
    trial = step + 2 * 6 + 2 * of_loss + 3 * 3  # step, margins, losses, the inner product of gradient and w - w(s)
    np.testing.assert_array_equal(got, [0, 2 * of_slope + 2 * 6 + trial])

    got = interior_point(objective, 0.1, n_iter=2).flops
    gram = 2 * 9 + 6  # half of 2 x 3 x 3 products and sums; scaling X
    newton = 2 * (2 * 6) + 2 * (2 * of_loss + of_slope + of_curvature) + 3**3 / 3 + 2 * 3**2 + 20 * 3
    once = 0 if loss == "squared" else gram
    trials = [(part - newton) / (2 * (of_loss + 2) + 30) for part in (got[1] - gram, got[2] - got[1] - once)]
    assert all(number >= 1 and abs(number - round(number)) < 1e-12 for number in trials)

    if loss == "squared":
        got = coordinate_descent(objective, 0.1, n_iter=[1, 2]).flops
        np.testing.assert_array_equal(got, [0, 4 * 6, 2 * 4 * 6])
    else:
        got = coordinate_descent(objective, 0.1, n_iter=[1, 2], solver="saga").flops
        np.testing.assert_array_equal(got, [0, 4 * 6 + 6 * 6, 2 * (4 * 6 + 6 * 6)])


@pytest.mark.parametrize(("method", "of_entry"), [("projection", 12 * 2), ("entropic", 22)])
def test_operations_of_lazy_steps_are_those_of_their_entries(method, of_entry):
    X = sparse.csr_matrix([[1.0, 0.0, 0.5], [2.0, 0.0, 1.0]])  # two entries per row; log2(3 + 1) = 2
    objective = Objective(X, [1.0, -1.0], loss="squared")
    options = {"batch_size": 1, "rng": np.random.default_rng(0), "method": method}
    got = stochastic(objective, 1.0, eta0=0.1, n_iter=2, **options).flops
    np.testing.assert_allclose(got, np.arange(3) * (2 * (4 + of_entry) + 2), rtol=1e-15)
    assert LOSS["squared"] == 4


def test_products_with_sparse_X_count_stored_entries():
    X = sparse.csr_matrix([[1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 1.0, 0.0]])
    got = batch(Objective(X, [1.0, -1.0], loss="squared"), 1.0, eta0=0.1, n_iter=1).flops[1]
    assert got == 4 * 3 + 2 * 2 + 4 * 20


# ---------------------------------------------------------------------------------------------------------------------
# What is not right
# ---------------------------------------------------------------------------------------------------------------------

X, Y = np.eye(2), [1.0, -1.0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"loss": "hinge"}, "loss must be one of squared, logistic, got 'hinge'"),
        ({"normalisation": "none"}, "normalisation must be mean or sum, got 'none'"),
        ({"X": np.ones(2)}, r"X must be a matrix \(n_samples, n_features\) that is not empty, got shape \(2,\)"),
        ({"X": np.ones((0, 2)), "y": []}, "X must be a matrix .* that is not empty"),
        ({"X": [["a"]]}, "X must hold real numbers"),
        ({"X": [[1.0, np.nan], [0.0, 1.0]]}, r"X must be finite, got nan at \(0, 1\)"),
        ({"X": sparse.csr_matrix([[np.inf, 0.0], [0.0, 1.0]])}, "X must be finite, got inf"),
        ({"y": [1.0]}, r"y must have shape \(2,\), got \(1,\)"),
        ({"y": [1.0, np.nan]}, "y must be finite, got nan"),
        ({"y": [1.0, 0.0]}, "y must hold -1 and [+]1, got 0"),
    ],
)
def test_unfit_objectives_are_refused(options, expected):
    with pytest.raises(ValueError, match=expected):
        Objective(**({"X": X, "y": Y, "loss": "logistic"} | options))


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("method", "strength", "options", "expected"),
    [
        (batch, -1.0, {"eta0": 1.0, "n_iter": 1}, "radius must be at least 0, got -1.0"),
        (batch, np.inf, {"eta0": 1.0, "n_iter": 1}, "radius must be finite, got inf"),
        (batch, 1.0, {"eta0": 0.0, "n_iter": 1}, "eta0 must be above 0 and finite, got 0.0"),
        (batch, 1.0, {"eta0": 1.0, "n_iter": 0}, "n_iter must be a whole number of at least 1, got 0"),
        (batch, 1.0, {"eta0": 1.0, "n_iter": 1, "method": "x"}, "method must be projection or entropic, got 'x'"),
        (batch, 1.0, {"eta0": 1.0, "n_iter": 1, "schedule": "1/t"}, "schedule must be 1/sqrt.t. for projections"),
        (batch, 1.0, {"eta0": 1.0, "n_iter": 1, "schedule": "x", "method": "entropic"}, "schedule must be one of"),
        (stochastic, 1.0, {"batch_size": 3}, "batch_size must be a whole number from 1 to 2, got 3"),
        (stochastic, 1.0, {"batch_size": 1, "every": 0}, "every must be a whole number of at least 1, got 0"),
        (line_search, 1.0, {"n_iter": 5, "eta0": np.nan}, "eta0 must be above 0 and finite, got nan"),
        (interior_point, 0.0, {}, "penalty must be above 0 and finite, got 0.0"),
        (interior_point, 1.0, {"n_iter": 1.5}, "n_iter must be a whole number of at least 1, got 1.5"),
        (coordinate_descent, np.nan, {"n_iter": [1]}, "penalty must be above 0 and finite, got nan"),
        (interior_point, 1.0, {"tol": -1.0}, "tol must be above 0 and finite, got -1.0"),
        (coordinate_descent, 1.0, {"n_iter": []}, "n_iter must list whole numbers that increase from 1 on, got "),
        (coordinate_descent, 1.0, {"n_iter": [0, 1]}, "n_iter must list whole numbers that increase from 1 on, got "),
        (coordinate_descent, 1.0, {"n_iter": [2, 2]}, "n_iter must list whole numbers that increase from 1 on, got "),
        (
            coordinate_descent,
            1.0,
            {"n_iter": [1], "solver": "lasso"},
            "solver must be one of liblinear, saga for lo",
        ),
    ],
)
def test_unfit_parameters_are_refused(method, strength, options, expected):
    defaults = {"eta0": 1.0, "n_iter": 1, "rng": RNG} if method is stochastic else {}
    with pytest.raises(ValueError, match=expected):
        method(Objective(X, Y, loss="logistic"), strength, **defaults | options)


@pytest.mark.parametrize("method", ["projection", "entropic"])
def test_steps_that_overflow_say_what_to_change(method):
    objective = Objective(1e90 * X, [1e90, 0.0], loss="squared")
    with pytest.raises(ValueError, match="descent diverged in step 1: choose a smaller eta0, or scale the features"):
        batch(objective, 1.0, eta0=1e300, n_iter=3, method=method)
    for kind in (np.asarray, sparse.csr_matrix):
        objective = Objective(kind(1e90 * X), [1e90, 1e90], loss="squared")
        with pytest.raises(ValueError, match="descent diverged in step 1: choose a smaller eta0, or scale the feature"):
            stochastic(objective, 1.0, eta0=1e300, n_iter=3, batch_size=1, rng=RNG, method=method)


@pytest.mark.parametrize(
    ("dual", "strength", "expected"),
    [
        ([1.0], {"radius": 1.0}, r"dual must have shape \(2,\), got \(1,\)"),
        ([1.0, np.inf], {"radius": 1.0}, "dual must be finite, got inf"),
        ([1.0, 1.0], {"radius": -5.0}, "radius must be at least 0, got -5.0"),
        ([1.0, 1.0], {"penalty": -1.0}, "penalty must be above 0 and finite, got -1.0"),
        ([1.0, 0.0], {}, "exactly one of radius and penalty must be given, got None and None"),
        ([1.0, 0.0], {"radius": 1.0, "penalty": 1.0}, "exactly one of radius and penalty"),
    ],
)
def test_unfit_bounds_are_refused(dual, strength, expected):
    with pytest.raises(ValueError, match=expected):
        descent.lower_bound(Objective(X, Y, loss="logistic"), dual, **strength)


# ---------------------------------------------------------------------------------------------------------------------
# Watching, and dense steps
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("is_batch", [True, False])
def test_watch_sees_the_w_of_each_record(method, is_batch):
    X, y = drawn("logistic")
    objective, seen = Objective(X, y, loss="logistic"), []
    options = {"eta0": 0.5, "n_iter": 10, "method": method, "watch": lambda w: seen.append(w.copy())}
    if is_batch:
        trace = batch(objective, 1.5, **options)
    else:
        trace = stochastic(objective, 1.5, batch_size=3, rng=np.random.default_rng(0), every=4, **options)
    np.testing.assert_allclose(trace.objective, [slow_value(X, y, w, "logistic", 1 / 30) for w in seen], rtol=1e-12)


@pytest.mark.parametrize("method", ["projection", "entropic"])
def test_dense_steps_are_the_lazy_ones(method):
    X, y = drawn("logistic")
    X = sparse.csr_matrix(X * (np.random.default_rng(5).random(X.shape) < 0.4))
    objective = Objective(X, y, loss="logistic")
    options = {"eta0": 0.5, "n_iter": 20, "batch_size": 10, "method": method}
    lazy, dense = (
        stochastic(objective, 0.7, lazy=is_lazy, rng=np.random.default_rng(0), **options) for is_lazy in (True, False)
    )
    np.testing.assert_allclose(dense.w, lazy.w, atol=1e-9)
    np.testing.assert_allclose(dense.objective, lazy.objective, rtol=1e-9)
    assert (dense.flops[1:] != lazy.flops[1:]).all()
