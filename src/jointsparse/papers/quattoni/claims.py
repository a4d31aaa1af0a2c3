"""Claims of Quattoni et al. about l1,inf norms over many tasks, in the order of the papers.

Sources: Quattoni et al. 2009 (ICML), its technical report of 2008 and its poster.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.papers import judging
from jointsparse.papers.judging import (
    ABOVE,
    BELOW,
    COMPETITIVE,
    CONFIDENCE,
    DOES_NOT_HOLD,
    FAR_BELOW,
    HOLDS,
    LEVEL,
    NEARLY_FLAT_SLOPE,
    UNDECIDED,
    Claim,
    Estimate,
    Judgement,
    NotTested,
    Tables,
    adding,
    by_run,
    conclude,
    describe,
    each,
    known,
    log_log,
    mean_over,
    not_tested,
    only_after_holm,
    paired_difference,
    ratio_at_largest,
    ratio_slope,
    rows_with,
    sizes_of,
    slope_of,
    withhold,
    without_small,
)
from jointsparse.papers.quattoni.numbers import report_size
from jointsparse.scores.many import FEWEST_RUNS, holm

CLAIMS: dict[str, Claim] = {}
claim = partial(judging.claim, CLAIMS)

REPORT, ICML, POSTER = "Quattoni et al. 2008 (report)", "Quattoni et al. 2009 (ICML)", "Quattoni et al. 2009 (poster)"

SIMILAR = 0.01  # Choice: "similar" AUCs, EERs and test errors differ by at most this.

EXCEPTIONS = (
    f"AUCs, EERs or test errors of two methods are level where the interval of their difference is within {SIMILAR:g}.",
    "convergence-200: the ends of its interval bound the distance from the optimum. They are no confidence interval.",
    "feature-sharing is a count in one run and needs no interval.",
    "auc-significant rests on sign tests. Its number is the p-value of all runs and pairings together, Holm-corrected "
    "over the comparisons below 20,000 samples. It holds if that is significant. It does not hold if the p-value of "
    "the reverse direction is. Otherwise it is level if the AUCs are, and undecided if not.",
    "selection-precision is undecided where recalls may differ by more than 0.01, and not tested where they do.",
    "convergence-rate: in some runs an accuracy may never be reached, and the number is then a lower bound. A bound "
    "below the limit leaves the claim undecided.",
    "features-to-match: in some runs l1 may never reach the AUC, and the number is then a lower bound. A bound below "
    "the threshold leaves the claim undecided.",
    "iterations-independent-of-samples: the smallest sizes are left out if most of their runs do not reach the "
    "accuracy. The number is then an upper bound. A bound above the threshold leaves the claim undecided.",
)

JOINT, L1, L2 = "hinge-l1inf", "hinge-l1", "hinge-l2"
# Either method is the paper's l2, the nearer one first: the ICML paper trained l2 by SVM-Light, the report by the same
# projected subgradient method as the others.
L2_OF_ICML, L2_OF_REPORT = ("svm-l2", L2), (L2, "svm-l2")


# Of words: the ICML paper's, in which each positive weighs the same (sec. 6.1), and the report's (sec. 5.2).
AVERAGE = {"auc": "by positives", "eer": "plain"}


def _bootstrapped(tables: Tables, metric: str, n: int, against: str | tuple[str, ...]) -> tuple[Estimate, str, str]:
    """Joint method's metric minus another's from the table of differences, the other's name, and what else to tell."""
    where = {"metric": metric, "words": "test words", "method": JOINT, "n": n}
    columns = ["difference", "low", "high", "low_words", "high_words", "over_runs", "runs"]
    rows = rows_with(tables, "differences", "against", "average", *columns, **where)
    other = known(rows, "against", against)
    rows = rows[rows["against"] == other]
    of_average = {str(average): one[columns].to_numpy(dtype=float) for average, one in rows.groupby("average")}
    for average, found in of_average.items():
        if len(found) > 1:
            where |= {"against": other, "average": average}
            raise ValueError(f"expected one row of differences with {describe(**where)}, got {len(found)}")
    if AVERAGE[metric] not in of_average:
        raise NotTested(f"table differences has no row with {describe(**where, average=AVERAGE[metric])}")
    difference, low, high, low_words, high_words, over_runs, runs = of_average[AVERAGE[metric]][0]
    origin = "95 % interval, paired bootstrap over test images"
    if np.isnan(low):
        origin = f"mean over {runs:g} runs, no interval, which takes {FEWEST_RUNS}"
    else:
        origin += f" joined with the t interval over runs; {runs:g} runs" if runs > 1 else ", one run"
    beside = "" if np.isnan(low_words) else f"; with words as a sample, too: {low_words:.3g} to {high_words:.3g}"
    beside += "".join(
        f"; mean over words {average}: {found[0][0]:.3g}"
        for average, found in of_average.items()
        if average != AVERAGE[metric]
    )
    t = (float(runs - 1), float(over_runs)) if runs > 1 else (np.inf, np.nan)
    return Estimate(float(difference), float(low), float(high), origin, *t), other, beside


# ICML, sec. 5: synthetic tasks

EQUAL_RECALL = 0.01  # Choice: "equal" recalls differ by at most this.
HIGH_RECALL = 0.9  # Choice: "high".
PAPERS_TASKS: dict[str, Any] = {"weights": "normal", "support": "random"}  # see `recovery`
SIMILAR_ERROR = 0.02  # Choice: "very similar" test errors differ by at most this.


