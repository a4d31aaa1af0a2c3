"""Write pages with the papers' claims and our verdicts on them, in Markdown and in HTML."""

import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import jinja2
import markupsafe
import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.pipeline.papers.judging import (
    DEMONSTRATION,
    DOES_NOT_HOLD,
    HOLDS,
    LEVEL,
    NOT_TESTED,
    UNDECIDED,
    VERDICTS,
)
from jointsparse.pipeline.papers.verdicts import CLAIMS, COLUMNS, NOT_JUDGED, SECTION_OF, rule_of

ORIGINS = ("dataset", "study", "source", "seed", "config")  # columns besides those of `verdicts.judge`
COMPARED = r"against=(\w+-[\w-]*)"  # only names with a hyphen, because other names may be ordinary words of the text
BAR = 21  # characters
GLYPHS = {HOLDS: "✓", LEVEL: "≈", DOES_NOT_HOLD: "✗", UNDECIDED: "?", NOT_TESTED: "–", DEMONSTRATION: "◇"}
STRIP_WIDTH = 120  # in pixels, like the height
STRIP_HEIGHT = (8, 40)  # least and most
STRIP_ROW = 3  # height of the row of one estimate, unless there are too many
WIDE_SCALE = 10  # positive estimates get a logarithmic scale if the largest is this many times the smallest

