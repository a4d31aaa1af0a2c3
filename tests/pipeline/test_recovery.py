"""The synthetic experiment: its table against separate fits, errors and precisions against slow implementations."""

import numpy as np
import pytest

from jointsparse.learning.certificate import relative_gap
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient, working_set
from jointsparse.norms import NORMS
from jointsparse.pipeline.datasets import synthetic
from jointsparse.pipeline.papers.quattoni import recovery

ETA0, RADII = [0.1, 30.0], [2.0, 30.0, 8.0]


@pytest.fixture(scope="module")
def data():
    return synthetic.draw(
        n_features=30, n_tasks=6, n_train=40, n_validation=30, n_test=50, rng=np.random.default_rng(0)
    )


def learn(data, **options):
    return recovery.learn(data, **{"sizes": [10, 40], "eta0": ETA0, "radius": RADII, "n_iter": 60} | options)


@pytest.fixture(scope="module")
def table(data):
    return learn(data)


def rows(table, **wanted):
    return table[np.logical_and.reduce([table[name] == value for name, value in wanted.items()])]


def only(table, **wanted):
    ((_, row),) = rows(table, **wanted).iterrows()
    return row


def problem(data, n):
    return Problem(list(data.X_train[:, :n]), list(data.y_train[:, :n]), normalisation="mean")


def slow_error(W, X, y):
    scores = [[x.astype(float) @ w for x in samples] for samples, w in zip(X, W.T, strict=True)]
    return np.mean((1 - np.sign(scores) * y) / 2)  # 1/2 for a score of 0


def fits(data, n, norm, radius):
    """Return the fits for each eta0 at a radius: one number, or one per task."""
    radius = np.asarray(radius)[np.newaxis]
    options = {"loss": hinge, "norm": NORMS[norm], "n_iter": 60}
    return [subgradient.fit(problem(data, n), radius=radius, eta0=np.array([eta0]), **options) for eta0 in ETA0]


# The table


@pytest.mark.parametrize("norm", recovery.COMPARED)
def test_the_true_radius_is_the_norm_of_the_weights(data, table, norm):
    true = NORMS[norm].norm(data.W)
    row = only(table, n=40, method=f"hinge-{norm}", radius_rule="true", solver="subgradient")
    assert row["radius"] == np.mean(true)
    eta0, best = min(zip(ETA0, fits(data, 40, norm, true), strict=True), key=lambda pair: pair[1].objective.min())
    assert (row["eta0"], row["features"]) == (eta0, best.W[0].any(axis=1).mean())
    np.testing.assert_allclose(row["objective"], best.objective.min() / 6, rtol=1e-5)
    np.testing.assert_allclose(row["test_error"], slow_error(best.W[0], data.X_test, data.y_test), atol=1e-9)


@pytest.mark.parametrize("norm", recovery.COMPARED)
def test_validation_chooses_the_radius_with_the_smallest_error(data, table, norm):
    row = only(table, n=40, method=f"hinge-{norm}", radius_rule="validated")
    shape = np.shape(NORMS[norm].norm(data.W))
    errors = {}
    options = {"loss": hinge, "norm": NORMS[norm], "tol": 1e-3, "n_iter": 5000}
    for radius in sorted(RADII):
        best = working_set.fit(problem(data, 40), radius=np.full(shape, radius)[np.newaxis], **options)
        errors[radius] = slow_error(best.W[0], data.X_validation, data.y_validation)
    assert row["radius"] == min(errors, key=errors.get) and row["gap"] <= 1e-3


@pytest.mark.parametrize(
    ("errors", "n_tried", "chosen"),
    [([0.3, 0.2, 0.25, 0.2, 0.1], 4, 2.0), ([0.3, 0.2, 0.25, 0.1, 0.2], 5, 4.0), ([0.1, 0.3, 0.2, 0.0, 0.0], 3, 1.0)],
)
def test_radii_grow_until_two_have_no_smaller_validation_error(data, monkeypatch, errors, n_tried, chosen):
    made_up = iter(errors)
    monkeypatch.setattr(recovery, "error", lambda W, X, y: next(made_up) if X is data.X_validation else 0.5)
    monkeypatch.setattr(recovery, "COMPARED", {"l2": NORMS["l2"]})
    table = learn(data, sizes=[10], radius=[1.0, 2.0, 3.0, 4.0, 5.0])
    assert only(table, radius_rule="validated")["radius"] == chosen
    assert len([*made_up]) == len(errors) - n_tried


def test_rows_are_ordered_by_size_then_method(table):
    methods = [f"hinge-{norm}" for norm in recovery.COMPARED]
    expected = [[n, method] for n in (10, 40) for method in methods for _ in range(3)]
    assert table[["n", "method"]].to_numpy().tolist() == expected


def test_test_samples_do_not_affect_the_choices(data, table):
    got = learn(data._replace(X_test=-data.X_test[::-1]))
    columns = ["radius", "eta0", "objective", "gap", "iterations", "precision"]
    assert got[columns].equals(table[columns])
    assert not got["test_error"].equals(table["test_error"])


def bound_of(row):
    """Return the lower bound that gives a row's gap, by bisection."""
    low, high = 0.0, row["objective"]
    for _ in range(60):
        bound = (low + high) / 2
        low, high = (low, bound) if relative_gap(row["objective"], bound, 1.0) < row["gap"] else (bound, high)
    return bound


