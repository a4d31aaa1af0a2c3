"""One l1 task solved by several methods: optima, certificates, counted operations, and the steps that each promises."""

from functools import partial

import numpy as np
import oracles_convex
import pytest
from scipy import sparse

from jointsparse.learning.problem import Problem
from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi import comparison, descent, steps
from jointsparse.pipeline.papers.duchi.coordinate_descent import coordinate_descent
from jointsparse.pipeline.papers.duchi.entropic import Entropic, step_sizes
from jointsparse.pipeline.papers.duchi.interior_point import _gram, interior_point
from jointsparse.pipeline.papers.duchi.line_search import line_search
from jointsparse.pipeline.papers.duchi.objective import LOSSES, Objective, Tangent
from jointsparse.pipeline.papers.duchi.steps import Diverged
from jointsparse.pipeline.papers.harness import record

KINDS = [np.asarray, sparse.csr_matrix]


def few(objective, radius, *, n_iter, batch_size=5, seed=0, lazy=True, **options):
    """Take steps along the gradients of a few samples."""
    return descent.descend(
        objective,
        radius,
        n_iter=n_iter,
        batches=steps.draw_batches(n_iter, objective.n_samples, batch_size, np.random.default_rng(seed)),
        lazy=lazy,
        **options,
    )


CONSTRAINED = {
    "batch": partial(descent.descend, eta0=0.5, n_iter=60),
    "entropic": partial(descent.descend, eta0=0.5, n_iter=60, method="entropic"),
    "stochastic": partial(few, eta0=0.1, n_iter=60),
    "line_search": partial(line_search, n_iter=20),
}
PENALISED = {
    "interior_point": interior_point,
    "coordinate_descent": partial(coordinate_descent, n_iter=range(1, 61)),
}
METHODS = CONSTRAINED | PENALISED


def run(method, objective, limit, /, at=None, **options):
    """Return the records of a method, with w. limit: the radius of a constrained problem, or the penalty."""
    certify = objective.certify_penalised if method in PENALISED else objective.certify_in_ball
    look = comparison.certified_columns(objective, lambda tangent: certify(tangent, limit), w=np.copy)
    return record(partial(METHODS.get(method, method), objective, limit, **options), look, at=at)


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
    losses = {"squared": lambda m, y: 0.5 * (y - m) ** 2, "logistic": lambda m, y: np.log(1 + np.exp(-y * m))}
    return np.mean([losses[loss](margin, label) for margin, label in zip(margins, y, strict=True)])


def optimum(objective, **limit):
    """Return the optimal value and w by a convex solver. limit: radius or penalty."""
    tasks, ((kind, value),) = Problem([objective.X], [objective.y], normalisation="mean"), limit.items()
    exact = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
    best, W = oracles_convex.optimum(tasks, objective.loss, "l1", value, penalised=kind == "penalty", **exact)
    return best, W[:, 0]


# The objective and its bounds


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", [*KINDS, sparse.coo_matrix])
def test_objective_and_its_derivatives_agree_with_a_slow_implementation(loss, kind):
    X, y = (part[:8] for part in drawn(loss))
    X, w, moves = X[:, :3], np.array([0.3, -0.7, 1.1]), 1e-5 * np.eye(3)
    objective = Objective(kind(X), y, loss=loss)
    tangent = objective.tangent(w)
    np.testing.assert_allclose(objective.value(tangent.margins), slow_value(X, y, w, loss), rtol=1e-14)
    expected = [(slow_value(X, y, w + e, loss) - slow_value(X, y, w - e, loss)) / 2e-5 for e in moves]
    np.testing.assert_allclose(tangent.gradient, expected, rtol=1e-7)
    if kind is np.asarray:
        hessian = [(objective.tangent(w + e).gradient - objective.tangent(w - e).gradient) / 2e-5 for e in moves]
        np.testing.assert_allclose(_gram(objective, tangent.slopes), hessian, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("kind", "limit"), [("certify_in_ball", {"radius": 1.5}), ("certify_penalised", {"penalty": 0.1})]
)
def test_bounds_of_all_slopes_are_below_the_optimum_and_slopes_of_the_solution_reach_it(loss, kind, limit):
    objective, rng = objective_of(loss), np.random.default_rng(1)
    certify = partial(getattr(objective, kind), **limit)
    expected, w = optimum(objective, **limit)
    for _ in range(50):
        slopes = rng.normal(size=30) * rng.random() / 30
        slopes = -np.abs(slopes).clip(0, 1 / 30) * objective.y if loss == "logistic" else slopes
        assert certify(Tangent(w, np.zeros(30), slopes, objective.X.T @ slopes, 600))[1] <= expected + 1e-9
    np.testing.assert_allclose(certify(objective.tangent(w)), expected, rtol=1e-4)


