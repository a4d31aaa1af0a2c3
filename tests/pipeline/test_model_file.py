"""Model files bring back the model, each fault gets one sentence, and names reach a terminal as text alone."""

import io
import os
import pickle
import re
import struct
import subprocess
import sys
import unicodedata
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from common import run_python
from model_files import MODELS, content_of, entries_of, fitted, model_of, write_model
from PIL import Image

import jointsparse
from jointsparse.pipeline import load
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.models import annotator, model_file
from jointsparse.pipeline.models.model_file import save
from jointsparse.pipeline.provenance.tables import read_table

HOSTILE = "\x1b[2J\x07\x9b31m\u202egnp.\x85\u2028\x7f\r\n\t\u2066x"


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for i in range(2):
        picture = np.random.default_rng(i).integers(0, 256, (16, 16), dtype=np.uint8)
        Image.fromarray(picture).save(tmp_path / "in" / f"{i}.png")
    return tmp_path / "model.jointsparse"


def decisions(model):
    return np.asarray(model[model.check_["first_step"] :].decision_function(model.check_["X"]))


# What comes back


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_has_all_that_the_saved_model_has(path, name):
    model = fitted(name)
    save(model, path)
    loaded = load(path)
    for kept in ("card_", "known_names_", "columns_"):
        assert getattr(loaded, kept) == getattr(model, kept)
    np.testing.assert_array_equal(loaded.known_scores_, model.known_scores_)
    np.testing.assert_array_equal(loaded.known_labels_, model.known_labels_)
    np.testing.assert_array_equal(decisions(loaded), decisions(model))
    assert [step for step, _ in loaded.steps] == [step for step, _ in model.steps]
    got, expected = loaded[-1], model[-1]
    assert vars(got).keys() == vars(expected).keys() and got.get_params() == expected.get_params()
    X = np.zeros((1, expected.n_features_in_))
    pd.testing.assert_frame_equal(got.predict_proba(X), expected.predict_proba(X))
    assert loaded.card_.words == got.classes_.tolist() and loaded.card_.gap == got.duality_gap_
    save(loaded, path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()


PREDICT = """
import sys
import numpy as np
from jointsparse.pipeline import load
for name in sys.argv[1:]:
    model = load(name)
    X = model.check_["X"]
    np.save(name, np.asarray(model[model.check_["first_step"] :].decision_function(X)))
"""


@pytest.mark.parametrize(("kernel", "tol"), [("", 0), ("Prescott", model_file.CHECK_TOL)])
def test_another_process_gives_the_same_scores_and_another_blas_kernel_the_same_within_the_tolerance(path, kernel, tol):
    for name in MODELS:
        save(fitted(name), name)
    variables = {"PYTHONWARNINGS": "error"} | ({"OPENBLAS_CORETYPE": kernel} if kernel else {})
    run_python("-c", PREDICT, *MODELS, cwd=path.parent, variables=variables)
    for name in MODELS:
        expected = decisions(fitted(name))
        np.testing.assert_allclose(np.load(f"{name}.npy"), expected, rtol=0, atol=tol * np.abs(expected).max())


def test_importing_load_is_light(path):
    code = "import sys, jointsparse.pipeline as p; assert 'sklearn' not in sys.modules; p.load; print(*sys.modules)"
    assert not {"snakemake", "matplotlib", "PIL"} & {*run_python("-c", code).split()}


def test_rows_are_annotated_by_the_names_of_their_columns(path, capsys):
    save(fitted("rows"), path)
    table = pd.DataFrame(fitted("rows").check_["X"], columns=list("abcde"))
    table[list("edcba")].to_csv("rows.csv", index=False)
    assert main(["annotate", str(path), "rows.csv", "--csv", "table.csv", "--words", "2"]) == 0
    got = read_table("table.csv").pivot_table(index="row", columns="label", values="probability")
    expected = fitted("rows").predict_proba(table.to_numpy())
    np.testing.assert_allclose(got[["cat", "dog"]], expected, atol=1e-6)


# Faults


def with_entry(value, at=0):
    """Return a function that copies an array and sets one entry to a value."""

    def changed(array):
        array = array.copy()
        array.reshape(-1)[at] = value
        return array

    return changed


def longer(array):
    return np.concatenate([array, array])


NUMBERS, TREE = "must hold finite numbers", "the nodes of the tree must be numbered level by level"
FAULTS = [
    # The card
    ("rows", "card.words", [], "words: List should have at least 1 item"),
    ("rows", "card.words", ["cat"], "coef must be float64 or float32 of shape (1, any), got float32 of shape (2, 5)"),
    ("rows", "card.words", ["cat", "cat"], "the words must be different, got a word twice"),
    ("rows", "card.words", ["cat", 3], "words.1: Input should be a valid string"),
    ("rows", "card.words", ["cat", "\ud800"], "a JSON file: Invalid JSON"),
    ("rows", "card.x", 1, "x: Extra inputs are not permitted"),
    ("rows", f"card.{HOSTILE.replace('.', '')}", 1, "Extra inputs are not permitted"),
    ("rows", "card.norm", "l3", "norm must be one of l1, l12, l1inf, l2, got 'l3'"),
    ("rows", "card.norm", HOSTILE, "norm must be one of l1, l12, l1inf, l2, got "),
    ("rows", "card.loss", None, "loss: Input should be a valid string"),
    ("rows", "card.radius", -1.0, "radius must be at least 0, got -1"),
    ("rows", "card.radius", np.nan, "a JSON file: Invalid JSON|radius: Input should be a finite number"),
    ("rows", "card.known_images", 27, "27 known images must have a name, got 28 names"),
    ("rows", "card.thresholds", [0.5], "there must be 2 thresholds, got 1"),
    ("rows", "card.statistics.auc", [0.5], "statistics.auc must have 3 numbers, got 1"),
    ("rows", "card.statistics.auc", ["high"], "statistics.auc.0"),
    ("rows", "card.features", {"kind": "more"}, "features: Input tag 'more' found using 'kind' does not match"),
    ("rows", "card.versions.jointsparse", HOSTILE, "versions.jointsparse: String should match pattern"),
    ("rows", "card.versions.jointsparse", "1\n", "versions.jointsparse: String should match pattern"),
    ("rows", "card.format", 0, "format: Input should be 1"),
    ("rows", "card.power", 1.0, "it must hold an array basis_factors, got none"),
    ("rows", "card", b"[" * 10**6, "card.json must have at most|a JSON file: Invalid JSON: recursion limit"),
    ("rows", "card", bytes(2**22 + 1), "card.json must have at most 4,194,304 bytes, got 4,194,305"),
    ("rows", "names.known", ["a"], "28 known images must have a name, got 1 names"),
    ("rows", "names.known.3", 1, "known.3: Input should be a valid string"),
    ("rows", "names.columns", list("abcd"), "columns must name each of 5 features once, or be empty, got 4 names"),
    ("rows", "names.columns", list("abcda"), "columns must name each of 5 features once"),
    ("pictures", "names.columns", list("abcdefghijkl"), "columns must name each of 12 features once, or be empty"),
    # The steps from pictures to features
    ("pictures", "card.features.extractor", "os", "extractor must be one of dense_sift"),
    ("pictures", "card.features.options.step", 0, "step must be a whole number of at least 1, got 0"),
    ("pictures", "card.features.options.step", HOSTILE, "step must be a whole number of at least 1, got"),
    ("pictures", "card.features.options.patch_sizes", [2], "each of patch_sizes must be a whole number of at least 4"),
    ("pictures", "card.features.options.clip", "x", "TypeError"),
    ("pictures", "card.features.options.more", 1, "TypeError"),
    ("pictures", "card.features.options.longest_side", 10**6, "describing a picture must take at most 400,000,000"),
    ("pictures", "card.features.weighting", "count²", "weighting must be one of count, sqrt, tf-idf, got 'count²'"),
    ("pictures", "card.features.weighting", "sqrt", "idf must be None for 'sqrt'"),
    ("pictures", "tree_level", with_entry(2**31 - 1, -1), "level of the tree must hold finite numbers from 0 to 13"),
    ("pictures", "tree_first_child", with_entry(7), TREE),
    ("pictures", "tree_n_children", with_entry(-1), f"n_children of the tree {NUMBERS} from 0 to 13"),
    ("pictures", "tree_n_children", with_entry(5, 1), TREE),
    ("pictures", "tree_level", with_entry(1, -1), TREE),
    ("pictures", "tree_centres", with_entry(np.nan), f"the centres of the tree {NUMBERS} from 0 to 255, got others"),
    ("pictures", "tree_centres", with_entry(300.0), f"the centres of the tree {NUMBERS} from 0 to 255"),
    ("pictures", "tree_centres", lambda centres: centres[:, :50].copy(), "descriptors must have 128 numbers, got 50"),
    ("pictures", "tree_idf", np.ones(11, np.float32), "idf must be float32 of shape (12), got float32 of shape (11,)"),
    ("pictures", "basis_mean", with_entry(np.inf), f"the mean of the basis {NUMBERS}"),
    ("pictures", "basis_mean", longer, "the components of the basis must be"),
    ("pictures", "basis_scale", np.array(np.inf), f"the scale of the basis {NUMBERS}"),
    ("pictures", "basis_scale", np.ones(1), "the scale of the basis must be float64 or float32 of shape ()"),
    ("pictures", "basis_factors", longer, "factors must be float64 or float32 of shape (2), got float64 of shape (4,)"),
    ("pictures", "basis_columns", with_entry(-1), f"columns {NUMBERS}"),
    ("network", "card.features.grid", [1, 0], "features.network.grid.1: Input should be greater than or equal to 1"),
    ("network", "card.features.options.std", [0, 0, 0], "std must be above 0"),
    ("network", "card.features.options.model", "/etc/passwd", "TypeError"),
    ("network", "card.features.n_features", 6, "pictures must have 5 features, got 6"),
    # Arrays of the fit and of the known images
    ("rows", "coef", with_entry(np.nan), f"coef {NUMBERS}, got others"),
    ("rows", "coef", lambda W: W[0], "coef must be float64 or float32 of shape (2, any)"),
    ("rows", "coef", lambda W: W.astype(np.float16), "got float16 of shape (2, 5)"),
    ("rows", "coef", lambda W: W.astype(">f4"), "got >f4 of shape (2, 5)"),
    ("rows", "coef", lambda W: W[:, :0].copy(), "coef must be float64 or float32 of shape (2, any), got float32"),
    ("rows", "intercept", longer, "intercept must be float64 or float32 of shape (2), got"),
    ("rows", "calibration", np.ones((1, 2)), "calibration must be float64 or float32 of shape (2, 2)"),
    (
        "rows",
        "known_scores",
        with_entry(1e30),
        "known_scores must hold finite numbers from -1e+15 to 1e+15, got others",
    ),
    ("rows", "known_scores", longer, "known_scores must be float64 or float32 of shape (28, 2), got"),
    ("rows", "known_labels", with_entry(2), f"known_labels {NUMBERS} from -1 to 1, got others"),
    ("rows", "known_labels", lambda labels: labels & 0, "known_labels must have an image with and an image without"),
    ("rows", "check_X", lambda X: X[:0], "from 1 to 1000 images must be checked, got 0"),
    ("rows", "check_X", with_entry(np.inf), f"check_X {NUMBERS}"),
    ("rows", "check_scores", lambda scores: scores[:2], "check_scores must be"),
    ("texts", "check_indices", with_entry(10**6), "indices|index"),
    ("texts", "check_indptr", with_entry(-1), "index pointer|indptr"),
    ("texts", "check_data", with_entry(np.nan), f"check_X {NUMBERS}"),
    ("rows", "more", np.ones(1), "it must hold only the arrays of its model, got more as well"),
    ("rows", "coef", b"", "EOF|magic"),
    ("rows", "coef", pickle.dumps([1]), "magic"),
]


def said_of(arguments, capsys, status=2):
    """Return what a command prints, after checking that no sign in it moves the cursor or the order of letters."""
    assert main(arguments) == status
    out, err = capsys.readouterr()
    kinds = {unicodedata.category(sign) for sign in (out + err).replace("\n", "").replace("\u200d", "")}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}, repr(out + err)
    return out, err


