"""What Quattoni et al. claim of l1,inf norms over many tasks.

Sources: Quattoni et al. 2009 (ICML), its technical report of 2008 and its poster.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.papers.judging import (
    ABOVE,
    BELOW,
    CONFIDENCE,
    DOES_NOT_HOLD,
    FAR_BELOW,
    HOLDS,
    NEARLY_FLAT_SLOPE,
    UNDECIDED,
    Claim,
    Estimate,
    Judgement,
    NotTested,
    Tables,
    by_run,
    conclude,
    describe,
    each,
    known,
    log_log,
    mean_over,
    not_tested,
    paired_difference,
    select,
    sizes_of,
    slope_of,
    withhold,
    without_small,
    worst_of,
)

REPORT, ICML, POSTER = "Quattoni et al. 2008 (report)", "Quattoni et al. 2009 (ICML)", "Quattoni et al. 2009 (poster)"

EXCEPTIONS = (
    "convergence-200: its bounds are bounds of the distance from the optimum, not a confidence interval.",
    "feature-sharing counts and needs no interval, nor does joint-sparsity with a single run.",
    "auc-significant goes by tests: it holds if those of all runs are significant, does not hold if one in the reverse "
    "direction is, and is undecided otherwise.",
    "features-to-match and iterations-independent-of-samples are undecided instead of not holding where fits that do "
    "not get far enough make the number a bound, and the true one is nearer to the claim.",
)

JOINT = "hinge-l1inf"
# Methods that may stand for one of the papers', the nearest first: the ICML paper trained l2 by SVM-Light, the report
# by the same projected subgradient method as the rest.
L1, SVM_L2, HINGE_L2 = ("hinge-l1",), ("svm-l2", "hinge-l2"), ("hinge-l2", "svm-l2")

SMALL = 20_000  # samples; Quattoni et al. 2009, sec. 6.2
FEW_FEATURES = 0.3  # of all features; Quattoni et al. 2009, sec. 6.2 on Fig. 4
N_ITER = 200  # iterations; Quattoni et al. 2009, Fig. 2
FEW_POSITIVES = 30  # per topic; Quattoni et al. 2008, Fig. 3 and 4
EQUAL_RECALL = 0.05  # Choice: precisions are compared where the joint method's recall is lower by no more than this.
HIGH_RECALL = 0.9  # Choice: "high".
SIMILAR_ERROR = 0.02  # Choice: "very similar" test errors differ by at most this.
SIMILAR_AUC = 0.01  # Choice: "similar" AUCs differ by at most this.
SIGNIFICANT = 0.05  # Choice: the level of a significant test, after Holm's correction.
MANY_SAMPLES = 160  # Choice: per task; below, what an iteration costs besides its samples flattens the slope.
MANY_MORE_FEATURES = 2 * FEW_FEATURES  # Choice: "many more" features are at least twice as many.
CONVERGED = 0.05  # Choice: converged is within 5 % of the optimum, relative to the objective.
MOST_TOPICS = 0.75  # Choice: "all but a few" topics are at least three in four.
FLAT_SLOPE = 0.2  # Choice: iterations that grow slower than n^0.2 do not depend on n.
LINEAR_SLOPE = 1.2  # Choice: seconds that grow slower than n^1.2 grow linearly.


def _few_positives(rows: pd.DataFrame) -> int:
    """The size to look at where the report looks at n = 30: the smallest from 30 on, or else the largest."""
    # Choice: another size stands for n = 30 where a study does not have it.
    sizes = sizes_of(rows)
    return next((n for n in sizes if n >= FEW_POSITIVES), sizes[-1])


def _bootstrapped(tables: Tables, metric: str, n: int, against: tuple[str, ...]) -> tuple[Estimate, str]:
    """The joint method's metric minus another's as the table of differences has it, and the other's name."""
    where = {"metric": metric, "words": "test words", "method": JOINT, "n": n}
    rows = select(tables, "differences", "against", "difference", "low", "high", "runs", **where)
    other = known(rows, "against", against)
    rows = rows[rows["against"] == other]
    if len(rows) > 1:
        raise ValueError(f"expected one row of differences with {describe(**where, against=other)}, got {len(rows)}")
    difference, low, high, runs = rows[["difference", "low", "high", "runs"]].iloc[0]
    origin = "95 % interval, paired bootstrap over test images"
    origin += f" joined with the t interval over {runs:g} runs" if runs > 1 else ", one run"
    return Estimate(float(difference), float(low), float(high), origin), other


