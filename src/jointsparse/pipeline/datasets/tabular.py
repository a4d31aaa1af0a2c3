"""Tables in files .csv and .parquet, and arrays in .npy and .npz: their columns as numbers and texts."""

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv, parquet
from scipy import sparse

from jointsparse.checks import as_positive, require, require_sound, shortened
from jointsparse.pipeline.datasets.names import composed
from jointsparse.pipeline.datasets.packed import SMALL_BYTES
from jointsparse.pipeline.datasets.text import DECIMAL, DELIMITERS, open_text

TABLES = (".parquet", ".csv")
KINDS = (".npy", ".npz", *TABLES)


@contextmanager
def opened(path: Path) -> Iterator[None]:
    """Say in one sentence that a file does not open, whatever its decoder raises."""
    try:
        yield
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(
            f"{path} must be a whole {path.suffix} file of numbers and text, got a fault: {said}"
        ) from None


def require_bytes(path: Path, n_bytes: int, compression_ratio: float) -> None:
    """Raise ValueError if a file would unpack to more than a multiple of its size."""
    most = max(SMALL_BYTES, as_positive(compression_ratio, "compression_ratio") * path.stat().st_size)
    require(
        n_bytes <= most,
        f"{path} must unpack to at most {compression_ratio:g} times its size, got {n_bytes:,} bytes: raise "
        "compression_ratio, if the file is what it should be",
    )


# Arrays


def read_npy(path: Path) -> np.ndarray:
    """Open an array of numbers or text, which stays on disk unless its bytes are in another machine's order."""
    with opened(path):
        array = np.lib.format.open_memmap(path, mode="r")
    require(array.dtype.kind in "fiubUS", f"{path} must hold real numbers or text, got {array.dtype}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def read_npz(path: Path, compression_ratio: float) -> Any:
    """Read the matrix that SciPy has written, without repeated or stored zero entries, or the only array."""
    with opened(path), zipfile.ZipFile(path) as archive:
        n_bytes = sum(one.file_size for one in archive.infolist())
    require_bytes(path, n_bytes, compression_ratio)
    with opened(path), np.load(path, allow_pickle=False) as arrays:
        names = list(arrays)
        given: Any = sparse.load_npz(path) if "format" in names else arrays[names[0]] if len(names) == 1 else None
    require(given is not None, f"{path} must hold one array, got {', '.join(names)[:200] or 'none'}: save one alone")
    if not sparse.issparse(given):
        return given
    require_sound(given)
    X = given.tocsr()
    X.sum_duplicates()
    X.eliminate_zeros()
    return sparse.csr_matrix((X.data, X.indices, X.indptr), X.shape)  # with 32-bit indices where they suffice


# Tables. Names of columns are in the composed form of Unicode.


def columns_of(path: Path) -> list[str]:
    """Return the columns of a table, without an index that pandas keeps beside them; none of an array."""
    return [composed(name) for name in _columns(path)]


def _columns(path: Path) -> list[str]:
    """The columns of a table as the file names them."""
    kind = path.suffix.lower()
    require(kind in KINDS, f"{path} must end with {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {kind!r}")
    if kind not in TABLES:
        return []
    with opened(path):
        schema = csv.open_csv(path, parse_options=_signs(path)).schema if kind == ".csv" else parquet.read_schema(path)
    names = [name for name in schema.names if kind == ".csv" or not name.startswith("__index_level_")]
    again = zip(names, pd.Index(map(composed, names)).duplicated(), strict=True)
    odd = [name for name, twice in again if twice or not name.strip() or DECIMAL.fullmatch(name)]
    require(
        names and not odd,
        f"{path} must have a header with a name of its own for each column, got {odd[:1] or 'none'} (pandas writes a "
        "column without name unless index=False)",
    )
    return names


def _signs(path: Path) -> csv.ParseOptions:
    """Between the fields of a table stands the sign that its header has most often, or a comma."""
    with open_text(path) as file:
        header = file.readline()
    sign = max(DELIMITERS, key=header.count)
    return csv.ParseOptions(delimiter=sign, newlines_in_values=True, ignore_empty_lines=sign in header)


def read_columns(
    path: Path, compression_ratio: float, columns: Sequence[str] | None = None, texts: Sequence[str] = ()
) -> pa.Table:
    """Read some columns of a table.

    Parameters
    ----------
    path : path
        File of the table.
    compression_ratio : float above 0
        Times its size that the file may unpack to.
    columns : list of str or None
        The columns in this order; None for all.
    texts : list of str
        Those of them that are text, even where all look like numbers.
    """
    own = {composed(name): name for name in _columns(path)}
    names = list(own) if columns is None else list(columns)
    if path.suffix.lower() == ".csv":
        types = {own[name]: pa.string() for name in texts if name in own}
        convert = csv.ConvertOptions(include_columns=[own[name] for name in names], column_types=types)
        with opened(path):
            table = csv.read_csv(path, parse_options=_signs(path), convert_options=convert)
    else:
        with opened(path):
            file = parquet.ParquetFile(path)
        require_bytes(path, 4 * file.metadata.num_rows * len(names), compression_ratio)
        with opened(path):
            table = file.read([own[name] for name in names]).select([own[name] for name in names])
    return table.rename_columns(names)


def is_number(column: pa.ChunkedArray) -> bool:
    """Whether a column holds numbers, truth values, or nothing."""
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null
    return any(test(column.type) for test in tests)


def floats_of(column: pa.ChunkedArray) -> np.ndarray:
    """Return the numbers of a column as float64, NaN where there is none."""
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())


