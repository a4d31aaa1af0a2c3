"""Claims of Quattoni et al. about l1,∞ norms over many tasks, in the order of the papers.

Sources: Quattoni et al. 2009 (ICML), its technical report of 2008 and its poster.
"""

from typing import Any

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.metrics import holm, over_runs
from jointsparse.pipeline.papers.judging import (
    ABOVE,
    BELOW,
    CONFIDENCE,
    DOES_NOT_HOLD,
    EVERY,
    FAR_BELOW,
    HOLDS,
    LESS,
    LEVEL,
    NEARLY_FLAT_SLOPE,
    UNDECIDED,
    Claim,
    Estimate,
    Judgement,
    NotTested,
    Tables,
    Where,
    at_least,
    conclude,
    first_known,
    geometric_mean_over,
    judged,
    matching,
    mean_over,
    once,
    pair,
    rows_with,
    slope_of,
)
from jointsparse.pipeline.papers.quattoni.numbers import report_size
from jointsparse.pipeline.papers.shapes import (
    difference,
    largest,
    mean,
    ratio_over_runs,
    ratio_slope,
    resampled_difference,
    slope,
)

REPORT, ICML, POSTER = "Quattoni et al. 2008 (report)", "Quattoni et al. 2009 (ICML)", "Quattoni et al. 2009 (poster)"

SIMILAR = 0.01  # Choice: "similar" AUCs, EERs or test errors differ by at most this much
EQUAL_RECALL = 0.01  # Choice: "equal" recalls differ by at most this much
SMALL_SAMPLES = 20_000  # Quattoni et al. 2009, sec. 6.2
SIGNIFICANT = 0.05  # Choice: significance level of the tests, after Holm's correction
FEW_FEATURES = 0.3  # fraction of all features; Quattoni et al. 2009, sec. 6.2 on Fig. 4
N_ITER = 200  # Quattoni et al. 2009, Fig. 2
LEAST_OBJECTIVE = 1e-3  # smallest divisor of a relative distance from the optimum, as for the relative gap

JOINT, L1, L2 = "hinge-l1inf", "hinge-l1", "hinge-l2"
# Two of our methods stand for the papers' l2. The closer one comes first: the ICML paper trained l2 with SVM-Light, the
# report with the same projected subgradient method as the other norms.
L2_OF_ICML, L2_OF_REPORT = ("svm-l2", L2), (L2, "svm-l2")

# Shapes that only a few claims need