# The synthetic experiment


def _recovery(n: int, radius_rule: str = "true") -> dict[str, Any]:
    return {"solver": "subgradient", "radius_rule": radius_rule, "n": n}


def _recovery_sizes(tables: Tables, radius_rule: str = "true") -> list[int]:
    return sizes_of(select(tables, "recovery", "n", solver="subgradient", radius_rule=radius_rule))


def _error_at(tables: Tables, n: int, against: tuple[str, ...], radius_rule: str) -> Judgement:
    where, other = _recovery(n, radius_rule), against[0]
    estimate = paired_difference(tables, "recovery", "test_error", where, "method", JOINT, other)
    what = f"test error of {JOINT} minus that of {other} (fraction)"
    return conclude(estimate, what, describe(**where, method=JOINT, against=other), n=n, most=BELOW)


def synthetic_error_order(tables: Tables, radius_rule: str = "true") -> list[Judgement]:
    """The joint method's test error is the lowest, at each n. radius_rule: "true" or "validated"."""
    judge_one = partial(_error_at, radius_rule=radius_rule)
    return each(judge_one, tables, n=_recovery_sizes(tables, radius_rule), against=(L1, HINGE_L2[:1]))


def _precision_at(tables: Tables, n: int, against: tuple[str, ...]) -> Judgement:
    where, other = _recovery(n), against[0]
    recall = paired_difference(tables, "recovery", "recall", where, "method", JOINT, other).number
    if recall < -EQUAL_RECALL:
        raise NotTested(f"recall of {JOINT} is {-recall:.3f} below that of {other}, more than {EQUAL_RECALL:g}")
    rows = select(tables, "recovery", "precision", **where)
    if (rows.loc[rows["method"].isin((JOINT, other)), "precision"] == 1).all():
        raise NotTested(f"both are perfect: {JOINT} and {other} have a precision of 1 in every run")
    estimate = paired_difference(tables, "recovery", "precision", where, "method", JOINT, other)
    what = f"precision of {JOINT} minus that of {other} (fraction), where recalls differ by {recall:+.3f}"
    return conclude(estimate, what, describe(**where, method=JOINT, against=other), n=n, least=ABOVE)


def selection_precision(tables: Tables) -> list[Judgement]:
    """The joint method's precision is above l1's at no less recall, at each n."""
    return each(_precision_at, tables, n=_recovery_sizes(tables), against=(L1,))


def _recall_at(tables: Tables, n: int, method: tuple[str, ...]) -> Judgement:
    where = _recovery(n) | {"method": method[0]}
    estimate = mean_over(by_run(select(tables, "recovery", "run", "recall", **where), "recall"))
    return conclude(estimate, f"recall of {method[0]} (fraction)", describe(**where), n=n, least=HIGH_RECALL)


def selection_recall(tables: Tables) -> list[Judgement]:
    """Recall of either method is high at every n: its worst."""
    sizes = _recovery_sizes(tables)
    return [
        worst_of(each(_recall_at, tables, n=sizes, method=[method]), lambda recall: -recall)
        for method in ((JOINT,), L1)
    ]


def _validation_at(tables: Tables, n: int, method: tuple[str, ...]) -> Judgement:
    where: dict[str, Any] = {"solver": "subgradient", "n": n, "method": method[0]}
    estimate = paired_difference(tables, "recovery", "test_error", where, "radius_rule", "validated", "true")
    what = f"test error of {method[0]} with the radius chosen by validation minus that with the true one (fraction)"
    rows = describe(**where, radius_rule="validated", against="true")
    return conclude(estimate, what, rows, n=n, least=-SIMILAR_ERROR, most=SIMILAR_ERROR)


