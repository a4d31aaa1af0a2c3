"""Choosing a radius or penalty: automatic radii, folds, scorers and selection rules."""

import re
from itertools import chain, count, repeat
from types import SimpleNamespace

import numpy as np
import pytest
from common import masked, problem, regression
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import average_precision_score, f1_score, log_loss, mean_absolute_error, roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, KFold, StratifiedKFold

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor, JointSparseRegressorCV
from jointsparse.estimators.search import FOLD_TOL, choose, standard_errors, strata
from jointsparse.learning import scales
from jointsparse.learning.losses import logistic
from jointsparse.learning.problem import Problem
from jointsparse.learning.radii import PER_DECADE, radius_at
from jointsparse.metrics import auc, resample, resampled
from jointsparse.norms import NORMS, l1inf


def tasks(n, d, m, *, share=0.1, noise=1.0, density=1.0, seed=0):
    """Draw features, and labels 0 and 1 of tasks that share five features. share: fraction of positives in a task."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    W = np.zeros((d, m))
    W[:5] = rng.normal(size=(5, m))
    F = X @ W + noise * rng.normal(size=(n, m))
    return X, (np.quantile(F, 1 - share, axis=0) < F).astype(int)


X, Y = tasks(200, 20, 3)
SPARSE = tasks(300, 200, 5, density=0.1, share=0.3)

# Grids


@pytest.mark.parametrize(
    ("X", "Y", "options"),
    [
        (*tasks(200, 40, 10, share=0.2), {"loss": "hinge"}),
        (sparse.csr_matrix(SPARSE[0]), SPARSE[1], {}),
        (X, masked(2 * Y - 1), {"labels": "masked"}),
    ],
    ids=["many tasks", "sparse", "masked"],
)
def test_the_best_automatic_radius_is_inside_the_grid(X, Y, options):
    model = JointSparseClassifierCV(cv=2, **options).fit(X, Y)
    assert model.grid_[0] < model.radius_ < model.grid_[-1] and model.best_score_ > 0.6
    np.testing.assert_allclose(np.diff(np.log10(model.grid_)), 0.25, atol=0.01)


@pytest.mark.parametrize(("far", "expected"), [(0.7, range(-2, 5)), (0.46, range(-2, 3))])
def test_if_scores_fall_early_a_ball_ten_times_larger_is_tried(far, expected):
    X, y = np.tile([[0.1], [-0.1]], (20, 1)), np.tile([1, 0], 20)
    unit = scales.scales(
        Problem.from_matrix(X[:20], 2 * y[:20, np.newaxis] - 1, intercept=True), loss=logistic, norm=l1inf
    ).radius
    curve = {-2: 0.3, -1: 0.3, 0: 0.476, 1: 0.458, 2: 0.458, 3: far - 0.1, 4: far}  # at step 4 the loss vanishes

    def scorer(model, X, y):
        radius = 10 * np.abs(model.decision_function(X)).max()  # labels are separable, so W is on the boundary
        return curve.get(round(PER_DECADE * np.log10(radius / unit)), 0.3)

    model = JointSparseClassifierCV(cv=2, scoring=scorer, normalisation="mean").fit(X, y)
    assert model.grid_.tolist() == [radius_at(unit, step) for step in expected]


def test_a_number_of_radii_or_penalties_spans_their_range():
    natural = JointSparseClassifier().fit(X, Y).radius_
    np.testing.assert_allclose(JointSparseClassifierCV(radii=3, cv=2).fit(X, Y).grid_, natural * np.array([0.1, 1, 10]))
    model = JointSparseClassifierCV(penalties=4, cv=2).fit(X, Y)
    np.testing.assert_allclose(model.grid_ / model.grid_[-1], [1e-3, 1e-2, 0.1, 1.0])
    assert model.penalty_ in model.grid_[:-1] and model.radius_ is None
    assert model.scores_[-1].max() == 0.5, "the largest penalty gives the zero model"


def test_a_search_keeps_listed_radii_that_change_nothing():
    assert JointSparseClassifierCV(radii=[3.0, 1e5, 1e6], cv=2).fit(X, Y).grid_.tolist() == [3.0, 1e5, 1e6]


def test_folds_stop_at_a_tol_above_their_own():
    model = JointSparseClassifierCV(radii=[3.0], cv=2, tol=0.5).fit(X, Y)
    assert model.results_by_norm_["l1inf"]["gaps"].max() > FOLD_TOL


def test_results_do_not_depend_on_n_jobs():
    one, two = (JointSparseRegressorCV(radii=2, cv=2, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    np.testing.assert_equal([one.results_by_norm_, one.coef_], [two.results_by_norm_, two.coef_])


# Scorers


ABC = np.array([*"abc"])
BY_CLASS = ABC[np.digitize(X[:, 0], [-0.5, 0.5])]
SCORED = {  # labels, options, and the score of decision values on the held-out samples
    "AUC of some tasks": (Y, {"validation_tasks": [0, 2]}, lambda y, F: auc(F, y == 1)[[0, 2]].mean()),
    "AUC of known labels": (
        np.where(masked(2 * Y - 1) == 0, np.nan, Y),
        {},
        lambda y, F: auc(F, np.nan_to_num(y, nan=-1)).mean(),
    ),
    "probabilities": (
        Y,
        {"scoring": "neg_log_loss"},
        lambda y, F: -np.mean([log_loss(y[:, k], expit(F[:, k])) for k in range(3)]),
    ),
    "each task": (Y, {"scoring": "average_precision"}, lambda y, F: average_precision_score(y, F, average="macro")),
    "all classes": (BY_CLASS, {"scoring": "accuracy"}, lambda y, F: np.mean(y == ABC[F.argmax(axis=1)])),
    "some classes": (
        BY_CLASS,
        {"scoring": "accuracy", "validation_tasks": [1, 2]},
        lambda y, F: np.mean(((F[:, 2] > F[:, 1]) == (y == "c"))[y != "a"]),
    ),
    "a class against the rest": (
        BY_CLASS,
        {"scoring": "accuracy", "validation_tasks": [0]},
        lambda y, F: np.mean((F[:, 0] > 0) == (y == "a")),
    ),
    "two classes by their names": (
        np.where(Y[:, 0] > 0, "yes", "no"),
        {
            "scoring": lambda model, X, y: (
                f1_score(y, model.predict(X), pos_label=model.classes_[0]) * (X.shape[1] == 20)
            )
        },
        lambda y, F: f1_score(y, np.where(F > 0, "yes", "no"), pos_label="no"),
    ),
}


@pytest.mark.parametrize(("y", "options", "expected"), SCORED.values(), ids=SCORED)
def test_scorers_see_the_held_out_samples_of_each_task_or_of_all_classes(y, options, expected):
    train, test = next(KFold(2, shuffle=True, random_state=1).split(X))
    model = JointSparseClassifierCV(radii=[3.0], cv=[(train, test)], **options).fit(X, y)
    F = JointSparseClassifier(radius=3.0, tol=FOLD_TOL).fit(X[train], y[train]).decision_function(X[test])
    assert model.scores_[0, 0] == pytest.approx(expected(y[test], F), abs=1e-12)


@pytest.mark.parametrize(
    ("search", "single", "score"),
    [
        (
            JointSparseClassifierCV,
            JointSparseClassifier,
            lambda fit, X, y, c: roc_auc_score(y, fit.decision_function(X), sample_weight=c),
        ),
        (JointSparseRegressorCV, JointSparseRegressor, JointSparseRegressor.score),
    ],
)
def test_scores_are_those_of_weighted_samples(search, single, score):
    y, c = Y[:, 0], np.arange(1, 201) ** 2
    model = search(radii=[0.3], cv=[(np.arange(100), np.arange(100, 200))]).fit(X, y, c)
    fit = single(radius=0.3, tol=FOLD_TOL).fit(X[:100], y[:100], c[:100])
    assert model.scores_[0, 0] == pytest.approx(score(fit, X[100:], y[100:], c[100:]), abs=1e-12)


def test_targets_are_scored_separately_without_missing_values():
    X, T = regression()
    T[:5, 1] = np.nan
    held_out = {"X_val": sparse.csr_array(X[:25]), "y_val": T[:25]}  # in another form than the samples
    model = JointSparseRegressorCV(radii=[0.1, 3.0], scoring="neg_mean_absolute_error").fit(X[25:], T[25:], **held_out)
    predicted = JointSparseRegressor(radius=3.0, tol=FOLD_TOL).fit(X[25:], T[25:]).predict(X[:25])
    errors = [mean_absolute_error(t[~np.isnan(t)], f[~np.isnan(t)]) for t, f in zip(T[:25].T, predicted.T, strict=True)]
    # Both fits stop at the same gap, from other starts. Pooled targets would differ by 2 %.
    assert model.scores_[1, 0] == pytest.approx(-np.mean(errors), rel=1e-3)


@pytest.mark.filterwarnings("ignore:the chosen radius has a score:UserWarning")
def test_tasks_and_folds_without_both_labels_do_not_count():
    (X, signs), options = problem(), {"labels": "signed", "radii": [1.0, 3.0]}
    one_sided = np.where([False, True, False], 1, signs)
    with pytest.warns(UserWarning, match=r"^1 of 3 tasks have no positives or .* of the 3 folds .*: label 1$"):
        some = JointSparseClassifierCV(cv=3, **options).fit(X, one_sided)
    others = JointSparseClassifierCV(cv=3, validation_tasks=[0, 2], **options).fit(X, one_sided)
    np.testing.assert_array_equal(some.scores_, others.scores_)
    halves, y = (np.arange(20), np.arange(20, 40)), np.where(np.arange(40) < 20, signs[:, 0], 1)
    model = JointSparseClassifierCV(cv=[halves[::-1], halves], **options).fit(X, y)
    assert np.isnan(model.scores_).tolist() == [[False, True]] * 2 and model.best_score_ == model.scores_[:, 0].max()


# Selection rules


BEST = [[0.5, 0.5], [0.7, 0.9]], [[0, 0], [20, 20]]  # scores and features; the standard error is 0.1
WITHIN = [[0.74, 0.74], [0.5, 0.5]], [[4, 6], [9, 9]]
BELOW = [[0.69, 0.69], [0.5, 0.5]], [[1, 1], [9, 9]]
ONE = "one_standard_error"
TABLE, FLAT = [[0.70, 0.60], [0.79, 0.73], [0.80, 0.74], [0.78, 0.72]], [[0.5, 0.5], [0.75, 0.8], [0.7, 0.9]]
# One norm, whose numbers of features do not matter: selection, scores, and the index of the best radius.
OF_ONE_NORM = {
    "the best mean": ("best", TABLE, 2),
    "within a standard error": (ONE, TABLE, 1),
    "one split has no standard error": (ONE, [row[:1] for row in TABLE], 2),
    **{
        f"means 0.775 and 0.8, standard error 0.1, {rule}": (rule, FLAT, place)
        for rule, place in ((None, 2), ("best", 2), (ONE, 1))
    },
    "0.78 is within 0.088 of 0.867": (ONE, [[0.5] * 3, [0.64, 0.8, 0.9], [0.7, 0.9, 1.0]], 1),
    "0.75 is not within 0.088 of 0.867": (ONE, [[0.5] * 3, [0.6, 0.75, 0.9], [0.7, 0.9, 1.0]], 2),
    "the smallest of equally good radii": ("best", [[0.0], [1.0 - 1e-9], [1.0], [0.5]], 1),
    "a bad radius does not make ties of the others": ("best", [[0.0], [0.5], [0.9], [-1e6]], 2),
    "a fold without scores": ("best", [[0.0, np.nan], [0.5, np.nan], [0.9, np.nan]], 2),
}
THREE = {"a": BEST, "b": WITHIN, "c": BELOW}
CHOICES = {
    **{name: (rule, False, {"a": (scores, scores)}, ("a", i)) for name, (rule, scores, i) in OF_ONE_NORM.items()},
    "the largest of equally good penalties": (None, True, {"a": ([[0.8], [0.8], [0.5]], [[9], [5], [0]])}, ("a", 1)),
    **{
        f"the norm with the fewest features within a standard error, {rule}": (rule, False, THREE, ("b", 0))
        for rule in (None, ONE)
    },
    "the norm with the best score": ("best", False, THREE, ("a", 1)),
    "a norm with few features and too low a score": (None, False, {"a": BEST, "c": BELOW}, ("a", 1)),
    "equally many features": (None, False, {"b": (WITHIN[0], [[20, 20], [9, 9]]), "a": BEST}, ("a", 1)),
    "equal scores": ("best", False, {"a": BEST, "b": (BEST[0], [[0, 0], [19, 20]])}, ("b", 1)),
    "a norm of one fold": (None, False, {"a": ([[0.5, np.nan], [0.75, np.nan]], BEST[1]), "b": WITHIN}, ("a", 1)),
}


@pytest.mark.parametrize(("selection", "penalised", "norms", "expected"), CHOICES.values(), ids=CHOICES)
def test_the_norm_and_the_radius_are_chosen_by_their_scores_and_features(selection, penalised, norms, expected):
    results = {
        name: {
            "scores": np.array(scores),
            "features": np.array(features),
            "errors": standard_errors(np.array(scores), np.full(len(scores), np.nan)),
        }
        for name, (scores, features) in norms.items()
    }
    assert choose(results, penalised, selection) == expected


def made_up(monkeypatch, scores):
    scores = iter(scores)
    monkeypatch.setattr(JointSparseClassifierCV, "_score_of", lambda *_: next(scores))
    monkeypatch.setattr(JointSparseClassifierCV, "_error_of", lambda *_: 0.0)


@pytest.mark.parametrize(("scoring", "unit"), [(None, 1.0), ("roc_auc", 1e-7), ("roc_auc", 1e5)])
def test_scores_tie_within_a_ten_thousandth_of_their_unit(scoring, unit, monkeypatch):
    made_up(monkeypatch, unit * np.array([0.7998, 0.8, 0.80005, 0.7, 0.4]))
    model = JointSparseClassifierCV(radii=[0.1, 0.2, 0.3, 0.4, 0.5], scoring=scoring)
    model.fit(X[:100], Y[:100], X_val=X[100:], y_val=Y[100:])
    assert (model.radius_, model.best_score_) == (0.2, pytest.approx(0.8 * unit, rel=1e-12))


# A single split

HARD = tasks(300, 12, 4, share=0.4, noise=3.0)
SPLIT = np.arange(200), np.arange(200, 300)


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_the_standard_error_of_a_single_split_is_that_of_resampled_held_out_samples(scoring):
    X, Y = HARD
    model = JointSparseClassifierCV(cv=[SPLIT], scoring=scoring, radii=[3.0]).fit(X, Y)
    fit = JointSparseClassifier(radius=3.0, tol=FOLD_TOL).fit(X[:200], Y[:200])
    counts = resample(100, 2000, np.random.default_rng(1))
    expected = resampled(fit.decision_function(X[200:]), Y[200:], counts)[0].mean(axis=1).std()
    assert 0.6 * expected < model.results_by_norm_["l1inf"]["errors"] < 1.5 * expected  # 25 resamples: about 14 %


def test_the_standard_error_of_a_single_split_is_that_of_as_many_groups():
    groups = np.append(SPLIT[0], np.repeat(SPLIT[1], 5))
    names, splitter = np.char.add("person ", groups.astype(str)), GroupShuffleSplit(1, random_state=0)
    folds = [(SPLIT[0], np.arange(200, 700))], splitter, list(splitter.split(names, groups=names))
    X, Y, radii = HARD[0][groups], HARD[1][groups], [0.3, 3.0]
    searches = [JointSparseClassifierCV(cv=cv, radii=radii).fit(X, Y, groups=names) for cv in folds]
    searches.append(JointSparseClassifierCV(cv=[SPLIT], radii=radii).fit(*HARD))
    repeated, by_splitter, by_list, single = (each.results_by_norm_["l1inf"]["errors"] for each in searches)
    np.testing.assert_allclose([repeated, by_splitter], [single, by_list])


@pytest.mark.parametrize(
    "curve", [chain([0.7, 0.8, 0.9, 0.8, 0.7], repeat(0.5)), repeat(0.9)], ids=["peak", "equal scores"]
)
def test_the_path_of_a_single_split_ends_early_below_and_above_the_best_radius(curve, monkeypatch):
    made_up(monkeypatch, curve)  # at steps -4 to 0, and at ten times the unit
    assert len(JointSparseClassifierCV(cv=[SPLIT]).fit(*HARD).grid_) == 5


# norm="auto"


RNG = np.random.default_rng(0)
FEW, FACTOR = RNG.normal(size=(30, 60)), RNG.normal(size=60)
# Targets of eight tasks depend on the same three features with equal magnitudes.
SHARED = FEW, FEW[:, :3] @ RNG.choice([-1, 1], size=(3, 8)) + RNG.normal(size=(30, 8))


@pytest.mark.parametrize(
    ("data", "options", "norms"),
    [
        (SHARED, {"radii": 3, "cv": 3}, ("l1inf", "l12")),
        ((FACTOR[:, np.newaxis] + 4 * RNG.normal(size=(60, 100)), FACTOR), {"cv": 3}, ("l2",)),  # automatic radii
        (SHARED, {"radii": 3, "cv": [(np.arange(20), np.arange(20, 30))]}, ("l1inf", "l12")),
    ],
)
def test_auto_takes_the_norm_that_fits_and_gives_the_results_of_a_search_and_of_a_fit_with_it(data, options, norms):
    model = JointSparseRegressorCV("auto", **options).fit(*data)
    assert model.norm_ in norms and list(model.results_by_norm_) == list(NORMS)
    assert model.results_by_norm_[model.norm_]["features"].shape == model.scores_.shape
    means = model.scores_.mean(axis=1)
    assert model.best_score_ == means.max() == means[model.grid_ == model.radius_]
    alone = JointSparseRegressorCV(model.norm_, **options).fit(*data)
    np.testing.assert_equal([alone.coef_, alone.scores_], [model.coef_, model.scores_])
    np.testing.assert_equal(JointSparseRegressor(model.norm_, model.radius_).fit(*data).coef_, model.coef_)


@pytest.mark.parametrize(
    ("options", "tried"),
    [({"feature_weights": np.ones(60)}, ["l1", "l12", "l1inf"]), ({"groups": np.arange(60) // 3}, ["l12", "l1inf"])],
)
def test_auto_tries_only_norms_that_support_the_given_weights_and_groups(options, tried):
    model = JointSparseRegressorCV("auto", penalties=2, cv=2, **options).fit(*SHARED)
    assert list(model.results_by_norm_) == tried and model.penalty_ in model.grid_


def test_each_norm_gets_time_for_more_than_one_radius(recwarn, monkeypatch):
    # On this clock, each reading is a second later.
    monkeypatch.setattr("jointsparse.estimators.watch.time", SimpleNamespace(monotonic=count().__next__))
    model = JointSparseRegressorCV("auto", cv=2, max_time=300).fit(*SHARED)
    assert min(len(result["grid"]) for result in model.results_by_norm_.values()) > 1
    assert re.match(r"max_time=300 was long enough for \d \(l1\), .* radii only, the most", str(recwarn[0].message))


# Folds


def test_folds_of_a_label_matrix_are_stratified_by_the_rarest_label(rng):
    Y = np.repeat(np.eye(4, dtype=int), [40, 25, 5, 2], axis=0)
    assert np.unique(strata(2 * Y - 1, 5), return_counts=True)[1].tolist() == [42, 25, 5]
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(Y, strata(2 * Y - 1, 5))
    X = Y + rng.normal(size=Y.shape)
    with pytest.warns(UserWarning, match=r"^1 of 4 tasks .* of the 5 folds and have no score there .*: label 3$"):
        got, expected = (JointSparseClassifierCV(radii=[1.0], cv=cv).fit(X, Y).scores_ for cv in (5, folds))
    np.testing.assert_array_equal(got, expected)
