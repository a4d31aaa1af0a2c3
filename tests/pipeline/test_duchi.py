"""The harness of Duchi's comparisons, the pass of the online experiment, and the bounds of the race.

The solvers are tested in test_descent.py and test_digits.py, the tables in test_experiments.py.
"""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from samples import labelled_samples
from small_experiments import EXPERIMENTS, FOLDER, table_of

from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi import comparison, online, race
from jointsparse.pipeline.papers.duchi.entropic import Entropic, SparseEntropic
from jointsparse.pipeline.papers.duchi.interior_point import interior_point
from jointsparse.pipeline.papers.duchi.objective import Objective
from jointsparse.pipeline.papers.duchi.steps import Diverged, Projected
from jointsparse.pipeline.papers.harness import State

# The harness


def test_the_best_step_sizes_are_kept_with_warnings_about_them_and_those_that_diverge_left_out():
    def run(schedule, eta0):
        if eta0 == 100:
            raise Diverged
        last = {("1/t", 1): 3.0, ("1/t", 10): 2.0, ("constant", 1): 4.0, ("constant", 10): 2.0}[schedule, eta0]
        return pd.DataFrame({"loss": [5.0, 1.0 if last == 4 else 6.0, last]})

    best = comparison.best_of(run, ["1/t", "constant"], [1, 10, 100], by="loss")
    expected = {"loss": [5.0, 6.0, 2.0], "schedule": ["1/t"] * 3, "eta0": [10] * 3, "lowest": [5.0, 1.0, 1.0]}
    assert best.to_dict("list") == expected | {"warning": [""] * 3}
    assert set(comparison.best_of(run, ["1/t"], [1, 10], by="loss")["warning"]) == {
        "eta0 at the upper edge of its grid"
    }
    flat = comparison.best_of(lambda *_: pd.DataFrame({"objective": [1.0, 1.0]}), ["1/t"], [1])
    assert set(flat["warning"]) == {"the last objective is no lower than the first"}
    with pytest.raises(ValueError, match=r"descent diverged for every eta0 in \[100\]: choose a smaller eta0"):
        comparison.best_of(run, ["1/t"], [100])


def test_the_best_runs_are_repeated_in_turn_for_the_median_of_their_seconds(clock):
    begun, ticks = [], []

    def begin(method, schedule, eta0):
        begun.append((method, eta0))
        if eta0 == 100:
            raise Diverged
        yield State(0, dict, details=9.0)
        clock.seconds += len(begun) if eta0 == 2 else 1000
        yield State(1, dict, details=eta0)

    grids = {"a": [2.0, 4.0, 100.0], "b": [2.0, 4.0]}
    table = comparison.best_runs(
        begin, lambda state: {"objective": state.details}, grids, ["1/t"], repeats=3, tick=lambda: ticks.append(0)
    )
    assert table[["method", "eta0", "step", "objective"]].to_numpy().tolist() == [
        [method, 2.0, step, objective] for method in "ab" for step, objective in ((0, 9.0), (1, 2.0))
    ]
    runs = [("a", 2.0), ("a", 4.0), ("a", 100.0), ("b", 2.0), ("b", 4.0)] + [("a", 2.0), ("b", 2.0)] * 2
    assert begun == [run for run in runs for _ in range(1 if run[1] == 100 else 2)]  # the first time compiles
    # A run takes as many seconds as runs have begun: a 2, 11 and 15, b 7, 13 and 17.
    assert table["seconds"].tolist() == [0, 11, 0, 13] and len(ticks) == len(runs)


@pytest.mark.parametrize(
    ("kind", "options", "rows"),
    [
        ("exponentiated", {"radius": [1.0], "n_iter": {"stochastic 1": 12}}, "radius == 1 and form == 'stochastic 1'"),
        ("digits", {"radius": [5.0], "n_iter": {"stochastic 1": 9}}, "radius == 5 and form == 'stochastic 1'"),
        ("online", {"radius": [0.5]}, "radius == 0.5"),
        ("race", {"sizes": [20], "problems": ["squared"]}, "n == 20 and problem == 'squared'"),
    ],
)
def test_neither_other_problems_nor_step_sizes_that_overflow_change_a_row(kind, options, rows):
    expected = pd.read_csv(FOLDER / f"{kind}.csv").query(rows)
    got = table_of(kind, eta0=[*EXPERIMENTS[kind].options["eta0"], 1e300], **options)
    # The bound that suboptimality is measured from is that of all forms.
    columns = [*expected.columns.drop(["warning", "suboptimality", "best_suboptimality"], errors="ignore")]
    assert not got.empty and (got["eta0"].dropna() < 1e300).all()
    pd.testing.assert_frame_equal(
        got[columns], expected[columns].reset_index(drop=True), rtol=1e-4, atol=1e-5, check_dtype=False
    )


# Online


@pytest.mark.parametrize(
    ("lazy", "dense"),
    [
        (online.SparseProjected(25, 2.0), Projected(np.zeros(25), 2.0, l1.project)),
        (SparseEntropic(25, 2.0), Entropic(25, 2.0)),
    ],
)
def test_a_pass_steps_after_each_example_and_scores_it_before(lazy, dense):
    X, y, _ = labelled_samples(40, n_test=10)
    states = online.pass_over(Objective(X, y, loss="logistic"), lazy, np.linspace(3, 1, 40))
    margins = []
    for x, label, eta, state in zip(X.toarray(), y, np.linspace(3, 1, 40), states, strict=True):
        margins.append(label * (x @ dense.toarray()))
        dense.step(-label / (1 + np.exp(margins[-1])) * x, eta)
        np.testing.assert_allclose(state.weights(), dense.toarray(), atol=1e-12)
        errors = np.where(np.array(margins) == 0, 0.5, np.array(margins) < 0)
        expected = {"loss": np.log1p(np.exp(-np.array(margins))).mean(), "error": errors.mean()}
        got = online.columns(state)
        assert {name: got[name] for name in expected} == pytest.approx(expected, rel=1e-9)
        assert got["non_zero"] == np.count_nonzero(np.abs(dense.toarray()) > 1e-14) / 25


# Race


def test_one_label_of_ten_is_flipped():
    X, y, w = race.draw("logistic", 1001, np.random.default_rng(0))
    assert 0.07 < (y != np.sign(X @ w)).mean() < 0.13


def test_line_search_is_certified_by_other_bounds_if_the_interior_point_method_stops_early(monkeypatch):
    monkeypatch.setattr(race, "interior_point", partial(interior_point, n_iter=5))
    table = table_of("race", problems=["squared"], sizes=[40], n_iter=3000, eta0=[1.0]).set_index("method")
    assert table.loc["interior-point", "warning"].str.fullmatch("optimum certified only to: [0-9.e-]+").all()
    last = table.groupby(level=0)["suboptimality"].last()
    assert last["line-search"] < 1e-6 < last["interior-point"]
