"""Judge a claim: its number, the interval of that number, and the rows of tables that give them.

`claims` states the rule; `quattoni.claims` and `duchi.claims` hold the claims.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special  # not stats, which takes half a second to import

from jointsparse.checks import require
from jointsparse.scores.many import FEWEST_RUNS, holm

Tables = Mapping[str, pd.DataFrame]

HOLDS, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED = "holds", "does not hold", "undecided", "not tested"
LEVEL = "level"  # of two methods that differ by less than matters
DEMONSTRATION = "demonstration"  # of numbers on drawn or composed data, which are no evidence
VERDICTS = (HOLDS, LEVEL, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED, DEMONSTRATION)

# "Above" and "below" 0, strictly: the closed limits next to it.
ABOVE, BELOW = float(np.nextafter(0.0, 1.0)), float(np.nextafter(0.0, -1.0))

CONFIDENCE = 0.95
SEVERAL_SIZES = 3  # Choice: this number of large sizes is enough for a slope without the small ones.
FAR_BELOW = 0.1  # Choice: "far below" is less than a tenth.
COMPETITIVE = 2  # Choice: at most this many times the cost of another method. The papers give no number.
NEARLY_FLAT_SLOPE = 0.15  # Choice: exponent by which seconds may outgrow the stated cost, as caches overflow.


class Judgement(NamedTuple):
    """A number, its 95 % interval (NaN: there is none) and the verdict they lead to.

    number_means: the quantity with its unit, and the source of its interval; the reason, if not tested. rows: the rows
    of a table that gave the number. n: their size, if there is one. table: its name, if not the claim's first table.
    reversal: one-sided p-value of a number on the wrong side of its limit, 1 on the right side. NaN: no interval.
    least, most: the claimed limits of the number. level: a difference of at most this does not matter.
    """

    number: float
    low: float
    high: float
    verdict: str
    number_means: str
    rows: str
    n: int | None = None
    table: str = ""
    reversal: float = np.nan
    least: float = -np.inf
    most: float = np.inf
    level: float = 0.0


Judge = Callable[[Tables], list[Judgement]]


class Claim(NamedTuple):
    """A claim of a paper, in our words, with the function that judges it; see `claim`."""

    sentence: str
    judge: Judge
    paper: str
    place: str
    tables: tuple[str, ...]
    timed: bool
    of_fits: bool
    instead: str


def claim(
    registered: dict[str, Claim],
    name: str,
    *,
    paper: str,
    place: str,
    tables: tuple[str, ...],
    timed: bool = False,
    of_fits: bool = False,
    instead: str = "",
) -> Callable[[Judge], Judge]:
    """Register the decorated function as the judge of a claim. Its docstring is the claim's sentence.

    Parameters
    ----------
    registered : dict
        The claims of a module, by id.
    name : str
        The id, in kebab-case.
    paper : str
        Its short name and year.
    place : str
        Section, figure or table of the claim.
    tables : tuple of str
        The tables that the function, or the count of warnings, reads. Rows are of the first one unless the judgement
        names another.
    timed : bool
        True if the verdict rests on measured seconds.
    of_fits : bool
        True if the claim is about the accuracy or sparsity of fits. There is no verdict if many of them are unfinished.
    instead : str
        A table with the same columns that replaces the first one in studies without it.
    """

    def register(judge: Judge) -> Judge:
        sentence = " ".join(str(judge.__doc__).split())
        registered[name] = Claim(sentence, judge, paper, place, tables, timed, of_fits, instead)
        return judge

    return register


def either(tables: Tables, name: str, instead: str) -> str:
    """Name of a table, or of its replacement if there is no table of that name."""
    return instead if instead in tables and name not in tables else name


class NotTested(Exception):
    """Raised with the reason if the tables say nothing about a claim."""


class Estimate(NamedTuple):
    """A number, its interval (NaN: none), the source of that interval, and the degrees of freedom of its t quantile.

    over_runs: the part of the interval's half width that more runs make smaller; NaN if none does. wants: what would
    make the interval smaller then.
    """

    number: float
    low: float
    high: float
    origin: str
    freedom: float = np.inf
    over_runs: float = np.nan
    wants: str = "more runs"


def decide(low: float, high: float, least: float, most: float) -> str:
    """Return the verdict on an interval [low, high] that is claimed to lie in [least, most].

    Parameters
    ----------
    low : float
        Lower end of the interval; NaN is undecided.
    high : float
        Upper end.
    least : float
        Lower limit of the claim, included.
    most : float
        Upper limit, included.
    """
    if least <= low and high <= most:
        return HOLDS
    return DOES_NOT_HOLD if high < least or low > most else UNDECIDED


def conclude(
    estimate: Estimate,
    what: str,
    rows: str,
    *,
    n: int | None = None,
    table: str = "",
    least: float = -np.inf,
    most: float = np.inf,
    level: float = 0.0,
    count: bool = False,
) -> Judgement:
    """Judge a number that is claimed to lie in [least, most].

    Parameters
    ----------
    estimate : Estimate
        The number with its interval.
    what : str
        Meaning of the number, with its unit.
    rows : str
        The rows it was computed from; see `describe`.
    n : int, optional
        Their size.
    table : str
        Their table, if not the claim's first one.
    least : float
        Lower limit of the claim, included.
    most : float
        Upper limit, included.
    level : float
        Difference between two methods that does not matter. An undecided one is level if its whole interval is as near
        to 0 as this.
    count : bool
        True for a count, which needs no interval.

    Raises
    ------
    NotTested
        If the number is NaN.
    """
    number, low, high, origin, freedom, over_runs, wants = estimate
    if np.isnan(number):
        raise NotTested(f"{what} is not a number")
    exact = count and np.isnan(low)
    verdict = decide(number, number, least, most) if exact else decide(low, high, least, most)
    reversal = _reversal(number, low, high, least, most, freedom)
    judgement = Judgement(number, low, high, verdict, f"{what}; {origin}", rows, n, table, reversal, least, most, level)
    if verdict == UNDECIDED:
        judgement = _level_or_undecided(judgement)
    if judgement.verdict != UNDECIDED:
        return judgement
    if np.isnan(over_runs):
        return adding(judgement, f"; {wants} would decide it")
    return adding(judgement, _runs_to_decide(judgement, over_runs, round(freedom) + 1))


def _level_or_undecided(judgement: Judgement) -> Judgement:
    """Judgement of a number that lies on neither side of its limits for certain."""
    near = -judgement.level <= judgement.low and judgement.high <= judgement.level
    return judgement._replace(verdict=LEVEL if near else UNDECIDED)


MOST_RUNS = 1000  # Choice: more are no advice


def _runs_to_decide(judgement: Judgement, over_runs: float, runs: int) -> str:
    """About how many runs would decide an undecided judgement, if its number stays; none would if images alone cover.

    over_runs: half width of the t interval over `runs` runs.
    """
    number, low, high, least, most = judgement.number, judgement.low, judgement.high, judgement.least, judgement.most
    ends = [(number - low, number - least), (high - number, most - number)]
    half, distance = min(((half, abs(away)) for half, away in ends), key=lambda end: end[1])
    room = distance**2 - (half**2 - over_runs**2)
    needed = runs * over_runs**2 / room if room > 0 else np.inf
    if needed > MOST_RUNS:
        return "; no number of runs would decide it" if room <= 0 else f"; more than {MOST_RUNS:,} runs would decide it"
    return f"; about {int(np.ceil(needed))} runs would decide it"


def _reversal(number: float, low: float, high: float, least: float, most: float, freedom: float) -> float:
    """One-sided p-value of a number outside [least, most], by the t distribution that its interval comes from."""
    half, distance = (high - number, least - number) if number < least else (number - low, number - most)
    if np.isnan(half) or distance <= 0:
        return float(half * 0 + 1)
    quantile = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))
    return float(special.stdtr(freedom, -quantile * distance / half)) if half > 0 else 0.0


def only_after_holm(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Judgements of a claim, in which "does not hold" remains where Holm's correction over all of them leaves it."""
    tested = [one for one in judgements if not np.isnan(one.reversal)]
    corrected = dict(zip(map(id, tested), holm(np.array([one.reversal for one in tested])), strict=True))
    told = f"; it would not hold alone, but after Holm's correction over {len(tested)} rows more runs would decide it"
    return [
        adding(_level_or_undecided(one), told)
        if one.verdict == DOES_NOT_HOLD and corrected.get(id(one), 0.0) > 1 - CONFIDENCE
        else one
        for one in judgements
    ]


