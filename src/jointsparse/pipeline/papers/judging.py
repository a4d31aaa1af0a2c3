"""Judge a claim: compute an estimate and its interval from the rows of a table, and decide on a verdict.

`verdicts` states the rule by which verdicts are reached, `shapes` computes the estimates, and `quattoni.claims` and
`duchi.claims` define the claims.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # loads scipy.special only when it is used; scipy.stats would take half a second
from numpy.typing import ArrayLike

from jointsparse.checks import require
from jointsparse.metrics import holm
from jointsparse.pipeline.scores.runs import FEWEST_RUNS, half_width

Tables = Mapping[str, pd.DataFrame]
Where = dict[str, Any]  # conditions on rows by column; see `rows_with`

# Level: the difference between two methods is too small to matter. Demonstration: drawn or composed data prove nothing.
VERDICTS = ("holds", "level", "does not hold", "undecided", "not tested", "demonstration")
HOLDS, LEVEL, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED, DEMONSTRATION = VERDICTS

# Strict limits, as the closest numbers that satisfy them: "above" and "below" 0, and ratios "more" and "less" than 1.
ABOVE, BELOW = float(np.nextafter(0.0, 1.0)), float(np.nextafter(0.0, -1.0))
MORE, LESS = float(np.nextafter(1.0, 2.0)), float(np.nextafter(1.0, 0.0))

CONFIDENCE = 0.95
MOST_RUNS = 1000  # Choice: nobody would follow advice to use more runs than this
FAR_BELOW = 0.1  # Choice: "far below" means less than a tenth.
COMPETITIVE = 2  # Choice: at most this many times the cost of another method. The papers give no number.
NEARLY_FLAT_SLOPE = 0.15  # Choice: timings may outgrow the stated cost by this exponent, because caches overflow.

# Tables whose rows are fits, tables whose rows are the steps of fits, and tables of timings.
FIT_TABLES = ("chosen", "sparsity", "recovery")
STEP_TABLES = ("exponentiated", "exponentiated_seconds", "digits", "online", "race", "race_seconds")
TIMED_TABLES = ("cost", "projection", "exponentiated_seconds", "race_seconds")  # verdicts from them are "timed"

EVERY = "every value"  # all values of a column; see `Claim.each`


def at_least(value: float) -> pd.Interval:
    """Return the interval of all values that are at least `value`."""
    return pd.Interval(value, np.inf, closed="left")


class Claim(NamedTuple):
    """A claim of a paper in our words, with the quantity that decides it and the limits of this quantity.

    sentence: the claim. paper, place: where the paper makes it.
    table: the name of the table from which the quantity is estimated. beside: the names of other tables that are read.
    shape: the function that judges the rows of one case. It is defined in `shapes` or next to the paper's claims.
    number: the quantity, given as a column or as an expression of columns. means: a description of the quantity with
    its unit. Its braces are filled with values from the rows.
    where: the conditions on the rows, as for `rows_with`. The entry "against" selects the rows that they are compared
    with, by their value in the column `by`. If it is a tuple, its first value that occurs in the table is used.
    each: for some columns, the values to judge separately. Every combination of these values is a case. EVERY stands
    for all values in the table.
    by: the column that distinguishes the rows of a case from the rows that they are compared with.
    x: the column with the size, against which a slope is computed or at which two methods are compared. group: when a
    slope is computed, each value of this column has its own intercept.
    least, most: the limits within which the quantity must lie, both included. level: the largest difference between
    two methods that does not matter.
    exact: True for a count, which needs no interval. on_fits: True for accuracy and sparsity, which get no verdict if
    too many fits are unfinished, or if the data are drawn.
    more: further quantities that the claim is about, or further tables in which it can be tested. Tables that a study
    does not have are skipped.
    """

    sentence: str
    paper: str
    place: str
    table: str
    shape: Callable[["Claim", Tables, Where], "list[Judgement]"]
    means: str
    number: str = ""
    where: Where = {}  # noqa: RUF012
    each: dict[str, tuple[Any, ...]] = {}  # noqa: RUF012
    by: str = "method"
    x: str = "x"
    group: str = ""
    least: float = -np.inf
    most: float = np.inf
    level: float = 0.0
    exact: bool = False
    on_fits: bool = False
    beside: tuple[str, ...] = ()
    more: "tuple[Claim, ...]" = ()

    def and_also(self, **changes: Any) -> "Claim":
        """Return the claim extended by a second quantity or table, given as changes to a copy of the claim."""
        return self._replace(more=(*self.more, self._replace(more=(), **changes)))

    @property
    def fits(self) -> str:
        """The name of the table of the fits on which the claim is tested, or an empty string if there is none."""
        return self.table if self.table in (*FIT_TABLES, *STEP_TABLES) else "chosen" * self.on_fits

    @property
    def tables(self) -> set[str]:
        """The names of all tables that are read to judge the claim. A study need not have all of them."""
        return {part.table for part in (self, *self.more)} | {self.fits, *self.beside} - {""}


class Estimate(NamedTuple):
    """An estimate with its 95 % interval.

    low, high: the ends of the interval, or NaN if there is no interval. origin: says how the estimate and the interval
    were computed. freedom: the degrees of freedom of the t distribution on which the interval is based. over_runs: the
    part of the interval's half-width that more runs would reduce, or NaN. wants: what would narrow the interval if
    `over_runs` is NaN. of_logs: True if the interval was computed on the log scale.
    """

    number: float
    low: float
    high: float
    origin: str
    freedom: float = np.inf
    over_runs: float = np.nan
    wants: str = "more runs"
    of_logs: bool = False


class Judgement(NamedTuple):
    """An estimate for a claim, and the verdict that follows from it.

    number_means: what was estimated, with its unit, and how the interval was computed; or the reason why the claim was
    not tested. where: the conditions on the rows from which the estimate was computed. n: the size of the training
    sets to which these rows refer, or None.
    """

    claim: Claim
    estimate: Estimate
    verdict: str
    number_means: str
    where: Where
    n: int | None = None

    def adding(self, note: str, verdict: str = "") -> "Judgement":
        """Return a copy of the judgement with a note added to `number_means` and, optionally, another verdict."""
        return self._replace(number_means=self.number_means + note, verdict=verdict or self.verdict)

    def withheld(
        self, verdict: str, why: str = "no number of runs would decide it, because it is a bound"
    ) -> "Judgement":
        """Change the verdict from `verdict` to "undecided", for instance because the estimate is only a bound."""
        return self.adding(f"; {why}", verdict=UNDECIDED) if self.verdict == verdict else self


class NotTested(Exception):
    """Raised if the tables contain no rows on which a claim can be tested. The message gives the reason."""


def judged(claim: Claim, tables: Tables) -> list[Judgement]:
    """Judge each case of a claim. "Does not hold" becomes undecided or level unless it survives Holm's correction."""
    parts = [part for part in (claim, *claim.more) if part.table in tables] or [claim]
    judgements = [judgement for part in parts for judgement in _judged_cases(part, tables)]
    p_values = holm(np.array([_reversal(judgement) for judgement in judgements]))
    n_tests = np.count_nonzero(~np.isnan(p_values))
    note = f"; on its own it would not hold; after Holm's correction over {n_tests} rows, more runs would decide it"
    for i, (judgement, p) in enumerate(zip(judgements, p_values, strict=True)):
        if judgement.verdict == DOES_NOT_HOLD and p > 1 - CONFIDENCE:
            judgements[i] = judgement.adding(note, verdict=_level_or_undecided(judgement))
    return judgements


