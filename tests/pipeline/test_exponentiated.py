"""Exponentiated gradient against projections: what is tried, what is kept, and what the table says of it."""

from itertools import product

import numpy as np
import pytest
from samples import labelled_samples

from jointsparse.pipeline import tasks
from jointsparse.pipeline.papers.duchi import descent, exponentiated
from jointsparse.pipeline.papers.duchi.entropic import SCHEDULES
from jointsparse.pipeline.papers.harness import State

N_ITER = {"batch 25%": 12, "batch 100%": 6, "stochastic 1": 40, "stochastic 100": 5}
GRIDS = {"projection": [0.5, 4.0], "entropic": [0.1, 2.0]}
OPTIONS = {
    "radius": [4.0],
    "n_iter": N_ITER,
    "eta0": GRIDS["projection"],
    "entropic_eta0": GRIDS["entropic"],
    "n_records": 3,
    "repeats": 2,
    "optimum_n_iter": 200,
}
X, Y, DATA = labelled_samples()


def table_of(seed=0, data=DATA, **options):
    table = exponentiated.run(data, rng=np.random.default_rng(seed), **(OPTIONS | options))
    assert (table["seconds"] >= 0).all()
    return table.drop(columns="seconds")


@pytest.fixture(scope="module")
def table():
    return table_of()


@pytest.fixture(scope="module")
def objective():
    kept = tasks.thinned(np.arange(180) < 120, np.random.default_rng(0))[:120]
    return descent.Objective(X[:120][kept], Y[:120][kept], loss="logistic")


