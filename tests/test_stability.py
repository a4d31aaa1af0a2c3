"""Stability selection, with the bounds of Shah & Samworth (2013), and the displays of all results."""

from dataclasses import replace

import joblib
import numpy as np
import pytest
from common import problem, regression
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    PathDisplay,
    StabilityDisplay,
    SupportDisplay,
    stability_selection,
)
from jointsparse.estimators import StabilitySelection, stability
from jointsparse.learning.losses import LOSSES

pd = pytest.importorskip("pandas")
plt = pytest.importorskip("matplotlib.pyplot")
to_rgba = pytest.importorskip("matplotlib.colors").to_rgba

X, SIGNS = problem(n=40, d=8)
Y = (SIGNS + 1) // 2
GAPS = np.where(np.random.default_rng(2).random(Y.shape) < 0.2, np.nan, Y)
TARGETS = np.where(np.isnan(GAPS), np.nan, X[:, :3] @ np.ones((3, 3)))
OWN = {"cat": (X[:21], Y[:21, 0]), "dog": (X[21:], Y[21:, 1])}
PEOPLE = np.arange(40) // 3


def halves_of(monkeypatch, *samples, **options):
    # Return the rows of each half, as lists with one array per part of the samples.
    halves = []

    def record(model, parts, rows, n_features):
        halves.append(rows)
        return np.ones((sum(part.Y.shape[1] for part in parts), 8), dtype=bool), 0.0, False

    monkeypatch.setattr(stability, "_selected", record)
    stability_selection(*samples, n_jobs=1, **options)
    return halves


def example(q=10, p=1000, n_pairs=25, threshold=1.0):
    return StabilitySelection(
        frequencies=np.zeros(p),
        task_frequencies=np.zeros((1, p)),
        n_selected=q,
        n_pairs=n_pairs,
        features=np.arange(p),
        tasks=np.zeros(1),
    ).at(threshold)


@pytest.mark.parametrize(
    ("estimator", "samples"),
    [
        (JointSparseClassifier(radius=0.6), (X, GAPS)),
        (JointSparseClassifier("l12", radius=0.6, groups=[*"aabbccdd"]), (sparse.csr_array(X), Y)),
        (JointSparseClassifier("l1", feature_weights=[1, 2] * 4), (X, SIGNS[:, 0])),
        (JointSparseClassifier(penalty=3.0), (OWN,)),
        (JointSparseRegressor(radius=0.5), (X, TARGETS)),
        (JointSparseRegressor(radius=0.5, solver="subgradient", n_iter=20), (X, X[:, 0])),
    ],
)
def test_frequencies_are_counted_over_separate_fits_of_all_halves(estimator, samples, monkeypatch):
    before, used = vars(estimator).copy(), []
    got = stability_selection(estimator, *samples, n_pairs=2)
    assert vars(estimator) == before
    for rows in halves_of(monkeypatch, estimator, *samples, n_pairs=2):
        if len(samples) == 1:
            fit = estimator.fit_tasks([(x[i], y[i]) for (x, y), i in zip(OWN.values(), rows, strict=True)])
        else:
            fit = estimator.fit(*(array[rows[0]] for array in samples))
        used.append(np.atleast_2d(fit.coef_) != 0)
    assert len(used) == 4 and 0 < np.mean(used) < 1 and got.n_selected == np.any(used, axis=1).sum(axis=1).mean()
    np.testing.assert_array_equal(got.task_frequencies, np.mean(used, axis=0))
    np.testing.assert_array_equal(got.frequencies, np.any(used, axis=1).mean(axis=0))


BOTH_SIGNS = "make sure that the labels include positives and negatives"


@pytest.mark.parametrize(
    ("estimator", "y", "n_features", "said"),
    [
        *((JointSparseClassifier(loss=loss, labels="signed"), -np.ones((40, 2)), 2, BOTH_SIGNS) for loss in LOSSES),
        (JointSparseClassifier("l1", labels="signed"), np.ones((40, 1)), 2, BOTH_SIGNS),
        (JointSparseRegressor(), np.ones(40), 2, "make sure that the targets vary"),
        (JointSparseRegressor(groups=[*"aaaabbbb"]), TARGETS, 3, "more than n_features=3 at once: raise n_features$"),
        (JointSparseRegressor(radius=0.0), TARGETS, None, "raise the radius or lower the penalty"),
        (JointSparseClassifier(radius=None, penalty=1e9), Y, None, "raise the radius or lower the penalty"),
    ],
)
def test_a_warning_says_why_no_feature_is_selected(estimator, y, n_features, said):
    with pytest.warns(UserWarning, match=f"^no feature is selected on any half: .*{said}"):
        stability_selection(estimator, X, y, n_pairs=1, n_features=n_features)


