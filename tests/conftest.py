"""Fixtures for all tests. Only packages that the library itself needs are imported here."""

from types import ModuleType

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def convex() -> ModuleType:
    """Return the module of oracles that use cvxpy. Tests that need it are skipped if cvxpy is not installed."""
    pytest.importorskip("cvxpy")
    import oracles_convex

    return oracles_convex
