"""Tables and arrays on disk. Everything is written under a temporary name and renamed, so a file is whole or absent.

Readers refuse a damaged file and name it. They do not see a changed byte inside a CSV file; `manifest.verify` does.
"""

from __future__ import annotations

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np
import scipy  # which loads scipy.sparse when it is used

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "psutil", "pyarrow")
import psutil  # noqa: E402

if TYPE_CHECKING:
    import pandas as pd

# A spreadsheet runs a cell that begins like this, and in some a cell begins behind each of these signs, also inside of
# quotes. On disk such text has an apostrophe before it.
FORMULA = re.compile(r"((?:^|[,;\t\r\n])[ \"]*)(?='*[=+\-@＝＋－＠])|^(?='*[\t\r\n])")
ESCAPED_FORMULA = re.compile(r"((?:^|[,;\t\r\n])[ \"]*)'(?='*[=+\-@＝＋－＠])|^'(?='*[\t\r\n])")

# Choice: a CSV file ends with an empty line, which readers of CSV skip. A file that was cut off does not.
END_OF_TABLE = b"\n\n"
CHECKSUM_BYTES = 4  # behind an array
HEADER_BYTES = 50  # before an array in an .npz file, without its name, as NumPy writes it: with 64-bit sizes
BYTES_AT_ONCE = 2**20  # that are read for a checksum

T = TypeVar("T", bound=Any)  # a NamedTuple of arrays


class Damaged(ValueError):
    """A file whose content is not what was written. It has to be made again. path: its name."""

    def __init__(self, path: str | Path, why: object) -> None:
        super().__init__(f"{path} is damaged ({' '.join(str(why).split())[:300]}): delete it and run again")
        self.path = str(path)


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Turn any error of the block into `Damaged`, unless the file is absent or too large for the memory."""
    try:
        yield
    except (Damaged, FileNotFoundError, PermissionError, MemoryError):
        raise
    except Exception as error:  # NumPy, pandas and pyarrow raise nearly anything on damaged files
        raise Damaged(path, error or type(error).__name__) from None


@contextmanager
def written(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path`, which becomes `path` when the block ends without an error.

    It has the same suffix. Its content is on disk before it is renamed, so that not even a power cut leaves a part.
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
    """Delete temporary files of processes that were killed while they wrote this file."""
    for leftover in final.parent.glob(glob.escape(f".{final.stem}.") + "*" + glob.escape(f".part{final.suffix}")):
        process = leftover.name.removeprefix(f".{final.stem}.").removesuffix(f".part{final.suffix}")
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            leftover.unlink(missing_ok=True)


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table by its suffix: CSV, which people read and which keeps every digit, or Parquet for the next stage.

    No text in a CSV file is a formula to a spreadsheet (see `FORMULA`).
    """
    with written(path) as temporary:
        if temporary.suffix == ".csv":
            safe = _in_texts(table, lambda text: FORMULA.sub(r"\1'", text))
            # A carriage return ends a line in some programs, unless in quotes.
            quoted = any(isinstance(cell, str) and "\r" in cell for _, cells in safe.items() for cell in cells)
            quoting: Any = csv.QUOTE_NONNUMERIC if quoted else csv.QUOTE_MINIMAL
            with temporary.open("w", encoding="utf-8", newline="") as file:
                safe.to_csv(file, index=False, lineterminator="\n", quoting=quoting)
                file.write("\n")
        else:
            table.to_parquet(temporary, index=False, write_page_checksum=True)


def read_table(path: str | Path, *columns: str) -> pd.DataFrame:
    """Read a file of `write_table`. columns: those that must be there. Raises `Damaged`, a ValueError."""
    import pandas as pd  # here, as it takes a third of a second

    with reading(path):
        is_csv = Path(path).suffix == ".csv"
        table = _read_csv(path) if is_csv else pd.read_parquet(path, page_checksum_verification=True)
    _require(path, "columns", columns, table)
    return table


def _read_csv(path: str | Path) -> pd.DataFrame:
    import pandas as pd  # here, as it takes a third of a second

    text = Path(path).read_bytes()
    if not text.endswith(END_OF_TABLE):
        raise Damaged(path, "its end is missing, which is an empty line")
    if b"\0" in text:
        raise Damaged(path, "it holds NUL bytes")
    # Only an empty cell is missing: "nan" and "null" are words that captions may hold.
    types = {"word": str, "radius_rule": str}  # a word may be "002", and all radius_rules may be "true"
    table = pd.read_csv(io.BytesIO(text), keep_default_na=False, na_values=[""], dtype=types, lineterminator="\n")
    return _in_texts(table, lambda text: ESCAPED_FORMULA.sub(r"\1", text))


