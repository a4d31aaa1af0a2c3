"""Statistics agree with scikit-learn, counts by hand and repeated samples; sign tests agree with SciPy."""

import numpy as np
import oracles
import pytest
from common import draw_scores
from scipy import stats

from jointsparse import metrics

ALL = metrics.STATISTICS | {"eer": metrics.EER}


@pytest.mark.parametrize("key", ALL)
@pytest.mark.parametrize(("ties", "dtype"), [(False, np.float64), (True, np.float32)])
def test_statistics_agree_with_scikit_learn_and_are_nan_for_undefined_scores(key, ties, dtype):
    scores, labels = draw_scores(n=37, ties=ties)
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
def test_by_hand(metric, scores, labels, expected):
    got = getattr(metrics, metric)(np.array(scores, dtype=float)[:, np.newaxis], np.array(labels)[:, np.newaxis])
    np.testing.assert_allclose(got, [expected], rtol=1e-15)


@pytest.mark.parametrize("key", ALL)
@pytest.mark.parametrize(("ties", "at_once"), [(False, metrics.COUNTS_AT_ONCE), (True, 50)])
def test_resampled_statistics_are_those_of_repeated_samples(key, ties, at_once, monkeypatch):
    monkeypatch.setattr(metrics, "COUNTS_AT_ONCE", at_once)  # a few resamples at a time
    scores, labels = draw_scores(n=25, ties=ties)
    counts = metrics.resample(25, 20, np.random.default_rng(0))
    got = ALL[key].resampled(scores, labels, counts)
    drawn = [np.repeat(np.arange(25), count) for count in counts]
    expected = [oracles.slow_statistic(key, scores[rows], labels[rows]) for rows in drawn]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)
    assert np.isnan(got).any()  # some resamples hold no positive of the rare task


# Sign tests


def test_sign_test_is_binomtest_on_its_counts():
    f, labels = draw_scores(seed=1)
    tested = metrics.sign_test(f, draw_scores(seed=2)[0], labels, n_pairings=20, rng=np.random.default_rng(0))
    for wins, losses, *got in zip(*tested, strict=True):
        expected = [stats.binomtest(k, wins + losses, alternative="greater").pvalue for k in (wins, losses)]
        assert got == pytest.approx(expected)


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


def test_several_runs_double_the_p_value_and_a_missing_one_counts_as_1():
    runs = [0.01], [0.01] * 2, [0.01, 0.01, 0.5], [0.01, np.nan, np.nan]
    assert [metrics.over_runs(p) for p in runs] == pytest.approx([0.02, 0.04, 0.04, 1.0])


def test_intervals_hold_the_middle_95_per_cent_of_the_resamples():
    resamples = np.arange(1001.0)[:, np.newaxis] / 1000
    np.testing.assert_allclose(metrics.estimates(np.vstack([[[0.4]], resamples]))[:, 0], [0.4, 0.025, 0.975])
