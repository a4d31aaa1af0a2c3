"""Properties of projections, sparse and lazy steps, and paths of radii, for inputs that Hypothesis generates."""

import numpy as np
import oracles
import pytest
from scipy import sparse
from test_l1 import METHODS, SLOW
from test_l1_sparse import follow
from test_norms import check, warm_from
from test_online import LAZY, assert_same_steps, both

from jointsparse.learning import radii
from jointsparse.learning.l1_sparse import SparseL1Ball
from jointsparse.norms import l1, l1inf

pytest.importorskip("hypothesis")
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

EPS = np.finfo(float).eps
numbers = (
    st.integers(-3, 3).map(float)
    | st.floats(-1e6, 1e6)
    | st.sampled_from([1e-300, -1e-300, 1e-9, -1e9, 1e300, -3e300, 0.0, -0.0])
)
shares = st.floats(0, 1) | st.sampled_from([1e-300, 1e-17, 1e-12, 1e-2, 0.5, 1 - EPS / 2, 1.0])


@given(
    v=arrays(np.float64, st.integers(0, 50), elements=numbers),
    fraction=shares,
    z=st.sampled_from([0.0, 1e-300, 1e-9, 0.5, 1.0, 1e6]) | st.floats(1e-300, 100),
)
def test_any_vector_any_set_any_method(v, fraction, z):
    top = np.abs(v).max(initial=0.0)
    for onto in (*SLOW,) if v.size else (l1.project, l1.project_nonnegative):
        radius, tolerance = (l1.norm(v) * fraction, 4e-15 * top) if onto is l1.project else (z, 4e-15 * max(top, z))
        for method in METHODS:
            got = onto(v, radius, method=method)
            assert np.abs(got - SLOW[onto](v, radius)).max(initial=0) <= tolerance
            assert l1.norm(got) <= radius * (1 + 1e-12) + 5e-324 * v.size  # 5e-324 is the smallest positive float
            assert onto is l1.project or got.min(initial=0) >= 0
            if onto is l1.project_simplex:
                np.testing.assert_allclose(got.sum(), z, rtol=1e-13, atol=5e-324)


@st.composite
def matrices(draw):
    dtype, most = draw(st.sampled_from([(np.float64, 300), (np.float64, 0), (np.float32, 30)]))
    shape = draw(array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=50))
    if draw(st.booleans()):
        ties = st.integers(-3, 3).map(float)
        scales = st.sampled_from([s * 10.0**p for s in (-1, 1) for p in (-most, -most // 2, -9, 9, most // 2, most)])
        W = draw(arrays(np.float64, shape, elements=ties | st.floats(-1e6, 1e6) | scales))
    else:
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        W = rng.standard_t(draw(st.sampled_from([0.5, 1.5, 100.0])), size=shape)
        W = W / np.abs(W).max(initial=1e-9) * 10.0 ** draw(st.floats(9 - most, most)) if most else W
    if len(W) and draw(st.booleans()):
        W = W[draw(st.lists(st.integers(0, len(W) - 1), min_size=1, max_size=50))]  # repeated rows
    return W.astype(dtype)


spreads = st.sampled_from([None, None, None, 0.3, 2.0, 10.0])  # spread of the weights, or None for no weights


@given(W=matrices(), fraction=shares, power=st.integers(-100, 100), spread=spreads, seed=st.integers(0, 2**32))
def test_any_matrix_any_method_any_weights_any_warm_start(W, fraction, power, spread, seed):
    rng = np.random.default_rng(seed)
    s = None if spread is None else 10.0 ** rng.uniform(-spread, spread, size=len(W))
    radius = l1inf.norm(W, weights=s) * fraction
    expected = oracles.project_l1inf(W, radius, 1.0 if s is None else s)
    unrelated = rng.standard_t(1.5, size=(len(W), 3)) * 10.0**power
    warm = [{"warm": warm_from(unrelated, 0.1)}, {"warm": warm_from(W * W.dtype.type(0.75), 0.5)}]
    for options in ({}, {"method": "sort" if s is None else "newton"}, *warm):
        check(l1inf, W, radius, expected, weights=s, **options)


# Sparse and lazy steps


entry = st.integers(-4, 4).map(lambda i: i / 4) | st.floats(-10, 10) | st.sampled_from([1e-9, -1e3, 1e250, -1e-300])


@given(
    n=st.integers(1, 50),
    radius=st.sampled_from([0.0, 1e-300, 0.5, 1.0, 7.0, 1e6, np.inf]),
    updates=st.lists(st.lists(st.tuples(st.integers(0, 10**6), entry), max_size=8), max_size=20),
)
def test_any_sequence_of_updates(n, radius, updates):
    taken = [([i % n for i, _ in update], [x for _, x in update]) for update in updates]
    follow(SparseL1Ball(n, radius), taken, tolerance=2e-15 * n + 4e-15)


@given(
    d=st.integers(1, 6),
    m=st.integers(1, 5),
    norm=st.sampled_from(LAZY),
    radius=st.sampled_from([0.0, 0.25, 1.0, 3.0, np.inf]),
    steps=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-4, 4)), max_size=6), max_size=12
    ),
)
def test_any_sequence_of_steps(d, m, norm, radius, steps):
    taken = []
    for step in steps:
        features, tasks, fourths = np.array(step, int).reshape(-1, 3).T
        X = sparse.csr_array((np.ones(len(step)), features % d, range(len(step) + 1)), shape=(len(step), d))
        taken.append((X, np.eye(m)[tasks % m] * fourths[:, np.newaxis] / 4))
    assert_same_steps(*both(d, m, norm, radius), taken)


# Paths of radii


@st.composite
def curves(draw):
    """Draw scores by step: in both directions, runs of fewer than radii.PATIENCE steps without a better score."""
    scored = {0: draw(st.integers(0, 9))}
    for sign in (-1, 1):
        best, step = scored[0], 0
        for gap, rise in draw(st.lists(st.tuples(st.integers(0, radii.PATIENCE - 1), st.integers(1, 3)), max_size=5)):
            scored |= {step + sign * k: best - draw(st.integers(0, 5)) for k in range(1, gap + 1)}
            step, best = step + sign * (gap + 1), best + rise
            scored[step] = best
        scored |= {end: best - draw(st.integers(0, 5)) for end in range(step + sign, sign * radii.MOST_RADII, sign)}
    return {step: value / 100 for step, value in scored.items()}


@given(curves(), st.sampled_from([0, radii.PER_DECADE]))
def test_a_path_reaches_the_best_score_in_spite_of_short_falls_and_ties(scored, least):
    tried, step = {}, 0
    while step is not None:
        tried[step] = scored[step]
        step = radii.next_step(tried, least=least)
    assert max(tried.values()) == max(scored.values()) and max(tried) >= least
    assert len(tried) <= 2 * radii.PATIENCE + 1 + 2 * 5 * radii.PATIENCE + least
