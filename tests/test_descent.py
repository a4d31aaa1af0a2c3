"""One l1 task by several methods: optima, certificates, counted operations, and what each promises of its steps."""

from functools import partial

import numpy as np
import oracles_convex
import pytest
from scipy import sparse

from jointsparse.learning.entropic import Entropic, step_sizes
from jointsparse.learning.problem import Problem
from jointsparse.norms import l1
from jointsparse.papers.duchi.descent import (
    LOSSES,
    Constrained,
    Objective,
    Penalised,
    View,
    batch,
    coordinate_descent,
    interior_point,
    line_search,
    stochastic,
)

KINDS = [np.asarray, sparse.csr_matrix]


def few(objective, radius, *, batch_size=5, seed=0, **options):
    """Stochastic steps with a generator of their own."""
    return stochastic(objective, radius, batch_size=batch_size, rng=np.random.default_rng(seed), **options)


CONSTRAINED = {
    "batch": partial(batch, eta0=0.5, n_iter=60),
    "entropic": partial(batch, eta0=0.5, n_iter=60, method="entropic"),
    "stochastic": partial(few, eta0=0.1, n_iter=60),
    "line_search": partial(line_search, n_iter=20),
}
PENALISED = {"interior_point": interior_point, "coordinate_descent": partial(coordinate_descent, n_iter=range(1, 61))}
METHODS = CONSTRAINED | PENALISED


def drawn(loss, n_samples=30, density=1.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 20))
    scores = X @ (rng.normal(size=20) * (rng.random(20) < 0.5)) + rng.normal(size=n_samples)
    return X * (rng.random(X.shape) < density), np.sign(scores) if loss == "logistic" else scores


def objective_of(loss, n_samples=30, kind=np.asarray, density=1.0):
    X, y = drawn(loss, n_samples, density)
    return Objective(kind(X), y, loss=loss)


def slow_value(X, y, w, loss):
    margins = [sum(a * b for a, b in zip(x, w, strict=True)) for x in X]
    of_loss = {"squared": lambda m, y: 0.5 * (y - m) ** 2, "logistic": lambda m, y: np.log(1 + np.exp(-y * m))}[loss]
    return np.mean([of_loss(margin, label) for margin, label in zip(margins, y, strict=True)])


def optimum(objective, radius=None, penalty=None):
    """The optimal value and w by a convex solver."""
    tasks, limit = Problem([objective.X], [objective.y], normalisation="mean"), penalty if radius is None else radius
    exact = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
    value, W = oracles_convex.optimum(tasks, objective.loss, "l1", limit, penalised=radius is None, **exact)
    return value, W[:, 0]


# ---------------------------------------------------------------------------------------------------------------------
# The objective and its bound
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", [*KINDS, sparse.coo_matrix])
def test_objective_and_its_derivatives_are_those_of_the_twin(loss, kind):
    X, y = (part[:8] for part in drawn(loss))
    X, w, moves = X[:, :3], np.array([0.3, -0.7, 1.1]), 1e-5 * np.eye(3)
    objective = Objective(kind(X), y, loss=loss)
    view = objective.view(w)
    np.testing.assert_allclose(objective.value(view.margins), slow_value(X, y, w, loss), rtol=1e-14)
    expected = [(slow_value(X, y, w + e, loss) - slow_value(X, y, w - e, loss)) / 2e-5 for e in moves]
    np.testing.assert_allclose(view.gradient, expected, rtol=1e-7)
    above, below = (objective.slopes(view.margins + change) for change in (1e-5, -1e-5))
    np.testing.assert_allclose(objective.curvatures(view.margins), (above - below) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("kind", "limit"), [(Constrained, {"radius": 1.5}), (Penalised, {"penalty": 0.1})])