def read_tables(paths: Iterable[str | Path], *columns: str) -> pd.DataFrame:
    """Read tables with the same columns, one below the other. columns: as in `read_table`. Raises `Damaged`."""
    import pandas as pd  # here, as it takes a third of a second

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
    import pandas as pd  # here, as it takes a third of a second

    changed = table.copy()
    for name, column in table.items():
        if pd.api.types.is_string_dtype(column) or column.dtype == object:
            texts = {text: change(text) for text in column.unique() if isinstance(text, str)}  # few, in many cells
            if any(old != new for old, new in texts.items()):
                cells = [texts.get(cell, cell) for cell in column]
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
    """Read a file of `write_arrays`, or only the arrays of these names. Raises `Damaged`, a ValueError."""
    with reading(path):
        with zipfile.ZipFile(path) as archive:
            changed = archive.testzip()  # before a damaged number of rows asks for all memory
            listed = sum(HEADER_BYTES + len(one.filename.encode()) + one.compress_size for one in archive.infolist())
            hidden = archive.start_dir - listed  # bytes before the directory of a file that are of no array in it
        if changed is not None or hidden:
            raise Damaged(path, f"{changed or 'its directory'} is not what was written")
        with np.load(path, allow_pickle=False) as file:
            _require(path, "arrays", names, file.files)
            return {name: file[name] for name in names or file.files}


def write_array(path: str | Path, array: np.ndarray) -> None:
    """Write one array (.npy, without pickle) with a checksum behind it, which `np.load` ignores."""
    with written(path) as temporary:
        np.save(temporary, array, allow_pickle=False)
        with temporary.open("r+b") as file:
            file.write(_checksum(file, temporary.stat().st_size))


def read_array(path: str | Path, *, mapped: bool = False) -> np.ndarray:
    """Read a file of `write_array`. mapped: leave a large array on disk, read-only. Raises `Damaged`."""
    with reading(path), open(path, "rb") as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise Damaged(path, "unknown version of its format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        expected = file.tell() + math.prod(shape) * dtype.itemsize
        if os.path.getsize(path) != expected + CHECKSUM_BYTES:
            raise Damaged(path, f"expected {expected + CHECKSUM_BYTES} bytes, got {os.path.getsize(path)}")
        file.seek(0)
        if _checksum(file, expected) != file.read():
            raise Damaged(path, "it is not what was written")
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)


def _checksum(file: BinaryIO, length: int) -> bytes:
    """The CRC-32 of the next `length` bytes of a file."""
    checksum = 0
    for start in range(0, length, BYTES_AT_ONCE):
        checksum = zlib.crc32(file.read(min(BYTES_AT_ONCE, length - start)), checksum)
    return checksum.to_bytes(CHECKSUM_BYTES, "little")


def write_matrix(path: str | Path, matrix: np.ndarray | scipy.sparse.csr_matrix) -> None:
    """Write a dense or CSR matrix (.npz)."""
    if isinstance(matrix, np.ndarray):
        write_arrays(path, dense=matrix)
    else:
        write_arrays(path, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape)


def read_matrix(path: str | Path) -> np.ndarray | scipy.sparse.csr_matrix:
    """Read a file of `write_matrix`. Raises `Damaged`, a ValueError."""
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
        matrix = scipy.sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        matrix.check_format(full_check=True)
    return matrix


def write_record(path: str | Path, record: Any) -> None:
    """Write a NamedTuple of arrays (.npz, without pickle), an array for each of its fields."""
    write_arrays(path, **record._asdict())


def write_records(path: str | Path, records: Mapping[Any, Any]) -> None:
    """Write NamedTuples of arrays (.npz, without pickle), each under a name."""
    fields = {name: record._asdict() for name, record in records.items()}
    write_arrays(path, **{f"{name}/{field}": array for name in fields for field, array in fields[name].items()})


def read_record(kind: type[T], path: str | Path, name: Any = None) -> T:
    """Read a NamedTuple of this kind that `write_record` wrote, or with a name, that `write_records` wrote under it.

    Raises `Damaged`, a ValueError.
    """
    fields = kind._fields if name is None else [f"{name}/{field}" for field in kind._fields]
    return kind(*read_arrays(path, *fields).values())
