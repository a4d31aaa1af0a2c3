"""The rule of verdicts, facts about every claim, and verdicts on the published tables after changes.

The verdicts on the unchanged tables, and the estimates, are in docs/results/verdicts.csv; see `test_results`.
"""

import numpy as np
import pandas as pd
import pytest
from drawings import PUBLISHED, published
from scipy import stats

from jointsparse.pipeline.papers import judging, shapes, verdicts
from jointsparse.pipeline.papers.judging import (
    ABOVE,
    BELOW,
    TIMED_TABLES,
    Claim,
    Estimate,
    conclude,
    decide,
    rows_with,
)
from jointsparse.pipeline.papers.verdicts import CLAIMS
from jointsparse.pipeline.settings.studies import EXPERIMENTS

HOLDS, FAILS, UNDECIDED, UNTESTED, LEVEL = "holds", "does not hold", "undecided", "not tested", "level"


# Estimates


def test_a_slope_is_that_of_least_squares_with_an_intercept_for_each_group(rng):
    group, x, A = np.arange(12) % 3, rng.uniform(1, 9, 12), np.empty((12, 4))
    A[:, 0], A[:, 1:] = np.log(x), np.eye(3)[group]
    y = x**1.5 * np.exp(group + 0.1 * rng.normal(size=12))
    (slope, *_), (squares,), *_ = np.linalg.lstsq(A, np.log(y), rcond=None)
    half = stats.t.ppf(0.975, 12 - 4) * np.sqrt(squares / (12 - 4) * np.linalg.inv(A.T @ A)[0, 0])
    assert judging.slope_of(x, y, group)[:3] == pytest.approx([slope, slope - half, slope + half])


# The rule

CLAIM = Claim("It is so.", "A paper", "sec. 1", "one", shapes.mean, "value of {method}", "value")


@pytest.mark.parametrize(
    ("low", "high", "least", "most", "verdict"),
    [
        (0.0, 1.0, 0.0, 1.0, "holds"),
        (0.2, 0.3, 0.0, 1.0, "holds"),
        (-0.1, 0.5, 0.0, 1.0, "undecided"),
        (-0.1, 1.5, 0.0, 1.0, "undecided"),
        (0.9, 1.1, 0.0, 1.0, "undecided"),
        (1.1, 1.2, 0.0, 1.0, "does not hold"),
        (1.0, 1.2, 0.0, 1.0, "undecided"),
        (-0.2, 0.0, 0.0, 1.0, "undecided"),
        (-0.2, -0.1, 0.0, 1.0, "does not hold"),
        (np.nan, np.nan, 0.0, 1.0, "undecided"),
        # Exactly 0 is at least 0, but neither above nor below it.
        (0.0, 0.0, 0.0, np.inf, "holds"),
        (0.0, 0.0, ABOVE, np.inf, "does not hold"),
        (0.0, 0.0, -np.inf, BELOW, "does not hold"),
    ],
)
def test_the_rule(low, high, least, most, verdict):
    assert decide(low, high, least, most) == verdict


@pytest.mark.parametrize(
    ("number", "half", "verdict"),
    [
        (0.0, 0.005, "level"),
        (0.004, 0.005, "level"),
        (0.004, 0.007, "undecided"),
        (0.004, 0.001, "holds"),
        (-0.004, 0.005, "level"),
        (-0.004, 0.007, "undecided"),
        (-0.004, 0.001, "does not hold"),
    ],
)
def test_methods_are_level_if_the_whole_interval_is_near_0(number, half, verdict):
    estimate = Estimate(number, number - half, number + half, "an interval", 4, half)
    got = conclude(CLAIM._replace(least=ABOVE, level=0.01), estimate, {"method": "a"})
    assert (got.verdict, "would decide it" in got.number_means) == (verdict, verdict == "undecided")
    assert conclude(CLAIM._replace(least=ABOVE), estimate, {"method": "a"}).verdict == (
        "undecided" if verdict == "level" else verdict
    )


@pytest.mark.parametrize(
    ("number", "over_runs", "note"),
    [
        # 0.01^2 = 0.008^2 + 0.006^2, of which more runs reduce the second.
        (0.009, 0.006, "; about 11 runs would decide it"),
        (0.0081, 0.006, "; about 112 runs would decide it"),
        (0.008001, 0.006, "; more than 1,000 runs would decide it"),
        (0.0079, 0.006, "; no number of runs would decide it"),
        (-0.009, 0.006, "; about 11 runs would decide it"),
        (0.009, np.nan, "; more of them would decide it"),
        (0.02, 0.006, "an interval"),
    ],
)
def test_an_undecided_row_says_how_many_runs_would_decide_it(number, over_runs, note):
    # Only the half of the interval on the side of the nearer limit matters.
    estimate = Estimate(number, number - 0.01, number + 0.02, "an interval", 4, over_runs, "more of them")
    got = conclude(CLAIM._replace(least=ABOVE), estimate, {"method": ("a", "b")})
    assert got.number_means.startswith("value of a or b; an interval")
    assert got.number_means.endswith(note)