@pytest.mark.parametrize(("name", "where", "value", "said"), FAULTS)
def test_a_fault_in_a_model_file_gets_one_sentence(path, capsys, name, where, value, said):
    write_model(path, fitted(name), (where, value))
    with pytest.raises(ValueError, match="is damaged, or no model of jointsparse: ") as raised:
        load(path)
    assert any(part in str(raised.value) for part in said.split("|")), raised.value
    out, err = said_of(["show", str(path)], capsys)
    assert not out and err.startswith(f"error: {path} is damaged") and err.count("\n") == 1 and len(err) < 1000


@pytest.mark.parametrize("name", ["pictures", "texts"])
def test_every_part_of_a_model_must_be_there(path, name):
    entries = entries_of(fitted(name))
    for missing in entries:
        path.write_bytes(content_of({name: entry for name, entry in entries.items() if name != missing}))
        with pytest.raises(ValueError, match="is damaged, or no model of jointsparse: "):
            load(path)
    for missing in entries["card"].keys() - {"format", "study", "seed", "raw", "power"}:
        card = {key: value for key, value in entries["card"].items() if key != missing}
        path.write_bytes(content_of(entries | {"card": card}))
        with pytest.raises(ValueError, match=f"{missing}: Field required"):
            load(path)


class Canary:
    """An object that leaves a file behind when it is unpickled."""

    def __reduce__(self):
        return Path.touch, (Path("canary"),)


