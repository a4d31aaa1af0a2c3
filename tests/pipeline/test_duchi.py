"""Duchi's comparisons: facts of every method on every problem, in one suite; then what is special about a problem.

The methods themselves are tested in test_descent.py, what all experiments have in common in test_experiments.py.
"""

from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from samples import labelled_samples, make_samples
from small_experiments import EXPERIMENTS, X_STREAM, Y_STREAM, X, Y

from jointsparse.norms import l1
from jointsparse.pipeline import tasks
from jointsparse.pipeline.papers.duchi import comparison, forms, race
from jointsparse.pipeline.papers.duchi.coordinate_descent import coordinate_descent
from jointsparse.pipeline.papers.duchi.descent import descend
from jointsparse.pipeline.papers.duchi.entropic import SCHEDULES, Entropic, step_sizes
from jointsparse.pipeline.papers.duchi.interior_point import interior_point
from jointsparse.pipeline.papers.duchi.line_search import line_search
from jointsparse.pipeline.papers.duchi.objective import Objective
from jointsparse.pipeline.papers.duchi.steps import Diverged, Projected, draw_batches, scheduled_etas
from jointsparse.pipeline.papers.harness import State
from jointsparse.registry import pick

N = 40  # features, and samples, of a race


class Case(NamedTuple):
    """The columns that tell the runs of an experiment apart, and the one whose last value is the smallest in the best.

    axis: the last of these columns that an option gives.
    """

    keys: list[str]
    by: str = "objective"
    axis: str = "radius"


FORM_KEYS = ["form", "method", "radius"]
CASES = {
    "exponentiated": Case(FORM_KEYS),
    "digits": Case(FORM_KEYS),
    "online": Case(["method", "radius"], by="loss"),
    "race": Case(["problem", "method", "n"], by="suboptimality", axis="n"),
}
FORM_CASES = {"exponentiated": (2, 108), "digits": (10, 40)}  # classes, and samples to learn from
OPTIONS = {kind: experiment.options for kind, experiment in EXPERIMENTS.items()}


def table_of(kind, data=None, seed=7, **options):
    """The table of an experiment without seconds."""
    data = EXPERIMENTS[kind].data if data is None else data
    table = pick("experiments", kind).run(data, rng=np.random.default_rng(seed), **OPTIONS[kind] | options)
    return table.drop(columns="seconds")


@pytest.fixture(scope="module")
def tables():
    return {kind: table_of(kind) for kind in CASES}


@pytest.fixture(scope="module")
def alone():
    """By experiment the tables with one schedule and one step size of each grid."""
    tables = {}
    for kind in CASES:
        schedules = [{}] if kind == "race" else [{"schedules": [schedule]} for schedule in SCHEDULES]
        grids = {name: OPTIONS[kind][name] for name in ("eta0", "entropic_eta0") if name in OPTIONS[kind]}
        single = [dict(zip(grids, ([eta0] for eta0 in row), strict=True)) for row in zip(*grids.values(), strict=True)]
        tables[kind] = [table_of(kind, **schedule, **eta0) for schedule, eta0 in product(schedules, single)]
    return tables


# Every comparison


@pytest.mark.parametrize("kind", CASES)
def test_a_run_is_the_best_of_those_with_one_schedule_and_step_size(tables, alone, kind):
    case, table = CASES[kind], tables[kind]
    last = pd.concat(tried.groupby(case.keys)[case.by].last() for tried in alone[kind])
    got = table.groupby(case.keys)[case.by].last()
    # A bound that other step sizes give may be better, by less than this.
    pd.testing.assert_series_equal(got, last.groupby(level=case.keys).min(), rtol=0, atol=1e-6)
    chosen = table[[*case.keys, *{"schedule", "eta0"} & {*table}, "warning"]].drop_duplicates()
    assert len(chosen) == table.groupby(case.keys).ngroups
    assert not any("edge" in warning for tried in alone[kind] for warning in tried["warning"])  # of a grid of one


