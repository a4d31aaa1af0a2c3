"""Regularisation paths: their points equal single fits, and automatic paths cover the relevant range."""

import numpy as np
import pytest
from common import problem, regression
from sklearn.base import clone

from jointsparse import JointSparseClassifier, JointSparseRegressor
from jointsparse.learning import radii

X, Y = problem(n=60, d=8)
Y01 = (Y + 1) // 2


@pytest.mark.parametrize("options", [{}, {"radius": None, "penalty": 1.0}, {"loss": "hinge", "norm": "l1"}])
def test_points_equal_fits_from_scratch_within_the_gap(options):
    model = JointSparseClassifier(tol=1e-4, **options)
    path = model.path(X, Y01, n_points=4)
    assert (np.diff(path.strength) > 0).all() and path.penalised == ("penalty" in options)
    assert path.coef.shape == (len(path.strength), 3, 8) and path.intercept.shape == path.coef.shape[:2]
    assert not hasattr(model, "coef_") and path.gap.max() <= 1e-4
    for strength, objective in zip(path.strength, path.objective, strict=True):
        fit = clone(model).set_params(**{"penalty" if path.penalised else "radius": strength}).fit(X, Y01)
        assert np.nanmin(fit.objective_) == pytest.approx(objective, rel=2e-4)


def test_radii_span_two_decades_about_the_natural_unit():
    unit, path = JointSparseClassifier().fit(X, Y01).radius_, JointSparseClassifier().path(X, Y01, n_points=9)
    n = len(path.strength)  # a path may end before the largest radius
    np.testing.assert_allclose(path.strength, unit * np.geomspace(0.1, 10.0, 9)[:n])
    assert n >= 5 and path.n_features[0] < path.n_features[-1] == path.coef[-1].any(axis=0).sum()


def test_a_path_ends_where_a_larger_radius_gains_nothing_unless_the_radii_are_listed():
    model, separable = JointSparseClassifier(loss="hinge"), np.where(X[:, 0] > 0, 1, 0)
    path = model.path(np.sign(X), separable, n_points=30)
    nothing_left = radii.NOTHING_LEFT * len(X)  # the objective at W = 0 is at most the number of samples
    assert len(path.strength) < 30 and path.objective[-1] < nothing_left <= path.objective[-2]
    beyond = path.strength[-1] * np.array([2.0, 4.0])
    np.testing.assert_array_equal(model.path(np.sign(X), separable, strengths=beyond).strength, beyond)


def test_strengths_may_be_listed_and_intercepts_include_the_means_of_the_targets():
    features, targets = regression()
    path = JointSparseRegressor(tol=1e-8).path(features, targets, strengths=[3.0, 1.0, 3.0])
    assert path.strength.tolist() == [1.0, 3.0]
    fit = JointSparseRegressor(radius=3.0, tol=1e-8).fit(features, targets)
    np.testing.assert_allclose(path.intercept[1], fit.intercept_, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "given", "said"),
    [
        ({"solver": "subgradient"}, {}, "^path needs a solver that stops at tol, got solver='subgradient'"),
        ({}, {"n_points": 0}, "^n_points must be a whole number of at least 1, got 0"),
        ({}, {"strengths": []}, "^strengths must hold at least one number, got none"),
        ({}, {"strengths": [-1.0]}, r"^each of strengths must be at least 0, got -1\.0"),
    ],
)
def test_invalid_paths_raise(options, given, said):
    with pytest.raises(ValueError, match=said):
        JointSparseClassifier(**options).path(X, Y01, **given)


# The choice of radii and step sizes, and where paths of radii end


