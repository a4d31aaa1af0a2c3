"""Sweeps over a grid, paths of radii, and estimators that make the same choice as a sweep."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from common import draw_labels, masked, problem

from jointsparse import JointSparseClassifierCV, metrics
from jointsparse.arrays import fingerprint
from jointsparse.learning import radii, scales
from jointsparse.learning.losses import LOSSES, hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient
from jointsparse.norms import l1inf
from jointsparse.pipeline import svm, sweep

# The grid


def run(X, Y, **options):
    defaults = {"loss": "hinge", "norm": "l1inf", "eta0": [0.1, 1.0], "radius": [3.0, 1.0]}
    return sweep.run(X, Y, **defaults | {"n_iter": 5, "normalisation": "sum"} | options)


@pytest.mark.parametrize("normalisation", ["sum", "mean"])
def test_a_sweep_contains_the_fit_of_each_pair(normalisation):
    (X, Y), calls = draw_labels(), []
    options = {"normalisation": normalisation, "progress": lambda *call: calls.append(call)}
    swept = run(X, Y, eta0=[1.0, 0.1], radius=[10, 1, 100], **options)
    assert list(zip(swept.radius, swept.eta0, strict=True)) == list(product([10, 1, 100], [1.0, 0.1]))
    expected = subgradient.fit(
        Problem.from_matrix(X, Y, normalisation=normalisation),
        loss=hinge,
        norm=l1inf,
        n_iter=5,
        eta0=swept.eta0,
        radius=swept.radius,
    )
    np.testing.assert_equal([swept.objective, swept.gap], [expected.objective, expected.gap])
    np.testing.assert_array_equal(swept.W, expected.W[radii.choose_eta0(swept.radius, swept.objective)])
    assert calls == [(t, 5) for t in range(6)]
    assert swept.learnt_from.tolist() == [fingerprint(X), fingerprint(Y), "hinge-l1inf"]


@pytest.mark.parametrize("train", [run, lambda X, Y: path(X, Y, tol=1e-2), partial(svm.run, C=[1.0], seed=0)])
def test_features_in_float16_are_learnt_in_float32(train):
    X, Y = draw_labels()
    Y[::3] = 0  # samples of no task
    half = X.astype(np.float16)
    got, expected = train(half, Y), train(half.astype(np.float32), Y)
    np.testing.assert_allclose(got.W, expected.W, rtol=1e-5, strict=True)
    assert got.learnt_from[0] == fingerprint(half)


# A path of radii


def test_relative_step_sizes_carry_over_between_scales_of_the_features():
    X, Y = draw_labels(n=40, d=8)
    plain, scaled = (
        run(scale * X, Y, eta0=[0.3, 3.0], eta0_unit="relative", radius=[10.0 / scale], n_iter=20)
        for scale in (1, 2.0**6)
    )
    assert plain.eta0.tolist() == [0.3, 3.0]
    np.testing.assert_allclose(scaled.objective, plain.objective, rtol=1e-12)
    # At W = 0 every sample has a loss, so the gradient is -X.T @ Y.
    absolute = run(X, Y, eta0=np.array([0.3, 3.0]) * 10.0 / np.linalg.norm(X.T @ Y), radius=[10.0], n_iter=20)
    np.testing.assert_allclose(absolute.objective, plain.objective, rtol=1e-12)


def test_a_relative_step_size_does_not_depend_on_a_radius_of_0_or_a_gradient_of_0():
    X, Y = draw_labels(n=40, d=8)
    length = scales.scales(Problem.from_matrix(X, Y, intercept=True), loss=hinge, norm=l1inf).gradient
    units = {"relative": [0.3, 3.0], "absolute": np.array([0.3, 3.0]) / length}
    got, expected = (
        run(X, Y, eta0=eta0, eta0_unit=unit, radius=[0.0], intercept=True, n_iter=20) for unit, eta0 in units.items()
    )  # only the intercepts change
    np.testing.assert_allclose(got.objective, expected.objective, rtol=1e-12)
    assert len(np.unique(got.objective)) > 20 and not got.W.any()
    flat = [run(0 * X, Y, eta0=[2.0], eta0_unit=unit, radius=[1.0], intercept=True).objective for unit in units]
    np.testing.assert_array_equal(*flat)


def path(X, Y, **options):
    return sweep.path(X, Y, **{"loss": "hinge", "norm": "l1inf", "n_iter": 5000, "normalisation": "sum"} | options)


def test_a_path_reaches_the_same_objectives_as_separate_fits():
    X, Y = draw_labels(n=80, d=12)
    seen = []
    along = path(X, Y, tol=1e-4, progress=lambda done, of: seen.append(done))
    alone = run(X, Y, solver="pdhg", tol=1e-4, n_iter=5000, radius=along.radius)
    assert (np.diff(along.radius) > 0).all() and seen == list(range(1, len(along.radius) + 1))
    assert along.W.shape == (len(along.radius), 12, 3) and max(*along.gap, *alone.gap) <= 1e-4
    at_zero, objective = along.objective.T
    np.testing.assert_allclose(objective, np.nanmin(alone.objective, axis=1), rtol=3e-4)
    assert all(l1inf.norm(W) <= radius * (1 + 1e-6) for W, radius in zip(along.W, along.radius, strict=True))
    assert (at_zero == np.count_nonzero(Y)).all()
    # The path begins at the unit and ends where larger radii no longer lower the objective.
    unit = scales.scales(Problem.from_matrix(X, Y), loss=LOSSES["hinge"], norm=l1inf).radius
    assert along.radius.tolist() == [radii.radius_at(unit, step) for step in range(len(along.radius))]
    assert objective[-1] >= 0.9999 * objective[-5] and objective[-2] < 0.9999 * objective[-6]


def test_a_path_ends_where_hardly_any_loss_is_left():
    X, Y = np.diag([1.0, 0.5, 0.2, 0.1, 0.05, 0.02]), np.ones((6, 1))
    share = path(X, Y, tol=1e-4).objective[:, 1] / 6
    assert share[-1] <= 1e-3 < share[-2]
    few = path(np.eye(2)[[0] * 150 + [1]] * [1, 0.03], np.ones((151, 1)), tol=1e-4)  # one sample needs large weights
    assert few.objective[-1, 1] / 151 <= 1e-3 < few.objective[-2, 1] / 151
    nothing = path(X, 0 * Y)  # no sample belongs to a task
    assert nothing.radius.tolist() == [0.0] and not nothing.W.any()


def contradictory(*sizes, agree=19):
    """Return a function that trains paths on contradicting labels, so that every radius is active, and the unit.

    sizes: sizes of the features. agree: number of positive labels for each negative label.
    """
    X, Y = np.kron(np.diag(sizes), np.ones((agree + 1, 1))), np.tile([[1.0] * agree + [-1.0]], len(sizes)).T
    unit = scales.scales(Problem.from_matrix(X, Y), loss=LOSSES["logistic"], norm=l1inf).radius
    return partial(path, X, Y, loss="logistic"), radii.radius_at(unit, 0)


@pytest.mark.parametrize("tol", [0.05, 0.01, 0.002])
def test_a_path_ends_when_a_factor_of_ten_in_radius_gains_less_than_tol(tol):
    objective = contradictory(1.0, 0.5, 0.2, 0.1, 0.05, 0.02, agree=4)[0](tol=tol).objective[:, 1]
    gained = 1 - objective[4:] / objective[:-4]
    assert gained[-1] <= tol < gained[:-1].min() < 10 * tol


def test_a_path_ends_two_radii_beyond_the_best_score():
    path, unit = contradictory(1.0, 0.1, 0.01)

    def best_at(step):
        return path(score=lambda W: -abs(np.log(l1inf.norm(W) / radii.radius_at(unit, step))))

    for step, expected in {1: range(-2, 4), -4: range(-6, 3), 5: range(-2, 8)}.items():
        assert best_at(step).radius.tolist() == [radii.radius_at(unit, tried) for tried in expected]


@pytest.mark.parametrize(("far", "expected"), [(0.7, range(-2, 8)), (0.476, range(-2, 3))])
def test_a_path_whose_score_falls_first_tries_a_radius_of_ten_times_the_unit(far, expected):
    path, unit = contradictory(1.0, 0.1, 0.01)
    curve = {-2: 0.4, -1: 0.4, 0: 0.476, 1: 0.458, 2: 0.458, 3: far - 0.1, 4: far, 5: far + 0.01 * (far > 0.5)}

    def score(W):
        return curve.get(round(radii.PER_DECADE * np.log10(l1inf.norm(W) / unit)), 0.3)

    got = path(score=score).radius
    assert got.tolist() == [radii.radius_at(unit, step) for step in expected]


@pytest.mark.parametrize(("norm", "goes_down"), [("l1inf", True), ("l1", True), ("l2", False)])
def test_a_path_with_a_sparse_norm_continues_down_to_few_features(norm, goes_down):
    X, Y = draw_labels(n=30, d=40)
    X = X + np.outer(Y.sum(axis=1), np.linspace(1, 2, 40))  # many features of about the same value
    plain, sparse = (path(X, Y, norm=norm, sparsest=share) for share in (1.0, 0.03))
    more, used = len(sparse.radius) - len(plain.radius), sparse.W != 0
    few = (used.any(axis=2).mean(axis=1) <= 0.03) | (used.sum(axis=1).max(axis=1) <= 1)
    assert (more > 0) == (few[0] and not few[1]) == goes_down
    np.testing.assert_array_equal(sparse.W[more:], plain.W)


@pytest.mark.parametrize("train", [path, partial(run, solver="pdhg", radius=[3.0], n_iter=5000)])
def test_an_intercept_lowers_the_objective(train):
    X, Y = draw_labels(n=40, d=6)
    X = X + np.float32(1)  # so that an intercept helps
    with_intercept, without = (train(X, Y, intercept=intercept, tol=1e-3) for intercept in (True, False))
    common = max(set(with_intercept.radius) & set(without.radius))
    at_radius = [fits.objective[fits.radius == common] for fits in (with_intercept, without)]
    assert np.nanmin(at_radius[0]) < 0.99 * np.nanmin(at_radius[1])


def test_powers_are_sweeps_on_scaled_features_with_weights_for_unscaled_features():
    X, Y = draw_labels()
    factors = {0.5: np.linspace(1, 2, X.shape[1]), 0: np.linspace(3, 1, X.shape[1])}
    got = sweep.in_powers(X, factors, lambda X: run(X, Y))
    alone = [run((X * factor).astype(X.dtype), Y) for factor in factors.values()]
    assert got.power.tolist() == np.repeat([0.5, 0.0], len(alone[0].radius)).tolist()
    assert got.learnt_from.tolist() == run(X, Y).learnt_from.tolist()
    for name in ("radius", "eta0", "objective", "gap"):
        np.testing.assert_array_equal(getattr(got, name), np.concatenate([getattr(fits, name) for fits in alone]))
    for W, factor, fits in zip(np.split(got.W, 2), factors.values(), alone, strict=True):
        np.testing.assert_allclose(X @ W, (X * factor) @ fits.W, atol=1e-5)
    assert len(sweep.best_pairs(got)) == len(got.W)
    np.testing.assert_equal(sweep.in_powers(X, {}, lambda X: run(X, Y)), run(X, Y))


# The estimators


def test_the_estimator_chooses_on_held_out_samples_as_in_the_paper():
    X, Y = problem(n=90)
    Y[:60] = masked(Y[:60])
    grid = {"eta0": [0.001, 0.01, 0.1], "n_iter": 20, "solver": "subgradient"}
    options = {"radii": [0.1, 1.0, 10.0], "labels": "masked", "validation_tasks": [True, False, True]}
    options |= {"loss": "hinge", "fit_intercept": False}
    model = JointSparseClassifierCV(**options, **grid).fit(X[:60], Y[:60], X_val=X[60:], y_val=Y[60:])
    swept = sweep.run(X[:60], Y[:60], loss="hinge", norm="l1inf", radius=[0.1, 1.0, 10.0], normalisation="sum", **grid)
    pairs = radii.choose_eta0(swept.radius, swept.objective)
    auc = [metrics.auc(X[60:] @ W[:, [0, 2]], Y[60:][:, [0, 2]] > 0).mean() for W in swept.W]
    best = radii.choose_radius(np.array(auc))
    np.testing.assert_allclose(model.scores_[:, 0], auc)
    assert (model.radius_, model.eta0_) == (swept.radius[pairs[best]], swept.eta0[pairs[best]])
    np.testing.assert_allclose(model.coef_, swept.W[best].T, atol=1e-12)  # fitted alone, and with all other pairs


# Errors


NO_GRID = "radius and eta0 must be lists of at least one finite number"


@pytest.mark.parametrize(
    ("train", "options", "said"),
    [
        (run, {"radius": []}, NO_GRID),
        (run, {"eta0": []}, NO_GRID),
        (run, {"radius": [np.inf]}, NO_GRID),
        (path, {"solver": "subgradient"}, "solver must be a solver that stops at tol, such as working_set, got 'sub"),
    ],
)
def test_an_empty_grid_and_an_unsuitable_solver_are_refused(train, options, said):
    with pytest.raises(ValueError, match=said):
        train(*draw_labels(), **options)
