"""The synthetic experiment: its rows against separate fits, errors and precisions against slow implementations."""

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


def slow_error(W, X, y):
    scores = [[x.astype(float) @ w for x in samples] for samples, w in zip(X, W.T, strict=True)]
    return np.mean((1 - np.sign(scores) * y) / 2)  # 1/2 for a score of 0


@pytest.mark.parametrize("norm", recovery.COMPARED)
def test_the_rows_of_a_training_set_are_those_of_separate_fits(data, table, norm):
    problem = Problem(list(data.X_train[:, :40]), list(data.y_train[:, :40]), normalisation="mean")
    options, true = {"loss": hinge, "norm": NORMS[norm]}, np.asarray(NORMS[norm].norm(data.W))
    fit, optimum, validated = table[(table["n"] == 40) & (table["method"] == f"hinge-{norm}")].to_dict("records")
    steps = {
        eta0: subgradient.fit(problem, radius=true[None], eta0=np.array([eta0]), n_iter=60, **options) for eta0 in ETA0
    }
    optima = {
        radius: working_set.fit(problem, radius=np.full_like(true, radius)[None], tol=1e-3, n_iter=5000, **options)
        for radius in sorted(RADII)
    }
    errors = {radius: slow_error(best.W[0], data.X_validation, data.y_validation) for radius, best in optima.items()}
    assert validated["radius"] == min(errors, key=errors.get) and validated["gap"] <= 1e-3
    assert fit["eta0"] == min(steps, key=lambda eta0: steps[eta0].objective.min())
    assert fit["radius"] == optimum["radius"] == np.mean(true)
    for row, W in ((fit, steps[fit["eta0"]].W[0]), (validated, optima[validated["radius"]].W[0])):
        assert row["features"] == W.any(axis=1).mean()
        np.testing.assert_allclose(row["test_error"], slow_error(W, data.X_test, data.y_test), atol=1e-9)
    objective = steps[fit["eta0"]].objective[0] / 6
    np.testing.assert_allclose(fit["objective"], objective.min(), rtol=1e-5)
    # The optimum lies between its objective and the same less its gap.
    ends = [relative_gap(objective, optimum["objective"] * (1 - share), 1.0) for share in (0, optimum["gap"])]
    for column, fraction in (("iterations", 0.01), ("iterations_3", 0.03), ("iterations_10", 0.1)):
        first, last = (np.flatnonzero(end <= fraction)[0] for end in ends)
        assert first <= fit[column] <= last


@pytest.mark.parametrize(
    ("errors", "n_tried", "chosen"),
    [([0.3, 0.2, 0.25, 0.2, 0.1], 4, 2.0), ([0.3, 0.2, 0.25, 0.1, 0.2], 5, 4.0), ([0.1, 0.3, 0.2, 0.0, 0.0], 3, 1.0)],
)
def test_radii_grow_until_two_have_no_smaller_validation_error(data, monkeypatch, errors, n_tried, chosen):
    made_up = iter(errors)
    monkeypatch.setattr(recovery, "error", lambda W, X, y: next(made_up) if X is data.X_validation else 0.5)
    monkeypatch.setattr(recovery, "COMPARED", {"l2": NORMS["l2"]})
    table = learn(data, sizes=[10], radius=[4.0, 1.0, 2.0, 3.0, 5.0])
    assert table.loc[table["radius_rule"] == "validated", "radius"].item() == chosen
    assert len([*made_up]) == len(errors) - n_tried


def test_test_samples_do_not_affect_the_choices(data, table):
    got = learn(data._replace(X_test=-data.X_test[::-1]))
    columns = ["radius", "eta0", "objective", "gap", "iterations", "precision"]
    assert got[columns].equals(table[columns]) and not got["test_error"].equals(table["test_error"])


def test_a_table_of_a_single_task():
    one = synthetic.draw(n_features=20, n_tasks=1, n_train=10, n_validation=5, n_test=5, rng=np.random.default_rng(0))
    assert len(learn(one, sizes=[10])) == 9


def test_the_error_is_over_all_samples_and_a_score_of_0_counts_half(data):
    W = np.random.default_rng(1).normal(size=data.W.shape)
    W[:, 2] = 0
    expected = slow_error(W, data.X_test, data.y_test)
    np.testing.assert_allclose(recovery.error(W, data.X_test, data.y_test), expected, atol=1e-12)
    assert [recovery.error(W, data.X_test, data.y_test) for W in (0 * W, data.W, -data.W)] == [0.5, 0, 1]


@pytest.mark.parametrize(
    ("W", "expected"),
    [  # a feature is selected if any task uses it; without features, precision is unknown
        ([[0.0, 1e-30], [0.0, 0.0], [2.0, -1.0], [0.0, -3.0], [0.0, 1.0]], (2 / 4, 2 / 3, 0.8)),
        (np.zeros((5, 2)), (np.nan, 0.0, 0.0)),
    ],
)
def test_selection(W, expected):
    got = recovery.selection(np.array(W), np.array([True, True, True, False, False]))
    np.testing.assert_equal(got, dict(zip(("precision", "recall", "features"), expected, strict=True)))
