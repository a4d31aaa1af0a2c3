"""Read UTF-8 text files, and tables whose cells are text."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TextIO

import pandas as pd

from jointsparse.checks import require

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}  # separators of fields in a table
DECIMAL = re.compile(r"[+-]?\d*\.\d*(e[+-]?\d+)?", re.IGNORECASE)  # in a first row this is data, not a column name
SIGNS = DELIMITERS | {"|": "vertical bar"}  # separators in a table of captions


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 text file.

    Raises ValueError if the file does not exist, or if a line is not UTF-8; in this case the message names it.
    """
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
    """Read columns of a table that has a header line. All values are read as text.

    The separator is the first of comma, semicolon, tab and vertical bar that splits the header into the required
    columns. Spaces between a separator and the next field, which may be quoted, are ignored. Columns that are not asked
    for are dropped. If the table is not valid, ValueError is raised with the name of the file and the line.

    Parameters
    ----------
    path : path
        The file.
    *columns : str
        Columns that the table must have.
    also : mapping
        For each column, other names under which it may appear in the table.
    optional : list of str
        Further columns to read. If the table lacks such a column, its values are "".
    """
    names = {column: (column, *also.get(column, ())) for column in (*columns, *optional)}
    with open_text(path) as file:
        return pd.DataFrame(_records(file, names, len(columns), path), columns=list(names), dtype=str)


def _records(file: TextIO, columns: Mapping[str, Sequence[str]], n_needed: int, path: Path) -> Iterator[Sequence[str]]:
    """Yield the values of the given columns for each row that is not empty.

    `columns` gives the accepted names of each column. The first `n_needed` of these columns are required.
    """
    line = file.readline().rstrip("\r\n")
    named = [sign for sign in SIGNS if all(chosen([name.strip('" ') for name in line.split(sign)], columns)[:n_needed])]
    delimiter = (named or [","])[0]
    file.seek(0)
    # pandas would accept NUL bytes and rows with too few fields; here both are errors.
    rows = csv.reader(file, strict=True, delimiter=delimiter, skipinitialspace=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        own = chosen(header, columns)
        require(
            all(own[:n_needed]) and len({name.lower() for name in header}) == len(header),
            f"{path} must begin with a header line that names the columns {','.join([*columns][:n_needed])}, "
            f"and each column once, got {','.join(header)[:80]!r}",
        )
        # A column that the header lacks is read from the empty string that is appended to each row.
        wanted = itemgetter(*(header.index(name) if name else -1 for name in own))
        for row in filter(None, rows):
            if len(row) != len(header) or "\0" in "".join(row):
                raise ValueError(
                    f"{path} line {rows.line_num}: expected {len(header)} fields of text (put a text that contains a "
                    f"{SIGNS[delimiter]} in double quotes), got {delimiter.join(row)[:80]!r}"
                )
            yield wanted([*row, ""])
    except csv.Error as error:
        raise ValueError(f"{path} line {rows.line_num}: {error}") from None


def chosen(header: Sequence[str], columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the name in the header for each column, or "" for a column that the header lacks.

    `columns` gives the accepted names of each column in lower case, the preferred name first. Case is ignored.
    """
    own = {name.lower(): name for name in header}
    return [next((own[name] for name in names if name in own), "") for names in columns.values()]
