"""Model files: loaded models predict the same, also in another process, and bad files are rejected."""

import json
import os
import pickle
import re
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from common import run_python
from model_files import MODELS, X, Y, model_of
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import jointsparse
from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
)
from jointsparse import files as file
from jointsparse.features import DenseSift, SVDBasis, VocabularyTree
from jointsparse.files import load, save
from jointsparse.norms import NORMS
from jointsparse.schema import archive


@pytest.fixture(scope="module")
def skops():
    pytest.importorskip("skops")


PREDICT = """
import pickle, sys
import numpy as np
from jointsparse import load
for name, X in pickle.load(open("inputs.pkl", "rb")).items():
    model = load(f"{name}.skops")
    with open(f"{name}.npy", "wb") as file:
        np.save(file, np.asarray(getattr(model, "decision_function", model.predict)(X)))
"""


@pytest.fixture(scope="module")
def models(skops):
    """Fitted models by name, and samples for each of them."""
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("PIL")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    Y = (X[:, :2] + 0.1 * rng.normal(size=(40, 2)) > 0).astype(int)
    frames = pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame(Y, columns=["cat", "dog"])
    pictures = list(rng.integers(0, 256, (12, 32, 32), dtype=np.uint8))
    fitted = {
        "classifier": JointSparseClassifier(radius=1.0, warm_start=True).fit(X, Y),
        "names": JointSparseClassifierCV(radii=[0.5, 1.0], cv=2).fit(*frames),
        "regressor": JointSparseRegressor(radius=1.0, norm="l12").fit(X, X[:, :2]),
        "regressor_cv": JointSparseRegressorCV(radii=[0.5, 1.0], cv=2).fit(X, X[:, 0]),
        "scaled": make_pipeline(StandardScaler(), JointSparseClassifier(radius=1.0)).fit(
            X, np.where(Y[:, 0], "b", "a")
        ),
        **{f"online_{norm}": OnlineJointSparseClassifier(norm, radius=1.0).fit(X, Y) for norm in NORMS},
    }
    inputs = {name: frames[0] if name == "names" else X for name in fitted}
    steps = DenseSift(patch_sizes=(8,), step=4), VocabularyTree(3, 2, random_state=0), SVDBasis(4)
    chain = make_pipeline(*steps, JointSparseClassifier(radius=5.0))
    fitted["DenseSift"] = chain.fit(pictures, np.arange(12) % 2)
    return fitted, inputs | {"DenseSift": pictures}


def decisions(model, X):
    return np.asarray(getattr(model, "decision_function", model.predict)(X))


@pytest.mark.parametrize(("kernel", "tol"), [("", 0), ("Prescott", file.CHECK_TOL)])
def test_another_process_predicts_the_same_bits_and_another_blas_kernel_the_same_within_the_tolerance(
    models, tmp_path, kernel, tol
):
    fitted, inputs = models
    for name, model in fitted.items():
        save(model, tmp_path / f"{name}.skops")
    (tmp_path / "inputs.pkl").write_bytes(pickle.dumps(inputs))
    variables = {"PYTHONWARNINGS": "error"} | ({"OPENBLAS_CORETYPE": kernel} if kernel else {})
    run_python("-c", PREDICT, cwd=tmp_path, variables=variables)
    for name, model in fitted.items():
        got, expected = np.load(tmp_path / f"{name}.npy"), decisions(model, inputs[name])
        np.testing.assert_allclose(got, expected, rtol=0, atol=tol * np.abs(expected).max(), err_msg=name)


def test_names_parameters_and_further_learning_survive(models, tmp_path):
    fitted, inputs = models
    save(fitted["names"], tmp_path / "model.skops")
    model = load(tmp_path / "model.skops")
    assert model.predict(inputs["names"]).columns.tolist() == ["cat", "dog"]
    assert model.get_params() == fitted["names"].get_params()
    assert clone(model).fit(inputs["names"], fitted["names"].predict(inputs["names"])).coef_.shape == (2, 6)
    save(fitted["online_l1inf"], tmp_path / "model.skops")
    loaded, unpickled = load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(fitted["online_l1inf"]))
    X, Y = inputs["classifier"][:5], np.eye(5, 2, dtype=int)
    np.testing.assert_array_equal(loaded.partial_fit(X, Y).coef_, unpickled.partial_fit(X, Y).coef_)


