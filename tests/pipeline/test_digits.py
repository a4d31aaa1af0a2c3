"""Digits by similarity: the objective and its gradient, certified optima, and single steps."""

import numpy as np
import pytest

from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi import digits

RADIUS = 3.0


def drawn():
    """Draw 30 samples of 3 classes, given by their similarity to 8 support samples."""
    rng = np.random.default_rng(0)
    return digits.SimilarityObjective(rng.random((30, 8)), rng.integers(3, size=30), rng.integers(3, size=8), 3)


def slow_value(objective, W):
    scores = zip([[sum(w * s) for w in (objective.signs * W).T] for s in objective.K], objective.y, strict=True)
    return np.mean([np.log(1 + sum(np.exp(k[r] - k[y]) for r in range(len(k)) if r != y)) for k, y in scores])


def optimum(objective, radius):
    import cvxpy as cp  # takes a while

    W = cp.Variable(objective.signs.shape, nonneg=True)
    F = objective.K @ cp.multiply(objective.signs, W)
    f = (cp.sum(cp.log_sum_exp(F, axis=1)) - cp.sum(cp.multiply(np.eye(F.shape[1])[objective.y], F))) / len(objective.y)
    return cp.Problem(cp.Minimize(f), [cp.sum(W, axis=0) <= radius]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )


def descended(objective, **options):
    """Return W after five steps, by projections with all samples unless the options differ."""
    *_, state = digits.descend(objective, RADIUS, **{"eta0": 2.0, "n_iter": 5} | options)
    return state.weights()


# The objective and its bound


def test_value_and_gradient_agree_with_a_slow_implementation_and_do_not_overflow():
    objective = drawn()
    W = np.random.default_rng(1).normal(size=objective.signs.shape)
    _, value, gradient = objective.tangent(W)
    np.testing.assert_allclose([value, objective.value(W)], slow_value(objective, W), rtol=1e-13)
    moves = 1e-5 * np.eye(W.size).reshape(-1, *W.shape)
    expected = [(slow_value(objective, W + move) - slow_value(objective, W - move)) / 2e-5 for move in moves]
    np.testing.assert_allclose(gradient.ravel(), expected, atol=1e-9)
    assert np.isfinite([*objective.tangent(np.full((8, 3), 1e6)).gradient.ravel()]).all()  # scores do not overflow
    parts = [objective.tangent(W, np.arange(i, 30, 3)) for i in range(3)]
    np.testing.assert_allclose(np.mean([part.value for part in parts]), value, rtol=1e-13)
    np.testing.assert_allclose(np.mean([part.gradient for part in parts], axis=0), gradient, atol=1e-15)


def test_error_counts_samples_and_shares_ties():
    """A support sample supports its class, and speaks against all others."""
    objective = digits.SimilarityObjective(np.eye(3), np.array([0, 1, 1]), np.array([0, 1, 0]), 2)
    assert [objective.error(np.full((3, 2), w)) for w in (0.0, 1.0)] == pytest.approx([1 / 2, 1 / 3])
    assert objective.signs.tolist() == [[1, -1], [-1, 1], [1, -1]]


@pytest.mark.parametrize("radius", [0.5, RADIUS, 1e3])
def test_solution_and_bound_agree_with_cvxpy(radius):
    objective = drawn()
    expected = optimum(objective, radius)
    W, bound = digits.near_optimum(objective, radius, n_iter=1500)
    assert (W >= 0).all() and (W.sum(axis=0) <= radius * (1 + 1e-12)).all()
    assert expected * (1 - 1e-3) <= bound <= expected + 1e-8
    assert objective.value(W) == pytest.approx(expected, rel=1e-6)
    if radius == RADIUS:  # momentum that restarts comes near in fewer iterations
        assert objective.value(digits.near_optimum(objective, radius, n_iter=60)[0]) <= expected * (1 + 1e-7)


# Steps


def test_steps_agree_with_slow_implementations():
    objective, W, u = drawn(), np.full((8, 3), RADIUS / 9), np.full((9, 3), RADIUS / 9)
    for t in range(1, 6):
        gradient = objective.tangent(W).gradient
        W = np.stack([l1.project_nonnegative(w, RADIUS) for w in (W - 4 / np.sqrt(t) * gradient).T], axis=1)
        gradient = np.vstack([objective.tangent(u[:8]).gradient, np.zeros(3)])
        u *= np.exp(-2 * np.sqrt(np.log(9) / t) * gradient)
        u *= RADIUS / u.sum(axis=0)
    np.testing.assert_allclose(descended(objective, eta0=4.0), W, atol=1e-14)
    np.testing.assert_allclose(descended(objective, method="entropic"), u[:8], atol=1e-13)
