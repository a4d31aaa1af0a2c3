"""The verdicts of our tables on the papers' claims.

A claim is about one number or several, and every number gets a verdict by one rule:

- It holds if its whole 95 % interval lies on the claimed side of the limit.
- It does not hold if its whole interval lies on the other side, also after Holm's correction over the numbers of the
  claim.
- Otherwise it is level if its whole interval lies within the claim's `level`, a difference that does not matter, and
  undecided if not.
- A number without an interval is undecided. So is a number if more than a fifth of its fits are unfinished or lie at
  the edge of a grid.
- A claim is not tested where the tables lack its numbers.
- Accuracy and sparsity on drawn or composed data are a demonstration, without a verdict.

The docstring of a shape states what is special about it, and `rule_of` prints that docstring.

`quattoni.claims` and `duchi.claims` define the claims; `pd.DataFrame(CLAIMS.values(), CLAIMS)` is their table. `shapes`
computes the numbers, `judging` judges them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.pipeline.papers.duchi import claims as duchi
from jointsparse.pipeline.papers.judging import (
    ABOVE,
    BELOW,
    DEMONSTRATION,
    LESS,
    MORE,
    NOT_TESTED,
    STEP_TABLES,
    TIMED_TABLES,
    UNDECIDED,
    Claim,
    Judgement,
    Tables,
    describe,
    judged,
    matching,
    rows_with,
    several,
)
from jointsparse.pipeline.papers.quattoni import claims as quattoni
from jointsparse.pipeline.scores.flags import GAP, unfinished

CLAIMS = quattoni.CLAIMS | duchi.CLAIMS
NOT_JUDGED = duchi.NOT_JUDGED
SECTION_OF = {name: title for title, names in (quattoni.SECTIONS | duchi.SECTIONS).items() for name in names}

_LIMITS = {ABOVE: "above 0", BELOW: "below 0", MORE: "above 1", LESS: "below 1"}
MOST_UNFINISHED = 0.2  # Choice: fraction of the fits that a verdict rests on.

# fmt: off
COLUMNS = (
    "id", "paper", "place", "claim", "n", "number", "low", "high", "least", "most", "number_means", "verdict", "table",
    "rows", "timed",
)
# fmt: on


def judge(tables: Tables, ids: Sequence[str], *, demonstration: bool = False) -> pd.DataFrame:
    """Judge some claims.

    Parameters
    ----------
    tables : mapping
        Tables by name, such as "chosen", "differences", "recovery" or "cost".
    ids : list of str
        Names of CLAIMS.
    demonstration : bool
        True for drawn or composed data, on which accuracy and sparsity get no verdict.

    Returns
    -------
    DataFrame
        A row for each number: one for a claim, or one for each size or comparison that the claim covers. Columns: id,
        paper, place, claim (its sentence in our words), n (the training size, or empty), number, low and high (its
        interval), least and most (the claimed limits), number_means (the quantity, the source of its interval, and
        the number of unfinished fits), verdict, table and rows (where the number comes from), timed.

    Raises
    ------
    ValueError
        If an id is unknown, or a table lacks a column that a claim reads.
    """
    for name in ids:
        require(name in CLAIMS, f"claims must be among {', '.join(CLAIMS)}; got {name!r}")
    records = [
        _record(name, _beside_its_fits(tables, judgement, demonstration))
        for name in ids
        for judgement in judged(CLAIMS[name], tables)
    ]
    return pd.DataFrame(records, columns=list(COLUMNS)).astype({"n": "Int64", "timed": bool})


def _record(name: str, judgement: Judgement) -> dict[str, Any]:
    claim, estimate = judgement.claim, judgement.estimate
    is_tested = judgement.verdict != NOT_TESTED
    return {
        "id": name,
        "paper": claim.paper,
        "place": claim.place,
        "claim": claim.sentence,
        "n": judgement.n,
        "number": estimate.number,
        "low": estimate.low,
        "high": estimate.high,
        "least": claim.least if is_tested else -np.inf,
        "most": claim.most if is_tested else np.inf,
        "number_means": judgement.number_means,
        "verdict": judgement.verdict,
        "table": claim.table,
        "rows": describe(judgement.where),
        "timed": claim.table in TIMED_TABLES,
    }


def rule_of(name: str) -> str:
    """Return the rule of a claim in words: for each of its numbers, what the shape computes, and the limits.

    >>> rule_of("l1-over-l2")
    'Mean difference, paired by run. It holds if it is below 0, and is level within ±0.01.'
    """
    claim = CLAIMS[name]
    return " ".join(dict.fromkeys(map(_rule, (claim, *claim.more))))


def _rule(claim: Claim) -> str:
    ends = [
        _LIMITS.get(end) or f"{word} {end:g}"
        for end, word in ((claim.least, "at least"), (claim.most, "at most"))
        if np.isfinite(end)
    ]
    level = f", and is level within ±{claim.level:g}" * bool(claim.level)
    return f"{' '.join(str(claim.shape.__doc__).split())} It holds if it is {' and '.join(ends)}{level}."


def _beside_its_fits(tables: Tables, judgement: Judgement, demonstration: bool) -> Judgement:
    """Say how many of the compared fits are unfinished. If too many are, the verdict is "undecided"."""
    claim, where = judgement.claim, judgement.where
    if judgement.verdict == NOT_TESTED or not (claim.on_fits or claim.fits in STEP_TABLES):
        return judgement
    if claim.on_fits and demonstration:
        return judgement._replace(verdict=DEMONSTRATION)
    if not len(tables.get(claim.fits, ())):
        return judgement
    compared = {claim.by: (*several(where[claim.by]), *several(where["against"]))} if "against" in where else {}
    fits = matching(rows_with(tables, claim.fits, "warning"), where | compared)
    if claim.fits in STEP_TABLES:
        fits = fits.drop_duplicates(["run", *fits.columns.intersection(["form", "radius", "method"])])
        warned = int((fits["warning"].notna() & (fits["warning"] != "")).sum())
        why = "eta0 at an edge of its grid, or an uncertified optimum"
        judgement = judgement.adding(f"; {warned} of {len(fits)} fits carry a warning ({why})" * bool(warned))
    count = int(unfinished(fits).sum()) if claim.on_fits else 0
    if count:
        judgement = judgement.adding(
            f"; {count} of {len(fits)} fits are unfinished (gap above {100 * GAP:g} %, or at the edge of a grid)"
        )
    if count <= MOST_UNFINISHED * len(fits):
        return judgement
    return judgement.adding(", which is too many for a verdict; finished fits would decide it", verdict=UNDECIDED)