POSITIVE, BELOW_1, ABOVE_1 = {"least": ABOVE}, {"most": 1.0}, {"least": 1.0}
LESS_THAN_0 = Estimate(-0.0045, -0.0085, -0.0005, "", 9)  # p-value 0.02
# Ratios, with a p-value of 0.0075. Without logarithms, or with the other end, it would be 0.0105, 0.0049 or larger.
MORE_THAN_1, LESS_THAN_1 = (Estimate(*ends, "", 4, of_logs=True) for ends in ((2.0, 1.25, 9.0), (0.5, 1 / 9, 0.8)))
RIGHT = [Estimate(*ends, "", 4) for ends in ((1.0, 0.9, 1.1), (0.5, 0.4, 0.6), (2.0, 1.5, 2.5))]


@pytest.mark.parametrize(
    ("wrong", "right", "limits", "n_right", "verdict"),
    [
        (LESS_THAN_0, RIGHT[0], POSITIVE, 0, "does not hold"),
        (LESS_THAN_0, RIGHT[0], POSITIVE | {"level": 0.005}, 4, "undecided"),
        (LESS_THAN_0, RIGHT[0], POSITIVE | {"level": 0.01}, 4, "level"),
        (MORE_THAN_1, RIGHT[1], BELOW_1, 5, "does not hold"),
        (MORE_THAN_1, RIGHT[1], BELOW_1, 6, "undecided"),
        (LESS_THAN_1, RIGHT[2], ABOVE_1, 5, "does not hold"),
        (LESS_THAN_1, RIGHT[2], ABOVE_1, 6, "undecided"),
    ],
)
def test_a_claim_does_not_hold_only_after_holms_correction_over_its_rows(wrong, right, limits, n_right, verdict):
    def shape(claim, tables, where):
        return [conclude(claim, right if where["n"] else wrong, where)]

    claim = CLAIM._replace(shape=shape, where={"method": "a"}, each={"n": tuple(range(1 + n_right))}, **limits)
    first, *others = judging.judged(claim, {"one": pd.DataFrame({"method": ["a"]})})
    assert [first.verdict, *(other.verdict for other in others)] == [verdict] + ["holds"] * n_right
    assert (f"after Holm's correction over {1 + n_right} rows" in first.number_means) == (verdict != "does not hold")


ROWS = pd.DataFrame({"method": ["a", "b", "c"], "n": [2, 1, 1], "x": [10.0, 20.0, 30.0], "y": [1, 4, 3]})


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"n": 1, "method": ("a", "c")}, ["c"]),
        ({"x": pd.Interval(10, 30, closed="left")}, ["a", "b"]),
        ({"x": pd.Interval(10, 30, closed="both")}, ["a", "b", "c"]),
        ({"x / y": 10}, ["a", "c"]),
    ],
)
def test_rows_are_selected_by_values_ranges_and_expressions(where, expected):
    assert list(rows_with({"one": ROWS}, "one", **where)["method"]) == expected


# Every claim


def test_every_claim_reads_the_tables_that_it_names_and_timings_have_a_folder_of_their_own():
    timed = {table for study in EXPERIMENTS.values() for table, to in study.TABLES.items() if to == "timings"}
    for name, claim in CLAIMS.items():
        tables = {table: pd.DataFrame({"strange": [1]}) for table in claim.tables}
        with pytest.raises(ValueError, match=rf"table ({'|'.join(tables)}) must have the columns .*, got strange"):
            verdicts.judge(tables, [name], demonstration=False)
        assert tables.keys() & timed == tables.keys() & set(TIMED_TABLES)


def test_every_claim_is_not_tested_without_tables():
    judged = verdicts.judge({}, list(CLAIMS), demonstration=False)
    assert list(judged.columns) == list(verdicts.judge({}, [], demonstration=False).columns) == list(verdicts.COLUMNS)
    assert list(judged["id"]) == list(CLAIMS) and set(judged["verdict"]) == {UNTESTED}
    assert judged["number"].isna().all() and judged["number_means"].str.startswith("the table ").all()


# The published tables with a change

