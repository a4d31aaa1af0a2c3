"""Read tables (.csv, .parquet) and arrays (.npy, .npz), and convert columns to numbers or text."""

import re
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv, parquet
from scipy import sparse

from jointsparse.checks import require, require_sound
from jointsparse.messages import shortened
from jointsparse.pipeline.datasets.names import composed
from jointsparse.pipeline.datasets.packed import most_bytes, require_bytes
from jointsparse.pipeline.datasets.samples import kept_dtype
from jointsparse.pipeline.datasets.text import ONE_COLUMN, sign_of
from jointsparse.pipeline.provenance.tables import blocks_of

TABLES = (".parquet", ".csv")
KINDS = (".npy", ".npz", *TABLES)
NOTHING = {  # strings that pandas reads as a missing value
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
}
INDEX = "__index_level_0__"  # column in which pandas stores the index of a table, unless it only numbers the rows
ROWS_AT_ONCE = 1024  # rows of a .parquet file
ENTRIES_AT_ONCE = 2**19  # numbers of a .parquet file
COLUMNS_AT_ONCE = 32
BYTES_AT_ONCE = 2**16  # of a column of a .parquet file, instead of the whole column
DECIMAL = re.compile(r"[+-]?\d*\.\d*(e[+-]?\d+)?", re.IGNORECASE)  # in a first row this is data, not a column name
WHOLE = re.compile(r"([+-]?\d+)\.0*")  # an integer written as a float


@contextmanager
def opened(path: Path) -> Iterator[None]:
    """Convert any error raised inside a `with` block, usually by a decoder, into a ValueError that names the file."""
    try:
        yield
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(
            f"{path} must be a valid {path.suffix} file of numbers and text, but reading it failed: {message}"
        ) from None


# Arrays


def read_npy(path: Path) -> np.ndarray:
    """Open an .npy file with an array of numbers or text.

    The array is memory-mapped, unless it holds byte strings or its byte order is not that of the machine.
    """
    with opened(path):
        array = np.lib.format.open_memmap(path, mode="r")
    require(array.dtype.kind in "fiubUS", f"{path} must hold real numbers or text, got {array.dtype}")
    if array.dtype.kind == "S":
        with opened(path):
            return np.char.decode(array, "utf-8")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def read_npz(path: Path) -> Any:
    """Read an .npz file that holds a sparse matrix written by SciPy, or a single array.

    A sparse matrix is converted to CSR without duplicate entries or stored zeros.
    """
    with opened(path), zipfile.ZipFile(path) as archive:
        n_bytes = sum(entry.file_size for entry in archive.infolist())
    require_bytes(path, n_bytes)
    with opened(path), np.load(path, allow_pickle=False) as arrays:
        names = list(arrays)
        stored: Any = sparse.load_npz(path) if "format" in names else arrays[names[0]] if len(names) == 1 else None
    require(
        stored is not None,
        f"{path} must hold a single array, got {', '.join(names)[:200] or 'none'}: save one array alone",
    )
    if not sparse.issparse(stored):
        return stored
    require_sound(stored)
    # In the other formats of SciPy, the number of rows takes no space, whereas CSR has a pointer per row. Later stages
    # count entries by column.
    require_bytes(path, 8 * sum(map(int, stored.shape)) + 12 * int(stored.nnz))
    X = stored.tocsr()
    X.sum_duplicates()
    X.eliminate_zeros()
    return sparse.csr_matrix((X.data, X.indices, X.indptr), X.shape)  # converts to 32-bit indices if they suffice


# Tables. Column names are converted to the composed form of Unicode.


def columns_of(path: Path) -> list[str]:
    """Return the column names of a table, without those of a pandas index. The list is empty for an array."""
    return [name for name in _fields(path) if name != INDEX]


def has_index(path: Path) -> bool:
    """Return True if pandas has stored the index of a table in the file."""
    return INDEX in _fields(path)


