"""Scores of rankings and their statistics, the comparison of two models, and labels that may be wrong or missing."""

from functools import cache

import numpy as np
import oracles
import pytest
from common import draw_scores, problem
from scipy import stats
from sklearn import (
    base,
    ensemble,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    neighbors,
    pipeline,
    preprocessing,
    svm,
)

from jointsparse import JointSparseClassifier, compare, label_issues, metrics, task_scores

X, SIGNS = problem(n=160, m=4)
Y = (SIGNS + 1) // 2
UNKNOWN = np.random.default_rng(1).random(Y.shape) < [0.2, 0.2, 0.2, 0]
GAPS = np.where(UNKNOWN, np.nan, Y * [1, 1, 1, 0] + [0, 0, 0, 1])  # no negatives in the last task
OURS, LOGISTIC, NEIGHBOURS = (
    JointSparseClassifier(radius=2.0),
    linear_model.LogisticRegression(),
    neighbors.KNeighborsClassifier(),
)
WITHOUT_FIRST = preprocessing.FunctionTransformer(lambda X: X[:, 1:])
good = cache(lambda: base.clone(OURS).fit(X, Y))
poor = cache(lambda: pipeline.make_pipeline(WITHOUT_FIRST, base.clone(OURS)).fit(X[:60], Y[:60]))
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]

# Scores of tasks


@pytest.mark.parametrize(
    ("model", "scores_of"),
    [
        (OURS, lambda model: model.decision_function(X)),
        (pipeline.make_pipeline(preprocessing.StandardScaler(), OURS), lambda model: model.decision_function(X)),
        # Forests and nearest neighbours give many samples equal scores.
        (ensemble.RandomForestClassifier(5, random_state=0), lambda model: np.stack(model.predict_proba(X))[..., 1].T),
        (multioutput.MultiOutputClassifier(NEIGHBOURS), lambda model: np.stack(model.predict_proba(X))[..., 1].T),
    ],
)
def test_scores_agree_with_scikit_learn_on_the_samples_with_known_labels(model, scores_of):
    model.fit(X[:60], Y[:60])
    with pytest.warns(UserWarning, match="^1 of 4 tasks have no positives or no negatives .* are NaN .*: label 3$"):
        scores = task_scores(model, X, np.where(UNKNOWN, 0, 2 * GAPS - 1), labels="masked")
    for k in range(3):
        y, f = GAPS[~UNKNOWN[:, k], k], scores_of(model)[~UNKNOWN[:, k], k]
        expected = y.sum(), (1 - y).sum(), *(function(y, f) for function in oracles.STATISTICS.values())
        got = [scores[name][k] for name in ("positives", "negatives", *oracles.STATISTICS)]
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        p = stats.mannwhitneyu(f[y == 1], f[y == 0], alternative="greater", use_continuity=False).pvalue
        assert np.log(scores.p[k]) == pytest.approx(np.log(p), rel=0.05)  # a normal approximation
        assert scores.auc_low[k] < scores.auc[k] < scores.auc_high[k]
    np.testing.assert_allclose(scores.p_holm, [*metrics.holm(scores.p[:3]), np.nan])
    assert np.isnan([scores[name][3] for name in scores if name not in ("task", "positives", "negatives")]).all()


@pytest.mark.parametrize("model", [LOGISTIC, NEIGHBOURS, OURS])
@pytest.mark.parametrize(("y", "tasks"), [(np.where(Y[:, 0] > 0, "yes", "no"), ["yes"]), (THREE, ["a", "b", "c"])])
def test_the_classes_of_a_vector_are_those_that_the_model_has_seen(model, y, tasks):
    found = task_scores(model.fit(X, y), X, y)
    assert found.task.tolist() == tasks and (found.auc[[0, -1]] > 0.8).all()
    with pytest.warns(UserWarning, match="tasks have no positives or no negatives"):
        alone = task_scores(model, X[y == y[0]], y[y == y[0]])
    assert alone.task.tolist() == tasks and np.isnan(alone.auc).all()


# Comparisons


def test_a_comparison_resamples_groups_of_samples():
    people, names = np.repeat(np.arange(len(X)), 3), ("low", "high", "p", "p_reverse")
    expected = compare(good(), poor(), X, Y, n_resamples=20)
    found = compare(good(), poor(), X[people], Y[people], sample_groups=people, n_resamples=20)
    np.testing.assert_allclose([found[name] for name in names], [expected[name] for name in names])


