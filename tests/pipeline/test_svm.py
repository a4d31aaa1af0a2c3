"""Independent linear classifiers agree with scikit-learn's LinearSVC, fitted directly to each task."""

import numpy as np
import pytest
from common import draw_labels
from sklearn.svm import LinearSVC

from jointsparse.pipeline import svm

C = [0.01, 0.1, 1.0]
X, Y = draw_labels(n=60, d=8, m=4)
X, Y = X.astype(np.float32), Y.astype(np.int8)


def test_every_column_agrees_with_scikit_learn():
    seen, spoilt = [], np.where(Y.any(axis=1, keepdims=True), X, np.nan)  # samples that belong to no task are not read
    trained = svm.run(spoilt, Y, C=C[::-1], seed=3, progress=lambda *call: seen.append(call))
    assert trained.W.dtype == X.dtype and seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    np.testing.assert_equal([trained.radius, trained.eta0, trained.gap], [C, [np.nan] * 3, [np.nan] * 3])
    expected = [[np.count_nonzero(Y), np.maximum(1 - Y * (X @ W), 0)[Y != 0].sum()] for W in trained.W]
    np.testing.assert_allclose(trained.objective, expected, rtol=1e-6)
    for k, y in enumerate(Y.T):
        coefs = [
            LinearSVC(C=c, loss="hinge", fit_intercept=False, max_iter=10_000, random_state=3)
            .fit(X[y != 0].astype(float), y[y != 0])
            .coef_[0]
            for c in C
        ]
        np.testing.assert_array_equal(trained.W[:, :, k], np.float32(coefs))


@pytest.mark.parametrize(("max_iter", "expected"), [(1, [4, 4]), (100_000, [0, 0])])
def test_tasks_that_do_not_converge_are_counted_and_no_warning_escapes(max_iter, expected):
    assert svm.run(X, Y, C=[1.0, 3.0], max_iter=max_iter).unconverged.tolist() == expected
