"""The papers' claims and our verdicts on them: one outline, written as a page of Markdown and as HTML."""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import jinja2
import markupsafe
import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.pipeline.papers.judging import DEMONSTRATION, DOES_NOT_HOLD, HOLDS, NOT_TESTED, VERDICTS
from jointsparse.pipeline.papers.verdicts import CLAIMS, COLUMNS, NOT_JUDGED, overall, rule_of

ORIGINS = ("dataset", "study", "source", "seed", "config")  # columns besides those of `verdicts.judge`
BAR = 21  # characters

# Signs that Markdown or HTML would not print as they stand.
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"} | {character: f"\\{character}" for character in "*_`[]\\~$"}
)
_OF_SEVERAL = {HOLDS: "hold", DOES_NOT_HOLD: "do not hold"}


def page(table: pd.DataFrame, heading: str = "# The papers' claims") -> str:
    """Write verdicts as Markdown: their counts, the verdict of each study on each claim, and the files they rest on.

    table: rows of `verdicts.judge`, of one or more studies, with the columns ORIGINS. source is the file of the table
    that gave the number, config the file of the study's settings. Studies of datasets with text in a column note are
    marked. Each claim has one verdict per study (see `verdicts.overall`), which is the one counted. heading: first
    line. Text is escaped. Raises ValueError if columns are missing.
    """
    return _written("page.md.jinja", _outline(table, {}) | {"heading": heading}, _in_markdown)


def section(table: pd.DataFrame, figures: Mapping[tuple[str, str, str], Sequence[str]]) -> markupsafe.Markup:
    """Write verdicts as a part of a page of HTML, in which the rows of a claim open on demand.

    table: as in `page`. figures: by dataset, study and table, the pictures that show it. Text is escaped.
    """
    return markupsafe.Markup(_written("claims.html.jinja", _outline(table, figures), lambda value: value))


def counts(table: pd.DataFrame) -> dict[str, int]:
    """Count the claims that have each verdict, each claim once per study. table: as in `page`."""
    by_study = table.groupby(["id", "dataset", "study"])["verdict"].agg(overall).value_counts()
    return {verdict: int(by_study.get(verdict, 0)) for verdict in VERDICTS}


def _written(template: str, outline: dict[str, Any], finalize: Callable[[Any], Any]) -> str:
    """An outline through a template in which every value is escaped. finalize: makes text of each."""
    environment = jinja2.Environment(
        autoescape=True,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.from_string(
        (files("jointsparse.pipeline.papers") / template).read_text(encoding="utf-8")
    ).render(outline)


def _in_markdown(value: Any) -> markupsafe.Markup:
    """A value as one line of text that Markdown prints as it stands."""
    return markupsafe.Markup(" ".join(str(value).split()).translate(_ESCAPED))


def _outline(table: pd.DataFrame, figures: Mapping[Any, Sequence[str]]) -> dict[str, Any]:
    """All that both pages show, in order: papers with their claims, demonstrations last, and the origin of numbers."""
    missing = [column for column in (*COLUMNS, *ORIGINS) if column not in table]
    require(not missing, f"table must have the columns {', '.join(missing)}, got {', '.join(map(str, table))}")
    notes = pd.Series(table.get("note"), table.index, dtype=object).fillna("").astype(str).str.strip()
    demonstration = (table["verdict"] == DEMONSTRATION).groupby([table["id"], table["dataset"]]).transform("any")
    title = demonstration.map({True: "Demonstrations of ", False: ""}) + table["paper"].astype(str)
    text = table["dataset"].astype(str) + ", " + table["study"].astype(str) + (notes != "").map({True: "*", False: ""})
    shown = table.astype({"n": "Int64"}).astype(object).where(table.notna(), "")
    shown = shown.assign(note=notes, title=title, text=text, **_drawn(table))
    shown = pd.concat([shown[~demonstration], shown[demonstration]])
    papers = [
        {"title": first["title"], "claims": [_claim(head, cases, figures) for head, cases in _groups(rows, "id")]}
        for first, rows in _groups(shown, "title")
    ]
    origins = [first for first, _ in _groups(shown, "dataset", "study", "table")]
    return {
        "counts": "; ".join(f"{verdict}: {n}" for verdict, n in counts(table).items()),
        "not_judged": NOT_JUDGED,
        "papers": papers,
        "origins": origins,
        "noted": notes.any(),
    }


def _groups(table: pd.DataFrame, *columns: str) -> list[tuple[dict[Any, Any], pd.DataFrame]]:
    return [(rows.iloc[0].to_dict(), rows) for _, rows in table.groupby(list(columns), sort=False)]


def _claim(first: dict[Any, Any], rows: pd.DataFrame, figures: Mapping[Any, Sequence[str]]) -> dict[str, Any]:
    """A claim with its verdict by study, and its rows, in which text that all tested ones share stands once.

    what: the number. rows: the rows of tables that gave it. Of each record: own, the rows of its own; notes, the rest
    of what its number is.
    """
    studies = [
        head | {"verdict": overall(cases["verdict"]), "tally": _tally(cases["verdict"])}
        for head, cases in _groups(rows, "dataset", "study")
    ]
    records = [record | _parts(record) for record in rows.to_dict("records")]
    tested = [record for record in records if record["verdict"] != NOT_TESTED]
    means, selected = (
        [part for part in (tested[0][key] if tested else []) if all(part in record[key] for record in tested)]
        for key in ("means", "selected")
    )
    for record in records:
        own = (part for part in record["selected"] if part not in selected)
        record["own"] = ", ".join(part.replace("against=", "against ") for part in own)
        record["notes"] = "; ".join(part for part in record["means"] if part not in means)
    pictures = [file for row in records for file in figures.get((row["dataset"], row["study"], row["table"]), ())]
    shared = {
        "rule": rule_of(first["id"]) if first["id"] in CLAIMS else "",
        "what": "; ".join(means),
        "rows": ", ".join(selected),
        "pictures": list(dict.fromkeys(pictures)),
    }
    return first | {"studies": studies, "records": records} | shared


def _tally(verdicts: pd.Series) -> str:
    counts = [(verdict, int((verdicts == verdict).sum())) for verdict in VERDICTS]
    return ", ".join(f"{n} {_OF_SEVERAL.get(verdict, verdict) if n > 1 else verdict}" for verdict, n in counts if n)


def _parts(record: dict[Any, Any]) -> dict[str, list[str]]:
    """The texts number_means and rows of a record, in parts.

    means: what the number means, with the compared method called "the other". selected: the rows that gave it, as
    column=value, without n.
    """
    selected = [part for part in record["rows"].split(", ") if part and not part.startswith("n=")]
    means = record["number_means"]
    # Names with a hyphen, as others are words of the text, too.
    for other in re.findall(r"against=(\w+-[\w-]*)", record["rows"]):
        means = re.sub(rf"(?<![\w-]){other}(?![\w-])", "the other", means)
    return {"means": means.split("; "), "selected": selected}


def _drawn(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Numbers with their intervals, as text and as bars, on the scale of all intervals and limits of the claim.

    at: low end, number and high end in hundredths of the scale; nothing without an interval. limits: of the claim. bar:
    these as text, ``··│··───o───·``. o is the number, ─ its interval, │ a limit.
    """
    values = table[["low", "number", "high", "least", "most"]].astype(float)
    ends = values.drop(columns="number").where(np.isfinite).groupby(table["id"])
    left, right = ends.transform("min").min(axis=1), ends.transform("max").max(axis=1)
    hundredths = (100 * values.sub(left, axis=0).div((right - left).where(right > left), axis=0)).round(1)
    drawn: dict[str, list[Any]] = {"interval": [_number(*row[:3]) for row in values.to_numpy()]}
    drawn["at"] = [
        [] if np.isnan(row).any() else row.tolist() for row in hundredths[["low", "number", "high"]].to_numpy()
    ]
    drawn["limits"] = [
        [limit for limit in row if np.isfinite(limit)] for row in hundredths[["least", "most"]].to_numpy()
    ]
    drawn["bar"] = [_bar(*row) for row in zip(drawn["at"], drawn["limits"], strict=True)]
    return drawn


def _number(low: float, number: float, high: float) -> str:
    shown = "" if np.isnan(number) else f"{number:.3g}"
    return shown if np.isnan(low) else f"{shown} ({low:.3g} to {high:.3g})"


def _bar(at: list[float], limits: list[float]) -> str:
    if not at:
        return ""
    start, number, end, *marks = (round((BAR - 1) * value / 100) for value in (*at, *limits))
    signs = list("·" * start + "─" * (end + 1 - start) + "·" * (BAR - 1 - end))
    for mark in marks:
        signs[mark] = "│"
    signs[number] = "o"
    return "".join(signs)
