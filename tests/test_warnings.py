"""Warnings of estimators name the tasks that they are about, and say what to do."""

from functools import partial

import numpy as np
import pytest

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor, task_scores

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = (X[:, :3] + 0.3 * RNG.normal(size=(60, 3)) > 0).astype(float)
RARE = np.hstack([np.eye(60, 12), Y])  # twelve labels with a single positive sample, and three frequent labels
NAMES = [*map(str, range(9)), "bird", "\x1b[31mcat", "dog", "a", "b", "c"]
MISSING = np.where([False, True, False], np.nan, Y)


def named(Y, names):
    return pytest.importorskip("pandas").DataFrame(Y, columns=names)


def search(Y):
    return JointSparseClassifierCV(radii=[1.0], cv=3).fit(X, Y)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: search(RARE[:, 10:]), "in some of the 3 folds .* \\(choose fewer folds with cv, .*\\): labels 0, 1$"),
        (lambda: search(named(RARE, NAMES)), "^12 of 15 tasks .*: labels 0, 1, 2, 3, 4, 5, 6, 7, 8, bird, ...$"),
        (lambda: search(named(RARE[:, 9:], NAMES[9:])), r"^3 of 6 tasks .*: labels bird, \\x1b\[31mcat, dog$"),
        (lambda: JointSparseClassifier().fit(X, MISSING), r"stay 0 \(add labels or targets, or leave .* y\): label 1$"),
        (lambda: JointSparseClassifier().fit(X, named(MISSING, ["a", "b", "c"])), "stay 0 .*: label b$"),
        (lambda: JointSparseRegressor().fit(X, MISSING), "stay 0 .*: target 1$"),
        (
            lambda: JointSparseClassifier(labels="masked").fit_tasks([(X, 2 * Y[:, 0] - 1), (X, 0 * Y[:, 1])]),
            "stay 0 .*: task 1$",
        ),
        (
            lambda: task_scores(JointSparseClassifier().fit(X, Y), X, Y * [1, 1, 0]),
            r"are NaN \(add samples, or leave these tasks out\): label 2$",
        ),
    ],
)
def test_a_warning_names_the_labels_and_says_what_to_do(call, said):
    with pytest.warns(UserWarning, match=said):
        call()


@pytest.mark.parametrize(
    ("form", "Y", "lacking", "said"),
    [
        (np.asarray, Y, Y * [1, 0, 1], "^label 1 must have a positive .*, got no positive$"),
        (partial(named, names=["a", "b", "c"]), Y, np.maximum(Y, [0, 0, 1]), "^label c .*, got no negative$"),
        (np.asarray, np.where(Y[:, 0], "yes", "no"), np.repeat("no", 60), "^label yes .*, got no positive$"),
    ],
)
def test_a_label_that_cannot_be_calibrated_is_named(form, Y, lacking, said):
    model = JointSparseClassifier().fit(X, form(Y))
    with pytest.raises(ValueError, match=said):
        model.calibrate(X, form(lacking))
