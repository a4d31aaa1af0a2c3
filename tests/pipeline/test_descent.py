"""One l1 task solved by several methods: optima, certificates, counted operations, and the steps that each promises."""

from functools import partial

import numpy as np
import oracles_convex
import pytest
from scipy import sparse

from jointsparse.learning.problem import Problem
from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi import comparison, steps
from jointsparse.pipeline.papers.duchi.coordinate_descent import coordinate_descent
from jointsparse.pipeline.papers.duchi.descent import descend
from jointsparse.pipeline.papers.duchi.entropic import Entropic, step_sizes
from jointsparse.pipeline.papers.duchi.interior_point import _gram, interior_point
from jointsparse.pipeline.papers.duchi.line_search import line_search
from jointsparse.pipeline.papers.duchi.objective import LOSSES, Objective, Tangent
from jointsparse.pipeline.papers.duchi.steps import Diverged
from jointsparse.pipeline.papers.harness import record

KINDS = [np.asarray, sparse.csr_matrix]


def few(objective, radius, *, n_iter, batch_size=6, lazy=True, **options):
    """Take steps along the gradients of a few samples."""
    batches = steps.draw_batches(n_iter, objective.n_samples, batch_size, np.random.default_rng(2))
    return descend(objective, radius, n_iter=n_iter, batches=batches, lazy=lazy, **options)


def run(solver, objective, /, at=None, **options):
    """Return the records of a solver, with w. options: its radius or penalty, and others."""
    kind, limit = next((name, options[name]) for name in ("radius", "penalty") if name in options)
    certify = partial(
        {"radius": objective.certify_in_ball, "penalty": objective.certify_penalised}[kind], **{kind: limit}
    )
    look = comparison.certified_columns(objective, certify, w=np.copy)
    return record(partial(solver, objective, **options), look, at=at)


def objective_of(loss, n_samples=30, kind=np.asarray, density=1.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 20))
    scores = X @ (rng.normal(size=20) * (rng.random(20) < 0.5)) + rng.normal(size=n_samples)
    y = np.sign(scores) if loss == "logistic" else scores
    return Objective(kind(X * (rng.random(X.shape) < density)), y, loss=loss)


def slow_value(objective, w):
    X = objective.X.toarray() if sparse.issparse(objective.X) else objective.X
    margins = [sum(a * b for a, b in zip(x, w, strict=True)) for x in X]
    losses = {"squared": lambda m, y: 0.5 * (y - m) ** 2, "logistic": lambda m, y: np.log(1 + np.exp(-y * m))}
    return np.mean([losses[objective.loss](margin, y) for margin, y in zip(margins, objective.y, strict=True)])


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
    whole = objective_of(loss)
    objective = Objective(kind(whole.X[:8, :3]), whole.y[:8], loss=loss)
    w, moves = np.array([0.3, -0.7, 1.1]), 1e-5 * np.eye(3)
    tangent, slow = objective.tangent(w), partial(slow_value, objective)
    np.testing.assert_allclose(objective.value(tangent.margins), slow(w), rtol=1e-14)
    np.testing.assert_allclose(tangent.gradient, [(slow(w + e) - slow(w - e)) / 2e-5 for e in moves], rtol=1e-7)
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


# Every solver

ETA0 = {"squared": 1.0, "logistic": 10.0}
SOLVERS = [  # solver, limits, options for a loss, and how near it comes to the optimum
    *(
        (
            descend,
            {"radius": [2.0]},
            lambda loss, method=method: {"eta0": ETA0[loss], "n_iter": 3000, "method": method},
            1e-4,
        )
        for method in ("projection", "entropic")
    ),
    *(
        (
            few,
            {"radius": [2.0]},
            lambda loss, method=method: {"eta0": ETA0[loss] / 10, "n_iter": 3000, "method": method},
            0.02,
        )
        for method in ("projection", "entropic")
    ),
    (line_search, {"radius": [0.5, 2.0, 100.0]}, lambda loss: {"n_iter": 3000}, 1e-6),
    (interior_point, {"penalty": [1e-4, 0.05, 100.0]}, lambda loss: {"tol": 1e-9}, 1e-7),
    (coordinate_descent, {"penalty": [1e-4, 0.05, 100.0]}, lambda loss: {"n_iter": [1, 5, 40, 20_000]}, 1e-6),
]


