"""Measurements and counts of experiments: the clock, the recorder, what is timed, and operations.

No test depends on a duration. The tables are tested in test_experiments.py.
"""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from small_experiments import SIZES, table_of

from jointsparse.learning.l1_sparse import SparseL1Ball
from jointsparse.norms import l1, l1inf, l2
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

    table = harness.record(method, columns, **options)
    assert table.to_dict("list") == {
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

    assert harness.seconds_of(call) == pytest.approx(duration)
    assert len(called) == calls


@pytest.mark.parametrize("n", [6, 15])
def test_interval_of_the_median_covers_it_in_19_of_20_cases(n):
    rng = np.random.default_rng(n)
    medians = [harness.median(rng.exponential(size=n)) for _ in range(2000)]
    # It is conservative, because it ends at measurements.
    assert 0.94 < np.mean([row["low"] <= np.log(2) <= row["high"] for row in medians]) <= 1
    assert all(row["low"] <= row["seconds"] <= row["high"] for row in medians)


@pytest.mark.parametrize("n", [1, 5])
def test_too_few_measurements_have_no_interval(n):
    assert harness.median([1.0] * n) == pytest.approx({"seconds": 1, "low": np.nan, "high": np.nan}, nan_ok=True)


# What is timed


@pytest.fixture
def small(monkeypatch):
    for module, name, value in SIZES:
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(harness, "LEAST_SECONDS", 0.0)  # a single call each


def test_matrices_have_the_right_rows(small, monkeypatch):
    calls, real, vectors = [], l1inf.project, []

    def project(A, radius, *, out, **options):
        if "method" in options:
            calls.append((len(A), np.count_nonzero(A.any(axis=1)), round(radius / l1inf.norm(A), 9), options["method"]))
        return real(A, radius, out=out, **options)

    monkeypatch.setattr(cost.l1inf, "project", project)
    monkeypatch.setattr(cost, "_from_l1", lambda column: 0.0)
    monkeypatch.setattr(cost.l1, "project", lambda v, radius, *, out, method: vectors.append((v.shape, method)))
    table_of("cost", repeats=1)
    assert vectors == [((40 * d,), "pivot") for d in (10, 10, 30)]  # with the same number of entries
    assert calls == [
        *((10, 10, 0.1, method) for method in ("sort", "newton")),  # for compiling
        (10, 10, 0.1, "sort"),  # for tracing
        *((d, d, 0.1, method) for d in (10, 30) for method in ("sort", "newton")),
        *((640 // m, 640 // m, 0.1, "sort") for m in cost.SHAPED_TASKS),
        *((d, d, 0.1, "sort") for d in (10, 30)),  # with one task
        *((50, 5, 0.1, method) for method in ("sort", *["newton"] * 5)),
    ]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_difference_from_a_vector_is_a_magnitude(monkeypatch, sign):
    apart, real = np.array([sign * 0.2, 0]), l1.project
    monkeypatch.setattr(cost.l1, "project", lambda *given, **options: real(*given, **options) + apart)
    assert cost._from_l1(np.array([[3.0], [1.0]])) == pytest.approx(0.5)  # the radius is 0.4


def test_peak_bytes_are_the_bytes_held_at_the_same_time(monkeypatch):
    A = np.ones((100, 4))

    def project(A, radius, *, out, method):
        assert method == "sort" and out.shape == A.shape
        held = np.zeros(50_000), np.zeros(10_000)  # 8 bytes per entry
        del held
        np.zeros(30_000)

    monkeypatch.setattr(cost.l1inf, "project", project)
    assert cost._peak_bytes(A) == pytest.approx(480_000, rel=0.01)


def test_the_linear_program_gives_the_optimum_that_subgradients_approach():
    """The optimum is a lower bound, and both methods train the same tasks."""
    drawn = cost.draw(n_features=20, n_tasks=4, n_train=15, n_validation=0, n_test=0, rng=np.random.default_rng(0))
    for m in (1, 3):
        columns = {method: {} for method in cost.TRAINERS}
        assert all(cost._training(columns[method], method, drawn, m) >= 0 for method in columns)
        program, fit = (row["objective"] for row in columns.values())
        # The samples, and therefore the margins in the fit's objective, are in single precision.
        assert program <= fit * (1 + 1e-6) and fit == pytest.approx(program, rel=0.01)


# Projections onto the l1 ball


def test_methods_call_the_functions_that_they_are_named_after():
    assert {name: (call.args[0], call.keywords) for name, call in projection.METHODS.items()} == {
        **{name: (l1, {"method": name}) for name in ("sort", "pivot", "newton")},
        "l2": (l2, {}),
    }
    assert projection.POINTS["verbatim"].keywords == {"method": "pivot"}


@pytest.mark.parametrize("k", [5, 100])
def test_updates_of_all_methods_agree_and_most_entries_stay_non_zero(k):
    v, points = np.random.default_rng(0).normal(size=1000), {}
    radius = l1.norm(v)
    for method in ("tree", "full", "verbatim"):
        update, rng = projection.POINTS[method](v, radius), np.random.default_rng(1)
        for _ in range(1000):
            w = update(rng.choice(1000, k, replace=False), 0.3 * rng.normal(size=k))
        points[method] = update.__self__.toarray() if method == "tree" else w
    np.testing.assert_allclose(points["tree"], points["full"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(points["verbatim"], points["full"], rtol=0, atol=1e-12)
    assert np.count_nonzero(points["tree"]) >= 880 and np.abs(w - v).max() > 0.5
    assert l1.norm(w) == pytest.approx(radius, rel=0.02)


def test_seconds_are_those_of_one_update_and_of_one_iteration(clock, monkeypatch):
    def spend(*_):
        clock.seconds += 3

    def fit(X, y, W, n_iter, watch):
        for _ in range(n_iter):
            watch()
            spend()

    for module, name, value in [(projection, "time", harness.time), (cost, "time", harness.time), (cost, "_fit", fit)]:
        monkeypatch.setattr(module, name, value)
    assert projection._updates(spend, 9, 2, np.random.default_rng(0)) == 3
    data = SimpleNamespace(X_train=np.zeros((1, 1, 1)), y_train=np.zeros((1, 1)), W=None)
    assert cost._iteration(data, 1) == 3


def test_all_methods_see_the_same_updates(small, monkeypatch):
    seen = {}

    def recorder(method):
        return lambda point, radius: lambda indices, values: seen.setdefault(method, []).append((indices, values))

    monkeypatch.setattr(projection, "POINTS", {method: recorder(method) for method in ("tree", "full", "entropic")})
    table_of("projection", repeats=1, non_zeros=[20])
    expected, *others = (updates[projection.N_UPDATES :] for updates in seen.values())  # the first ones compile
    assert len(expected) == 2 * projection.N_UPDATES and len(others) == 2
    for other in others:
        np.testing.assert_equal(other, expected)


def test_steps_of_exponentiated_gradient_go_against_the_gradient(monkeypatch):
    steps = []

    class Entropic:
        def __init__(self, n, z):
            self.step = lambda indices, values, eta: steps.append((n, z, list(indices), list(values), eta))

    monkeypatch.setattr(projection, "SparseEntropic", Entropic)
    projection.POINTS["entropic"](np.ones(2), 3.0)(np.array([1]), np.array([0.5]))
    assert steps == [(2, 3.0, [0, 1], [0, 0], 0), (2, 3.0, [1], [-0.5], 1)]


# Counted operations: the plain Python versions project like the library


class Draws:
    """A random generator that returns given integers."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def integers(self, high):
        assert self.numbers[0] < high
        return self.numbers.pop(0)


@pytest.mark.parametrize(
    ("pivots", "compared"),
    [
        ([0, 0, 0], 4 + 3 + 2),  # 4 is above theta and removed, then 3; 2 is below, and nothing above it is left
        ([1, 0], 4 + 2),  # 4 and 3 are removed together
        ([3, 2, 0, 0], 4 + 3 + 2 + 1),  # 1 is below theta and removed, then 2, and then 4 and 3 from above
    ],
)
def test_entries_compared_with_each_pivot_are_counted(pivots, compared):
    """Theta is 2.5: (4 - 2.5) + (3 - 2.5) = 2."""
    assert operations.pivot(np.array([4.0, 3.0, 2.0, 1.0]), 2.0, Draws(*pivots)) == (2.5, compared)


@pytest.mark.parametrize("n", [1, 2, 3000])
@pytest.mark.parametrize("share", [1e-3, 0.9])
def test_pivot_agrees_with_the_library(n, share):
    rng = np.random.default_rng(n)
    v = np.abs(rng.normal(size=n))
    theta, compared = operations.pivot(v, share * v.sum(), rng)
    np.testing.assert_allclose(np.maximum(v - theta, 0), l1.project(v, share * v.sum()), rtol=0, atol=1e-12)
    assert n <= compared <= n * (n + 1) / 2


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
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


def test_visits_of_a_tree_with_one_node_agree_with_a_count_by_hand():
    """Two visits to remove the node, in the splits before and after it, one for the pivot and one for the zeros."""
    tree = operations.Tree(np.array([-2.0]), np.random.default_rng(0))
    tree.add(np.array([0]), np.array([-1.0]))
    assert (tree.toarray().tolist(), tree.visits) == ([-2.0], 4)
