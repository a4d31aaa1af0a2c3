"""Displays: what they draw, and on which axes."""

import numpy as np
import pytest
from common import problem, regression

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    PathDisplay,
    StabilityDisplay,
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


@pytest.mark.parametrize(("options", "first"), [({}, 0.0), ({"penalty": 1.0}, 0.1)])
def test_a_path_is_plotted_in_three_panels_against_the_strength(options, first):
    path = JointSparseClassifier(**options).path(X, Y, strengths=[first, 0.5, 1.0, 2.0])
    display = PathDisplay(path).plot()
    shown = path.strength > 0  # the axis is logarithmic
    values = path.objective, np.maximum(path.gap, np.finfo(float).eps), path.n_features
    for axes, expected in zip(display.axes_, values, strict=True):
        np.testing.assert_allclose(axes.lines[0].get_data(), [path.strength[shown], expected[shown]])
    assert [axes.get_yscale() for axes in display.axes_] == ["linear", "log", "linear"]
    labels = display.axes_[2].get_xlabel(), display.axes_[2].get_ylabel()
    assert labels == ("penalty" if options else "radius", "features used (of 8)")


def test_axes_that_are_passed_are_used():
    figure, axes = plt.subplots(1, 3)
    assert PathDisplay.from_estimator(JointSparseRegressor(), *regression(), n_points=3, ax=axes).figure_ is figure


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
    display = SupportDisplay.from_estimator(JointSparseClassifier().fit(frame, Y))
    assert sorted(display.tasks) == ["cat", "dog", "sea"] and set(display.features) <= set(frame)


def test_plots_of_no_features_and_of_many_features():
    assert SupportDisplay(np.zeros((2, 5)), "ab", range(5)).plot().ax_.texts[0].get_text() == "no feature is used"
    many = SupportDisplay(np.ones((50, 60)), range(50), range(60)).plot()
    assert not many.ax_.get_xticklabels() and many.ax_.get_xlabel() == "features used (60)"


def test_frequencies_are_sorted_beside_the_threshold_and_the_bound():
    options = {"n_pairs": 2, "n_features": 2, "threshold": 0.7}
    display = StabilityDisplay.from_estimator(JointSparseClassifier(), X, Y, ax=plt.figure().gca(), **options)
    axes, frequencies = display.ax_, display.stability.frequencies
    order = np.argsort(-frequencies, kind="stable")[: np.count_nonzero(frequencies)]
    assert [bar.get_height() for bar in axes.patches] == frequencies[order].tolist()
    assert [label.get_text() for label in axes.get_xticklabels()] == [str(name) for name in order]
    assert set(axes.lines[-1].get_ydata()) == {0.75} and "expected false selections ≤ 1" in axes.get_title()
