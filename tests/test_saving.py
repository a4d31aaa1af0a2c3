"""Estimators in files of joblib and skops: loaded estimators predict the same bits, and learn on."""

import io
import pickle
import re
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import jointsparse
from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
)
from jointsparse.features import DenseSift, Embedding, SVDBasis, VocabularyTree
from jointsparse.norms import NORMS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6))
Y = (X[:, :2] + 0.1 * RNG.normal(size=(40, 2)) > 0).astype(int)
DESCRIPTORS = list(RNG.integers(0, 256, (40, 20, 4), dtype=np.uint8))
CHAIN = VocabularyTree(3, 2, weighting="tf-idf", random_state=0), SVDBasis(4), JointSparseClassifier(radius=5.0)
MODELS = {
    "classifier": lambda: JointSparseClassifier(radius=1.0, warm_start=True).fit(X, np.array(["a", "b"])[Y[:, 0]]),
    "classifier_cv": lambda: JointSparseClassifierCV("auto", radii=2, cv=2, loss="squared", warm_start=True).fit(X, Y),
    "regressor": lambda: JointSparseRegressor("l12", radius=1.0).fit(X, X[:, :2]),
    "regressor_cv": lambda: JointSparseRegressorCV(radii=[0.5, 1.0], cv=2).fit(X, X[:, 0]),
    "tree": lambda: make_pipeline(*CHAIN).fit(DESCRIPTORS, Y),
    **{f"online_{norm}": lambda norm=norm: OnlineJointSparseClassifier(norm).fit(X, Y) for norm in NORMS},
    "online_sparse": lambda: OnlineJointSparseClassifier("l1").fit(sparse.csr_matrix(X), Y),
    "descriptors": lambda: DenseSift(patch_sizes=(8, 12), step=4),
    "embedding": lambda: Embedding.from_digest(
        "network.onnx", digest="0" * 64, shape=(32, 48), grid=(2, 3), n_features=5, tokens=4
    ),
}
DOCUMENTED = re.findall(r'"(jointsparse\.[\w.]+)"', (Path(__file__).parents[1] / "docs" / "library.md").read_text())


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def by_skops(model):
    skops = pytest.importorskip("skops.io")
    return skops.loads(skops.dumps(model), trusted=DOCUMENTED)


@pytest.mark.parametrize("saved", [by_joblib, by_skops])
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_estimator_has_the_same_parameters_and_gives_the_same_predictions(name, saved):
    model = MODELS[name]()
    loaded = saved(model)
    assert repr(loaded) == repr(model)
    if name in ("descriptors", "embedding"):
        assert vars(loaded) == vars(model)
    else:
        samples = DESCRIPTORS if name == "tree" else X
        np.testing.assert_array_equal(loaded.predict(samples), model.predict(samples))


@pytest.mark.parametrize("saved", [by_joblib, by_skops])
def test_a_loaded_estimator_learns_on(saved):
    search = saved(MODELS["classifier_cv"]())
    assert search.norm == clone(search).norm == "auto" and search.fit(X, Y).n_iter_ == 0  # because of the warm start
    for name in ("online_l1inf", "online_sparse"):
        model = MODELS[name]()
        got, expected = (each.partial_fit(X[:5], Y[:5]).coef_ for each in (saved(model), model))
        np.testing.assert_array_equal(got, expected)


def test_the_documented_types_are_those_that_skops_asks_for():
    skops = pytest.importorskip("skops.io")
    asked = {name for make in MODELS.values() for name in skops.get_untrusted_types(data=skops.dumps(make()))}
    assert asked == set(DOCUMENTED)


@pytest.mark.parametrize("name", ["classifier", "descriptors", "tree"])
def test_a_pickle_of_another_version_warns(name, monkeypatch):
    pickled = pickle.dumps(MODELS[name]())
    monkeypatch.setattr(jointsparse, "__version__", "99.1")
    with pytest.warns(UserWarning, match="was written by jointsparse 1.* and is read by 99.1") as caught:
        pickle.loads(pickled)
    assert len(caught) == (3 if name == "tree" else 1)