def test_no_slopes_give_a_bound_above_the_optimum_and_those_of_the_solution_reach_it(loss, kind, limit):
    objective, rng = objective_of(loss), np.random.default_rng(1)
    problem = kind(objective, **limit)
    expected, w = optimum(objective, **limit)
    for _ in range(50):
        slopes = rng.normal(size=30) * rng.random() / 30
        slopes = -np.abs(slopes).clip(0, 1 / 30) * objective.y if loss == "logistic" else slopes
        view = View(np.zeros(20), np.zeros(30), slopes, objective.X.T @ slopes, 600)
        assert problem.certify(view)[1] <= expected + 1e-9
    np.testing.assert_allclose(problem.certify(objective.view(w)), expected, rtol=1e-4)


def test_a_gradient_of_zero_gives_a_bound():
    objective = Objective(np.zeros((2, 1)), [0.0, 0.0], loss="squared")
    assert Penalised(objective, 0.1).certify(objective.view(np.zeros(1))) == (0, 0)


# ---------------------------------------------------------------------------------------------------------------------
# Every method
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", METHODS)
def test_trace_says_what_was_done(loss, method):
    objective, (X, y) = objective_of(loss), drawn(loss)
    limit = {"radius": 1.5} if method in CONSTRAINED else {"penalty": 0.05}
    trace = METHODS[method](objective, *limit.values())
    expected, size = optimum(objective, **limit)[0], np.abs(trace.w).sum()
    assert len({len(column) for column in trace[1:]}) == 1
    assert trace.step[0] == 0 and (np.diff(trace.step) > 0).all()
    np.testing.assert_allclose(trace.objective[0], slow_value(X, y, np.zeros(20), loss), rtol=1e-14)
    last = slow_value(X, y, trace.w, loss) + limit.get("penalty", 0) * size
    np.testing.assert_allclose(trace.objective[-1], last, rtol=1e-12)
    assert (trace.bound <= expected * (1 + 1e-7)).all() and (np.diff(trace.bound) >= 0).all()
    assert (trace.objective >= expected * (1 - 1e-7)).all()
    assert size <= limit.get("radius", np.inf) * (1 + 1e-12)
    assert trace.seconds[0] >= 0 and (method == "coordinate_descent" or (np.diff(trace.seconds) >= 0).all())
    assert trace.flops[0] == 0
    is_liblinear = method == "coordinate_descent" and loss == "logistic"
    assert np.isnan(trace.flops[1:]).all() if is_liblinear else (np.diff(trace.flops) > 0).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", METHODS)
def test_sparse_X_gives_the_same_steps(loss, method):
    dense, lazy = (METHODS[method](objective_of(loss, kind=kind, density=0.4), 0.7) for kind in KINDS)
    # Rounding decides how soon the line search sees no more descent.
    objectives = np.array(list(zip(lazy.objective, dense.objective, strict=method != "line_search")))
    # What liblinear reaches in few iterations depends on how X is stored.
    compared = objectives[-1:] if method == "coordinate_descent" and loss == "logistic" else objectives
    np.testing.assert_allclose(*compared.T, rtol=1e-7)
    np.testing.assert_allclose(lazy.w, dense.w, atol=1e-6)


