"""Tables and arrays on disk. Everything is written under a temporary name and renamed, so a file is whole or absent.

What was cut off, overwritten or swapped since is refused with the name of the file, whatever the place of the damage;
a changed byte inside a CSV file is not seen here, but by `records.verify`.
"""

import csv
import errno
import glob
import hashlib
import io
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from scipy import sparse

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "psutil", "pyarrow")
import pandas as pd  # noqa: E402
import psutil  # noqa: E402

# A spreadsheet runs a cell that begins so; such text gets an apostrophe before it on disk, and loses it when read.
FORMULA = re.compile(r"^(?='*[=+\-@＝＋－＠\t\r\n])")
ESCAPED_FORMULA = re.compile(r"^'(?='*[=+\-@＝＋－＠\t\r\n])")
NEW_CELL = re.compile(r"\r|[;\t] *[=+\-@＝＋－＠]")  # where some programs would begin another, unless in quotes

# Choice: a table for people ends with an empty line, which readers of CSV skip; one that is cut off does not.
END = b"\n\n"
CHECKSUM = 4  # bytes behind an array
BLOCK = 2**20  # bytes that are read at a time

T = TypeVar("T", bound=Any)  # a NamedTuple of arrays


class Damaged(ValueError):
    """A file that is not what was written there, and has to be made again. path: its name."""

    def __init__(self, path: str | Path, why: object) -> None:
        super().__init__(f"{path} is damaged ({' '.join(str(why).split())[:300]}): delete it and run again")
        self.path = str(path)


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Whatever goes wrong in the block is `Damaged`, for that file, unless it is absent or too large for the memory."""
    try:
        yield
    except (Damaged, FileNotFoundError, PermissionError, MemoryError):
        raise
    except Exception as error:  # NumPy, pandas and pyarrow raise nearly anything on damaged files
        raise Damaged(path, error or type(error).__name__) from None


@contextmanager
def written(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, of the same suffix; it becomes `path` when the block ends without an error.

    Its content is on disk before its name is, so that not even a power cut leaves a part under the final name.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    _clear_leftovers(final)
    temporary = final.with_name(f".{final.stem}.{os.getpid()}.part{final.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, final)
    except OSError as error:
        if error.errno is None:  # of a full disk NumPy says "80000 requested and 872 written"
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(final)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def sha256(path: str | Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _clear_leftovers(final: Path) -> None:
    """Delete the temporary files of processes that were killed while they wrote this file."""
    for leftover in final.parent.glob(glob.escape(f".{final.stem}.") + "*" + glob.escape(f".part{final.suffix}")):
        process = leftover.name.removeprefix(f".{final.stem}.").removesuffix(f".part{final.suffix}")
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            leftover.unlink(missing_ok=True)


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table as CSV (for people; every digit of a number is kept) or Parquet (for the next stage), by suffix.

    No text in a CSV is a formula to a spreadsheet, whatever the data hold (see `FORMULA`).
    """
    with written(path) as temporary:
        if temporary.suffix == ".csv":
            safe = _in_texts(table, lambda text: FORMULA.sub("'", text))
            quoted = any(isinstance(cell, str) and NEW_CELL.search(cell) for _, cells in safe.items() for cell in cells)
            quoting: Any = csv.QUOTE_NONNUMERIC if quoted else csv.QUOTE_MINIMAL
            with temporary.open("w", encoding="utf-8", newline="") as file:
                safe.to_csv(file, index=False, lineterminator="\n", quoting=quoting)
                file.write("\n")
        else:
            table.to_parquet(temporary, index=False, write_page_checksum=True)


def read_table(path: str | Path, *columns: str) -> pd.DataFrame:
    """Read what `write_table` wrote. columns: those that must be there. Raises `Damaged`, a ValueError."""
    with reading(path):
        table = _read_csv(path) if Path(path).suffix == ".csv" else _read_parquet(path)
    _require(path, "columns", columns, table)
    return table


def _read_csv(path: str | Path) -> pd.DataFrame:
    text = Path(path).read_bytes()
    if not text.endswith(END):
        raise Damaged(path, "its end is missing, which is an empty line")
    if b"\0" in text:
        raise Damaged(path, "it holds NUL bytes")
    # Only nothing is missing: "nan" and "null" are words that captions may hold.
    types = {"word": str, "radius_rule": str}  # "002" is one too, and "true" may be all there is
    table = pd.read_csv(io.BytesIO(text), keep_default_na=False, na_values=[""], dtype=types, lineterminator="\n")
    return _in_texts(table, lambda text: ESCAPED_FORMULA.sub("", text))


