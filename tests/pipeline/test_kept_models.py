"""What a run keeps with a model: each fault gets one sentence, and names from it reach a terminal as text alone."""

import subprocess
import sys
import unicodedata

import numpy as np
import pandas as pd
import pytest
from model_files import model_of, put, write_entries, write_model
from PIL import Image
from scipy import sparse

from jointsparse import files, load
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.models import annotator
from jointsparse.pipeline.provenance.tables import read_table

HOSTILE = "\x1b[2J\x07\x9b31m\u202egnp.\x85\u2028\x7f\r\n\t\u2066x"


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for i in range(2):
        picture = np.random.default_rng(i).integers(0, 256, (16, 16), dtype=np.uint8)
        Image.fromarray(picture).save(tmp_path / "in" / f"{i}.png")
    return tmp_path / "model.skops"


def outside(X):
    """A sparse matrix that names a column which it does not have."""
    X = X.copy()
    X.indices[0] = 10**6
    return X


def without(key):
    return lambda values: {name: value for name, value in values.items() if name != key}


def with_row(row):
    return lambda array: np.concatenate([array[:1] * 0 + row, array[1:]]).astype(array.dtype)


FAULTS = [
    ("card_", {}, "card_.words must be there, got none"),
    ("card_", [1], "card_ must be a dictionary, got a list of 1"),
    ("card_", without("known_images"), "card_.known_images must be there, got none"),
    ("card_", lambda card: card | {"x": np.eye(2)}, r"card_.x must be text, numbers and lists of them, .* got float64"),
    ("card_", lambda card: card | {"x": "A" * 10**6}, "card_.x must be text, numbers and lists of them, with at most"),
    ("card_", lambda card: card | {"\ud800": 1}, "each key of Pipeline.card_ must be text"),
    ("card_.words", ["cat"], "card_.words must be a list of 2, got a list of 1"),
    ("card_.words", ["cat", 3], r"card_.words\[1\] must be text"),
    (
        "card_.words",
        ["cat", "A" * 10**6],
        r"card_.words\[1\] must be text of at most 10,000 letters, got a str of 1,000",
    ),
    ("card_.words", ["dog", "cat"], "card_.words must be the classifier's classes, without duplicates, got others"),
    ("card_.known_images", 27, "card_.known_images must be 28"),
    ("card_.numbers", [{"word": "cat"}], r"card_.numbers\[0\].images must be there, got none"),
    ("card_.numbers", lambda rows: [rows[0] | {"auc": "high"}], r"numbers\[0\].auc must be a number"),
    ("card_.radius", [1], "card_.radius must be a number"),
    ("known_scores_", lambda scores: scores[:-1], "must be an array of .* got bool of shape|known_.* 27"),
    ("known_scores_", lambda scores: scores[:, :1], r"known_scores_ must be an array of .* \(28, 1\)"),
    ("known_scores_", with_row(np.nan), "known_scores_ must hold finite numbers.* got others"),
    ("known_scores_", with_row(1e30), "known_scores_ must hold finite numbers.* got others"),
    (
        "known_labels_",
        lambda labels: labels[:5],
        r"known_labels_ must be an array of .* \(28, 2\), got bool of shape \(5, 2\)",
    ),
    (
        "known_labels_",
        lambda labels: labels.astype(int) + 1,
        "known_labels_ must hold finite numbers of at least -1 and at most 1, got others",
    ),
    ("known_labels_", lambda labels: labels & False, "known_labels_ must have an image with and an image without each"),
    ("known_names_", ["a.png"], "known_names_ must be a list of 28, got a list of 1"),
    ("known_names_", lambda names: [None, *names[1:]], r"known_names_\[0\] must be text"),
    ("columns_", ["a"], "columns_ must name each of 12 features once, or be empty, got 1 names"),
    ("check_", None, "check_ must be a dictionary, got None"),
    ("check_.X", outside, "X must be a valid CSR matrix"),
    ("check_.X", lambda X: X.toarray()[:, :5], r"check_.X must be an array of .* got float32 of shape \(5, 5\)"),
    ("check_.X", lambda X: X * np.float32(np.inf), "check_.X must hold finite numbers"),
    ("check_", lambda check: check | {"X": check["X"][:0], "scores": check["scores"][:0]}, "X must have 1 to .* got 0"),
    ("check_.scores", lambda scores: scores[:2], r"check_.scores must be an array of .* got float32 of shape \(2, 2\)"),
    ("check_.first_step", 0, "check_.first_step must be 2, the first step that takes features, got 0"),
    ("check_.more", 1, "check_ must hold only first_step, X, scores, got 'more' as well"),
    ("classifier.calibration_", np.full((2, 2), np.nan), "calibration_ must hold finite numbers"),
    ("classifier.calibration_", np.ones((1, 2)), "calibration_ must be an array"),
    ("steps", lambda steps: steps[2:], "check_.first_step must be 0, the first step that takes features"),
    ("basis._sklearn_output_config", {"transform": "pandas"}, "steps must return arrays, got another set_output"),
]


def said_of(arguments, capsys, status=2):
    """What a command says, and that no sign in it moves the cursor or the order of letters."""
    assert main(arguments) == status
    out, err = capsys.readouterr()
    kinds = {unicodedata.category(sign) for sign in (out + err).replace("\n", "").replace("\u200d", "")}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}, repr(out + err)
    return out, err