def _recovery(n: int, radius_rule: str = "true") -> dict[str, Any]:
    return {"solver": "subgradient", "radius_rule": radius_rule, "n": n} | PAPERS_TASKS


def _recovery_sizes(tables: Tables, radius_rule: str = "true") -> list[int]:
    return sizes_of(rows_with(tables, "recovery", "n", solver="subgradient", radius_rule=radius_rule, **PAPERS_TASKS))


def _error_at(tables: Tables, n: int, against: str, radius_rule: str) -> Judgement:
    where = _recovery(n, radius_rule)
    estimate = paired_difference(tables, "recovery", "test_error", where, "method", JOINT, against)
    what = f"test error of {JOINT} minus that of {against} (fraction)"
    rows = describe(**where, method=JOINT, against=against)
    return conclude(estimate, what, rows, n=n, most=BELOW, level=SIMILAR)


def _error_order(tables: Tables, radius_rule: str) -> list[Judgement]:
    """Test errors are compared at each n. radius_rule: "true" or "validated"."""
    judge_one = partial(_error_at, radius_rule=radius_rule)
    return each(judge_one, tables, n=_recovery_sizes(tables, radius_rule), against=(L1, L2))


@claim(
    "synthetic-error-order",
    paper=ICML,
    place="sec. 5, Fig. 1 top; report: sec. 5.1",
    tables=("recovery",),
    of_fits=True,
)
def synthetic_error_order(tables: Tables) -> list[Judgement]:
    """l1,inf has a lower test error than l1 and than l2 at every training size."""
    return _error_order(tables, "true")


@claim("error-order-by-validation", paper=ICML, place="sec. 5, footnote 2", tables=("recovery",), of_fits=True)
def error_order_by_validation(tables: Tables) -> list[Judgement]:
    """With radii chosen by validation, too, l1,inf has the lowest test error at every training size."""
    return _error_order(tables, "validated")


def _require_imperfect(tables: Tables, where: dict[str, Any], against: str) -> None:
    """Raise NotTested if both methods use relevant features only, so that neither could use fewer without a loss."""
    rows = rows_with(tables, "recovery", "precision", **where, method=(JOINT, against))
    if (rows["precision"] == 1).all():
        raise NotTested(f"both are perfect: {JOINT} and {against} have a precision of 1 in every run")


def _precision_at(tables: Tables, n: int, against: str, radius_rule: str = "true") -> Judgement:
    where = _recovery(n, radius_rule)
    recall = paired_difference(tables, "recovery", "recall", where, "method", JOINT, against)
    if abs(recall.number) > EQUAL_RECALL:
        which = "below" if recall.number < 0 else "above"
        raise NotTested(f"recall of {JOINT} is {abs(recall.number):.3f} {which} that of {against}, more than 0.01")
    _require_imperfect(tables, where, against)
    estimate = paired_difference(tables, "recovery", "precision", where, "method", JOINT, against)
    what = f"precision of {JOINT} minus that of {against} (fraction) at recalls that differ by {recall.number:+.3f}"
    judgement = conclude(estimate, what, describe(**where, method=JOINT, against=against), n=n, least=ABOVE)
    if recall.low >= -EQUAL_RECALL and recall.high <= EQUAL_RECALL:
        return judgement
    why = "more runs would decide it, and whether the recalls are equal"
    return withhold(withhold(judgement, HOLDS, why), DOES_NOT_HOLD, why)


@claim(
    "selection-precision",
    paper=ICML,
    place="sec. 5, Fig. 1 bottom; report: sec. 5.1",
    tables=("recovery",),
    of_fits=True,
)
def selection_precision(tables: Tables) -> list[Judgement]:
    """l1,inf picks the relevant features with higher precision than l1, at equal recall (our condition)."""
    return each(_precision_at, tables, n=_recovery_sizes(tables), against=(L1,))


def _recall_at(tables: Tables, n: int, method: str) -> Judgement:
    where = _recovery(n) | {"method": method}
    estimate = mean_over(by_run(rows_with(tables, "recovery", "run", "recall", **where), "recall"))
    return conclude(estimate, f"recall of {method} (fraction)", describe(**where), n=n, least=HIGH_RECALL)


@claim(
    "selection-recall", paper=ICML, place="sec. 5, Fig. 1 bottom; report: sec. 5.1", tables=("recovery",), of_fits=True
)
def selection_recall(tables: Tables) -> list[Judgement]:
    """l1,inf and l1 both find nearly all relevant features (recall 0.9 or more) even from few samples."""
    return each(_recall_at, tables, n=_recovery_sizes(tables), method=(JOINT, L1))


def _sparser_at(tables: Tables, n: int, radius_rule: str = "true") -> Judgement:
    where = _recovery(n, radius_rule)
    _require_imperfect(tables, where, L1)
    estimate = paired_difference(tables, "recovery", "features", where, "method", JOINT, L1)
    what = f"features used by {JOINT} minus those used by {L1} (fraction of all features)"
    return conclude(estimate, what, describe(**where, method=JOINT, against=L1), n=n, most=BELOW)


