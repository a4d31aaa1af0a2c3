"""Measured seconds."""

import time

import numpy as np
import pytest

from jointsparse.papers import timing


def test_a_quick_call_is_repeated_and_a_slow_one_is_not():
    calls = []
    assert 0 < timing.seconds_of(lambda: calls.append(0)) < timing.LEAST_SECONDS
    assert len(calls) > 10

    def slow():
        calls.append(0)
        start = time.process_time()
        while time.process_time() - start < 2 * timing.LEAST_SECONDS:
            pass

    calls.clear()
    assert timing.seconds_of(slow) >= 2 * timing.LEAST_SECONDS
    assert len(calls) == 1


@pytest.mark.parametrize("n", [6, 7, 15, 40])
def test_interval_of_the_median_covers_it_in_19_of_20_cases(n):
    rng = np.random.default_rng(n)
    found = [timing.median(rng.exponential(size=n)) for _ in range(2000)]
    covered = np.mean([one["low"] <= np.log(2) <= one["high"] for one in found])
    assert 0.94 < covered <= 1  # it is conservative, as it ends at measurements
    assert all(one["low"] <= one["seconds"] <= one["high"] for one in found)


@pytest.mark.parametrize("n", [1, 5])
def test_too_few_measurements_have_no_interval(n):
    found = timing.median([1.0] * n)
    np.testing.assert_equal([found["seconds"], found["low"], found["high"]], [1, np.nan, np.nan])