def radius_by_validation(tables: Tables) -> list[Judgement]:
    """Radii by validation give very similar test errors: the worst n of each method."""
    sizes = _recovery_sizes(tables)
    return [worst_of(each(_validation_at, tables, n=sizes, method=[m]), abs) for m in ((JOINT,), L1, HINGE_L2[:1])]


def iterations_independent_of_samples(tables: Tables) -> list[Judgement]:
    """Iterations to an objective within 1 % of the optimum do not grow with n."""
    where = {"solver": "subgradient", "radius_rule": "true", "method": JOINT}
    rows = select(tables, "recovery", "n", "iterations", **where)
    # A run that never comes near took more iterations than any that does.
    median = rows["iterations"].astype(float).fillna(np.inf).groupby(rows["n"]).median()
    never = median.index[np.isinf(median)]
    median = median[~np.isinf(median)]
    # Sizes below the rest may be left out: they took longer, so that with them the exponent would be smaller.
    if median.empty or (never > median.index.min()).any():
        raise NotTested(f"at n={', '.join(map(str, never))} most runs do not come within 1 % of the optimum")
    estimate = slope_of(median.index.to_numpy(dtype=float), np.maximum(median.to_numpy(), 1))
    what = "exponent of n in the iterations to 1 % accuracy (median over runs)"
    what += f", without n={', '.join(map(str, never))}, where most runs do not reach it" if len(never) else ""
    judgement = conclude(estimate, what, describe(**where), most=FLAT_SLOPE)
    return [withhold(judgement, DOES_NOT_HOLD) if len(never) else judgement]


# Image annotation, stories and scenes


def _auc_at(tables: Tables, n: int, against: tuple[str, ...], least: float, most: float) -> Judgement:
    estimate, other = _bootstrapped(tables, "auc", n, against)
    what = f"AUC of {JOINT} minus that of {other} (fraction, words not used for validation)"
    rows = describe(metric="auc", words="test words", n=n, method=JOINT, against=other)
    return conclude(estimate, what, rows, n=n, least=least, most=most)


def _auc_above_at(tables: Tables, n: int, against: tuple[str, ...]) -> Judgement:
    return _auc_at(tables, n, against, ABOVE, np.inf)


def _auc_similar_at(tables: Tables, n: int, against: tuple[str, ...]) -> Judgement:
    return _auc_at(tables, n, against, -SIMILAR_AUC, SIMILAR_AUC)


def _sizes_by_samples(tables: Tables, name: str, *, small: bool, **where: Any) -> list[int]:
    """The sizes below 20,000 samples in some rows of a table, or the others."""
    rows = select(tables, name, "n", "n_samples", words="test words", **where)
    rows = rows[(rows["n_samples"] < SMALL) == small]
    if rows.empty:
        raise NotTested(f"table {name} has no size of {'less than' if small else 'at least'} {SMALL:,} samples")
    return sizes_of(rows)


def auc_order(tables: Tables) -> list[Judgement]:
    """The joint method's AUC is above l1's and l2's at each size below 20,000 samples."""
    sizes = _sizes_by_samples(tables, "differences", small=True, metric="auc")
    return each(_auc_above_at, tables, n=sizes, against=(L1, SVM_L2))


def auc_level_when_large(tables: Tables) -> list[Judgement]:
    """AUCs are similar from 20,000 samples on."""
    sizes = _sizes_by_samples(tables, "differences", small=False, metric="auc")
    return each(_auc_similar_at, tables, n=sizes, against=(L1, SVM_L2))


def scene_order(tables: Tables) -> list[Judgement]:
    """The joint method's AUC is above l1's at each n."""
    sizes = sizes_of(select(tables, "differences", "n", metric="auc", words="test words"))
    return each(_auc_above_at, tables, n=sizes, against=(L1,))


