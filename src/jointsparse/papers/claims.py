"""What the papers claim, and what our tables say of it.

One rule for all: a claim holds if the whole 95 % interval of its number lies on the claimed side of a threshold, does
not hold if the whole interval lies on the other side, and is undecided otherwise, thus always where there is no
interval. What the tables do not hold is not tested. Its exceptions are in EXCEPTIONS, in words for a reader.

Sources: see `quattoni.claims` and `duchi.claims`, which hold the claims; how each is judged is in `judging`.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from jointsparse.papers.duchi import claims as duchi
from jointsparse.papers.judging import (
    DOES_NOT_HOLD,
    HOLDS,
    NOT_TESTED,
    UNDECIDED,
    VERDICTS,
    Judgement,
    NotTested,
    Tables,
    either,
    not_tested,
    select,
    warned,
)
from jointsparse.papers.quattoni import claims as quattoni
from jointsparse.scores.flags import GAP

EXCEPTIONS = quattoni.EXCEPTIONS + duchi.EXCEPTIONS

# fmt: off
COLUMNS = (
    "id", "paper", "place", "claim", "n", "number", "low", "high", "number_means", "verdict", "table", "rows", "timed",
)
# fmt: on

CLAIMS = quattoni.CLAIMS | duchi.CLAIMS


def judge(tables: Tables, ids: Sequence[str]) -> pd.DataFrame:
    """The verdicts on some claims: one row per claim, or per claim and size or comparison where it speaks of several.

    tables: by name, such as "chosen", "differences", "recovery" or "cost". ids: names of CLAIMS.

    Columns: id, paper, place, claim (in our words), n (size or empty), number, low, high, number_means, verdict, table,
    rows (see `Judgement`), timed. Of a claim that compares chosen fits, number_means says how many fits in table
    "chosen", of all methods at that size, carry a warning, if any does. Raises ValueError with the known ids for
    another, and for tables without the columns that a claim reads.
    """
    records = []
    for name in ids:
        if name not in CLAIMS:
            raise ValueError(f"claims knows {', '.join(CLAIMS)}; got {name!r}")
        claim = CLAIMS[name]
        source = {"id": name, "paper": claim.paper, "place": claim.place, "claim": claim.sentence, "timed": claim.timed}
        try:
            judgements = claim.judge(tables)
            judgements = [_with_warnings(tables, one) for one in judgements] if claim.of_fits else judgements
        except NotTested as reason:
            judgements = [not_tested(reason)]
        first = either(tables, claim.tables[0], claim.instead)
        records += [source | one._asdict() | {"table": one.table or first} for one in judgements]
    return pd.DataFrame(records, columns=list(COLUMNS)).astype({"n": "Int64"})


def overall(verdicts: Iterable[str]) -> str:
    """The verdict on a claim of several rows: "does not hold" if any does not, else "undecided" if any is, else "holds"
    if any does, else "not tested". Raises ValueError for what is no verdict.

    >>> overall(["holds", "not tested", "undecided"])
    'undecided'
    """
    found = set(verdicts)
    unknown = sorted(map(str, found - set(VERDICTS)))
    if unknown:
        raise ValueError(f"verdicts must be of {', '.join(VERDICTS)}, got {', '.join(unknown)}")
    return next((one for one in (DOES_NOT_HOLD, UNDECIDED, HOLDS) if one in found), NOT_TESTED)


def _with_warnings(tables: Tables, judgement: Judgement) -> Judgement:
    """The judgement, with how many chosen fits at its size (at any, where it has none) carry a warning."""
    chosen = tables.get("chosen")
    if judgement.verdict == NOT_TESTED or chosen is None or chosen.empty:
        return judgement
    rows = select(tables, "chosen", "n", "warning")
    if judgement.n is not None:
        rows = rows[rows["n"] == judgement.n]
    why = f"grid edge, gap above {100 * GAP:g} %, tasks not converged, or words with tied scores"
    return judgement._replace(number_means=judgement.number_means + warned(rows, why))
