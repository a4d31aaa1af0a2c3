"""Models of tables as ONNX files: the probabilities are those of `annotate`, and other models are refused."""

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from model_files import fitted, of_rows

from jointsparse.checks import require_extra
from jointsparse.features import basis
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.models.annotator import annotate_rows
from jointsparse.pipeline.models.model_file import save

X, COLUMNS = np.random.default_rng(1).normal(size=(60, 5)), ["height", "width", "depth", "weight", "größe"]


@pytest.mark.parametrize("rank", [None, 3], ids=["features", "basis"])
@pytest.mark.parametrize(
    ("limits", "n_listed"), [({}, [120]), ({"n_words": 1}, [60]), ({"precision": 0.99}, range(1, 100))]
)
def test_probabilities_of_the_file_are_those_that_annotate_lists(rank, limits, n_listed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = basis.fit(X + 1, rank=rank, rng=np.random.default_rng(0)) if rank else None
    model = of_rows(columns=COLUMNS, basis=found).model
    save(model, "model.jointsparse")
    assert main(["export", "model.jointsparse", "--onnx", "model.onnx"]) == 0
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    names = session.get_modelmeta().custom_metadata_map
    assert {name: json.loads(value) for name, value in names.items()} == {"labels": ["cat", "dog"], "features": COLUMNS}
    (got,) = session.run(["probabilities"], {"features": X})
    pd.DataFrame(X, columns=COLUMNS).to_csv("rows.csv", index=False)
    table = annotate_rows(model, ["rows.csv"], **limits).pivot_table(index="row", columns="label", values="probability")
    expected = table.reindex([f"row {i}" for i in range(1, 61)], columns=["cat", "dog"]).to_numpy()
    np.testing.assert_allclose(np.where(np.isnan(expected), np.nan, got), expected, atol=1e-6, rtol=0)
    assert np.nanstd(expected) > 0.01 and np.isfinite(expected).sum() in n_listed


@pytest.mark.parametrize(
    ("kind", "path", "package", "message"),
    [
        ("pictures", "a.onnx", "onnx", "model must be a model of tables to be exported, got a model of pictures"),
        ("rows", "a.txt", "onnx", "--onnx must name a file that ends in .onnx, got 'a.txt'"),
        ("rows", "a.onnx", "no_onnx", "jointsparse export needs no_onnx: pip install 'jointsparse[pipeline]'"),
    ],
)
def test_what_cannot_be_exported_is_refused(tmp_path, monkeypatch, capsys, kind, path, package, message):
    monkeypatch.setattr(
        "jointsparse.pipeline.models.onnx_file.require_extra", lambda name, *_: require_extra(name, package)
    )
    save(fitted(kind), tmp_path / "model.jointsparse")
    assert main(["export", str(tmp_path / "model.jointsparse"), "--onnx", path]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {message}"
