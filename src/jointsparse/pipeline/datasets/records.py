"""Read files of captions or labels as named columns: tables, arrays, and JSON in the formats that collections have.

The formats are described in these sources:

- JSON with `images` and `annotations`: X. Chen et al., Microsoft COCO Captions, arXiv:1504.00325 (2015), and T.-Y. Lin
  et al., Microsoft COCO, ECCV 2014, for `categories`.
- JSON with `images` that hold `sentences`: A. Karpathy and L. Fei-Fei, CVPR 2015. Flickr8k, Flickr30k and COCO are also
  distributed in this format.
- .jsonl, and names of classes in the metadata of .parquet files: the documentation of Hugging Face's datasets.
- lines such as "a.jpg#0<tab>A dog runs .": Flickr8k's token file.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyarrow import parquet

from jointsparse.checks import require, shortened
from jointsparse.pipeline.datasets.names import composed
from jointsparse.pipeline.datasets.tabular import columns_of, opened, read_columns, read_npy, require_header
from jointsparse.pipeline.datasets.text import open_text, read_csv

Columns = dict[str, list[Any]]  # the cells of each column; all columns have the same length
SUFFIXES = (".csv", ".json", ".jsonl", ".npy", ".parquet", ".tsv", ".txt")
TOKEN = re.compile(r"([^\t]+)#\d+\t(.*)")  # a line of a token file
KINDS = {str: "text", list: "a list", int: "a whole number"}


def read(path: Path, only: Sequence[str] | None = None) -> Columns:
    """Read a file of captions or labels as named columns. only: the columns of a table to read; by default all.

    The suffix .json, .jsonl, .npy or .parquet gives the format. A file with another suffix is a table of text, or a
    token file. The columns of an array are called "label 1", "label 2", …; those of a token file, of COCO's JSON and of
    Karpathy's are called `image`, `caption` or `tags`, and `split`. ValueError is raised, with the name of the file and
    the line or key, if the file does not have the expected format, or holds no row.
    """
    read_suffix = {".json": _of_json, ".jsonl": _of_lines, ".npy": _of_array}.get(path.suffix.lower())
    if read_suffix:
        columns = read_suffix(path)
    elif path.suffix.lower() == ".parquet":
        columns = _of_parquet(path, only)
    else:
        require(
            path.suffix.lower() in SUFFIXES,
            f"captions and labels must be in a file that ends in {', '.join(SUFFIXES)}, got {str(path)!r}",
        )
        with open_text(path) as file:
            is_token = TOKEN.fullmatch(file.readline().rstrip("\r\n"))
        columns = _columns(["image", "caption"], _of_token(path)) if is_token else read_csv(path, only)
        if only is None:
            require_header(path, list(columns), of_text=True)
    require(any(columns.values()), f"{path} must hold at least one row, got only the columns {', '.join(columns)[:80]}")
    for name, cells in columns.items():
        require(
            path.suffix.lower() == ".parquet" or name.isdigit() or name not in cells,
            f"{path} must have a header, and only one, but the column {name!r} also holds {name!r}: write the names of "
            "the columns into the first line, and remove a second header",
        )
    return columns


def _columns(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
    every = list(rows)
    return {name: [row[i] for row in every] for i, name in enumerate(names)}


def _of_array(path: Path) -> Columns:
    Y = read_npy(path)
    require(Y.ndim in (1, 2), f"{path} must hold a row of labels for each sample, got shape {Y.shape}")
    Y = Y.reshape(len(Y), -1)
    return {f"label {k + 1}": cells for k, cells in enumerate(Y.T.tolist())}


def _of_parquet(path: Path, only: Sequence[str] | None) -> Columns:
    """Read a .parquet file, and replace codes by the names of classes that Hugging Face keeps in its metadata."""
    columns = read_columns(path, only and [name for name in only if name in columns_of(path)]).to_pydict()
    with opened(path):
        metadata = parquet.read_schema(path).metadata or {}
        features = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
        for name, feature in features.items():
            classes = (feature.get("feature") or feature).get("names") if isinstance(feature, dict) else None
            if classes and name in columns:
                columns[name] = [_named(cell, classes) for cell in columns[name]]
    return columns


def _named(cell: Any, classes: Sequence[str]) -> Any:
    """Return the names of the classes with these codes; -1 stands for a missing class."""
    if isinstance(cell, list):
        return [_named(code, classes) for code in cell]
    return None if cell is None or cell < 0 else classes[cell]


def _of_json(path: Path) -> Columns:
    with open_text(path) as file:
        text = file.read()
    try:
        data = json.loads(text)
        if isinstance(data, list):
            return _of_records(data)
        rows = _of_coco if "annotations" in data else _of_karpathy
        names = ["image", "tags" if "categories" in data and not _has_captions(data) else "caption", "split"]
        return _columns(names, rows(data))
    except (ValueError, RecursionError, TypeError) as error:
        raise ValueError(f"{path} must be JSON with captions or labels: {error}") from None


def _of_lines(path: Path) -> Columns:
    """Read lines such as {"file_name": "a.jpg", "text": "A dog."}."""
    with open_text(path) as file:
        lines = [(number, line) for number, line in enumerate(file, start=1) if line.strip()]
    records = []
    for number, line in lines:
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} line {number} must be JSON: {error}") from None
    try:
        return _of_records(records)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _of_records(records: Sequence[Any]) -> Columns:
    for number, record in enumerate(records, start=1):
        require(isinstance(record, dict), f"row {number} must be a JSON object, got {shortened(record)}")
        for key, value in record.items():
            require(_is_sound(key) and _is_sound(value), f"row {number}: {key} must be text, got {shortened(value)}")
    names = dict.fromkeys(key for record in records for key in record)
    return {composed(name): [record.get(name) for record in records] for name in names}


def _of_token(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the image and the caption in lines such as "a.jpg#0<tab>A dog runs ."."""
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            match = TOKEN.fullmatch(line.rstrip("\r\n"))
            require(
                match or not line.strip(),
                f'{path} line {number}: expected an image, "#" and a number, a tab and a caption, got {line[:80]!r}',
            )
            if match:
                yield match[1], match[2]


