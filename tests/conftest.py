"""Fixtures for all tests. Only packages that the library itself needs are imported here."""

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
