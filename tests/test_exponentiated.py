"""Exponentiated gradient against projections: what is tried, what is kept, and what the table says of it."""

import numpy as np
import pandas as pd
import pytest
from conftest import make_samples
from scipy import sparse

from jointsparse.learning import tasks
from jointsparse.papers.duchi import descent, exponentiated
from jointsparse.papers.duchi.exponentiated import FORMS, Attempt

N_ITER = {"batch 25%": 12, "batch 100%": 6, "stochastic 1": 40, "stochastic 100": 5}
OPTIONS = {
    "radius": 4.0,
    "n_iter": N_ITER,
    "eta0": [0.5, 4.0],
    "entropic_eta0": [0.1, 2.0],
    "n_records": 3,
    "repeats": 2,
    "optimum_n_iter": 200,
}


def drawn(seed=0):
    """Sparse training and test samples whose labels follow few features."""
    rng = np.random.default_rng(seed)
    X = sparse.random(180, 25, density=0.2, rng=rng, format="csr", data_rvs=rng.standard_normal).astype(np.float32)
    margins = X @ (rng.normal(size=25) * (rng.random(25) < 0.3))
    y = np.where(margins + 0.1 * rng.normal(size=180) > 0, 1.0, -1.0)
    return X[:120], y[:120], X[120:], y[120:]


def table_of(**options):
    return exponentiated.train(*drawn(), rng=np.random.default_rng(0), **(OPTIONS | options))


@pytest.fixture(scope="module")
def table():
    return table_of()


# ---------------------------------------------------------------------------------------------------------------------
# Ways of training
# ---------------------------------------------------------------------------------------------------------------------


