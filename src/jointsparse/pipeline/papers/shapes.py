"""The shapes of claims: from the rows of one case to its number. A row of the papers' claims names one.

Each takes the claim, the tables, and `where`: the rows of the case (see `judging.cases`).
"""

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.pipeline.papers.judging import (
    DOES_NOT_HOLD,
    HOLDS,
    Claim,
    Estimate,
    Judgement,
    NotTested,
    Tables,
    Where,
    columns_of,
    conclude,
    describe,
    geometric_mean_over,
    mean_over,
    once,
    pair,
    rows_with,
    several,
    slope_of,
)
from jointsparse.pipeline.scores.runs import FEWEST_RUNS


def mean(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean over runs."""
    rows = rows_with(tables, claim.table, "run", claim.number, **where)
    return [conclude(claim, mean_over(once(rows, "run")[claim.number]), where)]


def difference(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean difference, paired by run."""
    values, against = (once(rows, "run")[claim.number] for rows in pair(claim, tables, where, "run", claim.number))
    return [conclude(claim, mean_over(values - against), where)]


def ratio_over_runs(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean ratio, paired by run."""
    values, against = (once(rows, "run")[claim.number] for rows in pair(claim, tables, where, "run", claim.number))
    return [conclude(claim, geometric_mean_over(values / against), where)]


def resampled_difference(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean difference over runs, whose interval joins runs with resampled test images."""
    columns = ["difference", "low", "high", "low_words", "high_words", "over_runs", "runs"]
    rows = rows_with(tables, claim.table, *columns, **where)
    require(len(rows) == 1, f"expected one row of {claim.table} with {describe(where)}, got {len(rows)}")
    row = rows[columns].iloc[0].astype(float)
    origin = f"95 % interval, paired bootstrap over test images joined with the t interval over runs; {row.runs:g} runs"
    if np.isnan(row.low):
        origin = f"mean over {row.runs:g} runs, no interval, which takes {FEWEST_RUNS}"
    estimate = Estimate(float(row.difference), float(row.low), float(row.high), origin)
    if row.runs > 1:
        estimate = estimate._replace(freedom=float(row.runs) - 1, over_runs=float(row.over_runs))
    note = ""
    if not np.isnan(row.low_words):
        note = f"; with words as a sample, too: {row.low_words:.3g} to {row.high_words:.3g}"
    beside = rows_with(tables, claim.table, **{column: where[column] for column in where if column != "average"})
    for other in beside[beside["average"] != where["average"]].itertuples():
        note += f"; mean over words {other.average}: {other.difference:.3g}"
    return [conclude(claim, estimate, where).adding(note)]


def largest(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Largest of all rows, which needs no interval."""
    rows = rows_with(tables, claim.table, claim.number, **where)
    return [conclude(claim, Estimate(float(rows[claim.number].max()), np.nan, np.nan, f"of {len(rows)} draws"), where)]


def slope(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Slope of the logarithm over that of x."""
    needed = columns_of(claim.number)
    rows = rows_with(tables, claim.table, claim.x, *needed, **where).dropna(subset=needed)
    require(len(rows), f"table {claim.table} has no {claim.number} with {describe(where)}", NotTested)
    values: pd.Series = rows.eval(claim.number)  # type: ignore[assignment]
    last = rows[claim.x].argmax()
    estimate = slope_of(rows[claim.x], values, rows[claim.group] if claim.group else None)
    return [conclude(claim, estimate, where, at=rows[claim.x].iloc[last], value=values.iloc[last])]


def ratio_slope(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Slope of the logarithm of a ratio over that of x."""
    sides = pair(claim, tables, where, claim.x, claim.number)
    values, against = (rows.set_index(claim.x)[claim.number] for rows in sides)
    ratios = (values / against).dropna()
    require(len(ratios), "the two were not measured at the same sizes", NotTested)
    at = ratios.index.max()
    return [conclude(claim, slope_of(ratios.index, ratios), where, at=at, value=ratios[at])]


def ratio(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Ratio of medians at the largest size that both have."""
    sides = pair(claim, tables, where, claim.x, claim.number, claim.by, "repeats")
    common = set(sides[0][claim.x]) & set(sides[1][claim.x])
    require(common, "the two were not measured at the same sizes", NotTested)
    largest_size = max(common)
    at_largest = (side[side[claim.x] == largest_size].pipe(once, claim.by) for side in sides)
    fastest, against = (rows.nsmallest(1, claim.number).reset_index().to_dict("records")[0] for rows in at_largest)
    middle = np.log(fastest[claim.number] / against[claim.number])
    # Of the logarithms, whose half widths add as those of independent numbers do.
    halves, halves_against = (
        np.log([row.get(end, np.nan) / row[claim.number] for end in ("low", "high")]) for row in (fastest, against)
    )
    low, high = middle - np.hypot(halves[0], halves_against[1]), middle + np.hypot(halves[1], halves_against[0])
    joined = "no interval" if np.isnan(low) else "95 % intervals joined as those of logarithms"
    origin = f"medians of {min(fastest['repeats'], against['repeats'])} repeats, {joined}; timed"
    number, low, high = map(float, np.exp([middle, low, high]))
    estimate = Estimate(number, low, high, origin, wants="more repeats", of_logs=True)
    where = where | {claim.by: fastest[claim.by], claim.x: largest_size}
    # Values of the other row fill the braces of `means`, but the name stays that of the fastest. The judgement has no
    # n, as `means` states it with what it counts.
    return [conclude(claim, estimate, where, **against | {claim.by: fastest[claim.by]})._replace(n=None)]


# From step to step

# Choice: the accuracy 1e-2 of Duchi et al., sec. 7, counts as a fraction of the objective at w = 0. There it is
# absolute, which is a harder mark where that objective is above 1. It depends on the scale of drawn data, which the
# paper does not give.
ACCURACY = 1e-2


def sooner(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean ratio over runs. Where a method never gets there its total cost counts, a lower bound, against
    which nothing is concluded.
    """
    costs = costs_to_accuracy(claim, tables, where)
    judgement = conclude(claim, geometric_mean_over(costs["ratio"]), where)
    for bound, verdict, who in (("bound", HOLDS, claim.by), ("bound_of_other", DOES_NOT_HOLD, "against")):
        if costs[bound].any():
            reached = f"{(~costs[bound]).sum()} of {len(costs)} runs"
            note = f"; {' or '.join(several(where[who]))} gets there in {reached}, in the rest all it spent counts"
            judgement = judgement.withheld(verdict).adding(note)
    return [judgement]


def costs_to_accuracy(claim: Claim, tables: Tables, where: Where) -> pd.DataFrame:
    """Costs until ACCURACY by run, of the best of several methods and of another one.

    Columns: those of `until`, of the other one with the suffix _of_other; ratio. Runs in which no one gets there are
    left out.
    """
    sides = []
    for rows in pair(claim, tables, where, "run", "suboptimality", claim.number):
        uncounted = rows["method"].isin(rows.loc[rows[claim.number].isna(), "method"])
        missing = f"table {claim.table} has no {claim.number} of {' or '.join(rows['method'].unique())}"
        require(not uncounted.all(), f"{missing} with {describe(where)}", NotTested)
        sides.append(until(rows[~uncounted], claim.number, ACCURACY))
    both = sides[0].join(sides[1].add_suffix("_of_other"), how="inner")
    both = both[~(both["bound"] & both["bound_of_other"])]
    return both.assign(ratio=both["spent"] / both["spent_of_other"])


def until(rows: pd.DataFrame, spent: str, accuracy: float) -> pd.DataFrame:
    """Least cost by run at which a method of the rows reaches the accuracy.

    Columns: spent; bound: True if no method reaches it. Then `spent` is the least total cost, a lower bound.
    """
    reached = rows[rows["suboptimality"] <= accuracy].groupby("run")[spent].min()
    in_all = rows.groupby(["run", "method"])[spent].max().groupby("run").min()
    reached = reached.reindex(in_all.index)
    return pd.DataFrame({"spent": reached.fillna(in_all), "bound": reached.isna()})


def difference_after(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean difference, paired by run. Runs are other draws and orders of the same samples, not other samples."""
    values = _side_by_side(claim, tables, where)
    return [conclude(claim, mean_over(values["compared"] - values["against"]), where)]


def ratio_after(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean ratio, paired by run. Runs are other draws and orders of the same samples, not other samples."""
    values = _side_by_side(claim, tables, where)
    return [conclude(claim, geometric_mean_over(values["compared"] / values["against"]), where)]


def _side_by_side(claim: Claim, tables: Tables, where: Where) -> pd.DataFrame:
    """Values of both methods by run, each at its last record until both have spent equally much of x."""
    sides = pair(claim, tables, where, "run", "schedule", "eta0", claim.x, claim.number)
    for rows in sides:
        several_fits = len(rows.drop_duplicates(["run", "schedule", "eta0"])) > rows["run"].nunique()
        require(not several_fits, f"expected one schedule and eta0 per run to read {claim.number} from, got several")
    in_all = pd.concat([rows.groupby("run")[claim.x].max() for rows in sides], axis=1).min(axis=1, skipna=False)
    until_then = (rows[rows[claim.x] <= rows["run"].map(in_all)].sort_values(claim.x, kind="stable") for rows in sides)
    last = [rows.drop_duplicates("run", keep="last").set_index("run")[claim.number] for rows in until_then]
    return pd.DataFrame(dict(zip(("compared", "against"), last, strict=True))).dropna()