def header(shape, descr="<f8", version=1):
    file = io.BytesIO()
    np.lib.format.write_array_header_2_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    _, _, text = file.getvalue().partition(b"\x02\x00")
    return b"\x93NUMPY" + bytes([version, 0]) + (text[:2] + text[4:] if version == 1 else text)


@pytest.mark.parametrize(
    "content",
    [
        header((10**12,)),
        header((2**62,), "<U0"),
        header((2**40, 0)),
        header((-1, -5)) + bytes(40),
        header((1,), "|O") + bytes(8),
        header((3,)) + bytes(16),
        header((2,)) + bytes(24),
        header((1,), version=2) + bytes(8),
        header((1,), version=3) + bytes(8),
        header((1,) * 40) + bytes(8),
        b"\x93NUMPY\x01\x00" + struct.pack("<H", 5000) + b"(" * 5000,
    ],
)
def test_the_header_of_an_array_is_checked_before_it_is_read(path, monkeypatch, content):
    write_model(path, fitted("rows"), ("coef", content))
    read = np.lib.format.read_array

    def small(entry, **options):
        array = read(entry, **options)
        assert array.nbytes < 10_000
        return array

    monkeypatch.setattr(np.lib.format, "read_array", small)
    with pytest.raises(ValueError, match="is damaged, or no model of jointsparse: ") as raised:
        load(path)
    assert "\n" not in str(raised.value)