def _judged_cases(claim: Claim, tables: Tables) -> Iterator[Judgement]:
    try:
        for where in cases(claim, tables):
            try:
                yield from claim.shape(claim, tables, _with_known(claim, tables, where))
            except NotTested as reason:
                yield _not_tested(claim, reason, where)
    except NotTested as reason:
        yield _not_tested(claim, reason, {})


def _not_tested(claim: Claim, reason: NotTested, where: Where) -> Judgement:
    return Judgement(claim, Estimate(np.nan, np.nan, np.nan, ""), NOT_TESTED, str(reason), where, where.get("n"))


def cases(claim: Claim, tables: Tables) -> list[Where]:
    """Return the conditions that select the rows of each case. Each combination of values in `claim.each` is a case."""
    open_columns = [column for column, values in claim.each.items() if EVERY in values]
    rows = rows_with(tables, claim.table, *open_columns, **_without(claim.where, "against"))
    choices = []
    for column, values in claim.each.items():
        listed = [[value] if value != EVERY else rows[column].unique() for value in values]
        choices.append(dict.fromkeys(value for part in listed for value in part))
    return [claim.where | dict(zip(claim.each, values, strict=True)) for values in product(*choices)]


def _with_known(claim: Claim, tables: Tables, where: Where) -> Where:
    if isinstance(where.get("against"), tuple):
        rows = rows_with(tables, claim.table, **_without(where, claim.by, "against"))
        where["against"] = first_known(rows, "against" if "against" in rows else claim.by, where["against"])
    return where


