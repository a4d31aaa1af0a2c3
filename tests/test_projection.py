"""Measured seconds of l1 projections: what is measured, and that methods do the same. No test looks at a duration."""

import numpy as np
import pytest

from jointsparse.norms import l1
from jointsparse.papers import timing
from jointsparse.papers.duchi import projection

SMALL = {"sizes": [10, 30], "touched": [2, 5], "non_zeros": [20], "repeats": 2}


def table_of(**options):
    return projection.run(None, rng=np.random.default_rng(0), **SMALL | options)


def test_a_row_for_each_measurement():
    done = []
    table = table_of(progress=lambda i, of: done.append((i, of)))
    assert list(table) == ["part", "x", "n", "k", "method", "repeats", "seconds", "low", "high"]
    got = table.drop(columns=["seconds", "low", "high", "repeats"]).to_numpy().tolist()
    assert got == [
        *(["dimension", n, n, n, method] for n in (10, 30) for method in ("sort", "pivot", "newton", "l2")),
        *(["touched", k, 20, k, method] for k in (2, 5) for method in ("tree", "full")),
        ["touched", 5, 20, 5, "verbatim"],
    ]
    assert (table["seconds"] > 0).all() and (table["repeats"] == 2).all()
    assert done == [(i, 26) for i in range(1, 27)]


def test_vectors_are_projected_from_outside(monkeypatch):
    seen, real = [], l1.project

    def project(v, radius, **options):
        if round(radius / l1.norm(v), 9) == 0.1:  # not of updates
            seen.append((v.size, np.count_nonzero(v), round(radius / l1.norm(v), 9), options["method"]))
        return real(v, radius, **options)

    monkeypatch.setattr(timing, "LEAST_SECONDS", 0.0)  # a single call each
    monkeypatch.setattr(projection.l1, "project", project)
    table_of(repeats=1)
    methods = ("sort", "pivot", "newton")
    assert seen == [(n, n, 0.1, method) for n in (3, 10, 30) for method in methods]  # those of 3 entries compile


@pytest.mark.parametrize("k", [5, 100])
def test_both_methods_do_the_same_and_most_entries_stay(k):
    n = 1000
    v = np.random.default_rng(0).normal(size=n)
    radius = l1.norm(v)
    points = {name: kind(n, radius, v) for name, kind in projection.KINDS.items()}
    for name, point in points.items():
        rng = np.random.default_rng(1)
        for _ in range(100):
            projection._updates(point, n, k, rng)
            if name == "tree":
                assert point.count_nonzero() >= 0.88 * n
    w = points["full"].w
    np.testing.assert_allclose(points["tree"].toarray(), w, rtol=0, atol=1e-12)
    assert np.abs(w - v).max() > 0.5
    assert l1.norm(w) == pytest.approx(radius, rel=0.02)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"sizes": []}, r"sizes must be at least 1, got \[\]"),
        ({"touched": [0, 5]}, r"touched must be at least 1, got \[0, 5\]"),
        ({"non_zeros": [4, 30]}, "touched must be at most 4, the least of non_zeros, got 5"),
        ({"repeats": 0}, r"repeats must be at least 1, got \[0\]"),
    ],
)
def test_sizes_out_of_range_are_refused(option, said):
    with pytest.raises(ValueError, match=said):
        table_of(**option)