def not_tested(reason: NotTested, n: int | None = None, rows: str = "") -> Judgement:
    """Judgement of a claim that the tables say nothing about."""
    return Judgement(np.nan, np.nan, np.nan, NOT_TESTED, str(reason), rows, n)


def withhold(
    judgement: Judgement, verdict: str, why: str = "no number of runs would decide it, as it is a bound"
) -> Judgement:
    """Turn this verdict into "undecided": the number is a bound, say, and the true one may contradict the verdict."""
    if judgement.verdict != verdict:
        return judgement
    return adding(judgement._replace(verdict=UNDECIDED), f"; {why}")


def adding(judgement: Judgement, *told: str) -> Judgement:
    """Judgement with more text about its number."""
    return judgement._replace(number_means=judgement.number_means + "".join(told))


def each(judge_one: Callable[..., Judgement], tables: Tables, **choices: Iterable[Any]) -> list[Judgement]:
    """One judgement per combination of the choices. A combination without data is not tested; the rest is judged."""
    judgements = []
    for values in product(*choices.values()):
        case = dict(zip(choices, values, strict=True))
        try:
            judgements.append(judge_one(tables, **case))
        except NotTested as reason:
            judgements.append(not_tested(reason, case.get("n"), describe(**case)))
    return judgements


# Rows and estimates


