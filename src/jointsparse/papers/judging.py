"""How a claim is judged: its number, the interval of that number, and the rows of tables that give them.

The rule stands at the head of `claims`. The claims themselves are in `quattoni.claims` and `duchi.claims`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special  # not stats, which takes half a second to import

Tables = Mapping[str, pd.DataFrame]

HOLDS, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED = "holds", "does not hold", "undecided", "not tested"
VERDICTS = (HOLDS, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED)

# "Above" and "below" 0, strictly: the closed limits next to it.
ABOVE, BELOW = float(np.nextafter(0.0, 1.0)), float(np.nextafter(0.0, -1.0))

CONFIDENCE = 0.95
SEVERAL_SIZES = 3  # Choice: so many large sizes make a slope without the smaller ones.
FAR_BELOW = 0.1  # Choice: "far below" is less than a tenth.
NEARLY_FLAT_SLOPE = 0.15  # Choice: so slowly may seconds, over what they should be, grow; larger data leave the caches.


class Judgement(NamedTuple):
    """A number, its 95 % interval (NaN: there is none) and the verdict they lead to.

    number_means: what the number is, with its unit, and where the interval comes from; why, if not tested. rows: which
    rows of a table gave it. n: their size, if there is one. table: which table, if not the first that the claim names.
    """

    number: float
    low: float
    high: float
    verdict: str
    number_means: str
    rows: str
    n: int | None = None
    table: str = ""


class Claim(NamedTuple):
    """A claim: where it stands, in our words, the tables it reads, its judge.

    tables: the first is the one whose rows are named, unless the judgement says otherwise. instead: a table of the same
    columns that takes the place of the first where a study has no such table. timed: whether it rests on
    measured seconds. of_fits: whether it compares fits of table "chosen", whose warnings then count.
    """

    paper: str
    place: str
    sentence: str
    tables: tuple[str, ...]
    judge: Callable[[Tables], list[Judgement]]
    timed: bool = False
    of_fits: bool = False
    instead: str = ""


def either(tables: Tables, name: str, instead: str) -> str:
    """The name of a table, or of the one that takes its place where there is none of that name."""
    return instead if instead in tables and name not in tables else name


class NotTested(Exception):
    """Why the tables do not say anything about a claim."""


class Estimate(NamedTuple):
    """A number, its interval (NaN: none), and where the interval comes from."""

    number: float
    low: float
    high: float
    origin: str


def decide(low: float, high: float, least: float, most: float) -> str:
    """Whether all, none or some of [low, high] is in [least, most]; NaN: undecided."""
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
    count: bool = False,
) -> Judgement:
    """The judgement of a number that is claimed to be in [least, most]; a count needs no interval."""
    number, low, high, origin = estimate
    if np.isnan(number):
        raise NotTested(f"{what} is not a number")
    exact = count and np.isnan(low)
    verdict = decide(number, number, least, most) if exact else decide(low, high, least, most)
    return Judgement(number, low, high, verdict, f"{what}; {origin}", rows, n, table)


def not_tested(reason: NotTested, n: int | None = None, rows: str = "") -> Judgement:
    return Judgement(np.nan, np.nan, np.nan, NOT_TESTED, str(reason), rows, n)


def withhold(judgement: Judgement, verdict: str) -> Judgement:
    """The judgement of a number that is a bound, where the true one may speak against this verdict."""
    return judgement._replace(verdict=UNDECIDED) if judgement.verdict == verdict else judgement


def each(judge_one: Callable[..., Judgement], tables: Tables, **choices: Iterable[Any]) -> list[Judgement]:
    """One judgement per combination of the choices; what one of them lacks does not keep the rest from being judged."""
    judgements = []
    for values in product(*choices.values()):
        case = dict(zip(choices, values, strict=True))
        try:
            judgements.append(judge_one(tables, **case))
        except NotTested as reason:
            judgements.append(not_tested(reason, case.get("n"), describe(**case)))
    return judgements


def worst_of(judgements: Sequence[Judgement], badness: Callable[[float], float]) -> Judgement:
    """The judgement that speaks most against a claim, for a claim about all sizes; badness: of a number."""
    tested = [one for one in judgements if one.verdict != NOT_TESTED]
    if not tested:
        return judgements[0]
    severity = (HOLDS, UNDECIDED, DOES_NOT_HOLD)
    worst = max(tested, key=lambda one: (severity.index(one.verdict), badness(one.number)))
    sizes = ", ".join(str(one.n) for one in tested)
    return worst._replace(rows=f"{worst.rows}, the worst of n={sizes}")


# Rows and estimates


def describe(**where: Any) -> str:
    """What selects rows, in words; of several values, any will do."""
    several = {column: value if isinstance(value, tuple) else (value,) for column, value in where.items()}
    return ", ".join(f"{column}={' or '.join(map(str, values))}" for column, values in several.items())


def select(tables: Tables, name: str, /, *needed: str, **where: Any) -> pd.DataFrame:
    """The rows of a table with these values in these columns, at least one. needed: other columns it must have.

    where: a value for each column, or a tuple of values of which any will do.
    """
    table = tables.get(name)
    if table is None or table.empty:
        raise NotTested(f"there is no table {name}, or it is empty")
    missing = [column for column in (*needed, *where) if column not in table]
    if missing:
        raise ValueError(f"table {name} must have the columns {', '.join(missing)}, got {', '.join(map(str, table))}")
    for column, value in where.items():
        table = table[table[column].isin(value if isinstance(value, tuple) else (value,))]
    if table.empty:
        raise NotTested(f"table {name} has no row with {describe(**where)}")
    return table


def sizes_of(rows: pd.DataFrame) -> list[int]:
    return sorted(int(n) for n in rows["n"].unique())


def known(rows: pd.DataFrame, column: str, names: tuple[str, ...]) -> str:
    """The first of some methods that the rows have."""
    there = set(rows[column])
    for name in names:
        if name in there:
            return name
    raise NotTested(f"there is no row with {column}={' or '.join(names)}")


def mean_over(values: pd.Series, of: str = "run") -> Estimate:
    """The mean over runs and its t interval. values: one per run, or per `of`; NaN are left out."""
    there = values.dropna().to_numpy(dtype=float)
    if not len(there):
        raise NotTested(f"no {of} has the numbers that it takes")
    mean = float(there.mean())
    if len(there) == 1:
        return Estimate(mean, np.nan, np.nan, f"one {of}, no interval")
    half = float(special.stdtrit(len(there) - 1, (1 + CONFIDENCE) / 2) * there.std(ddof=1) / np.sqrt(len(there)))
    return Estimate(mean, mean - half, mean + half, f"mean and 95 % t interval over {len(there)} {of}s")


def geometric_mean_over(ratios: pd.Series, of: str = "run") -> Estimate:
    """The same of ratios, by way of their logarithms."""
    if not ratios.dropna().between(0, np.inf, inclusive="neither").all():
        raise NotTested("a geometric mean needs positive, finite numbers")
    mean = mean_over(np.log(ratios), of)
    number, low, high = np.exp(mean[:3])
    return Estimate(number, low, high, mean.origin.replace("mean", "geometric mean"))


def by_run(rows: pd.DataFrame, value: str) -> pd.Series:
    """A column by run, of rows that hold each run once."""
    if rows["run"].duplicated().any():
        raise ValueError(f"expected one row per run to read {value} from, got {len(rows)} for {rows['run'].nunique()}")
    return rows.set_index("run")[value]


def paired_difference(
    tables: Tables, name: str, value: str, where: dict[str, Any], by: str, one: str, other: str
) -> Estimate:
    """A value at one minus the value at other, paired by run. one, other: what stands in the column `by`."""
    left, right = (by_run(select(tables, name, "run", value, **where, **{by: which}), value) for which in (one, other))
    return mean_over(left - right)


def warned(fits: pd.DataFrame, why: str) -> str:
    """What to say of fits, one per row, if any carries a warning. why: what warnings may be about."""
    count = int((fits["warning"].notna() & (fits["warning"] != "")).sum())
    return f"; {count} of {len(fits)} fits carry a warning ({why})" if count else ""


class Line(NamedTuple):
    """A straight line through points: its slope with a 95 % interval (NaN below 3 points) and how far points scatter.

    scatter: the factor within which the ratio of two points agrees with the line, in 95 of 100 cases, as a logarithm.
    """

    slope: float
    low: float
    high: float
    scatter: float


def log_log(x: np.ndarray, y: np.ndarray, group: np.ndarray | None = None) -> Line:
    """Least squares of log y on log x. group: of each point; each group has a line of its own, all have one slope."""
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
    """The slope of `log_log` and its t interval."""
    return Estimate(*log_log(x, y, group)[:3], f"log-log slope over {len(x)} sizes, 95 % t interval")


def without_small(rows: pd.DataFrame, selector: str, least: float) -> tuple[str, pd.DataFrame]:
    """The rows whose x is at least `least`, if they have several sizes, or else all; with what selects them."""
    large = rows[rows["x"] >= least]
    if large["x"].nunique() < SEVERAL_SIZES:
        return selector, rows
    return f"{selector}, x>={least:g}", large