@claim("selection-sparser", paper=ICML, place="sec. 5; report: sec. 5.1", tables=("recovery",), of_fits=True)
def selection_sparser(tables: Tables) -> list[Judgement]:
    """l1,inf returns sparser solutions than l1."""
    return each(_sparser_at, tables, n=_recovery_sizes(tables))


@claim("selection-by-validation", paper=ICML, place="sec. 5, footnote 2", tables=("recovery",), of_fits=True)
def selection_by_validation(tables: Tables) -> list[Judgement]:
    """With radii chosen by validation, too, l1,inf is sparser than l1, and more precise at equal recall."""
    sizes = _recovery_sizes(tables, "validated")
    precision = each(partial(_precision_at, radius_rule="validated"), tables, n=sizes, against=(L1,))
    return precision + each(partial(_sparser_at, radius_rule="validated"), tables, n=sizes)


def _validation_at(tables: Tables, n: int, method: str) -> Judgement:
    where: dict[str, Any] = {"solver": "subgradient", "n": n, "method": method} | PAPERS_TASKS
    estimate = paired_difference(tables, "recovery", "test_error", where, "radius_rule", "validated", "true")
    what = f"test error of {method} with the radius chosen by validation minus that with the true one (below 0: better)"
    rows = describe(**where, radius_rule="validated", against="true")
    return conclude(estimate, what, rows, n=n, least=-SIMILAR_ERROR, most=SIMILAR_ERROR)


@claim("radius-by-validation", paper=ICML, place="sec. 5, footnote 2", tables=("recovery",), of_fits=True)
def radius_by_validation(tables: Tables) -> list[Judgement]:
    """Radii chosen by validation give nearly the test errors of the true radii."""
    return each(_validation_at, tables, n=_recovery_sizes(tables), method=(JOINT, L1, L2))


# ICML, sec. 6.2: image annotation

SMALL_SAMPLES = 20_000  # Quattoni et al. 2009, sec. 6.2
SIGNIFICANT = 0.05  # Choice: the level of a significant test, after Holm's correction.


def _auc_at(
    tables: Tables, n: int, against: str | tuple[str, ...], least: float = ABOVE, most: float = np.inf
) -> Judgement:
    estimate, other, beside = _bootstrapped(tables, "auc", n, against)
    what = f"AUC of {JOINT} minus that of {other} (fraction, words not used for validation)"
    return adding(conclude(estimate, what, _rows_of_auc(n, other), n=n, least=least, most=most, level=SIMILAR), beside)


def _rows_of_auc(n: int, other: str) -> str:
    return describe(metric="auc", words="test words", average=AVERAGE["auc"], n=n, method=JOINT, against=other)


def _sizes_by_samples(tables: Tables, name: str, *, small: bool, **where: Any) -> list[int]:
    """Sizes below 20,000 samples in some rows of a table, or the other sizes."""
    rows = rows_with(tables, name, "n", "n_samples", words="test words", **where)
    rows = rows[(rows["n_samples"] < SMALL_SAMPLES) == small]
    if rows.empty:
        raise NotTested(f"table {name} has no size of {'less than' if small else 'at least'} {SMALL_SAMPLES:,} samples")
    return sizes_of(rows)


@claim(
    "auc-order", paper=ICML, place="abstract; sec. 6.2, Fig. 3; sec. 7", tables=("differences", "chosen"), of_fits=True
)
def auc_order(tables: Tables) -> list[Judgement]:
    """Below 20,000 samples l1,inf has a higher average AUC than l1 and than l2."""
    sizes = _sizes_by_samples(tables, "differences", small=True, metric="auc")
    return each(_auc_at, tables, n=sizes, against=(L1, L2_OF_ICML))


def _over_runs(p_values: pd.Series) -> float:
    """A p-value for all runs, of each run's median over pairings. Twice the median of p-values is one, however they
    depend on each other (Rueschendorf 1982); here twice for pairings, and twice for runs.
    """
    # A missing p-value is not a significant one.
    several = 4 if len(p_values) > 1 else 2
    return min(1.0, several * float(p_values.astype(float).fillna(1).median()))


def _compared(tables: Tables, n: int, against: str | tuple[str, ...]) -> tuple[str, float, float, int]:
    """The other method, the p-values of both directions for all runs, and the number of runs."""
    where = {"words": "test words", "n": n, "method": JOINT}
    rows = rows_with(tables, "significance", "run", "against", "p_median", "p_reverse_median", **where)
    other = known(rows, "against", against)
    rows = rows[rows["against"] == other]
    return other, _over_runs(rows["p_median"]), _over_runs(rows["p_reverse_median"]), len(rows)


def _of_tests(of_joint: float, of_other: float, order: str) -> str:
    """Verdict by the p-values of both directions, after Holm's correction, and by that on the order of AUCs."""
    if of_joint < SIGNIFICANT:
        return HOLDS
    if of_other < SIGNIFICANT:
        return DOES_NOT_HOLD
    # What the order of AUCs excludes is no matter of significance.
    return order if order in (LEVEL, DOES_NOT_HOLD) else UNDECIDED