@pytest.mark.parametrize(
    ("solver", "limit", "options", "rtol", "loss", "kind"),
    [
        (solver, {name: value}, options(loss), rtol, loss, kind)
        for solver, ((name, values),), options, rtol in ((one[0], one[1].items(), *one[2:]) for one in SOLVERS)
        for value in values
        for loss in LOSSES
        for kind in (KINDS if solver in (descend, few) else KINDS[:1])
    ],
)
def test_every_solver_approaches_the_optimum_with_bounds_below_and_objectives_above_it(
    solver, limit, options, rtol, loss, kind
):
    objective = objective_of(loss, n_samples=60, kind=kind)
    at = {*range(10), *range(2950, 3001), 20_000} if solver in (descend, few) else None
    table, (expected, w) = run(solver, objective, at=at, **limit, **options), optimum(objective, **limit)
    last, sizes = table.iloc[-1], table["w"].map(lambda w: np.abs(w).sum())
    values = [slow_value(objective, w) for w in table["w"][:20]] + limit.get("penalty", 0) * sizes[:20]
    np.testing.assert_allclose(table["objective"][:20], values, rtol=1e-12)
    assert not table["w"][0].any() and (sizes <= limit.get("radius", np.inf) * (1 + 1e-12)).all()
    assert (table["bound"] <= expected * (1 + 1e-7) + 1e-9).all() and (
        table["objective"] >= expected * (1 - 1e-7)
    ).all()
    np.testing.assert_allclose(last["objective"], expected, rtol=rtol, atol=1e-8)
    assert table["non_zero"].tolist() == [np.count_nonzero(w) / 20 for w in table["w"]]
    if solver is few:
        return
    np.testing.assert_allclose(table["bound"].max(), expected, rtol=1e-2, atol=1e-8)
    if solver is line_search:  # at the optimum, a step may round upwards, as the product of gradient and step does
        assert np.all(np.diff(table["objective"]) <= 4 * np.finfo(float).eps * expected)
    if solver is interior_point:
        assert last["objective"] - table["bound"].max() <= 1e-9 * last["objective"] and len(table) < 60
    if solver in (line_search, interior_point):
        np.testing.assert_allclose(last["w"], w, atol=3e-3 * max(1, np.abs(w).max()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "solver",
    [partial(descend, eta0=0.5, n_iter=9), partial(few, eta0=0.1, n_iter=9), partial(line_search, n_iter=9)],
)
def test_radius_zero_stays_at_zero(solver, kind):
    table = run(solver, objective_of("squared", kind=kind), radius=0.0)
    assert not np.stack(table["w"]).any()
    np.testing.assert_allclose(table["bound"], table["objective"], rtol=1e-12)


def test_line_search_ends_at_an_exact_optimum():
    table = run(line_search, Objective(np.eye(2), np.array([3.0, 0.0]), loss="squared"), radius=1.0, n_iter=100)
    np.testing.assert_array_equal(table["w"].iloc[-1], [1.0, 0.0])
    assert len(table) < 10 and table["objective"].iloc[-1] == table["bound"].iloc[-1] == 1.0


def test_line_search_refuses_a_step_that_does_not_lower_the_objective():
    """The full step leads from a margin of 0 to one of 2, whose distance from y = 1 is the same."""
    _, accepted = line_search(Objective(np.array([[2**0.5]]), np.ones(1), loss="squared"), 10.0, n_iter=1)
    assert accepted.weights() == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("schedule", ["constant", "1/sqrt(t)", "1/t"])
def test_batch_steps_are_the_papers_and_follow_their_schedule(schedule):
    objective = objective_of("squared")
    X, y, w, multiplied = objective.X, objective.y, np.zeros(20), Entropic(20, 1.5)
    etas = (step_sizes(schedule, eta0=0.5, n=20, n_iter=10, method=method) for method in ("projection", "entropic"))
    for eta, eta_entropic in zip(*etas, strict=True):
        w = l1.project(w - eta * X.T @ (X @ w - y) / 30, 1.5)
        multiplied.step(X.T @ (X @ multiplied.toarray() - y) / 30, eta_entropic)
    for method, expected in (("projection", w), ("entropic", multiplied.toarray())):
        *_, last = descend(objective, 1.5, eta0=0.5, n_iter=10, schedule=schedule, method=method)
        np.testing.assert_allclose(last.weights(), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["projection", "entropic"])
def test_a_batch_of_all_samples_is_a_batch_step_and_lazy_steps_equal_dense_steps(kind, method):
    objective = objective_of("logistic", kind=kind, density=0.4)
    options = {"radius": 1.5, "eta0": 0.05, "n_iter": 20, "method": method}
    for lazy, batch_size in ((True, 30), (False, 30), (True, 10)):
        got = run(few, objective, batch_size=batch_size, lazy=lazy, **options)
        dense = partial(few, batch_size=10, lazy=False) if batch_size == 10 else descend
        expected = run(dense, objective, **options)
        np.testing.assert_allclose(got["objective"], expected["objective"], rtol=1e-9)
        np.testing.assert_allclose(got["w"].iloc[-1], expected["w"].iloc[-1], atol=1e-9)


@pytest.mark.parametrize("solver", [descend, few])
@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_overflow_are_refused(solver, method, kind):
    objective = Objective(kind(1e90 * np.ones((6, 3))), np.full(6, 1e90), loss="squared")
    with pytest.raises(Diverged, match="descent diverged in step 1: choose a smaller eta0, or scale the features"):
        list(solver(objective, 1.0, eta0=1e300, n_iter=3, method=method))


# Operations, compared with counts by hand for X (2, 3)


@pytest.mark.parametrize(
    ("loss", "loss_flops", "slope_flops", "curvature_flops"), [("squared", 4, 2, 0), ("logistic", 7, 6, 3)]
)
def test_operations_of_a_tiny_problem_agree_with_a_count_by_hand(loss, loss_flops, slope_flops, curvature_flops):
    # So small that the line search accepts its first trial.
    y = np.array([1.0, -1.0])
    objective = Objective(np.array([[0.1, 0.2, 0.05], [0.0, -0.1, 0.1]]), y, loss=loss)
    stored = Objective(sparse.csr_matrix([[1.0, 0.0, 0.5], [2.0, 0.0, 1.0]]), y, loss=loss)  # two entries per row
    gradient = 2 * 6 + 2 * slope_flops + 2 * 6  # margins, slopes of two samples, X^T slopes
    projected = 3 * 2 + 3 * 18  # multiply and subtract, project
    trial = projected + 2 * 6 + 2 * loss_flops + 3 * 3  # and margins, losses, the product of gradient and w - w(s)
    options, entropic, one = {"eta0": 1e-3, "n_iter": 2}, {"method": "entropic"}, {"batch_size": 1}
    for states, step_flops in (
        (descend(objective, 1.0, **options), gradient + projected),
        (descend(objective, 1.0, **options, **entropic), gradient + 3 * 15),
        (descend(stored, 1.0, **options), 4 * 4 + 2 * slope_flops + projected),
        (few(objective, 1.0, **options, **one), 2 * 3 + slope_flops + 2 * 3 + projected),
        (few(stored, 1.0, **options, **one), 2 * (4 + 12 * 2) + slope_flops),  # log2(3 + 1) = 2
        (few(stored, 1.0, **options, **one, **entropic), 2 * (4 + 22) + slope_flops),
        (line_search(objective, 1.0, n_iter=1), 2 * slope_flops + 2 * 6 + trial),
        (coordinate_descent(objective, 0.1, n_iter=[1, 2]), 4 * 6 if loss == "squared" else np.nan),
    ):
        step, flops = np.transpose([(state.step, state.flops) for state in states])
        np.testing.assert_allclose(flops, [0, *(step_flops * step[1:])], rtol=1e-15)

    got = np.diff([state.flops for state in interior_point(objective, 0.01, n_iter=2)])
    gram = 2 * 9 + 6  # half of 2 x 3 x 3 products and sums; scaling X
    newton = 2 * (2 * 6) + 2 * (2 * loss_flops + slope_flops + curvature_flops) + 3**3 / 3 + 2 * 3**2 + 20 * 3
    trials = (got - newton - [gram, 0 if loss == "squared" else gram]) / (2 * (loss_flops + 2) + 30)
    assert (trials >= 1).all()
    np.testing.assert_allclose(trials, np.round(trials), atol=1e-12)
