"""Fixtures shared by tests: small folders of photographs made on the spot."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from PIL import Image

# The same examples on every run: a test that fails is one that somebody's change broke.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


# Of two files at a time the longest first, so that neither worker waits for the other in the end.
LONGEST = ["test_workflow.py", "test_faults.py", "test_fuzz.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """A folder of twelve pictures with two captions each, all in good order, without splits.csv."""
    return make_album(tmp_path / "album", 12)


def make_album(root: Path, n_images: int) -> Path:
    rng = np.random.default_rng(0)
    (root / "images").mkdir(parents=True)
    lines = ["image,caption"]
    for i in range(n_images):
        name = f"{i:03}.jpg"
        picture = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
        Image.fromarray(picture).save(root / "images" / name)
        lines += [f"{name},A dog number {i}.", f'{name},"A cat, or ""kitten"", on grass."']
    (root / "captions.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root