@pytest.mark.parametrize("method", CONSTRAINED)
@pytest.mark.parametrize("kind", KINDS)
def test_radius_zero_stays_at_zero(method, kind):
    trace = METHODS[method](objective_of("squared", kind=kind), 0.0)
    assert not trace.w.any()
    np.testing.assert_allclose(trace.bound, trace.objective[0], rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Optima of the constrained problem
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("radius", [0.5, 2.0, 100.0])
def test_line_search_reaches_the_optimum_and_never_goes_up(loss, radius):
    objective = objective_of(loss, n_samples=60)
    trace = line_search(objective, radius, n_iter=3000)
    expected, w = optimum(objective, radius=radius)
    assert trace.objective[-1] < (1 + 1e-6) * expected
    np.testing.assert_allclose(trace.bound[-1], expected, rtol=1e-5)
    assert (np.diff(trace.objective) <= 0).all()
    np.testing.assert_allclose(trace.w, w, atol=3e-3 * max(1, np.abs(w).max()))


@pytest.mark.parametrize("eta0", [1e-8, 1e8, 1e300])
def test_line_search_does_with_any_first_step(eta0):
    objective = objective_of("squared")
    trace = line_search(objective, 2.0, n_iter=500, eta0=eta0)
    assert trace.objective[-1] < (1 + 1e-6) * optimum(objective, radius=2.0)[0]


def test_line_search_ends_at_an_exact_optimum():
    trace = line_search(Objective(np.eye(2), [3.0, 0.0], loss="squared"), 1.0, n_iter=100)
    np.testing.assert_array_equal(trace.w, [1.0, 0.0])
    assert len(trace.step) < 10
    assert trace.objective[-1] == trace.bound[-1] == 1.0


@pytest.mark.parametrize(("loss", "eta0"), [("squared", 1.0), ("logistic", 10.0)])
@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_along_gradients_come_near_the_optimum(loss, eta0, method, kind):
    objective = objective_of(loss, n_samples=60, kind=kind)
    expected, _ = optimum(objective, radius=2.0)
    options = {"n_iter": 3000, "method": method}
    whole = batch(objective, 2.0, eta0=eta0, **options)
    assert whole.objective[-1] < (1 + 1e-4) * expected and whole.bound[-1] > (1 - 1e-2) * expected
    parts = few(objective, 2.0, eta0=eta0 / 10, batch_size=6, seed=2, every=100, **options)
    assert parts.step.tolist() == list(range(0, 3001, 100))
    assert parts.objective[-1] < 1.02 * expected


def test_batch_steps_are_those_of_the_paper():
    X, y = drawn("squared")
    w, multiplied = np.zeros(20), Entropic(20, 1.5)
    for t, eta in enumerate(step_sizes("1/t", eta0=0.5, n=20, n_iter=10), start=1):
        w = l1.project(w - 0.5 / np.sqrt(t) * X.T @ (X @ w - y) / 30, 1.5)
        multiplied.step(X.T @ (X @ multiplied.toarray() - y) / 30, eta)
    take_ten = partial(batch, Objective(X, y, loss="squared"), 1.5, eta0=0.5, n_iter=10)
    np.testing.assert_allclose(take_ten().w, w, rtol=1e-10, atol=1e-14)
    got = take_ten(method="entropic", schedule="1/t").w
    np.testing.assert_allclose(got, multiplied.toarray(), rtol=1e-10)


FACTORS = {"constant": lambda t: 1 / np.sqrt(10), "1/sqrt(t)": lambda t: 1 / np.sqrt(t), "1/t": lambda t: 1 / t}


@pytest.mark.parametrize("schedule", FACTORS)
def test_projected_steps_shrink_as_their_schedule(schedule):
    X, y = drawn("squared")
    w = np.zeros(20)
    for t in range(1, 11):
        w = l1.project(w - 0.5 * FACTORS[schedule](t) * X.T @ (X @ w - y) / 30, 1.5)
    got = batch(Objective(X, y, loss="squared"), 1.5, eta0=0.5, n_iter=10, schedule=schedule).w
    np.testing.assert_allclose(got, w, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["projection", "entropic"])
def test_a_batch_of_all_samples_is_the_batch_step(kind, method):
    objective = objective_of("logistic", kind=kind)
    options = {"eta0": 0.05, "n_iter": 20, "method": method}
    got, expected = few(objective, 1.5, batch_size=30, **options), batch(objective, 1.5, **options)
    np.testing.assert_allclose(got.objective, expected.objective, rtol=1e-9)
    np.testing.assert_allclose(got.w, expected.w, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Optima of the penalised problem
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [1e-4, 0.05, 100.0])
def test_interior_points_reach_the_optimum(loss, penalty):
    objective = objective_of(loss)
    trace = interior_point(objective, penalty, tol=1e-9)
    expected, w = optimum(objective, penalty=penalty)
    assert trace.objective[-1] - trace.bound[-1] <= 1e-9 * trace.objective[-1]
    np.testing.assert_allclose(trace.objective[-1], expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(trace.w, w, atol=1e-3 * max(1, np.abs(w).max()))
    assert len(trace.step) < 60


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learn_reaches_the_same_optimum(loss, kind):
    objective = objective_of(loss, n_samples=60, kind=kind)
    trace = coordinate_descent(objective, 0.05, n_iter=[1, 5, 40, 1000])
    assert trace.step.tolist() == [0, 1, 5, 40, 1000]
    expected = interior_point(objective, 0.05, tol=1e-10).objective[-1]
    assert trace.objective[-1] < (1 + 1e-7) * expected


# ---------------------------------------------------------------------------------------------------------------------
# Operations, against hand counts for X (2, 3)
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "of_loss", "of_slope", "of_curvature"), [("squared", 4, 2, 0), ("logistic", 7, 6, 3)])
def test_operations_of_a_tiny_problem_are_those_counted_by_hand(loss, of_loss, of_slope, of_curvature):
    objective = Objective([[1.0, 2.0, 0.5], [0.0, -1.0, 1.0]], [1.0, -1.0], loss=loss)
    gradient = 2 * 6 + 2 * of_slope + 2 * 6  # margins, slopes of two samples, X^T slopes
    projected = 3 * 2 + 3 * 18  # multiply and subtract, project
    trial = projected + 2 * 6 + 2 * of_loss + 3 * 3  # and margins, losses, the product of gradient and w - w(s)
    options = {"eta0": 1e-3, "n_iter": 2}  # so small that the first trial of the line search is accepted
    for got, of_step in (
        (batch(objective, 1.0, **options), gradient + projected),
        (batch(objective, 1.0, **options, method="entropic"), gradient + 3 * 15),
        (few(objective, 1.0, **options, batch_size=1), 2 * 3 + of_slope + 2 * 3 + projected),
        (line_search(objective, 1.0, **options | {"n_iter": 1}), 2 * of_slope + 2 * 6 + trial),
        (coordinate_descent(objective, 0.1, n_iter=[1, 2]), 4 * 6 if loss == "squared" else np.nan),
    ):
        np.testing.assert_array_equal(got.flops, [0, *(of_step * got.step[1:])])

    got = np.diff(interior_point(objective, 0.1, n_iter=2).flops)
    gram = 2 * 9 + 6  # half of 2 x 3 x 3 products and sums; scaling X
    newton = 2 * (2 * 6) + 2 * (2 * of_loss + of_slope + of_curvature) + 3**3 / 3 + 2 * 3**2 + 20 * 3
    trials = (got - newton - [gram, 0 if loss == "squared" else gram]) / (2 * (of_loss + 2) + 30)
    assert (trials >= 1).all()
    np.testing.assert_allclose(trials, np.round(trials), atol=1e-12)


