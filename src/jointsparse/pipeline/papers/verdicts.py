"""Judge the papers' claims by our tables.

A claim is about one or more quantities. Each quantity is estimated from the tables, and every estimate gets a verdict
by the same rule:

- The claim holds if the whole 95 % interval lies on the claimed side of the limit.
- It does not hold if the whole interval lies on the other side, and still does after Holm's correction over all
  estimates for the claim.
- Otherwise the claim is level if the whole interval lies within plus or minus the claim's `level`, the largest
  difference that does not matter. If not, it is undecided.
- An estimate without an interval leaves the claim undecided. So does an estimate if more than a fifth of the fits on
  which it is based are unfinished or lie at the edge of a grid.
- A claim is not tested if the tables lack the rows that it needs.
- Estimates of accuracy and sparsity on drawn or composed data are a demonstration and get no verdict.

Some shapes have additional rules. Their docstrings state these rules, and `rule_of` returns them.

`quattoni.claims` and `duchi.claims` define the claims; `pd.DataFrame(CLAIMS.values(), CLAIMS)` shows them as a table.
`shapes` computes the estimates, `judging` judges them.
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
MOST_UNFINISHED = 0.2  # Choice: largest fraction of unfinished fits on which a verdict may rest.

# fmt: off
COLUMNS = (
    "id", "paper", "place", "claim", "n", "number", "low", "high", "least", "most", "number_means", "verdict", "table",
    "rows", "timed",
)
# fmt: on


def judge(tables: Tables, ids: Sequence[str], *, demonstration: bool) -> pd.DataFrame:
    """Judge the claims with the given names.

    Parameters
    ----------
    tables : mapping
        The tables by name, such as "chosen", "differences", "recovery" or "cost".
    ids : list of str
        Names of claims, which are keys of CLAIMS.
    demonstration : bool
        True for drawn or composed data, for which accuracy and sparsity get no verdict.

    Returns
    -------
    DataFrame
        A row for each estimate: one for a claim, or one for each size or comparison that the claim covers. Columns:

        - id: name of the claim.
        - paper, place: where the claim is made.
        - claim: the claim in our words.
        - n: size of the training sets, or missing.
        - number: the estimate.
        - low, high: ends of the estimate's interval.
        - least, most: the limits of the claim.
        - number_means: what was estimated, how its interval was computed, and how many fits are unfinished.
        - verdict.
        - table, rows: the rows from which the estimate was computed.
        - timed: whether the verdict is based on timings.

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
    """Describe how a claim is judged: what is estimated for each of its quantities, and which limits apply.

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
    """Add a note on how many of the compared fits are unfinished. If too many are, make the verdict "undecided"."""
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