@claim(
    "auc-significant",
    paper=ICML,
    place="sec. 2, 6.2 and 7, Table 1; poster: Performance Comparison",
    tables=("significance", "differences", "chosen"),
    of_fits=True,
)
def auc_significant(tables: Tables) -> list[Judgement]:
    """Below 20,000 samples l1,inf is significantly better than l1 and than l2 by sign tests."""
    judgements, tested = [], []
    for n in _sizes_by_samples(tables, "significance", small=True, method=JOINT):
        for against in (L1, L2_OF_ICML):
            try:
                tested.append((n, *_compared(tables, n, against)))
            except NotTested as reason:
                judgements.append(not_tested(reason, n, describe(n=n, against=against)))
    try:
        order = {one.rows: one.verdict for one in only_after_holm(auc_order(tables))}
    except NotTested:
        order = {}
    p, reverse = (holm(np.array([one[i] for one in tested])) for i in (2, 3))
    for (n, other, _, _, runs), of_joint, of_other in zip(tested, p, reverse, strict=True):
        verdict = _of_tests(float(of_joint), float(of_other), order.get(_rows_of_auc(n, other), UNDECIDED))
        means = (
            "p-value of one-sided sign tests, from medians over pairings and over runs, Holm-corrected over "
            f"{len(tested)} comparisons; tests pool words and are not exact; {runs} runs; reverse: {of_other:.2g}"
        )
        if verdict == UNDECIDED:
            means += "; no number of runs would decide it, as medians over runs do not shrink"
        where = describe(words="test words", n=n, method=JOINT, against=other)
        judgements.append(Judgement(float(of_joint), np.nan, np.nan, verdict, means, where, n))
    return judgements


@claim(
    "auc-level-when-large",
    paper=ICML,
    place="sec. 6.2, Fig. 3; its Table 1 has p = .001 against l2 at 63,408 samples",
    tables=("differences", "chosen"),
    of_fits=True,
)
def auc_level_when_large(tables: Tables) -> list[Judgement]:
    """From 20,000 samples on, the methods' average AUCs are about the same."""
    sizes = _sizes_by_samples(tables, "differences", small=False, metric="auc")
    return each(partial(_auc_at, least=-SIMILAR, most=SIMILAR), tables, n=sizes, against=(L1, L2_OF_ICML))


FEW_FEATURES = 0.3  # of all features; Quattoni et al. 2009, sec. 6.2 on Fig. 4
MANY_MORE = 2  # Choice: times as many features are "many more". The paper has .95 / .3.


