"""Experiments: their jobs in the workflow, the committed table of each, and the input that they refuse."""

import io
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from samples import labelled_samples, make_samples
from small_experiments import EXPERIMENTS, FOLDER, SIZES, TIMED, table_of

from jointsparse import registry
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.registry import room


@pytest.fixture
def given(monkeypatch):
    """The last call of a made-up experiment, which returns random numbers."""
    seen = {}

    def run(data, *, rng, progress, **options):
        seen.update(data=data, progress=progress, options=options)
        timed = {"seconds": options["seconds"]} if "seconds" in options else {}
        return pd.DataFrame({"n": [5, 9], "drawn": rng.random(2)} | timed)

    made_up = {("experiments", "made-up"): SimpleNamespace(run=run)}
    monkeypatch.setattr(registry, "pick", lambda room, kind: made_up[room, kind])
    return seen


PARAMS = {"kind": "made-up", "options": {"sizes": [5]}, "seed": 7, "runs": [1, 3]}


@pytest.fixture
def output(tmp_path):
    return {name: tmp_path / f"{name}.csv" for name in ("made-up", "warnings")}


def test_the_first_column_is_the_number_of_the_run_and_its_seed_draws_the_rest(given, output, run_script):
    run_script("repeat", params=PARAMS, input={"left_out": []}, output=output)
    drawn = [np.random.default_rng([7, run]).random(2) for run in (1, 3)]
    expected = pd.DataFrame({"run": [1, 1, 3, 3], "n": [5, 9] * 2, "drawn": np.concatenate(drawn)})
    pd.testing.assert_frame_equal(read_table(output["made-up"]), expected)
    assert (given["data"], given["options"]) == (None, {"sizes": [5]})


def test_a_measured_experiment_runs_once(given, output, run_script):
    run_script("measure", params=PARAMS, output={"table": output["made-up"]})
    expected = pd.DataFrame({"n": [5, 9], "drawn": np.random.default_rng(7).random(2)})
    pd.testing.assert_frame_equal(read_table(output["made-up"]), expected)


def test_samples_are_read_from_their_files_and_missing_parts_are_warnings(given, tmp_path, output, run_script):
    expected = make_samples(np.eye(4, dtype=np.float32), ["grain", "", "gold", ""], n_test=1)
    paths = {name: tmp_path / f"{name}.parquet" for name in ("images", "captions")} | {"features": tmp_path / "X.npz"}
    expected = expected._replace(left_out=pd.DataFrame({"item": ["a.txt"], "reason": ["empty"]}))
    expected.write(**paths, left_out=tmp_path / "left_out.csv")
    run_script("repeat", params=PARAMS, input=paths | {"left_out": [tmp_path / "left_out.csv"]}, output=output)
    for table in ("images", "captions"):
        pd.testing.assert_frame_equal(getattr(given["data"], table), getattr(expected, table).reset_index(drop=True))
    np.testing.assert_array_equal(given["data"].X.toarray(), np.eye(4))
    assert read_table(output["warnings"])["first"].tolist() == ["item=a.txt"]


def test_measured_seconds_are_in_a_table_of_their_own(given, tmp_path, output, run_script):
    seconds = {"made-up_seconds": tmp_path / "seconds.csv"}
    run_script("repeat", params=PARAMS | {"options": {"seconds": 0.5}}, input={"left_out": []}, output=output | seconds)
    assert [*read_table(output["made-up"])] == ["run", "n", "drawn"]
    assert read_table(seconds["made-up_seconds"])["seconds"].tolist() == [0.5] * 4


# Every experiment


def again(table):
    """Return a table as it is read from a CSV file."""
    return pd.read_csv(io.StringIO(table.to_csv(index=False)))


@pytest.fixture
def small(monkeypatch):
    for module, name, value in SIZES:
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("kind", room("experiments"))
def test_every_experiment_gives_the_committed_table_and_reports_its_progress(kind, small):
    """Another processor's BLAS changes the last digits, which are few in single precision."""
    reports = []
    table = table_of(kind, progress=lambda done, of: reports.append((done, of)))
    n_reports = EXPERIMENTS[kind].n_reports
    assert reports == [(done, n_reports) for done in range(1, n_reports + 1)] * (4 if kind == "recovery" else 1)
    assert table.filter(TIMED[:1]).gt(0).any(axis=None) == ("seconds" in table)
    expected = pd.read_csv(FOLDER / f"{kind}.csv").convert_dtypes()
    got = again(table.drop(columns=TIMED, errors="ignore")).convert_dtypes()
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
        ("cost", {"projection_rows": [200_000]}, "projection_rows must be at most 100,000, got 200000"),
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


def test_names_of_classes_change_nothing():
    letters = np.array(list("abcdefghij"))
    got, expected = (
        table_of("digits", data=digits_with(change), n_iter={"stochastic 1": 3}, optimum_n_iter=2).drop(
            columns=TIMED[0]
        )
        for change in (lambda labels: letters[labels.astype(int)], np.copy)
    )
    pd.testing.assert_frame_equal(got, expected, check_exact=True)
