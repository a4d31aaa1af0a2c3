"""Measured seconds: what is measured, and the slope of their growth. No test looks at a duration."""

import numpy as np
import pytest

from jointsparse.norms import l1inf
from jointsparse.pipeline.papers import harness
from jointsparse.pipeline.papers.quattoni import cost

SHAPED = [10, 20, 40, 80, 160, 320]
SMALL = {
    "projection_sizes": [10, 30],
    "projection_rows": [5],
    "training_sizes": [2, 4],
    "repeats": 2,
    "program_tasks": [2, 3],
}


def table_of(**options):
    return cost.run(None, rng=np.random.default_rng(0), **SMALL | options)


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(cost, "MATRIX_ROWS", 50)
    monkeypatch.setattr(cost, "SHAPED_ROWS", 16)


def test_a_row_for_each_measurement(few_rows, monkeypatch):
    monkeypatch.setattr(cost, "TRACED_ROWS", 20)
    done = []
    table = table_of(progress=lambda i, of: done.append((i, of)))
    assert list(table) == [
        "part",
        "x",
        "seconds",
        "low",
        "high",
        "repeats",
        "d",
        "m",
        "method",
        "bytes",
        "objective",
        "difference",
    ]
    got = table[["part", "x", "d", "method"]].to_numpy().tolist()
    assert got == [
        *(["projection size", 40 * d, d, method] for d in (10, 30) for method in ("sort", "newton", "l1 pivot")),
        *(["projection tasks", m, 640 // m, "sort"] for m in SHAPED),
        *(["one task", d, d, "sort"] for d in (10, 30)),
        *(["projection rows", 5, 50, method] for method in ("sort", "newton", "scan")),
        *(["training samples", n, 200, "subgradient"] for n in (2, 4)),
        *(["tasks", m, 50, method] for m in (2, 3) for method in ("linear program", "subgradient")),
    ]
    assert (table["seconds"] > 0).all() and (table["repeats"] == 2).all()
    assert table["m"].tolist() == [40] * 6 + SHAPED + [1, 1] + [40] * 5 + [2, 2, 3, 3]
    assert table.loc[table["part"] == "one task", "difference"].between(0, 1e-12).all()
    assert done == [(i, 46) for i in range(1, 47)]
    traced = table[table["bytes"].notna()]  # of the paper's method, and of matrices that are not too large
    assert traced[["part", "method", "d"]].to_numpy().tolist() == [["projection size", "sort", 10]]


def test_matrices_have_the_rows_they_should(few_rows, monkeypatch):
    seen, real, vectors = [], l1inf.project, []

    def project(A, radius, *, out, **options):
        if "method" in options:
            seen.append((len(A), np.count_nonzero(A.any(axis=1)), round(radius / l1inf.norm(A), 9), options["method"]))
        return real(A, radius, out=out, **options)

    monkeypatch.setattr(harness, "LEAST_SECONDS", 0.0)  # a single call each
    monkeypatch.setattr(cost.l1inf, "project", project)
    monkeypatch.setattr(cost, "_from_l1", lambda column: 0.0)
    monkeypatch.setattr(cost.l1, "project", lambda v, radius, *, out, method: vectors.append((v.shape, method)))
    table_of(repeats=1)
    assert vectors == [((40 * d,), "pivot") for d in (10, 10, 30)]  # of as many entries
    assert seen == [
        *((10, 10, 0.1, method) for method in ("sort", "newton")),  # compiled
        *((d, d, 0.1, "sort") for d in (10, 30)),  # traced
        *((d, d, 0.1, method) for d in (10, 30) for method in ("sort", "newton")),
        *((640 // m, 640 // m, 0.1, "sort") for m in SHAPED),
        *((d, d, 0.1, "sort") for d in (10, 30)),  # of one task
        *((50, 5, 0.1, method) for method in ("sort", *["newton"] * 5)),
    ]


def test_peak_bytes_are_those_that_are_held_at_once(monkeypatch):
    A = np.ones((100, 4))

    def project(A, radius, *, out, method):
        assert method == "sort" and out.shape == A.shape
        held = np.zeros(50_000), np.zeros(10_000)  # 8 bytes each
        del held
        np.zeros(30_000)

    monkeypatch.setattr(cost.l1inf, "project", project)
    assert cost._peak_bytes(A) == pytest.approx(480_000, rel=0.01)


def test_the_linear_program_has_the_optimum_that_subgradients_come_near():
    """Its optimum is a lower bound, and both train the same tasks."""
    drawn = cost.draw(n_features=20, n_tasks=4, n_train=15, n_validation=0, n_test=0, rng=np.random.default_rng(0))
    for m in (1, 3):
        found = {method: {} for method in cost.OF_TASKS}
        assert all(cost._training(columns, method, drawn, m) >= 0 for method, columns in found.items())
        program, fit = (columns["objective"] for columns in found.values())
        # The samples are in single precision, and so are the margins of the fit's objective.
        assert program <= fit * (1 + 1e-6) and fit == pytest.approx(program, rel=0.01)