def precision_at_equal_recall(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean difference in precision, paired by run. The claim is not tested if the mean recalls differ by more than
    0.01, or if both methods use only relevant features. It is undecided if the interval of the difference in recall
    exceeds ±0.01.
    """
    recall = difference(claim._replace(number="recall"), tables, where)[0].estimate
    differ = f"recalls differ by {recall.number:+.3f}"
    require(abs(recall.number) <= EQUAL_RECALL, f"{differ}, more than {EQUAL_RECALL:g}", NotTested)
    judgement = difference_if_imperfect(claim, tables, where)[0].adding(f"; {differ}")
    if recall.low >= -EQUAL_RECALL and recall.high <= EQUAL_RECALL:
        return [judgement]
    why = "more runs would decide it, and also whether the recalls are equal"
    return [judgement.withheld(HOLDS, why).withheld(DOES_NOT_HOLD, why)]


def difference_if_imperfect(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean difference, paired by run. The claim is not tested if both methods use only relevant features."""
    _not_if_perfect(claim, tables, where)
    return difference(claim, tables, where)


def ratio_if_imperfect(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean ratio, paired by run. The claim is not tested if both methods use only relevant features."""
    _not_if_perfect(claim, tables, where)
    return ratio_over_runs(claim, tables, where)


def _not_if_perfect(claim: Claim, tables: Tables, where: Where) -> None:
    perfect = all((rows["precision"] == 1).all() for rows in pair(claim, tables, where, "precision"))
    require(not perfect, "both methods have a precision of 1 in every run", NotTested)


def ratio_at_report_size(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean ratio, paired by run, at the smallest n of at least 30, or else at the largest n."""
    return ratio_over_runs(claim, tables, _at_report_size(claim, tables, where))


def _at_report_size(claim: Claim, tables: Tables, where: Where) -> Where:
    return {"n": report_size(rows_with(tables, claim.table, "n")["n"].unique()), **where}


def sign_tests_over_runs(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """P-value over all runs and pairings: four times the median over runs of the median over pairings, at most 1. The
    p-value has no interval, and is judged after Holm's correction over the comparisons with fewer than 20,000 samples.
    The claim does not hold if the reverse direction is significant. If neither direction is significant, the claim
    gets the verdict of auc-order if this is "does not hold" or "level", and is undecided otherwise.
    """
    rows = rows_with(tables, claim.table, "run", "n", "against", "p", "p_median", "p_reverse_median", **where)
    l2 = [name for name in L2_OF_ICML if name in set(rows["against"])]
    compared = matching(rows, {"against": (L1, *l2[:1])})
    by_comparison = compared.assign(alone=compared["p"] < SIGNIFICANT).groupby(["n", "against"], as_index=False)
    tests: Any = by_comparison.agg(
        p=("p_median", over_runs),
        p_reverse=("p_reverse_median", over_runs),
        runs=("p", "size"),
        least=("p", "min"),
        most=("p", "max"),
        alone=("alone", "sum"),
    )
    tests = tests.assign(corrected=holm(tests["p"].to_numpy()), reverse_corrected=holm(tests["p_reverse"].to_numpy()))
    orders = judged(CLAIMS["auc-order"], tables)
    order = {(judgement.where.get("n"), judgement.where.get("against")): judgement.verdict for judgement in orders}
    judgements = []
    for test in tests.itertuples(index=False):
        verdict = order.get((test.n, test.against), UNDECIDED)
        verdict = verdict if verdict in (LEVEL, DOES_NOT_HOLD) else UNDECIDED
        if min(test.corrected, test.reverse_corrected) < SIGNIFICANT:
            verdict = HOLDS if test.corrected < SIGNIFICANT else DOES_NOT_HOLD
        note = (
            f"; {test.corrected:.2g} after Holm's correction over {len(tests)} comparisons, which decides; the tests "
            f"pool words and are not exact; {test.runs} runs; reverse direction: {test.p_reverse:.2g}, corrected "
            f"{test.reverse_corrected:.2g}; with one pairing per run, as in the paper: {test.least:.2g} to "
            f"{test.most:.2g}, below {SIGNIFICANT:g} in {test.alone} runs"
        )
        if verdict == UNDECIDED:
            note += "; more test samples would decide it, but more runs would not, as the p-value is a median over runs"
        case = where | {"n": test.n, "against": test.against}
        judgements.append(
            Judgement(claim, Estimate(test.p, np.nan, np.nan, ""), verdict, claim.means + note, case, test.n)
        )
    return judgements


FIT_COLUMNS = ("run", "features", "validation", "auc_weighted")  # columns of the table sparsity


def difference_of_few(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean difference, paired by run, between the fits that the validation words choose for each method among its fits
    with few features. A run in which a method has no such fit is left out, and then the claim cannot hold.
    """
    sides = pair(claim, tables, where, *FIT_COLUMNS)
    values, against = (_chosen_with_few(rows)[claim.number] for rows in sides)
    differences, n_runs = (values - against).dropna(), sides[0]["run"].nunique()
    judgement = conclude(claim, mean_over(differences), where)
    if len(differences) == n_runs:
        return [judgement]
    note = f"; in {n_runs - len(differences)} of {n_runs} runs a method has no fit with so few features"
    return [judgement.withheld(HOLDS, "a path with smaller radii would decide it").adding(note)]


def features_to_match(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean ratio, paired by run. If no fit of l1 in a run reaches the AUC, the largest number of features
    that l1 uses in this run is taken instead. This gives a lower bound, which cannot contradict the claim.
    """
    l1, joint = pair(claim, tables, where, *FIT_COLUMNS)
    few = _chosen_with_few(joint)
    target, n_runs = few["validation"], joint["run"].nunique()
    most = l1[l1["run"].isin(target.index)].groupby("run")["features"].max()
    matching = l1[l1["validation"] >= l1["run"].map(target)].groupby("run")["features"].min().reindex(most.index)
    never = int(matching.isna().sum())
    # Choice: if no fit of l1 reaches the AUC, the largest number of features that l1 uses is taken as a lower bound.
    judgement = conclude(claim, geometric_mean_over(matching.fillna(most) / few["features"]), where)
    if never:
        note = f"; in {never} of {len(most)} runs {L1} never reaches the AUC, and its largest number of features counts"
        judgement = judgement.withheld(DOES_NOT_HOLD).adding(note)
    if len(few) < n_runs:
        note = f"; in {n_runs - len(few)} of {n_runs} runs {JOINT} has no fit with so few features"
        judgement = judgement.withheld(HOLDS, "more runs would not decide it, as some runs have no number").adding(note)
    return [judgement]


def _chosen_with_few(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each run's fit with the best validation AUC among its fits with few features; in a tie, the first."""
    few = rows[(rows["features"] <= FEW_FEATURES) & rows["validation"].notna()]
    return few.sort_values("validation", ascending=False, kind="stable").drop_duplicates("run").set_index("run")


ANY, CHOSEN = "any", "as in table chosen"


def distance_from_optimum(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Largest relative distance from the optimum on the largest training sets. Its interval is not a confidence
    interval: the upper end is a bound by duality, and the lower end a bound from the objectives at smaller radii.
    """
    rows = rows_with(
        tables, claim.table, "run", "n", "radius", "eta0", "iteration", "objective", "gap", method=where["method"]
    )
    n = int(rows["n"].max())
    rows = rows[rows["n"] == n]
    fit = rows["eta0"].notna().any() and rows["iteration"].max() <= N_ITER
    require(fit, f"table {claim.table} must have at most {N_ITER} iterations of a solver with step sizes", NotTested)
    fits = rows.groupby(["run", "radius"], as_index=False).agg(gap=("gap", "first"), objective=("objective", "min"))
    # The optimum decreases as the radius grows, so the objective at a smaller radius bounds it from above.
    above = fits["objective"] - fits.groupby("run")["objective"].cummin()
    fits = fits.assign(least=above / np.maximum(fits["objective"], LEAST_OBJECTIVE))
    if where["radius"] == CHOSEN:
        chosen = rows_with(tables, "chosen", "run", "radius", n=n, method=where["method"])[["run", "radius"]]
        fits = fits.merge(chosen, on=["run", "radius"])
    gap = float(fits["gap"].max(skipna=False))
    # Choice: bounds on the distance from the optimum take the place of a confidence interval.
    least, origin = float(fits["least"].max()), "bounds by duality and by smaller radii"
    return [conclude(claim, Estimate(gap, least, gap, origin, wants="a smaller gap"), where | {"n": n})]


def share_of_topics(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Fraction of the topics on which the method has the lowest mean over runs of all methods, at the smallest n of
    at least 30, or else at the largest n.
    """
    where = _at_report_size(claim, tables, where)
    rows = rows_with(tables, claim.table, "method", "word", claim.number, n=where["n"], validation_word=False)
    methods = [first_known(rows, "method", names) for names in ((JOINT,), (L1,), L2_OF_REPORT)]
    values = rows.pivot_table(claim.number, "word", "method", aggfunc="mean").reindex(columns=methods).dropna()
    require(len(values), f"no topic has an EER of {', '.join(methods)} at n={where['n']}", NotTested)
    best = values[JOINT] < values[methods[1:]].min(axis=1)
    from scipy.stats import binomtest  # takes half a second to import

    # Choice: topics are treated as independent random draws.
    low, high = binomtest(int(best.sum()), len(best)).proportion_ci(CONFIDENCE, method="wilson")
    origin = f"95 % Wilson interval over {len(best)} topics"
    estimate = Estimate(float(best.mean()), float(low), float(high), origin, wants="more topics")
    return [conclude(claim, estimate, where | {"method": JOINT, "against": tuple(methods[1:])})]


def tasks_per_feature(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Difference at the smallest n of at least 30, or else at the largest n. It is counted in a single run, and needs
    no interval.
    """
    rows = rows_with(tables, claim.table, "method", "feature", "weight")
    if "n" in rows:
        where = _at_report_size(claim, tables, where)
    used = [side[side["weight"] != 0] for side in pair(claim, tables, where)]
    tasks, tasks_against = (len(side) / max(side["feature"].nunique(), 1) for side in used)
    origin = "counted in the chosen fits of one run"
    return [conclude(claim, Estimate(tasks - tasks_against, np.nan, np.nan, origin), where)]


def slope_of_iterations(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Least-squares slope of the logarithm of the median number of iterations over the runs, against the logarithm of
    the size. The smallest sizes are left out if most of their runs never reach the accuracy. The slope is then an upper
    bound, which cannot contradict the claim.
    """
    rows = rows_with(tables, claim.table, "n", "iterations", **where)
    # A run that does not reach the accuracy took more iterations than any run that does.
    median = rows["iterations"].astype(float).fillna(np.inf).groupby(rows["n"]).median()
    never = median.index[np.isinf(median)]
    median = median[~np.isinf(median)]
    left_out = f"at n={', '.join(map(str, never))} most runs do not come within 1 % of the optimum"
    # The smallest sizes may be left out: their runs take longer, so the exponent would be smaller with them.
    require(len(median) and (never < median.index.min()).all(), left_out, NotTested)
    judgement = conclude(claim, slope_of(median.index, np.maximum(median, 1)), where)
    return [judgement.withheld(DOES_NOT_HOLD).adding(f"; left out: {left_out}") if len(never) else judgement]


ACCURACIES = {"iterations_10": 0.1, "iterations_3": 0.03, "iterations": 0.01}  # by the columns of the table recovery


def rate(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean over runs of the slope of the logarithm of the iterations against the logarithm of the inverse accuracy. If
    a run never reaches an accuracy, its iterations up to the previous accuracy are taken instead. This gives a lower
    bound, which cannot confirm the claim.
    """
    rows = once(rows_with(tables, claim.table, "run", *ACCURACIES, **where), "run")
    iterations = rows[[*ACCURACIES]].astype(float)
    require(iterations["iterations_10"].notna().all(), "not every run comes within 10% of the optimum", NotTested)
    never = int(iterations.isna().any(axis=1).sum())
    inverse = 1 / np.array([*ACCURACIES.values()])
    reached = iterations.ffill(axis=1).clip(lower=1).to_numpy()
    judgement = conclude(claim, mean_over([slope_of(inverse, iterations).number for iterations in reached]), where)
    note = f"; {never} of {len(rows)} runs do not come within 1 % of the optimum, and give a lower bound"
    return [judgement.withheld(HOLDS).adding(note) if never else judgement]


def beyond_scan(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Ratio of two timings after the mean time of a scan is subtracted from both. The interval is computed from the
    scatter of the timings of scans: a scan takes the same time for any number of non-zero rows, so this scatter is the
    error of a single measurement.
    """
    rows, others = pair(claim, tables, where, "x", "seconds")
    ends = rows.sort_values("x", kind="stable").iloc[[0, -1]]
    scans, scan = others["seconds"], float(others["seconds"].mean())
    few, most = ends["seconds"].to_numpy(float) - scan
    # Both the measurement and the mean that is subtracted from it have an error.
    half = (mean_over(scans, "scan").high - scan) * np.sqrt(len(scans) + 1)
    x_few, x_most = ends["x"]
    reason, scatter = "with {:g} non-zero rows, a projection takes {} scan of {:.2g} s", np.nan_to_num(half)
    require(not few + scatter < 0, reason.format(x_few, "less than the", scan), NotTested)
    require(not most <= scatter, reason.format(x_most, "hardly longer than a", scan), NotTested)
    limits = [(few + sign * half) / (most + towards * half) for sign in (-1, 1) for towards in (-1, 1)]
    origin = f"95 % interval from the scatter of {len(scans)} scans; timed"
    estimate = Estimate(few / most, min(limits), max(limits), origin, wants="more scans")
    return [conclude(claim, estimate, where, few=x_few, most=x_most, scan=scan)]


def slope_of_programs(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Least-squares slope of the logarithm of the ratio of two methods against the logarithm of the size."""
    program, fits = (rows.set_index("x")["objective"] for rows in pair(claim, tables, where, "x", "objective"))
    (judgement,) = ratio_slope(claim, tables, where)
    above = max((fits / program - 1).max(), 0)
    return [
        judgement.adding(
            f"; the objectives of the other method are at most {above:.1%} above those of the linear program"
        )
    ]


# The claims

TASKS = {"weights": "normal", "support": "random"}  # the paper's tasks, see `recovery`
TRUE: Where = {"solver": "working_set", "radius_rule": "true"} | TASKS | {"method": JOINT}  # certified fits decide
VALIDATED = TRUE | {"radius_rule": "validated"}
BY_STEPS = TRUE | {"solver": "subgradient"}  # the paper's solver, whose iterations are counted
# AUCs are averaged over words as in the ICML paper, where each positive has the same weight (sec. 6.1), and EERs as in
# the report (sec. 5.2).
AUC_ROWS: Where = {"metric": "auc", "words": "test words", "average": "by positives", "method": JOINT}
EER_ROWS: Where = {"metric": "eer", "words": "test words", "average": "plain", "method": JOINT}
SMALL = {"n_samples": pd.Interval(0, SMALL_SAMPLES, closed="left")}
LARGE = {"n_samples": at_least(SMALL_SAMPLES)}

FOUND = "{0} of {{method}} with the radius chosen by validation, minus its {0} with the true radius (fraction)"
PRECISION = "precision of {method} minus precision of {against} (fraction)"
FEATURES = "number of features used by {method}, divided by the number used by {against}"
AUC = "AUC of {method} minus AUC of {against} (fraction, words not used for validation)"
EER = "average EER of {method} minus average EER of {against} (fraction, words not used for validation)"

# fmt: off
CLAIMS: dict[str, Claim] = {
    # ICML, sec. 5: synthetic tasks
    "synthetic-error-order": Claim(
        "l1,∞ has a lower test error than l1 and l2 at every training size.",
        ICML, "sec. 5, Fig. 1 top; report: sec. 5.1", "recovery", difference,
        "test error of {method} minus test error of {against} (fraction)", "test_error",
        where=TRUE, each={"n": (EVERY,), "against": (L1, L2)}, most=BELOW, level=SIMILAR, on_fits=True,
    ),
    "error-order-by-validation": Claim(
        "l1,∞ also has the lowest test error at every training size if validation chooses the radii.",
        ICML, "sec. 5, footnote 2", "recovery", difference,
        "test error of {method} minus test error of {against} (fraction)", "test_error",
        where=VALIDATED, each={"n": (EVERY,), "against": (L1, L2)}, most=BELOW, level=SIMILAR, on_fits=True,
    ),
    "selection-precision": Claim(
        "At equal recall (our condition), l1,∞ selects the relevant features with higher precision than l1.",
        ICML, "sec. 5, Fig. 1 bottom; report: sec. 5.1", "recovery", precision_at_equal_recall, PRECISION, "precision",
        where=TRUE | {"against": L1}, each={"n": (EVERY,)}, least=ABOVE, on_fits=True,
    ),
    "selection-recall": Claim(
        "Both l1,∞ and l1 find nearly all relevant features (a recall of at least 0.9), even from few samples.",
        ICML, "sec. 5, Fig. 1 bottom; report: sec. 5.1", "recovery", mean, "recall of {method} (fraction)", "recall",
        where=TRUE, each={"n": (EVERY,), "method": (JOINT, L1)},
        least=0.9,  # Choice: "high" and "nearly all".
        on_fits=True,
    ),
    "selection-sparser": Claim(
        "l1,∞ returns sparser solutions than l1.",
        ICML, "sec. 5; report: sec. 5.1", "recovery", ratio_if_imperfect, FEATURES, "features",
        where=TRUE | {"against": L1}, each={"n": (EVERY,)}, most=LESS, on_fits=True,
    ),
    "selection-by-validation": Claim(
        "If validation chooses the radii, l1,∞ is also sparser than l1, and more precise at equal recall.",
        ICML, "sec. 5, footnote 2", "recovery", precision_at_equal_recall, PRECISION, "precision",
        where=VALIDATED | {"against": L1}, each={"n": (EVERY,)}, least=ABOVE, on_fits=True,
    ).and_also(shape=ratio_if_imperfect, means=FEATURES, number="features", least=-np.inf, most=LESS),
    "radius-by-validation": Claim(
        "Radii chosen by validation give results very similar to those of the true radii: nearly the same test errors, "
        "recalls and precisions.",
        ICML, "sec. 5, footnote 2", "recovery", difference,
        "test error of {method} with the radius chosen by validation, minus its test error with the true radius (below "
        "0: better)",
        "test_error", where=VALIDATED | {"against": "true"}, each={"n": (EVERY,), "method": (JOINT, L1, L2)},
        by="radius_rule", least=-0.02, most=0.02,  # Choice: "very similar".
        on_fits=True,
    )
    .and_also(number="recall", means=FOUND.format("recall"), each={"n": (EVERY,), "method": (JOINT, L1)})
    .and_also(number="precision", means=FOUND.format("precision"), each={"n": (EVERY,), "method": (JOINT, L1)}),
    # ICML, sec. 6.2: image annotation
    "auc-order": Claim(
        "With fewer than 20,000 samples, l1,∞ has a higher average AUC than l1 and l2.",
        ICML, "abstract; sec. 6.2, Fig. 3; sec. 7", "differences", resampled_difference, AUC, "difference",
        where=AUC_ROWS | SMALL, each={"n": (EVERY,), "against": (L1, L2_OF_ICML)}, least=ABOVE, level=SIMILAR,
        on_fits=True,
    ),
    "auc-significant": Claim(
        "With fewer than 20,000 samples, l1,∞ is significantly better than l1 and l2 in sign tests.",
        ICML, "sec. 2, 6.2 and 7, Table 1; poster: Performance Comparison", "significance", sign_tests_over_runs,
        "p-value of one-sided sign tests, from medians over pairings and over runs", "p_median",
        where={"words": "test words", "method": JOINT} | SMALL, most=SIGNIFICANT, on_fits=True, beside=("differences",),
    ),
    "auc-level-when-large": Claim(
        "With 20,000 or more samples, the average AUCs of the methods are about the same.",
        ICML, "sec. 6.2, Fig. 3; but Table 1 has p = .001 against l2 at 63,408 samples",
        "differences", resampled_difference, AUC, "difference",
        where=AUC_ROWS | LARGE, each={"n": (EVERY,), "against": (L1, L2_OF_ICML)}, least=-SIMILAR, most=SIMILAR,
        level=SIMILAR, on_fits=True,
    ),
    "auc-at-30-percent": Claim(
        "With at most 30% of the features, l1,∞ has a higher average AUC than l1 (read off the figure, which gives no "
        "training sizes).",
        ICML, "sec. 6.2, Fig. 4", "sparsity", difference_of_few,
        "AUC of {method} minus AUC of {against} (fraction); validation words choose both fits, among those with at "
        f"most {FEW_FEATURES:.0%} of the features", "auc_weighted",
        where={"method": JOINT, "against": L1}, each={"n": (EVERY,)}, least=ABOVE, level=SIMILAR, on_fits=True,
    ),
    "features-to-match": Claim(
        "l1 needs many more features than l1,∞ to reach the AUC that l1,∞ has with 30% of the features.",
        ICML, "sec. 6.2, Fig. 4", "sparsity", features_to_match,
        "number of features with which {method} reaches the AUC of {against} on the validation words, divided by the "
        "number that {against} uses; validation words choose its fit among those with at most "
        f"{FEW_FEATURES:.0%} of the features",
        "features",
        where={"method": L1, "against": JOINT}, each={"n": (EVERY,)},
        least=2,  # Choice: twice as many features are "many more". The paper's ratio is .95 / .3.
        on_fits=True,
    ),
    "convergence-200": Claim(
        "The projected subgradient method converges within 200 iterations on the largest training sets (read off the "
        "figure).",
        ICML, "sec. 6.2, Fig. 2", "convergence", distance_from_optimum,
        "upper bound on the largest relative distance of {method} from the optimum (fraction)", "gap",
        where={"method": JOINT}, each={"radius": (ANY, CHOSEN)},
        most=0.05,  # Choice: "converged" means within 5 % of the optimum, relative like the certified gaps.
        beside=("chosen",),
    ),
    "projection-n-log-n": Claim(
        "Projecting a matrix with x entries takes O(x log x) time, whatever the number of tasks.",
        ICML, "abstract, sec. 4.2; report: sec. 4.2", "cost", slope,
        "exponent of x, the number of entries, in the measured seconds / (x log x)", "seconds / (x * log(x))",
        where={"part": "projection size", "method": "sort"}, most=NEARLY_FLAT_SLOPE,
    ).and_also(
        where={"part": "projection tasks"}, number="seconds",
        means="exponent of the number of tasks in the measured seconds, with the number of entries fixed",
    ),
    # The report, sec. 5.2: stories
    "eer-order": Claim(
        "l1,∞ has a lower average EER (equal error rate) than l1 and l2.",
        REPORT, "sec. 5.2, Fig. 3 left", "differences", resampled_difference, EER, "difference",
        where=EER_ROWS, each={"n": (EVERY,), "against": (L1, L2_OF_REPORT)}, most=BELOW, level=SIMILAR, on_fits=True,
    ),
    "l1-over-l2": Claim(
        "l1 has a lower average EER than l2.",
        REPORT, "sec. 5.2, Fig. 3 left", "chosen", difference, EER, "eer",
        where={"method": L1, "against": L2_OF_REPORT}, each={"n": (EVERY,)}, most=BELOW, level=SIMILAR, on_fits=True,
    ),
    "eer-most-topics": Claim(
        "With n = 30, l1,∞ has the lowest EER on all but a few topics.",
        REPORT, "sec. 5.2, Fig. 3 right", "by_word", share_of_topics,
        "fraction of topics on which {method} has the lowest EER (mean over runs)", "eer",
        where={"validation_word": False},
        least=0.75,  # Choice: "all but a few" topics are at least three in four.
        on_fits=True,
    ),
    "joint-sparsity": Claim(
        "With n = 30, or else the next size tested, l1,∞ uses fewer features than l1 (read off the figure).",
        REPORT, "sec. 5.2, Fig. 4", "chosen", ratio_at_report_size, FEATURES, "features",
        where={"method": JOINT, "against": L1}, most=LESS, on_fits=True,
    ),
    "feature-sharing": Claim(
        "A feature used by l1,∞ serves more tasks than a feature used by l1.",
        REPORT, "sec. 5.2, Fig. 4", "weights", tasks_per_feature,
        "tasks per used feature of {method} minus tasks per used feature of {against} (mean over features)", "weight",
        where={"method": JOINT, "against": L1}, least=ABOVE, exact=True, on_fits=True,
    ),
    # The report: iterations and seconds
    "iterations-independent-of-samples": Claim(
        "The number of iterations needed for a given accuracy does not grow with the number of samples.",
        REPORT, "sec. 2", "recovery", slope_of_iterations,
        "exponent of n in the number of iterations to an accuracy of 1 % (median over runs)", "iterations",
        where=BY_STEPS, most=0.2,  # Choice: iterations that grow more slowly than n^0.2 count as independent of n.
    ),
    "convergence-rate": Claim(
        "The projected subgradient method comes within eps of the optimum in O(eps^-2) iterations.",
        REPORT, "sec. 1 and 6; ICML: sec. 3.3", "recovery", rate,
        "exponent of 1/eps in the number of iterations until within eps = 10, 3 and 1 % of the optimum, in each run",
        "iterations",
        where=BY_STEPS, each={"n": (EVERY,)}, most=2,  # report, sec. 6
    ),
    "cost-linear-in-samples": Claim(
        "The cost of training grows at most linearly with the number of samples.",
        REPORT, "abstract, sec. 6", "cost", slope,
        "exponent of the number of samples in the measured seconds", "seconds",
        # Choice: samples per task; with fewer, the fixed cost of an iteration flattens the slope.
        where={"part": "training samples", "x": at_least(160)},
        most=1.2,  # Choice: seconds that grow more slowly than n^1.2 count as linear.
    ),
    "l1-is-one-task": Claim(
        "The l1 projection of Duchi et al. is the l1,∞ projection for a single task.",
        ICML, "sec. 2 and 6", "cost", largest,
        "largest difference between entries of the two projections, divided by the radius", "difference",
        where={"part": "one task"}, most=1e-12,  # Choice: both projections meet the radius to this accuracy.
        exact=True,
    ),
    "projection-non-zero-rows": Claim(
        "Apart from one scan of the matrix, the cost of a projection depends only on the non-zero rows.",
        REPORT, "sec. 4.2", "cost", beyond_scan,
        "seconds beyond a scan of the dense matrix ({scan:.2g} s) with {few:g} non-zero rows, divided by the same with "
        "{most:g} non-zero rows",
        "seconds", where={"part": "projection rows", "against": "scan"}, each={"method": ("sort", "newton")},
        most=FAR_BELOW,
    ),
    "projection-as-cheap-as-l1": Claim(
        "The cost of an l1,∞ projection grows with the number of parameters no faster than that of an l1 projection.",
        ICML, "sec. 7; poster: contributions", "cost", ratio_slope,
        "exponent of the number of entries in the measured seconds, divided by those of an l1 projection (the ratio is "
        "{value:.3g} with {at:,.0f} entries)", "seconds",
        # Compared with the projection of Duchi et al., Fig. 2. `newton` is our default.
        where={"part": "projection size", "against": "l1 pivot"}, each={"method": ("sort", "newton")},
        most=NEARLY_FLAT_SLOPE,
    ),
    "linear-program-outgrown": Claim(
        "A general solver for linear programs does not scale: its time grows faster than the time of the projected "
        "subgradient method.",
        REPORT, "sec. 2; ICML: sec. 2", "cost", slope_of_programs,
        "exponent of the number of tasks in the seconds of the linear program's solver, divided by the seconds of the "
        "subgradient method (the ratio is {value:.3g} with {at:,.0f} tasks)", "seconds",
        where={"part": "tasks", "method": "linear program", "against": "subgradient"}, least=ABOVE,
    ),
    "projection-memory-linear": Claim(
        "Projecting a matrix with x entries takes O(x) memory.",
        ICML, "abstract; sec. 1, 4.2 and 7", "cost", slope,
        "exponent of x, the number of entries, in the bytes per entry besides the matrix and the result ({value:.3g} "
        "bytes with {at:g} entries)", "bytes / x",
        where={"part": "projection size", "method": "sort"}, most=NEARLY_FLAT_SLOPE,
    ),
    # The poster: scenes
    "scene-order": Claim(
        "On indoor scenes, l1,∞ has a higher average AUC than l1 at every training size.",
        POSTER, "Indoor Scene Recognition, L1 vs L1INF (read off a figure)",
        "differences", resampled_difference, AUC, "difference",
        where=AUC_ROWS | {"against": L1}, each={"n": (EVERY,)}, least=ABOVE, level=SIMILAR, on_fits=True,
    ),
}
# fmt: on

# The sections of the page of claims, each with its claims.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Section 5: synthetic tasks": (
        "synthetic-error-order",
        "error-order-by-validation",
        "selection-precision",
        "selection-recall",
        "selection-sparser",
        "selection-by-validation",
        "radius-by-validation",
    ),
    "Section 6.2: image annotation": (
        "auc-order",
        "auc-significant",
        "auc-level-when-large",
        "auc-at-30-percent",
        "features-to-match",
        "convergence-200",
    ),
    "Sections 2, 4 and 7: projections": (
        "projection-n-log-n",
        "l1-is-one-task",
        "projection-as-cheap-as-l1",
        "projection-memory-linear",
    ),
    "Section 5.2: stories": ("eer-order", "l1-over-l2", "eer-most-topics", "joint-sparsity", "feature-sharing"),
    "Sections 2, 4 and 6: iterations and time": (
        "iterations-independent-of-samples",
        "convergence-rate",
        "cost-linear-in-samples",
        "projection-non-zero-rows",
        "linear-program-outgrown",
    ),
    "Indoor scene recognition": ("scene-order",),
}
