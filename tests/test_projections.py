"""Features in an SVD basis are those of NumPy; similarities agree with a version that computes one pair at a time."""

import numpy as np
import pytest
from scipy import sparse

from jointsparse.features import basis
from jointsparse.features.similarities import fit, project, to_prototypes


def histograms(n, seed=0, d=40):
    rng = np.random.default_rng(seed)
    dense = (rng.poisson(0.4, (n, d)) * rng.gamma(1.0, 1.0, (n, d))).astype(np.float16)
    dense[0] = 0  # an empty histogram, whose similarity is 0 to all others, except for rbf
    return sparse.csr_matrix(dense.astype(np.float32))


def in_halves(X):
    """Return X with two entries instead of each entry."""
    return sparse.csr_matrix((np.repeat(X.data.astype(float) / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape)


PAIRS = {
    "intersection": lambda x, p, gamma: sum(min(a, b) for a, b in zip(x, p, strict=True)),
    "cosine": lambda x, p, gamma: x @ p / max(np.linalg.norm(x) * np.linalg.norm(p), 1e-300),
    "rbf": lambda x, p, gamma: np.exp(-gamma * ((x - p) ** 2).sum()),
}


def slow(X, prototypes, measure, gamma=None):
    """Return similarities, computed one pair at a time in double precision."""
    x, p = X.toarray().astype(float), prototypes.toarray().astype(float)
    squares = [((p[i] - p[j]) ** 2).sum() for i in range(len(p)) for j in range(i)]
    return np.array([[PAIRS[measure](a, b, gamma or 1 / np.mean(squares)) for b in p] for a in x])


@pytest.mark.parametrize(
    ("measure", "gamma", "form"),
    [
        ("intersection", None, sparse.csr_matrix),
        ("intersection", None, in_halves),
        ("cosine", None, sparse.csr_array),
        ("cosine", None, lambda X: X.toarray().astype(np.float16)),
        ("rbf", None, sparse.csc_matrix),
        ("rbf", 0.03, sparse.csr_matrix.toarray),
    ],
)
def test_every_measure_agrees_with_its_formula(measure, gamma, form, monkeypatch):
    monkeypatch.setattr("jointsparse.features.similarities.IMAGES_AT_ONCE", 7)  # so that there are several blocks
    X, P = histograms(30), histograms(12, seed=1)
    got = to_prototypes(form(X), form(P), measure=measure, gamma=gamma)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, slow(X, P, measure, gamma), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("measure", "gamma", "centred"),
    [("intersection", None, True), ("cosine", None, False), ("rbf", None, True), ("rbf", 0.03, True)],
)
def test_training_images_have_a_mean_squared_length_of_1(measure, gamma, centred):
    X, training, options = histograms(60), histograms(50, seed=8), {"measure": measure, "n_prototypes": 15}
    fitted = fit(X, training, **options, gamma=gamma, centred=centred, rng=np.random.default_rng(1))
    drawn, rows = ({row.tobytes() for row in matrix.toarray()} for matrix in (fitted.prototypes.astype(np.float32), X))
    assert len(drawn) == 15 and drawn < rows
    expected = slow(training, fitted.prototypes, measure, gamma)
    expected -= centred * expected.mean(axis=0)
    expected /= np.sqrt(np.mean(np.sum(expected**2, axis=1)))
    np.testing.assert_allclose(project(training, fitted), expected, atol=1e-5)


ALIKE, X, P = np.ones((5, 40)), histograms(5), np.ones((3, 40))


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [
        (to_prototypes, {"measure": "chi2"}, "measure must be one of intersection, cosine, rbf, got 'chi2'"),
        (to_prototypes, {"gamma": 1.0}, "gamma must be None unless the measure is rbf, got 1.0 for cosine"),
        (to_prototypes, {"measure": "rbf", "gamma": 0.0}, "gamma must be a number above 0, got 0.0"),
        (to_prototypes, {"measure": "rbf"}, "prototypes must differ, .*: give gamma"),
        (to_prototypes, {"measure": "rbf", "prototypes": P[:1]}, "prototypes must differ, .*: give gamma"),
        (to_prototypes, {"prototypes": P[:, 1:]}, "X must have 39 features, .*, got 40"),
        (to_prototypes, {"prototypes": P[:0]}, "prototypes must have at least one row, got none"),
        (to_prototypes, {"prototypes": P[0]}, r"prototypes must have two axes .*, got shape \(40,\)"),
        (to_prototypes, {"prototypes": P * np.inf}, "prototypes must be finite"),
        *(
            (
                to_prototypes,
                {"measure": "intersection", name: matrix},
                f"{name} must hold .* negative .*, got -1.0",
            )
            for name, matrix in (("X", X.toarray() - 1), ("prototypes", np.eye(3, 40) - 1))
        ),
        (fit, {"n_prototypes": 0}, "n_prototypes must be between 1 and 5, the number of images, got 0"),
        (fit, {"n_prototypes": 6}, "n_prototypes must be between 1 and 5, the number of images, got 6"),
        (fit, {"training": ALIKE}, r"must differ in their similarities \(cosine\), got 5 equal rows"),
    ],
)
def test_invalid_input_raises(call, options, message, rng):
    arguments = {to_prototypes: {"prototypes": P}, fit: {"training": X, "n_prototypes": 2, "rng": rng}}
    with pytest.raises(ValueError, match=message):
        call(**{"X": X, "measure": "cosine"} | arguments[call] | options)


