"""One l1 task solved by several methods: optima, certificates, counted operations, and the steps that each promises."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse, special

from jointsparse.learning.problem import Problem
from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi import steps
from jointsparse.pipeline.papers.duchi.coordinate_descent import coordinate_descent
from jointsparse.pipeline.papers.duchi.descent import descend
from jointsparse.pipeline.papers.duchi.entropic import Entropic, SparseEntropic, step_sizes
from jointsparse.pipeline.papers.duchi.interior_point import _gram, interior_point
from jointsparse.pipeline.papers.duchi.line_search import line_search
from jointsparse.pipeline.papers.duchi.objective import LOSSES, Objective
from jointsparse.pipeline.papers.duchi.steps import Diverged

KINDS = [np.asarray, sparse.csr_matrix]
METHODS = ["projection", "entropic"]


def few(objective, radius, *, n_iter, batch_size=6, lazy=True, **options):
    batches = steps.draw_batches(n_iter, objective.n_samples, batch_size, np.random.default_rng(2))
    return descend(objective, radius, n_iter=n_iter, batches=batches, lazy=lazy, **options)


def points(states):
    return np.array([state.weights().copy() for state in states])


def objective_of(loss, n_samples=60, kind=np.asarray, density=1.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 20))
    scores = X @ (rng.normal(size=20) * (rng.random(20) < 0.5)) + rng.normal(size=n_samples)
    y = np.sign(scores) if loss == "logistic" else scores
    return Objective(kind(X * (rng.random(X.shape) < density)), y, loss=loss)


def slow_value(objective, w):
    margins, y = sparse.csr_array(objective.X) @ w, objective.y
    losses = {"squared": 0.5 * (y - margins) ** 2, "logistic": np.log(1 + np.exp(-y * margins))}
    return losses[objective.loss].mean()


def optimum(objective, limit, penalised):
    import oracles_convex  # takes a while

    problem = Problem([objective.X], [objective.y], normalisation="mean")
    exact = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
    return oracles_convex.optimum(problem, objective.loss, "l1", limit, penalised=penalised, **exact)[0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_and_the_hessian_agree_with_differences_of_the_objective_and_the_gradient(loss, kind):
    whole, w, moves = objective_of(loss), np.array([0.3, -0.7, 1.1]), 1e-5 * np.eye(3)
    objective, dense = (Objective(of(whole.X[:8, :3]), whole.y[:8], loss=loss) for of in (kind, np.asarray))
    tangent, slow = objective.tangent(w), partial(slow_value, objective)
    np.testing.assert_allclose(tangent.gradient, [(slow(w + e) - slow(w - e)) / 2e-5 for e in moves], rtol=1e-7)
    hessian = [(dense.tangent(w + e).gradient - dense.tangent(w - e).gradient) / 2e-5 for e in moves]
    np.testing.assert_allclose(_gram(dense, tangent.slopes), hessian, rtol=1e-6)


# Every solver

SOLVERS = [  # solver, whether it takes penalties, its limits, options for a loss, and how near it comes to the optimum
    *(
        (solver, False, [2.0], lambda eta0, m=method, s=share: {"eta0": s * eta0, "n_iter": 3000, "method": m}, rtol)
        for solver, share, rtol in ((descend, 1.0, 1e-4), (few, 0.1, 0.02))
        for method in METHODS
    ),
    (line_search, False, [0.0, 0.5, 2.0, 100.0], lambda eta0: {"n_iter": 3000}, 1e-6),
    (interior_point, True, [1e-4, 0.05, 100.0], lambda eta0: {"tol": 1e-9}, 1e-8),
    (coordinate_descent, True, [1e-4, 0.05, 100.0], lambda eta0: {"n_iter": [1, 5, 40, 20_000]}, 1e-6),
]


@pytest.mark.parametrize(
    ("solver", "penalised", "limit", "options", "rtol", "loss", "kind"),
    [
        (solver, penalised, limit, options(eta0), rtol, loss, kind if solver in (descend, few) else np.asarray)
        for solver, penalised, limits, options, rtol in SOLVERS
        for limit in limits
        for loss, eta0, kind in (("squared", 1.0, np.asarray), ("logistic", 10.0, sparse.csr_matrix))
    ],
)
def test_every_solver_approaches_the_optimum_with_bounds_below_and_objectives_above_it(
    solver, penalised, limit, options, rtol, loss, kind
):
    objective = objective_of(loss, kind=kind)
    certify = objective.certify_penalised if penalised else objective.certify_in_ball
    W, expected = points(solver(objective, limit, **options)), optimum(objective, limit, penalised)
    W = np.vstack([W[:10], W[10::40], W[-1:]])
    sizes = np.abs(W).sum(axis=1)
    values, bounds = np.transpose([certify(objective.tangent(w), limit) for w in W])
    slow = [slow_value(objective, w) + penalised * limit * size for w, size in zip(W[:9], sizes, strict=False)]
    np.testing.assert_allclose(values[:9], slow, rtol=1e-12)
    assert not W[0].any() and (penalised or (sizes <= limit * (1 + 1e-12)).all())
    assert (bounds <= expected * (1 + 1e-7) + 1e-9).all() and (values >= expected * (1 - 1e-7)).all()
    np.testing.assert_allclose(values[-1], expected, rtol=rtol, atol=1e-8)
    assert solver is few or bounds.max() == pytest.approx(expected, rel=1e-2, abs=1e-8)


def test_a_gradient_of_zero_gives_a_bound():
    objective = Objective(np.zeros((2, 1)), np.zeros(2), loss="squared")
    assert objective.certify_penalised(objective.tangent(np.zeros(1)), 0.1) == (0, 0)


def test_line_search_ends_at_an_exact_optimum():
    W = points(line_search(Objective(np.eye(2), np.array([3.0, 0.0]), loss="squared"), 1.0, n_iter=100))
    assert W[-1].tolist() == [1.0, 0.0] and len(W) < 10


def test_line_search_refuses_a_step_that_does_not_lower_the_objective():
    # The full step leads from a margin of 0 to one of 2, whose distance from y = 1 is the same.
    W = points(line_search(Objective(np.array([[2**0.5]]), np.ones(1), loss="squared"), 10.0, n_iter=1))
    assert W[1] == pytest.approx(0.5**0.5)


# Descent


@pytest.mark.parametrize("schedule", ["constant", "1/sqrt(t)", "1/t"])
@pytest.mark.parametrize("method", METHODS)
def test_steps_over_all_samples_follow_their_schedule(schedule, method):
    objective = objective_of("squared")
    point = Entropic(20, 1.5) if method == "entropic" else steps.Projected(np.zeros(20), 1.5, l1.project)
    for eta in step_sizes(schedule, eta0=0.5, n=20, n_iter=10, method=method):
        point.step(objective.X.T @ (objective.X @ point.toarray() - objective.y) / 60, eta)
    got = points(descend(objective, 1.5, eta0=0.5, n_iter=10, schedule=schedule, method=method))
    np.testing.assert_allclose(got[-1], point.toarray(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_a_batch_of_all_samples_is_a_batch_step_and_lazy_steps_equal_dense_steps(kind, method):
    objective = objective_of("logistic", kind=kind, density=0.4)
    options = {"eta0": 0.05, "n_iter": 20, "method": method}
    whole = points(descend(objective, 1.5, **options))
    some = points(few(objective, 1.5, batch_size=10, lazy=False, **options))
    for lazy, batch_size, expected in ((True, 60, whole), (False, 60, whole), (True, 10, some)):
        got = points(few(objective, 1.5, batch_size=batch_size, lazy=lazy, **options))
        np.testing.assert_allclose(got, expected, atol=1e-9)


@pytest.mark.parametrize("solver", [descend, few])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_overflow_are_refused(solver, method, kind):
    objective = Objective(kind(1e90 * np.ones((6, 3))), np.full(6, 1e90), loss="squared")
    with pytest.raises(Diverged, match="descent diverged in step 1: choose a smaller eta0, or scale the features"):
        list(solver(objective, 1.0, eta0=1e300, n_iter=3, method=method))


# Operations, compared with counts by hand for X (2, 3)


@pytest.mark.parametrize(("loss", "loss_flops", "slope_flops"), [("squared", 4, 2), ("logistic", 7, 6)])
def test_operations_of_a_tiny_problem_agree_with_a_count_by_hand(loss, loss_flops, slope_flops):
    # So small that the line search accepts its first trial. Per entry, a projection counts 18 operations, an entropic
    # step 15, and lazy steps 12 or 22; module `objective` says what else counts.
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


# Exponentiated gradient


@pytest.mark.parametrize("of_set", ["ball", "nonnegative"])
@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_each_column_follows_the_rule_and_stays_inside(rng, of_set, n, scale):
    gradients, etas = rng.normal(size=(30, n, 2)) * scale, rng.random(30)
    point = Entropic(n, 2.5, of_set=of_set, n_columns=2)
    moved = -np.cumsum(etas[:, np.newaxis, np.newaxis] * gradients, axis=0)
    for G, eta, logs in zip(gradients, etas, moved, strict=True):
        point.step(G, eta)
        u = 2.5 * special.softmax(np.vstack([logs, -logs if of_set == "ball" else np.zeros((1, 2))]), axis=0)
        np.testing.assert_allclose(
            point.toarray(), u[:n] - (u[n:] if of_set == "ball" else 0), rtol=1e-10 * max(scale, 1), atol=1e-14
        )
        assert (np.abs(point.toarray()).sum(axis=0) <= 2.5 * (1 + 1e-13)).all()


@pytest.mark.parametrize(
    ("options", "scale"),  # scale: sqrt(log N) for N weights, 2 n in the ball and n + 1 otherwise, or 1
    [({}, np.log(60) ** 0.5), ({"of_set": "nonnegative"}, np.log(31) ** 0.5), ({"method": "projection"}, 1)],
)
@pytest.mark.parametrize(
    ("schedule", "factors"),  # of 4 steps; those of "constant" are 1 / sqrt(4)
    [("constant", [0.5] * 4), ("1/sqrt(t)", [1, 2**-0.5, 3**-0.5, 0.5]), ("1/t", [1, 1 / 2, 1 / 3, 1 / 4])],
)
def test_step_sizes_agree_with_the_theory(options, scale, schedule, factors):
    got = step_sizes(schedule, eta0=3.0, n=30, n_iter=4, **options)
    np.testing.assert_allclose(got, 3 * scale * np.array(factors), rtol=1e-15)


@pytest.mark.parametrize("scale", [0.1, 1000.0])
def test_lazy_steps_of_exponentiated_gradient_equal_dense_steps(rng, scale):
    lazy, dense = SparseEntropic(40, 3.0), Entropic(40, 3.0)
    for _ in range(400):
        indices = rng.integers(0, 40, rng.integers(0, 6))
        values = rng.normal(size=len(indices)) * scale
        lazy.step(indices, values, 0.5)
        dense.step(np.bincount(indices, values, minlength=40), 0.5)
        np.testing.assert_allclose(lazy.toarray(), dense.toarray(), rtol=1e-9, atol=3e-11)
        assert lazy.count_nonzero() == np.count_nonzero(lazy.toarray())
    assert (lazy.refreshed > 0) == (scale == 1000.0)  # large steps would overflow, so sums are computed anew