@pytest.mark.parametrize("kind", CASES)
def test_neither_other_step_sizes_nor_another_problem_change_a_run(tables, kind):
    case, table = CASES[kind], tables[kind]
    option = {"n": "sizes"}.get(case.axis, case.axis)
    (value,) = OPTIONS[kind][option]
    both = table_of(kind, **{option: [type(value)(value / 2), value]})
    assert both[case.axis].unique().tolist() == [value / 2, value]
    pd.testing.assert_frame_equal(both[both[case.axis] == value].reset_index(drop=True), table, check_exact=True)
    more = table_of(kind, eta0=[1e-3, *OPTIONS[kind]["eta0"], 1e300])  # the last of which overflows
    assert more[case.by].equals(table[case.by]) and (more["eta0"].dropna() < 1e300).all()


# The best runs, of made-up methods


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


# The forms: batches and few samples, on text and on digits


@pytest.mark.parametrize("kind", FORM_CASES)
def test_each_form_has_its_steps_and_starts_from_the_same_point(tables, kind):
    n_iter, (n_classes, n_samples) = OPTIONS[kind]["n_iter"], FORM_CASES[kind]
    runs = tables[kind].groupby(["form", "method"], sort=False)
    assert list(runs.groups) == list(product(n_iter, ("projection", "entropic")))
    sizes = {"batch 25%": round(n_samples / 4), "batch 100%": n_samples, "stochastic 1": 1, "stochastic 100": 100}
    for (form, _), run in runs:
        every = 1 if (kind, form) == ("exponentiated", "batch 100%") else max(1, n_iter[form] // 3)
        assert run["step"].tolist() == sorted({*range(0, n_iter[form] + 1, every), n_iter[form]})
        assert (run["gradients"] == sizes[form] * run["step"]).all()
        assert run["objective"].iloc[0] == tables[kind]["objective"].iloc[0] <= np.log(n_classes)
        assert run["objective"].iloc[-1] < run["objective"].iloc[0] and run["test_error"].between(0, 1).all()
        assert (np.diff(run["flops"]) > 0).all() or (kind == "digits" and run["flops"].isna().all())


@pytest.mark.parametrize("kind", CASES)
def test_non_zero_weights_are_a_fraction_of_all_weights(tables, kind):
    assert tables[kind]["non_zero"].between(0, 1).all() and tables[kind]["non_zero"].max() > 0.3


@pytest.mark.parametrize("kind", FORM_CASES)
def test_suboptimality_is_above_a_bound_common_to_all_and_the_best_one_is_of_all_runs(tables, alone, kind):
    table, at_zero = tables[kind], np.log(FORM_CASES[kind][0])
    assert (table["suboptimality"] > -1e-6).all() and table["suboptimality"].min() < 0.13
    bounds = table["objective"] - at_zero * table["suboptimality"]
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-12)
    keys = ["form", "method"]
    lowest = pd.concat(alone[kind]).groupby([*keys, "step"], sort=False)["objective"].min().groupby(keys).cummin()
    expected = (lowest.loc[[*table[[*keys, "step"]].itertuples(index=False, name=None)]] - bounds[0]) / at_zero
    np.testing.assert_allclose(table["best_suboptimality"], expected, rtol=0, atol=1e-6)


