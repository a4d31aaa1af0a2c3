"""Labels that may be wrong or missing."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jointsparse import JointSparseClassifier, label_issues

RNG = np.random.default_rng(0)
W = RNG.normal(size=(6, 4))
X = RNG.normal(size=(200, 6))
TRUE = (X @ W > 0).astype(int)
WRONG, MISSING = [(3, 1), (70, 0)], [(12, 2), (150, 3)]  # the samples and tasks of planted faults


def faulty():
    """Return labels with planted faults, where the true labels are clear."""
    Y = TRUE.copy()
    for row, task in [*WRONG, *MISSING]:
        X[row] = 3 * W[:, task] * (1 if (row, task) in MISSING else -1)
        Y[row] = X[row] @ W > 0
    for row, task in WRONG:
        Y[row, task] = 1
    for row, task in MISSING:
        Y[row, task] = 0
    return Y


Y = faulty()
OURS = JointSparseClassifier(radius=5.0)


@pytest.mark.parametrize(
    "estimator",
    [
        OURS,
        make_pipeline(StandardScaler(), JointSparseClassifier("l12", penalty=0.01)),
        OneVsRestClassifier(LogisticRegression()),
        MultiOutputClassifier(LogisticRegression()),
    ],
)
def test_planted_faults_come_first(estimator):
    issues = label_issues(estimator, X, Y)
    for kind, planted in (("wrong", WRONG), ("missing", MISSING)):
        of_kind = issues.kind == kind
        first = zip(issues.sample[of_kind][:2].tolist(), issues.task[of_kind][:2].tolist(), strict=True)
        assert sorted(first) == planted
    assert (np.diff(issues.score) <= 0).all()
    stands = np.where(issues.kind == "wrong", issues.probability, 1 - issues.probability)
    np.testing.assert_allclose(issues.score, 1 - stands, atol=1e-15)  # 1 - p rounds
    assert len(issues.sample) == Y.size


def test_probabilities_come_from_models_that_were_trained_on_other_folds():
    folds = list(KFold(4).split(X))
    issues = label_issues(OURS, X, Y, cv=folds)
    for train, held_out in folds:
        expected = OURS.fit(X[train], Y[train]).predict_proba(X[held_out])
        of_fold = np.isin(issues.sample, held_out)
        rows = np.searchsorted(held_out, issues.sample[of_fold])
        np.testing.assert_allclose(issues.probability[of_fold], expected[rows, issues.task[of_fold].astype(int)])


def test_unknown_labels_are_no_issues_and_at_most_max_issues_of_each_kind_are_returned():
    unknown = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
    issues = label_issues(OURS, X, unknown)
    places = issues.sample, issues.task.astype(int)
    assert len(issues.sample) == (~np.isnan(unknown)).sum() and not np.isnan(unknown[places]).any()
    few = label_issues(OURS, X, unknown, max_issues=3)
    assert [(few.kind == kind).sum() for kind in ("wrong", "missing")] == [3, 3]
    assert few.score.tolist() == np.sort(few.score)[::-1].tolist() and few.score[0] == issues.score[0]


@pytest.mark.parametrize("estimator", [OURS, LogisticRegression()])
def test_each_class_of_a_vector_is_a_task(estimator):
    y = np.array(["ant", "bee", "cow"])[np.argmax(X @ W[:, :3], axis=1)]
    y[5] = "cow" if y[5] == "ant" else "ant"
    issues = label_issues(estimator, 3 * X, y)
    wrong = issues.kind == "wrong"
    assert issues.sample[wrong][0] == 5 and issues.task[wrong][0] == y[5]
    assert 5 in issues.sample[~wrong][:3] and len(issues.sample) == 3 * len(y)


@pytest.mark.parametrize("cv", [5, GroupKFold(5)])
def test_folds_keep_groups_together(cv):
    groups = np.arange(len(X)) // 4
    copies = np.repeat(X[::4], 4, axis=0)  # a neighbour of the same group would tell the label
    labels = np.repeat(RNG.integers(0, 2, len(X) // 4), 4)
    forest = RandomForestClassifier(20, random_state=0)
    alone, together = (label_issues(forest, copies, labels, cv=cv, groups=g) for g in (groups, np.arange(len(X))))
    assert np.mean(alone.score) > 0.4 > 0.2 > np.mean(together.score)


@pytest.mark.parametrize(
    ("estimator", "options", "said"),
    [
        (JointSparseClassifier(loss="hinge"), {}, "estimator must predict probabilities, got JointSparseClassifier"),
        (OURS, {"cv": ShuffleSplit(3, random_state=0)}, "cv must hold out each sample once, got .* never held out"),
        (OURS, {"max_issues": 0}, "max_issues must be a whole number of at least 1, got 0"),
    ],
)
def test_what_cannot_be_ranked_is_refused(estimator, options, said):
    with pytest.raises(ValueError, match=said):
        label_issues(estimator, X, Y, **options)
