"""Other libraries give the same results where they are right. Without them these tests are skipped.

Each peer works in a process of its own. A library built with -Ofast rounds subnormal numbers to zero in every process
that loads it (the pinned SPAMS does not, others have). And jax starts threads, after which nobody should fork.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from itertools import product
from multiprocessing import get_context

import numpy as np
import pytest

from jointsparse.norms import l1, l1inf

METHODS = ["newton", "pivot", "sort"]
ROUNDING = {"float64": 1e-13, "float32": 3e-6}  # of the largest entry; peers add up without care


def ask(peer, function, *arguments):
    """Return the value of `function` from a process of its own."""
    if find_spec(peer) is None:
        pytest.skip(f"{peer} is not installed")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def agree(got, expected, case, scale):
    assert got.dtype == expected.dtype, case
    assert np.abs(got - expected).max() <= ROUNDING[got.dtype.name] * scale, case


def size(x):
    return np.abs(x).max()


# l1,inf against SPAMS


def matrices(rng):
    """Matrices of many kinds and shapes, in both precisions, each with its name."""
    for shape, dtype in product([(1, 1), (1, 7), (7, 1), (30, 7), (200, 60), (40, 200)], ROUNDING):
        normal = rng.normal(size=shape)
        kinds = {
            "normal": normal,
            "heavy tails": rng.standard_t(1.5, shape),
            "ties": rng.integers(-2, 3, shape) + 0.0,
            "zero rows": normal * (rng.random((shape[0], 1)) < 0.5),
            "sparse": normal * (rng.random(shape) < 0.2),
        }
        yield from ((f"{kind}, {shape}, {dtype}", A.astype(dtype)) for kind, A in kinds.items())


def spams_prox(problems):
    import spams

    return [
        spams.proximalFlat(np.asfortranarray(A), lambda1=step, regul="l1linf", numThreads=1) for A, step in problems
    ]


def test_prox_is_that_of_spams(rng):
    shares = (0.0, 1e-3, 0.1, 0.5, 0.99, 1.0, 2.0)
    cases = [(what, A, share * l1inf.dual_norm(A)) for (what, A), share in product(matrices(rng), shares)]
    answers = ask("spams", spams_prox, [(A, step) for _, A, step in cases])
    for (what, A, step), expected in zip(cases, answers, strict=True):
        agree(l1inf.prox(A, step), expected, (what, step), size(A))


def test_projection_is_the_prox_of_spams_with_the_step_theta(rng):
    cases = []
    for (what, W), method, fraction in product(matrices(rng), ("newton", "sort"), (1e-2, 0.1, 0.5, 0.99)):
        B, theta, _ = l1inf.project(W, fraction * l1inf.norm(W), method=method, return_theta=True)
        cases.append(((what, method, fraction), W, theta, B))
    answers = ask("spams", spams_prox, [(W, theta) for _, W, theta, _ in cases])
    for (case, W, _, B), expected in zip(cases, answers, strict=True):
        agree(B, expected, case, size(W))


# l1 against optax, the simplex against optax and POT


def vectors(rng):
    """Vectors of many kinds and lengths, each with its name."""
    for n in (1, 2, 10, 1000):
        kinds = {
            "normal": rng.normal(size=n),
            "heavy tails": rng.standard_t(1.5, n),
            "ties": rng.integers(-3, 4, n) + 0.0,
            "shifted": rng.normal(size=n) + 5.0,
            "below zero": rng.normal(size=n) - 5.0,
        }
        yield from ((f"{kind}, {n}", v) for kind, v in kinds.items())


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


def test_l1_projection_is_that_of_optax(rng):
    fractions = (1e-2, 0.1, 0.5, 1.0, 2.0)
    cases = [(what, v, fraction * (l1.norm(v) or 1.0)) for (what, v), fraction in product(vectors(rng), fractions)]
    answers = ask("optax", optax_projections, "projection_l1_ball", [(v, z) for _, v, z in cases])
    for (what, v, z), expected in zip(cases, answers, strict=True):
        for method in METHODS:
            agree(l1.project(v, z, method=method), expected, (what, z, method), size(v))


@pytest.mark.parametrize(
    "peer, ask_peer", [("optax", partial(optax_projections, "projection_simplex")), ("ot", pot_projections)]
)
def test_simplex_projection_is_that_of_optax_and_of_pot(rng, peer, ask_peer):
    cases = [(what, v, z) for (what, v), z in product(vectors(rng), (1e-2, 1.0, 100.0))]
    # The sum is z and the point is not feasible: others have returned it unchanged.
    cases += [("sums to z", np.array(v), 1.0) for v in ([-5.0, 1.0, 5.0], [-4.0, 3.0, 2.0])]
    answers = ask(peer, ask_peer, [(v, z) for _, v, z in cases])
    for (what, v, z), expected in zip(cases, answers, strict=True):
        for method in METHODS:
            agree(l1.project_simplex(v, z, method=method), expected, (what, z, method), max(size(v), z))
