"""Projected subgradient descent against a slow twin, over every norm and loss, and its certificates."""

import cvxpy
import numpy as np
import oracles
import pytest
from scipy import sparse

from jointsparse.learning.losses import LOSSES
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient
from jointsparse.norms import NORMS

ETA0 = np.array([0.02, 0.3, 0.3, 2.0])
RADIUS = np.array([1.5, 0.4, 100.0, 0.0])


@pytest.fixture(params=sorted(NORMS))
def norm(request):
    return request.param


@pytest.fixture(params=sorted(LOSSES))
def loss(request):
    return request.param


def problem(n=24, d=5, m=3, seed=0):
    """Every sample belongs to some of the tasks; labels follow the first features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.where(X[:, :1] + 0.5 * X[:, 1:2] + rng.normal(0, 0.7, (n, m)) > 0, 1.0, -1.0)
    return X, np.where(rng.random((n, m)) < 0.3, 0.0, Y)


def fit(X, Y, loss="hinge", norm="l1inf", eta0=ETA0, radius=RADIUS, normalisation="sum", **options):
    tasks = Problem.from_matrix(X, Y, normalisation=normalisation)
    return subgradient.fit(tasks, loss=LOSSES[loss], norm=NORMS[norm], eta0=eta0, radius=radius, **options)


def objective_of(W, X, Y, loss, c):
    """sum_k c_k sum_{i: Y_ik != 0} loss(Y_ik x_i·w_k), entry by entry."""
    return float((c * oracles.loss_value(loss, X @ W, Y)).sum())


def slow_fit(X, Y, loss, norm, eta0, radius, n_iter, c):
    """One pair, step by step: the iterates and their objectives."""
    W = np.zeros((X.shape[1], Y.shape[1]))
    iterates, objective = [W], [objective_of(W, X, Y, loss, c)]
    for t in range(1, n_iter + 1):
        G = np.zeros_like(W)
        for (i, k), y in np.ndenumerate(Y):
            if y != 0:
                G[:, k] += c[k] * oracles.LOSS_SLOPES[loss](X[i] @ W[:, k], y) * X[i]
        W = oracles.PROJECTIONS[norm](W - eta0 / np.sqrt(t) * G, radius).astype(float)
        iterates.append(W)
        objective.append(objective_of(W, X, Y, loss, c))
    return iterates, objective


# The solver


def test_training_agrees_with_its_slow_twin(loss, norm):
    X, Y = problem()
    trained = fit(X, Y, loss, norm, n_iter=6)
    for p, (eta0, radius) in enumerate(zip(ETA0, RADIUS, strict=True)):
        iterates, objective = slow_fit(X, Y, loss, norm, eta0, radius, 6, np.ones(3))
        np.testing.assert_allclose(trained.objective[p], objective, rtol=1e-12)
        np.testing.assert_allclose(trained.W[p], iterates[trained.objective[p].argmin()], atol=1e-12)


def test_the_mean_of_losses_agrees_with_its_slow_twin(loss):
    X, Y = problem()
    Y[:15, 0] = 0  # tasks of different sizes
    trained = fit(X, Y, loss, n_iter=6, normalisation="mean")
    c = np.array([1 / sum(y != 0 for y in column) for column in Y.T])
    iterates, objective = slow_fit(X, Y, loss, "l1inf", ETA0[0], RADIUS[0], 6, c)
    np.testing.assert_allclose(trained.objective[0], objective, rtol=1e-12)
    np.testing.assert_allclose(trained.W[0], iterates[trained.objective[0].argmin()], atol=1e-12)


def test_pairs_together_are_each_pair_alone(loss, norm):
    X, Y = problem()
    together = fit(X, Y, loss, norm, n_iter=30)
    for p in range(len(ETA0)):
        alone = fit(X, Y, loss, norm, ETA0[p : p + 1], RADIUS[p : p + 1], n_iter=30)
        # Squared losses take steps that are too long and so enlarge the last digits.
        np.testing.assert_allclose(together.W[p], alone.W[0], atol=1e-7)
        np.testing.assert_allclose(together.objective[p], alone.objective[0], rtol=1e-7)


def test_the_first_objective_is_the_loss_of_the_zero_matrix(loss):
    X, Y = problem()
    got, expected = fit(X, Y, loss, n_iter=3).objective[:, 0], oracles.loss_value(loss, 0 * Y, Y).sum()
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_every_matrix_lies_in_its_ball(loss, norm):
    X, Y = problem()
    trained = fit(X, Y, loss, norm, n_iter=30)
    for W, radius in zip(trained.W, RADIUS, strict=True):
        assert np.all(NORMS[norm].norm(W) <= radius * (1 + 1e-12))


def test_the_kept_matrix_has_the_smallest_objective_of_the_trace(loss, norm):
    X, Y = problem()
    trained = fit(X, Y, loss, norm, n_iter=30)
    got = trained.objective.min(axis=1)
    expected = [objective_of(W, X, Y, loss, np.ones(3)) for W in trained.W]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("normalisation", ["sum", "mean"])
def test_samples_outside_a_task_do_not_matter(norm, normalisation):
    X, Y = problem()
    Y[:6] = 0
    changed = X.copy()
    changed[:6] = 1e6
    some = fit(X, Y, norm=norm, n_iter=10, normalisation=normalisation)
    others = fit(changed, Y, norm=norm, n_iter=10, normalisation=normalisation)
    without = fit(X[6:], Y[6:], norm=norm, n_iter=10, normalisation=normalisation)
    for other in (others, without):
        np.testing.assert_array_equal(some.W, other.W)
        np.testing.assert_array_equal(some.objective, other.objective)


@pytest.mark.parametrize("normalisation", ["sum", "mean"])
def test_a_task_without_samples_stays_zero(normalisation):
    X, Y = problem()
    Y[:, 1] = 0
    trained = fit(X, Y, n_iter=10, normalisation=normalisation)
    assert not trained.W[:, :, 1].any()
    assert np.isfinite(trained.objective).all()


def test_mean_is_sum_with_another_step_where_tasks_are_equally_large():
    X, Y = problem()
    Y = np.where(Y == 0, 1.0, Y)
    mean = fit(X, Y, eta0=ETA0 * len(X), n_iter=10, normalisation="mean")
    total = fit(X, Y, n_iter=10)
    np.testing.assert_allclose(mean.W, total.W, atol=1e-12)
    np.testing.assert_allclose(mean.objective * len(X), total.objective, rtol=1e-12)


def test_float32_stays_float32(loss, norm):
    X, Y = problem()
    single = fit(X.astype(np.float32), Y.astype(np.int8), loss, norm, n_iter=5)
    double = fit(X, Y, loss, norm, n_iter=5)
    assert (single.W.dtype, double.W.dtype, single.objective.dtype) == (np.float32, np.float64, np.float64)
    np.testing.assert_allclose(single.objective, double.objective, rtol=1e-4)


def test_training_leaves_its_input_alone():
    X, Y = problem()
    X_before, Y_before = X.copy(), Y.copy()
    fit(X, Y, n_iter=5)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(Y, Y_before)


def test_radius_zero_gives_the_zero_matrix(loss, norm):
    X, Y = problem()
    trained = fit(X, Y, loss, norm, n_iter=5)
    assert RADIUS[3] == 0 and not trained.W[3].any()
    np.testing.assert_allclose(trained.objective[3], trained.objective[3, 0])


def test_no_iterations_give_the_zero_matrix():
    trained = fit(*problem(), n_iter=0)
    assert trained.objective.shape == (4, 1)
    assert not trained.W.any()


def test_many_iterations_come_near_the_optimum_of_a_convex_solver():
    X, Y = problem(n=40, d=6, m=3, seed=1)
    W = cvxpy.Variable((6, 3))
    hinge = cvxpy.sum(cvxpy.multiply(np.abs(Y), cvxpy.pos(1 - cvxpy.multiply(Y, X @ W))))
    ball = [cvxpy.sum(cvxpy.max(cvxpy.abs(W), axis=1)) <= 0.8]
    expected = cvxpy.Problem(cvxpy.Minimize(hinge), ball).solve(solver="CLARABEL")
    got = fit(X, Y, eta0=np.array([0.1]), radius=np.array([0.8]), n_iter=2000).objective.min()
    assert expected * (1 - 1e-6) <= got <= expected * 1.001


def test_progress_counts_iterations():
    seen = []
    fit(*problem(), n_iter=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("eta0", [0.0, -0.1, np.nan])
def test_a_step_size_that_does_not_descend_is_refused(eta0):
    with pytest.raises(ValueError, match=rf"^eta0 must be greater than 0, got {eta0}"):
        fit(*problem(), eta0=np.array([0.1, eta0]), radius=np.ones(2))


def test_a_negative_radius_is_refused(norm):
    with pytest.raises(ValueError, match=r"^radius must be at least 0, got -3\.0"):
        fit(*problem(), norm=norm, eta0=np.ones(1), radius=np.array([-3.0]))


def test_an_unknown_normalisation_is_refused():
    with pytest.raises(ValueError, match=r"^normalisation must be 'sum' or 'mean', got 'median'"):
        fit(*problem(), normalisation="median")


# Certificates


def optimum(X, Y, loss, norm, radius, penalised, intercept):
    """The objective of a convex solver."""
    W, b = cvxpy.Variable((X.shape[1], Y.shape[1])), cvxpy.Variable((1, Y.shape[1]))
    F = X @ W + (np.ones((len(X), 1)) @ b if intercept else 0)
    of_entries = {
        "hinge": lambda: cvxpy.pos(1 - cvxpy.multiply(Y, F)),
        "logistic": lambda: cvxpy.logistic(-cvxpy.multiply(Y, F)),
        "squared": lambda: 0.5 * cvxpy.square(Y - F),
    }[loss]()
    sizes = {
        "l1inf": lambda: cvxpy.sum(cvxpy.max(cvxpy.abs(W), axis=1)),
        "l12": lambda: cvxpy.sum(cvxpy.norm(W, 2, axis=1)),
        "l1": lambda: cvxpy.sum(cvxpy.abs(W), axis=0),
        "l2": lambda: cvxpy.norm(W, 2, axis=0),
    }[norm]()
    losses = cvxpy.sum(cvxpy.multiply(np.abs(Y), of_entries))
    if penalised:
        return cvxpy.Problem(cvxpy.Minimize(losses + radius * cvxpy.sum(sizes))).solve(solver="CLARABEL")
    return cvxpy.Problem(cvxpy.Minimize(losses), [sizes <= radius]).solve(solver="CLARABEL")


@pytest.mark.parametrize("penalised", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_objective_and_bound_hold_the_optimum_between_them(loss, norm, penalised, intercept):
    X, Y = problem()
    X = X + 0.5  # so that an intercept is of use
    tasks = Problem.from_matrix(X, Y, intercept=intercept)
    options = {"loss": LOSSES[loss], "norm": NORMS[norm], "radius": 0.8, "eta0": 0.05, "penalised": penalised}
    trained = subgradient.fit(tasks, n_iter=2000, **options)
    expected = optimum(X, Y, loss, norm, 0.8, penalised, intercept)
    assert trained.bound[0] - 1e-5 <= expected <= trained.objective.min() + 1e-5
    np.testing.assert_allclose(trained.value[0], trained.objective.min(), rtol=1e-12)
    assert trained.gap[0] == max(trained.value[0] - trained.bound[0], 0) / trained.value[0]
    assert penalised or trained.gap[0] <= 0.005
    F = X @ trained.W[0] + trained.b[0]
    cost = 0.8 * np.sum(NORMS[norm].norm(trained.W[0])) if penalised else 0
    np.testing.assert_allclose(oracles.loss_value(loss, F, Y).sum() + cost, trained.objective.min(), rtol=1e-9)
    assert intercept or not trained.b.any()


def test_the_bound_of_no_iterations_is_that_of_no_dual_variables(loss, norm):
    X, Y = problem()
    trained = fit(X, Y, loss, norm, n_iter=0)
    np.testing.assert_array_equal(trained.bound, 0)
    np.testing.assert_array_equal(trained.gap, 1)


def test_training_goes_on_from_another_fit(loss, norm):
    X, Y = problem()
    first = fit(X, Y, loss, norm, np.array([0.05]), np.array([0.8]), n_iter=500)
    tasks = Problem.from_matrix(X, Y)
    options = {"loss": LOSSES[loss], "norm": NORMS[norm], "radius": 0.8, "eta0": 0.001}
    second = subgradient.fit(tasks, n_iter=5, start=first, **options)
    np.testing.assert_allclose(second.objective[0, 0], first.objective.min(), rtol=1e-12)
    assert second.objective.min() <= first.objective.min() * (1 + 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_features_and_many_parts_change_nothing(dtype, norm, monkeypatch):
    X, Y = problem(n=120)
    X = np.where(np.abs(X) > 0.8, X, 0).astype(dtype)
    expected = fit(X, Y, norm=norm, n_iter=20)
    for changed in ("sparse", "parts"):
        if changed == "parts":
            monkeypatch.setattr("jointsparse.learning.problem.PART", 1)
        got = fit(sparse.csr_matrix(X) if changed == "sparse" else X, Y, norm=norm, n_iter=20)
        assert got.W.dtype == dtype
        tolerance = 1e-4 if dtype == np.float32 else 1e-10
        np.testing.assert_allclose(got.W, expected.W, atol=tolerance)
        np.testing.assert_allclose(got.gap, expected.gap, atol=tolerance)


def test_wide_products_are_taken_in_pieces(monkeypatch):
    X, Y = problem(n=60, d=50)
    expected = fit(X, Y, n_iter=10)
    monkeypatch.setattr("jointsparse.learning.problem.SMALL_PRODUCT", 1)
    np.testing.assert_allclose(fit(X, Y, n_iter=10).W, expected.W, atol=1e-12)


def test_margins_of_few_features_are_those_of_all(monkeypatch):
    X, Y = problem(n=60, d=100)
    expected = fit(X, Y, radius=RADIUS[[0, 1, 1, 3]] / 10, n_iter=20)
    assert expected.W.any(axis=(0, 2)).mean() < 1
    monkeypatch.setattr("jointsparse.learning.problem.FEW", 1)
    np.testing.assert_allclose(fit(X, Y, radius=RADIUS[[0, 1, 1, 3]] / 10, n_iter=20).W, expected.W, atol=1e-12)


def test_a_start_outside_the_ball_is_projected(norm):
    X, Y = problem()
    large = fit(X, Y, norm=norm, eta0=np.array([0.1]), radius=np.array([10.0]))
    small = subgradient.fit(
        Problem.from_matrix(X, Y), loss=LOSSES["hinge"], norm=NORMS[norm], radius=0.5, eta0=0.1, start=large, n_iter=5
    )
    assert np.all(NORMS[norm].norm(small.W[0]) <= 0.5 * (1 + 1e-12))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_divergence_names_eta0():
    X, Y = problem()
    with pytest.raises(ValueError, match=r"training diverged in iteration \d+: choose an eta0 below 1e\+200"):
        fit(X * 1e70, Y, "squared", eta0=np.array([1e200]), radius=np.array([1e300]))
