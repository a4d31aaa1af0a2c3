"""Choosing a radius or penalty: automatic radii, folds, scorers and selection rules."""

import tracemalloc
import warnings
from itertools import chain, repeat

import numpy as np
import pytest
from common import masked, problem, regression
from scipy import sparse
from sklearn.metrics import average_precision_score, f1_score, mean_absolute_error
from sklearn.model_selection import GroupShuffleSplit, KFold

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor, JointSparseRegressorCV
from jointsparse.estimators import search
from jointsparse.estimators.search import FOLD_TOL, choose, standard_errors, strata
from jointsparse.learning import scales
from jointsparse.learning.losses import logistic
from jointsparse.learning.problem import Problem
from jointsparse.learning.radii import PER_DECADE, choose_radius, radius_at, tie_of
from jointsparse.learning.solvers import working_set
from jointsparse.metrics import resample, resampled
from jointsparse.norms import NORMS, l1inf

RNG = np.random.default_rng(0)


def tasks(n, d, m, *, share=0.1, noise=1.0, density=1.0, seed=0):
    """Draw features, and labels 0 and 1 of tasks that share five features. share: fraction of positives in a task."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    W = np.zeros((d, m))
    W[:5] = rng.normal(size=(5, m))
    F = X @ W + noise * rng.normal(size=(n, m))
    return X, (np.quantile(F, 1 - share, axis=0) < F).astype(int)


DENSE_FEW = tasks(200, 20, 3)
SPARSE = tasks(300, 200, 5, density=0.1, share=0.3)
KINDS = {
    "dense, few tasks": (*DENSE_FEW, {}),
    "dense, many tasks": (*tasks(200, 40, 10, share=0.2), {"loss": "hinge"}),
    "sparse": (sparse.csr_matrix(SPARSE[0]), SPARSE[1], {}),
    "masked": (DENSE_FEW[0], masked(2 * DENSE_FEW[1] - 1), {"labels": "masked"}),
}


# Grids


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_automatic_radius_is_inside_the_grid(kind):
    X, Y, options = KINDS[kind]
    model = JointSparseClassifierCV(cv=2, **options).fit(X, Y)
    assert model.grid_[0] < model.radius_ < model.grid_[-1] and model.best_score_ > 0.6
    np.testing.assert_allclose(np.diff(np.log10(model.grid_)), 0.25, atol=0.01)


@pytest.mark.parametrize(("far", "expected"), [(0.7, range(-2, 5)), (0.46, range(-2, 3))])
def test_if_scores_fall_early_a_ball_ten_times_larger_is_tried(far, expected):
    X, y = np.tile([[0.1], [-0.1]], (20, 1)), np.tile([1, 0], 20)
    half = Problem.from_matrix(X[:20], 2 * y[:20, np.newaxis] - 1, intercept=True)
    unit = scales.scales(half, loss=logistic, norm=l1inf).radius
    curve = {-2: 0.4, -1: 0.4, 0: 0.476, 1: 0.458, 2: 0.458, 3: far - 0.1, 4: far}  # at step 4 the loss vanishes

    def scorer(model, X, y):
        radius = 10 * np.abs(model.decision_function(X)).max()  # labels are separable, so W is on the boundary
        return curve.get(round(PER_DECADE * np.log10(radius / unit)), 0.3)

    model = JointSparseClassifierCV(cv=2, scoring=scorer, normalisation="mean").fit(X, y)
    assert model.grid_.tolist() == [radius_at(unit, step) for step in expected]


def test_automatic_radii_continue_until_a_larger_radius_changes_nothing():
    """With noisy labels the best radius is small; with separable targets a larger radius changes nothing."""
    X = RNG.normal(size=(60, 40))
    with pytest.warns(UserWarning, match=r"score of 0\.4.* no better than chance \(0.5\)"):
        down = JointSparseClassifierCV(cv=3).fit(X, (X[:, 0] + 4 * RNG.normal(size=60) > 0).astype(int))
    clear = JointSparseRegressorCV(cv=3).fit(X[:, :5], X[:, :2] @ [[1.0], [2.0]])
    assert down.grid_[0] < down.radius_ and clear.radius_ > 2.0 and clear.best_score_ > 0.99


@pytest.mark.parametrize("norm", NORMS)
def test_automatic_radii_end_where_the_weights_are_far_inside(norm):
    """With scores that stay equal, a path would grow without end if the classes overlap."""
    X = np.random.default_rng(0).normal(size=(120, 3))
    model = JointSparseClassifierCV(norm, cv=3).fit(X, X + np.random.default_rng(1).normal(size=X.shape) > 0)
    assert len(model.grid_) < 12 and np.ptp(model.scores_[-2:]) < 0.1


def test_a_number_of_radii_or_penalties_spans_their_range():
    unit = JointSparseClassifier().fit(*DENSE_FEW).radius_
    by_radius = JointSparseClassifierCV(radii=3, cv=2).fit(*DENSE_FEW)
    np.testing.assert_allclose(by_radius.grid_, unit * np.array([0.1, 1.0, 10.0]))
    model = JointSparseClassifierCV(penalties=4, cv=2).fit(*DENSE_FEW)
    np.testing.assert_allclose(model.grid_ / model.grid_[-1], [1e-3, 1e-2, 0.1, 1.0])
    assert model.penalty_ in model.grid_[:-1] and model.radius_ is None and model.scores_[-1].max() == 0.5  # W = 0


@pytest.mark.parametrize(
    ("estimator", "options"),
    [(JointSparseClassifierCV, {"radii": [1.0, 3.0]}), (JointSparseRegressorCV, {"norm": "auto", "radii": 2})],
)
def test_results_do_not_depend_on_n_jobs(estimator, options):
    one, two = (estimator(**options, cv=2, n_jobs=n_jobs).fit(*DENSE_FEW) for n_jobs in (1, 2))
    np.testing.assert_equal([one.results_by_norm_, one.coef_], [two.results_by_norm_, two.coef_])


# Scorers


BY_CLASS = np.array(["a", "b", "c"])[np.digitize(DENSE_FEW[0][:, 0], [-0.5, 0.5])]
YES_NO = np.where(DENSE_FEW[1][:, 0] > 0, "yes", "no")
SCORED = {  # labels, options, and the score of decision values on the held-out samples
    "each task": (
        DENSE_FEW[1],
        {"scoring": "average_precision"},
        lambda y, F: average_precision_score(y, F, average="macro"),
    ),
    "all classes": (BY_CLASS, {"scoring": "accuracy"}, lambda y, F: np.mean(y == np.array([*"abc"])[F.argmax(axis=1)])),
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
        YES_NO,
        {
            "scoring": lambda model, X, y: (
                f1_score(y, model.predict(X), pos_label=model.classes_[0]) * (X.shape[1] == 20)
            )
        },
        lambda y, F: f1_score(y, np.where(F > 0, "yes", "no"), pos_label="no"),
    ),
}


@pytest.mark.parametrize("case", SCORED)
def test_scorers_see_the_held_out_samples_of_each_task_or_of_all_classes(case):
    (X, _), (y, options, expected), folds = DENSE_FEW, SCORED[case], KFold(2, shuffle=True, random_state=1)
    model = JointSparseClassifierCV(radii=[3.0], cv=folds, **options).fit(X, y)
    train, test = next(folds.split(X))
    F = JointSparseClassifier(radius=3.0, tol=FOLD_TOL).fit(X[train], y[train]).decision_function(X[test])
    assert model.scores_[0, 0] == pytest.approx(expected(y[test], F), abs=1e-12)


def test_scorers_of_probabilities_need_a_loss_that_has_them():
    assert -0.7 < JointSparseClassifierCV(radii=[3.0], cv=2, scoring="neg_log_loss").fit(*DENSE_FEW).best_score_ < 0
    with pytest.raises(AttributeError, match="loss='logistic'"):
        JointSparseClassifierCV(radii=[3.0], cv=2, scoring="neg_log_loss", loss="hinge").fit(*DENSE_FEW)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("held_out", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_held_out_samples_may_come_in_another_form(form, held_out):
    X, Y = DENSE_FEW
    scores = [
        JointSparseClassifierCV(radii=[0.3, 3.0]).fit(of(X[20:]), Y[20:], X_val=of_val(X[:20]), y_val=Y[:20]).scores_
        for of, of_val in ((np.asarray, np.asarray), (form, held_out))
    ]
    np.testing.assert_allclose(*scores, atol=0.02)


def test_targets_are_scored_separately_without_missing_values():
    X, Y = regression()
    Y[:5, 1] = np.nan
    model = JointSparseRegressorCV(radii=[0.1, 3.0], scoring="neg_mean_absolute_error")
    model.fit(X[25:], Y[25:], X_val=X[:25], y_val=Y[:25])
    predicted = JointSparseRegressor(radius=3.0, tol=FOLD_TOL).fit(X[25:], Y[25:]).predict(X[:25])
    known = np.isfinite(Y[:25])
    errors = [mean_absolute_error(Y[:25, k][known[:, k]], predicted[known[:, k], k]) for k in range(3)]
    assert model.scores_[1, 0] == pytest.approx(-np.mean(errors), rel=0.05)
    assert model.radius_ == 3.0 and model.scores_.shape == (2, 1)


# Selection rules


def chosen(selection, penalised=False, **norms):
    """Return the norm and the place of the strength that are chosen. norms: scores and features of each norm."""
    results = {name: dict(zip(("scores", "features"), map(np.array, of), strict=True)) for name, of in norms.items()}
    for result in results.values():
        result["errors"] = standard_errors(result["scores"], np.full(len(result["scores"]), np.nan))
    return choose(results, penalised, selection)


def strengths(*scores):
    """Results of one norm, whose numbers of features do not matter."""
    return {"a": (np.array(scores, dtype=float).reshape(len(scores), -1),) * 2}


BEST = [[0.5, 0.5], [0.7, 0.9]], [[0, 0], [20, 20]]  # the standard error is 0.1
WITHIN = [[0.74, 0.74], [0.5, 0.5]], [[4, 6], [9, 9]]
BELOW = [[0.69, 0.69], [0.5, 0.5]], [[1, 1], [9, 9]]
ONE = "one_standard_error"
TABLE, FLAT = ([0.70, 0.60], [0.79, 0.73], [0.80, 0.74], [0.78, 0.72]), ([0.5, 0.5], [0.75, 0.8], [0.7, 0.9])


@pytest.mark.parametrize(
    ("selection", "norms", "expected"),
    [
        ("best", strengths(*TABLE), ("a", 2)),
        (ONE, strengths(*TABLE), ("a", 1)),
        (ONE, strengths(*(row[0] for row in TABLE)), ("a", 2)),  # one split has no standard error
        *((rule, strengths(*FLAT), ("a", place)) for rule, place in ((None, 2), ("best", 2), (ONE, 1))),
        (ONE, strengths([0.5] * 3, [0.64, 0.8, 0.9], [0.7, 0.9, 1.0]), ("a", 1)),
        (ONE, strengths([0.5] * 3, [0.6, 0.75, 0.9], [0.7, 0.9, 1.0]), ("a", 2)),
        ("best", strengths(0.0, 1.0 - 1e-9, 1.0, 0.5), ("a", 1)),
        ("best", strengths(0.7, 0.70005, 0.7), ("a", 0)),
        ("best", strengths(0.0, 0.5, 0.9, -1e6), ("a", 2)),  # a bad radius does not make ties of the others
        ("best", strengths([0.0, np.nan], [0.5, np.nan], [0.9, np.nan]), ("a", 2)),
        # Of several norms: the fewest features within a standard error, or the best score.
        *((rule, {"a": BEST, "b": WITHIN, "c": BELOW}, ("b", 0)) for rule in (None, ONE)),
        ("best", {"a": BEST, "b": WITHIN, "c": BELOW}, ("a", 1)),
        (None, {"a": BEST, "c": BELOW}, ("a", 1)),
        (None, {"b": (WITHIN[0], [[20, 20], [9, 9]]), "a": BEST}, ("a", 1)),  # equally many features
        ("best", {"a": BEST, "b": (BEST[0], [[0, 0], [19, 20]])}, ("b", 1)),  # equal scores
        (None, {"a": ([[0.5, np.nan], [0.75, np.nan]], BEST[1]), "b": WITHIN}, ("a", 1)),
    ],
)
def test_the_selection_of_a_norm_and_a_radius(selection, norms, expected):
    assert chosen(selection, **norms) == expected


def test_the_largest_of_equally_good_penalties_is_chosen():
    assert chosen(None, penalised=True, a=[[[0.8], [0.8], [0.5]], [[9], [5], [0]]]) == ("a", 1)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(
    ("errors", "expected"),
    [([3.0, 2.0, 1.0], 2), ([1e6, 2.0, 1.0], 2), ([1.0 + 1e-5, 1.0, 2.0], 0), ([1.0, 0.0], 1), ([0.0, 0.0], 0)],
)
def test_ties_of_any_scorer_do_not_depend_on_the_unit_of_its_scores(unit, errors, expected):
    scores = -unit * np.array(errors)
    assert choose_radius(scores, slack=tie_of(scores)) == expected


def made_up(monkeypatch, scores):
    """Let a search give these scores to its fits, without an error."""
    scores = iter(scores)
    monkeypatch.setattr(JointSparseClassifierCV, "_score_of", lambda *_: next(scores))
    monkeypatch.setattr(JointSparseClassifierCV, "_error_of", lambda *_: 0.0)


@pytest.mark.parametrize(("scoring", "unit"), [(None, 1.0), ("roc_auc", 1.0), ("roc_auc", 1e-7), ("roc_auc", 1e5)])
def test_a_tie_is_a_ten_thousandth_of_the_unit_of_the_scores(scoring, unit, monkeypatch):
    made_up(monkeypatch, unit * np.array([0.6, 0.8, 0.80005, 0.7, 0.4]))
    model = JointSparseClassifierCV(radii=[0.1, 0.2, 0.3, 0.4, 0.5], cv=2, scoring=scoring)
    X, Y = problem(n=40, d=4)
    assert model.fit(X[:30], Y[:30, 0], X_val=X[30:], y_val=Y[30:, 0]).radius_ == 0.2


# A single split


def single_split(**options):
    """Return a search on a single split, and the arguments of its fit."""
    X, Y = tasks(300, 12, 4, share=0.4, noise=3.0)
    return JointSparseClassifierCV(cv=[(np.arange(200), np.arange(200, 300))], **options).fit(X, Y), X, Y


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_the_standard_error_of_a_single_split_is_that_of_resampled_held_out_samples(scoring):
    model, X, Y = single_split(scoring=scoring, radii=[0.3, 3.0])
    for radius, error in zip(model.grid_, model.results_by_norm_["l1inf"]["errors"], strict=True):
        fit = JointSparseClassifier(radius=radius, tol=FOLD_TOL).fit(X[:200], Y[:200])
        scores = np.asarray(fit.decision_function(X[200:]))
        expected = resampled(scores, Y[200:], resample(100, 2000, np.random.default_rng(1)))[0].mean(axis=1).std()
        assert 0.6 * expected < error < 1.5 * expected  # 25 resamples give the error to about 14 %


def test_the_standard_error_of_a_single_split_is_that_of_as_many_groups():
    model, X, Y = single_split(radii=[0.3, 3.0])
    groups = np.append(np.arange(200), np.repeat(np.arange(200, 300), 5))
    names, splitter = np.char.add("person ", groups.astype(str)), GroupShuffleSplit(1, random_state=0)
    folds = [(np.arange(200), np.arange(200, 700))], splitter, list(splitter.split(names, groups=names))
    searches = (
        JointSparseClassifierCV(cv=cv, radii=[0.3, 3.0]).fit(X[groups], Y[groups], groups=names) for cv in folds
    )
    repeated, *by_splitter = (each.results_by_norm_["l1inf"]["errors"] for each in searches)
    np.testing.assert_allclose(repeated, model.results_by_norm_["l1inf"]["errors"])
    np.testing.assert_array_equal(*by_splitter)


def test_one_standard_error_chooses_a_smaller_radius_also_on_a_single_split():
    best, sparser = (single_split(selection=selection)[0] for selection in (None, "one_standard_error"))
    place = best.grid_.tolist().index(best.radius_)
    within = best.scores_[:, 0] >= best.scores_[place, 0] - best.results_by_norm_["l1inf"]["errors"][place]
    assert sparser.radius_ == best.grid_[np.argmax(within)] < best.radius_


@pytest.mark.parametrize(
    "curve", [chain([0.7, 0.8, 0.9, 0.8, 0.7], repeat(0.5)), repeat(0.9)], ids=["peak", "equal scores"]
)
def test_the_path_of_a_single_split_ends_early_below_and_above_the_best_radius(curve, monkeypatch):
    made_up(monkeypatch, curve)  # at steps -4 to 0, and at ten times the unit
    assert len(single_split()[0].grid_) == 5


def test_a_search_holds_neither_former_fits_nor_held_out_samples_while_it_trains(monkeypatch):
    X, Y = tasks(2000, 40, 20, share=0.3)
    model = JointSparseClassifierCV(cv=[(np.arange(1000), np.arange(1000, 2000))]).fit(X, Y)  # compiles the kernels
    held, fit = [], working_set.fit

    def fit_and_note(*arguments, **options):
        held.append(tracemalloc.get_traced_memory()[0] / X.nbytes)
        return fit(*arguments, **options)

    monkeypatch.setattr(working_set, "fit", fit_and_note)
    tracemalloc.start()
    model.fit(X, Y)
    tracemalloc.stop()
    # In the first round, 3.1 to 4.1 times X: half of X, labels and weights of all samples and of half of them, and the
    # dual variables of the fits of this round.
    assert max(held[:-1]) < 4.3  # 4.5 with the dual variables of all rounds, 5.1 with the held-out samples
    assert held[-1] < 1.6  # 2.2 with the labels and weights of the search


@pytest.mark.parametrize(("far", "rough"), [(1.0, True), (1e9, False)])
def test_a_fit_far_below_the_best_score_may_stay_rough(far, rough, monkeypatch):
    tols, train = [], JointSparseClassifierCV._train
    monkeypatch.setattr(
        JointSparseClassifierCV,
        "_train",
        lambda *args, **options: tols.append(options.get("tol")) or train(*args, **options),
    )
    monkeypatch.setattr(JointSparseClassifierCV, "_error_of", lambda *_: 1e-6)  # so the scores fall beyond the best
    monkeypatch.setattr(search, "FAR", far)
    model, _, _ = single_split()
    n_rough, n_fine = tols.count(search.ROUGH_TOL), tols.count(FOLD_TOL)
    assert n_rough > 0  # beyond the best radius, fits are first rough
    assert (n_rough + n_fine == len(model.grid_) + 1) is rough  # one more fit looks at ten times the unit


# norm="auto"


def shared_rows():
    """Draw features, and targets of eight tasks that depend on the same three features with equal magnitudes."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(30, 60)), np.zeros((60, 8))
    W[:3] = rng.choice([-1, 1], size=(3, 8))
    return X, X @ W + rng.normal(size=(30, 8))


