"""Measured seconds: what is measured, and the slope of their growth. No test looks at a duration."""

import numpy as np
import pytest

from jointsparse.norms import l1inf
from jointsparse.papers import timing
from jointsparse.papers.quattoni import cost

SMALL = {"projection_sizes": [10, 30], "projection_rows": [5], "training_sizes": [2, 4], "repeats": 2}


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(cost, "MATRIX_ROWS", 50)


def test_a_row_for_each_measurement(few_rows):
    table = cost.run(None, rng=np.random.default_rng(0), **SMALL)
    assert list(table) == ["part", "x", "seconds", "repeats", "d", "m", "method"]
    got = table.drop(columns=["seconds", "repeats", "m"]).to_numpy().tolist()
    expected = []
    for method in ("sort", "newton"):
        expected += [["projection size", 400, 10, method], ["projection size", 1200, 30, method]]
        expected += [["projection rows", 5, 50, method]]
    expected += [["training samples", n, 200, "subgradient"] for n in (2, 4)]
    assert got == expected
    assert (table["seconds"] > 0).all() and (table["repeats"] == 2).all() and (table["m"] == 40).all()


def test_matrices_have_the_rows_they_should(few_rows, monkeypatch):
    seen = []

    def project(A, radius, *, out, method):
        seen.append((A.shape, np.count_nonzero(A.any(axis=1)), round(radius / l1inf.norm(A), 9), method))
        return real(A, radius, out=out, method=method)

    real = l1inf.project
    monkeypatch.setattr(timing, "LEAST_SECONDS", 0.0)  # a single call each
    monkeypatch.setattr(
        cost.l1inf,
        "project",
        lambda A, radius, warm=None, **options: (
            project(A, radius, **options) if warm is None else real(A, radius, warm=warm, **options)
        ),
    )
    cost.run(None, rng=np.random.default_rng(0), **SMALL | {"repeats": 1})
    expected = [((10, 40), 10, 0.1, method) for method in ("sort", "newton")]  # these compile
    for method in ("sort", "newton"):
        expected += [((10, 40), 10, 0.1, method), ((30, 40), 30, 0.1, method), ((50, 40), 5, 0.1, method)]
    assert seen == expected


def test_progress_ends_at_all(few_rows):
    done = []
    cost.run(None, rng=np.random.default_rng(0), **SMALL, progress=lambda i, of: done.append((i, of)))
    assert done == [(i, 16) for i in range(1, 17)]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"projection_sizes": []}, "projection_sizes must be at least 1, got []"),
        ({"training_sizes": [0, 5]}, "training_sizes must be at least 1, got [0, 5]"),
        ({"projection_rows": [200_000]}, "projection_rows must be at most 100,000, got 200000"),
        ({"repeats": 0}, "repeats must be at least 1, got [0]"),
    ],
)
def test_sizes_out_of_range_are_refused(option, said):
    with pytest.raises(ValueError) as caught:
        cost.run(None, rng=np.random.default_rng(0), **SMALL | option)
    assert said in str(caught.value)