@pytest.mark.parametrize(
    ("second", "limit"), [pytest.param(0.96, 1, id="in steps of 3 %"), pytest.param(0.002, 2, id="down to 0.1 %")]
)
def test_a_path_of_penalties_is_fine_and_long(second, limit):
    # On every half, feature 1 enters at the fraction `second` of the penalty at which feature 0 enters.
    samples, targets = np.tile(np.eye(2), (20, 1)), np.tile([1.0, second], 20)
    model, options = JointSparseRegressor(fit_intercept=False, tol=1e-8), {"n_pairs": 2, "n_features": limit}
    got = stability_selection(model, samples, targets, sample_groups=np.arange(40) // 2, **options)
    assert got.frequencies.tolist() == [1, limit - 1] and got.n_selected == limit


def test_results_depend_on_the_seed_but_not_on_the_number_of_jobs():
    with joblib.parallel_config("threading"):
        one, two, other = (
            stability_selection(JointSparseClassifier(radius=0.6), X, Y, n_pairs=3, n_jobs=n_jobs, random_state=seed)
            for n_jobs, seed in ((1, 0), (2, 0), (1, 1))
        )
    assert one.frequencies.tolist() == two.frequencies.tolist() != other.frequencies.tolist()


@pytest.mark.parametrize(
    ("estimator", "samples", "groups"),
    [
        (JointSparseClassifier(), (X, GAPS), PEOPLE),
        (JointSparseRegressor(), (X, TARGETS), PEOPLE),
        (JointSparseClassifier(), (OWN,), [PEOPLE[:21], PEOPLE[21:]]),
        (JointSparseClassifier(), (OWN,), [PEOPLE[:21], PEOPLE[:19]]),  # the tasks share people
    ],
)
def test_no_group_of_samples_is_in_both_halves(estimator, samples, groups, monkeypatch):
    halves = halves_of(monkeypatch, estimator, *samples, n_pairs=5, sample_groups=groups)
    people = groups if len(samples) == 1 else [groups]
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        seen = [set(np.concatenate([p[i] for p, i in zip(people, rows, strict=True)])) for rows in (first, second)]
        assert not seen[0] & seen[1] and seen[0] | seen[1] == set(np.concatenate(people))
        assert len(seen[0]) - len(seen[1]) in (0, 1)


def test_halves_are_complementary_and_hold_every_label(monkeypatch):
    n = np.arange(40)
    rare = np.stack([n < 2, ~np.isin(n, [0, 2]), (n > 2) & (n < 20)], axis=1).astype(float)  # two of a kind, and 17
    halves = halves_of(monkeypatch, JointSparseClassifier(), X, rare, n_pairs=20)
    assert len({tuple(rows) for (rows,) in halves}) == 40  # they are drawn at random
    for (first,), (second,) in zip(halves[::2], halves[1::2], strict=True):
        assert sorted([*first, *second]) == list(range(40)) and len(first) == 20
        assert all(rare[rows].any(axis=0).all() and not rare[rows].all(axis=0).any() for rows in (first, second))
        assert 8 <= rare[first, 2].sum() <= 9  # as equal as can be


@pytest.mark.parametrize(
    ("q", "p", "n_pairs", "threshold", "bound", "unimodal"),
    # bound: q² / p / (2 t - 1); unimodal: q² / p / 2 / (2 t - 1 - 1 / (2 B)) up to t = 3/4, beyond it
    # 4 q² / p (1 - t + 1 / (2 B)) / (1 + 1 / B), for a threshold t and B pairs
    [
        (10, 1000, 25, 0.9, 0.125, 0.1 * 4 * 0.12 / 1.04),
        (10, 1000, 50, 0.75, 0.2, 0.1 / 2 / 0.49),
        (10, 1000, 25, 0.74, 0.1 / 0.48, 0.1 / 2 / 0.46),
        (10, 1000, 25, 0.79, 0.1 / 0.6, 0.1 * 4 * 0.22 / 1.04),  # rounded up to 0.8
        (10, 1000, 50, 1.0, 0.1, 0.1 * 4 * 0.01 / 1.02),
        (600, 1000, 25, 0.9, 450.0, 450.0),  # the theorem does not hold
        (300, 1000, 50, 0.58, 90 / 0.16, 90 / 2 / 0.15),
        (300, 1000, 50, 0.57, 90 / 0.14, 90 / 0.14),  # nor at this threshold
    ],
)
def test_bounds_are_those_of_shah_and_samworth(q, p, n_pairs, threshold, bound, unimodal):
    result = example(q, p, n_pairs, threshold)
    np.testing.assert_allclose([result.bound, result.unimodal_bound], [bound, unimodal])


@pytest.mark.parametrize(("q", "n_false", "threshold"), [(10, 2.0, 0.76), (10, 1.0, 1.0), (0, 1e-3, 0.52)])
def test_the_smallest_threshold_in_steps_of_a_fiftieth_with_a_wanted_bound_is_found(q, n_false, threshold):
    result = example(q=q, p=100).within(n_false)
    assert result.threshold == threshold and result.bound <= n_false


def test_a_bound_below_that_of_the_largest_threshold_is_refused():
    with pytest.raises(ValueError, match=r"^n_false must be at least 1, the bound at .*, got 0.9: select"):
        example(q=10, p=100).within(0.9)


def test_features_at_the_threshold_are_selected_and_a_threshold_is_above_one_half():
    result = replace(example(), frequencies=np.arange(51) / 50, features=np.arange(51))
    assert [len(result.at(threshold).selected) for threshold in (0.9, 0.94, 0.941, 1, 0.5 + 1e-12)] == [6, 4, 3, 1, 25]


def test_a_warning_says_how_many_halves_have_large_gaps():
    with pytest.warns(ConvergenceWarning, match="^4 of 4 halves have fits that are not certified"):
        stability_selection(JointSparseClassifier(radius=3.0, n_iter=1, tol=1e-9), X, Y, n_pairs=2)


@pytest.mark.parametrize(
    ("estimator", "options", "said"),
    [
        (JointSparseClassifierCV(), {}, "estimator must be .*, got JointSparseClassifierCV"),
        (JointSparseClassifier(), {"n_pairs": 0}, "n_pairs must be"),
        (JointSparseClassifier(), {"n_features": 9}, "n_features must be .* 8, got 9"),
        (JointSparseClassifier(solver="subgradient"), {"n_features": 2}, "needs a solver that stops at tol"),
        (JointSparseClassifier("l2"), {"n_features": 5}, "selects features .* got norm='l2', which uses all 8"),
        *(
            (JointSparseClassifier(), {"threshold": value}, f"threshold must be above 0.5 and at most 1, got {value}")
            for value in (0.5, np.nan, 1.01)
        ),
        (
            JointSparseClassifier(),
            {"random_state": None},
            "random_state must be a whole number of at least 0, got None",
        ),
        (JointSparseClassifier(), {"Y": None}, "Y must be given, unless X is a list or mapping of tasks"),
        (JointSparseClassifier(), {"sample_groups": 3}, r"a group for each sample, 40, got \[\(\)\]"),
        (JointSparseClassifier(), {"sample_groups": [np.nan, *range(39)]}, "sample_groups must have no missing names"),
        (JointSparseClassifier(), {"sample_groups": [None, "a"] * 20}, "sample_groups must have no missing names"),
        (JointSparseClassifier(), {"sample_groups": [1, 2]}, r"a group for each sample, 40, got \[\(2,\)\]"),
        (
            JointSparseClassifier(),
            {"Y": np.eye(40)[:, 0]},
            "positives and negatives of each task, .* samples, or leave out task 0$",
        ),
        (
            JointSparseClassifier(),
            {"sample_groups": Y[:, 0]},
            "positives and negatives .* samples or groups, or leave out task 0$",
        ),
        (JointSparseRegressor(), {"Y": [0.5, *[np.nan] * 39]}, "both halves must hold targets .* leave out task 0$"),
        (
            JointSparseClassifier(),
            {"X": OWN, "Y": None, "sample_groups": [PEOPLE[:21], PEOPLE[:1]]},
            r"each sample of each task, \[21, 19\], got \[\(21,\), \(1,\)\]",
        ),
    ],
)
def test_errors_say_what_was_expected(estimator, options, said):
    with pytest.raises(ValueError, match=said):
        stability_selection(estimator, **{"X": X, "Y": Y, "n_pairs": 1} | options)


# Displays

LABELLED = pd.DataFrame(Y, columns=["cat", "dog", "sea"])


@pytest.mark.parametrize(("options", "first"), [({}, 0.0), ({"penalty": 1.0}, 0.1)])
def test_a_path_is_plotted_in_three_panels_against_the_strength(options, first):
    path = JointSparseClassifier(**options).path(X, LABELLED, strengths=[first, 0.5, 1.0, 2.0])
    display = PathDisplay(path).plot()
    shown = path.strength > 0  # the axis is logarithmic
    values = path.objective, np.maximum(path.gap, np.finfo(float).eps), path.n_features
    for axes, expected in zip(display.axes_, values, strict=True):
        np.testing.assert_allclose(axes.lines[0].get_data(), [path.strength[shown], expected[shown]])
    assert [axes.get_yscale() for axes in display.axes_] == ["linear", "log", "linear"]
    assert display.axes_[2].get_xlabel() == ("penalty" if options else "radius")


def test_a_support_is_sorted_by_shared_features():
    W = np.array([[0.0, 1, 0, 0, 2], [0, 0, 3, 1, 0], [0, 1, 0, 0, -4]])
    display = SupportDisplay(W, ["a", "b", "c"], list("vwxyz")).plot()
    assert display.features == ["z", "w", "x", "y"]  # two tasks use z and w, z has larger weights; no task uses v
    np.testing.assert_array_equal(display.shown, [[2, 1, 0, 0], [-4, 1, 0, 0], [0, 0, 3, 1]])
    assert display.tasks == [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "c", "b"]
    assert np.isnan(display.ax_.images[0].get_array().filled(np.nan)).sum() == 6
    W = np.array([[1.0, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 0, 1, 1, 0], [1, 1, 1, 0, 0]])
    assert SupportDisplay(W, [*"abcd"], [*"vwxyz"]).plot().tasks == ["d", "c", "b", "a"]  # c and b use y


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (
            lambda: PathDisplay(JointSparseRegressor().path(*regression(), n_points=3)).plot(ax=plt.figure().gca()),
            r"^ax must hold 3 Axes, got 1",
        ),
        (
            lambda: PathDisplay.from_estimator(JointSparseClassifierCV(), X, LABELLED),
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
    model = JointSparseClassifier().fit(pd.DataFrame(X, columns=[*"abcdefgh"]), LABELLED)
    display = SupportDisplay.from_estimator(model)
    named = pd.DataFrame(model.coef_, [*LABELLED], [*"abcdefgh"])
    np.testing.assert_array_equal(display.shown, named.loc[display.tasks, display.features])


def test_a_plot_says_that_no_feature_is_used():
    assert SupportDisplay(np.zeros((2, 5)), "ab", range(5)).plot().ax_.texts[0].get_text() == "no feature is used"


def test_frequencies_are_sorted_beside_the_threshold_and_the_bound():
    axes, options = plt.figure().gca(), {"n_pairs": 3, "n_features": 4, "threshold": 0.7}
    display = StabilityDisplay.from_estimator(JointSparseClassifier(), X, LABELLED, ax=axes, **options)
    frequencies = display.stability.frequencies
    order = np.argsort(-frequencies, kind="stable")[: np.count_nonzero(frequencies)]
    assert [bar.get_height() for bar in axes.patches] == frequencies[order].tolist()
    # The threshold is rounded up to sixths, as three pairs have six halves, and the bound is 4² / 8 / (2 * 5 / 6 - 1).
    selected, threshold = [bar.get_facecolor() == to_rgba("C0") for bar in axes.patches], 5 / 6
    assert selected == (frequencies[order] >= threshold).tolist() and threshold in frequencies
    assert [label.get_text() for label in axes.get_xticklabels()] == [str(name) for name in order]
    assert set(axes.lines[-1].get_ydata()) == {threshold} and "expected false selections ≤ 3" in axes.get_title()
    assert display.ax_ is axes and display.stability.tasks.tolist() == ["cat", "dog", "sea"]
