"""The papers' claims, and the verdicts of our tables on them.

One rule for all. A claim holds if the whole 95 % interval of its number lies on the claimed side of a threshold. It
does not hold if the whole interval lies on the other side, also after Holm's correction over the rows of the claim.
Otherwise two methods are level if the whole interval is nearer to 0 than a margin that stands with the claim, and the
claim is undecided if not. A number without interval is always undecided. So is a number of fits of which more than a
fifth are unfinished or at the edge of a grid. A claim about numbers that the tables lack is not tested. Accuracy and
sparsity on drawn or composed data are a demonstration and have no verdict. EXCEPTIONS lists the exceptions.

Sources: see `quattoni.claims` and `duchi.claims`, which hold the claims. `judging` holds the arithmetic.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from jointsparse.checks import require
from jointsparse.papers.duchi import claims as duchi
from jointsparse.papers.judging import (
    DEMONSTRATION,
    DOES_NOT_HOLD,
    HOLDS,
    LEVEL,
    NOT_TESTED,
    UNDECIDED,
    VERDICTS,
    Claim,
    Judgement,
    NotTested,
    Tables,
    adding,
    either,
    not_tested,
    only_after_holm,
    rows_with,
)
from jointsparse.papers.quattoni import claims as quattoni
from jointsparse.scores.flags import GAP, unfinished

CLAIMS = quattoni.CLAIMS | duchi.CLAIMS
EXCEPTIONS = quattoni.EXCEPTIONS + duchi.EXCEPTIONS
NOT_JUDGED = duchi.NOT_JUDGED

MOST_UNFINISHED = 0.2  # Choice: of the fits that a verdict rests on.
TABLES_OF_FITS = ("chosen", "sparsity", "recovery")  # those whose rows are fits
TABLES_OF_STEPS = ("exponentiated", "exponentiated_seconds", "digits", "online")  # records of fits
FIT = ["run", "form", "radius", "method"]  # tell the fits of a table of steps apart

# fmt: off
COLUMNS = (
    "id", "paper", "place", "claim", "n", "number", "low", "high", "least", "most", "number_means", "verdict", "table",
    "rows", "timed",
)
# fmt: on


def judge(tables: Tables, ids: Sequence[str], *, demonstration: bool = False) -> pd.DataFrame:
    """Judge some claims: one row per claim, or per size or comparison if the claim is about several.

    tables: by name, such as "chosen", "differences", "recovery" or "cost". ids: names of CLAIMS. demonstration: True
    for drawn or composed data, on which accuracy and sparsity have no verdict.

    Columns: id, paper, place, claim (in our words), n (size or empty), number, low, high, least, most, number_means,
    verdict, table, rows (see `Judgement`), timed. number_means counts unfinished fits if the claim is about fits.
    Raises ValueError for an unknown id, with the known ones, and for a table without a column that a claim reads.
    """
    records: list[dict[str, Any]] = []
    for name in ids:
        require(name in CLAIMS, f"claims knows {', '.join(CLAIMS)}; got {name!r}")
        claim = CLAIMS[name]
        source = {"id": name, "paper": claim.paper, "place": claim.place, "claim": claim.sentence, "timed": claim.timed}
        try:
            judgements = only_after_holm(claim.judge(tables))
            if claim.of_fits:
                judgements = [_of_finished_fits(tables, claim, one, demonstration) for one in judgements]
        except NotTested as reason:
            judgements = [not_tested(reason)]
        first = either(tables, claim.tables[0], claim.instead)
        of_claim = [one._asdict() | {"table": one.table or first} for one in judgements]
        records += [source | {key: value for key, value in one.items() if key in COLUMNS} for one in of_claim]
    return pd.DataFrame(records, columns=list(COLUMNS)).astype({"n": "Int64"})


def overall(verdicts: Iterable[str]) -> str:
    """Verdict on a claim of several rows.

    It is the first of "does not hold", "undecided", "level", "holds", "demonstration" that a row has, or "not tested".
    Raises ValueError for an unknown verdict.

    >>> overall(["holds", "not tested", "undecided"])
    'undecided'
    """
    found = set(verdicts)
    unknown = sorted(map(str, found - set(VERDICTS)))
    require(not unknown, f"verdicts must be of {', '.join(VERDICTS)}, got {', '.join(unknown)}")
    return next((one for one in (DOES_NOT_HOLD, UNDECIDED, LEVEL, HOLDS, DEMONSTRATION) if one in found), NOT_TESTED)


def _of_finished_fits(tables: Tables, claim: Claim, judgement: Judgement, demonstration: bool) -> Judgement:
    """Judgement without a verdict if too many of the fits that it compares are unfinished, and how many are."""
    if demonstration and judgement.verdict != NOT_TESTED:
        return judgement._replace(verdict=DEMONSTRATION)
    read = (*claim.tables, either(tables, claim.tables[0], claim.instead))
    known = (*TABLES_OF_FITS, *TABLES_OF_STEPS)
    name = next((name for name in known if name in read and len(tables.get(name, ()))), None)
    if judgement.verdict == NOT_TESTED or name is None:
        return judgement
    fits = rows_with(tables, name, "warning")
    if name in TABLES_OF_STEPS:
        fits = fits.drop_duplicates([column for column in FIT if column in fits])
    if judgement.n is not None:
        fits = fits[fits["n"] == judgement.n]
    for column, values in re.findall(r"(form|radius)=([^,]+)", judgement.rows):
        fits = fits[fits[column].astype(str).isin(values.split(" or "))] if column in fits else fits
    named = set(re.findall(r"[\w-]+", judgement.rows))
    for column in ("method", "radius_rule", "solver"):
        if column in fits and named & set(fits[column]):
            fits = fits[fits[column].isin(named)]
    count = int(unfinished(fits).sum())
    if not count:
        return judgement
    told = f"; {count} of {len(fits)} fits are unfinished (gap above {100 * GAP:g} %, edge of a grid)"
    if count <= MOST_UNFINISHED * len(fits):
        return adding(judgement, told)
    return adding(
        judgement._replace(verdict=UNDECIDED), told, ", too many for a verdict, which finished ones would decide"
    )
