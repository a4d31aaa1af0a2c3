"""Captions of photographs in a file: a table, or JSON in the form of COCO or of Karpathy's splits.

Sources: X. Chen et al., Microsoft COCO Captions, arXiv:1504.00325 (2015), for `images` and `annotations`. A. Karpathy
and L. Fei-Fei, CVPR 2015, for `images` with `sentences`; Flickr8k, Flickr30k and COCO are given out in this form, too.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from jointsparse.checks import require, shortened
from jointsparse.pipeline.datasets.text import open_text, read_csv

KINDS = {str: "text", list: "a list", int: "a whole number"}


def read(path: Path) -> pd.DataFrame:
    """Read captions: columns image, caption. A file `.json` is JSON, every other one a table.

    Raises ValueError with the file and the line or key.
    """
    if path.suffix.lower() != ".json":
        return read_csv(path, "image", "caption")
    with open_text(path) as file:
        text = file.read()
    try:
        data = json.loads(text)
        rows = list((_of_coco if isinstance(data, dict) and "annotations" in data else _of_karpathy)(data))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be JSON with captions: {error}") from None
    return pd.DataFrame(rows, columns=["image", "caption"], dtype=str)


def _of_coco(data: Any) -> Iterator[tuple[str, str]]:
    """Each image's name and caption, of `annotations` that name an image by its `id`."""
    names: dict[int, str] = {}
    for i, image in enumerate(_get(data, "images", list)):
        number = _get(image, "id", int, f"images[{i}].")
        require(number not in names, f"images[{i}].id must be of one image, got {number} again")
        names[number] = _get(image, "file_name", str, f"images[{i}].")
    for i, annotation in enumerate(_get(data, "annotations", list)):
        number = _get(annotation, "image_id", int, f"annotations[{i}].")
        require(number in names, f"annotations[{i}].image_id must be the id of an image, got {shortened(number)}")
        yield names[number], _get(annotation, "caption", str, f"annotations[{i}].")


def _of_karpathy(data: Any) -> Iterator[tuple[str, str]]:
    """Each image's name, below its `filepath` if it has one, and caption."""
    for i, image in enumerate(_get(data, "images", list)):
        name = _get(image, "filename", str, f"images[{i}].")
        above = _get({"filepath": ""} | image, "filepath", str, f"images[{i}].")
        for j, sentence in enumerate(_get(image, "sentences", list, f"images[{i}].")):
            yield f"{above}/{name}" if above else name, _get(sentence, "raw", str, f"images[{i}].sentences[{j}].")


def _get(block: Any, key: str, kind: type, where: str = "") -> Any:
    """The value of a key. Raises ValueError unless it is there and of the kind, and text that a table can hold."""
    value = block.get(key) if isinstance(block, dict) else None
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if isinstance(value, str):
        fits = fits and "\0" not in value and value.encode(errors="ignore").decode() == value
    require(fits, f"{where}{key} must be {KINDS[kind]}, got {'nothing' if value is None else shortened(value)}")
    return value