@pytest.mark.parametrize(("method", "of_entry", "of_feature"), [("projection", 12 * 2, 2 + 18), ("entropic", 22, 15)])
def test_operations_of_sparse_steps_are_those_of_stored_entries(method, of_entry, of_feature):
    X = sparse.csr_matrix([[1.0, 0.0, 0.5], [2.0, 0.0, 1.0]])  # two entries per row; log2(3 + 1) = 2
    objective, options = Objective(X, [1.0, -1.0], loss="squared"), {"eta0": 0.1, "n_iter": 2, "method": method}
    got = few(objective, 1.0, batch_size=1, **options).flops
    np.testing.assert_allclose(got, np.arange(3) * (2 * (4 + of_entry) + 2), rtol=1e-15)
    assert batch(objective, 1.0, **options).flops[1] == 4 * 4 + 2 * 2 + 3 * of_feature


# ---------------------------------------------------------------------------------------------------------------------
# Input that is refused
# ---------------------------------------------------------------------------------------------------------------------

X, Y = np.eye(2), [1.0, -1.0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"loss": "hinge"}, "loss must be one of squared, logistic, got 'hinge'"),
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


@pytest.mark.parametrize(
    ("method", "limit", "options", "expected"),
    [
        (batch, -1.0, {}, "radius must be at least 0, got -1.0"),
        (batch, np.inf, {}, "radius must be finite, got inf"),
        (batch, 1.0, {"eta0": 0.0}, "eta0 must be above 0 and finite, got 0.0"),
        (batch, 1.0, {"n_iter": 0}, "n_iter must be a whole number of at least 1, got 0"),
        (batch, 1.0, {"method": "x"}, "method must be projection or entropic, got 'x'"),
        (batch, 1.0, {"schedule": "1/t^2"}, "schedule must be one of"),
        (batch, 1.0, {"schedule": "x", "method": "entropic"}, "schedule must be one of"),
        (few, 1.0, {"batch_size": 3}, "batch_size must be a whole number from 1 to 2, got 3"),
        (few, 1.0, {"batch_size": 1, "every": 0}, "every must be a whole number of at least 1, got 0"),
        (line_search, 1.0, {"eta0": np.nan}, "eta0 must be above 0 and finite, got nan"),
        (interior_point, 0.0, {}, "penalty must be above 0 and finite, got 0.0"),
        (interior_point, 1.0, {"n_iter": 1.5}, "n_iter must be a whole number of at least 1, got 1.5"),
        (interior_point, 1.0, {"tol": -1.0}, "tol must be above 0 and finite, got -1.0"),
        (coordinate_descent, np.nan, {"n_iter": [1]}, "penalty must be above 0 and finite, got nan"),
        (coordinate_descent, 1.0, {"n_iter": []}, "n_iter must list whole numbers that increase from 1 on, got "),
        (coordinate_descent, 1.0, {"n_iter": [0, 1]}, "n_iter must list whole numbers that increase from 1 on, got "),
        (coordinate_descent, 1.0, {"n_iter": [2, 2]}, "n_iter must list whole numbers that increase from 1 on, got "),
    ],
)
def test_unfit_parameters_are_refused(method, limit, options, expected):
    defaults = {"eta0": 1.0, "n_iter": 1} if method in (batch, few, line_search) else {}
    with pytest.raises(ValueError, match=expected):
        method(Objective(X, Y, loss="logistic"), limit, **defaults | options)