@pytest.mark.usefixtures("skops")
def test_a_loaded_model_starts_from_its_last_fit(tmp_path):
    save(model_of("classifier"), tmp_path / "model.skops")
    assert load(tmp_path / "model.skops").fit(X, Y).n_iter_ == 0


@pytest.mark.usefixtures("skops")
def test_every_trusted_type_is_in_a_file():
    nodes = b"".join(file._dumped(model_of(name))[file.TREE] for name in MODELS).decode()
    found = re.findall(r'"__class__": "(\w+)",\s*"__module__": "([\w.]+)"', nodes)
    missing = set(file.TRUSTED) - {f"{module}.{kind}" for kind, module in found}
    assert missing == {"jointsparse.features.embedding.Embedding"}  # needs ONNX Runtime, see test_embedding.py


@pytest.mark.usefixtures("skops")
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (JointSparseClassifier(), "model must be a fitted estimator, got JointSparseClassifier"),
        ("model", "model must be a fitted estimator, got"),
        (JointSparseClassifier(radius=1.0, callback=print), "got builtins.print in callback: set such a parameter"),
        (
            make_pipeline(JointSparseClassifier(radius=1.0, callback=lambda *state: None)),
            "lambda> in jointsparseclassifier__callback: set",
        ),
        (JointSparseClassifier(radius=1.0, class_weight={False: 1, True: 2}), "back changed in class_weight: set"),
    ],
)
def test_models_that_cannot_be_saved_are_rejected_before_a_file_is_written(tmp_path, model, message):
    if "fitted" not in message:
        model.fit(np.eye(4), np.array([False, True] * 2))
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


# Files from an untrusted source


class Canary:
    """An object that leaves a file behind when it is unpickled."""

    def __init__(self):
        self.value = 1

    def __setstate__(self, state):
        Path("canary").touch()


