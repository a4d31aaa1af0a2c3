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
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pyarrow import parquet

from jointsparse.checks import require
from jointsparse.messages import shortened
from jointsparse.pipeline.datasets.names import composed
from jointsparse.pipeline.datasets.tabular import columns_of, opened, read_columns, read_npy, require_header
from jointsparse.pipeline.datasets.text import open_text, read_csv

Columns = dict[str, list[Any]]  # the cells of each column; all columns have the same length
SUFFIXES = (".csv", ".json", ".jsonl", ".npy", ".parquet", ".tsv", ".txt")
TOKEN = re.compile(r"([^\t]+)#\d+\t(.*)")  # a line of a token file
KINDS = {str: "text", int: "a whole number"}


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
        if not isinstance(data, list):
            of_karpathy = ["image", "caption", "split"]
            return _of_coco(data) if "annotations" in data else _columns(of_karpathy, _of_karpathy(data))
    except (ValueError, RecursionError, TypeError) as error:
        raise ValueError(f"{path} must be JSON with captions or labels: {error}") from None
    return _of_records(path, data)


def _of_lines(path: Path) -> Columns:
    """Read lines such as {"file_name": "a.jpg", "text": "A dog."}."""
    records = []
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                records += [json.loads(line)] if line.strip() else []
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path} line {number} must be JSON: {error}") from None
    return _of_records(path, records)


def _of_records(path: Path, records: Sequence[Any]) -> Columns:
    for number, record in enumerate(records, start=1):
        require(isinstance(record, dict), f"{path} row {number} must be a JSON object, got {shortened(record)}")
        for key, value in record.items():
            fits = _is_sound(key) and _is_sound(value)
            require(fits, f"{path} row {number}: {key} must be text, got {shortened(value)}")
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


def _of_coco(data: Any) -> Columns:
    """Return a row for each caption, or for each image with its categories."""
    ids, owners = _values(data, "images", "id", int), _values(data, "annotations", "image_id", int)
    require(len({*ids}) == len(ids), "images must have different ids")
    _require_known(owners, {*ids}, "image_id")
    names, splits = _values(data, "images", "file_name", str), _values(data, "images", "split", str, default="")
    if "categories" not in data or any("caption" in note for note in data["annotations"]):
        captions, row_of = _values(data, "annotations", "caption", str), {number: row for row, number in enumerate(ids)}
        rows = [row_of[number] for number in owners]
        return {"image": [names[row] for row in rows], "caption": captions, "split": [splits[row] for row in rows]}
    classes = dict(
        zip(*(_values(data, "categories", key, kind) for key, kind in (("id", int), ("name", str))), strict=True)
    )
    codes = _values(data, "annotations", "category_id", int)
    _require_known(codes, classes, "category_id")
    has: dict[int, list[str]] = {number: [] for number in ids}
    for number, code in zip(owners, codes, strict=True):
        has[number].append(classes[code])
    return {"image": names, "tags": [*has.values()], "split": splits}


def _require_known(codes: Sequence[int], ids: Collection[int], key: str) -> None:
    for i in [i for i, code in enumerate(codes) if code not in ids][:1]:
        raise ValueError(f"annotations[{i}].{key} must be one of the ids, got {codes[i]}")


def _of_karpathy(data: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the image, caption and split of each sentence. If an image has a `filepath`, this is its folder."""
    names, folders, splits = (
        _values(data, "images", key, str, default)
        for key, default in (("filename", None), ("filepath", ""), ("split", ""))
    )
    for i, image in enumerate(data["images"]):
        for text in _values(image, "sentences", "raw", str, where=f"images[{i}]."):
            yield posixpath.join(folders[i], names[i]), text, splits[i]


def _values(data: Any, table: str, key: str, kind: type, default: Any = None, where: str = "") -> list[Any]:
    """Return the value of a key of each object in the list `table`. where: what stands before `table` in messages."""
    records: Any = data.get(table) if isinstance(data, dict) else None
    require(isinstance(records, list), f"{where}{table} must be a list, got {shortened(records)}")
    values = [record.get(key, default) if isinstance(record, dict) else None for record in records]
    for i, value in enumerate(values):
        fits = isinstance(value, kind) and not isinstance(value, bool) and _is_sound(value)
        require(fits, f"{where}{table}[{i}].{key} must be {KINDS[kind]}, got {shortened(value)}")
    return values


def _is_sound(value: Any) -> bool:
    """Return False for text that no table can store: with NUL characters, or with half of a surrogate pair."""
    return not isinstance(value, str) or ("\0" not in value and value.encode(errors="ignore").decode() == value)
