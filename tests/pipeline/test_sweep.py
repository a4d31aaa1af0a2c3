"""Sweeps over a grid, paths of radii, and linear classifiers that are trained independently."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from common import draw_labels
from sklearn.svm import LinearSVC

from jointsparse.arrays import fingerprint
from jointsparse.learning import radii, scales
from jointsparse.learning.losses import LOSSES, hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient
from jointsparse.norms import l1inf
from jointsparse.pipeline import svm, sweep

# The grid


def run(X, Y, **options):
    grid = {"eta0": [0.1, 1.0], "radius": [3.0, 1.0]}
    return sweep.run(X, Y, **{"loss": "hinge", "norm": "l1inf", "n_iter": 5, "normalisation": "sum"} | grid | options)


def test_a_sweep_contains_the_fit_of_each_pair():
    (X, Y), calls = draw_labels(), []
    options = {"normalisation": "mean", "progress": lambda *call: calls.append(call)}
    swept = run(X, Y, eta0=[1.0, 0.1], radius=[10, 1, 100], **options)
    assert list(zip(swept.radius, swept.eta0, strict=True)) == list(product([10, 1, 100], [1.0, 0.1]))
    problem = Problem.from_matrix(X, Y, normalisation="mean")
    expected = subgradient.fit(problem, loss=hinge, norm=l1inf, n_iter=5, eta0=swept.eta0, radius=swept.radius)
    np.testing.assert_equal([swept.objective, swept.gap], [expected.objective, expected.gap])
    np.testing.assert_array_equal(swept.W, expected.W[radii.choose_eta0(swept.radius, swept.objective)])
    assert calls == [(t, 5) for t in range(6)]
    assert swept.learnt_from.tolist() == [fingerprint(X), fingerprint(Y), "hinge-l1inf"]


@pytest.mark.parametrize(("scale", "radius"), [(1, 10.0), (64, 10.0), (1, 0.0), (0, 10.0)])
def test_a_relative_step_size_is_a_multiple_of_radius_by_length_of_the_gradient(scale, radius):
    # A radius of 0, at which only the intercepts change, and a gradient of 0 count as 1.
    X, Y = draw_labels(n=40, d=8)
    length = scales.scales(Problem.from_matrix(scale * X, Y, intercept=True), loss=hinge, norm=l1inf).gradient
    units = {"relative": [0.3, 3.0], "absolute": np.array([0.3, 3.0]) * (radius or 1) / (length or 1)}
    options = {"radius": [radius], "intercept": True, "n_iter": 20}
    got, expected = (run(scale * X, Y, eta0=eta0, eta0_unit=unit, **options) for unit, eta0 in units.items())
    assert got.eta0.tolist() == [0.3, 3.0]
    np.testing.assert_allclose(got.objective, expected.objective, rtol=1e-12)


def path(X, Y, **options):
    return sweep.path(X, Y, **{"loss": "hinge", "norm": "l1inf", "n_iter": 5000, "normalisation": "sum"} | options)


@pytest.mark.parametrize("train", [run, partial(path, tol=1e-2), partial(svm.run, C=[1.0], seed=0)])
def test_features_in_float16_are_learnt_unscaled_in_float32(train):
    X, Y = draw_labels()
    Y[::3] = 0  # samples of no task
    half = X.astype(np.float16)
    got, expected = train(half, Y), train(half.astype(np.float32), Y)
    np.testing.assert_allclose(got.W, expected.W, rtol=1e-5, strict=True)
    assert got.learnt_from[0] == fingerprint(half) and (got.power == 1).all()


def test_an_intercept_lowers_the_objective_along_a_path():
    X, Y = draw_labels(n=40, d=6)
    fits = [path(X + 1, Y, intercept=intercept, tol=1e-3) for intercept in (True, False)]  # it helps, because X + 1 > 0
    common = max({*fits[0].radius} & {*fits[1].radius})
    with_intercept, without = (fit.objective[fit.radius == common, 1] for fit in fits)
    assert with_intercept < 0.99 * without


def test_powers_are_sweeps_on_scaled_features_with_weights_for_unscaled_features():
    X, Y = draw_labels()
    factors = {0.5: np.linspace(1, 2, X.shape[1]), 0: np.linspace(3, 1, X.shape[1])}
    got = sweep.in_powers(X, factors, lambda X: run(X, Y))
    alone = [run(X * factor, Y) for factor in factors.values()]
    alone = [
        fits._replace(W=fits.W * factor[:, np.newaxis]) for factor, fits in zip(factors.values(), alone, strict=True)
    ]
    for name in ("radius", "eta0", "objective", "gap", "W"):
        np.testing.assert_allclose(getattr(got, name), np.concatenate([getattr(fits, name) for fits in alone]))
    assert got.power.tolist() == np.repeat([0.5, 0.0], len(alone[0].radius)).tolist()
    assert got.learnt_from.tolist() == run(X, Y).learnt_from.tolist()
    np.testing.assert_equal(sweep.in_powers(X, {}, lambda X: run(X, Y)), run(X, Y))


# A path of radii


def test_a_path_reaches_the_same_objectives_as_separate_fits_until_they_are_level():
    (X, Y), seen = draw_labels(n=80, d=12), []
    along = path(X, Y, tol=1e-4, progress=lambda done, of: seen.append(done))
    alone = run(X, Y, solver="pdhg", tol=1e-4, n_iter=5000, radius=along.radius)
    assert seen == list(range(1, len(along.radius) + 1)) and max(*along.gap, *alone.gap) <= 1e-4
    at_zero, objective = along.objective.T
    np.testing.assert_allclose(objective, np.nanmin(alone.objective, axis=1), rtol=3e-4)
    assert (at_zero == np.count_nonzero(Y)).all()
    assert all(l1inf.norm(W) <= radius * (1 + 1e-6) for W, radius in zip(along.W, along.radius, strict=True))
    # The path begins at the unit and ends where larger radii no longer lower the objective.
    unit = scales.scales(Problem.from_matrix(X, Y), loss=LOSSES["hinge"], norm=l1inf).radius
    assert along.radius.tolist() == [radii.radius_at(unit, step) for step in range(len(along.radius))]
    assert objective[-1] >= 0.9999 * objective[-5] and objective[-2] < 0.9999 * objective[-6]


def test_a_path_ends_where_hardly_any_loss_is_left():
    X, Y = np.diag([1.0, 0.5, 0.2, 0.1, 0.05, 0.02]), np.ones((6, 1))
    share = path(X, Y, tol=1e-4).objective[:, 1] / 6
    assert share[-1] <= 1e-3 < share[-2]
    nothing = path(X, 0 * Y)  # no sample belongs to a task
    assert nothing.radius.tolist() == [0.0] and not nothing.W.any()


# Labels that contradict each other, so that every radius is active.
CONTRADICTING = np.kron(np.diag([1.0, 0.1, 0.01]), np.ones((20, 1))), np.tile([[1.0] * 19 + [-1.0]], 3).T
FALLING = {-2: 0.4, -1: 0.4, 0: 0.476, 1: 0.458, 2: 0.458}


@pytest.mark.parametrize(
    ("score", "steps"),
    [  # the path ends two radii beyond the best score
        (lambda step: -abs(step - 1), range(-2, 4)),
        (lambda step: -abs(step + 4), range(-6, 3)),
        (lambda step: -abs(step - 5), range(-2, 8)),
        # If the score falls first, a radius of ten times the unit, which is four steps, is tried.
        (lambda step: (FALLING | {3: 0.6, 4: 0.7, 5: 0.71}).get(step, 0.3), range(-2, 8)),
        (lambda step: (FALLING | {3: 0.376, 4: 0.476, 5: 0.476}).get(step, 0.3), range(-2, 3)),
    ],
)
def test_the_score_decides_where_a_path_ends(score, steps):
    problem = Problem.from_matrix(*CONTRADICTING)
    unit = radii.radius_at(scales.scales(problem, loss=LOSSES["logistic"], norm=l1inf).radius, 0)

    def score_of(W):
        return score(round(radii.PER_DECADE * np.log10(l1inf.norm(W) / unit)))

    got = path(*CONTRADICTING, loss="logistic", score=score_of).radius
    assert got.tolist() == [radii.radius_at(unit, step) for step in steps]


@pytest.mark.parametrize(("norm", "goes_down"), [("l1inf", True), ("l1", True), ("l2", False)])
def test_a_path_with_a_sparse_norm_continues_down_to_few_features(norm, goes_down):
    X, Y = draw_labels(n=30, d=40)
    X = X + np.outer(Y.sum(axis=1), np.linspace(1, 2, 40))  # many features of about the same value
    plain, sparse = (path(X, Y, norm=norm, sparsest=share) for share in (1.0, 0.03))
    more, used = len(sparse.radius) - len(plain.radius), sparse.W != 0
    few = (used.any(axis=2).mean(axis=1) <= 0.03) | (used.sum(axis=1).max(axis=1) <= 1)
    assert (more > 0) == (few[0] and not few[1]) == goes_down
    np.testing.assert_array_equal(sparse.W[more:], plain.W)


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


# Independent linear classifiers


C = [0.01, 0.1, 1.0]
SAMPLES, LABELS = draw_labels(n=60, d=8, m=4)
SAMPLES, LABELS = SAMPLES.astype(np.float32), LABELS.astype(np.int8)


def test_independent_classifiers_agree_with_scikit_learn():
    # Samples that belong to no task are not read.
    seen, spoilt = [], np.where(LABELS.any(axis=1, keepdims=True), SAMPLES, np.nan)
    trained = svm.run(spoilt, LABELS, C=C[::-1], seed=3, progress=lambda *call: seen.append(call))
    assert trained.W.dtype == SAMPLES.dtype and seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    np.testing.assert_equal([trained.radius, trained.eta0, trained.gap], [C, [np.nan] * 3, [np.nan] * 3])
    expected = [
        [np.count_nonzero(LABELS), np.maximum(1 - LABELS * (SAMPLES @ W), 0)[LABELS != 0].sum()] for W in trained.W
    ]
    np.testing.assert_allclose(trained.objective, expected, rtol=1e-6)
    for k, y in enumerate(LABELS.T):
        coefs = [
            LinearSVC(C=c, loss="hinge", fit_intercept=False, max_iter=10_000, random_state=3)
            .fit(SAMPLES[y != 0].astype(float), y[y != 0])
            .coef_[0]
            for c in C
        ]
        np.testing.assert_array_equal(trained.W[:, :, k], np.float32(coefs))


@pytest.mark.parametrize(("max_iter", "expected"), [(1, [4, 4]), (100_000, [0, 0])])
def test_tasks_that_do_not_converge_are_counted_and_no_warning_escapes(max_iter, expected):
    assert svm.run(SAMPLES, LABELS, C=[1.0, 3.0], max_iter=max_iter).unconverged.tolist() == expected
