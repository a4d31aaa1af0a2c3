"""Read and write tables and arrays.

All files are written with `written.written`, so that a file is either complete or absent. The readers do not check
whether a file was changed, because a job first compares its input files with their records, see `records.read_inputs`.
"""

from __future__ import annotations

import csv
import io
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy  # loads scipy.sparse only when it is used

from jointsparse.arrays import widened
from jointsparse.checks import Misfit, require_extra
from jointsparse.written import written

require_extra(__name__, "pandas", "pyarrow")

if TYPE_CHECKING:
    import pandas as pd

# Spreadsheets run a cell that begins with one of the characters =, +, - or @ as a formula. Some programs begin a new
# cell at each separator, even inside quotes. An apostrophe is therefore inserted in front of such text.
FORMULA = re.compile(r"((?:^|[,;\t\r\n])[ \"]*)(?='*[=+\-@＝＋－＠])|^(?='*[\t\r\n])")
ESCAPED_FORMULA = re.compile(r"((?:^|[,;\t\r\n])[ \"]*)'(?='*[=+\-@＝＋－＠])|^'(?='*[\t\r\n])")

TEXTS = (
    "word",
    "radius_rule",
    "dataset",
    "study",
    "sample",
    "tag",
)  # columns whose values may look like numbers or truth values

# Choice: a CSV file ends with an empty line, which CSV readers skip and a truncated file lacks.
END_OF_TABLE = "\n\n"

ROWS_AT_ONCE = 4096
# The name of the entry of a dense matrix has 14 characters, so that its numbers begin at a multiple of 64 bytes, where
# arrays can be mapped without a copy.
DENSE = "dense_rows.npy"

T = TypeVar("T", bound=Any)  # a NamedTuple whose fields are arrays


class Damaged(ValueError):
    """Error raised for a file whose content is not what the pipeline wrote. The file has to be made again.

    The attribute `path` is the path of the file.
    """

    def __init__(self, path: str | Path, why: object) -> None:
        super().__init__(f"{path} is damaged ({' '.join(str(why).split())[:300]}): delete it and run again")
        self.path = str(path)


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table as CSV or Parquet, depending on the suffix of the path.

    CSV files are meant for people to read. Numbers are written with all digits, and strings that a spreadsheet would
    run as a formula are escaped, see `FORMULA`. Parquet files are meant for the next stage of the pipeline.
    """
    with written(path) as temporary:
        if temporary.suffix == ".csv":
            safe = _in_texts(table, lambda text: FORMULA.sub(r"\1'", text))
            text = safe.to_csv(index=False, lineterminator="\n")
            if "\r" in text:  # some programs take it for the end of a line unless it is in quotes
                text = safe.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
            temporary.write_text(text + "\n", encoding="utf-8", newline="")
        else:
            table.to_parquet(temporary, index=False)


def new_array(path: str | Path, shape: tuple[int, ...]) -> np.ndarray:
    """Return a new float32 array that is written to a `.npy` file while it is filled.

    The room on the disk is reserved first, because writing to a mapped file kills the process if the disk is full.
    """
    array = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    if hasattr(os, "posix_fallocate"):  # not on Windows and macOS
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, os.path.getsize(path))
    return array


def read_table(path: str | Path, *columns: str) -> pd.DataFrame:
    """Read a table written by `write_table`. Raises `Damaged` if it is truncated or lacks a given column."""
    import pandas as pd  # imported here, because the import takes a third of a second

    if Path(path).suffix != ".csv":
        table = pd.read_parquet(path)
    else:
        text = Path(path).read_bytes().decode()
        if not text.endswith(END_OF_TABLE):
            raise Damaged(path, "the empty line at its end is missing")
        # Only empty cells are missing values, because "nan" and "null" may be words of captions.
        types = dict.fromkeys(TEXTS, str)
        table = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""], dtype=types, lineterminator="\n")
        table = _in_texts(table, lambda text: ESCAPED_FORMULA.sub(r"\1", text))
    if missing := ", ".join(name for name in columns if name not in table):
        raise Damaged(path, f"it must have the columns {missing}, got {', '.join(map(str, table))}")
    return table


def read_groups(path: str | Path) -> np.ndarray | None:
    """Return the group of each image in a table of images, (n_images,), or None if the dataset has no groups."""
    table = read_table(path)
    return table["group"].to_numpy() if "group" in table else None


def _in_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Return a copy of a table in which `change` has been applied to every string."""
    texts = table.select_dtypes(["object", "string"])
    return table.assign(**texts.map(lambda cell: change(cell) if isinstance(cell, str) else cell))


def write_arrays(path: str | Path, **arrays: Any) -> None:
    """Write named arrays of numbers or text, such as the fields of a NamedTuple, to an .npz file."""
    with written(path) as temporary:
        np.savez(temporary, **arrays)


def read_arrays(path: str | Path, *names: str) -> dict[str, np.ndarray]:
    """Read the arrays with the given names, or all arrays, from a file written by `write_arrays`."""
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in names or arrays.files}


def write_array(path: str | Path, array: np.ndarray) -> None:
    """Write an array to an .npy file. Arrays of Python objects are refused."""
    with written(path) as temporary:
        np.save(temporary, array, allow_pickle=False)


def read_array(path: str | Path, *, mapped: bool = False) -> np.ndarray:
    """Read an array written by `write_array`. If `mapped` is True, map the file read-only instead of loading it."""
    return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)


