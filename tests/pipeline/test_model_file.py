"""Model files bring back the model, each fault gets one sentence, and names reach a terminal as text alone.

Models of tables are also written as ONNX files, which give the probabilities of `annotate`.
"""

import io
import json
import os
import pickle
import re
import struct
import unicodedata
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from common import run_python
from model_files import MODELS, fitted, model_of, of_rows, write_model
from PIL import Image

from jointsparse.checks import require_extra
from jointsparse.features import basis, efficientnet
from jointsparse.pipeline import load
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.models import annotator, model_file
from jointsparse.pipeline.models.annotator import annotate_rows
from jointsparse.pipeline.models.model_file import save
from jointsparse.pipeline.provenance.tables import read_table

HOSTILE = "\x1b[2J\x07\x9b31m\u202egnp.\x85\u2028\x7f\r\n\t\u2066x"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The file of a model in the working folder, beside a folder with a picture."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16), dtype=np.uint8)).save("in/0.png")
    return tmp_path / "model.jointsparse"


# What comes back


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_has_all_that_the_saved_model_has(path, name):
    model = fitted(name)
    save(model, path)
    loaded = load(path)
    kept = ("card_", "known_names_", "columns_", "known_scores_", "known_labels_")
    np.testing.assert_equal(*({key: vars(one)[key] for key in kept} for one in (loaded, model)))
    assert [*loaded.named_steps] == [*model.named_steps] and vars(loaded[-1]).keys() == vars(model[-1]).keys()
    assert loaded[-1].get_params() == model[-1].get_params() and loaded.card_.gap == loaded[-1].duality_gap_
    got, expected = (one[one.check_["first_step"] :].predict_proba(model.check_["X"]) for one in (loaded, model))
    pd.testing.assert_frame_equal(got, expected)
    save(loaded, path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()
    assert {entry.date_time for entry in zipfile.ZipFile(path).infolist()} == {(1980, 1, 1, 0, 0, 0)}  # no date


PREDICT = """
import sys, warnings
import jointsparse.pipeline
assert "sklearn" not in sys.modules
jointsparse.pipeline.load
assert not {"snakemake", "matplotlib", "PIL"} & {*sys.modules}, "importing load is light"
import numpy as np
for name in sys.argv[1:]:
    model = jointsparse.pipeline.load(name)
    np.save(name, np.asarray(model[model.check_["first_step"] :].decision_function(model.check_["X"])))
from jointsparse.pipeline.app.command_line import main
warnings.simplefilter("default")
sys.stderr = sys.stdout
main(["show", "older"])
"""
OLDER = [("card.versions.jointsparse", "9.1"), ("card.versions.scikit_learn", "9.1")]


def test_another_process_and_blas_kernel_give_the_same_scores_and_tell_an_older_version(path):
    for name in MODELS:
        save(fitted(name), name)
    write_model(path.with_name("older"), fitted("rows"), *OLDER)
    variables = {"PYTHONWARNINGS": "error", "OPENBLAS_CORETYPE": "Prescott"}
    said = run_python("-c", PREDICT, *MODELS, cwd=path.parent, variables=variables)
    assert re.match(r"warning: older was written with jointsparse 9.1 \(here .*\) and scikit-learn 9.1 \(here ", said)
    for name in MODELS:
        expected = fitted(name).check_["scores"]
        np.testing.assert_allclose(np.load(f"{name}.npy"), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_rows_are_annotated_by_the_names_of_their_columns(path):
    save(fitted("rows"), path)
    X = fitted("rows").check_["X"]
    pd.DataFrame(X[:, ::-1], columns=list("edcba")).to_csv("rows.csv", index=False)
    assert main(["annotate", str(path), "rows.csv", "--csv", "table.csv", "--words", "2"]) == 0
    got = read_table("table.csv").pivot_table(index="row", columns="label", values="probability")
    np.testing.assert_allclose(got[["cat", "dog"]], fitted("rows").predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        *(("file", file, "{}/n.onnx") for file in ("n.onnx", "../n.onnx", "/etc/n.onnx", "C:\\networks\\n.onnx")),
        ("digest", efficientnet.DIGEST, "efficientnet-lite0"),
    ],
)
def test_a_network_is_built_in_or_looked_for_beside_the_model_and_nowhere_else(path, key, value, expected):
    write_model(path, fitted("network"), (f"card.features.{key}", value))
    assert load(path)["describe"].model == expected.format(path.parent)
    assert fitted("network").card_.features.file == "n.onnx"  # without the folder in which the run found it


# Faults


def with_entry(value):
    return lambda array: np.append(value, array.flat[1:]).astype(array.dtype).reshape(array.shape)


def header(shape, descr="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


NUMBERS, STATED = "must hold finite numbers", "must hold numbers and be as long as stated"
FAULTS = [
    # The card
    ("rows", "card.words", ["cat", "cat"], "the words must be different, got a word twice"),
    ("rows", f"card.{HOSTILE.replace('.', '')}", 1, "Extra inputs are not permitted"),
    ("rows", "card.norm", HOSTILE, "norm must be one of l1, l12, l1inf, l2, got "),
    ("rows", "card.known_images", 27, "27 known images must have a name, got 28 names"),
    ("rows", "card.thresholds", [0.5], "there must be 2 thresholds, got 1"),
    ("rows", "card.statistics.auc", [0.5], "statistics.auc must have 3 numbers, got 1"),
    ("rows", "card.versions.jointsparse", "1\n", "versions.jointsparse: String should match pattern"),
    ("rows", "card.power", 1.0, "it must hold an array basis_factors, got none"),
    ("rows", "card", b"[" * 10**6, "card.json must have at most|a JSON file: Invalid JSON: recursion limit"),
    ("rows", "card", bytes(2**22 + 1), "card.json must have at most 4,194,304 bytes, got 4,194,305"),
    ("rows", "names.columns", list("abcd"), "columns must name each of 5 features once, or be empty, got 4 names"),
    ("rows", "names.columns", list("abcda"), "columns must name each of 5 features once"),
    ("pictures", "names.columns", list("abcdefghijkl"), "columns must name each of 12 features once, or be empty"),
    # The steps from pictures to features
    ("pictures", "card.features.extractor", "os", "extractor must be one of dense_sift"),
    ("pictures", "card.features.options.step", HOSTILE, "step must be a whole number of at least 1, got"),
    ("pictures", "card.features.options.longest_side", 10**6, "describing a picture must take at most 400,000,000"),
    ("pictures", "tree_first_child", with_entry(7), "the nodes of the tree must be numbered level by level"),
    ("pictures", "tree_centres", lambda centres: centres[:, :50].copy(), "descriptors must have 128 numbers, got 50"),
    ("pictures", "basis_mean", with_entry(np.inf), f"the mean of the basis {NUMBERS}"),
    ("network", "card.features.options.model", "/etc/passwd", "TypeError"),
    ("network", "card.features.n_features", 6, "pictures must have 5 features, got 6"),
    # Arrays of the fit and of the known images
    ("rows", "coef", lambda W: W.astype(">f4"), "got >f4 of shape (2, 5)"),
    ("rows", "intercept", partial(np.tile, reps=2), "intercept must be float64 or float32 of shape (2), got"),
    ("rows", "known_scores", with_entry(1e30), "known_scores must hold finite numbers from -1e+15 to 1e+15, got"),
    ("rows", "known_labels", with_entry(2), f"known_labels {NUMBERS} from -1 to 1, got others"),
    ("rows", "known_labels", lambda labels: labels & 0, "known_labels must have an image with and an image without"),
    ("rows", "check_X", lambda X: X[:0], "from 1 to 1000 images must be checked, got 0"),
    ("rows", "check_X", with_entry(np.inf), f"check_X {NUMBERS}"),
    ("texts", "check_indices", with_entry(10**6), "indices|index"),
    ("texts", "check_data", with_entry(np.nan), f"check_X {NUMBERS}"),
    ("rows", "more", np.ones(1), "it must hold only the arrays of its model, got more as well"),
    ("rows", "coef", pickle.dumps([1]), "magic"),
    # Headers of arrays, which are checked before memory is taken
    ("rows", "coef", header((10**12,)), STATED),
    ("rows", "coef", header((-1, -5)) + bytes(40), STATED),
    ("rows", "coef", header((2, 5)) + bytes(81), STATED),
    ("rows", "coef", header((1,), "|O") + bytes(8), STATED),
    ("rows", "coef", b"\x93NUMPY\x03\x00" + bytes(80), "coef.npy must be an array of format 1.0"),
    ("rows", "coef", b"\x93NUMPY\x01\x00" + struct.pack("<H", 5000) + b"(" * 5000, ""),
]


@pytest.mark.parametrize(("name", "where", "value", "said"), FAULTS)
def test_a_fault_in_a_model_file_gets_one_sentence(path, name, where, value, said):
    write_model(path, fitted(name), (where, value))
    with pytest.raises(ValueError, match="is damaged, or no model of jointsparse: ") as raised:
        load(path)
    message = str(raised.value)
    assert any(part in message for part in said.split("|")) and message.isprintable() and len(message) < 1000


def rewritten(path, kind=zipfile.ZIP_STORED, more=()):
    with zipfile.ZipFile(path) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in [*entries, *more]:
            archive.writestr(name, content)


def changed(change):
    return lambda path: path.write_bytes(change(path.read_bytes()))


DIRECTORY = b"PK\1\2" + bytes(42)
LONG = DIRECTORY * 10**5 + model_file.END.pack(b"PK\5\6", 0, 0, 5, 5, len(DIRECTORY) * 10**5, 0, 0)
MANY = "a directory of at most 32 entries"
ARCHIVES = {
    "none": (Path.unlink, "there is no model file "),
    "a pickle": (changed(lambda content: pickle.dumps([1])), "is not a model file: a run saves its model as "),
    "two bytes": (changed(lambda content: b"PK"), "it must be an archive, got 2 bytes"),
    "10 GiB": (partial(os.truncate, length=10 * 2**30), "must hold at most 200,000,000 bytes, got 10,737,418,240"),
    "compressed": (partial(rewritten, kind=zipfile.ZIP_DEFLATED, more=[("zeros", bytes(10**7))]), "not be compressed"),
    "an entry twice": (partial(rewritten, more=[("coef.npy", b"")]), "must have different names"),
    "many entries": (partial(rewritten, more=[(f"{i}", b"") for i in range(200)]), MANY),
    "a long directory": (changed(lambda content: LONG), MANY),
    "of 64 bits": (
        changed(lambda content: content[:-22] + b"PK\6\7" + struct.pack("<LQL", 0, len(content), 1) + content[-22:]),
        MANY,
    ),
    "a comment": (changed(lambda content: content[:-2] + b"\1\0x"), MANY),
    "cut off": (changed(lambda content: content[:-9]), MANY),
    "newer": (
        lambda path: write_model(path, fitted("rows"), ("card.format", 2)),
        "in a newer format, by jointsparse 1.*: upgrade",
    ),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ARCHIVES)
def test_another_archive_gets_one_sentence(path, name):
    spoil, said = ARCHIVES[name]
    save(fitted("rows"), path)
    spoil(path)
    with pytest.raises(ValueError, match=said) as raised:
        load(path)
    assert "\n" not in str(raised.value) and str(path) in str(raised.value)


def test_a_model_that_load_would_reject_is_not_saved(path):
    model = model_of("rows")
    model.known_scores_[0] = np.nan
    with pytest.raises(ValueError, match="because load would reject the file: known_scores must hold finite numbers"):
        save(model, path)
    assert not path.exists()


# Text on terminals


def said_of(arguments, capsys, status):
    """Return what a command prints, after checking that no sign in it moves the cursor or the order of letters."""
    assert main(arguments) == status
    said = "".join(capsys.readouterr())
    kinds = {unicodedata.category(sign) for sign in said.replace("\n", "").replace("\u200d", "")}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}, repr(said)
    return said


def test_words_of_a_file_reach_the_terminal_as_text_and_a_table_as_they_are(path, capsys):
    model, words = model_of("pictures"), [f"{HOSTILE}<b>", "שלום a\u200db é"]
    model.card_ = model.card_.model_copy(update={"words": words, "dataset": HOSTILE})
    save(model, path)
    for arguments in (["annotate", str(path), "in"], ["show", str(path)]):
        said = said_of(arguments, capsys, 0)
        assert r"\x1b[2J\x07\x9b31m\u202egnp." in said and "שלום a" in said
    assert main(["annotate", str(path), "in", "--csv", "table.csv"]) == 0
    assert set(read_table("table.csv")["word"]) == set(words)


@pytest.mark.parametrize("statistics", [{}, {HOSTILE: [1, 2, 3], "auc": [None] * 3, "images": [4, 5, 6]}])
def test_a_model_of_tables_is_shown_with_samples_labels_and_the_statistics_that_show_knows(path, capsys, statistics):
    write_model(path, fitted("rows"), ("card.statistics", statistics))
    said = said_of(["show", str(path)], capsys, 0)
    assert "(all words)" in said and ("auc" in said) == ("auc" in statistics)
    assert "known_samples: 28" in said and re.search(r"^ *label\b", said, re.MULTILINE) and "image" not in said


# Describing pictures


def test_few_large_pictures_are_described_side_by_side(monkeypatch):
    model, seen = model_of("pictures"), []
    monkeypatch.setattr(annotator, "_decided", lambda rest, some: seen.append(len(some)) or np.zeros((len(some), 2)))
    monkeypatch.setattr(type(model["describe"]), "transform", lambda self, paths: [None])
    assert len(list(annotator.decisions(model, range(70)))) == 70 and seen == [64, 6]
    model["describe"].longest_side = 1500
    assert len(list(annotator.decisions(model, range(3)))) == 3 and seen[2:] == [1, 1, 1]


# Models of tables as ONNX files


ROWS, COLUMNS = np.random.default_rng(1).normal(size=(60, 5)), ["height", "width", "depth", "weight", "größe"]


@pytest.mark.parametrize("rank", [None, 3], ids=["features", "basis"])
@pytest.mark.parametrize(
    ("limits", "n_listed"), [({}, [120]), ({"n_words": 1}, [60]), ({"precision": 0.99}, range(1, 100))]
)
def test_probabilities_of_the_file_are_those_that_annotate_lists(rank, limits, n_listed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = basis.fit(ROWS + 1, rank=rank, rng=np.random.default_rng(0)) if rank else None
    model = of_rows(columns=COLUMNS, basis=found).model
    save(model, "model.jointsparse")
    assert main(["export", "model.jointsparse", "--onnx", "model.onnx"]) == 0
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    names = session.get_modelmeta().custom_metadata_map
    assert {name: json.loads(value) for name, value in names.items()} == {"labels": ["cat", "dog"], "features": COLUMNS}
    (got,) = session.run(["probabilities"], {"features": ROWS})
    pd.DataFrame(ROWS, columns=COLUMNS).to_csv("rows.csv", index=False)
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
