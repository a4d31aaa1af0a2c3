"""The papers' claims, and the verdicts of our tables on them.

One rule for all. A claim holds if the whole 95 % interval of its number lies on the claimed side of a threshold. It
does not hold if the whole interval lies on the other side. Otherwise it is undecided. A number without interval is
always undecided. A claim about numbers that the tables lack is not tested. EXCEPTIONS lists the exceptions.

Sources: see `quattoni.claims` and `duchi.claims`, which hold the claims. `judging` holds the arithmetic.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from jointsparse.checks import require
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
    adding,
    either,
    not_tested,
    rows_with,
    warned,
)
from jointsparse.papers.quattoni import claims as quattoni
from jointsparse.scores.flags import GAP

CLAIMS = quattoni.CLAIMS | duchi.CLAIMS
EXCEPTIONS = quattoni.EXCEPTIONS + duchi.EXCEPTIONS

# fmt: off
COLUMNS = (
    "id", "paper", "place", "claim", "n", "number", "low", "high", "number_means", "verdict", "table", "rows", "timed",
)
# fmt: on


def judge(tables: Tables, ids: Sequence[str]) -> pd.DataFrame:
    """Judge some claims: one row per claim, or per size or comparison if the claim is about several.

    tables: by name, such as "chosen", "differences", "recovery" or "cost". ids: names of CLAIMS.

    Columns: id, paper, place, claim (in our words), n (size or empty), number, low, high, number_means, verdict, table,
    rows (see `Judgement`), timed. For a claim that compares chosen fits, number_means counts the fits with a warning:
    those of all methods at that size in table "chosen". Raises ValueError for an unknown id, with the known ones, and
    for a table without a column that a claim reads.
    """
    records = []
    for name in ids:
        require(name in CLAIMS, f"claims knows {', '.join(CLAIMS)}; got {name!r}")
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
    """Verdict on a claim of several rows: the first of "does not hold", "undecided" and "holds" that a row has.

    Without such a row it is "not tested". Raises ValueError for an unknown verdict.

    >>> overall(["holds", "not tested", "undecided"])
    'undecided'
    """
    found = set(verdicts)
    unknown = sorted(map(str, found - set(VERDICTS)))
    require(not unknown, f"verdicts must be of {', '.join(VERDICTS)}, got {', '.join(unknown)}")
    return next((one for one in (DOES_NOT_HOLD, UNDECIDED, HOLDS) if one in found), NOT_TESTED)


def _with_warnings(tables: Tables, judgement: Judgement) -> Judgement:
    """Judgement that tells how many chosen fits of its size, or of all sizes if it has none, carry a warning."""
    chosen = tables.get("chosen")
    if judgement.verdict == NOT_TESTED or chosen is None or chosen.empty:
        return judgement
    rows = rows_with(tables, "chosen", "n", "warning")
    if judgement.n is not None:
        rows = rows[rows["n"] == judgement.n]
    why = f"grid edge, gap above {100 * GAP:g} %, tasks not converged, or words with tied scores"
    return adding(judgement, warned(rows, why))