def conclude(claim: Claim, estimate: Estimate, where: Where, **row: Any) -> Judgement:
    """Judge a claim by an estimate. Raise NotTested if the estimate is NaN.

    Parameters
    ----------
    claim : Claim
        The claim, whose limits decide.
    estimate : Estimate
        The estimate with its interval.
    where : dict
        The conditions on the rows from which the estimate was computed.
    **row : Any
        Further values with which the braces in `claim.means` are filled.
    """
    texts = {column: _text(value) if isinstance(value, tuple) else value for column, value in where.items()}
    means = claim.means.format(**texts | row)
    require(not np.isnan(estimate.number), f"{means} is not a number", NotTested)
    low, high = estimate.low, estimate.high
    if claim.exact and np.isnan(low):
        low = high = estimate.number
    verdict = decide(low, high, claim.least, claim.most)
    judgement = Judgement(claim, estimate, verdict, f"{means}; {estimate.origin}", where, where.get("n"))
    if verdict == UNDECIDED:
        verdict = _level_or_undecided(judgement)
    return judgement.adding(f"; {_wanted(judgement)} would decide it" * (verdict == UNDECIDED), verdict=verdict)


def decide(low: float, high: float, least: float, most: float) -> str:
    """Judge the claim that a quantity lies in [least, most], given the interval [low, high] of its estimate.

    Parameters
    ----------
    low : float
        Lower end of the interval. NaN gives "undecided".
    high : float
        Upper end of the interval.
    least : float
        Lower limit of the claim, included.
    most : float
        Upper limit of the claim, included.
    """
    if least <= low and high <= most:
        return HOLDS
    return DOES_NOT_HOLD if high < least or low > most else UNDECIDED


def _level_or_undecided(judgement: Judgement) -> str:
    estimate, level = judgement.estimate, judgement.claim.level
    return LEVEL if decide(estimate.low, estimate.high, -level, level) == HOLDS else UNDECIDED


def _wanted(judgement: Judgement) -> str:
    """Say how many runs, or what else, would decide an undecided judgement if its estimate stayed the same."""
    estimate, claim = judgement.estimate, judgement.claim
    if np.isnan(estimate.over_runs + estimate.low):
        return estimate.wants
    # The nearer limit decides, together with the half of the interval that points towards it.
    to_least, to_most = abs(estimate.number - claim.least), abs(claim.most - estimate.number)
    distance = min(to_least, to_most)
    half = estimate.number - estimate.low if to_least <= to_most else estimate.high - estimate.number
    # half^2 is over_runs^2 plus the square of another part. More runs reduce only over_runs, as 1 / sqrt(runs).
    room = distance**2 - (half**2 - estimate.over_runs**2)
    if room <= 0:
        return "no number of runs"
    needed = (round(estimate.freedom) + 1) * estimate.over_runs**2 / room
    return f"more than {MOST_RUNS:,} runs" if needed > MOST_RUNS else f"about {int(np.ceil(needed))} runs"


