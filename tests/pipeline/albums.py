"""Functions that make small folders of photographs and read them."""

import os
import struct
import warnings
from collections.abc import Generator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image, PngImagePlugin
from pyarrow import Table, parquet
from scipy import sparse

from jointsparse.pipeline.datasets import photos, picture_check
from jointsparse.pipeline.datasets.samples import Samples


def lay(root: Path, files: Mapping[str, Any]) -> None:
    """Write arrays, tables, texts, bytes and pictures (a number is the seed of a picture) to files, given by name."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pd.DataFrame):
            content.to_parquet(path) if path.suffix == ".parquet" else content.to_csv(path, index=False)
        elif isinstance(content, np.ndarray):
            np.save(path, content)
        elif sparse.issparse(content):
            sparse.save_npz(path, content)
        elif isinstance(content, Table):
            parquet.write_table(content, path)
        elif isinstance(content, int):
            Image.fromarray(np.random.default_rng(content).integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def make_album(root: Path, n_images: int) -> Path:
    (root / "images").mkdir(parents=True)
    names, rng = [f"{i:03}.jpg" for i in range(n_images)], np.random.default_rng(0)
    for name in names:
        Image.fromarray(rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(root / "images" / name)
    texts = [text for i in range(n_images) for text in (f"A dog number {i}.", 'A cat, or "kitten", on grass.')]
    lay(root, {"captions.csv": pd.DataFrame({"image": np.repeat(names, 2), "caption": texts})})
    return root


XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:lr="http://ns.adobe.com/lightroom/1.0/"
xmlns:digiKam="http://www.digikam.org/ns/1.0/">{}</rdf:Description></rdf:RDF></x:xmpmeta>"""


def xmp(tags: Sequence[str], element: str = "dc:subject", kind: str = "Bag") -> bytes:
    items = "".join(f"<rdf:li>{tag}</rdf:li>" for tag in tags)
    return XMP.format(f"<{element}><rdf:{kind}>{items}</rdf:{kind}></{element}>").encode()


def iptc(tags: Sequence[str]) -> bytes:
    """Return IPTC keywords in the segment APP13 of a JPEG, as Photoshop writes them."""
    rows = [b"\x1c\x02\x19" + len(tag.encode()).to_bytes(2, "big") + tag.encode() for tag in tags]
    sets = b"\x1c\x01\x5a\x00\x03\x1b%G" + b"".join(rows)
    body = b"Photoshop 3.0\0" + b"8BIM\x04\x04\x00\x00" + len(sets).to_bytes(4, "big") + sets + b"\0" * (len(sets) % 2)
    return b"\xff\xed" + (len(body) + 2).to_bytes(2, "big") + body


def carrying(packet: bytes = b"", segment: bytes = b"", kind: str = "JPEG", seed: int = 0, **options: Any) -> bytes:
    """Return a picture that carries XMP, or another segment of a JPEG."""
    png, buffer = PngImagePlugin.PngInfo(), BytesIO()
    png.add_itxt("XML:com.adobe.xmp", packet.decode())
    of_kind = {"PNG": {"pnginfo": png}, "TIFF": {"tiffinfo": {700: packet}}}.get(kind, {"xmp": packet})
    picture = Image.fromarray(np.random.default_rng(seed).integers(0, 255, (40, 40, 3), dtype=np.uint8))
    picture.save(buffer, kind, **of_kind, **options)
    return buffer.getvalue()[:2] + segment + buffer.getvalue()[2:]


def idx(array: np.ndarray) -> bytes:
    """Return an idx file of unsigned bytes."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def make_tagged(root: Path, tags: Mapping[str, Sequence[str]]) -> Path:
    """Make photographs that carry tags, in `root` itself."""
    lay(root, {name: carrying(xmp(own) if own else b"", seed=i) for i, (name, own) in enumerate(tags.items())})
    return root


def read_album(root: Path, **options: Any) -> Samples:
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
