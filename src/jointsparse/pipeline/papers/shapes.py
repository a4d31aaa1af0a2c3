"""The shapes of claims: functions that compute the estimate for a claim from the rows of a case, and judge it.

Each function takes the claim, the tables, and `where`, which selects the rows of the case (see `judging.cases`). The
docstring of a shape is printed on the page of claims, followed by the claim's limits, so it begins with a noun phrase.
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
    """Mean difference over runs. The interval combines the variation over runs with that over resampled test images."""
    columns = ["difference", "low", "high", "low_words", "high_words", "over_runs", "runs"]
    rows = rows_with(tables, claim.table, *columns, **where)
    require(len(rows) == 1, f"there must be one row of {claim.table} with {describe(where)}, got {len(rows)}")
    row = rows[columns].iloc[0].astype(float)
    origin = f"95 % interval, paired bootstrap over test images joined with the t interval over runs; {row.runs:g} runs"
    if np.isnan(row.low):
        origin = f"mean over {row.runs:g} runs, no interval, which needs {FEWEST_RUNS}"
    estimate = Estimate(float(row.difference), float(row.low), float(row.high), origin)
    if row.runs > 1:
        estimate = estimate._replace(freedom=float(row.runs) - 1, over_runs=float(row.over_runs))
    note = ""
    if not np.isnan(row.low_words):
        note = f"; interval if words are resampled, too: {row.low_words:.3g} to {row.high_words:.3g}"
    beside = rows_with(tables, claim.table, **{column: where[column] for column in where if column != "average"})
    for other in beside[beside["average"] != where["average"]].itertuples():
        note += f"; mean over words {other.average}: {other.difference:.3g}"
    return [conclude(claim, estimate, where).adding(note)]


def largest(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Largest value in all rows. It needs no interval."""
    rows = rows_with(tables, claim.table, claim.number, **where)
    return [conclude(claim, Estimate(float(rows[claim.number].max()), np.nan, np.nan, f"of {len(rows)} draws"), where)]