SHARED, FACTOR = shared_rows(), np.random.default_rng(0).normal(size=60)
EQUALLY_GOOD = FACTOR[:, np.newaxis] + 4 * np.random.default_rng(1).normal(size=(60, 100)), FACTOR


@pytest.mark.parametrize(
    ("data", "options", "norms"),
    [
        (SHARED, {"cv": 3}, ("l1inf", "l12")),  # tasks share their features
        *((EQUALLY_GOOD, {"cv": 3, "selection": rule}, ("l2",)) for rule in (None, "best")),
        (SHARED, {"cv": [(np.arange(20), np.arange(20, 30))]}, ("l1inf", "l12")),
    ],
)
def test_auto_takes_the_norm_that_fits_and_gives_the_results_of_a_search_with_it(data, options, norms):
    model = JointSparseRegressorCV("auto", radii=3, **options).fit(*data)
    assert model.norm_ in norms and list(model.results_by_norm_) == list(NORMS)
    result = model.results_by_norm_[model.norm_]
    np.testing.assert_equal([model.grid_, model.scores_], [result["grid"], result["scores"]])
    assert result["features"].shape == result["gaps"].shape == model.scores_.shape
    assert model.radius_ in model.grid_ and model.best_score_ == model.scores_.mean(axis=1).max()
    alone = JointSparseRegressorCV(model.norm_, radii=3, **options).fit(*data)
    np.testing.assert_equal([alone.coef_, alone.norm_], [model.coef_, model.norm_])