def _fields(path: Path) -> dict[str, pa.Field]:
    """Return the columns of a table, whose names are spelt as in the file. Types are those of the first rows."""
    kind = path.suffix.lower()
    require(kind in KINDS, f"{path} must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {kind!r}")
    if kind not in TABLES:
        return {}
    parsing = _parsing(path) if kind == ".csv" else None
    with opened(path):
        schema = csv.open_csv(path, parse_options=parsing).schema if parsing else parquet.read_schema(path)
    fields = [field for field in schema if field.name == INDEX or not field.name.startswith("__index_level_")]
    require_header(path, [field.name for field in fields], of_text=bool(parsing))
    return {composed(field.name): field for field in fields}


def require_header(path: Path, names: Sequence[str], *, of_text: bool) -> None:
    """Raise ValueError if the columns of a table lack different names, or if its first line seems to be data."""
    again = zip(names, pd.Index(map(composed, names)).duplicated(), strict=True)
    odd = [name for name, twice in again if twice or not name.strip() or (of_text and DECIMAL.fullmatch(name))]
    # A number as a column name usually means that there is no header and that the first row is data. Consecutive
    # integers are accepted as names if they begin at 1 or less, as in pandas, or if there are at least three of them.
    numbers = [int(name) for name in names if of_text and re.fullmatch(r"[+-]?\d+", name)]
    first = numbers[0] if numbers else 0
    if numbers != list(range(first, first + len(numbers))) or (first > 1 and len(numbers) < 3):
        odd.append(str(first))
    require(
        names and not odd,
        f"{path} must have a header with a different name for each column, got {odd[:1] or 'none'} (pandas writes its "
        "index as a column without name unless index=False, and numbers are accepted as names only if consecutive)",
    )


def _parsing(path: Path) -> csv.ParseOptions:
    sign = sign_of(path)
    return csv.ParseOptions(delimiter=sign, newlines_in_values=True, ignore_empty_lines=sign != ONE_COLUMN)


