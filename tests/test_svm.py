"""Independent linear classifiers: each is what scikit-learn's LinearSVC gives when it is fitted directly."""

from itertools import product

import numpy as np
import oracles
import pytest
from conftest import draw_labels
from sklearn.svm import LinearSVC

from jointsparse.checks import Misfit
from jointsparse.learning import svm

C = [0.01, 0.1, 1.0]


def problem():
    X, Y = draw_labels(n=60, d=8, m=4)
    return X.astype(np.float32), Y.astype(np.int8)


def test_every_column_is_scikit_learns():
    X, Y = problem()
    got = svm.run(X, Y, C=C, seed=3).W
    for (p, strength), k in product(enumerate(C), range(4)):
        mine = Y[:, k] != 0
        learner = LinearSVC(C=strength, loss="hinge", fit_intercept=False, max_iter=10_000, random_state=3)
        learner.fit(X[mine].astype(float), Y[mine, k])
        np.testing.assert_array_equal(got[p, :, k], learner.coef_[0].astype(np.float32))


def test_it_is_the_minimum_of_the_documented_objective():
    X, Y = problem()
    trained = svm.run(X.astype(float), Y, C=C)
    rng = np.random.default_rng(0)
    for strength, W in zip(C, trained.W, strict=True):

        def value(W, strength=strength):
            return (W**2).sum(axis=0) / 2 + strength * oracles.loss_value("hinge", X @ W, Y)

        for _ in range(50):
            other = W + rng.normal(size=W.shape) * 10.0 ** rng.uniform(-3, 0)
            assert (value(W) <= value(other) * (1 + 1e-4)).all()


def test_objective_is_the_sum_of_hinge_losses_at_zero_and_at_the_solution():
    X, Y = problem()
    trained = svm.run(X.astype(float), Y, C=C)
    expected = [[np.count_nonzero(Y), oracles.loss_value("hinge", X @ W, Y).sum()] for W in trained.W]
    np.testing.assert_allclose(trained.objective, expected, rtol=1e-12)


def test_it_has_the_arrays_of_a_sweep_and_progress_counts_tasks():
    (X, Y), seen = problem(), []
    trained = svm.run(X, Y, C=C, progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_equal([trained.radius, trained.eta0, trained.gap], [C, [np.nan] * 3, [np.nan] * 3])
    assert trained.W.shape == (3, 8, 4) and trained.W.dtype == X.dtype
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_samples_outside_a_task_do_not_matter():
    X, Y = problem()
    Y[:20] = 0
    spoilt = X.copy()
    spoilt[:20] = np.nan
    np.testing.assert_array_equal(svm.run(spoilt, Y, C=C).W, svm.run(X, Y, C=C).W)


def test_tasks_that_do_not_converge_are_counted_and_no_warning_escapes():
    """Warnings are errors in this suite."""
    X, Y = problem()
    assert svm.run(X, Y, C=[1.0, 10.0], max_iter=1).unconverged.tolist() == [4, 4]
    assert svm.run(X, Y, C=C, max_iter=100_000).unconverged.tolist() == [0, 0, 0]


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_a_c_that_is_not_positive_is_refused(bad):
    with pytest.raises(ValueError, match=rf"'C' parameter .* Got {bad}"):
        svm.run(*problem(), C=[bad])


@pytest.mark.parametrize("n", [5, 7])
def test_labels_of_other_samples_are_refused(n):
    with pytest.raises(Misfit, match="Y must be a matrix with a row for each of 6 samples, got shape"):
        svm.run(np.ones((6, 2)), np.ones((n, 1)), C=[1])
