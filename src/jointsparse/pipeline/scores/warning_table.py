"""Collect all warnings from the tables of a study in a single table."""

from collections.abc import Mapping

from jointsparse.checks import require_extra
from jointsparse.pipeline.flag import Flag, Kind, read_cell

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

# Columns that identify a row of a table, if the table has them.
KEYS = ("run", "problem", "item", "n", "form", "method", "radius", "radius_rule", "solver", "word", "what")


def gather(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a table of all warnings in the given tables, with a row for each table and kind of warning.

    Parameters
    ----------
    tables : mapping
        Dictionary from names to tables. Warnings are read from the columns `warning` (see `Flag`), `note`, `capped`,
        and `reason`, which says why something was left out.

    Returns
    -------
    table
        The columns are

        - `table`: the name of the table;
        - `warning`: the kind of warning, with the smallest and the largest number in its flags if they have numbers;
        - `rows`: the number of rows with the warning;
        - `of`: the number of rows of the table;
        - `first`: the columns that identify the first row with the warning, with their values.

    >>> warned = pd.DataFrame({"n": [5, 9], "warning": ["certified gap: 7%", "certified gap: 12%"]})
    >>> gather({"chosen": warned}).to_dict("records")
    [{'table': 'chosen', 'warning': 'certified gap: 7 to 12%', 'rows': 2, 'of': 2, 'first': 'n=5'}]
    """
    rows = []
    for name, table in tables.items():
        kinds: dict[str, list[tuple[int, Flag]]] = {}
        for row, flags in enumerate(_flags(table)):
            for flag in flags:
                kinds.setdefault(flag.kind, []).append((row, flag))
        for kind, flagged in kinds.items():
            first = table.iloc[flagged[0][0]]
            keys = ", ".join(f"{key}={first[key]}" for key in KEYS if key in table)
            rows.append((name, kind + _range([flag for _, flag in flagged]), len(flagged), len(table), keys))
    return pd.DataFrame(rows, columns=["table", "warning", "rows", "of", "first"])


def _flags(table: pd.DataFrame) -> list[list[Flag]]:
    """Return the list of flags in each row of a table."""
    if "warning" in table:
        columns = [table[name] for name in ("warning", "note") if name in table]
        return [[flag for cell in cells for flag in read_cell(cell)] for cells in zip(*columns, strict=True)]
    if "capped" in table:
        return [[Flag(Kind.CAPPED)] if capped else [] for capped in table["capped"]]
    text = "pictures, captions or samples not used, each with its reason in left_out.csv"
    return [[Flag(text)] if "reason" in table else [] for _ in range(len(table))]


def _range(flags: list[Flag]) -> str:
    """Return the range of the numbers in flags of one kind as a string such as ": 7 to 12%"."""
    numbers = sorted({flag.number for flag in flags if flag.number is not None})
    ends = dict.fromkeys(f"{number:g}" for number in (numbers[:1] + numbers[-1:]))
    return f": {' to '.join(ends)}{flags[0].unit}" if numbers else ""
