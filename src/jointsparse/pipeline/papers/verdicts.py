"""The verdicts of our tables on the papers' claims.

One rule for all. A claim holds if the whole 95 % interval of its number lies on the claimed side of a threshold. It
does not hold if the whole interval lies on the other side, also after Holm's correction over the rows of the claim.
Otherwise two methods are level if the whole interval is nearer to 0 than a margin that stands with the claim, and the
claim is undecided if not. A number without interval is always undecided. So is a number of fits of which more than a
fifth are unfinished or at the edge of a grid. A claim about numbers that the tables lack is not tested. Accuracy and
sparsity on drawn or composed data are a demonstration and have no verdict. A shape's docstring says what is
special about it, and `rule_of` prints it.

The claims are rows of `quattoni.claims` and `duchi.claims`. Their table is `pd.DataFrame(CLAIMS.values(), CLAIMS)`.
`shapes` computes the numbers, `judging` judges them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.pipeline.papers.duchi import claims as duchi
from jointsparse.pipeline.papers.judging import (
    ABOVE,
    BELOW,
    DEMONSTRATION,
    DOES_NOT_HOLD,
    HOLDS,
    LESS,
    LEVEL,
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

_SAID = {ABOVE: "above 0", BELOW: "below 0", MORE: "above 1", LESS: "below 1"}
MOST_UNFINISHED = 0.2  # Choice: of the fits that a verdict rests on.

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
    verdict, table, rows (those that gave the number), timed. number_means says where the interval comes from, and
    counts unfinished fits if the claim is about fits.
    Raises ValueError for an unknown id, with the known ones, and for a table without a column that a claim reads.
    """
    for name in ids:
        require(name in CLAIMS, f"claims knows {', '.join(CLAIMS)}; got {name!r}")
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
    """The rule of a claim in words, of each of its numbers: what its shape does, and its limits.

    >>> rule_of("selection-sparser")
    'Geometric mean ratio, paired by run. Not tested if both use relevant features only. It holds below 1.'
    """
    claim = CLAIMS[name]
    return " ".join(dict.fromkeys(map(_rule, (claim, *claim.more))))


def _rule(claim: Claim) -> str:
    ends = [
        _SAID.get(end) or f"{word} {end:g}"
        for end, word in ((claim.least, "from"), (claim.most, "up to"))
        if np.isfinite(end)
    ]
    level = f", and is level within ±{claim.level:g}" * bool(claim.level)
    return f"{' '.join(str(claim.shape.__doc__).split())} It holds {' '.join(ends)}{level}."


def overall(verdicts: Iterable[str]) -> str:
    """Verdict on a claim of several rows.

    It is the first of "does not hold", "undecided", "level", "holds", "demonstration" that a row has, or "not tested".

    >>> overall(["holds", "not tested", "undecided"])
    'undecided'
    """
    given = set(verdicts)
    ranked = (DOES_NOT_HOLD, UNDECIDED, LEVEL, HOLDS, DEMONSTRATION)
    return next((verdict for verdict in ranked if verdict in given), NOT_TESTED)


def _beside_its_fits(tables: Tables, judgement: Judgement, demonstration: bool) -> Judgement:
    """Say how many of the fits that are compared are unfinished. There is no verdict if too many are."""
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
        why = "eta0 at an edge of its grid, or an optimum that is not certified"
        judgement = judgement.adding(f"; {warned} of {len(fits)} fits carry a warning ({why})" * bool(warned))
    count = int(unfinished(fits).sum()) if claim.on_fits else 0
    if count:
        judgement = judgement.adding(
            f"; {count} of {len(fits)} fits are unfinished (gap above {100 * GAP:g} %, edge of a grid)"
        )
    if count <= MOST_UNFINISHED * len(fits):
        return judgement
    return judgement.adding(", too many for a verdict, which finished ones would decide", verdict=UNDECIDED)