@pytest.fixture
def model_file(skops, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(JointSparseClassifier(radius=1.0).fit(np.eye(4), [0, 1, 0, 1]), "model.skops")
    return Path("model.skops")


def rewritten(path, change):
    """Rewrite the file with other entries. change: function that takes and returns a dictionary of entries."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in change(entries).items():
            archive.writestr(name, content)


def with_origin(**values):
    def change(entries):
        return {file.ORIGIN: json.dumps(json.loads(entries[file.ORIGIN]) | values)}

    return change


def holding(value):
    """Make a valid file of another value, or of a model with this `check_`, as an attacker who knows `save` could."""

    def change(entries):
        model = value
        if not isinstance(value, list | VocabularyTree):
            model = make_pipeline(JointSparseClassifier(radius=1.0)).fit(np.eye(4), [0, 1, 0, 1])
            model.check_ = value
        dumped = file._dumped(model)
        return dumped | with_origin(digests=file._digests(dumped))(entries)

    return change


def unsound_tree():
    words = VocabularyTree(2, 1, random_state=0).fit([np.arange(200, dtype=np.uint8)[:, np.newaxis]])
    words.tree_ = words.tree_._replace(first_child=np.array([10**9, 0, 0], np.int32))
    return words


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "must be a file that jointsparse.save wrote"),
        (lambda path: (path.unlink(), path.mkdir()), "must be a file that jointsparse.save wrote"),
        (lambda path: path.write_bytes(b""), "is damaged, or no model of jointsparse"),
        (lambda path: path.write_bytes(pickle.dumps(Canary())), "is damaged, or no model of jointsparse"),
        (lambda path: os.truncate(path, 10 * 2**30), "must hold at most 200,000,000 bytes, got 10,737,418,240"),
        (lambda path: rewritten(path, lambda entries: entries | {"more": b"x"}), "not those that were written"),
        (
            lambda path: rewritten(path, lambda entries: entries | {file.TREE: entries[file.TREE] + b" "}),
            "not those that were written",
        ),
        (lambda path: rewritten(path, lambda entries: {file.ORIGIN: b"[]"}), "is damaged, or no model"),
        (lambda path: rewritten(path, with_origin(format=2)), "in a newer format, by jointsparse 1.*: upgrade"),
        (lambda path: rewritten(path, with_origin(versions=None)), "is damaged, or no model of jointsparse"),
        (lambda path: rewritten(path, holding(Canary())), "must hold only estimators of .*, got test_files.Canary"),
        (lambda path: rewritten(path, holding([1, 2])), r"must hold an estimator, got a list"),
        (lambda path: rewritten(path, holding({"X": np.eye(4)})), "check_.first_step must be there, got none"),
        (
            lambda path: rewritten(path, holding({"first_step": 0, "X": np.array(["a.jpg"])})),
            "check_.X must be an array of",
        ),
        (lambda path: rewritten(path, holding(unsound_tree())), "nodes of the tree must be numbered level by level"),
    ],
)
def test_a_hostile_file_raises_an_error_of_one_line_and_runs_nothing(model_file, spoil, message):
    spoil(model_file)
    with pytest.raises(ValueError, match=message) as raised:
        load(model_file)
    assert "\n" not in str(raised.value) and str(model_file) in str(raised.value)
    assert not Path("canary").exists()


def test_archives_that_unpack_to_too_much_are_rejected_before_they_are_unpacked(model_file, monkeypatch):
    rewritten(model_file, holding({"X": sparse.csr_matrix(np.ones((300, 1000)))}))
    monkeypatch.setattr(archive, "MOST_BYTES", 10**6)
    with pytest.raises(ValueError, match="which unpack to at most 1,000,000 bytes, got 3,"):
        load(model_file)
    with zipfile.ZipFile(model_file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("zeros", bytes(10**7))
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *args: pytest.fail("the entry was read"))
    with pytest.raises(ValueError, match="none of them compressed, got 10,000,000 bytes in 1"):
        load(model_file)


@pytest.mark.parametrize("part", ["heaps", "rows", "balls"])
def test_learning_with_a_hostile_iterate_does_not_leave_its_memory(part):
    model = OnlineJointSparseClassifier(radius=1.0).fit(sparse.eye_array(6, format="csr"), [0, 1] * 3)
    array = getattr(model._iterate, part)
    array[...] = np.frombuffer(bytes([0, 0, 0, 1]) * (array.nbytes // 4), array.dtype).reshape(array.shape)
    with pytest.raises(ValueError, match="the weights of the online classifier are inconsistent"):
        pickle.loads(pickle.dumps(model))


def test_the_same_model_gives_the_same_bytes(model_file, tmp_path):
    save(load(model_file), tmp_path / "again.skops")
    assert (tmp_path / "again.skops").read_bytes() == model_file.read_bytes()


def test_truncated_files_and_changed_bytes_never_give_another_model(model_file):
    content, expected = model_file.read_bytes(), load(model_file).coef_
    rng = np.random.default_rng(0)
    flips = [(place, bytes([content[place] ^ rng.integers(1, 256)])) for place in rng.choice(len(content), 40)]
    cuts = [content[:end] for end in rng.integers(1, len(content), 8)]
    for bad in cuts + [content[:place] + flipped + content[place + 1 :] for place, flipped in flips]:
        model_file.write_bytes(bad)
        with suppress(ValueError):  # any other error, such as an AssertionError, fails the test
            np.testing.assert_array_equal(load(model_file).coef_, expected)


@pytest.mark.parametrize("change", [-0.001, 0.001])
def test_a_model_that_does_not_reproduce_its_scores_is_rejected(model_file, change):
    model = make_pipeline(JointSparseClassifier(radius=1.0)).fit(np.eye(4), [0, 1, 0, 1])
    scores = model.decision_function(np.eye(4))
    model.check_ = {"first_step": 0, "X": np.eye(4), "scores": scores + change * np.abs(scores).max()}
    save(model, model_file)
    with pytest.raises(ValueError, match=r"that it gave when it was written, got a relative difference of 0\.001"):
        load(model_file)


# Versions


def test_a_file_of_another_version_of_scikit_learn_warns(model_file, monkeypatch):
    monkeypatch.setattr("sklearn.__version__", "99.1")
    with pytest.warns(UserWarning, match=r"was written with scikit-learn \S+ \(here 99.1\): predictions"):
        load(model_file)


def test_a_file_and_a_pickle_of_another_version_warn(model_file, models, monkeypatch):
    pickles = {name: pickle.dumps(model) for name, model in models[0].items()}
    monkeypatch.setattr(jointsparse, "__version__", "99.1")
    with pytest.warns(UserWarning, match=r"was written with jointsparse 1.* \(here 99.1\): predictions") as caught:
        load(model_file)
    assert len(caught) == 1
    for name, pickled in pickles.items():
        with pytest.warns(UserWarning, match="was written by jointsparse 1.* and is read by 99.1") as caught:
            pickle.loads(pickled)
        assert len(caught) == (4 if name == "DenseSift" else 1)