def _has_captions(data: Mapping[str, Any]) -> bool:
    return any(isinstance(note, dict) and "caption" in note for note in _get(data, "annotations", list))


def _of_coco(data: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield the image, caption and split of each annotation, or the image, categories and split of each image."""
    names: dict[int, tuple[str, str]] = {}
    for i, image in enumerate(_get(data, "images", list)):
        number = _get(image, "id", int, f"images[{i}].")
        require(number not in names, f"images[{i}].id must be unique, got {number} again")
        names[number] = tuple(_get({"split": ""} | image, key, str, f"images[{i}].") for key in ("file_name", "split"))
    classes = dict[int, str]()
    has: dict[int, list[str]] = {number: [] for number in names}
    of_captions = "categories" not in data or _has_captions(data)
    for i, category in enumerate([] if of_captions else _get(data, "categories", list)):
        classes[_get(category, "id", int, f"categories[{i}].")] = _get(category, "name", str, f"categories[{i}].")
    for i, annotation in enumerate(_get(data, "annotations", list)):
        where = f"annotations[{i}]."
        number = _get(annotation, "image_id", int, where)
        require(number in names, f"{where}image_id must be the id of an image, got {shortened(number)}")
        if of_captions:
            yield names[number][0], _get(annotation, "caption", str, where), names[number][1]
        else:
            code = _get(annotation, "category_id", int, where)
            require(code in classes, f"{where}category_id must be the id of a category, got {shortened(code)}")
            has[number].append(classes[code])
    if not of_captions:
        yield from ((name, has[number], split) for number, (name, split) in names.items())


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
    fits = isinstance(value, kind) and not isinstance(value, bool) and _is_sound(value)
    require(fits, f"{where}{key} must be {KINDS[kind]}, got {'nothing' if value is None else shortened(value)}")
    return value


def _is_sound(value: Any) -> bool:
    """Return False for text that no table can store: with NUL characters, or with half of a surrogate pair."""
    return not isinstance(value, str) or ("\0" not in value and value.encode(errors="ignore").decode() == value)
