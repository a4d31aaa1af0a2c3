"""All warnings of a study's tables in one table."""

from collections.abc import Mapping

from jointsparse.checks import require_extra
from jointsparse.pipeline.flag import Flag, Kind, read_cell

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

# What tells the rows of a table apart, as far as it has them.
KEYS = ("run", "problem", "item", "n", "form", "method", "radius", "radius_rule", "solver", "word", "what")


def gather(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All warnings of some tables, each kind once per table: table, warning, rows, of, first.

    tables: by name, perhaps with a column warning (see `Flag`) and note, capped, or reason (of what is left out). A
    warning with numbers is told with the smallest and the largest of them. rows: how many of the table's `of` rows
    carry it. first: the keys of the first of them.

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
    """The flags of each row."""
    if "warning" in table:
        columns = [table[name] for name in ("warning", "note") if name in table]
        return [[flag for cell in cells for flag in read_cell(cell)] for cells in zip(*columns, strict=True)]
    if "capped" in table:
        return [[Flag(Kind.CAPPED)] if capped else [] for capped in table["capped"]]
    said = "pictures, captions or samples not used, each with its reason in left_out.csv"
    return [[Flag(said)] if "reason" in table else [] for _ in range(len(table))]


def _range(flags: list[Flag]) -> str:
    """The smallest and the largest number of flags of one kind, with a colon before and the unit behind."""
    numbers = sorted({flag.number for flag in flags if flag.number is not None})
    ends = dict.fromkeys(f"{number:g}" for number in (numbers[:1] + numbers[-1:]))
    return f": {' to '.join(ends)}{flags[0].unit}" if numbers else ""