def test_a_comparison_detects_a_difference_between_two_models():
    with pytest.warns(UserWarning, match="^1 of 4 tasks have no positives or no negatives .* are NaN .*: label 3$"):
        found = compare(good(), poor(), X, GAPS)
        a, b = (task_scores(model, X, GAPS).auc for model in (good(), poor()))
    assert found.task.tolist() == [0, 1, 2, 3, "(all tasks)"]
    np.testing.assert_allclose([found.auc_a, found.auc_b], [[*auc, np.nanmean(auc)] for auc in (a, b)])
    np.testing.assert_allclose(found.difference, found.auc_a - found.auc_b)
    assert ((found.low > 0) & (found.low < found.difference) & (found.p_holm < 0.05))[[0, 1, 2, 4]].all()
    for p, corrected in ((found.p, found.p_holm), (found.p_reverse, found.p_reverse_holm)):
        np.testing.assert_allclose(corrected, [*metrics.holm(p[:3]), np.nan, p[4]])
    np.testing.assert_array_equal([found.low > 0, found.high < 0], [found.p < 0.025, found.p_reverse < 0.025])
    itself = compare(good(), good(), X, Y, n_resamples=10)
    assert {*itself.difference, *itself.low, *itself.high} == {0} and {*itself.p, *itself.p_reverse} == {1}


# Labels that may be wrong or missing

W = np.random.default_rng(0).normal(size=(6, 4))
CLEAR = np.random.default_rng(0).normal(size=(200, 6))
ROWS, COLUMNS = np.array([3, 70, 12, 150]), np.array([1, 0, 2, 3])  # two wrong labels and two missing labels, which are
CLEAR[ROWS] = [[-3], [-3], [3], [3]] * W[:, COLUMNS].T  # clear
FAULTY = (CLEAR @ W > 0).astype(int)
FAULTY[ROWS, COLUMNS] = [1, 1, 0, 0]
SURE = JointSparseClassifier(radius=5.0)


@pytest.mark.parametrize(
    "estimator",
    [
        pipeline.make_pipeline(preprocessing.StandardScaler(), JointSparseClassifier("l12", penalty=0.01)),
        multiclass.OneVsRestClassifier(LOGISTIC),
        multioutput.MultiOutputClassifier(LOGISTIC),
    ],
)
def test_planted_faults_come_first(estimator):
    issues = label_issues(estimator, CLEAR, FAULTY)
    for kind, planted in (("wrong", {(3, 1), (70, 0)}), ("missing", {(12, 2), (150, 3)})):
        places = zip(issues.sample[issues.kind == kind], issues.task[issues.kind == kind], strict=True)
        assert {*list(places)[:2]} == planted
    assert (np.diff(issues.score) <= 0).all() and len(issues.sample) == FAULTY.size
    np.testing.assert_allclose(
        issues.score, np.where(issues.kind == "wrong", 1 - issues.probability, issues.probability), atol=1e-15
    )


def test_probabilities_come_from_models_that_were_trained_on_other_folds():
    folds = model_selection.KFold(4)
    expected = model_selection.cross_val_predict(SURE, CLEAR, FAULTY, cv=folds, method="predict_proba")
    issues = label_issues(SURE, CLEAR, FAULTY, cv=folds)
    np.testing.assert_allclose(issues.probability, expected[issues.sample, issues.task.astype(int)])


def test_unknown_labels_are_no_issues_and_at_most_max_issues_of_each_kind_are_returned():
    unknown = np.where(np.random.default_rng(0).random(FAULTY.shape) < 0.3, np.nan, FAULTY)
    issues, few = (label_issues(SURE, CLEAR, unknown, max_issues=most) for most in (1000, 3))
    assert sorted(zip(issues.sample, issues.task, strict=True)) == list(zip(*np.nonzero(unknown >= 0), strict=True))
    for kind in ("wrong", "missing"):
        assert few.score[few.kind == kind].tolist() == issues.score[issues.kind == kind][:3].tolist()


