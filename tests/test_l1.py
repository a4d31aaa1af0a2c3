"""The l1 ball, the simplex and related sets. Tests of all norms are in test_norms.py."""

import math
from functools import partial

import numpy as np
import oracles
import pytest
from test_norms import kinds

from jointsparse.norms import l1

METHODS = ["newton", "pivot", "sort"]
MOST = np.finfo(np.float32).max
SETS = {  # functions, and their oracles
    l1.project_simplex: lambda v, z: np.maximum(v - oracles.threshold(v, z), 0),
    l1.project_nonnegative: lambda v, z: oracles.project_l1(np.maximum(v, 0), z),
}


@pytest.mark.parametrize("onto", SETS)
@pytest.mark.parametrize("shape", [(7,), (3, 9), (1000, 5), (60_000,)])
def test_columns_and_vectors_agree_with_extended_precision(rng, onto, shape):
    for V in kinds(rng, *(*shape, 1)[:2]).values():
        V = V.reshape(shape)
        for share in (1e-12, 1e-3, 0.5, 3.0):
            z = np.maximum(l1.norm(V) * share, 1e-300) if V.ndim == 2 else float(l1.norm(V) * share) + 1e-300
            expected, most = SETS[onto](V, z), np.maximum(np.abs(V).max(axis=0), z)
            for method in METHODS:
                got, place = onto(V, z, method=method), V.copy()
                assert onto(place, z, method=method, out=place) is place and place.tobytes() == got.tobytes()
                assert np.all(np.abs(got - expected) <= 4e-15 * most) and got.min() >= 0
                assert onto is not l1.project_simplex or np.all(np.abs(got.sum(axis=0) - z) <= 1e-12 * z)


BY_HAND = [
    *((l1.project, [], z, []) for z in (1.0, 0.0)),
    (l1.project, [-3.0], 2.0, [-2]),
    (l1.project, [3.0, -3.0], 0.0, [0, 0]),
    (l1.project, [3.0, -3.0, 1.0], 2.0, [1, -1, 0]),
    (l1.project, [3.0, -3.0], 5, [2.5, -2.5]),
    (l1.project, [1.0, 1e-300], 1e-320, [1e-320, 0]),
    (l1.project_simplex, [], 0.0, []),
    (l1.project_simplex, [3.0, 1.0], 0.0, [0, 0]),
    (l1.project_simplex, [-5, 1], 1, [0, 1]),
    (l1.project_simplex, [-5.0, 1.0, 5.0], 1.0, [0, 0, 1]),  # the sum is z, but the point is not in the simplex
    (l1.project_simplex, [-5.0, -2.0, -2.5], 1.0, [0, 0.75, 0.25]),
    (l1.project_simplex, np.float32([-5.0, -2.0, -2.5]), 1.0, [0, 0.75, 0.25]),
    (l1.project_simplex, [1e308, -1.7e308, 1e308], 1e308, [5e307, 0, 5e307]),
    *((l1.project_simplex, np.float32(v), MOST, w) for v, w in (([5], [MOST]), ([-MOST, MOST, 0], [0, MOST, 0]))),
    (l1.project_nonnegative, [-5.0, -2.0, -2.5], 1.0, [0, 0, 0]),
    (partial(l1.project, weights=[]), [], 1.0, []),
    (partial(l1.project, weights=[1.0, 2.0]), [3.0, 1.0], 0, [0, 0]),
    (partial(l1.project, weights=[1.0, 2.0]), [5e-324, 2e-309], 1.0, [5e-324, 2e-309]),
    (partial(l1.project, weights=[1.0]), [1e-300], 1e308, [1e-300]),
    (partial(l1.project, weights=[1.0, 1.0]), [1e308, -1e308], 1e308, [5e307, -5e307]),
    (partial(l1.project, weights=[1e-75, 1.0, 1e75]), [1.0, 2.0, 3.0], 1.0, [1, 1, 0]),
    (partial(l1.project, weights=[1e-75, 1.0]), [1.0, 2.0], 1e-75, [1, 0]),
]


@pytest.mark.parametrize(("project", "v", "radius", "expected"), BY_HAND)
def test_projections_are_those_by_hand(project, v, radius, expected):
    for method in METHODS if project in (l1.project, *SETS) else METHODS[:1]:
        got = project(v, radius, method=method)
        assert got.dtype == (np.float32 if np.asarray(v).dtype == np.float32 else np.float64)
        np.testing.assert_allclose(got, expected, rtol=1e-7 if got.dtype == np.float32 else 1e-15)


def test_the_sum_of_a_vector_is_exact_so_that_one_ulp_decides_whether_it_is_inside():
    v = np.full(100_000, 0.1)
    v[0] = 1e5
    exact = math.fsum(v)
    for W in (v, np.stack([v, v], axis=1)):
        np.testing.assert_array_equal(l1.project(W, exact), W)
        assert (l1.project(W, np.nextafter(exact, 0)) != W).any()


@pytest.mark.parametrize("onto", [l1.project, *(partial(l1.project_simplex, method=method) for method in METHODS)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1.5e-6)])
def test_the_sum_is_met_if_almost_all_entries_survive_and_become_tiny(onto, dtype, tolerance):
    for n in (8, 1000, 10_000):
        for gap in np.linspace(0.01, 0.9, 30):
            v = np.r_[1.0, np.full(n - 1, 1 - gap)].astype(dtype)
            z = float(v[0] - v[1]) * 1.01  # a little more than the gap
            for w in (onto(v, z), onto(np.stack([v, v], 1), z)[:, 0]):
                assert abs(math.fsum([*np.abs(w).astype(float).tolist(), -z])) <= tolerance * z


@pytest.mark.parametrize(
    ("project", "v", "z", "options", "message"),
    [
        (l1.project_simplex, [1.0], -1.0, {}, r"z must be at least 0, got -1\.0$"),
        (l1.project_nonnegative, [1.0], -1.0, {}, r"z must be at least 0, got -1\.0$"),
        (l1.project_simplex, [[1.0], [-np.inf]], 1.0, {}, r"v must be finite, got -inf at \(1, 0\)$"),
        (l1.project_nonnegative, [[1.0], [-np.inf]], 1.0, {}, r"v must be finite, got -inf at \(1, 0\)$"),
        (l1.project_simplex, [1.0], 1.0, {"method": "heap"}, "method must be newton, pivot or sort, got 'heap'$"),
        (l1.project_simplex, np.float32([1.0]), 1e39, {}, r"z must be reachable by 1 finite numbers \(float32\)"),
        (l1.project_simplex, [], 1.0, {}, "z must be reachable by 0 finite numbers"),
    ],
)
def test_invalid_arguments_raise(project, v, z, options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        project(v, z, **options)
