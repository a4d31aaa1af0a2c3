"""The papers' claims and our verdicts on them, as a page of Markdown and as HTML."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import jinja2
import markupsafe
import numpy as np
import pandas as pd

from jointsparse.papers.claims import COLUMNS, EXCEPTIONS, NOT_JUDGED, overall
from jointsparse.papers.judging import DEMONSTRATION, DOES_NOT_HOLD, HOLDS, NOT_TESTED, VERDICTS

ORIGINS = ("dataset", "study", "source", "seed", "config")  # columns besides those of `claims.judge`

# Signs that Markdown or HTML would not print as they stand.
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"} | {character: f"\\{character}" for character in "*_`[]\\~$"}
)
_OF_SEVERAL = {HOLDS: "hold", DOES_NOT_HOLD: "do not hold"}


def page(table: pd.DataFrame) -> str:
    """Write verdicts as Markdown: their counts, the verdict of each study on each claim, and the files they rest on.

    table: rows of `claims.judge`, of one or more studies, with the columns ORIGINS. source is the file of the table
    that gave the number, config the file of the study's settings. Studies of datasets with text in a column note are
    marked. Each claim has one verdict per study (see `claims.overall`), which is the one counted. Text is escaped.
    Raises ValueError if columns are missing.
    """
    return _rendered("page.md.jinja", table, _cell)


def section(table: pd.DataFrame, figures: Mapping[tuple[str, str, str], Sequence[str]]) -> markupsafe.Markup:
    """Write verdicts as a part of a page of HTML, in which the rows of a claim open on demand.

    table: as in `page`. figures: by dataset, study and table, the pictures that show it. Text is escaped.
    """

    def of_claim(rows: pd.DataFrame) -> list[str]:
        named = zip(rows["dataset"], rows["study"], rows["table"], strict=True)
        return list(dict.fromkeys(file for key in named for file in figures.get(key, ())))

    return markupsafe.Markup(_rendered("claims.html.jinja", table, _text_or_nothing, figures=of_claim))


def counts(table: pd.DataFrame) -> str:
    """Say how many claims have each verdict, each claim once per study. table: as in `page`."""
    by_study = table.groupby(["id", "dataset", "study"])["verdict"].agg(overall).value_counts()
    return "; ".join(f"{verdict}: {by_study.get(verdict, 0)}" for verdict in VERDICTS)


def _rendered(template: str, table: pd.DataFrame, finalize: Callable[[Any], Any], **more: Any) -> str:
    missing = [column for column in (*COLUMNS, *ORIGINS) if column not in table]
    if missing:
        raise ValueError(f"table must have the columns {', '.join(missing)}, got {', '.join(map(str, table))}")
    notes = table.get("note", pd.Series("", table.index)).fillna("").astype(str).str.strip()
    names = {"groups": _groups, "tally": _tally, "number": _number, "shortened": _shortened, "overall": overall}
    return _template(template, finalize).render(
        names | more,
        table=_ordered(table.assign(note=notes)),
        noted=notes.any(),
        counts=counts(table),
        exceptions=EXCEPTIONS,
        not_judged=NOT_JUDGED,
    )


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Rows with the demonstrations last. shown: what stands before the paper's name."""
    demonstration = table["verdict"] == DEMONSTRATION
    shown = table.assign(shown=np.where(demonstration, "Demonstrations of", ""))
    return pd.concat([shown[~demonstration], shown[demonstration]])