def rewritten(path, kind=zipfile.ZIP_STORED, more=()):
    with zipfile.ZipFile(path) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in [*entries, *more]:
            archive.writestr(name, content)


def with_directory(n):
    directory = b"PK\1\2" + bytes(42)
    return directory * n + model_file.END.pack(b"PK\5\6", 0, 0, 5, 5, len(directory) * n, 0, 0)


def with_64_bits(content):
    return content[:-22] + b"PK\6\7" + struct.pack("<LQL", 0, len(content), 1) + content[-22:]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.unlink(), "there is no model file "),
        (lambda path: (path.unlink(), path.mkdir()), "there is no model file "),
        (lambda path: path.write_bytes(b""), "is not a model file: a run saves its model as "),
        (lambda path: path.write_bytes(pickle.dumps(Canary())), "is not a model file: a run saves its model as "),
        (lambda path: path.write_bytes(b"PK"), "it must be an archive, got 2 bytes"),
        (lambda path: os.truncate(path, 10 * 2**30), "must hold at most 200,000,000 bytes, got 10,737,418,240"),
        (lambda path: rewritten(path, zipfile.ZIP_DEFLATED, [("zeros", bytes(10**7))]), "not be compressed"),
        (lambda path: rewritten(path, more=[("coef.npy", b"")]), "must have different names"),
        (lambda path: rewritten(path, more=[("../x.npy", header((1,)) + bytes(8))]), "got ../x as well"),
        (lambda path: rewritten(path, more=[(f"{i}", b"") for i in range(200)]), "a directory of at most 32 entries"),
        (lambda path: path.write_bytes(with_directory(10**5)), "a directory of at most 32 entries"),
        (lambda path: path.write_bytes(with_64_bits(path.read_bytes())), "a directory of at most 32 entries"),
        (lambda path: path.write_bytes(path.read_bytes()[:-2] + b"\1\0x"), "a directory of at most 32 entries"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "a directory of at most 32 entries"),
        (
            lambda path: write_model(path, fitted("rows"), ("card.format", 2)),
            "in a newer format, by jointsparse 1.*: upgrade",
        ),
    ],
)
def test_another_archive_gets_one_sentence_and_nothing_in_it_is_run(path, capsys, spoil, said):
    save(fitted("rows"), path)
    spoil(path)
    with pytest.raises(ValueError, match=said) as raised:
        load(path)
    assert "\n" not in str(raised.value) and str(path) in str(raised.value)
    assert said_of(["show", str(path)], capsys)[1].count("\n") == 1
    assert not Path("canary").exists()


