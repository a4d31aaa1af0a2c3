"""Similarities to prototypes agree with a slow version that computes one pair at a time."""

import numpy as np
import pytest
from scipy import sparse

from jointsparse.features import similarities


def histograms(n, seed=0, d=40):
    rng = np.random.default_rng(seed)
    return sparse.csr_matrix(rng.poisson(0.4, (n, d)) * rng.gamma(1.0, 1.0, (n, d)).astype(np.float32))


PAIRS = {
    "intersection": lambda x, p, gamma: sum(min(a, b) for a, b in zip(x, p, strict=True)),
    "cosine": lambda x, p, gamma: x @ p / max(np.linalg.norm(x) * np.linalg.norm(p), 1e-300),
    "rbf": lambda x, p, gamma: np.exp(-gamma * ((x - p) ** 2).sum()),
}


def slow(X, prototypes, measure, gamma=None):
    """Return similarities, computed one pair at a time in double precision."""
    return np.array([[PAIRS[measure](x, p, gamma) for p in prototypes.astype(float)] for x in X.astype(float)])


def test_histograms_in_float16_have_the_similarities_of_float32():
    half = histograms(5).toarray().astype(np.float16)
    got, expected = (similarities.to_prototypes(X, X, measure="cosine") for X in (half, half.astype(np.float32)))
    np.testing.assert_array_equal(got, expected, strict=True)


def mean_squared_distance(P):
    """Return the mean squared distance over all pairs of different prototypes."""
    return np.mean([((P[i] - P[j]) ** 2).sum() for i in range(len(P)) for j in range(i)])


def fit(X, measure, training=None, **options):
    options = {"measure": measure, "n_prototypes": 15} | options
    return similarities.fit(X, X if training is None else training, **options, rng=np.random.default_rng(1))


@pytest.mark.parametrize("measure", similarities.MEASURES)
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csr_matrix.toarray])
def test_every_measure_agrees_with_its_formula(measure, form, monkeypatch):
    monkeypatch.setattr(similarities, "IMAGES_AT_ONCE", 7)  # so that there are several blocks
    empty = sparse.csr_matrix((1, 40), dtype=np.float32)  # has the similarity 0 to all others, except for rbf
    X, P = (sparse.vstack([empty, histograms(n, seed)], format="csr") for n, seed in ((29, 0), (11, 1)))
    dense_X, dense_P = X.toarray(), P.toarray()
    for gamma in [None, 0.03] if measure == "rbf" else [None]:
        got = similarities.to_prototypes(form(X), form(P), measure=measure, gamma=gamma)
        expected = slow(dense_X, dense_P, measure, gamma or 1 / mean_squared_distance(dense_P.astype(float)))
        assert got.dtype == np.float32 and got.shape == (30, 12)
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


def test_unsorted_and_duplicate_entries_are_summed_and_input_is_not_changed():
    parts = sparse.csr_matrix((np.array([2.0, 1.0, 3.0]), np.array([5, 0, 5]), np.array([0, 3])), shape=(1, 40))
    whole = np.zeros((1, 40))
    whole[0, [0, 5]] = 1, 5
    for measure in similarities.MEASURES:
        got, expected = (similarities.to_prototypes(X, histograms(4), measure=measure) for X in (parts, whole))
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(parts.indices, [5, 0, 5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "chi2"}, "measure must be one of intersection, cosine, rbf, got 'chi2'"),
        ({"measure": "cosine", "gamma": 1.0}, "gamma must be None unless the measure is rbf, got 1.0 for cosine"),
        ({"measure": "rbf", "gamma": 0.0}, "gamma must be a number above 0, got 0.0"),
        ({"measure": "rbf", "gamma": np.nan}, "gamma must be a number above 0, got nan"),
        ({"measure": "rbf", "prototypes": np.ones((3, 40))}, "prototypes must differ, .*: give gamma"),
        ({"measure": "rbf", "prototypes": np.ones((1, 40))}, "prototypes must differ, .*: give gamma"),
        ({"measure": "cosine", "prototypes": np.ones((3, 39))}, "X must have 39 features, .*, got 40"),
        ({"measure": "cosine", "prototypes": np.ones((0, 40))}, "prototypes must have at least one row, got none"),
        ({"measure": "cosine", "prototypes": np.ones(40)}, r"prototypes must have two axes .*, got shape \(40,\)"),
        ({"measure": "cosine", "prototypes": np.full((2, 40), np.inf)}, "prototypes must be finite"),
        (
            {"measure": "intersection", "prototypes": -np.ones((2, 40))},
            "prototypes must hold histograms without negative entries",
        ),
    ],
)
def test_invalid_input_raises(options, message):
    with pytest.raises(ValueError, match=message):
        similarities.to_prototypes(histograms(5), **({"prototypes": histograms(3, seed=1)} | options))


@pytest.mark.parametrize("measure", similarities.MEASURES)
@pytest.mark.parametrize("centred", [True, False])
def test_training_images_have_a_mean_squared_length_of_1(measure, centred):
    training = histograms(50, seed=8)
    Z = similarities.project(training, fit(histograms(60), measure, training, centred=centred)).astype(float)
    assert Z.shape == (50, 15)
    assert np.mean(np.sum(Z**2, axis=1)) == pytest.approx(1, rel=1e-5)
    if centred:
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-6)
    else:
        assert (Z >= 0).all()


def test_prototypes_are_different_rows_of_the_candidates_and_the_same_for_the_same_seed():
    X = histograms(60)
    first, second = fit(X, "rbf"), fit(X, "rbf")
    rows = {row.tobytes() for row in X.toarray()}
    drawn = {row.tobytes() for row in first.prototypes.toarray().astype(X.dtype)}
    assert len(drawn) == 15 and drawn < rows
    np.testing.assert_array_equal(similarities.project(X, first), similarities.project(X, second))
    assert first.gamma == pytest.approx(1 / mean_squared_distance(first.prototypes.toarray().astype(float)))


ALIKE = np.ones((5, 4))


@pytest.mark.parametrize(
    ("X", "n", "message"),
    [
        *((histograms(5), n, f"n_prototypes must be between 1 and 5, the number of images, got {n}") for n in (0, 6)),
        (ALIKE, 2, r"the training images must differ in their similarities \(cosine\), got 5 equal rows"),
    ],
)
def test_too_few_or_equal_images_raise(X, n, message):
    with pytest.raises(ValueError, match=message):
        fit(X, "cosine", n_prototypes=n)


def test_equal_images_are_allowed_without_centring():
    uncentred = fit(ALIKE, "cosine", n_prototypes=2, centred=False)
    np.testing.assert_allclose(similarities.project(ALIKE[:1], uncentred), np.sqrt(0.5), rtol=1e-6)
