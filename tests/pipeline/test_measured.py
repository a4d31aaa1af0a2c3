"""Measurements and counts of experiments: the clock, the recorder, what is timed, and operations.

No test depends on a duration. The tables are tested in test_experiments.py.
"""

from itertools import count
from unittest.mock import patch

import numpy as np
import pytest
from small_experiments import table_of

from jointsparse.learning.l1_sparse import SparseL1Ball
from jointsparse.norms import l1, l1inf
from jointsparse.pipeline.papers import harness
from jointsparse.pipeline.papers.duchi import operations, projection
from jointsparse.pipeline.papers.quattoni import cost

# The clock and the recorder


@pytest.mark.parametrize(
    ("options", "steps", "seconds"),
    [
        ({}, [0, 1, 2, 3], [0, 2, 4, 6]),
        ({"at": {1, 3}}, [1, 3], [2, 6]),
        ({"restarts": True}, [0, 1, 2, 3], [0, 2, 2, 2]),
    ],
)
def test_the_clock_starts_with_the_first_state_and_stops_while_a_record_is_taken(clock, options, steps, seconds):
    begun = []

    def method():
        begun.append(0)
        clock.seconds += 50
        for step in range(4):
            yield harness.State(step, lambda step=step: np.full(2, step), flops=10.0 * step)
            clock.seconds += 2

    def columns(state):
        clock.seconds += 7
        return {"largest": state.weights().max()}

    assert harness.record(method, columns, **options).to_dict("list") == {
        "step": steps,
        "flops": [10.0 * step for step in steps],
        "seconds": seconds,
        "largest": steps,
    }
    assert len(begun) == 2  # the first start compiles


def test_measurements_are_taken_in_turn():
    order, done = [], []

    def measured(name, seconds):
        return harness.Measurement({"method": name}, lambda: order.append(name) or next(seconds))

    table = harness.measure(
        [measured("a", iter([3.0, 1.0, 2.0])), measured("b", count(4.0))], 3, lambda i, of: done.append((i, of))
    )
    assert order == ["a", "b"] * 3 and done == [(i, 6) for i in range(1, 7)]
    assert list(table) == ["method", "repeats", "seconds", "low", "high"]
    assert table[["method", "repeats", "seconds"]].to_numpy().tolist() == [["a", 3, 2.0], ["b", 3, 5.0]]


@pytest.mark.parametrize(("duration", "calls"), [(0.5e-3, 4), (5e-3, 1)])
def test_a_quick_call_is_repeated_and_a_slow_call_is_not(clock, duration, calls):
    called = []

    def call():
        called.append(0)
        clock.seconds += duration

    assert harness.seconds_of(call) == pytest.approx(duration) and len(called) == calls


# What is timed


def test_matrices_have_the_right_rows(monkeypatch):
    monkeypatch.setattr(cost, "_from_l1", lambda column: 0.0)
    with patch.object(l1inf, "project", wraps=l1inf.project) as project:
        table_of("cost", repeats=1)
    calls = [
        (len(A), np.count_nonzero(A.any(axis=1)), round(radius / l1inf.norm(A), 9), options["method"])
        for (A, radius), options in project.call_args_list
        if "method" in options
    ]
    assert calls == [
        *((10, 10, 0.1, method) for method in ("sort", "newton")),  # for compiling
        (10, 10, 0.1, "sort"),  # for tracing
        *((d, d, 0.1, method) for d in (10, 30) for method in ("sort", "newton")),
        *((640 // m, 640 // m, 0.1, "sort") for m in cost.SHAPED_TASKS),
        *((d, d, 0.1, "sort") for d in (10, 30)),  # with one task
        *((50, 5, 0.1, method) for method in ("sort", *["newton"] * 5)),
    ]


def test_vectors_are_projected_by_the_methods_that_the_rows_name():
    with patch.object(l1, "project", wraps=l1.project) as project:
        table_of("projection", repeats=1, non_zeros=[20])
    calls = [(len(call.args[0]), call.kwargs["method"]) for call in project.call_args_list if "method" in call.kwargs]
    assert calls[-38:] == [
        *((n, method) for n in (10, 30) for method in ("sort", "pivot", "newton")),
        *((7, method) for method in ("pivot", "newton")),  # after a gradient step
        *[(20, "newton")] * 2 * projection.N_UPDATES,  # two numbers of touched coordinates
        *[(20, "pivot")] * projection.N_UPDATES,  # only the largest number
    ]


def test_peak_bytes_are_the_bytes_held_at_the_same_time(monkeypatch):
    def project(A, radius, *, out, method):
        held = np.zeros(50_000), np.zeros(10_000)  # 8 bytes per entry
        del held
        np.zeros(30_000)

    monkeypatch.setattr(l1inf, "project", project)
    assert cost._peak_bytes(np.ones((100, 4))) == pytest.approx(480_000, rel=0.01)


def test_seconds_are_those_of_one_update(clock, monkeypatch):
    def spend(*_):
        clock.seconds += 3

    monkeypatch.setattr(projection, "time", harness.time)
    assert projection._updates(spend, 9, 2, np.random.default_rng(0)) == 3


def test_updates_of_all_methods_agree(rng):
    v = rng.normal(size=50)
    tree, full, verbatim = (projection.POINTS[method](v, l1.norm(v)) for method in ("tree", "full", "verbatim"))
    for update in [(rng.choice(50, 9, replace=False), 0.3 * rng.normal(size=9)) for _ in range(20)]:
        tree(*update)
        np.testing.assert_allclose([full(*update), verbatim(*update)], [tree.__self__.toarray()] * 2, atol=1e-12)


def test_all_methods_see_the_same_updates(monkeypatch):
    seen = {"tree": [], "full": [], "entropic": []}
    recorders = {m: lambda point, radius, m=m: lambda *update: seen[m].append(update) for m in seen}
    monkeypatch.setattr(projection, "POINTS", recorders)
    table_of("projection", repeats=1, non_zeros=[20])
    first, *others = (updates[projection.N_UPDATES :] for updates in seen.values())  # the first ones compile
    assert len(first) == 2 * projection.N_UPDATES
    for other in others:
        np.testing.assert_equal(other, first)


# Counted operations: the plain Python versions project like the library


@pytest.mark.parametrize("n", [1, 2, 3000])
@pytest.mark.parametrize("share", [1e-3, 0.9])
def test_pivot_agrees_with_the_library(n, share):
    rng = np.random.default_rng(n)
    v = np.abs(rng.normal(size=n))
    theta, compared = operations.pivot(v, share * v.sum(), rng)
    np.testing.assert_allclose(np.maximum(v - theta, 0), l1.project(v, share * v.sum()), rtol=0, atol=1e-12)
    assert n <= compared <= n * (n + 1) / 2


@pytest.mark.parametrize("scale", [0.1, 5.0])
def test_the_tree_agrees_with_the_library(scale):
    rng = np.random.default_rng(3)
    start = rng.normal(size=60)
    tree, ball = operations.Tree(start, rng), SparseL1Ball(60, l1.norm(start), start)
    for _ in range(30):
        indices, values = rng.choice(60, 8, replace=False), scale * rng.normal(size=8)
        tree.add(indices, values)
        ball.add(indices, values)
        np.testing.assert_allclose(tree.toarray(), ball.toarray(), rtol=0, atol=1e-10)
    assert tree.root.size == ball.count_nonzero()
    assert scale < 1 or ball.count_nonzero() < 60  # zeros have been removed
