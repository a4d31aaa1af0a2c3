"""Independent linear classifiers agree with scikit-learn's LinearSVC, fitted directly to each task."""

from itertools import product

import numpy as np
import pytest
from common import draw_labels
from sklearn.svm import LinearSVC

from jointsparse.checks import Misfit
from jointsparse.pipeline import svm

C = [0.01, 0.1, 1.0]


def problem(dtype=np.float32):
    X, Y = draw_labels(n=60, d=8, m=4)
    return X.astype(dtype), Y.astype(np.int8)


def test_every_column_agrees_with_scikit_learn():
    (X, Y), seen = problem(), []
    trained = svm.run(X, Y, C=C[::-1], seed=3, progress=lambda *call: seen.append(call))
    assert trained.W.dtype == X.dtype and seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    np.testing.assert_equal([trained.radius, trained.eta0, trained.gap], [C, [np.nan] * 3, [np.nan] * 3])
    expected = [[np.count_nonzero(Y), np.maximum(1 - Y * (X @ W), 0)[Y != 0].sum()] for W in trained.W]
    np.testing.assert_allclose(trained.objective, expected, rtol=1e-6)
    for (p, strength), k in product(enumerate(C), range(4)):
        in_task = Y[:, k] != 0
        learner = LinearSVC(C=strength, loss="hinge", fit_intercept=False, max_iter=10_000, random_state=3)
        learner.fit(X[in_task].astype(float), Y[in_task, k])
        np.testing.assert_array_equal(trained.W[p, :, k], learner.coef_[0].astype(np.float32))


def test_samples_that_belong_to_no_task_are_not_read():
    X, Y = problem()
    Y[:20] = 0
    spoilt = np.where(Y.any(axis=1, keepdims=True), X, np.nan)
    np.testing.assert_array_equal(svm.run(spoilt, Y, C=C).W, svm.run(X, Y, C=C).W)


@pytest.mark.parametrize(("max_iter", "expected"), [(1, [4, 4]), (100_000, [0, 0])])
def test_tasks_that_do_not_converge_are_counted_and_no_warning_escapes(max_iter, expected):
    """Warnings are errors in this suite."""
    assert svm.run(*problem(), C=[1.0, 3.0], max_iter=max_iter).unconverged.tolist() == expected


@pytest.mark.parametrize(("n", "C", "said"), [(5, 1.0, "Y must be a matrix .* 6 samples"), (6, 0.0, "'C' .* Got 0.0")])
def test_a_wrong_number_of_labels_and_a_c_of_zero_are_refused(n, C, said):
    with pytest.raises(ValueError, match=said) as caught:
        svm.run(np.ones((6, 2)), np.ones((n, 1)), C=[C])
    assert n == 6 or caught.type is Misfit
