"""The papers' claims and our verdicts on them, as a page of Markdown."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.papers.claims import COLUMNS, EXCEPTIONS, overall
from jointsparse.papers.judging import DOES_NOT_HOLD, HOLDS, VERDICTS

ORIGINS = ("dataset", "study", "source", "seed", "config")  # columns besides those of `claims.judge`
MARK = r"\*"  # of studies on a dataset with a note
PLACE_OF_NOTES = "Where the numbers stand"

# What Markdown or HTML would not print as it stands.
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"} | {character: f"\\{character}" for character in "*_`[]\\~$"}
)
_OF_SEVERAL = {HOLDS: "hold", DOES_NOT_HOLD: "do not hold"}


def page(table: pd.DataFrame) -> str:
    """Verdicts as Markdown: how many of each; per paper and claim what each study says; the studies with their files.

    table: rows of `claims.judge`, of one or more studies, with the columns dataset, study, source (the file of the
    table that gave the number), config (the file that says what the study was run with) and seed besides. It may have
    a column note, on the dataset: studies with one are marked. Each claim has one verdict per study (see
    `claims.overall`), which is the one counted. Text is escaped. Raises ValueError if columns are missing.
    """
    missing = [column for column in (*COLUMNS, *ORIGINS) if column not in table]
    if missing:
        raise ValueError(f"table must have the columns {', '.join(missing)}, got {', '.join(map(str, table))}")
    noted = any(_note(row) for row in table.to_dict("records"))
    lines = ["# The papers' claims", "", _counts(table), "", *_rule()]
    if noted:
        lines += ["", f'{MARK} The dataset has a note: see "{PLACE_OF_NOTES}".']
    for paper, of_paper in table.groupby("paper", sort=False):
        lines += ["", f"## {_cell(paper)}"]
        for name, rows in of_paper.groupby("id", sort=False):
            first = rows.iloc[0]
            lines += ["", f"**{_cell(first['claim'])}** {_cell(first['place'])} (`{name}`)", ""]
            lines += [_of_study(of_study) for _, of_study in rows.groupby(["dataset", "study"], sort=False)]
            lines += ["", *_lines(["study", "n", "number", "what the number is", "verdict", "table: rows"])]
            lines += [_line(_cells(row)) for row in rows.to_dict("records")]
    if len(table):
        lines += ["", f"## {PLACE_OF_NOTES}", "", *_origins(table, noted)]
    return "\n".join(lines) + "\n"


def _counts(table: pd.DataFrame) -> str:
    """How many pairs of a claim and a study have which verdict."""
    counts = table.groupby(["id", "dataset", "study"])["verdict"].agg(overall).value_counts()
    return "; ".join(f"{verdict}: {counts.get(verdict, 0)}" for verdict in VERDICTS) + " (each claim once per study)"


def _rule() -> list[str]:
    return [
        "A row holds if the whole 95 % interval of its number lies on the claimed side of the threshold, does not hold "
        "if it lies on the other side, and is undecided otherwise. Exceptions:",
        "",
        *(f"- {one}" for one in EXCEPTIONS),
        "",
        "A study's verdict on a claim: does not hold if any row does not hold; else undecided if any is undecided; "
        'else holds if any holds; else not tested. "Timed" verdicts rest on measured seconds. Warnings are counted '
        "over the chosen fits of all methods of a study at that n.",
    ]


def _of_study(rows: pd.DataFrame) -> str:
    """What a study says of a claim: its verdict, and how many rows have which."""
    counts = rows["verdict"].value_counts()
    told = [
        f"{counts[verdict]} {_OF_SEVERAL.get(verdict, verdict) if counts[verdict] > 1 else verdict}"
        for verdict in VERDICTS
        if verdict in counts
    ]
    return f"- {_study(rows.iloc[0].to_dict())}: **{overall(rows['verdict'])}** ({', '.join(told)})"


def _origins(table: pd.DataFrame, noted: bool) -> list[str]:
    """Each table that gave numbers, with its file; the notes, if there are any."""
    columns = ["table", "source", "seed", "config"]
    lines = _lines(["study", "table", "file", "seed", "run with", *(["note"] if noted else [])])
    for row in table.drop_duplicates(["dataset", "study", "table"]).to_dict("records"):
        lines.append(_line([_study(row), *(_cell(row[name]) for name in columns), *([_note(row)] if noted else [])]))
    return lines


def _cells(row: dict[Any, Any]) -> list[str]:
    number, low, high = (float(row[column]) for column in ("number", "low", "high"))
    shown = "" if np.isnan(number) else f"{number:.3g}"
    if not np.isnan(low):
        shown += f" ({low:.3g} to {high:.3g})"
    verdict = _cell(row["verdict"]) + (" (timed)" if row["timed"] else "")
    source = f"{_cell(row['table'])}: {_cell(row['rows'])}".removesuffix(": ")
    return [_study(row), _cell(row["n"]), shown, _cell(row["number_means"]), verdict, source]


def _study(row: dict[Any, Any]) -> str:
    return f"{_cell(row['dataset'])}, {_cell(row['study'])}{MARK if _note(row) else ''}"


def _note(row: dict[Any, Any]) -> str:
    return _cell(row.get("note"))


def _lines(header: Sequence[str]) -> list[str]:
    return [_line(header), _line(["---"] * len(header))]


def _cell(value: Any) -> str:
    """A value as one line of text that Markdown prints as it stands; nothing for a missing one."""
    if pd.isna(value):
        return ""
    if isinstance(value, float) and value.is_integer():  # a whole number beside missing ones
        value = int(value)
    return " ".join(str(value).split()).translate(_ESCAPED)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
