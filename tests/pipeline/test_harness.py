"""The clock and the recorder of experiments, and medians of measured seconds. No test looks at a duration."""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from jointsparse.pipeline.papers import harness


@pytest.fixture
def now(monkeypatch):
    """A clock that only tests move."""
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(harness, "time", SimpleNamespace(process_time=lambda: now.seconds))
    return now


@pytest.mark.parametrize(
    ("options", "steps", "seconds"),
    [
        ({}, [0, 1, 2, 3], [0, 2, 4, 6]),
        ({"at": {1, 3}}, [1, 3], [2, 6]),
        ({"restarts": True}, [0, 1, 2, 3], [0, 2, 2, 2]),
    ],
)
def test_the_clock_starts_with_the_first_state_and_stops_while_a_record_is_taken(now, options, steps, seconds):
    begun = []

    def method():
        begun.append(0)
        now.seconds += 50
        for step in range(4):
            yield harness.State(step, lambda step=step: np.full(2, step), flops=10.0 * step)
            now.seconds += 2

    def look(state):
        now.seconds += 7
        return {"largest": state.weights().max()}

    table = harness.record(method, look, **options)
    assert table.to_dict("list") == {
        "step": steps,
        "flops": [10.0 * step for step in steps],
        "seconds": seconds,
        "largest": steps,
    }
    assert len(begun) == 2  # the first one compiles


def test_measurements_are_taken_in_turn():
    order, done = [], []

    def task(name, seconds):
        return ({"method": name}, lambda: order.append(name) or next(seconds))

    table = harness.measure(
        [task("a", iter([3.0, 1.0, 2.0])), task("b", count(4.0))], 3, lambda i, of: done.append((i, of))
    )
    assert order == ["a", "b"] * 3 and done == [(i, 6) for i in range(1, 7)]
    assert list(table) == ["method", "repeats", "seconds", "low", "high"]
    assert table[["method", "repeats", "seconds"]].to_numpy().tolist() == [["a", 3, 2.0], ["b", 3, 5.0]]


@pytest.mark.parametrize(("each", "calls"), [(0.5e-3, 4), (5e-3, 1)])
def test_a_quick_call_is_repeated_and_a_slow_one_is_not(now, each, calls):
    called = []

    def call():
        called.append(0)
        now.seconds += each

    assert harness.seconds_of(call) == pytest.approx(each)
    assert len(called) == calls


@pytest.mark.parametrize("n", [6, 15])
def test_interval_of_the_median_covers_it_in_19_of_20_cases(n):
    rng = np.random.default_rng(n)
    found = [harness.median(rng.exponential(size=n)) for _ in range(2000)]
    # It is conservative, as it ends at measurements.
    assert 0.94 < np.mean([one["low"] <= np.log(2) <= one["high"] for one in found]) <= 1
    assert all(one["low"] <= one["seconds"] <= one["high"] for one in found)


@pytest.mark.parametrize("n", [1, 5])
def test_too_few_measurements_have_no_interval(n):
    assert harness.median([1.0] * n) == pytest.approx({"seconds": 1, "low": np.nan, "high": np.nan}, nan_ok=True)
