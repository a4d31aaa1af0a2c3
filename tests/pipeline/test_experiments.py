"""Experiments: their jobs in the workflow, the committed table of each, and the input that they refuse."""

import io
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from samples import labelled_samples, make_samples
from small_experiments import EXPERIMENTS, FOLDER, TIMED, table_of

from jointsparse import registry
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.registry import room


@pytest.fixture
def given(monkeypatch):
    """The last call of a made-up experiment, which returns random numbers."""
    seen = {}

    def run(data, *, rng, progress, **options):
        seen.update(data=data, options=options)
        return pd.DataFrame({"n": [5, 9], "drawn": rng.random(2), "seconds": 0.5})

    made_up = {("experiments", "made-up"): SimpleNamespace(run=run)}
    monkeypatch.setattr(registry, "pick", lambda room, kind: made_up[room, kind])
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
    """Another processor's BLAS changes the last digits, which are few in single precision."""
    reports = []
    table = table_of(kind, progress=lambda done, of: reports.append((done, of)))
    n_reports = EXPERIMENTS[kind].n_reports
    assert reports == [(done, n_reports) for done in range(1, n_reports + 1)] * (4 if kind == "recovery" else 1)
    assert table.filter(TIMED[:1]).gt(0).any(axis=None) == ("seconds" in table)
    expected = pd.read_csv(FOLDER / f"{kind}.csv").convert_dtypes()
    csv = table.drop(columns=TIMED, errors="ignore").to_csv(index=False)
    got = pd.read_csv(io.StringIO(csv)).convert_dtypes()
    if kind == "cost":  # versions of NumPy differ in the memory that they need
        expected["bytes"], got["bytes"] = expected["bytes"].notna(), got["bytes"].notna()
    pd.testing.assert_frame_equal(got, expected, rtol=3e-4, atol=1e-5, check_dtype=False)


def digits_with(change):
    """The digits with other labels. change: of all labels as an array, those to learn from first."""
    data = EXPERIMENTS["digits"].data
    order = np.argsort(data.images["split"] == "test", kind="stable")[: 1438 + 100]
    return make_samples(data.X[order], change(data.captions["caption"].to_numpy()[order].astype(object)), n_test=100)


MANY_TOUCHED = {"sizes": [10], "touched": [2, 5], "non_zeros": [4, 30]}


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        *(
            (kind, MANY_TOUCHED, "touched must be at most 4, the smallest of non_zeros")
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