FLICKR, STORIES, SWEEP = "flickr8k/annotation", "flickr8k/stories", "flickr8k/annotation-sweep"
RECOVERY, COST, PROJECTION, RACE = (f"synthetic-full/{name}" for name in ("recovery", "cost", "projection", "race"))
REUTERS, ONLINE = "reuters21578/exponentiated", "reuters21578/online"
L2 = "against in ('svm-l2', 'hinge-l2')"
JOINT, NO_JOINT = "method == 'hinge-l1inf'", "method != 'hinge-l1inf'"
INTERIOR, OURS = "method == 'interior-point'", "method != 'interior-point'"
EDGE = {"warning": "eta0 at the upper edge of its grid"}
NOT = None  # these rows are dropped


def with_changes(claim, study, changes):
    """Return the tables of a claim. changes: (table, query, values of these rows, or NOT)."""
    names = {file.name.split(".")[0] for file in (PUBLISHED / study).glob("t*/*.csv*")}
    tables = {name: published(study, name) for name in CLAIMS[claim].tables & names}
    for name, query, values in changes:
        rows = tables[name]
        at = rows.eval(query, engine="python")
        changed = {} if values is NOT else {key: rows[key].astype(object).mask(at, to) for key, to in values.items()}
        tables[name] = rows[~at] if values is NOT else rows.assign(**changed).infer_objects()
    return tables


