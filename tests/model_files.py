"""Fitted models of every kind, and model files as one who knows how `save` works writes them.

The files hold anything, and their digests are right.
"""

import json
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
    files,
)
from jointsparse.features import DenseSift, SVDBasis, VocabularyTree

X = np.random.default_rng(0).normal(size=(16, 3)).round(2)
Y = (X[:, :2] > 0).astype(int)


def search_of_tables():
    pd = pytest.importorskip("pandas")
    tables = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=["cat", "dog"])
    return JointSparseClassifierCV(radii=[0.5, 1.0], cv=2).fit(*tables)


def classifier_of_pictures():
    pytest.importorskip("PIL")
    pictures = np.random.default_rng(1).integers(0, 256, (8, 24, 24), dtype=np.uint8)
    steps = DenseSift(patch_sizes=(8,), step=4), VocabularyTree(3, 2, random_state=0), SVDBasis(2)
    return make_pipeline(*steps, JointSparseClassifier(radius=5.0)).fit(pictures, [0, 1] * 4)


def annotator_of_pictures():
    """Return a model as a run keeps it. It takes 12 features of pictures, and knows 28 pictures and two words."""
    pytest.importorskip("pandas")
    from jointsparse.features import basis as svd
    from jointsparse.pipeline.models import annotator, final

    rng = np.random.default_rng(2)
    labels = rng.random((40, 2)) < 0.5
    pictures = rng.integers(0, 256, (40, 16, 16), dtype=np.uint8)
    for word, rows in enumerate((slice(8), slice(8, 16))):  # a noisy ramp in the upper or in the lower half
        pictures[labels[:, word], rows] = pictures[labels[:, word], rows] // 4 + np.linspace(0, 191, 16, dtype=np.uint8)
    options = {"patch_sizes": (8,), "step": 4, "rootsift": True}
    descriptors = DenseSift(**options, longest_side=16).transform(pictures)
    words = VocabularyTree(3, 2, weighting="tf-idf", random_state=0).fit(descriptors[:28])
    counts = words.transform(descriptors)
    basis = svd.fit(counts[:28], rank=3, rng=np.random.default_rng(0))
    features, scales = svd.project(counts, basis), svd.factors(basis.singular_values, [1.0])
    split = np.repeat(["train", "validation", "test"], [20, 8, 12])
    chosen, table = final.fit_and_test(
        features, labels, split, ["cat", "dog"], norm="l1inf", scales=scales, n_resamples=5, seed=0
    )
    fit = final.calibrated(chosen, features[:28])
    weighting = {"weighting": words.weighting, "normalise": words.normalise}
    steps = annotator.of_pictures(
        extractor="dense_sift", options=options, longest_side=16, tree=words.tree_, weighting=weighting, idf=words.idf_
    )
    card = annotator.card_of(fit, table, dataset="drawn")
    names = [f"{i}.png" for i in range(28)]
    model = annotator.annotator(fit, names=names, steps=steps, basis=basis, card=card)
    return annotator.with_check(model, counts)


MODELS = {
    "annotator": annotator_of_pictures,
    "classifier": lambda: JointSparseClassifier(radius=1.0, warm_start=True).fit(X, Y),
    "dense-sift": classifier_of_pictures,
    "online-l1": lambda: OnlineJointSparseClassifier("l1", radius=1.0).fit(X, Y),
    "online-l1inf": lambda: OnlineJointSparseClassifier(radius=1.0).fit(X, Y),
    "online-sparse": lambda: OnlineJointSparseClassifier("l1", radius=1.0).fit(sparse.csr_matrix(X), Y),
    "regressor": lambda: JointSparseRegressor("l12", radius=1.0).fit(X, X[:, :2]),
    "regressor-search": lambda: JointSparseRegressorCV(radii=[0.5, 1.0], cv=2).fit(X, X[:, 0]),
    "search": search_of_tables,
}


@cache
def fitted(name):
    return MODELS[name]()


def model_of(name):
    """A copy of a fitted model, which may be changed."""
    return deepcopy(fitted(name))


def write_entries(path, entries, **origin):
    known = {"format": files.FORMAT, "versions": files._versions(), "digests": files._digests(entries)}
    path.write_bytes(files._packed(entries | {files.ORIGIN: json.dumps(known | origin).encode()}))


def write_model(path, model):
    write_entries(path, files._dumped(model))


def part_of(model, where):
    """The part of a model at the end of names with dots between them: steps, attributes and keys of dictionaries."""
    for name in where.split(".") if where else ():
        steps = getattr(model, "named_steps", {})
        model = steps[name] if name in steps else model[name] if isinstance(model, dict) else getattr(model, name)
    return model


def put(model, where, value):
    """Set an attribute, an item or a field. value: or a function of the old value."""
    above, _, name = where.rpartition(".")
    part = part_of(model, above)
    old = part.get(name) if isinstance(part, dict) else getattr(part, name, None)
    new = value(old) if callable(value) else value
    if hasattr(part, "_replace"):
        put(model, above, part._replace(**{name: new}))
    elif isinstance(part, dict):
        part[name] = new
    else:
        vars(part)[name] = new
