"""Other libraries give the same results, where they are right; without them these tests are skipped.

Each peer works in a process of its own: a library built with -Ofast rounds subnormal numbers to zero in the whole
process that loads it (the pinned SPAMS does not, others have), and jax starts threads, after which nobody should fork.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from itertools import product
from multiprocessing import get_context

import numpy as np
import pytest

from jointsparse.norms import l1, l1inf

METHODS = ["newton", "pivot", "sort"]
ROUNDING = {"float64": 1e-13, "float32": 3e-6}  # of the largest entry; peers add up without care


def ask(peer, function, *arguments):
    """What `function` returns in a process of its own."""
    if find_spec(peer) is None:
        pytest.skip(f"{peer} is not installed")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def agree(got, expected, what, scale):
    assert got.dtype == expected.dtype, what
    assert np.abs(got - expected).max() <= ROUNDING[got.dtype.name] * scale, what


def size(x):
    return np.abs(x).max()


# l1,inf against SPAMS


def matrices():
    rng = np.random.default_rng(0)
    for shape in [(1, 1), (1, 7), (7, 1), (30, 7), (200, 60), (40, 200)]:
        normal = rng.normal(size=shape)
        yield "normal", normal
        yield "heavy tails", rng.standard_t(1.5, shape)
        yield "ties", rng.integers(-2, 3, shape) + 0.0
        yield "zero rows", normal * (rng.random((shape[0], 1)) < 0.5)
        yield "sparse", normal * (rng.random(shape) < 0.2)


def spams_prox(problems):
    import spams

    return [
        spams.proximalFlat(np.asfortranarray(A), lambda1=step, regul="l1linf", numThreads=1) for A, step in problems
    ]


def test_prox_is_that_of_spams():
    cases = [
        (what, A.astype(dtype), share * l1inf.dual_norm(A))
        for what, A in matrices()
        for dtype in ROUNDING
        for share in (0.0, 1e-3, 0.1, 0.5, 0.99, 1.0, 2.0)
    ]
    answers = ask("spams", spams_prox, [(A, step) for _, A, step in cases])
    for (what, A, step), expected in zip(cases, answers, strict=True):
        agree(l1inf.prox(A, step), expected, (what, A.shape, step), size(A))


def test_projection_is_the_prox_of_spams_with_the_step_theta():
    cases = []
    for what, A in matrices():
        for dtype, method, fraction in product(ROUNDING, ("newton", "sort"), (1e-2, 0.1, 0.5, 0.99)):
            W = A.astype(dtype)
            B, theta, _ = l1inf.project(W, fraction * l1inf.norm(W), method=method, return_theta=True)
            cases.append(((what, A.shape, dtype, method, fraction), W, theta, B))
    answers = ask("spams", spams_prox, [(W, theta) for _, W, theta, _ in cases])
    for (what, W, _, B), expected in zip(cases, answers, strict=True):
        agree(B, expected, what, size(W))


# l1 against optax, the simplex against optax and POT


def vectors():
    rng = np.random.default_rng(0)
    for n in (1, 2, 10, 1000):
        yield "normal", rng.normal(size=n)
        yield "heavy tails", rng.standard_t(1.5, n)
        yield "ties", rng.integers(-3, 4, n) + 0.0
        yield "shifted", rng.normal(size=n) + 5.0
        yield "below zero", rng.normal(size=n) - 5.0


def simplex_problems():
    for what, v in vectors():
        for z in (1e-2, 1.0, 100.0):
            yield what, v, z
    # The sum is z and the point is not feasible: others have returned it unchanged.
    yield "sums to z", np.array([-5.0, 1.0, 5.0]), 1.0
    yield "sums to z", np.array([-4.0, 3.0, 2.0]), 1.0


def optax_projections(name, problems):
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import optax

    jax.config.update("jax_enable_x64", True)  # with which optax refuses float32
    project = jax.jit(getattr(optax.projections, name))
    return [np.asarray(project(jax.numpy.asarray(v), z)) for v, z in problems]


def pot_projections(problems):
    from ot.utils import proj_simplex

    return [proj_simplex(v, z) for v, z in problems]


def test_l1_projection_is_that_of_optax():
    cases = [
        (what, v, fraction * (l1.norm(v) or 1.0)) for what, v in vectors() for fraction in (1e-2, 0.1, 0.5, 1.0, 2.0)
    ]
    answers = ask("optax", optax_projections, "projection_l1_ball", [(v, z) for _, v, z in cases])
    for (what, v, z), expected in zip(cases, answers, strict=True):
        for method in METHODS:
            agree(l1.project(v, z, method=method), expected, (what, v.shape, z, method), size(v))


@pytest.mark.parametrize("peer", ["optax", "ot"])
def test_simplex_projection_is_that_of_optax_and_of_pot(peer):
    cases = list(simplex_problems())
    problems = [(v, z) for _, v, z in cases]
    if peer == "optax":
        answers = ask(peer, optax_projections, "projection_simplex", problems)
    else:
        answers = ask(peer, pot_projections, problems)
    for (what, v, z), expected in zip(cases, answers, strict=True):
        for method in METHODS:
            got = l1.project_simplex(v, z, method=method)
            agree(got, expected, (what, v.shape, z, method), max(size(v), z))
