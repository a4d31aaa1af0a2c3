"""Exponentiated gradient: points stay in their sets, follow the rule and reach optima; lazy steps equal dense steps."""

from functools import partial

import numpy as np
import pytest

from jointsparse.pipeline.papers.duchi.entropic import SCHEDULES, Entropic, SparseEntropic, step_sizes

SETS = ("ball", "nonnegative")

# A slow, obvious implementation


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


def is_inside(w, z, of_set):
    return np.abs(w).sum() <= z * (1 + 1e-14 * len(w)) and (of_set == "ball" or (w >= 0).all())


def stepped(point, *step):
    """Return the point after a step."""
    point.step(*step)
    return point


# Dense steps


@pytest.mark.parametrize("of_set", SETS)
@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_points_agree_with_a_slow_implementation_and_stay_inside(rng, of_set, n, scale):
    gradients, etas = rng.normal(size=(30, n)) * scale, rng.random(30)
    point = Entropic(n, 2.5, of_set=of_set)
    for g, eta, expected in zip(gradients, etas, slow_points(gradients, etas, 2.5, of_set), strict=True):
        got = stepped(point, g, eta).toarray()
        np.testing.assert_allclose(got, expected.astype(float), rtol=1e-10 * max(scale, 1), atol=1e-14)
        assert is_inside(got, 2.5, of_set)


@pytest.mark.parametrize("of_set", SETS)
def test_each_column_of_a_matrix_is_a_separate_vector(rng, of_set):
    z = np.array([0.0, 1.0, 7.0])
    matrix = Entropic(5, z, of_set=of_set, n_columns=3)
    vectors = [Entropic(5, z_l, of_set=of_set) for z_l in z]
    for _ in range(20):
        G = rng.normal(size=(5, 3)) * [1, 10, 100]
        matrix.step(G, 0.3)
        for g, vector in zip(G.T, vectors, strict=True):
            vector.step(g, 0.3)
    np.testing.assert_allclose(matrix.toarray(), np.stack([v.toarray() for v in vectors], axis=1), rtol=1e-13)
    assert not matrix.toarray()[:, 0].any()


@pytest.mark.parametrize("of_set", SETS)
def test_huge_steps_end_at_a_corner_and_come_back(of_set):
    point = stepped(Entropic(3, 2.0, of_set=of_set), [1e6, -1e6, 0.0], 1.0)
    np.testing.assert_array_equal(point.toarray(), [-1.0, 1.0, 0.0] if of_set == "ball" else [0.0, 2.0, 0.0])
    np.testing.assert_allclose(
        stepped(point, [-1e6, 1e6, 0.0], 1.0).toarray(), Entropic(3, 2.0, of_set=of_set).toarray(), atol=1e-9
    )


# Step sizes


def test_step_sizes_agree_with_the_theory():
    root = np.sqrt(np.log(2 * 30))
    expected = {"constant": np.full(4, root / 2), "1/sqrt(t)": root / np.sqrt([1, 2, 3, 4]), "1/t": root / np.r_[1:5]}
    for schedule in SCHEDULES:
        np.testing.assert_allclose(
            step_sizes(schedule, eta0=3.0, n=30, n_iter=4), 3 * expected[schedule], rtol=1e-15, err_msg=schedule
        )
    np.testing.assert_allclose(
        step_sizes("constant", eta0=1.0, n=30, n_iter=1, of_set="nonnegative"), [np.sqrt(np.log(31))], rtol=1e-15
    )


# Sparse steps


@pytest.mark.parametrize("scale", [0.1, 5.0, 1000.0])
def test_lazy_steps_equal_dense_steps(rng, scale):
    lazy, dense = SparseEntropic(40, 3.0), Entropic(40, 3.0)
    for _ in range(400):
        indices = rng.integers(0, 40, rng.integers(0, 6))
        values = rng.normal(size=len(indices)) * scale
        lazy.step(indices, values, 0.5)
        expected = stepped(dense, np.bincount(indices, values, minlength=40), 0.5).toarray()
        got = lazy.toarray()
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=3e-11)
        np.testing.assert_array_equal(lazy.take(indices), got[indices])
        assert is_inside(got, 3.0, "ball") and lazy.count_nonzero() == np.count_nonzero(got)
    assert (lazy.refreshed > 0) == (scale == 1000.0)