def slope(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Least-squares slope of the logarithm of the quantity against the logarithm of the size."""
    needed = columns_of(claim.number)
    rows = rows_with(tables, claim.table, claim.x, *needed, **where).dropna(subset=needed)
    require(len(rows), f"table {claim.table} has no {claim.number} with {describe(where)}", NotTested)
    values: pd.Series = rows.eval(claim.number)  # type: ignore[assignment]
    last = rows[claim.x].argmax()
    estimate = slope_of(rows[claim.x], values, rows[claim.group] if claim.group else None)
    return [conclude(claim, estimate, where, at=rows[claim.x].iloc[last], value=values.iloc[last])]


def ratio_slope(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Least-squares slope of the logarithm of the ratio of two methods against the logarithm of the size."""
    sides = pair(claim, tables, where, claim.x, claim.number)
    values, against = (rows.set_index(claim.x)[claim.number] for rows in sides)
    ratios = (values / against).dropna()
    require(len(ratios), "the two methods were not measured at the same sizes", NotTested)
    at = ratios.index.max()
    return [conclude(claim, slope_of(ratios.index, ratios), where, at=at, value=ratios[at])]


def ratio(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Ratio of the median timings of two methods at the largest size at which both were measured."""
    sides = pair(claim, tables, where, claim.x, claim.number, claim.by, "repeats")
    common = set(sides[0][claim.x]) & set(sides[1][claim.x])
    require(common, "the two methods were not measured at the same sizes", NotTested)
    largest_size = max(common)
    at_largest = (side[side[claim.x] == largest_size].pipe(once, claim.by) for side in sides)
    fastest, against = (rows.nsmallest(1, claim.number).reset_index().to_dict("records")[0] for rows in at_largest)
    middle = np.log(fastest[claim.number] / against[claim.number])
    # The logarithms of the two medians are independent, so the squares of their half-widths add up.
    halves, halves_against = (
        np.log([row.get(end, np.nan) / row[claim.number] for end in ("low", "high")]) for row in (fastest, against)
    )
    low, high = middle - np.hypot(halves[0], halves_against[1]), middle + np.hypot(halves[1], halves_against[0])
    joined = "no interval" if np.isnan(low) else "95 % interval from both intervals, on the log scale"
    origin = f"medians of {min(fastest['repeats'], against['repeats'])} repeats, {joined}; timed"
    number, low, high = map(float, np.exp([middle, low, high]))
    estimate = Estimate(number, low, high, origin, wants="more repeats", of_logs=True)
    where = where | {claim.by: fastest[claim.by], claim.x: largest_size}
    # The values of the slower row fill the braces of `means`, but `name` comes from the fastest row. The judgement
    # has no n, because `means` says what n counts.
    return [conclude(claim, estimate, where, **against | {claim.by: fastest[claim.by]})._replace(n=None)]


# Experiments that record every step

# Choice: we take the accuracy 1e-2 of Duchi et al., sec. 7, as a fraction of the objective at w = 0. In the paper it is
# absolute. An absolute accuracy is stricter if that objective is above 1, and depends on the scale of the random data,
# which the paper does not give.
ACCURACY = 1e-2


def sooner(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean over runs of the ratio of the two costs. If a method never reaches the accuracy, its total cost
    is used as a lower bound, and a verdict in favour of which the bound is biased is withheld.
    """
    costs = costs_to_accuracy(claim, tables, where)
    judgement = conclude(claim, geometric_mean_over(costs["ratio"]), where)
    for bound, verdict, who in (("bound", HOLDS, claim.by), ("bound_of_other", DOES_NOT_HOLD, "against")):
        if costs[bound].any():
            reached = f"{(~costs[bound]).sum()} of {len(costs)} runs"
            name = " or ".join(several(where[who]))
            note = f"; {name} reaches the accuracy in {reached}; in the other runs, its total cost counts"
            judgement = judgement.withheld(verdict).adding(note)
    return [judgement]


def costs_to_accuracy(claim: Claim, tables: Tables, where: Where) -> pd.DataFrame:
    """Return the costs of reaching ACCURACY in each run: those of the claim's best method and of the other method.

    The table has the columns of `until` for the best method, the same columns with the suffix _of_other for the other
    method, and the ratio of the two costs in `ratio`. Runs in which no method reaches the accuracy are left out.
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
    """Return for each run the lowest cost at which any of the methods in the rows reaches the accuracy.

    The column `spent` has the cost. The column `bound` is True if no method reaches the accuracy. In this case, the
    cost is the lowest total cost of a method, which is a lower bound.
    """
    reached = rows[rows["suboptimality"] <= accuracy].groupby("run")[spent].min()
    totals = rows.groupby(["run", "method"])[spent].max().groupby("run").min()
    reached = reached.reindex(totals.index)
    return pd.DataFrame({"spent": reached.fillna(totals), "bound": reached.isna()})


def difference_after(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean difference, paired by run. The runs use the same samples, but draw and order them differently."""
    values = _side_by_side(claim, tables, where)
    return [conclude(claim, mean_over(values["compared"] - values["against"]), where)]


def ratio_after(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean ratio, paired by run. The runs use the same samples, but draw and order them differently."""
    values = _side_by_side(claim, tables, where)
    return [conclude(claim, geometric_mean_over(values["compared"] / values["against"]), where)]


def _side_by_side(claim: Claim, tables: Tables, where: Where) -> pd.DataFrame:
    """Return the values of both methods in each run, read where x reaches the smaller of the two methods' totals."""
    sides = pair(claim, tables, where, "run", "schedule", "eta0", claim.x, claim.number)
    for rows in sides:
        several_fits = len(rows.drop_duplicates(["run", "schedule", "eta0"])) > rows["run"].nunique()
        require(not several_fits, f"each run must have one schedule and eta0 to read {claim.number} from, got several")
    total = pd.concat([rows.groupby("run")[claim.x].max() for rows in sides], axis=1).min(axis=1, skipna=False)
    until_then = (rows[rows[claim.x] <= rows["run"].map(total)].sort_values(claim.x, kind="stable") for rows in sides)
    last = [rows.drop_duplicates("run", keep="last").set_index("run")[claim.number] for rows in until_then]
    return pd.DataFrame(dict(zip(("compared", "against"), last, strict=True))).dropna()
