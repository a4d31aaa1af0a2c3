"""Experiments: their jobs in the workflow, the committed table of each, and the input that they refuse."""

import io
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from samples import labelled_samples, make_samples
from small_experiments import EXPERIMENTS, FOLDER, TIMED, table_of

from jointsparse.norms import NORMS
from jointsparse.pipeline.datasets import synthetic
from jointsparse.pipeline.papers.quattoni import recovery
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.registry import room


@pytest.fixture
def given(monkeypatch):
    # the last call of a made-up experiment, which returns random numbers
    seen = {}

    def run(data, *, rng, progress, **options):
        seen.update(data=data, options=options)
        return pd.DataFrame({"n": [5, 9], "drawn": rng.random(2), "seconds": 0.5})

    made_up = {("experiments", "made-up"): SimpleNamespace(run=run)}
    monkeypatch.setattr("jointsparse.registry.pick", lambda room, kind: made_up[room, kind])
    return seen


PARAMS = {"kind": "made-up", "options": {"sizes": [5]}, "seed": 7, "runs": [1, 3]}


def test_a_repeated_experiment_draws_from_the_seed_and_the_run_and_has_its_seconds_in_another_table(
    given, tmp_path, run_script
):
    samples = make_samples(np.eye(4, dtype=np.float32), ["grain", "", "gold", ""], n_test=1)
    samples = samples._replace(left_out=pd.DataFrame({"item": ["a.txt"], "reason": ["empty"]}))
    files = {"images": "images.parquet", "captions": "captions.parquet", "features": "X.npz"}
    files, left_out = {name: tmp_path / file for name, file in files.items()}, tmp_path / "left_out.csv"
    samples.write(**files, left_out=left_out)
    output = {name: tmp_path / f"{name}.csv" for name in ("made-up", "made-up_seconds", "warnings")}
    run_script("repeat", params=PARAMS, input=files | {"left_out": [left_out]}, output=output)
    drawn = [number for run in (1, 3) for number in np.random.default_rng([7, run]).random(2)]
    expected = pd.DataFrame({"run": [1, 1, 3, 3], "n": [5, 9] * 2, "drawn": drawn})
    pd.testing.assert_frame_equal(read_table(output["made-up"]), expected)
    pd.testing.assert_frame_equal(read_table(output["made-up_seconds"]), expected.assign(seconds=0.5))
    assert read_table(output["warnings"])["first"].tolist() == ["item=a.txt"]
    assert given["options"] == {"sizes": [5]} and (given["data"].X.toarray() == np.eye(4)).all()


def test_a_measured_experiment_runs_once(given, tmp_path, run_script):
    run_script("measure", params=PARAMS, output={"table": tmp_path / "made-up.csv"})
    expected = pd.DataFrame({"n": [5, 9], "drawn": np.random.default_rng(7).random(2), "seconds": 0.5})
    pd.testing.assert_frame_equal(read_table(tmp_path / "made-up.csv"), expected)
    assert given["data"] is None


# Every experiment


@pytest.mark.parametrize("kind", room("experiments"))
def test_every_experiment_gives_the_committed_table_and_reports_its_progress(kind):
    reports = []
    table = table_of(kind, progress=lambda done, of: reports.append((done, of)))
    n_reports = EXPERIMENTS[kind].n_reports
    assert reports == [(done, n_reports) for done in range(1, n_reports + 1)] * (4 if kind == "recovery" else 1)
    assert table.filter(TIMED[:1]).gt(0).any(axis=None) == ("seconds" in table)
    expected = pd.read_csv(FOLDER / f"{kind}.csv").convert_dtypes()
    got = pd.read_csv(io.StringIO(table.drop(columns=TIMED, errors="ignore").to_csv(index=False))).convert_dtypes()
    if kind == "cost":  # versions of NumPy differ in the memory that they need
        expected["bytes"], got["bytes"] = expected["bytes"].notna(), got["bytes"].notna()
    # Another processor's BLAS changes the last digits, which are few in single precision.
    pd.testing.assert_frame_equal(got, expected, rtol=3e-4, atol=1e-5, check_dtype=False)


# The digits with other labels. change: of all labels as an array, those to learn from first.
def digits_with(change):
    data = EXPERIMENTS["digits"].data
    order = np.argsort(data.images["split"] == "test", kind="stable")[: 1438 + 100]
    return make_samples(data.X[order], change(data.captions["caption"].to_numpy()[order].astype(object)), n_test=100)


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        *(
            (kind, {"touched": [2, 5], "non_zeros": [4, 30]}, "touched must be at most 4, the smallest of non_zeros")
            for kind in ("operations", "projection")
        ),
        ("cost", {"projection_rows": [200_000]}, "projection_rows must be at most 50, got 200000"),
        (
            "exponentiated",
            {"data": labelled_samples(n_samples=90)[2]},
            "stochastic 100 needs at least 100 training samples, got 27",
        ),
        (
            "digits",
            {"data": digits_with(lambda labels: np.full(len(labels), "x"))},
            "training samples must have at least two classes, got only 'x'",
        ),
        (
            "digits",
            {"data": digits_with(lambda labels: np.append(labels[:-1], "x"))},
            "every class of a test sample must occur among the training samples, got 'x'",
        ),
        ("online", {"eta0": [1e300]}, "descent diverged for every eta0 in [1e+300]: choose a smaller eta0"),
    ],
)
def test_input_that_the_settings_cannot_refuse_is_refused(kind, options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        table_of(kind, **options)


# The synthetic experiment: its choices, and its errors and precisions

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
