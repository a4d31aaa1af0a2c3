"""Fixtures for all tests. Only packages that the library itself needs are imported here."""

import gc

import numpy as np
import pytest


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and tests live until the end: searching them again and again takes a twentieth of the time


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
