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


@pytest.fixture(scope="module")
def samples():
    X = np.random.default_rng(0).normal(3.0, [1.0, 5.0, 0.2, 1.0], size=(60, 4))
    return X, np.column_stack([X[:, 0] + X[:, 2] > 6.2, X[:, 1] > 4.0]).astype(int)


@pytest.fixture(params=["features", "basis"])
def model(request, samples):
    """Return a model as a run saves it, of the features or of a basis of them."""
    X, Y = samples
    basis_of_rows, scales = None, {}
    if request.param == "basis":
        basis_of_rows = basis.fit(X, rank=3, centred=True, rng=np.random.default_rng(0))
        scales = basis.factors(basis_of_rows.singular_values, [1.0])
    features = X if basis_of_rows is None else basis.project(X, basis_of_rows)
    fit = final.calibrated(final.fit(features, Y, LABELS, norm="l1inf", scales=scales), features)
    numbers = final.tested(fit.scores, Y, n_resamples=5, seed=0)
    table, names = final.table(fit, numbers, Y, "l1inf"), map(str, range(60))
    return annotator(fit, table, X, names=names, basis=basis_of_rows, columns=COLUMNS, dataset="drawn")


def test_probabilities_of_the_file_are_those_of_annotate(model, samples, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(model, "model.jointsparse")
    assert main(["export", "model.jointsparse", "--onnx", "model.onnx"]) == 0
    assert capsys.readouterr().out == "model.onnx\n"
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    names = session.get_modelmeta().custom_metadata_map
    assert {name: json.loads(value) for name, value in names.items()} == {"labels": LABELS, "features": COLUMNS}
    (got,) = session.run(["probabilities"], {"features": samples[0]})
    pd.DataFrame(samples[0], columns=COLUMNS).to_csv("rows.csv", index=False)
    table = annotate_rows(model, ["rows.csv"]).pivot_table(index="row", columns="label", values="probability")
    expected = table.loc[[f"row {i}" for i in range(1, 61)], LABELS]
    np.testing.assert_allclose(got, expected, atol=1e-6, rtol=0)
    assert expected.to_numpy().std() > 0.1


def said_of(model, arguments, capsys):
    """Return the last line of the error of an export."""
    save(model, "model.jointsparse")
    assert main(["export", "model.jointsparse", "--onnx", *arguments]) == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_a_model_of_pictures_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert said_of(fitted("pictures"), ["a.onnx"], capsys) == (
        "error: model must be a model of tables to be exported, got a model of pictures"
    )


def test_another_suffix_and_a_missing_package_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = fitted("rows")
    assert said_of(model, ["a.txt"], capsys) == "error: --onnx must name a file that ends in .onnx, got 'a.txt'"
    monkeypatch.setattr(onnx_file, "require_extra", lambda name, *_: require_extra(name, "no_onnx"))
    assert said_of(model, ["a.onnx"], capsys).endswith("needs no_onnx: pip install 'jointsparse[pipeline]'")
