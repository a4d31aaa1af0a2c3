"""The warnings about data and fits, in plain words."""

import re
from collections.abc import Collection
from typing import Any, NamedTuple

import pandas as pd

from jointsparse.pipeline.figures.style import label
from jointsparse.pipeline.flag import TOO_FEW, Kind
from jointsparse.pipeline.page.sentences import some
from jointsparse.pipeline.scores.flags import GAP

WRONG, NOTE = "wrong", "note"  # severities: a result on the page is wrong, or there is merely something to note


class Meaning(NamedTuple):
    """The text that explains flags of some kinds, and says what to do about them. severity: `WRONG` or `NOTE`."""

    severity: str
    text: str
    kinds: Collection[str]


# Ordered by decreasing severity.
MEANINGS = (
    Meaning(
        WRONG,
        "Some {labels} have scores that are not numbers, so their rows mean nothing.",
        {Kind.UNDEFINED, Kind.WORDS_UNDEFINED},
    ),
    Meaning(
        WRONG,
        f"The objective of some fits may be more than {100 * GAP:g} % above its minimum: they need more iterations.",
        {Kind.CERTIFIED_GAP},
    ),
    Meaning(
        WRONG,
        "The optimum that methods are compared with is not exact: computing it needs more iterations.",
        {Kind.CERTIFIED_ONLY_TO},
    ),
    Meaning(
        WRONG,
        "LinearSVC stopped before it converged on some {labels}: raise max_iter or lower C.",
        {Kind.NOT_CONVERGED},
    ),
    Meaning(WRONG, "Some {things} occur in more than one split, so the test results are too good.", {Kind.REPEATED}),
    Meaning(
        WRONG,
        "Some groups or near duplicates of {things} are in more than one split, as the data give the splits, so the "
        "results may be too good.",
        {Kind.TORN},
    ),
    Meaning(NOTE, "Some {labels} occur on too few {things} to be learnt and tested, and are left out.", TOO_FEW),
    Meaning(
        NOTE,
        "Some {labels} occur in one group of training {things} only, so they cannot be validated, and are left out.",
        {Kind.ONE_GROUP},
    ),
    Meaning(
        NOTE,
        "Some {labels} have the same score on all test {things}: nothing was learnt about them.",
        {Kind.TIED, Kind.WORDS_TIED},
    ),
    Meaning(
        NOTE,
        "Some chosen fits rank the validation {things} no better than chance, so their test results say little.",
        {Kind.NO_BETTER},
    ),
    Meaning(
        NOTE,
        "Validation chose the largest initial step size of the grid: a larger value may do better.",
        {Kind.ETA0_UPPER},
    ),
    Meaning(
        NOTE,
        "Validation chose the smallest initial step size of the grid: a smaller value may do better.",
        {Kind.ETA0_LOWER},
    ),
    Meaning(
        NOTE, "Validation chose the largest radius or C of the grid: a larger value may do better.", {Kind.RADIUS_UPPER}
    ),
    Meaning(
        NOTE,
        "Validation chose the smallest radius or C of the grid: a smaller value may do better.",
        {Kind.RADIUS_LOWER},
    ),
    Meaning(NOTE, "In some {things} all features are zero.", {Kind.EMPTY}),
    Meaning(
        NOTE,
        "Nearly all training {things} have one of the {labels}, so there is little to learn about it.",
        {Kind.NEARLY_ALL},
    ),
    Meaning(
        NOTE, "Some {labels} have fewer training {things} than the study asks for; all of them are used.", {Kind.CAPPED}
    ),
    Meaning(
        NOTE,
        "Some fits are perfect on their training {things}, and so are other weights: more {things} would help.",
        {Kind.NOT_UNIQUE},
    ),
    Meaning(
        NOTE,
        "Some methods did not reduce the objective: try other step sizes.",
        {Kind.NO_LOWER},
    ),
    Meaning(
        NOTE,
        "Some {things} are near duplicates of others, or in a group with others; splits that are drawn divide no "
        "group.",
        {Kind.GROUPED},
    ),
    Meaning(NOTE, "Some features are constant over all training {things}, which does no harm.", {Kind.CONSTANT}),
)
OTHER = Meaning(WRONG, "Other warnings.", ())


def warnings_of(table: pd.DataFrame, things: str = "images", labels: str = "words") -> list[dict[str, Any]]:
    """Put warnings into plain words. Warnings that a result is wrong come first.

    Warnings about data that are left out are omitted, because the page lists these data elsewhere.

    Parameters
    ----------
    table : DataFrame
        The table that `scores.warning_table.gather` returns.
    things : str
        The plural noun for the samples, such as "images".
    labels : str
        The plural noun for what is learnt, such as "words".

    Returns
    -------
    list of dict
        For each warning, its severity, its text, and its details, which name the tables and rows that it is about.
    """
    details: dict[str, list[str]] = {}
    table = table[table["table"] != "left_out"]
    without_run = table["table"].str.replace(r"_run\d+$", "", regex=True)
    for (name, warning), rows in table.groupby([without_run, "warning"], sort=False):
        kind = str(warning).partition(": ")[0]
        text = next((meaning for meaning in MEANINGS if kind in meaning.kinds), OTHER).text
        first = rows.iloc[0]["first"]
        where = f"; first: {_in_words(first)}" if isinstance(first, str) and first else ""
        of_runs = f" of {len(rows)} runs" if len(rows) > 1 else ""
        counts = f"{rows['rows'].sum():,} of {some(int(rows['of'].sum()), 'rows')}"
        details.setdefault(text, []).append(f"{warning}, in {counts} of the table {name}{of_runs}{where}")
    shown = [
        {"severity": severity, "text": text.format(things=things, labels=labels), "details": details[text]}
        for severity, text, _ in (*MEANINGS, OTHER)
        if text in details
    ]
    return sorted(shown, key=lambda warning: warning["severity"] != WRONG)


def _in_words(keys: str) -> str:
    """Write the keys that identify a row of a table in plain words; see `scores.warning_table.gather`.

    >>> _in_words("run=1, n=10, method=hinge-l1inf, radius=30.0")
    'run 1, n 10, l1,∞, radius 30'
    """
    keys = re.sub(r"\bmethod=([\w-]+)", lambda found: label(found[1]), keys)
    return re.sub(r"\b(run|n|radius)=(\d+)(\.0\b)?", r"\1 \2", keys)
