"""Scores of rankings and the comparison of two models agree with scikit-learn and SciPy."""

import numpy as np
import pytest
from common import problem
from scipy import sparse, stats
from sklearn import (
    base,
    ensemble,
    linear_model,
    metrics,
    multiclass,
    multioutput,
    neighbors,
    pipeline,
    preprocessing,
    svm,
)

from jointsparse import JointSparseClassifier, compare, task_scores
from jointsparse.metrics import holm

X, SIGNS = problem(n=160, m=4)
Y = (SIGNS + 1) // 2
UNKNOWN = np.random.default_rng(1).random(Y.shape) < [0.2, 0.2, 0.2, 0]
GAPS = np.where(UNKNOWN, np.nan, Y * [1, 1, 1, 0] + [0, 0, 0, 1])  # no negatives in the last task
OURS, LOGISTIC, NEIGHBOURS = (
    JointSparseClassifier(radius=2.0),
    linear_model.LogisticRegression(),
    neighbors.KNeighborsClassifier(),
)
FITTED = base.clone(OURS).fit(X, Y)


@pytest.mark.parametrize(
    ("model", "scores_of"),
    [
        (OURS, lambda model: model.decision_function(X)),
        (pipeline.make_pipeline(preprocessing.StandardScaler(), OURS), lambda model: model.decision_function(X)),
        (multiclass.OneVsRestClassifier(LOGISTIC), lambda model: model.decision_function(X)),
        # Forests and nearest neighbours give many samples equal scores.
        (ensemble.RandomForestClassifier(5, random_state=0), lambda model: np.stack(model.predict_proba(X))[..., 1].T),
        (multioutput.MultiOutputClassifier(NEIGHBOURS), lambda model: np.stack(model.predict_proba(X))[..., 1].T),
    ],
)
def test_scores_agree_with_scikit_learn_on_the_samples_with_known_labels(model, scores_of):
    model.fit(X[:60], Y[:60])
    with pytest.warns(UserWarning, match="^1 of 4 tasks have no positives or no negatives .* are NaN .*: label 3$"):
        scores = task_scores(model, X, GAPS)
    for k in range(3):
        y, f = GAPS[~UNKNOWN[:, k], k], scores_of(model)[~UNKNOWN[:, k], k]
        orders = map(np.random.default_rng(0).permutation, [len(y)] * 2000)
        first = np.mean([y[i][np.argsort(-f[i], kind="stable")[:10]].mean() for i in orders])
        expected = y.sum(), (1 - y).sum(), metrics.roc_auc_score(y, f), metrics.average_precision_score(y, f), first
        got = [scores[name][k] for name in ("positives", "negatives", "auc", "average_precision", "precision_at_10")]
        np.testing.assert_allclose(got, expected, atol=0.01)
        p = stats.mannwhitneyu(f[y == 1], f[y == 0], alternative="greater", use_continuity=False).pvalue
        assert scores.low[k] < scores.auc[k] < scores.high[k] and np.log(scores.p[k]) == pytest.approx(
            np.log(p), rel=0.05
        )
    np.testing.assert_allclose(scores.p_holm, [*holm(scores.p[:3]), np.nan])
    assert np.isnan([scores[name][3] for name in scores if name not in ("task", "positives", "negatives")]).all()


THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]


@pytest.mark.parametrize("model", [LOGISTIC, NEIGHBOURS, OURS])
@pytest.mark.parametrize(("y", "tasks"), [(np.where(Y[:, 0] > 0, "yes", "no"), ["yes"]), (THREE, ["a", "b", "c"])])
def test_the_classes_of_a_vector_are_those_that_the_model_has_seen(model, y, tasks):
    found = task_scores(model.fit(X, y), X, y)
    assert found.task.tolist() == tasks and (found.auc[[0, -1]] > 0.8).all()
    with pytest.warns(UserWarning, match="tasks have no positives or no negatives"):
        assert np.isnan(task_scores(model, X[y == y[0]], y[y == y[0]]).auc).all()