def _significant_at(tables: Tables, n: int, against: tuple[str, ...]) -> Judgement:
    where = {"words": "test words", "n": n, "method": JOINT}
    rows = select(tables, "significance", "run", "against", "p_holm", "p_reverse_holm", **where)
    other = known(rows, "against", against)
    # A missing p-value is not a significant one.
    tests = rows.loc[rows["against"] == other, ["p_holm", "p_reverse_holm"]].astype(float).fillna(1)
    p, reverse = tests["p_holm"], tests["p_reverse_holm"]
    worse = int((reverse < SIGNIFICANT).sum())
    verdict = DOES_NOT_HOLD if worse else HOLDS if (p < SIGNIFICANT).all() else UNDECIDED
    means = f"largest p-value of {len(p)} one-sided sign tests, one per run, Holm-corrected within run and table"
    means += f"; in {worse} of {len(p)} runs {other} is significantly better" if worse else ""
    means += "; tests pool words and are not exact"
    return Judgement(float(p.max()), np.nan, np.nan, verdict, means, describe(**where, against=other), n)


def auc_significant(tables: Tables) -> list[Judgement]:
    """The sign tests against l1 and l2 are significant in every run, at each size below 20,000 samples."""
    sizes = _sizes_by_samples(tables, "significance", small=True, method=JOINT)
    return each(_significant_at, tables, n=sizes, against=(L1, SVM_L2))


def _path(tables: Tables) -> tuple[str, int, pd.DataFrame, pd.DataFrame]:
    """The table that shows AUC against sparsity, its largest size, and the rows of the joint method and of l1."""
    name = "path" if len(tables.get("path", ())) else "sparsity"
    n = sizes_of(select(tables, name, "n"))[-1]
    needed = ("run", "features", "validation", "auc")
    joint, l1 = (select(tables, name, *needed, n=n, method=method) for method in (JOINT, L1[0]))
    return name, n, joint, l1


def _chosen_with_few(rows: pd.DataFrame) -> pd.Series:
    """By run, the test AUC of the fit with the best AUC on the validation words among those with few features."""
    few = rows[(rows["features"] <= FEW_FEATURES) & rows["validation"].notna()]
    best = few.sort_values("validation", ascending=False, kind="stable").drop_duplicates("run")  # the first on ties
    return best.set_index("run")["auc"].sort_index()


def auc_at_30_percent(tables: Tables) -> list[Judgement]:
    """With at most 30 % of the features the joint method's AUC is above l1's."""
    name, n, joint, l1 = _path(tables)
    few = f"at most {FEW_FEATURES:.0%} of the features"
    what = f"AUC of {JOINT} minus that of {L1[0]} (fraction), both chosen by validation words among fits with {few}"
    rows = describe(n=n, method=JOINT, against=L1[0])
    estimate = mean_over(_chosen_with_few(joint) - _chosen_with_few(l1))
    return [conclude(estimate, what, rows, n=n, table=name, least=ABOVE)]


def features_to_match(tables: Tables) -> list[Judgement]:
    """l1 needs many more features for the AUC that the joint method has with at most 30 % of them."""
    name, n, joint, l1 = _path(tables)
    target = _chosen_with_few(joint).dropna()
    most = l1[l1["run"].isin(target.index)].groupby("run")["features"].max()
    matching = l1[l1["auc"] >= l1["run"].map(target)].groupby("run")["features"].min().reindex(most.index)
    never = int(matching.isna().sum())
    # Choice: where no fit of l1 gets there, the most features that it used count, a lower bound.
    estimate = mean_over(matching.fillna(most))
    estimate = estimate._replace(high=float(np.minimum(estimate.high, 1.0)))
    what = f"fraction of features with which {L1[0]} reaches the AUC that {JOINT} has with at most {FEW_FEATURES:.0%}"
    what += " in the fit that validation words choose"
    if never:
        what += f"; in {never} of {len(most)} runs {L1[0]} never reaches it: the most features that it used count"
    rows = describe(n=n, method=L1[0], against=JOINT)
    judgement = conclude(estimate, what, rows, n=n, table=name, least=MANY_MORE_FEATURES)
    return [withhold(judgement, DOES_NOT_HOLD) if never else judgement]


