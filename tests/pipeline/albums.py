"""Functions that make small folders of photographs and read them."""

import os
import warnings
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from jointsparse.pipeline.datasets import photos, picture_check
from jointsparse.pipeline.datasets.samples import Samples


def make_album(root: Path, n_images: int) -> Path:
    rng = np.random.default_rng(0)
    (root / "images").mkdir(parents=True)
    lines = ["image,caption"]
    for i in range(n_images):
        name = f"{i:03}.jpg"
        Image.fromarray(rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(root / "images" / name)
        lines += [f"{name},A dog number {i}.", f'{name},"A cat, or ""kitten"", on grass."']
    (root / "captions.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>{}</rdf:Bag></dc:subject>
</rdf:Description></rdf:RDF></x:xmpmeta>"""


def make_tagged(root: Path, tags: Mapping[str, Sequence[str]]) -> Path:
    """Make photographs that carry tags, in `root` itself."""
    rng = np.random.default_rng(0)
    root.mkdir()
    for name, own in tags.items():
        packet = XMP.format("".join(f"<rdf:li>{tag}</rdf:li>" for tag in own)).encode() if own else b""
        Image.fromarray(rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(root / name, xmp=packet)
    return root


def read_album(root: Path, **options: Any) -> Samples:
    if os.path.lexists(root / "splits.csv"):
        options = {"splits": "splits.csv"} | options
    return photos.read(root, smallest_side=32, longest_side=320, **options)


def verdicts_here(paths: Sequence[Path], task: str, *arguments: Any) -> Generator[tuple[str, Any], None, None]:
    """Replace `verdicts`, without a separate process, which would take a quarter of a second to start."""
    for path in paths:
        with warnings.catch_warnings(action="ignore"):
            outcome = picture_check.TASKS[task](path, *arguments)
        yield outcome.reason, outcome.value


def failing(monkeypatch: pytest.MonkeyPatch, owner: Any, function: str, name: str, code: int) -> None:
    """Make a function fail for files with the given name."""
    permitted = getattr(owner, function)

    def fail(path: Any, *arguments: Any, **options: Any) -> Any:
        if Path(path).name == name:
            raise OSError(code, os.strerror(code), str(path))
        return permitted(path, *arguments, **options)

    monkeypatch.setattr(owner, function, fail)
