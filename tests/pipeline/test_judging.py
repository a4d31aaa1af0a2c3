"""The rule that turns numbers and intervals into verdicts, the cases of a claim, and the estimates."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jointsparse.pipeline.papers import shapes
from jointsparse.pipeline.papers.judging import (
    ABOVE,
    BELOW,
    EVERY,
    Claim,
    Estimate,
    NotTested,
    cases,
    conclude,
    decide,
    geometric_mean_over,
    judged,
    mean_over,
    rows_with,
    slope_of,
)

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


@pytest.mark.parametrize(("level", "verdict"), [(0.01, "level"), (0.005, "undecided")])
def test_what_holms_correction_leaves_open_may_be_level(level, verdict):
    """Five rows, of which the worst has a p-value of 0.02, 0.1 after the correction."""

    def shape(claim, tables, where):
        value = -0.0045 if where["n"] == 0 else 1.0
        return [conclude(claim, Estimate(value, value - 0.004, value + 0.004, "", 9), where)]

    claim = CLAIM._replace(shape=shape, where={"method": "a"}, each={"n": tuple(range(5))}, least=ABOVE, level=level)
    judgements = judged(claim, {"one": pd.DataFrame({"method": ["a"]})})
    assert [judgement.verdict for judgement in judgements] == [verdict] + ["holds"] * 4
    assert "after Holm's correction over 5 rows" in judgements[0].number_means
    (alone,) = judged(claim._replace(each={"n": (0,)}), {"one": pd.DataFrame({"method": ["a"]})})
    assert alone.verdict == "does not hold"


@pytest.mark.parametrize("reciprocal", [False, True])
def test_holms_correction_uses_logarithms_of_ratios(reciprocal):
    """The p-value is 0.0075 with logarithms, 0.0105 or 0.0049 without; after correction over six rows it is 0.045.

    Only the end of the interval on the side of the limit matters.
    """

    def shape(claim, tables, where):
        ends = np.array([2.0, 1.25, 9.0] if where["n"] == 0 else [0.5, 0.4, 0.6]) ** (-1 if reciprocal else 1)
        return [conclude(claim, Estimate(ends[0], min(ends), max(ends), "", 4, of_logs=True), where)]

    limits = {"least": 1.0} if reciprocal else {"most": 1.0}
    for rows, verdict in ((6, "does not hold"), (7, "undecided")):
        claim = CLAIM._replace(shape=shape, where={"method": "a"}, each={"n": tuple(range(rows))}, **limits)
        assert judged(claim, {"one": pd.DataFrame({"method": ["a"]})})[0].verdict == verdict


@pytest.mark.parametrize(("number", "expected"), [(1.0, "undecided"), (-1.0, "does not hold")])
def test_a_verdict_that_a_bound_cannot_justify_is_withheld(number, expected):
    got = conclude(
        CLAIM._replace(least=0.0), Estimate(number, number - 0.1, number + 0.1, "an interval"), {"method": "a"}
    ).withheld("holds")
    assert (got.verdict, "because it is a bound" in got.number_means) == (expected, expected == "undecided")


def test_a_count_needs_no_interval():
    count = Estimate(1.0, np.nan, np.nan, "counted")
    verdicts = [
        conclude(CLAIM._replace(exact=exact, least=1.0), count, {"method": "a"}).verdict for exact in (True, False)
    ]
    assert verdicts == ["holds", "undecided"]


# Rows and cases

TABLES = {"one": pd.DataFrame({"method": ["a", "b", "c"], "n": [2, 1, 1], "x": [10.0, 20.0, 30.0], "y": [1, 4, 3]})}


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
    assert list(rows_with(TABLES, "one", **where)["method"]) == expected


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        ({}, [()]),
        ({"n": (EVERY,), "against": ("d", ("e", "f"))}, [(2, "d"), (2, ("e", "f")), (1, "d"), (1, ("e", "f"))]),
    ],
)
def test_a_claim_has_a_case_for_each_combination(each, expected):
    got = cases(CLAIM._replace(where={"method": ("a", "b"), "against": "c"}, each=each), TABLES)
    assert [tuple(case[column] for column in each) for case in got] == expected
    assert all(case["against"] == "c" for case in got if "against" not in each)


def test_missing_rows_of_a_case_do_not_affect_other_cases():
    table = pd.DataFrame({"run": [1, 1, 2], "n": [1, 2, 2], "method": ["a", "b", "b"], "value": [1.0, 2.0, 4.0]})
    got = judged(CLAIM._replace(each={"n": (1, 2), "method": ("a", "b")}), {"one": table})
    verdicts = [(1, "undecided"), (1, "not tested"), (2, "not tested"), (2, "undecided")]
    assert [(judgement.n, judgement.verdict) for judgement in got] == verdicts
    assert [got[0].estimate.number, got[3].estimate.number] == [1.0, 3.0]
    assert got[1].number_means == "this study has no such result: n=1, method=b"


def test_missing_tables_of_a_claim_are_replaced_by_other_tables_that_have_it():
    table = pd.DataFrame({"run": [1], "method": ["a"], "value": [1.0]})
    claim = CLAIM._replace(where={"method": "a"}).and_also(table="two")
    assert claim.tables == {"one", "two"}
    for tables, expected in (({"one": table}, ["one"]), ({"two": table}, ["two"]), ({}, ["one"])):
        assert [judgement.claim.table for judgement in judged(claim, tables)] == expected


# Estimates


def test_t_interval_is_scipys():
    values = np.random.default_rng(0).normal(size=7)
    expected = stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
    got = mean_over([*values, np.nan])
    assert got.number == pytest.approx(values.mean())
    assert (got.low, got.high) == pytest.approx(expected)


@pytest.mark.parametrize("groups", [1, 2])
def test_slope_equals_a_regression_with_an_intercept_per_group(groups):
    rng = np.random.default_rng(1)
    x = np.tile([10.0, 20, 100, 1000], groups)
    group = np.repeat(np.arange(groups), 4)
    y = np.where(group == 0, 1.0, 50.0) * x**0.3 * np.exp(rng.normal(0, 0.1, len(x)))
    design = np.column_stack([np.log(x), *(group == one for one in range(groups))]).astype(float)
    expected, residual, _, _ = np.linalg.lstsq(design, np.log(y))
    freedom = len(x) - groups - 1
    half = stats.t.ppf(0.975, freedom) * np.sqrt(residual[0] / freedom * np.linalg.inv(design.T @ design)[0, 0])
    got = slope_of(x, y, group)
    assert got[:3] == pytest.approx((expected[0], expected[0] - half, expected[0] + half))
    assert got.freedom == freedom


def test_a_group_with_one_size_does_not_affect_the_slope():
    assert slope_of([1, 10, 5], [2, 20, 7], ["a", "a", "b"]).number == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            partial(rows_with, TABLES, "one", n=1, method=("d", "e"), x=pd.Interval(15, 40, closed="left")),
            "this study has no such result: n=1, method=d or e, 15<=x<40",
        ),
        *(
            (partial(slope_of, x, y), "slope")
            for x, y in (([1, 2], [0, 1]), ([2, 2], [1, 1]), ([1, 2], [1, np.nan]), ([0, 1], [1, 1]))
        ),
        *(
            (partial(geometric_mean_over, pd.Series([wrong, 1.0])), "requires positive, finite numbers")
            for wrong in (0.0, -1.0, np.inf)
        ),
    ],
)
def test_missing_rows_and_numbers_without_logarithm_are_not_tested(call, message):
    with pytest.raises(NotTested, match=message):
        call()


def test_geometric_mean_is_computed_from_logarithms():
    ratios = pd.Series([2.0, 3.0, 8.0, 4.0, 4.0, np.nan])
    got = geometric_mean_over(ratios)
    assert got[:3] == pytest.approx(tuple(np.exp(mean_over(np.log(ratios))[:3])))
    assert (got.number, got.of_logs) == (pytest.approx(768 ** (1 / 5)), True)


# Shapes: from the rows of a case to its number

TIMED = CLAIM._replace(
    shape=shapes.ratio,
    number="seconds",
    means="seconds of {method} at {x}",
    where={"method": ("a", "b"), "against": "c"},
    most=1.0,
)


def medians(at_largest, at_smaller=("a", 1.0, 1.0, 1.0, 9)):
    columns = ["method", "seconds", "low", "high", "repeats"]
    smaller = [("c", *at_smaller[1:]), at_smaller]
    return {
        "one": pd.concat(pd.DataFrame(rows, columns=columns).assign(x=x) for x, rows in ((9, at_largest), (2, smaller)))
    }


def test_a_ratio_of_medians_has_the_interval_of_a_difference_of_logarithms():
    """The lower end depends on the lower end of one interval and on the upper end of the other."""
    tables = medians([("a", 4.0, 3.5, 6.0, 5), ("b", 8.0, 8.0, 8.0, 9), ("c", 2.0, 1.8, 3.2, 7)])
    (got,) = judged(TIMED, tables)
    low, high = (np.hypot(np.log(one / 4), np.log(other / 2)) for one, other in ((3.5, 3.2), (6.0, 1.8)))
    assert got.estimate[:3] == pytest.approx((2.0, 2 * np.exp(-low), 2 * np.exp(high)))
    assert got.number_means.startswith("seconds of a at 9; medians of 5 repeats, 95 %")
    assert got.estimate.of_logs and got.where["method"] == "a"


STEPS = pd.DataFrame(
    # Run 1: a and b reach the accuracy. Run 2: neither does. Run 3: b does, at a higher cost than the total of a.
    [
        *((1, "a", 0.5, 1.0), (1, "a", 0.01, 5.0), (1, "a", 0.001, 9.0), (1, "b", 0.3, 2.0), (1, "b", 0.01, 7.0)),
        *((2, "a", 0.5, 1.0), (2, "a", 0.02, 9.0), (2, "b", 0.5, 2.0), (2, "b", 0.4, 12.0)),
        *((3, "a", 0.5, 1.0), (3, "a", 0.4, 3.0), (3, "b", 0.5, 2.0), (3, "b", 0.001, 7.0)),
    ],
    columns=["run", "method", "suboptimality", "flops"],
)


def test_the_cost_of_an_accuracy_is_the_least_cost_that_reaches_it_or_the_least_total():
    got = shapes.until(STEPS, "flops", 0.01)
    assert got.to_dict("index") == {
        1: {"spent": 5.0, "bound": False},
        2: {"spent": 9.0, "bound": True},
        3: {"spent": 7.0, "bound": False},
    }


SOONER = CLAIM._replace(shape=shapes.sooner, number="flops", where={"method": ("a", "b"), "against": "c"})


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([(1, 0.01, 10.0), (2, 0.01, 3.0), (3, 0.01, 14.0)], {1: 0.5, 2: 3.0, 3: 0.5}),
        (
            [(1, 0.01, 10.0), (2, 0.02, 3.0), (3, 0.02, 14.0)],
            {1: 0.5, 3: 0.5},
        ),  # in run 2 no method reaches the accuracy
        ([(1, 0.01, 10.0), (4, 0.01, 1.0)], {1: 0.5}),  # only runs that both methods have
    ],
)
def test_costs_are_compared_in_runs_in_which_a_method_reaches_the_accuracy(others, expected):
    other = pd.DataFrame(others, columns=["run", "suboptimality", "flops"]).assign(method="c")
    got = shapes.costs_to_accuracy(SOONER, {"one": pd.concat([STEPS, other])}, SOONER.where)
    assert got["ratio"].to_dict() == pytest.approx(expected)


def test_a_method_with_uncounted_costs_is_left_out():
    other = pd.DataFrame({"run": [1, 2], "method": "c", "suboptimality": 0.01, "flops": 14.0})
    gap = (STEPS["method"] == "a") & (STEPS["run"] == 2)
    steps = STEPS.assign(flops=STEPS["flops"].mask(gap))
    got = shapes.costs_to_accuracy(SOONER, {"one": pd.concat([steps, other])}, SOONER.where)
    assert got["spent"].to_dict() == {1: 7.0, 2: 12.0}
