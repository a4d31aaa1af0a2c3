"""Tables and arrays on disk. Everything is written under a temporary name and renamed, so a file is whole or absent."""

import csv
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

# A spreadsheet runs a cell that begins so; such text gets an apostrophe before it on disk, and loses it when read.
FORMULA = re.compile(r"^(?='*[=+\-@＝＋－＠\t\r\n])")
ESCAPED_FORMULA = re.compile(r"^'(?='*[=+\-@＝＋－＠\t\r\n])")
NEW_CELL = re.compile(r"\r|[;\t] *[=+\-@＝＋－＠]")  # where some programs would begin another, unless in quotes


@contextmanager
def written(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, of the same suffix; it becomes `path` when the block ends without an error."""
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = final.with_name(f".{final.stem}.{os.getpid()}.part{final.suffix}")
    try:
        yield temporary
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table as CSV (for people; every digit of a number is kept) or Parquet (for the next stage), by suffix.

    No text in a CSV is a formula to a spreadsheet, whatever the data hold (see `FORMULA`).
    """
    with written(path) as temporary:
        if temporary.suffix == ".csv":
            safe = _in_texts(table, lambda text: FORMULA.sub("'", text))
            quoted = any(isinstance(cell, str) and NEW_CELL.search(cell) for _, cells in safe.items() for cell in cells)
            quoting: Any = csv.QUOTE_NONNUMERIC if quoted else csv.QUOTE_MINIMAL
            safe.to_csv(temporary, index=False, lineterminator="\n", quoting=quoting)
        else:
            table.to_parquet(temporary, index=False)


def read_table(path: str | Path) -> pd.DataFrame:
    """Read what `write_table` wrote."""
    if Path(path).suffix == ".csv":
        # Only nothing is missing: "nan" and "null" are words that captions may hold.
        text = {"word": str, "radius_rule": str}  # "002" is one too, and "true" may be all there is
        table = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=text, lineterminator="\n")
        return _in_texts(table, lambda text: ESCAPED_FORMULA.sub("", text))
    return pd.read_parquet(path)


def _in_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """A table with every text in it changed."""
    changed = table.copy()
    for name, column in table.items():
        if pd.api.types.is_string_dtype(column) or column.dtype == object:
            cells = [change(cell) if isinstance(cell, str) else cell for cell in column]
            changed[name] = pd.Series(cells, index=column.index, dtype=column.dtype)
    return changed


def write_arrays(path: str | Path, **arrays: Any) -> None:
    """Write named arrays (.npz, without pickle)."""
    for name, array in arrays.items():
        # NumPy 2.1 would take allow_pickle=False for one more array.
        if np.asarray(array).dtype.hasobject:
            raise ValueError(f"{name} must hold numbers or text, got Python objects")
    with written(path) as temporary:
        np.savez(temporary, **arrays)


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Read what `write_arrays` wrote; a damaged file is a ValueError that names it."""
    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError) as error:
            raise ValueError(f"{path} is damaged ({error}): delete it and run again") from None


def write_array(path: str | Path, array: np.ndarray) -> None:
    """Write one array (.npy, without pickle), to be read by `np.load`, memory-mapped if large."""
    with written(path) as temporary:
        np.save(temporary, array, allow_pickle=False)


def write_matrix(path: str | Path, matrix: np.ndarray | sparse.csr_matrix) -> None:
    """Write a dense or CSR matrix (.npz)."""
    if isinstance(matrix, np.ndarray):
        write_arrays(path, dense=matrix)
    else:
        shape = np.array(matrix.shape)
        write_arrays(path, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=shape)


def read_matrix(path: str | Path) -> np.ndarray | sparse.csr_matrix:
    """Read what `write_matrix` wrote."""
    arrays = read_arrays(path)
    if "dense" in arrays:
        return arrays["dense"]
    return sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
