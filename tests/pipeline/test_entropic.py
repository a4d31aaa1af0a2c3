"""Exponentiated gradient: points follow the rule and stay in their sets, and lazy steps equal dense steps."""

import numpy as np
import pytest

from jointsparse.pipeline.papers.duchi.entropic import Entropic, SparseEntropic, step_sizes

SETS = ("ball", "nonnegative")


def slow_points(gradients, etas, z, of_set):
    """Return w after each step, for a vector, with logarithms in extended precision and log-sum-exp normalisation."""
    n = len(gradients[0])
    logs = [np.longdouble(0)] * {"ball": 2 * n, "nonnegative": n + 1}[of_set]
    points = []
    for g, eta in zip(gradients, etas, strict=True):
        signs = {"ball": [*g, *(-g)], "nonnegative": [*g, 0.0]}[of_set]
        logs = [a - np.longdouble(eta) * np.longdouble(s) for a, s in zip(logs, signs, strict=True)]
        top = max(logs)
        normaliser = top + np.log(sum(np.exp(a - top) for a in logs))
        u = np.array([z * np.exp(a - normaliser) for a in logs])
        points.append(u[:n] - u[n:] if of_set == "ball" else u[:n])
    return points


@pytest.mark.parametrize("of_set", SETS)
@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_each_column_agrees_with_a_slow_implementation_and_stays_inside(rng, of_set, n, scale):
    gradients, etas = rng.normal(size=(30, n, 2)) * scale, rng.random(30)
    point, points = Entropic(n, 2.5, of_set=of_set, n_columns=2), []
    for G, eta in zip(gradients, etas, strict=True):
        point.step(G, eta)
        points.append(point.toarray())
    expected = [slow_points(gradients[..., column], etas, 2.5, of_set) for column in range(2)]
    got = np.stack(points)
    np.testing.assert_allclose(
        np.moveaxis(got, 2, 0), np.array(expected, float), rtol=1e-10 * max(scale, 1), atol=1e-14
    )
    assert (np.abs(got).sum(axis=1) <= 2.5 * (1 + 1e-13)).all() and (of_set == "ball" or (got >= 0).all())


@pytest.mark.parametrize(("of_set", "corner"), [("ball", [-1.0, 1.0, 0.0]), ("nonnegative", [0.0, 2.0, 0.0])])
def test_huge_steps_end_at_a_corner_and_come_back(of_set, corner):
    point, start = (Entropic(3, 2.0, of_set=of_set) for _ in range(2))
    for gradient, expected in ((np.array([1e6, -1e6, 0]), corner), (np.array([-1e6, 1e6, 0]), start.toarray())):
        point.step(gradient, 1.0)
        np.testing.assert_allclose(point.toarray(), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "scale"),
    [({}, np.log(60) ** 0.5), ({"of_set": "nonnegative"}, np.log(31) ** 0.5), ({"method": "projection"}, 1)],
)
@pytest.mark.parametrize(
    ("schedule", "factors"),
    [("constant", [0.5] * 4), ("1/sqrt(t)", [1, 2**-0.5, 3**-0.5, 0.5]), ("1/t", [1, 1 / 2, 1 / 3, 1 / 4])],
)
def test_step_sizes_agree_with_the_theory(options, scale, schedule, factors):
    got = step_sizes(schedule, eta0=3.0, n=30, n_iter=4, **options)
    np.testing.assert_allclose(got, 3 * scale * np.array(factors), rtol=1e-15)


@pytest.mark.parametrize("scale", [0.1, 5.0, 1000.0])
def test_lazy_steps_equal_dense_steps(rng, scale):
    lazy, dense = SparseEntropic(40, 3.0), Entropic(40, 3.0)
    for _ in range(400):
        indices = rng.integers(0, 40, rng.integers(0, 6))
        values = rng.normal(size=len(indices)) * scale
        lazy.step(indices, values, 0.5)
        dense.step(np.bincount(indices, values, minlength=40), 0.5)
        got = lazy.toarray()
        np.testing.assert_allclose(got, dense.toarray(), rtol=1e-9, atol=3e-11)
        assert np.array_equal(lazy.take(indices), got[indices]) and lazy.count_nonzero() == np.count_nonzero(got)
    assert (lazy.refreshed > 0) == (scale == 1000.0)


@pytest.mark.parametrize(
    ("n", "steps", "refreshed"),
    [(1, (-32.0, 27.0), 0), (2, (-38.0, 27.0), 0), (2, (-40.0, 27.0), 0), (999, (-50, 49), 1)],
)
def test_the_sum_stays_exact_if_the_dominant_weight_shrinks(n, steps, refreshed):
    point = SparseEntropic(n, 1.0)
    for step in steps:
        point.step(np.array([0]), np.array([step], float), 1.0)
    logs = np.r_[-np.sum(steps), np.zeros(n - 1)]
    np.testing.assert_allclose(point.toarray(), np.sinh(logs) / np.cosh(logs).sum(), rtol=1e-13)
    assert point.refreshed == refreshed
