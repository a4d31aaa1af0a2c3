"""Files of models: what comes back, also in another process, and what is refused."""

import json
import os
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from common import run_python
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
from jointsparse.features import Daisy, DenseSift, SVDBasis, VocabularyTree
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
    with open(f"{name}.npy", "wb") as found:
        np.save(found, np.asarray(getattr(model, "decision_function", model.predict)(X)))
"""


@pytest.fixture(scope="module")
def models(skops):
    """Fitted models by name, each with samples."""
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("PIL")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    Y = (X[:, :2] + 0.1 * rng.normal(size=(40, 2)) > 0).astype(int)
    frames = pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame(Y, columns=["cat", "dog"])
    pictures = list(rng.integers(0, 256, (12, 32, 32), dtype=np.uint8))
    made = {
        "classifier": JointSparseClassifier(radius=1.0, warm_start=True).fit(X, Y),
        "names": JointSparseClassifierCV(radii=[0.5, 1.0], cv=2).fit(*frames),
        "regressor": JointSparseRegressor(radius=1.0, norm="l12").fit(X, X[:, :2]),
        "regressor_cv": JointSparseRegressorCV(radii=[0.5, 1.0], cv=2).fit(X, X[:, 0]),
        "scaled": make_pipeline(StandardScaler(), JointSparseClassifier(radius=1.0)).fit(
            X, np.where(Y[:, 0], "b", "a")
        ),
        **{f"online_{norm}": OnlineJointSparseClassifier(norm, radius=1.0).fit(X, Y) for norm in NORMS},
    }
    inputs = {name: frames[0] if name == "names" else X for name in made}
    for extractor in (DenseSift(patch_sizes=(8,), step=4), Daisy(patch_sizes=(8,), step=4)):
        chain = make_pipeline(extractor, VocabularyTree(3, 2, random_state=0), SVDBasis(4))
        name = type(extractor).__name__
        made[name] = make_pipeline(*(step for _, step in chain.steps), JointSparseClassifier(radius=5.0))
        made[name].fit(pictures, np.arange(12) % 2)
        inputs[name] = pictures
    return made, inputs


def decisions(model, X):
    return np.asarray(getattr(model, "decision_function", model.predict)(X))


@pytest.mark.parametrize(("kernel", "tol"), [("", 0), ("Prescott", file.CHECK_TOL)])
def test_another_process_predicts_the_same_to_the_bit_and_on_another_kernel_what_load_allows(
    models, tmp_path, kernel, tol
):
    made, inputs = models
    for name, model in made.items():
        save(model, tmp_path / f"{name}.skops")
    (tmp_path / "inputs.pkl").write_bytes(pickle.dumps(inputs))
    variables = {"PYTHONWARNINGS": "error"} | ({"OPENBLAS_CORETYPE": kernel} if kernel else {})
    run_python("-c", PREDICT, cwd=tmp_path, variables=variables)
    for name, model in made.items():
        got, expected = np.load(tmp_path / f"{name}.npy"), decisions(model, inputs[name])
        np.testing.assert_allclose(got, expected, rtol=0, atol=tol * np.abs(expected).max(), err_msg=name)


def test_names_parameters_and_further_learning_survive(models, tmp_path):
    made, inputs = models
    save(made["names"], tmp_path / "model.skops")
    model = load(tmp_path / "model.skops")
    assert model.predict(inputs["names"]).columns.tolist() == ["cat", "dog"]
    assert model.get_params() == made["names"].get_params()
    assert clone(model).fit(inputs["names"], made["names"].predict(inputs["names"])).coef_.shape == (2, 6)
    save(made["online_l1inf"], tmp_path / "model.skops")
    one, other = load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(made["online_l1inf"]))
    X, Y = inputs["classifier"][:5], np.eye(5, 2, dtype=int)
    np.testing.assert_array_equal(one.partial_fit(X, Y).coef_, other.partial_fit(X, Y).coef_)


@pytest.mark.usefixtures("skops")
@pytest.mark.parametrize(
    ("model", "said"),
    [
        (JointSparseClassifier(), "model must be a fitted estimator, got JointSparseClassifier"),
        ("model", "model must be a fitted estimator, got"),
        (JointSparseClassifier(radius=1.0, callback=print), "got builtins.print in callback: set such a parameter"),
        (
            make_pipeline(JointSparseClassifier(radius=1.0, callback=lambda *told: None)),
            "lambda> in jointsparseclassifier__callback: set",
        ),
        (JointSparseClassifier(radius=1.0, class_weight={False: 1, True: 2}), "back changed in class_weight: set"),
    ],
)
def test_what_no_file_can_hold_is_refused_before_one_is_written(tmp_path, model, said):
    if "fitted" not in said:
        model.fit(np.eye(4), np.array([False, True] * 2))
    with pytest.raises(ValueError, match=said):
        save(model, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


# Files that no one should trust


class Canary:
    """Leaves a file behind when it is made from a file."""

    def __init__(self):
        self.value = 1

    def __setstate__(self, state):
        Path("canary").touch()


@pytest.fixture
def one(skops, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(JointSparseClassifier(radius=1.0).fit(np.eye(4), [0, 1, 0, 1]), "model.skops")
    return Path("model.skops")


def rewritten(path, change):
    """The file with other entries. change: takes and returns a dictionary of them."""
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
    """Make a file of a model with `check_`, as one who knows how `save` writes."""

    def change(entries):
        model = value
        if not isinstance(value, list | VocabularyTree):
            model = make_pipeline(JointSparseClassifier(radius=1.0)).fit(np.eye(4), [0, 1, 0, 1])
            model.check_ = value
        found = file._dumped(model)
        return found | with_origin(digests=file._digests(found))(entries)

    return change


def unsound_tree():
    words = VocabularyTree(2, 1, random_state=0).fit([np.arange(200, dtype=np.uint8)[:, np.newaxis]])
    words.tree_ = words.tree_._replace(first_child=np.array([10**9, 0, 0], np.int32))
    return words


@pytest.mark.parametrize(
    ("spoil", "said"),
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
        (lambda path: rewritten(path, holding(Canary())), "must hold estimators of .* alone, got test_files.Canary"),
        (lambda path: rewritten(path, holding([1, 2])), r"must hold an estimator, got a list"),
        (lambda path: rewritten(path, holding({"X": np.eye(4)})), "check_.first_step must be there, got none"),
        (
            lambda path: rewritten(path, holding({"first_step": 0, "X": np.array(["a.jpg"])})),
            "check_.X must be an array of",
        ),
        (lambda path: rewritten(path, holding(unsound_tree())), "the tree must lead from nodes to nodes of its own"),
    ],
)
def test_a_hostile_file_gets_one_sentence_and_runs_nothing(one, spoil, said):
    spoil(one)
    with pytest.raises(ValueError, match=said) as refused:
        load(one)
    assert "\n" not in str(refused.value) and str(one) in str(refused.value)
    assert not Path("canary").exists()


def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked(one, monkeypatch):
    rewritten(one, holding({"X": sparse.csr_matrix(np.ones((300, 1000)))}))
    monkeypatch.setattr(archive, "MOST_BYTES", 10**6)
    with pytest.raises(ValueError, match="which unpack to at most 1,000,000 bytes, got 3,"):
        load(one)
    with zipfile.ZipFile(one, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("zeros", bytes(10**7))
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *read: pytest.fail("it was read"))
    with pytest.raises(ValueError, match="none of them compressed, got 10,000,000 bytes in 1"):
        load(one)


@pytest.mark.parametrize("part", ["heaps", "rows", "balls"])
def test_steps_of_a_hostile_file_stay_in_its_own_memory(part):
    model = OnlineJointSparseClassifier(radius=1.0).fit(sparse.eye_array(6, format="csr"), [0, 1] * 3)
    array = getattr(model._iterate, part)
    array[...] = np.frombuffer(bytes([0, 0, 0, 1]) * (array.nbytes // 4), array.dtype).reshape(array.shape)
    with pytest.raises(ValueError, match="the weights of the online classifier are inconsistent"):
        pickle.loads(pickle.dumps(model))


def test_the_same_model_makes_the_same_bytes(one, tmp_path):
    save(load(one), tmp_path / "again.skops")
    assert (tmp_path / "again.skops").read_bytes() == one.read_bytes()


def test_no_cut_and_no_flipped_byte_gives_another_model(one):
    content, expected = one.read_bytes(), load(one).coef_
    rng = np.random.default_rng(0)
    flips = [(place, bytes([content[place] ^ rng.integers(1, 256)])) for place in rng.choice(len(content), 40)]
    cuts = [content[:end] for end in rng.integers(1, len(content), 8)]
    for bad in cuts + [content[:place] + flipped + content[place + 1 :] for place, flipped in flips]:
        one.write_bytes(bad)
        with suppress(ValueError):  # and nothing else, as an AssertionError
            np.testing.assert_array_equal(load(one).coef_, expected)


@pytest.mark.parametrize("change", [-0.001, 0.001])
def test_scores_that_changed_since_are_told(one, change):
    model = make_pipeline(JointSparseClassifier(radius=1.0)).fit(np.eye(4), [0, 1, 0, 1])
    scores = model.decision_function(np.eye(4))
    model.check_ = {"first_step": 0, "X": np.eye(4), "scores": scores + change * np.abs(scores).max()}
    save(model, one)
    with pytest.raises(
        ValueError, match=r"must give the scores that it gave when it was written, got others by 0\.001"
    ):
        load(one)


# Versions


def test_another_version_of_scikit_learn_is_told(one, monkeypatch):
    monkeypatch.setattr("sklearn.__version__", "99.1")
    with pytest.warns(UserWarning, match=r"was written with scikit-learn \S+ \(here 99.1\): predictions"):
        load(one)


def test_another_version_is_told_of_a_file_and_of_a_pickle(one, models, monkeypatch):
    pickles = {name: pickle.dumps(model) for name, model in models[0].items()}
    monkeypatch.setattr(jointsparse, "__version__", "99.1")
    with pytest.warns(UserWarning, match=r"was written with jointsparse 1.* \(here 99.1\): predictions") as told:
        load(one)
    assert len(told) == 1
    for name, one_pickle in pickles.items():
        with pytest.warns(UserWarning, match="was written by jointsparse 1.*, and 99.1 reads it") as told:
            pickle.loads(one_pickle)
        assert len(told) == {"DenseSift": 4, "Daisy": 4}.get(name, 1)