def test_the_optimum_is_certified_and_no_objective_is_below_it(table):
    for _, method_rows in table[table["radius_rule"] == "true"].groupby(["n", "method"]):
        optimum, fit = only(method_rows, solver="working_set"), only(method_rows, solver="subgradient")
        assert 0 <= optimum["gap"] <= 1e-3 and np.isnan(optimum["eta0"])
        assert fit["objective"] >= optimum["objective"] * (1 - 1e-3) - 1e-6
        np.testing.assert_allclose(fit["gap"], relative_gap(fit["objective"], bound_of(optimum), 1.0), atol=1e-5)


@pytest.mark.parametrize("norm", recovery.COMPARED)
def test_iterations_count_until_within_1_3_and_10_percent_of_the_optimum(data, table, norm):
    key = {"n": 40, "method": f"hinge-{norm}", "radius_rule": "true"}
    row, optimum = only(table, solver="subgradient", **key), only(table, solver="working_set", **key)
    objective = fits(data, 40, norm, NORMS[norm].norm(data.W))[ETA0.index(row["eta0"])].objective[0] / 6
    for column, fraction in (("iterations", 0.01), ("iterations_3", 0.03), ("iterations_10", 0.1)):
        assert row[column] == np.flatnonzero(relative_gap(objective, bound_of(optimum), 1.0) <= fraction)[0]


def test_iterations_are_missing_if_the_optimum_is_far_or_unknown(data, table):
    for without in (learn(data, sizes=[40], n_iter=1, eta0=[1e-3]), rows(table, solver="working_set")):
        assert without[list(recovery.NEAR_OPTIMUM)].isna().all(axis=None)


def test_warnings_name_the_edges_of_the_grids_and_an_unknown_optimum(data):
    short = learn(data, sizes=[40], n_iter=5, radius=[0.01, 0.02, 0.03], eta0=[1e-3, 1e-2], optimum_n_iter=1, tol=1e-9)
    assert (rows(short, solver="subgradient")["warning"] == "eta0 at the upper edge of its grid").all()
    assert (rows(short, solver="working_set")["warning"].str.contains("optimum certified only to: ")).all()
    for _, row in rows(short, radius_rule="validated").iterrows():
        edge = {0.01: "radius at the lower edge", 0.03: "radius at the upper edge"}.get(row["radius"], "")
        assert edge in row["warning"] and ("radius" in row["warning"]) == bool(edge)
    assert (learn(data, sizes=[40], radius=[8.0], eta0=[30.0])["warning"] == "").all()


def test_a_table_of_a_single_task():
    one = synthetic.draw(n_features=20, n_tasks=1, n_train=10, n_validation=5, n_test=5, rng=np.random.default_rng(0))
    assert len(learn(one, sizes=[10])) == 9


def test_a_repetition_learns_tasks_of_the_largest_size_drawn_from_its_seed():
    task_options = {"n_features": 20, "n_tasks": 4, "n_validation": 10, "n_test": 10}
    options = {"sizes": [5, 15], "eta0": ETA0, "radius": RADII, "n_iter": 20, "optimum_n_iter": 50}
    drawn = synthetic.draw(**task_options, n_train=15, rng=np.random.default_rng([9, 2]))
    got = recovery.run(None, tasks=task_options, rng=np.random.default_rng([9, 2]), **options)
    assert got.drop(columns=["weights", "support"]).equals(recovery.learn(drawn, **options))
    several = recovery.run(
        None,
        tasks=task_options,
        weights=["normal", "sign"],
        support=["random", "all"],
        rng=np.random.default_rng([9, 2]),
        **options,
    )
    assert several[: len(got)].equals(got)
    each = several[["weights", "support"]].drop_duplicates().to_numpy().tolist()
    assert each == [["normal", "random"], ["normal", "all"], ["sign", "random"], ["sign", "all"]]
    assert several["test_error"].groupby(several.index // len(got)).mean().nunique() == 4
    assert not got.equals(recovery.run(None, tasks=task_options, rng=np.random.default_rng([9, 3]), **options))


# Errors and selection


def test_the_error_is_over_all_samples_and_a_score_of_0_counts_half(data):
    W = np.random.default_rng(1).normal(size=data.W.shape)
    W[:, 2] = 0
    np.testing.assert_allclose(
        recovery.error(W, data.X_test, data.y_test), slow_error(W, data.X_test, data.y_test), atol=1e-12
    )
    assert [recovery.error(W, data.X_test, data.y_test) for W in (0 * W, data.W, -data.W)] == [0.5, 0, 1]


@pytest.mark.parametrize(
    ("W", "expected"),
    [
        pytest.param(
            [[0.0, 1e-30], [0.0, 0.0], [2.0, -1.0], [0.0, -3.0], [0.0, 0.0]],
            {"precision": 2 / 3, "recall": 2 / 3, "features": 0.6},
            id="a feature is selected if any task uses it",
        ),
        pytest.param(
            np.zeros((5, 2)),
            {"precision": np.nan, "recall": 0.0, "features": 0.0},
            id="without features precision is unknown",
        ),
    ],
)
def test_selection(W, expected):
    np.testing.assert_equal(recovery.selection(np.array(W), np.array([True, True, True, False, False])), expected)