def test_table_has_a_way_for_each_form_and_method(table):
    assert list(table) == list(exponentiated.COLUMNS)
    ways = table.groupby(["form", "method"], sort=False)
    assert list(ways.groups) == [(form, method) for form in FORMS for method in ("projection", "entropic")]
    sizes = {"batch 25%": 30, "batch 100%": 120, "stochastic 1": 1, "stochastic 100": 100}
    for (form, method), way in ways:
        every = 1 if form == "batch 100%" else max(1, N_ITER[form] // 3)
        assert way["step"].tolist() == sorted({*range(0, N_ITER[form] + 1, every), N_ITER[form]})
        assert (way["gradients"] == sizes[form] * way["step"]).all()
        assert way["flops"].iloc[0] == 0
        assert (np.diff(way["flops"]) > 0).all()
        assert (np.diff(way["seconds"]) >= 0).all()
        assert way["objective"].iloc[0] == pytest.approx(np.log(2))
        assert way["test_error"].iloc[0] == 0.5
        assert way["non_zero"].iloc[0] == 0
        assert len(way[["schedule", "eta0", "warning"]].drop_duplicates()) == 1
        assert method == "entropic" or (way["schedule"] == "1/sqrt(t)").all()
    assert (table["radius"] == 4).all()


def test_a_batch_way_is_the_best_of_those_tried(table):
    X, y, X_test, y_test = drawn()
    objective = descent.Objective(X, y, loss="logistic")
    for method, schedules, grid in [
        ("projection", ["1/sqrt(t)"], OPTIONS["eta0"]),
        ("entropic", ["constant", "1/sqrt(t)", "1/t"], OPTIONS["entropic_eta0"]),
    ]:
        tried = {
            (schedule, eta0): descent.batch(objective, 4.0, eta0=eta0, n_iter=6, method=method, schedule=schedule)
            for schedule in schedules
            for eta0 in grid
        }
        best = min(tried, key=lambda pair: tried[pair].objective[-1])
        way = table[(table["form"] == "batch 100%") & (table["method"] == method)]
        last = way.iloc[-1]
        assert (last["schedule"], last["eta0"]) == best
        np.testing.assert_array_equal(way["objective"], tried[best].objective)
        w = tried[best].w
        assert last["non_zero"] == np.count_nonzero(w) / 25
        assert last["test_error"] == pytest.approx(np.mean(np.sign(X_test @ w) != y_test))


def test_suboptimality_is_above_a_bound_common_to_all(table):
    X, y, _, _ = drawn()
    near = descent.line_search(descent.Objective(X, y, loss="logistic"), 4.0, n_iter=2000)
    optimum = table["objective"] - np.log(2) * table["suboptimality"]
    np.testing.assert_allclose(optimum, optimum[0], rtol=1e-12)
    assert near.bound[-1] - 1e-5 <= optimum[0] <= near.objective[-1] + 1e-12
    assert (table["suboptimality"] >= 0).all()
    assert table["suboptimality"].min() < 0.1


def test_all_that_is_tried_sees_the_same_samples():
    same = {"entropic_eta0": [2.0], "schedules": ["1/t"], "n_iter": {"stochastic 1": 30}, "eta0": [4.0]}
    alone = table_of(**same)
    among = table_of(**(same | {"eta0": [1e-3, 4.0]}))
    assert alone["objective"].equals(among["objective"])


def test_same_seed_same_table(table):
    again = table_of()
    assert again.drop(columns="seconds").equals(table.drop(columns="seconds"))
    other = exponentiated.train(*drawn(), rng=np.random.default_rng(1), **OPTIONS)
    is_batch = table["form"] == "batch 100%"
    assert other["objective"][is_batch].equals(table["objective"][is_batch])
    assert not other["objective"][~is_batch].equals(table["objective"][~is_batch])


def test_progress_counts_the_ways():
    calls = []
    table_of(n_iter={"batch 100%": 2, "batch 25%": 2}, progress=lambda done, of: calls.append((done, of)))
    n = 2 * (2 + 3 * 2 + 2 * 2)
    assert calls == [(i + 1, n) for i in range(n)]


def test_a_repetition_learns_nine_in_ten_samples_with_a_label_against_the_others():
    X, y, X_test, y_test = drawn()
    labels = np.where(np.append(y, y_test) > 0, "grain", "tea")
    data = make_samples(sparse.vstack([X, X_test], format="csr"), labels, n_test=60)
    options = OPTIONS | {"n_iter": {"stochastic 1": 10}}
    for label, sign in (("grain", 1), ("tea", -1)):
        rng = np.random.default_rng([3, 1])
        kept = tasks.thinned(np.ones(120, bool), rng)
        assert kept.sum() == 108
        expected = exponentiated.train(X[kept], sign * y[kept], X_test, sign * y_test, rng=rng, **options)
        got = exponentiated.run(data, label=label, rng=np.random.default_rng([3, 1]), **options)
        assert got.drop(columns=["seconds", "label"]).equals(expected.drop(columns="seconds"))
        assert set(got["label"]) == {label}


def test_the_label_is_the_most_frequent_one_by_default():
    X, y, X_test, y_test = drawn()
    labels = np.where(np.append(y, y_test) > 0, "grain", "tea")
    data = make_samples(sparse.vstack([X, X_test], format="csr"), labels, n_test=60)
    got = exponentiated.run(data, rng=np.random.default_rng(0), **OPTIONS | {"n_iter": {"stochastic 1": 2}})
    assert set(got["label"]) == {"grain" if (y > 0).sum() > 60 else "tea"}


# ---------------------------------------------------------------------------------------------------------------------
# The choice, on made-up ways
# ---------------------------------------------------------------------------------------------------------------------


def compared(value, grids, repeats=1, **options):
    """The table where a way of n steps falls from 1 to value(attempt) in two records."""
    attempts = []

    def go(attempt: Attempt) -> pd.DataFrame:
        attempts.append(attempt)
        made_up = {
            "step": [0, 8],
            "objective": [1.0, value(attempt)],
            "bound": [0.0, 0.1],
            "seconds": [0, len(attempts)],
        }
        return pd.DataFrame(made_up | {"test_error": 0.0, "non_zero": 0.0, "flops": 0.0})

    options = {"n_samples": 8, "n_iter": {"batch 25%": 8}, "n_records": 2, "bound": 0.05, "at_zero": 2.0} | options
    table = exponentiated.compare(go, grids=grids, repeats=repeats, progress=None, **options)
    return table, attempts


def test_lowest_last_objective_wins_and_its_seconds_are_medians_of_interleaved_repeats():
    grids = {"projection": (["1/sqrt(t)"], [1.0, 2.0, 4.0]), "entropic": (["constant", "1/t"], [1.0, 2.0, 4.0])}
    table, attempts = compared(lambda a: 0.2 + (a.eta0 - 2) ** 2 / 10 + (a.schedule == "constant"), grids, repeats=3)
    best = table.drop_duplicates("method")
    assert best[["method", "schedule", "eta0"]].to_numpy().tolist() == [
        ["projection", "1/sqrt(t)", 2.0],
        ["entropic", "1/t", 2.0],
    ]
    assert [(attempt.method, attempt.every) for attempt in attempts[-6:]] == 3 * [("projection", 4), ("entropic", 4)]
    assert {attempt.every for attempt in attempts[:-6]} == {8}
    assert table["seconds"].tolist() == [0, 12, 0, 13]  # the 10th, 12th and 14th of all; the 11th, 13th and 15th
    assert table["gradients"].tolist() == [0, 16, 0, 16]
    np.testing.assert_allclose(table["suboptimality"], [0.45, 0.05, 0.45, 0.05])
    assert (table["warning"] == "").all()


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ([2.0, 1.0, 0.5], "eta0 at the upper edge of its grid"),
        ([4.0, 2.0, 3.0], "eta0 at the lower edge of its grid"),
        ([1.0, 2.0, 3.0], ""),
        ([2.0], ""),
    ],
)
def test_an_edge_of_the_grid_is_reported(grid, expected):
    table, _ = compared(lambda attempt: abs(attempt.eta0 - 2), {"projection": (["1/sqrt(t)"], grid)})
    assert set(table["warning"]) == {expected}