def describe(**where: Any) -> str:
    """Describe the selected rows in words, by a value for each column or a tuple of accepted values."""
    return ", ".join(f"{column}={' or '.join(map(str, _several(value)))}" for column, value in where.items())


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def rows_with(tables: Tables, name: str, /, *needed: str, **where: Any) -> pd.DataFrame:
    """Return the rows of a table with these values, at least one.

    Parameters
    ----------
    tables : mapping
        Tables by name.
    name : str
        The table to read.
    *needed : str
        Other columns that it must have.
    **where : Any
        A value for each column, or a tuple of accepted values.

    Raises
    ------
    NotTested
        If there is no such table or row.
    ValueError
        If the table lacks a column.
    """
    table = tables.get(name)
    if table is None or table.empty:
        raise NotTested(f"there is no table {name}, or it is empty")
    missing = [column for column in (*needed, *where) if column not in table]
    require(not missing, f"table {name} must have the columns {', '.join(missing)}, got {', '.join(map(str, table))}")
    for column, value in where.items():
        table = table[table[column].isin(_several(value))]
    if table.empty:
        raise NotTested(f"table {name} has no row with {describe(**where)}")
    return table


def sizes_of(rows: pd.DataFrame) -> list[int]:
    """Sizes n of the rows, in increasing order."""
    return sorted(int(n) for n in rows["n"].unique())


def known(rows: pd.DataFrame, column: str, names: str | tuple[str, ...]) -> str:
    """First of these names that the column has."""
    found = [name for name in _several(names) if name in set(rows[column])]
    if not found:
        raise NotTested(f"there is no row with {describe(**{column: names})}")
    return found[0]


def mean_over(values: pd.Series, of: str = "run") -> Estimate:
    """Mean and t interval of values, one per run or per `of`. NaN are left out. Few values have no interval."""
    there = values.dropna().to_numpy(dtype=float)
    if not len(there):
        raise NotTested(f"no {of} has all numbers that are needed")
    mean = float(there.mean())
    if len(there) < FEWEST_RUNS:
        counted = f"one {of}" if len(there) == 1 else f"mean over {len(there)} {of}s"
        return Estimate(mean, np.nan, np.nan, f"{counted}, no interval, which takes {FEWEST_RUNS}")
    half = float(special.stdtrit(len(there) - 1, (1 + CONFIDENCE) / 2) * there.std(ddof=1) / np.sqrt(len(there)))
    origin = f"mean and 95 % t interval over {len(there)} {of}s"
    return Estimate(mean, mean - half, mean + half, origin, len(there) - 1, half)


def geometric_mean_over(ratios: pd.Series, of: str = "run") -> Estimate:
    """Geometric mean of ratios and its interval, computed from their logarithms."""
    if not ratios.dropna().between(0, np.inf, inclusive="neither").all():
        raise NotTested("a geometric mean needs positive, finite numbers")
    mean = mean_over(np.log(ratios), of)
    number, low, high = np.exp(mean[:3])
    return mean._replace(
        number=number,
        low=low,
        high=high,
        origin=mean.origin.replace("mean", "geometric mean"),
        over_runs=np.nan,
        wants=f"more {of}s",
    )


def by_run(rows: pd.DataFrame, value: str) -> pd.Series:
    """Return a column by run. The rows must hold each run once."""
    require(
        not rows["run"].duplicated().any(),
        f"expected one row per run to read {value} from, got {len(rows)} for {rows['run'].nunique()}",
    )
    return rows.set_index("run")[value]


def paired_difference(
    tables: Tables, name: str, value: str, where: dict[str, Any], by: str, one: str, other: str
) -> Estimate:
    """Mean difference of a value between two kinds of rows, paired by run.

    Parameters
    ----------
    tables : mapping
        Tables by name.
    name : str
        The table.
    value : str
        Its column that is compared.
    where : dict
        Selects the rows of both kinds; see `rows_with`.
    by : str
        The column that tells the two kinds apart.
    one : str
        Value of `by` in the rows that count as plus.
    other : str
        Value of `by` in the rows that count as minus.
    """
    left, right = (
        by_run(rows_with(tables, name, "run", value, **where, **{by: which}), value) for which in (one, other)
    )
    return mean_over(left - right)