def _fits_of_largest(tables: Tables) -> pd.DataFrame:
    """The subgradient fits on the largest sets, and how far each is from the optimum, relative to its objective.

    Columns: run, n, method, radius; gap: an upper bound, certified; least: a lower one.
    """
    rows = select(tables, "convergence", "run", "n", "method", "radius", "eta0", "iteration", "objective", "gap")
    rows = rows[rows["n"] == rows["n"].max()]
    if rows["eta0"].isna().all():
        raise NotTested("table convergence holds fits of a solver without step sizes")
    if rows["iteration"].max() > N_ITER:
        raise NotTested(f"table convergence holds fits of {rows['iteration'].max()} iterations, more than {N_ITER}")
    keys = ["run", "n", "method", "radius"]
    fits = rows.groupby(keys, as_index=False).agg(gap=("gap", "first"), objective=("objective", "min"))
    # The optimum falls as the radius grows, so what a smaller radius reaches bounds it from above.
    reached = fits.groupby("run")["objective"].cummin()
    fits["least"] = (fits["objective"] - reached) / np.maximum(fits["objective"], 1e-3)  # scaled like the gap
    return fits


def _largest_gap(fits: pd.DataFrame, radii: str, rows: str) -> Judgement:
    gap = float(fits["gap"].max(skipna=False))
    # Choice: in the place of a confidence interval, bounds of the distance from the optimum.
    estimate = Estimate(gap, float(fits["least"].max()), gap, "bounds by duality and by smaller radii")
    what = f"largest relative distance from the optimum of {JOINT}, {radii}: at most this (fraction)"
    return conclude(estimate, what, rows, n=int(fits["n"].iloc[0]), most=CONVERGED)


def convergence_200(tables: Tables) -> list[Judgement]:
    """Within 200 iterations the largest training sets are fitted to within 5 %: at every radius, at the chosen one."""
    fits = _fits_of_largest(tables)
    fits = fits[fits["method"] == JOINT]
    if fits.empty:
        raise NotTested(f"table convergence has no row with {describe(method=JOINT)}")
    n = int(fits["n"].iloc[0])
    rows = describe(n=n, method=JOINT)
    judgements = [_largest_gap(fits, "at any radius", rows)]
    try:
        chosen = select(tables, "chosen", "run", "radius", n=n, method=JOINT)[["run", "radius"]]
        of_chosen = fits.merge(chosen, on=["run", "radius"])
        if of_chosen.empty:
            raise NotTested("table convergence has no radius that table chosen names")
        judgements.append(_largest_gap(of_chosen, "at the chosen radius", f"{rows}, radius as in table chosen"))
    except NotTested as reason:
        judgements.append(not_tested(reason, n, rows))
    return judgements


def _eer_from_runs(tables: Tables, n: int, method: str, other: str) -> Judgement:
    estimate = paired_difference(tables, "chosen", "eer", {"n": n}, "method", method, other)
    what = f"average EER of {method} minus that of {other} (fraction, words not used for validation)"
    return conclude(estimate, what, describe(n=n, method=method, against=other), n=n, table="chosen", most=BELOW)


def _eer_at(tables: Tables, n: int, against: tuple[str, ...]) -> Judgement:
    try:
        estimate, other = _bootstrapped(tables, "eer", n, against)
    except NotTested:
        other = known(select(tables, "chosen", "method", n=n), "method", against)
        return _eer_from_runs(tables, n, JOINT, other)
    what = f"average EER of {JOINT} minus that of {other} (fraction, words not used for validation)"
    rows = describe(metric="eer", words="test words", n=n, method=JOINT, against=other)
    return conclude(estimate, what, rows, n=n, table="differences", most=BELOW)


def _eer_sizes(tables: Tables) -> list[int]:
    try:
        return sizes_of(select(tables, "differences", "n", metric="eer", words="test words"))
    except NotTested:
        return sizes_of(select(tables, "chosen", "n"))


