"""Suboptimality by method: what is drawn, records against the methods called one by one, certified bounds."""

import numpy as np
import pandas as pd
import pytest

from jointsparse.norms import l1
from jointsparse.papers.duchi import descent, race
from jointsparse.papers.duchi.descent import Objective
from jointsparse.papers.duchi.race import draw

PROBLEMS = ("squared", "logistic")
CONSTRAINED = ["batch", "stochastic", "line-search"]
PENALISED = ["coordinate-descent", "interior-point"]
N = 40
SMALL = {"n": N, "eta0": [0.5, 2.0, 8.0], "n_iter": 30, "stochastic_n_iter": 60, "passes": [1, 3, 100]}


def solve(problem, seed=0, **options):
    return race.solve(problem=problem, rng=np.random.default_rng(seed), **SMALL | options)


@pytest.fixture(scope="module")
def tables():
    return {problem: solve(problem) for problem in PROBLEMS}


def rows(table, method):
    return table[table["method"] == method].reset_index(drop=True)


def only(table, column):
    (value,) = set(table[column])
    return value


def objective(problem, seed=0):
    X, y, _ = draw(problem, N, np.random.default_rng(seed))
    return Objective(X, y, loss=problem)


# ---------------------------------------------------------------------------------------------------------------------
# What is drawn
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 7, 400])
def test_half_of_the_weights_are_zero(n):
    X, y, w = draw("squared", n, np.random.default_rng(0))
    assert X.shape == (n, n) and y.shape == (n,) and w.shape == (n,)
    assert np.count_nonzero(w == 0) == n // 2


def test_targets_are_noisy_scores_and_labels_are_sometimes_flipped():
    X, y, w = draw("squared", 1000, np.random.default_rng(0))
    noise = y - X @ w
    assert abs(noise.mean()) < 0.1 and abs(noise.std() - 1) < 0.1
    assert abs(X.mean()) < 0.01 and abs(X.std() - 1) < 0.01 and abs(w[w != 0].std() - 1) < 0.1
    X_again, labels, w_again = draw("logistic", 1000, np.random.default_rng(0))
    assert (X_again == X).all() and (w_again == w).all()
    assert set(labels) == {-1.0, 1.0}
    assert 0.07 < (labels != np.sign(X @ w)).mean() < 0.13


# ---------------------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS)
def test_each_method_has_its_records(tables, problem):
    table = tables[problem]
    columns = ["problem", "n", "method", "eta0", "step", "suboptimality", "flops", "seconds", "non_zero"]
    assert list(table) == [*columns, "radius", "penalty", "warning"]
    assert only(table, "problem") == problem and only(table, "n") == N
    assert table["method"].drop_duplicates().tolist() == CONSTRAINED + PENALISED
    assert rows(table, "batch")["step"].tolist() == list(range(31))
    assert rows(table, "stochastic")["step"].tolist() == list(range(61))
    assert rows(table, "coordinate-descent")["step"].tolist() == [0, 1, 3, 100]
    for method in ("line-search", *PENALISED):
        assert rows(table, method)["eta0"].isna().all()
        assert (rows(table, method)["warning"] == "").all()
    # Of so small a problem little is left of liblinear's seconds without its copy of X: maybe nothing.
    spent = table["seconds"].dropna() if problem == "logistic" else table["seconds"]
    assert (spent >= 0).all()
    assert table["flops"].isna().any() == (problem == "logistic")