CHANGED = {  # fact: claim, study, changes, number of rows with each verdict, part of number_means
    "one run has no interval": (
        "joint-sparsity",
        FLICKR,
        [("chosen", "run > 1", NOT)],
        {UNDECIDED: 1},
        "one run, no interval, which needs 5; more runs would decide it",
    ),
    "a size that lacks a method is not tested there": (
        "synthetic-error-order",
        RECOVERY,
        [("recovery", "n == 10 and method == 'hinge-l1'", NOT), ("recovery", "n > 20", NOT)],
        {HOLDS: 3, UNTESTED: 1},
        "no such result: solver=working_set, radius_rule=true, weights=normal, support=random, n=10, method=hinge-l1",
    ),
    "a missing rule of radii": (
        "radius-by-validation",
        RECOVERY,
        [("recovery", "radius_rule == 'validated'", NOT)],
        {UNTESTED: 3},
        "radius_rule=validated",
    ),
    "a run without features": (
        "selection-sparser",
        RECOVERY,
        [("recovery", f"{JOINT} and run == 1", {"features": 0.0}), ("recovery", "n > 20", NOT)],
        {UNTESTED: 2},
        "a geometric mean requires positive, finite numbers",
    ),
    "both methods are perfect": (
        "selection-precision",
        RECOVERY,
        [("recovery", "n > 0", {"precision": 1.0, "recall": 1.0})],
        {UNTESTED: 7},
        "both methods have a precision of 1",
    ),
    "one method is perfect": (
        "selection-precision",
        RECOVERY,
        [
            ("recovery", "n > 0", {"recall": 1.0}),
            ("recovery", NO_JOINT, {"precision": 0.5}),
            ("recovery", JOINT, {"precision": 1.0}),
        ],
        {HOLDS: 7},
        "recalls differ by +0.000",
    ),
    "recalls that may differ": (
        "selection-precision",
        RECOVERY,
        [
            ("recovery", "n > 0", {"recall": 1.0, "precision": 0.5}),
            ("recovery", NO_JOINT, {"precision": 0.2}),
            ("recovery", f"{JOINT} and run == 1", {"recall": 0.94}),
        ],
        {UNDECIDED: 7},
        "; more runs would decide it, and also whether the recalls are equal",
    ),
    "recalls that may differ the other way": (
        "selection-precision",
        RECOVERY,
        [
            ("recovery", "n > 0", {"recall": 1.0, "precision": 0.5}),
            ("recovery", NO_JOINT, {"precision": 0.2}),
            ("recovery", f"{NO_JOINT} and run == 1", {"recall": 0.94}),
        ],
        {UNDECIDED: 7},
        "recalls differ by +0.006; more runs would decide it",
    ),
    "recalls that differ": (
        "selection-precision",
        RECOVERY,
        [
            ("recovery", "n > 0", {"recall": 1.0, "precision": 0.5}),
            ("recovery", NO_JOINT, {"precision": 0.2}),
            ("recovery", JOINT, {"recall": 0.9}),
        ],
        {UNTESTED: 7},
        "recalls differ by -0.100, more than 0.01",
    ),
    "hinge-l2 stands for svm-l2": (
        "auc-order",
        FLICKR,
        [("differences", "against == 'svm-l2'", NOT)],
        {FAILS: 3, LEVEL: 2, UNDECIDED: 1},
        "",
    ),
    "no l2 at all": (
        "auc-order",
        FLICKR,
        [("differences", L2, NOT)],
        {UNTESTED: 3, LEVEL: 2, UNDECIDED: 1},
        "no such result: against=svm-l2 or hinge-l2",
    ),
    "large sizes alone": (
        "auc-order",
        FLICKR,
        [("differences", "n_samples < 20000", NOT)],
        {UNTESTED: 1},
        "n_samples<20000",
    ),
    "differences without interval": (
        "auc-order",
        FLICKR,
        [("differences", "n > 0", {"low": np.nan, "high": np.nan, "runs": 3})],
        {UNDECIDED: 6},
        "mean over 3 runs, no interval, which needs 5; more runs would decide it",
    ),
    "a difference of one run has no t interval": (
        "auc-order",
        FLICKR,
        [("differences", "n > 0", {"runs": 1, "low": -1.0, "high": 1.0})],
        {UNDECIDED: 6},
        "; more runs would decide it",
    ),
    "no significance against l2": (
        "auc-significant",
        FLICKR,
        [("significance", L2, NOT)],
        {UNDECIDED: 1, LEVEL: 2},
        "over 3 comparisons",
    ),
    "a missing p-value is not significant": (
        "auc-significant",
        FLICKR,
        [("significance", "n > 0", {"p_median": np.nan, "p_reverse_median": np.nan}), ("differences", "n > 0", NOT)],
        {UNDECIDED: 6},
        "more test samples would decide it",
    ),
    "the reverse is significant": (
        "auc-significant",
        FLICKR,
        [("significance", "n > 0", {"p_median": 0.9, "p_reverse_median": 0.002})],
        {FAILS: 6},
        "10 runs; reverse direction: 0.008, corrected 0.048",
    ),
    "the reverse is nearly significant": (
        "auc-significant",
        FLICKR,
        [("significance", "n > 0", {"p_median": 0.9, "p_reverse_median": 0.0021}), ("differences", "n > 0", NOT)],
        {UNDECIDED: 6},
        "corrected 0.05",
    ),
    "p-values of one run count twice": (
        "auc-significant",
        FLICKR,
        [("significance", "run > 1", NOT), ("significance", "n > 0", {"p_median": 0.004, "p_reverse_median": 0.9})],
        {HOLDS: 6},
        "1 runs",
    ),
    "the order of AUCs decides what no test does": (
        "auc-significant",
        FLICKR,
        [("significance", "n > 0", {"p_median": 0.9, "p_reverse_median": 0.9})],
        {FAILS: 3, LEVEL: 2, UNDECIDED: 1},
        "",
    ),
    "no fit with few features": (
        "auc-at-30-percent",
        FLICKR,
        [("sparsity", f"features <= 0.3 and {JOINT}", NOT)],
        {UNTESTED: 5},
        "",
    ),
    "exactly 30 % of the features are few": (
        "auc-at-30-percent",
        FLICKR,
        [("sparsity", "features <= 0.3", {"features": 0.3})],
        {HOLDS: 3, LEVEL: 1, UNDECIDED: 1},
        "",
    ),
    "l1 reaches exactly the AUC": (
        "features-to-match",
        FLICKR,
        [("sparsity", "n > 0", {"validation": 0.7})],
        {HOLDS: 4, UNDECIDED: 1},
        "",
    ),
    "a run without few features": (
        "features-to-match",
        FLICKR,
        [("sparsity", f"features <= 0.3 and {JOINT} and run == 1", NOT), ("sparsity", "run == 10", {"run": 11})],
        {UNDECIDED: 3, HOLDS: 2},
        "in 1 of 10 runs hinge-l1inf has no fit with so few features",
    ),
    "l1 never reaches the AUC, with many features": (
        "features-to-match",
        FLICKR,
        [("sparsity", NO_JOINT, {"validation": 0.0})],
        {HOLDS: 5},
        "in 10 of 10 runs hinge-l1 never reaches the AUC, and its largest number of features counts",
    ),
    "l1 never reaches the AUC, with few features": (
        "features-to-match",
        FLICKR,
        [("sparsity", NO_JOINT, {"validation": 0.0, "features": 0.01})],
        {UNDECIDED: 5},
        "no number of runs would decide it, because it is a bound",
    ),
    "a solver without step sizes": (
        "convergence-200",
        SWEEP,
        [("convergence", "n > 0", {"eta0": np.nan})],
        {UNTESTED: 2},
        "a solver with step sizes",
    ),
    "more iterations": (
        "convergence-200",
        SWEEP,
        [("convergence", "iteration == 200", {"iteration": 201})],
        {UNTESTED: 2},
        "at most 200 iterations",
    ),
    "no chosen radius": (
        "convergence-200",
        SWEEP,
        [("chosen", "n > 0", {"radius": -1.0})],
        {UNTESTED: 1, UNDECIDED: 1},
        "is not a number",
    ),
    "an unknown gap": (
        "convergence-200",
        SWEEP,
        [("convergence", "radius > 30", {"gap": np.nan})],
        {UNTESTED: 2},
        "is not a number",
    ),
    "an objective above that of a smaller radius": (
        "convergence-200",
        SWEEP,
        [("convergence", "n > 0", {"objective": 1.0, "gap": 0.3}), ("convergence", "radius > 30", {"objective": 2.0})],
        {FAILS: 2},
        "bounds by duality and by smaller radii",
    ),
    "topics without EER": (
        "eer-most-topics",
        STORIES,
        [("by_word", "n > 0", {"eer": np.nan})],
        {UNTESTED: 1},
        "no topic has an EER",
    ),
    "ties of topics do not count": (
        "eer-most-topics",
        STORIES,
        [("by_word", "n > 0", {"eer": 0.1})],
        {FAILS: 1},
        "over 40 topics",
    ),
    "validation words are no topics": (
        "eer-most-topics",
        STORIES,
        [("by_word", "not validation_word", NOT)],
        {UNTESTED: 1},
        "validation_word=False",
    ),
    "EER without l1": (
        "eer-most-topics",
        STORIES,
        [("by_word", "method == 'hinge-l1'", NOT)],
        {UNTESTED: 1},
        "no such result: method=hinge-l1",
    ),
    "EERs that differ too little to matter": (
        "l1-over-l2",
        STORIES,
        [
            ("chosen", "n > 0", {"eer": 0.2, "gap": 0.0}),
            ("chosen", "method == 'hinge-l1' and run == 1", {"eer": 0.199}),
        ],
        {LEVEL: 5},
        "average EER of hinge-l1 minus average EER of hinge-l2",
    ),
    "no l2 below l1": (
        "l1-over-l2",
        STORIES,
        [("chosen", "method in ('hinge-l2', 'svm-l2')", NOT)],
        {UNTESTED: 5},
        "no such result: method=hinge-l2 or svm-l2",
    ),
    "two sizes have no interval": (
        "projection-n-log-n",
        COST,
        [("cost", "x not in (40000, 120000)", NOT)],
        {UNDECIDED: 1, UNTESTED: 1},
        "over 2 sizes, 95 % t interval; more sizes would decide it",
    ),
    "seconds of 0": (
        "projection-n-log-n",
        COST,
        [("cost", "x == 40000", {"seconds": 0.0})],
        {UNTESTED: 1, HOLDS: 1},
        "positive, finite",
    ),
    "one size": (
        "projection-n-log-n",
        COST,
        [("cost", "x != 40000", NOT)],
        {UNTESTED: 2},
        "a slope requires at least two sizes, got 1",
    ),
    "no more than a scan": (
        "projection-non-zero-rows",
        COST,
        [
            ("cost", "method in ('sort', 'newton')", {"seconds": 0.004}),
            ("cost", "method == 'scan' and x > 100", {"seconds": 0.0036}),
            ("cost", "method == 'scan' and x <= 100", {"seconds": 0.003}),
        ],
        {UNTESTED: 2},
        "takes hardly longer than a scan of 0.0035 s",
    ),
    "a single scan": (
        "projection-non-zero-rows",
        COST,
        [("cost", "method == 'scan' and x > 100", NOT), ("cost", "method == 'newton'", {"seconds": 1e-9})],
        {UNDECIDED: 1, UNTESTED: 1},
        "; more scans would",
    ),
    "no bytes": (
        "projection-memory-linear",
        COST,
        [("cost", "x > 0", {"bytes": np.nan})],
        {UNTESTED: 1},
        "table cost has no bytes / x",
    ),
    "l1 at other sizes": (
        "projection-as-cheap-as-l1",
        COST,
        [("cost", "method == 'l1 pivot'", {"x": 7.0})],
        {UNTESTED: 2},
        "not measured at the same",
    ),
    "l2 at other sizes": (
        "l1-projection-as-cheap-as-l2",
        PROJECTION,
        [("projection", "method == 'l2'", {"x": 7})],
        {UNTESTED: 2},
        "not measured at the same",
    ),
    "medians without interval": (
        "l1-projection-as-cheap-as-l2",
        PROJECTION,
        [("projection", "x > 0", {"low": np.nan})],
        {UNDECIDED: 2},
        "for 4,000 features and samples; medians of 7 repeats, no interval; timed; more repeats would decide it",
    ),
    "the largest size decides": (
        "l1-projection-as-cheap-as-l2",
        PROJECTION,
        [
            (
                "projection",
                "part == 'gradient step' and x < 4000 and method != 'l2'",
                {"seconds": 1e-9, "low": 1e-9, "high": 1e-9},
            ),
            ("projection", "part == 'gradient step' and x == 4000 and method == 'pivot'", {"low": 1e-9, "high": 1e9}),
        ],
        {UNDECIDED: 1, HOLDS: 1},
        "",
    ),
    "few touched entries": (
        "tree-beats-full",
        PROJECTION,
        [("projection", "x in (300, 1000)", NOT)],
        {UNTESTED: 1},
        "300<=x<=3000",
    ),
    "no tree": ("tree-beats-full", PROJECTION, [("projection", "method == 'tree'", NOT)], {UNTESTED: 1}, "method=tree"),
    "steps of the exponentiated gradient beside projections": (
        "entropic-cheaper-when-sparse",
        PROJECTION,
        [("projection", "part == 'dimension'", NOT)],
        {HOLDS: 2},
        "an update by the tree (1000 of 1e+06 features change)",
    ),
    "interior points never reach the accuracy": (
        "first-digits-flops",
        RACE,
        [("race", f"{INTERIOR} and run > 1", {"suboptimality": 0.5})],
        {HOLDS: 4},
        "interior-point reaches the accuracy in 1 of 5 runs; in the other runs, its total cost counts",
    ),
    "interior points never reach the accuracy, with few operations": (
        "first-digits-flops",
        RACE,
        [("race", f"{INTERIOR} and run > 1", {"suboptimality": 0.5}), ("race", INTERIOR, {"flops": 1.0})],
        {UNDECIDED: 4},
        "because it is a bound",
    ),
    "no projected method reaches the accuracy": (
        "first-digits-flops",
        RACE,
        [("race", f"{OURS} and run > 1", {"suboptimality": 0.5})],
        {UNDECIDED: 4},
        "batch or stochastic or line-search reaches the accuracy in 1 of 5 runs",
    ),
    "exactly the accuracy is enough": (
        "first-digits-flops",
        RACE,
        [("race", "suboptimality < 0.01", {"suboptimality": 0.01})],
        {HOLDS: 4},
        "until a suboptimality of 0.01",
    ),
    "no method reaches the accuracy": (
        "first-digits-flops",
        RACE,
        [("race", "run > 0", {"suboptimality": 0.5})],
        {UNTESTED: 4},
        "no run has all the numbers",
    ),
    "another method reaches the accuracy": (
        "first-digits-flops",
        RACE,
        [("race", "method == 'batch'", {"suboptimality": 0.5})],
        {HOLDS: 4},
        "",
    ),
    "no method is counted": (
        "first-digits-flops",
        RACE,
        [("race", f"{INTERIOR} and step > 0", {"flops": np.nan})],
        {UNTESTED: 4},
        "table race has no flops of interior-point with",
    ),
    "one method is not counted": (
        "first-digits-flops",
        RACE,
        [("race", "method == 'batch' and step > 0", {"flops": np.nan})],
        {HOLDS: 4},
        "",
    ),
    "warnings of fits are counted": (
        "first-digits-flops",
        RACE,
        [("race", "method == 'batch' and run == 1", EDGE)],
        {HOLDS: 4},
        "; 1 of 20 fits carry a warning (eta0",
    ),
    "only one dimension": (
        "stochastic-gains-with-dimension",
        RACE,
        [("race", "n == 800", NOT)],
        {UNTESTED: 2},
        "only one size with",
    ),
    "no gain if one method never reaches the accuracy": (
        "stochastic-gains-with-dimension",
        RACE,
        [("race", "n == 800 and run == 1 and method == 'stochastic'", {"suboptimality": 0.5})],
        {UNTESTED: 2},
        "does not reach 0.01 in every run",
    ),
    "a single dimension has no exponent": (
        "interior-point-quadratic",
        RACE,
        [("race_seconds", "n == 800", NOT)],
        {UNTESTED: 2},
        "",
    ),
    "seconds are those of an iteration": (
        "interior-point-quadratic",
        RACE,
        [("race_seconds", "n == 800", {"step": 7})],
        {FAILS: 2},
        "",
    ),
    "an earlier digit is never reached": (
        "slows-down",
        RACE,
        [("race", "suboptimality < 0.01", {"suboptimality": 0.011})],
        {UNTESTED: 24},
        "batch never reaches a suboptimality of 0.01",
    ),
    "a digit is never reached": (
        "slows-down",
        RACE,
        [("race", "suboptimality < 0.001", {"suboptimality": 0.0011})],
        {HOLDS: 12, UNTESTED: 12},
        "reached in 0 of 5 runs; in the other runs, all steps count",
    ),
    "a digit is never reached, in few steps": (
        "slows-down",
        RACE,
        [
            ("race", "suboptimality < 0.001", {"suboptimality": 0.0011}),
            ("race", "n > 0", {"n": 800}),
            ("race", "step > 0", {"step": 5}),
        ],
        {UNTESTED: 6, UNDECIDED: 6},
        "because it is a bound",
    ),
    "records of one run": (
        "projection-over-entropic",
        REUTERS,
        [("exponentiated", "run > 1", NOT)],
        {UNDECIDED: 4},
        "one run, no interval",
    ),
    "a run of only one method": (
        "projection-over-entropic",
        REUTERS,
        [("exponentiated", "run == 1 and method == 'entropic'", NOT)],
        {UNDECIDED: 4},
        "mean over 4 runs, no interval",
    ),
    "two of ten fits at an edge": (
        "projection-over-entropic",
        REUTERS,
        [("exponentiated", "run < 3 and method == 'entropic'", EDGE)],
        {HOLDS: 4},
        "; 2 of 10 fits are unfinished (gap above 5 %, or at the edge of a grid)",
    ),
    "three of ten fits at an edge": (
        "projection-over-entropic",
        REUTERS,
        [("exponentiated", "run < 4 and method == 'entropic'", EDGE)],
        {UNDECIDED: 4},
        ", which is too many for a verdict; finished fits would decide it",
    ),
    "fits of other rows do not count": (
        "projection-over-entropic",
        REUTERS,
        [("exponentiated", "form != 'batch 25%' or radius != 640.0", EDGE)],
        {UNDECIDED: 3, HOLDS: 1},
        "10 of 10 fits",
    ),
    "no batches": (
        "projection-over-entropic",
        REUTERS,
        [("exponentiated", "form in ('batch 25%', 'batch 100%')", NOT)],
        {UNTESTED: 1},
        "form=batch",
    ),
    "a ratio of one run": (
        "online-sparser",
        ONLINE,
        [("online", "run > 1", NOT)],
        {UNDECIDED: 4},
        "one run, no interval",
    ),
    "a loss of one run": (
        "online-loss",
        ONLINE,
        [("online", "run > 1", NOT)],
        {UNDECIDED: 4},
        "one run, no interval",
    ),
    "two of ten fits far from their optimum": (
        "joint-sparsity",
        FLICKR,
        [("chosen", f"{JOINT} and run < 3", {"gap": 0.9})],
        {HOLDS: 1},
        "",
    ),
    "six of twenty fits far from their optimum": (
        "joint-sparsity",
        FLICKR,
        [("chosen", f"{JOINT} and run < 7", {"gap": 0.9})],
        {UNDECIDED: 1},
        "6 of 20",
    ),
    "a fit of another method": (
        "joint-sparsity",
        FLICKR,
        [("chosen", "method == 'hinge-l2'", {"gap": 0.9})],
        {HOLDS: 1},
        "",
    ),
    "a rate that is only a bound": (
        "convergence-rate",
        RECOVERY,
        [
            ("recovery", f"{JOINT} and run == 1", {"iterations": np.nan}),
            ("recovery", f"{JOINT} and n == 10", {"iterations_10": 1, "iterations_3": 150}),
        ],
        {FAILS: 1, UNDECIDED: 6},
        " of 10 runs do not come within 1 % of the optimum, and give a lower bound",
    ),
    "no rate": (
        "convergence-rate",
        RECOVERY,
        [("recovery", JOINT, {"iterations_10": np.nan})],
        {UNTESTED: 7},
        "not every run comes within 10%",
    ),
    "near the optimum at once": (
        "convergence-rate",
        RECOVERY,
        [("recovery", JOINT, {"iterations": 0, "iterations_3": 0, "iterations_10": 0})],
        {HOLDS: 7},
        "",
    ),
    "iterations of large sizes": (
        "iterations-independent-of-samples",
        RECOVERY,
        [("recovery", "n == 640", {"iterations": np.nan})],
        {UNTESTED: 1},
        "at n=10, 640 most runs do not come within 1 % of the optimum",
    ),
    "iterations that grow without the small sizes": (
        "iterations-independent-of-samples",
        RECOVERY,
        [
            ("recovery", "n < 40", {"iterations": np.nan}),
            ("recovery", "n >= 40", {"iterations": 9}),
            ("recovery", "n > 80", {"iterations": 99}),
        ],
        {UNDECIDED: 1},
        "left out: at n=10, 20 most runs",
    ),
    "no weights": (
        "feature-sharing",
        STORIES,
        [("weights", "n > 0", NOT)],
        {UNTESTED: 1},
        "the table weights is missing or empty",
    ),
}