def eer_order(tables: Tables) -> list[Judgement]:
    """The joint method's average EER is below l1's and l2's, at each n."""
    return each(_eer_at, tables, n=_eer_sizes(tables), against=(L1, HINGE_L2))


def _l1_over_l2_at(tables: Tables, n: int, against: tuple[str, ...]) -> Judgement:
    other = known(select(tables, "chosen", "method", n=n), "method", against)
    return _eer_from_runs(tables, n, L1[0], other)


def l1_over_l2(tables: Tables) -> list[Judgement]:
    """l1's average EER is below l2's, at each n."""
    return each(_l1_over_l2_at, tables, n=sizes_of(select(tables, "chosen", "n")), against=(HINGE_L2,))


def eer_most_topics(tables: Tables) -> list[Judgement]:
    """The joint method has the lowest EER on all but a few topics, at n = 30."""
    n = _few_positives(select(tables, "by_word", "n"))
    rows = select(tables, "by_word", "method", "word", "eer", n=n, validation_word=False)
    methods = [known(rows, "method", names) for names in ((JOINT,), L1, HINGE_L2)]
    eer = (
        rows.pivot_table(values="eer", index="word", columns="method", aggfunc="mean").reindex(columns=methods).dropna()
    )
    if eer.empty:
        raise NotTested(f"no topic has an EER of {', '.join(methods)} at n={n}")
    best = eer[JOINT] < eer[methods[1:]].min(axis=1)
    from scipy.stats import binomtest  # here, as it takes half a second to import

    # Choice: topics count as drawn at random and independent of each other.
    low, high = binomtest(int(best.sum()), len(best)).proportion_ci(CONFIDENCE, method="wilson")
    what = f"fraction of {len(best)} topics on which {JOINT} has the lowest EER (mean over runs)"
    estimate = Estimate(float(best.mean()), float(low), float(high), "95 % Wilson interval over topics")
    selector = describe(n=n, validation_word=False, method=JOINT, against=" and ".join(methods[1:]))
    return [conclude(estimate, what, selector, n=n, least=MOST_TOPICS)]


def joint_sparsity(tables: Tables) -> list[Judgement]:
    """The joint method uses fewer features than l1, at n = 30."""
    n = _few_positives(select(tables, "chosen", "n"))
    estimate = paired_difference(tables, "chosen", "features", {"n": n}, "method", JOINT, L1[0])
    what = f"features used by {JOINT} minus those used by {L1[0]} (fraction of all features)"
    return [conclude(estimate, what, describe(n=n, method=JOINT, against=L1[0]), n=n, most=BELOW, count=True)]


def feature_sharing(tables: Tables) -> list[Judgement]:
    """Features that the joint method uses serve more tasks each than those that l1 uses."""
    table = select(tables, "weights", "method", "feature", "weight")
    n = _few_positives(table) if "n" in table else None
    where = {} if n is None else {"n": n}
    shared = []
    for method in (JOINT, L1[0]):
        rows = select(tables, "weights", **where, method=method)
        rows = rows[rows["weight"] != 0]
        shared.append(len(rows) / max(rows["feature"].nunique(), 1))
    what = f"tasks per used feature of {JOINT} minus those of {L1[0]} (mean over features with a weight)"
    estimate = Estimate(shared[0] - shared[1], np.nan, np.nan, "counted in the chosen fits of one run")
    rows_used = describe(**where, method=JOINT, against=L1[0])
    return [conclude(estimate, what, rows_used, n=n, least=ABOVE, count=True)]


# Measured seconds


def _measured(tables: Tables, part: str) -> list[tuple[str, pd.DataFrame]]:
    """The rows of a part by increasing x, once per method where there are several, and what selects them."""
    rows = select(tables, "cost", "x", "seconds", part=part).sort_values("x", kind="stable")
    if "method" not in rows or rows["method"].isna().all():
        return [(describe(part=part), rows)]
    return [(describe(part=part, method=method), one) for method, one in rows.groupby("method", sort=False)]


