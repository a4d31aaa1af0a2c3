"""Statistics agree with scikit-learn, counts by hand and repeated samples; sign tests agree with SciPy."""

import tracemalloc

import numpy as np
import oracles
import pytest
from common import draw_scores
from scipy import stats

from jointsparse import metrics

ALL = metrics.STATISTICS | {"eer": metrics.EER}


@pytest.mark.parametrize("key", ALL)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_statistics_agree_with_scikit_learn(key, ties, dtype):
    for seed in range(5):
        scores, labels = draw_scores(n=37, seed=seed, ties=ties)
        expected = oracles.slow_statistic(key, scores.astype(dtype), labels)
        np.testing.assert_allclose(ALL[key](scores.astype(dtype), labels), expected, rtol=1e-12, atol=1e-15)


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
def test_by_hand(metric, scores, labels, expected):
    got = getattr(metrics, metric)(np.array(scores, dtype=float)[:, np.newaxis], np.array(labels)[:, np.newaxis])
    np.testing.assert_allclose(got, [expected], rtol=1e-15)


@pytest.mark.parametrize("key", ALL)
def test_statistics_of_undefined_scores_are_undefined(key):
    scores, labels = draw_scores()
    scores[3, 1] = np.nan
    np.testing.assert_array_equal(np.isnan(ALL[key](scores, labels)), np.arange(6) == 1)


@pytest.mark.parametrize("key", ALL)
@pytest.mark.parametrize("ties", [False, True])
def test_resampled_statistics_are_those_of_repeated_samples(key, ties):
    scores, labels = draw_scores(n=25, ties=ties)
    counts = metrics.resample(25, 20, np.random.default_rng(0))
    got = ALL[key].resampled(scores, labels, counts)
    for b, count in enumerate(counts):
        some = np.repeat(np.arange(25), count)
        expected = oracles.slow_statistic(key, scores[some], labels[some])
        np.testing.assert_allclose(got[b], expected, rtol=1e-12, atol=1e-15)
    assert np.isnan(got).any()  # some resamples hold no positive of the rare task
    np.testing.assert_array_equal(got[0], ALL[key](scores, labels))


def test_precisions_are_computed_for_a_few_resamples_at_a_time(monkeypatch):
    scores, labels = draw_scores(n=300, m=2)
    counts, precision = metrics.resample(300, 200, np.random.default_rng(0)), metrics.STATISTICS["precision_at_10"]
    expected = precision.resampled(scores, labels, counts)
    monkeypatch.setattr(metrics, "COUNTS_AT_ONCE", 1000)
    tracemalloc.start()
    got = precision.resampled(scores, labels, counts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(got, expected)
    assert peak < counts.nbytes  # twenty times as much for all at once


# Sign tests


def test_sign_test_is_binomtest_on_its_counts():
    f, labels = draw_scores(seed=1)
    tested = metrics.sign_test(f, draw_scores(seed=2)[0], labels, n_pairings=20, rng=np.random.default_rng(0))
    for wins, losses, p, p_reverse in zip(*tested, strict=True):
        assert p == pytest.approx(stats.binomtest(wins, wins + losses, alternative="greater").pvalue)
        assert p_reverse == pytest.approx(stats.binomtest(losses, wins + losses, alternative="greater").pvalue)


TWO = np.array([[True], [False]])
# Every pair is a win, so the number of wins is the number of pairs: min(positives, negatives), summed over tasks.
SEVEN = np.array([[True, True]] * 2 + [[True, False]] * 3 + [[False, False]] * 2)
DRAWN, LABELS = draw_scores()


@pytest.mark.parametrize(
    "f, g, labels, counts, p",
    [
        pytest.param(TWO + 1.0, 2.0 - TWO, TWO, (1, 0), (0.5, 1), id="counts by hand"),
        pytest.param(DRAWN, DRAWN, LABELS, (0, 0), (1, 1), id="ties are dropped, and equal classifiers are undecided"),
        pytest.param(TWO + 1.0, TWO * 0.0, TWO, (0, 0), (1, 1), id="a tie of one classifier is no win"),
        pytest.param(
            SEVEN * 1.0, SEVEN * -1.0, SEVEN, (4, 0), (1 / 16, 1), id="each sample is in at most one pair of a task"
        ),
    ],
)
def test_sign_test_by_hand(f, g, labels, counts, p):
    tested = metrics.sign_test(f, g, labels, n_pairings=4, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(tested[:2], np.repeat(counts, 4).reshape(2, 4))
    np.testing.assert_allclose(tested[2:], np.repeat(p, 4).reshape(2, 4))


@pytest.mark.parametrize(("p_values", "expected"), [([0.01], 0.02), ([0.01] * 2, 0.04), ([0.01] * 3, 0.04)])
def test_several_runs_double_the_p_value(p_values, expected):
    assert metrics.over_runs(p_values) == pytest.approx(expected)


def test_intervals_hold_the_middle_95_per_cent_of_the_resamples():
    resamples = np.arange(1001.0)[:, np.newaxis] / 1000
    np.testing.assert_allclose(metrics.estimates(np.vstack([[[0.4]], resamples]))[:, 0], [0.4, 0.025, 0.975])