def _read_parquet(path: str | Path) -> pd.DataFrame:
    return pd.read_parquet(path, page_checksum_verification=True)


def read_tables(paths: Iterable[str | Path], *columns: str) -> pd.DataFrame:
    """Read tables of the same columns, one below the other. columns: as in `read_table`. Raises `Damaged`."""
    tables: list[pd.DataFrame] = []
    for path in paths:
        tables.append(read_table(path, *columns))
        first, got = (", ".join(map(str, table)) for table in (tables[0], tables[-1]))
        if got != first:
            raise Damaged(path, f"expected the columns {first}, got {got}")
    return pd.concat(tables, ignore_index=True)


def _require(path: str | Path, what: str, names: Iterable[str], there: Iterable[Any]) -> None:
    found = set(map(str, there))
    missing = [name for name in names if name not in found]
    if missing:
        raise Damaged(path, f"expected the {what} {', '.join(missing)} in it, got {', '.join(sorted(found))}")


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


def read_arrays(path: str | Path, *names: str) -> dict[str, np.ndarray]:
    """Read what `write_arrays` wrote. names: those that must be there. Raises `Damaged`, a ValueError."""
    with reading(path):
        with zipfile.ZipFile(path) as archive:
            changed = archive.testzip()  # before a damaged number of rows asks for all memory
        if changed is not None:
            raise Damaged(path, f"{changed} is not what was written")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    _require(path, "arrays", names, arrays)
    return arrays


def write_array(path: str | Path, array: np.ndarray) -> None:
    """Write one array (.npy, without pickle) with a checksum behind it, which `np.load` does not mind."""
    with written(path) as temporary:
        np.save(temporary, array, allow_pickle=False)
        with temporary.open("r+b") as file:
            checksum = _checksum(file, temporary.stat().st_size)
            file.write(checksum)


def read_array(path: str | Path, *, mapped: bool = False) -> np.ndarray:
    """Read what `write_array` wrote. mapped: leave it on disk, read-only, for large ones. Raises `Damaged`."""
    with reading(path), open(path, "rb") as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise Damaged(path, "unknown version of its format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        expected = file.tell() + math.prod(shape) * dtype.itemsize
        if os.path.getsize(path) != expected + CHECKSUM:
            raise Damaged(path, f"expected {expected + CHECKSUM} bytes, got {os.path.getsize(path)}")
        file.seek(0)
        if _checksum(file, expected) != file.read():
            raise Damaged(path, "it is not what was written")
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)


def _checksum(file: BinaryIO, length: int) -> bytes:
    """The CRC-32 of the next `length` bytes of a file, which are read a few at a time."""
    checksum = 0
    for start in range(0, length, BLOCK):
        checksum = zlib.crc32(file.read(min(BLOCK, length - start)), checksum)
    return checksum.to_bytes(CHECKSUM, "little")


def write_matrix(path: str | Path, matrix: np.ndarray | sparse.csr_matrix) -> None:
    """Write a dense or CSR matrix (.npz)."""
    if isinstance(matrix, np.ndarray):
        write_arrays(path, dense=matrix)
    else:
        shape = np.array(matrix.shape)
        write_arrays(path, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=shape)


def read_matrix(path: str | Path) -> np.ndarray | sparse.csr_matrix:
    """Read what `write_matrix` wrote. Raises `Damaged`, a ValueError."""
    arrays = read_arrays(path)
    if "dense" in arrays:
        if arrays["dense"].ndim != 2 or arrays["dense"].dtype.kind not in "fiu":
            raise Damaged(path, f"expected a matrix of numbers, got {arrays['dense'].dtype} {arrays['dense'].shape}")
        return arrays["dense"]
    _require(path, "arrays", ("data", "indices", "indptr", "shape"), arrays)
    with reading(path):
        kinds = "".join(arrays[name].dtype.kind for name in ("data", "indices", "indptr"))
        if not set(kinds[0]) <= set("fiu") or not set(kinds[1:]) <= set("iu"):
            raise ValueError("expected numbers, at places that are whole numbers")
        shape = tuple(arrays["shape"].tolist())
        matrix = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        matrix.check_format(full_check=True)
    return matrix


def write_record(path: str | Path, record: Any) -> None:
    """Write a NamedTuple of arrays (.npz, without pickle), an array for each of its fields."""
    write_arrays(path, **record._asdict())


def read_record(kind: type[T], path: str | Path) -> T:
    """Read a NamedTuple of this kind, which `write_record` wrote. Raises `Damaged`, a ValueError."""
    arrays = read_arrays(path, *kind._fields)
    return kind(*(arrays[name] for name in kind._fields))