def test_truncated_files_and_changed_bytes_never_give_another_model(path):
    save(fitted("rows"), path)
    content, expected, rng = path.read_bytes(), fitted("rows")[-1].coef_, np.random.default_rng(0)
    flips = [(place, bytes([content[place] ^ rng.integers(1, 256)])) for place in rng.choice(len(content), 40)]
    cuts = [content[:end] for end in rng.integers(1, len(content), 8)]
    for bad in cuts + [content[:place] + flipped + content[place + 1 :] for place, flipped in flips]:
        path.write_bytes(bad)
        with suppress(ValueError):  # any other error, such as an AssertionError, fails the test
            np.testing.assert_array_equal(load(path)[-1].coef_, expected)


@pytest.mark.parametrize("change", [-0.001, 0.001])
def test_a_model_that_does_not_reproduce_its_scores_is_rejected(path, change):
    write_model(path, fitted("rows"), ("check_scores", lambda scores: scores + change * np.abs(scores).max()))
    with pytest.raises(ValueError, match=r"that it gave when it was written, got a relative difference of 0\.001"):
        load(path)


def test_a_model_that_load_would_reject_is_not_saved(path, monkeypatch):
    model = model_of("rows")
    model.known_scores_[0] = np.nan
    with pytest.raises(ValueError, match="because load would reject the file: known_scores must hold finite numbers"):
        save(model, path)
    monkeypatch.setattr(model_file, "MOST_BYTES", 500)
    with pytest.raises(ValueError, match="it must take at most 500 bytes, got "):
        save(fitted("rows"), path)
    assert not path.exists()


def test_a_model_without_a_network_takes_none(path):
    save(fitted("rows"), path)
    with pytest.raises(ValueError, match="network must be None"):
        load(path, network="network.onnx")


# Text on terminals, and versions


def with_words(model, words):
    model.card_ = model.card_.model_copy(update={"words": words, "dataset": HOSTILE})
    model.known_names_ = [HOSTILE] * len(model.known_names_)
    return model


def test_words_of_a_file_reach_the_terminal_as_text_and_a_table_as_they_are(path, capsys):
    words = [f"{HOSTILE}<b>", "שלום a\u200db é"]
    save(with_words(model_of("pictures"), words), path)
    out, err = said_of(["annotate", str(path), "in"], capsys, 0)
    assert not err and out.count("\n") == 5 and r"\x1b[2J\x07\x9b31m\u202egnp." in out and "שלום a" in out
    out, err = said_of(["show", str(path)], capsys, 0)
    assert not err and r"\u202egnp." in out and "שלום a" in out
    assert main(["annotate", str(path), "in", "--csv", "table.csv"]) == 0
    assert set(read_table("table.csv")["word"]) == set(words)