def _template(name: str, finalize: Callable[[Any], Any]) -> jinja2.Template:
    """A template in which every value is escaped. finalize: makes text of each."""
    environment = jinja2.Environment(
        autoescape=True,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.from_string((files("jointsparse.papers") / name).read_text(encoding="utf-8"))


def _groups(table: pd.DataFrame, *columns: str) -> Iterator[tuple[dict[Any, Any], pd.DataFrame]]:
    """First row and all rows of each group, in order of appearance."""
    for _, rows in table.groupby(list(columns), sort=False):
        yield rows.iloc[0].to_dict(), rows


def _tally(verdicts: pd.Series) -> str:
    """Number of rows with each verdict, as text."""
    counts = [(verdict, int((verdicts == verdict).sum())) for verdict in VERDICTS]
    return ", ".join(f"{n} {_OF_SEVERAL.get(verdict, verdict) if n > 1 else verdict}" for verdict, n in counts if n)


def _number(row: dict[Any, Any]) -> str:
    """A number with its interval, as far as they are known."""
    number, low, high = (float(row[column]) for column in ("number", "low", "high"))
    shown = "" if np.isnan(number) else f"{number:.3g}"
    return shown if np.isnan(low) else f"{shown} ({low:.3g} to {high:.3g})"


class _Short(NamedTuple):
    """The rows of a claim with what they share: what the number is, the values of the tables' rows, and the rest."""

    what: str
    rows: str
    records: list[dict[Any, Any]]


def _shortened(of_claim: pd.DataFrame) -> _Short:
    """The rows of a claim, in which text that all of them share stands once.

    Columns more: own_rows and notes, with the text of each row's own, and bar, see `_bar`.
    """
    records = of_claim.to_dict("records")
    tested = [record["verdict"] != NOT_TESTED for record in records]
    means, selected = [], []
    for record in records:
        parts = [part for part in _text(record["rows"]).split(", ") if part and not part.startswith("n=")]
        # Names with a hyphen, as others are words of the text, too.
        others = {part.removeprefix("against=") for part in parts if re.match(r"against=\w+-", part)}
        text = _text(record["number_means"])
        for other in others:
            text = re.sub(rf"(?<![\w-]){re.escape(other)}(?![\w-])", "the other", text)
        means.append(text.split("; "))
        selected.append(parts)
    what, rows = (
        [part for part in (of[tested.index(True)] if any(tested) else []) if _in_all(part, of, tested)]
        for of in (means, selected)
    )
    ends = [record[end] for record in records for end in ("low", "high") if np.isfinite(record[end])]
    for record, parts, told in zip(records, selected, means, strict=True):
        record["own_rows"] = ", ".join(part.replace("against=", "against ") for part in parts if part not in rows)
        record["notes"] = "; ".join(part for part in told if part not in what)
        record["bar"] = _bar(record, min(ends, default=0.0), max(ends, default=0.0))
    return _Short("; ".join(what), ", ".join(rows), records)


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _in_all(part: str, of: list[list[str]], tested: list[bool]) -> bool:
    return all(part in parts for parts, counts in zip(of, tested, strict=True) if counts)


BAR = 21  # characters


def _bar(record: dict[Any, Any], lowest: float, highest: float) -> str:
    """An interval as text, on the scale of all intervals of the claim and its limits: ``··|··---o---·``.

    o is the number, - its interval, | a limit of the claim.
    """
    limits = [limit for limit in (record["least"], record["most"]) if np.isfinite(limit)]
    lowest, highest = min([lowest, *limits]), max([highest, *limits])
    if not np.isfinite([record["low"], record["number"], record["high"]]).all() or highest <= lowest:
        return ""

    def place(value: float) -> int:
        return round((BAR - 1) * (value - lowest) / (highest - lowest))

    signs = ["·"] * BAR
    signs[place(record["low"]) : place(record["high"]) + 1] = "-" * (place(record["high"]) + 1 - place(record["low"]))
    for limit in limits:
        signs[place(limit)] = "|"
    signs[place(record["number"])] = "o"
    return "".join(signs)


def _text_or_nothing(value: Any) -> Any:
    """A value; nothing for a missing one."""
    if isinstance(value, markupsafe.Markup):
        return value
    return "" if pd.isna(value) else int(value) if isinstance(value, float) and value.is_integer() else value


def _cell(value: Any) -> markupsafe.Markup:
    """A value as one line of text that Markdown prints as it stands; nothing for a missing one."""
    if isinstance(value, markupsafe.Markup):  # done before
        return value
    if pd.isna(value):
        return markupsafe.Markup()
    if isinstance(value, float) and value.is_integer():  # a whole number beside missing ones
        value = int(value)
    return markupsafe.Markup(" ".join(str(value).split()).translate(_ESCAPED))
