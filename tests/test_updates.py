"""Seconds of online updates: what is measured, and that all methods do the same. No test looks at a duration."""

import numpy as np
import pytest
from sparse_text import labelled_samples

from jointsparse.norms import l1
from jointsparse.papers.duchi import updates
from jointsparse.papers.duchi.online import Tree
from jointsparse.papers.duchi.updates import Full, FullOfNonZeros

X, Y, DATA = labelled_samples(110, 80, n_test=10)
OPTIONS = {"label": "grain", "shares": [1.0, 0.1], "eta0": 4.0, "n_updates": 50}


def table_of(**options):
    return updates.run(DATA, rng=np.random.default_rng(7), **OPTIONS | options)


@pytest.mark.parametrize("share", [1.0, 0.2, 0.01])
def test_updates_by_tree_in_full_and_of_non_zeros_lead_to_the_same_point(share, monkeypatch):
    monkeypatch.setattr(updates, "SPARE_PLACES", 1)  # the zeros leave often
    rng = np.random.default_rng(0)
    start = np.where(rng.random(500) < 0.5, rng.normal(size=500), 0.0)
    radius = share * l1.norm(start)
    tree, full, compact = points = [
        kind(500, radius, l1.project(start, radius)) for kind in (Tree, Full, FullOfNonZeros)
    ]
    counts = set()
    for _ in range(300):
        indices, values = np.sort(rng.choice(500, 12, replace=False)), rng.normal(size=12)
        for point in points:
            point.step(indices, values, 0.3)
        counts.add(tree.count_nonzero())
        np.testing.assert_allclose([tree.toarray(), compact.toarray()], [full.w, full.w], rtol=0, atol=1e-12)
    assert len(counts) > 3
    assert share > 0.01 or compact.size < 100  # all 500 features came, and zeros have left


def test_a_row_for_each_share_and_method_of_updates():
    done = []
    table = table_of(progress=lambda i, of: done.append((i, of)))
    columns = ["share", "non_zeros", "n", "touched", "method", "repeats", "seconds", "low", "high"]
    assert list(table) == [*columns, "label"] and set(table["label"]) == {"grain"}
    methods = ["tree", "full", "full of non-zeros", "entropic"]
    assert table[["share", "method"]].to_numpy().tolist() == [[share, m] for share in (1.0, 0.1) for m in methods]
    assert (table["seconds"] > 0).all() and table["repeats"].eq(3).all() and table["n"].eq(80).all()
    assert done == [(1, 2), (2, 2)]
    order, w = np.random.default_rng(7).permutation(100), np.zeros(80)
    for t, i in enumerate(order[:50], start=1):
        x = X[[i]].toarray()[0]
        w += 4.0 / np.sqrt(t) * Y[i] / (1 + np.exp(Y[i] * (w @ x))) * x
    expected = [np.count_nonzero(l1.project(w, share * np.abs(w).sum())) for share in (1.0, 0.1)]
    assert table.groupby("share", sort=False)["non_zeros"].unique().explode().tolist() == expected
    assert expected[0] > 70 > 20 > expected[1]
    assert table["touched"].unique() == pytest.approx([np.diff(X[order[50:]].indptr).mean()])


def test_all_methods_get_the_same_updates(monkeypatch):
    seen, real = {}, updates._replay

    def replay(point, blocks):
        block = next(blocks)
        seen.setdefault(type(point).__name__, []).append(list(map(id, block)))
        return real(point, iter([block]))

    monkeypatch.setattr(updates, "_replay", replay)
    table_of(shares=[0.5], n_updates=30)
    assert [len(block) for block in seen["Tree"]] == [20, 10]
    assert seen == dict.fromkeys(("Tree", "Full", "FullOfNonZeros", "SparseEntropic"), seen["Tree"])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"shares": []}, "shares must be a list of at least one number, got none"),
        ({"shares": [1.5]}, "shares must be at most 1, where the projection changes nothing, got 1.5"),
        ({"eta0": -1.0}, "eta0 must be above 0 and finite, got -1.0"),
        ({"n_updates": 100}, "n_updates must be a whole number from 1 to 99, got 100"),
        ({"eta0": 1e300}, r"learning without a constraint diverged with eta0 1e\+300: choose a smaller one"),
    ],
)
def test_unfit_options_of_updates_are_refused(option, said):
    with pytest.raises(ValueError, match=said):
        table_of(**option)