@pytest.mark.parametrize("statistics", [{}, {HOSTILE: [1, 2, 3], "auc": [None] * 3}, {"word": [1, 2, 3]}])
def test_statistics_that_show_does_not_know_are_left_out(path, capsys, statistics):
    write_model(path, fitted("rows"), ("card.statistics", statistics))
    out, err = said_of(["show", str(path)], capsys, 0)
    assert not err and "(all words)" in out and ("auc" in out) == ("auc" in statistics)


def test_names_of_files_and_errors_reach_the_terminal_as_text(path, capsys):
    save(fitted("pictures"), path)
    strange = path.with_name("in") / "\x1b[2J\u202e.png"
    strange.write_bytes(b"no picture")
    assert r"\x1b[2J\u202e.png: does not open" in said_of(["annotate", str(path), "in"], capsys, 1)[1]
    other = path.with_name("\x1b[31m\u202e.jointsparse")
    other.write_bytes(b"no model")
    assert r"\x1b[31m\u202e.jointsparse is not a model file" in said_of(["show", str(other)], capsys)[1]
    with pytest.raises(SystemExit):
        main(["show", str(path), "\x1b[2J\u202e"])
    assert r"unrecognized arguments: \x1b[2J\u202e" in capsys.readouterr().err


def test_a_model_of_tables_is_shown_with_samples_and_labels(path, capsys):
    save(fitted("rows"), path)
    out, _ = said_of(["show", str(path)], capsys, 0)
    assert "known_samples: 28" in out and re.search(r"^ *label  samples  test_samples ", out, re.MULTILINE)
    assert "image" not in out


def test_the_version_of_another_is_a_warning_in_one_line(path):
    write_model(path, fitted("rows"), ("card.versions.jointsparse", "99.1"))
    shown = subprocess.run(
        [sys.executable, "-m", "jointsparse", "show", path], capture_output=True, text=True, check=True
    )
    assert shown.stderr.startswith(f"warning: {path} was written with jointsparse 99.1 (here ")
    assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize(("module", "package"), [("sklearn", "scikit-learn"), (jointsparse, "jointsparse")])
def test_a_file_of_another_version_warns(path, monkeypatch, module, package):
    save(fitted("rows"), path)
    target = f"{module}.__version__" if isinstance(module, str) else module
    monkeypatch.setattr(*([target] if isinstance(module, str) else [target, "__version__"]), "99.1")
    with pytest.warns(UserWarning, match=rf"was written with {package} \S+ \(here 99.1\): predictions") as caught:
        load(path)
    assert len(caught) == 1


# Describing pictures


def test_scores_that_are_not_finite_are_refused(path, capsys):
    changes = [(name, lambda array: np.full_like(array, 1e30)) for name in ("coef", "basis_factors")]
    changes += [(name, np.zeros_like) for name in ("check_data", "basis_mean")]
    entries = entries_of(fitted("pictures"))
    changes += [("check_scores", np.tile(entries["intercept"], (len(entries["check_scores"]), 1)))]
    write_model(path, fitted("pictures"), *changes)
    assert "the scores of the model must be finite, got" in said_of(["annotate", str(path), "in"], capsys)[1]


def test_few_large_pictures_are_described_side_by_side(monkeypatch):
    model, seen = model_of("pictures"), []
    monkeypatch.setattr(annotator, "_decided", lambda rest, some: seen.append(len(some)) or np.zeros((len(some), 2)))
    monkeypatch.setattr(type(model["describe"]), "transform", lambda self, paths: [None])
    assert len(list(annotator.decisions(model, range(70)))) == 70 and seen == [64, 6]
    model["describe"].longest_side = 1500
    assert len(list(annotator.decisions(model, range(3)))) == 3 and seen[2:] == [1, 1, 1]
