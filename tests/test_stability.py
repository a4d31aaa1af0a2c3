"""Stability selection: how halves are drawn, counts on the halves, and the bounds of Shah & Samworth (2013)."""

from dataclasses import replace

import joblib
import numpy as np
import pytest
from common import problem
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    stability_selection,
)
from jointsparse.estimators import StabilitySelection, stability
from jointsparse.learning.losses import LOSSES

X, SIGNS = problem(n=40, d=8)
Y = (SIGNS + 1) // 2
GAPS = np.where(np.random.default_rng(2).random(Y.shape) < 0.2, np.nan, Y)
TARGETS = np.where(np.isnan(GAPS), np.nan, X[:, :3] @ np.ones((3, 3)))
OWN = {"cat": (X[:21], Y[:21, 0]), "dog": (X[21:], Y[21:, 1])}
PEOPLE = np.arange(40) // 3


def halves_of(monkeypatch, *samples, **options):
    """Return the rows of each half, as lists with one array per part of the samples."""
    halves = []

    def record(model, parts, rows, n_features):
        halves.append(rows)
        return np.ones((sum(part.Y.shape[1] for part in parts), 8), dtype=bool), 0.0, False

    with monkeypatch.context() as patch:
        patch.setattr(stability, "_selected", record)
        stability_selection(*samples, n_jobs=1, **options)
    return halves


def example(q=10, p=1000, n_pairs=25, threshold=1.0):
    zeros = np.zeros(p)
    return StabilitySelection(
        frequencies=zeros, task_frequencies=zeros[None], n_selected=q, n_pairs=n_pairs, features=zeros, tasks=zeros[:1]
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


def test_a_limit_is_used_up_as_far_as_a_fine_path_of_penalties_can(monkeypatch):
    estimator, used = JointSparseRegressor(fit_intercept=False, penalty=1.0), []
    y = X[:, :3] @ np.array([[1.0, 2.0], [2.0, 1.0], [0.5, 0.5]]) + np.random.default_rng(0).normal(size=(40, 2))
    got = stability_selection(estimator, X, y, n_pairs=2, n_features=2)
    for (rows,) in halves_of(monkeypatch, estimator, X, y, n_pairs=2):
        zero = abs(X[rows].T @ y[rows]).sum(axis=1).max()  # the smallest penalty for which W = 0 is optimal
        path = estimator.path(X[rows], y[rows], strengths=np.geomspace(0.1, 1, 50) * zero)
        used.append(path.coef[path.n_features <= 2][0].any(axis=0))  # strengths are in increasing order
    np.testing.assert_array_equal(got.frequencies, np.mean(used, axis=0))
    assert got.n_selected == 2


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
        result = stability_selection(estimator, X, y, n_pairs=1, n_features=n_features)
    assert not result.frequencies.any()


@pytest.mark.parametrize(
    ("second", "limit"), [pytest.param(0.96, 1, id="in steps of 3 %"), pytest.param(0.002, 2, id="down to 0.1 %")]
)
def test_a_path_of_penalties_is_fine_and_long(second, limit):
    # On every half, feature 1 enters at the fraction `second` of the penalty at which feature 0 enters.
    samples, targets = np.tile(np.eye(2), (20, 1)), np.tile([1.0, second], 20)
    model, options = JointSparseRegressor(fit_intercept=False, tol=1e-8), {"n_pairs": 2, "n_features": limit}
    got = stability_selection(model, samples, targets, sample_groups=np.arange(40) // 2, **options)
    np.testing.assert_array_equal(got.frequencies, [1, limit - 1])


def test_results_depend_on_the_seed_but_not_on_the_number_of_jobs():
    with joblib.parallel_config("threading"):
        one, two, other = (
            stability_selection(JointSparseClassifier(radius=0.6), X, Y, n_pairs=3, n_jobs=n_jobs, random_state=seed)
            for n_jobs, seed in ((1, 0), (2, 0), (1, 1))
        )
    assert one.frequencies.tolist() == two.frequencies.tolist() != other.frequencies.tolist()


@pytest.mark.parametrize(
    ("samples", "groups"),
    [
        ((X, GAPS), PEOPLE),
        ((X, TARGETS), PEOPLE),
        ((OWN,), [PEOPLE[:21], PEOPLE[21:]]),
        ((OWN,), [PEOPLE[:21], PEOPLE[:19]]),  # the tasks share people
    ],
)
def test_no_group_of_samples_is_in_both_halves(samples, groups, monkeypatch):
    estimator = JointSparseRegressor() if samples[-1] is TARGETS else JointSparseClassifier()
    halves = halves_of(monkeypatch, estimator, *samples, n_pairs=5, sample_groups=groups)
    people = groups if len(samples) == 1 else [groups]
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        seen = [set(np.concatenate([p[i] for p, i in zip(people, rows, strict=True)])) for rows in (first, second)]
        assert not seen[0] & seen[1] and seen[0] | seen[1] == set(np.concatenate(people))
        assert len(seen[0]) - len(seen[1]) in (0, 1)


def test_halves_are_complementary_and_hold_every_label(monkeypatch):
    rare = np.zeros((40, 3))
    rare[[0, 1], 0], rare[[0, 2], 1], rare[3:20, 2] = 1, 1, 1
    rare[:, 1] = 1 - rare[:, 1]  # only two negatives
    halves = halves_of(monkeypatch, JointSparseClassifier(), X, rare, n_pairs=20)
    assert len({tuple(rows) for (rows,) in halves}) == 40  # they are drawn at random
    for (first,), (second,) in zip(halves[::2], halves[1::2], strict=True):
        assert sorted([*first, *second]) == list(range(40)) and len(first) == 20
        assert all(rare[rows].any(axis=0).all() and not rare[rows].all(axis=0).any() for rows in (first, second))
        assert 8 <= rare[first, 2].sum() <= 9  # as equal as can be


@pytest.mark.parametrize(
    ("q", "p", "n_pairs", "threshold", "bound", "unimodal"),
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
def test_a_threshold_is_found_for_a_wanted_bound(q, n_false, threshold):
    result = example(q=q, p=100).within(n_false)
    assert result.threshold == threshold and result.bound <= n_false


def test_features_at_the_threshold_are_selected_and_a_threshold_is_above_one_half():
    result = replace(example(), frequencies=np.arange(51) / 50, features=np.arange(51))
    assert [len(result.at(threshold).selected) for threshold in (0.9, 0.94, 0.941, 1, 0.5 + 1e-12)] == [6, 4, 3, 1, 25]


def test_names_are_those_of_the_data_frames():
    pd = pytest.importorskip("pandas")
    frame, labels = pd.DataFrame(X, columns=[*"abcdefgh"]), pd.DataFrame(Y, columns=["cat", "dog", "sea"])
    result = stability_selection(JointSparseClassifier(radius=0.5), frame, labels, n_pairs=1)
    assert (result.features.tolist(), result.tasks.tolist()) == ([*"abcdefgh"], ["cat", "dog", "sea"])


def test_one_warning_says_how_many_halves_have_large_gaps():
    with pytest.warns(ConvergenceWarning, match="^4 of 4 halves have fits that are not certified") as caught:
        stability_selection(JointSparseClassifier(radius=3.0, n_iter=1, tol=1e-9), X, Y, n_pairs=2)
    assert len(caught) == 1


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
    with pytest.raises(ValueError, match=r"n_false must be at least 1, the bound at a threshold of 1, got 0\.5: "):
        example(q=10, p=100).within(0.5)