@pytest.mark.parametrize(
    ("smallest", "expected"),
    [
        pytest.param([5.0, 4.0, 6.0, 3.0, 2.0, 1.0], [5, 1], id="the smallest, by increasing radius"),
        pytest.param([5.0, 4.0, 4.0, 7.0, 7.0, 7.0], [3, 1], id="the first of equally good pairs"),
        pytest.param([5.0, 4.0 + 1e-6, 4.0, 7.0, 7.0 - 1e-7, 7.0], [3, 1], id="equal but for rounding"),
    ],
)
def test_eta0_is_chosen_by_the_smallest_objective_of_each_radius(smallest, expected):
    objective = np.column_stack([np.full(6, 99.0), smallest, np.full(6, 98.0)])
    assert radii.choose_eta0(np.repeat([10.0, 1.0], 3), objective).tolist() == expected


@pytest.mark.parametrize(
    ("scores", "options", "chosen"),
    [
        ([0.5, 0.7, 0.6], {}, 1),
        ([0.5, 0.7, 0.7], {}, 1),
        ([0.5, 0.7, 0.70005], {}, 1),
        ([0.5, 0.7, 0.69995], {}, 1),
        ([0.5, 0.7, 0.7002], {}, 2),
        # The standard error of the last is 0.1
        ([[0.59, 0.59], [0.62, 0.62], [0.6, 0.8]], {}, 2),
        ([[0.59, 0.59], [0.62, 0.62], [0.6, 0.8]], {"selection": "one_standard_error"}, 1),
        ([[0.8, 0.8], [0.80005, 0.80005]], {"selection": "one_standard_error"}, 0),  # a tie
    ],
)
def test_the_first_radius_within_1e_4_or_a_standard_error_of_the_best_score_is_chosen(scores, options, chosen):
    assert radii.choose_radius(np.array(scores), **options) == chosen


@pytest.mark.parametrize(
    ("scores", "options", "expected"),
    [
        pytest.param([0.5, 0.6, 0.7, 0.7], {}, 4, id="a tie"),
        pytest.param([0.5, 0.6, 0.7, 0.7, 0.7], {}, None, id="two ties end the path"),
        pytest.param([0.5, 0.6, 0.7, 0.704, 0.708], {"slack": 0.01}, None, id="two steps gain less than the slack"),
        pytest.param([0.5, 0.6, 0.7, 0.706, 0.712], {"slack": 0.01}, 5, id="two steps together gain more"),
        pytest.param([0.5, 0.4, 0.4], {"least": 4}, 3, id="at least up to a given step"),
        pytest.param([0.5, 0.4, 0.4, 0.4, 0.7], {"least": 4}, 5, id="a better radius at the given step"),
        pytest.param([0.5, 0.6], {"ended": True}, None, id="larger radii change nothing"),
        pytest.param([*np.linspace(0, 1, radii.MOST_RADII + 1)], {}, None, id="ten decades"),
        pytest.param({-t: 0.5 + t / 99 for t in range(41)}, {"downwards": True}, 1, id="ten decades downwards"),
        pytest.param({0: 0.5, -1: 0.4}, {"downwards": True}, -2, id="downwards first"),
        pytest.param({0: 0.5, -1: 0.6, -2: 0.5}, {"downwards": True}, -3, id="a better radius downwards"),
        pytest.param({0: 0.5, -1: 0.6, -2: 0.5, -3: 0.6}, {"downwards": True}, 1, id="upwards after two ties"),
        pytest.param({0: 0.5, -1: 0.9, -2: 0.5, -3: 0.5, 1: 0.6}, {"downwards": True}, 2, id="upwards from step 0"),
    ],
)
def test_radii_are_tried_while_they_are_better(scores, options, expected):
    scored = scores if isinstance(scores, dict) else dict(enumerate(scores))
    assert radii.next_step(scored, **{"downwards": False} | options) == expected


def test_a_level_path_has_gained_little_over_a_decade():
    objectives = [2.0, 1.0, 0.995, 0.994, 0.993, 0.9905]
    assert radii.is_level(objectives, tol=0.01) and not radii.is_level(objectives, tol=0.009)
    assert not radii.is_level(objectives[1:5], tol=0.01)