@pytest.mark.parametrize(("claim", "study", "changes", "expected", "told"), CHANGED.values(), ids=CHANGED)
def test_verdicts_on_changed_tables(claim, study, changes, expected, told):
    judged = verdicts.judge(with_changes(claim, study, changes), [claim], demonstration=False)
    assert judged["verdict"].value_counts().to_dict() == expected
    assert judged["number_means"].str.contains(told, regex=False).any()
    assert judged["number"].isna().tolist() == (judged["verdict"] == UNTESTED).tolist()


@pytest.mark.parametrize(
    ("claim", "study", "table", "key"),
    [
        ("synthetic-error-order", RECOVERY, "recovery", "run"),
        ("auc-order", FLICKR, "differences", "metric=auc"),
        ("tree-beats-full", PROJECTION, "projection", "method"),
        ("projection-over-entropic", REUTERS, "exponentiated", "schedule and eta0"),
    ],
)
def test_duplicate_rows_are_an_error(claim, study, table, key):
    rows = published(study, table)
    twice = pd.concat([rows, rows.assign(eta0=7.0) if "eta0" in rows else rows])
    with pytest.raises(ValueError, match=f"must (be|have) one .*{key}.*, got"):
        verdicts.judge({table: twice}, [claim], demonstration=False)


def test_accuracy_on_drawn_or_composed_data_is_a_demonstration():
    tables = with_changes("joint-sparsity", FLICKR, []) | with_changes("cost-linear-in-samples", COST, [])
    names = ["joint-sparsity", "cost-linear-in-samples", "auc-order"]
    known, shown = (verdicts.judge(tables, names, demonstration=value) for value in (False, True))
    expected = known["verdict"].mask(known["id"] == "joint-sparsity", "demonstration")
    assert shown["verdict"].equals(expected) and shown["number"].equals(known["number"])