def _growth(rows: pd.DataFrame, selector: str, what: str, most: float, divided_by: str = "") -> Judgement:
    """The slope of log seconds, or of log seconds / (x log x), on log x, claimed to be at most `most`."""
    x, seconds = rows["x"].to_numpy(dtype=float), rows["seconds"].to_numpy(dtype=float)
    if divided_by:
        if x[0] <= 1:
            raise NotTested(f"x log x needs x above 1, got {x[0]:g}")
        seconds = seconds / (x * np.log(x))
    what = f"exponent of {what} in the measured seconds{divided_by}"
    return conclude(slope_of(x, seconds), what, selector, most=most)


def cost_linear_in_samples(tables: Tables) -> list[Judgement]:
    """Seconds per iteration grow no faster than linearly with the training samples; x is their number per task."""
    parts = [without_small(rows, selector, MANY_SAMPLES) for selector, rows in _measured(tables, "training samples")]
    return [_growth(rows, selector, "the number of samples", LINEAR_SLOPE) for selector, rows in parts]


def projection_n_log_n(tables: Tables) -> list[Judgement]:
    """Seconds of a projection grow like x log x, x the number of entries."""
    return [
        _growth(rows, selector, "x, the number of entries,", NEARLY_FLAT_SLOPE, " / (x log x)")
        for selector, rows in _measured(tables, "projection size")
    ]


def _fewest_rows(rows: pd.DataFrame, selector: str) -> Judgement:
    """Seconds with the fewest non-zero rows over those with the most."""
    x, seconds = rows["x"].to_numpy(dtype=float), rows["seconds"].to_numpy(dtype=float)
    line, ratio = log_log(x, seconds), float(seconds[0] / seconds[-1])
    factor = np.exp(line.scatter)
    what = f"seconds with {x[0]:g} non-zero rows over seconds with {x[-1]:g}"
    estimate = Estimate(ratio, ratio / factor, ratio * factor, "95 % interval by the scatter about a power law; timed")
    return conclude(estimate, what, selector, most=FAR_BELOW)


def projection_non_zero_rows(tables: Tables) -> list[Judgement]:
    """Seconds of a projection depend on the non-zero rows: few of them take far less than many."""
    return [_fewest_rows(rows, selector) for selector, rows in _measured(tables, "projection rows")]


