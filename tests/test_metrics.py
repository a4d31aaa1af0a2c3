"""AUC and EER of scores against scikit-learn and hand counts, and of images drawn again."""

import numpy as np
import oracles
import pytest
from conftest import draw_scores
from sklearn.metrics import roc_auc_score

from jointsparse.scores import metrics


@pytest.mark.parametrize("ties", [False, True])
def test_auc_is_scikit_learns(ties):
    scores, labels = draw_scores(ties=ties)
    expected = [roc_auc_score(labels[:, k], scores[:, k]) for k in range(labels.shape[1])]
    np.testing.assert_allclose(metrics.auc(scores, labels), expected, rtol=1e-12)


def test_auc_counts_pairs():
    scores = np.array([[3.0], [1.0], [2.0], [2.0]])
    labels = np.array([[True], [False], [True], [False]])
    assert metrics.auc(scores, labels) == pytest.approx([(1 + 1 + 1 + 0.5) / 4])


def test_auc_of_equal_scores_is_one_half():
    assert metrics.auc(np.zeros((5, 1)), np.array([[True], [False]] * 2 + [[True]])) == [0.5]


def test_auc_without_positives_is_undefined():
    assert np.isnan(metrics.auc(np.arange(3.0)[:, None], np.zeros((3, 1), dtype=bool)))[0]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eer_is_where_scikit_learns_roc_curve_meets_the_diagonal(ties, dtype):
    for seed in range(20):
        scores, labels = draw_scores(n=37, seed=seed, ties=ties)
        scores = scores.astype(dtype)
        expected = [oracles.slow_eer(scores[:, k], labels[:, k]) for k in range(labels.shape[1])]
        np.testing.assert_allclose(metrics.eer(scores, labels), expected, rtol=1e-12, atol=1e-15)


def test_eer_by_hand():
    labels = np.array([[True], [True], [False], [False], [False]])
    # One positive of two is above every negative, the other below one of three: rejected 1/2 meets accepted 1/3.
    assert metrics.eer(np.array([[5.0], [3.0], [4.0], [2.0], [1.0]]), labels) == pytest.approx([1 / 3])
    # Perfect, reversed, and all tied: accepted together, halfway along the only step.
    assert metrics.eer(np.array([[5.0], [4.0], [3.0], [2.0], [1.0]]), labels) == [0.0]
    assert metrics.eer(np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]), labels) == [1.0]
    assert metrics.eer(np.zeros((5, 1)), labels) == [0.5]


def test_infinite_scores_are_tied():
    labels = np.array([[True], [False]])
    assert metrics.eer(np.full((2, 1), np.inf), labels) == [0.5]


@pytest.mark.parametrize("labels", [np.zeros((3, 1), dtype=bool), np.ones((3, 1), dtype=bool)])
def test_eer_without_positives_or_negatives_is_undefined(labels):
    assert np.isnan(metrics.eer(np.arange(3.0)[:, None], labels))[0]


def test_eer_of_undefined_scores_is_undefined():
    scores, labels = draw_scores()
    scores[3, 1] = np.nan
    np.testing.assert_array_equal(np.isnan(metrics.eer(scores, labels)), np.arange(6) == 1)


def test_two_averages():
    by_task, positives = np.array([0.5, 0.9, 0.1]), np.array([10, 30, 5])
    plain, weighted = metrics.average(by_task, positives, np.array([True, True, False]))
    assert plain == pytest.approx(0.7)
    assert weighted == pytest.approx((0.5 * 10 + 0.9 * 30) / 40)


@pytest.mark.parametrize("ties", [False, True])
def test_resampled_metrics_are_those_of_repeated_images(ties):
    scores, labels = draw_scores(n=25, ties=ties)
    drawn = np.random.default_rng(0).multinomial(25, np.full(25, 1 / 25), 20)
    counts = np.vstack([np.ones(25, int), drawn]).astype(np.int32)
    got = metrics.resampled(scores, labels, counts)
    for b, count in enumerate(counts):
        some = np.repeat(np.arange(25), count)
        np.testing.assert_allclose(got[:, b], oracles.slow_metrics(scores[some], labels[some]), rtol=1e-12, atol=1e-15)
    assert np.isnan(got).any()  # the rare task is missing from some
    np.testing.assert_array_equal(got[0, 0], metrics.auc(scores, labels))
    np.testing.assert_array_equal(got[1, 0], metrics.eer(scores, labels))
