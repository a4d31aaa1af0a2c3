"""Experiments in the workflow: each run has its own seed, and seconds are in separate tables."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from samples import make_samples
from small_experiments import EXPERIMENTS

from jointsparse import registry
from jointsparse.pipeline.papers.duchi import forms, online, projection, race
from jointsparse.pipeline.papers.quattoni import cost, recovery
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.registry import pick, room


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

COLUMNS = {
    "exponentiated": [*forms.COLUMNS, "label"],
    "digits": [*forms.COLUMNS],
    "online": [*online.COLUMNS, "label"],
    "race": [*race.COLUMNS],
    "cost": [*cost.COLUMNS],
    "projection": ["part", "x", "n", "k", "method", "repeats", "seconds", "low", "high"],
    "operations": ["part", "x", "n", "k", "method", "operations"],
    "recovery": [
        *("weights", "support", "n", "method", "radius_rule", "solver", "radius", "eta0", "test_error", "precision"),
        *("recall", "features", "objective", "gap", *recovery.NEAR_OPTIMUM, "warning"),
    ],
}


@pytest.mark.parametrize("kind", room("experiments"))
def test_every_experiment_gives_the_same_table_for_the_same_seed_and_reports_its_progress(kind, monkeypatch):
    monkeypatch.setattr(projection, "GRADIENT_SIZES", (7,))
    monkeypatch.setattr(cost, "MATRIX_ROWS", 50)
    monkeypatch.setattr(cost, "SHAPED_ROWS", 16)
    experiment, reports = EXPERIMENTS[kind], []

    def table_of(seed, progress):
        run = pick("experiments", kind).run
        table = run(experiment.data, rng=np.random.default_rng(seed), progress=progress, **experiment.options)
        assert list(table) == COLUMNS[kind]
        assert "seconds" not in table or (table["seconds"] >= 0).all()
        return table.drop(columns={"seconds", "low", "high", "bytes"} & {*table})

    table = table_of([9, 2], lambda done, of: reports.append((done, of)))
    assert reports == [(done, experiment.n_reports) for done in range(1, experiment.n_reports + 1)]
    assert table.equals(table_of([9, 2], lambda *_: None))
    other = table_of([9, 3], lambda *_: None)
    assert table.equals(other) == (kind == "projection")  # which has only seconds


MANY_TOUCHED = {"sizes": [10], "touched": [2, 5], "non_zeros": [4, 30]}


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("operations", MANY_TOUCHED, "touched must be at most 4, the smallest of non_zeros, got 5"),
        ("projection", MANY_TOUCHED | {"repeats": 1}, "touched must be at most 4, the smallest of non_zeros, got 5"),
        (
            "cost",
            {"projection_sizes": [2], "projection_rows": [200_000]}
            | {"training_sizes": [2], "program_tasks": [2], "repeats": 1},
            "projection_rows must be at most 100,000, got 200000",
        ),
    ],
)
def test_numbers_out_of_range_are_refused_by_the_experiments_that_draw_their_data(kind, options, said):
    with pytest.raises(ValueError, match=said):
        pick("experiments", kind).run(None, rng=np.random.default_rng(0), **options)
