"""Fixtures for all tests. Only packages that the library itself needs are imported here."""

import gc
import os

import numpy as np
import pytest

# Python compiles a module when it is first imported. In a new environment two workers would compile the same modules at
# the same time, so the second one begins with others.
if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
    import sklearn.linear_model  # noqa: F401

# Modules and tests live until the end. Searching them for garbage again and again would take a tenth of the time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