@pytest.mark.parametrize("estimator", [SURE, LOGISTIC])
def test_each_class_of_a_vector_is_a_task(estimator):
    y = np.array(["ant", "bee", "cow"])[np.argmax(CLEAR @ W[:, :3], axis=1)]
    y[5] = "cow" if y[5] == "ant" else "ant"
    issues = label_issues(estimator, 3 * CLEAR, y)
    wrong = issues.kind == "wrong"
    assert (issues.sample[wrong][0], issues.task[wrong][0]) == (5, y[5]) and len(issues.sample) == 3 * len(y)


@pytest.mark.parametrize("cv", [5, model_selection.GroupKFold(5)])
def test_folds_keep_groups_together(cv):
    groups, copies = np.arange(200) // 4, np.repeat(CLEAR[::4], 4, axis=0)  # a copy in another fold tells the label
    labels = np.repeat(np.random.default_rng(0).integers(0, 2, 50), 4)
    scores = [label_issues(NEIGHBOURS, copies, labels, cv=cv, groups=g).score.mean() for g in (groups, np.arange(200))]
    assert scores[0] > 0.4 > 0.3 > scores[1]  # 0.5 by chance


TASKS = r"^Y must have a row for each .* task of the model, \(160, 4\), got "


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: task_scores(linear_model.Ridge().fit(X, Y), X, Y), "^model must have decision_function or predict_"),
        (
            lambda: task_scores(svm.SVC(decision_function_shape="ovo").fit(X, THREE), X, THREE),
            "^decision_function_shape must be 'ovr'",
        ),
        (lambda: task_scores(good(), X, Y[:, :2]), rf"{TASKS}\(160, 2\)"),
        (lambda: task_scores(good(), X, Y[:, 0]), f"{TASKS}a vector"),
        (lambda: task_scores(good(), X, SIGNS), "^labels='classes' expects 0, 1 in a matrix y, got .-1.*labels may al"),
        (lambda: compare(good(), poor(), X, Y, sample_groups=[1, 2]), "sample_groups must name .* each of 160 samples"),
        (
            lambda: compare(good(), poor(), X, Y, sample_groups=[None, *[1] * 159]),
            "sample_groups must name a group for",
        ),
        (lambda: label_issues(JointSparseClassifier(loss="hinge"), CLEAR, FAULTY), "^estimator must predict probabil"),
        (
            lambda: label_issues(SURE, CLEAR, FAULTY, cv=model_selection.ShuffleSplit(3, random_state=0)),
            "each sample once, got .* never held out",
        ),
        (lambda: label_issues(SURE, CLEAR, FAULTY, max_issues=0), "max_issues must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_ranked_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


# Statistics of scores, and tests of them

ALL = metrics.STATISTICS | {"eer": metrics.EER}


@pytest.mark.parametrize("key", ALL)
@pytest.mark.parametrize(
    ("n", "ties", "dtype"), [(37, False, np.float64), (37, True, np.float32), (8, True, np.float64)]
)
def test_statistics_agree_with_scikit_learn_and_are_nan_for_undefined_scores(key, n, ties, dtype):
    scores, labels = draw_scores(n=n, ties=ties)
    expected = oracles.slow_statistic(key, scores.astype(dtype), labels)
    np.testing.assert_allclose(ALL[key](scores.astype(dtype), labels), expected, rtol=1e-12, atol=1e-15)
    scores[3, 1] = np.nan
    np.testing.assert_array_equal(np.isnan(ALL[key](scores, labels)), np.isnan(expected) | (np.arange(6) == 1))


TWO_OF_FIVE = [True, True, False, False, False]


@pytest.mark.parametrize(
    "metric, scores, labels, expected",
    [
        pytest.param("auc", [3, 1, 2, 2], [True, False, True, False], (1 + 1 + 1 + 0.5) / 4, id="auc counts pairs"),
        pytest.param("auc", [0] * 5, [True, False, True, False, True], 0.5, id="auc of equal scores"),
        pytest.param("auc", [0, 1, 2], [False] * 3, np.nan, id="auc without positives"),
        # Where the false positive rate is 1/3, the second positive reduces the false negative rate from 1/2 to 0.
        pytest.param("eer", [5, 3, 4, 2, 1], TWO_OF_FIVE, 1 / 3, id="eer"),
        pytest.param("eer", [5, 4, 3, 2, 1], TWO_OF_FIVE, 0, id="eer of a perfect order"),
        pytest.param("eer", [1, 2, 3, 4, 5], TWO_OF_FIVE, 1, id="eer of the reverse order"),
        # All samples are accepted together; the rates are equal halfway along this only step.
        pytest.param("eer", [0] * 5, TWO_OF_FIVE, 0.5, id="eer of equal scores"),
        pytest.param("eer", [np.inf] * 2, [True, False], 0.5, id="infinite scores are tied"),
        pytest.param("eer", [0, 1, 2], [False] * 3, np.nan, id="eer without positives"),
        pytest.param("eer", [0, 1, 2], [True] * 3, np.nan, id="eer without negatives"),
    ],
)
def test_metrics_are_those_by_hand(metric, scores, labels, expected):
    got = getattr(metrics, metric)(np.array(scores, dtype=float)[:, np.newaxis], np.array(labels)[:, np.newaxis])
    np.testing.assert_allclose(got, [expected], rtol=1e-15)


@pytest.mark.parametrize("key", ALL)
@pytest.mark.parametrize(("ties", "at_once"), [(False, metrics.COUNTS_AT_ONCE), (True, 50)])
def test_resampled_statistics_are_those_of_repeated_samples(key, ties, at_once, monkeypatch):
    monkeypatch.setattr(metrics, "COUNTS_AT_ONCE", at_once)  # a few resamples at a time
    scores, labels = draw_scores(n=25, ties=ties)
    counts = metrics.resample(25, 20, np.random.default_rng(0))
    got = ALL[key].resampled(scores, labels, counts)
    expected = [oracles.slow_statistic(key, scores.repeat(n, axis=0), labels.repeat(n, axis=0)) for n in counts]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)
    assert np.isnan(got).any()  # some resamples hold no positive of the rare task