def test_text_is_learnt_from_nine_in_ten_samples_and_tested_on_others():
    rng = np.random.default_rng(7)
    kept = tasks.thinned(np.ones(120, bool), rng)
    seeds = {form: rng.integers(2**63) for form in forms.FORMS}
    batches = {"batch 100%": None, "batch 25%": draw_batches(6, 108, 27, np.random.default_rng(seeds["batch 25%"]))}
    objective = Objective(X[:120][kept], Y[:120][kept], loss="logistic")
    options = {"eta0": [4.0], "entropic_eta0": [2.0], "schedules": ["1/t"], "n_records": 6}
    table = table_of("exponentiated", n_iter=dict.fromkeys(batches, 6), **options)
    for form, (method, eta0) in product(batches, (("projection", 4.0), ("entropic", 2.0))):
        states = descend(objective, 4.0, eta0=eta0, n_iter=6, method=method, schedule="1/t", batches=batches[form])
        points = [state.weights().copy() for state in states]
        run = table[(table["method"] == method) & (table["form"] == form)]
        np.testing.assert_array_equal(run["objective"], [objective.value(objective.X @ w) for w in points])
        np.testing.assert_array_equal(run["non_zero"], [np.count_nonzero(w) / 25 for w in points])
        errors = [(1 - np.sign(X[120:] @ w) * Y[120:]).mean() / 2 for w in points]  # a score of 0 counts one half
        np.testing.assert_allclose(run["test_error"], errors)
    *_, near = line_search(objective, 4.0, n_iter=2000)
    value, bound = objective.certify_in_ball(near.details, 4.0)
    bounds = table["objective"] - np.log(2) * table["suboptimality"]
    assert bound - 1e-5 <= bounds[0] <= value + 1e-12


def test_a_label_is_learnt_against_the_others_by_default_the_most_frequent_one():
    short = partial(table_of, "exponentiated", n_iter={"stochastic 1": 10})
    by_label = {label: short(label=label) for label in ("grain", "tea")}
    got, expected = (table.drop(columns="label") for table in by_label.values())
    assert got.equals(expected)  # the problem with all labels swapped
    assert all(set(table["label"]) == {label} for label, table in by_label.items())
    assert set(short()["label"]) == {"grain" if (Y[:120] > 0).sum() > 60 else "tea"}


@pytest.mark.parametrize(("n_samples", "size"), [(402, 100), (1, 1)])
def test_a_quarter_of_the_samples_is_rounded_and_never_none(n_samples, size):
    assert forms.batch_size("batch 25%", n_samples) == size


def with_labels(change):
    """The digits with other labels. change: of all labels as an array, those to learn from first."""
    data = EXPERIMENTS["digits"].data
    order = np.argsort(data.images["split"] == "test", kind="stable")[: 1438 + 100]
    labels = data.captions["caption"].to_numpy()[order].astype(object)
    return make_samples(data.X[order], change(labels), n_test=100)


def test_names_of_classes_change_nothing():
    got, expected = (
        table_of("digits", data=with_labels(change))
        for change in (lambda labels: np.array(list("abcdefghij"))[labels.astype(int)], np.copy)
    )
    pd.testing.assert_frame_equal(got, expected, check_exact=True)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("exponentiated", {"n_iter": {"batch 50%": 3}}, "n_iter must name forms among batch 25%, .*, got .*batch 50%"),
        ("exponentiated", {"n_iter": {}}, "n_iter must name forms among"),
        ("exponentiated", {"schedules": ["1/t^2"]}, "schedule must be one of"),
        ("exponentiated", {"eta0": [-1.0]}, "eta0 must be above 0 and finite, got -1.0"),
        (
            "exponentiated",
            {"data": labelled_samples(n_samples=90)[2]},
            "stochastic 100 needs at least 100 training samples, got 27",
        ),
        (
            "digits",
            {"data": with_labels(lambda labels: np.full(len(labels), "x"))},
            "training samples must have at least two classes, got only 'x'",
        ),
        (
            "digits",
            {"data": with_labels(lambda labels: np.append(labels[:-1], "x"))},
            "every class of a test sample must occur among the training samples, got 'x'",
        ),
        ("race", {"penalty": 1.0}, r"penalty must be a fraction between 0 and 1, got 1\.0"),
    ],
)
def test_bad_input_is_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        table_of(kind, **options)


# Online: a slow twin that keeps whole vectors