def texts_of(column: pa.ChunkedArray) -> list[str]:
    """Return the text of each row of a column, empty where there is none."""
    return ["" if cell is None else composed(str(cell).strip()) for cell in column.to_pylist()]


def widths_of(path: Path, columns: Sequence[str]) -> dict[str, int]:
    """Return the length of the lists in each of these columns that holds a list of numbers in each row."""
    if path.suffix.lower() == ".parquet":
        own = {composed(name): name for name in _columns(path)}
        schema = parquet.read_schema(path)
        lists = [name for name in columns if _is_list(schema.field(own[name]).type)]
        rows = next(parquet.ParquetFile(path).iter_batches(1, columns=[own[name] for name in lists]), None)
        first = rows.to_pydict() if lists and rows else {}
        cells = {name: (first.get(own[name]) or [None])[0] for name in lists}
    else:
        with opened(path), csv.open_csv(path, parse_options=_signs(path)) as reader:
            batch = next(iter(reader), None)
        first = batch.slice(0, 1).to_pydict() if batch is not None else {}
        told = {composed(name): (cell or [None])[0] for name, cell in first.items()}
        cells = {name: numbers_of(told[name]) for name in columns if str(told.get(name)).startswith("[")}
    return {name: len(cell) for name, cell in cells.items() if cell}


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def numbers_of(cell: Any) -> list[float] | None:
    """Return the list of numbers in a cell, or in its text as JSON; None if it holds something else."""
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            return None
    fits = isinstance(cell, list) and all(isinstance(one, int | float) and not isinstance(one, bool) for one in cell)
    return cell if fits else None


def read_numbers(path: Path, widths: Mapping[str, int], compression_ratio: float) -> np.ndarray:
    """Read columns of a table as float32, one after the other, (n_rows, sum of the widths).

    widths: by column, the length of its lists, or 0 for single numbers. Raises ValueError with column and row.
    """
    table = read_columns(path, compression_ratio, list(widths))
    X = np.empty((len(table), sum(max(width, 1) for width in widths.values())), np.float32)
    start = 0
    for name, width in widths.items():
        column = table[name]
        if width:
            lists = [numbers_of(cell) for cell in column.to_pylist()]
            for row, cell in enumerate(lists):
                require(
                    cell is not None and len(cell) == width,
                    f"{path} must hold a list of {width} numbers in each row of the column {name!r}, got "
                    f"{shortened(column[row].as_py())} in row {row + 1:,}",
                )
            with np.errstate(over="ignore"):
                X[:, start : start + width] = np.array(lists, dtype=np.float64).reshape(len(lists), width)
        else:
            require(
                is_number(column),
                f"{path} must hold a number in each row of each column, got {column.type} in column {name!r}: let "
                "the option ignore name it, or index",
            )
            with np.errstate(over="ignore"):
                X[:, start] = floats_of(column)
        start += max(width, 1)
    return X