def read_columns(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a .csv or .parquet file, or some of its columns in this order, with the types that the cells have."""
    fields = _fields(path)
    names = columns_of(path) if columns is None else list(columns)
    in_file = [fields[name].name for name in names]
    if path.suffix.lower() == ".csv":
        parsing, convert = _parsing(path), csv.ConvertOptions(include_columns=in_file)
        with opened(path):
            table = csv.read_csv(path, parse_options=parsing, convert_options=convert)
    else:
        file = _open_parquet(path, in_file)
        with opened(path):
            table = file.read(in_file).select(in_file)
            table = table.cast(pa.schema([(field.name, _as_text(field.type)) for field in table.schema]))
    return table.rename_columns(names)


def _blocks(path: Path, batches: Iterable[Any], in_file: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield some rows of a table at a time. in_file: for each column to read, how it is spelt in the file."""
    with opened(path):
        for batch in batches:
            yield pa.Table.from_batches([batch]).select(list(in_file.values())).rename_columns(list(in_file))


def _open_csv(path: Path, names: Sequence[str], kinds: Mapping[str, pa.DataType]) -> csv.CSVStreamingReader:
    """Open a .csv file. kinds: types of some columns; the first rows give those of the others."""
    parsing, convert = _parsing(path), csv.ConvertOptions(include_columns=names, column_types=kinds)
    with opened(path):
        return csv.open_csv(path, parse_options=parsing, convert_options=convert)


def _open_parquet(path: Path, names: Sequence[str]) -> parquet.ParquetFile:
    """Open a .parquet file. Raises ValueError if these columns unpack to too much."""
    with opened(path):
        file = parquet.ParquetFile(path, buffer_size=BYTES_AT_ONCE, pre_buffer=False)
        groups, wanted = [file.metadata.row_group(i) for i in range(file.num_row_groups)], {*names}
        leaves = [(i, file.schema.column(i)) for i in range(len(file.schema))]
        # A leaf of a nested column is called "column.list.element"; names of columns may have dots, too.
        leaves = [leaf for leaf in leaves if wanted.intersection(accumulate(leaf[1].path.split("."), "{}.{}".format))]
        # Each value takes at least 8 bytes as a number of Python, even if a run or a dictionary stands for many values.
        n_bytes = sum(
            max(group.column(i).total_uncompressed_size, max(8, leaf.length) * group.column(i).num_values)
            for group in groups
            for i, leaf in leaves
        )
    require_bytes(path, n_bytes)
    texts = [leaf.path for _, leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    if texts:
        # The footer does not contain the lengths of texts, so they are summed without unpacking the dictionaries.
        with opened(path):
            packed = parquet.ParquetFile(path, read_dictionary=texts)
            for batch in packed.iter_batches(ROWS_AT_ONCE, columns=texts):
                n_bytes += sum(map(_bytes_of_text, batch.columns))
                if n_bytes > most_bytes(path):
                    break
        require_bytes(path, n_bytes)
    return file


def _bytes_of_text(values: pa.Array) -> int:
    """Return the number of bytes that the texts in an array have without their dictionary."""
    if pa.types.is_dictionary(values.type):
        return pc.sum(pc.binary_length(values.dictionary).take(values.indices)).as_py() or 0
    if pa.types.is_nested(values.type):
        parts = values.flatten()
        return sum(map(_bytes_of_text, parts if isinstance(parts, list) else [parts]))
    return int(values.nbytes)


def _as_text(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column of type `kind` has after byte strings have been converted to text."""
    if _is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    texts = pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary
    return pa.string() if any(test(kind) for test in texts) else kind


def is_number(column: Any) -> bool:
    """Return True if a column, or a type of Arrow, holds numbers or truth values, or only missing values."""
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null
    return any(test(getattr(column, "type", column)) for test in tests)


def floats_of(column: pa.ChunkedArray) -> np.ndarray:
    """Return the numbers of a column as float64, with NaN for missing values."""
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())


def texts_of(column: pa.ChunkedArray) -> list[str]:
    """Return each cell of a column as text, see `text_of`."""
    return [text_of(cell) for cell in column.to_pylist()]


def text_of(cell: Any) -> str:
    """Return a cell as text. A missing value becomes "", and an integer is written without ".0".

    >>> text_of(3.0), text_of("3.0"), text_of(float("nan")), text_of(" 3.5 ")
    ('3', '3', '', '3.5')
    """
    if cell is None or cell != cell:
        return ""
    text = composed(str(cell).strip())
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text


def unlike(one: Sequence[str], other: Sequence[str]) -> np.ndarray:
    """Return the indices of the rows in which two columns of text differ.

    Two spellings of the same number or truth value are equal, also if one of the numbers was rounded to float32. A
    missing value is equal to any value.

    >>> unlike(["a", "1.50", "0.1", "nan", "c", "true"], ["A", "1.5", "0.10000000149011612", "b", "", "0"]).tolist()
    [5]
    """
    columns = [pd.Series(list(texts), dtype=object) for texts in (one, other)]
    texts = [column.str.lower().replace({"true": "1", "false": "0"}) for column in columns]
    with np.errstate(over="ignore"):
        numbers = [pd.to_numeric(column, errors="coerce").astype(np.float32) for column in texts]
    are_filled = ~columns[0].isin(NOTHING) & ~columns[1].isin(NOTHING)
    return np.flatnonzero(are_filled & (texts[0] != texts[1]) & (numbers[0] != numbers[1]))


def widths_of(path: Path, columns: Sequence[str]) -> dict[str, int]:
    """Return a mapping from each column that holds lists of numbers to the length of its first list."""
    fields = _fields(path)
    lists = [name for name in columns if _is_list(fields[name].type) or _as_text(fields[name].type) == pa.string()]
    in_file = {name: fields[name].name for name in lists}
    spelt = list(in_file.values())
    if not lists:
        return {}
    batches = (
        _open_csv(path, spelt, {})
        if path.suffix.lower() == ".csv"
        else _open_parquet(path, spelt).iter_batches(ROWS_AT_ONCE, columns=spelt)
    )
    for block in islice(_blocks(path, batches, in_file), 1):
        first = {name: next(filter(text_of, block[name].to_pylist()), None) for name in lists}
        return {name: len(numbers) for name, cell in first.items() if (numbers := numbers_of(cell))}
    return {}


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def numbers_of(cell: Any) -> list[float] | None:
    """Return the list of numbers in a cell, or None if the cell holds anything else.

    The cell may also hold a list that Python, NumPy or JSON has written as text.

    >>> numbers_of("[ 0.5 -2. ]"), numbers_of("[np.float32(0.5), -2]"), numbers_of("(0.5, -2.0)"), numbers_of("0.5")
    ([0.5, -2.0], [0.5, -2.0], [0.5, -2.0], None)
    """
    if isinstance(cell, str):
        inner = re.fullmatch(r"\s*[\[(](.*)[\])]\s*", cell, re.DOTALL)
        try:
            return [float(item) for item in re.sub(r"np\.\w+\((.*?)\)|,", r" \1 ", inner[1]).split()] if inner else None
        except ValueError:
            return None
    fits = isinstance(cell, list) and all(isinstance(item, int | float) and not isinstance(item, bool) for item in cell)
    return cell if fits else None


def read_numbers(path: Path, widths: Mapping[str, int]) -> np.ndarray:
    """Read columns of a table as a float32 array of shape (n_rows, sum of the widths).

    Parameters
    ----------
    path : path
        The .csv or .parquet file.
    widths : mapping
        For each column to read, the length of the lists that it holds, or 0 if it holds single numbers. A column of
        single numbers becomes one column of the array.

    Raises
    ------
    ValueError
        If a cell does not hold a number, or a list of the given length. The message names the column.
    """
    n_columns, fields = sum(max(width, 1) for width in widths.values()), _fields(path)
    in_file, names = {name: fields[name].name for name in widths}, list(widths)
    if path.suffix.lower() == ".csv":
        kinds = {
            in_file[name]: pa.string() if width else pa.float64()
            for name, width in widths.items()
            if is_number(fields[name]) and fields[name].type != pa.bool_()
        }
        data, n_rows = bytearray(), 0  # grows without being copied, unlike an array
        for table in _blocks(path, _open_csv(path, list(in_file.values()), kinds), in_file):
            data += _numbers_in(path, table, widths, n_rows).tobytes()
            n_rows += len(table)
        return np.frombuffer(data, np.float32).reshape(n_rows, n_columns)
    file, end = _open_parquet(path, list(in_file.values())), 0
    X = np.empty((file.metadata.num_rows, n_columns), np.float32)
    # Arrow holds a page of each column that is read, so not all columns are read at the same time.
    for first in range(0, len(names), COLUMNS_AT_ONCE):
        some = {name: widths[name] for name in names[first : first + COLUMNS_AT_ONCE]}
        start, end, n_rows = end, end + sum(max(width, 1) for width in some.values()), 0
        spelt = {name: in_file[name] for name in some}
        batches = file.iter_batches(1 + ENTRIES_AT_ONCE // (end - start), columns=list(spelt.values()))
        for table in _blocks(path, batches, spelt):
            X[n_rows : n_rows + len(table), start:end] = _numbers_in(path, table, some, n_rows)
            n_rows += len(table)
    return X


def _numbers_in(path: Path, table: pa.Table, widths: Mapping[str, int], n_before: int) -> np.ndarray:
    """Return rows of a table as an array. widths: as in `read_numbers`. n_before: the number of rows before these."""
    X = np.empty((len(table), sum(max(width, 1) for width in widths.values())), np.float32)
    start = 0
    for name, width in widths.items():
        column = table[name]
        require(
            width or is_number(column),
            f"{path} must hold a number in each row of each column, got {column.type} in column {name!r}: name the "
            "column in the option ignore or index",
        )
        with np.errstate(over="ignore"):
            numbers = _lists(path, name, column, width, n_before) if width else floats_of(column)[:, np.newaxis]
            X[:, start : start + numbers.shape[1]] = numbers
        start += numbers.shape[1]
    return X


def _lists(path: Path, name: str, column: pa.ChunkedArray, width: int, n_before: int) -> np.ndarray:
    """Return a column of lists of numbers as an array (n_rows, width). n_before: the number of rows before these."""
    if _is_list(column.type) and is_number(column.type.value_type):
        lengths = np.nan_to_num(pc.list_value_length(column).to_numpy().astype(float), nan=-1)
        flat: Any = floats_of(pc.list_flatten(column))
    else:
        lists = [numbers_of(cell) for cell in column.cast(_as_text(column.type)).to_pylist()]
        lengths = np.array([-1 if cell is None else len(cell) for cell in lists])
        flat = np.array([number for cell in lists for number in cell or ()], dtype=np.float64)
    for row in np.flatnonzero(lengths != width)[:1].tolist():
        raise ValueError(
            f"{path} must hold a list of {width} numbers in each row of the column {name!r}, got "
            f"{shortened(column[row].as_py())} in row {n_before + row + 1:,}"
        )
    return flat.reshape(-1, width)


# Matrices of features


def read_features(
    path: Path,
    *,
    columns: Sequence[str] = (),
    without: Collection[str] = (),
) -> tuple[Any, list[str]]:
    """Read the features in one file.

    Parameters
    ----------
    path : path
        The file: .npy, .npz, .parquet or .csv.
    columns : list of str
        Names of the features of a table to read, in this order. By default all are read.
    without : collection of str
        Columns of a table that are not features.

    Returns
    -------
    X : ndarray or csr_matrix, shape (n_samples, n_features), float32
        A dense array from an .npy file is memory-mapped, and has the dtype of the file.
    names : list of str
        The names of the features of a table. The list is empty if the file holds an array.
    """
    features = features_in(path, without)
    names = [name for own in features.values() for name in own]
    lacking = [name for name in columns if names and name not in names]
    require(not lacking, f"{path} must have all features of the model, but lacks the columns {shortened(lacking)}")
    if names:
        needed = {column: own for column, own in features.items() if not columns or {*own} & {*columns}}
        widths = {column: 0 if own == [column] else len(own) for column, own in needed.items()}
        X: Any = read_numbers(path, widths)
        if columns:
            names = [name for own in needed.values() for name in own]
            X, names = X[:, [names.index(name) for name in columns]], list(columns)
    else:
        require(path.suffix.lower() not in TABLES, f"{path} must have a column of features, got only labels")
        X = read_npz(path) if path.suffix.lower() == ".npz" else read_npy(path)
    require(
        X.ndim == 2 and min(X.shape) and X.dtype.kind in "fiub",
        f"{path} must hold a matrix of numbers, got an array of shape {X.shape} and type {X.dtype}",
    )
    with np.errstate(over="ignore"):  # numbers too large for float32 become infinite and are reported below
        if sparse.issparse(X):
            X = sparse.csr_matrix(X, dtype=np.float32)
        elif path.suffix.lower() != ".npy":
            X = np.asarray(X, kept_dtype(X), order="C")
    counts = (
        np.bincount(X.indices[~np.isfinite(X.data)], minlength=X.shape[1])
        if sparse.issparse(X)
        else sum((~np.isfinite(block)).sum(axis=0) for block in blocks_of(X, kept_dtype(X)))
    )
    for column in np.flatnonzero(counts)[:1].tolist():
        raise ValueError(
            f"{path} must hold a number in each row of each column, got {counts[column]:,} missing, infinite or too "
            f"large for {kept_dtype(X)} in column {names[column] if names else column + 1!r} "
            f"({np.count_nonzero(counts):,} such columns): replace them, or leave the column out"
        )
    return X, names


def features_in(path: Path, without: Collection[str]) -> dict[str, list[str]]:
    """Return the names of the features in each column of a table. A column of lists holds several features."""
    columns = [name for name in columns_of(path) if name not in without]
    widths = widths_of(path, columns) if columns else {}
    return {name: [f"{name} {i + 1}" for i in range(widths.get(name, 0))] or [name] for name in columns}
