"""The harness of Duchi's comparisons, the random problems of the race, and the pass of the online experiment.

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


def test_the_best_step_sizes_are_kept_and_those_that_diverge_left_out():
    def run(schedule, eta0):
        if eta0 == 100:
            raise Diverged
        last = {("1/t", 1): 3.0, ("1/t", 10): 2.0, ("constant", 1): 4.0, ("constant", 10): 2.0}[schedule, eta0]
        return pd.DataFrame({"loss": [5.0, 1.0 if last == 4 else 6.0, last]})

    best = comparison.best_of(run, ["1/t", "constant"], [1, 10, 100], by="loss")
    expected = {"loss": [5.0, 6.0, 2.0], "schedule": ["1/t"] * 3, "eta0": [10] * 3, "lowest": [5.0, 1.0, 1.0]}
    assert best.to_dict("list") == expected | {"warning": [""] * 3}
    edge = comparison.best_of(run, ["1/t"], [1, 10], by="loss")
    assert set(edge["warning"]) == {"eta0 at the upper edge of its grid"}
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


@pytest.mark.parametrize(("bound", "expected"), [(1.0, [1.0, 0.0]), (2.5, [0.75, -0.25])])
def test_suboptimality_is_the_distance_from_the_best_bound(bound, expected):
    records = pd.DataFrame({"objective": [4.0, 2.0], "bound": [0.0, 2.0]})
    assert comparison.Comparison(dict, 2.0, bound).suboptimality(records).tolist() == expected


@pytest.mark.parametrize(
    ("kind", "options", "rows"),
    [
        ("exponentiated", {"radius": [1.0], "n_iter": {"stochastic 1": 12}}, "radius == 1 and form == 'stochastic 1'"),
        ("digits", {"radius": [5.0], "n_iter": {"stochastic 1": 9}}, "radius == 5 and form == 'stochastic 1'"),
        ("online", {"radius": [0.5]}, "radius == 0.5"),
        ("race", {"sizes": [20], "problems": ["squared"]}, "n == 20 and problem == 'squared'"),
    ],
)
def test_neither_other_problems_nor_step_sizes_that_overflow_change_a_row(kind, options, rows, monkeypatch):
    monkeypatch.setattr(race, "N_RECORDS", 4)
    expected = pd.read_csv(FOLDER / f"{kind}.csv").query(rows)
    got = table_of(kind, eta0=[*EXPERIMENTS[kind].options["eta0"], 1e300], **options)
    # The bound that suboptimality is measured from is that of all forms.
    columns = [*expected.columns.drop(["warning", "suboptimality", "best_suboptimality"], errors="ignore")]
    assert not got.empty and (got["eta0"].dropna() < 1e300).all()
    pd.testing.assert_frame_equal(
        got[columns], expected[columns].reset_index(drop=True), rtol=1e-4, atol=1e-5, check_dtype=False
    )


@pytest.mark.parametrize(("n_samples", "size"), [(402, 100), (403, 101), (1, 1)])
def test_a_quarter_of_the_samples_is_rounded_and_never_none(n_samples, size):
    assert comparison.batch_size("batch 25%", n_samples) == size


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


def test_a_pass_may_have_more_records_than_examples():
    few = table_of("online", data=labelled_samples(15, n_test=10)[2], n_records=20)
    assert few["examples"].tolist() == [1, 2, 3, 4, 5] * 4


# Race


def test_targets_are_noisy_scores_and_labels_are_sometimes_flipped():
    X, y, w = race.draw("squared", 1001, np.random.default_rng(0))
    for numbers, atol in ((y - X @ w, 0.1), (X, 0.01)):
        np.testing.assert_allclose([numbers.mean(), numbers.std()], [0, 1], atol=atol)
    assert abs(w[w != 0].std() - 1) < 0.1 and np.count_nonzero(w == 0) == 500
    X_again, labels, w_again = race.draw("logistic", 1001, np.random.default_rng(0))
    assert (X_again == X).all() and (w_again == w).all() and set(labels) == {-1.0, 1.0}
    assert 0.07 < (labels != np.sign(X @ w)).mean() < 0.13


def solve(problem, seed=0, **options):
    small = {name: value for name, value in EXPERIMENTS["race"].options.items() if name not in ("problems", "sizes")}
    table = race.solve_by_each(problem, 40, rng=np.random.default_rng(seed), **small | options)
    return table.set_index("method")


@pytest.mark.parametrize("problem", ["squared", "logistic"])
def test_bounds_are_below_the_optimum_and_near(problem):
    table = solve(problem, eta0=[1.0], passes=[300])
    X, y, _ = race.draw(problem, 40, np.random.default_rng(0))
    f, penalty, radius = Objective(X, y, loss=problem), table["penalty"].iloc[0], table["radius"].iloc[0]
    at_zero = f.value(np.zeros(40))
    assert penalty == pytest.approx(0.03 * np.abs(f.tangent(np.zeros(40)).gradient).max())
    *_, best = interior_point(f, penalty, tol=1e-12)  # far better than the solutions of the table
    w = best.weights()
    optimum = pd.Series(f.value(f.X @ l1.project(w, radius)), ["batch", "stochastic", "line-search"])
    optimum = pd.concat(
        [optimum, pd.Series(f.value(f.X @ w) + penalty * np.abs(w).sum(), ["coordinate-descent", "interior-point"])]
    )
    # At w = 0 the objective is at_zero for each problem.
    bound = at_zero * (1 - table.loc[table["step"] == 0, "suboptimality"])
    assert (optimum - 3e-7 * at_zero < bound).all() and (bound <= optimum * (1 + 1e-12)).all()
    assert (table["suboptimality"] > -1e-12).all() and table.loc["interior-point", "suboptimality"].iloc[-1] < 1e-7
    assert not table.loc["interior-point", "warning"].any()


def test_bounds_of_the_ball_survive_an_interior_point_method_that_stops_early(monkeypatch):
    monkeypatch.setattr(race, "interior_point", partial(interior_point, n_iter=5))
    table = solve("squared", n_iter=3000, eta0=[1.0])
    assert table.loc["interior-point", "warning"].str.fullmatch("optimum certified only to: [0-9.e-]+").all()
    last = table.groupby(level=0)["suboptimality"].last()
    assert last["line-search"] < 1e-6 < last["interior-point"]
