"""Tables and arrays on disk. Everything is written under a temporary name and renamed, so a file is whole or absent."""

import errno
import glob
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse


@contextmanager
def written(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, of the same suffix; it becomes `path` when the block ends without an error."""
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    _clear_leftovers(final)
    temporary = final.with_name(f".{final.stem}.{os.getpid()}.part{final.suffix}")
    try:
        yield temporary
        os.replace(temporary, final)
    except OSError as error:
        if error.errno is None:  # of a full disk NumPy says "80000 requested and 872 written"
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(final)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _clear_leftovers(final: Path) -> None:
    """Delete the temporary files of processes that were killed while they wrote this file."""
    for leftover in final.parent.glob(glob.escape(f".{final.stem}.") + "*" + glob.escape(f".part{final.suffix}")):
        process = leftover.name.removeprefix(f".{final.stem}.").removesuffix(f".part{final.suffix}")
        if process.isdecimal() and not _alive(int(process)):
            leftover.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        return True
    return True


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table as CSV (for people; every digit of a number is kept) or Parquet (for the next stage), by suffix."""
    with written(path) as temporary:
        if temporary.suffix == ".csv":
            table.to_csv(temporary, index=False, lineterminator="\n")
        else:
            table.to_parquet(temporary, index=False)


def read_table(path: str | Path) -> pd.DataFrame:
    """Read what `write_table` wrote."""
    if Path(path).suffix == ".csv":
        # Only nothing is missing: "nan" and "null" are words that captions may hold.
        text = {"word": str, "radius_rule": str}  # "002" is one too, and "true" may be all there is
        return pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=text)
    return pd.read_parquet(path)


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
