"""Experiments in the workflow: each run has its own seed, and seconds lie apart from results that never change."""

import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from samples import make_samples

from jointsparse import registry
from jointsparse.pipeline.provenance.tables import read_table, write_table
from jointsparse.registry import pick, room


@pytest.fixture
def given(monkeypatch):
    """The last call of a made-up experiment, which returns numbers drawn by its generator."""
    seen = {}

    def run(data, *, rng, progress, **options):
        seen.update(data=data, progress=progress, options=options)
        return pd.DataFrame({"n": [5, 9], "drawn": rng.random(2)})

    made_up = {("experiments", "made-up"): SimpleNamespace(run=run)}
    monkeypatch.setattr(registry, "pick", lambda room, kind: made_up[room, kind])
    return seen


PARAMS = {"kind": "made-up", "options": {"sizes": [5]}, "seed": [7, 3], "columns": {"run": 3}}


def test_a_run_has_its_number_first_and_draws_from_its_seed(given, tmp_path, run_script):
    run_script("repeat", params=PARAMS, output={"table": tmp_path / "run.csv"})
    expected = pd.DataFrame({"run": 3, "n": [5, 9], "drawn": np.random.default_rng([7, 3]).random(2)})
    pd.testing.assert_frame_equal(read_table(tmp_path / "run.csv"), expected)
    assert given == {"data": None, "progress": print, "options": {"sizes": [5]}}


def test_samples_are_read_from_their_files(given, tmp_path, run_script):
    expected = make_samples(np.eye(4, dtype=np.float32), ["grain", "", "gold", ""], n_test=1)
    paths = {name: tmp_path / f"{name}.parquet" for name in ("images", "captions")} | {"features": tmp_path / "X.npz"}
    expected.write(**paths, left_out=tmp_path / "left_out.csv")
    run_script("repeat", params=PARAMS, input=paths, output={"table": tmp_path / "run.csv"})
    for table in ("images", "captions"):
        pd.testing.assert_frame_equal(getattr(given["data"], table), getattr(expected, table).reset_index(drop=True))
    np.testing.assert_array_equal(given["data"].X.toarray(), np.eye(4))


@pytest.mark.parametrize(("folder", "dropped"), [("timings", []), ("tables", ["seconds"])])
def test_seconds_are_gathered_only_where_they_belong(tmp_path, run_script, folder, dropped):
    tables = [pd.DataFrame({"run": [i, i], "auc": [0.5, 0.1 * i], "seconds": [1.0, 2.0]}) for i in (1, 2)]
    paths = [tmp_path / f"run{i}.csv" for i in (1, 2)]
    for table, path in zip(tables, paths, strict=True):
        write_table(table, path)
    run_script(
        "gather_runs", input={"runs": paths}, output={"table": tmp_path / "all.csv"}, wildcards={"folder": folder}
    )
    pd.testing.assert_frame_equal(
        read_table(tmp_path / "all.csv"), pd.concat(tables, ignore_index=True).drop(columns=dropped)
    )


@pytest.mark.parametrize("kind", room("experiments"))
def test_every_experiment_is_called_in_the_same_way(kind):
    (data, *options) = inspect.signature(pick("experiments", kind).run).parameters.values()
    assert (data.name, data.kind) == ("data", data.POSITIONAL_OR_KEYWORD)
    assert all(option.kind in (option.KEYWORD_ONLY, option.VAR_KEYWORD) for option in options)
    taken = {option.name for option in options}
    assert "rng" in taken and (any(option.kind == option.VAR_KEYWORD for option in options) or "progress" in taken)


MANY_TOUCHED = {"sizes": [10], "touched": [2, 5], "non_zeros": [4, 30]}


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("operations", MANY_TOUCHED, "touched must be at most 4, the least of non_zeros, got 5"),
        ("projection", MANY_TOUCHED | {"repeats": 1}, "touched must be at most 4, the least of non_zeros, got 5"),
        (
            "cost",
            {"projection_sizes": [2], "projection_rows": [200_000]}
            | {"training_sizes": [2], "program_tasks": [2], "repeats": 1},
            "projection_rows must be at most 100,000, got 200000",
        ),
        (
            "race",
            {"problems": ["squared"], "sizes": [20], "penalty": 1.0, "eta0": [1.0], "n_iter": 1},
            r"penalty must be a fraction between 0 and 1, got 1\.0",
        ),
    ],
)
def test_numbers_out_of_range_are_refused_by_the_experiments_that_draw_their_data(kind, options, said):
    with pytest.raises(ValueError, match=said):
        pick("experiments", kind).run(None, rng=np.random.default_rng(0), **options)
