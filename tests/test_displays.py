"""Displays: what they draw, and on which axes."""

import numpy as np
import pytest
from common import problem, regression

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    PathDisplay,
    SupportDisplay,
)

pd = pytest.importorskip("pandas")
plt = pytest.importorskip("matplotlib.pyplot")

X, SIGNS = problem(n=60, d=8)
Y = pd.DataFrame((SIGNS + 1) // 2, columns=["cat", "dog", "sea"])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("options", [{}, {"penalty": 1.0}])
def test_a_path_is_plotted_in_three_panels_against_the_strength(options):
    display = PathDisplay.from_estimator(JointSparseClassifier(**options), X, Y, n_points=4)
    path = display.path
    values = path.objective, np.maximum(path.gap, np.finfo(float).eps), path.n_features
    for axes, expected in zip(display.axes_, values, strict=True):
        np.testing.assert_allclose(axes.lines[0].get_data(), [path.strength, expected])
        assert axes.get_xscale() == "log"
    assert display.axes_[2].get_xlabel() == ("penalty" if options else "radius")
    assert display.axes_[2].get_ylabel() == "features used (of 8)"


def test_a_radius_of_zero_is_left_out_of_the_logarithmic_axis():
    display = PathDisplay(JointSparseClassifier().path(X, Y, strengths=[0.0, 1.0, 2.0])).plot()
    assert display.axes_[0].lines[0].get_xdata().tolist() == [1.0, 2.0]


def test_axes_that_are_passed_are_used():
    figure, axes = plt.subplots(1, 3)
    assert PathDisplay(JointSparseRegressor().path(*regression(), n_points=3)).plot(ax=axes).figure_ is figure


def test_a_support_is_sorted_by_shared_features():
    display = SupportDisplay(
        np.array([[0.0, 1, 0, 0, 2], [0, 0, 3, 0, 0], [0, 1, 0, 0, -4]]), ["a", "b", "c"], list("vwxyz")
    ).plot()
    assert display.features == ["z", "w", "x"]  # two tasks use z and w, z has larger weights; no task uses v or y
    assert display.tasks == ["a", "c", "b"]
    np.testing.assert_array_equal(display.shown, [[2, 1, 0], [-4, 1, 0], [0, 0, 3]])
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "c", "b"]
    assert np.isnan(display.ax_.images[0].get_array().filled(np.nan)).sum() == 4


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (
            lambda: PathDisplay(JointSparseRegressor().path(*regression(), n_points=3)).plot(ax=plt.figure().gca()),
            r"^ax must hold 3 Axes, got 1",
        ),
        (
            lambda: PathDisplay.from_estimator(JointSparseClassifierCV(), X, Y),
            r"^estimator must be .* or JointSparseRegressor, got JointSparseClassifierCV",
        ),
        (
            lambda: SupportDisplay.from_estimator(JointSparseClassifier()),
            "^This JointSparseClassifier .* not fitted yet",
        ),
    ],
)
def test_axes_and_estimators_that_do_not_fit_are_named(draw, said):
    with pytest.raises(ValueError, match=said):
        draw()


def test_names_come_from_the_estimator():
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)])
    display = SupportDisplay.from_estimator(JointSparseClassifierCV(radii=[1.0]).fit(frame, Y))
    assert sorted(display.tasks) == ["cat", "dog", "sea"] and set(display.features) <= set(frame)


def test_plots_of_no_features_and_of_many_features():
    assert SupportDisplay(np.zeros((2, 5)), "ab", range(5)).plot().ax_.texts[0].get_text() == "no feature is used"
    many = SupportDisplay(np.ones((50, 60)), range(50), range(60)).plot()
    assert not many.ax_.get_xticklabels() and many.ax_.get_xlabel() == "features used (60)"