def test_table_has_a_run_for_each_form_and_method(table):
    assert list(table) == [*(column for column in exponentiated.COLUMNS if column != "seconds"), "label"]
    runs = table.groupby(["form", "method"], sort=False)
    assert list(runs.groups) == list(product(exponentiated.FORMS, GRIDS))
    sizes = {"batch 25%": 27, "batch 100%": 108, "stochastic 1": 1, "stochastic 100": 100}  # of nine in ten of 120
    for (form, _), run in runs:
        every = 1 if form == "batch 100%" else max(1, N_ITER[form] // 3)
        assert run["step"].tolist() == sorted({*range(0, N_ITER[form] + 1, every), N_ITER[form]})
        assert (run["gradients"] == sizes[form] * run["step"]).all()
        assert (np.diff(run["flops"]) > 0).all()
        np.testing.assert_allclose(
            run[["flops", "objective", "test_error", "non_zero"]].iloc[0], [0, np.log(2), 0.5, 0]
        )
        assert len(run[["schedule", "eta0", "warning"]].drop_duplicates()) == 1
        assert (run["best_suboptimality"] <= run["suboptimality"] + 1e-15).all()
        assert run["best_suboptimality"].is_monotonic_decreasing
    assert (table["radius"] == 4).all()


@pytest.mark.parametrize("method", GRIDS)
def test_a_batch_run_is_the_best_of_those_tried(table, objective, method):
    tried = {}
    for schedule, eta0 in product(SCHEDULES, GRIDS[method]):
        states = descent.descend(objective, 4.0, eta0=eta0, n_iter=6, method=method, schedule=schedule)
        ws = [state.weights().copy() for state in states]
        tried[schedule, eta0] = np.array([objective.value(objective.X @ w) for w in ws]), ws[-1]
    best = min(tried, key=lambda pair: tried[pair][0][-1])
    run = table[(table["form"] == "batch 100%") & (table["method"] == method)]
    (objectives, w), last = tried[best], run.iloc[-1]
    assert (last["schedule"], last["eta0"], last["non_zero"]) == (*best, np.count_nonzero(w) / 25)
    np.testing.assert_array_equal(run["objective"], objectives)
    lowest = np.minimum.accumulate(np.min([values for values, _ in tried.values()], axis=0))
    optimum = run["objective"] - np.log(2) * run["suboptimality"]
    np.testing.assert_allclose(run["best_suboptimality"], (lowest - optimum) / np.log(2), rtol=0, atol=1e-12)
    assert last["test_error"] == pytest.approx(np.mean(np.sign(X[120:] @ w) != Y[120:]))


def test_suboptimality_is_above_a_bound_common_to_all(table, objective):
    *_, near = descent.line_search(objective, 4.0, n_iter=2000)
    value, bound = objective.certify_in_ball(near.seen, 4.0)
    optimum = table["objective"] - np.log(2) * table["suboptimality"]
    np.testing.assert_allclose(optimum, optimum[0], rtol=1e-12)
    assert bound - 1e-5 <= optimum[0] <= value + 1e-12
    assert (table["suboptimality"] >= 0).all() and table["suboptimality"].min() < 0.1


def test_neither_other_step_sizes_nor_another_radius_change_a_run():
    options = {"entropic_eta0": [2.0], "schedules": ["1/t"], "n_iter": {"stochastic 1": 30}}
    alone, among = (table_of(**options, eta0=grid) for grid in ([4.0], [1e-3, 4.0]))
    assert alone["objective"].equals(among["objective"])
    both = table_of(**options, eta0=[4.0], radius=[4.0, 8.0])
    assert both[both["radius"] == 4].equals(alone) and both["objective"].iloc[-1] != alone["objective"].iloc[-1]


def test_same_seed_same_table_and_progress_counts_the_runs(table):
    calls = []
    assert table_of(progress=lambda done, of: calls.append((done, of))).equals(table)
    assert calls == [(i + 1, 56) for i in range(56)]  # of 4 forms: 2 * 3 * 2 step sizes, one repeat of each best
    assert not table_of(seed=1)["objective"].equals(table["objective"])


def test_a_label_is_learnt_against_the_others_by_default_the_most_frequent_one():
    options = {"n_iter": {"stochastic 1": 10}}
    by_label = {label: table_of(label=label, **options) for label in ("grain", "tea")}
    got, expected = (table.drop(columns="label") for table in by_label.values())
    assert got.equals(expected)  # the problem with all labels swapped
    assert all(set(table["label"]) == {label} for label, table in by_label.items())
    assert set(table_of(**options)["label"]) == {"grain" if (Y[:120] > 0).sum() > 60 else "tea"}


# The choice, on made-up runs


def train(value, **options):
    """The table of runs that fall from 1 to value(schedule, eta0), and the methods begun."""
    attempts = []

    def descend(*, method, schedule, eta0, n_iter, samples, lazy):
        assert ([len(rows) for rows in samples], lazy) == ([2, 2], False)
        attempts.append(method)
        yield from (State(step, dict, seen=(1.0, value(schedule, eta0))[step > 0]) for step in range(n_iter + 1))

    problem = exponentiated.Problem(
        n_samples=8,
        radius=1.0,
        at_zero=2.0,
        bound=0.05,
        look=lambda state: {"objective": state.seen, "bound": 0.1, "test_error": 0.0, "non_zero": 0.0},
        descend=descend,
    )
    options = {"n_iter": {"batch 25%": 2}, "n_records": 1, "rng": np.random.default_rng(0)} | options
    return exponentiated.train_forms([problem], **options), attempts


def test_the_lowest_last_objective_wins_and_is_repeated_in_turn():
    grids = {"eta0": [1.0, 2.0, 4.0], "entropic_eta0": [1.0, 2.0, 4.0], "schedules": ["constant", "1/t"]}
    table, attempts = train(lambda schedule, eta0: 0.2 + (eta0 - 2) ** 2 / 10 + (schedule == "constant"), **grids)
    best = table.drop_duplicates("method")[["method", "schedule", "eta0"]]
    assert best.to_numpy().tolist() == [["projection", "1/t", 2.0], ["entropic", "1/t", 2.0]]
    assert attempts[-8::2] == ["projection", "entropic"] * 2  # each is begun twice
    expected = {
        "gradients": [0, 4, 0, 4],
        "warning": [""] * 4,
        **dict.fromkeys(("suboptimality", "best_suboptimality"), pytest.approx([0.45, 0.05] * 2)),
    }
    assert table[list(expected)].to_dict("list") == expected


@pytest.mark.parametrize(("n_samples", "size"), [(402, 100), (1, 1)])
def test_a_quarter_of_the_samples_is_rounded_and_never_none(n_samples, size):
    assert exponentiated.batch_size("batch 25%", n_samples) == size


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_iter": {"batch 50%": 3}}, "n_iter must name forms among batch 25%, .*, got .*batch 50%"),
        ({"n_iter": {}}, "n_iter must name forms among"),
        ({"schedules": ["1/t^2"]}, "schedule must be one of"),
        ({"eta0": [-1.0]}, "eta0 must be above 0 and finite, got -1.0"),
        ({"data": labelled_samples(n_samples=90)[2]}, "stochastic 100 needs at least 100 training samples, got 27"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        table_of(**options)