def test_a_gradient_of_zero_gives_a_bound():
    objective = Objective(np.zeros((2, 1)), np.zeros(2), loss="squared")
    assert objective.certify_penalised(objective.tangent(np.zeros(1)), 0.1) == (0, 0)


# Every method


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", METHODS)
def test_records_describe_the_steps(loss, method):
    objective, (X, y) = objective_of(loss), drawn(loss)
    limit = {"radius": 1.5} if method in CONSTRAINED else {"penalty": 0.05}
    table = run(method, objective, *limit.values())
    (expected, _), sizes = optimum(objective, **limit), table["w"].map(lambda w: np.abs(w).sum())
    assert table["step"].tolist() == list(range(len(table))) and table["flops"][0] == 0
    values = [slow_value(X, y, w, loss) for w in table["w"]] + limit.get("penalty", 0) * sizes
    np.testing.assert_allclose(table["objective"], values, rtol=1e-12)
    assert not table["w"][0].any() and (sizes <= limit.get("radius", np.inf) * (1 + 1e-12)).all()
    assert (table["bound"] <= expected * (1 + 1e-7)).all() and (table["objective"] >= expected * (1 - 1e-7)).all()
    assert table["non_zero"].tolist() == [np.count_nonzero(w) / 20 for w in table["w"]]
    is_liblinear = method == "coordinate_descent" and loss == "logistic"
    assert table["flops"][1:].isna().all() if is_liblinear else (np.diff(table["flops"]) > 0).all()


@pytest.mark.parametrize("method", CONSTRAINED)
@pytest.mark.parametrize("kind", KINDS)
def test_radius_zero_stays_at_zero(method, kind):
    table = run(method, objective_of("squared", kind=kind), 0.0)
    assert not np.stack(table["w"]).any()
    np.testing.assert_allclose(table["bound"], table["objective"], rtol=1e-12)


# Optima of the constrained problem


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("radius", [0.5, 2.0, 100.0])
def test_line_search_reaches_the_optimum_and_never_goes_up(loss, radius):
    objective = objective_of(loss, n_samples=60)
    table = run(line_search, objective, radius, n_iter=3000)
    expected, w = optimum(objective, radius=radius)
    last = table.iloc[-1]
    assert last["objective"] < (1 + 1e-6) * expected
    # At the optimum, a step may round upwards, because the product of gradient and step does.
    assert np.all(np.diff(table["objective"]) <= 4 * np.finfo(float).eps * expected)
    np.testing.assert_allclose(table["bound"].max(), expected, rtol=1e-5)
    np.testing.assert_allclose(last["w"], w, atol=3e-3 * max(1, np.abs(w).max()))


def test_line_search_ends_at_an_exact_optimum():
    table = run(line_search, Objective(np.eye(2), np.array([3.0, 0.0]), loss="squared"), 1.0, n_iter=100)
    np.testing.assert_array_equal(table["w"].iloc[-1], [1.0, 0.0])
    assert len(table) < 10
    assert table["objective"].iloc[-1] == table["bound"].iloc[-1] == 1.0