def test_online_is_a_pass_with_whole_vectors(tables):
    order = np.random.default_rng(7).permutation(60)
    for method, rows in tables["online"].groupby("method"):
        schedule, eta0 = rows["schedule"].iloc[0], rows["eta0"].iloc[0]
        if method == "entropic":
            point, etas = Entropic(80, 2.0), step_sizes(schedule, eta0=eta0, n=80, n_iter=60)
        else:
            point = Projected(np.zeros(80), 2.0, l1.project)
            etas = scheduled_etas("projection", schedule, eta0, n=80, n_iter=60)
        margins, used = [], []
        for x, label, eta in zip(X_STREAM[order].toarray(), Y_STREAM[order], etas, strict=True):
            margins.append(label * (x @ point.toarray()))
            point.step(-label / (1 + np.exp(margins[-1])) * x, eta)
            used.append(np.count_nonzero(np.abs(point.toarray()) > 1e-14))
        at, margins = rows["examples"].to_numpy(), np.array(margins)
        errors = np.where(margins == 0, 0.5, margins < 0)
        assert at.tolist() == [15, 30, 45, 60]
        np.testing.assert_allclose(rows["loss"], np.log1p(np.exp(-margins)).cumsum()[at - 1] / at, rtol=1e-10)
        np.testing.assert_allclose(rows["error"], errors.cumsum()[at - 1] / at)
        np.testing.assert_allclose(rows["non_zero"], np.array(used)[at - 1] / 80)


def test_a_pass_may_end_early_and_have_more_records_than_examples():
    single = partial(table_of, "online", eta0=[4.0], entropic_eta0=[1.0], schedules=["1/t"])
    whole, part = single(), single(n_examples=30)
    assert part["examples"].tolist() == [7, 15, 22, 30] * 2
    both = (table[table["examples"].isin([15, 30])].reset_index(drop=True) for table in (whole, part))
    pd.testing.assert_frame_equal(*both)
    few = single(data=labelled_samples(15, n_test=10)[2], n_records=20)
    assert few["examples"].tolist() == [1, 2, 3, 4, 5] * 2


# Race

PROBLEMS = ("squared", "logistic")
CONSTRAINED = ["batch", "stochastic", "line-search"]
PENALISED = ["coordinate-descent", "interior-point"]


def solve(problem, seed=0, n=N, **options):
    small = {name: value for name, value in OPTIONS["race"].items() if name not in ("problems", "sizes")}
    return race.solve_by_each(problem, n, rng=np.random.default_rng(seed), **small | options).drop(columns="seconds")


def rows(table, method):
    return table[table["method"] == method].reset_index(drop=True)


def only(table, column):
    (value,) = set(table[column])
    return value


def objective_of(problem, seed=0):
    X, y, _ = race.draw(problem, N, np.random.default_rng(seed))
    return Objective(X, y, loss=problem)


def test_targets_are_noisy_scores_and_labels_are_sometimes_flipped():
    X, y, w = race.draw("squared", 1001, np.random.default_rng(0))
    for numbers, atol in ((y - X @ w, 0.1), (X, 0.01)):
        np.testing.assert_allclose([numbers.mean(), numbers.std()], [0, 1], atol=atol)
    assert abs(w[w != 0].std() - 1) < 0.1 and np.count_nonzero(w == 0) == 500
    X_again, labels, w_again = race.draw("logistic", 1001, np.random.default_rng(0))
    assert (X_again == X).all() and (w_again == w).all()
    assert set(labels) == {-1.0, 1.0}
    assert 0.07 < (labels != np.sign(X @ w)).mean() < 0.13