def test_stochastic_records_are_thinned():
    table = rows(solve("squared", stochastic_n_iter=250), "stochastic")
    assert table["step"].tolist() == list(range(0, 251, 2))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_records_are_those_of_the_methods(tables, problem):
    f = objective(problem)
    at_zero = f.value(np.zeros(N))
    penalty, radius = only(tables[problem], "penalty"), only(tables[problem], "radius")
    np.testing.assert_allclose(penalty, 0.03 * np.abs(f.X.T @ f.slopes(np.zeros(N))).max(), rtol=1e-12)
    expected = {
        "line-search": descent.line_search(f, radius, n_iter=30),
        "coordinate-descent": descent.coordinate_descent(f, penalty, n_iter=[1, 3, 100]),
        "interior-point": descent.interior_point(f, penalty, tol=1e-8),
    }
    np.testing.assert_allclose(radius, np.abs(expected["interior-point"].w).sum(), rtol=1e-12)
    batches = {eta0: descent.batch(f, radius, eta0=eta0, n_iter=30) for eta0 in SMALL["eta0"]}
    best = min(batches, key=lambda eta0: batches[eta0].objective[-1])
    assert only(rows(tables[problem], "batch"), "eta0") == best
    expected["batch"] = batches[best]
    for method, trace in expected.items():
        got = rows(tables[problem], method)
        np.testing.assert_array_equal(got["step"], trace.step)
        np.testing.assert_array_equal(got["flops"], trace.flops)
        assert only(got, "non_zero") == np.count_nonzero(trace.w) / N
        differences = -np.diff(got["suboptimality"]) * at_zero
        np.testing.assert_allclose(differences, -np.diff(trace.objective), atol=1e-6 * at_zero)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bounds_are_below_the_optimum_and_near(problem, seed):
    table = solve(problem, seed, eta0=[1.0], n_iter=2, stochastic_n_iter=2, passes=[300])
    f = objective(problem, seed)
    at_zero = f.value(np.zeros(N))
    # Far better solutions than those whose suboptimality is asked for, and no bound of their own.
    w = descent.interior_point(f, only(table, "penalty"), tol=1e-12).w
    radius = only(table, "radius")
    optimum = f.value(f.X @ l1.project(w, radius))
    penalised = f.value(f.X @ w) + only(table, "penalty") * np.abs(w).sum()
    for methods, expected in ((CONSTRAINED, optimum), (PENALISED, penalised)):
        for method in methods:
            # At w = 0 the objective is at_zero for each problem.
            bound = at_zero * (1 - rows(table, method)["suboptimality"][0])
            assert expected - 3e-7 * at_zero < bound <= expected * (1 + 1e-12)
            assert (rows(table, method)["suboptimality"] > -1e-12).all()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_radius_is_where_both_problems_have_the_same_solution(tables, problem):
    table = solve(problem, n_iter=3000, eta0=[1.0])
    for method in ("line-search", *PENALISED):
        assert rows(table, method)["suboptimality"].iloc[-1] < 1e-6


def test_bounds_of_the_ball_survive_an_interior_point_method_that_stops_early(monkeypatch):
    def stopped(objective, penalty, *, tol):
        return descent.interior_point(objective, penalty, tol=tol, n_iter=5)

    monkeypatch.setattr(race, "interior_point", stopped)
    table = solve("squared", n_iter=3000, eta0=[1.0])
    gap = rows(table, "interior-point")["suboptimality"].iloc[-1]
    assert rows(table, "interior-point")["warning"].str.fullmatch("optimum certified only to: [0-9.e-]+").all()
    assert rows(table, "line-search")["suboptimality"].iloc[-1] < 1e-6 < gap


# ---------------------------------------------------------------------------------------------------------------------
# Step sizes, seeds, progress
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["batch", "stochastic"])
def test_the_eta0_with_the_smallest_last_objective_is_kept(tables, method):
    kept = rows(tables["squared"], method)
    alone = {eta0: rows(solve("squared", eta0=[eta0]), method) for eta0 in SMALL["eta0"]}
    last = {eta0: table["suboptimality"].iloc[-1] for eta0, table in alone.items()}
    assert only(kept, "eta0") == min(last, key=last.get)
    np.testing.assert_allclose(kept["suboptimality"], alone[only(kept, "eta0")]["suboptimality"], atol=1e-9)