def warned(fits: pd.DataFrame, why: str) -> str:
    """Count the fits, one per row, that carry a warning, as text. why: the subjects of such warnings."""
    count = int((fits["warning"].notna() & (fits["warning"] != "")).sum())
    return f"; {count} of {len(fits)} fits carry a warning ({why})" if count else ""


class Line(NamedTuple):
    """A straight line through points: its slope with a 95 % interval (NaN below 3 points), and their scatter.

    scatter: logarithm of a factor. The ratio of two points agrees with the line within that factor in 95 of 100 cases.
    """

    slope: float
    low: float
    high: float
    scatter: float


def log_log(x: np.ndarray, y: np.ndarray, group: np.ndarray | None = None) -> Line:
    """Least squares of log y on log x. All groups of points share one slope, each has its own intercept."""
    if not ((x > 0) & (y > 0) & np.isfinite(y)).all():
        raise NotTested("a slope between logarithms needs positive, finite numbers")
    points = pd.DataFrame({"u": np.log(x), "v": np.log(y)})
    groups = points.groupby(np.zeros(len(x)) if group is None else group)
    if groups["u"].nunique().max() < 2:
        raise NotTested(f"a slope needs two sizes, got {groups['u'].nunique().max()}")
    u, v = (points - groups.transform("mean")).to_numpy().T
    spread = float(u @ u)
    slope = float(u @ v) / spread
    freedom = len(points) - groups.ngroups - 1
    if freedom == 0:
        return Line(slope, np.nan, np.nan, np.nan)
    residual = v - slope * u
    error = np.sqrt(float(residual @ residual) / freedom)
    quantile = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))
    half = quantile * error / np.sqrt(spread)
    return Line(slope, slope - half, slope + half, quantile * error * np.sqrt(2))


def slope_of(x: np.ndarray, y: np.ndarray, group: np.ndarray | None = None) -> Estimate:
    """Slope of `log_log` and its t interval."""
    groups = 1 if group is None else len(np.unique(group))
    origin = f"log-log slope over {len(x)} sizes, 95 % t interval"
    return Estimate(*log_log(x, y, group)[:3], origin, max(len(x) - groups - 1, 1), wants="more sizes")


def ratio_slope(rows: pd.DataFrame, others: pd.DataFrame) -> tuple[Estimate, str]:
    """Slope of `log_log` of the ratio of seconds of two methods over x, and the ratio at the largest x in words."""
    ratio = (rows.set_index("x")["seconds"] / others.set_index("x")["seconds"]).dropna().sort_index()
    if ratio.empty:
        raise NotTested("the two were not measured at the same sizes")
    largest = f" (at {ratio.index[-1]:,.0f} the ratio is {ratio.iloc[-1]:.3g})"
    return slope_of(ratio.index.to_numpy(dtype=float), ratio.to_numpy()), largest


def ratio_of_medians(one: dict[Any, Any], other: dict[Any, Any]) -> Estimate:
    """Ratio of the seconds of two rows. The interval rests on the intervals of the medians, if the rows have any."""
    ratio, origin = one["seconds"] / other["seconds"], f"medians of {min(one['repeats'], other['repeats'])} repeats"
    if "low" not in one:
        return Estimate(ratio, np.nan, np.nan, f"{origin}, no interval; timed", wants="more repeats")
    low, high = one["low"] / other["high"], one["high"] / other["low"]
    return Estimate(
        ratio, low, high, f"{origin}, the ends of their 95 % intervals divided; timed", wants="more repeats"
    )


def ratio_at_largest(rows: pd.DataFrame, others: pd.DataFrame) -> tuple[Estimate, float]:
    """Ratio of seconds at the largest x that both methods were measured at, and this x."""
    common = set(rows["x"]) & set(others["x"])
    if not common:
        raise NotTested("the two were not measured at the same sizes")
    x = max(common)
    one, other = (of.set_index("x").loc[x].to_dict() for of in (rows, others))
    return ratio_of_medians(one, other), x


def without_small(rows: pd.DataFrame, selector: str, least: float) -> tuple[str, pd.DataFrame]:
    """Drop the rows whose x is below `least` if several sizes remain. Return the selector in words, and the rows."""
    large = rows[rows["x"] >= least]
    if large["x"].nunique() < SEVERAL_SIZES:
        return selector, rows
    return f"{selector}, x>={least:g}", large