def test_each_norm_has_automatic_radii_of_its_own_and_messages_say_how_far_a_search_is(monkeypatch):
    messages = []
    monkeypatch.setattr(search.LOG, "info", lambda text, *values: messages.append(text % values))
    model = JointSparseClassifierCV("auto", cv=2).fit(*DENSE_FEW)
    places = [message.split(", ", 2)[2] for message in messages]
    assert places[0] == "norm 1 of 4, fold 1 of 2" and places[-1].startswith("norm 4 of 4, ")
    alone = JointSparseClassifierCV("l2", cv=2).fit(*DENSE_FEW)
    np.testing.assert_equal(alone.results_by_norm_["l2"], model.results_by_norm_["l2"])
    assert len({result["grid"][0] for result in model.results_by_norm_.values()}) > 1


@pytest.mark.parametrize(
    ("options", "tried"),
    [({"feature_weights": np.ones(60)}, ["l1", "l12", "l1inf"]), ({"groups": np.arange(60) // 3}, ["l12", "l1inf"])],
)
def test_auto_tries_only_norms_that_support_the_given_weights_and_groups(options, tried):
    model = JointSparseRegressorCV("auto", radii=None, penalties=2, cv=2, **options).fit(*SHARED)
    assert list(model.results_by_norm_) == tried and model.penalty_ in model.grid_


def test_norms_share_the_time_of_the_folds():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = JointSparseRegressorCV("auto", cv=2, max_time=1e-6).fit(*SHARED)
    assert "for 1 (l1), 1 (l12), 1 (l1inf), 1 (l2) radii only, the most regularised" in str(caught[0].message)
    assert [len(result["grid"]) for result in model.results_by_norm_.values()] == [1, 1, 1, 1]


# Folds


def test_folds_of_a_label_matrix_are_stratified_by_the_rarest_label():
    """The samples are sorted by class, so folds without shuffling would contain few classes each."""
    Y = np.repeat(np.eye(4, dtype=int), [40, 25, 10, 2], axis=0)
    assert np.unique(strata(2 * Y - 1, 5), return_counts=True)[1].tolist() == [42, 25, 10]
    both = np.maximum(Y, [0, 0, 1, 0])  # every sample has label 2, so all other labels are rarer
    assert set(strata(2 * both - 1, 2)) == {0, 1, 2, 3}
    X = Y @ RNG.normal(size=(4, 6)) + RNG.normal(size=(77, 6))
    with pytest.warns(UserWarning, match=r"^1 of 4 tasks .* of the 5 folds and have no score there .*: label 3$"):
        model = JointSparseClassifierCV(radii=[1.0]).fit(X, Y)
    assert not np.isnan(model.scores_).any()


NO_NUMBERS = (np.nan, np.array([0.5, 0.6]), None)
FEW = "must be the number of {0}.* if norm='auto', because {0} of "


@pytest.mark.parametrize("estimator", [JointSparseClassifierCV, JointSparseRegressorCV])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"radii": "all"}, "^radii must be 'auto', a list of radii or their number, got 'all'"),
        ({"radii": 0}, "^n_points must be a whole number of at least 1, got 0"),
        ({"scoring": "auc", "radii": [1.0]}, "scoring"),
        ({"selection": "median", "radii": [1.0]}, "^selection must be one of best, one_standard_error, got 'median'"),
        *(
            ({"radii": [1.0], "scoring": lambda *_, v=v: v}, "^scoring must return one finite number")
            for v in NO_NUMBERS
        ),
        *(({"norm": "auto", "radii": radii}, f"^radii {FEW.format('radii')}") for radii in ([0.1, 1.0], 1.0)),
        ({"norm": "auto", "radii": None, "penalties": [0.1]}, f"^penalties {FEW.format('penalties')}"),
    ],
)
def test_invalid_options_and_scores_that_are_no_number_raise(estimator, options, said):
    with pytest.raises(ValueError, match=said):
        estimator(**options).fit(*DENSE_FEW)
