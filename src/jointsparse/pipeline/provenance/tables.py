"""Tables and arrays on disk, each written by `written.written`, so that a file is whole or absent.

Readers do not look for damage: a job has compared all that it reads with its record, see `records.read_inputs`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy  # which loads scipy.sparse when it is used

from jointsparse.checks import Misfit, require_extra
from jointsparse.written import written

require_extra(__name__, "pandas", "pyarrow")

if TYPE_CHECKING:
    import pandas as pd

# A spreadsheet runs a cell that begins like this, and in some a cell begins behind each of these signs, also inside of
# quotes. On disk such text has an apostrophe before it.
FORMULA = re.compile(r"((?:^|[,;\t\r\n])[ \"]*)(?='*[=+\-@＝＋－＠])|^(?='*[\t\r\n])")
ESCAPED_FORMULA = re.compile(r"((?:^|[,;\t\r\n])[ \"]*)'(?='*[=+\-@＝＋－＠])|^'(?='*[\t\r\n])")

TEXTS = ("word", "radius_rule", "dataset", "study")  # columns whose values may look like numbers or truth values

# Choice: a CSV file ends with an empty line, which readers of CSV skip. A file that was cut off does not.
END_OF_TABLE = "\n\n"

T = TypeVar("T", bound=Any)  # a NamedTuple of arrays


class Damaged(ValueError):
    """A file whose content is not what was written. It has to be made again. path: its name."""

    def __init__(self, path: str | Path, why: object) -> None:
        super().__init__(f"{path} is damaged ({' '.join(str(why).split())[:300]}): delete it and run again")
        self.path = str(path)


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table by its suffix: CSV, which people read and which keeps every digit, or Parquet for the next stage.

    No text in a CSV file is a formula to a spreadsheet (see `FORMULA`).
    """
    with written(path) as temporary:
        if temporary.suffix == ".csv":
            safe = _in_texts(table, lambda text: FORMULA.sub(r"\1'", text))
            text = safe.to_csv(index=False, lineterminator="\n")
            if "\r" in text:  # ends a line in some programs, unless in quotes
                text = safe.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
            temporary.write_text(text + "\n", encoding="utf-8", newline="")
        else:
            table.to_parquet(temporary, index=False)


def read_table(path: str | Path, *columns: str) -> pd.DataFrame:
    """Read a file of `write_table`. columns: those that must be there. Raises `Damaged`, a ValueError."""
    import pandas as pd  # here, as it takes a third of a second

    if Path(path).suffix != ".csv":
        table = pd.read_parquet(path)
    else:
        text = Path(path).read_bytes().decode()
        if not text.endswith(END_OF_TABLE):
            raise Damaged(path, "its end is missing, which is an empty line")
        # Only an empty cell is missing: "nan" and "null" are words that captions may hold.
        types = dict.fromkeys(TEXTS, str)
        table = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""], dtype=types, lineterminator="\n")
        table = _in_texts(table, lambda text: ESCAPED_FORMULA.sub(r"\1", text))
    if missing := ", ".join(name for name in columns if name not in table):
        raise Damaged(path, f"expected the columns {missing} in it, got {', '.join(map(str, table))}")
    return table


def _in_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """A table with every text in it changed."""
    texts = table.select_dtypes(["object", "string"])
    return table.assign(**texts.map(lambda cell: change(cell) if isinstance(cell, str) else cell))


def write_arrays(path: str | Path, **arrays: Any) -> None:
    """Write named arrays of numbers or text (.npz), such as the fields of a NamedTuple."""
    with written(path) as temporary:
        np.savez(temporary, **arrays)


def read_arrays(path: str | Path, *names: str) -> dict[str, np.ndarray]:
    """Read a file of `write_arrays`, or only the arrays of these names."""
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in names or arrays.files}


def write_array(path: str | Path, array: np.ndarray) -> None:
    """Write one array (.npy, without pickle)."""
    with written(path) as temporary:
        np.save(temporary, array, allow_pickle=False)


def read_array(path: str | Path, *, mapped: bool = False) -> np.ndarray:
    """Read a file of `write_array`. mapped: leave a large array on disk, read-only."""
    return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)


def write_matrix(path: str | Path, matrix: np.ndarray | scipy.sparse.csr_matrix) -> None:
    """Write a dense or CSR matrix (.npz)."""
    write_arrays(path, **({"dense": matrix} if isinstance(matrix, np.ndarray) else parts_of(matrix)))


def parts_of(matrix: scipy.sparse.csr_matrix, name: str = "") -> dict[str, Any]:
    """The arrays of a CSR matrix as `write_arrays` takes them, for one of several matrices under its name."""
    few = matrix.shape[1] <= 2**16  # columns, whose numbers then take half of the room
    indices = matrix.indices.astype(np.uint16) if few else matrix.indices
    parts = {"data": matrix.data, "indices": indices, "indptr": matrix.indptr, "shape": matrix.shape}
    return {f"{name}{part}": array for part, array in parts.items()}


def read_matrix(path: str | Path, name: str = "") -> np.ndarray | scipy.sparse.csr_matrix:
    """Read a file of `write_matrix`, or a dense one of `write_array`, of which what is not used stays on disk.

    name: of one of several CSR matrices, see `parts_of`.
    """
    if Path(path).suffix == ".npy":
        return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    with np.load(path, allow_pickle=False) as arrays:
        if "dense" in arrays:
            return arrays["dense"]
        data, indices, indptr, shape = (arrays[f"{name}{part}"] for part in ("data", "indices", "indptr", "shape"))
    indices = indices.astype(np.int32) if indices.dtype == np.uint16 else indices
    return scipy.sparse.csr_matrix((data, indices, indptr), shape=shape)


def read_blocks(files: str | Sequence[str], vocabulary: str | None, images: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """Features, dense or CSR, some rows after the other: which of the images they are of, and the features.

    files: one of all images in their order, or shards with names, which hold them for several vocabularies.
    """
    if isinstance(files, str):
        yield slice(None), read_matrix(files)
        return
    row, n_found = {image: i for i, image in enumerate(images)}, 0
    for file in files:
        names, X = read_arrays(file, "names")["names"].tolist(), read_matrix(file, f"{vocabulary}/")
        if not row.keys() >= {*names}:
            raise Misfit(f"{file} must hold images of the dataset, got others")
        n_found += len(names)
        yield [row[name] for name in names], X
    if n_found != len(row):
        raise Misfit(f"shards must hold each of {len(row)} images, got {n_found}")


def read_features(files: str | Sequence[str], vocabulary: str | None) -> Any:
    """All features at once, dense or CSR, in the order of the images, which is that of their names."""
    if isinstance(files, str):
        return read_matrix(files)
    names = np.concatenate([read_arrays(file, "names")["names"] for file in files])
    X = scipy.sparse.vstack([read_matrix(file, f"{vocabulary}/") for file in files], format="csr")
    return X[np.argsort(names)]


def write_records(path: str | Path, records: Mapping[Any, Any]) -> None:
    """Write NamedTuples of arrays (.npz), each under a name."""
    fields = {name: record._asdict() for name, record in records.items()}
    write_arrays(path, **{f"{name}/{field}": array for name in fields for field, array in fields[name].items()})


def read_record(kind: type[T], path: str | Path, name: Any = None) -> T:
    """Read a NamedTuple of this kind whose fields `write_arrays` wrote, or `write_records` under a name."""
    fields = kind._fields if name is None else [f"{name}/{field}" for field in kind._fields]
    return kind(*read_arrays(path, *fields).values())