@pytest.mark.parametrize(("where", "value", "said"), FAULTS)
def test_a_fault_in_what_a_run_keeps_gets_one_sentence(path, capsys, where, value, said):
    model = model_of("annotator")
    put(model, where, value)
    write_model(path, model)
    with pytest.raises(ValueError, match=said):
        load(path)
    for arguments in (["show", str(path)], ["annotate", str(path), "in"]):
        out, err = said_of(arguments, capsys)
        assert not out and err.startswith(f"error: {path} is damaged") and err.count("\n") == 1


@pytest.mark.parametrize("name", ["card_", "known_scores_", "known_labels_", "known_names_", "columns_", "check_"])
def test_a_kept_model_has_all_that_a_run_keeps(path, capsys, name):
    model = model_of("annotator")
    del vars(model)[name]
    write_model(path, model)
    assert f"{name} must be there, got none" in said_of(["annotate", str(path), "in"], capsys)[1]


def with_words(model, words):
    model["classifier"].classes_ = model["classifier"]._names = np.array(words, dtype=object)
    model.card_ |= {"words": words, HOSTILE: [HOSTILE]}
    model.card_["numbers"] = [row | {"word": word} for row, word in zip(model.card_["numbers"], words, strict=False)]
    model.known_names_ = [HOSTILE] * len(model.known_names_)
    return model


def test_words_of_a_file_reach_the_terminal_as_text_and_a_table_as_they_are(path, capsys):
    words = [f"{HOSTILE}<b>", "שלום a\u200db é"]
    write_model(path, with_words(model_of("annotator"), words))
    out, err = said_of(["annotate", str(path), "in"], capsys, 0)
    assert not err and out.count("\n") == 5 and r"\x1b[2J\x07\x9b31m\u202egnp." in out and "שלום a" in out
    out, err = said_of(["show", str(path)], capsys, 0)
    assert not err and r"\u202egnp." in out and "שלום a" in out
    assert main(["annotate", str(path), "in", "--csv", "table.csv"]) == 0
    assert set(read_table("table.csv")["word"]) == set(words)


def test_names_of_files_and_errors_reach_the_terminal_as_text(path, capsys):
    write_model(path, model_of("annotator"))
    strange = path.with_name("in") / "\x1b[2J\u202e.png"
    strange.write_bytes(b"no picture")
    assert r"\x1b[2J\u202e.png: does not open" in said_of(["annotate", str(path), "in"], capsys, 1)[1]
    other = path.with_name("\x1b[31m\u202e.skops")
    other.write_bytes(b"no model")
    assert r"\x1b[31m\u202e.skops is damaged" in said_of(["show", str(other)], capsys)[1]
    with pytest.raises(SystemExit):
        main(["show", str(path), "\x1b[2J\u202e"])
    assert r"unrecognized arguments: \x1b[2J\u202e" in capsys.readouterr().err


def test_the_version_of_another_is_a_warning_in_one_line(path):
    write_entries(path, files._dumped(model_of("annotator")), versions=files._versions() | {"jointsparse": "99.1"})
    shown = subprocess.run(
        [sys.executable, "-m", "jointsparse", "show", path], capture_output=True, text=True, check=True
    )
    assert shown.stderr.startswith(f"warning: {path} was written with jointsparse 99.1 (here ")
    assert shown.stderr.count("\n") == 1


def test_scores_that_are_not_finite_are_refused(path, capsys):
    model = model_of("annotator")
    model["classifier"].coef_ = np.full_like(model["classifier"].coef_, 1e30)
    model["basis"].factors_ = np.full_like(model["basis"].factors_, 1e30)
    model.check_ |= {"X": sparse.csr_matrix((1, 12), dtype=np.float32)}
    model["basis"].basis_ = model["basis"].basis_._replace(mean=np.zeros(12, np.float32))
    model.check_["scores"] = model["classifier"].intercept_[np.newaxis]
    write_model(path, model)
    assert "the scores of the model must be finite, got" in said_of(["annotate", str(path), "in"], capsys)[1]


def test_few_large_pictures_are_described_side_by_side(monkeypatch):
    model, seen = model_of("annotator"), []
    monkeypatch.setattr(annotator, "_decided", lambda rest, some: seen.append(len(some)) or np.zeros((len(some), 2)))
    monkeypatch.setattr(type(model["describe"]), "transform", lambda self, paths: [None])
    assert len(list(annotator.decisions(model, range(70)))) == 70 and seen == [64, 6]
    model["describe"].longest_side = 1500
    assert len(list(annotator.decisions(model, range(3)))) == 3 and seen[2:] == [1, 1, 1]


def test_a_basis_of_a_run_has_its_scale_in_an_array(path, capsys):
    model = model_of("annotator")
    model["basis"].basis_ = model["basis"].basis_._replace(scale=np.array(model["basis"].basis_.scale))
    files.save(model, path)
    assert said_of(["annotate", str(path), "in"], capsys, 0)[1] == ""


def test_a_model_of_a_table_comes_back_and_its_columns_are_those_of_the_features(path, capsys):
    model = model_of("annotator")
    model.steps = model.steps[2:]
    model.columns_ = [f"f{i}" for i in range(12)]
    model.check_["first_step"] = 0
    write_model(path, model)
    table = pd.DataFrame(model.check_["X"].toarray(), columns=model.columns_)
    table.to_csv("rows.csv", index=False)
    out, err = said_of(["annotate", str(path), "rows.csv", "--words", "1"], capsys, 0)
    assert not err and out.count("\n") == 6
    model.columns_[1] = "f0"
    write_model(path, model)
    assert "columns_ must name each of 12 features once" in said_of(["annotate", str(path), "rows.csv"], capsys)[1]