def test_batches_have_the_size_that_their_name_says():
    got = {form: exponentiated.batch_size(form, 402) for form in FORMS}
    assert got == {"batch 25%": 100, "batch 100%": 402, "stochastic 1": 1, "stochastic 100": 100}
    assert exponentiated.batch_size("batch 25%", 1) == 1


def test_error_counts_a_score_of_zero_one_half():
    assert exponentiated.error(np.array([1.0, -2.0, 0.0, 3.0]), np.array([1.0, 1.0, 1.0, -1.0])) == 2.5 / 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 0.0}, "radius must be above 0 and finite, got 0.0"),
        ({"radius": np.inf}, "radius must be above 0 and finite, got inf"),
        ({"n_iter": {"batch 50%": 3}}, "n_iter must name forms among batch 25%, .*, got 'batch 50%'"),
        ({"n_iter": {"batch 25%": 0}}, "n_iter of batch 25% must be a whole number of at least 1, got 0"),
        ({"n_iter": {}}, "the number of forms in n_iter must be a whole number of at least 1, got 0"),
        ({"n_records": 0}, "n_records must be a whole number of at least 1, got 0"),
        ({"repeats": 1.5}, "repeats must be a whole number of at least 1, got 1.5"),
        ({"eta0": []}, "schedules and eta0 must not be empty"),
        ({"schedules": ["1/t^2"]}, "schedule must be one of"),
        ({"eta0": [-1.0]}, "eta0 must be above 0 and finite, got -1.0"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        table_of(**options)


def test_samples_that_do_not_fit_are_refused():
    X, y, X_test, y_test = drawn()
    with pytest.raises(ValueError, match="X_test must have the 25 features of X_train, got 24"):
        exponentiated.train(X, y, X_test[:, 1:], y_test, rng=np.random.default_rng(0), **OPTIONS)
    with pytest.raises(ValueError, match="stochastic 100 needs at least 100 training samples, got 50"):
        exponentiated.train(X[:50], y[:50], X_test, y_test, rng=np.random.default_rng(0), **OPTIONS)