def test_an_eta0_at_the_edge_of_its_grid_is_told():
    said = {}
    for eta0 in ([1e-4, 1e-3], [1.0, 1e3], [1.0]):
        table = solve("squared", eta0=eta0, passes=[1])
        for method in ("batch", "stochastic"):
            said[method, len(eta0), max(eta0)] = only(rows(table, method), "warning")
        assert only(rows(table, "line-search"), "warning") == ""
    assert said == {
        ("batch", 2, 1e-3): "eta0 at the upper edge of its grid",
        ("stochastic", 2, 1e-3): "eta0 at the upper edge of its grid",
        ("batch", 2, 1e3): "eta0 at the lower edge of its grid",
        ("stochastic", 2, 1e3): "eta0 at the lower edge of its grid",
        ("batch", 1, 1.0): "",
        ("stochastic", 1, 1.0): "",
    }


def test_one_seed_gives_one_table_but_for_the_seconds(tables):
    again = solve("logistic")
    assert again.drop(columns="seconds").equals(tables["logistic"].drop(columns="seconds"))
    assert not solve("logistic", seed=1).drop(columns="seconds").equals(again.drop(columns="seconds"))


def test_progress_ends_at_all():
    done = []
    solve("squared", progress=lambda i, of: done.append((i, of)))
    assert done == [(i, 9) for i in range(1, 10)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"problem": "hinge"}, "problem must be one of squared, logistic, got 'hinge'"),
        ({"n": 1}, "n must be a whole number from 2 on, got 1"),
        ({"n": 40.0}, "n must be a whole number from 2 on, got 40.0"),
        ({"penalty": 0.0}, "penalty must be a fraction between 0 and 1, got 0.0"),
        ({"penalty": 1.0}, "penalty must be a fraction between 0 and 1, got 1.0"),
        ({"eta0": []}, "eta0 must list at least one step size, got []"),
        ({"eta0": [0.0]}, "eta0 must be above 0 and finite, got 0.0"),
        ({"n_iter": 0}, "n_iter must be a whole number of at least 1, got 0"),
        ({"stochastic_n_iter": 0}, "n_iter must be a whole number of at least 1, got 0"),
        ({"passes": []}, "n_iter must list whole numbers that increase from 1 on, got []"),
    ],
)
def test_unfit_settings_are_refused(options, said):
    with pytest.raises(ValueError) as caught:
        solve(**{"problem": "squared"} | options)
    assert said in str(caught.value)


# ---------------------------------------------------------------------------------------------------------------------
# A repetition
# ---------------------------------------------------------------------------------------------------------------------


def repetition(sizes, **options):
    options = {name: value for name, value in SMALL.items() if name != "n"} | options
    return race.run(None, sizes=sizes, rng=np.random.default_rng([5, 1]), **options).drop(columns="seconds")


def test_a_repetition_holds_each_problem_of_each_size():
    done = []
    table = repetition([20, 30], progress=lambda i, of: done.append((i, of)))
    got = table[["problem", "n"]].drop_duplicates().to_numpy().tolist()
    assert got == [[problem, n] for problem in PROBLEMS for n in (20, 30)]
    assert done == [(i, 4) for i in range(1, 5)]
    expected = solve("logistic", [5, 1, 30], n=30).drop(columns="seconds")
    of_size = table[(table["problem"] == "logistic") & (table["n"] == 30)].reset_index(drop=True)
    pd.testing.assert_frame_equal(of_size, expected)


@pytest.mark.parametrize("sizes", [[20, 30], [30, 20]])
def test_another_size_changes_nothing_of_this_one(sizes):
    among = repetition(sizes)
    pd.testing.assert_frame_equal(among[among["n"] == 20].reset_index(drop=True), repetition([20]))


def test_another_seed_draws_other_problems():
    other = race.run(None, sizes=[20], rng=np.random.default_rng([5, 2]), problems=["squared"], eta0=[1.0], n_iter=2)
    assert set(other["radius"]).isdisjoint(repetition([20])["radius"])