@pytest.mark.parametrize(("loss", "eta0"), [("squared", 1.0), ("logistic", 10.0)])
@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_along_gradients_approach_the_optimum(loss, eta0, method, kind):
    objective = objective_of(loss, n_samples=60, kind=kind)
    expected, _ = optimum(objective, radius=2.0)
    options = {"n_iter": 3000, "method": method, "at": range(2950, 3001)}
    whole = run(descent.descend, objective, 2.0, eta0=eta0, **options)
    assert whole["objective"].iloc[-1] < (1 + 1e-4) * expected and whole["bound"].max() > (1 - 1e-2) * expected
    parts = run(few, objective, 2.0, eta0=eta0 / 10, batch_size=6, seed=2, **options)
    assert parts["objective"].iloc[-1] < 1.02 * expected


FACTORS = {"constant": lambda t: 1 / np.sqrt(10), "1/sqrt(t)": lambda t: 1 / np.sqrt(t), "1/t": lambda t: 1 / t}


@pytest.mark.parametrize("schedule", FACTORS)
def test_batch_steps_are_the_papers_and_follow_their_schedule(schedule):
    X, y = drawn("squared")
    w, multiplied = np.zeros(20), Entropic(20, 1.5)
    for t, eta in enumerate(step_sizes(schedule, eta0=0.5, n=20, n_iter=10), start=1):
        w = l1.project(w - 0.5 * FACTORS[schedule](t) * X.T @ (X @ w - y) / 30, 1.5)
        multiplied.step(X.T @ (X @ multiplied.toarray() - y) / 30, eta)
    ten = partial(run, descent.descend, Objective(X, y, loss="squared"), 1.5, eta0=0.5, n_iter=10, schedule=schedule)
    for method, expected in (("projection", w), ("entropic", multiplied.toarray())):
        np.testing.assert_allclose(ten(method=method)["w"].iloc[-1], expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["projection", "entropic"])
def test_a_batch_of_all_samples_is_a_batch_step_and_lazy_steps_equal_dense_steps(kind, method):
    objective, options = (
        objective_of("logistic", kind=kind, density=0.4),
        {"eta0": 0.05, "n_iter": 20, "method": method},
    )
    expected = run(descent.descend, objective, 1.5, **options)
    for lazy, batch_size in ((True, 30), (False, 30), (True, 10), (False, 10)):
        got = run(few, objective, 1.5, batch_size=batch_size, lazy=lazy, **options)
        reference = expected if batch_size == 30 else run(few, objective, 1.5, batch_size=10, lazy=False, **options)
        np.testing.assert_allclose(got["objective"], reference["objective"], rtol=1e-9)
        np.testing.assert_allclose(got["w"].iloc[-1], reference["w"].iloc[-1], atol=1e-9)