# Characters that Markdown or HTML would interpret.
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"} | {character: f"\\{character}" for character in "*_`[]\\~$"}
)
# Verdicts in a sentence. Verdicts without an entry are shown unchanged.
_ANSWERS = {HOLDS: "as claimed", DOES_NOT_HOLD: "not as claimed", DEMONSTRATION: "not judged on such data"}
_PLURALS = {HOLDS: "hold", DOES_NOT_HOLD: "do not hold", DEMONSTRATION: "demonstrations"}
_METHODS = {"hinge-l1inf": "l1,∞", "hinge-l12": "l1,2", "hinge-l1": "l1", "hinge-l2": "l2", "svm-l2": "linear SVM"}

Link = Callable[[str, str], str]  # maps a dataset and the name of a claim to an address


def page(table: pd.DataFrame, heading: str = "# The papers' claims") -> str:
    """Write verdicts as Markdown: each claim with the counts of its verdicts, its estimates and their source files.

    table: rows of `verdicts.judge` for one or more studies, with the additional columns ORIGINS. In these, `source` is
    the file that contains the table from which an estimate was computed, and `config` the file that contains the
    study's settings. If there is a column `note`, studies whose dataset has a note are marked. heading: the first line.

    Text is escaped. Each claim has its name as its heading, so that links can lead to it. Raises ValueError if columns
    are missing.
    """
    values = _outline(table) | {"heading": heading, "tally": _tally(table["verdict"])}
    return _written("page.md.jinja", values, _in_markdown)


def overview(table: pd.DataFrame, link: Link) -> markupsafe.Markup:
    """Write one line of HTML for each claim: its sentence, the counts of its verdicts by dataset, and its intervals.

    table: as in `page`. link: returns the address of the evidence for a claim on a dataset. The page that contains the
    lines needs the style sheet `claims.css`. The HTML has no empty lines, so that it can be embedded in Markdown.
    """
    html = _written("claims.html.jinja", _outline(table, link) | {"style": "", "evidence": False})
    return markupsafe.Markup("\n".join(line.strip() for line in html.splitlines() if line.strip()) + "\n")


def document(table: pd.DataFrame) -> str:
    """Write verdicts as an HTML page that can be opened from disk: the lines of `overview`, which unfold to show the
    estimates. table: as in `page`. Text is escaped.
    """
    outline = _outline(table, lambda _, name: f"#claim-{name}") | {"style": _style(), "evidence": True}
    claims = markupsafe.Markup(_written("claims.html.jinja", outline))
    return _written("index.html.jinja", {"claims": claims, "tally": _tally(table["verdict"])})


def sentences_of_studies(tables: Sequence[pd.DataFrame]) -> dict[Any, str]:
    """Say for each dataset and study how often each verdict occurs. tables: as in `page`.

    >>> table = pd.DataFrame({"dataset": "a", "study": "b", "verdict": ["holds", "undecided", "undecided"]})
    >>> sentences_of_studies([table])
    {('a', 'b'): "Of 3 numbers that the papers' claims are about, 1 is as claimed, 2 are undecided."}
    """
    said: dict[Any, str] = {}
    for (dataset, study), rows in pd.concat(tables).groupby(["dataset", "study"]) if tables else ():
        n_of = {verdict: n for verdict in VERDICTS if (n := int((rows["verdict"] == verdict).sum()))}
        parts = [f"{n} {'is' if n == 1 else 'are'} {_ANSWERS.get(verdict, verdict)}" for verdict, n in n_of.items()]
        numbers = f"{len(rows):,} number{'s' if len(rows) > 1 else ''}"
        said[dataset, study] = f"Of {numbers} that the papers' claims are about, {', '.join(parts)}."
    return said


def _written(template: str, values: dict[str, Any], finalize: Callable[[Any], Any] = lambda value: value) -> str:
    """Fill a template from this folder. `finalize` is applied to each value, and the result is escaped."""
    environment = jinja2.Environment(
        autoescape=True,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.from_string(_read(template)).render(values)


def _read(name: str) -> str:
    return (files("jointsparse.pipeline.papers") / name).read_text(encoding="utf-8")


def _style() -> markupsafe.Markup:
    return markupsafe.Markup(_read("claims.css"))


def _in_markdown(value: Any) -> markupsafe.Markup:
    """Return a value as a single-line string, escaped so that Markdown prints it literally."""
    return markupsafe.Markup(" ".join(str(value).split()).translate(_ESCAPED))


# What all pages show


def _outline(table: pd.DataFrame, link: Link = lambda dataset, name: "") -> dict[str, Any]:
    """Return the papers with their sections and claims, in the order of CLAIMS, and the files of the estimates."""
    missing = [column for column in (*COLUMNS, *ORIGINS) if column not in table]
    require(not missing, f"table must have the columns {', '.join(missing)}, got {', '.join(map(str, table))}")
    notes = pd.Series(table.get("note"), table.index, dtype=object).fillna("").astype(str).str.strip()
    text = table["study"].astype(str) + (notes != "").map({True: "*", False: ""})
    if len(set(table["dataset"])) > 1:
        text = table["dataset"].astype(str) + ", " + text
    shown = table.astype({"n": "Int64"}).astype(object).where(table.notna(), "")
    shown = shown.assign(note=notes, text=text, section=[SECTION_OF.get(name, "") for name in table["id"]])
    shown = shown.assign(**_drawn(table)).reset_index(drop=True)
    places = {name: place for place, name in enumerate(CLAIMS)}
    shown = shown.iloc[np.argsort([places.get(name, len(places)) for name in shown["id"]], kind="stable")]
    papers = []
    for paper, of_paper in _groups(shown, "paper"):
        sections = [
            {
                "title": head["section"],
                "claims": [_claim(first, rows, link) for first, rows in _groups(of_section, "id")],
            }
            for head, of_section in _groups(of_paper, "section")
        ]
        papers.append({"title": paper["paper"], "sections": sections})
    n_claims = {verdict: shown.loc[shown["verdict"] == verdict, "id"].nunique() for verdict in VERDICTS}
    return {
        "glyphs": GLYPHS,
        "n_claims": {verdict: n for verdict, n in n_claims.items() if n},
        "n_all": shown["id"].nunique(),
        "not_judged": NOT_JUDGED,
        "papers": papers,
        "origins": [first for first, _ in _groups(shown, "dataset", "study", "table")],
        "noted": notes.any(),
    }


def _groups(table: pd.DataFrame, *columns: str) -> list[tuple[dict[Any, Any], pd.DataFrame]]:
    return [(rows.iloc[0].to_dict(), rows) for _, rows in table.groupby(list(columns), sort=False)]


def _claim(first: dict[Any, Any], rows: pd.DataFrame, link: Link) -> dict[str, Any]:
    """Return a claim with its estimates, and the counts of its verdicts by dataset and by study.

    In the result, `what` and `rows` are the parts of the strings `number_means` and `rows` that are the same for all
    tested estimates. For each estimate, `own` and `notes` are the remaining parts.
    """
    studies = [head | {"tally": _tally(cases["verdict"])} for head, cases in _groups(rows, "dataset", "study")]
    chips = [_chip(cases) | {"href": link(head["dataset"], first["id"])} for head, cases in _groups(rows, "dataset")]
    others = set(rows["rows"].str.extract(COMPARED, expand=False).dropna())
    records = [record | _parts(record, rename=len(others) > 1) for record in rows.to_dict("records")]
    tested = [record for record in records if record["verdict"] != NOT_TESTED]
    means, selected = (
        [part for part in (tested[0][key] if tested else []) if all(part in record[key] for record in tested)]
        for key in ("means", "selected")
    )
    for record in records:
        own = (part for part in record["selected"] if part not in selected)
        record["own"] = _named(", ".join(part.replace("against=", "against ") for part in own))
        record["notes"] = _named("; ".join(part for part in record["means"] if part not in means))
    shared = {
        "rule": rule_of(first["id"]) if first["id"] in CLAIMS else "",
        "label": "Number" if len(tested) == 1 else "All numbers",
        "what": _named("; ".join(means)),
        "rows": ", ".join(selected),
        "verdicts": [verdict for verdict in VERDICTS if (rows["verdict"] == verdict).any()],
        "strips": [_strip(limited) for _, limited in _groups(rows[rows["verdict"] != NOT_TESTED], "least", "most")],
    }
    return first | {"studies": studies, "chips": chips, "records": records} | shared


def _tally(verdicts: pd.Series) -> str:
    n_of = [(verdict, int((verdicts == verdict).sum())) for verdict in VERDICTS]
    return ", ".join(f"{n} {_PLURALS.get(verdict, verdict) if n > 1 else verdict}" for verdict, n in n_of if n)


def _chip(cases: pd.DataFrame) -> dict[str, Any]:
    """Count the verdicts of a claim on a dataset, the most frequent first. In a tie, the least favourable is first."""
    n_of = cases["verdict"].value_counts()
    ranked = (DOES_NOT_HOLD, UNDECIDED, LEVEL, HOLDS, DEMONSTRATION, NOT_TESTED)
    order = sorted((verdict for verdict in ranked if verdict in n_of), key=lambda verdict: -n_of[verdict])
    order.sort(key=lambda verdict: verdict == NOT_TESTED)
    return {
        "dataset": cases["dataset"].iloc[0],
        "counts": [{"verdict": verdict, "glyph": GLYPHS[verdict], "n": int(n_of[verdict])} for verdict in order],
        "tested": int((cases["verdict"] != NOT_TESTED).sum()),
        "tally": _tally(cases["verdict"]),
    }


def _parts(record: dict[Any, Any], *, rename: bool) -> dict[str, list[str]]:
    """Split the strings `number_means` and `rows` of a record into parts.

    The part `means` says what was estimated. If `rename` is true, "the other method" replaces the name of the compared
    method in `means`. The part `selected` lists the conditions that select the rows used for the estimate, without the
    condition on n.
    """
    selected = [part for part in record["rows"].split(", ") if part and not part.startswith("n=")]
    means = record["number_means"]
    for other in re.findall(COMPARED, record["rows"]) if rename else ():
        means = re.sub(rf"(?<![\w-]){other}(?![\w-])", "the other method", means)
    return {"means": means.split("; "), "selected": selected}


def _named(text: str) -> str:
    """Replace the method names that are used in tables by the names that readers know."""
    names = "|".join(_METHODS)
    return re.sub(rf"(?<![\w=-])(?:{names})(?![\w-])", lambda match: _METHODS[match[0]], text)


# Intervals


def _strip(rows: pd.DataFrame) -> dict[str, Any]:
    """Lay out a strip with the intervals of all estimates for a claim with the same limits, sorted by the estimate.

    All positions are in pixels. In the result, `lines` has for each estimate its horizontal position, the ends of its
    interval, its vertical position and its verdict. `limits` has the limits of the claim, and `zone` the part of the
    strip between them.
    """
    columns = ["low", "number", "high", "least", "most"]
    values = rows[columns].replace("", np.nan).infer_objects().astype(float).to_numpy()
    low, high = np.fmin(values[:, 0], values[:, 1]), np.fmax(values[:, 2], values[:, 1])
    limits = [float(limit) if np.isfinite(limit) else None for limit in values[0, 3:]]
    ends = np.array([*low, *high, *(limit for limit in limits if limit is not None)])
    ends = np.where(np.abs(ends) < np.finfo(float).tiny, 0.0, ends)  # "above 0" is the smallest positive number
    scale = np.log if ends.min() > 0 and ends.max() > WIDE_SCALE * ends.min() else np.asarray
    left, right = float(scale(ends.min())), float(scale(ends.max()))

    def at(value: float) -> float:
        place = (float(scale(value)) - left) / (right - left) if right > left else 0.5
        return round(3 + (STRIP_WIDTH - 6) * place, 1)

    height = min(max(STRIP_ROW * len(rows), STRIP_HEIGHT[0]), STRIP_HEIGHT[1])
    step = height / len(rows)
    lines = [
        {
            "x": at(values[row, 1]),
            "ends": [at(low[row]), at(high[row])] if low[row] < high[row] else [],
            "y": round((place + 0.5) * step, 2),
            "verdict": rows["verdict"].iloc[row],
        }
        for place, row in enumerate(np.argsort(values[:, 1], kind="stable"))
    ]
    marks = [None if limit is None else at(0.0 if abs(limit) < np.finfo(float).tiny else limit) for limit in limits]
    start, end = 0 if marks[0] is None else marks[0], STRIP_WIDTH if marks[1] is None else marks[1]
    return {
        "height": height,
        "width": STRIP_WIDTH,
        "stroke": round(min(max(0.6 * step, 0.6), 1.4), 2),
        "lines": lines,
        "limits": [mark for mark in marks if mark is not None],
        "zone": [start, round(end - start, 1)],
        "tally": _tally(rows["verdict"]),
    }


def _drawn(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Write estimates with their intervals as text and as bars, on one scale for all estimates of a claim.

    In the result, `at` has the lower end, the estimate and the upper end in hundredths of the scale, or is empty if
    there is no interval. `limits` has the limits of the claim on the same scale. `bar` shows both as a string, such as
    ``··│··───o───·``, where o is the estimate, ─ its interval and │ a limit.
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