def test_weights_without_sizes_are_the_weights_of_all_fits():
    # A feature of the first method serves two tasks, features of the other serve one; zero weights do not count.
    rows = [("hinge-l1inf", 3, -0.5), ("hinge-l1inf", 3, 1.0), ("hinge-l1inf", 4, 0.0), ("hinge-l1", 1, 2.0)]
    weights = pd.DataFrame(rows, columns=["method", "feature", "weight"])
    judged = verdicts.judge(
        {"weights": weights, "chosen": published(STORIES, "chosen")}, ["feature-sharing"], demonstration=False
    )
    assert judged[["number", "verdict"]].to_numpy().tolist() == [[1.0, HOLDS]]


def test_validation_words_choose_among_fits_with_few_features_and_the_first_of_equally_good_fits():
    joint = [(0.1, 0.7, 0.5), (0.2, 0.6, 0.8), (0.25, 0.9, 0.8), (0.3, 0.8, np.nan), (0.9, 0.95, 0.99)]
    l1 = [(0.1, 0.5, 0.9), (0.2, 0.65, 0.1), (0.7, 0.6, 0.2)]
    table = pd.DataFrame(
        [(method, *fit) for method, fits in (("hinge-l1inf", joint), ("hinge-l1", l1)) for fit in fits],
        columns=["method", "features", "auc_weighted", "validation"],
    ).assign(run=1, n=40, warning="")
    judged = verdicts.judge({"sparsity": table}, ["auc-at-30-percent", "features-to-match"], demonstration=False)
    np.testing.assert_allclose(judged["number"], [0.1, 0.1 / 0.2])


def test_a_run_that_misses_the_accuracy_costs_at_least_the_smallest_total_of_a_method():
    rows = [
        (1, "a", 5, 0.5),
        (1, "a", 9, 0.001),
        (1, "b", 7, 0.01),
        (2, "a", 9, 0.5),
        (2, "b", 4, 0.3),
        (2, "b", 6, 0.2),
    ]
    table = pd.DataFrame(rows, columns=["run", "method", "seconds", "suboptimality"])
    assert shapes.until(table, "seconds", 0.01).to_numpy().tolist() == [[7, False], [6, True]]
