"""Read UTF-8 text files, and tables whose cells are text."""

import csv
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from jointsparse.checks import require
from jointsparse.pipeline.datasets.names import composed

# Separators of the fields of a table. A file has the one that its header has most often, or else a single column.
SIGNS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
ONE_COLUMN = "\x1f"  # a separator that no text contains


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
            f"{path} must be UTF-8 text, got byte {error.object[error.start]:#04x} in line {line}: save it as UTF-8 "
            "(a spreadsheet as CSV UTF-8)"
        ) from None


def sign_of(path: Path) -> str:
    """Return the separator of fields in a table, see `SIGNS`. Raises ValueError if the file begins with a comment."""
    with open_text(path) as file:
        header = file.readline()
    require(
        not header.startswith("#") or header.count("#") > 1 or any(sign in header for sign in SIGNS),
        f"{path} must begin with a header, got the comment {header.strip()[:80]!r}: remove this line",
    )
    return sign_in(header)


def sign_in(header: str) -> str:
    """Return the separator of fields in a header line, see `SIGNS`."""
    return max(SIGNS, key=header.count) if any(sign in header for sign in SIGNS) else ONE_COLUMN


def read_csv(path: Path, columns: Collection[str] | None = None) -> dict[str, list[str]]:
    """Read a table with a header line as the texts of each column. A column without a name is called "Unnamed: 0".

    columns: the columns to return; by default all.

    Spaces between a separator and the next field, which may be quoted, are ignored. If the table is not valid,
    ValueError is raised with the name of the file and the line.
    """
    sign = sign_of(path)
    with open_text(path) as file:
        # pandas would accept NUL bytes and rows with too few fields; here both are errors.
        rows = csv.reader(file, strict=True, delimiter=sign, skipinitialspace=True)
        try:
            header = [composed(name.strip()) or "Unnamed: 0" for name in next(rows, [])]
            require(
                header and len(set(header)) == len(header),
                f"{path} must begin with a header line that names each column once, got {','.join(header)[:80]!r}",
            )
            kept = {name: i for i, name in enumerate(header) if columns is None or name in columns}
            table: dict[str, list[str]] = {name: [] for name in kept}
            for row in rows if len(header) > 1 else (row or [""] for row in rows):
                if not row:
                    continue
                if len(row) != len(header) or "\0" in "".join(row):
                    raise ValueError(
                        f"{path} line {rows.line_num}: expected {len(header)} fields of text (put a text that contains "
                        f"a {SIGNS.get(sign, 'separator')} in double quotes), got {sign.join(row)[:80]!r}"
                    )
                for name, i in kept.items():
                    table[name].append(row[i])
        except csv.Error as error:
            raise ValueError(f"{path} line {rows.line_num}: {error}") from None
    return table
