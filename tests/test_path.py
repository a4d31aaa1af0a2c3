"""Regularisation paths: their points equal single fits, and automatic paths cover the relevant range."""

import numpy as np
import pytest
from common import problem, regression
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jointsparse import JointSparseClassifier, JointSparseRegressor

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
    np.testing.assert_allclose(path.strength[:5], unit * np.geomspace(0.1, 1.0, 5))
    assert path.n_features[0] < path.n_features[-1] == path.coef[-1].any(axis=0).sum()


def test_a_path_ends_where_a_larger_radius_gains_nothing_unless_the_radii_are_listed():
    model, separable = JointSparseClassifier(loss="hinge"), np.where(X[:, 0] > 0, 1, 0)
    path = model.path(np.sign(X), separable, n_points=30)
    assert len(path.strength) < 30 and path.objective[-1] < 1e-3 * len(X)
    beyond = path.strength[-1] * np.array([2.0, 4.0])
    np.testing.assert_array_equal(model.path(np.sign(X), separable, strengths=beyond).strength, beyond)


def test_strengths_may_be_listed_and_intercepts_include_the_means_of_the_targets():
    features, targets = regression()
    path = JointSparseRegressor(tol=1e-8).path(features, targets, strengths=[3.0, 1.0, 3.0])
    assert path.strength.tolist() == [1.0, 3.0]
    fit = JointSparseRegressor(radius=3.0, tol=1e-8).fit(features, targets)
    np.testing.assert_allclose(path.intercept[1], fit.intercept_, atol=1e-3)


def test_points_that_do_not_reach_tol_cause_one_warning():
    with pytest.warns(ConvergenceWarning, match=r"^2 of 2 points of the path are not certified to be within tol=1e-06"):
        JointSparseClassifier(n_iter=1, tol=1e-6).path(X, Y01, strengths=[1.0, 2.0])


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
