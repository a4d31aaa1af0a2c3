"""What the workflow does with every experiment: runs with seeds of their own, seconds apart from what is the same."""

import inspect
from types import SimpleNamespace

import gather_runs
import measure
import numpy as np
import pandas as pd
import pytest
import repeat

from jointsparse.registry import pick, room
from jointsparse.tables import read_table, write_matrix, write_table


@pytest.fixture
def given(monkeypatch):
    """What an experiment was told last; it answers with a number that its generator draws."""
    seen = {}

    def run(data, *, rng, progress, **options):
        seen.update(data=data, progress=progress, options=options)
        return pd.DataFrame({"n": [5, 9], "drawn": rng.random(2)})

    for script in (repeat, measure):
        monkeypatch.setattr(
            script, "pick", lambda room, kind: {("experiments", "made-up"): SimpleNamespace(run=run)}[room, kind]
        )
    return seen


NO_FILES = {"images": None, "captions": None, "features": None, "progress": print, "kind": "made-up"}


def test_a_repetition_has_its_number_first_and_draws_from_its_seed_and_number(given, tmp_path):
    path = tmp_path / "run3.csv"
    repeat.main(**NO_FILES, options={"sizes": [5]}, seed=7, run=3, output=path)
    expected = pd.DataFrame({"run": 3, "n": [5, 9], "drawn": np.random.default_rng([7, 3]).random(2)})
    pd.testing.assert_frame_equal(read_table(path), expected)
    assert given == {"data": None, "progress": print, "options": {"sizes": [5]}}


def test_what_is_measured_once_has_no_number_and_draws_from_the_seed(given, tmp_path):
    path = tmp_path / "cost.csv"
    measure.main(**NO_FILES, options={}, seed=7, output=path)
    expected = pd.DataFrame({"n": [5, 9], "drawn": np.random.default_rng(7).random(2)})
    pd.testing.assert_frame_equal(read_table(path), expected)


@pytest.mark.parametrize(("script", "more"), [(repeat, {"run": 1}), (measure, {})])
def test_samples_are_read_from_their_files(given, tmp_path, script, more):
    images = pd.DataFrame({"image": ["a", "b"], "split": ["train", "test"]})
    captions = pd.DataFrame({"image": ["a"], "caption": ["grain"]})
    paths = {name: tmp_path / f"{name}.parquet" for name in ("images", "captions")} | {"features": tmp_path / "X.npz"}
    write_table(images, paths["images"])
    write_table(captions, paths["captions"])
    write_matrix(paths["features"], np.eye(2, 3, dtype=np.float32))
    script.main(**NO_FILES | paths, options={}, seed=0, output=tmp_path / "out.csv", **more)
    pd.testing.assert_frame_equal(given["data"].images, images)
    pd.testing.assert_frame_equal(given["data"].captions, captions)
    np.testing.assert_array_equal(given["data"].X, np.eye(2, 3))


@pytest.mark.parametrize("with_seconds", [True, False])
def test_seconds_are_gathered_only_where_they_belong(tmp_path, with_seconds):
    tables = [pd.DataFrame({"run": [i, i], "auc": [0.5, 0.1 * i], "seconds": [1.0, 2.0]}) for i in (1, 2)]
    paths = [tmp_path / f"run{i}.csv" for i in (1, 2)]
    for table, path in zip(tables, paths, strict=True):
        write_table(table, path)
    gather_runs.main(paths, with_seconds, tmp_path / "all.csv")
    expected = pd.concat(tables, ignore_index=True)
    expected = expected if with_seconds else expected.drop(columns="seconds")
    pd.testing.assert_frame_equal(read_table(tmp_path / "all.csv"), expected)


@pytest.mark.parametrize("kind", room("experiments"))
def test_every_experiment_is_called_in_the_same_way(kind):
    (data, *options) = inspect.signature(pick("experiments", kind).run).parameters.values()
    assert (data.name, data.kind) == ("data", data.POSITIONAL_OR_KEYWORD)
    assert all(option.kind in (option.KEYWORD_ONLY, option.VAR_KEYWORD) for option in options)
    assert {"rng", "progress"} <= {option.name for option in options}
