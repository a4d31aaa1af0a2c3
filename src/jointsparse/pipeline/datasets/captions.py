"""Read captions of photographs from a table, or from JSON in the format of COCO or of Karpathy's splits.

The formats are described in these sources:

- JSON with `images` and `annotations`: X. Chen et al., Microsoft COCO Captions, arXiv:1504.00325 (2015).
- JSON with `images` that hold `sentences`: A. Karpathy and L. Fei-Fei, CVPR 2015. Flickr8k, Flickr30k and COCO are also
  distributed in this format.
- `metadata.csv`, `.jsonl` and `.parquet`: the documentation of Hugging Face's loader imagefolder.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jointsparse.checks import require, shortened
from jointsparse.pipeline.datasets.names import composed
from jointsparse.pipeline.datasets.tabular import columns_of, read_columns
from jointsparse.pipeline.datasets.text import chosen, open_text, read_csv

# The columns of a table of captions, and their usual names. The column of splits may be missing.
CALLED = {
    "image": ("image", "image_name", "file_name", "filename", "file", "image_path", "path"),
    "caption": ("caption", "comment", "text", "sentence", "title"),
    "split": ("split", "splits", "set", "subset", "partition"),
}
# Strings that programs write for a missing caption, in lower case.
MISSING = ("", "nan", "none", "null", "na", "n/a", "<na>", "#n/a")
TOKEN = re.compile(r"([^\t]+)#\d+\t(.*)")  # a line of a token file
KINDS = {str: "text", list: "a list", int: "a whole number"}


def read(path: Path) -> pd.DataFrame:
    """Read a file of captions into a table with the columns `image`, `caption` and `split`.

    Missing values become "". The suffix .json, .jsonl or .parquet determines the format. A file with any other suffix
    is a text table, or a token file with lines such as "a.jpg#0<tab>A dog runs .". If the file does not have the
    expected format, ValueError is raised with the name of the file and the line or key.
    """
    rows: Any
    if path.suffix.lower() == ".json":
        rows = _of_json(path)
    elif path.suffix.lower() == ".jsonl":
        rows = _of_lines(path)
    elif path.suffix.lower() == ".parquet":
        names = _chosen(path, columns_of(path))
        table = read_columns(path, columns=list(filter(None, names)))
        rows = _of_records(path, names, table.to_pylist())
    else:
        with open_text(path) as file:
            is_token = TOKEN.fullmatch(file.readline().rstrip("\r\n"))
        rows = _of_token(path) if is_token else read_csv(path, "image", "caption", also=CALLED, optional=["split"])
    read = pd.DataFrame(rows, columns=list(CALLED), dtype=str)
    require(len(read), f"{path} must hold at least one caption, got none")
    texts = (composed(text).strip() for text in read["caption"])
    return read.assign(caption=["" if text.lower() in MISSING else text for text in texts])


def contradiction(ours: pd.DataFrame, theirs: pd.DataFrame) -> str:
    """Return the name of an image for which two tables have different captions, or "" if there is no such image.

    Different captions suggest that one of the tables is an older draft.
    """
    with_captions = (table[table["caption"] != ""] for table in (ours, theirs))
    first, second = (table.groupby("image")["caption"].agg(frozenset) for table in with_captions)
    both = first.index.intersection(second.index)
    differ = both[(first[both].to_numpy() != second[both].to_numpy())]
    return str(differ[0]) if len(differ) else ""


def _of_json(path: Path) -> list[tuple[str, str, str]]:
    with open_text(path) as file:
        text = file.read()
    try:
        data = json.loads(text)
        return list((_of_coco if isinstance(data, dict) and "annotations" in data else _of_karpathy)(data))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be JSON with captions: {error}") from None


def _of_lines(path: Path) -> Iterator[list[str]]:
    """Read lines such as {"file_name": "a.jpg", "text": "A dog."}, and iterate over image, caption and split."""
    with open_text(path) as file:
        lines = [(number, line) for number, line in enumerate(file, start=1) if line.strip()]
    records = []
    for number, line in lines:
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} line {number} must be JSON: {error}") from None
        require(isinstance(records[-1], dict), f"{path} line {number} must be a JSON object, got {line[:80]!r}")
    return _of_records(path, _chosen(path, list(dict.fromkeys(key for record in records for key in record))), records)


def _chosen(path: Path, columns: Sequence[str]) -> list[str]:
    """Return which columns hold images, captions and splits. The third name is "" if there is no column of splits."""
    names = chosen(columns, CALLED)
    require(all(names[:2]), f"{path} must have the columns image,caption, got {shortened(list(columns))}")
    return names


def _of_records(path: Path, names: Sequence[str], records: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield the image, caption and split of each record.

    `names` are the keys under which the records hold these three values; the third key is "" if there are no splits. A
    value that is missing or None becomes "".
    """
    for number, record in enumerate(records, start=1):
        present = {key: value for key, value in record.items() if value is not None}
        try:
            yield [_get({name: ""} | present, name, str) if name else "" for name in names]
        except ValueError as error:
            raise ValueError(f"{path} row {number}: {error}") from None


def _of_token(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the image and the caption in lines such as "a.jpg#0<tab>A dog runs .", and "" for the split."""
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            match = TOKEN.fullmatch(line.rstrip("\r\n"))
            require(
                match or not line.strip(),
                f'{path} line {number}: expected an image, "#" and a number, a tab and a caption, got {line[:80]!r}',
            )
            if match:
                yield match[1], match[2], ""


def _of_coco(data: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the image, caption and split of each entry in `annotations`. An entry refers to its image by `id`."""
    names: dict[int, tuple[str, str]] = {}
    for i, image in enumerate(_get(data, "images", list)):
        number = _get(image, "id", int, f"images[{i}].")
        require(number not in names, f"images[{i}].id must be unique, got {number} again")
        names[number] = tuple(_get({"split": ""} | image, key, str, f"images[{i}].") for key in ("file_name", "split"))
    for i, annotation in enumerate(_get(data, "annotations", list)):
        number = _get(annotation, "image_id", int, f"annotations[{i}].")
        require(number in names, f"annotations[{i}].image_id must be the id of an image, got {shortened(number)}")
        name, split = names[number]
        yield name, _get(annotation, "caption", str, f"annotations[{i}]."), split


def _of_karpathy(data: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the image, caption and split of each sentence. If an image has a `filepath`, this is its folder."""
    for i, image in enumerate(_get(data, "images", list)):
        name = _get(image, "filename", str, f"images[{i}].")
        folder, split = (_get({key: ""} | image, key, str, f"images[{i}].") for key in ("filepath", "split"))
        for j, sentence in enumerate(_get(image, "sentences", list, f"images[{i}].")):
            text = _get(sentence, "raw", str, f"images[{i}].sentences[{j}].")
            yield f"{folder}/{name}" if folder else name, text, split


def _get(block: Any, key: str, kind: type, where: str = "") -> Any:
    """Return the value of a key.

    Raises ValueError if the value is missing, is not of the type `kind`, or is text that cannot be stored in a table.
    `where` is put in front of the key in the error message.
    """
    value = block.get(key) if isinstance(block, dict) else None
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if isinstance(value, str):
        fits = fits and "\0" not in value and value.encode(errors="ignore").decode() == value
    require(fits, f"{where}{key} must be {KINDS[kind]}, got {'nothing' if value is None else shortened(value)}")
    return value