def write_matrix(path: str | Path, matrix: np.ndarray | scipy.sparse.csr_matrix, dtype: Any = None) -> None:
    """Write a dense or CSR matrix to an .npz file.

    A dense matrix is converted to `dtype`, by default its own, and written in blocks of rows, so that a matrix that is
    memory-mapped is never loaded as a whole.
    """
    if scipy.sparse.issparse(matrix):
        write_arrays(path, **parts_of(matrix))
        return
    kind = np.dtype(dtype or matrix.dtype)
    header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": matrix.shape}
    with (
        written(path) as temporary,
        zipfile.ZipFile(temporary, "w") as archive,
        archive.open(DENSE, "w", force_zip64=True) as file,
    ):
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks_of(matrix, kind):
            file.write(block.data)


def blocks_of(X: np.ndarray, dtype: Any) -> Iterator[np.ndarray]:
    """Yield a few rows of a dense matrix at a time, converted to a dtype, in which large numbers may be infinite."""
    for start in range(0, len(X), ROWS_AT_ONCE):
        with np.errstate(over="ignore"):
            block = np.ascontiguousarray(X[start : start + ROWS_AT_ONCE], dtype)
        yield block


def parts_of(matrix: scipy.sparse.csr_matrix, name: str = "") -> dict[str, Any]:
    """Return a dictionary of the arrays that make up a CSR matrix, to be written with `write_arrays`.

    `name` is a prefix of the keys. With different prefixes, several matrices can be written to one file.
    """
    few = matrix.shape[1] <= 2**16  # then the column indices fit into 16 bits
    indices = matrix.indices.astype(np.uint16) if few else matrix.indices
    parts = {"data": matrix.data, "indices": indices, "indptr": matrix.indptr, "shape": matrix.shape}
    return {f"{name}{part}": array for part, array in parts.items()}


def read_matrix(path: str | Path, name: str = "") -> np.ndarray | scipy.sparse.csr_matrix:
    """Read a matrix written by `write_matrix`, or a dense matrix written by `write_array`.

    A dense matrix alone in its file is memory-mapped, so that only the parts that are used are read from disk. If the
    file holds several matrices, `name` is the prefix of the one to read, see `parts_of`.
    """
    if Path(path).suffix == ".npy":
        return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    with np.load(path, allow_pickle=False) as arrays:
        if DENSE in arrays.zip.namelist():
            return _mapped(path, arrays.zip.getinfo(DENSE).header_offset)
        if f"{name}dense" in arrays:
            return arrays[f"{name}dense"]
        data, indices, indptr, shape = (arrays[f"{name}{part}"] for part in ("data", "indices", "indptr", "shape"))
    indices = indices.astype(np.int32) if indices.dtype == np.uint16 else indices
    return scipy.sparse.csr_matrix((data, indices, indptr), shape=shape)


def _mapped(path: str | Path, header_offset: int) -> np.ndarray:
    """Map an uncompressed array in an .npz file. header_offset: where the header of its entry begins."""
    with Path(path).open("rb") as file:
        file.seek(header_offset + 26)  # the lengths of the name and of the extra fields, which come before the array
        file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        return np.asarray(np.memmap(file, dtype, "c", offset=file.tell(), shape=shape))


def read_blocks(files: str | Sequence[str], vocabulary: str | None, images: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """Yield the features in blocks of rows, dense or CSR.

    Each block is a pair: the indices of its images (a slice or a list), and the features of these images. Features in
    float16 are yielded in float32.

    Parameters
    ----------
    files : str or list of str
        Either one file that holds the features of all images in order, or a list of shards. A shard holds the names of
        some of the images and their features for several vocabularies.
    vocabulary : str or None
        The vocabulary whose features are read from the shards.
    images : list of str
        Names of all images, in order.
    """
    if isinstance(files, str):
        X = read_matrix(files)
        if X.dtype != np.float16:
            yield slice(None), X
            return
        for start in range(0, len(X), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            yield rows, widened(X[rows])
        return
    row, n_found = {image: i for i, image in enumerate(images)}, 0
    for file in files:
        names, X = read_arrays(file, "names")["names"].tolist(), read_matrix(file, f"{vocabulary}/")
        if not row.keys() >= {*names}:
            raise Misfit(f"{file} must hold only images of the dataset, got other images, too")
        n_found += len(names)
        yield [row[name] for name in names], X
    if n_found != len(row):
        raise Misfit(f"the shards must hold all {len(row)} images, got {n_found}")


def read_features(files: str | Sequence[str], vocabulary: str | None) -> Any:
    """Read all features at once, as a dense or CSR matrix whose rows are sorted by the names of the images.

    The parameters are those of `read_blocks`.
    """
    if isinstance(files, str):
        return read_matrix(files)
    names = np.concatenate([read_arrays(file, "names")["names"] for file in files])
    blocks = [read_matrix(file, f"{vocabulary}/") for file in files]
    stacked = scipy.sparse.vstack(blocks, format="csr") if scipy.sparse.issparse(blocks[0]) else np.concatenate(blocks)
    return stacked[np.argsort(names)]


def write_records(path: str | Path, records: Mapping[Any, Any]) -> None:
    """Write a mapping of NamedTuples, whose fields are arrays, to a single .npz file."""
    fields = {name: record._asdict() for name, record in records.items()}
    write_arrays(path, **{f"{name}/{field}": array for name in fields for field, array in fields[name].items()})


def read_record(kind: type[T], path: str | Path, name: Any = None) -> T:
    """Read a NamedTuple of the type `kind` that was written by `write_arrays` or `write_records`.

    `name` is the key under which `write_records` wrote it, or None if `write_arrays` did.
    """
    fields = kind._fields if name is None else [f"{name}/{field}" for field in kind._fields]
    return kind(*read_arrays(path, *fields).values())