def test_a_problem_is_drawn_from_the_seed_and_its_size(tables):
    table = tables["race"]
    assert table["problem"].unique().tolist() == list(PROBLEMS)
    for problem in PROBLEMS:
        expected = table[table["problem"] == problem].reset_index(drop=True)
        pd.testing.assert_frame_equal(solve(problem, [7, N]), expected, check_exact=True)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_records_are_those_of_the_methods_with_the_best_eta0(problem):
    table, f = solve(problem), objective_of(problem)
    at_zero, penalty, radius = f.value(np.zeros(N)), only(table, "penalty"), only(table, "radius")
    np.testing.assert_allclose(penalty, 0.03 * np.abs(f.tangent(np.zeros(N)).gradient).max(), rtol=1e-12)
    rng = np.random.default_rng(0)
    race.draw(problem, N, rng)
    batches = draw_batches(60, N, 2, np.random.default_rng(rng.integers(2**32)))  # two of 40
    begun = {
        **{("batch", eta0): descend(f, radius, eta0=eta0, n_iter=30) for eta0 in (0.5, 2.0, 8.0)},
        **{("stochastic", eta0): descend(f, radius, eta0=eta0, n_iter=60, batches=batches) for eta0 in (0.5, 2.0, 8.0)},
        ("line-search", None): line_search(f, radius, n_iter=30),
        ("coordinate-descent", None): coordinate_descent(f, penalty, n_iter=[1, 3, 100]),
        ("interior-point", None): interior_point(f, penalty),
    }
    expected = {}
    for key, states in begun.items():
        step, flops, points = zip(*((state.step, state.flops, state.weights().copy()) for state in states), strict=True)
        norms = np.array([np.abs(w).sum() for w in points])
        values = np.array([f.value(f.X @ w) for w in points]) + penalty * norms * (key[0] in PENALISED)
        expected[key] = values, step, flops, points
    assert radius == pytest.approx(np.abs(expected["interior-point", None][-1][-1]).sum(), rel=1e-12)
    assert table["method"].unique().tolist() == CONSTRAINED + PENALISED
    for method in CONSTRAINED + PENALISED:
        got = rows(table, method)
        best = min((key for key in expected if key[0] == method), key=lambda key: expected[key][0][-1])
        values, step, flops, points = expected[best]
        assert got["eta0"].isna().all() if best[1] is None else only(got, "eta0") == best[1]
        np.testing.assert_array_equal(got[["step", "flops"]], np.transpose([step, flops]))
        assert only(got, "non_zero") == np.count_nonzero(points[-1]) / N
        np.testing.assert_allclose(np.diff(got["suboptimality"]) * at_zero, np.diff(values), atol=1e-6 * at_zero)
    assert (table.loc[table["eta0"].isna(), "warning"] == "").all()


def test_stochastic_records_are_thinned():
    assert rows(solve("squared", stochastic_n_iter=250), "stochastic")["step"].tolist() == list(range(0, 251, 2))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_bounds_are_below_the_optimum_and_near(problem, seed):
    table = solve(problem, seed, eta0=[1.0], n_iter=2, stochastic_n_iter=2, passes=[300])
    f = objective_of(problem, seed)
    at_zero = f.value(np.zeros(N))
    # Far better solutions than those in the table, and no bound of their own.
    *_, best = interior_point(f, only(table, "penalty"), tol=1e-12)
    w = best.weights()
    constrained = f.value(f.X @ l1.project(w, only(table, "radius")))
    penalised = f.value(f.X @ w) + only(table, "penalty") * np.abs(w).sum()
    for method in CONSTRAINED + PENALISED:
        optimum = constrained if method in CONSTRAINED else penalised
        # At w = 0 the objective is at_zero for each problem.
        bound = at_zero * (1 - rows(table, method)["suboptimality"][0])
        assert optimum - 3e-7 * at_zero < bound <= optimum * (1 + 1e-12)
    assert (table["suboptimality"] > -1e-12).all()


def test_bounds_of_the_ball_survive_an_interior_point_method_that_stops_early(monkeypatch):
    monkeypatch.setattr(race, "interior_point", partial(interior_point, n_iter=5))
    table = solve("squared", n_iter=3000, eta0=[1.0])
    assert rows(table, "interior-point")["warning"].str.fullmatch("optimum certified only to: [0-9.e-]+").all()
    last = table.groupby("method")["suboptimality"].last()
    assert last["line-search"] < 1e-6 < last["interior-point"]