def _of_sparsity(tables: Tables, n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the joint method and of l1 at one size of the table of AUC against sparsity."""
    needed = ("run", "features", "validation", "auc_weighted")
    joint, l1 = (rows_with(tables, "sparsity", *needed, n=n, method=method) for method in (JOINT, L1))
    return joint, l1


def _chosen_with_few(rows: pd.DataFrame) -> pd.DataFrame:
    """By run the fit with few features that has the best AUC on the validation words; the first on ties."""
    few = rows[(rows["features"] <= FEW_FEATURES) & rows["validation"].notna()]
    return few.sort_values("validation", ascending=False, kind="stable").drop_duplicates("run").set_index("run")


def _auc_of_few_at(tables: Tables, n: int) -> Judgement:
    what = (
        f"AUC of {JOINT} minus that of {L1} (fraction), both chosen by validation words among fits with "
        f"at most {FEW_FEATURES:.0%} of the features"
    )
    joint, l1 = (_chosen_with_few(rows)["auc_weighted"].sort_index() for rows in _of_sparsity(tables, n))
    rows = describe(n=n, method=JOINT, against=L1)
    return conclude(mean_over(joint - l1), what, rows, n=n, least=ABOVE, level=SIMILAR)


@claim("auc-at-30-percent", paper=ICML, place="sec. 6.2, Fig. 4", tables=("sparsity",), of_fits=True)
def auc_at_30_percent(tables: Tables) -> list[Judgement]:
    """With at most 30% of the features l1,inf has a higher average AUC than l1 (read off the figure, without sizes)."""
    return each(_auc_of_few_at, tables, n=sizes_of(rows_with(tables, "sparsity", "n")))


def _features_to_match_at(tables: Tables, n: int) -> Judgement:
    joint, l1 = _of_sparsity(tables, n)
    few = _chosen_with_few(joint)
    target, n_runs = few["validation"], joint["run"].nunique()
    most = l1[l1["run"].isin(target.index)].groupby("run")["features"].max()
    matching = l1[l1["validation"] >= l1["run"].map(target)].groupby("run")["features"].min().reindex(most.index)
    never = int(matching.isna().sum())
    # Choice: if no fit of l1 reaches the AUC, its largest number of features counts, a lower bound.
    estimate = mean_over(matching.fillna(most) / few["features"])
    what = (
        f"features with which {L1} reaches the AUC on validation words that {JOINT} has with at most "
        f"{FEW_FEATURES:.0%} of all, where these words choose, over those that {JOINT} uses"
    )
    judgement = conclude(estimate, what, describe(n=n, method=L1, against=JOINT), n=n, least=MANY_MORE)
    if never:
        told = f"; in {never} of {len(most)} runs {L1} never reaches it: the most features that it used count"
        judgement = adding(withhold(judgement, DOES_NOT_HOLD), told)
    if len(few) < n_runs:
        told = f"; in {n_runs - len(few)} of {n_runs} runs {JOINT} has no fit with so few features"
        judgement = adding(
            withhold(judgement, HOLDS, "no number of runs would decide it, as some have no number"), told
        )
    return judgement


@claim("features-to-match", paper=ICML, place="sec. 6.2, Fig. 4", tables=("sparsity",), of_fits=True)
def features_to_match(tables: Tables) -> list[Judgement]:
    """For the AUC that l1,inf has with 30% of the features l1 needs many more of them."""
    return each(_features_to_match_at, tables, n=sizes_of(rows_with(tables, "sparsity", "n")))


N_ITER = 200  # Quattoni et al. 2009, Fig. 2
CONVERGED = 0.05  # Choice: converged is within 5 % of the optimum, relative as certified gaps are.
LEAST_OBJECTIVE = 1e-3  # divisor of distances from the optimum, if the objective is smaller; also of the gap


def _fits_of_largest(tables: Tables) -> pd.DataFrame:
    """Subgradient fits on the largest sets, with bounds on their relative distance from the optimum.

    Columns: run, n, method, radius, gap (a certified upper bound) and least (a lower bound).
    """
    rows = rows_with(tables, "convergence", "run", "n", "method", "radius", "eta0", "iteration", "objective", "gap")
    rows = rows[rows["n"] == rows["n"].max()]
    if rows["eta0"].isna().all():
        raise NotTested("table convergence holds fits of a solver without step sizes")
    if rows["iteration"].max() > N_ITER:
        raise NotTested(f"table convergence holds fits of {rows['iteration'].max()} iterations, more than {N_ITER}")
    keys = ["run", "n", "method", "radius"]
    fits = rows.groupby(keys, as_index=False).agg(gap=("gap", "first"), objective=("objective", "min"))
    # The optimum falls as the radius grows, so the objective of a smaller radius bounds it from above.
    reached = fits.groupby("run")["objective"].cummin()
    fits["least"] = (fits["objective"] - reached) / np.maximum(fits["objective"], LEAST_OBJECTIVE)
    return fits


def _largest_gap(fits: pd.DataFrame, radii: str, rows: str) -> Judgement:
    gap = float(fits["gap"].max(skipna=False))
    # Choice: bounds of the distance from the optimum take the place of a confidence interval.
    estimate = Estimate(
        gap, float(fits["least"].max()), gap, "bounds by duality and by smaller radii", wants="a smaller gap"
    )
    what = f"largest relative distance from the optimum of {JOINT}, {radii}: at most this (fraction)"
    return conclude(estimate, what, rows, n=int(fits["n"].iloc[0]), most=CONVERGED)


@claim("convergence-200", paper=ICML, place="sec. 6.2, Fig. 2", tables=("convergence", "chosen"))
def convergence_200(tables: Tables) -> list[Judgement]:
    """The projected subgradient method converges within 200 iterations on the largest training sets."""
    fits = _fits_of_largest(tables)
    fits = fits[fits["method"] == JOINT]
    if fits.empty:
        raise NotTested(f"table convergence has no row with {describe(method=JOINT)}")
    n = int(fits["n"].iloc[0])
    rows = describe(n=n, method=JOINT)
    at_any = _largest_gap(fits, "at any radius", rows)
    try:
        chosen = rows_with(tables, "chosen", "run", "radius", n=n, method=JOINT)[["run", "radius"]]
        of_chosen = fits.merge(chosen, on=["run", "radius"])
        if of_chosen.empty:
            raise NotTested("table convergence has no radius that table chosen names")
    except NotTested as reason:
        return [at_any, not_tested(reason, n, rows)]
    return [at_any, _largest_gap(of_chosen, "at the chosen radius", f"{rows}, radius as in table chosen")]


L1_PIVOT = "l1 pivot"  # the projection of Duchi et al., Fig. 2
BESIDE = ("scan", L1_PIVOT)  # what is measured to compare projections with
OURS = ("newton",)  # not the paper's projection


def _measured(tables: Tables, part: str, left_out: tuple[str, ...] = ()) -> list[tuple[str, pd.DataFrame]]:
    """Selector in words and rows of a part by increasing x, once per method if there are several."""
    rows = rows_with(tables, "cost", "x", "seconds", part=part).sort_values("x", kind="stable")
    if "method" not in rows or rows["method"].isna().all():
        return [(describe(part=part), rows)]
    methods = rows[~rows["method"].isin((*BESIDE, *left_out))].groupby("method", sort=False)
    return [(describe(part=part, method=method), one) for method, one in methods]


@claim("projection-n-log-n", paper=ICML, place="abstract, sec. 4.2; report: sec. 4.2", tables=("cost",), timed=True)
def projection_n_log_n(tables: Tables) -> list[Judgement]:
    """Projecting a matrix of x entries takes O(x log x) time, for any number of tasks."""
    judgements = []
    for selector, rows in _measured(tables, "projection size", OURS):
        x = rows["x"].to_numpy(dtype=float)
        if x[0] <= 1:
            raise NotTested(f"x log x needs x above 1, got {x[0]:g}")
        slope = slope_of(x, rows["seconds"].to_numpy(dtype=float) / (x * np.log(x)))
        what = "exponent of x, the number of entries, in the measured seconds / (x log x)"
        judgements.append(conclude(slope, what, selector, most=NEARLY_FLAT_SLOPE))
    return judgements + each(_of_as_many_entries, tables, part=("projection tasks",))


def _of_as_many_entries(tables: Tables, part: str) -> Judgement:
    rows = rows_with(tables, "cost", "x", "seconds", part=part)
    slope = slope_of(rows["x"].to_numpy(dtype=float), rows["seconds"].to_numpy(dtype=float))
    what = "exponent of the number of tasks in the measured seconds, for as many entries"
    return conclude(slope, what, describe(part=part), most=NEARLY_FLAT_SLOPE)


# The report, sec. 5.2: stories


def _eer_from_runs(tables: Tables, n: int, method: str, other: str) -> Judgement:
    estimate = paired_difference(tables, "chosen", "eer", {"n": n}, "method", method, other)
    what = f"average EER of {method} minus that of {other} (fraction, words not used for validation)"
    rows = describe(n=n, method=method, against=other)
    return conclude(estimate, what, rows, n=n, table="chosen", most=BELOW, level=SIMILAR)


def _eer_at(tables: Tables, n: int, against: str | tuple[str, ...]) -> Judgement:
    try:
        estimate, other, beside = _bootstrapped(tables, "eer", n, against)
    except NotTested:
        other = known(rows_with(tables, "chosen", "method", n=n), "method", against)
        return _eer_from_runs(tables, n, JOINT, other)
    what = f"average EER of {JOINT} minus that of {other} (fraction, words not used for validation)"
    rows = describe(metric="eer", words="test words", average=AVERAGE["eer"], n=n, method=JOINT, against=other)
    return adding(conclude(estimate, what, rows, n=n, table="differences", most=BELOW, level=SIMILAR), beside)


@claim("eer-order", paper=REPORT, place="sec. 5.2, Fig. 3 left", tables=("differences", "chosen"), of_fits=True)
def eer_order(tables: Tables) -> list[Judgement]:
    """l1,inf has a lower average EER than l1 and than l2."""
    try:
        rows = rows_with(tables, "differences", "n", metric="eer", words="test words")
    except NotTested:
        rows = rows_with(tables, "chosen", "n")
    return each(_eer_at, tables, n=sizes_of(rows), against=(L1, L2_OF_REPORT))


def _l1_over_l2_at(tables: Tables, n: int, against: tuple[str, ...]) -> Judgement:
    other = known(rows_with(tables, "chosen", "method", n=n), "method", against)
    return _eer_from_runs(tables, n, L1, other)


@claim("l1-over-l2", paper=REPORT, place="sec. 5.2, Fig. 3 left", tables=("chosen",), of_fits=True)
def l1_over_l2(tables: Tables) -> list[Judgement]:
    """l1 has a lower average EER than l2."""
    return each(_l1_over_l2_at, tables, n=sizes_of(rows_with(tables, "chosen", "n")), against=(L2_OF_REPORT,))


MOST_TOPICS = 0.75  # Choice: "all but a few" topics are at least three in four.


@claim("eer-most-topics", paper=REPORT, place="sec. 5.2, Fig. 3 right", tables=("by_word", "chosen"), of_fits=True)
def eer_most_topics(tables: Tables) -> list[Judgement]:
    """l1,inf has the lowest EER on all but a few topics, at n = 30."""
    n = report_size(sizes_of(rows_with(tables, "by_word", "n")))
    rows = rows_with(tables, "by_word", "method", "word", "eer", n=n, validation_word=False)
    methods = [known(rows, "method", names) for names in (JOINT, L1, L2_OF_REPORT)]
    means = rows.pivot_table(values="eer", index="word", columns="method", aggfunc="mean")
    eer = means.reindex(columns=methods).dropna()
    if eer.empty:
        raise NotTested(f"no topic has an EER of {', '.join(methods)} at n={n}")
    best = eer[JOINT] < eer[methods[1:]].min(axis=1)
    from scipy.stats import binomtest  # here, as it takes half a second to import

    # Choice: topics count as drawn at random and independent of each other.
    low, high = binomtest(int(best.sum()), len(best)).proportion_ci(CONFIDENCE, method="wilson")
    what = f"fraction of {len(best)} topics on which {JOINT} has the lowest EER (mean over runs)"
    estimate = Estimate(
        float(best.mean()), float(low), float(high), "95 % Wilson interval over topics", wants="more topics"
    )
    selector = describe(n=n, validation_word=False, method=JOINT, against=" and ".join(methods[1:]))
    return [conclude(estimate, what, selector, n=n, least=MOST_TOPICS)]


def _fewer_features_at(tables: Tables, n: int) -> Judgement:
    estimate = paired_difference(tables, "chosen", "features", {"n": n}, "method", JOINT, L1)
    what = f"features used by {JOINT} minus those used by {L1} (fraction of all features)"
    return conclude(estimate, what, describe(n=n, method=JOINT, against=L1), n=n, most=BELOW)


@claim(
    "joint-sparsity",
    paper=REPORT,
    place="sec. 5.2, Fig. 4; ICML: sec. 7",
    tables=("chosen",),
    of_fits=True,
)
def joint_sparsity(tables: Tables) -> list[Judgement]:
    """l1,inf uses fewer features than l1."""
    return each(_fewer_features_at, tables, n=sizes_of(rows_with(tables, "chosen", "n")))


def _tasks_per_feature(rows: pd.DataFrame) -> float:
    used = rows[rows["weight"] != 0]
    return len(used) / max(used["feature"].nunique(), 1)


@claim("feature-sharing", paper=REPORT, place="sec. 5.2, Fig. 4", tables=("weights", "chosen"), of_fits=True)
def feature_sharing(tables: Tables) -> list[Judgement]:
    """A feature that l1,inf uses serves more tasks than one that l1 uses."""
    table = rows_with(tables, "weights", "method", "feature", "weight")
    n = report_size(sizes_of(table)) if "n" in table else None
    where = {} if n is None else {"n": n}
    joint, l1 = (_tasks_per_feature(rows_with(tables, "weights", **where, method=method)) for method in (JOINT, L1))
    what = f"tasks per used feature of {JOINT} minus those of {L1} (mean over features with a weight)"
    estimate = Estimate(joint - l1, np.nan, np.nan, "counted in the chosen fits of one run")
    return [conclude(estimate, what, describe(**where, method=JOINT, against=L1), n=n, least=ABOVE, count=True)]


# The report: iterations and seconds

FLAT_SLOPE = 0.2  # Choice: iterations that grow slower than n^0.2 do not depend on n.


@claim("iterations-independent-of-samples", paper=REPORT, place="sec. 2", tables=("recovery",))
def iterations_independent_of_samples(tables: Tables) -> list[Judgement]:
    """The number of iterations to a given accuracy does not grow with the number of samples."""
    where = {"solver": "subgradient", "radius_rule": "true", "method": JOINT} | PAPERS_TASKS
    rows = rows_with(tables, "recovery", "n", "iterations", **where)
    # A run that does not reach the accuracy took more iterations than any run that does.
    median = rows["iterations"].astype(float).fillna(np.inf).groupby(rows["n"]).median()
    never = median.index[np.isinf(median)]
    median = median[~np.isinf(median)]
    # The smallest sizes may be left out: they took longer, so that with them the exponent would be smaller.
    if median.empty or (never > median.index.min()).any():
        raise NotTested(f"at n={', '.join(map(str, never))} most runs do not come within 1 % of the optimum")
    estimate = slope_of(median.index.to_numpy(dtype=float), np.maximum(median.to_numpy(), 1))
    what = "exponent of n in the iterations to 1 % accuracy (median over runs)"
    what += f", without n={', '.join(map(str, never))}, where most runs do not reach it" if len(never) else ""
    judgement = conclude(estimate, what, describe(**where), most=FLAT_SLOPE)
    return [withhold(judgement, DOES_NOT_HOLD) if len(never) else judgement]


RATE = 2  # Quattoni et al. 2008, sec. 6
ACCURACIES = {"iterations_10": 0.1, "iterations_3": 0.03, "iterations": 0.01}  # by column of the table recovery


def _rate_at(tables: Tables, n: int) -> Judgement:
    where = _recovery(n) | {"method": JOINT}
    rows = rows_with(tables, "recovery", "run", *ACCURACIES, **where)
    iterations = pd.DataFrame({accuracy: by_run(rows, column) for column, accuracy in ACCURACIES.items()}).astype(float)
    if iterations[max(ACCURACIES.values())].isna().any():
        raise NotTested(f"not every run comes within {max(ACCURACIES.values()):.0%} of the optimum")
    never = int(iterations.isna().any(axis=1).sum())
    inverse = 1 / iterations.columns.to_numpy()
    # A run that does not reach an accuracy took more than all its iterations for it.
    reached = iterations.fillna(float(N_ITER)).to_numpy()
    slopes = [log_log(inverse, np.maximum(of_run, 1)).slope for of_run in reached]
    what = "exponent of 1/eps in the iterations to within eps = 10, 3 and 1 % of the optimum, one per run"
    judgement = conclude(mean_over(pd.Series(slopes)), what, describe(**where), n=n, most=RATE)
    told = f"; {never} of {len(rows)} runs do not come within 1 %, and all iterations count, a lower bound"
    return adding(withhold(judgement, HOLDS), told) if never else judgement


@claim("convergence-rate", paper=REPORT, place="sec. 1 and 6; ICML: sec. 3.3", tables=("recovery",))
def convergence_rate(tables: Tables) -> list[Judgement]:
    """The projected subgradient method comes within eps of the optimum in O(eps^-2) iterations."""
    return each(_rate_at, tables, n=_recovery_sizes(tables))


MANY_SAMPLES = 160  # Choice: per task; with fewer, the fixed cost of an iteration flattens the slope.
LINEAR_SLOPE = 1.2  # Choice: seconds that grow slower than n^1.2 grow linearly.


@claim("cost-linear-in-samples", paper=REPORT, place="abstract, sec. 6", tables=("cost",), timed=True)
def cost_linear_in_samples(tables: Tables) -> list[Judgement]:
    """The cost of training grows no faster than linearly with the number of samples."""
    judgements = []
    for selector, rows in _measured(tables, "training samples"):
        selector, rows = without_small(rows, selector, MANY_SAMPLES)
        slope = slope_of(rows["x"].to_numpy(dtype=float), rows["seconds"].to_numpy(dtype=float))
        what = "exponent of the number of samples in the measured seconds"
        judgements.append(conclude(slope, what, selector, most=LINEAR_SLOPE))
    return judgements


def _beyond_scan(rows: pd.DataFrame, selector: str, scans: pd.Series) -> Judgement:
    """Seconds beyond a scan with the fewest non-zero rows over those with the most.

    A scan takes as long for any number of non-zero rows, so its measurements tell how far one measurement is off.
    """
    x, scan = rows["x"].to_numpy(dtype=float), float(scans.mean())
    few, most = rows["seconds"].to_numpy(dtype=float)[[0, -1]] - scan
    # One measurement varies, and so does the mean that is subtracted from it.
    half = (mean_over(scans, "scan").high - scan) * np.sqrt(len(scans) + 1)
    if most <= np.nan_to_num(half):
        raise NotTested(f"with {x[-1]:g} non-zero rows a projection takes hardly longer than a scan of {scan:.2g} s")
    ends = [(few + sign * half) / (most + towards * half) for sign in (-1, 1) for towards in (-1, 1)]
    origin = f"95 % interval by the scatter of {len(scans)} scans; timed"
    estimate = Estimate(few / most, min(ends), max(ends), origin, wants="more scans")
    what = f"seconds beyond a scan of the dense matrix ({scan:.2g} s) with {x[0]:g} non-zero rows over those with "
    return conclude(estimate, f"{what}{x[-1]:g}", selector, most=FAR_BELOW)


@claim("projection-non-zero-rows", paper=REPORT, place="sec. 4.2; ICML: sec. 4.2", tables=("cost",), timed=True)
def projection_non_zero_rows(tables: Tables) -> list[Judgement]:
    """Beyond one scan of the matrix, the cost of a projection depends on the non-zero rows alone."""
    scans = rows_with(tables, "cost", "seconds", part="projection rows", method="scan")["seconds"]
    return [_beyond_scan(rows, selector, scans) for selector, rows in _measured(tables, "projection rows")]


@claim(
    "projection-as-cheap-as-l1",
    paper=ICML,
    place="sec. 7; poster: contributions",
    tables=("cost",),
    timed=True,
)
def projection_as_cheap_as_l1(tables: Tables) -> list[Judgement]:
    """The cost of an l1,inf projection matches that of an l1 projection: it grows no faster with the number of
    parameters, and takes at most 2 times the seconds.
    """
    l1 = rows_with(tables, "cost", "x", "seconds", part="projection size", method=L1_PIVOT)
    judgements = []
    for selector, rows in _measured(tables, "projection size", OURS):
        where = f"{selector}, against={L1_PIVOT}"
        slope, _ = ratio_slope(rows, l1)
        what = "exponent of the number of entries in the measured seconds over those of an l1 projection"
        judgements.append(conclude(slope, what, where, most=NEARLY_FLAT_SLOPE))
        ratio, x = ratio_at_largest(rows, l1)
        what = f"measured seconds over those of an l1 projection, for {x:,.0f} entries"
        judgements.append(conclude(ratio, what, where, most=COMPETITIVE))
    return judgements


@claim(
    "linear-program-outgrown",
    paper=REPORT,
    place="sec. 2; ICML: sec. 2",
    tables=("cost",),
    timed=True,
)
def linear_program_outgrown(tables: Tables) -> list[Judgement]:
    """A general solver of linear programs does not scale: its time grows faster than that of projected subgradients."""
    needed = ("x", "seconds", "objective")
    program, fits = (
        rows_with(tables, "cost", *needed, part="tasks", method=method) for method in ("linear program", "subgradient")
    )
    slope, largest = ratio_slope(program, fits)
    above = (fits.set_index("x")["objective"] / program.set_index("x")["objective"] - 1).max()
    what = f"exponent of the number of tasks in the seconds of the program's solver over those of the other{largest}"
    what += f", whose objectives are at most {max(above, 0):.1%} above the program's"
    where = describe(part="tasks", method="linear program", against="subgradient")
    return [conclude(slope, what, where, least=ABOVE)]


@claim("projection-memory-linear", paper=ICML, place="abstract; sec. 1, 4.2 and 7", tables=("cost",), timed=True)
def projection_memory_linear(tables: Tables) -> list[Judgement]:
    """Projecting a matrix of x entries takes O(x) memory."""
    rows = rows_with(tables, "cost", "x", "bytes", part="projection size", method="sort").dropna(subset="bytes")
    if rows.empty:
        raise NotTested("table cost holds no bytes")
    slope = slope_of(rows["x"].to_numpy(dtype=float), (rows["bytes"] / rows["x"]).to_numpy())
    largest = f" ({rows['bytes'].iloc[-1] / rows['x'].iloc[-1]:.3g} for {rows['x'].iloc[-1]:g})"
    what = f"exponent of x, the number of entries, in the bytes per entry beside matrix and result{largest}"
    return [conclude(slope, what, describe(part="projection size", method="sort"), most=NEARLY_FLAT_SLOPE)]


# The poster: scenes


@claim(
    "scene-order",
    paper=POSTER,
    place="Indoor Scene Recognition, L1 vs L1INF, read off a figure",
    tables=("differences", "chosen"),
    of_fits=True,
)
def scene_order(tables: Tables) -> list[Judgement]:
    """On scenes, l1,inf has a higher average AUC than l1 at every training size."""
    sizes = sizes_of(rows_with(tables, "differences", "n", metric="auc", words="test words"))
    return each(_auc_at, tables, n=sizes, against=(L1,))
