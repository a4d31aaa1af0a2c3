"""What Duchi et al. claim of projections onto the l1 ball, and of the methods that rest on them.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.papers.judging import (
    BELOW,
    DOES_NOT_HOLD,
    FAR_BELOW,
    HOLDS,
    NEARLY_FLAT_SLOPE,
    Claim,
    Estimate,
    Judgement,
    NotTested,
    Tables,
    conclude,
    describe,
    each,
    either,
    geometric_mean_over,
    mean_over,
    select,
    sizes_of,
    slope_of,
    warned,
    withhold,
    without_small,
)

PAPER = "Duchi et al. 2008"

EXCEPTIONS = (
    "first-digits, first-digits-flops and slows-down are undecided where a verdict would rest on what a method spent "
    "in all, as it never gets to the accuracy, and the true number speaks less for that verdict.",
    "online-sparser counts and needs no interval with a single run.",
    "Of exponentiated gradient against projections (projection-over-entropic, projection-sooner, online-loss, "
    "online-sparser), intervals over runs speak of other draws and orders of the same samples, not of other samples.",
)

# "More" and "less" as a ratio, strictly: the closed limits next to 1.
MORE, LESS = float(np.nextafter(1.0, 2.0)), float(np.nextafter(1.0, 0.0))

PROJECTIONS = ("pivot", "newton")  # the paper's Fig. 2, and ours
FULL = ("full", "full of non-zeros")  # of all features, or of the non-zero weights alone
PROJECTED = ("batch", "stochastic", "line-search")
SPECIALISED = ("coordinate-descent", "interior-point")
ACCURACY = 1e-2  # sec. 7
VERY_SPARSE = 0.012  # of all features in an example; sec. 7, the unigrams of its stochastic runs
FURTHER_DIGITS = (3, 4)  # Choice: which digits the paper means after 1e-2.
LARGE = 10_000  # Choice: entries of a vector; below, what a call costs besides them flattens the slope.
MANY_TOUCHED = 30  # Choice: entries of an update; the same.
MANY_NON_ZERO = 1_000_000  # Choice: weights; the paper's bigrams have 1,946,684 dimensions.
ABOUT_100 = (30, 300)  # Choice: between these, entries of an update are "about 100".

WORDS = {"seconds": "measured CPU seconds", "flops": "counted operations", "gradients": "gradients of single samples"}
FRACTION = "fraction of the objective at w = 0"
ABOUT = "eta0 at an edge of its grid, or an optimum that is not certified"  # what warnings are about


# Projections and sparse updates, measured seconds


def _projection_at(tables: Tables, method: str) -> Judgement:
    where = {"part": "dimension", "method": method}
    selector, rows = without_small(select(tables, "projection", "x", "seconds", **where), describe(**where), LARGE)
    x, seconds = (rows[column].to_numpy(dtype=float) for column in ("x", "seconds"))
    what = "exponent of the dimension x in the measured seconds / x"
    return conclude(slope_of(x, seconds / x), what, selector, most=NEARLY_FLAT_SLOPE)


def projection_linear(tables: Tables) -> list[Judgement]:
    """Seconds of a projection grow like the dimension."""
    select(tables, "projection", "method", part="dimension")  # or there is nothing to judge
    return each(_projection_at, tables, method=PROJECTIONS)


def _update_at(tables: Tables, exponent_of: str) -> Judgement:
    where = {"part": "touched", "method": "tree"}
    rows = select(tables, "projection", "x", "n", "seconds", **where)
    selector, rows = without_small(rows, describe(**where), MANY_TOUCHED)
    k, n = (rows[column].to_numpy(dtype=float) for column in ("x", "n"))
    grows, at = (k, n) if exponent_of == "k" else (n, k)
    rest = rows["seconds"].to_numpy(dtype=float) / (k * np.log(n + 1))
    what = f"exponent of {exponent_of} in the measured seconds / (k log n), for k touched entries and n non-zero ones"
    return conclude(slope_of(grows, rest, at), what, selector, most=NEARLY_FLAT_SLOPE)


def update_k_log_n(tables: Tables) -> list[Judgement]:
    """Seconds of an update by the tree grow like k log n, in k and in n."""
    select(tables, "projection", part="touched", method="tree")  # or there is nothing to judge
    return each(_update_at, tables, exponent_of=("k", "n"))


def _ratio_of_medians(one: dict[Any, Any], other: dict[Any, Any]) -> Estimate:
    """The seconds of one row over those of another; low and high, if they are there, are 95 % intervals of medians."""
    ratio, origin = one["seconds"] / other["seconds"], f"medians of {min(one['repeats'], other['repeats'])} repeats"
    if "low" not in one:
        return Estimate(ratio, np.nan, np.nan, f"{origin}, no interval; timed")
    low, high = one["low"] / other["high"], one["high"] / other["low"]
    return Estimate(ratio, low, high, f"{origin}, the ends of their 95 % intervals divided; timed")


def _by_method(tables: Tables, name: str, *needed: str, **where: Any) -> dict[str, dict[Any, Any]]:
    """The rows with medians of seconds, by method, of which each must be there once."""
    rows = select(tables, name, "method", "seconds", "repeats", *needed, **where)
    if rows["method"].duplicated().any():
        raise ValueError(f"table {name} must have each method once with {describe(**where)}, got {len(rows)} rows")
    return {row["method"]: row for row in rows.to_dict("records")}


def _fuller(rows: dict[str, dict[Any, Any]], non_zeros: float, touched: float, where: str, table: str) -> Judgement:
    """The judgement on the quicker full projection against the tree. rows: by method."""
    if "tree" not in rows or len(rows) < 2:
        raise NotTested(f"table {table} has no tree, or no full projection, with {where}")
    tree = rows.pop("tree")
    full = min(rows, key=lambda method: rows[method]["seconds"])
    what = f"seconds of an update by projection {full} over those by the tree"
    what += f" ({non_zeros:.3g} non-zero weights, {touched:.0f} touched)"
    where = f"{where}, {describe(method=full, against='tree')}"
    return conclude(_ratio_of_medians(rows[full], tree), what, where, least=MORE)


def _fuller_at_share(tables: Tables, share: float) -> Judgement:
    rows = _by_method(tables, "updates", "touched", share=share, method=("tree", *FULL))
    return _fuller(rows, rows["tree"]["non_zeros"], rows["tree"]["touched"], describe(share=share), "updates")


def _fuller_in_updates(tables: Tables) -> list[Judgement]:
    rows = select(tables, "updates", "share", "non_zeros", "touched", method="tree")
    many = rows[(rows["non_zeros"] >= MANY_NON_ZERO) & rows["touched"].between(*ABOUT_100)]
    if many.empty:
        raise NotTested(f"table updates has no {MANY_NON_ZERO:,} non-zero weights of which about 100 are touched")
    return each(_fuller_at_share, tables, share=many["share"])


def _fuller_at_size(tables: Tables, n: int, x: int) -> Judgement:
    where = {"part": "touched", "n": n, "x": x}
    return _fuller(_by_method(tables, "projection", **where), n, x, describe(**where), "projection")


def _fuller_in_projections(tables: Tables) -> list[Judgement]:
    rows = select(tables, "projection", "x", "n", part="touched")
    many = rows[(rows["n"] >= MANY_NON_ZERO) & rows["x"].between(*ABOUT_100)]
    if many.empty:
        raise NotTested(f"table projection has no {MANY_NON_ZERO:,} non-zero weights of which about 100 are touched")
    nearest = many["x"].iloc[int(np.abs(np.log(many["x"] / 100)).argmin())]
    return each(_fuller_at_size, tables, n=sizes_of(many), x=[nearest])


def tree_beats_full(tables: Tables) -> list[Judgement]:
    """With a million non-zero weights the tree is faster than a full projection: at each share and each size."""
    judgements, reasons = [], []
    for name, judge_table in (("updates", _fuller_in_updates), ("projection", _fuller_in_projections)):
        try:
            judgements += [one._replace(table=name) for one in judge_table(tables)]
        except NotTested as reason:
            reasons.append(reason)
    if not judgements:
        raise reasons[0]
    return judgements


def _cheaper_at(tables: Tables, share: float) -> Judgement:
    rows = _by_method(tables, "updates", share=share, method=("entropic", "tree"))
    tree = rows["tree"]
    if "entropic" not in rows:
        raise NotTested(f"table updates has no exponentiated gradient at share={share:g}")
    what = "seconds of a lazy step of exponentiated gradient over those of an update by the tree"
    what += f" ({tree['touched']:.0f} of {tree['n']:.3g} features touched)"
    where = describe(share=share, method="entropic", against="tree")
    return conclude(_ratio_of_medians(rows["entropic"], tree), what, where, most=LESS)


def entropic_cheaper(tables: Tables) -> list[Judgement]:
    """For very sparse gradients a step of exponentiated gradient takes less than one with projection, at each share."""
    rows = select(tables, "updates", "share", "n", "touched", method="tree")
    sparse = rows[rows["touched"] <= VERY_SPARSE * rows["n"]]
    if sparse.empty:
        raise NotTested(f"table updates has no gradients of at most {VERY_SPARSE:.1%} of the features")
    return each(_cheaper_at, tables, share=sparse["share"])


# From step to step


def _add(judgement: Judgement, *told: str) -> Judgement:
    return judgement._replace(number_means=judgement.number_means + "".join(told))


def _warned(fits: pd.DataFrame) -> str:
    return warned(fits.drop_duplicates(["run", "method"]), ABOUT)


def _until(rows: pd.DataFrame, spent: str, accuracy: float) -> pd.DataFrame:
    """By run, what the quickest of the rows' methods spends until it is that near to the optimum.

    Columns: spent; bound: whether none gets there and `spent` is the least that any spent in all, a lower bound.
    """
    reached = rows[rows["suboptimality"] <= accuracy].groupby("run")[spent].min()
    in_all = rows.groupby(["run", "method"])[spent].max().groupby("run").min()
    reached = reached.reindex(in_all.index)
    return pd.DataFrame({"spent": reached.fillna(in_all), "bound": reached.isna()})


def _first_digits_at(tables: Tables, problem: str, n: int, against: str, *, name: str, spent: str) -> Judgement:
    where = {"problem": problem, "n": n}
    columns = ("run", "suboptimality", "warning", spent)
    rows = select(tables, name, *columns, **where, method=(*PROJECTED, against))
    rows = rows[~rows["method"].isin(rows.loc[rows[spent].isna(), "method"])]  # NaN: not counted
    theirs = rows["method"] == against
    for there, who in ((~theirs, "projected methods"), (theirs, against)):
        if not there.any():
            raise NotTested(f"table {name} has no {WORDS[spent]} of {who} with {describe(**where)}")
    ours, others = (_until(rows[chosen], spent, ACCURACY) for chosen in (~theirs, theirs))
    both = ours.join(others.add_suffix("_of_other"), how="inner")
    both = both[~(both["bound"] & both["bound_of_other"])]
    what = f"{WORDS[spent]} until a suboptimality of {ACCURACY:g} ({FRACTION}): "
    what += f"the least of {', '.join(PROJECTED)} (radius and eta0 given, not counted) over that of {against}"
    estimate = geometric_mean_over(both["spent"] / both["spent_of_other"])
    judgement = conclude(estimate, what, describe(**where, method=PROJECTED, against=against), n=n, most=LESS)
    told = ""
    for bound, verdict, who in (("bound", HOLDS, "no projected method"), ("bound_of_other", DOES_NOT_HOLD, against)):
        if both[bound].any():
            judgement = withhold(judgement, verdict)
            told += f"; {who} gets there in {(~both[bound]).sum()} of {len(both)} runs, in the rest all it spent counts"
    return _add(judgement, told, _warned(rows))


def first_digits(tables: Tables, *, name: str = "race_seconds", spent: str = "seconds") -> list[Judgement]:
    """The quickest projected method is within 1e-2 before either specialised one, for each problem and size.

    name: the table. spent: which column counts, "seconds" or "flops".
    """
    rows = select(tables, name, "problem", "n")
    judge_one = partial(_first_digits_at, name=name, spent=spent)
    return each(judge_one, tables, problem=rows["problem"].unique(), n=sizes_of(rows), against=SPECIALISED)


def _slower_at(tables: Tables, problem: str, n: int, digit: int) -> Judgement:
    where = {"problem": problem, "n": n, "method": "batch"}
    rows = select(tables, "race", "run", "step", "suboptimality", "warning", **where)
    before, after = (_until(rows, "step", 10.0**-digits) for digits in (digit - 1, digit))
    before, after = before[~before["bound"]], after[~before["bound"]]
    # Choice: "slows" means against the average of the digits before; linear convergence has as many steps for each.
    ratio = np.maximum(after["spent"] - before["spent"], 1) / (before["spent"] / (digit - 1))
    what = f"steps for digit {digit} of the suboptimality ({FRACTION}) over the mean of those for the digits before"
    judgement = conclude(geometric_mean_over(ratio), what, describe(**where), n=n, least=MORE)
    told = ""
    if after["bound"].any():
        judgement = withhold(judgement, DOES_NOT_HOLD)
        told = f"; reached in {(~after['bound']).sum()} of {len(after)} runs, in the rest all steps count"
    return _add(judgement, told, _warned(rows))


def slows_down(tables: Tables) -> list[Judgement]:
    """Beyond 1e-2 a digit takes batch projected gradient more steps than those before, for each problem and size."""
    rows = select(tables, "race", "problem", "n")
    return each(_slower_at, tables, problem=rows["problem"].unique(), n=sizes_of(rows), digit=FURTHER_DIGITS)


def _side_by_side(rows: pd.DataFrame, methods: tuple[str, str], spent: str, value: str) -> pd.DataFrame:
    """By run, a column per method: its value when it had spent what both did, at its last record until then."""
    fits = ["run", "method"]
    if len(rows.drop_duplicates([*fits, "schedule", "eta0"])) > len(rows.drop_duplicates(fits)):
        raise ValueError(f"expected one schedule and eta0 per run and method to read {value} from, got several")
    in_all = rows.pivot_table(spent, "run", "method", aggfunc="max").reindex(columns=list(methods))
    until = rows[rows[spent] <= rows["run"].map(in_all.min(axis=1, skipna=False))].sort_values(spent, kind="stable")
    last = until.drop_duplicates(fits, keep="last")
    return last.pivot_table(value, "run", "method").reindex(columns=list(methods))


def _lower_at(tables: Tables, form: str, *, name: str, spent: str) -> Judgement:
    methods = ("projection", "entropic")
    columns = ("run", "schedule", "eta0", "objective", "warning", spent)
    rows = select(tables, name, *columns, form=form, method=methods)
    objective = _side_by_side(rows, methods, spent, "objective")
    what = f"objective of projection minus that of entropic after equally many {WORDS[spent]}"
    where = describe(form=form, method="projection", against="entropic")
    estimate = mean_over(objective["projection"] - objective["entropic"])
    return _add(conclude(estimate, what, where, most=BELOW), _warned(rows))


def projection_over_entropic(tables: Tables) -> list[Judgement]:
    """After as many gradients projections have the lower objective, for each form."""
    name = either(tables, "exponentiated", "digits")
    forms = select(tables, name, "form")["form"].unique()
    return each(partial(_lower_at, name=name, spent="gradients"), tables, form=forms)


def projection_sooner(tables: Tables) -> list[Judgement]:
    """After as many seconds projections have the lower objective, for each batch form."""
    name = either(tables, "exponentiated_seconds", "digits_seconds")
    rows = select(tables, name, "form")
    forms = [form for form in rows["form"].unique() if form.startswith("batch")]
    if not forms:
        raise NotTested(f"table {name} has no batch form")
    return each(partial(_lower_at, name=name, spent="seconds"), tables, form=forms)


def _online(tables: Tables, radius: float, value: str) -> tuple[pd.DataFrame, str, str]:
    """A value of both methods by run after the same examples; what selects the rows; their warnings."""
    methods = ("tree", "entropic")
    rows = select(
        tables, "online", "run", "schedule", "eta0", "examples", "warning", value, radius=radius, method=methods
    )
    where = describe(radius=radius, method="tree", against="entropic")
    return _side_by_side(rows, methods, "examples", value), where, _warned(rows)


def _loss_at(tables: Tables, radius: float) -> Judgement:
    loss, where, told = _online(tables, radius, "loss")
    what = "mean log loss over the pass of the tree minus that of entropic, each example judged before its step"
    return _add(conclude(mean_over(loss["tree"] - loss["entropic"]), what, where, most=BELOW), told)


def online_loss(tables: Tables) -> list[Judgement]:
    """Over one pass projections have the lower cumulative loss, at each radius."""
    return each(_loss_at, tables, radius=select(tables, "online", "radius")["radius"].unique())


def _sparser_at(tables: Tables, radius: float) -> Judgement:
    share, where, told = _online(tables, radius, "non_zero")
    what = "non-zero weights of the tree after the pass over those of entropic, which are those of all features seen"
    estimate = mean_over(share["tree"] / share["entropic"])
    return _add(conclude(estimate, what, where, most=FAR_BELOW, count=True), told)


def online_sparser(tables: Tables) -> list[Judgement]:
    """After one pass projections have far fewer non-zero weights, at each radius."""
    return each(_sparser_at, tables, radius=select(tables, "online", "radius")["radius"].unique())


CLAIMS = {
    "l1-projection-linear": Claim(
        PAPER,
        "abstract; sec. 5, Fig. 2",
        "Projecting a vector onto the l1 ball takes time linear in its dimension.",
        ("projection",),
        projection_linear,
        timed=True,
    ),
    "sparse-update-k-log-n": Claim(
        PAPER,
        "abstract; sec. 6, Fig. 3",
        "Changing k entries and projecting again takes O(k log n) time, for n non-zero weights.",
        ("projection",),
        update_k_log_n,
        timed=True,
    ),
    "tree-beats-full": Claim(
        PAPER,
        "abstract; sec. 6, Fig. 3",
        "With a million non-zero weights, of which about 100 change, the tree is faster than projecting all of them.",
        ("updates", "projection"),
        tree_beats_full,
        timed=True,
    ),
    "first-digits": Claim(
        PAPER,
        "abstract; sec. 7, Fig. 4 and 5",
        f"Projected gradient methods reach a suboptimality of {ACCURACY:g} sooner than coordinate descent and than an "
        "interior-point method.",
        ("race_seconds",),
        first_digits,
        timed=True,
    ),
    "first-digits-flops": Claim(
        PAPER,
        "sec. 7, Fig. 4 and 5",
        f"Projected gradient methods reach a suboptimality of {ACCURACY:g} with fewer floating-point operations than "
        "coordinate descent and than an interior-point method.",
        ("race",),
        partial(first_digits, name="race", spent="flops"),
    ),
    "slows-down": Claim(
        PAPER,
        "sec. 7, Fig. 4 and 5",
        f"Beyond a suboptimality of {ACCURACY:g} projected gradient slows down.",
        ("race",),
        slows_down,
    ),
    "projection-over-entropic": Claim(
        PAPER,
        "sec. 7, Fig. 6 and 7",
        "After as many gradients, projected gradient has a lower objective than exponentiated gradient.",
        ("exponentiated",),
        projection_over_entropic,
        instead="digits",
    ),
    "projection-sooner": Claim(
        PAPER,
        "sec. 7, Fig. 6 left",
        "In batches, projected gradient has a lower objective than exponentiated gradient after the same time.",
        ("exponentiated_seconds",),
        projection_sooner,
        timed=True,
        instead="digits_seconds",
    ),
    "entropic-cheaper-when-sparse": Claim(
        PAPER,
        "sec. 7, Fig. 6 right",
        "For very sparse gradients a step of exponentiated gradient is cheaper than one with projection.",
        ("updates",),
        entropic_cheaper,
        timed=True,
    ),
    "online-loss": Claim(
        PAPER,
        "abstract; sec. 7",
        "Online, projected gradient has a lower cumulative loss than exponentiated gradient.",
        ("online",),
        online_loss,
    ),
    "online-sparser": Claim(
        PAPER,
        "abstract; sec. 7",
        "Online, projected gradient has far fewer non-zero weights than exponentiated gradient.",
        ("online",),
        online_sparser,
    ),
}