CLAIMS = {
    "synthetic-error-order": Claim(
        ICML,
        "sec. 5, Fig. 1 top; report: sec. 5.1",
        "l1,inf has a lower test error than l1 and than l2 at every training size.",
        ("recovery",),
        synthetic_error_order,
    ),
    "error-order-by-validation": Claim(
        ICML,
        "sec. 5, footnote 2",
        "With radii chosen by validation, too, l1,inf has the lowest test error at every training size.",
        ("recovery",),
        partial(synthetic_error_order, radius_rule="validated"),
    ),
    "selection-precision": Claim(
        ICML,
        "sec. 5, Fig. 1 bottom; report: sec. 5.1",
        "At equal recall l1,inf picks the relevant features with higher precision than l1.",
        ("recovery",),
        selection_precision,
    ),
    "selection-recall": Claim(
        ICML,
        "sec. 5, Fig. 1 bottom; report: sec. 5.1",
        f"l1,inf and l1 both find nearly all relevant features (recall {HIGH_RECALL:g} or more) even from few samples.",
        ("recovery",),
        selection_recall,
    ),
    "radius-by-validation": Claim(
        ICML,
        "sec. 5, footnote 2",
        "Radii chosen by validation give nearly the test errors of the true radii.",
        ("recovery",),
        radius_by_validation,
    ),
    "auc-order": Claim(
        ICML,
        "sec. 6.2, Fig. 3",
        f"Below {SMALL:,} samples l1,inf has a higher average AUC than l1 and than l2.",
        ("differences", "chosen"),
        auc_order,
        of_fits=True,
    ),
    "auc-significant": Claim(
        ICML,
        "sec. 6.2, Table 1",
        f"Below {SMALL:,} samples l1,inf is significantly better than l1 and than l2 by sign tests.",
        ("significance", "chosen"),
        auc_significant,
        of_fits=True,
    ),
    "auc-level-when-large": Claim(
        ICML,
        "sec. 6.2, Fig. 3; its Table 1 has p = .001 against l2 at 63,408 samples",
        f"From {SMALL:,} samples on, the methods' average AUCs are about the same.",
        ("differences", "chosen"),
        auc_level_when_large,
        of_fits=True,
    ),
    "auc-at-30-percent": Claim(
        ICML,
        "sec. 6.2, Fig. 4",
        f"With at most {FEW_FEATURES:.0%} of the features l1,inf has a higher average AUC than l1.",
        ("path", "sparsity"),
        auc_at_30_percent,
    ),
    "features-to-match": Claim(
        ICML,
        "sec. 6.2, Fig. 4",
        f"For the AUC that l1,inf has with {FEW_FEATURES:.0%} of the features l1 needs many more of them.",
        ("path", "sparsity"),
        features_to_match,
    ),
    "convergence-200": Claim(
        ICML,
        "sec. 6.2, Fig. 2",
        f"The projected subgradient method converges within {N_ITER} iterations on the largest training sets.",
        ("convergence", "chosen"),
        convergence_200,
    ),
    "projection-n-log-n": Claim(
        ICML,
        "abstract, sec. 4.2; report: sec. 4.2",
        "Projecting a matrix of x entries takes O(x log x) time.",
        ("cost",),
        projection_n_log_n,
        timed=True,
    ),
    "eer-order": Claim(
        REPORT,
        "sec. 5.2, Fig. 3 left",
        "l1,inf has a lower average EER than l1 and than l2.",
        ("differences", "chosen"),
        eer_order,
        of_fits=True,
    ),
    "l1-over-l2": Claim(
        REPORT,
        "sec. 5.2, Fig. 3 left",
        "l1 has a lower average EER than l2.",
        ("chosen",),
        l1_over_l2,
        of_fits=True,
    ),
    "eer-most-topics": Claim(
        REPORT,
        "sec. 5.2, Fig. 3 right",
        f"l1,inf has the lowest EER on all but a few topics, at n = {FEW_POSITIVES}.",
        ("by_word", "chosen"),
        eer_most_topics,
        of_fits=True,
    ),
    "joint-sparsity": Claim(
        REPORT,
        "sec. 5.2, Fig. 4",
        f"l1,inf uses fewer features than l1, at n = {FEW_POSITIVES}.",
        ("chosen",),
        joint_sparsity,
        of_fits=True,
    ),
    "feature-sharing": Claim(
        REPORT,
        "sec. 5.2, Fig. 4",
        "A feature that l1,inf uses serves more tasks than one that l1 uses.",
        ("weights", "chosen"),
        feature_sharing,
        of_fits=True,
    ),
    "iterations-independent-of-samples": Claim(
        REPORT,
        "sec. 2",
        "How many iterations reach a given accuracy does not grow with the number of samples.",
        ("recovery",),
        iterations_independent_of_samples,
    ),
    "cost-linear-in-samples": Claim(
        REPORT,
        "abstract, sec. 6",
        "The cost of training grows no faster than linearly with the number of samples.",
        ("cost",),
        cost_linear_in_samples,
        timed=True,
    ),
    "projection-non-zero-rows": Claim(
        REPORT,
        "sec. 4.2; ICML: sec. 4.2",
        "What a projection costs depends on the non-zero rows alone.",
        ("cost",),
        projection_non_zero_rows,
        timed=True,
    ),
    "scene-order": Claim(
        POSTER,
        "Indoor Scene Recognition, L1 vs L1INF",
        "On scenes, l1,inf has a higher average AUC than l1 at every training size.",
        ("differences", "chosen"),
        scene_order,
        of_fits=True,
    ),
}
