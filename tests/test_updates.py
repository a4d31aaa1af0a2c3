"""Seconds of online updates: what is measured, and that all methods do the same. No test looks at a duration."""

import numpy as np
import pandas as pd
import pytest
from conftest import make_samples
from scipy import sparse

from jointsparse.norms import l1
from jointsparse.papers.duchi import updates
from jointsparse.papers.duchi.online import Tree
from jointsparse.papers.duchi.updates import Full, FullOfNonZeros


def draw(n_examples=60, n_features=80, seed=0):
    """Sparse rows whose labels a few features tell."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n_examples, n_features, density=0.15, format="csr", rng=rng)
    w = np.where(np.arange(n_features) % 5 == 0, rng.normal(size=n_features), 0.0)
    return X, np.where(X @ w > 0, 1.0, -1.0)


@pytest.mark.parametrize("share", [1.0, 0.2, 0.01])
def test_updates_by_tree_in_full_and_of_non_zeros_lead_to_the_same_point(share, monkeypatch):
    monkeypatch.setattr(updates, "SPARE", 1)  # the zeros leave often
    rng = np.random.default_rng(0)
    n = 500
    start = np.where(rng.random(n) < 0.5, rng.normal(size=n), 0.0)
    radius = share * l1.norm(start)
    start = l1.project(start, radius)
    kinds = (Tree, Full, FullOfNonZeros)
    tree, full, compact = points = [kind(n, radius, start) for kind in kinds]
    counts = set()
    for _ in range(300):
        indices = np.sort(rng.choice(n, 12, replace=False))
        values = rng.normal(size=12)
        for point in points:
            point.step(indices, values, 0.3)
        counts.add(tree.ball.count_nonzero())
        np.testing.assert_allclose(tree.ball.toarray(), full.whole.w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(compact.toarray(), full.whole.w, rtol=0, atol=1e-12)
    assert len(counts) > 3
    assert share > 0.01 or compact.size < 100  # all 500 features came, and zeros have left


def test_a_row_for_each_share_and_method_of_updates():
    X, y = draw(n_examples=100)
    done = []
    table = updates.measure(
        X,
        y,
        shares=[1.0, 0.1],
        eta0=4.0,
        n_updates=50,
        rng=np.random.default_rng(7),
        progress=lambda i, of: done.append((i, of)),
    )
    assert list(table) == ["share", "non_zeros", "n", "touched", "method", "repeats", "seconds", "low", "high"]
    methods = ["tree", "full", "full of non-zeros", "entropic"]
    assert table[["share", "method"]].to_numpy().tolist() == [[share, m] for share in (1.0, 0.1) for m in methods]
    assert (table["seconds"] > 0).all() and table["repeats"].eq(3).all() and table["n"].eq(80).all()
    assert done == [(1, 2), (2, 2)]
    order = np.random.default_rng(7).permutation(100)
    w = np.zeros(80)
    for t, i in enumerate(order[:50], start=1):
        x = X[[i]].toarray()[0]
        w += 4.0 / np.sqrt(t) * y[i] / (1 + np.exp(y[i] * (w @ x))) * x
    expected = [np.count_nonzero(l1.project(w, share * np.abs(w).sum())) for share in (1.0, 0.1)]
    assert table.groupby("share", sort=False)["non_zeros"].unique().explode().tolist() == expected
    assert expected[0] > 70 > 20 > expected[1]
    assert table["touched"].unique() == pytest.approx([np.diff(X[order[50:]].indptr).mean()])


def test_a_study_measures_the_samples_with_a_label_against_the_others(monkeypatch):
    X, y = draw()
    data = make_samples(X, np.where(y > 0, "grain", ""), n_test=10)
    seen = {}

    def measure(X, y, **options):
        seen.update({"X": X, "y": y} | options)
        return pd.DataFrame({"share": [1.0]})

    monkeypatch.setattr(updates, "measure", measure)
    rng = np.random.default_rng(7)
    assert updates.run(data, rng=rng, eta0=4.0, shares=[1.0])["label"].tolist() == ["grain"]
    assert (seen.pop("X") != X[:-10]).nnz == 0
    np.testing.assert_array_equal(seen.pop("y"), y[:-10])
    assert seen == {"rng": rng, "progress": None, "eta0": 4.0, "shares": [1.0]}


def test_all_methods_get_the_same_updates(monkeypatch):
    seen, real = {}, updates._replay

    def replay(point, changes):
        seen.setdefault(type(point).__name__, []).append(changes)
        return real(point, changes)

    monkeypatch.setattr(updates, "_replay", replay)
    X, y = draw()
    updates.measure(X, y, shares=[0.5], eta0=4.0, n_updates=30, rng=np.random.default_rng(7))
    assert set(seen) == {"Tree", "Full", "FullOfNonZeros", "SparseEntropic"}
    assert [len(block) for block in seen["Tree"]] == [20, 10]
    for blocks in seen.values():
        for block, expected in zip(blocks, seen["Tree"], strict=True):
            assert all(a is b for a, b in zip(block, expected, strict=True))


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"shares": []}, "shares must be a list of at least one number, got none"),
        ({"eta0": -1.0}, "eta0 must be above 0 and finite, got -1.0"),
        ({"n_updates": 60}, "n_updates must be a whole number from 1 to 59, got 60"),
        ({"eta0": 1e300}, "learning without a constraint diverged with eta0 1e+300: choose a smaller one"),
    ],
)
def test_unfit_options_of_updates_are_refused(option, said):
    with pytest.raises(ValueError) as caught:
        updates.measure(*draw(), **{"eta0": 1.0, "n_updates": 20, "rng": np.random.default_rng(0)} | option)
    assert said in str(caught.value)