def _reversal(judgement: Judgement) -> float:
    """Return the one-sided p-value for the estimate lying outside the limits of the claim.

    The p-value is computed from the t distribution on which the interval is based. It is 1 if the estimate lies within
    the limits, and NaN if it has no interval.
    """
    estimate, claim = judgement.estimate, judgement.claim
    number, freedom = estimate.number, estimate.freedom
    end, limit = (estimate.high, claim.least) if number < claim.least else (estimate.low, claim.most)
    if np.isnan(end):
        return np.nan
    if claim.least <= number <= claim.most:
        return 1.0
    scale = np.log if estimate.of_logs else np.asarray
    half, distance = np.abs(scale([end, limit]) - scale(number))
    quantile = scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2)
    return float(scipy.special.stdtr(freedom, -quantile * distance / half)) if half > 0 else 0.0


# Rows


def describe(where: Where) -> str:
    """Return a string that describes which rows are selected.

    >>> describe({"n": 1, "method": ("d", "e"), "x": pd.Interval(10, np.inf, closed="left")})
    'n=1, method=d or e, 10<=x'
    """
    return ", ".join(
        _range(column, value) if isinstance(value, pd.Interval) else f"{column}={_text(value)}"
        for column, value in where.items()
    )


def _range(column: str, values: pd.Interval) -> str:
    upper = f"{'<=' if values.closed == 'both' else '<'}{values.right:g}"
    return f"{values.left:g}<=" * (values.left > 0) + column + upper * (values.right < np.inf)


def _text(value: Any) -> str:
    return " or ".join(map(str, several(value)))


def several(value: Any) -> tuple[Any, ...]:
    """Return a tuple unchanged, and any other value as a tuple with one element."""
    return value if isinstance(value, tuple) else (value,)


def _without(where: Where, *columns: str) -> Where:
    return {column: value for column, value in where.items() if column not in columns}


def rows_with(tables: Tables, name: str, /, *needed: str, **where: Any) -> pd.DataFrame:
    """Return the rows of a table that satisfy all conditions. There must be at least one.

    Parameters
    ----------
    tables : mapping
        The tables by name.
    name : str
        Name of the table to read.
    *needed : str
        Further columns, or expressions of columns, that the table must have.
    **where : Any
        The conditions by column or expression: a value, a tuple of accepted values, or a pandas Interval.

    Raises
    ------
    NotTested
        If there is no table with this name, or no row satisfies the conditions.
    ValueError
        If the table lacks a column.
    """
    table = tables.get(name, pd.DataFrame())
    require(not table.empty, f"the table {name} is missing or empty", NotTested)
    expressions = (*needed, *where)
    missing = [column for expression in expressions for column in columns_of(expression) if column not in table]
    require(not missing, f"table {name} must have the columns {', '.join(missing)}, got {', '.join(map(str, table))}")
    rows = matching(table, where)
    require(len(rows), f"this study has no such result: {describe(where)}", NotTested)
    return rows


def columns_of(expression: str) -> list[str]:
    """Return the names of the columns in an expression, as often as they occur.

    >>> columns_of("seconds / (x * log(x))")
    ['seconds', 'x', 'x']
    """
    return [name for name in re.findall(r"[^\W\d]\w*", expression) if name != "log"]


def matching(table: pd.DataFrame, where: Where) -> pd.DataFrame:
    """Return the rows of a table that satisfy all conditions. Ignore conditions on columns that the table lacks."""
    chosen = np.ones(len(table), dtype=bool)
    for expression, value in where.items():
        if set(columns_of(expression)) <= set(table):
            values: Any = (
                table[expression] if expression in table else table.eval(expression)
            )  # eval takes 4 ms, so it is used only for expressions
            accepted = (
                values.between(value.left, value.right, inclusive=value.closed)
                if isinstance(value, pd.Interval)
                else values.isin(several(value))
            )
            chosen &= accepted.to_numpy(bool)
    return table[chosen]


