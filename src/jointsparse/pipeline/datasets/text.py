"""Files of text in UTF-8, and tables in such files."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TextIO

import pandas as pd

from jointsparse.checks import require

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}  # of the fields of a table, with their names
DECIMAL = re.compile(r"[+-]?\d*\.\d*(e[+-]?\d+)?", re.IGNORECASE)  # no name of a column, but the first row of numbers
SIGNS = DELIMITERS | {"|": "vertical bar"}  # in tables of captions


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a file of text. Raises ValueError if it is not there, and with the line of a byte that is not UTF-8."""
    require(path.is_file(), f"root must hold a file {path.name}, got none at {path}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        with path.open("rb") as lines:
            line = next(n for n, line in enumerate(lines, start=1) if line.decode(errors="ignore").encode() != line)
        raise ValueError(
            f"{path} must be UTF-8 text, got byte {error.object[error.start]:#04x} in line {line}"
        ) from None


def read_csv(
    path: Path, *columns: str, also: Mapping[str, Sequence[str]] = {}, optional: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a table with a header line. All values are text.

    Of comma, semicolon, tab and vertical bar, the first with which the header line names the columns stands between
    fields. Raises ValueError with file and line.

    Parameters
    ----------
    path : path
        The file.
    *columns : str
        Columns that it must have.
    also : mapping
        Other names of a column, which count where its own is missing.
    optional : list of str
        More columns, which are empty where the table has none. All others are dropped.
    """
    names = {column: (column, *also.get(column, ())) for column in (*columns, *optional)}
    with open_text(path) as file:
        return pd.DataFrame(_records(file, names, len(columns), path), columns=list(names), dtype=str)


def _records(file: TextIO, columns: Mapping[str, Sequence[str]], n_needed: int, path: Path) -> Iterator[Sequence[str]]:
    """Yield the values of the columns, row by row, without empty rows. A column may have several names.

    Only the first `n_needed` columns must be there.
    """
    line = file.readline().rstrip("\r\n")
    named = [sign for sign in SIGNS if all(chosen([name.strip('" ') for name in line.split(sign)], columns)[:n_needed])]
    delimiter = (named or [","])[0]
    file.seek(0)
    # Not pandas: a row with a field too many is an error here, and NUL bytes do not pass.
    rows = csv.reader(file, strict=True, delimiter=delimiter)
    try:
        header = [name.strip() for name in next(rows, [])]
        own = chosen(header, columns)
        require(
            all(own[:n_needed]) and len({name.lower() for name in header}) == len(header),
            f"{path} must begin with a header line that names the columns {','.join([*columns][:n_needed])}, "
            f"and each column once, got {','.join(header)[:80]!r}",
        )
        # A column that the header lacks is the last one, where each row gets an empty text.
        wanted = itemgetter(*(header.index(name) if name else -1 for name in own))
        for row in filter(None, rows):
            if len(row) != len(header) or "\0" in "".join(row):
                raise ValueError(
                    f"{path} line {rows.line_num}: expected {len(header)} fields of text (a text with a "
                    f"{SIGNS[delimiter]} goes in double quotes), got {delimiter.join(row)[:80]!r}"
                )
            yield wanted([*row, ""])
    except csv.Error as error:
        raise ValueError(f"{path} line {rows.line_num}: {error}") from None


def chosen(header: Sequence[str], columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the first name of each column that a header holds, in small letters or large, "" where it holds none."""
    own = {name.lower(): name for name in header}
    return [next((own[name] for name in names if name in own), "") for names in columns.values()]