# Optima of the penalised problem


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [1e-4, 0.05, 100.0])
def test_interior_points_and_coordinate_descent_reach_the_optimum(loss, penalty):
    objective = objective_of(loss)
    table = run("interior_point", objective, penalty, tol=1e-9)
    expected, w = optimum(objective, penalty=penalty)
    last = table.iloc[-1]
    assert last["objective"] - table["bound"].max() <= 1e-9 * last["objective"] and len(table) < 60
    np.testing.assert_allclose(last["objective"], expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(last["w"], w, atol=1e-3 * max(1, np.abs(w).max()))
    by_coordinates = run("coordinate_descent", objective, penalty, n_iter=[1, 5, 40, 20_000])
    assert by_coordinates["step"].tolist() == [0, 1, 5, 40, 20_000]
    np.testing.assert_allclose(by_coordinates["objective"].iloc[-1], last["objective"], rtol=1e-6, atol=1e-8)


# Operations, compared with counts by hand for X (2, 3)


@pytest.mark.parametrize(
    ("loss", "loss_flops", "slope_flops", "curvature_flops"), [("squared", 4, 2, 0), ("logistic", 7, 6, 3)]
)
def test_operations_of_a_tiny_problem_agree_with_a_count_by_hand(loss, loss_flops, slope_flops, curvature_flops):
    # So small that the line search accepts its first trial.
    objective = Objective(np.array([[0.1, 0.2, 0.05], [0.0, -0.1, 0.1]]), np.array([1.0, -1.0]), loss=loss)
    gradient = 2 * 6 + 2 * slope_flops + 2 * 6  # margins, slopes of two samples, X^T slopes
    projected = 3 * 2 + 3 * 18  # multiply and subtract, project
    trial = projected + 2 * 6 + 2 * loss_flops + 3 * 3  # and margins, losses, the product of gradient and w - w(s)
    options = {"eta0": 1e-3, "n_iter": 2}
    for states, step_flops in (
        (descent.descend(objective, 1.0, **options), gradient + projected),
        (descent.descend(objective, 1.0, **options, method="entropic"), gradient + 3 * 15),
        (few(objective, 1.0, **options, batch_size=1), 2 * 3 + slope_flops + 2 * 3 + projected),
        (line_search(objective, 1.0, n_iter=1), 2 * slope_flops + 2 * 6 + trial),
        (coordinate_descent(objective, 0.1, n_iter=[1, 2]), 4 * 6 if loss == "squared" else np.nan),
    ):
        step, flops = np.transpose([(state.step, state.flops) for state in states])
        np.testing.assert_array_equal(flops, [0, *(step_flops * step[1:])])

    got = np.diff([state.flops for state in interior_point(objective, 0.01, n_iter=2)])
    gram = 2 * 9 + 6  # half of 2 x 3 x 3 products and sums; scaling X
    newton = 2 * (2 * 6) + 2 * (2 * loss_flops + slope_flops + curvature_flops) + 3**3 / 3 + 2 * 3**2 + 20 * 3
    trials = (got - newton - [gram, 0 if loss == "squared" else gram]) / (2 * (loss_flops + 2) + 30)
    assert (trials >= 1).all()
    np.testing.assert_allclose(trials, np.round(trials), atol=1e-12)


@pytest.mark.parametrize(
    ("method", "entry_flops", "feature_flops"), [("projection", 12 * 2, 2 + 18), ("entropic", 22, 15)]
)
def test_operations_of_sparse_steps_count_stored_entries(method, entry_flops, feature_flops):
    X = sparse.csr_matrix([[1.0, 0.0, 0.5], [2.0, 0.0, 1.0]])  # two entries per row; log2(3 + 1) = 2
    objective, options = (
        Objective(X, np.array([1.0, -1.0]), loss="squared"),
        {"eta0": 0.1, "n_iter": 2, "method": method},
    )
    got = [state.flops for state in few(objective, 1.0, batch_size=1, **options)]
    np.testing.assert_allclose(got, np.arange(3) * (2 * (4 + entry_flops) + 2), rtol=1e-15)
    _, first, _ = descent.descend(objective, 1.0, **options)
    assert first.flops == 4 * 4 + 2 * 2 + 3 * feature_flops


# Refusals


@pytest.mark.parametrize("start", [descent.descend, partial(few, batch_size=1)])
@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("loss", "eta0", "error", "said"),
    [
        ("squared", 1e300, Diverged, "descent diverged in step 1: choose a smaller eta0, or scale the features"),
        ("squared", -1.0, ValueError, r"eta0 must be above 0 and finite, got -1\.0"),
        ("hinge", 1.0, ValueError, "loss must be one of squared, logistic, got 'hinge'"),
    ],
)
def test_steps_that_overflow_and_unknown_losses_and_step_sizes_are_refused(
    start, method, kind, loss, eta0, error, said
):
    with pytest.raises(error, match=said):
        objective = Objective(kind(1e90 * np.ones((2, 3))), np.array([1e90, 1e90]), loss=loss)
        list(start(objective, 1.0, eta0=eta0, n_iter=3, method=method))