def test_labels_of_one_class_are_refused():
    with pytest.raises(ValueError, match=r"y must hold both -1 and \+1, got only 1"):
        coordinate_descent(Objective(X, [1, 1], loss="logistic"), 1.0, n_iter=[1])


@pytest.mark.parametrize("descend", [batch, partial(few, batch_size=1)])
@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_overflow_say_what_to_change(descend, method, kind):
    objective = Objective(kind(1e90 * X), [1e90, 1e90], loss="squared")
    with pytest.raises(ValueError, match="descent diverged in step 1: choose a smaller eta0, or scale the features"):
        descend(objective, 1.0, eta0=1e300, n_iter=3, method=method)


# ---------------------------------------------------------------------------------------------------------------------
# Watching, and dense steps
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("descend", [batch, partial(few, every=4)])
def test_watch_sees_the_w_of_each_record(method, descend):
    (X, y), seen = drawn("logistic"), []
    options = {"eta0": 0.5, "n_iter": 10, "method": method, "watch": lambda w: seen.append(w.copy())}
    trace = descend(Objective(X, y, loss="logistic"), 1.5, **options)
    np.testing.assert_allclose(trace.objective, [slow_value(X, y, w, "logistic") for w in seen], rtol=1e-12)


@pytest.mark.parametrize("method", ["projection", "entropic"])
def test_dense_steps_are_the_lazy_ones(method):
    objective = objective_of("logistic", kind=sparse.csr_matrix, density=0.4)
    options = {"eta0": 0.5, "n_iter": 20, "batch_size": 10, "method": method}
    lazy, dense = (few(objective, 0.7, lazy=is_lazy, **options) for is_lazy in (True, False))
    np.testing.assert_allclose(dense.w, lazy.w, atol=1e-9)
    np.testing.assert_allclose(dense.objective, lazy.objective, rtol=1e-9)
    assert (dense.flops[1:] != lazy.flops[1:]).all()
