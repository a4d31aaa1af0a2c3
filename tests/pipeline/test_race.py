"""Suboptimality by method: drawn problems, records against the methods called one by one, certified bounds."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi import descent, race

PROBLEMS = ("squared", "logistic")
CONSTRAINED = ["batch", "stochastic", "line-search"]
PENALISED = ["coordinate-descent", "interior-point"]
N = 40
SMALL = {"penalty": 0.03, "eta0": [0.5, 2.0, 8.0], "n_iter": 30, "stochastic_n_iter": 60, "passes": [1, 3, 100]}


def solve(problem, seed=0, n=N, **options):
    return race.solve_by_each(problem, n, rng=np.random.default_rng(seed), **SMALL | options)


@pytest.fixture(scope="module")
def tables():
    return {problem: solve(problem) for problem in PROBLEMS}


def rows(table, method):
    return table[table["method"] == method].reset_index(drop=True)


def only(table, column):
    (value,) = set(table[column])
    return value


def objective(problem, seed=0):
    X, y, _ = race.draw(problem, N, np.random.default_rng(seed))
    return descent.Objective(X, y, loss=problem)


# ---------------------------------------------------------------------------------------------------------------------
# Drawn problems
# ---------------------------------------------------------------------------------------------------------------------


def test_targets_are_noisy_scores_and_labels_are_sometimes_flipped():
    X, y, w = race.draw("squared", 1001, np.random.default_rng(0))
    for numbers, atol in ((y - X @ w, 0.1), (X, 0.01)):
        np.testing.assert_allclose([numbers.mean(), numbers.std()], [0, 1], atol=atol)
    assert abs(w[w != 0].std() - 1) < 0.1 and np.count_nonzero(w == 0) == 500
    X_again, labels, w_again = race.draw("logistic", 1001, np.random.default_rng(0))
    assert (X_again == X).all() and (w_again == w).all()
    assert set(labels) == {-1.0, 1.0}
    assert 0.07 < (labels != np.sign(X @ w)).mean() < 0.13


# ---------------------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS)
def test_each_method_has_its_records(tables, problem):
    table = tables[problem]
    assert tuple(table) == race.COLUMNS
    assert only(table, "problem") == problem and only(table, "n") == N
    steps = table.groupby("method", sort=False)["step"].apply(list).to_dict()
    assert list(steps) == CONSTRAINED + PENALISED
    assert steps["batch"] == list(range(31)) and steps["stochastic"] == list(range(61))
    assert steps["coordinate-descent"] == [0, 1, 3, 100]
    without_sizes = table[table["method"].isin(["line-search", *PENALISED])]
    assert without_sizes["eta0"].isna().all() and (without_sizes["warning"] == "").all()
    assert (table["seconds"] >= 0).all() and table["flops"].isna().any() == (problem == "logistic")


def test_stochastic_records_are_thinned():
    assert rows(solve("squared", stochastic_n_iter=250), "stochastic")["step"].tolist() == list(range(0, 251, 2))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_records_are_those_of_the_methods_with_the_best_eta0(tables, problem):
    f = objective(problem)
    at_zero = f.value(np.zeros(N))
    penalty, radius = only(tables[problem], "penalty"), only(tables[problem], "radius")
    np.testing.assert_allclose(penalty, 0.03 * np.abs(f.view(np.zeros(N)).gradient).max(), rtol=1e-12)
    rng = np.random.default_rng(0)
    race.draw(problem, N, rng)
    samples = descent.drawn(60, N, 2, np.random.default_rng(rng.integers(2**32)))  # two of 40
    forms = {"batch": {"n_iter": 30}, "stochastic": {"n_iter": 60, "samples": samples}}
    begun = {
        **{
            (method, eta0): descent.descend(f, radius, eta0=eta0, **options)
            for method, options in forms.items()
            for eta0 in SMALL["eta0"]
        },
        ("line-search", None): descent.line_search(f, radius, n_iter=30),
        ("coordinate-descent", None): descent.coordinate_descent(f, penalty, n_iter=[1, 3, 100]),
        ("interior-point", None): descent.interior_point(f, penalty),
    }
    expected = {}
    for key, states in begun.items():
        seen = [(state.step, state.flops, state.weights().copy()) for state in states]
        penalties = [penalty * np.abs(w).sum() * (key[0] in PENALISED) for *_, w in seen]
        values = np.array([f.value(f.X @ w) for *_, w in seen]) + penalties
        expected[key] = (values, *zip(*seen, strict=True))
    np.testing.assert_allclose(radius, np.abs(expected["interior-point", None][-1][-1]).sum(), rtol=1e-12)
    for method in CONSTRAINED + PENALISED:
        got, tried = rows(tables[problem], method), [key for key in expected if key[0] == method]
        best = min(tried, key=lambda key: expected[key][0][-1])
        values, steps, flops, ws = expected[best]
        assert best[1] is None or only(got, "eta0") == best[1]
        np.testing.assert_array_equal(got[["step", "flops"]], np.transpose([steps, flops]))
        assert only(got, "non_zero") == np.count_nonzero(ws[-1]) / N
        np.testing.assert_allclose(np.diff(got["suboptimality"]) * at_zero, np.diff(values), atol=1e-6 * at_zero)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_bounds_are_below_the_optimum_and_near(problem, seed):
    table = solve(problem, seed, eta0=[1.0], n_iter=2, stochastic_n_iter=2, passes=[300])
    f = objective(problem, seed)
    at_zero = f.value(np.zeros(N))
    # Far better solutions than those in the table, and no bound of their own.
    *_, best = descent.interior_point(f, only(table, "penalty"), tol=1e-12)
    w = best.weights()
    optimum = f.value(f.X @ l1.project(w, only(table, "radius")))
    penalised = f.value(f.X @ w) + only(table, "penalty") * np.abs(w).sum()
    for method in CONSTRAINED + PENALISED:
        expected = optimum if method in CONSTRAINED else penalised
        # At w = 0 the objective is at_zero for each problem.
        bound = at_zero * (1 - rows(table, method)["suboptimality"][0])
        assert expected - 3e-7 * at_zero < bound <= expected * (1 + 1e-12)
    assert (table["suboptimality"] > -1e-12).all()


def test_bounds_of_the_ball_survive_an_interior_point_method_that_stops_early(monkeypatch):
    monkeypatch.setattr(race, "interior_point", partial(descent.interior_point, n_iter=5))
    table = solve("squared", n_iter=3000, eta0=[1.0])
    assert rows(table, "interior-point")["warning"].str.fullmatch("optimum certified only to: [0-9.e-]+").all()
    last = table.groupby("method")["suboptimality"].last()
    assert last["line-search"] < 1e-6 < last["interior-point"]


# ---------------------------------------------------------------------------------------------------------------------
# A repetition
# ---------------------------------------------------------------------------------------------------------------------


def repetition(sizes, seed=(5, 1), **options):
    options = SMALL | {"problems": PROBLEMS} | options
    return race.run(None, sizes=sizes, rng=np.random.default_rng(seed), **options).drop(columns="seconds")


@pytest.mark.parametrize("sizes", [[20, 30], [30, 20]])
def test_a_repetition_holds_each_problem_of_each_size_drawn_from_its_seed_and_size(sizes):
    done = []
    table = repetition(sizes, progress=lambda i, of: done.append((i, of)))
    assert table[["problem", "n"]].drop_duplicates().to_numpy().tolist() == [
        [problem, n] for problem in PROBLEMS for n in sizes
    ]
    assert done == [(i, 4) for i in range(1, 5)]
    pd.testing.assert_frame_equal(
        table[(table["problem"] == "logistic") & (table["n"] == 30)].reset_index(drop=True),
        solve("logistic", [5, 1, 30], n=30).drop(columns="seconds"),
    )