# The SVD basis


RNG = np.random.default_rng(0)  # draws histograms whose singular values are distinct
ROWS = RNG.poisson(0.4, (120, 80)) * RNG.gamma(4.0, 1.0, 80) * 0.95 ** np.arange(80)
ROWS = sparse.csr_matrix(ROWS.astype(np.float32))


def basis_of(X, **options):
    return basis.fit(X, **options, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    ("rank", "centred", "power", "dense_bytes", "form"),
    [
        (60, True, 1, 10**9, sparse.csr_matrix),
        (60, False, 0.5, 10**9, sparse.csr_matrix.toarray),
        (60, True, 2, 0, sparse.csr_matrix),
        (3, True, 0, 10**9, sparse.csr_matrix),
        (3, False, 1, 10**9, sparse.csr_matrix),
        (3, True, 1, 0, sparse.csr_matrix),  # too large to be made dense as a whole
        (30, False, 1, 0, sparse.csr_matrix.toarray),
    ],
)
def test_features_are_those_of_numpy(monkeypatch, rank, centred, power, dense_bytes, form):
    monkeypatch.setattr(basis, "DENSE_BYTES", dense_bytes)
    monkeypatch.setattr(basis, "ROWS_AT_ONCE", 50)
    left, values, _ = np.linalg.svd(ROWS.toarray() - centred * np.asarray(ROWS.mean(axis=0)), full_matrices=False)
    expected = left[:, :rank] * values[:rank].astype(float) ** power
    expected *= np.sqrt(120 / np.sum(expected**2))  # a mean squared length of 1
    fitted = basis_of(form(ROWS), rank=rank, centred=centred)
    np.testing.assert_allclose(fitted.singular_values[:rank], values[:rank], rtol=1e-3)
    got = basis.project(form(ROWS), fitted) * basis.factors(fitted.singular_values, [power])[power]
    np.testing.assert_allclose(np.abs(got[:, :3]), np.abs(expected[:, :3]), atol=0.02)
    np.testing.assert_allclose(got @ got.T, expected @ expected.T, atol=0.02)


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        (range(50), {"rank": "full", "centred": False}, 50),
        (range(50), {"rank": "full"}, 49),
        (2 * [*range(50)], {"rank": "full"}, 49),
        (range(120), {"rank": "full"}, 80),
        (range(50), {"rank": "auto"}, 20),
        (range(30), {"rank": "auto"}, 15),
        (5 * [*range(10)], {"rank": "auto"}, 9),
        (range(2), {"rank": "auto"}, 1),
        (range(120), {"rank": 0}, "between 1 and 80 .*, got 0"),
        (range(120), {"rank": 81}, "between 1 and 80 .*, got 81"),
        (range(30), {"rank": 31, "centred": False}, "between 1 and 30 .*, got 31"),
        (range(30), {"rank": 30}, "between 1 and 29 .*, got 30"),
        (5 * [*range(10)], {"rank": 20}, "at most 9, the rank of the data, got 20"),
    ],
)
def test_the_rank_is_that_of_the_data_or_half_the_number_of_images(monkeypatch, rows, options, expected):
    monkeypatch.setattr(basis, "MOST_AUTO_RANK", 20)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=f"rank must be {expected}"):
            basis_of(ROWS[[*rows]], **options)
    else:
        assert basis_of(ROWS[[*rows]], **options).components.shape == (80, expected)
