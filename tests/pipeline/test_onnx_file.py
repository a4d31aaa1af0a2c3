"""Models of tables as ONNX files: the probabilities are those of `annotate`, and other models are refused."""

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from model_files import fitted

from jointsparse.checks import require_extra
from jointsparse.features import basis
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.models import final, onnx_file
from jointsparse.pipeline.models.annotator import annotate_rows, annotator
from jointsparse.pipeline.models.model_file import save

LABELS, COLUMNS = ["cat", "dög"], ["height", "width", "depth", "weight"]
X = np.random.default_rng(0).normal(3.0, [1.0, 5.0, 0.2, 1.0], size=(60, 4))
Y = np.column_stack([X[:, 0] + X[:, 2] > 6.2, X[:, 1] > 4.0]).astype(int)


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("rank", [None, 3], ids=["features", "basis"])
def test_probabilities_of_the_file_are_those_of_annotate(rank, capsys):
    features, scales, found = X, {}, None
    if rank:
        found = basis.fit(X, rank=rank, rng=np.random.default_rng(0))
        features, scales = basis.project(X, found), basis.factors(found.singular_values, [1.0])
    fit = final.calibrated(final.fit(features, Y, LABELS, norm="l1inf", scales=scales), features)
    table = final.table(fit, final.tested(fit.scores, Y, n_resamples=5, seed=0), Y, "l1inf")
    model = annotator(fit, table, X, names=map(str, range(60)), basis=found, columns=COLUMNS, dataset="drawn")
    save(model, "model.jointsparse")
    assert main(["export", "model.jointsparse", "--onnx", "model.onnx"]) == 0
    assert capsys.readouterr().out == "model.onnx\n"
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    names = session.get_modelmeta().custom_metadata_map
    assert {name: json.loads(value) for name, value in names.items()} == {"labels": LABELS, "features": COLUMNS}
    (got,) = session.run(["probabilities"], {"features": X})
    pd.DataFrame(X, columns=COLUMNS).to_csv("rows.csv", index=False)
    table = annotate_rows(model, ["rows.csv"]).pivot_table(index="row", columns="label", values="probability")
    expected = table.loc[[f"row {i}" for i in range(1, 61)], LABELS]
    np.testing.assert_allclose(got, expected, atol=1e-6, rtol=0)
    assert expected.to_numpy().std() > 0.1


@pytest.mark.parametrize(
    ("kind", "path", "package", "message"),
    [
        ("pictures", "a.onnx", "onnx", "model must be a model of tables to be exported, got a model of pictures"),
        ("rows", "a.txt", "onnx", "--onnx must name a file that ends in .onnx, got 'a.txt'"),
        ("rows", "a.onnx", "no_onnx", "jointsparse export needs no_onnx: pip install 'jointsparse[pipeline]'"),
    ],
)
def test_other_models_and_files_and_a_missing_package_are_refused(monkeypatch, capsys, kind, path, package, message):
    monkeypatch.setattr(onnx_file, "require_extra", lambda name, *_: require_extra(name, package))
    save(fitted(kind), "model.jointsparse")
    assert main(["export", "model.jointsparse", "--onnx", path]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {message}"
