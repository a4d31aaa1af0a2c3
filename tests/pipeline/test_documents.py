"""Generated documents follow their description, depend only on the seed, and do not use test documents for weights."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointsparse.arrays import fingerprint
from jointsparse.pipeline.datasets import documents

SMALL = {"n_documents": 300, "n_features": 1000, "n_topics": 8, "n_telling": 30, "length": 40}


def labels_of(samples, n_topics):
    table = pd.crosstab(samples.captions["image"], samples.captions["caption"])
    return table.reindex(
        index=samples.images["image"], columns=[f"topic {k + 1}" for k in range(n_topics)], fill_value=0
    ).to_numpy(dtype=bool)


def test_documents_depend_only_on_the_seed():
    first, again, other = (documents.read(**SMALL, seed=seed) for seed in (1, 1, 2))
    assert fingerprint(first.X) == fingerprint(again.X)
    assert all(table.equals(same) for table, same in zip(first[:3], again[:3], strict=True))
    assert not any(table.equals(different) for table, different in zip(first[:2], other[:2], strict=True))


def test_shapes_names_and_splits():
    default = documents.read()
    assert (default.X.shape, default.X.dtype, default.X.has_canonical_format) == ((6000, 20000), np.float32, True)
    assert default.images["image"].iloc[[0, -1]].tolist() == ["document 1", "document 6000"]
    assert default.images["split"].value_counts().to_dict() == {"train": 3600, "validation": 1200, "test": 1200}
    assert set(default.captions["caption"]) == {f"topic {k}" for k in range(1, 41)}
    assert not default.captions.duplicated().any()
    assert default.left_out.empty
    np.testing.assert_allclose(sparse.linalg.norm(default.X, axis=1), 1, rtol=1e-5)
    assert default.X.data.min() > 0


def test_topics_decrease_in_size_and_the_rarest_has_forty_training_documents():
    samples = documents.read(seed=1)
    labels = labels_of(samples, 40)
    np.testing.assert_array_equal(labels.sum(axis=0), np.rint(1500 / np.arange(1, 41) ** 0.75))
    assert labels[samples.images["split"] == "train"].sum(axis=0).min() >= 40
    assert {0, 1, 2, 3, 4} <= set(labels.sum(axis=1))


def test_the_weights_of_words_depend_only_on_training_documents(monkeypatch):
    counts = sparse.random(40, 30, density=0.1, rng=0, format="csr", dtype=np.float32)
    counts.data = np.ceil(3 * counts.data)
    is_training = np.arange(40) < 25
    dense = counts.toarray().astype(float)
    seen = []
    monkeypatch.setattr(documents, "_weigh", lambda X, of_split: seen.append(of_split) or X)
    assert (seen == (documents.read(**SMALL).images["split"] == "train").to_numpy()).all()
    monkeypatch.undo()
    got = documents._weigh(counts, is_training).toarray()
    np.testing.assert_array_equal(counts.toarray(), dense)
    n_with = (dense[:25] > 0).sum(axis=0)
    expected = dense * np.where(n_with, np.log(25 / np.maximum(n_with, 1)) + 1, 0)
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(got, expected / np.where(lengths, lengths, 1), rtol=1e-6)


def test_the_background_follows_zipfs_law():
    rng = np.random.default_rng(0)
    n_features = 50
    pool = np.arange(10)
    none = sparse.csr_matrix((2000, 3))
    topics = documents._draw_topics(pool, n_features, 3, rng)
    counts = documents._draw_words(none, topics, pool, n_features, 100, (0.3, 0.0), rng)
    got = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
    expected = np.log1p(1 / np.arange(1, n_features + 1)) / np.log(n_features + 1)
    assert counts.sum() == pytest.approx(200_000, rel=0.05)
    np.testing.assert_allclose(got, expected, atol=0.003)


def test_words_of_topics_follow_their_preferences():
    rng = np.random.default_rng(0)
    n_features, n_topics = 10**6, 3
    pool = rng.choice(n_features, 20, replace=False)
    topics = documents._draw_topics(pool, n_features, n_topics, rng)
    topics_of = sparse.csr_matrix(np.repeat([[1, 0, 0], [0, 1, 1]], 1000, axis=0))
    counts = documents._draw_words(topics_of, topics, pool, n_features, 100, (1.0, 0.0), rng)
    preference = np.zeros((n_topics, n_features))
    for k in range(n_topics):
        np.add.at(preference[k], topics[0][k], np.diff(topics[1][k], prepend=0))
    for rows, expected in ((slice(0, 1000), preference[0]), (slice(1000, 2000), preference[1:].mean(axis=0))):
        np.testing.assert_allclose(
            np.asarray(counts[rows].sum(axis=0)).ravel() / counts[rows].sum(), expected, atol=0.005
        )


def test_each_topic_uses_a_third_to_two_thirds_of_the_pool():
    _, cumulative = documents._draw_topics(np.arange(90), 1000, 50, np.random.default_rng(0))
    assert set((np.diff(cumulative[:, :90], prepend=0, axis=1) > 0).sum(axis=1)) <= set(range(30, 61))
    np.testing.assert_array_equal(cumulative[:, -1], 1)


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({"n_documents": 1, "fractions": {"train": 1}}, (1, 1000)),
        ({"n_features": 1, "n_telling": 1}, (300, 1)),
        ({"n_features": 1_500_000}, (300, 1_500_000)),
    ],
)
def test_extreme_sizes_are_drawn_in_several_blocks(monkeypatch, options, shape):
    monkeypatch.setattr(documents, "DOCUMENTS_AT_ONCE", 70)
    X = documents.read(**(SMALL | options)).X
    assert (X.shape, X.nnz < 100 * len(X.indptr)) == (shape, True)
    np.testing.assert_allclose(sparse.linalg.norm(X, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"n_documents": 0}, "n_documents must be a whole number of at least 1, got 0"),
        ({"n_documents": 10.5}, "n_documents must be a whole number of at least 1, got 10.5"),
        ({"n_features": -1}, "n_features must be a whole number from 1 to 2147483647, got -1"),
        ({"n_features": 2**31}, "n_features must be a whole number from 1 to 2147483647, got 2147483648"),
        ({"n_topics": 0}, "n_topics must be a whole number of at least 1, got 0"),
        ({"n_telling": 0}, "n_telling must be a whole number from 1 to 1000, got 0"),
        ({"n_telling": 1001}, "n_telling must be a whole number from 1 to 1000, got 1001"),
        ({"length": 0}, "length must be above 0 and finite, got 0.0"),
        ({"length": float("nan")}, "length must be above 0 and finite, got nan"),
        ({"telling": -0.1}, "telling and noise must be at least 0, and their sum at most 1, got -0.1 and 0.05"),
        ({"telling": 0.7, "noise": 0.4}, "their sum at most 1, got 0.7 and 0.4"),
        ({"noise": -0.1}, "their sum at most 1, got 0.15 and -0.1"),
        ({"noise": float("nan")}, "their sum at most 1, got 0.15 and nan"),
        ({"fractions": {"test": 1.0}}, "must have at least one usable training image or sample, got 300 usable"),
    ],
)
def test_wrong_options_are_refused(options, expected):
    with pytest.raises(ValueError, match=re.escape(expected)):
        documents.read(**(SMALL | options))