# Sign tests


TWO = np.array([[True], [False]])
# Every pair is a win, so the number of wins is the number of pairs: min(positives, negatives), summed over tasks.
SEVEN = np.array([[True, True]] * 2 + [[True, False]] * 3 + [[False, False]] * 2)
DRAWN, LABELS = draw_scores()


@pytest.mark.parametrize(
    "f, g, labels, counts, p",
    [
        pytest.param(
            TWO * [1.0, 1.0, -1.0],
            TWO * [-1.0, -1.0, 1.0],
            TWO | [False] * 3,
            (2, 1),
            (0.5, 0.875),
            id="two wins and a loss",
        ),
        pytest.param(DRAWN, DRAWN, LABELS, (0, 0), (1, 1), id="ties are dropped, and equal classifiers are undecided"),
        pytest.param(TWO + 1.0, TWO * 0.0, TWO, (0, 0), (1, 1), id="a tie of one classifier is no win"),
        pytest.param(
            SEVEN * 1.0, SEVEN * -1.0, SEVEN, (4, 0), (1 / 16, 1), id="the rarer class gives the number of pairs"
        ),
        pytest.param(
            np.array([[1.0], [1.0], [0.0], [0.0]]),
            np.array([[1.0], [1.0], [2.0], [0.0]]),  # wrong in one of the two pairs, however they are drawn
            np.repeat([[True], [False]], 2, axis=0),
            (1, 0),
            (0.5, 1),
            id="each sample is in at most one pair of a task",
        ),
        pytest.param(
            np.array([[2.0], [1.0], [1.0]]),
            np.array([[1.0], [2.0], [0.0]]),
            np.array([[1], [0], [-1]]),
            (1, 0),
            (0.5, 1),
            id="a sample of unknown label is in no pair",
        ),
    ],
)
def test_sign_test_by_hand(f, g, labels, counts, p):
    tested = metrics.sign_test(f, g, labels, n_pairings=4, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(tested[:2], np.repeat(counts, 4).reshape(2, 4))
    np.testing.assert_allclose(tested[2:], np.repeat(p, 4).reshape(2, 4))


def test_intervals_hold_the_middle_95_per_cent_of_the_resamples():
    resamples = np.arange(1001.0)[:, np.newaxis] / 1000
    np.testing.assert_allclose(metrics.estimates(np.vstack([[[0.4]], resamples]))[:, 0], [0.4, 0.025, 0.975])
