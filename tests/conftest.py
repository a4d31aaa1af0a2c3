"""Fixtures of both houses. Only what the library itself needs is imported here."""

from types import ModuleType

import numpy as np
import pytest

try:
    from hypothesis import settings
except ImportError:  # test_properties.py says what is skipped without it
    pass
else:
    # The same examples on every run: a test that fails is one that somebody's change broke.
    settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=80)
    settings.load_profile("fixed")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def convex() -> ModuleType:
    """The oracles of a convex solver. Tests that compare with them are skipped where it is not installed."""
    pytest.importorskip("cvxpy")
    import oracles_convex

    return oracles_convex
