"""The synthetic experiment: its choices, and its errors and precisions. The table is tested in test_experiments.py."""

import numpy as np
import pytest

from jointsparse.norms import NORMS
from jointsparse.pipeline.datasets import synthetic
from jointsparse.pipeline.papers.quattoni import recovery

DATA = synthetic.draw(n_features=30, n_tasks=6, n_train=10, n_validation=30, n_test=50, rng=np.random.default_rng(0))


def learn(data=DATA, radius=(2.0, 30.0, 8.0)):
    return recovery.learn(data, sizes=[10], eta0=[0.1, 30.0], radius=radius, n_iter=60)


@pytest.mark.parametrize(
    ("errors", "n_tried", "chosen"),
    [([0.3, 0.2, 0.25, 0.2, 0.1], 4, 2.0), ([0.3, 0.2, 0.25, 0.1, 0.2], 5, 4.0), ([0.1, 0.3, 0.2, 0.0, 0.0], 3, 1.0)],
)
def test_radii_grow_until_two_have_no_smaller_validation_error(monkeypatch, errors, n_tried, chosen):
    made_up = iter(errors)
    monkeypatch.setattr(recovery, "error", lambda W, X, y: next(made_up) if X is DATA.X_validation else 0.5)
    monkeypatch.setattr(recovery, "COMPARED", {"l2": NORMS["l2"]})
    table = learn(radius=[4.0, 1.0, 2.0, 3.0, 5.0])
    assert table.loc[table["radius_rule"] == "validated", "radius"].item() == chosen
    assert len([*made_up]) == len(errors) - n_tried


def test_test_samples_do_not_affect_the_choices():
    table, got = learn(), learn(DATA._replace(X_test=-DATA.X_test[::-1]))
    columns = ["radius", "eta0", "objective", "gap", "iterations", "precision"]
    assert got[columns].equals(table[columns]) and not got["test_error"].equals(table["test_error"])


def test_the_error_is_over_all_samples_and_a_score_of_0_counts_half():
    W = np.random.default_rng(1).normal(size=DATA.W.shape)
    W[:, 2] = 0
    scores = [[x.astype(float) @ w for x in samples] for samples, w in zip(DATA.X_test, W.T, strict=True)]
    expected = np.mean((1 - np.sign(scores) * DATA.y_test) / 2)
    np.testing.assert_allclose(recovery.error(W, DATA.X_test, DATA.y_test), expected, atol=1e-12)


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