def pair(claim: Claim, tables: Tables, where: Where, *needed: str) -> list[pd.DataFrame]:
    """Return the rows of a case, and the rows that they are compared with.

    Parameters
    ----------
    claim : Claim
        The claim. Its `table` is read, and its column `by` distinguishes the two groups of rows.
    tables : mapping
        The tables by name.
    where : dict
        The conditions on the rows of the case.
    *needed : str
        Further columns that the table must have.
    """
    rest = _without(where, claim.by, "against")
    return [
        rows_with(tables, claim.table, *needed, **rest, **{claim.by: which})
        for which in (where[claim.by], where["against"])
    ]


def first_known(rows: pd.DataFrame, column: str, names: tuple[str, ...]) -> str:
    """Return the first of several names that occurs in a column of the table."""
    present = [name for name in names if (rows[column] == name).any()]
    require(present, f"this study has no such result: {describe({column: names})}", NotTested)
    return present[0]


def once(rows: pd.DataFrame, key: str) -> pd.DataFrame:
    """Return the rows indexed by their values in the column `key`. Raise ValueError if a value occurs twice."""
    several_rows = rows[key][rows[key].duplicated()].unique()
    require(not len(several_rows), f"there must be one row for each {key}, got several for {list(several_rows)}")
    return rows.set_index(key)


# Estimates


def mean_over(values: Iterable[float], of: str = "run") -> Estimate:
    """Return the mean of values, one per run (or per `of`), with a t interval unless there are too few. Ignore NaN."""
    numbers = pd.Series(values, dtype=float).dropna().to_numpy()
    n = len(numbers)
    require(n, f"no {of} has all the numbers that are needed", NotTested)
    mean = float(numbers.mean())
    if n < FEWEST_RUNS:
        counted = f"one {of}" if n == 1 else f"mean over {n} {of}s"
        return Estimate(mean, np.nan, np.nan, f"{counted}, no interval, which needs {FEWEST_RUNS}")
    half = float(half_width(numbers.std(ddof=1), n))
    origin = f"mean and 95 % t interval over {n} {of}s"
    return Estimate(mean, mean - half, mean + half, origin, freedom=n - 1, over_runs=half)


def geometric_mean_over(ratios: pd.Series) -> Estimate:
    """Return the geometric mean of ratios, one for each run, with an interval computed on the log scale."""
    require(
        ratios.dropna().between(0, np.inf, inclusive="neither").all(),
        "a geometric mean requires positive, finite numbers",
        NotTested,
    )
    mean = mean_over(np.log(ratios))
    number, low, high = map(float, np.exp([mean.number, mean.low, mean.high]))
    return Estimate(number, low, high, mean.origin.replace("mean", "geometric mean"), mean.freedom, of_logs=True)


def slope_of(x: ArrayLike, y: ArrayLike, group: ArrayLike | None = None) -> Estimate:
    """Return the least-squares slope of log y against log x with a t interval. Each group has its own intercept."""
    points = pd.DataFrame({"u": np.asarray(x, float), "v": np.asarray(y, float)})
    require(
        ((points > 0) & np.isfinite(points)).all(axis=None),
        "a slope on the log scale requires positive, finite numbers",
        NotTested,
    )
    points = points.transform("log")
    groups = points.groupby(np.zeros(len(points)) if group is None else np.asarray(group))
    n_sizes = groups["u"].nunique().max()
    require(n_sizes >= 2, f"a slope requires at least two sizes, got {n_sizes}", NotTested)
    u, v = (points - groups.transform("mean")).to_numpy().T
    spread, freedom = float(u @ u), len(points) - groups.ngroups - 1
    slope = float(u @ v) / spread
    error = np.sqrt(((v - slope * u) ** 2).sum() / freedom / spread) if freedom else np.nan
    half = float(scipy.special.stdtrit(max(freedom, 1), (1 + CONFIDENCE) / 2) * error)
    origin = f"log-log slope over {len(points)} sizes, 95 % t interval"
    return Estimate(slope, slope - half, slope + half, origin, freedom=max(freedom, 1), wants="more sizes")
