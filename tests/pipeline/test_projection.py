"""Measured seconds of l1 projections: what is measured, and that methods do the same. No test looks at a duration."""

import numpy as np
import pytest

from jointsparse.norms import l1, l2
from jointsparse.pipeline.papers.duchi import projection

SMALL = {"sizes": [10, 30], "touched": [2, 5], "non_zeros": [20], "repeats": 2}


def table_of(**options):
    return projection.run(None, rng=np.random.default_rng(0), **SMALL | options)


def test_a_row_for_each_measurement(monkeypatch):
    monkeypatch.setattr(projection, "MOST_VERBATIM", 20)
    monkeypatch.setattr(projection, "GRADIENT_SIZES", (7,))
    done = []
    table = table_of(non_zeros=[20, 21], progress=lambda i, of: done.append((i, of)))
    assert list(table) == ["part", "x", "n", "k", "method", "repeats", "seconds", "low", "high"]
    got = table.drop(columns=["seconds", "low", "high", "repeats"]).to_numpy().tolist()
    ways = ("tree", "full", "entropic")
    assert got == [
        *(["dimension", n, n, n, method] for n in (10, 30) for method in ("sort", "pivot", "newton", "l2")),
        *(["gradient step", 7, 7, 7, method] for method in ("pivot", "newton", "l2")),
        *(["touched", k, 20, k, method] for k in (2, 5) for method in ways),
        ["touched", 5, 20, 5, "verbatim"],
        *(["touched", k, 21, k, method] for k in (2, 5) for method in ways),
    ]
    assert (table["seconds"] > 0).all() and (table["repeats"] == 2).all()
    assert done == [(i, 48) for i in range(1, 49)]


def test_methods_are_those_of_their_names():
    assert {name: (of.args[0], of.keywords) for name, of in projection.METHODS.items()} == {
        **{name: (l1, {"method": name}) for name in ("sort", "pivot", "newton")},
        "l2": (l2, {}),
    }
    assert projection.POINTS["verbatim"].keywords == {"method": "pivot"}


@pytest.mark.parametrize("k", [5, 100])
def test_projections_do_the_same_and_most_entries_stay(k):
    v, points = np.random.default_rng(0).normal(size=1000), {}
    radius = l1.norm(v)
    for method in ("tree", "full", "verbatim"):
        update, rng = projection.POINTS[method](v, radius), np.random.default_rng(1)
        for _ in range(1000):
            w = update(rng.choice(1000, k, replace=False), 0.3 * rng.normal(size=k))
        points[method] = update.__self__.toarray() if method == "tree" else w
    np.testing.assert_allclose(points["tree"], points["full"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(points["verbatim"], points["full"], rtol=0, atol=1e-12)
    assert np.count_nonzero(points["tree"]) >= 880 and np.abs(w - v).max() > 0.5
    assert l1.norm(w) == pytest.approx(radius, rel=0.02)


def test_steps_of_the_exponentiated_gradient_go_against_it(monkeypatch):
    seen = []

    class Entropic:
        def __init__(self, n, z):
            self.step = lambda indices, values, eta: seen.append((n, z, list(indices), list(values), eta))

    monkeypatch.setattr(projection, "SparseEntropic", Entropic)
    projection.POINTS["entropic"](np.ones(2), 3.0)(np.array([1]), np.array([0.5]))
    assert seen == [(2, 3.0, [0, 1], [0, 0], 0), (2, 3.0, [1], [-0.5], 1)]
