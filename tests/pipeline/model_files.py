"""Models as a run keeps them, and model files with changed content, as somebody writes them who knows the format."""

import io
import json
import zipfile
from copy import deepcopy
from functools import cache
from types import SimpleNamespace

import numpy as np
from scipy import sparse

from jointsparse.features import DenseSift, VocabularyTree
from jointsparse.features import basis as svd
from jointsparse.features.embedding import Embedding
from jointsparse.pipeline.models import annotator, final, model_file

SPLIT = np.repeat(["train", "validation", "test"], [20, 8, 12])
FIT = {"norm": "l1inf", "n_resamples": 5, "seed": 0}


def of_pictures():
    """A model of pictures, which become 12 visual words and 3 features of a basis. It knows 28 pictures and 2 words."""
    rng = np.random.default_rng(2)
    labels = rng.random((40, 2)) < 0.5
    pictures = rng.integers(0, 256, (40, 16, 16), dtype=np.uint8)
    for word, rows in enumerate((slice(8), slice(8, 16))):  # a noisy ramp in the upper or in the lower half
        pictures[labels[:, word], rows] = pictures[labels[:, word], rows] // 4 + np.linspace(0, 191, 16, dtype=np.uint8)
    options = {"patch_sizes": (8,), "step": 4, "rootsift": True}
    descriptors = DenseSift(**options, longest_side=16).transform(pictures)
    words = VocabularyTree(3, 2, weighting="tf-idf", random_state=0).fit(descriptors[:28])
    counts = words.transform(descriptors)
    basis = svd.fit(counts[:28], rank=3, rng=np.random.default_rng(0)).columns(
        np.array([2, 1, 0])
    )  # the first is not used
    weighting = {"weighting": words.weighting, "normalise": words.normalise}
    steps = annotator.of_pictures(
        extractor="dense_sift", options=options, longest_side=16, tree=words.tree_, weighting=weighting, idf=words.idf_
    )
    return _kept(counts, labels, steps=steps, basis=basis, pictures=pictures)


def of_rows(kind=np.asarray, **more):
    """A model of 5 features, whose columns have names unless they are sparse. It knows 28 rows and 2 labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)).astype(np.float32)
    labels = X[:, :2] + 0.3 * rng.normal(size=(40, 2)) > 0
    return _kept(kind(X), np.where(rng.random((40, 2)) < 0.1, -1, labels).astype(np.int8), **more)


def of_network():
    """A model of pictures that a network describes, whose file is not there."""
    embedding = Embedding.from_digest(
        "networks/n.onnx", digest="0" * 64, shape=(32, 48), grid=(2, 3), n_features=5, size=(32, 48)
    )
    return of_rows(steps=[("describe", embedding)])


def _kept(X, labels, *, steps=(), basis=None, columns=(), pictures=None):
    """Return the model, and what it was made from: the fit, its table, and the features that it has seen."""
    features = X if basis is None else svd.project(X, basis)
    scales = {} if basis is None else svd.factors(basis.singular_values, [0.0, 1.0])
    chosen, table = final.fit_and_test(features, labels, SPLIT, ["cat", "dog"], scales=scales, **FIT)
    scale = scales.get(chosen.power)
    fit, names = final.calibrated(chosen, features[:28], scale), [f"{i}.png" for i in range(28)]
    given = {"names": names, "steps": steps, "basis": basis, "columns": columns}
    model = annotator.annotator(fit, table, X, **given, dataset="drawn", study="own", raw="f00")
    made_from = {"fit": fit, "table": table, "labels": labels, "histograms": X, "pictures": pictures}
    return SimpleNamespace(model=model, features=features if scale is None else features * scale, **made_from)


MODELS = {
    "pictures": of_pictures,
    "rows": lambda: of_rows(columns=list("abcdefgh")),  # the table may name more features than samples have
    "texts": lambda: of_rows(sparse.csr_matrix),
    "network": of_network,
}


@cache
def made(name):
    return MODELS[name]()


def fitted(name):
    return made(name).model


def model_of(name):
    """A copy of a model, which may be changed."""
    return deepcopy(fitted(name))


def entries_of(model):
    """Return the entries of a model file by name: parsed JSON texts, and arrays."""
    with zipfile.ZipFile(io.BytesIO(model_file.packed(model))) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    return {
        name.rpartition(".")[0]: json.loads(entry) if name.endswith(".json") else np.load(io.BytesIO(entry))
        for name, entry in content.items()
    }


def content_of(entries):
    """Return the bytes of a model file with these entries. Entries that are bytes are written as they are."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, entry in entries.items():
            packed = io.BytesIO()
            if isinstance(entry, np.ndarray):
                np.lib.format.write_array(packed, entry, version=(1, 0))
            is_text = isinstance(entry, dict) or name in ("card", "names")
            content = (
                entry if isinstance(entry, bytes) else json.dumps(entry).encode() if is_text else packed.getvalue()
            )
            archive.writestr(zipfile.ZipInfo(f"{name}.{'json' if is_text else 'npy'}"), content)
    return file.getvalue()


def write_model(path, model, *changes):
    """Write a model file with changes: pairs of an entry, or keys with dots after it, and a value or a function."""
    entries = entries_of(model)
    for where, value in changes:
        block, (*above, last) = entries, where.split(".")
        for key in above:
            block = block[key]
        block[last] = value(block.get(last)) if callable(value) else value
    path.write_bytes(content_of(entries))