@pytest.mark.parametrize(
    ("truth", "labels"),
    [
        (sparse.csr_matrix(Y), "01"),
        (SIGNS, "masked"),
    ],
)
def test_labels_may_come_in_any_coding_and_container(truth, labels):
    found = task_scores(JointSparseClassifier(radius=2.0, labels=labels).fit(X, truth), X, truth, labels=labels)
    assert found.task.tolist() == [0, 1, 2, 3] and found.auc.tolist() == task_scores(FITTED, X, Y).auc.tolist()


@pytest.mark.parametrize(
    ("model", "truth", "said"),
    [
        (linear_model.Ridge().fit(X, Y), Y, "^model must have decision_function or predict_proba, got Ridge"),
        (svm.SVC(decision_function_shape="ovo").fit(X, THREE), THREE, "^decision_function_shape must be 'ovr'"),
        (FITTED, Y[:, :2], r"^Y must have a row for each .* task of the model, \(160, 4\), got \(160, 2\)"),
        (FITTED, Y[:, 0], r"^Y must have a row for each .* task of the model, \(160, 4\), got a vector"),
        (FITTED, Y[:50], r"^Y must have a row for each .*, got \(50, 4\)"),
        (FITTED, SIGNS, "^labels='classes' expects 0, 1 in a matrix y, got .-1.*labels may also be '01', 'signed'"),
    ],
)
@pytest.mark.parametrize("call", [task_scores, lambda model, *data: compare(model, model, *data)])
def test_labels_that_do_not_fit_the_model_raise(call, model, truth, said):
    with pytest.raises(ValueError, match=said):
        call(model, X, truth)


def test_a_comparison_resamples_groups_of_samples():
    poor = pipeline.make_pipeline(preprocessing.FunctionTransformer(lambda X: X[:, 1:]), OURS).fit(X[:60], Y[:60])
    people = np.repeat(np.arange(len(X)), 3)
    expected, options = compare(FITTED, poor, X, Y, n_resamples=20), {"n_resamples": 20, "sample_groups": people}
    found = compare(FITTED, poor, X[people], Y[people], **options)
    for name in ("low", "high", "p", "p_reverse"):
        np.testing.assert_allclose(found[name], expected[name])
    for groups in (people[:3], [None, *people[1:]]):
        with pytest.raises(ValueError, match=f"sample_groups must name a group for each of {len(people)} samples, got"):
            compare(FITTED, poor, X[people], Y[people], **options | {"sample_groups": groups})


def test_a_comparison_detects_a_difference_between_two_models():
    poor = pipeline.make_pipeline(preprocessing.FunctionTransformer(lambda X: X[:, 1:]), OURS).fit(X[:60], Y[:60])
    with pytest.warns(UserWarning, match="^1 of 4 tasks have no positives or no negatives .* are NaN .*: label 3$"):
        found, (a, b) = compare(FITTED, poor, X, GAPS), (task_scores(model, X, GAPS).auc for model in (FITTED, poor))
    assert found.task.tolist() == [0, 1, 2, 3, "(all tasks)"]
    np.testing.assert_allclose([found.auc_a, found.auc_b], [[*auc, np.nanmean(auc)] for auc in (a, b)])
    np.testing.assert_allclose(found.difference, found.auc_a - found.auc_b)
    assert ((found.low > 0) & (found.low < found.difference) & (found.p_holm < 0.05))[[0, 1, 2, 4]].all()
    np.testing.assert_allclose(found.p_holm, [*holm(found.p[:3]), np.nan, found.p[4]])
    ahead, behind = found.low > 0, found.high < 0
    np.testing.assert_array_equal([ahead, behind], [found.p < 0.025, found.p_reverse < 0.025])
    itself = compare(FITTED, FITTED, X, Y, n_resamples=10)
    assert (
        not np.any([itself.difference, itself.low, itself.high])
        and (itself.p == 1).all()
        and (itself.p_reverse == 1).all()
    )