@pytest.mark.parametrize(
    ("n", "steps", "refreshed"),
    [(1, (-32.0, 27.0), 0), (2, (-38.0, 27.0), 0), (2, (-40.0, 27.0), 0), (999, (-50, 49), 1)],
)
def test_the_sum_stays_exact_if_the_dominant_weight_shrinks(n, steps, refreshed):
    point = SparseEntropic(n, 1.0)
    for step in steps:
        point.step([0], [step], 1.0)
    logs = np.r_[-np.sum(steps), np.zeros(n - 1)]
    np.testing.assert_allclose(point.toarray(), np.sinh(logs) / np.cosh(logs).sum(), rtol=1e-13)
    assert point.refreshed == refreshed


# Wrong input


STEPS = {"schedule": "1/t", "eta0": 1.0, "n": 3, "n_iter": 5}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: step_sizes(**STEPS | {"schedule": "1/t2"}), r"schedule must be one of .*, 1/t, got '1/t2'"),
        (lambda: step_sizes(**STEPS | {"eta0": np.nan}), "eta0 must be above 0 and finite, got nan"),
        *((partial(kind, 3, -1.0), "z must be at least 0, got -1.0") for kind in (Entropic, SparseEntropic)),
        *((partial(kind, 3, np.inf), "z must be finite, got inf") for kind in (Entropic, SparseEntropic)),
    ],
)
def test_wrong_parameters_are_named(call, expected):
    with pytest.raises(ValueError, match=expected):
        call()


TOO_LONG = "the step is too long for double precision"
NO_VECTOR = "indices must be a vector of integers"


@pytest.mark.parametrize(
    ("kind", "step", "expected"),
    [
        (Entropic, ([1.0, 2.0], 1.0), r"G must have shape \(3,\), got \(2,\)"),
        (Entropic, ([[1.0, 2.0, 3.0]], 1.0), r"G must have shape \(3,\), got \(1, 3\)"),
        (Entropic, ([1.0, np.nan, 0.0], 1.0), r"G must be finite, got nan at \(1,\)"),
        (Entropic, ([1.0, np.inf, 0.0], 0.0), r"G must be finite, got inf at \(1,\)"),
        (Entropic, ([1e308, -1e308, 0.0], 1.0), TOO_LONG),
        (Entropic, ([1e308, 0.0, 0.0], 10.0), TOO_LONG),
        (Entropic, (["a", "b", "c"], 1.0), "G must hold real numbers"),
        (Entropic, ([0.0] * 3, -1.0), "eta must be at least 0, got -1.0"),
        (Entropic, ([0.0] * 3, np.nan), "eta must be at least 0, got nan"),
        (Entropic, ([0.0] * 3, "x"), "eta must be a number, got 'x'"),
        (SparseEntropic, ([3], [1.0], 1.0), r"indices must be in 0\.\.2, got 3"),
        (SparseEntropic, ([-1], [1.0], 1.0), r"indices must be in 0\.\.2, got -1"),
        (SparseEntropic, ([0.0], [1.0], 1.0), NO_VECTOR),
        (SparseEntropic, ([[0]], [1.0], 1.0), NO_VECTOR),
        (SparseEntropic, ([0, 1], [1.0], 1.0), "indices and values must be vectors of the same length"),
        (SparseEntropic, ([0, 1], [1.0, np.nan], 1.0), r"values must be finite, got nan at \(1,\)"),
        (SparseEntropic, ([0, 1], [1.0, -np.inf], 0.0), r"values must be finite, got -inf at \(1,\)"),
        (SparseEntropic, ([0], [1e201], 1.0), TOO_LONG),
        (SparseEntropic, ([0], [1.0], np.inf), "eta must be finite, got inf"),
    ],
)
def test_wrong_steps_are_refused_without_effect(kind, step, expected):
    point = kind(3, 1.0)
    point.step(*([0, 1, 2], [1.0, 2.0, 3.0], 1.0)[-len(step) :])
    before = point.toarray()
    with pytest.raises(ValueError, match=expected):
        point.step(*step)
    np.testing.assert_array_equal(point.toarray(), before)
